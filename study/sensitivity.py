"""Sensitivity to rounding of the systems for practice.

The example is that of the chapter on more rules: scikit-learn's table of diabetes patients.
Training targets are perturbed by some units in the last place, and half of the runs also go
without the newer instructions of the processor, which changes the order of additions
(`OLDER_PROCESSOR`). The largest difference to the unperturbed run is what a rerun on another
machine may show. `data/results/steadiness*.csv` hold the runs; the same was done to the paper's
protocol, by moving its start values (`nudged*.csv`).
"""

from __future__ import annotations

import warnings
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from gt2lite._threads import one_blas_thread
from gt2lite._validation import Array, one_of
from gt2lite.metrics import interval_score, rmse
from gt2lite.regressor import GT2Regressor, NarrowEnvelopeWarning
from study.protocol import LEVELS
from study.recipes import TUNED

OLDER_PROCESSOR = {
    "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR",
    "OPENBLAS_CORETYPE": "Nehalem",
}
"""Environment variables that keep NumPy and OpenBLAS from AVX2 and AVX-512. They are read when
NumPy is imported, so such a run needs a process of its own."""

SYSTEMS = ("strong", "single")
METRICS = ("rmse", *(f"interval_score_{100 * level:.0f}" for level in LEVELS))
SHARE_TRAIN = 0.7


def new_system(system: str) -> GT2Regressor:
    """Return `GT2Regressor.strong()`, or the single system of 100 rules, not yet trained."""
    one_of("system", system, SYSTEMS)
    return GT2Regressor.strong() if system == "strong" else GT2Regressor(**asdict(TUNED))


def patients(share_train: float = SHARE_TRAIN, seed: int = 0) -> tuple[Array, Array, Array, Array]:
    """Return inputs and targets of the training rows, and those of the other rows."""
    from sklearn.datasets import load_diabetes

    X, y = load_diabetes(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(y))
    n = round(share_train * len(y))
    return X[order[:n]], y[order[:n]], X[order[n:]], y[order[n:]]


def evaluate(reg: GT2Regressor, X: Array, y: Array) -> dict[str, float]:
    """Return RMSE and interval scores on new rows `X` (N, M) with targets `y` (N,).

    Each level gets the interval that covers just its share of these very rows, so that no further
    rows are needed and calibration adds no variation.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NarrowEnvelopeWarning)  # on few rows planes are narrow
        reg.calibrate(X, y, method="exact")
    found = {"rmse": rmse(y, reg.predict(X))}
    for name, level in zip(METRICS[1:], LEVELS, strict=True):
        lower, upper = reg.predict_interval(X, coverage=level)
        found[name] = interval_score(y, lower, upper, level)
    return found


def run_perturbed(system: str, nudge: int, processor: str = "") -> dict[str, Any]:
    """Train a system with perturbed targets and return a row of `steadiness.csv`.

    Args:
        system: one of `SYSTEMS`.
        nudge: units in the last place by which training targets are moved.
        processor: "sse4" if the process was started with `OLDER_PROCESSOR`, else "".
    """
    X_train, y_train, X_test, y_test = patients()
    reg = new_system(system)
    with one_blas_thread():
        reg.fit(X_train, y_train + nudge * np.spacing(y_train))
        found = evaluate(reg, X_test, y_test)
    return {"system": system, "nudge": nudge, "processor": processor, **found}


def largest_changes(rows: pd.DataFrame) -> pd.DataFrame:
    """Return by system and metric how far perturbed runs are from the unperturbed one.

    Args:
        rows: of `steadiness.csv` and `steadiness_sse4.csv`.

    Returns:
        Columns `system`, `metric`, `value` (unperturbed), `largest` (difference) and `percent`.
    """
    found = []
    for system, own in rows.groupby("system", sort=False):
        still = own[(own.nudge == 0) & own.processor.isna()].iloc[0]
        for metric in METRICS:
            largest = float((own[metric] - still[metric]).abs().max())
            found.append((system, metric, still[metric], largest, 100 * largest / still[metric]))
    return pd.DataFrame(found, columns=["system", "metric", "value", "largest", "percent"])
