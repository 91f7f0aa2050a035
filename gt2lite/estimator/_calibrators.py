"""From what `GT2Regressor.calibrate` is asked for to the calibrator that does it."""

from __future__ import annotations

from typing import Any

from gt2lite._checks import one_of
from gt2lite.calibration import (
    CALIBRATORS,
    RANKED,
    SIDES,
    GroupCalibrator,
    TwoSidedCalibrator,
)


def make_calibrator(method: str, sides: str, grouped: bool, options: dict[str, Any]) -> Any:
    """Return the calibrator that is asked for, so that what is wrong is told before training."""
    one_of("method", method, CALIBRATORS)
    one_of("sides", sides, SIDES)
    if method not in RANKED and (sides != "both" or grouped):
        what = "groups" if grouped else f"sides={sides!r}"
        raise ValueError(
            f'{what} can be had with method="exact" or "conformal", got method={method!r}'
        )
    if grouped:
        return GroupCalibrator(method, sides, **options)
    if sides == "each":
        return TwoSidedCalibrator(method, **options)
    return CALIBRATORS[method](**options)
