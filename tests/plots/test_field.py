"""Figures of the field: marks stand where the numbers say, and shape tells what colour tells."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

matplotlib = pytest.importorskip("matplotlib", reason="needs the extra `plot`")
matplotlib.use("agg")

from gt2lite import plots  # noqa: E402

ROWS = {"ours": np.array([1.0, 3.0]), "theirs": np.array([4.0, 8.0])}
SERIES = {"a": np.array([0.9, 0.8]), "b": np.array([0.7, 1.0])}


def test_a_strip_has_the_values_and_their_mean_and_the_first_is_on_top(ax):
    assert plots.strips(ax, ROWS, "width", own=["ours"]) is ax
    dots, bar, others, _ = ax.lines
    assert_allclose(dots.get_xdata(), [1, 3])
    assert_allclose(bar.get_xdata(), 2)
    assert_allclose(others.get_xdata(), [4, 8])
    assert dots.get_marker() != others.get_marker(), "colour alone must not tell them apart"
    assert [label.get_text() for label in ax.get_yticklabels()] == ["ours", "theirs"]
    assert ax.yaxis_inverted() and ax.get_xlabel() == "width" and not ax.get_title()


def test_a_value_can_be_marked(ax):
    plots.strips(ax, ROWS, "width", mark=5.0)
    assert_allclose(ax.lines[0].get_xdata(), 5)


def test_coverage_of_bins_is_drawn_in_per_cent_around_the_level(ax):
    assert plots.bin_coverage(ax, SERIES, ["narrow", "wide"], 0.9) is ax
    level, a, b = ax.lines
    assert_allclose(level.get_ydata(), 90)
    assert_allclose(a.get_ydata(), [90, 80])
    assert_allclose(b.get_ydata(), [70, 100])
    assert a.get_marker() != b.get_marker()
    assert [label.get_text() for label in ax.get_xticklabels()] == ["narrow", "wide"]
    assert ax.get_ylabel() and not ax.get_title()


def test_the_band_of_a_bin_is_two_standard_deviations_of_its_share(ax):
    plots.bin_coverage(ax, SERIES, ["narrow", "wide"], 0.9, sizes=[100, 400])
    (band,) = ax.collections
    ends = band.get_paths()[0].vertices
    first, second = ends[ends[:, 0] == 0, 1], ends[ends[:, 0] == 1, 1]
    assert_allclose([first.min(), first.max()], [84, 96])  # sqrt(0.09 / 100) is 3 %
    assert_allclose([second.min(), second.max()], [87, 93])
