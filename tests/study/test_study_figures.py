"""Figures of single chapters: each can be drawn, and shows the right numbers."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

matplotlib = pytest.importorskip("matplotlib", reason="needs the extra `plot`")
matplotlib.use("agg")

from gt2lite.calibration import ExactCalibrator, SearchCalibrator, TableCalibrator  # noqa: E402
from gt2lite.memberships import kappa_of  # noqa: E402
from study import figures  # noqa: E402

Y = np.linspace(-1.1, 1.1, 201)  # some lie outside every plane


def interval(alpha):
    kappa = np.broadcast_to(kappa_of(alpha), Y.shape)
    return -kappa, kappa


CRITICAL = ExactCalibrator().fit(interval, Y).critical_alpha
TABLE = TableCalibrator().fit(interval, Y).table
PATH = SearchCalibrator().fit(interval, Y).path(0.6)
PHI = np.linspace(0.1, 0.9, 5)
LEVELS, YES = np.array([0.5, 0.6, 0.7]), np.array([True, True, False])
LAW = np.arange(5) / 4, np.array([0.1, 0.2, 0.4, 0.2, 0.1])
SEEN = np.array([0.25, 0.5, 0.5, 1.0])
TWO = np.array([0.8, 0.9])
PLACES = np.array([0.0, 1.0, 2.0, 3.0])
ENDS = np.stack([-PLACES, PLACES])
STAGE = np.array([0, 0, 1, 2])
MISSES = {"A": {"both": (0.02, 0.08), "each": (0.05, 0.05)}}
TIMES = {"gt2lite": (2.0, 1.5, 2.5, 1.0), "another": (20.0, 18.0, 30.0, 11.4)}
GROWTH = {"rows": ([1, 10, 100], [2.0, 11.0, 100.0]), "rules": ([2, 4], [1.0, 8.0])}
STEPS = {"rules": {"10": 0.9, "30": 0.7}, "epochs": {"40": 0.7, "100": 0.6, "200": 0.65}}


@pytest.mark.parametrize(
    ("draw", "arguments"),
    [
        (figures.step_tradeoff, ([6, 11], {"one": [2.0, 1.0]}, [0.2, 0.1])),
        (figures.interpolations, (TABLE, CRITICAL, PHI, {"line": PHI})),
        (figures.search_path, (CRITICAL, PATH, 0.6, 0.0005)),
        (figures.search_misses, (LEVELS, LEVELS, YES, ~YES)),
        (figures.coverage_laws, ({"one": LAW}, {"one": 0.85}, 0.9)),
        (figures.family_ends, (PLACES, ENDS, STAGE, 1.5)),
        (figures.coverage_histogram, (SEEN, LAW, 0.5)),
        (figures.coverage_by_size, ([50, 100], {"one": TWO}, {"one": TWO / 9}, 0.9)),
        (figures.width_by_level, (TWO, TWO, np.array([0, 2]), TWO / 9)),
        (figures.tail_misses, (MISSES, 0.05)),
        (figures.group_coverage, ({"one": TWO, "own": TWO}, 0.9)),
        (figures.promises, (TWO, {"one": TWO})),
        (figures.factor_steps, (STEPS,)),
        (figures.power_curves, (TWO, {"t": TWO})),
        (figures.rule_curves, ([5, 10], {"WW": TWO}, "width")),
        (figures.growth_curves, (GROWTH, ("size", "seconds"))),
    ],
)
def test_a_figure_returns_its_axes_with_both_labelled_and_no_title(ax, check_axes, draw, arguments):
    check_axes(draw(ax, *arguments))


def test_the_inverse_staircase_turns_at_its_corners_and_the_range_stays(ax):
    wild = np.array([0.5, 9e6, -9e6, 0.4, 0.3])
    figures.interpolations(ax, TABLE, np.array([0.2, 0.6]), PHI, {"wild": wild}, (-0.2, 1.2))
    assert ax.lines[0].get_drawstyle() == "steps-post"  # across first, then down
    assert_allclose(ax.lines[0].get_xdata(), [100, 100, 50, 0])
    assert ax.get_ylim() == (-0.2, 1.2)


def test_a_search_is_numbered_from_its_start_to_its_answer(ax):
    figures.search_path(ax, CRITICAL, PATH, 0.6, 0.0005)
    numbers: list[int] = []
    for text in ax.texts:
        first, _, last = text.get_text().partition(" to ")  # moves that lie close share a label
        numbers += range(int(first), int(last or first) + 1)
    assert numbers == list(range(len(PATH)))
    assert_allclose(ax.lines[-1].get_xdata(), [alpha for alpha, _ in PATH])


def test_a_zoom_shows_only_the_moves_inside_it(ax):
    figures.search_path(ax, CRITICAL, PATH, 0.6, 0.0005, zoom=(0.35, 0.45))
    assert [text.get_text() for text in ax.texts] == ["0"]


def test_every_level_is_met_impossible_or_stalled(ax):
    met, possible = np.array([True, False, False]), np.array([True, True, False])
    figures.search_misses(ax, LEVELS, np.zeros(3), met, possible)
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["met: 1", "cannot be met: 1", "stalled: 1"]


@pytest.mark.parametrize(("y", "scores"), [(-1.5, [[2.0, -1.5]]), (9.0, [])])
def test_the_score_of_a_target_is_where_the_family_first_covers_it(ax, y, scores):
    figures.family_ends(ax, PLACES, ENDS, STAGE, y)
    marked = [line.get_xydata()[0] for line in ax.lines if line.get_label() == "its score"]
    assert_array_equal(marked, scores)


def test_histogram_and_law_count_in_the_same_bins(ax):
    figures.coverage_histogram(ax, SEEN, LAW, 0.5)
    centres = [bar.get_x() + bar.get_width() / 2 for bar in ax.patches]
    assert_allclose(centres, [0, 25, 50, 75, 100], atol=1e-9)
    assert_allclose([bar.get_height() for bar in ax.patches], [0, 25, 50, 0, 25])
    assert_allclose(ax.lines[0].get_ydata(), 100 * LAW[1])


def test_wide_bins_hold_equally_many_possible_shares(ax):
    law = np.arange(101) / 100, np.full(101, 1 / 101)
    figures.coverage_histogram(ax, np.arange(101) / 100, law, 0.5, n_bins=10)
    heights = np.array([bar.get_height() for bar in ax.patches])
    assert_allclose(heights[:-1], 1000 / 101)
    assert_allclose(ax.lines[0].get_ydata(), heights)


def test_the_shaded_part_of_a_width_is_twice_the_margin(ax):
    figures.width_by_level(ax, TWO, np.array([1.0, 2.0]), np.array([0, 2]), np.array([0.0, 0.4]))
    heights = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert {round(float(h), 9) for h in heights} >= {1.2, 2.0}


def test_each_side_and_way_has_a_mark(ax):
    figures.tail_misses(ax, MISSES, 0.05)
    marks = {
        line.get_label(): line.get_xdata()[0] for line in ax.lines if line.get_marker() in "v^"
    }
    expected = {"below, both": 2, "above, both": 8, "below, each": 5, "above, each": 5}
    assert marks == pytest.approx(expected)


def test_groups_and_levels_are_in_rising_order(ax):
    figures.group_coverage(ax, {"one": np.array([0.9, 0.1, 0.5])}, 0.9)
    assert_allclose(ax.lines[1].get_ydata(), [10, 50, 90])
    figures.promises(ax, np.array([0.99, 0.5]), {"one": np.array([0.97, 0.6])})
    assert_allclose(ax.lines[-1].get_xydata(), [[50, 60], [99, 97]])


def test_the_path_leads_through_the_best_value_of_each_factor(ax):
    figures.factor_steps(ax, STEPS)
    assert_array_equal(ax.lines[-1].get_xydata(), [[0.7, 0], [0.6, 1]])
    assert [text.get_text() for text in ax.get_yticklabels()] == ["rules: 30", "epochs: 100"]


def test_the_parts_of_a_model_follow_each_other(ax):
    figures.row_shares(ax, {"m": {"train": 70, "calibrate": 15, "test": 15}})
    assert [bar.get_x() for bar in ax.patches] == [0, 70, 85]


def test_power_is_in_percent(ax):
    figures.power_curves(ax, np.array([0.0, 1.0]), {"t": np.array([0.05, 0.9])}, wanted=0.8)
    assert_allclose([line.get_ydata() for line in ax.lines], [[80, 80], [5, 90]])


def test_bars_are_medians_with_quartiles_and_multiples(ax):
    figures.time_bars(ax, TIMES, "microseconds", ours="gt2lite")
    assert_allclose([bar.get_width() for bar in ax.patches], [2, 20])
    (whiskers,) = ax.containers[0].lines[2]
    assert_allclose([ends[:, 0] for ends in whiskers.get_segments()], [[1.5, 2.5], [18, 30]])
    assert [text.get_text() for text in ax.texts] == ["1", "11"]


def test_growth_is_drawn_beside_a_line_of_the_slope_asked_for(ax):
    figures.growth_curves(ax, GROWTH, ("size", "seconds"), slope=1)
    assert_allclose(ax.lines[-1].get_ydata(), [1, 10, 100])
    assert ax.get_xscale() == ax.get_yscale() == "log"
