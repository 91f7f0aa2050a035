"""Fuzzy systems in the field that are trained once for each level."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from gt2lite._validation import Array
from gt2lite.calibration import ConformalCalibrator
from gt2lite.datasets import Prepared
from gt2lite.memberships import ALPHA_0
from gt2lite.regressor import GT2Regressor
from gt2lite.system import Planes
from gt2lite.training import Recipe
from study.design import LEVELS
from study.field.contestant import Answer, Contestant, Entered, Get
from study.field.margins import Parts, Shape, answer, around, floored
from study.field.setting import Setting
from study.field.shared import SharedSystem, SharedTraining
from study.oracle import planes_at_coverage
from study.protocol import Task


@dataclass(frozen=True)
class It2(Contestant):
    """An interval type-2 system for each level: the plane alpha_0 alone, and one margin.

    It is the paper's system with no other plane: the ends of that plane learn the two quantiles of
    the level, and the output is their middle. It has one plane and thus no family of its
    own, so that a margin calibrates it, as it does two quantiles.
    """

    forms: ClassVar[tuple[str, ...]] = ("", "constant", "normalised")

    @property
    def weight(self) -> float:
        """How long it takes, in units of the paper's system."""
        return 2.0

    @property
    def told(self) -> tuple[str, str, str]:
        """What it learns, where its interval comes from, what a further level needs."""
        interval = "its one plane and one margin for all rows"
        return "the level asked for, with one plane; 10 rules", interval, "another training"

    def enter(self, setting: Setting, data: Prepared, get: Get) -> Entered:
        """Train a system for each level, and put a margin around its plane."""
        table, rows = setting.table(), data.split
        found: dict[float, list[tuple[Array, Array, Array]]] = {}
        seconds = []
        for level in LEVELS:
            n = None if setting.effort == 1 else max(round(setting.effort * 100), 1)
            reg = GT2Regressor(
                alphas=(ALPHA_0,), coverage=level, epochs=n, random_state=setting.seed
            )
            clock = time.process_time()
            reg.fit(table.X[rows.train], table.y[rows.train])
            seconds.append(time.process_time() - clock)
            z = data.scaler.transform_y
            found[level] = []
            for part in (rows.train, rows.calibration, rows.test):
                lower, upper = reg.predict_interval(table.X[part], alpha=ALPHA_0)
                found[level].append((z(lower), z(upper), z(reg.predict(table.X[part]))))
        y_hat = np.array([found[level][2][2] for level in LEVELS])

        def say(form: str, make: Callable[[float, int], Shape]) -> Answer:
            def parts(level: float) -> Parts:
                return Parts(make(level, 1), make(level, 2))

            return answer(form, y_hat, parts, data.y_cal, data.y_test, every_level=False)

        def own(level: float, part: int) -> Shape:
            lower, upper, middle = found[level][part]
            return Shape(lower, upper, np.ones(len(middle)))

        def normalised(level: float, part: int) -> Shape:
            train_lower, train_upper, _ = found[level][0]
            lower, upper, middle = found[level][part]
            return around(middle, floored(upper - lower, train_upper - train_lower))

        answers = (
            say("", own),
            say("constant", lambda level, part: around(found[level][part][2])),
            say("normalised", normalised),
        )
        return Entered(answers, seconds[0], seconds[1])


@dataclass(frozen=True)
class Direct(Contestant):
    """A GT2-FLS for each level, whose widest plane was trained to have that coverage.

    With `calibrated` it learns on the training part and is calibrated by `conformal` like
    the others. Without, it does as in the paper: the calibration part belongs to its training
    data, and its widest plane is taken as it is.
    """

    calibrated: bool = True

    @property
    def told(self) -> tuple[str, str, str]:
        """What it learns, where its interval comes from, what a further level needs."""
        if self.calibrated:
            return "the level asked for", "a plane, chosen by `conformal`", "another training"
        learns = "the same on 85 % of the rows, as in the paper"
        return learns, "the widest plane as it is", "another training"

    def trained(self, setting: Setting, level: float, get: Get) -> SharedSystem:
        """Return the system for a level."""
        recipe = shorten(Recipe(coverage=level), setting.effort)
        if setting.split == "random" and not self.calibrated:  # the paper's own
            return _of_protocol(setting, f"trained_{100 * level:.0f}", recipe, get)
        rows = "train" if self.calibrated else "train and calibration"
        training = SharedTraining(setting.dataset, setting.seed, setting.split, recipe, rows)
        return _shared(training, get)

    def enter(self, setting: Setting, data: Prepared, get: Get) -> Entered:
        """Train a system for each level."""
        y_hat, ends, equal, times = [], [], [], []
        for level in LEVELS:
            params, seconds = self.trained(setting, level, get)
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
            equal.append(planes_at_coverage(planes, data.y_test, level))
        found = Answer("", np.array(y_hat), np.array(ends), np.array(equal))
        return Entered((found,), times[0], times[1])


def trained_system(recipe: Recipe, setting: Setting, get: Get) -> SharedSystem:
    """Return a system, trained on the training part; the paper's protocol has its baseline, too."""
    short = shorten(recipe, setting.effort)
    if setting.split == "random" and recipe == Recipe():
        return _of_protocol(setting, "baseline", short, get)
    return _shared(SharedTraining(setting.dataset, setting.seed, setting.split, short), get)


def shorten(recipe: Recipe, effort: float) -> Recipe:
    """Return a recipe with no more epochs than an effort allows."""
    return replace(recipe, epochs=max(round(effort * recipe.epochs), 1))


def _of_protocol(setting: Setting, model: str, recipe: Recipe, get: Get) -> SharedSystem:
    run = get(Task(setting.dataset, setting.seed, model, recipe=recipe))
    return SharedSystem(run.params, run.records[0].train_cpu_seconds)


def _shared(training: SharedTraining, get: Get) -> SharedSystem:
    system: SharedSystem = get(training)
    return system
