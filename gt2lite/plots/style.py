"""The look that all figures share.

The colours are those of Okabe and Ito, which people with a colour vision deficiency can
tell apart, and no figure relies on colour alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import matplotlib as mpl
from cycler import cycler
from matplotlib.colors import LinearSegmentedColormap

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Look = TypeVar("Look")

BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
BLUE, VERMILION, PURPLE = "#0072B2", "#D55E00", "#CC79A7"
GREY = "#777777"  # for what only helps to read: a level, an axis
BAND = "#e4e4e4"  # for what sampling variation alone explains

STYLE: dict[Any, Any] = {
    "figure.figsize": (7.0, 3.6),
    "figure.dpi": 100,
    "figure.facecolor": "white",
    "figure.constrained_layout.use": True,
    "axes.facecolor": "white",
    "axes.prop_cycle": cycler(
        color=[BLUE, VERMILION, GREEN, ORANGE, PURPLE, SKY, BLACK],
        linestyle=["-", "--", "-.", ":", "-", "--", "-."],
    ),
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "lines.linewidth": 2.0,
    "legend.frameon": False,
    "font.size": 13.0,
}

# The looks of the first, the second, ... series of a figure. Colour never stands alone: a mark
# or a line goes with it.
COLORS = (BLUE, ORANGE, GREEN, PURPLE, SKY)
MARKS = "os^Dv"
LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))
FADE = LinearSegmentedColormap.from_list("gt2lite", ["#ffffff", SKY, BLUE])


def use_style() -> None:
    """Set the look of the book for all figures that follow."""
    mpl.rcParams.update(STYLE)


def labelled(ax: Axes, x: str, y: str) -> Axes:
    """Name both axes."""
    ax.set(xlabel=x, ylabel=y)
    return ax


def plain_text(name: str) -> str:
    """Return a name from data so that matplotlib does not read it as a formula."""
    return name.replace("$", r"\$")


def legend_above(ax: Axes, n_columns: int = 3) -> None:
    """Place the legend above the axes, where it covers no curve."""
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=n_columns, columnspacing=1.2)


def nth(looks: Sequence[Look], i: int) -> Look:
    """Return the look of series `i`, counted from 0; after the last comes the first again.

    >>> nth("os^", 4)
    's'
    """
    return looks[i % len(looks)]
