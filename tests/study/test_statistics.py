"""What chance gives: hand-worked values, and a simulation of ranks against the exact law."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from study.samples import welch_half

from gt2lite.calibration import CALIBRATORS, Scores, critical_scores
from gt2lite.memberships import kappa_of
from study.statistics import (
    beyond_p,
    corrected_t,
    coverage_p_value,
    equal_p,
    expected_gap,
    holm,
    paired_half,
    paired_p,
    redrawn_coverage,
    redraws,
    upper_bound,
    welch,
    worst_by_chance,
)


def test_holm_by_hand():
    # Sorted .005 .01 .03 .04, times 4 3 2 1: .02 .03 .06 .04, and none may fall below the last.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.9]) == [1.0, 1.0]
    assert holm([0.03]) == [0.03]


def test_welch_by_hand():
    # Means 3 apart, variances 4/4 + 9/9 = 2, so t = 3 / sqrt(2) = 2.1213;
    # degrees 2**2 / (1/3 + 1/8) = 8.7273. The tails by integrating the t density:
    t, df = 3 / math.sqrt(2), 4 / (1 / 3 + 1 / 8)
    x = np.linspace(t, 400, 2_000_001)
    constant = math.gamma((df + 1) / 2) / (math.sqrt(df * math.pi) * math.gamma(df / 2))
    tail = np.trapezoid(constant * (1 + x**2 / df) ** (-(df + 1) / 2), x)
    assert welch(10, 2, 4, 7, 3, 9) == pytest.approx(2 * tail, abs=1e-6)


def test_welch_is_symmetric_and_does_not_care_for_units():
    p = welch(10, 2, 4, 7, 3, 9)
    assert welch(7, 3, 9, 10, 2, 4) == pytest.approx(p)
    assert welch(0.10, 0.02, 4, 0.07, 0.03, 9) == pytest.approx(p)


def test_samples_without_spread_are_equal_or_not():
    assert welch(5, 0, 5, 5, 0, 5) == 1
    assert welch(5, 0, 5, 5.001, 0, 5) == 0
    assert 0 < welch(5, 0, 5, 6, 1, 5) < 1  # one spread is enough for a test
    assert paired_p(np.zeros(5)) == 1
    assert paired_p(np.full(5, 0.1) + 1e-17 * np.arange(5)) == 0


def test_paired_t_by_hand():
    # With one degree of freedom t has the Cauchy law: differences 1 and 3 give t = 2 / 1.
    assert paired_p(np.array([1.0, 3.0])) == pytest.approx(1 - 2 / math.pi * math.atan(2))
    # 5 and 1 have a standard error of 2, as have -5 and -1.
    for sign in (-1, 1):
        p = paired_p(sign * np.array([5.0, 1.0]))
        assert p == pytest.approx(1 - 2 / math.pi * math.atan(3 / 2))


def test_the_corrected_test_by_hand():
    gaps = np.array([1.0, 2.0, 3.0])
    found = corrected_t(gaps, 0.0)  # nothing to correct: the plain paired test
    assert found.p == pytest.approx(paired_p(gaps))
    assert found.half == pytest.approx(paired_half(gaps))
    wider = corrected_t(gaps, 0.25)  # variance 1 / 3 + 1 / 4 in place of 1 / 3
    assert wider.half / found.half == pytest.approx(math.sqrt(7 / 4))
    assert wider.mean == found.mean == 2 and wider.p > found.p
    assert corrected_t(-gaps, 0.25)[1:] == wider[1:]


def test_the_corrected_test_turns_where_its_interval_ends():
    gaps = np.array([0.3, 0.1, 0.4, 0.1, 0.5])
    mean, half, _ = corrected_t(gaps, 0.2)
    assert corrected_t(gaps - mean + half, 0.2).p == pytest.approx(0.05)
    assert corrected_t(gaps - mean + 2 * half, 0.2).p < 0.05


def test_the_corrected_test_of_differences_without_spread_and_its_errors():
    assert corrected_t(np.zeros(3), 0.2) == (0, 0, 1)
    assert corrected_t(np.ones(3), 0.2) == (1, 0, 0)
    with pytest.raises(ValueError, match=r"two or more, got shape \(1,\)"):
        corrected_t([1.0], 0.2)
    with pytest.raises(ValueError, match="test_over_train must not be negative, got -1"):
        corrected_t([1.0, 2.0], -1)


def test_equal_to_within_a_margin_by_hand():
    # Cauchy tails again: differences -1 and 3 have mean 1 and a standard error of 2.
    tail = 0.5 - math.atan((4 - 1) / 2) / math.pi
    for sign in (-1, 1):
        assert equal_p(sign * np.array([-1.0, 3.0]), 4.0) == pytest.approx(tail)
    assert equal_p(np.array([-1.0, 3.0]), 0.5) > 0.5  # the mean itself lies outside
    flat = np.full(4, 0.5)
    assert (equal_p(flat, 0.6), equal_p(flat, 0.5), equal_p(flat, 0.4)) == (0, 1, 1)


def test_re_splits_of_one_table_add_to_the_variance():
    stats = pytest.importorskip("scipy.stats")
    gaps = np.array([0.3, -0.1, 0.4, 0.2, 0.1])
    mean, half, p = corrected_t(gaps, 15 / 70)
    error = gaps.std(ddof=1) * math.sqrt(1 / 5 + 15 / 70)
    assert mean == pytest.approx(0.18)
    assert half == pytest.approx(stats.t.isf(0.025, 4) * error)
    assert p == pytest.approx(2 * stats.t.sf(0.18 / error, 4))
    assert corrected_t(gaps, 0.0) == pytest.approx((0.18, paired_half(gaps), paired_p(gaps)))
    assert corrected_t(np.zeros(4), 0.2) == (0, 0, 1) and corrected_t(np.ones(4), 0.2) == (1, 0, 0)


def test_one_sided_bounds_are_of_the_same_test():
    stats = pytest.importorskip("scipy.stats")
    gaps = np.array([0.3, -0.1, 0.4, 0.2, 0.1])
    for ratio in (0.0, 0.2):
        bound = upper_bound(gaps, ratio)
        assert beyond_p(bound, gaps, float(gaps.mean()), ratio) == pytest.approx(0.05)
        assert equal_p(gaps, bound, ratio) == pytest.approx(0.05)
    test = stats.ttest_1samp(gaps, 0.1, alternative="greater")
    assert beyond_p(float(gaps.mean()), gaps, 0.1) == pytest.approx(test.pvalue)
    assert (beyond_p(1.0, np.ones(3), 0.9), beyond_p(1.0, np.ones(3), 1.0)) == (0, 1)


def test_half_of_welchs_interval_is_where_its_test_turns():
    half = welch_half(2, 5, 3, 7)
    assert welch_half(3, 7, 2, 5) == pytest.approx(half)
    assert welch(7 + half, 2, 5, 7, 3, 7) == pytest.approx(0.05)
    assert welch(7 + welch_half(2, 5, 3, 7, 0.9), 2, 5, 7, 3, 7) == pytest.approx(0.10)


def test_the_expected_gap_by_simulation():
    rng = np.random.default_rng(0)
    for n in (3, 5):
        a, b = rng.normal(size=(2, 100_000, n))
        pooled = np.sqrt((a.var(axis=1, ddof=1) + b.var(axis=1, ddof=1)) / 2)
        gap = np.abs(a.mean(axis=1) - b.mean(axis=1)) / pooled
        assert expected_gap(n) == pytest.approx(gap.mean(), rel=0.01)


def test_a_binomial_coverage_by_hand():
    # 1 of 4 covered at level 0.5: twice P(0 or 1) = 2 * 5 / 16; two runs of 2 are the same law.
    assert coverage_p_value(0.25, 0.5, [4]) == pytest.approx(10 / 16)
    assert coverage_p_value(0.25, 0.5, [2, 2]) == pytest.approx(10 / 16)
    # A printed mean between two counts gets the benefit of the doubt: P(0, 1 or 2) > 1 / 2.
    assert coverage_p_value(0.3, 0.5, [4]) == 1


def test_calibration_adds_to_the_spread_of_coverage():
    trained = coverage_p_value(0.88, 0.9, [500] * 5)
    calibrated = coverage_p_value(0.88, 0.9, [500] * 5, [500] * 5)
    assert trained < 0.002 < calibrated < 0.05
    assert coverage_p_value(0.88, 0.9, [500] * 5, [50] * 5) > 0.05


def test_the_law_is_that_of_ranks():
    # Scores are uniform, the plane is the 45th smallest of 50, three runs of 40 test samples.
    rng = np.random.default_rng(0)
    planes = np.sort(rng.random((20_000, 3, 50)), axis=2)[:, :, 44]
    covered = rng.binomial(40, planes).sum(axis=1)
    for count in (90, 98, 106, 114, 118):
        tail = min(np.mean(covered <= count), np.mean(covered >= count))
        p = coverage_p_value(count / 120, 0.9, [40] * 3, [50] * 3)
        assert p == pytest.approx(min(1, 2 * tail), abs=0.02)


def test_a_level_outside_0_1_is_an_error():
    with pytest.raises(ValueError, match=r"level must be a number in \(0, 1\), got 90"):
        coverage_p_value(0.9, 90, [10])
    with pytest.raises(ValueError, match=r"level must be a number in \(0, 1\), got 1.5"):
        worst_by_chance([10], 1.5)
    for half in (lambda c: paired_half(np.arange(3.0), c), lambda c: welch_half(1, 5, 1, 5, c)):
        with pytest.raises(ValueError, match=r"confidence must be a number in \(0, 1\), got 1.5"):
            half(1.5)


def test_without_scipy_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(ImportError, match=r"needs SciPy.*pip install scipy"):
        welch(1, 1, 5, 2, 1, 5)


def test_a_redraw_takes_every_row_at_most_once():
    for cal, test in redraws(20, 7, 9, 50, np.random.default_rng(0)):
        assert len(cal) == 7 and len(test) == 9
        assert len({*cal, *test}) == 16 and max(*cal, *test) < 20


def test_redrawn_coverage_is_what_calibrators_do_with_the_rows():
    rng = np.random.default_rng(0)
    y = rng.normal(scale=0.6, size=300)

    def family(rows):
        def interval(alpha):
            kappa = np.broadcast_to(kappa_of(alpha), (len(rows),))
            return -kappa, kappa

        return interval

    scores = critical_scores(family(y), y)
    found = redrawn_coverage(scores, 0.8, 120, 150, 5, np.random.default_rng(1))
    assert list(found) == list(CALIBRATORS)
    for i, (cal, test) in enumerate(redraws(300, 120, 150, 5, np.random.default_rng(1))):
        for method, shares in found.items():
            calibrator = CALIBRATORS[method]().fit(family(cal), y[cal])
            lower, upper = calibrator.intervals(family(test), 0.8)
            assert shares[i] == np.mean((lower <= y[test]) & (y[test] <= upper))


def test_a_sample_is_covered_by_the_very_plane_of_its_score():
    # The plane 0.3 covers all of them and 0.4 half: 99.9 % is asked of a plane just above 0.3. Were
    # a sample outside its own plane, 0.2 and 0.3 would stand there instead, and all be covered.
    alpha = np.repeat([0.3, 0.7], 150)
    scores = Scores(alpha, np.zeros(300), np.ones(300), 0.01)
    found = redrawn_coverage(scores, 0.999, 100, 100, 5, np.random.default_rng(0), ("table",))
    assert (found["table"] < 0.7).all()


def test_where_no_plane_reaches_the_level_the_methods_of_the_paper_end_at_the_widest():
    alpha = np.repeat([0.5, 0.0], 100)
    scores = Scores(alpha, np.where(alpha > 0, 0.0, 1.0), np.ones(200), 0.01)
    found = redrawn_coverage(scores, 0.9, 100, 100, 20, np.random.default_rng(0))
    for method in ("table", "search"):
        assert (found[method] < 0.7).all()
    for method in ("exact", "conformal"):
        assert (found[method] == 1).all()  # the margin covers all


def test_the_worst_of_several_bins_is_below_the_level_by_chance_alone():
    rng = np.random.default_rng(0)
    sizes = [5, 20, 147]
    drawn = np.min([rng.binomial(n, 0.9, size=200_000) / n for n in sizes], axis=0)
    assert worst_by_chance(sizes, 0.9) == pytest.approx(drawn.mean(), abs=0.001)
    # Two bins of 1 and 2 rows at 1/2: the lower share is 1 with 1/8, 1/2 with 1/4, else 0.
    assert worst_by_chance([1, 2], 0.5) == pytest.approx(1 / 8 + 1 / 2 * 1 / 4)
    assert worst_by_chance([3], 0.5) == pytest.approx(0.5)


def test_half_an_interval_is_that_of_scipy():
    stats = pytest.importorskip("scipy.stats")
    gaps = np.array([0.3, -0.1, 0.4, 0.2, 0.1])
    low, high = stats.ttest_1samp(gaps, 0).confidence_interval(0.95)
    assert paired_half(gaps) == pytest.approx((high - low) / 2)
