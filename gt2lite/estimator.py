"""`GT2Regressor`: calibrated prediction intervals in five lines, in the user's own units.

The class follows scikit-learn's conventions and passes its `check_estimator`; where
scikit-learn is not installed it works the same (`gt2lite._sklearn`).
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import asdict
from numbers import Integral
from typing import Any, Self

import numpy as np

from gt2lite import _files as storage
from gt2lite._checks import Array, between, finite, one_of, vector
from gt2lite._sklearn import Regressor
from gt2lite._tables import match_table, not_fitted_error, read_table, read_target
from gt2lite._version import __version__
from gt2lite.calibration import (
    CALIBRATORS,
    RANKED,
    SIDES,
    Calibration,
    GroupCalibrator,
    ReportRow,
    TwoSidedCalibrator,
    restore,
)
from gt2lite.calibration.groups import read_groups
from gt2lite.datasets import Scaler
from gt2lite.memberships import ALPHA_0
from gt2lite.presets import STRONG
from gt2lite.recipe import Recipe
from gt2lite.system import Planes, param_shapes
from gt2lite.training import train

EPOCHS, MIN_STEPS = 100, 3000


class GT2Regressor(Regressor):
    """A general type-2 fuzzy logic system that predicts a number and an interval around it.

    It is trained once, for a high coverage, and then calibrated to any lower one
    without training again.

    Args:
        n_rules: number of fuzzy rules.
        coverage: what the widest interval is trained to cover; levels below it can be had
            by calibration.
        alphas: the planes that make up the prediction; None for the objective's own.
        epochs: passes over the training data; None for 100, and more on small data, until
            about 3,000 steps are done.
        batch_size: rows in a step.
        learning_rate: Adam's.
        smf: "per_input" or "scalar" secondary memberships.
        objective: "dual", the paper's loss, or "aligned", in which every plane learns a
            coverage of its own.
        random_state: seed of start values and row order; None for another one at each fit.
        keep, validation, schedule, weight_decay, averaging, start, sigma_scale: what goes
            beyond the paper, see `gt2lite.training.Recipe`; `strong` sets them for you.

    Attributes:
        params_: the trained system, a dict of arrays in scaled units.
        recipe_: the settings that it was trained with.
        history_: mean loss of each epoch.
        scaler_: mean and spread of the training data.
        calibrator_: what `calibrate` learnt; absent before.
        n_features_in_, feature_names_in_: the columns seen in `fit`; names where X had them.

    >>> from gt2lite import GT2Regressor, load_dataset
    >>> data = load_dataset("pp")
    >>> reg = GT2Regressor(epochs=20, learning_rate=0.01).fit(data.X[:2000], data.y[:2000])
    >>> reg = reg.calibrate(data.X[2000:3000], data.y[2000:3000])
    >>> lower, upper = reg.predict_interval(data.X[3000:], coverage=[0.9, 0.95])
    >>> lower.shape
    (6568, 2)
    """

    def __init__(
        self,
        n_rules: int = 10,
        coverage: float = 0.99,
        alphas: Sequence[float] | None = None,
        epochs: int | None = None,
        batch_size: int = 64,
        learning_rate: float = 1e-3,
        smf: str = "per_input",
        objective: str = "dual",
        random_state: Any = 0,
        *,
        keep: str = "last",
        validation: float = 0.2,
        schedule: str = "constant",
        weight_decay: float = 0.0,
        averaging: float = 0.0,
        start: str = "per_input",
        sigma_scale: float = 1.0,
    ) -> None:
        self.n_rules = n_rules
        self.coverage = coverage
        self.alphas = alphas
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.smf = smf
        self.objective = objective
        self.random_state = random_state
        self.keep = keep
        self.validation = validation
        self.schedule = schedule
        self.weight_decay = weight_decay
        self.averaging = averaging
        self.start = start
        self.sigma_scale = sigma_scale

    @classmethod
    def strong(cls, **overrides: Any) -> Self:
        """Return a regressor with the settings of `gt2lite.presets.STRONG`, for practice.

        A hundred rules, every plane with a coverage to learn, and another training than the
        paper's, which remains the default. It takes about five seconds for 1,000 rows on one
        core, some five times as long. How much narrower intervals become depends on the
        data; the book shows four sets.

        Args:
            overrides: settings that differ, by name.

        >>> reg = GT2Regressor.strong(random_state=3)
        >>> reg.objective, reg.random_state
        ('aligned', 3)
        """
        names = cls().get_params()
        settings = {name: v for name, v in asdict(STRONG).items() if name in names}
        return cls(**(settings | overrides))

    # ------------------------------------------------------------ fit and calibrate

    def fit(self, X: Any, y: Any) -> Self:
        """Train on inputs `X` (N, M), an array or a data frame, and targets `y` (N,)."""
        values, names = read_table(X)
        target = read_target(y, len(values))
        scaler = Scaler.fit(values, target)
        recipe = self._recipe(len(values))
        trained = train(
            scaler.transform_X(values),
            scaler.transform_y(target),
            recipe,
            seed=_seed(self.random_state),
        )
        self._forget()
        self.params_, self.history_ = trained
        self.recipe_ = recipe
        self.scaler_ = scaler
        self.n_features_in_ = values.shape[1]
        if names is not None:
            self.feature_names_in_ = names
        return self

    def calibrate(
        self,
        X: Any,
        y: Any,
        method: str = "search",
        *,
        sides: str = "both",
        groups: Any = None,
        **options: Any,
    ) -> Self:
        """Learn which plane has which coverage, from data that training has not seen.

        Args:
            X: inputs (Q, M).
            y: targets (Q,).
            method: "table" and "search" are the paper's Methods 1 and 2; "exact" is what
                both approximate, and goes on where they end; "conformal" adds a guarantee.
            sides: "both" for one plane; "each" for a plane for each end of the interval.
            groups: a name or whole number for each row (Q,), and each group gets planes of
                its own; `predict_interval` then wants the groups of new rows, too.
            options: for the calibrator, see `gt2lite.calibration`; with groups
                ``small_groups="pool"`` is one.

        "each" and groups need the method "exact" or "conformal".
        """
        one_of("method", method, CALIBRATORS)
        one_of("sides", sides, SIDES)
        if method not in RANKED and (sides != "both" or groups is not None):
            what = "groups" if groups is not None else f"sides={sides!r}"
            raise ValueError(
                f'{what} can be had with method="exact" or "conformal", got method={method!r}'
            )
        planes = self._planes(X)
        target = self.scaler_.transform_y(read_target(y, len(planes.X)))
        self.calibrator_: Calibration
        if groups is not None:
            by_group = GroupCalibrator(method, sides, **options)
            self.calibrator_ = by_group.fit(planes, target, groups)
        elif sides == "each":
            self.calibrator_ = TwoSidedCalibrator(method, **options).fit(planes, target)
        else:
            self.calibrator_ = CALIBRATORS[method](**options).fit(planes, target)
        return self

    # -------------------------------------------------------------------- predict

    def predict(self, X: Any) -> Array:
        """Return the prediction (N,) for inputs `X` (N, M)."""
        planes = self._planes(X)
        return self.scaler_.inverse_y(planes.output(self.recipe_.planes.alphas))

    def predict_interval(
        self,
        X: Any,
        alpha: float | None = None,
        coverage: float | Sequence[float] | None = None,
        groups: Any = None,
    ) -> tuple[Array, Array]:
        """Return the lower and upper ends of prediction intervals.

        Args:
            X: inputs (N, M).
            alpha: a plane in [0.01, 1]; without it and `coverage` the widest, 0.01.
            coverage: the level wanted, or several of them; needs `calibrate` first.
            groups: the group of each row (N,), where the calibration was by groups.

        Returns:
            Two arrays (N,), or (N, L) for a sequence of L levels.
        """
        planes = self._planes(X)
        if coverage is None:
            if groups is not None:
                raise ValueError("groups belong to a coverage, and none was given")
            alpha = ALPHA_0 if alpha is None else between("alpha", alpha, ALPHA_0, 1, closed=True)
            lower, upper = planes(alpha)
        elif alpha is not None:
            raise ValueError(f"give alpha or coverage, not both: got {alpha!r} and {coverage!r}")
        else:
            calibrator = self._calibrated()
            if groups is not None:
                groups = read_groups(groups, len(planes.X))
            lower, upper = calibrator.intervals(planes, coverage, groups)
        return self.scaler_.inverse_y(lower), self.scaler_.inverse_y(upper)

    def calibration_report(self, coverage: float) -> list[ReportRow]:
        """Return what the calibration makes of a level, a row for each group, or one for all.

        A row has the number of samples, what the group was calibrated on, its plane, the share
        of its samples covered, and the margin on top of the lowest plane, in units of y.
        """
        return [
            row._replace(margin=row.margin * self.scaler_.y_std)
            for row in self._calibrated().report(coverage)
        ]

    # -------------------------------------------------------------- save and load

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted system, with its calibration, to one `.npz` file.

        No pickle is involved. The methods "table" and "search" evaluate the system on
        the calibration set when a new level is asked for, so that set goes into the file;
        "exact" and "conformal" need a few numbers per calibration row, and store no data.
        """
        self._check_fitted()
        # what it was fitted with, whatever was set since
        settings = self.get_params() | asdict(self.recipe_)
        settings = {name: settings[name] for name in self.get_params()} | {"epochs": self.epochs}
        if not isinstance(self.random_state, Integral):
            settings["random_state"] = None  # a generator's state is no setting
        header: dict[str, Any] = {"gt2lite": __version__, "settings": settings}
        arrays: dict[str, Array] = {f"params/{name}": v for name, v in self.params_.items()}
        arrays |= {f"scaler/{name}": np.asarray(v) for name, v in vars(self.scaler_).items()}
        arrays["history"] = self.history_
        if hasattr(self, "feature_names_in_"):
            header["feature_names"] = list(self.feature_names_in_)
        if hasattr(self, "calibrator_"):
            header["calibrator"], state = self.calibrator_.get_state()
            arrays |= {f"calibrator/{name}": v for name, v in state.items()}
            planes = self.calibrator_.interval
            if isinstance(planes, Planes):
                arrays["calibration_X"] = planes.X
        storage.write(path, "model", header, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return the estimator that `save` wrote to `path`.

        Raises:
            FileFormatError: where the file is damaged, incomplete or another's. No code
                of the file is ever run.
        """
        header, arrays = storage.read(path, "model")
        try:
            self = cls(**header["settings"])
            self._restore(header, arrays)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise storage.FileFormatError(f"{path} is damaged: {error}") from error
        return self

    def _restore(self, header: dict[str, Any], arrays: dict[str, Array]) -> None:
        def part(prefix: str) -> dict[str, Array]:
            return {
                name.removeprefix(prefix): finite(name, value)
                for name, value in arrays.items()
                if name.startswith(prefix)
            }

        params, scaler = part("params/"), part("scaler/")
        recipe = self._recipe(1)  # checks the settings
        M = params["c"].shape[1]
        shapes = param_shapes(recipe.n_rules, M, recipe.smf)
        if {name: value.shape for name, value in params.items()} != shapes:
            raise ValueError("the parameters do not fit together")
        self.params_ = {name: params[name] for name in shapes}
        self.recipe_ = recipe
        self.scaler_ = Scaler(
            vector("x_mean", scaler["x_mean"], M),
            vector("x_std", scaler["x_std"], M),
            float(scaler["y_mean"]),
            float(scaler["y_std"]),
        )
        self.history_ = vector("history", arrays["history"])
        self.n_features_in_ = M
        if "feature_names" in header:
            names = [str(name) for name in header["feature_names"]]
            if len(names) != M:
                raise ValueError(f"it names {len(names)} features for {M} inputs")
            self.feature_names_in_ = np.asarray(names, dtype=object)
        if "calibrator" in header:
            X = arrays.get("calibration_X")
            self.calibrator_ = restore(
                header["calibrator"],
                part("calibrator/"),
                None if X is None else Planes(self.params_, X),
            )

    # ------------------------------------------------------------------ inside

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "params_")

    def _recipe(self, n_rows: int) -> Recipe:
        epochs = self.epochs
        if (
            epochs is None
            and isinstance(self.batch_size, (int, np.integer))
            and self.batch_size > 0
        ):
            epochs = max(EPOCHS, math.ceil(MIN_STEPS / max(n_rows // self.batch_size, 1)))
        return Recipe(
            n_rules=self.n_rules,
            coverage=self.coverage,
            alphas=None if self.alphas is None else tuple(self.alphas),
            objective=self.objective,
            smf=self.smf,
            epochs=EPOCHS if epochs is None else epochs,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            keep=self.keep,
            validation=self.validation,
            schedule=self.schedule,
            weight_decay=self.weight_decay,
            averaging=self.averaging,
            start=self.start,
            sigma_scale=self.sigma_scale,
        )

    def _planes(self, X: Any) -> Planes:
        self._check_fitted()
        names = getattr(self, "feature_names_in_", None)
        values = match_table(X, self.n_features_in_, names, type(self).__name__)
        return Planes(self.params_, self.scaler_.transform_X(values))

    def _calibrated(self) -> Calibration:
        if not hasattr(self, "calibrator_"):
            raise RuntimeError("coverage needs a calibration: call calibrate(X_cal, y_cal) first")
        return self.calibrator_

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise not_fitted_error(type(self).__name__)

    def _forget(self) -> None:
        for name in ("calibrator_", "feature_names_in_"):
            self.__dict__.pop(name, None)


def _seed(random_state: Any) -> Any:
    """Return a seed for NumPy's generators from what scikit-learn calls a random state."""
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    if random_state is None or isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, (int, np.integer)) and random_state >= 0:
        return int(random_state)
    raise ValueError(
        f"random_state must be a whole number, a generator or None, got {random_state!r}"
    )
