"""How large a difference must be for the tests of the study to find it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from gt2lite._validation import Array
from study.statistics import SIGNIFICANCE

WANTED = 0.8
"""A difference is *found* where the test sees it this often."""


class Power(NamedTuple):
    """How often a test finds a difference: alone, and as the first of many tests."""

    effect: Array  # (E,) true differences, in standard deviations
    one: Array  # (E,) share of the simulations in which a single test finds it
    first: Array  # (E,) the same at the threshold that Holm's rule sets the smallest p-value
    single: float  # the difference that a single test finds four times out of five
    many: float  # the same for the first of many


def power_of_runs(
    effect: Sequence[float] | Array,
    n_theirs: int,
    n_ours: int,
    n_tests: int,
    n_simulations: int,
    rng: np.random.Generator,
) -> Power:
    """Return how often samples whose means are `effect` apart are told apart, by simulation.

    The test is the t-test of equal variances, which asks what drawing some of our runs asks
    (`study.samples.exchange`) and takes no draws.

    Args:
        effect: true differences (E,), rising.
        n_theirs: the size of the one sample, from a bell curve of spread 1.
        n_ours: the size of the other, likewise.
        n_tests: the number of tests that Holm's rule corrects for.
        n_simulations: for each difference.
        rng: the source of the draws.
    """
    from scipy import stats

    effect = np.asarray(effect, dtype=float)
    one, first = np.empty(effect.size), np.empty(effect.size)
    for i, size in enumerate(effect):
        theirs = rng.normal(size=(n_theirs, n_simulations))
        ours = rng.normal(size, size=(n_ours, n_simulations))
        p = stats.ttest_ind(theirs, ours).pvalue  # (n_simulations,)
        one[i] = (p < SIGNIFICANCE).mean()
        first[i] = (p < SIGNIFICANCE / n_tests).mean()
    found = (float(np.interp(WANTED, share, effect)) for share in (one, first))
    return Power(effect, one, first, *found)


def runs_needed(effect: float, n_tests: int, n_ours: int | None = None) -> int:
    """Return how many runs of theirs find a difference four times out of five.

    By the exact power of the t-test of equal variances, as the first of `n_tests`.

    Args:
        effect: the true difference, in standard deviations.
        n_tests: the number of tests that Holm's rule corrects for.
        n_ours: our runs; None for as many as theirs.

    >>> runs_needed(1.0, n_tests=1)  # the textbook's 17 on each side
    17
    """
    from scipy import stats

    n = 2
    while True:
        ours = n if n_ours is None else n_ours
        degrees = n + ours - 2
        threshold = stats.t.isf(SIGNIFICANCE / n_tests / 2, degrees)
        shift = effect / np.sqrt(1 / n + 1 / ours)
        if stats.nct.sf(threshold, degrees, shift) >= WANTED:
            return n
        n += 1
