"""Checks of the lab notebook: they test a student's code, name typical mistakes and give points.

A task is a function to write. Its check calls the student's function with the inputs that are
stored in `lab_answers.json`, beside what right code and code with a typical mistake do there, and
returns a `Verdict`, which a notebook shows when a cell ends in it. Neither file holds a solution:
students get both. `study.lab_tasks` wrote the answers. Beside gt2lite this module needs NumPy only.
"""

from __future__ import annotations

import hashlib
import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from numbers import Real
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

Function = Callable[..., Any]

_FILE = Path(__file__).with_name("lab_answers.json")


class Finding(NamedTuple):
    """What is wrong with a student's code."""

    wrong: str = ""  # a sentence on the first thing; empty if nothing is
    one_mistake: bool = False  # whether one typical mistake explains all of it


@dataclass(frozen=True)
class Verdict:
    """The result of a task."""

    task: str
    of: int  # points for right code
    wrong: str = ""  # a sentence on the first thing that is wrong
    one_mistake: bool = False  # whether it is a typical one, for half of the points
    done: bool = True  # False if nothing was written yet

    @property
    def passed(self) -> bool:
        """Whether the task is done and nothing is wrong."""
        return self.done and not self.wrong

    @property
    def points(self) -> float:
        """All points if the code is right, half of them if one typical mistake is left, else 0."""
        return self.of * (1.0 if self.passed else 0.5 if self.done and self.one_mistake else 0.0)

    def __repr__(self) -> str:
        wrong = f"not right yet\n  - {self.wrong}" if self.wrong else "right"
        return f"{self.task}: {wrong if self.done else 'not done yet'}"


@dataclass(frozen=True)
class Task:
    """The check of a function that students write.

    Attributes:
        title: name of the task in its verdict.
        function: name of the function in the notebook.
        points: for right code.
        find: returns what is wrong with a function, or raises what that raises.
    """

    title: str
    function: str
    points: int
    find: Callable[[Function], Finding]

    def __call__(self, function: Function) -> Verdict:
        """Return the verdict on a student's function, whatever it may raise."""
        try:
            return Verdict(self.title, self.points, *self.find(function))
        except NotImplementedError:
            return Verdict(self.title, self.points, done=False)
        except Exception as error:
            return Verdict(self.title, self.points, f"Yours {_does(error)}")


# --------------------------------------------------------------------------- stored answers


class Raised(NamedTuple):
    """An error, in place of a result."""

    kind: str  # name of its type
    message: str = ""


def decode(value: Any) -> Any:
    """Return an argument or a result as it was before it was stored."""
    if not isinstance(value, Mapping):
        return value
    [(kind, content)] = value.items()
    if kind == "array":
        array = np.array(content, dtype=float)
        array.setflags(write=False)  # to change it is an error
        return array
    return tuple(map(decode, content)) if kind == "tuple" else Raised(content)


def _stored(name: str) -> Callable[[Function], Finding]:
    """Return the check that compares a function with the answers of a task.

    A group of calls has a sentence, which is said if the function does anything else than right
    code there. A mistake has one, too; it is said instead if all results so far are those of
    code that makes it.
    """

    def find(function: Function) -> Finding:
        task = json.loads(_FILE.read_text(encoding="utf-8"))[name]
        right = [*map(decode, task["right"])]
        mistakes = {says: [*map(decode, results)] for says, results in task["mistakes"].items()}
        found: list[Any] = []  # what the function did in all calls so far
        for group in task["groups"]:
            says, calls = group["says"], [[*map(decode, call)] for call in group["calls"]]
            before = len(found)
            found += [result(function, call) for call in calls]
            agree = [*map(same, found, right)]
            if all(agree):
                continue
            i = agree.index(False)
            sentence = "" if isinstance(found[i], Raised) else says
            one_mistake = False
            for why, results in mistakes.items():
                if all(map(same, found, results)):
                    sentence, one_mistake = why, True
            call = ", ".join(map(_shown, calls[i - before]))
            needed = f"For {call} the result is {_words(right[i])}"
            wrong = f"{sentence} {needed}; yours {_does(found[i])}".strip()
            return Finding(wrong, one_mistake)
        return Finding()

    return find


def result(function: Function, call: Sequence[Any]) -> Any:
    """Return what a function returns, or the error that it raises."""
    try:
        return function(*call)
    except NotImplementedError:
        raise
    except Exception as error:
        return Raised(type(error).__name__, str(error))


def same(found: Any, right: Any) -> bool:
    """Return whether two results are equal but for rounding, or errors of one type."""
    if isinstance(found, Raised) or isinstance(right, Raised):
        return type(found) is type(right) and found.kind == right.kind
    if isinstance(found, list | tuple) and not all(isinstance(one, Real) for one in found):
        return False
    found = np.asarray(found)
    number = found.dtype.kind in "iuf" and found.shape == np.shape(right)
    return bool(number and np.allclose(found, right, rtol=1e-6, atol=1e-9))


def _does(found: Any) -> str:
    if isinstance(found, Exception):
        found = Raised(type(found).__name__, str(found))
    if not isinstance(found, Raised):
        return f"returns {_words(found)}." + (" Is `return` missing?" if found is None else "")
    words = f"stops with {found.kind}: {found.message}."
    if "^" in words or "bitwise_xor" in words:
        words += " A power is ** in Python, not ^."
    if "read-only" in words:
        words += " Do not change what you are given: write x - c, not x -= c, and no x.sort()."
    return words


def _words(value: Any) -> str:
    if isinstance(value, Raised):
        return f"the error {value.kind}"
    if isinstance(value, tuple):
        return " and ".join(map(_words, value))
    return f"{value:.6g}" if isinstance(value, int | float) and value is not True else repr(value)


def _shown(value: Any) -> str:
    return f"an array {np.shape(value)}" if np.ndim(value) > 1 else str(np.round(value, 3))


# ----------------------------------------------------------------------- the paper's search


def stairs(n: int) -> Callable[[float], float]:
    """Return a coverage that falls from 1 to 0 in n steps, as that of n rows does."""
    return lambda alpha: math.floor(n * (1 - alpha) / 0.99 + 1e-9) / n


def _searched(f: Function, g: Function, level: float) -> tuple[float, list[float]]:
    """Return the plane that a search finds for the coverage `g`, and those that it looks at."""
    planes: list[float] = []

    def coverage(alpha: float) -> Any:
        planes.append(alpha)
        if not 0.01 - 1e-9 <= alpha <= 1 + 1e-9:
            raise IndexError(f"alpha must lie between 0.01 and 1, got {alpha:.4g}")
        if len(planes) > 5000:
            raise RecursionError("the search does not end after 5000 planes")
        return g(alpha)

    return f(coverage, level), planes


_NONE_NEAR = "no plane comes within the tolerance: with 7 rows coverage is 6/7 or 1, never 0.9"


def _find_in_search(f: Function) -> Finding:
    few = stairs(7)
    rare = 0.4  # that it does not end is a mistake of its own
    endless = False
    try:
        rare, _ = _searched(f, few, 0.9)
    except RecursionError:
        endless = True
    except NotImplementedError:
        raise
    except (ValueError, RuntimeError):
        pass  # it may give up
    if not endless:
        return Finding(_other_mistake(f, rare))
    wrong = (
        f"Your search does not end where {_NONE_NEAR}. Move only if a side is strictly nearer, "
        "halve the step if neither is, and stop also when the step is below 0.0001."
    )
    try:
        return Finding(wrong, one_mistake=not _other_mistake(f, rare))
    except RecursionError:  # it does not end where a plane is near, either
        return Finding(wrong)


def _other_mistake(f: Function, rare: float) -> str:
    """Return what is wrong where planes come near enough, and with the plane `rare`, else ""."""
    few = stairs(7)
    for level in (0.99, 0.02):  # planes at both ends
        with suppress(ValueError, RuntimeError):
            _searched(f, stairs(1000), level)
    for level in (0.95, 0.9, 0.5):
        for g in (stairs(10_000), lambda alpha: math.sqrt(1 - alpha)):
            alpha, _ = _searched(f, g, level)
            if not same(alpha, np.clip(alpha, 0.01, 1)) or abs(g(alpha) - level) > 0.0006:
                return (
                    f"For the level {level:g} your search returns {_words(alpha)}; a plane within "
                    "0.0005 exists. A smaller alpha covers more: move to the side whose coverage "
                    "is nearer, halve the step if neither is, and do not stop too early."
                )
    _, planes = _searched(f, lambda alpha: 1 - alpha, 0.95)
    first = tuple(float(plane) for plane in dict.fromkeys(planes) if 0.01 < plane < 1)[:2]
    if not same(first, [0.4, 0.3]) and not same(first, [0.4, 0.5]):
        return f"Method 2 looks at 0.4 first, then at 0.3 and 0.5; your search at {_words(first)}."
    if not same(rare, np.clip(rare or 0, 0.01, 1)) or abs(few(rare) - 0.9) > abs(few(0.4) - 0.9):
        return f"Your search returns {rare!r} where {_NONE_NEAR}. Return the best plane, or raise."
    return ""


# ---------------------------------------------------------------------------- tasks and sums

check_coverage = Task("coverage", "coverage", 0, _stored("coverage"))
"""Checks ``coverage(y, lower, upper)``, the share of targets between their bounds."""

check_membership = Task("membership", "membership", 3, _stored("membership"))
"""Checks ``membership(x, c, sigma, M)``, the grade of a bell in a system with M inputs."""

check_type_reduction = Task("type reduction", "type_reduce", 6, _stored("type_reduce"))
"""Checks ``type_reduce(f_lower, f_upper, y)``, the smallest and the largest weighted mean."""

check_split_conformal = Task("split conformal", "split_conformal", 6, _stored("split_conformal"))
"""Checks ``split_conformal(scores, level)``, the score up to which a set is calibrated."""

check_method_2 = Task("Method 2", "method_2", 6, _find_in_search)
"""Checks ``method_2(coverage, level)``, the paper's search for a plane.

The student's function gets a function of alpha and a level, and returns an alpha. If no plane comes
within the tolerance it may also raise a `ValueError` or a `RuntimeError`.
"""

check_width = Task("width", "width_at_coverage", 6, _stored("width_at_coverage"))
"""Checks ``width_at_coverage(y, lower, upper, level)``, the mean width that a coverage takes."""

TASKS = (
    check_coverage,
    check_membership,
    check_type_reduction,
    check_split_conformal,
    check_method_2,
    check_width,
)
"""The tasks that ask for a function, in the order of the notebook."""

POINTS_POWER_PLANT = 3


def seed_of(student: str) -> int:
    """Return the seed of a student's rows: 0 without a name.

    >>> seed_of(""), seed_of("Ada Lovelace") == seed_of(" ada  lovelace ")
    (0, True)
    """
    name = " ".join(student.casefold().split())
    return int(hashlib.sha256(name.encode()).hexdigest()[:8], 16) if name else 0


class PowerPlant(NamedTuple):
    """Absolute errors of a straight line, in MW, on rows that it did not learn from."""

    errors_cal: Any  # (500,) calibration rows
    errors_new: Any  # (2000,) new rows


def power_plant(student: str = "") -> PowerPlant:
    """Return a student's rows of the power plant: errors of least squares on 1,000 others."""
    from gt2lite import load_dataset

    data = load_dataset("pp")
    rows = np.random.default_rng(seed_of(student)).permutation(len(data.y))
    X = np.column_stack([data.X, np.ones(len(data.y))])
    line = np.linalg.lstsq(X[rows[:1000]], data.y[rows[:1000]], rcond=None)[0]
    errors = np.abs(data.y - X @ line).round(6)
    return PowerPlant(errors[rows[1000:1500]], errors[rows[1500:3500]])


def check_power_plant(half_width: Any, covered: Any, student: str = "") -> Verdict:
    """Check the numbers of the last task: half the width of 90% intervals, and what they cover."""
    title, of = "power plant", POINTS_POWER_PLANT
    if half_width is None or covered is None:
        return Verdict(title, of, done=False)
    errors = power_plant(student)
    try:
        half, share = float(half_width), float(covered)
    except (TypeError, ValueError):
        wrong = f"Both must be numbers, got {half_width!r} and {covered!r}."
        return Verdict(title, of, wrong)
    n_inside = int(np.sum(errors.errors_cal <= half + 1e-9))
    if not np.isclose(errors.errors_cal, half).any() or n_inside != 451:
        wrong = (
            f"The half-width holds {n_inside} of your 500 calibration rows. It must be one of "
            "their errors, the one that your split_conformal returns for them and the level 0.9."
        )
        return Verdict(title, of, wrong)
    if not np.isclose(share, np.mean(errors.errors_new <= half + 1e-9)):
        wrong = "The half-width is right. `covered` is the share of `errors_new` that it holds."
        return Verdict(title, of, wrong, one_mistake=True)
    return Verdict(title, of)


@dataclass(frozen=True)
class Sheet:
    """The verdicts on all tasks, with their points."""

    verdicts: tuple[Verdict, ...]

    @property
    def points(self) -> float:
        """The sum of the points."""
        return sum(verdict.points for verdict in self.verdicts)

    @property
    def of(self) -> int:
        """The points of right code for all tasks."""
        return sum(verdict.of for verdict in self.verdicts)

    def __repr__(self) -> str:
        lines = [f"{one.points:4g} of {one.of:2}  {one}" for one in self.verdicts]
        return "\n".join([*lines, f"{self.points:4g} of {self.of:2}  for all tasks"])


def check(names: Mapping[str, Any] | None = None) -> Sheet:
    """Check all tasks.

    Args:
        names: what a notebook defines; None for the one that calls.
    """
    names = sys._getframe(1).f_globals if names is None else names
    verdicts = [task(names.get(task.function, _missing)) for task in TASKS]
    numbers = (names.get("half_width"), names.get("covered"), names.get("student", ""))
    return Sheet((*verdicts, check_power_plant(*numbers)))


def _missing(*arguments: Any) -> Any:
    raise NotImplementedError


def check_setup() -> None:
    """Print "ready", or what is missing."""
    absent = [name for name in ("numpy", "autograd", "gt2lite") if find_spec(name) is None]
    if absent:
        print(f"not ready: {', '.join(absent)} missing: {sys.executable} -m pip install gt2lite")
    else:
        from gt2lite import __version__

        print(f"ready: gt2lite {__version__}, NumPy {np.__version__}")
