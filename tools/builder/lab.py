"""JupyterLab on copies of the chapters: open, change, run; the originals stay as they are.

A copy shows the outputs of its last run. One that the reader has changed is never written over: it
differs from the second copy that is kept in a hidden folder.
"""

from __future__ import annotations

import filecmp
import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from nbformat import v4

from builder.execute import write_notebook
from builder.pages import merge, with_note
from builder.source import BookError, Notebook, chapters, read_notebook, tags_of

_NOTE = """*This is a copy, made by `make lab`. Change it as you like: the chapter in `chapters/`
stays as it is. To run it with other parameters, change the cell below that holds them, and choose
Run, Run All Cells. Or, in a terminal:* `{command}`"""


def open_lab(root: Path, profile: str, words: Sequence[str] = (), solutions: bool = True) -> None:
    """Copy the chapters for the reader, with the outputs that there are, and open JupyterLab there.

    Nothing is run first: a chapter that `make book` has not run yet has no outputs. `words` are for
    the command line of JupyterLab. Without `solutions` there is an empty cell in place of each.
    """
    if find_spec("jupyterlab") is None:
        raise BookError("this needs JupyterLab: make lab brings it, or pip install 'gt2lite[lab]'")
    folder = root / "_build" / "lab"
    for chapter in chapters(root):
        target, second = (path / chapter.path.name for path in (folder, folder / ".as_copied"))
        if target.exists() and not (second.exists() and filecmp.cmp(target, second, shallow=False)):
            print(f"  {chapter.name:<24} is left as you changed it (delete it for a fresh copy)")
            continue
        notebook = chapter.notebook if solutions else without_solutions(chapter.notebook)
        executed = root / "_build" / "executed" / profile / f"{chapter.document}.ipynb"
        if executed.is_file() and solutions:
            notebook = merge(notebook, read_notebook(executed))
        write_notebook(second, with_note(notebook, _NOTE.format(command=chapter.command)))
        shutil.copy(second, target)
    print(f"lab: the copies are in {folder}; Ctrl-C ends JupyterLab", flush=True)
    command = [sys.executable, "-m", "jupyterlab", "--ServerApp.root_dir", str(folder), *words]
    code = subprocess.run(command, stdin=subprocess.DEVNULL, check=False).returncode
    if code:
        raise BookError(f"JupyterLab ended with code {code}; ARGS=... passes options to it")


def without_solutions(notebook: Notebook) -> Notebook:
    """Return a notebook with an empty code cell in place of each cell with solutions."""
    cells = [
        v4.new_code_cell() | {"id": cell["id"]} if "solution" in tags_of(cell) else cell
        for cell in notebook["cells"]
    ]
    return {**notebook, "cells": cells}
