"""Figures of intervals and what they cover: by rank, by chance, by level, side, group and bin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from gt2lite._validation import Array
from gt2lite.calibration import Scores
from gt2lite.memberships import ALPHA_0, kappa_of
from gt2lite.plots.style import (
    BLACK,
    BLUE,
    COLORS,
    GREEN,
    GREY,
    MARKS,
    ORANGE,
    SKY,
    VERMILION,
    labelled,
    nth,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_STAGES = {"trained planes": BLUE, "planes beyond": GREEN, "margin": ORANGE}


def interval_bands(
    ax: Axes, y: Array, bands: Mapping[str, tuple[Array, Array]], order: Array | None = None
) -> Axes:
    """Draw targets and their intervals sample by sample, one band for each name.

    Args:
        ax: where to draw.
        y: targets (N,).
        bands: for each name the lower and upper ends (N,); the widest first.
        order: what to sort the samples by, (N,); the targets where None.
    """
    y = np.asarray(y)  # an index of the user's, such as that of a Series, must not count
    rows = np.argsort(y if order is None else np.asarray(order))
    number = np.arange(1, y.size + 1)
    for (name, ends), color in zip(bands.items(), (SKY, ORANGE, GREEN), strict=False):
        lower, upper = map(np.asarray, ends)
        ax.fill_between(
            number, lower[rows], upper[rows], step="mid", color=color, alpha=0.45, linewidth=0.6,
            edgecolor=color, label=name,
        )  # fmt: skip
    ax.plot(number, y[rows], ".", color=BLACK, markersize=5, label="target")
    ax.margins(x=0.01)
    ax.legend(loc="upper left")
    return ax


def family_ends(ax: Axes, t: Array, ends: Array, stage: Array, y: float) -> Axes:
    """Draw a nested family at one row: both ends as the family goes outward, and the target.

    Args:
        ax: where to draw.
        t: places in the family (n,), rising.
        ends: lower and upper ends (2, n).
        stage: 0 for trained planes, 1 for planes beyond, 2 for the margin (n,).
        y: the target; where an end first reaches it is its conformal score.
    """
    for i, (name, color) in enumerate(_STAGES.items()):
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


def critical_ranks(ax: Axes, scores: Scores, levels: Sequence[float] = ()) -> Axes:
    """Draw the scores of a calibration set in rising order: the answer to every level.

    Args:
        ax: where to draw.
        scores: where each sample is first covered.
        levels: levels whose answers are marked.
    """
    order = np.lexsort((scores.margin, -scores.alpha))
    alpha = np.maximum(scores.alpha[order], scores.alpha_min)
    position = np.asarray(kappa_of(alpha)) + scores.margin[order]
    share = 100 * np.arange(1, len(scores) + 1) / len(scores)
    stage = np.where(scores.alpha[order] >= ALPHA_0, 0, np.where(scores.alpha[order] > 0, 1, 2))
    for i, (name, color) in enumerate(_STAGES.items()):
        here = stage == i
        if here.any():
            ax.plot(
                share[here], position[here], MARKS[i], color=color, markersize=3 + i,
                linestyle="none", label=f"{name}: {here.sum()}",
            )  # fmt: skip
    ax.axhline(1, color=GREY, linestyle=":", linewidth=1.2)
    for level in levels:
        height = float(np.interp(100 * level, share, position))
        ax.plot([100 * level] * 2 + [0], [0, height, height], color=VERMILION, linewidth=1.2)
    ax.set(xlim=(0, 101), ylim=(0, None))
    ax.legend(loc="upper left")
    return labelled(ax, "samples covered (%)", r"position in the family: $\kappa$, then margin")


def coverage_histogram(
    ax: Axes, coverages: Array, law: tuple[Array, Array], level: float, n_bins: int = 30
) -> Axes:
    """Draw the coverages of many redraws, and how often their law has them there.

    Args:
        ax: where to draw.
        coverages: shares of the test part (R,).
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
    for i, (name, color, mark) in enumerate(zip(means, COLORS, MARKS, strict=False)):
        x = np.asarray(sizes) * 1.04 ** (i - (len(means) - 1) / 2)  # side by side
        ax.errorbar(
            x, 100 * means[name], 100 * errors[name], marker=mark, color=color, markersize=5,
            capsize=2, linewidth=1.2, label=name,
        )  # fmt: skip
    ax.set(xscale="log", xticks=list(sizes))
    ax.xaxis.set_major_formatter("{x:g}")
    ax.minorticks_off()
    ax.legend(loc="best", ncols=2)
    return labelled(ax, "calibration samples", "mean coverage of new data (%)")


def width_by_level(ax: Axes, levels: Array, widths: Array, stage: Array, margins: Array) -> Axes:
    """Draw how wide intervals get as the level rises, and which part of that is margin.

    Args:
        ax: where to draw.
        levels: coverages (L,), rising.
        widths: mean widths (L,).
        stage: 0 for trained planes, 1 for planes beyond, 2 for the margin (L,).
        margins: what is added on each end (L,).
    """
    ax.fill_between(
        100 * levels, widths - 2 * margins, widths, step="post", color=ORANGE, alpha=0.4,
        linewidth=0,
    )  # fmt: skip
    for i, (name, color) in enumerate(_STAGES.items()):
        here = stage == i
        if here.any():
            ax.plot(
                100 * levels[here], widths[here], MARKS[i], color=color, markersize=3 + i,
                linestyle="none", label=name,
            )  # fmt: skip
    ax.set(ylim=(0, None))
    ax.legend(loc="upper left")
    return labelled(ax, "level (%)", "mean width")


def promises(ax: Axes, levels: Array, covered: Mapping[str, Array]) -> Axes:
    """Draw what planes cover against what they were to learn.

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


def tail_misses(ax: Axes, misses: Mapping[str, Mapping[str, ArrayLike]], promised: float) -> Axes:
    """Draw how many targets lie below and above their intervals, row by row.

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
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    return labelled(ax, "targets missed on a side (%)", "data set")


def group_coverage(ax: Axes, coverages: Mapping[str, Array], level: float) -> Axes:
    """Draw the coverage of each group, in rising order, for several ways to calibrate.

    Args:
        ax: where to draw.
        coverages: for each way the coverage of every group (G,).
        level: the coverage asked for.
    """
    ax.axhline(100 * level, color=BLACK, linestyle="--", linewidth=1.2)
    ways = zip(coverages.items(), COLORS, MARKS, (8, 4, 3), strict=False)
    for (name, values), color, mark, size in ways:  # the small marks lie on the large ones
        ax.plot(
            np.arange(1, values.size + 1), 100 * np.sort(values), mark, color=color,
            markersize=size, linestyle="none", label=name,
        )  # fmt: skip
    ax.set(ylim=(0, 103))
    ax.legend(loc="lower right")
    return labelled(ax, "groups, in order of their coverage", "coverage (%)")


def bin_coverage(
    ax: Axes,
    series: Mapping[str, Array],
    bins: Sequence[str],
    level: float,
    *,
    sizes: Sequence[int] = (),
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
        ax.fill_between(
            places, 100 * level - spread, 100 * level + spread, color="#e4e4e4", linewidth=0
        )
    ax.axhline(100 * level, color=GREY, linestyle=":", linewidth=1.2)
    for i, (name, share) in enumerate(series.items()):
        ax.plot(
            places, 100 * share, f"{nth(MARKS, i)}-", color=nth(COLORS, i), markersize=5,
            linewidth=1.5, label=name,
        )  # fmt: skip
    ax.set_xticks(places, list(bins))
    ax.set_xlim(-0.3, len(bins) - 0.7)
    return labelled(ax, "", "coverage (%)")
