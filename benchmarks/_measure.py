"""How everything here is measured: one thread, one core, in turns, medians, with provenance.

Import this module first: thread counts are read by NumPy, JAX and PyTorch when they start.

Cases are timed in turns (A, B, C, A, B, C, ...), so that a machine that slows down does so
for all of them. A turn repeats a case until the clock can be trusted; the median over the turns is
reported. Before the first turn each case is called once, or twice if it takes less than a second.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]

for _name in ("OMP", "OPENBLAS", "MKL", "NUMEXPR"):
    os.environ[f"{_name}_NUM_THREADS"] = "1"
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["JAX_ENABLE_X64"] = "1"

LOAD_AT_START = [round(load, 2) for load in os.getloadavg()] if hasattr(os, "getloadavg") else None

LEVELS = (0.5, 0.8, 0.9, 0.95, 0.98)
"""Levels of intervals, where several are asked for."""


def options(doc: str | None, *, pinned: bool = True, **defaults: Any) -> argparse.Namespace:
    """Return the options of a script, and stay on one core if the system allows it.

    Args:
        doc: docstring of the script.
        pinned: whether to stay on one core.
        defaults: value of each option; a list is one of several values.
    """
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    folder = ROOT / "data" / "results" / "bench"
    parser.add_argument("--out", type=Path, default=folder, help="folder of the JSON file")
    for name, value in defaults.items():
        many = isinstance(value, list)
        kind = type(value[0] if many else value)
        nargs = "+" if many else None
        flag = f"--{name.replace('_', '-')}"
        parser.add_argument(flag, type=kind, nargs=nargs, default=value, help=f"default {value}")
    if pinned and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    return parser.parse_args()


def competitor(name: str) -> Any:
    """Return a module, or None after printing that it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        print(f"without {name}: {error}")
        return None


def take_turns(
    cases: Mapping[str, Callable[[], object]],
    rounds: int,
    at_least: float = 0.005,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, list[float]]:
    """Return for each case the seconds of one call, in each of `rounds` turns.

    Args:
        cases: functions to call, by name.
        rounds: number of turns.
        at_least: a turn calls a case as often as fits into this number of seconds.
        clock: what counts, such as `time.process_time` on a busy machine.
    """
    repeats = {}
    for name, call in cases.items():
        took = _seconds(call, clock)  # compiles, allocates, loads
        took = _seconds(call, clock) if took < 1 else took
        repeats[name] = max(1, round(at_least / max(took, 1e-9)))
    turns = [
        {name: _seconds(call, clock, repeats[name]) for name, call in cases.items()}
        for _ in range(rounds)
    ]
    return {name: [turn[name] for turn in turns] for name in cases}


def _seconds(call: Callable[[], object], clock: Callable[[], float], repeats: int = 1) -> float:
    start = clock()
    for _ in range(repeats):
        call()
    return (clock() - start) / repeats


def summary(seconds: Sequence[float]) -> dict[str, float]:
    """Return median, quartiles and minimum of the turns of a case."""
    import numpy as np

    low, middle, high = map(float, np.quantile(seconds, [0.25, 0.5, 0.75]))
    return {"seconds": middle, "quartile_1": low, "quartile_3": high, "minimum": min(seconds)}


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Return ours over theirs: the median of the quotients, turn by turn."""
    return summary([a / b for a, b in zip(ours, theirs, strict=True)])["seconds"]


def show(title: str, rows: Any, columns: Sequence[str] | None = None) -> None:
    """Print rows, or some columns of them, with three digits; a mapping has a row for each key."""
    import pandas as pd

    frame = pd.DataFrame.from_dict(rows, orient="index") if isinstance(rows, Mapping) else rows
    frame = pd.DataFrame(frame, columns=columns)
    print(f"{title}\n{frame.to_string(float_format='{:.3g}'.format)}\n")


def write(
    args: argparse.Namespace,
    results: Mapping[str, Any],
    packages: Iterable[str] = (),
    **settings: Any,
) -> None:
    """Write what a script measured, with its provenance, to a JSON file of its name.

    Args:
        args: as `options` returns them; all but `out` are settings.
        results: the numbers.
        packages: distributions whose versions matter, besides NumPy and autograd.
        settings: further settings that the numbers depend on.
    """
    from study.results import environment

    name = Path(sys.argv[0]).stem
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
    asked = {option: value for option, value in vars(args).items() if option != "out"}
    content = {"settings": asked | settings, "results": results, "provenance": facts}
    args.out.mkdir(parents=True, exist_ok=True)
    text = json.dumps(_rounded(content), indent=1, allow_nan=False)
    (args.out / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    if LOAD_AT_START and LOAD_AT_START[0] > 0.5:
        print(f"The machine was busy (load {LOAD_AT_START[0]}): do not trust single numbers.")


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
