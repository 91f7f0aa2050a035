"""Comparison with other methods: data, methods, runs and analysis.

`data` has the data sets and their splits, `methods` and `competitors` the methods, `runs` what is
stored of them, `analysis` the ratios and verdicts, `conditional` coverage given the inputs,
`margins` the families of intervals that one number calibrates, `known_noise` a small study on
made-up data.
"""

from study.comparison.analysis import (
    PARTS,
    against_each,
    by_dataset,
    costs,
    gains,
    goals,
    losses,
    mean_ratio,
    overall,
    paired,
    ratios,
    standing,
    summary,
    with_sqr,
)
from study.comparison.data import (
    ALL,
    DEVELOPMENT,
    FROZEN,
    LEVELS,
    PUBLIC,
    SMOOTH,
    Case,
    printed,
    shape_of,
    use_of,
)
from study.comparison.methods import BOOSTED, COMPETITORS, IN_STUDY, METHODS, TITLES
from study.comparison.runs import MOST_ROWS, SMALL, run, run_method, seeds_of

__all__ = [
    "ALL",
    "BOOSTED",
    "COMPETITORS",
    "DEVELOPMENT",
    "FROZEN",
    "IN_STUDY",
    "LEVELS",
    "METHODS",
    "MOST_ROWS",
    "PARTS",
    "PUBLIC",
    "SMALL",
    "SMOOTH",
    "TITLES",
    "Case",
    "against_each",
    "by_dataset",
    "costs",
    "gains",
    "goals",
    "losses",
    "mean_ratio",
    "overall",
    "paired",
    "printed",
    "ratios",
    "run",
    "run_method",
    "seeds_of",
    "shape_of",
    "standing",
    "summary",
    "use_of",
    "with_sqr",
]
