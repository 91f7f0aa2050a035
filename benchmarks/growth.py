"""How time and memory grow with rows, inputs, rules, planes and the batch: exponents of a fit.

One size is varied, the others stay. "interval" is one plane of fresh rows (all planes where planes
are varied), "step" one training step. What is fitted is a fixed cost and a power of the size,
``a + b * size**e``, by least squares of relative errors. Theory wants e = 1, a straight line, for
everything but the rules: to sort them takes P log P, and all switched sums up to 128 rules are
products with matrices (2P, 2P), which is P^2 with a small factor. How far the points are off the
best straight line is reported as well.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import _measure
import numpy as np
import pandas as pd

from gt2lite import losses, system, training
from gt2lite._fast.gradient import BatchGradient
from gt2lite._fast.loss import CompiledLoss
from gt2lite._fast.parameters import Flat
from gt2lite._fast.state import quietly
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
    params = training.init_params(X[:1000], rules, rng)
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
    loss = CompiledLoss(objective)
    gradient = BatchGradient(Flat(params), objective.kappa, loss.gradient)
    y = X[:, 0].copy()

    return lambda: quietly(gradient)(X, y)


def peak(call: Callable[[], object]) -> float:
    """Return the peak of memory of a call that was just made, in bytes."""
    tracemalloc.start()
    call()
    _, bytes_ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return float(bytes_)


class Fit(NamedTuple):
    """A fixed cost and a power of the size."""

    exponent: float
    fixed: float
    off: float  # the largest deviation of a point, relative to it


def fit(sizes: Sequence[int], values: Sequence[float], exponent: float | None = None) -> Fit:
    """Return the fit of ``a + b * size**e``, a and b not negative, with the exponent if given."""
    tried = np.arange(0.0, 2.0, 0.005) if exponent is None else [exponent]
    fits = []
    for e in tried:
        columns = np.stack([np.ones(len(sizes)), np.power(sizes, float(e))], axis=1)
        columns /= np.reshape(values, (-1, 1))  # relative errors: all of it is to come to 1
        found, *_ = np.linalg.lstsq(columns, np.ones(len(sizes)), rcond=None)
        for j in np.flatnonzero(found < 0):  # then the other one alone
            found[j], other = 0.0, columns[:, 1 - j]
            found[1 - j] = other.sum() / (other @ other)
        off = columns @ found - 1
        fits.append((off @ off, Fit(float(e), float(found[0]), float(np.abs(off).max()))))
    return min(fits, key=lambda pair: pair[0])[1]


def main() -> None:
    """Measure, fit, print, write."""
    args = _measure.options(__doc__, rounds=11, most_sizes=99)
    lines: list[dict[str, Any]] = []
    for what, make, varied in (("interval", interval, INTERVAL), ("step", step, STEP)):
        for name, all_sizes in varied.items():
            sizes = all_sizes[: args.most_sizes]
            cases = {str(size): make(BASE | {name: size}) for size in sizes}
            turns = _measure.take_turns(cases, args.rounds)
            seconds = [_measure.summary(turns[str(size)])["seconds"] for size in sizes]
            memory = [peak(make(BASE | {name: size})) for size in sizes]
            line = {"what": what, "varied": name, "sizes": sizes}
            line |= {"seconds": seconds, "bytes": memory, "time": fit(sizes, seconds)._asdict()}
            line["off_a_straight_line"] = fit(sizes, seconds, 1.0).off
            lines.append(line | {"memory": fit(sizes, memory)._asdict()})
    names = ["what", "varied", "time.exponent", "off_a_straight_line", "memory.exponent"]
    _measure.show(
        "Exponents beside a fixed cost: 1 is linear, 0 does not grow",
        pd.json_normalize(lines),
        names,
    )
    _measure.write(args, {"lines": lines}, base=BASE)


if __name__ == "__main__":
    main()
