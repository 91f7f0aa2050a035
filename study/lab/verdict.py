"""What became of a task of the lab, and how a student's function is judged."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import wraps
from numbers import Real
from types import FrameType
from typing import Any

import numpy as np

_MOST_LINES = 1_000_000  # of Python in one call, after which a function is said not to end


@dataclass(frozen=True)
class Verdict:
    """What became of a task.

    Args:
        task: its name.
        wrong: a sentence for each thing that is wrong.
        done: False where the function still raises `NotImplementedError`.
    """

    task: str
    wrong: tuple[str, ...] = ()
    done: bool = True

    @property
    def passed(self) -> bool:
        """Whether the task is done and nothing is wrong."""
        return self.done and not self.wrong

    def __repr__(self) -> str:
        if not self.done:
            return f"{self.task}: not done yet"
        if not self.wrong:
            return f"{self.task}: right"
        return "\n".join([f"{self.task}: not right yet", *(f"  - {line}" for line in self.wrong)])


Check = Callable[[Callable[..., Any]], str | None]


class UnfitError(Exception):
    """A function returns what cannot be judged, or nothing at all: no check can go on."""


def judge(task: str, function: Callable[..., Any], checks: Iterable[Check]) -> Verdict:
    """Return what a student's `function` comes to: each check returns a sentence or None."""
    wrong: list[str] = []
    for check in checks:
        try:
            said = check(_ending(function))
        except NotImplementedError:
            return Verdict(task, done=False)
        except UnfitError as error:
            return Verdict(task, (*wrong, str(error)))
        except Exception as error:  # whatever a student's code may do
            said = f"Your function stops with {type(error).__name__}: {error}"
            if isinstance(error, TypeError) and re.search(r"\^|bitwise_xor", said):
                said += ". A power is ** in Python, not ^."
        if said and said not in wrong:
            wrong.append(said)
    return Verdict(task, tuple(wrong))


def _ending(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return `function` with a limit on the lines that a call may run."""

    @wraps(function)
    def limited(*arguments: Any) -> Any:
        left = iter(range(_MOST_LINES))

        def watch(frame: FrameType, event: str, argument: Any) -> Any:
            if event == "line" and next(left, None) is None:
                raise UnfitError("Your function does not end: one of its loops never stops.")
            return watch

        before = sys.gettrace()
        sys.settrace(watch)
        try:
            return function(*arguments)
        finally:
            sys.settrace(before)

    return limited


# ------------------------------------------------------------------------- what is returned


def number(value: Any, what: str = "a number") -> float:
    """Return `value` if it is a number.

    Raises:
        UnfitError: it is None, text, nan or something with parts; `what` says what is wanted.
    """
    if value is None:
        raise UnfitError("Your function returns None: is `return` missing?")
    if isinstance(value, str):
        raise UnfitError(f"Your function returns the text {value!r}: return {what}, no text.")
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    if isinstance(value, bool | np.bool) or not isinstance(value, Real):
        kind = type(value).__name__.replace("ndarray", "array")
        raise UnfitError(f"Your function returns {_article(kind)} {kind}: return {what}.")
    if math.isnan(value):
        raise UnfitError("Your function returns nan, which is no number: does it divide 0 by 0?")
    return float(value)


def _article(noun: str) -> str:
    return "an" if noun[0] in "aeiou" else "a"


def same(found: Any, right: Any) -> bool:
    """Return whether two numbers, or arrays of one shape, are equal but for rounding."""
    found = np.asarray(found, dtype=float)
    return found.shape == np.shape(right) and np.allclose(found, right, rtol=1e-6, atol=1e-9)


def apart(right: Any, found: Any) -> tuple[str, str]:
    """Return two numbers, or two lists of them, with the digits that tell them apart.

    >>> apart(0.60653, 0.60649), apart([1.0, 2.0], [1.0, 2.5])
    (('0.606530', '0.606490'), ('1.0000 and 2.0000', '1.0000 and 2.5000'))
    """
    shown = [[_listed(side, digits) for side in (right, found)] for digits in (4, 6, 8, 10)]
    told, yours = next((pair for pair in shown if pair[0] != pair[1]), shown[-1])
    return told, yours


def _listed(values: Any, digits: int) -> str:
    return " and ".join(f"{part:.{digits}f}" for part in np.atleast_1d(values))
