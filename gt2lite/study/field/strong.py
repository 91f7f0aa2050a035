"""The strong system against the paper's and against gradient boosting."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gt2lite.datasets import DATASETS
from gt2lite.study.field.pairs import Paired, paired
from gt2lite.study.field.records import FieldRecord
from gt2lite.study.report import NO_BREAK, compared, count, p_value

_AGAINST = {
    "paper": ("paper", "equal_pinaw"),
    "cqr": ("gb_cqr", "equal_pinaw"),
    "split": ("gb_split", "equal_pinaw"),
    "score": ("gb_cqr", "interval_score"),
}


class StrongRow(NamedTuple):
    """By how many per cent the strong system is larger on a data set at a level, and p-values."""

    row: str
    paper: float
    p_paper: str
    cqr: float
    p_cqr: str
    split: float
    p_split: str
    score: float
    p_score: str


class StrongFacts(NamedTuple):
    """The same in words; data sets and levels by what the test says."""

    gain: str  # width against the paper's recipe, on average
    verdict: str  # whether it is as narrow as boosted quantiles
    cqr_less: str
    cqr_more: str
    cqr_undecided: str
    split_less: str
    split_more: str
    split_undecided: str
    score_less: str
    score_more: str
    score_undecided: str


def strong_rows(rows: Iterable[FieldRecord]) -> list[StrongRow]:
    """Return a row for each data set and level."""
    found = []
    for parts in zip(*_tests(list(rows)).values(), strict=True):
        values: dict[str, Any] = {}
        for key, part in zip(_AGAINST, parts, strict=True):
            values |= {key: part.percent, f"p_{key}": p_value(part.p)}
        found.append(StrongRow(_where(parts[0]), **values))
    return found


def strong_facts(rows: Iterable[FieldRecord]) -> StrongFacts:
    """Return what is told about the strong system."""
    tests = _tests(list(rows))
    lists = {
        f"{key}_{word}": _listed(found, word)
        for key, found in tests.items()
        if key != "paper"
        for word in ("less", "more", "undecided")
    }
    n_more = sum(test.verdict == "more" for test in tests["cqr"])
    wider = count(n_more, "row", "rows")
    verdict = f"is {'missed' if n_more else 'reached'}: wider beyond chance in {wider}"
    gain = float(np.mean([test.percent for test in tests["paper"]]))
    return StrongFacts(
        compared(gain, "narrower", "wider"), f"{verdict} of {len(tests['cqr'])}", **lists
    )


def _tests(rows: list[FieldRecord]) -> dict[str, list[Paired]]:
    rows = [row for row in rows if row.dataset in DATASETS]  # those of the paper
    return {key: paired(rows, "strong", *against) for key, against in _AGAINST.items()}


def _where(test: Paired) -> str:
    return f"{test.dataset.upper()} {100 * test.level:.0f}{NO_BREAK}%"


def _listed(found: Sequence[Paired], word: str) -> str:
    """Return the data sets and levels with a verdict, in words."""
    places = [f"{test.dataset.upper()} at {100 * test.level:.0f}{NO_BREAK}%" for test in found
              if test.verdict == word]  # fmt: skip
    return ", ".join(places) or "no data set"
