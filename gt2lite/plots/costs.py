"""Figures of cost: what levels, steps and sizes take, on logarithmic scales."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

from gt2lite.plots.style import BLACK, BLUE, GREY, LINES, MARKS, ORANGE, STRONG, labelled, nth

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis


def level_costs(ax: Axes, costs: Mapping[str, Sequence[float]], label: str) -> Axes:
    """Draw what it costs to have 1, 2, ..., L levels, a curve for each way of having them.

    Args:
        ax: where to draw.
        costs: for each way its costs (L,).
        label: what the costs are.
    """
    for i, (name, values) in enumerate(costs.items()):
        ax.semilogy(
            np.arange(1, len(values) + 1), values, color=nth(STRONG, i), marker=nth(MARKS, i),
            linestyle=nth(LINES, i), markersize=3.5, linewidth=1.5, label=name,
        )  # fmt: skip
    _plain_numbers(ax.yaxis)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    return labelled(ax, "number of levels", label)


def time_bars(
    ax: Axes, rows: Mapping[str, tuple[float, float, float, float]], label: str, ours: str
) -> Axes:
    """Draw times as bars from the top, with their quartiles and a number at the end of each.

    Args:
        ax: where to draw.
        rows: for each name its median, its two quartiles, and what multiple it is of ours.
        label: what the times are.
        ours: the name of the row that the others are compared with. A line marks it, and all
            rows whose name begins so have its colour.
    """
    middle, low, high, multiple = np.array(list(rows.values())).T
    place = np.arange(len(rows))
    color = [BLUE if name.startswith(ours) else ORANGE for name in rows]
    ax.barh(place, middle, height=0.6, color=color, xerr=[middle - low, high - middle])
    ax.axvline(rows[ours][0], color=BLACK, linestyle=":", linewidth=1.2)
    ax.set_xscale("log")
    ax.set_xlim(left=low.min() / 2, right=2.5 * high.max())
    for at, (value, end) in enumerate(zip(multiple, high, strict=True)):
        text = f"{value:.0f}" if value >= 10 else f"{value:.2g}"
        box = {"facecolor": "white", "edgecolor": "none", "pad": 1}
        ax.text(1.1 * end, at, text, va="center", bbox=box)
    _plain_numbers(ax.xaxis)
    ax.set_yticks(place, list(rows))
    ax.invert_yaxis()
    ax.grid(False, axis="y")
    return labelled(ax, label, "")


def growth_curves(
    ax: Axes,
    curves: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    labels: tuple[str, str],
    slope: float | None = None,
) -> Axes:
    """Draw how something grows with a size, on log-log scales: a power is a straight line.

    Args:
        ax: where to draw.
        curves: for each name the sizes (n,) and what was found at them (n,).
        labels: what the sizes are, and what was found.
        slope: the slope of a dotted line to compare with, through the end of the first curve.
    """
    for i, (name, (sizes, values)) in enumerate(curves.items()):
        ax.loglog(
            sizes, values, color=nth(STRONG, i), marker=nth(MARKS, i), linestyle=nth(LINES, i),
            markersize=4, linewidth=1.5, label=name,
        )  # fmt: skip
    if slope is not None and curves:
        sizes, values = next(iter(curves.values()))
        guide = values[-1] * np.divide(sizes, sizes[-1]) ** slope
        ax.loglog(sizes, guide, color=GREY, linestyle=":", linewidth=1.2)
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    return labelled(ax, *labels)


def _plain_numbers(axis: Axis) -> None:
    """Write 0.5, 1, 2 on a logarithmic axis in place of powers of ten."""
    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(lambda value, _: f"{value:g}")
    axis.set_minor_formatter(NullFormatter())
