"""Trainings by simultaneous quantile regression, one per split, stored once for all who ask.

They take long, so they stand apart from what is made of them: a change of how intervals are
judged does not train anything again.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from gt2lite._validation import Array, one_of, whole
from gt2lite.datasets import DATASETS, Prepared, checksum, load_dataset, prepare
from gt2lite.system import Params
from gt2lite.training import Recipe
from study.sqr import RECIPE, train_sqr


class SqrSystem(NamedTuple):
    """A trained system, and what it took."""

    params: Params
    history: Array  # (epochs,) calibration error of the rows that were set aside
    best_epoch: int  # the one that was kept, from 1
    steps: int
    seconds: float  # of the processor


@dataclass(frozen=True)
class SqrTraining:
    """One training on the training part of one split."""

    dataset: str
    seed: int
    recipe: Recipe = RECIPE
    by_group: bool = False

    def __post_init__(self) -> None:
        one_of("dataset", self.dataset, DATASETS)
        whole("seed", self.seed, low=0)

    @property
    def code(self) -> tuple[str, ...]:
        """The modules that execute it."""
        return (__name__,)

    @property
    def cost(self) -> float:
        """How long it takes, in no particular unit."""
        return float(load_dataset(self.dataset).X.size)

    @property
    def label(self) -> str:
        """What it is, in a few words."""
        return f"{self.dataset} seed {self.seed} SQR"

    def asked(self) -> dict[str, Any]:
        """Return all that distinguishes it, in plain values."""
        return asdict(self) | {"data": checksum(self.dataset)}

    def execute(self, get: Any = None) -> SqrSystem:
        """Train the system."""
        data = prepare(load_dataset(self.dataset), self.seed, by_group=self.by_group)
        return trained(data, self.recipe, self.seed)

    def pack(self, system: SqrSystem) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return the system in plain form."""
        arrays = {f"params/{name}": value for name, value in system.params.items()}
        names = ("best_epoch", "steps", "seconds")
        header = {name: getattr(system, name) for name in names}
        return header, arrays | {"history": system.history}

    def unpack(self, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> SqrSystem:
        """Return the system again."""
        prefix = "params/"
        params = {n.removeprefix(prefix): v for n, v in arrays.items() if n.startswith(prefix)}
        numbers = header["best_epoch"], header["steps"], header["seconds"]
        return SqrSystem(params, arrays["history"], *numbers)


def trained(data: Prepared, recipe: Recipe, seed: int) -> SqrSystem:
    """Train a system on the training part, and say what it took."""
    clock = time.process_time()
    found = train_sqr(data.X_train, data.y_train, recipe, seed=seed)
    seconds = time.process_time() - clock
    n_learn = len(data.y_train) - round(recipe.validation * len(data.y_train))
    steps = len(found.history) * max(n_learn // recipe.batch_size, 1)
    return SqrSystem(found.params, found.history, found.best_epoch, steps, seconds)
