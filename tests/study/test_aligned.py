"""Aligned planes are measured alike; a system for all levels learns the level of each row."""

import numpy as np
import pytest
from made_up import noisy
from numpy.testing import assert_allclose

from gt2lite._fast.loss import loss_and_gradient
from gt2lite.datasets import load_dataset, prepare
from gt2lite.losses import make_objective
from gt2lite.memberships import alpha_of, log_firing
from gt2lite.metrics import picp
from gt2lite.recipe import Recipe
from gt2lite.system import Planes, constrain
from gt2lite.training import init_params, train
from study import aligned, results
from study.aligned import lacking, shortfall, small_shares, train_levels, with_level


def test_every_row_learns_the_quantiles_of_its_own_level():
    rng = np.random.default_rng(0)
    phi, y, ends = np.array([0.2, 0.5, 0.97]), rng.normal(size=3), rng.normal(size=(2, 3, 3))
    loss, rows = aligned.LevelLoss(make_objective("dual")), with_level(np.zeros((3, 1)), phi)
    alone = [
        loss_and_gradient(ends[:, :, i : i + 1], y[i : i + 1], make_objective("dual", level))
        for i, level in enumerate(phi)
    ]
    assert loss.value(ends, y, rows) == pytest.approx(np.mean([value for value, _ in alone]))
    gradient = np.concatenate([g for _, g in alone], axis=2) / 3
    assert_allclose(loss.gradient(ends, y, rows), gradient, rtol=1e-13)


@pytest.mark.slow
def test_it_learns_the_levels_of_noise_that_it_can_represent():
    recipe = Recipe(n_rules=5, epochs=60, learning_rate=0.01)
    params, _ = train_levels(*noisy(4000, 1), recipe)
    X, y = noisy(4000, 1, seed=1)
    for level in (0.5, 0.8, 0.9):
        covered = picp(y, *Planes(params, with_level(X, level))(0.01))
        assert covered == pytest.approx(level, abs=0.05)


def test_planes_are_measured_before_calibration():
    row = aligned.measure_planes("aids", 0, "aligned", epochs=1)
    assert set(row) == set(results.load("planes"))
    data, objective = prepare(load_dataset("aids"), 0), make_objective("aligned")
    recipe = Recipe(objective="aligned", epochs=1)
    planes = Planes(train(data.X_train, data.y_train, recipe, seed=0).params, data.X_test)
    widest = np.subtract(*planes(0.01)[::-1]).mean()
    for level, alpha in zip(objective.levels, objective.alphas, strict=False):
        lower, upper = planes(float(alpha))
        assert row[f"covered_{100 * level:.0f}"] == picp(data.y_test, lower, upper)
        relative = (upper - lower).mean() / widest
        assert row[f"relative_{100 * level:.0f}"] == pytest.approx(relative)


# --------------------------------------------------------------------- planes with many inputs


def system(n_inputs, n_rows=50, n_rules=10):
    """Return a system with random consequents and all shares one half, and normal inputs."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_inputs))
    params = init_params(X, n_rules, rng) | {"a0": rng.normal(size=n_rules)}
    return params | {"raw_l": np.zeros(n_inputs), "raw_r": np.zeros(n_inputs)}, X


@pytest.mark.parametrize("n_inputs", [1, 3, 23])
@pytest.mark.parametrize("kappa", [0.05, 0.7, 1.0])
def test_the_distance_from_the_outermost_consequents_is_within_the_limits_of_the_theorem(
    n_inputs, kappa
):
    params, X = system(n_inputs)
    y = X @ params["a"].T + params["a0"]  # (N, P)
    lower, upper = Planes(params, X)(float(alpha_of(kappa)))
    short = shortfall(params, X, kappa)
    assert_allclose(short, [lower - y.min(axis=1), y.max(axis=1) - upper], atol=1e-9)
    theta, rows = constrain(params), np.arange(50)
    f = np.exp(log_firing(X, theta.c, theta.sigma, theta.s_l, theta.s_r, 0.0)[0])
    for found, p in zip(short, (y.argmin(axis=1), y.argmax(axis=1)), strict=True):
        pull = (1 - kappa / 2) ** n_inputs * (f * np.abs(y - y[rows, p][:, None])).sum(axis=1)
        assert (pull / 10 > 0).all() and (pull / 10 <= found * (1 + 1e-9)).all()
        assert (found <= pull / f[rows, p] * (1 + 1e-9)).all()


def test_what_is_lacking_falls_geometrically_with_the_inputs_but_not_with_small_shares():
    """Ten inputs more at kappa = 1 and shares of a half: 2**10 times less, give or take."""
    few, many = (lacking(*system(n, 200), [1.0])[0] for n in (20, 30))
    assert 2**8 < few / many < 2**12
    small = [(small_shares(params), X) for params, X in (system(5, 200), system(50, 200))]
    assert_allclose(constrain(small[1][0]).s_l, 1 / 100)
    few, many = (lacking(*one, [1.0])[0] for one in small)
    assert 0.5 < few / many < 2 and many > 0.05


def test_planes_run_together_sooner_with_more_inputs():
    few, many, one = (aligned.summary(*system(n)) for n in (10, 40, 1))
    assert (few["inputs"], few["shares"]) == (10, pytest.approx(5))
    assert few["factor"] == pytest.approx(0.5**10)
    assert many["lacking"] < few["lacking"] and many["together"] > few["together"]
    assert np.isnan(one["together"])


def test_a_trial_with_small_shares_leaves_planes_apart():
    usual, small = (aligned.trial("aids", 0, small, epochs=1) for small in (False, True))
    assert usual["lacking"] < small["lacking"] and usual["score"] != small["score"]
