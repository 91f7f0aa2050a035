"""Facts about the fast path: the same ends as the formulas, and the gradient of every parameter.

Checked against `system.plane_ends`, which is the formulas plane by plane under plain
autograd, and against differences of the loss itself.
"""

from __future__ import annotations

import numpy as np
import pytest
from autograd import grad
from gradients import check_gradient, one_sided

from gt2lite._fast.gradient import BatchGradient
from gt2lite._fast.loss import CompiledLoss, loss_and_gradient
from gt2lite._fast.parameters import Flat
from gt2lite._fast.state import quietly
from gt2lite.losses import Objective, loss, make_objective
from gt2lite.system import constrain, param_shapes, plane_ends
from gt2lite.training import init_params, loss_gradient


def a_problem(N=5, M=3, P=4, smf="per_input", far=1.0, alike=1.0, seed=4):
    """A system, inputs and targets.

    The system is away from its start values, the inputs `far` times the usual distance away,
    and the differences between rules `alike` times the usual. Seeds are such that no kink of
    the loss lies within reach of the differences.
    """
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(N, M)), rng.normal(size=N)
    params = {
        name: rng.uniform(-0.4, 0.4, shape) for name, shape in param_shapes(P, M, smf).items()
    }
    params["c"] += X[np.arange(P) % N]
    params["raw_sigma"] += 1.0
    for name in ("c", "raw_sigma"):
        mean = params[name].mean(axis=0)
        params[name] = mean + alike * (params[name] - mean)
    params["raw_sigma"][0] *= -1  # sigma is its absolute value
    params["a"] /= far  # consequents stay of the size of the targets
    return params, far * X, y


def run(params, X, kappa, by_ends, y=None, dtype=float):
    """Return the flat gradient and the ends (2, K, N), given the gradient with respect to these."""
    y = np.zeros(len(X)) if y is None else y
    gradient = quietly(BatchGradient(Flat(params, dtype), kappa, by_ends).__call__)
    return gradient(X.astype(dtype), y.astype(dtype))


def fast_ends(params, X, kappa):
    return run(params, X, kappa, lambda ends, y, X: np.zeros_like(ends))[1]


DUAL, ALIGNED = make_objective("dual"), make_objective("aligned")
ONLY_TYPE_1 = Objective(np.array([1.0]), np.array([0.0]), np.array([]))
ONE_PLANE = Objective(np.array([0.01]), np.array([1.0]), np.array([0.9]))
TINY_KAPPA = Objective(
    np.array([0.01, 0.3, 0.9, 1.0]),
    np.array([1.0, 1e-30, 1e-9, 0.0]),
    np.array([0.9, 0.5]),
)
NARROW = Objective(np.array([0.01, 0.5, 1.0]), np.array([3e-3, 1e-3, 0.0]), np.array([0.9, 0.5]))

CASES = {
    "dual": ({}, DUAL),
    "dual, scalar": ({"smf": "scalar"}, DUAL),
    "aligned": ({}, ALIGNED),
    "aligned, scalar": ({"smf": "scalar"}, ALIGNED),
    "one rule": ({"P": 1}, ALIGNED),
    "two rules": ({"P": 2}, DUAL),
    "many rules": ({"P": 20}, ALIGNED),
    "very many rules": ({"P": 140}, ALIGNED),
    "one input": ({"M": 1}, DUAL),
    "one input, scalar": ({"M": 1, "smf": "scalar"}, ALIGNED),
    "one sample": ({"N": 1}, ALIGNED),
    "one of everything": ({"N": 1, "M": 1, "P": 1}, DUAL),
    "alpha = 1 alone": ({}, ONLY_TYPE_1),
    "alpha_0 alone": ({}, ONE_PLANE),
    "tiny kappa": ({}, TINY_KAPPA),
    "tiny kappa, products underflow": ({"M": 20}, TINY_KAPPA),
    "far out": ({"far": 30.0, "seed": 2}, ALIGNED),
    "many inputs": ({"N": 2, "M": 600, "P": 3}, DUAL),
    "many inputs, scalar": ({"N": 2, "M": 600, "P": 3, "smf": "scalar"}, ALIGNED),
    "many inputs, far out": ({"N": 2, "M": 600, "P": 3, "far": 100.0}, DUAL),
    "products underflow": ({"N": 3, "M": 600, "P": 3, "far": 5.0, "alike": 0.1}, NARROW),
}


@pytest.fixture(params=CASES)
def case(request):
    """Parameters, inputs, targets, objective."""
    shape, objective = CASES[request.param]
    return *a_problem(**shape), objective


def test_products_underflow_in_the_case_named_so_yet_every_parameter_matters():
    shape, objective = CASES["products underflow"]
    params, X, y = a_problem(**shape)
    s_r = constrain(params).s_r
    for kappa in objective.kappa[:2]:
        assert np.prod(kappa * s_r) == 0
    g = grad(lambda p: loss(plane_ends(p, X, objective.kappa), y, objective))(params)
    assert all(np.abs(value).max() > 1e-6 for value in g.values())


# Ends


def test_ends_are_those_of_the_formulas(case):
    params, X, _, objective = case
    fast = fast_ends(params, X, objective.kappa)
    reference = plane_ends(params, X, objective.kappa)
    assert fast.shape == (2, objective.kappa.size, len(X))
    np.testing.assert_allclose(fast, reference, rtol=0, atol=1e-12 * np.abs(reference).max())


@pytest.mark.parametrize(("far", "M"), [(10.0, 3), (1e6, 3), (1e3, 600)])
def test_ends_are_those_of_the_formulas_far_away_in_any_order_of_wide_planes(far, M):
    params, X, _ = a_problem(M=M, far=far)
    kappa = np.array([0.4, 1.0, 1e-3, 0.0, 0.0])
    fast, reference = fast_ends(params, X, kappa), plane_ends(params, X, kappa)
    scale = np.abs(reference).max(axis=(0, 1))
    assert (np.abs(fast - reference) <= 1e-12 * scale).all()


@pytest.mark.filterwarnings("ignore:divide by zero")  # the formulas take the logarithm of 0
def test_ends_are_those_of_the_formulas_where_upper_memberships_have_no_room():
    params, X, _ = a_problem(N=40, M=600, P=3, far=1e4)
    params["raw_r"][:] = -1e4
    assert (constrain(params).s_r == 0).all()
    kappa = np.array([1.0, 0.3])
    fast, reference = fast_ends(params, X, kappa), plane_ends(params, X, kappa)
    np.testing.assert_allclose(fast, reference, rtol=0, atol=1e-12 * np.abs(reference).max())


# Gradients


def test_gradient_of_every_parameter_against_plain_autograd(case):
    params, X, y, objective = case
    reference = grad(lambda p: loss(plane_ends(p, X, objective.kappa), y, objective))(params)
    found = loss_gradient(params, X, y, objective)
    for name, expected in reference.items():
        # the quotient rule of autograd cancels to rounding where one rule decides alone
        tolerance = {"rtol": 1e-10, "atol": 1e-10 * np.abs(expected).max() + 5e-14}
        np.testing.assert_allclose(found[name], expected, err_msg=name, **tolerance)


@pytest.mark.parametrize(
    "case", ["dual", "aligned, scalar", "one of everything", "tiny kappa", "far out", "many inputs",
             "products underflow"], indirect=True,
)  # fmt: skip
def test_gradient_of_every_parameter_against_central_differences(case):
    params, X, y, objective = case

    def f(name, value):
        ends = fast_ends({**params, name: value}, X, objective.kappa)
        return loss_and_gradient(ends, y, objective)[0]

    found = loss_gradient(params, X, y, objective)
    rng = np.random.default_rng(1)
    for name, value in params.items():
        if value.size <= 100:
            check_gradient(lambda v, name=name: f(name, v), value, found[name])
            continue
        for _ in range(3):  # too many entries to go through: some random directions
            d = rng.normal(size=value.shape) / np.sqrt(value.size)
            check_gradient(
                lambda s, name=name, value=value, d=d: f(name, value + s[0] * d),
                np.zeros(1),
                np.array([np.sum(found[name] * d)]),
            )


@pytest.mark.parametrize("end", [0, 1])
def test_gradient_where_consequents_tie_lies_between_the_one_sided_ones(end):
    params, X, _ = a_problem(N=1)
    params["a"][:], params["a0"][:] = 0.0, [0.5, 0.5, 0.5, 0.1 if end else 0.9]
    kappa, found = np.array([0.7]), Flat(params)
    this_end = np.eye(2)[end].reshape(2, 1, 1)
    found.vector[:], _ = run(params, X, kappa, lambda ends, y, X: this_end)
    for name, value in params.items():
        below, above = one_sided(
            lambda v, name=name: fast_ends({**params, name: v}, X, kappa)[end, 0, 0], value
        )
        assert (np.minimum(below, above) - 1e-6 <= found.params[name]).all(), name
        assert (found.params[name] <= np.maximum(below, above) + 1e-6).all(), name


@pytest.mark.parametrize(("M", "share"), [(3, 0.0), (100, 0.0), (100, 3.0), (400, -3.0)])
def test_the_gradient_in_single_precision_is_that_in_double_precision(M, share):
    """With many inputs products of memberships leave the range of single precision."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, M)), rng.normal(size=20)
    params = init_params(X, 6, rng)
    for name in ("a", "a0", "raw_r", "raw_l"):
        params[name] = rng.normal(size=params[name].shape) + (share if "raw" in name else 0)
    found = []
    for dtype in (np.float64, np.float32):
        g, ends = run(params, X, DUAL.kappa, CompiledLoss(DUAL, dtype).gradient, y, dtype)
        assert g.dtype == ends.dtype == dtype
        found.append((g.copy(), ends))
    (g, ends), (g_single, ends_single) = found
    np.testing.assert_allclose(ends_single, ends, rtol=0, atol=2e-5 * np.abs(ends).max())
    np.testing.assert_allclose(g_single, g, rtol=0, atol=1e-3 * np.abs(g).max())


# The checker can fail


@pytest.mark.parametrize("name", ["c", "raw_r", "a0"])
def test_a_wrong_gradient_is_caught_and_a_kink_is_seen(name):
    params, X, y = a_problem()

    def f(value):
        return loss(fast_ends({**params, name: value}, X, DUAL.kappa), y, DUAL)

    right = loss_gradient(params, X, y, DUAL)[name]
    check_gradient(f, params[name], right)
    off_by_one_percent = right.copy()
    off_by_one_percent.flat[-1] *= 1.01
    for wrong in (-right, off_by_one_percent, 0 * right, np.nan * right, right.ravel()[:-1]):
        with pytest.raises(AssertionError):
            check_gradient(f, params[name], wrong)
    below, above = one_sided(lambda v: abs(v[0]) + 2 * v[1], np.zeros(2))
    np.testing.assert_allclose([below, above], [[-1, 2], [1, 2]], rtol=0, atol=1e-9)
