"""One contestant on one split: trained, calibrated, and judged on the test part.

That is an `Entry`; executed, it becomes a `FieldRun`. Which entries the field consists of, see
`study.field.plans`; how many of them are run, `study.runner`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import numpy as np

from gt2lite._threads import one_blas_thread
from gt2lite._validation import Array
from gt2lite.datasets import Prepared
from gt2lite.metrics import interval_quality, rmse
from study.design import LEVELS
from study.field.conditional import Bin, coverage_by, rarity, regions, width_bins, worst
from study.field.contestant import Answer, Contestant, Entered, Get, answer_name
from study.field.records import BinCount, ChosenSettings, FieldRecord
from study.field.setting import Setting, checksum_of, shape_of

SLACK = 1e-9
"""By how much an end may stick out: last digits say nothing about the order of two ends."""


class FieldRun(NamedTuple):
    """What came of an entry."""

    entry: Entry
    records: list[FieldRecord]  # one for each answer and level
    counts: list[BinCount]  # one for each bin of rows at each level, for the method's own answer
    chosen: list[ChosenSettings]
    y_hat: Array  # (L, N) estimates for the test part
    ends: Array  # (L, 2, N) the method's own intervals for the test part


@dataclass(frozen=True)
class Entry(Setting):
    """One contestant on one split of one table."""

    contestant: Contestant = field(kw_only=True)

    @property
    def code(self) -> tuple[str, ...]:
        """The modules that execute it: the contestant's own, and this one."""
        return (*self.contestant.code, __name__)

    @property
    def cost(self) -> float:
        """How long it takes, in no particular unit."""
        rows, inputs = shape_of(self.dataset)
        return self.contestant.weight * rows * (10 + inputs) * self.effort

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
            "most_rows": self.most_rows,
            "contestant": self.contestant.identity(),
            "data": checksum_of(self.dataset),
        }

    def execute(self, get: Get) -> FieldRun:
        """Train, calibrate and judge the contestant; `get` has trainings that others share."""
        with one_blas_thread():
            data = self.prepare()
            entered = self.contestant.enter(self, data, get)
            records, counts = judge(self, data, entered)
        own = entered.answers[0]
        names = _names(self)
        chosen = [ChosenSettings(**names, **part._asdict()) for part in entered.chosen]
        return FieldRun(self, records, counts, chosen, own.y_hat, own.ends)

    def pack(self, run: FieldRun) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return what came of it in plain form."""
        header = {
            "records": [asdict(row) for row in run.records],
            "counts": [asdict(row) for row in run.counts],
            "chosen": [asdict(row) for row in run.chosen],
        }
        return header, {"y_hat": run.y_hat, "ends": run.ends}

    def unpack(self, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> FieldRun:
        """Return what came of it again."""
        return FieldRun(
            self,
            [FieldRecord(**row) for row in header["records"]],
            [BinCount(**row) for row in header["counts"]],
            [ChosenSettings(**row) for row in header["chosen"]],
            arrays["y_hat"],
            arrays["ends"],
        )


def judge(
    entry: Entry, data: Prepared, entered: Entered
) -> tuple[list[FieldRecord], list[BinCount]]:
    """Return a record for each answer and level, and one for each bin of the method's own."""
    records: list[FieldRecord] = []
    counts: list[BinCount] = []
    for place, answer in enumerate(entered.answers):
        names = _names(entry) | {"contestant": answer_name(entry.contestant.name, answer.form)}
        for i, level in enumerate(LEVELS):
            bins = _bins(entry, data, *answer.ends[i])
            records.append(
                FieldRecord(
                    **names,
                    **_measured(data.y_test, answer, i, bins),
                    level=level,
                    n_train=len(data.y_train),
                    n_cal=len(data.y_cal),
                    n_test=len(data.y_test),
                    first_seconds=entered.first_seconds,
                    further_seconds=entered.further_seconds,
                    tuning_seconds=entered.tuning_seconds,
                )
            )
            if place == 0:
                counts += _counted(bins, names, level, float(np.ptp(data.y_test)))
    return records, counts


def _names(entry: Entry) -> dict[str, Any]:
    return {
        "dataset": entry.dataset,
        "split": entry.split,
        "seed": entry.seed,
        "contestant": entry.contestant.name,
    }


def _measured(y: Array, answer: Answer, i: int, bins: dict[str, list[Bin]]) -> dict[str, Any]:
    """Return what an answer is worth at the i-th level."""
    (lower, upper), (low, high) = answer.ends[i], answer.equal[i]
    equal = interval_quality(y, low, high, LEVELS[i])._asdict()
    return {
        "rmse": rmse(y, answer.y_hat[i]),
        **interval_quality(y, lower, upper, LEVELS[i])._asdict(),
        **{f"equal_{name}": value for name, value in equal.items()},
        "width": float(np.mean(upper - lower)),
        "unnested": _unnested(answer.ends),
        "crps": answer.crps,
        **{f"worst_{by}": worst(found) for by, found in bins.items()},
    }


def _counted(
    bins: dict[str, list[Bin]], names: dict[str, Any], level: float, extent: float
) -> list[BinCount]:
    return [
        BinCount(
            **names,
            level=level,
            by=by,
            bin=b.label,
            n=b.n,
            covered=b.covered,
            width=b.width / extent,
        )
        for by, found in bins.items()
        for b in found
    ]


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
