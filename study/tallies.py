"""Verdicts counted, and verdicts as a page shows them.

Everything here is counted from verdicts on cells (`study.cells`) or on claims
(`study.claims`), in the units of the paper's tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from study.cells import MARGINS, Compared, Verdict, Winner
from study.claims import ClaimVerdict
from study.judging import CHANCE, FAILS, HOLDS, UNTESTABLE
from study.pages import NO_BREAK, p_value
from study.paper import Claim, claims
from study.reproduction import METRICS, row_name
from study.statistics import SIGNIFICANCE


class Agreement(NamedTuple):
    """How many of the distinct results are refuted, and how many shown to be equivalent."""

    results: int
    refuted: int
    better: int  # of the refuted
    worse: int
    kept: int  # not refuted
    raw: int  # with p < 5 %, were they tested alone
    smallest: float  # p-value after Holm's correction
    spreads: int  # refuted spreads
    spreads_raw: int
    equivalent: int
    both: int  # equivalent and not refuted
    only_kept: int  # not refuted, and not shown to be equivalent either
    median: float  # difference in pooled standard deviations
    largest: float


class Margin(NamedTuple):
    """How many results are shown to be equal within a margin, and how many could be at best."""

    margin: str
    shown: int
    shown_holm: int
    best: int
    best_holm: int


def agreement(cells: Sequence[Verdict]) -> Agreement:
    """Return counts and sizes of the verdicts on distinct results; without any, all are 0."""
    own = [v for v in cells if not v.repeated]
    sizes = [abs(v.difference_in_std) for v in own] or [0.0]
    kept = [v for v in own if v.refuted == "no"]
    return Agreement(
        results=len(own),
        refuted=len(own) - len(kept),
        better=sum(v.refuted == "better" for v in own),
        worse=sum(v.refuted == "worse" for v in own),
        kept=len(kept),
        raw=sum(v.p < SIGNIFICANCE for v in own),
        smallest=min((v.p_holm for v in own), default=1.0),
        spreads=sum(v.p_spread_holm < SIGNIFICANCE for v in own),
        spreads_raw=sum(v.p_spread < SIGNIFICANCE for v in own),
        equivalent=sum(v.equivalent for v in own),
        both=sum(v.equivalent for v in kept),
        only_kept=sum(not v.equivalent for v in kept),
        median=float(np.median(sizes)),
        largest=max(sizes),
    )


def against(found: Agreement) -> str:
    """Return in words how many results are refuted and in which direction, to follow "and".

    >>> from types import SimpleNamespace as Counts
    >>> against(Counts(refuted=1, better=1, worse=0))
    '1 is: it comes out better here'
    >>> against(Counts(refuted=3, better=2, worse=1)), against(Counts(refuted=0))
    ('3 are: 2 better here, 1 worse', 'none is')
    """
    if not found.refuted:
        return "none is"
    if found.refuted == 1:
        return f"1 is: it comes out {'better' if found.better else 'worse'} here"
    return f"{found.refuted} are: {found.better} better here, {found.worse} worse"


def margins(cells: Iterable[Verdict]) -> list[Margin]:
    """Return for each margin how many distinct results are shown to be equal within it."""
    own = [v for v in cells if not v.repeated]
    out = []
    for k, (share, points) in enumerate(MARGINS):
        wide = [points if v.metric == "picp" else share for v in own]
        out.append(
            Margin(
                f"{share:g}{NO_BREAK}%, {points:g} {'point' if points == 1 else 'points'} of PICP",
                sum(v.p_equal[k] < SIGNIFICANCE for v in own),
                sum(v.p_equal_holm[k] < SIGNIFICANCE for v in own),
                sum(v.best < limit for v, limit in zip(own, wide, strict=True)),
                sum(v.p_best_holm[k] < SIGNIFICANCE for v in own),
            )
        )
    return out


def in_margins(v: Verdict) -> tuple[float, float]:
    """Return a difference and half of its 90 % interval, in units of the first margin.

    Where the interval lies between -1 and 1, the two means are shown to be equal.
    """
    share, points = MARGINS[0]
    unit = points if v.metric == "picp" else share * v.paper_mean / 100
    widest = v.margin / (points if v.metric == "picp" else share)
    return v.difference / unit, widest - abs(v.difference / unit)


class CellRow(NamedTuple):
    """A published cell and ours as a page shows them."""

    set: str
    cell: str
    refuted: str
    equivalent: str
    margin: str
    best: str
    paper: str
    ours: str
    apart: float  # in pooled standard deviations
    p: str
    p_spread: str


def cell_rows(cells: Iterable[Verdict]) -> list[CellRow]:
    """Return verdicts as a page shows them."""
    return [
        CellRow(
            v.dataset.upper(),
            f"{v.metric.upper()} {100 * v.level:.0f}{NO_BREAK}% {v.model}",
            v.refuted,
            "yes" if v.equivalent else "no",
            _unit(v, v.margin),
            _unit(v, v.best),
            f"{v.paper_mean:.2f} ± {v.paper_std:.2f}",
            f"{v.our_mean:.2f} ± {v.our_std:.2f}",
            v.difference_in_std,
            p_value(v.p),
            p_value(v.p_spread),
        )
        for v in cells
    ]


def _unit(v: Verdict, size: float) -> str:
    return f"{size:.1f}{NO_BREAK}{'points' if v.metric == 'picp' else '%'}"


class WinnerRow(NamedTuple):
    """Who wins a row, as a page shows it."""

    row: str
    paper: str
    here: str
    difference: float
    half: float
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
            w.half,
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
    """How many claims there are, and how many of the different ones have which verdict."""

    entries: int
    claims: int
    hold: int
    fail: int
    chance: int
    untested: int


class JudgedClaim(NamedTuple):
    """A claim, where it stands, and what came of it."""

    claim: str
    group: str
    place: str
    verdict: str
    explanation: str
    name: str


def group_verdicts(checked: Iterable[ClaimVerdict]) -> dict[str, str]:
    """Return a verdict for each group of claims that say the same thing.

    What fails in one place fails; what is undecided in one place is undecided.
    """
    group_of = {claim.id: claim.group for claim in claims()}
    words: dict[str, set[str]] = {}
    for c in checked:
        words.setdefault(group_of[c.id], set()).add(c.verdict)
    order = (FAILS, CHANCE, HOLDS, UNTESTABLE)
    return {group: next(w for w in order if w in found) for group, found in words.items()}


def tally(checked: Sequence[ClaimVerdict]) -> Tally:
    """Return how many claims have which verdict; those that say the same count once."""
    words = list(group_verdicts(checked).values())
    counts = (words.count(word) for word in (HOLDS, FAILS, CHANCE, UNTESTABLE))
    return Tally(len(checked), len(words), *counts)


def judged_claims(checked: Iterable[ClaimVerdict]) -> list[JudgedClaim]:
    """Return each claim in our words with its verdict."""
    told: Mapping[str, Claim] = {claim.id: claim for claim in claims()}
    return [
        JudgedClaim(one.claim, one.group, one.place, c.verdict, c.explanation, c.id)
        for c in checked
        for one in [told[c.id]]
    ]


def judged_groups(checked: Sequence[ClaimVerdict]) -> list[JudgedClaim]:
    """Return each different claim, told by the entry that its group is named after."""
    verdict = group_verdicts(checked)
    named = judged_claims(c for c in checked if c.id in verdict)
    return [one._replace(verdict=verdict[one.group]) for one in named]


class GainRow(NamedTuple):
    """The mean gain of a row of a claim, with half of its 95 % intervals."""

    claim: str
    row: str
    gain: float
    p: str
    half: float  # over re-splits
    half_here: float  # for this table alone


def gain_rows(checked: Iterable[ClaimVerdict]) -> list[GainRow]:
    """Return the rows of all claims that compare two methods seed by seed."""
    return [
        GainRow(c.id, row, c.numbers[row], p_value(c.numbers[f"{row} p"]), half, alone)
        for c in checked
        for name, half in c.numbers.items()
        if name.endswith(" half")
        for row in [name.removesuffix(" half")]
        for alone in [c.numbers[f"{row} half here"]]
    ]


class ModeDistance(NamedTuple):
    """The mean distance of a metric from the paper's cells, in pooled standard deviations."""

    metric: str
    ours: float
    authors: float


def distances(ours: Sequence[Compared], authors: Sequence[Compared]) -> list[ModeDistance]:
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


ALIKE = 0.1
"""Distances that differ by less, in pooled standard deviations, are told as equal."""


def distances_told(found: Iterable[ModeDistance]) -> str:
    """Return in words in which metrics the authors' mode is farther from the paper than ours.

    >>> distances_told([ModeDistance("RMSE", 0.6, 1.8), ModeDistance("PICP", 0.5, 0.5)])
    'farther from the paper in RMSE, about as far in PICP'
    """
    groups: dict[str, list[str]] = {"farther from the paper": [], "nearer": [], "about as far": []}
    for one in found:
        gap = one.authors - one.ours
        word = "about as far" if abs(gap) < ALIKE else "farther from the paper"
        groups["nearer" if gap <= -ALIKE else word].append(one.metric)
    told = [f"{word} in {' and '.join(names)}" for word, names in groups.items() if names]
    return ", ".join(told) or "not compared here"
