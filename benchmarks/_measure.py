"""How everything here is measured: one thread, one core, in turns, medians, and told where.

Import this module first: thread counts are read by NumPy, JAX and PyTorch when they start.

Cases are timed in turns (A, B, C, A, B, C, ...), so that a machine that slows down does so
for all of them; the first turn is a warm-up and does not count. A turn repeats a case until
the clock can be trusted; what is reported is the median over the turns. A case that takes a
second or more is warmed up by one call.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "data" / "results" / "bench"

for _name in ("OMP", "OPENBLAS", "MKL", "NUMEXPR"):
    os.environ[f"{_name}_NUM_THREADS"] = "1"
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["JAX_ENABLE_X64"] = "1"

LOAD_AT_START = [round(load, 2) for load in os.getloadavg()] if hasattr(os, "getloadavg") else None

LONG = 1.0
"""Seconds from which on a case is warmed up by one call alone."""

LEVELS = (0.5, 0.8, 0.9, 0.95, 0.98)
"""Levels that intervals are asked for where several are."""


def options(doc: str | None) -> argparse.ArgumentParser:
    """Return a parser with what all scripts understand; `doc` is the docstring of the script."""
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder of the JSON file")
    return parser


def pin() -> None:
    """Stay on one core, where the system lets us."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def competitor(name: str) -> Any:
    """Return a module, or None with a line that says so where it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        print(f"without {name}: {error}")
        return None


def take_turns(
    cases: Mapping[str, Callable[[], object]], rounds: int, at_least: float = 0.005
) -> dict[str, list[float]]:
    """Return for each case the seconds of one call, in each of `rounds` turns.

    Args:
        cases: what to call, by name.
        rounds: turns that count; one more goes before them.
        at_least: a case is called as often in a turn as makes it last so many seconds.
    """
    repeats: dict[str, int] = {}
    long: set[str] = set()
    for name, call in cases.items():
        took = _seconds(call)  # compiles, allocates, loads
        if took < LONG:
            took = _seconds(call)
        repeats[name] = max(1, round(at_least / max(took, 1e-9)))
        if took >= LONG:
            long.add(name)
    seconds: dict[str, list[float]] = {name: [] for name in cases}
    for turn in range(rounds + 1):
        for name, call in cases.items():
            if not turn and name in long:
                continue
            took = _seconds(call, repeats[name])
            if turn:
                seconds[name].append(took)
    return seconds


def _seconds(call: Callable[[], object], repeats: int = 1) -> float:
    clock = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - clock) / repeats


def summary(seconds: Sequence[float]) -> dict[str, float]:
    """Return median, quartiles and minimum of the turns of a case."""
    low, middle, high = (
        statistics.quantiles(seconds, n=4, method="inclusive")
        if len(seconds) > 1
        else [seconds[0]] * 3
    )
    return {"seconds": middle, "quartile_1": low, "quartile_3": high, "minimum": min(seconds)}


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Return ours over theirs: the median of the quotients, turn by turn."""
    return statistics.median(a / b for a, b in zip(ours, theirs, strict=True))


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print rows under a head; numbers with three digits that count."""
    text = [list(head)] + [[_text(value) for value in row] for row in rows]
    width = [max(len(line[i]) for line in text) for i in range(len(head))]
    for line in text:
        cells = [
            cell.ljust(w) if i == 0 else cell.rjust(w)
            for i, (cell, w) in enumerate(zip(line, width, strict=True))
        ]
        print("  " + "  ".join(cells).rstrip())
    print()


def _text(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def write(
    name: str,
    out: Path,
    settings: Mapping[str, Any],
    results: Mapping[str, Any],
    packages: Iterable[str] = (),
) -> Path:
    """Write what was measured, with its provenance, to `out`/`name`.json.

    Args:
        name: of the script.
        out: folder, made where it is absent.
        settings: sizes and counts that the numbers depend on.
        results: the numbers.
        packages: distributions whose versions matter, besides NumPy and autograd.
    """
    from study.results import environment

    facts = environment()
    versions = facts["versions"] | {package: _version(package) for package in packages}
    facts |= {
        "numpy": versions["numpy"],
        "versions": {package: version for package, version in versions.items() if version},
        "processor": _processor(),
        "cores": os.cpu_count(),
        "load_average_at_start": LOAD_AT_START,
        "command": " ".join(["python", f"benchmarks/{name}.py", *sys.argv[1:]]),
    }
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{name}.json"
    content = {"settings": dict(settings), "results": dict(results), "provenance": facts}
    text = json.dumps(_rounded(content), indent=1, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")
    if LOAD_AT_START and LOAD_AT_START[0] > 0.5:
        print(f"The machine was busy (load {LOAD_AT_START[0]}): do not trust single numbers.")
    return path


def _rounded(value: Any) -> Any:
    """Return the same with floats of six digits: more is noise, and the file stays small."""
    if isinstance(value, Mapping):
        return {str(key): _rounded(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded(item) for item in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown"
