"""What a run of the protocol amounts to: our tables, and counts of its verdicts.

Everything here is counted or averaged from records, from verdicts on cells
(`gt2lite.study.cells`) or from verdicts on claims (`gt2lite.study.claims`), in the units of the
paper's tables: per cent, and RMSE and PINAW times 100. What calibration gives by itself, see
`gt2lite.study.calibrated`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from gt2lite._checks import Array
from gt2lite.study.cells import Verdict, Winner
from gt2lite.study.claims import ClaimVerdict
from gt2lite.study.design import METHODS
from gt2lite.study.judging import CHANCE, FAILS, HOLDS, UNTESTABLE
from gt2lite.study.paper import Claim, claims
from gt2lite.study.records import Record
from gt2lite.study.report import NO_BREAK
from gt2lite.study.statistics import SIGNIFICANCE, expected_gap

METRICS = ("rmse", "picp", "pinaw")


class Spread(NamedTuple):
    r"""Mean and standard deviation over the runs that have an answer, and how many have none.

    As text it is what the tables print, with a star for each run without an answer.

    >>> str(Spread(90.123, 0.5, 2)), str(Spread(math.nan, math.nan, 5))
    ('90.12 ± 0.50\\*\\*', '-\\*\\*\\*\\*\\*')
    """

    mean: float
    std: float
    lacking: int

    def __str__(self) -> str:
        known = "-" if math.isnan(self.std) else f"{self.mean:.2f} ± {self.std:.2f}"
        return known + r"\*" * self.lacking


def spread(values: Sequence[float] | Array) -> Spread:
    """Return mean and standard deviation of values of which some may be NaN.

    >>> spread([1.0, 3.0, math.nan])
    Spread(mean=2.0, std=1.4142135623730951, lacking=1)
    """
    x = np.asarray(values, dtype=float)
    good = x[~np.isnan(x)]
    lacking = x.size - good.size
    if good.size < 2:  # no spread to tell
        return Spread(float(good[0]) if good.size else math.nan, math.nan, lacking)
    return Spread(float(good.mean()), float(good.std(ddof=1)), lacking)


def row_name(dataset: str, level: float) -> str:
    r"""Return what the pages call a row of the tables.

    >>> row_name("ww", 0.9)
    'WW 90\xa0%'
    """
    return f"{dataset.upper()} {100 * level:.0f}{NO_BREAK}%"


def cell_values(
    records: Iterable[Record], metric: str, dataset: str, model: str, level: float, method: str
) -> Array:
    """Return a field of the records of a cell (seeds,); of look-up tables the paper's."""
    cell = dataset, model, level, method
    return np.array([getattr(r, metric) for r in records if r.is_standard and r.cell == cell])


# --------------------------------------------------------------------------- the tables


def seconds_trained(records: Iterable[Record]) -> float:
    """Return the processor seconds of all trainings, each counted once."""
    spent = {
        (row.dataset, row.seed, row.model, row.level): row.train_cpu_seconds
        for row in records
        if row.method == "trained"
    }
    return sum(spent.values())


class TableRow(NamedTuple):
    """A row of our Table I or II; the better value is bold."""

    set: str
    metric: str
    trained: str
    calibrated: str


def table_of(records: Sequence[Record], level: float) -> list[TableRow]:
    """Return our Table I or II: three rows for each data set that the records hold."""
    return [
        _table_row(records, dataset, metric, level)
        for dataset in dict.fromkeys(r.dataset for r in records)
        for metric in METRICS
    ]


def _table_row(records: Sequence[Record], dataset: str, metric: str, level: float) -> TableRow:
    pair = [
        spread(100 * cell_values(records, metric, dataset, model, level, METHODS[model]))
        for model in ("trained", "calibrated")
    ]
    target = 100 * level if metric == "picp" else 0.0
    better = int(np.argmin([abs(side.mean - target) for side in pair]))
    texts = [f"**{side}**" if i == better else str(side) for i, side in enumerate(pair)]
    return TableRow(dataset.upper(), metric.upper(), *texts)


# ------------------------------------------------------------------------- the verdicts


class Agreement(NamedTuple):
    """How many cells agree, and how large the differences are in pooled standard deviations."""

    cells: int
    agrees: int
    better: int
    differs: int
    raw: int  # with p < 5 %, were they tested alone
    smallest: float  # p-value after Holm's correction
    median: float
    mean: float
    largest: float
    near: int  # differences below 1
    expected: float  # the mean difference of two samples of five from one bell curve


def agreement(cells: Sequence[Verdict]) -> Agreement:
    """Return counts and sizes of the verdicts on cells; without any, all counts are 0."""
    words = [v.verdict for v in cells]
    sizes = [abs(v.difference_in_std) for v in cells] or [0.0]
    return Agreement(
        cells=len(cells),
        agrees=words.count("agrees"),
        better=words.count("better"),
        differs=words.count("differs"),
        raw=sum(v.p < SIGNIFICANCE for v in cells),
        smallest=min((v.p_holm for v in cells), default=1.0),
        median=float(np.median(sizes)),
        mean=float(np.mean(sizes)),
        largest=max(sizes),
        near=sum(size < 1 for size in sizes) if cells else 0,
        expected=expected_gap(5),
    )


class CellRow(NamedTuple):
    """A published cell and ours as a page shows them."""

    set: str
    cell: str
    paper: str
    ours: str
    apart: float  # in pooled standard deviations
    p: float
    verdict: str


def cell_rows(cells: Iterable[Verdict]) -> list[CellRow]:
    """Return verdicts as a page shows them."""
    return [
        CellRow(
            v.dataset.upper(),
            f"{v.metric.upper()} {100 * v.level:.0f}{NO_BREAK}% {v.model}",
            f"{v.paper_mean:.2f} ± {v.paper_std:.2f}",
            f"{v.our_mean:.2f} ± {v.our_std:.2f}",
            v.difference_in_std,
            v.p,
            v.verdict,
        )
        for v in cells
    ]


class WinnerRow(NamedTuple):
    """Who wins a row, as a page shows it."""

    row: str
    paper: str
    here: str
    difference: float
    chance: str


def winner_rows(won: Iterable[Winner]) -> list[WinnerRow]:
    """Return winners as a page shows them."""
    short = {"trained": "GT2", "calibrated": "C-GT2", "tie": "tie"}
    return [
        WinnerRow(
            f"{row_name(w.dataset, w.level)} {w.metric.upper()}",
            short[w.bold],
            short[w.winner],
            w.difference,
            "yes" if w.within_chance else "no",
        )
        for w in won
    ]


class WinnerCount(NamedTuple):
    """In how many rows the winner is the paper's, and in how many there is one beyond chance."""

    rows: int
    same: int
    same_rmse: int
    same_picp: int
    same_pinaw: int
    beyond: int  # another winner, beyond chance
    clear: int  # a winner beyond chance, whoever it is


def count_winners(won: Sequence[Winner]) -> WinnerCount:
    """Return how often the winners are the paper's."""
    same = [w.metric for w in won if w.agrees]
    return WinnerCount(
        rows=len(won),
        same=len(same),
        same_rmse=same.count("rmse"),
        same_picp=same.count("picp"),
        same_pinaw=same.count("pinaw"),
        beyond=sum(not w.agrees and not w.within_chance for w in won),
        clear=sum(not w.within_chance for w in won),
    )


class Tally(NamedTuple):
    """How many claims have which verdict."""

    claims: int
    hold: int
    fail: int
    chance: int
    untested: int


class JudgedClaim(NamedTuple):
    """A claim, where it stands, and what came of it."""

    claim: str
    place: str
    verdict: str
    explanation: str


def tally(checked: Sequence[ClaimVerdict]) -> Tally:
    """Return how many claims have which verdict."""
    words = [c.verdict for c in checked]
    return Tally(len(words), *(words.count(word) for word in (HOLDS, FAILS, CHANCE, UNTESTABLE)))


def judged_claims(checked: Iterable[ClaimVerdict]) -> list[JudgedClaim]:
    """Return each claim in our words with its verdict."""
    told: Mapping[str, Claim] = {claim.id: claim for claim in claims()}
    return [
        JudgedClaim(told[c.id].claim, told[c.id].place, c.verdict, c.explanation) for c in checked
    ]


class ModeDistance(NamedTuple):
    """The mean distance of a metric from the paper's cells, in pooled standard deviations."""

    metric: str
    ours: float
    authors: float


def distances(ours: Sequence[Verdict], authors: Sequence[Verdict]) -> list[ModeDistance]:
    """Return how far our mode and that of the authors' code are from the paper, by metric."""
    return [
        ModeDistance(
            metric.upper(),
            *(
                float(np.mean([abs(v.difference_in_std) for v in cells if v.metric == metric]))
                for cells in (ours, authors)
            ),
        )
        for metric in METRICS
        if ours and authors
    ]
