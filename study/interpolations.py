"""Method 1 with the other interpolations that the paper names: a spline, and a polynomial.

The library offers interpolations that fall where the table falls, see
`gt2lite.calibration.TableCalibrator`. The two here do not. They are for the claim that the choice
of the interpolation matters, and for nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gt2lite._validation import Array, one_of
from gt2lite.calibration import Cut, TableCalibrator
from gt2lite.memberships import ALPHA_0

CURVES = ("spline", "polynomial")
"""A cubic spline through the pairs of a table, and the polynomial through all of them."""


@dataclass(eq=False)
class CurveTable(TableCalibrator):
    """A look-up table with a curve through its pairs that may rise where they fall.

    Args:
        step: distance of the planes, as in `TableCalibrator`.
        interpolation: one of `CURVES`.

    >>> y = np.linspace(-1, 1, 201)
    >>> def interval(alpha):  # the plane alpha reaches from alpha - 1 to 1 - alpha
    ...     return np.full(201, alpha - 1.0), np.full(201, 1.0 - alpha)
    >>> round(CurveTable(0.5, "polynomial").fit(interval, y).alpha(0.7), 2)  # a straight line
    0.3
    """

    interpolation: str = "spline"

    def __post_init__(self) -> None:
        one_of("interpolation", self.interpolation, CURVES)
        self.interpolation, curve = "linear", self.interpolation
        super().__post_init__()
        self.interpolation = curve

    def _cut(self, level: float) -> Cut:
        phi, alpha = self.table.T
        if phi.size == 1:
            return Cut(float(alpha[0]))
        plane = _curve(self.interpolation)(phi, alpha)(np.clip(level, phi[0], phi[-1]))
        return Cut(float(np.clip(plane, ALPHA_0, 1)))


def _curve(name: str) -> Callable[[Array, Array], Any]:
    from scipy import interpolate

    curves = {"spline": interpolate.CubicSpline, "polynomial": interpolate.KroghInterpolator}
    found: Callable[[Array, Array], Any] = curves[name]
    return found
