"""A fuzzy system of which only the output is used: one margin for all rows around it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gt2lite._checks import Array
from gt2lite.datasets import Prepared
from gt2lite.recipe import Recipe
from gt2lite.study.field.conformal import SplitConformal, answer
from gt2lite.study.field.contestant import Contestant, Entered, Get
from gt2lite.study.field.fuzzy import trained_system
from gt2lite.study.field.setting import Setting
from gt2lite.system import Params, Planes


@dataclass(frozen=True)
class Point(Contestant):
    """The output of a GT2-FLS alone, with split conformal prediction: one width for all rows."""

    recipe: Recipe

    def enter(self, setting: Setting, data: Prepared, get: Get) -> Entered:
        """Train the system, and put a margin around its output."""
        params, seconds = trained_system(self.recipe, setting, get)
        output = _Output(params, self.recipe.planes.alphas)
        answered = answer(SplitConformal(output, fitted=True), data)
        return answered._replace(first_seconds=answered.first_seconds + seconds)


class _Output:
    """The output of a trained system as an estimator in scikit-learn's manner."""

    def __init__(self, params: Params, alphas: Sequence[float] | Array) -> None:
        self.params = params
        self.alphas = alphas
        self.is_fitted = True  # what MAPIE looks for

    def fit(self, X: Array, y: Array) -> None:
        """Do nothing: the system is trained."""

    def predict(self, X: Array) -> Array:
        """Return the output (N,)."""
        return Planes(self.params, X).output(self.alphas)
