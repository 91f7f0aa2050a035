"""Figures of intervals: what a plane covers, and bands around targets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from gt2lite._checks import Array
from gt2lite.plots.style import BLACK, COLORS, GREEN, ORANGE, SKY, VERMILION, labelled

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def calibration_curves(ax: Axes, tables: Mapping[str, Array], level: float) -> Axes:
    """Draw the plane against the coverage that it has, and mark the planes for one level.

    Args:
        ax: where to draw.
        tables: for each name the pairs (coverage, alpha), (n, 2), in rising order of coverage;
            straight lines join them.
        level: the coverage to mark.
    """
    ax.axvline(100 * level, color="#777777", linestyle=":", linewidth=1.2)
    for (name, table), color, mark in zip(tables.items(), COLORS, "osD^v", strict=False):
        coverage, alpha = table.T
        ax.plot(100 * coverage, alpha, f"{mark}-", color=color, markersize=4, label=name)
        chosen = float(np.interp(level, coverage, alpha))
        ax.plot(100 * level, chosen, mark, color=VERMILION, markersize=9, zorder=3)
        ax.annotate(
            rf"$\alpha^* = {chosen:.2f}$", (100 * level, chosen), xytext=(-8, -4),
            textcoords="offset points", ha="right", va="top", color=VERMILION,
        )  # fmt: skip
    ax.set(xlim=(0, 101), ylim=(0, 1.03))
    ax.legend(loc="lower left")
    return labelled(ax, "coverage of the calibration set (%)", r"plane $\alpha$")


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
