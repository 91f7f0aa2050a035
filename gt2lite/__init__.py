"""Calibrated prediction intervals from general type-2 fuzzy logic systems.

Two layers. The lower one is the paper's method, to be read in this order: `memberships` (sets,
firings), `reduction`, `parameters`, `system` (planes, output), `losses`, `recipe`, `training`
(Algorithm 1), `calibration` (Algorithms 3 and 4), `metrics`; with `datasets`, `splits`, `plots`.

The upper layer, `practice`, is for your own data: `GT2Regressor`, `IntervalHead` for an existing
model, reports, rules, model files. It imports the lower layer, and nothing there imports it.
"""

import importlib
from typing import TYPE_CHECKING, Any

from gt2lite import (
    calibration,
    datasets,
    losses,
    memberships,
    metrics,
    parameters,
    reduction,
    system,
    training,
)
from gt2lite._version import __version__
from gt2lite.datasets import load_dataset
from gt2lite.recipe import Recipe
from gt2lite.training import train

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
    "parameters",
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
