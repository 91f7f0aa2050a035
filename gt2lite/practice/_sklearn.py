"""Base classes and errors from scikit-learn, or stand-ins for them.

If scikit-learn is installed, estimators derive from its classes and work in its pipelines and
searches. If it is not, the same methods are here, with the same meaning.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from operator import attrgetter
from typing import Any, Generic, NoReturn, Self, TypeVar, cast, overload

import numpy as np
from numpy.typing import ArrayLike

T = TypeVar("T")
E = TypeVar("E", bound=Exception)


class PlainRegressor:
    """Settings by name, a repr of the changed ones, and the score R^2."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the settings; `deep` has no meaning where no setting is an estimator."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def set_params(self, **settings: object) -> Self:
        """Change settings by name."""
        known = list(self.get_params())
        for name in settings:
            if name not in known:
                raise ValueError(f"invalid parameter {name!r}; valid parameters are {known!r}")
        vars(self).update(settings)
        return self

    def score(self: Any, X: ArrayLike, y: ArrayLike) -> float:
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


class Learned(Generic[T]):
    """A read-only attribute of an estimator, kept in its `model_`.

    It is absent, so that `hasattr` is false, before `model_` is set, if something on the path to
    it is None and, unless `or_none`, if it is None itself.

    Args:
        path: where it is in `model_`, such as "calibration.split".
        or_none: whether None is a value.
    """

    def __init__(self, path: str, *, or_none: bool = False) -> None:
        self.path, self.or_none = path, or_none

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, estimator: None, owner: type) -> Self: ...

    @overload
    def __get__(self, estimator: object, owner: type) -> T: ...

    def __get__(self, estimator: object, owner: type) -> Self | T:
        if estimator is None:
            return self
        found: T | None = None
        try:
            found = attrgetter(self.path)(vars(estimator)["model_"])
        except (AttributeError, KeyError):
            pass
        else:
            if found is not None or self.or_none:
                return cast("T", found)
        raise AttributeError(f"this {owner.__name__} has no {self.name} yet")

    def __set__(self, estimator: object, value: object) -> NoReturn:
        raise AttributeError(f"{self.name} is read-only: fit and calibrate set it")


def check_fitted(estimator: object) -> None:
    """Raise an error unless an estimator of this package is fitted."""
    if not hasattr(estimator, "model_"):
        raise sklearn_or("NotFittedError", RuntimeError)(
            f"This {type(estimator).__name__} instance is not fitted yet. Call 'fit' before using "
            "this method."
        )


def refuse(estimator: object, arguments: Iterable[str]) -> None:
    """Raise an error about arguments that `fit` does not have; weights have a place of their own.

    They are refused by name here and are not in the signature of `fit`, from which scikit-learn
    reads whether an estimator supports weights.
    """
    name = type(estimator).__name__
    for argument in arguments:
        if argument == "sample_weight":
            raise TypeError(
                f"{name}.fit does not support sample_weight: rows have no weights in training. "
                "calibrate(X, y, sample_weight=...) of GT2Regressor and IntervalHead takes weights"
            )
        raise TypeError(f"{name}.fit() got an unexpected keyword argument {argument!r}")


def need_sklearn(owner: str) -> None:
    """Raise an error if scikit-learn is not installed."""
    try:
        import sklearn.frozen  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"{owner} needs scikit-learn 1.6 or later, which is not installed: "
            'pip install "gt2lite[sklearn]". GT2Regressor works without it'
        ) from error


def sklearn_or(name: str, fallback: type[E]) -> type[E]:
    """Return scikit-learn's exception of that name, or the fallback if it is not installed."""
    try:
        import sklearn.exceptions
    except ImportError:
        return fallback
    kind: type[E] = getattr(sklearn.exceptions, name)
    return kind
