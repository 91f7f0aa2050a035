"""Figures that compare: data sets, runs, methods and costs, row by row or as curves."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.ticker import MaxNLocator

from gt2lite._validation import Array
from gt2lite.plots.style import (
    BLACK,
    BLUE,
    COLORS,
    GREY,
    MARKS,
    ORANGE,
    STRONG,
    draw_curves,
    labelled,
    legend_above,
    nth,
    plain_numbers,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FEW_VALUES = 12  # a target of at most so many distinct values gets a bar for each


def target_histogram(ax: Axes, y: Array, name: str) -> Axes:
    """Draw how often a target takes its values, in percent of the rows.

    A target with few distinct values gets a bar for each, any other one thirty bins.

    Args:
        ax: where to draw.
        y: targets (N,).
        name: what the target is called.
    """
    values, counts = np.unique(y, return_counts=True)
    if values.size > _FEW_VALUES:
        counts, edges = np.histogram(y, bins=30)
        values, width = (edges[:-1] + edges[1:]) / 2, edges[1] - edges[0]
    else:
        width = 0.7 * np.diff(values).min(initial=1.0)
        ax.set_xticks(values)
    ax.bar(values, 100 * counts / y.size, width=width, color=BLUE)
    return labelled(ax, name, "rows (%)")


def forest(ax: Axes, rows: Mapping[str, Mapping[str, tuple[float, float]]], label: str) -> Axes:
    """Draw values with their uncertainty row by row, one mark for each series, around zero.

    Args:
        ax: where to draw.
        rows: for each row, from the top, and each series the value and half the length of its bar.
        label: what the values are.
    """
    ax.axvline(0, color=BLACK, linestyle="-", linewidth=1)
    for i, (name, shift) in enumerate(_shifts(rows).items()):
        found = [(*row[name], j + shift) for j, row in enumerate(rows.values()) if name in row]
        value, half, place = np.array(found).T
        ax.errorbar(
            value, place, xerr=half, fmt=nth(MARKS, i), color=nth(COLORS, i), markersize=5,
            linewidth=1.2, linestyle="none", label=name,
        )  # fmt: skip
    _rows_from_the_top(ax, list(rows), legend=True)
    return labelled(ax, label, "")


def paired_dots(ax: Axes, rows: Mapping[str, Mapping[str, Array]], label: str) -> Axes:
    """Draw the runs of each row as dots and their mean as a bar, one colour for each series.

    Args:
        ax: where to draw.
        rows: for each row, from the top, and each series the values of the runs (runs,).
        label: what the values are.
    """
    ax.axvline(0, color=BLACK, linestyle="-", linewidth=1)
    shifts = _shifts(rows)
    for i, (name, shift) in enumerate(shifts.items()):
        for j, row in enumerate(rows.values()):
            runs = row.get(name, np.empty(0))
            ax.plot(
                runs, np.full(runs.shape, j + shift), nth(MARKS, i), color=nth(COLORS, i),
                markersize=4, alpha=0.6, linestyle="none", label=name if j == 0 else None,
            )  # fmt: skip
            if runs.size:
                half = 0.375 / len(shifts)
                mean = [runs.mean()] * 2
                ax.plot(mean, [j + shift - half, j + shift + half], "-", color=BLACK, linewidth=2.5)
    _rows_from_the_top(ax, list(rows), legend=True)
    return labelled(ax, label, "")


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
        ax.axvline(mark, color=GREY, linestyle=":", linewidth=1.2)
    for place, (name, values) in enumerate(rows.items()):
        color, shape = (BLUE, "o") if name in own else (ORANGE, "s")
        ax.plot(
            values, np.full(values.shape, place), shape, color=color, markersize=4.5, alpha=0.65,
            linestyle="none",
        )  # fmt: skip
        ax.plot([values.mean()] * 2, [place - 0.32, place + 0.32], "-", color=BLACK, linewidth=2.2)
    _rows_from_the_top(ax, list(rows))
    return labelled(ax, label, "")


def level_costs(ax: Axes, costs: Mapping[str, Sequence[float]], label: str) -> Axes:
    """Draw the cost of 1, 2, ..., L levels, a curve for each way of obtaining them.

    Args:
        ax: where to draw.
        costs: for each way its costs (L,).
        label: what the costs are.
    """
    curves = {name: (np.arange(1, len(c) + 1), c) for name, c in costs.items()}
    draw_curves(ax, curves, markersize=3.5, linewidth=1.5)
    ax.set_yscale("log")
    plain_numbers(ax.yaxis)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    legend_above(ax, 2)
    return labelled(ax, "number of levels", label)


def log_curves(ax: Axes, x: Array, curves: Mapping[str, Array], x_label: str, y_label: str) -> Axes:
    """Draw curves over the same `x`, on a logarithmic vertical scale.

    Args:
        ax: where to draw.
        x: places (n,).
        curves: for each name its values (n,), positive; NaN for none.
        x_label: name of the horizontal axis.
        y_label: name of the vertical axis.
    """
    draw_curves(ax, {name: (x, values) for name, values in curves.items()}, markersize=4)
    ax.set_yscale("log")
    ax.legend()
    return labelled(ax, x_label, y_label)


def firing_ranges(
    ax: Axes, n_inputs: Sequence[int], groups: Mapping[str, Sequence[Array]], label: str
) -> Axes:
    """Draw median and 5% to 95% range of a quantity, data set by data set.

    A mark stands at the median, a bar reaches from the 5 % to the 95 % quantile.

    Args:
        ax: where to draw.
        n_inputs: number of inputs of each data set.
        groups: for each name the values (N,) of each data set.
        label: what the values are.
    """
    place = np.arange(len(n_inputs))
    for i, (name, values) in enumerate(groups.items()):
        low, middle, high = np.array([np.quantile(v, [0.05, 0.5, 0.95]) for v in values]).T
        ax.errorbar(
            place + 0.16 * (i - (len(groups) - 1) / 2), middle, [middle - low, high - middle],
            fmt=nth(MARKS, i), color=nth(STRONG, i),
            capsize=3, label=name,
        )  # fmt: skip
    ax.set_xticks(place, [str(m) for m in n_inputs])
    ax.set_xlim(-0.5, len(n_inputs) - 0.5)
    return labelled(ax, "inputs $M$", label)


def _shifts(rows: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    """Return for each series how far below the middle of its row it is drawn."""
    series = list(dict.fromkeys(name for row in rows.values() for name in row))
    gap = 0.75 / max(len(series), 1)
    return {name: (i - (len(series) - 1) / 2) * gap for i, name in enumerate(series)}


def _rows_from_the_top(ax: Axes, names: Sequence[str], *, legend: bool = False) -> None:
    """Name the rows 0, 1, ... from the top; with a legend, lines part the rows."""
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.grid(False, axis="y")
    if legend and names:
        for place in range(1, len(names)):
            ax.axhline(place - 0.5, color="#dddddd", linestyle="-", linewidth=0.6)
        legend_above(ax)
