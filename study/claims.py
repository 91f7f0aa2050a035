r"""The rules of judgement, and a check of every claim of the paper.

`data/paper/claims.csv` holds the claims in our words, `CHECKS` one check for each. The rules were
fixed before the run of 50 seeds, at 5%:

**In every row.** Most claims say that one model beats another in each row (a data set at a
level). Each row has a t-test over the seeds. The seeds split one data set anew, so that their
differences are not independent: the test carries the variance of Nadeau and Bengio,
:math:`s^2 (1/J + 15/70)` for J seeds, with J - 1 degrees of freedom. The claim *holds* if every
row goes its way beyond chance (a claim about all rows needs no correction: each of them has to
pass); it *does not hold* if some row goes against it beyond chance, with Holm's correction over
the rows; otherwise the data cannot tell: *within chance*. The usual t-interval, which concerns
re-splits of this very data set, is reported beside it.

**Reaching a level.** The claim *holds* if every row is shown to reach its level: two one-sided
t-tests over the seeds show that mean coverage is within 1 point of it. These concern the data
set at hand. It *does not hold* if a mean is shown to be farther off, with Holm's correction over
the rows, or if a single run is off beyond chance, with Holm's correction over all runs: the
coverage of a run is Beta-binomial after calibration and binomial after training
(`study.statistics.coverage_p_value`).

**Comparable** is non-inferiority: worse by no more than 5% of the mean. The claim *holds* if in
every row the one-sided 95% upper bound of the mean excess lies within these 5%, and *does not
hold* if some lower bound lies beyond them, with Holm's correction over the rows. The variance is
that of re-splits.

**A choice that matters.** The claim *holds* if some alternative changes a mean by more than 5%
of it, beyond chance, with Holm's correction over the alternatives, and *does not hold* if each
of them is shown to change it by less, by two one-sided tests. The variance is that of re-splits.

**Counting.** A claim without noise in it holds in all cases or not at all.

**Argument.** A claim that needs no run has a reason in place of numbers.

What records cannot tell is *not testable*. Rules that were changed, and the verdicts before and
after, are on the page on deviations. Nothing here opens a file: `load_evidence` collects the
data, and `check_claims` decides.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gt2lite._validation import Array
from gt2lite.calibration import SearchCalibrator, TableCalibrator
from gt2lite.datasets import DATASETS
from gt2lite.memberships import ALPHA_0
from gt2lite.system import param_shapes
from gt2lite.training import Recipe
from study import paper, results
from study.cells import Runs, bold_rows, paired_gap, winners
from study.protocol import LEVELS, MODELS, PAPER_TABLE, TEST_OVER_TRAIN
from study.statistics import (
    SIGNIFICANCE,
    beyond_p,
    corrected_t,
    coverage_p_value,
    equal_p,
    holm,
    upper_bound,
)

HOLDS, FAILS, CHANCE, UNTESTABLE = "holds", "does not hold", "within chance", "not testable"

MARGIN = 0.05
"""A mean that is worse by no more than this share is comparable."""

LEVEL_MARGIN = 1.0
"""A level is reached if coverage is within this number of points."""

SAVING = 10
"""Calibrating must be this many times as quick as training to be called cheap."""

EXPENSIVE = 2.0
"""Learning all levels is expensive if it costs at least this many trainings."""

LINEAR = 1.1
"""An exponent up to this counts as growth in proportion, given the precision of a clock."""

HIGH_INPUTS, HIGH_SHARE = 100, 0.1
"""A data set is high-dimensional with this many inputs, or this many for each row."""

SEARCH_ARGUMENTS = ("start", "step", "shrink", "tolerance")
"""The arguments of Algorithm 4, by the names of `gt2lite.calibration.SearchCalibrator`."""

SHOWN = 6
"""Number of runs that are named when they miss their level; the others are counted."""


@dataclass(frozen=True)
class Finding:
    """The verdict on a claim, its explanation, and the numbers behind it."""

    verdict: str
    explanation: str
    numbers: dict[str, float] = field(default_factory=dict)
    rows: pd.DataFrame = field(default_factory=pd.DataFrame)  # by row of the tables, if tested so


@dataclass(frozen=True)
class Evidence:
    """Everything that decides claims."""

    records: pd.DataFrame  # of the protocol
    sqr: pd.DataFrame  # simultaneous quantile regression beside aligned training
    cost: dict[str, Any]  # benchmarks
    growth: dict[str, Any]
    published: pd.DataFrame
    text: pd.DataFrame
    settings: dict[str, float]

    @functools.cached_property
    def runs(self) -> Runs:
        """The records by cell, which must be complete."""
        methods = ("search", "table", "exact", "conformal")
        calibrated = [cell for method in methods for cell in _calibrated(method=method)]
        return Runs(self.records, calibrated + _trained() + _baselines())


def load_evidence(records: pd.DataFrame | None = None) -> Evidence:
    """Return the stored evidence.

    Args:
        records: of the protocol; None for the stored ones.
    """
    return Evidence(
        results.load("reference") if records is None else records,
        results.load("sqr"),
        results.bench("cost"),
        results.bench("growth"),
        paper.cells(),
        paper.text_values(),
        paper.settings(),
    )


def check_claims(evidence: Evidence, claims: pd.DataFrame) -> pd.DataFrame:
    """Return the claims with columns `verdict`, `explanation`, `numbers` and `rows`.

    Args:
        evidence: as `load_evidence` returns it.
        claims: as `study.paper.claims` returns them.
    """
    found = [CHECKS[name](evidence) for name in claims.id]
    columns = {f.name: [getattr(one, f.name) for one in found] for f in fields(Finding)}
    return claims.assign(**columns)


def group_verdicts(checked: pd.DataFrame) -> pd.Series:
    """Return a verdict for each group of claims that say the same.

    A group fails if one claim fails, and is undecided if one is undecided.
    """
    order = [FAILS, CHANCE, HOLDS, UNTESTABLE]
    place = checked.verdict.map(order.index).groupby(checked.group, sort=False).min()
    return place.map(lambda i: order[i]).rename("verdict")


# --------------------------------------------------------------------------- rules of judgement


def in_every_row(gains: Mapping[str, Array]) -> Finding:
    """Judge gains (runs,) by row, positive where the claim is right."""
    tests = [corrected_t(gain, TEST_OVER_TRAIN) for gain in gains.values()]
    found = every_row(list(gains), [t.mean for t in tests], [t.p for t in tests])
    rows = found.rows.assign(half=[t.half for t in tests])
    rows["half here"] = [corrected_t(gain, 0.0).half for gain in gains.values()]
    here = int((rows.value > rows["half here"]).sum())
    text = f"{found.explanation} On these tables alone, beyond chance in {here}."
    numbers = found.numbers | {"as claimed for this table": here}
    return Finding(found.verdict, text, numbers, rows)


def every_row(names: Sequence[str], gains: Sequence[float], p: Sequence[float]) -> Finding:
    """Judge the mean gain and p-value of each row.

    >>> every_row(["a", "b"], [0.1, -0.1], [0.01, 0.4]).explanation
    'As claimed in 1 of 2 rows, beyond chance in 1; within chance: b.'
    """
    rows = pd.DataFrame({"row": names, "value": gains, "p": p})
    clear = rows.row[(rows.value > 0) & (rows.p < SIGNIFICANCE)]
    against = rows.row[(rows.value < 0) & (holm(rows.p) < SIGNIFICANCE)]
    numbers: dict[str, float] = {
        "rows": len(rows),
        "as claimed": int((rows.value > 0).sum()),
        "as claimed beyond chance": len(clear),
        "against beyond chance": len(against),
    }
    text = f"As claimed in {numbers['as claimed']} of {len(rows)} rows, "
    text += f"beyond chance in {len(clear)}"
    verdict, end = _by_row(rows.row, clear, against, "against the claim beyond chance")
    return Finding(verdict, text + end, numbers, rows)


def reaches(runs: Runs, cells: Sequence[tuple[str, str, float, str]]) -> Finding:
    """Judge the test coverage of cells, in points from their levels: its mean, and every run."""
    lines, alone = [], []
    for cell in cells:
        dataset, model, level, _ = cell
        row, picp = _label(dataset, level), runs.values("picp", *cell)
        off = 100 * (picp - level)
        far = beyond_p(abs(off.mean()), off, LEVEL_MARGIN)
        near = equal_p(off, LEVEL_MARGIN)
        lines.append((row, 100 * float(picp.mean()), near, far, float(off.mean())))
        n_test, n_cal = (runs.values(name, *cell).astype(int) for name in ("n_test", "n_cal"))
        for seed, share, n, q in zip(runs.seeds, picp, n_test, n_cal, strict=True):
            law = [int(n)], [int(q)] if model == "calibrated" else None
            name = f"{row} seed {seed} ({100 * share:.2f}%)"
            alone.append((name, coverage_p_value(float(share), level, *law)))
    rows = pd.DataFrame(lines, columns=["row", "value", "p of near", "p of far", "off"])
    shown = rows.row[rows["p of near"] < SIGNIFICANCE]
    missed = rows[holm(rows["p of far"]) < SIGNIFICANCE]
    single = pd.DataFrame(alone, columns=["run", "p"])
    single = single[holm(single.p) < SIGNIFICANCE].sort_values("p", kind="stable")
    numbers: dict[str, float] = {"rows": len(rows), "shown": len(shown), "missed": len(missed)}
    numbers |= {"runs": len(alone), "runs beyond chance": len(single)}
    text = f"Mean coverage is shown to be within {LEVEL_MARGIN:g} point of the level in "
    text += f"{len(shown)} of {len(rows)} rows"
    if len(missed):
        each = (
            f"{row} by {off:+.2f} points" for row, off in zip(missed.row, missed.off, strict=True)
        )
        text += f"; farther off: {', '.join(each)}"
    if len(single):
        more = f" and {len(single) - SHOWN} more" if len(single) > SHOWN else ""
        text += f"; of {len(alone)} runs {len(single)} beyond chance: "
        text += ", ".join(single.run[:SHOWN]) + more
    if len(missed) or len(single):
        return Finding(FAILS, f"{text}.", numbers, rows)
    verdict, end = _by_row(rows.row, shown, (), "")
    return Finding(verdict, text + end, numbers, rows)


def comparable(excess: Mapping[str, Array]) -> Finding:
    """Judge by row how much worse (runs,) one model is than the other, in percent."""
    allowed = 100 * MARGIN
    rows = pd.DataFrame({"row": list(excess), "value": [gap.mean() for gap in excess.values()]})
    gaps = list(zip(rows.value, excess.values(), strict=True))
    rows["upper"] = [upper_bound(gap, TEST_OVER_TRAIN) for _, gap in gaps]
    rows["p"] = [beyond_p(allowed, gap, mean, TEST_OVER_TRAIN) for mean, gap in gaps]
    over = holm([beyond_p(mean, gap, allowed, TEST_OVER_TRAIN) for mean, gap in gaps])
    shown, beyond = rows.row[rows.upper <= allowed], rows.row[over < SIGNIFICANCE]
    worst = rows.loc[rows.value.idxmax()]
    text = (
        f"Shown to be within {allowed:g}% in {len(shown)} of {len(rows)} rows; the worst is "
        f"{worst.row} with {worst.value:+.1f}%, at most {worst.upper:+.1f}%"
    )
    verdict, end = _by_row(rows.row, shown, beyond, "worse beyond chance")
    return Finding(verdict, text + end, {}, rows)


def matters(differences: Mapping[str, Array], scale: float) -> Finding:
    """Judge by alternative whether signed differences (runs,) matter beside a mean.

    >>> few = {"a": np.array([0.9, 1.0, 1.1]), "b": np.array([-0.01, 0.0, 0.02])}
    >>> matters(few, 10.0).explanation
    'The mean changes by more than 5% with a (+10%).'
    >>> matters({"b": few["b"]}, 10.0).explanation
    'Every alternative is shown to change the mean by less than 5%.'
    """
    margin, gaps = MARGIN * scale, list(differences.values())
    rows = pd.DataFrame({"row": list(differences)})
    rows["value"] = [100 * float(gap.mean()) / scale for gap in gaps]
    rows["p"] = [beyond_p(abs(gap.mean()), gap, margin, TEST_OVER_TRAIN) for gap in gaps]
    rows["p of equal"] = [equal_p(gap, margin, TEST_OVER_TRAIN) for gap in gaps]
    clear = rows[holm(rows.p) < SIGNIFICANCE]
    numbers: dict[str, float] = {"alternatives": len(rows), "that matter": len(clear)}
    by = f"{100 * MARGIN:g}%"
    if len(clear):
        which = ", ".join(
            f"{row} ({v:+.0f}%)" for row, v in zip(clear.row, clear.value, strict=True)
        )
        text = f"The mean changes by more than {by} with {which}."
        return Finding(HOLDS, text, numbers, rows)
    if (rows["p of equal"] < SIGNIFICANCE).all():
        text = f"Every alternative is shown to change the mean by less than {by}."
        return Finding(FAILS, text, numbers, rows)
    text = f"No alternative is shown to change the mean by more than {by}."
    return Finding(CHANCE, text, numbers, rows)


def counted(n_right: int, n: int, what: str, **numbers: float) -> Finding:
    """Judge a claim by the number of cases in which it is right.

    >>> counted(3, 4, "It rains").verdict
    'does not hold'
    """
    found = {"cases": n, "as claimed": n_right} | numbers
    verdict = HOLDS if n_right == n else FAILS
    return Finding(verdict, f"{what} in {n_right} of {n} cases.", found)


def _by_row(
    rows: Iterable[str], clear: Iterable[str], against: Iterable[str], how: str
) -> tuple[str, str]:
    """Return the verdict if every row has to be clear and none may be against, and why."""
    against, unclear = list(against), sorted(set(rows) - set(clear), key=list(rows).index)
    if against:
        return FAILS, f"; {how}: {', '.join(against)}."
    if unclear:
        return CHANCE, f"; within chance: {', '.join(unclear)}."
    return HOLDS, "."


# ------------------------------------------------------------------------------ rows and cells


def table_rows(
    datasets: Sequence[str] = DATASETS, levels: Sequence[float] = LEVELS
) -> list[tuple[str, float]]:
    """Return the rows of the paper's tables, a data set at a level."""
    return [(dataset, level) for dataset in datasets for level in levels]


def _label(dataset: str, level: float) -> str:
    return f"{dataset} {100 * level:g}%"


def _calibrated(
    datasets: Sequence[str] = DATASETS, levels: Sequence[float] = LEVELS, method: str = "search"
) -> list[tuple[str, str, float, str]]:
    return [(name, "calibrated", level, method) for name, level in table_rows(datasets, levels)]


def _trained() -> list[tuple[str, str, float, str]]:
    return [(name, "trained", level, "trained") for name, level in table_rows()]


def _baselines() -> list[tuple[str, str, float, str]]:
    return [(name, "baseline", MODELS["baseline"], "trained") for name in DATASETS]


def _excess(
    runs: Runs, metric: str, rows: Sequence[tuple[str, float]] | None = None
) -> dict[str, Array]:
    """Return by row how much larger (runs,) a metric is after calibration, in percent."""
    out = {}
    for dataset, level in rows or table_rows():
        trained = runs.values(metric, dataset, "trained", level)
        calibrated = runs.values(metric, dataset, "calibrated", level)
        out[_label(dataset, level)] = 100 * (calibrated - trained) / trained.mean()
    return out


def _nearer(runs: Runs, *datasets: str) -> Finding:
    """Judge whether calibrated PICP is nearer to the level; gains are points of coverage."""
    rows = table_rows(datasets or DATASETS)
    return in_every_row({_label(*row): -paired_gap(runs, "picp", *row) for row in rows})


def _out_of_reach(runs: Runs, dataset: str, level: float) -> NDArray[np.bool_]:
    """Return for which seeds (seeds,) no plane of the envelope covers enough."""
    return runs.values("alpha", dataset, "calibrated", level, "exact") < ALPHA_0


# ----------------------------------------------------------------- checks: intervals and costs


def _superior_uq(evidence: Evidence) -> Finding:
    """By the interval score, which weighs width and coverage together; gains are percent."""
    excess = _excess(evidence.runs, "interval_score")
    return in_every_row({row: -gap for row, gap in excess.items()})


def _cheaper(evidence: Evidence) -> Finding:
    """Calibrating must take less than a tenth of the seconds of a training."""
    runs = evidence.runs
    gains, times, both = {}, [], []
    for dataset in DATASETS:
        ours = runs.values("train_seconds", dataset, "baseline", MODELS["baseline"])
        theirs = np.zeros(ours.size)
        for level in LEVELS:
            train = runs.values("train_seconds", dataset, "trained", level)
            calibrate = runs.values("calibrate_seconds", dataset, "calibrated", level)
            gains[_label(dataset, level)] = train / SAVING - calibrate
            times.append(float(train.mean() / calibrate.mean()))
            ours, theirs = ours + calibrate, theirs + train
        both.append(float(theirs.mean() / ours.mean()))
    found = in_every_row(gains)
    numbers = found.numbers | {"times, least": min(times), "both levels times, least": min(both)}
    text = (
        f"{found.explanation} One more level is had at least {min(times):.3g} times as quickly; "
        f"for both levels, with the training of the baseline, it is {min(both):.2g} times or more."
    )
    return Finding(found.verdict, text, numbers, found.rows.assign(times=times))


def _distribution_costly(evidence: Evidence) -> Finding:
    """Simultaneous quantile regression must cost at least two trainings that learn some levels.

    It is the nearest of the methods that the paper names: the authors' own, from its companion
    paper. The cost of our way to learn all levels at once is reported beside it.
    """
    rows = evidence.sqr[evidence.sqr.form == "conformal"]
    if rows.empty:
        return Finding(UNTESTABLE, "No run of simultaneous quantile regression is stored.")
    seconds = rows[rows.level == rows.level.iloc[0]].pivot_table(
        "train_cpu_seconds", ["dataset", "seed"], "model", sort=False
    )
    times = (1 / (seconds.aligned / seconds.sqr)).groupby("dataset", sort=False).mean()
    what = f"Simultaneous quantile regression costs {EXPENSIVE:g} aligned trainings or more"
    found = counted(int((times >= EXPENSIVE).sum()), len(times), what, **times.to_dict())
    each = ", ".join(f"{name.upper()} {value:.1f}" for name, value in times.items())
    sets = evidence.cost["settings"]["datasets"]
    costs = [evidence.cost["results"][s]["cost"]["all levels"]["seconds"][0] for s in sets]
    text = (
        f"{found.explanation} By data set: {each}. To learn all levels at random in one training "
        f"costs {np.mean(costs):.2f}."
    )
    return Finding(found.verdict, text, found.numbers)


def _scalable(evidence: Evidence) -> Finding:
    """The time of a plane must grow at most in proportion to the problem: its rows and inputs.

    Calibrating evaluates planes and does nothing else. The growth of a training step, and that
    with rules and planes, which the user chooses, is reported beside it.
    """
    lines = evidence.growth["results"]["lines"]
    steep = {f"{line['what']}, {line['varied']}": line["time"]["exponent"] for line in lines}
    problem = ["interval, rows", "interval, inputs"]
    n_right = sum(steep[name] <= LINEAR for name in problem)
    what = f"The time of a plane grows with a power of at most {LINEAR:g} of rows or inputs"
    found = counted(n_right, len(problem), what, **steep)
    others = ", ".join(f"{name} {x:.2f}" for name, x in steep.items() if name not in problem)
    text = f"{found.explanation} Powers of other times: {others}."
    return Finding(found.verdict, text, found.numbers)


def _high_dimensional(evidence: Evidence) -> Finding:
    """A hundred inputs or more, or one for every ten rows."""
    stated = evidence.settings
    inputs = {name: stated[f"{name}_inputs"] for name in DATASETS}
    high = [
        name
        for name, n in inputs.items()
        if n >= HIGH_INPUTS or n >= HIGH_SHARE * stated[f"{name}_rows"]
    ]
    what = (
        f"The data sets have {min(inputs.values()):.0f} to {max(inputs.values()):.0f} inputs; "
        f"{HIGH_INPUTS} or more, or one for every {1 / HIGH_SHARE:.0f} rows,"
    )
    return counted(len(high), len(inputs), what, **inputs)


def _parameter_count(evidence: Evidence) -> Finding:
    """The systems of our recipe must have as many parameters as the paper's formula."""
    counts: dict[str, float] = {}
    n_right, recipe = 0, Recipe()
    for dataset in DATASETS:
        P, M = recipe.n_rules, int(evidence.settings[f"{dataset}_inputs"])
        counts[dataset] = sum(map(math.prod, param_shapes(P, M, recipe.smf).values()))
        n_right += counts[dataset] == (2 * P + 2) * M + P * (M + 1)
    return counted(n_right, len(counts), "The system has that many parameters", **counts)


# ---------------------------------------------------------------- checks: planes and calibration


def _no_retraining(evidence: Evidence) -> Finding:
    """One training must give both levels: a plane of its envelope for each, and not the same.

    That the parameters stay as they are is so by construction.
    """
    runs, right = evidence.runs, []
    for dataset in DATASETS:
        low, high = (
            runs.values("alpha", dataset, "calibrated", level, "exact") for level in LEVELS
        )
        right.append(~_out_of_reach(runs, dataset, LEVELS[-1]) & (high < low))
    ok = np.concatenate(right)
    return counted(int(ok.sum()), ok.size, "One training has a plane for 90% and one for 95%")


def _needs_retraining(evidence: Evidence) -> Finding:
    """Split conformal prediction, known since 2002, answers every level after one training."""
    found = reaches(evidence.runs, _calibrated(method="conformal"))
    text = (
        "By argument: split conformal prediction moves the ends of any trained system by a margin "
        "and has a guarantee at every level; in our runs conformal calibration gave both levels "
        f"from one training each. {found.explanation}"
    )
    return Finding(FAILS, text, found.numbers, found.rows)


def _any_level(evidence: Evidence) -> Finding:
    """The exact calibrator, which considers all planes, must find one of the envelope."""
    ok = np.concatenate([~_out_of_reach(evidence.runs, *row) for row in table_rows()])
    what = "Tried at 90% and 95% only. A plane of the envelope covers the level"
    return counted(int(ok.sum()), ok.size, what)


def _plane_sets_coverage(evidence: Evidence) -> Finding:
    """The plane for 95% must lie below that for 90%, and cover more.

    The planes are the exact ones: a search may stall at one plane for both levels, which concerns
    the search (`search-ends`) and not the planes. Beyond the planes the larger margin is lower.
    """
    runs, right = evidence.runs, []
    for dataset in DATASETS:
        places, reached = [], []
        for level in LEVELS:
            alpha, margin, share = (
                runs.values(name, dataset, "calibrated", level, "exact")
                for name in ("alpha", "margin", "reached")
            )
            places.append(alpha - margin)  # one of the two is 0
            reached.append(share)
        right.append((places[1] < places[0]) & (reached[1] > reached[0]))
    ok = np.concatenate(right)
    return counted(int(ok.sum()), ok.size, "The plane for 95% is lower and covers more")


def _search_beats_table(evidence: Evidence) -> Finding:
    """The search must have fewer arguments; its distance from the level is reported beside it."""
    runs = evidence.runs
    of_table, of_search = len(fields(TableCalibrator)), len(SEARCH_ARGUMENTS)
    gains = {}
    evaluations: dict[str, list[float]] = {"search": [], "table": []}
    for dataset, level in table_rows():
        miss = {}
        for method, counts in evaluations.items():
            cell = dataset, "calibrated", level, method
            miss[method] = 100 * abs(runs.values("reached", *cell) - level)
            counts.extend(runs.values("n_evaluations", *cell))
        gains[_label(dataset, level)] = miss["table"] - miss["search"]
    found = in_every_row(gains)
    mean = {f"{method} evaluations": float(np.mean(n)) for method, n in evaluations.items()}
    words = " and ".join(f"{name} {value:.1f}" for name, value in mean.items())
    choices: dict[str, float] = {"table choices": of_table, "search choices": of_search}
    text = (
        f"The table leaves {of_table} things to choose, the search {of_search}. It comes nearer to "
        f"the level on the calibration set: {found.explanation[0].lower()}{found.explanation[1:]} "
        f"On average: {words}."
    )
    verdict = HOLDS if of_search < of_table else FAILS
    return Finding(verdict, text, choices | found.numbers | mean, found.rows)


def _finer_table(evidence: Evidence) -> Finding:
    """Each finer table must come nearer to the level on the calibration set; gains are points."""
    tables = evidence.runs.tables
    linear = tables[tables.interpolation == "linear"]
    steps = sorted(linear.step.unique(), reverse=True)
    if len(steps) < 2:
        return Finding(UNTESTABLE, "The records hold tables of one step only.")
    miss = {step: _mean_miss(linear[linear.step == step]) for step in steps}
    found = in_every_row({f"{a:g} to {b:g}": miss[a] - miss[b] for a, b in pairwise(steps)})
    cost = linear.groupby("step").n_evaluations.mean()
    numbers = found.numbers | {f"{step:g} evaluations": float(cost[step]) for step in steps}
    return Finding(found.verdict, found.explanation, numbers, found.rows)


def _interpolation_matters(evidence: Evidence) -> Finding:
    """Another interpolation of the paper's table must change its mean miss, for better or worse.

    The miss is taken on the calibration set, in points, as a mean over the rows for each seed.
    """
    step, usual = PAPER_TABLE
    tables = evidence.runs.tables
    miss = {
        kind: _mean_miss(rows)
        for kind, rows in tables[tables.step == step].groupby("interpolation", sort=False)
    }
    linear = miss.pop(usual)
    if not miss:
        return Finding(UNTESTABLE, "The records hold tables of one interpolation only.")
    found = matters({kind: one - linear for kind, one in miss.items()}, float(linear.mean()))
    numbers = found.numbers | {"linear miss": float(linear.mean())}
    return Finding(found.verdict, found.explanation, numbers, found.rows)


def _mean_miss(tables: pd.DataFrame) -> Array:
    """Return how far from its level a table ends (seeds,), in points, mean over the rows."""
    miss = (tables.reached - tables.level).abs()
    return 100 * miss.groupby(tables.seed).mean().to_numpy()


def _search_ends(evidence: Evidence) -> Finding:
    """The search must end within our tolerance.

    If it does not, either all shares k/n lie outside it, or the widest plane does, or it stalled.
    """
    runs, tolerance = evidence.runs, SearchCalibrator().tolerance
    within, possible, beyond = [], [], []
    for dataset, level in table_rows():
        reached = runs.values("reached", dataset, "calibrated", level)
        n_cal = runs.values("n_cal", dataset, "calibrated", level)
        within.append(abs(reached - level) < tolerance)
        possible.append(abs(np.rint(n_cal * level) / n_cal - level) < tolerance)
        beyond.append(_out_of_reach(runs, dataset, level))
    ok, can, far = np.array([within, possible, beyond], dtype=bool).reshape(3, -1)
    impossible, out = int((~ok & ~can).sum()), int((~ok & can & far).sum())
    stalled = int((~ok & can & ~far).sum())
    found = counted(int(ok.sum()), ok.size, "The search ended within its tolerance")
    text = (
        f"{found.explanation} In {impossible} no share of the calibration set lies there, in {out} "
        f"no plane covers that much, in {stalled} it stalled."
    )
    numbers = {"impossible": impossible, "out of reach": out, "stalled": stalled}
    return Finding(found.verdict, text, found.numbers | numbers)


# -------------------------------------------------------------------- checks: the paper by itself


def _text_matches_tables(evidence: Evidence) -> Finding:
    """Where text and table differ: would the text's value still win the row?"""
    text = evidence.text
    trained = evidence.published[evidence.published.model == "trained"]
    trained = trained[["dataset", "level", "metric", "mean"]].rename(columns={"mean": "rival"})
    slips = text[text.value != text.in_table].merge(trained, on=["dataset", "level", "metric"])
    numbers: dict[str, float] = {}
    notes = []
    for slip in slips.itertuples():
        row, target = _label(slip.dataset, slip.level), 100 * slip.level
        numbers |= {f"{row} text": slip.value, f"{row} table": slip.in_table}
        wins = abs(slip.value - target) < abs(slip.rival - target)
        notes.append(f"{row} ({slip.model}; by the text it {'wins' if wins else 'loses'})")
    found = counted(len(text) - len(notes), len(text), "Both agree")
    end = f" Not in {', '.join(notes)}." if notes else ""
    return Finding(found.verdict, found.explanation + end, found.numbers | numbers)


def _bold_is_best(evidence: Evidence) -> Finding:
    """The rule of bold, with a Welch test of what is printed, Holm over the rows."""
    rows = bold_rows(evidence.published)
    clear = int((holm(rows.p) < SIGNIFICANCE).sum())
    n_right = int(rows.follows_rule.sum())
    found = counted(n_right, len(rows), "The better value is bold", clear=clear)
    text = f"{found.explanation} By the printed spreads {clear} are beyond chance."
    return Finding(found.verdict, text, found.numbers)


def _bold_again(evidence: Evidence) -> Finding:
    """Our winners must be the paper's; gains are in the paper's units of the row."""
    rows = winners(evidence.records, evidence.published)
    gains = rows.difference.where(rows.bold != "calibrated", -rows.difference)
    names = [f"{_label(row.dataset, row.level)} {row.metric}" for row in rows.itertuples()]
    return every_row(names, gains.tolist(), rows.p.tolist())


def _argued(verdict: str, reason: str) -> Callable[[Evidence], Finding]:
    """Return the check of a claim that is decided by a reason and needs no run."""
    return lambda evidence: Finding(verdict, f"By argument: {reason}")


CHECKS: dict[str, Callable[[Evidence], Finding]] = {
    "no-retraining": _no_retraining,
    "needs-retraining": _needs_retraining,
    "any-level": _any_level,
    "reaches-levels": lambda e: reaches(e.runs, _calibrated()),
    "superior-uq": _superior_uq,
    "cheaper": _cheaper,
    "distribution-costly": _distribution_costly,
    "scalable": _scalable,
    "high-dimensional": _high_dimensional,
    "union-of-planes": _argued(
        FAILS,
        "planes are nested, so that their union as printed is the lowest plane, and the heights "
        "are lost; each plane must carry its alpha. At alpha = 0 Eq. (5) has no value.",
    ),
    "plane-sets-coverage": _plane_sets_coverage,
    "no-closed-form": _argued(
        HOLDS,
        "the coverage of a plane is an integral over the law of the target, which nobody knows. "
        "On a calibration set it is a rank, whose inverse is exact.",
    ),
    "search-beats-table": _search_beats_table,
    "fig1-table": lambda e: reaches(e.runs, _calibrated(("pm", "pp"), (0.90,), "table")),
    "parameter-count": _parameter_count,
    "training-captures-level": lambda e: reaches(e.runs, _trained() + _baselines()),
    "envelope-99": lambda e: reaches(e.runs, _baselines()),
    "finer-table": _finer_table,
    "interpolation-matters": _interpolation_matters,
    "both-directions": _argued(
        FAILS,
        "coverage never rises with alpha, so that of two neighbours one covers no less and the "
        "other no more than the plane between them: both cannot be nearer to the level, and this "
        "branch of Algorithm 4 is never taken.",
    ),
    "search-ends": _search_ends,
    "reaches-ww": lambda e: reaches(e.runs, _calibrated(("ww",))),
    "better-pm": lambda e: _nearer(e.runs, "pm"),
    "better-aids": lambda e: _nearer(e.runs, "aids"),
    "better-pp": lambda e: _nearer(e.runs, "pp"),
    "better-everywhere": lambda e: _nearer(e.runs),
    "wider": lambda e: in_every_row(_excess(e.runs, "pinaw")),
    "wider-fig3": lambda e: in_every_row(_excess(e.runs, "pinaw", [("pp", 0.95)])),
    "text-matches-tables": _text_matches_tables,
    "bold-is-best": _bold_is_best,
    "bold-again": _bold_again,
    "comparable-rmse": lambda e: comparable(_excess(e.runs, "rmse")),
    "comparable-score": lambda e: comparable(_excess(e.runs, "interval_score")),
}
"""The check of each claim, by its id."""
