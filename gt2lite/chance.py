r"""What chance gives: the few tests by which numbers of ours are compared.

Five seeds are a small sample and a test set is a finite one, so that two honest runs
differ. The functions here say how easily. They need SciPy, and nothing of the paper: what is
compared with what is decided in `gt2lite.paper` and `gt2lite.claims`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gt2lite._checks import Array, between
from gt2lite.calibration import rank

SIGNIFICANCE = 0.05


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
