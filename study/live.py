"""Interactive figures of the method: a set to turn and to cut, and the switch point."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from gt2lite._validation import Array
from gt2lite.plots.interactive import START, Interactive, still_figure
from gt2lite.reduction import type_reduce
from study.figures import chosen_weights, z_gt2_surface

_SCRIPTS = (Path(__file__).with_suffix(".js"),)


def set_3d(c: float, sigma: float, s_l: float, s_r: float) -> Interactive:
    """Return a general type-2 set to rotate, and to cut at a height and at a place.

    Args:
        c: centre of the set.
        sigma: width of the set.
        s_l: share of the room below the primary membership that alpha_0 takes.
        s_r: share of the room above the primary membership that alpha_0 takes.
    """
    cut = {"alpha": START, "x_cut": c + 0.8 * sigma}
    gt2_set = {"c": c, "sigma": sigma, "s_l": s_l, "s_r": s_r}
    x = np.linspace(c - 3 * sigma, c + 3 * sigma, 121)
    figure, ax = still_figure((7, 4.6), projection="3d")
    z_gt2_surface(ax, x, **gt2_set, **cut)
    alt = (
        "Upright bell-shaped sheets along a curved ridge in three dimensions, "
        f"crossed by a horizontal band at the height alpha = {START:g}."
    )
    return Interactive("set", {**gt2_set, **cut}, figure, alt, _SCRIPTS)


def switch_point(f_lower: ArrayLike, f_upper: ArrayLike, y: ArrayLike) -> Interactive:
    """Return two sliders over the switch point of Karnik and Mendel, one for each endpoint.

    Args:
        f_lower: lower firing strengths (P,).
        f_upper: upper firing strengths (P,), at least `f_lower`.
        y: consequents (P,), in any order: rules are shown in rising order of theirs.
    """
    ends = type_reduce(f_lower, f_upper, y)  # which checks the arguments
    rules = by_consequent(f_lower, f_upper, y)
    figure, axes = still_figure(columns=2)
    for ax, end in zip(axes, ("lower", "upper"), strict=True):
        chosen_weights(ax, **rules, end=end)
    alt = (
        "For each endpoint the weight of each rule over its consequent, between lower and upper "
        "firing, and the mean: "
        f"{float(ends[0]):.3f} (lower endpoint), {float(ends[1]):.3f} (upper)."
    )
    data = {name: values.tolist() for name, values in rules.items()}
    return Interactive("switch", data, figure, alt, _SCRIPTS)


def by_consequent(f_lower: ArrayLike, f_upper: ArrayLike, y: ArrayLike) -> dict[str, Array]:
    """Return the rules (P,) in rising order of their consequents."""
    rules = {"y": y, "f_lower": f_lower, "f_upper": f_upper}
    order = np.argsort(np.asarray(y, dtype=float), kind="stable")
    return {name: np.asarray(values, dtype=float)[order] for name, values in rules.items()}
