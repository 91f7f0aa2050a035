"""Marks of rows, to tell whether a calibration row was trained on.

A mark is a number below 2**52 made from all values of a row and its target. No row can be read
from it; who has a row can tell whether its mark is among others.
"""

from __future__ import annotations

import math
import warnings

import numpy as np
from numpy.typing import NDArray

from gt2lite._checks import Array

HARMLESS = 0.01
"""The share of calibration rows that may be training rows, as a stray row is that occurs twice."""


class SeenRowsWarning(UserWarning):
    """Calibration rows are training rows, too: the guarantee needs rows that are new."""


def mark_rows(X: Array, y: Array) -> Array:
    """Return the mark of each row (N,), as whole numbers in floats.

    >>> marks = mark_rows(np.array([[1.0, 2.0], [1.0, 2.0], [2.0, 1.0]]), np.array([3.0, 3.0, 3.0]))
    >>> bool(marks[0] == marks[1]), bool(marks[0] == marks[2])
    (True, False)
    """
    table = np.column_stack([X, y]) + 0.0  # -0.0 is 0.0
    bits = np.ascontiguousarray(table).view(np.uint64)  # (N, M + 1)
    mark = np.zeros(len(table), dtype=np.uint64)
    for column in bits.T:
        mark = _mix(mark ^ _mix(column) + np.uint64(0x9E3779B97F4A7C15))
    return (mark >> np.uint64(12)).astype(float)


def _mix(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return each number scrambled one to one (the finaliser of SplitMix64, by Steele et al.)."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def count_seen(trained: Array, marks: Array) -> tuple[int, float]:
    """Return how many rows were trained on, and how many would be by chance.

    Rows that a table holds twice may end up in both parts of an honest split. About as large a
    share of the calibration rows is expected to, as of the training rows have a twin there.
    """
    _, counts = np.unique(trained, return_counts=True)
    twins = counts[counts > 1].sum() / len(trained)
    return int(np.isin(marks, trained).sum()), float(twins) * len(marks)


def warn_if_seen(trained: Array, marks: Array, stacklevel: int = 3) -> None:
    """Warn where more calibration rows were trained on than rows that occur twice explain.

    A hundredth of the rows is let pass: it moves the coverage by a point at most.
    """
    seen, chance = count_seen(trained, marks)
    if seen <= max(chance + 3 * math.sqrt(chance), HARMLESS * len(marks)):
        return
    but = f"; rows that occur twice explain about {chance:.0f}" if chance else ""
    warnings.warn(
        f"{seen} of {len(marks)} calibration rows are training rows{but}. The base and its head "
        "know them, so intervals come out too narrow for new rows and the guarantee is void: "
        "calibrate on rows that were not in fit, or use fit_calibrate",
        SeenRowsWarning,
        stacklevel=stacklevel,
    )
