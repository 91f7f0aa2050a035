"""Calibrated prediction intervals from general type-2 fuzzy logic systems.

Start with `GT2Regressor`, or with `IntervalHead` for an existing model. The method, from fuzzy sets
to intervals, is in `memberships`, `reduction`, `system`, `losses`, `training`, `calibration`,
`metrics` and `datasets`; figures are in `plots`, a report on your own data set in `report`.
"""

import importlib
from typing import TYPE_CHECKING, Any

from gt2lite import (
    calibration,
    datasets,
    losses,
    memberships,
    metrics,
    reduction,
    system,
    training,
)
from gt2lite._version import __version__
from gt2lite.datasets import load_dataset
from gt2lite.training import Recipe, train

if TYPE_CHECKING:
    from gt2lite.practice.head import IntervalHead
    from gt2lite.practice.regressor import GT2Regressor

__all__ = [
    "GT2Regressor",
    "IntervalHead",
    "Recipe",
    "__version__",
    "calibration",
    "datasets",
    "load_dataset",
    "losses",
    "memberships",
    "metrics",
    "reduction",
    "system",
    "train",
    "training",
]


_HOMES = {"GT2Regressor": "gt2lite.practice.regressor", "IntervalHead": "gt2lite.practice.head"}


def __getattr__(name: str) -> Any:
    """Import the estimators on first use: scikit-learn, if installed, takes a second to import."""
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
