"""Facts about fuzzy sets: kappa, primary and secondary memberships, firing."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gt2lite.memberships import (
    ALPHA_0,
    alpha_of,
    kappa_of,
    log_firing,
    primary,
    secondary,
    secondary_grade,
)

unit = st.floats(0, 1)
facts = settings(deadline=None, derandomize=True)

# kappa


@pytest.mark.parametrize(
    ("alpha", "kappa"),
    [
        (1.0, 0.0),
        (0.1, math.sqrt(1 / 2)),  # ln(10^-1) / ln(10^-2) = 1/2
        (0.01, 1.0),
        (0.0001, math.sqrt(2)),  # ln(10^-4) / ln(10^-2) = 2: planes past the paper's lowest
        (0.01**0.25, 0.5),  # ln(0.01^(1/4)) / ln(0.01) = 1/4
    ],
)
def test_kappa_by_hand(alpha, kappa):
    assert kappa_of(alpha) == pytest.approx(kappa, abs=1e-15)
    assert alpha_of(kappa) == pytest.approx(alpha, rel=1e-14)


def test_numbers_give_numbers_and_arrays_give_arrays_exact_at_both_ends():
    assert (kappa_of(1.0), kappa_of(ALPHA_0)) == (0.0, 1.0)
    assert (alpha_of(0.0), alpha_of(1.0)) == (1.0, ALPHA_0)
    assert math.copysign(1, kappa_of(1.0)) == 1  # not minus zero
    assert type(kappa_of(0.5)) is float
    assert type(alpha_of(0.5)) is float
    alpha = np.array([[0.01, 0.5], [0.7, 1.0]])
    np.testing.assert_allclose(alpha_of(kappa_of(alpha)), alpha, rtol=1e-14)
    assert (np.diff(kappa_of(np.linspace(0.01, 1, 50))) < 0).all()


@pytest.mark.parametrize("alpha", [0.0, 1.0000001, math.nan, [0.5, 0.0]])
def test_alpha_outside_its_range_and_negative_kappa_are_errors(alpha):
    with pytest.raises(ValueError, match=r"alpha must lie in \(0, 1\], got"):
        kappa_of(alpha)
    with pytest.raises(ValueError, match="kappa must not be negative, got"):
        alpha_of([0.5, -1e-9])


# Primary memberships


def test_primary_by_hand():
    # M = 2 inputs: the exponent is halved once more. Rule 0: z = (1, 2), rule 1: z = (0, -1).
    X, c, sigma = np.array([[1.0, 5.0]]), np.array([[0, 1], [1, 8]]), np.array([[1, 2], [7, 3]])
    expected = [[[math.exp(-1 / 4), math.exp(-1)], [1, math.exp(-1 / 4)]]]
    np.testing.assert_allclose(primary(X, c, sigma), expected, rtol=1e-15)


def test_product_of_memberships_does_not_shrink_with_the_number_of_inputs():
    # HTSK: one standard deviation off in every input fires exp(-1/2), however many there are
    for M in (1, 10, 1000):
        mu = primary(np.ones((1, M)), np.zeros((1, M)), np.ones((1, M)))
        assert mu.prod() == pytest.approx(math.exp(-0.5), rel=1e-12)


# Secondary memberships


def test_secondary_by_hand():
    # mu 0.8: 40 % of the 0.8 below and 25 % of the 0.2 above, half of that at kappa 1/2
    lower, upper = secondary(0.8, kappa=0.5, s_l=0.4, s_r=0.25)
    assert lower == pytest.approx(0.8 - 0.5 * 0.32, abs=1e-15)
    assert upper == pytest.approx(0.8 + 0.5 * 0.05, abs=1e-15)


@given(mu=unit, kappa=unit, s_l=unit, s_r=unit)
@facts
def test_secondary_stays_between_zero_and_one_around_mu(mu, kappa, s_l, s_r):
    lower, upper = secondary(mu, kappa, s_l, s_r)
    assert 0 <= lower <= mu <= upper <= 1  # exactly: no tolerance, no clipping


@given(mu=unit, alpha=st.floats(0.01, 1), s_l=unit, s_r=unit)
@facts
def test_secondary_is_the_printed_form_with_the_constraints_built_in(mu, alpha, s_l, s_r):
    widest = math.sqrt(-2 * math.log(0.01))
    sigma_l, sigma_r = mu * s_l / widest, (1 - mu) * s_r / widest
    height = math.sqrt(-2 * math.log(alpha))
    lower, upper = secondary(mu, kappa_of(alpha), s_l, s_r)
    assert lower == pytest.approx(mu - height * sigma_l, abs=1e-14)
    assert upper == pytest.approx(mu + height * sigma_r, abs=1e-14)


share = st.floats(0.05, 0.95)


@given(mu=share, alpha=st.floats(0.001, 1), s_l=share, s_r=share)
@facts
def test_secondary_grade_inverts_secondary(mu, alpha, s_l, s_r):
    edges = np.array(secondary(mu, kappa_of(alpha), s_l, s_r))
    np.testing.assert_allclose(secondary_grade(edges, mu, s_l, s_r), alpha, atol=1e-12)


@pytest.mark.parametrize("mu", [0.0, 1.0])
def test_secondary_grade_where_there_is_no_room_on_one_side(mu):
    # at mu = 1 nothing lies above, at mu = 0 nothing below: mu itself still has grade 1
    u = np.linspace(0, 1, 5)
    grade = secondary_grade(u, mu, 0.5, 0.5)
    expected = 0.01 ** ((np.abs(u - mu) / 0.5) ** 2)
    np.testing.assert_allclose(grade, expected, rtol=1e-12)


# Firing


@pytest.mark.parametrize("kappa", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("shares", ["per_input", "scalar"])
def test_log_firing_is_the_product_of_the_memberships(kappa, shares):
    rng = np.random.default_rng(1)
    N, P, M = 5, 3, 4
    X, c, sigma = rng.normal(size=(N, M)), rng.normal(size=(P, M)), rng.uniform(0.5, 2, (P, M))
    s_l, s_r = rng.uniform(size=(2, M)) if shares == "per_input" else rng.uniform(size=(2, 1))
    lower, upper = secondary(primary(X, c, sigma), kappa, s_l, s_r)  # (N, P, M)
    log_lower, log_upper = log_firing(X, c, sigma, s_l, s_r, kappa)
    assert log_lower.shape == log_upper.shape == (N, P)
    np.testing.assert_allclose(np.exp(log_lower), lower.prod(axis=2), rtol=1e-13)
    np.testing.assert_allclose(np.exp(log_upper), upper.prod(axis=2), rtol=1e-13)


def test_log_firing_is_finite_where_the_product_is_not_a_number_any_more():
    X, c, sigma = np.full((1, 2), 1e6), np.zeros((1, 2)), np.ones((1, 2))
    assert primary(X, c, sigma).prod() == 0
    log_lower, log_upper = log_firing(X, c, sigma, np.full(2, 0.5), np.full(2, 0.5), 1.0)
    # lower: 2 ln(1 - 1/2) - 2 * 1e12 / (2 * 2); upper: mu is 0, so that kappa s_r = 1/2 is left
    np.testing.assert_allclose(log_lower, -5e11 + 2 * math.log(0.5), rtol=1e-15)
    np.testing.assert_allclose(log_upper, 2 * math.log(0.5), rtol=1e-15)
