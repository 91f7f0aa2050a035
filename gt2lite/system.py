"""General type-2 fuzzy systems: intervals and output.

`plane_ends` is inference as the paper has it, from inputs to the two ends of every plane, and
`weigh_planes` puts the ends together to the output. `gt2lite.parameters` describes what a system
consists of. `Planes` are the same intervals as a function of alpha, computed by `gt2lite._fast`.

Type-1 and interval type-2 systems need no code of their own: the plane alpha = 1 is the
one, any single plane below it is the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import autograd.numpy as np
import numpy as onp
from autograd.tracer import getval

from gt2lite._fast.chunks import ChunkedPlanes, fitting_rows, nest
from gt2lite._validation import Array, matrix, numbers, vector
from gt2lite.memberships import ALPHA_0, alpha_of, kappa_of, log_firing
from gt2lite.parameters import (
    PARAM_NAMES,
    SMF_MODES,
    Params,
    constrain,
    n_parameters,
    param_shapes,
)
from gt2lite.reduction import try_switch_points

__all__ = [
    "PARAM_NAMES",
    "SMF_MODES",
    "Params",
    "Planes",
    "constrain",
    "fitting_rows",
    "n_parameters",
    "nest",
    "param_shapes",
    "plane_ends",
    "weigh_planes",
]


def plane_ends(params: Params, X: Array, kappa: Sequence[float] | Array) -> Array:
    """Return the ends (2, K, N) of planes straight from the formulas, plane by plane, Eq. (8).

    Differentiable by autograd: this is what ``train(..., engine="autograd")`` trains.

    Args:
        params: the system.
        X: scaled inputs (N, M).
        kappa: the planes (K,), see `gt2lite.memberships.kappa_of`.
    """
    c, sigma, s_l, s_r, _ = theta = constrain(params)
    y = np.dot(X, theta.a.T) + theta.a0  # (N, P) consequents, Eq. (2)
    ends = []
    for k in kappa:
        lower, upper = log_firing(X, c, sigma, s_l, s_r, k)  # (N, P), Eqs. (4), (5), (9)
        top = onp.max(getval(upper), axis=1, keepdims=True)  # a common factor does not matter
        ends.append(np.array(try_switch_points(np.exp(lower - top), np.exp(upper - top), y)))
    return np.stack(ends, axis=1)


def weigh_planes(ends: Array, alphas: Array) -> Array:
    """Return the output of a system (N,) from the ends (2, K, N) of its planes, Eqs. (6), (7)."""
    weights = alphas / (2 * onp.sum(alphas))
    return np.einsum("ekn,k->n", ends, weights)


class Planes:
    """The planes of a system at the rows of `X`: intervals as a function of alpha.

    Args:
        params: the system.
        X: scaled inputs (N, M).
        keep: False never keeps memberships between questions, see `gt2lite._fast.chunks`.

    >>> from gt2lite.training import init_params
    >>> rng = onp.random.default_rng(0)
    >>> X = rng.normal(size=(5, 2))
    >>> planes = Planes(init_params(X, 3, rng), X)
    >>> lower, upper = planes(0.01)
    >>> inner_lower, inner_upper = planes(0.5)
    >>> bool((lower <= inner_lower).all() and (inner_upper <= upper).all())
    True
    """

    def __init__(self, params: Params, X: Array, keep: bool = True) -> None:
        self.params, self.keep = params, keep
        self.X = matrix("X", X)
        M = params["c"].shape[1]
        if self.X.shape[1] != M:
            raise ValueError(f"X must have {M} columns, as in training, got {self.X.shape[1]}")
        self._theta = constrain(params)
        self._chunked = ChunkedPlanes(self._theta, self.X, keep)

    def __call__(self, alpha: float | Array) -> tuple[Array, Array]:
        """Return lower and upper ends (N,) of one plane, or of a plane for each row (N,)."""
        kappa = self._kappa(alpha)
        if kappa.ndim:
            kappa = vector("alpha", kappa, self.X.shape[0])
        ends = self._chunked.ends(kappa.reshape(1, -1))
        return ends[0, 0], ends[1, 0]

    def __len__(self) -> int:
        return len(self.X)

    def ends(self, alphas: Sequence[float] | Array) -> Array:
        """Return the ends (2, K, N) of the planes `alphas` (K,), or (K, N) if rows differ."""
        values = numbers("alphas", alphas)
        values = matrix("alphas", values) if values.ndim == 2 else vector("alphas", values)[:, None]
        return self._chunked.ends(self._kappa(values))

    def output(self, alphas: Sequence[float] | Array) -> Array:
        """Return the output (N,) of the system made of the planes `alphas`, Eq. (6)."""
        return weigh_planes(self.ends(alphas), onp.asarray(alphas, dtype=float))

    @property
    def alpha_min(self) -> float:
        """The lowest plane of this system; further down memberships would leave [0, 1].

        With kappa just short of ``1 / max(s)``, so that rounding cannot pass that limit,
        an alpha that is a float, and never above alpha_0.
        """
        kappa = (1 - 2.0**-26) * self._widest
        return min(max(alpha_of(kappa), float(onp.finfo(float).tiny)), ALPHA_0)

    @property
    def _widest(self) -> float:
        s = max(self._theta.s_l.max(), self._theta.s_r.max(), onp.finfo(float).tiny)
        return float(1 / s)

    def _kappa(self, alpha: float | Array) -> Array:
        kappa = onp.asarray(kappa_of(alpha), dtype=float)
        widest = self._widest
        if kappa.max() > widest:  # memberships would leave [0, 1]
            raise ValueError(
                f"alpha must be at least {alpha_of(widest):.3g} for this system, got {alpha}"
            )
        return kappa

    def parts(self) -> Iterator[tuple[slice, Planes]]:
        """Yield the rows in stretches whose memberships can be kept: (rows, their planes).

        For work that looks at many planes of one stretch before it goes on to the next.
        """
        size = fitting_rows(self.params["c"].size)
        if len(self.X) <= size:
            yield slice(0, len(self.X)), self
            return
        for start in range(0, len(self.X), size):
            rows = slice(start, min(start + size, len(self.X)))
            yield rows, Planes(self.params, self.X[rows])

    def __getstate__(self) -> dict[str, object]:
        return {"params": self.params, "X": self.X, "keep": self.keep}

    def __setstate__(self, state: dict[str, Params | Array | bool]) -> None:
        self.__init__(**state)  # type: ignore[misc]
