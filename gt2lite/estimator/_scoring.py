"""Coverage and interval score as scikit-learn's scorers, and intervals out of fold.

Whoever measures intervals needs rows that took part neither in training nor in calibration. The
functions here see to both. They need scikit-learn.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gt2lite._checks import Array, IntArray, between
from gt2lite._sklearn import need_sklearn
from gt2lite._tables import n_rows_of, read_target, take_rows
from gt2lite.calibration import SmallCalibrationWarning
from gt2lite.estimator._advice import NarrowEnvelopeWarning
from gt2lite.estimator._settings import USUAL_COVERAGE
from gt2lite.metrics import interval_score, picp

Measure = Callable[[Array, Array, Array], float]


class IntervalScorer:
    """A function of estimator, inputs and targets that `GridSearchCV` and others take.

    An estimator that is calibrated is measured as it is. One that is not, as in a search, where
    scikit-learn calls `fit` alone, is calibrated on a random half of the rows given and measured
    on the other half, then the other way round, and the mean of both counts. All rows of the
    training folds train, no row is measured by a calibration that has seen it, and the
    estimator itself stays uncalibrated.

    Args:
        name: what is measured, for people.
        measure: a function of targets, lower and upper ends; more is better.
        coverage: the level of the intervals.
        seed: that of the halves.
        options: how to calibrate, see `GT2Regressor.calibrate`.
    """

    def __init__(
        self, name: str, measure: Measure, coverage: float, seed: int, options: dict[str, Any]
    ) -> None:
        self.name, self.measure = name, measure
        self.coverage = between("coverage", coverage, 0, 1)
        self.seed, self.options = seed, options

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        """Return the measure of an estimator on rows that it was not trained on."""
        target = read_target(y, n_rows_of(X))
        if is_calibrated(estimator):
            return self.measure(target, *estimator.predict_interval(X, self.coverage))
        rows = np.random.default_rng(self.seed).permutation(len(target))
        halves = np.sort(rows[: len(rows) // 2]), np.sort(rows[len(rows) // 2 :])
        found = [
            self._measured(estimator, X, target, calibrated, halves[1 - i])
            for i, calibrated in enumerate(halves)
        ]
        return float(np.mean(found))

    def _measured(
        self, estimator: Any, X: Any, y: Array, calibrated: IntArray, measured: IntArray
    ) -> float:
        own = copy.deepcopy(estimator)
        with warnings.catch_warnings():  # halves of a fold are small; the score tells of the rest
            warnings.simplefilter("ignore", SmallCalibrationWarning)
            warnings.simplefilter("ignore", NarrowEnvelopeWarning)
            own.calibrate(take_rows(X, calibrated), y[calibrated], **self.options)
            ends = own.predict_interval(take_rows(X, measured), self.coverage)
        return self.measure(y[measured], *ends)

    def __repr__(self) -> str:
        return f"{self.name}({self.coverage:g})"


def coverage_scorer(
    coverage: float = USUAL_COVERAGE, *, seed: int = 0, **options: Any
) -> IntervalScorer:
    """Return a scorer of coverage: the share of targets in their interval for a level.

    It is for looking at, beside others: a search that maximises it finds wide intervals. Who
    calibrates is told in `IntervalScorer`.

    Args:
        coverage: the level.
        seed: that of the halves of a fold.
        options: how to calibrate, see `GT2Regressor.calibrate`.

    >>> from sklearn.model_selection import cross_val_score
    >>> from gt2lite import GT2Regressor, load_dataset
    >>> from gt2lite.estimator import coverage_scorer
    >>> data = load_dataset("pp")
    >>> reg = GT2Regressor(n_rules=3, epochs=5, learning_rate=0.02)
    >>> found = cross_val_score(reg, data.X[:900], data.y[:900], scoring=coverage_scorer(0.8), cv=3)
    >>> bool(0.7 < found.mean() < 0.9)
    True
    """
    return IntervalScorer("coverage_scorer", picp, coverage, seed, options)


def interval_scorer(
    coverage: float = USUAL_COVERAGE, *, seed: int = 0, **options: Any
) -> IntervalScorer:
    """Return a scorer of minus the interval score: width, and a fine for every miss.

    Minus, because scikit-learn looks for the largest value. The true quantiles have the best
    expected value, so that a search may maximise it. Arguments as in `coverage_scorer`.
    """

    def measure(y: Array, lower: Array, upper: Array) -> float:
        return -interval_score(y, lower, upper, coverage)

    return IntervalScorer("interval_scorer", measure, coverage, seed, options)


def cross_val_intervals(
    estimator: Any,
    X: Any,
    y: Any,
    coverage: float | Sequence[float] = USUAL_COVERAGE,
    *,
    cv: Any = 5,
    share: float = 0.25,
    groups: Any = None,
    **options: Any,
) -> tuple[Array, Array]:
    """Return for each row an interval from a model that has seen it in no way.

    For each fold a copy of the estimator is trained and calibrated on the other folds by
    `fit_calibrate`, and predicts this one: the `cross_val_predict` of intervals. Each of
    these models keeps its guarantee for the rows of its fold.

    Args:
        estimator: a `GT2Regressor`, an `IntervalPipeline` or the like; it stays as it is.
        X: inputs (N, M), raw ones for a pipeline.
        y: targets (N,).
        coverage: the level, or L of them.
        cv: number of folds, drawn at random by the seed 0, or a splitter of scikit-learn's
            whose test folds have every row once. For whole families in a fold hand in
            ``list(GroupKFold(5).split(X, y, families))``.
        share: the part of the training folds that calibrates.
        groups: a name or whole number for each row (N,), for a calibration by groups.
        options: how to calibrate, see `GT2Regressor.calibrate`.

    Returns:
        Two arrays (N,), or (N, L) for a sequence of L levels.
    """
    need_sklearn("cross_val_intervals")
    from sklearn.base import clone
    from sklearn.model_selection import KFold, check_cv

    target = read_target(y, N := n_rows_of(X))
    if isinstance(cv, (int, np.integer)):
        cv = KFold(int(cv), shuffle=True, random_state=0)
    folds = list(check_cv(cv).split(np.zeros((N, 1)), target))
    tested = np.concatenate([rows for _, rows in folds])
    if not np.array_equal(np.sort(tested), np.arange(N)):
        raise ValueError(
            f"cv must have each of the {N} rows in one test fold, got {len(tested)} rows in "
            f"{len(folds)} folds: such a splitter leaves rows without an interval"
        )
    labels = None if groups is None else np.asarray(groups, dtype=object)
    shape = (2, N) if np.ndim(coverage) == 0 else (2, N, np.size(coverage))
    ends = np.empty(shape)
    for trained, rows in folds:
        of_trained = {} if labels is None else {"groups": labels[trained]}
        of_rows = {} if labels is None else {"groups": labels[rows]}
        own = clone(estimator)
        own.fit_calibrate(
            take_rows(X, trained), target[trained], share=share, **of_trained, **options
        )
        ends[:, rows] = own.predict_interval(take_rows(X, rows), coverage, **of_rows)
    return ends[0], ends[1]


def is_calibrated(estimator: Any) -> bool:
    """Return whether an estimator, or the last step of a pipeline, has been calibrated."""
    last = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    return hasattr(last, "calibrator_")
