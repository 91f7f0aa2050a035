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

from collections.abc import Mapping
from typing import Any

from numpy.typing import ArrayLike

from gt2lite._validation import one_of
from gt2lite.calibration.base import (
    Calibration,
    Calibrator,
    CoverageError,
    ReportRow,
    SmallCalibrationWarning,
    rank,
)
from gt2lite.calibration.family import (
    HALVINGS,
    Cut,
    Interval,
    Scores,
    critical_alpha,
    critical_scores,
)
from gt2lite.calibration.groups import GroupCalibrator
from gt2lite.calibration.paper import SearchCalibrator, TableCalibrator
from gt2lite.calibration.ranked import (
    RANKED,
    SIDES,
    ConformalCalibrator,
    ExactCalibrator,
    TwoSidedCalibrator,
    find_cuts,
)
from gt2lite.metrics import covers

__all__ = [
    "CALIBRATORS",
    "HALVINGS",
    "RANKED",
    "SIDES",
    "Calibration",
    "Calibrator",
    "ConformalCalibrator",
    "CoverageError",
    "Cut",
    "ExactCalibrator",
    "GroupCalibrator",
    "Interval",
    "ReportRow",
    "Scores",
    "SearchCalibrator",
    "SmallCalibrationWarning",
    "TableCalibrator",
    "TwoSidedCalibrator",
    "covers",
    "critical_alpha",
    "critical_scores",
    "find_cuts",
    "rank",
    "restore",
]

CALIBRATORS: dict[str, type[Calibrator]] = {
    calibrator.method: calibrator
    for calibrator in (TableCalibrator, SearchCalibrator, ExactCalibrator, ConformalCalibrator)
}
"""The calibrators by the name of their method."""

_KINDS: dict[str, type[Calibration]] = {
    "two-sided": TwoSidedCalibrator,
    "groups": GroupCalibrator,
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
