"""Nested families of intervals with known answers, and marks, for the tests of calibration."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from gt2lite.calibration import (
    CALIBRATORS,
    ConformalCalibrator,
    ExactCalibrator,
)
from gt2lite.memberships import alpha_of, kappa_of
from gt2lite.system import Planes
from gt2lite.training import init_params

few = pytest.mark.filterwarnings("ignore::gt2lite.calibration.SmallCalibrationWarning")
# A busy machine is no failure of the method.
facts = settings(deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
each_method = pytest.mark.parametrize("method", sorted(CALIBRATORS))
of_the_paper = pytest.mark.parametrize("method", ["search", "table"])  # the others go on
ranked = pytest.mark.parametrize("kind", [ExactCalibrator, ConformalCalibrator])


class Steps:
    """A nested family whose sample i is covered up to alpha = edges[i]; it counts its calls."""

    def __init__(self, edges):
        self.edges = np.asarray(edges, dtype=float)
        self.y = np.zeros(self.edges.size)
        self.calls = []

    def __call__(self, alpha):
        self.calls.append(alpha)
        return self.y - 1, np.where(alpha <= self.edges, 1.0, -0.5)

    def coverage(self, alpha):
        return np.mean(alpha <= self.edges)


class Bands:
    """A smooth nested family: sample i is covered from kappa = |y[i]| / width[i] onwards."""

    def __init__(self, n, seed=0, spread=0.5):
        rng = np.random.default_rng(seed)
        self.width = rng.uniform(0.5, 2, size=n)
        self.y = self.width * rng.normal(scale=spread, size=n)

    def __call__(self, alpha):
        return -kappa_of(alpha) * self.width, kappa_of(alpha) * self.width


class Cone:
    """A nested family of n samples: from `centre - kappa * below` to `centre + kappa * above`."""

    def __init__(self, centre, below, above, kappa_max=1.0):
        self.centre, self.below, self.above = np.broadcast_arrays(
            *(np.asarray(v, dtype=float) for v in (centre, below, above))
        )
        self.alpha_min = alpha_of(kappa_max)
        self.calls = 0

    def __call__(self, alpha):
        assert np.min(alpha) >= self.alpha_min
        self.calls += 1
        kappa = kappa_of(alpha)
        return self.centre - kappa * self.below, self.centre + kappa * self.above

    def __len__(self):
        return self.centre.size

    def truth(self, y):
        """Return kappa (n,), infinite past the planes, and margin (n,), from the definition."""
        kappa = np.where(
            y < self.centre, (self.centre - y) / self.below, (y - self.centre) / self.above
        )
        lower, upper = self(self.alpha_min)
        margin = np.maximum(lower - y, y - upper)
        within = kappa <= kappa_of(self.alpha_min)
        return np.where(within, kappa, np.inf), np.where(within, 0.0, margin)


def cone(n, seed=0, kappa_max=2.0, spread=1.5):
    """Return a family, and targets of which some lie inside, beyond, and past all planes."""
    rng = np.random.default_rng(seed)
    family = Cone(rng.normal(size=n), rng.uniform(0.3, 1, n), rng.uniform(0.3, 2, n), kappa_max)
    return family, family.centre + spread * rng.standard_t(3, size=n)


def system(n, seed=0, M=3, raw=0.0):
    """Return the planes of a system at random rows, and targets at all distances."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, M))
    params = init_params(X, 5, rng)
    params["a0"] = rng.normal(size=5)
    params["raw_l"] += raw
    params["raw_r"] += raw
    return Planes(params, X), rng.standard_t(3, size=n)


def brute(interval, y, end):
    """Return the kappa (Q,) at which an end, 0 or 1, is first right: sample by sample."""
    found = np.full(y.size, np.inf)
    widest = kappa_of(interval.alpha_min)

    def right(i, kappa):
        value = interval(max(alpha_of(kappa), interval.alpha_min))[end][i]
        return value <= y[i] if end == 0 else value >= y[i]

    for i in range(y.size):
        low, high = 0.0, widest
        if not right(i, widest):
            continue
        if right(i, 0.0):
            high = 0.0
        for _ in range(45):
            middle = (low + high) / 2
            low, high = (low, middle) if right(i, middle) else (middle, high)
        found[i] = high
    return found


@functools.cache
def by_brute_force(make):
    """Return a family of 60 samples, their targets, and the kappas of lower and upper ends."""
    family, y = make(60)
    return family, y, (brute(family, y, 0), brute(family, y, 1))


def level_of(k, n):
    """Return the level that asks for the k-th of n scores, k < n."""
    return k / n


# Ten samples, of which the widest plane misses one. Coverage, from the definition:
#   alpha     1   .9   .8   .7   .6   .5   .4   .3   .2   .1  .01
#   coverage .1   .2   .3   .4   .5   .6   .7   .8   .9   .9   .9
BY_HAND = (1.0, 0.95, 0.85, 0.75, 0.65, 0.55, 0.45, 0.35, 0.25, 0.005)

edges = st.lists(st.floats(0.001, 1), min_size=1, max_size=40)
levels = st.floats(0.001, 0.999)
targets = st.lists(st.integers(-60, 60), min_size=1, max_size=40)  # many ties
