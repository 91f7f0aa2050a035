r"""Nested families of intervals, and the member that calibration or an oracle takes from them.

Nearly all intervals around an estimate belong to one family,

.. math:: [\,l(x) - t\,s(x),\; u(x) + t\,s(x)\,],

with :math:`l = u = \hat y` and :math:`s = 1` for a constant margin (split conformal prediction),
:math:`s` an estimate of the spread for normalised residuals, and two quantiles :math:`l, u` with
:math:`s = 1` for conformalised quantile regression. The family is nested in t, so that the t of the
right rank on calibration rows has the guarantee, whatever l, u and s are.

Methods that miss their level cannot be compared by width. `at_coverage` and `planes_at_coverage`
move intervals along their own family until they cover the level of the rows at hand. That takes
the targets themselves: an oracle, to compare with and never to choose by.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from gt2lite._validation import Array
from gt2lite._validation import between as check_between
from gt2lite.calibration import (
    CoverageError,
    Interval,
    critical_scores,
    cut_ends,
    find_cuts,
    rank,
)
from gt2lite.datasets import Prepared
from gt2lite.losses import pinball
from study.protocol import LEVELS

FLOOR = 0.05  # least scale, as a share of its mean over the training rows

GRID = tuple(round(0.05 + 0.1 * i, 2) for i in range(10))
"""Levels whose bounds are 20 quantiles, evenly spaced from 0.025 to 0.975."""


class Family(NamedTuple):
    """Intervals of N rows: bounds (N,) at t = 0, and how fast they part (N,)."""

    lower: Array
    upper: Array
    scale: Array

    def scores(self, y: Array) -> Array:
        """Return the smallest t (N,) at which each target is covered; it may be negative."""
        return np.maximum(self.lower - y, y - self.upper) / self.scale

    def at(self, t: float) -> tuple[Array, Array]:
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


def calibrated(cal: Family, test: Family, y_cal: Array, level: float) -> tuple[Array, Array]:
    """Return guaranteed intervals for the test rows, by the rank on calibration rows."""
    k = rank(level, len(y_cal) + 1)
    if k > len(y_cal):
        raise CoverageError(f"level {level} needs more than {len(y_cal)} calibration rows")
    return test.at(float(np.partition(cal.scores(y_cal), k - 1)[k - 1]))


# ---------------------------------------------------------------------------------- oracle


def at_coverage(family: Family, y: Array, level: float) -> tuple[Array, Array]:
    """Return the smallest intervals of the family that cover a share `level` of `y` (N,).

    >>> at_coverage(around(np.zeros(4)), np.array([1.0, -2.0, 3.0, -4.0]), 0.75)[1]
    array([3., 3., 3., 3.])
    """
    k = rank(check_between("level", level, 0, 1), len(y))
    t = float(np.partition(family.scores(y), k - 1)[k - 1])
    # a sum may round to the wrong side of the target that it should just reach
    return family.at(t + 2.0**-40 * (abs(t) + float(np.max(np.abs(y) / family.scale))))


def planes_at_coverage(interval: Interval, y: ArrayLike, level: float) -> tuple[Array, Array]:
    """Return the bounds (N,) of the narrowest plane that covers at least the level of `y`.

    If no plane covers as many, the lowest one gets a margin, as in `ExactCalibrator`. The nested
    intervals are those of the N targets.
    """
    cuts = find_cuts(critical_scores(interval, y), level, "exact")
    lower, upper = cut_ends(interval, [cuts])
    return lower[0], upper[0]


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
