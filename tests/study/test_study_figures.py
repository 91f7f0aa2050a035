"""Figures of the chapters: each can be drawn, and shows the right numbers."""

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
LINES = {"a": np.array([[1.0], [-2.0]]), "a0": np.array([0.0, 0.5])}


@pytest.mark.parametrize(
    ("draw", "arguments"),
    [
        (figures.target_histogram, (np.array([0.0, 1.0, 1.0]), "grade")),
        (figures.target_histogram, (Y, "grade")),
        (figures.secondary_membership, (0.7, 0.6, 0.4, 0.3)),
        (figures.rule_lines, (Y, LINES)),
        (figures.interpolations, (TABLE, CRITICAL, PHI, {"line": PHI})),
        (figures.search_path, (CRITICAL, PATH, 0.6, 0.0005)),
        (figures.family_ends, (PLACES, ENDS, STAGE, 1.5)),
        (figures.coverage_histogram, (SEEN, LAW, 0.5)),
    ],
)
def test_a_figure_returns_its_axes_with_both_labelled_and_no_title(ax, check_axes, draw, arguments):
    check_axes(draw(ax, *arguments))


def test_runs_are_dots_around_their_mean(ax):
    rows = {"one": {"a": np.array([1.0, 3.0]), "b": np.array([5.0, 6.0])}, "two": {}}
    assert figures.paired_dots(ax, rows, "value") is ax
    bars = [line.get_xdata()[0] for line in ax.lines if line.get_linewidth() == 2.5]
    assert_allclose(bars, [2.0, 5.5])


def test_a_search_is_numbered_from_its_start_and_a_zoom_shows_its_moves_only(ax):
    figures.search_path(ax, CRITICAL, PATH, 0.6, 0.0005)
    assert [text.get_text() for text in ax.texts][:2] == ["0", "1"]
    assert_allclose(ax.lines[-1].get_xdata(), [alpha for alpha, _ in PATH])
    figures.search_path(ax, CRITICAL, PATH, 0.6, 0.0005, zoom=(0.35, 0.45))
    assert_array_equal(ax.lines[-1].get_xdata(), [0.4])


@pytest.mark.parametrize(("y", "scores"), [(-1.5, [[2.0, -1.5]]), (9.0, np.empty((0, 2)))])
def test_the_score_of_a_target_is_where_the_family_first_covers_it(ax, y, scores):
    figures.family_ends(ax, PLACES, ENDS, STAGE, y)
    (marked,) = (line.get_xydata() for line in ax.lines if line.get_label() == "its score")
    assert_array_equal(marked, scores)


@pytest.mark.parametrize(("n", "n_bins"), [(4, 30), (100, 10)])
def test_histogram_and_law_count_in_the_same_bins(ax, n, n_bins):
    shares = np.arange(n + 1) / n
    figures.coverage_histogram(ax, shares, (shares, np.full(n + 1, 1 / (n + 1))), 0.5, n_bins)
    heights = [bar.get_height() for bar in ax.patches]
    assert_allclose(heights[:-1], heights[0])
    assert_allclose(ax.lines[0].get_ydata(), heights)
    assert ax.patches[0].get_x() + ax.patches[0].get_width() / 2 == pytest.approx(
        100 * shares[: round(heights[0] / 100 * (n + 1))].mean()
    )
