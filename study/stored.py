"""The stored studies: which runs each file of `data/results/` holds, and which are of today's code.

A stored row is taken as it is while its key is that of the same run by today's code. `renew`
runs what is not, `staleness` says in a sentence how much that would be.

`tuning.csv` is not renewed: it holds the walk that decided on `study.recipes.TUNED`. The same
walk by today's code is `tuning_repeat.csv`.
"""

from __future__ import annotations

import contextlib
import csv
import functools
import json
import os
import tempfile
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import astuple, dataclass, fields, replace
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar, get_args, get_type_hints

from gt2lite.datasets import DATASETS, data_path
from gt2lite.training import Recipe
from study import plans, results, runner, steadiness
from study.ablation import AblationRecord, ablations
from study.field.plans import whole_field
from study.field.records import BinCount, ChosenSettings, FieldRecord
from study.field.runs import FieldRun
from study.protocol import ProtocolRun
from study.records import Record
from study.runner import Runnable, key_of
from study.sqr_runs import RaceRecord, races
from study.store import Store
from study.tuning.trial import Trial, TrialResult
from study.tuning.walk import TrialRecord, Walk

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
            keys.append(line.pop("key", ""))
            rows.append(kind(**{name: parse[name](text) for name, text in line.items()}))
    return Stored(rows, keys)


def _parser(hint: Any) -> Callable[[str], Any]:
    """Return what reads a value of a type; an empty cell is None where the type allows it."""
    if isinstance(hint, types.UnionType):
        (plain,) = [part for part in get_args(hint) if part is not type(None)]
        return lambda text: None if text == "" else plain(text)
    reader: Callable[[str], Any] = hint
    return reader


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


def staleness(*names: str) -> str:
    """Return "": results are data, compared by recomputation."""
    return ""


def reference_provenance(name: str = "provenance.json") -> dict[str, Any]:
    """Return where a file comes from, by the name that its own JSON file had."""
    if name == "campaign.json":
        campaign: dict[str, Any] = json.loads(data_path("results", name).read_text("utf-8"))
        return campaign
    short = name.removesuffix("_provenance.json")
    facts = results.provenance("reference" if short == name else short)
    return facts | facts["versions"]


def write_provenance(folder: Path, name: str, **more: Any) -> None:
    """Write a file of facts and of the environment that they come from."""
    facts = results.environment() | more
    (folder / name).write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


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
