"""Ours beside other programs: made-up measurements with known answers."""

from __future__ import annotations

from typing import Any

import pytest

from study import rivals
from study.rivals import ReductionLine

PROGRAMS = {
    "autograd": 0.1,
    "JAX jit": 0.25,
    "gt2lite": 1.0,
    "JAX jit, closed forms": 0.8,
    "JAX scan, closed forms": 2.0,
    "PyTorch": 0.5,
}


def _steps(scale: float = 1.0) -> dict[str, Any]:
    results = {
        name: {
            "seconds": 1e-4 / share,
            "quartile_1": 0.9e-4 / share,
            "quartile_3": 1.2e-4 / share,
            "ours_over_this": scale * share,
            "difference": None if "scan" in name else 1e-15 * share,
        }
        for name, share in PROGRAMS.items()
    }
    return {"settings": {"simd": ["X86_V3", "AVX512_ICL"]}, "results": results}


def _line(name: str, rules: int, over_ours: float, **kinds: tuple[Any, float] | None) -> Any:
    entries = {
        kind: None if found is None else {"error": found[0], "failed": found[1]}
        for kind, found in (
            {"even": (0.0, 0), "uneven": (0.0, 0), "sparse": (0.0, 0)} | kinds
        ).items()
    }
    return {
        "name": name,
        "P": rules,
        "seconds": 1e-3 * over_ours,
        "over_ours": over_ours,
        **entries,
    }


@pytest.fixture
def reduction() -> dict[str, Any]:
    """Return two rivals, one right and one that fails on some rows with ten rules only."""
    lines = [
        _line("gt2lite", 5, 1.0, even=(1e-16, 0)),
        _line("gt2lite, one row of Karnik-Mendel", 5, 0.5),
        _line("right KM", 5, 30.0),
        _line("right EIASC", 5, 20.0, uneven=(1e-3, 0)),
        _line("all 2^P choices", 5, 9.0),
        _line("gt2lite", 10, 1.0, sparse=(3e-16, 0)),
        _line("right KM", 10, 12.5),
        _line("right EIASC", 10, 40.0, even=None),
        _line("broken", 10, 60.0, even=(0.5, 0), uneven=(None, 1.0), sparse=(2e-6, 0.126)),
    ]
    return {"results": {"lines": lines}}


def test_ours_comes_first_and_times_are_multiples_of_it() -> None:
    times = rivals.step_times(_steps())
    assert times[0].program == "gt2lite"
    assert [line.program for line in times[1:]] == [n for n in PROGRAMS if n != "gt2lite"]
    assert times[0][1:] == tuple(map(pytest.approx, (100, 90, 120, 1)))
    assert times[1].times == pytest.approx(10)


def test_the_race_tells_both_processors_apart() -> None:
    found = rivals.race(_steps(), _steps(scale=2.0))
    assert (found.ours, found.autograd) == (pytest.approx(100), pytest.approx(10))
    assert (found.jax, found.torch) == (pytest.approx(4), pytest.approx(2))
    assert (found.forms, found.scan) == (pytest.approx(1.25), pytest.approx(0.5))
    held = found.jax_avx2, found.forms_avx2, found.scan_avx2
    assert held == tuple(map(pytest.approx, (2, 0.625, 0.25)))
    assert (found.off, found.has_avx512) == ("1e-15", "has")


def test_without_avx512_the_race_says_so() -> None:
    steps = _steps()
    steps["settings"]["simd"] = ["X86_V3"]
    assert rivals.race(steps, steps).has_avx512 == "does not have"


def test_a_library_is_drawn_with_its_fastest_algorithm(reduction: dict[str, Any]) -> None:
    curves = rivals.reduction_curves(reduction)
    assert list(curves) == ["gt2lite", "right", "all 2^P", "broken"]
    assert curves["right"] == ([5, 10], [pytest.approx(20), pytest.approx(12.5)])
    assert curves["gt2lite"] == ([5, 10], [1.0, 1.0])  # not its Karnik-Mendel row by row


def test_errors_are_told_with_the_share_of_rows_that_failed(reduction: dict[str, Any]) -> None:
    *_, inexact, broken = rivals.reduction_lines(reduction, 10)
    assert broken == ReductionLine("broken", 60.0, "5e-01", "- (100\xa0%)", "2e-06 (13\xa0%)")
    assert inexact.even == "-"
    assert len(rivals.reduction_lines(reduction, 5)) == 5


def test_wrong_are_those_that_are_off_or_fail_anywhere(reduction: dict[str, Any]) -> None:
    found = rivals.reduction_facts(reduction)
    assert (found.rivals, found.wrong) == (3, "1")  # a thousandth is not yet wrong
    assert found.least == 12.5
    assert found.our_error == "3e-16"


def test_one_failure_is_enough_and_none_is_told_in_a_word(reduction: dict[str, Any]) -> None:
    lines = reduction["results"]["lines"]
    lines.pop()
    assert rivals.reduction_facts(reduction).wrong == "none"
    lines[2]["sparse"]["failed"] = 0.002
    assert rivals.reduction_facts(reduction).wrong == "1"
