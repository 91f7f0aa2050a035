"""What calibration has to work with and what each way to calibrate gives, row by row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from gt2lite.study.design import LEVELS
from gt2lite.study.protocol import ProtocolRun
from gt2lite.study.records import Record
from gt2lite.study.reproduction import Spread, cell_values, row_name, spread


class Envelope(NamedTuple):
    """What the lowest plane of the baseline covers."""

    set: str
    test: Spread
    calibration: Spread
    least: float  # of the calibration part, the worst seed
    short: int  # seeds whose envelope does not hold the highest level there


def envelopes(runs: Sequence[ProtocolRun]) -> list[Envelope]:
    """Return what the envelopes cover, data set by data set."""
    held: dict[str, list[ProtocolRun]] = {}
    for run in runs:
        if run.task.model == "baseline":
            held.setdefault(run.task.dataset, []).append(run)
    out = []
    for dataset, baselines in held.items():
        test = [r.picp for run in baselines for r in run.records if r.model == "baseline"]
        # covered by some plane
        calibration = np.array([np.mean(run.critical_alpha > 0) for run in baselines])
        out.append(
            Envelope(
                dataset.upper(),
                spread(100 * np.array(test)),
                spread(100 * calibration),
                100 * float(calibration.min()),
                int((calibration < max(LEVELS)).sum()),
            )
        )
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
