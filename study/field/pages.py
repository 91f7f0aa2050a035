"""What the pages tell of the field: rows of tables and facts for sentences.

All of it is computed from stored records by the rules of `study.field.verdicts`. Where a
contestant or a table is missing, its rows are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from study.design import LEVELS
from study.field.contestant import FORMS, answer_name
from study.field.contestants import BOOSTED, CONTESTANTS
from study.field.parts import PARTS, Gain, mean_gain
from study.field.plans import seeds_of
from study.field.public import DEVELOPMENT, FROZEN, PUBLIC
from study.field.records import ChosenSettings, FieldRecord
from study.field.setting import TABLES, shape_of
from study.field.tables import printed, title, values_of
from study.field.verdicts import SMOOTH, Overall, by_table, overall, ratios, use_of
from study.pages import count, p_value

_WORDS = {"better": "better", "worse": "worse", "undecided": "open"}


class LossRow(NamedTuple):
    """A table on which ours is behind the best boosted rival, or ahead of it."""

    table: str
    verdict: str  # "better", "worse" or "open", at the first level
    ratio: float
    low: float  # of its interval
    high: float
    p: str
    other: float  # the ratio at the second level
    rival: str
    use: str


class MeanRow(NamedTuple):
    """A contestant over all tables: ratios to the best boosted rival, or to the boosted mean."""

    name: str
    score: str  # to the best boosted rival, both levels, with its interval
    width: str  # at equal coverage, likewise
    error: str  # RMSE to the boosted mean
    crps: str  # to the boosted mean, where it can be told
    coverage: str  # mean at both levels, in per cent
    seconds: float  # settings included


class AblationRow(NamedTuple):
    """Interval scores around the same estimates, as ratios to one margin for all rows."""

    name: str
    own: str
    planes: str
    normalised: str
    hybrid: str
    width: str  # of its own intervals at equal coverage


class UseRow(NamedTuple):
    """Ratios over the tables of one use."""

    use: str
    tables: int
    ratio: str


class TableRow(NamedTuple):
    """A table of the field."""

    table: str
    use: str
    rows: int
    inputs: int
    seeds: int


class FieldFacts(NamedTuple):
    """What is told of one contestant against the best boosted rival."""

    tables: int
    mean: float
    low: float
    high: float
    middle: float  # the median over tables
    ahead: str  # on how many tables its ratio is below 1
    better: int  # of the tests at 90 and 95 %
    worse: int
    undecided: int
    worst_table: str
    worst: float
    best_table: str
    best: float
    paper: str  # the same ratio on tables of the paper


class BestOn(NamedTuple):
    """Who has the smallest score on a table, and the scores of the two of ours for practice."""

    name: str
    score: float
    strong: float
    head: float


class CapFacts(NamedTuple):
    """How often boosting would have liked more trees."""

    models: int
    binds: int
    share: float  # per cent
    where: str


def loss_rows(
    rows: Sequence[FieldRecord], ours: str, *, losses: bool = True, tables: Sequence[str] = PUBLIC
) -> list[LossRow]:
    """Return the tables on which ours is behind, the worst first; or those where it is ahead."""
    first, second = (
        {one.table: one for one in ratios(rows, ours, tables=tables, levels=[level])}
        for level in LEVELS
    )
    order = by_table([*first.values(), *second.values()])
    return [
        LossRow(
            printed(table),
            _WORDS[first[table].verdict],
            first[table].ratio,
            first[table].low,
            first[table].high,
            p_value(first[table].p),
            second[table].ratio,
            title(first[table].rival),
            use_of(table),
        )
        for table, ratio in order.items()
        if (ratio > 1) == losses
    ]


def mean_rows(rows: Sequence[FieldRecord], names: Iterable[str]) -> list[MeanRow]:
    """Return contestants over all tables, in the order of their names."""
    errors = {level: values_of(_public(rows), "picp", level=level) for level in LEVELS}
    found = []
    for name in names:
        score = _told(rows, name, BOOSTED, "interval_score")
        if score:
            covered = [np.mean([v.mean() for v in errors[p][name].values()]) for p in LEVELS]
            found.append(
                MeanRow(
                    title(name),
                    score,
                    _told(rows, name, BOOSTED, "equal_pinaw"),
                    _told(rows, name, ["gb_split"], "rmse", interval=False),
                    _told(rows, name, ["gb_split"], "crps", interval=False),
                    " / ".join(f"{100 * c:.1f}" for c in covered),
                    _seconds(rows, name),
                )
            )
    return found


def ablation_rows(rows: Sequence[FieldRecord]) -> list[AblationRow]:
    """Return what intervals of several kinds around the same estimates are worth."""
    found = []
    for name, contestant in CONTESTANTS.items():
        base = [answer_name(name, "constant")]
        if "constant" in contestant.forms and by_table(ratios(rows, name, base)):
            told = {
                form: _told(rows, answer_name(name, form), base, "interval_score")
                for form in FORMS
                if form != "constant"
            }
            width = _told(rows, name, base, "equal_pinaw")
            planes = told["planes"] if "planes" in contestant.forms else told[""]
            row = title(name), told[""], planes, told["normalised"], told["hybrid"]
            found.append(AblationRow(*row, width))
    return found


def use_rows(rows: Sequence[FieldRecord], ours: str) -> list[UseRow]:
    """Return the ratio to the best boosted rival on tables of development and on frozen ones."""
    uses = {"development": DEVELOPMENT, "frozen": FROZEN, "all": PUBLIC}
    found = []
    for use, tables in uses.items():
        mean = overall(by_table(ratios(rows, ours, tables=tables)).values())
        if mean.n:
            found.append(UseRow(use, mean.n, _interval(mean)))
    return found


def table_rows() -> list[TableRow]:
    """Return all tables of the field."""
    return [
        TableRow(printed(table), use_of(table), *shape_of(table), len(seeds_of(table)))
        for table in TABLES
    ]


def field_facts(rows: Sequence[FieldRecord], ours: str) -> FieldFacts:
    """Return what is told of a contestant over all tables."""
    found = ratios(rows, ours)
    tables = by_table(found)
    mean = overall(tables.values())
    verdicts = [one.verdict for one in found]
    (worst_table, worst), *_ = [*tables.items(), ("no table", np.nan)]
    best_table, best = list(tables.items())[-1] if tables else ("no table", np.nan)
    return FieldFacts(
        mean.n,
        mean.mean,
        mean.low,
        mean.high,
        float(np.median(list(tables.values()))) if tables else np.nan,
        count(sum(value < 1 for value in tables.values()), "table", "tables"),
        verdicts.count("better"),
        verdicts.count("worse"),
        verdicts.count("undecided"),
        printed(worst_table),
        worst,
        printed(best_table),
        best,
        _on_paper(rows, ours),
    )


def _on_paper(rows: Sequence[FieldRecord], ours: str) -> str:
    found = by_table(ratios(rows, ours, tables=SMOOTH))
    return ", ".join(f"{found[name]:.2f} on {name.upper()}" for name in SMOOTH if name in found)


def best_on(rows: Sequence[FieldRecord], names: Iterable[str], table: str) -> BestOn:
    """Return who of some contestants has the smallest score on a table at the first level."""
    values = values_of(rows, "interval_score", level=LEVELS[0])
    means = {n: float(values[n][table].mean()) for n in names if table in values.get(n, {})}
    best = min(means, key=means.__getitem__, default="")
    scores = (means.get(name, np.nan) for name in (best, "strong", "head"))
    return BestOn(title(best) if best else "nobody", *scores)


def what_is_stored(rows: Sequence[FieldRecord]) -> str:
    """Return a warning where the study is not complete, in Markdown; nothing where it is.

    >>> what_is_stored([])[:35]
    '**The stored study is not complete.'
    """
    there = {row.dataset for row in rows}
    missing = [name for name in (*DEVELOPMENT, *FROZEN) if name not in there]
    if not missing:
        return ""
    return (
        f"**The stored study is not complete.** It lacks {len(missing)} of the "
        f"{len(DEVELOPMENT) + len(FROZEN)} public tables, so that counts over tables are of what "
        "is there, or of nothing, and no conclusion about the strong system can be drawn from this "
        "page yet. `make field` runs what is missing, in about an hour and a half on two cores."
    )


def cap_facts(settings: Iterable[ChosenSettings]) -> CapFacts:
    """Return how many boosted models ended at the largest number of trees that was allowed."""
    boosted = [one for one in settings if one.contestant in BOOSTED and one.trees is not None]
    bound = [one for one in boosted if one.binds]
    tables = ", ".join(dict.fromkeys(printed(one.dataset) for one in bound))
    share = 100 * len(bound) / len(boosted) if boosted else 0.0
    return CapFacts(len(boosted), len(bound), share, tables or "no table")


def gain_bars(found: Sequence[Gain]) -> dict[str, dict[str, tuple[float, float]]]:
    """Return gains for `gt2lite.plots.forest`, the mean last; they have no bars of their own."""
    rows = [*found, mean_gain(found)] if found else []
    return {
        printed(gain.table): {part: (getattr(gain, part), 0.0) for part in PARTS} for gain in rows
    }


def _public(rows: Iterable[FieldRecord]) -> list[FieldRecord]:
    return [row for row in rows if row.dataset in PUBLIC]


def _told(
    rows: Sequence[FieldRecord],
    ours: str,
    rivals: Sequence[str],
    metric: str,
    *,
    interval: bool = True,
) -> str:
    """Return a geometric mean of ratios in words, or nothing where there is none."""
    others = [name for name in rivals if name != ours]
    mean = overall(by_table(ratios(rows, ours, others, metric)).values())
    if not mean.n:
        return ""
    return _interval(mean) if interval else f"{mean.mean:.2f}"


def _interval(mean: Overall) -> str:
    return f"{mean.mean:.2f} ({mean.low:.2f} to {mean.high:.2f})"


def _seconds(rows: Sequence[FieldRecord], name: str) -> float:
    """Return what a contestant takes for the first level, settings included: mean over tables."""
    spent = [values_of(_public(rows), f"{part}_seconds") for part in ("first", "tuning")]
    totals = [sum(float(v[name][table].mean()) for v in spent) for table in spent[0][name]]
    return float(np.mean(totals))
