"""Longer figures of chapters 4 and 8.

Each takes `ax`, draws on it and returns it. Figures of general use are in `gt2lite.plots`; shorter
ones are drawn in the chapters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gt2lite._validation import Array
from gt2lite.memberships import ALPHA_0
from gt2lite.plots.calibration import PLANE, STAGES, staircase
from gt2lite.plots.style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    LINES,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
    labelled,
    nth,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def interpolations(
    ax: Axes,
    table: Array,
    critical: Array,
    coverage: Array,
    curves: Mapping[str, Array],
    limits: tuple[float, float] = (-0.4, 1.4),
) -> Axes:
    """Draw several interpolations of one lookup table, and the step function that it samples.

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
    for i, (name, curve) in enumerate(curves.items()):
        color, line = nth((BLUE, GREEN, VERMILION, PURPLE), i), nth(LINES, i)
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
    """Draw the path of a search on the step function of coverage, numbered move by move.

    Args:
        ax: where to draw.
        critical: the critical planes (Q,) of the calibration set.
        path: the (alpha, coverage) that the search stood on.
        level: the coverage asked for.
        tolerance: the distance from the level at which the search ends.
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


def family_ends(ax: Axes, t: Array, ends: Array, stage: Array, y: float) -> Axes:
    """Draw the bounds of a nested family at one row as it goes outward, and the target.

    Args:
        ax: where to draw.
        t: places in the family (n,), rising.
        ends: lower and upper bounds (2, n).
        stage: 0 for trained planes, 1 for planes beyond, 2 for the margin (n,).
        y: the target; the place where a bound first reaches it is its conformal score.
    """
    for i, (name, color) in enumerate(STAGES.items()):
        here = np.flatnonzero(stage == i)
        if here.size:
            here = np.concatenate([here, here[-1:] + 1])[: t.size - here[0]]  # up to the next
            ax.fill_between(t[here], *ends[:, here], color=color, alpha=0.4, label=name)
            ax.plot(t[here], ends[:, here].T, color=color, linestyle="-", linewidth=1.5)
    ax.axhline(y, color=BLACK, linestyle="--", linewidth=1.2, label="target")
    covered = (ends[0] <= y) & (y <= ends[1])
    if covered.any():
        score = t[covered.argmax()]
        ax.axvline(score, color=VERMILION, linestyle=":", linewidth=1.5)
        ax.plot(score, y, "o", color=VERMILION, markersize=6, label="its score")
    ax.margins(x=0.01)
    ax.legend(loc="upper left")
    return labelled(ax, "place in the family $t$", "target")


def coverage_histogram(
    ax: Axes, coverages: Array, law: tuple[Array, Array], level: float, n_bins: int = 30
) -> Axes:
    """Draw the coverages of many redraws as a histogram, and their law.

    Args:
        ax: where to draw.
        coverages: shares of the test set covered (R,).
        law: all shares that can occur (m + 1,) in rising order, and the probability of each.
        level: the coverage asked for.
        n_bins: bars, roughly; each holds as many of the possible shares as the others.
    """
    shares, p = law
    low, high = np.searchsorted(np.cumsum(p), [1e-4, 1 - 1e-4])
    step = max((high - low) // n_bins, 1)
    edges = np.arange(low, high + step + 1, step)  # in steps of one sample
    unit = shares[1] - shares[0]
    centres = 100 * unit * (edges[:-1] + (step - 1) / 2)
    counts, _ = np.histogram(np.rint(coverages / unit), edges - 0.5)
    expected = np.diff(np.concatenate([[0], np.cumsum(p)])[np.minimum(edges, p.size)])
    ax.bar(centres, 100 * counts / coverages.size, 90 * unit * step, color=SKY, label="redraws")
    ax.plot(centres, 100 * expected, "o-", color=BLACK, markersize=3, linewidth=1.2, label="law")
    ax.axvline(100 * level, color=VERMILION, linestyle="--", linewidth=1.5, label="level")
    ax.legend(loc="upper left")
    return labelled(ax, "coverage of the test part (%)", "share of redraws (%)")
