"""Sources of the book: table of contents, chapters, parameters and profiles.

Everything here reads; nothing runs a chapter or writes a file. A mistake that an author can mend
is a `BookError`, whose message says what is wrong and where.
"""

from __future__ import annotations

import ast
import json
import shlex
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

Notebook = dict[str, Any]
Parameters = dict[str, Any]


class BookError(Exception):
    """A mistake in the book's sources or on the command line."""


@dataclass(frozen=True)
class Chapter:
    """A notebook of the book, as its author wrote it.

    Args:
        path: the source.
        document: its name in the table of contents, such as ``chapters/type2_sets``.
        notebook: its content.
        defaults: names and values of its parameters cell.
    """

    path: Path
    document: str
    notebook: Notebook
    defaults: Parameters

    @property
    def name(self) -> str:
        """The short name, used in profiles and on the command line."""
        return self.path.stem

    @property
    def code(self) -> list[str]:
        """The source of each code cell, in order."""
        return [text_of(cell) for cell in self.notebook["cells"] if cell["cell_type"] == "code"]

    @property
    def example(self) -> str:
        """``PARAMS="..."`` with the first parameter that is a number, empty if there is none."""
        for name, value in self.defaults.items():
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                return f' PARAMS="{name}={value}"'
        return ""


def text_of(cell: Mapping[str, Any]) -> str:
    """Return a cell's source, which the format keeps as one string or as a list of lines."""
    source = cell["source"]
    return source if isinstance(source, str) else "".join(source)


def tags_of(cell: Mapping[str, Any]) -> list[str]:
    """Return a cell's tags."""
    return list(cell.get("metadata", {}).get("tags", []))


def read_notebook(path: Path) -> Notebook:
    """Return the notebook at `path`."""
    try:
        notebook: Notebook = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise BookError(f"{path} is not a notebook: {error}") from error
    return notebook


def documents(root: Path) -> list[Path]:
    """Return the files of the table of contents, in reading order."""
    toc = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
    return [_find(root, name) for name in _names(toc)]


def _names(entry: Any) -> Iterator[str]:
    if isinstance(entry, list):
        for item in entry:
            yield from _names(item)
    elif isinstance(entry, dict):
        yield from (entry[key] for key in ("root", "file") if key in entry)
        for key in ("parts", "chapters", "sections"):
            yield from _names(entry.get(key, []))


def _find(root: Path, name: str) -> Path:
    for suffix in ("", ".md", ".ipynb"):
        path = root / f"{name}{suffix}"
        if path.is_file():
            return path
    raise BookError(f"_toc.yml names {name!r}, but there is no {name}.md and no {name}.ipynb")


def chapters(root: Path) -> list[Chapter]:
    """Return the notebooks of the book, in reading order."""
    return [read_chapter(root, path) for path in documents(root) if path.suffix.lower() == ".ipynb"]


def read_chapter(root: Path, path: Path) -> Chapter:
    """Return the notebook at `path` with the defaults of its parameters."""
    notebook = read_notebook(path)
    cells = [cell for cell in notebook["cells"] if "parameters" in tags_of(cell)]
    if len(cells) != 1:
        raise BookError(f"{path} must have one cell tagged 'parameters', it has {len(cells)}")
    document = path.relative_to(root).with_suffix("").as_posix()
    return Chapter(path, document, notebook, _literals(path, text_of(cells[0])))


def _literals(path: Path, code: str) -> Parameters:
    """Return the assignments of a parameters cell.

    Papermill adds its values *after* this cell, so that a value which is computed
    here would still be computed from the old ones. Hence literals only.
    """
    found: Parameters = {}
    for line in ast.parse(code).body:
        target = line.targets[0] if isinstance(line, ast.Assign) else None
        try:
            if not isinstance(line, ast.Assign) or len(line.targets) > 1:
                raise ValueError
            if not isinstance(target, ast.Name):
                raise ValueError
            found[target.id] = ast.literal_eval(line.value)
        except ValueError:
            raise BookError(
                f"{path}: the parameters cell may hold lines `name = literal` only, "
                f"not `{ast.unparse(line)}`"
            ) from None
    return found


def profiles(root: Path) -> dict[str, dict[str, Parameters]]:
    """Return what each profile changes: profile -> chapter -> parameters."""
    path = root / "chapters" / "profiles.yml"
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
        return {
            str(profile): {str(name): dict(given or {}) for name, given in (changes or {}).items()}
            for profile, changes in content.items()
        }
    except yaml.YAMLError as error:
        raise BookError(f"{path} is not YAML: {' '.join(str(error).split())}") from None
    except (AttributeError, TypeError, ValueError):
        raise BookError(f"{path} must hold profile -> chapter -> parameters") from None


def profile_parameters(root: Path, found: list[Chapter], profile: str) -> dict[str, Parameters]:
    """Return the parameters that `profile` gives to each chapter, checked."""
    known = profiles(root)
    if profile not in known:
        raise BookError(f"there is no profile {profile!r}, only {_listed(known)}")
    names = {chapter.name: chapter for chapter in found}
    for name in known[profile]:
        if name not in names:
            raise BookError(
                f"profile {profile!r} names the chapter {name!r}; the book has {_listed(names)}"
            )
    given = {name: known[profile].get(name, {}) for name in names}
    for name, values in given.items():
        check_parameters(names[name], values, f"profile {profile!r}")
    return given


def check_parameters(chapter: Chapter, given: Parameters, where: str) -> None:
    """Raise a `BookError` unless `chapter` knows every name in `given`, and its type."""
    for name, value in given.items():
        if name not in chapter.defaults:
            raise BookError(
                f"{where}: chapter {chapter.name!r} has no parameter {name!r}, "
                f"only {_listed(chapter.defaults)}"
            )
        default = chapter.defaults[name]
        if not _same_kind(default, value):
            raise BookError(
                f"{where}: {name!r} of chapter {chapter.name!r} is of type "
                f"{type(default).__name__} (default {default!r}), got {value!r}"
            )
        try:
            json.dumps(value)  # as it travels to the process that runs the chapter
        except (TypeError, ValueError):
            raise BookError(
                f"{where}: {name!r} of chapter {chapter.name!r} must be made of numbers, strings, "
                f"lists and dicts, got {value!r}"
            ) from None


def _same_kind(default: Any, value: Any) -> bool:
    if default is None or value is None:
        return True
    if isinstance(default, float):
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if isinstance(default, (list, tuple)):
        return isinstance(value, (list, tuple)) and all(
            any(_same_kind(known, item) for known in default) for item in value if default
        )
    return type(value) is type(default)


def parse_parameters(text: str) -> Parameters:
    """Return the parameters in a line such as ``seed=3 epochs=5 alphas=[0.01,0.5]``.

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
        given[name] = _value(value)
    return given


def _value(text: str) -> Any:
    """Return the literal that `text` is; else it is a word, which needs no quotes."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is no literal is none of the parser's business
            return ast.literal_eval(text)
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        return text


def find_chapter(root: Path, name: str) -> Chapter:
    """Return the chapter called `name`, with or without folder and ending."""
    found = {chapter.name: chapter for chapter in chapters(root)}
    if not name:
        raise BookError(f"which chapter? For example: make chapter NAME={next(iter(found), '...')}")
    stem = Path(name).name.removesuffix(".ipynb")
    if stem not in found:
        raise BookError(f"there is no chapter {name!r}, only {_listed(found)}")
    return found[stem]


def _listed(names: Mapping[str, Any]) -> str:
    return ", ".join(map(repr, names)) or "none"
