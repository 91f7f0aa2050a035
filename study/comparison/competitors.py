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
from importlib import import_module
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import QuantileRegressor, RidgeCV
from sklearn.model_selection import PredefinedSplit, cross_val_predict
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeRegressor

from gt2lite._validation import Array
from gt2lite.datasets import Index
from gt2lite.losses import pinball
from study.comparison import gaussian_process as gp
from study.comparison.data import LEVELS, Case
from study.margins import Prediction, Result, between, conformal, floored, normalised

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
LINEAR_GRID = {"alpha": (0.0, 0.003, 0.03)}  # penalty on the sum of absolute coefficients
N_FOREST_TREES, N_TRIAL_TREES = 200, 50
MOST_PROCESS_ROWS = 1500  # of the Gaussian process


class Fitted(NamedTuple):
    """A model with tuned settings, and the CPU seconds of training and of tuning."""

    model: Any
    seconds: float
    part: str = ""  # the model's part in the method, such as "mean"
    settings: Mapping[str, Any] = MappingProxyType({})
    tuning: float = 0.0
    most_trees: int = 0  # a number of trees at this limit is visible in the stored settings

    @property
    def chosen(self) -> dict[str, Any]:
        """The settings as a row of `comparison_settings.csv`."""
        others = {name: value for name, value in self.settings.items() if name != "trees"}
        row = {"part": self.part, "settings": json.dumps(others, sort_keys=True)}
        if "trees" in self.settings:
            return row | {"trees": self.settings["trees"], "most_trees": self.most_trees}
        return row


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
    first: Sequence[Fitted],
    further: Sequence[Fitted] = (),
    *,
    every_level: bool = True,
) -> Result:
    """Calibrate a fitted competitor and time its predictions.

    Args:
        case: its rows.
        predict: returns estimates and families for scaled rows.
        first: the models that the first level needs.
        further: those that the second level needs besides.
        every_level: whether one training gives all levels.
    """
    data = case.data
    found = conformal("", predict(data.X_cal), predict(data.X_test), data, every_level=every_level)
    many = np.resize(data.X_test, (N_TIMED, data.X_test.shape[1]))  # rows repeat if they are few

    def answer() -> None:
        prediction = predict(many)
        for level in LEVELS:
            prediction.family(level)

    return Result(
        (found,),
        first_seconds=sum(fitted.seconds for fitted in first),
        further_seconds=sum(fitted.seconds for fitted in further),
        tuning_seconds=sum(fitted.tuning for fitted in (*first, *further)),
        predict_seconds=timed(answer)[1],
        chosen=tuple(fitted.chosen for fitted in (*first, *further) if fitted.settings),
    )


# ------------------------------------------------------------------------------------- tuning


def tuned(
    part: str,
    path: Path,
    grid: Mapping[str, Sequence[Any]],
    train: Callable[[Settings], Any],
    effort: float = 1.0,
) -> Fitted:
    """Choose settings by `path` and `train` with them on all training rows."""
    settings, tuning = timed(lambda: greedy(path, grid))
    model, seconds = timed(lambda: train(settings))
    return Fitted(model, seconds, part, settings, tuning, share(effort, MOST_TREES))


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


def held_out(n: int, seed: int, groups: ArrayLike | None = None) -> NDArray[np.bool_]:
    """Return which rows (n,) are for validation: whole groups, or single rows."""
    rng = np.random.default_rng(seed)
    unit = np.arange(n) if groups is None else np.unique(groups, return_inverse=True)[1]
    order = rng.permutation(unit.max() + 1)
    sizes = np.bincount(unit)[order]
    # as many as come nearest to the share, at least one, and one is left to learn from
    n_held = 1 + int(np.argmin(np.abs(np.cumsum(sizes)[:-1] - VALIDATION_SHARE * n)))
    return np.isin(unit, order[:n_held])


def folds(n: int, seed: int, groups: ArrayLike | None = None) -> Index:
    """Return the fold (n,) of each row, from 0; a group is in one fold."""
    rng = np.random.default_rng(seed)
    unit = np.arange(n) if groups is None else np.unique(groups, return_inverse=True)[1]
    return (rng.permutation(unit.max() + 1) % N_FOLDS)[unit]


def _train_and_held(case: Case) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Return training inputs and targets, and which rows are for validation."""
    y = case.data.y_train
    return case.data.X_train, y, held_out(len(y), case.seed, case.train_groups)


# ------------------------------------------------------------------- boosting of scikit-learn


def boosting(quantile: float | None, *, trees: int, **settings: Any) -> Any:
    """Return scikit-learn's estimator of a quantile, or of the mean for None."""
    loss = "squared_error" if quantile is None else "quantile"
    more = {"early_stopping": False} | settings
    return HistGradientBoostingRegressor(loss=loss, quantile=quantile, max_iter=trees, **more)


def boost(
    X: Array,
    y: Array,
    quantile: float | None,
    seed: int,
    groups: ArrayLike | None = None,
    *,
    part: str = "mean",
    grid: Mapping[str, Sequence[Any]] = BOOSTING_GRID,
    effort: float = 1.0,
) -> Fitted:
    """Train boosted trees with the settings and the number of trees of smallest held-out loss.

    Args:
        X: inputs (N, M).
        y: targets (N,).
        quantile: the one to learn, by its pinball loss; None for the mean, by squares.
        seed: decides the validation rows.
        groups: (N,), kept whole in validation.
        part: name of the model.
        grid: values by setting.
        effort: share of `MOST_TREES`.
    """
    held = held_out(len(y), seed, groups)

    def path(settings: Settings) -> tuple[float, Settings]:
        more = {"trees": share(effort, MOST_TREES), "early_stopping": True, "random_state": 0}
        model = boosting(quantile, **settings | more, n_iter_no_change=PATIENCE, tol=0.0)
        model.fit(X[~held], y[~held], X_val=X[held], y_val=y[held])
        losses = -model.validation_score_[1:]  # the first is that of no tree
        return float(losses.min()), settings | {"trees": int(np.argmin(losses)) + 1}

    return tuned(part, path, grid, lambda found: boosting(quantile, **found).fit(X, y), effort)


@functools.lru_cache(maxsize=2)
def boosted_mean(case: Case, effort: float = 1.0) -> Fitted:
    """Return the tuned model of the mean that several methods share."""
    data = case.data
    return boost(data.X_train, data.y_train, None, case.seed, case.train_groups, effort=effort)


def boosted(case: Case, effort: float = 1.0) -> Result:
    """Put one margin on the boosted mean."""
    mean = boosted_mean(case, effort)
    return result(case, lambda X: normalised(mean.model.predict(X)), [mean])


def boosted_normalised(case: Case, effort: float = 1.0) -> Result:
    """Put a margin on the boosted mean in proportion to boosted errors of rows left out."""
    mean, X, y = boosted_mean(case, effort), case.data.X_train, case.data.y_train
    apart = case.seed, case.train_groups
    parts = PredefinedSplit(folds(len(y), *apart))
    model = boosting(None, **mean.settings)
    left_out, seconds = timed(lambda: cross_val_predict(model, X, y, cv=parts))
    errors = np.abs(y - left_out)
    spread = boost(X, errors, None, *apart, part="errors", effort=effort)
    spread = spread._replace(seconds=spread.seconds + seconds)
    return result(
        case,
        lambda X: normalised(mean.model.predict(X), floored(spread.model.predict(X), errors)),
        [mean, spread],
    )


def boosted_quantiles(case: Case, effort: float = 1.0) -> Result:
    """Put one margin on two boosted quantiles: conformalised quantile regression.

    Each side is tuned at the first level; at the second, its number of trees is chosen anew.
    """
    train = functools.partial(boost, case.data.X_train, case.data.y_train, effort=effort)
    models = {}
    grids = [BOOSTING_GRID | {"learning_rate": (0.1,)}] * 2  # trees of quantiles take long
    for level in LEVELS:
        for side, tau in enumerate(taus(level)):
            part, rows = f"quantile {tau:.3f}", (case.seed, case.train_groups)
            models[tau] = train(tau, *rows, part=part, grid=grids[side])
            grids[side] = {name: (models[tau].settings[name],) for name in BOOSTING_GRID}
    first, further = ([models[tau] for tau in taus(level)] for level in LEVELS)
    mean = boosted_mean(case, effort)
    predict = _by_models(mean.model, {tau: fitted.model for tau, fitted in models.items()})
    return result(case, predict, first, further, every_level=False)


def _by_models(mean: Any, quantiles: Mapping[float, Any]) -> Callable[[Array], Prediction]:
    """Return predictions by a model of the mean and one for each quantile."""
    return lambda X: Prediction(
        mean.predict(X),
        lambda level: between(*(quantiles[tau].predict(X) for tau in taus(level))),
    )


# --------------------------------------------------------------------------- CatBoost, NGBoost


def _extra(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(f"{module} is not installed: pip install -e '.[competitors]'") from error


def catboost_quantiles(case: Case, effort: float = 1.0) -> Result:
    """Put one margin on two quantiles of CatBoost, which learns them together with the median."""
    every = sorted({0.5, *(tau for level in LEVELS for tau in taus(level))})
    fitted = _catboost(case, effort, f"MultiQuantile:alpha={','.join(map(str, every))}")

    def predict(X: Array) -> Prediction:
        found = dict(zip(every, fitted.model.predict(X).T, strict=True))
        return Prediction(found[0.5], lambda level: between(*(found[tau] for tau in taus(level))))

    return result(case, predict, [fitted], every_level=False)


def catboost_normal(case: Case, effort: float = 1.0) -> Result:
    """Put a margin on CatBoost's mean in proportion to its standard deviation."""
    fitted = _catboost(case, effort, "RMSEWithUncertainty")

    def moments(X: Array) -> tuple[Array, Array]:
        mean, variance = fitted.model.predict(X).T
        return mean, np.sqrt(np.maximum(variance, 0.0))

    return result(case, _by_moments(moments, case.data.X_train), [fitted])


def _catboost(case: Case, effort: float, loss: str) -> Fitted:
    package = _extra("catboost")
    X, y, held = _train_and_held(case)

    def make(trees: int, **settings: Any) -> Any:
        fixed = {"thread_count": 1, "verbose": False, "allow_writing_files": False}
        return package.CatBoostRegressor(
            loss_function=loss, iterations=trees, random_seed=case.seed, **fixed, **settings
        )

    def path(settings: Settings) -> tuple[float, Settings]:
        model = make(**settings | {"trees": share(effort, MOST_TREES)})
        rows = (X[held], y[held])
        model.fit(X[~held], y[~held], eval_set=rows, early_stopping_rounds=PATIENCE)
        (best,) = model.get_best_score()["validation"].values()
        return best, settings | {"trees": model.get_best_iteration() + 1}

    return tuned("trees", path, CATBOOST_GRID, lambda found: make(**found).fit(X, y), effort)


def ngboost(case: Case, effort: float = 1.0) -> Result:
    """Put a margin on the mean of NGBoost in proportion to its standard deviation."""
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
        model = make(**settings | {"trees": share(effort, MOST_TREES)})
        model.fit(X[~held], y[~held], X_val=X[held], Y_val=y[held], early_stopping_rounds=PATIENCE)
        losses = model.evals_result["val"]["LOGSCORE"]
        return min(losses), settings | {"trees": int(np.argmin(losses)) + 1}

    fitted = tuned("trees", path, NGBOOST_GRID, lambda found: make(**found).fit(X, y), effort)

    def moments(X: Array) -> tuple[Array, Array]:
        normal = fitted.model.pred_dist(X).params
        return normal["loc"], normal["scale"]

    return result(case, _by_moments(moments, X), [fitted])


def _by_moments(
    moments: Callable[[Array], tuple[Array, Array]], X_train: Array
) -> Callable[[Array], Prediction]:
    """Return predictions by mean and standard deviation; that has a floor."""
    usual = moments(X_train)[1]

    def predict(X: Array) -> Prediction:
        mean, std = moments(X)
        return normalised(mean, floored(std, usual))

    return predict


# ------------------------------------------------- Gaussian process, quantile forest, linear model


def gaussian_process(case: Case, effort: float = 1.0) -> Result:
    """Put a margin on the mean of a Gaussian process in proportion to its standard deviation.

    It has a length scale for each input. The kernel is the one with the larger predictive density
    on validation rows. At most 1,500 training rows are drawn at random.
    """
    X, y, held = _train_and_held(case)
    kept = np.random.default_rng([case.seed, 1]).permutation(len(y))  # not that of `held`
    kept = kept[: share(effort, MOST_PROCESS_ROWS, least=30)]

    def path(settings: Settings) -> tuple[float, Settings]:
        few = kept[~held[kept]][: gp.FEW_ROWS]
        mean, std = gp.fit(X[few], y[few], settings["kernel"]).predict(X[held])
        density = np.mean(-0.5 * ((y[held] - mean) / std) ** 2 - np.log(std))
        return -float(density), settings | {"rows": len(kept)}

    def train(settings: Settings) -> gp.GaussianProcess:
        return gp.fit(X[kept], y[kept], settings["kernel"], steps=share(effort, gp.STEPS))

    fitted = tuned("process", path, {"kernel": gp.KERNELS}, train)
    return result(case, _by_moments(fitted.model.predict, X[kept]), [fitted])


def forest(case: Case, effort: float = 1.0) -> Result:
    r"""Grow a quantile forest (Meinshausen 2006) and put one margin on its quantiles.

    A random forest of the mean is grown as usual. A new row falls into one leaf of each tree, and
    the training rows of those leaves get weights,

    .. math:: w_i(x) = \frac1T \sum_t \frac{1\{x_i \in \ell_t(x)\}}{|\ell_t(x)|} .

    Quantiles are those of the training targets with these weights.
    """
    X, y, held = _train_and_held(case)
    n_trees = share(effort, N_FOREST_TREES, least=2)

    def grow(trees: int, X: Array, y: Array, settings: Settings) -> Callable[[Array], Any]:
        model = RandomForestRegressor(trees, random_state=case.seed, **settings).fit(X, y)
        weights = forest_weights(model.apply(X))
        return lambda new: (model.predict(new), weighted_quantiles(weights(model.apply(new)), y))

    def path(settings: Settings) -> tuple[float, Settings]:
        few = min(n_trees, N_TRIAL_TREES)
        quantiles = grow(few, X[~held], y[~held], settings)(X[held])[1]
        ends = [tau for level in LEVELS for tau in taus(level)]
        losses = [pinball(y[held] - q, tau) for q, tau in zip(quantiles(ends), ends, strict=True)]
        return float(np.mean(losses)), settings

    fitted = tuned("forest", path, FOREST_GRID, lambda found: grow(n_trees, X, y, found))

    def predict(X: Array) -> Prediction:
        y_hat, quantiles = fitted.model(X)
        return Prediction(y_hat, functools.cache(lambda level: between(*quantiles(taus(level)))))

    return result(case, predict, [fitted])


def forest_weights(train_leaves: Array) -> Callable[[Array], Array]:
    """Return a function of leaves (n, T): the weights (n, N) of training rows, which sum to 1.

    Args:
        train_leaves: the leaf of each training row in each tree (N, T).

    >>> weights = forest_weights(np.array([[0, 0], [0, 1], [1, 1]]))
    >>> weights(np.array([[0, 1]]))  # leaves {0, 1} and {1, 2}, a half each
    array([[0.25, 0.5 , 0.25]])
    """
    encoder = OneHotEncoder()
    known = encoder.fit_transform(train_leaves).T.tocsr()  # (leaves, N)
    shares = known.multiply(1 / (known.sum(axis=1) * train_leaves.shape[1])).tocsr()
    return lambda leaves: (encoder.transform(leaves) @ shares).toarray()


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
    X, y, held = _train_and_held(case)

    def quantile(tau: float, alpha: float, rows: Any = slice(None)) -> Any:
        model = QuantileRegressor(quantile=tau, alpha=alpha, solver="highs")
        return model.fit(X[rows], y[rows])

    def path(settings: Settings) -> tuple[float, Settings]:
        errors = y[held] - quantile(0.5, **settings, rows=~held).predict(X[held])
        return float(np.mean(pinball(errors, 0.5))), settings

    def train(level: float, settings: Mapping[str, Any]) -> dict[float, Any]:
        return {tau: quantile(tau, **settings) for tau in taus(level)}

    first = tuned("quantiles", path, LINEAR_GRID, functools.partial(train, LEVELS[0]))
    more, seconds = timed(lambda: train(LEVELS[1], first.settings))
    further = Fitted(more, seconds)
    mean, seconds = timed(lambda: RidgeCV(alphas=np.logspace(-2, 4, 13)).fit(X, y))
    first = first._replace(seconds=first.seconds + seconds)
    predict = _by_models(mean, first.model | more)
    return result(case, predict, [first], [further], every_level=False)
