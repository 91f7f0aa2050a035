"""Checks of what calibrates: split conformal and the paper's search."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gt2lite.calibration import rank
from gt2lite.study.lab.verdict import Verdict, judge, same

_PATIENCE = 5000  # questions after which a search is said not to end
_LOWEST = 0.01

# --------------------------------------------------------------------------- split conformal


def check_split_conformal(function: Callable[..., Any]) -> Verdict:
    """Check ``split_conformal(scores, level)``, the score up to which a set is calibrated.

    >>> def quantile(scores, level):
    ...     return np.quantile(scores, level)
    >>> check_split_conformal(quantile).passed
    False
    """
    checks = [_nine, _too_few, _any_order, _is_a_score, _on_average]
    return judge("split conformal", function, checks)


def _nine(f: Callable[..., Any]) -> str | None:
    scores = np.arange(1.0, 10.0)
    for level in (0.7, 0.75, 0.9, 0.5):
        found, k = float(f(scores, level)), rank(level, 10)
        if same(found, k):
            continue
        told = (
            f"With the scores 1, 2, ..., 9 the level {level:g} needs score {k}, yours is {found:g}"
        )
        if same(found, rank(level, 9)):
            return f"{told}. The new row counts too: the rank is ceil((n + 1) level)."
        if found == k + 1:
            return f"{told}. Counting starts at 0 in Python: the k-th smallest is sorted[k - 1]."
        if same(found, np.quantile(scores, level)):
            return f"{told}. np.quantile interpolates: sort the scores and take one of them."
        return f"{told}. Take the ceil((n + 1) level)-th smallest."
    return None


def _too_few(f: Callable[..., Any]) -> str | None:
    try:
        found = float(f(np.arange(1.0, 10.0), 0.95))
    except IndexError:
        found = math.nan
    if found == math.inf:
        return None
    return (
        "Nine scores cannot promise 95 %: the rank would be 10. Return np.inf then, which says "
        "'the whole line', instead of the largest score or an error."
    )


def _any_order(f: Callable[..., Any]) -> str | None:
    scores = np.array([5.0, 1.0, 4.0, 2.0, 3.0])
    before = scores.copy()
    as_sorted = same(f(scores, 0.6), f(np.sort(before), 0.6))
    if not np.array_equal(scores, before):
        return "Your function changes the scores that it is given: use np.sort, not scores.sort()."
    return None if as_sorted else "The order of the scores must not matter: sort them."


def _is_a_score(f: Callable[..., Any]) -> str | None:
    scores = np.array([0.3, 1.7, 2.2, 8.0])
    found = float(f(scores, 0.7))
    if found in scores:
        return None
    return f"The answer must be one of the scores, {found:.4g} is none of 0.3, 1.7, 2.2 and 8."


def _on_average(f: Callable[..., Any]) -> str | None:
    rng = np.random.default_rng(1)
    draws = rng.exponential(size=(2000, 20))
    new = rng.exponential(size=2000)
    share = np.mean([y <= f(scores, 0.8) for scores, y in zip(draws, new, strict=True)])
    if abs(share - rank(0.8, 21) / 21) < 0.035:  # four standard errors
        return None
    return (
        f"In 2,000 trials with 20 scores each the level 0.8 was met in {100 * share:.1f} % of the "
        f"cases. It should be {100 * rank(0.8, 21) / 21:.1f} %, but for chance."
    )


# -------------------------------------------------------------------------- the paper's search


def check_method_2(function: Callable[..., Any]) -> Verdict:
    """Check ``method_2(coverage, level)``, the paper's search for a plane.

    The student's function gets a function of alpha and a level, and returns an alpha.
    """
    return judge("Method 2", function, [_ends, _in_range, _finds, _steps])


class _EndlessError(Exception):
    """A search has asked too often."""


def _asked(g: Callable[[float], float]) -> Callable[[float], float]:
    """Return `g` with a limit on how often it is asked, and within its range only."""
    count = iter(range(_PATIENCE))

    def coverage(alpha: float) -> float:
        if next(count, None) is None:
            raise _EndlessError
        if not _LOWEST - 1e-9 <= alpha <= 1 + 1e-9:
            raise ValueError(f"there is no plane {alpha:.4g}, only those from 0.01 to 1")
        return g(alpha)

    return coverage


def _stairs(n: int) -> Callable[[float], float]:
    """Return a coverage that falls from 1 to 0 in n steps, as that of n rows does."""
    return lambda alpha: math.floor(n * (1 - alpha) / 0.99 + 1e-9) / n


def _ends(f: Callable[..., Any]) -> str | None:
    try:
        f(_asked(_stairs(7)), 0.9)
    except _EndlessError:
        return (
            "Your search does not end where no plane comes within the tolerance: with 7 rows "
            "coverage is 6/7 or 1, never 0.9. Stop also when the step is below 0.0001."
        )
    except ValueError as error:
        if "there is no plane" not in str(error):
            raise
    return None


def _in_range(f: Callable[..., Any]) -> str | None:
    for level in (0.99, 0.02):
        try:
            f(_asked(_stairs(1000)), level)
        except ValueError as error:
            if "there is no plane" not in str(error):
                raise
            return (
                f"Your search asks for a plane outside its range: {error}. Stop at 0.01 and at 1."
            )
        except _EndlessError:
            pass
    return None


def _levels() -> Iterator[tuple[Callable[[float], float], float]]:
    for level in (0.95, 0.9, 0.5):
        yield _stairs(10_000), level
        yield lambda alpha: math.sqrt(1 - alpha), level


def _finds(f: Callable[..., Any]) -> str | None:
    for g, level in _levels():
        try:
            alpha = float(f(_asked(g), level))
        except (_EndlessError, ValueError):
            return None  # which others have told
        if abs(g(alpha) - level) > 0.0006:
            said = f"For the level {level:g} your search ends at alpha = {alpha:.4g}, which covers "
            said += f"{g(alpha):.4f}. "
            if abs(g(alpha) - level) >= abs(g(0.4) - level) - 1e-12:
                return said + (
                    "That is no nearer than the start: a smaller alpha covers more, a larger one "
                    "less. Move to the side whose coverage is nearer to the level."
                )
            return said + "A plane within 0.0005 exists: shrink the step where neither side helps."
    return None


def _steps(f: Callable[..., Any]) -> str | None:
    asked: list[float] = []

    def g(alpha: float) -> float:
        asked.append(alpha)
        return 1 - alpha

    try:
        f(_asked(g), 0.95)
    except (_EndlessError, ValueError):
        return None
    if len(set(asked)) > 200:
        return (
            f"Your search looks at {len(set(asked))} planes. The paper's begins at 0.4 with steps "
            "of 0.1 and needs some twenty: do not try all planes of a fine grid."
        )
    return None
