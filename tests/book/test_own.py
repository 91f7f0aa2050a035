"""`make own`: what a user writes reaches the chapter as data."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
from tinybook import ROOT

own = importlib.import_module("own")
source = importlib.import_module("builder.source")

WHOLE = {"CSV": "a b/houses.csv", "TARGET": "price in $", "LEVELS": "0.8, 0.9"}


def test_variables_become_parameters_that_the_chapter_knows():
    given = own.parameters(WHOLE | {"GROUP": "town", "TIME": "sold"}, ROOT)
    assert given["levels"] == [0.8, 0.9]
    assert given["csv"] == str(Path("a b/houses.csv").absolute())
    assert (given["target"], given["groups"], given["time"]) == ("price in $", "town", "sold")
    assert Path(given["out"]).name == "houses"
    source.check_parameters(source.find_chapter(ROOT, own.CHAPTER), given, "own")


def test_what_is_not_said_stays_as_the_chapter_has_it():
    given = own.parameters({"CSV": "x.csv", "TARGET": "y", "LEVELS": "", "GROUP": ""}, ROOT)
    assert given.keys() == {"csv", "target", "out"}


@pytest.mark.parametrize(
    ("change", "said"),
    [({"CSV": ""}, "which CSV"), ({"TARGET": ""}, "which TARGET"), ({"LEVELS": "many"}, "LEVELS")],
)
def test_what_is_absent_or_wrong_is_named(change, said):
    with pytest.raises(source.BookError, match=said):
        own.parameters(WHOLE | change, ROOT)


def test_an_absent_file_gets_one_line(monkeypatch, capsys, tmp_path):
    for name, value in {"CSV": str(tmp_path / "no.csv"), "TARGET": "y"}.items():
        monkeypatch.setenv(name, value)
    assert own.main() == 1
    assert capsys.readouterr().err.startswith("own: there is no file")


def test_make_hands_every_variable_on_as_it_is():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for name in ("CSV", "TARGET", "LEVELS", "GROUP", "TIME"):
        assert f"override {name} := $(value {name})\n" in makefile
        assert name in makefile.partition("\nexport NAME")[2].partition("\n")[0]
