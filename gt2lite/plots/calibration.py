"""Figures of calibration: coverage against plane, what table and search make of it, and chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gt2lite._validation import Array
from gt2lite.memberships import ALPHA_0
from gt2lite.plots.style import (
    BLACK,
    BLUE,
    COLORS,
    GREEN,
    GREY,
    LINES,
    MARKS,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
    labelled,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PLANE, COVERAGE = r"plane $\alpha$", "coverage of the calibration set (%)"


def calibration_curves(ax: Axes, tables: Mapping[str, Array], level: float) -> Axes:
    """Draw the plane against the coverage that it has, and mark the planes for one level.

    Args:
        ax: where to draw.
        tables: for each name the pairs (coverage, alpha), (n, 2), in rising order of coverage and,
            where that is equal, in falling order of alpha; straight lines join them.
        level: the coverage to mark.
    """
    ax.axvline(100 * level, color=GREY, linestyle=":", linewidth=1.2)
    for (name, table), color, mark in zip(tables.items(), COLORS, MARKS, strict=False):
        coverage, alpha = table.T
        ax.plot(100 * coverage, alpha, f"{mark}-", color=color, markersize=4, label=name)
        chosen = float(np.interp(level, coverage, alpha))
        ax.plot(100 * level, chosen, mark, color=VERMILION, markersize=9, zorder=3)
        ax.annotate(
            rf"{name}: $\alpha^\star = {chosen:.2f}$", (100 * level, chosen), xytext=(-8, -4),
            textcoords="offset points", ha="right", va="top", color=VERMILION,
        )  # fmt: skip
    ax.set(xlim=(0, 101), ylim=(0, 1.03))
    ax.legend(loc="lower left")
    return labelled(ax, COVERAGE, PLANE)


def coverage_curves(ax: Axes, critical: Mapping[str, Array]) -> Axes:
    """Draw the coverage of every plane, a falling staircase, one for each name.

    Args:
        ax: where to draw.
        critical: for each name the critical planes (Q,) of a calibration set.
    """
    for (name, alphas), color, line in zip(critical.items(), COLORS, LINES, strict=False):
        alpha, coverage = staircase(alphas)
        ax.step(alpha, 100 * coverage, where="pre", color=color, linestyle=line, label=name)
    ax.set(xlim=(0, 1.01), ylim=(0, 101))
    ax.legend(loc="lower left")
    return labelled(ax, PLANE, COVERAGE)


def step_tradeoff(
    ax: Axes, n_evaluations: Sequence[int], misses: Mapping[str, ArrayLike], steps: Sequence[float]
) -> Axes:
    """Draw how far tables miss their levels, against what they cost.

    Args:
        ax: where to draw.
        n_evaluations: the planes of each table (n,).
        misses: for each name the mean distance of coverage from its level, in points (n,).
        steps: the step of each table (n,), written beside the first curve.
    """
    for (name, miss), color, mark in zip(misses.items(), COLORS, MARKS, strict=False):
        ax.plot(n_evaluations, miss, f"{mark}-", color=color, markersize=5, label=name)
    for cost, miss, step in zip(
        n_evaluations, np.asarray(next(iter(misses.values()))), steps, strict=True
    ):
        ax.annotate(
            f"{step:g}", (cost, miss), xytext=(5, 5), textcoords="offset points",
        )  # fmt: skip
    ax.set(xscale="log", yscale="log")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter("{x:g}")
    ax.margins(x=0.12, y=0.15)
    ax.legend(loc="lower left")
    return labelled(ax, "planes evaluated", "mean miss (points of coverage)")


def interpolations(
    ax: Axes,
    table: Array,
    critical: Array,
    coverage: Array,
    curves: Mapping[str, Array],
    limits: tuple[float, float] = (-0.4, 1.4),
) -> Axes:
    """Draw what several interpolations make of one table, and the staircase that it samples.

    Args:
        ax: where to draw.
        table: the pairs (coverage, alpha), (n, 2).
        critical: the critical planes (Q,) of the calibration set.
        coverage: levels (L,) at which the curves are given.
        curves: for each name the planes (L,).
        limits: the range of alpha that is shown.
    """
    ax.axhspan(ALPHA_0, 1, color="#eeeeee", zorder=0)
    alpha, steps = staircase(critical)
    ax.step(100 * steps, alpha, where="post", color=GREY, linewidth=4, alpha=0.5, label="exact")
    colors = (BLUE, GREEN, VERMILION, PURPLE)
    for (name, curve), color, line in zip(curves.items(), colors, LINES, strict=False):
        ax.plot(100 * coverage, curve, color=color, linestyle=line, linewidth=1.6, label=name)
    ax.plot(100 * table[:, 0], table[:, 1], "o", color=BLACK, markersize=4, label="lookup table")
    ax.set(xlim=(0, 101), ylim=limits)
    return labelled(ax, "coverage (%)", PLANE)


def search_path(
    ax: Axes,
    critical: Array,
    path: Sequence[tuple[float, float]],
    level: float,
    tolerance: float,
    zoom: tuple[float, float] | None = None,
) -> Axes:
    """Draw where a search went on the staircase of coverage, numbered step by step.

    Args:
        ax: where to draw.
        critical: the critical planes (Q,) of the calibration set.
        path: the (alpha, coverage) that the search stood on.
        level: what it looked for.
        tolerance: how near is near enough.
        zoom: the planes to show; None shows all of the path.
    """
    alpha, coverage = staircase(critical)
    ax.axhspan(100 * (level - tolerance), 100 * (level + tolerance), color=ORANGE, alpha=0.35)
    ax.axhline(100 * level, color=ORANGE, linewidth=1)
    ax.step(alpha, 100 * coverage, where="pre", color=BLUE, linestyle="-", linewidth=1.5)
    walked = np.array(path)  # (moves, 2)
    low, high = zoom or (walked[:, 0].min() - 0.03, min(walked[:, 0].max() + 0.03, 1.01))
    shown = (low <= walked[:, 0]) & (walked[:, 0] <= high)
    ax.plot(walked[shown, 0], 100 * walked[shown, 1], "o", color=VERMILION, markersize=6)
    seen = (low <= alpha) & (alpha <= high)
    reach = 100 * np.concatenate([coverage[seen], walked[shown, 1], [level]])
    pad = max(0.12 * float(np.ptp(reach)), 100 * tolerance)
    ax.set(xlim=(low, high), ylim=(reach.min() - pad, min(reach.max() + pad, 101)))
    _number(ax, walked * [1, 100], np.flatnonzero(shown))
    return labelled(ax, PLANE, "coverage (%)")


def _number(ax: Axes, places: Array, moves: NDArray[np.intp]) -> None:
    """Write the number of a move beside where it led; moves that lie close share one label."""
    size = np.array([np.ptp(ax.get_xlim()), np.ptp(ax.get_ylim())])
    groups: list[list[int]] = []
    for i in moves.tolist():
        close = groups and (np.abs(places[i] - places[groups[-1][0]]) < size * [0.05, 0.08]).all()
        if close and i == groups[-1][-1] + 1:
            groups[-1].append(i)
        else:
            groups.append([i])
    for group in groups:
        text = f"{group[0]}" if len(group) == 1 else f"{group[0]} to {group[-1]}"
        at_right = places[group[0], 0] > ax.get_xlim()[0] + 0.85 * size[0]
        ax.annotate(
            text, places[group[0]], xytext=(-6, -5) if at_right else (6, 6), color=VERMILION,
            textcoords="offset points", ha="right" if at_right else "left",
            va="top" if at_right else "bottom",  # the curve falls: both places are clear of it
        )  # fmt: skip


def search_misses(
    ax: Axes, levels: Array, misses: Array, met: NDArray[np.bool_], possible: NDArray[np.bool_]
) -> Axes:
    """Draw by how many samples a search missed each level, and why.

    Args:
        ax: where to draw.
        levels: coverages (L,).
        misses: coverage reached less the level, in samples (L,).
        met: whether the search came within its tolerance (L,).
        possible: whether any coverage lies within the tolerance (L,).
    """
    kinds = {
        "met": (met, "o", SKY),
        "cannot be met": (~met & ~possible, "s", PURPLE),
        "stalled": (~met & possible, "X", VERMILION),
    }
    ax.axhline(0, color=GREY, linewidth=1)
    for name, (rows, mark, color) in kinds.items():
        ax.plot(
            100 * levels[rows], misses[rows], mark, color=color, markersize=6, linestyle="none",
            label=f"{name}: {rows.sum()}",
        )  # fmt: skip
    ax.legend(loc="upper left", bbox_to_anchor=(0, 1.18), ncols=3, columnspacing=1)
    return labelled(ax, "level (%)", "miss (samples)")


def coverage_laws(
    ax: Axes, laws: Mapping[str, tuple[Array, Array]], observed: Mapping[str, float], level: float
) -> Axes:
    """Draw how coverage on a test set is distributed by chance, and what was observed.

    Args:
        ax: where to draw.
        laws: for each name coverages (n,) and the probability of each (n,).
        observed: for each name the coverage that was measured.
        level: the coverage asked for.
    """
    ax.axvline(100 * level, color=GREY, linestyle=":", linewidth=1.2)
    for (name, (coverage, p)), color, mark, line in zip(
        laws.items(), COLORS, MARKS, LINES, strict=False
    ):
        density = p / p.max()
        ax.plot(100 * coverage, density, color=color, linestyle=line, label=name)
        seen = observed[name]
        ax.plot(
            100 * seen, np.interp(seen, coverage, density), mark, color=VERMILION, markersize=9,
            label=f"{name}: this test part",
        )  # fmt: skip
    ax.set(ylim=(0, 1.08), yticks=[])
    ax.legend(loc="upper left")
    return labelled(ax, "coverage of the test part (%)", "probability, scaled")


def staircase(critical: Array) -> tuple[Array, Array]:
    """Return the planes (n,) at which coverage falls, and the coverage of each (n,).

    >>> staircase(np.array([0.5, 0.2, 0.0, 0.5]))
    (array([0.01, 0.2 , 0.5 , 1.  ]), array([0.75, 0.75, 0.5 , 0.  ]))
    """
    ordered = np.sort(critical)
    alpha = np.union1d(ordered[ordered > 0], [ALPHA_0, 1.0])
    return alpha, 1 - np.searchsorted(ordered, alpha, side="left") / ordered.size
