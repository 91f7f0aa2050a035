"""Contestants compared in pairs, seed by seed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from study.design import TEST_OVER_TRAIN
from study.field.records import FieldRecord
from study.statistics import SIGNIFICANCE, corrected_t


class Paired(NamedTuple):
    """How much larger a metric is for one contestant than for another, over the seeds."""

    dataset: str
    level: float
    n: int  # seeds
    mean: float  # of the differences
    half: float  # of the 95 % interval of that mean
    p: float  # of a t-test against 0, both with the variance for re-splits of one table
    percent: float  # the mean difference as a share of the other's mean

    @property
    def verdict(self) -> str:
        """What the test says: "less", "more" or "undecided"."""
        if not self.p < SIGNIFICANCE:
            return "undecided"
        return "less" if self.mean < 0 else "more"


def paired(
    rows: Iterable[FieldRecord], a: str, b: str, metric: str, *, split: str = "random"
) -> list[Paired]:
    """Compare two contestants seed by seed: `metric` of `a` minus that of `b`.

    A comparison is made for each data set and level that both have. The seeds split the same rows
    anew, and the test takes account of that (`study.statistics.corrected_t`). Five seeds
    are few, so that "undecided" is no sign of equality.

    >>> from types import SimpleNamespace as Row
    >>> rows = [Row(dataset="pp", split="random", seed=s, contestant=c, level=0.9, rmse=v)
    ...         for c, vs in {"a": [1, 2, 4], "b": [0, 0, 1]}.items() for s, v in enumerate(vs)]
    >>> found, = paired(rows, "a", "b", "rmse")
    >>> found.n, found.mean, round(found.p, 3), found.verdict  # differences 1, 2, 3
    (3, 2.0, 0.114, 'undecided')
    """
    by_cell: dict[tuple[str, float], dict[str, dict[int, float]]] = {}
    for row in rows:
        if row.split == split and row.contestant in (a, b):
            value = getattr(row, metric)
            if value is not None:
                cell = by_cell.setdefault((row.dataset, row.level), {a: {}, b: {}})
                cell[row.contestant][row.seed] = value
    found = []
    for (dataset, level), sides in by_cell.items():
        if not (sides[a] and sides[b]):
            continue
        if sides[a].keys() != sides[b].keys():
            raise ValueError(
                f"{a!r} and {b!r} must have the same seeds to be paired; on {dataset} at {level} "
                f"they have {sorted(sides[a])} and {sorted(sides[b])}"
            )
        ours = np.array([sides[a][seed] for seed in sorted(sides[a])])
        theirs = np.array([sides[b][seed] for seed in sorted(sides[b])])
        gap = ours - theirs
        percent = 100 * float(gap.mean() / theirs.mean())
        found.append(Paired(dataset, level, gap.size, *corrected_t(gap, TEST_OVER_TRAIN), percent))
    return found
