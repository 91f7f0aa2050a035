"""k-means of rows, and of the values of one input."""

from __future__ import annotations

import numpy as np

from gt2lite._threads import one_blas_thread
from gt2lite._validation import Array, IntArray


@one_blas_thread()  # for a row half-way between two centres the last bit decides
def kmeans(X: Array, n: int, rng: np.random.Generator, iterations: int = 100) -> Array:
    """Return `n` centres (n, M) of the rows of `X`; fewer distinct rows than that are repeated."""
    rows = np.unique(X, axis=0)
    if len(rows) <= n:
        return np.resize(rows, (n, X.shape[1]))
    centres = _far_apart(rows, n, rng)
    for _ in range(iterations):
        nearest = np.argmin((centres**2).sum(axis=1) - 2 * (X @ centres.T), axis=1)  # (N,)
        counts = np.bincount(nearest, minlength=n)
        sums = np.zeros_like(centres)
        np.add.at(sums, nearest, X)
        full = counts > 0  # a cluster without rows stays where it is
        moved = centres.copy()
        moved[full] = sums[full] / counts[full, None]
        if np.array_equal(moved, centres):
            break
        centres = moved
    return centres


def _far_apart(
    rows: Array, n: int, rng: np.random.Generator, counts: IntArray | None = None
) -> Array:
    """Return `n` of distinct rows, each drawn far from the others (k-means++).

    A row that occurs `counts` times is drawn as often more.
    """
    share = None if counts is None else counts / counts.sum()
    first = rng.integers(len(rows)) if share is None else rng.choice(len(rows), p=share)
    chosen = [int(first)]
    distance = np.full(len(rows), np.inf)
    for _ in range(n - 1):
        distance = np.minimum(distance, ((rows - rows[chosen[-1]]) ** 2).sum(axis=1))
        weight = distance if counts is None else distance * counts
        if not weight.sum() > 0:  # squares have underflown: any row not yet chosen will do
            weight = (~np.isin(np.arange(len(rows)), chosen)).astype(float)
        chosen.append(int(rng.choice(len(rows), p=weight / weight.sum())))
    return rows[chosen]


def kmeans_1d(x: Array, n: int, rng: np.random.Generator, iterations: int = 100) -> Array:
    """Return `n` centres of the values `x`; fewer distinct values than that are repeated.

    On a line clusters are stretches of the sorted values, so that a step of Lloyd's
    algorithm is a search for the midpoints and a sum over each stretch.
    """
    values, counts = np.unique(x, return_counts=True)
    if values.size <= n:
        return np.resize(values, n)
    centres = np.sort(_far_apart(values[:, None], n, rng, counts)[:, 0])
    for _ in range(iterations):
        cuts = np.searchsorted(values, (centres[1:] + centres[:-1]) / 2)
        first, last = np.append(0, cuts), np.append(cuts, values.size)
        full = last > first  # a cluster without values stays where it is
        moved = centres.copy()
        moved[full] = np.add.reduceat(counts * values, first[full]) / np.add.reduceat(
            counts, first[full]
        )
        if np.array_equal(moved, centres):
            break
        centres = moved
    return centres
