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
from scipy import stats

from gt2lite._validation import Array
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
    standard_error,
)

HOLDS, PARTLY, FAILS, UNDECIDED = "holds", "holds in part", "does not hold", "undecided"

MARGIN = 0.05  # a mean that is worse by no more than this share is comparable
LEVEL_MARGIN = 1.0  # a level is reached if coverage is within this number of points
SAVING = 10  # calibrating must be this many times as quick as training to be called cheap
EXPENSIVE = 2.0  # learning all levels is expensive if it costs at least this many trainings
LINEAR = 1.1  # an exponent up to this is growth in proportion, given the precision of a clock

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

    def by_row(self, name: str, model: str = "calibrated", *way: str) -> pd.DataFrame:
        """Return a column of the records with a row for each data set and level, seeds across."""
        found = {row: values(self.runs, name, row[0], model, row[1], *way) for row in ROWS}
        return pd.DataFrame(found).T

    def excess(self, metric: str) -> pd.DataFrame:
        """Return by row how much larger a metric is after calibration, in percent."""
        trained, calibrated = self.by_row(metric, "trained"), self.by_row(metric)
        return 100 * (calibrated - trained).div(trained.mean(axis=1), axis=0)

    def miss(self, way: str) -> pd.DataFrame:
        """Return how far coverage on the calibration set is from its level, in points."""
        reached = self.by_row("reached", "calibrated", way)
        return 100 * reached.sub(reached.index.get_level_values(1), axis=0).abs()

    def exact(self, name: str) -> list[pd.DataFrame]:
        """Return what exact calibration found for 90% and for 95%, by data set and seed."""
        found = self.by_row(name, "calibrated", "exact")
        return [found.xs(level, level=1) for level in LEVELS]


def load_evidence(records: pd.DataFrame | None = None) -> Evidence:
    """Return the stored evidence; `records` of the protocol replace the stored ones."""
    records = results.load("reference") if records is None else records
    cost, growth = results.bench("cost"), results.bench("growth")
    return Evidence(records, results.load("sqr"), cost, growth, paper.cells())


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

    Given are the rows of `aligned.csv` and `comparison.csv`. On each data set of the latter the
    best of all competitors that are there is taken in hindsight.
    """
    width, score = (
        comparison.paired(aligned, "aligned", "paper", metric)
        for metric in ("equal_pinaw", "interval_score")
    )
    best = comparison.ratios(compared, "strong", comparison.COMPETITORS)
    tests = [width.assign(value=-width.percent), score.assign(value=-score.percent)]
    tests.append(best.assign(value=100 * (1 - best.ratio)))
    rows = []
    for (name, says), test in zip(OURS.items(), tests, strict=True):
        test["row"] = [case(*row) for row in zip(test.dataset, test.level, strict=True)]
        chapter = "comparison" if name == "strong-best" else "aligned"
        place = f"{{numref}}`Chapter %s <ch-{chapter}>`"
        about = {"id": name, "kind": "ours", "group": name, "place": place, "claim": says}
        rows.append(about | every_row(test)._asdict())
    return pd.DataFrame(rows)


# --------------------------------------------------------------------------- rules of judgement


def in_every_row(gains: pd.DataFrame, overlap: float = TEST_OVER_TRAIN) -> Finding:
    """Judge gains, positive where the claim is right, with a row for each line and seeds across.

    `overlap` is test rows over training rows, for re-splits of one data set; 0 if runs do not
    depend on the rows drawn.
    """
    tests = pd.DataFrame([corrected_t(gain, overlap) for gain in gains.to_numpy()])
    rows = tests.rename(columns={"mean": "value"}).assign(row=_labels(gains))
    rows["half here"] = [corrected_t(gain, 0.0).half for gain in gains.to_numpy()]
    here = int((rows.value > rows["half here"]).sum())
    return every_row(rows).add(f"On these data sets alone: significant in {here}.")


def every_row(rows: pd.DataFrame) -> Finding:
    """Judge the mean gain and p-value of each row.

    >>> rows = pd.DataFrame({"row": ["a", "b"], "value": [0.1, -0.1], "p": [0.01, 0.4]})
    >>> every_row(rows).reason
    'As claimed in 1 of 2 rows, significantly in 1 (with Holm: 1); undecided: b.'
    """
    corrected, right = holm(rows.p) < SIGNIFICANCE, rows.value > 0
    clear = rows.row[right & (rows.p < SIGNIFICANCE)]
    against = rows.row[(rows.value < 0) & corrected]
    text = (
        f"As claimed in {right.sum()} of {len(rows)} rows, significantly in {len(clear)} "
        f"(with Holm: {(right & corrected).sum()})"
    )
    verdict, end = _by_row(rows.row, clear, against, "significantly against it")
    numbers = {"rows": len(rows), "as claimed": int(right.sum()), "significant": len(clear)}
    return Finding(verdict, text + end, dict(numbers), rows)


def reaches(runs: pd.DataFrame, cells: Sequence[tuple[str, str, float, str]]) -> Finding:
    """Judge the test coverage of cells, in points from their levels: its mean, and every run."""
    names = [case(dataset, level) for dataset, _, level, _ in cells]
    picp = np.array([values(runs, "picp", *cell) for cell in cells])  # (cells, seeds)
    off = 100 * (picp - np.array([[level] for _, _, level, _ in cells]))
    size, test = np.abs(off.mean(axis=1)), (standard_error(off), off.shape[1] - 1)
    found = pd.DataFrame({"row": names, "value": 100 * picp.mean(axis=1), "off": off.mean(axis=1)})
    found["p of near"] = beyond_p(LEVEL_MARGIN, size, *test)
    found["p of far"] = beyond_p(size, LEVEL_MARGIN, *test)
    shown = found.row[found["p of near"] < SIGNIFICANCE]
    missed = found[holm(found["p of far"]) < SIGNIFICANCE]

    alone = []
    for cell, name, shares in zip(cells, names, picp, strict=True):
        _, model, level, _ = cell
        sizes = (values(runs, size, *cell).astype(int) for size in ("n_test", "n_cal"))
        for seed, share, n, q in zip(runs["picp"].columns, shares, *sizes, strict=True):
            p = coverage_p_value(share, level, int(n), int(q) if model == "calibrated" else None)
            alone.append((f"{name} seed {seed} ({100 * share:.2f}%)", name, p))
    single = pd.DataFrame(alone, columns=["run", "row", "p"])
    single = single[holm(single.p) < SIGNIFICANCE].sort_values("p", kind="stable")

    text = (
        f"Mean coverage is at most {size.max():.1f} points from its level, and shown "
        f"to be within {LEVEL_MARGIN:g} in {len(shown)} of {len(found)} rows"
    )
    if len(missed):
        each = [f"{row.row} by {row.off:+.2f} points" for row in missed.itertuples()]
        text += f"; farther off: {', '.join(each)}"
    text += f"; of {len(alone)} runs {len(single) or 'none'} miss significantly"
    if len(single):
        by = [f"{name} {n}" for name, n in single.row.value_counts(sort=False).items()]
        text += f" ({', '.join(by)}; the worst {single.run.iloc[0]})"
    verdict, end = _by_row(found.row, shown, (), "")
    if len(missed) or len(single):
        verdict, end = FAILS, "."
    numbers = {"rows": len(found), "shown": len(shown), "farthest mean": float(size.max())}
    numbers |= {"runs": len(alone), "runs that miss": len(single)}
    return Finding(verdict, text + end, numbers, found)


def comparable(excess: pd.DataFrame) -> Finding:
    """Judge by row how much worse one model is than the other, in percent, seeds across."""
    allowed, (mean, error, degrees) = 100 * MARGIN, _means(excess)
    rows = pd.DataFrame({"row": _labels(excess), "value": mean})
    rows["upper"] = mean + stats.t.isf(SIGNIFICANCE, degrees) * error
    rows["p"] = beyond_p(allowed, mean, error, degrees)
    over = holm(beyond_p(mean, allowed, error, degrees))
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
    margin, (mean, error, degrees) = MARGIN * scale, _means(differences)
    rows = pd.DataFrame({"row": differences.index, "value": 100 * mean / scale})
    rows["p"] = beyond_p(np.abs(mean), margin, error, degrees)
    rows["p of equal"] = beyond_p(margin, np.abs(mean), error, degrees)
    clear, by = rows[holm(rows.p) < SIGNIFICANCE], f"{100 * MARGIN:g}%"
    which = ", ".join(f"{row.row} ({row.value:+.0f}%)" for row in clear.itertuples())
    verdict, text = UNDECIDED, f"No alternative is shown to change the mean by more than {by}."
    if which:
        verdict, text = HOLDS, f"The mean changes by more than {by} with {which}."
    elif (rows["p of equal"] < SIGNIFICANCE).all():
        verdict = FAILS
        text = f"Every alternative is shown to change the mean by less than {by}."
    return Finding(verdict, text, {}, rows)


def counted(right: ArrayLike, what: str) -> Finding:
    """Judge a claim by the number of cases in which it is right.

    >>> counted([True, True, False], "It rains")[:2]
    ('does not hold', 'It rains in 2 of 3 cases.')
    """
    cases = np.asarray(right, dtype=bool)
    text = f"{what} in {cases.sum()} of {cases.size} cases."
    numbers = {"cases": cases.size, "as claimed": int(cases.sum())}
    return Finding(HOLDS if cases.all() else FAILS, text, dict(numbers))


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


def _means(rows: pd.DataFrame) -> tuple[Array, Array, int]:
    """Return means over re-splits, their standard errors and degrees of freedom."""
    gaps = rows.to_numpy()
    return gaps.mean(axis=1), standard_error(gaps, TEST_OVER_TRAIN), gaps.shape[1] - 1


def _labels(rows: pd.DataFrame) -> list[str]:
    return [case(*row) if isinstance(row, tuple) else str(row) for row in rows.index]


# ----------------------------------------------------------------- checks of empirical claims


def _calibrated(way: str) -> list[tuple[str, str, float, str]]:
    return [(name, "calibrated", level, way) for name, level in ROWS]


_TRAINED = [(name, "trained", level, "trained") for name, level in ROWS]
_BASELINES = [(name, "baseline", MODELS["baseline"], "trained") for name in DATASETS]


def _reaches_levels(e: Evidence) -> Finding:
    """Each of the paper's ways to calibrate, by the rule for reaching a level."""
    stored = set(e.runs.index.get_level_values("way"))
    found = {way: reaches(e.runs, _calibrated(way)) for way in WAYS if way in stored}
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
    return Finding(HOLDS if holds.all() else PARTLY if holds.any() else none, text, rows=rows)


def _nearer(e: Evidence, *datasets: str) -> Finding:
    """Calibrated PICP must be nearer to the level; gains are points of coverage.

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
    times = float((train.mean(axis=1) / calibrate.mean(axis=1)).min())
    first = np.array([values(e.runs, "train_cpu_seconds", *cell) for cell in _BASELINES])
    whole = calibrate.groupby(level=0, sort=False).sum() + first
    both = float((train.groupby(level=0, sort=False).sum().mean(axis=1) / whole.mean(axis=1)).min())
    words = (
        f"One more level takes {times:.3g} times less time or better; both levels, with the "
        f"training of the baseline, {both:.2g} times less or better."
    )
    return found.add(words, **{"times, least": times, "both levels times, least": both})


def _distribution_costly(e: Evidence) -> Finding:
    """Simultaneous quantile regression must cost at least two trainings that learn some levels.

    It is the nearest of the methods that the paper names: the authors' own, from its companion
    paper. The cost of our way to learn all levels at once is reported beside it.
    """
    rows = e.sqr[(e.sqr.form == "conformal") & (e.sqr.level == LEVELS[0])]
    seconds = rows.pivot(index=["dataset", "seed"], columns="model", values="train_cpu_seconds")
    times = (seconds.sqr / seconds.aligned).groupby("dataset").mean()[rows.dataset.unique()]
    what = f"Simultaneous quantile regression costs {EXPENSIVE:g} aligned trainings or more"
    each = ", ".join(f"{name.upper()} {value:.1f}" for name, value in times.items())
    sets = e.cost["settings"]["datasets"]
    costs = [e.cost["results"][s]["cost"]["all levels"]["seconds"][0] for s in sets]
    return counted(times >= EXPENSIVE, what).add(
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
    problem = [steep.pop("interval, rows"), steep.pop("interval, inputs")]
    what = f"The time of a plane grows with a power of at most {LINEAR:g} of rows or inputs"
    others = ", ".join(f"{name} {x:.2f}" for name, x in steep.items())
    return counted(np.array(problem) <= LINEAR, what).add(f"Powers of other times: {others}.")


def _no_retraining(e: Evidence) -> Finding:
    """One training must give both levels: a plane of its envelope for each, and not the same.

    That the parameters stay as they are is so by construction.
    """
    low, high = e.exact("alpha")
    right = (high >= ALPHA_0) & (high < low)
    return counted(right, "One training has a plane for 90% and one for 95%")


def _any_level(e: Evidence) -> Finding:
    """The exact calibrator, which considers all planes, must find one of the envelope."""
    right = e.by_row("alpha", "calibrated", "exact") >= ALPHA_0
    found = counted(right, "Tried at 90% and 95%. A plane of the envelope covers the level")
    short = ", ".join(_labels(right[~right.all(axis=1)]))
    return found.add(f"Elsewhere ({short}) the envelope is too narrow.") if short else found


def _plane_sets_coverage(e: Evidence) -> Finding:
    """The plane for 95% must lie below that for 90%, and cover more.

    The planes are the exact ones: a search may stall at one plane for both levels, which concerns
    the search (`search-ends`) and not the planes. Beyond the planes the larger margin is lower.
    """
    alpha, margin, reached = (e.exact(name) for name in ("alpha", "margin", "reached"))
    place = [a - m for a, m in zip(alpha, margin, strict=True)]  # one of the two is 0
    right = (place[1] < place[0]) & (reached[1] > reached[0])
    return counted(right, "The plane for 95% is lower and covers more")


def _search_nearer(e: Evidence) -> Finding:
    """The search must end nearer to the level on the calibration set than the paper's table."""
    words = []
    for way in ("search", "table 0.1"):
        mean = e.by_row("n_evaluations", "calibrated", way).to_numpy().mean()
        words.append(f"{way} evaluations {mean:.1f}")
    found = in_every_row(e.miss("table 0.1") - e.miss("search"))
    return found.add(f"On average: {' and '.join(words)}.")


def _finer_table(e: Evidence) -> Finding:
    """Each finer table must come nearer to the level on the calibration set; gains are points."""
    ways = set(e.runs.index.get_level_values("way"))
    steps = sorted((way for way in ways if way.startswith("table 0")), reverse=True)
    miss = {way.split()[1]: e.miss(way).mean(axis=0) for way in steps}
    gains = {f"{a} to {b}": miss[a] - miss[b] for a, b in pairwise(miss)}
    return in_every_row(pd.DataFrame(gains).T)


def _interpolation_matters(e: Evidence) -> Finding:
    """Another interpolation of the paper's table must change its mean miss, for better or worse.

    The miss is taken on the calibration set, in points, as a mean over the rows for each seed.
    """
    linear = e.miss("table 0.1").mean(axis=0)
    kinds = ("pchip", "spline", "polynomial")
    gaps = {kind: e.miss(f"table {kind}").mean(axis=0) - linear for kind in kinds}
    return matters(pd.DataFrame(gaps).T, float(linear.mean()))


def _search_ends(e: Evidence) -> Finding:
    """The search must end within our tolerance.

    If it does not, either all shares k/n lie outside it, or the widest plane does, or it stalled.
    """
    tolerance, n_cal = SearchCalibrator().tolerance, e.by_row("n_cal")
    levels = pd.Series(n_cal.index.get_level_values(1), n_cal.index)
    nearest = n_cal.mul(levels, axis=0).round() / n_cal
    ok = e.miss("search") < 100 * tolerance
    can = nearest.sub(levels, axis=0).abs() < tolerance
    far = e.by_row("alpha", "calibrated", "exact") < ALPHA_0
    why = ~ok & ~can, ~ok & can & far, ~ok & can & ~far
    impossible, out_of_reach, stalled = (int(cases.to_numpy().sum()) for cases in why)
    return counted(ok, "The search ended within its tolerance").add(
        f"In {impossible} no share of the calibration set lies there, in {out_of_reach} "
        f"no plane covers that much, in {stalled} it stalled.",
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
