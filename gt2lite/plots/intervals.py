"""Figures of intervals: bands around targets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from gt2lite._checks import Array
from gt2lite.plots.style import BLACK, GREEN, ORANGE, SKY

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def interval_bands(
    ax: Axes, y: Array, bands: Mapping[str, tuple[Array, Array]], order: Array | None = None
) -> Axes:
    """Draw targets and their intervals sample by sample, one band for each name.

    Args:
        ax: where to draw.
        y: targets (N,).
        bands: for each name the lower and upper ends (N,); the widest first.
        order: what to sort the samples by, (N,); the targets where None.
    """
    rows = np.argsort(y if order is None else order)
    number = np.arange(1, y.size + 1)
    for (name, (lower, upper)), color in zip(bands.items(), (SKY, ORANGE, GREEN), strict=False):
        ax.fill_between(
            number, lower[rows], upper[rows], step="mid", color=color, alpha=0.45, linewidth=0.6,
            edgecolor=color, label=name,
        )  # fmt: skip
    ax.plot(number, y[rows], ".", color=BLACK, markersize=5, label="target")
    ax.margins(x=0.01)
    ax.legend(loc="upper left")
    return ax
