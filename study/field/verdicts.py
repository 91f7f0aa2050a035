"""The judgement of the field: ratios to the best rival, table by table and over all of them.

All rules were fixed before the frozen tables were run:

- What counts is the interval score at 90 and 95 %. A ratio below 1 means that ours is better.
- The rival to beat on a table is the one of `study.field.contestants.BOOSTED` with the
  smallest mean score over the seeds there, level by level: the best in hindsight.
- On a table, a paired t-test over the seeds with the correction of Nadeau and Bengio (2003). It
  is of differences. The interval of a ratio is by the same correction, of logarithms: a ratio
  cannot be negative. (Its first form was of differences and could. Verdicts are by p.)
- Over tables, the geometric mean; for its interval tables are drawn with replacement.
- AIDS is left out of all counts: its target is 0 or 1, and "equal coverage" compares nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from gt2lite._validation import Array
from study.design import LEVELS
from study.field.contestants import BOOSTED
from study.field.public import DEVELOPMENT, FROZEN, PUBLIC
from study.field.records import FieldRecord
from study.field.tables import best_of, printed, title, values_of
from study.statistics import SIGNIFICANCE, corrected_t

BEST_MEAN, EACH_MEAN = 0.90, 0.85
"""Goals for the geometric mean: against the best rival in hindsight, and against each."""

ON_A_TABLE, EXCEPTIONS = 1.02, 2
"""The goal for a single table, and how many may miss it."""

HEAD_ERROR, HEAD_SCORE = 1.01, 0.95
"""Goals for the head: RMSE against its base, score against the best margin around its base."""

USUAL_SHARE = 0.15 / 0.70
"""Test rows over training rows, where no row was left out."""

SMOOTH = ("ww", "pm", "pp")
"""The paper's tables whose targets have more than two values."""

N_DRAWS = 4000
"""How often tables are drawn with replacement."""


class Ratio(NamedTuple):
    """A contestant against the best of some rivals on one table at one level."""

    table: str
    level: float
    ours: str
    rival: str
    ratio: float  # of the means over the seeds
    low: float  # of the 95 % interval of the ratio seed by seed, by logarithms
    high: float
    p: float
    n: int  # seeds

    @property
    def verdict(self) -> str:
        """What the test says: "better", "worse" or "undecided"."""
        if not self.p < SIGNIFICANCE:
            return "undecided"
        return "better" if self.ratio < 1 else "worse"


class Overall(NamedTuple):
    """A geometric mean over tables, with its 95 % interval."""

    mean: float
    low: float
    high: float
    n: int  # tables


class Target(NamedTuple):
    """A goal, what was found, and whether it was reached."""

    what: str
    goal: str
    found: str
    met: str  # "yes" or "no"


def ratios(
    rows: Iterable[FieldRecord],
    ours: str,
    rivals: Collection[str] = BOOSTED,
    metric: str = "interval_score",
    *,
    tables: Sequence[str] = PUBLIC,
    levels: Sequence[float] = LEVELS,
) -> list[Ratio]:
    """Return how a contestant compares with the best of some rivals, table by table and level.

    Tables on which ours, or all rivals, did not take part are left out.
    """
    rows = [row for row in rows if row.dataset in tables and row.split == "random"]
    shares = {row.dataset: row.n_test / row.n_train for row in rows if row.n_train}
    found = []
    for level in levels:
        values = values_of(rows, metric, level=level)
        for table in tables:
            there = [name for name in rivals if table in values.get(name, {})]
            if table not in values.get(ours, {}) or not there or ours in there:
                continue
            rival = best_of(values, table, there)
            mine, theirs = values[ours][table], values[rival][table]
            if mine.shape != theirs.shape:
                raise ValueError(f"{ours!r} and {rival!r} must have the same seeds on {table}")
            share = shares.get(table, USUAL_SHARE)
            tested = corrected_t(mine - theirs, share)
            logs = corrected_t(np.log(mine / theirs), share)
            low, high = (float(np.exp(logs.mean + side * logs.half)) for side in (-1, 1))
            ratio = float(mine.mean() / theirs.mean())
            found.append(Ratio(table, level, ours, rival, ratio, low, high, tested.p, mine.size))
    return found


def by_table(found: Iterable[Ratio]) -> dict[str, float]:
    """Return one ratio for each table: the geometric mean of its levels, the worst first."""
    logs: dict[str, list[float]] = {}
    for one in found:
        logs.setdefault(one.table, []).append(float(np.log(one.ratio)))
    means = {table: float(np.exp(np.mean(values))) for table, values in logs.items()}
    return dict(sorted(means.items(), key=lambda item: -item[1]))


def overall(values: Collection[float] | Array, *, seed: int = 0) -> Overall:
    """Return the geometric mean of ratios (tables,), and its interval by drawing tables.

    >>> overall([0.5, 2.0]).mean, overall([0.5, 2.0]).low, overall([0.8, 0.8]).high
    (1.0, 0.5, 0.8)
    """
    logs = np.log(np.array(list(values), dtype=float))
    if not logs.size:
        return Overall(np.nan, np.nan, np.nan, 0)
    drawn = np.random.default_rng(seed).integers(logs.size, size=(N_DRAWS, logs.size))
    low, high = np.quantile(logs[drawn].mean(axis=1), [0.025, 0.975])
    mean, low, high = (round(float(np.exp(v)), 12) for v in (logs.mean(), low, high))
    return Overall(mean, low, high, logs.size)


def targets(rows: Sequence[FieldRecord], ours: str = "strong", head: str = "head") -> list[Target]:
    """Return all goals of the field and what came of them."""
    there = {row.contestant for row in rows}
    if ours not in there or head not in there:
        return []
    tables = by_table(ratios(rows, ours))
    best = overall(tables.values())
    found = [_below("score against the best boosted rival", BEST_MEAN, best.mean)]
    for name, words in zip(BOOSTED, ("quantiles", "mean", "normalised"), strict=True):
        each = overall(by_table(ratios(rows, ours, [name])).values())
        found.append(_below(f"score against boosting, {words}", EACH_MEAN, each.mean))
    missed = sum(value > ON_A_TABLE for value in tables.values())
    goal = f"at most {EXCEPTIONS}"
    what = f"tables with a ratio above {ON_A_TABLE}"
    found.append(Target(what, goal, str(missed), _yes(missed <= EXCEPTIONS)))
    error = overall(by_table(ratios(rows, head, ["gb_split"], "rmse")).values())
    found.append(_below("head: RMSE against its base", HEAD_ERROR, error.mean))
    score = overall(by_table(ratios(rows, head, ["gb_split", "gb_normalised"])).values())
    found.append(_below("head: score against margins around its base", HEAD_SCORE, score.mean))
    behind = behind_on(rows, (ours, head))
    words = f"not ahead on {', '.join(behind)}" if behind else "ahead on all"
    goal = "ahead on WW, PM, PP"
    found.append(Target("the better of the two against boosting", goal, words, _yes(not behind)))
    return found


def behind_on(rows: Iterable[FieldRecord], ours: Sequence[str]) -> list[str]:
    """Return where of the paper's smooth tables none of ours is ahead of all boosted rivals."""
    rows = list(rows)
    found = []
    for level in LEVELS:
        of_each = [ratios(rows, name, tables=SMOOTH, levels=[level]) for name in ours]
        for places in zip(*of_each, strict=True):
            if min(one.ratio for one in places) >= 1:
                found.append(f"{places[0].table.upper()} at {100 * level:.0f} %")
    return found


def forest_of(found: Iterable[Ratio]) -> dict[str, dict[str, tuple[float, float]]]:
    """Return 100 times logarithms of ratios of one level, for `gt2lite.plots.forest`."""
    bars: dict[str, dict[str, tuple[float, float]]] = {}
    for one in found:
        low, high = 100 * np.log([one.low, one.high])
        value = float(low + high) / 2, float(high - low) / 2
        bars.setdefault(printed(one.table), {})[title(one.ours)] = value
    return bars


def use_of(table: str) -> str:
    """Return what a table was used for.

    >>> use_of("concrete"), use_of("airfoil"), use_of("ww")
    ('development', 'frozen', 'the paper')
    """
    return "development" if table in DEVELOPMENT else "frozen" if table in FROZEN else "the paper"


def _below(what: str, goal: float, value: float) -> Target:
    return Target(what, f"at most {goal:.2f}", f"{value:.3f}", _yes(value <= goal))


def _yes(met: bool) -> str:
    return "yes" if met else "no"
