"""Trainings that several contestants share: which rows, which recipe, stored once.

The paper's protocol (`study.protocol`) trains and judges in one go, on random splits.
Here a system is trained and no more, on any split.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from gt2lite._threads import one_blas_thread
from gt2lite._validation import Array
from gt2lite.datasets import checksum
from gt2lite.system import Params
from gt2lite.training import Recipe, train
from study.field.setting import Setting


class SharedSystem(NamedTuple):
    """A trained system, and what it took."""

    params: Params
    seconds: float  # of the processor


@dataclass(frozen=True)
class SharedTraining:
    """A training that several contestants may share."""

    dataset: str
    seed: int
    split: str
    recipe: Recipe
    rows: str = "train"  # or "train and calibration"

    @property
    def code(self) -> tuple[str, ...]:
        """The modules that execute it."""
        return (__name__,)

    @property
    def cost(self) -> float:
        """How long it takes; a single one never queues."""
        return 0.0

    @property
    def label(self) -> str:
        """What it is, in a few words."""
        return f"{self.dataset} seed {self.seed} {self.recipe.objective}"

    def asked(self) -> dict[str, Any]:
        """Return all that distinguishes it, in plain values."""
        return asdict(self) | {"data": checksum(self.dataset)}

    def execute(self, get: Any = None) -> SharedSystem:
        """Train the system."""
        data = Setting(self.dataset, self.seed, self.split).prepare()
        X, y = data.X_train, data.y_train
        if self.rows != "train":
            X, y = np.vstack([X, data.X_cal]), np.concatenate([y, data.y_cal])
        with one_blas_thread():
            clock = time.process_time()
            found = train(X, y, self.recipe, seed=self.seed, progress=False)
            return SharedSystem(found.params, time.process_time() - clock)

    def pack(self, system: SharedSystem) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return the system in plain form."""
        return {"seconds": system.seconds}, dict(system.params)

    def unpack(self, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> SharedSystem:
        """Return the system again."""
        return SharedSystem(dict(arrays), header["seconds"])
