r"""Intervals that grow by a single number, and the number that calibration gives them.

Nearly all that is done around an estimate is one family,

.. math:: [\,l(x) - t\,s(x),\; u(x) + t\,s(x)\,],

with :math:`l = u = \hat y` and :math:`s = 1` for a constant margin (split conformal prediction),
:math:`s` an estimate of the spread for normalised residuals, and two quantiles :math:`l, u` with
:math:`s = 1` for conformalised quantile regression. It is nested in t, so that the t of the right
rank on calibration rows has the guarantee, whatever l, u and s are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from gt2lite._validation import Array
from gt2lite.calibration import CoverageError, rank
from study.design import LEVELS
from study.field.contestant import Answer

FLOOR = 0.05
"""The least spread, as a share of its mean over the training rows."""

GRID = tuple(round(0.05 + 0.1 * i, 2) for i in range(10))
"""Levels whose ends are 20 quantiles, evenly spaced from 0.025 to 0.975."""

Ends = tuple[Array, Array]


class Shape(NamedTuple):
    """The family of N rows: ends (N,) at t = 0, and how fast they part (N,)."""

    lower: Array
    upper: Array
    scale: Array

    def scores(self, y: Array) -> Array:
        """Return the smallest t (N,) at which each target is covered; it may be negative."""
        return np.maximum(self.lower - y, y - self.upper) / self.scale

    def at(self, t: float) -> Ends:
        """Return the ends at t; an interval that a negative t empties is a point in its middle.

        >>> Shape(np.zeros(2), np.array([1.0, 4.0]), np.ones(2)).at(-1.0)
        (array([0.5, 1. ]), array([0.5, 3. ]))
        """
        lower, upper = self.lower - t * self.scale, self.upper + t * self.scale
        middle = (lower + upper) / 2
        return np.minimum(lower, middle), np.maximum(upper, middle)


class Parts(NamedTuple):
    """The same family on the rows of calibration and test."""

    cal: Shape
    test: Shape


def around(y_hat: Array, scale: Array | float = 1.0) -> Shape:
    """Return the family around an estimate (N,)."""
    return Shape(y_hat, y_hat, np.broadcast_to(np.asarray(scale, dtype=float), y_hat.shape))


def floored(spread: Array, of_training: Array) -> Array:
    """Return a spread (N,) that is nowhere below its floor.

    >>> floored(np.array([-1.0, 2.0]), of_training=np.array([1.0, 3.0]))
    array([0.1, 2. ])
    """
    return np.maximum(spread, FLOOR * max(float(np.mean(of_training)), np.finfo(float).tiny))


def same(parts: Parts) -> Callable[[float], Parts]:
    """Return a family that is the same for all levels."""
    return lambda level: parts


def calibrated(parts: Parts, y_cal: Array, level: float) -> Ends:
    """Return intervals for the test rows with the guarantee, by the rank on calibration rows."""
    k = rank(level, len(y_cal) + 1)
    if k > len(y_cal):
        raise CoverageError(f"level {level} needs more than {len(y_cal)} calibration rows")
    return parts.test.at(float(np.partition(parts.cal.scores(y_cal), k - 1)[k - 1]))


def equalised(shape: Shape, y: Array, level: float) -> Ends:
    """Return the smallest intervals of the family that cover the level of `y`: the oracle."""
    k = rank(level, len(y))
    t = float(np.partition(shape.scores(y), k - 1)[k - 1])
    # a sum may round to the wrong side of the target that it should just reach
    reach = max(abs(t), float(np.max(np.abs(y) / shape.scale)))
    return shape.at(t + 2.0**-40 * reach)


def answer(
    form: str,
    y_hat: Array,
    parts: Callable[[float], Parts],
    y_cal: Array,
    y_test: Array,
    *,
    every_level: bool = True,
) -> Answer:
    """Return what a family says at all levels.

    Args:
        form: what kind of intervals they are, see `study.field.contestant.FORMS`.
        y_hat: estimates for the test rows (N,), or (L, N).
        parts: the family for a level.
        y_cal: targets of the calibration rows.
        y_test: targets of the test rows (N,).
        every_level: whether one training gives all levels, so that CRPS can be told.
    """
    at = {level: parts(level) for level in LEVELS}
    return Answer(
        form,
        np.broadcast_to(y_hat, (len(LEVELS), len(y_test))),
        np.array([calibrated(at[level], y_cal, level) for level in LEVELS]),
        np.array([equalised(at[level].test, y_test, level) for level in LEVELS]),
        crps([calibrated(parts(level), y_cal, level) for level in GRID], y_test)
        if every_level
        else None,
    )


def pinball(error: Array, tau: float) -> Array:
    """Return the pinball loss of ``error = y - quantile``; one needs no system to be judged by it.

    >>> pinball(np.array([1.0, -1.0]), 0.75)
    array([0.75, 0.25])
    """
    return np.maximum(tau * error, (tau - 1) * error)


def crps(ends: Sequence[Ends], y: Array) -> float:
    r"""Return the CRPS of intervals at the levels of `GRID`: twice the mean pinball loss.

    .. math:: 2 \int_0^1 \rho_\tau\bigl(y - q_\tau\bigr)\,d\tau

    as the mean over the 20 quantiles that are their ends, the middles of 20 equal steps.

    >>> y = np.array([0.0, 1.0])
    >>> crps([(y, y)] * len(GRID), y), crps([(y - 1, y - 1)] * len(GRID), y)
    (0.0, 1.0)
    """
    losses = [
        pinball(y - end, tau)
        for (lower, upper), level in zip(ends, GRID, strict=True)
        for end, tau in ((lower, (1 - level) / 2), (upper, (1 + level) / 2))
    ]
    return round(2 * float(np.mean(losses)), 12)
