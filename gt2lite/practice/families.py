"""Families of intervals around systems, compared by their interval scores on held-out rows.

A family is the planes of a system, or margins of some power around its output. `best_family`
compares them on rows that the system was not trained on (`HeldOut`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from gt2lite._validation import Array, IntArray
from gt2lite.calibration import rank
from gt2lite.memberships import alpha_of
from gt2lite.metrics import interval_score
from gt2lite.practice.margins import POWERS, Margins

LEVELS = (0.9, 0.95)  # coverages whose interval scores decide
GRID = np.asarray(alpha_of(np.linspace(0, 1, 9)))  # planes evaluated; others are interpolated
WORTH = 0.07
"""How much smaller, relatively, the score must be if each bound gets a rank of its own.

Two ranks vary more than one, the more the fewer rows calibrate, and how many is not known here.
"""


class HeldOut(NamedTuple):
    """Planes and outputs of rows that were not trained on, and their targets."""

    ends: Array  # (2, G, n) bounds of the planes `GRID`, from alpha = 1 to alpha_0
    output: Array  # (n,)
    y: Array  # (n,)
    rows: IntArray = np.arange(0)  # (n,) their numbers among the training rows, if they matter

    @classmethod
    def joined(cls, parts: Sequence[HeldOut]) -> HeldOut:
        """Return the rows of several folds, one after another."""
        return cls(*(np.concatenate(part, axis=-1) for part in zip(*parts, strict=True)))

    @classmethod
    def mean(cls, parts: Sequence[HeldOut]) -> HeldOut:
        """Return the mean of several systems at the same rows."""
        ends, output = (np.mean([one[i] for one in parts], axis=0) for i in range(2))
        return cls(ends, output, parts[0].y, parts[0].rows)


class FamilyScore(NamedTuple):
    """A family of intervals and its score."""

    score: float  # geometric mean of the interval scores at `LEVELS`
    margins: Margins | None  # None for the planes themselves
    sides: str = "both"  # or "each", for a rank of each bound


def best_family(rows: HeldOut, power: float | None = None) -> FamilyScore:
    """Return the family of intervals with the best score: planes, or margins of some power.

    At each level the interval is the one that just covers that share of these very rows, so that
    only shape and accuracy count, not how close training came to its coverage. If noise leans to
    one side, so that the score is much better (`WORTH`) where half of the misses lie on either
    side, `sides` is "each".

    Args:
        rows: rows that were not trained on.
        power: the power of the margins; None compares planes and all of `POWERS`.
    """
    scores = [_plane_score(rows)] if power is None else []
    width = rows.ends[1, -1] - rows.ends[0, -1]
    usual = float(np.mean(width)) or 1.0  # all widths may be zero
    for tried in POWERS if power is None else (power,):
        scores.append(_margin_score(rows, Margins(tried, usual), width))
    return min(scores, key=lambda one: one.score)


def _plane_score(rows: HeldOut) -> FamilyScore:
    below, above = rows.ends[0] - rows.y, rows.y - rows.ends[1]  # (G, n)
    radii = [_plane_radius(miss) for miss in (np.maximum(below, above), below, above)]
    return _score(rows.y, partial(_plane_interval, rows.ends), radii)


def _margin_score(rows: HeldOut, margins: Margins, width: Array) -> FamilyScore:
    half = margins.given(rows.output, width).half
    error = (rows.y - rows.output) / half

    def interval(radius: float) -> tuple[Array, Array]:
        return rows.output - radius * half, rows.output + radius * half

    found = _score(rows.y, interval, [np.abs(error), -error, error])
    return found._replace(margins=margins)


def _score(
    y: Array, interval: Callable[[float], tuple[Array, Array]], radii: Sequence[Array]
) -> FamilyScore:
    """Return the score of a family of nested intervals.

    Args:
        y: targets (n,).
        interval: the bounds (n,) of the intervals with some radius.
        radii: three times (n,): the radius at which each target is first covered, at which the
            lower bound is first below it, and at which the upper bound is first above it.
    """
    both, below, above = np.sort(radii, axis=1)
    scores = {"both": 0.0, "each": 0.0}  # sums of logarithms
    for level in LEVELS:
        k, k_each = rank(level, y.size), rank((1 + level) / 2, y.size)
        low, high = (interval(float(radius[k_each - 1])) for radius in (below, above))
        bounds_of = {"both": interval(float(both[k - 1])), "each": (low[0], high[1])}
        for sides, bounds in bounds_of.items():
            found = interval_score(y, *bounds, level)
            scores[sides] += math.log(max(found, np.finfo(float).tiny)) / len(LEVELS)
    sides = "each" if scores["each"] < scores["both"] + math.log(1 - WORTH) else "both"
    return FamilyScore(math.exp(scores[sides]), None, sides)


def _plane_interval(ends: Array, radius: float) -> tuple[Array, Array]:
    """Return the bounds (n,) at a radius: between planes of the grid, or beyond the last one."""
    last = ends.shape[1] - 1
    if radius >= last:
        return ends[0, last] - (radius - last), ends[1, last] + (radius - last)
    g = int(radius)
    lower, upper = ends[:, g] + (radius - g) * (ends[:, g + 1] - ends[:, g])
    return lower, upper


def _plane_radius(missing: Array) -> Array:
    """Return the radius (n,) at which each row is first covered.

    It counts planes of the grid, from 0; beyond the last one it adds units of the target.

    Args:
        missing: how far the target misses the planes of the grid (G, n); falls to 0 and below.
    """
    last = len(missing) - 1
    inside = missing <= 0
    first = np.argmax(inside, axis=0)
    before = np.maximum(first - 1, 0)
    rows = np.arange(missing.shape[1])
    short, over = missing[before, rows], -missing[first, rows]
    way = np.where(short + over > 0, short + over, 1.0)
    part = np.where(first > 0, short / way, 0.0)
    return np.where(inside.any(axis=0), before + part, last + np.maximum(missing[last], 0))
