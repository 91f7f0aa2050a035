"""Imports of a package, read from its source without running it, and what is wrong with them.

Imports inside functions count; those for type checkers only do not. Every function returns
sentences, none where all is well.
"""

from __future__ import annotations

import ast
import graphlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple


class Import(NamedTuple):
    """A module of the package that another one imports, and the name that it takes from it."""

    by: str
    module: str
    name: str | None = None


class Package:
    """The modules of a package by dotted name, and the imports among them."""

    def __init__(self, folder: Path) -> None:
        self.name = folder.name
        self.files = {self._dotted(folder, path): path for path in sorted(folder.rglob("*.py"))}
        self.imports: list[Import] = []
        self.private: list[Import] = []  # underscored names of other modules
        for module, path in self.files.items():
            tree = ast.parse(path.read_text(encoding="utf-8"))
            reader = _Reader(self, module, path.name == "__init__.py")
            reader.visit(tree)
            self.imports += reader.found
            self.private += reader.private

    @staticmethod
    def _dotted(folder: Path, path: Path) -> str:
        parts = path.relative_to(folder.parent).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    def public(self) -> list[str]:
        """Return the names at the top that are no secret."""
        depth = self.name.count(".") + 1
        children = {name.split(".")[depth] for name in self.files if name.count(".") >= depth}
        return sorted(name for name in children if not name.startswith("_"))


class _Reader(ast.NodeVisitor):
    def __init__(self, package: Package, module: str, is_package: bool) -> None:
        self.package, self.module, self.is_package = package, module, is_package
        self.found: list[Import] = []
        self.private: list[Import] = []
        self.bound: dict[str, str] = {}  # local names of modules

    def visit_If(self, node: ast.If) -> None:
        if "TYPE_CHECKING" in ast.unparse(node.test):
            for other in node.orelse:
                self.visit(other)
        else:
            self.generic_visit(node)

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            if alias.name in self.package.files:
                self.found.append(Import(self.module, alias.name))
                if alias.asname:
                    self.bound[alias.asname] = alias.name

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        parts = self.module.split(".")
        parts = parts[: len(parts) - node.level + self.is_package] if node.level else []
        source = ".".join([*parts, *([node.module] if node.module else [])])
        for alias in node.names:
            if f"{source}.{alias.name}" in self.package.files:
                self.found.append(Import(self.module, f"{source}.{alias.name}"))
                self.bound[alias.asname or alias.name] = f"{source}.{alias.name}"
            elif source in self.package.files:
                self.found.append(Import(self.module, source, alias.name))
                self._note(source, alias.name)

    def visit_Call(self, node: ast.Call) -> None:
        if ast.unparse(node.func).endswith("import_module") and node.args:
            name = node.args[0]
            if isinstance(name, ast.Constant) and name.value in self.package.files:
                self.found.append(Import(self.module, name.value))
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if isinstance(node.value, ast.Name) and node.value.id in self.bound:
            self._note(self.bound[node.value.id], node.attr)
        self.generic_visit(node)

    def _note(self, module: str, name: str) -> None:
        is_magic = name.startswith("__") and name.endswith("__")
        if name.startswith("_") and not is_magic and f"{module}.{name}" not in self.package.files:
            self.private.append(Import(self.module, module, name))


def _within(module: str, room: str) -> bool:
    return module == room or module.startswith(f"{room}.")


def wrong_ways(package: Package, outer: Iterable[str]) -> list[str]:
    """Return where the method, which is all that is in no outer room, imports from one."""
    rooms = [f"{package.name}.{room}" for room in outer]
    return [
        f"{found.by} imports {found.module}"
        for found in package.imports
        if any(_within(found.module, room) for room in rooms)
        and not any(_within(found.by, room) for room in rooms)
    ]


def strangers(package: Package, apart: Mapping[str, Iterable[str]]) -> list[str]:
    """Return where a room imports from one that it is to know nothing of."""
    walls = [
        (f"{package.name}.{room}", f"{package.name}.{other}")
        for room, others in apart.items()
        for other in others
    ]
    return [
        f"{found.by} imports {found.module}"
        for found in package.imports
        if any(_within(found.by, room) and _within(found.module, other) for room, other in walls)
    ]


def intruders(package: Package, room: str, doors: Iterable[str]) -> list[str]:
    """Return where others than the doors import from a room."""
    inside = f"{package.name}.{room}"
    allowed = {f"{package.name}.{door}" for door in doors}
    return [
        f"{found.by} imports {found.module}"
        for found in package.imports
        if _within(found.module, inside)
        and not _within(found.by, inside)
        and found.by not in allowed
    ]


def cycle(package: Package) -> list[str]:
    """Return the modules of a circle of imports, if there is one."""
    order = graphlib.TopologicalSorter({name: set() for name in package.files})
    for found in package.imports:
        order.add(found.by, found.module)
    try:
        order.prepare()
    except graphlib.CycleError as error:
        return list(error.args[1])
    return []


def private_names(package: Package) -> list[str]:
    """Return where an underscored name of another module is used."""
    return [f"{found.by} uses {found.module}.{found.name}" for found in package.private]


def long_files(folders: Iterable[Path], limit: int) -> list[str]:
    """Return the Python files that have more lines than the limit."""
    return [
        f"{path.name} has {n} lines"
        for folder in folders
        for path in sorted(folder.rglob("*.py"))
        if (n := len(path.read_text(encoding="utf-8").splitlines())) > limit
    ]
