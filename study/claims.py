r"""Decision rules, and a check of every claim of the paper and of ours.

`data/paper/claims.csv` holds the paper's claims in our words, the most important first. There are
three kinds. *Empirical* claims are decided by runs, each by its check in `CHECKS`, and only they
are counted. *Arguments* need no run, and *misprints* concern the print: verdict and reason stand
beside the claim. A claim whose words name no measure that the paper reports is judged by one of
ours, its `measure`, and its verdict is marked so wherever it is printed. `our_claims` judges what
this book says of its own methods by the same rules.

The rules were fixed before the run of 50 seeds, at 5%; those that were changed, and the verdicts
before and after, are on the page that goes through the paper item by item.

**In every row.** A row is a data set at a level. The claim *holds* if every row goes its way
significantly (no correction: each of them has to pass), *does not hold* if some row goes against
it significantly, with Holm's correction over the rows, and is *undecided* otherwise. The t-test
over the seeds has the variance of Nadeau and Bengio, :math:`s^2 (1/J + 15/70)` for J re-splits;
run times, which do not depend on the rows drawn, have the usual one.

**Reaching a level.** The claim *holds* if in every row two one-sided t-tests show that mean
coverage is within 1 point of its level. It *does not hold* if a mean is shown to be farther off,
with Holm's correction over the rows, or if a single run misses significantly by the law of its
coverage (`coverage_p_value`), with Holm's correction over all runs. It *holds in part* if it does
by some of the paper's ways to calibrate. The law of a trained system is that of one whose coverage
*is* its level; how many runs miss by more than a point is reported beside it.

**Comparable.** The claim *holds* if in every row the one-sided 95% upper bound of the mean excess
lies within 5%, and *does not hold* if some lower bound lies beyond, with Holm's correction.

**A choice that matters.** The claim *holds* if some alternative changes a mean by more than 5%,
significantly with Holm's correction, and *does not hold* if each is shown to change it by less.

**Counting.** A claim without noise in it holds in all cases or not at all.

Nothing here opens a file but `load_evidence`, which collects the data; `check_claims` decides.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from gt2lite._validation import Array
from gt2lite.calibration import SearchCalibrator
from gt2lite.datasets import DATASETS
from gt2lite.memberships import ALPHA_0
from study import comparison, results
from study.cells import by_cell, paired_gap, values
from study.pages import case, out_of
from study.protocol import LEVELS, METHODS, MODELS, TEST_OVER_TRAIN
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

Place = tuple[str, str, float, str]  # data set, model, level and way to calibrate

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
    cases: dict[str, str] = {}  # noqa: RUF012 - the verdict on each row or case alone

    def add(self, words: str, **numbers: float) -> Finding:
        """Return the finding with more words and numbers."""
        return self._replace(reason=f"{self.reason} {words}", numbers=self.numbers | numbers)


@dataclass(frozen=True)
class Evidence:
    """Everything that decides claims."""

    records: pd.DataFrame  # of the protocol
    sqr: pd.DataFrame  # simultaneous quantile regression beside aligned training
    growth: dict[str, Any]  # benchmark of time by size

    @functools.cached_property
    def runs(self) -> pd.DataFrame:
        """The records by cell."""
        return by_cell(self.records)

    @functools.cached_property
    def ways(self) -> list[str]:
        """The ways to calibrate in the records, in their order."""
        return list(self.runs.index.unique("way"))

    def by_row(self, name: str, model: str = "calibrated", way: str = "") -> pd.DataFrame:
        """Return a column of the records with a row for each data set and level, seeds across."""
        places = [(dataset, model, level, way or METHODS[model]) for dataset, level in ROWS]
        index = pd.MultiIndex.from_tuples(ROWS)
        return pd.DataFrame(values(self.runs, name, places), index, self.runs[name].columns)

    def excess(self, metric: str) -> pd.DataFrame:
        """Return by row how much larger a metric is after calibration, in percent."""
        trained = self.by_row(metric, "trained")
        return 100 * (self.by_row(metric) - trained).div(trained.mean(axis=1), axis=0)

    def miss(self, way: str) -> pd.DataFrame:
        """Return how far coverage on the calibration set is from its level, in points."""
        reached = self.by_row("reached", "calibrated", way)
        return 100 * reached.sub(reached.index.get_level_values(1), axis=0).abs()

    def nearer(self) -> pd.DataFrame:
        """Return how many points nearer to the level calibrated PICP is than trained PICP.

        This is the distance of the mean: below the level and above it cancel between runs.
        """
        return pd.DataFrame({row: -paired_gap(self.runs, "picp", *row) for row in ROWS}).T

    def nearer_by_run(self) -> pd.DataFrame:
        """Return the same by the distance of each run from the level, which a user meets."""
        trained, calibrated = self.by_row("picp", "trained"), self.by_row("picp")
        level = trained.index.get_level_values(1)
        far = [100 * one.sub(level, axis=0).abs() for one in (trained, calibrated)]
        return far[0] - far[1]

    def exact(self, name: str, level: float) -> pd.DataFrame:
        """Return what exact calibration, which considers all planes, found for a level."""
        return self.by_row(name, "calibrated", "exact").xs(level, level=1).rename(str.upper)


def load_evidence(records: pd.DataFrame | None = None) -> Evidence:
    """Return the stored evidence; `records` of the protocol replace the stored ones."""
    records = results.load("reference") if records is None else records
    return Evidence(records, results.load("sqr"), results.bench("growth"))


def check_claims(evidence: Evidence, claims: pd.DataFrame) -> pd.DataFrame:
    """Return the claims with columns `verdict`, `reason`, `numbers`, `rows`, `cases`, `printed`.

    `printed` is the verdict, with a mark if the measure is ours.

    Args:
        evidence: as `load_evidence` returns it.
        claims: as `study.paper.claims` returns them. Of claims with the same `group` the one with
            its name says it in general and counts; the others are special or stronger cases.
    """
    found = [
        CHECKS[one.id](evidence) if one.kind == "empirical" else Finding(one.verdict, one.reason)
        for one in claims.itertuples()
    ]
    claims = claims.assign(**dict(zip(Finding._fields, zip(*found, strict=True), strict=True)))
    marks = claims.measure.mask(claims.measure != "", ", by our measure")
    return claims.assign(printed=claims.verdict + marks)


def our_claims(aligned: pd.DataFrame, compared: pd.DataFrame) -> pd.DataFrame:
    """Return our own claims, judged by the rules for the paper's, in the same columns.

    `aligned` and `compared` are the rows of `aligned.csv` and `comparison.csv`. On each data set
    of the latter, the competitor to beat is the best one in hindsight.
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
        found = every_row(test)
        rows.append(about | found._asdict() | {"printed": found.verdict})
    return pd.DataFrame(rows)


# --------------------------------------------------------------------------- decision rules


def every_row(rows: pd.DataFrame) -> Finding:
    """Judge the mean gain and p-value of each row.

    >>> rows = pd.DataFrame({"row": ["a", "b"], "value": [0.1, -0.1], "p": [0.01, 0.4]})
    >>> every_row(rows).reason
    'Supported by 1 of 2 rows, significantly; undecided: b.'
    >>> every_row(rows.assign(value=[-0.2, -0.1], p=0.001)).reason
    'Supported by none of 2 rows; contradicted significantly by both rows.'
    """
    corrected, right = holm(rows.p) < SIGNIFICANCE, rows.value > 0
    clear = right & (rows.p < SIGNIFICANCE)
    n_right, n_clear, n_holm = (int(found.sum()) for found in (right, clear, right & corrected))
    text = f"Supported by {_rows(n_right, len(rows))}"
    if n_right:
        text += ", " + {0: "none significantly", n_right: "significantly"}.get(
            n_clear, f"{n_clear} of them significantly"
        )
    if n_holm < n_clear:
        text += f" ({n_holm or 'none'} with Holm's correction)"
    numbers = {"as claimed": int(right.sum()), "significant": int(clear.sum())}
    return _by_row(text, rows, clear, (rows.value < 0) & corrected, numbers)


def in_every_row(gains: pd.DataFrame, overlap: float = TEST_OVER_TRAIN) -> Finding:
    """Judge gains, positive where the claim is right, with a row for each line and seeds across.

    `overlap` is test rows over training rows, for re-splits of one data set; 0 if runs do not
    depend on the rows drawn.
    """
    tests = pd.DataFrame([corrected_t(gain, overlap) for gain in gains.to_numpy()])
    rows = tests.rename(columns={"mean": "value"}).assign(row=_labels(gains))
    rows["half here"] = [corrected_t(gain, 0.0).half for gain in gains.to_numpy()]
    here = int((rows.value > rows["half here"]).sum())
    return every_row(rows).add(f"Significant on these data sets alone: {_rows(here, len(rows))}.")


def reaches(runs: pd.DataFrame, places: Sequence[Place]) -> Finding:
    """Judge the test coverage of cells: the mean of each, and every run by its law."""
    picp, n_test, n_cal = (values(runs, name, places) for name in ("picp", "n_test", "n_cal"))
    off, p = np.empty_like(picp), np.empty_like(picp)  # (cells, seeds)
    wide = np.ones_like(picp)  # p if a trained system may be a point off
    for i, (_, model, level, _) in enumerate(places):
        off[i] = 100 * (picp[i] - level)  # points
        for j, share in enumerate(picp[i]):
            n, n_ranked = int(n_test[i, j]), int(n_cal[i, j])
            if model == "calibrated":
                p[i, j] = coverage_p_value(share, level, n, n_ranked)
            else:
                p[i, j] = coverage_p_value(share, level, n)
                wide[i, j] = coverage_p_value(share, level, n, margin=LEVEL_MARGIN / 100)
    size, test = np.abs(off.mean(axis=1)), (standard_error(off), off.shape[1] - 1)
    near = beyond_p(LEVEL_MARGIN, size, *test) < SIGNIFICANCE
    far = holm(beyond_p(size, LEVEL_MARGIN, *test)) < SIGNIFICANCE
    missed = (holm(p.ravel()) < SIGNIFICANCE).reshape(p.shape)
    rows = pd.DataFrame({"row": [case(dataset, level) for dataset, _, level, _ in places]})
    text = (
        f"Mean coverage is at most {size.max():.1f} points from its level, and shown to be within "
        f"{LEVEL_MARGIN:g} point in {_rows(int(near.sum()), len(rows))}; significant misses: "
        f"{out_of(int(missed.sum()), p.size, 'run', 'runs')}"
    )
    if missed.any():
        row, run = np.unravel_index(p.argmin(), p.shape)
        worst = f"{rows.row[row]} seed {runs['picp'].columns[run]}, {picp[row, run]:.2%}"
        text += f" (the worst: {worst})"
    numbers = {"shown": int(near.sum()), "farthest mean": float(size.max())}
    numbers |= {"runs": p.size, "runs that miss": int(missed.sum())}
    if places[0][1] != "calibrated":
        beyond = int((holm(wide.ravel()) < SIGNIFICANCE).sum())
        text += f", {beyond or 'none'} shown to be off by more than {LEVEL_MARGIN:g} point"
        numbers["by more than a point"] = beyond
    if far.any():
        text += f"; means shown to be farther off: {_named(rows.row, far)}"
    words = "the mean is farther off, or a run misses, in"
    return _by_row(text, rows, near, far | missed.any(axis=1), numbers, words)


def comparable(excess: pd.DataFrame) -> Finding:
    """Judge by row how much worse one model is than the other, in percent, seeds across."""
    allowed, (mean, error, degrees) = 100 * MARGIN, _means(excess)
    rows = pd.DataFrame({"row": _labels(excess), "value": mean})
    rows["upper"] = mean + stats.t.isf(SIGNIFICANCE, degrees) * error
    rows["p"] = beyond_p(allowed, mean, error, degrees)
    shown = rows.upper <= allowed
    worse = holm(beyond_p(mean, allowed, error, degrees)) < SIGNIFICANCE
    worst = rows.loc[rows.value.idxmax()]
    text = (
        f"Shown to be within {allowed:g}% in {_rows(int(shown.sum()), len(rows))}; the worst is "
        f"{worst.row} with {worst.value:+.1f}%, at most {worst.upper:+.1f}%"
    )
    words = f"shown to be worse by more than {allowed:g}% in"
    return _by_row(text, rows, shown, worse, {"shown": int(shown.sum())}, words)


def matters(differences: pd.DataFrame) -> Finding:
    """Judge by alternative whether signed differences, in percent of a mean, matter.

    >>> few = pd.DataFrame([[9.0, 10.0, 11.0], [-0.1, 0.0, 0.2]], index=["a", "b"])
    >>> matters(few).reason
    'The mean changes by more than 5% with a (+10%).'
    >>> matters(few.loc[["b"]]).reason
    'Every alternative is shown to change the mean by less than 5%.'
    """
    margin, (mean, error, degrees) = 100 * MARGIN, _means(differences)
    rows = pd.DataFrame({"row": differences.index, "value": mean})
    rows["p"] = beyond_p(np.abs(mean), margin, error, degrees)
    clear = rows[holm(rows.p) < SIGNIFICANCE]
    if len(clear):
        which = ", ".join(f"{row.row} ({row.value:+.0f}%)" for row in clear.itertuples())
        return Finding(HOLDS, f"The mean changes by more than {margin:g}% with {which}.", {}, rows)
    if (beyond_p(margin, np.abs(mean), error, degrees) < SIGNIFICANCE).all():
        text = f"Every alternative is shown to change the mean by less than {margin:g}%."
        return Finding(FAILS, text, {}, rows)
    text = f"No alternative is shown to change the mean by more than {margin:g}%."
    return Finding(UNDECIDED, text, {}, rows)


def counted(what: str, right: pd.DataFrame | pd.Series) -> Finding:
    """Judge a claim by the number of cases in which it is right.

    >>> counted("It rains", pd.Series({"Monday": True, "Friday": False}))[:2]
    ('does not hold', 'It rains in 1 of 2 cases; not always: Friday.')
    """
    right = pd.DataFrame(right)
    n, always = int(right.to_numpy().sum()), right.all(axis=1)
    wrong = _labels(right[~always])
    end = f"; not always: {', '.join(wrong)}." if wrong else "."
    text = f"{what} in {out_of(n, right.size, 'case', 'cases')}{end}"
    numbers = {"cases": right.size, "as claimed": n}
    cases = dict(zip(_labels(right), np.where(always, HOLDS, FAILS), strict=True))
    return Finding(FAILS if wrong else HOLDS, text, numbers, cases=cases)


def _by_row(
    text: str,
    rows: pd.DataFrame,
    clear: Any,
    against: Any,
    more: dict[str, Any],
    words: str = "contradicted significantly by",
) -> Finding:
    """Return the finding if every row has to be clear and none may be against the claim.

    `words` say what rows against it have in common.
    """
    verdict, end = HOLDS, ""
    if against.any():
        verdict, end = FAILS, f"; {words} {_named(rows.row, against)}"
    elif not clear.all():
        verdict, end = UNDECIDED, f"; undecided: {_named(rows.row, ~clear)}"
    each = np.select([against, clear], [FAILS, HOLDS], UNDECIDED)
    cases = dict(zip(rows.row, each, strict=True))
    return Finding(verdict, f"{text}{end}.", {"rows": len(rows)} | more, rows, cases)


def _rows(n: int, total: int) -> str:
    return out_of(n, total, "row", "rows")


def _named(names: pd.Series, which: Any, most: int = 6) -> str:
    """Return the names of some rows, or how many they are if they are all or more than `most`."""
    found = [*names[which]]
    if len(found) > most or 1 < len(found) == len(names):
        return _rows(len(found), len(names))
    return ", ".join(found)


def _means(rows: pd.DataFrame) -> tuple[Array, Array, int]:
    """Return means over re-splits, their standard errors and degrees of freedom."""
    gaps = rows.to_numpy()
    return gaps.mean(axis=1), standard_error(gaps, TEST_OVER_TRAIN), gaps.shape[1] - 1


def _labels(rows: pd.DataFrame) -> list[str]:
    return [case(*row) if isinstance(row, tuple) else str(row) for row in rows.index]


# ----------------------------------------------------------------- checks of empirical claims


def _calibrated(way: str) -> list[Place]:
    return [(name, "calibrated", level, way) for name, level in ROWS]


_TRAINED: list[Place] = [(name, "trained", level, "trained") for name, level in ROWS]
_BASELINES: list[Place] = [(name, "baseline", MODELS["baseline"], "trained") for name in DATASETS]


def _reaches_levels(e: Evidence) -> Finding:
    """Each of the paper's ways to calibrate, by the rule for reaching a level."""
    found = {way: reaches(e.runs, _calibrated(way)) for way in WAYS if way in e.ways}
    rows = pd.DataFrame({way: one.numbers for way, one in found.items()}).T.rename_axis("way")
    rows["verdict"] = [one.verdict for one in found.values()]
    each = [
        f"{way}, {row['farthest mean']:.1f} points and "
        f"{out_of(int(row['runs that miss']), int(row['runs']), 'run', 'runs')}"
        for way, row in rows.iterrows()
    ]
    text = (
        "By way to calibrate, the farthest mean from its level, and the runs that miss "
        f"significantly: {'; '.join(each)}."
    )
    cases = pd.DataFrame([one.cases for one in found.values()])
    return Finding(_by_some(rows.verdict), text, {}, rows, cases.apply(_by_some).to_dict())


def _by_some(verdicts: pd.Series) -> str:
    """Return the verdict on a claim from those on the ways to calibrate."""
    holds = verdicts == HOLDS
    none = FAILS if (verdicts == FAILS).any() else UNDECIDED
    return HOLDS if holds.all() else PARTLY if holds.any() else none


def _cheaper(e: Evidence) -> Finding:
    """Calibrating must take less than a tenth of the processor seconds of a training."""
    train, calibrate = e.by_row("train_cpu_seconds", "trained"), e.by_row("calibrate_seconds")
    found = in_every_row(train / SAVING - calibrate, overlap=0.0)
    times = float((train.mean(axis=1) / calibrate.mean(axis=1)).min())
    first = values(e.runs, "train_cpu_seconds", _BASELINES)
    whole = calibrate.groupby(level=0, sort=False).sum() + first
    both = float((train.groupby(level=0, sort=False).sum().mean(axis=1) / whole.mean(axis=1)).min())
    words = (
        f"Calibrating for one more level takes at most {100 / times:.1f}% of the time of a "
        f"training; both levels, the training for 99% included, at most {100 / both:.0f}% of that "
        "of two."
    )
    return found.add(words, **{"times, least": times, "both levels times, least": both})


def _distribution_costly(e: Evidence) -> Finding:
    """Simultaneous quantile regression must cost at least two trainings that learn some levels.

    It is the nearest of the methods that the paper names: the authors' own, from its companion
    paper.
    """
    rows = e.sqr[(e.sqr.form == "conformal") & (e.sqr.level == LEVELS[0])]
    seconds = rows.pivot(index=["dataset", "seed"], columns="model", values="train_cpu_seconds")
    times = (seconds.sqr / seconds.aligned).groupby("dataset").mean()[rows.dataset.unique()]
    times = times.rename(str.upper)
    what = f"Simultaneous quantile regression costs {EXPENSIVE:g} aligned trainings or more"
    each = ", ".join(f"{name} {value:.1f}" for name, value in times.items())
    return counted(what, times >= EXPENSIVE).add(f"Trainings by data set: {each}.")


def _scalable(e: Evidence) -> Finding:
    """The time of a plane must grow at most in proportion to the problem: its rows and inputs.

    Calibrating evaluates planes and does nothing else.
    """
    lines = pd.json_normalize(e.growth["results"]["lines"]).query("what == 'interval'")
    powers = lines.set_index("varied")["time.exponent"][["rows", "inputs"]]
    what = f"The time of a plane grows with a power of at most {LINEAR:g} of rows or inputs"
    each = ", ".join(f"{name} {value:.2f}" for name, value in powers.items())
    return counted(what, powers <= LINEAR).add(f"Powers: {each}.")


def _any_level(e: Evidence) -> Finding:
    """The exact calibrator, which considers all planes, must find one of the envelope.

    AIDS is shown apart: its target is 0 or 1, so that other comparisons leave it out.
    """
    what = "At 90% and 95% a plane of the envelope covers the level"
    reached = e.by_row("alpha", "calibrated", "exact") >= ALPHA_0
    rest = counted("", reached.drop(index="aids", level=0))
    words = (
        f"Without AIDS: {rest.numbers['as claimed']} of {rest.numbers['cases']}, {rest.verdict}."
    )
    numbers = {f"{name}, without AIDS": n for name, n in rest.numbers.items()}
    return counted(what, reached).add(words, **numbers)


def _better_everywhere(e: Evidence) -> Finding:
    """The distance of the mean from the level decides, as in the paper; that of runs is added."""
    found = in_every_row(e.nearer_by_run())
    numbers = {f"{name}, by run": n for name, n in found.numbers.items()}
    words = (
        "By the distance of each run it is supported by "
        f"{_rows(int(numbers['as claimed, by run']), int(numbers['rows, by run']))}, significantly "
        f"by {numbers['significant, by run'] or 'none'}. On which side of its level a mean lies is "
        "taken from the same runs."
    )
    return in_every_row(e.nearer()).add(words, **numbers)


def _finer_table(e: Evidence) -> Finding:
    """Each finer table must come nearer to the level on the calibration set; gains are points."""
    steps = sorted((way for way in e.ways if way.startswith("table 0")), reverse=True)
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
    return matters(100 * pd.DataFrame(gaps).T / linear.mean())


def ends_of_searches(e: Evidence) -> Finding:
    """Return how many searches end within our tolerance.

    If one does not, either all shares k/n lie outside it, or the widest plane does, or it stalled.
    Algorithm 4 as printed would not end there; its authors' code does, at a smallest step.
    """
    tolerance, n_cal = SearchCalibrator().tolerance, e.by_row("n_cal")
    levels = pd.Series(n_cal.index.get_level_values(1), n_cal.index)
    nearest = n_cal.mul(levels, axis=0).round() / n_cal
    ok = e.miss("search") < 100 * tolerance
    can = nearest.sub(levels, axis=0).abs() < tolerance
    far = e.by_row("alpha", "calibrated", "exact") < ALPHA_0
    why = ~ok & ~can, ~ok & can & far, ~ok & can & ~far
    names = ("no share there", "out of reach", "stalled")
    numbers = {name: int(runs.to_numpy().sum()) for name, runs in zip(names, why, strict=True)}
    found = counted("The search ended within its tolerance", ok)
    return found._replace(numbers=found.numbers | numbers)


CHECKS: Mapping[str, Callable[[Evidence], Finding]] = {
    "reaches-levels": _reaches_levels,
    "reaches-ww": lambda e: reaches(e.runs, _calibrated("search")[:2]),
    "fig1-table": lambda e: reaches(
        e.runs, [(name, "calibrated", 0.90, "table 0.1") for name in ("pm", "pp")]
    ),
    "any-level": _any_level,
    "no-retraining": lambda e: counted(
        "One training has a plane for 90% and one for 95%",
        (e.exact("alpha", 0.95) >= ALPHA_0) & (e.exact("alpha", 0.95) < e.exact("alpha", 0.90)),
    ),
    "cheaper": _cheaper,
    # by the interval score, which weighs width and coverage together; gains are percent
    "comparable-score": lambda e: comparable(e.excess("interval_score")),
    "superior-uq": lambda e: in_every_row(-e.excess("interval_score")),
    "comparable-rmse": lambda e: comparable(e.excess("rmse")),
    "better-everywhere": _better_everywhere,
    "better-pm": lambda e: in_every_row(e.nearer().loc[["pm"]]),
    "better-aids": lambda e: in_every_row(e.nearer().loc[["aids"]]),
    "better-pp": lambda e: in_every_row(e.nearer().loc[["pp"]]),
    "wider": lambda e: in_every_row(e.excess("pinaw")),
    "wider-fig3": lambda e: in_every_row(e.excess("pinaw").loc[[("pp", 0.95)]]),
    # A search may stall at one plane for both levels, which concerns the search: the planes are
    # the exact ones. Beyond the planes the larger margin is lower; alpha or margin is 0.
    "plane-sets-coverage": lambda e: counted(
        "The plane for 95% is lower and covers more",
        (
            e.exact("alpha", 0.95) - e.exact("margin", 0.95)
            < e.exact("alpha", 0.90) - e.exact("margin", 0.90)
        )
        & (e.exact("reached", 0.95) > e.exact("reached", 0.90)),
    ),
    "training-captures-level": lambda e: reaches(e.runs, _TRAINED + _BASELINES),
    "envelope-99": lambda e: reaches(e.runs, _BASELINES),
    "distribution-costly": _distribution_costly,
    "scalable": _scalable,
    # nearer to the level on the calibration set than the paper's table; gains are points
    "search-nearer": lambda e: in_every_row(e.miss("table 0.1") - e.miss("search")),
    "finer-table": _finer_table,
    "interpolation-matters": _interpolation_matters,
}
"""The check of each empirical claim, by its id."""
