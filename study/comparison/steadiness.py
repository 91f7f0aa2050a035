"""The same runs on other processors: how far rounding moves a method that chooses its settings.

`GT2Regressor.strong()` and the head train in single precision and choose between candidates of
nearly the same score. Processors add in another order, so that the last digits differ, and with
them the choice. NumPy and OpenBLAS can be kept from newer instructions (`RESTRICTED`), which does
to a run what an older processor would do.

`python -m study steadiness` writes `data/results/steadiness.csv`, a row for each run and level.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pandas as pd

from study.comparison.data import ALL
from study.comparison.runs import MOST_ROWS, run_method
from study.execution import OLDER_PROCESSOR, ROOT
from study.results import compare, instructions

RESTRICTED = {
    "AVX2": {
        "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
        "OPENBLAS_CORETYPE": "Haswell",
    },
    "SSE": OLDER_PROCESSOR,
}
"""Environment variables that restrict NumPy and OpenBLAS, by the newest instructions left."""

STEADY = ("strong", "best", "head")
"""Methods that choose settings in single precision."""

SEED = 0
BY = ["dataset", "seed", "method", "level"]
METRICS = ["rmse", "picp", "interval_score"]


def processor() -> str:
    """Return the newest instructions that NumPy uses: "AVX-512", "AVX2", "SSE" or their names."""
    newest = instructions().split(", ")[-1]
    return {"": "SSE", "X86_V3": "AVX2"}.get(newest, "AVX-512" if "512" in newest else newest)


def rows_of(dataset: str, method: str) -> pd.DataFrame:
    """Return the rows of a run on this processor, both levels of the method's own intervals."""
    rows = run_method(dataset, "random", SEED, method, most_rows=MOST_ROWS).rows
    rows = rows[rows.method == method].assign(processor=processor())
    return rows[[*BY, "processor", "n_train", "n_test", *METRICS]]


def run_on(restricted: str, dataset: str, method: str) -> pd.DataFrame:
    """Return the rows of a run in a process of its own that is restricted to older instructions."""
    words = [sys.executable, "-m", __name__, dataset, method]
    variables = os.environ | RESTRICTED[restricted]
    done = subprocess.run(words, cwd=ROOT, env=variables, check=True, capture_output=True)
    return pd.read_csv(io.BytesIO(done.stdout))


def run(run_all: Callable[..., list[Any]]) -> dict[str, pd.DataFrame]:
    """Run the methods on this processor and on older ones, and return the file."""
    here = [{"dataset": dataset, "method": method} for dataset in ALL for method in STEADY]
    older = [{"restricted": name} | one for name in RESTRICTED for one in here]
    rows = run_all(rows_of, here, label="steadiness")
    return {"steadiness": pd.concat(rows + run_all(run_on, older, label="older processors"))}


def compare_here(rows: pd.DataFrame, stored: pd.DataFrame) -> pd.DataFrame:
    """Compare rows with stored ones of the same processor, or of the first if there are none.

    The tolerance is the largest difference between processors in the stored rows of these runs.
    The result is that of `study.results.compare`.
    """
    known = stored[stored.processor.isin(rows.processor)]
    if known.empty:
        known = stored[stored.processor == stored.processor.iloc[0]]
    cells = stored.merge(rows[BY]).groupby(BY)[METRICS]
    tolerance = (cells.max() - cells.min()).max().to_dict()
    return compare(rows, known, tolerance, by=BY, metrics=METRICS)


if __name__ == "__main__":
    rows_of(*sys.argv[1:]).to_csv(sys.stdout, index=False)
