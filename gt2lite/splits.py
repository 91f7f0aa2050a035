"""Random splits of rows into sets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gt2lite._validation import IntArray


def random_parts(n_rows: int, sizes: Sequence[int], rng: np.random.Generator) -> list[IntArray]:
    """Return disjoint random parts of the rows 0 to n_rows - 1, of given sizes; last, the rest.

    >>> [len(part) for part in random_parts(10, [3, 2], np.random.default_rng(0))]
    [3, 2, 5]
    """
    return np.split(rng.permutation(n_rows), np.cumsum(sizes))


def group_parts(
    labels: NDArray[np.generic], sizes: Sequence[int], rng: np.random.Generator
) -> list[IntArray]:
    """Return three parts of the rows in which no group is torn apart, in rising order.

    A random order of groups is cut nearest to the given sizes. The first order is taken if
    both cuts miss by no more than half the largest group. They miss by more only because no part
    may be empty (one huge group in the middle); then the best of 200 orders is taken. Taking the
    best always would favour large groups for the last part.

    Args:
        labels: the group of each row (N,), at least three different ones.
        sizes: rows of the first and of the second part.
        rng: the source of randomness.

    >>> labels = np.array(["a", "a", "a", "a", "b", "c"])
    >>> group_parts(labels, [4, 1], np.random.default_rng(0))[0]
    array([0, 1, 2, 3])
    """
    _, group, n_rows = np.unique(labels, return_inverse=True, return_counts=True)
    n_groups = len(n_rows)
    if n_groups < 3:
        raise ValueError(f"groups must hold at least 3 different labels, got {n_groups}")
    first, second = np.cumsum(sizes)
    part, least = np.empty(n_groups, dtype=np.int64), np.inf
    for _ in range(200):
        order = rng.permutation(n_groups)
        ends = np.cumsum(n_rows[order])  # rows up to and with each group
        i = 1 + int(np.argmin(np.abs(ends[:-2] - first)))  # groups before the first cut
        j = i + 1 + int(np.argmin(np.abs(ends[i:-1] - second)))
        miss = max(abs(ends[i - 1] - first), abs(ends[j - 1] - second))
        if miss < least:
            least = miss
            part[order] = np.repeat([0, 1, 2], [i, j - i, n_groups - j])
        if least <= n_rows.max() / 2:
            break
    return [np.flatnonzero(part[group] == i) for i in range(3)]
