"""The chapters: their sources are as they should be, they show their work, and they run."""

from __future__ import annotations

import ast
import importlib

import pytest
from tinybook import ROOT, cell, notebook

execute = importlib.import_module("builder.execute")
source = importlib.import_module("builder.source")

CHAPTERS = source.chapters(ROOT)
each_chapter = pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.name)
HIDING = {"remove-cell", "remove-input"}
HIDDEN_LINES = 30  # in a chapter: room to tell and tabulate, not to compute


# The sources


@each_chapter
def test_a_source_has_no_outputs(chapter):
    for part in chapter.notebook["cells"]:
        assert not part.get("outputs")
        assert part.get("execution_count") is None


@each_chapter
def test_every_cell_has_an_id(chapter):
    ids = [cell["id"] for cell in chapter.notebook["cells"]]
    assert len(set(ids)) == len(ids)


@each_chapter
def test_every_parameter_has_a_comment(chapter):
    cells = [c for c in chapter.notebook["cells"] if "parameters" in source.tags_of(c)]
    (lines,) = (source.text_of(cell).splitlines() for cell in cells)
    assert all("#" in line for line in lines if "=" in line)


@each_chapter
def test_code_in_a_chapter_is_short_and_defines_no_long_function(chapter):
    for code in chapter.code:
        assert len(code.splitlines()) <= 20
        assert "class " not in code


def test_the_table_of_contents_and_the_folder_name_the_same_chapters():
    listed = {path for path in source.documents(ROOT) if path.parent.name == "chapters"}
    present = {path for path in (ROOT / "chapters").iterdir() if path.suffix in (".md", ".ipynb")}
    assert listed == present


@pytest.mark.parametrize("profile", source.profiles(ROOT))
def test_profiles_name_known_chapters_and_parameters(profile):
    assert set(source.profile_parameters(ROOT, CHAPTERS, profile)) == {c.name for c in CHAPTERS}


def test_the_full_profile_is_the_defaults():
    assert source.profiles(ROOT)["full"] == {}


# What a reader does not see


def nodes_of(content):
    """Return the syntax of a notebook's code, magics left out: what is shown, what is hidden."""
    shown, hidden = [], []
    for part in content["cells"]:
        if part["cell_type"] == "code":
            lines = source.text_of(part).splitlines()
            code = "\n".join(line for line in lines if not line.lstrip().startswith(("%", "!")))
            nodes = hidden if HIDING & set(source.tags_of(part)) else shown
            nodes += ast.walk(ast.parse(code))
    return shown, hidden


def hidden_lines(content):
    """Return how many lines of code, blank ones apart, no page shows."""
    cells = [part for part in content["cells"] if part["cell_type"] == "code"]
    hidden = [source.text_of(part) for part in cells if HIDING & set(source.tags_of(part))]
    return sum(bool(line.strip()) for code in hidden for line in code.splitlines())


def imported(nodes):
    """Yield the names that imports bind."""
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)


def complaints(content):
    """Return what a notebook does behind its reader's back."""
    shown, hidden = nodes_of(content)
    count = hidden_lines(content)
    found = [f"{count} hidden lines"] if count > HIDDEN_LINES else []
    definitions = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    found += [f"hidden definition of {n.name}" for n in hidden if isinstance(n, definitions)]
    used = {node.id for node in shown if isinstance(node, ast.Name)}
    unused = [name for name in imported(shown) if name not in used]
    found += [f"import of {name} without visible use" for name in unused]
    called = [node.func for node in [*shown, *hidden] if isinstance(node, ast.Call)]
    names = {getattr(call, "id", getattr(call, "attr", "")) for call in called}
    return found + ["a call of glue"] * ("glue" in names)


@each_chapter
def test_a_chapter_shows_its_work(chapter):
    assert complaints(chapter.notebook) == []


GOOD = "import numpy as np\nfrom study.pages import tell, table\nx = np.ones(3)\ntell\ntable"


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ([], []),
        ([("\n\n".join(["a = 1"] * 30), "remove-cell")], []),
        ([("a = 1\n" * 20, "remove-cell"), ("a = 1\n" * 11, "remove-input")], ["31 hidden lines"]),
        ([("a = 1\n" * 40, "hide-input")], []),  # folded, and a click shows it
        ([("def f():\n    pass", "remove-cell")], ["hidden definition of f"]),
        ([("class C:\n    pass", "remove-input")], ["hidden definition of C"]),
        ([("def f():\n    pass",)], []),
        ([("%matplotlib inline\nimport math",)], ["import of math without visible use"]),
        ([("import math",), ("math.pi", "remove-cell")], ["import of math without visible use"]),
        ([("import os.path as p",), ("p.sep",)], []),
        ([("from a import b as c",), ("b",)], ["import of c without visible use"]),
        ([("import json\njson.dumps(1)", "remove-cell")], []),
        ([("from myst_nb import glue\nglue('a', 1)", "remove-cell")], ["a call of glue"]),
        ([("import myst_nb\nmyst_nb.glue('a', 1)",)], ["a call of glue"]),
    ],
)
def test_what_is_done_behind_a_readers_back_is_found(cells, expected):
    planted = [cell("code", f"c{i}", code, *tags) for i, (code, *tags) in enumerate(cells)]
    content = notebook(cell("markdown", "title", "# Title"), cell("code", "good", GOOD), *planted)
    assert complaints(content) == expected


# Every chapter, run


@pytest.mark.slow
@each_chapter
def test_a_chapter_runs_under_quick(chapter, quick_run):
    build, failed = quick_run
    assert failed.get(chapter.name) is None
    done = build / "executed" / "quick" / chapter.path.relative_to(ROOT)
    cells = source.read_notebook(done)["cells"]
    assert execute.error_of({"cells": cells}) is None
    for part in cells:
        for output in part.get("outputs", []):
            assert output.get("name") != "stderr", f"a stray message: {output['text']}"
            data = output.get("data", {})
            moves = "gt2-live" in "".join(data.get("text/html", ""))  # it brings words of its own
            if "image/png" in data or moves:
                told = part["metadata"]["mystnb"]
                assert told["figure"]["caption"]
                assert told["figure"]["name"]
                assert moves or told["image"]["alt"]
