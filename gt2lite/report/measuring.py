"""What the page shows about a model, measured on test rows that it has never seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gt2lite._validation import Array
from gt2lite.report.columns import Columns
from gt2lite.report.fitting import rank
from gt2lite.report.reading import Frame

LAW = 0.95  # the share of all draws that a band holds
_IMPORTANCE_ROWS = 500
_REPEATS = 3


class Accuracy(NamedTuple):
    """How far predictions are off, and how wide intervals are at each level."""

    name: str
    rmse: float
    mae: float
    r2: float
    widths: list[float]
    coverages: list[float]


class Coverage(NamedTuple):
    """How many of the test rows lie in their intervals, and how many could by luck alone."""

    level: float
    n_rows: int
    n_covered: int
    low: float  # of the share, where the promise holds
    high: float
    width: float  # mean
    median_width: float

    @property
    def share(self) -> float:
        """The share of rows covered."""
        return self.n_covered / self.n_rows

    @property
    def verdict(self) -> str:
        """Whether luck explains the difference."""
        if self.share < self.low:
            return "too low"
        return "more than promised" if self.share > self.high else "as promised"


class Region(NamedTuple):
    """Coverage and width among some of the rows."""

    what: str
    where: str
    n_rows: int
    share: float
    low: float
    high: float
    width: float


def accuracy(name: str, y: Array, y_hat: Array, lower: Array, upper: Array) -> Accuracy:
    """Return the accuracy of predictions (N,), with intervals (N, L)."""
    error = y - y_hat
    spread = float(np.mean((y - y.mean()) ** 2))
    mse = float(np.mean(error**2))
    r2 = 1 - mse / spread if spread > 0 else float("nan")
    covered = (lower <= y[:, None]) & (y[:, None] <= upper)
    return Accuracy(
        name,
        float(np.sqrt(mse)),
        float(np.mean(np.abs(error))),
        r2,
        (upper - lower).mean(axis=0).tolist(),
        covered.mean(axis=0).tolist(),
    )


def lucky_range(level: float, n_cal: int, n_test: int) -> tuple[float, float]:
    """Return between which shares coverage lies in 95 % of all draws of the rows.

    With exchangeable rows the number of covered ones among `n_test` is Beta-binomial with
    k and n_cal + 1 - k, where k is the conformal rank among `n_cal` calibration rows.

    >>> low, high = lucky_range(0.9, 1000, 1000)
    >>> round(low, 2), round(high, 2)
    (0.87, 0.93)
    """
    k = min(n_cal, rank(level, n_cal))
    a, b, j = k, n_cal + 1 - k, np.arange(n_test)
    # ratios of neighbouring probabilities, so that no gamma function is needed
    ratios = np.log((n_test - j) * (a + j)) - np.log((j + 1.0) * (b + n_test - j - 1.0))
    logs = np.concatenate([[0.0], np.cumsum(ratios)])
    weights = np.exp(logs - logs.max())
    law = np.cumsum(weights) / weights.sum()
    tail = (1 - LAW) / 2
    low, high = np.searchsorted(law, tail), np.searchsorted(law, 1 - tail)
    return float(low) / n_test, float(high) / n_test


def coverages(
    y: Array, lower: Array, upper: Array, levels: Sequence[float], n_cal: int
) -> list[Coverage]:
    """Return the coverage at each level of intervals (N, L)."""
    result = []
    for i, level in enumerate(levels):
        covered = (lower[:, i] <= y) & (y <= upper[:, i])
        widths = upper[:, i] - lower[:, i]
        low, high = lucky_range(level, n_cal, len(y))
        result.append(
            Coverage(
                float(level),
                len(y),
                int(covered.sum()),
                low,
                high,
                float(widths.mean()),
                float(np.median(widths)),
            )
        )
    return result


def importance(
    predict: Any, X: Frame, y: Array, columns: Columns, seed: int
) -> list[tuple[str, float]]:
    """Return by how much the error grows, in per cent, when a column is shuffled, most first.

    All numbers of a column are shuffled together, three times, among 500 rows at most.
    """
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(X))[:_IMPORTANCE_ROWS]
    X, y = X.iloc[rows], y[rows]

    def rmse(inputs: Frame) -> float:
        return float(np.sqrt(np.mean((y - predict(inputs)) ** 2)))

    base = rmse(X)
    result = []
    for name, places in columns.places().items():
        rises = []
        for _ in range(_REPEATS):
            shuffled = X.copy()
            mixed = rng.permutation(len(X))
            shuffled.iloc[:, places] = X.iloc[mixed, places].to_numpy()
            rises.append(rmse(shuffled) - base)
        result.append((name, 100 * float(np.mean(rises)) / base if base > 0 else 0.0))
    return sorted(result, key=lambda item: -item[1])


def regions(
    parts: dict[str, Any], covered: Any, width: Array, level: float, n_cal: int
) -> list[Region]:
    """Return coverage by thirds of numbers, and by values of everything else.

    Args:
        parts: what to go by -> a value for each row (N,).
        covered: whether each row (N,) lies in its interval.
        width: of each interval (N,).
        level: the level.
        n_cal: number of calibration rows, for the range of luck.
    """
    result = []
    for what, values in parts.items():
        for where, mask in _pieces(np.asarray(values)):
            n = int(mask.sum())
            if n:
                low, high = lucky_range(level, n_cal, n)
                share, mean = float(covered[mask].mean()), float(width[mask].mean())
                result.append(Region(what, where, n, share, low, high, mean))
    return result


def _pieces(values: Array, most: int = 15) -> list[tuple[str, Array]]:
    """Return masks of the thirds of numbers, or of the most frequent values."""
    if values.dtype.kind == "f":
        if len(np.unique(values)) > 3:
            first, second = np.quantile(values, [1 / 3, 2 / 3])
            return [
                (f"up to {first:.4g}", values <= first),
                (f"{first:.4g} to {second:.4g}", (values > first) & (values <= second)),
                (f"above {second:.4g}", values > second),
            ]
        return [(f"{v:.4g}", values == v) for v in np.unique(values)]
    text = values.astype(str)
    names, counts = np.unique(text, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:most]
    return [(str(names[i]), text == names[i]) for i in order]


ENOUGH_GROUPS = 20
"""With fewer groups that calibrate, or that judge, the report warns."""


def look_alikes(frame: Frame, columns: Columns, groups: str | None, time: str | None) -> list[str]:
    """Return warnings of columns that look like an order in time, or like groups."""
    result = []
    for column in columns.columns:
        name = column.name
        if column.kind == "date" and time is None:
            result.append(
                f"Column {name!r} holds dates. If new rows come later than these, coverage "
                f"measured on rows drawn at random is too hopeful: try --time {name!r}."
            )
        elif groups is None and name != time and "with repeats" in column.fate:
            result.append(
                f"Column {name!r} looks like an identifier that repeats "
                f"({frame[name].nunique():,} values in {len(frame):,} rows). If rows of one of "
                f"them are alike, and new rows come from new ones: try --groups {name!r}."
            )
        elif groups is None and column.kind == "text" and not column.used:
            n = frame[name].nunique()
            if n < 0.7 * frame[name].notna().sum():
                result.append(
                    f"The texts of column {name!r} repeat ({n:,} values): if they name groups, "
                    f"try --groups {name!r}."
                )
    return result


def few_groups(labels: Any, parts: Sequence[Any]) -> list[str]:
    """Return a warning where few groups calibrate or judge: then rows say less than they seem to.

    Args:
        labels: the group of each row (N,).
        parts: positions of the rows that train, calibrate and judge.

    >>> rows = np.arange(30)
    >>> few_groups(rows // 3, (rows[:18], rows[18:24], rows[24:]))[0][:51]
    'Of 10 groups 6 train, 2 calibrate and 2 judge. Rows'
    """
    labels = np.asarray(labels)
    train, calibrate, judge = (len(set(labels[rows].tolist())) for rows in parts)
    if min(calibrate, judge) >= ENOUGH_GROUPS:
        return []
    return [
        f"Of {train + calibrate + judge} groups {train} train, {calibrate} calibrate and {judge} "
        "judge. Rows of a group are alike, so it is groups that count: nothing is promised for a "
        "new group, and the measured coverage would be another with other groups. More groups "
        "help; more rows of the same groups do not."
    ]
