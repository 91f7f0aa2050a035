"""How much each rule weighs in an output: what type reduction chose, rule by rule.

Every end of a plane is a weighted mean of the consequents, and so is the output, which mixes the
ends of planes. `gt2lite.reduction` returns the means; here are the weights that make them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gt2lite._checks import Array
from gt2lite.memberships import kappa_of, log_firing
from gt2lite.system import Params, constrain

_CHUNK_ELEMENTS = 2**18  # memberships handled at once: a few megabytes


def consequents(params: Params, X: Array) -> Array:
    """Return what each rule says alone (N, P), for scaled inputs `X` (N, M)."""
    return np.asarray(X @ params["a"].T + params["a0"])


def firings(params: Params, X: Array, alpha: float) -> tuple[Array, Array]:
    """Return the lower and upper firing strengths (N, P) of the plane `alpha`."""
    lower, upper = _log_firings(params, X, alpha)
    return np.exp(lower), np.exp(upper)


def end_weights(params: Params, X: Array, alpha: float) -> Array:
    """Return the weights (2, N, P) of the rules in both ends of the plane `alpha`.

    They add up to 1 in each row, and with the consequents they make the lower and upper end.

    >>> ones = np.ones((2, 1))
    >>> params = {"c": np.array([[-1.0], [1.0]]), "raw_sigma": ones, "raw_l": np.zeros(1),
    ...           "raw_r": np.zeros(1), "a": 0 * ones, "a0": np.array([2.0, 5.0])}
    >>> end_weights(params, np.array([[0.0]]), alpha=1.0)[0]  # halfway, and of type 1
    array([[0.5, 0.5]])
    """
    ends = [_choose(params, X[rows], alpha) for rows in _stretches(params, len(X))]
    return np.concatenate(ends, axis=1)


def output_weights(params: Params, X: Array, alphas: Array) -> Array:
    """Return the weights (N, P) of the rules in the output of a system of the planes `alphas`.

    A plane alpha_k enters with ``alpha_k / sum(alphas)``, one half of it for each end.
    """
    shares = np.asarray(alphas, dtype=float) / (2 * np.sum(alphas))
    weights = np.zeros((len(X), len(params["c"])))
    for alpha, share in zip(alphas, shares, strict=True):
        weights += share * end_weights(params, X, float(alpha)).sum(axis=0)
    return weights


def _stretches(params: Params, n_rows: int) -> Iterator[slice]:
    size = max(_CHUNK_ELEMENTS // params["c"].size, 1)
    for start in range(0, n_rows, size):
        yield slice(start, start + size)


def _log_firings(params: Params, X: Array, alpha: float) -> tuple[Array, Array]:
    theta = constrain(params)
    lower, upper = log_firing(X, theta.c, theta.sigma, theta.s_l, theta.s_r, kappa_of(alpha))
    return lower, upper


def _choose(params: Params, X: Array, alpha: float) -> Array:
    log_lower, log_upper = _log_firings(params, X, alpha)
    top = log_upper.max(axis=1, keepdims=True)  # a common factor does not matter
    lower, upper = np.exp(log_lower - top), np.exp(log_upper - top)
    y = consequents(params, X)
    return np.stack([_lower_weights(lower, upper, y), _lower_weights(lower, upper, -y)])


def _lower_weights(lower: Array, upper: Array, y: Array) -> Array:
    """Return the weights (N, P) that make the mean of `y` smallest: upper firing, then lower."""
    order = np.argsort(y, axis=1, kind="stable")
    lo, up, ys = (np.take_along_axis(v, order, axis=1) for v in (lower, upper, y))
    total = _before(up) + _after(lo)  # (N, P + 1): so many rules lie before the switch
    with np.errstate(divide="ignore", invalid="ignore"):
        means = np.where(total > 0, (_before(up * ys) + _after(lo * ys)) / total, np.inf)
    switch = np.argmin(means, axis=1)
    chosen = np.where(np.arange(y.shape[1]) < switch[:, None], up, lo)
    weights = np.empty_like(chosen)
    np.put_along_axis(weights, order, chosen / chosen.sum(axis=1, keepdims=True), axis=1)
    return weights


def _before(values: Array) -> Array:
    """Return the sums (N, P + 1) of the first 0, 1, ..., P values of each row."""
    return np.pad(np.cumsum(values, axis=1), ((0, 0), (1, 0)))


def _after(values: Array) -> Array:
    """Return the sums (N, P + 1) of what the first 0, 1, ..., P values of each row leave."""
    return np.pad(np.cumsum(values[:, ::-1], axis=1)[:, ::-1], ((0, 0), (0, 1)))
