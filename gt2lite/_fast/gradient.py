"""The gradient of the loss of a batch with respect to every parameter, in one flat vector.

Here the pieces meet: constraints (`system`), both passes of the planes (`_fast.planes`) and the
loss (`losses`). This is what a training step costs, except for the optimiser.
"""

from __future__ import annotations

import numpy as np

from gt2lite._fast.memory import Fired, Theta, Wide
from gt2lite._fast.planes import count_wide, fire, pull_back_planes, reduce_planes
from gt2lite._validation import Array
from gt2lite.losses import CompiledLoss, Objective
from gt2lite.system import PARAM_NAMES, Params, sigmoid


class Flat:
    """A copy of the parameters of a system as views into one flat vector.

    Matrices (P, M) lie there column by column, which is how `_fast.planes` reads them, the
    two kinds of shares follow each other, and so do slopes and intercepts of the consequents.

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

    def __init__(self, params: Params) -> None:
        arrays = [params[name] for name in PARAM_NAMES]
        self.vector = np.concatenate([value.ravel(order="F") for value in arrays])
        starts = np.cumsum([0] + [value.size for value in arrays])
        self.params = {
            name: self.vector[start : start + value.size].reshape(value.shape, order="F")
            for name, value, start in zip(PARAM_NAMES, arrays, starts[:-1], strict=True)
        }
        _, _, raw_l, _, a, _ = starts[:-1]
        self.raw_shares = self.vector[raw_l:a].reshape(2, -1)
        self.b = self.vector[a:].reshape(len(params["a0"]), -1, order="F")


class BatchGradient:
    """The gradient of batches under one objective, at parameters that may move meanwhile.

    Callers run it inside `_fast.planes.quiet`, entered where the cost of that does not count.

    Args:
        flat: the system; its numbers are looked at anew in every call.
        objective: planes and levels.
        loss: the loss; None for that of the objective.

    >>> params = {"c": np.zeros((1, 1)), "raw_sigma": np.ones((1, 1)), "raw_l": np.zeros(1),
    ...           "raw_r": np.zeros(1), "a": np.zeros((1, 1)), "a0": np.zeros(1)}
    >>> objective = Objective(np.array([1.0]), np.array([0.0]), np.array([]))
    >>> gradient = BatchGradient(Flat(params), objective)
    >>> X_t, y = np.zeros((1, 2)), np.array([0.3, 0.3])
    >>> g, ends = gradient(X_t, y)  # of log cosh: the slope of a0 is -tanh(0.3)
    >>> g.round(4) + 0.0, ends.shape
    (array([ 0.    ,  0.    ,  0.    ,  0.    ,  0.    , -0.2913]), (2, 1, 2))
    """

    def __init__(self, flat: Flat, objective: Objective, loss: CompiledLoss | None = None) -> None:
        self._flat = flat
        self._kappa = objective.kappa[:, None]
        self._n_wide = count_wide(self._kappa)
        self._loss = loss or CompiledLoss(objective)
        self._fired: Fired | None = None
        self._wide: Wide | None = None
        self._g = Flat(flat.params)
        c, raw_sigma = self._g.params["c"], self._g.params["raw_sigma"]
        self._P, self._M = len(c), len(c.T)
        self._g_shares = np.empty((2, self._M))
        self._g_theta = Theta(c, raw_sigma, self._g_shares[0], self._g_shares[1], self._g.b)

    def __call__(self, X_t: Array, y: Array) -> tuple[Array, Array]:
        """Return the gradient, in the order of the flat vector, and the ends (2, K, B).

        The gradient is good until the next call.

        Args:
            X_t: scaled inputs (M, B).
            y: scaled targets (B,).
        """
        fired, wide = self._memory(y.size)
        theta, shares = self._constrain()
        fire(theta, X_t, fired)
        ends = reduce_planes(theta, fired, self._kappa, wide)
        g_ends = self._loss.gradient(ends, y)
        pull_back_planes(theta, fired, wide, ends, g_ends, self._g_theta)
        self._pull_back_constraints(shares)
        return self._g.vector, ends

    def _memory(self, B: int) -> tuple[Fired, Wide | None]:
        """Return what batches of that size are computed in."""
        if self._fired is None or self._fired.shape[2] != B:
            sizes = self._M, self._P, B
            self._fired = Fired(*sizes)
            self._wide = Wide(self._n_wide, *sizes) if self._n_wide else None
        return self._fired, self._wide

    def _constrain(self) -> tuple[Theta, Array]:
        """Return what `system.constrain` makes of the parameters, and the shares (2, M or 1).

        Except for the absolute value of `raw_sigma`: only squares of sigma matter, so the sign
        may stay, and the gradient is that of `raw_sigma`.
        """
        flat = self._flat
        shares = sigmoid(flat.raw_shares)
        s: Array = shares
        if shares.shape[1] < self._M:  # one share for all inputs
            s = np.repeat(shares, self._M, axis=1)
        return Theta(flat.params["c"], flat.params["raw_sigma"], s[0], s[1], flat.b), shares

    def _pull_back_constraints(self, shares: Array) -> None:
        """Complete the gradient: that by shares is to become that by `raw_shares`."""
        slope = 1.0 - shares
        slope *= shares  # of the sigmoid
        g = self._g_shares
        if shares.shape[1] < self._M:  # one share for all inputs
            g = g.sum(axis=1, keepdims=True)
        np.multiply(g, slope, out=self._g.raw_shares)
