"""How fast the library is by itself: made-up measurements with known answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from study import speed
from study.speed import Growth, Inference, Origin, Part, Steepest


def _memory(**changes: float) -> dict[str, Any]:
    case = {"seconds": 2.0, "above": 3e8, "difference_of_chunks": 0.0}
    return {
        "settings": {"rows": 1000, "inputs": 7, "levels": [0.5, 0.9], "limit": 4e8},
        "results": {"predict": case | changes, "calibrate": case | {"above": 1e8}},
    }


def _line(what: str, varied: str, exponent: float, off: float) -> dict[str, Any]:
    return {
        "what": what,
        "varied": varied,
        "sizes": [10, 1000],
        "seconds": [0.5, 2.0],
        "time": {"exponent": exponent, "fixed": 0.25},
        "off_a_straight_line": off,
        "memory": {"exponent": 0.5},
    }


def test_inference_reads_intervals_and_exact_calibration() -> None:
    us = "us_per_sample_and_plane"
    planes = {
        f"interval, one plane, {how}": {us: value} for how, value in (("anew", 3), ("kept", 1))
    }
    results = {"planes": planes, "calibrations": {"exact": {"price_in_planes": 60}}}
    found = speed.inference({"settings": {"rows": 500}, "results": results})
    assert found == Inference(us_anew=3, us_kept=1, rows=500, in_planes=60)


def test_memory_is_told_in_megabytes_and_the_guess_counts_levels() -> None:
    found = speed.memory(_memory(), Inference(us_anew=3.0, us_kept=1.0, rows=1, in_planes=1.0))
    assert (found.rows, found.inputs, found.levels, found.limit) == (1000, 7, 2, 400)
    assert (found.predict, found.calibrate) == (300, 100)
    assert (found.predict_seconds, found.calibrate_seconds) == (2.0, 2.0)
    assert (found.guess_low, found.guess_high) == (pytest.approx(2e-3), pytest.approx(6e-3))
    assert (found.held, found.chunks) == ("within", "in no bit")


def test_memory_says_when_its_limit_is_passed_and_chunks_change_results() -> None:
    changed = _memory(above=4.1e8, difference_of_chunks=8.9e-16)
    found = speed.memory(changed, Inference(1.0, 1.0, 1, 1.0))
    assert (found.held, found.chunks) == ("beyond", "by at most 9e-16")
    assert speed.memory(_memory(above=4e8), Inference(1.0, 1.0, 1, 1.0)).held == "within"


def test_growth_reads_fits_and_finds_the_steepest() -> None:
    lines = [
        _line("interval", "rows", exponent=1.1, off=0.02),
        _line("interval", "rules", exponent=1.5, off=0.5),
        _line("step", "rows", exponent=1.0, off=0.3),
    ]
    rows = speed.growth({"results": {"lines": lines}})
    assert rows[0] == Growth("interval", "rows", 10, 1000, 250.0, 1.1, pytest.approx(2.0), 0.5)
    assert speed.steepest(rows) == Steepest(1.5, 1.1, pytest.approx(30), "step, rows")
    curves = speed.growth_curves({"results": {"lines": lines}}, "step")
    assert list(curves) == ["rows"]
    np.testing.assert_allclose(curves["rows"], [[0.01, 1], [0.25, 1]])


def test_the_protocol_is_told_in_minutes_and_shares_of_work() -> None:
    protocol = {"n_trainings": 60, "seconds": 90.0, "jobs": 2}
    protocol |= {"training_seconds": 150.0, "calibration_seconds": 50.0}
    stored = {"results": {"protocol": protocol, "training": {"shares": {"loss": 0.25}}}}
    imports = {"gt2lite": {"seconds": 0.02}, "numpy and autograd": {"seconds": 0.1}}
    found = speed.protocol_cost(stored, {"results": {"imports": imports}})
    assert found == (60, pytest.approx(200 / 60), 1.5, 2, 25.0, 20.0, 100.0)
    assert speed.profile(stored) == [Part("loss", 25.0)]


@pytest.mark.parametrize(("over", "goal"), [(0.0, "met"), (0.1, "missed")])
def test_several_systems_are_told_beside_one_and_beside_boosting(over: float, goal: str) -> None:
    cases = {
        "several, one process": {"seconds": 10.0, "ratio": 5.0},
        "several, all cores": {"seconds": 6.0, "ratio": 3.0 + over},
        "choice, one process": {"seconds": 20.0 + over, "ratio": 10.0},
        "predict, one system": {"seconds": 0.25, "ratio": 1.0},
        "predict, chosen": {"seconds": 1.0 + over, "ratio": 4.0},
        "predict, boosting, tuned": {"seconds": 0.5, "ratio": 2.0},
    }
    settings = {"rows": 1000, "inputs": 10, "rules": 30, "systems": 5, "epochs": 200}
    results = {"cases": cases, "chosen": 15, "trees": 90}
    found = speed.ensembles({"settings": settings, "results": results})
    assert found[:5] == (1000, 10, 30, 5, 5.0)
    assert found[5:7] == (3.0 + over, 20.0 + over)
    assert found[7:11] == (15, pytest.approx(2.0 + 2 * over), 0.5, 90)
    assert found[11:] == (f"3: {goal}", f"20: {goal}", f"2: {goal}")


def test_origins_name_each_machine_and_version_once() -> None:
    facts = {
        "commit": 40 * "a" + " with changes",
        "date": "2026-01-02",
        "load_average_at_start": [0.5, 1.0, 2.0],
        "processor": "P",
        "cores": 2,
        "machine": "Linux",
        "python": "3.11",
        "numpy": "2.0",
        "versions": {"autograd": "1.9"},
    }
    later = facts | {"load_average_at_start": None, "versions": {"jax": "0.5"}}
    found = speed.origins({"step": {"provenance": facts}, "cost": {"provenance": later}})
    assert found.rows[0] == Origin("step", "2026-01-02", "aaaaaaaaaa with changes", "0.5")
    assert found.rows[1].load == "-"
    assert found.machines == "P, 2 cores, Linux, Python 3.11"
    assert found.versions == "autograd 1.9, jax 0.5, numpy 2.0"
