"""The training step in JAX, compiled, in two forms.

`make_readable_loss` is the formulas as `gt2lite.memberships` and `system.plane_ends` write
them, plane by plane with the batch first: what one would write in JAX, and the same text as the
row "autograd" of the benchmark.

`make_loss` is given all we know: batch last, all planes at once, products rather than sums of
logarithms, the lower firing in closed form, no type reduction at alpha = 1, the switch point
found outside the gradient, one flat vector of parameters whose memory is donated to the next
step. No form that was tried was faster beyond noise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree

from gt2lite.losses import Objective
from gt2lite.system import Params
from gt2lite.training import BETA_1, BETA_2, EPSILON

State = tuple[jax.Array, jax.Array, jax.Array, jax.Array]  # parameters, two moments, steps


def start(params: Params) -> tuple[State, Callable[[jax.Array], Any]]:
    """Return the state before the first step, and what turns its flat vector into parameters."""
    flat, unflatten = ravel_pytree({name: jnp.asarray(v) for name, v in params.items()})
    return (flat, jnp.zeros_like(flat), jnp.zeros_like(flat), jnp.zeros(())), unflatten


def make_loss(objective: Objective) -> Callable[..., jax.Array]:
    """Return the loss as a function of parameters, inputs (M, B) and targets (B,)."""
    kappa = jnp.asarray(objective.kappa[objective.kappa > 0])[:, None]  # (K, 1)
    weights = jnp.asarray(objective.alphas / (2 * objective.alphas.sum()))
    tau = jnp.stack([1 - objective.levels, 1 + objective.levels])[:, :, None] / 2  # (2, K', 1)

    def loss(params: Any, X_t: jax.Array, y: jax.Array) -> jax.Array:
        ends, type_1 = _ends(params, X_t, kappa)  # (2, K - 1, B), (B,)
        ends = jnp.concatenate([ends, jnp.broadcast_to(type_1, (2, 1, y.size))], axis=1)
        error = jnp.abs(y - weights @ (ends[0] + ends[1]))
        gap = y - ends[:, : tau.shape[1]]
        pinball = jnp.maximum(tau * gap, (tau - 1) * gap)
        log_cosh = error + jnp.log1p(jnp.exp(-2 * error)) - jnp.log(2.0)
        return log_cosh.mean() + pinball.sum() / y.size

    return loss


def _ends(params: Any, X_t: jax.Array, kappa: jax.Array) -> tuple[jax.Array, jax.Array]:
    M = X_t.shape[0]
    s_l, s_r = jax.nn.sigmoid(params["raw_l"]), jax.nn.sigmoid(params["raw_r"])
    z = (X_t - params["c"][:, :, None]) / jnp.abs(params["raw_sigma"])[:, :, None]  # (P, M, B)
    log_mu = z**2 / (-2 * M)
    log_f = log_mu.sum(axis=1)  # (P, B)
    t = (kappa * s_r)[:, None, :, None]  # (K, 1, M, 1)
    f_upper = jnp.prod(jnp.exp(log_mu) * (1 - t) + t, axis=2)  # (K, P, B)
    f_lower = jnp.exp(log_f + jnp.log1p(-kappa * s_l).sum(axis=1)[:, None, None])

    y = params["a"] @ X_t + params["a0"][:, None]  # (P, B)
    order = jnp.argsort(y, axis=0)
    y_sorted = jnp.take_along_axis(y, order, axis=0)
    lower, upper = (jnp.take_along_axis(f, order[None], axis=1) for f in (f_lower, f_upper))
    at_l, at_r = _switches(*jax.lax.stop_gradient((lower, upper, y_sorted)))
    rank = jnp.arange(y.shape[0])[:, None]
    w = jnp.stack([jnp.where(rank <= at_l, upper, lower), jnp.where(rank < at_r, lower, upper)])
    type_1 = (jax.nn.softmax(log_f, axis=0) * y).sum(axis=0)
    return (w * y_sorted).sum(axis=2) / w.sum(axis=2), type_1


def _switches(lower: jax.Array, upper: jax.Array, y: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return the best switch points (K, 1, B) for both ends, from running sums."""

    def means(sums: Callable[[jax.Array, jax.Array], jax.Array]) -> jax.Array:
        return sums(upper * y, lower * y) / sums(upper, lower)

    def for_lower_end(upper: jax.Array, lower: jax.Array) -> jax.Array:
        above = jax.lax.cumsum(lower, axis=1, reverse=True) - lower
        return jnp.cumsum(upper, axis=1) + above

    def for_upper_end(upper: jax.Array, lower: jax.Array) -> jax.Array:
        below = jnp.cumsum(lower, axis=1) - lower
        return below + jax.lax.cumsum(upper, axis=1, reverse=True)

    at_l = means(for_lower_end).argmin(axis=1, keepdims=True)
    return at_l, means(for_upper_end).argmax(axis=1, keepdims=True)


def make_readable_loss(objective: Objective) -> Callable[..., jax.Array]:
    """Return the loss as a function of parameters, inputs (M, B) and targets (B,)."""
    weights = objective.alphas / (2 * objective.alphas.sum())

    def loss(params: Any, X_t: jax.Array, y: jax.Array) -> jax.Array:
        planes = [_readable_ends(params, X_t.T, float(kappa)) for kappa in objective.kappa]
        output = sum(w * (lower + upper) for w, (lower, upper) in zip(weights, planes, strict=True))
        error = jnp.abs(y - output)
        total = jnp.mean(error + jnp.log1p(jnp.exp(-2 * error)) - jnp.log(2.0))
        for level, ends in zip(objective.levels, planes, strict=False):
            for tau, end in zip(((1 - level) / 2, (1 + level) / 2), ends, strict=True):
                total += jnp.mean(jnp.maximum(tau * (y - end), (tau - 1) * (y - end)))
        return total

    return loss


def _readable_ends(params: Any, X: jax.Array, kappa: float) -> tuple[jax.Array, jax.Array]:
    s_l, s_r = jax.nn.sigmoid(params["raw_l"]), jax.nn.sigmoid(params["raw_r"])
    z = (X[:, None, :] - params["c"]) / jnp.abs(params["raw_sigma"])  # (B, P, M)
    log_mu = -(z**2) / (2 * X.shape[1])
    lower = upper = log_mu.sum(axis=2)
    if kappa > 0:
        t = kappa * s_r
        upper = jnp.logaddexp(log_mu + jnp.log1p(-t), jnp.log(t)).sum(axis=2)  # (B, P)
        lower = lower + jnp.log1p(-kappa * s_l).sum()
    top = jax.lax.stop_gradient(upper.max(axis=1, keepdims=True))
    y = X @ params["a"].T + params["a0"]  # (B, P)
    order = jnp.argsort(y, axis=1)
    lower, upper, y = (
        jnp.take_along_axis(v, order, axis=1)
        for v in (jnp.exp(lower - top), jnp.exp(upper - top), y)
    )

    def means(small: jax.Array, large: jax.Array) -> jax.Array:
        """Return the mean for a switch after each rule: `small` up to it, `large` beyond."""
        beyond = [jax.lax.cumsum(v, axis=1, reverse=True) - v for v in (large, large * y)]
        return (jnp.cumsum(small * y, axis=1) + beyond[1]) / (jnp.cumsum(small, axis=1) + beyond[0])

    all_upper = (upper * y).sum(axis=1) / upper.sum(axis=1)  # a switch before the first rule
    return means(upper, lower).min(axis=1), jnp.maximum(means(lower, upper).max(axis=1), all_upper)


def make_step(
    loss: Callable[..., jax.Array], unflatten: Callable[..., Any], rate: float
) -> Callable[..., Any]:
    """Return one step, not yet compiled: (state, X_t, y) to (state, loss)."""

    def step(state: State, X_t: jax.Array, y: jax.Array) -> tuple[State, jax.Array]:
        flat, m, v, count = state
        value, g = jax.value_and_grad(lambda flat: loss(unflatten(flat), X_t, y))(flat)
        count = count + 1
        m = m + (1 - BETA_1) * (g - m)
        v = v + (1 - BETA_2) * (g * g - v)
        rate_now = rate / (1 - BETA_1**count)
        flat = flat - rate_now * m / (jnp.sqrt(v / (1 - BETA_2**count)) + EPSILON)
        return (flat, m, v, count), value

    return step
