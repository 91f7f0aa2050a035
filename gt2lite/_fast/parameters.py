"""The parameters of a system as one flat vector."""

from __future__ import annotations

from typing import Any

import numpy as np

from gt2lite._validation import Array
from gt2lite.parameters import PARAM_NAMES, Params


def sigmoid(raw: Array) -> Array:
    """Return `gt2lite.parameters.sigmoid`, with one temporary array in place of four."""
    s = np.tanh(0.5 * raw)
    s += 1
    s *= 0.5
    return s


class Flat:
    """A copy of the parameters of a system as views into one flat vector.

    Matrices (P, M) lie there column by column, which is how `_fast.planes` reads them, the
    two kinds of shares follow each other, and so do slopes and intercepts of the consequents.

    Args:
        params: the parameters by name.
        dtype: of the vector; None for that of the parameters.

    Attributes:
        vector: all numbers.
        params: the parameters, as views.
        raw_shares: `raw_l` and `raw_r` as one view, (2, M) or (2, 1).
        b: `a` and `a0` as one view (P, M + 1).

    >>> flat = Flat({"c": np.array([[1.0, 2.0]]), "raw_sigma": np.ones((1, 2)),
    ...     "raw_l": np.zeros(2), "raw_r": np.ones(2), "a": np.array([[3.0, 4.0]]),
    ...     "a0": np.array([5.0])})
    >>> flat.vector
    array([1., 2., 1., 1., 0., 0., 1., 1., 3., 4., 5.])
    >>> flat.vector[-1] = 6
    >>> flat.params["a0"], flat.b
    (array([6.]), array([[3., 4., 6.]]))
    """

    def __init__(self, params: Params, dtype: Any = None) -> None:
        arrays = [np.asarray(params[name], dtype) for name in PARAM_NAMES]
        self.vector = np.concatenate([value.ravel(order="F") for value in arrays])
        starts = np.cumsum([0] + [value.size for value in arrays])
        self.params = {
            name: self.vector[start : start + value.size].reshape(value.shape, order="F")
            for name, value, start in zip(PARAM_NAMES, arrays, starts[:-1], strict=True)
        }
        _, _, raw_l, _, a, _ = starts[:-1]
        self.raw_shares = self.vector[raw_l:a].reshape(2, -1)
        self.b = self.vector[a:].reshape(len(params["a0"]), -1, order="F")
