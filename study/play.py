"""Figures in which the reader makes something fail, see `gt2lite.plots.interactive`.

Training is done beforehand: only calibration runs in the browser (`play.css`, `play.js`).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from gt2lite._validation import Array, vector
from gt2lite.calibration import rank
from gt2lite.plots.inference import bands_along, chosen_weights
from gt2lite.plots.interactive import Interactive, as_png, by_consequent, still_figure
from gt2lite.plots.style import BLUE, VERMILION, labelled
from gt2lite.reduction import type_reduce

_SOURCE = Path(__file__).with_name("play")


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
    figure, ax = still_figure()
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
    return Interactive("calibrate", data, as_png(figure), alt, _SOURCE)


def switch_drag(f_lower: ArrayLike, f_upper: ArrayLike, y: ArrayLike) -> Interactive:
    """Return a switch point to drag for the lower endpoint, in the right and the misprinted form.

    Args:
        f_lower: lower firing strengths (P,).
        f_upper: upper firing strengths (P,), at least `f_lower`.
        y: consequents (P,), in any order: rules are shown in rising order of theirs.
    """
    y_l, _ = type_reduce(f_lower, f_upper, y)  # which checks the arguments
    rules = by_consequent(f_lower, f_upper, y)
    figure, ax = still_figure()
    chosen_weights(ax, **rules, end="lower")
    alt = f"The weight of each rule for the lower end, over its consequent, and the mean {y_l:.3f}."
    return Interactive(
        "drag",
        {name: values.tolist() for name, values in rules.items()},
        as_png(figure),
        alt,
        _SOURCE,
    )


def rank_play(n_rows: int = 10, level: int = 90) -> Interactive:
    """Return the exact and the conformal rank beside each other, for few rows and many.

    Args:
        n_rows: calibration rows to begin with, 1 to 100.
        level: the level to begin with, in percent, 50 to 99.
    """
    figure, ax = still_figure()
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
    return Interactive("ranks", {"Q": n_rows, "level": level}, as_png(figure), alt, _SOURCE)
