"""Who takes part in the field, in the order of its tables. To add a contestant, add it here."""

from __future__ import annotations

from gt2lite.presets import STRONG
from gt2lite.recipe import Recipe
from gt2lite.study.field.boosted import Boosted
from gt2lite.study.field.contestant import Contestant
from gt2lite.study.field.fuzzy import Direct, System
from gt2lite.study.field.linear import Linear
from gt2lite.study.field.point import Point

_ALL: tuple[Contestant, ...] = (
    System("paper", "GT2-FLS", Recipe()),
    Point("paper_point", "GT2-FLS, output only", Recipe()),
    System("aligned", "GT2-FLS, aligned", Recipe(objective="aligned")),
    System("strong", "GT2-FLS, strong", STRONG),
    Direct("direct", "GT2-FLS per level"),
    Direct("direct_85", "GT2-FLS per level, 85 %", calibrated=False),
    Boosted("gb_cqr", "boosted quantiles", "quantiles"),
    Boosted("gb_split", "boosted mean", "mean"),
    Linear("linear_cqr", "linear quantiles"),
)

CONTESTANTS = {contestant.name: contestant for contestant in _ALL}
"""Who takes part, by name."""
