"""Coverage where nothing is promised: by width, by input region, by group.

A guarantee holds on average over all rows. Here the rows are put into bins that do not look
at the target, and coverage is counted in each of them. Nothing here repairs what it
finds; calibration by groups (`gt2lite.calibration`) does a part of that.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from gt2lite._validation import Array, IntArray, matrix, vector
from gt2lite.metrics import covers

N_BINS = 5


class Bin(NamedTuple):
    """What was counted in one bin."""

    label: str
    n: int
    covered: int
    width: float  # on average

    @property
    def coverage(self) -> float:
        """The share that is covered."""
        return self.covered / self.n


def coverage_by(labels: ArrayLike, y: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> list[Bin]:
    """Return what is covered in each bin, in the order of their labels.

    Args:
        labels: the bin of each row (N,), numbers or text.
        y: targets (N,).
        lower: lower ends (N,).
        upper: upper ends (N,).

    >>> coverage_by(["b", "a", "b"], [0.0, 1.0, 2.0], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0])
    [Bin(label='a', n=1, covered=1, width=1.0), Bin(label='b', n=2, covered=1, width=1.0)]
    """
    hit = covers(y, lower, upper)
    width = vector("upper", upper) - vector("lower", lower)
    names, place = np.unique(_labels(labels, hit.size), return_inverse=True)
    n = np.bincount(place)
    covered = np.bincount(place, weights=hit)
    mean = np.bincount(place, weights=width) / n
    return [
        Bin(str(name), int(n[i]), int(covered[i]), float(mean[i])) for i, name in enumerate(names)
    ]


def worst(bins: Iterable[Bin]) -> float:
    """Return the coverage of the bin that has least.

    The least of several is below their mean by chance alone, and the more so the smaller
    the bins are: compare methods by it, not with the level.
    """
    return min(found.coverage for found in bins)


def width_bins(lower: ArrayLike, upper: ArrayLike, n_bins: int = N_BINS) -> IntArray:
    """Return the bin (N,) of each row by the width of its interval: 1 has the narrowest.

    Equal widths share a bin: where all are equal there is one.

    >>> width_bins([0.0, 0.0, 0.0, 0.0], [4.0, 1.0, 3.0, 2.0], n_bins=2)
    array([2, 1, 2, 1])
    """
    width = vector("upper", upper) - vector("lower", lower)
    # the ends of a constant margin differ in their last digits: that is no difference of width
    largest = float(np.abs(width).max()) or 1.0
    rounded = np.round(width / largest, 9)
    return _bins(rounded, rounded, n_bins)


def regions(X_train: ArrayLike, X: ArrayLike, n_bins: int = N_BINS) -> IntArray:
    """Return the bin (N,) of each row along the direction in which training inputs vary most.

    The direction is the first principal component of the training part, with its largest
    entry positive; the bins hold equal shares of the training part.

    >>> regions([[-2.0, 0.1], [-1.0, -0.1], [1.0, 0.1], [2.0, -0.1]], [[-9.0, 0.0], [9.0, 0.0]], 2)
    array([1, 2])
    """
    X_train, X = matrix("X_train", X_train), matrix("X", X)
    centre = X_train.mean(axis=0)
    direction = np.linalg.svd(X_train - centre, full_matrices=False)[2][0]  # (M,)
    direction = direction * np.sign(direction[np.argmax(np.abs(direction))])
    return _bins((X - centre) @ direction, (X_train - centre) @ direction, n_bins)


def rarity(X_train: ArrayLike, X: ArrayLike, n_bins: int = N_BINS) -> IntArray:
    """Return the bin (N,) of each row by its distance from the middle of the training inputs.

    The distance is that of scaled inputs, each in standard deviations; the bins hold equal
    shares of the training part, and the last one the most unusual rows.

    >>> rarity([[-2.0], [-1.0], [1.0], [2.0]], [[0.0], [-3.0]], n_bins=2)
    array([1, 2])
    """
    X_train, X = matrix("X_train", X_train), matrix("X", X)
    centre, spread = X_train.mean(axis=0), X_train.std(axis=0)
    spread[spread == 0] = 1.0

    def distance(rows: Array) -> Array:
        return np.sqrt(np.mean(((rows - centre) / spread) ** 2, axis=1))

    return _bins(distance(X), distance(X_train), n_bins)


def _bins(values: Array, of: Array, n_bins: int) -> IntArray:
    """Return in which of `n_bins` equal shares of `of` each value lies, from 1."""
    cuts = np.quantile(of, np.arange(1, n_bins) / n_bins)
    return np.searchsorted(cuts, values, side="left") + 1


def _labels(labels: Any, n: int) -> Any:
    found = np.asarray(labels)
    if found.shape != (n,):
        raise ValueError(f"labels must be a row of {n} labels, got shape {found.shape}")
    return found
