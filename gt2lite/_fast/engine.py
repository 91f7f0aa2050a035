"""The engine "fast" of `gt2lite.training`: planes, loss and gradient in closed form."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gt2lite._fast.chunks import ChunkedPlanes
from gt2lite._fast.gradient import BatchGradient
from gt2lite._fast.loss import CompiledLoss
from gt2lite._fast.parameters import Flat
from gt2lite._validation import Array
from gt2lite.parameters import Params, constrain

if TYPE_CHECKING:
    from gt2lite.losses import Objective


class FastEngine:
    """Planes, loss and gradient of a system in training, see `gt2lite.training.Engine`.

    Callers run it inside `_fast.state.quietly`.

    Args:
        flat: the parameters that move; they are read anew in every call.
        objective: planes and levels.
        loss: another loss than that of the objective.
    """

    def __init__(self, flat: Flat, objective: Objective, loss: CompiledLoss | None = None) -> None:
        self._loss = loss or CompiledLoss(objective, flat.vector.dtype)
        self._kappa = objective.kappa[:, None]
        self.loss = self._loss.value
        self.gradient = BatchGradient(flat, objective.kappa, self._loss.gradient)

    def ends(self, params: Params, X: Array) -> Array:
        """Return the ends (2, K, N) of all planes, in double precision."""
        return ChunkedPlanes(constrain(params), np.asarray(X, dtype=float), keep=False).ends(
            self._kappa
        )
