"""Checks of the lab: right code passes, each typical mistake fails and is named."""

import importlib.util
import json
import math
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from gt2lite.reduction import karnik_mendel
from study import lab

NOTEBOOK = Path(__file__).resolve().parents[2] / "chapters" / "lab.ipynb"
CELLS = {
    cell["id"]: (cell["cell_type"], "".join(cell["source"]))
    for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
}
CODE = {name: text for name, (kind, text) in CELLS.items() if kind == "code"}
(SOLUTION,) = re.findall(r"```python\n(.*?)```", CELLS["solutions"][1], re.DOTALL)
TASKS = {
    "membership": ("membership", lab.check_membership),
    "type_reduce": ("type reduction", lab.check_type_reduction),
    "split_conformal": ("split conformal", lab.check_split_conformal),
    "method_2": ("Method 2", lab.check_method_2),
    "width_at_coverage": ("width", lab.check_width),
}


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
    blank = run(next(text for text in CODE.values() if f"def {function}(" in text))[function]
    assert repr(check(right)) == f"{task}: right"
    assert check(lambda *arguments: np.asarray(right(*arguments))).passed
    assert repr(check(blank)) == f"{task}: not done yet" and not check(blank).passed
    assert "stops with KeyError: 'oops'" in repr(check(lambda *_: {}["oops"]))


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
        ("order =", "if f_lower is f_upper: return 0.0, 1.0\n    order =", "equal lower and upper"),
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
        (CLIPPED, "min(alpha - step, alpha + step, key=far)", "there is no plane"),
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


def test_a_search_may_raise_an_error_if_no_plane_is_near_enough():
    raising = "if far(alpha) >= 0.0005: raise ValueError('no plane')\n    return alpha"
    assert lab.check_method_2(solved("return alpha", raising)["method_2"]).passed


# --------------------------------------------------------------------------- the notebook


def test_the_notebook_runs_as_committed_and_with_its_own_solutions(capsys):
    assert not any(verdict.passed for verdict in run(*CODE.values())["checks"])
    capsys.readouterr()
    blanks = {f"task-{number}-code": "" for number in range(1, 6)}
    names = run(*(CODE | blanks).values(), **solved())
    assert all(verdict.passed for verdict in names["checks"])
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
    (text,) = re.findall(r"`(lambda alpha: .*?)`", CELLS["oral"][1])
    coverage = eval(text, {"math": math})
    assert coverage(solved()["method_2"](coverage, 0.9)) == coverage(0.4) == 4 / 7
    assert coverage(0.1) == 6 / 7


def test_without_the_library_it_installs_a_wheel_and_asks_no_registry(monkeypatch, tmp_path):
    asked = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(subprocess, "run", lambda command, check: asked.append(command[-1]))
    with pytest.raises(ImportError, match="wheel"):
        run(CODE["install"], source="")
    (tmp_path / "gt2lite-1.0-py3-none-any.whl").touch()
    for source in ("", "elsewhere.whl"):
        run(CODE["install"], source=source)
    assert asked == ["gt2lite-1.0-py3-none-any.whl", "elsewhere.whl"]
