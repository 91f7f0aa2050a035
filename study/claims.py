r"""The rules of judgement, and a check of every claim of the paper and of ours.

`data/paper/claims.csv` holds the paper's claims in our words, the most important first. There are
three kinds. *Empirical* claims are decided by runs, each by its check in `CHECKS`, and only they
are counted. *Arguments* need no run, and *misprints* concern the print: verdict and reason stand
beside the claim. `our_claims` judges what this book says of its own methods by the same rules.

The rules were fixed before the run of 50 seeds, at 5%; those that were changed, and the verdicts
before and after, are on the page on deviations.

**In every row.** A row is a data set at a level. The claim *holds* if every row goes its way
significantly (no correction: each of them has to pass), *does not hold* if some row goes against
it significantly, with Holm's correction over the rows, and is *undecided* otherwise. The t-test
over the seeds has the variance of Nadeau and Bengio, :math:`s^2 (1/J + 15/70)` for J re-splits;
run times, which do not depend on the rows drawn, have the usual one.

**Reaching a level.** The claim *holds* if in every row two one-sided t-tests show that mean
coverage is within 1 point of its level. It *does not hold* if a mean is shown to be farther off,
with Holm's correction over the rows, or if a single run misses significantly by the law of its
coverage (`coverage_p_value`), with Holm's correction over all runs. It *holds in part* if it does
by some of the paper's ways to calibrate.

**Comparable.** The claim *holds* if in every row the one-sided 95% upper bound of the mean excess
lies within 5%, and *does not hold* if some lower bound lies beyond, with Holm's correction.

**A choice that matters.** The claim *holds* if some alternative changes a mean by more than 5%,
significantly with Holm's correction, and *does not hold* if each is shown to change it by less.

**Counting.** A claim without noise in it holds in all cases or not at all.

Nothing here opens a file but `load_evidence`, which collects the data; `check_claims` decides.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from gt2lite.calibration import SearchCalibrator
from gt2lite.datasets import DATASETS
from gt2lite.memberships import ALPHA_0
from study import comparison, paper, results
from study.cells import bold_rows, by_cell, paired_gap, values
from study.pages import case
from study.protocol import LEVELS, MODELS, TEST_OVER_TRAIN
from study.statistics import (
    SIGNIFICANCE,
    beyond_p,
    corrected_t,
    coverage_p_value,
    holm,
    upper_bound,
)

HOLDS, PARTLY, FAILS = "holds", "holds in part", "does not hold"
UNDECIDED, UNTESTABLE = "undecided", "not testable"

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

WAYS = ("table 0.1", "table 0.05", "table 0.02", "table 0.01", "search")
"""The paper's ways to calibrate: lookup tables by their step, the first one as printed, and the
search."""

ROWS = [(dataset, level) for dataset in DATASETS for level in LEVELS]
"""The rows of the paper's tables, a data set at a level."""

OURS = {
    "aligned-narrower": "Aligned intervals are narrower than the paper's at equal coverage.",
    "aligned-score": "Aligned intervals have a smaller interval score than the paper's.",
    "strong-best": "`strong()` has a smaller interval score than the best competitor.",
}
"""Claims of this book, in its words."""


class Finding(NamedTuple):
    """The verdict on a claim, the reason with its numbers, and both as data."""

    verdict: str
    reason: str
    numbers: dict[str, float] = {}  # noqa: RUF012 - never changed
    rows: pd.DataFrame = pd.DataFrame()  # by row of the tables, if tested so

    def add(self, words: str, **numbers: float) -> Finding:
        """Return the finding with more words and numbers."""
        return self._replace(reason=f"{self.reason} {words}", numbers=self.numbers | numbers)


@dataclass(frozen=True)
class Evidence:
    """Everything that decides claims."""

    records: pd.DataFrame  # of the protocol
    sqr: pd.DataFrame  # simultaneous quantile regression beside aligned training
    cost: dict[str, Any]  # benchmarks
    growth: dict[str, Any]
    published: pd.DataFrame

    @functools.cached_property
    def runs(self) -> pd.DataFrame:
        """The records by cell."""
        return by_cell(self.records)

    @functools.cached_property
    def ways(self) -> set[str]:
        """All ways to calibrate, and "trained"."""
        return set(self.runs.index.get_level_values("way"))

    def by_row(self, name: str, model: str = "calibrated", way: str | None = None) -> pd.DataFrame:
        """Return a column of the records with a row for each data set and level, seeds across."""
        ways = [way] if way else []
        found = {row: values(self.runs, name, row[0], model, row[1], *ways) for row in ROWS}
        return pd.DataFrame(found).T

    def excess(self, metric: str) -> pd.DataFrame:
        """Return by row how much larger a metric is after calibration, in percent."""
        trained, calibrated = self.by_row(metric, "trained"), self.by_row(metric)
        return 100 * (calibrated - trained).div(trained.mean(axis=1), axis=0)

    def miss(self, way: str) -> pd.DataFrame:
        """Return how far coverage on the calibration set is from its level, in points."""
        reached = self.by_row("reached", way=way)
        return 100 * reached.sub(reached.index.get_level_values(1), axis=0).abs()

    def evaluations(self, ways: Iterable[str]) -> dict[str, float]:
        """Return the mean number of planes that calibration evaluated, by way."""
        found = {way: self.by_row("n_evaluations", way=way).to_numpy().mean() for way in ways}
        return {f"{way} evaluations": mean for way, mean in found.items()}


def load_evidence(records: pd.DataFrame | None = None) -> Evidence:
    """Return the stored evidence; `records` of the protocol replace the stored ones."""
    return Evidence(
        results.load("reference") if records is None else records,
        results.load("sqr"),
        results.bench("cost"),
        results.bench("growth"),
        paper.cells(),
    )


def check_claims(evidence: Evidence, claims: pd.DataFrame) -> pd.DataFrame:
    """Return the claims with columns `verdict`, `reason`, `numbers` and `rows`.

    Args:
        evidence: as `load_evidence` returns it.
        claims: as `study.paper.claims` returns them. Of claims with the same `group` the one with
            its name says it in general and counts; the others are special cases.
    """
    found = [
        CHECKS[one.id](evidence) if one.kind == "empirical" else Finding(one.verdict, one.reason)
        for one in claims.itertuples()
    ]
    return claims.assign(**dict(zip(Finding._fields, zip(*found, strict=True), strict=True)))


def our_claims(aligned: pd.DataFrame, compared: pd.DataFrame) -> pd.DataFrame:
    """Return our own claims, judged by the rules for the paper's, in the same columns.

    Args:
        aligned: rows of `data/results/aligned.csv`.
        compared: rows of `data/results/comparison.csv`. On each data set the best of all
            competitors that are there is taken in hindsight.
    """
    width, score = (
        comparison.paired(aligned, "aligned", "paper", metric)
        for metric in ("equal_pinaw", "interval_score")
    )
    best = comparison.ratios(compared, "strong", comparison.COMPETITORS)
    tests = (width, -width.percent), (score, -score.percent), (best, 100 * (1 - best.ratio))
    rows = []
    for (name, says), (test, gain) in zip(OURS.items(), tests, strict=True):
        labels = _labels(test.set_index(["dataset", "level"]))
        chapter = "comparison" if name == "strong-best" else "aligned"
        place = f"{{numref}}`Chapter %s <ch-{chapter}>`"
        judged = every_row(pd.DataFrame({"row": labels, "value": gain, "p": test.p}))
        about = {"id": name, "kind": "ours", "group": name, "place": place, "claim": says}
        rows.append(about | judged._asdict())
    return pd.DataFrame(rows)


# --------------------------------------------------------------------------- rules of judgement


def in_every_row(gains: pd.DataFrame, overlap: float = TEST_OVER_TRAIN) -> Finding:
    """Judge gains, positive where the claim is right, with a row for each line and seeds across.

    Args:
        gains: by row and seed.
        overlap: test rows over training rows, for re-splits of one data set; 0 if runs do not
            depend on the rows drawn.
    """
    tests = pd.DataFrame([corrected_t(gain, overlap) for gain in gains.to_numpy()])
    rows = tests.rename(columns={"mean": "value"}).assign(row=_labels(gains))
    rows["half here"] = [corrected_t(gain, 0.0).half for gain in gains.to_numpy()]
    here = int((rows.value > rows["half here"]).sum())
    words = f"On these data sets alone: significant in {here}."
    return every_row(rows).add(words, **{"significant here": here})


def every_row(rows: pd.DataFrame) -> Finding:
    """Judge the mean gain and p-value of each row.

    >>> rows = pd.DataFrame({"row": ["a", "b"], "value": [0.1, -0.1], "p": [0.01, 0.4]})
    >>> every_row(rows).reason
    'As claimed in 1 of 2 rows, significantly in 1 (with Holm: 1); undecided: b.'
    """
    corrected, right = holm(rows.p) < SIGNIFICANCE, rows.value > 0
    clear = rows.row[right & (rows.p < SIGNIFICANCE)]
    against = rows.row[(rows.value < 0) & corrected]
    numbers: dict[str, float] = {"rows": len(rows), "as claimed": int(right.sum())}
    numbers |= {"significant": len(clear), "against": len(against)}
    numbers["significant, Holm"] = int((right & corrected).sum())
    text = (
        f"As claimed in {numbers['as claimed']} of {len(rows)} rows, significantly in {len(clear)} "
        f"(with Holm: {numbers['significant, Holm']})"
    )
    verdict, end = _by_row(rows.row, clear, against, "significantly against it")
    return Finding(verdict, text + end, numbers, rows)


def reaches(runs: pd.DataFrame, cells: Sequence[tuple[str, str, float, str]]) -> Finding:
    """Judge the test coverage of cells, in points from their levels: its mean, and every run."""
    lines, alone = [], []
    for cell in cells:
        dataset, model, level, _ = cell
        picp = values(runs, "picp", *cell)
        off, name = 100 * (picp - level), case(dataset, level)
        size = abs(float(off.mean()))
        near, far = beyond_p(LEVEL_MARGIN, off, size), beyond_p(size, off, LEVEL_MARGIN)
        lines.append((name, 100 * float(picp.mean()), near, far, float(off.mean())))
        sizes = (values(runs, size, *cell).astype(int) for size in ("n_test", "n_cal"))
        for seed, share, n, q in zip(runs["picp"].columns, picp, *sizes, strict=True):
            p = coverage_p_value(share, level, int(n), int(q) if model == "calibrated" else None)
            alone.append((f"{name} seed {seed} ({100 * share:.2f}%)", name, p))
    found = pd.DataFrame(lines, columns=["row", "value", "p of near", "p of far", "off"])
    shown = found.row[found["p of near"] < SIGNIFICANCE]
    missed = found[holm(found["p of far"]) < SIGNIFICANCE]
    single = pd.DataFrame(alone, columns=["run", "row", "p"])
    single = single[holm(single.p) < SIGNIFICANCE].sort_values("p", kind="stable")
    numbers: dict[str, float] = {"rows": len(found), "shown": len(shown), "missed": len(missed)}
    numbers |= {"runs": len(alone), "runs that miss": len(single)}
    numbers["farthest mean"] = float(found.off.abs().max())
    text = (
        f"Mean coverage is at most {numbers['farthest mean']:.1f} points from its level, and shown "
        f"to be within {LEVEL_MARGIN:g} in {len(shown)} of {len(found)} rows"
    )
    if len(missed):
        each = [f"{row.row} by {row.off:+.2f} points" for row in missed.itertuples()]
        text += f"; farther off: {', '.join(each)}"
    text += f"; of {len(alone)} runs {len(single) or 'none'} miss significantly"
    if len(single):
        by = [f"{name} {n}" for name, n in single.row.value_counts(sort=False).items()]
        text += f" ({', '.join(by)}; the worst {single.run.iloc[0]})"
    if len(missed) or len(single):
        return Finding(FAILS, f"{text}.", numbers, found)
    verdict, end = _by_row(found.row, shown, (), "")
    return Finding(verdict, text + end, numbers, found)


def comparable(excess: pd.DataFrame) -> Finding:
    """Judge by row how much worse one model is than the other, in percent, seeds across."""
    allowed, gaps = 100 * MARGIN, excess.to_numpy()
    rows = pd.DataFrame({"row": _labels(excess), "value": gaps.mean(axis=1)})
    rows["upper"] = [upper_bound(gap, TEST_OVER_TRAIN) for gap in gaps]
    rows["p"] = [beyond_p(allowed, gap, gap.mean(), TEST_OVER_TRAIN) for gap in gaps]
    over = holm([beyond_p(gap.mean(), gap, allowed, TEST_OVER_TRAIN) for gap in gaps])
    shown, beyond = rows.row[rows.upper <= allowed], rows.row[over < SIGNIFICANCE]
    worst = rows.loc[rows.value.idxmax()]
    text = (
        f"Shown to be within {allowed:g}% in {len(shown)} of {len(rows)} rows; the worst is "
        f"{worst.row} with {worst.value:+.1f}%, at most {worst.upper:+.1f}%"
    )
    verdict, end = _by_row(rows.row, shown, beyond, "significantly worse")
    return Finding(verdict, text + end, {"rows": len(rows), "shown": len(shown)}, rows)


def matters(differences: pd.DataFrame, scale: float) -> Finding:
    """Judge by alternative whether signed differences (seeds across) matter beside a mean.

    >>> few = pd.DataFrame([[0.9, 1.0, 1.1], [-0.01, 0.0, 0.02]], index=["a", "b"])
    >>> matters(few, 10.0).reason
    'The mean changes by more than 5% with a (+10%).'
    >>> matters(few.loc[["b"]], 10.0).reason
    'Every alternative is shown to change the mean by less than 5%.'
    """
    margin, gaps = MARGIN * scale, differences.to_numpy()
    rows = pd.DataFrame({"row": differences.index, "value": 100 * gaps.mean(axis=1) / scale})
    rows["p"] = [beyond_p(abs(gap.mean()), gap, margin, TEST_OVER_TRAIN) for gap in gaps]
    rows["p of equal"] = [beyond_p(margin, gap, abs(gap.mean()), TEST_OVER_TRAIN) for gap in gaps]
    clear, by = rows[holm(rows.p) < SIGNIFICANCE], f"{100 * MARGIN:g}%"
    which = ", ".join(f"{row.row} ({row.value:+.0f}%)" for row in clear.itertuples())
    verdict, text = UNDECIDED, f"No alternative is shown to change the mean by more than {by}."
    if which:
        verdict, text = HOLDS, f"The mean changes by more than {by} with {which}."
    elif (rows["p of equal"] < SIGNIFICANCE).all():
        verdict = FAILS
        text = f"Every alternative is shown to change the mean by less than {by}."
    return Finding(verdict, text, {"alternatives": len(rows), "that matter": len(clear)}, rows)


def counted(right: ArrayLike, what: str, **numbers: float) -> Finding:
    """Judge a claim by the number of cases in which it is right.

    >>> counted([True, True, False], "It rains")[:2]
    ('does not hold', 'It rains in 2 of 3 cases.')
    """
    cases = np.asarray(right, dtype=bool)
    found: dict[str, float] = {"cases": cases.size, "as claimed": int(cases.sum())}
    text = f"{what} in {found['as claimed']} of {cases.size} cases."
    return Finding(HOLDS if cases.all() else FAILS, text, found | numbers)


def _by_row(
    rows: Iterable[str], clear: Iterable[str], against: Iterable[str], how: str
) -> tuple[str, str]:
    """Return the verdict if every row has to be clear and none may be against, and why."""
    against, clear = list(against), set(clear)
    unclear = [row for row in rows if row not in clear]
    if against:
        return FAILS, f"; {how}: {_few(against)}."
    if unclear:
        return UNDECIDED, f"; undecided: {_few(unclear)}."
    return HOLDS, "."


def _few(names: Sequence[str], most: int = 8) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _labels(rows: pd.DataFrame) -> list[str]:
    return [case(*row) if isinstance(row, tuple) else str(row) for row in rows.index]


# ----------------------------------------------------------------- checks of empirical claims


def _calibrated(way: str) -> list[tuple[str, str, float, str]]:
    return [(name, "calibrated", level, way) for name, level in ROWS]


_TRAINED = [(name, "trained", level, "trained") for name, level in ROWS]
_BASELINES = [(name, "baseline", MODELS["baseline"], "trained") for name in DATASETS]


def _reaches_levels(e: Evidence) -> Finding:
    """Each of the paper's ways to calibrate, by the rule for reaching a level."""
    found = {way: reaches(e.runs, _calibrated(way)) for way in WAYS if way in e.ways}
    rows = pd.DataFrame({way: one.numbers for way, one in found.items()}).T.rename_axis("way")
    rows["verdict"] = [one.verdict for one in found.values()]
    each = [
        f"{way}: {row['farthest mean']:.1f} points, {row['runs that miss']:.0f} runs miss"
        for way, row in rows.iterrows()
    ]
    text = (
        f"On average it is so: every mean is within {rows['farthest mean'].max():.1f} points of "
        f"its level. In single runs it depends on the way to calibrate. The farthest mean and, of "
        f"{rows.runs.iloc[0]:.0f} runs, those that miss significantly, by {'; '.join(each)}. The "
        "search stalls on flat stretches of PM, with settings made for WW."
    )
    holds, none = rows.verdict == HOLDS, FAILS if (rows.verdict == FAILS).any() else UNDECIDED
    verdict = HOLDS if holds.all() else PARTLY if holds.any() else none
    return Finding(verdict, text, {"farthest mean": rows["farthest mean"].max()}, rows)


def _nearer(e: Evidence, *datasets: str) -> Finding:
    """Judge whether calibrated PICP is nearer to the level; gains are points of coverage.

    Beside the verdict: in how many rows the paper's own difference is smaller than what a test
    with our number of seeds can see.
    """
    rows = [row for row in ROWS if row[0] in (datasets or DATASETS)]
    found = in_every_row(pd.DataFrame({row: -paired_gap(e.runs, "picp", *row) for row in rows}).T)
    printed = bold_rows(e.published).query("metric == 'picp'").set_index(["dataset", "level"])
    small = int((printed.difference.abs()[rows].to_numpy() < found.rows.half.to_numpy()).sum())
    words = (
        f"In {small} of {len(rows)} rows the difference that the paper prints is smaller than this "
        "test can see."
    )
    return found.add(words, **{"too small": small})


def _cheaper(e: Evidence) -> Finding:
    """Calibrating must take less than a tenth of the processor seconds of a training."""
    train, calibrate = e.by_row("train_cpu_seconds", "trained"), e.by_row("calibrate_seconds")
    found = in_every_row(train / SAVING - calibrate, overlap=0.0)
    times = (train.mean(axis=1) / calibrate.mean(axis=1)).to_numpy()
    first = np.array([values(e.runs, "train_cpu_seconds", *cell) for cell in _BASELINES])
    whole = calibrate.groupby(level=0, sort=False).sum() + first
    both = float((train.groupby(level=0, sort=False).sum().mean(axis=1) / whole.mean(axis=1)).min())
    words = (
        f"One more level takes {times.min():.3g} times less time or better; both levels, with the "
        f"training of the baseline, {both:.2g} times less or better."
    )
    numbers = {"times, least": float(times.min()), "both levels times, least": both}
    return found.add(words, **numbers)._replace(rows=found.rows.assign(times=times))


def _distribution_costly(e: Evidence) -> Finding:
    """Simultaneous quantile regression must cost at least two trainings that learn some levels.

    It is the nearest of the methods that the paper names: the authors' own, from its companion
    paper. The cost of our way to learn all levels at once is reported beside it.
    """
    rows = e.sqr[e.sqr.form == "conformal"]
    if rows.empty:
        return Finding(UNTESTABLE, "No run of simultaneous quantile regression is stored.")
    seconds = rows[rows.level == rows.level.iloc[0]].pivot_table(
        "train_cpu_seconds", ["dataset", "seed"], "model", sort=False
    )
    times = (1 / (seconds.aligned / seconds.sqr)).groupby("dataset", sort=False).mean()
    what = f"Simultaneous quantile regression costs {EXPENSIVE:g} aligned trainings or more"
    each = ", ".join(f"{name.upper()} {value:.1f}" for name, value in times.items())
    sets = e.cost["settings"]["datasets"]
    costs = [e.cost["results"][s]["cost"]["all levels"]["seconds"][0] for s in sets]
    return counted(times >= EXPENSIVE, what, **times.to_dict()).add(
        f"By data set: {each}. Learning all levels at random in one training costs "
        f"{np.mean(costs):.2f}."
    )


def _scalable(e: Evidence) -> Finding:
    """The time of a plane must grow at most in proportion to the problem: its rows and inputs.

    Calibrating evaluates planes and does nothing else. The growth of a training step, and that
    with rules and planes, which the user chooses, is reported beside it.
    """
    lines = e.growth["results"]["lines"]
    steep = {f"{line['what']}, {line['varied']}": line["time"]["exponent"] for line in lines}
    problem = ["interval, rows", "interval, inputs"]
    what = f"The time of a plane grows with a power of at most {LINEAR:g} of rows or inputs"
    others = ", ".join(f"{name} {x:.2f}" for name, x in steep.items() if name not in problem)
    found = counted([steep[name] <= LINEAR for name in problem], what, **steep)
    return found.add(f"Powers of other times: {others}.")


def _two_levels(e: Evidence, name: str) -> list[pd.DataFrame]:
    """Return what exact calibration found for 90% and for 95%, by data set and seed."""
    return [e.by_row(name, way="exact").xs(level, level=1) for level in LEVELS]


def _no_retraining(e: Evidence) -> Finding:
    """One training must give both levels: a plane of its envelope for each, and not the same.

    That the parameters stay as they are is so by construction.
    """
    low, high = _two_levels(e, "alpha")
    right = (high >= ALPHA_0) & (high < low)
    return counted(right, "One training has a plane for 90% and one for 95%")


def _any_level(e: Evidence) -> Finding:
    """The exact calibrator, which considers all planes, must find one of the envelope."""
    right = e.by_row("alpha", way="exact") >= ALPHA_0
    found = counted(right, "Tried at 90% and 95%. A plane of the envelope covers the level")
    short = ", ".join(_labels(right[~right.all(axis=1)]))
    return found.add(f"Elsewhere ({short}) the envelope is too narrow.") if short else found


def _plane_sets_coverage(e: Evidence) -> Finding:
    """The plane for 95% must lie below that for 90%, and cover more.

    The planes are the exact ones: a search may stall at one plane for both levels, which concerns
    the search (`search-ends`) and not the planes. Beyond the planes the larger margin is lower.
    """
    alpha, margin, reached = (_two_levels(e, name) for name in ("alpha", "margin", "reached"))
    place = [a - m for a, m in zip(alpha, margin, strict=True)]  # one of the two is 0
    right = (place[1] < place[0]) & (reached[1] > reached[0])
    return counted(right, "The plane for 95% is lower and covers more")


def _search_nearer(e: Evidence) -> Finding:
    """The search must end nearer to the level on the calibration set than the paper's table."""
    mean = e.evaluations(("search", "table 0.1"))
    words = " and ".join(f"{name} {value:.1f}" for name, value in mean.items())
    return in_every_row(e.miss("table 0.1") - e.miss("search")).add(f"On average: {words}.", **mean)


def _finer_table(e: Evidence) -> Finding:
    """Each finer table must come nearer to the level on the calibration set; gains are points."""
    steps = sorted((way for way in e.ways if way.startswith("table 0")), reverse=True)
    if len(steps) < 2:
        return Finding(UNTESTABLE, "The records hold tables of one step only.")
    miss = {way.split()[1]: e.miss(way).mean(axis=0) for way in steps}
    found = in_every_row(
        pd.DataFrame({f"{a} to {b}": miss[a] - miss[b] for a, b in pairwise(miss)}).T
    )
    return found._replace(numbers=found.numbers | e.evaluations(steps))


def _interpolation_matters(e: Evidence) -> Finding:
    """Another interpolation of the paper's table must change its mean miss, for better or worse.

    The miss is taken on the calibration set, in points, as a mean over the rows for each seed.
    """
    kinds = [kind for kind in ("pchip", "spline", "polynomial") if f"table {kind}" in e.ways]
    if not kinds:
        return Finding(UNTESTABLE, "The records hold tables of one interpolation only.")
    linear = e.miss("table 0.1").mean(axis=0)
    gaps = {kind: e.miss(f"table {kind}").mean(axis=0) - linear for kind in kinds}
    found = matters(pd.DataFrame(gaps).T, float(linear.mean()))
    return found._replace(numbers=found.numbers | {"linear miss": float(linear.mean())})


def _search_ends(e: Evidence) -> Finding:
    """The search must end within our tolerance.

    If it does not, either all shares k/n lie outside it, or the widest plane does, or it stalled.
    """
    tolerance, n_cal = SearchCalibrator().tolerance, e.by_row("n_cal")
    levels = pd.Series(n_cal.index.get_level_values(1), n_cal.index)
    nearest = n_cal.mul(levels, axis=0).round() / n_cal
    ok = e.miss("search") < 100 * tolerance
    can = nearest.sub(levels, axis=0).abs() < tolerance
    far = e.by_row("alpha", way="exact") < ALPHA_0
    why = {"impossible": ~ok & ~can, "out of reach": ~ok & can & far, "stalled": ~ok & can & ~far}
    n = {name: int(cases.to_numpy().sum()) for name, cases in why.items()}
    return counted(ok, "The search ended within its tolerance").add(
        f"In {n['impossible']} no share of the calibration set lies there, in {n['out of reach']} "
        f"no plane covers that much, in {n['stalled']} it stalled.",
        **n,
    )


CHECKS: Mapping[str, Callable[[Evidence], Finding]] = {
    "reaches-levels": _reaches_levels,
    "reaches-ww": lambda e: reaches(e.runs, _calibrated("search")[:2]),
    "fig1-table": lambda e: reaches(
        e.runs, [(name, "calibrated", 0.90, "table 0.1") for name in ("pm", "pp")]
    ),
    "any-level": _any_level,
    "no-retraining": _no_retraining,
    "cheaper": _cheaper,
    # by the interval score, which weighs width and coverage together; gains are percent
    "superior-uq": lambda e: in_every_row(-e.excess("interval_score")),
    "comparable-score": lambda e: comparable(e.excess("interval_score")),
    "comparable-rmse": lambda e: comparable(e.excess("rmse")),
    "better-everywhere": _nearer,
    "better-pm": lambda e: _nearer(e, "pm"),
    "better-aids": lambda e: _nearer(e, "aids"),
    "better-pp": lambda e: _nearer(e, "pp"),
    "wider": lambda e: in_every_row(e.excess("pinaw")),
    "wider-fig3": lambda e: in_every_row(e.excess("pinaw").loc[[("pp", 0.95)]]),
    "plane-sets-coverage": _plane_sets_coverage,
    "training-captures-level": lambda e: reaches(e.runs, _TRAINED + _BASELINES),
    "envelope-99": lambda e: reaches(e.runs, _BASELINES),
    "distribution-costly": _distribution_costly,
    "scalable": _scalable,
    "search-ends": _search_ends,
    "search-nearer": _search_nearer,
    "finer-table": _finer_table,
    "interpolation-matters": _interpolation_matters,
}
"""The check of each empirical claim, by its id."""
