r"""Where a gain comes from: better estimates, adaptation to noise, or the family of intervals.

A contestant's interval score is compared with that of the boosted mean with one margin. On the
way stand two of its own ablations around the same estimates, and the logarithms of the
three ratios add up:

.. math::
    \log\frac{S_\text{planes}}{S_\text{boosted}}
    = \underbrace{\log\frac{S_\text{constant}}{S_\text{boosted}}}_\text{estimates}
    + \underbrace{\log\frac{S_\text{by width}}{S_\text{constant}}}_\text{noise}
    + \underbrace{\log\frac{S_\text{planes}}{S_\text{by width}}}_\text{family}.

The first compares two estimates, each with one margin for all rows. The second lets the margin
follow the width of the envelope, symmetric and with the same profile at every level. The third
is what planes have beyond that: sides of their own, and a profile that changes with the level.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from study.design import LEVELS
from study.field.contestant import answer_name
from study.field.public import PUBLIC
from study.field.records import FieldRecord
from study.field.tables import values_of

REFERENCE = "gb_split"
"""The boosted mean with one margin for all rows."""


PARTS = ("estimates", "noise", "family")
"""What a gain consists of."""


class Gain(NamedTuple):
    """The parts of a gain on one table: 100 times a logarithm; below 0 is good."""

    table: str
    total: float
    estimates: float
    noise: float
    family: float

    @property
    def largest(self) -> str:
        """Which part does most for, or against, the contestant."""
        return max(PARTS, key=lambda part: abs(getattr(self, part)))


def gains(rows: Iterable[FieldRecord], name: str, *, tables: Sequence[str] = PUBLIC) -> list[Gain]:
    """Return the parts of a contestant's gain, table by table; mean of both levels.

    Tables on which it did not take part, or without the reference, are left out.
    """
    rows = list(rows)
    steps = [REFERENCE, *(answer_name(name, form) for form in ("constant", "normalised", ""))]
    logs: dict[str, list[list[float]]] = {}
    for level in LEVELS:
        values = values_of(rows, "interval_score", level=level)
        for table in tables:
            if all(table in values.get(step, {}) for step in steps):
                means = [float(values[step][table].mean()) for step in steps]
                logs.setdefault(table, []).append(list(np.log(means)))
    found = []
    for table, of_levels in logs.items():
        path = 100 * np.mean(of_levels, axis=0)  # (4,)
        found.append(Gain(table, float(path[-1] - path[0]), *map(float, np.diff(path))))
    return sorted(found, key=lambda gain: -gain.total)


def mean_gain(found: Sequence[Gain]) -> Gain:
    """Return the mean of gains over tables: logarithms of geometric means."""
    total, estimates, noise, family = np.mean([gain[1:] for gain in found], axis=0)
    return Gain("mean", float(total), float(estimates), float(noise), float(family))
