"""Calibration past the envelope, for each side, and by groups."""

from __future__ import annotations

import json
import math
import re

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from gt2lite.calibration import (
    CALIBRATORS,
    HALVINGS,
    ConformalCalibrator,
    CoverageError,
    Cut,
    ExactCalibrator,
    GroupCalibrator,
    SmallCalibrationWarning,
    TwoSidedCalibrator,
    covers,
    critical_alpha,
    critical_scores,
    rank,
    restore,
)
from gt2lite.memberships import ALPHA_0, alpha_of, kappa_of
from gt2lite.starts import init_params
from gt2lite.system import Planes

pytestmark = pytest.mark.filterwarnings("ignore::gt2lite.calibration.SmallCalibrationWarning")
facts = settings(deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
ranked = pytest.mark.parametrize("kind", [ExactCalibrator, ConformalCalibrator])


class Cone:
    """A nested family of n samples: from `centre - kappa * below` to `centre + kappa * above`."""

    def __init__(self, centre, below, above, kappa_max=1.0):
        self.centre, self.below, self.above = np.broadcast_arrays(
            *(np.asarray(v, dtype=float) for v in (centre, below, above))
        )
        self.alpha_min = alpha_of(kappa_max)
        self.calls = 0

    def __call__(self, alpha):
        assert np.min(alpha) >= self.alpha_min
        self.calls += 1
        kappa = kappa_of(alpha)
        return self.centre - kappa * self.below, self.centre + kappa * self.above

    def truth(self, y):
        """Return kappa (n,), infinite past the planes, and margin (n,), from the definition."""
        kappa = np.where(
            y < self.centre, (self.centre - y) / self.below, (y - self.centre) / self.above
        )
        lower, upper = self(self.alpha_min)
        margin = np.maximum(lower - y, y - upper)
        within = kappa <= kappa_of(self.alpha_min)
        return np.where(within, kappa, np.inf), np.where(within, 0.0, margin)


def cone(n, seed=0, kappa_max=2.0, spread=1.5):
    """Return a family, and targets of which some lie inside, beyond, and past all planes."""
    rng = np.random.default_rng(seed)
    family = Cone(rng.normal(size=n), rng.uniform(0.3, 1, n), rng.uniform(0.3, 2, n), kappa_max)
    return family, family.centre + spread * rng.standard_t(3, size=n)


def system(n, seed=0, M=3, raw=0.0):
    """Return the planes of a system at random rows, and targets at all distances."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, M))
    params = init_params(X, 5, rng)
    params["a0"] = rng.normal(size=5)
    params["raw_l"] += raw
    params["raw_r"] += raw
    return Planes(params, X), rng.standard_t(3, size=n)


def brute(interval, y, end):
    """Return the kappa (Q,) at which an end, 0 or 1, is first right: sample by sample."""
    found = np.full(y.size, np.inf)
    widest = kappa_of(interval.alpha_min)

    def right(i, kappa):
        value = interval(max(alpha_of(kappa), interval.alpha_min))[end][i]
        return value <= y[i] if end == 0 else value >= y[i]

    for i in range(y.size):
        low, high = 0.0, widest
        if not right(i, widest):
            continue
        if right(i, 0.0):
            high = 0.0
        for _ in range(45):
            middle = (low + high) / 2
            low, high = (low, middle) if right(i, middle) else (middle, high)
        found[i] = high
    return found


def level_of(k, n):
    """Return the level that asks for the k-th of n scores, k < n."""
    return k / n


# ------------------------------------------------------------------ the lowest plane


def test_the_lowest_plane_is_just_short_of_what_the_system_allows():
    planes, _ = system(50)
    limit = 1 / max(planes._theta.s_l.max(), planes._theta.s_r.max())
    assert kappa_of(planes.alpha_min) == pytest.approx(limit, rel=1e-7)
    assert kappa_of(planes.alpha_min) < limit
    lower, upper = planes(planes.alpha_min)
    inner_lower, inner_upper = planes(ALPHA_0)
    assert (lower < inner_lower).all() and (upper > inner_upper).all()


@pytest.mark.parametrize(("raw", "lowest"), [(60.0, ALPHA_0), (-60.0, np.finfo(float).tiny)])
def test_the_lowest_plane_is_always_one_that_can_be_asked_for(raw, lowest):
    planes, _ = system(50, raw=raw)  # shares that round to 1, and shares next to nothing
    assert planes.alpha_min == lowest
    assert np.isfinite(planes(planes.alpha_min)).all()


def test_the_lowest_plane_reaches_from_the_smallest_consequent_to_the_largest():
    planes, _ = system(50)
    y = planes.X @ planes.params["a"].T + planes.params["a0"]  # (N, P)
    lower, upper = planes(planes.alpha_min)
    assert (y.min(axis=1) <= lower + 1e-9).all() and (upper <= y.max(axis=1) + 1e-9).all()


# --------------------------------------------------------------------------- scores


def test_scores_are_those_of_the_definition_in_all_three_stages():
    family, y = cone(500)
    scores, (kappa, margin) = critical_scores(family, y), family.truth(y)
    stages = (kappa <= 1).sum(), ((kappa > 1) & (kappa <= 2)).sum(), (kappa == np.inf).sum()
    assert min(stages) > 50
    planes = kappa < np.inf
    np.testing.assert_allclose(kappa_of(scores.alpha[planes]), kappa[planes], atol=4e-12, rtol=0)
    assert (scores.alpha[~planes] == 0).all()
    np.testing.assert_allclose(scores.margin, margin, rtol=0, atol=1e-10)
    assert (scores.margin[~planes] > margin[~planes]).all()  # rounded up
    np.testing.assert_array_equal(scores.side, np.sign(y - family.centre))


def test_scores_of_a_system_are_those_of_brute_force():
    planes, y = system(60)
    scores = critical_scores(planes, y)
    lower, upper = brute(planes, y, 0), brute(planes, y, 1)
    for found, truth in (
        (scores.alpha, np.maximum(lower, upper)),
        (scores.lower.alpha, lower),
        (scores.upper.alpha, upper),
    ):
        within = truth < np.inf
        assert 0 < within.sum() < 60
        np.testing.assert_allclose(kappa_of(found[within]), truth[within], atol=1e-8, rtol=0)
        assert (found[~within] == 0).all()
    ends = planes(planes.alpha_min)
    margin = np.maximum(np.maximum(ends[0] - y, y - ends[1]), 0)
    np.testing.assert_allclose(scores.margin, margin, atol=1e-10, rtol=0)
    np.testing.assert_array_equal(scores.lower.margin, np.where(y < ends[0], scores.margin, 0))
    np.testing.assert_array_equal(scores.upper.margin, np.where(y > ends[1], scores.margin, 0))


def test_within_the_envelope_going_on_changes_no_bit():
    for family, y in (cone(300), system(300)):
        inside = critical_alpha(family, y)
        scores = critical_scores(family, y)
        assert 0 < (inside == 0).sum() < 300
        np.testing.assert_array_equal(scores.alpha[inside > 0], inside[inside > 0])
        assert (scores.alpha[inside == 0] < ALPHA_0).all()


def test_going_on_costs_no_further_evaluation():
    family, y = cone(300)
    exact = ExactCalibrator().fit(family, y)
    exact.alpha([0.5, 0.9, 0.999])
    assert family.calls == exact.n_evaluations == HALVINGS + 1


def test_without_a_lowest_plane_the_margin_begins_at_the_envelope():
    family, y = cone(300)
    scores = critical_scores(lambda alpha: family(alpha), y)
    assert scores.alpha_min == ALPHA_0
    np.testing.assert_array_equal(scores.alpha, critical_alpha(family, y))
    lower, upper = family(ALPHA_0)
    np.testing.assert_allclose(
        scores.margin, np.maximum(np.maximum(lower - y, y - upper), 0), atol=1e-10
    )


def test_a_large_set_is_scored_in_stretches(monkeypatch):
    planes, y = system(300)
    whole = critical_scores(planes, y)
    monkeypatch.setattr("gt2lite.system._CACHE_ELEMENTS", 15 * 40)  # 40 rows at once
    parts = critical_scores(Planes(planes.params, planes.X), y)
    for name in ("alpha", "margin", "side"):
        np.testing.assert_allclose(getattr(parts, name), getattr(whole, name), rtol=1e-9)


# ------------------------------------------------- one nested family, one guarantee


targets = st.lists(st.integers(-60, 60), min_size=1, max_size=40)  # many ties


@facts
@given(targets, st.sampled_from([1.0, 1.5, 3.0]), st.sampled_from([0.0, 1e6, -3e-7]))
def test_a_cut_covers_just_those_whose_score_it_reaches(values, kappa_max, shift):
    y = shift + np.array(values) / 10
    family = Cone(np.full(y.size, shift), 1.0, 0.5, kappa_max)
    exact = ExactCalibrator().fit(family, y)
    for k in range(1, y.size):
        lower, upper = exact.intervals(family, level_of(k, y.size))
        inside = covers(y, lower, upper)
        assert inside.mean() == exact.reached(level_of(k, y.size))
        assert inside.sum() >= k
        cut = exact.scores.cut(k)
        np.testing.assert_array_equal(exact.scores.covered(cut), inside)


@pytest.mark.parametrize("make", [cone, system])
def test_intervals_are_nested_through_all_stages(make):
    family, y = make(200)
    exact = ExactCalibrator().fit(family, y)
    levels = np.arange(1, 200) / 200
    lower, upper = exact.intervals(family, levels)
    assert (np.diff(lower, axis=1) <= 1e-14).all() and (np.diff(upper, axis=1) >= -1e-14).all()
    alpha, margin = exact.alpha(levels), exact.margin(levels)
    planes = ~np.isnan(alpha)
    assert (alpha[planes] >= ALPHA_0).any() and (alpha[planes] < ALPHA_0).any()
    assert (margin[planes] == 0).all() and (margin[~planes] > 0).all() and (~planes).any()
    assert (np.diff(alpha[planes]) <= 0).all() and (np.diff(margin) >= 0).all()
    assert (np.diff(planes.astype(int)) <= 0).all()  # once in the margin, always in the margin


def test_planes_below_the_envelope_go_on_by_the_same_formula():
    family = Cone(np.zeros(200), 1.0, 1.0, kappa_max=3.0)
    y = np.linspace(0.01, 2, 200)
    exact = ExactCalibrator().fit(family, y)
    assert exact.alpha(0.75) == pytest.approx(0.01 ** (1.5**2), rel=1e-9)
    assert exact.coverage(exact.alpha(0.75)) == exact.reached(0.75) == 0.75
    assert exact.max_coverage == 0.5  # that of the envelope
    assert exact.margin(0.75) == 0
    with pytest.raises(ValueError, match=r"alpha must be a number in \[1e-18, 1\]"):
        exact.coverage(1e-19)


@pytest.mark.parametrize("seed", range(3))
def test_each_sample_in_turn_is_the_new_one_and_the_guarantee_holds_in_every_stage(seed):
    family, y = cone(60, seed)
    scores = critical_scores(family, y)
    for phi in (0.05, 0.5, 0.8, 0.9, 0.95, 0.98):
        hits = 0
        for i in range(60):
            rest = np.delete(np.arange(60), i)
            part = Cone(family.centre[rest], family.below[rest], family.above[rest], 2.0)
            conformal = ConformalCalibrator().fit(part, y[rest])
            lower, upper = conformal.intervals(family, phi)
            hits += bool(covers(y, lower, upper)[i])
        assert hits == rank(phi, 60)  # of 60: neither fewer nor more, since nothing is tied
        assert phi <= hits / 60 <= phi + 1 / 60
    assert (scores.alpha == 0).sum() > 3  # and the margin was needed


@facts
@given(targets, st.floats(0.01, 0.99))
def test_ties_push_the_coverage_of_a_left_out_sample_up_only(values, phi):
    y = np.array(values) / 10
    assume(y.size > 1 and rank(phi, y.size) < y.size)
    hits = 0
    for i in range(y.size):
        rest = np.delete(y, i)
        conformal = ConformalCalibrator().fit(Cone(np.zeros(rest.size), 1.0, 0.5, 1.5), rest)
        lower, upper = conformal.intervals(Cone(np.zeros(1), 1.0, 0.5, 1.5), phi)
        hits += bool(lower[0] <= y[i] <= upper[0])
    assert hits >= rank(phi, y.size)


@pytest.mark.parametrize("n", [1, 2, 3, 9])
def test_tiny_sets_answer_what_their_number_allows(n):
    family, y = cone(n, spread=3.0)
    exact, conformal = ExactCalibrator().fit(family, y), ConformalCalibrator().fit(family, y)
    assert exact.reached(0.999999) == 1.0
    assert conformal.reached(n / (n + 1)) == 1.0
    if n > 1:
        assert conformal.reached(1 / (n + 1)) == 1 / n
    with pytest.raises(CoverageError, match=f"{n} calibration samples"):
        conformal.alpha(n / (n + 1) + 1e-6)


def test_the_number_of_samples_that_an_error_asks_for_is_just_enough():
    for phi in (0.8, 0.95, 0.99, 0.995, 2 / 3):
        for kind, cut in ((ConformalCalibrator, 1), (TwoSidedCalibrator, 2)):
            with pytest.raises(CoverageError, match=r"coverage .* at least \d+ samples") as caught:
                kind().fit(*cone(cut)).alpha(phi)
            (needed,) = map(int, re.findall(r"at least (\d+) samples", str(caught.value)))
            kind().fit(*cone(needed)).alpha(phi)
            with pytest.raises(CoverageError):
                kind().fit(*cone(needed - 1)).alpha(phi)


def test_the_highest_level_that_an_error_names_has_an_answer():
    for kind in (ConformalCalibrator, TwoSidedCalibrator):
        calibrator = kind().fit(*cone(57))
        with pytest.raises(CoverageError, match="levels up to") as caught:
            calibrator.alpha(0.999)
        (highest,) = map(float, re.findall(r"levels up to ([\d.]+)", str(caught.value)))
        calibrator.alpha(highest)
        with pytest.raises(CoverageError):
            calibrator.alpha(highest + 0.0001)


@ranked
def test_an_envelope_that_covers_nothing_is_widened_by_a_margin(kind):
    y = np.linspace(5, 6, 100)
    calibrator = kind().fit(lambda alpha: (np.zeros(100), np.zeros(100)), y)  # of width 0
    assert calibrator.max_coverage == 0
    assert math.isnan(calibrator.alpha(0.5))
    k = {"exact": 50, "conformal": 51}[calibrator.method]
    assert calibrator.margin(0.5) == pytest.approx(y[k - 1], rel=1e-11)
    lower, upper = calibrator.intervals(lambda alpha: (np.zeros(3), np.ones(3)), 0.5)
    np.testing.assert_allclose([lower, upper], [[-y[k - 1]] * 3, [1 + y[k - 1]] * 3])


def test_discrete_targets_past_the_planes_are_covered_together():
    y = np.repeat([0.0, 1.0, 2.0, 5.0], 50)
    exact = ExactCalibrator().fit(Cone(np.zeros(200), 1.0, 1.0, 1.5), y)
    assert [exact.reached(phi) for phi in (0.2, 0.26, 0.51, 0.76)] == [0.25, 0.5, 0.75, 1.0]
    np.testing.assert_allclose(exact.margin([0.2, 0.26, 0.51, 0.76]), [0, 0, 0.5, 3.5], atol=1e-11)


def test_the_methods_of_the_paper_have_no_margin():
    family, y = cone(200)
    for method in ("table", "search"):
        calibrator = CALIBRATORS[method]().fit(family, y)
        assert calibrator.margin(0.3) == 0
        assert calibrator.margin([0.2, 0.3]).tolist() == [0, 0]
        with pytest.raises(CoverageError):
            calibrator.margin(0.9)
        lower, upper = calibrator.intervals(family, [0.2, 0.3])
        np.testing.assert_array_equal(lower[:, 1], family(calibrator.alpha(0.3))[0])
        np.testing.assert_array_equal(upper[:, 0], family(calibrator.alpha(0.2))[1])


# ---------------------------------------------------------------------- two sides


@pytest.mark.parametrize("make", [cone, system])
@pytest.mark.parametrize("method", ["exact", "conformal"])
def test_each_side_is_the_rank_of_its_own_scores(make, method):
    family, y = make(200)
    two = TwoSidedCalibrator(method).fit(family, y)
    ends = brute(family, y, 0), brute(family, y, 1)
    lowest = family(family.alpha_min)
    lacking = np.maximum(lowest[0] - y, 0), np.maximum(y - lowest[1], 0)
    for phi in (0.1, 0.5, 0.8, 0.9, 0.98):
        k = math.ceil((200 + (method == "conformal")) * round((1 + phi) * 50) / 100)
        for end in (0, 1):
            kappa = np.sort(ends[end])[k - 1]
            if kappa < np.inf:
                assert kappa_of(two.alpha(phi)[end]) == pytest.approx(kappa, abs=1e-8)
                assert two.margin(phi)[end] == 0
            else:
                assert np.isnan(two.alpha(phi)[end])
                assert two.margin(phi)[end] == pytest.approx(np.sort(lacking[end])[k - 1], rel=1e-9)


def test_each_side_misses_its_half_and_no_more():
    family, y = cone(400)
    two = TwoSidedCalibrator("exact").fit(family, y)
    for phi in (0.5, 0.9, 0.99):
        lower, upper = two.intervals(family, phi)
        assert (y < lower).sum() == (y > upper).sum() == round(400 * (1 - phi) / 2)
        assert two.reached(phi) == covers(y, lower, upper).mean() == pytest.approx(phi)


def test_one_plane_for_both_sides_can_leave_all_misses_on_one():
    y = np.linspace(-0.5, 2, 200)
    family = Cone(np.zeros(200), 1.0, 1.0, 1.5)
    lower, upper = ExactCalibrator().fit(family, y).intervals(family, 0.8)
    assert (y < lower).sum() == 0 and (y > upper).sum() == 40
    lower, upper = TwoSidedCalibrator("exact").fit(family, y).intervals(family, 0.8)
    assert (y < lower).sum() == (y > upper).sum() == 20


def test_left_out_in_turn_a_sample_is_beyond_each_side_as_rarely_as_promised():
    family, y = cone(60)
    for phi in (0.5, 0.9):
        below = above = 0
        for i in range(60):
            rest = np.delete(np.arange(60), i)
            part = Cone(family.centre[rest], family.below[rest], family.above[rest], 2.0)
            lower, upper = TwoSidedCalibrator().fit(part, y[rest]).intervals(family, phi)
            below += y[i] < lower[i]
            above += y[i] > upper[i]
        share = round((1 + phi) * 50) / 100
        assert below == above == 60 - math.ceil(round(60 * share, 9))
        assert below + above <= 60 * (1 - phi) + 1e-9  # the union bound


def test_an_end_stops_at_the_type_1_output_and_coverage_is_only_pushed_up():
    y = np.linspace(0.1, 1, 100)  # all above the output
    family = Cone(np.zeros(100), 1.0, 1.0)
    two = TwoSidedCalibrator("exact").fit(family, y)
    assert two.alpha(0.5)[0] == 1.0
    lower, upper = two.intervals(family, 0.5)
    assert (lower == 0).all()
    assert two.reached(0.5) == covers(y, lower, upper).mean() == 0.75


@facts
@given(targets, st.floats(0.01, 0.99))
def test_the_ends_never_cross(values, phi):
    y = np.array(values) / 10
    family = Cone(np.zeros(y.size), 0.7, 0.3, 1.5)
    lower, upper = TwoSidedCalibrator("exact").fit(family, y).intervals(family, phi)
    assert (lower <= upper).all()
    assert (y < lower).mean() <= (1 - phi) / 2 + 1e-9
    assert (y > upper).mean() <= (1 - phi) / 2 + 1e-9


def test_shapes_for_one_level_and_for_several():
    family, y = cone(200)
    two = TwoSidedCalibrator().fit(family, y)
    assert two.alpha(0.9).shape == two.margin(0.9).shape == (2,)
    assert two.alpha([0.5, 0.9, 0.95]).shape == (2, 3)
    np.testing.assert_array_equal(two.alpha([0.5, 0.9])[:, 1], two.alpha(0.9))
    lower, upper = two.intervals(family, [0.5, 0.9])
    assert lower.shape == upper.shape == (200, 2)
    np.testing.assert_array_equal(lower[:, 1], two.intervals(family, 0.9)[0])
    (row,) = two.report(0.9)
    assert (row.group, row.n_samples, row.calibrated_on) == (None, 200, "all")
    assert row.reached == two.reached(0.9)


# ------------------------------------------------------------------------- groups


@pytest.fixture
def grouped():
    family, y = cone(300)
    return family, y, np.array(["a", "b", "c", "b"])[np.arange(300) % 4]


@pytest.mark.parametrize("method", ["exact", "conformal"])
@pytest.mark.parametrize("sides", ["both", "each"])
def test_each_group_gets_what_it_would_get_alone(grouped, method, sides):
    family, y, groups = grouped
    by_group = GroupCalibrator(method, sides).fit(family, y, groups)
    new, _ = cone(40, seed=1)
    asked = np.array(["c", "a", "b", "a"])[np.arange(40) % 4]
    lower, upper = by_group.intervals(new, [0.5, 0.9, 0.97], asked)
    assert by_group.sizes == {"a": 75, "b": 150, "c": 75}
    for label in "abc":
        mine = groups == label
        part = Cone(family.centre[mine], family.below[mine], family.above[mine], 2.0)
        alone = (TwoSidedCalibrator(method) if sides == "each" else CALIBRATORS[method]()).fit(
            part, y[mine]
        )
        for i, phi in enumerate((0.5, 0.9)):
            ends = alone.intervals(new, phi)
            np.testing.assert_array_equal(lower[asked == label, i], ends[0][asked == label])
            np.testing.assert_array_equal(upper[asked == label, i], ends[1][asked == label])
            np.testing.assert_array_equal(by_group.alpha(phi, label), alone.alpha(phi))
            np.testing.assert_array_equal(by_group.margin(phi, label), alone.margin(phi))
        row = next(row for row in by_group.report(0.9) if row.group == label)
        assert row.reached == alone.reached(0.9)
        assert (row.n_samples, row.calibrated_on) == (mine.sum(), "group")


def test_in_each_group_a_left_out_sample_is_covered_as_promised():
    family, y = cone(60)
    y[:30] *= 3.0  # one group is far harder
    groups = np.repeat([1, 2], 30)
    for phi in (0.5, 0.9):
        hits = np.zeros(60, dtype=bool)
        for i in range(60):
            rest = np.delete(np.arange(60), i)
            part = Cone(family.centre[rest], family.below[rest], family.above[rest], 2.0)
            by_group = GroupCalibrator().fit(part, y[rest], groups[rest])
            lower, upper = by_group.intervals(family, phi, groups)
            hits[i] = covers(y, lower, upper)[i]
        assert hits[:30].sum() == hits[30:].sum() == rank(phi, 30)


def test_groups_may_be_names_or_numbers_from_anywhere(grouped):
    family, y, names = grouped
    numbers = np.array([{"a": 7, "b": -2, "c": 30}[name] for name in names])
    same = [names.tolist(), names.astype(object), numbers, numbers.astype(float), list(numbers)]
    wanted = GroupCalibrator().fit(family, y, names).intervals(family, 0.9, names)
    for groups in same:
        by_group = GroupCalibrator().fit(family, y, groups)
        np.testing.assert_array_equal(by_group.intervals(family, 0.9, groups), wanted)
    assert list(by_group.sizes) == [-2, 7, 30]
    assert all(type(label) is int for label in by_group.sizes)
    mixed = GroupCalibrator().fit(family, y, [1 if name == "a" else str(name) for name in names])
    assert list(mixed.sizes) == [1, "b", "c"]


def test_groups_of_a_data_frame_are_groups(grouped):
    pd = pytest.importorskip("pandas")
    family, y, names = grouped
    series = pd.Series(names, index=np.arange(300) + 5)
    for groups in (series, series.astype("category"), series.map({"a": 1, "b": 2, "c": 3})):
        assert sorted(GroupCalibrator().fit(family, y, groups).sizes.values()) == [75, 75, 150]


def test_a_group_too_small_for_a_level_is_named_with_its_size():
    family, y = cone(200)
    groups = ["big"] * 195 + ["tiny"] * 5
    by_group = GroupCalibrator().fit(family, y, groups)
    with pytest.raises(
        CoverageError,
        match=r"group 'tiny' is too small: coverage 0\.9 .* 5 calibration samples .*"
        r"at least 9 samples, or take small_groups=\"pool\"",
    ):
        by_group.intervals(family, 0.9, groups)
    with pytest.raises(CoverageError, match="'tiny'"):
        by_group.alpha(0.9, "tiny")
    new, _ = cone(3)
    by_group.intervals(new, 0.9, ["big"] * 3)  # others do not mind
    by_group.intervals(new, 0.8, ["tiny"] * 3)  # nor does a level that it can answer
    big, tiny = by_group.report(0.9)
    assert (big.group, big.calibrated_on) == ("big", "group")
    assert (tiny.group, tiny.n_samples, tiny.calibrated_on) == ("tiny", 5, "nothing")
    assert math.isnan(tiny.alpha) and math.isnan(tiny.margin) and math.isnan(tiny.reached)


@pytest.mark.parametrize("sides", ["both", "each"])
def test_a_small_group_can_take_the_plane_of_all_and_a_warning_says_so(sides):
    family, y = cone(200)
    groups = np.array(["big"] * 195 + ["tiny"] * 5)
    pooled = GroupCalibrator("conformal", sides, small_groups="pool").fit(family, y, groups)
    with pytest.warns(
        SmallCalibrationWarning,
        match=r"too small for coverage 0\.9: 'tiny' \(5 samples\)\. .* the plane of all 200 .*"
        "guarantees nothing for these",
    ):
        lower, upper = pooled.intervals(family, 0.9, groups)
    alone = (TwoSidedCalibrator() if sides == "each" else ConformalCalibrator()).fit(family, y)
    ends = alone.intervals(family, 0.9)
    np.testing.assert_array_equal(lower[195:], ends[0][195:])
    np.testing.assert_array_equal(upper[195:], ends[1][195:])
    assert not np.array_equal(lower[:195], ends[0][:195])
    big, tiny = pooled.report(0.9)
    assert (big.calibrated_on, tiny.calibrated_on) == ("group", "pool")
    np.testing.assert_array_equal(tiny.alpha, alone.alpha(0.9))
    assert tiny.reached == covers(y, *ends)[195:].mean()
    with pytest.raises(CoverageError, match="200 calibration samples"):
        pooled.intervals(family, 0.999, groups)


@pytest.mark.filterwarnings("error")
def test_small_groups_are_reported_once_when_fitted():
    family, y = cone(330)
    groups = ["x"] * 200 + ["y"] * 100 + ["z"] * 30
    with pytest.warns(
        SmallCalibrationWarning, match=r"1 of 3 groups .* 100 .*: 'z' \(30 samples\)"
    ):
        GroupCalibrator().fit(family, y, groups)
    with pytest.warns(SmallCalibrationWarning, match=r"11 of 11 groups .* and 6 more"):
        GroupCalibrator().fit(family, y, np.arange(330) % 11)
    GroupCalibrator().fit(family, y, np.arange(330) % 3)  # 110 each: nothing to say


def test_what_is_wrong_with_groups_is_said(grouped):
    family, y, groups = grouped
    by_group = GroupCalibrator().fit(family, y, groups)
    with pytest.raises(ValueError, match=r"groups must be among .*, got 'd'; it has 'a', 'b', 'c'"):
        by_group.intervals(family, 0.9, ["d", *groups[1:]])
    with pytest.raises(ValueError, match=r"got 1; it has 'a'"):
        by_group.alpha(0.9, 1)
    with pytest.raises(ValueError, match="groups are missing"):
        by_group.intervals(family, 0.9)
    with pytest.raises(ValueError, match=r"groups must be a row of 300 labels, got shape \(299,\)"):
        GroupCalibrator().fit(family, y, groups[1:])
    for bad in (None, 1.5, np.nan, ("a",)):
        labels = np.empty(300, dtype=object)
        labels[:-1], labels[-1] = groups[:-1], bad
        with pytest.raises(ValueError, match=r"must hold names or whole numbers, got .* 299"):
            GroupCalibrator().fit(family, y, labels)
    with pytest.raises(ValueError, match="not by groups"):
        ConformalCalibrator().fit(family, y).intervals(family, 0.9, groups)
    with pytest.raises(ValueError, match="not by groups"):
        TwoSidedCalibrator().fit(family, y).intervals(family, 0.9, groups)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: TwoSidedCalibrator("search"), "method"),
        (lambda: GroupCalibrator("table"), "method"),
        (lambda: GroupCalibrator(sides="left"), "sides"),
        (lambda: GroupCalibrator(small_groups="merge"), "small_groups"),
    ],
)
def test_an_option_that_would_not_work_is_an_error(make, name):
    with pytest.raises(ValueError, match=f"^{name} must be one of"):
        make()


def test_before_fit_every_question_is_an_error():
    family, _ = cone(3)
    for calibrator in (TwoSidedCalibrator(), GroupCalibrator()):
        for question in (
            lambda c=calibrator: c.intervals(family, 0.9, ["a"] * 3),
            lambda c=calibrator: c.report(0.9),
            lambda c=calibrator: c.n_samples,
            lambda c=calibrator: c.n_evaluations,
            lambda c=calibrator: c.get_state(),
        ):
            with pytest.raises(RuntimeError, match="call fit first"):
                question()


# ------------------------------------------------------------------------- storage


def stored(calibrator, path):
    meta, arrays = calibrator.get_state()
    np.savez(path, **arrays)
    with np.load(path, allow_pickle=False) as file:
        return restore(json.loads(json.dumps(meta)), dict(file))


@pytest.mark.parametrize(
    "make",
    [
        lambda family, y, g: ExactCalibrator().fit(family, y),
        lambda family, y, g: ConformalCalibrator().fit(family, y),
        lambda family, y, g: TwoSidedCalibrator("exact").fit(family, y),
        lambda family, y, g: GroupCalibrator("conformal", "each", "pool").fit(family, y, g),
        lambda family, y, g: GroupCalibrator().fit(family, y, np.unique(g, return_inverse=True)[1]),
    ],
)
def test_a_stored_calibration_gives_the_same_answers(grouped, make, tmp_path):
    family, y, groups = grouped
    calibrator = make(family, y, groups)
    again = stored(calibrator, tmp_path / "state.npz")
    assert repr(again) == repr(calibrator)
    asked = None
    if isinstance(calibrator, GroupCalibrator):
        asked = groups if "a" in calibrator.sizes else np.unique(groups, return_inverse=True)[1]
        assert again.sizes == calibrator.sizes
    for phi in (0.3, 0.9, 0.96):
        np.testing.assert_array_equal(
            again.intervals(family, phi, asked), calibrator.intervals(family, phi, asked)
        )
        assert repr(again.report(phi)) == repr(calibrator.report(phi))
    assert again.n_samples == 300


def test_a_state_that_does_not_fit_together_is_an_error(grouped):
    family, y, groups = grouped
    meta, arrays = GroupCalibrator().fit(family, y, groups).get_state()
    bad = [
        (meta, {**arrays, "group": arrays["group"] + 1}),
        (meta, {**arrays, "group": arrays["group"][1:]}),
        (meta, {**arrays, "margin": -arrays["margin"]}),
        (meta, {**arrays, "critical_alpha": arrays["critical_alpha"] + 1}),
        (meta, {**arrays, "alpha_min": np.array([0.5])}),
        ({**meta, "labels": ["a", "b", None]}, arrays),
        ({**meta, "options": {"method": "search"}}, arrays),
        (meta, {}),
    ]
    for state in bad:
        with pytest.raises(ValueError, match="not the state of a group calibrator"):
            restore(*state)
    with pytest.raises(ValueError, match="kind must be one of"):
        restore({**meta, "kind": "other"}, arrays)


def test_a_cut_needs_no_margin_unless_it_has_one():
    assert Cut(0.5).margin == 0
