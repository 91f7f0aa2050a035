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
from typing import Any, NamedTuple

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


# ----------------------------------------------------------------------- tables and targets

Names = NDArray[np.object_]


class Rows(NamedTuple):
    """Rows of a table to train or calibrate on."""

    values: Any  # numbers (N, M), or a pandas frame to be encoded by `gt2lite.columns`
    names: Names | None = None  # of the columns, if these are text
    table: Any = None  # the same rows in the form that the base of a head takes

    def take(self, rows: IntArray) -> Rows:
        """Return some of the rows."""
        table = None if self.table is None else take_rows(self.table, rows)
        return Rows(take_rows(self.values, rows), self.names, table)


def read_table(X: Any, columns: str | None = None) -> Rows:
    """Return the rows of a table of numbers (N, M).

    A data frame with gaps, text or dates is refused; if `columns` is "auto", it is returned as a
    pandas frame, to be encoded by `gt2lite.columns`.
    """
    if columns is not None:
        one_of("columns", columns, ("auto",))
    if hasattr(X, "toarray") or hasattr(X, "tocsr"):
        raise TypeError(
            "X is sparse, and sparse data is not supported: convert it by X.toarray(); in a "
            "pipeline set sparse_output=False of the encoder, sparse_threshold=0 of a "
            "ColumnTransformer"
        )
    if type(X).__name__ == "LazyFrame":
        raise TypeError("X is a lazy frame, which holds no numbers yet: pass X.collect()")
    try:
        values = matrix("X", X)
    except (TypeError, ValueError) as error:
        wrong = _wrong_column(X)
        if wrong is None or columns is None:
            raise wrong or error from None
        values = pandas_frame(X)
    return Rows(values, _column_names(X))


def _wrong_column(X: Any) -> TypeError | ValueError | None:
    """Return an error about the first column of a data frame that is not numeric, if any."""
    found = {}
    for j, name in enumerate(getattr(X, "columns", ())):
        column = X.iloc[:, j] if hasattr(X, "iloc") else X[name]
        if (wrong := find_wrong(f"X: column {name!r}", column)) is not None:
            found[repr(name)] = wrong
    if len(found) < 2:
        return next(iter(found.values()), None)
    first, *others = found
    return type(found[first])(f"{found[first]} (likewise columns {', '.join(others)})")


def pandas_frame(X: Any) -> Any:
    """Return a data frame as one of pandas, with text as names of columns."""
    frame = X.to_pandas() if hasattr(X, "to_pandas") else X
    names = [str(name) for name in frame.columns]
    if len(set(names)) < len(names):
        raise ValueError("X has columns of the same name: rename them")
    return frame.set_axis(names, axis=1)


def read_target(y: Any, n_rows: int, owner: str = "GT2Regressor") -> Array:
    """Return the target as a checked array (N,)."""
    if y is None:
        raise ValueError(
            f"{owner} requires y to be passed, but the target y is None: one number per row"
        )
    values = numbers("y", y)
    if values.ndim == 2 and values.shape[1] == 1:
        from gt2lite._sklearn import sklearn_or

        warn(
            "A column-vector y was passed when a 1d array was expected. "
            "Please change the shape of y to (n_samples,), for example using ravel().",
            sklearn_or("DataConversionWarning", UserWarning),
        )
        values = values[:, 0]
    if values.shape != (n_rows,):
        raise ValueError(
            f"y must be a 1-D array of length {n_rows}, one value per row of X, got shape "
            f"{values.shape}"
        )
    return values


def n_rows_of(X: Any) -> int:
    """Return the number of rows of a table that is not yet checked."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def take_rows(X: Any, rows: IntArray) -> Any:
    """Return some rows of a table that is not yet checked, as a table of the same kind.

    >>> take_rows(["a", "b", "c"], np.array([2, 0]))
    ['c', 'a']
    """
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return X[rows] if hasattr(X, "shape") else [X[i] for i in rows]


def match_table(X: Any, estimator: Any) -> Array:
    """Return a table of numbers (N, M) with the columns that a fitted estimator was trained on."""
    from gt2lite._sklearn import check_fitted

    check_fitted(estimator)
    n_features, owner = estimator.n_features_in_, type(estimator).__name__
    names: Names | None = getattr(estimator, "feature_names_in_", None)
    columns = getattr(estimator, "columns_", None)
    if columns is not None and not hasattr(X, "columns"):
        raise TypeError(f"X must be a data frame, as in fit: {owner} encodes its columns")
    values = read_table(X).values if columns is None else pandas_frame(X)
    found = _column_names(X)
    if (found is None) != (names is None):
        has, fitted = ("does not have valid", "with") if found is None else ("has", "without")
        warn(f"X {has} feature names, but {owner} was fitted {fitted} feature names", UserWarning)
    elif found is not None and names is not None and list(found) != list(names):
        raise ValueError(_name_trouble(list(found), list(names)))
    if values.shape[1] != n_features:
        raise ValueError(
            f"X has {values.shape[1]} features, but {owner} is expecting {n_features} "
            "features as input"
        )
    if columns is None:
        return values
    encoded = columns.encode(values)
    if encoded.notes:
        warn("; ".join(encoded.notes), UserWarning)
    return encoded.inputs.to_numpy()


def _column_names(X: Any) -> Names | None:
    columns = getattr(X, "columns", None)
    if columns is None:
        return None
    names = list(columns)
    text = [isinstance(name, str) for name in names]
    if any(text) and not all(text):
        raise TypeError(
            "Feature names are only supported if all input features have string names, but your "
            f"input has {sorted({type(name).__name__ for name in names})} as feature name / "
            "column name types: make them all text or none"
        )
    return np.asarray(names, dtype=object) if names and all(text) else None


def _name_trouble(found: list[str], wanted: list[str]) -> str:
    """Return how names of columns differ, in the words of scikit-learn."""
    message = "The feature names should match those that were passed during fit.\n"
    unseen, missing = sorted(set(found) - set(wanted)), sorted(set(wanted) - set(found))
    for title, names in (
        ("Feature names unseen at fit time:", unseen),
        ("Feature names seen at fit time, yet now missing:", missing),
    ):
        if names:
            shown = [f"- {name}" for name in names[:5]] + ["- ..."] * (len(names) > 5)
            message += "\n".join([title, *shown, ""])
    if not unseen and not missing:
        message += "Feature names must be in the same order as they were in fit.\n"
    return message
