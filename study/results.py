"""Stored results in `data/results/`: written by the commands that make them, never by hand.

A file is plain CSV. Its columns are the fields of a record, and one more, `key`: that of the
run which the row came from (`study.runner.key_of`). A row whose key is not that of today's
code is of *older code*, and pages that show it say so, see `study.stored`. Beside the rows
`provenance.json` tells the commit, the versions, the machine and the date.

A new run is compared with the reference number by number. Runs on the same machine are equal to
the last bit; another machine rounds otherwise, and training carries such a difference on. How
far it grows was measured by moving the start values by a few units in the last place, with the
instructions that the processor has and without the newer ones (`nudged.csv`, `nudged_sse4.csv`).
The largest difference that this made sets the tolerance.

What `make bench` measured lies in `bench/`: a JSON file for each script, provenance inside.
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
import tempfile
import types
from collections.abc import Callable, Iterable
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar, get_args, get_type_hints

from gt2lite.datasets import data_path
from study.records import Record
from study.runner import provenance

METRICS = ("rmse", "picp", "pinaw", "interval_score")
_IDENTITY = ("dataset", "seed", "mode", "model", "level", "method", "step", "interpolation")

T = TypeVar("T")


@dataclass(frozen=True)
class Stored(Generic[T]):
    """The rows of a file, and the key of the run that each of them came from."""

    rows: list[T]
    keys: list[str]

    def older(self, today: Iterable[str]) -> int:
        """Return how many rows have a key that is none of today's."""
        known = set(today)
        return sum(key not in known for key in self.keys)

    def by_key(self) -> dict[str, list[T]]:
        """Return the rows of each run, in their order."""
        found: dict[str, list[T]] = {}
        for key, row in zip(self.keys, self.rows, strict=True):
            found.setdefault(key, []).append(row)
        return found


@dataclass(frozen=True, kw_only=True)
class Moved:
    """What a record came to when its run was nudged, or its processor held back."""

    dataset: str
    seed: int
    mode: str
    model: str
    level: float
    method: str
    step: float | None = None
    interpolation: str | None = None
    nudge: int
    processor: str
    rmse: float
    picp: float
    pinaw: float
    interval_score: float


class Difference(NamedTuple):
    """The largest differences of a metric between a run and its reference."""

    metric: str
    n: int  # numbers compared
    n_equal: int  # of them the same to the last bit
    largest: float
    where: str  # the largest is
    tolerance: float  # the largest difference that rounding was seen to make
    n_beyond: int  # numbers that differ by more


# ------------------------------------------------------------------------- rows and their keys


def write(
    stored: Stored[Any], path: str | os.PathLike[str], kind: Callable[..., Any] | None = None
) -> None:
    """Write rows and their keys to a CSV file, which appears whole or not at all.

    Args:
        stored: what is written.
        path: of the file.
        kind: the dataclass of the rows; needed only where there are none.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    columns: Any = kind or stored.rows[0]
    names = [field.name for field in fields(columns)]
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "w", newline="", encoding="utf-8") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow([*names, "key"])
            for row, key in zip(stored.rows, stored.keys, strict=True):
                table.writerow([*astuple(row), key])
        os.chmod(temporary, 0o644)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def read(path: str | os.PathLike[str], kind: Callable[..., T]) -> Stored[T]:
    """Return the rows of a file and their keys.

    Args:
        path: of a file that `write` made.
        kind: the dataclass of its rows, whose field types say how a value is read.
    """
    parse = {name: _parser(hint) for name, hint in get_type_hints(kind).items()}
    rows, keys = [], []
    with open(path, newline="", encoding="utf-8") as file:
        for line in csv.DictReader(file):
            keys.append(line.pop("key"))
            rows.append(kind(**{name: parse[name](text) for name, text in line.items()}))
    return Stored(rows, keys)


def _parser(hint: Any) -> Callable[[str], Any]:
    """Return what reads a value of a type; an empty cell is None where the type allows it."""
    if isinstance(hint, types.UnionType):
        (plain,) = [part for part in get_args(hint) if part is not type(None)]
        return lambda text: None if text == "" else plain(text)
    reader: Callable[[str], Any] = hint
    return reader


# ------------------------------------------------------------------------------- provenance


def reference_provenance(name: str = "provenance.json") -> dict[str, Any]:
    """Return where the stored results of the reference run, or of another study, come from."""
    facts: dict[str, Any] = json.loads(data_path("results", name).read_text(encoding="utf-8"))
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
    run: Iterable[Record], base: Iterable[Record], moved: Iterable[Moved]
) -> list[Difference]:
    """Return how far a run is from the reference, metric by metric.

    Args:
        run: records of a run; those without a counterpart in `base` are left out.
        base: records of the reference.
        moved: what they came to in runs that differ from the reference by rounding only.
    """
    run, moved = list(run), list(moved)
    by_key = {_key(row): row for row in base}
    differences = []
    for metric in METRICS:
        found = _gaps(run, by_key, metric)
        tolerance = max((gap for gap, _ in _gaps(moved, by_key, metric)), default=0.0)
        largest, where = max(found, default=(0.0, ""), key=lambda pair: pair[0])
        differences.append(
            Difference(
                metric,
                len(found),
                sum(gap == 0 for gap, _ in found),
                largest,
                where if largest else "",
                tolerance,
                sum(gap > tolerance for gap, _ in found),
            )
        )
    return differences


def _key(row: Record | Moved) -> tuple[Any, ...]:
    return tuple(getattr(row, name) for name in _IDENTITY)


def _gaps(
    run: Iterable[Record | Moved], base: dict[tuple[Any, ...], Record], metric: str
) -> list[tuple[float, str]]:
    """Return by how much each number differs, and which number that is."""
    pairs = [(row, base[_key(row)]) for row in run if _key(row) in base]
    gaps = [
        (abs(getattr(row, metric) - getattr(other, metric)), _name(row)) for row, other in pairs
    ]
    return [(gap, name) for gap, name in gaps if gap == gap]  # what has no number is left out


def _name(row: Record | Moved) -> str:
    table = f" {row.interpolation} {row.step:g}" if row.step is not None else ""
    return f"{row.dataset} seed {row.seed}, {row.model} {100 * row.level:g} %, {row.method}{table}"
