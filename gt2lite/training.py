"""Learning: Algorithm 1 of the paper, mini-batches and Adam.

`Recipe` holds everything that decides the outcome besides the data and the seed; its
defaults are the authors' own. The gradient comes from `gt2lite.kernel`, all parameters
live in one flat vector, and the same seed gives the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gt2lite._checks import Array, between, matrix, one_of, vector, whole
from gt2lite._progress import progress_bar
from gt2lite.kernel import Scratch, fire, pull_back_planes, reduce_planes
from gt2lite.losses import OBJECTIVES, Objective, compiled_loss, make_objective
from gt2lite.system import (
    SMF_MODES,
    Params,
    Planes,
    constrain,
    init_params,
    param_shapes,
    pull_back_constraints,
)

Callback = Callable[[int, float, Params], None]

BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-8  # Adam, as everybody sets it


@dataclass(frozen=True)
class Recipe:
    """How to train; the defaults are the paper's.

    Attributes:
        n_rules: P.
        coverage: what the plane alpha_0 is to cover.
        alphas: planes that make up the output; None for the objective's own.
        objective: "dual" or "aligned", see `gt2lite.losses`.
        smf: "per_input" or "scalar", see `gt2lite.system.init_params`.
        epochs: passes over the data.
        batch_size: rows in a step. An incomplete last batch is dropped unless it is the only one.
        learning_rate: Adam's.
        keep: "last" parameters, as in the authors' code, or the "best": those with the
            smallest loss over all training rows at the end of an epoch, as in Algorithm 1.
        bias_correction: whether Adam's bias correction counts "steps", as it should, or
            "epochs", as in the authors' code.
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

    def __post_init__(self) -> None:
        whole("n_rules", self.n_rules)
        whole("epochs", self.epochs)
        whole("batch_size", self.batch_size)
        between("coverage", self.coverage, 0, 1)
        between("learning_rate", self.learning_rate, 0, math.inf)
        one_of("objective", self.objective, OBJECTIVES)
        one_of("smf", self.smf, SMF_MODES)
        one_of("keep", self.keep, ("last", "best"))
        one_of("bias_correction", self.bias_correction, ("steps", "epochs"))
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
        callback: called after each epoch with its number (from 1), its loss and the parameters;
            these are the ones that training goes on with, so copy what you keep. The loss is
            the mean over the batches or, where the best are kept, that of all rows at the end.
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
    objective = recipe.planes
    if start is None:
        start = init_params(X, recipe.n_rules, rng, smf=recipe.smf)
    _check_start(start, recipe, X.shape[1])
    params, flat = _flatten(start)
    kappa, loss, scratch = objective.kappa[:, None], compiled_loss(objective), Scratch()

    def step(X_t: Array, y: Array) -> tuple[float, Array]:
        """Return loss and flat gradient of a batch."""
        theta = constrain(params)
        fired = fire(theta, X_t, scratch)
        reduced = reduce_planes(theta, fired, kappa, scratch)
        value, g_ends = loss(reduced.ends, y)
        g_theta = pull_back_planes(theta, fired, reduced, g_ends, scratch)
        g = pull_back_constraints(params, theta, g_theta)
        return value, np.concatenate([g[name].ravel() for name in params])

    adam = _Adam(flat, recipe.learning_rate)
    history: list[float] = []
    sound = flat.copy()
    best, best_loss = sound, math.inf
    with progress_bar(recipe.epochs, "training", "epoch", show=progress) as step_done:
        for epoch in range(1, recipe.epochs + 1):
            total, n_batches = 0.0, 0
            with np.errstate(all="ignore"):  # what goes wrong shows in the loss
                for X_t, y_batch in _batches(X, y, recipe.batch_size, rng):
                    value, g = step(X_t, y_batch)
                    adam.update(g, epoch if recipe.bias_correction == "epochs" else None)
                    total += value
                    n_batches += 1
            mean = total / n_batches
            if not (math.isfinite(mean) and np.isfinite(flat).all()):
                flat[:] = sound
                raise DivergenceError(_advice(epoch, recipe), params, np.array(history))
            history.append(mean)
            sound = flat.copy()
            if recipe.keep == "best":
                with np.errstate(all="ignore"):
                    ends = Planes(params, X).ends(objective.alphas)
                    mean, _ = loss(ends, y)
                if mean < best_loss:
                    best, best_loss = sound, mean
            if callback is not None:
                callback(epoch, mean, params)
            step_done(f"loss {mean:.4f}")
    if recipe.keep == "best":
        flat[:] = best
    return Trained({name: value.copy() for name, value in params.items()}, np.array(history))


def _batches(X: Array, y: Array, size: int, rng: np.random.Generator) -> Iterable[tuple[Any, Any]]:
    """Yield shuffled batches as (M, B) and (B,); an incomplete last one only if it is the only."""
    n = max(len(y) // size, 1)
    size = min(size, len(y))
    rows = rng.permutation(len(y))[: n * size].reshape(n, size)
    return zip(np.ascontiguousarray(X[rows].transpose(0, 2, 1)), y[rows], strict=True)


class _Adam:
    """Adam on one flat vector, in place."""

    def __init__(self, flat: Array, learning_rate: float) -> None:
        self.flat = flat
        self.learning_rate = learning_rate
        self.m = np.zeros_like(flat)
        self.v = np.zeros_like(flat)
        self.steps = 0

    def update(self, g: Array, count: int | None = None) -> None:
        """Move along the gradient `g`; `count` replaces the number of steps in the correction."""
        self.steps += 1
        t = self.steps if count is None else count
        self.m += (1 - BETA_1) * (g - self.m)
        self.v += (1 - BETA_2) * (g * g - self.v)
        rate = self.learning_rate / (1 - BETA_1**t)
        self.flat -= rate * self.m / (np.sqrt(self.v / (1 - BETA_2**t)) + EPSILON)


def _check_start(start: Params, recipe: Recipe, M: int) -> None:
    found = {name: value.shape for name, value in start.items()}
    wanted = param_shapes(recipe.n_rules, M, recipe.smf)
    if found != wanted:
        raise ValueError(f"start must have the parameters {wanted}, got {found}")


def _flatten(params: Params) -> tuple[Params, Array]:
    """Return the same parameters as views into one flat vector, and that vector."""
    flat = np.concatenate([value.ravel() for value in params.values()])
    ends = np.cumsum([value.size for value in params.values()])
    parts = np.split(flat, ends[:-1])  # views
    return {
        name: part.reshape(value.shape)
        for (name, value), part in zip(params.items(), parts, strict=True)
    }, flat


def _advice(epoch: int, recipe: Recipe) -> str:
    return (
        f"training diverged in epoch {epoch} of {recipe.epochs}: the loss is no longer finite. "
        f"Try a smaller learning_rate than {recipe.learning_rate:g} (a third of it), more rows in "
        f"a batch than {recipe.batch_size}, and check that X and y are scaled to about unit "
        "spread and free of extreme outliers. The error's `params` hold the last sound state."
    )
