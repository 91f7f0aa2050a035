"""Calibration by rank: ranks, the exact method and the conformal one."""

from __future__ import annotations

from math import ceil

import numpy as np
import pytest
from families import Bands, Steps, edges, facts, few, levels
from hypothesis import given

from gt2lite.calibration import (
    ConformalCalibrator,
    ExactCalibrator,
    covers,
    critical_alpha,
    rank,
)
from gt2lite.memberships import ALPHA_0, alpha_of, kappa_of
from gt2lite.system import Planes
from gt2lite.training import init_params

# ------------------------------------------------------------------------- ranks


def test_a_rank_is_exact_for_every_percentage():
    for n in range(1, 301):
        for percent in range(1, 100):
            assert rank(percent / 100, n) == -(-n * percent // 100)


def test_the_share_of_k_in_n_asks_for_k():
    for n in range(2, 200):
        assert [rank(k / n, n) for k in range(1, n)] == list(range(1, n))


def test_a_rank_forgives_the_rounding_of_a_computed_level():
    assert rank(1 - 0.93, 100) == 7  # 0.06999999999999995
    assert rank(0.1 + 0.2, 10) == 3  # 0.30000000000000004


def test_the_rank_of_an_extreme_level_stays_within_the_samples():
    assert rank(1e-12, 10) == 1
    assert rank(1 - 1e-12, 10) == 10


# ------------------------------------------------------------------------- exact


def test_a_critical_plane_covers_its_sample_and_the_next_does_not():
    family = Bands(400)
    alpha = critical_alpha(family, family.y)
    true_kappa = np.abs(family.y) / family.width
    inside = true_kappa <= 1
    assert 0 < inside.sum() < 400
    assert covers(family.y, *family(np.where(inside, alpha, ALPHA_0)))[inside].all()
    beyond = alpha_of(np.maximum(kappa_of(np.where(inside, alpha, ALPHA_0)) - 2e-12, 0))
    assert not covers(family.y, *family(beyond))[inside].any()
    assert (alpha[~inside] == 0).all()
    np.testing.assert_allclose(kappa_of(alpha[inside]), true_kappa[inside], atol=2e-12, rtol=0)


def test_samples_on_the_narrowest_and_on_the_widest_plane_have_just_those():
    family = Bands(100)
    family.y[:3], family.y[3:6] = 0.0, family.width[3:6]  # where planes shrink to, and end
    assert critical_alpha(family, family.y)[:6].tolist() == [1.0] * 3 + [ALPHA_0] * 3


def test_exact_coverage_is_that_of_brute_force():
    family = Bands(300)
    exact = ExactCalibrator().fit(family, family.y)
    grid = np.linspace(ALPHA_0, 1, 2000)
    brute = np.array([covers(family.y, *family(alpha)).mean() for alpha in grid])
    assert [exact.coverage(alpha) for alpha in grid] == brute.tolist()
    for level in (0.07, 0.5, 0.9, exact.max_coverage):
        best = grid[brute >= level - 1e-12].max()  # the largest alpha of the grid that suffices
        assert best <= exact.alpha(level) < best + grid[1] - grid[0]


@few
@facts
@given(edges=edges, level=levels)
def test_the_exact_plane_is_the_narrowest_that_reaches_the_level(edges, level):
    family = Steps(edges)
    exact = ExactCalibrator().fit(family, family.y)
    if level > exact.max_coverage:
        return
    alpha = exact.alpha(level)
    assert family.coverage(alpha) >= level
    if alpha < 1:
        assert family.coverage(alpha_of(max(kappa_of(alpha) - 1e-6, 0.0))) < level


def test_tied_samples_count_together():
    family = Steps(np.repeat([0.8, 0.6, 0.4, 0.2], 25))
    exact = ExactCalibrator().fit(family, family.y)
    assert exact.alpha([0.26, 0.5]).tolist() == [exact.alpha(0.4)] * 2
    assert [exact.reached(level) for level in (0.01, 0.25, 0.26, 0.5, 0.51)] == [
        0.25,
        0.25,
        0.5,
        0.5,
        0.75,
    ]


def test_on_a_system_the_plane_reaches_what_was_promised():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 3))
    params = init_params(X, 6, rng)
    params["a0"] = rng.normal(size=params["a0"].shape)
    y = rng.normal(scale=0.3, size=400)
    planes = Planes(params, X)
    exact = ExactCalibrator().fit(planes, y)
    for level in exact.max_coverage * np.linspace(0.05, 1, 20):
        # Computed for one plane at a time, not with a plane for each sample as during fit.
        assert covers(y, *planes(exact.alpha(level))).mean() == exact.reached(level) >= level


# --------------------------------------------------------------------- conformal


@few
def test_the_conformal_rank_is_one_of_n_plus_1():
    family = Steps(np.arange(1, 100) / 100)  # 99 samples; the k-th largest edge is 1 - k / 100
    conformal = ConformalCalibrator().fit(family, family.y)
    assert ceil(100 * 0.07) == 8  # what floating point makes of it
    assert conformal.alpha(0.07) == pytest.approx(0.93)  # the 7th
    assert conformal.alpha(0.9) == pytest.approx(0.1)  # the 90th, of 100 * 0.9
    assert conformal.reached(0.9) == 90 / 99
    exact = ExactCalibrator().fit(family, family.y)
    assert exact.alpha(0.905) == pytest.approx(0.1)  # the 90th, of 99 * 0.905 = 89.6
    assert conformal.alpha(0.905) == pytest.approx(0.09)  # the 91st, of 100 * 0.905 = 90.5
