"""Facts about the rivals: MAPIE does what we say, and tuning sees the training part only."""

from __future__ import annotations

import logging
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gt2lite._threads import one_blas_thread
from gt2lite.calibration import rank
from gt2lite.calibration.oracle import widen
from gt2lite.study.field import boosted, conformal, linear
from gt2lite.study.field.boosted import Boosting, boosted_mean, boosted_quantiles
from gt2lite.study.field.conformal import ConformalisedQuantiles, SplitConformal
from gt2lite.study.field.linear import linear_quantiles

pytest.importorskip("mapie", reason="needs the extra `book`")
linear_model = pytest.importorskip("sklearn.linear_model")

LEVEL = 0.8


@pytest.fixture(autouse=True)
def one_thread():
    """Threads that wait for each other would make small trees slow."""
    with one_blas_thread():
        yield


@pytest.fixture(scope="module")
def parts():
    """Rows whose noise grows with the input: 300 to learn, 99 to calibrate, 200 to judge."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(599, 2))
    y = 2 * X[:, 0] + (1.5 + X[:, 1]) * rng.normal(size=599)
    return [(X[rows], y[rows]) for rows in (slice(300), slice(300, 399), slice(399, 599))]


def makers():
    few = 10
    return {
        "boosted quantiles": lambda: boosted_quantiles(0, few),
        "boosted mean": lambda: boosted_mean(0, few),
        "linear quantiles": linear_quantiles,
    }


@pytest.mark.parametrize("make", makers().values(), ids=makers())
def test_an_interval_is_the_family_with_the_conformal_margin(parts, make):
    train, calibration, (X, _) = parts
    rival = make().fit(*train).conformalize(*calibration, LEVEL)
    raw = rival.family(calibration[0], LEVEL)
    scores = np.sort(np.maximum(raw[0] - calibration[1], calibration[1] - raw[1]))
    margin = scores[rank(LEVEL, 99 + 1) - 1]  # the 80th of 99
    lower, upper = rival.predict_interval(X, LEVEL)
    expected = widen(*rival.family(X, LEVEL), margin)
    assert_allclose((lower, upper), expected, atol=1e-12)


@pytest.mark.parametrize("make", makers().values(), ids=makers())
def test_estimates_do_not_depend_on_the_level_and_levels_do_not_disturb_each_other(parts, make):
    train, calibration, (X, _) = parts
    rival = make().fit(*train).conformalize(*calibration, LEVEL)
    y_hat, before = rival.predict(X), rival.predict_interval(X, LEVEL)
    rival.conformalize(*calibration, 0.5)
    assert_array_equal(rival.predict(X), y_hat)
    assert_array_equal(rival.predict_interval(X, LEVEL), before)
    narrow = np.subtract(*rival.predict_interval(X, 0.5)[::-1])
    assert narrow.mean() < np.subtract(*before[::-1]).mean()
    assert y_hat.shape == X[:, 0].shape


def test_quantiles_give_rows_widths_of_their_own_and_a_margin_does_not(parts):
    train, calibration, (X, _) = parts
    widths = {}
    for name, make in makers().items():
        rival = make().fit(*train).conformalize(*calibration, LEVEL)
        widths[name] = np.subtract(*rival.predict_interval(X, LEVEL)[::-1])
    assert_allclose(widths["boosted mean"], widths["boosted mean"][0])
    noise = 1.5 + X[:, 1]
    assert np.corrcoef(noise, widths["linear quantiles"])[0, 1] > 0.9
    assert np.corrcoef(noise, widths["boosted quantiles"])[0, 1] > 0.3


def test_a_model_that_is_fitted_is_not_fitted_again(parts):
    train, calibration, (X, y) = parts
    model = linear_model.LinearRegression().fit(X, y)
    coefficients = model.coef_.copy()
    rival = SplitConformal(model, fitted=True).fit(*train).conformalize(*calibration, LEVEL)
    assert_array_equal(model.coef_, coefficients)
    assert_array_equal(rival.predict(X), model.predict(X))


def test_crossed_quantiles_give_no_negative_width_and_no_noise(parts, capfd):
    train, calibration, (X, _) = parts

    def wrong_way_round(tau):
        return linear_model.QuantileRegressor(quantile=1 - tau, alpha=0.0, solver="highs")

    root = logging.getLogger()
    before = root.level, list(root.handlers), root.manager.disable
    rival = ConformalisedQuantiles(linear_model.LinearRegression, wrong_way_round)
    rival.fit(*train).conformalize(*calibration, 0.5)
    lower, upper = rival.predict_interval(X, 0.5)
    assert (np.subtract(*rival.family(X, 0.5)) > 0).all(), "they cross"
    assert (lower <= upper).all()
    # MAPIE says so through the root logger, which it sets up for that, and leaves so
    assert (root.level, list(root.handlers), root.manager.disable) == before
    assert capfd.readouterr() == ("", "")


# --------------------------------------------------------------------------------- tuning


def test_the_settings_are_those_with_the_smallest_loss_on_the_rows_held_out(parts, monkeypatch):
    (X, y), *_ = parts
    losses = {}

    def path(self, X, y, held, settings):
        key = tuple(sorted(settings.items()))
        losses[key] = 1 + len(losses) if settings["learning_rate"] == boosted.RATES[0] else 0.5
        if settings == {"learning_rate": 0.1, "max_leaf_nodes": 31, "min_samples_leaf": 20}:
            losses[key] = 0.9
        return losses[key], 7

    monkeypatch.setattr(Boosting, "_path", path)
    model = Boosting(0.9).fit(X, y)
    assert len(losses) == len(boosted.LEAVES) + len(boosted.RATES) - 1
    chosen = {"max_leaf_nodes": 31, "min_samples_leaf": 20, "learning_rate": 0.05, "max_iter": 7}
    assert model.settings_ == chosen
    assert model.model_.n_iter_ == 7


def test_as_many_trees_are_grown_as_the_rows_held_out_want(parts):
    (X, y), *_ = parts
    model = Boosting(None, max_trees=400)
    held = boosted._held_out(len(y), None, seed=0)
    loss, n_trees = model._path(X, y, held, {"learning_rate": 0.1})
    assert 1 <= n_trees < 100  # noise wants few
    losses = [
        np.mean((y[held] - m.predict(X[held])) ** 2)
        for m in (
            model._make(learning_rate=0.1, max_iter=n).fit(X[~held], y[~held])
            for n in (n_trees - 1, n_trees, n_trees + 1)
            if n
        )
    ]
    assert min(losses) == pytest.approx(loss)


def test_a_fifth_of_the_rows_is_held_out_and_groups_are_not_torn_apart():
    held = boosted._held_out(1000, None, seed=3)
    assert held.sum() == 200
    groups = np.repeat(["a", "b", "c", "d", "e", "f"], [10, 200, 30, 400, 50, 310])
    for seed in range(20):
        held = boosted._held_out(1000, groups, seed=seed)
        assert 0 < held.sum() < 1000
        assert not set(groups[held]) & set(groups[~held])
    assert not np.array_equal(held, boosted._held_out(1000, groups, seed=0))


def test_pinball_is_the_loss_of_a_quantile():
    assert Boosting(0.9)._loss(np.array([1.0, 0.0]), np.array([0.0, 1.0])) == pytest.approx(0.5)
    assert Boosting(0.9)._loss(np.array([1.0]), np.array([0.0])) == pytest.approx(0.9)
    assert Boosting(None)._loss(np.array([2.0]), np.array([0.0])) == 4


# --------------------------------------------------------------------------------- errors


def test_a_level_that_was_not_asked_for_names_those_that_were(parts):
    train, calibration, (X, _) = parts
    rival = linear_quantiles().fit(*train).conformalize(*calibration, LEVEL)
    for ask in (rival.predict_interval, rival.family):
        with pytest.raises(ValueError, match=r"0\.9 was not asked for yet, only \[0\.8\]"):
            ask(X, 0.9)
    with pytest.raises(ValueError, match="coverage"):
        rival.conformalize(*calibration, 90)


@pytest.mark.parametrize(
    ("ask", "module", "words"),
    [
        (boosted.import_ensemble, "sklearn", "scikit-learn"),
        (linear.import_linear, "sklearn", "scikit-learn"),
        (conformal.import_mapie, "mapie", "MAPIE"),
    ],
)
def test_without_its_library_a_rival_says_what_to_install(monkeypatch, ask, module, words):
    for name in list(sys.modules):
        if name.split(".")[0] == module:
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=words):
        ask()
