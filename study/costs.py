"""What a level costs, and what one gets for the price: the stored benchmark `cost`.

`benchmarks/cost.py` goes every way of having many levels, on the same splits; see there what
is counted. `study.results.bench("cost")` reads what it found, and the functions here
take that whole and return what is told of it. How fast the library is, see
`study.speed`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from gt2lite._validation import Array
from study.design import TEST_OVER_TRAIN
from study.pages import NO_BREAK, compared, percent
from study.statistics import SIGNIFICANCE, corrected_t

Stored = Mapping[str, Any]
"""A stored benchmark: its settings, its results and where they come from."""

WAYS = {
    "retrain": "train for each",
    "all levels": "level as an input",
    "aligned": "calibrate, aligned",
    "search": "calibrate, search",
    "table": "calibrate, lookup table",
    "exact": "calibrate, exact",
    "conformal": "calibrate, conformal",
}
"""The ways of having many levels, and what they are called."""

UNITS = ("seconds", "evaluations")
CALIBRATED = ("search", "table", "exact", "conformal")  # all cut the system trained for 99 %
JUDGED = ("conformal", "aligned", "retrain", "all levels")

# ---------------------------------------------------------------------------- the price


class Price(NamedTuple):
    """What a way costs in trainings, by data set: for one level, and for all that were asked."""

    way: str
    one: dict[str, float]
    every: dict[str, float]


class Bargain(NamedTuple):
    """The prices in a few numbers: means over the data sets, in trainings by the clock."""

    n_levels: int
    sets: str  # their names
    training: str  # what the unit took on each of them
    after: float  # per cent of a training that all levels cost at most, once it is done
    one: float  # training for a level
    every: float  # training for each of the levels
    at_once: float  # learning all levels at once
    aligned: float  # aligned training, calibrated
    even: str  # from how many levels on calibrating is the cheaper way
    two: str  # how its time compares with training twice, for the two levels of the paper


def level_curves(
    stored: Stored, dataset: str, ways: Sequence[str], unit: str = "seconds"
) -> dict[str, Array]:
    """Return what 1, 2, ..., L levels cost in trainings (L,), for each way by its name."""
    costs = stored["results"][dataset]["cost"]
    return {WAYS[way]: np.array(costs[way][unit]) for way in ways}


def prices(stored: Stored, unit: str) -> list[Price]:
    """Return a row for each way, with its costs in trainings by "seconds" or "evaluations"."""
    found = stored["results"]
    return [
        Price(
            name,
            {data: found[data]["cost"][way][unit][0] for data in _sets(stored)},
            {data: found[data]["cost"][way][unit][-1] for data in _sets(stored)},
        )
        for way, name in WAYS.items()
    ]


def bargain(stored: Stored) -> Bargain:
    """Return what calibrating saves, and from how many levels on it does."""
    sets = _sets(stored)
    costs = {name: stored["results"][name]["cost"] for name in sets}

    def mean(way: str, levels: int) -> float:
        return float(np.mean([costs[name][way]["seconds"][levels - 1] for name in sets]))

    n_levels = len(stored["settings"]["levels"])
    after = max(costs[name][way]["seconds"][-1] - 1 for name in sets for way in CALIBRATED)
    of_two = [
        _in_seconds(costs[n], "conformal", 2) / _in_seconds(costs[n], "retrain", 2) for n in sets
    ]
    units = [
        f"{stored['results'][name]['training_seconds']:.1f}{NO_BREAK}s on {name.upper()}"
        for name in sets
    ]
    return Bargain(
        n_levels=n_levels,
        sets=" and ".join(name.upper() for name in sets),
        training=" and ".join(units),
        after=100 * after,
        one=mean("retrain", 1),
        every=mean("retrain", n_levels),
        at_once=mean("all levels", 1),
        aligned=mean("aligned", 1),
        even=_break_even(costs, n_levels),
        two=compared(100 * (float(np.mean(of_two)) - 1), "less", "more"),
    )


def _in_seconds(costs: Stored, way: str, levels: int) -> float:
    return float(costs[way]["seconds"][levels - 1])


def _break_even(costs: Mapping[str, Stored], n_levels: int) -> str:
    """Return from how many levels on calibrating is cheaper on all sets, by clock and count."""
    dearer = [
        np.greater_equal(by_way["conformal"][unit], by_way["retrain"][unit])
        for by_way in costs.values()
        for unit in UNITS
    ]  # (sets x units, L)
    even = int(np.flatnonzero(np.any(dearer, axis=0)).max(initial=-1)) + 2
    if even > n_levels:
        return f"more than {n_levels} levels"
    return "one level" if even == 1 else f"{even} levels"


# ------------------------------------------------------------------- what one gets for it


class Worth(NamedTuple):
    """The intervals of a way on the test part, mean over the seeds; shares in per cent."""

    way: str
    level: float
    picp: float
    pinaw: float
    at_coverage: float  # width when the test part is covered at the level
    score: float


class Against(NamedTuple):
    """One way against another: mean over seeds, sets and levels.

    `*_clear` counts the pairs of set and level whose difference is beyond chance, of `pairs`.
    """

    other: str
    width: str
    width_clear: int
    score: str
    score_clear: int
    pairs: int


class Lacks(NamedTuple):
    """What a way without calibration lacks, in words; shares are of the test rows."""

    lowest: str  # where its mean coverage lies beside the level, at the least
    highest: str
    crossed: str  # rows whose interval at the lower level sticks out of the one at the higher
    crossed_retrain: str  # the same with a system for each level
    crossed_conformal: str  # and with a calibrated one


def worth(stored: Stored, dataset: str) -> list[Worth]:
    """Return a row for each level and way that was judged."""
    return [
        Worth(
            WAYS[way],
            100 * level,
            100 * _mean(stored, dataset, way, "picp")[i],
            100 * _mean(stored, dataset, way, "pinaw")[i],
            100 * _mean(stored, dataset, way, "width_at_coverage")[i],
            _mean(stored, dataset, way, "interval_score")[i],
        )
        for i, level in enumerate(stored["settings"]["judged"])
        for way in JUDGED
    ]


def against(stored: Stored, way: str = "all levels") -> list[Against]:
    """Return how the intervals of a way compare with those of the others that were judged."""
    rows = []
    for other in JUDGED:
        if other != way:
            width = _excess(stored, way, other, "width_at_coverage")
            score = _excess(stored, way, other, "interval_score")
            rows.append(
                Against(
                    WAYS[other],
                    compared(float(width.mean()), "narrower", "wider", digits=1),
                    _clear(width),
                    compared(float(score.mean()), "smaller", "larger", digits=1),
                    _clear(score),
                    width.shape[1],
                )
            )
    return rows


def lacks(stored: Stored, way: str = "all levels") -> Lacks:
    """Return how far the coverage of a way is off its level, and how often its levels cross."""
    misses = [
        100 * (_mean(stored, dataset, way, "picp")[i] - level)
        for dataset in _sets(stored)
        for i, level in enumerate(stored["settings"]["judged"])
    ]
    crossed = {
        each: float(np.mean([_quality(stored, name, each, "crossed") for name in _sets(stored)]))
        for each in (way, "retrain", "conformal")
    }
    return Lacks(
        _beside(min(misses)),
        _beside(max(misses)),
        _share(crossed[way]),
        _share(crossed["retrain"]),
        _share(crossed["conformal"]),
    )


def _excess(stored: Stored, way: str, other: str, metric: str) -> Array:
    """Return by how many per cent a way exceeds another, (seeds, sets x levels)."""
    ours, theirs = (
        np.concatenate([_quality(stored, name, each, metric) for name in _sets(stored)], axis=1)
        for each in (way, other)
    )
    return np.asarray(100 * (ours / theirs - 1))


def _clear(excess: Array) -> int:
    return sum(corrected_t(column, TEST_OVER_TRAIN).p < SIGNIFICANCE for column in excess.T)


def _mean(stored: Stored, dataset: str, way: str, metric: str) -> list[float]:
    values: list[float] = _quality(stored, dataset, way, metric).mean(axis=0).tolist()
    return values  # by level


def _quality(stored: Stored, dataset: str, way: str, metric: str) -> Array:
    return np.array(stored["results"][dataset]["quality"][way][metric])  # (seeds, levels)


def _sets(stored: Stored) -> list[str]:
    return list(stored["settings"]["datasets"])


def _beside(points: float) -> str:
    return f"{abs(points):.1f} points {'below' if points < 0 else 'above'}"


def _share(share: float) -> str:
    if share == 0:
        return "none"
    return percent(100 * share, 1) if share >= 0.0005 else f"less than {percent(0.1, 1)}"
