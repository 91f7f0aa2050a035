"""From executed chapters to pages: merge, move solutions, stage, compile.

The stage is a folder that holds the whole book as Jupyter Book reads it: texts as they are,
notebooks with the outputs of their executed copies. It is built anew each time, so that a change of
prose needs no run.
"""

from __future__ import annotations

import ast
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

from builder import assignments
from builder.execute import STAMP, write_notebook
from builder.source import BookError, Chapter, Notebook, chapters, read_notebook, tags_of

TOOLS = Path(__file__).resolve().parents[1]
QUICK_BANNER = (
    "Quick profile: small runs that check the book. "
    "The numbers on these pages are not the reproduction."
)


_PNG, _SVG = "image/png", "image/svg+xml"  # executed chapters hold figures in both formats
_GLUED = "application/papermill.record/"  # stands before the formats of a glued figure


def stage(root: Path, profile: str, *, solutions: bool = True, paper: bool = False) -> Path:
    """Lay out the book of a profile, with or without solutions; return the folder.

    For `paper` figures are vectors, and code that pages fold is left out.
    """
    address, target = github_address(root), root / "_build" / "stage"
    shutil.rmtree(target, ignore_errors=True)
    ignored = shutil.ignore_patterns("*.ipynb", "profiles.yml", ".*", "__pycache__")
    for folder in ("chapters", "assets"):
        if (root / folder).is_dir():
            shutil.copytree(root / folder, target / folder, ignore=ignored)
    for path in itertools.chain(*map(root.glob, ("_toc.yml", "index.md", "*.bib"))):
        shutil.copy(path, target)
    times = ["| chapter | seconds |", "|---|---:|"]
    for chapter in chapters(root):
        executed = read_notebook(
            root / "_build" / "executed" / profile / f"{chapter.document}.ipynb"
        )
        seconds = executed["metadata"][STAMP]["seconds"]
        done = merge(chapter.notebook, executed, paper)
        if not paper:
            done = with_note(done, how_to_run(chapter, address))
        done = move_solutions(done, solutions)
        if chapter.name == "lab":
            done = assignments.self_contained(done, root)
        write_notebook(target / f"{chapter.document}.ipynb", done)
        times.append(f"| {{doc}}`/{chapter.document}` | {seconds:.0f} |")
    # Two texts that pages include.
    (target / "chapters" / "run_times.txt").write_text("\n".join(times) + "\n", encoding="utf-8")
    (target / "chapters" / "modules.txt").write_text(study_modules(root), encoding="utf-8")
    config = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))
    configure(config, address)
    if profile == "quick":
        config.setdefault("html", {})["announcement"] = QUICK_BANNER
    text = yaml.safe_dump(config, allow_unicode=True, sort_keys=False)
    (target / "_config.yml").write_text(text, encoding="utf-8")
    return target


def merge(source: Notebook, executed: Notebook, paper: bool = False) -> Notebook:
    """Return `source` with the outputs of `executed`, whose code cells are the same.

    Prose, tags and captions come from `source`; outputs, counts and the parameters that papermill
    injected come from `executed`. Figures are PNG; for `paper` they are SVG, and code that pages
    fold is dropped.
    """
    ran = [cell for cell in executed["cells"] if cell["cell_type"] == "code"]
    injected = [cell for cell in ran if "injected-parameters" in tags_of(cell)]
    outputs = iter([cell for cell in ran if "injected-parameters" not in tags_of(cell)])
    cells: list[dict[str, Any]] = []
    for cell in copy.deepcopy(source["cells"]):
        cells.append(cell)
        if cell["cell_type"] == "code":
            done = next(outputs, cell)  # in a lab the code may be newer
            cell["outputs"], cell["execution_count"] = done["outputs"], done["execution_count"]
            for output in cell["outputs"]:
                data = output.get("data", {})
                for before in ("", _GLUED):
                    if {before + _PNG, before + _SVG} <= data.keys():
                        del data[before + (_PNG if paper else _SVG)]
        if "parameters" in tags_of(cell):
            cell["metadata"]["tags"] = sorted({*tags_of(cell), "hide-input"})
            prompts = {"show": "Show the parameters", "hide": "Hide the parameters"}
            cell["metadata"]["mystnb"] = {f"code_prompt_{k}": v for k, v in prompts.items()}
            cells += injected
        if paper and "hide-input" in tags_of(cell):
            cell["metadata"]["tags"] = sorted({*tags_of(cell), "remove-input"} - {"hide-input"})
    metadata = {key: value for key, value in executed["metadata"].items() if key != STAMP}
    return {**source, "metadata": metadata, "cells": cells}


def with_note(notebook: Notebook, note: str) -> Notebook:
    """Return `notebook` with a cell of prose after its first cell, which holds the title."""
    first, *rest = notebook["cells"]
    return {**notebook, "cells": [first, _prose("how-to-run", note), *rest]}


def move_solutions(notebook: Notebook, keep: bool = True) -> Notebook:
    """Return `notebook` with its cells tagged `solution` in a last section, or without them."""
    solutions = [cell for cell in notebook["cells"] if "solution" in tags_of(cell)]
    questions = [cell for cell in notebook["cells"] if "solution" not in tags_of(cell)]
    if not (solutions and keep):
        return {**notebook, "cells": questions}
    last = len(questions)
    while "remove-cell" in tags_of(questions[last - 1]):
        last -= 1  # a hidden last cell may use what a solution computes
    solutions = [_prose("solutions", "## Solutions"), *solutions]
    return {**notebook, "cells": [*questions[:last], *solutions, *questions[last:]]}


def _prose(name: str, text: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "id": name, "metadata": {}, "source": text}


def study_modules(root: Path) -> str:
    """Return a Markdown list of the public modules in ``study/`` by their first lines."""
    items = []
    for path in sorted((root / "study").rglob("[!_]*.py")):
        doc = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        name = ".".join(path.relative_to(root).with_suffix("").parts)
        items.append(f"**{name}**\n: {doc.partition(chr(10))[0]}\n")
    return "\n".join(items)


_GITHUB = re.compile(
    r"(?:https://(?:[^@/]*@)?|(?:ssh://)?git@)github\.com[:/]([\w.-]+/[\w.-]+?)(?:\.git)?/?"
)


def github_address(root: Path) -> str | None:
    """Return ``https://github.com/owner/name`` of the project, None if it is not on GitHub.

    No source names an address, since a page that did would have its readers run whatever is there.
    The variable ``GT2LITE_REPOSITORY`` comes before the remote `origin`.
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
    """Give Jupyter Book's `config` the repository; launch buttons and links if it is on GitHub."""
    place = (
        f"the repository <{address}>" if address else "the folder from which this book was built"
    )
    words = config.setdefault("parse", {}).setdefault("myst_substitutions", {})
    words["repository"] = place
    words["release"] = f"[release]({address}/releases)" if address else "release"
    # An empty entry, because Jupyter Book would otherwise fill in an address of its own.
    config["repository"] = {"url": address or "", "path_to_book": "", "branch": "main"}
    if address:
        config["launch_buttons"] = {
            "notebook_interface": "jupyterlab",
            "binderhub_url": "https://mybinder.org",
            "colab_url": "https://colab.research.google.com",
        }
        owner, name = address.split("/")[-2:]
        config.setdefault("html", {}).update(
            use_repository_button=True,
            use_issues_button=True,
            baseurl=f"https://{owner.lower()}.github.io/{name}/",  # GitHub Pages
        )


_HOW_TO_RUN = """::::{{dropdown}} Run this chapter
:class-container: book-run

In {place}, with your own parameters:

```sh
{command}
```
{colab}::::"""
_COLAB = """
Or press the rocket at the top of this page. Binder installs what the chapter needs; in Colab run
this first:

```
!git clone -q {address}
%pip install -q -e "./{folder}[chapters]"
%cd {folder}
```
"""


def how_to_run(chapter: Chapter, address: str | None) -> str:
    """Return the Markdown box that says how to run `chapter`."""
    place, colab = "the folder of the project", ""
    if address:
        place = f"a clone of <{address}>"
        colab = _COLAB.format(address=address, folder=address.rpartition("/")[2])
    return _HOW_TO_RUN.format(place=place, command=chapter.command, colab=colab)


def compile_pages(stage_folder: Path, builder: str = "html") -> Path:
    """Compile the stage with warnings as errors; return the folder of pages, beside the stage.

    The `builder` is "html", or "singlehtml" for one long page.
    """
    build = stage_folder.parent
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
        done = subprocess.run(command, stdout=sink, stderr=sink, env=environment, check=False)
    if done.returncode:
        text = log.read_text(encoding="utf-8", errors="replace")
        lines = re.sub(r"\x1b\[[0-9;]*m", "", text).splitlines()  # coloured even in a file
        complaints = [line for line in lines if re.search(r"WARNING|ERROR|Error", line)]
        raise BookError("\n".join(["the pages did not compile:", *complaints, f"see {log}"]))
    return html
