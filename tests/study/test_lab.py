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


# Typical mistakes, and the words that name them


def closest(coverage, level):
    grid = np.linspace(0.01, 1, 1000)
    return min(grid, key=lambda alpha: abs(coverage(alpha) - level))


def outward(coverage, level):
    """A search that goes to the worse side."""
    alpha = 0.4
    for _ in range(20):
        alpha = min(max(alpha + (0.1 if coverage(alpha) < level else -0.1), 0.01), 1.0)
    return alpha


def unbounded(coverage, level):
    alpha, step = 0.4, 0.1
    while step > 1e-4:
        side = alpha - step if coverage(alpha) < level else alpha + step
        if abs(coverage(side) - level) < abs(coverage(alpha) - level):
            alpha = side
        else:
            step /= 2
    return alpha


def stuck(coverage, level):
    alpha, step = 0.4, 0.1
    for _ in range(30):
        side = alpha + (-step if coverage(alpha) < level else step)
        side = min(max(side, 0.01), 1.0)
        if abs(coverage(side) - level) < abs(coverage(alpha) - level):
            alpha = side
    return alpha


def ends_swapped(f_lower, f_upper, y):
    """The smallest consequents with the lower firing: the paper's misprint."""
    order = np.argsort(y)
    low, up, y = f_lower[order], f_upper[order], y[order]
    rules = np.arange(len(y))
    means = [
        [np.average(y, weights=np.where(rules < k, first, then)) for k in range(1, len(y))]
        for first, then in ((low, up), (up, low))
    ]
    return min(means[0]), max(means[1])


def without_sorting(f_lower, f_upper, y):
    rules = np.arange(len(y))
    ends = [
        [np.average(y, weights=np.where(rules < k, first, then)) for k in range(len(y) + 1)]
        for first, then in ((f_upper, f_lower), (f_lower, f_upper))
    ]
    return min(ends[0]), max(ends[1])


def only_inner_switches(f_lower, f_upper, y):
    """Rules switch at their own mean once, and no further."""
    mean = np.average(y, weights=f_lower + f_upper)
    below = y <= mean
    return (
        np.average(y, weights=np.where(below, f_upper, f_lower)),
        np.average(y, weights=np.where(below, f_lower, f_upper)),
    )


MISTAKES = {
    "no 2": ("membership", lambda x, c, s, M: np.exp(-((x - c) ** 2) / (M * s**2)), "the 2 in"),
    "no square of sigma": (
        "membership",
        lambda x, c, s, M: np.exp(-((x - c) ** 2) / (2 * M * s)),
        "sigma must be squared",
    ),
    "no square of the distance": (
        "membership",
        lambda x, c, s, M: np.exp(-(x - c) / (2 * M * s**2)),
        "x - c must be squared",
    ),
    "no minus": (
        "membership",
        lambda x, c, s, M: np.exp((x - c) ** 2 / (2 * M * s**2)),
        "minus sign is missing",
    ),
    "no M": (
        "membership",
        lambda x, c, s, M: np.exp(-((x - c) ** 2) / (2 * s**2)),
        "M is missing",
    ),
    "a triangle": (
        "membership",
        lambda x, c, s, M: np.maximum(1 - abs(x - c) / s, 0),
        "the grade is 0.6065, yours 0.0000",
    ),
    "a density": (
        "membership",
        lambda x, c, s, M: membership(x, c, s, M) / np.sqrt(2 * np.pi) / s,
        "At its centre the grade must be 1",
    ),
    "math.exp": (
        "membership",
        lambda x, c, s, M: math.exp(-((np.ravel(x)[0] - c) ** 2) / (2 * M * s**2)),
        "it must return 5 grades",
    ),
    "one mean": (
        "type reduction",
        lambda lo, up, y: np.average(y, weights=lo + up),
        "two numbers",
    ),
    "other way round": (
        "type reduction",
        lambda lo, up, y: type_reduce(lo, up, y)[::-1],
        "The lower end must come first",
    ),
    "swapped firings": ("type reduction", ends_swapped, "take the UPPER firing"),
    "type 1": (
        "type reduction",
        lambda lo, up, y: (np.average(y, weights=lo), np.average(y, weights=up)),
        "not right yet",
    ),
    "divided by the wrong sum": (
        "type reduction",
        lambda lo, up, y: (np.sum(lo * y) / np.sum(up), np.sum(up * y) / np.sum(lo)),
        "Divide by the sum of the same weights",
    ),
    "no sorting": ("type reduction", without_sorting, "Sort the consequents first"),
    "one iteration": ("type reduction", only_inner_switches, "Among random cases"),
    "np.quantile": ("split conformal", lambda s, p: np.quantile(s, p), "np.quantile interpolates"),
    "n in place of n + 1": (
        "split conformal",
        lambda s, p: np.sort(s)[math.ceil(len(s) * p) - 1],
        "The new row counts too",
    ),
    "counting from 0": (
        "split conformal",
        lambda s, p: np.append(np.sort(s), np.inf)[min(math.ceil((len(s) + 1) * p), len(s))],
        "sorted[k - 1]",
    ),
    "no infinity": (
        "split conformal",
        lambda s, p: np.sort(s)[min(math.ceil((len(s) + 1) * p), len(s)) - 1],
        "Nine scores cannot promise 95 %",
    ),
    "no sorting of scores": (
        "split conformal",
        lambda s, p: np.append(s, np.inf)[min(math.ceil((len(s) + 1) * p) - 1, len(s))],
        "sort them",
    ),
    "sorted in place": (
        "split conformal",
        lambda s, p: s.sort() or split_conformal(s, p),
        "changes the scores",
    ),
    "far too careful": (
        "split conformal",
        lambda s, p: np.inf,
        "100.0 % of the cases",
    ),
    "endless": ("Method 2", lambda g, level: method_2(g, level, stop=0), "does not end"),
    "out of range": ("Method 2", unbounded, "there is no plane"),
    "the worse side": ("Method 2", outward, "a smaller alpha covers more"),
    "a step that stays": ("Method 2", stuck, "shrink the step"),
    "a fine grid": ("Method 2", closest, "looks at 1000 planes"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_typical_mistake_fails_and_is_named(name):
    task, function, words = MISTAKES[name]
    verdict = TASKS[task][0](function)
    assert not verdict.passed
    assert words in repr(verdict)


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
