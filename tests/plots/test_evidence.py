"""Figures of the evidence: marks and bars stand where the numbers say."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

matplotlib = pytest.importorskip("matplotlib", reason="needs the extra `plot`")
matplotlib.use("agg")
plt = pytest.importorskip("matplotlib.pyplot")

from gt2lite import plots  # noqa: E402

FOREST = {"one": {"a": (0.5, 1.0), "b": (-0.5, 2.0)}, "two": {"a": (0.25, 1.0)}}
DOTS = {"one": {"a": np.array([1.0, 3.0]), "b": np.array([5.0, 6.0])}}
FLAT = {
    "few values": lambda ax: plots.target_histogram(ax, np.array([0.0, 1.0, 1.0]), "grade"),
    "one value": lambda ax: plots.target_histogram(ax, np.zeros(3), "grade"),
    "many values": lambda ax: plots.target_histogram(ax, np.arange(100.0), "power"),
    "power": lambda ax: plots.power_curves(ax, np.array([0.0, 1.0]), {"t": np.array([0.05, 0.9])}),
}
ROWS = {
    "row_shares": lambda ax: plots.row_shares(ax, {"m": {"train": 85, "test": 15}}),
    "forest": lambda ax: plots.forest(ax, FOREST, "value"),
    "an empty forest": lambda ax: plots.forest(ax, {}, "value"),
    "paired_dots": lambda ax: plots.paired_dots(ax, DOTS, "value"),
    "no dots": lambda ax: plots.paired_dots(ax, {}, "value"),
}


@pytest.mark.parametrize("draw", [*FLAT.values(), *ROWS.values()], ids=[*FLAT, *ROWS])
def test_a_figure_returns_its_axes_labelled_and_without_a_title(ax, draw):
    assert draw(ax) is ax
    assert ax.get_xlabel()
    assert not ax.get_title()


@pytest.mark.parametrize("draw", FLAT.values(), ids=FLAT)
def test_where_rows_have_no_names_the_upright_axis_has_a_label(ax, draw):
    assert draw(ax).get_ylabel()


def test_a_bar_stands_for_each_of_few_values_and_all_bars_are_all_rows(ax):
    plots.target_histogram(ax, np.array([3.0, 5.0, 5.0, 6.0]), "grade")
    heights = [bar.get_height() for bar in ax.patches]
    assert_allclose(heights, [25, 50, 25])
    assert_allclose(ax.get_xticks(), [3, 5, 6])


def test_many_values_are_binned_and_no_row_is_lost(ax):
    plots.target_histogram(ax, np.random.default_rng(0).normal(size=500), "power")
    assert len(ax.patches) == 30
    assert_allclose(sum(bar.get_height() for bar in ax.patches), 100)


def test_the_parts_of_a_model_follow_each_other_without_a_gap(ax):
    plots.row_shares(ax, {"m": {"train": 70, "calibrate": 15, "test": 15}})
    assert [bar.get_x() for bar in ax.patches] == [0, 70, 85]
    told = [text.get_text() for text in ax.texts]
    assert told == ["train\n70 %", "calibrate\n15 %", "test\n15 %"]


def test_marks_of_a_forest_stand_at_their_values_one_series_above_the_other(ax):
    plots.forest(ax, FOREST, "value")
    a, b = (bars.lines[0] for bars in ax.containers)
    assert_allclose(a.get_xdata(), [0.5, 0.25])
    assert_allclose(b.get_xdata(), [-0.5])
    assert a.get_ydata()[0] < 0 < b.get_ydata()[0], "both belong to the row at 0"
    assert a.get_marker() != b.get_marker(), "colour alone must not tell them apart"
    assert [label.get_text() for label in ax.get_yticklabels()] == ["one", "two"]
    assert ax.yaxis_inverted(), "the first row is on top"


def test_the_bar_of_a_row_of_dots_is_their_mean(ax):
    plots.paired_dots(ax, DOTS, "value")
    zero, dots_a, mean_a, dots_b, mean_b = ax.lines
    assert_allclose(zero.get_xdata(), 0)
    assert_allclose(dots_a.get_xdata(), [1, 3])
    assert_allclose(mean_a.get_xdata(), 2)
    assert_allclose(dots_b.get_xdata(), [5, 6])
    assert_allclose(mean_b.get_xdata(), 5.5)


def test_power_is_drawn_in_per_cent(ax):
    plots.power_curves(ax, np.array([0.0, 1.0]), {"t": np.array([0.05, 0.9])}, wanted=0.8)
    line, curve = ax.lines
    assert_allclose(line.get_ydata(), 80)
    assert_allclose(curve.get_ydata(), [5, 90])
