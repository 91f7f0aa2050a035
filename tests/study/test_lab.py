"""The lab's checks: right code passes, each typical mistake fails and is named."""

from __future__ import annotations

import importlib.util
import json
import math
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from gt2lite import reduction
from study import lab

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


def method_2(coverage, level, start=0.4, near=0.0005, stop=1e-4, rounds=1000):
    alpha, step = start, 0.1
    for _ in range(rounds):
        if abs(coverage(alpha) - level) < near or step < stop:
            break
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


def assert_named(task, function, words):
    """A mistake fails its task, and what is said of it has these words."""
    verdict = TASKS[task][0](function)
    assert not verdict.passed
    assert words in repr(verdict)


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


def cells(kind):
    content = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    return {c["id"]: "".join(c["source"]) for c in content if c["cell_type"] == kind}


def run(parts, **names):
    for text in parts.values():
        exec(compile(text, "lab.ipynb", "exec"), names)
    return names


def ours():
    """Return the four functions that the notebook's own solution gives."""
    (text,) = re.findall(r"```python\n(.*?)```", cells("markdown")["solutions"], re.DOTALL)
    return run({"solution": text}, np=np, math=math)


def solved(**mine):
    parts = cells("code")
    for number in range(1, 5):
        parts[f"task-{number}-code"] = ""
    return run(parts, **ours() | mine)


def test_as_it_is_committed_every_task_is_a_blank_and_the_notebook_runs(capsys):
    names = run(cells("code"))
    assert [repr(v) for v in names["checks"]] == [f"{task}: not done yet" for task in TASKS]
    assert "new rows" not in capsys.readouterr().out


def test_with_its_own_solutions_it_passes_and_the_pieces_work_together(capsys):
    names = solved()
    assert all(verdict.passed for verdict in names["checks"])
    said = capsys.readouterr().out
    assert "asked for 80 %" in said
    _, by_rank, by_search = said.split("and ")
    low, high = (100 * end for end in names["usual"](0.8, 100, 200))
    assert low <= float(by_rank.split(" %")[0]) <= high
    assert 50 <= float(by_search.split(" %")[0]) <= 100
    assert f"{low:.1f} % to {high:.1f} %" in said


def test_a_search_that_raises_where_it_gives_up_does_not_stop_the_notebook(capsys):
    """With these rows it does: a step is as long as 1 of 100 rows, and it stalls."""

    def strict(coverage, level):
        alpha = method_2(coverage, level)
        if abs(coverage(alpha) - level) >= 0.0005:
            raise ValueError("no plane comes near enough")
        return alpha

    assert all(verdict.passed for verdict in solved(method_2=strict)["checks"])
    assert "method_2 gives up: no plane comes near enough" in capsys.readouterr().out


def test_what_is_usual_is_the_law_of_chapter_8():
    stats = pytest.importorskip("scipy.stats")
    usual = run({"code": cells("code")["all-law"]}, np=np, math=math)["usual"]
    for level, n_cal, n_new in ((0.8, 100, 200), (0.9, 40, 1000)):
        r = math.ceil((n_cal + 1) * level)
        law = stats.betabinom(n_new, r, n_cal + 1 - r)
        assert list(usual(level, n_cal, n_new) * n_new) == [law.ppf(0.025), law.ppf(0.975)]


def test_the_solution_to_the_question_on_seven_rows_is_what_happens():
    def coverage(alpha):
        return math.floor(7 * (1 - alpha) / 0.99 + 1e-9) / 7

    assert f"`lambda alpha: {'math.floor(7 * (1 - alpha) / 0.99 + 1e-9) / 7'}`" in "".join(
        cells("markdown")["oral"]
    )
    assert coverage(ours()["method_2"](coverage, 0.9)) == coverage(0.4) == coverage(0.3) == 4 / 7
    assert coverage(0.1) == 6 / 7


def test_it_needs_numpy_and_the_library_only():
    text = "\n".join(cells("code").values())
    imported = {line.split()[1].split(".")[0] for line in text.splitlines() if "import " in line}
    assert imported <= {"importlib", "math", "subprocess", "sys", "pathlib", "numpy", "gt2lite"}


def test_without_the_library_and_a_wheel_it_says_what_to_do(monkeypatch, tmp_path):
    """It asks no registry for the name, which may be somebody else's there."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(subprocess, "run", lambda command, check: asked.append(command[-1]))
    asked: list[str] = []
    parts = {name: cells("code")[name] for name in ("parameters", "install")}
    with pytest.raises(ImportError, match="Put its wheel beside the notebook or set source"):
        run(parts)
    (tmp_path / "gt2lite-1.0-py3-none-any.whl").touch()
    run(parts)
    run({"install": parts["install"]}, source="elsewhere.whl")
    assert asked == ["gt2lite-1.0-py3-none-any.whl", "elsewhere.whl"]


def test_chapters_are_named_in_words_for_a_notebook_that_knows_no_myst():
    text = "\n".join(text for name, text in cells("markdown").items() if name != "solutions")
    assert "{doc}" not in text
    assert "{dropdown}" not in text
    links = re.findall(r"\[([^\]]+)\]\((\w+)\.ipynb\)", text)
    assert len(links) >= 5
    for title, name in links:
        chapter = json.loads((NOTEBOOK.parent / f"{name}.ipynb").read_text(encoding="utf-8"))
        assert "".join(chapter["cells"][0]["source"]).startswith(f"# {title}\n")
    inference = (NOTEBOOK.parent / "02_inference.ipynb").read_text(encoding="utf-8")
    assert "## Many inputs" in inference
