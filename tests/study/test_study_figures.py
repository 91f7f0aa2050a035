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
LAW = np.arange(5) / 4, np.array([0.1, 0.2, 0.4, 0.2, 0.1])
SEEN = np.array([0.25, 0.5, 0.5, 1.0])
PLACES = np.array([0.0, 1.0, 2.0, 3.0])
ENDS = np.stack([-PLACES, PLACES])
STAGE = np.array([0, 0, 1, 2])


@pytest.mark.parametrize(
    ("draw", "arguments"),
    [
        (figures.interpolations, (TABLE, CRITICAL, PHI, {"line": PHI})),
        (figures.search_path, (CRITICAL, PATH, 0.6, 0.0005)),
        (figures.family_ends, (PLACES, ENDS, STAGE, 1.5)),
        (figures.coverage_histogram, (SEEN, LAW, 0.5)),
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
