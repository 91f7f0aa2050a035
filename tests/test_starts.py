"""Facts about start values: every rule begins where the data is."""

from __future__ import annotations

import numpy as np
import pytest

from gt2lite.memberships import log_firing
from gt2lite.system import Planes, constrain
from gt2lite.training import init_params

ALPHAS = (0.01, 0.1, 0.5, 0.99, 1.0)


def test_start_values_lie_in_their_ranges():
    X = np.random.default_rng(0).normal(2.0, 3.0, size=(200, 4))
    params = init_params(X, 50, np.random.default_rng(1))
    for name, high in (("raw_l", 0.1), ("raw_r", 0.1), ("a", 0.01), ("a0", 0.01)):
        assert ((params[name] >= 0) & (params[name] <= high)).all(), name
        assert np.ptp(params[name]) > 0.3 * high, name
    assert (params["c"] >= X.min(axis=0) - 1e-12).all()
    assert (params["c"] <= X.max(axis=0) + 1e-12).all()
    np.testing.assert_allclose(params["raw_sigma"], np.tile(X.std(axis=0), (50, 1)), rtol=1e-12)


def test_same_generator_same_start_other_generator_other_start():
    X = np.random.default_rng(0).normal(size=(100, 2))
    one, same, other = (init_params(X, 5, np.random.default_rng(s)) for s in (3, 3, 4))
    for name in one:
        np.testing.assert_array_equal(one[name], same[name])
        assert name == "raw_sigma" or (one[name] != other[name]).any()


def test_centres_are_dealt_to_the_rules_in_random_order():
    X = np.random.default_rng(0).normal(size=(100, 8))
    c = init_params(X, 6, np.random.default_rng(1))["c"]
    orders = {tuple(np.argsort(column)) for column in c.T}
    assert len(orders) > 4


def test_well_separated_clusters_are_found():
    rng = np.random.default_rng(0)
    clusters = [rng.normal(at, 0.1, size) for at, size in ((-50, 5), (0, 40), (3, 20), (90, 1))]
    X = rng.permutation(np.concatenate(clusters))[:, None]
    for seed in range(10):
        c = np.sort(init_params(X, 4, np.random.default_rng(seed))["c"][:, 0])
        np.testing.assert_allclose(c, [cluster.mean() for cluster in clusters], rtol=0, atol=1e-12)


def test_repeated_values_weigh_as_often_as_they_occur():
    # 0 thrice and 1 once make one cluster with mean 1/4, 10 and 10 another
    X = np.array([[0.0], [1.0], [0.0], [10.0], [0.0], [10.0]])
    c = init_params(X, 2, np.random.default_rng(0))["c"]
    np.testing.assert_allclose(np.sort(c[:, 0]), [0.25, 10], rtol=0, atol=1e-15)


@pytest.mark.parametrize("seed", range(5))
def test_every_centre_is_the_mean_of_the_values_nearest_to_it(seed):
    rng = np.random.default_rng(seed)
    x = rng.gamma(1.0, 2.0, 300).round(2)
    c = np.sort(init_params(x[:, None], 7, rng)["c"][:, 0])
    nearest = np.abs(x[:, None] - c).argmin(axis=1)
    means = [x[nearest == j].mean() for j in range(7)]
    np.testing.assert_allclose(c, means, rtol=0, atol=1e-10)


def test_an_input_with_two_values_repeats_them_as_centres():
    X = np.array([[0.0], [1.0], [1.0], [1.0], [0.0]])
    c = init_params(X, 5, np.random.default_rng(0))["c"]
    assert sorted(c[:, 0]) in ([0, 0, 0, 1, 1], [0, 0, 1, 1, 1])
    assert np.isfinite(Planes(init_params(X, 5, np.random.default_rng(0)), X).ends(ALPHAS)).all()


@pytest.mark.parametrize("value", [0.0, 0.1, -7.3, 1e10])
def test_a_constant_input_has_sigma_one_and_finite_ends(value):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=9), np.full(9, value)])
    params = init_params(X, 4, rng)
    np.testing.assert_array_equal(params["raw_sigma"][:, 1], 1)
    np.testing.assert_array_equal(params["c"][:, 1], value)
    assert np.isfinite(Planes(params, X).ends(ALPHAS)).all()


@pytest.mark.parametrize("x", [[0.0, 1e-170], [1.0, 1.0 + 2**-52], [-1e-310, 0.0, 1e-310]])
def test_sigma_is_positive_even_where_squares_underflow(x):
    params = init_params(np.array(x)[:, None], 2, np.random.default_rng(0))
    assert (params["raw_sigma"] > 0).all()


def test_centres_do_not_suffer_from_an_outlier():
    # running sums that start at the outlier would leave nothing of the rest
    x = np.concatenate([[-1e17], np.linspace(9.5, 11.5, 21)])
    c = np.sort(init_params(x[:, None], 3, np.random.default_rng(0))["c"][:, 0])
    assert c[0] == -1e17
    assert ((c[1:] >= 9.5) & (c[1:] <= 11.5)).all()


def test_one_sample_is_enough_for_start_values():
    params = init_params(np.array([[2.0, -1.0]]), 3, np.random.default_rng(0))
    np.testing.assert_array_equal(params["c"], [[2, -1]] * 3)
    np.testing.assert_array_equal(params["raw_sigma"], np.ones((3, 2)))


# Rules at joint clusters


def test_joint_clusters_are_found_and_every_rule_stands_in_one():
    rng = np.random.default_rng(0)
    at = np.array([[-9.0, 9.0], [0.0, 0.0], [9.0, 9.0], [9.0, -9.0]])
    X = np.concatenate([place + 0.1 * rng.normal(size=(30, 2)) for place in at])
    for seed in range(5):
        c = init_params(X, 4, np.random.default_rng(seed), start="joint")["c"]
        means = X.reshape(4, 30, 2).mean(axis=1)
        order = [int(np.argmin(((means - centre) ** 2).sum(axis=1))) for centre in c]
        assert sorted(order) == [0, 1, 2, 3]
        np.testing.assert_allclose(c, means[order], rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_every_joint_centre_is_the_mean_of_the_rows_nearest_to_it(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 3))
    c = init_params(X, 8, rng, start="joint")["c"]
    nearest = ((X[:, None] - c) ** 2).sum(axis=2).argmin(axis=1)
    means = [X[nearest == j].mean(axis=0) for j in range(8)]
    np.testing.assert_allclose(c, means, rtol=0, atol=1e-10)


def test_a_joint_start_repeats_rows_where_there_are_too_few():
    X = np.array([[0.0, 1.0], [2.0, 3.0], [0.0, 1.0]])
    c = init_params(X, 5, np.random.default_rng(0), start="joint")["c"]
    assert {tuple(row) for row in c} == {(0.0, 1.0), (2.0, 3.0)}


def test_a_joint_start_does_not_mind_squares_that_underflow():
    X = np.array([[0.0], [1e-170], [2e-170], [3e-170]])
    c = init_params(X, 3, np.random.default_rng(0), start="joint")["c"]
    assert np.isfinite(c).all() and (c >= 0).all() and (c <= 3e-170).all()


def test_sigma_starts_in_multiples_of_the_spread():
    X = np.random.default_rng(0).normal(size=(50, 3))
    one, half = (
        init_params(X, 4, np.random.default_rng(1), sigma_scale=s)["raw_sigma"] for s in (1.0, 0.5)
    )
    np.testing.assert_array_equal(half, one / 2)


def test_sigma_over_the_root_of_the_inputs_is_the_plain_product():
    X = np.random.default_rng(0).normal(size=(50, 9))
    params = init_params(X, 4, np.random.default_rng(1), sigma_scale=1 / 3)
    z = (X[:, None] - params["c"]) / X.std(axis=0)  # (N, P, M)
    product = np.exp(-0.5 * z**2).prod(axis=2)
    theta = constrain(params)
    _, upper = log_firing(X, theta.c, theta.sigma, theta.s_l, theta.s_r, 0.0)
    np.testing.assert_allclose(np.exp(upper), product, rtol=1e-10)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"X": np.zeros(3)}, "X must be a table"),
        ({"X": np.array([[1.0], [np.nan]])}, "X .*finite"),
        ({"n_rules": 0}, "n_rules must be a whole number"),
        ({"smf": "both"}, "smf must be one of"),
        ({"start": "anywhere"}, "start must be one of"),
        ({"sigma_scale": -1}, "sigma_scale must be a number"),
    ],
)
def test_bad_arguments_of_the_start_are_named(arguments, message):
    good = {"X": np.zeros((3, 1)), "n_rules": 2, "rng": np.random.default_rng(0), "smf": "scalar"}
    with pytest.raises(ValueError, match=message):
        init_params(**{**good, **arguments})
