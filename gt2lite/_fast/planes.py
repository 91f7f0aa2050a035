r"""The fast path: both ends of all planes for a batch, and their gradient, in one sweep.

The maths is that of `memberships` and `reduction`; only the layout differs. The batch
is the **last** axis of every array and the rules come before it, so that each NumPy call
runs over long contiguous rows, and what belongs to an input or a plane is one number for
P x B of them::

    X_t     (M, B)        inputs, transposed
    z       (M, P, B)     distances from the centres
    mu      (M, P, B)     primary memberships: the same for every plane
    log_f   (P, B)        their log-product: the firing at alpha = 1
    ends    (2, K, B)     lower and upper ends of the K planes
    u       (V, M, P, B)  upper memberships of the first V planes, which have a width, over 1 - t
    firings (V, 2, P, B)  upper and lower ones

Planes of type 1 (kappa = 0) come last, as they do where alphas rise.

What does not depend on the plane is computed once (`fire`) and serves every plane
(`reduce_planes`). Two closed forms save the rest: the lower firing is the type-1
firing times a number, ``prod_m(1 - kappa s_l)``, and a plane with kappa = 0 is a type-1
system, a plain weighted mean. Consequents are sorted once for all planes of a batch; for many
rows `_fast.chunks` adds rule after rule only until none is left outside of an end.

With ``t = kappa s_r`` an upper membership is ``mu (1 - t) + t``, or ``1 - t`` times
``u = mu + t / (1 - t)``: one addition, and ``ln u`` has the slope ``1 / u`` in mu.
Upper firings are plain products as long as ``prod_m t``, which no upper firing can
undercut, and ``prod_m (1 - t)`` are far from underflow; otherwise they come from sums of
logarithms, each of the product of some inputs, relative to the largest in their row. Either way
a sample at 1e6 standard deviations has finite ends.

A training step handles so few numbers that its cost is less the arithmetic than the
calls, and in a call the start of every row. Therefore

- memory is made once, with all its views, and used in every step (`Fired`, `Wide`);
- sums are products with ones, and z, a line in x for each input and rule, is a product of
  (scale, offset) and (x, -1), all by BLAS: a third of the price of two calls with short rows;
- calls run inside `quietly`, which also keeps NumPy from copying short rows into its buffers.

Numbers may underflow on the way, by design; `quietly` also silences that.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from gt2lite._fast.switching import LIMITS, Reduction, cache_line_array, ones, sort_rules
from gt2lite._validation import Array
from gt2lite.parameters import Theta

_SAFE_INPUTS = 5  # inputs whose memberships can be multiplied in single precision


class Fired:
    """Memory for what a batch does to the rules, the same for all planes; filled by `fire`.

    Without `has_z` distances are overwritten by memberships: only gradients need them again.
    """

    def __init__(self, M: int, P: int, B: int, dtype: Any = float, *, has_z: bool = True) -> None:
        self.shape = M, P, B
        self.limits = LIMITS[np.dtype(dtype)]
        array = functools.partial(cache_line_array, dtype=dtype)
        X = array((2, M + 1, B))  # inputs and a row of ones; then rows of -1
        X[0, M], X[1] = 1, -1
        self.X_t = X[0, :M]
        self.X_and_ones = X[0]
        self.X_pairs = X[:, :M].swapaxes(0, 1)  # (M, 2, B)
        lines = array((2, M, P))  # z = scale * x - offset
        self.scale, self.offset = lines  # 1 / sigma, over the root of M; and times c
        self.line_pairs = lines.transpose(1, 2, 0)  # (M, P, 2)
        self.mu = array((M, P, B))
        # distance from centres: ln mu = -z**2 / 2
        self.z = array((M, P, B)) if has_z else self.mu
        self.mu_rows = self.mu.reshape(M, P * B)
        self.log_f = array((P, B))
        self.f = array((P, B))  # exp(log_f), over `unit`
        self.unit: Array | float = 1.0  # (B,) the largest exp(log_f) where that is tiny
        self.total = array((B,))  # the sum of f
        self.y = array((2, P, B))  # consequents and their negatives


class Wide(Reduction):
    """Memory for the V planes of a batch that have a width; filled by `reduce_planes`."""

    def __init__(self, V: int, M: int, P: int, B: int, dtype: Any = float) -> None:
        super().__init__(V, P, B, dtype)
        self.kappa: Array = np.empty((V, 1), dtype)  # (V, 1) or (V, B)
        # t, then the room 1 - kappa s below and above mu
        self.shares = self._array((3, V, M, 1))
        self.u = self._array((V, M, P, B))  # upper memberships over their room
        self.u_rows = self.u.reshape(V * M, P * B)


def fire(theta: Theta, X_t: Array, fired: Fired) -> None:
    """Put memberships, type-1 firings and consequents of a batch `X_t` (M, B) into `fired`."""
    c, sigma, _, _, b = theta
    M, P, B = fired.shape
    z, mu, f = fired.z, fired.mu, fired.f
    dtype, limits = f.dtype, fired.limits
    fired.X_t[:] = X_t
    np.divide(M**-0.5, sigma.T, out=fired.scale)
    np.multiply(c.T, fired.scale, out=fired.offset)
    np.matmul(fired.line_pairs, fired.X_pairs, out=z)

    np.multiply(z, z, out=mu)
    mu *= -0.5
    np.dot(ones(M, dtype), fired.mu_rows, out=fired.log_f.reshape(P * B))
    np.exp(mu, out=mu)
    np.exp(fired.log_f, out=f)
    fired.unit = 1.0
    np.dot(ones(P, dtype), f, out=fired.total)
    if not np.minimum.reduce(fired.total) > limits.safe_product:
        np.maximum(fired.log_f, limits.lowest_log, out=fired.log_f)
        top = np.maximum.reduce(fired.log_f, axis=0)
        np.exp(fired.log_f - top, out=f)
        fired.unit = np.exp(top)
        np.dot(ones(P, dtype), f, out=fired.total)

    y = fired.y[0]
    np.dot(b, fired.X_and_ones, out=y)
    np.negative(y, out=fired.y[1])


def count_wide(kappa: Array) -> int:
    """Return how many of the planes `kappa` (K, 1 or B) have a width; the others come last."""
    return int(np.count_nonzero(kappa.any(axis=1)))


def reduce_planes(theta: Theta, fired: Fired, kappa: Array, wide: Wide | None) -> Array:
    """Return the ends (2, K, B) of planes.

    Args:
        theta: the system.
        fired: what `fire` made of the batch.
        kappa: the planes: (K, 1), or (K, B) for planes that vary by sample.
        wide: memory for those that have a width, the first ones; None where there are none.
    """
    n_wide = 0 if wide is None else wide.K
    ends = np.empty((2, len(kappa), len(fired.total)), fired.f.dtype)
    if n_wide < len(kappa):
        ends[:, n_wide:] = middle_of(fired)
    if wide is not None:
        is_safe = widen(theta, fired, kappa[:n_wide], wide)
        wide.find_lower_ends(fired.y[0], sort_rules(fired.y[0]), all_fire=is_safe)
        ends[0, :n_wide] = wide.lower_ends[0]
        np.negative(wide.lower_ends[1], out=ends[1, :n_wide])
    return ends


def middle_of(fired: Fired) -> Array:
    """Return the output (B,) at alpha = 1, where a system is of type 1: a weighted mean."""
    mean = np.dot(ones(len(fired.f), fired.f.dtype), fired.f * fired.y[0])
    mean /= fired.total
    return mean


def widen(theta: Theta, fired: Fired, kappa: Array, wide: Wide) -> bool:
    """Put the firings of planes `kappa` (V, 1 or B), none of them 0 for all samples, into `wide`.

    They have a common factor for each sample. Returns whether upper firings are positive for sure.
    """
    M = fired.shape[0]
    wide.kappa = kappa
    if wide.shares.shape[3] != kappa.shape[1]:
        wide.shares = cache_line_array((3, len(kappa), M, kappa.shape[1]), wide.u.dtype)
    shares, limits = wide.shares, fired.limits
    t, room = shares[0], shares[1:]
    np.multiply(kappa[:, None], theta.s_l[:, None], out=room[0])
    np.multiply(kappa[:, None], theta.s_r[:, None], out=t)
    room[1] = t
    np.subtract(1.0, room, out=room)
    products = np.multiply.reduce(shares, axis=2)  # (3, V, 1 or B)
    least = np.minimum.reduce(products, axis=None)
    is_safe = bool(least > limits.safe_product)
    if not is_safe:
        np.maximum(room, limits.least_room, out=room)

    np.add(fired.mu, (t / room[1])[:, :, None], out=wide.u)
    if is_safe:
        np.multiply.reduce(wide.u, axis=1, out=wide.upper)
        lower = products[1] * fired.unit
        if least > limits.common_factor:  # the lower firings take over what the upper ones lack
            lower /= products[2]
        else:
            wide.upper *= products[2][:, None]
        np.multiply(fired.f, lower[:, None], out=wide.lower)
    else:
        log_upper = np.maximum(_log_upper(fired, wide, t, room[1]), limits.lowest_log)
        log_lower = (
            np.maximum(fired.log_f, limits.lowest_log) + np.log(room[0]).sum(axis=1)[:, None]
        )
        top = log_upper.max(axis=1, keepdims=True)
        np.exp(log_upper - top, out=wide.upper)
        np.exp(log_lower - top, out=wide.lower)
    return is_safe


def _log_upper(fired: Fired, wide: Wide, t: Array, room: Array) -> Array:
    """Return the logarithms (V, P, B) of upper firings, given t and 1 - t, both (V, M, 1 or B)."""
    n_safe = _SAFE_INPUTS
    if fired.f.dtype == float:
        least = float(np.minimum.reduce(t / room, axis=None))  # no upper membership is below it
        n_safe = int(np.log(fired.limits.safe_product) / np.log(min(least, 0.5))) if least else 0
        if n_safe == 0:
            z = np.matmul(fired.line_pairs, fired.X_pairs)
            log_u = np.logaddexp(np.log(room)[:, :, None] - z**2 / 2, np.log(t)[:, :, None])
            return np.add.reduce(log_u, axis=1)
    # products of a few inputs are safe, which saves most of the logarithms
    total = np.log(room).sum(axis=1)[:, None]
    for start in range(0, wide.u.shape[1], n_safe):
        product = np.multiply.reduce(wide.u[:, start : start + n_safe], axis=1)
        total = total + np.log(product)
    return total


def pull_back_planes(
    theta: Theta, fired: Fired, wide: Wide | None, ends: Array, g_ends: Array, out: Theta
) -> None:
    """Put the gradient with respect to every parameter into `out`, given that of the ends.

    Planes must not vary by sample. The upper memberships in `wide` are lost.

    Args:
        theta: the system.
        fired: what `fire` made of the batch.
        wide: what `reduce_planes` made of it.
        ends: what it returned, (2, K, B).
        g_ends: the gradient with respect to them.
        out: arrays for the result.
    """
    n_wide = 0 if wide is None else wide.K
    plain = None
    if n_wide < g_ends.shape[1]:
        g = g_ends[0, n_wide] + g_ends[1, n_wide]
        for k in range(n_wide + 1, g_ends.shape[1]):
            g += g_ends[0, k] + g_ends[1, k]
        plain = fired.f, ends[0, n_wide], g
    if wide is not None:
        g_log_mu, g_y = _pull_back_wide(fired, wide, g_ends[:, :n_wide], plain, out)
    else:
        assert plain is not None
        f, mean, g = plain
        g_y = f * (g / fired.total)
        g_log_mu = np.tile(g_y * (fired.y[0] - mean), (fired.shape[0], 1, 1))
        out.s_l[:] = out.s_r[:] = 0.0
    _pull_back_rules(theta, fired, g_log_mu, g_y, out)


def _pull_back_wide(
    fired: Fired,
    wide: Wide,
    g_ends: Array,
    plain: tuple[Array, Array, Array] | None,
    out: Theta,
) -> tuple[Array, Array]:
    """Put the gradient by the shares into `out`; return that by ln mu (M, P, B) and by y (P, B)."""
    M, P, B = fired.shape
    V = wide.K
    g_f, g_log_f, g_y = wide.pull_back(g_ends, fired.y, plain=plain, logs=True)
    for by_lower in g_f[0]:
        g_log_f += by_lower
    g_u = np.divide(g_f[1][:, None], wide.u, out=wide.u)

    # ln f_lower = sum_m ln(1 - kappa s_l) + log_f
    # ln f_upper = sum_m ln(1 - t) + ln u, and u = mu - 1 + 1 / (1 - t)
    sum_all = ones(P * B, fired.f.dtype)
    in_all = np.dot(g_f.reshape(2 * V, P * B), sum_all)
    by_input = np.dot(wide.u_rows, sum_all).reshape(V, M)
    room = wide.shares[1:, :, :, 0]  # (2, V, M)
    slopes = wide.kappa / room
    by_input /= room[1]
    by_input -= in_all[V:, None]
    by_input *= slopes[1]
    np.dot(-in_all[:V], slopes[0], out=out.s_l)
    np.dot(ones(V, fired.f.dtype), by_input, out=out.s_r)

    g_log_mu = g_u[0]  # by mu, until it is multiplied by it
    for other in g_u[1:]:
        g_log_mu += other
    g_log_mu *= fired.mu
    g_log_mu += g_log_f
    return g_log_mu, g_y


def _pull_back_rules(theta: Theta, fired: Fired, g_log_mu: Array, g_y: Array, out: Theta) -> None:
    """Put the gradient by centres, widths and consequents into `out`; `g_log_mu` is lost."""
    M, P, _ = fired.shape
    g_z = np.multiply(g_log_mu, fired.z, out=g_log_mu)  # the sign is dropped
    by_scale, by_offset = g_lines = np.empty((2, M, P), g_z.dtype)
    np.matmul(fired.X_pairs, g_z.swapaxes(1, 2), out=g_lines.swapaxes(0, 1))
    by_offset *= fired.scale  # = -g_c
    np.negative(by_offset, out=out.c.T)
    by_scale *= fired.scale
    by_offset *= theta.c.T
    by_scale += by_offset
    np.divide(by_scale, theta.sigma.T, out=out.sigma.T)
    np.dot(fired.X_and_ones, g_y.T, out=out.b.T)
