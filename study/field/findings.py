"""What the field shows, as rows and facts for the page that tells of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from gt2lite._validation import Array
from gt2lite.datasets import load_dataset, prepare
from study.field.records import FieldRecord
from study.field.runs import FieldRun
from study.field.tables import Values, title, values_of
from study.pages import NO_BREAK

SPLITS = ("random", "by_group")


class Range(NamedTuple):
    """The smallest and the largest of some numbers."""

    low: float
    high: float


class Cost(NamedTuple):
    """Seconds and nesting of a contestant, mean over data sets and seeds."""

    name: str
    first: float
    further: float
    tuning: float
    unnested: float  # per cent of the rows
    further_told: str  # what a further level takes, in words where it is next to nothing

    @property
    def ten_levels(self) -> float:
        """Seconds for ten levels, settings given."""
        return self.first + 9 * self.further


class Apart(NamedTuple):
    """A contestant on Parkinson with a random split and with patients kept apart."""

    name: str
    rmse: float
    rmse_apart: float
    picp: float  # per cent
    picp_apart: float
    low: float  # of the seeds, patients apart
    high: float
    width: float  # per cent of the range
    width_apart: float


class ApartFacts(NamedTuple):
    """What is told about patients kept apart."""

    recall_name: str  # who has the smallest error of the random split
    recall: float
    recall_apart: float
    best_name: str  # who has the smallest error with patients apart
    best: float
    ignorant: float  # error of the training part's mean
    beyond: str  # how many are worse than that
    low: float  # coverage of the seeds, per cent
    high: float


class LiveFacts(NamedTuple):
    """A part of the field that was computed again."""

    numbers: int
    off: float  # the largest difference from what is stored, in per cent


def range_of(values: Values, names: Iterable[str], sets: Iterable[str], scale: float = 1) -> Range:
    """Return the smallest and the largest mean of some contestants on some data sets."""
    sets = list(sets)
    means = [scale * float(values[name][d].mean()) for name in names for d in sets]
    return Range(min(means), max(means))


def ratio_range(values: Values, name: str, than: str) -> Range:
    """Return how many times as large one contestant's means are, over the data sets."""
    ratios = [float(v.mean() / values[than][d].mean()) for d, v in values[name].items()]
    return Range(min(ratios), max(ratios))


def costs(rows: Sequence[FieldRecord], level: float) -> dict[str, Cost]:
    """Return what each contestant costs, and how many of its intervals are not nested."""
    metrics = ("first_seconds", "further_seconds", "tuning_seconds", "unnested")
    values = [values_of(rows, metric, level=level) for metric in metrics]

    def mean(of_sets: Mapping[str, Array]) -> float:
        return float(np.mean([v.mean() for v in of_sets.values()]))

    found = {}
    for name in values[0]:
        first, further, tuning, unnested = (mean(v[name]) for v in values)
        told = f"{further:.3f}" if further >= 0.001 else f"<{NO_BREAK}0.001"
        found[name] = Cost(title(name), first, further, tuning, 100 * unnested, told)
    return found


def ignorant_errors(seeds: Iterable[int], dataset: str = "pm") -> dict[str, float]:
    """Return the RMSE of the training part's mean, for both splits; mean over the seeds."""
    table, seeds = load_dataset(dataset), list(seeds)
    return {
        split: float(np.mean([
            np.sqrt(np.mean(prepare(table, seed, by_group=split == "by_group").y_test ** 2))
            for seed in seeds
        ]))
        for split in SPLITS
    }  # fmt: skip


def apart_rows(rows: Sequence[FieldRecord], level: float, dataset: str = "pm") -> list[Apart]:
    """Return all contestants with a random split and with groups kept apart."""
    both = {
        metric: [values_of(rows, metric, level=level, split=split) for split in SPLITS]
        for metric in ("rmse", "picp", "pinaw")
    }
    found = []
    for name in both["rmse"][0]:
        e, c, w = (np.array([v[name][dataset] for v in both[m]]) for m in both)  # (2, seeds) each
        numbers = [*e.mean(axis=1), *(100 * c.mean(axis=1)), 100 * c[1].min(), 100 * c[1].max()]
        found.append(Apart(title(name), *map(float, [*numbers, *(100 * w.mean(axis=1))])))
    return found


def apart_facts(found: Sequence[Apart], ignorant: float) -> ApartFacts:
    """Return what is told about patients kept apart; `ignorant` is the error of the mean there."""
    recall = min(found, key=lambda row: row.rmse)
    best = min(found, key=lambda row: row.rmse_apart)
    beyond = sum(row.rmse_apart > ignorant for row in found)
    return ApartFacts(
        recall.name,
        recall.rmse,
        recall.rmse_apart,
        best.name,
        best.rmse_apart,
        ignorant,
        "all" if beyond == len(found) else _or_none(beyond),
        min(row.low for row in found),
        max(row.high for row in found),
    )


def live_facts(runs: Iterable[FieldRun], stored: Iterable[FieldRecord]) -> LiveFacts:
    """Compare runs with what is stored of them: RMSE, width at equal coverage, interval score."""

    def cell(row: FieldRecord) -> tuple[str, str, int, str, float]:
        return row.dataset, row.split, row.seed, row.contestant, row.level

    by_cell = {cell(row): row for row in stored}
    off = [
        abs(getattr(row, metric) / getattr(by_cell[cell(row)], metric) - 1)
        for run in runs
        for row in run.records
        if cell(row) in by_cell
        for metric in ("rmse", "equal_pinaw", "interval_score")
    ]
    return LiveFacts(len(off), 100 * max(off, default=0.0))


def wider_than_range(width: Values, dataset: str) -> str:
    """Return who has intervals wider on average than the target's range, in words."""
    over = [title(name) for name in width if width[name][dataset].mean() > 1]
    words = f"{len(over)} have" if len(over) > 1 else f"{_or_none(len(over))} has"
    return f"{words} intervals that are wider on average than that trivial one (PINAW over 100)" + (
        f": {'; '.join(over)}" if over else ""
    )


def single_share(lower: Array, upper: Array, slack: float = 0.01) -> float:
    """Return the per cent of intervals (N,) that hold one of the two values 0 and 1 only."""
    holds = np.array([(lower <= v + slack) & (upper >= v - slack) for v in (0, 1)])
    return 100 * float(np.mean(holds.sum(axis=0) == 1))


def _or_none(n: int) -> str:
    return str(n) if n else "none"
