"""The oracle: intervals moved along their own family until they cover the level."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gt2lite.calibration import ExactCalibrator, rank
from gt2lite.memberships import kappa_of
from gt2lite.metrics import covers
from gt2lite.system import Planes
from gt2lite.training import init_params
from study.oracle import margins_at_coverage, planes_at_coverage, widen


def band(y, width=1.0):
    """The plane alpha reaches from -kappa to kappa, times `width`."""

    def interval(alpha):
        kappa = np.broadcast_to(kappa_of(alpha), y.shape) * width
        return -kappa, kappa

    return interval


def mean_width(ends):
    lower, upper = ends
    return np.mean(upper - lower)


# --------------------------------------------------------------------------------- planes


def test_the_width_of_a_family_with_a_known_answer():
    y = np.linspace(0.01, 1, 100)
    # k of the 100 lie within k / 100 of zero, so the width at k / 100 is 2 * k / 100.
    for k in (1, 7, 50, 90, 99):
        assert mean_width(planes_at_coverage(band(y), y, k / 100)) == pytest.approx(2 * k / 100)
    # Between two steps the next one counts.
    assert mean_width(planes_at_coverage(band(y), y, 0.905)) == pytest.approx(2 * 0.91)


def test_the_width_does_not_depend_on_how_planes_are_spread():
    y = np.linspace(0.01, 1, 100)
    assert mean_width(planes_at_coverage(band(y, width=3.0), y, 0.9)) == pytest.approx(1.8)


def test_a_small_set_gets_no_warning():
    y = np.array([0.1, 0.2, 0.3])  # a warning would be an error here
    assert mean_width(planes_at_coverage(band(y), y, 0.5)) == pytest.approx(0.4)


def test_where_no_plane_covers_enough_the_lowest_gets_a_margin():
    y = np.array([0.5, 0.5, 2.0, 2.0])
    assert mean_width(planes_at_coverage(band(y), y, 0.5)) == pytest.approx(1.0)
    assert mean_width(planes_at_coverage(band(y), y, 0.75)) == pytest.approx(4.0)


def test_the_planes_of_a_system_are_those_of_the_exact_calibrator_to_the_last_bit():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2))
    planes = Planes(init_params(X, 4, rng), X)
    y = planes.output([0.01, 0.5, 1.0]) + 0.003 * rng.normal(size=150)
    exact = ExactCalibrator().fit(planes, y)
    levels = [0.3, 0.5, 0.97]
    several = planes_at_coverage(planes, y, levels)
    for i, level in enumerate(levels):
        ends = planes_at_coverage(planes, y, level)
        assert_array_equal(ends, exact.intervals(planes, level))
        assert_array_equal(ends, [end[:, i] for end in several])
        assert covers(y, *ends).sum() >= rank(level, 150)


# -------------------------------------------------------------------------------- margins


def test_a_margin_is_added_on_both_sides_and_an_empty_interval_is_its_middle():
    lower, upper = np.array([0.0, 2.0]), np.array([1.0, 1.0])
    assert_array_equal(widen(lower, upper, 0.5), [[-0.5, 1.5], [1.5, 1.5]])
    assert_array_equal(widen(lower, upper, 0.0), [[0.0, 1.5], [1.0, 1.5]])


def test_the_margin_is_the_smallest_of_all_that_cover_enough():
    for seed in range(5):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(5, 60))
        y, lower = rng.normal(size=(2, n))
        upper = lower + rng.uniform(0, 2, size=n)
        lacking = np.maximum(lower - y, y - upper)  # brute force: each would do for one row
        for level in (0.1, 0.5, 0.9):
            ends = margins_at_coverage(lower, upper, y, level)
            wanted = rank(level, n)
            assert covers(y, *ends).sum() >= wanted
            best = min(margin for margin in lacking if (lacking <= margin).sum() >= wanted)
            assert_allclose(ends, widen(lower, upper, best), atol=1e-9)


def test_bad_input():
    y = np.array([1.0, 2.0])
    for level in (0, 1, 95):
        with pytest.raises(ValueError, match=r"coverage must be a number in \(0, 1\)"):
            planes_at_coverage(band(y), y, level)
        with pytest.raises(ValueError, match=r"coverage must be a number in \(0, 1\)"):
            margins_at_coverage(y, y, y, level)
    with pytest.raises(ValueError, match=r"upper must"):
        margins_at_coverage(y, y[:1], y, 0.5)
