"""Scorers for searches, and cross-validated intervals; they need scikit-learn."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from functools import partial

import numpy as np

from gt2lite._validation import Array, between
from gt2lite.calibration import CoverageError, SmallCalibrationWarning
from gt2lite.metrics import interval_score, picp
from gt2lite.practice._sklearn import need_sklearn
from gt2lite.practice.calibrating import CalibrationPlan
from gt2lite.practice.calibrators import DEFAULT_COVERAGE, fewest_samples, read_groups
from gt2lite.practice.splitting import read_folds
from gt2lite.practice.tables import n_rows_of, read_target, take_rows
from gt2lite.practice.types import (
    Bounds,
    Folds,
    Groups,
    IntervalEstimator,
    Levels,
    Record,
    Scorer,
    Settings,
    Table,
    Target,
)
from gt2lite.practice.warnings import NarrowEnvelopeWarning

need_sklearn("scoring")  # says what to install, in place of the error of the next line
from sklearn.base import clone  # noqa: E402


def coverage_scorer(
    coverage: float = DEFAULT_COVERAGE, *, seed: int = 0, **options: object
) -> Scorer:
    """Return a scorer of coverage: the share of targets in their interval for a level.

    Report it beside other scores; a search that maximises it finds wide intervals.

    A calibrated estimator is scored as it is. An uncalibrated one, as in a search, where
    scikit-learn calls `fit` alone, is calibrated on a random half of the rows given and scored
    on the other half, then the other way round, and the mean of both is returned. So all rows of
    the training folds train, no row is scored by a calibration that has seen it, and the
    estimator itself stays uncalibrated.

    Args:
        coverage: the level.
        seed: that of the halves of a fold.
        options: how to calibrate, see `GT2Regressor.calibrate`.

    >>> from sklearn.model_selection import cross_val_score
    >>> from gt2lite import GT2Regressor, load_dataset
    >>> from gt2lite.practice.scoring import coverage_scorer
    >>> data = load_dataset("pp")
    >>> reg = GT2Regressor(n_rules=3, epochs=5, learning_rate=0.02)
    >>> found = cross_val_score(reg, data.X[:900], data.y[:900], scoring=coverage_scorer(0.8), cv=3)
    >>> bool(0.7 < found.mean() < 0.9)
    True
    """
    level = between("coverage", coverage, 0, 1)
    return partial(_score, measure=picp, coverage=level, seed=seed, options=options)


def interval_scorer(
    coverage: float = DEFAULT_COVERAGE, *, seed: int = 0, **options: object
) -> Scorer:
    """Return a scorer of minus the interval score: width plus a penalty for each miss.

    Minus, because scikit-learn maximises. The true quantiles have the best expected value, so a
    search may use it. Arguments and calibration as in `coverage_scorer`.
    """
    level = between("coverage", coverage, 0, 1)
    measure = partial(interval_score, coverage=level)
    return partial(_score, measure=measure, coverage=level, seed=seed, options=options, sign=-1)


def _score(
    estimator: IntervalEstimator,
    X: Table,
    y: Target,
    *,
    measure: Callable[[Array, Array, Array], float],
    coverage: float,
    seed: int,
    options: Settings,
    sign: int = 1,
) -> float:
    """Return the `measure` of intervals of an estimator, see `coverage_scorer`."""
    target = read_target(y, n_rows_of(X))
    if hasattr(estimator, "calibrator_"):
        return sign * measure(target, *estimator.predict_interval(X, coverage))
    rows = np.random.default_rng(seed).permutation(len(target))
    first, second = np.sort(rows[: len(rows) // 2]), np.sort(rows[len(rows) // 2 :])
    found = []
    for calibrated, measured in ((first, second), (second, first)):
        own = copy.copy(estimator)
        with warnings.catch_warnings():  # halves of a fold are small
            warnings.simplefilter("ignore", SmallCalibrationWarning)
            warnings.simplefilter("ignore", NarrowEnvelopeWarning)
            own.calibrate(take_rows(X, calibrated), target[calibrated], **options)
            ends = own.predict_interval(take_rows(X, measured), coverage)
        found.append(measure(target[measured], *ends))
    return sign * float(np.mean(found))


def cross_val_intervals(
    estimator: IntervalEstimator,
    X: Table,
    y: Target,
    coverage: Levels = DEFAULT_COVERAGE,
    *,
    cv: Folds = 5,
    share: float = 0.25,
    groups: Groups = None,
    **options: object,
) -> Bounds:
    """Return for each row an interval from a model that was neither trained nor calibrated on it.

    For each fold a copy of the estimator is trained and calibrated on the other folds by
    `fit_calibrate`, and predicts this one: the `cross_val_predict` of intervals. Each of
    these models keeps its guarantee for the rows of its fold.

    Args:
        estimator: a `GT2Regressor`, an `IntervalHead` or the like; it is not changed.
        X: inputs (N, M).
        y: targets (N,).
        coverage: the level, or L of them.
        cv: number of folds, drawn at random by the seed 0, or a splitter of scikit-learn's
            whose test folds have every row once. To keep families together pass
            ``list(GroupKFold(5).split(X, y, families))``; `share` still draws single rows, so
            that a family may train and calibrate, and intervals are too narrow for new families.
        share: the share of the training folds that calibrates.
        groups: a name or whole number for each row (N,), for a calibration by groups.
        options: how to calibrate, see `GT2Regressor.calibrate`.

    Returns:
        Two arrays (N,), or (N, L) for a sequence of L levels.
    """
    target = read_target(y, N := n_rows_of(X))
    labels = None if groups is None else np.array(read_groups(groups, N), dtype=object)
    highest = max(between("coverage", level, 0, 1) for level in np.ravel(coverage))
    further = dict(options)
    named = [name for name in ("method", "sides") if further.get(name)]
    asked: Record = {name: str(further.pop(name)) for name in named}
    plan = CalibrationPlan(**asked, groups=groups, options=further)
    needed = fewest_samples(highest, plan.sides or "both", plan.options.get("tails"))
    by_rank = plan.method == "conformal" and labels is None
    share = between("share", share, 0, 1)
    folds = read_folds(cv, X, target, seed=0)
    tested = np.concatenate([rows for _, rows in folds])
    if not np.array_equal(np.sort(tested), np.arange(N)):
        raise ValueError(
            f"cv must have each of the {N} rows in one test fold, got {len(tested)} rows in "
            f"{len(folds)} folds: such a splitter leaves rows without an interval"
        )
    for trained, rows in folds:  # what cannot be answered is refused before any training
        if labels is not None and (unseen := set(labels[rows]) - set(labels[trained])):
            raise ValueError(
                f"groups must each be in several folds, got all rows of {min(unseen, key=str)!r} "
                "in one: use fewer folds or larger groups"
            )
        if by_rank and (n := round(share * len(trained))) < needed:
            raise CoverageError(
                f"coverage {highest:g} is out of reach: {needed} calibration rows are needed, and "
                f"share={share:g} of {len(trained)} rows leaves {n}"
            )
    ends = np.empty((2, N, *np.shape(coverage)))
    for trained, rows in folds:
        of_trained, of_rows = options | {"share": share}, {}
        if labels is not None:
            of_trained["groups"], of_rows["groups"] = labels[trained], labels[rows]
        own = clone(estimator)
        own.fit_calibrate(take_rows(X, trained), target[trained], **of_trained)
        ends[:, rows] = own.predict_interval(take_rows(X, rows), coverage, **of_rows)
    return ends[0], ends[1]
