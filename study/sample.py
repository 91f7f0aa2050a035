"""A sample of `strong()` and the head: trained again by every build, within a measured tolerance.

Both choose among many candidates, in single precision. Another instruction set of the processor
rounds differently, a near-tie may then be decided otherwise, and the numbers move far more than
those of the paper's protocol. `run` trains a small case with five seeds on each instruction set
that can be held back on this machine (`data/results/sample.csv`); the largest difference between
two of them is the `tolerance`. `check` trains one seed again and compares it with the stored one.

Run as a program, the module prints the rows of this process, whose instruction set is decided when
NumPy is imported.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pandas as pd

from study import execution, results
from study.comparison import run_method
from study.protocol import SEEDS

METHODS = ("strong", "head")
CASE = {"dataset": "pp", "split": "random", "most_rows": 400}
"""A small case, so that a build can afford it: a training takes some seconds."""

KEYS = ["dataset", "split", "seed", "method", "level"]
NATIVE = "all"
"""Name of the runs with all instructions of the machine."""

Run = Callable[..., list[Any]]


def run(run_all: Run) -> dict[str, pd.DataFrame]:
    """Train the sample on each instruction set; return the rows of `sample.csv`."""
    frames = [rows(run_all).assign(instructions=NATIVE)]
    for name, held in execution.INSTRUCTIONS.items():
        words = [sys.executable, "-m", "study.sample"]
        told = subprocess.run(words, env=os.environ | held, check=True, stdout=subprocess.PIPE)
        frames.append(pd.read_csv(io.BytesIO(told.stdout)).assign(instructions=name))
    return {"sample": pd.concat(frames)[[*KEYS, "instructions", *results.METRICS]]}


def rows(run_all: Run, seeds: tuple[int, ...] = SEEDS, **how: Any) -> pd.DataFrame:
    """Train the sample with these seeds; return its rows."""
    todo = [CASE | {"seed": seed, "method": method} for seed in seeds for method in METHODS]
    found = pd.concat([one.rows for one in run_all(run_method, todo, label="sample", **how)])
    return found.loc[found.method.isin(METHODS), [*KEYS, *results.METRICS]]


def tolerance(stored: pd.DataFrame) -> dict[str, float]:
    """Return by metric the largest difference that an instruction set made."""
    runs = stored.groupby(KEYS)[list(results.METRICS)]
    return (runs.max() - runs.min()).max().to_dict()


def check(run_all: Run) -> pd.DataFrame:
    """Train seed 0 again; return its comparison with the stored runs, by metric."""
    stored, new = results.load("sample"), rows(run_all, seeds=(0,), cache=False)
    native = stored[stored.instructions == NATIVE]
    return results.compare(new, native, tolerance(stored), by=KEYS)


if __name__ == "__main__":
    rows(execution.run_all).to_csv(sys.stdout, index=False)
