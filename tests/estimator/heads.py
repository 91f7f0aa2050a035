"""What tests of heads share: rows with known noise, and a small system."""

from functools import cache

import numpy as np

from gt2lite import GT2Regressor

SMALL = GT2Regressor(n_rules=4, epochs=20, learning_rate=0.02, objective="aligned")


@cache
def uneven():
    """Return rows whose noise is six times as large where the first input is positive.

    The target is a curve that no line follows.
    """
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(2400, 2))
    y = 50 + 10 * np.abs(X[:, 1]) + (1 + (X[:, 0] > 0) * 5) * rng.normal(size=2400)
    return X, y
