"""A fitted head as one file: what `IntervalHead.save` writes and `load` reads, without pickle.

It is a file of a kind of its own, "head": the content of the file of its `GT2Regressor`, a
description of the base, and marks of the training rows. The base itself is not in it.
"""

from __future__ import annotations

import tempfile
from numbers import Integral
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gt2lite import _files as files
from gt2lite._checks import Array, finite, vector, whole
from gt2lite._version import __version__
from gt2lite.estimator._bases import describe_base
from gt2lite.estimator._regressor import GT2Regressor
from gt2lite.estimator._settings import LARGEST_SEED

KIND = "head"
_FACTS = {"corrects": bool, "out_of_fold": bool, "named": bool}


class HeadModel(NamedTuple):
    """All that a fitted head consists of, but for its base."""

    head: GT2Regressor
    told: dict[str, Any]  # of the base
    probes: Array
    probed: Array  # what the base said of them
    marks: Array
    rmse: dict[str, float]
    facts: dict[str, bool]
    cv: int | None
    random_state: int | None


def write_head(path: files.Location, head: Any) -> None:
    """Write a fitted `IntervalHead` to one file."""
    with tempfile.TemporaryDirectory() as folder:
        inner = Path(folder) / "model.npz"
        head.head_.save(inner)
        inside, arrays = files.read(inner, "model")
    arrays = {f"head/{name}": value for name, value in arrays.items()}
    arrays |= {"probes": head.probes_, "probed": head.probed_, "marks": head.marks_}
    header = {
        "gt2lite": __version__,
        "head": {name: v for name, v in inside.items() if name not in files.OWN_KEYS},
        "base": describe_base(head.base_),
        "rmse": head.rmse_,
        "facts": {
            "corrects": head.corrects_,
            "out_of_fold": head.out_of_fold_,
            "named": hasattr(head, "feature_names_in_"),
        },
        "cv": head.cv if isinstance(head.cv, Integral) else None,
        "random_state": head.random_state if isinstance(head.random_state, Integral) else None,
    }
    files.write(path, KIND, header, arrays)


def read_head(path: files.Location) -> HeadModel:
    """Return what `write_head` wrote.

    Raises:
        FileFormatError: where the file is damaged, incomplete or another's.
    """
    header, arrays = files.read(path, KIND)
    try:
        return _read(header, arrays)
    except Exception as error:  # whatever a crafted file can provoke
        raise files.FileFormatError(f"{path} is damaged: {error!r}") from error


def _read(header: dict[str, Any], arrays: dict[str, Array]) -> HeadModel:
    known = {"gt2lite", "head", "base", "rmse", "facts", "cv", "random_state"}
    if unknown := header.keys() - known - files.OWN_KEYS:
        raise ValueError(f"it holds {', '.join(sorted(unknown))}, which no head has")
    own = ("probes", "probed", "marks")
    inside = {name.removeprefix("head/"): v for name, v in arrays.items() if name not in own}
    if len(inside) != sum(name.startswith("head/") for name in arrays):
        raise ValueError("it holds arrays that no head has")
    with tempfile.TemporaryDirectory() as folder:
        inner = Path(folder) / "model.npz"
        files.write(inner, "model", header["head"], inside)
        head = GT2Regressor.load(inner)
    probes = finite("probes", arrays["probes"])
    if probes.ndim != 2 or probes.shape[1] != head.n_features_in_ - 1:
        raise ValueError("the stored rows have other inputs than the head")
    told, facts, rmse = header["base"], header["facts"], header["rmse"]
    if {name: type(value) for name, value in facts.items()} != _FACTS:
        raise ValueError(f"facts must be {', '.join(_FACTS)}, true or false")
    if sorted(rmse) != ["base", "corrected"] or not all(np.isfinite(list(rmse.values()))):
        raise ValueError("rmse must have two numbers, base and corrected")
    settings = told["settings"]
    if not isinstance(settings, dict) or not all(
        isinstance(text, str) for text in (told["class"], *settings, *settings.values())
    ):
        raise ValueError("the base must be described in text")
    cv, seed = header["cv"], header["random_state"]
    return HeadModel(
        head,
        told,
        probes,
        vector("probed", arrays["probed"], len(probes)),
        vector("marks", arrays["marks"]),
        rmse,
        facts,
        None if cv is None else whole("cv", cv, 2),
        None if seed is None else whole("random_state", seed, 0, LARGEST_SEED),
    )
