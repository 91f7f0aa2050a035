"""Figures of intervals, their coverage and the planes that calibration chooses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from gt2lite._validation import Array
from gt2lite.memberships import ALPHA_0
from gt2lite.plots.style import (
    BAND,
    BLACK,
    COLORS,
    GREEN,
    GREY,
    LINES,
    MARKS,
    ORANGE,
    SKY,
    labelled,
    nth,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PLANE, COVERAGE = r"plane $\alpha$", "coverage of the calibration set (%)"


def interval_bands(
    ax: Axes, y: Array, bands: Mapping[str, tuple[Array, Array]], order: Array | None = None
) -> Axes:
    """Draw targets and their intervals sample by sample, one band for each name.

    Args:
        ax: where to draw.
        y: targets (N,).
        bands: for each name the lower and upper bounds (N,); the widest first.
        order: values (N,) to sort the samples by; the targets if None.
    """
    y = np.asarray(y)  # an index of the user's, such as that of a Series, must not count
    rows = np.argsort(y if order is None else np.asarray(order))
    number = np.arange(1, y.size + 1)
    for i, (name, ends) in enumerate(bands.items()):
        color = nth((SKY, ORANGE, GREEN), i)
        lower, upper = map(np.asarray, ends)
        ax.fill_between(
            number, lower[rows], upper[rows], step="mid", color=color, alpha=0.45, linewidth=0.6,
            edgecolor=color, label=name,
        )  # fmt: skip
    ax.plot(number, y[rows], ".", color=BLACK, markersize=5, label="target")
    ax.margins(x=0.01)
    ax.legend(loc="upper left")
    return ax


def bin_coverage(
    ax: Axes,
    series: Mapping[str, Array],
    bins: Sequence[str],
    level: float,
    *,
    sizes: Sequence[float] = (),
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
        ax.fill_between(places, 100 * level - spread, 100 * level + spread, color=BAND, linewidth=0)
    ax.axhline(100 * level, color=GREY, linestyle=":", linewidth=1.2)
    for i, (name, share) in enumerate(series.items()):
        ax.plot(
            places, 100 * share, f"{nth(MARKS, i)}-", color=nth(COLORS, i), markersize=5,
            linewidth=1.5, label=name,
        )  # fmt: skip
    ax.set_xticks(places, list(bins))
    ax.set_xlim(-0.3, len(bins) - 0.7)
    return labelled(ax, "", "coverage (%)")


def coverage_curves(ax: Axes, critical: Mapping[str, Array]) -> Axes:
    """Draw the coverage of every plane, a falling step function, one for each name.

    Args:
        ax: where to draw.
        critical: for each name the critical planes (Q,) of a calibration set.
    """
    for i, (name, alphas) in enumerate(critical.items()):
        alpha, coverage = staircase(alphas)
        ax.step(
            alpha, 100 * coverage, where="pre", color=nth(COLORS, i), linestyle=nth(LINES, i),
            label=name,
        )  # fmt: skip
    ax.set(xlim=(0, 1.01), ylim=(0, 101))
    ax.legend(loc="lower left")
    return labelled(ax, PLANE, COVERAGE)


def staircase(critical: Array) -> tuple[Array, Array]:
    """Return the planes (n,) at which coverage falls, and the coverage of each (n,).

    >>> staircase(np.array([0.5, 0.2, 0.0, 0.5]))
    (array([0.01, 0.2 , 0.5 , 1.  ]), array([0.75, 0.75, 0.5 , 0.  ]))
    """
    ordered = np.sort(critical)
    alpha = np.union1d(ordered[ordered > 0], [ALPHA_0, 1.0])
    return alpha, 1 - np.searchsorted(ordered, alpha, side="left") / ordered.size
