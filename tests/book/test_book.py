"""The book: its sources are as they should be, and the press does what it promises."""

from __future__ import annotations

import importlib
import json
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

if any(find_spec(name) is None for name in ("ipykernel", "papermill", "tqdm", "yaml")):
    pytest.skip("needs the extra `book`: pip install 'gt2lite[book]'", allow_module_level=True)

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))
book = importlib.import_module("book")
execute = importlib.import_module("press.execute")
pages = importlib.import_module("press.pages")
source = importlib.import_module("press.source")
stamps = importlib.import_module("press.stamps")

CHAPTERS = source.chapters(ROOT)
each_chapter = pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.name)


# The sources


@each_chapter
def test_a_source_has_no_outputs(chapter):
    for cell in chapter.notebook["cells"]:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None


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


# Every chapter, run


@pytest.mark.slow
@each_chapter
def test_a_chapter_runs_under_quick(chapter, quick_run):
    build, failed = quick_run
    assert failed.get(chapter.name) is None
    done = build / "executed" / "quick" / chapter.path.relative_to(ROOT)
    cells = source.read_notebook(done)["cells"]
    assert execute.error_of({"cells": cells}) is None
    for cell in cells:
        for output in cell.get("outputs", []):
            assert output.get("name") != "stderr", f"a stray message: {output['text']}"
            if "image/png" in output.get("data", {}):
                told = cell["metadata"]["mystnb"]
                assert told["figure"]["caption"]
                assert told["figure"]["name"]
                assert told["image"]["alt"]


# The press, on a book of two chapters


def cell(kind, name, text, *tags):
    extra = {"outputs": [], "execution_count": None} if kind == "code" else {}
    metadata = {"tags": list(tags)} if tags else {}
    return {"cell_type": kind, "id": name, "metadata": metadata, "source": text, **extra}


def write_chapter(root, name, code, prose="Prose."):
    cells = [
        cell("markdown", "title", f"# {name}\n\n{prose}"),
        cell("code", "parameters", "seed = 1  # a seed\nrate = 0.5  # a rate", "parameters"),
        cell("code", "work", code),
    ]
    spec = {"display_name": "Python 3", "language": "python", "name": "python3"}
    content = {"cells": cells, "metadata": {"kernelspec": spec}, "nbformat": 4, "nbformat_minor": 5}
    (root / "chapters" / f"{name}.ipynb").write_text(json.dumps(content))


@pytest.fixture
def tiny(tmp_path):
    """A book with two chapters, which need not be good ones."""
    (tmp_path / "chapters").mkdir()
    (tmp_path / "_config.yml").write_text("title: Tiny\n")
    (tmp_path / "index.md").write_text("# Tiny\n")
    (tmp_path / "_toc.yml").write_text(
        "format: jb-book\nroot: index\nchapters:\n- file: chapters/one\n- file: chapters/two\n"
    )
    (tmp_path / "chapters" / "profiles.yml").write_text("full: {}\nquick:\n  one: {seed: 7}\n")
    write_chapter(tmp_path, "one", "print('seed', seed)\nprint('rate', rate)")
    write_chapter(tmp_path, "two", "print('two')")
    return tmp_path


def executed(root, profile, name):
    return root / "_build" / "executed" / profile / "chapters" / f"{name}.ipynb"


def run(root, profile="full"):
    """Run what has to be run; return the names of the chapters that were."""
    files = [executed(root, profile, name) for name in ("one", "two")]
    before = [stamps.stamp_path(f).stat().st_mtime_ns if f.exists() else 0 for f in files]
    assert book.execute(root, root / "_build", profile) == []
    after = [stamps.stamp_path(f).stat().st_mtime_ns for f in files]
    return [f.stem for f, b, a in zip(files, before, after, strict=True) if a != b]


@pytest.mark.slow
def test_a_chapter_runs_again_when_its_code_changes_and_only_then(tiny, capsys):
    assert run(tiny) == ["one", "two"]
    first = executed(tiny, "full", "one").read_bytes()
    assert run(tiny) == []
    assert "unchanged" in capsys.readouterr().out

    write_chapter(tiny, "two", "print('two')", prose="Better prose.")
    assert run(tiny) == []
    pages.stage(tiny, tiny / "_build" / "executed" / "full", tiny / "_build" / "stage", None)
    staged = (tiny / "_build" / "stage" / "chapters" / "two.ipynb").read_text()
    assert "Better prose." in staged
    assert '"two\\n"' in staged, "what the chapter printed is gone"

    write_chapter(tiny, "two", "print('two, changed')")
    assert run(tiny) == ["two"]

    executed(tiny, "full", "one").write_text("{}")  # damaged: no longer what the stamp says
    assert run(tiny) == ["one"]
    assert executed(tiny, "full", "one").read_bytes() == first, "a rerun differs"


@pytest.mark.slow
def test_each_profile_has_its_own_results_and_stamps(tiny):
    run(tiny, "quick")
    printed = executed(tiny, "quick", "one").read_text()
    assert "seed 7\\nrate 0.5\\n" in printed
    assert stamps.read_stamp(executed(tiny, "quick", "one"))["parameters"] == {"seed": 7}
    assert stamps.read_stamp(executed(tiny, "quick", "one"))["seconds"] > 0
    assert not executed(tiny, "full", "one").exists()


@pytest.mark.parametrize("path", ["gt2lite/sets.py", "data/ww.csv", "requirements.lock"])
def test_library_data_and_lock_are_inputs_of_every_chapter(tiny, path):
    (tiny / path).parent.mkdir(exist_ok=True)
    (tiny / path).write_text("1")
    before = stamps.shared_inputs(tiny)
    assert stamps.shared_inputs(tiny) == before
    (tiny / path).write_text("2")
    assert stamps.shared_inputs(tiny) != before


@pytest.mark.slow
def test_a_failure_leaves_its_traceback_where_the_message_says_and_the_rest_goes_on(tiny, capsys):
    write_chapter(tiny, "one", "1 / 0")
    assert book.main(["build"], root=tiny) == 1
    failed = tiny / "_build" / "failed" / "full" / "chapters" / "one.ipynb"
    message = capsys.readouterr().err
    assert "ZeroDivisionError" in message
    assert str(failed) in message
    assert "Traceback" in failed.read_text()
    assert executed(tiny, "full", "two").exists()
    assert not executed(tiny, "full", "one").exists()
    assert not list((tiny / "chapters").glob("*.log"))

    write_chapter(tiny, "one", "1 / 1")
    assert run(tiny) == ["one"]
    assert not failed.exists(), "a chapter that was mended is still listed as failed"


@pytest.mark.slow
def test_one_chapter_runs_with_changed_parameters(tiny, capsys):
    assert book.main(["chapter", "one", "--params", "seed=3 rate=2"], root=tiny) == 0
    (output,) = (tiny / "_build" / "runs").glob("*.ipynb")
    assert str(output) in capsys.readouterr().out
    assert "seed 3\\nrate 2\\n" in output.read_text()
    assert sorted(path.name for path in tiny.iterdir()) == [
        "_build", "_config.yml", "_toc.yml", "chapters", "index.md",
    ]  # fmt: skip


def test_an_unknown_parameter_is_an_error_that_names_the_known_ones(tiny, capsys):
    assert book.main(["chapter", "one", "--params", "sead=3"], root=tiny) == 1
    message = capsys.readouterr().err
    assert "no parameter 'sead'" in message
    assert "'seed', 'rate'" in message


def test_an_unknown_parameter_of_a_profile_is_an_error_too(tiny, capsys):
    (tiny / "chapters" / "profiles.yml").write_text("full: {}\nquick:\n  one: {sead: 7}\n")
    assert book.main(["build", "--profile", "quick"], root=tiny) == 1
    message = capsys.readouterr().err
    assert "profile 'quick'" in message
    assert "'seed', 'rate'" in message


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["chapter", "three"], "there is no chapter 'three', only 'one', 'two'"),
        (["build", "--profile", "fast"], "there is no profile 'fast', only 'full', 'quick'"),
        (["chapter", "one", "--params", "seed"], "must be written name=value, got 'seed'"),
        (["chapter", "one", "--params", "seed=often"], "is of type int (default 1), got 'often'"),
    ],
)
def test_a_slip_on_the_command_line_gets_an_answer(tiny, capsys, arguments, expected):
    assert book.main(arguments, root=tiny) == 1
    assert expected in capsys.readouterr().err


@pytest.mark.parametrize("code", ["a = 1\nb = a + 1", "import os", "a = b = 1", "x, y = 1, 2"])
def test_a_parameters_cell_holds_literals_only(tiny, code):
    path = tiny / "chapters" / "one.ipynb"
    notebook = source.read_notebook(path)
    notebook["cells"][1]["source"] = code
    path.write_text(json.dumps(notebook))
    with pytest.raises(source.BookError, match="name = literal"):
        source.read_chapter(tiny, path)


@pytest.mark.parametrize("tags", [[], [1, 2]])
def test_there_is_one_parameters_cell(tiny, tags):
    path = tiny / "chapters" / "one.ipynb"
    notebook = source.read_notebook(path)
    for index in (1, 2):
        notebook["cells"][index]["metadata"]["tags"] = ["parameters"] if index in tags else []
    path.write_text(json.dumps(notebook))
    with pytest.raises(source.BookError, match=f"one cell tagged 'parameters', it has {len(tags)}"):
        source.read_chapter(tiny, path)


def test_a_missing_chapter_is_an_error_that_names_it(tiny, capsys):
    (tiny / "chapters" / "two.ipynb").unlink()
    assert book.main(["build"], root=tiny) == 1
    assert "_toc.yml names 'chapters/two'" in capsys.readouterr().err


# What a page shows


def test_injected_parameters_are_not_shown_and_the_defaults_are_folded(tiny):
    chapter = source.read_chapter(tiny, tiny / "chapters" / "one.ipynb")
    done = json.loads(json.dumps(chapter.notebook))
    done["cells"][2]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "hello"}]
    done["cells"].insert(2, cell("code", "random", "seed = 7", "injected-parameters"))
    merged = pages.merge(chapter.notebook, execute.normalised(done))
    tags = {c["id"]: c["metadata"].get("tags", []) for c in merged["cells"]}
    assert list(tags) == ["title", "parameters", "injected-parameters", "work"]
    assert "hide-input" in tags["parameters"]
    assert "remove-cell" in tags["injected-parameters"]
    assert merged["cells"][3]["outputs"] == done["cells"][3]["outputs"]


def test_what_differs_from_run_to_run_is_left_out():
    def result(moment, pieces):
        work = cell("code", "work", "print('ab')")
        work["metadata"] = {"papermill": {"start_time": moment}, "execution": {"busy": moment}}
        work["outputs"] = [{"output_type": "stream", "name": "stdout", "text": p} for p in pieces]
        injected = cell("code", f"random-{moment}", "seed = 7", "injected-parameters")
        return {"cells": [injected, work], "metadata": {"papermill": {"start_time": moment}}}

    assert execute.normalised(result(1, [["a\n", "b"]])) == execute.normalised(
        result(2, [["a\n"], "b"])
    )


@pytest.mark.parametrize("banner", ["Only a trial.", None])
def test_a_banner_stands_on_every_page_if_asked_for(tiny, banner):
    (tiny / "_toc.yml").write_text("format: jb-book\nroot: index\n")
    pages.stage(tiny, tiny, tiny / "stage", banner)
    config = (tiny / "stage" / "_config.yml").read_text()
    assert ("announcement: Only a trial." in config) == bool(banner)


@pytest.mark.parametrize(
    "page",
    [
        '<script src="https://host/x.js"></script>',
        '<link rel="stylesheet" href="//host/x.css">',
        '<img src="pic.png" srcset="https://host/pic.png 2x">',
        '<p style="background: url(https://host/pic.png)">',
        "<style>@import 'https://host/x.css';</style>",
    ],
)
def test_a_page_that_loads_from_elsewhere_is_found(tmp_path, page):
    (tmp_path / "index.html").write_text(f"<html>{page}</html>")
    (found,) = pages.outside_fetches(tmp_path)
    assert found.startswith("index.html: ")
    assert "//host/" in found


def test_links_are_fine(tmp_path):
    page = '<a href="https://host/">x</a><link rel="canonical" href="https://host/"><img src="x">'
    (tmp_path / "index.html").write_text(page)
    (tmp_path / "x.css").write_text("a { background: url(pic.png) }")
    assert list(pages.outside_fetches(tmp_path)) == []
