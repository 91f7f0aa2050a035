"""Tables and targets of users: arrays and data frames, checked against those of training."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gt2lite._validation import Array, IntArray, find_wrong, matrix, numbers, one_of, vector, warn
from gt2lite.practice._sklearn import check_fitted, sklearn_or
from gt2lite.practice.printing import frame_of

Names = NDArray[np.object_]


class Rows(NamedTuple):
    """Rows of a table to train or calibrate on."""

    values: Any  # numbers (N, M), or a pandas frame to be encoded by `gt2lite.practice.columns`
    names: Names | None = None  # of the columns, if these are text
    table: Any = None  # the same rows in the form that the base of a head takes

    def take(self, rows: IntArray) -> Rows:
        """Return some of the rows."""
        table = None if self.table is None else take_rows(self.table, rows)
        return Rows(take_rows(self.values, rows), self.names, table)


def read_table(X: Any, columns: str | None = None) -> Rows:
    """Return the rows of a table of numbers (N, M).

    A data frame with gaps, text or dates is refused; if `columns` is "auto", it is returned as a
    pandas frame, to be encoded by `gt2lite.practice.columns`.
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


def one_row(x: Any, estimator: Any) -> Any:
    """Return one row as a table (1, M), from M numbers, a labelled row or a table.

    The labels of a row of a data frame decide on the order of its values.
    """
    check_fitted(estimator)
    names = getattr(estimator, "feature_names_in_", None)
    if hasattr(x, "to_frame") and names is not None:
        if x.index.is_unique and set(x.index) == set(names):
            x = x[list(names)]
        return x.to_frame().T.infer_objects()
    if np.ndim(x) == 1 and not hasattr(estimator, "columns_"):
        values = vector("x", x, estimator.n_features_in_)[None]
        return values if names is None else frame_of(values, columns=names)
    return x


def check_one_row(row: Array) -> Array:
    """Return a row (1, M) to be explained, or raise an error if there are more or none."""
    if len(row) != 1:
        raise ValueError(
            f"explain takes one row, got {len(row)}: pick one, such as X[0] or X.iloc[0]"
        )
    return row
