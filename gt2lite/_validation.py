"""Checks of arguments, data frames and columns, with errors that name the argument."""

from __future__ import annotations

import math
import os
import sys
import warnings
from collections import UserString
from collections.abc import Iterable
from datetime import date, timedelta
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
IntArray = NDArray[np.intp]


def warn(message: str, category: type[Warning]) -> None:
    """Issue a warning that names the line outside of this package that led to it."""
    package = os.path.dirname(__file__) + os.sep
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(package):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


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
        raise ValueError(f"{name} must be a whole number of at most {high}, got {value!r:.40}")
    return int(value)


def between(name: str, value: Any, low: float, high: float, *, closed: bool = False) -> float:
    """Return `value` as a float if it lies between `low` and `high`.

    The bounds themselves are allowed only if `closed` is true.

    >>> between("coverage", 0.9, 0, 1)
    0.9
    """
    if isinstance(value, np.floating):
        value = float(str(value))  # 0.3 of single or half precision means 0.3
    real = isinstance(value, Real) and not isinstance(value, bool)
    # as a float it may be the bound itself: the fraction 1 / 10**400 becomes 0
    if not (real and low <= value <= high) or (float(value) in (low, high) and not closed):
        brackets = "[]" if closed else "()"
        raise ValueError(
            f"{name} must be a number in {brackets[0]}{low:g}, {high:g}{brackets[1]}, "
            f"got {value!r:.60}"
        )
    return float(value)


LARGEST_SEED = 2**64
"""Largest seed accepted, also in model files."""


def read_seed(random_state: Any) -> Any:
    """Return a seed for NumPy's generators from what scikit-learn calls a random state.

    >>> read_seed(np.int64(3))
    3
    """
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    if random_state is None or isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, (int, np.integer)) and 0 <= random_state <= LARGEST_SEED:
        return int(random_state)
    raise ValueError(
        "random_state must be a whole number from 0 to 2**64, a generator or None, "
        f"got {random_state!r}"
    )


def n_axes(name: str, value: Any) -> int:
    """Return the number of axes of a number, a sequence or a table; refuse ragged ones.

    >>> n_axes("coverage", 0.9), n_axes("coverage", [0.5, 0.9])
    (0, 1)
    """
    try:
        return np.ndim(value)
    except ValueError as error:
        raise ValueError(f"{name} must hold numbers only: {error}") from None


def matrix(name: str, value: ArrayLike) -> Array:
    """Return `value` as a finite float array with two axes and at least one row and column."""
    X = np.empty(0) if value is None else numbers(name, value)
    if X.ndim != 2:
        got = "None" if value is None else f"shape {X.shape}"
        raise ValueError(
            f"{name} must be a 2D table (rows, columns), got {got}. Reshape your data: "
            f"{name}.reshape(-1, 1) for a single column, {name}.reshape(1, -1) for a single row"
        )
    for n, what in zip(X.shape, ("sample", "feature"), strict=True):
        if n == 0:
            raise ValueError(
                f"{name} has 0 {what}(s) (shape={X.shape}) while a minimum of 1 is required."
            )
    return X


def vector(name: str, value: ArrayLike, length: int | None = None) -> Array:
    """Return `value` as a finite float array with one axis, of `length` if that is given."""
    y = numbers(name, value)
    if y.ndim != 1 or y.size == 0 or (length is not None and y.size != length):
        wanted = "with data" if length is None else f"of length {length}"
        raise ValueError(f"{name} must be a 1-D array {wanted}, got shape {y.shape}")
    return y


def numbers(name: str, value: Any) -> Array:
    """Return `value` as an array of finite floats, in C order.

    Text, dates, time spans and masked cells are refused even if Python could convert them.
    """
    if np.ma.is_masked(value):
        raise ValueError(f"{name} has masked cells: fill them or drop their rows")
    try:
        array = np.asarray(value)
    except (TypeError, ValueError) as error:  # such as rows of different lengths
        raise ValueError(f"{name} must hold numbers only: {error}") from None
    if (wrong := find_wrong(name, array)) is not None:
        raise wrong
    # one order in memory, because sums depend on it in their last bits
    return np.asarray(array, dtype=float, order="C")


def find_wrong(name: str, cells: Any) -> TypeError | ValueError | None:
    """Return an error about the first cell that is not a finite number; None if all are.

    >>> print(find_wrong("y", [1.5, None, 2, float("nan")]))
    y contains NaN: 2 missing values, the first in row 1. Fill or drop them: finite numbers only
    >>> find_wrong("y", [1, True, 2.5]) is None
    True
    """
    array = np.atleast_1d(np.asarray(cells))
    if array.dtype == float and np.isfinite(array).all():  # the usual case, at once
        return None
    looked_at = np.arange(array.size)  # one by one, which is slow
    if array.dtype.kind in "biuf":
        with np.errstate(over="ignore"):  # a value too large for a float becomes infinity
            looked_at = np.flatnonzero(~np.isfinite(array.astype(float, copy=False)))
    kinds = [kind_of(array.flat[i]) for i in looked_at]

    def place(k: int) -> str:
        row, *others = np.unravel_index(looked_at[k], array.shape)
        return f"row {row}" + "".join(f", column {k}" for k in others)

    for i, kind in enumerate(kinds):
        if kind in _WAYS_OUT:
            cell = array.flat[looked_at[i]]
            sort = TypeError if kind == "objects" else ValueError
            shown = repr(str(cell)) if kind == "text" else str(cell)
            return sort(
                f"{name} must hold real numbers only, got {kind} ({shown:.40} in {place(i)}): "
                f"{_WAYS_OUT[kind]}"
            )
    for kind, what in (("missing", "NaN"), ("infinite", "infinity")):
        if n := kinds.count(kind):
            return ValueError(
                f"{name} contains {what}: {n} {kind} value{'s' * (n > 1)}, the first in "
                f"{place(kinds.index(kind))}. Fill or drop them: finite numbers only"
            )
    return None


_WAYS_OUT = {  # by the kind of cells; some words are those that scikit-learn requires
    "text": "convert it to numbers first, such as 0 and 1",
    "dates": "convert them to numbers first, such as days since a start",
    "time spans": "convert them to numbers first, such as seconds",
    "complex numbers": "Complex data not supported",
    "objects": "an argument must be free of strings and other objects than numbers",
}


def kind_of(cell: Any) -> str:
    """Return the kind of a cell: "number", "missing", "infinite" or one of `_WAYS_OUT`."""
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):  # those of pandas
        return "missing"
    if isinstance(cell, (str, bytes, bytearray, memoryview, UserString)):  # float() reads them
        return "text"
    if isinstance(cell, (timedelta, np.timedelta64)):
        return "time spans"
    if isinstance(cell, (date, np.datetime64)):
        return "dates"
    if isinstance(cell, (complex, np.complexfloating)):
        return "complex numbers"
    try:
        value = float(cell)
    except OverflowError:
        return "infinite"
    except (TypeError, ValueError):
        return "objects"
    if math.isfinite(value):
        return "number"
    return "missing" if math.isnan(value) else "infinite"
