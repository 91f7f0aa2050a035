"""Data frames with gaps, categories and dates in `GT2Regressor` and `IntervalHead`."""

from __future__ import annotations

import pickle
import re
import warnings

import numpy as np
import pytest

from gt2lite import GT2Regressor, IntervalHead

pd = pytest.importorskip("pandas")
pytest.importorskip("sklearn")

from sklearn.compose import make_column_transformer  # noqa: E402
from sklearn.ensemble import HistGradientBoostingRegressor  # noqa: E402
from sklearn.frozen import FrozenEstimator  # noqa: E402
from sklearn.impute import SimpleImputer  # noqa: E402
from sklearn.linear_model import Ridge  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import OneHotEncoder  # noqa: E402

SMALL = {"n_rules": 2, "epochs": 2}
pytestmark = pytest.mark.filterwarnings("ignore")  # small data sets warn, rightly


@pytest.fixture(scope="module")
def raw():
    """A frame with a category, gaps, dates and an integer that numbers the rows."""
    rng, n = np.random.default_rng(0), 120
    return pd.DataFrame(
        {
            "size": rng.uniform(20, 200, n),
            "city": pd.Categorical(rng.choice(["Oslo", "Rome", "Bonn"], n)),
            "age": np.where(rng.random(n) < 0.2, np.nan, rng.integers(0, 50, n)),
            "sold": pd.date_range("2024-01-01", periods=n),
            "number": rng.permutation(n),
        }
    )


@pytest.fixture(scope="module")
def y(raw):
    return (raw["size"] + 50 * (raw["city"] == "Oslo")).to_numpy()


@pytest.fixture(scope="module")
def reg(raw, y):
    return GT2Regressor(columns="auto", **SMALL).fit_calibrate(raw, y)


def test_auto_is_the_default_of_strong_and_none_that_of_the_paper():
    assert GT2Regressor().columns is None and GT2Regressor.strong().columns == "auto"
    with pytest.raises(ValueError, match="columns must be one of"):
        GT2Regressor(columns="all", **SMALL).fit(np.ones((5, 1)), np.arange(5))


def test_tables_of_complete_numbers_give_the_same_bits_with_auto(raw, y):
    frame = raw[["size", "number"]]
    for table in (frame, frame.to_numpy()):
        plain = GT2Regressor(**SMALL).fit(table, y)
        auto = GT2Regressor(columns="auto", **SMALL).fit(table, y)
        np.testing.assert_array_equal(auto.predict(table), plain.predict(table))
        assert not hasattr(auto, "columns_")


def test_raw_columns_are_inputs_and_rules_speak_of_them(raw, reg):
    assert reg.n_features_in_ == 5 and list(reg.feature_names_in_) == list(raw)
    assert {"size", "city = Oslo", "age is missing", "number"} <= set(reg.columns_.names)
    assert "city is " in str(reg.rules(raw, top=None))
    assert reg.explain(raw.iloc[0]).prediction == pytest.approx(reg.predict(raw.iloc[:1])[0])
    with pytest.raises(ValueError, match="same order"):
        reg.predict(raw[["city", "size", "age", "sold", "number"]])
    with pytest.raises(TypeError, match="data frame"):
        reg.predict(raw[["size"] * 5].to_numpy())


def test_all_that_is_learned_comes_from_training_rows(raw, y, reg):
    trained = raw.drop(index=reg.calibration_rows_)
    size, age = (reg.columns_.columns[i] for i in (0, 2))
    assert (size.low, size.high) == (trained["size"].min(), trained["size"].max())
    assert age.fill == [trained["age"].median()]
    other = raw.copy()
    other.loc[reg.calibration_rows_, "city"] = "Bonn"
    again = GT2Regressor(columns="auto", **SMALL).fit_calibrate(other, y)
    np.testing.assert_array_equal(again.predict(trained), reg.predict(trained))


def test_what_is_unusual_is_one_warning_and_unknown_is_the_mean_over_categories(raw, reg):
    new = raw.iloc[:2].astype({"city": str}).assign(city=["Bergen", "Oslo"], size=[1e5, 50])
    with pytest.warns(UserWarning, match=r"'size'.*training range.*'city'.*'Bergen'"):
        reg.predict(new)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        reg.predict(raw)  # gaps as in training have an input of their own


def test_text_that_cannot_be_encoded_is_dropped_by_name(raw, y):
    frame = raw.assign(note=[f"text {i}" for i in range(len(raw))])
    with pytest.warns(UserWarning, match=r"'note' \(text"):
        reg = GT2Regressor(columns="auto", **SMALL).fit(frame, y)
    assert reg.n_features_in_ == 6
    with pytest.raises(ValueError, match=r"no column.*'note'"):
        reg.fit(frame[["note"]], y)
    with pytest.raises(ValueError, match=r"'size' .*1 infinite"):
        reg.fit(raw.assign(size=[np.inf, *raw["size"][1:]]), y)


def test_a_saved_regressor_encodes_as_before(raw, reg, tmp_path):
    reg.save(tmp_path / "model.json")
    again = GT2Regressor.load(tmp_path / "model.json")
    np.testing.assert_array_equal(again.predict(raw), reg.predict(raw))
    assert again.n_features_in_ == 5 and again.columns_.columns == reg.columns_.columns


def pipeline():
    encoder = make_column_transformer(
        (SimpleImputer(), ["size", "age"]), (OneHotEncoder(sparse_output=False), ["city"])
    )
    return make_pipeline(encoder, Ridge())


@pytest.mark.parametrize("kind", ["pipeline", "boosting", "frozen"])
def test_a_base_gets_the_raw_table(raw, y, kind):
    frame = raw.drop(columns="sold")
    base = HistGradientBoostingRegressor(max_iter=5, categorical_features="from_dtype")
    base = pipeline() if kind == "pipeline" else base
    base = FrozenEstimator(base.fit(frame, y)) if kind == "frozen" else base
    head = IntervalHead(base, GT2Regressor(**SMALL), cv=2).fit_calibrate(frame, y)
    lower, upper = head.predict_interval(frame)
    assert (lower < upper).all() and "city is " in str(head.rules(frame, top=None))
    head.explain(frame.iloc[3])
    again = pickle.loads(pickle.dumps(head))
    np.testing.assert_array_equal(again.predict_interval(frame), (lower, upper))
    np.testing.assert_array_equal(again.predict(frame), head.predict(frame))
    with pytest.raises(ValueError, match="column 'city'"):
        IntervalHead(base, GT2Regressor(**SMALL), columns=None).fit(frame, y)


@pytest.mark.parametrize("correct", [None, True, False])
@pytest.mark.parametrize("frozen", [True, False])
def test_a_base_is_corrected_as_asked_and_a_frozen_one_only_then(raw, y, correct, frozen):
    X, base = raw[["size", "number"]].to_numpy(), Ridge(alpha=1e6)
    base = FrozenEstimator(base.fit(X, y)) if frozen else base
    head = IntervalHead(base, GT2Regressor(**SMALL), cv=2, correct=correct).fit_calibrate(X, y)
    decided = not frozen and head.rmse_["corrected"] <= head.rmse_["base"]
    assert head.corrects_ == (decided if correct is None else correct)
    assert np.array_equal(head.predict(X), head.base_.predict(X)) == (not head.corrects_)


def test_a_base_gets_the_same_columns_in_fit_and_predict_if_their_names_are_numbers(raw, y):
    frame = raw.set_axis(range(5), axis=1)
    numbers = make_column_transformer(("passthrough", ["0", "2"]))  # the third has gaps
    base = make_pipeline(numbers, HistGradientBoostingRegressor(max_iter=5))
    head = IntervalHead(base, GT2Regressor(**SMALL), correct=False).fit_calibrate(frame, y)
    named = frame.set_axis([str(name) for name in frame], axis=1)
    np.testing.assert_array_equal(head.predict(frame), head.base_.predict(named))
    why = head.explain(frame.iloc[[3]])
    assert why.lower == pytest.approx(head.predict_interval(frame.iloc[[3]])[0][0])
    with pytest.raises(ValueError, match="takes one row, got 0"):
        head.explain(frame.iloc[:0])


def test_rules_and_explanations_name_values_of_columns_with_gaps(raw, y):
    gaps = raw.assign(city=raw["city"].where(raw.index % 7 > 0), old=raw["age"] > 20)
    reg = GT2Regressor(columns="auto", n_rules=3, epochs=5).fit_calibrate(gaps, y)
    texts = [
        one.text for rule in reg.rules(gaps) for one in rule.antecedents if "city =" in one.input
    ]
    assert texts and all(re.fullmatch(r"(rather )?city is (not )?[A-Z]\w+", text) for text in texts)
    assert "city missing" in str(reg.explain(gaps.iloc[0]))
    assert re.search("old (yes|no)", str(reg.explain(gaps.iloc[1])))
