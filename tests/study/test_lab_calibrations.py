"""Mistakes in split conformal and in the search: each fails, in words that name it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from test_lab import TASKS, assert_named, method_2, split_conformal

from gt2lite.calibration import CoverageError, rank


def closest(coverage, level):
    grid = np.linspace(0.01, 1, 1000)
    return min(grid, key=lambda alpha: abs(coverage(alpha) - level))


def outward(coverage, level):
    """A search that goes to the worse side."""
    alpha = 0.4
    for _ in range(20):
        alpha = min(max(alpha + (0.1 if coverage(alpha) < level else -0.1), 0.01), 1.0)
    return alpha


def unbounded(coverage, level):
    alpha, step = 0.4, 0.1
    while step > 1e-4:
        side = alpha - step if coverage(alpha) < level else alpha + step
        if abs(coverage(side) - level) < abs(coverage(alpha) - level):
            alpha = side
        else:
            step /= 2
    return alpha


def stuck(coverage, level):
    alpha, step = 0.4, 0.1
    for _ in range(30):
        side = alpha + (-step if coverage(alpha) < level else step)
        side = min(max(side, 0.01), 1.0)
        if abs(coverage(side) - level) < abs(coverage(alpha) - level):
            alpha = side
    return alpha


def ranked(scores, k):
    return np.inf if k > len(scores) else np.sort(scores)[k - 1]


def moves_on_equal(g, level):
    alpha, step = 0.4, 0.1
    while abs(g(alpha) - level) >= 0.0005 and step >= 1e-4:
        sides = [max(alpha - step, 0.01), min(alpha + step, 1.0)]
        best = min(sides, key=lambda side: abs(g(side) - level))
        if abs(g(best) - level) <= abs(g(alpha) - level):
            alpha = best
        else:
            step /= 2
    return alpha


def stands_still(g, level):
    alpha = 0.4
    while abs(g(alpha) - level) >= 0.0005:
        sides = [max(alpha - 0.1, 0.01), alpha, min(alpha + 0.1, 1.0)]
        alpha = min(sides, key=lambda side: abs(g(side) - level))
    return alpha


def recursive(g, level, alpha=0.4, step=0.1):
    if abs(g(alpha) - level) < 0.0005:
        return alpha
    for side in (max(alpha - step, 0.01), min(alpha + step, 1.0)):
        if abs(g(side) - level) < abs(g(alpha) - level):
            return recursive(g, level, side, step)
    return recursive(g, level, alpha, step / 2)


def asks_nothing(g, level):
    while True:
        level += 0


def bisection(g, level):
    low, high = 0.01, 1.0
    while high - low > 1e-5:
        middle = (low + high) / 2
        low, high = (middle, high) if g(middle) >= level else (low, middle)
    return low


def gives_up(g, level, returned):
    alpha = method_2(g, level)
    return alpha if abs(g(alpha) - level) < 0.0005 else returned


MISTAKES = {
    "np.quantile": ("split conformal", lambda s, p: np.quantile(s, p), "np.quantile interpolates"),
    "n in place of n + 1": (
        "split conformal",
        lambda s, p: np.sort(s)[math.ceil(len(s) * p) - 1],
        "The new row counts too",
    ),
    "counting from 0": (
        "split conformal",
        lambda s, p: np.append(np.sort(s), np.inf)[min(math.ceil((len(s) + 1) * p), len(s))],
        "One rank too many: either sorted[k] for sorted[k - 1]",
    ),
    "counting from 0, with an error": (
        "split conformal",
        lambda s, p: np.sort(s)[math.ceil((len(s) + 1) * p)],
        "One rank too many",
    ),
    "rounded up twice": (
        "split conformal",
        lambda s, p: ranked(s, math.ceil(len(s) * p) + 1),
        "One rank too many",
    ),
    "np.quantile, higher": (
        "split conformal",
        lambda s, p: np.quantile(s, min(rank(p, len(s) + 1) / len(s), 1), method="higher"),
        "One rank too many",
    ),
    "np.quantile of the level, higher": (
        "split conformal",
        lambda s, p: np.quantile(s, p, method="higher"),
        "np.quantile counts in another way",
    ),
    "round": ("split conformal", lambda s, p: ranked(s, round((len(s) + 1) * p)), "Round UP"),
    "rounding down": ("split conformal", lambda s, p: ranked(s, int((len(s) + 1) * p)), "Round UP"),
    "half a rank more": (
        "split conformal",
        lambda s, p: ranked(s, math.ceil(len(s) * p + 0.5)),
        "the level 0.82 needs score 9, yours is 8. Take the ceil((n + 1) level)-th",
    ),
    "ties removed": (
        "split conformal",
        lambda s, p: split_conformal(np.unique(s), p),
        "Equal scores all count",
    ),
    "infinity as text": (
        "split conformal",
        lambda s, p: x if np.isfinite(x := split_conformal(s, p)) else "inf",
        "the text 'inf'",
    ),
    "None for too few": (
        "split conformal",
        lambda s, p: x if np.isfinite(x := split_conformal(s, p)) else None,
        "Nine scores cannot promise 95 %",
    ),
    "the rank itself": (
        "split conformal",
        lambda s, p: k if (k := math.ceil((len(s) + 1) * p)) <= len(s) else np.inf,
        "It is the rank: return the score that has it",
    ),
    "no infinity": (
        "split conformal",
        lambda s, p: np.sort(s)[min(math.ceil((len(s) + 1) * p), len(s)) - 1],
        "Nine scores cannot promise 95 %",
    ),
    "no sorting of scores": (
        "split conformal",
        lambda s, p: np.append(s, np.inf)[min(math.ceil((len(s) + 1) * p) - 1, len(s))],
        "sort them",
    ),
    "sorted in place": (
        "split conformal",
        lambda s, p: s.sort() or split_conformal(s, p),
        "changes the scores",
    ),
    "far too careful": (
        "split conformal",
        lambda s, p: np.inf,
        "100.0 % of the cases",
    ),
    "endless": ("Method 2", lambda g, p: method_2(g, p, stop=0, rounds=10**9), "does not end"),
    "out of range": ("Method 2", unbounded, "there is no plane"),
    "the worse side": ("Method 2", outward, "a smaller alpha covers more"),
    "a step that stays": ("Method 2", stuck, "shrink the step"),
    "equal counts as nearer": ("Method 2", moves_on_equal, "strictly nearer"),
    "no exit and no smaller step": ("Method 2", stands_still, "or it never halves its step"),
    "a loop that asks nothing": ("Method 2", asks_nothing, "does not end"),
    "recursion": ("Method 2", recursive, "Stop also when the step is below 0.0001"),
    "too few rounds": ("Method 2", lambda g, p: method_2(g, p, rounds=10), "stops too early"),
    "a large tolerance": ("Method 2", lambda g, p: method_2(g, p, near=0.005), "stops too early"),
    "a large last step": ("Method 2", lambda g, p: method_2(g, p, stop=0.01), "stops too early"),
    "another start": (
        "Method 2",
        lambda g, p: method_2(g, p, start=0.5),
        "looks at 0.5, 0.4, 0.6 first",
    ),
    "the start at the end": (
        "Method 2",
        lambda g, p: method_2(g, p, start=0.01),
        "this task asks for Method 2",
    ),
    "no question": ("Method 2", lambda g, p: 0.4, "never asks for the coverage"),
    "bisection": ("Method 2", bisection, "this task asks for Method 2"),
    "None at the end": ("Method 2", lambda g, p: gives_up(g, p, None), "your search returns None"),
    "nan at the end": ("Method 2", lambda g, p: gives_up(g, p, math.nan), "search returns nan"),
    "-1 at the end": ("Method 2", lambda g, p: gives_up(g, p, -1), "worse than the start"),
    "a fine grid": ("Method 2", closest, "looks at 1000 planes"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_typical_mistake_fails_and_is_named(name):
    assert_named(*MISTAKES[name])


@pytest.mark.parametrize("error", [ValueError, RuntimeError, CoverageError])
def test_a_search_may_raise_an_error_where_it_gives_up(error):
    def search_or_error(g, level):
        alpha = method_2(g, level)
        if abs(g(alpha) - level) >= 0.0005:
            raise error("no plane comes near enough")
        return alpha

    assert TASKS["Method 2"][0](search_or_error).passed


def test_a_slip_where_a_search_gives_up_is_told():
    def slip(g, level):
        alpha = method_2(g, level)
        return alpha if abs(g(alpha) - level) < 0.0005 else alhpa  # noqa: F821

    assert "stops with NameError" in repr(TASKS["Method 2"][0](slip))


def test_one_look_ahead_is_enough_for_a_search():
    """At most one side is nearer, and the sign of the difference says which."""

    def one_side(g, level):
        alpha, step = 0.4, 0.1
        while abs(g(alpha) - level) >= 0.0005 and step >= 1e-4:
            side = min(max(alpha + (step if g(alpha) > level else -step), 0.01), 1.0)
            if abs(g(side) - level) < abs(g(alpha) - level):
                alpha = side
            else:
                step /= 2
        return alpha

    assert TASKS["Method 2"][0](one_side).passed


def test_a_search_without_return_is_told_once():
    (said,) = TASKS["Method 2"][0](lambda g, level: None).wrong
    assert said == "Your function returns None: is `return` missing?"


def test_the_largest_score_is_not_taken_for_ties_that_were_removed():
    assert "do not remove repeated ones" not in repr(
        TASKS["split conformal"][0](lambda s, p: s.max())
    )
