"""Ensembles of systems, and the selection of their settings inside the training set.

`GT2Regressor.strong` lets the training rows decide how it trains. They are split into five folds.
A few candidate settings are trained without the first fold, and scored on it at several checkpoints
of their training. Two of them are trained without each of the other folds, too. All these systems
together are the ensemble: none is trained again on all rows, so that every training row is
predicted by systems that have not seen it. Those predictions decide how long training is, and
about the family of intervals: alpha-planes, or margins around the output.

Near-ties are not decided by the last digit: another candidate than the first two needs a clear
gain, and of lengths that score about the same, a mean is used. Only if one of both alone is clearly
better than the mean, the other one is left out.

`fit_systems` is the entry; it returns an `Ensemble`.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from gt2lite._progress import progress_bar
from gt2lite._validation import Array, IntArray, warn
from gt2lite.practice.families import GRID, FamilyScore, HeldOut, best_family
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
CANDIDATES: tuple[Settings, ...] = (
    {},
    {"schedule": "constant", "averaging": 0.999, "inputs": "ranks"},  # learns less by heart
    {"n_rules": 100, "sigma_scale": 0.5},
)
MOST_CENTRES = 3000  # rules times inputs; a candidate with more is not tried, except the first
MANY_ROWS = 2000  # with fewer, more rules are not tried: they can hardly be clearly better
FOLDS = 5  # parts of the training rows; a system is trained on all but one
FINALISTS = 2  # candidates that are trained without each fold
NEAR = 0.02  # a length whose score is worse by this share counts 1 / e of the best one

# A training run is scored at checkpoints.
CHECKPOINT_STEPS = tuple(round(150 * 1.5**i) for i in range(8))  # 150, 225, 338, ..., 2563
PATIENCE = 2  # checkpoints in a row without a better score, after which a training run ends
MAX_SCORED = 1000  # rows of a fold that are scored; of a larger fold, evenly spaced ones


# -------------------------------------------------------------------------------- training


def fit_systems(
    X: Array,
    y: Array,
    recipe: Recipe,
    settings: EnsembleSettings,
    seed: Any,
    callback: Callback | None = None,
    folds: IntArray | None = None,
) -> Ensemble:
    """Train one system, several, or the best of several candidates.

    Args:
        X: scaled inputs (N, M).
        y: scaled targets (N,).
        recipe: how to train; of a selection, its first candidate.
        settings: how many systems, whether to select, and so on.
        seed: a number, or what `numpy.random.default_rng` takes.
        callback: see `gt2lite.training.train`.
        folds: the fold (N,) of each row, from 0, for systems that are trained without one of them;
            a selection draws folds if it is None.
    """
    several_processes = settings.n_systems > 1 and settings.n_jobs not in (None, 1)
    if callback is not None and (settings.choose or several_processes):
        raise ValueError(
            "callback must be None if choose=True, which trains many times, and if n_jobs lets "
            "other processes train: set verbose=True to follow them"
        )
    limits = np.stack([X.min(axis=0), X.max(axis=0)]) if settings.clip_inputs else None
    if settings.choose or folds is not None:
        number = seed if isinstance(seed, int) else int(np.random.default_rng(seed).integers(2**63))
        return replace(choose_systems(X, y, recipe, settings, number, folds), limits=limits)
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


# ------------------------------------------------------------------------------- selection


class Checkpoint(NamedTuple):
    """A system in training, and what it predicts for the fold that it does not learn from."""

    system: System
    held_out: HeldOut


def training_run(
    X: Array,
    y: Array,
    held: BoolArray,
    recipe: Recipe,
    epochs: Sequence[int],
    seed: Any,
    inputs: str = "scaled",
) -> list[Checkpoint]:
    """Train without one fold, and return the system at each checkpoint.

    Training ends after `PATIENCE` checkpoints in a row that are no better. If it diverges, the
    checkpoints before that are returned.

    Args:
        X: scaled inputs (N, M).
        y: scaled targets (N,).
        held: whether each row (N,) belongs to the fold.
        recipe: how to train.
        epochs: the checkpoints, rising.
        seed: that of the training.
        inputs: the form of `X`.
    """
    rows = np.flatnonzero(held)
    rows = rows[:: max(len(rows) // MAX_SCORED, 1)]
    found: list[Checkpoint] = []
    scores: list[float] = []
    losses: list[float] = []

    def look(epoch: int, loss: float, params: Params) -> bool:
        losses.append(loss)
        if epoch not in epochs:
            return False
        planes = Planes(as_double(params), X[rows])
        output = planes.output(recipe.planes.alphas)
        here = replace(recipe, epochs=epoch)
        system = System(planes.params, here, np.array(losses), inputs)
        found.append(Checkpoint(system, HeldOut(planes.ends(GRID), output, y[rows], rows)))
        scores.append(best_family(found[-1].held_out).score)
        return len(scores) - 1 - int(np.argmin(scores)) >= PATIENCE

    longest = replace(recipe, epochs=epochs[-1])
    with contextlib.suppress(DivergenceError):
        train(X[~held], y[~held], longest, seed=seed, callback=look, progress=False)
    return found


@dataclass(eq=False)
class Trial:
    """A candidate and its training runs."""

    index: int  # among all candidates
    settings: Record
    recipe: Recipe
    inputs: str
    runs: dict[tuple[int, int], list[Checkpoint]] = field(default_factory=dict)  # by repeat, fold
    checkpoint: int = 0  # the one that is used
    score: float = math.inf  # of single systems there

    def at(self, repeat: int, fold: int) -> Checkpoint:
        """Return a system at the checkpoint, or at the end of a shorter run."""
        run = self.runs[repeat, fold]
        return run[min(self.checkpoint, len(run) - 1)]

    def summary(self, kept: bool) -> Candidate:
        """Return what is known about the candidate at the end."""
        settings = self.settings | {"inputs": self.inputs}
        epochs = self.at(0, 0).system.recipe.epochs if self.runs else 0
        n_folds = len({fold for _, fold in self.runs})
        return Candidate(settings, n_folds, epochs, self.score, kept)


Member = tuple[Trial, int, int]
"""A system of the ensemble: its candidate, the repeat and the fold that it is trained without."""


def choose_systems(
    X: Array,
    y: Array,
    recipe: Recipe,
    settings: EnsembleSettings,
    seed: int,
    folds: IntArray | None = None,
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
        folds: the fold (N,) of each row, from 0; None for `draw_folds`.
    """
    ranks = Ranks.fit(X)
    fold_of = draw_folds(len(y), seed) if folds is None else folds
    trials = [Trial(0, {}, recipe, settings.inputs)]
    if settings.choose:
        trials = list_trials(recipe, settings.inputs, *X.shape)
    n_each = math.ceil(settings.n_systems / (int(fold_of.max()) + 1))  # systems without each fold
    size = min(FINALISTS, n_each, len(trials))
    run = partial(_run, inputs=input_forms(X, ranks), y=y, fold_of=fold_of, seed=seed)
    total = len(trials) + settings.n_systems - size
    with progress_bar(total, "choosing", "training", show=settings.verbose) as done:
        run([(trial, 0, 0) for trial in trials], n_jobs=settings.n_jobs, done=done)
        sound = [trial for trial in trials if trial.runs]
        if not sound:
            raise DivergenceError(
                "training diverged for every candidate: set a smaller learning_rate than "
                f"{recipe.learning_rate:g}",
                {},
                np.empty(0),
            )
        finalists = choose_finalists(sound, size, settings.margins)
        members: list[Member] = []
        for i in range(settings.n_systems):
            fold, column = divmod(i, n_each)
            repeat, finalist = divmod(column, len(finalists))
            members.append((finalists[finalist], repeat, fold))
        new = [member for member in members if member[1:] not in member[0].runs]
        run(new, n_jobs=settings.n_jobs, done=done)
    members = [member for member in members if member[1:] in member[0].runs]
    members, best = choose_members(members, settings.margins)
    candidates = [trial.summary(any(trial is member[0] for member in members)) for trial in trials]
    candidates.sort(key=lambda candidate: (-candidate.n_folds, candidate.score))
    systems = [trial.at(repeat, fold).system for trial, repeat, fold in members]
    return Ensemble.of(
        systems,
        ranks=ranks if any(system.inputs == "ranks" for system in systems) else None,
        margins=best.margins,
        candidates=tuple(candidates) if settings.choose else (),
        sides=best.sides,
        held_out=mean_held_out(members),
    )


def _run(
    members: Sequence[Member],
    *,
    inputs: Mapping[str, Array],
    y: Array,
    fold_of: IntArray,
    seed: int,
    n_jobs: int | None,
    done: Callable[[str], object],
) -> None:
    """Train some systems, each without its fold; runs that do not diverge at once are stored."""
    calls = [
        partial(
            training_run,
            inputs[trial.inputs],
            y,
            fold_of == fold,
            trial.recipe,
            epochs=checkpoint_epochs(int((fold_of != fold).sum()), trial.recipe),
            seed=[seed, trial.index, repeat, fold],
            inputs=trial.inputs,
        )
        for trial, repeat, fold in members
    ]
    for (trial, *key), run in zip(members, call_all(calls, n_jobs, done), strict=True):
        if run:
            trial.runs[key[0], key[1]] = run


def draw_folds(n_rows: int, seed: int) -> IntArray:
    """Return the fold of each row (N,), from 0, drawn at random."""
    folds = np.empty(n_rows, dtype=int)
    folds[np.random.default_rng([2, seed]).permutation(n_rows)] = np.arange(n_rows) % FOLDS
    return folds


def choose_finalists(trials: Sequence[Trial], size: int, power: float | None) -> list[Trial]:
    """Return the first candidate, and the one with which its mean scores best on the first fold.

    That is the second candidate, unless another one is better by a `clear_gain`. If only one is
    asked for, it is the first one, unless another is as much better.
    """
    for trial in trials:
        scores = [best_family(one.held_out, power).score for one in trial.runs[0, 0]]
        trial.checkpoint = int(np.argmin(scores))
        trial.score = scores[trial.checkpoint]
    size = min(size, len(trials))
    groups = [[*trials[: size - 1], other] for other in trials[size - 1 :]]
    means = [HeldOut.mean([trial.at(0, 0).held_out for trial in group]) for group in groups]
    scores = [best_family(mean, power).score for mean in means]
    scores[0] *= 1 - clear_gain(means[0].y.size)
    return groups[int(np.argmin(scores))]


def clear_gain(n_rows: int) -> float:
    """Return how much better, relatively, a score of some rows must be to replace the usual choice.

    It is about two standard errors of the difference.
    """
    return 2 / math.sqrt(n_rows)


def choose_members(members: list[Member], power: float | None) -> tuple[list[Member], FamilyScore]:
    """Return all systems, or those of one candidate if it is better alone by a `clear_gain`.

    Their checkpoints are set, and the best family of intervals is returned, too.
    """
    alone = {}
    for trial in dict.fromkeys(member[0] for member in members):
        own = [member for member in members if member[0] is trial]
        trial.score = choose_lengths(own, power).score
        alone[trial] = own
    best = choose_lengths(members, power)
    trial = min(alone, key=lambda one: one.score)
    n = mean_held_out(members).y.size
    if best.score * (1 - clear_gain(n)) <= trial.score:
        return members, best
    return alone[trial], choose_lengths(alone[trial], power)


def choose_lengths(members: Sequence[Member], power: float | None) -> FamilyScore:
    """Set the checkpoint of each candidate, and return the best family of intervals there.

    It is the mean of all checkpoints, weighted by how `NEAR` their score is to the best one, so
    that it moves little if near-ties change places.
    """
    trials = list(dict.fromkeys(trial for trial, _, _ in members))

    def score(checkpoints: Sequence[int]) -> FamilyScore:
        for trial, checkpoint in zip(trials, checkpoints, strict=True):
            trial.checkpoint = checkpoint
        return best_family(mean_held_out(members), power)

    tried = list(product(*(range(max(map(len, one.runs.values()))) for one in trials)))
    scores = np.array([score(checkpoints).score for checkpoints in tried])
    weights = np.exp((1 - scores / scores.min()) / NEAR)
    return score(np.rint(weights @ tried / weights.sum()).astype(int).tolist())


def mean_held_out(members: Sequence[Member]) -> HeldOut:
    """Return training rows with the means of those systems that were trained without them."""
    by_fold: dict[int, list[HeldOut]] = {}
    for trial, repeat, fold in members:
        by_fold.setdefault(fold, []).append(trial.at(repeat, fold).held_out)
    return HeldOut.joined([HeldOut.mean(parts) for parts in by_fold.values()])


def checkpoint_epochs(n_rows: int, recipe: Recipe) -> tuple[int, ...]:
    """Return the epochs after which a candidate is scored, given the number of training rows.

    >>> checkpoint_epochs(800, replace(STRONG, epochs=1000))  # 25 steps each
    (6, 15, 29, 49, 79, 125, 192)
    >>> checkpoint_epochs(800, replace(STRONG, schedule="constant"))
    (6, 9, 14, 20, 30, 46, 68, 100)
    """
    steps = max(n_rows // recipe.batch_size, 1)  # in an epoch
    if recipe.schedule != "constant":
        longest = min(max(round(MOST_STEPS / steps), 1), recipe.epochs)
        return tuple(replace(recipe, epochs=longest).annealed(steps))
    ends = {min(max(round(n / steps), 1), recipe.epochs) for n in CHECKPOINT_STEPS}
    return tuple(sorted(ends))


def list_trials(recipe: Recipe, inputs: str, N: int, M: int) -> list[Trial]:
    """Return the candidates that differ, given what the user has set, and rows and inputs."""
    found: list[Trial] = []
    for settings in CANDIDATES:
        free = {
            name: value
            for name, value in settings.items()
            if name != "inputs" and getattr(recipe, name) == getattr(STRONG, name)
        }
        form = "ranks" if "ranks" in (inputs, settings.get("inputs")) else "scaled"
        tried = replace(recipe, **free)
        is_small = N >= MANY_ROWS and tried.n_rules * M <= MOST_CENTRES
        if tried.n_rules > recipe.n_rules and not is_small:
            continue
        if all((known.recipe, known.inputs) != (tried, form) for known in found):
            found.append(Trial(len(found), free, tried, form))
    return found
