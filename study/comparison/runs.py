"""Runs of the method comparison: one method on one split, as rows of the stored files.

`make comparison` runs all of them and writes `comparison.csv` (a row for each split, method and
level), `conditional.csv` (a row for each bin of test rows) and `comparison_settings.csv` (settings
that were chosen inside the training set) to `data/results/`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from gt2lite._threads import one_blas_thread
from gt2lite._validation import Array, between, one_of
from gt2lite.datasets import DATASETS
from gt2lite.metrics import covers, interval_quality, picp, pinaw, rmse
from study import results
from study.comparison.conditional import coverage_by, excess_risk, rarity, regions, width_bins
from study.comparison.data import ALL, LEVELS, Case, shape_of
from study.comparison.methods import IN_STUDY, METHODS, TITLES
from study.execution import run_all
from study.margins import Intervals, Result

MOST_ROWS = 5000
"""Training rows beyond this number are left out, so that the study ends within two hours."""

SMALL = 2000
"""Data sets with more rows than this get fewer seeds, see `Method.n_seeds`."""

FILES = ("comparison", "conditional", "comparison_settings")
"""Files of `data/results/` that `run` writes."""


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


def seeds_of(dataset: str, method: str = "strong") -> tuple[int, ...]:
    """Return the seeds of a method on a data set: fewer if it has many rows or takes long.

    >>> seeds_of("concrete", "paper"), seeds_of("pp", "paper"), seeds_of("pp", "strong")
    ((0, 1, 2, 3, 4), (0, 1, 2), (0, 1))
    """
    return tuple(range(METHODS[method].n_seeds[shape_of(dataset)[0] > SMALL]))


def settings(methods: Sequence[str] = IN_STUDY) -> list[dict[str, Any]]:
    """Return the arguments of all runs: every data set, and one seed of Parkinson by patient.

    >>> len(settings(["paper"]))
    89
    """
    cases = [(dataset, "random") for dataset in ALL] + [("pm", "by_group")]
    return [
        {"dataset": d, "split": split, "seed": s, "method": m, "most_rows": MOST_ROWS}
        for d, split in cases
        for m in methods
        for s in seeds_of(d, m)[: 1 if split == "by_group" else None]
    ]


def run(
    methods: Sequence[str] = IN_STUDY, *, n_jobs: int = -1, dask: str | None = None
) -> pd.DataFrame:
    """Run the comparison, write its files, and return how far it is from the stored one.

    Metrics are stored with eight digits. Bins are stored for the paper's data sets.

    Args:
        methods: those to run; the stored rows of other methods stay.
        n_jobs: processes; -1 for one per core.
        dask: address of a Dask scheduler; None for this machine.
    """
    for name in methods:
        one_of("methods", name, IN_STUDY)
    runs = run_all(run_method, settings(methods), n_jobs=n_jobs, label="comparison", dask=dask)
    stored = {name: results.load(name) for name in FILES}
    rows, bins, chosen = (pd.concat(part) for part in list(zip(*runs, strict=True))[:3])
    floats = rows.select_dtypes("float").columns
    rows[floats] = rows[floats].map(lambda value: float(f"{value:.8g}"))
    frames = rows, bins[bins.dataset.isin(DATASETS)], chosen
    for name, frame in zip(FILES, frames, strict=True):
        new = merged(frame, stored[name], methods)
        results.save(name, new, command="python -m study comparison")
    keys = ["dataset", "split", "seed", "method", "level"]
    metrics = ["rmse", "interval_score"]
    return results.compare(
        rows, stored["comparison"], dict.fromkeys(metrics, 1e-6), by=keys, metrics=metrics
    )


def merged(new: pd.DataFrame, stored: pd.DataFrame, methods: Sequence[str]) -> pd.DataFrame:
    """Return the new rows of some methods and the stored ones of the others, in order.

    Stored rows of methods and ablations that the study no longer has are left out.
    """
    own = {f"{m}_{form}" if form else m for m in methods for form in METHODS[m].forms}
    kept = stored[stored.method.isin(set(TITLES) - own)]
    found = pd.concat([kept, new], ignore_index=True)[new.columns]
    places = {"dataset": list(ALL), "split": ["random", "by_group"], "method": list(TITLES)}
    order = {name: found[name].map(names.index) for name, names in places.items()}
    ranked = found.assign(**order).sort_values(["dataset", "split", "seed", "method"])
    return found.loc[ranked.index].reset_index(drop=True)
