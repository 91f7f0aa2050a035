"""Systems of a target and systems of a base's errors, joined into one model of the target.

Systems of the first kind are given the base's prediction as one more input, which changes nothing:
its membership is 1 everywhere and its slopes are 0. A system of the second kind becomes one of the
target, because consequents are linear: base + error has the same rules, with the base's
prediction added to each consequent. So their planes are means of both, row by row.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gt2lite._validation import Array
from gt2lite.datasets import Scaler
from gt2lite.practice.families import FamilyScore
from gt2lite.practice.model import Model, Ranks
from gt2lite.system import Params

NO_END = 1e9
"""Width of a set, in standard deviations of its input, whose membership is 1 everywhere."""

NO_SHARE = -1e3
"""Raw value of a share of exactly 0."""


def join(of_target: Model, of_error: Model, best: FamilyScore) -> Model:
    """Return one model of the target that consists of the systems of two.

    Args:
        of_target: a model of the target by inputs (N, M).
        of_error: a model of target - base by the same inputs and the base's prediction, (N, M + 1).
        best: the family of intervals around the mean of all systems.
    """
    scaler = replace(of_error.scaler, y_mean=of_target.scaler.y_mean, y_std=of_target.scaler.y_std)
    one, other = of_target.ensemble, of_error.ensemble
    systems = [system._replace(params=with_idle_input(system.params)) for system in one.systems]
    for system in other.systems:
        systems.append(system._replace(params=with_base(system.params, of_error.scaler, scaler)))
    ranks, limits = one.ranks, one.limits
    if ranks is not None:  # no system learns from ranks of the base
        ranks = Ranks(np.column_stack([ranks.knots, np.linspace(0, 1, len(ranks.knots))]))
    if limits is not None and other.limits is not None:
        limits = np.column_stack([limits, other.limits[:, -1]])
    joined = replace(
        one.with_systems(systems),
        ranks=ranks,
        limits=limits,
        margins=best.margins,
        sides=best.sides,
        held_out=None,
    )
    return replace(of_error, ensemble=joined, scaler=scaler, settings=of_target.settings)


def with_idle_input(params: Params) -> Params:
    """Return a system with one more input that does not change its planes."""
    P, M = params["c"].shape
    shared = params["raw_l"].size == 1
    raw_l, raw_r = (np.repeat(params[n], M if shared else 1) for n in ("raw_l", "raw_r"))
    # the exponent of a membership is averaged over the inputs: M + 1 of them now
    sigma = params["raw_sigma"] * np.sqrt(M / (M + 1))
    return {
        "c": np.column_stack([params["c"], np.zeros(P)]),
        "raw_sigma": np.column_stack([sigma, np.full(P, NO_END)]),
        "raw_l": np.append(raw_l, NO_SHARE),
        "raw_r": np.append(raw_r, raw_r.min()),  # any: there is no room above a membership of 1
        "a": np.column_stack([params["a"], np.zeros(P)]),
        "a0": params["a0"],
    }


def with_base(params: Params, of_error: Scaler, of_target: Scaler) -> Params:
    """Return a system of the errors as one of the target: the base, its last input, is added."""
    unit = of_error.y_std / of_target.y_std
    a = params["a"] * unit
    a[:, -1] += of_error.x_std[-1] / of_target.y_std
    start = of_error.x_mean[-1] + of_error.y_mean - of_target.y_mean
    return params | {"a": a, "a0": params["a0"] * unit + start / of_target.y_std}


def predictions_in(unit: Scaler, scaler: Scaler, values: Array, base: Array | float) -> Array:
    """Return scaled values plus those of a base, in the scale `unit` of the target."""
    return (values * scaler.y_std + scaler.y_mean + base - unit.y_mean) / unit.y_std
