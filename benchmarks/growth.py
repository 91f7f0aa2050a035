"""How time and memory grow with rows, inputs, rules, planes and the batch: exponents of a fit.

One size is varied, the others stay. "interval" is one plane of fresh rows (all planes where planes
are varied), "step" one training step: both are linear in everything, but for the sorting of rules,
so that straight lines of slope 1 are what theory wants; small sizes are below the line, where the
cost of a call counts. The exponent is fitted to the upper half of the sizes, on log-log scales.
Memory of an interval even falls where `Planes` no longer keeps memberships between planes.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any

import _measure
import numpy as np

from gt2lite import losses, starts, system
from gt2lite.gradient import BatchGradient, Flat
from gt2lite.kernel import quiet
from gt2lite.memberships import alpha_of

BASE = {"rows": 4000, "inputs": 11, "rules": 10, "planes": 1, "batch": 64}
INTERVAL = {
    "rows": [1000, 4000, 16000, 64000, 256000],
    "inputs": [2, 4, 8, 16, 32, 64],
    "rules": [2, 4, 8, 16, 32, 64, 128],
    "planes": [1, 2, 4, 8, 16, 32],
}
STEP = {
    "batch": [16, 64, 256, 1024, 4096],
    "inputs": [2, 4, 8, 16, 32, 64],
    "rules": [2, 4, 8, 16, 32, 64, 128],
    "planes": [1, 2, 4, 8, 16, 32],
}


def drawn(rows: int, inputs: int, rules: int) -> tuple[system.Params, np.ndarray]:
    """Return a system with consequents that differ, and inputs (rows, inputs)."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, inputs))
    params = starts.init_params(X[:1000], rules, rng)
    params["a"] = rng.normal(size=params["a"].shape)
    return params, X


def interval(sizes: dict[str, int]) -> Callable[[], object]:
    """Return a call that computes planes of fresh rows."""
    params, X = drawn(sizes["rows"], sizes["inputs"], sizes["rules"])
    alphas = alpha_of(np.linspace(1, 0.2, sizes["planes"]))
    return lambda: system.Planes(params, X).ends(alphas)


def step(sizes: dict[str, int]) -> Callable[[], object]:
    """Return a call that computes the gradient of a batch; every plane has a width."""
    params, X = drawn(sizes["batch"], sizes["inputs"], sizes["rules"])
    alphas = alpha_of(np.linspace(1, 0.2, sizes["planes"]))
    objective = losses.make_objective("aligned", 0.99, tuple(alphas))
    gradient = BatchGradient(Flat(params), objective)
    X_t, y = np.ascontiguousarray(X.T), X[:, 0].copy()

    def call() -> None:
        with quiet():
            gradient(X_t, y)

    return call


def peak(call: Callable[[], object]) -> float:
    """Return the peak of memory of a call that was just made, in bytes."""
    tracemalloc.start()
    call()
    _, bytes_ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return float(bytes_)


def exponent(sizes: Sequence[int], values: Sequence[float]) -> float:
    """Return the slope of the upper half of the points on log-log scales."""
    n = max(2, (len(sizes) + 1) // 2)
    return float(np.polyfit(np.log(sizes[-n:]), np.log(values[-n:]), 1)[0])


def main(words: Sequence[str] | None = None) -> None:
    """Measure, fit, print, write."""
    parser = _measure.options(__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--smallest", type=int, help="only so many sizes, from the smallest")
    args = parser.parse_args(words)
    _measure.pin()

    lines: list[dict[str, Any]] = []
    for what, make, varied in (("interval", interval, INTERVAL), ("step", step, STEP)):
        for name, all_sizes in varied.items():
            sizes = all_sizes[: args.smallest]
            cases = {str(size): make(BASE | {name: size}) for size in sizes}
            turns = _measure.take_turns(cases, args.rounds)
            seconds = [_measure.summary(turns[str(size)])["seconds"] for size in sizes]
            memory = [peak(make(BASE | {name: size})) for size in sizes]
            lines.append(
                {
                    "what": what,
                    "varied": name,
                    "sizes": sizes,
                    "seconds": seconds,
                    "bytes": memory,
                    "exponent_of_time": exponent(sizes, seconds),
                    "exponent_of_memory": exponent(sizes, memory),
                }
            )
    print("Exponents: 1 is linear, 0 does not grow")
    _measure.table(
        ("", "varied", "from", "to", "ms", "to", "time", "MB", "to", "memory"),
        [
            (
                line["what"],
                line["varied"],
                line["sizes"][0],
                line["sizes"][-1],
                1e3 * line["seconds"][0],
                1e3 * line["seconds"][-1],
                line["exponent_of_time"],
                line["bytes"][0] / 1e6,
                line["bytes"][-1] / 1e6,
                line["exponent_of_memory"],
            )
            for line in lines
        ],
    )
    _measure.write("growth", args.out, {"base": BASE, "rounds": args.rounds}, {"lines": lines})


if __name__ == "__main__":
    main()
