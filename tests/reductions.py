"""Random rows of firings and consequents."""

from __future__ import annotations

import numpy as np


def random_rows(seed, N=60, P=6):
    rng = np.random.default_rng(seed)
    f_upper = rng.uniform(size=(N, P))
    return rng.uniform(size=(N, P)) * f_upper, f_upper, rng.normal(size=(N, P))
