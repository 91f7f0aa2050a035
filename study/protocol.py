"""The paper's protocol: what is trained, on which rows, how it is calibrated and evaluated.

There are three trainings for each data set and seed. The *baseline* learns 99% on 70% of the
rows and is calibrated to 90% and 95% on another 15%. The two other systems learn 90% and 95%
directly, on 85% of the rows. All are evaluated on the remaining 15%.

`run` executes one training and returns its records, one row for each interval that the system
offers. `data/results/reference.csv` holds the records of all seeds; verdicts on them are in
`study.cells` and `study.claims`.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from gt2lite._threads import one_blas_thread
from gt2lite._validation import Array, one_of, whole
from gt2lite.calibration import (
    CALIBRATORS,
    RANKED,
    Calibration,
    CoverageError,
    TableCalibrator,
    critical_alpha,
)
from gt2lite.datasets import DATASETS, Prepared, load_dataset, prepare
from gt2lite.memberships import ALPHA_0
from gt2lite.metrics import interval_quality, rmse
from gt2lite.system import Params, Planes
from gt2lite.training import Recipe, Trained, init_params, train

LEVELS = (0.90, 0.95)
"""The levels that every method is asked for."""

MODELS = {"baseline": 0.99, "trained_90": 0.90, "trained_95": 0.95}
"""The systems of the protocol, and the coverage that each is trained for."""

METHODS = {"baseline": "trained", "trained": "trained", "calibrated": "search"}
"""The method behind the paper's numbers for each kind of model."""

PAPER_TABLE = (0.1, "linear")
"""Step and interpolation of the paper's lookup table."""

TEST_OVER_TRAIN = 15 / 70
"""Test rows for each training row: the overlap of re-splits of one data set."""

SEEDS = (0, 1, 2, 3, 4)
"""As many as the paper has. A seed decides the split, the start values and the batches."""

ALL_SEEDS = tuple(range(50))
"""The seeds that verdicts rest on."""

MODES: dict[str, dict[str, str]] = {
    "default": {},
    # Deviation: the settings of the authors' code, which also scales all rows before the split.
    "authors": {"smf": "scalar", "bias_correction": "epochs"},
}

CURVES = ("spline", "polynomial")
"""Interpolations that the paper names and the library does not offer: they need not be monotone."""

CALIBRATIONS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("search", {}),
    # the paper's table, and others: it names step and interpolation as its two weak points
    ("table", dict(zip(("step", "interpolation"), PAPER_TABLE, strict=True))),
    *(("table", {"step": s, "interpolation": "linear"}) for s in (0.2, 0.05, 0.02, 0.01)),
    *(("table", {"step": 0.1, "interpolation": kind}) for kind in ("pchip", *CURVES)),
    ("exact", {}),
    ("conformal", {}),
)


@dataclass(frozen=True)
class Run:
    """One training of the protocol."""

    params: Params
    history: Array  # (epochs,) mean loss
    critical_alpha: Array  # (Q,) largest plane that covers each calibration row; empty if trained
    records: pd.DataFrame  # one row for each interval that the system offers


def trainings(
    datasets: Sequence[str] = DATASETS,
    seeds: Sequence[int] = SEEDS,
    models: Sequence[str] = tuple(MODELS),
    **settings: Any,
) -> list[dict[str, Any]]:
    """Return the arguments of `run` for each training; by default the paper's 60.

    >>> len(trainings())
    60
    >>> trainings(["pp"], [3], ["baseline"], mode="authors")
    [{'dataset': 'pp', 'seed': 3, 'model': 'baseline', 'mode': 'authors'}]
    """
    return [
        {"dataset": dataset, "seed": seed, "model": model, **settings}
        for dataset in datasets
        for seed in seeds
        for model in models
    ]


def run(
    dataset: str,
    seed: int,
    model: str,
    mode: str = "default",
    *,
    recipe: Recipe | None = None,
    perturbation: int = 0,
) -> Run:
    """Train one system, calibrate it if it is a baseline, and evaluate it on the test set.

    Args:
        dataset: one of `gt2lite.datasets.DATASETS`.
        seed: decides the split, the start values and the order of the batches.
        model: one of `MODELS`.
        mode: one of `MODES`.
        recipe: all other settings; None for the paper's.
        perturbation: units in the last place by which start values are moved, to measure the
            sensitivity to rounding.
    """
    one_of("dataset", dataset, DATASETS)
    whole("seed", seed, low=0)
    level = MODELS[one_of("model", model, MODELS)]
    full: Any = {"coverage": level, **MODES[one_of("mode", mode, MODES)]}
    full_recipe = replace(recipe or Recipe(), **full)
    with one_blas_thread():
        data = split(dataset, seed, mode)
        clocks = time.perf_counter(), time.process_time()
        trained = _train(data, model, full_recipe, seed, perturbation)
        common = {
            "dataset": dataset,
            "seed": seed,
            "mode": mode,
            "train_seconds": time.perf_counter() - clocks[0],
            "train_cpu_seconds": time.process_time() - clocks[1],
        }
        rows, critical = _evaluate(trained.params, data, model, full_recipe)
    records = pd.DataFrame([common | row for row in rows], columns=COLUMNS)
    return Run(trained.params, trained.history, critical, records)


def split(dataset: str, seed: int, mode: str = "default") -> Prepared:
    """Return the scaled training, calibration and test sets of a seed."""
    scaling = "authors" if mode == "authors" else "train"
    return prepare(load_dataset(dataset), seed, scaling=scaling)


def all_records(runs: Iterable[Run]) -> pd.DataFrame:
    """Return the records of several runs."""
    return pd.concat([one.records for one in runs], ignore_index=True)


def standard(records: pd.DataFrame) -> pd.DataFrame:
    """Return records without lookup tables other than the paper's."""
    step, interpolation = PAPER_TABLE
    papers = (records.step == step) & (records.interpolation == interpolation)
    return records[(records.method != "table") | papers]


# ---------------------------------------------------------------------------------- details

COLUMNS = [
    *("dataset", "seed", "mode", "model", "level", "method", "step", "interpolation"),
    *("n_cal", "n_test", "alpha", "margin", "reached", "n_evaluations"),
    *("rmse", "picp", "pinaw", "interval_score"),
    *("train_seconds", "train_cpu_seconds", "calibrate_seconds"),
]
"""The columns of records. RMSE and score are of the scaled target; `step` and `interpolation`
belong to the method "table". `alpha` is 0 if no plane covers enough: the interval is then the
lowest plane widened by `margin`. `reached` is the coverage of the calibration set."""


def _train(data: Prepared, model: str, recipe: Recipe, seed: int, perturbation: int) -> Trained:
    X, y = data.X_train, data.y_train
    if model != "baseline":  # the calibration set belongs to the training data
        X, y = np.vstack([X, data.X_cal]), np.concatenate([y, data.y_cal])
    rng, start = np.random.default_rng(seed), None
    if perturbation:  # the same draws, moved
        start = init_params(X, recipe.n_rules, rng, smf=recipe.smf)
        start = {name: v + perturbation * np.spacing(v) for name, v in start.items()}
    return train(X, y, recipe, seed=rng, start=start, progress=False)


def _evaluate(
    params: Params, data: Prepared, model: str, recipe: Recipe
) -> tuple[list[dict[str, Any]], Array]:
    """Return a record for each interval that the system offers, and its critical planes."""
    test = Planes(params, data.X_test)
    common: dict[str, Any] = {
        "n_cal": len(data.y_cal),
        "n_test": len(data.y_test),
        "rmse": rmse(data.y_test, test.output(recipe.planes.alphas)),
    }
    level = MODELS[model]
    trained = common | interval_quality(data.y_test, *test(ALPHA_0), level)._asdict()
    trained |= {"model": model.split("_")[0], "level": level, "method": "trained"}
    trained |= {"alpha": ALPHA_0, "margin": 0.0, "n_evaluations": 0, "calibrate_seconds": 0.0}
    if model != "baseline":
        return [trained], np.empty(0)
    calibrated = [
        common
        | {"model": "calibrated", "level": level, "method": method}
        | options
        | _calibrate(params, data, test, method, options, level)
        for method, options in CALIBRATIONS
        for level in LEVELS
    ]
    return [trained, *calibrated], critical_alpha(Planes(params, data.X_cal), data.y_cal)


def _calibrate(
    params: Params, data: Prepared, test: Planes, method: str, options: dict[str, Any], level: float
) -> dict[str, Any]:
    """Return what a method finds for a level, what that took, and the quality of the interval."""
    kind = CurveTable if options.get("interpolation") in CURVES else CALIBRATORS[method]
    clock = time.perf_counter()
    # memberships are computed anew for each method, so that their cost is counted
    fitted: Calibration = kind(**options).fit(Planes(params, data.X_cal), data.y_cal)
    try:
        alpha, margin = fitted.alpha(level), fitted.margin(level)
    except CoverageError:
        # The paper's methods have no answer here: they end at the widest plane, the nearest
        # there is, and `reached` shows the miss.
        alpha, margin = ALPHA_0, 0.0
    seconds = time.perf_counter() - clock
    n_evaluations = fitted.n_evaluations  # before `coverage` adds one
    if method in RANKED:  # these continue beyond the envelope, so every run has an answer
        ends, reached = fitted.intervals(test, level), fitted.reached(level)
    else:
        ends, reached = test(alpha), fitted.coverage(alpha)
    return {
        "alpha": 0.0 if np.isnan(alpha) else alpha,
        "margin": margin,
        "reached": reached,
        "n_evaluations": n_evaluations,
        "calibrate_seconds": seconds,
        **interval_quality(data.y_test, *ends, level)._asdict(),
    }


@dataclass(eq=False)
class CurveTable(TableCalibrator):
    """A lookup table with a curve through its pairs that may rise where they fall.

    It serves the claim that the choice of the interpolation matters, and nothing else.

    Args:
        step: distance of the planes, as in `TableCalibrator`.
        interpolation: one of `CURVES`: a cubic spline through the pairs of the table, or the
            polynomial through all of them.

    >>> y = np.linspace(-1, 1, 201)
    >>> def interval(alpha):  # the plane alpha reaches from alpha - 1 to 1 - alpha
    ...     return np.full(201, alpha - 1.0), np.full(201, 1.0 - alpha)
    >>> round(CurveTable(0.5, "polynomial").fit(interval, y).alpha(0.7), 2)  # a straight line
    0.3
    """

    interpolation: str = "spline"

    def __post_init__(self) -> None:
        one_of("interpolation", self.interpolation, CURVES)
        self.interpolation, curve = "linear", self.interpolation
        super().__post_init__()
        self.interpolation = curve

    def _plane(self, level: float) -> float:
        from scipy.interpolate import CubicSpline, KroghInterpolator

        phi, alpha = self.table.T
        if phi.size == 1:
            return float(alpha[0])
        curve = {"spline": CubicSpline, "polynomial": KroghInterpolator}[self.interpolation]
        plane = curve(phi, alpha)(np.clip(level, phi[0], phi[-1]))
        return float(np.clip(plane, ALPHA_0, 1))
