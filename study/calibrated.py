"""What calibration has to work with and what each way to calibrate gives, row by row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from gt2lite.memberships import ALPHA_0
from study.design import LEVELS, MODELS
from study.records import Record
from study.reproduction import Spread, cell_values, row_name, spread


class Envelope(NamedTuple):
    """What the lowest plane of the baseline covers, and in how many runs that is too little."""

    set: str
    test: Spread
    runs: int
    short_90: int  # runs whose envelope does not hold 90 % of the calibration part
    short_95: int


def envelopes(records: Sequence[Record]) -> list[Envelope]:
    """Return what the envelopes cover, data set by data set."""
    out = []
    for dataset in dict.fromkeys(r.dataset for r in records):
        level = MODELS["baseline"]
        test = cell_values(records, "picp", dataset, "baseline", level, "trained")
        short = [
            cell_values(records, "alpha", dataset, "calibrated", level, "exact") < ALPHA_0
            for level in LEVELS
        ]
        counts = (int(runs.sum()) for runs in short)
        out.append(Envelope(dataset.upper(), spread(100 * test), test.size, *counts))
    return out


class Ways(NamedTuple):
    """A measure of a row by each way to calibrate."""

    row: str
    table: Spread
    search: Spread
    exact: Spread
    conformal: Spread


def ways(records: Sequence[Record], metric: str, scale: float = 100.0) -> list[Ways]:
    """Return a measure, times `scale`, by row and way to calibrate."""
    return [
        Ways(
            row_name(dataset, level),
            *(
                spread(scale * cell_values(records, metric, dataset, "calibrated", level, way))
                for way in Ways._fields[1:]
            ),
        )
        for level in LEVELS
        for dataset in dict.fromkeys(r.dataset for r in records)
    ]


def farthest_search(records: Iterable[Record]) -> tuple[Record, Record]:
    """Return the search that ends farthest from its level, and the exact answer to it."""
    records = list(records)
    found = [r for r in records if r.method == "search"]
    worst = max(found, key=lambda r: abs(r.reached - r.level))
    place = worst.dataset, worst.seed, worst.level
    (exact,) = (r for r in records if r.method == "exact" and (r.dataset, r.seed, r.level) == place)
    return worst, exact


class Cheap(NamedTuple):
    """How much sooner calibrating answers than training: the least over the cases."""

    cases: int
    as_claimed: int
    clear: int  # as claimed, beyond chance over re-splits
    level: float  # times as quickly, for one more level
    both: float  # and for both levels, with the training of the baseline


def cheap(found: Mapping[str, float]) -> Cheap:
    """Return the least of what the check of the claim "cheaper" measured: its `numbers`."""
    both = [v for name, v in found.items() if name.endswith("both levels times")]
    level = [v for name, v in found.items() if name.endswith("% times")]
    clear = int(found["as claimed beyond chance"])
    return Cheap(int(found["rows"]), int(found["as claimed"]), clear, min(level), min(both))
