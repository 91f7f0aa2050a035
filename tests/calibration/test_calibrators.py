"""From coverage to plane: the two methods of the paper, the exact one and the conformal one."""

from __future__ import annotations

import json
import pickle
import re
import sys
from collections import Counter
from fractions import Fraction
from itertools import pairwise
from math import ceil

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gt2lite.calibration import (
    CALIBRATORS,
    HALVINGS,
    ConformalCalibrator,
    CoverageError,
    ExactCalibrator,
    SearchCalibrator,
    SmallCalibrationWarning,
    TableCalibrator,
    covers,
    critical_alpha,
    rank,
)
from gt2lite.memberships import ALPHA_0, alpha_of, kappa_of
from gt2lite.starts import init_params
from gt2lite.system import Planes

few = pytest.mark.filterwarnings("ignore::gt2lite.calibration.SmallCalibrationWarning")
# A busy machine is no failure of the method.
facts = settings(deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
each_method = pytest.mark.parametrize("method", sorted(CALIBRATORS))
of_the_paper = pytest.mark.parametrize("method", ["search", "table"])  # the others go on


class Steps:
    """A nested family whose sample i is covered up to alpha = edges[i]; it counts its calls."""

    def __init__(self, edges):
        self.edges = np.asarray(edges, dtype=float)
        self.y = np.zeros(self.edges.size)
        self.calls = []

    def __call__(self, alpha):
        self.calls.append(alpha)
        return self.y - 1, np.where(alpha <= self.edges, 1.0, -0.5)

    def coverage(self, alpha):
        return np.mean(alpha <= self.edges)


class Bands:
    """A smooth nested family: sample i is covered from kappa = |y[i]| / width[i] onwards."""

    def __init__(self, n, seed=0, spread=0.5):
        rng = np.random.default_rng(seed)
        self.width = rng.uniform(0.5, 2, size=n)
        self.y = self.width * rng.normal(scale=spread, size=n)

    def __call__(self, alpha):
        return -kappa_of(alpha) * self.width, kappa_of(alpha) * self.width


# Ten samples, of which the widest plane misses one. Coverage, from the definition:
#   alpha     1   .9   .8   .7   .6   .5   .4   .3   .2   .1  .01
#   coverage .1   .2   .3   .4   .5   .6   .7   .8   .9   .9   .9
BY_HAND = (1.0, 0.95, 0.85, 0.75, 0.65, 0.55, 0.45, 0.35, 0.25, 0.005)


def test_both_ends_belong_to_an_interval():
    y = np.array([0.0, 1.0, np.nextafter(0, -1), np.nextafter(1, 2)])
    assert covers(y, np.zeros(4), np.ones(4)).tolist() == [True, True, False, False]


def test_ends_of_another_length_are_an_error():
    with pytest.raises(ValueError, match=r"upper must be a row of 2 values, got shape \(1,\)"):
        covers([0.0, 1.0], [0.0, 0.0], [1.0])


# ------------------------------------------------------------------------- ranks


def test_a_rank_is_exact_for_every_percentage():
    for n in range(1, 301):
        for percent in range(1, 100):
            assert rank(percent / 100, n) == -(-n * percent // 100)


def test_a_rank_agrees_with_the_level_as_written():
    for level in (0.07, 0.29, 0.57, 0.999, 0.123456, 1e-5):
        for n in (1, 99, 100, 734, 1435):
            assert rank(level, n) == ceil(n * Fraction(str(level)))


def test_the_share_of_k_in_n_asks_for_k():
    for n in range(2, 200):
        assert [rank(k / n, n) for k in range(1, n)] == list(range(1, n))


def test_a_rank_forgives_the_rounding_of_a_computed_level():
    assert rank(1 - 0.93, 100) == 7  # 0.06999999999999995
    assert rank(0.1 + 0.2, 10) == 3  # 0.30000000000000004


def test_the_rank_of_an_extreme_level_stays_within_the_samples():
    assert rank(1e-12, 10) == 1
    assert rank(1 - 1e-12, 10) == 10


# ---------------------------------------------------------------------- Method 1


@few
def test_method_1_by_hand():
    family = Steps(BY_HAND)
    table = TableCalibrator(step=0.1).fit(family, family.y)
    # .9 is reached by three planes (.2, .1, .01): the largest stays.
    assert table.table.tolist() == [
        [0.1, 1.0],
        [0.2, 0.9],
        [0.3, 0.8],
        [0.4, 0.7],
        [0.5, 0.6],
        [0.6, 0.5],
        [0.7, 0.4],
        [0.8, 0.3],
        [0.9, 0.2],
    ]
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
        (0.3, [0.01, 0.3, 0.6, 0.9, 1.0]),
        (0.7, [0.01, 0.7, 1.0]),
        (0.01, [k / 100 for k in range(1, 101)]),  # alpha_0 is there once
        (0.005, [k / 200 for k in range(2, 201)]),  # nothing below alpha_0
    ],
)
def test_the_table_has_alpha_0_the_multiples_of_its_step_and_1(step, planes):
    family = Steps(BY_HAND)
    TableCalibrator(step=step).fit(family, family.y)
    assert sorted(family.calls) == planes  # to the bit: no 0.30000000000000004


def test_equal_coverages_collapse_to_the_largest_alpha():
    family = Steps(np.full(100, 0.5))  # all or nothing
    table = TableCalibrator().fit(family, family.y)
    assert table.table.tolist() == [[0.0, 1.0], [1.0, 0.5]]


def test_a_table_of_one_entry_answers_every_level_with_it():
    family = Steps(np.ones(100))  # the narrowest plane covers all
    pytest.importorskip("scipy")
    for interpolation in ("linear", "pchip"):
        table = TableCalibrator(interpolation=interpolation).fit(family, family.y)
        assert table.table.tolist() == [[1.0, 1.0]]
        assert table.alpha(0.5) == 1.0


def test_table_and_exact_lie_in_the_same_gap_of_the_table():
    family = Bands(500)
    exact = ExactCalibrator().fit(family, family.y)
    levels = np.linspace(0.05, 0.95, 37)
    errors = []
    for step in (0.1, 0.02, 0.004):
        table = TableCalibrator(step=step).fit(family, family.y)
        gaps = np.abs(table.alpha(levels) - exact.alpha(levels))
        assert gaps.max() <= step
        errors.append(gaps.max())
    assert errors[0] > errors[1] > errors[2]


def test_pchip_goes_through_the_table_and_falls_in_between():
    pytest.importorskip("scipy")
    family = Bands(200, spread=0.3)
    family.y[:20] = 0.0  # a tenth is covered by every plane
    curved = TableCalibrator(step=0.3, interpolation="pchip").fit(family, family.y)
    straight = TableCalibrator(step=0.3).fit(family, family.y)
    phi, alpha = curved.table.T
    np.testing.assert_allclose(curved.alpha(phi), alpha, rtol=1e-12)
    assert (np.diff(curved.alpha(np.linspace(0.01, 0.99, 200))) <= 0).all()
    assert abs(curved.alpha(0.9) - straight.alpha(0.9)) > 0.01  # the choice matters
    assert curved.alpha(0.05) == 1.0


def test_pchip_without_scipy_says_what_to_do(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.interpolate", None)
    family = Steps(np.linspace(0.01, 1, 100))
    with pytest.raises(ImportError, match=r"needs SciPy.*pip install scipy.*linear"):
        TableCalibrator(interpolation="pchip").fit(family, family.y)
    assert not family.calls  # it is said before the work


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


@few
def test_where_both_sides_are_equally_better_the_search_goes_down():
    # Coverage falls with alpha, so in a nested family at most one side is nearer to the level;
    # the printed rule for both is pinned on a family that is not nested.
    phi = {ALPHA_0: 4, 0.3: 2, 0.4: 1, 0.5: 2}

    def interval(alpha):
        return np.zeros(4), np.where(np.arange(4) < phi[alpha], 1.0, 0.0)

    search = SearchCalibrator().fit(interval, np.ones(4))
    assert search.path(0.5) == [(0.4, 0.25), (0.3, 0.5)]


def printed_search(phi_of, level, alpha, step, shrink, tolerance, max_rounds):
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
def test_as_printed_the_search_need_not_end_and_ours_does():
    family = Steps(BY_HAND)
    # Ten samples have coverages 0, .1, ..., 1: none is within .0005 of .62.
    assert printed_search(family.coverage, 0.62, 0.4, 0.1, 0.5, 0.0005, max_rounds=10_000) is None
    search = SearchCalibrator().fit(family, family.y)
    assert search.alpha(0.62) == 0.5
    assert not search.converged(0.62)


edges = st.lists(st.floats(0.001, 1), min_size=1, max_size=40)
levels = st.floats(0.001, 0.999)
planes = st.floats(ALPHA_0, 1)


@few
@facts
@given(
    edges=edges,
    level=levels,
    start=planes,
    step=st.floats(0.001, 0.9),
    shrink=st.floats(0.01, 0.9),
)
def test_the_search_ends_on_every_input(edges, level, start, step, shrink):
    family = Steps(edges)
    search = SearchCalibrator(start, step, shrink).fit(family, family.y)
    if level > search.max_coverage:
        return
    path = search.path(level)
    gaps = [abs(phi - level) for _, phi in path]
    assert all(nearer < gap for gap, nearer in pairwise(gaps))
    assert len(path) <= len(edges) + 2  # coverage has one value more than there are samples
    assert all(phi == family.coverage(alpha) for alpha, phi in path)
    assert all(ALPHA_0 <= alpha <= 1 for alpha, _ in path)
    assert search.converged(level) == (gaps[-1] < search.tolerance)


@few
@facts
@given(edges=edges, level=levels, start=planes)
def test_the_search_is_the_printed_one_wherever_that_ends(edges, level, start):
    family = Steps(edges)
    search = SearchCalibrator(start, tolerance=0.02).fit(family, family.y)
    if level > search.max_coverage:
        return
    printed = printed_search(family.coverage, level, start, 0.1, 0.5, 0.02, max_rounds=60)
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


# ------------------------------------------------------------------------- exact


def test_a_critical_plane_covers_its_sample_and_the_next_does_not():
    family = Bands(400)
    alpha = critical_alpha(family, family.y)
    true_kappa = np.abs(family.y) / family.width
    inside = true_kappa <= 1
    assert 0 < inside.sum() < 400
    assert covers(family.y, *family(np.where(inside, alpha, ALPHA_0)))[inside].all()
    beyond = alpha_of(np.maximum(kappa_of(np.where(inside, alpha, ALPHA_0)) - 2e-12, 0))
    assert not covers(family.y, *family(beyond))[inside].any()
    assert (alpha[~inside] == 0).all()
    np.testing.assert_allclose(kappa_of(alpha[inside]), true_kappa[inside], atol=2e-12, rtol=0)


def test_a_sample_on_the_narrowest_plane_has_plane_1():
    family = Bands(100)
    family.y[:3] = 0.0  # where the planes shrink to
    assert (critical_alpha(family, family.y)[:3] == 1).all()


def test_a_sample_on_the_edge_of_the_widest_plane_has_that_plane():
    family = Bands(100)
    family.y[:3] = family.width[:3]
    assert (critical_alpha(family, family.y)[:3] == ALPHA_0).all()


def test_exact_coverage_is_that_of_brute_force():
    family = Bands(300)
    exact = ExactCalibrator().fit(family, family.y)
    grid = np.linspace(ALPHA_0, 1, 2000)
    brute = np.array([covers(family.y, *family(alpha)).mean() for alpha in grid])
    assert [exact.coverage(alpha) for alpha in grid] == brute.tolist()
    for level in (0.07, 0.5, 0.9, exact.max_coverage):
        best = grid[brute >= level - 1e-12].max()  # the largest alpha of the grid that suffices
        assert best <= exact.alpha(level) < best + grid[1] - grid[0]


@few
@facts
@given(edges=edges, level=levels)
def test_the_exact_plane_is_the_narrowest_that_reaches_the_level(edges, level):
    family = Steps(edges)
    exact = ExactCalibrator().fit(family, family.y)
    if level > exact.max_coverage:
        return
    alpha = exact.alpha(level)
    assert family.coverage(alpha) >= level
    if alpha < 1:
        assert family.coverage(alpha_of(max(kappa_of(alpha) - 1e-6, 0.0))) < level


def test_tied_samples_count_together():
    family = Steps(np.repeat([0.8, 0.6, 0.4, 0.2], 25))
    exact = ExactCalibrator().fit(family, family.y)
    assert exact.alpha([0.26, 0.5]).tolist() == [exact.alpha(0.4)] * 2
    assert [exact.reached(level) for level in (0.01, 0.25, 0.26, 0.5, 0.51)] == [
        0.25,
        0.25,
        0.5,
        0.5,
        0.75,
    ]


def test_its_own_highest_coverage_is_within_reach():
    for n_missed in (1, 7, 31):
        family = Steps(np.r_[np.linspace(0.02, 1, 103 - n_missed), np.zeros(n_missed)])
        exact = ExactCalibrator().fit(family, family.y)
        assert exact.reached(exact.max_coverage) == exact.max_coverage


def test_on_a_system_the_plane_reaches_what_was_promised():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 3))
    params = init_params(X, 6, rng)
    params["a0"] = rng.normal(size=params["a0"].shape)
    y = rng.normal(scale=0.3, size=400)
    planes = Planes(params, X)
    exact = ExactCalibrator().fit(planes, y)
    for level in exact.max_coverage * np.linspace(0.05, 1, 20):
        # Computed for one plane at a time, not with a plane for each sample as during fit.
        assert covers(y, *planes(exact.alpha(level))).mean() == exact.reached(level) >= level


# --------------------------------------------------------------------- conformal


@few
def test_the_conformal_rank_is_one_of_n_plus_1():
    family = Steps(np.arange(1, 100) / 100)  # 99 samples; the k-th largest edge is 1 - k / 100
    conformal = ConformalCalibrator().fit(family, family.y)
    assert ceil(100 * 0.07) == 8  # what floating point makes of it
    assert conformal.alpha(0.07) == pytest.approx(0.93)  # the 7th
    assert conformal.alpha(0.9) == pytest.approx(0.1)  # the 90th, of 100 * 0.9
    assert conformal.reached(0.9) == 90 / 99
    exact = ExactCalibrator().fit(family, family.y)
    assert exact.alpha(0.905) == pytest.approx(0.1)  # the 90th, of 99 * 0.905 = 89.6
    assert conformal.alpha(0.905) == pytest.approx(0.09)  # the 91st, of 100 * 0.905 = 90.5


def share_of_left_out_samples_covered(calibrator, edges, level):
    covered = 0
    for i, edge in enumerate(edges):
        rest = Steps(np.delete(edges, i))
        covered += edge >= calibrator().fit(rest, rest.y).alpha(level) - 1e-9
    return covered / len(edges)


@pytest.mark.parametrize("level", [0.07, 0.5, 0.9, 0.95])
def test_each_sample_in_turn_is_the_new_one_and_the_guarantee_holds(level):
    # If all orders are equally likely, the share over who is left out *is* the probability.
    edges = np.linspace(0.02, 0.98, 101)
    promised = share_of_left_out_samples_covered(ConformalCalibrator, edges, level)
    assert promised == rank(level, 101) / 101 >= level
    # Without the extra rank there is no guarantee: the level is missed whenever 100 * level is
    # a whole number.
    assert share_of_left_out_samples_covered(ExactCalibrator, edges, level) < level


def test_ties_push_the_conformal_coverage_up():
    edges = np.repeat([0.9, 0.7, 0.5, 0.3, 0.1], 21)[:101]
    assert share_of_left_out_samples_covered(ConformalCalibrator, edges, 0.5) > 0.6


@few
def test_a_conformal_level_beyond_the_set_says_how_many_samples_it_takes():
    family = Steps(np.linspace(0.02, 1, 50))
    conformal = ConformalCalibrator().fit(family, family.y)
    conformal.alpha(50 / 51)
    with pytest.raises(CoverageError, match=r"coverage 0\.99 .* at least 99 samples"):
        conformal.alpha(0.99)
    big = Steps(np.linspace(0.02, 1, 99))
    ConformalCalibrator().fit(big, big.y).alpha(0.99)  # and so many do
    with pytest.raises(CoverageError):
        conformal.alpha(1 - 1e-12)


# ----------------------------------------------------------------- the interface


@of_the_paper
def test_a_level_above_the_envelope_names_a_level_that_has_an_answer(method):
    family = Steps(np.r_[np.linspace(0.02, 1, 91), np.zeros(12)])  # 91 of 103
    calibrator = CALIBRATORS[method]().fit(family, family.y)
    assert calibrator.max_coverage == 91 / 103
    with pytest.raises(CoverageError, match=r"coverage 0\.95 .*lower level, train") as caught:
        calibrator.alpha([0.5, 0.95])
    (highest,) = re.findall(r"levels up to ([\d.]+);", str(caught.value))
    calibrator.alpha(float(highest))
    with pytest.raises(CoverageError):
        calibrator.alpha(float(highest) + 0.0001)


@of_the_paper
def test_an_envelope_that_covers_nothing_answers_nothing(method):
    family = Steps(np.zeros(100))
    calibrator = CALIBRATORS[method]().fit(family, family.y)
    assert calibrator.max_coverage == 0
    with pytest.raises(CoverageError, match=r"coverage 0\.01 "):
        calibrator.alpha(0.01)


@each_method
def test_few_samples_get_a_warning_with_the_resolution(method):
    family = Steps(np.linspace(0.02, 1, 99))
    with pytest.warns(SmallCalibrationWarning, match=r"only 99 .* 1/99 = 0\.01"):
        CALIBRATORS[method]().fit(family, family.y)
    family = Steps(np.linspace(0.02, 1, 100))
    CALIBRATORS[method]().fit(family, family.y)  # a warning would be an error here


@each_method
def test_before_fit_every_question_is_an_error(method):
    calibrator = CALIBRATORS[method]()
    asked = (
        lambda: calibrator.alpha(0.9),
        lambda: calibrator.coverage(0.5),
        lambda: calibrator.reached(0.9),
        lambda: calibrator.max_coverage,
        lambda: calibrator.n_samples,
        lambda: calibrator.n_evaluations,
        lambda: calibrator.get_state(),
    )
    for question in asked:
        with pytest.raises(RuntimeError, match="call fit first"):
            question()


@each_method
def test_a_fit_that_fails_leaves_no_calibrator_behind(method):
    family = Steps(np.linspace(0.02, 1, 100))
    calibrator = CALIBRATORS[method]().fit(family, family.y)
    with pytest.raises(ValueError, match=r"lower must be a row of 101 values"):
        calibrator.fit(family, np.zeros(101))
    with pytest.raises(RuntimeError, match="call fit first"):
        calibrator.alpha(0.9)


@each_method
@pytest.mark.parametrize("level", [0, 1, -0.1, 90, np.nan, "0.9", True, None])
def test_a_level_that_is_no_level_is_an_error(method, level):
    family = Steps(np.linspace(0.02, 1, 100))
    calibrator = CALIBRATORS[method]().fit(family, family.y)
    with pytest.raises(ValueError, match=r"coverage must be a number in \(0, 1\)"):
        calibrator.alpha(level)


@each_method
def test_a_plane_outside_the_range_is_an_error(method):
    family = Steps(np.linspace(0.02, 1, 100))
    calibrator = CALIBRATORS[method]().fit(family, family.y)
    for alpha in (0, 0.005, 1.1):
        with pytest.raises(ValueError, match=r"alpha must be a number in \[0\.01, 1\]"):
            calibrator.coverage(alpha)


@each_method
def test_one_level_gives_a_number_and_many_give_an_array(method):
    family = Bands(200, spread=0.3)
    calibrator = CALIBRATORS[method]().fit(family, family.y)
    one, many = calibrator.alpha(0.9), calibrator.alpha([0.5, 0.9])
    assert type(one) is float
    assert many.shape == (2,)
    assert many[1] == one < many[0]
    assert type(calibrator.coverage(0.5)) is type(calibrator.reached(0.9)) is float
    assert calibrator.n_samples == 200


@each_method
def test_coverage_is_counted_not_interpolated(method):
    family = Bands(200, spread=0.3)
    calibrator = CALIBRATORS[method]().fit(family, family.y)
    for alpha in (ALPHA_0, 0.123, 0.5, 1.0):
        assert calibrator.coverage(alpha) == covers(family.y, *family(alpha)).mean()


@each_method
def test_every_evaluation_is_counted_once(method):
    family = Steps(np.linspace(0.02, 1, 150))
    calibrator = CALIBRATORS[method]().fit(family, family.y)
    after_fit = {"table": 11, "search": 1, "exact": HALVINGS + 1, "conformal": HALVINGS + 1}
    assert calibrator.n_evaluations == len(family.calls) == after_fit[method]
    for level in (0.9, 0.333, 0.9):
        calibrator.alpha(level)
        calibrator.reached(level)
        assert calibrator.n_evaluations == len(family.calls)
    if method in ("table", "search"):
        assert set(Counter(family.calls).values()) == {1}  # no plane twice
    else:
        assert calibrator.n_evaluations == HALVINGS + 1  # further levels are free


@pytest.mark.parametrize(
    ("calibrator", "options"),
    [
        (TableCalibrator, {"step": 0}),
        (TableCalibrator, {"interpolation": "cubic"}),
        (SearchCalibrator, {"start": 0.001}),
        (SearchCalibrator, {"shrink": 1.0}),
        (SearchCalibrator, {"tolerance": -1}),
        (SearchCalibrator, {"min_step": 0}),
    ],
)
def test_an_option_that_would_not_work_is_an_error(calibrator, options):
    with pytest.raises(ValueError, match=f"^{next(iter(options))} must be"):
        calibrator(**options)


# ----------------------------------------------------------------------- storage


def stored_and_restored(calibrator, path, interval=None):
    meta, arrays = calibrator.get_state()
    np.savez(path, **arrays)
    with np.load(path, allow_pickle=False) as file:
        return type(calibrator).from_state(json.loads(json.dumps(meta)), dict(file), interval)


@each_method
def test_a_stored_calibrator_gives_the_same_answers_without_the_system(method, tmp_path):
    family = Bands(200, spread=0.3)
    calibrator = CALIBRATORS[method]().fit(family, family.y)
    asked = np.array([0.5, 0.9])
    planes = calibrator.alpha(asked)
    reached = calibrator.reached(0.9)
    again = stored_and_restored(calibrator, tmp_path / "state.npz")
    assert again.alpha(asked).tolist() == planes.tolist()
    assert again.reached(0.9) == reached
    assert again.max_coverage == calibrator.max_coverage
    assert again.n_evaluations == calibrator.n_evaluations
    assert again.n_samples == 200


def test_options_are_stored_too(tmp_path):
    family = Bands(200)
    search = SearchCalibrator(start=0.2, tolerance=np.float32(0.25)).fit(family, family.y)
    assert repr(stored_and_restored(search, tmp_path / "state.npz")) == repr(search)


def test_a_restored_search_needs_the_system_for_a_new_level(tmp_path):
    family = Bands(200, spread=0.3)
    search = SearchCalibrator().fit(family, family.y)
    search.alpha(0.9)
    alone = stored_and_restored(search, tmp_path / "state.npz")
    with pytest.raises(RuntimeError, match="restore it with the intervals"):
        alone.alpha(0.123)
    assert stored_and_restored(search, tmp_path / "state.npz", family).alpha(0.123) == search.alpha(
        0.123
    )


@each_method
def test_a_foreign_state_is_an_error(method):
    family = Bands(200)
    calibrator = CALIBRATORS[method]().fit(family, family.y)
    meta, arrays = calibrator.get_state()
    bad = [
        ({**meta, "method": "other"}, arrays),
        ({"method": method}, arrays),
        ({**meta, "options": {"speed": 1}}, arrays),
        (meta, {}),
        (meta, {name: values[:, None] for name, values in arrays.items()}),
        (meta, {name: values * np.nan for name, values in arrays.items()}),
    ]
    for state in bad:
        with pytest.raises(ValueError, match=f"not the state of a {method} calibrator"):
            CALIBRATORS[method].from_state(*state)


@each_method
def test_a_calibrator_can_be_pickled_if_its_intervals_can(method):
    family = Bands(200, spread=0.3)
    calibrator = CALIBRATORS[method]().fit(family, family.y)
    again = pickle.loads(pickle.dumps(calibrator))
    assert again.alpha(0.9) == calibrator.alpha(0.9)


def test_a_target_changed_after_fit_changes_nothing():
    family = Bands(200, spread=0.3)
    y = family.y.copy()
    search = SearchCalibrator().fit(family, y)
    y[:] = 99.0
    assert search.coverage(0.5) == covers(family.y, *family(0.5)).mean()
