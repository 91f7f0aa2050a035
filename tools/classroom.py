"""Make the classroom bundle: what students get, and what lecturers get.

python tools/classroom.py

It makes two folders in _build/class/, and their zips in dist/. `...-student` has the lab as one
file that works alone, exercises with empty cells, a check of the set-up, and the packages that
these need, JupyterLab included, for common platforms. The variable WHEELS names versions of
Python, such as "3.12 3.13"; with WHEELS=0 there is the lock only. `...-lecturer` has solutions, a
key, assignments for nbgrader and Otter-Grader, a quiz and, if the book was built, slides. Neither
needs the rest of this checkout.
"""

from __future__ import annotations

import itertools
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import book
from builder import assignments as lab_copies
from builder.assignments import CHECKS, Solutions, build_wheel
from builder.execute import write_notebook
from builder.exercises import exercise_notebook
from builder.packing import pack
from builder.source import BookError, Chapter, chapters
from markdown_it import MarkdownIt
from wheel import PIP, locked

PLATFORMS = {
    "x86_64-pc-windows-msvc": ["win_amd64"],
    "aarch64-apple-darwin": ["macosx_14_0_arm64"],
    "x86_64-manylinux_2_28": ["manylinux_2_28_x86_64", "manylinux_2_17_x86_64"],
}
PYTHONS = ("3.12", "3.13", "3.14")
"""Platforms, in the words of uv and of pip, and versions of Python with wheels in the bundle."""

_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
body {{ font: 17px/1.5 system-ui, sans-serif; max-width: 42em; margin: 2em auto; padding: 0 1em;
  color-scheme: light dark }}
code, pre {{ background: #8882; padding: 0.1em 0.3em; border-radius: 3px }}
pre {{ padding: 0.7em; overflow: auto }}
td, th {{ padding: 0.2em 1em 0.2em 0; text-align: left; vertical-align: top }}
</style>
{body}</html>
"""


def make_class(root: Path, pythons: Sequence[str] = PYTHONS) -> tuple[Path, Path]:
    """Make both folders and zips, with wheels for some versions of Python; return the folders."""
    from gt2lite import __version__

    dist, place = root / "dist", root / "_build" / "class"
    dist.mkdir(exist_ok=True)
    students, lecturers = (
        place / f"gt2lite-{__version__}-{who}" for who in ("student", "lecturer")
    )
    for folder in (students, lecturers):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        shutil.copy(root / "LICENSE", folder)
    found = chapters(root)
    _for_students(root, students, found, pythons)
    _for_lecturers(root, lecturers, students / "wheels")
    for folder in (students, lecturers):
        packed = dist / f"{folder.name}.zip"
        pack(folder, packed)
        print(f"class: {packed.relative_to(root)}, {packed.stat().st_size / 1e6:.1f} MB")
    return students, lecturers


def _for_students(root: Path, folder: Path, found: list[Chapter], pythons: Sequence[str]) -> None:
    wheel = build_wheel(root, folder / "wheels")
    lab, bundle = lab_copies.read_lab(root), lab_copies.pack_checks(root, wheel)
    write_notebook(folder / "lab.ipynb", lab_copies.student_copy(lab, bundle))
    for chapter in found:
        notebook = exercise_notebook(chapter)
        if notebook is not None:
            write_notebook(folder / "exercises" / f"{chapter.name}.ipynb", notebook)
    (folder / "requirements.txt").write_text(locked(root), encoding="utf-8")
    shutil.copy(root / "teaching" / "check_setup.py", folder)
    _write_page(root / "teaching" / "student.md", folder / "START.html")
    if pythons:
        print(
            "class: downloading packages for students, a few minutes (WHEELS=0: none)", flush=True
        )
        download_wheels(root, folder / "wheels", pythons)


def download_wheels(root: Path, folder: Path, pythons: Sequence[str]) -> None:
    """Download the wheels of what the lab needs, JupyterLab included, for `PLATFORMS`."""
    with (root / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    notebooks = [one for one in project["optional-dependencies"]["lab"] if "jupyterlab=" in one]
    with tempfile.TemporaryDirectory() as place:
        needs, solved = Path(place) / "needs.txt", Path(place) / "solved.txt"
        needs.write_text("\n".join([*project["dependencies"], *notebooks]), encoding="utf-8")
        for python, (platform, tags) in itertools.product(pythons, PLATFORMS.items()):
            where = ["--python-platform", platform, "--python-version", python]
            uv = ["uv", "pip", "compile", "-q", "--generate-hashes", *where, "-o", solved]
            _quietly("-m", *uv, "--no-build", "-c", root / "requirements.lock", needs)
            where = [word for tag in tags for word in ("--platform", tag)]
            where += ["--python-version", python, "--only-binary=:all:", "--no-deps"]
            _quietly(*PIP, "download", *where, "-r", solved, "-d", folder)


def _quietly(*words: str | Path) -> None:
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise BookError(
            f"{done.stderr.strip()}\npackages for students could not be downloaded; WHEELS=0 makes "
            "the bundle without them, for computers with a network"
        )


def _for_lecturers(root: Path, folder: Path, wheels: Path) -> None:
    teaching, solutions = root / "teaching", Solutions.read(root)
    lab, checks = lab_copies.read_lab(root), [root / "study" / name for name in CHECKS]
    (wheel,) = wheels.glob("gt2lite-*.whl")
    whole = lab_copies.with_bundle(lab, lab_copies.pack_checks(root, wheel))
    write_notebook(folder / "lab_solved.ipynb", lab_copies.solved(whole, solutions))
    copies = {
        folder / "nbgrader" / "source" / "lab": lab_copies.for_nbgrader(lab, solutions),
        folder / "otter": lab_copies.for_otter(lab, solutions, CHECKS),
    }
    for place, notebook in copies.items():
        write_notebook(place / "lab.ipynb", notebook)
        for path in checks:
            shutil.copy(path, place)
    shutil.copy(teaching / "nbgrader_config.py", folder / "nbgrader")
    for name in ("key.py", "quiz.gift"):
        shutil.copy(teaching / name, folder)
    shutil.copy(wheel, folder)
    _write_page(teaching / "lecturer.md", folder / "START.html", _installed(root, wheel))
    html, printed = root / "_build" / "html", root / "_build" / "slides"
    if (html / "slides").is_dir():
        shutil.copytree(html / "slides", folder / "slides")
        (folder / "_static").mkdir()
        shutil.copy(html / "_static" / "tex-svg-full.js", folder / "_static")  # for formulas
        for path in printed.glob("*.pdf"):
            shutil.copy(path, folder / "slides")
    else:
        print("class: no slides, which `make book` makes, and `make slides` as PDF")


def _installed(root: Path, wheel: Path) -> dict[str, str]:
    """Return what a lecturer installs, by its name on the start page: the versions tried here."""
    with (root / "pyproject.toml").open("rb") as file:
        graders = tomllib.load(file)["project"]["optional-dependencies"]["class"]
    return {"WHEEL": wheel.name} | {
        one.partition("-")[0].partition("=")[0].upper(): one for one in graders
    }


def _write_page(
    source: Path, target: Path, names: Mapping[str, str] = MappingProxyType({})
) -> None:
    """Write a page of Markdown, with some words replaced, as HTML that needs no network."""
    text = source.read_text(encoding="utf-8")
    for name, meant in names.items():
        text = text.replace(name, meant)
    title = re.match(r"# (.*)", text)
    body = MarkdownIt().enable("table").render(text)
    target.write_text(_PAGE.format(title=title[1] if title else "", body=body), encoding="utf-8")


def main(root: Path = book.ROOT) -> int:
    """Make the bundle; return 0 if all went well."""
    given = os.environ.get("WHEELS") or " ".join(PYTHONS)
    pythons = [] if given == "0" else given.split()
    return book.finish("class", lambda: make_class(root, pythons), "stopped; no bundle was made")


if __name__ == "__main__":
    sys.exit(main())
