"""The parameters of a system: names, shapes, and the constraints of the formulas.

A system is a plain dict of arrays (`Params`), all of them free real numbers, so that any
optimiser may move them. `constrain` maps them to what the formulas use, in one place::

    c          (P, M)  centres
    raw_sigma  (P, M)  sigma = |raw_sigma|
    raw_l      (M,)    s_l = sigmoid(raw_l); one entry for all inputs if smf is "scalar"
    raw_r      (M,)    s_r = sigmoid(raw_r); likewise
    a          (P, M)  slopes of the consequents
    a0         (P,)    their intercepts
"""

from __future__ import annotations

from typing import NamedTuple

import autograd.numpy as np
import numpy as onp

from gt2lite._validation import Array, one_of

Params = dict[str, Array]
"""A system: free real numbers by name."""

PARAM_NAMES = ("c", "raw_sigma", "raw_l", "raw_r", "a", "a0")

SMF_MODES = ("per_input", "scalar")
"""Secondary memberships with a share for each input, or with one for all of them."""


class Theta(NamedTuple):
    """The parameters of a system as the formulas use them, constraints applied."""

    c: Array  # (P, M) centres
    sigma: Array  # (P, M) widths; only their squares matter, so a sign does no harm
    s_l: Array  # (M,) share of the room below mu, in (0, 1)
    s_r: Array  # (M,) share of the room above mu, in (0, 1)
    b: Array  # (P, M + 1) slopes of the consequents and, last, their intercepts

    @property
    def a(self) -> Array:
        """The slopes (P, M)."""
        return self.b[:, :-1]

    @property
    def a0(self) -> Array:
        """The intercepts (P,)."""
        return self.b[:, -1]


def param_shapes(P: int, M: int, smf: str) -> dict[str, tuple[int, ...]]:
    """Return the name and shape of every parameter, in the order in which they are kept."""
    shares = (M,) if one_of("smf", smf, SMF_MODES) == "per_input" else (1,)
    shapes = (P, M), (P, M), shares, shares, (P, M), (P,)
    return dict(zip(PARAM_NAMES, shapes, strict=True))


def n_parameters(params: Params) -> int:
    """Return the number of learnable parameters, (2P + 2)M + P(M + 1) for `smf="per_input"`."""
    return sum(value.size for value in params.values())


def constrain(params: Params) -> Theta:
    """Return the parameters as the formulas use them. Differentiable by autograd."""
    s_l, s_r = sigmoid(params["raw_l"]), sigmoid(params["raw_r"])
    if s_l.shape[0] < params["c"].shape[1]:
        ones = onp.ones(params["c"].shape[1])
        s_l, s_r = s_l * ones, s_r * ones
    b = np.concatenate([params["a"], params["a0"][:, None]], axis=1)
    return Theta(params["c"], np.abs(params["raw_sigma"]), s_l, s_r, b)


def sigmoid(raw: Array) -> Array:
    """Return the share in (0, 1) that stands for any real number, in a form without overflow.

    >>> sigmoid(onp.array([0.0, 1e4]))
    array([0.5, 1. ])
    """
    return 0.5 * (np.tanh(0.5 * raw) + 1)
