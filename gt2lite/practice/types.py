"""Types of arguments and protocols of objects that several modules share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike

from gt2lite._validation import Array, IntArray
from gt2lite.practice.calibrators import Calibration

Frame = Any  # a frame of pandas, which has no types here

Table = ArrayLike
"""Rows of users (N, M): an array, nested lists, or a data frame."""

Target = ArrayLike | None
"""One number for each row (N,)."""

Levels = float | Sequence[float] | Array
"""A coverage or quantile, or several of them."""

Groups = ArrayLike | None
"""A name or whole number for each row (N,), or no groups."""

Ratio = Callable[[Any], Any]
"""A function that maps a table to a weight for each row (N,)."""

Weights = ArrayLike | Ratio | None
"""A weight for each row (N,), a function that computes them, or no weights."""

ByInput = Mapping[str, float] | Mapping[int, float]
"""Numbers by name or number of the input."""

Seed = int | np.random.Generator | np.random.RandomState | None
"""A `random_state`."""

Folds = Any
"""A number of folds, or a splitter or list of splits as in scikit-learn."""

Bounds = tuple[Array, Array]
"""Lower and upper bounds of intervals, each (N,) or (N, L)."""

Settings = Mapping[str, Any]
"""Settings or options by name."""

Record = dict[str, Any]
"""Values of any kind by name."""

RawTable = Any
"""A table that is not checked or encoded yet: an array or a data frame."""


class Encoded(NamedTuple):
    """Rows of a table as inputs of a model, and what is unusual about them."""

    inputs: Array  # (N, M)
    notes: Sequence[str] = ()


class Encoding(Protocol):
    """How the columns of a table become inputs: `Columns`, or a transformer of scikit-learn."""

    @property
    def names(self) -> Sequence[str]:
        """The names of the inputs."""

    @property
    def used(self) -> Sequence[Any]:
        """What is known about each column that is used."""

    def encode(self, frame: RawTable) -> Any:
        """Return `inputs` and `notes`, as `Encoded` has them."""

    def places(self) -> dict[str, IntArray]:
        """Return the inputs that each column became, if that is known."""


class Transformer(Protocol):
    """A transformer with scikit-learn's interface."""

    def fit_transform(self, X: RawTable, y: Target) -> RawTable:
        """Learn from rows, and return their inputs."""

    def transform(self, X: RawTable) -> RawTable:
        """Return the inputs of rows."""

    def get_feature_names_out(self, input_features: object = None) -> Sequence[str]:
        """Return the names of the inputs."""


class Predictor(Protocol):
    """A regressor with scikit-learn's interface."""

    def fit(self, X: RawTable, y: Target) -> Self:
        """Learn from rows and targets."""

    def predict(self, X: RawTable) -> Array:
        """Return a prediction for each row."""


class IntervalEstimator(Protocol):
    """An estimator that is trained, calibrated and asked for intervals."""

    def calibrate(self, X: Table, y: Target, **options: Any) -> Self:
        """Learn which interval has which coverage."""

    def fit_calibrate(self, X: Table, y: Target, **options: Any) -> Self:
        """Train on one part of the rows and calibrate on the rest."""

    def predict_interval(self, X: Table, coverage: Levels, **options: Any) -> Any:
        """Return the bounds of intervals."""


class CalibratedEstimator(Protocol):
    """An estimator with a calibration."""

    @property
    def calibrator_(self) -> Calibration:
        """The calibration."""

    def predict_distribution(self, X: Table) -> Any:
        """Return the predictive distributions of rows."""


Scorer = Callable[[IntervalEstimator, Table, Target], float]
