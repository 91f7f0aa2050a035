"""Figures in which the reader makes something fail, see `gt2lite.plots.interactive`.

Training is done beforehand: only prediction and calibration run in the browser, by `evaluator.js`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gt2lite import GT2Regressor, Recipe
from gt2lite._validation import Array, vector
from gt2lite.calibration import rank
from gt2lite.memberships import alpha_of
from gt2lite.plots.interactive import Interactive, still_figure
from gt2lite.plots.method import bands_along, points_along
from gt2lite.plots.style import labelled
from gt2lite.practice.model_file import EVALUATOR, for_evaluator, pack_regressor, unpack_regressor
from gt2lite.reduction import type_reduce
from study.figures import chosen_weights
from study.live import by_consequent

_SCRIPT = Path(__file__).with_suffix(".js")


def _play(kind: str, data: dict[str, Any], figure: Any, alt: str) -> Interactive:
    return Interactive(kind, data, figure, alt, (EVALUATOR, _SCRIPT))


def _model(reg: GT2Regressor) -> dict[str, Any]:
    if reg.n_features_in_ != 1:
        raise ValueError(f"reg must have one input, got {reg.n_features_in_}")
    return for_evaluator("regressor", pack_regressor(reg))


def with_system(system: Array, centres: Array, sigma: float) -> GT2Regressor:
    """Return an uncalibrated model of the system of chapter `small_system`, in its own units.

    Args:
        system: slopes, heights at the centres, and the two shares before their sigmoid (2 P + 2,).
        centres: of the rules (P,).
        sigma: their width.
    """
    P = len(centres)
    reg = GT2Regressor(n_rules=P, epochs=1, recipe=Recipe(smf="scalar")).fit(
        [[0.0], [1.0]], [0.0, 1.0]
    )
    content = pack_regressor(reg)
    content["scaler"] = {"x_mean": [0.0], "x_std": [1.0], "y_mean": 0.0, "y_std": 1.0}
    slopes, heights = system[:P], system[P : 2 * P]
    content["systems"][0]["params"] = {
        "c": centres[:, None],
        "raw_sigma": np.full((P, 1), sigma),
        "raw_l": system[-2:-1],
        "raw_r": system[-1:],
        "a": slopes[:, None],
        "a0": heights - slopes * centres,
    }
    return unpack_regressor(GT2Regressor, content)


def level_band(
    reg: GT2Regressor,
    x: Array,
    y: Array,
    *,
    scores: Array | None = None,
    level: int = 90,
    x_name: str = "input x",
    y_name: str = "target y",
) -> Interactive:
    """Return the calibrated band of a model of one input over rows, with a slider for its level.

    Args:
        reg: a model calibrated with at least 49 rows, as the level of 98% needs.
        x: inputs (N,) of rows that were not used to train or calibrate it.
        y: their targets (N,).
        scores: of calibration rows (Q,), instead of a calibration of `reg`: the first kappa that
            covers, or 1 plus the margin that the plane kappa = 1 needs.
        level: the level to begin with, in percent.
        x_name: name of the input.
        y_name: name of the target.
    """
    model, x = _model(reg), vector("x", x)
    y = vector("y", y, x.size)
    grid = np.linspace(x.min(), x.max(), 121)
    data = {"model": model, "x": x, "y": y, "level": level, "x_name": x_name, "y_name": y_name}
    if scores is None:
        lower, upper = reg.predict_interval(grid[:, None], coverage=level / 100)
    else:
        in_order = np.sort(vector("scores", scores))
        data["scores"] = in_order
        t = float(in_order[rank(level / 100, in_order.size + 1) - 1])
        lower, upper = reg.predict_interval(grid[:, None], alpha=alpha_of(min(t, 1.0)))
        lower, upper = lower - max(t - 1, 0), upper + max(t - 1, 0)
    figure, ax = still_figure()
    bands_along(ax, grid, {f"level {level}%": (lower, upper)}, reg.predict(grid[:, None]))
    points_along(ax, x, y, {})
    labelled(ax, x_name, y_name)
    alt = f"Dots: {y_name} by {x_name}, and a band that follows them, the {level}% intervals."
    return _play("level", data, figure, alt)


def calibration_play(
    reg: GT2Regressor,
    x: Array,
    mean: Array,
    sd: Array,
    *,
    n_rows: int = 40,
    level: int = 90,
    seed: int = 1,
) -> Interactive:
    """Return calibration rows to draw and to move, with the band and the law of its coverage.

    Args:
        reg: a trained model of one input.
        x: places (m,), evenly spaced.
        mean: the mean of a target there (m,): rows are drawn around it.
        sd: the standard deviation of its noise (m,).
        n_rows: calibration rows to begin with, 5 to 200.
        level: the level to begin with, in percent, 50 to 95.
        seed: of the rows.
    """
    model, x = _model(reg), vector("x", x)
    mean, sd = vector("mean", mean, x.size), vector("sd", sd, x.size)
    figure, ax = still_figure()
    bands = {
        f"plane {kappa:.2g}": reg.predict_interval(x[:, None], alpha=alpha_of(kappa))
        for kappa in (1.0, 0.5)
    }
    bands_along(ax, x, bands, mean)
    data = {"model": model, "x": x, "mean": mean, "sd": sd}
    data |= {"Q": n_rows, "level": level, "seed": seed}
    alt = "Two nested bands of a trained system over its input, around the true mean."
    return _play("calibrate", data, figure, alt)


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
    alt = f"Weights of the rules for the lower endpoint, over consequents, and the mean {y_l:.3f}."
    return _play("drag", dict(rules), figure, alt)


def rank_play(n_rows: int = 10, level: int = 90) -> Interactive:
    """Return the exact and the conformal rank beside each other, for few rows and many.

    Args:
        n_rows: calibration rows to begin with, 1 to 100.
        level: the level to begin with, in percent, 50 to 99.
    """
    figure, ax = still_figure()
    rows = np.arange(1, 101)
    for name, more, mark in (("exact", 0, "o"), ("conformal", 1, "^")):
        k = np.array([rank(level / 100, int(n) + more) for n in rows])
        mean = np.where(k <= rows, 100 * k / (rows + 1), np.nan)  # a rank that exists
        ax.plot(rows, mean, mark, label=name, markersize=4, linestyle="none")
    ax.axhline(level, color="black", linestyle=":", linewidth=1.2)
    ax.legend(loc="lower right")
    labelled(ax, "calibration rows $Q$", "mean coverage (%)")
    alt = (
        f"Mean coverage by number of calibration rows at the level {level}%: the exact rank goes "
        "up and down below the level, meets it at a few numbers of rows and comes nearer to it; "
        "the conformal rank lies on it or above."
    )
    return _play("ranks", {"Q": n_rows, "level": level}, figure, alt)
