"""General type-2 fuzzy systems: parameters, output and intervals.

A system is a plain dict of arrays (`Params`), all of them free real numbers, so that any
optimiser may move them. `constrain` maps them to what the formulas use, in one place::

    c          (P, M)  centres
    raw_sigma  (P, M)  sigma = |raw_sigma|
    raw_l      (M,)    s_l = sigmoid(raw_l); one entry for all inputs where smf is "scalar"
    raw_r      (M,)    s_r = sigmoid(raw_r); likewise
    a          (P, M)  slopes of the consequents
    a0         (P,)    their intercepts

Type-1 and interval type-2 systems need no code of their own: the plane alpha = 1 is the
one, any single plane below it is the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import autograd.numpy as np
import numpy as onp
from autograd.extend import defvjp, primitive

from gt2lite._fast.parameters import PARAM_NAMES, Params, Theta, sigmoid
from gt2lite._fast.planes import Fired, Wide, fire, reduce_planes
from gt2lite._fast.state import quietly
from gt2lite._threads import one_blas_thread
from gt2lite._validation import Array, matrix, numbers, one_of, vector
from gt2lite.memberships import ALPHA_0, alpha_of, kappa_of, log_firing
from gt2lite.reduction import nest, type_reduce

__all__ = [
    "PARAM_NAMES",
    "SMF_MODES",
    "Params",
    "Planes",
    "constrain",
    "n_parameters",
    "param_shapes",
    "reference_ends",
    "sigmoid",
    "weigh_planes",
]

SMF_MODES = ("per_input", "scalar")

_CHUNK_ELEMENTS = 2**17  # memberships handled at once: about a megabyte, fits a cache
_TYPE_1 = onp.zeros((1, 1))  # the kappa of the plane alpha = 1
_ROUNDING = 64 * onp.finfo(float).eps  # relative to the largest consequent
_CACHE_ELEMENTS = 2**22  # memberships kept between planes: about a hundred megabytes


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
    s_l, s_r = _sigmoid(params["raw_l"]), _sigmoid(params["raw_r"])
    if s_l.shape[0] < params["c"].shape[1]:
        ones = onp.ones(params["c"].shape[1])
        s_l, s_r = s_l * ones, s_r * ones
    b = np.concatenate([params["a"], params["a0"][:, None]], axis=1)
    return Theta(params["c"], np.abs(params["raw_sigma"]), s_l, s_r, b)


_sigmoid = primitive(sigmoid)
defvjp(_sigmoid, lambda s, raw: lambda g: g * s * (1 - s))


def weigh_planes(ends: Array, alphas: Array) -> Array:
    """Return the output of a system (N,) from the ends (2, K, N) of its planes, Eqs. (6), (7)."""
    weights = alphas / (2 * onp.sum(alphas))
    return np.einsum("ekn,k->n", ends, weights)


def reference_ends(params: Params, X: Array, kappa: Sequence[float]) -> Array:
    """Return the ends (2, K, N) of planes straight from the formulas, plane by plane.

    Slow, readable and differentiable by plain autograd: what `Planes` and
    `gt2lite._fast.planes` are checked against.
    """
    theta = constrain(params)
    y = np.dot(X, theta.a.T) + theta.a0  # (N, P), Eq. (2)
    ends = []
    for k in kappa:
        lower, upper = log_firing(X, theta.c, theta.sigma, theta.s_l, theta.s_r, k)  # (N, P)
        top = onp.max(_value(upper), axis=1, keepdims=True)  # a common factor does not matter
        ends.append(np.array(type_reduce(np.exp(lower - top), np.exp(upper - top), y)))
    return np.stack(ends, axis=1)


def _value(x: Any) -> Array:
    """Return the plain array inside autograd's box."""
    while hasattr(x, "_value"):
        x = x._value
    return onp.asarray(x)


def fitting_rows(n_centres: int) -> int:
    """Return the number of rows whose memberships of `n_centres` centres fit into memory."""
    return max(_CACHE_ELEMENTS // n_centres, 1)


class Planes:
    """The planes of a system at the rows of `X`: intervals as a function of alpha.

    Memberships do not depend on the plane: one question about many planes computes them once,
    chunk by chunk. From the second question on they are kept, where they fit into a modest
    amount of memory; for more rows they are recomputed, so that memory stays bounded. (Not
    from the first one on, because to allocate memory takes longer than to fill it.)

    Args:
        params: the system.
        X: scaled inputs (N, M).
        keep: False never keeps memberships, for a few questions at most.

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
        self._kept: dict[int, Fired] = {}
        self._was_asked = False

    def __call__(self, alpha: float | Array) -> tuple[Array, Array]:
        """Return lower and upper ends (N,) of one plane, or of a plane for each row (N,)."""
        kappa = self._kappa(alpha)
        if kappa.ndim:
            kappa = vector("alpha", kappa, self.X.shape[0])
        ends = self._ends(kappa.reshape(1, -1))
        return ends[0, 0], ends[1, 0]

    def __len__(self) -> int:
        return len(self.X)

    def ends(self, alphas: Sequence[float] | Array) -> Array:
        """Return the ends (2, K, N) of the planes `alphas` (K,), or (K, N) if rows differ."""
        values = numbers("alphas", alphas)
        values = matrix("alphas", values) if values.ndim == 2 else vector("alphas", values)[:, None]
        return self._ends(self._kappa(values))

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

    @quietly
    def _ends(self, kappa: Array) -> Array:  # kappa (K, 1) or (K, N)
        ends = onp.empty((2, kappa.shape[0], self.X.shape[0]))
        wide = None
        with one_blas_thread():
            for rows, fired in self._chunks():
                if wide is None or fired.shape[2] != wide.B:
                    wide = Wide(1, *fired.shape)
                k = kappa if kappa.shape[1] == 1 else kappa[:, rows]
                for i in range(len(kappa)):  # one plane at a time: chunks are made for the cache
                    memory = wide if k[i].any() else None
                    ends[:, i : i + 1, rows] = reduce_planes(
                        self._theta, fired, k[i : i + 1], memory
                    )
                ends[:, :, rows] = self._tidied(ends[:, :, rows], fired)
        return nest(ends, kappa)

    def _tidied(self, ends: Array, fired: Fired) -> Array:
        """Return ends (2, K, B) without what rounding alone has put beside their bounds.

        Every end lies between the type-1 output, which all planes contain, and the outermost
        consequent. Far from all data, and where consequents hardly differ, ends come so near
        to a bound that only rounding separates planes, and may swap them. So an end that
        is at a bound to within rounding is put there.
        """
        y = fired.y[0]  # (P, B)
        low, high = y.min(axis=0), y.max(axis=0)
        middle = reduce_planes(self._theta, fired, _TYPE_1, None)[0, 0]
        near = _ROUNDING * onp.maximum(onp.abs(low), onp.abs(high))
        for side, outermost in zip(ends, (low, high), strict=True):
            onp.copyto(side, outermost, where=onp.abs(side - outermost) <= near)
            onp.copyto(side, middle, where=onp.abs(side - middle) <= near)
        lower, upper = ends
        return onp.stack([onp.minimum(lower, middle), onp.maximum(upper, middle)])

    def _chunks(self) -> Iterator[tuple[slice, Fired]]:
        N, (P, M) = self.X.shape[0], self.params["c"].shape
        size = max(_CHUNK_ELEMENTS // (P * M), 1)
        keep = self.keep and self._was_asked and N * P * M <= _CACHE_ELEMENTS
        self._was_asked = True
        fired = None
        for start in range(0, N, size):
            rows = slice(start, min(start + size, N))
            if start in self._kept:
                fired = self._kept[start]
            else:
                if fired is None or keep or fired.shape[2] != rows.stop - start:
                    fired = Fired(M, P, rows.stop - start)
                fire(self._theta, self.X[rows].T, fired)
                if keep:
                    self._kept[start] = fired
            yield rows, fired

    def __getstate__(self) -> dict[str, Any]:
        return {"params": self.params, "X": self.X, "keep": self.keep}

    def __setstate__(self, state: dict[str, Any]) -> None:
        Planes.__init__(self, **state)
