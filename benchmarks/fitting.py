"""The price of a fit: `GT2Regressor.strong()` beside CatBoost's quantiles with their tuning.

CPU seconds, on the development sets of the method comparison and with its training rows. Both
choose their settings inside the training set and learn all that the levels 90% and 95% need. They
are measured in turns, so that a busy machine slows down both.
"""

from __future__ import annotations

import functools
import statistics
import warnings

import _measure
import numpy as np

from gt2lite import GT2Regressor
from study.comparison.competitors import catboost_quantiles, timed
from study.comparison.data import DEVELOPMENT, Case
from study.comparison.runs import MOST_ROWS


def strong(case: Case) -> float:
    """Return the CPU seconds of a fit with its choice of settings."""
    rows = case.data.split.train
    reg = GT2Regressor.strong(random_state=case.seed, verbose=False)
    fit = functools.partial(reg.fit, case.table.X[rows], case.table.y[rows])
    return timed(fit)[1]


def catboost(case: Case) -> float:
    """Return the CPU seconds of tuning and training."""
    found = catboost_quantiles(case)
    return found.first_seconds + found.further_seconds + found.tuning_seconds


def main() -> None:
    """Time, print, write."""
    args = _measure.options(__doc__, datasets=list(DEVELOPMENT), rounds=1)
    warnings.simplefilter("ignore", UserWarning)
    found = {}
    for dataset in args.datasets:
        case = Case(dataset, 0, most_rows=MOST_ROWS)
        turns = [(strong(case), catboost(case)) for _ in range(args.rounds)]
        ours, theirs = map(statistics.median, zip(*turns, strict=True))
        n, m = case.data.X_train.shape
        row = {"rows": n, "inputs": m, "strong": ours, "catboost": theirs, "ratio": ours / theirs}
        found[dataset] = row
        _measure.show(dataset, {dataset: row})
    logs = [float(np.log(row["ratio"])) for row in found.values()]
    mean = float(np.exp(np.mean(logs)))
    _measure.show("CPU seconds of a fit", found)
    print(f"geometric mean of the ratios: {mean:.1f}")
    _measure.write(args, {"datasets": found, "mean_ratio": mean}, packages=["catboost"])


if __name__ == "__main__":
    main()
