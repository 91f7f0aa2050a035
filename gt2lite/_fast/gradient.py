"""The gradient of the loss of a batch with respect to every parameter, in one flat vector.

This is what a training step costs, except for the optimiser: constraints, both passes of the
planes (`_fast.planes`), and between them the gradient of a loss that the caller hands in.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gt2lite._fast.parameters import Flat, sigmoid
from gt2lite._fast.planes import Fired, Wide, count_wide, fire, pull_back_planes, reduce_planes
from gt2lite._validation import Array
from gt2lite.parameters import Theta

LossGradient = Callable[[Array, Array, Array], Array]
"""The gradient of a loss by the ends (2, K, B), given ends, targets (B,) and inputs (B, M)."""


class BatchGradient:
    """The gradient of batches for given planes, at parameters that may move meanwhile.

    Callers run it inside `_fast.state.quietly`, at a level where the cost of that does not count.

    Args:
        flat: the system; its numbers are read anew in every call.
        kappa: the planes (K,), falling.
        loss_gradient: the gradient of the loss by the ends of these planes.

    >>> params = {"c": np.zeros((1, 1)), "raw_sigma": np.ones((1, 1)), "raw_l": np.zeros(1),
    ...           "raw_r": np.zeros(1), "a": np.zeros((1, 1)), "a0": np.zeros(1)}
    >>> def squares(ends, y, X):  # the gradient of the mean of (y - middle)**2
    ...     return np.stack([(ends.mean(axis=0) - y) / y.size] * 2)
    >>> gradient = BatchGradient(Flat(params), np.zeros(1), squares)  # the plane alpha = 1
    >>> X, y = np.zeros((2, 1)), np.array([0.3, 0.3])
    >>> g, ends = gradient(X, y)  # the slope of a0 is 2 * (0 - 0.3)
    >>> g.round(4) + 0.0, ends.shape
    (array([ 0. ,  0. ,  0. ,  0. ,  0. , -0.6]), (2, 1, 2))
    """

    def __init__(self, flat: Flat, kappa: Array, loss_gradient: LossGradient) -> None:
        self._flat = flat
        self._dtype = flat.vector.dtype
        self._kappa = kappa[:, None].astype(self._dtype)
        self._n_wide = count_wide(self._kappa)
        self._loss_gradient = loss_gradient
        self._fired: Fired | None = None
        self._wide: Wide | None = None
        self._g = Flat(flat.params)
        c, raw_sigma = self._g.params["c"], self._g.params["raw_sigma"]
        self._P, self._M = len(c), len(c.T)
        self._g_shares = np.empty((2, self._M), self._dtype)
        self._g_theta = Theta(c, raw_sigma, self._g_shares[0], self._g_shares[1], self._g.b)

    def __call__(self, X: Array, y: Array) -> tuple[Array, Array]:
        """Return the gradient, in the order of the flat vector, and the ends (2, K, B).

        The gradient is overwritten by the next call.

        Args:
            X: scaled inputs (B, M).
            y: scaled targets (B,).
        """
        if self._fired is None or self._fired.shape[2] != y.size:
            sizes = self._M, self._P, y.size
            self._fired = Fired(*sizes, self._dtype)
            self._wide = Wide(self._n_wide, *sizes, self._dtype) if self._n_wide else None
        fired, wide, flat = self._fired, self._wide, self._flat
        # as in `system.constrain`, except for the absolute value of `raw_sigma`: only squares of
        # sigma matter, so the sign may stay, and the gradient is that of `raw_sigma`
        shares = s = sigmoid(flat.raw_shares)  # (2, M or 1)
        is_scalar = shares.shape[1] < self._M  # one share for all inputs
        if is_scalar:
            s = np.repeat(shares, self._M, axis=1)
        theta = Theta(flat.params["c"], flat.params["raw_sigma"], s[0], s[1], flat.b)
        fire(theta, X.T, fired)
        ends = reduce_planes(theta, fired, self._kappa, wide)
        g_ends = self._loss_gradient(ends, y, X)
        pull_back_planes(theta, fired, wide, ends, g_ends, self._g_theta)
        slope = 1.0 - shares
        slope *= shares  # of the sigmoid
        g = self._g_shares
        if is_scalar:
            g = g.sum(axis=1, keepdims=True)
        np.multiply(g, slope, out=self._g.raw_shares)
        return self._g.vector, ends
