"""Trainings that several contestants share: which rows, which recipe, stored once.

The paper's protocol (`gt2lite.study.protocol`) trains and judges in one go, on random splits.
Here a system is trained and no more, on any split; a training that the protocol has, too, is
taken from there.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from gt2lite._checks import Array, between, one_of, whole
from gt2lite.datasets import DATASETS, Index, Prepared, checksum, load_dataset, prepare
from gt2lite.recipe import Recipe
from gt2lite.study import protocol, runner
from gt2lite.study.protocol import Task
from gt2lite.study.store import Store
from gt2lite.system import Params
from gt2lite.training import train

SPLITS = ("random", "by_group")


@dataclass(frozen=True)
class Setting:
    """The rows that contestants get, and how much effort they may make.

    Attributes:
        dataset: name of the data set.
        seed: of the split, and of all else that is random.
        split: "random", or "by_group" to keep the rows of a group together.
        effort: share of the epochs, or of the trees, that training gets; below 1 for drafts.
    """

    dataset: str
    seed: int
    split: str = "random"
    effort: float = 1.0

    def __post_init__(self) -> None:
        one_of("dataset", self.dataset, DATASETS)
        whole("seed", self.seed, low=0)
        one_of("split", self.split, SPLITS)
        between("effort", self.effort, 0, 1, closed=True)

    def prepare(self) -> Prepared:
        """Return the three parts, scaled."""
        return prepare(load_dataset(self.dataset), self.seed, by_group=self.split == "by_group")

    def groups(self, rows: Index) -> Index | None:
        """Return the group of each of some rows; None where the data set has none."""
        groups = load_dataset(self.dataset).groups
        return None if groups is None else groups[rows]

    def shorten(self, recipe: Recipe) -> Recipe:
        """Return a recipe with no more than the effort allows."""
        return replace(recipe, epochs=max(round(self.effort * recipe.epochs), 1))


class Trained(NamedTuple):
    """A trained system, and what it took."""

    params: Params
    seconds: float  # of the processor


@dataclass(frozen=True)
class Training:
    """A training that several contestants may share."""

    dataset: str
    seed: int
    split: str
    recipe: Recipe
    rows: str = "train"

    @property
    def key(self) -> str:
        """The key under which the system is stored."""
        return Store.key(kind="training", data=checksum(self.dataset), **asdict(self))

    @property
    def cost(self) -> float:
        """How long it takes; a single one never queues."""
        return 0.0

    @property
    def label(self) -> str:
        """What it is, in a few words."""
        return f"{self.dataset} seed {self.seed} {self.recipe.objective}"


def _execute(training: Training) -> Trained:
    data = Setting(training.dataset, training.seed, training.split).prepare()
    X, y = data.X_train, data.y_train
    if training.rows != "train":
        X, y = np.vstack([X, data.X_cal]), np.concatenate([y, data.y_cal])
    with runner.one_blas_thread():
        clock = time.process_time()
        found = train(X, y, training.recipe, seed=training.seed, progress=False)
        return Trained(found.params, time.process_time() - clock)


def _pack(trained: Trained) -> tuple[dict[str, Any], dict[str, Array]]:
    return {"seconds": trained.seconds}, dict(trained.params)


def _unpack(_: Training, header: dict[str, Any], arrays: dict[str, Array]) -> Trained:
    return Trained(arrays, header["seconds"])


def trained(training: Training, store: Store | None) -> Trained:
    """Return the system of a training, from the store where it is there."""
    work = runner.Work(_execute, _pack, _unpack)
    return runner.run([training], work, store, n_jobs=1, progress=False)[0]


def of_protocol(setting: Setting, model: str, recipe: Recipe, store: Store | None) -> Trained:
    """Return a training that the paper's protocol has, too: there it is stored already."""
    task = Task(setting.dataset, setting.seed, model, recipe=recipe)
    (outcome,) = protocol.run([task], store, n_jobs=1, progress=False)
    return Trained(outcome.params, outcome.records[0]["train_cpu_seconds"])
