"""A head in the field: a fuzzy system that learns the errors of the boosted mean.

The base has the settings of the mean that the boosted rivals share, so that their difference is
what the head adds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from gt2lite import GT2Regressor, IntervalHead
from gt2lite.datasets import Prepared
from study.field.boosted import Tuning, boosting, most_trees, shared_mean
from study.field.contestant import Contestant, Entered, Get
from study.field.estimated import POWERS, enter, epochs
from study.field.setting import Setting


@dataclass(frozen=True)
class Head(Contestant):
    """`IntervalHead` around the boosted mean."""

    forms: ClassVar[tuple[str, ...]] = ("", *POWERS)

    @property
    def weight(self) -> float:
        """How long it takes, in units of the paper's system."""
        return 6.0

    @property
    def told(self) -> tuple[str, str, str]:
        """What it learns, where its interval comes from, what a further level needs."""
        learns = "the mean, by boosted trees, and its errors, by a GT2-FLS"
        return learns, "the mean plus a plane, chosen by `conformal`", "a look at a sorted list"

    def enter(self, setting: Setting, data: Prepared, get: Get) -> Entered:
        """Train the base with the shared settings, and the head on its errors."""
        mean = shared_mean(setting, get)
        base = boosting(None, **mean.settings)
        entered = enter(_head(base, setting), setting, data)
        told = Tuning(mean.settings, 0).told("mean", most_trees(setting.effort))
        return entered._replace(tuning_seconds=mean.tuning_seconds, chosen=(told, *entered.chosen))


def _head(base: Any, setting: Setting) -> Any:
    head = IntervalHead(base, random_state=setting.seed)
    if setting.effort < 1:  # a draft
        head.system = GT2Regressor(
            objective="aligned", epochs=epochs(setting.effort, 40), random_state=setting.seed
        )
    return head
