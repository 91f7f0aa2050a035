"""Inputs as ranks: where among the training rows a value stands, from 0 to 100 %.

For inputs with long tails: a few values far out take all the room that an even spread of centres
and widths would need. Ranks have no tails. A value beyond all of training has the rank
of the outermost one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gt2lite._checks import Array

MOST_KNOTS = 101
SPREAD = float(np.sqrt(1 / 12))
"""The standard deviation of ranks that are spread evenly over [0, 1]."""


@dataclass(frozen=True, eq=False)
class Ranks:
    """The quantiles of each input, between which a rank is interpolated.

    Attributes:
        knots: (G, M) quantiles of training, from the smallest to the largest value.

    >>> ranks = Ranks.fit(np.array([[0.0], [1.0], [10.0], [1000.0], [2000.0]]))
    >>> (ranks.share(np.array([[1.0], [505.0], [9999.0]])) * 100).ravel().tolist()
    [25.0, 62.5, 100.0]
    """

    knots: Array

    @classmethod
    def fit(cls, X: Array) -> Ranks:
        """Learn the quantiles of inputs `X` (N, M)."""
        return cls(np.quantile(X, np.linspace(0, 1, min(MOST_KNOTS, max(len(X), 2))), axis=0))

    def share(self, X: Array) -> Array:
        """Return the ranks (N, M) of inputs, in [0, 1]; a value that is often met has its middle.

        A column that was constant in training has the rank 1/2.
        """
        grid = np.linspace(0, 1, len(self.knots))
        found = np.empty_like(X)
        for x, knots, out in zip(X.T, self.knots.T, found.T, strict=True):
            # equal knots: from the left the highest of their ranks, from the right the lowest
            low = np.interp(x, knots, grid)
            high = 1 - np.interp(-x, -knots[::-1], grid)
            out[:] = (low + high) / 2
            if knots[0] == knots[-1]:
                out[:] = 0.5
        return found

    def transform(self, X: Array) -> Array:
        """Return ranks (N, M) with mean 0 and spread 1, as a system learns from them."""
        return (self.share(X) - 0.5) / SPREAD
