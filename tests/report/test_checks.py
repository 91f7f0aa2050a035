"""Tables as others write them are read as meant, or stopped, or an alert says what is not."""

from __future__ import annotations

import html

import numpy as np
import pandas as pd
import pytest
from messy_tables import foreign_tables

from gt2lite.practice.columns import Columns, TableError, specify
from gt2lite.practice.report import load, report
from gt2lite.practice.report.analysis import Request, prepare
from gt2lite.practice.report.checks import find_doubts
from gt2lite.practice.report.reading import read, read_csv

TABLES = foreign_tables()
READ = {
    name: case for kind in ("numbers", "dates") for name, case in TABLES[kind].items()
}  # name: (file, values)
ALERTS = {
    "both marks, decided": "decimal commas",
    "both marks": "numbers with text",
    "unit at times": "75 number(s) without unit, such as",
    "percent at times": "numbers with text, such as '0.58' and '86%'",
    "two currencies": "numbers with text, such as '€",
    "two units": "numbers with text",
    "accountant": "numbers with text",
    "lakhs": "numbers with text",
    "negative dollars": "numbers with text",
    "below a limit": "numbers with text",
    "three zones": "several time zones (+02:00, -07:00, +09:00)",
    "weeks": "dates or times that could not be read",
    "two formats": "dates or times that could not be read",
    "times of day": "dates or times that could not be read",
    "days and months": "dates or times that could not be read",
    "m/yy": "dates or times that could not be read",
    "Mar-23": "dates or times that could not be read",
    "2023M03": "dates or times that could not be read",
    "French": "dates or times that could not be read",
    "hours and minutes": "dates or times that could not be read",
    "23-03-13": "could be the other way round: '23-02-09' was read as 2023-02-09",
    "dollars of two countries": "numbers with text",
}
TREATMENTS = {
    "pounds": "numbers with text: 'lbs'",
    "percent": "numbers with text: '%'",
    "one zone": "Hours as written, in +02:00",
    "UTC": "Hours as written, in Z",
    "yyyymmdd": "written as YYYYMMDD",
    "mm.yyyy": "written as MM.YYYY",
}


def look_at(content):
    """Return the specification of a file, its inputs, and alerts."""
    table = read_csv(content)
    columns = specify(table.frame, np.arange(100), "y")
    alerts = [*table.alerts, *find_doubts(table.frame, columns)]
    return columns, columns.encode(table.frame).inputs, alerts


@pytest.mark.parametrize("name", READ)
def test_a_foreign_column_is_read_or_there_is_an_alert(name):
    content, values = READ[name]
    columns, inputs, alerts = look_at(content)
    column = next(column for column in columns.columns if column.name == "v")
    assert len(alerts) == (name in ALERTS)
    assert all("'v'" in alert and ALERTS[name] in alert for alert in alerts)
    assert TREATMENTS.get(name, "") in column.treatment
    assert "identifier" not in column.treatment
    if values is None:
        assert column.kind in ("category", "text")
    elif isinstance(values, pd.DatetimeIndex):
        days = (values - pd.Timestamp(0)) / pd.Timedelta(days=1)
        np.testing.assert_allclose(inputs["v (days since 1970)"], days, rtol=1e-15)
    else:
        np.testing.assert_array_equal(inputs["v"], values)


@pytest.mark.parametrize("name", [name for name in READ if READ[name][1] is not None])
def test_a_few_new_rows_are_read_as_in_training(name):
    content, _ = READ[name]
    columns, inputs, _ = look_at(content)
    lines = content.decode().split("\n")
    ranges = {column.name: (column.low, column.high) for column in columns.used}
    columns = Columns.from_json(columns.to_json())
    for i in (0, 40, 100):
        frame = read_csv("\n".join([lines[0], *lines[1 + i : 3 + i]]).encode(), ranges=ranges).frame
        new = columns.encode(frame)
        np.testing.assert_array_equal(new.inputs, inputs.iloc[i : i + 2])


@pytest.mark.parametrize("name", TABLES["targets"])
def test_a_target_that_is_partly_unreadable_stops_the_run_with_three_cells(name, tmp_path):
    content, cell = TABLES["targets"][name]
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(TableError, match=r"\d+ of 150 values of column 'y' do not read") as error:
        prepare(read(tmp_path / "t.csv").frame, Request("y"))
    assert cell in str(error.value) and "empty the cells" in str(error.value)


@pytest.mark.parametrize("pattern", ["2023{:02d}01", "0{:04d}", "name {}", "2023-{:02d}-01"])
def test_a_target_of_dates_or_codes_is_refused(pattern):
    lines = [f"{i},{pattern.format(i % 12 + 1)}" for i in range(90)]
    frame = read_csv("\n".join(["x,y", *lines]).encode()).frame
    with pytest.raises(TableError, match="only numbers can be predicted"):
        prepare(frame, Request("y"))


def test_a_target_with_a_unit_is_read():
    frame = read_csv(b"x,y\n" + b"".join(b"%d,%d.5 USD\n" % (i % 7, i) for i in range(90))).frame
    np.testing.assert_array_equal(prepare(frame, Request("y")).y, np.arange(90) + 0.5)


@pytest.mark.parametrize("name", TABLES["sums"])
def test_a_row_of_sums_is_an_alert(name):
    *_, alerts = look_at(TABLES["sums"][name])
    assert len(alerts) == 1 and "sums or means of other rows (150)" in alerts[0]


def test_plain_tables_have_no_alerts():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"y": rng.poisson(0.1, 200), "signed": rng.integers(-3, 4, 200)})
    frame["age"] = [f"{a}-{a + 4}" for a in 5 * rng.integers(0, 18, 200)]
    frame["class"] = rng.choice(["1st", "2nd", "3rd"], 200)
    frame["street"] = [f"{i % 60} {'ABCDEFGH'[i % 8] * 4} Street" for i in range(200)]
    frame["ip"] = [f"192.168.{i % 9}.{i}" for i in range(200)]
    frame["name"] = rng.choice(["Total Energies", "May", "Dec", "March"], 200)
    assert find_doubts(frame, specify(frame, np.arange(200), "y")) == []


def test_a_report_shows_alerts_and_its_model_reads_new_files_alike(tmp_path):
    lines = TABLES["numbers"]["both marks, decided"][0].decode().split()
    lines[1:] = [f"{line} USD" for line in lines[1:]]
    path, few, euros = (tmp_path / name for name in ("t.csv", "few.csv", "euros.csv"))
    path.write_text("\n".join(lines))
    few.write_text("\n".join(lines[:6]))
    euros.write_text(few.read_text().replace("USD", "EUR"))
    made = report(path, "y", (0.8,), out=tmp_path / "out", epochs=1, quick=True, progress=False)
    (alert,) = (alert for alert in made.findings.alerts if "decimal commas" in alert)
    assert alert in html.unescape(made.page.read_text(encoding="utf-8"))
    model = load(made.saved)
    expected = model.predict(path).iloc[:5]
    pd.testing.assert_frame_equal(model.predict(few), expected)
    assert any("has 5 targets" in note for note in model.notes)
    model.predict(euros)
    assert "column 'y' is not read: it holds no numbers" in model.notes


@pytest.mark.parametrize("cell", ["17.5*", "1 and 2", "~20", "12/13", "<5"])
def test_numbers_that_are_not_read_are_an_alert_even_if_they_are_few(cell):
    lines = [f"{i % 7},{cell if i % 40 == 0 else 7 * i % 50}" for i in range(150)]
    *_, (alert,) = look_at("\n".join(["y,v", *lines]).encode())
    assert f"4 number(s) of another unit or spelling, such as {cell!r}, which count" in alert


def test_the_hour_of_a_zone_is_the_one_that_is_written():
    times = pd.date_range("2024-04-09 00:30", periods=60, freq="7h", tz="Europe/Berlin")
    frame = pd.DataFrame({"y": range(60), "v": times})
    (column,) = (columns := specify(frame, np.arange(60), "y")).used
    assert "Hours as written, in Europe/Berlin" in column.treatment
    inputs = columns.encode(frame).inputs
    assert inputs["v (hour)"].tolist() == times.hour.tolist() and inputs["v (hour)"].iloc[0] == 0
    assert inputs["v (weekday)"].iloc[0] == 1


def cells(rng, how):
    values = rng.normal(50, 9, 200).round(1)
    words = {
        "plain": values,
        "code": np.where(np.arange(200) % 20 == 0, -999, values),
        "one outlier": np.where(np.arange(200) == 7, -999, values),
        "heavy tail": np.exp(values / 9).round(1),
        "seconds": 1_600_000_000 + 3600 * np.arange(200),
        "milliseconds": 1000 * (1_600_000_000 + 60 * np.arange(200)),
        "telephone": rng.integers(1_500_000_000, 1_900_000_000, 200),
        "variants": np.resize(["Red", "blue", "RED", "green "], 200),
        "categories": np.resize(["red", "blue", "dark red"], 200),
        "spreadsheet": np.where(np.arange(200) % 20 == 0, "#DIV/0!", values.astype(str)),
    }
    return pd.DataFrame({"v": words[how], "x": values[::-1], "y": np.arange(200) / 8})


@pytest.mark.parametrize(
    ("how", "words"),
    {
        "plain": "",
        "code": "has 10 cell(s) of -999, far from all other numbers",
        "one outlier": "",
        "heavy tail": "",
        "seconds": "may hold times in seconds since 1970, from 2020-09-13 on",
        "milliseconds": "may hold times in milliseconds since 1970, from 2020-09-13 on",
        "telephone": "",
        "variants": "differ in case or spaces only, such as 'Red' and 'RED'",
        "categories": "",
        "spreadsheet": "",
    }.items(),
)
def test_codes_epochs_and_variants_of_a_category_raise_an_alert(how, words):
    file = cells(np.random.default_rng(0), how).to_csv(index=False).encode()
    _, inputs, alerts = look_at(file)
    assert len(alerts) == bool(words)
    assert all("'v'" in alert and words in alert for alert in alerts)
    if how == "spreadsheet":
        assert inputs["v is missing"].sum() == 10
