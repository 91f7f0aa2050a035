"""CV+: calibrated intervals from data sets too small to hold out calibration rows."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Self

import numpy as np

from gt2lite._progress import progress_bar
from gt2lite._validation import (
    Array,
    IntArray,
    between,
    n_axes,
    read_seed,
    vector,
    whole,
)
from gt2lite.calibration import (
    CoverageError,
    Cut,
    Scores,
    critical_scores,
    cut_ends,
    highest_level,
    plain_fraction,
    rank,
)
from gt2lite.datasets import check_target
from gt2lite.practice import model_file
from gt2lite.practice._sklearn import Learned, Regressor, check_fitted, refuse
from gt2lite.practice.calibrators import DEFAULT_COVERAGE
from gt2lite.practice.frames import interval_frame
from gt2lite.practice.regressor import GT2Regressor
from gt2lite.practice.selection import call_all
from gt2lite.practice.tables import Features, Names, Rows, read_table, read_target
from gt2lite.practice.types import Bounds, Encoding, Frame, Levels, Seed, Settings, Table, Target

SYSTEMS = 5
"""Number of systems for each fold; with ten, intervals of some 60 rows are no better."""

CHUNK_ELEMENTS = 2**21
"""Number of interval bounds that are held in memory at once."""


@dataclass(frozen=True, eq=False)
class CVPlusModel:
    """Everything that a `CVPlusRegressor` has learned; it never changes."""

    systems: tuple[GT2Regressor, ...]  # one for each fold
    scores: tuple[Scores, ...]  # of the rows of each fold
    fold: IntArray  # (N,)
    seed: int | None  # of the folds; None if it is not a number

    @property
    def features(self) -> Features:
        """The columns of the table."""
        return replace(self.systems[0].model_.features, owner=CVPlusRegressor.__name__)

    @property
    def n_scored(self) -> int:
        """The number of rows with a score."""
        return sum(map(len, self.scores))

    def inputs(self, X: Table) -> list[Array]:
        """Return the rows of a table as inputs of each system."""
        table = self.features.match(X)
        first, *others = (system.model_.features for system in self.systems)
        found = [first.encode(table, report=True)]  # warns of unusual values once
        return found + [features.encode(table) for features in others]

    def bounds(self, inputs: Sequence[Array]) -> tuple[Array, Array]:
        """Return the bounds (2, scores, N) that all scored rows contribute to N new rows.

        And the prediction (N,): the mean over the systems.
        """
        found, predicted = [], []
        for system, scores, values in zip(self.systems, self.scores, inputs, strict=True):
            planes, which = np.unique(scores.alpha, return_inverse=True)  # each plane once
            cuts = [Cut(plane if plane > 0 else math.nan) for plane in planes]
            family = system.model_.family_with_output(values)
            bounds = cut_ends(family, [(cut, cut) for cut in cuts])[:, which]
            bounds += np.stack([-scores.margin, scores.margin])[:, :, None]
            found.append(system.scaler_.inverse_bounds(bounds))
            predicted.append(system.scaler_.inverse_y(family.centre))
        return np.concatenate(found, axis=1), np.mean(predicted, axis=0)


class CVPlusRegressor(Regressor):
    """Prediction intervals from all rows of a small data set: CV+ for nested intervals.

    Rows are split at random into folds. For each fold a system is trained without it, and its rows
    are scored: which plane just covers them? At a new row, each of the N training rows contributes
    the bounds of its plane, of the system that was trained without it. At the level 1 - a the
    interval leaves out the share a of the lower bounds that lie lowest, and the share a of the
    upper bounds that lie highest.

    In practice coverage is about the level. What is guaranteed is less, `promised(coverage)`:
    at least 1 - 2 a - 2 (1 - 1/K) / (N/K + 1) with K folds, for exchangeable rows. This requires
    that every choice in training is made again in each fold, as it is here. That takes time: with
    the default system about ten seconds for 60 rows, and a third of it with
    ``system=GT2Regressor.strong(choose=False, n_systems=1)``. From about a thousand rows on hold
    some of them out: `GT2Regressor.fit_calibrate` guarantees the level itself, and trains once.

    Args:
        system: the unfitted `GT2Regressor` to train; None for `GT2Regressor.strong(n_systems=5)`,
            each of whose systems is trained on four fifths of the rows outside a fold.
        n_folds: number K of folds. More folds train on more rows each; fewer guarantee more. Folds
            have equal sizes; rows left over train all systems and are not scored.
        n_jobs: number of processes that train; None for one, -1 for one per fold. Needs joblib.
        random_state: the seed of the folds.

    Attributes:
        systems_: the trained `GT2Regressor` of each fold.
        fold_: the fold (N,) of each row of `fit`; -1 for a row left over.
        scores_: for each fold the `gt2lite.calibration.Scores` of its rows.
        n_scored_: the number of rows with a score.
        n_features_in_, feature_names_in_: the columns seen in `fit`; names if X had them.
        columns_: the encoding of a data frame in the first fold, if `system` has columns="auto";
            each fold learns one from its own training rows.

    >>> from gt2lite import GT2Regressor, load_dataset
    >>> from gt2lite.practice.cv_plus import CVPlusRegressor
    >>> data = load_dataset("pp")
    >>> system = GT2Regressor(n_rules=3, epochs=20, learning_rate=0.02)
    >>> reg = CVPlusRegressor(system).fit(data.X[:100], data.y[:100])
    >>> lower, upper = reg.predict_interval(data.X[100:300], coverage=[0.8, 0.9])
    >>> lower.shape, round(reg.promised(0.9), 3)
    ((200, 2), 0.724)
    """

    model_: CVPlusModel

    systems_ = Learned[tuple[GT2Regressor, ...]]("systems")
    scores_ = Learned[tuple[Scores, ...]]("scores")
    fold_ = Learned[IntArray]("fold")
    n_scored_ = Learned[int]("n_scored")
    n_features_in_ = Learned[int]("features.n")
    feature_names_in_ = Learned[Names]("features.names")
    columns_ = Learned[Encoding]("features.encoding")

    def __init__(
        self,
        system: GT2Regressor | None = None,
        n_folds: int = 5,
        n_jobs: int | None = None,
        random_state: Seed = 0,
    ) -> None:
        self.system = system
        self.n_folds = n_folds
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Table, y: Target, **refused: object) -> Self:
        """Train a system for each fold of `X` (N, M), an array or data frame, and `y` (N,)."""
        refuse(self, refused)
        system = GT2Regressor.strong(n_systems=SYSTEMS) if self.system is None else self.system
        if not isinstance(system, GT2Regressor):
            raise TypeError(f"system must be a GT2Regressor or None, got {self.system!r}")
        rows = read_table(X, system.columns)
        target = read_target(y, len(rows.values), type(self).__name__)
        check_target(system.target_transform, target)  # here, so that errors name the row of X
        n_folds = whole("n_folds", self.n_folds, 2)
        fold = draw_folds(len(target), n_folds, read_seed(self.random_state))
        shared = system.get_params(deep=False), rows, target, fold
        calls = [partial(_train_fold, *shared, k) for k in range(n_folds)]
        with progress_bar(n_folds, "training", "fold", show=system.verbose) as done:
            found = list(call_all(calls, self.n_jobs, done))
        systems, scores = zip(*found, strict=True)
        self.model_ = CVPlusModel(systems, scores, fold, model_file.as_seed(self.random_state))
        return self

    def predict(self, X: Table) -> Array:
        """Return the prediction (N,) for inputs `X` (N, M): the mean over the systems."""
        check_fitted(self)
        parts = zip(self.systems_, self.model_.inputs(X), strict=True)
        return np.mean([system.model_.predict(inputs) for system, inputs in parts], axis=0)

    def predict_interval(
        self,
        X: Table,
        coverage: Levels | None = None,
        *,
        with_prediction: bool = False,
        as_frame: bool = False,
    ) -> Bounds | Frame:
        """Return the lower and upper bounds of prediction intervals, nested from level to level.

        Arguments and result as in `GT2Regressor.predict_interval`; see `promised` for levels.
        """
        check_fitted(self)
        model, inputs = self.model_, self.model_.inputs(X)
        coverage = DEFAULT_COVERAGE if coverage is None else coverage
        levels = vector("coverage", np.atleast_1d(coverage))
        n = model.n_scored
        above = np.array([rank(between("coverage", level, 0, 1), n + 1) for level in levels]) - 1
        if above.max() >= n:  # of the sorted upper bounds
            raise CoverageError(
                f"coverage {levels.max():g} is out of reach: {n} rows were scored, which answer "
                f"levels up to {highest_level(n, n + 1)}; use a lower level or more rows"
            )
        below = n - 1 - above
        lower, upper = np.empty((2, len(inputs[0]), len(levels)))
        predicted = np.empty(len(lower))
        step = max(1, CHUNK_ELEMENTS // (2 * n))
        for start in range(0, len(lower), step):
            rows = slice(start, start + step)
            bounds, predicted[rows] = model.bounds([values[rows] for values in inputs])
            bounds.sort(axis=1)
            middle = _middle(*bounds)
            lower[rows] = np.minimum(bounds[0, below], middle).T
            upper[rows] = np.maximum(bounds[1, above], middle).T
        if n_axes("coverage", coverage) == 0:
            lower, upper = lower[:, 0], upper[:, 0]
        found = (predicted, lower, upper) if with_prediction else (lower, upper)
        return interval_frame(X, found, coverage) if as_frame else found

    def promised(self, coverage: float) -> float:
        """Return the coverage that is guaranteed at a level, on average over such data sets."""
        check_fitted(self)
        miss = 1 - plain_fraction(between("coverage", coverage, 0, 1))
        n, n_folds = self.n_scored_, len(self.systems_)
        return max(0.0, float(1 - 2 * miss) - 2 * (1 - 1 / n_folds) / (n / n_folds + 1))

    # -------------------------------------------------------------- save and load

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all systems and the scores of their rows to one JSON file at exactly this path."""
        check_fitted(self)
        folds = [
            {"regressor": model_file.pack_regressor(system), "scores": scores.arrays()}
            for system, scores in zip(self.systems_, self.scores_, strict=True)
        ]
        content = {"random_state": self.model_.seed, "fold": self.fold_, "folds": folds}
        model_file.write(path, "cv plus", content)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return the regressor that `save` wrote to `path`, or raise a `FileFormatError`."""
        return model_file.load(path, "cv plus", cls._unpack)

    @classmethod
    def _unpack(cls, content: model_file.Content) -> Self:
        """Return the regressor that the content of a model file describes."""
        seed, fold, folds = (
            content["random_state"],
            vector("fold", content["fold"]),
            content["folds"],
        )
        n_folds = len(folds)
        systems = [model_file.unpack_regressor(GT2Regressor, one["regressor"]) for one in folds]
        scores = [
            model_file.unpack_scores(one["scores"], system.model_.ensemble)
            for system, one in zip(systems, folds, strict=True)
        ]
        sizes = [np.sum(fold == k) for k in range(-1, n_folds)]
        if sum(sizes) != len(fold) or sizes[1:] != list(map(len, scores)):
            raise ValueError("fold must hold the fold of each row, or -1, one row for each score")
        if len({system.n_features_in_ for system in systems}) != 1:
            raise ValueError("all systems must have the same inputs")
        self = cls(GT2Regressor(**systems[0].get_params(deep=False)), n_folds, None, seed)
        self.model_ = CVPlusModel(tuple(systems), tuple(scores), fold.astype(int), seed)
        return self


def _middle(lower: Array, upper: Array) -> Array:
    """Return a point (N,) that intervals of all levels shall contain, from sorted bounds (n, N).

    At low levels the k-th lower bound from above and the k-th upper bound from below may cross,
    since they are of different rows: there an interval may be anything. The first ranks k that do
    not cross have the middle between them.
    """
    rank = np.argmax(lower[::-1] <= upper, axis=0)[None]
    bounds = (np.take_along_axis(side, rank, axis=0)[0] for side in (lower[::-1], upper))
    return sum(bound / 2 for bound in bounds)


def draw_folds(n_rows: int, n_folds: int, seed: Seed) -> IntArray:
    """Return the fold (N,) of each row, in folds of equal size; -1 for rows that are left over.

    >>> draw_folds(8, 3, 0)
    array([-1, -1,  1,  2,  2,  0,  0,  1])
    """
    size = n_rows // n_folds
    if size == 0:
        raise ValueError(f"n_folds must be at most n_samples={n_rows}, got {n_folds}")
    rng = np.random.default_rng([2, seed] if isinstance(seed, int) else seed)
    fold = np.full(n_rows, -1)
    fold[rng.permutation(n_rows)[: size * n_folds]] = np.arange(n_folds).repeat(size)
    return fold


def _train_fold(
    settings: Settings, rows: Rows, y: Array, fold: IntArray, k: int
) -> tuple[GT2Regressor, Scores]:
    """Train on the rows outside fold `k`, and score those inside."""
    used, rest = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
    system = GT2Regressor(**dict(settings) | {"verbose": False})
    model = system.train_model(rows.take(used), y[used])
    values = model.features.encode(rows.take(rest).values)
    scores = critical_scores(model.family(values), model.scaler.transform_y(y[rest]))
    return system.with_model(model), scores
