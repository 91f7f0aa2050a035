"""Statistical tests that the study needs beside SciPy and statsmodels.

Three things are tested: means over re-splits of one data set (`corrected_t`, and one-sided by
`beyond_p`), a published mean and standard deviation of few runs against many of ours (`exchange`,
`welch`), and the coverage of a finite test set (`coverage_p_value`). What is compared with what is
in `study.cells` and `study.claims`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from gt2lite._validation import Array, between, matrix, whole
from gt2lite.calibration import rank

SIGNIFICANCE = 0.05
"""A p-value below this is significant."""

DRAWS = 100_000
"""Number of draws of some of our runs in place of theirs."""


def holm(p_values: ArrayLike) -> Array:
    """Return p-values corrected for multiple tests by Holm's step-down rule.

    >>> holm([0.01, 0.04, 0.03, 0.005]).round(3)  # times 3, 1, 2, 4, then rising
    array([0.03, 0.06, 0.06, 0.02])
    """
    from statsmodels.stats.multitest import multipletests

    return np.asarray(multipletests(np.asarray(p_values, dtype=float), method="holm")[1])


def beyond_p(value: ArrayLike, limit: ArrayLike, error: ArrayLike, degrees: ArrayLike) -> Array:
    """Return the one-sided p-value against a true value of at most `limit`.

    With a margin as the value and the size of a mean as the limit it is the larger p-value of two
    one-sided tests: if it is small, the mean is shown to be nearer to 0 than the margin.

    `error` is the standard error and `degrees` its degrees of freedom; without any error the value
    is above the limit (p = 0) or not (p = 1).

    >>> print(beyond_p(2.0, 0.0, 3**-0.5, 2).round(4))  # of 1, 2, 3: half of the two-sided 0.0742
    0.0371
    """
    room = np.subtract(value, limit)
    with np.errstate(divide="ignore", invalid="ignore"):
        p = stats.t.sf(room / np.asarray(error), degrees)
    return np.where(np.asarray(error) == 0, room <= 0, p)


# ------------------------------------------------------------- means over runs of our own


class Corrected(NamedTuple):
    """Mean of differences over repeated splits, half of its 95% interval, and its p-value."""

    mean: float
    half: float
    p: float


def corrected_t(differences: ArrayLike, test_over_train: float) -> Corrected:
    """Return the corrected resampled t-test of differences (J,) over splits of the same rows.

    For `test_over_train` see `standard_error`. Differences without any variation are either 0
    (p = 1) or not (p = 0).

    >>> found = corrected_t([1.0, 2.0, 3.0], test_over_train=2 / 3)  # variance 1 / 3 + 2 / 3
    >>> [round(value, 4) for value in found]  # t = 2 with 2 degrees of freedom
    [2.0, 4.3027, 0.1835]
    """
    gaps = np.asarray(differences, dtype=float)
    if gaps.ndim != 1 or gaps.size < 2:
        raise ValueError(f"differences must be a 1-D array of two or more, got {gaps.shape}")
    if not test_over_train >= 0:
        raise ValueError(f"test_over_train must not be negative, got {test_over_train!r}")
    mean, error, degrees = gaps.mean(), standard_error(gaps, test_over_train), gaps.size - 1
    p = min(1.0, 2 * float(beyond_p(abs(mean), 0.0, error, degrees)))
    return Corrected(float(mean), float(stats.t.isf(SIGNIFICANCE / 2, degrees) * error), p)


def standard_error(differences: Array, test_over_train: float = 0.0) -> Array:
    r"""Return the standard error of means of differences (..., J), 0 if they vary by rounding only.

    Re-splits overlap, so that differences vary less between them than between fresh data. Nadeau
    and Bengio (2003) put :math:`s^2 (1/J + n_\text{test} / n_\text{train})` in place of
    :math:`s^2 / J` for the variance of the mean; a ratio of 0 gives the usual one.
    """
    std, n = differences.std(axis=-1, ddof=1), differences.shape[-1]
    constant = std <= 1e-12 * np.abs(differences.mean(axis=-1))
    return np.where(constant, 0.0, std * np.sqrt(1 / n + test_over_train))


# -------------------------------------------------- published summaries against our runs


def exchange(
    ours: Array, means: Array, stds: Array, n_theirs: int, draws: int = DRAWS
) -> tuple[Array, Array]:
    """Return how often some of our runs are as far from the others as theirs are from all of ours.

    If both sides do the same, any five of our runs are like their five. The p-value is twice the
    smaller tail, where theirs count as one more draw.

    `ours` holds C results of S runs each (C, S), `means` and `stds` (C,) are those of their
    `n_theirs` runs. A draw takes the same runs of all results. The result is two-sided p-values
    (C,) of the means, and of the standard deviations.

    >>> ours = np.arange(50.0)[None]
    >>> exchange(ours, np.array([24.5]), np.array([14.0]), 5, draws=999)[0] > 0.9
    array([ True])
    >>> exchange(ours, np.array([60.0]), np.array([14.0]), 5, draws=999)[0]  # beyond every draw
    array([0.002])
    """
    slack = 1e-12 * (np.abs(ours - ours.mean(axis=1, keepdims=True)).max(axis=1) + np.abs(means))
    seen = np.stack([means - ours.mean(axis=1), stds - ours.std(axis=1, ddof=1)])  # (2, C)
    found = _apart(ours, n_theirs, draws)
    below = 1 + (found <= (seen + slack)[..., None]).sum(axis=2)
    above = 1 + (found >= (seen - slack)[..., None]).sum(axis=2)
    p = np.minimum(2 * np.minimum(below, above) / (draws + 1), 1.0)
    return p[0], p[1]


def joint_exchange_p(
    ours: Array, means: Array, n_theirs: int, parts: Array, draws: int = DRAWS
) -> Array:
    """Return p-values (G,) of published means together, by the draws of `exchange`.

    Each row of `parts` (G, C) says which of the C results are taken together.

    The distance of some runs from the others is the sum of squares of the differences of means,
    each in standard deviations of our runs. As a draw takes the same runs of all results, results
    that depend on each other need no correction.

    >>> ours = np.array([np.arange(50.0), -np.arange(50.0)])  # one result, twice
    >>> one, both = joint_exchange_p(ours, np.array([40.0, -40.0]), 5, np.array([[1, 0], [1, 1]]))
    >>> bool(one == both)
    True
    """
    unit = ours.std(axis=1, ddof=1, keepdims=True)
    seen = parts @ ((means - ours.mean(axis=1))[:, None] / unit) ** 2  # (G, 1)
    found = parts @ (_apart(ours, n_theirs, draws)[0] / unit) ** 2  # (G, draws)
    return np.asarray((1 + (found >= seen * (1 - 1e-12)).sum(axis=1)) / (draws + 1))


def _apart(ours: Array, n_theirs: int, draws: int) -> Array:
    """Return by how much drawn runs exceed the others, in mean and in SD (2, C, draws)."""
    ours, n = matrix("ours", ours), np.shape(ours)[1]
    whole("n_theirs", n_theirs, low=2)
    if n < n_theirs + 2:
        raise ValueError(f"ours must hold at least n_theirs + 2 = {n_theirs + 2} runs, got {n}")
    order = np.argpartition(np.random.default_rng(0).random((draws, n)), n_theirs, axis=1)
    taken = np.zeros((draws, n))
    np.put_along_axis(taken, order[:, :n_theirs], 1.0, axis=1)
    centred = ours - ours.mean(axis=1, keepdims=True)  # sums of squares then lose no digits
    means, stds = [], []
    for part, size in ((taken, n_theirs), (1 - taken, n - n_theirs)):
        sums, squares = centred @ part.T, centred**2 @ part.T  # (C, draws)
        means.append(sums / size)
        stds.append(np.sqrt(np.maximum(squares - sums**2 / size, 0) / (size - 1)))
    return np.stack([means[0] - means[1], stds[0] - stds[1]])


def welch(std: ArrayLike, n: ArrayLike, std_2: ArrayLike, n_2: int) -> tuple[Array, Array]:
    """Return the standard error of a difference of two means, and its degrees of freedom.

    With `beyond_p` it gives two one-sided Welch tests of equality (Schuirmann 1987). `std` are
    standard deviations and `n` sizes; a size is infinite for a mean that is known.
    """
    n = np.asarray(n, dtype=float)
    a, b = np.square(std) / n, np.square(std_2) / n_2
    with np.errstate(invalid="ignore"):  # without any variation there are none
        degrees = (a + b) ** 2 / (a**2 / (n - 1) + b**2 / (n_2 - 1))
    return np.sqrt(a + b), np.nan_to_num(degrees, nan=1.0)


def smallest_margin(
    difference: ArrayLike, std: ArrayLike, n: ArrayLike, std_2: ArrayLike, n_2: int
) -> Array:
    """Return the smallest margin within which two means are shown to be equal at 5%.

    >>> print(smallest_margin(0.0, 0.0, np.inf, 1.0, 5).round(4))  # 2.1318 / sqrt(5), 4 degrees
    0.9534
    """
    error, degrees = welch(std, n, std_2, n_2)
    return np.abs(difference) + stats.t.isf(SIGNIFICANCE, degrees) * error


# ------------------------------------------------------- coverage of a finite test set


def coverage_p_value(
    picp: float, level: float, n_test: int, n_cal: int | None = None, *, margin: float = 0.0
) -> float:
    r"""Return the two-sided p-value of the coverage of a test set against its level.

    With the k-th of n calibration samples, :math:`k = \lceil n \phi \rceil`, a plane covers a
    share of all samples that follows the law Beta(k, n + 1 - k), and therefore a Beta-binomial
    number of the test samples. Without a calibration set the law is that of a model whose
    coverage *is* the level, or is at most `margin` from it: binomial. The p-value is twice the
    smaller tail. Ties, such as duplicate rows, can only increase the coverage of a rank.

    >>> coverage_p_value(0.9, 0.9, n_test=100, n_cal=100)
    1.0
    >>> round(coverage_p_value(0.0, 0.5, n_test=3, n_cal=1), 4)  # Beta(1, 1): 0..3 alike
    0.5
    """
    between("level", level, 0, 1)
    hits = np.arange(n_test + 1)
    if n_cal is None:
        ends = max(level - margin, 0.0), min(level + margin, 1.0)
        low, high = (stats.binom.pmf(hits, n_test, end) for end in ends)
    else:
        k = rank(level, n_cal)
        low = high = stats.betabinom.pmf(hits, n_test, k, n_cal + 1 - k)
    covered = round(picp * n_test)
    return float(min(1.0, 2 * min(low[: covered + 1].sum(), high[covered:].sum())))


def worst_by_chance(sizes: Sequence[int], level: float) -> float:
    """Return how low the lowest of several shares is on average, if each has the same chance.

    Every bin covers each of its rows with probability `level`, independently. Small bins
    scatter, so that the lowest share lies below the level though nothing is wrong.

    >>> worst_by_chance([1], 0.9)
    0.9
    >>> round(worst_by_chance([1, 1], 0.9), 4)  # 1 if both are covered, else 0
    0.81
    """
    between("level", level, 0, 1)
    shares = np.unique(np.concatenate([np.arange(n + 1) / n for n in sizes]))
    reached = np.ones(shares.size)  # probability that all bins have at least that share
    for n in sizes:
        reached *= stats.binom.sf(np.ceil(np.round(shares * n, 9)) - 1, n, level)
    return float(np.sum(np.diff(shares, prepend=0.0) * reached))
