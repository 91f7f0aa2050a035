"""Where in a nested family a sample is first covered, through all three stages."""

from __future__ import annotations

import numpy as np
import pytest
from families import by_brute_force, cone, system

from gt2lite.calibration import (
    HALVINGS,
    ExactCalibrator,
    critical_alpha,
    critical_scores,
)
from gt2lite.memberships import ALPHA_0, kappa_of
from gt2lite.system import Planes

pytestmark = pytest.mark.filterwarnings("ignore::gt2lite.calibration.SmallCalibrationWarning")


# ------------------------------------------------------------------ the lowest plane


def test_the_lowest_plane_is_just_short_of_what_the_system_allows():
    planes, _ = system(50)
    limit = 1 / max(planes._theta.s_l.max(), planes._theta.s_r.max())
    assert kappa_of(planes.alpha_min) == pytest.approx(limit, rel=1e-7)
    assert kappa_of(planes.alpha_min) < limit
    lower, upper = planes(planes.alpha_min)
    inner_lower, inner_upper = planes(ALPHA_0)
    assert (lower < inner_lower).all() and (upper > inner_upper).all()


@pytest.mark.parametrize(("raw", "lowest"), [(60.0, ALPHA_0), (-60.0, np.finfo(float).tiny)])
def test_the_lowest_plane_is_always_one_that_can_be_asked_for(raw, lowest):
    planes, _ = system(50, raw=raw)  # shares that round to 1, and shares next to nothing
    assert planes.alpha_min == lowest
    assert np.isfinite(planes(planes.alpha_min)).all()


def test_the_lowest_plane_reaches_from_the_smallest_consequent_to_the_largest():
    planes, _ = system(50)
    y = planes.X @ planes.params["a"].T + planes.params["a0"]  # (N, P)
    lower, upper = planes(planes.alpha_min)
    assert (y.min(axis=1) <= lower + 1e-9).all() and (upper <= y.max(axis=1) + 1e-9).all()


# --------------------------------------------------------------------------- scores


def test_scores_are_those_of_the_definition_in_all_three_stages():
    family, y = cone(500)
    scores, (kappa, margin) = critical_scores(family, y), family.truth(y)
    stages = (kappa <= 1).sum(), ((kappa > 1) & (kappa <= 2)).sum(), (kappa == np.inf).sum()
    assert min(stages) > 50
    planes = kappa < np.inf
    np.testing.assert_allclose(kappa_of(scores.alpha[planes]), kappa[planes], atol=4e-12, rtol=0)
    assert (scores.alpha[~planes] == 0).all()
    np.testing.assert_allclose(scores.margin, margin, rtol=0, atol=1e-10)
    assert (scores.margin[~planes] > margin[~planes]).all()  # rounded up
    np.testing.assert_array_equal(scores.side, np.sign(y - family.centre))


def test_scores_of_a_system_are_those_of_brute_force():
    planes, y, (lower, upper) = by_brute_force(system)
    scores = critical_scores(planes, y)
    for found, truth in (
        (scores.alpha, np.maximum(lower, upper)),
        (scores.lower.alpha, lower),
        (scores.upper.alpha, upper),
    ):
        within = truth < np.inf
        assert 0 < within.sum() < 60
        np.testing.assert_allclose(kappa_of(found[within]), truth[within], atol=1e-8, rtol=0)
        assert (found[~within] == 0).all()
    ends = planes(planes.alpha_min)
    margin = np.maximum(np.maximum(ends[0] - y, y - ends[1]), 0)
    np.testing.assert_allclose(scores.margin, margin, atol=1e-10, rtol=0)
    np.testing.assert_array_equal(scores.lower.margin, np.where(y < ends[0], scores.margin, 0))
    np.testing.assert_array_equal(scores.upper.margin, np.where(y > ends[1], scores.margin, 0))
    np.testing.assert_array_equal(scores.lower.side, np.minimum(scores.side, 0))
    np.testing.assert_array_equal(scores.upper.side, np.maximum(scores.side, 0))


def test_within_the_envelope_going_on_changes_no_bit():
    for family, y in (cone(300), system(300)):
        inside = critical_alpha(family, y)
        scores = critical_scores(family, y)
        assert 0 < (inside == 0).sum() < 300
        np.testing.assert_array_equal(scores.alpha[inside > 0], inside[inside > 0])
        assert (scores.alpha[inside == 0] < ALPHA_0).all()


def test_going_on_costs_no_further_evaluation():
    family, y = cone(300)
    exact = ExactCalibrator().fit(family, y)
    exact.alpha([0.5, 0.9, 0.999])
    assert family.calls == exact.n_evaluations == HALVINGS + 1


def test_without_a_lowest_plane_the_margin_begins_at_the_envelope():
    family, y = cone(300)
    scores = critical_scores(lambda alpha: family(alpha), y)
    assert scores.alpha_min == ALPHA_0
    np.testing.assert_array_equal(scores.alpha, critical_alpha(family, y))
    lower, upper = family(ALPHA_0)
    np.testing.assert_allclose(
        scores.margin, np.maximum(np.maximum(lower - y, y - upper), 0), atol=1e-10
    )


def test_a_large_set_is_scored_in_stretches(monkeypatch):
    planes, y = system(300)
    whole = critical_scores(planes, y)
    monkeypatch.setattr("gt2lite.system._CACHE_ELEMENTS", 15 * 40)  # 40 rows at once
    parts = critical_scores(Planes(planes.params, planes.X), y)
    for name in ("alpha", "margin", "side"):
        np.testing.assert_allclose(getattr(parts, name), getattr(whole, name), rtol=1e-9)
