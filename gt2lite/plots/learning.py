"""Figures of learning: losses, start values, trained rules, and curves by epoch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from gt2lite._validation import Array
from gt2lite.losses import log_cosh, pinball
from gt2lite.plots.sets import bell
from gt2lite.plots.style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    LINES,
    ORANGE,
    SKY,
    STRONG,
    VERMILION,
    labelled,
    nth,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
