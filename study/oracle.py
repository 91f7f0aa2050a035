"""Width at equal coverage: intervals moved until they cover the level of the rows at hand.

Methods that miss their level cannot be compared by width. Each is therefore moved along its own
family, of planes or of margins, until the share of targets that it covers is the level. That
takes the targets themselves: an oracle, to compare with and never to choose by.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from gt2lite._validation import Array, between, vector
from gt2lite.calibration import Interval, critical_scores, cut_ends, find_cuts, rank


def planes_at_coverage(
    interval: Interval, y: ArrayLike, coverage: float | Sequence[float] | Array
) -> tuple[Array, Array]:
    """Return the ends of the narrowest plane that covers at least the level of `y`.

    Where no plane covers as many, the lowest one gets a margin, as in `ExactCalibrator`.

    Args:
        interval: the nested intervals of the N targets.
        y: the targets (N,).
        coverage: the level, or L of them.

    Returns:
        Two arrays (N,), or (N, L) for a sequence of levels.

    >>> from gt2lite.memberships import kappa_of
    >>> y = np.array([0.1, -0.2, 0.3, -0.9])
    >>> def interval(alpha):  # the plane alpha reaches from -kappa to kappa
    ...     kappa = np.broadcast_to(kappa_of(alpha), y.shape)
    ...     return -kappa, kappa
    >>> lower, upper = planes_at_coverage(interval, y, coverage=0.75)
    >>> round(float(np.mean(upper - lower)), 6)  # 3 of 4 lie within 0.3
    0.6
    """
    scores = critical_scores(interval, y)
    cuts = [find_cuts(scores, level, "exact") for level in np.atleast_1d(coverage)]
    lower, upper = cut_ends(interval, cuts)  # (L, N) each
    return (lower[0], upper[0]) if np.ndim(coverage) == 0 else (lower.T, upper.T)


def margins_at_coverage(
    lower: ArrayLike, upper: ArrayLike, y: ArrayLike, coverage: float
) -> tuple[Array, Array]:
    """Return intervals with the smallest margin at which they cover the level of `y` (N,).

    Args:
        lower: lower ends (N,).
        upper: upper ends (N,).
        y: the targets (N,).
        coverage: the level.

    >>> y, nothing = np.array([1.0, -2.0, 3.0, -4.0]), np.zeros(4)
    >>> margins_at_coverage(nothing, nothing, y, coverage=0.75)[1]  # 3 of 4 lie within 3
    array([3., 3., 3., 3.])
    """
    y = vector("y", y)
    lower, upper = vector("lower", lower, y.size), vector("upper", upper, y.size)
    lacking = np.sort(np.maximum(lower - y, y - upper))
    margin = float(lacking[rank(between("coverage", coverage, 0, 1), y.size) - 1])
    # a sum may round to the wrong side of the target that it should just reach
    return widen(lower, upper, margin + 2.0**-40 * (abs(margin) + float(np.abs(y).max())))


def widen(lower: Array, upper: Array, margin: float) -> tuple[Array, Array]:
    """Return intervals with a margin on both ends; one that a negative margin empties is a point.

    >>> widen(np.array([0.0, 0.0]), np.array([1.0, 4.0]), -1.0)
    (array([0.5, 1. ]), array([0.5, 3. ]))
    """
    lower, upper = lower - margin, upper + margin
    middle = (lower + upper) / 2
    return np.minimum(lower, middle), np.maximum(upper, middle)
