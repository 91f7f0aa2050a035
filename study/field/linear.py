"""Linear quantiles in the field: the plainest of the rivals."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from gt2lite.datasets import Prepared
from study.design import LEVELS
from study.field.boosted import held_out
from study.field.contestant import Chosen, Contestant, Entered, Get
from study.field.margins import Parts, Shape, answer, pinball
from study.field.setting import Setting

PENALTIES = (0.0, 0.003, 0.03)
"""Tried penalties on the sum of absolute coefficients."""


@dataclass(frozen=True)
class Linear(Contestant):
    """Two quantiles that are linear in the inputs, with one margin."""

    is_fuzzy: ClassVar[bool] = False

    @property
    def weight(self) -> float:
        """How long it takes, in units of the paper's system."""
        return 2.0

    @property
    def told(self) -> tuple[str, str, str]:
        """What it learns, where its interval comes from, what a further level needs."""
        learns = "two quantiles, linear in the inputs"
        return learns, "the two and one margin for all rows", "two more trainings"

    def enter(self, setting: Setting, data: Prepared, get: Get) -> Entered:
        """Choose a penalty by the median, train and calibrate two quantiles for each level."""
        import_linear()  # now, so that it is not counted
        X, y = data.X_train, data.y_train
        clock = time.process_time()
        held = held_out(len(y), setting.kept_together(data), setting.seed)
        medians = (linear_quantile(0.5, a).fit(X[~held], y[~held]) for a in PENALTIES)
        losses = [np.mean(pinball(y[held] - m.predict(X[held]), 0.5)) for m in medians]
        penalty = PENALTIES[int(np.argmin(losses))]
        tuning = time.process_time() - clock
        parts, times = {}, []
        for level in LEVELS:
            clock = time.process_time()
            low = linear_quantile((1 - level) / 2, penalty).fit(X, y)
            high = linear_quantile((1 + level) / 2, penalty).fit(X, y)
            shapes = (
                Shape(low.predict(rows), high.predict(rows), np.ones(len(rows)))
                for rows in (data.X_cal, data.X_test)
            )
            parts[level] = Parts(*shapes)
            times.append(time.process_time() - clock)
        clock = time.process_time()
        mean = import_linear().RidgeCV(alphas=np.logspace(-2, 4, 13)).fit(X, y)
        times[0] += time.process_time() - clock
        y_hat = mean.predict(data.X_test)
        found = answer("", y_hat, parts.__getitem__, data.y_cal, data.y_test, every_level=False)
        told = Chosen("quantiles", json.dumps({"alpha": penalty}))
        return Entered((found,), times[0], times[1], tuning, (told,))


def linear_quantile(tau: float, penalty: float = 0.0) -> Any:
    """Return scikit-learn's estimator of a quantile that is linear in the inputs."""
    return import_linear().QuantileRegressor(quantile=tau, alpha=penalty, solver="highs")


def import_linear() -> Any:
    """Return scikit-learn's module of linear models."""
    try:
        from sklearn import linear_model
    except ImportError as error:
        raise ImportError(
            "linear models are scikit-learn's, which is not installed: pip install 'gt2lite[book]'"
        ) from error
    return linear_model
