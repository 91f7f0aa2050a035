"""Checks of claims that no training decides: by argument, by counting, by what was measured.

Which claim each belongs to, see `study.claims`; for the rules, `study.judging`.
"""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from gt2lite.calibration import TableCalibrator
from gt2lite.datasets import DATASETS
from study import costs, speed
from study.judging import (
    FAILS,
    HOLDS,
    UNTESTABLE,
    Finding,
    argued,
    counted,
    in_every_row,
    label,
    reaches,
    table_rows,
)
from study.paper import settings
from study.records import Cell, Runs
from study.results import bench
from study.sqr_findings import contest
from study.stored import rows_of

EXPENSIVE = 2.0
"""Learning all levels is expensive where it costs at least so many trainings."""

LINEAR = 1.1
"""An exponent up to this is growth in proportion, as well as a clock can tell."""

HIGH_INPUTS, HIGH_SHARE = 100, 0.1
"""A table is high-dimensional with so many inputs, or with so many for each row."""

SEARCH_ARGUMENTS = ("start", "step", "shrink", "tolerance")
"""What Algorithm 4 asks its user for, by the names of `gt2lite.calibration.SearchCalibrator`."""


def needs_retraining(runs: Runs) -> Finding:
    """Split conformal prediction, known since 2002, answers every level after one training."""
    cells: list[Cell] = [(name, "calibrated", level, "conformal") for name, level in table_rows()]
    _, numbers, text = reaches(runs, cells)
    reason = (
        "split conformal prediction moves the ends of any trained system by a margin and has a "
        "guarantee at every level; in our runs conformal calibration gave both levels from one "
        f"training each. {text}"
    )
    return FAILS, numbers, f"By argument: {reason}"


def distribution_costly(runs: Runs) -> Finding:
    """Simultaneous quantile regression must cost at least two trainings that learn some levels.

    It is the nearest of the methods that the paper names: the authors' own, from its companion.
    A way of ours to learn all levels at once is told beside it.
    """
    try:
        rows = rows_of("sqr.csv")
    except FileNotFoundError:
        return UNTESTABLE, {}, "No run of simultaneous quantile regression is stored."
    cost = {name: contest(rows, [name]).times for name in dict.fromkeys(r.dataset for r in rows)}
    n_right = sum(times >= EXPENSIVE for times in cost.values())
    what = f"Simultaneous quantile regression costs {EXPENSIVE:g} aligned trainings or more"
    verdict, numbers, text = counted(n_right, len(cost), what, **cost)
    each = ", ".join(f"{name.upper()} {times:.1f}" for name, times in cost.items())
    other = costs.bargain(bench("cost")).at_once
    text += (
        f" By data set: {each}. To learn all levels at random in one training costs {other:.2f}."
    )
    return verdict, numbers, text


def scalable(runs: Runs) -> Finding:
    """Planes must take time in proportion to the problem, at most: to its rows and inputs.

    Calibrating looks at planes and does nothing else. What a step of training takes, and what
    rules and planes cost, which the user chooses, is told beside it.
    """
    lines = speed.growth(bench("growth"))
    steep = {f"{line.what}, {line.varied}": line.time for line in lines}
    problem = ["interval, rows", "interval, inputs"]
    over = [name for name in problem if steep[name] > LINEAR]
    what = f"The time of a plane grows with a power of at most {LINEAR:g} of rows or inputs"
    verdict, numbers, text = counted(len(problem) - len(over), len(problem), what, **steep)
    others = ", ".join(
        f"{name} {power:.2f}" for name, power in steep.items() if name not in problem
    )
    return verdict, numbers, f"{text} Powers of other times: {others}."


def high_dimensional(runs: Runs) -> Finding:
    """A hundred inputs or more, or one for every ten rows."""
    told = settings()
    inputs = {name: told[f"{name}_inputs"] for name in DATASETS}
    high = [
        name
        for name, n in inputs.items()
        if n >= HIGH_INPUTS or n >= HIGH_SHARE * told[f"{name}_rows"]
    ]
    what = (
        f"The data sets have {min(inputs.values()):.0f} to {max(inputs.values()):.0f} inputs; "
        f"{HIGH_INPUTS} or more, or one for every {1 / HIGH_SHARE:.0f} rows,"
    )
    return counted(len(high), len(inputs), what, **inputs)


def union_of_planes(runs: Runs) -> Finding:
    """Nested planes have the lowest of them as their union."""
    return argued(
        FAILS,
        "planes are nested, so that their union as printed is the lowest plane, and the heights "
        "are lost; each plane must carry its alpha. At alpha = 0 Eq. (5) has no value.",
    )


def no_closed_form(runs: Runs) -> Finding:
    """An integral over an unknown law."""
    return argued(
        HOLDS,
        "the coverage of a plane is an integral over the law of the target, which nobody knows. "
        "On a calibration set it is a rank, whose inverse is exact.",
    )


def both_directions(runs: Runs) -> Finding:
    """Coverage falls with alpha, so that one direction always leads away."""
    return argued(
        FAILS,
        "coverage never rises with alpha, so that of two neighbours one covers no less and the "
        "other no more than the plane between them: both cannot be nearer to the level, and this "
        "branch of Algorithm 4 is never taken.",
    )


def search_beats_table(runs: Runs) -> Finding:
    """The search must leave less to choose; how near it comes to the level stands beside it."""
    of_table, of_search = len(fields(TableCalibrator)), len(SEARCH_ARGUMENTS)
    gains = {}
    evaluations: dict[str, list[float]] = {"search": [], "table": []}
    for dataset, level in table_rows():
        miss = {}
        for method, counts in evaluations.items():
            miss[method] = 100 * abs(runs.found("reached", dataset, level, method) - level)
            counts.extend(runs.found("n_evaluations", dataset, level, method))
        gains[label(dataset, level)] = miss["table"] - miss["search"]
    _, numbers, text = in_every_row(gains)
    mean = {f"{method} evaluations": float(np.mean(n)) for method, n in evaluations.items()}
    words = " and ".join(f"{name} {value:.1f}" for name, value in mean.items())
    choices: dict[str, float] = {"table choices": of_table, "search choices": of_search}
    told = (
        f"The table leaves {of_table} things to choose, the search {of_search}. It comes nearer "
        f"to the level on the calibration set: {text[0].lower()}{text[1:]} On average: {words}."
    )
    return HOLDS if of_search < of_table else FAILS, choices | numbers | mean, told
