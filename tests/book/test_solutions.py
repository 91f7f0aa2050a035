"""Solutions stand apart: at the end of a chapter, or out of the build."""

from __future__ import annotations

import importlib
import json
import re

import pytest
from tinybook import ROOT, cell, notebook, pages

book = importlib.import_module("book")
solutions = importlib.import_module("builder.pages")
source = importlib.import_module("builder.source")

CHAPTERS = source.chapters(ROOT)
each_chapter = pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.name)
LABEL = re.compile(r"^:(?:label|name): *(\S+)|\((\S+)\)=$|\$\$ \((\S+)\)$", re.MULTILINE)
QUESTION = "```{exercise}\n:label: ex-a\n\nWhy?\n```"
ANSWER = "```{solution} ex-a\n:class: dropdown\n\nBecause.\n```"


def texts(content):
    return [source.text_of(part) for part in content["cells"]]


def tiny_chapter():
    return notebook(
        cell("markdown", "title", "# Title"),
        cell("markdown", "both", f"{QUESTION}\n\n{ANSWER}\n\nMore prose."),
        cell("markdown", "start", "Prose.\n\n```{solution-start} ex-b\n```\n\nLook:"),
        cell("code", "work", "6 * 7"),
        cell("markdown", "end", "So it is.\n\n```{solution-end}\n```\n\nOn we go."),
        cell("code", "told", "tell", "remove-cell"),
    )


def test_solutions_move_to_the_end_in_their_order_and_the_rest_stays():
    assert texts(solutions.part_solutions(tiny_chapter())) == [
        "# Title",
        f"{QUESTION}\n\n\nMore prose.",
        "Prose.",
        "On we go.",
        "## Solutions",
        ANSWER,
        "```{solution-start} ex-b\n```\n\nLook:",
        "6 * 7",
        "So it is.\n\n```{solution-end}\n```",
        "tell",  # a hidden last cell may tell what a solution computed
    ]


def test_without_solutions_nothing_of_them_is_left():
    left = texts(solutions.part_solutions(tiny_chapter(), keep=False))
    assert left == ["# Title", f"{QUESTION}\n\n\nMore prose.", "Prose.", "On we go.", "tell"]


def test_a_chapter_without_solutions_gets_no_heading():
    plain = notebook(cell("markdown", "title", f"# Title\n\n{QUESTION}"))
    assert solutions.part_solutions(plain) == plain


def test_a_solution_without_an_end_is_an_error():
    endless = notebook(cell("markdown", "a", "```{solution-start} ex-a\n```\n\nOn and on"))
    with pytest.raises(source.BookError, match="does not end"):
        solutions.part_solutions(endless)


@each_chapter
def test_all_of_a_chapter_is_kept_and_no_solution_stays_among_the_questions(chapter):
    before = chapter.notebook
    after = solutions.part_solutions(before)
    lines = [sorted(" ".join(texts(part)).split()) for part in (before, after)]
    extra = solutions.HEADING.split() if len(lines[1]) > len(lines[0]) else []
    assert lines[1] == sorted(lines[0] + extra)
    ids = [part["id"] for part in after["cells"]]
    assert len(set(ids)) == len(ids)
    assert "{solution" not in "".join(texts(solutions.part_solutions(before, keep=False)))


@each_chapter
def test_no_question_refers_to_what_stands_in_a_solution(chapter):
    """Else a build without solutions would not compile."""
    everywhere = "\n".join("\n".join(texts(c.notebook)) for c in CHAPTERS)
    whole = "\n".join(texts(chapter.notebook))
    left = "\n".join(texts(solutions.part_solutions(chapter.notebook, keep=False)))
    names = {name for found in LABEL.findall(whole) for name in found if name}
    kept = {name for found in LABEL.findall(left) for name in found if name}
    outside = everywhere.replace(whole, left)
    for name in names - kept:
        assert f"`{name}`" not in outside


def test_a_stage_without_solutions_has_none(tiny):
    path = tiny / "chapters" / "one.ipynb"
    content = json.loads(path.read_text())
    content["cells"].append(cell("markdown", "ex", f"{QUESTION}\n\n{ANSWER}"))
    path.write_text(json.dumps(content))
    for keep in (True, False):
        pages.stage(tiny, tiny, tiny / "stage", solutions=keep)
        staged = (tiny / "stage" / "chapters" / "one.ipynb").read_text()
        assert ("Because." in staged) == keep
        assert "Why?" in staged
    assert "Because." in path.read_text()


def test_another_value_of_solutions_is_refused(tiny, capsys):
    assert book.main(["build", "--solutions", "no"], root=tiny) == 1
    assert (
        "SOLUTIONS must be 1 (with solutions) or 0 (without), got 'no'" in capsys.readouterr().err
    )
