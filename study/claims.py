"""Every checkable claim of the paper, as a named check of our records.

`data/paper/claims.csv` holds the claims in our words, `CHECKS` one check for each. For the rules
of judgement, and for what *within chance* means, see `study.judging`; what is peculiar to
one check stands in its docstring. What the records cannot tell is *not testable*, with the
reason. The checks of planes and of the ways to find one are in `study.plane_claims`, those
that no training decides in `study.other_claims`. The cells of the tables are judged in
`study.cells`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from gt2lite._validation import Array
from gt2lite.datasets import DATASETS
from gt2lite.system import param_shapes
from gt2lite.training import Recipe
from study.cells import bold_rows, paired_gap, winners
from study.design import LEVELS
from study.judging import (
    UNTESTABLE,
    Finding,
    comparable,
    counted,
    every_row,
    in_every_row,
    label,
    reaches,
    table_rows,
)
from study.other_claims import (
    both_directions,
    distribution_costly,
    high_dimensional,
    needs_retraining,
    no_closed_form,
    scalable,
    search_beats_table,
    union_of_planes,
)
from study.paper import claims, settings, slips, text_values
from study.plane_claims import (
    any_level,
    finer_table,
    interpolation_matters,
    no_retraining,
    plane_sets_coverage,
    search_ends,
)
from study.records import Cell, OutOfReachError, Record, Runs
from study.statistics import SIGNIFICANCE, holm

SAVING = 10
"""Calibrating must be this many times as quick as training to be called cheap."""


class ClaimVerdict(NamedTuple):
    """What our records say of a claim.

    The verdict is "holds", "does not hold", "within chance" or "not testable".
    """

    id: str
    verdict: str
    numbers: dict[str, float]
    explanation: str


def check_claims(records: Iterable[Record]) -> list[ClaimVerdict]:
    """Return a verdict on each claim, in the order of `study.paper.claims`.

    Needed are, of every data set and seed, the baseline, the two trained models, and the
    calibrated ones by every method; further tables are used where they are.
    """
    methods = ("search", "table", "exact", "conformal")
    calibrated = [cell for method in methods for cell in _calibrated(method=method)]
    runs = Runs(records, calibrated + _trained() + _baselines())
    out = []
    for claim in claims():
        try:
            finding = CHECKS[claim.id](runs)
        except OutOfReachError as error:
            finding = UNTESTABLE, {}, f"A calibration could not reach its level: {error}."
        out.append(ClaimVerdict(claim.id, *finding))
    return out


# --------------------------------------------------------------------- rows and cells


def _calibrated(
    datasets: Sequence[str] = DATASETS, levels: Sequence[float] = LEVELS, method: str = "search"
) -> list[Cell]:
    return [
        (dataset, "calibrated", level, method) for dataset, level in table_rows(datasets, levels)
    ]


def _trained() -> list[Cell]:
    return [(dataset, "trained", level, "trained") for dataset, level in table_rows()]


def _baselines() -> list[Cell]:
    level = settings()["baseline_level"]
    return [(dataset, "baseline", level, "trained") for dataset in DATASETS]


def _excess(
    runs: Runs, metric: str, rows: Sequence[tuple[str, float]] | None = None
) -> dict[str, Array]:
    """Return by row how much larger (runs,) a metric is after calibration, in per cent."""
    out = {}
    for dataset, level in rows or table_rows():
        trained = runs.values(metric, dataset, "trained", level)
        calibrated = runs.values(metric, dataset, "calibrated", level)
        out[label(dataset, level)] = 100 * (calibrated - trained) / trained.mean()
    return out


def _nearer(runs: Runs, *datasets: str) -> Finding:
    """Judge whether calibrated PICP is nearer to the level; gains are points of coverage."""
    rows = table_rows(datasets or DATASETS)
    return in_every_row({label(*row): -paired_gap(runs, "picp", *row) for row in rows})


# -------------------------------------------------------------------------- the checks


def _superior_uq(runs: Runs) -> Finding:
    """By the interval score, which weighs width and coverage together; gains are per cent."""
    return in_every_row({row: -gap for row, gap in _excess(runs, "interval_score").items()})


def _cheaper(runs: Runs) -> Finding:
    """Calibrating must take less than a tenth of the seconds of a training."""
    gains, times = {}, {}
    for dataset, level in table_rows():
        train = runs.values("train_seconds", dataset, "trained", level)
        calibrate = runs.found("calibrate_seconds", dataset, level)
        gains[label(dataset, level)] = train / SAVING - calibrate
        times[f"{label(dataset, level)} times"] = float(train.mean() / calibrate.mean())
    both = {}
    for dataset, *_ in _baselines():
        ours = runs.values("train_seconds", dataset, "baseline", settings()["baseline_level"])
        theirs = np.zeros(ours.size)
        for level in LEVELS:
            ours = ours + runs.found("calibrate_seconds", dataset, level)
            theirs = theirs + runs.values("train_seconds", dataset, "trained", level)
        both[f"{dataset} both levels times"] = float(theirs.mean() / ours.mean())
    verdict, numbers, text = in_every_row(gains)
    text += (
        f" One more level is had at least {min(times.values()):.3g} times as quickly; for both "
        f"levels, with the training of the baseline, it is {min(both.values()):.2g} times or more."
    )
    return verdict, numbers | times | both, text


def _parameter_count(runs: Runs) -> Finding:
    """The systems of our recipe must have as many."""
    counts: dict[str, float] = {}
    n_right, recipe = 0, Recipe()
    for dataset in DATASETS:
        P, M = recipe.n_rules, int(settings()[f"{dataset}_inputs"])
        counts[dataset] = sum(map(math.prod, param_shapes(P, M, recipe.smf).values()))
        n_right += counts[dataset] == (2 * P + 2) * M + P * (M + 1)
    return counted(n_right, len(counts), "The system has that many parameters", **counts)


def _text_matches_tables(runs: Runs) -> Finding:
    """The paper by itself; where text and table differ, would the text's value still win?"""
    numbers: dict[str, float] = {}
    notes = []
    for slip in slips():
        row, target = label(slip.dataset, slip.level), 100 * slip.level
        numbers |= {f"{row} text": slip.text, f"{row} table": slip.table}
        wins = abs(slip.text - target) < abs(slip.rival - target)
        notes.append(f"{row} ({slip.model}; by the text it {'wins' if wins else 'loses'})")
    n = len(text_values())
    verdict, counts, text = counted(n - len(notes), n, "Both agree")
    return verdict, counts | numbers, text + (f" Not in {', '.join(notes)}." if notes else "")


def _bold_is_best(runs: Runs) -> Finding:
    """The paper by itself, with a Welch test of what it prints, Holm over the rows."""
    rows = bold_rows()
    clear = sum(p < SIGNIFICANCE for p in holm([row.p for row in rows]))
    verdict, numbers, text = counted(
        sum(row.follows_rule for row in rows), len(rows), "The better value is bold", clear=clear
    )
    return verdict, numbers, f"{text} By the printed spreads {clear} are beyond chance."


def _bold_again(runs: Runs) -> Finding:
    """Gains are the paper's units of the row."""
    rows = {}
    for row in winners(runs.records):
        gain = -row.difference if row.bold == "calibrated" else row.difference
        rows[f"{label(row.dataset, row.level)} {row.metric}"] = gain, row.p
    return every_row(rows)


CHECKS: dict[str, Callable[[Runs], Finding]] = {
    "no-retraining": no_retraining,
    "needs-retraining": needs_retraining,
    "any-level": any_level,
    "reaches-levels": lambda runs: reaches(runs, _calibrated()),
    "superior-uq": _superior_uq,
    "cheaper": _cheaper,
    "distribution-costly": distribution_costly,
    "scalable": scalable,
    "high-dimensional": high_dimensional,
    "union-of-planes": union_of_planes,
    "plane-sets-coverage": plane_sets_coverage,
    "no-closed-form": no_closed_form,
    "search-beats-table": search_beats_table,
    "fig1-table": lambda runs: reaches(runs, _calibrated(("pm", "pp"), (0.90,), "table")),
    "parameter-count": _parameter_count,
    "training-captures-level": lambda runs: reaches(runs, _trained() + _baselines()),
    "envelope-99": lambda runs: reaches(runs, _baselines()),
    "finer-table": finer_table,
    "interpolation-matters": interpolation_matters,
    "both-directions": both_directions,
    "search-ends": search_ends,
    "reaches-ww": lambda runs: reaches(runs, _calibrated(("ww",))),
    "better-pm": lambda runs: _nearer(runs, "pm"),
    "better-aids": lambda runs: _nearer(runs, "aids"),
    "better-pp": lambda runs: _nearer(runs, "pp"),
    "better-everywhere": _nearer,
    "wider": lambda runs: in_every_row(_excess(runs, "pinaw")),
    "wider-fig3": lambda runs: in_every_row(_excess(runs, "pinaw", [("pp", 0.95)])),
    "text-matches-tables": _text_matches_tables,
    "bold-is-best": _bold_is_best,
    "bold-again": _bold_again,
    "comparable-rmse": lambda runs: comparable(_excess(runs, "rmse")),
    "comparable-score": lambda runs: comparable(_excess(runs, "interval_score")),
}
"""The check of each claim, by its id."""
