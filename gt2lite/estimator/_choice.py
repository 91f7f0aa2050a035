"""Choice inside training: how many rules, for how long, on which form of the inputs.

The rows of training are dealt into folds. A *candidate* is trained on all folds but one and judged
on that one, at several moments on its way, so that the length of training is chosen along with
the rest. Successive halving spares time: the first fold sees all candidates, the next
the better half of them, and only the best three go through all folds. Those are judged by all
rows together, each row by a system that has not seen it; the best one, or the mean of several,
is kept.

What is kept are the systems that were trained on the way, one for each fold: an ensemble whose
members have seen different rows. Nothing is trained a second time, and no row outside
training has a say.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from gt2lite._checks import Array, IntArray
from gt2lite._progress import progress_bar
from gt2lite.calibration.margins import Margins
from gt2lite.estimator._courses import Course, Moment, Quality, Seen, quality
from gt2lite.estimator._ranks import Ranks
from gt2lite.estimator._systems import System, call_all
from gt2lite.presets import STRONG
from gt2lite.recipe import Recipe

MOMENTS = tuple(round(100 * 1.5**i) for i in range(11))
"""Steps of training after which a candidate is judged: 100, 150, 225, ..., 5767."""

ENOUGH_STEPS, ENOUGH_EPOCHS = 1500, 40
"""A training is not followed beyond the first moment that has both."""

FINALISTS = 3
"""Candidates that go through all folds, and of which the best mean is kept."""

HARMLESS = 0.01
"""How much worse, relatively, the mean may look with one candidate more."""

MOST_JUDGING = 1000
"""Rows of a fold that judge; of more, some are taken."""

CANDIDATES: tuple[dict[str, Any], ...] = (
    {},
    {"n_rules": 10},
    {"n_rules": 60, "sigma_scale": 0.5, "learning_rate": 0.05},
    {"start": "per_input", "sigma_scale": 0.5},
    {"weight_decay": 0.1},
    {"inputs": "ranks"},
    {"inputs": "ranks", "start": "per_input", "sigma_scale": 0.5},
)
"""What is tried: settings that differ from those of `gt2lite.presets.STRONG`."""


class Judged(NamedTuple):
    """What a candidate came to."""

    settings: dict[str, Any]  # those in which it differs
    n_folds: int  # that it was judged on
    epochs: int  # the length of training that was best there
    score: float  # geometric mean of the interval scores, in spreads of the target
    kept: bool


class Choice(NamedTuple):
    """The systems that were chosen, the intervals that suit them, and all that was tried."""

    systems: list[System]
    margins: Margins | None  # None for planes
    judged: list[Judged]


@dataclass(eq=False)
class _Candidate:
    """One of the settings that are tried, and how its courses went, fold by fold."""

    settings: dict[str, Any]
    recipe: Recipe
    inputs: str
    courses: list[list[Moment]] = field(default_factory=list)
    best: tuple[int, Quality] | None = None  # the moment and its quality

    def at(self, fold: int, moment: int) -> Moment:
        """Return a moment of a course, or its last one where it ended before."""
        course = self.courses[fold]
        return course[min(moment, len(course) - 1)]

    @property
    def score(self) -> float:
        assert self.best is not None
        return self.best[1].score


class _Search:
    """Rows in folds, and candidates that are judged on them."""

    def __init__(
        self, X: Array, y: Array, ranks: Ranks, n_folds: int, seed: int, power: float | None
    ) -> None:
        self.X = {"scaled": X, "ranks": ranks.transform(X)}
        self.y, self.seed, self.power = y, seed, power
        order = np.random.default_rng([2, seed]).permutation(len(y))
        self.folds: list[IntArray] = [np.sort(order[i::n_folds]) for i in range(n_folds)]
        self.judging = [rows[:: max(len(rows) // MOST_JUDGING, 1)] for rows in self.folds]

    def course(self, candidate: _Candidate, index: int, fold: int) -> Course:
        """Return the training of a candidate on all folds but one."""
        X = self.X[candidate.inputs]
        learn = np.sort(np.concatenate([r for i, r in enumerate(self.folds) if i != fold]))
        judge = self.judging[fold]
        n_learn = min(len(self.y) - len(rows) for rows in self.folds)
        epochs = moments(n_learn, candidate.recipe)
        recipe = replace(candidate.recipe, epochs=epochs[-1])
        return Course(
            X[learn], self.y[learn], X[judge], self.y[judge], recipe, epochs,
            [self.seed, 1 + index, fold],
        )  # fmt: skip

    def judge(self, candidate: _Candidate) -> None:
        """Find the moment at which a candidate is best on the folds it has gone through."""
        n_moments = max(len(course) for course in candidate.courses)
        found = [self.quality([(candidate, m)]) for m in range(n_moments)]
        best = min(range(n_moments), key=lambda m: found[m].score)
        candidate.best = best, found[best]

    def quality(self, members: Sequence[tuple[_Candidate, int]]) -> Quality:
        """Return how good the mean of candidates is, each at a moment, on rows out of fold."""
        n_folds = min(len(candidate.courses) for candidate, _ in members)
        folds = [
            Seen.mean([candidate.at(fold, moment).seen for candidate, moment in members])
            for fold in range(n_folds)
        ]
        return quality(Seen.joined(folds), self.power)


def choose_systems(
    X: Array,
    y: Array,
    recipe: Recipe,
    ranks: Ranks,
    *,
    n_folds: int,
    seed: int,
    inputs: str = "scaled",
    power: float | None = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> Choice:
    """Return the systems that judge best by rows of training that they have not seen.

    Args:
        X: scaled inputs (N, M).
        y: scaled targets (N,).
        recipe: the first candidate; the others differ from it by `CANDIDATES`, except in
            settings in which it differs itself from `gt2lite.presets.STRONG`: what a user sets is
            not chosen. Its `epochs` are the most that are tried.
        ranks: the ranks of the inputs.
        n_folds: into how many folds the rows are dealt, and how many systems a candidate has.
        seed: that of folds and trainings.
        inputs: "ranks" for candidates that all learn from ranks.
        power: that of margins, where it is given; None tries planes and several powers.
        n_jobs: see `call_all`.
        progress: show a progress bar; None shows one on a terminal if tqdm is installed.
    """
    search = _Search(X, y, ranks, n_folds, seed, power)
    running = _candidates(recipe, inputs)
    index = {id(candidate): i for i, candidate in enumerate(running)}
    everyone = list(running)
    n_left = [_left(len(running), fold) for fold in range(n_folds)]
    with progress_bar(sum(n_left), "choosing", "training", show=progress) as done:
        for fold in range(n_folds):
            running = running[: n_left[fold]]
            todo = [search.course(candidate, index[id(candidate)], fold) for candidate in running]
            for candidate, course in zip(running, call_all(todo, n_jobs, done), strict=True):
                candidate.courses.append(course)
                search.judge(candidate)
            running.sort(key=lambda candidate: candidate.score)
    kept, best = _mix(search, running)
    systems = [
        _system(candidate, candidate.at(fold, moment))
        for candidate, moment in kept
        for fold in range(n_folds)
    ]
    chosen = [candidate for candidate, _ in kept]
    judged = [_judged(candidate, candidate in chosen) for candidate in everyone]
    return Choice(systems, best.margins, sorted(judged, key=lambda j: (-j.n_folds, j.score)))


def moments(n_rows: int, recipe: Recipe) -> tuple[int, ...]:
    """Return the epochs after which a candidate is judged, with so many rows to learn from.

    >>> moments(800, STRONG)  # 25 steps each
    (4, 6, 9, 14, 20, 30, 46, 68)
    """
    steps = max(n_rows // recipe.batch_size, 1)  # in an epoch
    enough = max(ENOUGH_STEPS, ENOUGH_EPOCHS * steps)
    followed = [m for i, m in enumerate(MOMENTS) if i == 0 or MOMENTS[i - 1] < enough]
    return tuple(sorted({min(max(round(m / steps), 1), recipe.epochs) for m in followed}))


def _mix(
    search: _Search, finalists: Sequence[_Candidate]
) -> tuple[list[tuple[_Candidate, int]], Quality]:
    """Return the best finalist, and the others whose part in the mean does no harm.

    A mean varies less than its parts, more so with as many systems as are kept than with the one
    of each candidate that judges a row here; so a small loss is accepted.
    """
    members: list[tuple[_Candidate, int]] = []
    best: Quality | None = None
    for candidate in finalists:
        assert candidate.best is not None
        tried = [*members, (candidate, candidate.best[0])]
        found = search.quality(tried)
        if best is None or found.score <= (1 + HARMLESS) * best.score:
            members, best = tried, found
    assert best is not None
    return members, best


def _left(n_candidates: int, fold: int) -> int:
    """Return how many candidates go through a fold: all, the better half, then the finalists.

    >>> [_left(7, fold) for fold in range(5)]
    [7, 4, 3, 3, 3]
    """
    if fold == 0:
        return n_candidates
    return min(n_candidates, max(math.ceil(n_candidates / 2**fold), FINALISTS))


def _candidates(recipe: Recipe, inputs: str) -> list[_Candidate]:
    found: list[_Candidate] = []
    for settings in CANDIDATES:
        free = {
            name: value
            for name, value in settings.items()
            if name != "inputs" and getattr(recipe, name) == getattr(STRONG, name)
        }
        form = "ranks" if "ranks" in (inputs, settings.get("inputs")) else "scaled"
        if all((known.recipe, known.inputs) != (replace(recipe, **free), form) for known in found):
            found.append(_Candidate(free, replace(recipe, **free), form))
    return found


def _system(candidate: _Candidate, moment: Moment) -> System:
    recipe = replace(candidate.recipe, epochs=moment.epoch)
    return System(moment.params, recipe, moment.history, candidate.inputs)


def _judged(candidate: _Candidate, kept: bool) -> Judged:
    assert candidate.best is not None
    moment, found = candidate.best
    n_folds = len(candidate.courses)
    epochs = max(candidate.at(fold, moment).epoch for fold in range(n_folds))
    settings = candidate.settings | {"inputs": candidate.inputs}
    return Judged(settings, n_folds, epochs, found.score, kept)
