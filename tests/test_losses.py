"""Facts about what training makes small."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest
from autograd import grad
from gradients import check_gradient

from gt2lite._fast.loss import loss_and_gradient
from gt2lite.losses import Objective, log_cosh, loss, make_objective, pinball
from gt2lite.memberships import kappa_of

# The pieces


def test_pinball_by_hand():
    error = np.array([2.0, -2.0, 0.0])
    np.testing.assert_allclose(pinball(error, 0.75), [1.5, 0.5, 0], rtol=0, atol=1e-15)
    np.testing.assert_allclose(pinball(error, 0.005), [0.01, 1.99, 0], rtol=0, atol=1e-15)


def test_the_mean_pinball_loss_is_smallest_at_the_quantile():
    y = np.arange(1.0, 100.0)  # 1, ..., 99: the 0.9 quantile is 90
    candidates = np.arange(0.0, 101.0)
    losses = [pinball(y - q, 0.905).mean() for q in candidates]
    assert candidates[np.argmin(losses)] == 90


def test_log_cosh_by_hand():
    # cosh(ln 2) = (2 + 1/2) / 2 = 5/4
    error = np.array([math.log(2), -math.log(2), 0.0, 1e300])
    expected = [math.log(1.25), math.log(1.25), 0, 1e300]
    np.testing.assert_allclose(log_cosh(error), expected, rtol=1e-15, atol=1e-15)
    for at in (-1e6, -3.0, 0.0, 0.1):
        assert grad(log_cosh)(at) == pytest.approx(math.tanh(at), abs=1e-15)


# Objectives


def test_the_planes_and_levels_of_objectives():
    dual, aligned = make_objective("dual", 0.9), make_objective("aligned")
    np.testing.assert_array_equal(dual.alphas, [0.01, 0.5, 1])
    np.testing.assert_array_equal(dual.kappa, kappa_of([0.01, 0.5, 1]))
    np.testing.assert_array_equal(dual.levels, [0.9])  # alpha_0 alone learns
    np.testing.assert_allclose(aligned.levels, [0.99, 0.95, 0.9, 0.5], atol=1e-12)
    np.testing.assert_allclose(aligned.alphas, [0.01, 0.0695, 0.1529, 0.7292, 1], atol=5e-5)
    for coverage, levels in ((0.95, [0.95, 0.9, 0.5]), (0.5, [0.5]), (0.2, [0.2])):
        found = make_objective("aligned", coverage)
        np.testing.assert_allclose(found.levels, levels, rtol=0, atol=1e-12)
        assert found.alphas[0] == 0.01 and (np.diff(found.alphas) > 0).all()
    # a plane as wide as kappa times the one that covers 0.9 covers 2 Phi(kappa z(0.95)) - 1
    found, normal = make_objective("aligned", 0.9, alphas=(0.01, 0.2, 1)), NormalDist()
    expected = 2 * normal.cdf(kappa_of(0.2) * normal.inv_cdf(0.95)) - 1
    np.testing.assert_allclose(found.levels, [0.9, expected], rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "both"}, "objective must be one of 'dual', 'aligned', got 'both'"),
        ({"coverage": 1.0}, "coverage must be a number in"),
        ({"coverage": math.nextafter(1, 0)}, "coverage must be below 1 by more than rounding"),
        ({"alphas": (0.5, 1)}, r"alphas must lie in \[0.01, 1\] with 0.01 among them"),
        ({"alphas": (0.01, 1.1)}, "alphas must lie in"),
        ({"alphas": ()}, "alphas must be"),
        ({"alphas": (0.01, math.nan)}, "alphas .*finite"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_objective(**arguments)


# The loss


def test_loss_by_hand():
    # One sample y = 1, planes alpha 0.01: [0, 3] and 1: [2, 2]. Output: (0.01*1.5 + 2) / 1.01.
    objective = make_objective("dual", 0.9, alphas=(0.01, 1))
    ends = np.array([[[0.0], [2.0]], [[3.0], [2.0]]])
    error = 1 - 2.015 / 1.01
    # lower end 1 below the target at tau 0.05: 0.05; upper end 2 above it at tau 0.95: 0.1
    expected = math.log(math.cosh(error)) + 0.05 * 1 + 0.05 * 2
    assert loss(ends, np.array([1.0]), objective) == pytest.approx(expected, abs=1e-14)
    assert loss_and_gradient(ends, np.array([1.0]), objective)[0] == pytest.approx(
        expected, abs=1e-14
    )


OBJECTIVES = {
    "dual": make_objective("dual"),
    "aligned": make_objective("aligned"),
    "no interval": Objective(np.array([1.0]), np.array([0.0]), np.array([])),
}


@pytest.mark.parametrize("name", OBJECTIVES)
@pytest.mark.parametrize("N", [1, 30])
def test_the_closed_form_is_the_loss_and_its_gradient(name, N):
    objective = OBJECTIVES[name]
    rng = np.random.default_rng(0)
    ends = np.sort(rng.normal(size=(2, objective.alphas.size, N)), axis=0)
    y = rng.normal(size=N)
    before = ends.copy()
    value, gradient = loss_and_gradient(ends, y, objective)
    np.testing.assert_array_equal(ends, before)
    assert type(value) is float
    assert value == pytest.approx(loss(ends, y, objective), abs=1e-14)
    by_autograd = grad(loss)(ends, y, objective)
    np.testing.assert_allclose(gradient, by_autograd, rtol=0, atol=1e-15)
    if N == 1:
        check_gradient(lambda ends: loss(ends, y, objective), ends, gradient)


def test_loss_and_gradient_are_finite_for_large_errors():
    objective = OBJECTIVES["aligned"]
    value, gradient = loss_and_gradient(np.zeros((2, 5, 2)), np.array([1e100, -1e100]), objective)
    assert math.isfinite(value)
    assert np.isfinite(gradient).all()


def test_where_an_end_meets_its_target_the_slope_is_a_one_sided_one():
    objective = make_objective("dual", 0.9, alphas=(0.01, 1))
    y = np.array([0.5])
    _, gradient = loss_and_gradient(np.full((2, 2, 1), 0.5), y, objective)
    # d loss / d end: -tau just below the target and 1 - tau just above; log cosh is flat at 0
    for found, tau in zip(gradient[:, 0, 0], (0.05, 0.95), strict=True):
        assert min(abs(found + tau), abs(found - (1 - tau))) < 1e-15
    np.testing.assert_array_equal(gradient[:, 1], 0)
