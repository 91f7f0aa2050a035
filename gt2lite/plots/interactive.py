"""Interactive figures: no server, no network, no library.

Each function here returns an `Interactive`, which a notebook shows when a cell ends in it. Its
HTML is complete in itself: a still figure, the data as JSON, a style and a script
(`interactive.css`, `interactive.js`). Where scripts run, sliders and live drawings replace the
still: on the pages of the book, in JupyterLab, in Colab. Elsewhere the still stays. Every element
carries the script, which is small, so that each cell works without the others.

Those called `..._play` and `switch_drag` ask the reader to make something fail (`play.css`,
`play.js`). Training is done beforehand: only calibration runs in the browser.
"""

from __future__ import annotations

import base64
import io
import json
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.style import context
from numpy.typing import ArrayLike

from gt2lite._validation import Array, vector
from gt2lite.calibration import rank
from gt2lite.memberships import ALPHA_0
from gt2lite.plots.calibration import interval_bands
from gt2lite.plots.inference import bands_along, chosen_weights
from gt2lite.plots.sets import z_gt2_surface
from gt2lite.plots.style import BLUE, STYLE, VERMILION, labelled
from gt2lite.reduction import type_reduce

if TYPE_CHECKING:
    from gt2lite.system import Planes

_START = 0.3  # the plane that is shown first
_STEPS = 999  # bounds are drawn, not read: this is finer than a screen
_PLAY = ("interactive", "play")  # sources of the figures to play with


@dataclass(frozen=True)
class Interactive:
    """A figure with sliders, shown by a notebook when a cell ends in it.

    Args:
        kind: name of its drawing in the script.
        data: the data of that drawing.
        still: the figure shown if no script runs, as PNG.
        alt: description of the figure.
        sources: names of the files beside this one that hold its style and its script.
    """

    kind: str
    data: dict[str, Any]
    still: bytes
    alt: str
    sources: tuple[str, ...] = ("interactive",)

    def _repr_html_(self) -> str:
        data = json.dumps(self.data, separators=(",", ":"), allow_nan=False)
        data = data.replace("<", r"\u003c")  # nothing in it may end the script element
        picture = "data:image/png;base64," + base64.b64encode(self.still).decode()
        style, script = ("".join(_source(f"{n}.{e}") for n in self.sources) for e in ("css", "js"))
        return (
            f'<div class="gt2-live" data-kind="{self.kind}"><style>{style}</style>'
            f'<img class="gt2-still" alt="{escape(self.alt)}" src="{picture}">'
            '<p class="gt2-still">A still picture: where scripts run, it has sliders.</p>'
            f'<script type="application/json">{data}</script>'
            f"<script>{script}</script></div>"
        )


@cache
def _source(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def alpha_slider(
    planes: Planes, y: Array, *, y_name: str = "target", n_shown: int = 60
) -> Interactive:
    """Return a slider over alpha: intervals shrink as it rises, and coverage falls.

    Args:
        planes: the planes of a system at some samples.
        y: their targets (N,), on the scale of the system.
        y_name: name of the targets.
        n_shown: number of samples drawn, spread evenly over the predictions (the plane
            alpha = 1). Coverage and width are those of all samples.
    """
    if not (hasattr(planes, "X") and hasattr(planes, "ends")):
        raise TypeError(
            "alpha_slider takes the planes of a system at the rows of y, got "
            f"{type(planes).__name__}; those of an estimator are Planes(reg.params_, "
            "reg.scaler_.transform_X(X)), with Planes from gt2lite.system, and y is "
            "reg.scaler_.transform_y(y)"
        )
    y = vector("y", y, len(planes.X))
    alphas = np.linspace(ALPHA_0, 1, 100)
    lower, upper = planes.ends(alphas)  # (100, N) each
    covered = ((lower <= y) & (y <= upper)).sum(axis=1)
    chosen = np.linspace(0, y.size - 1, min(n_shown, y.size)).round().astype(int)
    rows = np.argsort(lower[-1], kind="stable")[chosen]
    lo, up, target = lower[:, rows], upper[:, rows], y[rows]
    ends = float(min(lo.min(), target.min())), float(max(up.max(), target.max()))
    pad = 0.03 * (ends[1] - ends[0]) or 1.0
    scale = ends[0] - pad, ends[1] + pad

    def drawn(values: Array) -> Any:
        return np.rint(_STEPS * (values - scale[0]) / (scale[1] - scale[0])).astype(int).tolist()

    figure, ax = _still_figure()
    first = int(np.argmin(np.abs(alphas - _START)))
    bands = {rf"$\alpha = {alphas[k]:.2g}$": (lo[k], up[k]) for k in (0, first)}
    interval_bands(ax, target, bands, order=np.arange(rows.size))
    labelled(ax, "samples, in the order of their prediction", y_name)
    data = {
        "name": y_name, "scale": scale, "start": _START, "total": y.size, "y": drawn(target),
        "lower": drawn(lo), "upper": drawn(up), "covered": covered.tolist(),
        "width": (upper - lower).mean(axis=1).round(6).tolist(),
    }  # fmt: skip
    share = 100 * covered[[0, first]] / y.size
    alt = (
        f"Targets with two bands of intervals: the plane alpha = {ALPHA_0:g} covers "
        f"{share[0]:.1f} % of the samples, the plane alpha = {_START:g} lies inside it and "
        f"covers {share[1]:.1f} %."
    )
    return Interactive("alpha", data, _png_of(figure), alt)


def set_3d(c: float, sigma: float, s_l: float, s_r: float) -> Interactive:
    """Return a general type-2 set to rotate, and to cut at a height and at a place.

    Args:
        c: centre of the set.
        sigma: width of the set.
        s_l: share of the room below the primary membership that alpha_0 takes.
        s_r: share of the room above the primary membership that alpha_0 takes.
    """
    cut = {"alpha": _START, "x_cut": c + 0.8 * sigma}
    gt2_set = {"c": c, "sigma": sigma, "s_l": s_l, "s_r": s_r}
    x = np.linspace(c - 3 * sigma, c + 3 * sigma, 121)
    figure, ax = _still_figure((7, 4.6), projection="3d")
    z_gt2_surface(ax, x, **gt2_set, **cut)
    alt = (
        "Upright bell-shaped sheets along a curved ridge in three dimensions, "
        f"crossed by a horizontal band at the height alpha = {_START:g}."
    )
    return Interactive("set", {**gt2_set, **cut}, _png_of(figure), alt)


def switch_point(f_lower: ArrayLike, f_upper: ArrayLike, y: ArrayLike) -> Interactive:
    """Return two sliders over the switch point of Karnik and Mendel, one for each endpoint.

    Args:
        f_lower: lower firing strengths (P,).
        f_upper: upper firing strengths (P,), at least `f_lower`.
        y: consequents (P,), in any order: rules are shown in rising order of theirs.
    """
    ends = type_reduce(f_lower, f_upper, y)  # which checks the arguments
    rules = _by_consequent(f_lower, f_upper, y)
    figure, axes = _still_figure(columns=2)
    for ax, end in zip(axes, ("lower", "upper"), strict=True):
        chosen_weights(ax, **rules, end=end)
    alt = (
        "For each end the weight of each rule over its consequent, between lower and upper firing, "
        f"and the mean: {float(ends[0]):.3f} for the lower end, {float(ends[1]):.3f} for the upper."
    )
    return Interactive("switch", _lists(rules), _png_of(figure), alt)


def calibration_play(
    x: Array,
    kappas: Array,
    lower: Array,
    upper: Array,
    mean: Array,
    sd: Array,
    *,
    n_rows: int = 40,
    level: int = 90,
    seed: int = 1,
) -> Interactive:
    """Return calibration rows to draw and to move, with the band and the law of its coverage.

    Args:
        x: places (m,), evenly spaced.
        kappas: planes (K,), rising.
        lower: their lower bounds (K, m), falling along the first axis.
        upper: their upper bounds (K, m), rising along it.
        mean: the mean of a target (m,): rows are drawn around it.
        sd: the standard deviation of its noise (m,).
        n_rows: calibration rows to begin with, 5 to 200.
        level: the level to begin with, in percent, 50 to 95.
        seed: of the rows.
    """
    x, kappas = vector("x", x), vector("kappas", kappas)
    shape = (kappas.size, x.size)
    ends = {"lower": np.asarray(lower, dtype=float), "upper": np.asarray(upper, dtype=float)}
    for name, values in ends.items():
        if values.shape != shape:
            raise ValueError(f"{name} must have the shape {shape}, got {values.shape}")
    if (np.diff(ends["lower"], axis=0) > 0).any() or (np.diff(ends["upper"], axis=0) < 0).any():
        raise ValueError("lower must fall and upper must rise with kappas: planes are nested")
    figure, ax = _still_figure()
    chosen = [shape[0] - 1, shape[0] // 2]
    bands_along(ax, x, {f"plane {kappas[k]:.2g}": (lower[k], upper[k]) for k in chosen}, mean)
    data = {
        "x": x.round(4).tolist(), "kappas": kappas.round(6).tolist(),
        **{name: values.round(4).tolist() for name, values in ends.items()},
        "mean": vector("mean", mean, x.size).round(4).tolist(),
        "sd": vector("sd", sd, x.size).round(4).tolist(),
        "Q": n_rows, "level": level, "seed": seed,
    }  # fmt: skip
    alt = "Two nested bands of a trained system over its input, around the true mean."
    return Interactive("calibrate", data, _png_of(figure), alt, _PLAY)


def switch_drag(f_lower: ArrayLike, f_upper: ArrayLike, y: ArrayLike) -> Interactive:
    """Return a switch point to drag for the lower endpoint, in the right and the misprinted form.

    Args:
        f_lower: lower firing strengths (P,).
        f_upper: upper firing strengths (P,), at least `f_lower`.
        y: consequents (P,), in any order: rules are shown in rising order of theirs.
    """
    y_l, _ = type_reduce(f_lower, f_upper, y)  # which checks the arguments
    rules = _by_consequent(f_lower, f_upper, y)
    figure, ax = _still_figure()
    chosen_weights(ax, **rules, end="lower")
    alt = f"The weight of each rule for the lower end, over its consequent, and the mean {y_l:.3f}."
    return Interactive("drag", _lists(rules), _png_of(figure), alt, _PLAY)


def rank_play(n_rows: int = 10, level: int = 90) -> Interactive:
    """Return the exact and the conformal rank beside each other, for few rows and many.

    Args:
        n_rows: calibration rows to begin with, 1 to 100.
        level: the level to begin with, in percent, 50 to 99.
    """
    figure, ax = _still_figure()
    rows = np.arange(1, 101)
    looks = (("exact", 0, "o", BLUE), ("conformal", 1, "^", VERMILION))
    for name, more, mark, color in looks:
        k = np.array([rank(level / 100, int(n) + more) for n in rows])
        known = k <= rows
        ax.plot(
            rows[known], 100 * k[known] / (rows[known] + 1), mark, color=color, label=name,
            markersize=4, linestyle="none",
        )  # fmt: skip
    ax.axhline(level, color="black", linestyle=":", linewidth=1.2)
    ax.legend(loc="lower right")
    labelled(ax, "calibration rows $Q$", "mean coverage (%)")
    alt = (
        f"Mean coverage by number of calibration rows at the level {level} %: the exact rank goes "
        "up and down below the level, meets it at a few numbers of rows and comes nearer to it; "
        "the conformal rank lies on it or above."
    )
    return Interactive("ranks", {"Q": n_rows, "level": level}, _png_of(figure), alt, _PLAY)


def _by_consequent(f_lower: ArrayLike, f_upper: ArrayLike, y: ArrayLike) -> dict[str, Array]:
    """Return the rules (P,) in rising order of their consequents."""
    rules = {"y": y, "f_lower": f_lower, "f_upper": f_upper}
    order = np.argsort(np.asarray(y, dtype=float), kind="stable")
    return {name: np.asarray(values, dtype=float)[order] for name, values in rules.items()}


def _lists(arrays: dict[str, Array]) -> dict[str, Any]:
    return {name: values.tolist() for name, values in arrays.items()}


def _still_figure(
    size: tuple[float, float] = (7, 3.6), columns: int = 1, **axes: Any
) -> tuple[Figure, Any]:
    """Return a figure that no notebook shows by itself, and its axes."""
    with context(STYLE):
        figure = Figure(figsize=size)
        return figure, figure.subplots(1, columns, subplot_kw=axes)


def _png_of(figure: Figure) -> bytes:
    """Return a figure as PNG, in the look of the book."""
    sink = io.BytesIO()
    with context(STYLE):
        figure.savefig(sink, format="png", dpi=100)
    return sink.getvalue()
