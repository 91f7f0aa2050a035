"""Figures of the field: who stands where, and how coverage varies from bin to bin."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from gt2lite._checks import Array
from gt2lite.plots.style import BLACK, BLUE, COLORS, ORANGE, labelled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MARKS = "os^Dv"


def strips(
    ax: Axes,
    rows: Mapping[str, Array],
    label: str,
    *,
    own: Collection[str] = (),
    mark: float | None = None,
) -> Axes:
    """Draw the values of each row as marks in a strip, and their mean as an upright bar.

    Args:
        ax: where to draw.
        rows: for each name, from the top, its values (n,).
        label: what the values are.
        own: names that get a blue circle; the others get an orange square.
        mark: a value to mark by a line through all rows.
    """
    if mark is not None:
        ax.axvline(mark, color="#777777", linestyle=":", linewidth=1.2)
    for place, (name, values) in enumerate(rows.items()):
        color, shape = (BLUE, "o") if name in own else (ORANGE, "s")
        ax.plot(
            values, np.full(values.shape, place), shape, color=color, markersize=4.5, alpha=0.65,
            linestyle="none",
        )  # fmt: skip
        ax.plot([values.mean()] * 2, [place - 0.32, place + 0.32], "-", color=BLACK, linewidth=2.2)
    ax.set_yticks(range(len(rows)), list(rows))
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.grid(False, axis="y")
    return labelled(ax, label, "")


def bin_coverage(
    ax: Axes,
    series: Mapping[str, Array],
    bins: Sequence[str],
    level: float,
    *,
    sizes: Sequence[int] = (),
) -> Axes:
    """Draw the coverage of each bin, a line for each series, around the level.

    Args:
        ax: where to draw.
        series: for each name the shares of the bins (n_bins,).
        bins: what the bins are called, from the left.
        level: the coverage that all together should have.
        sizes: rows of each bin. A band shows two standard deviations of a share of so many
            rows whose chance to be covered is the level.
    """
    places = np.arange(len(bins))
    if len(sizes):
        spread = 200 * np.sqrt(level * (1 - level) / np.asarray(sizes))
        ax.fill_between(
            places, 100 * level - spread, 100 * level + spread, color="#e4e4e4", linewidth=0
        )
    ax.axhline(100 * level, color="#777777", linestyle=":", linewidth=1.2)
    for i, (name, share) in enumerate(series.items()):
        ax.plot(
            places, 100 * share, f"{_MARKS[i % 5]}-", color=COLORS[i % 5], markersize=5,
            linewidth=1.5, label=name,
        )  # fmt: skip
    ax.set_xticks(places, list(bins))
    ax.set_xlim(-0.3, len(bins) - 0.7)
    return labelled(ax, "", "coverage (%)")
