"""Simultaneous quantile regression: gradient, training, stopping, and its comparison."""

from types import SimpleNamespace

import autograd.numpy as anp
import numpy as np
import pytest
from autograd import grad
from made_up import noisy
from numpy.testing import assert_allclose, assert_array_equal

from gt2lite.calibration import rank
from gt2lite.datasets import load_dataset, prepare
from gt2lite.losses import make_objective, pinball
from gt2lite.memberships import kappa_of
from gt2lite.metrics import covers
from gt2lite.recipe import Recipe
from gt2lite.system import PARAM_NAMES, Planes, plane_ends
from gt2lite.training import init_params
from study import results, sqr


def reference_loss(params, X, y, alpha):
    """The loss straight from the formulas, row by row, for autograd."""
    total = 0.0
    for i, level in enumerate(alpha):
        ends = plane_ends(params, X[i : i + 1], [kappa_of(level)])  # (2, 1, 1)
        total = total + anp.mean(pinball(y[i] - (ends[0, 0] + ends[1, 0]) / 2, level))
    return total / len(alpha)


@pytest.mark.parametrize("smf", ["scalar", "per_input"])
@pytest.mark.parametrize("M", [1, 4])
def test_quantiles_and_the_gradient_are_those_of_the_formulas(smf, M):
    (X, y), rng = noisy(40, M), np.random.default_rng(3)
    params = {  # a system whose rules, shares and consequents all differ
        name: value + rng.normal(0, 0.4, value.shape)
        for name, value in init_params(X, 5, rng, smf=smf).items()
    }
    alpha = rng.uniform(0.01, 1, len(y))
    value, gradient = sqr.loss_and_gradient(params, X, y, alpha)
    assert value == pytest.approx(reference_loss(params, X, y, alpha), rel=1e-12)
    by_autograd = grad(reference_loss)(params, X, y, alpha)
    wanted = np.concatenate([by_autograd[name].ravel() for name in PARAM_NAMES])
    assert np.abs(wanted).min() > 0
    assert_allclose(gradient, wanted, rtol=1e-9, atol=1e-14)
    lower, upper = plane_ends(params, X, [kappa_of(0.05), kappa_of(0.95)])
    assert_allclose(sqr.quantiles(params, X, [0.05, 0.95]), (lower + upper) / 2)


def test_training_ends_by_patience_and_keeps_the_best_epoch():
    settings = {"n_rules": 3, "smf": "scalar", "learning_rate": 0.05, "keep": "validation"}
    found = sqr.train_sqr(*noisy(120), Recipe(**settings, epochs=200, patience=7))
    best = int(np.argmin(found.history)) + 1
    assert len(found.history) == best + 7 < 200
    short = sqr.train_sqr(*noisy(120), Recipe(**settings, epochs=best))
    for name, value in short.params.items():
        assert_array_equal(value, found.params[name])


@pytest.mark.slow
def test_it_learns_the_quantiles_of_noise():
    recipe = Recipe(n_rules=5, smf="scalar", learning_rate=0.01, epochs=60)
    params = sqr.train_sqr(*noisy(4000, 1), recipe).params
    (X, y), levels = noisy(4000, 1, seed=9), [0.1, 0.5, 0.9]
    shares = np.mean(y <= sqr.quantiles(params, X, levels), axis=1)
    assert_allclose(shares, levels, atol=0.05)


# ------------------------------------------------------------------- comparison with aligned


@pytest.fixture(scope="module")
def fitted():
    """The data of a split, and a system that is as at the start but for its consequents."""
    data, rng = prepare(load_dataset("aids"), 0), np.random.default_rng(0)
    return data, init_params(data.X_train, 3, rng) | {"a0": np.array([-1.0, 0.0, 1.0])}


def test_raw_intervals_are_quantiles_and_the_planes_that_learned_the_level(fitted):
    data, params = fitted
    raw, median = sqr.forecasts("sqr", params, data)["raw"]
    expected = sqr.quantiles(params, data.X_test, [0.05, 0.5, 0.95])
    assert_allclose([raw(0.9)[0], median, raw(0.9)[1]], expected, rtol=1e-10)
    objective, planes = make_objective("aligned"), Planes(params, data.X_test)
    raw, median = sqr.forecasts("aligned", params, data)["raw"]
    for level, alpha in zip(objective.levels, objective.alphas, strict=False):
        assert_allclose(raw(float(level)), planes(alpha), rtol=1e-9, atol=1e-12)
    assert_array_equal(median, planes(1.0)[0])


@pytest.mark.parametrize("model", ["sqr", "aligned"])
def test_conformal_intervals_cover_their_rank_of_the_calibration_set(fitted, model):
    data, params = fitted
    both = SimpleNamespace(X_cal=data.X_cal, y_cal=data.y_cal, X_test=data.X_cal, y_test=data.y_cal)
    at, _ = sqr.forecasts(model, params, both)["conformal"]
    for level in (0.5, 0.95):
        assert covers(data.y_cal, *at(level)).sum() >= rank(level, len(data.y_cal) + 1)


def test_the_crps_of_quantiles_by_hand():
    # the quantiles of U(0, 1) against y: the integral of (F(x) - 1[x >= y])**2 is y^2 - y + 1/3
    y = np.array([0.2, 0.5, 0.9])
    uniform = np.repeat(sqr.LEVELS[:, None], 3, axis=1)
    assert sqr.crps(uniform, y) == pytest.approx(np.mean(y**2 - y + 1 / 3), abs=0.005)


def test_rows_of_a_comparison_have_the_stored_columns_and_count_steps():
    short = {"n_rules": 2, "epochs": 2}
    ours = sqr.compare("aids", 0, "sqr", Recipe(smf="scalar", **short))
    theirs = sqr.compare("aids", 0, "aligned", Recipe(objective="aligned", **short))
    assert set(ours) == set(results.load("sqr"))
    assert ours.form.tolist() == ["raw", "raw", "conformal", "conformal"]
    assert ours.level.tolist() == [0.9, 0.95] * 2
    assert set(ours.steps) == {2 * ((1497 - 299) // 64)}
    assert set(theirs.steps) == {2 * (1497 // 64)}
