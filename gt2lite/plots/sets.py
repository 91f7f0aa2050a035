"""Figures of fuzzy sets: secondary memberships, alpha-planes and the set in three dimensions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gt2lite._validation import Array
from gt2lite.memberships import ALPHA_0, kappa_of, primary, secondary, secondary_grade
from gt2lite.plots.style import BLACK, BLUE, FADE, SKY, VERMILION, labelled

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
    shade_planes(ax, x, {alpha: plane_edges(mu, alpha, s_l, s_r) for alpha in sorted(alphas)})
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


def shade_planes(ax: Axes, x: Array, planes: Mapping[float, tuple[Array, Array]]) -> None:
    """Draw nested bands over `x` (n,), the lower and upper bounds (n,) of each plane alpha."""
    for (alpha, ends), shade in zip(
        planes.items(), np.linspace(0.25, 0.95, len(planes)), strict=True
    ):
        ax.fill_between(x, *ends, color=FADE(shade), linewidth=0, label=rf"$\alpha = {alpha:g}$")


def bell(x: Array, c: float, sigma: float, n_inputs: int = 1) -> Array:
    """Return the primary membership (n,) of a set at `x` (n,), in a system of `n_inputs` inputs."""
    X = np.tile(x[:, None], (1, n_inputs))  # (n, M): only the number of columns matters
    shape = (1, n_inputs)
    mu: Array = primary(X, np.full(shape, c), np.full(shape, sigma))[:, 0, 0]
    return mu


def plane_edges(mu: Any, alpha: float, s_l: float, s_r: float) -> tuple[Array, Array]:
    """Return the lower and upper edge of the plane `alpha`, of the shape of `mu`."""
    return secondary(np.asarray(mu), kappa_of(alpha), np.asarray(s_l), np.asarray(s_r))
