"""The benchmarks run, and write what they measured with where it comes from. No clock is judged."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks"


def steps_agree(steps):
    assert {"gt2lite", "autograd"} <= steps.keys()
    assert all(row["difference"] is None or row["difference"] < 1e-9 for row in steps.values())


def our_reduction_is_exact(found):
    ours = [line for line in found["lines"] if line["name"] == "gt2lite"]
    assert [line["P"] for line in ours] == [3, 14]
    for line in ours:
        for kind in ("even", "uneven", "sparse"):
            assert line[kind]["error"] < 1e-12 and line[kind]["failed"] == 0


def levels_by_rank_are_paid_for_once(found):
    costs = {name: cost["evaluations"] for name, cost in found["pp"]["cost"].items()}
    assert len(set(costs["exact"])) == 1
    one, two, three = costs["retrain"]
    assert (two, three) == pytest.approx((2 * one, 3 * one), rel=1e-5)
    assert costs["search"] == sorted(costs["search"])


SMALL = {
    "cost": ("--datasets pp --seeds 1 --epochs 1 --n-levels 3", levels_by_rank_are_paid_for_once),
    "growth": ("--rounds 1 --most-sizes 2", bool),
    "imports": ("--rounds 1 --names Recipe", bool),
    "inference": ("--rows 200 --rounds 1", bool),
    "memory": ("--rows 2000 --inputs 3", bool),
    "reduction": ("--rows 60 --few 2 --checked 5 --rules 3 14 --rounds 1", our_reduction_is_exact),
    "step": ("--rounds 1 --steps 2 --batch 8", steps_agree),
}


# Scripts that start many processes or train for long at any size; `make bench` runs them.
LONG = {"ensembles", "fitting", "protocol", "step_avx2"}


def test_every_script_is_run_here_or_known_to_be_long():
    assert {path.stem for path in FOLDER.glob("[!_]*.py")} == SMALL.keys() | LONG


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_a_script_writes_numbers_and_where_they_come_from(name, tmp_path):
    words, check = SMALL[name]
    command = [sys.executable, FOLDER / f"{name}.py", "--out", tmp_path, *words.split()]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    found = json.loads((tmp_path / f"{name}.json").read_text(encoding="utf-8"))
    facts = {"commit", "cores", "date", "load_average_at_start", "machine", "numpy", "python"}
    assert facts <= found["provenance"].keys()
    assert found["provenance"]["versions"]["autograd"]
    assert found["provenance"]["command"].startswith(f"python benchmarks/{name}.py")
    assert found["settings"] and found["results"]
    check(found["results"])
