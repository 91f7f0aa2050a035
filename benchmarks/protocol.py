"""The whole protocol of the paper, 60 trainings and calibrations, and where a training's time goes.

All cores work, one thread each, without a cache. The shares are those of a profile of one
training of White Wine; a profile makes calls dearer than they are, so that they are a guide.
"""

from __future__ import annotations

import cProfile
import os
import pstats
import time
from collections.abc import Sequence
from typing import Any

import _measure

from gt2lite.training import Recipe, train
from study import protocol
from study.execution import run_all

PARTS = {
    "memberships and firing": [("planes.py", "fire")],
    "planes": [("planes.py", "reduce_planes")],
    "backward": [("planes.py", "pull_back_planes")],
    "loss": [("losses.py", "gradient")],
    "Adam": [("training.py", "update")],
}


def whole(recipe: Recipe, jobs: int, first: int | None) -> dict[str, Any]:
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
    """Return the shares of a training's time, and the calls that take most of it."""
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
    dearest = sorted(spent.items(), key=lambda item: -item[1][2])[:12]
    return {
        "seconds": seconds,
        "seconds_profiled": total,
        "shares": parts,
        "dearest": [
            {"call": name, "of": file, "calls": row[1], "share": row[2] / total}
            for (file, name), row in dearest
        ],
    }


def calibrated(recipe: Recipe) -> float:
    """Return what a baseline costs beside its training, calibrations above all, over that."""
    clock = time.perf_counter()
    found = protocol.run("ww", 0, "baseline", recipe=recipe).records
    return float((time.perf_counter() - clock) / found.train_seconds[0] - 1)


def main(words: Sequence[str] | None = None) -> None:
    """Run, profile, print, write."""
    parser = _measure.options(__doc__)
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=-1, help="processes; -1 for one per core")
    parser.add_argument("--first", type=int, help="only so many of the 60")
    args = parser.parse_args(words)

    recipe = Recipe(epochs=args.epochs)
    results: dict[str, Any] = {
        "protocol": whole(recipe, args.jobs, args.first),
        "training": shares(recipe),
        "share_after_training": calibrated(recipe),
    }
    found = results["protocol"]
    print(
        f"{found['n_trainings']} trainings of {args.epochs} epochs and all calibrations: "
        f"{found['seconds']:.0f} s in {found['jobs']} processes "
        f"(training {found['training_seconds']:.0f} s, calibration "
        f"{found['calibration_seconds']:.0f} s of work)"
    )
    one = results["training"]
    print(
        f"One training of White Wine: {one['seconds']:.2f} s ({one['seconds_profiled']:.2f} s "
        f"watched); after training a baseline spends {results['share_after_training']:.0%} more"
    )
    _measure.table(("", "share"), [(n, f"{s:.0%}") for n, s in one["shares"].items()])
    _measure.table(
        ("dearest calls", "of", "calls", "share"),
        [(d["call"], d["of"], d["calls"], f"{d['share']:.1%}") for d in one["dearest"]],
    )
    _measure.write("protocol", args.out, {"epochs": args.epochs}, results, ("joblib",))


if __name__ == "__main__":
    main()
