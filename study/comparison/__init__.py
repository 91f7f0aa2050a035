"""Comparison with other methods: data, methods, runs and analysis.

`data` has the data sets and their splits, `methods` the methods, `runs` what is stored of them,
`analysis` the ratios and verdicts, `conditional` coverage in bins of rows, `margins` the families
of intervals that one number calibrates, `known_noise` a small study on made-up data.
"""

from study.comparison.analysis import (
    PARTS,
    by_dataset,
    gains,
    goals,
    mean_ratio,
    overall,
    paired,
    ratios,
    standing,
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
from study.comparison.methods import BOOSTED, IN_STUDY, METHODS, TITLES
from study.comparison.runs import MOST_ROWS, SMALL, run, run_method, seeds_of

__all__ = [
    "ALL",
    "BOOSTED",
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
    "by_dataset",
    "gains",
    "goals",
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
    "use_of",
]
