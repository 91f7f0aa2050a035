"""From a file to a page, predictions and a model, and on to new files."""

from __future__ import annotations

import importlib
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from messy_tables import easy, messy_csv
from scipy import stats

import gt2lite
from gt2lite import GT2Regressor
from gt2lite.__main__ import main
from gt2lite.columns import specify
from gt2lite.model_file import FileFormatError
from gt2lite.report import Report, TableError, TableModel, analysis, load, read, report
from gt2lite.report import page as page_module
from gt2lite.report.analysis import Request, split_rows
from gt2lite.report.model import frame_to_csv, put_before

ROOT = Path(__file__).resolve().parents[2]


# ------------------------------------------------------------------ sets of rows


def split(frame, groups=None, time=None, level=0.9):
    return split_rows(frame, Request("y", (level,), groups, time))[0]


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
        (easy(100), (0.8, 0.99), None, None, r"99%.*--levels 0.8"),
        (easy().assign(g="a"), (0.9,), "g", None, "groups"),
        (easy().assign(t="a"), (0.9,), None, "t", "time"),
        (easy().assign(t=[None, *range(119)]), (0.9,), None, "t", "time.*1 missing"),
        # the largest group leaves fewer calibration rows than 95% needs
        (easy(100).assign(g=["a"] * 60 + [*"bcdefghi"] * 5), (0.8, 0.98), "g", None, "levels"),
    ],
)
def test_what_cannot_be_split_is_refused(frame, levels, groups, time, match):
    with pytest.raises(TableError, match=match):
        split_rows(frame, Request("y", levels, groups, time))


# ------------------------------------------------------------------ measures


@pytest.mark.parametrize(
    ("level", "n_cal", "n_test"), [(0.9, 99, 50), (0.8, 37, 1000), (0.1, 9, 7)]
)
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
    X, *_ = columns.encode(frame)
    y = frame["y"].to_numpy()
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


def find_warnings(frame, groups=None, time=None):
    sets = split(frame, groups, time)
    columns = specify(frame, sets["training"], "y", groups, time)
    return analysis.find_warnings(frame, columns, sets, Request("y", (0.9,), groups, time))


@pytest.mark.parametrize(
    ("frame", "roles", "words"),
    [
        (easy(), {}, ["--groups 'person_id'", "--time 'day'"]),
        (easy(), {"time": "day", "groups": "person_id"}, []),
        (easy(99).assign(g=np.repeat(np.arange(11), 9)), {"groups": "g"}, ["Of 11", "--time"]),
        (easy(1080).assign(g=np.repeat(np.arange(120), 9)), {"groups": "g"}, ["--time"]),
    ],
)
def test_time_and_groups_are_warned_about(frame, roles, words):
    found = find_warnings(frame, **roles)
    assert len(found) == len(words) and all(map(str.__contains__, found, words))


@pytest.mark.parametrize(("noise", "time", "warned"), [(6, "day", 1), (1, "day", 0), (6, None, 0)])
def test_drift_is_warned_about_if_rows_are_in_the_order_of_time(noise, time, warned):
    frame = easy(600)
    X, y = frame[["x", "z"]].to_numpy(), frame["y"].to_numpy()
    reg = GT2Regressor(n_rules=2, epochs=20, learning_rate=0.02).fit(X[:300], y[:300])
    reg.calibrate(X[300:450], y[300:450])
    X, y = X[450:], noise * y[450:]
    coverage = analysis.measure_coverage(y, *reg.predict_interval(X), 0.9, 150)
    found = analysis.find_drift(reg, X, y, [coverage], 0.9, time)
    assert len(found) == warned and all("The data drift" in words for words in found)


def find_alerts(frame):
    columns = specify(frame, np.arange(len(frame)), "y")
    y = frame["y"].to_numpy(float)
    X = columns.encode(frame).inputs
    return analysis.find_alerts(frame, y, columns, X, y, seed=0)


def amounts(n=300):
    """A table about which there is nothing to say: y is noisy, skewed and positive."""
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(2, n))
    return pd.DataFrame({"x": x, "z": z, "y": np.exp(x + 0.3 * rng.normal(size=n))})


def spoil(frame, **values):
    return frame.assign(**{name: value(frame) for name, value in values.items()})


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (amounts(), None),
        (spoil(amounts(), leak=lambda f: 100 / f["y"]), "--drop 'leak'"),
        (spoil(amounts(), leak=lambda f: pd.qcut(f["y"], 20).astype(str)), "--drop 'leak'"),
        (spoil(amounts(), y=lambda f: f["y"].where(f.index != 7, 99_999)), "99,999 in row 7"),
        (spoil(amounts(), y=lambda f: f["y"].where(f.index % 5 > 0, 0.0)), "20% .* are 0"),
        (pd.concat([amounts(), amounts().head(9)], ignore_index=True), "9 of 309 rows repeat"),
    ],
)
def test_leaks_outliers_zeros_and_copies_are_alerts(frame, words):
    found = find_alerts(frame)
    assert len(found) == (words is not None)
    assert words is None or re.search(words, found[0])


# ------------------------------------------------------------------ a report from the shell


def command(*words, cwd):
    return subprocess.run(
        [sys.executable, "-m", "gt2lite", *map(str, words)],
        capture_output=True, encoding="utf-8", cwd=cwd, check=False,
        env={"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8", "OMP_NUM_THREADS": "1"},
    )  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The folder of a report on a messy table, and what the command printed."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "häuser.csv").write_bytes(messy_csv())
    options = ["--target", "Preis", "--levels", "0.8", "0.9", "--epochs", "3"]
    done = command("report", "häuser.csv", *options, "--out", "out", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder, done


def test_one_command_makes_a_page_predictions_and_a_model(made):
    folder, done = made
    names = {path.name for path in (folder / "out").iterdir()}
    assert names == {"report.html", "predictions.csv", "model.json"}
    assert "90%" in done.stdout and "out/model.json" in done.stdout
    assert "Warning" not in done.stderr
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
    assert len(sections) > 9 and sections == re.findall(r'href="#s(\d+)"', page)
    assert all(re.findall(r'<img src="[^"]*" alt="([^"]*)"', page))
    assert "{{" not in page and "None" not in page
    for words in ("decimal comma", "88% of its", "--time &#39;verkauft am", "then  Preis = "):
        assert words in page


@pytest.fixture(scope="module")
def tab(made):
    """The page in a browser of the size of a phone."""
    pytest.importorskip("playwright", reason="needs the extra `dev`")
    sys.path.insert(0, str(ROOT / "tools"))
    browser = importlib.import_module("builder.browser")
    if browser.find_chromium() is None:
        pytest.skip("needs Chromium or Chrome on the PATH")
    with browser.chromium() as opened:
        tab = opened.new_page(viewport={"width": 390, "height": 800}, color_scheme="dark")
        tab.asked = []
        tab.on("request", lambda request: tab.asked.append(request.url[:9]))
        tab.on("pageerror", lambda error: tab.asked.append(str(error)))
        tab.goto((made[0] / "out" / "report.html").as_uri())
        yield tab


@pytest.mark.browser
def test_the_panel_predicts_what_the_model_does(tab, made):
    model = load(made[0] / "out" / "model.json")
    row = {"Größe": 120.0, "Farbe": "blau", "Garten": "no", "Zimmer": 4.0, "verkauft am": None}
    for name, value in row.items():
        control = tab.get_by_label(name, exact=True)
        if name == "verkauft am":
            row[name] = pd.Timestamp(0) + pd.Timedelta(days=int(control.input_value()))
        elif isinstance(value, str):
            control.select_option(label=value)
        else:
            control.fill(str(value))
    tab.get_by_label("Level", exact=True).fill("80")
    found = model.predict(pd.DataFrame([row]), [0.8]).iloc[0]
    said = tab.locator(".gt2-say").inner_text()
    shown = [float(n.replace(",", "")) for n in re.findall(r"[\d,]*\d\.?\d*(?=;| to|\.)", said)]
    np.testing.assert_allclose(shown[-3:], found.iloc[:3].astype(float), rtol=6e-4)
    assert "80% interval" in said and "training range" not in said
    weights = model.regressor.rule_weights(model.columns.encode(pd.DataFrame([row])).inputs)[0]
    shares = re.findall(r"Rule (\d+): (\d+)%", tab.locator(".gt2-rules").inner_text())
    assert len(shares) == 10
    assert all(abs(100 * weights[int(rule) - 1] - int(share)) < 0.51 for rule, share in shares)


@pytest.mark.browser
def test_the_panel_warns_beyond_the_training_range_and_asks_nothing(tab):
    slider = tab.get_by_label("Größe", exact=True)
    slider.focus()
    tab.keyboard.press("End")
    assert "Größe is above the training range" in tab.locator(".gt2-say").inner_text()
    tab.keyboard.press("Home")
    assert "Größe is below the training range" in tab.locator(".gt2-say").inner_text()
    assert set(tab.asked) <= {"file:///t", "data:imag"}
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_model_that_is_too_large_is_left_out_of_the_page(tmp_path, fast, monkeypatch):
    monkeypatch.setattr(page_module, "MOST_BYTES", 1000)
    made = report(easy(), "y", out=tmp_path / "r", progress=False)
    text = made.page.read_text(encoding="utf-8")
    assert "too large for a live panel" in text and "<script" not in text


def test_a_new_file_is_predicted_and_what_is_unusual_is_noted(made):
    folder, _ = made
    new = messy_csv(6, seed=1, color="rosa").decode("latin-1").splitlines()
    kept = [";".join(line.split(";")[2:9]) for line in new]  # without number, size and target
    (folder / "neu.csv").write_text("\n".join(kept), encoding="utf-8")
    done = command("predict", "out/model.json", "neu.csv", "--with-inputs", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "'Größe' is missing" in done.stderr and "'rosa'" in done.stderr
    assert "6 of 6 rows (1, 2, 3, 4, 5, ...) have flags" in done.stderr
    frame = pd.read_csv(folder / "neu_predictions.csv")
    assert len(frame) == 6 and np.isfinite(frame.filter(regex="prediction|er_").to_numpy()).all()
    assert frame["flags"].str.contains("rosa").all() and (frame["Farbe"] == "rosa").all()
    assert "6 rows: neu_predictions.csv" in done.stdout


def test_the_model_in_the_file_predicts_the_same_bits(made):
    folder, _ = made
    stored = pd.read_csv(folder / "out" / "predictions.csv", index_col="row")
    model = load(folder / "out" / "model.json")
    again = model.predict(folder / "häuser.csv")
    # another number of rows in a product of matrices may round otherwise
    np.testing.assert_allclose(
        again.loc[stored.index].drop(columns="flags"),
        stored.drop(columns=["Preis", "flags"]),
        rtol=1e-9,
    )
    model.save(folder / "again.json")
    twice = load(folder / "again.json").predict(folder / "häuser.csv")
    pd.testing.assert_frame_equal(twice, again, check_exact=True)
    assert len(model.predict(read(folder / "häuser.csv").frame[:0])) == 0
    assert list(model.predict(folder / "häuser.csv", [0.1 + 0.2]).columns)[1] == "lower_30"


def test_a_table_model_is_no_regressor_and_damage_is_refused(made, tmp_path):
    path = made[0] / "out" / "model.json"
    with pytest.raises(FileFormatError, match="table model"):
        GT2Regressor.load(path)
    (tmp_path / "cut.json").write_bytes(path.read_bytes()[:-100])
    with pytest.raises(FileFormatError):
        load(tmp_path / "cut.json")


# ------------------------------------------------------------------ reports in Python


@pytest.fixture
def fast(monkeypatch):
    """A small system in place of `strong`, so that a report takes a second."""

    def small(cls, **settings):
        settings = {"n_rules": 3, "n_systems": 2, "choose": True, "objective": "aligned"} | settings
        return cls(**settings)

    monkeypatch.setattr(GT2Regressor, "strong", classmethod(small))


def test_the_same_seed_gives_the_same_page_and_another_seed_another(tmp_path, fast, capsys):
    def text(name, seed=0, **role):
        options = {"out": tmp_path / name, "seed": seed, "progress": False, "epochs": 1}
        return report(easy(), "y", (0.8,), **options, **role).page.read_text(encoding="utf-8")

    assert text("a") == text("b") != text("c", seed=1)
    assert "Whole groups of" in text("d", groups="person_id")
    assert "in the order of" in text("e", time="day")
    assert capsys.readouterr().err == ""


def test_names_in_a_table_are_neither_html_nor_formulas(tmp_path, fast):
    frame = easy(80).rename(columns={"x": "<b onclick='x'>", "z": "$\\broken{$", "y": "=p $ q $"})
    levels = np.array([0.3, 0.8], np.float32)
    made = report(frame, "=p $ q $", levels, out=tmp_path, progress=False, epochs=1)
    assert "<b onclick" not in made.page.read_text(encoding="utf-8")
    assert [row.level for row in made.coverages] == [0.3, 0.8]
    assert made.predictions.read_text(encoding="utf-8").startswith("row,'=p $ q $,prediction,")


def test_names_that_predictions_have_are_changed_and_text_is_no_formula():
    frame = pd.DataFrame({"row": [1, 2], "prediction": ["=1+1", "-3.5"], "x": ["-a", "b"]})
    found = put_before(frame, pd.DataFrame({"prediction": [5.0, 6.0]}))
    lines = frame_to_csv(found).decode().splitlines()
    assert lines == [
        "row,row (2),prediction (2),x,prediction",
        "0,1,'=1+1,'-a,5.0",
        "1,2,-3.5,b,6.0",
    ]


def positive(n=120):
    return easy(n).assign(y=lambda frame: np.exp(frame["y"] / 3))


def test_bounds_logarithms_and_a_quick_look(tmp_path, fast):
    options = {"progress": False, "epochs": 1, "levels": [0.8], "quick": True}
    made = report(positive(), "y", out=tmp_path / "a", **options)
    assert any("--bounds 0 none" in alert for alert in made.findings.alerts)
    made = report(positive(), "y", out=tmp_path / "b", bounds=(0, None), **options)
    assert made.findings.predictions.min().min() == 0 and load(made.saved).bounds == (0, np.inf)
    made = report(positive(), "y", out=tmp_path / "c", log=True, **options)
    assert made.findings.predictions.min().min() > 0 and made.findings.alerts == []
    assert "never negative" not in made.page.read_text(encoding="utf-8")
    far = positive(3).assign(x=[0.0, 1e3, 0.0])  # a far row takes no other with it
    alone = made.model.predict(far.iloc[[0, 2]])
    found = made.model.predict(far)
    np.testing.assert_allclose(found.loc[[0, 2], "prediction"], alone["prediction"], rtol=1e-9)
    assert "x: above the training range" in found["flags"][1]
    assert re.search(r"rows \(.*1.*\) have values outside", made.model.notes[-1])


@pytest.mark.parametrize(
    ("frame", "target", "match"),
    [
        (easy(), "Y", "target.*did you mean"),
        (easy().assign(y="a"), "y", "target.*category"),
        (easy().assign(y=1.0), "y", "target.*same value"),
        (easy(30), "y", "fewer than 60"),
        (easy(0), "y", "0 rows"),
        (easy()[["y"]], "y", "no column is left"),
    ],
)
def test_what_cannot_be_used_is_refused_by_name(tmp_path, frame, target, match):
    with pytest.raises(TableError, match=match):
        report(frame, target, out=tmp_path / "out", progress=False)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"levels": []}, "levels"),
        ({"levels": [1.5]}, "levels"),
        ({"levels": [0.3, 0.1 + 0.2]}, "levels.*30%"),
        ({"levels": [0.9, 0.9000000001]}, "levels.*90%"),
        ({"seed": 2**32}, "seed"),
        ({"epochs": 0}, "epochs"),
        ({"bounds": (1, 0)}, "bounds"),
        ({"bounds": (0, 1)}, "bounds.*goes from"),
        ({"log": True}, "log.*above 0"),
        ({"drop": ["X"]}, "drop.*'X'"),
        ({"drop": "y"}, "drop.*'y'"),
        ({"out": "a file"}, "out"),
        ({"out": "a file/below"}, "out"),
        ({"out": "n" * 300}, "too long"),
        ({"out": "."}, "out.*model.json.*--overwrite"),
    ],
)
def test_bad_options_are_refused_before_training(tmp_path, options, match, monkeypatch):
    monkeypatch.setattr(analysis, "_fit", lambda *_: pytest.fail("it trained"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a file").touch()
    (tmp_path / "model.json").touch()
    before = sorted(tmp_path.iterdir())
    with pytest.raises((ValueError, OSError), match=match):
        report(easy(), "y", **({"out": "out", "progress": False} | options))
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("overwrite", [False, True])
def test_files_are_put_in_place_together_or_not_at_all(tmp_path, overwrite, fast, monkeypatch):
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
        report(easy(), "y", [0.8], out=out, progress=False, epochs=1, overwrite=overwrite)
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


def test_an_error_is_one_line(capsys, tmp_path):
    assert main(["report", str(tmp_path / "no.csv"), "--target", "y"]) == 1
    assert capsys.readouterr().err.splitlines()[-1].startswith("gt2lite: there is no file")
    assert main(["predict", str(tmp_path / "no.json"), "x.csv"]) == 1
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.fixture
def shell(tmp_path, monkeypatch, fast):
    """A folder with a table and the report on it, to run commands in."""
    monkeypatch.chdir(tmp_path)
    easy().to_csv("t.csv", index=False)
    assert main(["report", "t.csv", "--target", "y", "--levels", "0.8", "--epochs", "1"]) == 0
    return tmp_path


def test_nothing_is_overwritten_unasked(shell, fast, capsys, monkeypatch):
    model, files = "t_report/model.json", [*shell.rglob("*.*")]
    before = {path: path.read_bytes() for path in files}
    monkeypatch.chdir("t_report")
    assert main(["predict", "model.json", "../t.csv", "--out", "predictions.csv"]) == 1
    monkeypatch.chdir("..")
    for out in ("t.csv", model):
        assert main(["predict", model, "t.csv", "--overwrite", "--out", out]) == 1
    assert main(["report", "t.csv", "--target", "y"]) == 1
    assert {path: path.read_bytes() for path in files} == before
    assert [*shell.rglob("*.*")] == files
    assert main(["predict", model, "t.csv"]) == 0
    assert (shell / "t_predictions.csv").exists()
    capsys.readouterr()
    assert main(["predict", model, "t.csv"]) == 1
    assert "--overwrite" in capsys.readouterr().err
    assert main(["predict", model, "t.csv", "--overwrite"]) == 0


@pytest.mark.parametrize(("moment", "written"), [("encode", False), ("replace", True)])
def test_stopped_says_whether_files_were_written(shell, fast, capsys, monkeypatch, moment, written):
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
    words = ["report", "t.csv", "--target", "y", "--levels", "0.8", "--epochs", "1", "--out", "o"]
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background
    try:  # ignores Ctrl-C
        assert main(words) == 130
    finally:
        signal.signal(signal.SIGINT, before)
    assert (len([*Path("o").glob("*")]) == 3) == written
    assert ("nothing was written" in capsys.readouterr().err) == (not written)


def test_an_excel_file_is_searched_for_its_target_from_the_shell(
    tmp_path, monkeypatch, fast, capsys
):
    monkeypatch.chdir(tmp_path)
    with pd.ExcelWriter("t.xlsx") as file:
        pd.DataFrame({"see": ["below"]}).to_excel(file, sheet_name="Notes", index=False)
        easy().to_excel(file, sheet_name="Old", index=False)
        easy(seed=1).to_excel(file, sheet_name="New", index=False)
    words = ["report", "t.xlsx", "--target", "y", "--levels", "0.8", "--epochs", "1"]
    assert main(words) == main([*words, "--sheet", "New", "--out", "new"]) == 0
    assert main([*words, "--sheet", "Notes", "--out", "no"]) == 1
    for folder, sheet in (("t_report", "Old"), ("new", "New")):
        page = Path(folder, "report.html").read_text(encoding="utf-8")
        assert f"Sheet &#39;{sheet}&#39; was read" in page
    capsys.readouterr()
    assert main(["predict", "new/model.json", "t.xlsx"]) == 0  # the first one with its columns
    assert "Sheet 'Old' was read" in capsys.readouterr().err
    assert main(["predict", "new/model.json", "t.xlsx", "--sheet", "Notes", "--overwrite"]) == 1
    assert "lacks 3 of the 3 columns" in capsys.readouterr().err
    assert len(pd.read_csv("t_predictions.csv")) == 120


def test_an_unexpected_error_is_one_line_that_names_its_place(shell, capsys, monkeypatch):
    monkeypatch.setattr("gt2lite.report.load", lambda path: {}["a\nb"])
    assert main(["predict", "t_report/model.json", "t.csv"]) == 1
    assert re.fullmatch(
        r"gt2lite: .*test_report.py, line \d+\): KeyError.*\n", capsys.readouterr().err
    )


def test_a_console_without_the_letters_of_a_table_is_no_error(shell):
    easy().rename(columns={"y": "値段"}).to_csv("t.csv", index=False)
    done = subprocess.run(
        [sys.executable, "-m", "gt2lite", "report", "t.csv", "--target", "Y", "--overwrite"],
        capture_output=True, check=False,
        env={"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "cp1252"},
    )  # fmt: skip
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 2
