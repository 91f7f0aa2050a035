"""The lab's checks: right code passes, each typical mistake fails and is named."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from gt2lite import reduction
from gt2lite.study import lab

NOTEBOOK = Path(__file__).resolve().parents[2] / "chapters" / "lab.ipynb"


# Right solutions, as a student would write them


def membership(x, c, sigma, M):
    return np.exp(-((x - c) ** 2) / (2 * M * sigma**2))


def type_reduce(f_lower, f_upper, y):
    order = np.argsort(y)
    low, up, y = f_lower[order], f_upper[order], y[order]
    rules = np.arange(len(y))
    ends = [
        [np.average(y, weights=np.where(rules < k, first, then)) for k in range(len(y) + 1)]
        for first, then in ((up, low), (low, up))
    ]
    return min(ends[0]), max(ends[1])


def split_conformal(scores, level):
    k = math.ceil(round((len(scores) + 1) * level, 9))
    return np.inf if k > len(scores) else np.sort(scores)[k - 1]


def method_2(coverage, level, stop=1e-4):
    alpha, step = 0.4, 0.1
    while abs(coverage(alpha) - level) >= 0.0005 and step >= stop:
        sides = [max(alpha - step, 0.01), min(alpha + step, 1.0)]
        best = min(sides, key=lambda side: abs(coverage(side) - level))
        if abs(coverage(best) - level) < abs(coverage(alpha) - level):
            alpha = best
        else:
            step /= 2
    return alpha


TASKS = {
    "membership": (lab.check_membership, membership),
    "type reduction": (lab.check_type_reduction, type_reduce),
    "split conformal": (lab.check_split_conformal, split_conformal),
    "Method 2": (lab.check_method_2, method_2),
}


@pytest.mark.parametrize("task", TASKS)
def test_right_code_passes(task):
    check, function = TASKS[task]
    assert repr(check(function)) == f"{task}: right"
    assert check(function).passed


def test_the_librarys_own_type_reduction_passes():
    assert lab.check_type_reduction(reduction.type_reduce).passed
    assert lab.check_type_reduction(reduction.enumerate_weights).passed


@pytest.mark.parametrize("task", TASKS)
def test_a_blank_is_not_done_yet(task):
    def blank(*arguments):
        raise NotImplementedError

    verdict = TASKS[task][0](blank)
    assert repr(verdict) == f"{task}: not done yet"
    assert not verdict.passed


@pytest.mark.parametrize("task", TASKS)
def test_an_error_in_the_students_code_is_told_and_does_not_stop_the_notebook(task):
    def broken(*arguments):
        raise KeyError("oops")

    said = repr(TASKS[task][0](broken))
    assert "not right yet" in said
    assert "stops with KeyError: 'oops'" in said


NO_NUMBERS = {
    "None": (None, "Your function returns None: is `return` missing?"),
    "a list": ([1.0], "Your function returns a list: return a number."),
    "a tuple": ((1.0,), "Your function returns a tuple: return a number."),
    "an array": (np.array([1.0]), "Your function returns an array: return a number."),
    "nan": (math.nan, "Your function returns nan, which is no number"),
    "text": ("1", "Your function returns the text '1': return a number, no text."),
    "True": (True, "Your function returns a bool: return a number."),
}


@pytest.mark.parametrize("task", ["membership", "split conformal"])
@pytest.mark.parametrize("kind", NO_NUMBERS)
def test_what_is_no_number_is_told_once_and_as_what_it_is(task, kind):
    value, words = NO_NUMBERS[kind]
    (said,) = TASKS[task][0](lambda *arguments: value).wrong
    assert said.startswith(words)


@pytest.mark.parametrize("task", TASKS)
def test_single_precision_or_an_array_without_axes_will_do(task):
    check, function = TASKS[task]

    def single(*arguments):
        return np.float32(function(*arguments))

    assert check(single).passed or task == "Method 2"
    assert check(lambda *arguments: np.asarray(function(*arguments))).passed


# The notebook


def code_cells():
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    return {c["id"]: "".join(c["source"]) for c in cells if c["cell_type"] == "code"}


def run(cells, **names):
    for text in cells.values():
        exec(compile(text, "lab.ipynb", "exec"), names)
    return names


def test_as_it_is_committed_every_task_is_a_blank_and_the_notebook_runs(capsys):
    names = run(code_cells())
    assert [repr(v) for v in names["checks"]] == [f"{task}: not done yet" for task in TASKS]
    assert "new rows" not in capsys.readouterr().out


def test_solved_it_passes_and_the_pieces_work_together(capsys):
    cells = code_cells()
    solved = {"membership": membership, "type_reduce": type_reduce}
    solved |= {"split_conformal": split_conformal, "method_2": method_2}
    for number in range(1, 5):
        cells.pop(f"task-{number}-code")
    names = run(cells, **solved)
    assert all(verdict.passed for verdict in names["checks"])
    said = capsys.readouterr().out
    share = float(said.split("covers ")[1].split(" %")[0])
    assert 65 <= share <= 95


def test_it_needs_numpy_and_the_library_only():
    text = "\n".join(code_cells().values())
    imported = {line.split()[1].split(".")[0] for line in text.splitlines() if "import " in line}
    assert imported <= {"importlib", "subprocess", "sys", "pathlib", "numpy", "gt2lite"}
