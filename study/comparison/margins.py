r"""Intervals that grow with a single number t, and the t that calibration gives them.

Nearly all intervals around an estimate belong to one family,

.. math:: [\,l(x) - t\,s(x),\; u(x) + t\,s(x)\,],

with :math:`l = u = \hat y` and :math:`s = 1` for a constant margin (split conformal prediction),
:math:`s` an estimate of the spread for normalised residuals, and two quantiles :math:`l, u` with
:math:`s = 1` for conformalised quantile regression. The family is nested in t, so that the t of the
right rank on calibration rows has the guarantee, whatever l, u and s are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from gt2lite._validation import Array
from gt2lite.calibration import CoverageError, rank

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


def equalised(family: Family, y: Array, level: float) -> tuple[Array, Array]:
    """Return the smallest intervals of the family that cover a share `level` of `y`: the oracle."""
    k = rank(level, len(y))
    t = float(np.partition(family.scores(y), k - 1)[k - 1])
    # a sum may round to the wrong side of the target that it should just reach
    reach = max(abs(t), float(np.max(np.abs(y) / family.scale)))
    return family.at(t + 2.0**-40 * reach)


def pinball(error: Array, tau: float) -> Array:
    """Return the pinball loss of ``error = y - quantile``.

    >>> pinball(np.array([1.0, -1.0]), 0.75)
    array([0.75, 0.25])
    """
    return np.maximum(tau * error, (tau - 1) * error)


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
