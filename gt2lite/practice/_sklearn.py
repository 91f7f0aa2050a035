"""Base classes and errors from scikit-learn, or stand-ins for them.

If scikit-learn is installed, estimators derive from its classes and work in its pipelines and
searches. If it is not, the same methods are here, with the same meaning.
"""

from __future__ import annotations

import copy
import inspect
from typing import TYPE_CHECKING, Any, Self

import numpy as np

if TYPE_CHECKING:
    from gt2lite.practice.tables import Rows


class PlainRegressor:
    """Settings by name, a repr of the changed ones, and the score R^2."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the settings; `deep` has no meaning where no setting is an estimator."""
        names = inspect.signature(type(self)).parameters
        return {name: getattr(self, name) for name in names}

    def set_params(self, **settings: Any) -> Self:
        """Change settings by name."""
        known = list(self.get_params())
        for name in settings:
            if name not in known:
                raise ValueError(f"invalid parameter {name!r}; valid parameters are {known!r}")
        vars(self).update(settings)
        return self

    def score(self: Any, X: Any, y: Any) -> float:
        """Return the coefficient of determination R^2 of the prediction."""
        y = np.asarray(y, dtype=float)
        residual, total = ((y - self.predict(X)) ** 2).sum(), ((y - y.mean()) ** 2).sum()
        return float(residual == 0) if total == 0 else float(1 - residual / total)

    def __repr__(self) -> str:
        changed = [
            f"{name}={getattr(self, name)!r}"
            for name, setting in inspect.signature(type(self)).parameters.items()
            if repr(getattr(self, name)) != repr(setting.default)
        ]
        return f"{type(self).__name__}({', '.join(changed)})"


Regressor: Any
try:
    from sklearn.base import BaseEstimator, RegressorMixin
except ImportError:
    Regressor = PlainRegressor
else:
    Regressor = type("Regressor", (RegressorMixin, BaseEstimator), {"__module__": __name__})


OF_CALIBRATION = ("calibrator_", "rule_groups_", "calibration_rows_", "split_", "_warned")
"""Attributes that a new calibration makes obsolete, where an estimator has them."""


class Stateful:
    """State that changes in one assignment: an error or Ctrl-C before it changes nothing.

    Whatever changes an estimator makes a copy, changes that, and lets the estimator `_become` it.
    """

    n_features_in_: int
    _fitted_with: dict[str, Any]  # settings of the last training, whatever was set since

    def _copy(self, *lost: str) -> Self:
        """Return a shallow copy that lacks some attributes."""
        new = copy.copy(self)
        for name in lost:
            new.__dict__.pop(name, None)
        return new

    def _renewed(self, rows: Rows | None = None, columns: Any = None) -> Self:
        """Return a copy for a new training, with the settings of today and the columns of rows."""
        new = self._copy("feature_names_in_", "columns_", "fidelity_", *OF_CALIBRATION)
        new._fitted_with = self.get_params(deep=False)  # type: ignore[attr-defined]
        if rows is not None:
            new.n_features_in_ = rows.values.shape[1]
            known = {"columns_": columns, "feature_names_in_": rows.names}
            vars(new).update({name: value for name, value in known.items() if value is not None})
        return new

    def _become(self, new: Self) -> Self:
        """Take over the state of a copy."""
        self.__dict__ = new.__dict__
        return self


def check_fitted(estimator: Any) -> None:
    """Raise an error unless an estimator of this package is fitted."""
    if not hasattr(estimator, "n_features_in_"):
        raise sklearn_or("NotFittedError", RuntimeError)(
            f"This {type(estimator).__name__} instance is not fitted yet. Call 'fit' before using "
            "this method."
        )


def need_sklearn(owner: str) -> None:
    """Raise an error if scikit-learn is not installed."""
    try:
        import sklearn.frozen  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"{owner} needs scikit-learn 1.6 or later, which is not installed: "
            'pip install "gt2lite[sklearn]". GT2Regressor works without it'
        ) from error


def sklearn_or(name: str, fallback: type[Any]) -> type[Any]:
    """Return scikit-learn's exception of that name, or the fallback if it is not installed."""
    try:
        import sklearn.exceptions
    except ImportError:
        return fallback
    kind: type[Any] = getattr(sklearn.exceptions, name)
    return kind
