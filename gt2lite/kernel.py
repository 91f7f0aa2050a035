r"""The fast path: both ends of all planes for a batch, and their gradient, in one sweep.

The maths is that of `memberships` and `reduction`; only the layout differs. The batch
is the **last** axis of every array, so that each NumPy call runs over contiguous
rows, and sums over inputs, rules or planes are sums of whole rows::

    X_t     (M, B)        inputs, transposed
    mu      (P, M, B)     primary memberships: the same for every plane
    log_f   (P, B)        their log-product: the firing at alpha = 1
    v       (K, P, M, B)  upper memberships of the K planes that have a width, over t
    f_*     (K, P, B)     firings
    ends    (2, K, B)     lower and upper ends

Planes of type 1 (kappa = 0) come last, as they do where alphas rise.

What does not depend on the plane is computed once (`fire`) and serves every plane
(`reduce_planes`). Two closed forms save the rest: the lower firing is the type-1
firing times a number, ``prod_m(1 - kappa s_l)``, and a plane with kappa = 0 is a type-1
system, a plain weighted mean. Consequents are sorted once for all planes.

With ``t = kappa s_r`` an upper membership is ``mu (1 - t) + t = t v``, ``v = 1 + mu (1 - t) / t``.
Upper firings are plain products as long as ``prod_m t``, which no upper firing can
undercut, is far from underflow; otherwise they come from sums of logarithms, relative to
the largest in their row. Either way a sample at 1e6 standard deviations has finite ends.

Numbers may underflow on the way, by design: callers run these functions inside
``np.errstate(all="ignore")``, once, where the cost of that does not count.

`plane_ends` hooks both passes into autograd, as a primitive that keeps what the
backward pass needs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from autograd.extend import defvjp_argnums, primitive

from gt2lite._checks import Array, IntArray
from gt2lite.reduction import Switches, find_ends, pull_back, rank_rules

_SAFE_LOG_PRODUCT = -460.0  # exp(-460) = 1e-200
_LOWEST_LOG = -1e300  # keeps differences of logarithms finite where squares overflow


class Theta(NamedTuple):
    """The parameters of a system as the formulas use them, constraints applied."""

    c: Array  # (P, M) centres
    sigma: Array  # (P, M) widths, positive
    s_l: Array  # (M,) share of the room below mu, in (0, 1)
    s_r: Array  # (M,) share of the room above mu, in (0, 1)
    a: Array  # (P, M) slopes of the consequents
    a0: Array  # (P,) their intercepts


class Fired(NamedTuple):
    """What a batch does to the rules, whatever the plane."""

    X_t: Array  # (M, B)
    z: Array  # (P, M, B) distance from the centres, in sigmas
    log_mu: Array  # (P, M, B)
    mu: Array  # (P, M, B)
    log_f: Array  # (P, B)
    top: Array  # (B,) the largest log_f
    f: Array  # (P, B) exp(log_f - top)
    y: Array  # (P, B) consequents
    positions: IntArray  # (P, B) what sorts the consequents, see `reduction.rank_rules`
    rank: IntArray  # (P, B)


class Reduced(NamedTuple):
    """The planes of a batch: their ends, and what the backward pass needs of them."""

    ends: Array  # (2, K, B)
    kappa: Array  # (K', 1) or (K', B) of the planes that have a width
    spread: Spread | None  # what belongs to them
    w: Array | None  # (P, B) weights of the type-1 planes, their sum is 1


class Spread(NamedTuple):
    """The K' planes that have a width."""

    t: Array  # (K', M, 1 or B) kappa * s_r
    v: Array  # (K', P, M, B) upper memberships over t
    f_lower: Array  # (K', P, B), up to a factor for each row
    f_upper: Array  # (K', P, B), likewise
    found: Switches


class Scratch:
    """Arrays that are used again at every step, by name: memory that stays warm.

    What `fire` and `reduce_planes` return is then good until the next step only.
    """

    def __init__(self) -> None:
        self._kept: dict[str, Array] = {}

    def __call__(self, name: str, shape: tuple[int, ...]) -> Array:
        """Return an array of that shape; its content is arbitrary."""
        array = self._kept.get(name)
        if array is None or array.shape != shape:
            array = self._kept[name] = np.empty(shape)
        return array


def _fresh(name: str, shape: tuple[int, ...]) -> Array:
    return np.empty(shape)


Allocate = Callable[[str, tuple[int, ...]], Array]


def fire(theta: Theta, X_t: Array, new: Allocate = _fresh) -> Fired:
    """Return memberships, type-1 firings and consequents of a batch `X_t` (M, B).

    `new` provides the large arrays: fresh ones, or those of a `Scratch`.
    """
    c, sigma, _, _, a, a0 = theta
    shape = (*c.shape, X_t.shape[1])  # (P, M, B)
    z = np.subtract(X_t, c[:, :, None], out=new("z", shape))
    z *= (1.0 / sigma)[:, :, None]
    log_mu = np.multiply(z, z, out=new("log_mu", shape))
    log_mu *= -0.5 / X_t.shape[0]
    mu = np.exp(log_mu, out=new("mu", shape))
    log_f = np.maximum(log_mu.sum(axis=1), _LOWEST_LOG)  # (P, B)
    top = log_f.max(axis=0)
    y = a @ X_t
    y += a0[:, None]
    return Fired(X_t, z, log_mu, mu, log_f, top, np.exp(log_f - top), y, *rank_rules(y))


def reduce_planes(theta: Theta, fired: Fired, kappa: Array, new: Allocate = _fresh) -> Reduced:
    """Return the ends of the planes `kappa`: (K, 1), or (K, B) for planes that vary by sample."""
    n_wide = int(np.count_nonzero(kappa.any(axis=1)))
    ends = np.empty((2, kappa.shape[0], fired.y.shape[1]))
    w = spread = None
    if n_wide < len(kappa):
        w = fired.f / fired.f.sum(axis=0)
        ends[:, n_wide:] = (w * fired.y).sum(axis=0)
    if n_wide:
        spread = _spread(theta, fired, kappa[:n_wide], new)
        ends[:, :n_wide] = spread.found.ends
    return Reduced(ends, kappa[:n_wide], spread, w)


def _spread(theta: Theta, fired: Fired, kappa: Array, new: Allocate) -> Spread:
    """Return the planes that have a width: `kappa` (K', 1 or B) is nowhere 0 for a whole plane."""
    t = kappa[:, None] * theta.s_r[:, None]  # (K', M, 1 or B)
    log_t = np.log(t)
    factor = np.log1p(-kappa[:, None] * theta.s_l[:, None]).sum(axis=1)  # (K', 1 or B)
    v = new("v", (len(kappa), *fired.mu.shape))  # (K', P, M, B)
    np.multiply(fired.mu, ((1.0 - t) / t)[:, None], out=v)
    v += 1.0
    floor = log_t.sum(axis=1)  # (K', 1 or B)
    if floor.min() > _SAFE_LOG_PRODUCT:
        f_lower = fired.f * np.exp(fired.top + factor)[:, None]  # (K', P, B)
        f_upper = np.multiply.reduce(v, axis=2)
        f_upper *= np.exp(floor)[:, None]
    else:
        log_u = np.logaddexp(fired.log_mu + np.log1p(-t)[:, None], log_t[:, None])
        log_upper = np.maximum(log_u.sum(axis=2), _LOWEST_LOG)  # (K', P, B)
        top = log_upper.max(axis=1, keepdims=True)
        f_lower = np.exp(fired.log_f + factor[:, None] - top)
        f_upper = np.exp(log_upper - top)
    return Spread(t, v, f_lower, f_upper, find_ends(f_lower, f_upper, fired.y, fired.positions))


def pull_back_planes(
    theta: Theta, fired: Fired, reduced: Reduced, g_ends: Array, new: Allocate = _fresh
) -> Theta:
    """Return the gradient with respect to every parameter, given that of the ends (2, K, B).

    Planes must not vary by sample: `reduced.kappa` is (K', 1).
    """
    M = fired.X_t.shape[0]
    kappa = reduced.kappa
    n_wide = len(kappa)
    g_y = g_log_f = np.zeros_like(fired.y)  # g_log_f: through type-1 and lower firings
    g_log_mu = new("g_log_mu", fired.mu.shape)  # through upper memberships, then through all
    g_sl, g_sr = np.zeros(M), np.zeros(M)

    if reduced.w is not None:
        g_y = reduced.w * g_ends[:, n_wide:].sum(axis=(0, 1))
        g_log_f = g_y * (fired.y - reduced.ends[0, n_wide])
    if reduced.spread is not None:
        t, v, f_lower, f_upper, found = reduced.spread
        g_lo, g_up, g_yk = pull_back(
            g_ends[:, :n_wide], f_lower, f_upper, fired.y, fired.rank, found
        )
        g_y = g_y + g_yk
        g_lo *= f_lower  # from here on with respect to logarithms of firings
        g_up *= f_upper
        g_log_f = g_log_f + g_lo.sum(axis=0)
        g_sl = g_lo.sum(axis=(1, 2)) @ (-kappa / (1.0 - kappa * theta.s_l))
        g_v = np.divide(g_up[:, :, None], v, out=new("g_v", v.shape))  # (K', P, M, B)
        # ln(t v) = ln(mu (1 - t) + t) has the slope (1 - mu) / (t v) in t, (1 - t) / (t v) in mu
        nu = np.subtract(1.0, fired.mu, out=new("nu", fired.mu.shape))
        g_t = np.vecdot(g_v, nu).sum(axis=1) / t[:, :, 0]  # (K', M)
        g_sr = (kappa * g_t).sum(axis=0)
        g_v *= ((1.0 - t) / t)[:, None]
        np.add.reduce(g_v, axis=0, out=g_log_mu)
        g_log_mu *= fired.mu
    else:
        g_log_mu[:] = 0.0

    g_log_mu += g_log_f[:, None]
    scale = 1.0 / theta.sigma
    g_c = np.vecdot(g_log_mu, fired.z)
    g_c *= scale / M
    g_sigma = np.vecdot(g_log_mu, fired.log_mu)
    g_sigma *= -2.0 * scale
    return Theta(g_c, g_sigma, g_sl, g_sr, g_y @ fired.X_t.T, g_y.sum(axis=1))


def plane_ends(theta: Theta, X: Array, kappa: Array) -> Array:
    """Return the ends (2, K, N) of the planes `kappa` (K,), differentiable in `theta`.

    Where some of `kappa` are 0, they come last.
    """
    if (np.diff((kappa == 0).astype(int)) < 0).any():
        raise ValueError(f"kappa must have its zeros last, got {kappa}")
    ends: Array = _plane_ends(*theta, X, kappa, {})
    return ends


@primitive
def _plane_ends(
    c: Array,
    sigma: Array,
    s_l: Array,
    s_r: Array,
    a: Array,
    a0: Array,
    X: Array,
    kappa: Array,
    tape: dict[str, Any],
) -> Array:
    theta = Theta(c, sigma, s_l, s_r, a, a0)
    with np.errstate(all="ignore"):
        fired = fire(theta, np.ascontiguousarray(X.T))
        reduced = reduce_planes(theta, fired, kappa[:, None])
    tape.update(theta=theta, fired=fired, reduced=reduced)
    return reduced.ends


def _plane_ends_vjp(argnums: Any, ans: Any, args: Any, kwargs: Any) -> Any:
    def vjp(g: Array) -> tuple[Array, ...]:
        with np.errstate(all="ignore"):
            grads = pull_back_planes(**args[8], g_ends=g)
        return tuple(grads[i] for i in argnums)

    return vjp


defvjp_argnums(_plane_ends, _plane_ends_vjp)
