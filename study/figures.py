"""Figures of the chapters.

Each takes `ax`, draws on it and returns it. Figures of general use are in `gt2lite.plots`; shorter
ones are drawn in the chapters.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gt2lite._validation import Array
from gt2lite.losses import log_cosh, pinball
from gt2lite.memberships import ALPHA_0, alpha_of, kappa_of, secondary_grade
from gt2lite.plots.calibration import COVERAGE, PLANE, STAGES, staircase
from gt2lite.plots.sets import bell, plane_edges
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
    STRONG,
    VERMILION,
    labelled,
    legend_above,
    nth,
)
from gt2lite.system import Params

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FEW_VALUES = 12  # a target of at most so many distinct values gets a bar for each


# ------------------------------------------------- chapters 1 and 2: data, rules and type reduction


def target_histogram(ax: Axes, y: Array, name: str) -> Axes:
    """Draw how often a target takes its values, in percent of the rows.

    A target with few distinct values gets a bar for each, any other one thirty bins.

    Args:
        ax: where to draw.
        y: targets (N,).
        name: what the target is called.
    """
    values, counts = np.unique(y, return_counts=True)
    if values.size > _FEW_VALUES:
        counts, edges = np.histogram(y, bins=30)
        values, width = (edges[:-1] + edges[1:]) / 2, edges[1] - edges[0]
    else:
        width = 0.7 * np.diff(values).min(initial=1.0)
        ax.set_xticks(values)
    ax.bar(values, 100 * counts / y.size, width=width, color=BLUE)
    return labelled(ax, name, "rows (%)")


def secondary_membership(
    ax: Axes, mu: float, s_l: float, s_r: float, alpha: float | None = None
) -> Axes:
    """Draw the secondary membership that stands on the primary membership `mu`.

    Args:
        ax: where to draw.
        mu: the primary membership.
        s_l: share of the room below `mu` that the plane alpha_0 takes.
        s_r: share of the room above `mu` that the plane alpha_0 takes.
        alpha: a plane to mark, if any.
    """
    u = np.union1d(np.linspace(*plane_edges(mu, ALPHA_0, s_l, s_r), 401), [mu])
    grade = secondary_grade(u, mu, s_l, s_r)
    ax.fill_between(u, 0, grade, color=SKY, alpha=0.3, linewidth=0)
    ax.plot(u, grade, color=BLUE, linestyle="-")
    ax.plot([mu], [1.0], "o", color=BLACK)
    if alpha is not None:
        lower, upper = plane_edges(mu, alpha, s_l, s_r)
        ax.plot([lower, upper], [alpha, alpha], "|-", color=VERMILION)
        ax.annotate(
            rf"$\alpha = {alpha:g}$", (float(upper), alpha), xytext=(6, 6),
            textcoords="offset points", color=VERMILION,
        )  # fmt: skip
    ax.set(xlim=(0, 1), ylim=(0, 1.1))
    return labelled(ax, "grade $u$", r"height $\alpha$")


def kappa_curve(ax: Axes, alphas: Sequence[float] = ()) -> Axes:
    """Draw kappa, the half-width of a plane, against alpha, with some planes marked."""
    kappa = np.linspace(0, 1, 401)
    ax.plot(alpha_of(kappa), kappa, color=BLUE, linestyle="-")
    for alpha in alphas:
        ax.plot([alpha, alpha, 0], [0, kappa_of(alpha), kappa_of(alpha)], ":", color=GREY)
        ax.plot(alpha, kappa_of(alpha), "o", color=VERMILION)
    ax.set(xlim=(0, 1.02), ylim=(0, 1.02))
    return labelled(ax, r"plane $\alpha$", r"half-width $\kappa$")


def rule_lines(ax: Axes, x: Array, params: Params) -> Axes:
    """Draw the consequents of a system with one input, in the colours of `plots.rule_sets`.

    Args:
        ax: where to draw.
        x: points (n,).
        params: a system with one input.
    """
    for p, (slope, intercept) in enumerate(zip(params["a"][:, 0], params["a0"], strict=True)):
        color = nth(COLORS, p)
        ax.plot(x, slope * x + intercept, color=color, linestyle=nth(LINES, p), linewidth=1.5)
    return labelled(ax, "input $x$", "consequent $y_p$")


def switch_means(ax: Axes, f_lower: Array, f_upper: Array, y: Array) -> Axes:
    """Draw the weighted mean for every switch point, in both orders, and mark the endpoints.

    Args:
        ax: where to draw.
        f_lower: lower firing strengths (P,).
        f_upper: upper firing strengths (P,).
        y: consequents (P,).
    """
    order = np.argsort(y)
    lo, up, y = (np.asarray(v, dtype=float)[order] for v in (f_lower, f_upper, y))
    switch = np.arange(y.size + 1)
    rows = (
        (up, lo, "upper firing first", BLUE, "o-", np.nanargmin),
        (lo, up, "lower firing first", VERMILION, "s--", np.nanargmax),
    )
    for first, rest, name, color, line, best in rows:
        means = _switched(first, rest, y)
        ax.plot(switch, means, line, color=color, label=name)
        at = int(best(means))
        ax.plot(at, means[at], "o", markersize=16, markerfacecolor="none", color=color)
        below = best is np.nanargmin
        ax.annotate(
            f"{means[at]:.2f}", (at, means[at]), xytext=(0, -12 if below else 12), color=color,
            textcoords="offset points", ha="center", va="top" if below else "bottom",
        )  # fmt: skip
    ax.set_xticks(switch)
    ax.margins(y=0.25)
    ax.legend(loc="upper left")
    return labelled(ax, "rules before the switch", "weighted mean")


def _switched(first: Array, rest: Array, y: Array) -> Array:
    """Return the means (P + 1,) with `first` as weights before the switch and `rest` after it."""
    before = np.tri(y.size + 1, y.size, k=-1, dtype=bool)  # (P + 1, P)
    w = np.where(before, first, rest)
    total = w.sum(axis=1)
    means = np.full(total.shape, np.nan)
    np.divide(w @ y, total, out=means, where=total > 0)
    return means


def firing_ranges(
    ax: Axes, n_inputs: Sequence[int], groups: Mapping[str, Sequence[Array]], label: str
) -> Axes:
    """Draw median and 5% to 95% range of a quantity, data set by data set.

    A mark stands at the median, a bar reaches from the 5% to the 95% quantile.

    Args:
        ax: where to draw.
        n_inputs: number of inputs of each data set.
        groups: for each name the values (N,) of each data set.
        label: what the values are.
    """
    place = np.arange(len(n_inputs))
    for i, (name, values) in enumerate(groups.items()):
        low, middle, high = np.array([np.quantile(v, [0.05, 0.5, 0.95]) for v in values]).T
        ax.errorbar(
            place + 0.16 * (i - (len(groups) - 1) / 2), middle, [middle - low, high - middle],
            fmt=nth(MARKS, i), color=nth(STRONG, i),
            capsize=3, label=name,
        )  # fmt: skip
    ax.set_xticks(place, [str(m) for m in n_inputs])
    ax.set_xlim(-0.5, len(n_inputs) - 0.5)
    return labelled(ax, "inputs $M$", label)


# ------------------------------------------------------------------------------ chapter 3: learning


def accuracy_losses(ax: Axes, error: Array, *, slope: bool = False) -> Axes:
    """Draw log cosh, half the square and the absolute value of errors, or their slopes.

    Args:
        ax: where to draw.
        error: errors (n,).
        slope: draw the slopes instead of the losses.
    """
    size = np.abs(error)
    curves = {
        r"$\ln\cosh e$": np.tanh(error) if slope else log_cosh(error),
        "$e^2 / 2$": error if slope else error**2 / 2,
        "$|e|$": np.sign(error) if slope else size,
    }
    for name, values in curves.items():
        ax.plot(error, values, label=name)
    top = float(size.max())
    ax.set_ylim((-1.5, 1.5) if slope else (0, top))
    ax.legend(loc="upper left" if slope else "upper center")
    return labelled(ax, "error $e$", "slope" if slope else "loss")


def pinball_losses(ax: Axes, error: Array, taus: Sequence[float]) -> Axes:
    """Draw the pinball loss of errors (n,), one curve for each quantile `taus`."""
    for tau in taus:
        ax.plot(error, pinball(error, tau), label=rf"$\tau = {tau:g}$")
    ax.set_ylim(bottom=0)
    ax.legend(loc="upper center")
    return labelled(ax, "error $e$", r"pinball loss $\ell_\tau$")


def pinball_risk(ax: Axes, y: Array, z: Array, taus: Sequence[float]) -> Axes:
    """Draw the mean pinball loss of a constant over a sample, and mark the sample's quantiles.

    Args:
        ax: where to draw.
        y: the sample (N,).
        z: constants to try (n,).
        taus: quantiles; one curve for each.
    """
    for i, tau in enumerate(taus):
        color = nth((BLUE, VERMILION, GREEN, ORANGE), i)
        ax.plot(z, pinball(y[:, None] - z, tau).mean(axis=0), color=color, label=rf"$\tau={tau:g}$")
        quantile = float(np.quantile(y, tau, method="inverted_cdf"))
        height = float(pinball(y - quantile, tau).mean())
        ax.plot([quantile, quantile], [0, height], ":", color=GREY, linewidth=1.2)
        ax.plot(quantile, height, "o", color=color)
    ax.set_ylim(bottom=0)
    return labelled(ax, "constant $z$", "mean pinball loss")


def start_sets(
    ax: Axes, x: Array, c: Array, sigma: Array, n_inputs: int, rules: Sequence[int] = (0,)
) -> Axes:
    """Draw the values of one input, the centres of all rules, and the sets of some rules.

    Args:
        ax: where to draw.
        x: the input's values (N,).
        c: its centres (P,).
        sigma: its widths (P,).
        n_inputs: M, which the width of a set depends on.
        rules: numbers, from 0, of the rules to draw.
    """
    counts, edges = np.histogram(x, bins=40)
    ax.stairs(counts / counts.max(), edges, fill=True, color=SKY, alpha=0.35)
    ax.plot(c, np.full_like(c, 0.04), "|", color=BLACK, markersize=9, label="centres")
    grid = np.linspace(x.min(), x.max(), 201)
    for i, rule in enumerate(rules):
        color, mu = nth(STRONG, i), bell(grid, c[rule], sigma[rule], n_inputs)
        ax.plot(grid, mu, color=color, linestyle=nth(LINES, i), label=f"rule {rule + 1}")
        ax.plot(c[rule], 1, "o", color=color, markersize=5)
    ax.set_ylim(0, 1.08)
    return labelled(ax, "input", r"membership $\mu$")


def sets_moved(ax: Axes, before: tuple[Array, Array], after: tuple[Array, Array]) -> Axes:
    """Draw centre and width of each rule's set for one input, before and after training.

    Args:
        ax: where to draw.
        before: centres (P,) and widths (P,) at the start.
        after: the same, trained.
    """
    number = np.arange(1, before[0].size + 1)
    marks = ((before, -0.17, GREY, "o", "start"), (after, 0.17, BLUE, "s", "trained"))
    for (c, sigma), shift, color, mark, name in marks:
        ax.errorbar(
            c, number + shift, xerr=sigma, fmt=mark, color=color, markersize=4, linewidth=1.5,
            linestyle="none", label=name,
        )  # fmt: skip
    ax.set(yticks=number, ylim=(number[-1] + 0.6, 0.4))  # rule 1 on top
    return labelled(ax, "input", "rule")


def rules_along(
    ax: Axes, t: Array, y_rules: Array, ends: tuple[Array, Array], cloud: tuple[Array, Array]
) -> Axes:
    """Draw consequents and the resulting interval along a line through the inputs.

    Args:
        ax: where to draw.
        t: places on the line (n,).
        y_rules: consequents (n, P).
        ends: lower and upper bound of the interval, each (n,).
        cloud: places and targets of some samples, each (N,).
    """
    ax.plot(*cloud, ".", color=BLACK, markersize=1.5, alpha=0.35, rasterized=True)
    ax.fill_between(t, *ends, color=ORANGE, alpha=0.45, linewidth=0)
    ax.plot(t, y_rules, color=BLUE, linestyle="-", linewidth=0.9)
    for end in ends:
        ax.plot(t, end, color=VERMILION, linestyle="-", linewidth=1.8)
    reach = float(np.abs(cloud[1]).max())
    ax.set(xlim=(t[0], t[-1]), ylim=(-1.4 * reach, 1.4 * reach))
    return labelled(ax, "place on the line", "target")


def by_epoch(
    ax: Axes, curves: Mapping[str, Array], what: str, *, first: int = 1, level: float | None = None
) -> Axes:
    """Draw quantities epoch by epoch, one curve for each name.

    Args:
        ax: where to draw.
        curves: values (epochs,) by name; a single one needs no legend.
        what: what they are, for the axis.
        first: number of the first epoch; 0 if the values include the start.
        level: a target value to mark by a thin line, if any.
    """
    for i, (name, values) in enumerate(curves.items()):
        color = nth((BLUE, VERMILION, GREEN, BLACK), i)
        epochs = np.arange(first, first + len(values))
        ax.plot(epochs, values, color=color, linestyle=nth(LINES, i), label=name)
    if level is not None:
        ax.axhline(level, color=GREY, linestyle=":", linewidth=1.2)
    if len(curves) > 1:
        ax.legend()
    ax.locator_params(axis="x", integer=True)
    return labelled(ax, "epoch", what)


# -------------------------------------------------------------------- chapters 4 and 8: calibration


def calibration_curves(ax: Axes, tables: Mapping[str, Array], level: float) -> Axes:
    """Draw the plane against the coverage that it has, and mark the planes for one level.

    Args:
        ax: where to draw.
        tables: for each name the pairs (coverage, alpha), (n, 2), in rising order of coverage and,
            for equal coverage, in falling order of alpha; straight lines join them.
        level: the coverage to mark.
    """
    ax.axvline(100 * level, color=GREY, linestyle=":", linewidth=1.2)
    for i, (name, table) in enumerate(tables.items()):
        color, mark = nth(COLORS, i), nth(MARKS, i)
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


# -------------------------------------------------------------------- chapters 6 to 13: comparisons


def paired_dots(ax: Axes, rows: Mapping[str, Mapping[str, Array]], label: str) -> Axes:
    """Draw the runs of each row as dots and their mean as a bar, one colour for each series.

    Args:
        ax: where to draw.
        rows: for each row, from the top, and each series the values of the runs (runs,).
        label: what the values are.
    """
    ax.axvline(0, color=BLACK, linestyle="-", linewidth=1)
    shifts = _shifts(rows)
    for i, (name, shift) in enumerate(shifts.items()):
        for j, row in enumerate(rows.values()):
            runs = row.get(name, np.empty(0))
            ax.plot(
                runs, np.full(runs.shape, j + shift), nth(MARKS, i), color=nth(COLORS, i),
                markersize=4, alpha=0.6, linestyle="none", label=name if j == 0 else None,
            )  # fmt: skip
            if runs.size:
                half = 0.375 / len(shifts)
                mean = [runs.mean()] * 2
                ax.plot(mean, [j + shift - half, j + shift + half], "-", color=BLACK, linewidth=2.5)
    _rows_from_the_top(ax, list(rows), legend=True)
    return labelled(ax, label, "")


def strips(
    ax: Axes,
    rows: Mapping[str, Array],
    label: str,
    *,
    own: Collection[str] = (),
    mark: float | None = None,
) -> Axes:
    """Draw the values of each row as marks in a strip, and their mean as an upright bar.

    Args:
        ax: where to draw.
        rows: for each name, from the top, its values (n,).
        label: what the values are.
        own: names that get a blue circle; the others get an orange square.
        mark: a value to mark by a line through all rows.
    """
    if mark is not None:
        ax.axvline(mark, color=GREY, linestyle=":", linewidth=1.2)
    for place, (name, values) in enumerate(rows.items()):
        color, shape = (BLUE, "o") if name in own else (ORANGE, "s")
        ax.plot(
            values, np.full(values.shape, place), shape, color=color, markersize=4.5, alpha=0.65,
            linestyle="none",
        )  # fmt: skip
        ax.plot([values.mean()] * 2, [place - 0.32, place + 0.32], "-", color=BLACK, linewidth=2.2)
    _rows_from_the_top(ax, list(rows))
    return labelled(ax, label, "")


def _shifts(rows: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    """Return for each series how far below the middle of its row it is drawn."""
    series = list(dict.fromkeys(name for row in rows.values() for name in row))
    gap = 0.75 / max(len(series), 1)
    return {name: (i - (len(series) - 1) / 2) * gap for i, name in enumerate(series)}


def _rows_from_the_top(ax: Axes, names: Sequence[str], *, legend: bool = False) -> None:
    """Name the rows 0, 1, ... from the top; with a legend, lines part the rows."""
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.grid(False, axis="y")
    if legend and names:
        for place in range(1, len(names)):
            ax.axhline(place - 0.5, color="#dddddd", linestyle="-", linewidth=0.6)
        legend_above(ax)
