"""The two methods of the paper: a table of planes, and a search among them."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from families import BY_HAND, Steps, bands, facts, few
from hypothesis import given
from hypothesis import strategies as st

from gt2lite.calibration import ExactCalibrator, SearchCalibrator, TableCalibrator
from gt2lite.memberships import ALPHA_0

# ---------------------------------------------------------------------- Method 1


@few
def test_method_1_by_hand():
    family = Steps(BY_HAND)
    table = TableCalibrator(step=0.1).fit(family, family.y)
    # .9 is reached by three planes (.2, .1, .01): the largest stays.
    assert table.table.tolist() == [
        [0.1, 1.0], [0.2, 0.9], [0.3, 0.8], [0.4, 0.7], [0.5, 0.6],
        [0.6, 0.5], [0.7, 0.4], [0.8, 0.3], [0.9, 0.2],
    ]  # fmt: skip
    assert table.alpha(0.9) == 0.2
    # .73 lies three tenths of the way from (.7, .4) to (.8, .3): .4 - .03.
    assert table.alpha(0.73) == pytest.approx(0.37)
    # No table has the plane .37; the edges from .45 upwards cover there, seven of ten.
    assert table.reached(0.73) == 0.7
    assert table.alpha(0.05) == 1.0  # the narrowest plane covers more than that
    assert table.max_coverage == 0.9


@few
@pytest.mark.parametrize(
    ("step", "planes"),
    [
        (0.1, [0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]),
        (0.7, [0.01, 0.7, 1.0]),
        (0.005, [k / 200 for k in range(2, 201)]),  # nothing below alpha_0, and that once
    ],
)
def test_the_table_has_alpha_0_the_multiples_of_its_step_and_1(step, planes):
    family = Steps(BY_HAND)
    TableCalibrator(step=step).fit(family, family.y)
    assert sorted(family.calls) == planes  # to the bit: no 0.30000000000000004


def test_a_table_of_one_entry_answers_every_level_with_it():
    pytest.importorskip("scipy")
    family = Steps(np.ones(100))  # the narrowest plane covers all
    for interpolation in ("linear", "pchip"):
        table = TableCalibrator(interpolation=interpolation).fit(family, family.y)
        assert table.table.tolist() == [[1.0, 1.0]]
        assert table.alpha(0.5) == 1.0


def test_pchip_goes_through_the_table_and_falls_in_between(monkeypatch):
    pytest.importorskip("scipy")
    family, y = bands(200)
    y[:20] = 0.0  # a tenth is covered by every plane
    curved = TableCalibrator(step=0.3, interpolation="pchip").fit(family, y)
    straight = TableCalibrator(step=0.3).fit(family, y)
    phi, alpha = curved.table.T
    np.testing.assert_allclose(curved.alpha(phi), alpha, rtol=1e-12)
    assert (np.diff(curved.alpha(np.linspace(0.01, 0.99, 200))) <= 0).all()
    assert abs(curved.alpha(0.9) - straight.alpha(0.9)) > 0.01  # the choice matters
    assert curved.alpha(0.05) == 1.0
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(ImportError, match=r"needs SciPy.*pip install scipy.*linear"):
        TableCalibrator(interpolation="pchip")


# ---------------------------------------------------------------------- Method 2


@few
def test_method_2_by_hand():
    family = Steps(BY_HAND)
    search = SearchCalibrator().fit(family, family.y)
    # For .9: at .4 coverage is .7; to the sides .8 at .3 and .6 at .5: down.
    #         at .3 it is .8;       to the sides .9 at .2 and .7 at .4: down, and there.
    assert search.path(0.9) == [(0.4, 0.7), (0.3, 0.8), (0.2, 0.9)]
    assert search.alpha(0.9) == 0.2
    assert search.converged(0.9)
    assert search.reached(0.9) == 0.9
    # Looked at: .01 by fit, then .4, .3, .5, .2.
    assert search.n_evaluations == 5
    # For .62: up to .5 (.6), then .02 away for good: .4 and .6 are worse, .45 and .55 no better.
    assert search.path(0.62) == [(0.4, 0.7), (0.5, 0.6)]
    assert search.alpha(0.62) == 0.5
    assert not search.converged(0.62)
    # New planes: .6, then two for each of the steps .1 / 2**k that are at least 1e-4, k = 1 to 9.
    assert search.n_evaluations == 5 + 1 + 2 * 9
    # Ten samples have coverages 0, .1, ..., 1: as printed, the search for .62 does not end.
    assert printed_search(family.coverage, 0.62, 0.4, 0.0005, max_rounds=2000) is None


@few
def test_where_both_sides_are_equally_better_the_search_goes_down():
    # Coverage falls with alpha, so in a nested family at most one side is nearer to the level;
    # the printed rule for both is pinned on a family that is not nested.
    phi = {ALPHA_0: 4, 0.3: 2, 0.4: 1, 0.5: 2}

    def interval(alpha):
        return np.zeros(4), np.where(np.arange(4) < phi[alpha], 1.0, 0.0)

    search = SearchCalibrator().fit(interval, np.ones(4))
    assert search.path(0.5) == [(0.4, 0.25), (0.3, 0.5)]


def printed_search(phi_of, level, alpha, tolerance, max_rounds, step=0.1, shrink=0.5):
    """Algorithm 4 line by line, with alpha_init put in and a limit; None where it had not ended."""
    phi = phi_of(alpha)
    for _ in range(max_rounds):
        if abs(phi - level) < tolerance:
            return alpha
        up, down = round(min(alpha + step, 1), 12), round(max(alpha - step, ALPHA_0), 12)
        phi_up, phi_down = phi_of(up), phi_of(down)
        better_up = abs(phi_up - level) < abs(phi - level)
        better_down = abs(phi_down - level) < abs(phi - level)
        if better_up and better_down:
            if abs(phi_up - level) < abs(phi_down - level):
                alpha, phi = up, phi_up
            else:
                alpha, phi = down, phi_down
        elif better_up:
            alpha, phi = up, phi_up
        elif better_down:
            alpha, phi = down, phi_down
        else:
            step *= shrink
    return None


@few
@facts
@given(
    edges=st.lists(st.floats(0.001, 1), min_size=1, max_size=40),
    level=st.floats(0.001, 0.999),
    start=st.floats(ALPHA_0, 1),
)
def test_the_search_is_the_printed_one_wherever_that_ends(edges, level, start):
    family = Steps(edges)
    search = SearchCalibrator(start, tolerance=0.02).fit(family, family.y)
    if level > search.max_coverage:
        return
    printed = printed_search(family.coverage, level, start, 0.02, max_rounds=60)
    if search.converged(level):
        assert printed == search.alpha(level)


def test_the_search_stalls_on_a_plateau_and_says_so():
    # Half of the samples are covered up to .95, the other half up to .05: coverage is .5 from .05
    # to .95, and no step from .4 ever sees anything else.
    family = Steps(np.repeat([0.95, 0.05], 50))
    search = SearchCalibrator().fit(family, family.y)
    assert search.path(0.9) == [(0.4, 0.5)]
    assert search.reached(0.9) == 0.5
    assert not search.converged(0.9)
    exact = ExactCalibrator().fit(family, family.y)  # though there is a plane
    assert exact.reached(0.9) == 1.0
    assert exact.alpha(0.9) == pytest.approx(0.05)
