"""Checks of the lab notebook: they test a student's code and name typical mistakes.

A task is a function to write. Its check calls the student's function with small inputs and returns
a `Verdict`, which a notebook shows when a cell ends in it: the first thing that is wrong, and, if
one explains it, the typical mistake. Beside gt2lite this module needs NumPy only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from numbers import Real
from typing import Any

import numpy as np

from gt2lite.calibration import rank
from gt2lite.reduction import enumerate_weights

Function = Callable[..., Any]


@dataclass(frozen=True)
class Verdict:
    """The result of a task."""

    task: str
    wrong: str = ""  # a sentence on the first thing that is wrong
    done: bool = True  # False if the function still raises `NotImplementedError`

    @property
    def passed(self) -> bool:
        """Whether the task is done and nothing is wrong."""
        return self.done and not self.wrong

    def __repr__(self) -> str:
        wrong = f"not right yet\n  - {self.wrong}" if self.wrong else "right"
        return f"{self.task}: {wrong if self.done else 'not done yet'}"


def _task(
    name: str,
    right: Function,
    groups: Sequence[tuple[str, Sequence[tuple[Any, ...]]]],
    mistakes: dict[str, Function],
) -> Callable[[Function], Verdict]:
    """Return the check of a task.

    Args:
        name: of the task.
        right: a function that does it right.
        groups: sentences, each with the arguments of calls: it is said if the student's function
            does anything else than `right` there.
        mistakes: sentences to be said instead, each with a function that makes this mistake: it
            must do what the student's does in all calls so far.
    """

    def find_wrong(function: Function) -> str:
        known, all_found = list[Any](), list[Any]()  # calls so far, what the student's code did
        for sentence, calls in groups:
            wanted = [right(*call) for call in calls]
            found = [_result(function, call) for call in calls]
            known, all_found = [*known, *calls], [*all_found, *found]
            same = [*map(_same, found, wanted)]
            if not all(same):
                i = same.index(False)
                says = "" if isinstance(found[i], Exception) else sentence
                for why, mistaken in mistakes.items():
                    if all(map(_same, all_found, (_result(mistaken, call) for call in known))):
                        says = why
                needed = f"For {', '.join(map(_shown, calls[i]))} the result is {_words(wanted[i])}"
                return f"{says} {needed}; yours {_does(found[i])}".strip()
        return ""

    for _, calls in groups:
        for value in (value for call in calls for value in call if isinstance(value, np.ndarray)):
            value.setflags(write=False)  # to change it is an error
    return partial(_verdict, name, find_wrong)


def _verdict(task: str, find_wrong: Callable[[Function], str], function: Function) -> Verdict:
    """Return the verdict on a student's function, whatever it may raise."""
    try:
        return Verdict(task, find_wrong(function))
    except NotImplementedError:
        return Verdict(task, done=False)
    except Exception as error:
        return Verdict(task, f"Yours {_does(error)}")


def _result(function: Function, call: Sequence[Any]) -> Any:
    """Return what a function returns, or the error that it raises."""
    try:
        return function(*call)
    except NotImplementedError:
        raise
    except Exception as error:
        return error


def _same(found: Any, right: Any) -> bool:
    """Return whether two results are equal but for rounding, or errors of one type."""
    if isinstance(found, Exception) or isinstance(right, Exception):
        return type(found) is type(right)
    if isinstance(found, list | tuple) and not all(isinstance(one, Real) for one in found):
        return False
    found = np.asarray(found)
    number = found.dtype.kind in "iuf" and found.shape == np.shape(right)
    return bool(number and np.allclose(found, right, rtol=1e-6, atol=1e-9))


def _does(found: Any) -> str:
    if not isinstance(found, Exception):
        return f"returns {_words(found)}." + (" Is `return` missing?" if found is None else "")
    words = f"stops with {type(found).__name__}: {found}."
    if "^" in words or "bitwise_xor" in words:
        words += " A power is ** in Python, not ^."
    if "read-only" in words:
        words += " Do not change what you are given: write x - c, not x -= c, and no x.sort()."
    return words


def _words(value: Any) -> str:
    if isinstance(value, tuple):
        return " and ".join(map(_words, value))
    return f"{value:.6g}" if isinstance(value, int | float) and value is not True else repr(value)


def _shown(value: Any) -> str:
    return f"an array {np.shape(value)}" if np.ndim(value) > 1 else str(np.round(value, 3))


# ----------------------------------------------------------------------------- membership

check_membership = _task(
    "membership",
    lambda x, c, s, M: np.exp(-((x - c) ** 2) / (2 * M * s**2)),
    [
        ("At its centre the grade must be 1.", [(2.0, 2.0, 0.5, 1)]),
        ("The grade is wrong.", [(3.0, 0.0, 3.0, 1), (1.0, 0.0, 1.0, 4)]),
        ("An array of points has an array of grades.", [(np.linspace(-1, 1, 5), 0.5, 1.0, 1)]),
    ],
    {
        "The 2 is missing.": lambda x, c, s, M: np.exp(-((x - c) ** 2) / (M * s**2)),
        "The whole denominator needs parentheses.": lambda x, c, s, M: np.exp(
            -((x - c) ** 2) / 2 * M * s**2
        ),
        "Square sigma.": lambda x, c, s, M: np.exp(-((x - c) ** 2) / (2 * M * s)),
        "Square the distance x - c.": lambda x, c, s, M: np.exp(-(x - c) / (2 * M * s**2)),
        "The minus sign is missing.": lambda x, c, s, M: np.exp((x - c) ** 2 / (2 * M * s**2)),
        "NumPy's exp takes arrays, math.exp does not.": lambda x, c, s, M: math.exp(
            -((x - c) ** 2) / (2 * M * s**2)
        ),
        "Divide by M, too.": lambda x, c, s, M: np.exp(-((x - c) ** 2) / (2 * s**2)),
    },
)
"""Checks ``membership(x, c, sigma, M)``, the grade of a bell in a system with M inputs."""

# ------------------------------------------------------------------------- type reduction


def _switched(low: Any, up: Any, y: Any, printed: bool = False, sort: bool = True) -> Any:
    """Return both ends by all switch points; `printed` has the misprint of the paper."""
    order = np.argsort(y) if sort else np.arange(len(y))
    low, up, y = low[order], up[order], y[order]
    upper_first, lower_first = (
        [np.average(y, weights=[*first[:k], *then[k:]]) for k in range(len(y) + 1)]
        for first, then in ((up, low), (low, up))
    )
    return min(lower_first if printed else upper_first), max(lower_first)


def _rules() -> list[tuple[Any, ...]]:
    """Return rules with random firings, with ties, and with firings that are nearly 0."""
    rng = np.random.default_rng(0)
    lower, more, y = rng.uniform(0.01, 0.5, (3, 60, 5))
    y[50:] = np.round(2 * y[50:], 0)
    small = rng.uniform(1e-4, 1e-3, (20, 10)), rng.uniform(0.01, 1, (20, 10))
    heights = rng.exponential(size=(20, 10)) ** 3  # an iteration needs several rounds here
    return [*zip(lower, lower + more, y, strict=True), *zip(*small, heights, strict=True)]


_LOW, _UP, _Y = np.array([0.2, 0.4, 0.1]), np.array([0.6, 0.8, 0.5]), np.array([1.0, 2.0, 4.0])
_ORDER = [2, 0, 1]

check_type_reduction = _task(
    "type reduction",
    enumerate_weights,
    [
        (
            "For the lower end the smallest consequents take the UPPER firing and the others the "
            "lower one, for the upper end the other way round. Try ALL switch points, and divide "
            "by the sum of the same weights that you multiply with.",
            [(_LOW, _UP, _Y)],
        ),
        ("The order of the rules must not matter.", [(_LOW[_ORDER], _UP[_ORDER], _Y[_ORDER])]),
        ("Wrong for equal lower and upper firings.", [(_LOW, _LOW, _Y)]),
        ("Wrong for a single rule.", [(_LOW[:1], _UP[:1], _Y[1:2])]),
        ("Wrong for some rules.", _rules()),
    ],
    {
        "The lower end must come first.": lambda *rules: _switched(*rules)[::-1],
        "The lower end has the paper's misprint: the SMALLEST consequents must take the UPPER "
        "firing.": partial(_switched, printed=True),
        "Sort the consequents first, and put both firings into the same order.": partial(
            _switched, sort=False
        ),
    },
)
"""Checks ``type_reduce(f_lower, f_upper, y)``, the smallest and the largest weighted mean."""

# ------------------------------------------------------------------------ split conformal


def _ranked(scores: Any, k: int) -> Any:
    return np.sort(scores)[k - 1] if k <= len(scores) else math.inf


_NINE = np.arange(1.0, 10.0) ** 2  # no score is its own rank but the first
_LEVELS = 0.7, 0.75, 0.9, 0.5, 0.62, 0.82, 0.58, 0.55  # enough to tell mistakes apart

check_split_conformal = _task(
    "split conformal",
    lambda s, p: _ranked(s, rank(p, len(s) + 1)),
    [
        ("Take the ceil((n + 1) level)-th smallest.", [(_NINE, level) for level in _LEVELS]),
        (
            "Nine scores cannot promise 95%: the rank would be 10. Return np.inf then, which says "
            "'the whole line'.",
            [(_NINE, 0.95)],
        ),
        ("The order of the scores must not matter: sort them.", [(_NINE[::-1].copy(), 0.6)]),
        # one rank more or less is 2, too
        ("Equal scores all count.", [(np.array([1.0, *[2.0] * 17, 3.0]), 0.6)]),
    ],
    {
        "It is the rank: return the score that has it.": lambda s, p: rank(p, len(s) + 1),
        "The new row counts too: the rank is ceil((n + 1) level).": lambda s, p: _ranked(
            s, rank(p, len(s))
        ),
        "np.quantile counts in another way: sort the scores and take one.": np.quantile,
        "Round UP.": lambda s, p: _ranked(s, int((len(s) + 1) * p)),
        "One rank too many: counting starts at 0 in Python, so take sorted[k - 1].": lambda s, p: (
            np.sort(s)[rank(p, len(s) + 1)]
        ),
        "One rank too many: it is rounded up twice.": lambda s, p: _ranked(s, rank(p, len(s)) + 1),
    },
)
"""Checks ``split_conformal(scores, level)``, the score up to which a set is calibrated."""

# ------------------------------------------------------------------ width at equal coverage


def _width(y: Any, lower: Any, upper: Any, level: float, covers: Any = np.less_equal) -> Any:
    enough = (covers(lower, y[:, None]) & covers(y[:, None], upper)).mean(axis=0) >= level
    return (upper - lower)[:, np.argmax(enough)].mean() if enough.any() else math.inf


_TARGETS = np.array([1.0, 2.0, -3.0, 4.0, -6.0, 7.0, -8.0, 9.0])
_HALF = np.tile([0.5, 2.0, 5.0, 8.5, 10.0], (8, 1))  # they cover 0, 2, 4, 7 and 8 of the targets
_ONE = np.array([[1.0], [2.0], [3.0], [5.0]])
_TWO = np.array([[1.0, 2.0], [1.0, 2.0]])

check_width = _task(
    "width",
    _width,
    [
        (
            "Take the first column that covers AT LEAST the level.",
            [(_TARGETS, -_HALF, _HALF, level) for level in (0.25, 0.5, 0.6)],
        ),
        ("Rows that are missed count, too.", [(np.array([0.0, 0.0, 9.0, 0.0]), -_ONE, _ONE, 0.75)]),
        (
            "If no column covers enough, return np.inf. np.argmax is 0 where no entry is True.",
            [(np.array([0.0, 5.0]), -_TWO, _TWO, 0.9)],
        ),
    ],
    {
        "y[:, None] compares each target with its own row.": lambda y, lower, upper, level: (
            lower <= y
        ),
        "A target on a bound is covered: compare with <=.": partial(_width, covers=np.less),
        "Take the narrowest column, not the widest.": lambda y, lower, upper, level: np.mean(
            (upper - lower)[:, -1]
        ),
        "A width is upper - lower, not half of it.": lambda *call: _width(*call) / 2,
    },
)
"""Checks ``width_at_coverage(y, lower, upper, level)``, the mean width that a coverage takes."""

# ----------------------------------------------------------------------- the paper's search


def _stairs(n: int) -> Callable[[float], float]:
    """Return a coverage that falls from 1 to 0 in n steps, as that of n rows does."""
    return lambda alpha: math.floor(n * (1 - alpha) / 0.99 + 1e-9) / n


def _searched(f: Function, g: Function, level: float) -> tuple[float, list[float]]:
    """Return the plane that a search finds for the coverage `g`, and those that it looks at."""
    planes: list[float] = []

    def coverage(alpha: float) -> Any:
        planes.append(alpha)
        if not 0.01 - 1e-9 <= alpha <= 1 + 1e-9:
            raise IndexError(f"there is no plane {alpha:.4g}: go no farther than 0.01 and 1")
        if len(planes) > 5000:
            raise RecursionError("the search does not end after 5000 planes")
        return g(alpha)

    return f(coverage, level), planes


def _wrong_search(f: Function) -> str:
    few = _stairs(7)
    none_near = "no plane comes within the tolerance: with 7 rows coverage is 6/7 or 1, never 0.9"
    rare = 0.4
    try:
        rare, _ = _searched(f, few, 0.9)
    except RecursionError:
        return (
            f"Your search does not end where {none_near}. Move only if a side is strictly nearer, "
            "halve the step if neither is, and stop also when the step is below 0.0001."
        )
    except NotImplementedError:
        raise
    except (ValueError, RuntimeError):
        pass  # it may give up
    for level in (0.99, 0.02):  # planes at both ends
        with suppress(ValueError, RuntimeError):
            _searched(f, _stairs(1000), level)
    for level in (0.95, 0.9, 0.5):
        for g in (_stairs(10_000), lambda alpha: math.sqrt(1 - alpha)):
            alpha, _ = _searched(f, g, level)
            if not _same(alpha, np.clip(alpha, 0.01, 1)) or abs(g(alpha) - level) > 0.0006:
                return (
                    f"For the level {level:g} your search returns {_words(alpha)}; a plane within "
                    "0.0005 exists. A smaller alpha covers more: move to the side whose coverage "
                    "is nearer, halve the step if neither is, and do not stop too early."
                )
    _, planes = _searched(f, lambda alpha: 1 - alpha, 0.95)
    first = tuple(float(plane) for plane in dict.fromkeys(planes) if 0.01 < plane < 1)[:2]
    if not _same(first, [0.4, 0.3]) and not _same(first, [0.4, 0.5]):
        return f"Method 2 looks at 0.4 first, then at 0.3 and 0.5; your search at {_words(first)}."
    if not _same(rare, np.clip(rare or 0, 0.01, 1)) or abs(few(rare) - 0.9) > abs(few(0.4) - 0.9):
        return f"Your search returns {rare!r} where {none_near}. Return the best plane, or raise."
    return ""


check_method_2 = partial(_verdict, "Method 2", _wrong_search)
"""Checks ``method_2(coverage, level)``, the paper's search for a plane.

The student's function gets a function of alpha and a level, and returns an alpha. If no plane comes
within the tolerance it may also raise a `ValueError` or a `RuntimeError`.
"""
