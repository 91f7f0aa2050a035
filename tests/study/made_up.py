"""Records that no run has made, and a world of them in which the claims of the paper hold."""

from __future__ import annotations

import dataclasses

import numpy as np
from study.design import LEVELS
from study.records import Record, Runs

from gt2lite.datasets import DATASETS
from study.claims import CHECKS, ClaimVerdict

PLAIN = Record(
    dataset="ww",
    seed=0,
    mode="default",
    model="trained",
    level=0.9,
    method="trained",
    n_cal=1000,
    n_test=1000,
    alpha=0.01,
    reached=float("nan"),
    n_evaluations=0,
    rmse=1.0,
    picp=0.9,
    pinaw=1.0,
    interval_score=2.0,
    train_seconds=10.0,
    train_cpu_seconds=10.0,
    calibrate_seconds=0.0,
)


def record(**changes):
    """A plain record, but for what is named."""
    return dataclasses.replace(PLAIN, **changes)


def find(rows, **wanted):
    """The one row that is as wanted."""
    (row,) = (r for r in rows if all(getattr(r, k) == v for k, v in wanted.items()))
    return row


NOISE = 1e-3 * np.array([-2.0, 1.0, 0.0, 2.0, -1.0])  # by seed; its mean is 0
SHIFTED = np.roll(NOISE, 2)
RMSE = {"ww": 1.01, "pm": 0.99, "aids": 0.99, "pp": 1.01}  # as bold has it


def world(edit=None, *, tables=()):
    """Runs in which the claims hold that can hold together; `edit` changes a record."""
    records = []
    for dataset in DATASETS:
        for seed in range(5):
            common = {"dataset": dataset, "seed": seed, "train_seconds": 10.0 + seed}
            ours = common | {"rmse": RMSE[dataset] + SHIFTED[seed]}
            records.append(
                ours
                | {"model": "baseline", "level": 0.99, "method": "trained", "picp": 0.99}
                | {"pinaw": 2.0, "interval_score": 3.0}
            )
            for level in LEVELS:
                records.append(
                    common
                    | {"model": "trained", "level": level, "method": "trained"}
                    | {"rmse": 1.0 + NOISE[seed], "picp": level - 0.03 + NOISE[seed]}
                    | {"pinaw": 1.0 + NOISE[seed], "interval_score": 2.0 + NOISE[seed]}
                )
                calibrated = ours | {"model": "calibrated", "level": level}
                calibrated |= {"alpha": 1 - level, "picp": level + SHIFTED[seed]}
                calibrated |= {"pinaw": 1.2 + SHIFTED[seed], "calibrate_seconds": 0.1}
                calibrated |= {"interval_score": 1.9 + SHIFTED[seed], "reached": level}
                records.append(calibrated | {"method": "search", "n_evaluations": 9})
                records.append(calibrated | {"method": "exact", "n_evaluations": 42})
                records.append(calibrated | {"method": "conformal", "n_evaluations": 42})
                off = {"method": "table", "reached": level + 0.01 + NOISE[seed]}
                off |= {"step": 0.1, "interpolation": "linear"}
                records.append(calibrated | off | {"n_evaluations": 11})
                records += [calibrated | off | table(level, seed) for table in tables]
    made = [record(**settings) for settings in records]
    if edit is not None:
        made = [dataclasses.replace(r, **edit(r) or {}) for r in made]
    return made


def verdict(claim, records):
    """What the check of a claim makes of records."""
    return ClaimVerdict(claim, *CHECKS[claim](Runs(records, needed=())))


def is_(r, model=None, dataset=None, level=None, method=None):
    """Whether a record is as wanted."""
    wanted = {"model": model, "dataset": dataset, "level": level, "method": method}
    return all(getattr(r, key) == value for key, value in wanted.items() if value is not None)


def when(value, **wanted):
    """Edit the records that are as wanted; `value` is a dict or a function of the record."""
    return lambda r: (value(r) if callable(value) else value) if is_(r, **wanted) else None


def finer(error, n=101):
    """A table of step 0.01 that misses its level by about `error`."""

    def table(level, seed):
        reached = level + error + NOISE[seed] / 2
        return {"step": 0.01, "interpolation": "linear", "reached": reached, "n_evaluations": n}

    return table


def curve(error, kind="spline"):
    """A table of another interpolation that misses its level by about `error`."""

    def table(level, seed):
        beside = error + np.copysign(NOISE[seed], error * NOISE[seed])  # the miss is noisy alike
        return {"step": 0.1, "interpolation": kind, "reached": level + beside}

    return table
