"""From the records of the field to tables: values by contestant and data set, means, the best.

Contestants stand in the order of `gt2lite.study.field.contestants`; one that is added there appears
here by itself. What the records are, see `gt2lite.study.field.records`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

import numpy as np

from gt2lite._checks import Array
from gt2lite.study.field.boosted import Boosted
from gt2lite.study.field.contestant import Contestant
from gt2lite.study.field.contestants import CONTESTANTS
from gt2lite.study.field.fuzzy import Direct, System
from gt2lite.study.field.pairs import paired
from gt2lite.study.field.point import Point
from gt2lite.study.field.records import FieldRecord

Values = dict[str, dict[str, Array]]
"""Contestant, data set, and one number for each seed (seeds,)."""


def title(name: str) -> str:
    """Return what a contestant is called in tables and figures.

    >>> title("gb_cqr")
    'boosted quantiles'
    """
    return CONTESTANTS[name].title


def is_fuzzy(name: str) -> bool:
    """Return whether a contestant is a fuzzy system.

    >>> is_fuzzy("paper"), is_fuzzy("gb_cqr")
    (True, False)
    """
    return CONTESTANTS[name].is_fuzzy


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
    return [Who(title(name), *_told(CONTESTANTS[name])) for name in names]


def _told(contestant: Contestant) -> tuple[str, str, str]:
    plane, margin = "a plane, chosen by `conformal`", "and one margin for all rows"
    look, training = "a look at a sorted list", "another training"
    if isinstance(contestant, Boosted) and contestant.learns == "mean":
        return "the mean, by boosted trees", f"the mean {margin}", look
    if not contestant.is_fuzzy:
        kind = "by boosted trees" if isinstance(contestant, Boosted) else "linear in the inputs"
        return f"two quantiles, {kind}", f"the two {margin}", "two more trainings"
    if isinstance(contestant, Direct):
        if contestant.calibrated:
            return "the level asked for", plane, training
        learns = "the same on 85 % of the rows, as in the paper"
        return learns, "the widest plane as it is", training
    assert isinstance(contestant, System | Point)
    recipe = contestant.recipe
    what = f"{100 * recipe.coverage:.0f} % for the widest plane"
    if recipe.objective == "aligned":
        what = "a coverage of its own for every plane"
    interval = f"the output {margin}" if isinstance(contestant, Point) else plane
    return f"{what}; {recipe.n_rules} rules", interval, look


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
        for name in CONTESTANTS
        if name in found
    }


def best_of(values: Values, dataset: str, names: Collection[str] | None = None) -> str:
    """Return which of some contestants has the smallest mean on a data set."""
    there = [
        name for name in values if dataset in values[name] and (names is None or name in names)
    ]
    return min(there, key=lambda name: float(values[name][dataset].mean()))


class Gap(NamedTuple):
    """The best fuzzy system of a data set against the best of the others."""

    dataset: str
    ours: str
    theirs: str
    percent: float  # by which ours is larger
    half: float  # of the 95 % interval of that
    p: float
    verdict: str  # "less", "more" or "undecided", see `gt2lite.study.field.pairs`


def gaps(rows: Iterable[FieldRecord], metric: str, *, level: float = 0.90) -> list[Gap]:
    """Return for each data set how the best fuzzy system compares with the best of the others.

    Both are picked by the numbers that are compared here, which flatters both a little.
    """
    rows = [row for row in rows if row.level == level]
    values = values_of(rows, metric, level=level)
    fuzzy = [name for name in values if is_fuzzy(name)]
    others = [name for name in values if not is_fuzzy(name)]
    found = []
    for dataset in dict.fromkeys(row.dataset for row in rows):
        ours, theirs = best_of(values, dataset, fuzzy), best_of(values, dataset, others)
        here = [row for row in rows if row.dataset == dataset]
        (pair,) = paired(here, ours, theirs, metric)
        half = 100 * pair.half / float(values[theirs][dataset].mean())
        found.append(Gap(dataset, ours, theirs, pair.percent, half, pair.p, pair.verdict))
    return found


def forest_rows(
    rows: Iterable[FieldRecord],
    names: Collection[str],
    rival: str,
    metric: str,
    *,
    level: float = 0.90,
) -> dict[str, dict[str, tuple[float, float]]]:
    """Return by how many per cent contestants exceed a rival, for `gt2lite.plots.forest`.

    For each data set and contestant: the mean difference over the seeds, and half of its
    95 % interval, both in per cent of the rival's mean.
    """
    rows = [row for row in rows if row.level == level]
    found: dict[str, dict[str, tuple[float, float]]] = {}
    for name in names:
        for pair in paired(rows, name, rival, metric):
            half = abs(pair.half * pair.percent / pair.mean) if pair.mean else 0.0
            found.setdefault(pair.dataset.upper(), {})[title(name)] = pair.percent, half
    return found
