"""Facts about the figures of the search."""

from __future__ import annotations

import numpy as np

from gt2lite import plots


def test_the_path_leads_through_the_best_value_of_each_factor(ax, check_axes):
    steps = {"rules": {"10": 0.9, "30": 0.7}, "epochs": {"40": 0.7, "100": 0.6, "200": 0.65}}
    check_axes(plots.factor_steps(ax, steps))
    rules, epochs, path = ax.get_lines()
    np.testing.assert_array_equal(path.get_xdata(), [0.7, 0.6])
    np.testing.assert_array_equal(path.get_ydata(), [0, 1])
    np.testing.assert_array_equal(epochs.get_xdata(), [0.7, 0.6, 0.65])
    assert len(rules.get_xdata()) == 2
    assert [text.get_text() for text in ax.get_yticklabels()] == ["rules: 30", "epochs: 100"]
    bottom, top = ax.get_ylim()
    assert bottom > top  # the first factor stands at the top


def test_rules_stand_at_their_numbers_and_values_start_at_zero(ax, check_axes):
    series = {"WW": np.array([0.4, 0.3, 0.2])}
    check_axes(plots.rule_curves(ax, [5, 10, 100], series, "width"))
    (line,) = ax.get_lines()
    np.testing.assert_array_equal(line.get_xdata(), [5, 10, 100])
    assert [text.get_text() for text in ax.get_xticklabels()] == ["5", "10", "100"]
    assert ax.get_ylim()[0] == 0
