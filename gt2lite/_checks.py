"""Checks of arguments, so that bad input fails early and says what is wrong.

Every message names the argument, what it was and what it should be. Nothing
else lives here: checks that belong to one object stay with that object.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, timedelta
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
IntArray = NDArray[np.intp]


def one_of(name: str, value: Any, options: Iterable[str]) -> str:
    """Return `value` if it is one of the names in `options`.

    >>> one_of("smf", "scalar", ("per_input", "scalar"))
    'scalar'
    """
    known = list(options)
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, known))}, got {value!r}")
    return value


def whole(name: str, value: Any, low: int = 1, high: int = 10**9) -> int:
    """Return `value` as an int if it is a whole number from `low` to `high`.

    >>> whole("n_rules", 10)
    10
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or value < low:
        raise ValueError(f"{name} must be a whole number of at least {low}, got {value!r}")
    if int(value) > high:
        raise ValueError(f"{name} must be a whole number of at most {high}, got {_short(value)}")
    return int(value)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:20]}... ({len(text)} digits)"


def between(name: str, value: Any, low: float, high: float, *, closed: bool = False) -> float:
    """Return `value` as a float if it lies between `low` and `high`.

    The ends count as inside only where `closed` is true.

    >>> between("coverage", 0.9, 0, 1)
    0.9
    """

    def inside(x: Any) -> bool:
        return bool(low <= x <= high if closed else low < x < high)

    ok = isinstance(value, Real) and not isinstance(value, bool)
    if isinstance(value, np.floating):
        value = float(value)  # half precision could not be compared with a large bound
    # as a float it may be the bound itself: a fraction of 1 / 10**400 is 0 then
    if not (ok and inside(value) and inside(float(value))):
        brackets = "[]" if closed else "()"
        raise ValueError(
            f"{name} must be a number in {brackets[0]}{low:g}, {high:g}{brackets[1]}, "
            f"got {_short(value)}"
        )
    return float(value)


def n_axes(name: str, value: Any) -> int:
    """Return how many axes a number, a row of numbers or a table has; a ragged one has none.

    >>> n_axes("coverage", 0.9), n_axes("coverage", [0.5, 0.9])
    (0, 1)
    """
    try:
        return np.ndim(value)
    except ValueError as error:
        raise ValueError(f"{name} must hold numbers only: {error}") from None


def matrix(name: str, value: ArrayLike) -> Array:
    """Return `value` as a finite float array with two axes and at least one row and column."""
    X = numbers(name, value)
    if X.ndim != 2 or 0 in X.shape:
        raise ValueError(f"{name} must be a table (rows, columns) with data, got shape {X.shape}")
    return finite(name, X)


def vector(name: str, value: ArrayLike, length: int | None = None) -> Array:
    """Return `value` as a finite float array with one axis, of `length` where that is given."""
    y = numbers(name, value)
    if y.ndim != 1 or y.size == 0 or (length is not None and y.size != length):
        wanted = "values" if length is None else f"{length} values"
        raise ValueError(f"{name} must be a row of {wanted}, got shape {y.shape}")
    return finite(name, y)


def numbers(name: str, value: Any) -> Array:
    """Return `value` as an array of floats, rows after one another in memory.

    What is no number is refused, also where Python could make one of it: text, dates, time
    spans, masked cells.
    """
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        where = np.argwhere(np.ma.getmaskarray(value))
        raise ValueError(
            f"{name} has {len(where)} masked cells, the first at index {_index(where[0])}: fill "
            "them or leave their rows out"
        )
    try:
        array = np.asarray(value)
        if np.iscomplexobj(array):
            raise ValueError(f"Complex data not supported: {name} must hold real numbers")
        _refuse_what_is_no_number(name, array)
        with np.errstate(over="ignore"):  # what is too large for a float becomes infinity
            # sums depend on the order in memory, and results should not
            return np.asarray(array, dtype=float, order="C")
    except (TypeError, ValueError, OverflowError) as error:
        if str(error).startswith(("Complex data", f"{name} ")):
            raise
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{name} must hold numbers only: {error}") from None


_NO_NUMBERS = {
    "M": "dates: turn them into numbers first, such as days since a start",
    "m": "time spans: turn them into numbers first, such as seconds",
    "S": "text: turn it into numbers first",
    "U": "text: turn it into numbers first",
    "V": "records: hand in a plain table",
    "masked": "masked: fill it or leave its row out",
}


def _refuse_what_is_no_number(name: str, array: NDArray[Any]) -> None:
    kind = array.dtype.kind
    if kind in _NO_NUMBERS:
        raise ValueError(f"{name} must hold numbers only, got {_NO_NUMBERS[kind]}")
    if kind != "O":
        return
    for where, item in np.ndenumerate(array):
        found: str = np.asarray(item).dtype.kind if isinstance(item, np.generic) else ""
        if isinstance(item, (str, bytes)):
            found = "U"
        elif isinstance(item, (date, timedelta)):  # a datetime is a date
            found = "m" if isinstance(item, timedelta) else "M"
        elif item is np.ma.masked:
            found = "masked"
        if found in _NO_NUMBERS:
            raise ValueError(
                f"{name} must hold numbers only, got {item!r} at index {_index(where)}, "
                f"which is {_NO_NUMBERS[found]}"
            )


def _index(where: Any) -> Any:
    """Return an index as it is written: a number, or several in brackets."""
    plain = tuple(int(i) for i in where)
    return plain if len(plain) != 1 else plain[0]


def finite(name: str, values: Array) -> Array:
    """Return `values` if they hold neither NaN nor infinity."""
    bad = ~np.isfinite(values)
    if bad.any():
        where = tuple(np.argwhere(bad)[0])
        what = "NaN" if np.isnan(values[where]) else "infinity"
        raise ValueError(
            f"{name} contains {what} at index {_index(where)} "
            f"({int(bad.sum())} values are NaN or inf); it must hold finite numbers only"
        )
    return values
