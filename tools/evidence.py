"""Run the paper's protocol and judge it; run the field beside it.

python tools/evidence.py reproduce
    the 60 trainings of the paper, the verdict on each cell and each claim, on the screen
python tools/evidence.py beyond
    all contestants of the field on all data sets, and Parkinson with patients kept apart,
    written to data/results/
python tools/evidence.py study
    all of that, and the authors' mode and nudged starts, written to data/results/

Runs are kept in _build/store: what was computed is not computed again, and a command that
was interrupted or killed goes on where it was.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from gt2lite.study.claims import check_claims
from gt2lite.study.field import runs
from gt2lite.study.field.baselines import versions
from gt2lite.study.paper import claims, verdicts, winners
from gt2lite.study.protocol import Record, records, run, tasks
from gt2lite.study.results import compare, reference, write_provenance, write_records
from gt2lite.study.store import Store

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "data" / "results"


def protocol(store: Store, jobs: int, mode: str = "default", nudge: int = 0) -> list[Record]:
    """Return the records of the 60 trainings in a mode."""
    todo = [replace(task, nudge=nudge) for task in tasks(mode=mode)]
    clock = time.perf_counter()
    rows = records(run(todo, store, n_jobs=jobs))
    print(f"{len(todo)} trainings, mode {mode}, nudge {nudge}: {time.perf_counter() - clock:.0f} s")
    return rows


def report(rows: list[Record]) -> None:
    """Print the verdicts."""
    cells = verdicts(rows)
    print("\nPublished against ours (mean ± std over the seeds; RMSE and PINAW times 100)")
    for v in cells:
        print(
            f"  {v.dataset:4} {100 * v.level:.0f} % {v.metric:5} {v.model:10} "
            f"{v.paper_mean:7.2f} ±{v.paper_std:5.2f}   {v.our_mean:7.2f} ±{v.our_std:5.2f}   "
            f"{v.difference:+6.2f} = {v.difference_in_std:+5.2f} std   p {v.p:.3f}   {v.verdict}"
        )
    count = {
        word: sum(v.verdict == word for v in cells) for word in ("agrees", "better", "differs")
    }
    print(f"  {len(cells)} cells: " + ", ".join(f"{n} {word}" for word, n in count.items()))
    rows_won = winners(rows)
    same = sum(w.agrees for w in rows_won)
    beyond = [w for w in rows_won if not w.agrees and not w.within_chance]
    print(f"  bold winners: {same} of {len(rows_won)} the same, {len(beyond)} others beyond chance")
    print("\nClaims")
    words = {claim.id: claim.claim for claim in claims()}
    for c in check_claims(rows):
        print(f"  {c.verdict:14} {words[c.id]}\n{'':17}{c.explanation}")


def study(store: Store, jobs: int) -> list[Record]:
    """Run all that is too long for the book and write it to data/results/."""
    rows = protocol(store, jobs)
    authors = protocol(store, jobs, mode="authors")
    nudged = protocol(store, jobs, nudge=1)
    write_records(rows, RESULTS / "reference.csv")
    write_records(authors, RESULTS / "authors.csv")
    write_records(nudged, RESULTS / "nudged.csv")
    write_provenance(RESULTS, command="make study")
    beyond(store, jobs)
    return rows


def beyond(store: Store, jobs: int) -> list[Record]:
    """Run the field and write it to data/results/: a row for each level, and one for each bin."""
    todo = runs.entries() + runs.entries(["pm"], split="by_group")
    clock = time.perf_counter()
    outcomes = runs.run(todo, store, n_jobs=jobs)
    print(f"{len(todo)} entries in the field: {time.perf_counter() - clock:.0f} s")
    rows = runs.records(outcomes)
    write_records(rows, RESULTS / "field.csv")
    # bins are shown at one level, and widths to the eye's precision
    shown = [row for row in runs.counts(outcomes) if row["level"] == 0.90]
    write_records([row | {"width": round(row["width"], 4)} for row in shown], RESULTS / "bins.csv")
    write_provenance(
        RESULTS, "field_provenance.json", command="python tools/evidence.py beyond", **versions()
    )
    return rows


def report_field(rows: list[Record]) -> None:
    """Print the width at equal coverage of all contestants, in per cent of the target's range."""
    print("\nWidth at equal coverage, 90 % (mean over the seeds, % of the target's range)")
    cells: dict[tuple[str, str, str], list[float]] = {}
    for row in rows:
        if row["level"] == 0.90:
            cell = row["dataset"], row["split"], row["contestant"]
            cells.setdefault(cell, []).append(100 * row["equal_pinaw"])
    for (dataset, split, name), widths in cells.items():
        print(f"  {dataset:4} {split:8} {name:12} {sum(widths) / len(widths):7.2f}")


def main(words: Sequence[str] | None = None) -> int:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("command", choices=("reproduce", "beyond", "study"))
    parser.add_argument("--jobs", type=int, default=-1, help="processes; -1 for one per core")
    parser.add_argument("--store", type=Path, default=ROOT / "_build" / "store")
    given = parser.parse_args(words)
    store = Store(given.store)
    command = {"reproduce": protocol, "beyond": beyond, "study": study}[given.command]
    try:
        rows = command(store, given.jobs)
    except KeyboardInterrupt:
        print("\nStopped. What was finished is kept; the same command goes on.", file=sys.stderr)
        return 130
    if given.command == "beyond":
        report_field(rows)
        return 0
    report(rows)
    if (RESULTS / "reference.csv").exists():
        print(
            "\nThis run against the reference run (tolerance: what the last bit of the start does)"
        )
        for d in compare(rows, reference(), reference("nudged.csv")):
            print(
                f"  {d.metric:14} {d.n} numbers, {d.n_equal} equal to the last bit, "
                f"largest difference {d.largest:.3g}, tolerance {d.tolerance:.3g}"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
