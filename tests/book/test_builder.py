"""The book builder on a book of two chapters: sources, execution, pages, solutions, addresses."""

from __future__ import annotations

import importlib
import json
import re

import pytest
import yaml
from tinybook import ROOT, cell, compiled, notebook, write_book, write_chapter

book = importlib.import_module("book")
execute = importlib.import_module("builder.execute")
offline = importlib.import_module("builder.offline")
pages = importlib.import_module("builder.pages")
source = importlib.import_module("builder.source")

# --------------------------------------------------------------------------- execution


def executed(root, profile, name):
    return root / "_build" / "executed" / profile / "chapters" / f"{name}.ipynb"


def run(root, capsys, profile="full"):
    """Run what has to be run; return the names of the chapters that were."""
    assert book.execute(root, root / "_build", profile) == []
    lines = capsys.readouterr().out.splitlines()
    return sorted(line.split()[0] for line in lines if "unchanged" not in line)


@pytest.mark.slow
def test_a_chapter_runs_again_if_its_code_changed_or_it_failed(tiny, capsys):
    assert run(tiny, capsys) == ["one", "two"]
    first = executed(tiny, "full", "one").read_bytes()
    assert run(tiny, capsys) == []

    write_chapter(tiny, "two", "print('two')", prose="Better prose.")
    assert run(tiny, capsys) == []
    pages.stage(tiny, tiny / "_build" / "executed" / "full", tiny / "_build" / "stage")
    staged = (tiny / "_build" / "stage" / "chapters" / "two.ipynb").read_text()
    assert "Better prose." in staged
    assert '"two\\n"' in staged, "the output of the chapter is gone"

    write_chapter(tiny, "two", "1 / 0")
    assert book.main(["build"], root=tiny) == 1
    failed = tiny / "_build" / "failed" / "full" / "chapters" / "two.ipynb"
    message = capsys.readouterr().err
    assert "ZeroDivisionError" in message
    assert str(failed) in message
    assert "Traceback" in failed.read_text()

    write_chapter(tiny, "two", "1 / 1")
    assert run(tiny, capsys) == ["two"]
    assert not failed.exists()
    executed(tiny, "full", "one").unlink()
    assert run(tiny, capsys) == ["one"]
    assert executed(tiny, "full", "one").read_bytes() == first, "a second run differs"


@pytest.mark.slow
def test_a_profile_changes_parameters_and_has_its_own_results(tiny, capsys):
    run(tiny, capsys, "quick")
    assert "seed 7\\nrate 0.5\\n" in executed(tiny, "quick", "one").read_text()
    assert not executed(tiny, "full", "one").exists()


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


@pytest.mark.parametrize("damage", ["", "{inputs", "[1, 2]", '{"inputs": 3}'])
def test_a_damaged_stamp_counts_as_none(tiny, damage):
    chapter = source.find_chapter(tiny, "one")
    output = tiny / "_build" / "one.ipynb"
    job = execute.Job(chapter, {}, output, output)
    execute.write_notebook(output, chapter.notebook)
    execute.write_stamp(execute.ChapterRun(job, 1.0, None), "inputs")
    assert execute.is_current(job, "inputs")
    assert not execute.is_current(job, "others")
    output.with_suffix(".stamp.json").write_text(damage)
    assert not execute.is_current(job, "inputs")


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


TABLE = r""":::{table} Of {doc}`two`, `code` and $\alpha$.
:name: tab-x

| $\alpha$ | b |
|:---|--:|
| 1 | a \| b |
:::
"""


@pytest.mark.slow
def test_a_table_from_a_cell_is_numbered_and_pages_without_address_have_no_buttons(tmp_path):
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    ours = {key: config["sphinx"]["config"][key] for key in ("nb_render_markdown_format", "numfig")}
    tiny = {"title": "Tiny", "parse": config["parse"], "execute": {"execute_notebooks": "off"}}
    write_book(tmp_path, yaml.safe_dump(tiny | {"sphinx": {"config": ours}}))
    parameters = cell("code", "parameters", "seed = 1  # a seed", "parameters")
    shown = cell("code", "shown", "table()", "remove-input")
    data = {"text/markdown": TABLE, "text/plain": "a table"}
    shown["outputs"] = [{"output_type": "display_data", "metadata": {}, "data": data}]
    for name, cells in {"one": [shown], "two": []}.items():
        title = cell("markdown", "title", f"# {name}\n\nSee {{numref}}`tab-x`.")
        content = json.dumps(notebook(title, parameters, *cells))
        (tmp_path / "chapters" / f"{name}.ipynb").write_text(content)
    html = compiled(tmp_path)
    texts = [(html / "chapters" / f"{name}.html").read_text() for name in ("one", "two")]
    assert '<table class="table" id="tab-x">' in texts[0]
    number = re.search(r'caption-number">(Table \d+) </span>', texts[0])[1]
    linked = rf'href="[\w.]*#tab-x"><span class="std std-numref">{number}</span>'
    assert sum(len(re.findall(linked, text)) for text in texts) == 2
    assert "make chapter NAME=one" in re.sub(r"<[^>]*>", "", texts[0])
    assert "mybinder" not in texts[0]


# --------------------------------------------------------------------------- solutions

QUESTION = "```{exercise}\n:label: ex-a\n\nWhy?\n```"
ANSWER = "```{solution} ex-a\n:class: dropdown\n\nBecause.\n```"


def texts(content):
    return [source.text_of(part) for part in content["cells"]]


def test_solutions_move_to_the_end_in_their_order_or_are_left_out():
    chapter = notebook(
        cell("markdown", "title", "# Title"),
        cell("markdown", "both", f"{QUESTION}\n\n{ANSWER}\n\nMore prose."),
        cell("markdown", "start", "Prose.\n\n```{solution-start} ex-b\n```\n\nLook:"),
        cell("code", "work", "6 * 7"),
        cell("markdown", "end", "So it is.\n\n```{solution-end}\n```\n\nOn we go."),
        cell("code", "facts", "glue", "remove-cell"),
    )
    questions = ["# Title", f"{QUESTION}\n\n\nMore prose.", "Prose.", "On we go."]
    solutions = [
        "## Solutions",
        ANSWER,
        "```{solution-start} ex-b\n```\n\nLook:",
        "6 * 7",
        "So it is.\n\n```{solution-end}\n```",
    ]
    assert texts(pages.move_solutions(chapter)) == [*questions, *solutions, "glue"]
    assert texts(pages.move_solutions(chapter, keep=False)) == [*questions, "glue"]


def test_a_solution_without_an_end_is_an_error():
    endless = notebook(cell("markdown", "a", "```{solution-start} ex-a\n```\n\nOn and on"))
    with pytest.raises(source.BookError, match="does not end"):
        pages.move_solutions(endless)


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

CI = {"GITHUB_SERVER_URL": "https://github.com", "GITHUB_REPOSITORY": "someone/fork"}


def test_the_address_comes_from_the_override_then_from_ci(tmp_path):
    given = CI | {"GT2LITE_REPOSITORY": "https://git.example.org/me/mine"}
    assert pages.repository_address(tmp_path, given) == "https://git.example.org/me/mine"
    assert pages.repository_address(tmp_path, CI) == "https://github.com/someone/fork"
    assert pages.repository_address(tmp_path, {}) is None
    with pytest.raises(source.BookError, match="GT2LITE_REPOSITORY"):
        pages.repository_address(tmp_path, {"GT2LITE_REPOSITORY": "mine"})


@pytest.mark.parametrize(
    "remote",
    [
        "https://example.org/owner/name",
        "https://example.org/owner/name.git/",
        "https://user:secret@example.org/owner/name.git",
        "git@example.org:owner/name.git",
        "ssh://git@example.org:22/owner/name.git",
    ],
)
def test_a_remote_on_the_web_gives_its_page_without_credentials(remote):
    assert pages.web_address(remote) == "https://example.org/owner/name"


@pytest.mark.parametrize(
    "remote",
    [
        "/srv/owner/name.git",
        "file:///srv/owner/name",
        "http://example.org/owner/name",  # readers would run what comes unencrypted
        "https://localhost:8080/owner/name",
        "https://example.org/name",
        'https://example.org/owner/"name',
    ],
)
def test_another_remote_gives_none(remote):
    assert pages.web_address(remote) is None


@pytest.mark.parametrize(
    ("address", "buttons"),
    [(None, False), ("https://git.example.org/a/b", False), ("https://github.com/a/b", True)],
)
def test_only_github_gets_buttons_and_the_lines_for_colab(tiny, address, buttons):
    config = {}
    pages.configure(config, address)
    assert ("launch_buttons" in config) == buttons
    assert config["repository"]["url"] == (address if buttons else "")
    note = pages.how_to_run(source.find_chapter(tiny, "one"), address)
    assert 'make chapter NAME=one PARAMS="seed=1"' in note
    assert ("!git clone -q https://github.com/a/b" in note) == buttons


# ----------------------------------------------------------------------------- offline

HOST = "outside.test"
LOADS = [
    f'<img src="https://{HOST}/x.png">',
    f'<img src="x.png" srcset="x.png 1x, http://{HOST}/x.png 2x">',
    rf'<img src="\\{HOST}\x.png">',
    f'<img src="https:{HOST}/x.png">',
    f'<base href="http://{HOST}/"><img src="x.png">',
    f'<meta http-equiv="refresh" content="0; url=http://{HOST}/">',
    f'<p style="background: url(http://{HOST}/x.png)">x</p>',
    f"<style>@import url(http://{HOST}/x.css);</style>",
    f'<link rel="preload" as="image" href="http://{HOST}/x.png">',
    f"<iframe srcdoc=\"<img src='http://{HOST}/x.png'>\"></iframe>",
    f'<svg><use href="http://{HOST}/x.svg#x"/></svg>',
    f'<object data="http://{HOST}/x.svg"></object>',
    f'<form action="http://{HOST}/"></form>',
    f'<a href="#x" ping="http://{HOST}/">x</a>',
    f'<img src="none.png" onerror="fetch(\'http://{HOST}/\')">',
    f"<script>import('http://{HOST}/x.js')</script>",
    f"<script>new WebSocket('ws://{HOST}/')</script>",
    f"<script>new Image().src = 'http://{HOST}/x.png'</script>",
]
HARMLESS = """
<a href="https://host/">x</a><a href="#x" title="https://host/">x</a>
<link rel="canonical" href="https://host/"><img src="x.png" alt="http://host/">
<svg xmlns="http://www.w3.org/2000/svg"><a xlink:href="https://host/"><g fill="url(#x)"/></a></svg>
<meta property="og:url" content="https://host/"><meta http-equiv="refresh" content="5; url=x.html">
<form action="search.html"><input value="https://host/"></form>
<img src="data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg'/>" srcset="a.png 1x, b.png 2x">
<p style="background: url(pic.png)" onclick="location.href = 'next.html'">https://host/</p>
<script>const home = "https://host/"; // see https://host/
document.createElementNS("http://www.w3.org/2000/svg", "g"); fetch("x.json");</script>
"""


@pytest.mark.parametrize("form", LOADS)
def test_a_page_that_loads_from_another_host_is_found(tmp_path, form):
    (tmp_path / "index.html").write_text(form)
    found = list(offline.outside_loads(tmp_path))
    assert found
    assert all(HOST in address for address in found)


def test_style_sheets_and_scripts_are_read_too(tmp_path):
    (tmp_path / "x.css").write_text(f"p {{ background: url(http://{HOST}/x.png) }}")
    (tmp_path / "x.js").write_text(f"fetch('http://{HOST}/')")
    assert len(list(offline.outside_loads(tmp_path))) == 2


def test_links_names_and_texts_are_harmless(tmp_path):
    (tmp_path / "index.html").write_text(HARMLESS)
    assert list(offline.outside_loads(tmp_path)) == []
