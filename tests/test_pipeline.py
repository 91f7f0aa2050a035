"""Facts about pipelines, scorers and cross-validated intervals."""

import numpy as np
import pytest

pytest.importorskip("pandas")
pytest.importorskip("sklearn")

import pandas as pd
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, TimeSeriesSplit, cross_validate
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

from gt2lite import GT2Regressor
from gt2lite.metrics import interval_score, picp
from gt2lite.practice.pipeline import (
    IntervalPipeline,
    coverage_scorer,
    cross_val_intervals,
    interval_scorer,
)

SETTINGS = {"n_rules": 3, "epochs": 15, "learning_rate": 0.03}
TINY = {"n_rules": 2, "epochs": 1}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    n = 600
    frame = pd.DataFrame(
        {
            "age": rng.uniform(20, 70, n),
            "bmi": rng.normal(25, 4, n),
            "sex": rng.choice(["female", "male"], n),
        },
        index=np.arange(n)[::-1] + 1000,
    )
    y = 2 * frame["age"] + 30 * (frame["sex"] == "male") + 5 * rng.normal(size=n)
    frame.loc[frame.index[::7], "bmi"] = np.nan
    return frame, y


def steps():
    columns = ColumnTransformer(
        [
            ("numbers", SimpleImputer(), ["age", "bmi"]),
            ("words", OneHotEncoder(sparse_output=False, handle_unknown="ignore"), ["sex"]),
        ]
    )
    return [("columns", columns), ("reg", GT2Regressor(**SETTINGS))]


@pytest.fixture(scope="module")
def pipe(table):
    return IntervalPipeline(steps()).fit_calibrate(*table)


# ------------------------------------------------------------------------------ pipelines


def test_intervals_are_those_of_transforms_made_by_hand(table, pipe):
    X, y = table
    columns, reg = (clone(step) for _, step in steps())
    rest = pipe.calibration_rows_
    assert len(rest) == 150 and pipe.split_.startswith("600 rows: 450 to train on, 150 to cal")
    trained = np.delete(np.arange(len(X)), rest)  # no step has seen the rest
    reg.fit(columns.fit_transform(X.iloc[trained]), y.iloc[trained])
    reg.calibrate(columns.transform(X.iloc[rest]), y.iloc[rest])
    for asked in ({"coverage": 0.8}, {"coverage": [0.5, 0.9]}, {"alpha": 0.01}, {}):
        np.testing.assert_array_equal(
            pipe.predict_interval(X, **asked), reg.predict_interval(columns.transform(X), **asked)
        )
    np.testing.assert_array_equal(pipe.predict(X), reg.predict(columns.transform(X)))
    assert pipe.calibration_report(0.9) == reg.calibration_report(0.9)
    frame = pipe.predict_interval(X[:3], as_frame=True)
    assert frame.columns.tolist() == ["lower_90", "upper_90"]
    assert frame.index.equals(X.index[:3])


def test_calibrate_takes_raw_rows_and_fit_discards_a_calibration(table):
    X, y = table
    pipe = IntervalPipeline(steps()).fit_calibrate(X, y)
    pipe.fit(X[:400], y[:400])
    assert not hasattr(pipe, "split_")
    with pytest.raises(RuntimeError, match="calibrat"):
        pipe.predict_interval(X)
    assert pipe.calibrate(X[400:], y[400:], "exact", sides="each") is pipe
    assert 0.8 <= picp(y[400:], *pipe.predict_interval(X[400:], coverage=0.8)) <= 0.83


def test_rules_and_explanations_have_the_names_of_the_table(table, pipe):
    X, _ = table
    assert pipe.names == ["age", "bmi", "sex_female", "sex_male"]
    rules = pipe.rules(X, target="costs")
    assert {a.input for rule in rules for a in rule.antecedents} == set(pipe.names)
    assert "costs" in str(rules) and "age" in str(pipe.rules())
    for row in (X.iloc[3], X.iloc[[3]]):
        why = pipe.explain(row, 0.9)
        assert list(why.inputs) == pipe.names
        assert why.inputs["age"] == pytest.approx(X["age"].iloc[3])
        assert why.prediction == pytest.approx(pipe.predict(X.iloc[[3]])[0])
    assert not hasattr(pipe[-1], "feature_names_in_")  # the step is as it was fitted


def test_names_stay_long_if_short_ones_are_not_unique_and_may_be_missing(table):
    X, y = table
    twice = ColumnTransformer(
        [("a", SimpleImputer(), ["age"]), ("b", SimpleImputer(strategy="median"), ["age"])]
    )
    pipe = IntervalPipeline([("twice", twice), ("reg", GT2Regressor(**TINY))])
    assert pipe.fit(X, y).names == ["a__age", "b__age"]
    nameless = FunctionTransformer(lambda X: np.asarray(X[["age"]]))
    pipe = IntervalPipeline([("f", nameless), ("reg", GT2Regressor(**TINY))])
    assert pipe.fit(X, y).names is None
    assert "x0" in str(pipe.rules(X))


def test_fit_trains_copies_and_clones_and_searches_work_as_for_any_pipeline(table):
    X, y = table
    given = steps()
    pipe = IntervalPipeline(given).fit(X, y)
    assert not hasattr(given[0][1], "transformers_") and not hasattr(given[1][1], "systems_")
    search = GridSearchCV(clone(pipe), {"reg__n_rules": [2, 3]}, cv=2).fit(X, y)
    assert type(search.best_estimator_) is IntervalPipeline


def test_a_saved_pipeline_comes_back_on_its_transformers(table, pipe, tmp_path):
    X, y = table
    pipe.save(path := tmp_path / "pipe.json")
    again = IntervalPipeline.load(path, pipe[:-1])
    np.testing.assert_array_equal(again.predict_interval(X), pipe.predict_interval(X))
    for wrong in (None, IntervalPipeline([("columns", SimpleImputer()), ("reg", Ridge())])[:-1]):
        with pytest.raises(ValueError, match="transformers must be"):
            IntervalPipeline.load(path, wrong)
    alone = IntervalPipeline([("reg", GT2Regressor(**TINY))]).fit(X[["age"]], y)
    assert alone.names == ["age"]
    alone.save(path)
    np.testing.assert_array_equal(
        IntervalPipeline.load(path).predict(X[["age"]]), alone.predict(X[["age"]])
    )


def test_bad_pipelines_and_arguments_are_named(table, monkeypatch):
    X, y = table
    with pytest.raises(TypeError, match=r"last step.*predict_interval.*Ridge"):
        IntervalPipeline([("reg", Ridge())]).fit(X[["age"]], y).predict_interval(X[["age"]])
    with pytest.raises(Exception, match="not fitted"):
        IntervalPipeline(steps()).predict_interval(X)
    sparse = [("words", OneHotEncoder()), ("reg", GT2Regressor(**TINY))]
    with pytest.raises(TypeError, match="sparse_output=False"):
        IntervalPipeline(sparse).fit(X[["sex"]], y)
    monkeypatch.setattr(IntervalPipeline, "_trained", None)  # it must not come to training
    for bad in ({"method": "magic"}, {"share": 2}, {"y": y.where(y > y.min())}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            IntervalPipeline(steps()).fit_calibrate(**{"X": X, "y": y} | bad)


# -------------------------------------------------------------------------------- scorers


@pytest.fixture(scope="module")
def noisy():
    rng = np.random.default_rng(1)
    X = rng.uniform(-2, 2, size=(600, 2))
    return X, X[:, 0] ** 2 + (0.2 + 0.5 * (X[:, 1] > 0)) * rng.normal(size=600)


def test_an_uncalibrated_estimator_is_calibrated_on_the_other_half(noisy):
    fitted = GT2Regressor(**SETTINGS).fit(*(part[:300] for part in noisy))
    X, y = (part[300:] for part in noisy)
    rows = np.random.default_rng(7).permutation(300)
    scores, shares = [], []
    for mine, other in ((rows[:150], rows[150:]), (rows[150:], rows[:150])):
        own = GT2Regressor(**SETTINGS).fit(*(part[:300] for part in noisy))
        own.calibrate(X[other], y[other], sides="each")
        ends = own.predict_interval(X[mine], 0.8)
        scores.append(-interval_score(y[mine], *ends, 0.8))
        shares.append(picp(y[mine], *ends))
    asked = {"seed": 7, "sides": "each"}
    assert interval_scorer(0.8, **asked)(fitted, X, y) == pytest.approx(np.mean(scores))
    assert coverage_scorer(0.8, **asked)(fitted, X, y) == pytest.approx(np.mean(shares))
    assert not hasattr(fitted, "calibrator_")


def test_a_calibrated_estimator_is_scored_as_it_is(noisy):
    X, y = noisy
    reg = GT2Regressor(**SETTINGS).fit_calibrate(X[:400], y[:400])
    ends = reg.predict_interval(X[400:], 0.9)
    assert coverage_scorer(0.9)(reg, X[400:], y[400:]) == picp(y[400:], *ends)
    assert interval_scorer(0.9)(reg, X[400:], y[400:]) == -interval_score(y[400:], *ends, 0.9)


def test_searches_and_cross_validation_accept_scorers(noisy):
    scoring = {"coverage": coverage_scorer(0.8), "score": interval_scorer(0.8)}
    found = cross_validate(GT2Regressor(**SETTINGS), *noisy, scoring=scoring, cv=2)
    assert 0.7 < found["test_coverage"].mean() < 0.9
    assert (found["test_score"] < 0).all()
    search = GridSearchCV(
        GT2Regressor(**SETTINGS), {"epochs": [1, 15]}, scoring=interval_scorer(0.8), cv=2
    ).fit(*noisy)
    assert search.best_params_ == {"epochs": 15}
    with pytest.raises(ValueError, match="coverage"):
        coverage_scorer(90)


# -------------------------------------------------------------- cross-validated intervals


@pytest.mark.filterwarnings("ignore::gt2lite.calibration.SmallCalibrationWarning")
@pytest.mark.parametrize("grouped", [False, True])
def test_each_interval_is_from_a_model_that_has_not_seen_its_row(noisy, grouped):
    X, y = noisy
    loud = np.where(X[:, 1] > 0, "loud", "calm")
    folds, levels = list(GroupKFold(2).split(X, y, np.arange(600) // 20)), [0.8, 0.9]

    def of(rows):
        return {"groups": loud[rows]} if grouped else {}

    found = cross_val_intervals(
        GT2Regressor(**SETTINGS), X, y, levels, cv=folds, share=0.5, **of(slice(None))
    )
    for trained, rows in folds:
        reg = GT2Regressor(**SETTINGS)
        reg.fit_calibrate(X[trained], y[trained], share=0.5, **of(trained))
        ends = reg.predict_interval(X[rows], levels, **of(rows))
        np.testing.assert_array_equal(np.stack(found)[:, rows], ends)


HALF = np.arange(300)


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"cv": TimeSeriesSplit(3)}, "cv must have each of the 600 rows in one test fold"),
        ({"cv": [(HALF, 300 + HALF)] * 2}, "cv must have each of the 600 rows"),
        ({"cv": GroupKFold(3)}, r"cv=list\(GroupKFold"),
        ({"coverage": 90}, "coverage"),
        ({"coverage": 0.999}, "999 calibration rows are needed"),
        ({"groups": ["a"] * 599 + ["b"], "small_groups": "pool"}, "groups must each .* 'b'"),
        ({"groups": ["a"]}, "groups"),
    ],
)
def test_what_cannot_be_answered_is_refused_before_training(noisy, bad, words, monkeypatch):
    monkeypatch.setattr(GT2Regressor, "fit_calibrate", None)
    with pytest.raises(ValueError, match=words):
        cross_val_intervals(GT2Regressor(**SETTINGS), *noisy, **bad)
