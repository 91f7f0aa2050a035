"""A fitted estimator as one file: what `GT2Regressor.save` writes and `load` reads.

The file format is that of `gt2lite._files`: plain arrays and a JSON header, no pickle. What is read
is checked piece by piece, so that a file that does not fit together is refused as a whole.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gt2lite import _files as files
from gt2lite._checks import Array, finite, vector
from gt2lite._settings import complete, make_recipe
from gt2lite._tables import Names
from gt2lite._version import __version__
from gt2lite.calibration import Calibration, restore
from gt2lite.datasets import Scaler
from gt2lite.recipe import Recipe
from gt2lite.system import Params, Planes, param_shapes


class Model(NamedTuple):
    """All that a fitted estimator consists of."""

    settings: dict[str, Any]
    recipe: Recipe
    params: Params
    history: Array
    scaler: Scaler
    names: Names | None  # of the columns, where they have some
    calibrator: Calibration | None


def write_model(path: files.Location, model: Model) -> None:
    """Write a model to one file.

    Where the calibrator may be asked for a plane that it has not seen, the inputs of the
    calibration set go into the file.
    """
    header: dict[str, Any] = {"gt2lite": __version__, "settings": model.settings}
    arrays: dict[str, Array] = {f"params/{name}": v for name, v in model.params.items()}
    arrays |= {f"scaler/{name}": np.asarray(v) for name, v in vars(model.scaler).items()}
    arrays["history"] = model.history
    if model.names is not None:
        header["feature_names"] = list(model.names)
    if model.calibrator is not None:
        header["calibrator"], state = model.calibrator.get_state()
        arrays |= {f"calibrator/{name}": v for name, v in state.items()}
        planes = model.calibrator.interval
        if isinstance(planes, Planes):
            arrays["calibration_X"] = planes.X
    files.write(path, "model", header, arrays)


def read_model(path: files.Location) -> Model:
    """Return the model that `write_model` wrote.

    Raises:
        FileFormatError: where the file is damaged, incomplete or another's.
    """
    header, arrays = files.read(path, "model")
    try:
        return _read(header, arrays)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise files.FileFormatError(f"{path} is damaged: {error}") from error


def _read(header: dict[str, Any], arrays: dict[str, Array]) -> Model:
    settings = complete(header["settings"])
    recipe = make_recipe(settings, 1)  # checks them
    params, scaler = _part(arrays, "params/"), _part(arrays, "scaler/")
    M = params["c"].shape[1]
    shapes = param_shapes(recipe.n_rules, M, recipe.smf)
    if {name: value.shape for name, value in params.items()} != shapes:
        raise ValueError("the parameters do not fit together")
    params = {name: params[name] for name in shapes}
    return Model(
        settings,
        recipe,
        params,
        vector("history", arrays["history"]),
        Scaler(
            vector("x_mean", scaler["x_mean"], M),
            vector("x_std", scaler["x_std"], M),
            float(scaler["y_mean"]),
            float(scaler["y_std"]),
        ),
        _read_names(header, M),
        _read_calibrator(header, arrays, params),
    )


def _read_names(header: dict[str, Any], M: int) -> Names | None:
    if "feature_names" not in header:
        return None
    names = [str(name) for name in header["feature_names"]]
    if len(names) != M:
        raise ValueError(f"it names {len(names)} features for {M} inputs")
    return np.asarray(names, dtype=object)


def _read_calibrator(
    header: dict[str, Any], arrays: dict[str, Array], params: Params
) -> Calibration | None:
    if "calibrator" not in header:
        return None
    X = arrays.get("calibration_X")
    planes = None if X is None else Planes(params, X)
    return restore(header["calibrator"], _part(arrays, "calibrator/"), planes)


def _part(arrays: dict[str, Array], prefix: str) -> dict[str, Array]:
    """Return the arrays whose names begin so, by the rest of their names."""
    return {
        name.removeprefix(prefix): finite(name, value)
        for name, value in arrays.items()
        if name.startswith(prefix)
    }
