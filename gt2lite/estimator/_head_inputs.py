"""What a head learns from: the inputs and what the base predicts, as one table with names."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from gt2lite._checks import Array, IntArray
from gt2lite._tables import Names
from gt2lite.estimator._courses import GRID, Seen

BASE = "base"
"""What the prediction of the base is called among the inputs."""


class HeadInputs:
    """A table (N, M + 1) with names for its columns, which need no data frame."""

    def __init__(self, values: Array, predicted: Array, names: Names | None) -> None:
        known = [f"x{m}" for m in range(values.shape[1])] if names is None else list(names)
        self.values = np.column_stack([values, predicted])
        self.columns = [*known, BASE if BASE not in known else f"{BASE} (prediction)"]

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        return np.array(self.values, dtype=dtype)

    def __len__(self) -> int:
        return len(self.values)

    def take(self, rows: IntArray) -> Self:
        """Return some of the rows."""
        found = object.__new__(type(self))
        found.values, found.columns = self.values[rows], self.columns
        return found


def cross_fit(system: Any, inputs: HeadInputs, errors: Array, rng: np.random.Generator) -> Seen:
    """Return what systems say of the errors (N,) that were trained on the other half of them."""
    from sklearn.base import clone

    first, second = np.array_split(rng.permutation(len(errors)), 2)
    seen = []
    for held, used in ((first, second), (second, first)):
        trained = clone(system).fit(inputs.take(used), errors[used])
        rows = inputs.take(held)
        ends = [trained.predict_interval(rows, alpha=float(alpha)) for alpha in GRID]
        seen.append(Seen(np.stack(ends, axis=1), trained.predict(rows), errors[held]))
    return Seen.joined(seen)


def rms(values: Array) -> float:
    """Return the root mean square.

    >>> rms(np.array([3.0, -3.0]))
    3.0
    """
    return float(np.sqrt(np.mean(values**2)))
