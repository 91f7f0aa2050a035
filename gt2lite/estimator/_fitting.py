"""From scaled rows to systems: one, several, or those that a choice inside training keeps."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from gt2lite._checks import Array
from gt2lite._progress import progress_bar
from gt2lite.calibration.margins import MarginFamily, Margins
from gt2lite.estimator._choice import Judged, choose_systems
from gt2lite.estimator._ranks import Ranks
from gt2lite.estimator._settings import Plan
from gt2lite.estimator._systems import MeanPlanes, System, call_all, seeds_of
from gt2lite.memberships import ALPHA_0
from gt2lite.recipe import Recipe
from gt2lite.system import Planes
from gt2lite.training import train


class Fitted(NamedTuple):
    """What was learnt, in scaled units: systems, the form of their inputs, and their intervals."""

    systems: tuple[System, ...]
    ranks: Ranks | None  # where a system needs them
    margins: Margins | None  # None where intervals are planes
    judged: tuple[Judged, ...] = ()  # what a choice has tried

    @property
    def alphas(self) -> Array:
        """The planes that make up the output."""
        return self.systems[0].recipe.planes.alphas

    def planes(self, X: Array) -> Planes | MeanPlanes:
        """Return the planes at scaled inputs `X` (N, M)."""
        ranked = self.ranks.transform(X) if self.ranks is not None else X
        members = [
            Planes(system.params, ranked if system.inputs == "ranks" else X)
            for system in self.systems
        ]
        return members[0] if len(members) == 1 else MeanPlanes(members)

    def inputs(self, X: Array, system: int) -> Array:
        """Return scaled inputs (N, M) in the form that a system learns from."""
        if self.systems[system].inputs == "scaled" or self.ranks is None:
            return X
        return self.ranks.transform(X)

    def family(self, planes: Planes | MeanPlanes) -> Planes | MeanPlanes | MarginFamily:
        """Return the intervals that are calibrated: the planes, or margins around the output."""
        return planes if self.margins is None else self.margins.around(planes, self.alphas)


class Learnt:
    """What an estimator keeps of its training, as attributes and as one object."""

    systems_: tuple[System, ...]
    ranks_: Ranks | None
    margins_: Margins | None
    chosen_: tuple[Judged, ...]

    def learnt(self) -> Fitted:
        """Return systems, ranks and margins as one object, in scaled units; for other modules."""
        return Fitted(self.systems_, self.ranks_, self.margins_, self.chosen_)

    def calibration_inputs(self) -> Array | None:
        """Return the scaled inputs (Q, M) that the calibrator may need again, if any; likewise."""
        return self.__dict__.get("_calibration_X")

    def _keep(self, fitted: Fitted) -> None:
        """Keep what was learnt: the one place where attributes of training are set."""
        self.systems_, self.ranks_, self.margins_, self.chosen_ = fitted
        self.params_, self.recipe_, self.history_, _ = fitted.systems[0]


def fit_systems(
    X: Array, y: Array, recipe: Recipe, plan: Plan, seed: Any, progress: bool | None = None
) -> Fitted:
    """Train what a plan asks for on scaled inputs `X` (N, M) and targets `y` (N,)."""
    ranks = Ranks.fit(X) if plan.choose or plan.inputs == "ranks" else None
    if plan.choose and ranks is not None:
        number = seed if isinstance(seed, int) else int(np.random.default_rng(seed).integers(2**63))
        choice = choose_systems(
            X, y, recipe, ranks, n_folds=plan.n_systems, seed=number, inputs=plan.inputs,
            power=plan.margins, n_jobs=plan.n_jobs, progress=progress,
        )  # fmt: skip
        needed = ranks if any(system.inputs == "ranks" for system in choice.systems) else None
        return Fitted(tuple(choice.systems), needed, choice.margins, tuple(choice.judged))
    X_learn = X if ranks is None else ranks.transform(X)
    fitted = Fitted(tuple(_train(X_learn, y, recipe, plan, seed, progress)), ranks, None)
    if plan.margins is None:
        return fitted
    lower, upper = fitted.planes(X)(ALPHA_0)
    usual = float(np.mean(upper - lower)) or 1.0  # planes may have no width at all
    return fitted._replace(margins=Margins(plan.margins, usual))


def _train(
    X: Array, y: Array, recipe: Recipe, plan: Plan, seed: Any, progress: bool | None
) -> list[System]:
    seeds = seeds_of(seed, plan.n_systems)
    if len(seeds) == 1:
        trained = [train(X, y, recipe, seed=seeds[0], progress=progress)]
    else:
        calls = [partial(train, X, y, recipe, seed=one, progress=False) for one in seeds]
        with progress_bar(len(calls), "training", "system", show=progress) as done:
            trained = call_all(calls, plan.n_jobs, done)
    return [System(params, recipe, history, plan.inputs) for params, history in trained]
