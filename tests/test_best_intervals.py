"""Facts about `IntervalHead.strong`: what it compares, what it keeps, and the bases it takes."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not installed (extra `sklearn`)")

from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GroupKFold, TimeSeriesSplit

import gt2lite.practice.head
from gt2lite import GT2Regressor, IntervalHead
from gt2lite.practice.bases import LEAST_WEIGHT, MeanBase, hold_out, mean_weights
from gt2lite.practice.families import FamilyScore
from gt2lite.practice.joining import join
from gt2lite.practice.presets import HEAD
from gt2lite.practice.tables import Rows

QUICK = {"n_rules": 3, "epochs": 3, "n_systems": 5, "verbose": False}


@pytest.fixture(scope="module")
def made():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(420, 2))
    return X, 50 + 10 * np.abs(X[:, 1]) + (1 + 3 * (X[:, 0] > 0)) * rng.normal(size=420)


@pytest.fixture(autouse=True)
def quick_errors(monkeypatch):
    monkeypatch.setattr(gt2lite.practice.head, "HEAD", replace(HEAD, n_rules=3, epochs=3))


def score_parts(monkeypatch, systems, on_base, mean):
    """Let the three parts have these scores."""
    left = [FamilyScore(score, None) for score in (systems, on_base, mean)]
    monkeypatch.setattr(gt2lite.practice.head, "best_family", lambda rows: left.pop(0))


# --------------------------------------------------------------------------- the choice


@pytest.mark.parametrize(
    ("scores", "kept"),
    [
        ((1.0, 1.0, 1.0), "mean"),
        ((0.8, 2.0, 1.0), "mean"),  # not clear
        ((0.7, 2.0, 1.0), "systems"),
        ((2.0, 0.7, 1.0), "on base"),
    ],
)
def test_the_mean_is_kept_unless_a_part_is_clearly_better(made, monkeypatch, scores, kept):
    X, y = made
    score_parts(monkeypatch, *scores)
    head = IntervalHead.strong(LinearRegression(), **QUICK).fit(X[:200], y[:200])
    assert [one.part for one in head.chosen_ if one.kept] == [kept] == [head.chosen_[0].part]
    unit = y[:200].std()
    found = {one.part: one.score / unit for one in head.chosen_}
    assert list(found) == sorted(found, key=lambda part: (part != kept, found[part]))
    assert [found[part] for part in ("systems", "on base", "mean")] == pytest.approx(scores)


def test_systems_alone_are_the_regressor_that_was_compared(made, monkeypatch):
    X, y = made
    score_parts(monkeypatch, 1.0, 9.0, 9.0)
    head = IntervalHead.strong(LinearRegression(), **QUICK).fit(X[:200], y[:200])
    head.calibrate(X[200:300], y[200:300])
    reg = head.systems_.calibrate(X[200:300], y[200:300])
    np.testing.assert_array_equal(head.predict_interval(X), reg.predict_interval(X))
    np.testing.assert_array_equal(head.predict(X), reg.predict(X))
    assert not hasattr(head, "base_") and "y = " in str(head.rules(X))
    assert head.explain(X[0]).lower == pytest.approx(reg.predict_interval(X[:1])[0][0])


def test_systems_on_the_base_are_a_head_around_the_mean_of_its_copies(made, monkeypatch):
    X, y = made
    score_parts(monkeypatch, 9.0, 1.0, 9.0)
    head = IntervalHead.strong(LinearRegression(), **QUICK).fit(X[:200], y[:200])
    assert isinstance(head.base_, MeanBase) and len(head.base_.members) == 5
    copies = [one.predict(X) for one in head.base_.members]
    np.testing.assert_allclose(head.base_.predict(X), np.mean(copies, axis=0))
    predicted = head.base_.predict(X)
    errors = head.head_.predict_interval(np.column_stack([X, predicted]), alpha=0.1)
    np.testing.assert_allclose(head.predict_interval(X, alpha=0.1), predicted + np.array(errors))
    assert "Where LinearRegression is unsure" in str(head.rules(X))


def test_the_mean_is_that_of_all_systems_plane_by_plane(made, monkeypatch):
    X, y = made
    score_parts(monkeypatch, 9.0, 9.0, 1.0)
    kept = []
    take = gt2lite.practice.head.take_part
    monkeypatch.setattr(
        gt2lite.practice.head, "take_part", lambda *parts: kept.append(parts) or take(*parts)
    )
    head = IntervalHead.strong(LinearRegression(), **QUICK).fit(X[:200], y[:200])
    on_base = clone(head)
    on_base.model_ = kept[0][0]
    n_alone, n_based = len(head.systems_.systems_), len(on_base.head_.systems_)
    assert len(head.head_.systems_) == n_alone + n_based
    for alpha in (1.0, 0.3, 0.01):
        alone, based = (
            np.array(one.predict_interval(X, alpha=alpha)) for one in (head.systems_, on_base)
        )
        mean = (n_alone * alone + n_based * based) / (n_alone + n_based)
        np.testing.assert_allclose(head.predict_interval(X, alpha=alpha), mean, rtol=1e-9)
    assert "base" in head.explain(X[0], alpha=0.5).inputs
    assert "without LinearRegression" in str(head.rules(X))
    assert "with it" in str(head.rules(X, system=n_alone))


def test_calibration_rows_have_no_part_in_the_choice(made):
    X, y = made
    head = IntervalHead.strong(**QUICK).fit_calibrate(X, y)
    rows = head.calibration_rows_
    by_hand = clone(head).fit(np.delete(X, rows, axis=0), np.delete(y, rows))
    assert by_hand.chosen_ == head.chosen_
    by_hand.calibrate(X[rows], y[rows])
    np.testing.assert_array_equal(by_hand.predict_interval(X), head.predict_interval(X))
    again = pickle.loads(pickle.dumps(head))
    np.testing.assert_array_equal(again.predict_interval(X), head.predict_interval(X))


def test_a_frame_with_text_and_gaps_needs_no_preparation(made, tmp_path):
    pd = pytest.importorskip("pandas")
    X, y = made
    frame = pd.DataFrame({"hot": X[:, 0], "side": np.where(X[:, 1] > 0, "left", "right")})
    frame.loc[::7, "hot"] = np.nan
    head = IntervalHead.strong(**QUICK).fit_calibrate(frame, y)
    lower, upper = head.predict_interval(frame)
    assert (lower <= upper).all() and head.explain(frame.iloc[0]).lower == pytest.approx(lower[0])
    head.systems_.save(tmp_path / "systems.json")
    again = GT2Regressor.load(tmp_path / "systems.json")
    np.testing.assert_allclose(again.predict(frame), head.systems_.predict(frame))


def test_families_stay_together_and_folds_that_overlap_are_refused(made):
    X, y = made
    families = np.arange(200) // 10
    splits = list(GroupKFold(4).split(X[:200], groups=families))
    head = IntervalHead.strong(LinearRegression(), cv=splits, **QUICK).fit(X[:200], y[:200])
    assert len(head.base_.members if hasattr(head, "base_") else splits) == 4
    with pytest.raises(ValueError, match="cv must leave out each row once"):
        IntervalHead.strong(LinearRegression(), cv=TimeSeriesSplit(3), **QUICK).fit(X, y)


# ------------------------------------------------------------------------------ joining


@pytest.mark.parametrize("settings", [{}, {"inputs": "ranks"}, {"smf": "scalar"}])
def test_joined_systems_have_the_planes_that_they_had(made, settings):
    X, y = made
    base = y + np.random.default_rng(1).normal(size=len(y))
    folds = np.arange(len(y)) % 5
    reg = GT2Regressor.strong(choose=False, n_rules=3, epochs=3, n_systems=2, **settings)
    of_target = reg.train_model(Rows(X), y)
    with_base = np.column_stack([X, base])
    errors = GT2Regressor(recipe=replace(HEAD, epochs=2), n_systems=5, clip_inputs=True)
    of_error = errors.train_model(Rows(with_base), y - base, folds=folds)
    joined = join(of_target, of_error, FamilyScore(1.0, None))
    alphas = [1.0, 0.4, 0.01]

    def ends(model, inputs, systems):
        one = model.with_ensemble(model.ensemble.with_systems(model.ensemble.systems[systems]))
        planes = one.ensemble.planes(model.scaler.transform_X(inputs))
        return planes.ends(alphas) * model.scaler.y_std + model.scaler.y_mean

    alone, based = slice(0, 2), slice(2, 7)
    np.testing.assert_allclose(
        ends(joined, with_base, alone), ends(of_target, X, slice(None)), rtol=1e-9
    )
    expected = base + ends(of_error, with_base, slice(None))
    np.testing.assert_allclose(ends(joined, with_base, based), expected, rtol=1e-9)
    lowest = joined.ensemble.planes(joined.scaler.transform_X(with_base)).alpha_min
    parts = [
        model.ensemble.planes(model.scaler.transform_X(inputs)).alpha_min
        for model, inputs in ((of_target, X), (of_error, with_base))
    ]
    assert lowest == max(parts)


# -------------------------------------------------------------------------------- bases


class Copying(RegressorMixin, BaseEstimator):
    """Copies a list that it is given, as CatBoost does, so that scikit-learn cannot clone it."""

    def __init__(self, columns=None):
        self.columns = None if columns is None else list(columns)

    def fit(self, X, y):
        self.mean_ = np.mean(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


class Forgetting(Copying):
    """Changes what it is given."""

    def __init__(self, columns=None):
        self.columns = None if columns is None else [*columns, "more"]


def test_a_base_that_copies_its_settings_is_copied_and_another_one_named(made):
    X, y = made
    system = GT2Regressor(n_rules=2, epochs=1)
    with pytest.raises(RuntimeError, match="columns"):
        clone(Copying(["a"]))
    head = IntervalHead(Copying(["a"]), system).fit(X[:100], y[:100])
    assert clone(head).base.columns == ["a"] and clone(head).base is not head.base
    with pytest.raises(TypeError, match=r"cannot be copied.*FrozenEstimator\(base\)"):
        IntervalHead(Forgetting(["a"]), system).fit(X[:100], y[:100])


def test_default_bases_are_weighted_by_their_errors_on_folds_left_out(made):
    X, y = made
    splits = [(np.flatnonzero(np.arange(420) % 3 != k), np.arange(k, 420, 3)) for k in range(3)]
    found = hold_out(None, X, y, splits)
    weights = np.array(found.mean.weights).reshape(-1, 3)  # three copies of each
    assert weights.sum() == pytest.approx(3) and weights.min() >= LEAST_WEIGHT
    left_out = np.empty((len(weights), len(y)))
    for i, base in enumerate(found.mean.members[::3]):
        for used, held in splits:
            trees = hasattr(base, "early_stopping")  # they stop by the fold left out
            stop = {"X_val": X[held], "y_val": y[held]} if trees else {}
            left_out[i, held] = clone(base).fit(X[used], y[used], **stop).predict(X[held])
    np.testing.assert_allclose(found.predicted, weights[:, 0] @ left_out)
    np.testing.assert_array_equal(found.rows, np.arange(len(y)))
    error = np.mean((y - found.predicted) ** 2)
    assert all(error <= np.mean((y - one) ** 2) for one in left_out)


@pytest.mark.parametrize(
    ("predicted", "expected"),
    [
        ([[1, 2, 3], [3, 2, 1]], [1, 0]),
        ([[1, 2, 2.9], [1, 2, 3.1]], [0.5, 0.5]),
        ([[3, 2, 1], [3, 2, 1.5]], [0, 1]),
        ([[5, 5, 5]], [1]),
    ],
)
def test_weights_of_a_mean_have_the_smallest_squared_error(predicted, expected):
    found = mean_weights(np.array(predicted, dtype=float), np.array([1.0, 2, 3]))
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_a_smooth_table_is_left_to_the_gaussian_process(made):
    X = made[0]
    y = np.sin(2 * X[:, 0]) + X[:, 1]
    head = IntervalHead(system=GT2Regressor(n_rules=2, epochs=1)).fit(X[:300], y[:300])
    share = {}
    for member, weight in zip(head.base_.members, head.base_.weights, strict=True):
        share[type(member).__name__] = share.get(type(member).__name__, 0) + weight / 5
    assert share["GaussianProcessBase"] > 0.9
    rmse = np.sqrt(np.mean((head.predict(X[300:]) - y[300:]) ** 2))
    assert rmse < 0.05 * y.std()
