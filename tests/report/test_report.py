"""From a file to a page, predictions and a model, and on to new files."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from messy_tables import easy, messy_csv

import gt2lite
from gt2lite import GT2Regressor
from gt2lite.__main__ import main
from gt2lite.model_file import FileFormatError
from gt2lite.report import TableError, load, report

ROOT = Path(__file__).resolve().parents[2]


def command(*words, cwd):
    return subprocess.run(
        [sys.executable, "-m", "gt2lite", *map(str, words)],
        capture_output=True, encoding="utf-8", cwd=cwd, check=False,
        env={"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8", "OMP_NUM_THREADS": "1"},
    )  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The folder of a report on a messy table, and what the command said."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "häuser.csv").write_bytes(messy_csv())
    options = ["--target", "Preis", "--levels", "0.8", "0.9", "--epochs", "12"]
    done = command("report", "häuser.csv", *options, "--out", "out", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder, done


@pytest.fixture(scope="module")
def page(made):
    return (made[0] / "out" / "report.html").read_text(encoding="utf-8")


def test_one_command_makes_a_page_predictions_and_a_model(made):
    folder, done = made
    names = {path.name for path in (folder / "out").iterdir()}
    assert names == {"report.html", "predictions.csv", "model.json"}
    assert "90 %: covers" in done.stdout
    assert re.search(r"\[ +\d+ s\] training on 72 rows", done.stderr)
    assert "Warning" not in done.stderr


def test_the_page_loads_nothing(made, page):
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        outside = importlib.import_module("builder.offline")
    finally:
        sys.path.remove(str(ROOT / "tools"))
    assert list(outside.outside_fetches(made[0] / "out")) == []
    assert "http:" not in page and "https:" not in page
    assert "<script" not in page and "<link" not in page
    sources = re.findall(r'src="([^"]{0,22})', page)
    assert len(sources) == 4
    assert set(sources) == {"data:image/png;base64,"}


def test_the_page_tells_each_fate_and_every_picture_has_words(page):
    for words in (
        "Separator: semicolon; decimal comma; encoding Windows-1252",
        "counts the rows: an identifier",
        "88% of its values are missing",
        "the same value in every row",
        "a date: day, month, weekday",
        "Nr",
        "--time &#x27;verkauft am&#x27;",
        "boosted trees",
        "What the model learnt",
        "then  Preis = ",
        "python -m gt2lite predict model.json",
    ):
        assert words in page
    assert all(re.findall(r'<img src="[^"]*" alt="([^"]*)"', page))
    assert page.count("<figcaption>") == 4
    assert 'name="viewport"' in page and "prefers-color-scheme: dark" in page


def test_predictions_are_of_test_rows_with_nested_intervals(made):
    frame = pd.read_csv(made[0] / "out" / "predictions.csv")
    names = ["row", "Preis", "prediction", "lower_80", "upper_80", "lower_90", "upper_90"]
    assert list(frame.columns) == names
    assert len(frame) == 24 and frame["row"].is_unique
    assert (frame["lower_90"] <= frame["lower_80"]).all()
    assert (frame["upper_80"] <= frame["upper_90"]).all()
    assert (
        (frame["lower_90"] <= frame["Preis"]) & (frame["Preis"] <= frame["upper_90"])
    ).mean() > 0.6


def test_a_new_file_is_predicted_and_what_is_odd_is_told(made):
    folder, _ = made
    new = messy_csv(6, seed=1, color="rosa").decode("latin-1").splitlines()
    kept = [";".join(line.split(";")[2:9]) for line in new]  # without number, size and target
    (folder / "neu.csv").write_text("\n".join(kept), encoding="utf-8")
    done = command("predict", "out/model.json", "neu.csv", "--out", "p.csv", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "'Größe' is missing" in done.stderr
    assert "'rosa'" in done.stderr
    frame = pd.read_csv(folder / "p.csv")
    assert len(frame) == 6 and np.isfinite(frame.to_numpy()).all()
    assert "6 rows: p.csv" in done.stdout


def test_the_model_in_the_file_predicts_what_the_report_says(made):
    folder, _ = made
    told = pd.read_csv(folder / "out" / "predictions.csv", index_col="row")
    again = load(folder / "out" / "model.json").predict(folder / "häuser.csv").loc[told.index]
    np.testing.assert_allclose(again.to_numpy(), told.drop(columns="Preis").to_numpy(), rtol=1e-9)


def test_a_table_without_rows_gets_none_back(made):
    assert len(load(made[0] / "out" / "model.json").predict(pd.DataFrame({"Farbe": []}))) == 0


def test_a_model_of_a_table_is_no_estimator_and_damage_is_seen(made, tmp_path):
    path = made[0] / "out" / "model.json"
    with pytest.raises(FileFormatError):
        GT2Regressor.load(path)
    (tmp_path / "cut.npz").write_bytes(path.read_bytes()[:-100])
    with pytest.raises(FileFormatError):
        load(tmp_path / "cut.npz")


@pytest.mark.parametrize("role", [{"groups": "person_id"}, {"time": "day"}])
def test_groups_and_time_are_told_about_on_the_page(tmp_path, role, capsys):
    ((kind, name),) = role.items()
    made = report(easy(), "y", (0.8,), out=tmp_path, progress=False, epochs=2, **role)
    page = made.page.read_text(encoding="utf-8")
    assert {"groups": "Whole groups of", "time": "in the order of"}[kind] in page
    assert name not in {c.name for c in made.model.columns.used} or kind == "time"
    assert capsys.readouterr().err == ""
    assert "page:" in str(made)


def test_the_same_seed_gives_the_same_page_and_another_one_another(tmp_path):
    def text(seed, name):
        made = report(easy(), "y", (0.8,), out=tmp_path / name, seed=seed, progress=False, epochs=1)
        return made.page.read_text(encoding="utf-8")

    assert text(0, "a") == text(0, "b") != text(1, "c")


def test_text_of_a_table_is_no_html(tmp_path):
    frame = easy(80).rename(columns={"x": "<b onclick='x'>"})
    made = report(frame, "y", (0.8,), out=tmp_path, progress=False, epochs=1)
    assert "<b onclick" not in made.page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("frame", "target", "said"),
    [
        (easy(), "Y", "no column 'Y'; did you mean"),
        (easy().assign(y="a"), "y", r"holds category \(such as 'a'\).*--target"),
        (easy().assign(y=1.0), "y", "the same value in every row"),
        (easy(30), "y", "fewer than 60"),
        (easy(0), "y", "has 0 rows"),
        (easy()[["y"]], "y", "no column is left"),
    ],
)
def test_what_cannot_be_used_is_refused_by_name(tmp_path, frame, target, said):
    with pytest.raises(TableError, match=said):
        report(frame, target, out=tmp_path / "out", progress=False)
    assert not (tmp_path / "out").exists()


def test_the_bare_command_says_version_and_help_without_pandas():
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


def test_the_command_line_gives_one_line_for_an_error(capsys, tmp_path):
    assert main(["report", str(tmp_path / "no.csv"), "--target", "y"]) == 1
    assert capsys.readouterr().err.splitlines()[-1].startswith("gt2lite: there is no file")
    assert main(["predict", str(tmp_path / "no.npz"), "x.csv"]) == 1
    assert len(capsys.readouterr().err.splitlines()) == 1
