"""Calibrated and directly trained intervals compared at equal coverage.

Any interval becomes narrower by missing more targets. Widths are therefore compared where both
families of intervals cover the same share of the test set (`study.margins`).
`data/results/widths.csv` holds the comparisons of all seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from gt2lite._validation import Array
from gt2lite.calibration import ConformalCalibrator, Interval, rank
from gt2lite.datasets import DATASETS, Prepared
from gt2lite.memberships import ALPHA_0
from gt2lite.metrics import interval_quality, interval_score, picp
from gt2lite.system import Params, Planes
from gt2lite.training import Recipe
from study import protocol
from study.margins import around, at_coverage, planes_at_coverage
from study.protocol import LEVELS, SEEDS, Run, split


@dataclass(frozen=True)
class Pair:
    """The calibrated and the directly trained system of a data set, seed and level."""

    level: float
    data: Prepared
    calibrated: Planes  # of the test rows
    trained: Planes
    alpha: float  # the plane of the calibrated system that the search found

    def intervals(self) -> dict[str, tuple[Array, Array]]:
        """Return the lower and upper bounds (N,) of both systems, by name."""
        return {"trained": self.trained(ALPHA_0), "calibrated": self.calibrated(self.alpha)}


def pair(dataset: str, seed: int, level: float, baseline: Run, direct: Run) -> Pair:
    """Return both systems on the test rows: `baseline` trained for 99%, `direct` for the level."""
    data, found = split(dataset, seed), baseline.records
    (alpha,) = found.alpha[(found.method == "search") & (found.level == level)]
    calibrated, trained = (Planes(one.params, data.X_test) for one in (baseline, direct))
    return Pair(level, data, calibrated, trained, float(alpha))


def compare_widths(dataset: str, seed: int, recipe: Recipe | None = None) -> pd.DataFrame:
    """Train the three systems of a seed and return a row of `widths.csv` for each level."""
    baseline = protocol.run(dataset, seed, "baseline", recipe=recipe)
    rows = []
    for level in LEVELS:
        direct = protocol.run(dataset, seed, f"trained_{100 * level:.0f}", recipe=recipe)
        found = compare_pair(pair(dataset, seed, level, baseline, direct))
        rows.append({"dataset": dataset, "seed": seed, "level": level, **found})
    return pd.DataFrame(rows)


def compare_pair(one: Pair) -> dict[str, float]:
    """Return the measures of a pair, by the columns of `widths.csv`.

    `picp_*`, `pinaw_*` and `score_*` are of the intervals as they are, `width_*` are mean widths
    at equal coverage. `planes_width` and `margin_width` compare the planes of the calibrated
    system with a constant margin around its output, both at the level; for `planes_score` and
    `margin_score` both are calibrated by the conformal rank.
    """
    data, found = one.data, dict[str, float]()
    for name, ends in one.intervals().items():
        quality = interval_quality(data.y_test, *ends, one.level)
        found |= {f"picp_{name}": quality.picp, f"pinaw_{name}": quality.pinaw}
        found[f"score_{name}"] = quality.interval_score
    widths = widths_at_equal_coverage(data.y_test, (one.calibrated, one.trained), one.level)
    found |= dict(zip(("width_calibrated", "width_trained"), widths, strict=True))
    return found | beside_margin(one.calibrated.params, data, Recipe().planes.alphas, one.level)


def beside_margin(
    params: Params, data: Prepared, alphas: Sequence[float] | Array, level: float
) -> dict[str, float]:
    """Compare planes of a system with a constant margin around its output, that of planes `alphas`.

    Widths are those at which both cover the level of the test set. For the interval score both are
    calibrated by the conformal rank on the calibration set.
    """
    test, cal, y = Planes(params, data.X_test), Planes(params, data.X_cal), data.y_test
    output = test.output(alphas)
    errors = np.sort(np.abs(data.y_cal - cal.output(alphas)))
    margin = errors[rank(level, errors.size + 1) - 1]
    planes = ConformalCalibrator().fit(cal, data.y_cal).intervals(test, level)
    return {
        "planes_width": _mean_width(planes_at_coverage(test, y, level)),
        "margin_width": _mean_width(at_coverage(around(output), y, level)),
        "planes_score": interval_score(y, *planes, level),
        "margin_score": interval_score(y, output - margin, output + margin, level),
    }


def run(run_all: Callable[..., list[Any]]) -> dict[str, pd.DataFrame]:
    """Run all comparisons and return the rows of `widths.csv`."""
    seeds = [{"dataset": dataset, "seed": seed} for dataset in DATASETS for seed in SEEDS]
    return {"widths": pd.concat(run_all(compare_widths, seeds, label="widths"), ignore_index=True)}


def widths_at_equal_coverage(y: Array, families: Sequence[Interval], level: float) -> list[float]:
    """Return the mean width of each family where all of them cover the same share of `y`.

    That share is the level, or the most that all can reach if one of them cannot reach it.

    Args:
        y: targets (N,).
        families: nested intervals of these rows.
        level: the coverage asked for.
    """
    common = min(level, *(picp(y, *family(ALPHA_0)) for family in families))
    return [_mean_width(planes_at_coverage(family, y, common)) for family in families]


def _mean_width(ends: tuple[Array, Array]) -> float:
    lower, upper = ends
    return float((upper - lower).mean())
