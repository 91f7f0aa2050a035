"""Fuzzy systems in the field: trained once for all levels, or once for each."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from gt2lite.calibration.oracle import planes_at_coverage
from gt2lite.calibration.ranked import ConformalCalibrator
from gt2lite.datasets import Prepared
from gt2lite.memberships import ALPHA_0
from gt2lite.recipe import Recipe
from gt2lite.study.design import LEVELS
from gt2lite.study.field.contestant import Contestant, Entered, Get
from gt2lite.study.field.setting import Setting
from gt2lite.study.field.shared import SharedSystem, SharedTraining
from gt2lite.study.protocol import Task
from gt2lite.system import Planes


@dataclass(frozen=True)
class System(Contestant):
    """A GT2-FLS, trained once; every level is a plane of it, chosen by `conformal`."""

    recipe: Recipe

    @property
    def weight(self) -> float:
        """How long it takes, in units of the paper's system."""
        return self.recipe.n_rules / 10

    def enter(self, setting: Setting, data: Prepared, get: Get) -> Entered:
        """Train the system, and calibrate its planes for all levels at once."""
        params, seconds = trained_system(self.recipe, setting, get)
        clock = time.process_time()
        fitted = ConformalCalibrator().fit(Planes(params, data.X_cal), data.y_cal)
        fitted.alpha(LEVELS[0])
        seconds += time.process_time() - clock
        clock = time.process_time()
        fitted.alpha(LEVELS[1])
        further = time.process_time() - clock
        planes = Planes(params, data.X_test)
        ends = np.array([fitted.intervals(planes, level) for level in LEVELS])
        lower, upper = planes_at_coverage(planes, data.y_test, LEVELS)  # (N, L) each
        return Entered(
            np.tile(planes.output(self.recipe.planes.alphas), (len(LEVELS), 1)),
            ends,
            np.stack([lower.T, upper.T], axis=1),
            seconds,
            further,
        )


@dataclass(frozen=True)
class Direct(Contestant):
    """A GT2-FLS for each level, whose widest plane was trained to have that coverage.

    With `calibrated` it learns on the training part and is calibrated by `conformal` like
    the others. Without, it does as in the paper: the calibration part belongs to its training
    data, and its widest plane is taken as it is.
    """

    calibrated: bool = True

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
        return Entered(np.array(y_hat), np.array(ends), np.array(equal), times[0], times[1])


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
