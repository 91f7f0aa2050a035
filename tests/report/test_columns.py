"""Each column has a fate, and the specification brings it back."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from messy_tables import messy_csv

from gt2lite.report.columns import Column, Columns
from gt2lite.report.kinds import as_numbers, find_kind
from gt2lite.report.reading import TableError, read_csv
from gt2lite.report.specifying import specify

FATES = {
    "Nr": ("number", "left out: counts the rows: an identifier"),
    "Größe": ("number", "a number, as it is"),
    "Farbe": ("category", "a category: 3 column(s) of 0 and 1"),
    "Garten": ("yes/no", "yes is 1, no is 0"),
    "verkauft am": ("date", "a date: day, month, weekday"),
    "Notiz": ("text", "left out: a different text in every row: an identifier"),
    "Land": ("category", "left out: the same value in every row"),
    "Zimmer": ("number", "a number, as it is; missing values become"),
    "fast leer": ("category", "left out: 88% of its values are missing"),
    "Preis": ("number", "the target"),
}


@pytest.fixture(scope="module")
def messy():
    return read_csv(messy_csv())[0]


@pytest.fixture(scope="module")
def columns(messy):
    return specify(messy, np.arange(80), "Preis")


@pytest.mark.parametrize("name", FATES)
def test_each_column_of_a_messy_table_has_its_fate(columns, name):
    (column,) = (c for c in columns.columns if c.name == name)
    kind, fate = FATES[name]
    assert column.kind == kind
    assert column.fate.startswith(fate)
    assert column.used == (not fate.startswith(("left out", "the target")))


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["1.234,5", "2,5"], "number"),
        (["1,234.50", "12"], "number"),
        (["€ 12", "13 %"], "number"),
        (["yes", "No", None], "yes/no"),
        ([True, False], "yes/no"),
        (["2024-01-02 03:04", "2024-05-06 07:08"], "date"),
        (["31/12/2023", "01/02/2024"], "date"),
        (["12/31/2023", "01/02/2024"], "date"),
        (["a", "b", "a"], "category"),
        ([f"text {i}" for i in range(90)], "text"),
        ([None, None], "number"),
    ],
)
def test_kinds_are_found_out(values, kind):
    assert find_kind(pd.Series(values, dtype=object))[0] == kind


def test_grouped_thousands_are_read():
    assert as_numbers(pd.Series(["1.234,5", "1,234.5", "1 234"])).tolist() == [1234.5, 1234.5, 1234]


def test_a_repeating_identifier_is_left_out_and_a_plain_number_is_not():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"customer_id": rng.integers(0, 40, 200), "y": rng.normal(size=200)})
    frame["rooms"] = rng.integers(0, 40, 200)
    fates = {c.name: c for c in specify(frame, np.arange(200), "y").columns}
    assert "an identifier, with repeats" in fates["customer_id"].fate
    assert fates["rooms"].used


def test_fill_values_are_learnt_from_training_rows_alone():
    frame = pd.DataFrame({"y": range(6), "x": [1.0, 2.5, 3.0, 100, 200, None]})
    (column,) = specify(frame, np.arange(3), "y").used
    assert column.fill == 2.5 and column.high == 3
    X, notes = Columns([column]).encode(frame)
    assert X["x"].tolist() == [1, 2.5, 3, 100, 200, 2.5]
    assert any("2 row(s) lie far outside the range" in note for note in notes)


def test_encoding_gives_the_numbers_one_would_write_down(messy, columns):
    X, _ = columns.encode(messy)
    assert not X.isna().to_numpy().any()
    assert list(X.columns) == columns.names
    assert (X["Farbe = rot"] == (messy["Farbe"] == "rot")).all()
    assert (X["Garten"] == (messy["Garten"] == "ja")).all()
    assert X["verkauft am (month)"].iloc[13] == 2
    assert (
        X["verkauft am (days since 1970)"].iloc[0]
        == (pd.Timestamp("2023-01-01") - pd.Timestamp(0)).days
    )
    assert (X["Zimmer is missing"] == messy["Zimmer"].isna()).all()


def test_the_specification_survives_json(messy, columns):
    again = Columns.from_header(json.loads(json.dumps(columns.to_header())))
    pd.testing.assert_frame_equal(again.encode(messy)[0], columns.encode(messy)[0])
    assert again.columns == columns.columns


def test_unseen_categories_and_missing_columns_are_told(messy, columns):
    new = messy.drop(columns="Größe").assign(Farbe="rosa", Zimmer="viele")
    X, notes = columns.encode(new)
    assert not X.isna().to_numpy().any()
    assert (X[[f"Farbe = {c}" for c in ("rot", "blau")]] == 0).to_numpy().all()
    said = "\n".join(notes)
    assert "'Größe' is missing" in said
    assert "'rosa'" in said
    assert "such as 'viele' cannot be read as number" in said
    with pytest.raises(TableError, match="none of the model's columns"):
        columns.encode(pd.DataFrame({"other": [1]}))


ODD = {
    "Int64": (pd.array([None, *range(2, 120, 2)], dtype="Int64"), "number"),
    "boolean": (pd.array([None, *[True, False, True] * 20][:60], dtype="boolean"), "yes/no"),
    "categorical": (pd.Categorical(["a", "b", "c"] * 20), "category"),
    "string": (pd.array(["a", "b", None] * 20, dtype="string"), "category"),
    "time zones": (pd.date_range("2024-03-01", periods=60, tz="Europe/Berlin"), "date"),
    "long ago": (["1500-01-01", "1600-02-02"] * 30, "date"),
    "months": (pd.period_range("2020-01", periods=60, freq="M"), "date"),
    "infinite": ([np.inf, *range(59)], "number"),
    "lists": ([[0], [1], [2]] * 20, "category"),
    "text and numbers": (["a", 1, 2.5] * 20, "category"),
}


@pytest.mark.parametrize("name", ODD)
def test_columns_of_odd_types_become_numbers_in_a_frame_and_in_a_file(name):
    values, kind = ODD[name]
    frame = pd.DataFrame({"y": np.arange(60.0), "odd": values})
    columns = specify(frame, np.arange(40), "y")
    (column,) = columns.used
    assert column.kind == kind
    X, _ = columns.encode(frame)
    assert np.isfinite(X.to_numpy()).all()
    again, _ = columns.encode(read_csv(frame.to_csv(index=False).encode())[0])
    np.testing.assert_array_equal(again.to_numpy(), X.to_numpy())


def test_numbers_out_of_all_bounds_are_left_out():
    frame = pd.DataFrame({"y": range(9), "a": np.arange(9) * 1e200, "b": np.arange(9) * 1e-200})
    assert not specify(frame, np.arange(9), "y").used


def test_of_two_categories_the_second_one_is_known():
    frame = pd.DataFrame({"y": range(20), "c": ["m", "f"] * 10})
    columns = specify(frame, np.arange(20), "y")
    assert columns.encode(frame)[1] == []
    assert "'x', never seen" in columns.encode(frame.assign(c="x"))[1][0]


def test_the_time_gives_only_parts_that_come_back_in_later_rows():
    days = pd.date_range("2024-01-01", periods=100)
    frame = pd.DataFrame({"y": np.arange(100), "t": days})
    (column,) = specify(frame, np.arange(60), "y", time="t").used
    assert column.parts == ["weekday"]


@pytest.mark.parametrize(
    "change",
    [{"kind": "magic"}, {"parts": ["year"]}, {"fill": float("nan")}, {"form": "%x"}, {"used": 1}],
)
def test_a_damaged_specification_is_refused(change):
    header = Columns([Column("a", "number", True, "used")]).to_header()
    with pytest.raises(ValueError, match="'a' is damaged"):
        Columns.from_header([{**header[0], **change}])
    with pytest.raises(ValueError, match="is not one"):
        Columns.from_header([{"name": "a"}])
