"""Figures of narrower intervals: what planes were to learn and what they cover."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from gt2lite._checks import Array
from gt2lite.plots.style import COLORS, labelled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MARKS = "os^Dv"


def promises(ax: Axes, levels: Array, covered: Mapping[str, Array]) -> Axes:
    """Draw what planes cover against what they were to learn.

    Args:
        ax: where to draw.
        levels: the levels (K,).
        covered: for each name the coverages (K,) of the planes.
    """
    low = 100 * min(levels.min(), *(values.min() for values in covered.values()))
    ends = np.array([max(low - 3, 0.0), 100.0])
    ax.plot(ends, ends, "-", color="#999999", linewidth=1.2)
    order = np.argsort(levels)
    for i, (name, values) in enumerate(covered.items()):
        ax.plot(
            100 * levels[order], 100 * values[order], f"{_MARKS[i % 5]}-", color=COLORS[i % 5],
            markersize=6, linewidth=1.5, label=name,
        )  # fmt: skip
    ax.legend(loc="upper left")
    return labelled(ax, "level (%)", "coverage of the test part (%)")
