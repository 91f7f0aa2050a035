"""The gradient of the loss of a batch with respect to every parameter, in one flat vector.

Here the pieces meet: constraints (`system`), both passes of the planes (`kernel`) and the loss
(`losses`). This is what a training step costs but for the optimiser.
"""

from __future__ import annotations

import numpy as np

from gt2lite._checks import Array
from gt2lite.kernel import Scratch, count_wide, fire, pull_back_planes, reduce_planes
from gt2lite.losses import CompiledLoss, Objective
from gt2lite.system import Params, constrain, pull_back_constraints


class BatchGradient:
    """The gradient of batches under one objective, at parameters that may move meanwhile.

    Callers silence the warnings of NumPy, once, where the cost of that does not count.

    Args:
        params: the system; its arrays are looked at anew in every call.
        objective: planes and levels.
        loss: the loss; None for that of the objective.

    >>> params = {"c": np.zeros((1, 1)), "raw_sigma": np.ones((1, 1)), "raw_l": np.zeros(1),
    ...           "raw_r": np.zeros(1), "a": np.zeros((1, 1)), "a0": np.zeros(1)}
    >>> objective = Objective(np.array([1.0]), np.array([0.0]), np.array([]))
    >>> gradient = BatchGradient(params, objective)
    >>> X_t, y = np.zeros((1, 2)), np.array([0.3, 0.3])
    >>> flat, ends = gradient(X_t, y)  # of log cosh: the slope of a0 is -tanh(0.3)
    >>> flat.round(4) + 0.0, ends.shape
    (array([ 0.    ,  0.    ,  0.    ,  0.    ,  0.    , -0.2913]), (2, 1, 2))
    """

    def __init__(
        self, params: Params, objective: Objective, loss: CompiledLoss | None = None
    ) -> None:
        self._params = params
        self._kappa = objective.kappa[:, None]
        self._n_wide = count_wide(self._kappa)
        self._loss = loss or CompiledLoss(objective)
        self._scratch = Scratch()
        self._parts, self._flat = flatten(params)

    def __call__(self, X_t: Array, y: Array) -> tuple[Array, Array]:
        """Return the flat gradient, good until the next call, and the ends (2, K, B).

        Args:
            X_t: scaled inputs (M, B).
            y: scaled targets (B,).
        """
        theta = constrain(self._params)
        fired = fire(theta, X_t, self._scratch)
        reduced = reduce_planes(theta, fired, self._kappa, self._scratch, n_wide=self._n_wide)
        g_ends = self._loss.gradient(reduced.ends, y)
        g_theta = pull_back_planes(theta, fired, reduced, g_ends, self._scratch)
        for name, g in pull_back_constraints(self._params, theta, g_theta).items():
            self._parts[name][...] = g
        return self._flat, reduced.ends


def flatten(params: Params) -> tuple[Params, Array]:
    """Return a copy of the parameters as views into one flat vector, and that vector."""
    flat = np.concatenate([value.ravel() for value in params.values()])
    ends = np.cumsum([value.size for value in params.values()])
    parts = np.split(flat, ends[:-1])  # views
    return {
        name: part.reshape(value.shape)
        for (name, value), part in zip(params.items(), parts, strict=True)
    }, flat
