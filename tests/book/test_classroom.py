"""The classroom bundle: what students get, what lecturers get, and that solutions stay apart."""

from __future__ import annotations

import base64
import importlib
import io
import json
import re
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from tinybook import ROOT, source

assignments = importlib.import_module("builder.assignments")
classroom = importlib.import_module("classroom")
exercises = importlib.import_module("builder.exercises")

SOLUTIONS = assignments.Solutions.read(ROOT)
SECRET = [
    line.strip()
    for code in list(SOLUTIONS.code.values())[1:]
    for line in code.splitlines()
    if not line.startswith(("def ", "rows"))
]
SECRET = [line for line in SECRET if len(line) > 20]  # not "return alpha"
SECRET += [answer[:60] for answer in SOLUTIONS.answers.values()]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    """The folders for students and for lecturers, without wheels of other packages."""
    place = tmp_path_factory.mktemp("class")
    for name in ("chapters", "study", "teaching", "gt2lite", "data", "tools"):
        (place / name).symlink_to(ROOT / name)
    for name in ("_toc.yml", "LICENSE", "README.md", "pyproject.toml", "requirements.lock"):
        (place / name).symlink_to(ROOT / name)
    (place / "index.md").symlink_to(ROOT / "index.md")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(assignments, "build_wheel", empty_wheel)
        patch.setattr(classroom, "build_wheel", empty_wheel)
        return classroom.make_class(place, pythons=[])


def empty_wheel(root, folder):
    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / "gt2lite-0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as made:
        made.writestr("gt2lite/__init__.py", "")
    return wheel


def files_of(folder):
    return {path.relative_to(folder).as_posix(): path for path in folder.rglob("*.*")}


def told_by(path):
    """The text of a file, of a notebook with its embedded files."""
    text = path.read_text(encoding="utf-8", errors="replace")
    if path.suffix != ".ipynb":
        return text
    parts = ["".join(cell["source"]) for cell in json.loads(text)["cells"]]
    found = re.search(r'bundle = "([^"]+)"', "\n".join(parts))
    if found:
        with zipfile.ZipFile(io.BytesIO(base64.b64decode(found[1]))) as packed:
            names = [name for name in packed.namelist() if not name.endswith(".whl")]
            parts += [packed.read(name).decode() for name in names]
    return "\n".join(parts)


def test_students_get_the_lab_exercises_a_check_and_no_solution(bundle):
    files = files_of(bundle[0])
    wanted = {"START.html", "LICENSE", "lab.ipynb", "check_setup.py", "requirements.txt"}
    assert wanted <= {*files, "LICENSE"} and (bundle[0] / "LICENSE").is_file()
    assert "exercises/type2_sets.ipynb" in files
    assert any(name.startswith("wheels/gt2lite") for name in files)
    told = {name: told_by(path) for name, path in files.items() if path.suffix != ".whl"}
    assert not [(name, line) for name, text in told.items() for line in SECRET if line in text]
    assert "{solution}" not in "".join(told.values())


def test_lecturers_get_every_solution_a_key_a_quiz_and_both_assignments(bundle):
    files = files_of(bundle[1])
    for name in ("lab_solved.ipynb", "nbgrader/source/lab/lab.ipynb", "otter/lab.ipynb"):
        text = told_by(files[name])
        assert all(re.sub(r"^ +", "", line) in text for line in SECRET), name
    assert {"key.py", "quiz.gift", "START.html", "nbgrader/nbgrader_config.py"} <= set(files)


def test_start_pages_name_files_that_are_there(bundle):
    of_lecturers = {"slides/", "results/results.json", "grades.csv"}  # made later
    of_lecturers |= {"lab.ipynb", "ada.ipynb"}  # what students hand in
    for folder, elsewhere in zip(bundle, (set(), of_lecturers), strict=True):
        page = (folder / "START.html").read_text(encoding="utf-8")
        assert page.startswith("<!doctype html>") and "<h1>" in page
        names = set(re.findall(r"<code>([\w/]+(?:\.\w+|/))</code>", page))
        assert len(names) > 1
        assert not [name for name in names - elsewhere if not (folder / name).exists()]


def test_each_exercise_of_a_chapter_has_an_empty_cell_and_no_role_is_left(bundle):
    chapters = {chapter.name: chapter for chapter in source.chapters(ROOT)}
    made = {path.stem: path for path in (bundle[0] / "exercises").iterdir()}
    assert {"small_system", "conformal"} <= set(made)
    for name, path in made.items():
        notebook = source.read_notebook(path)
        wanted = sum(
            cell["source"].count("{exercise}")
            for cell in chapters[name].notebook["cells"]
            if cell["cell_type"] == "markdown"
        )
        texts = [cell["source"] for cell in notebook["cells"]]
        assert sum(text.startswith("## Exercise") for text in texts) == wanted
        assert sum(not text for text in texts) == wanted
        assert not re.search(r"\{[\w:]+\}`|^:label:", "\n".join(texts), re.MULTILINE)


def test_the_key_gives_the_numbers_that_a_solved_lab_prints(bundle, tmp_path):
    from study import lab

    student = "Ada Lovelace"
    key = bundle[1] / "key.py"
    text = (bundle[1] / "lab_solved.ipynb").read_text(encoding="utf-8")
    # without the empty wheel: gt2lite is installed here
    (tmp_path / "lab_solved.ipynb").write_text(
        re.sub(r'bundle = \\"[^"]+\\"', 'bundle = \\"\\"', text)
    )
    (tmp_path / "key.py").write_bytes(key.read_bytes())
    for name in assignments.CHECKS:
        (tmp_path / name).write_bytes((ROOT / "study" / name).read_bytes())
    done = subprocess.run(
        [sys.executable, "key.py", student],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    rows = lab.power_plant(student)
    half = np.sort(rows.errors_cal)[450]
    assert (
        f"half_width = {half:.6f}, covered = {np.mean(rows.errors_new <= half):.4f}" in done.stdout
    )
    assert "30 of 30 points" in done.stdout


def test_the_quiz_has_twenty_questions_with_one_right_answer_each():
    text = (ROOT / "teaching" / "quiz.gift").read_text(encoding="utf-8")
    questions = re.findall(r"::(\d\d) [^:]+::(.*?)(?<!\\)\{(.*?)\}", text, re.DOTALL)
    assert [int(number) for number, _, _ in questions] == list(range(1, 21))
    for number, _, answers in questions:
        if answers.startswith("#"):
            float(answers[1:].partition(":")[0])
        else:
            lines = [line.strip() for line in answers.strip().splitlines()]
            assert sum(line.startswith("=") for line in lines) == 1, number
            assert sum(line.startswith("~") for line in lines) >= 2, number


def test_numbers_of_the_quiz_are_right():
    from gt2lite.calibration import rank
    from gt2lite.losses import pinball
    from gt2lite.memberships import kappa_of
    from gt2lite.reduction import enumerate_weights

    text = (ROOT / "teaching" / "quiz.gift").read_text(encoding="utf-8")
    given = {int(n): float(x) for n, x in re.findall(r"::(\d\d) [^{]*\{#([\d.]+)", text)}
    lower, upper = np.array([0.1, 0.3, 0.2]), np.array([0.5, 0.9, 0.6])
    planes = np.array([0.9, 0.8, 0.75, 0.6, 0.5, 0.5, 0.3, 0.2, 0.05, 0])
    right = {
        2: rank(0.8, 11),
        6: kappa_of(1.0),
        8: enumerate_weights(lower, upper, np.array([1.0, 3.0, 6.0]))[0],
        10: pinball(2.0, 0.9),
        14: np.sort(planes)[::-1][rank(0.7, 10) - 1],
        15: rank(0.95, 201),
        16: next(n for n in range(1, 100) if rank(0.95, n + 1) <= n),
    }
    assert given == pytest.approx(right)


def test_the_page_that_readers_download_works_alone_and_holds_no_solution(executed, site):
    page = site / "_sources" / "chapters" / "lab.ipynb"
    text = told_by(page)
    assert "bundle = " in text and "class Verdict" in text
    html = (site / "chapters" / "lab.html").read_text(encoding="utf-8")
    assert "b64decode" not in html
    for path in (page, site / "chapters" / "lab.html", site / "searchindex.js"):
        told = told_by(path) if path.suffix == ".ipynb" else path.read_text(encoding="utf-8")
        assert not [line for line in SECRET if line in told], path.name
