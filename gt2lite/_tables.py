"""From what users hand in (arrays, lists, data frames) to checked arrays and feature names.

The wording of errors and warnings follows scikit-learn's where its conventions ask
for it, although it may not be installed (`gt2lite._sklearn`).
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gt2lite._checks import Array, finite, numbers
from gt2lite._sklearn import sklearn_or

Names = NDArray[np.object_]


def read_table(X: Any) -> tuple[Array, Names | None]:
    """Return a table of numbers (N, M) and its column names, where it has them as text."""
    if hasattr(X, "toarray") or hasattr(X, "tocsr"):
        raise TypeError("X is sparse, and sparse data is not supported: convert it by X.toarray()")
    values = numbers("X", X)
    if values.ndim != 2:
        raise ValueError(
            f"X must be a 2D table (rows, columns), got an array of shape {values.shape}. "
            "Reshape your data: X.reshape(-1, 1) for a single column, X.reshape(1, -1) for a "
            "single row"
        )
    N, M = values.shape
    if N == 0:
        raise ValueError(
            f"X has 0 sample(s) (shape={values.shape}) while a minimum of 1 is required."
        )
    if M == 0:
        raise ValueError(
            f"X has 0 feature(s) (shape={values.shape}) while a minimum of 1 is required."
        )
    return finite("X", values), _column_names(X)


def read_target(y: Any, n_rows: int) -> Array:
    """Return the target as a checked array (N,)."""
    if y is None:
        raise ValueError(
            "GT2Regressor requires y to be passed, but the target y is None: one number per row"
        )
    values = numbers("y", y)
    if values.ndim == 2 and values.shape[1] == 1:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected. "
            "Please change the shape of y to (n_samples,), for example using ravel().",
            sklearn_or("DataConversionWarning", UserWarning),
            stacklevel=4,
        )
        values = values[:, 0]
    if values.shape != (n_rows,):
        raise ValueError(
            f"y must be a row of {n_rows} values, one per row of X, got {values.shape}"
        )
    return finite("y", values)


def match_table(X: Any, n_features: int, names: Names | None, owner: str) -> Array:
    """Return a table of numbers for a system fitted on `n_features` columns called `names`."""
    values, found = read_table(X)
    if found is None and names is not None:
        warnings.warn(
            f"X does not have valid feature names, but {owner} was fitted with feature names",
            UserWarning,
            stacklevel=4,
        )
    elif found is not None and names is None:
        warnings.warn(
            f"X has feature names, but {owner} was fitted without feature names",
            UserWarning,
            stacklevel=4,
        )
    elif found is not None and names is not None and list(found) != list(names):
        raise ValueError(_name_trouble(list(found), list(names)))
    if values.shape[1] != n_features:
        raise ValueError(
            f"X has {values.shape[1]} features, but {owner} is expecting {n_features} "
            "features as input"
        )
    return values


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
    def listed(title: str, names: list[str]) -> str:
        shown = [f"- {name}" for name in names[:5]] + ["- ..."] * (len(names) > 5)
        return "\n".join([title, *shown, ""])

    message = "The feature names should match those that were passed during fit.\n"
    unseen, missing = sorted(set(found) - set(wanted)), sorted(set(wanted) - set(found))
    if unseen:
        message += listed("Feature names unseen at fit time:", unseen)
    if missing:
        message += listed("Feature names seen at fit time, yet now missing:", missing)
    if not unseen and not missing:
        message += "Feature names must be in the same order as they were in fit.\n"
    return message
