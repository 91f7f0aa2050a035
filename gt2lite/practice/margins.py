"""Margins around an estimate: a nested family whose shape follows the trained envelope."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gt2lite._validation import Array, vector
from gt2lite.calibration import IntervalFamily
from gt2lite.memberships import ALPHA_0, kappa_of
from gt2lite.system import weigh_planes

POWERS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""The powers that are tried."""

FLOOR = 0.05
"""Smallest width that counts, relative to the usual one: a width of 0 has no multiple."""


@dataclass(frozen=True)
class Margins:
    """Intervals of one shape around an estimate: ``y_hat -+ t * w(x) ** power``.

    The margin follows the width ``w(x)`` of the trained envelope. The power is the same for all
    levels, so that intervals of different levels are nested and can be calibrated like planes:
    the member alpha has half the usual width times ``kappa(alpha) * (w / usual) ** power`` on both
    sides of the output.

    Attributes:
        power: from 0, where the margin is the same everywhere, to 1, in proportion. With few rows
            the widths are estimated roughly, and a power below 1 relies on them less.
        usual: the mean width of the envelope on the training rows, in scaled units.

    >>> from gt2lite.calibration import PlainFamily
    >>> def interval(alpha):
    ...     half = kappa_of(alpha) * np.array([1.0, 3.0])
    ...     return np.array([0.0, 1.0]) - half, np.array([0.0, 1.0]) + half
    >>> Margins(0.0, usual=4.0).around(PlainFamily(interval), [1.0])(0.01)
    (array([-2., -1.]), array([2., 3.]))
    >>> Margins(1.0, usual=4.0).around(PlainFamily(interval), [1.0])(0.01)
    (array([-1., -2.]), array([1., 4.]))
    """

    power: float
    usual: float

    def around(self, planes: IntervalFamily, alphas: Sequence[float] | Array) -> MarginFamily:
        """Return the intervals at the rows of `planes`, of a system or the mean of several."""
        own = np.asarray(alphas, dtype=float)
        asked = own if self.power == 0 or ALPHA_0 in own else np.append(own, ALPHA_0)
        ends = planes.ends(asked)
        centre = weigh_planes(ends[:, : own.size], own)
        if self.power == 0:  # widths are not needed
            return self.given(centre, np.full(centre.shape, self.usual))
        lower, upper = ends[:, np.argmax(asked == ALPHA_0)]
        return self.given(centre, upper - lower)

    def given(self, centre: Array, width: Array) -> MarginFamily:
        """Return the intervals around estimates (N,) where the envelope has the widths (N,)."""
        share = np.maximum(width / self.usual, FLOOR) ** self.power
        return MarginFamily(centre, share * (self.usual / 2))


class MarginFamily(IntervalFamily):
    """Intervals ``centre -+ kappa(alpha) * half``, nested in alpha down to the smallest number.

    Args:
        centre: (N,) estimates.
        half: (N,) half widths at alpha_0, above 0.
    """

    alpha_min = float(np.finfo(float).tiny)

    def __init__(self, centre: Array, half: Array) -> None:
        self.centre, self.half = vector("centre", centre), vector("half", half, len(centre))

    def __len__(self) -> int:
        return len(self.centre)

    def ends(self, alphas: Sequence[float] | Array) -> Array:
        """Return the ends (2, K, N) of the members `alphas` (K,), or (K, N) if rows differ."""
        kappa = np.asarray(kappa_of(np.asarray(alphas, dtype=float)))
        margin = (kappa[:, None] if kappa.ndim == 1 else kappa) * self.half
        return np.stack([self.centre - margin, self.centre + margin])
