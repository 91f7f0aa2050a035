"""Which rows train, which calibrate, and which judge: drawn, by time, or by whole groups."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gt2lite.report import kinds
from gt2lite.report.model import percent
from gt2lite.report.reading import Frame, TableError

Rows = NDArray[np.integer[Any]]

FEWEST_ROWS = 60
FEWEST_GROUPS = 6
MOST_TRAINING = 5_000
MOST_CALIBRATION = 5_000
MOST_TEST = 20_000
_TRAIN, _CALIBRATE = 0.6, 0.2


class Split(NamedTuple):
    """Positions of rows for each part, and in words how they were chosen."""

    train: Rows
    calibration: Rows
    test: Rows
    words: list[str]


def needed(level: float) -> int:
    """Return how many calibration rows a level needs for a finite interval.

    >>> needed(0.9), needed(0.95)
    (9, 19)
    """
    return math.ceil(round(level / (1 - level), 9))


def split(
    frame: Frame, levels: Sequence[float], seed: int, groups: str | None, time: str | None
) -> Split:
    """Return the parts of a table, about 60, 20 and 20 % of its rows.

    Small tables give more to calibration where the highest level needs it; of large ones parts
    are drawn.

    Raises:
        TableError: too few rows, or too few groups.
    """
    n, rng = len(frame), np.random.default_rng(seed)
    if n < FEWEST_ROWS:
        raise TableError(
            f"the table has {n} rows with a target, fewer than {FEWEST_ROWS}: too few to train, "
            "calibrate and judge; collect more rows"
        )
    want = max(needed(max(levels)), round(_CALIBRATE * n))
    if want > 0.4 * n:
        good = [level for level in levels if needed(level) <= 0.4 * n]
        raise TableError(
            f"the level {percent(max(levels))} % needs {needed(max(levels))} calibration rows, "
            f"and the table has {n} rows: leave this level out"
            + (f" (--levels {' '.join(f'{level:g}' for level in good)})" if good else "")
        )
    n_train = min(round(_TRAIN * n), n - want - max(12, n // 5))
    sizes = (n_train, want)
    if time is not None:
        order = _in_time(frame[time])
        words = [
            f"Rows in the order of {time!r}: the earliest train, the next calibrate, "
            "the latest judge."
        ]
        parts = _cut(order, sizes)
    elif groups is not None:
        parts, words = _by_groups(frame[groups], sizes, rng)
    else:
        parts = _cut(rng.permutation(n), sizes)
        words = [f"Rows drawn at random (seed {seed})."]
    return _limited(parts, words, rng, time is not None)


def _cut(order: Rows, sizes: tuple[int, int]) -> list[Rows]:
    return np.split(order, np.cumsum(sizes))


def _in_time(values: Any) -> Rows:
    kind, form = kinds.find_kind(values)
    if kind == "date":
        times = kinds.as_dates(values, form)
    elif kind == "number":
        times = kinds.as_numbers(values)
    else:
        raise TableError(f"time: column {values.name!r} holds {kind}, neither dates nor numbers")
    if times.isna().any():
        raise TableError(
            f"time: column {values.name!r} has {int(times.isna().sum()):,} missing or unreadable "
            "values; fill them in or take these rows out"
        )
    return np.argsort(times.to_numpy(), kind="stable")


def _by_groups(
    values: Any, sizes: tuple[int, int], rng: np.random.Generator
) -> tuple[list[Rows], list[str]]:
    codes, names = values.astype(object).where(values.notna(), "(missing)").factorize()
    if len(names) < FEWEST_GROUPS:
        raise TableError(
            f"groups: column {values.name!r} has {len(names)} groups, fewer than {FEWEST_GROUPS}: "
            "whole groups cannot be kept apart; leave --groups out"
        )
    order = rng.permutation(len(names))
    counts = np.bincount(codes)[order]
    ends = np.cumsum(counts)
    part = np.searchsorted(np.cumsum(sizes), ends - counts / 2)  # where most of a group lies
    part = np.clip(part, 0, 2)
    of_group = np.empty(len(names), dtype=int)
    of_group[order] = part
    parts: list[Rows] = [np.flatnonzero(of_group[codes] == k) for k in range(3)]
    if min(len(rows) for rows in parts) < 10:
        raise TableError(
            f"groups: column {values.name!r} has groups so large that a part would be left "
            "without rows; leave --groups out"
        )
    words = [
        f"Whole groups of {values.name!r} stay together: "
        + ", ".join(
            f"{(part == k).sum()} {w}" for k, w in enumerate(("train", "calibrate", "judge"))
        )
        + "."
    ]
    return parts, words


def _limited(parts: list[Rows], words: list[str], rng: np.random.Generator, in_time: bool) -> Split:
    limits = (MOST_TRAINING, MOST_CALIBRATION, MOST_TEST)
    titles = ("training", "calibration", "test")
    kept = []
    for rows, limit, title in zip(parts, limits, titles, strict=True):
        if len(rows) > limit:
            words = [*words, f"Of {len(rows):,} {title} rows {limit:,} were drawn, to save time."]
            chosen = rng.choice(len(rows), limit, replace=False)
            rows = rows[np.sort(chosen)]
        kept.append(rows if in_time else np.sort(rows))
    counts = ", ".join(f"{len(rows):,} {title}" for rows, title in zip(kept, titles, strict=True))
    return Split(kept[0], kept[1], kept[2], [*words, f"{counts} rows."])
