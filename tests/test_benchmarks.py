"""The benchmarks run, and write what they measured with where it comes from. No clock is judged."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks"

SMALL = {
    "cost": "--datasets pp --seeds 1 --epochs 1 --levels 3",
    "ensembles": "--rows 60 --systems 2 --epochs 1 --new-rows 50 --rounds 1",
    "growth": "--rounds 1 --smallest 2",
    "imports": "--rounds 1 --names __version__",
    "inference": "--rows 200 --rounds 1",
    "memory": "--rows 3000 --inputs 3",
    "protocol": "--epochs 1 --jobs 1 --first 2",
    "reduction": "--rows 60 --few 2 --checked 5 --rules 3 14 --rounds 1",
    "step": "--rounds 1 --steps 2 --batch 8",
    "step_avx2": "--rounds 1 --steps 2 --batch 8",
}

pytestmark = pytest.mark.slow


def measured(name, folder):
    """Return the results of a script, run as `make bench` does but small, if they are well told."""
    run = subprocess.run(
        [sys.executable, str(FOLDER / f"{name}.py"), "--out", str(folder), *SMALL[name].split()],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    found = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    facts = found["provenance"]
    assert {"commit", "numpy", "python", "machine", "date"} <= facts.keys()
    assert {"processor", "cores", "load_average_at_start"} <= facts.keys()
    assert facts["versions"]["autograd"]
    assert facts["command"].startswith(f"python benchmarks/{name}.py")
    assert found["settings"]
    return found["results"]


def test_every_script_has_small_sizes_here():
    assert {path.stem for path in FOLDER.glob("[!_]*.py")} == set(SMALL)


@pytest.mark.parametrize("name", ["growth", "imports", "inference", "protocol"])
def test_a_script_writes_numbers_and_where_they_come_from(name, tmp_path):
    assert measured(name, tmp_path)


@pytest.mark.parametrize("name", ["step", "step_avx2"])
def test_all_compute_the_same_step(name, tmp_path):
    steps = measured(name, tmp_path)
    assert {"gt2lite", "autograd"} <= steps.keys()
    assert all(row["difference"] is None or row["difference"] < 1e-9 for row in steps.values())


def test_our_reduction_is_exact_where_it_is_timed(tmp_path):
    lines = measured("reduction", tmp_path)["lines"]
    ours = [line for line in lines if line["name"] == "gt2lite"]
    assert [line["P"] for line in ours] == [3, 14]
    for line in ours:
        for kind in ("even", "uneven", "sparse"):
            assert line[kind]["error"] < 1e-12 and line[kind]["failed"] == 0


def test_levels_by_rank_are_paid_for_once_and_those_by_training_each(tmp_path):
    found = measured("cost", tmp_path)["pp"]["cost"]
    first, *further = found["exact"]["evaluations"]
    assert len(further) == 2 and all(cost == first for cost in further)
    one, two, three = found["retrain"]["evaluations"]
    assert two == pytest.approx(2 * one, rel=1e-5) and three == pytest.approx(3 * one, rel=1e-5)
    assert found["search"]["evaluations"] == sorted(found["search"]["evaluations"])


def test_chunks_do_not_show_in_results(tmp_path):
    found = measured("memory", tmp_path)
    assert found["predict"]["same_bits"]
    assert all(case["difference_of_chunks"] < 1e-12 for case in found.values())
