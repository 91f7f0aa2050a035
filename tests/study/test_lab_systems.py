"""Mistakes in a membership and a type reduction: each fails, in words that name it."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from test_lab import TASKS, assert_named, membership, type_reduce

from gt2lite.reduction import karnik_mendel


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


MISTAKES = {
    "no 2": ("membership", lambda x, c, s, M: np.exp(-((x - c) ** 2) / (M * s**2)), "the 2 in"),
    "no parentheses": (
        "membership",
        lambda x, c, s, M: np.exp(-((x - c) ** 2) / 2 * M * s**2),
        "the whole denominator needs parentheses",
    ),
    "a power as in mathematics": (
        "membership",
        lambda x, c, s, M: np.exp(-((x - c) ^ 2) / (2 * M * s ^ 2)),
        "A power is ** in Python, not ^.",
    ),
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
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_typical_mistake_fails_and_is_named(name):
    assert_named(*MISTAKES[name])


@pytest.mark.parametrize("value", [1.0, (1.0,), (1.0, 2.0, 3.0), np.ones((2, 1)), "12", {1: 2}])
def test_a_type_reduction_that_is_not_two_numbers_is_told_once(value):
    (said,) = TASKS["type reduction"][0](lambda *arguments: value).wrong
    assert "two numbers" in said


@pytest.mark.parametrize(("value", "words"), [(None, "None"), ((1.0, math.nan), "nan")])
def test_ends_that_are_none_or_nan_are_told_as_such(value, words):
    (said,) = TASKS["type reduction"][0](lambda *arguments: value).wrong
    assert said.startswith(f"Your function returns {words}")
