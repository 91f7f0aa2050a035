r"""The fast path: both ends of all planes for a batch, and their gradient, in one sweep.

The maths is that of `memberships` and `reduction`; only the layout differs. The batch
is the **last** axis of every array and the rules come before it, so that each NumPy call
runs over long contiguous rows, and what belongs to an input or a plane is one number for
P x B of them::

    X_t     (M, B)        inputs, transposed
    mu      (M, P, B)     primary memberships: the same for every plane
    log_f   (P, B)        their log-product: the firing at alpha = 1
    u       (K, M, P, B)  upper memberships of the K planes that have a width, over 1 - t
    f_*     (K, P, B)     firings
    ends    (2, K, B)     lower and upper ends

Planes of type 1 (kappa = 0) come last, as they do where alphas rise.

What does not depend on the plane is computed once (`fire`) and serves every plane
(`reduce_planes`). Two closed forms save the rest: the lower firing is the type-1
firing times a number, ``prod_m(1 - kappa s_l)``, and a plane with kappa = 0 is a type-1
system, a plain weighted mean. Consequents are sorted once for all planes.

With ``t = kappa s_r`` an upper membership is ``mu (1 - t) + t``, or ``1 - t`` times
``u = mu + t / (1 - t)``: one addition, and ``ln u`` has the slope ``1 / u`` in mu.
Upper firings are plain products as long as ``prod_m t``, which no upper firing can
undercut, and ``prod_m (1 - t)`` are far from underflow; otherwise they come from sums of
logarithms, relative to the largest in their row. Either way a sample at 1e6 standard
deviations has finite ends.

Numbers may underflow on the way, by design: callers run these functions inside
``np.errstate(all="ignore")``, once, where the cost of that does not count.

`plane_ends` hooks both passes into autograd, as a primitive that keeps what the
backward pass needs.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from autograd.extend import defvjp_argnums, primitive

from gt2lite._checks import Array, IntArray
from gt2lite.reduction import find_ends, pull_back, sort_rules

_SAFE_PRODUCT = 1e-200
_LEAST_ROOM = 2.0**-53  # 1 - t where t is 1 to the last bit
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
    scale: Array  # (M, P) 1 / sigma, over the root of 2M
    z: Array  # (M, P, B) distance from the centres, such that ln mu = -z**2
    mu: Array  # (M, P, B)
    log_f: Array  # (P, B)
    top: Array  # (B,) the largest log_f
    f: Array  # (P, B) exp(log_f - top)
    y: Array  # (P, B) consequents
    positions: IntArray  # (P, B) what sorts them, see `reduction.sort_rules`


class Reduced(NamedTuple):
    """The planes of a batch: their ends, and what the backward pass needs of them."""

    ends: Array  # (2, K, B)
    spread: Spread | None  # what belongs to the planes that have a width
    w: Array | None  # (P, B) weights of the type-1 planes, their sum is 1


class Spread(NamedTuple):
    """The K' planes that have a width."""

    kappa: Array  # (K', 1) or (K', B)
    room: Array  # (2, K', M, 1 or B) 1 - kappa * s, lower and upper
    u: Array  # (K', M, P, B) upper memberships over their room
    f_lower: Array  # (K', P, B), up to a factor for each row
    f_upper: Array  # (K', P, B), likewise
    ends: Array  # (2, K', B)


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
    M, B = X_t.shape
    shape = (M, len(c), B)
    z = np.subtract(X_t[:, None], c.T[:, :, None], out=new("z", shape))
    scale = (2.0 * M) ** -0.5 / np.ascontiguousarray(sigma.T)
    z *= scale[:, :, None]
    mu = np.multiply(z, z, out=new("mu", shape))
    np.negative(mu, out=mu)
    log_f = np.add.reduce(mu, axis=0)  # (P, B)
    np.exp(mu, out=mu)
    np.maximum(log_f, _LOWEST_LOG, out=log_f)
    top = np.maximum.reduce(log_f, axis=0)
    f = log_f - top
    np.exp(f, out=f)
    y = a @ X_t
    y += a0[:, None]
    return Fired(X_t, scale, z, mu, log_f, top, f, y, sort_rules(y))


def count_wide(kappa: Array) -> int:
    """Return how many of the planes `kappa` (K, 1 or B) have a width; the others come last."""
    return int(np.count_nonzero(kappa.any(axis=1)))


def reduce_planes(
    theta: Theta,
    fired: Fired,
    kappa: Array,
    new: Allocate = _fresh,
    *,
    n_wide: int | None = None,
) -> Reduced:
    """Return the ends of the planes `kappa`: (K, 1), or (K, B) for planes that vary by sample.

    `n_wide` is `count_wide(kappa)`, from a caller who knows it.
    """
    if n_wide is None:
        n_wide = count_wide(kappa)
    ends = np.empty((2, kappa.shape[0], fired.y.shape[1]))
    w = spread = None
    if n_wide < len(kappa):
        w = fired.f / np.add.reduce(fired.f, axis=0)
        ends[:, n_wide:] = np.add.reduce(w * fired.y, axis=0)
    if n_wide:
        spread = _spread(theta, fired, kappa[:n_wide], new)
        ends[:, :n_wide] = spread.ends
    return Reduced(ends, spread, w)


def _spread(theta: Theta, fired: Fired, kappa: Array, new: Allocate) -> Spread:
    """Return the planes that have a width: `kappa` (K', 1 or B) is nowhere 0 for a whole plane."""
    M, P, B = fired.mu.shape
    shares = np.empty((3, len(kappa), M, kappa.shape[1]))  # t, then the room below and above mu
    t, room = shares[0], shares[1:]
    np.multiply(kappa[:, None], theta.s_r[:, None], out=t)
    np.multiply(kappa[:, None], theta.s_l[:, None], out=room[0])
    room[1] = t
    np.subtract(1.0, room, out=room)
    np.maximum(room, _LEAST_ROOM, out=room)
    u = new("u", (len(kappa), M, P, B))
    np.add(fired.mu, (t / room[1])[:, :, None], out=u)
    _, lower, upper = products = np.multiply.reduce(shares, axis=2)  # (K', 1 or B) each
    if safe := bool(products.min() > _SAFE_PRODUCT):
        f_lower = fired.f * (lower * np.exp(fired.top))[:, None]  # (K', P, B)
        f_upper = np.multiply.reduce(u, axis=1)
        f_upper *= upper[:, None]
    else:
        log_u = np.logaddexp(np.log(room[1])[:, :, None] - fired.z**2, np.log(t)[:, :, None])
        log_upper = np.maximum(np.add.reduce(log_u, axis=1), _LOWEST_LOG)  # (K', P, B)
        top = log_upper.max(axis=1, keepdims=True)
        f_lower = np.exp(fired.log_f + np.log(room[0]).sum(axis=1)[:, None] - top)
        f_upper = np.exp(log_upper - top)
    ends = find_ends(f_lower, f_upper, fired.y, fired.positions, all_fire=safe)
    return Spread(kappa, room, u, f_lower, f_upper, ends)


def pull_back_planes(
    theta: Theta, fired: Fired, reduced: Reduced, g_ends: Array, new: Allocate = _fresh
) -> Theta:
    """Return the gradient with respect to every parameter, given that of the ends (2, K, B).

    Planes must not vary by sample: `kappa` is (K', 1).
    """
    M, P, B = fired.mu.shape
    g_y = g_log_f = np.zeros((P, B))  # g_log_f: through type-1 and lower firings
    g_sl, g_sr = np.zeros(M), np.zeros(M)

    n_wide = 0 if reduced.spread is None else len(reduced.spread.kappa)
    if reduced.w is not None:
        g_y = reduced.w * np.add.reduce(g_ends[:, n_wide:], axis=(0, 1))
        g_log_f = g_y * (fired.y - reduced.ends[0, n_wide])
    if reduced.spread is not None:
        kappa, room, u, f_lower, f_upper, ends = reduced.spread
        g_f, g_yk = pull_back(g_ends[:, :n_wide], f_lower, f_upper, fired.y, ends, logs=True)
        g_yk += g_y
        g_y = g_yk
        for lower in g_f[0]:
            g_log_f = g_log_f + lower
        g_u = np.divide(g_f[1][:, None], u, out=new("u", u.shape))  # with a Scratch in place of u
        ones = _ones(P * B)
        in_all = g_f.reshape(2, n_wide, P * B) @ ones  # (2, K')
        by_input = g_u.reshape(n_wide, M, P * B) @ ones  # (K', M)
        # ln f_lower = sum_m ln(1 - kappa s_l) + log_f
        # ln f_upper = sum_m ln(1 - t) + ln u, and u = mu - 1 + 1 / (1 - t)
        slopes = kappa / room[..., 0]  # (2, K', M)
        by_input /= room[1, ..., 0]
        by_input -= in_all[1][:, None]
        by_input *= slopes[1]
        g_sl, g_sr = -in_all[0] @ slopes[0], np.add.reduce(by_input, axis=0)
        g_log_mu = g_u[0]  # by mu, until it is multiplied by it
        for other in g_u[1:]:
            g_log_mu += other
        g_log_mu *= fired.mu
        g_log_mu += g_log_f
    else:
        g_log_mu = np.tile(g_log_f, (M, 1, 1))

    g_z = np.multiply(g_log_mu, fired.z, out=g_log_mu)  # but for a factor -2
    slope = 2.0 * fired.scale
    g_c = np.add.reduce(g_z, axis=2)
    g_c *= slope
    slope *= (2.0 * M) ** 0.5
    g_sigma = np.vecdot(g_z, fired.z)
    g_sigma *= slope
    return Theta(g_c.T, g_sigma.T, g_sl, g_sr, g_y @ fired.X_t.T, np.add.reduce(g_y, axis=1))


@functools.lru_cache(maxsize=16)
def _ones(n: int) -> Array:
    return np.ones(n)


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
