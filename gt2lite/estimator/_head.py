"""`IntervalHead`: calibrated intervals around the predictions of any regressor.

A system learns the errors that the regressor makes on rows it was not trained on. This needs
scikit-learn; the system itself is a `GT2Regressor`, which does not.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Self

import numpy as np

from gt2lite._checks import Array
from gt2lite._sklearn import Regressor, need_sklearn, not_fitted_error
from gt2lite._tables import Names, match_table, read_table, read_target, take_rows
from gt2lite.calibration import Calibration
from gt2lite.calibration.groups import read_groups
from gt2lite.estimator._bases import (
    check_base,
    differences,
    draw_probes,
    hold_out,
    named_table,
    predict_base,
)
from gt2lite.estimator._calibrators import make_calibrator, tails_of
from gt2lite.estimator._courses import quality
from gt2lite.estimator._doubting import Doubting
from gt2lite.estimator._frames import interval_frame
from gt2lite.estimator._head_files import read_head, write_head
from gt2lite.estimator._head_inputs import HeadInputs, cross_fit, rms
from gt2lite.estimator._regressor import GT2Regressor
from gt2lite.estimator._seen import mark_rows, warn_if_seen
from gt2lite.estimator._settings import USUAL_COVERAGE, read_seed
from gt2lite.estimator._splits import draw_split
from gt2lite.presets import HEAD

SYSTEMS = 5
"""How many systems the default head is the mean of."""


class IntervalHead(Doubting, Regressor):
    """Calibrated prediction intervals around the predictions of any regressor.

    A copy of `base` is trained on all training rows. Further copies are trained on all folds but
    one, and a GT2 system learns the errors that they make on the fold left out, from the inputs
    and the base's prediction. An interval is the base's prediction and a plane of that system.

    The guarantee is that of any conformal calibration, whatever base and system are: planes are
    nested, and neither has seen the calibration rows. Rows that the base has seen void it.
    Rows of `fit` are found out (`SeenRowsWarning`); which rows a frozen base was trained on is
    not known here.

    Args:
        base: a regressor of scikit-learn's kind. It is not changed. In scikit-learn's
            `FrozenEstimator` it is not trained either: the system then learns its errors on the
            rows of `fit`. If the base has seen those, they are too small and planes too narrow,
            which calibration mends at the price of less apt, mostly wider, intervals.
        system: the unfitted `GT2Regressor` that learns the errors; None for the mean of five
            of 20 rules each (`gt2lite.presets.HEAD`). Of that one, planes or margins that follow
            their width are calibrated, whichever have the smaller interval score on rows left out
            (`head_.margins_`).
        cv: number of folds, or a splitter of scikit-learn's, such as `TimeSeriesSplit`.
        random_state: the seed of folds, of the default system, and of the split in
            `fit_calibrate`.

    Attributes:
        base_: the trained base.
        head_: the system, a `GT2Regressor` of the errors with the input "base" beside the others.
        out_of_fold_: whether the errors were those on rows left out; false for a frozen base.
        rmse_: root mean squared error on those rows, of the "base" and "corrected" by
            systems that were trained on the other half of them.
        corrects_: whether `predict` adds the system's output, because "corrected" is not worse.
        calibrator_, calibration_rows_, split_: see `GT2Regressor`.
        n_features_in_, feature_names_in_: the columns seen in `fit`; names where X had them.

    >>> from gt2lite import IntervalHead, load_dataset
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> data = load_dataset("pp")
    >>> forest = RandomForestRegressor(20, random_state=0)
    >>> head = IntervalHead(forest).fit_calibrate(data.X[:500], data.y[:500])
    >>> lower, upper = head.predict_interval(data.X[500:], coverage=[0.9, 0.95])
    >>> lower.shape
    (9068, 2)
    """

    def __init__(
        self, base: Any, system: GT2Regressor | None = None, cv: Any = 5, random_state: Any = 0
    ) -> None:
        need_sklearn("IntervalHead")
        self.base = base
        self.system = system
        self.cv = cv
        self.random_state = random_state

    # ------------------------------------------------------------ fit and calibrate

    def fit(self, X: Any, y: Any) -> Self:
        """Train base and system on inputs `X` (N, M), an array or data frame, and `y` (N,)."""
        values, names = read_table(X)
        target = read_target(y, len(values), type(self).__name__)
        return self._fit(values if names is None else X, values, names, target)

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
        """Learn which plane has which coverage, from rows that neither base nor system has seen.

        Arguments as in `GT2Regressor.calibrate`. A `SeenRowsWarning` says how many of the rows
        were in `fit`. Which rows a frozen base was trained on elsewhere nobody can check here.
        """
        make_calibrator(method, sides, groups is not None, options)
        table, values = self._read(X)
        target = read_target(y, len(values), type(self).__name__)
        warn_if_seen(self.marks_, mark_rows(values, target))
        return self._calibrate(table, values, target, groups, method, sides, options)

    def fit_calibrate(
        self,
        X: Any,
        y: Any,
        *,
        share: float = 0.25,
        groups: Any = None,
        method: str = "conformal",
        sides: str = "both",
        **options: Any,
    ) -> Self:
        """Train base and system on a part of one table and calibrate on the rest.

        Arguments as in `GT2Regressor.fit_calibrate`, which draws the same rows with the same
        seed. With a frozen base all rows must be new to it.
        """
        make_calibrator(method, sides, groups is not None, options)
        values, names = read_table(X)
        table = values if names is None else X
        target = read_target(y, N := len(values), type(self).__name__)
        labels = None if groups is None else read_groups(groups, N)
        pool, tails = options.get("small_groups") == "pool", tails_of(sides, options)
        split = draw_split(N, share, self.random_state, labels, sides=sides, tails=tails, pool=pool)
        use, rest = split.trained, split.calibrated
        self._fit(take_rows(table, use), values[use], names, target[use])
        of_rows = None if labels is None else [labels[i] for i in rest]
        self._calibrate(
            take_rows(table, rest), values[rest], target[rest], of_rows, method, sides, options
        )
        self.calibration_rows_, self.split_ = rest, split.words
        if not self.out_of_fold_:
            self.split_ += "; the base is frozen: all of them must be new to it"
        return self

    # -------------------------------------------------------------------- predict

    def predict(self, X: Any) -> Array:
        """Return the prediction (N,): the base's, with the system's output where `corrects_`."""
        table, values = self._read(X)
        predicted = predict_base(self.base_, table)
        if not self.corrects_:
            return predicted
        return predicted + self.head_.predict(self._inputs(values, predicted))

    def predict_interval(
        self,
        X: Any,
        coverage: float | Sequence[float] = USUAL_COVERAGE,
        *,
        alpha: float | None = None,
        groups: Any = None,
        as_frame: bool = False,
    ) -> Any:
        """Return the lower and upper ends of prediction intervals, each (N,) or (N, L).

        Arguments as in `GT2Regressor.predict_interval`. The smallest intervals, of low
        levels, lie around base + system, even where `predict` is the base alone.
        """
        table, values = self._read(X)
        predicted = predict_base(self.base_, table)
        inputs = self._inputs(values, predicted)
        lower, upper = self.head_.predict_interval(inputs, coverage, alpha=alpha, groups=groups)
        shift = predicted if lower.ndim == 1 else predicted[:, None]
        lower, upper = shift + lower, shift + upper
        if as_frame:
            return interval_frame(X, lower, upper, coverage if alpha is None else None)
        return lower, upper

    def calibration_report(
        self, coverage: float | Sequence[float], *, as_frame: bool = False
    ) -> Any:
        """Return what the calibration makes of a level, see `GT2Regressor.calibration_report`."""
        self._check_fitted()
        return self.head_.calibration_report(coverage, as_frame=as_frame)

    @property
    def calibrator_(self) -> Calibration:
        """What `calibrate` learnt; absent before."""
        return self.head_.calibrator_

    # -------------------------------------------------------------- save and load

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the head to one `.npz` file: no pickle, and not the base.

        The base is described by its class, its settings and its predictions for 32 rows whose
        columns are drawn for themselves from the training rows. Training rows leave a mark
        of 52 bits each: none can be read from it, but who has a row can tell that it was there.
        """
        self._check_fitted()
        write_head(path, self)

    @classmethod
    def load(cls, path: str | os.PathLike[str], base: Any) -> Self:
        """Return the head that `save` wrote to `path`, on the trained `base` that it belongs to.

        Raises:
            ValueError: where `base` is another one; it says what differs.
            FileFormatError: where the file is damaged, incomplete or another's.
        """
        need_sklearn("IntervalHead")
        check_base(base)
        model = read_head(path)
        head = model.head
        names = head.feature_names_in_[:-1] if model.facts["named"] else None
        now = predict_base(base, named_table(model.probes, names))
        spread = float(np.std(model.probed)) or 1.0
        if found := differences(model.told, base, model.probed, spread, now):
            raise ValueError(f"{path} is a head on another base than this one: {found}")
        from sklearn.base import clone

        cv = 5 if model.cv is None else model.cv
        self = cls(base, clone(head), cv, model.random_state)
        self.base_, self.head_, self.rmse_, self.marks_ = base, head, model.rmse, model.marks
        self.probes_, self.probed_ = model.probes, model.probed
        self.corrects_, self.out_of_fold_ = model.facts["corrects"], model.facts["out_of_fold"]
        self.n_features_in_ = head.n_features_in_ - 1
        if names is not None:
            self.feature_names_in_ = names
        return self

    # ------------------------------------------------------------------ inside

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "head_")

    def _fit(self, table: Any, values: Array, names: Names | None, target: Array) -> Self:
        check_base(self.base)
        rng = np.random.default_rng(read_seed(self.random_state))
        fold_seed, head_seed, probe_seed = rng.integers(2**31, size=3).tolist()
        system = self._system(head_seed)
        held = hold_out(self.base, table, target, self.cv, fold_seed)
        errors = target[held.rows] - held.predicted
        inputs = HeadInputs(values[held.rows], held.predicted, names)
        seen = cross_fit(system, inputs, errors, rng)
        head = system.fit(inputs, errors)
        if self.system is None and (best := quality(seen).margins):
            head.use_margins(best.power, inputs)
        probes = draw_probes(values, probe_seed)
        probed = predict_base(held.base, named_table(probes, names, like=table))
        for name in ("feature_names_in_", "calibration_rows_", "split_"):
            self.__dict__.pop(name, None)
        self.base_, self.head_, self.out_of_fold_ = held.base, head, held.out_of_fold
        self.rmse_ = {"base": rms(errors), "corrected": rms(seen.y - seen.output)}
        self.corrects_ = self.rmse_["corrected"] <= self.rmse_["base"]
        self.marks_ = mark_rows(values, target)
        self.probes_, self.probed_ = probes, probed
        self.n_features_in_ = values.shape[1]
        if names is not None:
            self.feature_names_in_ = names
        return self

    def _system(self, seed: int) -> Any:
        """Return the system to be trained: a copy of the one given, or the default."""
        from sklearn.base import clone

        if self.system is None:
            return GT2Regressor(**asdict(HEAD), n_systems=SYSTEMS, random_state=seed)
        if not isinstance(self.system, GT2Regressor):
            raise TypeError(
                f"system must be a GT2Regressor or None, got {self.system!r}: the base is the "
                "first argument"
            )
        if self.system.target_transform is not None:
            raise ValueError(
                "system learns errors, which have both signs, so its target_transform must be "
                f"None, got {self.system.target_transform!r}"
            )
        return clone(self.system)

    def _calibrate(
        self,
        table: Any,
        values: Array,
        target: Array,
        groups: Any,
        method: str,
        sides: str,
        options: dict[str, Any],
    ) -> Self:
        predicted = predict_base(self.base_, table)
        self.head_.calibrate(
            self._inputs(values, predicted),
            target - predicted,
            method,
            sides=sides,
            groups=groups,
            **options,
        )
        for name in ("calibration_rows_", "split_"):
            self.__dict__.pop(name, None)
        return self

    def _read(self, X: Any) -> tuple[Any, Array]:
        """Return rows as the base wants them, and as checked numbers (N, M)."""
        self._check_fitted()
        names = getattr(self, "feature_names_in_", None)
        values = match_table(X, self.n_features_in_, names, type(self).__name__)
        return values if names is None or not hasattr(X, "columns") else X, values

    def _inputs(self, values: Array, predicted: Array) -> HeadInputs:
        return HeadInputs(values, predicted, getattr(self, "feature_names_in_", None))

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise not_fitted_error(type(self).__name__)
