"""Run what the book's evidence rests on: the paper's protocol, the field, the tuning.

python tools/study.py reproduce
    the 60 trainings of the paper, the verdict on each cell and each claim, on the screen
python tools/study.py field
    all contestants of the field on all tables, and Parkinson with patients kept apart,
    written to data/results/; with --tables development without the frozen tables
python tools/study.py sqr
    simultaneous quantile regression beside aligned training, written to data/results/sqr.csv
python tools/study.py ablation
    the settings of the authors' mode one by one, written to data/results/ablation.csv
python tools/study.py steadiness
    the systems for practice with nudged targets, written to data/results/steadiness*.csv
python tools/study.py tune
    the walk to the settings of GT2Regressor.strong, written to data/results/tuning_repeat.csv
python tools/study.py protocol
    the paper's protocol with 50 seeds, in the authors' mode and with nudged starts, written to
    data/results/
python tools/study.py study
    protocol, ablation, sqr, steadiness, field and tune, one after the other

Rows of data/results whose key is that of today's code are kept as they are. Runs are kept in
_build/store: what was computed is not computed again, and a command that was interrupted or
killed goes on where it was.
"""

from __future__ import annotations

import argparse
import functools
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from importlib.metadata import version
from pathlib import Path

import numpy as np
from book import finish

from gt2lite.datasets import DATASETS
from gt2lite.training import Recipe
from study import plans, runner
from study.field.plans import whole_field
from study.field.public import DEVELOPMENT
from study.processors import HELD
from study.store import Store
from study.stored import (
    STUDIES,
    Stored,
    compare,
    moved_rows,
    renew,
    renew_walk,
    rows_of,
    write_provenance,
)
from study.summary import difference_lines, field_lines, protocol_lines

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "data" / "results"
TABLES_OF = {
    "all": whole_field,
    "development": functools.partial(whole_field, (*DEVELOPMENT, *DATASETS)),
}
TUNING = RESULTS / "tuning_repeat.csv"


def reproduce(store: Store, jobs: int) -> None:
    """Run the paper's protocol, compare it with the stored run, and judge that."""
    rows = plans.records(runner.run(plans.tasks(), store, n_jobs=jobs, what="trainings"))
    stored = rows_of("reference.csv")
    print(*protocol_lines(stored), sep="\n")
    print(*difference_lines(compare(rows, stored, moved_rows())), sep="\n")


def renewed(
    name: str, store: Store, jobs: int, todo: Callable[[], list] | None = None
) -> dict[str, Stored]:
    """Bring the files of a study, or of some of its runs, up to date; say where rows come from."""
    clock = time.perf_counter()
    study = replace(STUDIES[name], todo=todo or STUDIES[name].todo)
    found = renew(study, RESULTS, store, n_jobs=jobs)
    print(
        f"{STUDIES[name].what}: {found.n_kept} runs kept as stored in data/results, "
        f"{found.n_loaded} from the store, {found.n_run} computed in "
        f"{time.perf_counter() - clock:.0f} s",
        flush=True,
    )
    return found.stored


def field(store: Store, jobs: int, tables: str = "all") -> None:
    """Bring the field up to date, on all tables or without those that are frozen."""
    files = renewed("field", store, jobs, TABLES_OF[tables])
    packages = {name: version(name) for name in ("scipy", "scikit-learn")}
    write_provenance(RESULTS, "field_provenance.json", command="make field", **packages)
    print(*field_lines(files["field.csv"].rows), sep="\n")


def sqr(store: Store, jobs: int) -> None:
    """Bring simultaneous quantile regression up to date."""
    renewed("sqr", store, jobs)
    write_provenance(RESULTS, "sqr_provenance.json", command="python tools/study.py sqr")


def ablation(store: Store, jobs: int) -> None:
    """Bring the authors' mode, taken apart, up to date."""
    renewed("ablation", store, jobs)
    write_provenance(RESULTS, "ablation_provenance.json", command="python tools/study.py ablation")


def tune(store: Store, jobs: int) -> None:
    """Bring the walk to the strong recipe up to date."""
    best = asdict(renew_walk(TUNING, store, n_jobs=jobs, tell=print))
    changed = {name: value for name, value in best.items() if value != asdict(Recipe())[name]}
    print(f"What came out: {changed}")
    facts = {"command": "make tune", "recipe": best}
    write_provenance(RESULTS, "tuning_repeat_provenance.json", **facts)


def protocol(store: Store, jobs: int) -> None:
    """Bring the paper's protocol up to date: 50 seeds, the authors' mode, and nudged starts."""
    rows = renewed("reference", store, jobs)["reference.csv"].rows
    for name in ("authors", "nudged"):
        renewed(name, store, jobs)
    _held("nudged_sse4", store, jobs)
    found = np.show_config(mode="dicts")["SIMD Extensions"]["found"]
    write_provenance(RESULTS, command="make study", instructions=", ".join(found))
    print(*protocol_lines(rows), sep="\n")


def steadiness(store: Store, jobs: int) -> None:
    """Bring the systems for practice with nudged targets up to date."""
    renewed("steadiness", store, jobs)
    _held("steadiness_sse4", store, jobs)
    versions = {"scikit-learn": version("scikit-learn")}
    command = "python tools/study.py steadiness"
    write_provenance(RESULTS, "steadiness_provenance.json", command=command, **versions)


def _held(name: str, store: Store, jobs: int) -> None:
    """Bring runs without newer instructions up to date, in a process of their own.

    What processors are held to is read when NumPy is loaded.
    """
    words = [name, "--jobs", str(jobs), "--store", str(store.folder)]
    command = [sys.executable, str(Path(__file__).resolve()), *words]
    subprocess.run(command, env=os.environ | HELD["sse4"], check=True)


def study(store: Store, jobs: int) -> None:
    """Bring all files of data/results/ up to date."""
    protocol(store, jobs)
    ablation(store, jobs)
    sqr(store, jobs)
    steadiness(store, jobs)
    field(store, jobs)
    tune(store, jobs)


def main(words: Sequence[str] | None = None) -> int:
    """Do what the command line says."""
    commands = {
        "reproduce": reproduce,
        "field": field,
        "sqr": sqr,
        "ablation": ablation,
        "tune": tune,
        "protocol": protocol,
        **{name: functools.partial(renewed, name) for name in ("nudged_sse4", "steadiness_sse4")},
        "steadiness": steadiness,
        "study": study,
    }
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("command", choices=commands)
    parser.add_argument(
        "--tables", choices=TABLES_OF, default="all", help="of the field: leave out frozen ones"
    )
    parser.add_argument("--jobs", type=int, default=-1, help="processes; -1 for one per core")
    parser.add_argument("--store", type=Path, default=ROOT / "_build" / "store")
    given = parser.parse_args(words)
    kept = "stopped; what was finished is kept, and the same command goes on"
    more = {"tables": given.tables} if given.command == "field" else {}
    command = functools.partial(commands[given.command], **more)
    return finish("study", lambda: command(Store(given.store), given.jobs), kept)


if __name__ == "__main__":
    sys.exit(main())
