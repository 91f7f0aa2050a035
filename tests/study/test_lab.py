"""Checks of the lab: right code passes, each typical mistake fails and is named."""

import importlib.util
import json
import math
import re
import subprocess
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from gt2lite.reduction import karnik_mendel
from study import lab, lab_tasks

NOTEBOOK = Path(__file__).resolve().parents[2] / "chapters" / "lab.ipynb"
CELLS = {
    cell["id"]: (cell["cell_type"], "".join(cell["source"]))
    for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
}
CODE = {name: text for name, (kind, text) in CELLS.items() if kind == "code"}
SOLVED = NOTEBOOK.parents[1] / "teaching" / "lab_solutions.md"
BLOCKS = re.findall(r"```python\n(.*?)```", SOLVED.read_text(encoding="utf-8"), re.DOTALL)
SOLUTION, POWER_PLANT = "\n\n".join(BLOCKS[:-1]), BLOCKS[-1]
TASKS = {task.function: (task.title, task) for task in lab.TASKS}


def run(*texts, **names):
    for text in texts:
        exec(compile(text, "lab.ipynb", "exec"), names)
    return names


def solved(old="", new=""):
    """Return the functions of the notebook's own solution, with a change of its text."""
    assert old in SOLUTION
    text = SOLUTION.replace(old, new) if old else SOLUTION
    return run(text, np=np, math=math, karnik_mendel=karnik_mendel)


@pytest.mark.parametrize("function", TASKS)
def test_right_code_passes_a_blank_is_not_done_and_an_error_is_reported(function):
    (task, check), right = TASKS[function], solved()[function]
    code = next(text for text in CODE.values() if f"def {function}(" in text)
    assert repr(check(right)) == f"{task}: right"
    assert check(right).points == check.points
    assert check(lambda *arguments: np.asarray(right(*arguments))).passed
    if function != "coverage":  # which is right in the notebook
        blank = check(run(code)[function])
        assert repr(blank) == f"{task}: not done yet" and not blank.passed and not blank.points
    wrong = check(lambda *_: {}["oops"])
    assert "stops with KeyError: 'oops'" in repr(wrong) and not wrong.points


@pytest.mark.parametrize("value", [None, [1.0], np.array([1.0]), math.nan, "1", True])
def test_a_value_of_another_kind_is_wrong(value):
    assert f"returns {value!r}" in lab.check_membership(lambda *_: value).wrong
    assert not lab.check_type_reduction(lambda *_: (1.0, value)).passed
    assert not lab.check_type_reduction(lambda *_: (1.0, 2.0, 3.0)).passed


SMALLEST = "smallest.append(np.average(y, weights=np.where(first < switch, {})))"
RANK = "math.ceil(round((len(scores) + 1) * level, 9))"
CLIPPED = "min(max(alpha - step, 0.01), min(alpha + step, 1.0), key=far)"
NONE = "    if not np.any(covered >= level):\n        return np.inf\n"
WIDTH = "np.mean(upper[:, first] - lower[:, first])"
MISTAKES = {  # a piece of the solution, what a student writes instead, and what must be named
    "membership": [
        ("2 * M", "M", "The 2 is missing"),
        ("(2 * M * sigma**2)", "2 * M * sigma**2", "denominator needs parentheses"),
        ("**", "^", "A power is ** in Python"),
        ("2 * M", "2", "Divide by M"),
        ("return", "x = np.ravel(x)[0]; return", "an array of grades"),
        ("np.exp", "math.exp", "math.exp does not"),
        ("return np.exp(-((x - c)", "x -= c; return np.exp(-((x)", "not x -= c"),
    ],
    "type_reduce": [
        ("min(smallest), max(largest)", "max(largest), min(smallest)", "lower end must come first"),
        (SMALLEST.format("upper, lower"), SMALLEST.format("lower, upper"), "the paper's misprint"),
        ("np.argsort(y)", "np.arange(len(y))", "Sort the consequents first"),
        ("range(len(y) + 1)", "range(1)", "Try ALL switch points"),
        ("order =", "if len(y) == 1: return 0.0, 0.0\n    order =", "a single rule"),
        (
            "order =",
            "if np.array_equal(f_lower, f_upper): return 0, 1\n    order =",
            "equal lower and upper",
        ),
        ("order =", "return karnik_mendel(f_lower, f_upper, y, 2)[:2]\n    order =", "some rules"),
        ("np.argsort(y)", "np.unique(y, return_index=True)[1]", "Wrong for some rules"),
        ("order =", "y.sort(); order =", "Do not change what you are given"),
    ],
    "split_conformal": [
        (RANK, "0; return np.quantile(scores, level)", "sort the scores and take one"),
        (RANK, "math.ceil(round(len(scores) * level, 9))", "The new row counts too"),
        (RANK, "math.ceil(round(len(scores) * level, 9)) + 1", "rounded up twice"),
        (RANK, "int((len(scores) + 1) * level)", "Round UP"),
        (RANK, "math.ceil(len(scores) * level + 0.5)", "Take the ceil"),
        ("[rank - 1]", "[rank]", "sorted[k - 1]"),
        ("np.sort(scores)[rank - 1]", "rank", "It is the rank"),
        ("rank =", "scores = np.unique(scores); rank =", "Equal scores all count"),
        ("else np.inf", "else 'inf'", "returns 'inf'"),
        ("else np.inf", "else scores.max()", "Nine scores cannot"),
        ("np.sort(scores)", "scores", "sort them"),
        ("rank =", "scores.sort(); rank =", "no x.sort()"),
    ],
    "method_2": [
        (" and step >= 0.0001", "", "does not end"),
        (CLIPPED, "min(alpha - step, alpha + step, key=far)", "alpha must lie between"),
        ("key=far", "key=lambda alpha: -far(alpha)", "A smaller alpha covers more"),
        ("far(side) < far(alpha)", "far(side) <= far(alpha)", "strictly nearer"),
        ("0.0005", "0.005", "do not stop too early"),
        ("0.4, 0.1", "0.5, 0.1", "your search at 0.5 and 0.4"),
        ("return alpha", "return alpha if far(alpha) < 0.0005 else None", "returns None"),
        ("return alpha", "return alpha if far(alpha) < 0.0005 else -1", "returns -1 where no"),
    ],
    "width_at_coverage": [
        ("<=", "<", "compare with <="),
        ("np.argmax(covered >= level)", "np.argmin(abs(covered - level))", "AT LEAST the level"),
        ("np.argmax(covered >= level)", "-1", "not the widest"),
        (WIDTH, f"{WIDTH} / 2", "not half of it"),
        ("y[:, None]", "y", "y[:, None]"),
        (WIDTH, "np.mean((upper - lower)[abs(y) <= upper[:, first], first])", "that are missed"),
        (NONE, "", "np.argmax is 0"),
    ],
}


@pytest.mark.parametrize(
    ("function", "old", "new", "words"),
    [(function, *mistake) for function, mistakes in MISTAKES.items() for mistake in mistakes],
)
def test_a_typical_mistake_fails_and_is_named(function, old, new, words):
    verdict = TASKS[function][1](solved(old, new)[function])
    assert not verdict.passed
    assert words in verdict.wrong
    assert verdict.points == verdict.of * (0.5 if verdict.one_mistake else 0)


def test_one_typical_mistake_gets_half_of_the_points_and_two_get_none():
    typical, two = solved("2 * M", "M"), solved("2 * M * sigma**2", "M * sigma")
    assert lab.check_membership(typical["membership"]).points == 1.5
    assert lab.check_membership(two["membership"]).points == 0
    endless = solved(" and step >= 0.0001", "")
    assert lab.check_method_2(endless["method_2"]).points == 3
    endless_and_more = run(SOLUTION.replace(" and step >= 0.0001", "").replace("0.0005", "0.005"),
                           np=np, math=math)  # fmt: skip
    assert lab.check_method_2(endless_and_more["method_2"]).points == 0


def test_stored_answers_are_those_of_the_references():
    stored = json.loads(lab_tasks.FILE.read_text(encoding="utf-8"))
    found = json.loads(json.dumps(lab_tasks.answers()))

    def close(a, b):
        if isinstance(a, dict):
            return a.keys() == b.keys() and all(close(a[k], b[k]) for k in a)
        if isinstance(a, list):
            return len(a) == len(b) and all(map(close, a, b))
        return a == b if isinstance(a, str) else math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12)

    assert close(stored, found)


def test_what_students_get_holds_no_solution():
    """Neither page nor checks have a line of a solution, but for what both must say."""
    both = ("def ", "rows = ", "else:", "return alpha", "return np.inf")
    lines = {line.strip() for block in BLOCKS[1:] for line in block.splitlines()}
    secret = {line for line in lines if line and not line.startswith(both)}
    checks = Path(lab.__file__).read_text(encoding="utf-8")
    told = "\n".join([text for _, text in CELLS.values()] + [checks])
    assert len(secret) > 20
    assert not [line for line in secret if line in told]


def test_the_sheet_adds_up_points_and_hidden_calls_agree_with_the_solutions():
    names = run(SOLUTION, np=np, math=math, lab=lab, student="Ada Lovelace")
    assert lab.check(names).points == 27  # without the last task
    names = run(POWER_PLANT, **names)
    sheet = lab.check(names)
    assert sheet.points == sheet.of == 30
    assert repr(sheet).endswith("30 of 30  for all tasks")
    assert lab.check({}).points == 0
    for function in lab_tasks.REFERENCES:
        for call, right in lab_tasks.hidden(function):
            found = lab.result(names[function], [*map(lab.decode, call)])
            assert lab.same(found, lab.decode(right)), function


def test_rows_of_the_power_plant_differ_by_student_and_wrong_numbers_are_named():
    first, other = lab.power_plant("Ada"), lab.power_plant("Alan")
    assert not np.array_equal(first.errors_cal, other.errors_cal)
    half = float(np.sort(first.errors_cal)[450])
    covered = float(np.mean(first.errors_new <= half))
    assert lab.check_power_plant(half, covered, " ada ").passed
    assert (
        "holds 450" in lab.check_power_plant(np.sort(first.errors_cal)[449], covered, "Ada").wrong
    )
    assert lab.check_power_plant(half, 0.9, "Ada").points == 1.5
    assert not lab.check_power_plant(half, covered, "Alan").passed
    assert not lab.check_power_plant(None, None).done
    assert "numbers" in lab.check_power_plant("a", math.nan).wrong


def test_a_search_may_raise_an_error_if_no_plane_is_near_enough():
    raising = "if far(alpha) >= 0.0005: raise ValueError('no plane')\n    return alpha"
    assert lab.check_method_2(solved("return alpha", raising)["method_2"]).passed


# --------------------------------------------------------------------------- the notebook


def test_the_notebook_runs_as_committed_and_with_its_own_solutions(capsys):
    assert run(*CODE.values())["sheet"].points == 0
    capsys.readouterr()
    blanks = {f"task-{number}-code": "" for number in range(6)} | {"task-6-code": POWER_PLANT}
    names = run(*(CODE | blanks).values(), **solved())
    assert names["sheet"].points == 30
    by_rank, by_search = re.findall(r"and (.*)% of 200", capsys.readouterr().out)
    low, high = (100 * end for end in names["usual"](0.8, 100, 200))
    assert low <= float(by_rank) <= high
    assert 50 <= float(by_search) <= 100


def test_the_usual_range_is_the_law_of_coverage():
    usual = run(CODE["all-law"], np=np, math=math)["usual"]
    for level, n_cal, n_new in ((0.8, 100, 200), (0.9, 40, 1000)):
        r = math.ceil((n_cal + 1) * level)
        law = stats.betabinom(n_new, r, n_cal + 1 - r)
        assert list(usual(level, n_cal, n_new) * n_new) == [law.ppf(0.025), law.ppf(0.975)]


def test_the_solution_to_the_question_on_seven_rows_is_right():
    coverage = lab.stairs(7)
    assert coverage(solved()["method_2"](coverage, 0.9)) == coverage(0.4) == 4 / 7
    assert coverage(0.1) == 6 / 7


def test_without_the_library_it_installs_a_wheel_first_without_a_registry(monkeypatch, tmp_path):
    asked, codes = [], iter([0, 1, 0])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)

    def call(command, **options):
        asked.append([command[-1], "--no-index" in command])
        return SimpleNamespace(returncode=next(codes), stderr="refused")

    monkeypatch.setattr(subprocess, "run", call)
    with pytest.raises(ImportError, match="wheel"):
        run(CODE["install"])
    (tmp_path / "gt2lite-1.0-py3-none-any.whl").touch()
    run(CODE["install"])
    run(CODE["install"])
    wheel = "gt2lite-1.0-py3-none-any.whl"
    assert asked == [[wheel, True], [wheel, True], [wheel, False]]
