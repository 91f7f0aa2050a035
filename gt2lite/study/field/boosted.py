"""Gradient boosting in the field, its settings chosen inside the training part.

The trees are scikit-learn's, of the fast kind that sorts inputs into bins.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gt2lite._checks import Array
from gt2lite.datasets import Prepared
from gt2lite.study.field.conformal import (
    ConformalisedQuantiles,
    Rival,
    SplitConformal,
    Tuned,
    answer,
)
from gt2lite.study.field.contestant import Contestant, Entered, Get
from gt2lite.study.field.setting import Setting

VALIDATION_SHARE = 0.2
"""The share of the training rows on which settings of gradient boosting are chosen."""

LEAVES: tuple[dict[str, int], ...] = tuple(
    {"max_leaf_nodes": leaves, "min_samples_leaf": rows} for leaves in (15, 31) for rows in (20, 40)
)
RATES = (0.1, 0.05)
MAX_TREES = 2000
PATIENCE = 100  # trees without a gain after which no more are tried


@dataclass(frozen=True)
class Boosted(Contestant):
    """Gradient boosting with one margin: around two quantiles, or around the mean."""

    learns: str  # "quantiles" or "mean"

    is_fuzzy: ClassVar[bool] = False

    @property
    def weight(self) -> float:
        """How long it takes, in units of the paper's system: choosing settings takes longest."""
        return 10.0 if self.learns == "quantiles" else 2.0

    def enter(self, setting: Setting, data: Prepared, get: Get) -> Entered:
        """Train and calibrate, level by level; nothing is stored before it is judged."""
        import_ensemble()  # now, so that it is not counted
        n_trees = max(round(setting.effort * MAX_TREES), 1)
        make = boosted_quantiles if self.learns == "quantiles" else boosted_mean
        groups = setting.groups(data.split.train) if setting.split == "by_group" else None
        return answer(make(setting.seed, n_trees), data, groups)


def boosted_quantiles(seed: int = 0, max_trees: int = MAX_TREES) -> Rival:
    """Return conformalised quantile regression by gradient boosting."""
    return ConformalisedQuantiles(
        lambda: Boosting(None, seed, max_trees), lambda tau: Boosting(tau, seed, max_trees)
    )


def boosted_mean(seed: int = 0, max_trees: int = MAX_TREES) -> Rival:
    """Return split conformal prediction around gradient boosting."""
    return SplitConformal(Boosting(None, seed, max_trees))


@dataclass
class Boosting(Tuned):
    """Gradient boosting whose settings are chosen inside the rows that it is given.

    A validation share of them decides: first on the size of trees and leaves (`LEAVES`), then
    on the learning rate (`RATES`), each with the number of trees that is best there, by the
    loss that is learned (pinball or squares). Then all rows are learned with these settings.

    Args:
        quantile: which quantile is learned; None for the mean.
        seed: decides the validation rows.
        max_trees: more are not tried.

    After `fit` what was chosen is in `settings_`.
    """

    quantile: float | None = None
    seed: int = 0
    max_trees: int = MAX_TREES
    settings_: dict[str, Any] = field(init=False, repr=False)
    model_: Any = field(init=False, repr=False)
    tuning_seconds_: float = field(init=False, repr=False)

    def fit(self, X: Array, y: Array, groups: ArrayLike | None = None) -> Self:
        """Choose settings and learn; `groups` (N,) are not torn apart for validation."""
        clock = time.process_time()
        held = _held_out(len(y), groups, self.seed)

        def tried(**settings: Any) -> tuple[float, dict[str, Any]]:
            loss, n_trees = self._path(X, y, held, settings)
            return loss, settings | {"max_iter": n_trees}

        best = min((tried(learning_rate=RATES[0], **leaves) for leaves in LEAVES), key=_loss_of)
        leaves = {name: best[1][name] for name in LEAVES[0]}
        others = (tried(learning_rate=rate, **leaves) for rate in RATES[1:])
        self.settings_ = min(best, *others, key=_loss_of)[1]
        self.tuning_seconds_ = time.process_time() - clock
        self.model_ = self._make(**self.settings_).fit(X, y)
        return self

    def _make(self, **settings: Any) -> Any:
        loss: dict[str, Any] = {"loss": "squared_error"}
        if self.quantile is not None:
            loss = {"loss": "quantile", "quantile": self.quantile}
        model = import_ensemble().HistGradientBoostingRegressor
        return model(**loss, **settings, early_stopping=False, random_state=self.seed)

    def _path(
        self, X: Array, y: Array, held: NDArray[np.bool_], settings: Mapping[str, Any]
    ) -> tuple[float, int]:
        """Return the smallest loss on the rows held out, and the number of trees that has it."""
        n_trees = min(PATIENCE, self.max_trees)
        model = self._make(**settings, max_iter=n_trees, warm_start=True)
        while True:
            model.fit(X[~held], y[~held])
            losses = [self._loss(y[held], y_hat) for y_hat in model.staged_predict(X[held])]
            best = int(np.argmin(losses)) + 1
            if n_trees >= self.max_trees or best <= n_trees - PATIENCE:
                return losses[best - 1], best
            n_trees = min(n_trees + PATIENCE, self.max_trees)
            model.set_params(max_iter=n_trees)

    def _loss(self, y: Array, y_hat: Array) -> float:
        error = y - y_hat
        if self.quantile is None:
            return float(np.mean(error**2))
        return float(np.mean(np.maximum(self.quantile * error, (self.quantile - 1) * error)))


def _loss_of(tried: tuple[float, dict[str, Any]]) -> float:
    return tried[0]


def _held_out(n: int, groups: ArrayLike | None, seed: int) -> NDArray[np.bool_]:
    """Return which rows (n,) are for validation: whole groups, or single rows."""
    rng = np.random.default_rng(seed)
    unit = np.arange(n) if groups is None else np.unique(groups, return_inverse=True)[1]
    order = rng.permutation(unit.max() + 1)
    sizes = np.bincount(unit)[order]
    # as many as come nearest to the share, one at least, and one is left to learn from
    n_held = 1 + int(np.argmin(np.abs(np.cumsum(sizes)[:-1] - VALIDATION_SHARE * n)))
    return np.isin(unit, order[:n_held])


def import_ensemble() -> Any:
    """Return scikit-learn's module of ensembles."""
    try:
        from sklearn import ensemble
    except ImportError as error:
        raise ImportError(
            "boosting is scikit-learn's, which is not installed: pip install 'gt2lite[book]'"
        ) from error
    return ensemble
