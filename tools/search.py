"""Search for the recipe of `GT2Regressor.strong`, inside the training parts only.

python tools/search.py
    writes data/results/search.csv and its provenance; `make search` does the same

Each seed's training part (70 % of the rows) is split once more: four fifths to learn from, one
fifth to judge by. Calibration and test parts are not looked at. A recipe is judged by its
interval scores at 90 % and 95 %, each of the plane whose coverage of the judging rows is the
level, as a ratio to the paper's recipe on the same rows; the mean over data sets, seeds and
levels is geometric. The score was preferred to the width itself, which hangs on the one row
that decides where the level is reached; the score hears how far every miss lies outside.

The search has four parts. "path": from `CENTRE`, one factor after the other, the best value is
taken and kept. "final": the two best recipes of the path, on two seeds more. "product": the
centre with memberships that start as a plain product of Gaussians. "aligned": what each plane
learns, at the paper's other settings.

Runs are kept in _build/store: a command that was interrupted goes on where it was.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np

from gt2lite._checks import Array
from gt2lite.calibration import ExactCalibrator
from gt2lite.datasets import DATASETS, checksum, load_dataset, prepare
from gt2lite.losses import Objective
from gt2lite.memberships import alpha_of
from gt2lite.metrics import interval_score, pinaw, rmse
from gt2lite.recipe import Recipe
from gt2lite.study import runner
from gt2lite.study.protocol import SEEDS, Record, n_values
from gt2lite.study.results import write_provenance, write_records
from gt2lite.study.store import Store
from gt2lite.system import Planes
from gt2lite.training import DivergenceError, train

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "data" / "results"
LEVELS = (0.90, 0.95)
FEW, MORE = SEEDS[:2], SEEDS[:4]
JUDGING = 0.2

# Centre and factors came from some dozens of trial runs on training rows of the same seeds.
CENTRE = Recipe(
    n_rules=30,
    objective="aligned",
    epochs=40,
    batch_size=64,
    learning_rate=5e-3,
    schedule="cosine",
    weight_decay=0.1,
    start="joint",
    sigma_scale=0.7,
)
FACTORS: tuple[tuple[str, tuple[dict[str, Any], ...]], ...] = (
    ("start", ({"start": "per_input"}, {"start": "joint"})),
    ("sigma_scale", tuple({"sigma_scale": s} for s in (0.4, 0.7, 1.0))),
    ("learning_rate", tuple({"learning_rate": r} for r in (2e-3, 5e-3, 1e-2))),
    (
        "schedule",
        (
            {"schedule": "cosine", "averaging": 0.0},
            {"schedule": "constant", "averaging": 0.0},
            {"schedule": "constant", "averaging": 0.998},
        ),
    ),
    ("weight_decay", tuple({"weight_decay": w} for w in (0.0, 0.1, 0.5))),
    ("batch_size", tuple({"batch_size": b} for b in (32, 64))),
    ("keep", ({"keep": "last"}, {"keep": "validation"})),
    ("n_rules", tuple({"n_rules": n} for n in (5, 10, 30, 60, 100))),
    ("epochs", tuple({"epochs": e} for e in (40, 100))),
)


@dataclass(frozen=True)
class Mapped(Recipe):
    """The paper's recipe with planes and what they learn spelt out.

    Attributes:
        learn: pairs (kappa, coverage), the first of them (1, coverage of alpha_0). A pair that
            occurs n times weighs n times in the loss.
    """

    learn: tuple[tuple[float, float], ...] = ()

    @property
    def planes(self) -> Objective:
        """The planes of the system and what each of them learns."""
        kappa, levels = np.array(self.learn).T
        planes = np.append(kappa, 0.0)
        return Objective(np.asarray(alpha_of(planes)), planes, levels)


def normal(level: float) -> float:
    """Return the distance from the centre, in units of that at 99 %, for normal noise."""
    z = NormalDist().inv_cdf
    return z((1 + level) / 2) / z(0.995)


def laplace(level: float) -> float:
    """Return the same for Laplace noise, whose tails are longer."""
    return float(np.log(1 - level) / np.log(0.01))


def linear(level: float) -> float:
    """Return the same for noise without tails."""
    return level / 0.99


def aligned_variants() -> dict[str, Recipe]:
    """Return ways to give every plane a coverage to learn, by name."""

    def by(kappa_of: Any, *levels: float) -> Recipe:
        return Mapped(learn=tuple((kappa_of(level), level) for level in levels))

    four = (0.99, 0.95, 0.90, 0.50)
    return {
        "dual": Recipe(),
        "aligned": Recipe(objective="aligned"),
        "three planes": by(normal, 0.99, 0.95, 0.90),
        "Laplace map": by(laplace, *four),
        "linear map": by(linear, *four),
        "high levels weigh more": by(normal, 0.99, 0.99, 0.99, 0.95, 0.95, 0.90, 0.90, 0.50),
    }


@dataclass(frozen=True)
class Trial:
    """One recipe on the training part of one split."""

    dataset: str
    seed: int
    recipe: Recipe

    @property
    def key(self) -> str:
        """The key under which the outcome is stored."""
        return Store.key(kind="trial", data=checksum(self.dataset), judging=JUDGING, **asdict(self))

    @property
    def cost(self) -> float:
        """How long it takes, in no particular unit."""
        return n_values(self.dataset) * self.recipe.n_rules * self.recipe.epochs

    @property
    def label(self) -> str:
        """What it is, in a few words."""
        return f"{self.dataset} seed {self.seed}"


def execute(trial: Trial) -> Record:
    """Train on most of the training part and judge on the rest of it."""
    data = prepare(load_dataset(trial.dataset), trial.seed)
    rows = np.random.default_rng([trial.seed, 1]).permutation(len(data.y_train))
    judging, learning = np.split(rows, [round(JUDGING * len(rows))])
    with runner.one_blas_thread():
        clock = time.process_time()
        try:
            params, _ = train(
                data.X_train[learning],
                data.y_train[learning],
                trial.recipe,
                seed=trial.seed,
                progress=False,
            )
        except DivergenceError as error:  # what there is: its score will tell
            params = error.params
        seconds = time.process_time() - clock
        planes, y = Planes(params, data.X_train[judging]), data.y_train[judging]
        row: Record = {
            "dataset": trial.dataset,
            "seed": trial.seed,
            "rmse": rmse(y, planes.output(trial.recipe.planes.alphas)),
        }
        oracle = ExactCalibrator().fit(planes, y)
        for level in LEVELS:
            ends = oracle.intervals(planes, level)
            row[f"equal_pinaw_{100 * level:.0f}"] = pinaw(y, *ends)
            row[f"equal_interval_score_{100 * level:.0f}"] = interval_score(y, *ends, level)
    return row | {"train_seconds": seconds}


def _pack(row: Record) -> tuple[dict[str, Any], dict[str, Array]]:
    return {"record": row}, {}


def _unpack(_: Trial, header: dict[str, Any], __: dict[str, Array]) -> Record:
    return dict(header["record"])


class Search:
    """Runs of recipes and what came of them, as records."""

    def __init__(self, store: Store, jobs: int) -> None:
        self.store, self.jobs = store, jobs
        self.rows: list[Record] = []

    def trials(self, recipe: Recipe, seeds: Sequence[int], product: bool = False) -> list[Record]:
        """Return the records of a recipe on all data sets."""
        todo = []
        for dataset in DATASETS:
            if product:  # the exponent of a firing is the sum over the inputs, not their mean
                recipe = replace(recipe, sigma_scale=load_dataset(dataset).X.shape[1] ** -0.5)
            todo += [Trial(dataset, seed, recipe) for seed in seeds]
        work = runner.Work(execute, _pack, _unpack)
        return runner.run(todo, work, self.store, n_jobs=self.jobs, progress=False)

    def score(
        self, recipe: Recipe, seeds: Sequence[int] = FEW, *, product: bool = False, **names: Any
    ) -> float:
        """Try a recipe, keep its records under some names, and return its score."""
        found, paper = self.trials(recipe, seeds, product), self.trials(Recipe(), seeds)
        ratios = [
            row[name] / base[name]
            for row, base in zip(found, paper, strict=True)
            for name in (f"equal_interval_score_{100 * level:.0f}" for level in LEVELS)
        ]
        score = float(np.exp(np.mean(np.log(ratios))))
        self.rows += [names | {"score": score} | row for row in found]
        words = ", ".join(str(value) for value in names.values())
        seconds = sum(row["train_seconds"] for row in found)
        print(f"  {words:55} {score:.4f} of the paper's score, {seconds:4.0f} s", flush=True)
        return score

    def path(self) -> list[tuple[float, Recipe]]:
        """Walk from factor to factor and return the last candidates, best first."""
        here = CENTRE
        candidates: dict[Recipe, float] = {}
        for factor, options in FACTORS:
            scores = {}
            for option in options:
                recipe = replace(here, **option)
                value = " ".join(str(v) for v in option.values())
                scores[recipe] = self.score(recipe, part="path", factor=factor, value=value)
            here = min(scores, key=scores.__getitem__)
            candidates |= scores
        return sorted(((score, recipe) for recipe, score in candidates.items()), key=lambda x: x[0])

    def run(self) -> Recipe:
        """Do all parts and return the recipe that came out."""
        finalists = [recipe for _, recipe in self.path()[:2]]
        self.score(CENTRE, part="product", factor="sigma_scale", value="product", product=True)
        scores = {
            recipe: self.score(recipe, MORE, part="final", factor="place", value=str(place))
            for place, recipe in enumerate(finalists, 1)
        }
        best = min(scores, key=scores.__getitem__)
        for name, recipe in aligned_variants().items():
            self.score(recipe, part="aligned", factor="objective", value=name)
        return best


def main(words: Sequence[str] | None = None) -> int:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--jobs", type=int, default=-1, help="processes; -1 for one per core")
    parser.add_argument("--store", type=Path, default=ROOT / "_build" / "store")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where results are written")
    given = parser.parse_args(words)
    search = Search(Store(given.store), given.jobs)
    try:
        best = search.run()
    except KeyboardInterrupt:
        print("\nStopped. What was finished is kept; the same command goes on.", file=sys.stderr)
        return 130
    changed = {k: v for k, v in asdict(best).items() if v != asdict(Recipe())[k]}
    print(f"What came out: {changed}")
    write_records(search.rows, given.results / "search.csv")
    write_provenance(
        given.results, "search_provenance.json", command="make search", recipe=asdict(best)
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
