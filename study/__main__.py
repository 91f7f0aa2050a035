"""Command line of the study: python -m study COMMAND.

reproduce   train the paper's 60 systems, or more with --seeds; print both tables, the comparison
            with the stored runs, and all verdicts
check       train samples of the stored runs again; exit 1 if a number is beyond tolerance
protocol    the paper's protocol: 50 seeds, the authors' mode, runs with perturbed rounding
ablation    the settings of the authors' mode one by one
widths      calibrated and trained intervals at equal coverage
comparison  all methods on all data sets
steadiness  the strong system and the head on other processors
sample      the same for a small case, which `check` trains again
aligned     aligned planes, and one system for each level, on the splits of the protocol
sqr         simultaneous quantile regression beside aligned training
study       all of these but `reproduce` and `check`

All but the first two write data/results/ and print what moved beyond tolerance. Finished runs
are cached in _build/cache, so an interrupted command continues where it stopped.
"""

from __future__ import annotations

import argparse
import functools
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

from study import aligned, execution, margins, paper, results, sqr
from study import protocol as paper_protocol
from study.cells import beside, shown_within, together, verdicts, winners
from study.claims import check_claims, load_evidence
from study.comparison import runs as comparison
from study.comparison import steadiness
from study.protocol import ALL_SEEDS, SEEDS, all_records, trainings

Run = Callable[..., list[Any]]  # `execution.run_all` with what the command line sets
Files = dict[str, pd.DataFrame]  # rows of `data/results/<name>.csv`, by name

PERTURBATIONS = {"": (1, 2), "sse4": (0, 1)}
"""Units in the last place by which start values are moved, by processor: with five seeds these
are 20 perturbed runs of each system."""

OTHER_KEYS = ("split", "form", "start", "nudge", "processor", "by", "bin", "part")
KEYS = (*results.RECORD, *paper_protocol.SETTINGS, *OTHER_KEYS)
"""Columns that identify a row of a file; the others are measured."""


def reproduce(run: Run, n_seeds: int = len(SEEDS)) -> bool:
    """Train the paper's systems, print its tables, compare with the stored runs, print verdicts.

    The verdicts are those of the stored runs.
    """
    todo = trainings(seeds=range(n_seeds))
    rows = all_records(run(paper_protocol.run, todo, label="trainings"))
    stored, published = results.load("reference"), paper.cells()
    _print(f"Tables I and II beside {n_seeds} seeds trained now", beside(rows, published).round(2))
    cells = verdicts(stored, published)
    columns = ["our_mean", "our_std", "p", "p_holm", "refuted", "margin", "best", "equivalent"]
    _print("Published cells against ours", cells[[*cells.columns[:6], *columns]])
    _print("p-values of all results together", together(stored, published))
    _print("Distinct results shown to be equal", shown_within(cells))
    _print("Winners of the rows", winners(stored, published))
    checked = check_claims(load_evidence(stored), paper.claims())
    counted = checked[(checked.kind == "empirical") & (checked.id == checked.group)]
    _print("Empirical claims", counted.verdict.value_counts())
    for claim in checked.itertuples():
        print(f"{claim.verdict:14} {claim.claim}\n{'':15}{claim.reason}")
    return _report(
        f"The {len(todo)} trainings", results.compare(rows, stored, results.rounding_tolerance())
    )


def check(run: Run) -> bool:
    """Train seed 0 of each data set, `strong()` and the head again; compare with stored runs."""
    todo = trainings(seeds=[0], models=["baseline", "trained_90"])
    rows = all_records(run(paper_protocol.run, todo, label="sample", cache=False))
    found = results.compare(rows, results.load("reference"), results.rounding_tolerance())
    alike = _report("Seed 0 of each data set", found)
    return _report("strong() and the head, a small case", steadiness.check(run)) and alike


def protocol(run: Run) -> Files:
    """Run the paper's protocol: 50 seeds, the authors' mode, and perturbed rounding."""
    todo = {"reference": trainings(seeds=ALL_SEEDS), "authors": trainings(mode="authors")}
    found = {
        name: all_records(run(paper_protocol.run, settings, label=name))
        for name, settings in todo.items()
    }
    jobs = run.keywords["n_jobs"]  # type: ignore[attr-defined]
    words = [sys.executable, "-m", "study", "perturbed", "--jobs", str(jobs)]
    subprocess.run(words, env=os.environ | execution.OLDER_PROCESSOR, check=True)
    return found | perturbed(run)


def perturbed(run: Run) -> Files:
    """Run the protocol with start values moved by some units in the last place."""
    held = all(os.environ.get(k) == v for k, v in execution.OLDER_PROCESSOR.items())
    processor, frames = "sse4" if held else "", []
    for n in PERTURBATIONS[processor]:
        found = run(paper_protocol.run, trainings(perturbation=n), label=f"perturbed by {n}")
        frames.append(all_records(found).assign(nudge=n, processor=processor or None))
    columns = [*results.RECORD, "nudge", "processor", *results.METRICS]
    return {"nudged_sse4" if held else "nudged": pd.concat(frames)[columns]}


def ablation(run: Run) -> Files:
    """Run every combination of the settings of the authors' mode."""
    rows = run(paper_protocol.run_ablation, paper_protocol.ablations(), label="ablation")
    return {"ablation": pd.DataFrame(rows)}


CHECKS = {"reproduce": reproduce, "check": check}
STUDIES: dict[str, Callable[..., Files]] = {
    "protocol": protocol,
    "ablation": ablation,
    "comparison": comparison.run,
    "steadiness": steadiness.run,
    "sample": steadiness.run_sample,
    "widths": margins.run,
    "aligned": aligned.run,
    "sqr": sqr.run,
}


def main(words: Sequence[str] | None = None) -> int:
    """Run a command; the exit code is 1 if a recomputed number is beyond tolerance."""
    plain = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("python -m study", None, __doc__, formatter_class=plain)
    parser.add_argument("command", choices=[*CHECKS, "perturbed", *STUDIES, "study"])
    parser.add_argument("--jobs", type=int, default=-1, help="processes; -1 for one per core")
    parser.add_argument("--dask", help='address of a Dask scheduler, or "local" for a cluster here')
    parser.add_argument("--seeds", type=int, default=len(SEEDS), help="of reproduce; at least 2")
    parser.add_argument("--fresh", action="store_true", help="delete cached runs first")
    given = parser.parse_args(words)
    if given.seeds < 2:
        parser.error(f"--seeds must be at least 2, got {given.seeds}")
    if given.fresh:
        execution.clear_cache()
    run = functools.partial(execution.run_all, n_jobs=given.jobs, dask=given.dask)
    studies = STUDIES if given.command == "study" else [given.command]
    try:
        if given.command in CHECKS:
            more = {"n_seeds": given.seeds} if given.command == "reproduce" else {}
            return int(not CHECKS[given.command](run, **more))
        for name in studies:
            for file, rows in (STUDIES | {"perturbed": perturbed})[name](run).items():
                store(file, rows, "protocol" if name == "perturbed" else name)
    except KeyboardInterrupt:
        print("stopped; finished runs are kept, and the same command continues", file=sys.stderr)
        return 130
    return 0


def store(name: str, rows: pd.DataFrame, command: str) -> None:
    """Print how far rows are from the stored ones, and store them."""
    try:
        stored = results.load(name)
    except FileNotFoundError:
        print(f"{name}: new")
    else:
        by = [key for key in KEYS if key in rows]
        measured = [*rows.select_dtypes("number").columns.intersection(stored.columns)]
        metrics = [name for name in measured if name not in by and "seconds" not in name]
        tolerance = results.rounding_tolerance()
        _report(name, results.compare(rows, stored, tolerance, by=by, metrics=metrics))
    results.save(name, rows, command=f"python -m study {command}")


def _report(what: str, found: pd.DataFrame) -> bool:
    """Print a comparison; return whether every number is within tolerance."""
    beyond = int(found.beyond.sum())
    _print(f"{what} against the stored runs: {beyond} numbers beyond tolerance", found)
    return beyond == 0


def _print(title: str, frame: pd.DataFrame | pd.Series) -> None:
    print(f"{title}\n{frame.to_string()}\n", flush=True)


if __name__ == "__main__":
    sys.exit(main())
