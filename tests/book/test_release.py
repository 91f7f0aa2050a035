"""A release, slides and the copies for JupyterLab."""

from __future__ import annotations

import hashlib
import importlib
import json
import re
import shutil
import zipfile
from types import SimpleNamespace

import pytest
from tinybook import ROOT, write_chapter

book = importlib.import_module("book")
browser = importlib.import_module("builder.browser")
lab = importlib.import_module("builder.lab")
release = importlib.import_module("release")
slides = importlib.import_module("builder.slides")
source = importlib.import_module("builder.source")

# ----------------------------------------------------------------------------- release


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project whose book, PDF and wheel are small files, made in an instant."""
    for name in ("chapters/lab.ipynb", "study/lab.py"):
        (tmp_path / name).parent.mkdir()
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "CITATION.cff", tmp_path)

    def try_out(root, dist):
        dist.mkdir()
        (dist / "gt2lite-1-py3-none-any.whl").write_text("wheel")

    def build_book(root, profile, solutions):
        (root / "html" / "chapters").mkdir(parents=True)
        for name in ("index.html", "chapters/one.html"):
            (root / "html" / name).write_text(name)
        return root / "html"

    monkeypatch.setattr(release, "try_out", try_out)
    monkeypatch.setattr(release.subprocess, "run", lambda *_, **__: SimpleNamespace(returncode=0))
    monkeypatch.setattr(book, "build_book", build_book)
    monkeypatch.setattr(release.browser, "find_chromium", lambda: None)
    return tmp_path


def test_metadata_for_archives_are_those_of_the_citation(project):
    assert release.main(project) == 0
    for name in ("codemeta.json", ".zenodo.json"):
        assert (project / name).read_text("utf-8") == (ROOT / name).read_text("utf-8"), (
            f"{name} is older than CITATION.cff: make release writes it"
        )
    made = json.loads((project / ".zenodo.json").read_text("utf-8"))
    assert made["creators"] == [{"name": "The gt2lite developers"}]
    assert "Güven, Yusuf and Kumbasar, Tufan: Adapting GT2-FLS" in made["references"][0]
    changed = (project / "CITATION.cff").read_text("utf-8").replace("version: 0", "version: 9")
    (project / "CITATION.cff").write_text(changed, "utf-8")
    release.write_metadata(project)
    made = json.loads((project / "codemeta.json").read_text("utf-8"))
    assert made["version"] == "9.1.0"


def test_a_release_holds_its_files_with_checksums_and_the_lab_without_solutions(project, capsys):
    assert release.main(project) == 0
    assert "no PDF" in capsys.readouterr().out
    made = {path.name.split("-", 2)[-1]: path for path in (project / "dist").iterdir()}
    assert set(made) == {"book.zip", "lab.ipynb", "lab.py", "py3-none-any.whl", release.SUMS}
    sums = dict(line.split("  ")[::-1] for line in made.pop(release.SUMS).read_text().splitlines())
    digests = {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in made.values()}
    assert sums == digests
    assert "{exercise" in made["lab.ipynb"].read_text()
    assert "{solution" not in made["lab.ipynb"].read_text()
    with zipfile.ZipFile(made["book.zip"]) as opened:
        inside = [name.partition("/")[2] for name in opened.namelist()]
    assert inside == ["chapters/one.html", "index.html"]


def test_results_that_moved_stop_a_release_before_anything_is_built(project, monkeypatch, capsys):
    monkeypatch.setattr(release.subprocess, "run", lambda *_, **__: SimpleNamespace(returncode=1))
    assert release.main(project) == 1
    assert "not reproduced" in capsys.readouterr().err
    assert not (project / "dist").exists()


# ------------------------------------------------------------------------------ slides

PAGE = """<html><head><script>window.MathJax = {"a": 1}</script></head><body><article>
<section><h1>Sets<a class="headerlink" href="#x">#</a></h1>
<p>A set has a <a href="y.html">grade</a>, 0.5 &lt; 1. More of it.</p>
<div class="math">\\(a\\)</div><p>Then:</p>
<div class="exercise admonition"><p>Why?</p></div>
<section><h2>1.1. Planes</h2>
<div class="cell"><div class="cell_input"><pre>x = 1</pre></div>
<div class="cell_output"><figure><img alt="A bell." src="../_images/a.png"></figure></div></div>
<ul><li>One. And more.</li><li><p>Two.</p></li><li>Three</li><li>Four</li><li>Five</li></ul>
</section>
<section><h2>Exercises</h2><p>Not here.</p></section>
</section></article></body></html>"""


def test_a_section_becomes_sentences_formulas_and_whole_pieces_in_their_order():
    assert slides.slides_of(PAGE) == [
        "<h1>Sets</h1><ul><li>A set has a grade, 0.5 &lt; 1.</li></ul>"
        '<div class="math">\\(a\\)</div><ul><li>Then</li></ul>',
        '<h2>1.1. Planes</h2><div class="cell_input"><pre>x = 1</pre></div>',
        '<h2>1.1. Planes</h2><div class="cell_output"><figure>'
        '<img alt="A bell." src="_images/a.png"/></figure></div>',
        "<h2>1.1. Planes</h2><ul><li>One.</li><li>Two.</li><li>Three</li><li>Four</li></ul>",
        "<h2>1.1. Planes</h2><ul><li>Five</li></ul>",
    ]


@pytest.mark.browser
@pytest.mark.skipif(browser.find_chromium() is None, reason="no Chromium or Chrome on the PATH")
def test_keys_move_through_the_slides(tmp_path, chromium):
    for name in ("_static", "_images"):
        (tmp_path / "html" / name).mkdir(parents=True)
    (tmp_path / "html" / "chapters").mkdir()
    (tmp_path / "html" / "chapters" / "one.html").write_text(PAGE)
    (made,) = slides.write_slides(tmp_path / "html", tmp_path / "slides", ["one"])
    tab = chromium.new_page()
    tab.goto(made.as_uri())
    for key, shown in [("ArrowRight", "2 / 5"), ("End", "5 / 5"), ("Home", "1 / 5")]:
        tab.keyboard.press(key)
        assert tab.locator(".book-count").inner_text() == shown
        assert tab.locator(".slide:visible").count() == 1
    tab.close()


# --------------------------------------------------------------------------------- lab


def test_copies_keep_what_a_reader_changed_and_renew_the_rest(tiny, monkeypatch, capsys):
    monkeypatch.setattr(lab, "find_spec", lambda name: True)
    monkeypatch.setattr(lab.subprocess, "run", lambda *_, **__: SimpleNamespace(returncode=0))
    before = (tiny / "chapters" / "one.ipynb").read_bytes()
    assert book.main(["lab"], root=tiny) == 0
    assert "as you changed it" not in capsys.readouterr().out
    mine, other = (tiny / "_build" / "lab" / f"{name}.ipynb" for name in ("one", "two"))
    note = source.read_notebook(mine)["cells"][1]["source"]
    assert 'make chapter NAME=one PARAMS="seed=1"' in note
    mine.write_text(mine.read_text().replace("print", "repr"))
    changed = mine.read_text()
    write_chapter(tiny, "two", "print('two')", prose="Better prose.")
    assert book.main(["lab"], root=tiny) == 0
    (line,) = re.findall(r"(\w+) +is left as you changed it", capsys.readouterr().out)
    assert line == "one"
    assert mine.read_text() == changed
    assert "Better prose." in other.read_text()
    assert (tiny / "chapters" / "one.ipynb").read_bytes() == before


def test_without_jupyterlab_the_error_comes_before_the_work(tiny, monkeypatch, capsys):
    monkeypatch.setattr(lab, "find_spec", lambda name: None)
    assert book.main(["lab"], root=tiny) == 1
    assert "make lab" in capsys.readouterr().err
    assert not (tiny / "_build").exists()
