"""Data frames as results: rows as a pandas frame, intervals with a column for each bound."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gt2lite._validation import Array
from gt2lite.calibration import plain_fraction
from gt2lite.practice.calibrators import DEFAULT_COVERAGE
from gt2lite.practice.types import Frame, Levels, Table


def frame_of(content: object, **options: Any) -> Frame:
    """Return rows or columns as a pandas frame."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError(
            "a data frame needs pandas, which is not installed: pip install pandas, or use arrays "
            "and table() in place of as_frame=True and to_frame()"
        ) from error
    return pandas.DataFrame(content, **options)


def interval_frame(
    X: Table, found: Sequence[Array], coverage: Levels | None = None, alpha: float | None = None
) -> Frame:
    """Return intervals as a data frame with a column for each bound and level.

    `found` are the bounds, as `predict_interval` returns them; before them may be the prediction.

    The frame is of the same library as the inputs `X`, with its index if it has one; for other
    tables it is a pandas frame. `coverage` and `alpha` as in `predict_interval`.

    >>> frame = interval_frame([[1.0], [2.0]], [np.zeros(2), np.ones(2)], 0.975)
    >>> list(frame.columns), frame.shape
    (['lower_97.5', 'upper_97.5'], (2, 2))
    """
    levels = np.ravel(DEFAULT_COVERAGE if coverage is None else coverage)
    names = [("lower", "upper")] if alpha is not None else [bound_names(level) for level in levels]
    if len(set(names)) < len(names):
        raise ValueError(f"coverage must not name a level twice, got {coverage}")
    *prediction, lower, upper = found
    columns = dict(zip(["prediction"], prediction, strict=False))
    for pair, *bounds in zip(names, np.atleast_2d(lower.T), np.atleast_2d(upper.T), strict=True):
        columns |= dict(zip(pair, bounds, strict=True))
    if hasattr(X, "columns") and not hasattr(X, "iloc"):  # polars: frames without an index
        kind: Any = type(X)
        return kind(columns)
    return frame_of(columns, index=getattr(X, "index", None) if hasattr(X, "iloc") else None)


def bound_names(level: float) -> tuple[str, str]:
    """Return the names of the columns with the bounds at a level.

    >>> bound_names(0.9), bound_names(0.975)
    (('lower_90', 'upper_90'), ('lower_97.5', 'upper_97.5'))
    """
    return f"lower_{percent(level)}", f"upper_{percent(level)}"


def percent(level: float) -> str:
    """Return a level in percent, without trailing zeros; levels with one name are the same.

    >>> percent(0.9), percent(0.975), percent(0.1 + 0.2), percent(np.float32(0.29))
    ('90', '97.5', '30', '29')
    """
    return f"{float(100 * plain_fraction(level)):.10g}"
