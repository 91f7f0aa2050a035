"""Stored results: the CSV files of `data/results/` and where they come from.

Each file is written by a command of `python -m study`, never by hand, and is plain data: no
hash of the code decides whether it may be used. `provenance.json` records for each file the
commit, the date, the machine, its instructions and the versions that it was made with.

Whether stored numbers still hold is answered by computing some of them again. On the machine
that made them a rerun is equal to the last bit. Another machine rounds differently, and
training amplifies the difference; `nudged.csv` and `nudged_sse4.csv` hold runs with perturbed
rounding, whose largest difference is the tolerance. `compare` reports the largest difference
of each metric, and how many differences exceed it.

`bench/` holds what `make bench` measured: one JSON file for each script, provenance inside.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
import time
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from gt2lite.datasets import data_path

STUDY_VERSION = 1
"""Raised when a study changes on purpose: its rules, its methods or its data sets."""

ROOT = Path(__file__).resolve().parents[1]
METRICS = ("rmse", "picp", "pinaw", "interval_score")
RECORD = ("dataset", "seed", "mode", "model", "level", "method", "step", "interpolation")
"""The columns that identify a row of the paper's protocol."""


def load(name: str) -> pd.DataFrame:
    """Return the rows of `data/results/<name>.csv`; an empty cell is NaN.

    >>> print(*load("reference").loc[0, ["dataset", "seed", "method"]])
    ww 0 trained
    """
    return pd.read_csv(data_path("results", f"{name}.csv"))  # bit for bit since pandas 3.1


def bench(name: str) -> dict[str, Any]:
    """Return settings, results and provenance of a script in `benchmarks/`, such as "step"."""
    path = data_path("results", "bench", f"{name}.json")
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return found


def save(name: str, frame: pd.DataFrame, **facts: Any) -> None:
    """Write rows to `data/results/<name>.csv`, and their provenance with further `facts`."""
    path = data_path("results", "provenance.json")
    known = json.loads(path.read_text("utf-8")) if path.exists() else {}
    _write(data_path("results", f"{name}.csv"), frame.to_csv(index=False, lineterminator="\n"))
    known[name] = environment() | facts
    _write(path, json.dumps(known, indent=1, sort_keys=True) + "\n")


def provenance(name: str) -> dict[str, Any]:
    """Return where a file comes from: commit, date, machine, versions, version of the study.

    >>> sorted(provenance("reference"))[:3]
    ['command', 'commit', 'date']
    """
    known = json.loads(data_path("results", "provenance.json").read_text("utf-8"))
    facts: dict[str, Any] = known[name]
    return facts


def environment() -> dict[str, Any]:
    """Return what numbers may depend on, as far as the machine tells it.

    Commit, date, machine, its instructions, NumPy's BLAS, versions, lock hash, study version.
    """
    packages = ("autograd", "gt2lite", "numpy", "pandas", "scikit-learn", "scipy", "statsmodels")
    lock = ROOT / "requirements.lock"
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    return {
        "commit": commit(),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "machine": f"{platform.system()} {platform.machine()}",
        "instructions": instructions() or "baseline",
        "blas": f"{blas['name']} {blas['version']}",
        "python": platform.python_version(),
        "versions": {package: version(package) for package in packages},
        "lock": hashlib.sha256(lock.read_bytes()).hexdigest() if lock.exists() else None,
        "study": STUDY_VERSION,
    }


def instructions() -> str:
    """Return the instruction sets that NumPy uses beyond the oldest one it supports.

    Other instructions round differently, see `study.comparison.steadiness`.
    """
    return ", ".join(np.show_config(mode="dicts")["SIMD Extensions"].get("found", ()))


def commit() -> str:
    """Return the commit of the working tree, "with changes" if there are any."""

    def git(*words: str) -> str:
        command = ["git", *words]
        run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        return run.stdout.strip() if run.returncode == 0 else ""

    changed = git("status", "--porcelain", "--", ".", ":(exclude,top)data/results")
    return (git("rev-parse", "HEAD") or "unknown") + (" with changes" if changed else "")


def _write(path: Path, text: str) -> None:
    """Write a file that appears whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text, encoding="utf-8", newline="\n")
    temporary.replace(path)


# ------------------------------------------------------------------------------- comparison


def compare(
    new: pd.DataFrame,
    stored: pd.DataFrame,
    tolerance: Mapping[str, float] | None = None,
    *,
    by: Sequence[str] = RECORD,
    metrics: Sequence[str] = METRICS,
) -> pd.DataFrame:
    """Return how far new rows are from stored ones, one row for each metric.

    Args:
        new: rows of a rerun. Those without a stored counterpart are left out.
        stored: rows as `load` returns them.
        tolerance: largest difference that rounding explains, by metric; 0 where it is absent.
        by: the columns that identify a row.
        metrics: the columns to compare.

    Returns:
        Columns `metric`, `n` (numbers compared), `equal` (to the last bit), `largest`
        (difference), `where` (its row), `tolerance` and `beyond` (differences that exceed it).

    >>> old = pd.DataFrame({"seed": [0, 1], "rmse": [0.5, 0.7]})
    >>> new = pd.DataFrame({"seed": [1], "rmse": [0.75]})
    >>> compare(new, old, {"rmse": 0.01}, by=["seed"], metrics=["rmse"]).beyond.tolist()
    [1]
    """
    by, metrics = list(by), list(metrics)
    # a column without a value in any new row has another type than the stored one
    alike = new[by + metrics].astype(stored[by].dtypes)
    pairs = alike.merge(stored[by + metrics], on=by, suffixes=("", "_stored"), validate="m:1")
    rows = []
    for metric in metrics:
        a, b = pairs[metric], pairs[f"{metric}_stored"]
        # a number that has become NaN, or was, differs by infinity
        gaps = (a - b).abs()[a.notna() | b.notna()].fillna(float("inf"))
        limit = (tolerance or {}).get(metric, 0.0)
        largest = float(gaps.max()) if len(gaps) else 0.0
        place = pairs.loc[gaps.idxmax(), by].dropna() if largest else ()
        rows.append(
            {
                "metric": metric,
                "n": len(gaps),
                "equal": int((gaps == 0).sum()),
                "largest": largest,
                "where": " ".join(map(str, place)),
                "tolerance": limit,
                "beyond": int((gaps > limit).sum()),
            }
        )
    return pd.DataFrame(rows)


def rounding_tolerance() -> dict[str, float]:
    """Return by metric the largest difference that perturbed rounding made in the protocol.

    >>> rounding_tolerance()["picp"] < 0.1
    True
    """
    perturbed = pd.concat([load("nudged"), load("nudged_sse4")])
    return compare(perturbed, load("reference")).set_index("metric").largest.to_dict()
