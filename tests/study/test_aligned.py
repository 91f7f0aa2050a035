"""Aligned planes are measured alike; a system for all levels learns the level of each row."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gt2lite._fast.loss import loss_and_gradient
from gt2lite.datasets import load_dataset, prepare
from gt2lite.losses import make_objective
from gt2lite.memberships import alpha_of, log_firing
from gt2lite.metrics import picp
from gt2lite.parameters import sigmoid
from gt2lite.system import Planes, constrain
from gt2lite.training import Recipe, init_params, train
from study import aligned, results
from study.aligned import (
    HIGHEST,
    LOWEST,
    LevelLoss,
    lacking,
    shortfall,
    small_shares,
    summary,
    train_levels,
    trial,
    with_level,
)


def noisy(n=100, M=2):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, M))
    return X, X[:, 0] + rng.normal(size=n)


def test_every_row_learns_the_quantiles_of_its_own_level():
    rng = np.random.default_rng(0)
    phi, y, ends = np.array([0.2, 0.5, 0.97]), rng.normal(size=3), rng.normal(size=(2, 3, 3))
    loss = LevelLoss(make_objective("dual"))
    rows = with_level(np.zeros((3, 1)), phi)
    alone = [
        loss_and_gradient(ends[:, :, i : i + 1], y[i : i + 1], make_objective("dual", level))
        for i, level in enumerate(phi)
    ]
    assert loss.value(ends, y, rows) == pytest.approx(np.mean([value for value, _ in alone]))
    gradient = np.concatenate([g for _, g in alone], axis=2) / 3
    assert_allclose(loss.gradient(ends, y, rows), gradient, rtol=1e-13)


def test_the_level_is_the_last_column_and_scaled_as_inputs_are():
    X, _ = noisy(5000)
    assert_array_equal(with_level(X, 0.5)[:, :-1], X)
    levels = np.linspace(LOWEST, HIGHEST, len(X))
    column = with_level(X, levels)[:, -1]
    assert (np.diff(column) > 0).all()
    assert abs(column.mean()) < 0.02 and abs(column.std() - 1) < 0.02
    assert_array_equal(with_level(X, float(levels[7]))[:, -1], column[7])


def test_a_level_that_was_not_learned_is_an_error():
    for coverage in (0.0, 0.995, float("nan")):
        with pytest.raises(ValueError, match="coverage"):
            with_level(np.zeros((3, 1)), coverage)


@pytest.mark.parametrize("change", [{"objective": "aligned"}, {"keep": "best"}])
def test_what_is_not_on_offer_is_an_error(change):
    (name,) = change
    with pytest.raises(ValueError, match=name):
        train_levels(*noisy(), Recipe(epochs=1, **change))


@pytest.mark.slow
def test_it_learns_the_levels_of_noise_that_it_can_represent():
    X, y = noisy(4000, 1)
    params, history = train_levels(X, y, Recipe(n_rules=5, epochs=60, learning_rate=0.01))
    assert history[-1] < history[0]
    X_new, y_new = np.random.default_rng(1).normal(size=(2, 4000))
    y_new = X_new + y_new
    for level in (0.5, 0.8, 0.9):
        assert picp(
            y_new, *Planes(params, with_level(X_new[:, None], level))(0.01)
        ) == pytest.approx(level, abs=0.05)


# --------------------------------------------------------------------- planes of trained systems


def test_planes_are_measured_before_calibration():
    row = aligned.measure_planes("aids", 0, "aligned", epochs=1)
    assert set(row) == set(results.load("planes"))
    data, objective = prepare(load_dataset("aids"), 0), make_objective("aligned")
    recipe = Recipe(objective="aligned", epochs=1)
    planes = Planes(train(data.X_train, data.y_train, recipe, seed=0).params, data.X_test)
    widest = np.subtract(*planes(0.01)[::-1]).mean()
    for level, alpha in zip(objective.levels, objective.alphas, strict=False):
        lower, upper = planes(float(alpha))
        name = f"{100 * level:.0f}"
        assert row[f"covered_{name}"] == picp(data.y_test, lower, upper)
        assert row[f"relative_{name}"] == pytest.approx((upper - lower).mean() / widest)


# --------------------------------------------------------------------- planes with many inputs


def made_up(n_inputs, n_rows=200, n_rules=10):
    """Return a system with random consequents and all shares one half, and normal inputs."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_inputs))
    params = init_params(X, n_rules, rng) | {"a0": rng.normal(size=n_rules)}
    return params | {"raw_l": np.zeros(n_inputs), "raw_r": np.zeros(n_inputs)}, X


@pytest.mark.parametrize("n_inputs", [1, 23])
@pytest.mark.parametrize("kappa", [0.05, 1.0])
def test_bounds_stay_between_the_limits_of_the_theorem(n_inputs, kappa):
    params, X = made_up(n_inputs, n_rows=50)
    y = X @ params["a"].T + params["a0"]  # (N, P)
    theta, rows = constrain(params), np.arange(50)
    f = np.exp(log_firing(X, theta.c, theta.sigma, theta.s_l, theta.s_r, 0.0)[0])
    outermost = y.argmin(axis=1), y.argmax(axis=1)
    for found, p in zip(shortfall(params, X, kappa), outermost, strict=True):
        pull = (1 - kappa / 2) ** n_inputs * (f * np.abs(y - y[rows, p][:, None])).sum(axis=1)
        assert (pull / 10 > 0).all() and (pull / 10 <= found * (1 + 1e-9)).all()
        assert (found <= pull / f[rows, p] * (1 + 1e-9)).all()


def test_the_shortfall_is_the_distance_of_the_ends_from_the_outermost_consequents():
    params, X = made_up(3, n_rows=20)
    y = X @ params["a"].T + params["a0"]
    lower, upper = Planes(params, X)(float(alpha_of(0.7)))
    wanted = np.stack([lower - y.min(axis=1), y.max(axis=1) - upper])
    assert_allclose(shortfall(params, X, 0.7), wanted, atol=1e-9)


def test_what_is_lacking_falls_geometrically_with_the_inputs():
    """Ten inputs more at kappa = 1 and shares of a half: 2**10 times less, give or take."""
    few, many = (lacking(*made_up(n), [1.0])[0] for n in (20, 30))
    assert 2**8 < few / many < 2**12


def test_with_small_shares_it_hardly_does():
    found = []
    for n in (5, 50):
        params, X = made_up(n)
        small = small_shares(params)
        assert_allclose(sigmoid(small["raw_l"]), 1 / (2 * n))
        found.append(lacking(small, X, [1.0])[0])
    assert 0.5 < found[0] / found[1] < 2
    assert found[1] > 0.05


def test_planes_run_together_sooner_with_more_inputs():
    few, many, one = (summary(*made_up(n, n_rows=50)) for n in (10, 40, 1))
    assert (few["inputs"], few["shares"]) == (10, pytest.approx(5))
    assert few["factor"] == pytest.approx(0.5**10)
    assert many["lacking"] < few["lacking"]
    assert many["together"] > few["together"]
    assert np.isnan(one["together"])


def test_a_trial_with_small_shares_leaves_planes_apart():
    usual, small = (trial("aids", 0, small, epochs=1) for small in (False, True))
    assert usual["lacking"] < small["lacking"]
    assert usual["score"] != small["score"]
    assert (usual["start"], small["start"]) == ("usual", "small")
