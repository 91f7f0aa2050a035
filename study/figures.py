"""Figures that chapters draw more than once.

Each takes `ax`, draws on it and returns it. Figures of general use are in `gt2lite.plots`; the
others are drawn in the chapters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gt2lite._validation import Array, one_of
from gt2lite.memberships import ALPHA_0, kappa_of, secondary_grade
from gt2lite.plots.method import PLANE, bell, plane_edges, staircase
from gt2lite.plots.style import (
    BLACK,
    BLUE,
    COLORS,
    LINES,
    MARKS,
    ORANGE,
    SKY,
    VERMILION,
    labelled,
    legend_above,
    nth,
)
from gt2lite.reduction import type_reduce
from gt2lite.system import Params

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def target_histogram(ax: Axes, y: Array, name: str) -> Axes:
    """Draw how often a target (N,) called `name` takes its values, in percent of the rows.

    A target with at most twelve distinct values gets a bar for each, any other one thirty bins.
    """
    values, counts = np.unique(y, return_counts=True)
    width = 0.7 * np.diff(values).min(initial=1.0)
    if values.size > 12:
        counts, edges = np.histogram(y, bins=30)
        values, width = (edges[:-1] + edges[1:]) / 2, edges[1] - edges[0]
    else:
        ax.set_xticks(values)
    ax.bar(values, 100 * counts / y.size, width=width, color=BLUE)
    return labelled(ax, name, "rows (%)")


def z_gt2_surface(
    ax: Any, x: Array, *, c: float, sigma: float, s_l: float, s_r: float, alpha: float,
    x_cut: float,
) -> Any:  # fmt: skip
    """Draw a general type-2 set in three dimensions, with one plane and one cut.

    `ax` is three-dimensional; the other arguments are those of `z_gt2_set`.
    """
    mu = bell(x, c, sigma)
    places = np.linspace(x[0], x[-1], 25)
    for place, mu_there in zip(places, bell(places, c, sigma), strict=True):
        _slice(ax, place, mu_there, s_l, s_r, SKY, 0.25)
    _slice(ax, x_cut, bell(np.array([x_cut]), c, sigma)[0], s_l, s_r, BLUE, 0.8)
    lower, upper = plane_edges(mu, alpha, s_l, s_r)
    ax.fill_between(x, lower, alpha, x, upper, alpha, color=VERMILION, alpha=0.45, linewidth=0)
    ax.plot(x, mu, 1.0, color=BLACK, linestyle="-")
    ax.set(zlabel=r"$\alpha$", zlim=(0, 1))
    ax.set_xlabel("input $x$", labelpad=14)  # clear of the numbers along the axis
    ax.set_ylabel("grade $u$", labelpad=14)
    ax.view_init(elev=40, azim=-115)
    ax.set_box_aspect((1.7, 1.1, 0.8), zoom=1.0)
    return ax


def _slice(
    ax: Any, place: float, mu: float, s_l: float, s_r: float, color: str, opacity: float
) -> None:
    """Draw the secondary membership at one point of the input as an upright sheet."""
    u = np.union1d(np.linspace(*plane_edges(mu, ALPHA_0, s_l, s_r), 61), [mu])
    x, grade = np.full_like(u, place), secondary_grade(u, mu, s_l, s_r)
    ax.fill_between(x, u, 0, x, u, grade, color=color, alpha=opacity, linewidth=0)
    ax.plot(x, u, grade, color=BLUE, linestyle="-", linewidth=0.8)


def chosen_weights(ax: Axes, f_lower: Array, f_upper: Array, y: Array, end: str = "lower") -> Axes:
    """Draw the weight that each rule takes for one endpoint, and the resulting mean.

    Args:
        ax: where to draw.
        f_lower: lower firing strengths (P,).
        f_upper: upper firing strengths (P,).
        y: consequents (P,).
        end: "lower" or "upper".
    """
    is_lower = one_of("end", end, ("lower", "upper")) == "lower"
    mean = float(type_reduce(f_lower, f_upper, y)[not is_lower])
    takes_upper = y <= mean if is_lower else y >= mean
    ax.vlines(y, f_lower, f_upper, color=BLUE, linewidth=7, alpha=0.3, label="may choose")
    chosen = np.where(takes_upper, f_upper, f_lower)
    ax.plot(y, chosen, "o", color=BLUE, markersize=9, label="chooses")
    ax.axvline(mean, color=VERMILION, linestyle="--")
    ax.plot(mean, 0, "^", color=VERMILION, markersize=12, clip_on=False, label="mean")
    ax.annotate(
        f"{mean:.2f}", (mean, 0), xytext=(9, 7), textcoords="offset points", color=VERMILION
    )
    ax.margins(x=0.12)
    ax.set_ylim(0, 1.1 * float(np.max(f_upper)))
    return labelled(ax, "consequent $y_p$", "weight $w_p$")


def secondary_membership(ax: Axes, mu: float, s_l: float, s_r: float, alpha: float) -> Axes:
    """Draw the secondary membership that stands on the primary membership `mu`, and one plane.

    Args:
        ax: where to draw.
        mu: the primary membership.
        s_l: share of the room below `mu` that the plane alpha_0 takes.
        s_r: share of the room above `mu` that the plane alpha_0 takes.
        alpha: the plane to mark.
    """
    u = np.union1d(np.linspace(*plane_edges(mu, ALPHA_0, s_l, s_r), 401), [mu])
    grade = secondary_grade(u, mu, s_l, s_r)
    ax.fill_between(u, 0, grade, color=SKY, alpha=0.3, linewidth=0)
    ax.plot(u, grade, color=BLUE, linestyle="-")
    ax.plot([mu], [1.0], "o", color=BLACK)
    lower, upper = plane_edges(mu, alpha, s_l, s_r)
    ax.plot([lower, upper], [alpha, alpha], "|-", color=VERMILION)
    place: dict[str, Any] = {"xytext": (6, 6), "textcoords": "offset points", "color": VERMILION}
    ax.annotate(rf"$\alpha = {alpha:g}$", (float(upper), alpha), **place)
    ax.set(xlim=(0, 1), ylim=(0, 1.1))
    return labelled(ax, "grade $u$", r"height $\alpha$")


def rule_lines(ax: Axes, x: Array, params: Params) -> Axes:
    """Draw the consequents of a system with one input, in the colours of `plots.rule_sets`."""
    for p, (slope, intercept) in enumerate(zip(params["a"][:, 0], params["a0"], strict=True)):
        color = nth(COLORS, p)
        ax.plot(x, slope * x + intercept, color=color, linestyle=nth(LINES, p), linewidth=1.5)
    return labelled(ax, "input $x$", "consequent $y_p$")


def both_scales(ax: Axes, scores: Array, ranks: Mapping[str, int]) -> Axes:
    """Draw rows where an interval that opens first covers them, below kappa and above alpha.

    Args:
        ax: where to draw.
        scores: of a few rows (Q,): the kappa of the critical plane, or 1 plus a margin beyond.
        ranks: named ranks, each marked by a line at the score of this rank.
    """
    end = max(1.04, float(np.max(scores)) + 0.04)
    ax.fill_between([0, end], [0, -end], [0, end], color=SKY, alpha=0.3, linewidth=0)
    ax.axhline(0, color=BLUE, linestyle="-", linewidth=1.5)
    in_order = np.sort(scores)
    for i, (name, r) in enumerate(ranks.items()):
        ax.axvline(
            in_order[r - 1], color=nth((VERMILION, BLACK), i), linestyle=nth(("-", "--"), i),
            linewidth=1.5, label=name,
        )  # fmt: skip
    for r, score in enumerate(in_order, 1):
        side = 1 if r % 2 else -1  # above and below in turn: neighbours keep their numbers apart
        ax.plot(score, side * score, "o", color=BLACK, markersize=5)
        place: dict[str, Any] = {"textcoords": "offset points", "ha": "right", "va": "center"}
        ax.annotate(f"{r}", (score, side * score), xytext=(-5, 7 * side), **place)
    ax.set(xlim=(0, end), ylim=(-1.2 * end, 1.2 * end), yticks=[])
    above = ax.secondary_xaxis("top")
    planes = np.array([1, 0.9, 0.6, 0.3, 0.1, 0.03, ALPHA_0])
    above.set_xticks(kappa_of(planes), [f"{alpha:g}" for alpha in planes])
    above.set_xlabel(r"$\alpha$ falls: rank $r$ is the $r$-th largest $\alpha$ $\longrightarrow$")
    ax.grid(False)
    ax.legend(loc="upper left")
    return labelled(
        ax,
        r"$\kappa$ rises: rank $r$ is the $r$-th smallest $\kappa$ $\longrightarrow$",
        "interval",
    )


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
    size, last = np.array([high - low, np.ptp(ax.get_ylim())]), np.full(2, np.inf)
    for i in np.flatnonzero(shown):
        place = walked[i] * [1, 100]
        if (np.abs(place - last) < size * [0.05, 0.08]).all():
            continue  # it lies too close to the last number
        right = place[0] > low + 0.85 * size[0]  # the curve falls: both places are clear of it
        ax.annotate(
            f"{i}", place, xytext=(-6, -5) if right else (6, 6), textcoords="offset points",
            color=VERMILION, ha="right" if right else "left", va="top" if right else "bottom",
        )  # fmt: skip
        last = place
    return labelled(ax, PLANE, "coverage (%)")


def paired_dots(ax: Axes, rows: Mapping[str, Mapping[str, Array]], label: str) -> Axes:
    """Draw the runs of each row as dots and their mean as a bar, one colour for each series.

    Args:
        ax: where to draw.
        rows: for each row, from the top, and each series the values of the runs (runs,).
        label: what the values are.
    """
    ax.axvline(0, color=BLACK, linestyle="-", linewidth=1)
    series = list(dict.fromkeys(name for row in rows.values() for name in row))
    for i, name in enumerate(series):
        for j, row in enumerate(rows.values()):
            runs, place = row.get(name, np.empty(0)), j + 0.75 * ((i + 0.5) / len(series) - 0.5)
            look: dict[str, Any] = {"label": name if j == 0 else None, "linestyle": "none"}
            look |= {"color": nth(COLORS, i), "markersize": 4, "alpha": 0.6}
            ax.plot(runs, np.full(runs.shape, place), nth(MARKS, i), **look)
            if runs.size:
                half = 0.375 / len(series)
                ax.plot([runs.mean()] * 2, [place - half, place + half], "-", color=BLACK, lw=2.5)
    for place in range(1, len(rows)):
        ax.axhline(place - 0.5, color="#dddddd", linestyle="-", linewidth=0.6)
    ax.set_yticks(range(len(rows)), list(rows))
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.grid(False, axis="y")
    legend_above(ax)
    return labelled(ax, label, "")


def names_apart(ax: Axes, places: Mapping[str, tuple[float, float]], fontsize: float = 12) -> Axes:
    """Write a name beside each point (x, y), in the first place where it covers nothing.

    Places are tried in the order right, left, above, below, then aslant, ever farther away. A line
    joins a name that stands apart to its point. Points and axes must have their final places and
    limits.
    """
    sides = {(7, 0): "left", (-7, 0): "right", (0, 11): "center", (0, -11): "center"}
    for x, y in [(7, 9), (12, 20), (18, 32), (24, 44), (30, 56)]:
        sides |= {(x, y): "left", (x, -y): "left", (-x, y): "right", (-x, -y): "right"}
    line = {"arrowstyle": "-", "color": "0.6", "linewidth": 0.7, "shrinkA": 0, "shrinkB": 3}
    fig = ax.get_figure(root=True)
    assert fig is not None
    fig.canvas.draw()
    points = ax.transData.transform([*places.values()])
    taken: list[Any] = []  # boxes of names, in pixels
    for name, place in places.items():
        found: list[tuple[float, int, dict[str, Any], Any]] = []  # what each place covers, and box
        for shift, align in sides.items():
            how: dict[str, Any] = {
                "xytext": shift,
                "ha": align,
                "va": "center",
                "fontsize": fontsize,
            }
            text = ax.annotate(name, place, textcoords="offset points", **how)
            box = text.get_window_extent().padded(1)
            text.remove()
            covers = sum(box.overlaps(other) for other in taken)
            covers += sum(box.contains(*point) for point in points)
            inside = all(ax.bbox.contains(*corner) for corner in (box.min, box.max))
            found.append((covers + 10 * (not inside), len(found), how, box))
        *_, how, box = min(found, key=lambda one: one[:2])
        apart = line if abs(how["xytext"][1]) > 11 else None
        ax.annotate(name, place, textcoords="offset points", arrowprops=apart, **how)
        taken.append(box)
    return ax
