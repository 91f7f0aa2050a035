"""The stored studies: which runs each file of `data/results/` holds, and which are of today's code.

A stored row is taken as it is while its key is that of the same run by today's code. `renew`
runs what is not, `staleness` says in a sentence how much that would be.

`tuning.csv` is not renewed: it holds the walk that decided on `study.recipes.TUNED`. The same
walk by today's code is `tuning_repeat.csv`.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

from gt2lite.datasets import DATASETS, data_path
from gt2lite.training import Recipe
from study import plans, runner, steadiness
from study.ablation import AblationRecord, ablations
from study.field.plans import whole_field
from study.field.records import BinCount, ChosenSettings, FieldRecord
from study.field.runs import FieldRun
from study.protocol import ProtocolRun
from study.records import Record
from study.results import Moved, Stored, read, write
from study.runner import Runnable, key_of
from study.sqr_runs import RaceRecord, races
from study.store import Store
from study.tuning.trial import Trial, TrialResult
from study.tuning.walk import TrialRecord, Walk

BIN_LEVEL = 0.90
"""The level at which bins are stored."""


class File(NamedTuple):
    """A file of rows: what they are, and which of them come of a run."""

    kind: Callable[..., Any]
    rows: Callable[[Any], list[Any]]


@dataclass(frozen=True)
class Study:
    """Runs, and the files that hold their rows."""

    what: str
    todo: Callable[[], list[Any]]
    files: Mapping[str, File]


class Renewed(NamedTuple):
    """What became of the files of a study."""

    stored: dict[str, Stored[Any]]
    n_kept: int  # runs whose rows were there already
    n_loaded: int  # runs that the store had
    n_run: int  # runs that were executed


def _records(run: ProtocolRun) -> list[Any]:
    return list(run.records)


def _moved(run: ProtocolRun) -> list[Moved]:
    names = [field.name for field in fields(Moved) if field.name not in ("nudge", "processor")]
    how: dict[str, Any] = {"nudge": run.task.nudge, "processor": run.task.processor}
    return [Moved(**{name: getattr(row, name) for name in names}, **how) for row in run.records]


def _field_records(run: FieldRun) -> list[FieldRecord]:
    """Return the records with eight digits: further ones say nothing, and files stay small."""
    return [replace(row, **_rounded(row)) for row in run.records]


def _rounded(row: FieldRecord) -> dict[str, Any]:
    values = {field.name: getattr(row, field.name) for field in fields(row)}
    return {name: float(f"{v:.8g}") for name, v in values.items() if isinstance(v, float)}


def _chosen(run: FieldRun) -> list[ChosenSettings]:
    return list(run.chosen)


def _shown_bins(run: FieldRun) -> list[BinCount]:
    """Return the bins of one level on the paper's tables, with widths to the eye's precision."""
    shown = [row for row in run.counts if row.level == BIN_LEVEL and row.dataset in DATASETS]
    return [replace(row, width=round(row.width, 4)) for row in shown]


STUDIES = {
    "reference": Study(
        "the paper's protocol with 50 seeds",
        functools.partial(plans.tasks, seeds=plans.ALL_SEEDS),
        {"reference.csv": File(Record, _records)},
    ),
    "authors": Study(
        "the protocol in the authors' mode",
        functools.partial(plans.tasks, mode="authors"),
        {"authors.csv": File(Record, _records)},
    ),
    "nudged": Study(
        "the protocol with nudged starts", plans.nudged, {"nudged.csv": File(Moved, _moved)}
    ),
    "nudged_sse4": Study(
        "the same without newer instructions",
        functools.partial(plans.nudged, "sse4"),
        {"nudged_sse4.csv": File(Moved, _moved)},
    ),
    "ablation": Study(
        "the authors' mode taken apart",
        ablations,
        {"ablation.csv": File(AblationRecord, lambda row: [row])},
    ),
    "sqr": Study("simultaneous quantile regression", races, {"sqr.csv": File(RaceRecord, list)}),
    "steadiness": Study(
        "the systems for practice, nudged",
        steadiness.nudged,
        {"steadiness.csv": File(steadiness.SteadyRecord, lambda row: [row])},
    ),
    "steadiness_sse4": Study(
        "the same without newer instructions",
        functools.partial(steadiness.nudged, "sse4"),
        {"steadiness_sse4.csv": File(steadiness.SteadyRecord, lambda row: [row])},
    ),
    "field": Study(
        "the field",
        whole_field,
        {
            "field.csv": File(FieldRecord, _field_records),
            "bins.csv": File(BinCount, _shown_bins),
            "field_settings.csv": File(ChosenSettings, _chosen),
        },
    ),
}
"""All studies but the walk for the strong recipe, whose runs depend on what came before."""

KINDS: dict[str, Callable[..., Any]] = {
    **{name: file.kind for study in STUDIES.values() for name, file in study.files.items()},
    "tuning.csv": TrialRecord,
    "tuning_repeat.csv": TrialRecord,
}
"""What the rows of each file are."""

HISTORY = ("tuning.csv",)
"""Files that are kept as they were, though their code is not today's: what a decision rested on."""


def moved_rows() -> list[Moved]:
    """Return all that is stored of runs that differ from the reference by rounding only."""
    return [*rows_of("nudged.csv"), *rows_of("nudged_sse4.csv")]


def steady_rows() -> list[steadiness.SteadyRecord]:
    """Return all that is stored of the systems for practice, nudged."""
    return [*rows_of("steadiness.csv"), *rows_of("steadiness_sse4.csv")]


def rows_of(name: str) -> list[Any]:
    """Return the rows of a file in `data/results/`.

    >>> rows_of("reference.csv")[0].dataset
    'ww'
    """
    return read(data_path("results", name), KINDS[name]).rows


def older_code(name: str) -> tuple[int, int]:
    """Return how many rows of a file in `data/results/` are of older code, and of how many."""
    stored = read(data_path("results", name), KINDS[name])
    return stored.older(_todays_keys(name, stored)), len(stored.rows)


def staleness(*names: str) -> str:
    """Return a sentence if rows of files in `data/results/` are of older code, else ""."""
    counted = {name: older_code(name) for name in names}
    told = [f"{n} of {total} in {name}" for name, (n, total) in counted.items() if n]
    if not told:
        return ""
    return f"Stored rows of older code than today's: {', '.join(told)}."


def _todays_keys(name: str, stored: Stored[Any]) -> set[str]:
    """Return the keys of a file's runs by today's code."""
    for study in STUDIES.values():
        if name in study.files:
            return {key_of(task) for task in study.todo()}
    return _Retraced(stored).keys


# ----------------------------------------------------------------------------- made again


def renew(study: Study, folder: Path, store: Store, *, n_jobs: int = -1) -> Renewed:
    """Return the rows of a study by today's code, and write them to its files.

    Args:
        study: of `STUDIES`.
        folder: where the files are. Rows whose key is today's are taken from there.
        store: where runs are kept.
        n_jobs: processes, -1 for one per core.
    """
    todo: list[Runnable[Any]] = study.todo()
    there = {name: _there(folder / name, file.kind) for name, file in study.files.items()}
    # the first file has rows of every run; others need not
    first = there[next(iter(study.files))] if all((folder / n).exists() for n in there) else {}
    have = {task: key_of(task) in first for task in todo}
    missing = [task for task in todo if not have[task]]
    n_loaded = sum(store.has(key_of(task)) for task in missing)
    done = runner.run(missing, store, n_jobs=n_jobs, what=study.what)
    runs = dict(zip(missing, done, strict=True))
    found: dict[str, Stored[Any]] = {}
    for name, file in study.files.items():
        stored: Stored[Any] = Stored([], [])
        for task in todo:
            key = key_of(task)
            rows = there[name].get(key, []) if have[task] else file.rows(runs[task])
            stored.rows.extend(rows)
            stored.keys.extend([key] * len(rows))
        write(stored, folder / name, file.kind)
        found[name] = stored
    kept = len(todo) - len(missing)
    return Renewed(found, kept, n_loaded, len(missing) - n_loaded)


def renew_walk(
    path: Path, store: Store, *, n_jobs: int = -1, tell: Callable[[str], None] | None = None
) -> Recipe:
    """Walk to the strong recipe by today's code, write all trials to a file, return the recipe.

    Args:
        path: of the file. Trials whose key is today's are taken from there.
        store: where trials are kept.
        n_jobs: processes, -1 for one per core.
        tell: gets a line about each recipe.
    """
    there = _results(read(path, TrialRecord)) if path.exists() else {}

    def outcomes(trials: list[Trial]) -> list[TrialResult]:
        missing = [trial for trial in trials if key_of(trial) not in there]
        found = runner.run(missing, store, n_jobs=n_jobs, progress=False)
        there.update({key_of(t): result for t, result in zip(missing, found, strict=True)})
        return [there[key_of(trial)] for trial in trials]

    walk = Walk(outcomes, tell)
    best = walk.run()
    write(Stored(walk.rows, [key_of(trial) for trial in walk.trials]), path)
    return best


def _there(path: Path, kind: Any) -> dict[str, list[Any]]:
    """Return the rows of a file by key; none where older code gave it other columns."""
    if not path.exists():
        return {}
    with path.open(encoding="utf-8") as file:
        columns = file.readline().strip().split(",")
    if columns != [*(field.name for field in fields(kind)), "key"]:
        return {}
    return read(path, kind).by_key()


def _results(stored: Stored[TrialRecord]) -> dict[str, TrialResult]:
    """Return what trials came to, by key."""
    names = [field.name for field in fields(TrialResult)]
    return {
        key: TrialResult(**{name: getattr(row, name) for name in names})
        for key, row in zip(stored.keys, stored.rows, strict=True)
    }


class _EndOfTraceError(LookupError):
    """What a trial came to by today's code is not stored: nobody knows where the walk goes on."""


class _Retraced:
    """The stored walk as far as today's code would go the same way."""

    def __init__(self, stored: Stored[TrialRecord]) -> None:
        self.keys: set[str] = set()
        self._known = _results(stored)
        with contextlib.suppress(_EndOfTraceError):
            Walk(self._outcomes).run()

    def _outcomes(self, trials: list[Trial]) -> list[TrialResult]:
        keys = [key_of(trial) for trial in trials]
        self.keys.update(keys)
        if not self._known.keys() >= set(keys):
            raise _EndOfTraceError
        return [self._known[key] for key in keys]
