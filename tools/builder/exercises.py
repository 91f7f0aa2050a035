"""Exercises of the chapters as notebooks for students: each with an empty cell, no solutions."""

from __future__ import annotations

import re
from collections.abc import Iterator

from nbformat import v4

from builder.source import Chapter, Notebook

_EXERCISE = re.compile(
    r"^(?P<fence>:{3,}|`{3,})\{exercise\}(?P<title>[^\n]*)\n(?P<body>.*?)^(?P=fence)\s*$",
    re.DOTALL | re.MULTILINE,
)
_OPTION = re.compile(r"^:\w+:.*\n", re.MULTILINE)
_ROLES = {
    "eq": "the equation in the chapter",
    "numref": "the figure or table in the chapter",
    "prf:ref": "the theorem in the chapter",
    "ref": "the exercise in the chapter",
    "doc": "the page in the book",
    "glue:text": "(see the chapter)",
}


def exercise_notebook(chapter: Chapter) -> Notebook | None:
    """Return a notebook with the exercises of a chapter, None if it has none."""
    texts = list(_exercises(chapter.notebook))
    if not texts:
        return None
    title = _title(chapter.notebook)
    cells = [
        _cell("title", f"# Exercises: {title}\n\nStars say how hard an exercise is. One that "
              "continues the code of its chapter runs in a copy of the chapter: `make lab`.")
    ]  # fmt: skip
    start = "import numpy as np\n\nimport gt2lite"
    cells.append(v4.new_code_cell(start) | {"id": "imports"})
    for k, text in enumerate(texts, 1):
        cells.append(_cell(f"exercise-{k}", f"## Exercise {k}\n\n{text}"))
        cells.append(v4.new_code_cell() | {"id": f"answer-{k}"})
    return v4.new_notebook(cells=cells, metadata=dict(chapter.notebook["metadata"]))


def _exercises(notebook: Notebook) -> Iterator[str]:
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            for found in _EXERCISE.finditer(cell["source"]):
                body = _OPTION.sub("", found["body"]).strip()
                yield re.sub(r"\{([\w:]+)\}`[^`]*`", lambda role: _ROLES[role[1]], body)


def _title(notebook: Notebook) -> str:
    found = re.search(r"^# (.*)$", notebook["cells"][0]["source"], re.MULTILINE)
    return found[1] if found else "?"


def _cell(name: str, text: str) -> dict:
    return v4.new_markdown_cell(text) | {"id": name}
