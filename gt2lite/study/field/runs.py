"""One contestant on one split: trained, calibrated, and judged on the test part.

That is an `Entry`; executed, it becomes a `FieldRun`. Which entries the field consists of, see
`gt2lite.study.field.plans`; how many of them are run, `gt2lite.study.runner`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import numpy as np

from gt2lite._checks import Array
from gt2lite._threads import one_blas_thread
from gt2lite.datasets import Prepared, checksum
from gt2lite.metrics import interval_quality, rmse
from gt2lite.study.design import LEVELS, n_values
from gt2lite.study.field.conditional import Bin, coverage_by, rarity, regions, width_bins, worst
from gt2lite.study.field.contestant import Contestant, Entered, Get
from gt2lite.study.field.records import BinCount, FieldRecord
from gt2lite.study.field.setting import Setting

SLACK = 1e-9
"""By how much an end may stick out: last digits say nothing about the order of two ends."""


class FieldRun(NamedTuple):
    """What came of an entry."""

    entry: Entry
    records: list[FieldRecord]  # one for each level
    counts: list[BinCount]  # one for each bin of rows at each level
    y_hat: Array  # (L, N) estimates for the test part
    ends: Array  # (L, 2, N) intervals for the test part


@dataclass(frozen=True)
class Entry(Setting):
    """One contestant on one split of one data set."""

    contestant: Contestant = field(kw_only=True)

    @property
    def code(self) -> tuple[str, ...]:
        """The modules that execute it: the contestant's own, and this one."""
        return (*self.contestant.code, __name__)

    @property
    def cost(self) -> float:
        """How long it takes, in no particular unit."""
        return self.contestant.weight * n_values(self.dataset) * self.effort

    @property
    def label(self) -> str:
        """What it is, in a few words."""
        return f"{self.dataset} {self.split} seed {self.seed} {self.contestant.name}"

    def asked(self) -> dict[str, Any]:
        """Return all that distinguishes it, in plain values."""
        return {
            "dataset": self.dataset,
            "seed": self.seed,
            "split": self.split,
            "effort": self.effort,
            "contestant": self.contestant.identity(),
            "data": checksum(self.dataset),
        }

    def execute(self, get: Get) -> FieldRun:
        """Train, calibrate and judge the contestant; `get` has trainings that others share."""
        with one_blas_thread():
            data = self.prepare()
            entered = self.contestant.enter(self, data, get)
            records, counts = judge(self, data, entered)
        return FieldRun(self, records, counts, entered.y_hat, entered.ends)

    def pack(self, run: FieldRun) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return what came of it in plain form."""
        header = {
            "records": [asdict(row) for row in run.records],
            "counts": [asdict(row) for row in run.counts],
        }
        return header, {"y_hat": run.y_hat, "ends": run.ends}

    def unpack(self, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> FieldRun:
        """Return what came of it again."""
        return FieldRun(
            self,
            [FieldRecord(**row) for row in header["records"]],
            [BinCount(**row) for row in header["counts"]],
            arrays["y_hat"],
            arrays["ends"],
        )


def judge(
    entry: Entry, data: Prepared, entered: Entered
) -> tuple[list[FieldRecord], list[BinCount]]:
    """Return a record for each level, and one for each bin of rows at each level."""
    y = data.y_test
    names: dict[str, Any] = {
        "dataset": entry.dataset,
        "split": entry.split,
        "seed": entry.seed,
        "contestant": entry.contestant.name,
    }
    records, counts = [], []
    for i, level in enumerate(LEVELS):
        (lower, upper), (low, high) = entered.ends[i], entered.equal[i]
        bins = _bins(entry, data, lower, upper)
        equal = interval_quality(y, low, high, level)._asdict()
        measured: dict[str, Any] = {
            "rmse": rmse(y, entered.y_hat[i]),
            **interval_quality(y, lower, upper, level)._asdict(),
            **{f"equal_{name}": value for name, value in equal.items()},
            "unnested": _unnested(entered.ends),
            **{f"worst_{by}": worst(found) for by, found in bins.items()},
        }
        records.append(
            FieldRecord(
                **names,
                **measured,
                level=level,
                n_cal=len(data.y_cal),
                n_test=len(y),
                first_seconds=entered.first_seconds,
                further_seconds=entered.further_seconds,
                tuning_seconds=entered.tuning_seconds,
            )
        )
        counts += [
            BinCount(
                **names,
                level=level,
                by=by,
                bin=b.label,
                n=b.n,
                covered=b.covered,
                width=b.width / float(np.ptp(y)),
            )
            for by, found in bins.items()
            for b in found
        ]
    return records, counts


def _unnested(ends: Array) -> float:
    """Return the share of rows whose first interval is not inside their second (2, 2, N)."""
    (inner_lower, inner_upper), (outer_lower, outer_upper) = ends
    outside = (inner_lower < outer_lower - SLACK) | (inner_upper > outer_upper + SLACK)
    return float(np.mean(outside))


def _bins(entry: Entry, data: Prepared, lower: Array, upper: Array) -> dict[str, list[Bin]]:
    """Return what is covered by width, by input and, where there are any, by group."""
    labels = {
        "width": width_bins(lower, upper),
        "region": regions(data.X_train, data.X_test),
        "rarity": rarity(data.X_train, data.X_test),
    }
    groups = entry.groups(data.split.test)
    if groups is not None:
        labels["group"] = groups
    return {by: coverage_by(of_rows, data.y_test, lower, upper) for by, of_rows in labels.items()}
