r"""From a coverage to the alpha-plane that has it, without training again.

A trained system offers one interval per plane, and the intervals are nested:
the lower alpha, the wider. The share of a calibration set that a plane covers
is therefore a falling step function of alpha, and calibration turns it around:
given a level, find the plane. Four calibrators do so behind one interface:

=========== ====================================================================
`table`     the paper's Method 1: tabulate the coverage, interpolate
`search`    the paper's Method 2: walk towards the level with shrinking steps
`exact`     no approximation: every sample knows the plane that just covers it
`conformal` the same with one rank of caution, which buys a guarantee
=========== ====================================================================

They see the system only through an `Interval`. The last two know no highest level but
that of the samples' number: where the trained planes end, they go on (`family`). They can also
be had with a plane for each end (`TwoSidedCalibrator`) and for each group of samples
(`GroupCalibrator`). Where intervals are compared rather than chosen, `oracle` moves them to equal
coverage. How an interval is judged on new data is in `gt2lite.metrics`, how a system is trained
in `gt2lite.training`.
"""

import math
from collections.abc import Mapping
from typing import Any

from numpy.typing import ArrayLike

from gt2lite._validation import one_of
from gt2lite.calibration.base import (
    DEFAULT_COVERAGE,
    Calibration,
    Calibrator,
    CoverageError,
    ReportRow,
    SmallCalibrationWarning,
    plain_fraction,
    rank,
)
from gt2lite.calibration.family import (
    HALVINGS,
    Cut,
    Interval,
    Scores,
    critical_alpha,
    critical_scores,
    cut_ends,
)
from gt2lite.calibration.groups import GroupCalibrator, read_groups
from gt2lite.calibration.margins import POWERS, MarginFamily, Margins
from gt2lite.calibration.paper import SearchCalibrator, TableCalibrator
from gt2lite.calibration.ranked import (
    RANKED,
    SIDES,
    ConformalCalibrator,
    ExactCalibrator,
    TwoSidedCalibrator,
    find_cuts,
)
from gt2lite.calibration.tails import (
    ONE_SIDE,
    GroupTailCalibrator,
    TailCalibrator,
    read_tails,
)
from gt2lite.metrics import covers

__all__ = [
    "ALL_SIDES",
    "CALIBRATORS",
    "DEFAULT_COVERAGE",
    "HALVINGS",
    "POWERS",
    "RANKED",
    "SIDES",
    "Calibration",
    "Calibrator",
    "ConformalCalibrator",
    "CoverageError",
    "Cut",
    "ExactCalibrator",
    "GroupCalibrator",
    "GroupTailCalibrator",
    "Interval",
    "MarginFamily",
    "Margins",
    "ReportRow",
    "Scores",
    "SearchCalibrator",
    "SmallCalibrationWarning",
    "TableCalibrator",
    "TailCalibrator",
    "TwoSidedCalibrator",
    "covers",
    "critical_alpha",
    "critical_scores",
    "cut_ends",
    "fewest_samples",
    "find_cuts",
    "make_calibrator",
    "plain_fraction",
    "rank",
    "read_groups",
    "restore",
    "tails_of",
]

CALIBRATORS: dict[str, type[Calibrator]] = {
    calibrator.method: calibrator
    for calibrator in (TableCalibrator, SearchCalibrator, ExactCalibrator, ConformalCalibrator)
}
"""The calibrators by the name of their method."""

_KINDS: dict[str, type[Calibration]] = {
    "two-sided": TwoSidedCalibrator,
    "groups": GroupCalibrator,
    "tails": TailCalibrator,
    "group tails": GroupTailCalibrator,
}


def restore(
    meta: Mapping[str, Any], arrays: Mapping[str, ArrayLike], interval: Interval | None = None
) -> Calibration:
    """Return the calibration that `get_state` described, whatever it was; see `from_state`."""
    if "kind" in meta:
        kind = _KINDS[one_of("kind", meta["kind"], _KINDS)]
    else:
        kind = CALIBRATORS[one_of("method", meta["method"], CALIBRATORS)]
    return kind.from_state(meta, arrays, interval)


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


def fewest_samples(coverage: float, sides: str = "both", tails: Any = None) -> int:
    """Return how many calibration samples a conformal calibration needs to reach a level.

    >>> fewest_samples(0.9), fewest_samples(0.9, "each"), fewest_samples(0.9, "each", (0.2, 0.8))
    (9, 19, 49)
    """
    miss = 1 - plain_fraction(coverage)
    found = tails_of(sides, {"tails": tails})
    if found is not None:
        miss *= min(plain_fraction(share) for share in found if share)
    elif sides == "each":
        miss /= 2
    return math.ceil(1 / miss) - 1
