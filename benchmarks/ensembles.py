"""What several systems cost: training on all cores beside one, and predictions beside boosting.

Not pinned to one core: the point is what processes gain. "choice" is `GT2Regressor.strong()` on
one core, all that it tries included; "chosen" are the systems that it kept. Boosting has the trees
that scikit-learn gives it; "tuned" has those that the method comparison would choose here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import _measure
import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

from gt2lite import GT2Regressor
from gt2lite.practice.presets import STRONG
from study.comparison import competitors


def main() -> None:
    """Time, print, write."""
    sizes = {"rows": 1000, "inputs": 10, "systems": 5, "epochs": 200, "new_rows": 50_000}
    args = _measure.options(__doc__, pinned=False, **sizes, rounds=3)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(args.rows, args.inputs))
    y = np.sin(2 * X[:, 0]) + X[:, 1 % args.inputs] ** 2 + 0.3 * rng.normal(size=args.rows)
    new = rng.normal(size=(args.new_rows, args.inputs))
    recipe = replace(STRONG, epochs=args.epochs)

    def train(**more: int) -> GT2Regressor:
        return GT2Regressor(recipe=recipe, **more).fit(X, y)

    one, several = train(), train(n_systems=args.systems)
    chosen = GT2Regressor.strong().fit_calibrate(X, y)
    boosted = HistGradientBoostingRegressor(random_state=0).fit(X, y)
    tuned = competitors.boost(X, y, competitors.held_out(args.rows, seed=0))
    cases: dict[str, Callable[[], object]] = {
        "one system": train,
        "several, one process": lambda: train(n_systems=args.systems),
        "several, all cores": lambda: train(n_systems=args.systems, n_jobs=-1),
        "choice, one process": lambda: GT2Regressor.strong().fit(X, y),
        "predict, one system": lambda: one.predict(new),
        "predict, several": lambda: several.predict(new),
        "predict, chosen": lambda: chosen.predict(new),
        "predict, chosen, interval": lambda: chosen.predict_interval(new),
        "predict, boosting": lambda: boosted.predict(new),
        "predict, boosting, tuned": lambda: tuned.model.predict(new),
    }
    seconds = _measure.take_turns(cases, args.rounds)
    rows = {name: _measure.summary(found) for name, found in seconds.items()}
    for name, row in rows.items():
        first = "predict, boosting" if name.startswith("predict") else "one system"
        row["ratio"] = row["seconds"] / rows[first]["seconds"]
    _measure.show("Seconds, and ratio to one system or boosting", rows, ["seconds", "ratio"])
    found = {"cases": rows, "chosen": len(chosen.systems_), "trees": tuned.settings["trees"]}
    _measure.write(args, found, rules=STRONG.n_rules)


if __name__ == "__main__":
    main()
