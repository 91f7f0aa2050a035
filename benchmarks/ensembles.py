"""What several systems cost: training on all cores beside one, and predictions beside boosting.

Not pinned to one core: the point is what processes gain. "choice" is `GT2Regressor.strong()` on
one core, all that it tries included; "chosen" are the systems that it kept. Boosting has the trees
that scikit-learn gives it; "tuned" has those that the method comparison would choose here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict

import _measure
import numpy as np

from gt2lite import GT2Regressor
from gt2lite.training import STRONG
from study.comparison import competitors


def main(words: Sequence[str] | None = None) -> None:
    """Time, print, write."""
    parser = _measure.options(__doc__)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--inputs", type=int, default=10)
    parser.add_argument("--systems", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=200)
    parser.add_argument("--new-rows", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args(words)

    rng = np.random.default_rng(0)
    X = rng.normal(size=(args.rows, args.inputs))
    y = np.sin(2 * X[:, 0]) + X[:, 1 % args.inputs] ** 2 + 0.3 * rng.normal(size=args.rows)
    new = rng.normal(size=(args.new_rows, args.inputs))
    recipe = asdict(STRONG) | {"epochs": args.epochs}

    def train(**more: int) -> GT2Regressor:
        return GT2Regressor(**recipe, **more).fit(X, y)

    cases: dict[str, Callable[[], object]] = {
        "one system": train,
        "several, one process": lambda: train(n_systems=args.systems),
        "several, all cores": lambda: train(n_systems=args.systems, n_jobs=-1),
        "choice, one process": lambda: GT2Regressor.strong().fit(X, y),
    }
    one, several = train(), train(n_systems=args.systems)
    chosen = GT2Regressor.strong().fit_calibrate(X, y)
    cases["predict, one system"] = lambda: one.predict(new)
    cases["predict, several"] = lambda: several.predict(new)
    cases["predict, chosen"] = lambda: chosen.predict(new)
    cases["predict, chosen, interval"] = lambda: chosen.predict_interval(new)
    trees = None
    ensemble = _measure.competitor("sklearn.ensemble")
    if ensemble is not None:
        boosted = ensemble.HistGradientBoostingRegressor(random_state=0).fit(X, y)
        cases["predict, boosting"] = lambda: boosted.predict(new)
        tuned = competitors.boost(X, y, competitors.held_out(args.rows, seed=0))
        cases["predict, boosting, tuned"] = lambda: tuned.model.predict(new)
        trees = tuned.settings["trees"]
    seconds = _measure.take_turns(cases, args.rounds)
    rows = {name: _measure.summary(found) for name, found in seconds.items()}
    for name, row in rows.items():
        first = "predict, boosting" if name.startswith("predict") else "one system"
        if first in rows:
            row["ratio"] = row["seconds"] / rows[first]["seconds"]
    print(f"{args.rows} rows, {args.inputs} inputs, {STRONG.n_rules} rules, {args.systems} systems")
    columns = ("", "seconds", "beside one system, or boosting")
    _measure.table(columns, [(n, r["seconds"], r.get("ratio", 0.0)) for n, r in rows.items()])
    names = ("rows", "inputs", "systems", "epochs", "new_rows", "rounds")
    asked = {n: getattr(args, n) for n in names} | {"rules": STRONG.n_rules}
    found = {"cases": rows, "chosen": len(chosen.systems_), "trees": trees}
    _measure.write("ensembles", args.out, asked, found)


if __name__ == "__main__":
    main()
