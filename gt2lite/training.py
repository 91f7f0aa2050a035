"""Training by Algorithm 1 of the paper: recipes and presets, start values, Adam, `train`.

The sections follow each other as a training uses them. `Recipe` holds all settings; `init_params`
draws start values by k-means; `Adam` moves one flat vector of parameters; `train` goes through the
epochs. The loss itself is in `gt2lite.losses`, its gradient in `gt2lite._fast`.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gt2lite._fast.gradient import BatchGradient
from gt2lite._fast.parameters import Flat
from gt2lite._fast.state import quietly
from gt2lite._progress import progress_bar
from gt2lite._threads import one_blas_thread
from gt2lite._validation import Array, IntArray, between, matrix, one_of, vector, warn, whole
from gt2lite.losses import OBJECTIVES, CompiledLoss, Objective, make_objective
from gt2lite.splits import random_parts
from gt2lite.system import SMF_MODES, Params, Planes, param_shapes

# ----------------------------------------------------------------------------------------- recipes

STARTS = ("per_input", "joint")
FIRST_CYCLE, CYCLE_GROWTH = 150, 1.5  # steps of the schedule "restarts"
PRECISIONS = {"double": np.float64, "single": np.float32}

_LARGEST = {"n_rules": 10**4, "epochs": 10**6, "batch_size": 10**9}
_CHOICES: dict[str, Iterable[str]] = {
    "objective": OBJECTIVES,
    "smf": SMF_MODES,
    "keep": ("last", "best", "validation"),
    "bias_correction": ("steps", "epochs"),
    "schedule": ("constant", "cosine", "restarts"),
    "start": STARTS,
    "precision": PRECISIONS,
}
_RANGES = {
    "coverage": (0, 1),
    "learning_rate": (0, 1e3),  # beyond, the first step leaves no parameter usable
    "sigma_scale": (1e-6, 1e6),  # beyond, memberships are those of a point or of everything
    "validation": (0, 1),
}


@dataclass(frozen=True)
class Recipe:
    """The settings of a training; the defaults are the paper's.

    Attributes:
        n_rules: number of fuzzy rules, P.
        coverage: the coverage that the widest plane, alpha_0, learns.
        alphas: planes that make up the output; None for the objective's own.
        objective: "dual", the paper's loss, or "aligned", in which every plane learns a coverage
            of its own, see `gt2lite.losses`.
        smf: "per_input" or "scalar" secondary memberships, see `gt2lite.training.init_params`.
        epochs: passes over the data.
        batch_size: rows in a step. An incomplete last batch is dropped unless it is the only one.
        learning_rate: Adam's.
        keep: "last" parameters, as in the authors' code, or the "best": those with the
            smallest loss over all training rows at the end of an epoch, as in Algorithm 1;
            "validation" compares the epochs on rows that are set aside for it.
        bias_correction: whether Adam's bias correction counts "steps", as usual, or
            "epochs", as in the authors' code.
        schedule: "constant" learning rate; one that falls along half a "cosine" from
            `learning_rate` in the first step to nearly 0 in the last; or "restarts", which does
            so again and again, in cycles that grow from 150 steps by half each time (Loshchilov
            and Hutter 2017), so that the end of each cycle is a good place to stop.
        weight_decay: share of the consequents `a`, `a0` that is taken off in a step, in units of
            the learning rate (decoupled from the gradient).
        averaging: if above 0, a running mean of the parameters is kept; each step replaces a
            share of ``1 - averaging`` of it by the newest ones (more in the first steps, so
            that the start does not count). 0 keeps the parameters themselves.
        start: "per_input" or "joint" start of the rules, see `gt2lite.training.init_params`.
        sigma_scale: width of the memberships at the start, likewise.
        validation: share of the rows that is set aside if `keep` is "validation".
        patience: training stops after this many epochs in a row without a new best one; needs
            `keep` "validation" or "best". None never stops early. A "cosine" schedule falls as
            planned for all `epochs`, so that a training stopped early lacks the small steps at
            its end, which often help most: set a larger patience, or a constant rate.
        precision: "double", or "single" for training in single precision: up to twice as fast.
            Parameters and everything computed with them afterwards are in double precision.
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
    patience: int | None = None
    precision: str = "double"

    def __post_init__(self) -> None:
        values = vars(self)  # each is replaced by the plain number that it stands for
        for name, high in _LARGEST.items():
            values[name] = whole(name, values[name], high=high)
        for name, (low, top) in _RANGES.items():
            values[name] = between(name, values[name], low, top)
        for name, highest in (("weight_decay", 1 / self.learning_rate), ("averaging", 1.0)):
            values[name] = between(name, values[name], 0, highest, closed=True)  # 0 turns it off
            if values[name] == highest:
                raise ValueError(f"{name} must be below {highest:g}, got {highest!r}")
        for name, options in _CHOICES.items():
            one_of(name, values[name], options)
        if self.patience is not None:
            values["patience"] = whole("patience", self.patience, high=_LARGEST["epochs"])
            if self.keep == "last":
                raise ValueError(
                    f"patience must be None if keep='last', got {self.patience!r}: set "
                    "keep='validation' or keep='best', which compare epochs"
                )
        if self.alphas is not None:
            values["alphas"] = tuple(vector("alphas", self.alphas).tolist())
        make_objective(self.objective, self.coverage, self.alphas)

    @property
    def planes(self) -> Objective:
        """The planes of the system and the coverage that each of them learns."""
        return make_objective(self.objective, self.coverage, self.alphas)

    def annealed(self, steps: int) -> list[int]:
        """Return the epochs at whose end the learning rate has fallen to nearly 0.

        Args:
            steps: number of steps in an epoch.

        >>> Recipe(schedule="restarts", epochs=40).annealed(25)  # cycles of 150, 225, ... steps
        [6, 15, 29, 40]
        """
        if self.schedule == "constant":
            return []
        if self.schedule == "cosine":
            return [self.epochs]
        ends, end, length = [], 0, float(FIRST_CYCLE)
        while end < self.epochs:
            end += max(round(length / steps), 1)
            length *= CYCLE_GROWTH
            if self.epochs - end < length / steps / 2:  # no short cycle at the end
                end = self.epochs
            ends.append(end)
        return ends


# ------------------------------------------------------------------------------------ start values


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
        start: k-means of each input on its own, "per_input", or of all inputs, "joint".
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
        c = _kmeans(X, P, rng)
    else:
        c = np.stack([rng.permutation(_kmeans_1d(x, P, rng)) for x in X.T], axis=1)  # (P, M)
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


@one_blas_thread()  # for a row half-way between two centres the last bit decides
def _kmeans(X: Array, n: int, rng: np.random.Generator, iterations: int = 100) -> Array:
    """Return `n` centres (n, M) of the rows of `X`; fewer distinct rows than that are repeated."""
    rows = np.unique(X, axis=0)
    if len(rows) <= n:
        return np.resize(rows, (n, X.shape[1]))
    centres = _far_apart(rows, n, rng)
    for _ in range(iterations):
        nearest = np.argmin((centres**2).sum(axis=1) - 2 * (X @ centres.T), axis=1)  # (N,)
        counts = np.bincount(nearest, minlength=n)
        sums = np.zeros_like(centres)
        np.add.at(sums, nearest, X)
        full = counts > 0  # a cluster without rows stays where it is
        moved = centres.copy()
        moved[full] = sums[full] / counts[full, None]
        if np.array_equal(moved, centres):
            break
        centres = moved
    return centres


def _far_apart(
    rows: Array, n: int, rng: np.random.Generator, counts: IntArray | None = None
) -> Array:
    """Return `n` of distinct rows, each drawn far from the others (k-means++).

    A row that occurs `counts` times is drawn as often more.
    """
    share = None if counts is None else counts / counts.sum()
    first = rng.integers(len(rows)) if share is None else rng.choice(len(rows), p=share)
    chosen = [int(first)]
    distance = np.full(len(rows), np.inf)
    for _ in range(n - 1):
        distance = np.minimum(distance, ((rows - rows[chosen[-1]]) ** 2).sum(axis=1))
        weight = distance if counts is None else distance * counts
        if not weight.sum() > 0:  # squares have underflown: any row not yet chosen will do
            weight = (~np.isin(np.arange(len(rows)), chosen)).astype(float)
        chosen.append(int(rng.choice(len(rows), p=weight / weight.sum())))
    return rows[chosen]


def _kmeans_1d(x: Array, n: int, rng: np.random.Generator, iterations: int = 100) -> Array:
    """Return `n` centres of the values `x`; fewer distinct values than that are repeated.

    On a line clusters are stretches of the sorted values, so that a step of Lloyd's
    algorithm is a search for the midpoints and a sum over each stretch.
    """
    values, counts = np.unique(x, return_counts=True)
    if values.size <= n:
        return np.resize(values, n)
    centres = np.sort(_far_apart(values[:, None], n, rng, counts)[:, 0])
    for _ in range(iterations):
        cuts = np.searchsorted(values, (centres[1:] + centres[:-1]) / 2)
        first, last = np.append(0, cuts), np.append(cuts, values.size)
        full = last > first  # a cluster without values stays where it is
        moved = centres.copy()
        moved[full] = np.add.reduceat(counts * values, first[full]) / np.add.reduceat(
            counts, first[full]
        )
        if np.array_equal(moved, centres):
            break
        centres = moved
    return centres


# -------------------------------------------------------------------------------------------- Adam

BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-8  # the usual values


class Adam:
    """Adam on one flat vector.

    The two moments, and the gradient and its square towards which they move, are rows of one
    array each: half as many calls.

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
        self.moments = np.zeros((2, vector.size), vector.dtype)
        self._shares = np.array([[1 - BETA_1], [1 - BETA_2]], vector.dtype)
        self._buffer = np.empty_like(self.moments)
        self._m, self._v = self.moments
        self._change, self._root = self._buffer
        self.steps = 0

    def update(self, g: Array, count: int | None = None) -> None:
        """Move along the gradient `g`; `count` replaces the number of steps in the correction."""
        learning_rate = self.learning_rate
        if len(self._cycles) > 1:
            i = bisect.bisect_right(self._cycles, self.steps)
            start, end = self._cycles[i - 1 : i + 1]
            share = (self.steps - start) / (end - start)
            learning_rate *= (1 + math.cos(math.pi * share)) / 2
        self.steps += 1
        t = self.steps if count is None else count
        buffer, change, root = self._buffer, self._change, self._root
        change[:] = g
        np.multiply(g, g, out=root)
        buffer -= self.moments
        buffer *= self._shares
        self.moments += buffer

        correction = math.sqrt(1 - BETA_2**t)  # that of v, moved out of the root
        np.sqrt(self._v, out=root)
        root += EPSILON * correction
        np.multiply(self._m, learning_rate * correction / (1 - BETA_1**t), out=change)
        change /= root
        if self.weight_decay:
            self.decayed *= 1 - learning_rate * self.weight_decay
        self.vector -= change


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
    draw_inputs: DrawInputs | None = None,
    callback: Callback | None = None,
    on_interrupt: str = "raise",
    progress: bool | None = None,
) -> Trained:
    """Train a system by Algorithm 1.

    Args:
        X: scaled inputs (N, M).
        y: scaled targets (N,).
        recipe: the settings; None for the paper's.
        seed: a number, several, or a generator; decides start values and the order of the rows.
        start: start values; None draws them by `init_params`.
        loss: the loss of the planes; None for that of the recipe's objective.
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
    X = matrix("X", X)
    y = vector("y", y, len(X))
    rng = np.random.default_rng(seed)
    X_score, y_score = X, y
    if recipe.keep == "validation":
        if len(y) < 2:
            raise ValueError(f"keep='validation' needs at least 2 rows, got {len(y)}")
        n = min(max(round(recipe.validation * len(y)), 1), len(y) - 1)
        aside, rows = (np.sort(part) for part in random_parts(len(y), [n], rng))
        X, y, X_score, y_score = X[rows], y[rows], X[aside], y[aside]
    draw_inputs = draw_inputs or (lambda X, rng: X)
    if start is None:
        start = init_params(
            draw_inputs(X, rng),
            recipe.n_rules,
            rng,
            smf=recipe.smf,
            start=recipe.start,
            sigma_scale=recipe.sigma_scale,
        )
    else:
        found = {name: value.shape for name, value in start.items()}
        wanted = param_shapes(recipe.n_rules, X.shape[1], recipe.smf)
        if found != wanted:
            raise ValueError(f"start must have the parameters {wanted}, got {found}")
    dtype = PRECISIONS[recipe.precision]
    X, y = X.astype(dtype, copy=False), y.astype(dtype, copy=False)
    system = _Training(start, recipe, loss or CompiledLoss(recipe.planes, dtype), len(y))
    moving, kept = system.moving, system.kept
    history: list[float] = []
    best, best_loss, best_epoch = kept.vector.copy(), math.inf, 0
    # the last complete epoch, its parameters, and those to keep if training ended there; one
    # object, so that Ctrl-C finds all of it or none
    complete = 0, moving.vector.copy(), best
    try:
        with (
            one_blas_thread(),
            progress_bar(recipe.epochs, "training", "epoch", show=progress) as step_done,
        ):
            for epoch in range(1, recipe.epochs + 1):
                _, sound, _ = complete
                mean = system.learn(draw_inputs(X, rng), y, rng, epoch)
                if not (math.isfinite(mean) and np.isfinite(moving.vector).all()) or (
                    epoch == recipe.epochs and system.has_diverged(mean)
                ):
                    raise system.divergence(epoch, sound, history)
                value, keeping = mean, kept.vector.copy()
                if recipe.keep != "last":
                    value = system.score(X_score, y_score)
                    if value < best_loss:
                        best, best_loss, best_epoch = keeping, value, epoch
                    keeping = best
                history.append(mean)
                complete = epoch, moving.vector.copy(), keeping
                answer = None if callback is None else callback(epoch, value, kept.params)
                step_done(f"loss {value:.4f}")
                if recipe.patience is not None and epoch - best_epoch >= recipe.patience:
                    break
                if isinstance(answer, (bool, np.bool_)) and answer:
                    if system.has_diverged(mean):
                        raise system.divergence(epoch, sound, history[:-1])
                    break
    except KeyboardInterrupt:
        epoch, moving.vector[:], _ = complete
        if on_interrupt == "raise" or not epoch or system.has_diverged(history[epoch - 1]):
            raise
        warn(
            f"interrupted after epoch {epoch} of {recipe.epochs}: the parameters learned so far "
            "are kept",
            InterruptedTrainingWarning,
        )
    epoch, _, kept.vector[:] = complete
    return Trained(as_double(kept.params), np.array(history[:epoch]))


class _Training:
    """A system in training: the parameters that move, and those that are kept, their mean."""

    def __init__(self, start: Params, recipe: Recipe, loss: CompiledLoss, n_rows: int) -> None:
        self.recipe, self.loss = recipe, loss
        dtype = PRECISIONS[recipe.precision]
        self.moving = Flat(start, dtype)
        self.kept = Flat(start, dtype) if recipe.averaging else self.moving
        self.gradient = BatchGradient(self.moving, recipe.planes.kappa, loss.gradient)
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
        batches = np.ascontiguousarray(X_rows.transpose(0, 2, 1))  # (batches, M, B)
        found = []  # the ends of every batch
        for X_t, y_t in zip(batches, y_rows, strict=True):
            g, ends = self.gradient(X_t, y_t)
            self.adam.update(g, count)
            if self.recipe.averaging:  # at first over about the last tenth of all steps
                share = max(1 - self.recipe.averaging, 10 / (9 + self.adam.steps))
                self.kept.vector += share * (self.moving.vector - self.kept.vector)
            found.append(ends)
            if math.isnan(self._worst):
                self._worst = DIVERGED * (1 + self.loss.value(ends, y_t, X_t))
        self._batch = X_t, y_t
        X_all = X_rows.reshape(-1, X.shape[1]).T  # (M, rows)
        return self.loss.value(np.concatenate(found, axis=-1), y_rows.ravel(), X_all)

    @quietly
    def has_diverged(self, mean: float) -> bool:
        """Return whether a training that ends here, and keeps that, has diverged.

        That is so if the mean loss, or the loss after the last step, is far above the first.
        """
        if self.recipe.keep != "last":
            return False
        X_t, y_t = self._batch  # no batch follows that would show a bad last step
        _, ends = self.gradient(X_t, y_t)
        last = self.loss.value(ends, y_t, X_t)
        return not (mean <= self._worst and last <= self._worst)  # NaN is not

    def divergence(self, epoch: int, sound: Array, history: list[float]) -> DivergenceError:
        """Return the error of an epoch, given parameters and losses of those before it."""
        self.moving.vector[:] = sound
        recipe = self.recipe
        advice = (
            f"training diverged in epoch {epoch} of {recipe.epochs}: the loss is no longer finite, "
            f"or {DIVERGED:g} times what it was at the start. Try a learning_rate below "
            f"{recipe.learning_rate:g} (a third of it), a batch_size above {recipe.batch_size}, "
            "and check that X and y are scaled to about unit standard deviation and free of "
            "extreme outliers. The error's `params` hold the last finite state."
        )
        return DivergenceError(advice, self.moving.params, np.array(history))

    @quietly
    def score(self, X: Array, y: Array) -> float:
        """Return the loss of the kept parameters on some rows."""
        ends = Planes(self.kept.params, X).ends(self.recipe.planes.alphas)
        return self.loss.value(ends, y, X.T)


def loss_gradient(params: Params, X: Array, y: Array, objective: Objective) -> Params:
    """Return the gradient of the loss by every parameter, as a step of training computes it.

    Args:
        params: the system.
        X: scaled inputs (N, M).
        y: scaled targets (N,).
        objective: planes and levels, such as `Recipe().planes`.
    """
    found = Flat(params)
    gradient = BatchGradient(Flat(params), objective.kappa, CompiledLoss(objective).gradient)
    found.vector[:], _ = quietly(gradient)(np.ascontiguousarray(X.T), y)
    return found.params


def as_double(params: Params) -> Params:
    """Return a copy of parameters in double precision."""
    return {name: value.astype(float) for name, value in params.items()}


def _batches(n_rows: int, size: int, rng: np.random.Generator) -> IntArray:
    """Return the shuffled rows of each batch (batches, B); an incomplete last batch is dropped."""
    n = max(n_rows // size, 1)
    size = min(size, n_rows)
    return rng.permutation(n_rows)[: n * size].reshape(n, size)
