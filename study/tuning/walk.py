"""The walk from recipe to recipe that ended at `study.recipes.TUNED`.

A recipe is judged by its interval scores at 90 % and 95 %, as a ratio to the paper's recipe on the
same rows; the mean over data sets, seeds and levels is geometric. The score was preferred to the
width itself, which hangs on the one row that decides where the level is reached; the score hears
how far every miss lies outside.

There are five parts. "path": from `CENTRE`, one factor after the other, the best value is taken
and kept. "final": the two best recipes of the path, on two seeds more. "product": the centre
with memberships that start as a plain product of Gaussians. "aligned": what each plane learns, at
the paper's other settings. "paper": the recipe that all are compared with.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from gt2lite.datasets import DATASETS, load_dataset
from gt2lite.training import Recipe
from study.plans import SEEDS
from study.tuning.trial import Trial, TrialResult, aligned_variants

FEW, MORE = SEEDS[:2], SEEDS[:4]

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


@dataclass(frozen=True, kw_only=True)
class TrialRecord(TrialResult):
    """A trial, and why it was made; `score` is that of its recipe, over all its trials."""

    part: str
    factor: str
    value: str
    score: float


class Walk:
    """Recipes that were tried, and what came of them.

    Args:
        outcomes: returns what trials came to.
        tell: gets a line about each recipe.
    """

    def __init__(
        self,
        outcomes: Callable[[list[Trial]], list[TrialResult]],
        tell: Callable[[str], None] | None = None,
    ) -> None:
        self._outcomes = outcomes
        self._tell = tell or (lambda line: None)
        self.rows: list[TrialRecord] = []
        self.trials: list[Trial] = []  # of each row

    def run(self) -> Recipe:
        """Do all parts and return the recipe that came out."""
        self.score(Recipe(), MORE, part="paper", factor="recipe", value="paper")
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

    def score(
        self,
        recipe: Recipe,
        seeds: Sequence[int] = FEW,
        *,
        part: str,
        factor: str,
        value: str,
        product: bool = False,
    ) -> float:
        """Try a recipe, keep its records under some names, and return its score."""
        trials = _trials(recipe, seeds, product)
        found, paper = self._outcomes(trials), self._outcomes(_trials(Recipe(), seeds))
        ratios = [
            ours / theirs
            for result, base in zip(found, paper, strict=True)
            for ours, theirs in zip(result.scores, base.scores, strict=True)
        ]
        score = float(np.exp(np.mean(np.log(ratios))))
        self.trials += trials
        self.rows += [
            TrialRecord(**asdict(result), part=part, factor=factor, value=value, score=score)
            for result in found
        ]
        seconds = sum(result.train_seconds for result in found)
        words = f"{part}, {factor}, {value}"
        self._tell(f"  {words:55} {score:.4f} of the paper's score, {seconds:4.0f} s")
        return score


def _trials(recipe: Recipe, seeds: Sequence[int], product: bool = False) -> list[Trial]:
    """Return the trials of a recipe on all data sets."""
    found = []
    for dataset in DATASETS:
        if product:  # the exponent of a firing is the sum over the inputs, not their mean
            recipe = replace(recipe, sigma_scale=load_dataset(dataset).X.shape[1] ** -0.5)
        found += [Trial(dataset, seed, recipe) for seed in seeds]
    return found
