"""The systems of a `CrossRegressor` as one file, each as the bytes of a model file of its own."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from numbers import Integral
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gt2lite import _files as files
from gt2lite._checks import Array, IntArray, vector, whole
from gt2lite._version import __version__
from gt2lite.calibration.family import Scores
from gt2lite.estimator._regressor import GT2Regressor
from gt2lite.estimator._settings import LARGEST_SEED

KIND = "crossed"


class CrossModel(NamedTuple):
    """All that a fitted `CrossRegressor` consists of."""

    systems: Sequence[GT2Regressor]
    scores: Sequence[Scores]
    fold: IntArray
    random_state: Any


def write_crossed(path: files.Location, model: CrossModel) -> None:
    """Write a fitted `CrossRegressor` to one file."""
    arrays: dict[str, Array] = {"fold": model.fold.astype(float)}
    with tempfile.TemporaryDirectory() as folder:
        inner = Path(folder) / "model.npz"
        for k, (system, scores) in enumerate(zip(model.systems, model.scores, strict=True)):
            system.save(inner)
            arrays[f"{k}/system"] = np.frombuffer(inner.read_bytes(), np.uint8).astype(float)
            arrays |= {f"{k}/{name}": value for name, value in scores.arrays().items()}
    seed = model.random_state
    header = {
        "gt2lite": __version__,
        "n_folds": len(model.systems),
        "random_state": int(seed) if isinstance(seed, Integral) else None,
    }
    files.write(path, KIND, header, arrays)


def read_crossed(path: files.Location) -> CrossModel:
    """Return what `write_crossed` wrote.

    Raises:
        FileFormatError: where the file is damaged, incomplete or another's.
    """
    header, arrays = files.read(path, KIND)
    try:
        return _read(header, arrays)
    except Exception as error:  # whatever a crafted file can provoke
        raise files.FileFormatError(f"{path} is damaged: {error!r}") from error


def _read(header: dict[str, Any], arrays: dict[str, Array]) -> CrossModel:
    n_folds, seed = whole("n_folds", header["n_folds"], 2), header["random_state"]
    fold = vector("fold", arrays["fold"])
    systems, scores = [], []
    with tempfile.TemporaryDirectory() as folder:
        inner = Path(folder) / "model.npz"
        for k in range(n_folds):
            own = {
                name.partition("/")[2]: value
                for name, value in arrays.items()
                if name.startswith(f"{k}/")
            }
            inner.write_bytes(own.pop("system").astype(np.uint8).tobytes())
            systems.append(GT2Regressor.load(inner))
            scores.append(Scores.from_arrays(own))
            if len(scores[k]) != np.sum(fold == k):
                raise ValueError(f"fold {k} has other scores than rows")
    if len({system.n_features_in_ for system in systems}) != 1:
        raise ValueError("the systems have different inputs")
    if not np.isin(fold, np.arange(-1, n_folds)).all():
        raise ValueError("fold must hold the numbers of folds")
    seed = None if seed is None else whole("random_state", seed, 0, LARGEST_SEED)
    return CrossModel(systems, scores, fold.astype(int), seed)
