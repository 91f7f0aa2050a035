"""The press does what it promises, on a book of two chapters."""

from __future__ import annotations

import importlib
import json

import pytest
from tinybook import cell, write_chapter

book = importlib.import_module("book")
execute = importlib.import_module("builder.execute")
pages = importlib.import_module("builder.pages")
source = importlib.import_module("builder.source")
stamps = importlib.import_module("builder.execute")


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


def test_what_the_command_line_leaves_open_the_environment_may_say(tiny, capsys, monkeypatch):
    monkeypatch.setenv("NAME", "one")
    monkeypatch.setenv("PARAMS", "seed='it''s'")
    assert book.main(["chapter"], root=tiny) == 1
    assert "'seed' of chapter 'one' is of type int" in capsys.readouterr().err
    monkeypatch.setenv("PROFILE", "slow")
    assert book.main(["build"], root=tiny) == 1
    assert "there is no profile 'slow'" in capsys.readouterr().err


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
        (["chapter"], "which chapter? For example: make chapter NAME=one"),
        (["chapter", "three"], "there is no chapter 'three', only 'one', 'two'"),
        (["build", "--profile", "fast"], "there is no profile 'fast', only 'full', 'quick'"),
        (["chapter", "one", "--params", "seed"], "must be written name=value, got 'seed'"),
        (["chapter", "one", "--params", "seed=often"], "is of type int (default 1), got 'often'"),
    ],
)
def test_a_slip_on_the_command_line_gets_an_answer(tiny, capsys, monkeypatch, arguments, expected):
    for name in ("NAME", "PARAMS", "PROFILE"):  # as make may have set them
        monkeypatch.delenv(name, raising=False)
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
