"""Typical mistakes in the lab: each fails, and the check says what is wrong in words that fit."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from test_lab import TASKS, membership, method_2, split_conformal, type_reduce

from gt2lite.calibration import CoverageError, rank
from gt2lite.reduction import karnik_mendel

# Typical mistakes, and the words that name them


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


def ends_swapped(f_lower, f_upper, y):
    """The smallest consequents with the lower firing: the paper's misprint."""
    order = np.argsort(y)
    low, up, y = f_lower[order], f_upper[order], y[order]
    rules = np.arange(len(y))
    means = [
        [np.average(y, weights=np.where(rules < k, first, then)) for k in range(1, len(y))]
        for first, then in ((low, up), (up, low))
    ]
    return min(means[0]), max(means[1])


def without_sorting(f_lower, f_upper, y):
    rules = np.arange(len(y))
    ends = [
        [np.average(y, weights=np.where(rules < k, first, then)) for k in range(len(y) + 1)]
        for first, then in ((f_upper, f_lower), (f_lower, f_upper))
    ]
    return min(ends[0]), max(ends[1])


def only_inner_switches(f_lower, f_upper, y):
    """Rules switch at their own mean once, and no further."""
    mean = np.average(y, weights=f_lower + f_upper)
    below = y <= mean
    return (
        np.average(y, weights=np.where(below, f_upper, f_lower)),
        np.average(y, weights=np.where(below, f_lower, f_upper)),
    )


def in_place(x, c, sigma, M):
    x -= c
    return np.exp(-(x**2) / (2 * M * sigma**2))


def misprinted(f_lower, f_upper, y, inner=0):
    """Both ends with the lower firing first, as the paper prints its Eq. (8)."""
    order = np.argsort(y)
    low, up, y = f_lower[order], f_upper[order], y[order]
    switches = range(inner, len(y) + 1 - inner)
    means = [np.average(y, weights=[*low[:k], *up[k:]]) for k in switches]
    return min(means), max(means)


def without_ties(f_lower, f_upper, y):
    y, first = np.unique(y, return_index=True)
    return type_reduce(f_lower[first], f_upper[first], y)


def sorted_in_place(f_lower, f_upper, y):
    order = np.argsort(y)
    for part in (f_lower, f_upper, y):
        part[:] = part[order]
    return type_reduce(f_lower, f_upper, y)


def for_ever(*arguments):
    for i in itertools.count():
        i += 1


def ranked(scores, k):
    return np.inf if k > len(scores) else np.sort(scores)[k - 1]


def search(g, level, start=0.4, near=0.0005, stop=1e-4, rounds=1000):
    """Method 2 with settings of one's own."""
    alpha, step = start, 0.1
    for _ in range(rounds):
        if abs(g(alpha) - level) < near or step < stop:
            break
        sides = [max(alpha - step, 0.01), min(alpha + step, 1.0)]
        best = min(sides, key=lambda side: abs(g(side) - level))
        if abs(g(best) - level) < abs(g(alpha) - level):
            alpha = best
        else:
            step /= 2
    return alpha


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


def bisection(g, level):
    low, high = 0.01, 1.0
    while high - low > 1e-5:
        middle = (low + high) / 2
        low, high = (middle, high) if g(middle) >= level else (low, middle)
    return low


def gives_up(g, level, returned):
    alpha = search(g, level)
    return alpha if abs(g(alpha) - level) < 0.0005 else returned


MISTAKES = {
    "no 2": ("membership", lambda x, c, s, M: np.exp(-((x - c) ** 2) / (M * s**2)), "the 2 in"),
    "no square of sigma": (
        "membership",
        lambda x, c, s, M: np.exp(-((x - c) ** 2) / (2 * M * s)),
        "sigma must be squared",
    ),
    "no square of the distance": (
        "membership",
        lambda x, c, s, M: np.exp(-(x - c) / (2 * M * s**2)),
        "x - c must be squared",
    ),
    "no minus": (
        "membership",
        lambda x, c, s, M: np.exp((x - c) ** 2 / (2 * M * s**2)),
        "minus sign is missing",
    ),
    "no M": (
        "membership",
        lambda x, c, s, M: np.exp(-((x - c) ** 2) / (2 * s**2)),
        "M is missing",
    ),
    "a triangle": (
        "membership",
        lambda x, c, s, M: np.maximum(1 - abs(x - c) / s, 0),
        "the grade is 0.6065, yours 0.0000",
    ),
    "a density": (
        "membership",
        lambda x, c, s, M: membership(x, c, s, M) / np.sqrt(2 * np.pi) / s,
        "At its centre the grade must be 1",
    ),
    "one grade for all": (
        "membership",
        lambda x, c, s, M: math.exp(-((np.ravel(x)[0] - c) ** 2) / (2 * M * s**2)),
        "an array of 5 grades, not 0.3",
    ),
    "math.exp": (
        "membership",
        lambda x, c, s, M: math.exp(-((x - c) ** 2) / (2 * M * s**2)),
        "math.exp does not",
    ),
    "a list of grades": (
        "membership",
        lambda x, c, s, M: list(g) if np.ndim(g := membership(x, c, s, M)) else g,
        "an array of 5 grades, not [",
    ),
    "x changed in place": ("membership", in_place, "changes the array x"),
    "rounded": (
        "membership",
        lambda x, c, s, M: np.round(membership(x, c, s, M), 4),
        "the grade is 0.606531, yours 0.606500",
    ),
    "one mean": (
        "type reduction",
        lambda lo, up, y: np.average(y, weights=lo + up),
        "two numbers",
    ),
    "other way round": (
        "type reduction",
        lambda lo, up, y: type_reduce(lo, up, y)[::-1],
        "The lower end must come first",
    ),
    "swapped firings": ("type reduction", ends_swapped, "take the UPPER firing"),
    "the misprint": ("type reduction", misprinted, "as the paper misprints it"),
    "the misprint, inner switches": (
        "type reduction",
        lambda lo, up, y: misprinted(lo, up, y, inner=1),
        "as the paper misprints it",
    ),
    "one end only": (
        "type reduction",
        lambda lo, up, y: (type_reduce(lo, up, y)[0], np.average(y, weights=lo + up)),
        "One end is right. Try ALL switch points for the other one.",
    ),
    "three values": ("type reduction", karnik_mendel, "two numbers"),
    "two iterations": (
        "type reduction",
        lambda lo, up, y: karnik_mendel(lo, up, y, max_iterations=2)[:2],
        "small lower firings",
    ),
    "equal consequents dropped": ("type reduction", without_ties, "equal consequents"),
    "two rules at least": (
        "type reduction",
        lambda lo, up, y: type_reduce(lo, up, y) if len(y) > 1 else (0.0, 0.0),
        "With a single rule both ends must be its consequent",
    ),
    "sorting in place": ("type reduction", sorted_in_place, "changes the arrays"),
    "an endless loop": ("type reduction", for_ever, "does not end"),
    "type 1": (
        "type reduction",
        lambda lo, up, y: (np.average(y, weights=lo), np.average(y, weights=up)),
        "not right yet",
    ),
    "divided by the wrong sum": (
        "type reduction",
        lambda lo, up, y: (np.sum(lo * y) / np.sum(up), np.sum(up * y) / np.sum(lo)),
        "Divide by the sum of the same weights",
    ),
    "no sorting": ("type reduction", without_sorting, "Sort the consequents first"),
    "one iteration": ("type reduction", only_inner_switches, "Among random cases"),
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
    "endless": ("Method 2", lambda g, level: method_2(g, level, stop=0), "does not end"),
    "out of range": ("Method 2", unbounded, "there is no plane"),
    "the worse side": ("Method 2", outward, "a smaller alpha covers more"),
    "a step that stays": ("Method 2", stuck, "shrink the step"),
    "equal counts as nearer": ("Method 2", moves_on_equal, "strictly nearer"),
    "no exit and no smaller step": ("Method 2", stands_still, "or it never halves its step"),
    "a loop that asks nothing": ("Method 2", lambda g, level: for_ever(), "does not end"),
    "recursion": ("Method 2", recursive, "Stop also when the step is below 0.0001"),
    "too few rounds": ("Method 2", lambda g, p: search(g, p, rounds=10), "stops too early"),
    "a large tolerance": ("Method 2", lambda g, p: search(g, p, near=0.005), "stops too early"),
    "a large last step": ("Method 2", lambda g, p: search(g, p, stop=0.01), "stops too early"),
    "another start": (
        "Method 2",
        lambda g, p: search(g, p, start=0.5),
        "looks at 0.5, 0.4, 0.6 first",
    ),
    "the start at the end": (
        "Method 2",
        lambda g, p: search(g, p, start=0.01),
        "this task asks for Method 2",
    ),
    "bisection": ("Method 2", bisection, "this task asks for Method 2"),
    "None at the end": ("Method 2", lambda g, p: gives_up(g, p, None), "your search returns None"),
    "nan at the end": ("Method 2", lambda g, p: gives_up(g, p, math.nan), "search returns nan"),
    "-1 at the end": ("Method 2", lambda g, p: gives_up(g, p, -1), "worse than the start"),
    "a fine grid": ("Method 2", closest, "looks at 1000 planes"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_typical_mistake_fails_and_is_named(name):
    task, function, words = MISTAKES[name]
    verdict = TASKS[task][0](function)
    assert not verdict.passed
    assert words in repr(verdict)


NO_NUMBERS = {
    "None": (None, "Your function returns None: is `return` missing?"),
    "a list": ([1.0], "Your function returns a list: return a number."),
    "a tuple": ((1.0,), "Your function returns a tuple: return a number."),
    "an array": (np.array([1.0]), "Your function returns an array: return a number."),
    "nan": (math.nan, "Your function returns nan, which is no number"),
    "text": ("1", "Your function returns the text '1': return a number, no text."),
    "True": (True, "Your function returns a bool: return a number."),
}


@pytest.mark.parametrize("task", ["membership", "split conformal"])
@pytest.mark.parametrize("kind", NO_NUMBERS)
def test_what_is_no_number_is_told_once_and_as_what_it_is(task, kind):
    value, words = NO_NUMBERS[kind]
    (said,) = TASKS[task][0](lambda *arguments: value).wrong
    assert said.startswith(words)


@pytest.mark.parametrize("value", [1.0, (1.0,), (1.0, 2.0, 3.0), np.ones((2, 1)), "12", {1: 2}])
def test_a_type_reduction_that_is_not_two_numbers_is_told_once(value):
    (said,) = TASKS["type reduction"][0](lambda *arguments: value).wrong
    assert "two numbers" in said


@pytest.mark.parametrize(("value", "words"), [(None, "None"), ((1.0, math.nan), "nan")])
def test_ends_that_are_none_or_nan_are_told_as_such(value, words):
    (said,) = TASKS["type reduction"][0](lambda *arguments: value).wrong
    assert said.startswith(f"Your function returns {words}")


@pytest.mark.parametrize("error", [ValueError, RuntimeError, CoverageError])
def test_a_search_may_raise_an_error_where_it_gives_up(error):
    def search_or_error(g, level):
        alpha = search(g, level)
        if abs(g(alpha) - level) >= 0.0005:
            raise error("no plane comes near enough")
        return alpha

    assert TASKS["Method 2"][0](search_or_error).passed


def test_a_slip_where_a_search_gives_up_is_told():
    def slip(g, level):
        alpha = search(g, level)
        return alpha if abs(g(alpha) - level) < 0.0005 else alhpa  # noqa: F821

    assert "stops with NameError" in repr(TASKS["Method 2"][0](slip))


@pytest.mark.parametrize("task", TASKS)
def test_single_precision_or_an_array_without_axes_will_do(task):
    check, function = TASKS[task]

    def single(*arguments):
        return np.float32(function(*arguments))

    assert check(single).passed or task == "Method 2"
    assert check(lambda *arguments: np.asarray(function(*arguments))).passed


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
