"""The figures of the page, as pictures inside it: PNG in base64, drawn without a display."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from gt2lite._checks import Array
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


def intervals(y: Array, y_hat: Array, lower: Array, upper: Array, target: str) -> str:
    """Return test rows in the order of their predictions, with their intervals."""
    order = np.argsort(y_hat, kind="stable")
    if len(order) > _MOST_POINTS:
        order = order[np.linspace(0, len(order) - 1, _MOST_POINTS).astype(int)]
    inside = ((lower <= y) & (y <= upper))[order]
    place = np.arange(len(order))

    def draw(ax: Any) -> None:
        ax.vlines(place, lower[order], upper[order], color=SKY, linewidth=2, label="interval")
        ax.plot(place, y_hat[order], color=BLUE, linewidth=1.2, label="prediction")
        values = y[order]
        ax.plot(place[inside], values[inside], "o", ms=3, color="black", label="inside")
        ax.plot(place[~inside], values[~inside], "X", ms=6, color=VERMILION, label="outside")
        ax.set(xlabel="test rows, by prediction", ylabel=target)
        ax.legend(fontsize=9, ncols=2)

    return drawn(draw)


def curve(rows: Sequence[Coverage]) -> str:
    """Return coverage against level, with the range of luck."""
    levels = [row.level for row in rows]

    def draw(ax: Any) -> None:
        band = ([row.low for row in rows], [row.high for row in rows])
        ax.fill_between(levels, *band, color=SKY, alpha=0.35, label="luck alone (95 %)")
        ax.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle="--", label="as asked for")
        shares = [row.share for row in rows]
        ax.plot(levels, shares, "o-", ms=4, color=BLUE, label="on test rows")
        ax.set(xlabel="level asked for", ylabel="share of test rows covered")
        ax.set(xlim=(0, 1), ylim=(0, 1.02))
        ax.legend(fontsize=9)

    return drawn(draw)


def widths(width: Array, fixed: float, level: str) -> str:
    """Return how wide intervals are, beside the one width that boosted trees have."""

    def draw(ax: Any) -> None:
        ax.hist(width, bins=30, color=SKY, edgecolor=BLUE, label="this model")
        ax.axvline(fixed, color=ORANGE, linestyle="--", label="boosted trees: one width for all")
        ax.set(xlabel=f"width of the {level} % interval", ylabel="test rows")
        ax.legend(fontsize=9)

    return drawn(draw)


def bars(items: Sequence[tuple[str, float]], label: str) -> str:
    """Return named numbers as bars, the first on top."""
    names = [name if len(name) < 26 else f"{name[:24]}…" for name, _ in items][::-1]
    values = [value for _, value in items][::-1]

    def draw(ax: Any) -> None:
        ax.barh(np.arange(len(names)), values, color=BLUE)
        ax.set_yticks(np.arange(len(names)), names)
        ax.set_xlabel(label)

    return drawn(draw, (6.4, 1.0 + 0.3 * len(names)))
