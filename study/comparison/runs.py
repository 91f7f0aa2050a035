"""Runs of the method comparison: one method on one split, as rows of the stored files.

`make comparison` runs all of them and writes `comparison.csv` (a row for each split, method and
level), `conditional.csv` (a row for each bin of test rows) and `comparison_settings.csv` (settings
that were chosen inside the training set) to `data/results/`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from gt2lite._threads import one_blas_thread
from gt2lite._validation import Array, between, one_of
from gt2lite.datasets import DATASETS
from gt2lite.metrics import covers, interval_quality, picp, pinaw, rmse
from study.comparison.conditional import coverage_by, excess_risk, rarity, regions, width_bins
from study.comparison.data import ALL, Case
from study.comparison.methods import IN_STUDY, METHODS
from study.margins import Intervals, Result
from study.protocol import LEVELS

MOST_ROWS = 5000
"""Training rows beyond this number are left out, so that the study ends within some hours."""

SEEDS = range(3)
"""Seeds of every method on every data set: of the split and of the method."""


class Run(NamedTuple):
    """Rows of one method on one split for each of the three files, and its result."""

    rows: pd.DataFrame
    bins: pd.DataFrame
    settings: pd.DataFrame
    result: Result


def run_method(
    dataset: str,
    split: str,
    seed: int,
    method: str,
    *,
    effort: float = 1.0,
    most_rows: int = 0,
) -> Run:
    """Train, calibrate and evaluate a method on one split.

    Args:
        dataset: one of `study.comparison.data.ALL`.
        split: "random", or "by_group" to keep the rows of a group together.
        seed: of the split and of the method.
        method: of `METHODS`.
        effort: share of the epochs or trees that training gets; below 1 for drafts.
        most_rows: training rows beyond this number are left out; 0 for all.
    """
    one_of("method", method, METHODS)
    between("effort", effort, 0, 1, closed=True)
    case = Case(dataset, seed, split, most_rows)
    names = {"dataset": dataset, "split": split, "seed": seed}
    with one_blas_thread():
        result = METHODS[method].fit(case, effort)
        times = {name: value for name, value in vars(result).items() if "seconds" in name}
        rows, bins = [], []
        for found in result.intervals:
            name = f"{method}_{found.form}" if found.form else method
            for i, level in enumerate(LEVELS):
                by = _bins(case, *found.bounds[i])
                worst = {f"worst_{kind}": (b.covered / b.n).min() for kind, b in by.items()}
                row = {**names, "method": name, "level": level, **_evaluate(case, found, i)}
                rows.append(row | times | worst)
                if found is result.intervals[0] and level == LEVELS[0]:
                    hit = covers(case.data.y_test, *found.bounds[i])
                    rows[-1]["ert"] = excess_risk(case.data.X_test, hit, level)
                    extent = float(np.ptp(case.data.y_test))
                    for kind, counts in by.items():
                        counts = counts.assign(width=(counts.width / extent).round(4)).reset_index()
                        bins.append(counts.assign(**names, method=method, level=level, by=kind))
    settings = pd.DataFrame([names | {"method": method} | chosen for chosen in result.chosen])
    return Run(pd.DataFrame(rows), pd.concat(bins), settings, result)


def _evaluate(case: Case, found: Intervals, i: int) -> dict[str, Any]:
    """Return the metrics of intervals on the test set at the i-th level.

    RMSE, width and scores are those of the scaled target, `pinaw` is the width as a share of the
    target's range. `equal_...` is the oracle: the method moved along its own family until it covers
    the level of the test set (at least: discrete targets move in steps).
    """
    data, y = case.data, case.data.y_test
    (lower, upper), equal = found.bounds[i], found.equal[i]
    return {
        "n_train": len(data.y_train),
        "n_cal": len(data.y_cal),
        "n_test": len(y),
        "rmse": rmse(y, found.y_hat[i]),
        **interval_quality(y, lower, upper, LEVELS[i])._asdict(),
        "equal_picp": picp(y, *equal),
        "equal_pinaw": pinaw(y, *equal),
        "width": float(np.mean(upper - lower)),
        "crps": found.crps,
    }


def _bins(case: Case, lower: Array, upper: Array) -> dict[str, pd.DataFrame]:
    """Return coverage by width, by region, by rarity and, if the data have groups, by group."""
    data = case.data
    labels = {
        "width": width_bins(lower, upper),
        "region": regions(data.X_train, data.X_test),
        "rarity": rarity(data.X_train, data.X_test),
    }
    if case.table.groups is not None:
        labels["group"] = case.table.groups[data.split.test]
    return {kind: coverage_by(bins, data.y_test, lower, upper) for kind, bins in labels.items()}


def settings() -> list[dict[str, Any]]:
    """Return the arguments of all runs: every data set, and one seed of Parkinson by patient.

    >>> [one["seed"] for one in settings() if (one["dataset"], one["method"]) == ("pp", "paper")]
    [0, 1, 2]
    """
    places = [(name, "random", seed) for name in ALL for seed in SEEDS]
    keys = ("dataset", "split", "seed", "most_rows", "method")
    return [
        dict(zip(keys, (*place, MOST_ROWS, name), strict=True))
        for place in [*places, ("pm", "by_group", 0)]
        for name in IN_STUDY
    ]


def run(run_all: Callable[..., list[Any]]) -> dict[str, pd.DataFrame]:
    """Run the comparison and return its three files, by name.

    Metrics are stored with eight digits, bins for the paper's data sets only.
    """
    runs = run_all(run_method, settings(), label="comparison")
    rows, bins, chosen = (pd.concat(part) for part in list(zip(*runs, strict=True))[:3])
    floats = rows.select_dtypes("float").columns
    rows[floats] = rows[floats].map(lambda value: float(f"{value:.8g}"))
    bins = bins[bins.dataset.isin(DATASETS)]
    return {"comparison": rows, "conditional": bins, "comparison_settings": chosen}
