"""Checks of what a system is made of: a membership and a type reduction."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gt2lite.reduction import enumerate_weights
from gt2lite.study.lab.verdict import Verdict, judge, same

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
    found = float(f(2.0, 2.0, 0.5, 1))
    return None if same(found, 1.0) else f"At its centre the grade must be 1, yours is {found:.4g}."


def _bell(x: Any, c: float, sigma: float, M: int) -> Any:
    return np.exp(-((x - c) ** 2) / (2 * M * sigma**2))


def _one_input(f: Callable[..., Any]) -> str | None:
    x, c, sigma = 3.0, 0.0, 3.0
    found, right = float(f(x, c, sigma, 1)), _bell(x, c, sigma, 1)
    if same(found, right):
        return None
    mistakes = {
        "the 2 in the denominator is missing": math.exp(-((x / sigma) ** 2)),
        "sigma must be squared": math.exp(-(x**2) / (2 * sigma)),
        "the distance x - c must be squared": math.exp(-x / (2 * sigma**2)),
        "the minus sign is missing": math.exp(x**2 / (2 * sigma**2)),
    }
    why = next((f": {name}" for name, value in mistakes.items() if same(found, value)), "")
    return (
        f"At x = 3 with c = 0, sigma = 3, M = 1 the grade is {right:.4f}, yours {found:.4f}{why}."
    )


def _more_inputs(f: Callable[..., Any]) -> str | None:
    found, right = float(f(1.0, 0.0, 1.0, 4)), _bell(1.0, 0.0, 1.0, 4)
    if same(found, right):
        return None
    if same(found, f(1.0, 0.0, 1.0, 1)):
        return "With 4 inputs the exponent must be divided by 4: M is missing."
    return f"At x = 1 with c = 0, sigma = 1, M = 4 the grade is {right:.4f}, yours {found:.4f}."


def _arrays(f: Callable[..., Any]) -> str | None:
    x = np.linspace(-1, 1, 5)
    found = f(x, 0.0, 1.0, 1)
    if np.shape(found) != x.shape:
        return (
            f"For an array of 5 points it must return 5 grades; the shape of yours is "
            f"{np.shape(found)}. NumPy's exp takes arrays, math.exp does not."
        )
    return None


# ------------------------------------------------------------------------- a type reduction


def check_type_reduction(function: Callable[..., Any]) -> Verdict:
    """Check ``type_reduce(f_lower, f_upper, y)``, the smallest and the largest weighted mean.

    >>> from gt2lite.reduction import type_reduce
    >>> check_type_reduction(type_reduce)
    type reduction: right
    """
    return judge("type reduction", function, [_two_ends, _by_hand, _unsorted, _no_doubt, _random])


_HAND = np.array([0.2, 0.4, 0.1]), np.array([0.6, 0.8, 0.5]), np.array([1.0, 2.0, 4.0])


def _two_ends(f: Callable[..., Any]) -> str | None:
    found = f(*_HAND)
    if np.shape(found) != (2,):
        return "It must return two numbers: the lower end and the upper end."
    if found[0] > found[1]:
        return "The lower end must come first; yours is above the upper end."
    return None


def _by_hand(f: Callable[..., Any]) -> str | None:
    lower, upper, y = _HAND
    found, right = np.array(f(*_HAND), dtype=float), enumerate_weights(*_HAND)
    if same(found, right):
        return None
    told = (
        f"the ends are {right[0]:.4f} and {right[1]:.4f}, yours {found[0]:.4f} and {found[1]:.4f}"
    )
    if right[0] < found[0] and found[1] < right[1]:
        why = (
            ". Yours lie too far inside. For the lower end the smallest consequents take the "
            "UPPER firing and the others the lower one; for the upper end the other way round"
        )
    elif found[0] < right[0] or found[1] > right[1]:
        why = (
            ". No choice of weights between lower and upper firing gives yours. Divide by the sum "
            "of the same weights that you multiply with"
        )
    else:
        why = ". One end is right. Try ALL switch points for the other one, 0 and P among them"
    return f"For firings {lower} to {upper} and consequents {y} {told}{why}."


def _unsorted(f: Callable[..., Any]) -> str | None:
    order = np.array([2, 0, 1])
    shuffled = [part[order] for part in _HAND]
    if same(np.array(f(*shuffled)), np.array(f(*_HAND))):
        return None
    return (
        "The order in which rules are listed must not matter. Sort the consequents first, and put "
        "both firings into the same order."
    )


def _no_doubt(f: Callable[..., Any]) -> str | None:
    w, y = np.array([1.0, 3.0]), np.array([0.0, 4.0])
    found = np.array(f(w, w, y), dtype=float)
    if same(found, np.array([3.0, 3.0])):
        return None
    return (
        "Where lower and upper firing are equal, both ends must be the weighted mean, here 3; "
        f"yours are {found[0]:.4g} and {found[1]:.4g}."
    )


def _random(f: Callable[..., Any]) -> str | None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        lower = rng.uniform(0, 0.5, 5)
        upper, y = lower + rng.uniform(0.01, 0.5, 5), rng.normal(size=5)
        found, right = np.array(f(lower, upper, y), dtype=float), enumerate_weights(lower, upper, y)
        if not same(found, right):
            return (
                f"Among random cases with 5 rules one is wrong: for the consequents "
                f"{np.round(y, 2)} all {2**5} choices of weights give the ends {right[0]:.4f} and "
                f"{right[1]:.4f}, yours are {found[0]:.4f} and {found[1]:.4f}."
            )
    return None
