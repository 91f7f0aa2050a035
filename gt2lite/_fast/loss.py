"""The loss of `gt2lite.losses` and its gradient by the ends, in closed form."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from gt2lite._validation import Array

if TYPE_CHECKING:
    from gt2lite.losses import Objective


def loss_and_gradient(ends: Array, y: Array, objective: Objective) -> tuple[float, Array]:
    """Return the loss and its gradient with respect to the ends (2, K, N), in closed form.

    Where an end meets a target exactly the pinball loss has a kink; the slope taken is
    that from above (the target exceeds the end).
    """
    compiled = CompiledLoss(objective)
    return compiled.value(ends, y), compiled.gradient(ends, y)


class CompiledLoss:
    """The loss of one objective and its gradient, in closed form, with constants at hand.

    Value and gradient are separate because a training step needs the gradient only: the values of
    a whole epoch are computed at its end, at once.
    """

    def __init__(self, objective: Objective, dtype: Any = float) -> None:
        alphas, levels = (np.asarray(part, dtype) for part in (objective.alphas, objective.levels))
        weights = alphas / (2 * alphas.sum())
        self._weights = np.concatenate([weights, weights])  # (2K,) of lower and upper ends
        self._column = self._weights.reshape(2, -1, 1)
        self._lean = np.stack([-levels, levels])[:, :, None] / 2  # (2, K', 1) tau - 1/2
        self._n_learn = levels.size

    def value(self, ends: Array, y: Array, X: Array | None = None) -> float:
        """Return the loss of the ends (2, K, N) at the targets `y` (N,).

        The inputs `X` (N, M) do not matter here; a subclass may depend on them.
        """
        size = np.abs(self._error(ends, y))
        total = (size + np.log1p(np.exp(-2 * size))).sum() - y.size * math.log(2)  # log cosh
        gap = y - ends[:, : self._n_learn]  # (2, K', N)
        total += ((np.copysign(0.5, gap) + self._lean) * gap).sum()  # pinball
        return float(total) / y.size

    def gradient(self, ends: Array, y: Array, X: Array | None = None) -> Array:
        """Return the gradient with respect to the ends (2, K, N); arguments as for `value`."""
        error = self._error(ends, y)
        np.tanh(error, out=error)
        g_ends = self._column * error
        # a pinball loss has the slope tau - 1 where its end is above the target, else tau
        slope = y - ends[:, : self._n_learn]
        np.copysign(0.5, slope, out=slope)
        slope += self._lean
        g_ends[:, : self._n_learn] -= slope
        g_ends /= y.size
        return g_ends

    def _error(self, ends: Array, y: Array) -> Array:
        """Return output minus target."""
        error = np.dot(self._weights, ends.reshape(-1, y.size))
        error -= y
        return error
