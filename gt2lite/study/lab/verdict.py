"""What became of a task of the lab, and how a student's function is judged."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np


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


def judge(task: str, function: Callable[..., Any], checks: Iterable[Check]) -> Verdict:
    """Return what a student's `function` comes to: each check returns a sentence or None."""
    wrong: list[str] = []
    for check in checks:
        try:
            said = check(function)
        except NotImplementedError:
            return Verdict(task, done=False)
        except Exception as error:  # whatever a student's code may do
            said = f"Your function stops with {type(error).__name__}: {error}"
        if said and said not in wrong:
            wrong.append(said)
    return Verdict(task, tuple(wrong))


def same(found: Any, right: Any) -> bool:
    """Return whether two numbers, or arrays of one shape, are equal but for rounding."""
    found = np.asarray(found, dtype=float)
    return found.shape == np.shape(right) and np.allclose(found, right, rtol=1e-9, atol=1e-12)
