"""Facts about the figures of narrower intervals."""

from __future__ import annotations

import numpy as np

from gt2lite import plots


def test_promises_draw_a_line_for_each_system_in_order_of_the_level(ax, check_axes):
    levels = np.array([0.99, 0.5])
    plots.promises(ax, levels, {"one": np.array([0.97, 0.6]), "two": np.array([0.99, 0.5])})
    check_axes(ax)
    diagonal, one, two = ax.get_lines()
    np.testing.assert_allclose(one.get_xdata(), [50, 99])
    np.testing.assert_allclose(one.get_ydata(), [60, 97])
    np.testing.assert_allclose(two.get_ydata(), two.get_xdata())
    np.testing.assert_array_equal(diagonal.get_xdata(), diagonal.get_ydata())
