"""Simulations on the coverage guarantee: calibration and test sets drawn anew from one pool."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence

import numpy as np

from gt2lite._validation import Array, IntArray
from gt2lite.calibration import (
    CALIBRATORS,
    CoverageError,
    Cut,
    Scores,
    SmallCalibrationWarning,
    find_cut,
)
from gt2lite.memberships import ALPHA_0
from gt2lite.practice.calibrators import RANKED


def redraws(
    n_pool: int, n_cal: int, n_test: int, times: int, rng: np.random.Generator
) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield the rows of a calibration and a test set, drawn anew from a pool each time."""
    for _ in range(times):
        rows = rng.permutation(n_pool)[: n_cal + n_test]
        yield rows[:n_cal], rows[n_cal:]


def redrawn_coverage(
    scores: Scores,
    level: float,
    n_cal: int,
    n_test: int,
    times: int,
    rng: np.random.Generator,
    methods: Sequence[str] = tuple(CALIBRATORS),
) -> dict[str, Array]:
    """Return what each method covers of a test set (times,), over redraws with the model fixed.

    Scores are those of all rows of the pool (`gt2lite.calibration.critical_scores`).
    """
    found = {method: np.empty(times) for method in methods}
    for i, (cal, test) in enumerate(redraws(len(scores), n_cal, n_test, times, rng)):
        seen, new = scores.take(cal), scores.take(test)
        for method in methods:
            ranked = method in RANKED
            cut = find_cut(seen, level, method) if ranked else _chosen(seen, level, method)
            found[method][i] = new.covered(cut).mean()
    return found


def _chosen(seen: Scores, level: float, method: str) -> Cut:
    """Return what table or search choose: the widest plane if the level is out of reach."""

    def interval(alpha: float | Array) -> tuple[Array, Array]:  # a sample is its score
        return np.zeros(len(seen)), np.where(seen.alpha >= alpha, 0.0, -1.0)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SmallCalibrationWarning)
        calibrator = CALIBRATORS[method]().fit(interval, np.zeros(len(seen)))
    try:
        return Cut(calibrator.alpha(level))
    except CoverageError:
        return Cut(ALPHA_0)
