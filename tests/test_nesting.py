"""Facts about nesting to the last bit: planes and levels never cross, also far from the data."""

import numpy as np
import pytest

from gt2lite import GT2Regressor
from gt2lite.memberships import kappa_of
from gt2lite.system import Planes, nest, plane_ends
from gt2lite.training import init_params

ALPHAS = np.linspace(0.01, 1, 12)


def systems():
    """Yield systems and rows, from ordinary to absurd."""
    rng = np.random.default_rng(0)
    for P, M in [(1, 1), (3, 2), (30, 3)]:
        X = rng.normal(size=(40, M))
        params = init_params(X, P, rng)
        for spread, shift in [(1.0, 0.0), (1e-12, 1.0), (1e3, 1e6), (0.0, 3.0)]:
            params["a"] = spread * rng.normal(size=(P, M))
            params["a0"] = shift + spread * rng.normal(size=P)
            for far in (1.0, 1e3, 1e8):
                yield params.copy(), far * X


def test_planes_of_one_question_never_cross():
    """Nor do planes asked for one by one, and all of them contain the type-1 output."""
    for params, X in systems():
        planes = Planes(params, X)
        middle = planes(1.0)[0]
        one_by_one = np.array([planes(alpha) for alpha in ALPHAS]).swapaxes(0, 1)
        for lower, upper in (planes.ends(ALPHAS), one_by_one):
            assert (np.diff(lower, axis=0) >= 0).all() and (np.diff(upper, axis=0) <= 0).all()
            assert (lower <= middle).all() and (middle <= upper).all()
        lower, upper = planes(np.full(len(X), 0.5))
        assert (lower <= middle).all() and (middle <= upper).all()


@pytest.fixture(scope="module")
def trained():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(600, 2))
    y = X[:, 0] + rng.normal(size=600)
    reg = GT2Regressor(n_rules=4, epochs=10, learning_rate=0.02).fit(X[:300], y[:300])
    return reg, X, y


@pytest.mark.parametrize("sides", ["both", "each"])
@pytest.mark.parametrize("groups", [None, np.arange(300) % 2])
def test_levels_never_cross_nor_do_the_two_ends(trained, sides, groups):
    reg, X, y = trained
    reg.calibrate(X[300:], y[300:], sides=sides, groups=groups)
    levels = [0.9, 0.3, 0.5, 0.95, 0.1, 0.905]
    order = np.argsort(levels)
    for far in (1.0, 1e3, 1e12):
        lower, upper = reg.predict_interval(far * X[:300], coverage=levels, groups=groups)
        assert (np.diff(lower[:, order], axis=1) <= 0).all()
        assert (np.diff(upper[:, order], axis=1) >= 0).all()
        assert (lower <= upper).all()


def test_nesting_changes_nothing_that_is_in_order():
    rng = np.random.default_rng(2)
    kappa = rng.permutation(7)[:, None] / 7.0
    lower, upper = -kappa * np.ones(5), kappa * np.ones(5)
    assert np.array_equal(nest(np.stack([lower, upper]), kappa), np.stack([lower, upper]))


def test_nesting_by_row_follows_the_order_of_each_row():
    ends = np.array([[[1.0, 1.5], [1.5, 1.0]], [[2.0, 2.0], [2.0, 2.0]]])
    found = nest(ends, np.array([[0.1, 0.2], [0.2, 0.1]]))
    assert found[0].tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_a_row_has_the_same_planes_alone_and_among_others_and_so_does_a_plane():
    """To within rounding, and where a question has one plane or several to the last bit."""
    for params, X in systems():
        ends = Planes(params, X).ends(ALPHAS)
        scale = np.abs(ends).max()
        for i in (0, 17, 39):
            alone = Planes(params, X[i : i + 1]).ends(ALPHAS)[:, :, 0]
            np.testing.assert_allclose(alone, ends[:, :, i], rtol=0, atol=1e-13 * scale)
        single = np.stack([Planes(params, X)(alpha) for alpha in ALPHAS], axis=1)
        np.testing.assert_array_equal(single, ends)


def test_planes_are_the_best_of_all_switch_points_in_any_system():
    """The iteration of `Planes` against every switch point, also with ties and tiny widths."""
    rng = np.random.default_rng(3)
    kappa = kappa_of(ALPHAS)
    for params, X in systems():
        P = len(params["a0"])
        for ties in (False, True):
            tried = dict(params)
            if ties:  # a third of the rules shares its consequent with another one
                same = rng.integers(P, size=P)
                tried["a"], tried["a0"] = params["a"][same], params["a0"][same]
            for width in (1.0, 1e-3):
                tried["raw_sigma"] = width * params["raw_sigma"]
                found, wanted = Planes(tried, X).ends(ALPHAS), plane_ends(tried, X, kappa)
                scale = np.abs(wanted).max(axis=(0, 1))
                assert (np.abs(found - wanted) <= 1e-12 * scale).all()
