"""What the first page says of the field: planes against the plainest interval there is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from study.field.contestant import answer_name
from study.field.contestants import BOOSTED
from study.field.records import FieldRecord
from study.field.verdicts import Overall, by_table, overall, ratios
from study.pages import compared, percent

NOTHING = "not yet known, because the stored study has no such runs"


class Headline(NamedTuple):
    """Interval scores over public tables, in words: geometric means of ratios."""

    tables: int
    constant: str  # against a constant margin around the same estimates
    boosted: str  # against the best of the boosted rivals, in hindsight


def headline(rows: Sequence[FieldRecord], name: str = "strong") -> Headline:
    """Return how the interval scores of a contestant compare.

    Args:
        rows: of the field.
        name: of the contestant.
    """
    same = overall(by_table(ratios(rows, name, [answer_name(name, "constant")])).values())
    rivals = overall(by_table(ratios(rows, name, BOOSTED)).values())
    return Headline(same.n, _words(same), _words(rivals))


def _words(mean: Overall) -> str:
    """Return a mean ratio as a comparison with its interval."""
    if not mean.n:
        return NOTHING
    low, high = (percent(100 * (end - 1)) for end in (mean.low, mean.high))
    told = compared(100 * (mean.mean - 1), "smaller", "larger")
    return f"{told} (95 % interval of the difference: {low} to {high})"
