"""Records that no run has made, and a world of them in which the claims of the paper hold."""

from __future__ import annotations

import functools

import numpy as np
import pandas as pd

from gt2lite.datasets import DATASETS
from study.claims import CHECKS, Evidence, load_evidence
from study.protocol import COLUMNS, LEVELS

PLAIN = {
    "dataset": "ww",
    "seed": 0,
    "mode": "default",
    "model": "trained",
    "level": 0.9,
    "method": "trained",
    "step": np.nan,
    "interpolation": None,
    "n_cal": 1000,
    "n_test": 1000,
    "alpha": 0.01,
    "margin": 0.0,
    "reached": np.nan,
    "n_evaluations": 0,
    "rmse": 1.0,
    "picp": 0.9,
    "pinaw": 1.0,
    "interval_score": 2.0,
    "train_seconds": 10.0,
    "train_cpu_seconds": 10.0,
    "calibrate_seconds": 0.0,
}


def records(rows):
    """Plain records but for what each row names."""
    return pd.DataFrame([PLAIN | row for row in rows], columns=COLUMNS)


NOISE = 1e-3 * np.array([-2.0, 1.0, 0.0, 2.0, -1.0])  # by seed; its mean is 0
SHIFTED = np.roll(NOISE, 2)
RMSE = {"ww": 1.01, "pm": 0.99, "aids": 0.99, "pp": 1.01}  # as bold has it


def world(edit=None, *, tables=()):
    """Records in which the claims hold that can hold together; `edit` changes a row."""
    rows = []
    for dataset in DATASETS:
        for seed in range(5):
            common = {"dataset": dataset, "seed": seed, "train_cpu_seconds": 10.0 + seed}
            ours = common | {"rmse": RMSE[dataset] + SHIFTED[seed]}
            rows.append(
                ours
                | {"model": "baseline", "level": 0.99, "method": "trained", "picp": 0.99}
                | {"pinaw": 2.0, "interval_score": 3.0}
            )
            for level in LEVELS:
                rows.append(
                    common
                    | {"model": "trained", "level": level, "method": "trained"}
                    | {"rmse": 1.0 + NOISE[seed], "picp": level - 0.03 + NOISE[seed]}
                    | {"pinaw": 1.0 + NOISE[seed], "interval_score": 2.0 + NOISE[seed]}
                )
                calibrated = ours | {"model": "calibrated", "level": level}
                calibrated |= {"alpha": 1 - level, "picp": level + SHIFTED[seed]}
                calibrated |= {"pinaw": 1.2 + SHIFTED[seed], "calibrate_seconds": 0.1}
                calibrated |= {"interval_score": 1.9 + SHIFTED[seed], "reached": level}
                rows.append(calibrated | {"method": "search", "n_evaluations": 9})
                rows.append(calibrated | {"method": "exact", "n_evaluations": 42})
                rows.append(calibrated | {"method": "conformal", "n_evaluations": 42})
                off = {"method": "table", "reached": level + 0.01 + NOISE[seed]}
                off |= {"step": 0.1, "interpolation": "linear"}
                rows.append(calibrated | off | {"n_evaluations": 11})
                rows += [calibrated | off | table(level, seed) for table in tables]
    rows = [PLAIN | row for row in rows]
    if edit is not None:
        rows = [row | (edit(row) or {}) for row in rows]
    return records(rows)


def when(value, **wanted):
    """Edit the rows that are as wanted; `value` is a dict or a function of the row."""

    def edit(row):
        if all(row[key] == one for key, one in wanted.items()):
            return value(row) if callable(value) else value
        return None

    return edit


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


@functools.cache
def _stored():
    return vars(load_evidence(pd.DataFrame()))


def evidence(rows, **changes):
    """The stored evidence with other records, and whatever else is named."""
    own = {name: _stored()[name] for name in Evidence.__dataclass_fields__}
    return Evidence(**own | {"records": rows} | changes)


def verdict(claim, rows, **changes):
    """The finding on a claim."""
    return CHECKS[claim](evidence(rows, **changes))


def by_row(found):
    """The value of each row of a finding."""
    return dict(zip(found.rows.row, found.rows.value, strict=True))
