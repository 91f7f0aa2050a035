"""The campaign: bad input, odd machines and hostile files, by the thousand, with counts.

python tools/campaign/run.py
    every part in full; `make long` does the same, and data/results/campaign.json keeps the counts
python tools/campaign/run.py --part estimator --scale 0.1
    a part of it; counts are not kept
python tools/campaign/run.py --part estimator --seed 0 --index 1234
    one case again, with its traceback

The exit status is 1 if anything was wrong.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import cases
from cases import Tally

from study.stored import write_provenance

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "data" / "results"
PARTS = ("estimator", "calibration", "threads", "guarantee")


def run_part(name: str, scale: float, seed: int, jobs: int) -> list[Tally]:
    """Run one part at a share of its size."""
    part = importlib.import_module(name)
    n = max(round(scale * part.CASES), 1)
    if hasattr(part, "case"):
        return cases.run(part.case, n, seed, jobs)
    return list(part.run(n, seed, jobs))


def run(parts: tuple[str, ...], scale: float, seed: int, jobs: int) -> list[dict[str, Any]]:
    """Run parts, tell what is wrong as it comes, and return a row for each kind of case."""
    rows = []
    for name in parts:
        print(f"{name}: seed {seed}", flush=True)
        clock = time.monotonic()
        found = run_part(name, scale, seed, jobs)
        seconds = time.monotonic() - clock
        for tally in found:
            rows.append({"part": name} | asdict(tally))
            for words in tally.told[:5]:
                print(f"  {words}")
                if words.startswith("case") and name in ("estimator", "calibration"):
                    index = words.split()[1].rstrip(":")
                    print(f"    again: {command(name, seed)} --index {index}")
            del rows[-1]["told"]
        total = {key: sum(getattr(t, key) for t in found) for key in _COUNTS}
        counts = ", ".join(f"{key} {value:,}" for key, value in total.items())
        print(f"  {counts}; {seconds:.0f} seconds", flush=True)
        rows.append({"part": name, "name": "all", **total, "seconds": round(seconds)})
    return rows


_COUNTS = ("cases", "refused", "answered", "wrong")


def command(part: str, seed: int) -> str:
    """Return how a part is run alone."""
    return f"python tools/campaign/run.py --part {part} --seed {seed}"


def show(rows: list[dict[str, Any]]) -> str:
    """Return the counts as a table of text."""
    head = f"{'part':12} {'kind':42} {'cases':>7} {'refused':>8} {'answered':>9} {'wrong':>6}"
    lines = [
        f"{row['part']:12} {row['name']:42} {row['cases']:>7,} {row['refused']:>8,} "
        f"{row['answered']:>9,} {row['wrong']:>6,}"
        for row in rows
    ]
    return "\n".join([head, "-" * len(head), *lines])


def one_case(part: str, seed: int, index: int) -> int:
    """Run one case again; what is wrong with it is raised."""
    kind, end = importlib.import_module(part).case(seed, index)
    print(f"{part}, seed {seed}, case {index} ({kind}): {end}")
    return 0


def main(argv: list[str] | None = None) -> int:
    """Run what the arguments say; return 1 where anything is wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--part", choices=PARTS, help="one part alone")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the cases")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--index", type=int, help="one case of a part again")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    given = parser.parse_args(argv)
    if given.index is not None:
        if given.part not in ("estimator", "calibration"):
            parser.error("--index needs --part estimator or calibration")
        return one_case(given.part, given.seed, given.index)
    clock = time.monotonic()
    rows = run((given.part,) if given.part else PARTS, given.scale, given.seed, given.jobs)
    seconds = round(time.monotonic() - clock)
    wrong = sum(row["wrong"] for row in rows if row["name"] == "all")
    print(f"\n{show(rows)}\n{wrong} wrong; {seconds} seconds in all, seed {given.seed}")
    if given.part is None and given.scale >= 1:
        facts = {"command": "make long", "seed": given.seed, "seconds": seconds, "rows": rows}
        write_provenance(RESULTS, "campaign.json", **facts)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
