"""The split inside `GT2Regressor.fit_calibrate`: which rows calibrate, and are not trained on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gt2lite._validation import IntArray, between, read_seed
from gt2lite.calibration.base import plain_fraction

DEFAULT_COVERAGE = 0.9
"""Coverage of prediction intervals if none is requested."""

FEWEST_TRAINED = 10
"""Rows that training needs to be worth its name."""


class Split(NamedTuple):
    """The rows of a table in two parts, each in rising order, and a line about them."""

    trained: IntArray
    calibrated: IntArray
    words: str


def draw_split(
    n_rows: int,
    share: float,
    random_state: Any,
    labels: Sequence[str | int] | None = None,
    *,
    sides: str = "both",
    tails: tuple[float, float] | None = None,
    pool: bool = False,
) -> Split:
    """Return a split of so many rows, drawn at random.

    Args:
        n_rows: how many rows there are.
        share: the share of them that calibrates; of each group, where there are groups.
        random_state: the seed, as that of the estimator.
        labels: the group of each row.
        sides: how the calibration will be, which decides how many rows it needs.
        tails: likewise, the shares of the misses below and above.
        pool: whether a group may do with fewer rows of its own than that.

    >>> split = draw_split(40, 0.25, 0)
    >>> split.trained.size, split.calibrated.size, split.words
    (30, 10, '40 rows: 30 to train on, 10 to calibrate on (share=0.25, random_state=0)')
    """
    seed = read_seed(random_state)
    rng = np.random.default_rng([1, seed] if isinstance(seed, int) else seed)
    share, needed = between("share", share, 0, 1), fewest_calibrated(sides, tails)
    groups: dict[str | int | None, list[int]] = {}
    for i, label in enumerate([None] * n_rows if labels is None else labels):
        groups.setdefault(label, []).append(i)
    chosen = []
    for label, rows in groups.items():
        n = max(round(share * len(rows)), 1)
        if n < needed and not (pool and label is not None):
            raise ValueError(_too_few(label, len(rows), n, needed, share))
        chosen.append(rng.permutation(rows)[:n])
    found: IntArray = np.sort(np.concatenate(chosen))
    if found.size < needed:  # many small groups have it together, few do not
        raise ValueError(_too_few(None, n_rows, found.size, needed, share))
    if n_rows - found.size < FEWEST_TRAINED:
        raise ValueError(
            f"share={share:g} of {n_rows} rows leaves {n_rows - found.size} to train on, and "
            f"at least {FEWEST_TRAINED} are needed: use a smaller share or more rows"
        )
    by = "" if labels is None else f", from each of {len(groups)} groups"
    words = (
        f"{n_rows} rows: {n_rows - found.size} to train on, {found.size} to calibrate on{by} "
        f"(share={share:g}, random_state={random_state!r})"
    )
    return Split(np.delete(np.arange(n_rows), found), found, words)


def fewest_calibrated(sides: str = "both", tails: tuple[float, float] | None = None) -> int:
    """Return how many rows a conformal calibration needs to answer the usual coverage.

    >>> fewest_calibrated(), fewest_calibrated("each"), fewest_calibrated("each", (0.2, 0.8))
    (9, 19, 49)
    """
    miss = 1 - plain_fraction(DEFAULT_COVERAGE)
    if tails is not None:
        miss *= min(plain_fraction(share) for share in tails if share)
    elif sides == "each":
        miss /= 2
    return math.ceil(1 / miss) - 1


def _too_few(label: str | int | None, n_rows: int, n: int, needed: int, share: float) -> str:
    whose = "there are" if label is None else f"group {label!r} has"
    told = (
        f"{whose} {n_rows} rows, of which share={share:g} leaves {n} to calibrate on; a coverage "
        f"of {DEFAULT_COVERAGE:g} needs {needed}: use at least {math.ceil(needed / share)} rows"
    )
    if needed < n_rows - FEWEST_TRAINED:
        told += f", a share of {math.ceil(100 * needed / n_rows) / 100:g}"
    if label is not None:
        told += ', join small groups, or take small_groups="pool"'
    return told + ". Or choose the rows yourself and call fit and calibrate"
