"""Competitors of the fuzzy systems: boosted trees, forests, linear quantiles, a Gaussian process.

Each is tuned on a fifth of the training rows, greedily over the settings that its users tune, and
trained again on all of them. Boosted trees stop early. Intervals are conformal: a margin on two
quantiles (Romano, Patterson and Candès 2019), or one in proportion to the standard deviation that
the method predicts. CatBoost and NGBoost are in the extra `competitors`, all else is scikit-learn.
"""

from __future__ import annotations

import functools
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gt2lite._validation import Array
from gt2lite.datasets import Index
from gt2lite.losses import pinball
from study.comparison import gaussian_process as gp
from study.comparison.data import LEVELS, Case
from study.margins import (
    Prediction,
    Result,
    between,
    conformal,
    floored,
    normalised,
)

T = TypeVar("T")
Settings = dict[str, Any]
Path = Callable[[Settings], tuple[float, Settings]]
"""Trains with settings; returns the held-out loss, and the settings with the number of trees."""

N_TIMED = 1000  # rows whose prediction is timed
N_FOLDS = 5
VALIDATION_SHARE = 0.2  # of the training rows, on which settings are chosen
MOST_TREES = 1000
PATIENCE = 30  # trees without a gain after which no more are tried

BOOSTING_GRID: dict[str, tuple[Any, ...]] = {
    "max_leaf_nodes": (31, 8),
    "min_samples_leaf": (20, 5, 1),
    "learning_rate": (0.1, 0.05),
}
CATBOOST_GRID = {"depth": (6, 4), "learning_rate": (0.1, 0.04)}
NGBOOST_GRID = {"max_depth": (3, 5), "learning_rate": (0.05, 0.03)}
FOREST_GRID = {"min_samples_leaf": (5, 1, 15), "max_features": (1.0, 1 / 3)}
N_FOREST_TREES, N_TRIAL_TREES = 200, 50
PENALTIES = (0.0, 0.003, 0.03)  # on the sum of absolute coefficients
MOST_PROCESS_ROWS = 1500  # of the Gaussian process


def timed(call: Callable[[], T]) -> tuple[T, float]:
    """Return what a call returns, and its CPU seconds."""
    clock = time.process_time()
    found = call()
    return found, time.process_time() - clock


def share(effort: float, of: int, least: int = 1) -> int:
    """Return the share of epochs or trees that an effort allows."""
    return max(round(effort * of), least)


def taus(level: float) -> tuple[float, float]:
    """Return the two quantiles of a level.

    >>> taus(0.9)
    (0.05, 0.95)
    """
    return round((1 - level) / 2, 6), round((1 + level) / 2, 6)


def result(
    case: Case,
    predict: Callable[[Array], Prediction],
    *,
    every_level: bool = True,
    **facts: Any,
) -> Result:
    """Calibrate a fitted competitor and time its predictions.

    Args:
        case: its rows.
        predict: returns estimates and families for scaled rows.
        every_level: whether one training gives all levels.
        facts: fields of `Result`.
    """
    data = case.data
    found = conformal("", predict(data.X_cal), predict(data.X_test), data, every_level=every_level)
    many = np.resize(data.X_test, (N_TIMED, data.X_test.shape[1]))  # rows repeat if they are few

    def answer() -> None:
        prediction = predict(many)
        for level in LEVELS:
            prediction.family(level)

    return Result((found,), predict_seconds=timed(answer)[1], **facts)


def greedy(path: Path, grid: Mapping[str, Sequence[Any]]) -> Settings:
    """Return settings that are chosen one after the other, each by its smallest held-out loss.

    Args:
        path: returns loss and full settings.
        grid: values by setting, the one to start with first.
    """
    best = path({name: values[0] for name, values in grid.items()})
    for name, values in grid.items():
        tried = [path(best[1] | {name: value}) for value in values[1:]]
        best = min([best, *tried], key=lambda one: one[0])
    return best[1]


def held_out(n: int, groups: ArrayLike | None, seed: int) -> NDArray[np.bool_]:
    """Return which rows (n,) are for validation: whole groups, or single rows."""
    rng = np.random.default_rng(seed)
    unit = np.arange(n) if groups is None else np.unique(groups, return_inverse=True)[1]
    order = rng.permutation(unit.max() + 1)
    sizes = np.bincount(unit)[order]
    # as many as come nearest to the share, at least one, and one is left to learn from
    n_held = 1 + int(np.argmin(np.abs(np.cumsum(sizes)[:-1] - VALIDATION_SHARE * n)))
    return np.isin(unit, order[:n_held])


def folds(n: int, groups: ArrayLike | None, seed: int) -> Index:
    """Return the fold (n,) of each row, from 0; a group is in one fold."""
    rng = np.random.default_rng(seed)
    unit = np.arange(n) if groups is None else np.unique(groups, return_inverse=True)[1]
    return (rng.permutation(unit.max() + 1) % N_FOLDS)[unit]


def chosen(part: str, settings: Mapping[str, Any], effort: float = 1.0) -> dict[str, Any]:
    """Return chosen settings as a row; trees at their limit are visible in it."""
    others = {name: value for name, value in settings.items() if name != "trees"}
    row: dict[str, Any] = {"part": part, "settings": json.dumps(others, sort_keys=True)}
    if "trees" in settings:
        row |= {"trees": settings["trees"], "most_trees": share(effort, MOST_TREES)}
    return row


def _extra(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(f"{module} is not installed: pip install -e '.[competitors]'") from error


# ------------------------------------------------------------------- boosting of scikit-learn


def boosting(quantile: float | None, *, trees: int, **settings: Any) -> Any:
    """Return scikit-learn's estimator of a quantile, or of the mean for None."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    loss: Settings = {"loss": "squared_error"}
    if quantile is not None:
        loss = {"loss": "quantile", "quantile": quantile}
    more = {"early_stopping": False} | settings
    return HistGradientBoostingRegressor(**loss, max_iter=trees, **more)


def tune(
    X: Array,
    y: Array,
    quantile: float | None,
    seed: int,
    groups: ArrayLike | None = None,
    most_trees: int = MOST_TREES,
    grid: Mapping[str, Sequence[Any]] = BOOSTING_GRID,
) -> tuple[Settings, float]:
    """Return the boosting settings with the smallest held-out loss, and the seconds spent.

    Args:
        X: inputs (N, M).
        y: targets (N,).
        quantile: the one to learn, by its pinball loss; None for the mean, by squares.
        seed: decides the validation rows.
        groups: (N,), kept whole in validation.
        most_trees: largest number of trees.
        grid: values by setting.
    """
    held = held_out(len(y), groups, seed)

    def path(settings: Settings) -> tuple[float, Settings]:
        more = {**settings, "trees": most_trees, "early_stopping": True, "random_state": 0}
        model = boosting(quantile, **more, n_iter_no_change=PATIENCE, tol=0.0)
        model.fit(X[~held], y[~held], X_val=X[held], y_val=y[held])
        losses = -model.validation_score_[1:]  # the first is that of no tree
        best = int(np.argmin(losses))
        return float(losses[best]), {**settings, "trees": best + 1}

    return timed(lambda: greedy(path, grid))


@dataclass(frozen=True)
class BoostedMean:
    """A tuned model of the mean: settings, predictions for rows left out, and times."""

    settings: Settings
    model: Any
    out_of_fold: Array  # (n_train,), by models of the other folds
    tuning_seconds: float
    first_seconds: float  # training on all training rows
    fold_seconds: float  # training on the folds


@functools.lru_cache(maxsize=2)
def boosted_mean(case: Case, effort: float = 1.0) -> BoostedMean:
    """Return the tuned model of the mean that several methods share."""
    from sklearn import ensemble  # noqa: F401 - now, so that the import is not timed

    X, y, groups = case.data.X_train, case.data.y_train, case.train_groups
    settings, tuning = tune(X, y, None, case.seed, groups, share(effort, MOST_TREES))
    model, first = timed(lambda: boosting(None, **settings).fit(X, y))
    left, fold = np.empty(len(y)), folds(len(y), groups, case.seed)

    def leave_out() -> None:
        for k in range(N_FOLDS):
            other = boosting(None, **settings).fit(X[fold != k], y[fold != k])
            left[fold == k] = other.predict(X[fold == k])

    return BoostedMean(settings, model, left, tuning, first, timed(leave_out)[1])


def boosted(case: Case, effort: float = 1.0) -> Result:
    """Put one margin on the boosted mean."""
    mean = boosted_mean(case, effort)
    return result(
        case,
        lambda X: normalised(mean.model.predict(X)),
        first_seconds=mean.first_seconds,
        tuning_seconds=mean.tuning_seconds,
        chosen=(chosen("mean", mean.settings, effort),),
    )


def boosted_normalised(case: Case, effort: float = 1.0) -> Result:
    """Put a margin on the boosted mean in proportion to boosted errors of rows left out."""
    mean, X = boosted_mean(case, effort), case.data.X_train
    errors = np.abs(case.data.y_train - mean.out_of_fold)
    most = share(effort, MOST_TREES)
    settings, tuning = tune(X, errors, None, case.seed, case.train_groups, most)
    model, seconds = timed(lambda: boosting(None, **settings).fit(X, errors))
    return result(
        case,
        lambda X: normalised(mean.model.predict(X), floored(model.predict(X), errors)),
        first_seconds=mean.first_seconds + mean.fold_seconds + seconds,
        tuning_seconds=mean.tuning_seconds + tuning,
        chosen=(chosen("mean", mean.settings, effort), chosen("errors", settings, effort)),
    )


def boosted_quantiles(case: Case, effort: float = 1.0) -> Result:
    """Put one margin on two boosted quantiles: conformalised quantile regression.

    Each side is tuned at the first level; at the second, its number of trees is chosen anew.
    """
    X, y = case.data.X_train, case.data.y_train
    mean, most = boosted_mean(case, effort), share(effort, MOST_TREES)
    models, seconds, tuning, kept = {}, [0.0, 0.0], [0.0, 0.0], []
    for side in (0, 1):
        grid = BOOSTING_GRID | {"learning_rate": (0.1,)}  # trees of quantiles take long
        for i, level in enumerate(LEVELS):
            tau = taus(level)[side]
            found, spent = tune(X, y, tau, case.seed, case.train_groups, most, grid)
            model = boosting(tau, **found)
            models[tau], fitting = timed(functools.partial(model.fit, X, y))
            tuning[i] += spent
            seconds[i] += fitting
            kept.append(chosen(f"quantile {tau:.3f}", found, effort))
            grid = {name: (found[name],) for name in BOOSTING_GRID}
    return result(
        case,
        _by_models(mean.model, models),
        every_level=False,
        first_seconds=seconds[0],
        further_seconds=seconds[1],
        tuning_seconds=sum(tuning),
        chosen=tuple(kept),
    )


def _by_models(mean: Any, quantiles: Mapping[float, Any]) -> Callable[[Array], Prediction]:
    """Return predictions by a model of the mean and one for each quantile."""

    def predict(X: Array) -> Prediction:
        return Prediction(
            mean.predict(X),
            lambda level: between(*(quantiles[tau].predict(X) for tau in taus(level))),
        )

    return predict


# --------------------------------------------------------------------------- CatBoost, NGBoost


def catboost_quantiles(case: Case, effort: float = 1.0) -> Result:
    """Put one margin on two quantiles of CatBoost, which learns them together with the median."""
    every = sorted({0.5, *(tau for level in LEVELS for tau in taus(level))})
    loss = f"MultiQuantile:alpha={','.join(map(str, every))}"
    model, facts = _catboost(case, effort, loss)

    def predict(X: Array) -> Prediction:
        found = dict(zip(every, model.predict(X).T, strict=True))
        return Prediction(found[0.5], lambda level: between(*(found[tau] for tau in taus(level))))

    return result(case, predict, every_level=False, **facts)


def catboost_normal(case: Case, effort: float = 1.0) -> Result:
    """Put a margin on CatBoost's mean in proportion to its standard deviation."""
    model, facts = _catboost(case, effort, "RMSEWithUncertainty")

    def moments(X: Array) -> tuple[Array, Array]:
        mean, variance = model.predict(X).T
        return mean, np.sqrt(np.maximum(variance, 0.0))

    return result(case, _by_moments(moments, case.data.X_train), **facts)


def _catboost(case: Case, effort: float, loss: str) -> tuple[Any, dict[str, Any]]:
    """Return CatBoost with tuned settings, and what it cost."""
    package = _extra("catboost")
    X, y, held = _train_and_held(case)

    def make(trees: int, settings: Settings) -> Any:
        fixed = {"thread_count": 1, "verbose": False, "allow_writing_files": False}
        return package.CatBoostRegressor(
            loss_function=loss, iterations=trees, random_seed=case.seed, **fixed, **settings
        )

    def path(settings: Settings) -> tuple[float, Settings]:
        settings = {name: settings[name] for name in CATBOOST_GRID}
        model = make(share(effort, MOST_TREES), settings)
        rows = (X[held], y[held])
        model.fit(X[~held], y[~held], eval_set=rows, early_stopping_rounds=PATIENCE)
        (best,) = model.get_best_score()["validation"].values()
        return best, {**settings, "trees": model.get_best_iteration() + 1}

    found, tuning = timed(lambda: greedy(path, CATBOOST_GRID))
    settings = {name: found[name] for name in CATBOOST_GRID}
    model, seconds = timed(lambda: make(found["trees"], settings).fit(X, y))
    kept = (chosen("trees", found, effort),)
    return model, {"first_seconds": seconds, "tuning_seconds": tuning, "chosen": kept}


def ngboost(case: Case, effort: float = 1.0) -> Result:
    """Put a margin on the mean of NGBoost in proportion to its standard deviation."""
    from sklearn.tree import DecisionTreeRegressor

    package = _extra("ngboost")
    X, y, held = _train_and_held(case)

    def make(trees: int, max_depth: int, learning_rate: float) -> Any:
        return package.NGBRegressor(
            Base=DecisionTreeRegressor(max_depth=max_depth),
            n_estimators=trees,
            learning_rate=learning_rate,
            verbose=False,
            random_state=case.seed,
        )

    def path(settings: Settings) -> tuple[float, Settings]:
        settings = settings | {"trees": share(effort, MOST_TREES)}
        model = make(**settings)
        model.fit(X[~held], y[~held], X_val=X[held], Y_val=y[held], early_stopping_rounds=PATIENCE)
        losses = model.evals_result["val"]["LOGSCORE"]
        return min(losses), settings | {"trees": int(np.argmin(losses)) + 1}

    found, tuning = timed(lambda: greedy(path, NGBOOST_GRID))
    model, seconds = timed(lambda: make(**found).fit(X, y))

    def moments(X: Array) -> tuple[Array, Array]:
        normal = model.pred_dist(X).params
        return normal["loc"], normal["scale"]

    return result(
        case,
        _by_moments(moments, X),
        first_seconds=seconds,
        tuning_seconds=tuning,
        chosen=(chosen("trees", found, effort),),
    )


def _train_and_held(case: Case) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Return training inputs and targets, and which rows are for validation."""
    y = case.data.y_train
    return case.data.X_train, y, held_out(len(y), case.train_groups, case.seed)


def _by_moments(
    moments: Callable[[Array], tuple[Array, Array]], X_train: Array
) -> Callable[[Array], Prediction]:
    """Return predictions by mean and standard deviation; that has a floor."""
    usual = moments(X_train)[1]

    def predict(X: Array) -> Prediction:
        mean, std = moments(X)
        return normalised(mean, floored(std, usual))

    return predict


# --------------------------------------------------------------------------- Gaussian process


def gaussian_process(case: Case, effort: float = 1.0) -> Result:
    """Put a margin on the mean of a Gaussian process in proportion to its standard deviation.

    It has a length scale for each input. The kernel is the one with the larger predictive density
    on validation rows. At most 1,500 training rows are drawn at random.
    """
    X, y, held = _train_and_held(case)
    kept = np.random.default_rng([case.seed, 1]).permutation(len(y))  # not that of `held`
    kept = kept[: share(effort, MOST_PROCESS_ROWS, least=30)]
    steps = share(effort, gp.STEPS)

    def density(kernel: str) -> float:
        few = kept[~held[kept]][: gp.FEW_ROWS]
        mean, std = gp.fit(X[few], y[few], kernel).predict(X[held])
        return float(np.mean(-0.5 * ((y[held] - mean) / std) ** 2 - np.log(std)))

    kernel, tuning = timed(lambda: max(gp.KERNELS, key=density))
    process, seconds = timed(lambda: gp.fit(X[kept], y[kept], kernel, steps=steps))
    return result(
        case,
        _by_moments(process.predict, X[kept]),
        first_seconds=seconds,
        tuning_seconds=tuning,
        chosen=(chosen("process", {"kernel": kernel, "rows": len(kept)}),),
    )


# ---------------------------------------------------------------- quantile forest, linear models


def forest(case: Case, effort: float = 1.0) -> Result:
    r"""Grow a quantile forest (Meinshausen 2006) and put one margin on its quantiles.

    A random forest of the mean is grown as usual. A new row falls into one leaf of each tree, and
    the training rows of those leaves get weights,

    .. math:: w_i(x) = \frac1T \sum_t \frac{1\{x_i \in \ell_t(x)\}}{|\ell_t(x)|} .

    Quantiles are those of the training targets with these weights.
    """
    from sklearn.ensemble import RandomForestRegressor

    X, y, held = _train_and_held(case)
    n_trees = share(effort, N_FOREST_TREES, least=2)
    forest_weights(np.zeros((1, 1), dtype=int), np.zeros((1, 1), dtype=int))  # imports, not timed

    def grow(trees: int, X: Array, y: Array, settings: Settings) -> Callable[[Array], Any]:
        model = RandomForestRegressor(trees, random_state=case.seed, **settings).fit(X, y)
        leaves = model.apply(X)

        def predict(rows: Array) -> tuple[Array, Callable[[Sequence[float]], Array]]:
            weights = forest_weights(leaves, model.apply(rows))
            return model.predict(rows), weighted_quantiles(weights, y)

        return predict

    def path(settings: Settings) -> tuple[float, Settings]:
        few = min(n_trees, N_TRIAL_TREES)
        quantiles = grow(few, X[~held], y[~held], settings)(X[held])[1]
        ends = [tau for level in LEVELS for tau in taus(level)]
        losses = [pinball(y[held] - q, tau) for q, tau in zip(quantiles(ends), ends, strict=True)]
        return float(np.mean(losses)), settings

    settings, tuning = timed(lambda: greedy(path, FOREST_GRID))
    grown, seconds = timed(lambda: grow(n_trees, X, y, settings))

    def predict(X: Array) -> Prediction:
        y_hat, quantiles = grown(X)
        return Prediction(y_hat, functools.cache(lambda level: between(*quantiles(taus(level)))))

    kept = (chosen("forest", settings),)
    return result(case, predict, first_seconds=seconds, tuning_seconds=tuning, chosen=kept)


def forest_weights(train_leaves: Array, leaves: Array) -> Array:
    """Return the weight of each training row for each new row, (n, N); rows sum to 1.

    Args:
        train_leaves: the leaf of each training row in each tree (N, T).
        leaves: that of new rows (n, T).

    >>> train = np.array([[0, 0], [0, 1], [1, 1]])
    >>> forest_weights(train, np.array([[0, 1]]))  # leaves {0, 1} and {1, 2}, a half each
    array([[0.25, 0.5 , 0.25]])
    """
    from scipy import sparse

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


def weighted_quantiles(weights: Array, y: Array) -> Callable[[Sequence[float]], Array]:
    """Return the smallest target at which the weights (n, N) add up to tau, for each tau (K, n).

    >>> weighted_quantiles(np.array([[0.25, 0.5, 0.25]]), np.array([3.0, 1.0, 2.0]))([0.5, 0.6])
    array([[1.],
           [2.]])
    """
    order, last = np.argsort(y), len(y) - 1
    steps = np.cumsum(weights[:, order], axis=1)  # (n, N)

    def at(taus: Sequence[float]) -> Array:
        places = [np.minimum((steps < tau - 1e-9).sum(axis=1), last) for tau in taus]
        return y[order][np.array(places)]

    return at


def linear(case: Case, effort: float = 1.0) -> Result:
    """Put one margin on two quantiles that are linear in the inputs.

    The penalty is chosen by the median; the estimate is a ridge regression of the mean.
    """
    from sklearn.linear_model import QuantileRegressor, RidgeCV

    X, y, held = _train_and_held(case)

    def quantile(tau: float, penalty: float, rows: Any = slice(None)) -> Any:
        model = QuantileRegressor(quantile=tau, alpha=penalty, solver="highs")
        return model.fit(X[rows], y[rows])

    def loss(penalty: float) -> float:
        errors = y[held] - quantile(0.5, penalty, ~held).predict(X[held])
        return float(np.mean(pinball(errors, 0.5)))

    penalty, tuning = timed(lambda: min(PENALTIES, key=loss))
    mean, seconds = timed(lambda: RidgeCV(alphas=np.logspace(-2, 4, 13)).fit(X, y))
    models: dict[float, Any] = {}

    def learn(level: float) -> None:
        models.update({tau: quantile(tau, penalty) for tau in taus(level)})

    times = [timed(functools.partial(learn, level))[1] for level in LEVELS]
    return result(
        case,
        _by_models(mean, models),
        every_level=False,
        first_seconds=seconds + times[0],
        further_seconds=times[1],
        tuning_seconds=tuning,
        chosen=(chosen("quantiles", {"alpha": penalty}),),
    )
