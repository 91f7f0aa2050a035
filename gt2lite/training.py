"""Training by Algorithm 1 of the paper: start values, Adam, engines, `train`.

The sections follow each other as a training uses them. `init_params` draws start values by k-means;
`Adam` moves one flat vector of parameters; `train` goes through epochs and batches, as a
`gt2lite.recipe.Recipe` says. An engine gives it loss and gradient: "autograd" differentiates
`gt2lite.losses.loss` of `gt2lite.system.plane_ends`, the functions that one reads; "fast", the
default, computes the same in closed form (`gt2lite._fast`), many times as fast.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from autograd import grad
from autograd.tracer import getval

from gt2lite._fast.chunks import ChunkedPlanes
from gt2lite._fast.gradient import BatchGradient
from gt2lite._fast.kmeans import kmeans, kmeans_1d
from gt2lite._fast.loss import CompiledLoss
from gt2lite._fast.parameters import Flat
from gt2lite._fast.state import quietly
from gt2lite._progress import progress_bar
from gt2lite._threads import one_blas_thread
from gt2lite._validation import Array, IntArray, between, matrix, one_of, vector, warn, whole
from gt2lite.losses import Objective
from gt2lite.losses import loss as loss_of_ends
from gt2lite.parameters import Params, constrain, param_shapes
from gt2lite.recipe import PRECISIONS, STARTS, Recipe
from gt2lite.reduction import ENGINES
from gt2lite.splits import random_parts
from gt2lite.system import plane_ends

# ------------------------------------------------------------------------------------ start values

MOST_CLUSTERED = 5000  # about as many rows decide where joint start values are


def init_params(
    X: Array,
    n_rules: int,
    rng: np.random.Generator,
    *,
    smf: str = "per_input",
    start: str = "per_input",
    sigma_scale: float = 1.0,
) -> Params:
    """Return start values: centres where the data is, nearly flat consequents.

    Sigma is the standard deviation of the input (1 if it is constant) times `sigma_scale`; the
    rest is drawn uniformly, consequents from (0, 0.01) and the raw shares from (0, 0.1). With the
    defaults these are the start values of the authors' public code.

    Args:
        X: scaled inputs (N, M).
        n_rules: P.
        rng: the source of all randomness here.
        smf: "per_input" for a share of its own for each input, as the paper counts
            them, or "scalar" for one on each side, as in the authors' code.
        start: k-means of each input on its own, "per_input", or of all inputs, "joint"; of very
            many rows, evenly spaced ones are used for the latter.
        sigma_scale: width of the memberships, in standard deviations. The exponent of a firing is
            the mean over the inputs; at ``1 / sqrt(M)`` it becomes their sum, the plain
            product of Gaussians.

    >>> params = init_params(np.array([[0.0], [1.0], [2.0]]), 2, np.random.default_rng(0))
    >>> {name: value.shape for name, value in params.items()}
    {'c': (2, 1), 'raw_sigma': (2, 1), 'raw_l': (1,), 'raw_r': (1,), 'a': (2, 1), 'a0': (2,)}
    """
    X = matrix("X", X)
    P, M = whole("n_rules", n_rules), X.shape[1]
    shapes = param_shapes(P, M, smf)
    sigma = _std(X) * between("sigma_scale", sigma_scale, 0, np.inf)
    if one_of("start", start, STARTS) == "joint":
        c = kmeans(X[:: max(len(X) // MOST_CLUSTERED, 1)], P, rng)
    else:
        c = np.stack([rng.permutation(kmeans_1d(x, P, rng)) for x in X.T], axis=1)  # (P, M)
    return {
        "c": c,
        "raw_sigma": np.tile(sigma, (P, 1)),
        "raw_l": rng.uniform(0, 0.1, shapes["raw_l"]),
        "raw_r": rng.uniform(0, 0.1, shapes["raw_r"]),
        "a": rng.uniform(0, 0.01, shapes["a"]),
        "a0": rng.uniform(0, 0.01, shapes["a0"]),
    }


def _std(X: Array) -> Array:
    """Return the standard deviation (M,) of each input, 1 for a constant."""
    with np.errstate(over="ignore", invalid="ignore"):
        std = X.std(axis=0)
    if not np.isfinite(std).all():
        column = int(np.argmax(~np.isfinite(std)))
        raise ValueError(f"X must be scaled: the standard deviation of column {column} overflows")
    std[(X.min(axis=0) == X.max(axis=0)) | (std == 0)] = 1.0
    return std


# -------------------------------------------------------------------------------------------- Adam

BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-8  # the usual values


class Adam:
    """Adam (Kingma and Ba 2015) on one flat vector.

    Args:
        vector: the numbers to optimise, changed in place.
        learning_rate: the size of a step.
        ends: numbers of steps, rising, at which the rate has fallen along half a cosine from
            `learning_rate` to nearly 0, and starts anew; empty for a constant rate.
        weight_decay: share that a step takes off `decayed`, in units of the learning rate.
        decayed: a view of those numbers of `vector` that decay; None for all.

    >>> x = np.array([3.0, -2.0])
    >>> adam = Adam(x, learning_rate=0.5)
    >>> adam.update(2 * x)  # the slope of x**2: the first step is the learning rate
    >>> x.round(6)
    array([ 2.5, -1.5])
    """

    def __init__(
        self,
        vector: Array,
        learning_rate: float,
        *,
        ends: Sequence[int] = (),
        weight_decay: float = 0.0,
        decayed: Array | None = None,
    ) -> None:
        self.vector = vector
        self.learning_rate = learning_rate
        self._cycles = [0, *ends]  # the steps at which they start, and the last one ends
        self.weight_decay = weight_decay
        self.decayed = vector if decayed is None else decayed
        self.m, self.v = np.zeros_like(vector), np.zeros_like(vector)  # the two moments
        self.steps = 0

    def update(self, g: Array, count: int | None = None) -> None:
        """Move along the gradient `g`; `count` replaces the number of steps in the correction."""
        rate = self._rate()
        self.steps += 1
        t = self.steps if count is None else count
        self.m += (g - self.m) * (1 - BETA_1)
        self.v += (g * g - self.v) * (1 - BETA_2)
        root = math.sqrt(1 - BETA_2**t)  # corrects the bias of v, moved out of its root
        change = rate * root / (1 - BETA_1**t) * self.m / (np.sqrt(self.v) + EPSILON * root)
        if self.weight_decay:
            self.decayed *= 1 - rate * self.weight_decay
        self.vector -= change

    def _rate(self) -> float:
        """Return the learning rate of the next step."""
        if len(self._cycles) == 1:
            return self.learning_rate
        i = bisect.bisect_right(self._cycles, self.steps)
        start, end = self._cycles[i - 1 : i + 1]
        share = (self.steps - start) / (end - start)
        return self.learning_rate * (1 + math.cos(math.pi * share)) / 2


# ----------------------------------------------------------------------------------------- engines


class Engine(Protocol):
    """Planes, loss and gradient of one system in training, whose parameters move meanwhile.

    It is made from the parameters as one flat vector, and reads them anew in every call.
    """

    def ends(self, params: Params, X: Array) -> Array:
        """Return the ends (2, K, N) of the planes of a system at inputs (N, M)."""

    def loss(self, ends: Array, y: Array, X: Array) -> float:
        """Return the loss of ends (2, K, N) at targets (N,); inputs (N, M) if it needs them."""

    def gradient(self, X: Array, y: Array) -> tuple[Array, Array]:
        """Return the gradient of the loss by the flat vector, and the ends, of a batch (B, M)."""


class AutogradEngine:
    """Loss and gradient straight from the formulas, by automatic differentiation."""

    def __init__(self, flat: Flat, objective: Objective) -> None:
        self._flat, self._objective = flat, objective
        self._by_params = grad(self._loss_of)

    def ends(self, params: Params, X: Array) -> Array:
        """Return the ends (2, K, N) of all planes."""
        return plane_ends(params, X, self._objective.kappa)

    def loss(self, ends: Array, y: Array, X: Array) -> float:
        """Return the loss of ends (2, K, N) at targets (N,)."""
        return float(loss_of_ends(ends, y, self._objective))

    def gradient(self, X: Array, y: Array) -> tuple[Array, Array]:
        """Return the gradient by the flat vector and the ends of a batch."""
        found = Flat(self._by_params(self._flat.params, X, y))
        return found.vector, self._ends

    def _loss_of(self, params: Params, X: Array, y: Array) -> Array:
        ends = self.ends(params, X)
        self._ends: Array = getval(ends)  # without what autograd records about them
        return loss_of_ends(ends, y, self._objective)


class FastEngine:
    """The same in closed form, by `gt2lite._fast`; callers run it inside `_fast.state.quietly`.

    Args:
        flat: the parameters that move; they are read anew in every call.
        objective: planes and levels.
        loss: another loss than that of the objective.
    """

    def __init__(self, flat: Flat, objective: Objective, loss: CompiledLoss | None = None) -> None:
        loss = loss or CompiledLoss(objective, flat.vector.dtype)
        self._kappa = objective.kappa[:, None]
        self.loss = loss.value
        self.gradient = BatchGradient(flat, objective.kappa, loss.gradient)

    def ends(self, params: Params, X: Array) -> Array:
        """Return the ends (2, K, N) of all planes, in double precision."""
        planes = ChunkedPlanes(constrain(params), np.asarray(X, dtype=float), keep=False)
        return planes.ends(self._kappa)


def loss_gradient(
    params: Params, X: Array, y: Array, objective: Objective, *, engine: str = "fast"
) -> Params:
    """Return the gradient of the loss by every parameter, as a step of training computes it.

    Args:
        params: the system.
        X: scaled inputs (N, M).
        y: scaled targets (N,).
        objective: planes and levels, such as `Recipe().planes`.
        engine: "fast" or "autograd", see `train`.
    """
    found, flat = Flat(params), Flat(params)
    found.vector[:], _ = quietly(_make_engine(engine, flat, objective).gradient)(X, y)
    return found.params


def _make_engine(
    name: str, flat: Flat, objective: Objective, loss: CompiledLoss | None = None
) -> Engine:
    """Return an engine for the parameters `flat`."""
    if one_of("engine", name, ENGINES) == "fast":
        return FastEngine(flat, objective, loss)
    if loss is not None or flat.vector.dtype != float:
        what = "loss" if loss is not None else "precision='single'"
        raise ValueError(f'{what} needs engine="fast", got engine={name!r}')
    return AutogradEngine(flat, objective)


# ------------------------------------------------------------------------------------------- train

Callback = Callable[[int, float, Params], bool | None]

DrawInputs = Callable[[Array, np.random.Generator], Array]

DIVERGED = 10.0
"""Training that ends with a loss this many times as large as that of the start has diverged."""


class Trained(NamedTuple):
    """A trained system and the mean loss of each epoch, over its batches."""

    params: Params
    history: Array  # (epochs,), or fewer if training stopped early


class InterruptedTrainingWarning(UserWarning):
    """Training was interrupted, and the parameters learned until then are kept."""


class DivergenceError(RuntimeError):
    """Training produced numbers that are not finite, or a loss far above that of the start.

    `params` are the parameters at the end of the last finite epoch, `history` the losses up to it.
    """

    def __init__(self, message: str, params: Params, history: Array) -> None:
        super().__init__(message, params, history)  # all three, so that it can be pickled
        self.params = params
        self.history = history

    def __str__(self) -> str:
        return str(self.args[0])


def train(
    X: Array,
    y: Array,
    recipe: Recipe | None = None,
    *,
    seed: int | Sequence[int] | np.random.Generator = 0,
    start: Params | None = None,
    loss: CompiledLoss | None = None,
    engine: str = "fast",
    draw_inputs: DrawInputs | None = None,
    callback: Callback | None = None,
    on_interrupt: str = "raise",
    progress: bool | None = None,
) -> Trained:
    """Train a system by Algorithm 1.

    An epoch goes through all rows in batches, in random order. For each batch the engine computes
    memberships, firings, planes and output, the loss and its gradient, and Adam moves the
    parameters. Which of them are returned is up to `recipe.keep`.

    Args:
        X: scaled inputs (N, M).
        y: scaled targets (N,).
        recipe: the settings; None for the paper's.
        seed: a number, several, or a generator; decides start values and the order of the rows.
        start: start values; None draws them by `init_params`.
        loss: the loss of the planes, for the engine "fast"; None for that of the recipe's
            objective.
        engine: "fast", or "autograd" for gradients by automatic differentiation of the formulas.
            Both learn the same up to rounding.
        draw_inputs: returns the inputs of an epoch, and those for start values, from `X` and the
            generator; None for `X` itself.
        callback: called after each epoch with its number (from 1), its loss and the parameters
            (their running mean if there is one). Copy what you keep: training goes on with these
            arrays. The loss is the mean over the batches or, if `keep` compares epochs, that of
            the rows it compares them on. If the callback returns True, training stops, as if
            this had been its last epoch.
        on_interrupt: the effect of Ctrl-C: "raise" as always, or "keep" what would be kept had
            training ended with the last complete epoch, with an `InterruptedTrainingWarning`.
            Before the end of the first epoch, and if the loss is ten times that of the
            start, there is nothing to keep, and it is raised. Use "raise" if results are stored:
            an incomplete training must not pass for a complete one.
        progress: show a progress bar; None shows one on a terminal if tqdm is installed.

    Raises:
        DivergenceError: if the loss is no longer finite, or, at the end, ten times that of the
            start.
        KeyboardInterrupt: see `on_interrupt`.

    >>> X = np.linspace(-1, 1, 50)[:, None]
    >>> trained = train(X, X[:, 0] ** 2, Recipe(n_rules=3, epochs=5))
    >>> trained.history.shape
    (5,)
    """
    recipe = recipe or Recipe()
    one_of("on_interrupt", on_interrupt, ("raise", "keep"))
    rng = np.random.default_rng(seed)
    X = matrix("X", X)
    X, y, X_score, y_score = _set_aside(X, vector("y", y, len(X)), recipe, rng)
    draw_inputs = draw_inputs or (lambda X, rng: X)
    theta = _start_values(start, draw_inputs(X, rng), recipe, rng)  # Algorithm 1, line 6
    dtype = PRECISIONS[recipe.precision]
    X, y = X.astype(dtype, copy=False), y.astype(dtype, copy=False)
    system = _Training(theta, recipe, engine, loss, len(y))
    history: list[float] = []
    # one object for all that the last complete epoch leaves, so that Ctrl-C finds all of it or none
    done = _Epoch(0, system.moving.vector.copy(), system.kept.vector.copy())
    try:
        with (
            one_blas_thread(),
            progress_bar(recipe.epochs, "training", "epoch", show=progress) as step_done,
        ):
            for epoch in range(1, recipe.epochs + 1):
                mean = system.learn(draw_inputs(X, rng), y, rng, epoch)  # lines 7 to 14
                if system.is_lost(mean, is_last=epoch == recipe.epochs):
                    raise system.divergence(epoch, done, history)
                value, new = system.compare(epoch, mean, done, X_score, y_score)  # line 15
                history.append(mean)
                before, done = done, new
                answer = None if callback is None else callback(epoch, value, system.kept.params)
                step_done(f"loss {value:.4f}")
                if recipe.patience is not None and epoch - done.best_epoch >= recipe.patience:
                    break
                if isinstance(answer, (bool, np.bool_)) and answer:
                    if system.has_diverged(mean):
                        raise system.divergence(epoch, before, history[:-1])
                    break
    except KeyboardInterrupt:
        system.moving.vector[:] = done.vector
        if on_interrupt == "raise" or not done.epoch:
            raise
        if system.has_diverged(history[done.epoch - 1]):
            raise
        warn(
            f"interrupted after epoch {done.epoch} of {recipe.epochs}: the parameters learned so "
            "far are kept",
            InterruptedTrainingWarning,
        )
    system.kept.vector[:] = done.kept
    return Trained(as_double(system.kept.params), np.array(history[: done.epoch]))  # line 16


def _set_aside(
    X: Array, y: Array, recipe: Recipe, rng: np.random.Generator
) -> tuple[Array, Array, Array, Array]:
    """Return the rows to learn from, and those on which epochs are compared."""
    if recipe.keep != "validation":
        return X, y, X, y
    if len(y) < 2:
        raise ValueError(f"keep='validation' needs at least 2 rows, got {len(y)}")
    n = min(max(round(recipe.validation * len(y)), 1), len(y) - 1)
    aside, rows = (np.sort(part) for part in random_parts(len(y), [n], rng))
    return X[rows], y[rows], X[aside], y[aside]


def _start_values(
    start: Params | None, X: Array, recipe: Recipe, rng: np.random.Generator
) -> Params:
    """Return the start values that were given, checked, or draw some."""
    if start is None:
        shape = {"smf": recipe.smf, "start": recipe.start}
        return init_params(X, recipe.n_rules, rng, **shape, sigma_scale=recipe.sigma_scale)
    found = {name: value.shape for name, value in start.items()}
    wanted = param_shapes(recipe.n_rules, X.shape[1], recipe.smf)
    if found != wanted:
        raise ValueError(f"start must have the parameters {wanted}, got {found}")
    return start


class _Epoch(NamedTuple):
    """The state after an epoch."""

    epoch: int
    vector: Array  # the parameters, as one vector
    kept: Array  # those that would be returned
    best_loss: float = math.inf  # of all epochs so far, if they are compared
    best_epoch: int = 0


class _Training:
    """A system in training: the parameters that move, and those that are kept, their mean."""

    def __init__(
        self, start: Params, recipe: Recipe, engine: str, loss: CompiledLoss | None, n_rows: int
    ) -> None:
        self.recipe = recipe
        dtype = PRECISIONS[recipe.precision]
        self.moving = Flat(start, dtype)
        self.kept = Flat(start, dtype) if recipe.averaging else self.moving
        self.engine = _make_engine(engine, self.moving, recipe.planes, loss)
        steps = max(n_rows // recipe.batch_size, 1)  # in an epoch
        self.adam = Adam(
            self.moving.vector,
            recipe.learning_rate,
            ends=[epoch * steps for epoch in recipe.annealed(steps)],
            weight_decay=recipe.weight_decay,
            decayed=self.moving.b,
        )
        self._worst = math.nan  # a loss above this, at the end, is divergence

    @quietly  # errors show in the loss
    def learn(self, X: Array, y: Array, rng: np.random.Generator, epoch: int) -> float:
        """Go through the rows once, batch by batch, and return the mean loss."""
        count = epoch if self.recipe.bias_correction == "epochs" else None
        rows = _batches(len(y), self.recipe.batch_size, rng)  # (batches, B)
        X_rows, y_rows = X[rows], y[rows]
        found = []  # the ends of every batch
        for X_batch, y_batch in zip(X_rows, y_rows, strict=True):  # Algorithm 1, line 7
            g, ends = self.engine.gradient(X_batch, y_batch)  # lines 8 to 12
            self.adam.update(g, count)  # line 13
            if self.recipe.averaging:  # at first over about the last tenth of all steps
                share = max(1 - self.recipe.averaging, 10 / (9 + self.adam.steps))
                self.kept.vector += share * (self.moving.vector - self.kept.vector)
            found.append(ends)
            if math.isnan(self._worst):
                self._worst = DIVERGED * (1 + self.engine.loss(ends, y_batch, X_batch))
        self._last = X_rows[-1], y_rows[-1]
        X_all = X_rows.reshape(-1, X.shape[1])
        return self.engine.loss(np.concatenate(found, axis=-1), y_rows.ravel(), X_all)

    def compare(
        self, epoch: int, mean: float, before: _Epoch, X: Array, y: Array
    ) -> tuple[float, _Epoch]:
        """Return the loss by which an epoch is compared, and the state after it."""
        value, kept = mean, self.kept.vector.copy()
        best_loss, best_epoch = before.best_loss, before.best_epoch
        if self.recipe.keep != "last":
            value = self._score(X, y)
            if value < best_loss:
                best_loss, best_epoch = value, epoch
            else:
                kept = before.kept
        return value, _Epoch(epoch, self.moving.vector.copy(), kept, best_loss, best_epoch)

    @quietly
    def _score(self, X: Array, y: Array) -> float:
        """Return the loss of the kept parameters on some rows."""
        return self.engine.loss(self.engine.ends(self.kept.params, X), y, X)

    def is_lost(self, mean: float, *, is_last: bool) -> bool:
        """Return whether an epoch left numbers that are not finite, or ended in divergence."""
        if not (math.isfinite(mean) and np.isfinite(self.moving.vector).all()):
            return True
        return is_last and self.has_diverged(mean)

    @quietly
    def has_diverged(self, mean: float) -> bool:
        """Return whether a training that ends here, and keeps that, has diverged.

        That is so if the mean loss, or the loss after the last step, is far above the first.
        """
        if self.recipe.keep != "last":
            return False
        X, y = self._last  # no batch follows that would show a bad last step
        _, ends = self.engine.gradient(X, y)
        last = self.engine.loss(ends, y, X)
        return not (mean <= self._worst and last <= self._worst)  # NaN is not

    def divergence(self, epoch: int, sound: _Epoch, history: list[float]) -> DivergenceError:
        """Return the error of an epoch, given the state and the losses before it."""
        self.moving.vector[:] = sound.vector
        recipe = self.recipe
        advice = (
            f"training diverged in epoch {epoch} of {recipe.epochs}: the loss is no longer finite, "
            f"or {DIVERGED:g} times what it was at the start. Try a learning_rate below "
            f"{recipe.learning_rate:g} (a third of it), a batch_size above {recipe.batch_size}, "
            "and check that X and y are scaled to about unit standard deviation and free of "
            "extreme outliers. The error's `params` hold the last finite state."
        )
        return DivergenceError(advice, self.moving.params, np.array(history))


def as_double(params: Params) -> Params:
    """Return a copy of parameters in double precision."""
    return {name: value.astype(float) for name, value in params.items()}


def _batches(n_rows: int, size: int, rng: np.random.Generator) -> IntArray:
    """Return the shuffled rows of each batch (batches, B); an incomplete last batch is dropped."""
    n = max(n_rows // size, 1)
    size = min(size, n_rows)
    return rng.permutation(n_rows)[: n * size].reshape(n, size)
