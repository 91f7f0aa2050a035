"""What an interval costs, in microseconds per sample and plane, and what a calibration costs.

"anew" computes the memberships of the rows, "kept" finds them where `Planes` keeps them between
planes. A calibration is also given in planes: how many kept planes could be had in its time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import _measure
import numpy as np

from gt2lite.calibration import CALIBRATORS, Calibration
from gt2lite.losses import DUAL_ALPHAS
from gt2lite.memberships import ALPHA_0
from gt2lite.system import Planes
from gt2lite.training import init_params


def main(words: Sequence[str] | None = None) -> None:
    """Time, print, write."""
    parser = _measure.options(__doc__)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--inputs", type=int, default=11)
    parser.add_argument("--rules", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=15)
    args = parser.parse_args(words)
    _measure.pin()

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

    def calibrate(method: str) -> Calibration:
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
    print(f"{args.rows} rows, {args.inputs} inputs, {args.rules} rules")
    _measure.table(
        ("", "ms", "us per sample and plane"),
        [
            (name, 1e3 * row["seconds"], row["us_per_sample_and_plane"])
            for name, row in rows.items()
        ],
    )
    print(f"Calibration on the same rows, {len(_measure.LEVELS)} levels")
    _measure.table(
        ("", "ms", "evaluations", "price in planes"),
        [
            (name, 1e3 * row["seconds"], row["n_evaluations"], row["price_in_planes"])
            for name, row in calibrations.items()
        ],
    )
    settings = {name: getattr(args, name) for name in ("rows", "inputs", "rules", "rounds")}
    settings["levels"] = _measure.LEVELS
    _measure.write("inference", args.out, settings, {"planes": rows, "calibrations": calibrations})


if __name__ == "__main__":
    main()
