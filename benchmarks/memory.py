"""Peak memory of intervals for a million rows at five levels, and of a calibration on as many.

What counts is the peak above inputs and outputs. NumPy reports its arrays to `tracemalloc`, which
gives that number exactly. The results of the chunks are compared with a part of the rows computed
in one piece.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import _measure
import numpy as np

from gt2lite import GT2Regressor
from gt2lite.memberships import kappa_of
from gt2lite.system import plane_ends

ONE_PIECE = 20_000  # rows
LIMIT = 500e6  # bytes


def watched(call: Callable[[], Any], outputs: int) -> tuple[Any, dict[str, float]]:
    """Return the result of a call, its seconds, and its peak of memory above outputs, in bytes."""
    tracemalloc.start()
    clock = time.perf_counter()
    result = call()
    seconds = time.perf_counter() - clock
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return result, {"seconds": seconds, "above": float(peak - outputs), "outputs": outputs}


def unchunked(reg: GT2Regressor, X: np.ndarray, alphas: np.ndarray) -> np.ndarray:
    """Return the ends (2, L, N) of planes in one piece."""
    ends = plane_ends(reg.params_, reg.scaler_.transform_X(X), np.asarray(kappa_of(alphas)))
    return reg.scaler_.inverse_y(ends)


def predict(reg: GT2Regressor, X: np.ndarray) -> dict[str, Any]:
    """Return memory and time of intervals at all levels, and how far chunks matter."""
    levels = [min(level, reg.calibrator_.max_coverage) for level in _measure.LEVELS]
    outputs = 2 * len(levels) * 8 * len(X)
    (lower, upper), found = watched(lambda: reg.predict_interval(X, coverage=levels), outputs)
    part = slice(0, ONE_PIECE)
    whole = unchunked(reg, X[part], reg.calibrator_.alpha(levels)).transpose(0, 2, 1)
    chunked = np.stack([lower[part], upper[part]])
    return found | {"difference_of_chunks": float(np.abs(whole - chunked).max())}


def calibrate(reg: GT2Regressor, X: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """Return memory and time of an exact calibration; its output is an alpha for each row."""
    _, found = watched(lambda: reg.calibrate(X, y, method="exact"), y.nbytes)
    first, part = reg.calibrator_.critical_alpha, slice(0, ONE_PIECE)
    alone = reg.calibrate(X[part], y[part], method="exact").calibrator_.critical_alpha
    return found | {"difference_of_chunks": float(np.abs(first[part] - alone).max())}


def main() -> None:
    """Measure, print, write."""
    args = _measure.options(__doc__, rows=1_000_000, inputs=23)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000 + args.rows, args.inputs))
    y = X[:, 0] + 0.2 * rng.normal(size=len(X))
    reg = GT2Regressor(n_rules=10, epochs=2, random_state=0, learning_rate=0.01)
    reg.fit(X[:1000], y[:1000]).calibrate(X[1000:2000], y[1000:2000], method="exact")
    X, y = X[2000:], y[2000:]
    results = {"predict": predict(reg, X), "calibrate": calibrate(reg, X, y)}
    _measure.show(f"{args.rows} rows, {args.inputs} inputs, 10 rules; bytes", results)
    _measure.write(args, results, rules=10, levels=_measure.LEVELS, limit=LIMIT)


if __name__ == "__main__":
    main()
