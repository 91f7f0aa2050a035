"""Checks of what a system is made of: a membership and a type reduction."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gt2lite.reduction import enumerate_weights
from study.lab.verdict import UnfitError, Verdict, apart, judge, number, same

# ----------------------------------------------------------------------------- a membership


def check_membership(function: Callable[..., Any]) -> Verdict:
    """Check ``membership(x, c, sigma, M)``, the grade of a bell in a system with M inputs.

    >>> check_membership(lambda x, c, sigma, M: np.exp(-((x - c) ** 2) / (2 * M * sigma**2)))
    membership: right
    >>> print(check_membership(lambda x, c, sigma, M: np.exp(-((x - c) ** 2) / (2 * sigma**2))))
    membership: not right yet
      - With 4 inputs the exponent must be divided by 4: M is missing.
    """
    return judge("membership", function, [_at_centre, _one_input, _more_inputs, _arrays])


def _at_centre(f: Callable[..., Any]) -> str | None:
    found = number(f(2.0, 2.0, 0.5, 1))
    return None if same(found, 1.0) else f"At its centre the grade must be 1, yours is {found:g}."


def _bell(x: Any, c: float, sigma: float, M: int) -> Any:
    return np.exp(-((x - c) ** 2) / (2 * M * sigma**2))


def _one_input(f: Callable[..., Any]) -> str | None:
    x, c, sigma = 3.0, 0.0, 3.0
    found, right = number(f(x, c, sigma, 1)), _bell(x, c, sigma, 1)
    if same(found, right):
        return None
    mistakes = {
        "the 2 in the denominator is missing": math.exp(-((x / sigma) ** 2)),
        "the whole denominator needs parentheses": math.exp(-(x**2) / 2 * sigma**2),
        "sigma must be squared": math.exp(-(x**2) / (2 * sigma)),
        "the distance x - c must be squared": math.exp(-x / (2 * sigma**2)),
        "the minus sign is missing": math.exp(x**2 / (2 * sigma**2)),
    }
    why = next((f": {name}" for name, value in mistakes.items() if same(found, value)), "")
    told, yours = apart(right, found)
    return f"At x = 3 with c = 0, sigma = 3, M = 1 the grade is {told}, yours {yours}{why}."


def _more_inputs(f: Callable[..., Any]) -> str | None:
    found, right = number(f(1.0, 0.0, 1.0, 4)), _bell(1.0, 0.0, 1.0, 4)
    if same(found, right):
        return None
    if same(found, number(f(1.0, 0.0, 1.0, 1))):
        return "With 4 inputs the exponent must be divided by 4: M is missing."
    told, yours = apart(right, found)
    return f"At x = 1 with c = 0, sigma = 1, M = 4 the grade is {told}, yours {yours}."


def _arrays(f: Callable[..., Any]) -> str | None:
    x = np.linspace(-1, 1, 5)
    before = x.copy()
    f(0.5, 0.5, 1.0, 1)  # what fails for a number, too, has been told
    try:
        found = f(x, 0.5, 1.0, 1)
    except TypeError as error:
        return (
            f"For an array of 5 points your function stops with TypeError: {error}. NumPy's exp "
            "takes arrays, math.exp does not."
        )
    if not np.array_equal(x, before):
        return "Your function changes the array x that it is given: write x - c, not x -= c."
    if not isinstance(found, np.ndarray):
        return f"For an array of 5 points it must return an array of 5 grades, not {found!r}."
    if found.shape != x.shape:
        return (
            "For an array of 5 points it must return an array of 5 grades; the shape of yours is "
            f"{found.shape}."
        )
    right = _bell(x, 0.5, 1.0, 1)
    if not same(found, right) and same(number(f(x[0], 0.5, 1.0, 1)), right[0]):
        return "For an array your grades differ from those that you return point by point."
    return None


# ------------------------------------------------------------------------- a type reduction


def check_type_reduction(function: Callable[..., Any]) -> Verdict:
    """Check ``type_reduce(f_lower, f_upper, y)``, the smallest and the largest weighted mean.

    >>> from gt2lite.reduction import type_reduce
    >>> check_type_reduction(type_reduce)
    type reduction: right
    """
    checks = [_in_order, _by_hand, _unsorted, _unchanged, _no_doubt, _one_rule, _many]
    return judge("type reduction", function, checks)


_HAND = np.array([0.2, 0.4, 0.1]), np.array([0.6, 0.8, 0.5]), np.array([1.0, 2.0, 4.0])
_TWO = "It must return two numbers: the lower end and the upper end."


def _ends(value: Any) -> np.ndarray:
    """Return the two ends that a student's function returns."""
    if value is None:
        number(value)
    if not isinstance(value, tuple | list | np.ndarray) or len(np.atleast_1d(value)) != 2:
        raise UnfitError(_TWO)
    return np.array([number(part, "two numbers") for part in value])


def _in_order(f: Callable[..., Any]) -> str | None:
    lower, upper = _ends(f(*_copies(_HAND)))
    if lower > upper and not same(lower, upper):
        return "The lower end must come first; yours is above the upper end."
    return None


def _copies(arrays: Any) -> list[np.ndarray]:
    """Return copies: what one check is told must not depend on what another did."""
    return [part.copy() for part in arrays]


def _by_hand(f: Callable[..., Any]) -> str | None:
    lower, upper, y = _HAND
    found, right = _ends(f(*_copies(_HAND))), enumerate_weights(*_HAND)
    if same(found, right):
        return None
    told, yours = apart(right, found)
    held = [same(*pair) for pair in zip(found, right, strict=True)]
    if held[1] and _misprinted(found[0]):
        why = (
            ". The upper end is right. For the lower end the SMALLEST consequents take the UPPER "
            "firing; yours take the lower one, as the paper misprints it"
        )
    elif (found[0] < right[0] and not held[0]) or (found[1] > right[1] and not held[1]):
        why = (
            ". No choice of weights between lower and upper firing gives yours. Divide by the sum "
            "of the same weights that you multiply with"
        )
    elif not any(held):
        why = (
            ". Yours lie too far inside. For the lower end the smallest consequents take the "
            "UPPER firing and the others the lower one; for the upper end the other way round"
        )
    else:
        why = ". One end is right. Try ALL switch points for the other one"
    return (
        f"For firings {lower} to {upper} and consequents {y} the ends are {told}, yours "
        f"{yours}{why}."
    )


def _misprinted(end: float) -> bool:
    """Return whether `end` is the smallest mean with the lower firings first."""
    lower, upper, y = _HAND
    n = len(y)
    means = [np.average(y, weights=[*lower[:k], *upper[k:]]) for k in range(n + 1)]
    return any(same(end, min(some)) for some in (means, means[1:], means[:-1], means[1:-1]))


def _unsorted(f: Callable[..., Any]) -> str | None:
    order = np.array([2, 0, 1])
    if same(_ends(f(*(part[order] for part in _HAND))), _ends(f(*_copies(_HAND)))):
        return None
    return (
        "The order in which rules are listed must not matter. Sort the consequents first, and put "
        "both firings into the same order."
    )


def _unchanged(f: Callable[..., Any]) -> str | None:
    order = np.array([2, 0, 1])
    given = [part[order] for part in _HAND]
    before = _copies(given)
    f(*given)
    if all(np.array_equal(*pair) for pair in zip(given, before, strict=True)):
        return None
    return (
        "Your function changes the arrays that it is given: take y[np.argsort(y)], not y.sort(), "
        "and assign to no part of them."
    )


def _no_doubt(f: Callable[..., Any]) -> str | None:
    w, y = np.array([1.0, 3.0]), np.array([0.0, 4.0])
    found = _ends(f(w.copy(), w.copy(), y))
    if same(found, np.array([3.0, 3.0])):
        return None
    return (
        "Where lower and upper firing are equal, both ends must be the weighted mean, here 3; "
        f"yours are {found[0]:.4g} and {found[1]:.4g}."
    )


def _one_rule(f: Callable[..., Any]) -> str | None:
    found = _ends(f(np.array([0.2]), np.array([0.7]), np.array([5.0])))
    if same(found, np.array([5.0, 5.0])):
        return None
    return (
        "With a single rule both ends must be its consequent, here 5; "
        f"yours are {found[0]:.4g} and {found[1]:.4g}."
    )


def _cases() -> Iterator[tuple[str, np.ndarray, np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(0)
    for _ in range(50):
        lower = rng.uniform(0, 0.5, 5)
        yield "random cases", lower, lower + rng.uniform(0.01, 0.5, 5), rng.normal(size=5)
    for _ in range(10):
        lower = rng.uniform(0, 0.5, 5)
        y = np.array([1.0, 1.0, 2.0, 2.0, 2.0])[rng.permutation(5)]
        yield "cases with equal consequents", lower, lower + rng.uniform(0.01, 0.5, 5), y
    for _ in range(20):  # an iteration needs several rounds here
        lower = rng.uniform(1e-4, 1e-3, 10)
        y = rng.exponential(size=10) ** 3
        yield "cases with small lower firings", lower, rng.uniform(0.01, 1, 10), y


def _many(f: Callable[..., Any]) -> str | None:
    for kind, lower, upper, y in _cases():
        right = enumerate_weights(lower, upper, y)
        found = _ends(f(lower.copy(), upper.copy(), y.copy()))
        if not same(found, right):
            told, yours = apart(right, found)
            n = len(y)
            return (
                f"Among {kind}, with {n} rules, one is wrong: for the consequents {np.round(y, 2)} "
                f"all {2**n} choices of weights give the ends {told}, yours are {yours}."
            )
    return None
