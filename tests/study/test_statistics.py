"""Tests of the study: hand-worked values, enumeration, and simulation against exact laws."""

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from gt2lite.training import init_params
from study import guarantee, statistics
from study.statistics import beyond_p, corrected_t, coverage_p_value, smallest_margin, welch

GAPS = np.array([0.3, -0.1, 0.4, 0.2, 0.1])


@pytest.mark.parametrize("share", [0.0, 15 / 70])
def test_the_corrected_test_by_hand(share):
    mean, half, p = corrected_t(GAPS, share)
    error = GAPS.std(ddof=1) * math.sqrt(1 / 5 + share)
    assert (mean, half) == pytest.approx((0.18, stats.t.isf(0.025, 4) * error))
    assert p == pytest.approx(2 * stats.t.sf(0.18 / error, 4))
    assert corrected_t(-GAPS, share)[1:] == (half, p)
    assert (corrected_t(np.zeros(3), share), corrected_t(np.ones(3), share)) == (
        (0, 0, 1),
        (1, 0, 0),
    )


def test_one_sided_tests_are_those_of_scipy():
    test = stats.ttest_1samp(GAPS, 0.1, alternative="greater")
    assert beyond_p(GAPS.mean(), 0.1, statistics.standard_error(GAPS), 4) == pytest.approx(
        test.pvalue
    )
    assert beyond_p([1.0, 1.0], [0.9, 1.0], 0.0, 2).tolist() == [0, 1]
    assert statistics.standard_error(np.full((1, 5), 0.1)) == 0


def test_coverage_follows_the_binomial_law_or_that_of_ranks():
    # 1 of 4 covered at level 0.5: twice P(0 or 1) = 2 * 5 / 16. Both tails of 2 of 4 exceed 1 / 2.
    found = [coverage_p_value(share, 0.5, 4) for share in (0.25, 0.75, 0.5)]
    assert found == pytest.approx([10 / 16, 10 / 16, 1])
    # A coverage of 0.4 to 0.6: twice P(0 or 1) at 0.4 is 2 * (0.1296 + 0.3456), at 0.6 alike.
    found = [coverage_p_value(share, 0.5, 4, margin=0.1) for share in (0.25, 0.75)]
    assert found == pytest.approx([0.9504, 0.9504])
    # Scores are uniform, the plane is the 45th smallest of 50, tested on 40 samples.
    rng = np.random.default_rng(0)
    covered = rng.binomial(40, np.sort(rng.random((20_000, 50)), axis=1)[:, 44])
    for count in (28, 31, 34, 37, 39):
        tail = min(np.mean(covered <= count), np.mean(covered >= count))
        p = coverage_p_value(count / 40, 0.9, 40, 50)
        assert p == pytest.approx(min(1, 2 * tail), abs=0.02)


def test_the_worst_of_several_bins_is_below_the_level_by_chance_alone():
    rng, sizes = np.random.default_rng(0), [5, 20, 147]
    drawn = np.min([rng.binomial(n, 0.9, size=200_000) / n for n in sizes], axis=0)
    assert statistics.worst_by_chance(sizes, 0.9) == pytest.approx(drawn.mean(), abs=0.001)
    # Two bins of 1 and 2 rows at 1/2: the lower share is 1 with 1/8, 1/2 with 1/4, else 0.
    assert statistics.worst_by_chance([1, 2], 0.5) == pytest.approx(1 / 8 + 1 / 2 * 1 / 4)


# ---------------------------------------------------------- few runs against many


def test_draws_come_to_what_all_choices_give():
    ours = np.random.default_rng(1).normal(size=9)
    parts = [
        (ours[list(some)], np.delete(ours, some)) for some in itertools.combinations(range(9), 3)
    ]
    means, stds = np.array([0.5, -0.2, ours.mean() + 0.9]), np.array([0.5, 1.5, 0.9])
    found = statistics.exchange(np.tile(ours, (3, 1)), means, stds, 3, draws=40_000)
    for p, at, measure in zip(found, (means, stds), (np.mean, stats.tstd), strict=True):
        gaps = np.array([measure(some) - measure(rest) for some, rest in parts])
        seen = (at - measure(ours))[:, None]
        tails = np.mean(gaps <= seen + 1e-12, axis=1), np.mean(gaps >= seen - 1e-12, axis=1)
        assert p == pytest.approx(np.minimum(1, 2 * np.minimum(*tails)), abs=0.015)


def test_a_common_source_is_refuted_about_as_often_as_it_should_be():
    theirs, ours = np.split(np.random.default_rng(2).normal(size=(400, 55)), [5], axis=1)
    for p in statistics.exchange(
        ours, theirs.mean(axis=1), theirs.std(axis=1, ddof=1), 5, draws=2000
    ):
        assert 0.02 < np.mean(p < 0.05) < 0.09
        assert 0.4 < np.mean(p < 0.5) < 0.6


def test_equality_is_two_one_sided_welch_tests_and_turns_at_the_smallest_margin():
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=50), rng.normal(0.2, 2.0, size=5)
    sides = [
        stats.ttest_ind(a + 3.0, b, equal_var=False, alternative="greater").pvalue,
        stats.ttest_ind(a - 3.0, b, equal_var=False, alternative="less").pvalue,
    ]
    facts, gap = (a.std(ddof=1), 50, b.std(ddof=1), 5), a.mean() - b.mean()
    assert beyond_p(3.0, abs(gap), *welch(*facts)) == pytest.approx(max(sides))
    for sign in (-1, 1):
        margin = smallest_margin(sign * gap, *facts)
        assert beyond_p(margin, abs(gap), *welch(*facts)) == pytest.approx(0.05)
    assert beyond_p(1.0, [0.5, 1.0], *welch(0, 5, 0, 5)).tolist() == [0, 1]


def test_redraws_follow_the_law_and_ties_raise_their_coverage(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 2)), rng.normal(size=400)
    params = init_params(X, 3, rng)
    found = {}
    for copies in (1, 20):
        rows = rng.permutation(np.repeat(np.arange(400 // copies), copies))
        parts = {"X_cal": X[rows[:200]], "y_cal": y[rows[:200]]}
        parts |= {"X_test": X[rows[200:]], "y_test": y[rows[200:]]}
        monkeypatch.setattr(guarantee, "split", lambda *_, p=parts: SimpleNamespace(**p))
        found[copies] = guarantee.with_ties(params, "made up", 0, 0.9, rng)
        assert (found[copies]["rows"], found[copies]["distinct"]) == (400, 400 // copies)
    without, tied = found[1], found[20]
    assert without["mean"] == pytest.approx(without["mean_law"], abs=0.15)  # three standard errors
    assert without["sd"] == pytest.approx(without["sd_law"], rel=0.035)
    assert 0.03 < without["false"] < 0.06
    assert tied["mean"] > tied["mean_law"] + 1
