"""A book of two chapters for the tests of the book builder."""

from __future__ import annotations

import importlib
import json
import os
import shlex
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

NEEDED = ("ipykernel", "jupyter_book", "papermill", "psutil", "yaml")
if any(find_spec(name) is None for name in NEEDED):
    pytest.skip("needs the extra `book`: pip install 'gt2lite[book]'", allow_module_level=True)

ROOT = Path(__file__).resolve().parents[2]
source = importlib.import_module("builder.source")

PARAMETERS = "seed = 1  # a seed\nrate = 0.5  # a rate"
TOC = "format: jb-book\nroot: index\nchapters:\n- file: chapters/one\n- file: chapters/two\n"


def cell(kind, name, text, *tags):
    extra = {"outputs": [], "execution_count": None} if kind == "code" else {}
    metadata = {"tags": list(tags)} if tags else {}
    return {"cell_type": kind, "id": name, "metadata": metadata, "source": text, **extra}


def notebook(*cells):
    spec = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": spec}
    return {"cells": [*cells], "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def write_chapter(root, name, code, prose="Prose.", parameters=PARAMETERS):
    content = notebook(
        cell("markdown", "title", f"# {name}\n\n{prose}"),
        cell("code", "parameters", parameters, "parameters"),
        cell("code", "work", code),
    )
    (root / "chapters" / f"{name}.ipynb").write_text(json.dumps(content))


def write_book(root):
    """Write the sources of a book with the chapters one and two."""
    (root / "chapters").mkdir()
    (root / "_config.yml").write_text("title: Tiny\n")
    (root / "index.md").write_text("# Tiny\n")
    (root / "_toc.yml").write_text(TOC)
    (root / "chapters" / "profiles.yml").write_text("full: {}\nquick:\n  one: {seed: 7}\n")
    write_chapter(root, "one", "print('seed', seed)\nprint('rate', rate)")
    write_chapter(root, "two", "print('two')")


def add_commands(root):
    """Give the book at `root` the commands of this one: make and tools, and a made environment."""
    shutil.copy(ROOT / "Makefile", root)
    shutil.copytree(ROOT / "tools", root / "tools", ignore=shutil.ignore_patterns("__pycache__"))
    python = root / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n')
    python.chmod(0o755)
    for name in ("requirements.lock", "pyproject.toml", ".venv/.locked", ".venv/.stamp"):
        (root / name).touch()


def plain_environment():
    """The environment without what a make that runs these tests has put there."""
    makes = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "MAKEOVERRIDES")
    ours = ("NAME", "PARAMS", "PROFILE", "ARGS", "SOLUTIONS", "PYTHONPATH")
    return {key: value for key, value in os.environ.items() if key not in (*makes, *ours)}
