"""The book builder on a book of two chapters: sources, execution, pages, solutions, addresses."""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess

import pytest
from tinybook import ROOT, cell, notebook, write_chapter

book = importlib.import_module("book")
execute = importlib.import_module("builder.execute")
offline = importlib.import_module("builder.offline")
pages = importlib.import_module("builder.pages")
source = importlib.import_module("builder.source")

# --------------------------------------------------------------------------- execution


def run(root, capsys):
    """Run what has to be run; return the names of the chapters that were."""
    book.execute(root, "quick")
    lines = capsys.readouterr().out.splitlines()
    return sorted(line.split()[0] for line in lines if "unchanged" not in line)


@pytest.mark.slow
def test_a_chapter_runs_again_if_its_code_changed_or_it_failed(tiny, capsys):
    done = tiny / "_build" / "executed" / "quick"
    assert run(tiny, capsys) == ["one", "two"]
    first = (done / "chapters" / "one.ipynb").read_bytes()
    assert b"seed 7\\nrate 0.5\\n" in first, "the profile's parameter has not arrived"
    write_chapter(tiny, "two", "print('two')", prose="Better prose.")
    assert run(tiny, capsys) == []
    pages.stage(tiny, done, tiny / "stage")
    staged = (tiny / "stage" / "chapters" / "two.ipynb").read_text()
    assert "Better prose." in staged
    assert '"two\\n"' in staged, "the output of the chapter is gone"

    write_chapter(tiny, "two", "1 / 0")
    assert book.main(["build", "--profile", "quick"], root=tiny) == 1
    failed = tiny / "_build" / "failed" / "quick" / "chapters" / "two.ipynb"
    message = capsys.readouterr().err
    assert "ZeroDivisionError" in message
    assert str(failed) in message
    assert "Traceback" in failed.read_text()

    write_chapter(tiny, "two", "1 / 1")
    (done / "chapters" / "one.ipynb").unlink()
    assert run(tiny, capsys) == ["one", "two"]
    assert not failed.exists()
    assert (done / "chapters" / "one.ipynb").read_bytes() == first, "a second run differs"


@pytest.mark.parametrize(
    "path", ["gt2lite/sets.py", "study/cells.py", "data/ww.csv", "requirements.lock"]
)
def test_library_study_data_and_lock_are_inputs_of_every_chapter(tiny, path):
    (tiny / path).parent.mkdir(exist_ok=True)
    (tiny / path).write_text("1")
    before = execute.shared_inputs(tiny)
    assert execute.shared_inputs(tiny) == before
    (tiny / path).write_text("2")
    assert execute.shared_inputs(tiny) != before


def test_a_stamp_is_of_one_state_of_the_inputs(tiny):
    chapter, output = source.find_chapter(tiny, "one"), tiny / "one.ipynb"
    job = execute.Job(chapter, {"seed": 2}, output, output)
    execute.write_notebook(output, chapter.notebook)
    assert not execute.is_current(job, "inputs")
    execute.write_stamp(job, 1.0, "inputs")
    assert execute.is_current(job, "inputs")
    assert not execute.is_current(job, "others")
    assert not execute.is_current(execute.Job(chapter, {"seed": 3}, output, output), "inputs")


# ------------------------------------------------------------------------------- pages


def test_injected_parameters_are_hidden_and_the_defaults_are_folded(tiny):
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
    assert chapter.notebook["cells"][2]["outputs"] == [], "the source itself was changed"


@pytest.mark.slow
def test_a_warning_is_an_error_and_the_pages_are_there_to_look_at(tiny):
    stage, build = tiny / "_build" / "stage", tiny / "_build"
    (tiny / "index.md").write_text("# Tiny\n\n{doc}`nowhere`\n")
    pages.stage(tiny, tiny, stage, banner="Quick!")
    with pytest.raises(source.BookError, match=r"WARNING.*nowhere"):
        pages.compile_pages(stage, build)
    text = (build / "html" / "chapters" / "one.html").read_text()
    assert "make chapter NAME=one" in re.sub(r"<[^>]*>", "", text)
    assert "Quick!" in text
    assert "mybinder" not in text, "there is no address to launch from"


# --------------------------------------------------------------------------- solutions

QUESTION = "```{exercise}\n:label: ex-a\n\nWhy?\n```"
ANSWER = "```{solution} ex-a\n:class: dropdown\n\nBecause.\n```"


def texts(content):
    return [part["source"] for part in content["cells"]]


def test_solutions_move_to_the_end_in_their_order_or_are_left_out():
    chapter = notebook(
        cell("markdown", "title", "# Title"),
        cell("markdown", "both", f"{QUESTION}\n\n{ANSWER}\n\nMore prose."),
        cell("markdown", "start", "Prose.\n\n```{solution-start} ex-b\n```\n\nLook:"),
        cell("code", "work", "6 * 7"),
        cell("markdown", "end", "So it is.\n\n```{solution-end}\n```\n\nOn we go."),
        cell("code", "facts", "glue", "remove-cell"),
    )
    questions = ["# Title", f"{QUESTION}\n\nMore prose.", "Prose.", "On we go."]
    solutions = [
        "## Solutions",
        ANSWER,
        "```{solution-start} ex-b\n```\n\nLook:",
        "6 * 7",
        "So it is.\n\n```{solution-end}\n```",
    ]
    assert texts(pages.move_solutions(chapter)) == [*questions, *solutions, "glue"]
    assert texts(pages.move_solutions(chapter, keep=False)) == [*questions, "glue"]
    with pytest.raises(source.BookError, match="does not end"):
        pages.move_solutions(notebook(*chapter["cells"][:3]))


LABEL = re.compile(r"^:(?:label|name): *(\S+)|\((\S+)\)=$|\$\$ \((\S+)\)$", re.MULTILINE)


def test_no_question_of_the_book_refers_to_a_solution():
    """Otherwise a build without solutions would not compile."""
    chapters = source.chapters(ROOT)
    without = [pages.move_solutions(c.notebook, keep=False) for c in chapters]
    left = "\n".join(text for content in without for text in texts(content))
    assert "{solution" not in left
    whole = "\n".join(text for chapter in chapters for text in texts(chapter.notebook))
    labels = {name for found in LABEL.findall(whole) for name in found if name}
    kept = {name for found in LABEL.findall(left) for name in found if name}
    assert [name for name in labels - kept if f"`{name}`" in left] == []


# ----------------------------------------------------------------------------- address

REMOTES = {
    "https://github.com/owner/name": True,
    "https://user:secret@github.com/owner/name.git/": True,
    "git@github.com:owner/name.git": True,
    "ssh://git@github.com/owner/name.git": True,
    "": False,
    "/srv/owner/name.git": False,
    "http://github.com/owner/name": False,  # readers would run what comes unencrypted
    "https://example.org/owner/name": False,
    'https://github.com/owner/"name': False,
}


@pytest.mark.parametrize("remote", REMOTES)
def test_only_a_remote_on_github_gets_buttons_and_the_lines_for_colab(tiny, monkeypatch, remote):
    monkeypatch.delenv("GT2LITE_REPOSITORY", raising=False)
    run = {"cwd": tiny, "check": True, "env": {"PATH": os.environ["PATH"]}}
    if remote:
        subprocess.run(["git", "init", "-q"], **run)
        subprocess.run(["git", "remote", "add", "origin", remote], **run)
    address, known, config = pages.github_address(tiny), REMOTES[remote], {}
    assert address == ("https://github.com/owner/name" if known else None)
    pages.configure(config, address)
    assert ("launch_buttons" in config) == known
    assert config["repository"]["url"] == (address or "")
    note = pages.how_to_run(source.find_chapter(tiny, "one"), address)
    assert 'make chapter NAME=one PARAMS="seed=1"' in note
    assert ("!git clone -q https://github.com/owner/name" in note) == known


def test_an_address_that_is_given_comes_first_and_must_be_one(tiny, monkeypatch):
    monkeypatch.setenv("GT2LITE_REPOSITORY", "https://github.com/me/mine")
    assert pages.github_address(ROOT) == "https://github.com/me/mine"
    monkeypatch.setenv("GT2LITE_REPOSITORY", "mine")
    with pytest.raises(source.BookError, match="GT2LITE_REPOSITORY"):
        pages.github_address(ROOT)


# ----------------------------------------------------------------------------- offline

HOST = "outside.test"
LOADS = [
    f'<img src="https://{HOST}/x.png">',
    f'<img src="x.png" srcset="x.png 1x, http://{HOST}/x.png 2x">',
    rf'<img src="\\{HOST}\x.png">',
    f'<img src="https:{HOST}/x.png">',
    f'<p style="background: url(http://{HOST}/x.png)">x</p>',
    f"<style>@import url(http://{HOST}/x.css);</style>",
    f'<link rel="preload" as="image" href="http://{HOST}/x.png">',
    f'<img src="none.png" onerror="fetch(\'http://{HOST}/\')">',
    f"<script>new WebSocket('ws://{HOST}/')</script>",
    f"<script>new Image().src = 'http://{HOST}/x.png'</script>",
]
HARMLESS = """
<a href="https://host/" title="https://host/">x</a><link rel="canonical" href="https://host/">
<svg xmlns="http://www.w3.org/2000/svg"><a xlink:href="https://host/"><g fill="url(#x)"/></a></svg>
<img src="data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg'/>" srcset="a.png 1x, b.png 2x">
<p style="background: url(pic.png)" onclick="location.href = 'next.html'">https://host/</p>
<script>const home = "https://host/"; fetch("x.json"); // see https://host/</script>
"""


def test_every_load_from_another_host_is_found(tmp_path):
    (tmp_path / "index.html").write_text("\n".join(LOADS))
    (tmp_path / "x.css").write_text(f"p {{ background: url(http://{HOST}/x.png) }}")
    (tmp_path / "x.js").write_text(f"fetch('http://{HOST}/')")
    found = list(offline.outside_loads(tmp_path))
    assert len(found) == len(LOADS) + 2
    assert all(HOST in address for address in found)


def test_links_names_and_texts_are_harmless(tmp_path):
    (tmp_path / "index.html").write_text(HARMLESS)
    assert list(offline.outside_loads(tmp_path)) == []
