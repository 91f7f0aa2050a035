"""Reference results in `data/results/`: written by the commands that make them, never by hand.

A file of records is plain CSV; beside it `provenance.json` tells the commit, the versions, the
machine and the date. A new run is compared with the reference number by number. Runs on the
same machine are equal to the last bit; another machine rounds otherwise, and training
carries such a difference on. How far it grows was measured by moving the start values by
one unit in the last place (`nudged.csv`), and that measurement sets the tolerance.

What `make bench` measured lies in `bench/`: a JSON file for each script, provenance inside.
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from gt2lite.datasets import data_path
from gt2lite.study.protocol import Record, provenance

METRICS = ("rmse", "picp", "pinaw", "interval_score")
_IDENTITY = ("dataset", "seed", "mode", "model", "level", "method", "step", "interpolation")
_TEXT = (
    *("dataset", "mode", "model", "method", "interpolation"),
    *("split", "contestant", "by", "bin"),  # of the field
    *("part", "factor", "value"),  # of the search
)
_WHOLE = ("seed", "n_evaluations", "n_cal", "n_test", "n", "covered")


class Difference(NamedTuple):
    """The largest differences of a metric between a run and its reference."""

    metric: str
    n: int  # numbers compared
    n_equal: int  # of them the same to the last bit
    largest: float
    tolerance: float  # the largest difference that one unit in the last place was seen to make


def write_records(records: Sequence[Record], path: str | os.PathLike[str]) -> None:
    """Write records to a CSV file, which appears whole or not at all."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    columns = list(dict.fromkeys(name for row in records for name in row))
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "w", newline="", encoding="utf-8") as file:
            table = csv.DictWriter(file, columns, lineterminator="\n")
            table.writeheader()
            table.writerows(records)
        os.chmod(temporary, 0o644)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def read_records(path: str | os.PathLike[str]) -> list[Record]:
    """Return the records of a file that `write_records` made."""
    with open(path, newline="", encoding="utf-8") as file:
        return [
            {name: _value(name, text) for name, text in row.items() if text != ""}
            for row in csv.DictReader(file)
        ]


def _value(name: str, text: str) -> Any:
    if name in _TEXT:
        return text
    return int(text) if name in _WHOLE else float(text)


def reference(name: str = "reference.csv") -> list[Record]:
    """Return stored records: of the reference run, or of another file in `data/results/`."""
    return read_records(data_path("results", name))


def reference_provenance(name: str = "provenance.json") -> dict[str, Any]:
    """Return where the stored results of the reference run, or of another study, come from."""
    facts: dict[str, Any] = json.loads(data_path("results", name).read_text())
    return facts


def bench(name: str) -> dict[str, Any]:
    """Return what a benchmark measured when it was last stored, by `make bench`.

    Args:
        name: of a script in `benchmarks/`, such as "step".

    Returns:
        A dict of three: "settings", "results" and "provenance" (commit, versions, machine,
        date, load).
    """
    path = data_path("results", "bench", f"{name}.json")
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        there = ", ".join(sorted(file.stem for file in path.parent.glob("*.json"))) or "none"
        raise FileNotFoundError(
            f"no benchmark called {name!r} is stored, there are: {there}; "
            f"`make bench` runs all of them and writes {path.name}"
        ) from None
    found: dict[str, Any] = json.loads(text)
    return found


def write_provenance(folder: Path, name: str = "provenance.json", **more: Any) -> None:
    """Write a file that tells commit, versions, machine, date, and what else is to be told."""
    facts = {"commit": commit_of(folder), **provenance(), **more}
    (folder / name).write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


def commit_of(folder: Path) -> str:
    """Return the commit that a folder is at, and whether it was changed since."""

    def git(*words: str) -> str:
        run = subprocess.run(
            ["git", *words], cwd=folder, capture_output=True, text=True, check=False
        )
        return run.stdout.strip() if run.returncode == 0 else ""

    changed = git("status", "--porcelain", "--", ".", ":(exclude,top)data/results")
    return (git("rev-parse", "HEAD") or "unknown") + (" with changes" if changed else "")


def compare(
    run: Iterable[Record], base: Iterable[Record], nudged: Iterable[Record]
) -> list[Difference]:
    """Return how far a run is from the reference, metric by metric.

    Args:
        run: records of a run; those without a counterpart in `base` are left out.
        base: records of the reference.
        nudged: records of runs whose start was moved by one unit in the last place.
    """
    run, nudged = list(run), list(nudged)
    by_key = {_key(row): row for row in base}
    differences = []
    for metric in METRICS:
        found = _gaps(run, by_key, metric)
        allowed = _gaps(nudged, by_key, metric)
        differences.append(
            Difference(
                metric,
                len(found),
                sum(gap == 0 for gap in found),
                max(found, default=0.0),
                max(allowed, default=0.0),
            )
        )
    return differences


def _key(row: Record) -> tuple[Any, ...]:
    return tuple(row.get(name) for name in _IDENTITY)


def _gaps(run: Iterable[Record], base: dict[tuple[Any, ...], Record], metric: str) -> list[float]:
    gaps = [abs(row[metric] - base[_key(row)][metric]) for row in run if _key(row) in base]
    return [gap for gap in gaps if gap == gap]  # a level out of reach has no number
