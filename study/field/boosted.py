"""Gradient boosting in the field, its settings chosen inside the training part.

The trees are scikit-learn's, of the fast kind that sorts inputs into bins. A model of the mean is
tuned once for each split and shared (`SharedMean`): by a constant margin, by a margin in
proportion to a second model of its errors, and by the estimate beside the quantiles.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gt2lite._threads import one_blas_thread
from gt2lite._validation import Array
from gt2lite.datasets import Index, Prepared
from study.design import LEVELS
from study.field.contestant import Chosen, Contestant, Entered, Get
from study.field.margins import Parts, Shape, answer, around, floored, same
from study.field.setting import Setting, checksum_of

VALIDATION_SHARE = 0.2
"""The share of the training rows on which settings are chosen."""

LEAVES: tuple[dict[str, int], ...] = (
    {"max_leaf_nodes": 31, "min_samples_leaf": 20},
    {"max_leaf_nodes": 8, "min_samples_leaf": 10},
)
RATES = (0.1, 0.05)
MOST_TREES = 1000
PATIENCE = 50  # trees without a gain after which no more are tried
N_FOLDS = 5


class Tuning(NamedTuple):
    """Settings that were best on rows held out, and what finding them took."""

    settings: dict[str, Any]
    seconds: float

    def told(self, part: str, most_trees: int) -> Chosen:
        """Return the same for the records."""
        others = {k: v for k, v in self.settings.items() if k != "max_iter"}
        trees = self.settings["max_iter"]
        return Chosen(part, json.dumps(others, sort_keys=True), trees, most_trees)


def boosting(quantile: float | None, **settings: Any) -> Any:
    """Return scikit-learn's estimator of a quantile, or of the mean for None."""
    loss: dict[str, Any] = {"loss": "squared_error"}
    if quantile is not None:
        loss = {"loss": "quantile", "quantile": quantile}
    settings = {"early_stopping": False} | settings
    return import_ensemble().HistGradientBoostingRegressor(**loss, **settings)


def tune(
    X: Array,
    y: Array,
    quantile: float | None,
    seed: int,
    groups: ArrayLike | None = None,
    most_trees: int = MOST_TREES,
) -> Tuning:
    """Return the settings of boosting with the smallest loss on rows held out.

    First the size of trees and leaves is chosen (`LEAVES`), then the learning rate (`RATES`), each
    with the number of trees that is best there, by the loss that is learned.

    Args:
        X: inputs (N, M).
        y: targets (N,).
        quantile: which one is learned; None for the mean.
        seed: decides the validation rows.
        groups: (N,) are not torn apart for validation.
        most_trees: more are not tried.
    """
    clock = time.process_time()
    held = held_out(len(y), groups, seed)
    tried: list[tuple[float, dict[str, Any]]] = []
    for leaves in LEAVES:
        tried.append(_path(X, y, held, quantile, leaves | {"learning_rate": RATES[0]}, most_trees))
    best = min(tried, key=lambda one: one[0])[1]
    for rate in RATES[1:]:
        tried.append(_path(X, y, held, quantile, best | {"learning_rate": rate}, most_trees))
    settings = min(tried, key=lambda one: one[0])[1]
    return Tuning(settings, time.process_time() - clock)


def _path(
    X: Array,
    y: Array,
    held: NDArray[np.bool_],
    quantile: float | None,
    settings: Mapping[str, Any],
    most_trees: int,
) -> tuple[float, dict[str, Any]]:
    """Return the smallest loss on the rows held out, and the settings with as many trees."""
    more = {**settings, "max_iter": most_trees, "early_stopping": True, "random_state": 0}
    model = boosting(quantile, **more, n_iter_no_change=PATIENCE, tol=0.0)
    model.fit(X[~held], y[~held], X_val=X[held], y_val=y[held])
    losses = -model.validation_score_[1:]  # the first is that of no tree
    best = int(np.argmin(losses))
    return float(losses[best]), {**settings, "max_iter": best + 1}


def held_out(n: int, groups: ArrayLike | None, seed: int) -> NDArray[np.bool_]:
    """Return which rows (n,) are for validation: whole groups, or single rows."""
    rng = np.random.default_rng(seed)
    unit = np.arange(n) if groups is None else np.unique(groups, return_inverse=True)[1]
    order = rng.permutation(unit.max() + 1)
    sizes = np.bincount(unit)[order]
    # as many as come nearest to the share, one at least, and one is left to learn from
    n_held = 1 + int(np.argmin(np.abs(np.cumsum(sizes)[:-1] - VALIDATION_SHARE * n)))
    return np.isin(unit, order[:n_held])


def folds(n: int, groups: ArrayLike | None, seed: int) -> Index:
    """Return the fold (n,) of each row, from 0; a group is in one fold."""
    rng = np.random.default_rng(seed)
    unit = np.arange(n) if groups is None else np.unique(groups, return_inverse=True)[1]
    dealt = rng.permutation(unit.max() + 1) % N_FOLDS
    return dealt[unit]


# --------------------------------------------------------------------------- the shared mean


class Mean(NamedTuple):
    """A tuned model of the mean: what it says of rows it has not seen, and what it took."""

    settings: dict[str, Any]
    out_of_fold: Array  # (n_train,) by models of the other folds
    y_hat_cal: Array
    y_hat_test: Array
    tuning_seconds: float
    first_seconds: float  # training on all training rows
    fold_seconds: float  # training on the folds


@dataclass(frozen=True)
class SharedMean(Setting):
    """The tuned model of the mean on one split: several contestants share it."""

    @property
    def code(self) -> tuple[str, ...]:
        """The modules that execute it."""
        return (__name__,)

    @property
    def cost(self) -> float:
        """How long it takes; a single one never queues."""
        return 0.0

    @property
    def label(self) -> str:
        """What it is, in a few words."""
        return f"{self.dataset} seed {self.seed} boosted mean"

    @property
    def most_trees(self) -> int:
        """How many trees are tried at most."""
        return most_trees(self.effort)

    def asked(self) -> dict[str, Any]:
        """Return all that distinguishes it, in plain values."""
        return asdict(self) | {"data": checksum_of(self.dataset)}

    def execute(self, get: Any = None) -> Mean:
        """Tune and train the model."""
        data = self.prepare()
        groups = self.kept_together(data)
        X, y = data.X_train, data.y_train
        import_ensemble()  # now, so that it is not counted
        with one_blas_thread():
            tuned = tune(X, y, None, self.seed, groups, self.most_trees)
            clock = time.process_time()
            model = boosting(None, **tuned.settings).fit(X, y)
            first = time.process_time() - clock
            clock = time.process_time()
            left = np.empty(len(y))
            fold = folds(len(y), groups, self.seed)
            for k in range(N_FOLDS):
                other = boosting(None, **tuned.settings).fit(X[fold != k], y[fold != k])
                left[fold == k] = other.predict(X[fold == k])
            aside = time.process_time() - clock
            cal, test = (np.asarray(model.predict(rows)) for rows in (data.X_cal, data.X_test))
        return Mean(tuned.settings, left, cal, test, tuned.seconds, first, aside)

    def pack(self, mean: Mean) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return the outcome in plain form."""
        arrays = {k: v for k, v in mean._asdict().items() if isinstance(v, np.ndarray)}
        return {k: v for k, v in mean._asdict().items() if k not in arrays}, arrays

    def unpack(self, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> Mean:
        """Return the outcome again."""
        found: dict[str, Any] = {**header, **arrays}
        return Mean(**{name: found[name] for name in Mean._fields})


def shared_mean(setting: Setting, get: Get) -> Mean:
    """Return the tuned model of the mean on a split."""
    names = ("dataset", "seed", "split", "effort", "most_rows")
    found: Mean = get(SharedMean(**{name: getattr(setting, name) for name in names}))
    return found


def most_trees(effort: float) -> int:
    """Return how many trees an effort allows, one at least."""
    return max(round(effort * MOST_TREES), 1)


# ----------------------------------------------------------------------------- contestants


@dataclass(frozen=True)
class BoostedMean(Contestant):
    """The boosted mean with a margin: a constant one, or in proportion to expected errors."""

    normalised: bool = False

    is_fuzzy: ClassVar[bool] = False

    @property
    def weight(self) -> float:
        """How long it takes, in units of the paper's system."""
        return 2.0

    @property
    def told(self) -> tuple[str, str, str]:
        """What it learns, where its interval comes from, what a further level needs."""
        further = "a look at a sorted list"
        if self.normalised:
            learns = "the mean, and the size of its errors, by boosted trees"
            return learns, "the mean and a margin in proportion to the expected error", further
        return "the mean, by boosted trees", "the mean and one margin for all rows", further

    def enter(self, setting: Setting, data: Prepared, get: Get) -> Entered:
        """Take the shared mean, learn its errors if asked, and calibrate."""
        mean, trees = shared_mean(setting, get), most_trees(setting.effort)
        chosen = [Tuning(mean.settings, 0).told("mean", trees)]
        seconds, tuning = mean.first_seconds, mean.tuning_seconds
        spread: list[Array | float] = [1.0, 1.0]
        if self.normalised:
            errors = np.abs(data.y_train - mean.out_of_fold)
            groups = setting.kept_together(data)
            tuned = tune(data.X_train, errors, None, setting.seed, groups, trees)
            clock = time.process_time()
            model = boosting(None, **tuned.settings).fit(data.X_train, errors)
            seconds += time.process_time() - clock + mean.fold_seconds
            tuning += tuned.seconds
            spread = [floored(model.predict(X), errors) for X in (data.X_cal, data.X_test)]
            chosen.append(tuned.told("errors", trees))
        parts = Parts(around(mean.y_hat_cal, spread[0]), around(mean.y_hat_test, spread[1]))
        found = answer("", mean.y_hat_test, same(parts), data.y_cal, data.y_test)
        return Entered((found,), seconds, 0.0, tuning, tuple(chosen))


@dataclass(frozen=True)
class BoostedQuantiles(Contestant):
    """Two boosted quantiles with one margin: conformalised quantile regression."""

    is_fuzzy: ClassVar[bool] = False

    @property
    def weight(self) -> float:
        """How long it takes, in units of the paper's system: choosing settings takes longest."""
        return 8.0

    @property
    def told(self) -> tuple[str, str, str]:
        """What it learns, where its interval comes from, what a further level needs."""
        learns = "two quantiles, by boosted trees"
        return learns, "the two and one margin for all rows", "two more trainings"

    def enter(self, setting: Setting, data: Prepared, get: Get) -> Entered:
        """Tune, train and calibrate two quantiles for each level."""
        mean, trees = shared_mean(setting, get), most_trees(setting.effort)
        groups = setting.kept_together(data)
        parts, times, tuning, chosen = {}, [], [], []
        for level in LEVELS:
            clock, ends, spent = time.process_time(), [], 0.0
            for tau in ((1 - level) / 2, (1 + level) / 2):
                tuned = tune(data.X_train, data.y_train, tau, setting.seed, groups, trees)
                model = boosting(tau, **tuned.settings).fit(data.X_train, data.y_train)
                ends.append([np.asarray(model.predict(X)) for X in (data.X_cal, data.X_test)])
                chosen.append(tuned.told(f"quantile {tau:.3f}", trees))
                spent += tuned.seconds
            shapes = (Shape(low, high, np.ones(len(low))) for low, high in zip(*ends, strict=True))
            parts[level] = Parts(*shapes)
            times.append(time.process_time() - clock - spent)
            tuning.append(spent)
        found = answer(
            "", mean.y_hat_test, parts.__getitem__, data.y_cal, data.y_test, every_level=False
        )
        return Entered((found,), times[0], times[1], tuning[0], tuple(chosen))


def import_ensemble() -> Any:
    """Return scikit-learn's module of ensembles."""
    try:
        from sklearn import ensemble
    except ImportError as error:
        raise ImportError(
            "trees are scikit-learn's, which is not installed: pip install 'gt2lite[book]'"
        ) from error
    return ensemble
