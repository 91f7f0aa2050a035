"""Figures that compare: data sets, runs row by row, methods, settings, and what a test can find."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from gt2lite._validation import Array
from gt2lite.plots.style import BLACK, BLUE, COLORS, GREY, MARKS, ORANGE, SKY, labelled, nth

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_PARTS = {"train": BLUE, "calibrate": ORANGE, "test": SKY}
_FEW_VALUES = 12


def target_histogram(ax: Axes, y: Array, name: str) -> Axes:
    """Draw how often a target takes its values, in per cent of the rows.

    A target of few distinct values gets a bar for each, any other one thirty bins.

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


def row_shares(ax: Axes, shares: Mapping[str, Mapping[str, float]]) -> Axes:
    """Draw for each model which share of the rows it uses for what, as bars side by side.

    Args:
        ax: where to draw.
        shares: for each model the shares, in per cent, of "train", "calibrate" and "test",
            in the order of the rows.
    """
    named: set[str] = set()
    for place, parts in enumerate(shares.values()):
        start = 0.0
        for part, share in parts.items():
            ax.barh(
                place, share, left=start, height=0.6, color=_PARTS[part], edgecolor="white",
                label=None if part in named else part,
            )  # fmt: skip
            named.add(part)
            ax.text(
                start + share / 2, place, f"{share:g} %", ha="center", va="center",
                color="white" if part == "train" else BLACK,
            )  # fmt: skip
            start += share
    ax.set_yticks(range(len(shares)), list(shares))
    ax.invert_yaxis()
    ax.grid(False)
    ax.set_xlim(0, 100)
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
    return labelled(ax, "rows, in random order (%)", "")


def forest(ax: Axes, rows: Mapping[str, Mapping[str, tuple[float, float]]], label: str) -> Axes:
    """Draw values with their uncertainty row by row, one mark for each series, around zero.

    Args:
        ax: where to draw.
        rows: for each row, from the top, and each series the value and half the length of its bar.
        label: what the values are.
    """
    series = list(dict.fromkeys(name for values in rows.values() for name in values))
    gap = 0.75 / max(len(series), 1)
    ax.axvline(0, color=BLACK, linestyle="-", linewidth=1)
    for i, name in enumerate(series):
        places = [j + (i - (len(series) - 1) / 2) * gap for j in range(len(rows))]
        found = [(*values[name], y) for values, y in zip(rows.values(), places, strict=True)
                 if name in values]  # fmt: skip
        value, half, place = np.array(found).T
        ax.errorbar(
            value, place, xerr=half, fmt=nth(MARKS, i), color=nth(COLORS, i), markersize=5,
            linewidth=1.2, linestyle="none", label=name,
        )  # fmt: skip
    _rows_from_the_top(ax, list(rows))
    return labelled(ax, label, "")


def paired_dots(ax: Axes, rows: Mapping[str, Mapping[str, Array]], label: str) -> Axes:
    """Draw the runs of each row as dots and their mean as a bar, one colour for each series.

    Args:
        ax: where to draw.
        rows: for each row, from the top, and each series the values of the runs (runs,).
        label: what the values are.
    """
    series = list(dict.fromkeys(name for values in rows.values() for name in values))
    gap = 0.75 / max(len(series), 1)
    ax.axvline(0, color=BLACK, linestyle="-", linewidth=1)
    for i, name in enumerate(series):
        for j, values in enumerate(rows.values()):
            place = j + (i - (len(series) - 1) / 2) * gap
            runs = values.get(name, np.empty(0))
            ax.plot(
                runs, np.full(runs.shape, place), nth(MARKS, i), color=nth(COLORS, i), markersize=4,
                alpha=0.6, linestyle="none", label=name if j == 0 else None,
            )  # fmt: skip
            if runs.size:
                ax.plot(
                    [runs.mean()] * 2, [place - gap / 2, place + gap / 2], "-", color=BLACK,
                    linewidth=2.5,
                )  # fmt: skip
    _rows_from_the_top(ax, list(rows))
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
    ax.set_yticks(range(len(rows)), list(rows))
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.grid(False, axis="y")
    return labelled(ax, label, "")


def power_curves(ax: Axes, effect: Array, power: Mapping[str, Array], wanted: float = 0.8) -> Axes:
    """Draw how often a test finds a difference against how large it is.

    Args:
        ax: where to draw.
        effect: true differences (n,), in standard deviations.
        power: for each name of a test the share of rejections (n,).
        wanted: a share to mark, with the difference at which each test reaches it.
    """
    ax.axhline(100 * wanted, color=GREY, linestyle=":", linewidth=1.2)
    for (name, share), color, mark in zip(power.items(), COLORS, MARKS, strict=False):
        ax.plot(effect, 100 * share, f"{mark}-", color=color, markersize=4, label=name)
    ax.set(xlim=(effect[0], effect[-1]), ylim=(0, 101))
    ax.legend(loc="lower right")
    return labelled(ax, "true difference (standard deviations)", "found (%)")


def factor_steps(ax: Axes, steps: Mapping[str, Mapping[str, float]]) -> Axes:
    """Draw a search that takes one factor after the other and keeps the best value of each.

    Args:
        ax: where to draw.
        steps: for each factor, from the first, the values that were tried and their scores.
            The smallest score of each is kept, and a line leads from one to the next.
    """
    kept = [min(scores, key=lambda value: scores[value]) for scores in steps.values()]
    best = [min(scores.values()) for scores in steps.values()]
    for place, scores in enumerate(steps.values()):
        ax.plot(
            list(scores.values()), [place] * len(scores), "o", color="#888888", fillstyle="none",
            markersize=6, linestyle="none",
        )  # fmt: skip
    ax.plot(best, range(len(best)), "o-", color=BLUE, markersize=7, linewidth=1.5)
    names = [f"{factor}: {value}" for factor, value in zip(steps, kept, strict=True)]
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.grid(False, axis="y")
    return labelled(ax, "score, as a share of the paper's", "what was kept")


def rule_curves(ax: Axes, rules: Sequence[int], series: Mapping[str, Array], label: str) -> Axes:
    """Draw what the number of rules does, a line for each series.

    Args:
        ax: where to draw.
        rules: numbers of rules (n,), rising.
        series: for each name its values (n,).
        label: what the values are.
    """
    for i, (name, values) in enumerate(series.items()):
        ax.plot(
            rules, values, f"{nth(MARKS, i)}-", color=nth(COLORS, i), markersize=6, linewidth=1.5,
            label=name,
        )  # fmt: skip
    ax.set_xscale("log")
    ax.set_xticks(list(rules), [str(n) for n in rules])
    ax.minorticks_off()
    ax.set_ylim(bottom=0)
    return labelled(ax, "rules", label)


def _rows_from_the_top(ax: Axes, names: Sequence[str]) -> None:
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.4, -0.6)
    for place in range(1, len(names)):
        ax.axhline(place - 0.5, color="#dddddd", linestyle="-", linewidth=0.6)
    ax.grid(False, axis="y")
    if names:
        ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
