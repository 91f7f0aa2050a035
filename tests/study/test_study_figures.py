"""Figures of the chapters: each can be drawn, and shows the right numbers."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

matplotlib = pytest.importorskip("matplotlib", reason="needs the extra `plot`")
matplotlib.use("agg")

from gt2lite.calibration import ExactCalibrator, SearchCalibrator  # noqa: E402
from gt2lite.memberships import kappa_of  # noqa: E402
from study import figures  # noqa: E402

Y = np.linspace(-1.1, 1.1, 201)  # some lie outside every plane


def interval(alpha):
    kappa = np.broadcast_to(kappa_of(alpha), Y.shape)
    return -kappa, kappa


CRITICAL = ExactCalibrator().fit(interval, Y).critical_alpha
PATH = SearchCalibrator().fit(interval, Y).path(0.6)
LINES = {"a": np.array([[1.0], [-2.0]]), "a0": np.array([0.0, 0.5])}


@pytest.mark.parametrize(
    ("draw", "arguments"),
    [
        (figures.target_histogram, (np.array([0.0, 1.0, 1.0]), "grade")),
        (figures.target_histogram, (Y, "grade")),
        (figures.secondary_membership, (0.7, 0.6, 0.4, 0.3)),
        (figures.rule_lines, (Y, LINES)),
        (figures.search_path, (CRITICAL, PATH, 0.6, 0.0005)),
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
