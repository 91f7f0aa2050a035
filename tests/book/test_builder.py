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
    def staged(name):
        return (pages.stage(tiny, "quick") / "chapters" / f"{name}.ipynb").read_text()

    assert run(tiny, capsys) == ["one", "two"]
    first = staged("one")
    assert '"seed 7\\nrate 0.5\\n"' in first, "the profile's parameter has not arrived"
    tags = {part["id"]: source.tags_of(part) for part in json.loads(first)["cells"]}
    assert list(tags) == ["title", "how-to-run", "parameters", "injected-parameters", "work"]
    assert "hide-input" in tags["parameters"]
    assert "remove-cell" in tags["injected-parameters"]
    write_chapter(tiny, "two", "print('two')", prose="Better prose.")
    assert run(tiny, capsys) == []
    assert "Better prose." in staged("two")
    assert '"two\\n"' in staged("two"), "the output of the chapter is gone"

    write_chapter(tiny, "two", "1 / 0")
    assert book.main(["build", "--profile", "quick"], root=tiny) == 1
    failed = tiny / "_build" / "failed" / "quick" / "chapters" / "two.ipynb"
    message = capsys.readouterr().err
    assert "ZeroDivisionError" in message
    assert str(failed.relative_to(tiny)) in message
    assert "Traceback" in failed.read_text()

    write_chapter(tiny, "two", "1 / 1")
    (tiny / "_build" / "executed" / "quick" / "chapters" / "one.ipynb").unlink()
    assert run(tiny, capsys) == ["one", "two"]
    assert not failed.exists()
    assert staged("one") == first, "a second run differs"


def test_code_parameters_library_study_data_and_lock_are_inputs_of_a_chapter(tiny):
    def fingerprint(seed):
        chapter = source.find_chapter(tiny, "one")
        inputs = execute.shared_inputs(tiny)
        return execute.Job(chapter, {"seed": seed}, tiny, tiny, inputs).fingerprint()

    assert fingerprint(1) == fingerprint(1)
    seen = [fingerprint(1), fingerprint(2)]
    for path in ("gt2lite/sets.py", "study/cells.py", "data/ww.csv", "requirements.lock"):
        (tiny / path).parent.mkdir(exist_ok=True)
        for text in "12":
            (tiny / path).write_text(text)
            seen.append(fingerprint(1))
    write_chapter(tiny, "one", "2")
    seen.append(fingerprint(1))
    assert len(set(seen)) == len(seen)


@pytest.mark.slow
def test_a_warning_is_an_error_and_the_pages_are_there_to_look_at(tiny, capsys):
    (tiny / "index.md").write_text("# Tiny\n\n{doc}`nowhere`\n")
    assert book.main(["build", "--profile", "quick"], root=tiny) == 1
    assert re.search(r"WARNING.*nowhere", capsys.readouterr().err)
    text = (tiny / "_build" / "html" / "chapters" / "one.html").read_text()
    assert "make chapter NAME=one" in re.sub(r"<[^>]*>", "", text)
    assert pages.QUICK_BANNER in text
    assert "mybinder" not in text, "there is no address to launch from"


# ------------------------------------------------------------------------------- paper


@pytest.mark.parametrize(("paper", "figure"), [(False, "image/png"), (True, "image/svg+xml")])
@pytest.mark.parametrize("before", ["", "application/papermill.record/"])  # shown, or glued
def test_pages_show_figures_as_pixels_and_fold_code_and_paper_has_vectors_without(
    paper, figure, before
):
    both = {f"{before}{form}": "" for form in ("image/png", "image/svg+xml", "text/plain")}
    code = cell("code", "folded", "plot()", "hide-input")
    drawn = {**code, "outputs": [{"output_type": "display_data", "data": dict(both)}]}
    [merged] = pages.merge(notebook(code), notebook(drawn), paper)["cells"]
    assert merged["outputs"][0]["data"].keys() == {before + figure, f"{before}text/plain"}
    assert source.tags_of(merged) == ["remove-input" if paper else "hide-input"]


# --------------------------------------------------------------------------- solutions


def texts(content):
    return [part["source"] for part in content["cells"]]


def test_solutions_move_to_the_end_in_their_order_or_are_left_out():
    chapter = notebook(
        cell("markdown", "title", "# Title"),
        cell("markdown", "answer", "Because.", "solution"),
        cell("markdown", "prose", "More prose."),
        cell("code", "work", "6 * 7", "solution"),
        cell("code", "facts", "glue", "remove-cell"),
    )
    moved = ["# Title", "More prose.", "## Solutions", "Because.", "6 * 7", "glue"]
    assert texts(pages.move_solutions(chapter)) == moved
    assert texts(pages.move_solutions(chapter, keep=False)) == ["# Title", "More prose.", "glue"]


LABEL = re.compile(r"^:(?:label|name): *(\S+)|\((\S+)\)=$|\$\$ \((\S+)\)$", re.MULTILINE)


def test_solutions_of_the_book_are_tagged_and_no_question_refers_to_one():
    """Otherwise a build without solutions would not compile."""
    chapters = [chapter.notebook for chapter in source.chapters(ROOT)]
    whole = "\n".join(text for content in chapters for text in texts(content))
    without = [pages.move_solutions(content, keep=False) for content in chapters]
    left = "\n".join(text for content in without for text in texts(content))
    assert "{solution" in whole
    assert "{solution" not in left
    labels, kept = ({n for f in LABEL.findall(text) for n in f if n} for text in (whole, left))
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
    if remote:
        run = {"cwd": tiny, "check": True, "env": {"PATH": os.environ["PATH"]}}
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
    monkeypatch.setenv("GT2LITE_REPOSITORY", "https://github.com/me/mine")  # comes first
    assert pages.github_address(tiny) == "https://github.com/me/mine"
    monkeypatch.setenv("GT2LITE_REPOSITORY", "mine")
    with pytest.raises(source.BookError, match="GT2LITE_REPOSITORY"):
        pages.github_address(tiny)


@pytest.mark.slow
def test_launch_buttons_open_the_chapter_and_a_page_names_the_releases(tiny, monkeypatch):
    address = "https://github.com/owner/name"
    monkeypatch.setenv("GT2LITE_REPOSITORY", address)
    (tiny / "index.md").write_text("# Tiny\n\nEach {{ release }} has it.\n")
    assert book.main(["build", "--profile", "quick"], root=tiny) == 0
    page, index = (tiny / "_build" / "html" / name for name in ("chapters/one.html", "index.html"))
    links = re.findall(r'href="(https://[^"]*(?:binder|colab)[^"]*)"', page.read_text("utf-8"))
    assert {link.replace("%2F", "/") for link in links} == {
        "https://mybinder.org/v2/gh/owner/name/main?urlpath=lab/tree/chapters/one.ipynb",
        "https://colab.research.google.com/github/owner/name/blob/main/chapters/one.ipynb",
    }
    assert f'href="{address}/releases"' in index.read_text("utf-8")


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


def test_every_load_from_another_host_is_found_and_links_and_texts_are_harmless(tmp_path):
    (tmp_path / "index.html").write_text("\n".join(LOADS))
    (tmp_path / "x.css").write_text(f"p {{ background: url(http://{HOST}/x.png) }}")
    (tmp_path / "x.js").write_text(f"fetch('http://{HOST}/')")
    (tmp_path / "harmless.html").write_text(HARMLESS)
    found = list(offline.outside_loads(tmp_path))
    assert len(found) == len(LOADS) + 2
    assert all(HOST in address for address in found)
