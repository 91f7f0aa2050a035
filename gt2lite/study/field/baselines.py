"""What people would use instead: gradient boosting and linear models, made conformal by MAPIE.

A rival is trained on one part (`fit`), calibrated on another for each level that is asked for
(`conformalize`), and then gives estimates and intervals. Its settings are chosen inside
the training part, so that its guarantee holds as ours does. All of this needs scikit-learn
and MAPIE; what is compared with what is decided in `gt2lite.study.field.runs`.
"""

from __future__ import annotations

import contextlib
import logging
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gt2lite._checks import Array, between, matrix, vector
from gt2lite.calibration import rank

VALIDATION_SHARE = 0.2
"""The share of the training rows on which settings of gradient boosting are chosen."""

LEAVES: tuple[dict[str, int], ...] = tuple(
    {"max_leaf_nodes": leaves, "min_samples_leaf": rows} for leaves in (15, 31) for rows in (20, 40)
)
RATES = (0.1, 0.05)
MAX_TREES = 2000
PATIENCE = 100  # trees without a gain after which no more are tried

Ends = tuple[Array, Array]


class Model(Protocol):
    """An estimator in scikit-learn's manner."""

    def fit(self, X: Array, y: Array) -> Any:
        """Learn from inputs (N, M) and targets (N,)."""

    def predict(self, X: Array) -> Array:
        """Return estimates (N,)."""


@dataclass
class Boosting:
    """Gradient boosting whose settings are chosen inside the rows that it is given.

    A validation share of them decides: first on the size of trees and leaves (`LEAVES`), then
    on the learning rate (`RATES`), each with the number of trees that is best there, by the
    loss that is learned (pinball or squares). Then all rows are learned with these settings.

    Args:
        quantile: which quantile is learned; None for the mean.
        seed: decides the validation rows.
        max_trees: more are not tried.

    After `fit` the model is in `model_`, what was chosen in `settings_`, and
    `tuning_seconds_` tells what the choice took.
    """

    quantile: float | None = None
    seed: int = 0
    max_trees: int = MAX_TREES
    settings_: dict[str, Any] = field(init=False, repr=False)
    model_: Any = field(init=False, repr=False)
    tuning_seconds_: float = field(init=False, repr=False)

    def fit(self, X: Array, y: Array, groups: ArrayLike | None = None) -> Self:
        """Choose settings and learn; `groups` (N,) are not torn apart for validation."""
        clock = time.process_time()
        held = _held_out(len(y), groups, self.seed)

        def tried(**settings: Any) -> tuple[float, dict[str, Any]]:
            loss, n_trees = self._path(X, y, held, settings)
            return loss, settings | {"max_iter": n_trees}

        best = min((tried(learning_rate=RATES[0], **leaves) for leaves in LEAVES), key=_loss_of)
        leaves = {name: best[1][name] for name in LEAVES[0]}
        others = (tried(learning_rate=rate, **leaves) for rate in RATES[1:])
        self.settings_ = min(best, *others, key=_loss_of)[1]
        self.tuning_seconds_ = time.process_time() - clock
        self.model_ = self._make(**self.settings_).fit(X, y)
        return self

    def predict(self, X: Array) -> Array:
        """Return estimates (N,)."""
        return np.asarray(self.model_.predict(X))

    def _make(self, **settings: Any) -> Any:
        loss: dict[str, Any] = {"loss": "squared_error"}
        if self.quantile is not None:
            loss = {"loss": "quantile", "quantile": self.quantile}
        model = _sklearn("ensemble").HistGradientBoostingRegressor
        return model(**loss, **settings, early_stopping=False, random_state=self.seed)

    def _path(
        self, X: Array, y: Array, held: NDArray[np.bool_], settings: Mapping[str, Any]
    ) -> tuple[float, int]:
        """Return the smallest loss on the rows held out, and the number of trees that has it."""
        n_trees = min(PATIENCE, self.max_trees)
        model = self._make(**settings, max_iter=n_trees, warm_start=True)
        while True:
            model.fit(X[~held], y[~held])
            losses = [self._loss(y[held], y_hat) for y_hat in model.staged_predict(X[held])]
            best = int(np.argmin(losses)) + 1
            if n_trees >= self.max_trees or best <= n_trees - PATIENCE:
                return losses[best - 1], best
            n_trees = min(n_trees + PATIENCE, self.max_trees)
            model.set_params(max_iter=n_trees)

    def _loss(self, y: Array, y_hat: Array) -> float:
        error = y - y_hat
        if self.quantile is None:
            return float(np.mean(error**2))
        return float(np.mean(np.maximum(self.quantile * error, (self.quantile - 1) * error)))


def _loss_of(tried: tuple[float, dict[str, Any]]) -> float:
    return tried[0]


def _held_out(n: int, groups: ArrayLike | None, seed: int) -> NDArray[np.bool_]:
    """Return which rows (n,) are for validation: whole groups, or single rows."""
    rng = np.random.default_rng(seed)
    unit = np.arange(n) if groups is None else np.unique(groups, return_inverse=True)[1]
    order = rng.permutation(unit.max() + 1)
    sizes = np.bincount(unit)[order]
    # as many as come nearest to the share, one at least, and one is left to learn from
    n_held = 1 + int(np.argmin(np.abs(np.cumsum(sizes)[:-1] - VALIDATION_SHARE * n)))
    return np.isin(unit, order[:n_held])


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
            conformal = _mapie().SplitConformalRegressor(
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
            conformal = _mapie().ConformalizedQuantileRegressor(
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


def boosted_quantiles(seed: int = 0, max_trees: int = MAX_TREES) -> Rival:
    """Return conformalised quantile regression by gradient boosting."""
    return ConformalisedQuantiles(
        lambda: Boosting(None, seed, max_trees), lambda tau: Boosting(tau, seed, max_trees)
    )


def boosted_mean(seed: int = 0, max_trees: int = MAX_TREES) -> Rival:
    """Return split conformal prediction around gradient boosting."""
    return SplitConformal(Boosting(None, seed, max_trees))


def linear_quantiles() -> Rival:
    """Return conformalised quantile regression by linear models, without a penalty."""
    linear = _sklearn("linear_model")
    return ConformalisedQuantiles(
        linear.LinearRegression,
        lambda tau: linear.QuantileRegressor(quantile=tau, alpha=0.0, solver="highs"),
    )


def versions() -> dict[str, str]:
    """Return the versions of the libraries behind the rivals, or say which is missing."""
    _sklearn("ensemble")
    _mapie()
    return {name: version(name) for name in ("mapie", "scikit-learn")}


def widen(lower: Array, upper: Array, margin: float) -> Ends:
    """Return intervals with a margin on both ends; one that a negative margin empties is a point.

    >>> widen(np.array([0.0, 0.0]), np.array([1.0, 4.0]), -1.0)
    (array([0.5, 1. ]), array([0.5, 3. ]))
    """
    lower, upper = lower - margin, upper + margin
    middle = (lower + upper) / 2
    return np.minimum(lower, middle), np.maximum(upper, middle)


def widen_to_coverage(y: ArrayLike, lower: ArrayLike, upper: ArrayLike, coverage: float) -> Ends:
    """Return the intervals with the smallest margin at which they cover the level of `y` (N,).

    An oracle on the rows that it is given: to compare with, and never to choose by.

    >>> y, nothing = np.array([1.0, -2.0, 3.0, -4.0]), np.zeros(4)
    >>> widen_to_coverage(y, nothing, nothing, coverage=0.75)[1]  # 3 of 4 lie within 3
    array([3., 3., 3., 3.])
    """
    y = vector("y", y)
    lower, upper = vector("lower", lower, y.size), vector("upper", upper, y.size)
    lacking = np.sort(np.maximum(lower - y, y - upper))
    margin = float(lacking[rank(between("coverage", coverage, 0, 1), y.size) - 1])
    # a sum may round to the wrong side of the target that it should just reach
    return widen(lower, upper, margin + 2.0**-40 * (abs(margin) + float(np.abs(y).max())))


# ---------------------------------------------------------------------------- inside


def _fit(model: Model, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None) -> float:
    """Train a model and return what the choice of its settings took."""
    X = matrix("X", X)
    y = vector("y", y, len(X))
    if isinstance(model, Boosting):
        return model.fit(X, y, groups).tuning_seconds_
    model.fit(X, y)
    return 0.0


def _bare(model: Model) -> Model:
    """Return scikit-learn's own model, which MAPIE recognises as trained."""
    return model.model_ if isinstance(model, Boosting) else model


def _ends(conformal: Any, X: Array, **options: Any) -> Ends:
    with _quiet():
        _, ends = conformal.predict_interval(X, **options)  # (N, 2, 1)
    return widen(ends[:, 0, 0], ends[:, 1, 0], 0.0)


def _conformalized(found: Mapping[float, Any], coverage: float) -> Any:
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


def _sklearn(part: str) -> Any:
    try:
        import sklearn.ensemble
        import sklearn.linear_model
    except ImportError as error:
        raise ImportError(
            "the rivals are scikit-learn's, which is not installed: pip install 'gt2lite[book]'"
        ) from error
    return getattr(sklearn, part)


def _mapie() -> Any:
    try:
        from mapie import regression
    except ImportError as error:
        raise ImportError(
            "the rivals get their intervals from MAPIE 1.x, which is not installed: "
            "pip install 'gt2lite[book]'"
        ) from error
    return regression
