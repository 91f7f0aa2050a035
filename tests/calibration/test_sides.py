"""A plane for each bound: equal and unequal tails, and one side."""

from __future__ import annotations

import math

import numpy as np
import pytest
from families import Cone, cone, left_out

from gt2lite.calibration import CoverageError, covers
from gt2lite.practice.calibrators import RankCalibrator, fewest_samples, make_calibrator

pytestmark = pytest.mark.filterwarnings("ignore::gt2lite.calibration.SmallCalibrationWarning")

TAILS = [(0.5, 0.5), (1.0, 0.0), (0.2, 0.8)]
each_tails = pytest.mark.parametrize("tails", TAILS)


@each_tails
def test_left_out_in_turn_a_sample_is_beyond_a_bound_as_rarely_as_promised(tails):
    n, phi = 60, 0.9
    family, y = cone(n)
    beyond = np.zeros(2, dtype=int)
    for i, _, part, known in left_out(family, y):
        fitted = RankCalibrator("conformal", "each", tails).fit(part, known)
        lower, upper = fitted.intervals(family, phi)
        beyond += [y[i] < lower[i], y[i] > upper[i]]
        for end, tail in zip((lower, upper), tails, strict=True):
            assert (np.abs(end) == np.inf).all() == (tail == 0)
    promised = [math.floor(round(n * tail * (1 - phi), 9)) for tail in tails]
    assert beyond.tolist() == promised  # only the rounding of ranks is lost


def test_a_bound_stops_at_the_type_1_output_and_coverage_is_only_increased():
    y = np.linspace(0.1, 1, 100)  # all above the output
    family = Cone(np.zeros(100), 1.0, 1.0)
    two = RankCalibrator("exact", "each").fit(family, y)
    assert two.alpha(0.5)[0] == 1.0
    lower, upper = two.intervals(family, 0.5)
    assert (lower == 0).all()
    assert two.reached(0.5) == covers(y, lower, upper).mean() == 0.75


def test_shapes_for_one_level_and_for_several():
    family, y = cone(200)
    two = RankCalibrator("conformal", "each").fit(family, y)
    assert two.alpha(0.9).shape == two.margin(0.9).shape == (2,)
    assert two.alpha([0.5, 0.9, 0.95]).shape == (2, 3)
    np.testing.assert_array_equal(two.alpha([0.5, 0.9])[:, 1], two.alpha(0.9))
    lower, upper = two.intervals(family, [0.5, 0.9])
    assert lower.shape == upper.shape == (200, 2)
    np.testing.assert_array_equal(lower[:, 1], two.intervals(family, 0.9)[0])
    (row,) = two.report(0.9)
    assert (row.group, row.n_samples, row.calibrated_on) == (None, 200, "all")
    assert row.reached == two.reached(0.9)


@pytest.mark.parametrize("tails", [None, *TAILS])
def test_fewest_samples_are_just_enough(tails):
    sides, options = ("both", {}) if tails is None else ("each", {"tails": tails})
    for phi in (0.6, 0.9, 2 / 3):
        n = fewest_samples(phi, sides, tails)
        make_calibrator("conformal", sides, False, options).fit(*cone(n)).alpha(phi)
        with pytest.raises(CoverageError, match=f"at least {n} samples"):
            make_calibrator("conformal", sides, False, options).fit(*cone(n - 1)).alpha(phi)


@pytest.mark.parametrize("bad", [0.2, (0.2, 0.7), (1.2, -0.2), (0.2, 0.3, 0.5), "lower"])
def test_invalid_tails_are_refused(bad):
    with pytest.raises(ValueError, match="tails must"):
        RankCalibrator("conformal", "each", bad)
