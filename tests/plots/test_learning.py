"""Figures of learning: the losses, the start, the rules, and curves by epoch."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

matplotlib = pytest.importorskip("matplotlib", reason="needs the extra `plot`")
matplotlib.use("agg")
plt = pytest.importorskip("matplotlib.pyplot")

from gt2lite import plots  # noqa: E402
from gt2lite.losses import pinball  # noqa: E402

ERROR = np.linspace(-2, 2, 41)
Y = np.arange(101.0)
C, SIGMA = np.array([-1.0, 0.5, 2.0]), np.array([1.0, 0.5, 2.0])
T = np.linspace(-1, 1, 5)
FAN = np.stack([T, -T, 0 * T], axis=1)  # (n, P)
FIGURES = {
    "accuracy_losses": lambda ax: plots.accuracy_losses(ax, ERROR),
    "their slopes": lambda ax: plots.accuracy_losses(ax, ERROR, slope=True),
    "pinball_losses": lambda ax: plots.pinball_losses(ax, ERROR, [0.1, 0.9]),
    "pinball_risk": lambda ax: plots.pinball_risk(ax, Y, Y, [0.1, 0.9]),
    "start_sets": lambda ax: plots.start_sets(ax, ERROR, C, SIGMA, 4, rules=(0, 1)),
    "sets_moved": lambda ax: plots.sets_moved(ax, (C, SIGMA), (C + 1, SIGMA)),
    "rules_along": lambda ax: plots.rules_along(ax, T, FAN, (-abs(T), abs(T)), (T, T)),
    "by_epoch": lambda ax: plots.by_epoch(ax, {"a": T, "b": -T}, "loss", level=0.5),
}


@pytest.mark.parametrize("draw", FIGURES.values(), ids=FIGURES)
def test_a_figure_returns_its_axes_with_both_labelled_and_no_title(ax, draw, check_axes):
    check_axes(draw(ax))


def test_the_drawn_slopes_are_the_slopes_of_the_drawn_losses():
    figure, (left, right) = plt.subplots(1, 2)
    plots.accuracy_losses(left, ERROR)
    plots.accuracy_losses(right, ERROR, slope=True)
    middle = (ERROR[1:] + ERROR[:-1]) / 2
    for loss, slope in zip(left.lines, right.lines, strict=True):
        rise = np.diff(loss.get_ydata()) / np.diff(ERROR)
        drawn = np.interp(middle, ERROR, slope.get_ydata())
        away = abs(middle) > 0.1  # the absolute value jumps at 0
        assert_allclose(rise[away], drawn[away], atol=2e-3)
    plt.close(figure)


@pytest.mark.parametrize("tau", [0.05, 0.5, 0.95])
def test_the_marked_quantile_is_where_the_drawn_curve_is_lowest(ax, tau):
    plots.pinball_risk(ax, Y, Y, [tau])
    curve, _, dot = ax.lines
    assert_allclose(dot.get_xdata(), Y[np.argmin(curve.get_ydata())])
    assert_allclose(dot.get_ydata(), pinball(Y - dot.get_xdata(), tau).mean())


def test_a_start_shows_every_centre_and_a_bell_for_each_chosen_rule(ax):
    plots.start_sets(ax, np.linspace(-3, 3, 50), C, SIGMA, 4, rules=(2,))
    centres, bell, top = ax.lines
    assert_allclose(centres.get_xdata(), C)
    at = bell.get_xdata()
    assert_allclose(bell.get_ydata(), np.exp(-((at - 2) ** 2) / (2 * 4 * 2**2)))
    assert_allclose(top.get_xdata(), C[2])


def test_sets_are_listed_from_the_first_rule_down_on_every_panel_that_shares_the_axis():
    figure, panels = plt.subplots(1, 2, sharey=True)
    for panel in panels:
        plots.sets_moved(panel, (C, SIGMA), (C, SIGMA))
    bottom, top = panels[0].get_ylim()
    assert bottom > C.size > 1 > top
    plt.close(figure)


def test_curves_start_at_the_epoch_they_are_told_and_a_single_one_has_no_legend(ax):
    plots.by_epoch(ax, {"": np.ones(3)}, "loss", first=0)
    assert_allclose(ax.lines[0].get_xdata(), [0, 1, 2])
    assert ax.get_legend() is None
