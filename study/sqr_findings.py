"""What came of simultaneous quantile regression beside aligned training: from rows to sentences.

The rows are those of `data/results/sqr.csv`, see `study.sqr_runs`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gt2lite._validation import Array
from study.pages import compared, percent
from study.sqr_runs import FORMS, MODELS, RaceRecord

TITLES = {"sqr": "SQR", "aligned": "aligned"}
COMPARED = ("ww", "pm", "pp")
"""The data sets that count: the target of AIDS is 0 or 1, and intervals for it say little."""


class Line(NamedTuple):
    """One model on one data set at one level, mean over the seeds; shares in per cent."""

    dataset: str
    model: str
    level: float
    form: str
    picp: float
    pinaw: float
    interval_score: float
    crps: float
    calibration_error: float  # points, mean over 99 quantiles
    crossed: float
    rmse: float  # times 100, as in the paper's tables
    epochs: float
    steps: float
    seconds: float  # of the processor, for training


class Contest(NamedTuple):
    """Aligned training against SQR, calibrated, over the data sets that count.

    A pair is a data set, a seed and a level; for CRPS and cost a data set and a seed. `*_won`
    counts the pairs in which aligned training has the smaller value.
    """

    seeds: int
    pairs: int
    splits: int
    width: str
    width_won: int
    interval_score: str
    interval_score_won: int
    crps: str
    crps_won: int
    times: float  # as long as aligned training SQR takes, by the processor: mean over the splits
    least_times: float
    most_times: float
    steps: float  # the same, counted in gradient steps
    seconds: float  # what SQR takes, mean over the splits
    aligned_seconds: float
    epochs_low: int  # epochs until SQR stopped
    epochs_high: int
    kept_low: int  # the epochs that it kept
    kept_high: int


class Misses(NamedTuple):
    """How far a model's raw coverage is off its level, in points, at the least and at the most."""

    model: str
    lowest: str
    highest: str
    crossed: str  # share of rows in which some raw quantiles stand in the wrong order


def lines(records: Iterable[RaceRecord], level: float, form: str) -> list[Line]:
    """Return a row for each data set and model."""
    rows = [row for row in records if row.level == level and row.form == form]
    found = []
    for dataset in dict.fromkeys(row.dataset for row in rows):
        for model in MODELS:
            mine = [row for row in rows if (row.dataset, row.model) == (dataset, model)]
            means: dict[str, Any] = {
                name: float(np.mean([getattr(row, name) for row in mine]))
                for name in ("interval_score", "crps", "epochs", "steps")
            }
            shares: dict[str, Any] = {
                name: 100 * float(np.mean([getattr(row, name) for row in mine]))
                for name in ("picp", "pinaw", "calibration_error", "crossed", "rmse")
            }
            seconds = float(np.mean([row.train_cpu_seconds for row in mine]))
            found.append(
                Line(
                    dataset=dataset.upper(),
                    model=TITLES[model],
                    level=100 * level,
                    form=form,
                    seconds=seconds,
                    **means,
                    **shares,
                )
            )
    return found


def contest(records: Iterable[RaceRecord], datasets: Sequence[str] = COMPARED) -> Contest:
    """Return how aligned training compares with SQR where both are calibrated."""
    rows = [row for row in records if row.dataset in datasets and row.form == "conformal"]
    width, score = _ratios(rows, "pinaw"), _ratios(rows, "interval_score")
    crps = _ratios(rows, "crps", per_level=False)
    seconds = 1 / _ratios(rows, "train_cpu_seconds", per_level=False)
    steps = 1 / _ratios(rows, "steps", per_level=False)
    epochs = [row.epochs for row in rows if row.model == "sqr"]
    kept = [row.best_epoch for row in rows if row.model == "sqr"]

    def told(ratios: Array, less: str, more: str) -> str:
        return compared(100 * (float(ratios.mean()) - 1), less, more, digits=1)

    def mean(model: str) -> float:
        return float(np.mean([row.train_cpu_seconds for row in rows if row.model == model]))

    return Contest(
        seeds=len({row.seed for row in rows}),
        pairs=width.size,
        splits=crps.size,
        width=told(width, "narrower", "wider"),
        width_won=int((width < 1).sum()),
        interval_score=told(score, "smaller", "larger"),
        interval_score_won=int((score < 1).sum()),
        crps=told(crps, "smaller", "larger"),
        crps_won=int((crps < 1).sum()),
        times=float(seconds.mean()),
        least_times=float(seconds.min()),
        most_times=float(seconds.max()),
        steps=float(steps.mean()),
        seconds=mean("sqr"),
        aligned_seconds=mean("aligned"),
        epochs_low=min(epochs),
        epochs_high=max(epochs),
        kept_low=min(kept),
        kept_high=max(kept),
    )


def misses(records: Iterable[RaceRecord], datasets: Sequence[str] = COMPARED) -> list[Misses]:
    """Return for each model how far its raw coverage, mean over the seeds, is off its level."""
    rows = [row for row in records if row.dataset in datasets and row.form == FORMS[0]]
    found = []
    for model, title in TITLES.items():
        mine = [row for row in rows if row.model == model]
        cases = dict.fromkeys((row.dataset, row.level) for row in mine)
        gaps = [
            100 * (float(np.mean([r.picp for r in mine if (r.dataset, r.level) == case])) - case[1])
            for case in cases
        ]
        crossed = 100 * float(np.mean([row.crossed for row in mine]))
        found.append(Misses(title, _beside(min(gaps)), _beside(max(gaps)), percent(crossed, 1)))
    return found


def _ratios(rows: Sequence[RaceRecord], name: str, *, per_level: bool = True) -> Array:
    """Return aligned over SQR for each pair."""
    places: dict[tuple[str, int, float], dict[str, float]] = {}
    first = rows[0].level
    for row in rows:
        if per_level or row.level == first:
            place = row.dataset, row.seed, row.level
            places.setdefault(place, {})[row.model] = float(getattr(row, name))
    return np.array([found["aligned"] / found["sqr"] for found in places.values()])


def _beside(points: float) -> str:
    return f"{abs(points):.1f} points {'below' if points < 0 else 'above'}"
