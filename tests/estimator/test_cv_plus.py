"""CV+ for planes: against its definition, its promise against simulation, folds, files."""

from __future__ import annotations

import numpy as np
import pytest

from gt2lite import GT2Regressor
from gt2lite import cv_plus as crossed
from gt2lite.calibration import CoverageError, Cut, cut_ends
from gt2lite.cv_plus import CVPlusRegressor

SYSTEM = GT2Regressor(n_rules=3, epochs=8, learning_rate=0.05, objective="aligned")


def draw(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 2))
    y = np.sin(2 * X[:, 0]) + np.exp(0.5 * X[:, 1]) * (rng.gamma(2.0, size=n) - 2)
    return X, y


@pytest.fixture(scope="module")
def fitted():
    return CVPlusRegressor(SYSTEM, n_folds=4).fit(*draw(42))


def ends_by_definition(reg, x):
    """The ends that each scored row gives to one new row, one question at a time."""
    ends = []
    for system, scores in zip(reg.systems_, reg.scores_, strict=True):
        planes = system._fitted().planes(system.scaler_.transform_X(x[None]))
        for alpha, margin in zip(scores.alpha, scores.margin, strict=True):
            cut = Cut(alpha if alpha > 0 else np.nan, margin)
            ends.append(system.scaler_.inverse_y(cut_ends(planes, [(cut, cut)])[:, 0, 0]))
    return np.array(ends)


@pytest.mark.parametrize("level", [0.3, 0.5, 0.8, 0.9])
def test_the_interval_is_the_hull_of_the_set_in_the_definition(fitted, level):
    X, _ = draw(6, seed=1)
    lower, upper = fitted.predict_interval(X, level)
    n = fitted.n_scored_
    for x, low, high in zip(X, lower, upper, strict=True):
        ends = ends_by_definition(fitted, x)
        assert len(ends) == n == 40
        # y belongs to the set unless (1 - a) (n + 1) or more of the rows' intervals miss it
        tried = np.linspace(low - 1, high + 1, 2001)
        missed = np.sum((tried[:, None] < ends[:, 0]) | (tried[:, None] > ends[:, 1]), axis=1)
        inside = tried[missed < level * (n + 1) - 1e-9]
        assert inside.min() >= low
        assert inside.max() <= high
        step = tried[1] - tried[0]
        below = np.sum(ends[:, 0] > low - step)
        above = np.sum(ends[:, 1] < high + step)
        assert min(below, above) >= level * (n + 1) - 1e-9  # a step further out it is too wide


def test_a_row_is_inside_the_ends_that_it_gives_to_its_own_place(fitted):
    X, y = draw(42)
    own = fitted.fold_ == 2
    for j, (x, target) in enumerate(zip(X[own], y[own], strict=True)):
        low, high = ends_by_definition(fitted, x)[20 + j]
        assert low <= target <= high


def test_levels_are_nested_and_one_level_is_that_of_several(fitted):
    X, _ = draw(50, seed=2)
    lower, upper = fitted.predict_interval(X, [0.5, 0.8, 0.9, 0.97])
    assert lower.shape == (50, 4)
    assert (np.diff(lower) <= 0).all()
    assert (np.diff(upper) >= 0).all()
    alone = fitted.predict_interval(X, 0.8)
    np.testing.assert_array_equal(alone, (lower[:, 1], upper[:, 1]))


def test_stretches_of_rows_give_the_same(fitted, monkeypatch):
    X, _ = draw(30, seed=3)
    whole = fitted.predict_interval(X)
    monkeypatch.setattr(crossed, "AT_ONCE", 7 * 2 * 40)
    np.testing.assert_allclose(fitted.predict_interval(X), whole, rtol=1e-12)


def test_coverage_is_about_the_level_and_not_below_the_promise():
    """Tables of 40 rows: their mean coverage, and its error from table to table."""
    shares = []
    for seed in range(25):
        X, y = draw(40, seed=[1, seed])
        new, target = draw(100, seed=[2, seed])
        reg = CVPlusRegressor(SYSTEM, n_folds=4, random_state=seed).fit(X, y)
        lower, upper = reg.predict_interval(new, 0.9)
        shares.append(np.mean((lower <= target) & (target <= upper)))
    error = np.std(shares, ddof=1) / np.sqrt(len(shares))
    assert reg.promised(0.9) == pytest.approx(0.8 - 2 * 0.75 / 11)
    assert np.mean(shares) > reg.promised(0.9) + 4 * error
    assert abs(np.mean(shares) - 0.9) < 0.05


def test_rows_left_over_train_all_and_are_not_scored(fitted):
    assert np.bincount(fitted.fold_ + 1).tolist() == [2, 10, 10, 10, 10]
    assert [len(scores) for scores in fitted.scores_] == 4 * [10]
    X, y = draw(42)
    use = fitted.fold_ != 2
    again = GT2Regressor(**SYSTEM.get_params()).fit(X[use], y[use])
    np.testing.assert_array_equal(again.predict(X), fitted.systems_[2].predict(X))


def test_a_prediction_is_the_mean_of_the_systems(fitted):
    X, _ = draw(5, seed=4)
    found = np.mean([system.predict(X) for system in fitted.systems_], axis=0)
    np.testing.assert_array_equal(fitted.predict(X), found)


def test_what_is_promised():
    reg = CVPlusRegressor(SYSTEM, n_folds=2).fit(*draw(20))
    assert reg.promised(0.9) == pytest.approx(0.8 - 1 / 11)
    assert reg.promised(0.4) == 0


def test_processes_give_the_same_bits(fitted):
    pytest.importorskip("joblib")
    again = CVPlusRegressor(SYSTEM, n_folds=4, n_jobs=2).fit(*draw(42))
    X, _ = draw(9, seed=5)
    np.testing.assert_array_equal(again.predict_interval(X), fitted.predict_interval(X))


def test_prices_stay_above_zero():
    X, y = draw(60)
    system = GT2Regressor(**SYSTEM.get_params() | {"target_transform": "log"})
    lower, upper = CVPlusRegressor(system, 3).fit(X, np.exp(y)).predict_interval(X, 0.95)
    assert (lower > 0).all()
    assert (lower <= upper).all()


def test_margins_and_several_systems_are_crossed_as_well():
    system = GT2Regressor(**SYSTEM.get_params() | {"n_systems": 2, "margins": 0.5})
    reg = CVPlusRegressor(system, 3).fit(*draw(60))
    lower, upper = reg.predict_interval(draw(40, seed=6)[0], [0.8, 0.9])
    assert (np.diff(lower) <= 0).all()
    assert np.isfinite(upper - lower).all()


def test_a_frame_has_names_and_an_index(fitted):
    pd = pytest.importorskip("pandas")
    X, y = draw(42)
    frame = pd.DataFrame(X, columns=["a", "b"])
    reg = CVPlusRegressor(SYSTEM, n_folds=4).fit(frame, y)
    assert reg.feature_names_in_.tolist() == ["a", "b"]
    told = reg.predict_interval(frame[5:8], 0.9, as_frame=True)
    assert told.columns.tolist() == ["lower_90", "upper_90"]
    assert told.index.tolist() == [5, 6, 7]
    np.testing.assert_array_equal(told.to_numpy().T, fitted.predict_interval(X[5:8]))
    with pytest.raises(ValueError, match="b"):
        reg.predict(frame.rename(columns={"b": "c"}))


# What it is refused


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"system": "strong"}, TypeError, "system must be a GT2Regressor or None, got 'strong'"),
        ({"n_folds": 1}, ValueError, "n_folds"),
        ({"n_folds": 43}, ValueError, "n_folds=43 is more than there are rows, n_samples=42"),
    ],
)
def test_settings_that_cannot_be(settings, error, words):
    with pytest.raises(error, match=words):
        CVPlusRegressor(**{"system": SYSTEM} | settings).fit(*draw(42))


def test_a_level_out_of_reach_names_the_highest(fitted):
    fitted.predict_interval([[0.0, 0.0]], 40 / 41)
    with pytest.raises(
        CoverageError, match=r"40 rows were scored, which answer levels up to 0.975"
    ):
        fitted.predict_interval([[0.0, 0.0]], 0.98)


def test_a_target_that_has_no_logarithm_is_told_by_its_row():
    X, y = draw(40)
    y = np.abs(y) + 1
    y[17] = -3
    system = GT2Regressor(target_transform="log")
    with pytest.raises(ValueError, match="row 17"):
        CVPlusRegressor(system, 4).fit(X, y)


def test_questions_before_fit():
    pytest.importorskip("sklearn")
    from sklearn.exceptions import NotFittedError

    for ask in ("predict", "predict_interval"):
        with pytest.raises(NotFittedError):
            getattr(CVPlusRegressor(SYSTEM), ask)([[0.0, 0.0]])


# Another library


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9])
def test_with_one_margin_for_all_rows_it_is_the_cv_plus_of_mapie(level):
    regression = pytest.importorskip("mapie.regression")
    model_selection = pytest.importorskip("sklearn.model_selection")
    system = GT2Regressor(**SYSTEM.get_params() | {"margins": 0.0})
    X, y = draw(40)
    reg = CVPlusRegressor(system, n_folds=4).fit(X, y)
    theirs = regression.CrossConformalRegressor(
        GT2Regressor(**SYSTEM.get_params()),
        confidence_level=level,
        method="plus",
        cv=model_selection.PredefinedSplit(reg.fold_),
    ).fit_conformalize(X, y)
    new, _ = draw(25, seed=8)
    _, found = theirs.predict_interval(new)
    np.testing.assert_allclose(
        np.array(reg.predict_interval(new, level)), found[:, :, 0].T, rtol=1e-9, atol=1e-9
    )
