"""Where learning starts: parameters drawn so that every rule stands where the data is.

Two ways to place the rules. *Per input*, as in the authors' public code (the paper gives no
start values): k-means on each input alone, its centres dealt to the rules at random, so that a
rule may stand where no data is. *Joint*, an addition: k-means on whole rows, a rule at each centre.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gt2lite._checks import Array, between, matrix, one_of, whole
from gt2lite._threads import one_blas_thread
from gt2lite.system import Params, param_shapes

STARTS = ("per_input", "joint")


def init_params(
    X: Array,
    n_rules: int,
    rng: np.random.Generator,
    *,
    smf: str = "per_input",
    start: str = "per_input",
    sigma_scale: float = 1.0,
) -> Params:
    """Return start values: centres where the data is, nearly flat consequents.

    Sigma is the spread of the input (1 where it has none) times `sigma_scale`; the rest is
    drawn uniformly, consequents from (0, 0.01) and the raw shares from (0, 0.1). With the
    defaults these are the start values of the authors' public code.

    Args:
        X: scaled inputs (N, M).
        n_rules: P.
        rng: the source of all randomness here.
        smf: "per_input" for a share of its own for each input, as the paper counts
            them, or "scalar" for one on each side, as in the authors' code.
        start: how centres are found: "per_input", each input on its own, or "joint".
        sigma_scale: how wide the memberships are, in spreads. The exponent of a firing is
            the mean over the inputs; at ``1 / sqrt(M)`` it becomes their sum, the plain
            product of Gaussians.

    >>> params = init_params(np.array([[0.0], [1.0], [2.0]]), 2, np.random.default_rng(0))
    >>> {name: value.shape for name, value in params.items()}
    {'c': (2, 1), 'raw_sigma': (2, 1), 'raw_l': (1,), 'raw_r': (1,), 'a': (2, 1), 'a0': (2,)}
    """
    X = matrix("X", X)
    P, M = whole("n_rules", n_rules), X.shape[1]
    shapes = param_shapes(P, M, smf)
    scale = between("sigma_scale", sigma_scale, 0, np.inf)
    if one_of("start", start, STARTS) == "joint":
        c = _kmeans(X, P, rng)
    else:
        c = np.stack([rng.permutation(_kmeans_1d(x, P, rng)) for x in X.T], axis=1)  # (P, M)
    return {
        "c": c,
        "raw_sigma": np.tile(_spread(X) * scale, (P, 1)),
        "raw_l": rng.uniform(0, 0.1, shapes["raw_l"]),
        "raw_r": rng.uniform(0, 0.1, shapes["raw_r"]),
        "a": rng.uniform(0, 0.01, shapes["a"]),
        "a0": rng.uniform(0, 0.01, shapes["a0"]),
    }


def _spread(X: Array) -> Array:
    """Return the spread (M,) of each input, 1 where it has none."""
    with np.errstate(over="ignore", invalid="ignore"):
        spread = X.std(axis=0)
    if not np.isfinite(spread).all():
        raise ValueError(
            f"X must be scaled: column {int(np.argmax(~np.isfinite(spread)))} is "
            "so large that its spread overflows"
        )
    spread[(X.min(axis=0) == X.max(axis=0)) | (spread == 0)] = 1.0
    return spread


@one_blas_thread()  # a row half-way between two centres goes by the last bit
def _kmeans(X: Array, n: int, rng: np.random.Generator, iterations: int = 100) -> Array:
    """Return `n` centres (n, M) of the rows of `X`; fewer distinct rows than that are repeated."""
    rows = np.unique(X, axis=0)
    if len(rows) <= n:
        return np.resize(rows, (n, X.shape[1]))
    centres = _far_apart(rows, n, rng)
    for _ in range(iterations):
        nearest = np.argmin((centres**2).sum(axis=1) - 2 * (X @ centres.T), axis=1)  # (N,)
        counts = np.bincount(nearest, minlength=n)
        sums = np.zeros_like(centres)
        np.add.at(sums, nearest, X)
        full = counts > 0  # a cluster without rows stays where it is
        moved = centres.copy()
        moved[full] = sums[full] / counts[full, None]
        if np.array_equal(moved, centres):
            break
        centres = moved
    return centres


def _far_apart(rows: Array, n: int, rng: np.random.Generator) -> Array:
    """Return `n` distinct rows, each drawn far from the others (k-means++)."""
    chosen = [int(rng.integers(len(rows)))]
    distance = np.full(len(rows), np.inf)
    for _ in range(n - 1):
        distance = np.minimum(distance, ((rows - rows[chosen[-1]]) ** 2).sum(axis=1))
        weight = distance
        if not weight.sum() > 0:  # squares have underflown: any row not yet chosen will do
            weight = (~np.isin(np.arange(len(rows)), chosen)).astype(float)
        chosen.append(int(rng.choice(len(rows), p=weight / weight.sum())))
    return rows[chosen]


def _kmeans_1d(x: Array, n: int, rng: np.random.Generator, iterations: int = 100) -> Array:
    """Return `n` centres of the values `x`; fewer distinct values than that are repeated.

    On a line clusters are stretches of the sorted values, so that a step of Lloyd's
    algorithm is a search for the midpoints and a sum over each stretch.
    """
    values, counts = np.unique(x, return_counts=True)
    if values.size <= n:
        return np.resize(values, n)
    centres = _spread_out(values, counts, n, rng)
    for _ in range(iterations):
        cuts = np.searchsorted(values, (centres[1:] + centres[:-1]) / 2)
        first, last = np.append(0, cuts), np.append(cuts, values.size)
        full = last > first  # a cluster without values stays where it is
        moved = centres.copy()
        moved[full] = np.add.reduceat(counts * values, first[full]) / np.add.reduceat(
            counts, first[full]
        )
        if np.array_equal(moved, centres):
            break
        centres = moved
    return centres


def _spread_out(values: Array, counts: Any, n: int, rng: np.random.Generator) -> Array:
    """Return `n` sorted distinct starting points, each drawn far from the others (k-means++)."""
    chosen = [rng.choice(values, p=counts / counts.sum())]
    distance = np.full(values.size, np.inf)
    for _ in range(n - 1):
        distance = np.minimum(distance, (values - chosen[-1]) ** 2)
        weight = distance * counts
        if not weight.sum() > 0:  # squares have underflown: any value not yet chosen will do
            weight = (~np.isin(values, chosen)).astype(float)
        chosen.append(rng.choice(values, p=weight / weight.sum()))
    return np.sort(np.array(chosen))
