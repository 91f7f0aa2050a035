"""Each column has a treatment, and the specification in a file repeats it."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from messy_tables import messy_csv

from gt2lite.practice.columns import Column, Columns, TableError, as_numbers, find_kind, specify
from gt2lite.practice.report.reading import read_csv

TREATMENTS = {
    "Nr": ("number", "dropped: an identifier"),
    "Größe": ("number", "number, used as it is"),
    "Farbe": ("category", "category: 3 column(s)"),
    "Garten": ("yes/no", "yes is 1"),
    "verkauft am": ("date", "date (written as DD.MM.YYYY): day, month, weekday"),
    "Notiz": ("text", "dropped: an identifier"),
    "Land": ("category", "dropped: the same value"),
    "Zimmer": ("number", "number, used as it is; missing values become"),
    "fast leer": ("category", "dropped: 88%"),
    "Preis": ("number", "the target"),
}


@pytest.fixture(scope="module")
def messy():
    return read_csv(messy_csv()).frame


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
        (["12.5", "12", "None"], "number"),
        (["1,5", "2,5"], "category"),
        (["01067", "10115"], "category"),
        (pd.Categorical([1, 2, 1]), "category"),
        (["€ 12", "€ 13", "14"], "number"),
        (["12 kg", "13.5 kg", "9e2 kg"], "number"),
        (["€ 12", "13 %"], "category"),
        (["50%", "0.5"], "category"),
        ([20230101, 20230405, 20231231], "date"),
        ([20230101, 20230405, 20231331], "number"),
        (["yes", "No", None], "yes/no"),
        ([True, False], "yes/no"),
        (["2024-01-02 03:04", "2024-05-06 07:08"], "date"),
        (["a", "b", "a"], "category"),
        ([f"text {i}" for i in range(90)], "text"),
        ([None, None], "number"),
    ],
)
def test_kinds_are_found(values, kind):
    values = values if isinstance(values, pd.Categorical) else pd.Series(values, dtype=object)
    assert find_kind(pd.Series(values))[0] == kind


RNG = np.random.default_rng(0)
N = 400
NUMBERS_ROWS = {  # identifiers, whatever they are called
    "shuffled row names": RNG.permutation(N),
    "numbers of a sample": RNG.choice(10_000, N, replace=False),
    "with gaps, from 5000": 5000 + RNG.permutation(np.delete(np.arange(500), np.s_[::5])),
    "in steps of ten": 10 * RNG.permutation(N),
    "two rows twice": np.append(RNG.permutation(N - 2), [7, 8]),
    "customer_id": RNG.integers(0, 40, N),
    "houseId": RNG.integers(10**8, 10**9, N),
    "account number": RNG.integers(10**8, 10**9, N),
    "a code": [f"A-{i:04d}" for i in RNG.permutation(N)],
    "part": [f"{i:06d}" for i in RNG.permutation(N)],
}
MEASURED = {  # not identifiers, even if nearly every value differs
    "population": RNG.lognormal(9, 1.5, N).round(),
    "price": RNG.lognormal(12, 0.5, N).round(-2),
    "income": RNG.normal(50_000, 9_000, N).round(),
    "easting (m)": RNG.integers(400_000, 500_000, N),
    "evenly spread": RNG.integers(0, 10_000, N),
    "year built": RNG.integers(1900, 2020, N),
    "number of employees": RNG.lognormal(5, 2, N).round(),
    "body mass index": RNG.normal(27, 5, N).round(),
    "Heat Index": RNG.normal(90, 8, N).round(),
    "house number": RNG.integers(1, 90, N),
    "rooms": RNG.integers(0, 40, N),
    "minutes": RNG.exponential(3000, N).round(),
    "Year": 1600 + np.arange(N),
    "time": 10 * RNG.permutation(N),
    "month": [f"{i:02d}" for i in RNG.integers(1, 13, N)],
}


def test_numbers_of_rows_are_left_out_and_measured_numbers_are_not():
    frame = pd.DataFrame({"y": np.arange(N), **NUMBERS_ROWS, **MEASURED})
    for column in specify(frame, np.arange(N), "y").columns[1:]:
        assert column.used == (column.name in MEASURED), (column.name, column.treatment)
        assert bool(column.identifier) == (column.name in NUMBERS_ROWS)


def test_keep_and_drop_overrule_what_is_left_out():
    frame = pd.DataFrame(
        {"y": np.arange(60.0), "nr": RNG.permutation(60), "x": RNG.normal(size=60)}
    )
    found = specify(frame, np.arange(60), "y", keep=["nr"], drop=["x"])
    assert [column.name for column in found.used] == ["nr"]
    for wrong in ({"keep": ["z"]}, {"drop": ["y"]}, {"keep": ["x"], "drop": ["x"]}):
        with pytest.raises(TableError, match="column"):
            specify(frame, np.arange(60), "y", **wrong)


@pytest.mark.parametrize("values", [["m", "f"], ["ja", "nein"], ["a", "b", "c"], [True, False]])
@pytest.mark.parametrize("unknown", [None, "x"])
def test_an_unknown_value_looks_like_no_known_one(values, unknown):
    frame = pd.DataFrame({"y": range(60), "c": [values[i % 7 % len(values)] for i in range(60)]})
    columns = specify(frame, np.arange(60), "y")
    X, notes, _ = columns.encode(frame)
    assert notes == []
    new = columns.encode(pd.DataFrame({"c": [unknown, values[0]]}, dtype=object))
    np.testing.assert_allclose(new.inputs.iloc[0], X.mean())
    assert new.flags[0].startswith("c: ") and new.flags[1] == "" and new.notes


def test_a_value_never_seen_is_a_rare_one_if_training_rows_had_such():
    frame = pd.DataFrame({"y": range(60), "c": ["1"] * 30 + ["b"] * 28 + ["d", "e"]})
    columns = specify(frame, np.arange(60), "y")
    X = columns.encode(pd.DataFrame({"c": ["d", "z", None, 1.0]})).inputs.to_numpy()
    assert X.shape == (4, 2) and (X[:2] == 0).all() and (X[2] > 0.4).all()
    assert X[3].tolist() == [1, 0]  # digits with gaps are the category they were


@pytest.mark.parametrize(
    ("dates", "new", "day", "words"),
    [
        (["31/12/2023", "01/02/2024"], "02/01/2024", "2024-01-02", "DD/MM/YYYY"),
        (["12/31/2023", "01/02/2024"], "02/01/2024", "2024-02-01", "MM/DD/YYYY"),
        (["01/01/2015", "02/01/2015", "12/01/2014"], "02/01/2015", "2015-02-01", "other way round"),
        (["03/04/2024", "05/06/2023"], "02/01/2015", "2015-01-02", "other way round"),
        (["03.01.2023", "04.01.2023"], "02.01.2015", "2015-01-02", "DD.MM.YYYY"),
        (["03.01.23", "24.12.99"], "02.01.15", "2015-01-02", r"DD.MM.YY): day"),
        (["1/15/23", "12/31/99"], "2/1/15", "2015-02-01", "1969 to 2068"),
        (["03.01.2023", "24.12.1999"], "02.01.15", None, "DD.MM.YYYY"),
        (pd.to_datetime(["2023-01-03", "2023-02-01"]), "03.01.2023", None, "date:"),
        (pd.to_datetime(["2023-01-03", "2023-02-01"]), "2023-01-03", "2023-01-03", "date:"),
    ],
)
def test_new_dates_are_read_by_the_format_of_training(dates, new, day, words):
    frame = pd.DataFrame({"y": range(60), "t": list(dates) * (60 // len(dates))})
    columns = specify(frame, np.arange(60), "y")
    assert words in columns.columns[1].treatment
    X, _, flags = columns.encode(pd.DataFrame({"t": [new]}))
    if day is None:
        assert flags == [f"t: {new!r} unreadable, filled"]
    else:
        assert X.iloc[0, 0] == (pd.Timestamp(day) - pd.Timestamp(0)).days


def test_names_are_matched_and_a_file_without_most_columns_is_refused():
    frame = pd.DataFrame(RNG.normal(size=(60, 4)), columns=["y", "size", "body mass", "age"])
    columns = specify(frame, np.arange(60), "y")
    X, notes, _ = columns.encode(frame.rename(columns={"size": " Size", "body mass": "Body  Mass"}))
    np.testing.assert_array_equal(X, frame[["size", "body mass", "age"]])
    assert len(notes) == 2 and "'size'" in notes[0]
    with pytest.raises(TableError, match=r"2 of the 3 columns.*'body mass', 'age'"):
        columns.encode(frame[["y", "size"]])


def test_fill_values_are_learned_from_training_rows_alone():
    frame = pd.DataFrame({"y": range(6), "x": [1.0, 2.5, 3.0, 100, 200, None]})
    (column,) = specify(frame, np.arange(3), "y").used
    assert column.fill == [2.5] and column.high == 3
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
    again = Columns.from_json(json.loads(json.dumps(columns.to_json())))
    assert again.columns == columns.columns


def test_unseen_categories_and_missing_columns_are_noted(messy, columns):
    new = messy.drop(columns="Größe").assign(Farbe="rosa", Zimmer="viele")
    X, notes, flags = columns.encode(new)
    assert all("Farbe: 'rosa' unknown" in flag and "'viele' unreadable" in flag for flag in flags)
    assert not X.isna().to_numpy().any()
    for words in ("'Größe' is missing", "'rosa'", "'viele'"):
        assert any(words in note for note in notes)
    with pytest.raises(TableError, match="lacks 5 of the 5"):
        columns.encode(pd.DataFrame({"other": [1]}))


ODD = {
    "Int64": (pd.array([None, *(i * i for i in range(59))], dtype="Int64"), "number"),
    "boolean": (pd.array([None, *[True, False, True] * 20][:60], dtype="boolean"), "yes/no"),
    "categorical": (pd.Categorical(["a", "b", "c"] * 20), "category"),
    "string": (pd.array(["a", "b", None] * 20, dtype="string"), "category"),
    "time zones": (pd.date_range("2024-03-01", periods=60, tz="Europe/Berlin"), "date"),
    "long ago": (["1500-01-01", "1600-02-02"] * 30, "date"),
    "months": (pd.period_range("2020-01", periods=60, freq="M"), "date"),
    "infinite": ([np.inf, *(i / 2 for i in range(59))], "number"),
    "lists": ([[0], [1], [2]] * 20, "category"),
    "text and numbers": (["a", 1, 2.5] * 20, "category"),
}


@pytest.mark.parametrize("name", ODD)
def test_columns_of_odd_types_become_the_same_numbers_in_a_frame_and_in_a_file(name):
    if name == "long ago" and pd.__version__ < "3":
        pytest.skip("pandas 2 reads no dates before 1678")
    values, kind = ODD[name]
    frame = pd.DataFrame({"y": np.arange(60.0), "odd": values})
    columns = specify(frame, np.arange(40), "y")
    (column,) = columns.used
    assert column.kind == kind
    X, *_ = columns.encode(frame)
    assert np.isfinite(X.to_numpy()).all()
    again, *_ = columns.encode(read_csv(frame.to_csv(index=False).encode()).frame)
    np.testing.assert_array_equal(again.to_numpy(), X.to_numpy())


def test_text_is_not_guessed_to_be_a_number():
    found = as_numbers(pd.Series(["1.5", "1,5", "1,234", "1_0", "٣", "€ 2"]))
    np.testing.assert_array_equal(found, [1.5, *[np.nan] * 5])
    found = as_numbers(pd.Series(["€ 2", "2€", "2", "$2", "2 € net"]), "€")
    np.testing.assert_array_equal(found, [2, 2, 2, np.nan, np.nan])
    assert as_numbers(pd.Series(["5 %", "0.05"]), "%").tolist()[0] == 5
    assert as_numbers(pd.Series(["5 %", "0.05"]), "%").isna().tolist() == [False, True]


def test_the_time_gives_only_parts_that_come_back_in_later_rows():
    days = pd.date_range("2024-01-01", periods=100)
    frame = pd.DataFrame({"y": np.arange(100), "t": days})
    (column,) = specify(frame, np.arange(60), "y", time="t").used
    assert column.parts == ["weekday"]
    numbered = specify(frame.assign(t=np.arange(100.0)), np.arange(60), "y", time="t")
    assert not numbered.used


def test_an_invalid_specification_is_refused():
    (sound,) = Columns([Column("a", "number", True, "used", fill=[0.0])]).to_json()
    assert Columns.from_json([sound]).names == ["a"]
    older = {name: value for name, value in sound.items() if name != "unit"}
    assert Columns.from_json([older]).columns == Columns.from_json([sound]).columns
    changes = {"parts": ["year"], "date_format": "%x", "used": 1, "categories": [1]}
    wrong = [
        *changes.items(),
        ("identifier", "maybe"),
        ("fill", [np.nan]),
        ("fill", [1.0, 2.0]),
        ("unit", 5),
    ]
    for name, value in [*wrong, ("kind", "magic"), ("kind", "text"), ("kind", "category")]:
        with pytest.raises(ValueError, match=rf"column 'a'|content\[(0|\.\.\.)\]\.{name}"):
            Columns.from_json([sound | {name: value}])
    with pytest.raises(ValueError, match="lacks the entry"):
        Columns.from_json([{"name": "a"}])


def test_dates_and_numbers_that_rise_with_them_run_on_without_flags():
    days = pd.date_range("2021-01-01", periods=400)
    frame = pd.DataFrame({"day": days, "month": days.month, "z": np.arange(400) % 7})
    frame["period"] = (days.year - 2021) * 12 + days.month
    columns = specify(frame, np.arange(300), time="day")
    later = frame.assign(day=days + pd.Timedelta(days=400), period=frame["period"] + 13)
    later.loc[5, "z"] = 99
    found = columns.encode(later.assign(month=1))
    assert [flag for flag in found.flags if flag] == ["z: above the training range"]
    assert "column 'period': beyond 10, where training ends, in 400 row(s)" in found.notes
    assert "column 'day': beyond 2021-10-27, where training ends, in 400 row(s)" in found.notes
    early = columns.encode(frame.assign(period=-5))
    assert early.flags[0] == "period: below the training range"
    shuffled = columns.encode(frame).flags  # a month of the year falls back: it does not run on
    assert shuffled[-1] == "" and shuffled[320] == "month: above the training range"
    again = Columns.from_json(columns.to_json())
    assert [c.rises for c in again.columns] == [False, False, False, True]
    old = [{k: v for k, v in c.items() if k != "rises"} for c in columns.to_json()]
    assert not any(c.rises for c in Columns.from_json(old).columns)
