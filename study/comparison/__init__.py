"""Comparison with other methods: data, methods, runs and analysis.

`data` has the data sets and their splits, `methods` and `competitors` the methods, `runs` what is
stored of them, `analysis` the ratios and their tests, `conditional` coverage given the inputs.
"""

from study.comparison.analysis import (
    by_dataset,
    costs,
    mean_ratio,
    overall,
    paired,
    ratios,
    summary,
)
from study.comparison.data import ALL, DEVELOPMENT, FROZEN, PUBLIC, SMOOTH, Case, printed, use_of
from study.comparison.methods import COMPETITORS, METHODS, TITLES
from study.comparison.runs import run, run_method

__all__ = [
    "ALL", "COMPETITORS", "DEVELOPMENT", "FROZEN", "METHODS", "PUBLIC", "SMOOTH", "TITLES", "Case",
    "by_dataset", "costs", "mean_ratio", "overall", "paired", "printed", "ratios", "run",
    "run_method", "summary", "use_of",
]  # fmt: skip
