"""Folds of rows, and the check that calibration rows were not trained on."""

from __future__ import annotations

import math
from hashlib import blake2b

import numpy as np

from gt2lite._validation import Array, IntArray, warn, whole
from gt2lite.practice.types import Folds, Table

HARMLESS = 0.01
"""Share of calibration rows that may be training rows, such as stray duplicates."""


class SeenRowsWarning(UserWarning):
    """Calibration rows are training rows, too: the guarantee needs new rows."""


def read_folds(cv: Folds, X: Table, y: Array, seed: int) -> list[tuple[IntArray, IntArray]]:
    """Return training and test rows of each fold.

    Args:
        cv: a number of folds, drawn at random, or a splitter or list of splits as in scikit-learn.
        X: the rows (N, ...).
        y: their targets (N,).
        seed: that of the folds, if `cv` is a number.
    """
    from sklearn.model_selection import KFold, check_cv

    if isinstance(cv, (int, np.integer)) or not (hasattr(cv, "split") or np.iterable(cv)):
        n_folds = whole("cv", cv, 2)
        if len(y) < 2 * n_folds:
            raise ValueError(
                f"cv={n_folds} folds need at least {2 * n_folds} rows, got {len(y)} sample(s): "
                "use more rows or fewer folds"
            )
        cv = KFold(n_folds, shuffle=True, random_state=seed)
    try:
        return list(check_cv(cv).split(X, y))
    except ValueError as error:
        if "'groups'" not in str(error):
            raise
        name = type(cv).__name__
        raise ValueError(
            f"cv={name}(...) keeps groups together but has no groups here: pass its splits, "
            f"cv=list({name}(...).split(X, y, groups))"
        ) from error


def mark_rows(X: Array, y: Array) -> Array:
    """Return a hash of 48 bits for each row (N,), as whole numbers in floats.

    >>> marks = mark_rows(np.array([[1.0, 2.0], [1.0, 2.0], [2.0, 1.0]]), np.array([3.0, 3.0, 3.0]))
    >>> bool(marks[0] == marks[1]), bool(marks[0] == marks[2])
    (True, False)
    """
    table = np.column_stack([X, y]) + 0.0  # -0.0 is 0.0
    digests = (blake2b(row.tobytes(), digest_size=6).digest() for row in table)
    return np.array([float(int.from_bytes(digest, "little")) for digest in digests])


def warn_if_seen(trained: Array, X: Array, y: Array) -> None:
    """Warn if more calibration rows were trained on than duplicate rows explain.

    Duplicate rows of a data set may fall on both sides of a proper split: about the share of
    training rows that have a duplicate there is expected among the calibration rows. One percent
    of the rows is tolerated in any case; it changes the coverage by at most one point.

    Args:
        trained: the hashes of the training rows.
        X: the calibration rows (Q, M).
        y: their targets (Q,).
    """
    _, counts = np.unique(trained, return_counts=True)
    expected = float(counts[counts > 1].sum() / len(trained)) * len(y)
    seen = int(np.isin(mark_rows(X, y), trained).sum())
    if seen <= max(expected + 3 * math.sqrt(expected), HARMLESS * len(y)):
        return
    but = f"; duplicate rows explain about {expected:.0f}" if expected else ""
    warn(
        f"{seen} of {len(y)} calibration rows are training rows{but}: intervals are too narrow "
        "for new rows, and the guarantee is void. Calibrate on rows that were not in fit, or use "
        "fit_calibrate",
        SeenRowsWarning,
    )
