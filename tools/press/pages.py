"""From executed chapters to pages: merge, stage, compile.

The stage is a folder that holds the whole book as Jupyter Book wants to read it:
texts as they are, notebooks with the outputs of their executed copies. It is
built anew each time, so that a change of prose needs no run.
"""

from __future__ import annotations

import copy
import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import yaml

from press.address import Address, configure, how_to_run
from press.execute import write_notebook
from press.processes import run
from press.solutions import part_solutions
from press.source import (
    BookError,
    Notebook,
    chapters,
    documents,
    read_chapter,
    read_notebook,
    tags_of,
)
from press.stamps import read_stamp

RUN_TIMES = "run_times.txt"  # for the status page to include; no page of its own
TOOLS = Path(__file__).resolve().parents[1]
QUICK_BANNER = (
    "Quick profile: small runs that check the book. "
    "The numbers on these pages are not the reproduction."
)


def merge(source: Notebook, executed: Notebook) -> Notebook:
    """Return `source` with the outputs of `executed`, whose code cells are the same.

    Prose, tags and captions come from `source`; outputs, counts and the parameters
    that papermill injected come from `executed`.
    """
    ran = [cell for cell in executed["cells"] if cell["cell_type"] == "code"]
    injected = [cell for cell in ran if "injected-parameters" in tags_of(cell)]
    outputs = iter([cell for cell in ran if "injected-parameters" not in tags_of(cell)])
    cells: list[dict[str, Any]] = []
    for cell in copy.deepcopy(source["cells"]):
        cells.append(cell)
        if cell["cell_type"] == "code":
            done = next(outputs)
            cell["outputs"], cell["execution_count"] = done["outputs"], done["execution_count"]
        if "parameters" in tags_of(cell):
            cell["metadata"]["tags"] = sorted({*tags_of(cell), "hide-input"})
            cell["metadata"]["mystnb"] = {"code_prompt_show": "Show the parameters"}
            cell["metadata"]["mystnb"]["code_prompt_hide"] = "Hide the parameters"
            cells += injected
    return {**source, "metadata": executed["metadata"], "cells": cells}


def stage(
    root: Path,
    executed: Path,
    target: Path,
    banner: str | None = None,
    address: Address | None = None,
    solutions: bool = True,
) -> None:
    """Lay out the book in `target`, ready to be compiled.

    Args:
        root: the sources.
        executed: the folder of the executed notebooks.
        target: the stage; what was there is replaced.
        banner: a line to show on every page, if any.
        address: where the project lives on the web, if that is known.
        solutions: whether the pages hold the solutions of exercises.
    """
    shutil.rmtree(target, ignore_errors=True)
    ignored = shutil.ignore_patterns("*.ipynb", "profiles.yml", ".*", "__pycache__")
    shutil.copytree(root / "chapters", target / "chapters", ignore=ignored)
    if (root / "assets").is_dir():
        shutil.copytree(root / "assets", target / "assets")
    for path in [*root.glob("_toc.yml"), *root.glob("*.bib")]:
        shutil.copy(path, target / path.name)
    for path in documents(root):
        place = target / path.relative_to(root)
        if path.suffix == ".ipynb":
            chapter = read_chapter(root, path)
            done = merge(chapter.notebook, read_notebook(executed / path.relative_to(root)))
            noted = with_note(done, how_to_run(chapter, address))
            write_notebook(place, part_solutions(noted, solutions))
        else:
            shutil.copy(path, place)
    (target / "chapters" / RUN_TIMES).write_text(_run_times(root, executed), encoding="utf-8")
    config = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))
    configure(config, address)
    if banner:
        config.setdefault("html", {})["announcement"] = banner
    text = yaml.safe_dump(config, allow_unicode=True, sort_keys=False)
    (target / "_config.yml").write_text(text, encoding="utf-8")


def with_note(notebook: Notebook, note: str) -> Notebook:
    """Return `notebook` with a cell of prose after its first cell, which holds the title."""
    cell = {"cell_type": "markdown", "id": "how-to-run", "metadata": {}, "source": note}
    first, *rest = notebook["cells"]
    return {**notebook, "cells": [first, cell, *rest]}


def _run_times(root: Path, executed: Path) -> str:
    """Return a Markdown table of how long each chapter ran when it was last executed."""
    lines = ["| chapter | seconds |", "|---|---:|"]
    for chapter in chapters(root):
        stamp = read_stamp(executed / chapter.path.relative_to(root))
        lines.append(f"| {{doc}}`{chapter.name}` | {stamp.get('seconds', float('nan')):.0f} |")
    return "\n".join(lines) + "\n"


def compile_pages(stage_folder: Path, build: Path, builder: str = "html") -> Path:
    """Compile the stage with warnings as errors into the folder that is returned.

    Args:
        stage_folder: the book as `stage` laid it out.
        build: where to, as ``build/html``.
        builder: "html", or "singlehtml" for one long page.
    """
    html, log = build / builder, build / f"{'pages' if builder == 'html' else builder}.log"
    shutil.rmtree(html, ignore_errors=True)
    # There is no `python -m jupyter_book`, and its script need not be on the PATH.
    command = [sys.executable, "-c", "from jupyter_book.cli.main import main; main()", "build"]
    # Always --all: an incremental build leaves numbers glued across pages stale.
    command += [str(stage_folder), "--path-output", str(build.parent)]
    command += ["--all", "-W", "--keep-going", "--builder", builder]
    # Our extensions, and the package whose docstrings the reference is made of: this checkout's.
    places = [str(TOOLS), str(TOOLS.parent), os.environ.get("PYTHONPATH")]
    python_path = os.pathsep.join(filter(None, places))
    environment = {**os.environ, "PYTHONPATH": python_path}
    if run(command, log, environment):
        text = log.read_text(encoding="utf-8", errors="replace")
        lines = re.sub(r"\x1b\[[0-9;]*m", "", text).splitlines()  # coloured even in a file
        complaints = [line for line in lines if re.search(r"WARNING|ERROR|Error", line)]
        raise BookError("\n".join(["the pages did not compile:", *complaints, f"see {log}"]))
    return html
