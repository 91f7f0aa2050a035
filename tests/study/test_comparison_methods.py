"""Methods are tuned inside the training set, agree with independent ones, and keep their rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import gaussian_process as process

from gt2lite import GT2Regressor, Recipe, train
from gt2lite._threads import one_blas_thread
from gt2lite.calibration import ConformalCalibrator, rank
from gt2lite.losses import pinball
from gt2lite.metrics import picp, pinaw, rmse
from gt2lite.practice import gaussian_process as gp
from gt2lite.system import Planes
from study import results
from study.comparison import competitors, runs
from study.comparison.competitors import boost, boosting, folds, held_out
from study.comparison.data import Case
from study.comparison.methods import METHODS
from study.comparison.runs import run_method
from study.margins import planes_at_coverage
from study.protocol import LEVELS

SHORT = 0.02  # of the effort
EXTRA = {
    "catboost_cqr": "catboost",
    "catboost_normal": "catboost",
    "ngboost": "ngboost",
    "real_mlp": "pytabkit",
}
CASE = Case("aids", 0, most_rows=300)


@pytest.fixture(scope="module", autouse=True)
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
    """Every method on few rows, and one on patients kept apart."""
    quick = [name for name in METHODS if name not in {*EXTRA, "linear_cqr", "aligned"}]
    few = {"effort": SHORT, "most_rows": 300}
    every = {name: run_method("aids", "random", 0, name, **few) for name in quick}
    return every | {"apart": run_method("pm", "by_group", 0, "gb_split", **few)}


# ----------------------------------------------------------------------------- competitors


def test_settings_are_chosen_one_after_the_other():
    losses = {(1, 1): 5, (2, 1): 3, (3, 1): 4, (2, 9): 2, (1, 9): 0}
    tried = []

    def attempt(settings):
        tried.append((settings["a"], settings["b"]))
        return losses[tried[-1]], settings | {"trees": 7}

    found = competitors.greedy(attempt, {"a": (1, 2, 3), "b": (1, 9)})
    assert found == {"a": 2, "b": 9, "trees": 7}
    assert tried == [(1, 1), (2, 1), (3, 1), (2, 9)]


@pytest.mark.parametrize("quantile", [None, 0.9])
def test_the_number_of_trees_has_the_smallest_held_out_loss(noisy, quantile):
    X, y = noisy
    held = held_out(len(y), seed=0)
    grid = {"learning_rate": (0.1,), "max_leaf_nodes": (8,)}
    settings = dict(boost(X, y, held, quantile, effort=0.4, grid=grid).settings)
    best = settings.pop("trees")
    assert 1 < best < 100  # noise wants few
    losses = []
    for n in (best - 1, best, best + 1):
        model = boosting(quantile, **settings, trees=n).fit(X[~held], y[~held])
        error = y[held] - model.predict(X[held])
        losses.append(np.mean(error**2 if quantile is None else pinball(error, quantile)))
    assert losses[1] == min(losses)


def test_a_fifth_of_the_rows_is_held_out_and_groups_stay_whole():
    assert held_out(1000, seed=3).sum() == 200
    assert_array_equal(np.bincount(folds(1000, 0)), [200] * 5)
    groups = np.repeat(["a", "b", "c", "d", "e", "f"], [10, 200, 30, 400, 50, 310])
    for seed in range(20):
        held, fold = held_out(1000, seed, groups), folds(1000, seed, groups)
        assert 0 < held.sum() < 1000
        assert all(len({*held[groups == g]}) == len({*fold[groups == g]}) == 1 for g in set(groups))


def test_the_mean_is_tuned_once_and_errors_are_those_of_rows_left_out(monkeypatch):
    mean, data, learned = competitors.boosted_mean(CASE, SHORT), CASE.data, []
    monkeypatch.setattr(
        competitors, "boost", lambda X, y, *_, part, **__: learned.append((part, y)) or mean
    )
    competitors.boosted_normalised(CASE, SHORT)
    ((part, errors),) = learned  # the mean is not tuned again
    seen = data.y_train - mean.model.predict(data.X_train)
    assert part == "errors" and np.mean(errors**2) > np.mean(seen**2)


@pytest.mark.parametrize("kernel", gp.KERNELS)
def test_the_gaussian_process_is_that_of_scikit_learn(noisy, kernel):
    shapes, X, y = process.kernels, noisy[0][:80], noisy[1][:80]
    fitted = gp.fit(X, y, kernel)
    lengths, (signal, noise) = np.exp(fitted.raw[:-2]), np.exp(2 * fitted.raw[-2:])
    shape = {"rbf": shapes.RBF(lengths), "matern": shapes.Matern(lengths, nu=2.5)}
    shape = (shape | {"rough": shapes.Matern(lengths, nu=1.5)})[kernel]
    same = shapes.ConstantKernel(signal) * shape + shapes.WhiteKernel(noise)
    theirs = process.GaussianProcessRegressor(same, alpha=gp.JITTER, optimizer=None).fit(X, y)
    value, slope = theirs.log_marginal_likelihood(theirs.kernel_.theta, eval_gradient=True)
    loss, gradient = gp.loss_and_gradient(fitted.raw, X, y, kernel)
    assert loss == pytest.approx(-value)
    by_length = slope[1:-1]  # theirs are by the logarithms of variances, ours of deviations
    assert_allclose(gradient, -np.array([*by_length, 2 * slope[0], 2 * slope[-1]]), atol=1e-6)
    mean, std = theirs.predict(noisy[0][80:], return_std=True)
    assert_allclose(fitted.predict(noisy[0][80:]), [mean, std], rtol=1e-6)
    start = np.array([0.5 * np.log(2)] * 2 + [0.0, np.log(0.3)])
    assert loss < gp.loss_and_gradient(start, X, y, kernel)[0]  # it has learned


@pytest.mark.parametrize("name", EXTRA)
def test_competitors_of_the_extra_cover_their_level_and_their_seed_decides(name):
    pytest.importorskip(EXTRA[name], reason="needs the extra `competitors`")
    effort = 0.3 if name == "real_mlp" else 0.05  # its epochs are few
    rows, again = (run_method("autoMPG6", "random", 0, name, effort=effort).rows for _ in "ab")
    assert (rows.picp > rows.level - 0.1).all() and (rows.rmse < 0.8).all()
    assert_array_equal(rows.interval_score, again.interval_score)


@pytest.mark.parametrize("name", ["gb_split", "gb_cqr", "forest", "linear_cqr"])
def test_every_grid_has_five_candidates(found, name):
    settings = (found[name] if name in found else run_method("aids", "random", 0, name)).settings
    assert settings.candidates.iloc[0] == 5
    assert set(settings.candidates) <= {1, 5}  # the second level chooses its number of trees
    assert (settings.trainings == settings.candidates + 1).all()


# -------------------------------------------------------------------- fuzzy systems


def test_the_paper_method_is_training_and_conformal_calibration(found):
    data = CASE.data
    params = train(data.X_train, data.y_train, Recipe(epochs=2), seed=0, progress=False).params
    fitted = ConformalCalibrator().fit(Planes(params, data.X_cal), data.y_cal)
    planes, (own, *others) = Planes(params, data.X_test), found["paper"].result.intervals
    for i, level in enumerate(LEVELS):
        assert_allclose(own.bounds[i], fitted.intervals(planes, level), atol=1e-9)
        assert_allclose(own.equal[i], planes_at_coverage(planes, data.y_test, level), atol=1e-9)
    lower, upper = planes(0.01)
    for ablation, power in zip(others, (0.0, 1.0), strict=True):  # margins by the envelope
        low, high = ablation.bounds[0]
        assert_allclose((low + high) / 2, own.y_hat[0], atol=1e-9)
        pace = (high - low) / (upper - lower) ** power
        assert_allclose(pace, np.median(pace), rtol=1e-6)


def test_a_system_of_one_plane_gets_the_margin_of_two_quantiles(found):
    data, table = CASE.data, CASE.table
    reg = GT2Regressor(recipe=Recipe(alphas=(0.01,)), coverage=0.9, epochs=2, random_state=0)
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
    data = CASE.data
    X, y = np.vstack([data.X_train, data.X_cal]), np.concatenate([data.y_train, data.y_cal])
    params = train(X, y, Recipe(coverage=0.95, epochs=2), seed=0, progress=False).params
    bounds = found["direct_85"].result.intervals[0].bounds
    assert_array_equal(bounds[1], Planes(params, data.X_test)(0.01))
    assert (found["direct"].result.intervals[0].bounds[1] != bounds[1]).any()


# ------------------------------------------------------------------------------ runs


def test_rows_hold_what_the_intervals_are_and_levels_are_nested(found):
    for name, run in found.items():
        case = Case("pm", 0, "by_group", 300) if name == "apart" else CASE
        y, own = case.data.y_test, run.result.intervals[0]
        assert len(run.rows) == len(run.result.intervals) * len(LEVELS)
        for i, level in enumerate(LEVELS):
            row, bounds = run.rows.iloc[i], own.bounds[i]
            assert row.level == level and row.rmse == rmse(y, own.y_hat[i])
            assert (row.picp, row.pinaw) == (picp(y, *bounds), pinaw(y, *bounds))
        assert (run.rows.equal_picp >= run.rows.level).all()
        assert ("worst_group" in run.rows) == (name == "apart")
        for by, bins in run.bins.groupby("by"):
            assert bins.n.sum() == len(y)
            assert bins.covered.sum() == round(run.rows.picp[0] * len(y))
            assert (bins.covered / bins.n).min() == run.rows[f"worst_{by}"][0]
        if own.crps is not None:  # all levels from one training
            inner, outer = own.bounds
            assert (outer[0] <= inner[0] + 1e-9).all() and (inner[1] <= outer[1] + 1e-9).all()


def test_the_study_reproduces_its_stored_rows(monkeypatch):
    todo = [one for one in runs.settings() if one["method"] == "linear_cqr"]
    monkeypatch.setattr(runs, "settings", lambda: [one for one in todo if one["dataset"] == "aids"])
    own = runs.run(lambda call, every, **_: [call(**one) for one in every[:1]])["comparison"]
    keys, metrics = ["dataset", "split", "seed", "method", "level"], ["rmse", "interval_score"]
    moved = results.compare(own, results.load("comparison"), by=keys, metrics=metrics)
    assert list(moved.n) == [2, 2] and (moved.largest < 1e-6).all(), moved
