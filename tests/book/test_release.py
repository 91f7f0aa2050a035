"""make release: what is handed out, and when nothing is."""

from __future__ import annotations

import hashlib
import importlib
import json
import shutil
import subprocess
import zipfile

import pytest
from tinybook import ROOT

book = importlib.import_module("book")
release = importlib.import_module("release")
stored = importlib.import_module("study.stored")


@pytest.fixture
def parts(tmp_path, monkeypatch):
    """A project whose book, print and wheel are small files, made in an instant."""
    (tmp_path / "chapters").mkdir()
    shutil.copy(ROOT / "chapters" / "lab.ipynb", tmp_path / "chapters")
    made = []

    def try_out(root, dist):
        dist.mkdir()
        (dist / "gt2lite-1-py3-none-any.whl").write_text("wheel")

    def build_book(root, profile, solutions):
        made.append((profile, solutions))
        (root / "html" / "chapters").mkdir(parents=True, exist_ok=True)
        (root / "html" / "index.html").write_text("home")
        (root / "html" / "chapters" / "one.html").write_text("one")
        return root / "html"

    def print_book(root, profile, solutions):
        (root / "book.pdf").write_text("%PDF")
        return root / "book.pdf"

    monkeypatch.setattr(release, "try_out", try_out)
    monkeypatch.setattr(book, "build_book", build_book)
    monkeypatch.setattr(book, "print_book", print_book)
    monkeypatch.setattr(release.browser, "find_chromium", lambda: "chromium")
    monkeypatch.setattr(stored, "staleness", lambda *names: "")
    return tmp_path, made


def test_the_lab_is_handed_out_without_its_solutions(parts):
    root, _ = parts
    assert "solution" in (root / "chapters" / "lab.ipynb").read_text()
    assert release.main(root) == 0
    (lab,) = (root / "dist").glob("*-lab.ipynb")
    cells = json.loads(lab.read_text())["cells"]
    assert len(cells) > 10
    assert not any("{solution" in "".join(cell["source"]) for cell in cells)


def test_a_release_holds_all_that_it_names_with_right_checksums(parts):
    root, made = parts
    assert release.main(root) == 0
    assert made == [("full", True)]
    names = {path.name.split("-", 2)[-1] for path in (root / "dist").iterdir()}
    assert {"book.zip", "lab.ipynb", "py3-none-any.whl", release.SUMS} <= names
    lines = (root / "dist" / release.SUMS).read_text().splitlines()
    assert len(lines) == len(list((root / "dist").iterdir())) - 1
    for line in lines:
        told, name = line.split("  ")
        assert hashlib.sha256((root / "dist" / name).read_bytes()).hexdigest() == told


def test_the_book_in_the_zip_lies_in_one_folder_and_has_the_same_bytes_again(parts):
    root, _ = parts
    pages = book.build_book(root, "full", True)
    for name in ("a", "b"):
        (root / name).mkdir()
        release.pack(pages, root / name / "book.zip")
    assert (root / "a" / "book.zip").read_bytes() == (root / "b" / "book.zip").read_bytes()
    with zipfile.ZipFile(root / "a" / "book.zip") as archive:
        assert archive.namelist() == ["book/chapters/one.html", "book/index.html"]
        assert archive.read("book/index.html") == b"home"


def test_without_chromium_there_is_no_pdf_and_a_word_of_it(parts, monkeypatch, capsys):
    root, _ = parts
    monkeypatch.setattr(release.browser, "find_chromium", lambda: None)
    assert release.main(root) == 0
    assert not list((root / "dist").glob("*.pdf"))
    assert "no PDF, which needs Chromium" in capsys.readouterr().out


def test_a_release_without_solutions_says_so_in_its_name(parts, monkeypatch):
    root, made = parts
    monkeypatch.setenv("SOLUTIONS", "0")
    assert release.main(root) == 0
    assert made == [("full", False)]
    assert list((root / "dist").glob("*-book-without-solutions.zip"))


def test_results_of_older_code_stop_a_release_before_anything_is_built(parts, monkeypatch, capsys):
    root, made = parts
    asked = []
    told = "Stored rows of older code than today's: 3 of 60 in reference.csv."
    monkeypatch.setattr(stored, "staleness", lambda *names: asked.extend(names) or told)
    assert release.main(root) == 1
    assert set(asked) == set(stored.KINDS) - set(stored.HISTORY)
    assert "3 of 60 in reference.csv. `make study` brings" in capsys.readouterr().err
    assert made == []
    assert not (root / "dist").exists()


def test_the_sums_are_read_by_the_usual_program(parts):
    root, _ = parts
    release.main(root)
    try:
        done = subprocess.run(
            ["sha256sum", "--check", release.SUMS], cwd=root / "dist",
            capture_output=True, check=False,
        )  # fmt: skip
    except FileNotFoundError:
        pytest.skip("needs sha256sum")
    assert done.returncode == 0


def test_the_readme_names_the_ways_in():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "make lab" in text
    assert "make release" in text
