"""Metrics: golden values on three points, slow loops against the fast forms."""

from __future__ import annotations

import numpy as np
import pytest

from gt2lite import metrics
from gt2lite.calibration import CoverageError
from gt2lite.memberships import kappa_of

# Three points: one inside, one 1 below, one 2 above; widths 2, 1, 3; the range of y is 8.
Y = np.array([1.0, -2.0, 6.0])
LOWER = np.array([0.0, -1.0, 1.0])
UPPER = np.array([2.0, 0.0, 4.0])


def test_golden_values_on_three_points():
    assert metrics.rmse(Y, [1.0, 0.0, 5.0]) == pytest.approx(np.sqrt((0 + 4 + 1) / 3))
    assert metrics.picp(Y, LOWER, UPPER) == 1 / 3
    assert metrics.pinaw(Y, LOWER, UPPER) == (2 + 1 + 3) / 3 / 8
    # At 80 % a miss costs 2 / 0.2 = 10 times its distance.
    assert metrics.interval_score(Y, LOWER, UPPER, 0.8) == pytest.approx(
        (2 + (1 + 10 * 1) + (3 + 10 * 2)) / 3
    )
    # Levels .3 and .9 with coverages 1/3 and 1: errors 1/30 and 1/10.
    lower, upper = np.c_[LOWER, LOWER - 2], np.c_[UPPER, UPPER + 2]
    assert metrics.calibration_error(Y, lower, upper, [0.3, 0.9]) == pytest.approx(
        (1 / 30 + 1 / 10) / 2
    )


def test_vectorised_forms_agree_with_slow_loops():
    rng = np.random.default_rng(0)
    y, y_hat = rng.normal(size=(2, 57))
    lower = rng.normal(size=(57, 4)) - 1
    upper = lower + rng.exponential(size=(57, 4))
    levels = [0.2, 0.5, 0.8, 0.95]
    assert metrics.rmse(y, y_hat) == pytest.approx(
        (sum((a - b) ** 2 for a, b in zip(y, y_hat, strict=True)) / 57) ** 0.5
    )
    errors = []
    for j, level in enumerate(levels):
        inside = widths = score = 0.0
        for i in range(57):
            low, high = lower[i, j], upper[i, j]
            inside += low <= y[i] <= high
            widths += high - low
            score += high - low
            if y[i] < low:
                score += 2 / (1 - level) * (low - y[i])
            if y[i] > high:
                score += 2 / (1 - level) * (y[i] - high)
        ends = lower[:, j], upper[:, j]
        assert metrics.picp(y, *ends) == pytest.approx(inside / 57)
        assert metrics.pinaw(y, *ends) == pytest.approx(widths / 57 / (max(y) - min(y)))
        assert metrics.interval_score(y, *ends, level) == pytest.approx(score / 57)
        errors.append(abs(inside / 57 - level))
    assert metrics.calibration_error(y, lower, upper, levels) == pytest.approx(np.mean(errors))


def test_both_ends_are_inside():
    y = np.array([0.0, 1.0])
    assert metrics.picp(y, np.zeros(2), np.ones(2)) == 1
    assert metrics.picp(y, np.zeros(2) + 1e-15, np.ones(2) - 1e-15) == 0
    assert metrics.interval_score(y, np.zeros(2), np.ones(2), 0.9) == 1  # no fine on the edge


def test_metrics_follow_the_units_of_the_target():
    for factor in (0.01, 7.0):
        scaled = [factor * values for values in (Y, LOWER, UPPER)]
        assert metrics.picp(*scaled) == metrics.picp(Y, LOWER, UPPER)
        assert metrics.pinaw(*scaled) == pytest.approx(metrics.pinaw(Y, LOWER, UPPER))
        assert metrics.interval_score(*scaled, 0.9) == pytest.approx(
            factor * metrics.interval_score(Y, LOWER, UPPER, 0.9)
        )


def test_the_true_quantiles_have_the_best_interval_score():
    y = np.random.default_rng(0).normal(size=100_000)
    scores = {
        z: metrics.interval_score(y, np.full(y.size, -z), np.full(y.size, z), 0.9)
        for z in (1.2, 1.4, 1.645, 1.9, 2.1)
    }
    assert min(scores, key=scores.__getitem__) == 1.645


# ------------------------------------------------------------ width at equal coverage


def band(y, width=1.0):
    """The plane alpha reaches from -kappa to kappa, times `width`."""

    def interval(alpha):
        kappa = np.broadcast_to(kappa_of(alpha), y.shape) * width
        return -kappa, kappa

    return interval


def test_width_at_coverage_on_a_family_with_a_known_answer():
    y = np.linspace(0.01, 1, 100)
    # k of the 100 lie within k / 100 of zero, so the width at k / 100 is 2 * k / 100.
    for k in (1, 7, 50, 90, 99):
        assert metrics.width_at_coverage(y, band(y), k / 100) == pytest.approx(2 * k / 100)
    # Between two steps the next one counts.
    assert metrics.width_at_coverage(y, band(y), 0.905) == pytest.approx(2 * 0.91)


def test_width_at_coverage_does_not_depend_on_how_planes_are_spread():
    y = np.linspace(0.01, 1, 100)
    assert metrics.width_at_coverage(y, band(y, width=3.0), 0.9) == pytest.approx(1.8)


def test_width_at_coverage_asks_for_no_large_set():
    y = np.array([0.1, 0.2, 0.3])  # a warning would be an error here
    assert metrics.width_at_coverage(y, band(y), 0.5) == pytest.approx(0.4)


def test_width_at_a_coverage_out_of_reach_is_an_error():
    y = np.array([0.5, 0.5, 2.0, 2.0])
    assert metrics.width_at_coverage(y, band(y), 0.5) == pytest.approx(1.0)
    with pytest.raises(CoverageError, match=r"coverage 0\.75 .* covers 2 of 4 targets"):
        metrics.width_at_coverage(y, band(y), 0.75)


# -------------------------------------------------------------------------- bad input


def test_lengths_must_agree():
    with pytest.raises(ValueError, match=r"y_hat must be a row of 3 values, got shape \(2,\)"):
        metrics.rmse(Y, [1.0, 2.0])
    for metric in (metrics.picp, metrics.pinaw):
        with pytest.raises(ValueError, match=r"upper must be a row of 3 values"):
            metric(Y, LOWER, UPPER[:2])
    with pytest.raises(ValueError, match=r"lower must be a row of 3 values, got shape \(3, 1\)"):
        metrics.interval_score(Y, LOWER[:, None], UPPER, 0.9)
    wide = np.zeros((3, 2))
    with pytest.raises(ValueError, match=r"upper must have a row for each of the 3 .*\(2, 3\)"):
        metrics.calibration_error(Y, wide, wide.T, [0.5, 0.9])
    with pytest.raises(ValueError, match=r"column for each of the 1 coverages"):
        metrics.calibration_error(Y, wide, wide, [0.5])


def test_what_is_not_finite_is_an_error_not_a_miss():
    with pytest.raises(ValueError, match=r"^lower .*finite numbers"):
        metrics.picp(Y, [0.0, np.nan, 0.0], UPPER)


def test_a_constant_target_has_no_range():
    with pytest.raises(ValueError, match=r"y must vary.*all are 4\.0"):
        metrics.pinaw([4.0, 4.0], [0.0, 0.0], [1.0, 1.0])


def test_a_level_must_be_a_level():
    with pytest.raises(ValueError, match=r"coverage must be a number in \(0, 1\), got 1"):
        metrics.interval_score(Y, LOWER, UPPER, 1)
    with pytest.raises(ValueError, match=r"coverage must be a number in \(0, 1\), got 95"):
        metrics.width_at_coverage(Y, band(Y), 95)
    with pytest.raises(ValueError, match=r"coverages must be a number in \(0, 1\)"):
        metrics.calibration_error(Y, LOWER[:, None], UPPER[:, None], [0.0])
