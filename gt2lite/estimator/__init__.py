"""Estimators in scikit-learn's manner: train, calibrate, predict intervals, read the rules.

`GT2Regressor` is the one that users meet first; `IntervalHead` serves a model that is there.
`IntervalPipeline` prepares raw tables, `coverage_scorer`, `interval_scorer` and
`cross_val_intervals` measure; these need scikit-learn.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from gt2lite.estimator._advice import MissedLevelWarning, NarrowEnvelopeWarning
from gt2lite.estimator._head import IntervalHead
from gt2lite.estimator._regressor import GT2Regressor
from gt2lite.estimator._seen import SeenRowsWarning

if TYPE_CHECKING:
    from gt2lite.estimator._pipeline import IntervalPipeline
    from gt2lite.estimator._scoring import (
        IntervalScorer,
        coverage_scorer,
        cross_val_intervals,
        interval_scorer,
    )

_LAZY = {  # what needs scikit-learn is loaded when it is first used
    "IntervalPipeline": "_pipeline",
    "IntervalScorer": "_scoring",
    "coverage_scorer": "_scoring",
    "cross_val_intervals": "_scoring",
    "interval_scorer": "_scoring",
}

__all__ = [
    "GT2Regressor",
    "IntervalHead",
    "IntervalPipeline",
    "IntervalScorer",
    "MissedLevelWarning",
    "NarrowEnvelopeWarning",
    "SeenRowsWarning",
    "coverage_scorer",
    "cross_val_intervals",
    "interval_scorer",
]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(importlib.import_module(f"{__name__}.{_LAZY[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
