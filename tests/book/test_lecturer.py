"""The lecturer's page and the summary name what there is."""

from __future__ import annotations

import importlib
import re

import numpy as np
import pytest
import yaml
from tinybook import ROOT

from gt2lite import reduction

source = importlib.import_module("builder.source")

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


def test_both_lectures_have_a_plan():
    assert len(re.findall(r"\| minutes \|", LECTURER)) == 2


def test_the_type_reduction_to_do_aloud_has_the_end_that_is_given():
    """And it is none that a chapter works out."""
    asked = LECTURER.split("Three rules predict ")[1].split("(It is")[0]
    y = [float(v) for v in re.findall(r"\d+", asked.split(".")[0])]
    ranges = re.findall(r"between ([\d.]+) and (\d\.\d)", asked)
    lower, upper = np.array(ranges, dtype=float).T
    over, under = map(int, re.search(r"\(It is \$(\d+)/(\d+)\$", LECTURER).groups())
    assert reduction.enumerate_weights(lower, upper, y)[0] == pytest.approx(over / under)
    weights = [upper[0], *lower[1:]]
    assert np.average(y, weights=weights) == pytest.approx(over / under)
    assert y != [1, 2, 4]


def test_every_question_of_the_exam_names_a_chapter():
    questions = re.findall(r"^\d+\. .*$", LECTURER.split("## Questions for an oral exam")[1], re.M)
    assert len(questions) == 10
    for question in questions:
        assert re.search(r"\(\{doc\}`\d\d_\w+`\)$", question)


def test_tasks_of_the_lab_come_after_the_chapters_that_they_need():
    weeks = re.findall(r"^\| [1-4] \|.*$", LECTURER, re.M)
    read = [set(re.findall(r"\{doc\}`(\d\d_\w+)`", week)) for week in weeks]
    handed = [week.rsplit("|", 2)[1] for week in weeks]
    for tasks, chapters in (
        ("tasks 1 and 2", {"01_type2_sets", "02_inference"}),
        ("tasks 3 and 4", {"04_blueprint", "08_guarantee"}),
    ):
        (week,) = [i for i, text in enumerate(handed) if tasks in text]
        assert chapters <= set.union(*read[: week + 1])


def test_every_part_with_chapters_to_learn_from_has_a_summary():
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    parts = [part["caption"] for part in toc["parts"]]
    told = set(re.findall(r"^## (.*)$", SUMMARY, re.MULTILINE))
    assert {"The idea", "The blueprint", "The evidence", "Beyond", "In practice"} <= told
    assert {"The idea", "The blueprint", "The evidence", "Beyond", "In practice"} <= set(parts)


def test_the_summary_leads_to_every_numbered_chapter():
    numbered = {path.stem for path in (ROOT / "chapters").glob("[01]*.ipynb")}
    assert numbered <= set(re.findall(r"\{doc\}`(\w+)`", SUMMARY))
