"""Solutions stand apart from their questions: at the end of a chapter, or nowhere.

Authors write a solution where they like, mostly right after its exercise. The sources stay whole.
In the staged copy all solutions of a chapter move to a last section of their own; a build with
``SOLUTIONS=0``, for a class that is to find them by itself, leaves that section out.

A solution is a fence ``{solution}`` in a cell of prose, or all that stands between
``{solution-start}`` and ``{solution-end}``, cells of code among it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from press.source import BookError, Notebook, tags_of, text_of

HEADING = "## Solutions"
_OPENS = re.compile(r"^(?P<fence>`{3,}|:{3,})\{(?P<kind>solution|solution-start|solution-end)\}")


@dataclass
class _Sorter:
    """Deals lines to the questions or to the solutions, through all cells of a notebook."""

    in_gate: bool = False  # between a start and an end
    fence: str = ""  # that ends what is being read
    kind: str = ""
    kept: list[str] = field(default_factory=list)
    moved: list[str] = field(default_factory=list)

    def cell(self, text: str) -> tuple[str, str]:
        """Return the part of a cell that stays and the part that is a solution."""
        self.kept, self.moved = [], []
        for line in text.splitlines():
            self._line(line)
        return "\n".join(self.kept).strip("\n"), "\n".join(self.moved).strip("\n")

    def _line(self, line: str) -> None:
        opened = _OPENS.match(line)
        if not self.fence and opened:
            self.fence, self.kind = opened["fence"], opened["kind"]
            self.in_gate = self.in_gate or self.kind == "solution-start"
            if self.moved and self.kind != "solution-end":
                self.moved.append("")
            self.moved.append(line)
            return
        inside = bool(self.fence) or self.in_gate
        (self.moved if inside else self.kept).append(line)
        if self.fence and line.strip() == self.fence:
            self.in_gate = self.in_gate and self.kind != "solution-end"
            self.fence = ""


def part_solutions(notebook: Notebook, keep: bool = True) -> Notebook:
    """Return `notebook` with its solutions in a last section, or without them.

    Args:
        notebook: a chapter.
        keep: whether the solutions are shown at all.

    Raises:
        BookError: where a solution has no end.
    """
    sorter = _Sorter()
    questions: list[dict[str, Any]] = []
    solutions: list[dict[str, Any]] = []
    for cell in notebook["cells"]:
        if cell["cell_type"] != "markdown":
            (solutions if sorter.in_gate else questions).append(cell)
            continue
        kept, moved = sorter.cell(text_of(cell))
        if kept or not moved:
            questions.append({**cell, "source": kept} if moved else cell)
        if moved:
            name = f"{cell['id']}-solution"[-64:] if kept else cell["id"]
            solutions.append({**cell, "id": name, "source": moved})
    if sorter.in_gate or sorter.fence:
        raise BookError("a solution that starts in this chapter does not end")
    if not (solutions and keep):
        return {**notebook, "cells": questions}
    heading = {"cell_type": "markdown", "id": "solutions-apart", "metadata": {}, "source": HEADING}
    end = len(questions)
    while end and "remove-cell" in tags_of(questions[end - 1]):
        end -= 1  # what a hidden last cell tells may come out of a solution
    return {**notebook, "cells": [*questions[:end], heading, *solutions, *questions[end:]]}
