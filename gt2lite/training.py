"""Learning: Algorithm 1 of the paper, mini-batches and Adam.

`Recipe` holds everything that decides the outcome besides the data and the seed; its
defaults are the authors' own, and the fields below `bias_correction` go beyond them. The
gradient comes from `gt2lite.kernel`, all parameters live in one flat vector, and the same seed
gives the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gt2lite._checks import Array, between, matrix, one_of, vector, whole
from gt2lite._progress import progress_bar
from gt2lite.gradient import BatchGradient, Flat
from gt2lite.kernel import quiet
from gt2lite.losses import OBJECTIVES, CompiledLoss, Objective, make_objective
from gt2lite.starts import STARTS, init_params
from gt2lite.system import (
    SMF_MODES,
    Params,
    Planes,
    param_shapes,
)

Callback = Callable[[int, float, Params], None]

BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-8  # Adam, as everybody sets it
_STEPS_OF_MOMENTS = np.array([[1 - BETA_1], [1 - BETA_2]])


@dataclass(frozen=True)
class Recipe:
    """How to train; the defaults are the paper's.

    Attributes:
        n_rules: P.
        coverage: what the plane alpha_0 is to cover.
        alphas: planes that make up the output; None for the objective's own.
        objective: "dual" or "aligned", see `gt2lite.losses`.
        smf: "per_input" or "scalar", see `gt2lite.starts.init_params`.
        epochs: passes over the data.
        batch_size: rows in a step. An incomplete last batch is dropped unless it is the only one.
        learning_rate: Adam's.
        keep: "last" parameters, as in the authors' code, or the "best": those with the
            smallest loss over all training rows at the end of an epoch, as in Algorithm 1;
            "validation" judges the epochs by rows that are set aside for it.
        bias_correction: whether Adam's bias correction counts "steps", as it should, or
            "epochs", as in the authors' code.
        schedule: "constant" learning rate, or one that falls along half a "cosine" from
            `learning_rate` in the first step to nearly 0 in the last.
        weight_decay: share of the consequents `a`, `a0` that is taken off in a step, in units of
            the learning rate (decoupled from the gradient).
        averaging: what is kept is a running mean of the parameters, which in each step gives up a
            share of ``1 - averaging`` for the newest ones (more in the first steps, so
            that it does not remember the start); 0 keeps the parameters themselves.
        start: "per_input" or "joint", where rules start, see `gt2lite.starts.init_params`.
        sigma_scale: how wide memberships start, likewise.
        validation: share of the rows that is set aside where `keep` is "validation".
    """

    n_rules: int = 10
    coverage: float = 0.99
    alphas: tuple[float, ...] | None = None
    objective: str = "dual"
    smf: str = "per_input"
    epochs: int = 100
    batch_size: int = 64
    learning_rate: float = 1e-3
    keep: str = "last"
    bias_correction: str = "steps"
    schedule: str = "constant"
    weight_decay: float = 0.0
    averaging: float = 0.0
    start: str = "per_input"
    sigma_scale: float = 1.0
    validation: float = 0.2

    def __post_init__(self) -> None:
        whole("n_rules", self.n_rules)
        whole("epochs", self.epochs)
        whole("batch_size", self.batch_size)
        between("coverage", self.coverage, 0, 1)
        between("learning_rate", self.learning_rate, 0, math.inf)
        one_of("objective", self.objective, OBJECTIVES)
        one_of("smf", self.smf, SMF_MODES)
        one_of("keep", self.keep, ("last", "best", "validation"))
        one_of("bias_correction", self.bias_correction, ("steps", "epochs"))
        one_of("schedule", self.schedule, ("constant", "cosine"))
        one_of("start", self.start, STARTS)
        between("sigma_scale", self.sigma_scale, 0, math.inf)
        between("validation", self.validation, 0, 1)
        if self.weight_decay != 0:
            between("weight_decay", self.weight_decay, 0, 1 / self.learning_rate)
        if self.averaging != 0:
            between("averaging", self.averaging, 0, 1)
        make_objective(self.objective, self.coverage, self.alphas)

    @property
    def planes(self) -> Objective:
        """The planes of the system and what each of them learns."""
        return make_objective(self.objective, self.coverage, self.alphas)


class Trained(NamedTuple):
    """A trained system and the mean loss of each epoch (of its batches, as they came)."""

    params: Params
    history: Array  # (epochs,)


class DivergenceError(RuntimeError):
    """Training produced numbers that are not finite.

    `params` are the parameters at the end of the last sound epoch, `history` the losses up to it.
    """

    def __init__(self, message: str, params: Params, history: Array) -> None:
        super().__init__(message, params, history)  # all of them: errors travel between processes
        self.params = params
        self.history = history

    def __str__(self) -> str:
        return str(self.args[0])


def train(
    X: Array,
    y: Array,
    recipe: Recipe | None = None,
    *,
    seed: int | np.random.Generator = 0,
    start: Params | None = None,
    callback: Callback | None = None,
    progress: bool | None = None,
) -> Trained:
    """Train a system by Algorithm 1.

    Args:
        X: scaled inputs (N, M).
        y: scaled targets (N,).
        recipe: how; None for the paper's.
        seed: a seed or a generator; decides start values and the order of the rows.
        start: start values; None draws them by `init_params`.
        callback: called after each epoch with its number (from 1), its loss and the parameters
            (their running mean where there is one); training goes on with them, so copy what you
            keep. The loss is the mean over the batches or, where the epochs are judged, that
            of the rows that judge them.
        progress: show a progress bar; None shows one on a terminal if tqdm is installed.

    Raises:
        DivergenceError: when the loss is no longer finite.

    >>> X = np.linspace(-1, 1, 50)[:, None]
    >>> trained = train(X, X[:, 0] ** 2, Recipe(n_rules=3, epochs=5))
    >>> trained.history.shape
    (5,)
    """
    recipe = recipe or Recipe()
    X = matrix("X", X)
    y = vector("y", y, len(X))
    rng = np.random.default_rng(seed)
    if recipe.keep == "validation":
        X, y, X_judge, y_judge = _set_aside(X, y, recipe.validation, rng)
    else:
        X_judge, y_judge = X, y
    if start is None:
        start = init_params(
            X,
            recipe.n_rules,
            rng,
            smf=recipe.smf,
            start=recipe.start,
            sigma_scale=recipe.sigma_scale,
        )
    _check_start(start, recipe, X.shape[1])
    moving = Flat(start)
    kept = Flat(start) if recipe.averaging else moving
    objective = recipe.planes
    loss = CompiledLoss(objective)
    gradient = BatchGradient(moving, objective, loss)

    def judge() -> float:
        """Return the loss that decides which epoch is kept."""
        return loss.value(Planes(kept.params, X_judge).ends(objective.alphas), y_judge)

    n_steps = recipe.epochs * max(len(y) // recipe.batch_size, 1)
    adam = _Adam(moving, recipe, n_steps)
    average = _Average(kept.vector, recipe.averaging) if recipe.averaging else None
    history: list[float] = []
    sound = moving.vector.copy()
    best, best_loss = kept.vector.copy(), math.inf
    with progress_bar(recipe.epochs, "training", "epoch", show=progress) as step_done:
        for epoch in range(1, recipe.epochs + 1):
            seen: list[tuple[Array, Array]] = []  # ends and targets of every batch
            with quiet():  # what goes wrong shows in the loss
                for X_t, y_batch in _batches(X, y, recipe.batch_size, rng):
                    g, ends = gradient(X_t, y_batch)
                    adam.update(g, epoch if recipe.bias_correction == "epochs" else None)
                    if average is not None:
                        average.update(moving.vector)
                    seen.append((ends, y_batch))
                mean = loss.value(*(np.concatenate(v, axis=-1) for v in zip(*seen, strict=True)))
            if not (math.isfinite(mean) and np.isfinite(moving.vector).all()):
                moving.vector[:] = sound
                raise DivergenceError(_advice(epoch, recipe), moving.params, np.array(history))
            history.append(mean)
            sound = moving.vector.copy()
            if recipe.keep != "last":
                with quiet():
                    mean = judge()
                if mean < best_loss:
                    best, best_loss = kept.vector.copy(), mean
            if callback is not None:
                callback(epoch, mean, kept.params)
            step_done(f"loss {mean:.4f}")
    if recipe.keep != "last":
        kept.vector[:] = best
    return Trained({name: value.copy() for name, value in kept.params.items()}, np.array(history))


def _set_aside(
    X: Array, y: Array, share: float, rng: np.random.Generator
) -> tuple[Array, Array, Array, Array]:
    """Return inputs and targets to learn from, and a random share of them to judge by."""
    n = min(max(round(share * len(y)), 1), len(y) - 1)
    if n < 1:
        raise ValueError(f"keep='validation' needs at least 2 rows, got {len(y)}")
    rows = rng.permutation(len(y))
    learn, aside = np.sort(rows[n:]), np.sort(rows[:n])
    return X[learn], y[learn], X[aside], y[aside]


def _batches(X: Array, y: Array, size: int, rng: np.random.Generator) -> Iterable[tuple[Any, Any]]:
    """Yield shuffled batches as (M, B) and (B,); an incomplete last one only if it is the only."""
    n = max(len(y) // size, 1)
    size = min(size, len(y))
    rows = rng.permutation(len(y))[: n * size].reshape(n, size)
    return zip(np.ascontiguousarray(X[rows].transpose(0, 2, 1)), y[rows], strict=True)


class _Adam:
    """Adam on one flat vector, in place and without new arrays.

    The two moments and what they move towards, the gradient and its square, are rows of one
    array each: half as many calls.

    Args:
        flat: what is moved.
        recipe: learning rate, schedule and weight decay.
        n_steps: how many steps there will be, for the schedule.
    """

    def __init__(self, flat: Flat, recipe: Recipe, n_steps: int) -> None:
        self.vector = flat.vector
        self.recipe = recipe
        self.n_steps = n_steps
        self.decayed = flat.b
        self.moments = np.zeros((2, self.vector.size))
        self._buffer = np.empty_like(self.moments)
        self._m, self._v = self.moments
        self._change, self._root = self._buffer
        self.steps = 0

    def update(self, g: Array, count: int | None = None) -> None:
        """Move along the gradient `g`; `count` replaces the number of steps in the correction."""
        learning_rate = self.recipe.learning_rate
        if self.recipe.schedule == "cosine":
            learning_rate *= (1 + math.cos(math.pi * self.steps / self.n_steps)) / 2
        self.steps += 1
        t = self.steps if count is None else count
        buffer, change, root = self._buffer, self._change, self._root
        change[:] = g
        np.multiply(g, g, out=root)
        buffer -= self.moments
        buffer *= _STEPS_OF_MOMENTS
        self.moments += buffer

        spread = math.sqrt(1 - BETA_2**t)  # the corrections, moved out of the root and in one
        np.sqrt(self._v, out=root)
        root += EPSILON * spread
        np.multiply(self._m, learning_rate * spread / (1 - BETA_1**t), out=change)
        change /= root
        if self.recipe.weight_decay:
            self.decayed *= 1 - learning_rate * self.recipe.weight_decay
        self.vector -= change


class _Average:
    """A running mean of one flat vector, in place."""

    def __init__(self, mean: Array, memory: float) -> None:
        self.mean = mean
        self.memory = memory
        self._change = np.empty_like(mean)
        self.steps = 0

    def update(self, flat: Array) -> None:
        """Take in the newest values; at first the mean is over about a tenth of all steps."""
        self.steps += 1
        np.subtract(flat, self.mean, out=self._change)
        self._change *= max(1 - self.memory, 10 / (9 + self.steps))
        self.mean += self._change


def _check_start(start: Params, recipe: Recipe, M: int) -> None:
    found = {name: value.shape for name, value in start.items()}
    wanted = param_shapes(recipe.n_rules, M, recipe.smf)
    if found != wanted:
        raise ValueError(f"start must have the parameters {wanted}, got {found}")


def _advice(epoch: int, recipe: Recipe) -> str:
    return (
        f"training diverged in epoch {epoch} of {recipe.epochs}: the loss is no longer finite. "
        f"Try a smaller learning_rate than {recipe.learning_rate:g} (a third of it), more rows in "
        f"a batch than {recipe.batch_size}, and check that X and y are scaled to about unit "
        "spread and free of extreme outliers. The error's `params` hold the last sound state."
    )
