"""Competitors of the fuzzy systems: trees, a neural network, linear quantiles, a Gaussian process.

Each is tuned on a fifth of the training rows, greedily over the settings that its users tune, and
trained again on all of them (`tuned`). A grid has five candidates, but for those that learn their
settings (the Gaussian process) or come with tuned ones (the network). Boosted trees stop early
(`boost`). Intervals are conformal (`result`): a margin on two quantiles (Romano, Patterson and
Candès 2019), or one in proportion to the standard deviation that the method predicts. CatBoost,
NGBoost and RealMLP are in the extra `competitors`, all else is scikit-learn.
"""

from __future__ import annotations

import contextlib
import functools
import io
import json
import logging
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from gt2lite.practice import gaussian_process as gp
from study.comparison.data import Case
from study.margins import Prediction, Result, between, conformal, floored, normalised
from study.protocol import LEVELS

T = TypeVar("T")
Settings = dict[str, Any]
Grid = Mapping[str, Sequence[Any]]
"""Values to try by setting; tuning starts with the first of each."""

N_TIMED = 1000  # rows whose prediction is timed
N_FOLDS = 5
VALIDATION_SHARE = 0.2  # of the training rows, on which settings are chosen
MOST_TREES = 1000
PATIENCE = 30  # trees without a gain after which no more are tried
MOST_EPOCHS = 256  # of the network

BOOSTING_GRID: Grid = {
    "max_leaf_nodes": (31, 8),
    "min_samples_leaf": (20, 5, 1),
    "learning_rate": (0.1, 0.05),
}
CATBOOST_GRID: Grid = {
    "depth": (6, 4),
    "learning_rate": (0.1, 0.04),
    "l2_leaf_reg": (3, 1, 10),
}
NGBOOST_GRID: Grid = {
    "max_depth": (3, 5),
    "learning_rate": (0.05, 0.03),
    "min_samples_leaf": (1, 5, 20),
}
FOREST_GRID: Grid = {"min_samples_leaf": (5, 1, 15), "max_features": (1.0, 1 / 3, 2 / 3)}
LINEAR_GRID: Grid = {"alpha": (0.0, 0.001, 0.003, 0.01, 0.03)}  # penalty on absolute coefficients
N_FOREST_TREES, N_TRIAL_TREES = 200, 50
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


# ------------------------------------------------------------------------------------- tuning


class Fitted(NamedTuple):
    """A model, the CPU seconds of training and of tuning, and the settings that tuning chose."""

    model: Any
    seconds: float
    tuning: float = 0.0
    settings: Mapping[str, Any] = MappingProxyType({})
    chosen: Mapping[str, Any] = MappingProxyType({})  # as a row of `comparison_settings.csv`


def tuned(
    part: str,
    grid: Grid,
    losses: Callable[[Settings], ArrayLike],
    train: Callable[[Settings], Any],
    most_trees: float = np.nan,
) -> Fitted:
    """Choose settings on held-out rows and train with them on all training rows.

    Args:
        part: the model's part in the method, such as "mean".
        grid: values by setting.
        losses: trains with settings; returns the held-out loss, of boosting after each tree.
        train: trains with the chosen settings, of boosting with the number of `trees`.
        most_trees: of boosting, stored beside that number.
    """
    tried = 0

    def attempt(settings: Settings) -> tuple[float, Settings]:
        nonlocal tried
        tried += 1
        found = np.atleast_1d(losses(settings))
        trees = {} if np.isnan(most_trees) else {"trees": int(found.argmin()) + 1}
        return float(found.min()), settings | trees

    settings, tuning = timed(lambda: greedy(attempt, grid))
    model, seconds = timed(lambda: train(settings))
    text = json.dumps({name: settings[name] for name in grid}, sort_keys=True)
    chosen = {"part": part, "settings": text, "trees": settings.get("trees", np.nan)}
    chosen |= {"most_trees": most_trees, "candidates": tried, "trainings": tried + 1}
    return Fitted(model, seconds, tuning, settings, chosen)


def greedy(attempt: Callable[[Settings], tuple[float, Settings]], grid: Grid) -> Settings:
    """Return settings that are chosen one after the other, each by its smallest held-out loss.

    Args:
        attempt: returns the loss with settings, and the settings with what else was chosen.
        grid: values by setting.
    """
    best = attempt({name: values[0] for name, values in grid.items()})
    for name, values in grid.items():
        tried = [attempt(best[1] | {name: value}) for value in values[1:]]
        best = min([best, *tried], key=lambda one: one[0])
    return best[1]


def held_out(n: int, seed: int, groups: ArrayLike | None = None) -> NDArray[np.bool_]:
    """Return which rows (n,) are for validation: whole groups, or single rows."""
    unit, order = _shuffled_units(n, seed, groups)
    sizes = np.bincount(unit)[order]
    # as many as come nearest to the share, at least one, and one is left to learn from
    n_held = 1 + int(np.argmin(np.abs(np.cumsum(sizes)[:-1] - VALIDATION_SHARE * n)))
    return np.isin(unit, order[:n_held])


def folds(n: int, seed: int, groups: ArrayLike | None = None) -> Index:
    """Return the fold (n,) of each row, from 0; a group is in one fold."""
    unit, order = _shuffled_units(n, seed, groups)
    return (order % N_FOLDS)[unit]


def _shuffled_units(n: int, seed: int, groups: ArrayLike | None) -> tuple[Index, Index]:
    """Return the number of the group of each row (n,), and the groups in random order."""
    unit = np.arange(n) if groups is None else np.unique(groups, return_inverse=True)[1]
    return unit, np.random.default_rng(seed).permutation(unit.max() + 1)


def training_rows(case: Case) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Return training inputs and targets, and which rows are held out for tuning."""
    X, y = case.data.X_train, case.data.y_train
    return X, y, held_out(len(y), case.seed, case.train_groups)


# -------------------------------------------------------------------------------- calibration


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
        chosen=tuple(dict(fitted.chosen) for fitted in (*first, *further) if fitted.chosen),
    )


def by_quantiles(y_hat: Array, quantile: Callable[[float], Array]) -> Prediction:
    """Return a prediction by estimates (N,) and a function from tau to quantiles (N,)."""
    return Prediction(
        y_hat, functools.cache(lambda level: between(*(quantile(tau) for tau in taus(level))))
    )


def by_moments(
    moments: Callable[[Array], tuple[Array, Array]], X_train: Array
) -> Callable[[Array], Prediction]:
    """Return predictions by mean and standard deviation; that has a floor."""
    usual = moments(X_train)[1]

    def predict(X: Array) -> Prediction:
        mean, std = moments(X)
        return normalised(mean, floored(std, usual))

    return predict


# ------------------------------------------------------------------------------ boosted trees


def boosting(quantile: float | None, *, trees: int, **settings: Any) -> Any:
    """Return scikit-learn's estimator of a quantile, or of the mean for None."""
    loss = "squared_error" if quantile is None else "quantile"
    fixed = {"loss": loss, "quantile": quantile, "early_stopping": False, "random_state": 0}
    return HistGradientBoostingRegressor(**fixed, max_iter=trees, **settings)


def boost(
    X: Array,
    y: Array,
    held: NDArray[np.bool_],
    quantile: float | None = None,
    *,
    part: str = "mean",
    grid: Grid = BOOSTING_GRID,
    effort: float = 1.0,
) -> Fitted:
    """Train scikit-learn's trees for a quantile, by its pinball loss, or for the mean.

    Rows (N,) that are `held` out choose the settings and the number of trees.
    """
    most = share(effort, MOST_TREES)

    def losses(settings: Settings) -> Array:
        model = boosting(quantile, **settings | {"trees": most})
        model.set_params(early_stopping=True, n_iter_no_change=PATIENCE, tol=0.0)
        model.fit(X[~held], y[~held], X_val=X[held], y_val=y[held])
        return np.asarray(-model.validation_score_[1:])  # the first is that of no tree

    return tuned(part, grid, losses, lambda chosen: boosting(quantile, **chosen).fit(X, y), most)


@functools.lru_cache(maxsize=2)
def boosted_mean(case: Case, effort: float = 1.0) -> Fitted:
    """Return the tuned model of the mean that several methods share."""
    return boost(*training_rows(case), effort=effort)


def boosted(case: Case, effort: float = 1.0) -> Result:
    """Put one margin on the boosted mean."""
    mean = boosted_mean(case, effort)
    return result(case, lambda X: normalised(mean.model.predict(X)), [mean])


def boosted_normalised(case: Case, effort: float = 1.0) -> Result:
    """Put a margin on the boosted mean in proportion to boosted errors of rows left out."""
    mean, (X, y, held) = boosted_mean(case, effort), training_rows(case)
    cv = PredefinedSplit(folds(len(y), case.seed, case.train_groups))
    model = boosting(None, **mean.settings)
    left_out = Fitted(*timed(lambda: cross_val_predict(model, X, y, cv=cv)))
    errors = np.abs(y - left_out.model)
    size = boost(X, errors, held, part="errors", effort=effort)

    def predict(X: Array) -> Prediction:
        return normalised(mean.model.predict(X), floored(size.model.predict(X), errors))

    return result(case, predict, [mean, left_out, size])


def boosted_quantiles(case: Case, effort: float = 1.0) -> Result:
    """Put one margin on two boosted quantiles: conformalised quantile regression.

    Each side is tuned at the first level; at the second, its number of trees is chosen anew.
    """
    rows, models = training_rows(case), {}
    grids = [BOOSTING_GRID] * 2
    for level in LEVELS:
        for side, tau in enumerate(taus(level)):
            part = f"quantile {tau:.3f}"
            models[tau] = boost(*rows, tau, part=part, grid=grids[side], effort=effort)
            grids[side] = {name: (models[tau].settings[name],) for name in BOOSTING_GRID}
    first, further = ([models[tau] for tau in taus(level)] for level in LEVELS)
    mean = boosted_mean(case, effort).model

    def predict(X: Array) -> Prediction:
        return by_quantiles(mean.predict(X), lambda tau: models[tau].model.predict(X))

    return result(case, predict, first, further, every_level=False)


def catboost_quantiles(case: Case, effort: float = 1.0) -> Result:
    """Put one margin on two quantiles of CatBoost, which learns them together with the median."""
    every = sorted({0.5, *(tau for level in LEVELS for tau in taus(level))})
    fitted = _catboost(case, effort, f"MultiQuantile:alpha={','.join(map(str, every))}")

    def predict(X: Array) -> Prediction:
        found = dict(zip(every, fitted.model.predict(X).T, strict=True))
        return by_quantiles(found[0.5], found.__getitem__)

    return result(case, predict, [fitted], every_level=False)


def catboost_normal(case: Case, effort: float = 1.0) -> Result:
    """Put a margin on CatBoost's mean in proportion to its standard deviation."""
    fitted = _catboost(case, effort, "RMSEWithUncertainty")

    def moments(X: Array) -> tuple[Array, Array]:
        mean, variance = fitted.model.predict(X).T
        return mean, np.sqrt(np.maximum(variance, 0.0))

    return result(case, by_moments(moments, case.data.X_train), [fitted])


def _catboost(case: Case, effort: float, loss: str) -> Fitted:
    package = _extra("catboost")
    (X, y, held), most = training_rows(case), share(effort, MOST_TREES)
    fixed = {"thread_count": 1, "verbose": False, "allow_writing_files": False}

    def make(trees: int, **settings: Any) -> Any:
        more = {"loss_function": loss, "random_seed": case.seed, **fixed, **settings}
        return package.CatBoostRegressor(iterations=trees, **more)

    def losses(settings: Settings) -> Any:
        model, rows = make(**settings | {"trees": most}), (X[held], y[held])
        model.fit(X[~held], y[~held], eval_set=rows, early_stopping_rounds=PATIENCE)
        return model.get_evals_result()["validation"][loss]

    return tuned("trees", CATBOOST_GRID, losses, lambda chosen: make(**chosen).fit(X, y), most)


def ngboost(case: Case, effort: float = 1.0) -> Result:
    """Put a margin on the mean of NGBoost in proportion to its standard deviation."""
    package = _extra("ngboost")
    (X, y, held), most = training_rows(case), share(effort, MOST_TREES)

    def make(trees: int, max_depth: int, min_samples_leaf: int, learning_rate: float) -> Any:
        fixed = {"verbose": False, "random_state": case.seed}
        tree = DecisionTreeRegressor(
            max_depth=max_depth, min_samples_leaf=min_samples_leaf, random_state=case.seed
        )
        return package.NGBRegressor(
            Base=tree, n_estimators=trees, learning_rate=learning_rate, **fixed
        )

    def losses(settings: Settings) -> Any:
        model = make(**settings | {"trees": most})
        model.fit(X[~held], y[~held], X_val=X[held], Y_val=y[held], early_stopping_rounds=PATIENCE)
        return model.evals_result["val"]["LOGSCORE"]

    fitted = tuned("trees", NGBOOST_GRID, losses, lambda chosen: make(**chosen).fit(X, y), most)

    def moments(X: Array) -> tuple[Array, Array]:
        normal = fitted.model.pred_dist(X).params
        return normal["loc"], normal["scale"]

    return result(case, by_moments(moments, X), [fitted])


# ------------------------------------------------------------------------------ neural network


def real_mlp(case: Case, effort: float = 1.0) -> Result:
    """Put one margin on two quantiles of RealMLP, which learns them together with the median.

    RealMLP (Holzmüller, Grinsztajn and Steinwart 2024) is a multilayer perceptron whose settings
    its authors tuned on many data sets, so that none are searched here. The held-out rows choose
    the epoch, and the network is trained again on all rows for as long.
    """
    X, y, held = training_rows(case)
    every = sorted({0.5, *(tau for level in LEVELS for tau in taus(level))})
    loss = f"multi_pinball({','.join(map(str, every))})"
    settings: Settings = {"n_epochs": share(effort, MOST_EPOCHS), "n_refit": 1, "n_threads": 1}
    settings |= {"train_metric_name": loss, "val_metric_name": loss, "random_state": case.seed}
    with _quiet():
        model = _extra("pytabkit").RealMLP_TD_Regressor(device="cpu", **settings)
        _, seconds = timed(lambda: model.fit(X, y, val_idxs=np.flatnonzero(held)))
    about = {"part": "network", "settings": "{}", "candidates": 1, "trainings": 2}

    def predict(X: Array) -> Prediction:
        with _quiet():
            found = dict(zip(every, np.asarray(model.predict(X), dtype=float).T, strict=True))
        return by_quantiles(found[0.5], found.__getitem__)

    fitted = Fitted(model, seconds, chosen=about)
    return result(case, predict, [fitted], every_level=False)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep PyTorch Lightning from reporting the hardware and its progress."""
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(logging.NOTSET)


def _extra(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(f"{module} is not installed: pip install -e '.[competitors]'") from error


# ------------------------------------------------- Gaussian process, quantile forest, linear model


def gaussian_process(case: Case, effort: float = 1.0) -> Result:
    """Put a margin on the mean of a Gaussian process in proportion to its standard deviation.

    It has a length scale for each input. The kernel is the one with the larger predictive density
    on validation rows. At most 1,500 training rows are drawn at random.
    """
    X, y, held = training_rows(case)
    kept = np.random.default_rng([case.seed, 1]).permutation(len(y))  # not that of `held`
    kept = kept[: share(effort, MOST_PROCESS_ROWS, least=30)]

    def loss(settings: Settings) -> float:
        few = kept[~held[kept]][: gp.FEW_ROWS]
        mean, std = gp.fit(X[few], y[few], settings["kernel"]).predict(X[held])
        return float(np.mean(0.5 * ((y[held] - mean) / std) ** 2 + np.log(std)))

    def train(settings: Settings) -> gp.GaussianProcess:
        return gp.fit(X[kept], y[kept], settings["kernel"], steps=share(effort, gp.STEPS))

    fitted = tuned("process", {"kernel": gp.KERNELS, "rows": (len(kept),)}, loss, train)
    return result(case, by_moments(fitted.model.predict, X[kept]), [fitted])


def forest(case: Case, effort: float = 1.0) -> Result:
    r"""Grow a quantile forest (Meinshausen 2006) and put one margin on its quantiles.

    A random forest of the mean is grown as usual. A new row falls into one leaf of each tree, and
    the training rows of those leaves get weights,

    .. math:: w_i(x) = \frac1T \sum_t \frac{1\{x_i \in \ell_t(x)\}}{|\ell_t(x)|} .

    Quantiles are those of the training targets with these weights.
    """
    (X, y, held), n_trees = training_rows(case), share(effort, N_FOREST_TREES, least=2)

    def grow(trees: int, X: Array, y: Array, settings: Settings) -> Callable[[Array], Any]:
        model = RandomForestRegressor(trees, random_state=case.seed, **settings).fit(X, y)
        weights = forest_weights(model.apply(X))
        return lambda new: (model.predict(new), weighted_quantile(weights(model.apply(new)), y))

    def loss(settings: Settings) -> float:
        few = min(n_trees, N_TRIAL_TREES)
        quantile = grow(few, X[~held], y[~held], settings)(X[held])[1]
        bounds = [tau for level in LEVELS for tau in taus(level)]
        return float(np.mean([pinball(y[held] - quantile(tau), tau) for tau in bounds]))

    fitted = tuned("forest", FOREST_GRID, loss, lambda chosen: grow(n_trees, X, y, chosen))
    return result(case, lambda X: by_quantiles(*fitted.model(X)), [fitted])


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


def weighted_quantile(weights: Array, y: Array) -> Callable[[float], Array]:
    """Return a function of tau: the smallest targets (n,) at which weights (n, N) add up to it.

    >>> weighted_quantile(np.array([[0.25, 0.5, 0.25]]), np.array([3.0, 1.0, 2.0]))(0.6)
    array([2.])
    """
    order = np.argsort(y)
    sums = np.cumsum(weights[:, order], axis=1)  # (n, N)
    return lambda tau: y[order][np.minimum((sums < tau - 1e-9).sum(axis=1), len(y) - 1)]


def linear(case: Case, effort: float = 1.0) -> Result:
    """Put one margin on two quantiles that are linear in the inputs.

    The penalty is chosen by the median; the estimate is a ridge regression of the mean.
    """
    X, y, held = training_rows(case)

    def quantile(tau: float, rows: Any = slice(None), **settings: Any) -> Any:
        model = QuantileRegressor(quantile=tau, solver="highs", **settings)
        return model.fit(X[rows], y[rows])

    def loss(settings: Settings) -> float:
        errors = y[held] - quantile(0.5, ~held, **settings).predict(X[held])
        return float(np.mean(pinball(errors, 0.5)))

    def train(level: float, settings: Mapping[str, Any]) -> dict[float, Any]:
        return {tau: quantile(tau, **settings) for tau in taus(level)}

    first = tuned("quantiles", LINEAR_GRID, loss, functools.partial(train, LEVELS[0]))
    further = Fitted(*timed(lambda: train(LEVELS[1], first.settings)))
    mean = Fitted(*timed(lambda: RidgeCV(alphas=np.logspace(-2, 4, 13)).fit(X, y)))
    models = first.model | further.model

    def predict(X: Array) -> Prediction:
        return by_quantiles(mean.model.predict(X), lambda tau: models[tau].predict(X))

    return result(case, predict, [first, mean], [further], every_level=False)
