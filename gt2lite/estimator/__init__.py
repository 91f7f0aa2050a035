"""Estimators in scikit-learn's manner: train, calibrate, predict intervals, read the rules.

`GT2Regressor` is the one that users meet first.
"""

from gt2lite.estimator._advice import MissedLevelWarning, NarrowEnvelopeWarning
from gt2lite.estimator._regressor import GT2Regressor

__all__ = ["GT2Regressor", "MissedLevelWarning", "NarrowEnvelopeWarning"]
