r"""A quantile forest in the field (Meinshausen 2006), conformalised.

A random forest of the mean is grown as usual. A new row falls into one leaf of each tree, and the
training rows of those leaves weigh in, each by one over the size of its leaf,

.. math:: w_i(x) = \frac1T \sum_t \frac{1\{x_i \in \ell_t(x)\}}{|\ell_t(x)|} .

Quantiles are those of the training targets with these weights. One margin on top has the
guarantee. The trees are scikit-learn's.
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from gt2lite._validation import Array
from gt2lite.datasets import Prepared
from study.design import LEVELS
from study.field.boosted import held_out, import_ensemble
from study.field.contestant import Chosen, Contestant, Entered, Get
from study.field.margins import GRID, Parts, Shape, answer, pinball
from study.field.setting import Setting

N_TREES, N_TRIAL_TREES = 200, 50
LEAVES = (5, 15)
FEATURES = (1 / 3, 1.0)
_TAUS = tuple(sorted({t for phi in (*LEVELS, *GRID) for t in ((1 - phi) / 2, (1 + phi) / 2)}))


def forest_weights(train_leaves: Array, leaves: Array) -> Array:
    """Return how much each training row weighs for each new row, (n, N); rows sum to 1.

    Args:
        train_leaves: the leaf of each training row in each tree (N, T).
        leaves: that of new rows (n, T).

    >>> train = np.array([[0, 0], [0, 1], [1, 1]])
    >>> forest_weights(train, np.array([[0, 1]]))  # leaves {0, 1} and {1, 2}, a half each
    array([[0.25, 0.5 , 0.25]])
    """
    sparse = _scipy_sparse()
    n_trees = leaves.shape[1]
    shift = np.concatenate([[0], np.cumsum(train_leaves.max(axis=0) + 1)])  # one number per leaf
    known = (train_leaves + shift[:-1]).ravel()
    sizes = np.maximum(np.bincount(known, minlength=shift[-1]), 1)

    def incidence(numbers: Array, values: Array) -> Any:
        rows = np.arange(0, len(numbers) + 1, n_trees)
        return sparse.csr_matrix((values, numbers, rows), shape=(len(rows) - 1, shift[-1]))

    new = (leaves + shift[:-1]).ravel()
    found = incidence(new, 1 / (n_trees * sizes[new])) @ incidence(known, np.ones(len(known))).T
    return np.asarray(found.todense())


def weighted_quantiles(weights: Array, y: Array, taus: Sequence[float]) -> Array:
    """Return the smallest target at which the weights (n, N) add up to tau, for each tau (K, n).

    >>> weighted_quantiles(np.array([[0.25, 0.5, 0.25]]), np.array([3.0, 1.0, 2.0]), [0.5, 0.6])
    array([[1.],
           [2.]])
    """
    order = np.argsort(y)
    steps = np.cumsum(weights[:, order], axis=1)  # (n, N)
    last = len(y) - 1
    places = [np.minimum((steps < tau - 1e-9).sum(axis=1), last) for tau in taus]
    return y[order][np.array(places)]


@dataclass(frozen=True)
class Forest(Contestant):
    """A quantile forest with one margin."""

    is_fuzzy: ClassVar[bool] = False

    @property
    def weight(self) -> float:
        """How long it takes, in units of the paper's system."""
        return 4.0

    @property
    def told(self) -> tuple[str, str, str]:
        """What it learns, where its interval comes from, what a further level needs."""
        learns = "the mean, by a random forest"
        interval = "two quantiles of the targets in its leaves, and one margin for all rows"
        return learns, interval, "a look at a sorted list"

    def enter(self, setting: Setting, data: Prepared, get: Get) -> Entered:
        """Tune on rows held out, grow the forest, and calibrate."""
        import_ensemble()  # now, so that it is not counted
        _scipy_sparse()
        n_trees = max(round(setting.effort * N_TREES), 2)
        groups = setting.kept_together(data)
        clock = time.process_time()
        held = held_out(len(data.y_train), groups, setting.seed)
        X, y = data.X_train, data.y_train
        few = min(n_trees, N_TRIAL_TREES)
        pairs = list(itertools.product(LEAVES, FEATURES))
        losses = [_trial(X, y, held, setting.seed, few, *pair) for pair in pairs]
        leaf, share = pairs[int(np.argmin(losses))]
        tuning = time.process_time() - clock
        clock = time.process_time()
        forest = _grown(X, y, setting.seed, n_trees, leaf, share)
        cal, test = (
            dict(zip(_TAUS, _quantiles(forest, X, y, rows, _TAUS), strict=True))
            for rows in (data.X_cal, data.X_test)
        )
        seconds = time.process_time() - clock

        def parts(level: float) -> Parts:
            low, high = (1 - level) / 2, (1 + level) / 2
            return Parts(*(Shape(q[low], q[high], np.ones(len(q[low]))) for q in (cal, test)))

        found = answer("", forest.predict(data.X_test), parts, data.y_cal, data.y_test)
        told = json.dumps({"max_features": round(share, 3), "min_samples_leaf": leaf})
        return Entered((found,), seconds, 0.0, tuning, (Chosen("forest", told, n_trees),))


def _grown(X: Array, y: Array, seed: int, n_trees: int, leaf: int, share: float) -> Any:
    grow = import_ensemble().RandomForestRegressor
    model = grow(n_trees, min_samples_leaf=leaf, max_features=share, random_state=seed)
    return model.fit(X, y)


def _quantiles(forest: Any, X: Array, y: Array, rows: Array, taus: Sequence[float]) -> Array:
    return weighted_quantiles(forest_weights(forest.apply(X), forest.apply(rows)), y, taus)


def _trial(
    X: Array,
    y: Array,
    held: NDArray[np.bool_],
    seed: int,
    n_trees: int,
    leaf: int,
    share: float,
) -> float:
    """Return the pinball loss at the ends of all levels, on the rows held out."""
    forest = _grown(X[~held], y[~held], seed, n_trees, leaf, share)
    taus = [t for phi in LEVELS for t in ((1 - phi) / 2, (1 + phi) / 2)]
    found = _quantiles(forest, X[~held], y[~held], X[held], taus)
    return float(sum(pinball(y[held] - q, t).mean() for q, t in zip(found, taus, strict=True)))


def _scipy_sparse() -> Any:
    try:
        from scipy import sparse
    except ImportError as error:
        raise ImportError(
            "weights of a forest need SciPy, which is not installed: pip install scipy"
        ) from error
    return sparse
