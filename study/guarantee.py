"""Simulations on the coverage guarantee: calibration and test sets drawn anew from one pool."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence

import numpy as np
from scipy import stats

from gt2lite._validation import Array, IntArray
from gt2lite.calibration import (
    CALIBRATORS,
    CoverageError,
    Cut,
    Scores,
    SmallCalibrationWarning,
    critical_scores,
    find_cut,
    rank,
)
from gt2lite.memberships import ALPHA_0
from gt2lite.practice.calibrators import RANKED
from gt2lite.system import Params, Planes
from study.protocol import split
from study.statistics import SIGNIFICANCE, coverage_p_value


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


def with_ties(
    params: Params, dataset: str, seed: int, level: float, rng: np.random.Generator
) -> dict[str, float]:
    """Compare the law of the coverage of a rank, which knows no ties, with redraws that have them.

    Calibration and test rows of the seed are dealt anew 4,000 times, with the system fixed.

    Returns:
        `rows` in the pool and `distinct` scores; `mean` and `sd` of the test coverage of the exact
        rank, in percent, and both by the law, `mean_law` and `sd_law`; and `false`, the share of
        redraws with a p-value below 5% by the law.
    """
    data = split(dataset, seed)
    y = np.concatenate([data.y_cal, data.y_test])
    scores = critical_scores(Planes(params, np.vstack([data.X_cal, data.X_test])), y)
    n_cal, n_test = len(data.y_cal), len(data.y_test)
    (found,) = redrawn_coverage(scores, level, n_cal, n_test, 4000, rng, ["exact"]).values()
    shares, times = np.unique(found, return_counts=True)
    p = np.array([coverage_p_value(share, level, n_test, n_cal) for share in shares])
    k = rank(level, n_cal)
    law = stats.betabinom(n_test, k, n_cal + 1 - k)
    return {
        "rows": len(y),
        "distinct": len(np.unique(np.stack([scores.alpha, scores.margin]), axis=1).T),
        "mean": 100 * float(found.mean()),
        "mean_law": 100 * float(law.mean()) / n_test,
        "sd": 100 * float(found.std()),
        "sd_law": 100 * float(law.std()) / n_test,
        "false": float(times[p < SIGNIFICANCE].sum() / times.sum()),
    }


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
