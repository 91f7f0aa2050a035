"""Test martingales: uniform p-values, Ville's inequality by simulation, power, closed testing.

Statistical tests fail with a probability of at most 1e-6 if the code is right, whatever the seed.
"""

from itertools import combinations, pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import integrate, stats

from gt2lite.practice.martingales import (
    BETTING,
    Jumper,
    Mixture,
    OnlinePValues,
    Stream,
    adjust_e_values,
    histogram_bets,
    log_mean,
    power_bets,
)

RARE = 1e-6
N_SEQUENCES, N_REFERENCE, N_NEW = 1500, 40, 260

# Exchangeable sequences of scores, some with ties, duplicates or dependence.
EXCHANGEABLE = {
    "continuous": lambda rng, n: rng.normal(size=n),
    "heavy tails": lambda rng, n: rng.standard_cauchy(size=n),
    "few values": lambda rng, n: rng.integers(0, 4, size=n),
    "constant": lambda rng, n: np.zeros(n),
    "duplicates": lambda rng, n: rng.choice(rng.normal(size=n // 5), size=n),
    "shuffled drift": lambda rng, n: rng.permutation(np.cumsum(rng.normal(size=n))),
    "a common effect": lambda rng, n: rng.normal() + rng.normal(size=n),
}


def fixed_ranks(scores, rng):
    """p-values among the reference rows alone, which are uniform and depend on each other."""
    known, new = scores[:N_REFERENCE], scores[N_REFERENCE:]
    larger = (known > new[:, None]).sum(axis=1)
    return (larger + 1 - rng.random(N_NEW)) / (N_REFERENCE + 1)


def online_ranks(scores, rng):
    return OnlinePValues(scores[:N_REFERENCE], rng).update(scores[N_REFERENCE:])


def sequences(kind, ranks=online_ranks, n=N_SEQUENCES):
    """Yield p-values (N,) of exchangeable sequences."""
    rng = np.random.default_rng(sum(map(ord, kind)))
    for _ in range(n):
        yield ranks(EXCHANGEABLE[kind](rng, N_REFERENCE + N_NEW), rng)


def count_passes(log_wealths, threshold=20):
    return sum(logs.max() >= np.log(threshold) for logs in log_wealths)


def most_passes(n=N_SEQUENCES, threshold=20):
    """The number of sequences that more pass only with a probability of 1e-6."""
    return stats.binom.isf(RARE, n, 1 / threshold)


# ---------------------------------------------------------------------------------- p-values


@pytest.mark.parametrize("grouped", [False, True])
def test_p_values_are_those_of_brute_force(grouped):
    rng = np.random.default_rng(3)
    for values in (rng.normal(size=90), rng.integers(0, 5, size=90), np.ones(90)):
        scores = values.astype(float)
        groups = rng.integers(0, 3 if grouped else 1, size=90)
        groups[:30] %= 2  # the third category has no reference rows
        found = OnlinePValues(
            scores[:30], np.random.default_rng(7), groups[:30] if grouped else None
        )
        parts = [slice(30, 50), slice(50, 51), slice(51, 90)]
        p = [found.update(scores[rows], groups[rows] if grouped else None) for rows in parts]
        theta = 1 - np.random.default_rng(7).random(60)
        expected = []
        for n in range(30, 90):
            alike = scores[: n + 1][groups[: n + 1] == groups[n]]
            larger, equal = (alike > scores[n]).sum(), (alike == scores[n]).sum()
            expected.append((larger + theta[n - 30] * equal) / alike.size)
        assert_allclose(np.concatenate(p), expected, rtol=1e-14)


@pytest.mark.parametrize("kind", EXCHANGEABLE)
def test_p_values_of_exchangeable_rows_are_uniform_and_independent(kind):
    p = np.array(list(sequences(kind, n=400)))  # (sequences, rows)
    assert ((p > 0) & (p <= 1)).all()
    bins = np.minimum((p * 20).astype(int), 19)
    assert stats.chisquare(np.bincount(bins.ravel(), minlength=20)).pvalue > RARE
    for lag in (1, 2, 50):
        pairs = 5 * (bins[:, lag:] // 4) + bins[:, :-lag] // 4
        # pairs of independent values; neighbouring pairs are uncorrelated cell by cell
        assert (
            stats.chisquare(np.bincount(pairs[:, :: lag + 1].ravel(), minlength=25)).pvalue > RARE
        )
    z = (p.mean(axis=1) - 0.5) * np.sqrt(12 * N_NEW)
    assert stats.kstest(z, "norm").pvalue > RARE


def test_ranks_among_reference_rows_alone_depend_on_each_other():
    """The reason for ranks among all rows before, and a check that the tests can fail."""
    p = np.array(list(sequences("continuous", fixed_ranks, n=400)))
    assert stats.chisquare(np.bincount((p.ravel() * 20).astype(int), minlength=20)).pvalue < RARE
    z = (p.mean(axis=1) - 0.5) * np.sqrt(12 * N_NEW)
    assert z.std() > 2
    passed = count_passes(Mixture().bet(p) for p in sequences("continuous", fixed_ranks, n=400))
    assert passed > 3 * most_passes(400)


# ----------------------------------------------------------------------------------- betting


def test_bets_are_densities():
    past = np.random.default_rng(0).beta(1, 3, size=450)
    n_bets = power_bets(np.array([0.5])).shape[1]
    for k in range(n_bets):
        area, _ = integrate.quad(
            lambda p, k=k: np.exp(power_bets(np.array([p]))[0, k]), 0, 1, points=[0.5], limit=200
        )
        assert area == pytest.approx(1, abs=1e-7)
    grid = (np.arange(1000) + 0.5) / 1000
    for seen in (past, past[:30], past[:0]):
        height = np.exp([histogram_bets(np.array([p]), seen)[0] for p in grid])
        assert_allclose(height.mean(axis=0), 1, rtol=1e-12)
        assert (height[0] > 2 * height[-1]).all() == (seen.size > 0)  # it has learned


def test_histograms_are_those_of_the_p_values_before():
    p = np.random.default_rng(1).random(1000) ** 2
    found = np.vstack([histogram_bets(p[:700], p[:0]), histogram_bets(p[700:], p[300:700])])
    for i in (0, 1, 57, 101, 402, 700, 999):
        for k, window in enumerate((100, 400)):
            seen = p[max(i - window, 0) : i]
            inside = (np.floor(10 * seen) == np.floor(10 * p[i])).sum()
            assert_allclose(found[i, k], np.log(10 * (inside + 5) / (seen.size + 50)))


def test_the_mixture_is_the_sum_over_bets_and_starts():
    p = np.random.default_rng(2).beta(0.7, 1, size=40)
    f = np.exp(np.hstack([power_bets(p), histogram_bets(p, p[:0])]))
    expected = []
    for n in range(1, 41):
        t = np.arange(1, n + 1)
        gains = np.array([f[s - 1 : n].prod(axis=0).mean() for s in t])
        expected.append(1 / np.sqrt(n + 1) + ((t**-0.5 - (t + 1) ** -0.5) * gains).sum())
    assert_allclose(np.exp(Mixture().bet(p)), expected, rtol=1e-12)


def test_the_jumper_is_that_of_the_literature():
    p = np.random.default_rng(2).beta(0.7, 1, size=400)
    accounts, expected = np.full(3, 1 / 3), []
    for one in p:
        accounts = 0.99 * accounts + 0.01 * accounts.sum() / 3
        accounts = accounts * (1 + np.array([-1, 0, 1]) * (one - 0.5))
        expected.append(accounts.sum())
    assert_allclose(np.exp(Jumper().bet(p)), expected, rtol=1e-10)
    crepes = pytest.importorskip("crepes.martingales", reason="needs crepes 0.9")
    bets = crepes.EpsilonBettingFunction(E=[-1, 0, 1])
    assert_allclose(expected, crepes.SimpleJumper(J=0.01, bf=bets).apply(p), rtol=1e-10)


@pytest.mark.parametrize("betting", BETTING)
def test_a_batch_is_its_rows_one_after_the_other(betting):
    p = np.random.default_rng(4).beta(0.8, 1, size=900)
    whole, rows, parts = (BETTING[betting]() for _ in range(3))
    together = whole.bet(p)
    assert_allclose([rows.bet(p[[i]])[0] for i in range(900)], together, atol=1e-9)
    found = [parts.bet(part) for part in np.split(p, [0, 1, 333, 333, 800])]
    assert_allclose(np.concatenate(found), together, atol=1e-9)
    parts.reset()
    assert_array_equal(parts.bet(p), together)


def test_the_mixture_never_loses_more_than_the_root_of_the_number_of_rows():
    rng = np.random.default_rng(5)
    bound = -0.5 * np.log(np.arange(2, 5002))
    for p in (rng.random(5000), np.full(5000, 0.5), np.tile([1e-9, 1.0, 0.5, 0.25], 1250)):
        logs = Mixture().bet(p)
        assert np.isfinite(logs).all() and (logs >= bound - 1e-9).all()


def test_extreme_p_values_give_finite_wealth():
    for p in (1.0, np.finfo(float).tiny, 5e-324):
        for gambler in (Mixture(), Jumper()):
            assert np.isfinite(gambler.bet(np.full(2000, p))).all()
    stream = Stream([Mixture()], 1e250, restarts=False)
    stream.update(np.full((2000, 1), 1e-9))
    assert stream.log_wealth[-1] > 800 and 1e299 < stream.wealth < np.inf  # no overflow


# ------------------------------------------------------------------------- Ville's inequality


@pytest.mark.parametrize("kind", EXCHANGEABLE)
@pytest.mark.parametrize("betting", BETTING)
def test_at_most_1_in_20_exchangeable_sequences_ever_passes_20(betting, kind):
    passed = count_passes(BETTING[betting]().bet(p) for p in sequences(kind))
    assert passed <= most_passes()


def by_category(rng, n, shares=(0.55, 0.3, 0.1, 0.05)):
    """Scores whose distribution differs between categories, and the categories."""
    groups = rng.choice(len(shares), p=shares, size=n)
    return rng.integers(0, 30, size=n) * (1.0 + groups) + groups, groups


@pytest.mark.parametrize("betting", BETTING)
def test_at_most_1_in_20_passes_20_by_the_mean_over_categories(betting):
    rng, logs = np.random.default_rng(11), []
    for i in range(N_SEQUENCES):
        scores, groups = by_category(rng, N_REFERENCE)
        # the shares of categories change, which does not count
        more, new = by_category(rng, N_NEW, (0.1, 0.2, 0.3, 0.4) if i % 2 else (0.9, 0.1, 0, 0))
        p = OnlinePValues(scores, rng, groups).update(more, new)
        stream = Stream([BETTING[betting]() for _ in range(4)], 20, restarts=False)
        stream.update(np.where(new[:, None] == np.arange(4), p[:, None], np.nan))
        logs.append(stream.log_wealth)
        assert bool(stream.alarms) == (logs[-1].max() >= np.log(20))
    assert count_passes(logs) <= most_passes()


def test_at_most_1_in_20_passes_20_by_category_and_rank_within_it():
    """The two gamblers on inputs: categories, and scores within them."""
    rng, logs = np.random.default_rng(12), []
    for _ in range(N_SEQUENCES):
        scores, groups = by_category(rng, N_REFERENCE + N_NEW)
        known, new = np.split(groups, [N_REFERENCE])
        p = OnlinePValues(known, rng).update(new)
        q = OnlinePValues(scores[:N_REFERENCE], rng, known).update(scores[N_REFERENCE:], new)
        stream = Stream([Mixture(), Mixture()], 20, restarts=False)
        stream.update(np.stack([p, q], axis=1))
        logs.append(stream.log_wealth)
    assert count_passes(logs) <= most_passes()


def test_after_a_false_alarm_the_next_is_as_rare():
    rng, first, second = np.random.default_rng(13), 0, 0
    for _ in range(4000):
        stream = Stream([Mixture()], 4.0)
        stream.update(rng.random((150, 1)))
        first, second = first + (len(stream.alarms) > 0), second + (len(stream.alarms) > 1)
    assert first <= stats.binom.isf(RARE, 4000, 1 / 4)
    assert 0 < second <= stats.binom.isf(RARE, first, 1 / 4)


# ------------------------------------------------------------------------------------- power

CHANGES = {  # of scores z at row t of 800, and the share of sequences that must raise an alarm
    "bias": (lambda z, t: z + 0.7, 0.95),
    "bias downwards": (lambda z, t: z - 0.7, 0.95),
    "more noise": (lambda z, t: 1.6 * z, 0.95),
    "less noise": (lambda z, t: 0.6 * z, 0.95),
    "late bias": (lambda z, t: z + 0.8 * (t > 400), 0.95),
    "late noise": (lambda z, t: z * np.where(t > 400, 1.8, 1), 0.95),
    "slow drift": (lambda z, t: z + 2 * t / 800, 0.95),
    "two modes": (lambda z, t: 0.25 * z + np.sign(z), 0.95),
}


@pytest.mark.parametrize("change", CHANGES)
def test_planted_changes_raise_an_alarm(change):
    rng, t = np.random.default_rng(21), np.arange(800)
    make, share = CHANGES[change]
    found = 0
    for _ in range(60):
        p = OnlinePValues(rng.normal(size=200), rng)
        stream = Stream([Mixture()], 100)
        stream.update(p.update(make(rng.normal(size=800), t))[:, None])
        found += len(stream.alarms) > 0
    assert found >= share * 60


def test_the_jumper_finds_bias_and_drift_and_not_noise():
    rng, t, found = np.random.default_rng(22), np.arange(800), {}
    for change in ("bias", "slow drift", "more noise"):
        logs = []
        for _ in range(40):
            p = OnlinePValues(rng.normal(size=200), rng)
            logs.append(Jumper().bet(p.update(CHANGES[change][0](rng.normal(size=800), t))))
        found[change] = count_passes(logs, 100)
    assert found["bias"] == found["slow drift"] == 40 and found["more noise"] < 5


# ------------------------------------------------------------------------- streams and alarms


def test_a_stream_restarts_after_each_alarm_and_keeps_what_was_reached():
    p = np.random.default_rng(31).beta(0.5, 1, size=600)
    stream, rows = Stream([Mixture()], 100), Stream([Mixture()], 100)
    returned = stream.update(p[:, None])
    for one in p:
        rows.update(np.array([[one]]))
    assert len(stream.alarms) > 5 and stream.alarms == rows.alarms
    assert_allclose(stream.log_wealth, rows.log_wealth, atol=1e-9)
    assert_array_equal(returned, stream.log_wealths)
    assert_array_equal(stream.p_values[:, 0], p)
    starts = [0, *(i + 1 for i in stream.alarms), 600]
    for start, end in pairwise(starts):
        logs = Mixture().bet(p[start:end])
        assert_allclose(stream.log_wealth[start:end], logs, atol=1e-9)
        assert (logs[:-1] < np.log(100)).all() and (end == 600 or logs[-1] >= np.log(100))


def test_a_stream_without_restarts_records_the_first_alarm():
    p = np.random.default_rng(32).beta(0.5, 1, size=(600, 1))
    stream = Stream([Mixture()], 100, restarts=False)
    for part in np.split(p, 6):
        stream.update(part)
    assert_allclose(stream.log_wealth, Mixture().bet(p[:, 0]), atol=1e-8)
    assert stream.alarms == [int((stream.log_wealth >= np.log(100)).argmax())]


def test_gamblers_without_a_p_value_keep_their_wealth():
    rng = np.random.default_rng(33)
    which, p = rng.integers(0, 3, size=700), rng.beta(0.9, 1, size=700)
    bets = np.where(which[:, None] == np.arange(4), p[:, None], np.nan)  # the last never bets
    stream = Stream([Mixture() for _ in range(4)], 1e9, restarts=False)
    assert stream.wealth == 1 and len(stream) == 0
    for part in np.split(bets, [100, 101, 500]):
        stream.update(part)
    assert len(stream) == 700
    for g in range(3):
        rows = which == g
        assert_allclose(stream.log_wealths[rows, g], Mixture().bet(p[rows]), atol=1e-9)
    assert (stream.log_wealths[:, 3] == 0).all() and (stream.log_wealths[0] != 0).sum() == 1
    assert_allclose(stream.log_wealth, np.log(np.exp(stream.log_wealths).mean(axis=1)))
    assert stream.wealth == pytest.approx(np.exp(stream.log_wealth[-1]))


def test_the_mean_of_logarithms_does_not_overflow():
    logs = np.array([[2000.0, 0.0], [-np.inf, 0.0]])
    assert_allclose(log_mean(logs), [2000 - np.log(2), -np.log(2)])


# ----------------------------------------------------------------------------- closed testing


def test_adjusted_e_values_are_the_smallest_means_of_sets():
    rng = np.random.default_rng(41)
    e = np.exp(2 * rng.normal(size=(50, 6)))
    e[:10] = e[:10].round()  # ties and zeros
    sets = [list(some) for n in range(1, 7) for some in combinations(range(6), n)]
    expected = [[min(row[s].mean() for s in sets if r in s) for r in range(6)] for row in e]
    found = adjust_e_values(e)
    assert_allclose(found, expected, rtol=1e-12)
    assert (found <= e + 1e-12).all() and (found >= e / 6 - 1e-12).all()
    assert_array_equal(adjust_e_values([[1e300, 0.0], [3.0, 3.0]]), [[5e299, 0.0], [3.0, 3.0]])
    assert adjust_e_values(np.empty((0, 3))).shape == (0, 3)


def test_unchanged_categories_are_named_in_at_most_1_of_20_sequences():
    """Whichever others changed, at any time: half of them do here, and are found."""
    rng, false, true = np.random.default_rng(42), 0, 0
    for _ in range(600):
        groups = rng.integers(0, 4, size=400)
        scores = rng.normal(size=400) + 1.5 * (groups >= 2) * (np.arange(400) >= 150)
        p = OnlinePValues(scores[:100], rng, groups[:100]).update(scores[100:], groups[100:])
        stream = Stream([Mixture() for _ in range(4)], 20, restarts=False)
        logs = stream.update(np.where(groups[100:, None] == np.arange(4), p[:, None], np.nan))
        named = (adjust_e_values(np.exp(logs)) >= 20).any(axis=0)
        false, true = false + named[:2].any(), true + named[2:].all()
    assert false <= most_passes(600)
    assert true > 500
