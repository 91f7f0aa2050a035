r"""Metrics of predictions and intervals on data that was not used to make them.

Pure functions of the target `y` and its prediction or interval. All values are
fractions; the paper's tables print RMSE and PINAW times 100 and PICP in
percent. Choosing a plane for a level is the task of `gt2lite.calibration`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gt2lite._validation import Array, between, vector


class Quality(NamedTuple):
    """The coverage, relative width and interval score of intervals at a level."""

    picp: float
    pinaw: float
    interval_score: float


def rmse(y: ArrayLike, y_hat: ArrayLike) -> float:
    r"""Return the root mean squared error.

    .. math:: \sqrt{\tfrac{1}{N} \sum_i (y_i - \hat y_i)^2}

    >>> rmse([0.0, 0.0], [3.0, 4.0])  # the root of 25 / 2
    3.5355339059327378
    """
    y = vector("y", y)
    return float(np.sqrt(np.mean((y - vector("y_hat", y_hat, y.size)) ** 2)))


def covers(y: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> NDArray[np.bool_]:
    """Return which targets lie in their interval; both ends belong to it, as in Eq. (17).

    >>> covers([0.0, 1.0, 2.0], lower=[0.0, 0.0, 0.0], upper=[1.0, 1.0, 1.0])
    array([ True,  True, False])
    """
    y, lower, upper = _rows(y, lower, upper)
    return (lower <= y) & (y <= upper)


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
    y, lower, upper = _rows(y, lower, upper)
    extent = float(np.ptp(y))
    if extent == 0:
        raise ValueError(f"y must vary, because widths are relative to its range: all are {y[0]}")
    return float(np.mean(upper - lower)) / extent


def interval_score(y: ArrayLike, lower: ArrayLike, upper: ArrayLike, coverage: float) -> float:
    r"""Return the interval score of Winkler: the width plus a penalty for every miss.

    .. math::
        \frac{1}{N} \sum_i (\overline y_i - \underline y_i) + \frac{2}{1 - \phi}
        \left[ (\underline y_i - y_i)_+ + (y_i - \overline y_i)_+ \right]

    The true quantiles have the smallest expected score, so it judges width and
    coverage together. Smaller is better.

    >>> y, lower, upper = [0.5, -1.0, 3.0], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0]
    >>> interval_score(y, lower, upper, coverage=0.5)  # (1 + (1 + 4 * 1) + (1 + 4 * 2)) / 3
    5.0
    """
    y, lower, upper = _rows(y, lower, upper)
    penalty = 2 / (1 - between("coverage", coverage, 0, 1))
    outside = np.maximum(lower - y, 0) + np.maximum(y - upper, 0)  # (N,)
    return float(np.mean(upper - lower + penalty * outside))


def interval_quality(y: ArrayLike, lower: ArrayLike, upper: ArrayLike, coverage: float) -> Quality:
    """Return PICP, PINAW and interval score of the intervals that were made for a level.

    Args:
        y: targets (N,).
        lower: lower ends (N,).
        upper: upper ends (N,).
        coverage: the level.

    >>> interval_quality([0.0, 2.0, 4.0], [0.0, 1.0, 2.0], [1.0, 3.0, 5.0], coverage=0.9)
    Quality(picp=1.0, pinaw=0.5, interval_score=2.0)
    """
    rows = y, lower, upper
    return Quality(picp(*rows), pinaw(*rows), interval_score(*rows, coverage))


def _rows(y: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> tuple[Array, Array, Array]:
    """Return the three as checked arrays of one length (N,)."""
    y = vector("y", y)
    return y, vector("lower", lower, y.size), vector("upper", upper, y.size)
