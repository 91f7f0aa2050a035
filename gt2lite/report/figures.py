"""The figures of the page: a function takes `ax`, draws on it and returns it, as in `plots`.

`drawn` makes a picture of it that stands inside the page: PNG in base64, without a display.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from gt2lite._validation import Array
from gt2lite.plots.style import BLUE, GREY, ORANGE, SKY, STYLE, VERMILION
from gt2lite.report.measuring import Coverage

_MOST_POINTS = 150


def drawn(draw: Callable[[Any], object], size: tuple[float, float] = (6.4, 3.8)) -> str:
    """Return what `draw` draws on axes, as the address of a picture inside the page."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=size)
        FigureCanvasAgg(figure)
        draw(figure.add_subplot())
        content = io.BytesIO()
        figure.savefig(content, format="png", dpi=110)
    return "data:image/png;base64," + base64.b64encode(content.getvalue()).decode()


def intervals(ax: Any, y: Array, y_hat: Array, lower: Array, upper: Array, target: str) -> Any:
    """Show test rows in the order of their predictions, with their intervals."""
    order = np.argsort(y_hat, kind="stable")
    if len(order) > _MOST_POINTS:
        order = order[np.linspace(0, len(order) - 1, _MOST_POINTS).astype(int)]
    inside, values = ((lower <= y) & (y <= upper))[order], y[order]
    place = np.arange(len(order))
    ax.vlines(place, lower[order], upper[order], color=SKY, linewidth=2, label="interval")
    ax.plot(place, y_hat[order], color=BLUE, linewidth=1.2, label="prediction")
    ax.plot(place[inside], values[inside], "o", ms=3, color="black", label="inside")
    ax.plot(place[~inside], values[~inside], "X", ms=6, color=VERMILION, label="outside")
    ax.set(xlabel="test rows, by prediction", ylabel=target)
    ax.legend(fontsize=9, ncols=2)
    return ax


def curve(ax: Any, rows: Sequence[Coverage]) -> Any:
    """Show coverage against level, with the range of luck."""
    levels = [row.level for row in rows]
    band = ([row.low for row in rows], [row.high for row in rows])
    ax.fill_between(levels, *band, color=SKY, alpha=0.35, label="luck alone (95 %)")
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle="--", label="as asked for")
    ax.plot(levels, [row.share for row in rows], "o-", ms=4, color=BLUE, label="on test rows")
    ax.set(xlabel="level asked for", ylabel="share of test rows covered")
    ax.set(xlim=(0, 1), ylim=(0, 1.02))
    ax.legend(fontsize=9)
    return ax


def widths(ax: Any, width: Array, fixed: float, level: str) -> Any:
    """Show how wide intervals are, beside the one width that boosted trees have."""
    spread = float(np.ptp(width)) > 1e-9 * float(np.abs(width).max())  # one margin has one width
    ax.hist(width, bins=30 if spread else 1, color=SKY, edgecolor=BLUE, label="this model")
    ax.axvline(fixed, color=ORANGE, linestyle="--", label="boosted trees: one width for all")
    ax.set(xlabel=f"width of the {level} % interval", ylabel="test rows")
    ax.legend(fontsize=9)
    return ax


def bars(ax: Any, items: Sequence[tuple[str, float]], label: str) -> Any:
    """Show named numbers as bars, the first on top."""
    names = [name if len(name) < 26 else f"{name[:24]}..." for name, _ in items][::-1]
    ax.barh(np.arange(len(names)), [value for _, value in items][::-1], color=BLUE)
    ax.set_yticks(np.arange(len(names)), names)
    ax.set_xlabel(label)
    return ax
