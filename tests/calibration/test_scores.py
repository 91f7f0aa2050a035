"""Scores of samples in a nested family, their ranks, and intervals of one plane and margin."""

from __future__ import annotations

import re

import numpy as np
import pytest
from families import Cone, Steps, bands, by_brute_force, cone, left_out, system
from numpy.testing import assert_allclose, assert_array_equal

from gt2lite.calibration import (
    CALIBRATORS,
    ConformalCalibrator,
    CoverageError,
    ExactCalibrator,
    IntervalFamily,
    PlainFamily,
    Scores,
    as_family,
    covers,
    critical_alpha,
    critical_scores,
    rank,
)
from gt2lite.memberships import ALPHA_0, alpha_of, kappa_of
from gt2lite.practice.calibrators import RankCalibrator
from gt2lite.practice.margins import FLOOR, MarginFamily, Margins
from gt2lite.system import Planes

pytestmark = pytest.mark.filterwarnings("ignore::gt2lite.calibration.SmallCalibrationWarning")


# ----------------------------------------------------------------------------------- ranks


def test_a_rank_is_exact_for_levels_that_floats_miss():
    for n in range(1, 301, 23):
        assert [rank(p / 100, n) for p in range(1, 100)] == [
            -(-n * p // 100) for p in range(1, 100)
        ]
        assert [rank(k / n, n) for k in range(1, n)] == list(range(1, n))
    assert rank(1 - 0.93, 100) == 7  # 0.06999999999999995
    assert rank(0.1 + 0.2, 10) == 3  # 0.30000000000000004
    assert (rank(1e-12, 10), rank(1 - 1e-12, 10)) == (1, 10)


def test_the_conformal_rank_is_one_of_n_plus_1():
    family = Steps(np.arange(1, 100) / 100)  # 99 samples; the k-th largest edge is 1 - k / 100
    conformal, exact = (CALIBRATORS[m]().fit(family, family.y) for m in ("conformal", "exact"))
    assert conformal.alpha(0.07) == pytest.approx(0.93)  # the 7th, though 100 * 0.07 is above 7
    assert conformal.alpha(0.9) == pytest.approx(0.1)  # the 90th, of 100 * 0.9
    assert conformal.reached(0.9) == 90 / 99
    assert exact.alpha(0.905) == pytest.approx(0.1)  # the 90th, of 99 * 0.905 = 89.6
    assert conformal.alpha(0.905) == pytest.approx(0.09)  # the 91st, of 100 * 0.905 = 90.5


def test_each_sample_in_turn_is_the_new_one_and_the_guarantee_holds_in_every_stage():
    # If all orders are equally likely, the share over who is left out *is* the probability.
    family, y = cone(40)
    phi, hits = [0.05, 0.5, 0.8, 0.9, 0.95], {"exact": 0, "conformal": 0}
    for i, _, part, known in left_out(family, y):
        for method in hits:
            lower, upper = CALIBRATORS[method]().fit(part, known).intervals(family, phi)
            hits[method] = hits[method] + ((lower[i] <= y[i]) & (y[i] <= upper[i]))
    # of 40: neither fewer nor more, since nothing is tied; without the extra rank there is none
    assert hits["conformal"].tolist() == [rank(level, 40) for level in phi]
    assert hits["exact"].tolist() == [rank(level, 39) for level in phi]
    assert (critical_scores(family, y).alpha == 0).sum() > 2  # and the margin was needed


def test_the_highest_level_that_an_error_names_has_an_answer():
    for kind in (ConformalCalibrator(), RankCalibrator("conformal", "each")):
        calibrator = kind.fit(*cone(57))
        with pytest.raises(CoverageError, match="levels up to") as caught:
            calibrator.alpha(0.999)
        (highest,) = map(float, re.findall(r"levels up to ([\d.]+)", str(caught.value)))
        calibrator.alpha(highest)
        with pytest.raises(CoverageError):
            calibrator.alpha(highest + 0.0001)


# ---------------------------------------------------------------------------------- scores


@pytest.mark.parametrize(("raw", "lowest"), [(60.0, ALPHA_0), (-60.0, np.finfo(float).tiny)])
def test_the_lowest_plane_is_just_short_of_what_the_system_allows(raw, lowest):
    planes, _ = system(50)
    limit = 1 / max(planes._theta.s_l.max(), planes._theta.s_r.max())
    assert limit * (1 - 1e-7) < kappa_of(planes.alpha_min) < limit
    extreme, _ = system(50, raw=raw)  # shares that round to 1, and shares next to nothing
    assert extreme.alpha_min == lowest
    assert np.isfinite(extreme(lowest)).all()


@pytest.mark.parametrize("make", [cone, system])
def test_scores_are_those_of_brute_force_in_all_three_stages(make):
    family, y, step, first = by_brute_force(make)
    scores = critical_scores(family, y)
    ends = family(family.alpha_min)
    lacking = np.maximum([ends[0] - y, y - ends[1]], 0)  # (2, 60)
    tails = (
        (scores, first.max(axis=0), lacking.max(axis=0)),
        *zip((scores.lower, scores.upper), first, lacking, strict=True),
    )
    for found, truth, margin in tails:
        within = truth < np.inf
        assert 0 < within.sum() < 60
        kappa = kappa_of(found.alpha[within])
        assert ((kappa <= truth[within]) & (kappa > truth[within] - step - 1e-11)).all()
        assert (found.alpha[~within] == 0).all() and (found.margin[within] == 0).all()
        assert_allclose(found.margin, margin, rtol=0, atol=1e-10)
        assert (found.margin[~within] > margin[~within]).all()  # rounded up
    assert (kappa_of(scores.alpha[scores.alpha > 0]) > 1).any()  # beyond the envelope
    assert_array_equal(scores.side[scores.alpha < 1], np.sign(y - family(1.0)[0])[scores.alpha < 1])
    assert_array_equal(scores.lower.side, np.minimum(scores.side, 0))
    assert_array_equal(scores.upper.side, np.maximum(scores.side, 0))


def test_a_critical_plane_covers_its_sample_and_the_next_does_not():
    family, y = bands(400, spread=0.5)
    y[:3], y[3:6] = 0.0, family.above[3:6]  # on the narrowest and on the widest plane
    alpha = critical_alpha(family, y)
    assert alpha[:6].tolist() == [1.0] * 3 + [ALPHA_0] * 3
    inside = np.abs(y) <= family.above
    assert not inside.all() and (alpha[~inside] == 0).all()
    assert covers(y, *family(np.where(inside, alpha, ALPHA_0)))[inside].all()
    between = inside & (alpha < 1)
    beyond = alpha_of(np.maximum(kappa_of(np.where(between, alpha, ALPHA_0)) - 2e-12, 0))
    assert not covers(y, *family(beyond))[between].any()


def test_planes_beyond_the_envelope_change_no_bit_within():
    for family, y in (cone(300), system(300)):
        inside, scores = critical_alpha(family, y), critical_scores(family, y)
        assert 0 < (inside == 0).sum() < 300
        assert_array_equal(scores.alpha[inside > 0], inside[inside > 0])
        assert (scores.alpha[inside == 0] < ALPHA_0).all()
    plain = critical_scores(lambda alpha: family(alpha), y)  # without a lowest plane
    assert plain.alpha_min == ALPHA_0
    assert_array_equal(plain.alpha, critical_alpha(family, y))


FAMILIES = {
    "cone": lambda n, seed: cone(n, seed),
    "bands": lambda n, seed: bands(n, seed, spread=1.0),
    "system": lambda n, seed: system(n, seed),
    "type-1": lambda n, seed: system(n, seed, raw=-60.0),  # sets without width
    "margins": lambda n, seed: (MarginFamily(np.zeros(n), np.ones(n)), cone(n, seed)[1]),
    "tied": lambda n, seed: (Cone(np.zeros(n), 1.0, 0.5, 2.0), np.round(cone(n, seed)[1])),
    "small": lambda n, seed: (Cone(np.zeros(n), 1e-290, 1e-290), 1e-290 * cone(n, seed)[1]),
    "no width": lambda n, seed: (Cone(np.zeros(n), 0.0, 0.0), np.round(cone(n, seed)[1])),
    "steps": lambda n, seed: (Steps(np.linspace(0, 1.5, n)), np.zeros(n)),
}


@pytest.mark.parametrize("kind", FAMILIES)
def test_scores_are_read_as_they_were_stored_whatever_the_family(kind):
    for seed in range(5):
        family, y = FAMILIES[kind](200, seed)
        lower, upper = family(1.0)  # targets on the narrowest plane, and next to it
        y[:20], y[20:40] = lower[:20], upper[20:40]
        y[40:60] = np.nextafter(upper[40:60], np.inf)
        y[60:80] = lower[60:80] - 1e-9 * np.abs(lower[60:80])
        for lowest in (None, ALPHA_0):  # the paper's methods end at alpha_0
            scores = critical_scores(family, y, lowest)
            assert (scores.side[:40] == 0).all()
            again = Scores.from_arrays(scores.arrays())
            for name in ("alpha", "margin", "side", "alpha_min"):
                assert_array_equal(getattr(again, name), getattr(scores, name))


CONTRADICTIONS = {
    "a plane misses on no side": {"side": [0.0, 1.0, 0.0]},
    "all planes miss on no side": {"side": [-1.0, 0.0, 0.0]},
    "the narrowest plane covers and a side is missed": {"side": [-1.0, 1.0, 1.0]},
    "no plane covers and nothing is lacking": {"margin": [0.0, 0.0, 0.0]},
    "a plane covers and something is lacking": {"margin": [0.5, 0.5, 0.0]},
    "a negative margin": {"margin": [0.0, -0.5, 0.0]},
    "a plane below the lowest": {"critical_alpha": [1e-4, 0.0, 1.0]},
    "a plane above 1": {"critical_alpha": [2.0, 0.0, 1.0]},
    "another number of sides": {"side": [-1.0, 1.0]},
}


@pytest.mark.parametrize("what", CONTRADICTIONS)
def test_scores_that_contradict_themselves_are_refused(what):
    stored = {
        "critical_alpha": [0.5, 0.0, 1.0],
        "margin": [0.0, 0.5, 0.0],
        "side": [-1.0, 1.0, 0.0],
        "alpha_min": [1e-3],
    }
    assert len(Scores.from_arrays(stored)) == 3
    with pytest.raises(ValueError, match=r"critical_alpha, margin and side|of length 3"):
        Scores.from_arrays(stored | CONTRADICTIONS[what])


def test_systems_and_margins_are_families_and_a_function_becomes_one():
    planes, y = system(50)
    for family in (planes, MarginFamily(y, np.ones(50))):
        assert isinstance(family, IntervalFamily)
        assert as_family(family) is family
    plain = as_family(planes.__call__)
    assert isinstance(plain, PlainFamily) and plain.alpha_min == ALPHA_0
    for alphas in ([0.5, 0.01, 1.0], np.linspace(0.01, 1, 100).reshape(2, 50)):
        assert_array_equal(plain.ends(alphas), planes.ends(alphas))


def test_a_large_set_is_scored_in_stretches(monkeypatch):
    planes, y = system(300)
    whole = critical_scores(planes, y)
    monkeypatch.setattr("gt2lite._fast.chunks._CACHE_ELEMENTS", 15 * 40)  # 40 rows at once
    parts = critical_scores(Planes(planes.params, planes.X), y)
    for name in ("alpha", "margin", "side"):
        assert_allclose(getattr(parts, name), getattr(whole, name), rtol=1e-9)


# ------------------------------------------------------------------------------- intervals


@pytest.mark.parametrize("make", [cone, system])
def test_intervals_are_nested_and_cover_just_those_whose_score_they_reach(make):
    family, y = make(100)
    exact = ExactCalibrator().fit(family, y)
    levels = np.arange(1, 100) / 100
    lower, upper = exact.intervals(family, levels)
    assert (np.diff(lower, axis=1) <= 1e-14).all() and (np.diff(upper, axis=1) >= -1e-14).all()
    for k in range(1, 100):
        inside = covers(y, lower[:, k - 1], upper[:, k - 1])
        assert inside.mean() == exact.reached(levels[k - 1]) >= k / 100
        assert_array_equal(exact.scores.covered(exact.scores.cut(k)), inside)
    alpha, margin = exact.alpha(levels), exact.margin(levels)
    planes = ~np.isnan(alpha)
    assert (alpha[planes] >= ALPHA_0).any() and (alpha[planes] < ALPHA_0).any()
    assert (margin[planes] == 0).all() and (margin[~planes] > 0).all() and (~planes).any()
    assert (np.diff(alpha[planes]) <= 0).all() and (np.diff(margin) >= 0).all()


def test_planes_that_rounding_crossed_are_nested():
    def family(alpha):  # the wider plane is narrower by rounding
        return np.zeros(100), np.where(np.asarray(alpha) < 0.3, 1.0, 1.0 + 1e-12) * np.ones(100)

    exact = ExactCalibrator().fit(Steps(np.linspace(0.01, 1, 100)), np.zeros(100))
    _, upper = exact.intervals(family, [0.5, 0.9])
    assert (upper == 1.0 + 1e-12).all()


# --------------------------------------------------------------------------------- margins


class Envelope:
    """An envelope with the widths given, and an output of its own."""

    def __init__(self, width):
        self.width, self.asked = np.asarray(width, dtype=float), []

    def ends(self, alphas):
        self.asked.append(list(alphas))
        half = kappa_of(alphas)[:, None] * self.width / 2
        return np.arange(self.width.size) + np.stack([-half, half])


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
def test_margins_follow_the_width_of_the_envelope_to_a_power(power):
    envelope = Envelope([1.0, 8.0, 0.0])
    family = Margins(power, usual=2.0).around(envelope, [1.0])
    lower, upper = family(0.01)
    assert_allclose(upper - lower, 2 * np.array([0.5, 4.0, FLOOR]) ** power)  # no width is nothing
    assert_allclose((lower + upper) / 2, [0.0, 1.0, 2.0])
    assert envelope.asked == [[1.0, 0.01] if power > 0 else [1.0]]  # one question
    margins = Margins(power, usual=2.0).around(envelope, [0.01, 1.0])
    assert_array_equal(margins.half, family.half)
    assert envelope.asked[1] == [0.01, 1.0]
    alphas = np.concatenate([[1.0], np.geomspace(1, family.alpha_min, 60)[1:]])
    lower, upper = family.ends(alphas)
    assert (np.diff(lower, axis=0) <= 0).all() and (np.diff(upper, axis=0) >= 0).all()
    assert_array_equal(lower[7], family(alphas[7])[0])
    assert_array_equal(lower[0], upper[0])


def test_conformal_margins_have_the_textbook_rank():
    rng = np.random.default_rng(0)
    centre, y, half = rng.normal(size=99), rng.normal(size=99), rng.uniform(0.3, 2, 99)
    calibrator = ConformalCalibrator().fit(MarginFamily(centre, half), y)
    scores = np.abs(y - centre) / half
    assert_allclose(kappa_of(calibrator.critical_alpha), scores, rtol=1e-9, atol=1e-9)
    lower, upper = calibrator.intervals(MarginFamily(np.zeros(1), np.ones(1)), 0.9)
    wanted = np.sort(scores)[89]  # ceil(100 * 0.9) = 90th smallest
    assert_allclose([-lower[0], upper[0]], wanted, rtol=1e-9)
