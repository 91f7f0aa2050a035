"""One training step: forward, loss, backward, Adam. Ours, autograd, JAX and PyTorch side by side.

The recipe is the paper's (10 rules, batches of 64, planes 0.01, 0.5 and 1, dual loss), for the 11
inputs of White Wine, in float64. All four compute the same loss and gradient, which is checked first.
Whatever forms JAX and PyTorch are fastest with are used; `_rivals.py` has them.
"""

from __future__ import annotations

import _measure
import autograd
import numpy as np

from gt2lite import kernel, losses, system, training

try:
    import _rivals
except ImportError as error:  # pragma: no cover
    raise SystemExit(f"run this script from its folder's own path: {error}") from error
