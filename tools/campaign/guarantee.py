"""The guarantee under redraws: calibration and test rows change, the trained system does not.

With rank k of n calibration rows, the number of m new rows that are covered is Beta-binomial,
BetaBin(m, k, n + 1 - k), whatever the data, as long as rows are exchangeable and scores have no
ties. The mean over many redraws must agree with that law, and must not lie below the level.
Two controls break the conditions; the same check must find both, or it would find nothing.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from cases import Tally

from gt2lite import GT2Regressor, IntervalHead, load_dataset
from gt2lite._validation import Array

CASES = 1000
"""Redraws for each of the settings below."""
N, M, LEVEL = 59, 100, 0.9
ENOUGH = 300
"""Redraws without which a control might not be found out."""
FAR = 4.5
"""Standard errors beyond which a mean does not agree with its law: chance does so once in 1e5."""


@dataclass
class Pool:
    """A trained system and rows that it has not seen."""

    name: str
    reg: GT2Regressor | IntervalHead
    X: Array
    y: Array

    def redraws(self, cases: int, seed: int, n: int = N) -> Iterator[tuple[Array, Array]]:
        """Yield calibration and test rows, drawn anew."""
        rng = np.random.default_rng([seed, n])
        for _ in range(cases):
            rows = rng.choice(len(self.y), n + M, replace=False)
            yield rows[:n], rows[n:]

    def covered(
        self, calibration: Array, test: Array, groups: Any = None, **how: Any
    ) -> tuple[Array, Array]:
        """Calibrate, and return which test rows are not below, and not above, their intervals."""
        there, here = (None, None) if groups is None else (groups[calibration], groups[test])
        self.reg.calibrate(self.X[calibration], self.y[calibration], groups=there, **how)
        lower, upper = self.reg.predict_interval(self.X[test], coverage=LEVEL, groups=here)
        return lower <= self.y[test], self.y[test] <= upper


def synthetic(seed: int) -> Pool:
    """Return a pool whose noise grows to one side and is not symmetric."""
    rng = np.random.default_rng([seed, 1])
    X = rng.uniform(-2, 2, size=(2600, 2))
    y = np.sin(2 * X[:, 0]) + np.exp(0.4 * X[:, 1]) * (rng.gamma(2.0, size=2600) - 2)
    return _pool("synthetic", X, y, 600)


def power_plant(seed: int) -> Pool:
    """Return a pool of rows of the power plant."""
    data = load_dataset("pp")
    table = np.unique(np.column_stack([data.X, data.y]), axis=0)  # no row twice: no ties
    table = np.random.default_rng([seed, 2]).permutation(table)
    return _pool("PP", table[:, :-1], table[:, -1], 2000)


def several(seed: int) -> Pool:
    """Return the first pool with three systems and margins between planes and a constant."""
    pool = synthetic(seed)
    few, rest = slice(0, 400), slice(400, None)
    reg = GT2Regressor(
        n_rules=4, epochs=20, learning_rate=0.01, objective="aligned", n_systems=3, margins=0.5
    )
    return Pool("three systems", reg.fit(pool.X[few], pool.y[few]), pool.X[rest], pool.y[rest])


def headed(seed: int) -> Pool:
    """Return the first pool with a head on a model that knows its training rows by heart."""
    from sklearn.neighbors import KNeighborsRegressor

    pool = synthetic(seed)
    rng = np.random.default_rng([seed, 5])
    use = rng.permutation(len(pool.y))
    few, rest = use[:400], use[400:]
    system = GT2Regressor(n_rules=4, epochs=20, learning_rate=0.01, objective="aligned")
    head = IntervalHead(KNeighborsRegressor(1), system).fit(pool.X[few], pool.y[few])
    return Pool("head", head, pool.X[rest], pool.y[rest])


def _pool(name: str, X: Array, y: Array, n_train: int) -> Pool:
    reg = GT2Regressor(n_rules=4, epochs=20, learning_rate=0.01).fit(X[:n_train], y[:n_train])
    return Pool(name, reg, X[n_train:], y[n_train:])


# --------------------------------------------------------------------------- the law


def agrees(counts: Array, level: Fraction, n: int, *, at_least: bool = False) -> str:
    """Return "" where counts out of `M` agree with the law of the guarantee, else what is wrong.

    Args:
        counts: rows covered, one count for each redraw.
        level: what is promised.
        n: calibration rows.
        at_least: whether more is fine as well.
    """
    k = math.ceil((n + 1) * level)
    mean = k / (n + 1)
    spread = math.sqrt(mean * (1 - mean) / (n + 2) * (n + 1 + M) / M)  # of a share of M rows
    error = spread / math.sqrt(len(counts))
    found = float(np.mean(counts)) / M
    if found < float(level) - FAR * error:
        return f"mean coverage {found:.4f} is below the level {float(level):.4f}"
    if abs(found - mean) > FAR * error and not (at_least and found > mean):
        return f"mean coverage {found:.4f} is not the law's {mean:.4f} (error {error:.4f})"
    return ""


# ------------------------------------------------------------------------- settings


def both_sides(pool: Pool, cases: int, seed: int) -> list[str]:
    """One plane for both ends."""
    counts = [
        np.logical_and(*pool.covered(cal, test, method="conformal")).sum()
        for cal, test in pool.redraws(cases, seed)
    ]
    return [agrees(np.array(counts), Fraction(9, 10), N)]


def each_side(pool: Pool, cases: int, seed: int) -> list[str]:
    """A plane for each end: each tail has a law of its own, both together the union bound."""
    found = [
        pool.covered(cal, test, method="conformal", sides="each")
        for cal, test in pool.redraws(cases, seed)
    ]
    below, above = np.array(found).sum(axis=2).T
    inside = np.array([np.logical_and(*pair).sum() for pair in found])
    tails = [agrees(counts, Fraction(19, 20), N) for counts in (below, above)]
    return [*tails, agrees(inside, Fraction(9, 10), N, at_least=True)]


def by_groups(pool: Pool, cases: int, seed: int) -> list[str]:
    """A plane for each group: the law holds for each of them."""
    groups = (pool.X[:, 0] > np.median(pool.X[:, 0])).astype(int)
    parts = [np.flatnonzero(groups == g) for g in range(2)]
    rng = np.random.default_rng([seed, 3])
    counts: list[list[int]] = [[], []]
    for _ in range(cases):
        rows = np.stack([rng.choice(part, N + M, replace=False) for part in parts])
        cal, test = rows[:, :N].ravel(), rows[:, N:].ravel()
        inside = np.logical_and(*pool.covered(cal, test, groups, method="conformal"))
        for g in range(2):
            counts[g].append(int(inside[groups[test] == g].sum()))
    return [agrees(np.array(count), Fraction(9, 10), N) for count in counts]


POOLS = (synthetic, power_plant, several, headed)
Setting = Callable[[Pool, int, int], list[str]]
SETTINGS: tuple[Setting, ...] = (both_sides, each_side, by_groups)


# ------------------------------------------------------------------------- controls


def calibrated_on_training_rows(cases: int, seed: int) -> str:
    """Break the condition: calibrate an overfitted system on the rows that it has learnt."""
    rng = np.random.default_rng([seed, 4])
    X = rng.normal(size=(2100, 3))
    y = rng.normal(size=2100)
    reg = GT2Regressor(n_rules=30, epochs=400, batch_size=N, learning_rate=0.05, coverage=0.5)
    pool = Pool("overfitted", reg.fit(X[:N], y[:N]), X, y)
    counts = [
        np.logical_and(
            *pool.covered(
                np.arange(N), rng.choice(np.arange(N, 2100), M, replace=False), method="conformal"
            )
        ).sum()
        for _ in range(cases)
    ]
    return agrees(np.array(counts), Fraction(9, 10), N)


def exact_at_a_small_set(cases: int, seed: int) -> str:
    """Leave the rank of caution out: "exact" with 20 calibration rows covers 18 / 21, not 0.9."""
    pool, n = synthetic(seed), 20
    counts = [
        np.logical_and(*pool.covered(cal, test, method="exact")).sum()
        for cal, test in pool.redraws(cases, seed, n)
    ]
    return agrees(np.array(counts), Fraction(9, 10), n)


CONTROLS = (calibrated_on_training_rows, exact_at_a_small_set)


# ----------------------------------------------------------------------------- run


def run(cases: int, seed: int, jobs: int = 1) -> list[Tally]:
    """Redraw so often for each setting; controls must be found out."""
    from joblib import Parallel, delayed

    tasks = [(make, setting) for make in POOLS for setting in SETTINGS]
    settings = (delayed(_setting)(make, setting, cases, seed) for make, setting in tasks)
    controls = (delayed(_control)(control, cases, seed) for control in CONTROLS)
    return list(Parallel(n_jobs=jobs)([*settings, *controls]))


def _setting(make: Callable[[int], Pool], setting: Setting, cases: int, seed: int) -> Tally:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # small sets are the point
        pool = make(seed)
        found = [words for words in setting(pool, cases, seed) if words]
    name = f"{pool.name}, {setting.__name__.replace('_', ' ')}"
    told = [f"{name}: {words}" for words in found]
    return Tally(name, cases, 0, cases if not found else 0, len(found), told)


def _control(control: Callable[[int, int], str], cases: int, seed: int) -> Tally:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = control(max(cases, ENOUGH), seed)
    name = f"control: {control.__name__.replace('_', ' ')}"
    told = (
        [] if "below the level" in found else [f"{name}: was not found out ({found or 'agrees'})"]
    )
    return Tally(name, cases, 0 if told else cases, 0, len(told), told)
