r"""From a coverage to the alpha-plane that has it, without training again.

A trained system offers one interval per plane, and the intervals are nested:
the lower alpha, the wider. The share of a calibration set that a plane covers
is therefore a falling step function of alpha, and calibration inverts it:
given a level, find the plane. Four calibrators do so behind one interface:

=========== ====================================================================
`table`     the paper's Method 1: tabulate the coverage, interpolate
`search`    the paper's Method 2: walk towards the level with shrinking steps
`exact`     no approximation: the plane that just covers each sample is known
`conformal` the same with rank Q + 1 in place of Q, which adds a guarantee
=========== ====================================================================

They see the system only through an `Interval`. The last two have no highest level but
that of the number of samples: where the trained planes end, they go on (`family`). They are also
available with a plane for each bound (`TwoSidedCalibrator`) and for each group of samples
(`GroupCalibrator`). Intervals that follow the width of the envelope to a power are `Margins`.
Metrics of intervals on new data are in `gt2lite.metrics`, training in `gt2lite.training`.
"""

from collections.abc import Mapping
from typing import Any

from numpy.typing import ArrayLike

from gt2lite._validation import one_of
from gt2lite.calibration.base import (
    DEFAULT_COVERAGE,
    Calibration,
    CoverageError,
    ReportRow,
    SmallCalibrationWarning,
    highest_level,
    plain_fraction,
    rank,
)
from gt2lite.calibration.family import (
    HALVINGS,
    POWERS,
    Cut,
    Interval,
    MarginFamily,
    Margins,
    Scores,
    critical_alpha,
    critical_scores,
    cut_ends,
)
from gt2lite.calibration.groups import GroupCalibrator, read_groups
from gt2lite.calibration.paper import SearchCalibrator, TableCalibrator
from gt2lite.calibration.ranked import (
    RANKED,
    SIDES,
    ConformalCalibrator,
    ExactCalibrator,
    TwoSidedCalibrator,
    fewest_samples,
    find_cuts,
    tails_of,
)
from gt2lite.metrics import covers

__all__ = [
    "CALIBRATORS", "DEFAULT_COVERAGE", "HALVINGS", "POWERS", "RANKED", "SIDES", "Calibration",
    "ConformalCalibrator", "CoverageError", "Cut", "ExactCalibrator", "GroupCalibrator",
    "Interval", "MarginFamily", "Margins", "ReportRow", "Scores", "SearchCalibrator",
    "SmallCalibrationWarning", "TableCalibrator", "TwoSidedCalibrator", "covers", "critical_alpha",
    "critical_scores", "cut_ends", "fewest_samples", "find_cuts", "highest_level",
    "make_calibrator", "plain_fraction", "rank", "read_groups", "restore",
]  # fmt: skip

CALIBRATORS: dict[str, type[Calibration]] = {
    calibrator.method: calibrator
    for calibrator in (TableCalibrator, SearchCalibrator, ExactCalibrator, ConformalCalibrator)
}
"""The calibrators by the name of their method."""

_KINDS: dict[str, type[Calibration]] = {
    **CALIBRATORS,
    TwoSidedCalibrator.kind: TwoSidedCalibrator,
    GroupCalibrator.kind: GroupCalibrator,
}


def make_calibrator(
    method: str, sides: str, grouped: bool, options: Mapping[str, Any]
) -> Calibration:
    """Return the calibrator for the arguments of `GT2Regressor.calibrate`.

    Args:
        method: one of `CALIBRATORS`.
        sides: "both", "each", "lower" or "upper".
        grouped: whether there are groups.
        options: of the calibrator; `tails` among them with sides="each".

    >>> make_calibrator("exact", "upper", False, {})
    TwoSidedCalibrator(method='exact', tails=(0.0, 1.0))
    """
    one_of("method", method, CALIBRATORS)
    tails = tails_of(sides, options.get("tails"))
    if method not in RANKED and (tails is not None or grouped):
        what = "groups" if grouped else f"sides={sides!r}"
        raise ValueError(f'{what} needs method="exact" or "conformal", got method={method!r}')
    options = {name: value for name, value in options.items() if name != "tails"}
    if tails is None:
        return GroupCalibrator(method, **options) if grouped else CALIBRATORS[method](**options)
    if grouped:
        return GroupCalibrator(method, "each", tails=tails, **options)
    return TwoSidedCalibrator(method, tails=tails, **options)


def restore(
    meta: Mapping[str, Any], arrays: Mapping[str, ArrayLike], interval: Interval | None = None
) -> Calibration:
    """Return the calibration that `get_state` described, of whatever kind; see `from_state`."""
    kind = _KINDS[one_of("kind", meta["kind"], _KINDS)]
    return kind.from_state(meta, arrays, interval)
