"""Which runs the field consists of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gt2lite._checks import one_of
from gt2lite.datasets import DATASETS
from gt2lite.study.field.contestants import CONTESTANTS
from gt2lite.study.field.records import BinCount, FieldRecord
from gt2lite.study.field.runs import Entry, FieldRun
from gt2lite.study.plans import SEEDS


def entries(
    datasets: Sequence[str] = DATASETS,
    seeds: Sequence[int] = SEEDS,
    contestants: Sequence[str] | None = None,
    *,
    split: str = "random",
    effort: float = 1.0,
) -> list[Entry]:
    """Return the entries of all contestants, or of some, on all data sets and seeds.

    >>> len(entries(contestants=["paper", "gb_cqr"]))
    40
    """
    return [
        Entry(dataset, seed, split, effort, contestant=CONTESTANTS[name])
        for dataset in datasets
        for seed in seeds
        for name in [one_of("contestant", n, CONTESTANTS) for n in contestants or CONTESTANTS]
    ]


def whole_field() -> list[Entry]:
    """Return every entry of the stored study: all data sets, and Parkinson by patient."""
    return entries() + entries(["pm"], split="by_group")


def records(runs: Iterable[FieldRun]) -> list[FieldRecord]:
    """Return a record for each (dataset, split, seed, contestant, level)."""
    return [row for run in runs for row in run.records]


def counts(runs: Iterable[FieldRun]) -> list[BinCount]:
    """Return a record for each bin: rows and how many are covered, by width, input and group."""
    return [row for run in runs for row in run.counts]
