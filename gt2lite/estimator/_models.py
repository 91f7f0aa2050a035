"""A fitted estimator as one file: what `GT2Regressor.save` writes and `load` reads.

The file format is that of `gt2lite._files`: plain arrays and a JSON header, no pickle. What is read
is checked piece by piece, so that a file that does not fit together is refused as a whole.
"""

from __future__ import annotations

from dataclasses import asdict, fields
from numbers import Integral
from typing import Any, NamedTuple, Self

import numpy as np

from gt2lite import _files as files
from gt2lite._checks import Array, vector, whole
from gt2lite._tables import Names
from gt2lite._version import __version__
from gt2lite.calibration import Calibration, SearchCalibrator, TableCalibrator
from gt2lite.datasets import Scaler
from gt2lite.estimator._calibrators import restore_calibration
from gt2lite.estimator._fitting import Fitted
from gt2lite.estimator._settings import LARGEST_SEED, complete, make_plan, make_recipe
from gt2lite.estimator._states import SYSTEM_KEYS, is_of_systems, part, read_systems, systems_state
from gt2lite.estimator._targets import LogScaler, scaler_kind


class Model(NamedTuple):
    """All that a fitted estimator consists of."""

    settings: dict[str, Any]
    fitted: Fitted
    scaler: Scaler
    names: Names | None  # of the columns, where they have some
    calibrator: Calibration | None
    calibration_X: Array | None  # scaled inputs, where the calibrator may need them again

    def attributes(self) -> dict[str, Any]:
        """Return what a fitted estimator has beside its settings and what it learnt, by name."""
        found = {
            "scaler_": self.scaler,
            "n_features_in_": self.scaler.x_mean.size,
            "feature_names_in_": self.names,
            "calibrator_": self.calibrator,
        }
        return {name: value for name, value in found.items() if value is not None}


class Stored:
    """Methods of an estimator that goes to a file and comes back."""

    def save(self, path: files.Location) -> None:
        """Write the fitted system, with its calibration, to one `.npz` file.

        No pickle is involved. The methods "table" and "search" evaluate the system on
        the calibration set when a new level is asked for, so that set goes into the file;
        "exact" and "conformal" need a few numbers per calibration row, and store no data.
        """
        reg: Any = self
        reg._check_fitted()
        write_model(path, model_of(reg))

    @classmethod
    def load(cls, path: files.Location) -> Self:
        """Return the estimator that `save` wrote to `path`.

        Raises:
            FileFormatError: where the file is damaged, incomplete or another's. No code
                of the file is ever run.
        """
        model = read_model(path)
        self: Any = cls(**model.settings)
        self._keep(model.fitted)
        self._calibration_X = model.calibration_X
        for name, value in model.attributes().items():
            setattr(self, name, value)
        found: Self = self
        return found


def model_of(estimator: Any) -> Model:
    """Return what a fitted estimator consists of."""
    settings = estimator.get_params()
    if not estimator.chosen_:  # what it was fitted with, whatever was set since
        settings |= asdict(estimator.recipe_) | {"epochs": estimator.epochs}
    settings["target_transform"] = "log" if isinstance(estimator.scaler_, LogScaler) else None
    if not isinstance(estimator.random_state, Integral):
        settings["random_state"] = None  # a generator's state is no setting
    return Model(
        settings,
        estimator.learnt(),
        estimator.scaler_,
        getattr(estimator, "feature_names_in_", None),
        getattr(estimator, "calibrator_", None),
        estimator.calibration_inputs(),
    )


def write_model(path: files.Location, model: Model) -> None:
    """Write a model to one file.

    Where the calibrator may be asked for a plane that it has not seen, the inputs of the
    calibration set go into the file.
    """
    header: dict[str, Any] = {"gt2lite": __version__, "settings": model.settings}
    arrays = {f"scaler/{name}": np.asarray(v) for name, v in vars(model.scaler).items()}
    for found, kept in zip(systems_state(model.fitted), (header, arrays), strict=True):
        kept |= found
    if model.names is not None:
        header["feature_names"] = list(model.names)
    if model.calibrator is not None:
        header["calibrator"], state = model.calibrator.get_state()
        arrays |= {f"calibrator/{name}": v for name, v in state.items()}
        if model.calibrator.interval is not None and model.calibration_X is not None:
            arrays["calibration_X"] = model.calibration_X
    files.write(path, "model", header, arrays)


def read_model(path: files.Location) -> Model:
    """Return the model that `write_model` wrote.

    Raises:
        FileFormatError: where the file is damaged, incomplete or another's.
    """
    header, arrays = files.read(path, "model")
    try:
        return _read(header, arrays)
    except Exception as error:  # whatever a crafted file can provoke
        raise files.FileFormatError(f"{path} is damaged: {error!r}") from error


def _read(header: dict[str, Any], arrays: dict[str, Array]) -> Model:
    _refuse_unknown(header, arrays)
    settings = complete(header["settings"])
    if isinstance(settings["alphas"], list):  # JSON knows no tuples
        settings["alphas"] = tuple(settings["alphas"])
    recipe = make_recipe(settings, 1)  # checks them
    plan = make_plan(settings)
    if settings["random_state"] is not None:
        whole("random_state", settings["random_state"], low=0, high=LARGEST_SEED)
    scaler = _read_scaler(part(arrays, "scaler/"), plan.target_transform)
    M = scaler.x_mean.size
    fitted = read_systems(header, arrays, recipe, M)
    return Model(
        settings,
        fitted,
        scaler,
        _read_names(header, M),
        _read_calibrator(header, arrays, fitted),
        arrays.get("calibration_X"),
    )


def _refuse_unknown(header: dict[str, Any], arrays: dict[str, Array]) -> None:
    known = {"gt2lite", "settings", "feature_names", "calibrator", *SYSTEM_KEYS}
    unknown = header.keys() - known - files.OWN_KEYS
    unknown |= {
        name
        for name in arrays
        if name != "calibration_X"
        and not name.startswith(("scaler/", "calibrator/"))
        and not is_of_systems(name, len(header.get("systems", "1")))
    }
    if unknown:
        raise ValueError(f"it holds {', '.join(sorted(unknown))}, which no model has")


def _read_scaler(found: dict[str, Array], target_transform: str | None) -> Scaler:
    if found.keys() != {field.name for field in fields(Scaler)}:
        raise ValueError(f"a scaler has other parts than {', '.join(found)}")
    x_mean = vector("x_mean", found["x_mean"])
    x_std = vector("x_std", found["x_std"], x_mean.size)
    y_mean, y_std = found["y_mean"], found["y_std"]
    if y_mean.shape or y_std.shape or not (x_std > 0).all() or not y_std > 0:
        raise ValueError("the spreads of a scaler must be positive, and its target one number")
    kind = scaler_kind(target_transform)
    return kind(x_mean, x_std, float(y_mean), float(y_std))


def _read_names(header: dict[str, Any], M: int) -> Names | None:
    if "feature_names" not in header:
        return None
    names = header["feature_names"]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError("feature_names must be a list of text")
    if len(names) != M:
        raise ValueError(f"it names {len(names)} features for {M} inputs")
    return np.asarray(names, dtype=object)


def _read_calibrator(
    header: dict[str, Any], arrays: dict[str, Array], fitted: Fitted
) -> Calibration | None:
    X, state = arrays.get("calibration_X"), part(arrays, "calibrator/")
    if "calibrator" not in header:
        if state or X is not None:
            raise ValueError("it holds calibration data without a calibrator")
        return None
    planes = None if X is None else fitted.planes(X)
    interval = None if planes is None else fitted.family(planes)
    calibrator = restore_calibration(header["calibrator"], state, interval)
    needs_rows = isinstance(calibrator, (SearchCalibrator, TableCalibrator))
    if needs_rows != (planes is not None):
        raise ValueError("calibration_X belongs to the methods table and search, and to no other")
    if planes is not None and len(planes) != calibrator.n_samples:
        raise ValueError(f"{len(planes)} rows for {calibrator.n_samples} calibration samples")
    return calibrator
