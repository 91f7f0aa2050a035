"""Which runs the study of the paper consists of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gt2lite.datasets import DATASETS
from gt2lite.recipe import Recipe
from gt2lite.study.design import MODELS
from gt2lite.study.protocol import ProtocolRun, Task
from gt2lite.study.records import Record

SEEDS = (0, 1, 2, 3, 4)
"""One split, start and order of batches for each: as many as the paper has."""


def tasks(
    datasets: Sequence[str] = DATASETS,
    seeds: Sequence[int] = SEEDS,
    models: Sequence[str] = tuple(MODELS),
    *,
    mode: str = "default",
    recipe: Recipe | None = None,
    nudge: int = 0,
) -> list[Task]:
    """Return the tasks of a protocol; by default the paper's 60.

    >>> len(tasks())
    60
    >>> tasks(["pp"], seeds=[3], models=["baseline"])[0].full_recipe.coverage
    0.99
    """
    return [
        Task(dataset, seed, model, mode, recipe or Recipe(), nudge)
        for dataset in datasets
        for seed in seeds
        for model in models
    ]


def records(runs: Iterable[ProtocolRun]) -> list[Record]:
    """Return the records of all runs, one for each (dataset, seed, model, level, method)."""
    return [row for run in runs for row in run.records]
