"""Bases of an `IntervalHead`: what is asked of them, their training on folds, and a default one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gt2lite._progress import progress_bar
from gt2lite._validation import Array, IntArray, vector
from gt2lite.practice.tables import take_rows
from gt2lite.practice.types import Predictor, RawTable

Splits = Sequence[tuple[IntArray, IntArray]]
"""Training rows and rows left out, fold by fold."""

COMPARED = 2
"""Folds after which default bases of little weight are left out."""

N_TREES = 50
"""Randomised trees in each copy."""

MOST_ROWS = {"ExtraTreesRegressor": 10_000, "GaussianProcessBase": 2_000}
"""Training rows of a copy; of more, as many are drawn at random."""

LEAST_WEIGHT = 0.05
"""A default base with less weight is left out."""


def check_base(base: object) -> None:
    """Raise a TypeError unless a base is a regressor with scikit-learn's interface."""
    from sklearn.base import is_classifier

    wanted = "base must be a regressor with fit and predict, such as Ridge(), or None"
    if isinstance(base, type):
        raise TypeError(f"{wanted}, got the class {base.__name__}: write {base.__name__}()")
    for name in ("get_params", "fit", "predict"):
        if not callable(getattr(base, name, None)):
            raise TypeError(f"{wanted}, got {base!r}, which has no {name}")
    if is_classifier(base):
        raise TypeError(f"{wanted}, got {base!r}, which predicts classes")


def is_frozen(base: object) -> bool:
    """Return whether a base is in scikit-learn's `FrozenEstimator`, and must not be trained."""
    from sklearn.frozen import FrozenEstimator

    return isinstance(base, FrozenEstimator)


def base_name(base: object) -> str:
    """Return the name of a base's class; of a pipeline, that of its last step."""
    if isinstance(base, MeanBase):
        *others, last = dict.fromkeys(map(base_name, base.members))
        return f"the mean of {', '.join(others)} and {last}" if others else last
    if is_frozen(base):
        return base_name(getattr(base, "estimator", None))
    if hasattr(base, "steps"):
        return base_name(base.steps[-1][1])
    return type(base).__name__


def predict_base(base: Predictor | MeanBase, table: RawTable) -> Array:
    """Return the predictions (N,) of a base, checked: one finite number for each row."""
    predicted = np.asarray(base.predict(table), dtype=float)
    if predicted.ndim == 2 and predicted.shape[1] == 1:
        predicted = predicted[:, 0]
    return vector("the prediction of base", predicted, len(table))


@dataclass(frozen=True)
class MeanBase:
    """A weighted mean of copies of one or several bases, each trained without one fold."""

    members: tuple[Predictor, ...]
    weights: tuple[float, ...]

    def predict(self, X: RawTable) -> Array:
        """Return the mean prediction (N,)."""
        return np.average([predict_base(one, X) for one in self.members], 0, self.weights)


class HeldOutBase(NamedTuple):
    """The mean of copies of bases, and its predictions of the folds that they have not seen."""

    mean: MeanBase
    rows: IntArray  # (n,) left out, rising; a row left out twice is there twice
    predicted: Array  # (n,)
    folds: IntArray  # (n,) the number of the fold of each


def hold_out(base: Predictor | None, table: RawTable, target: Array, splits: Splits) -> HeldOutBase:
    """Train copies of a base without one fold each, and predict that fold.

    Without a base, it is the weighted mean of boosted trees, randomised trees and a
    Gaussian process. Boosted trees stop where the error on the fold left out is smallest.
    """
    bases = default_bases() if base is None else [base]
    copies: list[list[Predictor]] = [[] for _ in bases]
    predicted: list[list[Array]] = [[] for _ in bases]
    running = list(range(len(bases)))
    truth: list[Array] = []
    with progress_bar(len(splits), "base", "fold") as step:
        for fold, (used, held) in enumerate(splits):
            truth.append(target[held])
            for i in running:
                rows, stop = used, None
                if base is None:
                    most = MOST_ROWS.get(type(bases[i]).__name__, len(used))
                    rows = np.random.default_rng(fold).permutation(used)[:most]
                    stop = held if hasattr(bases[i], "early_stopping") else None
                copies[i].append(fit_copy(bases[i], table, target, rows, stop))
                predicted[i].append(predict_base(copies[i][-1], take_rows(table, held)))
            if fold + 1 in (COMPARED, len(splits)):
                found = np.stack([np.concatenate(predicted[i]) for i in running])
                weights = mean_weights(found, np.concatenate(truth))
                running = [i for i, weight in zip(running, weights, strict=True) if weight]
            step("out of fold")
    found, weights = found[weights > 0], weights[weights > 0]
    mean = MeanBase(
        tuple(copy for i in running for copy in copies[i]),
        tuple(np.repeat(weights, len(splits)).tolist()),
    )
    rows = np.concatenate([np.asarray(held, dtype=np.intp) for _, held in splits])
    folds = np.repeat(np.arange(len(splits)), [len(held) for _, held in splits])
    order = np.argsort(rows, kind="stable")
    return HeldOutBase(mean, rows[order], (weights @ found)[order], folds[order])


def mean_weights(predicted: Array, target: Array) -> Array:
    """Return the weights (B,) of a mean with the smallest squared error; small ones are 0.

    Args:
        predicted: predictions of B bases (B, n).
        target: targets (n,).
    """
    from scipy.optimize import nnls

    errors = predicted - target
    one = 1e3 * float(np.abs(errors).max() or 1.0) * np.sqrt(errors.size)  # weights add up to 1
    left = np.vstack([errors.T, np.full(len(predicted), one)])
    weights: Array = nnls(left, np.append(np.zeros(len(target)), one))[0]
    weights[weights < LEAST_WEIGHT] = 0
    return weights / weights.sum()


def fit_copy(
    base: Predictor,
    table: RawTable,
    target: Array,
    used: IntArray | None = None,
    stop: IntArray | None = None,
) -> Predictor:
    """Return a copy of a base trained on the rows `used`, or all; trees stop by the rows `stop`."""
    if used is not None:
        options = {}
        if stop is not None:
            options = {"X_val": take_rows(table, stop), "y_val": target[stop]}
        return copy_base(base).fit(take_rows(table, used), target[used], **options)
    return copy_base(base).fit(table, target)


def copy_base(base: Predictor) -> Predictor:
    """Return an unfitted copy of a base.

    CatBoost copies lists that it is given, such as `cat_features`, which `clone` takes for an
    error in its constructor.
    """
    from sklearn.base import clone

    try:
        found: Predictor = clone(base)
    except RuntimeError as error:
        found = type(base)(**base.get_params(deep=False))  # type: ignore[attr-defined]
        if found.get_params(deep=False) != base.get_params(deep=False):  # type: ignore[attr-defined]
            raise TypeError(
                f"base cannot be copied: {error}. Train it and pass FrozenEstimator(base), from "
                "sklearn.frozen, with new rows in fit"
            ) from None
    return found


def default_bases() -> list[Predictor]:
    """Return the regressors whose weighted mean is the base if none is given."""
    from sklearn.ensemble import ExtraTreesRegressor, HistGradientBoostingRegressor

    from gt2lite.practice.gaussian_process import GaussianProcessBase

    boosted = HistGradientBoostingRegressor(
        max_iter=1000,
        max_leaf_nodes=16,  # bases of 8 and of 31 leaves together score the same
        min_samples_leaf=10,
        early_stopping=True,
        random_state=0,
    )
    return [boosted, ExtraTreesRegressor(N_TREES, random_state=0), GaussianProcessBase()]
