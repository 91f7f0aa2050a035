"""JupyterLab on copies of the chapters: open, change, run; the originals stay as they are.

A copy shows the outputs of its last run. One that the reader has changed is never written over: it
differs from the second copy that is kept in a hidden folder.
"""

from __future__ import annotations

import filecmp
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

from builder.execute import run_to_end, write_notebook
from builder.pages import merge, with_note
from builder.source import BookError, chapters, read_notebook

_NOTE = """*This is a copy, made by `make lab`. Change it as you like: the chapter in `chapters/`
stays as it is. To run it with other parameters, change the cell below that holds them, and choose
Run, Run All Cells. Or, in a terminal:* `{command}`"""


def check() -> None:
    """Raise a `BookError` unless JupyterLab is installed."""
    if find_spec("jupyterlab") is None:
        raise BookError("this needs JupyterLab: make lab brings it, or pip install 'gt2lite[lab]'")


def copy_chapters(root: Path, executed: Path, folder: Path) -> Iterator[str]:
    """Copy the chapters into `folder`, and yield the names of those that a reader has changed.

    Args:
        root: the sources.
        executed: the folder of the executed notebooks; a chapter that is not there has no outputs.
        folder: for the copies.
    """
    for chapter in chapters(root):
        name = chapter.path.name
        target, second = folder / name, folder / ".as_copied" / name
        if target.exists() and not (second.exists() and filecmp.cmp(target, second, shallow=False)):
            yield chapter.name
            continue
        notebook, done = chapter.notebook, executed / chapter.path.relative_to(root)
        if done.is_file():
            notebook = merge(notebook, read_notebook(done))
        notebook = with_note(notebook, _NOTE.format(command=chapter.command))
        write_notebook(second, notebook)
        shutil.copy(second, target)


def start(folder: Path, words: Sequence[str]) -> None:
    """Open JupyterLab in `folder` and stay until it ends.

    Raises:
        BookError: if it ends with an error.
    """
    command = [sys.executable, "-m", "jupyterlab", "--ServerApp.root_dir", str(folder), *words]
    code = run_to_end(command)
    if code:
        root = hasattr(os, "geteuid") and os.geteuid() == 0 and "--allow-root" not in words
        hint = "; as root it requires: make lab ARGS=--allow-root" if root else ""
        raise BookError(f"JupyterLab ended with code {code}{hint}")
