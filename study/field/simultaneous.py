"""Simultaneous quantile regression in the field: one training for all quantiles, then a margin.

The method of the companion paper, see `study.sqr`. Its trainings are long, so it takes
part on the paper's data sets only, and shares them with `study.sqr_runs`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gt2lite.datasets import DATASETS, Prepared
from study import sqr
from study.design import LEVELS
from study.field.contestant import Contestant, Entered, Get
from study.field.fuzzy import shorten
from study.field.margins import Parts, Shape, answer
from study.field.setting import Setting
from study.sqr_training import SqrSystem, SqrTraining, trained


@dataclass(frozen=True)
class Simultaneous(Contestant):
    """A GT2-FLS whose planes are quantiles; two of them and one margin make an interval."""

    tables: ClassVar[tuple[str, ...] | None] = tuple(DATASETS)

    @property
    def weight(self) -> float:
        """How long it takes, in units of the paper's system."""
        return 20.0

    @property
    def told(self) -> tuple[str, str, str]:
        """What it learns, where its interval comes from, what a further level needs."""
        learns = "all quantiles, one for each plane"
        return learns, "two quantiles and one margin for all rows", "a look at a sorted list"

    def enter(self, setting: Setting, data: Prepared, get: Get) -> Entered:
        """Train the system, or take it from the store, and put a margin on two of its planes."""
        system = self._trained(setting, data, get)

        def parts(level: float) -> Parts:
            return Parts(
                *(
                    Shape(*sqr.interval(system.params, rows, level), np.ones(len(rows)))
                    for rows in (data.X_cal, data.X_test)
                )
            )

        clock = time.process_time()
        parts(LEVELS[1])
        further = time.process_time() - clock
        y_hat = sqr.quantiles(system.params, data.X_test, 0.5)
        found = answer("", y_hat, parts, data.y_cal, data.y_test)
        return Entered((found,), system.seconds + further, further)

    def _trained(self, setting: Setting, data: Prepared, get: Get) -> SqrSystem:
        recipe = shorten(sqr.RECIPE, setting.effort)
        if len(data.y_train) != setting.most_rows:  # all rows: the training that others share
            by_group = setting.split == "by_group"
            system: SqrSystem = get(SqrTraining(setting.dataset, setting.seed, recipe, by_group))
            return system
        return trained(data, recipe, setting.seed)
