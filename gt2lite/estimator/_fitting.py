"""From scaled rows to systems: one, several, or those that a choice inside training keeps."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from gt2lite._checks import Array
from gt2lite._progress import progress_bar
from gt2lite._sklearn import not_fitted_error
from gt2lite._tables import match_table
from gt2lite.calibration import Calibration
from gt2lite.calibration.margins import MarginFamily, Margins
from gt2lite.datasets import Scaler
from gt2lite.estimator._choice import Judged, choose_systems
from gt2lite.estimator._ranks import Ranks
from gt2lite.estimator._settings import Plan
from gt2lite.estimator._systems import MeanPlanes, System, call_all, seeds_of
from gt2lite.memberships import ALPHA_0
from gt2lite.recipe import Recipe
from gt2lite.system import Planes
from gt2lite.training import Callback, InterruptedTrainingWarning, Trained, train


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

    def with_margins(self, power: float, X: Array) -> Fitted:
        """Return the same with margins; their usual width is that at scaled inputs `X` (N, M)."""
        lower, upper = self.planes(X)(ALPHA_0)
        usual = float(np.mean(upper - lower)) or 1.0  # planes may have no width at all
        return self._replace(margins=Margins(power, usual))


class Learnt:
    """What an estimator keeps of its training, as attributes and as one object."""

    systems_: tuple[System, ...]
    ranks_: Ranks | None
    margins_: Margins | None
    chosen_: tuple[Judged, ...]
    scaler_: Scaler
    n_features_in_: int
    calibrator_: Calibration

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "params_")

    def learnt(self) -> Fitted:
        """Return systems, ranks and margins as one object, in scaled units; for other modules."""
        return Fitted(self.systems_, self.ranks_, self.margins_, self.chosen_)

    def use_margins(self, power: float, X: Any) -> None:
        """Calibrate margins instead of planes from now on; `X` (N, M) was trained on; likewise."""
        self._keep(self.learnt().with_margins(power, self._scaled(X)))

    def calibration_inputs(self) -> Array | None:
        """Return the scaled inputs (Q, M) that the calibrator may need again, if any; likewise."""
        return self.__dict__.get("_calibration_X")

    def _keep(self, fitted: Fitted) -> None:
        """Keep what was learnt: the one place where attributes of training are set."""
        self.systems_, self.ranks_, self.margins_, self.chosen_ = fitted
        self.params_, self.recipe_, self.history_, _ = fitted.systems[0]

    def _scaled(self, X: Any) -> Array:
        self._check_fitted()
        names = getattr(self, "feature_names_in_", None)
        values = match_table(X, self.n_features_in_, names, type(self).__name__)
        return self.scaler_.transform_X(values)

    def _planes(self, X: Any) -> Planes | MeanPlanes:
        scaled = self._scaled(X)
        return self.learnt().planes(scaled)

    def _calibrated(self) -> Calibration:
        if not hasattr(self, "calibrator_"):
            raise RuntimeError(
                "a coverage needs a calibration: call calibrate(X_cal, y_cal) with rows that "
                "training has not seen, or fit_calibrate(X, y) instead of fit. The uncalibrated "
                f"envelope is predict_interval(X, alpha={ALPHA_0})"
            )
        return self.calibrator_

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise not_fitted_error(type(self).__name__)

    def _forget(self, *names: str) -> None:
        for name in names:
            self.__dict__.pop(name, None)


def check_watch(plan: Plan, callback: Callback | None) -> None:
    """Raise where a callback cannot be called: in other processes, and in a choice."""
    if callback is None:
        return
    if plan.choose:
        raise ValueError(
            "callback must be None where choose=True: a choice goes through many trainings. For a "
            "look at them set verbose=True"
        )
    if plan.n_systems > 1 and plan.n_jobs not in (None, 1):
        raise ValueError(
            f"callback must be None where n_jobs={plan.n_jobs}: other processes would call it. Set "
            "n_jobs=None"
        )


def fit_systems(
    X: Array, y: Array, recipe: Recipe, plan: Plan, seed: Any, callback: Callback | None = None
) -> Fitted:
    """Train what a plan asks for on scaled inputs `X` (N, M) and targets `y` (N,)."""
    progress = plan.verbose
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
    fitted = Fitted(tuple(_train(X_learn, y, recipe, plan, seed, callback)), ranks, None)
    return fitted if plan.margins is None else fitted.with_margins(plan.margins, X)


def _train(
    X: Array, y: Array, recipe: Recipe, plan: Plan, seed: Any, callback: Callback | None
) -> list[System]:
    seeds, learn = seeds_of(seed, plan.n_systems), partial(train, X, y, recipe, callback=callback)
    trained: list[Trained] = []
    if len(seeds) == 1:
        trained = [learn(seed=seeds[0], on_interrupt="keep", progress=plan.verbose)]
    else:
        calls = [partial(learn, seed=one, progress=False) for one in seeds]
        try:
            with progress_bar(len(calls), "training", "system", show=plan.verbose) as done:
                call_all(calls, plan.n_jobs, done, trained)
        except KeyboardInterrupt:
            if not trained:
                raise
            words = f"after {len(trained)} of {len(calls)} systems"
            warnings.warn(
                f"stopped by hand {words}: those that are complete are kept",
                InterruptedTrainingWarning,
                stacklevel=5,
            )
    return [System(params, recipe, history, plan.inputs) for params, history in trained]
