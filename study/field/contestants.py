"""Who takes part in the field, in the order of its tables. To add a contestant, add it here."""

from __future__ import annotations

from study.field.boosted import BoostedMean, BoostedQuantiles
from study.field.contestant import Contestant
from study.field.estimated import Estimated, Strong
from study.field.forest import Forest
from study.field.fuzzy import Direct, It2
from study.field.head import Head
from study.field.linear import Linear
from study.field.simultaneous import Simultaneous

_ALL: tuple[Contestant, ...] = (
    Estimated("paper", "GT2-FLS"),
    Estimated("aligned", "GT2-FLS, aligned", "aligned"),
    Strong("strong", "GT2-FLS, strong"),
    Head("head", "GT2-FLS head"),
    Simultaneous("sqr", "GT2-FLS, SQR"),
    It2("it2", "IT2-FLS per level"),
    Direct("direct", "GT2-FLS per level"),
    Direct("direct_85", "GT2-FLS per level, 85 %", calibrated=False),
    BoostedQuantiles("gb_cqr", "boosted quantiles"),
    BoostedMean("gb_split", "boosted mean"),
    BoostedMean("gb_normalised", "boosted mean, normalised", normalised=True),
    Forest("forest", "quantile forest"),
    Linear("linear_cqr", "linear quantiles"),
)

CONTESTANTS = {contestant.name: contestant for contestant in _ALL}
"""Who can take part, by name."""

OF_CHAPTER = ("direct", "direct_85")
"""Systems of the chapter on narrower planes, which trains them itself: not in the stored field."""

LONG = ("sqr",)
"""Whose trainings are too long for the stored field: they take part where asked for by name."""

BOOSTED = ("gb_cqr", "gb_split", "gb_normalised")
"""The rivals of the targets: the best of them, by mean over the seeds, is the one to beat."""


def everyone() -> dict[str, Contestant]:
    """Return the contestant behind each name in records: own intervals and ablations."""
    return {name: one for one in CONTESTANTS.values() for name in one.answer_names()}
