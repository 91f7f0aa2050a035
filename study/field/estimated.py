"""Systems of the public estimator in the field, used as a user would use them.

Whatever `GT2Regressor` does by default is done here, too: scaling, epochs for small tables and,
for `strong`, all that it chooses. Around the same estimates stand three ablations, which tell
what planes add: one margin for all rows, a margin in proportion to the width of the envelope,
and one in proportion to its root.
"""

from __future__ import annotations

import copy
import json
import time
import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from gt2lite._validation import Array
from gt2lite.calibration import SmallCalibrationWarning
from gt2lite.datasets import Prepared
from gt2lite.memberships import ALPHA_0
from gt2lite.regressor import GT2Regressor, MissedLevelWarning, NarrowEnvelopeWarning
from gt2lite.training import Recipe
from study.design import LEVELS
from study.field.contestant import Answer, Chosen, Contestant, Entered, Get
from study.field.margins import GRID, Parts, answer, around, crps, floored, same
from study.field.setting import Setting

POWERS = {"constant": 0.0, "hybrid": 0.5, "normalised": 1.0}
"""Margins around the estimate in proportion to the width of the envelope, to this power."""


@dataclass(frozen=True)
class Estimated(Contestant):
    """A `GT2Regressor` of ten rules, trained once; every level is a plane of it.

    Attributes:
        objective: "dual", the paper's, or "aligned".
    """

    objective: str = "dual"

    forms: ClassVar[tuple[str, ...]] = ("", *POWERS)

    @property
    def recipe(self) -> Recipe:
        """The recipe, but for the epochs of small tables."""
        return Recipe(objective=self.objective)

    @property
    def told(self) -> tuple[str, str, str]:
        """What it learns, where its interval comes from, what a further level needs."""
        learns = "99 % for the widest plane; 10 rules"
        if self.objective == "aligned":
            learns = "a coverage of its own for every plane; 10 rules"
        return learns, "a plane, chosen by `conformal`", "a look at a sorted list"

    def make(self, setting: Setting) -> GT2Regressor:
        """Return the estimator, not yet trained."""
        n = None if setting.effort == 1 else epochs(setting.effort, 100)
        return GT2Regressor(objective=self.objective, epochs=n, random_state=setting.seed)

    def enter(self, setting: Setting, data: Prepared, get: Get) -> Entered:
        """Train the system, calibrate its intervals for all levels at once, and its ablations."""
        return enter(self.make(setting), setting, data)


@dataclass(frozen=True)
class Strong(Contestant):
    """`GT2Regressor.strong()`: several systems, chosen inside the training part.

    Its own intervals are planes or margins, as it chose; its planes are an answer of their own.
    """

    forms: ClassVar[tuple[str, ...]] = ("", "planes", *POWERS)

    @property
    def weight(self) -> float:
        """How long it takes, in units of the paper's system."""
        return 12.0

    @property
    def told(self) -> tuple[str, str, str]:
        """What it learns, where its interval comes from, what a further level needs."""
        learns = "a coverage of its own for every plane; settings chosen inside training"
        interval = "planes of the mean of several systems, or margins by their width"
        return learns, interval, "a look at a sorted list"

    def enter(self, setting: Setting, data: Prepared, get: Get) -> Entered:
        """Choose and train the systems, calibrate their intervals, and the ablations."""
        reg = GT2Regressor.strong(random_state=setting.seed)
        if setting.effort < 1:  # a draft: one system of few epochs, nothing is chosen
            reg.set_params(choose=False, n_systems=1, epochs=epochs(setting.effort, 40))
        return enter(reg, setting, data, planes=True)


def epochs(effort: float, of: int) -> int:
    """Return how many epochs an effort allows, one at least."""
    return max(round(effort * of), 1)


def enter(reg: Any, setting: Setting, data: Prepared, *, planes: bool = False) -> Entered:
    """Return all answers of an estimator with planes, and what it took.

    Args:
        reg: `GT2Regressor`, or what has its methods; not yet trained.
        setting: which table.
        data: its three parts. The estimator gets the table's own units.
        planes: whether planes are an answer of their own, beside the intervals that it chose.
    """
    table, rows = setting.table(), data.split
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
            bare.margins_ = None  # no margins: what is calibrated are the planes
            bare.calibrate(X_cal, y_cal)
            others.insert(0, _calibrated("planes", bare, X_test, y_test, data))
        own = _calibrated("", reg, X_test, y_test, data)
    return Entered((own, *others), seconds, further, chosen=_chosen(reg))


def _calibrated(form: str, reg: Any, X: Array, y: Array, data: Prepared) -> Answer:
    """Return what a calibrated estimator says; the oracle calibrates it anew, so it comes last."""
    found = _scaled(reg.predict_interval(X, [*LEVELS, *GRID]), data)  # (levels, 2, N)
    y_hat = np.tile(data.scaler.transform_y(reg.predict(X)), (len(LEVELS), 1))
    ends, grid = found[: len(LEVELS)], found[len(LEVELS) :]
    reg.calibrate(X, y, method="exact")  # on the rows that are judged
    equal = _scaled(reg.predict_interval(X, list(LEVELS)), data)
    return Answer(form, y_hat, ends, equal, crps([(low, high) for low, high in grid], data.y_test))


def _ablations(
    reg: Any, X_cal: Array, X_test: Array, X_train: Array, data: Prepared
) -> list[Answer]:
    """Return what margins around the same estimates say."""
    y_hat = [data.scaler.transform_y(reg.predict(X)) for X in (X_cal, X_test)]
    w_train, *widths = (_width(reg, X, data) for X in (X_train, X_cal, X_test))
    widths = [floored(width, w_train) for width in widths]
    found = []
    for form, power in POWERS.items():
        cal, test = (around(e, w**power) for e, w in zip(y_hat, widths, strict=True))
        found.append(answer(form, y_hat[1], same(Parts(cal, test)), data.y_cal, data.y_test))
    return found


def _width(reg: Any, X: Array, data: Prepared) -> Array:
    """Return the width of the envelope (N,), in spreads of the target."""
    lower, upper = reg.predict_interval(X, alpha=ALPHA_0)
    return np.asarray((upper - lower) / data.scaler.y_std)


def _scaled(ends: tuple[Array, Array], data: Prepared) -> Array:
    """Return ends (N, L) each as (L, 2, N), in spreads of the target."""
    return np.stack([data.scaler.transform_y(end).T for end in ends], axis=1)


def _chosen(reg: Any) -> tuple[Chosen, ...]:
    """Return what the estimator kept of what it tried, if it did: settings, epochs, margins."""
    kept = [one for one in getattr(reg, "chosen_", ()) if one.kept]
    if not kept:
        return ()
    margins = None if reg.margins_ is None else reg.margins_.power
    told = {"systems": [{**one.settings, "epochs": one.epochs} for one in kept], "power": margins}
    return (Chosen("system", json.dumps(told, sort_keys=True)),)
