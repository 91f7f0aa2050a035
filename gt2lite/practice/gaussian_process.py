r"""Gaussian process regression with one length scale for each input and normal noise.

The marginal likelihood is maximised by L-BFGS. scikit-learn's gradient needs an array (N, N, M),
2 GB for 1,500 rows of 100 inputs; a kernel that depends on the scaled squared distance
:math:`\delta_{ij} = \sum_m (x_{im} - x_{jm})^2 / \ell_m^2` alone needs matrix products only:

.. math:: \sum_{ij} W_{ij} (z_{im} - z_{jm})^2 = 2 \sum_i z_{im}^2 W_{i\cdot} - 2\, z_m^T W z_m .

The tests compare likelihood and predictions with scikit-learn's. `GaussianProcessBase` is one of
the default bases of an `IntervalHead`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy import linalg, optimize
from sklearn.base import BaseEstimator, RegressorMixin

from gt2lite._validation import Array
from gt2lite.datasets import Scaler

KERNELS = ("rbf", "matern", "rough")  # Matérn's of smoothness 5/2 and 3/2
FEW_ROWS, FEW_STEPS = 500, 60
"""Length scales are learned on this number of rows first, with at most so many steps."""
BASE_ROWS, BASE_STEPS = 300, 30  # those of a `GaussianProcessBase`
STEPS = 15  # on all rows, from there
BOUNDS = {"length": (-3.0, 6.0), "signal": (-3.0, 4.0), "noise": (-7.0, 2.0)}  # natural logarithms
JITTER = 1e-8


@dataclass(frozen=True)
class GaussianProcess:
    """A fitted process: kernel, logarithms of its parameters (M + 2,), and what predicts."""

    kernel: str
    raw: Array  # log length scales (M,), log standard deviations of signal and noise
    Z: Array  # (N, M), inputs over length scales
    factor: Array  # (N, N), lower Cholesky factor of the covariance
    weights: Array  # (N,), covariance^-1 y

    def predict(self, X: Array) -> tuple[Array, Array]:
        """Return mean and standard deviation (n,) of new targets, noise included."""
        cross = self._covariance(X)
        signal, noise = np.exp(2 * self.raw[-2:])
        half = linalg.solve_triangular(self.factor, cross.T, lower=True, check_finite=False)
        variance = signal + noise - (half**2).sum(axis=0)
        return cross @ self.weights, np.sqrt(np.maximum(variance, noise))

    def mean(self, X: Array) -> Array:
        """Return the mean (n,) of new targets."""
        return self._covariance(X) @ self.weights

    def _covariance(self, X: Array) -> Array:
        """Return the covariance (n, N) of new targets with those of training."""
        Z, signal, _ = _parts(self.raw, X)
        return signal * _kernel(self.kernel, _distances(Z, self.Z))[0]


def fit(
    X: Array,
    y: Array,
    kernel: str = "rbf",
    steps: int = STEPS,
    few: tuple[int, int] = (FEW_ROWS, FEW_STEPS),
) -> GaussianProcess:
    """Maximise the marginal likelihood of the targets.

    Args:
        X: standardised inputs (N, M).
        y: standardised targets (N,).
        kernel: of `KERNELS`.
        steps: of L-BFGS on all rows, if they are more than the few; 0 for none.
        few: rows that the length scales are learned on first, and the most steps there.
    """
    n_inputs = X.shape[1]
    raw = np.array([0.5 * np.log(n_inputs)] * n_inputs + [0.0, np.log(0.3)])
    bounds = [BOUNDS["length"]] * n_inputs + [BOUNDS["signal"], BOUNDS["noise"]]
    stages = {few[0]: few[1]} | ({len(y): steps} if steps and len(y) > few[0] else {})
    for n, most in stages.items():
        rows, how = (X[:n], y[:n], kernel), {"bounds": bounds, "options": {"maxiter": most}}
        raw = optimize.minimize(loss_and_gradient, raw, rows, "L-BFGS-B", jac=True, **how).x
    Z, signal, noise = _parts(raw, X)
    covariance = signal * _kernel(kernel, _distances(Z, Z))[0] + (noise + JITTER) * np.eye(len(y))
    factor = linalg.cholesky(covariance, lower=True, check_finite=False)
    return GaussianProcess(kernel, raw, Z, factor, linalg.cho_solve((factor, True), y))


def loss_and_gradient(raw: Array, X: Array, y: Array, kernel: str) -> tuple[float, Array]:
    """Return the negative log marginal likelihood and its gradient (M + 2,)."""
    Z, signal, noise = _parts(raw, X)
    k, slope = _kernel(kernel, _distances(Z, Z))  # (N, N) each
    try:
        covariance = signal * k + (noise + JITTER) * np.eye(len(y))
        factor = linalg.cholesky(covariance, lower=True, check_finite=False)
    except linalg.LinAlgError:  # not positive definite by rounding: the line search turns back
        return 1e25, np.zeros_like(raw)
    weights = linalg.cho_solve((factor, True), y)
    loss = y @ weights / 2 + np.log(np.diag(factor)).sum() + len(y) / 2 * np.log(2 * np.pi)
    inverse = np.tril(linalg.lapack.dpotri(factor, lower=1)[0])
    inverse += np.tril(inverse, -1).T
    A = np.outer(weights, weights) - inverse  # -2 times the slope of the loss by the covariance
    W = A * (signal * slope)
    by_length = 2 * (Z * (W @ Z)).sum(axis=0) - 2 * (Z**2 * W.sum(axis=1)[:, None]).sum(axis=0)
    by_signal, by_noise = -signal * (A * k).sum(), -noise * np.trace(A)
    return float(loss), np.array([*by_length, by_signal, by_noise])


def _kernel(kernel: str, d2: Array) -> tuple[Array, Array]:
    """Return the correlation at squared distances, and minus its slope by them."""
    if kernel == "rbf":
        k = np.exp(-d2 / 2)
        return k, k / 2
    if kernel == "rough":
        r = np.sqrt(3 * d2)
        decay = np.exp(-r)
        return (1 + r) * decay, 3 / 2 * decay
    r = np.sqrt(5 * d2)
    decay = np.exp(-r)
    return (1 + r + r**2 / 3) * decay, 5 / 6 * (1 + r) * decay


def _parts(raw: Array, X: Array) -> tuple[Array, float, float]:
    """Return inputs over length scales, and the variances of signal and noise."""
    signal, noise = np.exp(2 * raw[-2:])
    return X / np.exp(raw[:-2]), float(signal), float(noise)


def _distances(A: Array, B: Array) -> Array:
    """Return squared distances (n, N) of rows."""
    return np.maximum((A**2).sum(axis=1)[:, None] + (B**2).sum(axis=1) - 2 * A @ B.T, 0.0)


class GaussianProcessBase(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """The mean of a process with a rough kernel, whose length scales are learned on few rows."""

    def fit(self, X: Array, y: Array) -> Self:
        """Train on inputs (N, M) and targets (N,)."""
        self.scaler_ = Scaler.fit(X, y)
        Z, z = self.scaler_.transform_X(X), self.scaler_.transform_y(y)
        self.process_ = fit(Z, z, "rough", steps=0, few=(BASE_ROWS, BASE_STEPS))
        return self

    def predict(self, X: Array) -> Array:
        """Return the mean (n,) of new targets."""
        return self.scaler_.inverse_y(self.process_.mean(self.scaler_.transform_X(X)))
