"""Simulations on the coverage guarantee: width past the envelope, sides, and order of the rows.

`study.statistics.redrawn_coverage` draws calibration and test sets anew from a pool of scores; the
functions here look at the same pool from other sides.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from gt2lite._validation import Array
from gt2lite.calibration import ConformalCalibrator, Scores, find_cuts
from gt2lite.datasets import Dataset, Split
from gt2lite.memberships import ALPHA_0
from gt2lite.system import Planes
from study.statistics import redraws


def width_curve(calibrator: ConformalCalibrator, planes: Planes) -> pd.DataFrame:
    """Return how wide the intervals of a test set get as the level rises.

    Args:
        calibrator: fitted.
        planes: the system on the test rows.

    Returns:
        A row for each rank from the middle on: `level`, mean `width`, `stage` (0 for trained
        planes, 1 for planes beyond the envelope, 2 for a margin) and `margin`.
    """
    n = calibrator.n_samples
    levels = np.arange((n + 1) // 2, n + 1) / (n + 1)
    lower, upper = calibrator.intervals(planes, levels)
    alpha = np.nan_to_num(calibrator.alpha(levels))  # 0 if there is no plane
    return pd.DataFrame(
        {
            "level": levels,
            "width": (upper - lower).mean(axis=0),
            "stage": np.where(alpha >= ALPHA_0, 0, np.where(alpha > 0, 1, 2)),
            "margin": np.asarray(calibrator.margin(levels)),
        }
    )


def missed(
    scores: Scores, n_cal: int, level: float, sides: str, times: int, rng: np.random.Generator
) -> Array:
    """Return the shares below and above their conformal intervals over redraws (times, 2).

    Args:
        scores: those of all rows of the pool; rows not drawn for calibration are test rows.
        n_cal: rows for calibration.
        level: coverage.
        sides: "both" or "each", see `gt2lite.calibration.SIDES`.
        times: number of redraws.
        rng: source of the draws.
    """
    found = []
    for seen, new in redraws(len(scores), n_cal, len(scores) - n_cal, times, rng):
        low, high = find_cuts(scores.take(seen), level, "conformal", sides)
        kept = scores.lower.take(new).covered(low), scores.upper.take(new).covered(high)
        found.append([1 - end.mean() for end in kept])
    return np.array(found)


def duplicates(dataset: Dataset, split: Split) -> float:
    """Return the share of test rows of which the training set has a copy, target included."""
    rows = np.column_stack([dataset.X, dataset.y]) + 0.0  # no minus before 0
    known = {row.tobytes() for row in rows[split.train]}
    return float(np.mean([row.tobytes() in known for row in rows[split.test]]))


def in_order(scores: Scores, key: Array, n_cal: int, level: float) -> float:
    """Return the coverage of the last rows if the first `n_cal`, sorted by `key`, calibrate."""
    rows = np.argsort(key, kind="stable")
    cut, _ = find_cuts(scores.take(rows[:n_cal]), level, "conformal")
    return float(scores.take(rows[n_cal:]).covered(cut).mean())
