"""Ours beside other programs: the stored benchmarks `step`, `step_avx2` and `reduction`.

A training step is made by several frameworks, type reduction by several fuzzy libraries; what
they compute is checked to be the same, or how far it is off is stored. The functions here take
what `study.results.bench(name)` read and return what is told of it. How fast ours is by
itself, see `study.speed`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from study.costs import Stored
from study.pages import percent

OURS = "gt2lite"
ONE_ROW = "one row"  # in the names of algorithms that were timed row by row
KINDS = ("even", "uneven", "sparse")  # of firing strengths
WRONG = 1e-3  # an end that is off by more is called wrong; consequents are of the size of 1

# ------------------------------------------------------------------------- a training step


class StepTime(NamedTuple):
    """One training step of a program: median and quartiles in microseconds."""

    program: str
    median: float
    quartile_1: float
    quartile_3: float
    times: float  # as long as ours


class Race(NamedTuple):
    """Our step in microseconds, and how many times as long others take; `*_avx2`: without AVX-512.

    `forms` and `scan` are by JAX with our closed forms, step by step and by whole epochs.
    """

    ours: float
    autograd: float
    jax: float
    torch: float
    forms: float
    scan: float
    jax_avx2: float
    forms_avx2: float
    scan_avx2: float
    off: str  # the largest difference of a gradient, as a share of its largest entry
    has_avx512: str


def step_times(stored: Stored) -> list[StepTime]:
    """Return the programs that make a step, ours first."""
    lines = [
        StepTime(
            program,
            1e6 * line["seconds"],
            1e6 * line["quartile_1"],
            1e6 * line["quartile_3"],
            1 / line["ours_over_this"],
        )
        for program, line in stored["results"].items()
    ]
    return sorted(lines, key=lambda line: OURS not in line.program)


def race(stored: Stored, avx2: Stored) -> Race:
    """Return how the programs compare, as they are and with everybody held to AVX2."""
    times = {line.program: line.times for line in step_times(stored)}
    held = {line.program: line.times for line in step_times(avx2)}
    off = max(line["difference"] or 0 for line in stored["results"].values())
    avx512 = any("AVX512" in name for name in stored["settings"]["simd"])
    return Race(
        ours=1e6 * stored["results"][OURS]["seconds"],
        autograd=times["autograd"],
        jax=times["JAX jit"],
        torch=times["PyTorch"],
        forms=times["JAX jit, closed forms"],
        scan=times["JAX scan, closed forms"],
        jax_avx2=held["JAX jit"],
        forms_avx2=held["JAX jit, closed forms"],
        scan_avx2=held["JAX scan, closed forms"],
        off=f"{off:.0e}",
        has_avx512="has" if avx512 else "does not have",
    )


# -------------------------------------------------------------------------- type reduction


class ReductionLine(NamedTuple):
    """An algorithm at a number of rules: its time beside ours, its errors by kind of firings."""

    algorithm: str
    times: float
    even: str
    uneven: str
    sparse: str


class ReductionFacts(NamedTuple):
    """Ours against the other libraries, at all numbers of rules."""

    rivals: int  # algorithms of other libraries
    wrong: str  # of them, those that were wrong or failed somewhere
    least: float  # the least multiple of our time that one of them took
    our_error: str  # our largest


def reduction_curves(stored: Stored) -> dict[str, tuple[list[int], list[float]]]:
    """Return for each library the numbers of rules and the milliseconds of its fastest algorithm.

    What was timed row by row is left out.
    """
    best: dict[str, dict[int, float]] = {}
    for line in stored["results"]["lines"]:
        if ONE_ROW not in line["name"]:
            library = line["name"].split(" ")[0]
            known = best.setdefault("all 2^P" if library == "all" else library, {})
            known[line["P"]] = min(1e3 * line["seconds"], known.get(line["P"], np.inf))
    return {library: (list(known), list(known.values())) for library, known in best.items()}


def reduction_lines(stored: Stored, n_rules: int) -> list[ReductionLine]:
    """Return a row for each algorithm that was tried with that many rules."""
    return [
        ReductionLine(line["name"], line["over_ours"], *(_error(line[kind]) for kind in KINDS))
        for line in stored["results"]["lines"]
        if line["P"] == n_rules
    ]


def reduction_facts(stored: Stored) -> ReductionFacts:
    """Return how many of the others are wrong, and how much faster than all of them ours is."""
    lines = stored["results"]["lines"]
    rivals = [line for line in lines if not line["name"].startswith((OURS, "all "))]
    wrong = {line["name"] for line in rivals if any(_is_wrong(line[kind]) for kind in KINDS)}
    ours = [line[kind]["error"] for line in lines if line["name"] == OURS for kind in KINDS]
    return ReductionFacts(
        rivals=len({line["name"] for line in rivals}),
        wrong=str(len(wrong)) if wrong else "none",
        least=min(line["over_ours"] for line in rivals),
        our_error=f"{max(ours):.0e}",
    )


def _is_wrong(entry: Stored | None) -> bool:
    return entry is not None and ((entry["error"] or 0) > WRONG or entry["failed"] > 0)


def _error(entry: Stored | None) -> str:
    """Return the largest error and, if there is any, the share of rows that failed."""
    if entry is None:
        return "-"
    size = "-" if entry["error"] is None else f"{entry['error']:.0e}"
    return size + (f" ({percent(100 * entry['failed'])})" if entry["failed"] else "")
