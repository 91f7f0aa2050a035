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
    """A project whose book, PDF, wheel and bundles are small files, made in an instant."""
    shutil.copy(ROOT / "CITATION.cff", tmp_path)

    def try_out(root, dist):
        dist.mkdir()
        (dist / "gt2lite-1-py3-none-any.whl").write_text("wheel")

    def build_book(root, profile, solutions):
        (root / "html" / "chapters").mkdir(parents=True)
        for name in ("index.html", "chapters/one.html"):
            (root / "html" / name).write_text(name)
        return root / "html"

    def make_class(root):
        for who in ("student", "lecturer"):
            (root / "dist" / f"gt2lite-1-{who}.zip").write_text(who)

    monkeypatch.setattr(release, "try_out", try_out)
    monkeypatch.setattr(release, "make_class", make_class)
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


def test_a_release_holds_its_files_with_checksums(project, capsys):
    assert release.main(project) == 0
    assert "no PDF" in capsys.readouterr().out
    made = {path.name.split("-", 2)[-1]: path for path in (project / "dist").iterdir()}
    bundles = {"student.zip", "lecturer.zip"}
    assert set(made) == {"book.zip", "py3-none-any.whl", release.SUMS} | bundles
    sums = dict(line.split("  ")[::-1] for line in made.pop(release.SUMS).read_text().splitlines())
    digests = {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in made.values()}
    assert sums == digests
    with zipfile.ZipFile(made["book.zip"]) as opened:
        inside = [name.partition("/")[2] for name in opened.namelist()]
    assert inside == ["chapters/one.html", "index.html"]


def test_results_that_moved_stop_a_release_before_anything_is_built(project, monkeypatch, capsys):
    monkeypatch.setattr(release.subprocess, "run", lambda *_, **__: SimpleNamespace(returncode=1))
    assert release.main(project) == 1
    assert "not reproduced" in capsys.readouterr().err
    assert not (project / "dist").exists()


# ------------------------------------------------------------------------------ slides

LECTURE = """# Sets {3}

A sentence with $a$.

Note: Say this.
---
## Planes {5}

$$b$$

![](fig-one)

Note: And that."""
FIGURES = {"fig-one": slides.Figure(b"png", 'A "bell"')}


def test_a_slide_has_its_sentence_formula_figure_minutes_and_note():
    first, second = slides.read_lecture(LECTURE, FIGURES, "x.md")
    assert "<h1>Sets</h1>" in first.html and "\\(a\\)" in first.html
    assert (first.minutes, first.note) == (3, "<p>Say this.</p>\n")
    assert "\\[b\\]" in second.html
    assert 'src="images/fig-one.png" alt="A &quot;bell&quot;"' in second.html


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [("fig-one", "fig-two", "fig-two"), ("Note: And that.", "", "a note"), ("## ", "", "heading")],
)
def test_a_slide_without_its_parts_is_an_error(old, new, words):
    with pytest.raises(source.BookError, match=words):
        slides.read_lecture(LECTURE.replace(old, new), FIGURES, "x.md")


@pytest.mark.parametrize("path", sorted((ROOT / "teaching" / "slides").glob("*.md")), ids=str)
def test_a_lecture_takes_ninety_minutes_and_its_slides_are_short(path):
    text = path.read_text(encoding="utf-8")
    known = dict.fromkeys(re.findall(r"!\[\]\(([\w-]+)\)", text), FIGURES["fig-one"])
    lecture = slides.read_lecture(text, known, path.name)
    assert sum(slide.minutes for slide in lecture) == 90
    for slide in lecture:
        words = re.sub(r"<[^>]+>|\\\[.*?\\\]|<pre>.*?</pre>", " ", slide.html, flags=re.DOTALL)
        assert len(words.split()) < 45, slide.html
        assert slide.html.count("<figure>") <= 1


@pytest.mark.browser
@pytest.mark.skipif(browser.find_chromium() is None, reason="no Chromium or Chrome on the PATH")
def test_slides_of_the_book_fit_the_screen_and_keys_move_through_them(site, chromium):
    for page in sorted((site / "slides").glob("*.html")):
        tab = chromium.new_page(viewport={"width": 1280, "height": 720})
        tab.goto(page.as_uri())
        tab.wait_for_function("document.body.classList.contains('ready')")
        count = tab.locator(".slide").count()
        for i in range(count):
            assert tab.locator(".book-count").inner_text() == f"{i + 1} / {count}"
            assert tab.locator(".slide:visible").count() == 1
            heights = "[document.documentElement.scrollHeight, innerHeight]"
            assert tab.evaluate(f"(([a, b]) => a <= b + 1)({heights})"), f"{page.name} {i + 1}"
            assert tab.evaluate("[...document.images].every(one => one.naturalWidth > 0)")
            tab.keyboard.press("ArrowRight")
        tab.keyboard.press("n")
        assert tab.locator(".slide:visible .note").is_visible()
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


def test_copies_for_students_have_an_empty_cell_for_each_solution():
    chapter = source.find_chapter(ROOT, "type2_sets")
    before, after = chapter.notebook["cells"], lab.without_solutions(chapter.notebook)["cells"]
    changed = [i for i, (a, b) in enumerate(zip(before, after, strict=True)) if a is not b]
    assert changed and all("solution" in source.tags_of(before[i]) for i in changed)
    assert all((after[i]["cell_type"], after[i]["source"]) == ("code", "") for i in changed)
    assert "{solution}" not in str(after)


def test_without_jupyterlab_the_error_comes_before_the_work(tiny, monkeypatch, capsys):
    monkeypatch.setattr(lab, "find_spec", lambda name: None)
    assert book.main(["lab"], root=tiny) == 1
    assert "make lab" in capsys.readouterr().err
    assert not (tiny / "_build").exists()
