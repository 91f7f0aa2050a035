r"""Planes with many inputs: how near their bounds come to the outermost consequents, and why.

All lower firings of a plane carry the factor ``prod_m(1 - kappa s_l)``, which falls geometrically
with the number of inputs. A bound stays away from the outermost consequent by that factor times a
number between two limits that do not depend on the plane (Theorem of chapter 9). This module has
the three numbers, the kappa at which the planes of a system have run together, and shares that are
small enough for many inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gt2lite._threads import one_blas_thread
from gt2lite._validation import Array
from gt2lite.calibration import ConformalCalibrator
from gt2lite.datasets import load_dataset, prepare, split
from gt2lite.memberships import kappa_of, log_firing
from gt2lite.metrics import interval_score, rmse
from gt2lite.reduction import type_reduce
from gt2lite.system import Params, Planes, constrain
from gt2lite.training import Recipe, init_params, train

TRIED, SEEDS = ("pm", "aids"), (0, 1, 2)
"""Data sets and seeds on which small shares are tried."""


def lower_factor(params: Params, kappa: float) -> float:
    """Return the common factor of the lower firings of a plane: ``prod_m(1 - kappa s_l)``."""
    return float(np.prod(1 - kappa * constrain(params).s_l))


def shortfall(params: Params, X: Array, kappa: float) -> tuple[Array, Array, Array]:
    """Return how far the bounds of a plane stay from the smallest and the largest consequent.

    Computed from differences of consequents, so that even 1e-15 of the range is resolved. Returned
    are the lower limit of the theorem, the distances, and the upper limit, (2, N) each.
    """
    theta = constrain(params)
    y = X @ theta.a.T + theta.a0  # (N, P)
    lower, upper = log_firing(X, theta.c, theta.sigma, theta.s_l, theta.s_r, kappa)
    top = upper.max(axis=1, keepdims=True)  # a common factor does not matter
    weights = np.exp(lower - top), np.exp(upper - top)
    f = np.exp(log_firing(X, theta.c, theta.sigma, theta.s_l, theta.s_r, 0.0)[0])
    factor, rows = lower_factor(params, kappa), np.arange(len(y))
    found = []
    for side, outermost in ((1, y.argmin(axis=1)), (-1, y.argmax(axis=1))):
        gaps = side * (y - y[rows, outermost][:, None])  # (N, P), not negative
        end, _ = type_reduce(*weights, gaps)
        pull = factor * (f * gaps).sum(axis=1)
        with np.errstate(divide="ignore", over="ignore"):  # a firing of 0 gives no limit
            above = pull / f[rows, outermost]
        found.append([pull / y.shape[1], end, above])
    least, distance, most = np.array(found).transpose(1, 0, 2)
    return least, distance, most


def lacking(params: Params, X: Array, kappas: Sequence[float] | Array) -> Array:
    """Return the share of the consequents' range that planes lack, mean over the rows (K,).

    Both sides together, as a share of the mean range: 0 if a plane has all of it.
    """
    spread = np.ptp(X @ params["a"].T + params["a0"], axis=1).mean()
    return np.array([shortfall(params, X, k)[1].sum(axis=0).mean() / spread for k in kappas])


def summary(params: Params, X: Array, share: float = 0.01) -> dict[str, Any]:
    """Return how near the planes of a system come to the range of its consequents at X (N, M).

    Returns:
        `inputs`; `shares`, the sum of the lower shares; `factor` of the lower firings at the
        envelope; `lacking`, the share of the range that the envelope lacks; `together`, the plane
        alpha from which on less than `share` is lacking, NaN if there is none.
    """
    alphas = np.arange(99, 0, -1) / 100  # the narrowest first, the envelope last
    short = lacking(params, X, np.asarray(kappa_of(alphas)))
    near = np.flatnonzero(short < share)
    return {
        "inputs": X.shape[1],
        "shares": float(constrain(params).s_l.sum()),
        "factor": lower_factor(params, 1.0),
        "lacking": float(short[-1]),
        "together": float(alphas[near[0]]) if near.size else np.nan,
    }


def made_up(
    n_inputs: int, n_rules: int = 10, n_rows: int = 200, seed: int = 0
) -> tuple[Params, Array]:
    """Return a system with random consequents and all shares one half, and normal inputs."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_inputs))
    params = init_params(X, n_rules, rng)
    params["a0"] = rng.normal(size=n_rules)
    return params | {"raw_l": np.zeros(n_inputs), "raw_r": np.zeros(n_inputs)}, X


def small_shares(params: Params) -> Params:
    """Return the system with lower shares of ``1 / (2 M)`` in place of its own.

    With them the factor of the lower firings hardly depends on the number of inputs: it is about
    ``exp(-kappa / 2)``.
    """
    M = params["c"].shape[1]
    return params | {"raw_l": np.full(params["raw_l"].shape, -np.log(2 * M - 1))}


def trial(
    dataset: str, seed: int, small: bool, *, epochs: int = 100, level: float = 0.9
) -> dict[str, Any]:
    """Train an aligned system with or without small shares at the start; judge it on training rows.

    The training set is split once more, so that calibration and test set are not used. Splits,
    start values and batches are the same with and without small shares.
    """
    whole, recipe = load_dataset(dataset), Recipe(objective="aligned", epochs=epochs)
    rows = split(len(whole.y), seed).train
    data = prepare(replace(whole, X=whole.X[rows], y=whole.y[rows], groups=None), seed)
    rng = np.random.default_rng(seed)
    with one_blas_thread():
        start = init_params(data.X_train, recipe.n_rules, rng)
        start = small_shares(start) if small else start
        trained = train(data.X_train, data.y_train, recipe, seed=rng, start=start, progress=False)
        test = Planes(trained.params, data.X_test)
        cal = Planes(trained.params, data.X_cal)
        lower, upper = ConformalCalibrator().fit(cal, data.y_cal).intervals(test, level)
    return {
        "dataset": dataset,
        "seed": seed,
        "start": "small" if small else "usual",
        "score": interval_score(data.y_test, lower, upper, level),
        "rmse": rmse(data.y_test, test.output(recipe.planes.alphas)),
        "lacking": float(lacking(trained.params, data.X_test, [1.0])[0]),
    }
