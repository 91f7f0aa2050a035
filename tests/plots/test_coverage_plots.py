"""Figures of coverage: what they show is what ranks, laws and counts say."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

matplotlib = pytest.importorskip("matplotlib", reason="needs the extra `plot`")
matplotlib.use("agg")

from gt2lite import plots  # noqa: E402
from gt2lite.calibration import Scores  # noqa: E402
from gt2lite.memberships import alpha_of  # noqa: E402

SCORES = Scores(
    np.array([alpha_of(0.5), 0.0, alpha_of(1.5), 1.0]), np.array([0.0, 0.7, 0.0, 0.0]),
    np.ones(4), alpha_of(2.0),
)  # fmt: skip
LAW = np.arange(5) / 4, np.array([0.1, 0.2, 0.4, 0.2, 0.1])
SEEN = np.array([0.25, 0.5, 0.5, 1.0])
TWO = np.array([0.8, 0.9])
PLACES = np.array([0.0, 1.0, 2.0, 3.0])
ENDS = np.stack([-PLACES, PLACES])
FIGURES = {
    "family_ends": lambda ax: plots.family_ends(ax, PLACES, ENDS, np.array([0, 0, 1, 2]), 1.5),
    "critical_ranks": lambda ax: plots.critical_ranks(ax, SCORES, [0.5]),
    "coverage_histogram": lambda ax: plots.coverage_histogram(ax, SEEN, LAW, 0.5),
    "coverage_by_size": lambda ax: plots.coverage_by_size(
        ax, [50, 100], {"one": TWO}, {"one": TWO / 9}, 0.9
    ),
    "width_by_level": lambda ax: plots.width_by_level(
        ax, TWO, np.array([1.0, 2.0]), np.array([0, 2]), np.array([0.0, 0.4])
    ),
    "tail_misses": lambda ax: plots.tail_misses(
        ax, {"A": {"both": (0.02, 0.08), "each": (0.05, 0.05)}}, 0.05
    ),
    "group_coverage": lambda ax: plots.group_coverage(ax, {"one": TWO, "own": TWO}, 0.9),
}
SERIES = {"a": np.array([0.9, 0.8]), "b": np.array([0.7, 1.0])}


@pytest.mark.parametrize("draw", FIGURES.values(), ids=FIGURES)
def test_a_figure_returns_its_axes_with_both_labelled_and_no_title(ax, draw, check_axes):
    check_axes(draw(ax))


def test_ranks_rise_through_the_three_stages(ax):
    plots.critical_ranks(ax, SCORES)
    drawn = {line.get_label(): line.get_xydata() for line in ax.lines[:3]}
    assert list(drawn) == ["trained planes: 2", "planes beyond: 1", "margin: 1"]
    assert_allclose(np.vstack(list(drawn.values()))[:, 0], [25, 50, 75, 100])
    # kappa as far as there are planes, then the last kappa and the margin
    assert_allclose(np.vstack(list(drawn.values()))[:, 1], [0, 0.5, 1.5, 2.7], atol=1e-12)


def test_histogram_and_law_count_in_the_same_bins(ax):
    plots.coverage_histogram(ax, SEEN, LAW, 0.5)
    heights = [bar.get_height() for bar in ax.patches]
    centres = [bar.get_x() + bar.get_width() / 2 for bar in ax.patches]
    assert_allclose(centres, [0, 25, 50, 75, 100], atol=1e-9)
    assert_allclose(heights, [0, 25, 50, 0, 25])
    assert_allclose(ax.lines[0].get_ydata(), 100 * LAW[1])


def test_wide_bins_hold_equally_many_possible_shares(ax):
    law = np.arange(101) / 100, np.full(101, 1 / 101)
    plots.coverage_histogram(ax, np.arange(101) / 100, law, 0.5, n_bins=10)
    heights = np.array([bar.get_height() for bar in ax.patches])
    assert_allclose(heights[:-1], 1000 / 101)
    assert_allclose(ax.lines[0].get_ydata(), heights)


def test_the_shaded_part_of_a_width_is_twice_the_margin(ax):
    plots.width_by_level(ax, TWO, np.array([1.0, 2.0]), np.array([0, 2]), np.array([0.0, 0.4]))
    heights = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert {round(float(h), 9) for h in heights} >= {1.2, 2.0}


def test_each_row_has_a_mark_for_either_side_and_way(ax):
    plots.tail_misses(ax, {"A": {"both": (0.02, 0.08), "each": (0.05, 0.05)}}, 0.05)
    marks = {
        line.get_label(): line.get_xdata()[0] for line in ax.lines if line.get_marker() in "v^"
    }
    assert marks == pytest.approx(
        {"below, both": 2, "above, both": 8, "below, each": 5, "above, each": 5}
    )


def test_groups_stand_in_order_of_their_coverage(ax):
    plots.group_coverage(ax, {"one": np.array([0.9, 0.1, 0.5])}, 0.9)
    assert_allclose(ax.lines[1].get_ydata(), [10, 50, 90])


def test_promises_draw_a_line_for_each_system_in_order_of_the_level(ax, check_axes):
    levels = np.array([0.99, 0.5])
    plots.promises(ax, levels, {"one": np.array([0.97, 0.6]), "two": np.array([0.99, 0.5])})
    check_axes(ax)
    diagonal, one, two = ax.get_lines()
    assert_allclose(one.get_xdata(), [50, 99])
    assert_allclose(one.get_ydata(), [60, 97])
    assert_allclose(two.get_ydata(), two.get_xdata())
    assert_array_equal(diagonal.get_xdata(), diagonal.get_ydata())


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


def test_bands_and_targets_stand_in_the_order_of_the_targets_or_of_what_is_given(ax):
    y = np.array([2.0, 1.0])
    plots.interval_bands(ax, y, {"band": (y - 1, y + 1)})
    plots.interval_bands(ax, y, {"band": (y - 1, y + 1)}, order=np.array([0, 1]))
    by_target, as_given = ax.lines
    assert_allclose(by_target.get_ydata(), [1, 2])
    assert_allclose(as_given.get_ydata(), [2, 1])


def test_the_score_of_a_target_is_where_the_family_first_covers_it():
    _, ax = matplotlib.pyplot.subplots()
    plots.family_ends(ax, PLACES, ENDS, np.array([0, 0, 1, 2]), y=-1.5)
    marked = [line for line in ax.lines if line.get_label() == "its score"]
    assert_array_equal(marked[0].get_xydata(), [[2.0, -1.5]])


def test_a_target_that_no_member_covers_has_no_score():
    _, ax = matplotlib.pyplot.subplots()
    plots.family_ends(ax, PLACES, ENDS, np.zeros(4), y=9.0)
    assert "its score" not in [line.get_label() for line in ax.lines]
