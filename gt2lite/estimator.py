"""`GT2Regressor`: calibrated prediction intervals in five lines, in the user's own units.

The class follows scikit-learn's conventions and passes its `check_estimator`; where
scikit-learn is not installed it works the same (`gt2lite._sklearn`).
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Sequence
from dataclasses import asdict
from numbers import Integral
from typing import Any, Self

import numpy as np

from gt2lite._checks import Array, between, one_of
from gt2lite._models import Model, read_model, write_model
from gt2lite._readable import Readable
from gt2lite._settings import SIGNATURE, complete, describe, make_recipe
from gt2lite._sklearn import Regressor, not_fitted_error
from gt2lite._tables import match_table, read_table, read_target
from gt2lite.calibration import (
    CALIBRATORS,
    RANKED,
    SIDES,
    Calibration,
    GroupCalibrator,
    ReportRow,
    TwoSidedCalibrator,
)
from gt2lite.calibration.groups import read_groups
from gt2lite.datasets import Scaler
from gt2lite.memberships import ALPHA_0
from gt2lite.presets import STRONG
from gt2lite.system import Planes
from gt2lite.training import train


class GT2Regressor(Readable, Regressor):
    """A general type-2 fuzzy logic system that predicts a number and an interval around it.

    It is trained once, for a high coverage, and then calibrated to any lower one
    without training again.

    All settings are given by name. They are those of `gt2lite.recipe.Recipe`, where
    `epochs` may also be None: 100, and more on small data, until about 3,000 steps are done.
    `random_state` is the seed of start values and row order, None for another one at each fit.

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

    def __init__(self, **settings: Any) -> None:
        for name, value in complete(settings).items():
            setattr(self, name, value)

    __init__.__signature__ = SIGNATURE  # type: ignore[attr-defined]

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
        return cls(**(asdict(STRONG) | overrides))

    # ------------------------------------------------------------ fit and calibrate

    def fit(self, X: Any, y: Any) -> Self:
        """Train on inputs `X` (N, M), an array or a data frame, and targets `y` (N,)."""
        values, names = read_table(X)
        target = read_target(y, len(values))
        scaler = Scaler.fit(values, target)
        recipe = make_recipe(self.get_params(), len(values))
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
        settings = self.get_params() | asdict(self.recipe_) | {"epochs": self.epochs}
        if not isinstance(self.random_state, Integral):
            settings["random_state"] = None  # a generator's state is no setting
        model = Model(
            settings,
            self.recipe_,
            self.params_,
            self.history_,
            self.scaler_,
            getattr(self, "feature_names_in_", None),
            getattr(self, "calibrator_", None),
        )
        write_model(path, model)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return the estimator that `save` wrote to `path`.

        Raises:
            FileFormatError: where the file is damaged, incomplete or another's. No code
                of the file is ever run.
        """
        model = read_model(path)
        self = cls(**model.settings)
        self.params_, self.history_ = model.params, model.history
        self.recipe_, self.scaler_ = model.recipe, model.scaler
        self.n_features_in_ = model.params["c"].shape[1]
        if model.names is not None:
            self.feature_names_in_ = model.names
        if model.calibrator is not None:
            self.calibrator_ = model.calibrator
        return self

    # ------------------------------------------------------------------ inside

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "params_")

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


GT2Regressor.__doc__ = inspect.cleandoc(GT2Regressor.__doc__ or "").replace(
    "\nAttributes:\n", f"\nSettings:\n{describe()}\n\nAttributes:\n", 1
)


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
