"""A general type-2 fuzzy logic system: its parameters, their start, its output and intervals.

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

from gt2lite._checks import Array, matrix, one_of, vector, whole
from gt2lite.kernel import Fired, Scratch, Theta, fire, reduce_planes
from gt2lite.memberships import alpha_of, kappa_of, log_firing
from gt2lite.reduction import type_reduce

Params = dict[str, Array]

SMF_MODES = ("per_input", "scalar")

_CHUNK_ELEMENTS = 2**17  # memberships handled at once: about a megabyte, fits a cache
_CACHE_ELEMENTS = 2**22  # memberships kept between planes: about a hundred megabytes


def param_shapes(P: int, M: int, smf: str) -> dict[str, tuple[int, ...]]:
    """Return the name and shape of every parameter, in the order in which they are kept."""
    shares = (M,) if one_of("smf", smf, SMF_MODES) == "per_input" else (1,)
    return {
        "c": (P, M),
        "raw_sigma": (P, M),
        "raw_l": shares,
        "raw_r": shares,
        "a": (P, M),
        "a0": (P,),
    }


def init_params(
    X: Array, n_rules: int, rng: onp.random.Generator, *, smf: str = "per_input"
) -> Params:
    """Return start values: centres where the data is, nearly flat consequents.

    Centres are found by k-means on each input alone and dealt to the rules in random
    order; sigma is the spread of the input (1 where it has none); the rest is drawn
    uniformly, consequents from (0, 0.01) and the raw shares from (0, 0.1).

    Args:
        X: scaled inputs (N, M).
        n_rules: P.
        rng: the source of all randomness here.
        smf: "per_input" for a share of its own for each input, as the paper counts
            them, or "scalar" for one on each side, as in the authors' code.

    >>> params = init_params(onp.array([[0.0], [1.0], [2.0]]), 2, onp.random.default_rng(0))
    >>> {name: value.shape for name, value in params.items()}
    {'c': (2, 1), 'raw_sigma': (2, 1), 'raw_l': (1,), 'raw_r': (1,), 'a': (2, 1), 'a0': (2,)}
    """
    X = matrix("X", X)
    P, M = whole("n_rules", n_rules), X.shape[1]
    shapes = param_shapes(P, M, smf)
    c = onp.stack([rng.permutation(_kmeans_1d(x, P, rng)) for x in X.T], axis=1)  # (P, M)
    with onp.errstate(over="ignore", invalid="ignore"):
        spread = X.std(axis=0)
    if not onp.isfinite(spread).all():
        raise ValueError(
            f"X must be scaled: column {int(onp.argmax(~onp.isfinite(spread)))} is "
            "so large that its spread overflows"
        )
    spread[(X.min(axis=0) == X.max(axis=0)) | (spread == 0)] = 1.0
    return {
        "c": c,
        "raw_sigma": onp.tile(spread, (P, 1)),
        "raw_l": rng.uniform(0, 0.1, shapes["raw_l"]),
        "raw_r": rng.uniform(0, 0.1, shapes["raw_r"]),
        "a": rng.uniform(0, 0.01, shapes["a"]),
        "a0": rng.uniform(0, 0.01, shapes["a0"]),
    }


def _kmeans_1d(x: Array, n: int, rng: onp.random.Generator, iterations: int = 100) -> Array:
    """Return `n` centres of the values `x`; fewer distinct values than that are repeated.

    On a line clusters are stretches of the sorted values, so that a step of Lloyd's
    algorithm is a search for the midpoints and a sum over each stretch.
    """
    values, counts = onp.unique(x, return_counts=True)
    if values.size <= n:
        return onp.resize(values, n)
    centres = _spread_out(values, counts, n, rng)
    for _ in range(iterations):
        cuts = onp.searchsorted(values, (centres[1:] + centres[:-1]) / 2)
        first, last = onp.append(0, cuts), onp.append(cuts, values.size)
        full = last > first  # a cluster without values stays where it is
        moved = centres.copy()
        moved[full] = onp.add.reduceat(counts * values, first[full]) / onp.add.reduceat(
            counts, first[full]
        )
        if onp.array_equal(moved, centres):
            break
        centres = moved
    return centres


def _spread_out(values: Array, counts: Any, n: int, rng: onp.random.Generator) -> Array:
    """Return `n` sorted distinct starting points, each drawn far from the others (k-means++)."""
    chosen = [rng.choice(values, p=counts / counts.sum())]
    distance = onp.full(values.size, onp.inf)
    for _ in range(n - 1):
        distance = onp.minimum(distance, (values - chosen[-1]) ** 2)
        weight = distance * counts
        if not weight.sum() > 0:  # squares have underflown: any value not yet chosen will do
            weight = (~onp.isin(values, chosen)).astype(float)
        chosen.append(rng.choice(values, p=weight / weight.sum()))
    return onp.sort(onp.array(chosen))


def n_parameters(params: Params) -> int:
    """Return the number of learnable parameters, (2P + 2)M + P(M + 1) for `smf="per_input"`."""
    return sum(value.size for value in params.values())


def constrain(params: Params) -> Theta:
    """Return the parameters as the formulas use them. Differentiable by autograd."""
    ones = onp.ones(params["c"].shape[1])
    return Theta(
        params["c"],
        np.abs(params["raw_sigma"]),
        _sigmoid(params["raw_l"]) * ones,
        _sigmoid(params["raw_r"]) * ones,
        params["a"],
        params["a0"],
    )


def pull_back_constraints(params: Params, theta: Theta, g: Theta) -> Params:
    """Return the gradient with respect to the free parameters, given that of `theta`."""
    g_l = g.s_l * theta.s_l * (1 - theta.s_l)
    g_r = g.s_r * theta.s_r * (1 - theta.s_r)
    scalar = params["raw_l"].size < g_l.size
    return {
        "c": g.c,
        "raw_sigma": g.sigma * onp.sign(params["raw_sigma"]),
        "raw_l": g_l.sum(keepdims=True) if scalar else g_l,
        "raw_r": g_r.sum(keepdims=True) if scalar else g_r,
        "a": g.a,
        "a0": g.a0,
    }


def _sigmoid(raw: Array) -> Array:
    return 0.5 * (np.tanh(0.5 * raw) + 1)  # this form does not overflow


def weigh_planes(ends: Array, alphas: Array) -> Array:
    """Return the output of a system (N,) from the ends (2, K, N) of its planes, Eqs. (6), (7)."""
    weights = alphas / (2 * onp.sum(alphas))
    return np.einsum("ekn,k->n", ends, weights)


def reference_ends(params: Params, X: Array, kappa: Sequence[float]) -> Array:
    """Return the ends (2, K, N) of planes straight from the formulas, plane by plane.

    Slow, readable and differentiable by plain autograd: what `Planes` and
    `gt2lite.kernel` are checked against.
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


class Planes:
    """The planes of a system at the rows of `X`: intervals as a function of alpha.

    Memberships do not depend on the plane. They are computed once and kept where they
    fit into a modest amount of memory; for more rows they are recomputed, chunk by
    chunk, so that memory stays bounded.

    Args:
        params: the system.
        X: scaled inputs (N, M).

    >>> rng = onp.random.default_rng(0)
    >>> X = rng.normal(size=(5, 2))
    >>> planes = Planes(init_params(X, 3, rng), X)
    >>> lower, upper = planes(0.01)
    >>> inner_lower, inner_upper = planes(0.5)
    >>> bool((lower <= inner_lower).all() and (inner_upper <= upper).all())
    True
    """

    def __init__(self, params: Params, X: Array) -> None:
        self.params = params
        self.X = matrix("X", X)
        M = params["c"].shape[1]
        if self.X.shape[1] != M:
            raise ValueError(f"X must have {M} columns, as in training; it has {self.X.shape[1]}")
        self._theta = constrain(params)
        self._kept: dict[int, Fired] = {}

    def __call__(self, alpha: float | Array) -> tuple[Array, Array]:
        """Return lower and upper ends (N,) of one plane, or of a plane for each row (N,)."""
        kappa = self._kappa(alpha)
        if kappa.ndim:
            kappa = vector("alpha", kappa, self.X.shape[0])
        ends = self._ends(kappa.reshape(1, -1))
        return ends[0, 0], ends[1, 0]

    def ends(self, alphas: Sequence[float] | Array) -> Array:
        """Return the ends (2, K, N) of the planes `alphas` (K,)."""
        return self._ends(self._kappa(vector("alphas", alphas))[:, None])

    def output(self, alphas: Sequence[float] | Array) -> Array:
        """Return the output (N,) of the system made of the planes `alphas`, Eq. (6)."""
        return weigh_planes(self.ends(alphas), onp.asarray(alphas, dtype=float))

    def _kappa(self, alpha: float | Array) -> Array:
        kappa = onp.asarray(kappa_of(alpha), dtype=float)
        widest = 1 / max(self._theta.s_l.max(), self._theta.s_r.max())
        if kappa.max() > widest:  # memberships would leave [0, 1]
            raise ValueError(
                f"alpha must be at least {alpha_of(widest):.3g} for this system, got {alpha}"
            )
        return kappa

    def parts(self) -> Iterator[tuple[slice, Planes]]:
        """Yield the rows in stretches whose memberships can be kept: (rows, their planes).

        For work that looks at many planes of one stretch before it goes on to the next.
        """
        size = max(_CACHE_ELEMENTS // self.params["c"].size, 1)
        if len(self.X) <= size:
            yield slice(0, len(self.X)), self
            return
        for start in range(0, len(self.X), size):
            rows = slice(start, min(start + size, len(self.X)))
            yield rows, Planes(self.params, self.X[rows])

    def _ends(self, kappa: Array) -> Array:  # kappa (K, 1) or (K, N)
        ends = onp.empty((2, kappa.shape[0], self.X.shape[0]))
        scratch = Scratch()
        with onp.errstate(all="ignore"):
            for rows, fired in self._chunks(scratch):
                k = kappa if kappa.shape[1] == 1 else kappa[:, rows]
                for i in range(len(kappa)):  # one plane at a time: chunks are made for the cache
                    reduced = reduce_planes(self._theta, fired, k[i : i + 1], scratch)
                    ends[:, i, rows] = reduced.ends[:, 0]
        return ends

    def _chunks(self, scratch: Scratch) -> Iterator[tuple[slice, Fired]]:
        N, per_row = self.X.shape[0], self.params["c"].size
        size = max(_CHUNK_ELEMENTS // per_row, 1)
        keep = N * per_row <= _CACHE_ELEMENTS
        for start in range(0, N, size):
            rows = slice(start, min(start + size, N))
            fired = self._kept.get(start)
            if fired is None:
                X_t = onp.ascontiguousarray(self.X[rows].T)
                if keep:
                    fired = self._kept[start] = fire(self._theta, X_t)
                else:
                    fired = fire(self._theta, X_t, scratch)
            yield rows, fired

    def __getstate__(self) -> dict[str, Any]:
        return {"params": self.params, "X": self.X}

    def __setstate__(self, state: dict[str, Any]) -> None:
        Planes.__init__(self, **state)
