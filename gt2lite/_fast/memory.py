"""What `_fast.planes` computes with: the parameters of a system, and memory that is made once.

The names and shapes of the arrays are explained there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gt2lite._fast.switching import Reduction, cache_line_array
from gt2lite._validation import Array, IntArray


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


class Fired:
    """What a batch does to the rules, whatever the plane; filled by `fire`, again and again."""

    def __init__(self, M: int, P: int, B: int) -> None:
        self.shape = M, P, B
        X = cache_line_array((2, M + 1, B))  # inputs and a row of ones; then rows of -1
        X[0, M], X[1] = 1, -1
        self.X_t = X[0, :M]
        self.X_and_ones = X[0]
        self.X_pairs = X[:, :M].swapaxes(0, 1)  # (M, 2, B)
        lines = cache_line_array((2, M, P))  # z = scale * x - offset
        self.scale, self.offset = lines  # 1 / sigma, over the root of M; and times c
        self.line_pairs = lines.transpose(1, 2, 0)  # (M, P, 2)
        self.z = cache_line_array(
            (M, P, B)
        )  # distance from the centres, such that ln mu = -z**2 / 2
        self.mu = cache_line_array((M, P, B))
        self.mu_rows = self.mu.reshape(M, P * B)
        self.log_f = cache_line_array((P, B))
        self.f = cache_line_array((P, B))  # exp(log_f), over `unit`
        self.unit: Array | float = 1.0  # (B,) the largest exp(log_f) where that is tiny
        self.total = cache_line_array((B,))  # the sum of f
        self.y = cache_line_array((2, P, B))  # consequents and their negatives
        self.positions: IntArray = np.empty((0, 0), dtype=int)  # (P, B), see `sort_rules`


class Wide(Reduction):
    """The V planes of a batch that have a width; filled by `reduce_planes`, again and again."""

    def __init__(self, V: int, M: int, P: int, B: int) -> None:
        super().__init__(V, P, B)
        self.kappa: Array = np.empty((V, 1))  # (V, 1) or (V, B)
        self.shares = cache_line_array(
            (3, V, M, 1)
        )  # t, then the room 1 - kappa s below and above mu
        self.u = cache_line_array((V, M, P, B))  # upper memberships over their room
        self.u_rows = self.u.reshape(V * M, P * B)
