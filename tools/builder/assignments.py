"""The lab as notebooks: for students, solved, for nbgrader and for Otter-Grader.

All of them are made of `chapters/lab.ipynb`, whose cells ``task-1-code`` and ``task-1-check`` are
a task, and of `teaching/lab_solutions.md`. Points are those of `study.lab`.
"""

from __future__ import annotations

import base64
import io
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

from nbformat import v4

from builder.source import BookError, Notebook, read_notebook

CHECKS = ("lab.py", "lab_answers.json")
"""Files of `study/` that students get."""

STUB = "raise NotImplementedError  # replace this line by yours"

N_TASKS, N_QUESTIONS, QUESTION_POINTS = 7, 6, 3


class Solutions:
    """What `lab_solutions.md` holds: the code of each task, the answer to each question."""

    def __init__(self, text: str) -> None:
        parts = dict(re.findall(r"^### (\w+ \d)\n\n(.*?)(?=^### |\Z)", text, re.DOTALL | re.M))
        self.code = {k: _python(parts[f"Task {k}"]) for k in range(N_TASKS)}
        self.remarks = {
            k: parts[f"Task {k}"].partition("\n```\n")[2].strip() for k in range(N_TASKS)
        }
        self.answers = {k: parts[f"Question {k}"].strip() for k in range(1, N_QUESTIONS + 1)}

    @classmethod
    def read(cls, root: Path) -> Solutions:
        """Return the solutions of a checkout."""
        return cls((root / "teaching" / "lab_solutions.md").read_text(encoding="utf-8"))


def _python(text: str) -> str:
    found = re.search(r"```python\n(.*?)\n```", text, re.DOTALL)
    if found is None:
        raise BookError("teaching/lab_solutions.md: a task has no code")
    return found[1]


def read_lab(root: Path) -> Notebook:
    """Return the notebook of the lab, as its page has it."""
    return read_notebook(root / "chapters" / "lab.ipynb")


def points(task: int) -> int:
    """Return the points of a task."""
    from study import lab

    return lab.POINTS_POWER_PLANT if task == N_TASKS - 1 else lab.TASKS[task].points


# ------------------------------------------------------------------------------ for students


def build_wheel(root: Path, folder: Path) -> Path:
    """Build the wheel of a checkout into `folder`, and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    hatch = [
        sys.executable,
        "-m",
        "hatchling",
        "build",
        "-d",
        folder.resolve(),
        "--target",
        "wheel",
    ]
    subprocess.run(hatch, cwd=root, check=True, capture_output=True)
    (wheel,) = folder.glob("gt2lite-*.whl")
    return wheel


def pack_checks(root: Path, wheel: Path) -> str:
    """Return the wheel and the checks as one text, for the variable `bundle` of the notebook."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for path in (wheel, *(root / "study" / name for name in CHECKS)):
            entry = zipfile.ZipInfo(path.name, (1980, 1, 1, 0, 0, 0))
            archive.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)
    return base64.b64encode(packed.getvalue()).decode()


def with_bundle(notebook: Notebook, bundle: str) -> Notebook:
    """Return the notebook with gt2lite and the checks inside: one file that works alone."""
    return _with_code(notebook, {"install": ('bundle = ""', f'bundle = "{bundle}"')})


def self_contained(page: Notebook, root: Path) -> Notebook:
    """Return the page of the lab with gt2lite and the checks in a cell that only a download shows.

    A reader who downloads the page has one file that works alone.
    """
    with tempfile.TemporaryDirectory() as folder:
        bundle = pack_checks(root, build_wheel(root, Path(folder)))
    cells = [
        {**cell, "metadata": {**cell["metadata"], "tags": ["remove-cell"]}}
        if cell["id"] == "install"
        else cell
        for cell in page["cells"]
    ]
    return with_bundle({**page, "cells": cells}, bundle)


def with_answers(notebook: Notebook, answers: dict[int, str] | None = None) -> Notebook:
    """Return the notebook with a cell for the answer to each question, empty or filled."""
    cells = []
    for cell in notebook["cells"]:
        cells.append(cell)
        if cell["id"] == "oral":
            for k in range(1, N_QUESTIONS + 1):
                title = v4.new_markdown_cell(f"**Answer to question {k}**")
                answer = v4.new_markdown_cell("*Write here.*" if answers is None else answers[k])
                cells += [title | {"id": f"title-{k}"}, answer | {"id": f"answer-{k}"}]
    return {**notebook, "cells": cells}


def without_page(notebook: Notebook) -> Notebook:
    """Return the notebook without what only a page of the book understands."""

    def plain(text: str) -> str:
        text = re.sub(r"\s*\{doc\}`lecturer`[^\n]*", "", text)
        return re.sub(r"\[([^\]]+)\]\(\w+\.ipynb\)", r"*\1*", text)

    cells = [
        {**cell, "source": plain(cell["source"])} if cell["cell_type"] == "markdown" else cell
        for cell in notebook["cells"]
    ]
    return {**notebook, "cells": cells}


def student_copy(notebook: Notebook, bundle: str) -> Notebook:
    """Return the notebook that students get, with the metadata by which both graders know it."""
    found = with_bundle(with_answers(without_page(notebook)), bundle)
    metadata = {**found["metadata"], "otter": {"assignment_name": "lab"}}
    cells = [_with_points(cell) for cell in found["cells"]]
    return {**found, "metadata": metadata, "cells": cells}


def _with_points(cell: dict) -> dict:
    """Return a cell of a task or of an answer with what nbgrader grades it by."""
    if _task_of(cell, "code"):
        return _graded(cell, solution=True)
    if check := _task_of(cell, "check"):
        return _graded(cell, points(check), locked=True)
    return _graded(cell, QUESTION_POINTS, solution=True) if _question_of(cell) else cell


# ------------------------------------------------------------------------------ for lecturers


def solved(notebook: Notebook, solutions: Solutions) -> Notebook:
    """Return the notebook with all solutions."""
    found = with_answers(without_page(notebook), solutions.answers)
    cells = []
    for cell in found["cells"]:
        task = _task_of(cell, "code")
        cells.append(cell if task is None else {**cell, "source": solutions.code[task]})
        if task is not None and solutions.remarks[task]:
            cells.append(v4.new_markdown_cell(solutions.remarks[task]) | {"id": f"remark-{task}"})
    return {**found, "cells": cells}


def for_nbgrader(notebook: Notebook, solutions: Solutions) -> Notebook:
    """Return the source of an nbgrader assignment: autograded cells with hidden tests."""
    found = solved(notebook, solutions)
    cells = []
    for cell in found["cells"]:
        code, check = _task_of(cell, "code"), _task_of(cell, "check")
        if code:
            text = _split(code, "### BEGIN SOLUTION", cell["source"], "### END SOLUTION")
            cell = {**cell, "source": text}
        elif check:
            text = "\n".join(
                [
                    f"verdict = {cell['source']}",
                    "print(verdict)",
                    "points = verdict.points",
                    "### BEGIN HIDDEN TESTS",
                    *_hidden_test(check),
                    "### END HIDDEN TESTS",
                    "points",
                ]
            )
            cell = {**cell, "source": text}
        cells.append(_with_points(cell))
    return {**found, "cells": cells}


def for_otter(notebook: Notebook, solutions: Solutions, files: Sequence[str]) -> Notebook:
    """Return the master notebook of an Otter assignment, with hidden tests for full points.

    Half of the points are those of the visible test, which code with one typical mistake passes.
    """
    found = solved(notebook, solutions)
    names = "".join(f"\n  - {name}" for name in files)
    config = f"name: lab\nfiles:{names}\nenvironment: false"
    cells = [_raw(f"# ASSIGNMENT CONFIG\n{config}")]
    for cell in found["cells"]:
        code, check, question = _task_of(cell, "code"), _task_of(cell, "check"), _question_of(cell)
        if code:
            text = _split(code, "# BEGIN SOLUTION NO PROMPT", cell["source"], "# END SOLUTION")
            stub = "# replace None" if code == N_TASKS - 1 else f"    {STUB}"
            indent = stub[: len(stub) - len(stub.lstrip())]
            prompt = f'{indent}""" # BEGIN PROMPT\n{stub}\n{indent}""" # END PROMPT'
            half = points(code) / 2
            cells += [
                _raw(f"# BEGIN QUESTION\nname: task{code}\npoints: [{half}, {half}]"),
                _raw("# BEGIN SOLUTION"),
                {**cell, "source": f"{text}\n{prompt}"},
                _raw("# END SOLUTION"),
            ]
        elif check:
            verdict = f"verdict = {cell['source']}"
            full = "\n".join(
                [
                    '""" # BEGIN TEST CONFIG\nhidden: true\n""" # END TEST CONFIG',
                    verdict,
                    "points = verdict.points",
                    *_hidden_test(check),
                    f"assert points == {points(check)}",
                ]
            )
            cells += [
                _raw("# BEGIN TESTS"),
                v4.new_code_cell(f"{verdict}\nassert verdict.points > 0"),
                v4.new_code_cell(full),
                _raw("# END TESTS"),
                _raw("# END QUESTION"),
                cell,  # which says in words what is wrong
            ]
        elif question:
            by_hand = f"name: question{question}\npoints: {QUESTION_POINTS}\nmanual: true"
            cells += [
                _raw(f"# BEGIN QUESTION\n{by_hand}"),
                _raw("# BEGIN SOLUTION"),
                cell,
                _raw("# END SOLUTION"),
                _raw("# END QUESTION"),
            ]
        else:
            cells.append(cell)
    return {**found, "cells": cells}


def _split(task: int, begin: str, code: str, end: str) -> str:
    """Return the code of a task with its solution marked, after what students keep."""
    if task == N_TASKS - 1:
        first = code.partition("\n")[0]
        return "\n".join([first, "half_width = covered = None", begin, code, end])
    head, _, body = code.partition("\n")
    return "\n".join([head, f"    {begin}", body, f"    {end}"])


def _hidden_test(task: int) -> list[str]:
    """Return lines that set `points` to 0 if code that passed is wrong in further calls."""
    from study import lab, lab_tasks

    if task == N_TASKS - 1:  # a student's rows are hidden tests enough
        return []
    function = lab.TASKS[task].function
    if function == "method_2":
        cases = f"for level, n in {lab_tasks.LEVELS_AND_ROWS}:"
        right = "abs(lab.stairs(n)(method_2(lab.stairs(n), level)) - level) <= 0.0006"
    else:
        cases = f"for call, right in {lab_tasks.hidden(function)}:"
        found = f"lab.result({function}, [*map(lab.decode, call)])"
        right = f"lab.same({found}, lab.decode(right))"
    return [cases, f"    if verdict.passed and not {right}:", "        points = 0"]


# ------------------------------------------------------------------------------------- cells


def _task_of(cell: dict, part: str) -> int | None:
    found = re.fullmatch(rf"task-(\d)-{part}", cell["id"])
    return int(found[1]) if found else None


def _question_of(cell: dict) -> int | None:
    found = re.fullmatch(r"answer-(\d)", cell["id"])
    return int(found[1]) if found else None


def _graded(cell: dict, points: int = 0, *, solution: bool = False, locked: bool = False) -> dict:
    kind = {"grade": bool(points), "solution": solution, "locked": locked, "task": False}
    kind |= {"schema_version": 3, "grade_id": cell["id"], "cell_type": cell["cell_type"]}
    if points:
        kind["points"] = points
    return {**cell, "metadata": {**cell["metadata"], "nbgrader": kind}}


def _raw(text: str) -> dict:
    return v4.new_raw_cell(text)


def _with_code(notebook: Notebook, changes: dict[str, tuple[str, str]]) -> Notebook:
    """Return the notebook with a piece of text replaced in cells, by their ids."""
    cells = []
    for cell in notebook["cells"]:
        if cell["id"] in changes:
            old, new = changes[cell["id"]]
            if cell["source"].count(old) != 1:
                raise BookError(f"chapters/lab.ipynb: the cell {cell['id']} must hold {old} once")
            cell = {**cell, "source": cell["source"].replace(old, new)}
        cells.append(cell)
    return {**notebook, "cells": cells}
