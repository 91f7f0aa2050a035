"""From what `GT2Regressor.calibrate` is asked for to the calibrator that does it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import ArrayLike

from gt2lite._validation import one_of
from gt2lite.calibration import (
    CALIBRATORS,
    RANKED,
    SIDES,
    Calibration,
    GroupCalibrator,
    Interval,
    TwoSidedCalibrator,
    restore,
)
from gt2lite.calibration.tails import (
    ONE_SIDE,
    GroupTailCalibrator,
    TailCalibrator,
    read_tails,
    restore_tails,
)

ALL_SIDES = (*SIDES, *ONE_SIDE)
"""One plane for both ends of an interval, one for each, or one end alone."""


def make_calibrator(method: str, sides: str, grouped: bool, options: dict[str, Any]) -> Any:
    """Return the calibrator that is asked for, so that what is wrong is told before training."""
    one_of("method", method, CALIBRATORS)
    one_of("sides", sides, ALL_SIDES)
    if method not in RANKED and (sides != "both" or grouped):
        what = "groups" if grouped else f"sides={sides!r}"
        raise ValueError(
            f'{what} can be had with method="exact" or "conformal", got method={method!r}'
        )
    tails = tails_of(sides, options)
    options = {name: value for name, value in options.items() if name != "tails"}
    if tails is not None:
        kind = GroupTailCalibrator if grouped else TailCalibrator
        return kind(method, tails=tails, **options)
    if grouped:
        return GroupCalibrator(method, sides, **options)
    if sides == "each":
        return TwoSidedCalibrator(method, **options)
    return CALIBRATORS[method](**options)


def tails_of(sides: str, options: Mapping[str, Any]) -> tuple[float, float] | None:
    """Return which share of the misses may lie below and above; None where nothing is said of it.

    >>> tails_of("upper", {}), tails_of("each", {"tails": (0.2, 0.8)}), tails_of("both", {})
    ((0.0, 1.0), (0.2, 0.8), None)
    """
    tails = options.get("tails")
    if tails is None:
        return ONE_SIDE.get(sides)
    if sides != "each":
        raise ValueError(
            f"tails belong to sides='each', which has two ends to tell apart, got sides={sides!r}"
        )
    below, above = read_tails(tails)
    return float(below), float(above)


def restore_calibration(
    meta: Mapping[str, Any], arrays: Mapping[str, ArrayLike], interval: Interval | None = None
) -> Calibration:
    """Return the calibration that a state describes, whatever it was."""
    found = restore_tails(meta, arrays, interval)
    return restore(meta, arrays, interval) if found is None else found
