"""Facts about data frames that are no tables of numbers: the column is named, and a way out."""

import datetime

import numpy as np
import pytest

from gt2lite import GT2Regressor

pd = pytest.importorskip("pandas")

FAST = {"n_rules": 2, "epochs": 1}


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    return pd.DataFrame(rng.normal(size=(60, 2)), columns=["age", "bmi"], index=range(100, 160))


@pytest.fixture
def y(frame):
    return frame["age"] + 1


def spoilt(frame, column, values, rows):
    frame[column] = frame[column].astype(object)
    frame.iloc[rows, list(frame.columns).index(column)] = values
    return frame


def first_rows(n):
    return list(range(3, 3 + n))


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT])
def test_missing_values_are_counted_and_their_first_row_told(frame, y, missing):
    bad = spoilt(frame, "bmi", missing, first_rows(12))
    with pytest.raises(ValueError, match=r"X: column 'bmi' has 12 missing values.*first in row 3:"):
        GT2Regressor(**FAST).fit(bad, y)


def test_numbers_that_can_be_missing_are_numbers_where_none_is(frame, y):
    whole = frame.round().astype("Int64")
    GT2Regressor(**FAST).fit(whole, y)
    whole.iloc[7, 0] = pd.NA
    with pytest.raises(ValueError, match=r"column 'age' has 1 missing value, the first in row 7"):
        GT2Regressor(**FAST).fit(whole, y)


COLUMNS = {
    "text": (["female", "male"] * 30, r"column 'odd' holds text \('female' in row 0\).*0 and 1"),
    "categories": (pd.Categorical(["a", "b"] * 30), r"column 'odd' holds text \('a' in row 0\)"),
    "dates": (pd.date_range("2024-01-01", periods=60), r"'odd' holds dates \(2024-01-01.*days"),
    "days": ([datetime.date(2024, 5, 1)] * 60, r"'odd' holds dates \(2024-05-01 in row 0\)"),
    "spans": (pd.to_timedelta(range(60), unit="h"), r"column 'odd' holds time spans .*seconds"),
    "lists": ([[1, 2]] * 60, r"column 'odd' holds what is no number \(\[1, 2\] in row 0\)"),
    "infinity": ([1.0] * 59 + [np.inf], r"'odd' has 1 infinite value, the first in row 59"),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_a_column_that_holds_no_numbers_is_named(frame, y, kind):
    values, words = COLUMNS[kind]
    frame["odd"] = values
    with pytest.raises(ValueError, match=words):
        GT2Regressor(**FAST).fit(frame, y)


def test_other_columns_with_trouble_are_named_as_well(frame, y):
    for name in "abcdefg":
        frame[name] = "x"
    with pytest.raises(ValueError, match=r"column 'a' holds text.*'b', 'c', 'd', 'e', 'f', \.\.\."):
        GT2Regressor(**FAST).fit(frame, y)


def test_columns_without_names_and_with_one_name_twice_are_told(frame, y):
    with pytest.raises(ValueError, match="column 1 has 60 missing"):
        GT2Regressor(**FAST).fit(pd.DataFrame({0: frame["age"], 1: np.nan}), y)
    frame.columns = ["same", "same"]
    frame.iloc[4, 1] = np.nan
    with pytest.raises(ValueError, match="column 'same' has 1 missing value, the first in row 4"):
        GT2Regressor(**FAST).fit(frame, y)


def test_targets_are_looked_at_the_same_way(frame, y):
    with pytest.raises(ValueError, match=r"^y holds text \('cheap' in row 0\)"):
        GT2Regressor(**FAST).fit(frame, pd.Series(["cheap", "dear"] * 30))
    y.iloc[[5, 9]] = np.nan
    with pytest.raises(ValueError, match=r"^y has 2 missing values, the first in row 5"):
        GT2Regressor(**FAST).fit(frame, y)


@pytest.mark.parametrize("ask", ["predict", "predict_interval", "calibrate"])
def test_later_calls_name_columns_as_well(frame, y, ask):
    reg = GT2Regressor(**FAST)
    with pytest.warns(UserWarning, match="fewer than 100"):
        reg.fit_calibrate(frame, y)
    given = (y,) if ask == "calibrate" else ()
    bad = spoilt(frame, "bmi", "high", [2])
    with pytest.raises(ValueError, match=r"column 'bmi' holds text \('high' in row 2\)"):
        getattr(reg, ask)(bad, *given)


def test_plain_arrays_are_told_by_index_as_before(frame, y):
    X = frame.to_numpy(copy=True)
    X[7, 1] = np.nan
    with pytest.raises(ValueError, match=r"X contains NaN at index \(7, 1\)"):
        GT2Regressor(**FAST).fit(X, y.to_numpy())


def test_a_lazy_frame_has_to_be_collected(y):
    class LazyFrame:
        columns = ("a",)

    with pytest.raises(TypeError, match=r"X\.collect\(\)"):
        GT2Regressor(**FAST).fit(LazyFrame(), y)


def test_frames_of_polars_are_named_the_same_way(y):
    pl = pytest.importorskip("polars")
    bad = pl.DataFrame({"age": [1.0] * 60, "sex": ["f"] * 60})
    with pytest.raises(ValueError, match=r"column 'sex' holds text \('f' in row 0\)"):
        GT2Regressor(**FAST).fit(bad, y)
