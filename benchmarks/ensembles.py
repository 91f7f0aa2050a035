"""What several systems cost: training on all cores beside one, and predictions beside boosting.

Not pinned to one core: the point is what processes gain. "choice" is `GT2Regressor.strong()` on
one core, all that it tries included; "chosen" are the systems that it kept. Boosting has the trees
that scikit-learn gives it; "tuned" has those that the method comparison would choose here. CatBoost
stops early; its "quantiles" are those that the method comparison asks for. It is left out if it is
not installed.

Predictions are timed in CPU seconds, for one row, for a thousand and for many.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import _measure
import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

from gt2lite import GT2Regressor
from gt2lite._validation import Array
from gt2lite.practice.presets import STRONG
from study.comparison import competitors

CATBOOST = {
    "CatBoost": "RMSE",
    "CatBoost, quantiles": "MultiQuantile:alpha=0.025,0.05,0.5,0.95,0.975",
}


def catboost(X: Array, y: Array) -> dict[str, Callable[[Array], object]]:
    """Return the predictions of CatBoost by name, if it is installed."""
    if (package := _measure.competitor("catboost")) is None:
        return {}
    n, models = len(y) // 5, {}
    for name, loss in CATBOOST.items():
        fixed = {"thread_count": 1, "verbose": False, "allow_writing_files": False}
        model = package.CatBoostRegressor(loss_function=loss, random_seed=0, **fixed)
        model.fit(X[n:], y[n:], eval_set=(X[:n], y[:n]), early_stopping_rounds=50)
        models[name] = partial(model.predict, thread_count=1)
    return models


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
    }
    seconds = _measure.take_turns(cases, args.rounds)
    rows = {name: _measure.summary(found) for name, found in seconds.items()}
    for row in rows.values():
        row["ratio"] = row["seconds"] / rows["one system"]["seconds"]
    _measure.show("Seconds of training, and ratio to one system", rows, ["seconds", "ratio"])

    models: dict[str, Callable[[Array], object]] = {
        "one system": one.predict,
        "several": several.predict,
        "chosen": chosen.predict,
        "chosen, interval": chosen.predict_interval,
        "chosen, both": partial(chosen.predict_interval, with_prediction=True),
        "chosen, two calls": lambda X: (chosen.predict(X), chosen.predict_interval(X)),
        "boosting": boosted.predict,
        "boosting, tuned": tuned.model.predict,
        **catboost(X, y),
    }
    predictions = {}
    for n in (1, 1000, args.new_rows):
        calls = {name: partial(model, new[:n]) for name, model in models.items()}
        turns = _measure.take_turns(calls, args.rounds, clock=time.process_time)
        timed = {name: _measure.summary(found) for name, found in turns.items()}
        for name, row in timed.items():
            for other in ("boosting", *CATBOOST):
                if other in turns:
                    row[f"over {other}"] = _measure.ratio(turns[name], turns[other])
        columns = [name for name in timed["chosen"] if name == "seconds" or "over" in name]
        _measure.show(f"CPU seconds of predictions, {n} rows, and ratios", timed, columns)
        predictions[n] = timed
    many = {f"predict, {name}": row for name, row in timed.items()}  # as chapters read them
    found = {
        "cases": rows | many,
        "predictions": predictions,
        "chosen": len(chosen.systems_),
        "trees": tuned.settings["trees"],
    }
    _measure.write(args, found, rules=STRONG.n_rules)


if __name__ == "__main__":
    main()
