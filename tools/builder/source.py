"""Sources of the book: table of contents, chapters, parameters and profiles.

Everything here reads; nothing runs a chapter or writes a file. A mistake that an author can mend
is a `BookError`, whose message says what is wrong and where.
"""

from __future__ import annotations

import ast
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from nbformat import v4
from sphinx_external_toc.parsing import parse_toc_yaml

Notebook = dict[str, Any]
Parameters = dict[str, Any]


class BookError(Exception):
    """A mistake in the book's sources or on the command line."""


@dataclass(frozen=True)
class Chapter:
    """A notebook of the book, as its author wrote it."""

    path: Path
    document: str  # its name in the table of contents, such as chapters/type2_sets
    notebook: Notebook
    defaults: Parameters  # names and values of its parameters cell

    @property
    def name(self) -> str:
        """The short name, used in profiles and on the command line."""
        return self.path.stem

    @property
    def code(self) -> list[str]:
        """The source of each code cell, in order."""
        return [cell["source"] for cell in self.notebook["cells"] if cell["cell_type"] == "code"]

    @property
    def command(self) -> str:
        """The command that runs the chapter, with its first numeric parameter as an example."""
        numbers = [f"{k}={v}" for k, v in self.defaults.items() if type(v) in (int, float)]
        return f"make chapter NAME={self.name}" + "".join(f' PARAMS="{n}"' for n in numbers[:1])


def tags_of(cell: Mapping[str, Any]) -> list[str]:
    """Return a cell's tags."""
    return list(cell["metadata"].get("tags", []))


def read_notebook(path: Path) -> Notebook:
    """Return the notebook at `path`, each source as one string."""
    try:
        notebook: Notebook = v4.reads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise BookError(f"{path} is not a notebook: {error}") from error
    return notebook


def documents(root: Path) -> list[Path]:
    """Return the files of the table of contents, in reading order."""
    found = []
    for name in parse_toc_yaml(root / "_toc.yml"):
        both = [root / f"{name}.md", root / f"{name}.ipynb"]
        present = [path for path in both if path.is_file()]
        if not present:
            raise BookError(f"_toc.yml names {name!r}: there is no {name}.md and no {name}.ipynb")
        found.append(present[0])
    return found


def chapters(root: Path) -> list[Chapter]:
    """Return the notebooks of the book, in reading order."""
    return [_read_chapter(root, path) for path in documents(root) if path.suffix == ".ipynb"]


def _read_chapter(root: Path, path: Path) -> Chapter:
    notebook = read_notebook(path)
    cells = [cell for cell in notebook["cells"] if "parameters" in tags_of(cell)]
    if len(cells) != 1:
        raise BookError(f"{path} must have one cell tagged 'parameters', it has {len(cells)}")
    document = path.relative_to(root).with_suffix("").as_posix()
    return Chapter(path, document, notebook, _literals(path, cells[0]["source"]))


def _literals(path: Path, code: str) -> Parameters:
    """Return the assignments of a parameters cell.

    Papermill adds its values *after* this cell, so that a value which is computed
    here would still be computed from the old ones. Hence literals only.
    """
    found: Parameters = {}
    lines: list[Any] = ast.parse(code).body
    for line in lines:
        try:
            [target] = line.targets
            found[target.id] = ast.literal_eval(line.value)
        except (AttributeError, ValueError):  # no assignment to one name, or no literal
            raise BookError(
                f"{path}: the parameters cell may hold lines `name = literal` only, "
                f"not `{ast.unparse(line)}`"
            ) from None
    return found


def parameter_lines(chapter: Chapter) -> list[str]:
    """Return the parameters of a chapter as it sets them, with its comments."""
    [cell] = [c for c in chapter.notebook["cells"] if "parameters" in tags_of(c)]
    return [line for line in cell["source"].splitlines() if line.strip()]


def find_chapter(root: Path, name: str) -> Chapter:
    """Return the chapter called `name`, with or without folder and ending."""
    found = {chapter.name: chapter for chapter in chapters(root)}
    if not name:
        raise BookError(f"which chapter? For example: make chapter NAME={next(iter(found), '...')}")
    if Path(name).stem not in found:
        raise BookError(f"there is no chapter {name!r}, only {_listed(found)}")
    return found[Path(name).stem]


def profile_parameters(root: Path, found: list[Chapter], profile: str) -> dict[str, Parameters]:
    """Return the parameters that `profile` changes, checked: chapter -> parameters."""
    with (root / "chapters" / "profiles.yml").open(encoding="utf-8") as file:
        known: dict[str, dict[str, Parameters]] = yaml.safe_load(file)
    if profile not in known:
        raise BookError(f"there is no profile {profile!r}, only {_listed(known)}")
    names = {chapter.name: chapter for chapter in found}
    for name, values in known[profile].items():
        if name not in names:
            raise BookError(
                f"profile {profile!r} names the chapter {name!r}; the book has {_listed(names)}"
            )
        check_parameters(names[name], values, f"profile {profile!r}")
    return known[profile]


def check_parameters(chapter: Chapter, given: Parameters, where: str) -> None:
    """Raise a `BookError` unless `chapter` knows every name in `given`, and its type."""
    alike = {float: (int, float), list: (list, tuple), tuple: (list, tuple)}
    for name, value in given.items():
        if name not in chapter.defaults:
            raise BookError(
                f"{where}: chapter {chapter.name!r} has no parameter {name!r}, "
                f"only {_listed(chapter.defaults)}"
            )
        default = chapter.defaults[name]
        kinds = alike.get(type(default), (type(default),))
        if default is not None and value is not None and type(value) not in kinds:
            raise BookError(
                f"{where}: {name!r} of chapter {chapter.name!r} is of type "
                f"{type(default).__name__} (default {default!r}), got {value!r}"
            )


def parse_parameters(text: str) -> Parameters:
    """Return the parameters in a line of literals and of words, which need no quotes.

    >>> parse_parameters("seed=3 alphas=[0.01,0.5] name=ww")
    {'seed': 3, 'alphas': [0.01, 0.5], 'name': 'ww'}
    """
    given: Parameters = {}
    try:
        items = shlex.split(text)
    except ValueError as error:
        raise BookError(f"the parameters {text!r} cannot be read: {error}") from None
    for item in items:
        name, equals, value = item.partition("=")
        if not equals or not name.isidentifier():
            raise BookError(f"a parameter must be written name=value, got {item!r}")
        try:
            given[name] = ast.literal_eval(value)
        except (SyntaxError, ValueError, TypeError):
            given[name] = value
    return given


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names)) or "none"
