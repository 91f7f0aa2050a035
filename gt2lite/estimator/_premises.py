"""Sets in words: where a rule is meant for each input, in the user's units."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from gt2lite._checks import Array
from gt2lite.datasets import Scaler
from gt2lite.memberships import secondary
from gt2lite.system import Params, constrain

MATTERS = 0.9
"""An input matters in a rule if its membership falls below this share of its largest value."""

_FEW_VALUES = 5  # a column of so many different values is listed, not given as a range


class Units(NamedTuple):
    """What is needed to speak of inputs and target in the user's terms."""

    names: tuple[str, ...]
    target: str
    scaler: Scaler

    def number(self, m: int, value: float) -> str:
        """Return a value of input `m`, with as many digits as its spread asks for."""
        return fixed(value, float(self.scaler.x_std[m]), 2)

    def output(self, value: float) -> str:
        """Return a value of the target, with as many digits as its spread asks for."""
        return fixed(value, self.scaler.y_std, 3)


def fixed(value: float, spread: float, digits: int) -> str:
    """Return a number with so many digits of its spread.

    >>> fixed(12.3456, spread=7.4, digits=2), fixed(1013.2, spread=60.0, digits=2)
    ('12.3', '1013')
    """
    decimals = max(digits - 1 - math.floor(math.log10(spread)), 0)
    if decimals > 8 or abs(value) >= 1e9:
        return f"{value:.{digits + 1}g}"
    return f"{round(value, decimals) + 0.0:.{decimals}f}"


class Premise(NamedTuple):
    """One input in a rule: where the rule is meant for it, in the units of the input.

    `low` to `high` is where the membership is at least half of its largest value `peak`,
    among the values that were seen. `least` is the smallest membership there, as a share of
    the largest; `footprint` how uncertain the set is: the mean width of its widest plane between
    `low` and `high`, 0 for an ordinary set and 1 for one that says nothing.
    """

    input: str
    words: str
    low: float
    high: float
    peak: float
    least: float
    footprint: float
    tends: str  # the words, also where the input does not matter by itself

    @property
    def matters(self) -> bool:
        """Whether the rule fires noticeably less at some value of this input that was seen."""
        return self.least < MATTERS

    def __str__(self) -> str:
        return f"{self.input} {self.words} [{self.footprint:.2f}]"


def read_premises(params: Params, units: Units, X: Array | None) -> list[tuple[Premise, ...]]:
    """Return the premises of every rule, from scaled sets and scaled rows."""
    c, sigma, s_l, s_r, _ = constrain(params)
    M = c.shape[1]
    low, high = np.full(M, -2.0), np.full(M, 2.0)
    if X is not None:
        low, high = np.quantile(X, [0.025, 0.975], axis=0)
    listed = [None if X is None else _few_values(X[:, m]) for m in range(M)]
    for m, values in enumerate(listed):
        if values is not None:  # a rare category counts, too
            low[m], high[m] = values[0], values[-1]

    def log_mu(z: Array) -> Array:
        return -((z - c) ** 2) / (2 * M * sigma**2)

    peak = np.clip(c, low, high)
    least = np.exp(np.minimum(log_mu(low), log_mu(high)) - log_mu(peak))
    reach = np.sqrt((peak - c) ** 2 + 2 * M * sigma**2 * math.log(2))
    start, stop = np.maximum(c - reach, low), np.minimum(c + reach, high)
    grid = np.linspace(0, 1, 51)[:, None, None]
    lower, upper = secondary(np.exp(log_mu(start + grid * (stop - start))), 1.0, s_l, s_r)
    footprint = (upper - lower).mean(axis=0)
    cut = start > low, stop < high

    def premise(p: int, m: int) -> Premise:
        mean, std = units.scaler.x_mean[m], units.scaler.x_std[m]
        ends = float(mean + std * start[p, m]), float(mean + std * stop[p, m])
        best = float(mean + std * peak[p, m])
        place = float(peak[p, m] - low[m]) / (float(high[m] - low[m]) or 1.0)
        texts = units.number(m, ends[0]), units.number(m, ends[1]), units.number(m, best)
        tends = _words(texts, (bool(cut[0][p, m]), bool(cut[1][p, m])), place)
        values = listed[m]
        if values is not None:
            inside = values[(start[p, m] <= values) & (values <= stop[p, m])]
            if 0 < len(inside) < len(values):
                plain = (f"{round(float(mean + std * v), 9) + 0.0:.6g}" for v in inside)
                tends = f"= {' or '.join(plain)}"
        words = tends if least[p, m] < MATTERS else "any"
        measures = float(least[p, m]), float(footprint[p, m])
        return Premise(units.names[m], words, *ends, best, *measures, tends)

    return [tuple(premise(p, m) for m in range(M)) for p in range(len(c))]


def _words(texts: tuple[str, str, str], cut: tuple[bool, bool], place: float) -> str:
    """Return a range in words, from its ends and peak, which ends are real, and where it peaks."""
    low, high, peak = texts
    if all(cut):
        return f"about {low} to {high}"
    if any(cut):
        return f"above {low}" if cut[0] else f"below {high}"
    if 1 / 3 <= place <= 2 / 3:
        return f"rather near {peak}"
    return "rather low" if place < 1 / 3 else "rather high"


def _few_values(column: Array) -> Array | None:
    """Return the values of a column that has a few different ones, such as 0 and 1."""
    values = np.unique(column)
    return values if len(values) <= _FEW_VALUES else None
