r"""Planes with many inputs: how near their ends come to the outermost consequents, and why.

All lower firings of a plane carry the factor ``prod_m(1 - kappa s_l)``, which falls
geometrically with the number of inputs. An end stays away from the outermost consequent by
that factor times a number between two bounds that do not depend on the plane: chapter 9 of
the book has the theorem. Here are the three numbers, the kappa at which the planes of a system
have run together, and shares that are small enough for many inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from gt2lite._validation import Array
from gt2lite.calibration import ConformalCalibrator
from gt2lite.datasets import load_dataset, prepare, split
from gt2lite.memberships import kappa_of, log_firing
from gt2lite.metrics import interval_score, rmse
from gt2lite.reduction import type_reduce
from gt2lite.system import Params, Planes, constrain
from gt2lite.training import Recipe, init_params, train


class Shortfall(NamedTuple):
    """How far ends stay from the outermost consequents, and the bounds of the theorem (2, N)."""

    least: Array
    ends: Array
    most: Array


class Saturated(NamedTuple):
    """A system whose planes run together: a row of a table."""

    name: str
    inputs: int
    shares: float  # the sum of the lower shares
    factor: float  # of the lower firings at the envelope
    short: float  # what the envelope lacks of the range of the consequents, in per cent
    together: str  # from which plane on less than one per cent is lacking


def lower_factor(params: Params, kappa: float) -> float:
    """Return what the lower firings of a plane are multiplied with: ``prod_m(1 - kappa s_l)``."""
    return float(np.prod(1 - kappa * constrain(params).s_l))


def shortfall(params: Params, X: Array, kappa: float) -> Shortfall:
    """Return how far the ends of a plane stay from the smallest and the largest consequent.

    Computed from differences of consequents, so that even 1e-15 of the range is seen.

    Args:
        params: the system.
        X: scaled inputs (N, M).
        kappa: the plane.
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
        with np.errstate(divide="ignore", over="ignore"):  # a firing of 0 bounds nothing
            above = pull / f[rows, outermost]
        found.append([pull / y.shape[1], end, above])
    return Shortfall(*np.array(found).transpose(1, 0, 2))


def lacking(params: Params, X: Array, kappas: Sequence[float] | Array) -> Array:
    """Return what planes lack of the range of the consequents, mean over the rows (K,).

    Both sides together, as a share of the mean range: 0 where a plane has all of it.
    """
    spread = np.ptp(X @ params["a"].T + params["a0"], axis=1).mean()
    return np.array([shortfall(params, X, k).ends.sum(axis=0).mean() / spread for k in kappas])


def saturated(name: str, params: Params, X: Array, share: float = 0.01) -> Saturated:
    """Return how near the planes of a system come to the range of its consequents at X (N, M)."""
    alphas = np.arange(99, 0, -1) / 100  # planes, the narrowest first, the envelope last
    short = lacking(params, X, np.asarray(kappa_of(alphas)))
    near = np.flatnonzero(short < share)
    together = f"{alphas[near[0]]:.2f}" if near.size else "none"
    return Saturated(
        name,
        X.shape[1],
        float(constrain(params).s_l.sum()),
        lower_factor(params, 1.0),
        100 * float(short[-1]),
        together,
    )


def made_up(
    n_inputs: int, n_rules: int = 10, n_rows: int = 200, seed: int = 0
) -> tuple[Params, Array]:
    """Return a system with scattered consequents and all shares one half, and normal inputs."""
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


class Trial(NamedTuple):
    """What a start came to: interval score and RMSE, and the share that the envelope lacks."""

    score: float
    rmse: float
    lacking: float


def trial(dataset: str, seed: int, recipe: Recipe, level: float, *, small: bool) -> Trial:
    """Train from a start with or without small shares; calibrate and judge on training rows.

    The rows of the training part are split once more, so that neither the calibration part nor
    the test part has a say.

    Args:
        dataset: its name.
        seed: decides splits, start and order of batches, alike with and without small shares.
        recipe: how to train.
        level: of the intervals.
        small: whether to start with small shares.
    """
    whole = load_dataset(dataset)
    rows = split(len(whole.y), seed).train
    data = prepare(replace(whole, X=whole.X[rows], y=whole.y[rows], groups=None), seed)
    rng = np.random.default_rng(seed)
    start = init_params(
        data.X_train,
        recipe.n_rules,
        rng,
        smf=recipe.smf,
        start=recipe.start,
        sigma_scale=recipe.sigma_scale,
    )
    start = small_shares(start) if small else start
    params = train(data.X_train, data.y_train, recipe, seed=rng, start=start, progress=False).params
    test = Planes(params, data.X_test)
    calibrated = ConformalCalibrator().fit(Planes(params, data.X_cal), data.y_cal)
    lower, upper = calibrated.intervals(test, level)
    return Trial(
        interval_score(data.y_test, lower, upper, level),
        rmse(data.y_test, test.output(recipe.planes.alphas)),
        float(lacking(params, data.X_test, [1.0])[0]),
    )


class Trials(NamedTuple):
    """Small shares against the usual start on a data set: means over the seeds."""

    name: str
    inputs: int
    usual_score: float
    small_score: float
    score_change: float  # per cent
    usual_rmse: float
    small_rmse: float
    usual_lacking: float  # per cent
    small_lacking: float


def trials(dataset: str, seeds: Sequence[int], recipe: Recipe, level: float) -> Trials:
    """Return what small shares do at the start of training, judged on training rows."""
    usual, small = (
        np.mean([trial(dataset, seed, recipe, level, small=way) for seed in seeds], axis=0)
        for way in (False, True)
    )
    return Trials(
        dataset.upper(),
        load_dataset(dataset).X.shape[1],
        float(usual[0]),
        float(small[0]),
        float(100 * (small[0] / usual[0] - 1)),
        float(usual[1]),
        float(small[1]),
        float(100 * usual[2]),
        float(100 * small[2]),
    )
