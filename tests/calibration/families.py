"""Nested families of intervals with known answers, and marks, for the tests of calibration."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from gt2lite.calibration import CALIBRATORS, PlainFamily
from gt2lite.memberships import alpha_of, kappa_of
from gt2lite.system import Planes
from gt2lite.training import init_params

few = pytest.mark.filterwarnings("ignore::gt2lite.calibration.SmallCalibrationWarning")
# A busy machine is no failure of the method.
facts = settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
each_method = pytest.mark.parametrize("method", sorted(CALIBRATORS))


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


class Cone(PlainFamily):
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

    def take(self, rows):
        parts = (v[rows] for v in (self.centre, self.below, self.above))
        return Cone(*parts, kappa_of(self.alpha_min))


def cone(n, seed=0, kappa_max=2.0, spread=1.5):
    """Return a family, and targets of which some lie inside, beyond, and past all planes."""
    rng = np.random.default_rng(seed)
    family = Cone(rng.normal(size=n), rng.uniform(0.3, 1, n), rng.uniform(0.3, 2, n), kappa_max)
    return family, family.centre + spread * rng.standard_t(3, size=n)


def bands(n, seed=0, spread=0.3):
    """Return a family around 0 that ends at the envelope, and targets mostly inside."""
    rng = np.random.default_rng(seed)
    width = rng.uniform(0.5, 2, size=n)
    return Cone(np.zeros(n), width, width), width * rng.normal(scale=spread, size=n)


def left_out(family, y):
    """Yield each sample in turn, with the family and targets of the others."""
    for i in range(y.size):
        rest = np.delete(np.arange(y.size), i)
        yield i, rest, family.take(rest), y[rest]


def system(n, seed=0, M=3, raw=0.0):
    """Return the planes of a system at random rows, and targets at all distances."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, M))
    params = init_params(X, 5, rng)
    params["a0"] = rng.normal(size=5)
    params["raw_l"] += raw
    params["raw_r"] += raw
    return Planes(params, X), rng.standard_t(3, size=n)


GRID = 1000


@functools.cache
def by_brute_force(make):
    """Return 60 samples, and for each end the first kappa (60,) of a grid at which it is right.

    The family, the targets, the step of the grid and (2, 60); infinite if no plane is right.
    """
    family, y = make(60)
    kappas = np.linspace(0, kappa_of(family.alpha_min), GRID + 1)
    alphas = np.maximum(alpha_of(kappas), family.alpha_min)
    ends = np.array([family(alpha) for alpha in alphas])  # (K, 2, 60)
    right = np.stack([ends[:, 0] <= y, ends[:, 1] >= y])  # (2, K, 60)
    first = np.where(right.any(axis=1), kappas[right.argmax(axis=1)], np.inf)
    return family, y, kappas[1], first


# Ten samples, of which the widest plane misses one. Coverage, from the definition:
#   alpha     1   .9   .8   .7   .6   .5   .4   .3   .2   .1  .01
#   coverage .1   .2   .3   .4   .5   .6   .7   .8   .9   .9   .9
BY_HAND = (1.0, 0.95, 0.85, 0.75, 0.65, 0.55, 0.45, 0.35, 0.25, 0.005)
