"""Coverage in bins of rows, by width, region, rarity or group; and how well misses are predicted.

The guarantee holds on average over all rows. Here rows are put into bins that do not depend on the
target, and coverage is counted in each. `excess_risk` needs no bins: a model that predicts from the
inputs which rows are covered finds them. Calibration by groups (`gt2lite.calibration`) repairs part
of what this finds.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.preprocessing import StandardScaler

from gt2lite._validation import Array, IntArray
from gt2lite.metrics import covers

N_BINS = 5


def coverage_by(
    labels: ArrayLike, y: ArrayLike, lower: ArrayLike, upper: ArrayLike
) -> pd.DataFrame:
    """Return rows, covered rows and mean width of each bin, in the order of their labels.

    Args:
        labels: the bin of each row (N,), numbers or text.
        y: targets (N,).
        lower: lower bounds (N,).
        upper: upper bounds (N,).

    >>> found = coverage_by(["b", "a", "b"], [0.0, 1.0, 2.0], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0])
    >>> found.reset_index()
      bin  n  covered  width
    0   a  1        1    1.0
    1   b  2        1    1.0
    """
    width = np.subtract(upper, lower)
    rows = pd.DataFrame({"bin": labels, "covered": covers(y, lower, upper), "width": width})
    columns = {"n": ("width", "size"), "covered": ("covered", "sum"), "width": ("width", "mean")}
    return rows.groupby("bin").agg(**columns)


def width_bins(lower: ArrayLike, upper: ArrayLike) -> IntArray:
    """Return the bin (N,) of each row by the width of its interval: 1 has the narrowest.

    Equal widths share a bin; if all are equal, there is one.

    >>> width_bins([0.0, 0.0, 0.0, 0.0, 0.0], [4.0, 1.0, 3.0, 2.0, 5.0])
    array([4, 1, 3, 2, 5])
    """
    width = np.subtract(upper, lower)
    # the bounds of a constant margin differ in their last digits only
    rounded = np.round(width / (float(np.abs(width).max()) or 1.0), 9)
    return _bins(rounded, rounded)


def regions(X_train: ArrayLike, X: ArrayLike) -> IntArray:
    """Return the bin (N,) of each row along the first principal component of the training inputs.

    The largest entry of the component is made positive; bins hold equal shares of the training set.

    >>> regions([[-2.0, 0.1], [-1.0, -0.1], [1.0, 0.1], [2.0, -0.1]], [[-9.0, 0.0], [9.0, 0.0]])
    array([1, 5])
    """
    component = PCA(1, svd_solver="full").fit(X_train)
    return _bins(component.transform(X)[:, 0], component.transform(X_train)[:, 0])


def rarity(X_train: ArrayLike, X: ArrayLike) -> IntArray:
    """Return the bin (N,) of each row by its distance from the mean of the training inputs.

    Inputs are in standard deviations; bins hold equal shares of the training set, and the last one
    has the most unusual rows.

    >>> rarity([[-2.0], [-1.0], [1.0], [2.0]], [[0.0], [-3.0]])
    array([1, 5])
    """
    scaler = StandardScaler().fit(X_train)
    distance, usual = (np.sqrt(np.mean(scaler.transform(Z) ** 2, axis=1)) for Z in (X, X_train))
    return _bins(distance, usual)


def _bins(values: Array, of: Array) -> IntArray:
    """Return in which of `N_BINS` equal shares of `of` each value lies, from 1."""
    cuts = np.quantile(of, np.arange(1, N_BINS) / N_BINS)
    return np.searchsorted(cuts, values, side="left") + 1


def excess_risk(X: ArrayLike, covered: ArrayLike, level: float, *, seed: int = 0) -> float:
    r"""Return how far coverage given the inputs is from its level, as far as trees can predict it.

    This is the excess risk of the target coverage (ERT) of Braun, Holzmüller, Jordan and Bach
    (arXiv 2512.11779), in its form for absolute distances. Boosted trees predict the coverage
    :math:`h(x)` of each row by those of the other folds, and

    .. math:: \frac1N \sum_i \operatorname{sign}\bigl(h(x_i) - \phi\bigr) (z_i - \phi)
        \;\le\; \mathbb{E}\,\bigl|P(Z = 1 \mid X) - \phi\bigr|

    in expectation, with :math:`z_i = 1` if row i is covered. It is 0 on average, and may be
    negative, if nothing can be predicted.

    Args:
        X: inputs (N, M).
        covered: which rows are covered (N,).
        level: the coverage that was asked for.
        seed: decides the folds.

    >>> X = np.linspace(-1, 1, 500)[:, None]
    >>> excess_risk(X, X[:, 0] < 0.8, 0.9) > 0.15, excess_risk(X, np.ones(500), 0.9)
    (True, 0.1)
    """
    z = np.asarray(covered, dtype=float)
    trees = HistGradientBoostingRegressor(
        max_iter=50, max_leaf_nodes=8, early_stopping=False, random_state=seed
    )
    h = cross_val_predict(trees, X, z, cv=KFold(N_BINS, shuffle=True, random_state=seed))
    return round(float(np.mean(np.sign(h - level) * (z - level))), 12)
