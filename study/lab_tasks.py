"""Right code for the lab and typical mistakes: what `study.lab` compares students with.

python -m study.lab_tasks       write study/lab_answers.json again

Students get the answers, not this file. `hidden` has further calls, for graders.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gt2lite.calibration import rank
from gt2lite.reduction import enumerate_weights
from study.lab import Function, Raised, result

FILE = Path(__file__).with_name("lab_answers.json")

Call = tuple[Any, ...]


class Reference(NamedTuple):
    """A task: right code, calls, and mistakes.

    Attributes:
        right: a function that does it right.
        groups: calls by the sentence that is said if the student's function is wrong there.
        mistakes: functions that make a mistake, by the sentence that names it.
        hidden: further calls, made by a random generator.
    """

    right: Function
    groups: dict[str, Sequence[Call]]
    mistakes: dict[str, Function]
    hidden: Function


def _covered(y: Any, lower: Any, upper: Any) -> Any:
    return np.mean((lower <= y) & (y <= upper))


_FIVE = np.array([1.0, 2.0, 3.0, 4.0, 5.0])

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


def _rules() -> list[Call]:
    """Return rules with random firings, with ties, and with firings that are nearly 0."""
    rng = np.random.default_rng(0)
    lower, more, y = rng.uniform(0.01, 0.5, (3, 60, 5)).round(3)
    y[50:] = np.round(2 * y[50:], 0)
    small = rng.uniform(1e-4, 1e-3, (20, 10)).round(6), rng.uniform(0.01, 1, (20, 10)).round(3)
    heights = rng.exponential(size=(20, 10)).round(3) ** 3  # an iteration needs several rounds
    return [*zip(lower, lower + more, y, strict=True), *zip(*small, heights, strict=True)]


_LOW, _UP, _Y = np.array([0.2, 0.4, 0.1]), np.array([0.6, 0.8, 0.5]), np.array([1.0, 2.0, 4.0])
_ORDER = [2, 0, 1]


def _hidden_rules(rng: np.random.Generator) -> Call:
    lower, more, y = rng.uniform(0.01, 0.5, (3, 4)).round(3)
    return lower, (lower + more).round(3), y


# ------------------------------------------------------------------------ split conformal


def _ranked(scores: Any, k: int) -> Any:
    return np.sort(scores)[k - 1] if k <= len(scores) else math.inf


_NINE = np.arange(1.0, 10.0) ** 2  # no score is its own rank but the first
_LEVELS = 0.7, 0.75, 0.9, 0.5, 0.62, 0.82, 0.58, 0.55  # enough to tell mistakes apart

# ------------------------------------------------------------------ width at equal coverage


def _width(y: Any, lower: Any, upper: Any, level: float, covers: Any = np.less_equal) -> Any:
    enough = (covers(lower, y[:, None]) & covers(y[:, None], upper)).mean(axis=0) >= level
    return (upper - lower)[:, np.argmax(enough)].mean() if enough.any() else math.inf


_TARGETS = np.array([1.0, 2.0, -3.0, 4.0, -6.0, 7.0, -8.0, 9.0])
_HALF = np.tile([0.5, 2.0, 5.0, 8.5, 10.0], (8, 1))  # they cover 0, 2, 4, 7 and 8 of the targets
_ONE = np.array([[1.0], [2.0], [3.0], [5.0]])
_TWO = np.array([[1.0, 2.0], [1.0, 2.0]])


def _hidden_width(rng: np.random.Generator) -> Call:
    half = np.cumsum(rng.uniform(0.1, 1, (6, 4)), axis=1).round(3)
    return rng.uniform(-half[:, 3], half[:, 3]).round(3), -half, half, 0.5


# -------------------------------------------------------------------------------- all tasks

REFERENCES = {
    "coverage": Reference(
        _covered,
        {"Count a target on its bound, too.": [(_FIVE, _FIVE - 1, np.full(5, 3.0))]},
        {},
        lambda rng: (rng.normal(size=5).round(3), np.full(5, -1.0), np.full(5, 1.0)),
    ),
    "membership": Reference(
        lambda x, c, s, M: np.exp(-((x - c) ** 2) / (2 * M * s**2)),
        {
            "At its centre the grade must be 1.": [(2.0, 2.0, 0.5, 1)],
            "The grade is wrong.": [(3.0, 0.0, 3.0, 1), (1.0, 0.0, 1.0, 4)],
            "An array of points has an array of grades.": [(np.linspace(-1, 1, 5), 0.5, 1.0, 1)],
        },
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
        lambda rng: (*rng.uniform(0.1, 2, 3).round(3).tolist(), int(rng.integers(1, 9))),
    ),
    "type_reduce": Reference(
        enumerate_weights,
        {
            "For the lower end the smallest consequents take the UPPER firing and the others the "
            "lower one, for the upper end the other way round. Try ALL switch points, and divide "
            "by the sum of the same weights that you multiply with.": [(_LOW, _UP, _Y)],
            "The order of the rules must not matter.": [(_LOW[_ORDER], _UP[_ORDER], _Y[_ORDER])],
            "Wrong for equal lower and upper firings.": [(_LOW, _LOW, _Y)],
            "Wrong for a single rule.": [(_LOW[:1], _UP[:1], _Y[1:2])],
            "Wrong for some rules.": _rules(),
        },
        {
            "The lower end must come first.": lambda *rules: _switched(*rules)[::-1],
            "The lower end has the paper's misprint: the SMALLEST consequents must take the UPPER "
            "firing.": partial(_switched, printed=True),
            "Sort the consequents first, and put both firings into the same order.": partial(
                _switched, sort=False
            ),
        },
        _hidden_rules,
    ),
    "split_conformal": Reference(
        lambda s, p: _ranked(s, rank(p, len(s) + 1)),
        {
            "Take the ceil((n + 1) level)-th smallest.": [(_NINE, level) for level in _LEVELS],
            "Nine scores cannot promise 95%: the rank would be 10. Return np.inf then, which says "
            "'the whole line'.": [(_NINE, 0.95)],
            "The order of the scores must not matter: sort them.": [(_NINE[::-1].copy(), 0.6)],
            # one rank more or less is 2, too
            "Equal scores all count.": [(np.array([1.0, *[2.0] * 17, 3.0]), 0.6)],
        },
        {
            "It is the rank: return the score that has it.": lambda s, p: rank(p, len(s) + 1),
            "The new row counts too: the rank is ceil((n + 1) level).": lambda s, p: _ranked(
                s, rank(p, len(s))
            ),
            "np.quantile counts in another way: sort the scores and take one.": np.quantile,
            "Round UP.": lambda s, p: _ranked(s, int((len(s) + 1) * p)),
            "One rank too many: counting starts at 0 in Python, so take sorted[k - 1].": (
                lambda s, p: np.sort(s)[rank(p, len(s) + 1)]
            ),
            "One rank too many: it is rounded up twice.": lambda s, p: _ranked(
                s, rank(p, len(s)) + 1
            ),
        },
        lambda rng: (rng.exponential(size=30).round(3), round(rng.uniform(0.5, 0.9), 2)),
    ),
    "width_at_coverage": Reference(
        _width,
        {
            "Take the first column that covers AT LEAST the level.": [
                (_TARGETS, -_HALF, _HALF, level) for level in (0.25, 0.5, 0.6)
            ],
            "Rows that are missed count, too.": [
                (np.array([0.0, 0.0, 9.0, 0.0]), -_ONE, _ONE, 0.75)
            ],
            "If no column covers enough, return np.inf. np.argmax is 0 where no entry is True.": [
                (np.array([0.0, 5.0]), -_TWO, _TWO, 0.9)
            ],
        },
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
        _hidden_width,
    ),
}
"""The tasks whose answers are stored, by the name of their function."""


def answers() -> dict[str, Any]:
    """Return the content of `lab_answers.json`."""
    found = {}
    for name, (right, groups, mistakes, _) in REFERENCES.items():
        calls = [call for group in groups.values() for call in group]

        def results(function: Function, calls: Sequence[Call] = calls) -> list[Any]:
            return [encode(result(function, call)) for call in calls]

        found[name] = {
            "groups": [
                {"says": says, "calls": [[*map(encode, call)] for call in group]}
                for says, group in groups.items()
            ],
            "right": results(right),
            "mistakes": {says: results(mistaken) for says, mistaken in mistakes.items()},
        }
    return found


LEVELS_AND_ROWS = [(0.85, 2000), (0.7, 5000)]
"""Hidden tests of the search: a level, and the number of rows whose coverage falls in steps."""


def hidden(name: str, n: int = 5, seed: int = 1) -> list[tuple[list[Any], Any]]:
    """Return further calls of a task and the right results, encoded, for graders."""
    rng, reference = np.random.default_rng(seed), REFERENCES[name]
    calls = [reference.hidden(rng) for _ in range(n)]
    return [([*map(encode, call)], encode(result(reference.right, call))) for call in calls]


def encode(value: Any) -> Any:
    """Return an argument or a result as JSON holds it; numbers have eleven digits."""
    if isinstance(value, Raised):
        return {"error": value.kind}
    if isinstance(value, tuple):
        return {"tuple": [*map(encode, value)]}
    if isinstance(value, np.ndarray):
        rows = [encode(one)["array"] for one in value] if value.ndim > 1 else None
        return {"array": rows or [*map(encode, value.tolist())]}
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return float(f"{float(value):.11g}")


if __name__ == "__main__":
    FILE.write_text(json.dumps(answers(), separators=(",", ":")) + "\n", encoding="utf-8")
    print(f"{FILE.name}: {FILE.stat().st_size / 1e3:.0f} kB")
