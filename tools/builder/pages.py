"""From executed chapters to pages: merge, move solutions, stage, compile.

The stage is a folder that holds the whole book as Jupyter Book reads it: texts as they are,
notebooks with the outputs of their executed copies. It is built anew each time, so that a change of
prose needs no run.
"""

from __future__ import annotations

import copy
import itertools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from builder.execute import read_stamp, run_to_end, write_notebook
from builder.source import BookError, Chapter, Notebook, chapters, read_notebook, tags_of

RUN_TIMES = "run_times.txt"  # included by two pages; not a page of its own
TOOLS = Path(__file__).resolve().parents[1]
QUICK_BANNER = (
    "Quick profile: small runs that check the book. "
    "The numbers on these pages are not the reproduction."
)

# ------------------------------------------------------------------------------ staging


def merge(source: Notebook, executed: Notebook) -> Notebook:
    """Return `source` with the outputs of `executed`, whose code cells are the same.

    Prose, tags and captions come from `source`; outputs, counts and the parameters that papermill
    injected come from `executed`.
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
            prompts = {"show": "Show the parameters", "hide": "Hide the parameters"}
            cell["metadata"]["mystnb"] = {f"code_prompt_{k}": v for k, v in prompts.items()}
            cells += injected
    return {**source, "metadata": executed["metadata"], "cells": cells}


def stage(
    root: Path, executed: Path, target: Path, *, banner: str | None = None, solutions: bool = True
) -> None:
    """Lay out the book in `target`, ready to be compiled.

    Args:
        root: the sources.
        executed: the folder of the executed notebooks.
        target: the stage; its former content is replaced.
        banner: a line to show on every page, if any.
        solutions: whether the pages hold the solutions of exercises.
    """
    address = github_address(root)
    shutil.rmtree(target, ignore_errors=True)
    ignored = shutil.ignore_patterns("*.ipynb", "profiles.yml", ".*", "__pycache__")
    for folder in ("chapters", "assets"):
        if (root / folder).is_dir():
            shutil.copytree(root / folder, target / folder, ignore=ignored)
    for path in itertools.chain(*map(root.glob, ("_toc.yml", "index.md", "*.bib"))):
        shutil.copy(path, target)
    times = ["| chapter | seconds |", "|---|---:|"]
    for chapter in chapters(root):
        ran = executed / chapter.path.relative_to(root)
        done = with_note(merge(chapter.notebook, read_notebook(ran)), how_to_run(chapter, address))
        write_notebook(target / chapter.path.relative_to(root), move_solutions(done, solutions))
        seconds = read_stamp(ran).get("seconds", float("nan"))
        times.append(f"| {{doc}}`/{chapter.document}` | {seconds:.0f} |")
    (target / "chapters" / RUN_TIMES).write_text("\n".join(times) + "\n", encoding="utf-8")
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


# ---------------------------------------------------------------------------- solutions

_SOLUTION = re.compile(
    r"^(`{3,}|:{3,})\{(solution|solution-start|solution-end)\}.*?^\1\s*$", re.MULTILINE | re.DOTALL
)


def move_solutions(notebook: Notebook, keep: bool = True) -> Notebook:
    """Return `notebook` with its solutions in a last section, or without them.

    Authors write a solution where they like, mostly right after its exercise: a fence
    ``{solution}`` in a cell of prose, or everything between ``{solution-start}`` and
    ``{solution-end}``, code cells included.

    Args:
        notebook: a chapter.
        keep: whether the solutions are shown at all; ``SOLUTIONS=0`` leaves them out.

    Raises:
        BookError: if a solution has no end.
    """
    questions: list[dict[str, Any]] = []
    solutions: list[dict[str, Any]] = []
    between = False  # whether a solution-start is open
    for cell in notebook["cells"]:
        if cell["cell_type"] != "markdown":
            (solutions if between else questions).append(cell)
            continue
        kept: list[str] = []
        moved: list[str] = []
        position = 0
        for found in _SOLUTION.finditer(cell["source"]):
            (moved if between else kept).append(cell["source"][position : found.start()])
            moved.append(found.group())
            between = {"solution-start": True, "solution-end": False}.get(found[2], between)
            position = found.end()
        (moved if between else kept).append(cell["source"][position:])
        rest, solution = ("\n\n".join(filter(None, (t.strip() for t in x))) for x in (kept, moved))
        if rest:
            questions.append({**cell, "source": rest})
        if solution:
            name = f"{cell['id']}-solution"[-64:] if rest else cell["id"]
            solutions.append({**cell, "id": name, "source": solution})
    if between:
        raise BookError("a solution that starts in this chapter does not end")
    if not (solutions and keep):
        return {**notebook, "cells": questions}
    heading = {"cell_type": "markdown", "id": "solutions", "metadata": {}, "source": "## Solutions"}
    last = len(questions)
    while last and "remove-cell" in tags_of(questions[last - 1]):
        last -= 1  # a hidden last cell may use what a solution computes
    return {**notebook, "cells": [*questions[:last], heading, *solutions, *questions[last:]]}


# ------------------------------------------------------------------- address and buttons

_GITHUB = re.compile(
    r"(?:https://(?:[^@/]*@)?|(?:ssh://)?git@)github\.com[:/]([\w.-]+/[\w.-]+?)(?:\.git)?/?"
)


def github_address(root: Path) -> str | None:
    """Return ``https://github.com/owner/name`` of the project, None if it is not on GitHub.

    No source names an address, since a page that did would have its readers run whatever is there.
    The variable ``GT2LITE_REPOSITORY`` comes before the remote `origin`.

    Raises:
        BookError: if ``GT2LITE_REPOSITORY`` is not an address on GitHub.
    """
    given = remote = os.environ.get("GT2LITE_REPOSITORY", "")
    if not given and (root / ".git").exists():  # not that of a checkout around this copy
        command = ["git", "-C", str(root), "remote", "get-url", "origin"]
        remote = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    found = _GITHUB.fullmatch(remote.strip())
    if given and not found:
        raise BookError(
            f"GT2LITE_REPOSITORY must look like https://github.com/owner/name, got {given!r}"
        )
    return f"https://github.com/{found[1]}" if found else None  # without credentials


def configure(config: dict[str, Any], address: str | None) -> None:
    """Give Jupyter Book's `config` launch buttons if the repository is on GitHub."""
    # An empty entry, because Jupyter Book would otherwise fill in an address of its own.
    config["repository"] = {"url": address or "", "path_to_book": "", "branch": "main"}
    if address:
        config["launch_buttons"] = {
            "notebook_interface": "jupyterlab",
            "binderhub_url": "https://mybinder.org",
            "colab_url": "https://colab.research.google.com",
        }
        config.setdefault("html", {}).update(use_repository_button=True, use_issues_button=True)


def how_to_run(chapter: Chapter, address: str | None) -> str:
    """Return the Markdown box that says how to run `chapter`."""
    place = f"a clone of <{address}>" if address else "the folder of the project"
    colab = """
Or press the rocket at the top of this page. Binder installs what the chapter needs; in Colab run
this first:

```
!git clone -q {address}
%pip install -q -e "./{folder}[chapters]"
%cd {folder}
```
"""
    return f"""::::{{dropdown}} Run this chapter
In {place}, with your own parameters:

```sh
{chapter.command}
```
{colab.format(address=address, folder=address.rpartition("/")[2]) if address else ""}::::"""


# ------------------------------------------------------------------------------ compile


def compile_pages(stage_folder: Path, build: Path, builder: str = "html") -> Path:
    """Compile the stage with warnings as errors into the folder that is returned.

    Args:
        stage_folder: the book as `stage` laid it out.
        build: the parent of the result, such as ``build/html``.
        builder: "html", or "singlehtml" for one long page.
    """
    html, log = build / builder, build / f"{builder}.log"
    shutil.rmtree(html, ignore_errors=True)
    # There is no `python -m jupyter_book`, and its script need not be on the PATH.
    command = [sys.executable, "-c", "from jupyter_book.cli.main import main; main()", "build"]
    # Always --all: an incremental build leaves numbers glued across pages stale.
    command += [str(stage_folder), "--path-output", str(build.parent)]
    command += ["--all", "-W", "--keep-going", "--builder", builder]
    # The extension, and the package whose docstrings the reference is made of: this checkout's.
    paths = [str(TOOLS), str(TOOLS.parent), os.environ.get("PYTHONPATH")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    with log.open("wb") as sink:
        code = run_to_end(command, stdout=sink, stderr=subprocess.STDOUT, env=environment)
    if code:
        text = log.read_text(encoding="utf-8", errors="replace")
        lines = re.sub(r"\x1b\[[0-9;]*m", "", text).splitlines()  # coloured even in a file
        complaints = [line for line in lines if re.search(r"WARNING|ERROR|Error", line)]
        raise BookError("\n".join(["the pages did not compile:", *complaints, f"see {log}"]))
    return html
