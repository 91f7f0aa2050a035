"""The three settings of the mode `authors`, one by one.

The authors' public example (White Wine) differs from the default of this study in three
settings: it scales all rows before they are split, has one secondary width per side for all
inputs instead of one for each, and passes the number of the epoch to Adam's bias correction
instead of that of the step. Every combination is trained once for each seed: the system for 99%
on 70% of the rows, evaluated on the test set. `data/results/ablation.csv` holds the results.
"""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from gt2lite._threads import one_blas_thread
from gt2lite._validation import Array
from gt2lite.datasets import DATASETS, load_dataset, prepare
from gt2lite.memberships import ALPHA_0
from gt2lite.metrics import interval_quality, rmse
from gt2lite.system import Planes
from gt2lite.training import BETA_1, BETA_2, Recipe, train
from study.protocol import SEEDS

SETTINGS = {
    "scaling": ("train", "authors"),
    "smf": ("per_input", "scalar"),
    "bias_correction": ("steps", "epochs"),
}
"""Each setting: as in the default, and as in the authors' example."""

LEVEL = 0.99


def ablations() -> list[dict[str, Any]]:
    """Return the arguments of `run_ablation` for each combination, data set and seed.

    >>> len(ablations())
    160
    """
    return [
        {"dataset": dataset, "seed": seed} | dict(zip(SETTINGS, values, strict=True))
        for dataset in DATASETS
        for seed in SEEDS
        for values in product(*SETTINGS.values())
    ]


def run_ablation(
    dataset: str,
    seed: int,
    scaling: str,
    smf: Any,
    bias_correction: Any,
    recipe: Recipe | None = None,
) -> dict[str, Any]:
    """Train one system with some of the authors' settings and return a row of `ablation.csv`."""
    chosen: dict[str, Any] = {"smf": smf, "bias_correction": bias_correction}
    full = replace(recipe or Recipe(), coverage=LEVEL, **chosen)
    with one_blas_thread():
        data = prepare(load_dataset(dataset), seed, scaling=scaling)
        clock = time.process_time()
        found = train(data.X_train, data.y_train, full, seed=seed, progress=False)
        seconds = time.process_time() - clock
        planes = Planes(found.params, data.X_test)
        quality = interval_quality(data.y_test, *planes(ALPHA_0), LEVEL)
        error = rmse(data.y_test, planes.output(full.planes.alphas))
    return {
        "dataset": dataset,
        "seed": seed,
        "scaling": scaling,
        **chosen,
        "rmse": error,
        **quality._asdict(),
        "last_loss": float(found.history[-1]),
        "train_cpu_seconds": seconds,
    }


def step_factor(epoch: Array, steps_per_epoch: int) -> Array:
    """Return the length of Adam's steps when its correction counts epochs; 1 is the right length.

    The correction of step t is ``sqrt(1 - 0.999**t) / (1 - 0.9**t)``. It receives the number of
    the epoch; right would be the number of the last step of that epoch.

    Args:
        epoch: numbers of epochs, from 1.
        steps_per_epoch: steps in an epoch.

    >>> step_factor(np.array([1, 10, 100]), 53).round(2)
    array([1.39, 0.24, 0.31])
    """

    def correction(t: Array) -> Array:
        found: Array = np.sqrt(1 - BETA_2**t) / (1 - BETA_1**t)
        return found

    return correction(epoch) / correction(epoch * float(steps_per_epoch))
