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

They see the system only through an `Interval`. How it is trained, and how an
interval is judged on new data (`gt2lite.metrics`), is not told here.
"""

from gt2lite.calibration.base import (
    Calibrator,
    CoverageError,
    Interval,
    SmallCalibrationWarning,
    covers,
    rank,
)
from gt2lite.calibration.exact import (
    HALVINGS,
    ConformalCalibrator,
    ExactCalibrator,
    critical_alpha,
)
from gt2lite.calibration.methods import SearchCalibrator, TableCalibrator

__all__ = [
    "CALIBRATORS",
    "HALVINGS",
    "Calibrator",
    "ConformalCalibrator",
    "CoverageError",
    "ExactCalibrator",
    "Interval",
    "SearchCalibrator",
    "SmallCalibrationWarning",
    "TableCalibrator",
    "covers",
    "critical_alpha",
    "rank",
]

CALIBRATORS: dict[str, type[Calibrator]] = {
    calibrator.method: calibrator
    for calibrator in (TableCalibrator, SearchCalibrator, ExactCalibrator, ConformalCalibrator)
}
"""The calibrators by the name of their method."""
