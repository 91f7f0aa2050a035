"""What a run depends on: the code behind it, found by following imports, and outside packages.

A stored run may be used again only if it would come out the same today. Its *key* is therefore
a hash of three things: what was asked for, the code that computes it, and the versions of
the packages which that code imports. Nobody lists the code by hand: beginning at the module that
executes a run, every import is followed, also one inside a function. This *closure* is all
that the run can call.

Of a module counts what can change a result. Docstrings and comments do not; nor does the
order in which things are imported, only what is imported under which name; nor do imports for
type checkers. The front doors of the packages that a module lies in (`gt2lite/__init__.py`)
count only where a name is taken from them.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.metadata
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

PACKAGE = Path(__file__).resolve().parents[1]

BYSTANDERS = frozenset({"distributed", "joblib", "threadpoolctl", "tqdm"})
"""Packages that spread or show work and compute nothing: their versions do not count."""


class Module(NamedTuple):
    """What one module contributes to a key, and where it leads."""

    code: str  # without docstrings, comments and imports
    imports: frozenset[tuple[str, str, str]]  # module, name ("" for the module itself), alias
    modules: frozenset[str]  # of this package
    packages: frozenset[str]  # of others


class Closure(NamedTuple):
    """All that some modules can call."""

    modules: tuple[str, ...]  # of this package, sorted
    packages: tuple[str, ...]  # others, sorted; the standard library aside


def run_key(code: Iterable[str], asked: dict[str, Any], package: Path = PACKAGE) -> str:
    """Return the key of a run.

    Args:
        code: the modules that execute it, such as "study.protocol".
        asked: all that distinguishes this run from others of its kind, in plain values.
        package: where the package's source lies.
    """
    whole = {"asked": asked, "code": code_digest(tuple(code), package)}
    return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()[:24]


@functools.cache
def code_digest(code: tuple[str, ...], package: Path = PACKAGE) -> str:
    """Return a hash of the closure of some modules and of the versions that it uses."""
    closure = find_closure(code, package)
    digest = hashlib.sha256()
    for name in closure.modules:
        module = _read(name, package)
        digest.update(json.dumps([name, module.code, sorted(module.imports)]).encode())
    for name in closure.packages:
        digest.update(json.dumps([name, _version(name)]).encode())
    return digest.hexdigest()[:24]


def find_closure(code: Iterable[str], package: Path = PACKAGE) -> Closure:
    """Return all that some modules can call.

    >>> found = find_closure(["gt2lite.memberships"])
    >>> found.modules, found.packages
    (('gt2lite._validation', 'gt2lite.memberships'), ('autograd', 'numpy'))
    """
    ahead, modules, packages = list(code), set[str](), set[str]()
    while ahead:
        name = ahead.pop()
        if name in modules:
            continue
        modules.add(name)
        module = _read(name, package)
        ahead += module.modules
        packages |= module.packages
    return Closure(tuple(sorted(modules)), tuple(sorted(packages - BYSTANDERS)))


@functools.cache
def _read(name: str, package: Path) -> Module:
    path = _path(name, package)
    if path is None:
        raise ValueError(f"there is no module {name!r}")
    inside = name if path.name == "__init__.py" else name.rpartition(".")[0]
    tree = ast.parse(path.read_text(encoding="utf-8"))
    _drop_what_does_not_run(tree)
    imports = frozenset(_imports(tree, inside))
    modules, packages = set(), set()
    for target, taken, _ in imports:
        top = target.partition(".")[0]
        if top != package.name:
            if top not in sys.stdlib_module_names:
                packages.add(top)
            continue
        whole = f"{target}.{taken}" if taken else target
        found = whole if _path(whole, package) else target
        if found == package.name:
            raise ValueError(f"{name} takes {taken!r} from the front door: import it by its path")
        modules.add(found)
    code = ast.dump(_WithoutImports().visit(tree))
    return Module(code, imports, frozenset(modules), frozenset(packages))


def _path(name: str, package: Path) -> Path | None:
    """Return the file of a module, None where there is no such module."""
    top, *rest = name.split(".")
    place = package.joinpath(*rest)
    for path in (place / "__init__.py", place.with_suffix(".py")):
        if top == package.name and path.is_file():
            return path
    return None


def _imports(tree: ast.AST, inside: str) -> Iterator[tuple[str, str, str]]:
    """Yield what is imported, with relative names resolved from the package `inside`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for item in node.names:
                yield item.name, "", item.asname or ""
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = inside.split(".")[: len(inside.split(".")) - node.level + 1]
                base = ".".join([*parents, *([base] if base else [])])
            for item in node.names:
                yield base, item.name, item.asname or ""


def _drop_what_does_not_run(tree: ast.AST) -> None:
    """Remove docstrings, other lone constants, and what only type checkers see."""
    for node in ast.walk(tree):
        for field in ("body", "orelse"):
            lines = getattr(node, field, None)
            if isinstance(lines, list):
                setattr(node, field, [line for line in lines if not _is_idle(line)])


def _is_idle(line: ast.stmt) -> bool:
    if isinstance(line, ast.Expr):
        return isinstance(line.value, ast.Constant)
    return isinstance(line, ast.If) and ast.unparse(line.test) in (
        "TYPE_CHECKING",
        "typing.TYPE_CHECKING",
    )


class _WithoutImports(ast.NodeTransformer):
    """Takes import lines out: they count as a set, whatever their order."""

    def visit_Import(self, node: ast.Import) -> None:
        """Drop the line."""

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Drop the line."""


@functools.cache
def _version(package: str) -> str:
    """Return the version of an installed package, by the name under which it is imported."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        names = importlib.metadata.packages_distributions().get(package, [])
    return ", ".join(importlib.metadata.version(name) for name in sorted(set(names))) or "absent"
