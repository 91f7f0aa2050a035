"""Checks of what the paper says about planes and the two ways to find one, its Section III.

Which claim each belongs to, see `gt2lite.study.claims`; by which rules of judgement it is decided,
`gt2lite.study.judging`.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from gt2lite._checks import Array
from gt2lite.calibration import SearchCalibrator
from gt2lite.datasets import DATASETS
from gt2lite.study.design import LEVELS
from gt2lite.study.judging import (
    UNTESTABLE,
    Finding,
    counted,
    in_every_row,
    label,
    matters,
    table_rows,
)
from gt2lite.study.records import Runs


def any_level(runs: Runs) -> Finding:
    """The exact calibrator, which looks at all planes, must find one."""
    ok = np.concatenate([~runs.out_of_reach(*row) for row in table_rows()])
    what = "Tried at 90 % and 95 % only. A plane covers the level"
    return counted(int(ok.sum()), ok.size, what)


def plane_sets_coverage(runs: Runs) -> Finding:
    """The plane for 95 % must lie below that for 90 %, and cover more.

    The planes are the exact ones: a search may stall at one plane for both levels, which says
    something of the search (`search-ends`) and nothing of the planes.
    """
    right = []
    for dataset in DATASETS:
        low, high = (
            [runs.found(key, dataset, level, "exact") for key in ("alpha", "reached")]
            for level in LEVELS
        )
        right.append((high[0] < low[0]) & (high[1] > low[1]))
    ok = np.concatenate(right)
    return counted(int(ok.sum()), ok.size, "The plane for 95 % is lower and covers more")


def search_beats_table(runs: Runs) -> Finding:
    """The search must come nearer to the level on the calibration set; gains are points."""
    gains = {}
    evaluations: dict[str, list[float]] = {"search": [], "table": []}
    for dataset, level in table_rows():
        miss = {}
        for method, counts in evaluations.items():
            miss[method] = 100 * abs(runs.found("reached", dataset, level, method) - level)
            counts.extend(runs.found("n_evaluations", dataset, level, method))
        gains[label(dataset, level)] = miss["table"] - miss["search"]
    verdict, numbers, text = in_every_row(gains)
    mean = {f"{method} evaluations": float(np.mean(n)) for method, n in evaluations.items()}
    words = " and ".join(f"{name} {value:.1f}" for name, value in mean.items())
    return verdict, numbers | mean, f"{text} On average: {words}."


def finer_table(runs: Runs) -> Finding:
    """Each finer table must come nearer to the level on the calibration set; gains are points."""
    steps = sorted((step for step, kind in runs.tables if kind == "linear"), reverse=True)
    if len(steps) < 2:
        return UNTESTABLE, {}, "The records hold tables of one step only."
    gains = {}
    for coarse, fine in pairwise(steps):
        misses = _misses(runs, (coarse, "linear"), (fine, "linear"))
        gains[f"{coarse:g} to {fine:g}"] = misses[0] - misses[1]
    verdict, numbers, text = in_every_row(gains)
    for step in steps:
        tables = runs.tables[step, "linear"].values()
        numbers[f"{step:g} evaluations"] = float(np.mean([t.n_evaluations for t in tables]))
    return verdict, numbers, text


def interpolation_matters(runs: Runs) -> Finding:
    """Another interpolation must change the mean miss on the calibration set, for better or worse.

    The changes are signed and taken run by run, in points, and judged by the rule for what
    makes a difference: it does not hold where the two ways are shown to be equally good, the
    means comparable to within 5 % of the miss of the linear table.
    """
    changes, scale = {}, {}
    for step, kind in runs.tables:
        if kind != "linear" and (step, "linear") in runs.tables:
            linear, other = _misses(runs, (step, "linear"), (step, kind))
            changes[f"{kind} {step:g}"] = linear - other
            scale[f"{kind} {step:g}"] = float(linear.mean())
    if not changes:
        return UNTESTABLE, {}, "The records hold tables of one interpolation only."
    return matters(changes, scale)


def _misses(runs: Runs, one: tuple[float, str], other: tuple[float, str]) -> tuple[Array, Array]:
    """Return how far from its level (runs,) each of two tables ends, in points.

    Runs in which the level is out of reach say nothing about tables and are left out.
    """
    first, second = runs.tables[one], runs.tables[other]
    shared = [
        key
        for key in first
        if key in second and not np.isnan([first[key].alpha, second[key].alpha]).any()
    ]
    near, far = (
        100 * np.array([abs(table[key].reached - key[1]) for key in shared])
        for table in (first, second)
    )
    return near, far


def search_ends(runs: Runs) -> Finding:
    """Within our tolerance; if not: all shares k/n lie outside it, or the widest plane does."""
    tolerance = SearchCalibrator().tolerance
    within, possible, beyond = [], [], []
    for dataset, level in table_rows():
        reached = runs.values("reached", dataset, "calibrated", level)
        n_cal = runs.values("n_cal", dataset, "calibrated", level)
        within.append(abs(reached - level) < tolerance)
        possible.append(abs(np.rint(n_cal * level) / n_cal - level) < tolerance)
        beyond.append(runs.out_of_reach(dataset, level))
    ok, can, far = (np.concatenate(flags) for flags in (within, possible, beyond))
    counts = {
        "impossible": int((~ok & ~can).sum()),
        "out of reach": int((~ok & can & far).sum()),
        "stalled": int((~ok & can & ~far).sum()),
    }
    what = "The search ended within its tolerance"
    verdict, numbers, text = counted(int(ok.sum()), ok.size, what)
    text += (
        " In {impossible} no share of the calibration set lies there, in {out of reach} no plane "
        "covers that much, in {stalled} it stalled."
    ).format(**counts)
    return verdict, numbers | counts, text
