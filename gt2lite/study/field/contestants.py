"""Who takes part in the comparison: what each trains, how it is calibrated, how it is judged.

All contestants see the same parts of a data set: they learn on the 70 % for training,
calibrate on 15 %, and are judged on the other 15 %. `enter` turns the parts into intervals
for the test part, `judge` turns these into records. Who is asked to take part, and in
what order, is decided in `gt2lite.study.field.runs`.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from gt2lite._checks import Array
from gt2lite.calibration import ConformalCalibrator, ExactCalibrator
from gt2lite.datasets import Prepared
from gt2lite.memberships import ALPHA_0
from gt2lite.metrics import interval_score, picp, pinaw, rmse
from gt2lite.recipe import Recipe
from gt2lite.study.field.baselines import (
    MAX_TREES,
    Rival,
    SplitConformal,
    versions,
    widen_to_coverage,
)
from gt2lite.study.field.conditional import coverage_by, rarity, regions, width_bins, worst
from gt2lite.study.field.shared import Setting, Trained, Training, of_protocol, trained
from gt2lite.study.protocol import Record
from gt2lite.study.store import MAKERS, Store
from gt2lite.system import Params, Planes

LEVELS = (0.90, 0.95)
SLACK = 1e-9  # of the last digits, which say nothing about the order of two ends

_JUDGES = ("conditional", "trainings", "contestants")


class Entered(NamedTuple):
    """What a contestant says about the N rows of the test part at L levels."""

    y_hat: Array  # (L, N) estimates
    ends: Array  # (L, 2, N) intervals, calibrated
    equal: (
        Array  # (L, 2, N) intervals of its own family whose coverage of the test part is the level
    )
    # all of the processor, on one thread, so that a busy machine does not count
    first_seconds: float  # training and calibration for the first level, choice of settings aside
    further_seconds: float  # the same for each further level
    tuning_seconds: float = 0.0  # choice of settings for the first level


class Contestant(ABC):
    """A way to get intervals from data."""

    title: str
    makers: ClassVar[tuple[str, ...]]
    """The modules that decide what comes out."""

    @abstractmethod
    def enter(self, setting: Setting, data: Prepared, store: Store | None) -> Entered:
        """Train, calibrate and answer for the test part; what is in the store is not trained."""

    def identity(self) -> dict[str, Any]:
        """Return what distinguishes this contestant, in plain values."""
        return {"kind": type(self).__name__}


@dataclass(frozen=True)
class System(Contestant):
    """A GT2-FLS, trained once; every level is a plane of it, chosen by `conformal`."""

    title: str
    recipe: Recipe
    makers: ClassVar[tuple[str, ...]] = (*MAKERS, *_JUDGES)

    def identity(self) -> dict[str, Any]:
        """Return what distinguishes this contestant, in plain values."""
        return super().identity() | {"recipe": asdict(self.recipe)}

    def trained(self, setting: Setting, store: Store | None) -> Trained:
        """Return the system, trained on the training part."""
        recipe = setting.shorten(self.recipe)
        if setting.split == "random" and self.recipe == Recipe():  # the paper's baseline
            return of_protocol(setting, "baseline", recipe, store)
        return trained(Training(setting.dataset, setting.seed, setting.split, recipe), store)

    def enter(self, setting: Setting, data: Prepared, store: Store | None) -> Entered:
        """Train the system, and calibrate its planes for all levels at once."""
        params, seconds = self.trained(setting, store)
        clock = time.process_time()
        fitted = ConformalCalibrator().fit(Planes(params, data.X_cal), data.y_cal)
        fitted.alpha(LEVELS[0])
        seconds += time.process_time() - clock
        clock = time.process_time()
        fitted.alpha(LEVELS[1])
        further = time.process_time() - clock
        planes = Planes(params, data.X_test)
        ends = np.array([fitted.intervals(planes, level) for level in LEVELS])
        y_hat = planes.output(self.recipe.planes.alphas)
        return Entered(np.tile(y_hat, (2, 1)), ends, _equal(planes, data.y_test), seconds, further)


@dataclass(frozen=True)
class Point(Contestant):
    """The output of a GT2-FLS alone, with split conformal prediction: one width for all rows."""

    title: str
    system: System
    makers: ClassVar[tuple[str, ...]] = (*MAKERS, *_JUDGES, "rivals")

    def identity(self) -> dict[str, Any]:
        """Return what distinguishes this contestant, in plain values."""
        return super().identity() | self.system.identity() | {"kind": "Point"}

    def enter(self, setting: Setting, data: Prepared, store: Store | None) -> Entered:
        """Train the system, and put a margin around its output."""
        params, seconds = self.system.trained(setting, store)
        output = _Output(params, self.system.recipe.planes.alphas)
        answered = _answer(SplitConformal(output, fitted=True), data)
        return answered._replace(first_seconds=answered.first_seconds + seconds)


@dataclass(frozen=True)
class Direct(Contestant):
    """A GT2-FLS for each level, whose widest plane was trained to have that coverage.

    With `calibrated` it learns on the training part and is calibrated by `conformal` like
    the others. Without, it does as in the paper: the calibration part belongs to its training
    data, and its widest plane is taken as it is.
    """

    title: str
    calibrated: bool = True
    makers: ClassVar[tuple[str, ...]] = (*MAKERS, *_JUDGES)

    def identity(self) -> dict[str, Any]:
        """Return what distinguishes this contestant, in plain values."""
        return super().identity() | {"calibrated": self.calibrated, "recipe": asdict(Recipe())}

    def trained(self, setting: Setting, level: float, store: Store | None) -> Trained:
        """Return the system for a level."""
        recipe = setting.shorten(replace(Recipe(), coverage=level))
        if setting.split == "random" and not self.calibrated:  # the paper's own
            return of_protocol(setting, f"trained_{100 * level:.0f}", recipe, store)
        rows = "train" if self.calibrated else "train and calibration"
        return trained(Training(setting.dataset, setting.seed, setting.split, recipe, rows), store)

    def enter(self, setting: Setting, data: Prepared, store: Store | None) -> Entered:
        """Train a system for each level."""
        y_hat, ends, equal, times = [], [], [], []
        for i, level in enumerate(LEVELS):
            params, seconds = self.trained(setting, level, store)
            planes = Planes(params, data.X_test)
            clock = time.process_time()
            if self.calibrated:
                fitted = ConformalCalibrator().fit(Planes(params, data.X_cal), data.y_cal)
                fitted.alpha(level)
                times.append(seconds + time.process_time() - clock)
                ends.append(fitted.intervals(planes, level))
            else:
                times.append(seconds)
                ends.append(planes(ALPHA_0))
            y_hat.append(planes.output(Recipe().planes.alphas))
            equal.append(_equal(planes, data.y_test)[i])
        return Entered(np.array(y_hat), np.array(ends), np.array(equal), times[0], times[1])


@dataclass(frozen=True)
class Outside(Contestant):
    """A method that is not a fuzzy system, see `gt2lite.study.field.baselines`.

    `make` gets a seed and, where it is `boosted`, the largest number of trees.
    """

    title: str
    make: Callable[..., Rival]
    boosted: bool = True
    makers: ClassVar[tuple[str, ...]] = ("_checks", "metrics", "datasets", *_JUDGES, "rivals")

    def identity(self) -> dict[str, Any]:
        """Return what distinguishes this contestant, in plain values."""
        return super().identity() | {"make": self.make.__name__, "versions": versions()}

    def enter(self, setting: Setting, data: Prepared, store: Store | None) -> Entered:
        """Train and calibrate, level by level; nothing is stored before it is judged."""
        n_trees = max(round(setting.effort * MAX_TREES), 1)
        rival = self.make(setting.seed, n_trees) if self.boosted else self.make()
        groups = setting.groups(data.split.train) if setting.split == "by_group" else None
        return _answer(rival, data, groups)


def judge(setting: Setting, data: Prepared, entered: Entered) -> tuple[list[Record], list[Record]]:
    """Return a record for each level, and one for each bin of rows at each level.

    Interval scores and RMSE are those of the scaled target; widths are shares of its range.
    The part `equal_` is the oracle: each method moved along its own family until its coverage of
    the test part is the level (at least: discrete targets move in leaps). `unnested` is the
    share of rows whose interval for the first level is not inside the one for the second.
    """
    y = data.y_test
    (inner_lower, inner_upper), (outer_lower, outer_upper) = entered.ends
    outside = (inner_lower < outer_lower - SLACK) | (inner_upper > outer_upper + SLACK)
    groups = setting.groups(data.split.test)
    fixed = {
        "region": regions(data.X_train, data.X_test),
        "rarity": rarity(data.X_train, data.X_test),
    }
    if groups is not None:
        fixed["group"] = groups
    rows, counts = [], []
    for i, level in enumerate(LEVELS):
        (lower, upper), (low, high) = entered.ends[i], entered.equal[i]
        bins = {
            name: coverage_by(labels, y, lower, upper)
            for name, labels in {"width": width_bins(lower, upper), **fixed}.items()
        }
        rows.append(
            {
                "level": level,
                "n_cal": len(data.y_cal),
                "n_test": len(y),
                "rmse": rmse(y, entered.y_hat[i]),
                "picp": picp(y, lower, upper),
                "pinaw": pinaw(y, lower, upper),
                "interval_score": interval_score(y, lower, upper, level),
                "equal_picp": picp(y, low, high),
                "equal_pinaw": pinaw(y, low, high),
                "equal_interval_score": interval_score(y, low, high, level),
                "unnested": float(np.mean(outside)),
                "first_seconds": entered.first_seconds,
                "further_seconds": entered.further_seconds,
                "tuning_seconds": entered.tuning_seconds,
                **{f"worst_{name}": worst(found) for name, found in bins.items()},
            }
        )
        counts += [
            {"level": level, "by": name, "bin": b.label, "n": b.n, "covered": b.covered}
            | {"width": b.width / float(np.ptp(y))}
            for name, found in bins.items()
            for b in found
        ]
    return rows, counts


# ---------------------------------------------------------------------------- answers


def _equal(planes: Planes, y: Array) -> Array:
    """Return the planes (L, 2, N) whose coverage of `y` is the level, and wider where none is."""
    oracle = ExactCalibrator().fit(planes, y)
    return np.array([oracle.intervals(planes, level) for level in LEVELS])


def _answer(rival: Rival, data: Prepared, groups: ArrayLike | None = None) -> Entered:
    """Return what a rival says, and what it took."""
    versions()  # imports what is needed, so that it is not counted
    times, tuning = [], []
    clock = time.process_time()
    rival.fit(data.X_train, data.y_train, groups)
    for level in LEVELS:
        rival.conformalize(data.X_cal, data.y_cal, level)
        times.append(time.process_time() - clock)
        tuning.append(rival.tuning_seconds)
        clock = time.process_time()
    ends = [rival.predict_interval(data.X_test, level) for level in LEVELS]
    equal = [
        widen_to_coverage(data.y_test, *rival.family(data.X_test, level), level) for level in LEVELS
    ]
    return Entered(
        np.tile(rival.predict(data.X_test), (len(LEVELS), 1)),
        np.array(ends),
        np.array(equal),
        times[0] - tuning[0],
        times[1] - (tuning[1] - tuning[0]),
        tuning[0],
    )


class _Output:
    """The output of a trained system as an estimator in scikit-learn's manner."""

    def __init__(self, params: Params, alphas: Sequence[float] | Array) -> None:
        self.params = params
        self.alphas = alphas
        self.is_fitted = True  # what MAPIE looks for

    def fit(self, X: Array, y: Array) -> None:
        """Do nothing: the system is trained."""

    def predict(self, X: Array) -> Array:
        """Return the output (N,)."""
        return Planes(self.params, X).output(self.alphas)
