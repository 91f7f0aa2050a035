"""Facts about bins of rows: they do not look at the target, and every row is counted once."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from gt2lite.metrics import covers
from study.field.conditional import Bin, coverage_by, rarity, regions, width_bins, worst

RNG = np.random.default_rng(0)
X_TRAIN, X = RNG.normal(size=(500, 3)) * [1, 5, 1], RNG.normal(size=(200, 3)) * [1, 5, 1]


def test_coverage_is_counted_bin_by_bin():
    y, lower = RNG.normal(size=100), RNG.normal(size=100)
    upper = lower + RNG.uniform(0, 3, size=100)
    labels = RNG.integers(3, size=100)
    hit = covers(y, lower, upper)
    found = coverage_by(labels, y, lower, upper)
    for i, one in enumerate(found):  # the slow way
        rows = [j for j in range(100) if labels[j] == i]
        assert one.label == str(i) and one.n == len(rows)
        assert one.covered == sum(bool(hit[j]) for j in rows)
        assert one.width == pytest.approx(np.mean([upper[j] - lower[j] for j in rows]))
    assert sum(one.covered for one in found) == hit.sum()


def test_numbered_bins_come_in_the_order_of_their_numbers():
    found = coverage_by([10, 9, 10], [0.0] * 3, [0.0] * 3, [1.0] * 3)
    assert [one.label for one in found] == ["9", "10"]


def test_the_worst_bin_is_the_one_that_covers_the_smallest_share():
    assert worst([Bin("a", 10, 9, 1.0), Bin("b", 2, 1, 1.0), Bin("c", 1, 1, 1.0)]) == 0.5


def test_width_bins_hold_equal_shares_in_rising_order():
    width = RNG.permutation(100) + 1.0
    found = width_bins(np.zeros(100), width)
    assert_array_equal(np.bincount(found), [0, 20, 20, 20, 20, 20])
    for i in range(1, 5):
        assert width[found == i].max() < width[found == i + 1].min()


def test_a_row_on_the_border_of_two_bins_belongs_to_the_lower_one():
    widths = np.array([1.0, 2.0, 3.0, 4.0, 5.0])  # halved at 3
    assert_array_equal(width_bins(np.zeros(5), widths, n_bins=2), [1, 1, 1, 2, 2])
    line = np.array([[-2.0], [-1.0], [0.0], [1.0], [2.0]])
    assert_array_equal(regions(line, line, n_bins=2), [1, 1, 1, 2, 2])
    assert_array_equal(rarity(line, line, n_bins=2), [2, 1, 1, 1, 2])  # 1 is the middle distance


def test_a_margin_that_is_the_same_for_all_makes_one_bin_in_spite_of_rounding():
    y_hat = RNG.normal(size=1000)
    lower, upper = y_hat - 0.1, y_hat + 0.1
    assert len(set(upper - lower)) > 1
    assert set(width_bins(lower, upper)) == {1}
    assert set(width_bins(y_hat, y_hat)) == {1}  # no width at all


def test_regions_lie_along_the_direction_of_the_largest_spread():
    found = regions(X_TRAIN, X)
    for i in range(1, 5):
        assert X[found == i, 1].mean() < X[found == i + 1, 1].mean() - 1
    assert_array_equal(np.bincount(regions(X_TRAIN, X_TRAIN)), [0, 100, 100, 100, 100, 100])


def test_the_rarest_inputs_are_in_the_last_bin():
    far = np.array([[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 20.0, 0.0]])
    assert_array_equal(rarity(X_TRAIN, far), [1, 5, 5])
    assert_array_equal(np.bincount(rarity(X_TRAIN, X_TRAIN)), [0, 100, 100, 100, 100, 100])


def test_an_input_that_is_constant_in_training_does_no_harm():
    flat = X_TRAIN * [1, 1, 0]
    assert set(rarity(flat, flat)) == {1, 2, 3, 4, 5}


def test_labels_of_another_length_are_refused():
    with pytest.raises(ValueError, match="labels must be a row of 2"):
        coverage_by([1, 2, 3], [0.0, 0.0], [0.0, 0.0], [1.0, 1.0])
