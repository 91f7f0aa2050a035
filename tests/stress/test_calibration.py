"""Calibration against brute force, on families of intervals whose calibration is known.

Sample i has a centre and a half-width to either side; the plane alpha reaches kappa half-widths.
So the kappa that just covers a sample is a division, a level is a rank, and a sorted list has the
answer.
"""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from cases import seeds
from hypothesis import given
from hypothesis import strategies as st

from gt2lite.calibration import CoverageError, PlainFamily
from gt2lite.memberships import ALPHA_0, kappa_of
from gt2lite.practice.calibrators import (
    GroupCalibrator,
    RankCalibrator,
    make_calibrator,
    restore,
)

pytestmark = pytest.mark.filterwarnings("ignore")
methods = st.sampled_from(["exact", "conformal"])


@dataclass
class Family(PlainFamily):
    """A nested family of intervals, and samples."""

    centre: np.ndarray
    below: np.ndarray
    above: np.ndarray
    y: np.ndarray
    alpha_min: float

    def __call__(self, alpha):
        kappa = kappa_of(alpha)
        return self.centre - kappa * self.below, self.centre + kappa * self.above

    @property
    def grain(self):
        """The resolution of margins: the largest number in sight times 2**-39."""
        return float(2.0**-39 * max(np.abs(b).max() for b in (self.y, *self(self.alpha_min))))

    def needed(self):
        """Return the kappa and the margin that cover each sample, for each side: (2, Q) each."""
        out = np.stack([self.centre - self.y, self.y - self.centre])
        half = np.stack([self.below, self.above])
        kappa = np.maximum(out, 0) / half
        widest = kappa_of(self.alpha_min)
        margin = np.where(kappa > widest, out - widest * half, 0.0)
        return np.where(margin > 0, np.inf, kappa), margin

    def n_covered(self, bounds):
        lower, upper = bounds
        return int(((lower <= self.y) & (self.y <= upper)).sum())


@st.composite
def families(draw):
    """Draw a family with samples: smooth, heavy-tailed, discrete, tied, on the bounds."""
    rng = np.random.default_rng(draw(seeds))
    Q = draw(st.sampled_from([1, 2, 3, 5, 9, 10, 19, 20, 39, 50, 99, 100, 101]))
    unit = draw(st.sampled_from([1.0, 1.0, 1e-90, 1e90]))
    centre = rng.normal(size=Q) * draw(st.booleans())
    below, above = (rng.uniform(0.2, 2, Q) if draw(st.booleans()) else np.ones(Q) for _ in "lu")
    y = {
        "normal": centre + rng.normal(size=Q),
        "Cauchy": centre + rng.standard_t(1, size=Q),
        "integer": np.round(rng.normal(size=Q)),
        "tied": centre + rng.choice([-0.5, 0.0, 0.25, 3.0], Q),
        "constant": np.full(Q, float(rng.normal())),
        "on a bound": centre + rng.choice([0.0, 0.5, 1.0], Q) * above,
    }[draw(st.sampled_from(["normal", "Cauchy", "integer", "tied", "constant", "on a bound"]))]
    lowest = draw(st.sampled_from([ALPHA_0, 1e-3, 1e-8]))
    return Family(unit * centre, unit * below, unit * above, unit * y, lowest)


@st.composite
def families_and_levels(draw):
    """Draw a family and rising levels, multiples of 1 / Q and 1 / (Q + 1) among them."""
    family = draw(families())
    Q = len(family.y)
    found = {draw(st.sampled_from([0.01, 0.29, 0.5, 0.57, 0.9, 0.95, 0.99]))}
    found |= {draw(st.integers(1, Q)) / (Q + 1), round(draw(st.floats(0.001, 0.999)), 4)}
    if Q > 1:
        found.add(draw(st.integers(1, Q - 1)) / Q)
    return family, sorted(found)


def exactly(level):
    return Fraction(level).limit_denominator(10**6)


def rank(share, n, method):
    """Return how many of `n` samples must be covered, by exact arithmetic."""
    return math.ceil((n + (method == "conformal")) * share)


def check_cut(family, found, kappas, margins, k):
    """Assert that a plane and margin are those of the k-th smallest score."""
    order = np.lexsort((margins, kappas))
    kappa, margin = float(kappas[order[k - 1]]), float(margins[order[k - 1]])
    alpha, added = found
    lowest = alpha <= family.alpha_min or math.isnan(alpha)
    if lowest and margin <= family.grain and added <= family.grain:
        assert kappa >= kappa_of(family.alpha_min) * (1 - 1e-10)
        return
    assert math.isinf(kappa) == math.isnan(alpha)
    if math.isnan(alpha):
        assert abs(added - margin) <= family.grain
    else:
        assert added == 0
        assert abs(kappa_of(alpha) - kappa) <= 1e-10 * max(kappa, 1)


def check_intervals(calibrator, family, levels, **more):
    """Assert that intervals are finite and nested, and the same after a round trip by JSON."""
    if not levels:
        return
    lower, upper = calibrator.intervals(family, levels, **more)  # (Q, L)
    assert np.isfinite(lower).all() and np.isfinite(upper).all() and (lower <= upper).all()
    assert (np.diff(lower, axis=1) <= 0).all() and (np.diff(upper, axis=1) >= 0).all()
    meta, arrays = calibrator.get_state()
    again = restore(json.loads(json.dumps(meta)), arrays)
    for ours, theirs in zip(again.intervals(family, levels, **more), (lower, upper), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def check_refused(act):
    with pytest.raises(CoverageError, match="coverage"):
        act()


def tail_shares(tails, level):
    """Return the share of samples that each bound, or both together, may miss."""
    return [Fraction(str(tail)) * (1 - exactly(level)) for tail in tails or (1,)]


@given(families_and_levels(), methods, st.sampled_from([None, (0.5, 0.5), (0.2, 0.8)]))
def test_each_plane_has_the_rank_of_its_tail(drawn, method, tails):
    family, levels = drawn
    sides = ("each", tails) if tails else ()
    calibrator = RankCalibrator(method, *sides).fit(family, family.y)
    kappas, margins = family.needed()  # (2, Q)
    if tails is None:
        kappas, margins = kappas.max(axis=0)[None], margins.max(axis=0)[None]
    n, answered = len(family.y), []
    for level in levels:
        ranks = [rank(1 - share, n, method) for share in tail_shares(tails, level)]
        if max(ranks) > n:
            check_refused(lambda level=level: calibrator.alpha(level))
            continue
        answered.append(level)
        cuts = np.ravel(calibrator.alpha(level)), np.ravel(calibrator.margin(level))
        for side, k in enumerate(ranks):
            check_cut(family, (cuts[0][side], cuts[1][side]), kappas[side], margins[side], k)
        n_covered = family.n_covered(calibrator.intervals(family, level))
        assert calibrator.reached(level) == n_covered / n
        assert n_covered >= sum(ranks) - (len(ranks) - 1) * n
    check_intervals(calibrator, family, answered)


@given(families_and_levels(), methods, st.sampled_from(["raise", "pool"]), seeds)
def test_each_group_has_the_rank_of_its_level_or_that_of_the_pool(drawn, method, small, seed):
    family, levels = drawn
    n = len(family.y)
    labels = np.random.default_rng(seed).integers(0, min(3, n), n)
    calibrator = GroupCalibrator(method, "both", small_groups=small)
    calibrator.fit(family, family.y, labels)
    kappas, margins = (part.max(axis=0) for part in family.needed())
    answered = []
    for level in levels:
        parts = {int(g): np.flatnonzero(labels == g) for g in np.unique(labels)}
        ranks = {g: rank(exactly(level), len(rows), method) for g, rows in parts.items()}
        short = [g for g, rows in parts.items() if ranks[g] > len(rows)]
        pooled = rank(exactly(level), n, method)
        if short and (small == "raise" or pooled > n):
            check_refused(lambda level=level: calibrator.intervals(family, level, labels))
            continue
        if not short:  # the pool's intervals need not contain those of a group
            answered.append(level)
        for g, rows in parts.items():
            chosen, k = (slice(None), pooled) if g in short else (rows, ranks[g])
            cut = float(calibrator.alpha(level, g)), float(calibrator.margin(level, g))
            check_cut(family, cut, kappas[chosen], margins[chosen], k)
    check_intervals(calibrator, family, answered, groups=labels)


def within_envelope(calibrator, family, levels):
    """Return the levels that the lowest plane reaches; assert that others are refused."""
    most, answered = family.n_covered(family(ALPHA_0)), []
    for level in levels:
        if rank(exactly(level), len(family.y), "exact") > most:
            check_refused(lambda level=level: calibrator.alpha(level))
        else:
            answered.append(level)
    return answered


@given(families_and_levels(), st.floats(0.005, 1), st.sampled_from(["linear", "pchip"]))
def test_the_lookup_table_counts_and_interpolates_between_neighbours(drawn, step, interpolation):
    family, levels = drawn
    options = {"step": step, "interpolation": interpolation}
    calibrator = make_calibrator("table", "both", False, options).fit(family, family.y)
    for phi, alpha in calibrator.table[:: max(len(calibrator.table) // 4, 1)]:
        assert family.n_covered(family(float(alpha))) / len(family.y) == phi
    answered = within_envelope(calibrator, family, levels)
    for level in answered:
        phis, alphas = calibrator.table.T
        low, high = alphas[phis >= level - 1e-12].max(), alphas[phis <= level + 1e-12]
        assert low - 1e-9 <= calibrator.alpha(level)
        assert calibrator.alpha(level) <= (high.min() if high.size else 1.0) + 1e-9
    check_intervals(calibrator, family, answered)


@given(
    families_and_levels(),
    st.fixed_dictionaries(
        {
            "start": st.floats(ALPHA_0, 1),
            "step": st.floats(-6, 0).map(lambda power: 10**power),
            "shrink": st.sampled_from([0.01, 0.5, 0.9]),
            "tolerance": st.sampled_from([0.0, 1e-9, 5e-4, 0.05, 1.0]),
            "min_step": st.floats(-6, 0).map(lambda power: 10**power),
        }
    ),
)
def test_no_search_looks_at_more_planes_than_its_bound(drawn, options):
    family, levels = drawn
    calibrator = make_calibrator("search", "both", False, options).fit(family, family.y)
    for level in within_envelope(calibrator, family, levels):
        before = calibrator.n_evaluations
        path = calibrator.path(level)
        assert calibrator.n_evaluations - before <= 2 + 2 * (len(family.y) + 132)
        gaps = [abs(phi - level) for _, phi in path]
        assert all(b < a for a, b in itertools.pairwise(gaps))
        alpha, phi = path[-1]
        assert family.n_covered(family(alpha)) / len(family.y) == phi == calibrator.reached(level)
