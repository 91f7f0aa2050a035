"""JupyterLab on copies of the chapters: open, change, run; the originals stay as they are.

A copy shows the outputs of its last run. One that the reader has changed is never written over.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

from builder.execute import end, write_notebook
from builder.pages import merge, with_note
from builder.source import BookError, Chapter, Notebook, chapters, read_notebook

_WRITTEN = ".written.json"  # what was put into the folder, by name: hashes
_NOTE = """*This is a copy, made by `make lab`. Change it as you like: the chapter in `chapters/`
stays as it is. To run it with other parameters, change the cell below that holds them, and choose
Run, Run All Cells. Or, in a terminal:* `make chapter NAME={name}{example}`"""


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
    folder.mkdir(parents=True, exist_ok=True)
    written = _read(folder / _WRITTEN)
    for chapter in chapters(root):
        target = folder / chapter.path.name
        if target.exists() and written.get(target.name) != _sha256(target):
            yield chapter.name
            continue
        write_notebook(target, _copy(chapter, executed / chapter.path.relative_to(root)))
        written[target.name] = _sha256(target)
    (folder / _WRITTEN).write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")


def _copy(chapter: Chapter, done: Path) -> Notebook:
    notebook = chapter.notebook
    if done.is_file():
        notebook = merge(notebook, read_notebook(done))
    return with_note(notebook, _NOTE.format(name=chapter.name, example=chapter.example))


def _read(path: Path) -> dict[str, str]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def how_to(folder: Path) -> str:
    """Return what a reader should know when JupyterLab opens."""
    return (
        f"lab: the copies are in {folder}; the chapters themselves stay as they are.\n"
        "     To run one with other parameters: change its cell of parameters and choose Run, Run\n"
        "     All Cells; or leave this with Ctrl-C and run, for example,\n"
        '     make chapter NAME=small_system PARAMS="seed=1 level=0.8"'
    )


def start(folder: Path, words: Sequence[str]) -> None:
    """Open JupyterLab in `folder` and stay until it ends.

    Raises:
        BookError: where it ends badly.
    """
    command = [sys.executable, "-m", "jupyterlab", "--ServerApp.root_dir", str(folder), *words]
    process = subprocess.Popen(command, start_new_session=True)
    try:
        code = process.wait()
    finally:
        end(process)
    if code:
        root = hasattr(os, "geteuid") and os.geteuid() == 0 and "--allow-root" not in words
        hint = "; as root it wants: make lab ARGS=--allow-root" if root else ""
        raise BookError(f"JupyterLab ended with code {code}{hint}")
