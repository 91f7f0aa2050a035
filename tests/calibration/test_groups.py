"""Planes of its own for each group."""

from __future__ import annotations

import math

import numpy as np
import pytest
from families import cone
from numpy.testing import assert_array_equal

from gt2lite.calibration import CoverageError, SmallCalibrationWarning
from gt2lite.practice.calibrators import (
    GroupCalibrator,
    RankCalibrator,
    make_calibrator,
    read_groups,
)

pytestmark = pytest.mark.filterwarnings("ignore::gt2lite.calibration.SmallCalibrationWarning")


@pytest.fixture
def grouped():
    family, y = cone(300)
    return family, y, np.array(["a", "b", "c", "b"])[np.arange(300) % 4]


@pytest.mark.parametrize(
    ("method", "sides", "options"),
    [("exact", "both", {}), ("conformal", "each", {"tails": (0.2, 0.8)})],
)
def test_each_group_gets_what_it_would_get_alone(grouped, method, sides, options):
    family, y, groups = grouped
    by_group = make_calibrator(method, sides, True, options).fit(family, y, groups)
    new, _ = cone(40, seed=1)
    asked = np.array(["c", "a", "b", "a"])[np.arange(40) % 4]
    lower, upper = by_group.intervals(new, [0.5, 0.9], asked)
    assert by_group.sizes == {"a": 75, "b": 150, "c": 75}
    for label in "abc":
        mine = groups == label
        alone = make_calibrator(method, sides, False, options).fit(family.take(mine), y[mine])
        for i, phi in enumerate((0.5, 0.9)):
            ends = alone.intervals(new, phi)
            assert_array_equal(lower[asked == label, i], ends[0][asked == label])
            assert_array_equal(upper[asked == label, i], ends[1][asked == label])
            assert_array_equal(by_group.alpha(phi, label), alone.alpha(phi))
            assert_array_equal(by_group.margin(phi, label), alone.margin(phi))
        row = next(row for row in by_group.report(0.9) if row.group == label)
        assert row.reached == alone.reached(0.9)
        assert (row.n_samples, row.calibrated_on) == (mine.sum(), "group")


def test_groups_may_be_names_or_numbers_from_anywhere(grouped):
    pd = pytest.importorskip("pandas")
    family, y, names = grouped
    numbers = np.array([{"a": 7, "b": -2, "c": 30}[name] for name in names])
    series = pd.Series(names, index=np.arange(300) + 5)
    wanted = GroupCalibrator().fit(family, y, names).intervals(family, 0.9, names)
    same = names.tolist(), names.astype(object), series.astype("category"), numbers.astype(float)
    for groups in (*same, list(numbers)):
        by_group = GroupCalibrator().fit(family, y, groups)
        assert_array_equal(by_group.intervals(family, 0.9, groups), wanted)
    assert list(by_group.sizes) == [-2, 7, 30]
    assert all(type(label) is int for label in by_group.sizes)
    mixed = GroupCalibrator().fit(family, y, [1 if name == "a" else str(name) for name in names])
    assert list(mixed.sizes) == [1, "b", "c"]


def test_a_group_too_small_for_a_level_is_named_with_its_size():
    family, y = cone(200)
    groups = ["big"] * 195 + ["tiny"] * 5
    by_group = GroupCalibrator().fit(family, y, groups)
    with pytest.raises(CoverageError, match=r"'tiny' .* 5 calibration .* at least 9 samples"):
        by_group.intervals(family, 0.9, groups)
    new, _ = cone(3)
    by_group.intervals(new, 0.9, ["big"] * 3)  # other groups are not affected
    by_group.intervals(new, 0.8, ["tiny"] * 3)  # nor is a level within reach
    big, tiny = by_group.report(0.9)
    assert (big.group, big.calibrated_on) == ("big", "group")
    assert (tiny.group, tiny.n_samples, tiny.calibrated_on) == ("tiny", 5, "nothing")
    assert math.isnan(tiny.alpha) and math.isnan(tiny.margin) and math.isnan(tiny.reached)


@pytest.mark.parametrize("sides", ["both", "upper"])
def test_a_small_group_can_take_the_plane_of_all_with_a_warning(sides):
    family, y = cone(200)
    groups = np.array(["big"] * 195 + ["tiny"] * 5)
    pooled = make_calibrator("conformal", sides, True, {"small_groups": "pool"})
    pooled.fit(family, y, groups)
    with pytest.warns(SmallCalibrationWarning, match=r"'tiny' \(5 samples\)"):
        lower, upper = pooled.intervals(family, 0.9, groups)
    alone = make_calibrator("conformal", sides, False, {}).fit(family, y)
    ends = alone.intervals(family, 0.9)
    assert_array_equal(lower[195:], ends[0][195:])
    assert_array_equal(upper[195:], ends[1][195:])
    assert not np.array_equal(upper[:195], ends[1][:195])
    big, tiny = pooled.report(0.9)
    assert (big.calibrated_on, tiny.calibrated_on) == ("group", "pool")
    assert_array_equal(tiny.alpha, alone.alpha(0.9))
    assert tiny.reached == ((ends[0] <= y) & (y <= ends[1]))[195:].mean()
    with pytest.raises(CoverageError, match="200 calibration samples"):
        pooled.intervals(family, 0.999, groups)


@pytest.mark.parametrize("sides", ["both", "each", "upper"])
@pytest.mark.parametrize("method", ["exact", "conformal"])
def test_intervals_of_a_row_are_nested_although_a_group_reaches_some_levels_only(method, sides):
    levels = [0.5, 0.8, 0.9, 0.95, 0.99]
    for seed in range(20):
        rng = np.random.default_rng(seed)
        groups = np.repeat(["big", "mid", "wild"], [300, *rng.choice([5, 12, 30, 60], 2)])
        family, y = cone(groups.size, seed)
        y = y * np.where(groups == "wild", 9.0, 0.3)
        options = {"small_groups": "pool"}
        pooled = make_calibrator(method, sides, True, options).fit(family, y, groups)
        lower, upper = pooled.intervals(family, levels, groups)
        assert (lower[:, 1:] <= lower[:, :-1]).all() and (upper[:, 1:] >= upper[:, :-1]).all()
        if method == "conformal" and sides == "both":  # all from the pool, though 0.5 is in reach
            wild, alone = groups == "wild", RankCalibrator().fit(family, y)
            assert_array_equal(lower[wild], alone.intervals(family, levels)[0][wild])
            assert_array_equal(pooled.alpha(levels, "wild"), alone.alpha(levels))
            assert pooled.alpha(0.5, "wild") != alone.alpha(0.5)


@pytest.mark.filterwarnings("error")
def test_small_groups_are_reported_once_when_fitted():
    family, y = cone(330)
    with pytest.warns(
        SmallCalibrationWarning, match=r"11 of 11 groups .*\(30 samples\) and 6 more"
    ):
        GroupCalibrator().fit(family, y, np.arange(330) % 11)
    GroupCalibrator().fit(family, y, np.minimum(np.arange(330) // 100, 2))  # from 100 on: none


def test_invalid_groups_are_refused(grouped):
    family, y, groups = grouped
    by_group = GroupCalibrator().fit(family, y, groups)
    for asked in (["d", *groups[1:]], [], [1] * 300, None):
        with pytest.raises(ValueError, match="groups"):
            by_group.intervals(family, 0.9, asked)
    for bad in (None, 1.5, np.nan, ("a",)):
        labels = np.empty(300, dtype=object)
        labels[:-1], labels[-1] = groups[:-1], bad
        with pytest.raises(ValueError, match=r"groups .* 299"):
            GroupCalibrator().fit(family, y, labels)
    with pytest.raises(ValueError, match=r"groups .* 300"):
        GroupCalibrator().fit(family, y, groups[1:])
    alone = make_calibrator("conformal", "each", False, {})
    with pytest.raises(ValueError, match="groups must be None"):
        alone.fit(family, y, groups)
    assert read_groups(np.array([True, False])) == [1, 0]
    for mixed in ([True, 1], [0, False, "a"], [True, 2.0]):
        with pytest.raises(ValueError, match="groups must not mix True and False"):
            read_groups(mixed)
