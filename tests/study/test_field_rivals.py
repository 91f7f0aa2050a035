"""Facts about the rivals: tuned inside the training part only, forests against brute force."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gt2lite._threads import one_blas_thread
from study.field import boosted, forest, linear
from study.field.boosted import MOST_TREES, SharedMean, folds, held_out, tune
from study.field.contestants import CONTESTANTS
from study.field.forest import forest_weights, weighted_quantiles
from study.field.setting import Setting
from study.runner import key_of, run
from study.store import Store

ensemble = pytest.importorskip("sklearn.ensemble")


@pytest.fixture(autouse=True)
def one_thread():
    """Threads that wait for each other would make small trees slow."""
    with one_blas_thread():
        yield


@pytest.fixture(scope="module")
def noisy():
    """Rows whose noise grows with the second input."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(300, 2))
    return X, 2 * X[:, 0] + (1.5 + X[:, 1]) * rng.normal(size=300)


# ------------------------------------------------------------------------------- boosting


def test_the_settings_are_those_with_the_smallest_loss_on_the_rows_held_out(noisy, monkeypatch):
    tried = []

    def path(X, y, held, quantile, settings, most_trees):
        tried.append(dict(settings))
        loss = {31: 0.9, 8: 0.7}[settings["max_leaf_nodes"]] - 2 * (settings["learning_rate"] < 0.1)
        return loss, {**settings, "max_iter": 7}

    monkeypatch.setattr(boosted, "_path", path)
    found = tune(*noisy, 0.9, seed=0)
    assert len(tried) == len(boosted.LEAVES) + len(boosted.RATES) - 1
    assert found.settings == {
        "max_leaf_nodes": 8, "min_samples_leaf": 10, "learning_rate": 0.05, "max_iter": 7
    }  # fmt: skip


@pytest.mark.parametrize("quantile", [None, 0.9])
def test_as_many_trees_are_grown_as_the_rows_held_out_want(noisy, quantile):
    X, y = noisy
    held = held_out(len(y), None, seed=0)
    settings = {"learning_rate": 0.1, "max_leaf_nodes": 8}
    loss, found = boosted._path(X, y, held, quantile, settings, 400)
    best = found["max_iter"]
    assert 1 <= best < 100  # noise wants few

    def loss_of(n):
        model = boosted.boosting(quantile, **settings, max_iter=n).fit(X[~held], y[~held])
        error = y[held] - model.predict(X[held])
        if quantile is None:
            return np.mean(error**2)
        return np.mean(np.maximum(quantile * error, (quantile - 1) * error))

    losses = [loss_of(n) for n in (best - 1, best, best + 1) if n]
    assert loss_of(best) == min(losses)
    scale = 0.5 if quantile is None else 1.0  # scikit-learn halves squares
    assert loss == pytest.approx(scale * loss_of(best))


def test_the_cap_of_trees_is_told_and_binds_where_it_is_reached(noisy):
    X, _ = noisy
    found = tune(X, X[:, 0], None, seed=0, most_trees=3)  # no noise: more would help
    told = found.told("mean", 3)
    assert (told.part, told.trees, told.most_trees) == ("mean", 3, 3)
    assert "max_iter" not in json.loads(told.settings)


def test_a_fifth_of_the_rows_is_held_out_and_groups_are_not_torn_apart():
    assert held_out(1000, None, seed=3).sum() == 200
    groups = np.repeat(["a", "b", "c", "d", "e", "f"], [10, 200, 30, 400, 50, 310])
    for seed in range(20):
        held = held_out(1000, groups, seed=seed)
        assert 0 < held.sum() < 1000
        assert not set(groups[held]) & set(groups[~held])
    fold = folds(1000, groups, seed=0)
    assert all(len(set(fold[groups == g])) == 1 for g in set(groups))
    assert_array_equal(np.bincount(folds(1000, None, 0)), [200] * 5)


@pytest.mark.slow
def test_the_mean_is_tuned_once_for_all_who_use_it(tmp_path, monkeypatch):
    store = Store(tmp_path)
    setting = Setting("aids", 0, effort=0.005)
    data = setting.prepare()

    def get(task):
        return run([task], store, n_jobs=1, progress=False)[0]

    plain = CONTESTANTS["gb_split"].enter(setting, data, get)
    assert store.has(key_of(SharedMean("aids", 0, effort=0.005)))
    monkeypatch.setattr(SharedMean, "execute", lambda *_: pytest.fail("tuned again"))
    scaled = CONTESTANTS["gb_normalised"].enter(setting, data, get)
    assert_array_equal(plain.answers[0].y_hat, scaled.answers[0].y_hat)
    widths = [np.diff(e.answers[0].ends[0], axis=0)[0] for e in (plain, scaled)]
    assert_allclose(widths[0], widths[0][0])
    assert np.ptp(widths[1]) > 0
    assert [c.part for c in scaled.chosen] == ["mean", "errors"]
    assert scaled.chosen[0].most_trees == round(0.005 * MOST_TREES)


def test_out_of_fold_predictions_come_from_models_that_have_not_seen_the_row():
    """A model that recalls its rows has an error of 0 on them, and not on a fold left out."""
    mean = SharedMean("aids", 0, effort=0.05).execute()
    data = Setting("aids", 0).prepare()
    model = boosted.boosting(None, **mean.settings).fit(data.X_train, data.y_train)
    seen = np.mean((data.y_train - model.predict(data.X_train)) ** 2)
    assert np.mean((data.y_train - mean.out_of_fold) ** 2) > seen
    assert_array_equal(mean.y_hat_test, model.predict(data.X_test))


# ------------------------------------------------------------------------------- forests


def brute_weights(model, X, rows):
    """Weights by three loops: the rows of the same leaf share one over the number of trees."""
    weights = np.zeros((len(rows), len(X)))
    for tree in model.estimators_:
        known, new = tree.apply(X), tree.apply(rows)
        for i, leaf in enumerate(new):
            there = [j for j, other in enumerate(known) if other == leaf]
            for j in there:
                weights[i, j] += 1 / (len(there) * len(model.estimators_))
    return weights


def test_weights_of_a_forest_are_those_of_the_loops(noisy):
    X, y = noisy[0][:60], noisy[1][:60]
    model = ensemble.RandomForestRegressor(7, min_samples_leaf=3, random_state=0).fit(X, y)
    rows = noisy[0][60:75]
    found = forest_weights(model.apply(X), model.apply(rows))
    assert_allclose(found, brute_weights(model, X, rows), atol=1e-15)
    assert_allclose(found.sum(axis=1), 1)


def test_weighted_quantiles_are_the_first_target_that_reaches_the_share(noisy):
    rng = np.random.default_rng(2)
    weights = rng.dirichlet(np.ones(12), size=5)
    y = rng.normal(size=12)
    taus = [0.05, 0.5, 0.95]
    found = weighted_quantiles(weights, y, taus)
    for k, tau in enumerate(taus):
        for i, w in enumerate(weights):
            reached = [v for v in sorted(y) if w[y <= v].sum() >= tau - 1e-9]
            assert found[k, i] == reached[0]


def test_equal_weights_give_plain_quantiles():
    y = np.arange(1.0, 11.0)
    found = weighted_quantiles(np.full((1, 10), 0.1), y, [0.1, 0.5, 0.9, 1.0])
    assert_array_equal(found[:, 0], [1, 5, 9, 10])


# --------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("ask", "module", "words"),
    [
        (boosted.import_ensemble, "sklearn", "scikit-learn"),
        (linear.import_linear, "sklearn", "scikit-learn"),
        (forest._scipy_sparse, "scipy", "SciPy"),
    ],
)
def test_without_its_library_a_rival_says_what_to_install(monkeypatch, ask, module, words):
    for name in list(sys.modules):
        if name.split(".")[0] == module:
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=words):
        ask()
