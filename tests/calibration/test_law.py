"""Statistical validity: over redrawn calibration and test sets, coverage follows its law.

With the k-th smallest of n scores as the threshold, and no ties, the number of m new
exchangeable scores at or below it is Beta-binomial, BetaBin(m, k, n + 1 - k): every arrangement of
the n + m scores is equally likely, wherever they come from. That holds for draws without
replacement from a finite pool, too, so that one pool serves for all of them.
"""

from __future__ import annotations

import numpy as np
import pytest

from gt2lite import load_dataset
from gt2lite.calibration import (
    ConformalCalibrator,
    ExactCalibrator,
    critical_scores,
    rank,
    restore,
)
from gt2lite.datasets import Scaler
from gt2lite.system import Planes
from gt2lite.training import Recipe, train

stats = pytest.importorskip("scipy.stats", reason="needs SciPy")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::gt2lite.calibration.SmallCalibrationWarning"),
]

REDRAWS = 1000
# Draws are seeded: what holds today holds tomorrow. Should the draws ever change, a true law
# is rejected once in ten thousand times, and each test shows that the law of the next rank,
# one sample away, is rejected clearly.
REJECT, CLEARLY = 1e-4, 1e-8


def p_value(counts, m, k, n):
    """Return the p-value of a chi-square test of counts out of m against their law."""
    law = len(counts) * stats.betabinom.pmf(np.arange(m + 1), m, k, n + 1 - k)
    seen = np.bincount(counts, minlength=m + 1)
    # neighbours are put together until each cell expects ten
    cell = np.minimum(np.cumsum(law) // 10, sum(law) // 10 - 1).astype(int)
    expected, observed = np.bincount(cell, law), np.bincount(cell, seen)
    full = expected > 0
    return stats.chisquare(observed[full], expected[full]).pvalue


class Pool:
    """A trained system, the rows that it has not seen, and where each is first covered."""

    def __init__(self, name, n_train, seed=0):
        data = load_dataset(name)
        table = np.unique(np.column_stack([data.X, data.y]), axis=0)  # no row twice: no ties
        table = table[np.random.default_rng(seed).permutation(len(table))]
        scaler = Scaler.fit(table[:n_train, :-1], table[:n_train, -1])
        X, y = scaler.transform_X(table[:, :-1]), scaler.transform_y(table[:, -1])
        recipe = Recipe(n_rules=4, epochs=30, learning_rate=0.01)
        self.params, _ = train(X[:n_train], y[:n_train], recipe, seed=seed, progress=False)
        self.X, self.y = X[n_train:], y[n_train:]

    def planes(self, rows):
        return Planes(self.params, self.X[rows])

    def covered(self, calibrator, test, level, groups=None):
        """Return which test rows lie in their intervals, which are computed in full."""
        lower, upper = calibrator.intervals(self.planes(test), level, groups)
        return (lower <= self.y[test]) & (self.y[test] <= upper)


def known(kind, scores, rows):
    """Return a calibrator for some rows of the pool, whose scores need not be found again."""
    return restore({"kind": kind.kind, "options": {}}, scores.take(rows).arrays())


@pytest.fixture(scope="module")
def pool():
    return Pool("pp", 2000)


@pytest.fixture(scope="module")
def scores(pool):
    return critical_scores(pool.planes(slice(None)), pool.y)


def draws(n, m, size, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(REDRAWS):
        rows = rng.choice(size, n + m, replace=False)
        yield rows[:n], rows[n:]


@pytest.mark.parametrize(("n", "phi"), [(49, 0.9), (40, 0.07)])
def test_synthetic_scores_cover_by_the_law(n, phi):
    m, rng = 80, np.random.default_rng(n)
    k = rank(phi, n + 1)
    counts = []
    for _ in range(REDRAWS):
        y = rng.standard_t(2, size=n + m)  # from -kappa to kappa, then a margin: |y| is the score

        def interval(alpha, n=n):
            kappa = np.sqrt(np.log(alpha) / np.log(0.01)) * np.ones(n)
            return -kappa, kappa

        conformal = ConformalCalibrator().fit(interval, y[:n])
        _, upper = conformal.intervals(lambda alpha: interval(alpha, m), phi)
        counts.append((np.abs(y[n:]) <= upper).sum())
    counts = np.array(counts)
    assert p_value(counts, m, k, n) > REJECT
    assert p_value(counts, m, k - 1, n) < CLEARLY


@pytest.mark.parametrize(("n", "phi"), [(49, 0.9), (199, 0.995)])
def test_a_trained_system_covers_by_the_law(pool, scores, n, phi):
    m = 100
    k = rank(phi, n + 1)
    counts, beyond = [], 0
    for cal, test in draws(n, m, len(pool.y)):
        conformal = known(ConformalCalibrator, scores, cal)
        beyond += np.isnan(conformal.alpha(phi))
        counts.append(pool.covered(conformal, test, phi).sum())
    counts = np.array(counts)
    assert p_value(counts, m, k, n) > REJECT
    assert p_value(counts, m, k - 1, n) < CLEARLY
    assert (beyond > REDRAWS / 10) == (phi == 0.995)  # the last level needs a margin
    # the guarantee: on average, and not more than one rank above
    mean, error = counts.mean() / m, counts.std() / m / np.sqrt(REDRAWS)
    assert phi - 3 * error < mean < phi + 1 / (n + 1) + 3 * error


def test_known_scores_are_those_of_a_fit(pool, scores):
    rows = np.arange(0, 3000, 7)
    for kind in (ExactCalibrator, ConformalCalibrator):
        fitted = kind().fit(pool.planes(rows), pool.y[rows])
        np.testing.assert_allclose(
            known(kind, scores, rows).critical_alpha, fitted.critical_alpha, rtol=1e-9
        )


def test_exact_calibration_follows_the_law_of_its_own_rank_and_falls_short(pool, scores):
    n, m, phi = 100, 100, 0.9
    counts = np.array(
        [
            pool.covered(known(ExactCalibrator, scores, cal), test, phi).sum()
            for cal, test in draws(n, m, len(pool.y))
        ]
    )
    assert p_value(counts, m, 90, n) > REJECT  # 90 of 101 on average, less than 0.9
    assert counts.mean() / m < phi


def test_tied_scores_cover_more_and_never_less(pool):
    # Inputs that are high or low, and targets rounded to standard deviations: rows repeat.
    n, m, phi = 99, 100, 0.9
    X, y = np.sign(pool.X), np.round(pool.y)
    scores = critical_scores(Planes(pool.params, X), y)
    assert len(np.unique(scores.alpha)) < 100
    counts = []
    for cal, test in draws(n, m, len(y)):
        conformal = known(ConformalCalibrator, scores, cal)
        lower, upper = conformal.intervals(Planes(pool.params, X[test]), phi)
        counts.append(((lower <= y[test]) & (y[test] <= upper)).sum())
    counts = np.array(counts)
    law = stats.betabinom(m, 90, 10)
    # of the counts, at most as many lie below any number as the law has there, except by chance
    for c in range(70, 100):
        share, error = law.cdf(c), np.sqrt(law.cdf(c) * law.sf(c) / REDRAWS)
        assert (counts <= c).mean() <= share + 4 * error
    assert counts.mean() > law.mean() + 3 * law.std() / np.sqrt(REDRAWS)


def test_each_tail_and_each_group_follow_laws_of_their_own(pool, scores):
    n, m, phi = 59, 100, 0.9
    warm = pool.X[:, 0] > 0
    parts = np.flatnonzero(warm), np.flatnonzero(~warm)
    below, above, hits = [], [], {True: [], False: []}
    rng = np.random.default_rng(1)
    for _ in range(REDRAWS):
        rows = np.concatenate([rng.choice(part, n + m, replace=False) for part in parts])
        both = rows.reshape(2, n + m)
        cal, test = both[:, :n].ravel(), both[:, n:].ravel()
        groups = restore(
            {"kind": "group", "options": {"method": "conformal"}, "labels": ["cold", "warm"]},
            {**scores.take(cal).arrays(), "group": warm[cal].astype(float)},
        )
        names = np.where(warm[test], "warm", "cold")
        inside = pool.covered(groups, test, phi, names)
        for label in (True, False):
            hits[label].append(inside[warm[test] == label].sum())
        # the two tails, in one of the groups
        cal, test = both[0, :n], both[0, n:]
        two = restore(
            {"kind": "two-sided", "options": {"method": "conformal"}}, scores.take(cal).arrays()
        )
        lower, upper = two.intervals(pool.planes(test), phi)
        below.append((pool.y[test] >= lower).sum())
        above.append((pool.y[test] <= upper).sum())
    for counts in hits.values():
        assert p_value(np.array(counts), m, rank(phi, n + 1), n) > REJECT
        assert p_value(np.array(counts), m, rank(phi, n + 1) - 1, n) < CLEARLY
    for counts in (below, above):
        assert p_value(np.array(counts), m, rank(0.95, n + 1), n) > REJECT
        assert p_value(np.array(counts), m, rank(0.95, n + 1) - 1, n) < CLEARLY
    inside = np.array(below) + np.array(above) - m
    assert inside.mean() / m > phi  # the union bound
