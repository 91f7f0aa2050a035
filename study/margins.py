r"""Nested families of intervals, and the member that calibration or an oracle takes from them.

Nearly all intervals around an estimate belong to one family,

.. math:: [\,l(x) - t\,s(x),\; u(x) + t\,s(x)\,],

with :math:`l = u = \hat y` and :math:`s = 1` for a constant margin (split conformal prediction),
:math:`s` an estimate of the spread for normalised residuals, and two quantiles :math:`l, u` with
:math:`s = 1` for conformalised quantile regression. The family is nested in t, so that the t of the
right rank on calibration rows has the guarantee, whatever l, u and s are.

Any interval becomes narrower by missing more targets, so that methods which miss their level cannot
be compared by width. `at_coverage` and `planes_at_coverage` move intervals along their own family
until they cover the level of the rows at hand. That takes the targets themselves: an oracle, to
compare with and never to choose by. `compare_pair` compares calibrated and directly trained systems
in this way; `python -m study widths` writes its rows to `data/results/widths.csv`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from gt2lite._validation import Array
from gt2lite._validation import between as check_between
from gt2lite.calibration import (
    ConformalCalibrator,
    CoverageError,
    Interval,
    critical_scores,
    cut_ends,
    find_cut,
    rank,
)
from gt2lite.datasets import DATASETS, Prepared
from gt2lite.losses import pinball
from gt2lite.memberships import ALPHA_0
from gt2lite.metrics import interval_quality, interval_score, picp
from gt2lite.recipe import Recipe
from gt2lite.system import Params, Planes
from study import protocol
from study.protocol import LEVELS, SEEDS

FLOOR = 0.05  # least scale, as a share of its mean over the training rows

GRID = tuple(round(0.05 + 0.1 * i, 2) for i in range(10))
"""Levels whose bounds are 20 quantiles, evenly spaced from 0.025 to 0.975."""

Bounds = tuple[Array, Array]


class Family(NamedTuple):
    """Intervals of N rows: bounds (N,) at t = 0, and how fast they part (N,)."""

    lower: Array
    upper: Array
    scale: Array

    def scores(self, y: Array) -> Array:
        """Return the smallest t (N,) at which each target is covered; it may be negative."""
        return np.maximum(self.lower - y, y - self.upper) / self.scale

    def at(self, t: float) -> Bounds:
        """Return the bounds at t; an interval that a negative t empties becomes its midpoint.

        >>> Family(np.zeros(2), np.array([1.0, 4.0]), np.ones(2)).at(-1.0)
        (array([0.5, 1. ]), array([0.5, 3. ]))
        """
        lower, upper = self.lower - t * self.scale, self.upper + t * self.scale
        middle = (lower + upper) / 2
        return np.minimum(lower, middle), np.maximum(upper, middle)


def around(y_hat: Array, scale: Array | float = 1.0) -> Family:
    """Return the symmetric family around an estimate (N,)."""
    return Family(y_hat, y_hat, np.broadcast_to(np.asarray(scale, dtype=float), y_hat.shape))


def between(lower: Array, upper: Array) -> Family:
    """Return the family that adds one margin to two quantiles (N,)."""
    return Family(lower, upper, np.ones(len(lower)))


def floored(scale: Array, of_training: Array) -> Array:
    """Return a scale (N,) that is nowhere below its floor.

    >>> floored(np.array([-1.0, 2.0]), of_training=np.array([1.0, 3.0]))
    array([0.1, 2. ])
    """
    return np.maximum(scale, FLOOR * max(float(np.mean(of_training)), np.finfo(float).tiny))


def calibrated(cal: Family, test: Family, y_cal: Array, level: float) -> Bounds:
    """Return guaranteed intervals for the test rows, by the rank on calibration rows."""
    k = rank(level, len(y_cal) + 1)
    if k > len(y_cal):
        raise CoverageError(f"level {level} needs more than {len(y_cal)} calibration rows")
    return test.at(float(np.partition(cal.scores(y_cal), k - 1)[k - 1]))


# ---------------------------------------------------------------------------------- oracle


def at_coverage(family: Family, y: Array, level: float) -> Bounds:
    """Return the smallest intervals of the family that cover a share `level` of `y` (N,).

    >>> at_coverage(around(np.zeros(4)), np.array([1.0, -2.0, 3.0, -4.0]), 0.75)[1]
    array([3., 3., 3., 3.])
    """
    k = rank(check_between("level", level, 0, 1), len(y))
    t = float(np.partition(family.scores(y), k - 1)[k - 1])
    # a sum may round to the wrong side of the target that it should just reach
    return family.at(t + 2.0**-40 * (abs(t) + float(np.max(np.abs(y) / family.scale))))


def planes_at_coverage(interval: Interval, y: ArrayLike, level: float) -> Bounds:
    """Return the bounds (N,) of the narrowest plane that covers at least the level of `y`.

    If no plane covers as many, the lowest one gets a margin, as in `ExactCalibrator`. The nested
    intervals are those of the N targets.
    """
    cut = find_cut(critical_scores(interval, y), level, "exact")
    lower, upper = cut_ends(interval, [(cut, cut)])
    return lower[0], upper[0]


def mean_width(bounds: Bounds) -> float:
    """Return the mean width of intervals."""
    lower, upper = bounds
    return float((upper - lower).mean())


def widths_at_equal_coverage(y: Array, families: Sequence[Interval], level: float) -> list[float]:
    """Return the mean width of each family where all of them cover the same share of `y` (N,).

    That share is the level, or the most that all can reach if one of them cannot reach it.
    """
    common = min(level, *(picp(y, *family(ALPHA_0)) for family in families))
    return [mean_width(planes_at_coverage(family, y, common)) for family in families]


def beside_margin(
    params: Params, data: Prepared, alphas: Sequence[float] | Array, level: float
) -> dict[str, float]:
    """Compare planes of a system with a constant margin around its output, that of planes `alphas`.

    Widths are those at which both cover the level of the test set. For the interval score both are
    calibrated by the conformal rank on the calibration set.
    """
    test, cal, y = Planes(params, data.X_test), Planes(params, data.X_cal), data.y_test
    around_output = around(test.output(alphas))
    margin = calibrated(around(cal.output(alphas)), around_output, data.y_cal, level)
    planes = ConformalCalibrator().fit(cal, data.y_cal).intervals(test, level)
    return {
        "planes_width": mean_width(planes_at_coverage(test, y, level)),
        "margin_width": mean_width(at_coverage(around_output, y, level)),
        "planes_score": interval_score(y, *planes, level),
        "margin_score": interval_score(y, *margin, level),
    }


# ------------------------------------------------------- calibrated against directly trained


class Pair(NamedTuple):
    """The calibrated and the directly trained system of a data set, seed and level."""

    level: float
    data: Prepared
    calibrated: Planes  # of the test rows
    trained: Planes
    alpha: float  # the plane of the calibrated system that the search found

    def intervals(self) -> dict[str, Bounds]:
        """Return the lower and upper bounds (N,) of both systems, by name."""
        return {"trained": self.trained(ALPHA_0), "calibrated": self.calibrated(self.alpha)}


def pair(
    dataset: str, seed: int, level: float, baseline: protocol.Run, direct: protocol.Run
) -> Pair:
    """Return both systems on the test rows: `baseline` trained for 99%, `direct` for the level."""
    data, found = protocol.split(dataset, seed), baseline.records
    (alpha,) = found.alpha[(found.method == "search") & (found.level == level)]
    calibrated, trained = (Planes(one.params, data.X_test) for one in (baseline, direct))
    return Pair(level, data, calibrated, trained, float(alpha))


def compare_pair(one: Pair) -> dict[str, float]:
    """Return the measures of a pair, by the columns of `widths.csv`.

    `picp_*`, `pinaw_*` and `score_*` are of the intervals as they are, `width_*` are mean widths
    at equal coverage; the others are those of `beside_margin` for the calibrated system.
    """
    data, found = one.data, dict[str, float]()
    for name, ends in one.intervals().items():
        quality = interval_quality(data.y_test, *ends, one.level)
        found |= {f"picp_{name}": quality.picp, f"pinaw_{name}": quality.pinaw}
        found[f"score_{name}"] = quality.interval_score
    widths = widths_at_equal_coverage(data.y_test, (one.calibrated, one.trained), one.level)
    found |= dict(zip(("width_calibrated", "width_trained"), widths, strict=True))
    return found | beside_margin(one.calibrated.params, data, Recipe().planes.alphas, one.level)


def compare_widths(dataset: str, seed: int) -> pd.DataFrame:
    """Train the three systems of a seed and return a row of `widths.csv` for each level."""
    baseline, rows = protocol.run(dataset, seed, "baseline"), []
    for level in LEVELS:
        direct = protocol.run(dataset, seed, f"trained_{100 * level:.0f}")
        found = compare_pair(pair(dataset, seed, level, baseline, direct))
        rows.append({"dataset": dataset, "seed": seed, "level": level, **found})
    return pd.DataFrame(rows)


def run(run_all: Callable[..., list[Any]]) -> dict[str, pd.DataFrame]:
    """Run all comparisons and return the rows of `widths.csv`."""
    seeds = [{"dataset": dataset, "seed": seed} for dataset in DATASETS for seed in SEEDS]
    return {"widths": pd.concat(run_all(compare_widths, seeds, label="widths"), ignore_index=True)}


# ----------------------------------------------------------------------- results of methods


class Prediction(NamedTuple):
    """Estimates (N,) and the family of intervals at a level, before calibration."""

    y_hat: Array
    family: Callable[[float], Family]


@dataclass(frozen=True)
class Intervals:
    """Estimates and intervals for the N test rows at the L levels."""

    form: str  # "" for the method's own, else an ablation
    y_hat: Array  # (L, N)
    bounds: Array  # (L, 2, N), calibrated
    equal: Array  # (L, 2, N), of the same family, moved to cover just the level of the test set
    crps: float | None = None  # for methods that obtain all levels from one training


@dataclass(frozen=True)
class Result:
    """Intervals of a method and what they cost, in CPU seconds on one thread."""

    intervals: tuple[Intervals, ...]  # the method's own first
    first_seconds: float  # training and calibration for the first level, without choosing settings
    further_seconds: float = 0.0  # the same for each further level
    tuning_seconds: float = 0.0  # choosing settings, for both levels
    predict_seconds: float = np.nan  # estimates and both intervals of 1,000 test rows
    chosen: tuple[dict[str, Any], ...] = ()  # settings chosen inside the training set


def normalised(y_hat: Array, scale: Array | float = 1.0) -> Prediction:
    """Return the symmetric family around an estimate (N,) at every level."""
    return Prediction(y_hat, lambda level: around(y_hat, scale))


def conformal(
    form: str, cal: Prediction, test: Prediction, data: Prepared, *, every_level: bool = True
) -> Intervals:
    """Calibrate predictions by the rank on calibration rows.

    CRPS is reported if one training gives all levels (`every_level`).
    """

    def at(level: float) -> tuple[Array, Array]:
        return calibrated(cal.family(level), test.family(level), data.y_cal, level)

    return Intervals(
        form,
        np.broadcast_to(test.y_hat, (len(LEVELS), len(data.y_test))),
        np.array([at(level) for level in LEVELS]),
        np.array([at_coverage(test.family(level), data.y_test, level) for level in LEVELS]),
        crps([at(level) for level in GRID], data.y_test) if every_level else None,
    )


def crps(intervals: Sequence[tuple[Array, Array]], y: Array) -> float:
    r"""Return the CRPS of intervals at the levels of `GRID`: twice the mean pinball loss.

    .. math:: 2 \int_0^1 \rho_\tau\bigl(y - q_\tau\bigr)\,d\tau

    as the mean over the 20 quantiles that are their bounds, the middles of 20 equal steps.

    >>> y = np.array([0.0, 1.0])
    >>> crps([(y, y)] * len(GRID), y), crps([(y - 1, y - 1)] * len(GRID), y)
    (0.0, 1.0)
    """
    losses = [
        pinball(y - bound, tau)
        for (lower, upper), level in zip(intervals, GRID, strict=True)
        for bound, tau in ((lower, (1 - level) / 2), (upper, (1 + level) / 2))
    ]
    return round(2 * float(np.mean(losses)), 12)
