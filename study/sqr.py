r"""Simultaneous quantile regression (SQR): the plane alpha learns the quantile of level alpha.

The method of the companion paper (Güven, Köklü and Kumbasar, IEEE Trans. Fuzzy Systems, 2025),
after Tagasovska and Lopez-Paz (2019), as in their public MATLAB code. The output of a single plane
is the middle of its bounds,

.. math:: q_\alpha(x) = \tfrac12 \left(\underline y_\alpha(x) + \overline y_\alpha(x)\right),

and it learns the alpha-quantile of the target by the pinball loss. In every step each row of the
batch draws its own alpha. The epoch is kept that has the smallest *calibration error* on validation
rows, the mean of ``|share of targets at or below q - alpha|`` over the levels 0.01, ..., 0.99;
training ends when it has not decreased for 200 epochs. The interval at a level phi reaches from the
quantile ``(1 - phi)/2`` to ``(1 + phi)/2``. Nothing keeps quantiles in order.

Deviation: they draw alpha from U(0, 1). Below 0.01 a membership may become negative, so here it
is drawn from U(0.01, 1).

Planes that vary from row to row have no gradient in `gt2lite.training`, so it is here, in closed
form. `python -m study sqr` trains SQR and aligned systems on the splits of the protocol and writes
`data/results/sqr.csv`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from itertools import product
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd

from gt2lite._threads import one_blas_thread
from gt2lite._validation import Array, matrix, one_of, vector
from gt2lite.calibration import ConformalCalibrator
from gt2lite.datasets import DATASETS, load_dataset, prepare
from gt2lite.losses import pinball
from gt2lite.memberships import ALPHA_0, alpha_of, kappa_of
from gt2lite.metrics import interval_quality, rmse
from gt2lite.recipe import Recipe
from gt2lite.reduction import type_reduce
from gt2lite.system import PARAM_NAMES, Params, Planes, constrain
from gt2lite.training import Adam, Trained, init_params, train
from study import margins

RECIPE = Recipe(smf="scalar", epochs=10_000, learning_rate=1e-2, keep="validation", patience=200)
"""Settings of their example; 10 rules, batches of 64 and a fifth for validation are defaults."""

RECIPES = {"sqr": RECIPE, "aligned": Recipe(objective="aligned")}
"""The two models that `compare` trains."""

LEVELS = np.arange(1, 100) / 100
"""Levels of the quantiles at which a system is evaluated."""

SEEDS = (0, 1, 2)


def quantiles(params: Params, X: Array, levels: Sequence[float] | Array) -> Array:
    """Return the quantiles (L, N) of levels in [0.01, 1], at scaled inputs (N, M)."""
    middles: Array = Planes(params, X).ends(np.asarray(levels)).mean(axis=0)
    return middles


def calibration_error(found: Array, y: Array, levels: Array = LEVELS) -> float:
    """Return the mean distance of the share of targets (N,) at or below a quantile from its level.

    >>> found = np.array([[1.0, 1.0], [3.0, 3.0]])  # a half and all of the targets
    >>> round(calibration_error(found, np.array([0.0, 2.0]), np.array([0.5, 0.9])), 6)
    0.05
    """
    return float(np.mean(np.abs(np.mean(y <= found, axis=1) - levels)))


def train_sqr(
    X: Array, y: Array, recipe: Recipe = RECIPE, *, seed: int | np.random.Generator = 0
) -> Trained:
    """Train a system whose planes are the quantiles on scaled inputs (N, M) and targets (N,).

    The recipe gives rules, secondary memberships, epochs, batches, learning rate, validation share
    and patience; its planes are not used. The seed decides start values, levels and the order of
    the rows.

    Returns:
        The system of the epoch with the smallest calibration error of the validation rows, and
        that error for each epoch.
    """
    X = matrix("X", X)
    y = vector("y", y, len(X))
    rng = np.random.default_rng(seed)
    n_aside = min(max(round(recipe.validation * len(y)), 1), len(y) - 1)
    aside, learn = np.split(rng.permutation(len(y)), [n_aside])
    start = init_params(X[learn], recipe.n_rules, rng, smf=recipe.smf)
    flat = np.concatenate([start[name].ravel() for name in PARAM_NAMES])
    ends = np.cumsum([start[name].size for name in PARAM_NAMES])
    params = {  # views into `flat`, which Adam changes in place
        name: flat[end - start[name].size : end].reshape(start[name].shape)
        for name, end in zip(PARAM_NAMES, ends, strict=True)
    }
    adam, best, history = Adam(flat, recipe.learning_rate), flat.copy(), []
    size = min(recipe.batch_size, len(learn))
    with one_blas_thread():
        for epoch in range(recipe.epochs):
            batches = rng.permutation(learn.size)[: learn.size // size * size].reshape(-1, size)
            for rows, alpha in zip(batches, rng.uniform(ALPHA_0, 1.0, batches.shape), strict=True):
                at = learn[rows]  # every row at its own level
                adam.update(loss_and_gradient(params, X[at], y[at], alpha)[1])
            history.append(calibration_error(quantiles(params, X[aside], LEVELS), y[aside]))
            best_epoch = int(np.argmin(history))
            if best_epoch == epoch:
                best[:] = flat
            elif recipe.patience is not None and epoch - best_epoch >= recipe.patience:
                break
    flat[:] = best
    return Trained(params, np.array(history))


# ------------------------------------------------------------------------------------ gradient


def loss_and_gradient(params: Params, X: Array, y: Array, alpha: Array) -> tuple[float, Array]:
    """Return the mean pinball loss of a batch with a plane for each row, and its gradient.

    `X` are inputs (B, M), `y` targets (B,), and `alpha` is plane and level of each row (B,), in
    [0.01, 1]. The gradient is one vector in the order of `PARAM_NAMES`.
    """
    theta = constrain(params)
    kappa = np.asarray(kappa_of(alpha))  # (B,)
    n_root = math.sqrt(X.shape[1])
    c, sigma = theta.c.T[:, :, None], theta.sigma.T[:, :, None]  # (M, P, 1)
    z = (X.T[:, None, :] - c) / (sigma * n_root)  # (M, P, B)
    log_mu = -0.5 * z * z
    mu = np.exp(log_mu)
    t = (theta.s_r[:, None] * kappa)[:, None, :]  # (M, 1, B)
    room = 1.0 - theta.s_l[:, None] * kappa  # (M, B)
    u = mu * (1.0 - t)
    u += t  # upper memberships
    with np.errstate(divide="ignore"):
        log_upper = np.log(u).sum(axis=0)  # (P, B)
    log_lower = log_mu.sum(axis=0) + np.log(room).sum(axis=0)
    top = log_upper.max(axis=0)  # a common factor does not matter
    f_upper, f_lower = np.exp(log_upper - top), np.exp(log_lower - top)
    np.minimum(f_lower, f_upper, out=f_lower)  # equal at alpha = 1, but for rounding
    y_p = theta.a @ X.T + theta.a0[:, None]  # (P, B)
    ends = type_reduce(f_lower.T, f_upper.T, y_p.T)  # (B,) each
    error = y - (ends[0] + ends[1]) / 2
    value = float(np.mean(pinball(error, alpha)))

    # both bounds share the slope of their middle; the switch point is held
    g_end = -(alpha - (error < 0)) / (2 * len(y))  # (B,)
    g_upper, g_lower, g_y = np.zeros((3, *y_p.shape))
    for end, takes_upper in zip(ends, (np.less_equal, np.greater_equal), strict=True):
        high = takes_upper(y_p, end)
        w = np.where(high, f_upper, f_lower)
        w *= g_end / w.sum(axis=0)
        g_y += w
        w *= y_p - end  # now by the logarithm of the weight
        g_upper += np.where(high, w, 0.0)
        g_lower += np.where(high, 0.0, w)

    by_u = g_upper / u  # (M, P, B)
    g_s_r = ((by_u * (1.0 - mu)).sum(axis=1) * kappa).sum(axis=1)  # (M,)
    g_s_l = -(g_lower.sum(axis=0) * kappa / room).sum(axis=1)
    by_u *= mu
    by_u *= 1.0 - t
    by_u += g_lower  # now by ln mu
    by_u *= z
    g_c = (by_u.sum(axis=2) / (sigma[:, :, 0] * n_root)).T
    by_u *= z
    g_sigma = (by_u.sum(axis=2) / sigma[:, :, 0]).T * np.sign(params["raw_sigma"])
    gradients = {
        "c": g_c,
        "raw_sigma": g_sigma,
        "raw_l": _by_raw(g_s_l, theta.s_l, params["raw_l"]),
        "raw_r": _by_raw(g_s_r, theta.s_r, params["raw_r"]),
        "a": g_y @ X,
        "a0": g_y.sum(axis=1),
    }
    return value, np.concatenate([gradients[name].ravel() for name in PARAM_NAMES])


def _by_raw(g_s: Array, s: Array, raw: Array) -> Array:
    """Return the gradient by raw parameters, one for all inputs or one for each."""
    g: Array = g_s * s * (1.0 - s)
    return g if raw.size == g.size else g.sum(keepdims=True)


# ------------------------------------------------------------------------- SQR against aligned


def compare(dataset: str, seed: int, model: str, recipe: Recipe | None = None) -> pd.DataFrame:
    """Train "sqr" or "aligned" on one split of the protocol; evaluate it raw and calibrated.

    Returns:
        A row for each form, "raw" and "conformal" (see `forecasts`), and level. `crps`,
        `calibration_error` and `crossed` (the share of rows with some quantile below that of a
        lower level) are of the quantiles 0.01, ..., 0.99 on the test set. `aside_error` is the
        calibration error of the validation rows.
    """
    recipe = recipe or RECIPES[one_of("model", model, RECIPES)]
    data = prepare(load_dataset(dataset), seed)
    y, n, own = data.y_test, len(data.y_train), {"dataset": dataset, "seed": seed, "model": model}
    sizes = {"n_train": n, "n_cal": len(data.y_cal), "n_test": len(y)}
    with one_blas_thread():
        clock = time.process_time()
        if model == "sqr":
            params, history = train_sqr(data.X_train, data.y_train, recipe, seed=seed)
            best_epoch, error = int(np.argmin(history)) + 1, float(history.min())
            n -= round(recipe.validation * n)
        else:
            params, history = train(data.X_train, data.y_train, recipe, seed=seed, progress=False)
            best_epoch, error = len(history), None
        cost = {
            "epochs": len(history),
            "best_epoch": best_epoch,
            "steps": len(history) * max(n // recipe.batch_size, 1),
            "train_cpu_seconds": time.process_time() - clock,
            "aside_error": error,
        }
        rows = []
        for form, (at, median) in forecasts(model, params, data).items():
            lower, upper = zip(*(at(1 - 2 * tau) for tau in LEVELS[:49]), strict=True)
            quantile = np.stack([*lower, median, *upper[::-1]])  # (99, N)
            scores = {
                "crps": crps(quantile, y),
                "calibration_error": calibration_error(quantile, y),
                "crossed": crossed(quantile),
            }
            for level in (0.90, 0.95):
                place = {**own, "form": form, "level": level, **sizes, "rmse": rmse(y, median)}
                quality = interval_quality(y, *at(level), level)._asdict()
                rows.append(place | quality | scores | cost)
    return pd.DataFrame(rows)


def forecasts(
    model: str, params: Params, data: Any
) -> dict[str, tuple[Callable[[float], tuple[Array, Array]], Array]]:
    """Return intervals at any level and the median (N,) of the test rows, for both forms.

    Raw intervals are as they were learned. Calibrated ones get one margin on both quantiles (SQR,
    conformalised quantile regression) or a plane by `conformal` (aligned).
    """
    if model == "sqr":

        def at(X: Array, coverage: float) -> margins.Family:
            return margins.between(*quantiles(params, X, [(1 - coverage) / 2, (1 + coverage) / 2]))

        def learned(coverage: float) -> tuple[Array, Array]:
            return at(data.X_test, coverage)[:2]

        def calibrated(coverage: float) -> tuple[Array, Array]:
            families = at(data.X_cal, coverage), at(data.X_test, coverage)
            return margins.calibrated(*families, data.y_cal, coverage)

        median = quantiles(params, data.X_test, [0.5])[0]
    else:
        test, z = Planes(params, data.X_test), NormalDist().inv_cdf
        conformal = ConformalCalibrator().fit(Planes(params, data.X_cal), data.y_cal)

        def learned(coverage: float) -> tuple[Array, Array]:  # as in `losses.make_objective`
            return test(alpha_of(z((1 + coverage) / 2) / z(0.995)))

        def calibrated(coverage: float) -> tuple[Array, Array]:
            return conformal.intervals(test, coverage)

        median = test(1.0)[0]  # the plane that every plane contains
    return {"raw": (learned, median), "conformal": (calibrated, median)}


def crps(quantile: Array, y: Array) -> float:
    """Return the CRPS, twice the mean pinball loss, from the quantiles 0.01, ..., 0.99 (99, N).

    >>> round(crps(np.zeros((99, 1)), np.array([2.0])), 6)  # without spread: the absolute error
    2.0
    """
    return float(2 * np.mean(pinball(y - quantile, LEVELS[:, None])))


def crossed(quantile: Array) -> float:
    """Return the share of rows in which some quantile (L, N) lies below that of a lower level.

    >>> crossed(np.array([[0.0, 0.0], [1.0, 2.0], [2.0, 1.0]]))
    0.5
    """
    return float(np.mean((np.diff(quantile, axis=0) < 0).any(axis=0)))


def run(run_all: Callable[..., list[pd.DataFrame]]) -> dict[str, pd.DataFrame]:
    """Run all comparisons of SQR and return the rows of `sqr.csv`."""
    every = product(DATASETS, SEEDS, RECIPES)
    settings = [dict(zip(("dataset", "seed", "model"), one, strict=True)) for one in every]
    return {"sqr": pd.concat(run_all(compare, settings, label="SQR"), ignore_index=True)}
