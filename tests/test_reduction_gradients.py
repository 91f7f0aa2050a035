"""Facts about the gradient of type reduction, at kinks too."""

from __future__ import annotations

import autograd.numpy as anp
import numpy as np
import pytest
from autograd import grad, make_vjp
from gradients import check_gradient, one_sided
from reductions import random_rows

from gt2lite.reduction import type_reduce

pytestmark = pytest.mark.usefixtures("either_sum")


def ends_gradient(args, end):
    """Gradients of the sum of one end over rows, with respect to all three arguments."""
    return grad(lambda args: anp.sum(type_reduce(*args)[end]))(tuple(args))


@pytest.mark.parametrize("end", [0, 1])
@pytest.mark.parametrize("P", [1, 2, 6, 20])
def test_gradient_of_every_argument(P, end):
    rng = np.random.default_rng(15)
    f_lower = rng.uniform(0.1, 0.5, (4, P))
    args = (f_lower, f_lower + rng.uniform(0.01, 0.5, (4, P)), rng.normal(size=(4, P)))
    for i, found in enumerate(ends_gradient(args, end)):
        check_gradient(
            lambda v, i=i: type_reduce(*args[:i], v, *args[i + 1 :])[end].sum(), args[i], found
        )


@pytest.mark.parametrize("end", [0, 1])
def test_gradient_by_firings_does_not_feel_where_the_zero_of_consequents_is(end):
    rng = np.random.default_rng(8)
    f_lower = rng.uniform(0.1, 0.5, (4, 6))
    f_upper = f_lower + rng.uniform(0.01, 0.5, (4, 6))
    y = rng.integers(-(2**20), 2**20, (4, 6)) / 2.0**20  # so that y + 2^20 is exact
    here, there = (ends_gradient((f_lower, f_upper, y + at), end) for at in (0.0, 2.0**20))
    for one, other in zip(here, there, strict=True):
        np.testing.assert_allclose(other, one, rtol=0, atol=1e-9)


@pytest.mark.parametrize("end", [0, 1])
def test_gradient_by_hand(end):
    # lower end 18/11 with weights (0.6, 0.4, 0.1), upper end 30/11 with (0.2, 0.4, 0.5)
    f_lower, f_upper = np.array([0.2, 0.4, 0.1]), np.array([0.6, 0.8, 0.5])
    y = np.array([1.0, 2.0, 4.0])
    at, takes_upper, w = [
        (18 / 11, np.array([1, 0, 0]), np.array([0.6, 0.4, 0.1])),
        (30 / 11, np.array([0, 0, 1]), np.array([0.2, 0.4, 0.5])),
    ][end]
    g_lower, g_upper, g_y = ends_gradient((f_lower, f_upper, y), end)
    np.testing.assert_allclose(g_upper, takes_upper * (y - at) / 1.1, rtol=0, atol=1e-12)
    np.testing.assert_allclose(g_lower, (1 - takes_upper) * (y - at) / 1.1, rtol=0, atol=1e-12)
    np.testing.assert_allclose(g_y, w / 1.1, rtol=0, atol=1e-12)


@pytest.mark.parametrize("end", [0, 1])
def test_gradient_obeys_the_invariances_of_the_ends(end):
    args = random_rows(16)
    g_lower, g_upper, g_y = ends_gradient(args, end)
    # a shift of all consequents shifts the end as much; a common factor of the firings does nothing
    np.testing.assert_allclose(g_y.sum(axis=1), 1, rtol=0, atol=1e-12)
    euler = (args[0] * g_lower + args[1] * g_upper).sum(axis=1)
    np.testing.assert_allclose(euler, 0, rtol=0, atol=1e-12)


@pytest.mark.parametrize("scale", [1e-290, 1e-9, 1e9])
def test_gradient_with_tiny_and_large_firings(scale):
    f_lower, f_upper, y = random_rows(17)
    for end in (0, 1):
        plain = ends_gradient((f_lower, f_upper, y), end)
        scaled = ends_gradient((scale * f_lower, scale * f_upper, y), end)
        np.testing.assert_allclose(scaled[0] * scale, plain[0], rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(scaled[1] * scale, plain[1], rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(scaled[2], plain[2], rtol=1e-10, atol=1e-12)


def test_gradient_is_finite_where_rules_do_not_fire():
    f_upper = np.array([[0.5, 0.0, 1e-300, 0.2], [0.0, 0.0, 0.0, 1e-300]])
    for end in (0, 1):
        for g in ends_gradient((np.zeros((2, 4)), f_upper, np.array([1.0, 2.0, 3.0, 4.0])), end):
            assert np.isfinite(g).all()


def test_gradient_of_an_empty_batch_is_empty():
    empty = np.zeros((0, 3))
    for g in ends_gradient((empty, empty, empty), 0):
        assert g.shape == (0, 3)


def test_gradient_where_the_tie_does_not_matter():
    # rules 0 and 1 have the same consequent, away from both ends: no kink
    args = (np.array([0.2, 0.1, 0.3]), np.array([0.6, 0.5, 0.9]), np.array([1.0, 1.0, 2.0]))
    for end in (0, 1):
        for i, found in enumerate(ends_gradient(args, end)):
            check_gradient(
                lambda v, i=i, end=end: type_reduce(*args[:i], v, *args[i + 1 :])[end],
                args[i],
                found,
            )


KINKS = {
    # (0 + 1 w + 2*0.3) / (0.3 + w + 0.3) = 1 for any w: rule 1 may fire as it likes
    "lower end on a consequent": ([0.1, 0.2, 0.3], [0.3, 0.6, 0.9], [0.0, 1.0, 2.0]),
    "upper end on a consequent": ([0.3, 0.2, 0.1], [0.9, 0.6, 0.3], [0.0, 1.0, 2.0]),
    "all consequents tied": ([0.1, 0.2, 0.3], [0.4, 0.6, 0.9], [1.0, 1.0, 1.0]),
    "end on two tied consequents": (
        [0.1, 0.1, 0.2, 0.3],
        [0.3, 0.4, 0.6, 0.9],
        [0.0, 1.0, 1.0, 2.0],
    ),
}


@pytest.mark.parametrize("end", [0, 1])
@pytest.mark.parametrize("kink", KINKS)
def test_gradient_at_a_kink_lies_between_the_one_sided_ones(kink, end):
    args = [np.array(v) for v in KINKS[kink]]
    there_is_a_kink = False
    for i, found in enumerate(ends_gradient(args, end)):

        def f(v, i=i):
            return type_reduce(*args[:i], v, *args[i + 1 :])[end]

        below, above = one_sided(f, args[i])
        assert (np.minimum(below, above) - 1e-6 <= found).all()
        assert (found <= np.maximum(below, above) + 1e-6).all()
        there_is_a_kink |= bool((np.abs(below - above) > 0.01).any())
    expected = {"lower end on a consequent": end == 0, "upper end on a consequent": end == 1}
    assert there_is_a_kink == expected.get(kink, end == 0 or kink == "all consequents tied")


def test_both_ends_can_be_pulled_back_at_once():
    args = random_rows(18, N=3)
    vjp, ends = make_vjp(lambda y: anp.array(type_reduce(*args[:2], y)))(args[2])
    assert ends.shape == (2, 3)
    g = np.random.default_rng(0).normal(size=(2, 3))
    separate = [
        make_vjp(lambda y, end=end: type_reduce(*args[:2], y)[end])(args[2])[0](g[end])
        for end in (0, 1)
    ]
    np.testing.assert_allclose(vjp(g), separate[0] + separate[1], rtol=0, atol=1e-14)
