"""Estimators in scikit-learn's manner: train, calibrate, predict intervals, read the rules.

`GT2Regressor` is the one that users meet first; `IntervalHead` serves a model that is there.
"""

from gt2lite.estimator._advice import MissedLevelWarning, NarrowEnvelopeWarning
from gt2lite.estimator._head import IntervalHead
from gt2lite.estimator._regressor import GT2Regressor
from gt2lite.estimator._seen import SeenRowsWarning

__all__ = [
    "GT2Regressor",
    "IntervalHead",
    "MissedLevelWarning",
    "NarrowEnvelopeWarning",
    "SeenRowsWarning",
]
