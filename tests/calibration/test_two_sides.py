"""A plane for each end."""

from __future__ import annotations

import math

import numpy as np
import pytest
from families import Cone, brute, cone, facts, system, targets
from hypothesis import given
from hypothesis import strategies as st

from gt2lite.calibration import (
    ExactCalibrator,
    TwoSidedCalibrator,
    covers,
)
from gt2lite.memberships import kappa_of

pytestmark = pytest.mark.filterwarnings("ignore::gt2lite.calibration.SmallCalibrationWarning")


@pytest.mark.slow
@pytest.mark.parametrize("make", [cone, system])
@pytest.mark.parametrize("method", ["exact", "conformal"])
def test_each_side_is_the_rank_of_its_own_scores(make, method):
    family, y = make(200)
    two = TwoSidedCalibrator(method).fit(family, y)
    ends = brute(family, y, 0), brute(family, y, 1)
    lowest = family(family.alpha_min)
    lacking = np.maximum(lowest[0] - y, 0), np.maximum(y - lowest[1], 0)
    for phi in (0.1, 0.5, 0.8, 0.9, 0.98):
        k = math.ceil((200 + (method == "conformal")) * round((1 + phi) * 50) / 100)
        for end in (0, 1):
            kappa = np.sort(ends[end])[k - 1]
            if kappa < np.inf:
                assert kappa_of(two.alpha(phi)[end]) == pytest.approx(kappa, abs=1e-8)
                assert two.margin(phi)[end] == 0
            else:
                assert np.isnan(two.alpha(phi)[end])
                assert two.margin(phi)[end] == pytest.approx(np.sort(lacking[end])[k - 1], rel=1e-9)


def test_each_side_misses_its_half_and_no_more():
    family, y = cone(400)
    two = TwoSidedCalibrator("exact").fit(family, y)
    for phi in (0.5, 0.9, 0.99):
        lower, upper = two.intervals(family, phi)
        assert (y < lower).sum() == (y > upper).sum() == round(400 * (1 - phi) / 2)
        assert two.reached(phi) == covers(y, lower, upper).mean() == pytest.approx(phi)


def test_one_plane_for_both_sides_can_leave_all_misses_on_one():
    y = np.linspace(-0.5, 2, 200)
    family = Cone(np.zeros(200), 1.0, 1.0, 1.5)
    lower, upper = ExactCalibrator().fit(family, y).intervals(family, 0.8)
    assert (y < lower).sum() == 0 and (y > upper).sum() == 40
    lower, upper = TwoSidedCalibrator("exact").fit(family, y).intervals(family, 0.8)
    assert (y < lower).sum() == (y > upper).sum() == 20


def test_left_out_in_turn_a_sample_is_beyond_each_side_as_rarely_as_promised():
    family, y = cone(60)
    for phi in (0.5, 0.9):
        below = above = 0
        for i in range(60):
            rest = np.delete(np.arange(60), i)
            part = Cone(family.centre[rest], family.below[rest], family.above[rest], 2.0)
            lower, upper = TwoSidedCalibrator().fit(part, y[rest]).intervals(family, phi)
            below += y[i] < lower[i]
            above += y[i] > upper[i]
        share = round((1 + phi) * 50) / 100
        assert below == above == 60 - math.ceil(round(60 * share, 9))
        assert below + above <= 60 * (1 - phi) + 1e-9  # the union bound


def test_an_end_stops_at_the_type_1_output_and_coverage_is_only_pushed_up():
    y = np.linspace(0.1, 1, 100)  # all above the output
    family = Cone(np.zeros(100), 1.0, 1.0)
    two = TwoSidedCalibrator("exact").fit(family, y)
    assert two.alpha(0.5)[0] == 1.0
    lower, upper = two.intervals(family, 0.5)
    assert (lower == 0).all()
    assert two.reached(0.5) == covers(y, lower, upper).mean() == 0.75


@facts
@given(targets, st.floats(0.01, 0.99))
def test_the_ends_never_cross(values, phi):
    y = np.array(values) / 10
    family = Cone(np.zeros(y.size), 0.7, 0.3, 1.5)
    lower, upper = TwoSidedCalibrator("exact").fit(family, y).intervals(family, phi)
    assert (lower <= upper).all()
    assert (y < lower).mean() <= (1 - phi) / 2 + 1e-9
    assert (y > upper).mean() <= (1 - phi) / 2 + 1e-9


def test_shapes_for_one_level_and_for_several():
    family, y = cone(200)
    two = TwoSidedCalibrator().fit(family, y)
    assert two.alpha(0.9).shape == two.margin(0.9).shape == (2,)
    assert two.alpha([0.5, 0.9, 0.95]).shape == (2, 3)
    np.testing.assert_array_equal(two.alpha([0.5, 0.9])[:, 1], two.alpha(0.9))
    lower, upper = two.intervals(family, [0.5, 0.9])
    assert lower.shape == upper.shape == (200, 2)
    np.testing.assert_array_equal(lower[:, 1], two.intervals(family, 0.9)[0])
    (row,) = two.report(0.9)
    assert (row.group, row.n_samples, row.calibrated_on) == (None, 200, "all")
    assert row.reached == two.reached(0.9)
