"""Noisy rows; records that no run has made; a world of them in which the paper's claims hold."""

import functools
from dataclasses import replace

import numpy as np
import pandas as pd

from gt2lite.datasets import DATASETS
from study.claims import CHECKS, load_evidence
from study.protocol import COLUMNS, LEVELS

PLAIN = dict.fromkeys(COLUMNS) | {
    **{"dataset": "ww", "seed": 0, "mode": "default", "model": "trained", "level": 0.9},
    **{"method": "trained", "step": np.nan, "n_cal": 1000, "n_test": 1000, "alpha": 0.01},
    **{"margin": 0.0, "reached": np.nan, "n_evaluations": 0, "calibrate_seconds": 0.0},
    **{"rmse": 1.0, "picp": 0.9, "pinaw": 1.0, "interval_score": 2.0, "train_cpu_seconds": 10.0},
}
NOISE = 1e-3 * np.array([-2.0, 1.0, 0.0, 2.0, -1.0])  # by seed; its mean is 0
SHIFTED = np.roll(NOISE, 2)


def noisy(n=100, M=2, seed=0):
    """Inputs (n, M), and the first of them with normal noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, M))
    return X, X[:, 0] + rng.normal(size=n)


def records(rows):
    """Plain records but for what each row names."""
    return pd.DataFrame([PLAIN | row for row in rows], columns=COLUMNS)


def world(edit=None, misses=None):
    """Records in which the claims hold that can hold together; `edit` changes a row.

    Lookup tables by step or interpolation miss their level by about `misses`.
    """
    misses = {0.1: 0.01, 0.01: 0.002, "spline": 0.004, "pchip": 0.01, "polynomial": 0.01} | (
        misses or {}
    )
    rows = []
    for dataset in DATASETS:
        for seed in range(5):
            common = {"dataset": dataset, "seed": seed, "train_cpu_seconds": 10.0 + seed}
            ours = common | {"rmse": 1.0 + SHIFTED[seed]}
            rows.append(ours | {"model": "baseline", "level": 0.99, "picp": 0.99, "pinaw": 2.0})
            for level in LEVELS:
                rows.append(
                    common
                    | {"model": "trained", "level": level, "picp": level - 0.03 + NOISE[seed]}
                    | {"rmse": 1.0 + NOISE[seed], "interval_score": 2.0 + NOISE[seed]}
                    | {"pinaw": 1.0 + NOISE[seed]}
                )
                calibrated = ours | {"model": "calibrated", "level": level}
                calibrated |= {"alpha": 1 - level, "picp": level + SHIFTED[seed]}
                calibrated |= {"pinaw": 1.2 + SHIFTED[seed], "calibrate_seconds": 0.1}
                calibrated |= {"interval_score": 1.9 + SHIFTED[seed], "reached": level}
                rows += [calibrated | {"method": method} for method in ("search", "exact")]
                for kind, miss in misses.items():
                    step, curve = (0.1, kind) if isinstance(kind, str) else (kind, "linear")
                    off = miss + np.copysign(NOISE[seed], miss * NOISE[seed])  # noisy alike
                    table = {"method": "table", "step": step, "interpolation": curve}
                    rows.append(calibrated | table | {"reached": level + off})
    rows = [PLAIN | row for row in rows]
    return records(rows if edit is None else [row | (edit(row) or {}) for row in rows])


def when(value, **wanted):
    """Edit the rows that are as wanted; `value` is a dict or a function of the row."""

    def edit(row):
        if all(row[key] == one for key, one in wanted.items()):
            return value(row) if callable(value) else value
        return None

    return edit


stored = functools.cache(load_evidence)


def verdict(claim, records=None, **changes):
    """The finding on a claim from these records, and whatever else is named."""
    records = world() if records is None else records
    return CHECKS[claim](replace(stored(), records=records, **changes))


def by_row(found):
    """The value of each row of a finding."""
    return dict(zip(found.rows.row, found.rows.value, strict=True))
