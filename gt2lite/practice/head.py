"""`IntervalHead`: calibrated prediction intervals around an existing regressor.

A GT2 system learns the errors of the regressor, here called the base. The file has the class,
then the rules of that system (error rules), and last what is asked of a base.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike

from gt2lite._progress import progress_bar
from gt2lite._validation import Array, IntArray, read_seed, vector, whole
from gt2lite.memberships import ALPHA_0
from gt2lite.metrics import rmse
from gt2lite.practice._sklearn import Learned, Regressor, check_fitted, need_sklearn, refuse
from gt2lite.practice.calibrating import CalibrationPlan, calibrate_model, fit_parts
from gt2lite.practice.calibrators import DEFAULT_COVERAGE, Calibration, ReportRow
from gt2lite.practice.distribution import Distribution
from gt2lite.practice.explanations import Explanation, explain_row
from gt2lite.practice.families import GRID, HeldOut, best_family
from gt2lite.practice.frames import interval_frame
from gt2lite.practice.model import weights_of
from gt2lite.practice.presets import HEAD
from gt2lite.practice.printing import Printed, wrap
from gt2lite.practice.printing import Rows as PrintedRows
from gt2lite.practice.regressor import GT2Regressor
from gt2lite.practice.rules import Rules, Units, read_rules
from gt2lite.practice.splitting import mark_rows, read_folds, warn_if_seen
from gt2lite.practice.tables import (
    Features,
    Names,
    Rows,
    check_one_row,
    pandas_frame,
    read_table,
    read_target,
    take_rows,
)
from gt2lite.practice.types import (
    Bounds,
    Encoding,
    Folds,
    Frame,
    Groups,
    Levels,
    Predictor,
    Ratio,
    RawTable,
    Seed,
    Table,
    Target,
    Transformer,
    Weights,
)
from gt2lite.practice.warnings import ClippedInputsWarning

SYSTEMS = 5
"""Number of systems in the default head."""

BASE = "base"
"""Name of the base's prediction among the inputs of the head."""

LEAST_SHARE = 0.01
"""A rule with a smaller share of the weight is left out of the error rules."""


@dataclass(frozen=True, eq=False)
class HeadModel:
    """Everything that an `IntervalHead` has learned; it never changes."""

    base: Predictor  # trained
    head: GT2Regressor  # of its errors, calibrated or not
    features: Features
    rmse: Mapping[str, float]
    out_of_fold: bool
    corrects: bool
    dtypes: Mapping[str, object] | None = None  # of the columns of an encoded frame
    rows: IntArray | None = None  # those that `fit_calibrate` did not train on
    split: str | None = None  # a description of that split
    ratio: Ratio | None = None  # computes the weights of new rows

    def calibrated(self, rows: Rows, target: Array, plan: CalibrationPlan) -> HeadModel:
        """Return the model with another calibration."""
        predicted, inputs = self.inputs(rows)
        # the system's table has other columns than the one that weights are computed from
        system = calibrate_model(
            self.head.model_, inputs, target - predicted, replace(plan, ratio=None)
        )
        head = self.head.with_model(system)
        return replace(self, head=head, rows=None, split=None, ratio=plan.ratio)

    def with_split(self, rows: IntArray, words: str) -> HeadModel:
        """Return the model with a description of the split that calibrated it."""
        if not self.out_of_fold:
            words += "; the base is frozen: all of them must be new to it"
        return replace(self, rows=rows, split=words)

    def read(self, X: Table) -> Rows:
        """Return rows as checked numbers (N, M), and in the form that the base was trained on."""
        table = self.features.match(X)
        values = self.features.encode(table, report=True)
        named = self.features.names is not None and hasattr(X, "columns")
        if self.features.encoding is not None and not named:
            return Rows(values, table=table)
        # the array itself, since a base may sum in another order if rows are copied
        same = type(X) is np.ndarray and X.dtype == values.dtype
        return Rows(values, table=X if named or same else values)

    def inputs(self, rows: Rows) -> tuple[Array, Array]:
        """Return the base's prediction (N,) and with it the inputs (N, M + 1) of the system."""
        predicted = predict_base(self.base, rows.table)
        return predicted, np.column_stack([rows.values, predicted])

    def units(self, target: str) -> Units:
        """Return the units of the base's error."""
        return Units.of(self.head.model_, f"{target} - base", self.features.encoding)


class IntervalHead(Regressor):
    """Calibrated prediction intervals around the predictions of any regressor.

    A copy of `base` is trained on all training rows. Further copies are trained on all folds but
    one, and a GT2 system learns their errors on the fold left out, from the inputs and the base's
    prediction. An interval is the base's prediction plus a plane of that system.

    The guarantee is that of any conformal calibration, whatever base and system are: planes are
    nested, and neither has seen the calibration rows. Rows that the base has seen void it.
    Rows of `fit` are detected (`SeenRowsWarning`); the rows that a frozen base was trained on are
    not known here.

    Args:
        base: a regressor with scikit-learn's interface. It is not changed. In scikit-learn's
            `FrozenEstimator` it is not trained either: the system then learns its errors on the
            rows of `fit`. If the base has seen those, the errors are too small and the planes too
            narrow; calibration corrects the coverage, mostly with wider intervals.
        system: the unfitted `GT2Regressor` that learns the errors; None for the mean of five
            systems of 20 rules each (`practice.presets.HEAD`). This default calibrates planes or
            margins that follow their width, whichever have the smaller interval score on held-out
            rows (`head_.margins_`).
        cv: number of folds, or a splitter of scikit-learn, such as `TimeSeriesSplit`.
        random_state: the seed of the folds, of the default system, and of the split in
            `fit_calibrate`.
        correct: whether `predict` adds the system's output to the base's prediction. None decides
            by the training rows, see `corrects_`, and leaves a frozen base as it is.
        columns: "auto" takes data frames with gaps, text and dates: the base gets the frame as it
            is, and the system its columns encoded as in `GT2Regressor`; so does a transformer. None
            refuses such frames.

    Attributes:
        base_: the trained base.
        head_: the system, a `GT2Regressor` of the errors; its last input is the base's prediction.
        out_of_fold_: whether the errors were those on rows left out; false for a frozen base.
        rmse_: root mean squared error on those rows, of the "base" and "corrected" by
            systems that were trained on the other half of them.
        corrects_: whether `predict` adds the system's output, by default because "corrected" is
            not worse.
        columns_: the encoding of the columns of a data frame; absent for tables of numbers.
        calibrator_, calibration_rows_, split_: see `GT2Regressor`.
        n_features_in_, feature_names_in_: the columns seen in `fit`; names if X had them.
        model_: all that was learned; the other attributes are parts of it.

    >>> from gt2lite import IntervalHead, load_dataset
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> data = load_dataset("pp")
    >>> forest = RandomForestRegressor(20, random_state=0)
    >>> head = IntervalHead(forest).fit_calibrate(data.X[:400], data.y[:400])
    >>> lower, upper = head.predict_interval(data.X[400:], coverage=[0.8, 0.9])
    >>> lower.shape
    (9168, 2)
    """

    model_: HeadModel

    base_ = Learned[Predictor]("base")
    head_ = Learned[GT2Regressor]("head")
    out_of_fold_ = Learned[bool]("out_of_fold")
    rmse_ = Learned[Mapping[str, float]]("rmse")
    corrects_ = Learned[bool]("corrects")
    columns_ = Learned[Encoding]("features.encoding")
    n_features_in_ = Learned[int]("features.n")
    feature_names_in_ = Learned[Names]("features.names")
    calibrator_ = Learned[Calibration]("head.calibrator_")
    calibration_rows_ = Learned[IntArray]("rows")
    split_ = Learned[str]("split")

    def __init__(
        self,
        base: Predictor,
        system: GT2Regressor | None = None,
        cv: Folds = 5,
        random_state: Seed = 0,
        correct: bool | None = None,
        columns: str | Transformer | None = "auto",
    ) -> None:
        need_sklearn("IntervalHead")
        self.base = base
        self.system = system
        self.cv = cv
        self.random_state = random_state
        self.correct = correct
        self.columns = columns

    # ------------------------------------------------------------ fit and calibrate

    def fit(self, X: Table, y: Target, **refused: object) -> Self:
        """Train base and system on inputs `X` (N, M), an array or data frame, and `y` (N,)."""
        refuse(self, refused)
        self.model_ = self._train(*self._read_training(X, y))
        return self

    def calibrate(
        self,
        X: Table,
        y: Target,
        method: str = "conformal",
        *,
        sides: str | None = None,
        groups: Groups = None,
        sample_weight: Weights = None,
        **options: object,
    ) -> Self:
        """Learn which plane has which coverage, from rows that neither base nor system has seen.

        Arguments as in `GT2Regressor.calibrate`. A `SeenRowsWarning` reports how many of the rows
        were in `fit`; rows that a frozen base was trained on cannot be detected.
        """
        check_fitted(self)
        plan = CalibrationPlan(method, sides, groups, options).weigh(X, sample_weight)
        rows = self.model_.read(X)
        target = read_target(y, len(rows.values), type(self).__name__)
        model = self.model_.calibrated(rows, target, plan)
        warn_if_seen(self.head_.marks_, rows.values, target)
        self.model_ = model
        return self

    def fit_calibrate(
        self,
        X: Table,
        y: Target,
        *,
        share: float = 0.25,
        groups: Groups = None,
        method: str = "conformal",
        sides: str | None = None,
        sample_weight: Weights = None,
        **options: object,
    ) -> Self:
        """Train base and system on a part of the rows and calibrate on the rest.

        Arguments as in `GT2Regressor.fit_calibrate`, which draws the same rows with the same
        seed. With a frozen base all rows must be new to it.
        """
        plan = CalibrationPlan(method, sides, groups, options).weigh(X, sample_weight)
        rows, target = self._read_training(X, y)
        self.model_ = fit_parts(
            rows, target, share, self.random_state, plan, self._train, HeadModel.calibrated
        )
        return self

    # -------------------------------------------------------------------- predict

    def predict(self, X: Table) -> Array:
        """Return the prediction (N,): the base's, plus the system's output if `corrects_`."""
        check_fitted(self)
        predicted, inputs = self.model_.inputs(self.model_.read(X))
        return predicted + self.head_.predict(inputs) if self.corrects_ else predicted

    def predict_interval(
        self,
        X: Table,
        coverage: Levels | None = None,
        *,
        alpha: float | None = None,
        groups: Groups = None,
        sample_weight: ArrayLike | None = None,
        with_prediction: bool = False,
        as_frame: bool = False,
    ) -> Bounds | Frame:
        """Return the lower and upper bounds of prediction intervals, each (N,) or (N, L).

        Arguments as in `GT2Regressor.predict_interval`. The smallest intervals, at low
        levels, lie around base + system, even if `predict` is the base alone.
        """
        check_fitted(self)
        predicted, inputs = self.model_.inputs(self.model_.read(X))
        if alpha is None:
            sample_weight = weights_of(X, self.model_.ratio, sample_weight)
        *output, lower, upper = self.head_.predict_interval(
            inputs,
            coverage,
            alpha=alpha,
            groups=groups,
            sample_weight=sample_weight,
            with_prediction=with_prediction and self.corrects_,
        )
        shift = predicted if lower.ndim == 1 else predicted[:, None]
        found: tuple[Array, ...] = shift + lower, shift + upper
        if with_prediction:
            found = (predicted + output[0] if output else predicted, *found)
        return interval_frame(X, found, coverage, alpha) if as_frame else found

    def predict_distribution(self, X: Table, *, groups: Groups = None) -> Distribution:
        """Return the predictive distributions, see `GT2Regressor.predict_distribution`."""
        check_fitted(self)
        predicted, inputs = self.model_.inputs(self.model_.read(X))
        return self.head_.predict_distribution(inputs, groups=groups).shifted(predicted)

    def predict_quantile(self, X: Table, quantiles: Levels, *, groups: Groups = None) -> Array:
        """Return quantiles (N,) or (N, L) of y, see `GT2Regressor.predict_quantile`."""
        return self.predict_distribution(X, groups=groups).quantile(quantiles)

    def calibration_report(
        self, coverage: Levels, *, as_frame: bool = False
    ) -> list[ReportRow] | dict[float, list[ReportRow]] | Frame:
        """Return the calibration at a level, see `GT2Regressor.calibration_report`."""
        check_fitted(self)
        return self.head_.calibration_report(coverage, as_frame=as_frame)

    # ---------------------------------------------------------- rules and explanations

    def rules(
        self,
        X: Table | None = None,
        y: Target = None,
        *,
        coverage: float | None = None,
        top: int | None = 10,
        system: int = 0,
        groups: Groups = None,
        target: str = "y",
    ) -> Rules:
        """Return the error rules: where intervals are wide and where the base is off.

        Arguments as in `GT2Regressor.rules`. With rows `X` the rules with the widest intervals
        come first, and those with less than 1% of the weight are left out. Widths are those of
        the whole head; without a calibration, and if intervals have one bound only, they are
        those of the trained envelope.
        """
        check_fitted(self)
        model, name, units = self.model_, base_name(self.base_), self.model_.units(target)
        system_model = model.head.model_
        if X is None:
            rules = read_rules(system_model, units, top=top, system=system)
            return Rules(rules, f"Where {name} is off (with the widths of intervals: rules(X))")
        if top is not None:
            whole("top", top)
        legend = (
            f"'width': the mean width of intervals, each row weighted by the rule. 'then': how far "
            f"{name} is off there; the column 'base' is what it predicts. Rules with less "
            f"than {LEAST_SHARE:.0%} of the weight are left out. Ranges as in "
            "GT2Regressor.rules."
        )
        predicted, inputs = model.inputs(model.read(X))
        errors = None if y is None else read_target(y, len(inputs)) - predicted
        weights = weights_of(X, model.ratio)
        bounds, kind = self._error_intervals(inputs, coverage, groups, weights)
        scaled = system_model.scale(inputs)
        rules = read_rules(system_model, units, scaled, system=system, bounds=bounds, y=errors)
        found = [(rule.width or 0.0, rule) for rule in rules if (rule.share or 0.0) >= LEAST_SHARE]
        found.sort(key=lambda one: (-one[0], one[1].number))
        shown = [rule for _, rule in found[:top]]
        mean = units.output(float(np.mean(bounds[1] - bounds[0])))
        title = (
            f"Where {name} is unsure: {len(shown)} of {len(rules)} rules, the widest "
            f"{kind} first (mean width {mean} on {len(inputs)} rows)"
        )
        return Rules(shown, title, legend)

    def explain(
        self,
        x: Table,
        coverage: float | None = None,
        *,
        alpha: float | None = None,
        group: str | int | None = None,
        target: str = "y",
        system: int | None = None,
        background: Table | None = None,
    ) -> HeadExplanation:
        """Return how one prediction and its interval came about: the base, and the head.

        Arguments as in `GT2Regressor.explain`. The attribute `head` is the explanation of the
        base's error, of one system by its error rules, of several by the inputs; its bounds and
        the base's prediction add up to the bounds of the interval.
        """
        check_fitted(self)
        model = self.model_
        table = model.features.one_row(x)
        values = check_one_row(model.features.inputs(table))
        if model.dtypes is not None:
            table = pandas_frame(table).astype(model.dtypes)
        raw = model.features.raw_values(table)
        predicted, inputs = model.inputs(Rows(values, table=table))
        if background is not None:
            _, others = model.inputs(model.read(background))
            background = model.head.model_.scale(others)
        why = explain_row(
            model.head.model_.at_row(table, model.ratio),
            model.units(target),
            inputs,
            coverage,
            alpha=alpha,
            group=group,
            system=system,
            background=background,
            values=raw,
        )
        base = float(predicted[0])
        return HeadExplanation(
            prediction=base + why.prediction * self.corrects_,
            lower=base + why.lower,
            upper=base + why.upper,
            base=base,
            head=why,
            corrected=self.corrects_,
            target=target,
        )

    def save(self, path: str | os.PathLike[str]) -> NoReturn:
        """Raise an error that says how a head is saved: as other estimators of scikit-learn."""
        raise NotImplementedError(
            "a head and its base are saved together by joblib.dump(head, path) or pickle; the "
            "fuzzy part alone is saved as JSON by head.head_.save(path)"
        )

    # ------------------------------------------------------------------ inside

    def _train(self, rows: Rows, target: Array) -> HeadModel:
        """Return what training on rows gives."""
        check_base(self.base)
        if self.correct not in (None, True, False):
            raise ValueError(f"correct must be True, False or None, got {self.correct!r}")
        values, features = Features.learn(rows, target, self.columns, type(self).__name__)
        rng = np.random.default_rng(read_seed(self.random_state))
        # the third number is not used; without it, `cross_fit` would draw other halves
        fold_seed, head_seed, _ = rng.integers(2**31, size=3).tolist()
        system = self._system(head_seed)
        base, held, predicted = hold_out(self.base, rows.table, target, self.cv, fold_seed)
        errors = target[held] - predicted
        inputs = np.column_stack([values[held], predicted])  # (N, M + 1)
        seen = cross_fit(system, inputs, errors, rng)
        learned = system.fit(inputs, errors).model_
        if self.system is None and (best := best_family(seen).margins):
            margins = learned.ensemble.with_margins(best.power, learned.scale(inputs))
            learned = replace(learned, ensemble=margins)
        names = features.input_names()
        taken = {*names, *(() if features.names is None else features.names)}
        last = BASE if BASE not in taken else f"{BASE} (prediction)"
        marks = mark_rows(values, target)  # of rows as the user knows them
        learned = replace(learned, marks=marks, names=(*names, last))
        off = {"base": rmse(target[held], predicted), "corrected": rmse(seen.y, seen.output)}
        out_of_fold, corrects = not is_frozen(base), self.correct
        if corrects is None:
            corrects = out_of_fold and off["corrected"] <= off["base"]
        dtypes = None
        if features.encoding is not None and hasattr(rows.table, "columns"):
            dtypes = pandas_frame(rows.table).dtypes.to_dict()
        head = system.with_model(learned)
        return HeadModel(base, head, features, off, out_of_fold, corrects, dtypes)

    def _system(self, seed: int) -> GT2Regressor:
        """Return the system to be trained: a copy of the one given, or the default."""
        from sklearn.base import clone

        if self.system is None:
            return GT2Regressor(recipe=HEAD, n_systems=SYSTEMS, clip_inputs=True, random_state=seed)
        if not isinstance(self.system, GT2Regressor):
            raise TypeError(
                f"system must be a GT2Regressor or None, got {self.system!r}; base is the first "
                "argument"
            )
        if self.system.target_transform is not None:
            raise ValueError(
                "system learns errors, which have both signs, so its target_transform must be "
                f"None, got {self.system.target_transform!r}"
            )
        found: GT2Regressor = clone(self.system)
        return found

    def _read_training(self, X: Table, y: Target) -> tuple[Rows, Array]:
        """Return training rows and targets, checked; the base gets a frame as it is."""
        rows = read_table(X, self.columns)
        target = read_target(y, len(rows.values), type(self).__name__)
        return rows._replace(table=rows.values if rows.names is None else X), target

    def _error_intervals(
        self, inputs: Array, coverage: float | None, groups: Groups, weights: Array | None
    ) -> tuple[Array, str]:
        """Return the bounds (2, N) that rank the error rules, and their kind in words."""
        level = DEFAULT_COVERAGE if coverage is None else coverage
        if coverage is not None or hasattr(self.head_, "calibrator_"):
            bounds = np.stack(
                self.head_.predict_interval(inputs, level, groups=groups, sample_weight=weights)
            )
            if np.isfinite(bounds).all():
                return bounds, f"{100 * level:.4g}% intervals"
        bounds = np.stack(self.head_.predict_interval(inputs, alpha=ALPHA_0))
        return bounds, "trained envelopes"


def cross_fit(
    system: GT2Regressor, inputs: Array, errors: Array, rng: np.random.Generator
) -> HeldOut:
    """Return intervals of the errors (N,), each by a system trained on the other half of them."""
    from sklearn.base import clone

    first, second = np.array_split(rng.permutation(len(errors)), 2)
    seen = []
    for held, used in ((first, second), (second, first)):
        trained = clone(system).fit(inputs[used], errors[used])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ClippedInputsWarning)
            ends = [trained.predict_interval(inputs[held], alpha=float(alpha)) for alpha in GRID]
            output = trained.predict(inputs[held])
        seen.append(HeldOut(np.stack(ends, axis=1), output, errors[held]))
    return HeldOut.joined(seen)


# --------------------------------------------------------------------------- explanation


@dataclass(frozen=True, repr=False)
class HeadExplanation(Printed):
    """A prediction of a base, the interval around it, and the explanation of the base's error."""

    prediction: float
    lower: float
    upper: float
    base: float  # the base's prediction
    head: Explanation  # of y - base
    corrected: bool  # whether the prediction is base + estimate
    target: str

    def table(self) -> PrintedRows:
        """Return the explanation of the base's error as rows of numbers."""
        return self.head.table()

    def __str__(self) -> str:
        text, prediction = self.head.units.output, "the base alone"
        if self.corrected:
            prediction = f"base {text(self.base)} and {text(self.head.prediction)} by the head"
        lines = [
            f"{self.target}: prediction {text(self.prediction)} ({prediction})",
            f"{self.head.kind} {text(self.lower)} to {text(self.upper)}: base {text(self.base)} "
            "and the head's interval for its error, "
            f"{text(self.head.lower)} to {text(self.head.upper)}",
        ]
        return "\n".join([*map(wrap, lines), str(self.head)])


# ------------------------------------------------------------------------------- the base


def check_base(base: object) -> None:
    """Raise a TypeError unless a base is a regressor with scikit-learn's interface."""
    from sklearn.base import is_classifier

    wanted = "base must be a regressor with fit and predict, such as Ridge()"
    if isinstance(base, type):
        raise TypeError(f"{wanted}, got the class {base.__name__}: write {base.__name__}()")
    for name in ("get_params", "fit", "predict"):
        if not callable(getattr(base, name, None)):
            raise TypeError(f"{wanted}, got {base!r}, which has no {name}")
    if is_classifier(base):
        raise TypeError(f"{wanted}, got {base!r}, which predicts classes")


def is_frozen(base: object) -> bool:
    """Return whether a base is in scikit-learn's `FrozenEstimator`, and must not be trained."""
    from sklearn.frozen import FrozenEstimator

    return isinstance(base, FrozenEstimator)


def base_name(base: object) -> str:
    """Return the name of a base's class; of a pipeline, that of its last step."""
    if is_frozen(base):
        return base_name(getattr(base, "estimator", None))
    if hasattr(base, "steps"):
        return base_name(base.steps[-1][1])
    return type(base).__name__


def hold_out(
    base: Predictor, table: RawTable, target: Array, cv: Folds, seed: int
) -> tuple[Predictor, IntArray, Array]:
    """Return a copy of a base trained on all rows, and what others predict for rows left out.

    The other copies are trained on all folds but one. The numbers of the rows left out are in
    rising order; a row left out twice is there twice. A frozen base predicts all rows as it is.
    `cv` is as in scikit-learn: a number of folds, drawn by `seed`, a splitter or a list of splits.
    """
    from sklearn.base import clone

    if is_frozen(base):
        return base, np.arange(len(target)), predict_base(base, table)
    splits = read_folds(cv, table, target, seed)
    rows: list[IntArray] = []
    predicted: list[Array] = []
    with progress_bar(len(splits) + 1, "base", "fit") as step:
        for trained, held in splits:
            one = clone(base).fit(take_rows(table, trained), target[trained])
            rows.append(np.asarray(held, dtype=np.intp))
            predicted.append(predict_base(one, take_rows(table, held)))
            step("out of fold")
        fitted = clone(base).fit(table, target)
        step("all rows")
    found = np.concatenate(rows)
    order = np.argsort(found, kind="stable")
    return fitted, found[order], np.concatenate(predicted)[order]


def predict_base(base: Predictor, table: RawTable) -> Array:
    """Return the predictions (N,) of a base, checked: one finite number for each row."""
    predicted = np.asarray(base.predict(table), dtype=float)
    if predicted.ndim == 2 and predicted.shape[1] == 1:
        predicted = predicted[:, 0]
    return vector("the prediction of base", predicted, len(table))
