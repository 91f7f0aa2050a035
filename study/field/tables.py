"""From the records of the field to tables: values by contestant and data set, means, the best.

Contestants stand in the order of `study.field.contestants`; one that is added there appears
here by itself. What the records are, see `study.field.records`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

import numpy as np

from gt2lite._validation import Array
from study.field.contestants import CONTESTANTS, everyone
from study.field.records import FieldRecord

Values = dict[str, dict[str, Array]]
"""Contestant, data set, and one number for each seed (seeds,)."""


def title(name: str) -> str:
    """Return what an answer is called in tables and figures.

    >>> title("gb_cqr"), title("paper_constant")
    ('boosted quantiles', 'GT2-FLS, constant margin')
    """
    return everyone()[name].answer_names()[name]


def is_fuzzy(name: str) -> bool:
    """Return whether an answer is that of a fuzzy system.

    >>> is_fuzzy("paper"), is_fuzzy("gb_cqr")
    (True, False)
    """
    return everyone()[name].is_fuzzy


def printed(table: str) -> str:
    """Return a table's name as it is printed.

    >>> printed("boom_bikes"), printed("ww")
    ('boom bikes', 'WW')
    """
    return table.upper() if len(table) <= 2 or table == "aids" else table.replace("_", " ")


class Who(NamedTuple):
    """A contestant in words: what it learns, and where its intervals come from."""

    title: str
    learns: str
    interval: str
    further: str  # what a further level needs


def who(names: Iterable[str]) -> list[Who]:
    """Return contestants in words.

    >>> who(["gb_split"])[0].learns
    'the mean, by boosted trees'
    """
    return [Who(title(name), *CONTESTANTS[name].told) for name in names]


def values_of(
    rows: Iterable[FieldRecord], metric: str, *, level: float = 0.90, split: str = "random"
) -> Values:
    """Return a metric by contestant and data set, a number for each seed in rising order."""
    found: dict[str, dict[str, dict[int, float]]] = {}
    for row in rows:
        value = getattr(row, metric)
        if row.level == level and row.split == split and value is not None:
            of_one = found.setdefault(row.contestant, {})
            of_one.setdefault(row.dataset, {})[row.seed] = value
    return {
        name: {
            dataset: np.array([by_seed[seed] for seed in sorted(by_seed)])
            for dataset, by_seed in found[name].items()
        }
        for name in everyone()
        if name in found
    }


def best_of(values: Values, dataset: str, names: Collection[str] | None = None) -> str:
    """Return which of some contestants has the smallest mean on a data set."""
    there = [
        name for name in values if dataset in values[name] and (names is None or name in names)
    ]
    return min(there, key=lambda name: float(values[name][dataset].mean()))
