"""Calibration under attack: every method, option and kind of sample, against brute force.

The intervals are those of a family whose answers are known: sample i has a centre and a
spread to either side, and the plane alpha reaches kappa spreads. So the kappa that just covers
a sample is a division, a level is a rank, and a sorted list has the answer.
"""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from cases import ANSWERED, REFUSED, Wrong, of_kind, watched

from gt2lite._validation import Array
from gt2lite.calibration import (
    CALIBRATORS,
    Calibration,
    CoverageError,
    GroupCalibrator,
    SearchCalibrator,
    TableCalibrator,
    TwoSidedCalibrator,
    restore,
)
from gt2lite.memberships import ALPHA_0, kappa_of

CASES = 20_000
SIZES = (1, 2, 3, 5, 9, 10, 19, 20, 39, 50, 99, 100, 101, 150)
Rng = np.random.Generator


@dataclass
class Family:
    """A nested family of intervals whose calibration is known, and samples."""

    centre: Array
    below: Array
    above: Array
    y: Array
    alpha_min: float

    def __call__(self, alpha: float | Array) -> tuple[Array, Array]:
        """Return the ends of a plane."""
        kappa = kappa_of(alpha)
        return self.centre - kappa * self.below, self.centre + kappa * self.above

    @property
    def grain(self) -> float:
        """How finely margins are told apart: the largest number in sight times 2**-39."""
        return float(2.0**-39 * max(np.abs(end).max() for end in (self.y, *self(self.alpha_min))))

    def needed(self) -> tuple[Array, Array]:
        """Return the kappa and the margin that cover each sample: (2 sides, Q) each."""
        out = np.stack([self.centre - self.y, self.y - self.centre])
        spread = np.stack([self.below, self.above])
        kappa = np.maximum(out, 0) / spread
        widest = kappa_of(self.alpha_min)
        margin = np.where(kappa > widest, out - widest * spread, 0.0)
        return np.where(margin > 0, np.inf, kappa), margin


def draw(rng: Rng) -> Family:
    """Draw a family and samples of it: smooth, tied, discrete, heavy-tailed, on the ends."""
    Q = int(rng.choice(SIZES))
    unit = 10.0 ** rng.uniform(-100, 100) if rng.random() < 0.2 else 1.0
    centre = rng.normal(size=Q) if rng.random() < 0.5 else np.zeros(Q)
    below, above = (rng.uniform(0.2, 2, Q) if rng.random() < 0.5 else np.ones(Q) for _ in "lu")
    how = rng.integers(6)
    if how == 0:
        y = centre + rng.normal(size=Q)
    elif how == 1:
        y = centre + rng.standard_t(1, size=Q)
    elif how == 2:
        y = np.round(rng.normal(size=Q))
    elif how == 3:
        y = centre + rng.choice([-0.5, 0.0, 0.25, 3.0], Q)
    elif how == 4:
        y = np.full(Q, float(rng.normal()))
    else:  # at an end of a plane
        y = centre + rng.choice([0.0, 0.5, 1.0], Q) * above
    lowest = float(rng.choice([ALPHA_0, 1e-3, 1e-8]))
    return Family(unit * centre, unit * below, unit * above, unit * y, lowest)


def draw_levels(rng: Rng, Q: int) -> list[float]:
    """Draw levels, with multiples of 1 / Q and 1 / (Q + 1) among them, in rising order."""
    found = [
        float(rng.choice([0.01, 0.07, 0.29, 0.5, 0.57, 0.9, 0.95, 0.99])),
        float(round(rng.uniform(0.001, 0.999), 4)),
        float(int(rng.integers(1, Q + 1)) / (Q + 1)),
    ]
    if Q > 1:
        found.append(float(int(rng.integers(1, Q)) / Q))
    return sorted(set(found))


def rank(share: Fraction, n: int, method: str) -> int:
    """Return how many of `n` samples must be covered, by exact arithmetic."""
    return math.ceil((n + (method == "conformal")) * share)


def exactly(level: float) -> Fraction:
    """Return the fraction that a level was meant to be."""
    return Fraction(level).limit_denominator(10**6)


# -------------------------------------------------------------------------- checks


def check_cut(
    family: Family, found: tuple[float, float], kappas: Array, margins: Array, k: int
) -> None:
    """Raise `Wrong` unless a plane and margin are those of the k-th smallest score."""
    order = np.lexsort((margins, kappas))
    kappa, margin = float(kappas[order[k - 1]]), float(margins[order[k - 1]])
    alpha, added = found
    lowest = alpha <= family.alpha_min or math.isnan(alpha)
    if lowest and margin <= family.grain and added <= family.grain:
        if kappa < kappa_of(family.alpha_min) * (1 - 1e-10):
            raise Wrong(f"rank {k} has kappa {kappa}, but the plane is {alpha}")
    elif math.isinf(kappa) != math.isnan(alpha):
        raise Wrong(f"rank {k} has kappa {kappa}, but the plane is {alpha}")
    elif math.isnan(alpha):
        if abs(added - margin) > family.grain:
            raise Wrong(f"rank {k} lacks {margin!r}, but the margin is {added!r}")
    elif added != 0 or abs(kappa_of(alpha) - kappa) > 1e-10 * max(kappa, 1):
        raise Wrong(f"rank {k} has kappa {kappa!r}, but the plane has {kappa_of(alpha)!r}")


def n_covered(family: Family, ends: tuple[Array, Array]) -> int:
    """Return how many samples lie within their intervals."""
    lower, upper = ends
    return int(((lower <= family.y) & (family.y <= upper)).sum())


def check_state(calibrator: Calibration, family: Family, levels: list[float], **more: Any) -> None:
    """Raise `Wrong` unless what was stored and restored gives the same bits."""
    meta, arrays = calibrator.get_state()
    again = restore(json.loads(json.dumps(meta)), arrays, family)
    for ours, theirs in zip(
        again.intervals(family, levels, **more),
        calibrator.intervals(family, levels, **more),
        strict=True,
    ):
        if not np.array_equal(ours, theirs):
            raise Wrong("the restored calibrator gives another answer")


def check_nested(calibrator: Calibration, family: Family, levels: list[float], **more: Any) -> None:
    """Raise `Wrong` unless intervals of higher levels contain those of lower ones."""
    lower, upper = calibrator.intervals(family, levels, **more)  # (Q, L)
    if (np.diff(lower, axis=1) > 0).any() or (np.diff(upper, axis=1) < 0).any():
        raise Wrong("an interval leaves that of a higher level")
    if (lower > upper).any() or not (np.isfinite(lower) & np.isfinite(upper)).all():
        raise Wrong("an interval is turned around, or not finite")


# --------------------------------------------------------------------------- kinds


def ranked(rng: Rng, family: Family) -> str:
    """By rank, both ends at once: the k-th score, no more and no less."""
    method = str(rng.choice(["exact", "conformal"]))
    calibrator = CALIBRATORS[method]().fit(family, family.y)
    kappas, margins = (part.max(axis=0) for part in family.needed())
    n, answered = len(family.y), []
    for level in draw_levels(rng, n):
        k = rank(exactly(level), n, method)
        if k > n:
            _must_refuse(lambda level=level: calibrator.alpha(level))
            continue
        answered.append(level)
        check_cut(family, (calibrator.alpha(level), calibrator.margin(level)), kappas, margins, k)
        reached = calibrator.reached(level)
        if reached < k / n or n_covered(family, calibrator.intervals(family, level)) < k:
            raise Wrong(f"{method} reaches {reached} of {k} / {n} at level {level}")
    return _finish(calibrator, family, answered)


def each_side(rng: Rng, family: Family) -> str:
    """By rank, each end by itself."""
    method = str(rng.choice(["exact", "conformal"]))
    calibrator = TwoSidedCalibrator(method).fit(family, family.y)
    kappas, margins = family.needed()
    n, answered = len(family.y), []
    for level in draw_levels(rng, n):
        k = rank((1 + exactly(level)) / 2, n, method)
        if k > n:
            _must_refuse(lambda level=level: calibrator.alpha(level))
            continue
        answered.append(level)
        for side in range(2):
            cut = calibrator.alpha(level)[side], calibrator.margin(level)[side]
            check_cut(family, cut, kappas[side], margins[side], k)
        if n_covered(family, calibrator.intervals(family, level)) < 2 * k - n:
            raise Wrong(f"{method} covers too few at level {level}")
    return _finish(calibrator, family, answered)


def groups(rng: Rng, family: Family) -> str:
    """By rank, each group by itself, or the pool where a group is too small."""
    method, sides = str(rng.choice(["exact", "conformal"])), str(rng.choice(["both", "each"]))
    small = str(rng.choice(["raise", "pool"]))
    n = len(family.y)
    labels = rng.integers(0, min(3, n), n)
    calibrator = GroupCalibrator(method, sides, small_groups=small)
    calibrator.fit(family, family.y, labels)
    kappas, margins = family.needed()
    answered = []
    for level in draw_levels(rng, n):
        share = exactly(level) if sides == "both" else (1 + exactly(level)) / 2
        parts = {int(g): np.flatnonzero(labels == g) for g in np.unique(labels)}
        ranks = {g: rank(share, len(rows), method) for g, rows in parts.items()}
        short = [g for g, rows in parts.items() if ranks[g] > len(rows)]
        if short and (small == "raise" or rank(share, n, method) > n):
            _must_refuse(lambda level=level: calibrator.intervals(family, level, labels))
            continue
        if not short:  # pools need not be nested in what the group itself has
            answered.append(level)
        for g, rows in parts.items():
            rows, k = (slice(None), rank(share, n, method)) if g in short else (rows, ranks[g])
            alpha = np.atleast_1d(calibrator.alpha(level, g))
            margin = np.atleast_1d(calibrator.margin(level, g))
            for side in range(len(alpha)):
                which = side if sides == "each" else slice(None)
                kappa, lack = kappas[which], margins[which]
                if sides == "both":
                    kappa, lack = kappa.max(axis=0), lack.max(axis=0)
                check_cut(
                    family, (float(alpha[side]), float(margin[side])), kappa[rows], lack[rows], k
                )
    return _finish(calibrator, family, answered, groups=labels)


def table(rng: Rng, family: Family) -> str:
    """Method 1: the table counts, and what is read off it lies between its neighbours."""
    step = float(rng.choice([0.005, 0.05, 0.1, 0.3, 1.0, rng.uniform(0.005, 1)]))
    how = str(rng.choice(["linear", "pchip"]))
    calibrator = TableCalibrator(step=step, interpolation=how).fit(family, family.y)
    for phi, alpha in calibrator.table[:: max(len(calibrator.table) // 4, 1)]:
        if n_covered(family, family(float(alpha))) / len(family.y) != phi:
            raise Wrong(f"the table has {phi} for the plane {alpha}")
    answered = _within_envelope(rng, calibrator, family)
    for level in answered:
        alpha = calibrator.alpha(level)
        phis, alphas = calibrator.table.T
        low, high = alphas[phis >= level - 1e-12].max(), alphas[phis <= level + 1e-12]
        if not low - 1e-9 <= alpha <= (high.min() if high.size else 1.0) + 1e-9:
            raise Wrong(f"the plane {alpha} at {level} is not between its neighbours")
    return _finish(calibrator, family, answered)


def search(rng: Rng, family: Family) -> str:
    """Method 2: it ends within its bound, and each step comes nearer."""
    calibrator = SearchCalibrator(
        start=float(rng.uniform(ALPHA_0, 1)),
        step=float(10 ** rng.uniform(-6, 0)),
        shrink=float(rng.choice([0.01, 0.5, 0.9])),
        tolerance=float(rng.choice([0.0, 1e-9, 5e-4, 0.05, 1.0])),
        min_step=float(10 ** rng.uniform(-6, 0)),
    ).fit(family, family.y)
    answered = _within_envelope(rng, calibrator, family)
    for level in answered:
        before = calibrator.n_evaluations
        path = calibrator.path(level)
        used = calibrator.n_evaluations - before
        if used > calibrator.most_evaluations():
            raise Wrong(f"{used} planes, where {calibrator.most_evaluations()} is the bound")
        gaps = [abs(phi - level) for _, phi in path]
        if any(b >= a for a, b in itertools.pairwise(gaps)):
            raise Wrong(f"the search at {level} did not come nearer")
        alpha, phi = path[-1]
        counted = n_covered(family, family(alpha)) / len(family.y)
        if counted != phi or calibrator.reached(level) != phi:
            raise Wrong(f"the plane {alpha} does not cover {phi}")
    if answered:
        check_state(calibrator, family, answered)
    return ANSWERED if answered else REFUSED


def _within_envelope(rng: Rng, calibrator: Any, family: Family) -> list[float]:
    """Return levels that the envelope reaches; the others must be refused."""
    n = len(family.y)
    most = n_covered(family, family(ALPHA_0))
    answered = []
    for level in draw_levels(rng, n):
        if rank(exactly(level), n, "exact") > most:
            _must_refuse(lambda level=level: calibrator.alpha(level))
        else:
            answered.append(level)
    return answered


def _must_refuse(act: Any) -> None:
    try:
        act()
    except CoverageError as error:
        if "coverage" not in str(error):
            raise Wrong(f"the error does not name coverage: {error}") from error
        return
    raise Wrong("a level out of reach was answered")


def _finish(calibrator: Any, family: Family, levels: list[float], **more: Any) -> str:
    if not levels:
        return REFUSED
    check_nested(calibrator, family, levels, **more)
    check_state(calibrator, family, levels, **more)
    return ANSWERED


KINDS = (ranked, each_side, groups, ranked, search, table)


def case(seed: int, index: int) -> tuple[str, str]:
    """Run one case: the kinds take turns."""
    kind = KINDS[index % len(KINDS)]
    name = kind.__name__.replace("_", " ")
    rng = np.random.default_rng([seed, index])
    with of_kind(name), watched():
        return name, kind(rng, draw(rng))
