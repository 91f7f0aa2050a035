"""Comparison with other methods: data, methods, runs and analysis.

`data` has the data sets and their splits, `methods` and `competitors` the methods, `runs` what is
stored of them, `analysis` the ratios and their tests, `conditional` coverage given the inputs,
`steadiness` the same runs on other processors.
"""

from study.comparison.analysis import (
    against_each,
    budgets,
    by_dataset,
    by_use,
    costs,
    elsewhere,
    extent,
    factors,
    goals,
    headline,
    is_small,
    leverage,
    mean_ratio,
    overall,
    paired,
    ratios,
    seeds_in_words,
    spread,
    summary,
    verdict,
    without_each,
)
from study.comparison.data import ALL, DEVELOPMENT, FROZEN, PUBLIC, SMOOTH, Case, printed, use_of
from study.comparison.methods import COMPETITORS, METHODS, TITLES
from study.comparison.runs import run, run_method

__all__ = [
    "ALL", "COMPETITORS", "DEVELOPMENT", "FROZEN", "METHODS", "PUBLIC", "SMOOTH", "TITLES", "Case",
    "against_each", "budgets", "by_dataset", "by_use", "costs", "elsewhere", "extent", "factors",
    "goals", "headline", "is_small", "leverage", "mean_ratio", "overall", "paired", "printed",
    "ratios", "run", "run_method", "seeds_in_words", "spread", "summary", "use_of", "verdict",
    "without_each",
]  # fmt: skip
