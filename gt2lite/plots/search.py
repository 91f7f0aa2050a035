"""Figures of the search for better settings: its path, and what the number of rules does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from gt2lite._checks import Array
from gt2lite.plots.style import BLUE, COLORS, labelled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MARKS = "os^Dv"


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
        rules: numbers of rules (K,), rising.
        series: for each name its values (K,).
        label: what the values are.
    """
    for i, (name, values) in enumerate(series.items()):
        ax.plot(
            rules, values, f"{_MARKS[i % 5]}-", color=COLORS[i % 5], markersize=6, linewidth=1.5,
            label=name,
        )  # fmt: skip
    ax.set_xscale("log")
    ax.set_xticks(list(rules), [str(n) for n in rules])
    ax.minorticks_off()
    ax.set_ylim(bottom=0)
    return labelled(ax, "rules", label)
