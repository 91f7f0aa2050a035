"""Figures of rules: they draw what the rules do, on the axes they are given."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

matplotlib = pytest.importorskip("matplotlib", reason="needs the extra `plot`")
matplotlib.use("agg")
plt = pytest.importorskip("matplotlib.pyplot")

from gt2lite import plots  # noqa: E402
from gt2lite.reduction import enumerate_weights  # noqa: E402
from gt2lite.system import Planes  # noqa: E402

X = np.linspace(-3, 3, 31)
SYSTEM = {
    "c": np.array([[-1.0], [1.0]]),
    "raw_sigma": np.ones((2, 1)),
    "raw_l": np.zeros(1),
    "raw_r": np.zeros(1),
    "a": np.array([[1.0], [-2.0]]),
    "a0": np.array([0.0, 0.5]),
}
FIRINGS = (np.array([0.2, 0.1, 0.4]), np.array([0.6, 0.5, 0.8]), np.array([1.0, 4.0, 2.0]))
VALUES = [np.arange(5.0), np.ones(5)]
ALL = {
    "rule_sets": lambda ax: plots.rule_sets(ax, X, SYSTEM, 0.01),
    "rule_lines": lambda ax: plots.rule_lines(ax, X, SYSTEM),
    "plane_bands": lambda ax: plots.plane_bands(ax, X, SYSTEM, [0.01, 0.5]),
    "firing_ranges": lambda ax: plots.firing_ranges(ax, [4, 11], {"a": VALUES}, "firing"),
    "chosen_weights": lambda ax: plots.chosen_weights(ax, *FIRINGS),
    "switch_means": lambda ax: plots.switch_means(ax, *FIRINGS),
    "log_curves": lambda ax: plots.log_curves(ax, X, {"a": np.exp(X)}, "x", "y"),
}


@pytest.mark.parametrize("draw", ALL.values(), ids=ALL)
def test_a_figure_returns_its_axes_with_both_labelled_and_no_title(ax, draw, check_axes):
    check_axes(draw(ax))


def test_the_consequents_are_the_lines_of_the_rules(ax):
    plots.rule_lines(ax, X, SYSTEM)
    assert_allclose([line.get_ydata() for line in ax.lines], [X, 0.5 - 2 * X])


def test_the_sets_are_highest_at_their_centres(ax):
    plots.rule_sets(ax, X, SYSTEM, 0.01)
    assert_allclose([X[line.get_ydata().argmax()] for line in ax.lines], [-1, 1], atol=1e-12)


def test_the_bands_hold_the_type_1_output(ax):
    plots.plane_bands(ax, X, SYSTEM, [0.5, 0.01])
    (line,) = ax.lines
    assert_allclose(line.get_ydata(), Planes(SYSTEM, X[:, None])(1.0)[0])
    assert [text.get_text() for text in ax.get_legend().texts] == [
        r"$\alpha = 0.01$", r"$\alpha = 0.5$", r"$\alpha = 1$",
    ]  # fmt: skip


def test_a_mark_stands_at_the_median(ax):
    plots.firing_ranges(ax, [4, 11], {"a": VALUES, "b": VALUES}, "firing")
    for container in ax.containers:
        assert_allclose(container.lines[0].get_ydata(), [2, 1])


@pytest.mark.parametrize("end", ["lower", "upper"])
def test_the_chosen_weights_lead_to_the_end(ax, end):
    plots.chosen_weights(ax, *FIRINGS, end)
    y, w = ax.lines[0].get_data()
    expected = enumerate_weights(*FIRINGS)[end == "upper"]
    assert np.average(y, weights=w) == pytest.approx(expected, abs=1e-12)
    assert_allclose(ax.lines[1].get_xdata(), expected)


def test_there_is_no_third_end(ax):
    with pytest.raises(ValueError, match="end must be one of"):
        plots.chosen_weights(ax, *FIRINGS, "middle")


def test_the_best_switch_points_are_the_ends(ax):
    plots.switch_means(ax, *FIRINGS)
    valley, lowest, hill, highest = (line.get_ydata() for line in ax.lines)
    assert_allclose([valley.min(), hill.max()], enumerate_weights(*FIRINGS))
    assert_allclose([lowest[0], highest[0]], [valley.min(), hill.max()])
    assert_allclose([valley[0], valley[-1]], [hill[-1], hill[0]])  # all lower, all upper


def test_a_switch_point_without_any_weight_has_no_mean(ax):
    plots.switch_means(ax, np.zeros(3), *FIRINGS[1:])
    means = ax.lines[0].get_ydata()
    assert np.isnan(means[0])
    assert means[1:].min() == 1.0
