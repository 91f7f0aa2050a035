"""What having L levels costs: one system calibrated, one trained for each level, one for all.

A turn is a seed: the split, the start and the order of the batches are drawn anew, the sizes
stay. In each turn every way is gone once, on the same rows: training for 99 % and calibrating, by
every method, on memberships that nobody has computed before; training for 90 % and for 95 % on
training and calibration rows together, as the paper has it; one training that learns all
levels at random, on the same rows. "aligned" is a training in which every plane learns a level,
calibrated by "conformal". The levels are asked one after the other, the paper's two
first, and the clock is read after each. A further level by training costs the mean of those
two.

Costs are told in seconds and in evaluations, where one row at one plane is one evaluation: a
step of training counts batch x planes of them forwards and as many backwards, calibration counts
its rows times the planes that it looks at. Both are given in units of the training for 99 % of
the same turn. What predicting costs afterwards is the same for all ways, a plane, and left out.

Beside the costs stands what one gets for them: the intervals of the test part at the paper's two
levels. "width_at_coverage" is the width, as a share of the range, after each system was moved
along its own planes until the test part has the level: an oracle, to compare by. "crossed" is
the share of rows whose interval at the lower level is not within the one at the higher.
"""

from __future__ import annotations

import contextlib
import functools
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import _measure
import numpy as np

from gt2lite.calibration import CALIBRATORS, CoverageError
from gt2lite.datasets import Prepared, load_dataset, prepare
from gt2lite.memberships import ALPHA_0
from gt2lite.metrics import Quality, interval_quality, pinaw
from gt2lite.recipe import Recipe
from gt2lite.system import Params, Planes
from gt2lite.training import Trained, train
from study.aligned import train_levels, with_level
from study.margins import planes_at_coverage

PAPER = (0.90, 0.95)
LEVELS = (*PAPER, *(n / 1000 for n in range(500, 1000, 25) if n not in (900, 950)))  # 20 of them
JUDGED = ("search", "conformal")  # the others cut the same planes
METRICS = (*Quality._fields, "width_at_coverage")

Answer = tuple[Planes, tuple[np.ndarray, np.ndarray]]
"""The planes of a system at the test rows, and the interval that it gives at a level."""

quietly = functools.partial(train, progress=False)


class Price(NamedTuple):
    """What it cost to have 1, 2, ..., L levels."""

    seconds: np.ndarray  # (L,)
    evaluations: np.ndarray  # (L,)


class Fit(NamedTuple):
    """A training: its system, and what it cost."""

    params: Params
    seconds: float
    evaluations: int


def fit(
    X: np.ndarray, y: np.ndarray, recipe: Recipe, seed: int, learn: Callable[..., Trained] = quietly
) -> Fit:
    """Return a trained system with its cost; evaluations include backward passes."""
    clock = time.perf_counter()
    params = learn(X, y, recipe, seed=seed).params
    seconds = time.perf_counter() - clock
    steps = recipe.epochs * max(len(y) // recipe.batch_size, 1)
    rows = steps * min(recipe.batch_size, len(y))
    return Fit(params, seconds, 2 * rows * recipe.planes.alphas.size)


def calibrate(fitted: Fit, data: Prepared, method: str, levels: Sequence[float]) -> Price:
    """Return the cost of a training and of the levels that a calibrator then answers in turn."""
    seconds, planes = [], []
    clock = time.perf_counter()
    calibrator = CALIBRATORS[method]().fit(Planes(fitted.params, data.X_cal), data.y_cal)
    for level in levels:
        with contextlib.suppress(CoverageError):  # to find out that none is wide enough has a price
            calibrator.alpha(level)
        seconds.append(fitted.seconds + time.perf_counter() - clock)
        planes.append(calibrator.n_evaluations)
    return Price(np.array(seconds), fitted.evaluations + np.array(planes) * len(data.y_cal))


def calibrated(params: Params, data: Prepared, method: str) -> list[Answer]:
    """Return planes and interval of the test set at each of the paper's levels.

    If a level is out of reach, the interval is that of the widest plane.
    """
    test = Planes(params, data.X_test)
    calibrator = CALIBRATORS[method]().fit(Planes(params, data.X_cal), data.y_cal)
    answers = []
    for level in PAPER:
        try:
            answers.append((test, calibrator.intervals(test, level)))
        except CoverageError:
            answers.append((test, test(ALPHA_0)))
    return answers


def judge(answers: Sequence[Answer], y: np.ndarray) -> dict[str, list[float]]:
    """Return each metric at the paper's levels (2,), and the share of intervals that cross."""
    found: dict[str, list[float]] = {name: [] for name in METRICS}
    for level, (planes, ends) in zip(PAPER, answers, strict=True):
        values = interval_quality(y, *ends, level)._asdict()
        values["width_at_coverage"] = pinaw(y, *planes_at_coverage(planes, y, level))
        for name, value in values.items():
            found[name].append(value)
    (_, inner), (_, outer) = answers
    crossed = (inner[0] < outer[0]) | (inner[1] > outer[1])
    return found | {"crossed": [float(crossed.mean())]}


class Turn(NamedTuple):
    """What was found in a turn: the training for 99 %, and prices and metrics by way."""

    first: Fit
    prices: dict[str, Price]
    quality: dict[str, dict[str, list[float]]]


def turn(dataset: str, seed: int, epochs: int, levels: Sequence[float]) -> Turn:
    """Return what every way costs and gets in one turn; the training for 99 % comes first."""
    data = prepare(load_dataset(dataset), seed)
    both = np.vstack([data.X_train, data.X_cal]), np.concatenate([data.y_train, data.y_cal])
    recipe = Recipe(epochs=epochs)
    first = fit(data.X_train, data.y_train, recipe, seed)
    prices = {method: calibrate(first, data, method, levels) for method in CALIBRATORS}
    answers = {method: calibrated(first.params, data, method) for method in JUDGED}

    aligned = fit(data.X_train, data.y_train, replace(recipe, objective="aligned"), seed)
    prices["aligned"] = calibrate(aligned, data, "conformal", levels)
    answers["aligned"] = calibrated(aligned.params, data, "conformal")

    each = [fit(*both, replace(recipe, coverage=level), seed) for level in PAPER]
    so_many = np.arange(1, len(levels) + 1)
    prices["retrain"] = Price(
        so_many * statistics.mean(f.seconds for f in each), so_many * each[0].evaluations
    )
    tests = [Planes(f.params, data.X_test) for f in each]
    answers["retrain"] = [(test, test(ALPHA_0)) for test in tests]

    at_once = fit(*both, recipe, seed, learn=train_levels)
    prices["all levels"] = Price(
        np.full(so_many.shape, at_once.seconds), np.full(so_many.shape, at_once.evaluations)
    )
    tests = [Planes(at_once.params, with_level(data.X_test, level)) for level in PAPER]
    answers["all levels"] = [(test, test(ALPHA_0)) for test in tests]

    quality = {way: judge(found, data.y_test) for way, found in answers.items()}
    return Turn(first, prices, quality)


def summary(turns: Sequence[Turn]) -> dict[str, Any]:
    """Return medians over the turns, in units of the training for 99 %, way by way."""
    lines = {}
    for way in turns[0].prices:
        seconds = [t.prices[way].seconds / t.first.seconds for t in turns]
        evaluations = [t.prices[way].evaluations / t.first.evaluations for t in turns]
        lines[way] = {
            "seconds": np.median(seconds, axis=0).tolist(),
            "evaluations": np.median(evaluations, axis=0).tolist(),
        }
    return {
        "training_seconds": statistics.median(t.first.seconds for t in turns),
        "training_evaluations": turns[0].first.evaluations,
        "cost": lines,
        "quality": {
            way: {name: [t.quality[way][name] for t in turns] for name in turns[0].quality[way]}
            for way in turns[0].quality
        },
    }


def main() -> None:
    """Measure, print, write."""
    args = _measure.options(__doc__, datasets=["ww", "pp"], seeds=5, epochs=100, n_levels=20)
    levels = LEVELS[: args.n_levels]
    turn(args.datasets[0], 0, 1, levels)  # warm-up
    turns: dict[str, list[Turn]] = {dataset: [] for dataset in args.datasets}
    for seed in range(args.seeds):
        for dataset in args.datasets:
            turns[dataset].append(turn(dataset, seed, args.epochs, levels))
    results = {dataset: summary(found) for dataset, found in turns.items()}
    for dataset, found in results.items():
        seconds = {way: line["seconds"] for way, line in found["cost"].items()}
        title = f"{dataset}: seconds of 1, 2, ... levels, in trainings of"
        _measure.show(f"{title} {found['training_seconds']:.2f} s", seconds)
    _measure.write(args, results, levels=levels, judged=PAPER)


if __name__ == "__main__":
    main()
