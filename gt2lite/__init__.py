"""Calibrated prediction intervals from general type-2 fuzzy logic systems.

Start with `GT2Regressor`, or with `IntervalHead` for a model that you have. The modules below
are the method, from fuzzy sets to intervals: `memberships`, `reduction`, `system`, `starts`,
`losses`, `optimizers`, `training`, `calibration`, `metrics`, `datasets`. Figures are in
`gt2lite.plots`, the study of the paper in `gt2lite.study`. Names are loaded when first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from gt2lite._version import __version__

if TYPE_CHECKING:
    from gt2lite.datasets import load_dataset
    from gt2lite.estimator import GT2Regressor, IntervalHead
    from gt2lite.recipe import Recipe
    from gt2lite.training import train

_HOMES = {
    "GT2Regressor": "estimator",
    "IntervalHead": "estimator",
    "Recipe": "recipe",
    "load_dataset": "datasets",
    "train": "training",
}
_MODULES = (
    *("calibration", "datasets", "losses", "memberships", "metrics"),
    *("optimizers", "reduction", "starts", "system", "training"),
)

__all__ = [
    "GT2Regressor",
    "IntervalHead",
    "Recipe",
    "__version__",
    "load_dataset",
    "train",
    *_MODULES,
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _HOMES:
        return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
