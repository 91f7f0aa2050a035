"""Intervals and reports as data frames, for those who ask: the index is kept, ends have names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gt2lite._checks import Array
from gt2lite.calibration import ReportRow


def interval_frame(X: Any, lower: Array, upper: Array, coverage: Any) -> Any:
    """Return intervals as a data frame with a column for each end and level.

    A frame of the kind that `X` is, with its index where it has one; for other tables a
    pandas frame.

    Args:
        X: the inputs.
        lower: (N,), or (N, L) for L levels.
        upper: likewise.
        coverage: the level or levels; None where a plane was asked for.

    >>> frame = interval_frame([[1.0], [2.0]], np.zeros(2), np.ones(2), 0.9)
    >>> list(frame.columns), frame.shape
    (['lower_90', 'upper_90'], (2, 2))
    """
    if coverage is None:
        columns = {"lower": lower, "upper": upper}
    else:
        columns = {}
        for level, low, high in zip(
            np.ravel(coverage), np.atleast_2d(lower.T), np.atleast_2d(upper.T), strict=True
        ):
            columns |= {f"lower_{percent(level)}": low, f"upper_{percent(level)}": high}
    if hasattr(X, "columns") and not hasattr(X, "iloc"):  # polars: frames without an index
        return type(X)(columns)
    return _pandas().DataFrame(columns, index=X.index if hasattr(X, "iloc") else None)


def percent(level: float) -> str:
    """Return a level in per cent, as short as it can be told.

    >>> percent(0.9), percent(0.975), percent(0.29)
    ('90', '97.5', '29')
    """
    return f"{100 * level:.10g}"


def report_frame(reports: Mapping[float, Sequence[ReportRow]]) -> Any:
    """Return the rows of calibration reports as a pandas frame, with a column for the level.

    Planes and margins have a column for each end.
    """
    rows = []
    for level, report in reports.items():
        for row in report:
            plain = {"coverage": level} | row._asdict()
            for name in ("alpha", "margin"):
                value = np.broadcast_to(plain.pop(name), 2)
                plain |= {f"lower_{name}": value[0], f"upper_{name}": value[1]}
            rows.append(plain)
    return _pandas().DataFrame(rows)


def _pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        raise ImportError(
            "as_frame=True needs pandas, which is not installed: pip install pandas, or take the "
            "arrays"
        ) from error
    return pandas
