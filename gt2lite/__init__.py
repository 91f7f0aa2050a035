"""Calibrated prediction intervals from general type-2 fuzzy logic systems.

The names below are loaded when they are first used, so that importing the
package costs no more than reading this file. Where to look for what:

=============== ==============================================================
`memberships`   primary and secondary membership functions, kappa, firing
`reduction`     exact type reduction, and the classic algorithms beside it
`switching`     its core: all switch points of a batch at once, and the gradient
`kernel`        the fast path: all planes of a batch, forwards and backwards
`system`        parameters and their constraints; output and intervals
`starts`        parameters to begin learning with
`losses`        the dual loss and the aligned one
`gradient`      the gradient of a batch in one flat vector
`training`      Adam and Algorithm 1
`presets`       recipes for practice, beside the paper's own
`levels`        one system for all levels, the rival of calibration
`calibration`   from a coverage to the alpha-plane that has it
`metrics`       RMSE, PICP, PINAW, interval score, width at equal coverage
`datasets`      the four data sets of the paper, scaling, splits
`estimator`     `GT2Regressor`: all of it in five lines
`store`         a folder of finished runs
`runner`        many tasks: in parallel, stored as they finish, each once
`experiment`    the paper's protocol
`paper`         the published values, and a verdict on each
`claims`        the paper's claims, and a verdict on each
`results`       reference results, and how a run compares with them
`conditional`   coverage by width, by input region, by group
`rivals`        what people would use instead, by scikit-learn and MAPIE
`trainings`     trainings that contestants share
`contestants`   who takes part in the field, and how each is judged
`comparison`    the field: all contestants on the same splits
`standings`     tables of the field
`plots`         every figure
=============== ==============================================================
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_MODULES = (
    "calibration",
    "chance",
    "claims",
    "comparison",
    "conditional",
    "contestants",
    "datasets",
    "estimator",
    "experiment",
    "gradient",
    "kernel",
    "levels",
    "losses",
    "memberships",
    "metrics",
    "paper",
    "plots",
    "presets",
    "reduction",
    "results",
    "rivals",
    "runner",
    "standings",
    "starts",
    "store",
    "switching",
    "system",
    "training",
    "trainings",
)
_HOMES = {"GT2Regressor": "estimator", "load_dataset": "datasets"}

__all__ = ["GT2Regressor", "__version__", "load_dataset", *_MODULES]

if TYPE_CHECKING:
    from gt2lite import (
        calibration,
        chance,
        claims,
        comparison,
        conditional,
        contestants,
        datasets,
        estimator,
        experiment,
        gradient,
        kernel,
        levels,
        losses,
        memberships,
        metrics,
        paper,
        plots,
        presets,
        reduction,
        results,
        rivals,
        runner,
        standings,
        starts,
        store,
        switching,
        system,
        training,
        trainings,
    )
    from gt2lite.datasets import load_dataset
    from gt2lite.estimator import GT2Regressor


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _HOMES:
        return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
