"""The same runs on other processors: how far rounding moves a method that chooses its settings.

`GT2Regressor.strong()` and the head train in single precision and choose between candidates of
nearly the same score. Processors add in another order, so that the last digits differ, and with
them the choice. NumPy and OpenBLAS can be kept from newer instructions (`RESTRICTED`), which does
to a run what an older processor would do.

`python -m study steadiness` writes `data/results/steadiness.csv`, a row for each run and level.
`python -m study sample` does the same for a small case with some seeds (`sample.csv`). Every build
trains one of these seeds again (`check`); the tolerance is the largest difference between
processors.
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
from study.protocol import SEEDS
from study.results import compare, instructions, load

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
SAMPLE = [
    {"dataset": "pp", "most_rows": 400, "method": method, "seed": seed}
    for seed in SEEDS[:3]
    for method in ("strong", "head")
]
"""The small case: a training takes some seconds."""

BY = ["dataset", "seed", "method", "level"]
METRICS = ["rmse", "picp", "interval_score"]


def processor() -> str:
    """Return the newest instructions that NumPy uses: "AVX-512", "AVX2", "SSE" or their names."""
    newest = instructions().split(", ")[-1]
    return {"": "SSE", "X86_V3": "AVX2"}.get(newest, "AVX-512" if "512" in newest else newest)


def rows_of(
    dataset: str, method: str, seed: int = SEED, most_rows: int = MOST_ROWS
) -> pd.DataFrame:
    """Return the rows of a run on this processor, both levels of the method's own intervals."""
    rows = run_method(dataset, "random", seed, method, most_rows=most_rows).rows
    rows = rows[rows.method == method].assign(processor=processor())
    return rows[[*BY, "processor", "n_train", "n_test", *METRICS]]


def run_on(
    restricted: str, dataset: str, method: str, seed: int = SEED, most_rows: int = MOST_ROWS
) -> pd.DataFrame:
    """Return the rows of a run in a process of its own that is restricted to older instructions."""
    words = [sys.executable, "-m", __name__, dataset, method, str(seed), str(most_rows)]
    variables = os.environ | RESTRICTED[restricted]
    done = subprocess.run(words, cwd=ROOT, env=variables, check=True, capture_output=True)
    return pd.read_csv(io.BytesIO(done.stdout))


def run(run_all: Callable[..., list[Any]]) -> dict[str, pd.DataFrame]:
    """Run the methods on this processor and on older ones, and return the file."""
    here = [{"dataset": dataset, "method": method} for dataset in ALL for method in STEADY]
    return {"steadiness": _everywhere(run_all, here)}


def run_sample(run_all: Callable[..., list[Any]]) -> dict[str, pd.DataFrame]:
    """Run the small case on this processor and on older ones, and return the file."""
    return {"sample": _everywhere(run_all, SAMPLE)}


def check(run_all: Callable[..., list[Any]]) -> pd.DataFrame:
    """Train one seed of the small case again; compare it with the stored runs."""
    again = [one for one in SAMPLE if one["seed"] == SEED]
    rows = pd.concat(run_all(rows_of, again, label="strong and head", cache=False))
    return compare_here(rows, load("sample"))


def tolerance(stored: pd.DataFrame) -> dict[str, float]:
    """Return by metric the largest difference between processors."""
    cells = stored.groupby(BY)[METRICS]
    return (cells.max() - cells.min()).max().to_dict()


def compare_here(rows: pd.DataFrame, stored: pd.DataFrame) -> pd.DataFrame:
    """Compare rows with stored ones of the same processor, or of the first if there are none.

    The tolerance is that of the stored rows of these data sets. The result is that of
    `study.results.compare`.
    """
    alike = stored[stored.dataset.isin(rows.dataset)]
    known = stored[stored.processor.isin(rows.processor)]
    if known.empty:
        known = stored[stored.processor == stored.processor.iloc[0]]
    return compare(rows, known, tolerance(alike), by=BY, metrics=METRICS)


def _everywhere(run_all: Callable[..., list[Any]], here: list[dict[str, Any]]) -> pd.DataFrame:
    older = [{"restricted": name} | one for name in RESTRICTED for one in here]
    rows = run_all(rows_of, here, label="steadiness")
    return pd.concat(rows + run_all(run_on, older, label="older processors"))


if __name__ == "__main__":
    dataset, method, *numbers = sys.argv[1:]
    rows_of(dataset, method, *map(int, numbers)).to_csv(sys.stdout, index=False)
