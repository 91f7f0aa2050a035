"""Statistical tests that the study needs beside SciPy and statsmodels.

Three things are tested: means over re-splits of one data set (`corrected_t` and the one-sided
tests after it), a published mean and standard deviation of few runs against many of ours
(`exchange`, `equal_means_p`), and the coverage of a finite test set (`coverage_p_value`).
What is compared with what is in `study.cells` and `study.claims`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
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

_AT_ONCE = 10_000  # draws that are in memory together


def holm(p_values: ArrayLike) -> Array:
    """Return p-values corrected for multiple tests by Holm's step-down rule.

    >>> holm([0.01, 0.04, 0.03, 0.005]).round(3)  # times 3, 1, 2, 4, then rising
    array([0.03, 0.06, 0.06, 0.02])
    """
    from statsmodels.stats.multitest import multipletests

    return np.asarray(multipletests(np.asarray(p_values, dtype=float), method="holm")[1])


# ------------------------------------------------------------- means over runs of our own


class Corrected(NamedTuple):
    """Mean of differences over repeated splits, half of its interval, and its p-value."""

    mean: float
    half: float
    p: float


def corrected_t(differences: ArrayLike, test_over_train: float) -> Corrected:
    r"""Return the corrected resampled t-test of differences (J,) over splits of the same rows.

    Splits overlap, so that differences vary less between them than between fresh data. Nadeau and
    Bengio (2003) put :math:`s^2 (1/J + n_\text{test} / n_\text{train})` in place of
    :math:`s^2 / J` for the variance of the mean; there are J - 1 degrees of freedom.

    Args:
        differences: one for each split, two at least.
        test_over_train: rows of the test set over rows of the training set; 0 gives the usual
            paired t-test.

    Returns:
        The mean, half of its 95% interval, and the p-value against 0. Differences without
        any variation are either 0 (p = 1) or not (p = 0).

    >>> found = corrected_t([1.0, 2.0, 3.0], test_over_train=2 / 3)  # variance 1 / 3 + 2 / 3
    >>> [round(value, 4) for value in found]  # t = 2 with 2 degrees of freedom
    [2.0, 4.3027, 0.1835]
    """
    gaps = np.asarray(differences, dtype=float)
    if gaps.ndim != 1 or gaps.size < 2:
        raise ValueError(f"differences must be a 1-D array of two or more, got {gaps.shape}")
    if not test_over_train >= 0:
        raise ValueError(f"test_over_train must not be negative, got {test_over_train!r}")
    mean, error = float(gaps.mean()), _error(gaps, test_over_train)
    if error == 0:
        return Corrected(mean, 0.0, float(mean == 0))
    t = stats.t(gaps.size - 1)
    half = float(t.isf(SIGNIFICANCE / 2) * error)
    return Corrected(mean, half, float(2 * t.sf(abs(mean) / error)))


def beyond_p(value: float, differences: Array, limit: float, test_over_train: float = 0.0) -> float:
    """Return the one-sided p-value against a value that is at most `limit`.

    The standard error of the value is that of the mean of differences (n,), for re-splits as in
    `corrected_t`. Without any variation the value is above the limit (0) or not (1). With a margin
    as the value and the size of the mean as the limit it is the larger p-value of two one-sided
    tests: if it is small, the mean is shown to be nearer to 0 than the margin.

    >>> round(beyond_p(2.0, np.array([1.0, 2.0, 3.0]), 0.0), 4)  # half of the two-sided 0.0742
    0.0371
    """
    error = _error(differences, test_over_train)
    if error == 0:
        return float(value <= limit)
    return float(stats.t.sf((value - limit) / error, differences.size - 1))


def upper_bound(differences: Array, test_over_train: float = 0.0) -> float:
    """Return the one-sided 95% upper bound of the mean of differences (n,).

    >>> round(upper_bound(np.array([1.0, 2.0, 3.0])), 4)  # 2 + 2.92 / sqrt(3)
    3.6859
    """
    t = stats.t.isf(SIGNIFICANCE, differences.size - 1)
    return float(differences.mean() + t * _error(differences, test_over_train))


def _error(differences: Array, test_over_train: float) -> float:
    """Return the standard error of a mean, 0 if the differences vary by rounding only."""
    std = float(differences.std(ddof=1))
    if std <= 1e-12 * abs(float(differences.mean())):
        return 0.0
    return std * math.sqrt(1 / differences.size + test_over_train)


# -------------------------------------------------- published summaries against our runs


def exchange(
    ours: Array, means: Array, stds: Array, n_theirs: int, *, draws: int = DRAWS, seed: int = 0
) -> tuple[Array, Array]:
    """Return how often some of our runs are as far from the others as theirs are from all of ours.

    If both sides do the same, any five of our runs are like their five. The p-value is twice the
    smaller tail, where theirs count as one more draw.

    Args:
        ours: C results of S runs each (C, S). A draw takes the same runs of all results.
        means: what they print for each (C,).
        stds: their standard deviations (C,).
        n_theirs: number of their runs.
        draws: number of draws.
        seed: of the draws.

    Returns:
        Two-sided p-values (C,) of the means, and of the standard deviations.

    >>> ours = np.arange(50.0)[None]
    >>> exchange(ours, np.array([24.5]), np.array([14.0]), 5, draws=999)[0] > 0.9
    array([ True])
    >>> exchange(ours, np.array([60.0]), np.array([14.0]), 5, draws=999)[0]  # beyond every draw
    array([0.002])
    """
    slack = 1e-12 * (np.abs(ours - ours.mean(axis=1, keepdims=True)).max(axis=1) + np.abs(means))
    seen = np.stack([means - ours.mean(axis=1), stds - ours.std(axis=1, ddof=1)])  # (2, C)
    below, above = np.ones_like(seen), np.ones_like(seen)
    for found in _apart(ours, n_theirs, draws, seed):
        below += (found <= (seen + slack)[..., None]).sum(axis=2)
        above += (found >= (seen - slack)[..., None]).sum(axis=2)
    p = np.minimum(2 * np.minimum(below, above) / (draws + 1), 1.0)
    return p[0], p[1]


def joint_exchange_p(
    ours: Array, means: Array, n_theirs: int, *, draws: int = DRAWS, seed: int = 0
) -> float:
    """Return the p-value of all published means together, by the draws of `exchange`.

    The distance of some runs from the others is the sum of squares of the differences of means,
    each in standard deviations of our runs. As a draw takes the same runs of all results, results
    that depend on each other need no correction.

    >>> ours = np.array([np.arange(50.0), -np.arange(50.0)])  # one result, twice
    >>> one, both = np.array([40.0]), np.array([40.0, -40.0])
    >>> joint_exchange_p(ours[:1], one, 5) == joint_exchange_p(ours, both, 5)
    True
    """
    unit = ours.std(axis=1, ddof=1, keepdims=True)
    seen = float((((means - ours.mean(axis=1))[:, None] / unit) ** 2).sum())
    found = (((x[0] / unit) ** 2).sum(axis=0) for x in _apart(ours, n_theirs, draws, seed))
    return (1 + sum(int((x >= seen * (1 - 1e-12)).sum()) for x in found)) / (draws + 1)


def _apart(ours: Array, n_theirs: int, draws: int, seed: int) -> Iterator[Array]:
    """Yield by how much drawn runs exceed the others, in mean and in SD (2, C, size)."""
    ours, n = matrix("ours", ours), np.shape(ours)[1]
    whole("n_theirs", n_theirs, low=2)
    if n < n_theirs + 2:
        raise ValueError(f"ours must hold at least n_theirs + 2 = {n_theirs + 2} runs, got {n}")
    centred = ours - ours.mean(axis=1, keepdims=True)  # sums of squares then lose no digits
    all_squares = (centred**2).sum(axis=1)[:, None]
    rng, rest = np.random.default_rng(seed), n - n_theirs
    for start in range(0, draws, _AT_ONCE):
        size = min(_AT_ONCE, draws - start)
        drawn = np.argpartition(rng.random((size, n)), n_theirs, axis=1)[:, :n_theirs]
        taken = np.zeros((size, n))
        np.put_along_axis(taken, drawn, 1.0, axis=1)
        sums, squares = centred @ taken.T, centred**2 @ taken.T
        std = _std(sums, squares, n_theirs) - _std(-sums, all_squares - squares, rest)
        yield np.stack([sums / n_theirs + sums / rest, std])


def _std(sums: Array, squares: Array, n: int) -> Array:
    return np.asarray(np.sqrt(np.maximum(squares - sums**2 / n, 0) / (n - 1)))


def equal_means_p(
    difference: ArrayLike,
    margin: ArrayLike,
    std: ArrayLike,
    n: ArrayLike,
    std_2: ArrayLike,
    n_2: int,
) -> Array:
    """Return the p-value against two means that are `margin` or more apart.

    The larger p-value of two one-sided Welch tests (Schuirmann 1987), from summaries.

    Args:
        difference: of the two means.
        margin: the largest difference that counts as equal.
        std: standard deviation of the one sample.
        n: its size; infinity for a mean that is known.
        std_2: standard deviation of the other.
        n_2: its size.

    >>> print(equal_means_p(0.0, 1.4584, 1.0, 5, 1.0, 5).round(4))  # half of the two-sided 5%
    0.025
    """
    error, degrees = _welch(std, n, std_2, n_2)
    room = np.subtract(margin, np.abs(difference))
    with np.errstate(divide="ignore", invalid="ignore"):
        p = stats.t.sf(room / error, degrees)
    return np.where(error == 0, room <= 0, p)


def smallest_margin(
    difference: ArrayLike, std: ArrayLike, n: ArrayLike, std_2: ArrayLike, n_2: int
) -> Array:
    """Return the smallest margin that passes `equal_means_p` at 5%, of the same arguments.

    >>> print(smallest_margin(0.0, 0.0, math.inf, 1.0, 5).round(4))  # 2.1318 / sqrt(5), 4 degrees
    0.9534
    """
    error, degrees = _welch(std, n, std_2, n_2)
    return np.abs(difference) + stats.t.isf(SIGNIFICANCE, degrees) * error


def _welch(std: ArrayLike, n: ArrayLike, std_2: ArrayLike, n_2: int) -> tuple[Array, Array]:
    """Return the standard error of a difference of two means, and its degrees of freedom."""
    n = np.asarray(n, dtype=float)
    a, b = np.square(std) / n, np.square(std_2) / n_2
    with np.errstate(invalid="ignore"):  # without any variation there are none
        degrees = (a + b) ** 2 / (a**2 / (n - 1) + b**2 / (n_2 - 1))
    return np.sqrt(a + b), np.nan_to_num(degrees, nan=1.0)


def expected_gap(n: int, n_2: int) -> float:
    """Return the mean distance of the means of two samples from one normal distribution.

    In pooled standard deviations: the mean of |t| with n + n_2 - 2 degrees, times its scale.

    >>> round(expected_gap(5, 5), 4)
    0.559
    """
    return float(stats.t(n + n_2 - 2).expect(abs) * np.sqrt(1 / n + 1 / n_2))


# ------------------------------------------------------- coverage of a finite test set


def coverage_p_value(picp: float, level: float, n_test: int, n_cal: int | None = None) -> float:
    r"""Return the two-sided p-value of the coverage of a test set against its level.

    With the k-th of n calibration samples, :math:`k = \lceil n \phi \rceil`, a plane covers a
    share of all samples that follows the law Beta(k, n + 1 - k), and therefore a Beta-binomial
    number of the test samples. Without a calibration set the law is that of a model whose
    coverage *is* the level: binomial. The p-value is twice the smaller tail. Ties, such as
    duplicate rows, can only increase the coverage of a rank.

    Args:
        picp: share of the test samples that are covered.
        level: the coverage asked for.
        n_test: number of test samples.
        n_cal: number of calibration samples, or None.

    >>> coverage_p_value(0.9, 0.9, n_test=100, n_cal=100)
    1.0
    >>> round(coverage_p_value(0.0, 0.5, n_test=3, n_cal=1), 4)  # Beta(1, 1): 0..3 alike
    0.5
    """
    between("level", level, 0, 1)
    hits = np.arange(n_test + 1)
    if n_cal is None:
        law = stats.binom.pmf(hits, n_test, level)
    else:
        k = rank(level, n_cal)
        law = stats.betabinom.pmf(hits, n_test, k, n_cal + 1 - k)
    covered = round(picp * n_test)
    return float(min(1.0, 2 * min(law[: covered + 1].sum(), law[covered:].sum())))


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
