"""Their few runs against our many: what speaks against a common source, and what shows equality.

Of their runs mean, spread and number are printed; of ours every value is known. Two questions
are asked, and neither answers the other:

- *Could theirs be some of ours?* Given the table, runs differ by split and start only. If both
  sides do the same, five of theirs are like any five of ours. So their distance from our mean is
  compared with that of five of ours from the others, drawn many times (`exchange`).
- *Are the two means shown to be close?* Two one-sided tests (Schuirmann 1987) with Welch's
  variance: they show that the means differ by less than a margin (`equal_means_p`). The smallest
  margin that passes is `smallest_margin`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from gt2lite._validation import Array, between, matrix, whole
from study.statistics import SIGNIFICANCE

DRAWS = 100_000
"""How often some of our runs are drawn to stand for theirs."""

_AT_ONCE = 10_000  # draws that are in memory together


class Exchange(NamedTuple):
    """Two-sided p-values (C,) of C results: of the printed means, and of the printed spreads."""

    mean: Array
    spread: Array


def exchange(
    ours: Array, means: Array, spreads: Array, n_theirs: int, *, draws: int = DRAWS, seed: int = 0
) -> Exchange:
    """Return how often some of our runs are as far from the others as theirs are from all of ours.

    Twice the smaller tail, where theirs count as one more draw.

    Args:
        ours: C results of S runs each (C, S). A draw takes the same runs of all results.
        means: what they print for each (C,).
        spreads: their standard deviations (C,).
        n_theirs: how many runs these are of.
        draws: how many times.
        seed: of the draws.

    >>> ours = np.arange(50.0)[None]
    >>> exchange(ours, np.array([24.5]), np.array([14.0]), 5, draws=999).mean > 0.9
    array([ True])
    >>> exchange(ours, np.array([60.0]), np.array([14.0]), 5, draws=999).mean  # beyond every draw
    array([0.002])
    """
    ours = matrix("ours", ours)
    n = ours.shape[1]
    whole("n_theirs", n_theirs, low=2)
    if n < n_theirs + 2:
        raise ValueError(f"ours must hold at least n_theirs + 2 = {n_theirs + 2} runs, got {n}")
    centred = ours - ours.mean(axis=1, keepdims=True)  # (C, S); sums of squares lose no digits
    scale = np.abs(centred).max(axis=1) + np.abs(means)
    seen = np.stack([means - ours.mean(axis=1), spreads - ours.std(axis=1, ddof=1)])  # (2, C)
    slack = 1e-12 * scale
    below, above = np.ones_like(seen), np.ones_like(seen)
    rng = np.random.default_rng(seed)
    for start in range(0, draws, _AT_ONCE):
        size = min(_AT_ONCE, draws - start)
        drawn = np.argpartition(rng.random((size, n)), n_theirs, axis=1)[:, :n_theirs]
        taken = np.zeros((size, n))
        np.put_along_axis(taken, drawn, 1.0, axis=1)
        found = np.stack(_apart(centred, taken, n_theirs))  # (2, C, size)
        below += (found <= (seen + slack)[..., None]).sum(axis=2)
        above += (found >= (seen - slack)[..., None]).sum(axis=2)
    p = np.minimum(2 * np.minimum(below, above) / (draws + 1), 1.0)
    return Exchange(p[0], p[1])


def _apart(centred: Array, taken: Array, n_theirs: int) -> tuple[Array, Array]:
    """Return by how much drawn runs exceed the others, in mean and in spread (C, draws)."""
    sums, squares = centred @ taken.T, centred**2 @ taken.T
    rest = centred.shape[1] - n_theirs
    all_squares = (centred**2).sum(axis=1)[:, None]  # the centred sums add up to 0
    spread = _spread(sums, squares, n_theirs) - _spread(-sums, all_squares - squares, rest)
    return sums / n_theirs + sums / rest, spread


def _spread(sums: Array, squares: Array, n: int) -> Array:
    return np.asarray(np.sqrt(np.maximum(squares - sums**2 / n, 0) / (n - 1)))


def equal_means_p(
    difference: float, margin: float, std: float, n: float, std_2: float, n_2: int
) -> float:
    """Return the p-value against two means that are `margin` or more apart.

    Args:
        difference: of the two means.
        margin: what still counts as equal.
        std: standard deviation of the one sample.
        n: its size; infinity for a mean that is known.
        std_2: standard deviation of the other.
        n_2: its size.

    >>> round(equal_means_p(0.0, 1.4584, 1.0, 5, 1.0, 5), 4)  # half of the two-sided 5 %
    0.025
    """
    from scipy import stats

    error, degrees = _welch(std, n, std_2, n_2)
    if error == 0:
        return float(abs(difference) >= margin)
    return float(stats.t.sf((margin - abs(difference)) / error, degrees))


def smallest_margin(difference: float, std: float, n: float, std_2: float, n_2: int) -> float:
    """Return the smallest margin within which two means are shown to be equal, at 5 %.

    The arguments are those of `equal_means_p`.

    >>> round(smallest_margin(0.0, 0.0, math.inf, 1.0, 5), 4)  # 2.1318 / sqrt(5), 4 degrees
    0.9534
    """
    from scipy import stats

    error, degrees = _welch(std, n, std_2, n_2)
    return abs(difference) + float(stats.t.isf(SIGNIFICANCE, degrees) * error)


def welch_half(std: float, n: int, std_2: float, n_2: int, confidence: float = 0.95) -> float:
    """Return half the length of Welch's t-interval of the difference of two means.

    >>> round(welch_half(1.0, 5, 1.0, 5), 4)  # 2.306, t with 8 degrees, times sqrt(2 / 5)
    1.4584
    """
    from scipy import stats

    error, degrees = _welch(std, n, std_2, n_2)
    return float(stats.t.ppf((1 + between("confidence", confidence, 0, 1)) / 2, degrees) * error)


def _welch(std: float, n: float, std_2: float, n_2: int) -> tuple[float, float]:
    """Return the standard error of a difference of two means, and its degrees of freedom."""
    a, b = (0.0 if math.isinf(n) else std**2 / n), std_2**2 / n_2
    if a + b == 0:
        return 0.0, 1.0
    own = 0.0 if math.isinf(n) else a**2 / (n - 1)
    return math.sqrt(a + b), (a + b) ** 2 / (own + b**2 / (n_2 - 1))
