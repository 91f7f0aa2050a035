"""From a file to a page, predictions and a model, and on to new files."""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import importlib
import io
import os
import re
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from messy_tables import easy, messy_csv
from scipy import stats

import gt2lite
from gt2lite import GT2Regressor
from gt2lite.__main__ import main
from gt2lite.practice.columns import specify
from gt2lite.practice.model_file import FileFormatError
from gt2lite.practice.report import Report, TableModel, analysis, load, read, report
from gt2lite.practice.report import page as page_module
from gt2lite.practice.report.analysis import Request, split_rows
from gt2lite.practice.report.model import frame_to_csv, put_before

ROOT = Path(__file__).resolve().parents[2]


# ------------------------------------------------------------------ sets of rows


def split(frame, groups=None, time=None, level=0.9, seed=0):
    return split_rows(frame, Request("y", (level,), groups, time, seed))[0]


@pytest.mark.parametrize("role", [{}, {"groups": "person_id"}, {"time": "day"}])
def test_sets_are_disjoint_and_complete_and_keep_groups_together_and_time_in_order(role):
    frame = easy().sample(frac=1, random_state=0)
    found = split(frame, **role)
    assert sorted(np.concatenate(list(found.values()))) == list(range(120))
    assert [len(rows) for rows in found.values()] == [72, 24, 24]
    train, calibration, test = (frame.iloc[rows] for rows in found.values())
    if "groups" in role:
        people = [set(part["person_id"]) for part in (train, calibration, test)]
        assert sum(map(len, people)) == len(set.union(*people))
    if "time" in role:
        assert train["day"].max() < calibration["day"].min()
        assert calibration["day"].max() < test["day"].min()
    else:
        assert set(split(frame, **role, seed=1)["test"]) != set(found["test"])


def test_large_tables_are_sampled_and_high_levels_get_their_rows():
    full = split(pd.DataFrame({"y": np.arange(60_000)}))
    drawn, _ = analysis.draw_rows(full, Request("y"))
    assert [len(rows) for rows in drawn.values()] == [5000, 5000, 12_000]
    assert all(np.isin(drawn[name], full[name]).all() for name in full)
    assert len(split(easy(70), level=0.95)["calibration"]) >= 19


@pytest.mark.parametrize(
    ("frame", "levels", "groups", "time", "match"),
    [
        (easy(40), (0.9,), None, None, "40 rows"),
        (easy(100), (0.8, 0.99), None, None, "99% needs 99"),
        (easy().assign(g="a"), (0.9,), "g", None, "groups"),
        (easy().assign(t="a"), (0.9,), None, "t", "time"),
        (easy().assign(t=[None, *range(119)]), (0.9,), None, "t", "time.*1 missing"),
        # the largest group leaves fewer calibration rows than 98% needs
        (easy(100).assign(g=["a"] * 60 + [*"bcdefghi"] * 5), (0.8, 0.98), "g", None, "levels"),
    ],
)
def test_what_cannot_be_split_is_refused(frame, levels, groups, time, match):
    with pytest.raises(ValueError, match=match):
        split_rows(frame, Request("y", levels, groups, time))


# ------------------------------------------------------------------ measures


@pytest.mark.parametrize(("level", "n_cal", "n_test"), [(0.9, 99, 50), (0.8, 37, 99), (0.1, 9, 7)])
def test_the_range_of_sampling_variation_holds_95_percent(level, n_cal, n_test):
    low, high = analysis.sampling_range(level, n_cal, n_test)
    k = int(np.ceil(round((n_cal + 1) * level, 9)))
    law = stats.betabinom(n_test, k, n_cal + 1 - k)
    assert law.cdf(round(low * n_test) - 1) < 0.025 <= law.cdf(round(low * n_test))
    assert law.cdf(round(high * n_test) - 1) < 0.975 <= law.cdf(round(high * n_test))


def test_coverage_and_accuracy_by_hand():
    y, y_hat = np.array([0.0, 2]), np.array([1.0, 1])
    found = analysis.measure_accuracy("mean", y, y_hat, y_hat[:, None], y_hat[:, None] + 1, [0.5])
    assert (found.rmse, found.mae, found.r2) == (1, 1, 0)
    assert (found.widths, found.coverages, found.scores) == ([1], [0.5], [1 + 4 * 1 / 2])
    y = np.arange(10.0)
    row = analysis.measure_coverage(y, np.zeros(10), np.full(10, 7.0), 0.8, 99)
    assert (row.n_covered, row.share, row.width, row.median_width) == (8, 0.8, 7, 7)
    assert row.verdict == "within sampling variation"
    assert analysis.measure_coverage(y, np.zeros(10), np.ones(10), 0.8, 99).verdict == "too low"


def test_importance_finds_the_column_that_matters():
    frame = easy()
    columns = specify(frame[["x", "z", "y"]], np.arange(120), "y")
    X, y = columns.encode(frame).inputs, frame["y"].to_numpy()
    found = analysis.measure_importance(lambda rows: 3 * rows["x"], X, y, columns, 0)
    assert [name for name, _ in found] == ["x", "z"]
    assert found[0][1] > 50 and found[1][1] == 0


def test_regions_are_thirds_of_numbers_and_values_of_text():
    by = {"p": np.arange(9.0), "g": np.array(["a"] * 6 + ["b"] * 3)}
    y, upper = np.arange(9.0), np.array([0.0, 1, 2, 3, 4, 5, 5, 5, 5])
    found = analysis.measure_regions(by, y, np.zeros(9), upper, 0.9, 99)
    assert [(name, r.n_rows, r.share) for name, _, r in found] == [
        ("p", 3, 1), ("p", 3, 1), ("p", 3, 0), ("g", 6, 1), ("g", 3, 0),
    ]  # fmt: skip
    assert found[-1][2].width == 5


def test_ranges_count_groups_where_rows_of_a_group_are_alike():
    """Intervals miss whole groups: their coverage varies as that of one row for each group."""
    y, groups = np.zeros(200), np.repeat(np.arange(20), 10)
    lower = np.where(groups < 5, 1.0, -1.0)  # 75% are covered
    by_row = analysis.measure_coverage(y, lower, lower + 2, 0.9, 200)
    by_group = analysis.measure_coverage(y, lower, lower + 2, 0.9, 20, groups)
    assert by_row.share == by_group.share == 0.75 and by_group.n_rows == 200
    assert (by_row.verdict, by_group.verdict) == ("too low", "within sampling variation")
    assert (by_group.low, by_group.high) == analysis.sampling_range(0.9, 20, 20)
    by = {"g": np.array(["a"] * 100 + ["b"] * 100)}
    regions = analysis.measure_regions(by, y, lower, lower + 2, 0.9, 20, groups)
    assert [r.low for _, _, r in regions] == [analysis.sampling_range(0.9, 20, 10)[0]] * 2


# ------------------------------------------------------------------ a report on a messy file


def run(folder, *words):
    """Run a command in a folder; return its exit status and what it printed."""
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.chdir(folder),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        return main([*map(str, words)]), out.getvalue(), err.getvalue()


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The folder of a report on a messy table, and what the command printed."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "häuser.csv").write_bytes(messy_csv())
    options = ["--levels", 0.8, 0.9, "--epochs", 3, "--quick", "--out", "out"]
    status, out, err = run(folder, "report", "häuser.csv", "--target", "Preis", *options)
    assert status == 0, err
    return folder, out


def test_one_command_makes_a_page_predictions_and_a_model(made):
    folder, printed = made
    names = {path.name for path in (folder / "out").iterdir()}
    assert names == {"report.html", "predictions.csv", "model.json"}
    assert "90%" in printed and os.path.join("out", "model.json") in printed
    frame = pd.read_csv(folder / "out" / "predictions.csv")
    names = ["row", "Preis", "prediction", "lower_80", "upper_80", "lower_90", "upper_90", "flags"]
    assert list(frame.columns) == names
    assert len(frame) == 24 and frame["row"].is_unique
    assert (frame["lower_90"] <= frame["lower_80"]).all()
    assert (frame["upper_80"] <= frame["upper_90"]).all()


def test_the_page_is_complete_and_loads_nothing(made):
    page = (made[0] / "out" / "report.html").read_text(encoding="utf-8")
    assert not re.search(r"https?:|<link|url\(|@import|<script[^>]* src", page)
    assert set(re.findall(r'src="([^"]{0,22})', page)) == {"data:image/png;base64,"}
    sections = re.findall(r'<h2 id="s(\d+)">', page)
    contents = page[page.index("<nav>") : page.index("</nav>")]
    assert len(sections) > 9 and sections == re.findall(r'href="#s(\d+)"', contents)
    assert all(re.findall(r'<img src="[^"]*" alt="([^"]*)"', page))
    assert "{{" not in page and "None" not in page
    for words in ("decimal comma", "88% of its", "--time &#39;verkauft am", "</em> Preis = "):
        assert words in page


@pytest.mark.browser
def test_the_panel_predicts_what_the_model_does_and_asks_nothing(made, chromium):
    model = load(made[0] / "out" / "model.json")
    row = {"Größe": 120.0, "Farbe": "blau", "Garten": "no", "Zimmer": 4.0, "verkauft am": None}
    with chromium.new_page(viewport={"width": 390, "height": 800}, color_scheme="dark") as tab:
        asked = []
        tab.on("request", lambda request: asked.append(request.url.partition(":")[0]))
        tab.on("pageerror", lambda error: asked.append(str(error)))
        tab.goto((made[0] / "out" / "report.html").as_uri())
        for name, value in row.items():
            control = tab.get_by_label(name, exact=True)
            if name == "verkauft am":
                row[name] = pd.Timestamp(0) + pd.Timedelta(days=int(control.input_value()))
            elif isinstance(value, str):
                control.select_option(label=value)
            else:
                control.fill(str(value))
        tab.get_by_label("Level", exact=True).fill("80")
        said = tab.locator(".gt2-say").inner_text()
        shares = re.findall(r"Rule (\d+): (\d+)%", tab.locator(".gt2-rules").inner_text())
        tab.get_by_label("Größe", exact=True).focus()
        for key, side in (("End", "above"), ("Home", "below")):
            tab.keyboard.press(key)
            assert f"Größe is {side} the training" in tab.locator(".gt2-say").inner_text()
        assert tab.evaluate("document.documentElement.scrollWidth") <= 390
    assert set(asked) <= {"file", "data"}
    found = model.predict(pd.DataFrame([row]), [0.8]).iloc[0]
    shown = [float(n.replace(",", "")) for n in re.findall(r"[\d,]*\d\.?\d*(?=;| to|\.)", said)]
    np.testing.assert_allclose(shown[-3:], found.iloc[:3].astype(float), rtol=6e-4)
    assert "80% interval" in said and "training range" not in said
    weights = model.regressor.rule_weights(model.columns.encode(pd.DataFrame([row])).inputs)[0]
    assert len(shares) == 10
    assert all(abs(100 * weights[int(rule) - 1] - int(share)) < 0.51 for rule, share in shares)


def test_a_new_file_is_predicted_and_what_is_unusual_is_noted(made):
    folder, _ = made
    new = messy_csv(6, seed=1, color="rosa").decode("latin-1").splitlines()
    kept = [";".join(line.split(";")[2:9]) for line in new]  # without number, size and target
    (folder / "neu.csv").write_text("\n".join(kept), encoding="utf-8")
    status, out, err = run(folder, "predict", "out/model.json", "neu.csv", "--with-inputs")
    assert status == 0 and "6 rows: neu_predictions.csv" in out
    assert "'Größe' is missing" in err and "'rosa'" in err
    assert "6 of 6 rows (1, 2, 3, 4, 5, ...) have flags" in err
    frame = pd.read_csv(folder / "neu_predictions.csv")
    assert len(frame) == 6 and np.isfinite(frame.filter(regex="prediction|er_").to_numpy()).all()
    assert frame["flags"].str.contains("rosa").all() and (frame["Farbe"] == "rosa").all()


def test_the_model_in_the_file_predicts_the_same_and_is_no_regressor(made, tmp_path):
    folder, _ = made
    stored = pd.read_csv(folder / "out" / "predictions.csv", index_col="row")
    path = folder / "out" / "model.json"
    model = load(path)
    again = model.predict(folder / "häuser.csv")
    # another number of rows in a product of matrices may round otherwise
    np.testing.assert_allclose(
        again.loc[stored.index].drop(columns="flags"),
        stored.drop(columns=["Preis", "flags"]),
        rtol=1e-9,
    )
    model.save(tmp_path / "again.json")
    twice = load(tmp_path / "again.json").predict(folder / "häuser.csv")
    pd.testing.assert_frame_equal(twice, again, check_exact=True)
    assert len(model.predict(read(folder / "häuser.csv").frame[:0])) == 0
    assert list(model.predict(folder / "häuser.csv", [0.1 + 0.2]).columns)[1] == "lower_30"
    with pytest.raises(FileFormatError, match="table model"):
        GT2Regressor.load(path)
    (tmp_path / "cut.json").write_bytes(path.read_bytes()[:-100])
    with pytest.raises(FileFormatError):
        load(tmp_path / "cut.json")


# ------------------------------------------------------------------ reports in Python


QUICK = {"levels": np.array([0.3, 0.8], np.float32), "progress": False, "epochs": 1, "quick": True}
HOSTILE = {"x": "<b onclick='x'>", "z": "$\\broken{$", "y": "=p $ q $"}


def hostile(n=80):
    """A positive target, and names that are HTML, formulas of TeX and of spreadsheets."""
    return easy(n).assign(y=lambda frame: np.exp(frame["y"] / 2)).rename(columns=HOSTILE)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A report on that table."""
    return report(hostile(), HOSTILE["y"], out=tmp_path_factory.mktemp("small"), **QUICK)


@pytest.fixture
def known(small, monkeypatch):
    """Reports without training: every table has the findings of `small`."""
    found, module = small.findings, importlib.import_module("gt2lite.practice.report")
    monkeypatch.setattr(module, "analyse", lambda *_: found)
    monkeypatch.setattr(page_module, "_picture", lambda *_: "")
    return found


def test_names_in_a_table_are_neither_html_nor_formulas(small):
    text = small.page.read_text(encoding="utf-8")
    assert "<b onclick" not in text and "This was a quick look" in text
    assert [row.level for row in small.coverages] == [0.3, 0.8]
    assert small.predictions.read_text(encoding="utf-8").startswith("row,'=p $ q $,prediction,")


def test_the_page_begins_with_a_verdict_in_units_alerts_and_dropped_columns(made, small):
    text = (made[0] / "out" / "report.html").read_text(encoding="utf-8")
    first, rest = text.split("<nav>")
    assert "Read the alert below before you use them" in first
    assert "Predictions of Preis are typically within" in first and "half of the\ntargets" in first
    assert "holds dates" in first and "Nr (an identifier" in first
    assert "interval score" not in first and "interval score" in rest
    assert "Crosses are" in rest and "quares" not in rest
    shown = re.findall(r"<em>(if|then)</em> (.*?)</div>", rest)
    assert len(shown) > 5 and all(len(re.findall(r" [-+] ", text)) <= 4 for _, text in shown)
    assert all(text.count(",") <= 4 for word, text in shown if word == "if")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"verdict": "too low"}, "Not ready for use"),
        ({"rmse": 1e9}, "no better than the mean"),
        ({"alerts": ["one", "two"]}, "Read the alerts below"),
        ({"mark": "changed"}, "rows change with their order"),
        ({}, "keep their promise on the test rows. No alert"),
        ({"share": 0.75}, "as promised, up to sampling variation. No alert"),
    ],
)
def test_the_verdict_says_what_speaks_against_the_model(small, changes, words):
    found = small.findings
    at = found.model.levels.index(found.main)
    coverages, accuracies = list(found.coverages), list(found.accuracies)
    share = changes.get("share", 0.99)
    coverages[at] = coverages[at]._replace(verdict=changes.get("verdict", "within"), share=share)
    accuracies[0] = accuracies[0]._replace(rmse=changes.get("rmse", 0.0))
    order = found.order._replace(mark=changes.get("mark", "no change found"))
    alerts = changes.get("alerts", [])
    made = {"coverages": coverages, "accuracies": accuracies, "order": order, "alerts": alerts}
    assert words in page_module.judge(dataclasses.replace(found, **made))


def test_negative_bounds_are_an_alert_from_one_percent_on():
    y = np.arange(1.0, 1001)
    assert analysis.find_negative_bounds(y, np.where(y > 9, 0.5, -1.0), 0.9) == []  # "0%"
    (found,) = analysis.find_negative_bounds(y, np.where(y > 10, 0.5, -1.0), 0.9)
    assert "1% of the 90% intervals begin below 0" in found


def test_the_same_seed_gives_the_same_page(small, tmp_path):
    again = report(hostile(), HOSTILE["y"], out=tmp_path, **QUICK)
    assert again.page.read_bytes() == small.page.read_bytes()
    assert again.saved.read_bytes() == small.saved.read_bytes()


def test_groups_and_a_drift_in_time_are_on_the_page(tmp_path):
    frame = easy(150)
    frame.loc[120:, "y"] *= 9
    options = QUICK | {"groups": "person_id", "out": tmp_path / "a"}
    assert "Whole groups of" in report(frame, "y", **options).page.read_text(encoding="utf-8")
    frame.loc[120:, "x"] += 30  # clipped inputs are flags of rows, not Python's warnings
    made = report(frame, "y", time="day", out=tmp_path / "b", **QUICK)
    text = made.page.read_text(encoding="utf-8")
    assert "in the order of" in text and "The data drift" in text


def moving(n=1200, jump=0.0):
    """A table in time order, whose target jumps for small x in the last tenth."""
    rng = np.random.default_rng(3)
    x, t = rng.normal(10, 4, n), np.arange(n)
    y = 3 * x + rng.normal(size=n) + jump * ((t > 0.9 * n) & (x < 10))
    return pd.DataFrame({"t": t, "x": x, "z": rng.uniform(size=n), "y": y})


def test_the_first_screen_says_whether_later_rows_look_exchangeable(tmp_path):
    for jump, mark in ((0.0, "no change found"), (9.0, "changed")):
        out = tmp_path / mark
        made = report(moving(jump=jump), "y", time="t", drop=["t"], out=out, **QUICK)
        order, text = made.findings.order, made.page.read_text(encoding="utf-8")
        assert order.mark == mark and order.words in str(made)
        first_screen = text[: text.index('id="s1"')]
        assert f">{mark}</span>" in first_screen and "240 later rows" in first_screen
        assert "Curves of wealth against rows" in text
    assert order.test.alarms["scores"] >= 118 and order.test.changed_rules
    row = order.rules[0]
    assert row.changed and f"rule {row.rule} (" in first_screen and "x " in row.condition


def test_rows_are_compared_in_the_order_of_the_table_unless_groups_are_alike(tmp_path):
    frame = moving().assign(g=np.arange(1200) // 40)
    frame["y"] += frame["t"] / 100
    options = QUICK | {"drop": ["t"]}
    made = report(frame.drop(columns="g"), "y", out=tmp_path / "a", **options)
    assert made.findings.order.mark == "changed"
    assert "in the order of the table" in made.findings.order.words
    made = report(frame, "y", groups="g", out=tmp_path / "b", **options)
    assert made.findings.order.mark == "not tested" and made.findings.order.test is None
    assert "was not tested: rows of one &#39;g&#39;" in made.page.read_text(encoding="utf-8")


def test_new_rows_with_targets_are_compared_with_the_calibration_rows(tmp_path, capsys):
    frame = moving()
    made = report(frame[:1000], "y", drop=["t"], out=tmp_path / "a", **QUICK)
    new = tmp_path / "new.csv"
    for jump, words in ((0.0, "No sign that the 200 rows"), (5.0, "The errors of the 200 rows")):
        frame[1000:].assign(y=lambda rows, jump=jump: rows["y"] + jump).to_csv(new, index=False)
        options = ["--out", str(tmp_path / "p.csv"), "--overwrite"]
        assert main(["predict", str(made.saved), str(new), *options]) == 0
        told = capsys.readouterr().err
        assert words in told and "'y' has 200 targets; intervals at 80% cover" in told
        assert ("calibrate again" in told) == (jump > 0)
    many = frame[1000:].sample(2000, replace=True, random_state=0)
    made.model.predict(many.assign(y=many["y"] + 5.0))
    told = [note for note in made.model.notes if note.startswith("Rule ")]
    assert 1 <= len(told) <= 3 and all("of 2000 new rows; covers" in note for note in told)
    made.model.predict(frame.drop(columns="y"))
    assert not any("targets" in note for note in made.model.notes)
    made.model.predict(frame.assign(y="many"))
    assert any("holds no numbers" in note for note in made.model.notes)


def test_a_model_that_is_too_large_is_left_out_of_the_page(known, monkeypatch):
    monkeypatch.setattr(page_module, "MOST_BYTES", 1000)
    text = page_module.render(known, read(hostile()))
    assert "too large for a live panel" in text and "<script" not in text


def test_names_that_predictions_have_are_changed_and_text_is_no_formula():
    frame = pd.DataFrame({"row": [1, 2], "prediction": ["=1+1", "-3.5"], "x": ["-a", "b"]})
    found = put_before(frame, pd.DataFrame({"prediction": [5.0, 6.0]}))
    lines = frame_to_csv(found).decode().splitlines()
    assert lines == [
        "row,row (2),prediction (2),x,prediction",
        "0,1,'=1+1,'-a,5.0",
        "1,2,-3.5,b,6.0",
    ]


@pytest.mark.parametrize("end", ["\r", "\n", "\r\n"])
def test_a_cell_of_several_lines_stays_one_cell_in_which_no_line_is_a_formula(end):
    cells = [f"x{end}=1+1", f"a{end}-b", f'"q"{end}@c', f"n{end}-3.5", "plain"]
    frame = pd.DataFrame({f"two{end}lines": cells, "y": range(5)}, index=[*"abcd", f"e{end}+f"])
    rows = list(csv.reader(io.StringIO(frame_to_csv(frame).decode(), newline="")))
    assert rows[0] == ["row", f"two{end}lines", "y"]
    found = [f"x{end}'=1+1", f"a{end}'-b", f'"q"{end}\'@c', f"n{end}-3.5", "plain"]
    assert [row[1] for row in rows[1:]] == found
    assert [row[0] for row in rows[1:]] == [*"abcd", f"e{end}'+f"]
    assert frame_to_csv(frame).endswith(b"plain,4\n")


FORMULAS = [
    *(
        "=1+1",
        " =1+1",
        "\t=1+1",
        "\t",
        "\r=1",
        "\n=1",
        "\u00a0=1",
        "\ufeff=1+1",
        "+1+1",
        "-1+1",
        "--1",
    ),
    *(
        "+49 30 123",
        "@x",
        "x\v=1",
        "x\f@1",
        "x\x85=1",
        "x\u2028=1",
        "\x00=1",
        "\uff1d1+1",
        "\uff0d1+1",
    ),
    *("x;=1+1", "x\t=1+1", "x;  @a", "-1e5", "- 5", "\uff20x", " \ufeff=1", "a;b\n +c", "x\r\n=1"),
]
HARMLESS = [
    "-1",
    "+7",
    "-1,5",
    " -3.5",
    "-",
    "a=b",
    "x - y",
    "a@b",
    "'=1",
    "a;b",
    "a;-1",
    "",
    "1\t2",
]


@pytest.mark.parametrize("dtype", [object, "string", "category"])
def test_text_that_a_spreadsheet_would_compute_is_made_harmless_and_other_text_is_kept(dtype):
    frame = pd.DataFrame({1: pd.Series(FORMULAS + HARMLESS, dtype=dtype), "y": 1.5})
    text = frame_to_csv(frame).decode()
    cells = [row[1] for row in csv.reader(io.StringIO(text, newline=""))][1:]
    assert cells[len(FORMULAS) :] == HARMLESS
    for cell, written in zip(FORMULAS, cells, strict=False):
        assert written != cell and written.replace("'", "") == cell
        parts = re.split("[\r\n\v\f\x85\u2028;\t]", written)
        assert not any(re.match("[ \\xa0\ufeff\0]*[=@\uff1d\uff20]", part) for part in parts)
    assert pd.read_csv(io.StringIO(text), keep_default_na=False).shape == (len(frame), 3)


def test_bounds_logarithms_and_a_quick_look(small, tmp_path):
    target, x = HOSTILE["y"], HOSTILE["x"]
    assert any("--bounds 0 none" in alert for alert in small.findings.alerts)
    made = report(hostile(), target, out=tmp_path / "b", bounds=(0, None), **QUICK)
    assert made.findings.predictions.min().min() == 0 and load(made.saved).bounds == (0, np.inf)
    made = report(hostile(), target, out=tmp_path / "c", log=True, **QUICK)
    assert made.findings.predictions.min().min() > 0
    assert not any("--bounds" in alert for alert in made.findings.alerts)
    assert "never negative" not in made.page.read_text(encoding="utf-8")
    far = hostile(3).assign(**{x: [0.0, 1e3, 0.0]})  # a far row takes no other with it
    alone = made.model.predict(far.iloc[[0, 2]])
    found = made.model.predict(far)
    np.testing.assert_allclose(found.loc[[0, 2], "prediction"], alone["prediction"], rtol=1e-9)
    assert f"{x}: above the training range" in found["flags"][1]
    assert re.search(r"rows \(.*1.*\) have values outside", made.model.notes[-1])


@pytest.mark.parametrize(
    ("frame", "options", "match"),
    [
        (easy(), {"target": "Y"}, "target.*did you mean"),
        (easy().assign(y="a"), {}, "target.*category"),
        (easy().assign(y=1.0), {}, "target.*same value"),
        (easy(30), {}, "fewer than 60.*CVPlusRegressor"),
        (easy(0), {}, "0 rows"),
        (easy()[["y"]], {}, "no column is left"),
        (easy(), {"levels": []}, "levels"),
        (easy(), {"levels": [1.5]}, "levels"),
        (easy(), {"seed": 2**32}, "seed"),
        (easy(), {"epochs": 0}, "epochs"),
        (easy(), {"bounds": (1, 0)}, "bounds"),
        (easy(), {"bounds": (0, 1)}, "bounds.*goes from"),
        (easy(), {"log": True}, "log.*above 0"),
        (easy(), {"drop": ["X"]}, "drop.*'X'"),
        (easy(), {"drop": "y"}, "drop.*'y'"),
        (easy(), {"out": "a file"}, "out"),
        (easy(), {"out": "a file/below"}, "out"),
        (easy(), {"out": "n" * 300}, "too long"),
        (easy(), {"out": "."}, "out.*model.json.*--overwrite"),
    ],
)
def test_bad_options_are_refused_before_training(tmp_path, frame, options, match, monkeypatch):
    monkeypatch.setattr(analysis, "_fit", lambda *_: pytest.fail("it trained"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a file").touch()
    (tmp_path / "model.json").touch()
    before = sorted(tmp_path.iterdir())
    with pytest.raises((ValueError, OSError), match=match):
        report(frame, **({"target": "y", "out": "out", "progress": False} | options))
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("overwrite", [False, True])
def test_files_are_put_in_place_together_or_not_at_all(tmp_path, overwrite, known, monkeypatch):
    out = tmp_path / "out"
    if overwrite:
        out.mkdir()
        (out / "report.html").write_text("old")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    written = []

    def full_disk(number):
        written.append(number)
        if len(written) == 3:
            raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match="no space"):
        report(easy(), "y", out=out, progress=False, overwrite=overwrite)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    assert out.exists() == overwrite


# ------------------------------------------------------------------ the command line


def test_the_bare_command_prints_version_and_help_without_pandas():
    code = (
        "import sys\nsys.modules['pandas'] = sys.modules['sklearn'] = None\n"
        "from gt2lite.__main__ import main\n"
        "main([])\nprint(main(['report', 'a.csv', '--target', 'y']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.stdout.startswith(f"gt2lite {gt2lite.__version__}\n")
    assert "report" in done.stdout and "predict" in done.stdout
    assert done.stdout.endswith("1\n")
    assert "pip install 'gt2lite[report]'" in done.stderr


@pytest.fixture
def shell(tmp_path, monkeypatch, known):
    """A folder with a table and the report on it, to run commands in."""
    monkeypatch.chdir(tmp_path)
    hostile().to_csv("t.csv", index=False)
    assert main(["report", "t.csv", "--target", HOSTILE["y"]]) == 0
    return tmp_path


def test_an_error_is_one_line(capsys, tmp_path, monkeypatch):
    assert main(["report", str(tmp_path / "no.csv"), "--target", "y"]) == 1
    assert capsys.readouterr().err.splitlines()[-1].startswith("gt2lite: there is no file")
    assert main(["predict", str(tmp_path / "no.json"), "x.csv"]) == 1
    assert len(capsys.readouterr().err.splitlines()) == 1
    console = io.TextIOWrapper(io.BytesIO(), encoding="cp1252")  # it lacks the letters of a table
    monkeypatch.setattr(sys, "stderr", console)
    assert main(["predict", "no.json", str(tmp_path / "値段.csv")]) == 1


def test_a_warning_is_one_line_without_a_place_in_the_code(shell, capsys, monkeypatch):
    def predict(*_, **__):
        warnings.warn("rows of\nanother kind", UserWarning, stacklevel=1)
        return pd.DataFrame({"prediction": [1.0]})

    monkeypatch.setattr(TableModel, "predict", predict)
    capsys.readouterr()
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        shown = warnings.showwarning
        assert main(["predict", "t_report/model.json", "t.csv"]) == 0
        assert warnings.showwarning is shown
    assert capsys.readouterr().err == "gt2lite: warning: rows of another kind\n"


def test_an_unexpected_error_is_one_line_that_names_its_place(shell, capsys, monkeypatch):
    monkeypatch.setattr("gt2lite.practice.report.load", lambda path: {}["a\nb"])
    capsys.readouterr()
    assert main(["predict", "t_report/model.json", "t.csv"]) == 1
    assert re.fullmatch(
        r"gt2lite: .*test_report.py, line \d+\): KeyError.*\n", capsys.readouterr().err
    )


def test_nothing_is_overwritten_unasked(shell, capsys, monkeypatch):
    model, files = "t_report/model.json", [*shell.rglob("*.*")]
    before = {path: path.read_bytes() for path in files}
    monkeypatch.chdir("t_report")
    assert main(["predict", "model.json", "../t.csv", "--out", "predictions.csv"]) == 1
    monkeypatch.chdir("..")
    for out in ("t.csv", model):
        assert main(["predict", model, "t.csv", "--overwrite", "--out", out]) == 1
    assert main(["report", "t.csv", "--target", HOSTILE["y"]]) == 1
    assert {path: path.read_bytes() for path in files} == before
    assert [*shell.rglob("*.*")] == files
    assert main(["predict", model, "t.csv"]) == 0
    assert (shell / "t_predictions.csv").exists()
    capsys.readouterr()
    assert main(["predict", model, "t.csv"]) == 1
    assert "--overwrite" in capsys.readouterr().err
    assert main(["predict", model, "t.csv", "--overwrite"]) == 0


@pytest.mark.parametrize(("moment", "written"), [("encode", False), ("replace", True)])
def test_stopped_says_whether_files_were_written(shell, capsys, monkeypatch, moment, written):
    """Ctrl-C while the model is encoded, and when the first file took its name."""
    if moment == "encode":
        monkeypatch.setattr(TableModel, "encode", lambda _: signal.raise_signal(signal.SIGINT))
    else:
        replace = os.replace

        def interrupted(*paths):
            replace(*paths)
            signal.raise_signal(signal.SIGINT)  # too late

        monkeypatch.setattr(os, "replace", interrupted)
        monkeypatch.setattr(Report, "__str__", lambda _: signal.raise_signal(signal.SIGINT))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background
    try:  # ignores Ctrl-C
        assert main(["report", "t.csv", "--target", "y", "--out", "o"]) == 130
    finally:
        signal.signal(signal.SIGINT, before)
    assert (len([*Path("o").glob("*")]) == 3) == written
    assert ("nothing was written" in capsys.readouterr().err) == (not written)


def test_the_sheet_of_an_excel_file_is_an_option_of_both_commands(shell, capsys):
    with pd.ExcelWriter("t.xlsx") as file:
        pd.DataFrame({"see": ["below"]}).to_excel(file, sheet_name="Notes", index=False)
        hostile().to_excel(file, sheet_name="Old", index=False)
        hostile(5).to_excel(file, sheet_name="New", index=False)
    words = ["report", "t.xlsx", "--target", "day", "--sheet", "New", "--out", "new"]
    assert main(words) == 0 and "was read, not" in Path("new/report.html").read_text("utf-8")
    words = ["predict", "new/model.json", "t.xlsx", "--overwrite"]
    assert main(words) == 0 and len(pd.read_csv("t_predictions.csv")) == 80
    assert main([*words, "--sheet", "New"]) == 0 and len(pd.read_csv("t_predictions.csv")) == 5
    assert main([*words, "--sheet", "Notes"]) == 1
    assert "lacks 4 of the 4 columns" in capsys.readouterr().err


def test_a_report_says_whether_a_base_would_help_and_by_how_much(tmp_path):
    table = easy(150).assign(y=lambda frame: np.round(2 * frame["x"]) + 0.1 * frame["z"])  # steps
    asked = {"levels": (0.8,), "epochs": 2, "progress": False}
    found = report(table, "y", out=tmp_path / "a", **asked)
    ours, *_, both = found.accuracies
    assert found.findings.choices[0].part == "on base" and found.findings.choices[0].kept
    assert both.name == "systems and base" and both.scores[0] < ours.scores[0]
    text = found.page.read_text(encoding="utf-8")
    assert f"is {both.scores[0]:.4g},\n{both.scores[0] / ours.scores[0]:.2f} times" in text
    assert "systems and base" in str(found)
    again = load(found.saved).predict(table.loc[found.findings.rows.index])  # without trees
    np.testing.assert_allclose(again["lower_80"], found.findings.bounds(0.8)[0], rtol=1e-9)
