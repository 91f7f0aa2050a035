"""Checks of the lab: right code passes, each typical mistake fails and is named."""

from __future__ import annotations

import importlib.util
import json
import math
import operator
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gt2lite import reduction
from gt2lite.calibration import rank
from study import lab

NOTEBOOK = Path(__file__).resolve().parents[2] / "chapters" / "lab.ipynb"


def cells(kind):
    content = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    return {c["id"]: "".join(c["source"]) for c in content if c["cell_type"] == kind}


def run(parts, **names):
    for text in parts.values():
        exec(compile(text, "lab.ipynb", "exec"), names)
    return names


def solutions():
    """Return the functions of the notebook's own solution."""
    (text,) = re.findall(r"```python\n(.*?)```", cells("markdown")["solutions"], re.DOTALL)
    return run({"solution": text}, np=np, math=math)


SOLVED = solutions()
membership, split_conformal, width_at_coverage = (
    SOLVED[name] for name in ("membership", "split_conformal", "width_at_coverage")
)


def type_reduce(f_lower, f_upper, y, sort=np.argsort, printed=False):
    order = sort(y)
    low, up, y = f_lower[order], f_upper[order], y[order]
    pairs = ((low, up) if printed else (up, low)), (low, up)
    ends = [
        [np.average(y, weights=[*first[:k], *then[k:]]) for k in range(len(y) + 1)]
        for first, then in pairs
    ]
    return min(ends[0]), max(ends[1])


def ranked(scores, k):
    return np.inf if k > len(scores) else np.sort(scores)[k - 1]


def method_2(g, level, start=0.4, near=0.0005, stop=1e-4, rounds=1000, clip=True, slack=0.0):
    alpha, step = start, 0.1
    for _ in range(rounds):
        if abs(g(alpha) - level) < near or step < stop:
            break
        sides = [alpha - step, alpha + step]
        if clip:
            sides = [max(sides[0], 0.01), min(sides[1], 1.0)]
        best = min(sides, key=lambda side: abs(g(side) - level))
        if abs(g(best) - level) < abs(g(alpha) - level) + slack:
            alpha = best
        else:
            step /= 2
    return alpha


def fail(error):
    raise error


TASKS = {
    "membership": (lab.check_membership, membership),
    "type reduction": (lab.check_type_reduction, type_reduce),
    "split conformal": (lab.check_split_conformal, split_conformal),
    "Method 2": (lab.check_method_2, method_2),
    "width": (lab.check_width, width_at_coverage),
}


@pytest.mark.parametrize("task", TASKS)
def test_right_code_passes_a_blank_is_not_done_and_an_error_is_reported(task):
    check, function = TASKS[task]

    def blank(*arguments):
        raise NotImplementedError

    assert repr(check(function)) == f"{task}: right"
    assert check(lambda *arguments: np.asarray(function(*arguments))).passed
    assert repr(check(blank)) == f"{task}: not done yet" and not check(blank).passed
    assert "stops with KeyError: 'oops'" in repr(check(lambda *_: fail(KeyError("oops"))))


@pytest.mark.parametrize("value", [None, [1.0], np.array([1.0]), math.nan, "1", True])
def test_a_value_of_another_kind_is_wrong(value):
    assert f"returns {value!r}" in lab.check_membership(lambda *_: value).wrong
    assert not lab.check_type_reduction(lambda *_: (1.0, value)).passed
    assert not lab.check_type_reduction(lambda *_: (1.0, 2.0, 3.0)).passed


# ---------------------------------------------------------------------- typical mistakes


MEMBERSHIPS = {
    "The 2 is missing": lambda x, c, s, M: np.exp(-((x - c) ** 2) / (M * s**2)),
    "denominator needs parentheses": lambda x, c, s, M: np.exp(-((x - c) ** 2) / 2 * M * s**2),
    "A power is ** in Python": lambda x, c, s, M: np.exp(-((x - c) ^ 2) / (2 * M * s ^ 2)),
    "Square sigma": lambda x, c, s, M: np.exp(-((x - c) ** 2) / (2 * M * s)),
    "Square the distance": lambda x, c, s, M: np.exp(-(x - c) / (2 * M * s**2)),
    "minus sign is missing": lambda x, c, s, M: np.exp((x - c) ** 2 / (2 * M * s**2)),
    "Divide by M": lambda x, c, s, M: np.exp(-((x - c) ** 2) / (2 * s**2)),
    "is 0.606531; yours returns 0": lambda x, c, s, M: np.maximum(1 - abs(x - c) / s, 0),
    "At its centre the grade must be 1": lambda x, c, s, M: membership(x, c, s, M) / s,
    "an array of grades": lambda x, c, s, M: float(membership(np.ravel(x)[0], c, s, M)),
    "math.exp does not": lambda x, c, s, M: math.exp(-((x - c) ** 2) / (2 * M * s**2)),
    "not x -= c": lambda x, c, s, M: membership(operator.isub(x, c), 0.0, s, M),
}


def without_ties(f_lower, f_upper, y):
    y, first = np.unique(y, return_index=True)
    return type_reduce(f_lower[first], f_upper[first], y)


REDUCTIONS = {
    "The lower end must come first": lambda lo, up, y: type_reduce(lo, up, y)[::-1],
    "the paper's misprint": lambda *rules: type_reduce(*rules, printed=True),
    "Try ALL switch points": lambda lo, up, y: (
        type_reduce(lo, up, y)[0], np.average(y, weights=lo + up)
    ),
    "Wrong for some rules": lambda lo, up, y: reduction.karnik_mendel(lo, up, y, max_iterations=2)[
        :2
    ],
    "Wrong for some rules. ": without_ties,
    "a single rule": lambda lo, up, y: type_reduce(lo, up, y) if len(y) > 1 else (0.0, 0.0),
    "equal lower and upper firings": lambda lo, up, y: (
        (0.0, 1.0) if np.array_equal(lo, up) else type_reduce(lo, up, y)
    ),
    "Do not change what you are given": lambda lo, up, y: y.sort() or type_reduce(lo, up, y),
    "divide by the sum": lambda lo, up, y: (lo @ y / sum(up), up @ y / sum(lo)),
    "Sort the consequents first": lambda lo, up, y: type_reduce(
        lo, up, y, sort=lambda y: np.arange(len(y))
    ),
}  # fmt: skip

CONFORMALS = {
    "sort the scores and take one": lambda s, p: np.quantile(s, p),
    "The new row counts too": lambda s, p: np.sort(s)[math.ceil(len(s) * p) - 1],
    "sorted[k - 1]": lambda s, p: np.sort(s)[math.ceil((len(s) + 1) * p)],
    "rounded up twice": lambda s, p: ranked(s, math.ceil(len(s) * p) + 1),
    "Round UP": lambda s, p: ranked(s, int((len(s) + 1) * p)),
    "Take the ceil": lambda s, p: ranked(s, math.ceil(len(s) * p + 0.5)),
    "Equal scores all count": lambda s, p: split_conformal(np.unique(s), p),
    "returns 'inf'": lambda s, p: x if np.isfinite(x := split_conformal(s, p)) else "inf",
    "Nine scores cannot": lambda s, p: min(split_conformal(s, p), s.max()),
    "It is the rank": lambda s, p: k if (k := rank(p, len(s) + 1)) <= len(s) else np.inf,
    "sort them": lambda s, p: np.append(s, np.inf)[min(rank(p, len(s) + 1) - 1, len(s))],
    "no x.sort()": lambda s, p: s.sort() or split_conformal(s, p),
}


def outward(g, level):
    """Move to the worse side."""
    alpha = 0.4
    for _ in range(20):
        alpha = min(max(alpha + (0.1 if g(alpha) < level else -0.1), 0.01), 1.0)
    return alpha


def recursive(g, level, alpha=0.4, step=0.1):
    if abs(g(alpha) - level) < 0.0005:
        return alpha
    for side in (max(alpha - step, 0.01), min(alpha + step, 1.0)):
        if abs(g(side) - level) < abs(g(alpha) - level):
            return recursive(g, level, side, step)
    return recursive(g, level, alpha, step / 2)


def bisection(g, level):
    low, high = 0.01, 1.0
    while high - low > 1e-5:
        middle = (low + high) / 2
        low, high = (middle, high) if g(middle) >= level else (low, middle)
    return low


def or_else(returned):
    """Return a search that returns something else if no plane is near enough."""

    def search(g, level):
        alpha = method_2(g, level)
        return alpha if abs(g(alpha) - level) < 0.0005 else returned()

    return search


SEARCHES = {
    "does not end": lambda g, p: method_2(g, p, stop=0, rounds=10**9),
    "there is no plane": lambda g, p: method_2(g, p, clip=False),
    "A smaller alpha covers more": outward,
    "strictly nearer": lambda g, p: method_2(g, p, slack=1e-12, rounds=10**9),
    "stop also when the step is below": recursive,
    "do not stop too early": lambda g, p: method_2(g, p, near=0.005),
    "your search at 0.5 and 0.4": lambda g, p: method_2(g, p, start=0.5),
    "your search at 0.505": bisection,
    "returns None": or_else(lambda: None),
    "returns -1 where no plane": or_else(lambda: -1),
}


def picked(choose, covers=np.less_equal, only_covered=False):
    """Return a function that takes the mean width of a chosen column."""

    def width(y, lower, upper, level):
        inside = covers(lower, y[:, None]) & covers(y[:, None], upper)
        k = choose(inside.mean(axis=0), level)
        return np.mean((upper - lower)[inside[:, k] if only_covered else slice(None), k])

    return width


def first(shares, level):
    return np.argmax(shares >= level)


WIDTHS = {
    "compare with <=": picked(first, covers=np.less),
    "AT LEAST the level": picked(lambda shares, level: np.argmin(np.abs(shares - level))),
    "not the widest": picked(lambda shares, level: -1),
    "not half of it": lambda *a: width_at_coverage(*a) / 2,
    "y[:, None]": lambda y, lower, upper, level: np.mean(y <= upper),
    "Rows that are missed count": picked(first, only_covered=True),
    "np.argmax is 0": picked(first),
    "is 4; yours returns 1": lambda *a: 1.0,
}


MISTAKES = dict(zip(TASKS, (MEMBERSHIPS, REDUCTIONS, CONFORMALS, SEARCHES, WIDTHS), strict=True))


@pytest.mark.parametrize(
    ("task", "words"), [(task, words) for task, wrong in MISTAKES.items() for words in wrong]
)
def test_a_typical_mistake_fails_and_is_named(task, words):
    verdict = TASKS[task][0](MISTAKES[task][words])
    assert not verdict.passed
    assert words in repr(verdict)


def test_rules_that_are_not_sorted_are_found_with_three_of_them():
    verdict = lab.check_type_reduction(REDUCTIONS["Sort the consequents first"])
    assert "[4. 1. 2.]" in verdict.wrong


def test_a_search_may_raise_an_error_if_no_plane_is_near_enough():
    assert lab.check_method_2(or_else(lambda: fail(ValueError("no plane")))).passed


# --------------------------------------------------------------------------- the notebook


def test_as_committed_every_task_is_a_blank_and_the_notebook_runs():
    names = run(cells("code"))
    assert [repr(v) for v in names["checks"]] == [f"{task}: not done yet" for task in TASKS]


def test_with_its_own_solutions_it_passes_and_the_pieces_work_together(capsys):
    blanks = {f"task-{number}-code": "" for number in range(1, 6)}
    names = run(cells("code") | blanks, **SOLVED)
    assert all(verdict.passed for verdict in names["checks"])
    printed = capsys.readouterr().out
    _, by_rank, by_search = printed.split("and ")
    low, high = (100 * end for end in names["usual"](0.8, 100, 200))
    assert low <= float(by_rank.split("%")[0]) <= high
    assert 50 <= float(by_search.split("%")[0]) <= 100
    assert f"{low:.1f}% to {high:.1f}%" in printed
    text = "\n".join(cells("code").values())
    imported = set(re.findall(r"^ *(?:import|from) (\w+)", text, re.MULTILINE))
    assert imported - set(sys.stdlib_module_names) == {"numpy", "gt2lite", "study", "lab"}


def test_the_usual_range_is_the_law_of_coverage():
    stats = pytest.importorskip("scipy.stats")
    usual = run({"code": cells("code")["all-law"]}, np=np, math=math)["usual"]
    for level, n_cal, n_new in ((0.8, 100, 200), (0.9, 40, 1000)):
        r = math.ceil((n_cal + 1) * level)
        law = stats.betabinom(n_new, r, n_cal + 1 - r)
        assert list(usual(level, n_cal, n_new) * n_new) == [law.ppf(0.025), law.ppf(0.975)]


def test_the_solution_to_the_question_on_seven_rows_is_right():
    (text,) = re.findall(r"`lambda alpha: (.*?)`", cells("markdown")["oral"])
    coverage = eval(f"lambda alpha: {text}", {"math": math})
    assert coverage(SOLVED["method_2"](coverage, 0.9)) == coverage(0.4) == 4 / 7
    assert coverage(0.1) == 6 / 7


def test_without_the_library_and_a_wheel_it_says_what_to_do(monkeypatch, tmp_path):
    """It asks no registry for the name, which may be somebody else's there."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(subprocess, "run", lambda command, check: asked.append(command[-1]))
    asked: list[str] = []
    parts = {name: cells("code")[name] for name in ("parameters", "install")}
    with pytest.raises(ImportError, match="wheel"):
        run(parts)
    (tmp_path / "gt2lite-1.0-py3-none-any.whl").touch()
    run(parts)
    run({"install": parts["install"]}, source="elsewhere.whl")
    assert asked == ["gt2lite-1.0-py3-none-any.whl", "elsewhere.whl"]
