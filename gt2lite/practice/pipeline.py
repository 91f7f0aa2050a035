"""Pipelines, scorers and cross-validated intervals; they need scikit-learn."""

from __future__ import annotations

import contextlib
import copy
import os
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Self

import numpy as np

from gt2lite._validation import Array, between
from gt2lite.calibration import CoverageError, SmallCalibrationWarning
from gt2lite.metrics import interval_score, picp
from gt2lite.practice import model_file
from gt2lite.practice._sklearn import OF_CALIBRATION, Stateful, need_sklearn
from gt2lite.practice.calibrators import DEFAULT_COVERAGE, fewest_samples, read_groups
from gt2lite.practice.regressor import (
    Asked,
    GT2Regressor,
    NarrowEnvelopeWarning,
    fit_parts,
    interval_frame,
)
from gt2lite.practice.rules import Units
from gt2lite.practice.splitting import read_folds
from gt2lite.practice.tables import Rows, match_table, n_rows_of, read_target, take_rows

need_sklearn("IntervalPipeline")  # says what to install, in place of the error of the next line
from sklearn.base import clone  # noqa: E402
from sklearn.pipeline import Pipeline  # noqa: E402
from sklearn.utils.validation import check_is_fitted  # noqa: E402


class IntervalPipeline(Stateful, Pipeline):
    """A scikit-learn pipeline whose calibration, intervals and rules take raw tables.

    It is fitted, cloned, searched and printed as any `Pipeline`, except that `fit` trains copies
    of the steps: one that fails or is interrupted changes nothing. The last step is a
    `GT2Regressor` or another estimator with `predict_interval`. A `StandardScaler` before a
    `GT2Regressor` is not needed, since that scales by itself; with one, rules are in standard
    deviations instead of your units.

    Args:
        steps: pairs of a name and a transformer, the last one of a name and the estimator.
        transform_input, memory, verbose: as in scikit-learn's `Pipeline`.

    Attributes:
        calibration_rows_, split_: the rows that `fit_calibrate` did not train on, and a line
            about them; absent otherwise.

    >>> import numpy as np
    >>> from sklearn.preprocessing import PolynomialFeatures
    >>> from gt2lite.practice.regressor import GT2Regressor
    >>> from gt2lite.practice.pipeline import IntervalPipeline
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(400, 2))
    >>> y = X[:, 0] * X[:, 1] + 0.1 * rng.normal(size=400)
    >>> squares = PolynomialFeatures(include_bias=False)
    >>> reg = GT2Regressor(n_rules=3, epochs=30, learning_rate=0.02)
    >>> pipe = IntervalPipeline([("squares", squares), ("reg", reg)]).fit_calibrate(X, y)
    >>> lower, upper = pipe.predict_interval(X, coverage=[0.8, 0.9])
    >>> lower.shape
    (400, 2)
    """

    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Fit copies of all steps, one after another; an earlier calibration is discarded."""
        return self._become(self._trained(Rows(X), y, **params))

    def calibrate(self, X: Any, y: Any, method: str = "conformal", **options: Any) -> Self:
        """Calibrate the last step on raw rows that no step was fitted on.

        Arguments as in `GT2Regressor.calibrate`, with raw inputs `X` (Q, ...).
        """
        asked = method, None, None, options
        return self._become(self._calibrated_by(Rows(X), y, asked))

    def fit_calibrate(
        self,
        X: Any,
        y: Any,
        *,
        share: float = 0.25,
        groups: Any = None,
        method: str = "conformal",
        sides: str | None = None,
        **options: Any,
    ) -> Self:
        """Fit all steps on a part of the raw rows, and calibrate on the rest.

        No step sees a calibration row: transformers that learn (imputed means, categories,
        components) would void the guarantee otherwise. The split is that of
        `GT2Regressor.fit_calibrate`, by the `random_state` of the last step. Arguments as there,
        with raw inputs `X` (N, ...).
        """
        seed = getattr(self._last("calibrate"), "random_state", 0)
        read_target(y, n_rows_of(X))  # before training
        asked = method, sides, groups, options
        return self._become(fit_parts(self, Rows(X), y, share, seed, asked))

    def predict_interval(
        self, X: Any, coverage: float | Sequence[float] | None = None, **options: Any
    ) -> Any:
        """Return the lower and upper bounds of prediction intervals for raw rows `X` (N, ...).

        Arguments as in `GT2Regressor.predict_interval`; a frame has the index of the raw rows.
        """
        last, as_frame = self._last("predict_interval"), options.pop("as_frame", False)
        lower, upper = last.predict_interval(self._inputs(X), coverage, **options)
        if as_frame:
            return interval_frame(X, lower, upper, coverage, options.get("alpha"))
        return lower, upper

    def calibration_report(self, coverage: float | Sequence[float], **options: Any) -> Any:
        """Return the calibration at a level; see `GT2Regressor.calibration_report`."""
        return self._last("calibration_report").calibration_report(coverage, **options)

    def rules(
        self,
        X: Any = None,
        y: Any = None,
        *,
        top: int | None = 10,
        target: str = "y",
        **options: Any,
    ) -> Any:
        """Return the rules of the last step, with the column names of the transformers.

        Arguments as in `GT2Regressor.rules`, with raw rows `X` (N, ...) to weigh the rules on.
        """
        last, inputs = self._last("rules"), None if X is None else self._inputs(X)
        if (units := self._units(target)) is None:
            return last.rules(inputs, y, top=top, target=target, **options)
        return last._rules(units, inputs, y, top=top, **options)

    def explain(
        self,
        x: Any,
        coverage: float | None = None,
        *,
        target: str = "y",
        background: Any = None,
        **options: Any,
    ) -> Any:
        """Return how the prediction of one raw row and its interval came about.

        Arguments as in `GT2Regressor.explain`; `x` is a row of a data frame, or a table (1, ...),
        and `background` has raw rows, too.
        """
        last = self._last("explain")
        if background is not None:
            background = self._inputs(background)
        if hasattr(x, "to_frame"):
            x = x.to_frame().T.infer_objects()
        elif not hasattr(x, "columns") and np.ndim(x) == 1:
            x = np.asarray(x)[None]
        row = self._inputs(x)
        if (units := self._units(target)) is None:
            return last.explain(row, coverage, target=target, background=background, **options)
        return last._explain(
            units, match_table(row, last), background, coverage=coverage, **options
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the last step, a `GT2Regressor`, to one JSON file at exactly this path.

        The transformers, ``pipe[:-1]``, are objects of other libraries: store them by skops or
        joblib. The file has the names and classes of the steps, and the names of their columns.
        """
        if not isinstance(last := self.steps[-1][1], GT2Regressor):
            raise TypeError(f"the last step must be a GT2Regressor, got {type(last).__name__}")
        content = self._described() | {"regressor": model_file.pack_regressor(last)}
        model_file.write(path, "pipeline", content)

    @classmethod
    def load(cls, path: str | os.PathLike[str], transformers: Any = None) -> Self:
        """Return the pipeline that `save` wrote to `path`, on its fitted transformers.

        Args:
            path: the file.
            transformers: ``pipe[:-1]`` as it was then; None if there was only one step.

        Raises:
            ValueError: the transformers have other names, classes or columns. Whether they were
                fitted on the same rows is not known here.
            FileFormatError: the file is damaged, of another kind or of a later version.
        """

        def unpack(content: Any) -> Any:
            steps, names, packed = model_file.pick(content, "steps", "names", "regressor")
            last = model_file.unpack_regressor(GT2Regressor, packed)
            return {"steps": steps, "names": names}, (str(steps[-1][0]), last)

        described, last = model_file.load(path, "pipeline", unpack)
        self = cls([*([] if transformers is None else transformers.steps), last])
        if described != (found := self._described()):
            raise ValueError(f"transformers must be those of {path}: {described}, got {found}")
        return self

    @property
    def names(self) -> list[str] | None:
        """Names of the last step's inputs; None if some transformer does not name its columns.

        The name of a transformer is left out ("age" for "numbers__age"), unless two columns would
        have the same name then.
        """
        check_is_fitted(self)
        seen = getattr(self.steps[-1][1], "feature_names_in_", None)
        if seen is None and len(self.steps) > 1:
            first = getattr(self, "feature_names_in_", None)
            with contextlib.suppress(AttributeError, ValueError):
                seen = self[:-1].get_feature_names_out(first)
        if seen is None:
            return None
        long = [str(name) for name in seen]
        short = [name.rpartition("__")[2] or name for name in long]
        return short if len(set(short)) == len(short) else long

    # ------------------------------------------------------------------- inside

    def _described(self) -> dict[str, Any]:
        steps = [[name, type(step).__name__] for name, step in self.steps]
        return {"steps": steps, "names": self.names}

    def _last(self, method: str) -> Any:
        last = self.steps[-1][1]
        if not hasattr(last, method):
            raise TypeError(
                f"the last step of an IntervalPipeline must be a GT2Regressor, or have "
                f"{method}() as one, got {type(last).__name__}"
            )
        return last

    def _trained(self, rows: Rows, y: Any, **params: Any) -> Self:
        """Return a copy of this pipeline whose steps are copies, fitted on raw rows."""
        new = self._copy(*OF_CALIBRATION)
        new.steps = clone(self.steps, safe=False)
        Pipeline.fit(new, rows.values, y, **params)
        return new

    def _calibrated_by(self, rows: Rows, y: Any, asked: Asked) -> Self:
        """Return a copy of this pipeline whose last step is a copy, calibrated on raw rows."""
        method, sides, groups, options = asked
        given = {"sides": sides, "groups": groups}
        given = {name: value for name, value in given.items() if value is not None}
        last = copy.copy(self._last("calibrate"))
        last.calibrate(self._inputs(rows.values), y, method, **given, **options)
        new = self._copy(*OF_CALIBRATION)
        new.steps = [*self.steps[:-1], (self.steps[-1][0], last)]
        return new

    def _units(self, target: str) -> Units | None:
        """Return the units of a last step that can use the names of the transformers."""
        last, names = self.steps[-1][1], self.names
        if names is None or not isinstance(last, GT2Regressor) or hasattr(last, "columns_"):
            return None
        return Units.of(last, names, target)

    def _inputs(self, X: Any) -> Any:
        """Return raw rows as the last step receives them."""
        check_is_fitted(self)
        return self[:-1].transform(X) if len(self.steps) > 1 else X


def coverage_scorer(
    coverage: float = DEFAULT_COVERAGE, *, seed: int = 0, **options: Any
) -> Callable[[Any, Any, Any], float]:
    """Return a scorer of coverage: the share of targets in their interval for a level.

    Report it beside other scores; a search that maximises it finds wide intervals.

    A calibrated estimator is scored as it is. An uncalibrated one, as in a search, where
    scikit-learn calls `fit` alone, is calibrated on a random half of the rows given and scored
    on the other half, then the other way round, and the mean of both is returned. So all rows of
    the training folds train, no row is scored by a calibration that has seen it, and the
    estimator itself stays uncalibrated.

    Args:
        coverage: the level.
        seed: that of the halves of a fold.
        options: how to calibrate, see `GT2Regressor.calibrate`.

    >>> from sklearn.model_selection import cross_val_score
    >>> from gt2lite import GT2Regressor, load_dataset
    >>> from gt2lite.practice.pipeline import coverage_scorer
    >>> data = load_dataset("pp")
    >>> reg = GT2Regressor(n_rules=3, epochs=5, learning_rate=0.02)
    >>> found = cross_val_score(reg, data.X[:900], data.y[:900], scoring=coverage_scorer(0.8), cv=3)
    >>> bool(0.7 < found.mean() < 0.9)
    True
    """
    level = between("coverage", coverage, 0, 1)
    return partial(_score, measure=picp, coverage=level, seed=seed, options=options)


def interval_scorer(
    coverage: float = DEFAULT_COVERAGE, *, seed: int = 0, **options: Any
) -> Callable[[Any, Any, Any], float]:
    """Return a scorer of minus the interval score: width plus a penalty for each miss.

    Minus, because scikit-learn maximises. The true quantiles have the best expected value, so a
    search may use it. Arguments and calibration as in `coverage_scorer`.
    """
    level = between("coverage", coverage, 0, 1)
    measure = partial(interval_score, coverage=level)
    return partial(_score, measure=measure, coverage=level, seed=seed, options=options, sign=-1)


def _score(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    measure: Callable[[Array, Array, Array], float],
    coverage: float,
    seed: int,
    options: dict[str, Any],
    sign: int = 1,
) -> float:
    """Return the `measure` of intervals of an estimator, see `coverage_scorer`."""
    target = read_target(y, n_rows_of(X))
    last = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    if hasattr(last, "calibrator_"):
        return sign * measure(target, *estimator.predict_interval(X, coverage))
    rows = np.random.default_rng(seed).permutation(len(target))
    first, second = np.sort(rows[: len(rows) // 2]), np.sort(rows[len(rows) // 2 :])
    found = []
    for calibrated, measured in ((first, second), (second, first)):
        own = copy.deepcopy(estimator)
        with warnings.catch_warnings():  # halves of a fold are small
            warnings.simplefilter("ignore", SmallCalibrationWarning)
            warnings.simplefilter("ignore", NarrowEnvelopeWarning)
            own.calibrate(take_rows(X, calibrated), target[calibrated], **options)
            ends = own.predict_interval(take_rows(X, measured), coverage)
        found.append(measure(target[measured], *ends))
    return sign * float(np.mean(found))


def cross_val_intervals(
    estimator: Any,
    X: Any,
    y: Any,
    coverage: float | Sequence[float] = DEFAULT_COVERAGE,
    *,
    cv: Any = 5,
    share: float = 0.25,
    groups: Any = None,
    **options: Any,
) -> tuple[Array, Array]:
    """Return for each row an interval from a model that was neither trained nor calibrated on it.

    For each fold a copy of the estimator is trained and calibrated on the other folds by
    `fit_calibrate`, and predicts this one: the `cross_val_predict` of intervals. Each of
    these models keeps its guarantee for the rows of its fold.

    Args:
        estimator: a `GT2Regressor`, an `IntervalPipeline` or the like; it is not changed.
        X: inputs (N, M), raw ones for a pipeline.
        y: targets (N,).
        coverage: the level, or L of them.
        cv: number of folds, drawn at random by the seed 0, or a splitter of scikit-learn's
            whose test folds have every row once. To keep families together pass
            ``list(GroupKFold(5).split(X, y, families))``; `share` still draws single rows, so
            that a family may train and calibrate, and intervals are too narrow for new families.
        share: the share of the training folds that calibrates.
        groups: a name or whole number for each row (N,), for a calibration by groups.
        options: how to calibrate, see `GT2Regressor.calibrate`.

    Returns:
        Two arrays (N,), or (N, L) for a sequence of L levels.
    """
    target = read_target(y, N := n_rows_of(X))
    labels = None if groups is None else np.array(read_groups(groups, N), dtype=object)
    highest = max(between("coverage", level, 0, 1) for level in np.ravel(coverage))
    needed = fewest_samples(highest, options.get("sides") or "both", options.get("tails"))
    by_rank = options.get("method", "conformal") == "conformal" and labels is None
    share = between("share", share, 0, 1)
    folds = read_folds(cv, X, target, seed=0)
    tested = np.concatenate([rows for _, rows in folds])
    if not np.array_equal(np.sort(tested), np.arange(N)):
        raise ValueError(
            f"cv must have each of the {N} rows in one test fold, got {len(tested)} rows in "
            f"{len(folds)} folds: such a splitter leaves rows without an interval"
        )
    for trained, rows in folds:  # what cannot be answered is refused before any training
        if labels is not None and (unseen := set(labels[rows]) - set(labels[trained])):
            raise ValueError(
                f"groups must each be in several folds, got all rows of {min(unseen, key=str)!r} "
                "in one: use fewer folds or larger groups"
            )
        if by_rank and (n := round(share * len(trained))) < needed:
            raise CoverageError(
                f"coverage {highest:g} is out of reach: {needed} calibration rows are needed, and "
                f"share={share:g} of {len(trained)} rows leaves {n}"
            )
    ends = np.empty((2, N, *np.shape(coverage)))
    for trained, rows in folds:
        of_trained, of_rows = options | {"share": share}, {}
        if labels is not None:
            of_trained["groups"], of_rows["groups"] = labels[trained], labels[rows]
        own = clone(estimator)
        own.fit_calibrate(take_rows(X, trained), target[trained], **of_trained)
        ends[:, rows] = own.predict_interval(take_rows(X, rows), coverage, **of_rows)
    return ends[0], ends[1]
