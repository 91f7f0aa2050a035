"""`GT2Regressor`: calibrated prediction intervals in five lines, in the user's own units.

The class follows scikit-learn's conventions and passes its `check_estimator`; where
scikit-learn is not installed it works the same (`gt2lite._sklearn`).
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Self

import numpy as np

from gt2lite._checks import Array, between
from gt2lite._sklearn import Regressor
from gt2lite._tables import Names, read_table, read_target
from gt2lite.calibration import Calibration
from gt2lite.calibration.groups import read_groups
from gt2lite.estimator._advice import warn_if_missed, warn_if_narrow
from gt2lite.estimator._calibrators import make_calibrator, tails_of
from gt2lite.estimator._fitting import Learnt, check_watch, fit_systems
from gt2lite.estimator._frames import interval_frame, report_frame
from gt2lite.estimator._models import Stored
from gt2lite.estimator._readable import Readable
from gt2lite.estimator._settings import (
    SIGNATURE,
    USUAL_COVERAGE,
    Unasked,
    complete,
    describe,
    make_plan,
    make_recipe,
    read_seed,
)
from gt2lite.estimator._splits import draw_split
from gt2lite.estimator._targets import check_target, ends_in_units, scaler_kind
from gt2lite.memberships import ALPHA_0
from gt2lite.presets import STRONG
from gt2lite.training import Callback


class GT2Regressor(Readable, Stored, Learnt, Regressor):
    """A general type-2 fuzzy logic system that predicts a number and an interval around it.

    It is trained once, for a high coverage, and then calibrated to any other one without
    training again. `GT2Regressor()` is the paper's recipe; for tables of your own begin with
    `GT2Regressor.strong()`.

    All settings are given by name. They are those of `gt2lite.recipe.Recipe`, where
    `epochs` may also be None: 100, and more on small data, until about 3,000 steps are done.

    Attributes:
        systems_: the trained systems, each with `params`, `recipe`, `history` and `inputs`.
        params_, recipe_, history_: those of the first: a dict of arrays in scaled units, the
            settings of its training, and the mean loss of each epoch.
        chosen_: what a choice inside training has tried, the best first; empty without one.
        margins_: the family of intervals that is calibrated; None for planes.
        ranks_: the ranks of the inputs, where a system learns from them; else None.
        scaler_: mean and spread of the training data.
        calibrator_: what `calibrate` learnt; absent before.
        calibration_rows_, split_: the rows that `fit_calibrate` did not train on, and a line
            about them; absent otherwise.
        n_features_in_, feature_names_in_: the columns seen in `fit`; names where X had them.

    >>> from gt2lite import GT2Regressor, load_dataset
    >>> data = load_dataset("pp")
    >>> reg = GT2Regressor(epochs=20, learning_rate=0.01)
    >>> reg = reg.fit_calibrate(data.X[:3000], data.y[:3000])
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
        """Return a regressor for practice: several systems, their settings chosen by the data.

        Every plane learns a coverage, as in `gt2lite.presets.STRONG`; the number of rules, the
        form of the inputs, the length of training and more are chosen inside the rows
        of training, and the mean of five to fifteen systems is kept. It takes 15 to 25 seconds for
        1,000 rows with 10 inputs on one core, and grows with the inputs. `n_jobs=-1` uses
        all cores.

        Args:
            overrides: settings that differ, by name. What is given is not chosen:
                ``strong(n_rules=10)`` has systems of ten rules, ``strong(choose=False,
                n_systems=1)`` is one system with the settings of `STRONG`.

        >>> reg = GT2Regressor.strong(random_state=3)
        >>> reg.objective, reg.choose, reg.n_systems, reg.random_state
        ('aligned', True, 5, 3)
        """
        settings = asdict(STRONG) | {"epochs": None, "n_systems": 5, "choose": True}
        return cls(**(settings | overrides))

    # ------------------------------------------------------------ fit and calibrate

    def fit(self, X: Any, y: Any, *, callback: Callback | None = None) -> Self:
        """Train on inputs `X` (N, M), an array or a data frame, and targets `y` (N,).

        Args:
            X: inputs.
            y: targets.
            callback: called after each epoch with its number, its loss and the parameters;
                training ends if it returns True, see `gt2lite.training.train`. Not with
                `choose`, nor where several processes train.

        Ctrl-C ends training with what the epochs so far have learnt, of several systems with
        those that are complete, and an `InterruptedTrainingWarning`. Before there is such, and
        in a choice inside training, it is an error, and the model that was there stays. In a loop
        of fits, such as a search, it ends one of them.

        Training, calibration and prediction keep BLAS to one thread, which is the fastest for
        matrices of this size, where threadpoolctl is installed (scikit-learn brings it).
        Without it set OMP_NUM_THREADS and OPENBLAS_NUM_THREADS to 1 before Python starts.
        """
        values, names = read_table(X)
        return self._fit(values, names, read_target(y, len(values)), callback)

    def calibrate(
        self,
        X: Any,
        y: Any,
        method: str = "conformal",
        *,
        sides: str = "both",
        groups: Any = None,
        **options: Any,
    ) -> Self:
        """Learn which plane has which coverage, from rows that training has not seen.

        Args:
            X: inputs (Q, M).
            y: targets (Q,).
            method: "conformal" has a guarantee, at any level up to Q / (Q + 1); "exact" is the
                same without its one rank of caution; "table" and "search" are the paper's
                Methods 1 and 2, which approximate "exact" and end at the trained envelope.
            sides: "both" for one plane; "each" for a plane for each end of the interval; "lower"
                or "upper" for that end alone, so that it has all the misses of a level.
            groups: a name or whole number for each row (Q,), and each group gets planes of
                its own; `predict_interval` then wants the groups of new rows, too.
            options: for the calibrator, see `gt2lite.calibration`; with groups
                ``small_groups="pool"`` is one. ``tails=(0.2, 0.8)``, with "each", lets a fifth of
                the misses lie below and the rest above.

        Groups and `sides` other than "both" need the method "conformal" or "exact". A
        `NarrowEnvelopeWarning` says where the trained envelope covers far less of these rows
        than it was trained for.
        """
        calibrator = make_calibrator(method, sides, groups is not None, options)
        scaled = self._scaled(X)
        target = read_target(y, len(scaled))
        return self._calibrate(calibrator, scaled, target, groups)

    def fit_calibrate(
        self,
        X: Any,
        y: Any,
        *,
        share: float = 0.25,
        groups: Any = None,
        method: str = "conformal",
        sides: str = "both",
        callback: Callback | None = None,
        **options: Any,
    ) -> Self:
        """Train on a part of one table and calibrate on the rest, drawn at random.

        `random_state` is the seed of the split, too. No calibration row is trained on, not even
        for its mean; `calibration_rows_` has their indices and `split_` tells the split.

        Args:
            X: inputs (N, M).
            y: targets (N,).
            share: the part of the rows that calibrates.
            groups: a name or whole number for each row (N,): each group gives its share, and
                is calibrated on its own.
            method: see `calibrate`, as for `sides` and `options`.
            sides: likewise.
            callback: see `fit`.
            options: see `calibrate`.

        Rows in the order of time, or that belong together, are better split by hand: the
        guarantee is one for new rows of the same kind as those drawn.

        >>> from gt2lite import GT2Regressor, load_dataset
        >>> data = load_dataset("aids")
        >>> reg = GT2Regressor(n_rules=3, epochs=20, learning_rate=0.02)
        >>> reg.fit_calibrate(data.X, data.y).split_
        '2139 rows: 1604 to train on, 535 to calibrate on (share=0.25, random_state=0)'
        """
        calibrator = make_calibrator(method, sides, groups is not None, options)
        values, names = read_table(X)
        target = read_target(y, N := len(values))
        check_target(self.target_transform, target)  # while rows have their own numbers
        labels = None if groups is None else read_groups(groups, N)
        pool, tails = options.get("small_groups") == "pool", tails_of(sides, options)
        split = draw_split(N, share, self.random_state, labels, sides=sides, tails=tails, pool=pool)
        self._fit(values[split.trained], names, target[split.trained], callback)
        of_rows = None if labels is None else [labels[i] for i in split.calibrated]
        scaled = self.scaler_.transform_X(values[split.calibrated])
        self._calibrate(calibrator, scaled, target[split.calibrated], of_rows)
        self.calibration_rows_, self.split_ = split.calibrated, split.words
        return self

    # -------------------------------------------------------------------- predict

    def predict(self, X: Any) -> Array:
        """Return the prediction (N,) for inputs `X` (N, M)."""
        planes = self._planes(X)
        return self.scaler_.inverse_y(planes.output(self.recipe_.planes.alphas))

    def predict_interval(
        self,
        X: Any,
        coverage: float | Sequence[float] = USUAL_COVERAGE,
        *,
        alpha: float | None = None,
        groups: Any = None,
        as_frame: bool = False,
    ) -> Any:
        """Return the lower and upper ends of prediction intervals.

        Args:
            X: inputs (N, M).
            coverage: the level wanted, or several of them; needs `calibrate` first.
            alpha: a plane in [0.01, 1] instead of a level, calibrated or not: 0.01 is the
                envelope that training aimed at, and covers what it happens to cover.
            groups: the group of each row (N,), where the calibration was by groups.
            as_frame: whether to return a data frame, see below.

        Returns:
            Two arrays (N,), or (N, L) for a sequence of L levels. An end that there is none of is
            infinite. As a frame: the columns "lower_90", "upper_90" and so on for each level,
            with the index of `X`.

        A `MissedLevelWarning` says, once for each level, where the calibration rows were covered
        far more or less often than that.
        """
        self._check_fitted()
        if alpha is not None:
            lower, upper = self._plane(X, alpha, coverage, groups)
        else:
            calibrator, planes = self._calibrated(), self._planes(X)
            if groups is not None:
                groups = read_groups(groups, len(planes))
            lower, upper = calibrator.intervals(self.learnt().family(planes), coverage, groups)
            told = self.__dict__.setdefault("_told", set())
            warn_if_missed(calibrator, np.ravel(coverage), told)
        lower, upper = (ends_in_units(self.scaler_, ends) for ends in (lower, upper))
        if as_frame:
            return interval_frame(X, lower, upper, coverage if alpha is None else None)
        return lower, upper

    def calibration_report(
        self, coverage: float | Sequence[float], *, as_frame: bool = False
    ) -> Any:
        """Return what the calibration makes of a level, a row for each group, or one for all.

        A row has the number of samples, what the group was calibrated on, its plane, the share
        of its samples covered, and the margin on top of the lowest plane, in units of y, or of
        log(y) where that is learnt.

        Args:
            coverage: the level, or several of them.
            as_frame: whether to return a pandas frame with a column for the level.

        Returns:
            A list of `ReportRow`, or a dict of such lists by level where several are asked for.
        """
        calibrator = self._calibrated()
        reports = {
            float(level): [
                row._replace(margin=row.margin * self.scaler_.y_std)
                for row in calibrator.report(level)
            ]
            for level in np.ravel(coverage)
        }
        if as_frame:
            return report_frame(reports)
        return reports if np.ndim(coverage) else next(iter(reports.values()))

    # ------------------------------------------------------------------ inside

    def _fit(
        self, values: Array, names: Names | None, target: Array, callback: Callback | None = None
    ) -> Self:
        settings = self.get_params()
        recipe, plan = make_recipe(settings, len(values)), make_plan(settings)
        check_watch(plan, callback)
        scaler = scaler_kind(plan.target_transform).fit(values, target)
        fitted = fit_systems(
            scaler.transform_X(values),
            scaler.transform_y(target),
            recipe,
            plan,
            read_seed(self.random_state),
            callback,
        )
        self._forget("calibrator_", "feature_names_in_", *_OF_CALIBRATION)
        self._keep(fitted)
        self.scaler_ = scaler
        self.n_features_in_ = values.shape[1]
        if names is not None:
            self.feature_names_in_ = names
        return self

    def _calibrate(self, calibrator: Any, scaled: Array, target: Array, groups: Any) -> Self:
        given = () if groups is None else (groups,)
        learnt = self.learnt()
        intervals = learnt.family(learnt.planes(scaled))
        calibrator.fit(intervals, self.scaler_.transform_y(target), *given)
        self._forget(*_OF_CALIBRATION)
        self.calibrator_: Calibration = calibrator
        self._calibration_X = None if calibrator.interval is None else scaled
        if learnt.margins is None:  # margins are no envelope that was trained
            warn_if_narrow(calibrator, self.recipe_.coverage, stacklevel=4)
        return self

    def _plane(self, X: Any, alpha: Any, coverage: Any, groups: Any) -> tuple[Array, Array]:
        if not isinstance(coverage, Unasked):
            raise ValueError(f"give alpha or coverage, not both: got {alpha!r} and {coverage!r}")
        if groups is not None:
            raise ValueError("groups belong to a coverage, and alpha was given instead")
        return self._planes(X)(between("alpha", alpha, ALPHA_0, 1, closed=True))


GT2Regressor.__doc__ = inspect.cleandoc(GT2Regressor.__doc__ or "").replace(
    "\nAttributes:\n", f"\nSettings:\n{describe()}\n\nAttributes:\n", 1
)


_OF_CALIBRATION = ("calibration_rows_", "split_", "_told")  # what a new calibration outdates
