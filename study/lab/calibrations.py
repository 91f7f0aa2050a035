"""Checks of what calibrates: split conformal and the paper's search."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gt2lite.calibration import rank
from study.lab.verdict import UnfitError, Verdict, judge, number, same

# --------------------------------------------------------------------------- split conformal


def check_split_conformal(function: Callable[..., Any]) -> Verdict:
    """Check ``split_conformal(scores, level)``, the score up to which a set is calibrated.

    >>> def quantile(scores, level):
    ...     return np.quantile(scores, level)
    >>> check_split_conformal(quantile).passed
    False
    """
    checks = [_nine, _too_few, _any_order, _ties, _is_a_score, _on_average]
    return judge("split conformal", function, checks)


_NINE = np.arange(1.0, 10.0)  # their k-th smallest is k
_LEVELS = 0.7, 0.75, 0.9, 0.5, 0.62, 0.82, 0.58, 0.55  # enough to tell mistakes apart


def _nine(f: Callable[..., Any]) -> str | None:
    found: list[float] = []
    for level in _LEVELS:
        try:
            found.append(number(f(_NINE.copy(), level)))
        except IndexError:
            found.append(math.nan)
    wrong = [pair for pair in zip(_LEVELS, found, strict=True) if pair[1] != rank(pair[0], 10)]
    if not wrong:
        return None
    level, yours = wrong[0]
    told = f"With the scores 1, 2, ..., 9 the level {level:g} needs score {rank(level, 10)}, "
    told += "yours stops with IndexError" if math.isnan(yours) else f"yours is {yours:g}"
    return f"{told}. {_why(np.array(found))}"


def _why(found: np.ndarray) -> str:
    """Return the mistake that explains what was found at all levels."""
    right = np.array([rank(level, 10) for level in _LEVELS])
    explained = {
        "The new row counts too: the rank is ceil((n + 1) level).": [
            [rank(level, 9) for level in _LEVELS]
        ],
        "np.quantile interpolates: sort the scores and take one of them.": [
            np.quantile(_NINE, _LEVELS)
        ],
        "np.quantile counts in another way: sort the scores and take one of them.": [
            np.quantile(_NINE, _LEVELS, method=method)
            for method in ("lower", "higher", "nearest", "midpoint", "weibull")
        ],
        "Round UP: with a smaller rank the level is not reached.": [
            [round(10 * level) for level in _LEVELS],
            [math.floor(10 * level) for level in _LEVELS],
        ],
    }
    for sentence, ways in explained.items():
        if any(same(found, np.array(way)) for way in ways):
            return sentence
    beyond = (found == right + 1) | (right == len(_NINE))
    if (found == right + 1).any() and ((found == right) | beyond).all():
        return (
            "One rank too many: either sorted[k] for sorted[k - 1], because counting starts at 0 "
            "in Python, or a rank that is rounded up twice, or np.quantile with 'higher'."
        )
    return "Take the ceil((n + 1) level)-th smallest."


def _too_few(f: Callable[..., Any]) -> str | None:
    try:
        found = f(_NINE.copy(), 0.95)
    except IndexError:
        found = None
    if isinstance(found, str):
        number(found)
    if found is not None and np.ndim(found) == 0 and found == math.inf:
        return None
    return (
        "Nine scores cannot promise 95 %: the rank would be 10. Return np.inf then, which says "
        "'the whole line', instead of the largest score, None, nan or an error."
    )


def _any_order(f: Callable[..., Any]) -> str | None:
    scores = np.array([5.0, 1.0, 4.0, 2.0, 3.0])
    before = scores.copy()
    as_sorted = same(number(f(scores, 0.6)), number(f(np.sort(before), 0.6)))
    if not np.array_equal(scores, before):
        return "Your function changes the scores that it is given: use np.sort, not scores.sort()."
    return None if as_sorted else "The order of the scores must not matter: sort them."


def _ties(f: Callable[..., Any]) -> str | None:
    scores = np.array([1.0, *[2.0] * 17, 3.0])  # so many that a rank more or less says 2, too
    found = number(f(scores, 0.6))
    if found == 2:
        return None
    if found == number(f(np.unique(scores), 0.6)) and number(f(_NINE.copy(), 0.7)) == 7:
        return "Equal scores all count: do not remove repeated ones."
    return f"With the scores 1, seventeen times 2, and 3 the level 0.6 needs 2, yours is {found:g}."


def _is_a_score(f: Callable[..., Any]) -> str | None:
    scores = np.array([0.3, 1.7, 2.2, 8.0])
    found = number(f(scores, 0.7))
    if found in scores:
        return None
    told = f"The answer must be one of the scores, {found:.4g} is none of 0.3, 1.7, 2.2 and 8."
    if found == rank(0.7, 5):
        told += " It is the rank: return the score that has it."
    return told


def _on_average(f: Callable[..., Any]) -> str | None:
    rng = np.random.default_rng(1)
    draws = rng.exponential(size=(2000, 20))
    new = rng.exponential(size=2000)
    share = np.mean([y <= number(f(scores, 0.8)) for scores, y in zip(draws, new, strict=True)])
    if abs(share - rank(0.8, 21) / 21) < 0.035:  # four standard errors
        return None
    return (
        f"In 2,000 trials with 20 scores each the level 0.8 was met in {100 * share:.1f} % of the "
        f"cases. It should be {100 * rank(0.8, 21) / 21:.1f} %, but for chance."
    )


# -------------------------------------------------------------------------- the paper's search


def check_method_2(function: Callable[..., Any]) -> Verdict:
    """Check ``method_2(coverage, level)``, the paper's search for a plane.

    The student's function gets a function of alpha and a level, and returns an alpha. Where no
    plane comes within the tolerance it may also raise a `ValueError` or a `RuntimeError`.
    """
    return judge("Method 2", function, [_in_range, _finds, _gives_up, _steps])


_PATIENCE = 5000  # questions after which a search is said not to end
_LOWEST, _START = 0.01, 0.4


class _EndlessError(Exception):
    """A search has asked too often."""


class _Asked:
    """A coverage that remembers which planes it was asked for, and does not answer for ever."""

    def __init__(self, g: Callable[[float], float]) -> None:
        self.g = g
        self.planes: list[float] = []

    def __call__(self, alpha: float) -> float:
        if not _LOWEST - 1e-9 <= alpha <= 1 + 1e-9:
            raise UnfitError(
                "Your search asks for a plane outside its range: there is no plane "
                f"{round(alpha, 4):g}, only those from 0.01 to 1. Stop at 0.01 and at 1."
            )
        self.planes.append(alpha)
        if len(self.planes) > _PATIENCE:
            raise _EndlessError
        return self.g(alpha)


def _stairs(n: int) -> Callable[[float], float]:
    """Return a coverage that falls from 1 to 0 in n steps, as that of n rows does."""
    return lambda alpha: math.floor(n * (1 - alpha) / 0.99 + 1e-9) / n


def _in_range(f: Callable[..., Any]) -> str | None:
    for n, level in ((1000, 0.99), (1000, 0.02), (7, 0.9)):
        try:
            f(_Asked(_stairs(n)), level)
        except (_EndlessError, ValueError, RuntimeError) as error:
            if isinstance(error, NotImplementedError):
                raise
    return None


def _gives_up(f: Callable[..., Any]) -> str | None:
    asked = _Asked(_stairs(7))
    why = "with 7 rows coverage is 6/7 or 1, never 0.9"
    try:
        found = f(asked, 0.9)
    except (_EndlessError, RecursionError):
        last = asked.planes[-50:]
        if max(last) - min(last) > 0.001:
            return (
                "Your search looks at the same few planes for ever: it moves although neither side "
                "is nearer, or it never halves its step. Move only if a side is strictly nearer; "
                "halve the step if neither is."
            )
        return (
            f"Your search does not end where no plane comes within the tolerance: {why}. Stop also "
            "when the step is below 0.0001."
        )
    except (ValueError, RuntimeError) as error:
        if isinstance(error, NotImplementedError):
            raise
        return None
    try:
        alpha = number(found)
    except UnfitError:
        return (
            f"Where no plane comes within the tolerance ({why}) your search returns {found!r}: "
            "return the best plane that you stood on, or raise an error."
        )
    if _LOWEST <= alpha <= 1 and abs(asked.g(alpha) - 0.9) <= abs(asked.g(_START) - 0.9):
        return None
    return (
        f"Where no plane comes within the tolerance ({why}) your search returns {alpha:.4g}, which "
        "is worse than the start: return the best plane that you stood on, or raise an error."
    )


def _levels() -> Iterator[tuple[Callable[[float], float], float]]:
    for level in (0.95, 0.9, 0.5):
        yield _stairs(10_000), level
        yield lambda alpha: math.sqrt(1 - alpha), level


def _finds(f: Callable[..., Any]) -> str | None:
    for g, level in _levels():
        try:
            alpha = number(f(_Asked(g), level))
        except _EndlessError:
            return f"Your search does not end for the level {level:g}, although a plane covers it."
        if not _LOWEST - 1e-9 <= alpha <= 1 + 1e-9:
            return f"For the level {level:g} your search returns {alpha:.4g}, which is no plane."
        if abs(g(alpha) - level) > 0.0006:
            said = f"For the level {level:g} your search ends at alpha = {alpha:.4g}, which covers "
            said += f"{g(alpha):.4f}. "
            if abs(g(alpha) - level) >= abs(g(_START) - level) - 1e-12:
                return said + (
                    "That is no nearer than the start: a smaller alpha covers more, a larger one "
                    "less. Move to the side whose coverage is nearer to the level."
                )
            return said + (
                "A plane within 0.0005 exists: shrink the step where neither side helps, or your "
                "search stops too early (too few rounds, a tolerance above 0.0005, or a smallest "
                "step above 0.0001)."
            )
    return None


def _steps(f: Callable[..., Any]) -> str | None:
    asked = _Asked(lambda alpha: 1 - alpha)
    try:
        f(asked, 0.95)
    except _EndlessError:
        return None  # which others have told
    n = len(set(asked.planes))
    if n > 200:
        return (
            f"Your search looks at {n} planes. The paper's begins at 0.4 with steps of 0.1 and "
            "needs some twenty: do not try all planes of a fine grid."
        )
    first = list(dict.fromkeys(plane for plane in asked.planes if _LOWEST < plane < 1))
    if not first:
        return "Your search never asks for the coverage of a plane: call coverage(alpha)."
    second = first[1] if len(first) > 1 else math.nan
    if same(first[0], _START) and (same(second, 0.3) or same(second, 0.5)):
        return None
    return (
        f"Your search looks at {', '.join(f'{plane:.4g}' for plane in first[:3])} first. The "
        "paper's looks at 0.4, and then at 0.3 and 0.5. Other searches find the plane, too, but "
        "this task asks for Method 2."
    )
