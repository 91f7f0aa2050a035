"""Facts about a system: parameters, output, and planes as a function of alpha."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from gt2lite._fast import chunks
from gt2lite.memberships import kappa_of
from gt2lite.system import (
    Planes,
    constrain,
    n_parameters,
    plane_ends,
)
from gt2lite.training import init_params

ALPHAS = (0.01, 0.1, 0.5, 0.99, 1.0)


def a_system(N=40, M=3, P=5, smf="per_input", seed=0):
    """Parameters away from their start values, and inputs."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, M))
    params = init_params(X, P, rng, smf=smf)
    params = {name: v + rng.uniform(-0.4, 0.4, v.shape) for name, v in params.items()}
    params["raw_sigma"] = np.maximum(params["raw_sigma"], 0.3)
    return params, X


def consequents(params, X):
    return X @ params["a"].T + params["a0"]  # (N, P)


# Parameters


@pytest.mark.parametrize(("P", "M"), [(1, 1), (10, 19)])
def test_the_number_of_parameters_is_the_papers(P, M):
    X = np.random.default_rng(0).normal(size=(30, M))
    rng = np.random.default_rng(1)
    assert n_parameters(init_params(X, P, rng)) == (2 * P + 2) * M + P * (M + 1)
    assert n_parameters(init_params(X, P, rng, smf="scalar")) == 2 * P * M + 2 + P * (M + 1)


def test_the_sigmoid_by_hand():
    params, _ = a_system(M=2)
    params["raw_l"], params["raw_r"] = np.array([0.0, np.log(3.0)]), np.array([-np.log(4.0), 1e4])
    theta = constrain(params)
    np.testing.assert_allclose(theta.s_l, [1 / 2, 3 / 4], rtol=1e-15)
    np.testing.assert_allclose(theta.s_r, [1 / 5, 1], rtol=1e-15)


# Planes


@pytest.mark.parametrize("shape", [(40, 3, 30), (1, 3, 5), (40, 1, 5), (40, 3, 1), (3, 600, 4)])
def test_planes_are_those_of_the_formulas(shape):
    params, X = a_system(*shape, smf="scalar")
    found = Planes(params, X).ends(ALPHAS)
    for name in ("raw_l", "raw_r"):  # one share serves every input
        params[name] = np.repeat(params[name], shape[1])
    expected = plane_ends(params, X, kappa_of(ALPHAS))
    assert found.shape == (2, len(ALPHAS), len(X))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


def test_planes_may_be_asked_for_in_any_order():
    params, X = a_system()
    planes = Planes(params, X)
    ends = planes.ends((1.0, 0.01, 1.0, 0.5))
    for i, alpha in enumerate((1.0, 0.01, 1.0, 0.5)):
        np.testing.assert_array_equal(ends[:, i], planes(alpha))
    np.testing.assert_array_equal(planes.ends((0.5, 1.0, 0.01))[:, 1], planes(1.0))


@pytest.mark.parametrize("M", [3, 600])
def test_a_plane_for_each_row(M):
    params, X = a_system(M=M)
    planes = Planes(params, X)
    alpha = np.random.default_rng(1).uniform(0.01, 1, len(X))
    alpha[::5] = 1.0
    alpha[1] = 0.01
    lower, upper = planes(alpha)
    for i, own in enumerate(alpha):
        one_by_one = planes(own)
        assert lower[i] == pytest.approx(one_by_one[0][i], abs=1e-12)
        assert upper[i] == pytest.approx(one_by_one[1][i], abs=1e-12)
    np.testing.assert_allclose(lower[::5], upper[::5], rtol=0, atol=1e-12)
    np.testing.assert_allclose(planes(np.ones(len(X))), planes(1.0), rtol=0, atol=1e-12)


@pytest.mark.parametrize(("cache", "chunk"), [(0, 15 * 7), (2**22, 1), (2**22, 15 * 7)])
def test_chunks_do_not_show(monkeypatch, chunk, cache):
    params, X = a_system()
    alpha = np.random.default_rng(1).uniform(0.01, 1, len(X))
    whole = Planes(params, X)
    expected, expected_rows = whole.ends(ALPHAS), whole(alpha)
    monkeypatch.setattr(chunks, "_CHUNK_ELEMENTS", chunk)
    monkeypatch.setattr(chunks, "_CACHE_ELEMENTS", cache)
    planes = Planes(params, X)
    for _ in range(3):  # the second time it is kept, the third time taken from there
        np.testing.assert_allclose(planes.ends(ALPHAS), expected, rtol=0, atol=1e-12)
        np.testing.assert_allclose(planes(alpha), expected_rows, rtol=0, atol=1e-12)


def test_at_alpha_one_the_system_is_of_type_1():
    params, X = a_system()
    _, M = X.shape
    z = (X[:, None] - params["c"]) / params["raw_sigma"]
    f = np.exp(-(z**2) / (2 * M)).prod(axis=2)  # (N, P)
    mean = (f * consequents(params, X)).sum(axis=1) / f.sum(axis=1)
    np.testing.assert_allclose(Planes(params, X)(1.0), [mean, mean], rtol=0, atol=1e-12)
    np.testing.assert_allclose(Planes(params, X).output([1.0]), mean, rtol=0, atol=1e-12)


def test_the_output_is_the_mean_of_the_plane_centres_weighted_by_alpha():
    params, X = a_system()
    planes = Planes(params, X)
    alphas = (0.01, 0.5, 1.0)
    centres = [np.mean(planes(alpha), axis=0) for alpha in alphas]
    expected = (0.01 * centres[0] + 0.5 * centres[1] + 1.0 * centres[2]) / 1.51
    np.testing.assert_allclose(planes.output(alphas), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("M", "far"), [(1, 1e200), (3, 1e6), (600, 1e200)])
def test_ends_are_finite_however_far_out(M, far):
    params, X = a_system(N=4, M=M)
    X = np.vstack([X, far * np.ones(M), -far * np.eye(M)[:1]])
    planes = Planes(params, X)
    ends = planes.ends(ALPHAS)
    assert np.isfinite(ends).all()
    y = consequents(params, X)
    slack = 1e-12 * np.abs(y).max(axis=1)
    assert (y.min(axis=1) - slack <= ends[0]).all()
    assert (ends[1] <= y.max(axis=1) + slack).all()
    assert (ends[0] <= ends[1]).all()
    assert np.isfinite(planes(np.array([1.0, 0.01, 1.0, 0.3, 0.3, 1.0]))).all()
    # and the samples nearby do not notice
    np.testing.assert_allclose(ends[:, :, :4], Planes(params, X[:4]).ends(ALPHAS), atol=1e-12)


def test_planes_can_be_pickled_without_what_they_keep():
    params, X = a_system(M=20)
    planes = Planes(params, X)
    before = pickle.dumps(planes)
    expected = planes.ends(ALPHAS)
    again = pickle.dumps(planes)
    assert again == before  # nor has anything been modified
    np.testing.assert_array_equal(pickle.loads(again).ends(ALPHAS), expected)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda params, X: Planes(params, X[:, :2]), "X must have 3 columns"),
        (lambda params, X: Planes(params, X * np.nan), "X .*finite"),
        (lambda params, X: Planes(params, X)(0.0), "alpha must lie in"),
        (lambda params, X: Planes(params, X)(1e-300), "alpha must be at least"),
        (lambda params, X: Planes(params, X)([0.5, 0.5]), "alpha must"),
        (lambda params, X: Planes(params, X).ends([]), "alphas must"),
        (lambda params, X: Planes(params, X).ends([0.5, -1]), "alpha must lie in"),
    ],
)
def test_bad_arguments_of_planes_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call(*a_system())
