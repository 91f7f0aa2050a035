"""Which runs the field consists of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gt2lite._validation import one_of
from gt2lite.datasets import DATASETS
from study.field.contestants import CONTESTANTS, LONG, OF_CHAPTER
from study.field.records import BinCount, ChosenSettings, FieldRecord
from study.field.runs import Entry, FieldRun
from study.field.setting import TABLES, shape_of
from study.plans import SEEDS

MOST_ROWS = 5000
"""Training rows beyond this number are left out, so that the study ends within an hour."""

SMALL, FEWER_SEEDS = 2000, 3
"""Tables with more rows than the one get as many seeds as the other."""


def entries(
    datasets: Sequence[str] = DATASETS,
    seeds: Sequence[int] = SEEDS,
    contestants: Sequence[str] | None = None,
    *,
    split: str = "random",
    effort: float = 1.0,
    most_rows: int = 0,
) -> list[Entry]:
    """Return the entries of all contestants, or of some, on tables and seeds.

    >>> len(entries(contestants=["paper", "gb_cqr"]))
    40
    """
    names = [one_of("contestant", n, CONTESTANTS) for n in contestants or CONTESTANTS]
    return [
        Entry(dataset, seed, split, effort, most_rows, contestant=CONTESTANTS[name])
        for dataset in datasets
        for seed in seeds
        for name in names
        if _takes_part(name, dataset)
    ]


def whole_field(tables: Sequence[str] = TABLES) -> list[Entry]:
    """Return every entry of the stored study: all tables, and Parkinson by patient."""
    names = [name for name in CONTESTANTS if name not in (*OF_CHAPTER, *LONG)]
    found: list[Entry] = []
    for table in tables:
        found += entries([table], seeds_of(table), names, most_rows=MOST_ROWS)
    if "pm" in tables:
        seeds = seeds_of("pm")
        found += entries(["pm"], seeds, names, split="by_group", most_rows=MOST_ROWS)
    return found


def seeds_of(table: str) -> tuple[int, ...]:
    """Return the seeds of a table: fewer where it has many rows.

    >>> seeds_of("concrete"), seeds_of("pp")
    ((0, 1, 2, 3, 4), (0, 1, 2))
    """
    return SEEDS if shape_of(table)[0] <= SMALL else SEEDS[:FEWER_SEEDS]


def records(runs: Iterable[FieldRun]) -> list[FieldRecord]:
    """Return a record for each (dataset, split, seed, answer, level)."""
    return [row for run in runs for row in run.records]


def counts(runs: Iterable[FieldRun]) -> list[BinCount]:
    """Return a record for each bin: rows and how many are covered, by width, input and group."""
    return [row for run in runs for row in run.counts]


def choices(runs: Iterable[FieldRun]) -> list[ChosenSettings]:
    """Return the settings that were chosen inside training."""
    return [row for run in runs for row in run.chosen]


def _takes_part(name: str, dataset: str) -> bool:
    tables = CONTESTANTS[name].tables
    return tables is None or dataset in tables
