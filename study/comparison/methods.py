"""Methods of the comparison: fuzzy systems and their competitors, on the same rows.

A method is a plain function ``fit(case, effort) -> Result``. It learns on the training set of the
case, calibrates on its calibration set, and returns intervals for its test set at the two `LEVELS`.
`METHODS` registers all of them; to add one, add it there. Targets, estimates and intervals are in
standard deviations of the training targets.

Settings of the competitors are chosen inside the training set, on a fifth of its rows. Trees and
linear models are scikit-learn's. Times are those of the processor, on one thread.
"""

from __future__ import annotations

import copy
import functools
import itertools
import json
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gt2lite import GT2Regressor, IntervalHead
from gt2lite._validation import Array
from gt2lite.calibration import ConformalCalibrator, SmallCalibrationWarning
from gt2lite.datasets import Index, Prepared
from gt2lite.memberships import ALPHA_0
from gt2lite.regressor import MissedLevelWarning, NarrowEnvelopeWarning
from gt2lite.system import Planes
from gt2lite.training import Recipe, train
from study.comparison.data import LEVELS, Case
from study.comparison.margins import (
    GRID,
    Family,
    around,
    between,
    calibrated,
    crps,
    equalised,
    floored,
    pinball,
)
from study.oracle import planes_at_coverage

FORMS = {
    "": "",
    "planes": "planes",
    "constant": "constant margin",
    "hybrid": "margin by root of width",
    "normalised": "margin by width",
}
"""Intervals around the same estimates, with their titles: the method's own, and ablations."""

Families = Callable[[float], Sequence[Family]]
"""Returns the families of calibration and test rows at a level."""

POWERS = {"constant": 0.0, "hybrid": 0.5, "normalised": 1.0}
"""Margins in proportion to the width of the envelope, raised to this power."""


@dataclass(frozen=True)
class Intervals:
    """Estimates and intervals for the N test rows at the L levels."""

    form: str  # of FORMS
    y_hat: Array  # (L, N)
    bounds: Array  # (L, 2, N), calibrated
    equal: Array  # (L, 2, N), of the same family, moved to cover just the level of the test set
    crps: float | None = None  # for methods that obtain all levels from one training


@dataclass(frozen=True)
class Result:
    """Intervals of a method and what they cost."""

    intervals: tuple[Intervals, ...]  # the method's own first
    first_seconds: float  # training and calibration for the first level, without choosing settings
    further_seconds: float  # the same for each further level
    tuning_seconds: float = 0.0  # choosing settings for the first level
    chosen: tuple[dict[str, Any], ...] = ()  # settings chosen inside the training set


@dataclass(frozen=True)
class Method:
    """A method in words, and the function that runs it."""

    title: str
    learns: str
    interval: str
    further: str  # what a further level needs
    fit: Callable[[Case, float], Result] = field(repr=False)
    forms: tuple[str, ...] = ("",)
    is_fuzzy: bool = True
    in_study: bool = True  # whether `study.comparison.run` includes it


def _intervals(
    form: str,
    y_hat: Array,
    families: Families,
    data: Prepared,
    *,
    every_level: bool = True,
) -> Intervals:
    """Return the intervals of families that one number calibrates.

    Args:
        form: of `FORMS`.
        y_hat: estimates for the test rows (N,), or (L, N).
        families: returns those of calibration and test rows at a level.
        data: the scaled rows.
        every_level: whether one training gives all levels, so that CRPS can be reported.
    """

    def at(level: float) -> tuple[Array, Array]:
        cal, test = families(level)
        return calibrated(cal, test, data.y_cal, level)

    return Intervals(
        form,
        np.broadcast_to(y_hat, (len(LEVELS), len(data.y_test))),
        np.array([at(level) for level in LEVELS]),
        np.array([equalised(families(level)[1], data.y_test, level) for level in LEVELS]),
        crps([at(level) for level in GRID], data.y_test) if every_level else None,
    )


# ------------------------------------------------------------------------- fuzzy systems


def gt2(case: Case, effort: float = 1.0, *, objective: str = "dual") -> Result:
    """Train one `GT2Regressor` of ten rules; each level is a plane of it."""
    epochs = None if effort == 1 else _share(effort, 100)
    reg = GT2Regressor(objective=objective, epochs=epochs, random_state=case.seed)
    return fit_estimator(reg, case)


def strong(case: Case, effort: float = 1.0) -> Result:
    """Train `GT2Regressor.strong()`: several systems, chosen inside the training set.

    Its own intervals are planes or margins, as it chose; its planes are reported besides.
    """
    reg = GT2Regressor.strong(random_state=case.seed)
    if effort < 1:  # a draft: one system of few epochs, nothing is chosen
        reg.set_params(choose=False, n_systems=1, epochs=_share(effort, 40))
    return fit_estimator(reg, case, planes=True)


def head(case: Case, effort: float = 1.0) -> Result:
    """Put an `IntervalHead` on the boosted mean that the boosted competitors share."""
    mean = boosted_mean(case, effort)
    around_mean = IntervalHead(boosting(None, **mean.settings), random_state=case.seed)
    if effort < 1:
        around_mean.system = GT2Regressor(
            objective="aligned", epochs=_share(effort, 40), random_state=case.seed
        )
    found = fit_estimator(around_mean, case)
    return Result(
        found.intervals,
        found.first_seconds,
        found.further_seconds,
        mean.tuning_seconds,
        (_chosen("mean", mean.settings, effort), *found.chosen),
    )


def it2(case: Case, effort: float = 1.0) -> Result:
    """Train an interval type-2 system for each level: the plane alpha_0 alone, and one margin.

    The bounds of that plane learn the two quantiles of the level, and the output is their middle.
    With one plane there is no family to choose from, so that a margin calibrates it, as it does two
    quantiles.
    """
    table, rows, data = case.table, case.data.split, case.data
    epochs = None if effort == 1 else _share(effort, 100)
    z = data.scaler.transform_y
    found: dict[float, list[tuple[Array, Array, Array]]] = {}  # lower, upper, output of each part
    seconds = []
    for level in LEVELS:
        reg = GT2Regressor(alphas=(ALPHA_0,), coverage=level, epochs=epochs, random_state=case.seed)
        clock = time.process_time()
        reg.fit(table.X[rows.train], table.y[rows.train])
        seconds.append(time.process_time() - clock)
        found[level] = []
        for part in (rows.train, rows.calibration, rows.test):
            lower, upper = reg.predict_interval(table.X[part], alpha=ALPHA_0)
            found[level].append((z(lower), z(upper), z(reg.predict(table.X[part]))))

    def normalised(level: float) -> list[Family]:
        train_lower, train_upper, _ = found[level][0]
        return [
            around(output, floored(upper - lower, train_upper - train_lower))
            for lower, upper, output in found[level][1:]
        ]

    families: list[tuple[str, Families]] = [
        ("", lambda level: [between(low, high) for low, high, _ in found[level][1:]]),
        ("constant", lambda level: [around(output) for *_, output in found[level][1:]]),
        ("normalised", normalised),
    ]
    y_hat = np.array([found[level][2][2] for level in LEVELS])
    answers = [_intervals(form, y_hat, make, data, every_level=False) for form, make in families]
    return Result(tuple(answers), seconds[0], seconds[1])


def direct(case: Case, effort: float = 1.0, *, calibrate: bool = True) -> Result:
    """Train a GT2-FLS for each level, so that its widest plane has that coverage.

    Calibrated, it learns on the training set and `conformal` chooses a plane. Otherwise, as in the
    paper, the calibration set belongs to the training data and the widest plane is taken as it is.
    """
    data, epochs = case.data, _share(effort, Recipe().epochs)
    X, y = data.X_train, data.y_train
    if not calibrate:
        X, y = np.vstack([X, data.X_cal]), np.concatenate([y, data.y_cal])
    y_hat, bounds, equal, seconds = [], [], [], []
    for level in LEVELS:
        clock = time.process_time()
        recipe = Recipe(coverage=level, epochs=epochs)
        params = train(X, y, recipe, seed=case.seed, progress=False).params
        planes = Planes(params, data.X_test)
        if calibrate:
            fitted = ConformalCalibrator().fit(Planes(params, data.X_cal), data.y_cal)
            bounds.append(fitted.intervals(planes, level))
        else:
            bounds.append(planes(ALPHA_0))
        seconds.append(time.process_time() - clock)
        y_hat.append(planes.output(Recipe().planes.alphas))
        equal.append(planes_at_coverage(planes, data.y_test, level))
    found = Intervals("", np.array(y_hat), np.array(bounds), np.array(equal))
    return Result((found,), seconds[0], seconds[1])


def fit_estimator(reg: Any, case: Case, *, planes: bool = False) -> Result:
    """Fit an estimator with planes as a user would, in the data's own units.

    Args:
        reg: an unfitted `GT2Regressor`, or an estimator with its methods.
        case: its rows.
        planes: whether planes are reported besides the intervals that the estimator chose.
    """
    table, rows, data = case.table, case.data.split, case.data
    X_cal, y_cal = table.X[rows.calibration], table.y[rows.calibration]
    X_test, y_test = table.X[rows.test], table.y[rows.test]
    with warnings.catch_warnings():
        for kind in (MissedLevelWarning, NarrowEnvelopeWarning, SmallCalibrationWarning):
            warnings.simplefilter("ignore", kind)
        clock = time.process_time()
        reg.fit(table.X[rows.train], table.y[rows.train])
        reg.calibrate(X_cal, y_cal)
        reg.calibration_report(LEVELS[0])
        seconds = time.process_time() - clock
        clock = time.process_time()
        reg.calibration_report(LEVELS[1])
        further = time.process_time() - clock
        others = _ablations(reg, X_cal, X_test, table.X[rows.train], data)
        if planes:
            bare = copy.copy(reg)
            bare.margins_ = None  # calibrate planes, not margins
            bare.calibrate(X_cal, y_cal)
            others.insert(0, _own(bare, "planes", X_test, y_test, data))
        own = _own(reg, "", X_test, y_test, data)
    return Result((own, *others), seconds, further, chosen=_kept(reg))


def _own(reg: Any, form: str, X: Array, y: Array, data: Prepared) -> Intervals:
    """Return the intervals of a calibrated estimator; the oracle calibrates it anew, so it is last.

    Bounds (N, L) become (L, 2, N) in standard deviations of the target.
    """

    def scaled(bounds: tuple[Array, Array]) -> Array:
        return np.stack([data.scaler.transform_y(bound).T for bound in bounds], axis=1)

    found = scaled(reg.predict_interval(X, [*LEVELS, *GRID]))
    y_hat = np.tile(data.scaler.transform_y(reg.predict(X)), (len(LEVELS), 1))
    bounds, grid = found[: len(LEVELS)], found[len(LEVELS) :]
    reg.calibrate(X, y, method="exact")  # on the test rows: the oracle
    equal = scaled(reg.predict_interval(X, list(LEVELS)))
    score = crps([(low, high) for low, high in grid], data.y_test)
    return Intervals(form, y_hat, bounds, equal, score)


def _ablations(
    reg: Any, X_cal: Array, X_test: Array, X_train: Array, data: Prepared
) -> list[Intervals]:
    """Return margins around the same estimates, by powers of the width of the envelope."""

    def width(X: Array) -> Array:
        lower, upper = reg.predict_interval(X, alpha=ALPHA_0)
        return np.asarray((upper - lower) / data.scaler.y_std)

    y_hat = [data.scaler.transform_y(reg.predict(X)) for X in (X_cal, X_test)]
    w_train, *widths = (width(X) for X in (X_train, X_cal, X_test))
    widths = [floored(w, w_train) for w in widths]
    found = []
    for form, power in POWERS.items():
        pair = [around(e, w**power) for e, w in zip(y_hat, widths, strict=True)]
        found.append(_intervals(form, y_hat[1], _at_all_levels(pair), data))
    return found


def _at_all_levels(families: Sequence[Family]) -> Families:
    return lambda level: families


def _kept(reg: Any) -> tuple[dict[str, Any], ...]:
    """Return settings, epochs and margins that the estimator kept of what it tried."""
    kept = [one for one in getattr(reg, "chosen_", ()) if one.kept]
    if not kept:
        return ()
    power = None if reg.margins_ is None else reg.margins_.power
    settings = {"systems": [{**one.settings, "epochs": one.epochs} for one in kept], "power": power}
    return ({"part": "system", "settings": json.dumps(settings, sort_keys=True)},)


def _share(effort: float, of: int, least: int = 1) -> int:
    """Return the share of epochs or trees that an effort allows."""
    return max(round(effort * of), least)


# ---------------------------------------------------------------------------- gradient boosting

LEAVES: tuple[dict[str, int], ...] = (
    {"max_leaf_nodes": 31, "min_samples_leaf": 20},
    {"max_leaf_nodes": 8, "min_samples_leaf": 10},
)
RATES = (0.1, 0.05)
MOST_TREES = 1000
PATIENCE = 50  # trees without a gain after which no more are tried
N_FOLDS = 5
VALIDATION_SHARE = 0.2  # of the training rows, on which settings are chosen


@dataclass(frozen=True)
class BoostedMean:
    """A tuned model of the mean: settings, predictions for unseen rows, and times."""

    settings: dict[str, Any]
    out_of_fold: Array  # (n_train,), by models of the other folds
    y_hat_cal: Array
    y_hat_test: Array
    tuning_seconds: float
    first_seconds: float  # training on all training rows
    fold_seconds: float  # training on the folds


def boosted(case: Case, effort: float = 1.0, *, normalised: bool = False) -> Result:
    """Put a margin on the boosted mean: constant, or in proportion to expected errors."""
    data, mean, trees = case.data, boosted_mean(case, effort), _share(effort, MOST_TREES)
    chosen = [_chosen("mean", mean.settings, effort)]
    seconds, tuning = mean.first_seconds, mean.tuning_seconds
    scale: list[Array | float] = [1.0, 1.0]
    if normalised:
        errors = np.abs(data.y_train - mean.out_of_fold)
        settings, spent = tune(data.X_train, errors, None, case.seed, case.train_groups, trees)
        clock = time.process_time()
        model = boosting(None, **settings).fit(data.X_train, errors)
        seconds += time.process_time() - clock + mean.fold_seconds
        tuning += spent
        scale = [floored(model.predict(X), errors) for X in (data.X_cal, data.X_test)]
        chosen.append(_chosen("errors", settings, effort))
    pair = around(mean.y_hat_cal, scale[0]), around(mean.y_hat_test, scale[1])
    found = _intervals("", mean.y_hat_test, _at_all_levels(pair), data)
    return Result((found,), seconds, 0.0, tuning, tuple(chosen))


def boosted_quantiles(case: Case, effort: float = 1.0) -> Result:
    """Put one margin on two boosted quantiles: conformalised quantile regression."""
    data, trees = case.data, _share(effort, MOST_TREES)
    y_hat = boosted_mean(case, effort).y_hat_test
    families, times, tuning, chosen = {}, [], [], []
    for level in LEVELS:
        clock, bounds, spent = time.process_time(), [], 0.0
        for tau in ((1 - level) / 2, (1 + level) / 2):
            settings, seconds = tune(
                data.X_train, data.y_train, tau, case.seed, case.train_groups, trees
            )
            model = boosting(tau, **settings).fit(data.X_train, data.y_train)
            bounds.append([np.asarray(model.predict(X)) for X in (data.X_cal, data.X_test)])
            chosen.append(_chosen(f"quantile {tau:.3f}", settings, effort))
            spent += seconds
        cal, test = (between(low, high) for low, high in zip(*bounds, strict=True))
        families[level] = cal, test
        times.append(time.process_time() - clock - spent)
        tuning.append(spent)
    found = _intervals("", y_hat, families.__getitem__, data, every_level=False)
    return Result((found,), times[0], times[1], tuning[0], tuple(chosen))


@functools.lru_cache(maxsize=2)
def boosted_mean(case: Case, effort: float = 1.0) -> BoostedMean:
    """Return the tuned model of the mean that several methods share."""
    from sklearn import ensemble  # noqa: F401 - now, so that the import is not timed

    data, groups = case.data, case.train_groups
    X, y = data.X_train, data.y_train
    settings, tuning = tune(X, y, None, case.seed, groups, _share(effort, MOST_TREES))
    clock = time.process_time()
    model = boosting(None, **settings).fit(X, y)
    first = time.process_time() - clock
    clock = time.process_time()
    left = np.empty(len(y))
    fold = folds(len(y), groups, case.seed)
    for k in range(N_FOLDS):
        other = boosting(None, **settings).fit(X[fold != k], y[fold != k])
        left[fold == k] = other.predict(X[fold == k])
    aside = time.process_time() - clock
    cal, test = (np.asarray(model.predict(rows)) for rows in (data.X_cal, data.X_test))
    return BoostedMean(settings, left, cal, test, tuning, first, aside)


def boosting(quantile: float | None, **settings: Any) -> Any:
    """Return scikit-learn's estimator of a quantile, or of the mean for None."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    loss: dict[str, Any] = {"loss": "squared_error"}
    if quantile is not None:
        loss = {"loss": "quantile", "quantile": quantile}
    return HistGradientBoostingRegressor(**loss, **{"early_stopping": False} | settings)


def tune(
    X: Array,
    y: Array,
    quantile: float | None,
    seed: int,
    groups: ArrayLike | None = None,
    most_trees: int = MOST_TREES,
) -> tuple[dict[str, Any], float]:
    """Return the boosting settings with the smallest held-out loss, and the seconds spent.

    First the size of trees and leaves is chosen (`LEAVES`), then the learning rate (`RATES`), each
    with its best number of trees, by the loss that is learned.

    Args:
        X: inputs (N, M).
        y: targets (N,).
        quantile: the one to learn; None for the mean.
        seed: decides the validation rows.
        groups: (N,), kept whole in validation.
        most_trees: largest number of trees.
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
    return settings, time.process_time() - clock


def _path(
    X: Array,
    y: Array,
    held: NDArray[np.bool_],
    quantile: float | None,
    settings: Mapping[str, Any],
    most_trees: int,
) -> tuple[float, dict[str, Any]]:
    """Return the smallest held-out loss, and the settings with that number of trees."""
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
    # as many as come nearest to the share, at least one, and one is left to learn from
    n_held = 1 + int(np.argmin(np.abs(np.cumsum(sizes)[:-1] - VALIDATION_SHARE * n)))
    return np.isin(unit, order[:n_held])


def folds(n: int, groups: ArrayLike | None, seed: int) -> Index:
    """Return the fold (n,) of each row, from 0; a group is in one fold."""
    rng = np.random.default_rng(seed)
    unit = np.arange(n) if groups is None else np.unique(groups, return_inverse=True)[1]
    return (rng.permutation(unit.max() + 1) % N_FOLDS)[unit]


def _chosen(part: str, settings: Mapping[str, Any], effort: float) -> dict[str, Any]:
    """Return chosen boosting settings as a row; trees at their limit are visible in it."""
    others = {name: value for name, value in settings.items() if name != "max_iter"}
    return {
        "part": part,
        "settings": json.dumps(others, sort_keys=True),
        "trees": settings["max_iter"],
        "most_trees": _share(effort, MOST_TREES),
    }


# ------------------------------------------------------------------------------ quantile forest

N_TREES, N_TRIAL_TREES = 200, 50
FOREST_LEAVES = (5, 15)
FOREST_FEATURES = (1 / 3, 1.0)


def forest(case: Case, effort: float = 1.0) -> Result:
    r"""Grow a quantile forest (Meinshausen 2006) and put one margin on its quantiles.

    A random forest of the mean is grown as usual. A new row falls into one leaf of each tree, and
    the training rows of those leaves get weights,

    .. math:: w_i(x) = \frac1T \sum_t \frac{1\{x_i \in \ell_t(x)\}}{|\ell_t(x)|} .

    Quantiles are those of the training targets with these weights.
    """
    data, n_trees = case.data, _share(effort, N_TREES, least=2)
    X, y = data.X_train, data.y_train
    forest_weights(np.zeros((1, 1), dtype=int), np.zeros((1, 1), dtype=int))  # imports, not timed
    clock = time.process_time()
    held = held_out(len(y), case.train_groups, case.seed)
    ends = [tau for phi in LEVELS for tau in ((1 - phi) / 2, (1 + phi) / 2)]
    losses = {}
    for leaf, share in itertools.product(FOREST_LEAVES, FOREST_FEATURES):
        few = min(n_trees, N_TRIAL_TREES)
        grown = _grown(X[~held], y[~held], case.seed, few, leaf, share)
        found = _forest_quantiles(grown, X[~held], y[~held], X[held], ends)
        losses[leaf, share] = float(
            sum(pinball(y[held] - q, tau).mean() for q, tau in zip(found, ends, strict=True))
        )
    leaf, share = min(losses, key=losses.__getitem__)
    tuning = time.process_time() - clock
    clock = time.process_time()
    grown = _grown(X, y, case.seed, n_trees, leaf, share)
    taus = sorted({tau for phi in (*LEVELS, *GRID) for tau in ((1 - phi) / 2, (1 + phi) / 2)})
    cal, test = (
        dict(zip(taus, _forest_quantiles(grown, X, y, rows, taus), strict=True))
        for rows in (data.X_cal, data.X_test)
    )
    seconds = time.process_time() - clock

    def families(level: float) -> tuple[Family, Family]:
        low, high = (1 - level) / 2, (1 + level) / 2
        return between(cal[low], cal[high]), between(test[low], test[high])

    settings = json.dumps({"max_features": round(share, 3), "min_samples_leaf": leaf})
    return Result(
        (_intervals("", grown.predict(data.X_test), families, data),),
        seconds,
        0.0,
        tuning,
        ({"part": "forest", "settings": settings, "trees": n_trees},),
    )


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


def _grown(X: Array, y: Array, seed: int, n_trees: int, leaf: int, share: float) -> Any:
    from sklearn.ensemble import RandomForestRegressor

    model = RandomForestRegressor(
        n_trees, min_samples_leaf=leaf, max_features=share, random_state=seed
    )
    return model.fit(X, y)


def _forest_quantiles(model: Any, X: Array, y: Array, rows: Array, taus: Sequence[float]) -> Array:
    return weighted_quantiles(forest_weights(model.apply(X), model.apply(rows)), y, taus)


# ------------------------------------------------------------------------------ linear quantiles

PENALTIES = (0.0, 0.003, 0.03)  # on the sum of absolute coefficients


def linear(case: Case, effort: float = 1.0) -> Result:
    """Put one margin on two quantiles that are linear in the inputs.

    The penalty is chosen by the median; the estimate is a ridge regression of the mean.
    """
    from sklearn.linear_model import QuantileRegressor, RidgeCV

    def quantile(tau: float, penalty: float) -> Any:
        return QuantileRegressor(quantile=tau, alpha=penalty, solver="highs")

    data = case.data
    X, y = data.X_train, data.y_train
    clock = time.process_time()
    held = held_out(len(y), case.train_groups, case.seed)
    medians = (quantile(0.5, penalty).fit(X[~held], y[~held]) for penalty in PENALTIES)
    losses = [np.mean(pinball(y[held] - m.predict(X[held]), 0.5)) for m in medians]
    penalty = PENALTIES[int(np.argmin(losses))]
    tuning = time.process_time() - clock
    families, times = {}, []
    for level in LEVELS:
        clock = time.process_time()
        low = quantile((1 - level) / 2, penalty).fit(X, y)
        high = quantile((1 + level) / 2, penalty).fit(X, y)
        cal, test = (
            between(low.predict(rows), high.predict(rows)) for rows in (data.X_cal, data.X_test)
        )
        families[level] = cal, test
        times.append(time.process_time() - clock)
    clock = time.process_time()
    mean = RidgeCV(alphas=np.logspace(-2, 4, 13)).fit(X, y)
    times[0] += time.process_time() - clock
    y_hat = mean.predict(data.X_test)
    found = _intervals("", y_hat, families.__getitem__, data, every_level=False)
    settings = {"part": "quantiles", "settings": json.dumps({"alpha": penalty})}
    return Result((found,), times[0], times[1], tuning, (settings,))


# ------------------------------------------------------------------------------------ register

_PLANE = "a plane, chosen by `conformal`"
_LOOKUP = "a look at a sorted list"
_MARGIN = "the two and one margin for all rows"

METHODS = {
    "paper": Method(
        "GT2-FLS", "99% for the widest plane; 10 rules", _PLANE, _LOOKUP, gt2, ("", *POWERS)
    ),
    "aligned": Method(
        "GT2-FLS, aligned",
        "a coverage of its own for every plane; 10 rules",
        _PLANE,
        _LOOKUP,
        functools.partial(gt2, objective="aligned"),
        ("", *POWERS),
    ),
    "strong": Method(
        "GT2-FLS, strong",
        "a coverage of its own for every plane; settings chosen inside training",
        "planes of the mean of several systems, or margins by their width",
        _LOOKUP,
        strong,
        ("", "planes", *POWERS),
    ),
    "head": Method(
        "GT2-FLS head",
        "the mean, by boosted trees, and its errors, by a GT2-FLS",
        "the mean plus a plane, chosen by `conformal`",
        _LOOKUP,
        head,
        ("", *POWERS),
    ),
    "it2": Method(
        "IT2-FLS per level",
        "the level asked for, with one plane; 10 rules",
        "its one plane and one margin for all rows",
        "another training",
        it2,
        ("", "constant", "normalised"),
    ),
    "direct": Method(
        "GT2-FLS per level",
        "the level asked for",
        _PLANE,
        "another training",
        direct,
        in_study=False,
    ),
    "direct_85": Method(
        "GT2-FLS per level, 85%",
        "the same on 85% of the rows, as in the paper",
        "the widest plane as it is",
        "another training",
        functools.partial(direct, calibrate=False),
        in_study=False,
    ),
    "gb_cqr": Method(
        "boosted quantiles",
        "two quantiles, by boosted trees",
        _MARGIN,
        "two more trainings",
        boosted_quantiles,
        is_fuzzy=False,
    ),
    "gb_split": Method(
        "boosted mean",
        "the mean, by boosted trees",
        "the mean and one margin for all rows",
        _LOOKUP,
        boosted,
        is_fuzzy=False,
    ),
    "gb_normalised": Method(
        "boosted mean, normalised",
        "the mean, and the size of its errors, by boosted trees",
        "the mean and a margin in proportion to the expected error",
        _LOOKUP,
        functools.partial(boosted, normalised=True),
        is_fuzzy=False,
    ),
    "forest": Method(
        "quantile forest",
        "the mean, by a random forest",
        "two quantiles of the targets in its leaves, and one margin for all rows",
        _LOOKUP,
        forest,
        is_fuzzy=False,
    ),
    "linear_cqr": Method(
        "linear quantiles",
        "two quantiles, linear in the inputs",
        _MARGIN,
        "two more trainings",
        linear,
        is_fuzzy=False,
    ),
}
"""All methods by name, in the order of tables. `direct` and `direct_85` are those of chapter 9."""

BOOSTED = ("gb_cqr", "gb_split", "gb_normalised")
"""The competitors of the goals; the best of them by mean over the seeds is the one to beat."""

IN_STUDY = tuple(name for name, method in METHODS.items() if method.in_study)
"""Methods that `study.comparison.run` includes."""

TITLES = {
    f"{name}_{form}" if form else name: f"{method.title}, {FORMS[form]}" if form else method.title
    for name, method in METHODS.items()
    for form in method.forms
}
"""Titles of all rows of the study: the methods' own intervals and ablations."""
