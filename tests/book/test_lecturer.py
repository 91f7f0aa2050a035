"""The lecturer's page and the summary name what there is."""

from __future__ import annotations

import importlib
import re

import pytest
import yaml
from tinybook import ROOT

source = importlib.import_module("press.source")

LECTURER = (ROOT / "chapters" / "lecturer.md").read_text(encoding="utf-8")
SUMMARY = (ROOT / "chapters" / "summary.md").read_text(encoding="utf-8")
NAMED = re.findall(r'\{doc\}`(\w+)`: ((?:"[^"|]+"(?:, )?)+)', LECTURER)


def headings(name):
    cells = source.read_notebook(ROOT / "chapters" / f"{name}.ipynb")["cells"]
    texts = [source.text_of(cell) for cell in cells if cell["cell_type"] == "markdown"]
    return set(re.findall(r"^#{2,3} (.*)$", "\n".join(texts), re.MULTILINE))


@pytest.mark.parametrize(("chapter", "titles"), NAMED)
def test_sections_that_a_lecture_names_exist(chapter, titles):
    assert set(re.findall(r'"([^"]+)"', titles)) <= headings(chapter)


def test_a_lecture_fills_its_time():
    for table in re.findall(r"\| minutes \|.*?\n\n", LECTURER, re.DOTALL):
        assert sum(map(int, re.findall(r"^\| (\d+) \|", table, re.MULTILINE))) == 90


def test_every_part_with_chapters_to_learn_from_has_a_summary():
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    parts = [part["caption"] for part in toc["parts"]]
    told = set(re.findall(r"^## (.*)$", SUMMARY, re.MULTILINE))
    assert {"The idea", "The blueprint", "The evidence", "Beyond", "In practice"} <= told
    assert {"The idea", "The blueprint", "The evidence", "Beyond", "In practice"} <= set(parts)


def test_the_summary_leads_to_every_numbered_chapter():
    numbered = {path.stem for path in (ROOT / "chapters").glob("[01]*.ipynb")}
    assert numbered <= set(re.findall(r"\{doc\}`(\w+)`", SUMMARY))
