"""Tests of the study: hand-worked values, enumeration, and simulation against exact laws."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from study.statistics import (
    beyond_p,
    corrected_t,
    coverage_p_value,
    exchange,
    smallest_margin,
    standard_error,
    welch,
    worst_by_chance,
)


def test_the_corrected_test_by_hand():
    gaps = np.array([0.3, -0.1, 0.4, 0.2, 0.1])
    for share in (0.0, 15 / 70):
        mean, half, p = corrected_t(gaps, share)
        error = gaps.std(ddof=1) * math.sqrt(1 / 5 + share)
        assert mean == pytest.approx(0.18)
        assert half == pytest.approx(stats.t.isf(0.025, 4) * error)
        assert p == pytest.approx(2 * stats.t.sf(0.18 / error, 4))
        assert corrected_t(-gaps, share)[1:] == (half, p)
    plain = stats.ttest_1samp(gaps, 0)  # nothing to correct
    assert corrected_t(gaps, 0.0).p == pytest.approx(plain.pvalue)
    assert corrected_t(np.zeros(3), 0.2) == (0, 0, 1)
    assert corrected_t(np.ones(3), 0.2) == (1, 0, 0)


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: corrected_t([1.0], 0.2), "differences"),
        (lambda: corrected_t([1.0, 2.0], -1), "test_over_train"),
        (lambda: coverage_p_value(0.9, 90, 10), "level"),
        (lambda: worst_by_chance([10], 1.5), "level"),
        (lambda: exchange(np.ones((1, 6)), np.ones(1), np.ones(1), 5), "ours"),
        (lambda: exchange(np.ones((1, 9)), np.ones(1), np.ones(1), 1), "n_theirs"),
    ],
)
def test_impossible_arguments_are_refused(call, argument):
    with pytest.raises(ValueError, match=argument):
        call()


def test_one_sided_tests_are_those_of_scipy():
    gaps = np.array([0.3, -0.1, 0.4, 0.2, 0.1])
    test = stats.ttest_1samp(gaps, 0.1, alternative="greater")
    assert beyond_p(gaps.mean(), 0.1, standard_error(gaps), 4) == pytest.approx(test.pvalue)
    assert beyond_p([1.0, 1.0], [0.9, 1.0], 0.0, 2).tolist() == [0, 1]
    assert (standard_error(np.array([gaps, np.full(5, 0.1)]))[1:] == 0).all()


def test_a_binomial_coverage_by_hand():
    # 1 of 4 covered at level 0.5: twice P(0 or 1) = 2 * 5 / 16. Both tails of 2 of 4 exceed 1 / 2.
    for share in (0.25, 0.75):
        assert coverage_p_value(share, 0.5, 4) == pytest.approx(10 / 16)
    assert coverage_p_value(0.5, 0.5, 4) == 1


def test_the_law_is_that_of_ranks():
    # Scores are uniform, the plane is the 45th smallest of 50, tested on 40 samples.
    rng = np.random.default_rng(0)
    planes = np.sort(rng.random((20_000, 50)), axis=1)[:, 44]
    covered = rng.binomial(40, planes)
    for count in (28, 31, 34, 37, 39):
        tail = min(np.mean(covered <= count), np.mean(covered >= count))
        p = coverage_p_value(count / 40, 0.9, 40, 50)
        assert p == pytest.approx(min(1, 2 * tail), abs=0.02)


def test_the_worst_of_several_bins_is_below_the_level_by_chance_alone():
    rng = np.random.default_rng(0)
    sizes = [5, 20, 147]
    drawn = np.min([rng.binomial(n, 0.9, size=200_000) / n for n in sizes], axis=0)
    assert worst_by_chance(sizes, 0.9) == pytest.approx(drawn.mean(), abs=0.001)
    # Two bins of 1 and 2 rows at 1/2: the lower share is 1 with 1/8, 1/2 with 1/4, else 0.
    assert worst_by_chance([1, 2], 0.5) == pytest.approx(1 / 8 + 1 / 2 * 1 / 4)
    assert worst_by_chance([3], 0.5) == pytest.approx(0.5)


# ---------------------------------------------------------- few runs against many


def enumerated(ours, mean, spread, k):
    """Both p-values over all choices of k of our runs, without the draw that theirs adds."""
    found = []
    for chosen in itertools.combinations(range(len(ours)), k):
        rest = np.delete(ours, chosen)
        some = ours[list(chosen)]
        found.append((some.mean() - rest.mean(), some.std(ddof=1) - rest.std(ddof=1)))
    seen = mean - ours.mean(), spread - ours.std(ddof=1)
    tails = [
        (np.mean(np.array(side) <= at + 1e-12), np.mean(np.array(side) >= at - 1e-12))
        for side, at in zip(zip(*found, strict=True), seen, strict=True)
    ]
    return [min(1.0, 2 * min(pair)) for pair in tails]


def test_draws_come_to_what_all_choices_give():
    rng = np.random.default_rng(1)
    ours = rng.normal(size=(3, 9))
    means, spreads = np.array([0.5, -0.2, ours[2].mean() + 0.9]), np.array([0.5, 1.5, 0.9])
    found = exchange(ours, means, spreads, 3, draws=40_000)
    for i in range(3):
        exact = enumerated(ours[i], means[i], spreads[i], 3)
        assert (found[0][i], found[1][i]) == pytest.approx(exact, abs=0.015)


def test_a_common_source_is_refuted_about_as_often_as_it_should_be():
    rng = np.random.default_rng(2)
    every = rng.normal(size=(400, 55))
    theirs, ours = every[:, :5], every[:, 5:]
    found = exchange(ours, theirs.mean(axis=1), theirs.std(axis=1, ddof=1), 5, draws=2000)
    for p in found:
        assert 0.02 < np.mean(p < 0.05) < 0.09
        assert 0.4 < np.mean(p < 0.5) < 0.6


def test_equality_of_means_by_two_one_sided_welch_tests():
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=50), rng.normal(0.2, 2.0, size=5)
    test = welch(a.std(ddof=1), 50, b.std(ddof=1), 5)
    sides = [
        stats.ttest_ind(a + 3.0, b, equal_var=False, alternative="greater").pvalue,
        stats.ttest_ind(a - 3.0, b, equal_var=False, alternative="less").pvalue,
    ]
    assert beyond_p(3.0, abs(a.mean() - b.mean()), *test) == pytest.approx(max(sides))


def test_the_smallest_margin_is_where_the_test_turns():
    facts = 2.0, 50, 3.0, 5
    assert beyond_p(smallest_margin(-0.7, *facts), 0.7, *welch(*facts)) == pytest.approx(0.05)
    # A mean that is known leaves the error of the other.
    best = smallest_margin(0.0, 5.0, math.inf, 3.0, 5)
    assert best == pytest.approx(stats.t.isf(0.05, 4) * 3 / math.sqrt(5))
    assert beyond_p(1.0, [0.5, 1.0], *welch(0, 5, 0, 5)).tolist() == [0, 1]
