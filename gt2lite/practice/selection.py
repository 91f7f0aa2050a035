"""Ensembles of systems, and the selection of their settings inside the training set.

`GT2Regressor.strong` trains several systems and lets the training rows decide how. Each of a few
candidate settings is trained without one fold of the rows and scored on that fold, at several
checkpoints of its training. The better half goes on to the next fold, the best two to the third.
The best one, or the best two if their mean is no worse, are then trained on all rows, as long as
was best on the folds. A score is the interval score of the best family of intervals around a
system: its alpha-planes, or margins around its output.

`fit_systems` is the entry; it returns an `Ensemble`.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from gt2lite._progress import progress_bar
from gt2lite._validation import Array, warn
from gt2lite.calibration import rank
from gt2lite.memberships import alpha_of
from gt2lite.metrics import interval_score
from gt2lite.practice.margins import POWERS, Margins
from gt2lite.practice.model import Candidate, Ensemble, Ranks, System, input_forms
from gt2lite.practice.presets import STRONG
from gt2lite.practice.settings import MOST_STEPS, EnsembleSettings
from gt2lite.practice.types import Record, Settings
from gt2lite.recipe import Recipe
from gt2lite.system import Params, Planes
from gt2lite.training import (
    Callback,
    DivergenceError,
    InterruptedTrainingWarning,
    Trained,
    as_double,
    train,
)

R = TypeVar("R")
BoolArray = NDArray[np.bool_]

# The candidates are settings that differ from those of `practice.presets.STRONG`.
_STEADY = {"schedule": "constant", "averaging": 0.99}  # learns less by heart if noise is large
CANDIDATES: tuple[Settings, ...] = (
    {},
    {"weight_decay": 0.1},
    {"weight_decay": 0.3},
    {"n_rules": 100, "sigma_scale": 0.5},
    _STEADY,
    _STEADY | {"n_rules": 60, "sigma_scale": 0.5, "learning_rate": 0.05},
    _STEADY | {"inputs": "ranks"},
    _STEADY | {"inputs": "ranks", "start": "per_input", "sigma_scale": 0.5},
)
MOST_CENTRES = 3000  # rules times inputs; a candidate with more is not tried, except the first
FOLDS = 5  # parts of the training rows; a candidate is scored on one and trained on the others
FINALISTS = (1, 1 / 2, 0)  # share of the candidates trained on each fold, and never fewer than two
TOLERATED_LOSS = 0.01  # how much worse, relatively, one more candidate may make the mean

# A training run is scored at checkpoints.
CHECKPOINT_STEPS = tuple(round(100 * 1.5**i) for i in range(11))  # 100, 150, 225, ..., 5767
ENOUGH_STEPS, ENOUGH_EPOCHS = 1500, 40  # the first checkpoint with as many of both is the last one
PATIENCE = 2  # checkpoints in a row without a better score, after which a training run ends

# A score compares families of intervals.
LEVELS = (0.9, 0.95)  # coverages whose interval scores decide
GRID = np.asarray(alpha_of(np.linspace(0, 1, 9)))  # planes evaluated; others are interpolated
MAX_SCORED = 1000  # rows of a fold that are scored; of a larger fold, evenly spaced ones
WORTH = 0.07
"""How much smaller, relatively, the score must be if each bound gets a rank of its own.

Two ranks vary more than one, the more the fewer rows calibrate, and how many is not known here.
"""


# -------------------------------------------------------------------------------- training


def fit_systems(
    X: Array,
    y: Array,
    recipe: Recipe,
    settings: EnsembleSettings,
    seed: Any,
    callback: Callback | None = None,
) -> Ensemble:
    """Train one system, several, or the best of several candidates.

    Args:
        X: scaled inputs (N, M).
        y: scaled targets (N,).
        recipe: how to train; of a selection, its first candidate.
        settings: how many systems, whether to select, and so on.
        seed: a number, or what `numpy.random.default_rng` takes.
        callback: see `gt2lite.training.train`.
    """
    several_processes = settings.n_systems > 1 and settings.n_jobs not in (None, 1)
    if callback is not None and (settings.choose or several_processes):
        raise ValueError(
            "callback must be None if choose=True, which trains many times, and if n_jobs lets "
            "other processes train: set verbose=True to follow them"
        )
    limits = np.stack([X.min(axis=0), X.max(axis=0)]) if settings.clip_inputs else None
    if settings.choose:
        number = seed if isinstance(seed, int) else int(np.random.default_rng(seed).integers(2**63))
        return replace(choose_systems(X, y, recipe, settings, number), limits=limits)
    ranks = Ranks.fit(X) if settings.inputs == "ranks" else None
    X_learn = X if ranks is None else ranks.transform(X)
    seeds = system_seeds(seed, settings.n_systems)
    learn = partial(train, X_learn, y, recipe, callback=callback)
    if len(seeds) == 1:
        trained = [learn(seed=seeds[0], on_interrupt="keep", progress=settings.verbose)]
    else:
        trained = _train_several(
            [partial(learn, seed=one, progress=False) for one in seeds], settings
        )
    systems = (System(params, recipe, history, settings.inputs) for params, history in trained)
    found = Ensemble.of(systems, ranks=ranks, limits=limits)
    return found if settings.margins is None else found.with_margins(settings.margins, X)


def _train_several(
    calls: Sequence[Callable[[], Trained]], settings: EnsembleSettings
) -> list[Trained]:
    """Return what several trainings return; Ctrl-C keeps those that are complete."""
    trained: list[Trained] = []
    try:
        with progress_bar(len(calls), "training", "system", show=settings.verbose) as done:
            for system in call_all(calls, settings.n_jobs, done):
                trained.append(system)
    except KeyboardInterrupt:
        if not trained:
            raise
        warn(
            f"interrupted after {len(trained)} of {len(calls)} systems: the complete ones are kept",
            InterruptedTrainingWarning,
        )
    return trained


def system_seeds(seed: Any, n: int) -> list[Any]:
    """Return the seeds of `n` systems; the first is `seed` itself if that is a number.

    >>> system_seeds(3, 3)
    [3, [3, 1], [3, 2]]
    """
    if n == 1:
        return [seed]
    if isinstance(seed, int):
        return [seed, *([seed, k] for k in range(1, n))]
    return [int(number) for number in np.random.default_rng(seed).integers(2**63, size=n)]


def call_all(
    calls: Sequence[Callable[[], R]],
    n_jobs: int | None = None,
    done: Callable[[str], object] = lambda words: None,
) -> Iterator[R]:
    """Yield what each of several functions returns, in order.

    Args:
        calls: the functions, such as trainings; they are pickled for other processes.
        n_jobs: None or 1 for one after another; otherwise the number of processes, -1 for one
            per call, but at most four per core, which share the cores evenly. Needs joblib.
        done: called after each of them, such as the step of a progress bar.
    """
    results: Iterable[R] = (call() for call in calls)
    if n_jobs not in (None, 1) and len(calls) > 1:
        try:
            import joblib
        except ImportError:
            raise ImportError(
                "n_jobs other than None and 1 needs joblib, which is not installed: pip install "
                "'gt2lite[parallel]', or leave n_jobs as it is"
            ) from None
        most = 4 * joblib.cpu_count() if n_jobs == -1 else n_jobs
        pool = joblib.Parallel(n_jobs=min(len(calls), most), return_as="generator", batch_size=1)
        results = pool(joblib.delayed(call)() for call in calls)
    for result in results:
        done("")
        yield result


# ---------------------------------------------------------------------------------- scores


class HeldOut(NamedTuple):
    """Planes and outputs of rows that were not trained on, and their targets."""

    ends: Array  # (2, G, n) bounds of the planes `GRID`, from alpha = 1 to alpha_0
    output: Array  # (n,)
    y: Array  # (n,)

    @classmethod
    def joined(cls, parts: Sequence[HeldOut]) -> HeldOut:
        """Return the rows of several folds, one after another."""
        ends, outputs, targets = zip(*parts, strict=True)
        return cls(np.concatenate(ends, axis=2), np.concatenate(outputs), np.concatenate(targets))


class FamilyScore(NamedTuple):
    """A family of intervals and its score."""

    score: float  # geometric mean of the interval scores at `LEVELS`
    margins: Margins | None  # None for the planes themselves
    sides: str = "both"  # or "each", for a rank of each bound


def best_family(rows: HeldOut, power: float | None = None) -> FamilyScore:
    """Return the family of intervals with the best score: planes, or margins of some power.

    At each level the interval is the one that just covers that share of these very rows, so that
    only shape and accuracy count, not how close training came to its coverage. If noise leans to
    one side, so that the score is much better (`WORTH`) where half of the misses lie on either
    side, `sides` is "each".

    Args:
        rows: rows that were not trained on.
        power: the power of the margins; None compares planes and all of `POWERS`.
    """
    scores = [_plane_score(rows)] if power is None else []
    width = rows.ends[1, -1] - rows.ends[0, -1]
    usual = float(np.mean(width)) or 1.0  # all widths may be zero
    for tried in POWERS if power is None else (power,):
        scores.append(_margin_score(rows, Margins(tried, usual), width))
    return min(scores, key=lambda one: one.score)


def _plane_score(rows: HeldOut) -> FamilyScore:
    below, above = rows.ends[0] - rows.y, rows.y - rows.ends[1]  # (G, n)
    radii = [_plane_radius(miss) for miss in (np.maximum(below, above), below, above)]
    return _score(rows.y, partial(_plane_interval, rows.ends), radii)


def _margin_score(rows: HeldOut, margins: Margins, width: Array) -> FamilyScore:
    half = margins.given(rows.output, width).half
    error = (rows.y - rows.output) / half

    def interval(radius: float) -> tuple[Array, Array]:
        return rows.output - radius * half, rows.output + radius * half

    found = _score(rows.y, interval, [np.abs(error), -error, error])
    return found._replace(margins=margins)


def _score(
    y: Array, interval: Callable[[float], tuple[Array, Array]], radii: Sequence[Array]
) -> FamilyScore:
    """Return the score of a family of nested intervals.

    Args:
        y: targets (n,).
        interval: the bounds (n,) of the intervals with some radius.
        radii: three times (n,): the radius at which each target is first covered, at which the
            lower bound is first below it, and at which the upper bound is first above it.
    """
    both, below, above = np.sort(radii, axis=1)
    scores = {"both": 0.0, "each": 0.0}  # sums of logarithms
    for level in LEVELS:
        k, k_each = rank(level, y.size), rank((1 + level) / 2, y.size)
        low, high = (interval(float(radius[k_each - 1])) for radius in (below, above))
        bounds_of = {"both": interval(float(both[k - 1])), "each": (low[0], high[1])}
        for sides, bounds in bounds_of.items():
            found = interval_score(y, *bounds, level)
            scores[sides] += math.log(max(found, np.finfo(float).tiny)) / len(LEVELS)
    sides = "each" if scores["each"] < scores["both"] + math.log(1 - WORTH) else "both"
    return FamilyScore(math.exp(scores[sides]), None, sides)


def _plane_interval(ends: Array, radius: float) -> tuple[Array, Array]:
    """Return the bounds (n,) at a radius: between planes of the grid, or beyond the last one."""
    last = ends.shape[1] - 1
    if radius >= last:
        return ends[0, last] - (radius - last), ends[1, last] + (radius - last)
    g = int(radius)
    lower, upper = ends[:, g] + (radius - g) * (ends[:, g + 1] - ends[:, g])
    return lower, upper


def _plane_radius(missing: Array) -> Array:
    """Return the radius (n,) at which each row is first covered.

    It counts planes of the grid, from 0; beyond the last one it adds units of the target.

    Args:
        missing: how far the target misses the planes of the grid (G, n); falls to 0 and below.
    """
    last = len(missing) - 1
    inside = missing <= 0
    first = np.argmax(inside, axis=0)
    before = np.maximum(first - 1, 0)
    rows = np.arange(missing.shape[1])
    short, over = missing[before, rows], -missing[first, rows]
    way = np.where(short + over > 0, short + over, 1.0)
    part = np.where(first > 0, short / way, 0.0)
    return np.where(inside.any(axis=0), before + part, last + np.maximum(missing[last], 0))


# ------------------------------------------------------------------------------- selection


def training_run(
    X: Array, y: Array, held: BoolArray, recipe: Recipe, epochs: Sequence[int], seed: Any
) -> list[HeldOut]:
    """Train without one fold, and return its rows at each checkpoint.

    Training ends after `PATIENCE` checkpoints in a row that are no better. If it diverges, the
    checkpoints before that are returned.

    Args:
        X: scaled inputs (N, M).
        y: scaled targets (N,).
        held: whether each row (N,) belongs to the fold.
        recipe: how to train.
        epochs: the checkpoints, rising.
        seed: that of the training.
    """
    rows = np.flatnonzero(held)
    rows = rows[:: max(len(rows) // MAX_SCORED, 1)]
    X_score, y_score = X[rows], y[rows]
    found: list[HeldOut] = []
    scores: list[float] = []

    def look(epoch: int, loss: float, params: Params) -> bool:
        if epoch not in epochs:
            return False
        planes = Planes(as_double(params), X_score)
        found.append(HeldOut(planes.ends(GRID), planes.output(recipe.planes.alphas), y_score))
        scores.append(best_family(found[-1]).score)
        return len(scores) - 1 - int(np.argmin(scores)) >= PATIENCE

    recipe = replace(recipe, epochs=epochs[-1])
    with contextlib.suppress(DivergenceError):
        train(X[~held], y[~held], recipe, seed=seed, callback=look, progress=False)
    return found


@dataclass(eq=False)
class Trial:
    """A candidate and its training runs, one for each fold so far."""

    index: int  # among all candidates
    settings: Record
    recipe: Recipe
    inputs: str
    runs: list[list[HeldOut]] = field(default_factory=list)  # at each checkpoint
    checkpoint: int = 0  # the one with the best score
    score: float = math.inf  # there

    def rows(self, checkpoint: int) -> HeldOut:
        """Return the rows of all folds so far at a checkpoint, or at the end of a shorter run."""
        return HeldOut.joined([run[min(checkpoint, len(run) - 1)] for run in self.runs])

    def find_checkpoint(self, power: float | None) -> None:
        """Set the checkpoint with the best score on the folds so far, and that score."""
        n_checkpoints = max(len(run) for run in self.runs)
        scores = [best_family(self.rows(i), power).score for i in range(n_checkpoints)]
        self.checkpoint = int(np.argmin(scores))
        self.score = scores[self.checkpoint]

    def epochs(self, n_rows: int) -> int:
        """Return the length of training with the best score, for a number of training rows."""
        epochs = checkpoint_epochs(n_rows, self.recipe)
        return epochs[min(self.checkpoint, len(epochs) - 1)]

    def summary(self, n_rows: int, kept: bool) -> Candidate:
        """Return what is known about the candidate at the end, for a number of training rows."""
        settings = self.settings | {"inputs": self.inputs}
        return Candidate(settings, len(self.runs), self.epochs(n_rows), self.score, kept)


def choose_systems(
    X: Array, y: Array, recipe: Recipe, settings: EnsembleSettings, seed: int
) -> Ensemble:
    """Return systems with those settings that score best on training rows left out.

    Args:
        X: scaled inputs (N, M).
        y: scaled targets (N,).
        recipe: the first candidate. The others differ from it by `CANDIDATES`, except in settings
            in which it differs itself from `practice.presets.STRONG`: what a user sets is not
            chosen. Its `epochs` are the most that are tried.
        settings: `n_systems` is the number of systems; with ``inputs="ranks"`` all candidates
            learn from ranks; `margins`, if given, is not chosen.
        seed: that of folds and trainings.
    """
    N, ranks = len(y), Ranks.fit(X)
    inputs = input_forms(X, ranks)
    trials = list_trials(recipe, settings.inputs, X.shape[1])
    sizes = [max(math.ceil(share * len(trials)), min(2, len(trials))) for share in FINALISTS]
    total = sum(sizes) + settings.n_systems
    with progress_bar(total, "choosing", "training", show=settings.verbose) as done:
        finalists = _run_folds(trials, sizes, inputs, y, settings, seed, done)
        if not finalists:
            raise DivergenceError(
                "training diverged for every candidate: set a smaller learning_rate than "
                f"{recipe.learning_rate:g}",
                {},
                np.empty(0),
            )
        kept, best = best_mean(finalists, settings.margins)
        members = [kept[i % len(kept)] for i in range(settings.n_systems)]
        recipes = [replace(trial.recipe, epochs=trial.epochs(N)) for trial in members]
        finals = [
            partial(train, inputs[trial.inputs], y, final, seed=[seed, 0, i], progress=False)
            for i, (trial, final) in enumerate(zip(members, recipes, strict=True))
        ]
        trained = list(call_all(finals, settings.n_jobs, done))
    systems = [
        System(params, final, history, trial.inputs)
        for trial, final, (params, history) in zip(members, recipes, trained, strict=True)
    ]
    candidates = [trial.summary(N, trial in kept) for trial in trials]
    candidates.sort(key=lambda candidate: (-candidate.n_folds, candidate.score))
    return Ensemble.of(
        systems,
        ranks=ranks if any(system.inputs == "ranks" for system in systems) else None,
        margins=best.margins,
        candidates=tuple(candidates),
        sides=best.sides,
    )


def _run_folds(
    trials: Sequence[Trial],
    sizes: Sequence[int],
    inputs: Mapping[str, Array],
    y: Array,
    settings: EnsembleSettings,
    seed: int,
    done: Callable[[str], object],
) -> list[Trial]:
    """Train candidates without one fold after another; return those that are left, best first.

    `sizes` are the numbers of candidates in each fold, `inputs` the scaled inputs in each form.
    """
    N = len(y)
    n_learn, fold_of = N - math.ceil(N / FOLDS), np.empty(N, dtype=int)
    fold_of[np.random.default_rng([2, seed]).permutation(N)] = np.arange(N) % FOLDS
    running = list(trials)
    for fold, size in enumerate(sizes):
        running = running[:size]
        calls = [
            partial(
                training_run,
                inputs[trial.inputs],
                y,
                fold_of == fold,
                trial.recipe,
                epochs=checkpoint_epochs(n_learn, trial.recipe),
                seed=[seed, 1 + trial.index, fold],
            )
            for trial in running
        ]
        for trial, run in zip(running, call_all(calls, settings.n_jobs, done), strict=True):
            trial.runs.append(run)
        running = [trial for trial in running if trial.runs[-1]]  # those that did not diverge
        for trial in running:
            trial.find_checkpoint(settings.margins)
        running.sort(key=lambda trial: trial.score)
    return running


def checkpoint_epochs(n_rows: int, recipe: Recipe) -> tuple[int, ...]:
    """Return the epochs after which a candidate is scored, given the number of training rows.

    >>> checkpoint_epochs(800, replace(STRONG, epochs=1000))  # 25 steps each
    (6, 15, 29, 49, 79, 125, 193, 296)
    >>> checkpoint_epochs(800, replace(STRONG, schedule="constant"))
    (4, 6, 9, 14, 20, 30, 46, 68)
    """
    steps = max(n_rows // recipe.batch_size, 1)  # in an epoch
    if recipe.schedule != "constant":
        longest = min(max(round(MOST_STEPS / steps), 1), recipe.epochs)
        return tuple(replace(recipe, epochs=longest).annealed(steps))
    enough = max(ENOUGH_STEPS, ENOUGH_EPOCHS * steps)
    used = [n for i, n in enumerate(CHECKPOINT_STEPS) if i == 0 or CHECKPOINT_STEPS[i - 1] < enough]
    return tuple(sorted({min(max(round(n / steps), 1), recipe.epochs) for n in used}))


def list_trials(recipe: Recipe, inputs: str, M: int) -> list[Trial]:
    """Return the candidates that differ, given what the user has set and the number of inputs."""
    found: list[Trial] = []
    for settings in CANDIDATES:
        free = {
            name: value
            for name, value in settings.items()
            if name != "inputs" and getattr(recipe, name) == getattr(STRONG, name)
        }
        form = "ranks" if "ranks" in (inputs, settings.get("inputs")) else "scaled"
        tried = replace(recipe, **free)
        if found and tried.n_rules * M > max(MOST_CENTRES, recipe.n_rules * M):
            continue
        if all((known.recipe, known.inputs) != (tried, form) for known in found):
            found.append(Trial(len(found), free, tried, form))
    return found


def best_mean(finalists: Sequence[Trial], power: float | None) -> tuple[list[Trial], FamilyScore]:
    """Return the best finalist, and the other one if it does not harm the mean.

    A mean varies less than its parts, and more systems are kept than are scored here, where one
    of each candidate predicts a row; so a small loss is tolerated.
    """
    kept: list[Trial] = []
    best = FamilyScore(math.inf, None)
    for trial in finalists:
        rows = [one.rows(one.checkpoint) for one in (*kept, trial)]
        ends, outputs, targets = zip(*rows, strict=True)
        mean = HeldOut(np.mean(ends, axis=0), np.mean(outputs, axis=0), targets[0])
        found = best_family(mean, power)
        if found.score <= (1 + TOLERATED_LOSS) * best.score:
            kept.append(trial)
            best = found
    return kept, best
