"""Checks of what the paper says about planes and the two ways to find one, its Section III.

Which claim each belongs to, see `study.claims`; by which rules of judgement it is decided,
`study.judging`.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from gt2lite._validation import Array
from gt2lite.calibration import SearchCalibrator
from gt2lite.datasets import DATASETS
from study.design import LEVELS, PAPER_TABLE
from study.judging import (
    UNTESTABLE,
    Finding,
    counted,
    in_every_row,
    matters,
    table_rows,
)
from study.records import Runs


def no_retraining(runs: Runs) -> Finding:
    """One training must give both levels: a plane of its envelope for each, and not the same.

    That the parameters stay as they are is so by construction, and nothing to test.
    """
    right = []
    for dataset in DATASETS:
        low, high = (runs.found("alpha", dataset, level, "exact") for level in LEVELS)
        right.append(~runs.out_of_reach(dataset, LEVELS[-1]) & (high < low))
    ok = np.concatenate(right)
    return counted(int(ok.sum()), ok.size, "One training has a plane for 90 % and one for 95 %")


def any_level(runs: Runs) -> Finding:
    """The exact calibrator, which looks at all planes, must find one of the envelope."""
    ok = np.concatenate([~runs.out_of_reach(*row) for row in table_rows()])
    what = "Tried at 90 % and 95 % only. A plane of the envelope covers the level"
    return counted(int(ok.sum()), ok.size, what)


def plane_sets_coverage(runs: Runs) -> Finding:
    """The plane for 95 % must lie below that for 90 %, and cover more.

    The planes are the exact ones: a search may stall at one plane for both levels, which says
    something of the search (`search-ends`) and nothing of the planes. Where they end and a
    margin begins, the larger margin is the lower place.
    """
    right = []
    for dataset in DATASETS:
        places, reached = [], []
        for level in LEVELS:
            alpha, margin, share = (
                runs.found(key, dataset, level, "exact") for key in ("alpha", "margin", "reached")
            )
            places.append(alpha - margin)  # of the two one is 0
            reached.append(share)
        right.append((places[1] < places[0]) & (reached[1] > reached[0]))
    ok = np.concatenate(right)
    return counted(int(ok.sum()), ok.size, "The plane for 95 % is lower and covers more")


def finer_table(runs: Runs) -> Finding:
    """Each finer table must come nearer to the level on the calibration set; gains are points."""
    steps = sorted((step for step, kind in runs.tables if kind == "linear"), reverse=True)
    if len(steps) < 2:
        return UNTESTABLE, {}, "The records hold tables of one step only."
    gains = {}
    for coarse, fine in pairwise(steps):
        misses = [_misses(runs, (step, "linear")) for step in (coarse, fine)]
        gains[f"{coarse:g} to {fine:g}"] = misses[0] - misses[1]
    verdict, numbers, text = in_every_row(gains)
    for step in steps:
        tables = runs.tables[step, "linear"].values()
        numbers[f"{step:g} evaluations"] = float(np.mean([t.n_evaluations for t in tables]))
    return verdict, numbers, text


def interpolation_matters(runs: Runs) -> Finding:
    """Another interpolation of the paper's table must change its mean miss, for better or worse.

    The miss is taken on the calibration set, in points, as a mean over the rows for each seed.
    """
    step, usual = PAPER_TABLE
    kinds = [kind for s, kind in runs.tables if s == step and kind != usual]
    if not kinds:
        return UNTESTABLE, {}, "The records hold tables of one interpolation only."
    linear = _misses(runs, (step, usual))
    changes = {kind: _misses(runs, (step, kind)) - linear for kind in kinds}
    verdict, numbers, text = matters(changes, float(linear.mean()))
    return verdict, numbers | {"linear miss": float(linear.mean())}, text


def _misses(runs: Runs, table: tuple[float, str]) -> Array:
    """Return how far from its level a table ends (seeds,), in points, mean over the rows."""
    rows = table_rows()
    found = runs.tables[table]
    return 100 * np.array(
        [np.mean([abs(found[*row, seed].reached - row[1]) for row in rows]) for seed in runs.seeds]
    )


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
