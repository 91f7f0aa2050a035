"""Stored benchmarks as DataFrames: costs of many levels, type reduction, and provenance.

`make bench` runs the scripts in `benchmarks/`, and `study.results.bench(name)` reads what one of
them measured. `benchmarks/cost.py` tries every way of having many levels on the same splits; a cost
is counted in trainings of the paper's system, by the clock ("seconds") or in evaluations of planes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from study.pages import percent

Stored = Mapping[str, Any]
"""A stored benchmark: settings, results and provenance."""

WAYS = {
    "retrain": "train for each",
    "all levels": "level as an input",
    "aligned": "calibrate, aligned",
    "search": "calibrate, search",
    "table": "calibrate, lookup table",
    "exact": "calibrate, exact",
    "conformal": "calibrate, conformal",
}
"""Ways of having many levels, with their titles."""

KINDS = ("even", "uneven", "sparse")
"""Kinds of firing strengths in the benchmark of type reduction."""

WRONG = 1e-3
"""An endpoint with a larger error is called wrong; consequents are of the size of 1."""


def prices(stored: Stored) -> pd.DataFrame:
    """Return `seconds` and `evaluations` by `dataset`, `way` and `levels`, in trainings."""
    frames = {
        (dataset, way): pd.DataFrame(stored["results"][dataset]["cost"][way])
        for dataset in stored["settings"]["datasets"]
        for way in WAYS
    }
    found = pd.concat(frames, names=["dataset", "way", "levels"])
    return found.rename(index=lambda i: i + 1, level="levels")


def quality(stored: Stored) -> pd.DataFrame:
    """Return the intervals of each way on the test set.

    Returns:
        A row for each `dataset`, `way`, `seed` and `level`: `picp`, `pinaw`, `width_at_coverage`
        (at equal coverage), `interval_score`; and `crossed`, the share of rows whose interval at
        the lower level is not inside that of the higher one.
    """
    frames = {}
    for dataset in stored["settings"]["datasets"]:
        for way, metrics in stored["results"][dataset]["quality"].items():
            for i, level in enumerate(stored["settings"]["judged"]):
                found = {name: np.array(v)[:, min(i, len(v[0]) - 1)] for name, v in metrics.items()}
                frames[dataset, way, level] = pd.DataFrame(found).rename_axis("seed")
    return pd.concat(frames, names=["dataset", "way", "level"]).reset_index()


def reductions(stored: Stored) -> pd.DataFrame:
    """Return the benchmark of type reduction: a row for each algorithm and number of rules.

    Columns `name`, `rules`, `seconds`, `over_ours`; for each of `KINDS` the largest error in
    words; `error`, the largest of all kinds; and `wrong`, whether some endpoint was wrong or a row
    failed.
    """
    rows = []
    for line in stored["results"]["lines"]:
        tried = [line[kind] for kind in KINDS if line[kind] is not None]
        row = {name: line[name] for name in ("name", "seconds", "over_ours")}
        row |= {"rules": line["P"]} | {kind: _error(line[kind]) for kind in KINDS}
        row["error"] = max((one["error"] or 0.0 for one in tried), default=np.nan)
        row["wrong"] = row["error"] > WRONG or any(one["failed"] > 0 for one in tried)
        rows.append(row)
    return pd.DataFrame(rows)


def _error(entry: Stored | None) -> str:
    """Return the largest error and, if there is any, the share of rows that failed."""
    if entry is None:
        return "-"
    size = "-" if entry["error"] is None else f"{entry['error']:.0e}"
    return size + (f" ({percent(100 * entry['failed'])})" if entry["failed"] else "")
