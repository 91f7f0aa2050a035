"""Linear quantiles in the field: the plainest of the rivals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from gt2lite.datasets import Prepared
from gt2lite.study.field.conformal import ConformalisedQuantiles, Rival, answer
from gt2lite.study.field.contestant import Contestant, Entered, Get
from gt2lite.study.field.setting import Setting


@dataclass(frozen=True)
class Linear(Contestant):
    """Two quantiles that are linear in the inputs, with one margin."""

    is_fuzzy: ClassVar[bool] = False

    @property
    def weight(self) -> float:
        """How long it takes, in units of the paper's system."""
        return 0.3

    def enter(self, setting: Setting, data: Prepared, get: Get) -> Entered:
        """Train and calibrate, level by level; nothing is stored before it is judged."""
        return answer(linear_quantiles(), data)


def linear_quantiles() -> Rival:
    """Return conformalised quantile regression by linear models, without a penalty."""
    linear = import_linear()
    return ConformalisedQuantiles(
        linear.LinearRegression,
        lambda tau: linear.QuantileRegressor(quantile=tau, alpha=0.0, solver="highs"),
    )


def import_linear() -> Any:
    """Return scikit-learn's module of linear models."""
    try:
        from sklearn import linear_model
    except ImportError as error:
        raise ImportError(
            "linear models are scikit-learn's, which is not installed: pip install 'gt2lite[book]'"
        ) from error
    return linear_model
