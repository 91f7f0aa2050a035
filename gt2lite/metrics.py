r"""How good an estimate and its interval are on data that took no part in making them.

Pure functions of the target `y` and what was said about it. All values are
fractions; the paper's tables print RMSE and PINAW times 100 and PICP in per
cent. Choosing a plane for a level is the task of `gt2lite.calibration`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from gt2lite._checks import Array, between, matrix, vector
from gt2lite.calibration import CoverageError, Interval, covers, critical_alpha, rank


def rmse(y: ArrayLike, y_hat: ArrayLike) -> float:
    r"""Return the root mean squared error.

    .. math:: \sqrt{\tfrac{1}{N} \sum_i (y_i - \hat y_i)^2}

    >>> rmse([0.0, 0.0], [3.0, 4.0])  # the root of 25 / 2
    3.5355339059327378
    """
    y = vector("y", y)
    return float(np.sqrt(np.mean((y - vector("y_hat", y_hat, y.size)) ** 2)))


def picp(y: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> float:
    r"""Return the coverage (prediction interval coverage probability), Eq. (17).

    .. math:: \tfrac{1}{N} \#\{i : \underline y_i \le y_i \le \overline y_i\}

    >>> picp([0.0, 1.0, 3.0, 9.0], lower=[0.0, 0.0, 0.0, 0.0], upper=[1.0, 1.0, 4.0, 4.0])
    0.75
    """
    return float(np.mean(covers(y, lower, upper)))


def pinaw(y: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> float:
    r"""Return the mean width as a share of the range of `y` (normalised average width).

    .. math:: \frac{1}{N} \sum_i \frac{\overline y_i - \underline y_i}{\max_j y_j - \min_j y_j}

    >>> pinaw([0.0, 2.0, 4.0], lower=[0.0, 1.0, 2.0], upper=[1.0, 3.0, 5.0])  # 2 of 4
    0.5
    """
    y, lower, upper = _aligned(y, lower, upper)
    extent = float(np.ptp(y))
    if extent == 0:
        raise ValueError(f"y must vary, for its range to be a unit of width: all are {y[0]}")
    return float(np.mean(upper - lower)) / extent


def interval_score(y: ArrayLike, lower: ArrayLike, upper: ArrayLike, coverage: float) -> float:
    r"""Return the interval score of Winkler: the width, and a fine for every miss.

    .. math::
        \frac{1}{N} \sum_i (\overline y_i - \underline y_i) + \frac{2}{1 - \phi}
        \left[ (\underline y_i - y_i)_+ + (y_i - \overline y_i)_+ \right]

    The true quantiles have the smallest expected score, so it judges width and
    coverage together. Smaller is better.

    >>> y, lower, upper = [0.5, -1.0, 3.0], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0]
    >>> interval_score(y, lower, upper, coverage=0.5)  # (1 + (1 + 4 * 1) + (1 + 4 * 2)) / 3
    5.0
    """
    y, lower, upper = _aligned(y, lower, upper)
    fine = 2 / (1 - between("coverage", coverage, 0, 1))
    outside = np.maximum(lower - y, 0) + np.maximum(y - upper, 0)  # (N,)
    return float(np.mean(upper - lower + fine * outside))


class Quality(NamedTuple):
    """How good intervals are: coverage, normalised width, interval score."""

    picp: float
    pinaw: float
    interval_score: float


def interval_quality(y: ArrayLike, lower: ArrayLike, upper: ArrayLike, coverage: float) -> Quality:
    """Return coverage, normalised width and interval score of intervals."""
    return Quality(
        picp(y, lower, upper), pinaw(y, lower, upper), interval_score(y, lower, upper, coverage)
    )


def calibration_error(
    y: ArrayLike, lower: ArrayLike, upper: ArrayLike, coverages: ArrayLike
) -> float:
    r"""Return how far coverage is from its level, on average over L levels.

    .. math:: \tfrac{1}{L} \sum_l |\mathrm{PICP}_l - \phi_l|

    Args:
        y: targets (N,).
        lower: lower ends (N, L), a column for each level.
        upper: upper ends (N, L).
        coverages: the levels (L,).

    >>> y, lower, upper = [0.0, 1.0], [[0.0, 0.0], [0.0, 0.0]], [[0.5, 2.0], [0.5, 2.0]]
    >>> calibration_error(y, lower, upper, coverages=[0.5, 0.75])  # (0 + 0.25) / 2
    0.125
    """
    y, lower, upper = vector("y", y), matrix("lower", lower), matrix("upper", upper)
    levels = np.array([between("coverages", c, 0, 1) for c in vector("coverages", coverages)])
    for name, ends in (("lower", lower), ("upper", upper)):
        if ends.shape != (y.size, levels.size):
            raise ValueError(
                f"{name} must have a row for each of the {y.size} targets and a column for each "
                f"of the {levels.size} coverages, got shape {ends.shape}"
            )
    reached = [picp(y, *ends) for ends in zip(lower.T, upper.T, strict=True)]
    return float(np.mean(np.abs(reached - levels)))


def width_at_coverage(y: ArrayLike, interval: Interval, coverage: float) -> float:
    """Return the mean width of the narrowest plane that covers at least the level.

    Methods that miss their level cannot be compared by width. This moves each
    along its own nested family until the coverage of `y` is the level: an oracle
    on the part that it evaluates, to compare with and never to choose by.

    Args:
        y: targets (N,).
        interval: their nested intervals, see `gt2lite.calibration.Interval`.
        coverage: the level; one that the widest plane misses is an error.

    >>> from gt2lite.memberships import kappa_of
    >>> y = np.array([0.1, -0.2, 0.3, -0.9])
    >>> def interval(alpha):  # the plane alpha reaches from -kappa to kappa
    ...     kappa = np.broadcast_to(kappa_of(alpha), y.shape)
    ...     return -kappa, kappa
    >>> round(width_at_coverage(y, interval, coverage=0.75), 6)  # 3 of 4 lie within 0.3
    0.6
    """
    y = vector("y", y)
    level = between("coverage", coverage, 0, 1)
    planes = np.sort(critical_alpha(interval, y))
    alpha = float(planes[-rank(level, y.size)])
    if alpha == 0:  # no plane covers that many
        raise CoverageError(
            f"coverage {level} is out of reach: the widest plane covers "
            f"{np.count_nonzero(planes)} of {y.size} targets"
        )
    lower, upper = interval(alpha)
    return float(np.mean(upper - lower))


def _aligned(y: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> tuple[Array, Array, Array]:
    y = vector("y", y)
    return y, vector("lower", lower, y.size), vector("upper", upper, y.size)
