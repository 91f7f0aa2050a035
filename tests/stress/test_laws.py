"""The laws of whole estimators: training, calibration and new rows are all drawn anew.

Of m new rows the number that an interval or a quantile covers is Beta-binomial, whatever the
system: with a conformal calibration on n rows that leaves out b of the n + 1 gaps between their
signed positions, BetaBin(m, n + 1 - b, b). Each number is turned into one that is uniform on [0, 1]
(its distribution function, at random between steps), so that redraws of different laws, such as
groups of random sizes, are one sample. A Kolmogorov-Smirnov test compares that with the uniform
distribution, and a control, a law with some gaps more left out, must fail by far.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache, partial

import numpy as np
import pytest
from hypothesis import settings

from gt2lite import GT2Regressor, IntervalHead, Recipe
from gt2lite.calibration import plain_fraction, rank
from gt2lite.practice.adaptive import AdaptiveIntervals
from gt2lite.practice.cv_plus import CVPlusRegressor
from gt2lite.practice.distribution import quantile_rank

stats = pytest.importorskip("scipy.stats", reason="needs SciPy")

N_TRAIN, N, M = 24, 49, 60
FINER = Recipe(learning_rate=0.05, batch_size=12)
REJECT, CLEARLY = 1e-5, 1e-9


def n_redraws():
    return max(settings().max_examples, 40)


def draw(rng, n):
    """Return rows of positive targets whose noise leans to one side and grows with an input."""
    X = rng.uniform(-2, 2, size=(n, 2))
    return X, np.exp(0.5 * np.sin(2 * X[:, 0]) + 0.2 * np.exp(X[:, 1] / 2) * rng.gamma(2.0, size=n))


def small(**how):
    return GT2Regressor(n_rules=2, epochs=2, recipe=FINER, **how)


def head():
    base = pytest.importorskip("sklearn.linear_model").LinearRegression()
    return IntervalHead(base, small())


ESTIMATORS = {
    "plain": small,
    "log": partial(small, target_transform="log"),
    "margins": partial(small, margins=0.5, inputs="ranks", n_systems=2, clip_inputs=True),
    "head": head,
}


def gaps(n, level, method="conformal", shares=(1,)):
    """Return how many of the n + 1 gaps an interval leaves out that splits misses by shares."""
    miss, size = 1 - plain_fraction(level), n + (method == "conformal")
    return sum(n + 1 - rank(1 - share * miss, size) for share in shares)


class Laws:
    """Numbers that are uniform if laws hold, by the name of what was covered."""

    def __init__(self, rng):
        self.rng, self.found, self.control = rng, {}, {}

    def add(self, name, inside, n, b):
        """Add how many of m rows are inside, with b of n + 1 gaps left out."""
        if inside.size == 0 or not 0 < b <= n:
            return
        step = max(n // (16 if n_redraws() >= 1000 else 8), 1)
        other = b + step if b + step <= n else b - step
        for law, into in ((b, self.found), (other, self.control)):
            pmf = mass(inside.size, n + 1 - law, law)
            c = int(inside.sum())
            into.setdefault(name, []).append(pmf[:c].sum() + self.rng.random() * pmf[c])

    def p_values(self):
        """Return for each name the p-value of its law and that of its control."""
        return {
            name: tuple(
                stats.kstest(one[name], "uniform").pvalue for one in (self.found, self.control)
            )
            for name in self.found
        }


@cache
def mass(m, a, b):
    return stats.betabinom.pmf(np.arange(m + 1), m, a, b)


def between(y, bounds):
    return (bounds[0] <= y) & (y <= bounds[1])


def redraw(laws, kind, rng, turn):
    """Train and calibrate, in the usual way and, by turns, in one of the others, and count."""
    (X, y), (Xc, yc), (Xt, yt) = (draw(rng, n) for n in (N_TRAIN, N, M))
    reg = ESTIMATORS[kind]().fit(X, y)
    reg.calibrate(Xc, yc)
    levels = [0.5, 0.9]
    for level, lower, upper in zip(
        levels, *np.moveaxis(reg.predict_interval(Xt, levels), 2, 1), strict=True
    ):
        laws.add(f"{kind}: level {level}", between(yt, (lower, upper)), N, gaps(N, level))
    quantiles = [Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)]
    for q, bound in zip(
        quantiles, reg.predict_quantile(Xt, [float(q) for q in quantiles]).T, strict=True
    ):
        laws.add(
            f"{kind}: quantile {float(q)}", yt <= bound, N, N + 1 - quantile_rank(q, N, "conformal")
        )
    u = reg.predict_distribution(Xt[:1]).cdf(yt[:1])[0] + (rng.random() - 0.5) / (N + 1)
    laws.found.setdefault(f"{kind}: distribution", []).append(u)
    laws.control.setdefault(f"{kind}: distribution", []).append(u**3)
    stream = AdaptiveIntervals(reg, 0.8, rate=0.0)
    laws.add(f"{kind}: fixed stream", stream.update(Xt, yt), N, gaps(N, 0.8))
    way = WAYS[kind][turn % len(WAYS[kind])]
    if callable(way):
        way(laws, reg, (Xc, yc), (Xt, yt))
        return
    name, shares, options = way
    reg.calibrate(Xc, yc, **options)
    b = gaps(N, 0.8, options.get("method", "conformal"), shares)
    laws.add(f"{kind}: {name}", between(yt, reg.predict_interval(Xt, 0.8)), N, b)


def by_group(laws, reg, calibration, new):
    """Count in groups by inputs, one of which is at times too small; then it takes the pool."""
    (Xc, yc), (Xt, yt) = calibration, new
    groups, asked = (np.where(X[:, 1] < -1.4, "few", "many") for X in (Xc, Xt))
    reg.calibrate(Xc, yc, groups=groups, small_groups="pool")
    known = np.isin(asked, groups)
    inside = between(yt[known], reg.predict_interval(Xt[known], 0.8, groups=asked[known]))
    for label in ("few", "many"):
        n = int((groups == label).sum())
        if gaps(n, 0.8) > 0:  # else the group takes the pool
            laws.add(f"plain: group {label}", inside[asked[known] == label], n, gaps(n, 0.8))
    reg.calibrate(Xc, yc, groups=np.arange(N) % 17, small_groups="pool")  # all are too small
    inside = between(yt, reg.predict_interval(Xt, 0.8, groups=np.arange(M) % 17))
    laws.add("plain: pool", inside, N, gaps(N, 0.8))


def by_rule(laws, reg, calibration, new):
    """Count in groups by the leading rule, whose sizes are random."""
    (Xc, yc), (Xt, yt) = calibration, new
    reg.calibrate(Xc, yc, groups="rules", min_rows=5, small_groups="pool")
    model, sizes = reg.model_, reg.calibrator_.sizes
    labels = np.array(reg.rule_groups_.labels(model.ensemble, model.scale(Xt)), dtype=object)
    known = np.array([label in sizes for label in labels])
    if not known.all():
        return
    inside = between(yt, reg.predict_interval(Xt, 0.6))
    for label, n in sizes.items():
        if gaps(n, 0.6) > 0:
            laws.add("margins: rules", inside[labels == label], n, gaps(n, 0.6))


def by_weight(laws, reg, calibration, new):
    """Count with weights of 0 and 1: rows of weight 0 do not count."""
    (Xc, yc), (Xt, yt) = calibration, new
    kept = laws.rng.random(N) < 0.6
    n, b = int(kept.sum()), gaps(int(kept.sum()), 0.8)
    reg.calibrate(Xc, yc, sample_weight=kept.astype(float))
    bounds = reg.predict_interval(Xt, 0.8, sample_weight=np.ones(M))
    laws.add("plain: weights", between(yt, bounds), n, b)


HALVES = (Fraction(1, 2), Fraction(1, 2))
WAYS = {  # shares of the misses that bounds leave out, and options
    "plain": [
        ("each", HALVES, {"sides": "each"}),
        ("exact", (1,), {"method": "exact"}),
        by_group,
        by_weight,
    ],
    "log": [
        ("tails", (Fraction(1, 5), Fraction(4, 5)), {"sides": "each", "tails": (0.2, 0.8)}),
        ("lower", (1,), {"sides": "lower"}),
    ],
    "margins": [("upper", (1,), {"sides": "upper", "method": "exact"}), by_rule],
    "head": [("each", HALVES, {"sides": "each", "method": "exact"})],
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ESTIMATORS)
def test_intervals_quantiles_and_distributions_follow_their_laws(kind):
    laws, rng = Laws(np.random.default_rng(0)), np.random.default_rng(1)
    for turn in range(n_redraws()):
        redraw(laws, kind, rng, turn)
    found = laws.p_values()
    for name, (p, control) in found.items():
        n = len(laws.found[name])
        print(f"{name:24} {n:5} numbers, p = {p:.3f}, control {control:.1g}")
    assert min(p for p, _ in found.values()) > REJECT
    enough = [p for name, (_, p) in found.items() if len(laws.found[name]) >= 40]
    assert max(enough) < (CLEARLY if n_redraws() >= 1000 else 1e-4)


@pytest.mark.filterwarnings("ignore")
def test_cv_plus_covers_what_it_promises():
    rng, shares = np.random.default_rng(2), []
    for _ in range(n_redraws()):
        (X, y), (Xt, yt) = draw(rng, 40), draw(rng, M)
        reg = CVPlusRegressor(small(), n_folds=4).fit(X, y)
        shares.append(between(yt, reg.predict_interval(Xt, 0.9)).mean())
    error = np.std(shares) / len(shares) ** 0.5
    print(f"CV+ at 90%: {np.mean(shares):.4f} +- {error:.4f}, promised {reg.promised(0.9):.3f}")
    assert np.mean(shares) > reg.promised(0.9) + 4 * error
    assert abs(np.mean(shares) - 0.9) < 0.05  # in practice about the level
