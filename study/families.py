"""Planes and margins around the same estimates, on random halves of new rows (chapter 10).

The system is `GT2Regressor.strong()` on scikit-learn's diabetes data. Each kind of intervals is
calibrated on one half of the new rows and scored on the other half, many times.
`python -m study families` writes the scores to `data/results/families.csv`.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from gt2lite import GT2Regressor
from gt2lite._threads import one_blas_thread
from gt2lite._validation import Array
from gt2lite.calibration import Margins
from gt2lite.memberships import ALPHA_0
from gt2lite.metrics import interval_score
from study import sensitivity

KINDS = {"planes": None, "constant": 0.0, "to the power 1/2": 0.5, "in proportion": 1.0}
"""Kinds of intervals: planes, or margins by this power of the width of the envelope."""


def score_halves(
    reg: GT2Regressor,
    X_train: Array,
    X: Array,
    y: Array,
    *,
    kinds: Sequence[str] = tuple(KINDS),
    n_halves: int = 20,
    level: float = 0.9,
    seed: int = 0,
) -> pd.DataFrame:
    """Return the interval score of each kind on random halves of new rows.

    Args:
        reg: a fitted regressor; it is not changed.
        X_train: its training inputs, which fix the floor of the width.
        X: inputs of new rows (N, M).
        y: their targets (N,).
        kinds: of `KINDS`.
        n_halves: number of random halves, the same for all kinds.
        level: coverage of the intervals.
        seed: of the halves.
    """
    lower, upper = reg.predict_interval(X_train, alpha=ALPHA_0)
    usual = (upper - lower).mean() / reg.scaler_.y_std
    found = []
    for kind in kinds:
        power, rng = KINDS[kind], np.random.default_rng(seed)
        own = copy.copy(reg)
        own.margins_ = None if power is None else Margins(power, usual)
        for half in range(n_halves):
            new, cal = np.split(rng.permutation(len(y)), [len(y) // 2])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # few rows calibrate, on purpose
                own.calibrate(X[cal], y[cal])
            lower, upper = own.predict_interval(X[new], coverage=level)
            score = interval_score(y[new], lower, upper, level)
            found.append({"kind": kind, "half": half, "score": score})
    return pd.DataFrame(found)


def compare_families(kind: str) -> pd.DataFrame:
    """Train the strong system on the diabetes data and score one kind of intervals."""
    X_train, y_train, X, y = sensitivity.patients()
    with one_blas_thread():
        reg = GT2Regressor.strong(random_state=0).fit(X_train, y_train)
        return score_halves(reg, X_train, X, y, kinds=[kind])


def run(run_all: Callable[..., list[pd.DataFrame]]) -> dict[str, pd.DataFrame]:
    """Score all kinds and return the rows of `families.csv`."""
    frames = run_all(compare_families, [{"kind": kind} for kind in KINDS], label="families")
    return {"families": pd.concat(frames, ignore_index=True)}
