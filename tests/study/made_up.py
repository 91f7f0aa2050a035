"""Noisy rows, and records that no run has made."""

import numpy as np
import pandas as pd

from study.protocol import COLUMNS

PLAIN = dict.fromkeys(COLUMNS) | {
    **{"dataset": "ww", "seed": 0, "mode": "default", "model": "trained", "level": 0.9},
    **{"method": "trained", "step": np.nan, "n_cal": 1000, "n_test": 1000, "alpha": 0.01},
    **{"margin": 0.0, "reached": np.nan, "n_evaluations": 0, "calibrate_seconds": 0.0},
    **{"rmse": 1.0, "picp": 0.9, "pinaw": 1.0, "interval_score": 2.0, "train_cpu_seconds": 10.0},
}


def noisy(n=100, M=2, seed=0):
    """Inputs (n, M), and the first of them with normal noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, M))
    return X, X[:, 0] + rng.normal(size=n)


def records(rows):
    """Plain records but for what each row names."""
    return pd.DataFrame([PLAIN | row for row in rows], columns=COLUMNS)
