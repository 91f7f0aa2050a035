"""The chapters and the API reference: their sources follow the conventions."""

from __future__ import annotations

import importlib
import re
from pkgutil import walk_packages

import pytest
import yaml
from tinybook import ROOT

import gt2lite

source = importlib.import_module("builder.source")

CHAPTERS = source.chapters(ROOT)
each_chapter = pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.name)
MOST_IMPORTS, MOST_LETTERS = 6, 88  # lines that open a chapter; letters of a visible line


@each_chapter
def test_a_source_is_clean_explained_and_fits_the_column_of_a_page(chapter):
    cells = chapter.notebook["cells"]
    assert not any(part.get("outputs") or part.get("execution_count") for part in cells)
    assert len({part["id"] for part in cells}) == len(cells)
    (given,) = (part["source"] for part in cells if "parameters" in source.tags_of(part))
    assert all("#" in line for line in given.splitlines() if re.match(r"\w+ = ", line))
    code = next((code for code in chapter.code if re.search(r"^(import|from) ", code, re.M)), "")
    lines = re.findall(r"^(?:import|from) .*", code, re.MULTILINE)
    assert len(lines) <= MOST_IMPORTS, "\n".join(lines)
    hidden = {"hide-input", "remove-cell", "remove-input"}
    for part in cells:
        if part["cell_type"] == "code" and not hidden & set(source.tags_of(part)):
            assert all(len(line) <= MOST_LETTERS for line in part["source"].splitlines())


def test_the_table_of_contents_and_the_folder_name_the_same_pages():
    present = {path for path in (ROOT / "chapters").rglob("*") if path.suffix in (".md", ".ipynb")}
    assert set(source.documents(ROOT)) == present | {ROOT / "index.md"}


def test_profiles_name_known_chapters_and_full_is_the_defaults():
    assert source.profile_parameters(ROOT, CHAPTERS, "quick")
    assert source.profile_parameters(ROOT, CHAPTERS, "full") == {}


@each_chapter
def test_a_figure_has_caption_name_and_alternative_text(chapter, executed):
    cells = source.read_notebook(executed / f"{chapter.document}.ipynb")["cells"]
    for part in cells:
        for output in part.get("outputs", []):
            assert output.get("name") != "stderr", f"a stray message: {output['text']}"
            data = output.get("data", {})
            live = "gt2-live" in "".join(data.get("text/html", ""))  # it has a text of its own
            if "image/png" in data or live:
                figure = part["metadata"]["mystnb"]
                assert figure["figure"]["caption"]
                assert figure["figure"]["name"]
                assert live or figure["image"]["alt"]


def test_package_citation_and_changelog_have_one_version_and_date():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert citation["version"] == gt2lite.__version__
    assert f"## [{gt2lite.__version__}] - {citation['date-released']}" in changes


def test_every_test_named_on_the_page_of_guarantees_exists():
    page = (ROOT / "chapters" / "guarantees.ipynb").read_text(encoding="utf-8")
    named = set(re.findall(r"`(test_\w+)`", page))
    files = (ROOT / "tests").rglob("test_*.py")
    text = "\n".join(path.read_text(encoding="utf-8") for path in files)
    assert len(named) > 40
    assert named - set(re.findall(r"^def (test_\w+)\(", text, re.MULTILINE)) == set()


def test_no_source_names_an_address_of_the_project():
    """Whoever registers such an address would have their code run by readers."""
    address = re.compile(r"(?:github|gitlab)\.com[/:][\w.-]+/gt2lite", re.IGNORECASE)
    files = [ROOT / "README.md", ROOT / "index.md", ROOT / "pyproject.toml", ROOT / "CITATION.cff"]
    files += [path for path in (ROOT / "chapters").rglob("*") if path.suffix in (".md", ".ipynb")]
    assert [path for path in files if address.search(path.read_text(encoding="utf-8"))] == []


# The API reference

PAGES = sorted(p for p in (ROOT / "chapters" / "api").iterdir() if p.suffix in (".md", ".ipynb"))


def test_every_public_module_is_documented_once():
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    found = re.findall(r"\.\. automodule:: (gt2lite[\w.]*)", text)
    modules = (module.name for module in walk_packages(gt2lite.__path__, "gt2lite."))
    assert sorted(found) == sorted(name for name in modules if "._" not in name)


def test_the_reference_holds_the_methods_of_the_estimators_and_nothing_private(site):
    texts = [(site / f"chapters/api/{page.stem}.html").read_text() for page in PAGES]
    names = set(re.findall(r'id="gt2lite\.([\w.]+)"', "".join(texts)))
    for kind in ("practice.regressor.GT2Regressor", "practice.head.IntervalHead"):
        for method in ("fit", "calibrate", "fit_calibrate", "predict_interval", "save"):
            assert f"{kind}.{method}" in names
    assert not [name for name in names if re.search(r"(^|\.)_", name)]
    assert "Alias for field number" not in "".join(texts)
    assert "set_fit_request" not in "".join(texts)
