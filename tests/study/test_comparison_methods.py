"""Methods are tuned inside the training set, agree with independent ones, and keep their rows."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gt2lite import GT2Regressor, Recipe, train
from gt2lite._threads import one_blas_thread
from gt2lite.calibration import ConformalCalibrator, rank
from gt2lite.metrics import picp, pinaw, rmse
from gt2lite.system import Planes
from study import results
from study.comparison import methods, runs
from study.comparison.data import ALL, LEVELS, Case, shape_of
from study.comparison.methods import (
    IN_STUDY,
    METHODS,
    TITLES,
    boosted_mean,
    folds,
    forest_weights,
    held_out,
    tune,
    weighted_quantiles,
)
from study.comparison.runs import SLACK, run_method, unnested
from study.oracle import planes_at_coverage

ensemble = pytest.importorskip("sklearn.ensemble")

SHORT = 0.02  # of the effort


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


@pytest.fixture(scope="module")
def found():
    """Every method on the smallest data set, and one on patients kept apart."""
    with one_blas_thread():
        quick = [name for name in METHODS if name != "linear_cqr"]  # effort does not shorten it
        every = {name: run_method("aids", "random", 0, name, effort=SHORT) for name in quick}
        return every | {"apart": run_method("pm", "by_group", 0, "gb_split", effort=SHORT)}


# ------------------------------------------------------------------------- boosting


def test_the_settings_have_the_smallest_held_out_loss(noisy, monkeypatch):
    tried = []

    def path(X, y, held, quantile, settings, most_trees):
        tried.append(dict(settings))
        loss = {31: 0.9, 8: 0.7}[settings["max_leaf_nodes"]] - 2 * (settings["learning_rate"] < 0.1)
        return loss, {**settings, "max_iter": 7}

    monkeypatch.setattr(methods, "_path", path)
    settings, _ = tune(*noisy, 0.9, seed=0)
    assert len(tried) == 3
    assert settings == {
        "max_leaf_nodes": 8, "min_samples_leaf": 10, "learning_rate": 0.05, "max_iter": 7
    }  # fmt: skip


@pytest.mark.parametrize("quantile", [None, 0.9])
def test_the_number_of_trees_has_the_smallest_held_out_loss(noisy, quantile):
    X, y = noisy
    held = held_out(len(y), None, seed=0)
    settings = {"learning_rate": 0.1, "max_leaf_nodes": 8}
    loss, found = methods._path(X, y, held, quantile, settings, 400)
    best = found["max_iter"]
    assert 1 <= best < 100  # noise wants few

    def loss_of(n):
        model = methods.boosting(quantile, **settings, max_iter=n).fit(X[~held], y[~held])
        error = y[held] - model.predict(X[held])
        if quantile is None:
            return np.mean(error**2)
        return np.mean(np.maximum(quantile * error, (quantile - 1) * error))

    assert loss_of(best) == min(loss_of(n) for n in (best - 1, best, best + 1) if n)
    scale = 0.5 if quantile is None else 1.0  # scikit-learn halves squares
    assert loss == pytest.approx(scale * loss_of(best))


def test_a_fifth_of_the_rows_is_held_out_and_groups_stay_whole():
    assert held_out(1000, None, seed=3).sum() == 200
    groups = np.repeat(["a", "b", "c", "d", "e", "f"], [10, 200, 30, 400, 50, 310])
    for seed in range(20):
        held = held_out(1000, groups, seed=seed)
        assert 0 < held.sum() < 1000
        assert not set(groups[held]) & set(groups[~held])
    fold = folds(1000, groups, seed=0)
    assert all(len(set(fold[groups == g])) == 1 for g in set(groups))
    assert_array_equal(np.bincount(folds(1000, None, 0)), [200] * 5)


def test_out_of_fold_predictions_come_from_models_that_have_not_seen_the_row():
    case = Case("aids", 0)
    mean, data = boosted_mean(case, SHORT), case.data
    model = methods.boosting(None, **mean.settings).fit(data.X_train, data.y_train)
    seen = np.mean((data.y_train - model.predict(data.X_train)) ** 2)
    assert np.mean((data.y_train - mean.out_of_fold) ** 2) > seen
    assert_array_equal(mean.y_hat_test, model.predict(data.X_test))


def test_the_mean_is_tuned_once_for_all_who_share_it(monkeypatch):
    case = Case("aids", 0)
    boosted_mean(case, SHORT)
    monkeypatch.setattr(methods, "tune", lambda *_: pytest.fail("tuned again"))
    plain = methods.boosted(Case("aids", 0), SHORT)
    width = np.diff(plain.intervals[0].bounds[0], axis=0)[0]
    assert_allclose(width, width[0])


# -------------------------------------------------------------------------- forests


def test_forest_weights_agree_with_loops(noisy):
    X, y, rows = noisy[0][:60], noisy[1][:60], noisy[0][60:75]
    model = ensemble.RandomForestRegressor(7, min_samples_leaf=3, random_state=0).fit(X, y)
    weights = np.zeros((len(rows), len(X)))
    for tree in model.estimators_:
        known, new = tree.apply(X), tree.apply(rows)
        for i, leaf in enumerate(new):
            there = np.flatnonzero(known == leaf)
            weights[i, there] += 1 / (len(there) * len(model.estimators_))
    found = forest_weights(model.apply(X), model.apply(rows))
    assert_allclose(found, weights, atol=1e-15)
    assert_allclose(found.sum(axis=1), 1)


def test_weighted_quantiles_are_the_first_target_that_reaches_the_share():
    rng = np.random.default_rng(2)
    weights, y, taus = rng.dirichlet(np.ones(12), size=5), rng.normal(size=12), [0.05, 0.5, 0.95]
    found = weighted_quantiles(weights, y, taus)
    for k, tau in enumerate(taus):
        for i, w in enumerate(weights):
            assert found[k, i] == next(v for v in sorted(y) if w[y <= v].sum() >= tau - 1e-9)
    equal = weighted_quantiles(np.full((1, 10), 0.1), np.arange(1.0, 11.0), [0.1, 0.5, 0.9, 1.0])
    assert_array_equal(equal[:, 0], [1, 5, 9, 10])


# -------------------------------------------------------------------- fuzzy systems


def test_the_paper_method_is_training_and_conformal_calibration(found):
    data = Case("aids", 0).data
    params = train(data.X_train, data.y_train, Recipe(epochs=2), seed=0, progress=False).params
    fitted = ConformalCalibrator().fit(Planes(params, data.X_cal), data.y_cal)
    planes, own = Planes(params, data.X_test), found["paper"].result.intervals[0]
    for i, level in enumerate(LEVELS):
        assert_allclose(own.bounds[i], fitted.intervals(planes, level), atol=1e-9)
        assert_allclose(own.equal[i], planes_at_coverage(planes, data.y_test, level), atol=1e-9)


def test_ablations_have_the_same_estimates_and_scale_with_the_envelope(found):
    data = Case("aids", 0).data
    params = train(data.X_train, data.y_train, Recipe(epochs=2), seed=0, progress=False).params
    lower, upper = Planes(params, data.X_test)(0.01)
    own, *others = found["paper"].result.intervals
    for ablation, power in zip(others, (0.0, 0.5, 1.0), strict=True):
        assert_array_equal(ablation.y_hat, own.y_hat)
        low, high = ablation.bounds[0]
        assert_allclose((low + high) / 2, own.y_hat[0], atol=1e-9)
        pace = (high - low) / (upper - lower) ** power
        assert_allclose(pace, np.median(pace), rtol=1e-6)


def test_a_system_of_one_plane_gets_the_margin_of_two_quantiles(found):
    case = Case("aids", 0)
    data, table = case.data, case.table
    reg = GT2Regressor(alphas=(0.01,), coverage=0.9, epochs=2, random_state=0)
    reg.fit(table.X[data.split.train], table.y[data.split.train])
    cal, test = (
        [data.scaler.transform_y(e) for e in reg.predict_interval(table.X[rows], alpha=0.01)]
        for rows in (data.split.calibration, data.split.test)
    )
    own = found["it2"].result.intervals[0]
    assert_allclose(own.y_hat[0], (test[0] + test[1]) / 2, atol=1e-9)
    scores = np.sort(np.maximum(cal[0] - data.y_cal, data.y_cal - cal[1]))
    margin = scores[rank(0.9, scores.size + 1) - 1]
    assert_allclose(own.bounds[0, 1] - test[1], margin, atol=1e-9)


def test_only_uncalibrated_direct_systems_learn_from_calibration_rows(found):
    data = Case("aids", 0).data
    X = np.vstack([data.X_train, data.X_cal])
    y = np.concatenate([data.y_train, data.y_cal])
    recipe = Recipe(coverage=0.95, epochs=2)
    params = train(X, y, recipe, seed=0, progress=False).params
    bounds = found["direct_85"].result.intervals[0].bounds
    assert_array_equal(bounds[1], Planes(params, data.X_test)(0.01))
    assert (found["direct"].result.intervals[0].bounds[1] != bounds[1]).any()


# ------------------------------------------------------------------------------ runs


def test_the_study_has_all_methods_on_all_data_sets():
    every = runs.settings()
    assert len({tuple(one.values()) for one in every}) == len(every)
    splits = {(one["dataset"], one["split"], one["seed"]) for one in every}
    small = sum(shape_of(name)[0] <= 2000 for name in ALL)
    assert len(splits) == small * 5 + (20 - small + 1) * 3
    assert {one["method"] for one in every} == set(IN_STUDY)
    assert {one["dataset"] for one in every if one["split"] == "by_group"} == {"pm"}


def test_rows_hold_what_the_intervals_are(found):
    for name, run in found.items():
        case = Case("pm", 0, "by_group") if name == "apart" else Case("aids", 0)
        y = case.data.y_test
        assert set(run.rows.method) <= set(TITLES)
        assert len(run.rows) == len(run.result.intervals) * len(LEVELS)
        own = run.result.intervals[0]
        for i, level in enumerate(LEVELS):
            row = run.rows.iloc[i]
            assert row.level == level
            assert row.picp == picp(y, *own.bounds[i])
            assert row.pinaw == pinaw(y, *own.bounds[i])
            assert row.rmse == rmse(y, own.y_hat[i])
            assert row.width == pytest.approx(row.pinaw * np.ptp(y))
        assert (run.rows.equal_picp >= run.rows.level).all()
        assert ("worst_group" in run.rows) == (name == "apart")


def test_bins_hold_every_row_once_and_all_that_is_covered(found):
    for run in found.values():
        first = run.rows.iloc[0]
        for by, bins in run.bins.groupby("by"):
            assert bins.n.sum() == first.n_test
            assert bins.covered.sum() == round(first.picp * first.n_test)
            assert (bins.covered / bins.n).min() == first[f"worst_{by}"]


@pytest.mark.parametrize("name", ["paper", "aligned", "strong", "gb_split", "gb_normalised"])
def test_levels_of_one_training_are_nested(found, name):
    assert (found[name].rows.unnested == 0).all()


@pytest.mark.parametrize(("end", "sign"), [(0, 1), (1, -1)])
def test_a_bound_outside_counts_and_its_last_digits_do_not(end, sign):
    inner = np.tile([[-1.0], [1.0]], 100)
    outer = 2 * inner
    outer[end, :30] = inner[end, :30] + sign * 2 * SLACK  # 30 rows end too early
    outer[end, 30:50] = inner[end, 30:50] + sign * SLACK / 2  # by rounding alone
    assert unnested(np.array([inner, outer])) == 0.3


def test_the_study_writes_its_files_and_reproduces_stored_rows(monkeypatch):
    todo = [one for one in runs.settings() if one["dataset"] == "aids" and one["seed"] == 0]
    todo = [one for one in todo if one["method"] == "linear_cqr"]
    saved = {}
    monkeypatch.setattr(runs, "settings", lambda: todo)
    monkeypatch.setattr(runs, "run_all", lambda call, every, **_: [call(**one) for one in every])
    monkeypatch.setattr(results, "save", lambda name, frame, **_: saved.update({name: frame}))
    found = runs.run().set_index("metric")
    assert list(found.n) == [2, 2]
    assert found.beyond.sum() == 0, found
    for name in runs.FILES:
        stored = results.load(name)
        assert list(saved[name].columns) == list(stored.columns)
    keys = ["split", "method", "by", "bin"]
    bins = saved["conditional"].set_index(keys)
    stored = results.load("conditional").query("dataset == 'aids' and seed == 0").set_index(keys)
    assert_array_equal(bins.covered, stored.covered[bins.index])


@pytest.mark.parametrize("change", [{"method": "winner"}, {"effort": 2.0}, {"split": "by_group"}])
def test_an_impossible_run_is_refused(change):
    words = {"dataset": "aids", "split": "random", "seed": 0, "method": "paper"} | change
    with pytest.raises(ValueError, match=r"method|effort|'aids'"):
        run_method(**words)
