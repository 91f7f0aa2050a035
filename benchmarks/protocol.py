"""The whole protocol of the paper, 60 trainings and calibrations, and where a training's time goes.

All cores work, one thread each, without a cache. The shares are those of a profile of one
training of White Wine; a profile makes calls dearer than they are, so that they are a guide.
"""

from __future__ import annotations

import cProfile
import os
import pstats
import time
from typing import Any

import _measure

from gt2lite.recipe import Recipe
from gt2lite.training import train
from study import protocol
from study.execution import run_all

PARTS = {
    "memberships and firing": [("planes.py", "fire")],
    "planes": [("planes.py", "reduce_planes")],
    "backward": [("planes.py", "pull_back_planes")],
    "loss": [("losses.py", "gradient")],
    "Adam": [("training.py", "update")],
}


def whole(recipe: Recipe, jobs: int, first: int) -> dict[str, Any]:
    """Return the seconds of the protocol, of its trainings and of its calibrations."""
    todo = protocol.trainings(recipe=recipe)[:first]
    clock = time.perf_counter()
    runs = run_all(protocol.run, todo, n_jobs=jobs, cache=False)
    seconds = time.perf_counter() - clock
    rows = protocol.all_records(runs)
    trained = rows[rows.method == "trained"]  # one row for each training
    return {
        "n_trainings": len(todo),
        "seconds": seconds,
        "jobs": jobs if jobs > 0 else os.cpu_count(),
        "training_seconds": float(trained.train_seconds.sum()),
        "training_seconds_by_data": trained.groupby("dataset").train_seconds.sum().to_dict(),
        "calibration_seconds": float(rows.calibrate_seconds.sum()),
    }


def shares(recipe: Recipe) -> dict[str, Any]:
    """Return the shares of a training's time."""
    data = protocol.split("ww", 0)
    train(data.X_cal, data.y_cal, Recipe(epochs=1), progress=False)  # warm-up
    clock = time.perf_counter()
    train(data.X_train, data.y_train, recipe, progress=False)
    seconds = time.perf_counter() - clock

    profile = cProfile.Profile()
    profile.runcall(train, data.X_train, data.y_train, recipe, progress=False)
    stats = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    spent = {(os.path.basename(file), name): row for (file, _, name), row in stats.items()}
    total = spent["training.py", "train"][3]
    parts = {part: sum(spent[key][3] for key in keys) / total for part, keys in PARTS.items()}
    parts["the rest"] = 1 - sum(parts.values())
    return {"seconds": seconds, "seconds_profiled": total, "shares": parts}


def calibrated(recipe: Recipe) -> float:
    """Return what a baseline costs beside its training, calibrations above all, over that."""
    clock = time.perf_counter()
    found = protocol.run("ww", 0, "baseline", recipe=recipe).records
    return float((time.perf_counter() - clock) / found.train_seconds[0] - 1)


def main() -> None:
    """Run, profile, print, write."""
    args = _measure.options(__doc__, pinned=False, epochs=100, jobs=-1, first=60)
    recipe = Recipe(epochs=args.epochs)
    found = whole(recipe, args.jobs, args.first)
    one = shares(recipe)
    after = calibrated(recipe)
    _measure.show("The protocol, in seconds", {"": found})
    _measure.show("Shares of one training of White Wine", {"share": one["shares"]})
    print(f"It takes {one['seconds']:.2f} s; a baseline spends {after:.0%} more after training")
    results = {"protocol": found, "training": one, "share_after_training": after}
    _measure.write(args, results, ("joblib",))


if __name__ == "__main__":
    main()
