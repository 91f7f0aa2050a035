"""What was learnt as plain values and arrays, and back: the systems in a model file.

A single system has the arrays `params/...` and `history`, as model files always had. Several
systems, ranks, margins or a choice come with a list `systems` in the header, and the arrays of
each are under `systems/k/`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from gt2lite._checks import Array, between, finite, matrix, one_of, vector, whole
from gt2lite.calibration.margins import Margins
from gt2lite.estimator._choice import Judged
from gt2lite.estimator._fitting import Fitted
from gt2lite.estimator._ranks import Ranks
from gt2lite.estimator._settings import INPUTS, MOST_SYSTEMS
from gt2lite.estimator._systems import System
from gt2lite.recipe import Recipe
from gt2lite.system import Params, param_shapes

SYSTEM_KEYS = ("systems", "margins", "chosen")
"""What the header of a model file says of its systems."""

State = tuple[dict[str, Any], dict[str, Array]]


def systems_state(fitted: Fitted) -> State:
    """Return what was learnt as values for a JSON header, and arrays."""
    first, *others = fitted.systems
    plain = not others and first.inputs == "scaled" and not fitted.judged
    if plain and fitted.margins is None:
        return {}, _arrays(first, "")
    header: dict[str, Any] = {
        "systems": [{"recipe": asdict(s.recipe), "inputs": s.inputs} for s in fitted.systems],
        "chosen": [judged._asdict() for judged in fitted.judged],
    }
    arrays: dict[str, Array] = {}
    for k, system in enumerate(fitted.systems):
        arrays |= _arrays(system, f"systems/{k}/")
    if fitted.ranks is not None:
        arrays["ranks"] = fitted.ranks.knots
    if fitted.margins is not None:
        header["margins"] = asdict(fitted.margins)
    return header, arrays


def _arrays(system: System, prefix: str) -> dict[str, Array]:
    found = {f"{prefix}params/{name}": value for name, value in system.params.items()}
    return found | {f"{prefix}history": system.history}


def is_of_systems(name: str, n_systems: int) -> bool:
    """Return whether an array is one that `systems_state` makes."""
    if name in ("history", "ranks") or name.startswith("params/"):
        return True
    head, _, rest = name.removeprefix("systems/").partition("/")
    known = name.startswith("systems/") and head in map(str, range(n_systems))
    return known and (rest == "history" or rest.startswith("params/"))


def read_systems(
    header: Mapping[str, Any], arrays: Mapping[str, Array], recipe: Recipe, M: int
) -> Fitted:
    """Return what `systems_state` described, or raise where it does not fit together.

    Args:
        header: the values.
        arrays: the arrays.
        recipe: that of a single system.
        M: number of inputs.
    """
    if "systems" not in header:
        return Fitted((_system(arrays, "", recipe, "scaled", M),), None, None)
    described = header["systems"]
    whole("systems", len(described), high=2 * MOST_SYSTEMS)
    systems = tuple(
        _system(arrays, f"systems/{k}/", Recipe(**one["recipe"]), one["inputs"], M)
        for k, one in enumerate(described)
    )
    if len({system.recipe.planes.alphas.tobytes() for system in systems}) > 1:
        raise ValueError("its systems have different planes")
    ranks = _ranks(arrays, M) if any(system.inputs == "ranks" for system in systems) else None
    judged = tuple(_judged(one) for one in header.get("chosen", []))
    return Fitted(systems, ranks, _margins(header), judged)


def _system(
    arrays: Mapping[str, Array], prefix: str, recipe: Recipe, inputs: str, M: int
) -> System:
    one_of("inputs", inputs, INPUTS)
    params: Params = part(arrays, f"{prefix}params/")
    shapes = param_shapes(recipe.n_rules, M, recipe.smf)
    if {name: value.shape for name, value in params.items()} != shapes:
        raise ValueError("the parameters do not fit together")
    params = {name: params[name] for name in shapes}
    if not (np.abs(params["raw_sigma"]) > np.finfo(float).tiny).all():
        raise ValueError("raw_sigma must not be 0")
    return System(params, recipe, vector("history", arrays[f"{prefix}history"]), inputs)


def _ranks(arrays: Mapping[str, Array], M: int) -> Ranks:
    knots = matrix("ranks", arrays["ranks"])
    if knots.shape[1] != M or len(knots) < 2 or not (np.diff(knots, axis=0) >= 0).all():
        raise ValueError(f"ranks must be rising quantiles of {M} inputs")
    return Ranks(knots)


def _margins(header: Mapping[str, Any]) -> Margins | None:
    if "margins" not in header:
        return None
    power, usual = header["margins"]["power"], header["margins"]["usual"]
    return Margins(between("power", power, 0, 1, closed=True), between("usual", usual, 0, np.inf))


def _judged(described: Mapping[str, Any]) -> Judged:
    judged = Judged(**described)
    if not isinstance(judged.settings, dict) or not isinstance(judged.kept, bool):
        raise ValueError("what was chosen is not described as it should be")
    whole("n_folds", judged.n_folds), whole("epochs", judged.epochs)
    between("score", judged.score, 0, np.inf, closed=True)
    return judged


def part(arrays: Mapping[str, Array], prefix: str) -> dict[str, Array]:
    """Return the arrays whose names begin so, by the rest of their names."""
    return {
        name.removeprefix(prefix): finite(name, value)
        for name, value in arrays.items()
        if name.startswith(prefix)
    }
