"""What an interval costs, in microseconds per sample and plane, and what a calibration costs.

"anew" computes the memberships of the rows, "kept" finds them where `Planes` keeps them between
planes. A calibration is also given in planes: how many kept planes could be had in its time.
"""

from __future__ import annotations

from collections.abc import Callable

import _measure
import numpy as np

from gt2lite.calibration import CALIBRATORS, Calibrator
from gt2lite.losses import DUAL_ALPHAS
from gt2lite.memberships import ALPHA_0
from gt2lite.system import Planes
from gt2lite.training import init_params


def main() -> None:
    """Time, print, write."""
    args = _measure.options(__doc__, rows=10_000, inputs=11, rules=10, rounds=15)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(args.rows, args.inputs))
    params = init_params(X, args.rules, rng)
    params["a"] = rng.normal(size=params["a"].shape) / args.inputs**0.5
    kept = Planes(params, X)
    # targets that the widest plane covers nearly always
    lower, upper = kept(ALPHA_0)
    y = (lower + upper) / 2 + (upper - lower) * 0.15 * rng.normal(size=args.rows)

    planes: dict[str, tuple[int, Callable[[], object]]] = {
        "output, three planes, anew": (3, lambda: Planes(params, X).output(DUAL_ALPHAS)),
        "output, three planes, kept": (3, lambda: kept.output(DUAL_ALPHAS)),
        "interval, one plane, anew": (1, lambda: Planes(params, X)(ALPHA_0)),
        "interval, one plane, kept": (1, lambda: kept(ALPHA_0)),
        "interval, a plane for each row, kept": (1, lambda: kept(np.full(args.rows, 0.3))),
    }

    def calibrate(method: str) -> Calibrator:
        fitted = CALIBRATORS[method]().fit(Planes(params, X), y)
        fitted.alpha(_measure.LEVELS)
        return fitted

    cases = {name: call for name, (_, call) in planes.items()}
    cases |= {method: lambda method=method: calibrate(method) for method in CALIBRATORS}
    seconds = _measure.take_turns(cases, args.rounds)

    rows = {name: _measure.summary(seconds[name]) for name in planes}
    for name, row in rows.items():
        row["us_per_sample_and_plane"] = 1e6 * row["seconds"] / (args.rows * planes[name][0])
    one_plane = seconds["interval, one plane, kept"]
    calibrations = {
        method: _measure.summary(seconds[method])
        | {
            "n_evaluations": calibrate(method).n_evaluations,
            "price_in_planes": 1 / _measure.ratio(one_plane, seconds[method]),
        }
        for method in CALIBRATORS
    }
    _measure.show(f"{args.rows} rows, {args.inputs} inputs, {args.rules} rules", rows)
    _measure.show(f"Calibration on the same rows, {len(_measure.LEVELS)} levels", calibrations)
    results = {"planes": rows, "calibrations": calibrations}
    _measure.write(args, results, levels=_measure.LEVELS)


if __name__ == "__main__":
    main()
