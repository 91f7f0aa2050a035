"""Figures of calibration: what they show is what the calibrators say."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

matplotlib = pytest.importorskip("matplotlib", reason="needs the extra `plot`")
matplotlib.use("agg")
plt = pytest.importorskip("matplotlib.pyplot")

from gt2lite import plots  # noqa: E402
from gt2lite.calibration import ExactCalibrator, SearchCalibrator, TableCalibrator  # noqa: E402
from gt2lite.memberships import ALPHA_0, kappa_of  # noqa: E402
from gt2lite.plots.calibration import staircase  # noqa: E402

Y = np.linspace(-1.1, 1.1, 201)  # some lie outside every plane


def interval(alpha):
    kappa = np.broadcast_to(kappa_of(alpha), Y.shape)
    return -kappa, kappa


EXACT = ExactCalibrator().fit(interval, Y)
CRITICAL = EXACT.critical_alpha
TABLE = TableCalibrator().fit(interval, Y).table
SEARCH = SearchCalibrator().fit(interval, Y)
PATH = SEARCH.path(0.6)
PHI = np.linspace(0.1, 0.9, 5)
LEVELS = np.array([0.5, 0.6, 0.7])
YES = np.array([True, True, False])
LAW = np.array([0.8, 0.9, 1.0]), np.array([0.2, 0.5, 0.3])
FIGURES = {
    "calibration_curves": lambda ax: plots.calibration_curves(ax, {"one": TABLE}, 0.6),
    "coverage_curves": lambda ax: plots.coverage_curves(ax, {"one": CRITICAL}),
    "step_tradeoff": lambda ax: plots.step_tradeoff(ax, [6, 11], {"one": [2.0, 1.0]}, [0.2, 0.1]),
    "interpolations": lambda ax: plots.interpolations(ax, TABLE, CRITICAL, PHI, {"line": PHI}),
    "search_path": lambda ax: plots.search_path(ax, CRITICAL, PATH, 0.6, 0.0005),
    "search_path, zoomed": lambda ax: plots.search_path(
        ax, CRITICAL, PATH, 0.6, 0.0005, zoom=(0.1, 0.3)
    ),
    "search_misses": lambda ax: plots.search_misses(ax, LEVELS, LEVELS, YES, ~YES),
    "coverage_laws": lambda ax: plots.coverage_laws(ax, {"one": LAW}, {"one": 0.85}, 0.9),
}


@pytest.mark.parametrize("draw", FIGURES.values(), ids=FIGURES)
def test_a_figure_returns_its_axes_with_both_labelled_and_no_title(ax, draw, check_axes):
    check_axes(draw(ax))


def test_the_staircase_is_the_coverage_of_every_plane():
    alpha, coverage = staircase(CRITICAL)
    assert alpha[0] == ALPHA_0 and alpha[-1] == 1
    assert_allclose(coverage, [EXACT.coverage(a) for a in alpha])


def test_coverage_between_two_steps_is_that_of_the_upper_one(ax):
    plots.coverage_curves(ax, {"one": np.array([0.2, 0.6, 0.6, 0.0])})
    (line,) = ax.lines
    assert line.get_drawstyle() == "steps-pre"
    assert_allclose(line.get_xdata(), [ALPHA_0, 0.2, 0.6, 1])
    assert_allclose(line.get_ydata(), [75, 75, 50, 0])


def test_the_inverse_staircase_turns_at_the_same_corners(ax):
    plots.interpolations(ax, TABLE, np.array([0.2, 0.6]), PHI, {})
    line = ax.lines[0]  # from coverage i at alpha i across to i + 1, not down first
    assert line.get_drawstyle() == "steps-post"
    assert_allclose(line.get_xdata(), [100, 100, 50, 0])


def test_the_marked_plane_is_the_one_that_the_table_answers(ax):
    plots.calibration_curves(ax, {"one": TABLE}, 0.6)
    answer = TableCalibrator().fit(interval, Y).alpha(0.6)
    assert_allclose(ax.lines[-1].get_ydata(), answer)
    assert f"{answer:.2f}" in ax.texts[0].get_text()


def test_a_search_is_numbered_from_its_start_to_its_answer(ax):
    plots.search_path(ax, CRITICAL, PATH, 0.6, SEARCH.tolerance)
    numbers: list[int] = []
    for text in ax.texts:
        first, _, last = text.get_text().partition(" to ")  # moves that lie close share a label
        numbers += range(int(first), int(last or first) + 1)
    assert numbers == list(range(len(PATH)))
    assert_allclose(ax.lines[-1].get_xdata(), [alpha for alpha, _ in PATH])


def test_a_zoom_shows_only_the_moves_inside_it(ax):
    plots.search_path(ax, CRITICAL, PATH, 0.6, SEARCH.tolerance, zoom=(0.35, 0.45))
    assert ax.get_xlim() == (0.35, 0.45)
    assert [text.get_text() for text in ax.texts] == ["0"]


def test_a_curve_that_runs_wild_does_not_change_the_range_shown(ax):
    wild = np.array([0.5, 9e6, -9e6, 0.4, 0.3])
    plots.interpolations(ax, TABLE, CRITICAL, PHI, {"wild": wild}, limits=(-0.2, 1.2))
    assert ax.get_ylim() == (-0.2, 1.2)


def test_every_level_is_counted_as_met_impossible_or_stalled(ax):
    met = np.array([True, False, False, True])
    possible = np.array([True, True, False, True])
    plots.search_misses(ax, np.full(4, 0.9), np.zeros(4), met, possible)
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["met: 2", "cannot be met: 1", "stalled: 1"]
