"""Figures of the method: fuzzy sets, inference, intervals and their coverage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gt2lite._validation import Array
from gt2lite.memberships import ALPHA_0, kappa_of, primary, secondary, secondary_grade
from gt2lite.plots.style import (
    BAND,
    BLACK,
    BLUE,
    COLORS,
    FADE,
    GREY,
    LINES,
    MARKS,
    VERMILION,
    labelled,
    legend_above,
    nth,
)
from gt2lite.system import Params, Planes, constrain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PLANE, COVERAGE = r"plane $\alpha$", "coverage of the calibration set (%)"

# -------------------------------------------------------------------------------------------- sets


def alpha_planes(
    ax: Axes, x: Array, *, c: float, sigma: float, s_l: float, s_r: float, alphas: Sequence[float]
) -> Axes:
    """Draw the bands of some planes of one set, and the primary membership inside them.

    Args:
        ax: where to draw.
        x: points (n,).
        c: centre of the set.
        sigma: width of the set.
        s_l: share of the room below the primary membership that alpha_0 takes.
        s_r: share of the room above the primary membership that alpha_0 takes.
        alphas: the planes.
    """
    mu = bell(x, c, sigma)
    edges = {rf"$\alpha = {a:g}$": plane_edges(mu, a, s_l, s_r) for a in sorted(alphas)}
    _nested(ax, x, edges)
    ax.plot(x, mu, color=BLACK, linestyle="-", label=r"$\mu$")
    ax.set_ylim(0, 1.02)
    ax.legend(loc="upper left")
    return labelled(ax, "input $x$", "grade $u$")


def z_gt2_set(
    ax: Axes, x: Array, *, c: float, sigma: float, s_l: float, s_r: float, alpha: float,
    x_cut: float,
) -> Axes:  # fmt: skip
    """Draw a general type-2 set from above: shade is the secondary membership.

    Shown are the primary membership, the edges of the plane `alpha` and the place `x_cut` of a
    vertical slice. The other arguments are those of `alpha_planes`.
    """
    mu = bell(x, c, sigma)
    u = np.linspace(0, 1, 301)
    grade = secondary_grade(u[:, None], mu, s_l, s_r)  # (u, x)
    shown = np.ma.masked_less(grade, ALPHA_0)
    ax.pcolormesh(x, u, shown, cmap=FADE, vmin=0, vmax=1.6, shading="gouraud", rasterized=True)
    lower, upper = plane_edges(mu, alpha, s_l, s_r)
    for edge, name in ((upper, rf"plane $\alpha = {alpha:g}$"), (lower, None)):
        ax.plot(x, edge, color=VERMILION, linestyle="--", label=name)
    ax.plot(x, mu, color=BLACK, linestyle="-", label=r"primary $\mu$")
    ax.axvline(x_cut, color="#555555", linestyle=":", label="cut $x'$")
    ax.grid(False)
    ax.set(xlim=(x[0], x[-1]), ylim=(0, 1.02))
    ax.legend(loc="upper left")
    return labelled(ax, "input $x$", "grade $u$")


def _nested(ax: Axes, x: Array, bands: Mapping[str, tuple[Array, Array]]) -> None:
    """Draw bands over `x` (n,), given lower and upper bounds (n,) by name, the widest first."""
    for (name, ends), shade in zip(bands.items(), _shades(bands), strict=True):
        ax.fill_between(x, *ends, color=FADE(shade), linewidth=0, label=name)


def _shades(bands: Mapping[str, Any]) -> Array:
    """Return the shades of nested bands in one hue, the widest first; few bands stay light."""
    shades: Array = np.linspace(0.2, 0.95, max(len(bands), 4))[: len(bands)]
    return shades


def bell(x: Array, c: float, sigma: float, n_inputs: int = 1) -> Array:
    """Return the primary membership (n,) of a set at `x` (n,), in a system of `n_inputs` inputs."""
    X = np.tile(x[:, None], (1, n_inputs))  # (n, M): only the number of columns matters
    shape = (1, n_inputs)
    mu: Array = primary(X, np.full(shape, c), np.full(shape, sigma))[:, 0, 0]
    return mu


def plane_edges(mu: Any, alpha: float, s_l: float, s_r: float) -> tuple[Array, Array]:
    """Return the lower and upper edge of the plane `alpha`, of the shape of `mu`."""
    return secondary(np.asarray(mu), kappa_of(alpha), np.asarray(s_l), np.asarray(s_r))


# --------------------------------------------------------------------------------------- inference


def rule_sets(ax: Axes, x: Array, params: Params, alpha: float) -> Axes:
    """Draw the sets of a system with one input: each rule's primary membership inside a plane.

    Args:
        ax: where to draw.
        x: points (n,).
        params: a system with one input.
        alpha: the plane.
    """
    _refuse_more_inputs("rule_sets", params)
    c, sigma, s_l, s_r = constrain(params)[:4]
    mu = primary(x[:, None], c, sigma)[:, :, 0]  # (n, P)
    lower, upper = secondary(mu, kappa_of(alpha), s_l, s_r)
    for p in range(len(c)):
        footprint(ax, x, lower[:, p], mu[:, p], upper[:, p], p, f"rule {p + 1}")
    ax.set_ylim(0, 1.02)
    legend_above(ax, min(len(c), 5))
    return labelled(ax, "input $x$", "grade $u$")


def footprint(ax: Axes, x: Array, lower: Array, mu: Array, upper: Array, i: int, name: str) -> None:
    """Draw the primary membership (n,) of a set inside a plane, in the look of series `i`."""
    ax.fill_between(x, lower, upper, color=nth(COLORS, i), alpha=0.2, linewidth=0)
    ax.plot(x, mu, color=nth(COLORS, i), linestyle=nth(LINES, i), label=name)


def plane_bands(ax: Axes, x: Array, params: Params, alphas: Sequence[float]) -> Axes:
    """Draw the intervals of some planes of a system with one input, and its type-1 output.

    Args:
        ax: where to draw.
        x: points (n,).
        params: a system with one input.
        alphas: the planes.
    """
    _refuse_more_inputs("plane_bands", params)
    planes = Planes(params, x[:, None])
    _nested(ax, x, {rf"$\alpha = {alpha:g}$": planes(alpha) for alpha in sorted(alphas)})
    ax.plot(x, planes(1.0)[0], color=BLACK, linestyle="-", label=r"$\alpha = 1$", zorder=3)
    legend_above(ax, min(len(alphas) + 1, 5))
    return labelled(ax, "input $x$", "output $y$")


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
    legend_above(ax)
    return labelled(ax, "input $x$", "target $y$")


def bands_along(
    ax: Axes, x: Array, bands: Mapping[str, tuple[Array, Array]], middle: Array | None = None
) -> Axes:
    """Draw intervals over one input as nested bands, the widest first.

    Args:
        ax: where to draw.
        x: places (m,), in rising order.
        bands: for each name the lower and upper bounds (m,).
        middle: an estimate (m,) to draw inside, if any.
    """
    _nested(ax, x, bands)
    if middle is not None:
        ax.plot(x, middle, color=BLACK, linestyle="-", linewidth=1.5, label="prediction")
    legend_above(ax)
    return labelled(ax, "input $x$", "target $y$")


def _refuse_more_inputs(name: str, params: Params) -> None:
    n_inputs = params["c"].shape[1]
    if n_inputs != 1:
        raise ValueError(
            f"{name} draws systems with one input, and this one has {n_inputs}: for an estimator "
            "there are plot_sets(ax, reg, input) and plot_rules(ax, reg, X)"
        )


# ------------------------------------------------------------------------- intervals, coverage


def interval_bands(
    ax: Axes, y: Array, bands: Mapping[str, tuple[Array, Array]], order: Array | None = None
) -> Axes:
    """Draw targets and their intervals sample by sample, nested bands in shades of one hue.

    Args:
        ax: where to draw.
        y: targets (N,).
        bands: for each name the lower and upper bounds (N,); the widest first.
        order: values (N,) to sort the samples by; the targets if None.
    """
    y = np.asarray(y)  # an index of the user's, such as that of a Series, must not count
    rows = np.argsort(y if order is None else np.asarray(order))
    number = np.arange(1, y.size + 1)
    for (name, ends), shade in zip(bands.items(), _shades(bands), strict=True):
        lower, upper = map(np.asarray, ends)
        ax.fill_between(
            number, lower[rows], upper[rows], step="mid", facecolor=(*FADE(shade)[:3], 0.75),
            edgecolor=BLUE, linewidth=0.6, label=name,
        )  # fmt: skip
    ax.plot(number, y[rows], ".", color=BLACK, markersize=5, label="target")
    ax.margins(x=0.01)
    legend_above(ax)
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
