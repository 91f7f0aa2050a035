"""Facts about pipelines with intervals at their end: every method takes the raw table."""

import subprocess
import sys

import numpy as np
import pytest

from gt2lite import GT2Regressor

pd = pytest.importorskip("pandas")
pytest.importorskip("sklearn")

from sklearn.base import clone  # noqa: E402
from sklearn.compose import ColumnTransformer  # noqa: E402
from sklearn.impute import SimpleImputer  # noqa: E402
from sklearn.linear_model import Ridge  # noqa: E402
from sklearn.model_selection import GridSearchCV  # noqa: E402
from sklearn.pipeline import Pipeline  # noqa: E402
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder  # noqa: E402

from gt2lite.pipeline import IntervalPipeline  # noqa: E402

SETTINGS = {"n_rules": 3, "epochs": 15, "learning_rate": 0.03}


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


def steps(**settings):
    columns = ColumnTransformer(
        [
            ("numbers", SimpleImputer(), ["age", "bmi"]),
            ("words", OneHotEncoder(sparse_output=False), ["sex"]),
        ]
    )
    return [("columns", columns), ("reg", GT2Regressor(**(SETTINGS | settings)))]


@pytest.fixture(scope="module")
def pipe(table):
    return IntervalPipeline(steps()).fit_calibrate(*table)


def by_hand(table, pipe):
    """The same with every transform made by hand, and no pipeline at all."""
    X, y = table
    columns, reg = (clone(step) for _, step in steps())
    rest = pipe.calibration_rows_
    trained = np.delete(np.arange(len(X)), rest)
    reg.fit(columns.fit_transform(X.iloc[trained]), y.iloc[trained])
    reg.calibrate(columns.transform(X.iloc[rest]), y.iloc[rest])
    return columns, reg


def test_intervals_are_those_of_transforms_made_by_hand(table, pipe):
    X, _ = table
    columns, reg = by_hand(table, pipe)
    for asked in ({"coverage": 0.8}, {"coverage": [0.5, 0.9]}, {"alpha": 0.01}):
        np.testing.assert_array_equal(
            pipe.predict_interval(X, **asked), reg.predict_interval(columns.transform(X), **asked)
        )
    np.testing.assert_array_equal(pipe.predict(X), reg.predict(columns.transform(X)))
    assert pipe.calibration_report(0.9) == reg.calibration_report(0.9)
    assert np.isnan(X["bmi"]).any()  # the raw table is not what the last step sees


def test_no_step_sees_a_calibration_row(table, pipe):
    X, y = table
    rest = pipe.calibration_rows_
    assert len(rest) == 150 and pipe.split_.startswith("600 rows: 450 to train on, 150 to cal")
    other, spoilt = X.copy(), y.copy()
    other.iloc[rest, 0] += 1000
    other.iloc[rest, 2] = "unknown"
    spoilt.iloc[rest] -= 1e6
    again = IntervalPipeline(steps())
    again.steps[0][1].set_params(words__handle_unknown="ignore")
    with pytest.warns(UserWarning, match="covers|unknown"):
        again.fit_calibrate(other, spoilt)
    np.testing.assert_array_equal(again.predict(X), pipe.predict(X))


def test_calibrate_takes_raw_rows_and_forgets_the_split(table):
    X, y = table
    pipe = IntervalPipeline(steps()).fit_calibrate(X, y)
    pipe.fit(X[:400], y[:400])
    assert not hasattr(pipe, "split_")
    with pytest.raises(RuntimeError, match="needs a calibration"):
        pipe.predict_interval(X)
    assert pipe.calibrate(X[400:], y[400:], "exact", sides="each") is pipe
    lower, upper = pipe.predict_interval(X[400:], coverage=0.8)
    inside = (lower <= y[400:]) & (y[400:] <= upper)
    assert 0.8 <= inside.mean() <= 0.83


def test_groups_reach_the_calibration(table):
    X, y = table
    sex = X["sex"].to_numpy()
    pipe = IntervalPipeline(steps())
    with pytest.warns(UserWarning, match="fewer than 100"):
        pipe.fit_calibrate(X, y, groups=sex, share=0.2)
    assert [row.group for row in pipe.calibration_report(0.9)] == ["female", "male"]
    assert len(pipe.predict_interval(X[:9], 0.9, groups=sex[:9])[0]) == 9


def test_rules_and_explanations_have_the_names_of_the_table(table, pipe):
    X, _ = table
    assert pipe.names == ["age", "bmi", "sex_female", "sex_male"]
    rules = pipe.rules(X, target="costs")
    names = {antecedent.input for rule in rules for antecedent in rule.antecedents}
    assert names and names <= set(pipe.names)
    assert "costs" in str(rules) and "age" in str(pipe.rules())
    for row in (X.iloc[3], X.iloc[[3]]):
        why = pipe.explain(row, 0.9)
        assert list(why.inputs) == pipe.names
        assert why.inputs["age"] == pytest.approx(X["age"].iloc[3])
        assert why.prediction == pytest.approx(pipe.predict(X.iloc[[3]])[0])
    assert not hasattr(pipe[-1], "feature_names_in_")  # the step is as it was fitted


def test_names_stay_long_where_short_ones_would_be_two(table):
    X, y = table
    twice = ColumnTransformer(
        [("a", SimpleImputer(), ["age"]), ("b", SimpleImputer(strategy="median"), ["age"])]
    )
    pipe = IntervalPipeline([("twice", twice), ("reg", GT2Regressor(n_rules=2, epochs=1))])
    assert pipe.fit(X, y).names == ["a__age", "b__age"]


def test_transformers_without_names_leave_the_inputs_numbered(table):
    X, y = table
    nameless = FunctionTransformer(lambda X: np.asarray(X[["age"]]))
    pipe = IntervalPipeline([("f", nameless), ("reg", GT2Regressor(n_rules=2, epochs=1))])
    assert pipe.fit(X, y).names is None
    assert "x0" in str(pipe.rules(X))


def test_a_pipeline_of_one_step_is_that_step(table):
    X, y = table
    X = X[["age"]]
    alone = GT2Regressor(**SETTINGS).fit_calibrate(X, y)
    pipe = IntervalPipeline([("reg", GT2Regressor(**SETTINGS))]).fit_calibrate(X, y)
    np.testing.assert_array_equal(pipe.predict_interval(X), alone.predict_interval(X))
    assert pipe.names == ["age"] and str(pipe.rules(X)) == str(alone.rules(X))


def test_it_is_cloned_searched_and_sliced_as_any_pipeline(table):
    X, y = table
    pipe = clone(IntervalPipeline(steps()))
    assert type(pipe) is IntervalPipeline and isinstance(pipe, Pipeline)
    search = GridSearchCV(pipe, {"reg__n_rules": [2, 3]}, cv=2).fit(X, y)
    assert type(search.best_estimator_) is IntervalPipeline
    assert len(pipe[:-1]) == 1


def test_a_last_step_without_intervals_is_named(table):
    X, y = table
    pipe = IntervalPipeline([("reg", Ridge())]).fit(X[["age"]], y)
    with pytest.raises(TypeError, match=r"last step.*predict_interval\(\) as one, got Ridge"):
        pipe.predict_interval(X[["age"]])


def test_before_fit_it_says_so(table):
    with pytest.raises(Exception, match="not fitted yet"):
        IntervalPipeline(steps()).predict_interval(table[0])


@pytest.mark.parametrize(
    ("bad", "named"), [({"method": "magic"}, "method must"), ({"share": 2}, "share must")]
)
def test_what_is_wrong_is_told_before_training(table, bad, named, monkeypatch):
    monkeypatch.setattr(IntervalPipeline, "fit", None)
    with pytest.raises(ValueError, match=named):
        IntervalPipeline(steps()).fit_calibrate(*table, **bad)


def test_a_sparse_transform_says_what_to_set(table):
    X, y = table
    sparse = OneHotEncoder().set_output(transform="default")
    pipe = IntervalPipeline([("words", sparse), ("reg", GT2Regressor(**SETTINGS))])
    with pytest.raises(TypeError, match="in a pipeline set sparse_output=False"):
        pipe.fit(X[["sex"]], y)


def test_without_scikit_learn_the_way_out_is_told():
    code = (
        "import sys\n"
        "sys.modules['sklearn'] = None\n"
        "from gt2lite import GT2Regressor\n"
        "try:\n"
        "    from gt2lite.pipeline import IntervalPipeline\n"
        "except ImportError as error:\n"
        "    print(error)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.startswith("IntervalPipeline needs scikit-learn 1.6 or later, which is not")
