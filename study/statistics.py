r"""What chance gives: the few tests by which numbers of ours are compared.

Five seeds are a small sample and a test set is a finite one, so that two honest runs
differ. The functions here say how easily. They know nothing of the paper: what is
compared with what, see `study.cells` and `study.claims`. The tests need SciPy;
the redraws of calibration and test part, which show the same without theory, do not.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from gt2lite._validation import Array, IntArray, between
from gt2lite.calibration import (
    CALIBRATORS,
    RANKED,
    CoverageError,
    Cut,
    Scores,
    SmallCalibrationWarning,
    find_cuts,
    rank,
)
from gt2lite.memberships import ALPHA_0

SIGNIFICANCE = 0.05
"""A p-value below this is beyond chance."""


def holm(p_values: ArrayLike) -> list[float]:
    """Return p-values corrected for being many, by Holm's step-down rule.

    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03, 0.005])]  # times 3, 1, 2, 4, then rising
    [0.03, 0.06, 0.06, 0.02]
    """
    p = np.asarray(p_values, dtype=float)
    order = np.argsort(p)
    adjusted = np.empty(p.size)
    adjusted[order] = np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1)).clip(max=1)
    return [float(value) for value in adjusted]


def welch(mean: float, std: float, n: int, mean_2: float, std_2: float, n_2: int) -> float:
    """Return the p-value of Welch's t-test of two samples, known by mean, std and size.

    Two samples without any spread are either equal (1) or not (0).

    >>> round(welch(1.0, 1.0, 5, 2.0, 1.0, 5), 4)  # t = 1 / sqrt(2 / 5) with 8 degrees
    0.1525
    """
    if _only_rounding(std, mean) and _only_rounding(std_2, mean_2):
        return float(math.isclose(mean, mean_2, rel_tol=1e-12))
    test = _scipy_stats().ttest_ind_from_stats(mean, std, n, mean_2, std_2, n_2, equal_var=False)
    return float(test.pvalue)


def paired_p(differences: Array) -> float:
    """Return the p-value of a t-test of differences (n,) against 0.

    Differences without any spread are either 0 (1) or not (0).

    >>> round(paired_p(np.array([1.0, 2.0, 3.0])), 4)  # t = 2 / (1 / sqrt(3)) with 2 degrees
    0.0742
    """
    n, mean, std = differences.size, float(differences.mean()), float(differences.std(ddof=1))
    if _only_rounding(std, mean):
        return float(mean == 0)
    return float(2 * _scipy_stats().t.sf(abs(mean) / (std / math.sqrt(n)), n - 1))


def equal_p(differences: Array, margin: float, test_over_train: float = 0.0) -> float:
    """Return the p-value against a mean of differences (n,) that is `margin` or more from 0.

    Two one-sided t-tests, the larger p-value of which counts: where it is small, the mean is shown
    to be nearer to 0 than the margin. Differences without any spread are nearer (0) or not (1).

    Args:
        differences: one for each run (n,).
        margin: what still counts as 0.
        test_over_train: for re-splits of one table, see `corrected_t`.

    >>> round(equal_p(np.array([-1.0, 0.0, 1.0]), 2.0), 4)  # t = 2 / (1 / sqrt(3)), one tail
    0.0371
    """
    return beyond_p(margin, differences, abs(float(differences.mean())), test_over_train)


def beyond_p(value: float, differences: Array, limit: float, test_over_train: float = 0.0) -> float:
    """Return the one-sided p-value against a value that is at most `limit`.

    The error of the value is that of the mean of differences (n,). Without any spread the value
    is above the limit (0) or not (1).

    >>> round(beyond_p(2.0, np.array([1.0, 2.0, 3.0]), 0.0), 4)  # half of the two-sided 0.0742
    0.0371
    """
    error = _error(differences, test_over_train)
    if error == 0:
        return float(value <= limit)
    return float(_scipy_stats().t.sf((value - limit) / error, differences.size - 1))


def upper_bound(differences: Array, test_over_train: float = 0.0) -> float:
    """Return the one-sided 95 % upper bound of the mean of differences (n,).

    >>> round(upper_bound(np.array([1.0, 2.0, 3.0])), 4)  # 2 + 2.92 / sqrt(3)
    3.6859
    """
    t = _scipy_stats().t.isf(SIGNIFICANCE, differences.size - 1)
    return float(differences.mean() + t * _error(differences, test_over_train))


def _error(differences: Array, test_over_train: float) -> float:
    """Return the standard error of a mean, 0 where the differences have rounding only."""
    std = float(differences.std(ddof=1))
    if _only_rounding(std, float(differences.mean())):
        return 0.0
    return std * math.sqrt(1 / differences.size + test_over_train)


def paired_half(differences: Array, confidence: float = 0.95) -> float:
    """Return half the length of the t-interval of the mean of differences (n,).

    >>> round(paired_half(np.array([1.0, 2.0, 3.0])), 4)  # 4.3027 / sqrt(3)
    2.4841
    """
    n = differences.size
    t = _scipy_stats().t.ppf((1 + between("confidence", confidence, 0, 1)) / 2, n - 1)
    return float(t * differences.std(ddof=1) / math.sqrt(n))


class Corrected(NamedTuple):
    """The mean of differences over repeated splits, half of its interval, and its p-value."""

    mean: float
    half: float
    p: float


def corrected_t(
    differences: ArrayLike, test_over_train: float, confidence: float = 0.95
) -> Corrected:
    r"""Return the corrected t-test of differences (J,) over splits of the same rows.

    Splits overlap, so that differences vary less between them than between fresh data. Nadeau and
    Bengio (2003) put :math:`s^2 (1/J + n_\text{test} / n_\text{train})` in place of
    :math:`s^2 / J` for the variance of the mean; there are J - 1 degrees of freedom.

    Args:
        differences: one for each split, two at least.
        test_over_train: rows of the test part over rows of the training part; 0 corrects nothing.
        confidence: of the interval.

    Returns:
        The mean, half the length of its interval, and the p-value against 0. Differences without
        any spread are either 0 (p = 1) or not (p = 0).

    >>> found = corrected_t([1.0, 2.0, 3.0], test_over_train=2 / 3)  # variance 1 / 3 + 2 / 3
    >>> [round(value, 4) for value in found]  # t = 2 with 2 degrees of freedom
    [2.0, 4.3027, 0.1835]
    """
    gaps = np.asarray(differences, dtype=float)
    if gaps.ndim != 1 or gaps.size < 2:
        raise ValueError(f"differences must be a row of two or more, got shape {gaps.shape}")
    if not test_over_train >= 0:
        raise ValueError(f"test_over_train must not be negative, got {test_over_train!r}")
    n, mean, std = gaps.size, float(gaps.mean()), float(gaps.std(ddof=1))
    if _only_rounding(std, mean):
        return Corrected(mean, 0.0, float(mean == 0))
    error = std * math.sqrt(1 / n + test_over_train)
    t = _scipy_stats().t(n - 1)
    reach = float(t.ppf((1 + between("confidence", confidence, 0, 1)) / 2))
    return Corrected(mean, reach * error, float(2 * t.sf(abs(mean) / error)))


def expected_gap(n: int) -> float:
    """Return how far two samples of n from one bell curve are apart on average.

    In pooled standard deviations: the mean of |t| with 2 n - 2 degrees, times sqrt(2 / n).

    >>> round(expected_gap(5), 4)
    0.559
    """
    return float(_scipy_stats().t(2 * n - 2).expect(abs) * np.sqrt(2 / n))


def coverage_p_value(
    picp: float, level: float, n_test: Sequence[int], n_cal: Sequence[int] | None = None
) -> float:
    r"""Return how likely a mean coverage as far from its level as this is, or farther.

    With the k-th of n calibration samples, :math:`k = \lceil n \phi \rceil`, a plane covers a
    share of all samples that follows the law Beta(k, n + 1 - k), and therefore a
    Beta-binomial number of the test samples. Without a calibration set the law is that of a
    model whose coverage *is* the level: binomial. The runs are taken as independent, and
    their exact laws are added up. The value is two-sided, twice the smaller tail.

    Ties, such as duplicate rows, push the coverage of a rank up. A plane found by table or
    search may sit beside the rank; what that costs on the calibration set comes on top.

    Args:
        picp: the mean over the runs, weighted by `n_test`.
        level: the coverage asked for.
        n_test: test samples of each run.
        n_cal: calibration samples of each run, or None.

    >>> coverage_p_value(0.9, 0.9, n_test=[100], n_cal=[100])
    1.0
    >>> round(coverage_p_value(1.0, 0.9, n_test=[2]), 4)  # 2 * 0.9**2 is over 1: no surprise
    1.0
    >>> round(coverage_p_value(0.0, 0.5, n_test=[3], n_cal=[1]), 4)  # Beta(1, 1): 0..3 alike
    0.5
    """
    between("level", level, 0, 1)
    stats = _scipy_stats()
    law = np.ones(1)  # of the number of samples covered so far
    for i, n in enumerate(n_test):
        hits = np.arange(n + 1)
        if n_cal is None:
            one = stats.binom.pmf(hits, n, level)
        else:
            k = rank(level, n_cal[i])
            one = stats.betabinom.pmf(hits, n, k, n_cal[i] + 1 - k)
        law = np.convolve(law, one)
    covered = round(picp * sum(n_test), 6)  # whole, but for rounding or for a printed mean
    tails = law[: math.ceil(covered) + 1].sum(), law[math.floor(covered) :].sum()
    return float(min(1.0, 2 * min(tails)))


def redraws(
    n_pool: int, n_cal: int, n_test: int, times: int, rng: np.random.Generator
) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield the rows of a calibration and a test part, drawn anew from a pool each time.

    Args:
        n_pool: size of the pool; no row is drawn twice.
        n_cal: rows for calibration.
        n_test: rows for the test.
        times: how often.
        rng: the source of the draws.

    >>> [(len(cal), len(test)) for cal, test in redraws(9, 4, 5, 2, np.random.default_rng(0))]
    [(4, 5), (4, 5)]
    """
    for _ in range(times):
        rows = rng.permutation(n_pool)[: n_cal + n_test]
        yield rows[:n_cal], rows[n_cal:]


def redrawn_coverage(
    scores: Scores,
    level: float,
    n_cal: int,
    n_test: int,
    times: int,
    rng: np.random.Generator,
    methods: Sequence[str] = tuple(CALIBRATORS),
) -> dict[str, Array]:
    """Return what each method covers of a test part, over many redraws with the model fixed.

    Where a level is out of reach for table or search, they end at the widest plane.

    Args:
        scores: those of all rows of the pool, see `gt2lite.calibration.critical_scores`.
        level: the coverage asked for.
        n_cal: rows for calibration.
        n_test: rows for the test.
        times: redraws.
        rng: the source of the draws.
        methods: their names.

    Returns:
        For each method the coverages (times,).
    """
    found: dict[str, list[float]] = {method: [] for method in methods}
    for cal, test in redraws(len(scores), n_cal, n_test, times, rng):
        seen, new = scores.take(cal), scores.take(test)
        for method in methods:
            cut = (
                find_cuts(seen, level, method)[0]
                if method in RANKED
                else _chosen(seen, level, method)
            )
            found[method].append(float(new.covered(cut).mean()))
    return {method: np.array(values) for method, values in found.items()}


def _chosen(seen: Scores, level: float, method: str) -> Cut:
    """Return what table or search choose, which see no more of a sample than its score tells."""

    def interval(alpha: float | Array) -> tuple[Array, Array]:
        return np.zeros(len(seen)), np.where(seen.alpha >= alpha, 0.0, -1.0)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SmallCalibrationWarning)
        calibrator = CALIBRATORS[method]().fit(interval, np.zeros(len(seen)))
    try:
        return Cut(calibrator.alpha(level))
    except CoverageError:
        return Cut(ALPHA_0)


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
    binom = _scipy_stats().binom
    shares = np.unique(np.concatenate([np.arange(n + 1) / n for n in sizes]))
    reached = np.ones(shares.size)  # probability that all bins have at least that share
    for n in sizes:
        hits = np.ceil(np.round(shares * n, 9))
        reached *= binom.sf(hits - 1, n, level)
    return float(np.sum(np.diff(shares, prepend=0.0) * reached))


def _only_rounding(std: float, mean: float) -> bool:
    return std <= 1e-12 * abs(mean)


def _scipy_stats() -> Any:
    try:
        from scipy import stats
    except ImportError as error:
        raise ImportError(
            "comparing with the paper needs SciPy, which is not installed: pip install scipy"
        ) from error
    return stats
