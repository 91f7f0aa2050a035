"""Which runs the study of the paper consists of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gt2lite.datasets import DATASETS
from gt2lite.training import Recipe
from study.design import MODELS
from study.protocol import ProtocolRun, Task
from study.records import Record

SEEDS = (0, 1, 2, 3, 4)
"""One split, start and order of batches for each: as many as the paper has."""

ALL_SEEDS = tuple(range(50))
"""Those that verdicts rest on. The first five are `SEEDS`, which every build runs again."""

NUDGES = {"": (1, 2), "sse4": (0, 1)}
"""Units in the last place by which starts are moved, by what the processor is held to.

With the five seeds of `SEEDS` these are 20 runs of each system, half of them for each processor.
"""


def tasks(
    datasets: Sequence[str] = DATASETS,
    seeds: Sequence[int] = SEEDS,
    models: Sequence[str] = tuple(MODELS),
    *,
    mode: str = "default",
    recipe: Recipe | None = None,
    nudge: int = 0,
    processor: str = "",
) -> list[Task]:
    """Return the tasks of a protocol; by default the paper's 60.

    >>> len(tasks())
    60
    >>> tasks(["pp"], seeds=[3], models=["baseline"])[0].full_recipe.coverage
    0.99
    """
    return [
        Task(dataset, seed, model, mode, recipe or Recipe(), nudge, processor)
        for dataset in datasets
        for seed in seeds
        for model in models
    ]


def nudged(processor: str = "") -> list[Task]:
    """Return the tasks that tell what rounding does: the paper's 60 with every nudge.

    >>> len(nudged()), len(nudged("sse4"))
    (120, 120)
    """
    return [task for n in NUDGES[processor] for task in tasks(nudge=n, processor=processor)]


def records(runs: Iterable[ProtocolRun]) -> list[Record]:
    """Return the records of all runs, one for each (dataset, seed, model, level, method)."""
    return [row for run in runs for row in run.records]
