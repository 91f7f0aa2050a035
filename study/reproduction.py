"""What a run of the protocol amounts to: our tables.

Everything here is averaged from records, in the units of the paper's tables: per cent, and RMSE
and PINAW times 100. Verdicts are counted in `study.tallies`; what calibration gives by
itself, see `study.calibrated`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from gt2lite._validation import Array
from study.design import METHODS
from study.pages import NO_BREAK
from study.records import Record

METRICS = ("rmse", "picp", "pinaw")


class Spread(NamedTuple):
    r"""Mean and standard deviation over the runs that have an answer, and how many have none.

    As text it is what the tables print, with a star for each run without an answer.

    >>> str(Spread(90.123, 0.5, 2)), str(Spread(math.nan, math.nan, 5))
    ('90.12 ± 0.50\\*\\*', '-\\*\\*\\*\\*\\*')
    """

    mean: float
    std: float
    lacking: int

    def __str__(self) -> str:
        known = "-" if math.isnan(self.std) else f"{self.mean:.2f} ± {self.std:.2f}"
        return known + r"\*" * self.lacking


def spread(values: Sequence[float] | Array) -> Spread:
    """Return mean and standard deviation of values of which some may be NaN.

    >>> spread([1.0, 3.0, math.nan])
    Spread(mean=2.0, std=1.4142135623730951, lacking=1)
    """
    x = np.asarray(values, dtype=float)
    good = x[~np.isnan(x)]
    lacking = x.size - good.size
    if good.size < 2:  # no spread to tell
        return Spread(float(good[0]) if good.size else math.nan, math.nan, lacking)
    return Spread(float(good.mean()), float(good.std(ddof=1)), lacking)


def row_name(dataset: str, level: float) -> str:
    r"""Return what the pages call a row of the tables.

    >>> row_name("ww", 0.9)
    'WW 90\xa0%'
    """
    return f"{dataset.upper()} {100 * level:.0f}{NO_BREAK}%"


def cell_values(
    records: Iterable[Record], metric: str, dataset: str, model: str, level: float, method: str
) -> Array:
    """Return a field of the records of a cell (seeds,); of look-up tables the paper's."""
    cell = dataset, model, level, method
    return np.array([getattr(r, metric) for r in records if r.is_standard and r.cell == cell])


# --------------------------------------------------------------------------- the tables


def seconds_trained(records: Iterable[Record]) -> float:
    """Return the processor seconds of all trainings, each counted once."""
    spent = {
        (row.dataset, row.seed, row.model, row.level): row.train_cpu_seconds
        for row in records
        if row.method == "trained"
    }
    return sum(spent.values())


class TableRow(NamedTuple):
    """A row of our Table I or II; the better value is bold."""

    set: str
    metric: str
    trained: str
    calibrated: str


def table_of(records: Sequence[Record], level: float) -> list[TableRow]:
    """Return our Table I or II: three rows for each data set that the records hold."""
    return [
        _table_row(records, dataset, metric, level)
        for dataset in dict.fromkeys(r.dataset for r in records)
        for metric in METRICS
    ]


def _table_row(records: Sequence[Record], dataset: str, metric: str, level: float) -> TableRow:
    pair = [
        spread(100 * cell_values(records, metric, dataset, model, level, METHODS[model]))
        for model in ("trained", "calibrated")
    ]
    target = 100 * level if metric == "picp" else 0.0
    better = int(np.argmin([abs(side.mean - target) for side in pair]))
    texts = [f"**{side}**" if i == better else str(side) for i, side in enumerate(pair)]
    return TableRow(dataset.upper(), metric.upper(), *texts)
