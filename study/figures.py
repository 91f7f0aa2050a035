"""Figures of single chapters: calibration, the protocol, the guarantee, tuning and costs.

Each takes `ax`, draws on it and returns it. Figures of general use are in `gt2lite.plots`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gt2lite._validation import Array
from gt2lite.memberships import ALPHA_0
from gt2lite.plots.calibration import PLANE, STAGES, staircase
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
    draw_curves,
    labelled,
    legend_above,
    nth,
    plain_numbers,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_PARTS = {"train": BLUE, "calibrate": ORANGE, "test": SKY}


def step_tradeoff(
    ax: Axes, n_evaluations: Sequence[int], misses: Mapping[str, ArrayLike], steps: Sequence[float]
) -> Axes:
    """Draw how far lookup tables miss their levels, against their cost.

    Args:
        ax: where to draw.
        n_evaluations: the planes of each table (n,).
        misses: for each name the mean distance of coverage from its level, in points (n,).
        steps: the step of each table (n,), written beside the first curve.
    """
    for i, (name, miss) in enumerate(misses.items()):
        mark, color = nth(MARKS, i), nth(COLORS, i)
        ax.plot(n_evaluations, miss, f"{mark}-", color=color, markersize=5, label=name)
    first = np.asarray(next(iter(misses.values())))
    for cost, miss, step in zip(n_evaluations, first, steps, strict=True):
        ax.annotate(f"{step:g}", (cost, miss), xytext=(5, 5), textcoords="offset points")
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


def search_misses(
    ax: Axes, levels: Array, misses: Array, met: NDArray[np.bool_], possible: NDArray[np.bool_]
) -> Axes:
    """Draw by how many samples a search missed each level, and for which reason.

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
    """Draw the distribution of coverage on a test set, and the coverage observed.

    Args:
        ax: where to draw.
        laws: for each name coverages (n,) and the probability of each (n,).
        observed: for each name the coverage that was measured.
        level: the coverage asked for.
    """
    ax.axvline(100 * level, color=GREY, linestyle=":", linewidth=1.2)
    for i, (name, (coverage, p)) in enumerate(laws.items()):
        density = p / p.max()
        ax.plot(100 * coverage, density, color=nth(COLORS, i), linestyle=nth(LINES, i), label=name)
        height = np.interp(observed[name], coverage, density)
        ax.plot(
            100 * observed[name], height, nth(MARKS, i), color=VERMILION, markersize=9,
            label=f"{name}: this test part",
        )  # fmt: skip
    ax.set(ylim=(0, 1.08), yticks=[])
    ax.legend(loc="upper left")
    return labelled(ax, "coverage of the test part (%)", "probability, scaled")


def row_shares(ax: Axes, shares: Mapping[str, Mapping[str, float]]) -> Axes:
    """Draw the shares of the rows that each model trains, calibrates and is tested on.

    Args:
        ax: where to draw.
        shares: for each model the shares, in percent, of "train", "calibrate" and "test",
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
    legend_above(ax)
    return labelled(ax, "rows, in random order (%)", "")


def power_curves(ax: Axes, effect: Array, power: Mapping[str, Array], wanted: float = 0.8) -> Axes:
    """Draw the power of tests against the size of the difference.

    Args:
        ax: where to draw.
        effect: true differences (n,), in standard deviations.
        power: for each name of a test the share of rejections (n,).
        wanted: a share to mark, with the difference at which each test reaches it.
    """
    ax.axhline(100 * wanted, color=GREY, linestyle=":", linewidth=1.2)
    for i, (name, share) in enumerate(power.items()):
        mark, color = nth(MARKS, i), nth(COLORS, i)
        ax.plot(effect, 100 * share, f"{mark}-", color=color, markersize=4, label=name)
    ax.set(xlim=(effect[0], effect[-1]), ylim=(0, 101))
    ax.legend(loc="lower right")
    return labelled(ax, "true difference (standard deviations)", "found (%)")


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


def coverage_by_size(
    ax: Axes, sizes: Sequence[int], means: Mapping[str, Array], errors: Mapping[str, Array],
    level: float,
) -> Axes:  # fmt: skip
    """Draw the mean coverage of new data by size of the calibration set, for several methods.

    Args:
        ax: where to draw.
        sizes: calibration samples (S,).
        means: for each method the mean coverage (S,).
        errors: for each method twice the standard error (S,).
        level: the coverage asked for.
    """
    ax.axhline(100 * level, color=BLACK, linestyle="--", linewidth=1.2)
    for i, name in enumerate(means):
        x = np.asarray(sizes) * 1.04 ** (i - (len(means) - 1) / 2)  # side by side
        ax.errorbar(
            x, 100 * means[name], 100 * errors[name], marker=nth(MARKS, i), color=nth(COLORS, i),
            markersize=5, capsize=2, linewidth=1.2, label=name,
        )  # fmt: skip
    ax.set(xscale="log", xticks=list(sizes))
    ax.xaxis.set_major_formatter("{x:g}")
    ax.minorticks_off()
    ax.legend(loc="best", ncols=2)
    return labelled(ax, "calibration samples", "mean coverage of new data (%)")


def width_by_level(ax: Axes, levels: Array, widths: Array, stage: Array, margins: Array) -> Axes:
    """Draw the mean width of intervals by level, and the part of it that is margin.

    Args:
        ax: where to draw.
        levels: coverages (L,), rising.
        widths: mean widths (L,).
        stage: 0 for trained planes, 1 for planes beyond, 2 for the margin (L,).
        margins: the amount added to each bound (L,).
    """
    ax.fill_between(
        100 * levels, widths - 2 * margins, widths, step="post", color=ORANGE, alpha=0.4,
        linewidth=0,
    )  # fmt: skip
    for i, (name, color) in enumerate(STAGES.items()):
        here = stage == i
        if here.any():
            ax.plot(
                100 * levels[here], widths[here], MARKS[i], color=color, markersize=3 + i,
                linestyle="none", label=name,
            )  # fmt: skip
    ax.set(ylim=(0, None))
    ax.legend(loc="upper left")
    return labelled(ax, "level (%)", "mean width")


def tail_misses(ax: Axes, misses: Mapping[str, Mapping[str, ArrayLike]], promised: float) -> Axes:
    """Draw the share of targets below and above their intervals, row by row.

    Args:
        ax: where to draw.
        misses: for each row and each way to calibrate the shares below and above (2,).
        promised: the share that each side may miss.
    """
    ways = list(next(iter(misses.values())))
    for i, by_way in enumerate(misses.values()):
        for j, (way, color) in enumerate(zip(ways, (BLUE, ORANGE), strict=False)):
            y = i + 0.3 * (j - (len(ways) - 1) / 2)
            below, above = 100 * np.asarray(by_way[way], dtype=float)
            ax.plot([below, above], [y, y], color=color, linestyle="-", linewidth=1.2)
            labels = (f"below, {way}", f"above, {way}") if i == 0 else (None, None)
            for x, mark, label in zip((below, above), "v^", labels, strict=True):
                ax.plot(x, y, mark, color=color, markersize=8, linestyle="none", label=label)
    ax.axvline(100 * promised, color=BLACK, linestyle="--", linewidth=1.2)
    ax.set(yticks=range(len(misses)), yticklabels=list(misses), ylim=(len(misses) - 0.5, -0.5))
    ax.set_xlim(left=0)
    legend_above(ax, 2)
    return labelled(ax, "targets missed on a side (%)", "data set")


def group_coverage(ax: Axes, coverages: Mapping[str, Array], level: float) -> Axes:
    """Draw the coverage of each group, in rising order, for several ways to calibrate.

    Args:
        ax: where to draw.
        coverages: for each way the coverage of every group (G,).
        level: the coverage asked for.
    """
    ax.axhline(100 * level, color=BLACK, linestyle="--", linewidth=1.2)
    for i, (name, values) in enumerate(coverages.items()):
        size = nth((8, 4, 3), i)  # the small marks lie on the large ones
        ax.plot(
            np.arange(1, values.size + 1), 100 * np.sort(values), nth(MARKS, i),
            color=nth(COLORS, i), markersize=size, linestyle="none", label=name,
        )  # fmt: skip
    ax.set(ylim=(0, 103))
    ax.legend(loc="lower right")
    return labelled(ax, "groups, in order of their coverage", "coverage (%)")


def promises(ax: Axes, levels: Array, covered: Mapping[str, Array]) -> Axes:
    """Draw the coverage of planes against the levels that they were trained for.

    Args:
        ax: where to draw.
        levels: the levels (L,).
        covered: for each name the coverages (L,) of the planes.
    """
    low = 100 * min(levels.min(), *(values.min() for values in covered.values()))
    ends = np.array([max(low - 3, 0.0), 100.0])
    ax.plot(ends, ends, "-", color="#999999", linewidth=1.2)
    order = np.argsort(levels)
    for i, (name, values) in enumerate(covered.items()):
        ax.plot(
            100 * levels[order], 100 * values[order], f"{nth(MARKS, i)}-", color=nth(COLORS, i),
            markersize=6, linewidth=1.5, label=name,
        )  # fmt: skip
    ax.legend(loc="upper left")
    return labelled(ax, "level (%)", "coverage of the test part (%)")


def factor_steps(ax: Axes, steps: Mapping[str, Mapping[str, float]]) -> Axes:
    """Draw a greedy tuning: one factor after the other, keeping the best value of each.

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
    """Draw values against the number of rules, a line for each series.

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


def time_bars(
    ax: Axes, rows: Mapping[str, tuple[float, float, float, float]], label: str, ours: str
) -> Axes:
    """Draw times as bars from the top, with their quartiles and a number at the end of each.

    Args:
        ax: where to draw.
        rows: for each name its median, its two quartiles, and what multiple it is of ours.
        label: what the times are.
        ours: the name of the row that the others are compared with. A line marks it, and all
            rows whose name begins so have its colour.
    """
    middle, low, high, multiple = np.array(list(rows.values())).T
    place = np.arange(len(rows))
    color = [BLUE if name.startswith(ours) else ORANGE for name in rows]
    ax.barh(place, middle, height=0.6, color=color, xerr=[middle - low, high - middle])
    ax.axvline(rows[ours][0], color=BLACK, linestyle=":", linewidth=1.2)
    ax.set_xscale("log")
    ax.set_xlim(left=low.min() / 2, right=2.5 * high.max())
    for at, (value, end) in enumerate(zip(multiple, high, strict=True)):
        text = f"{value:.0f}" if value >= 10 else f"{value:.2g}"
        box = {"facecolor": "white", "edgecolor": "none", "pad": 1}
        ax.text(1.1 * end, at, text, va="center", bbox=box)
    plain_numbers(ax.xaxis)
    ax.set_yticks(place, list(rows))
    ax.invert_yaxis()
    ax.grid(False, axis="y")
    return labelled(ax, label, "")


def growth_curves(
    ax: Axes,
    curves: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    labels: tuple[str, str],
    slope: float | None = None,
) -> Axes:
    """Draw growth with a size on log-log scales, where a power is a straight line.

    Args:
        ax: where to draw.
        curves: for each name the sizes (n,) and the values at them (n,).
        labels: names of the sizes and of the values.
        slope: slope of a dotted line to compare with, through the end of the first curve.
    """
    draw_curves(ax, curves, markersize=4, linewidth=1.5)
    if slope is not None and curves:
        sizes, values = next(iter(curves.values()))
        guide = values[-1] * np.divide(sizes, sizes[-1]) ** slope
        ax.plot(sizes, guide, color=GREY, linestyle=":", linewidth=1.2)
    ax.set(xscale="log", yscale="log")
    legend_above(ax, 2)
    return labelled(ax, *labels)
