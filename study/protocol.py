"""The paper's protocol: what is trained, on which rows, how it is calibrated and evaluated.

There are three trainings for each data set and seed. The *baseline* learns 99% on 70% of the
rows and is calibrated to 90% and 95% on another 15%. The two other systems learn 90% and 95%
directly, on 85% of the rows. All are evaluated on the remaining 15%.

`run` executes one training and returns its records, one row for each interval that the system
offers. `data/results/reference.csv` holds the records of all seeds; verdicts on them are in
`study.cells` and `study.claims`.

The authors' public example (White Wine) differs from this in three settings (`SETTINGS`): it
scales all rows before they are split, has one secondary width per side for all inputs instead of
one for each, and passes the number of the epoch to Adam's bias correction instead of that of the
step. The mode "authors" has all three; `run_ablation` trains the baseline with any of them.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from gt2lite._threads import one_blas_thread
from gt2lite._validation import Array, one_of
from gt2lite.calibration import CALIBRATORS, CoverageError, TableCalibrator
from gt2lite.datasets import DATASETS, Prepared, load_dataset, prepare
from gt2lite.memberships import ALPHA_0
from gt2lite.metrics import interval_quality, rmse
from gt2lite.practice.calibrators import RANKED
from gt2lite.recipe import Recipe
from gt2lite.system import Params, Planes
from gt2lite.training import init_params, train

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

# Deviation: the settings of the authors' code beside those of the paper.
SETTINGS = {
    "scaling": ("train", "authors"),
    "smf": ("per_input", "scalar"),
    "bias_correction": ("steps", "epochs"),
}
"""Each setting: in the mode "default", and in the mode "authors"."""

MODES = ("default", "authors")

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
        mode: "default" or "authors".
        recipe: all other settings; None for the paper's.
        perturbation: units in the last place by which start values are moved, to measure the
            sensitivity to rounding.
    """
    level = MODELS[one_of("model", model, MODELS)]
    theirs: Any = {name: SETTINGS[name][1] for name in ("smf", "bias_correction")}
    chosen = theirs if one_of("mode", mode, MODES) == "authors" else {}
    full_recipe = replace(recipe or Recipe(), coverage=level, **chosen)
    with one_blas_thread():
        data = split(dataset, seed, mode)
        clocks = time.perf_counter(), time.process_time()
        params = _train(data, model, full_recipe, seed, perturbation)
        common = {
            "dataset": dataset,
            "seed": seed,
            "mode": mode,
            "train_seconds": time.perf_counter() - clocks[0],
            "train_cpu_seconds": time.process_time() - clocks[1],
        }
        rows = _evaluate(params, data, model, full_recipe)
    return Run(params, pd.DataFrame([common | row for row in rows], columns=COLUMNS))


def split(dataset: str, seed: int, mode: str = "default") -> Prepared:
    """Return the scaled training, calibration and test sets of a seed."""
    scaling = SETTINGS["scaling"][MODES.index(mode)]
    return prepare(load_dataset(dataset), seed, scaling=scaling)


def all_records(runs: Iterable[Run]) -> pd.DataFrame:
    """Return the records of several runs."""
    return pd.concat([one.records for one in runs], ignore_index=True)


# --------------------------------------------------------------------------------- ablation


def ablations() -> list[dict[str, Any]]:
    """Return the arguments of `run_ablation` for each combination, data set and seed.

    >>> len(ablations())
    160
    """
    return [
        {"dataset": dataset, "seed": seed} | dict(zip(SETTINGS, chosen, strict=True))
        for dataset in DATASETS
        for seed in SEEDS
        for chosen in product(*SETTINGS.values())
    ]


def run_ablation(
    dataset: str, seed: int, scaling: str, recipe: Recipe | None = None, **chosen: Any
) -> dict[str, Any]:
    """Train the baseline with some of the authors' settings; return a row of `ablation.csv`."""
    level = MODELS["baseline"]
    full = replace(recipe or Recipe(), coverage=level, **chosen)
    with one_blas_thread():
        data = prepare(load_dataset(dataset), seed, scaling=scaling)
        clock = time.process_time()
        found = train(data.X_train, data.y_train, full, seed=seed, progress=False)
        seconds = time.process_time() - clock
        planes = Planes(found.params, data.X_test)
        quality = interval_quality(data.y_test, *planes(ALPHA_0), level)
        error = rmse(data.y_test, planes.output(full.planes.alphas))
    row = {"dataset": dataset, "seed": seed, "scaling": scaling, **chosen, "rmse": error}
    row |= quality._asdict()
    return row | {"last_loss": float(found.history[-1]), "train_cpu_seconds": seconds}


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


def _train(data: Prepared, model: str, recipe: Recipe, seed: int, perturbation: int) -> Params:
    X, y = data.X_train, data.y_train
    if model != "baseline":  # the calibration set belongs to the training data
        X, y = np.vstack([X, data.X_cal]), np.concatenate([y, data.y_cal])
    rng, start = np.random.default_rng(seed), None
    if perturbation:  # the same draws, moved
        start = init_params(X, recipe.n_rules, rng, smf=recipe.smf)
        start = {name: v + perturbation * np.spacing(v) for name, v in start.items()}
    return train(X, y, recipe, seed=rng, start=start, progress=False).params


def _evaluate(params: Params, data: Prepared, model: str, recipe: Recipe) -> list[dict[str, Any]]:
    """Return a record for each interval that the system offers."""
    test, level = Planes(params, data.X_test), MODELS[model]
    common: dict[str, Any] = {
        "n_cal": len(data.y_cal),
        "n_test": len(data.y_test),
        "rmse": rmse(data.y_test, test.output(recipe.planes.alphas)),
    }
    rows = [common | interval_quality(data.y_test, *test(ALPHA_0), level)._asdict()]
    rows[0] |= {"model": model.split("_")[0], "level": level, "method": "trained"}
    rows[0] |= {"alpha": ALPHA_0, "margin": 0.0, "n_evaluations": 0, "calibrate_seconds": 0.0}
    if model == "baseline":
        for method, options in CALIBRATIONS:
            for level in LEVELS:
                found = _calibrate(params, data, test, method, options, level)
                about = {"model": "calibrated", "level": level, "method": method}
                rows.append(common | about | options | found)
    return rows


def _calibrate(
    params: Params, data: Prepared, test: Planes, method: str, options: dict[str, Any], level: float
) -> dict[str, Any]:
    """Return what a method finds for a level, what that took, and the quality of the interval."""
    curve = options["interpolation"] if options.get("interpolation") in CURVES else None
    clock = time.perf_counter()
    # memberships are computed anew for each method, so that their cost is counted
    calibrator = CALIBRATORS[method](**options | ({"interpolation": "linear"} if curve else {}))
    fitted = calibrator.fit(Planes(params, data.X_cal), data.y_cal)
    try:
        alpha, margin = fitted.alpha(level), fitted.margin(level)
        if curve and isinstance(fitted, TableCalibrator):
            alpha = curve_plane(fitted.table, curve, level)
    except CoverageError:
        # The paper's methods have no answer here: they end at the widest plane, the nearest
        # there is, and `reached` shows the miss.
        alpha, margin = ALPHA_0, 0.0
    seconds = time.perf_counter() - clock
    n_evaluations = fitted.n_evaluations  # before `coverage` adds one
    if method in RANKED:  # these continue beyond the envelope, so every run has an answer
        ends, reached = fitted.intervals(test, level), fitted.reached(level)
    else:
        ends, reached = test(alpha), fitted.coverage(float(alpha))
    return {
        "alpha": 0.0 if np.isnan(alpha) else alpha,
        "margin": margin,
        "reached": reached,
        "n_evaluations": n_evaluations,
        "calibrate_seconds": seconds,
        **interval_quality(data.y_test, *ends, level)._asdict(),
    }


def curve_plane(table: Array, kind: str, level: float) -> float:
    """Return the plane for a level by a curve through a lookup table, which may rise and fall.

    It serves the claim that the choice of the interpolation matters, and nothing else. The pairs
    are those of `gt2lite.calibration.TableCalibrator.table`; `kind` is one of `CURVES`.

    >>> round(curve_plane(np.array([[0.0, 1.0], [0.5, 0.5], [1.0, 0.0]]), "spline", 0.7), 2)
    0.3
    """
    from scipy.interpolate import CubicSpline, KroghInterpolator

    phi, alpha = table.T
    if phi.size == 1:
        return float(alpha[0])
    curve = {"spline": CubicSpline, "polynomial": KroghInterpolator}[kind](phi, alpha)
    return float(np.clip(curve(np.clip(level, phi[0], phi[-1])), ALPHA_0, 1))
