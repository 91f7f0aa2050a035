"""Intervals around any model, made conformal by MAPIE: one margin for all rows.

A rival is trained on one part (`fit`), calibrated on another for each level that is asked for
(`conformalize`), and then gives estimates and intervals. Which models are put in, see
`gt2lite.study.field.boosted` and `gt2lite.study.field.linear`.
"""

from __future__ import annotations

import contextlib
import logging
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike

from gt2lite._checks import Array, between, matrix, vector
from gt2lite.calibration.oracle import margins_at_coverage, widen
from gt2lite.datasets import Prepared
from gt2lite.study.design import LEVELS
from gt2lite.study.field.contestant import Entered

Ends = tuple[Array, Array]


class Model(Protocol):
    """An estimator in scikit-learn's manner."""

    def fit(self, X: Array, y: Array) -> Any:
        """Learn from inputs (N, M) and targets (N,)."""

    def predict(self, X: Array) -> Array:
        """Return estimates (N,)."""


class Tuned(ABC):
    """A model that chooses its settings inside the rows that it is given.

    After `fit` the model is in `model_`, and `tuning_seconds_` tells what the choice took.
    """

    model_: Any
    tuning_seconds_: float

    @abstractmethod
    def fit(self, X: Array, y: Array, groups: ArrayLike | None = None) -> Self:
        """Choose settings and learn; `groups` (N,) are not torn apart for validation."""

    def predict(self, X: Array) -> Array:
        """Return estimates (N,)."""
        return np.asarray(self.model_.predict(X))


class Rival(ABC):
    """An estimator with intervals: fit, conformalize for a level, predict.

    Attributes:
        tuning_seconds: what the choice of settings has taken so far, of all the time.
    """

    tuning_seconds = 0.0

    @abstractmethod
    def fit(self, X: Array, y: Array, groups: ArrayLike | None = None) -> Self:
        """Learn what all levels need, from the training part."""

    @abstractmethod
    def conformalize(self, X: Array, y: Array, coverage: float) -> Self:
        """Make ready for a level, on the calibration part; may be called for further levels."""

    @abstractmethod
    def predict(self, X: Array) -> Array:
        """Return estimates (N,)."""

    @abstractmethod
    def predict_interval(self, X: Array, coverage: float) -> Ends:
        """Return the lower and upper ends (N,) for a level."""

    @abstractmethod
    def family(self, X: Array, coverage: float) -> Ends:
        """Return the ends (N,) that this method widens by a margin to reach a level."""


class SplitConformal(Rival):
    """Estimates with one margin for all: split conformal prediction.

    Args:
        model: what makes the estimates.
        fitted: whether it is trained already, so that `fit` has nothing to do.
    """

    def __init__(self, model: Model, *, fitted: bool = False) -> None:
        self._model = model
        self._fitted = fitted
        self._conformal: dict[float, Any] = {}

    def fit(self, X: Array, y: Array, groups: ArrayLike | None = None) -> Self:
        """Learn the estimates, from the training part."""
        if not self._fitted:
            self._conformal.clear()
            self.tuning_seconds = _fit(self._model, X, y, groups)
        return self

    def conformalize(self, X: Array, y: Array, coverage: float) -> Self:
        """Find the margin for a level, on the calibration part."""
        level = between("coverage", coverage, 0, 1)
        with _quiet():
            conformal = import_mapie().SplitConformalRegressor(
                _bare(self._model), confidence_level=level, prefit=True
            )
            self._conformal[level] = conformal.conformalize(X, y)
        return self

    def predict(self, X: Array) -> Array:
        """Return estimates (N,)."""
        return np.asarray(self._model.predict(X))

    def predict_interval(self, X: Array, coverage: float) -> Ends:
        """Return the lower and upper ends (N,) for a level."""
        return _ends(_conformalized(self._conformal, coverage), X)

    def family(self, X: Array, coverage: float) -> Ends:
        """Return the estimates twice: the margin goes on both sides of them."""
        return self.predict(X), self.predict(X)


class ConformalisedQuantiles(Rival):
    """Two quantiles with one margin for all: conformalised quantile regression.

    Every level needs two trainings of its own.

    Args:
        mean: makes the model of the estimates.
        quantile: makes the model of a quantile.
    """

    def __init__(self, mean: Callable[[], Model], quantile: Callable[[float], Model]) -> None:
        self._make_mean, self._make_quantile = mean, quantile
        self._conformal: dict[float, Any] = {}
        self._quantiles: dict[float, tuple[Model, Model]] = {}

    def fit(self, X: Array, y: Array, groups: ArrayLike | None = None) -> Self:
        """Learn the estimates, from the training part."""
        self._rows = X, y, groups
        self._conformal.clear()
        self._quantiles.clear()
        self._mean = self._make_mean()
        self.tuning_seconds = _fit(self._mean, X, y, groups)
        return self

    def conformalize(self, X: Array, y: Array, coverage: float) -> Self:
        """Learn the two quantiles of a level, and find their margin on the calibration part."""
        level = between("coverage", coverage, 0, 1)
        pair = self._make_quantile((1 - level) / 2), self._make_quantile((1 + level) / 2)
        for model in pair:
            self.tuning_seconds += _fit(model, *self._rows)
        self._quantiles[level] = pair
        models = [_bare(model) for model in (*pair, self._mean)]
        with _quiet():
            conformal = import_mapie().ConformalizedQuantileRegressor(
                models, confidence_level=level, prefit=True
            )
            self._conformal[level] = conformal.conformalize(X, y)
        return self

    def predict(self, X: Array) -> Array:
        """Return estimates (N,): of the mean, not of the median."""
        return np.asarray(self._mean.predict(X))

    def predict_interval(self, X: Array, coverage: float) -> Ends:
        """Return the lower and upper ends (N,) for a level."""
        # one margin for both ends, as in the method's own paper: it is the family that is moved
        # to equal coverage; a margin for each end would keep the two tails, at about the same width
        return _ends(_conformalized(self._conformal, coverage), X, symmetric_correction=True)

    def family(self, X: Array, coverage: float) -> Ends:
        """Return the two quantiles of a level as they were learned."""
        lower, upper = _conformalized(self._quantiles, coverage)
        return np.asarray(lower.predict(X)), np.asarray(upper.predict(X))


def answer(rival: Rival, data: Prepared, groups: ArrayLike | None = None) -> Entered:
    """Return what a rival says at all levels, and what it took."""
    import_mapie()  # now, so that it is not counted
    times, tuning = [], []
    clock = time.process_time()
    rival.fit(data.X_train, data.y_train, groups)
    for level in LEVELS:
        rival.conformalize(data.X_cal, data.y_cal, level)
        times.append(time.process_time() - clock)
        tuning.append(rival.tuning_seconds)
        clock = time.process_time()
    ends = [rival.predict_interval(data.X_test, level) for level in LEVELS]
    equal = [
        margins_at_coverage(*rival.family(data.X_test, level), data.y_test, level)
        for level in LEVELS
    ]
    return Entered(
        np.tile(rival.predict(data.X_test), (len(LEVELS), 1)),
        np.array(ends),
        np.array(equal),
        times[0] - tuning[0],
        times[1] - (tuning[1] - tuning[0]),
        tuning[0],
    )


def import_mapie() -> Any:
    """Return MAPIE's module of regression."""
    try:
        from mapie import regression
    except ImportError as error:
        raise ImportError(
            "the rivals get their intervals from MAPIE 1.x, which is not installed: "
            "pip install 'gt2lite[book]'"
        ) from error
    return regression


def _fit(model: Model, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None) -> float:
    """Train a model and return what the choice of its settings took."""
    X = matrix("X", X)
    y = vector("y", y, len(X))
    if isinstance(model, Tuned):
        return model.fit(X, y, groups).tuning_seconds_
    model.fit(X, y)
    return 0.0


def _bare(model: Model) -> Model:
    """Return scikit-learn's own model, which MAPIE recognises as trained."""
    return model.model_ if isinstance(model, Tuned) else model


def _ends(conformal: Any, X: Array, **options: Any) -> Ends:
    with _quiet():
        _, ends = conformal.predict_interval(X, **options)  # (N, 2, 1)
    return widen(ends[:, 0, 0], ends[:, 1, 0], 0.0)


def _conformalized(found: dict[float, Any], coverage: float) -> Any:
    try:
        return found[coverage]
    except KeyError:
        raise ValueError(
            f"coverage {coverage} was not asked for yet, only {sorted(found)}: "
            "call conformalize with it first"
        ) from None


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Silence what MAPIE says of quantiles that cross, and undo what it does to logging."""
    root = logging.getLogger()
    before, level, handlers = root.manager.disable, root.level, list(root.handlers)
    logging.disable(logging.INFO)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
        root.setLevel(level)
        root.handlers[:] = handlers
