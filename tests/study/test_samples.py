"""Their few runs against our many: by enumeration, by hand, and against SciPy."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from study.samples import equal_means_p, exchange, smallest_margin, welch_half

stats = pytest.importorskip("scipy.stats")


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
        assert (found.mean[i], found.spread[i]) == pytest.approx(exact, abs=0.015)


def test_a_common_source_is_refuted_about_as_often_as_it_should_be():
    rng = np.random.default_rng(2)
    every = rng.normal(size=(400, 55))
    theirs, ours = every[:, :5], every[:, 5:]
    found = exchange(ours, theirs.mean(axis=1), theirs.std(axis=1, ddof=1), 5, draws=2000)
    for p in found:
        assert 0.02 < np.mean(p < 0.05) < 0.09
        assert 0.4 < np.mean(p < 0.5) < 0.6


def test_draws_are_the_same_for_the_same_seed_and_smallest_beyond_all_of_them():
    ours = np.arange(12.0)[None]
    first, again = (exchange(ours, np.array([99.0]), np.array([0.0]), 5, draws=500) for _ in "ab")
    assert first.mean == again.mean == 2 / 501
    assert first.spread == again.spread


def test_too_few_runs_are_refused():
    with pytest.raises(ValueError, match=r"at least n_theirs \+ 2 = 7 runs, got 6"):
        exchange(np.ones((1, 6)), np.ones(1), np.ones(1), 5)
    with pytest.raises(ValueError, match="n_theirs"):
        exchange(np.ones((1, 9)), np.ones(1), np.ones(1), 1)


def test_equality_of_means_by_two_one_sided_welch_tests():
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=50), rng.normal(0.2, 2.0, size=5)
    facts = a.std(ddof=1), 50, b.std(ddof=1), 5
    gap, margin = a.mean() - b.mean(), 3.0
    sides = [
        stats.ttest_ind(a + margin, b, equal_var=False, alternative="greater").pvalue,
        stats.ttest_ind(a - margin, b, equal_var=False, alternative="less").pvalue,
    ]
    assert equal_means_p(gap, margin, *facts) == pytest.approx(max(sides))
    assert equal_means_p(-gap, margin, *facts) == pytest.approx(max(sides))


def test_the_smallest_margin_is_where_the_test_turns():
    facts = 2.0, 50, 3.0, 5
    margin = smallest_margin(-0.7, *facts)
    assert margin == pytest.approx(0.7 + welch_half(*facts, confidence=0.9))
    assert equal_means_p(0.7, margin, *facts) == pytest.approx(0.05)


def test_a_mean_that_is_known_leaves_the_error_of_the_other():
    best = smallest_margin(0.0, 5.0, math.inf, 3.0, 5)
    assert best == pytest.approx(stats.t.isf(0.05, 4) * 3 / math.sqrt(5))
    assert smallest_margin(0.0, 1e-9, 10**9, 3.0, 5) == pytest.approx(best)
    assert (equal_means_p(0.5, 1.0, 0, 5, 0, 5), equal_means_p(1.0, 1.0, 0, 5, 0, 5)) == (0, 1)
