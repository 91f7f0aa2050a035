"""Facts about splits into training, calibration and test part."""

from __future__ import annotations

import numpy as np
import pytest

from gt2lite.datasets import load_dataset, split


def sizes(parts):
    return len(parts.train), len(parts.calibration), len(parts.test)


def all_rows(parts):
    return np.concatenate([parts.train, parts.calibration, parts.test])


@pytest.mark.parametrize(
    ("n", "expected"),
    [
        (4898, (3429, 734, 735)),
        (5875, (4112, 882, 881)),
        (2139, (1497, 321, 321)),
        (9568, (6698, 1435, 1435)),
        (100, (70, 15, 15)),
        (6, (4, 1, 1)),
    ],
)
def test_train_and_test_are_rounded_and_calibration_is_the_rest(n, expected):
    assert sizes(split(n, seed=0)) == expected


def test_parts_are_disjoint_cover_every_row_and_are_never_empty():
    for n in (*range(6, 60), 4898):
        parts = split(n, seed=3)
        assert sorted(all_rows(parts).tolist()) == list(range(n)), n
        assert min(sizes(parts)) >= 1, n


def test_a_seed_gives_the_same_split_again_and_another_seed_another():
    np.testing.assert_array_equal(all_rows(split(500, seed=1)), all_rows(split(500, seed=1)))
    assert set(split(500, seed=1).test) != set(split(500, seed=2).test)


@pytest.mark.parametrize("n", [-1, 0, 5, 10.0, True])
def test_too_few_rows_are_refused(n):
    with pytest.raises(ValueError, match="n must be a whole number of at least 6"):
        split(n, seed=0)


@pytest.mark.parametrize("seed", [None, -1, 0.5])
def test_a_seed_is_a_whole_number(seed):
    with pytest.raises(ValueError, match="seed must be a whole number"):
        split(100, seed=seed)


@pytest.mark.parametrize("seed", range(5))
def test_a_plain_split_puts_the_same_patients_on_both_sides(seed):
    groups = load_dataset("pm").groups
    parts = split(len(groups), seed)
    assert set(groups[parts.train]) == set(groups[parts.test]) == set(range(1, 43))


@pytest.mark.parametrize("seed", range(5))
def test_a_group_split_keeps_patients_apart_with_shares_within_half_a_patient(seed):
    groups = load_dataset("pm").groups
    parts = split(len(groups), seed, groups=groups)
    patients = [set(groups[rows]) for rows in (parts.train, parts.calibration, parts.test)]
    assert sum(map(len, patients)) == len(set.union(*patients)) == 42
    assert sorted(all_rows(parts).tolist()) == list(range(len(groups)))
    half = np.bincount(groups).max() / 2
    assert abs(len(parts.train) - 4112) <= half
    assert abs(len(parts.test) - 881) <= half


def test_a_group_split_is_reproducible_and_differs_by_seed():
    groups = np.repeat(np.arange(20), 5)
    tests = [split(100, seed, groups=groups).test.tolist() for seed in (0, 0, 1)]
    assert tests[0] == tests[1] != tests[2]


def test_a_group_split_does_not_favour_large_groups():
    groups = load_dataset("pm").groups
    drawn = np.zeros(43)
    for seed in range(300):
        drawn[np.unique(groups[split(len(groups), seed, groups=groups).test])] += 1
    large = np.bincount(groups)[1:] > 140
    assert drawn[1:][large].mean() == pytest.approx(drawn[1:][~large].mean(), rel=0.15)


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ((15, 70, 15), (70, 15, 15)),
        ((1, 1, 98), (98, 1, 1)),
        ((40, 30, 30), (40, 30, 30)),
        ((10,) * 10, {(70, 10, 20), (70, 20, 10)}),
        ((1,) * 100, (70, 15, 15)),
    ],
)
def test_shares_come_as_near_as_whole_groups_allow(counts, expected):
    groups = np.repeat(np.arange(len(counts)), counts)
    for seed in range(10):
        got = sizes(split(100, seed, groups=groups))
        assert got in (expected if isinstance(expected, set) else {expected}), seed


def test_group_labels_may_be_text():
    parts = split(9, seed=0, groups=list("abcabcabc"))
    assert sizes(parts) == (3, 3, 3)


def test_group_labels_that_cannot_be_split_are_refused():
    with pytest.raises(ValueError, match="at least 3 different labels, got 2"):
        split(10, seed=0, groups=[0, 1] * 5)
    with pytest.raises(ValueError, match=r"groups must be a row of 10 labels, got shape \(9,\)"):
        split(10, seed=0, groups=np.arange(9))
