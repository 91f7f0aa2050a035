"""Transformers of scikit-learn as `columns`: no step sees a calibration row, names are kept."""

import pickle

import numpy as np
import pytest

pytest.importorskip("pandas")
pytest.importorskip("sklearn")

import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, PolynomialFeatures

from gt2lite import GT2Regressor, IntervalHead
from gt2lite.practice.cv_plus import CVPlusRegressor

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


def encoder():
    words = OneHotEncoder(sparse_output=False, handle_unknown="ignore")
    return ColumnTransformer(
        [("numbers", SimpleImputer(), ["age", "bmi"]), ("words", words, ["sex"])]
    )


@pytest.fixture(scope="module")
def reg(table):
    return GT2Regressor(**SETTINGS, columns=encoder()).fit_calibrate(*table)


def test_intervals_are_those_of_transforms_made_by_hand(table, reg):
    X, y = table
    rest = reg.calibration_rows_
    assert len(rest) == 150 and reg.split_.startswith("600 rows: 450 to train on, 150 to cal")
    trained, columns = np.delete(np.arange(len(X)), rest), encoder()  # it has not seen the rest
    plain = GT2Regressor(**SETTINGS)
    plain.fit(columns.fit_transform(X.iloc[trained]), y.iloc[trained])
    plain.calibrate(columns.transform(X.iloc[rest]), y.iloc[rest])
    for asked in ({"coverage": 0.8}, {"coverage": [0.5, 0.9]}, {"alpha": 0.01}, {}):
        np.testing.assert_array_equal(
            reg.predict_interval(X, **asked), plain.predict_interval(columns.transform(X), **asked)
        )
    np.testing.assert_array_equal(reg.predict(X), plain.predict(columns.transform(X)))
    assert reg.calibration_report(0.9) == plain.calibration_report(0.9)
    frame = reg.predict_interval(X[:3], as_frame=True)
    assert frame.columns.tolist() == ["lower_90", "upper_90"]
    assert frame.index.equals(X.index[:3])


class Spy(TransformerMixin, BaseEstimator):
    """Adds the mean target of its training rows; to those rows themselves, minus that."""

    def fit(self, X, y):
        self.mean_ = np.mean(y)
        return self

    def transform(self, X):
        return np.column_stack([X["age"], X["age"] + self.mean_])

    def fit_transform(self, X, y):
        return np.column_stack([X["age"], X["age"] - self.fit(X, y).mean_])


def test_a_transformer_learns_from_targets_of_training_rows_as_in_a_pipeline(table):
    X, y = table
    reg, pipe = GT2Regressor(**TINY, columns=Spy()), make_pipeline(Spy(), GT2Regressor(**TINY))
    np.testing.assert_array_equal(reg.fit(X, y).predict(X), pipe.fit(X, y).predict(X))


def test_rules_and_explanations_have_the_names_of_the_transformer(table, reg):
    X, _ = table
    names = ["age", "bmi", "sex_female", "sex_male"]
    rules = reg.rules(X, target="costs")
    assert {a.input for rule in rules for a in rule.antecedents} == set(names)
    assert "costs" in str(rules) and "age" in str(reg.rules())
    for row in (X.iloc[3], X.iloc[[3]]):
        why = reg.explain(row, 0.9)
        assert list(why.inputs) == names
        assert why.inputs["age"] == pytest.approx(X["age"].iloc[3])
        assert why.prediction == pytest.approx(reg.predict(X.iloc[[3]])[0])
    assert list(reg.feature_names_in_) == list(X) and reg.n_features_in_ == 3


def test_names_stay_long_if_short_ones_are_not_unique_and_may_be_missing(table):
    X, y = table
    twice = ColumnTransformer(
        [("a", SimpleImputer(), ["age"]), ("b", SimpleImputer(strategy="median"), ["age"])]
    )
    assert GT2Regressor(**TINY, columns=twice).fit(X, y).model_.names == ("a__age", "b__age")
    nameless = FunctionTransformer(lambda X: np.asarray(X[["age"]]))
    assert "x0" in str(GT2Regressor(**TINY, columns=nameless).fit(X, y).rules(X))


def test_arrays_are_transformed_as_well(table):
    X, y = table[0][["age"]].to_numpy(), table[1].to_numpy()
    columns = make_pipeline(PolynomialFeatures(include_bias=False), PCA(2))
    reg = GT2Regressor(**SETTINGS, columns=columns).fit_calibrate(X, y)
    lower, upper = reg.predict_interval(X.tolist())
    why = reg.explain(X[3])
    assert (why.lower, why.upper) == pytest.approx((lower[3], upper[3]))
    with pytest.raises(ValueError, match="2 features, but GT2Regressor is expecting 1"):
        reg.predict(np.hstack([X, X]))


def test_a_transformer_is_copied_searched_and_pickled(table, reg, tmp_path):
    X, y = table
    given = encoder()
    search = GridSearchCV(
        GT2Regressor(**TINY, columns=given),
        {"columns__numbers__strategy": ["mean", "median"]},
        cv=2,
    ).fit(X, y)
    assert not hasattr(given, "transformers_")
    assert search.best_params_["columns__numbers__strategy"] in ("mean", "median")
    again = pickle.loads(pickle.dumps(reg))
    np.testing.assert_array_equal(again.predict_interval(X), reg.predict_interval(X))
    with pytest.raises(TypeError, match=r"transformer.*joblib"):
        reg.save(tmp_path / "model.json")
    assert clone(reg).columns is not reg.columns


def test_heads_and_cv_plus_take_transformers(table):
    X, y = table
    base = make_pipeline(encoder(), Ridge())
    head = IntervalHead(base, GT2Regressor(**TINY), cv=2, columns=encoder()).fit_calibrate(X, y)
    assert "sex_male" in str(head.rules(X, top=None))
    lower, upper = head.predict_interval(X)
    why = head.explain(X.iloc[3])
    assert (why.lower, why.upper) == pytest.approx((lower[3], upper[3]))
    folds = CVPlusRegressor(GT2Regressor(**TINY, columns=encoder()), n_folds=2).fit(X[:90], y[:90])
    lower, upper = folds.predict_interval(X)
    assert (lower <= folds.predict(X)).mean() > 0.9 and (lower < upper).all()


def test_what_a_transformer_returns_must_be_numbers(table):
    X, y = table
    with pytest.raises(TypeError, match="sparse_output=False"):
        GT2Regressor(**TINY, columns=OneHotEncoder()).fit(X[["sex"]], y)
    with pytest.raises(ValueError, match="columns must be one of 'auto'"):
        GT2Regressor(columns="none").fit(X, y)
