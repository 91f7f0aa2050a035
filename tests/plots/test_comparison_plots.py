"""Figures that compare: marks and bars stand where the numbers say."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

matplotlib = pytest.importorskip("matplotlib", reason="needs the extra `plot`")
matplotlib.use("agg")

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
STRIPS = {"ours": np.array([1.0, 3.0]), "theirs": np.array([4.0, 8.0])}


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
    assert [text.get_text() for text in ax.texts] == ["70 %", "15 %", "15 %"]
    named = [text.get_text() for text in ax.get_legend().get_texts()]
    assert named == ["train", "calibrate", "test"]


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


def test_a_strip_has_the_values_and_their_mean_and_the_first_is_on_top(ax):
    assert plots.strips(ax, STRIPS, "width", own=["ours"]) is ax
    dots, bar, others, _ = ax.lines
    assert_allclose(dots.get_xdata(), [1, 3])
    assert_allclose(bar.get_xdata(), 2)
    assert_allclose(others.get_xdata(), [4, 8])
    assert dots.get_marker() != others.get_marker(), "colour alone must not tell them apart"
    assert [label.get_text() for label in ax.get_yticklabels()] == ["ours", "theirs"]
    assert ax.yaxis_inverted() and ax.get_xlabel() == "width" and not ax.get_title()


def test_a_value_can_be_marked(ax):
    plots.strips(ax, STRIPS, "width", mark=5.0)
    assert_allclose(ax.lines[0].get_xdata(), 5)


def test_the_path_leads_through_the_best_value_of_each_factor(ax, check_axes):
    steps = {"rules": {"10": 0.9, "30": 0.7}, "epochs": {"40": 0.7, "100": 0.6, "200": 0.65}}
    check_axes(plots.factor_steps(ax, steps))
    rules, epochs, path = ax.get_lines()
    assert_array_equal(path.get_xdata(), [0.7, 0.6])
    assert_array_equal(path.get_ydata(), [0, 1])
    assert_array_equal(epochs.get_xdata(), [0.7, 0.6, 0.65])
    assert len(rules.get_xdata()) == 2
    assert [text.get_text() for text in ax.get_yticklabels()] == ["rules: 30", "epochs: 100"]
    bottom, top = ax.get_ylim()
    assert bottom > top  # the first factor stands at the top


def test_rules_stand_at_their_numbers_and_values_start_at_zero(ax, check_axes):
    series = {"WW": np.array([0.4, 0.3, 0.2])}
    check_axes(plots.rule_curves(ax, [5, 10, 100], series, "width"))
    (line,) = ax.get_lines()
    assert_array_equal(line.get_xdata(), [5, 10, 100])
    assert [text.get_text() for text in ax.get_xticklabels()] == ["5", "10", "100"]
    assert ax.get_ylim()[0] == 0
