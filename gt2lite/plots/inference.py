"""Figures of inference: rules, the weights of type reduction, and intervals over one input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from gt2lite._validation import Array, one_of
from gt2lite.memberships import kappa_of, primary, secondary
from gt2lite.plots.sets import shade_planes
from gt2lite.plots.style import (
    BLACK,
    BLUE,
    COLORS,
    FADE,
    GREY,
    LINES,
    VERMILION,
    labelled,
    legend_above,
    nth,
)
from gt2lite.reduction import type_reduce
from gt2lite.system import Params, Planes, constrain

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_SHADES = (0.2, 0.5, 0.8, 0.95)  # of the widest band, the next one, ...


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
        color = nth(COLORS, p)
        ax.fill_between(x, lower[:, p], upper[:, p], color=color, alpha=0.25, linewidth=0)
        ax.plot(x, mu[:, p], color=color, linestyle=nth(LINES, p), label=f"rule {p + 1}")
    ax.set_ylim(0, 1.02)
    legend_above(ax, min(len(c), 5), columnspacing=1.2, handlelength=1.6)
    return labelled(ax, "input $x$", "grade $u$")


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
    shade_planes(ax, x, {alpha: planes(alpha) for alpha in sorted(alphas)})
    ax.plot(x, planes(1.0)[0], color=BLACK, linestyle="-", label=r"$\alpha = 1$", zorder=3)
    legend_above(ax, min(len(alphas) + 1, 5), columnspacing=1.2, handlelength=1.6)
    return labelled(ax, "input $x$", "output $y$")


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
    for i, (name, ends) in enumerate(bands.items()):
        shade = FADE(_SHADES[min(i, len(_SHADES) - 1)])
        ax.fill_between(x, *ends, color=shade, linewidth=0, label=name)
    if middle is not None:
        ax.plot(x, middle, color=BLACK, linestyle="-", linewidth=1.5, label="estimate")
    legend_above(ax)
    return labelled(ax, "input $x$", "target $y$")


def _refuse_more_inputs(name: str, params: Params) -> None:
    n_inputs = params["c"].shape[1]
    if n_inputs != 1:
        raise ValueError(
            f"{name} draws systems with one input, and this one has {n_inputs}: for an estimator "
            "there are plot_sets(ax, reg, input) and plot_rules(ax, reg, X)"
        )
