"""CV+ for nested intervals: its definition, its guarantee in simulation, its folds, MAPIE."""

from __future__ import annotations

import re

import numpy as np
import pytest

from gt2lite import GT2Regressor
from gt2lite.calibration import CoverageError, Cut, cut_ends
from gt2lite.practice import cv_plus
from gt2lite.practice.cv_plus import CVPlusRegressor

SETTINGS = {"n_rules": 3, "epochs": 8, "learning_rate": 0.05, "objective": "aligned"}
SYSTEM = GT2Regressor(**SETTINGS)


def draw(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 2))
    y = np.sin(2 * X[:, 0]) + np.exp(0.5 * X[:, 1]) * (rng.gamma(2.0, size=n) - 2)
    return X, y


@pytest.fixture(scope="module")
def fitted():
    return CVPlusRegressor(SYSTEM, n_folds=4).fit(*draw(42))


def bounds_by_definition(reg, x):
    """The bounds that each scored row contributes to one new row, one by one."""
    bounds = []
    for system, scores in zip(reg.systems_, reg.scores_, strict=True):
        planes = system.model_.ensemble.planes(system.scaler_.transform_X(x[None]))
        for alpha, margin in zip(scores.alpha, scores.margin, strict=True):
            cut = Cut(alpha if alpha > 0 else np.nan, margin)
            bounds.append(system.scaler_.inverse_y(cut_ends(planes, [(cut, cut)])[:, 0, 0]))
    return np.array(bounds)


@pytest.mark.parametrize("level", [0.3, 0.8, 0.9])
def test_the_interval_is_the_hull_of_the_set_in_the_definition(fitted, level):
    X, _ = draw(4, seed=1)
    lower, upper = fitted.predict_interval(X, level)
    n = fitted.n_scored_
    for x, low, high in zip(X, lower, upper, strict=True):
        bounds = bounds_by_definition(fitted, x)
        assert len(bounds) == n == 40
        # y belongs to the set unless (1 - a) (n + 1) or more of the rows' intervals miss it
        tried = np.linspace(low - 1, high + 1, 2001)
        missed = np.sum((tried[:, None] < bounds[:, 0]) | (tried[:, None] > bounds[:, 1]), axis=1)
        inside = tried[missed < level * (n + 1) - 1e-9]
        assert low <= inside.min() and inside.max() <= high
        step = tried[1] - tried[0]
        below = np.sum(bounds[:, 0] > low - step)
        above = np.sum(bounds[:, 1] < high + step)
        assert min(below, above) >= level * (n + 1) - 1e-9  # a step further out it is too wide


def test_levels_are_nested_whether_asked_for_alone_together_or_in_chunks(fitted, monkeypatch):
    X, _ = draw(30, seed=2)
    levels = [*np.arange(1, 41) / 41, 0.8, 0.9]
    lower, upper = fitted.predict_interval(X, levels)
    raw = np.sort(fitted.model_.bounds(fitted.model_.inputs(X))[0], axis=1)
    assert (raw[0, -1] > raw[1, 0]).any()  # at the lowest level some rows have no point in common
    assert (lower <= upper).all()
    assert (np.diff(lower[:, :40]) <= 0).all()
    assert (np.diff(upper[:, :40]) >= 0).all()
    np.testing.assert_array_equal(fitted.predict_interval(X, 0.8), (lower[:, 40], upper[:, 40]))
    monkeypatch.setattr(cv_plus, "CHUNK_ELEMENTS", 7 * 2 * 40)
    np.testing.assert_allclose(fitted.predict_interval(X), (lower[:, 41], upper[:, 41]), rtol=1e-12)
    predicted, *bounds = fitted.predict_interval(X, with_prediction=True)
    np.testing.assert_allclose(predicted, fitted.predict(X), rtol=1e-12)
    np.testing.assert_array_equal(bounds, fitted.predict_interval(X))


def test_logarithms_margins_and_several_systems():
    X, y = draw(60)
    settings = {"target_transform": "log", "n_systems": 2, "margins": 0.5}
    reg = CVPlusRegressor(GT2Regressor(**SETTINGS | settings), 3).fit(X, np.exp(y))
    lower, upper = reg.predict_interval(X, [0.8, 0.95])
    assert (lower > 0).all() and np.isfinite(upper).all()


def test_coverage_is_about_the_level_and_above_the_guarantee():
    shares = []
    system = GT2Regressor(**SETTINGS | {"n_rules": 2, "epochs": 4})
    for seed in range(8):
        X, y = draw(40, seed=[1, seed])
        new, target = draw(200, seed=[2, seed])
        reg = CVPlusRegressor(system, n_folds=4, random_state=seed).fit(X, y)
        lower, upper = reg.predict_interval(new, 0.9)
        shares.append(np.mean((lower <= target) & (target <= upper)))
    error = np.std(shares, ddof=1) / np.sqrt(len(shares))
    assert reg.promised(0.9) == pytest.approx(0.8 - 2 * 0.75 / 11)
    assert reg.promised(0.4) == 0
    assert np.mean(shares) > reg.promised(0.9) + 4 * error
    assert abs(np.mean(shares) - 0.9) < 0.05


def test_each_system_is_trained_without_its_fold_and_rows_left_over_train_all(fitted):
    assert np.bincount(fitted.fold_ + 1).tolist() == [2, 10, 10, 10, 10]
    assert [len(scores) for scores in fitted.scores_] == 4 * [10]
    X, y = draw(42)
    use = fitted.fold_ != 2
    again = GT2Regressor(**SETTINGS).fit(X[use], y[use])
    np.testing.assert_array_equal(again.predict(X), fitted.systems_[2].predict(X))
    found = np.mean([system.predict(X) for system in fitted.systems_], axis=0)
    np.testing.assert_array_equal(fitted.predict(X), found)


@pytest.mark.filterwarnings("ignore")  # gaps are filled, and said to be
def test_a_frame_with_gaps_and_categories_is_encoded_anew_in_each_fold(tmp_path):
    pd = pytest.importorskip("pandas")
    X, y = draw(60)
    frame = pd.DataFrame({"a": X[:, 0], "city": np.where(X[:, 1] > 0, "Oslo", "Rome")})
    frame.loc[7, "a"] = np.nan  # the fold of this row learns from complete numbers
    frame.loc[3, "city"] = "Bonn"
    with pytest.raises(ValueError, match=r"column 'a'.*'city'"):
        CVPlusRegressor(SYSTEM, 3).fit(frame, y)
    reg = CVPlusRegressor(GT2Regressor(**SETTINGS, columns="auto"), 3).fit(frame, y)
    for k, system in enumerate(reg.systems_):
        trained = reg.fold_ != k
        assert system.columns_.columns[0].fill == [frame["a"][trained].median()]
        inputs = system.columns_.encode(frame).inputs.to_numpy()
        again = GT2Regressor(**SETTINGS).fit(inputs[trained], y[trained])
        np.testing.assert_array_equal(again.predict(inputs), system.predict(frame))
    reg.save(tmp_path / "cv.json")
    again = CVPlusRegressor.load(tmp_path / "cv.json")
    assert again.feature_names_in_.tolist() == ["a", "city"]
    found = again.predict_interval(frame[5:8], as_frame=True)
    assert (found.columns.tolist(), found.index.tolist()) == (["lower_90", "upper_90"], [5, 6, 7])
    np.testing.assert_array_equal(found.to_numpy().T, reg.predict_interval(frame[5:8]))
    with pytest.warns(UserWarning, match=r"'city'.*'Bern'"):
        again.predict_interval(frame.assign(city="Bern"))


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"system": "strong"}, TypeError, "system"),
        ({"n_folds": 1}, ValueError, "n_folds"),
        ({"n_folds": 43}, ValueError, "n_folds"),
        ({"system": GT2Regressor(target_transform="log")}, ValueError, "row 17"),
    ],
)
def test_bad_arguments_are_named(settings, error, words):
    X, y = draw(42)
    y = np.abs(y) + 1
    y[17] = -3  # has no logarithm
    with pytest.raises(error, match=words):
        CVPlusRegressor(**{"system": SYSTEM} | settings).fit(X, y)


def test_a_level_out_of_reach_names_one_that_is_within(fitted):
    with pytest.raises(CoverageError) as caught:
        fitted.predict_interval([[0.0, 0.0]], [0.5, 0.99])
    named = float(re.search(r"up to (\S+);", str(caught.value))[1])
    assert 40 / 41 - 1e-4 < named <= 40 / 41
    fitted.predict_interval([[0.0, 0.0]], named)


def test_with_one_margin_for_all_rows_it_is_the_cv_plus_of_mapie():
    regression = pytest.importorskip("mapie.regression")
    model_selection = pytest.importorskip("sklearn.model_selection")
    X, y = draw(40)
    reg = CVPlusRegressor(GT2Regressor(**SETTINGS, margins=0.0), n_folds=4).fit(X, y)
    theirs = regression.CrossConformalRegressor(
        GT2Regressor(**SETTINGS),
        confidence_level=0.9,
        method="plus",
        cv=model_selection.PredefinedSplit(reg.fold_),
    ).fit_conformalize(X, y)
    new, _ = draw(25, seed=8)
    _, found = theirs.predict_interval(new)
    np.testing.assert_allclose(
        np.array(reg.predict_interval(new, 0.9)), found[:, :, 0].T, rtol=1e-9, atol=1e-9
    )
