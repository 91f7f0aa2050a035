"""Peak memory of intervals for a million rows at five levels, and of a calibration on as many.

What counts is the peak above inputs and outputs. NumPy reports its arrays to `tracemalloc`, which
gives that number exactly; beside it stands what the system saw, the growth of the peak of
resident memory, which includes buffers of libraries. Each case has a process of its own. The
results of the chunks are compared with a part of the rows computed in one piece, and the whole
is computed twice.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any

import _measure
import numpy as np

from gt2lite import GT2Regressor
from gt2lite.memberships import kappa_of
from gt2lite.system import reference_ends

ONE_PIECE = 20_000  # rows
LIMIT = 500e6  # bytes
CASES = ("predict", "calibrate")


def peak_resident() -> int:
    """Return the peak of resident memory so far, in bytes; 0 where the system does not tell."""
    try:
        import resource
    except ImportError:
        return 0
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def watched(call: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """Return the result of a call, its seconds and its peaks of memory in bytes."""
    resident = peak_resident()
    tracemalloc.start()
    clock = time.perf_counter()
    result = call()
    seconds = time.perf_counter() - clock
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    grown = peak_resident() - resident
    return result, {"seconds": seconds, "traced": float(peak), "resident": float(grown)}


def trained(M: int) -> tuple[GT2Regressor, np.random.Generator]:
    """Return a small regressor, calibrated, and a generator for more data of its kind."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, M))
    y = target(X, rng)
    reg = GT2Regressor(n_rules=10, epochs=2, random_state=0, learning_rate=0.01)
    reg.fit(X[:1000], y[:1000]).calibrate(X[1000:], y[1000:], method="exact")
    return reg, rng


def target(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return targets (N,) for inputs (N, M)."""
    return X[:, 0] + 0.2 * rng.normal(size=len(X))


def unchunked(reg: GT2Regressor, X: np.ndarray, alphas: np.ndarray) -> np.ndarray:
    """Return the ends (2, L, N) of planes in one piece."""
    ends = reference_ends(reg.params_, reg.scaler_.transform_X(X), np.asarray(kappa_of(alphas)))
    return reg.scaler_.inverse_y(ends)


def predict(rows: int, M: int) -> dict[str, Any]:
    """Return memory and time of intervals at all levels, and how far chunks matter."""
    reg, rng = trained(M)
    levels = [level for level in _measure.LEVELS if level <= reg.calibrator_.max_coverage]
    levels += [levels[-1]] * (len(_measure.LEVELS) - len(levels))
    X = np.empty((rows, M))
    rng.standard_normal(out=X)  # in place: the peak so far is that of the inputs
    (lower, upper), found = watched(lambda: reg.predict_interval(X, coverage=levels))
    outputs = lower.nbytes + upper.nbytes
    found["above"] = found["traced"] - outputs
    found["resident_above"] = found["resident"] - outputs

    part = slice(0, min(rows, ONE_PIECE))
    whole = unchunked(reg, X[part], reg.calibrator_.alpha(levels)).transpose(0, 2, 1)
    chunked = np.stack([lower[part], upper[part]])
    again = reg.predict_interval(X, coverage=levels)
    return found | {
        "inputs": X.nbytes,
        "outputs": outputs,
        "difference_of_chunks": float(np.abs(whole - chunked).max()),
        "same_bits": bool((again[0] == lower).all() and (again[1] == upper).all()),
    }


def calibrate(rows: int, M: int) -> dict[str, Any]:
    """Return memory and time of an exact calibration."""
    reg, rng = trained(M)
    X = np.empty((rows, M))
    rng.standard_normal(out=X)
    y = target(X, rng)
    _, found = watched(lambda: reg.calibrate(X, y, method="exact"))
    outputs = y.nbytes  # a critical alpha for each row
    found["above"] = found["traced"] - outputs
    found["resident_above"] = found["resident"] - outputs
    first = reg.calibrator_.critical_alpha
    part = slice(0, min(rows, ONE_PIECE))
    alone = reg.calibrate(X[part], y[part], method="exact").calibrator_.critical_alpha
    return found | {
        "inputs": X.nbytes + y.nbytes,
        "outputs": outputs,
        "difference_of_chunks": float(np.abs(first[part] - alone).max()),
    }


def main(words: Sequence[str] | None = None) -> None:
    """Measure each case in a process of its own, print, write."""
    parser = _measure.options(__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--inputs", type=int, default=23)
    parser.add_argument("--case", choices=CASES, help="do this one here, and print its JSON")
    args = parser.parse_args(words)
    if args.case:
        case = {"predict": predict, "calibrate": calibrate}[args.case]
        print(json.dumps(case(args.rows, args.inputs)))
        return

    results: dict[str, Any] = {}
    for name in CASES:
        sizes = ["--rows", str(args.rows), "--inputs", str(args.inputs)]
        run = subprocess.run(
            [sys.executable, __file__, "--case", name, *sizes],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        results[name] = json.loads(run.stdout)
    print(f"{args.rows} rows, {args.inputs} inputs, 10 rules, {len(_measure.LEVELS)} levels; in MB")
    _measure.table(
        ("", "inputs", "outputs", "above both", "resident", "limit", "seconds", "chunks differ by"),
        [
            (
                name,
                *(found[key] / 1e6 for key in ("inputs", "outputs", "above", "resident_above")),
                LIMIT / 1e6,
                found["seconds"],
                found["difference_of_chunks"],
            )
            for name, found in results.items()
        ],
    )
    settings = {"rows": args.rows, "inputs": args.inputs, "rules": 10, "levels": _measure.LEVELS}
    _measure.write("memory", args.out, settings | {"limit": LIMIT}, results)


if __name__ == "__main__":
    main()
