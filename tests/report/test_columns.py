"""Each column has a treatment, and the specification in a file repeats it."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from messy_tables import messy_csv

from gt2lite.columns import Column, Columns, TableError, as_numbers, find_kind, specify
from gt2lite.report.reading import read_csv

TREATMENTS = {
    "Nr": ("number", "dropped: an identifier"),
    "Größe": ("number", "number, used as it is"),
    "Farbe": ("category", "category: 3 column(s)"),
    "Garten": ("yes/no", "yes is 1"),
    "verkauft am": ("date", "date (written as %d.%m.%Y): day, month, weekday"),
    "Notiz": ("text", "dropped: an identifier"),
    "Land": ("category", "dropped: the same value"),
    "Zimmer": ("number", "number, used as it is; missing values become"),
    "fast leer": ("category", "dropped: 88%"),
    "Preis": ("number", "the target"),
}


@pytest.fixture(scope="module")
def messy():
    return read_csv(messy_csv())[0]


@pytest.fixture(scope="module")
def columns(messy):
    return specify(messy, np.arange(80), "Preis")


def test_each_column_of_a_messy_table_has_its_treatment(columns):
    assert [column.name for column in columns.columns] == list(TREATMENTS)
    for column in columns.columns:
        kind, treatment = TREATMENTS[column.name]
        assert column.kind == kind
        assert column.treatment.startswith(treatment)
        assert column.used == (not treatment.startswith(("dropped", "the target")))


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
def test_kinds_are_found(values, kind):
    assert find_kind(pd.Series(values, dtype=object))[0] == kind


def test_grouped_thousands_are_read():
    assert as_numbers(pd.Series(["1.234,5", "1,234.5", "1 234"])).tolist() == [1234.5, 1234.5, 1234]


def test_identifiers_are_dropped_and_plain_numbers_are_not():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"customer_id": rng.integers(0, 40, 200), "y": rng.normal(size=200)})
    frame["rooms"], frame["nr"] = rng.integers(0, 40, 200), rng.permutation(200)
    found = {c.name: (c.used, c.identifier) for c in specify(frame, np.arange(200), "y").columns}
    assert found["customer_id"] == (False, "repeats")
    assert found["nr"] == (False, "unique")
    assert found["rooms"] == (True, "")


def test_fill_values_are_learned_from_training_rows_alone():
    frame = pd.DataFrame({"y": range(6), "x": [1.0, 2.5, 3.0, 100, 200, None]})
    (column,) = specify(frame, np.arange(3), "y").used
    assert column.fill == 2.5 and column.high == 3
    X, notes, flags = Columns([column]).encode(frame)
    assert flags == ["", "", "", *["x: above the training range"] * 2, "x: filled"]
    assert X["x"].tolist() == [1, 2.5, 3, 100, 200, 2.5]
    assert any("2 row(s)" in note and "outside" in note for note in notes)


def test_encoding_gives_the_numbers_one_would_write_down(messy, columns):
    X, *_ = columns.encode(messy)
    assert not X.isna().to_numpy().any()
    assert list(X.columns) == columns.names
    assert (X["Farbe = rot"] == (messy["Farbe"] == "rot")).all()
    assert (X["Garten"] == (messy["Garten"] == "ja")).all()
    assert X["verkauft am (month)"].iloc[13] == 2
    days = (pd.Timestamp("2023-01-01") - pd.Timestamp(0)).days
    assert X["verkauft am (days since 1970)"].iloc[0] == days
    assert (X["Zimmer is missing"] == messy["Zimmer"].isna()).all()
    assert columns.places()["Farbe"].tolist() == [1, 2, 3]


def test_the_specification_survives_json(messy, columns):
    again = Columns.from_json(json.loads(json.dumps(columns.to_json())))
    pd.testing.assert_frame_equal(again.encode(messy)[0], columns.encode(messy)[0])
    assert again.columns == columns.columns


def test_unseen_categories_and_missing_columns_are_noted(messy, columns):
    new = messy.drop(columns="Größe").assign(Farbe="rosa", Zimmer="viele")
    X, notes, flags = columns.encode(new)
    assert all("Farbe: 'rosa' unknown" in flag and "Zimmer: filled" in flag for flag in flags)
    assert not X.isna().to_numpy().any()
    assert (X[[f"Farbe = {c}" for c in ("rot", "blau")]] == 0).to_numpy().all()
    for words in ("'Größe' is missing", "'rosa'", "'viele'"):
        assert any(words in note for note in notes)
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
def test_columns_of_odd_types_become_the_same_numbers_in_a_frame_and_in_a_file(name):
    values, kind = ODD[name]
    frame = pd.DataFrame({"y": np.arange(60.0), "odd": values})
    columns = specify(frame, np.arange(40), "y")
    (column,) = columns.used
    assert column.kind == kind
    X, *_ = columns.encode(frame)
    assert np.isfinite(X.to_numpy()).all()
    again, *_ = columns.encode(read_csv(frame.to_csv(index=False).encode())[0])
    np.testing.assert_array_equal(again.to_numpy(), X.to_numpy())


def test_numbers_out_of_all_bounds_are_dropped():
    frame = pd.DataFrame({"y": range(9), "a": np.arange(9) * 1e200, "b": np.arange(9) * 1e-200})
    assert not specify(frame, np.arange(9), "y").used


def test_of_two_categories_the_second_one_is_known():
    frame = pd.DataFrame({"y": range(20), "c": ["m", "f"] * 10})
    columns = specify(frame, np.arange(20), "y")
    assert columns.encode(frame)[1] == []
    assert "'x'" in columns.encode(frame.assign(c="x"))[1][0]


def test_the_time_gives_only_parts_that_come_back_in_later_rows():
    days = pd.date_range("2024-01-01", periods=100)
    frame = pd.DataFrame({"y": np.arange(100), "t": days})
    (column,) = specify(frame, np.arange(60), "y", time="t").used
    assert column.parts == ["weekday"]


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "magic"},
        {"kind": "text"},
        {"kind": "category"},
        {"parts": ["year"]},
        {"fill": float("nan")},
        {"date_format": "%x"},
        {"used": 1},
        {"categories": [1]},
        {"identifier": "maybe"},
    ],
)
def test_an_invalid_specification_is_refused(change):
    (sound,) = Columns([Column("a", "number", True, "used")]).to_json()
    assert Columns.from_json([sound]).names == ["a"]
    with pytest.raises(ValueError, match="'a'"):
        Columns.from_json([sound | change])
    with pytest.raises(ValueError, match="entries"):
        Columns.from_json([{"name": "a"}])
