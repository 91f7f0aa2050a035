"""Unequal tails and one side: ranks by brute force, the guarantee by leaving out and by drawing."""

from __future__ import annotations

import functools
import json
import math

import numpy as np
import pytest
from families import Cone, brute, cone, facts, targets
from hypothesis import given
from hypothesis import strategies as st

from gt2lite.calibration import (
    CoverageError,
    GroupCalibrator,
    TwoSidedCalibrator,
    restore,
)
from gt2lite.memberships import kappa_of

pytestmark = pytest.mark.filterwarnings("ignore::gt2lite.calibration.SmallCalibrationWarning")

TAILS = [(1.0, 0.0), (0.0, 1.0), (0.2, 0.8), (0.75, 0.25)]


def rank_of(n, method, tail, phi):
    """The rank from the definition, in whole thousandths, where no rounding can hurt."""
    right = 1_000_000 - round(1000 * tail) * round(1000 * (1 - phi))
    return -(-(n + (method == "conformal")) * right // 1_000_000)


@functools.cache
def by_brute_force():
    family, y = cone(60)
    return family, y, (brute(family, y, 0), brute(family, y, 1))


@pytest.mark.parametrize("method", ["exact", "conformal"])
@pytest.mark.parametrize("tails", TAILS)
def test_each_end_is_the_rank_of_its_own_scores(method, tails):
    family, y, ends = by_brute_force()
    found = TwoSidedCalibrator(method, tails).fit(family, y)
    lowest = family(family.alpha_min)
    lacking = np.maximum(lowest[0] - y, 0), np.maximum(y - lowest[1], 0)
    for phi in (0.1, 0.5, 0.8, 0.9):
        for end, tail in enumerate(tails):
            alpha, margin = found.alpha(phi)[end], found.margin(phi)[end]
            if tail == 0:
                assert np.isnan(alpha) and margin == np.inf
                continue
            k = rank_of(60, method, tail, phi)
            kappa = np.sort(ends[end])[k - 1]
            if kappa < np.inf:
                assert kappa_of(alpha) == pytest.approx(kappa, abs=1e-8) and margin == 0
            else:
                assert np.isnan(alpha)
                assert margin == pytest.approx(np.sort(lacking[end])[k - 1], rel=1e-9)


def test_equal_tails_are_those_of_the_two_sided_calibrator():
    family, y = cone(200)
    two, tails = TwoSidedCalibrator().fit(family, y), TwoSidedCalibrator().fit(family, y)
    levels = [0.3, 0.8, 0.9, 0.95]
    np.testing.assert_array_equal(two.intervals(family, levels), tails.intervals(family, levels))


@pytest.mark.parametrize("tails", TAILS)
def test_left_out_in_turn_a_sample_is_beyond_an_end_as_rarely_as_promised(tails):
    n = 80
    family, y = cone(n)
    for phi in (0.5, 0.9):
        beyond = np.zeros(2, dtype=int)
        for i in range(n):
            rest = np.delete(np.arange(n), i)
            part = Cone(family.centre[rest], family.below[rest], family.above[rest], 2.0)
            found = TwoSidedCalibrator("conformal", tails).fit(part, y[rest])
            lower, upper = found.intervals(family, phi)
            beyond += [y[i] < lower[i], y[i] > upper[i]]
        for tail, count in zip(tails, beyond, strict=True):
            promised = n * tail * (1 - phi)
            if tail == 0:
                assert count == 0
            elif phi == 0.9:  # no end stops at the output: all but the rounding of ranks is used
                assert count == math.floor(round(promised, 9))
            assert count <= promised + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("tails", [(1.0, 0.0), (0.0, 1.0), (0.2, 0.8)])
def test_new_samples_are_covered_as_promised(tails):
    # The chance of a miss is between tau (1 - phi) - 1 / (Q + 1) and tau (1 - phi), on average over
    # calibration sets; 1,500 sets of 39 with 50 new samples each tell it to about 0.004.
    rng = np.random.default_rng(0)
    Q, phi, missed = 39, 0.8, np.zeros(2)
    for _ in range(1500):
        y, new = rng.gamma(2, size=Q) - 1.5, rng.gamma(2, size=50) - 1.5
        found = TwoSidedCalibrator("conformal", tails).fit(Cone(np.zeros(Q), 1.0, 1.0, 1.5), y)
        lower, upper = found.intervals(Cone(np.zeros(50), 1.0, 1.0, 1.5), phi)
        missed += [(new < lower).mean(), (new > upper).mean()]
    for tail, share in zip(tails, missed / 1500, strict=True):
        assert tail * (1 - phi) - 1 / (Q + 1) - 0.01 < share < tail * (1 - phi) + 0.01


@facts
@given(targets, st.floats(0.01, 0.99), st.sampled_from(TAILS))
def test_the_ends_never_cross_and_no_tail_is_exceeded(values, phi, tails):
    y = np.array(values) / 10
    family = Cone(np.zeros(y.size), 0.7, 0.3, 1.5)
    found = TwoSidedCalibrator("exact", tails).fit(family, y)
    lower, upper = found.intervals(family, phi)
    assert (lower <= upper).all()
    assert (y < lower).mean() <= tails[0] * (1 - phi) + 1e-9
    assert (y > upper).mean() <= tails[1] * (1 - phi) + 1e-9
    assert found.reached(phi) == ((lower <= y) & (y <= upper)).mean()


def test_levels_out_of_reach_are_told_with_the_way_out():
    family, y = cone(30)
    one, unequal = (
        TwoSidedCalibrator("conformal", (0, 1)),
        TwoSidedCalibrator("conformal", (0.1, 0.9)),
    )
    one.fit(family, y), unequal.fit(family, y)
    assert np.isfinite(one.margin(30 / 31)[1])  # 31 * 30 / 31 is the last
    with pytest.raises(CoverageError, match=r"30 calib.* up to 0\.9677; .* at least 49 samples"):
        one.alpha(0.98)
    with pytest.raises(CoverageError, match=r"up to 0\.6774 for a bound with 0\.1 of"):
        unequal.alpha(0.9)
    unequal.alpha(0.6774)
    with pytest.raises(CoverageError, match=r"at least 99 samples"):
        unequal.alpha(0.9)
    family, y = cone(99)
    TwoSidedCalibrator("conformal", (0.1, 0.9)).fit(family, y).alpha(0.9)


@pytest.mark.parametrize("bad", [0.2, (0.2, 0.7), (1.2, -0.2), (1,), (0.2, 0.3, 0.5), "lower"])
def test_tails_that_are_none_are_named(bad):
    with pytest.raises(ValueError, match="tails must"):
        TwoSidedCalibrator("conformal", bad)


def test_groups_have_tails_of_their_own():
    family, y = cone(200)
    groups = np.arange(200) % 2
    found = GroupCalibrator("conformal", "each", tails=(0.2, 0.8)).fit(family, y, groups)
    for g in (0, 1):
        rows = groups == g
        part = Cone(family.centre[rows], family.below[rows], family.above[rows], 2.0)
        alone = TwoSidedCalibrator("conformal", (0.2, 0.8)).fit(part, y[rows])
        np.testing.assert_array_equal(
            np.array(found.intervals(family, 0.9, groups))[:, rows], alone.intervals(part, 0.9)
        )
    small = groups.copy()
    small[5:] = 1
    with pytest.raises(CoverageError, match=r"group 0 is too small"):
        GroupCalibrator(sides="each", tails=(0, 1)).fit(family, y, small).alpha(0.9, 0)
    pooled = GroupCalibrator(sides="each", tails=(0, 1), small_groups="pool").fit(family, y, small)
    whole = TwoSidedCalibrator(tails=(0, 1)).fit(family, y)
    with pytest.warns(UserWarning, match="take the plane of all"):
        np.testing.assert_array_equal(pooled.margin(0.95, 0), whole.margin(0.95))
    with pytest.raises(ValueError, match="tails must"):
        GroupCalibrator(sides="both", tails=(0, 1))


@pytest.mark.parametrize("grouped", [False, True])
def test_a_state_comes_back_from_a_header(grouped):
    family, y = cone(120)
    labels = ("a", "b") * 60
    kind = GroupCalibrator if grouped else TwoSidedCalibrator
    sides = ["each"] * grouped
    found = kind("conformal", *sides, tails=(0.25, 0.75)).fit(family, y, *[labels] * grouped)
    meta, arrays = found.get_state()
    again = restore(json.loads(json.dumps(meta)), arrays)
    assert type(again) is kind and again.tails == (0.25, 0.75)
    asked = (family, [0.5, 0.9], *[labels] * grouped)
    np.testing.assert_array_equal(found.intervals(*asked), again.intervals(*asked))
    with pytest.raises(ValueError, match="not the state of a"):
        restore(meta | {"options": {"tails": [1, 1]}}, arrays)
