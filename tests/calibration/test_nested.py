"""One nested family, from planes to margins, and one guarantee."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from families import Cone, cone, facts, level_of, ranked, system, targets
from hypothesis import given
from hypothesis import strategies as st

from gt2lite.calibration import (
    CALIBRATORS,
    ConformalCalibrator,
    CoverageError,
    ExactCalibrator,
    TwoSidedCalibrator,
    covers,
    critical_scores,
    rank,
)
from gt2lite.memberships import ALPHA_0

pytestmark = pytest.mark.filterwarnings("ignore::gt2lite.calibration.SmallCalibrationWarning")


@facts
@given(targets, st.sampled_from([1.0, 1.5, 3.0]), st.sampled_from([0.0, 1e6, -3e-7]))
def test_a_cut_covers_just_those_whose_score_it_reaches(values, kappa_max, shift):
    y = shift + np.array(values) / 10
    family = Cone(np.full(y.size, shift), 1.0, 0.5, kappa_max)
    exact = ExactCalibrator().fit(family, y)
    for k in range(1, y.size):
        lower, upper = exact.intervals(family, level_of(k, y.size))
        inside = covers(y, lower, upper)
        assert inside.mean() == exact.reached(level_of(k, y.size))
        assert inside.sum() >= k
        cut = exact.scores.cut(k)
        np.testing.assert_array_equal(exact.scores.covered(cut), inside)


@pytest.mark.parametrize("make", [cone, system])
def test_intervals_are_nested_through_all_stages(make):
    family, y = make(200)
    exact = ExactCalibrator().fit(family, y)
    levels = np.arange(1, 200) / 200
    lower, upper = exact.intervals(family, levels)
    assert (np.diff(lower, axis=1) <= 1e-14).all() and (np.diff(upper, axis=1) >= -1e-14).all()
    alpha, margin = exact.alpha(levels), exact.margin(levels)
    planes = ~np.isnan(alpha)
    assert (alpha[planes] >= ALPHA_0).any() and (alpha[planes] < ALPHA_0).any()
    assert (margin[planes] == 0).all() and (margin[~planes] > 0).all() and (~planes).any()
    assert (np.diff(alpha[planes]) <= 0).all() and (np.diff(margin) >= 0).all()
    assert (np.diff(planes.astype(int)) <= 0).all()  # once in the margin, always in the margin


def test_planes_below_the_envelope_go_on_by_the_same_formula():
    family = Cone(np.zeros(200), 1.0, 1.0, kappa_max=3.0)
    y = np.linspace(0.01, 2, 200)
    exact = ExactCalibrator().fit(family, y)
    assert exact.alpha(0.75) == pytest.approx(0.01 ** (1.5**2), rel=1e-9)
    assert exact.coverage(exact.alpha(0.75)) == exact.reached(0.75) == 0.75
    assert exact.max_coverage == 0.5  # that of the envelope
    assert exact.margin(0.75) == 0
    with pytest.raises(ValueError, match=r"alpha must be a number in \[1e-18, 1\]"):
        exact.coverage(1e-19)


def test_each_sample_in_turn_is_the_new_one_and_the_guarantee_holds_in_every_stage():
    # If all orders are equally likely, the share over who is left out *is* the probability.
    family, y = cone(60)
    phi, hits = [0.05, 0.5, 0.8, 0.9, 0.95, 0.98], {"exact": 0, "conformal": 0}
    for i in range(60):
        rest = np.delete(np.arange(60), i)
        part = Cone(family.centre[rest], family.below[rest], family.above[rest], 2.0)
        for method in hits:
            lower, upper = CALIBRATORS[method]().fit(part, y[rest]).intervals(family, phi)
            hits[method] = hits[method] + ((lower[i] <= y[i]) & (y[i] <= upper[i]))
    # of 60: neither fewer nor more, since nothing is tied; without the extra rank there is none
    assert hits["conformal"].tolist() == [rank(level, 60) for level in phi]
    assert hits["exact"].tolist() == [rank(level, 59) for level in phi]
    assert (hits["exact"] < 60 * np.array(phi)).any()
    assert (critical_scores(family, y).alpha == 0).sum() > 3  # and the margin was needed


@pytest.mark.parametrize("n", [1, 2, 3, 9])
def test_tiny_sets_answer_what_their_number_allows(n):
    family, y = cone(n, spread=3.0)
    exact, conformal = ExactCalibrator().fit(family, y), ConformalCalibrator().fit(family, y)
    assert exact.reached(0.999999) == 1.0
    assert conformal.reached(n / (n + 1)) == 1.0
    if n > 1:
        assert conformal.reached(1 / (n + 1)) == 1 / n
    with pytest.raises(CoverageError, match=f"{n} calibration samples"):
        conformal.alpha(n / (n + 1) + 1e-6)


def test_the_highest_level_that_an_error_names_has_an_answer():
    for kind in (ConformalCalibrator, TwoSidedCalibrator):
        calibrator = kind().fit(*cone(57))
        with pytest.raises(CoverageError, match="levels up to") as caught:
            calibrator.alpha(0.999)
        (highest,) = map(float, re.findall(r"levels up to ([\d.]+)", str(caught.value)))
        calibrator.alpha(highest)
        with pytest.raises(CoverageError):
            calibrator.alpha(highest + 0.0001)


@ranked
def test_an_envelope_that_covers_nothing_is_widened_by_a_margin(kind):
    y = np.linspace(5, 6, 100)
    calibrator = kind().fit(lambda alpha: (np.zeros(100), np.zeros(100)), y)  # of width 0
    assert calibrator.max_coverage == 0
    assert math.isnan(calibrator.alpha(0.5))
    k = {"exact": 50, "conformal": 51}[calibrator.method]
    assert calibrator.margin(0.5) == pytest.approx(y[k - 1], rel=1e-11)
    lower, upper = calibrator.intervals(lambda alpha: (np.zeros(3), np.ones(3)), 0.5)
    np.testing.assert_allclose([lower, upper], [[-y[k - 1]] * 3, [1 + y[k - 1]] * 3])


def test_the_methods_of_the_paper_have_no_margin():
    family, y = cone(200)
    for method in ("table", "search"):
        calibrator = CALIBRATORS[method]().fit(family, y)
        assert calibrator.margin(0.3) == 0
        assert calibrator.margin([0.2, 0.3]).tolist() == [0, 0]
        with pytest.raises(CoverageError):
            calibrator.margin(0.9)
        lower, upper = calibrator.intervals(family, [0.2, 0.3])
        np.testing.assert_array_equal(lower[:, 1], family(calibrator.alpha(0.3))[0])
        np.testing.assert_array_equal(upper[:, 0], family(calibrator.alpha(0.2))[1])
