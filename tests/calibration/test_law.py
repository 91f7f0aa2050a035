"""Statistical validity: over redrawn calibration and test sets, coverage follows its law.

With the k-th smallest of n scores as the threshold, and no ties, the number of m new
exchangeable scores at or below it is Beta-binomial, BetaBin(m, k, n + 1 - k): every arrangement of
the n + m scores is equally likely, wherever they come from. That holds for draws without
replacement from a finite pool, too, so that one pool serves for all of them. A row lies in its
interval if and only if the cut reaches its score, which a test shows with intervals in full; so
scores suffice for the redraws.
"""

from __future__ import annotations

import numpy as np
import pytest

from gt2lite import load_dataset
from gt2lite.calibration import Cut, critical_scores, rank
from gt2lite.datasets import Scaler
from gt2lite.practice.calibrators import restore
from gt2lite.recipe import Recipe
from gt2lite.system import Planes
from gt2lite.training import train

stats = pytest.importorskip("scipy.stats", reason="needs SciPy")

pytestmark = pytest.mark.filterwarnings("ignore::gt2lite.calibration.SmallCalibrationWarning")

REDRAWS, N_TEST, PHI = 300, 100, 0.9
# Draws are seeded: what holds today holds tomorrow. Should the draws ever change, a true law
# is rejected once in ten thousand times, and each test shows that the law of the next rank,
# one sample away, is rejected clearly: with few calibration rows a rank is a large step.
REJECT, CLEARLY = 1e-4, 1e-8


def check_law(counts, k, n):
    """Assert by chi-square tests that counts follow the law of rank k, and not that of k - 1."""
    counts = np.array(counts)
    for rank_, follows in ((k, True), (k - 1, False)):
        law = stats.betabinom.pmf(np.arange(N_TEST + 1), N_TEST, rank_, n + 1 - rank_)
        law, seen = len(counts) * law, np.bincount(counts, minlength=N_TEST + 1)
        # neighbours are put together until each cell expects ten
        cell = np.minimum(np.cumsum(law) // 10, sum(law) // 10 - 1).astype(int)
        expected, observed = np.bincount(cell, law), np.bincount(cell, seen)
        full = expected > 0
        p = stats.chisquare(observed[full], expected[full]).pvalue
        assert p > REJECT if follows else p < CLEARLY


@pytest.fixture(scope="module")
def pool():
    """A trained system, rows that it has not seen, their targets and their scores."""
    data = load_dataset("pp")
    table = np.unique(np.column_stack([data.X, data.y]), axis=0)  # no row twice: no ties
    table = table[np.random.default_rng(0).permutation(len(table))[:5000]]
    scaler = Scaler.fit(table[:1000, :-1], table[:1000, -1])
    X, y = scaler.transform_X(table[:, :-1]), scaler.transform_y(table[:, -1])
    recipe = Recipe(n_rules=4, epochs=30, learning_rate=0.01)
    params, _ = train(X[:1000], y[:1000], recipe, seed=0, progress=False)
    X, y = X[1000:], y[1000:]
    return params, X, y, critical_scores(Planes(params, X), y)


def calibrator(kind, scores, **options):
    """Return a calibrator of some rows, whose scores need not be found again."""
    return restore({"kind": kind, "options": options}, scores.arrays())


def draws(n, *parts, seed=0):
    """Yield calibration and test rows, of each of several parts as many."""
    rng = np.random.default_rng(seed)
    for _ in range(REDRAWS):
        rows = np.stack([rng.choice(part, n + N_TEST, replace=False) for part in parts])
        yield rows[:, :n], rows[:, n:]


def n_covered(found, scores, phi, group=None):
    cut = Cut(found.alpha(phi, group), found.margin(phi, group))
    return int(scores.covered(cut).sum())


@pytest.mark.parametrize("kind", ["exact", "conformal", "two-sided"])
def test_a_row_lies_in_its_interval_if_the_cut_reaches_its_score(pool, kind):
    params, X, y, scores = pool
    (cal,), (test,) = next(draws(199, len(y)))
    options = {"method": "conformal"} if kind == "two-sided" else {}
    known = calibrator(kind, scores.take(cal), **options)
    for phi in (0.3, 0.9, 0.99):
        lower, upper = known.intervals(Planes(params, X[test]), phi)
        inside = (lower <= y[test]) & (y[test] <= upper)
        low, high = (Cut(a, m) for a, m in np.broadcast_to(
            np.transpose([known.alpha(phi), known.margin(phi)]), (2, 2)))  # fmt: skip
        new = scores.take(test)
        np.testing.assert_array_equal(inside, new.lower.covered(low) & new.upper.covered(high))


@pytest.mark.parametrize(("n", "phi"), [(19, 0.9), (99, 0.99)])
def test_a_trained_system_covers_by_the_law(pool, n, phi):
    scores = pool[-1]
    counts, beyond = [], 0
    for (cal,), (test,) in draws(n, len(scores)):
        conformal = calibrator("conformal", scores.take(cal))
        beyond += np.isnan(conformal.alpha(phi))
        counts.append(n_covered(conformal, scores.take(test), phi))
    check_law(counts, rank(phi, n + 1), n)
    assert (beyond > REDRAWS / 10) == (phi == 0.99)  # the last level needs a margin
    # the guarantee: on average, and not more than one rank above
    mean, error = np.mean(counts) / N_TEST, np.std(counts) / N_TEST / np.sqrt(REDRAWS)
    assert phi - 3 * error < mean < phi + 1 / (n + 1) + 3 * error


def test_exact_calibration_follows_the_law_of_its_own_rank_and_falls_short(pool):
    scores = pool[-1]
    counts = [
        n_covered(calibrator("exact", scores.take(cal)), scores.take(test), PHI)
        for (cal,), (test,) in draws(20, len(scores))
    ]
    check_law(counts, 18, 20)  # 18 of 21 on average, less than 0.9
    assert np.mean(counts) / N_TEST < PHI


def test_tied_scores_cover_more_and_never_less(pool):
    # Inputs that are high or low, and targets rounded to two standard deviations: rows repeat.
    params, X, y, _ = pool
    scores = critical_scores(Planes(params, np.sign(X)), np.round(y / 2))
    assert len(np.unique(scores.alpha)) < 100
    counts = np.array(
        [
            n_covered(calibrator("conformal", scores.take(cal)), scores.take(test), PHI)
            for (cal,), (test,) in draws(19, len(scores))
        ]
    )
    law = stats.betabinom(N_TEST, 18, 2)
    # of the counts, at most as many lie below any number as the law has there, except by chance
    for c in range(50, 100):
        share, error = law.cdf(c), np.sqrt(law.cdf(c) * law.sf(c) / REDRAWS)
        assert (counts <= c).mean() <= share + 4 * error
    assert counts.mean() > law.mean() + 3 * law.std() / np.sqrt(REDRAWS)


def test_each_tail_and_each_group_follow_laws_of_their_own(pool):
    _, X, _, scores = pool
    n, warm = 19, X[:, 0] > 0
    below, above, hits = [], [], ([], [])
    for cal, test in draws(n, np.flatnonzero(~warm), np.flatnonzero(warm), seed=1):
        groups = restore(
            {"kind": "group", "options": {"method": "conformal"}, "labels": ["cold", "warm"]},
            {**scores.take(cal.ravel()).arrays(), "group": np.repeat([0.0, 1.0], n)},
        )
        for i, label in enumerate(("cold", "warm")):
            hits[i].append(n_covered(groups, scores.take(test[i]), PHI, label))
        # the two tails, in one of the groups
        two = calibrator("two-sided", scores.take(cal[0]), method="conformal")
        low, high = (Cut(a, m) for a, m in zip(two.alpha(PHI), two.margin(PHI), strict=True))
        new = scores.take(test[0])
        below.append(int(new.lower.covered(low).sum()))
        above.append(int(new.upper.covered(high).sum()))
    for counts in hits:
        check_law(counts, rank(PHI, n + 1), n)
    for counts in (below, above):
        check_law(counts, rank(0.95, n + 1), n)
    assert (np.mean(below) + np.mean(above)) / N_TEST - 1 > PHI  # the union bound
