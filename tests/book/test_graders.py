"""nbgrader and Otter-Grader on a right, a wrong and an empty lab: `make graders`."""

from __future__ import annotations

import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from tinybook import ROOT

if find_spec("nbgrader") is None or find_spec("otter") is None:
    pytest.skip("needs nbgrader and Otter-Grader: make graders", allow_module_level=True)

assignments = importlib.import_module("builder.assignments")
write_notebook = importlib.import_module("builder.execute").write_notebook
LAB, SOLUTIONS = assignments.read_lab(ROOT), assignments.Solutions.read(ROOT)
RIGHT = {task: code for task, code in SOLUTIONS.code.items() if task}
WRONG = RIGHT | {
    1: RIGHT[1].replace("2 * M", "M"),  # one typical mistake: half
    2: RIGHT[2].replace("min(smallest), max(largest)", "0.0, 1.0"),
    3: RIGHT[3].replace("+ 1) * level", ") * level"),  # one typical mistake
    4: RIGHT[4].replace("0.4, 0.1", "0.5, 0.1"),
    5: "def width_at_coverage(y, lower, upper, level):\n    return 1 / 0",
    6: "rows = lab.power_plant(student)\nhalf_width, covered = 5.0, 0.9",
}
CASES = {"right": RIGHT, "wrong": WRONG, "empty": {}}
POINTS = {
    "right": [3, 6, 6, 6, 6, 3],
    "wrong": [1.5, 0, 3, 0, 0, 0],
    "empty": [0] * 6,
}


def run(*words, cwd):
    """Run a command of this environment."""
    scripts = Path(sys.executable).parent
    path = os.pathsep.join([str(scripts), os.environ["PATH"]])
    place = {"PATH": path, "PYTHONPATH": str(ROOT), "JUPYTER_PLATFORM_DIRS": "1"}
    done = subprocess.run(
        words, cwd=cwd, env=os.environ | place, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def hand_in(codes, notebook):
    """Write a student's code into the cells of the notebook in the students' bundle."""
    content = assignments.student_copy(LAB, "")
    for task, code in codes.items():
        head = SOLUTIONS.code[task].partition("\n")[0]
        (cell,) = [
            one
            for one in content["cells"]
            if one["cell_type"] == "code" and one["source"].startswith(head)
        ]
        cell["source"] = code
    write_notebook(notebook, content)


def add_checks(folder):
    for name in assignments.CHECKS:
        shutil.copy(ROOT / "study" / name, folder)


def test_nbgrader_gives_the_points_of_the_checks(tmp_path):
    source = tmp_path / "source" / "lab"
    source.mkdir(parents=True)
    write_notebook(source / "lab.ipynb", assignments.for_nbgrader(LAB, SOLUTIONS))
    add_checks(source)
    shutil.copy(ROOT / "teaching" / "nbgrader_config.py", tmp_path)
    run("nbgrader", "generate_assignment", "lab", cwd=tmp_path)
    released = (tmp_path / "release" / "lab" / "lab.ipynb").read_text(encoding="utf-8")
    assert "HIDDEN" not in released and "np.average" not in released
    for name, codes in CASES.items():
        place = tmp_path / "submitted" / name / "lab"
        place.mkdir(parents=True)
        hand_in(codes, place / "lab.ipynb")
        add_checks(place)
    run("nbgrader", "autograde", "lab", cwd=tmp_path)
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{tmp_path / 'gradebook.db'}") as book:
        for submission in book.assignment_submissions("lab"):
            grades = {g.name: g for one in submission.notebooks for g in one.grades}
            tasks = [grades[f"task-{task}-check"] for task in range(1, 7)]
            assert [g.auto_score for g in tasks] == POINTS[submission.student.id]
            assert [g.max_score for g in tasks] == POINTS["right"]
            assert sum(g.max_score for g in grades.values()) == 48  # with six questions


def test_otter_gives_the_points_of_the_checks(tmp_path):
    master = tmp_path / "lab.ipynb"
    write_notebook(master, assignments.for_otter(LAB, SOLUTIONS, assignments.CHECKS))
    add_checks(tmp_path)
    run("otter", "assign", "--no-pdfs", "lab.ipynb", "out", cwd=tmp_path)  # tries the solutions
    handed_out = tmp_path / "out" / "student" / "lab.ipynb"
    assert "np.average" not in handed_out.read_text(encoding="utf-8")
    (grader,) = (tmp_path / "out" / "autograder").glob("*.zip")
    for name, codes in CASES.items():
        (tmp_path / name).mkdir()
        submission = tmp_path / name / "lab.ipynb"
        hand_in(codes, submission)
        run("otter", "run", "-a", str(grader), "-o", name, str(submission), cwd=tmp_path)
        tests = json.loads((tmp_path / name / "results.json").read_text())["tests"]
        found = {one["name"]: one for one in tests if re.match(r"task\d", one["name"])}
        assert [found[f"task{k}"]["score"] for k in range(1, 7)] == POINTS[name]
        assert [found[f"task{k}"]["max_score"] for k in range(1, 7)] == POINTS["right"]
