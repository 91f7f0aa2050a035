"""Figures of cost: curves and bars stand where the numbers say."""

from __future__ import annotations

import pytest
from numpy.testing import assert_allclose

matplotlib = pytest.importorskip("matplotlib", reason="needs the extra `plot`")
matplotlib.use("agg")

from gt2lite import plots  # noqa: E402

TIMES = {"gt2lite": (2.0, 1.5, 2.5, 1.0), "another": (20.0, 18.0, 30.0, 11.4)}
CURVES = {"rows": ([1, 10, 100], [2.0, 11.0, 100.0]), "rules": ([2, 4], [1.0, 8.0])}


def test_costs_are_drawn_from_one_level_on(ax, check_axes):
    check_axes(
        plots.level_costs(ax, {"retrain": [1.2, 2.4, 3.6], "table": [1.1, 1.1, 1.1]}, "cost")
    )
    one, other = ax.lines
    assert_allclose(one.get_xdata(), [1, 2, 3])
    assert_allclose(one.get_ydata(), [1.2, 2.4, 3.6])
    assert ax.get_yscale() == "log"
    assert one.get_marker() != other.get_marker(), "colour alone must not tell them apart"


def test_bars_are_medians_whiskers_quartiles_and_numbers_the_multiples_of_ours(ax):
    assert plots.time_bars(ax, TIMES, "microseconds", ours="gt2lite") is ax
    assert ax.get_xlabel() == "microseconds" and not ax.get_title()
    assert_allclose([bar.get_width() for bar in ax.patches], [2, 20])
    (whiskers,) = ax.containers[0].lines[2]
    assert_allclose([ends[:, 0] for ends in whiskers.get_segments()], [[1.5, 2.5], [18, 30]])
    assert [text.get_text() for text in ax.texts] == ["1", "11"]
    assert_allclose(ax.lines[-1].get_xdata(), 2)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["gt2lite", "another"]
    assert ax.yaxis_inverted(), "the first row is on top"


def test_growth_is_drawn_beside_a_line_of_the_slope_asked_for(ax, check_axes):
    check_axes(plots.growth_curves(ax, CURVES, ("size", "seconds"), slope=1))
    rows, rules, guide = ax.lines
    assert_allclose(rows.get_ydata(), [2, 11, 100])
    assert_allclose(rules.get_xdata(), [2, 4])
    assert_allclose(guide.get_ydata(), [1, 10, 100])
    assert ax.get_xscale() == ax.get_yscale() == "log"


def test_without_a_slope_there_is_no_guide(ax):
    plots.growth_curves(ax, CURVES, ("size", "seconds"))
    assert len(ax.lines) == 2
