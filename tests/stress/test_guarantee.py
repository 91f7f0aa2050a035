"""The guarantee by simulation: calibration and test rows are redrawn, the system stays.

With rank k of n calibration rows, the number of m new rows that are covered is Beta-binomial,
BetaBin(m, k, n + 1 - k), if rows are exchangeable and scores have no ties. Two controls break these
conditions, and the same check must find both.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import settings

from gt2lite import GT2Regressor, IntervalHead

pytestmark = pytest.mark.filterwarnings("ignore")

N, M, LEVEL = 59, 100, 0.9
FAR = 4.5  # standard errors; sampling variation exceeds them once in 1e5


def n_redraws():
    return max(settings().max_examples, 60)


def draw(n, seed=1):
    """Return data whose noise grows to one side and is not symmetric."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 2))
    return X, np.sin(2 * X[:, 0]) + np.exp(0.4 * X[:, 1]) * (rng.gamma(2.0, size=n) - 2)


def one_system():
    return GT2Regressor(n_rules=4, epochs=20, learning_rate=0.01)


def three_systems():
    return GT2Regressor(n_rules=4, epochs=5, objective="aligned", n_systems=3, margins=0.5)


def head():
    neighbors = pytest.importorskip("sklearn.neighbors")
    return IntervalHead(neighbors.KNeighborsRegressor(1), GT2Regressor(n_rules=4, epochs=5))


def covered(estimator, X, y, calibration, test, groups=None, **how):
    """Calibrate; return which test rows are not below, and not above, their intervals."""
    there, here = (None, None) if groups is None else (groups[calibration], groups[test])
    estimator.calibrate(X[calibration], y[calibration], groups=there, **how)
    lower, upper = estimator.predict_interval(X[test], coverage=LEVEL, groups=here)
    return lower <= y[test], y[test] <= upper


def difference(counts, level, n):
    """Return mean coverage minus its expectation under the law, in standard errors."""
    expected = math.ceil(round((n + 1) * level, 9)) / (n + 1)
    deviation = math.sqrt(expected * (1 - expected) / (n + 2) * (n + 1 + M) / M)
    return (np.mean(counts) / M - expected) / (deviation / math.sqrt(len(counts)))


@pytest.mark.slow
@pytest.mark.parametrize("make", [one_system, three_systems, head])
def test_coverage_follows_its_law(make):
    X, y = draw(2600)
    estimator = make().fit(X[:600], y[:600])
    X, y = X[600:], y[600:]
    groups = (X[:, 0] > np.median(X[:, 0])).astype(int)
    parts = [np.flatnonzero(groups == g) for g in range(2)]
    rng = np.random.default_rng(2)
    both, tails, by_group = [], [], []
    for _ in range(n_redraws()):
        rows = rng.choice(len(y), N + M, replace=False)
        split = rows[:N], rows[N:]
        both.append(np.logical_and(*covered(estimator, X, y, *split)).sum())
        tails.append([side.sum() for side in covered(estimator, X, y, *split, sides="each")])
        each = np.stack([rng.choice(part, N + M, replace=False) for part in parts])
        inside = np.logical_and(*covered(estimator, X, y, each[:, :N].ravel(),
                                         each[:, N:].ravel(), groups))  # fmt: skip
        by_group.append(inside.reshape(2, M).sum(axis=1))
    assert abs(difference(both, LEVEL, N)) < FAR
    for side in np.array(tails).T:
        assert abs(difference(side, (1 + LEVEL) / 2, N)) < FAR
    for counts in np.array(by_group).T:
        assert abs(difference(counts, LEVEL, N)) < FAR


@pytest.mark.slow
def test_calibration_on_training_rows_is_found_out():
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(2100, 3)), rng.normal(size=2100)
    reg = GT2Regressor(n_rules=30, epochs=400, batch_size=N, learning_rate=0.05, coverage=0.5)
    reg.fit(X[:N], y[:N])
    tests = [rng.choice(np.arange(N, 2100), M, replace=False) for _ in range(50)]
    counts = [np.logical_and(*covered(reg, X, y, np.arange(N), t)).sum() for t in tests]
    assert difference(counts, LEVEL, N) < -FAR


@pytest.mark.slow
def test_the_exact_method_without_its_extra_rank_is_found_out():
    X, y = draw(2600)
    reg = one_system().fit(X[:600], y[:600])
    X, y = X[600:], y[600:]
    rng, counts = np.random.default_rng(5), []
    for _ in range(100):
        rows = rng.choice(len(y), 20 + M, replace=False)
        inside = np.logical_and(*covered(reg, X, y, rows[:20], rows[20:], method="exact"))
        counts.append(inside.sum())
    assert difference(counts, LEVEL, 20) < -FAR
