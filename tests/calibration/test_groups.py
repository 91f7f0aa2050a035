"""A plane for each group, and the storage of calibrations by rank."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from families import Cone, cone

from gt2lite.calibration import (
    CALIBRATORS,
    ConformalCalibrator,
    CoverageError,
    ExactCalibrator,
    GroupCalibrator,
    SmallCalibrationWarning,
    TwoSidedCalibrator,
    covers,
    rank,
    restore,
)

pytestmark = pytest.mark.filterwarnings("ignore::gt2lite.calibration.SmallCalibrationWarning")


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
