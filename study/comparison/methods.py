"""Methods of the comparison: fuzzy systems and their competitors, on the same rows.

A method is a plain function ``fit(case, effort) -> Result``. It learns on the training set of the
case, calibrates on its calibration set, and returns intervals for its test set at the two `LEVELS`.
`METHODS` registers all of them; to add one, add it there. Targets, estimates and intervals are in
standard deviations of the training targets. Times are those of the processor, on one thread.

The fuzzy systems are here, what they are compared with is in `study.comparison.competitors`.
"""

from __future__ import annotations

import functools
import json
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gt2lite import GT2Regressor, IntervalHead
from gt2lite._validation import Array
from gt2lite.calibration import ConformalCalibrator
from gt2lite.memberships import ALPHA_0
from gt2lite.practice import gaussian_process as gp
from gt2lite.practice.bases import COMPARED, default_bases
from gt2lite.practice.selection import CHECKPOINT_STEPS, FOLDS, PATIENCE
from gt2lite.recipe import Recipe
from gt2lite.system import Planes
from gt2lite.training import train
from study import margins
from study.comparison import competitors
from study.comparison.competitors import (
    N_TIMED,
    Fitted,
    Settings,
    boosted_mean,
    boosting,
    share,
    timed,
)
from study.comparison.data import Case
from study.margins import Family, Intervals, Prediction, Result
from study.protocol import LEVELS

FORMS = {
    "planes": "planes",
    "constant": "constant margin",
    "normalised": "margin by width",
}
"""Other intervals around the same estimates, with their titles."""

BASES = len(default_bases())
"""Regressors that make up the base of `IntervalHead.strong`."""

POWERS = {"constant": 0.0, "normalised": 1.0}
"""Margins in proportion to the width of the envelope, raised to this power."""


@dataclass(frozen=True)
class Method:
    """A method: its title in tables, the function that runs it, and its budget in words.

    The budget says which rows choose the settings, and how long a training is at most.
    """

    title: str
    fit: Callable[[Case, float], Result] = field(repr=False)
    budget: tuple[str, str] = field(repr=False)
    forms: tuple[str, ...] = ()  # of `FORMS`, besides its own intervals
    is_fuzzy: bool = True
    in_study: bool = True  # whether `study.comparison.run` includes it


def gt2(case: Case, effort: float = 1.0, *, objective: str = "dual") -> Result:
    """Train one `GT2Regressor` of ten rules; each level is a plane of it."""
    epochs = None if effort == 1 else share(effort, 100)
    reg = GT2Regressor(objective=objective, epochs=epochs, random_state=case.seed)
    return fit_estimator(reg, case)


def strong(case: Case, effort: float = 1.0) -> Result:
    """Train `GT2Regressor.strong()`: several systems, chosen inside the training set.

    Its own intervals are planes or margins, as it chose; its planes are reported besides.
    """
    reg = GT2Regressor.strong(random_state=case.seed)
    if effort < 1:  # a draft: one system of few epochs, nothing is chosen
        reg.set_params(choose=False, n_systems=1, epochs=share(effort, 40))
    return fit_estimator(reg, case, planes=True)


def head(case: Case, effort: float = 1.0) -> Result:
    """Put an `IntervalHead` on the boosted mean that the boosted competitors share."""
    mean = boosted_mean(case, effort)
    around_mean = IntervalHead(boosting(None, **mean.settings), random_state=case.seed)
    if effort < 1:
        around_mean.system = GT2Regressor(
            objective="aligned", epochs=share(effort, 40), random_state=case.seed
        )
    found = fit_estimator(around_mean, case)
    systems = {"part": "systems", "settings": "{}", "candidates": 0, "trainings": 2 * FOLDS}
    chosen = (dict(mean.chosen), systems)  # of each fold a copy of the base and a system
    return replace(found, tuning_seconds=mean.tuning, chosen=chosen)


def best(case: Case, effort: float = 1.0) -> Result:
    """Let `IntervalHead.strong()` decide between fuzzy systems, systems on a base, and a mean."""
    draft: Settings = {}
    if effort < 1:  # few systems, rules and epochs
        draft = {"n_systems": 5, "n_rules": 5, "epochs": share(effort, 40)}
    reg = IntervalHead.strong(random_state=case.seed, **draft)
    found = fit_estimator(reg, case)
    kept = next(one for one in reg.chosen_ if one.kept)
    chosen: Settings = {
        "part": "intervals",
        "settings": json.dumps(kept.part),
        **_tried(reg.systems_),
    }
    chosen["candidates"] += BASES
    chosen["trainings"] += BASES * FOLDS + FOLDS  # at most; and systems on the base
    return replace(found, chosen=(chosen,))


def it2(case: Case, effort: float = 1.0) -> Result:
    """Train an interval type-2 system for each level: the plane alpha_0 alone, and one margin.

    The bounds of that plane learn the two quantiles of the level, and the output is their middle.
    With one plane there is no family to choose from, so that a margin calibrates it, as it does two
    quantiles.
    """
    data, scaler = case.data, case.data.scaler
    X_train, y_train = case.table.X[data.split.train], case.table.y[data.split.train]
    epochs = None if effort == 1 else share(effort, 100)
    systems = {}
    for level in LEVELS:
        one_plane = Recipe(alphas=(ALPHA_0,), coverage=level)
        reg = GT2Regressor(recipe=one_plane, epochs=epochs, random_state=case.seed)
        systems[level] = Fitted(*timed(functools.partial(reg.fit, X_train, y_train)))

    def predict(Z: Array) -> Prediction:
        X = Z * scaler.x_std + scaler.x_mean  # in the data's own units, as a user would
        y_hat = [scaler.transform_y(systems[level].model.predict(X)) for level in LEVELS]

        def family(level: float) -> Family:
            bounds = systems[level].model.predict_interval(X, alpha=ALPHA_0)
            return margins.between(*(scaler.transform_y(bound) for bound in bounds))

        return Prediction(np.array(y_hat), family)

    first, further = systems.values()
    return competitors.result(case, predict, [first], [further], every_level=False)


def direct(case: Case, effort: float = 1.0, *, calibrate: bool = True) -> Result:
    """Train a GT2-FLS for each level, so that its widest plane has that coverage.

    Calibrated, it learns on the training set and `conformal` chooses a plane. Otherwise, as in the
    paper, the calibration set belongs to the training data and the widest plane is taken as it is.
    """
    data, epochs = case.data, share(effort, Recipe().epochs)
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
        equal.append(margins.planes_at_coverage(planes, data.y_test, level))
    found = Intervals("", np.array(y_hat), np.array(bounds), np.array(equal))
    return Result((found,), seconds[0], seconds[1])


def fit_estimator(reg: Any, case: Case, *, planes: bool = False) -> Result:
    """Fit an estimator with planes as a user would, in the data's own units.

    Args:
        reg: an unfitted `GT2Regressor`, or an estimator with its methods.
        case: its rows.
        planes: whether planes are reported besides the intervals that the estimator chose.
    """
    table, rows = case.table, case.rows
    calibration = table.X[rows.calibration], table.y[rows.calibration]
    X_test = table.X[rows.test]
    many = np.resize(X_test, (N_TIMED, X_test.shape[1]))  # rows repeat if they are few

    def train() -> None:
        reg.fit(table.X[rows.train], table.y[rows.train])
        reg.calibrate(*calibration)
        reg.calibration_report(LEVELS[0])

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # small sets, missed levels, clipped inputs
        _, first = timed(train)
        _, further = timed(lambda: reg.calibration_report(LEVELS[1]))
        question = functools.partial(reg.predict_interval, many, list(LEVELS))
        _, answer = timed(lambda: question(with_prediction=True))
        others = _ablations(reg, case)
        if planes:
            ensemble = replace(reg.model_.ensemble, margins=None)  # calibrate planes, not margins
            bare = reg.with_model(reg.model_.with_ensemble(ensemble))
            others.insert(0, _own(bare.calibrate(*calibration), "planes", case))
        found = (_own(reg, "", case), *others)
    chosen = []
    if isinstance(reg, GT2Regressor) and (kept := [one for one in reg.chosen_ if one.kept]):
        systems = [{**one.settings, "epochs": one.epochs} for one in kept]
        power = None if reg.margins_ is None else reg.margins_.power
        settings = json.dumps({"systems": systems, "power": power}, sort_keys=True)
        chosen.append({"part": "system", "settings": settings, **_tried(reg)})
    return Result(found, first, further, predict_seconds=answer, chosen=tuple(chosen))


def _tried(reg: GT2Regressor) -> dict[str, int]:
    """Return how many candidates a selection compared and how often it trained."""
    trainings = sum(one.n_folds for one in reg.chosen_)
    return {"candidates": len(reg.chosen_), "trainings": trainings}


def _own(reg: Any, form: str, case: Case) -> Intervals:
    """Return the intervals of a calibrated estimator; the oracle calibrates it anew, so it is last.

    Bounds (N, L) become (L, 2, N) in standard deviations of the target.
    """
    data = case.data
    X, y = case.table.X[data.split.test], case.table.y[data.split.test]

    def scaled(bounds: tuple[Array, Array]) -> Array:
        return np.stack([data.scaler.transform_y(bound).T for bound in bounds], axis=1)

    found = scaled(reg.predict_interval(X, [*LEVELS, *margins.GRID]))
    y_hat = np.tile(data.scaler.transform_y(reg.predict(X)), (len(LEVELS), 1))
    bounds, grid = found[: len(LEVELS)], found[len(LEVELS) :]
    reg.calibrate(X, y, method="exact")  # on the test rows: the oracle
    equal = scaled(reg.predict_interval(X, list(LEVELS)))
    return Intervals(form, y_hat, bounds, equal, margins.crps(list(grid), data.y_test))


def _ablations(reg: Any, case: Case) -> list[Intervals]:
    """Return margins around the same estimates, by powers of the width of the envelope."""
    data, rows = case.data, case.rows
    X_train, *others = (case.table.X[part] for part in (rows.train, rows.calibration, rows.test))

    def width(X: Array) -> Array:
        lower, upper = reg.predict_interval(X, alpha=ALPHA_0)
        return np.asarray((upper - lower) / data.scaler.y_std)

    usual = width(X_train)
    y_hat = [data.scaler.transform_y(reg.predict(X)) for X in others]
    widths = [margins.floored(width(X), usual) for X in others]
    found = []
    for form, power in POWERS.items():
        scaled = zip(y_hat, widths, strict=True)
        cal, test = (margins.normalised(estimate, width**power) for estimate, width in scaled)
        found.append(margins.conformal(form, cal, test, data))
    return found


# ------------------------------------------------------------------------------------ register

_aligned = functools.partial(gt2, objective="aligned")
_on_85 = functools.partial(direct, calibrate=False)

_fifth = f"{competitors.VALIDATION_SHARE:.0%} of the training rows, held out once"
_fixed = "nothing to choose", "100 epochs, or about 3,000 steps if that is more"
_folds = f"{FOLDS} folds of the training rows: one for all candidates, then all for two"
_best = f"{_folds}; {COMPARED} folds for {BASES} regressors, all for those of some weight"
_steps = f"{CHECKPOINT_STEPS[-1]:,} steps, {PATIENCE} checkpoints without a gain"
_trees = _fifth, f"{competitors.MOST_TREES:,} trees, {competitors.PATIENCE} without a gain"
_process = f"{gp.STEPS} steps on {competitors.MOST_PROCESS_ROWS:,} rows"
_net = "tuned by its authors; the same rows choose the epoch", f"{competitors.MOST_EPOCHS} epochs"
_forest = _fifth, f"{competitors.N_TRIAL_TREES} trees to choose, {competitors.N_FOREST_TREES} last"
_competitor = functools.partial(Method, is_fuzzy=False)

METHODS = {
    "paper": Method("GT2-FLS", gt2, _fixed, (*POWERS,)),
    "aligned": Method("GT2-FLS, aligned", _aligned, _fixed, (*POWERS,)),
    "strong": Method("GT2-FLS, strong", strong, (_folds, _steps), ("planes", *POWERS)),
    "head": Method("GT2-FLS head", head, (_fifth, _trees[1]), (*POWERS,)),
    "best": Method("GT2-FLS and a base, chosen", best, (_best, _steps)),
    "it2": Method("IT2-FLS per level", it2, _fixed),
    "direct": Method("GT2-FLS per level", direct, _fixed, in_study=False),
    "direct_85": Method("GT2-FLS per level, 85%", _on_85, _fixed, in_study=False),
    "gb_cqr": _competitor("boosted quantiles", competitors.boosted_quantiles, _trees),
    "gb_split": _competitor("boosted mean", competitors.boosted, _trees),
    "gb_normalised": _competitor(
        "boosted mean, normalised", competitors.boosted_normalised, _trees
    ),
    "catboost_cqr": _competitor("CatBoost quantiles", competitors.catboost_quantiles, _trees),
    "catboost_normal": _competitor("CatBoost, normal", competitors.catboost_normal, _trees),
    "ngboost": _competitor("NGBoost", competitors.ngboost, _trees),
    "real_mlp": _competitor("RealMLP quantiles", competitors.real_mlp, _net),
    "gaussian_process": _competitor(
        "Gaussian process", competitors.gaussian_process, (_fifth, _process)
    ),
    "forest": _competitor("quantile forest", competitors.forest, _forest),
    "linear_cqr": _competitor("linear quantiles", competitors.linear, (_fifth, "to the optimum")),
}
"""All methods by name, in the order of tables. `direct` and `direct_85` are in `study.aligned`."""

COMPETITORS = tuple(name for name, method in METHODS.items() if not method.is_fuzzy)
"""All competitors; the best of them by mean over the seeds is the one to beat."""

IN_STUDY = tuple(name for name, method in METHODS.items() if method.in_study)
"""Methods that `study.comparison.run` includes."""

TITLES = {name: method.title for name, method in METHODS.items()} | {
    f"{name}_{form}": f"{method.title}, {FORMS[form]}"
    for name, method in METHODS.items()
    for form in method.forms
}
"""Titles of all rows of the study: the methods' own intervals and ablations."""
