"""Figures along one input: points, and the bands that should hold them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gt2lite._validation import Array
from gt2lite.plots.style import BLACK, FADE, GREY, labelled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SHADES = (0.2, 0.5, 0.8, 0.95)  # of the widest band, the next one, ...


def points_along(
    ax: Axes, x: Array, y: Array, curves: Mapping[str, tuple[Array, Array]] | None = None
) -> Axes:
    """Draw targets over one input, and named curves.

    Args:
        ax: where to draw.
        x: inputs (n,).
        y: targets (n,).
        curves: for each name places (m,) and heights (m,) or, for several curves, (m, k).
    """
    ax.plot(x, y, ".", color=BLACK, markersize=6, label="target")
    for i, (name, (place, height)) in enumerate((curves or {}).items()):
        lines = ax.plot(place, height, color=GREY, linestyle=("--", "-", ":")[i % 3], linewidth=1.5)
        lines[0].set_label(name)
    return _with_legend(ax)


def bands_along(
    ax: Axes, x: Array, bands: Mapping[str, tuple[Array, Array]], middle: Array | None = None
) -> Axes:
    """Draw intervals over one input as nested bands, the widest first.

    Args:
        ax: where to draw.
        x: places (m,), in rising order.
        bands: for each name the lower and upper ends (m,).
        middle: an estimate (m,) to draw inside, if any.
    """
    for i, (name, ends) in enumerate(bands.items()):
        shade = FADE(_SHADES[min(i, len(_SHADES) - 1)])
        ax.fill_between(x, *ends, color=shade, linewidth=0, label=name)
    if middle is not None:
        ax.plot(x, middle, color=BLACK, linestyle="-", linewidth=1.5, label="estimate")
    return _with_legend(ax)


def _with_legend(ax: Axes) -> Axes:
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
    return labelled(ax, "input $x$", "target $y$")
