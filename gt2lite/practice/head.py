"""`IntervalHead`: calibrated prediction intervals around a regressor, or wherever they are best.

GT2 systems learn the errors of the regressor, here called the base. `IntervalHead.strong` also
trains systems of the target itself, and lets the training rows decide between both and their mean.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, NoReturn, Self, cast

import numpy as np
from numpy.typing import ArrayLike

from gt2lite._validation import Array, IntArray, read_seed, whole
from gt2lite.memberships import ALPHA_0
from gt2lite.metrics import rmse
from gt2lite.practice._sklearn import Learned, Regressor, check_fitted, need_sklearn, refuse
from gt2lite.practice.bases import (
    MeanBase,
    base_name,
    check_base,
    copy_base,
    fit_copy,
    hold_out,
    is_frozen,
    predict_base,
)
from gt2lite.practice.calibrating import CalibrationPlan, calibrate_model, fit_parts
from gt2lite.practice.calibrators import DEFAULT_COVERAGE, Calibration, ReportRow
from gt2lite.practice.distribution import Distribution
from gt2lite.practice.explanations import Explanation, explain_row
from gt2lite.practice.families import FamilyScore, HeldOut, best_family
from gt2lite.practice.frames import interval_frame
from gt2lite.practice.joining import join, predictions_in
from gt2lite.practice.model import Model, weights_of
from gt2lite.practice.presets import HEAD
from gt2lite.practice.printing import Printed, wrap
from gt2lite.practice.printing import Rows as PrintedRows
from gt2lite.practice.regressor import GT2Regressor
from gt2lite.practice.rules import Rules, Units, read_rules
from gt2lite.practice.selection import clear_gain
from gt2lite.practice.settings import MOST_STEPS
from gt2lite.practice.splitting import mark_rows, read_folds, warn_if_seen
from gt2lite.practice.tables import (
    Features,
    Names,
    Rows,
    check_one_row,
    pandas_frame,
    read_table,
    read_target,
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
    Seed,
    Table,
    Target,
    Transformer,
    Weights,
)
from gt2lite.practice.warnings import ClippedInputsWarning
from gt2lite.recipe import Recipe

SYSTEMS = 5
"""Number of systems in the default head, each trained without one fold of the errors."""

MORE = 2
"""With `choose`, the default head has this number of times as many systems as folds.

The mean then leans to the base: on folds left out, the systems of the target score too well, since
they are selected there.
"""

BASE = "base"
"""Name of the base's prediction among the inputs of the head."""

LEAST_SHARE = 0.01
"""A rule with a smaller share of the weight is left out of the error rules."""

CLEAR = 2
"""How many times `clear_gain` the score of one part must be smaller to replace the mean.

Held-out rows are predicted by few systems and one base, new rows by all of them, and systems of the
target are selected by their score there. So a small difference between scores means little.
"""

SYSTEMS_ALONE, ON_BASE, MEAN = "systems", "on base", "mean"


class Choice(NamedTuple):
    """A kind of intervals and its score; `IntervalHead.chosen_` consists of these."""

    part: str  # "systems" of the target, systems "on base", or the "mean" of both
    score: float  # geometric mean of interval scores on held-out rows, in units of the target
    kept: bool


@dataclass(frozen=True, eq=False)
class HeadModel:
    """Everything that an `IntervalHead` has learned; it never changes."""

    base: Predictor | MeanBase | None  # trained; None if systems alone predict the target
    head: GT2Regressor  # of the errors of the base, or of the target; calibrated or not
    features: Features
    rmse: Mapping[str, float]
    out_of_fold: bool
    corrects: bool
    takes_inputs: bool = False  # whether the base takes encoded inputs, not the user's table
    part: str = ON_BASE
    choices: tuple[Choice, ...] = ()
    systems: GT2Regressor | None = None  # of the target, if they were compared; not calibrated
    dtypes: Mapping[str, object] | None = None  # of the columns of an encoded frame
    rows: IntArray | None = None  # those that `fit_calibrate` did not train on
    split: str | None = None  # a description of that split
    ratio: Ratio | None = None  # computes the weights of new rows

    def calibrated(self, rows: Rows, target: Array, plan: CalibrationPlan) -> HeadModel:
        """Return the model with another calibration."""
        shift, inputs = self.inputs(rows)
        # the system's table has other columns than the one that weights are computed from
        own = replace(plan, ratio=None)
        system = calibrate_model(self.head.model_, Rows(inputs), target - shift, own)
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
        """Return what is added to the head's intervals (N,), and the inputs of its systems.

        These are the user's inputs (N, M) and, if there is a base, its prediction.
        """
        if self.base is None:
            return np.zeros(len(rows.values)), rows.values
        predicted = predict_base(self.base, rows.values if self.takes_inputs else rows.table)
        inputs = np.column_stack([rows.values, predicted])  # (N, M + 1)
        return predicted if self.part == ON_BASE else np.zeros(len(inputs)), inputs

    def units(self, target: str) -> Units:
        """Return the units of what the head predicts: the base's error, or the target."""
        what = f"{target} - base" if self.part == ON_BASE else target
        return Units.of(self.head.model_, what, self.features.encoding)


class IntervalHead(Regressor):
    """Calibrated prediction intervals around the predictions of any regressor.

    `IntervalHead.strong()` needs no regressor: it has the best intervals of this library for a
    data set of any size. It compares fuzzy systems, systems on top of a base, and their mean.
    Its default base is a weighted mean of trees and a Gaussian process.

    A copy of `base` is trained on all training rows. Further copies are trained on all folds but
    one, and GT2 systems learn their errors on the fold left out, from the inputs and the base's
    prediction. An interval is the base's prediction plus a plane of those systems.

    For 50,000 rows of eight inputs `fit` takes 5 seconds of one processor around boosted trees, 11
    with the default base, and 21 with `IntervalHead.strong()`: randomised trees and Gaussian
    process learn from some of the rows, and systems in at most 4,800 steps.

    The guarantee is that of any conformal calibration, whatever base and system are: planes are
    nested, and neither has seen the calibration rows. Rows that the base has seen void it.
    Rows of `fit` are detected (`SeenRowsWarning`); the rows that a frozen base was trained on are
    not known here.

    Args:
        base: a regressor with scikit-learn's interface. It is not changed. In scikit-learn's
            `FrozenEstimator` it is not trained either: the systems then learn its errors on the
            rows of `fit`. If the base has seen those, the errors are too small and the planes too
            narrow; calibration corrects the coverage, mostly with wider intervals. None for the
            weighted mean of boosted trees, randomised trees and a Gaussian process,
            whose squared error on the folds left out is smallest. Each is the mean of copies
            trained on all folds but one; boosted trees stop by the fold left out.
        system: the unfitted `GT2Regressor` that learns the errors; None for the mean of five
            systems of 20 rules (`practice.presets.HEAD`), each trained without one fold (ten with
            `choose`), in at most 20 epochs, fewer beyond some 7,700 rows. This
            default calibrates planes or margins that follow their width, whichever have the smaller
            interval score on the folds left out (`head_.margins_`). With `choose`, the regressor
            that learns the target.
        cv: number of folds, or a splitter of scikit-learn, such as `TimeSeriesSplit`.
        random_state: the seed of the folds, of the default system, and of the split in
            `fit_calibrate`.
        correct: whether `predict` adds the system's output to the base's prediction. None decides
            by the training rows, see `corrects_`, and leaves a frozen base as it is.
        columns: "auto" takes data frames with gaps, text and dates: a base that is given gets the
            frame as it is, and the system its columns encoded as in `GT2Regressor`; so does a
            transformer. None refuses such frames.
        choose: whether training rows decide what the intervals lie around: the systems that
            `system` selects for the target, the default systems on top of the base, or the mean of
            all of them, plane by plane. Their interval scores are compared on the folds left out,
            where the mean is kept unless one part is clearly better. A base that is given
            is the mean of its copies then, as the default one.

    Attributes:
        base_: the trained base; absent if the systems alone were chosen.
        head_: the systems, a `GT2Regressor` of the errors, or of the target if `choose` left it to
            the systems or to the mean; its last input is the base's prediction, if there is one.
        chosen_: with `choose`, the three kinds of intervals, the one that was kept first, each with
            `part` ("systems", "on base" or "mean"), `score` and `kept`; else empty.
        systems_: with `choose`, the regressor of the target by itself, for rules and files.
        out_of_fold_: whether the errors were those on rows left out; false for a frozen base.
        rmse_: root mean squared error on those rows, of the "base" and "corrected" by
            systems that were trained on the other ones.
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

    base_ = Learned[Predictor | MeanBase]("base")
    head_ = Learned[GT2Regressor]("head")
    chosen_ = Learned[tuple[Choice, ...]]("choices")
    systems_ = Learned[GT2Regressor]("systems")
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
        base: Predictor | None = None,
        system: GT2Regressor | None = None,
        cv: Folds = 5,
        random_state: Seed = 0,
        correct: bool | None = None,
        columns: str | Transformer | None = "auto",
        choose: bool = False,
    ) -> None:
        need_sklearn("IntervalHead")
        self.base = base
        self.system = system
        self.cv = cv
        self.random_state = random_state
        self.correct = correct
        self.columns = columns
        self.choose = choose

    @classmethod
    def strong(
        cls,
        base: Predictor | None = None,
        *,
        cv: Folds = 5,
        random_state: Seed = 0,
        columns: str | Transformer | None = "auto",
        **overrides: Any,
    ) -> Self:
        """Return the estimator for the best intervals, by fuzzy systems alone or on top of a base.

        It has ``choose=True`` and the systems of `GT2Regressor.strong`, but half as many.

        Args:
            base: a regressor of your own, or None for the default, see `IntervalHead`.
            cv: number of folds, or a splitter that leaves out each row once.
            random_state: the seed of folds and systems.
            columns: see `IntervalHead`.
            overrides: settings of `GT2Regressor.strong`, such as ``n_jobs=-1``; five systems if
                `n_systems` is not among them.

        >>> IntervalHead.strong(n_systems=3).system.n_systems
        3
        """
        settings = {"n_systems": SYSTEMS, "columns": columns} | overrides
        system = GT2Regressor.strong(random_state=random_state, **settings)
        return cls(base, system, cv, random_state, columns=columns, choose=True)

    def __sklearn_clone__(self) -> Self:
        from sklearn.base import clone

        own = self.get_params(deep=False)
        base = None if self.base is None else copy_base(own.pop("base"))
        return type(self)(base, **{n: clone(v, safe=False) for n, v in own.items() if n != "base"})

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
        shift, inputs = self.model_.inputs(self.model_.read(X))
        return shift + self.head_.predict(inputs) if self.corrects_ else shift

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
        shift, inputs = self.model_.inputs(self.model_.read(X))
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
        added = shift if lower.ndim == 1 else shift[:, None]
        found: tuple[Array, ...] = added + lower, added + upper
        if with_prediction:
            found = (shift + output[0] if output else shift, *found)
        return interval_frame(X, found, coverage, alpha) if as_frame else found

    def predict_distribution(self, X: Table, *, groups: Groups = None) -> Distribution:
        """Return the predictive distributions, see `GT2Regressor.predict_distribution`."""
        check_fitted(self)
        shift, inputs = self.model_.inputs(self.model_.read(X))
        return self.head_.predict_distribution(inputs, groups=groups).shifted(shift)

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

        If `choose` left intervals to the systems or to the mean, rules are about the target. Those
        of the mean belong to one of its systems, some of which have the base's prediction as an
        input; the title says which.
        """
        check_fitted(self)
        model, units = self.model_, self.model_.units(target)
        system_model = model.head.model_
        if top is not None:
            whole("top", top)
        if X is None:
            rules = read_rules(system_model, units, top=top, system=system)
            return Rules(rules, f"{self._about(system)} (with the widths of intervals: rules(X))")
        shift, inputs = model.inputs(model.read(X))
        errors = None if y is None else read_target(y, len(inputs)) - shift
        weights = weights_of(X, model.ratio)
        bounds, kind = self._error_intervals(inputs, coverage, groups, weights)
        scaled = system_model.scale(inputs)
        rules = read_rules(system_model, units, scaled, system=system, bounds=bounds, y=errors)
        found = [(rule.width or 0.0, rule) for rule in rules if (rule.share or 0.0) >= LEAST_SHARE]
        found.sort(key=lambda one: (-one[0], one[1].number))
        shown = [rule for _, rule in found[:top]]
        mean = units.output(float(np.mean(bounds[1] - bounds[0])))
        title = (
            f"{self._about(system)}: {len(shown)} of {len(rules)} rules, the widest "
            f"{kind} first (mean width {mean} on {len(inputs)} rows)"
        )
        off = "what the rule predicts"
        if model.part == ON_BASE:
            off = f"how far {base_name(model.base)} is off there"
        column = "" if model.base is None else "; the column 'base' is what the base predicts"
        legend = (
            f"'width': the mean width of intervals, each row weighted by the rule. 'then': {off}"
            f"{column}. Rules with less than {LEAST_SHARE:.0%} of the weight are left out. Ranges "
            "as in GT2Regressor.rules."
        )
        return Rules(shown, title, legend)

    def _about(self, system: int) -> str:
        """Return what the rules of a system describe."""
        model = self.model_
        if model.part == ON_BASE:
            return f"Where {base_name(model.base)} is unsure"
        n, first = len(model.head.systems_), len(model.systems.systems_ if model.systems else ())
        uses = f"without {base_name(model.base)}" if system < first else "with it"
        return f"System {system} of {n}" + ("" if model.base is None else f", {uses}")

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
    ) -> HeadExplanation | Explanation:
        """Return how one prediction and its interval came about: the base, and the head.

        Arguments as in `GT2Regressor.explain`. The attribute `head` is the explanation of the
        base's error, of one system by its error rules, of several by the inputs; its bounds and
        the base's prediction add up to the bounds of the interval.

        If `choose` left intervals to the systems or to the mean, it is an explanation of the
        target, as that of a `GT2Regressor`; with the mean, the base's prediction is one of the
        inputs.
        """
        check_fitted(self)
        model = self.model_
        table = model.features.one_row(x)
        values = check_one_row(model.features.inputs(table))
        if model.dtypes is not None:
            table = pandas_frame(table).astype(model.dtypes)
        raw = model.features.raw_values(table)
        shift, inputs = model.inputs(Rows(values, table=table))
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
        if model.part != ON_BASE:
            return why
        base = float(shift[0])
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
            "fuzzy part alone is saved as JSON by head.head_.save(path), and the systems that "
            "strong() compared with the base by head.systems_.save(path)"
        )

    # ------------------------------------------------------------------ inside

    def _train(self, rows: Rows, target: Array) -> HeadModel:
        """Return what training on rows gives."""
        from sklearn.base import clone

        self._check_settings()
        values, features = Features.learn(rows, target, self.columns, type(self).__name__)
        rng = np.random.default_rng(read_seed(self.random_state))
        # the third number is not used; without it, `cross_predict` would draw other halves
        fold_seed, head_seed, _ = rng.integers(2**31, size=3).tolist()
        table = values if self.base is None else rows.table
        base: Predictor | MeanBase
        held, frozen = np.arange(len(target)), is_frozen(self.base)
        if self.base is not None and frozen:
            base, predicted = self.base, predict_base(self.base, table)
            folds = np.random.default_rng(fold_seed).permutation(len(target))
        else:
            splits = read_folds(self.cv, table, target, fold_seed)
            base, held, predicted, folds = hold_out(self.base, table, target, splits)
            if self.base is not None and not self.choose:
                base = fit_copy(self.base, table, target)
        folds = folds % SYSTEMS
        errors, inputs = target[held] - predicted, np.column_stack([values[held], predicted])
        head, off = self._learn_errors(inputs, errors, folds, head_seed, rng)
        names = features.input_names()
        taken = {*names, *(() if features.names is None else features.names)}
        last = BASE if BASE not in taken else f"{BASE} (prediction)"
        marks = mark_rows(values, target)  # of rows as the user knows them
        head = head.with_model(replace(head.model_, marks=marks, names=(*names, last)))
        corrects = not frozen and off["corrected"] <= off["base"]
        if self.correct is not None:
            corrects = self.correct
        dtypes = None
        if features.encoding is not None and hasattr(rows.table, "columns"):
            dtypes = pandas_frame(rows.table).dtypes.to_dict()
        model = HeadModel(
            base, head, features, off, not frozen, corrects, self.base is None, dtypes=dtypes
        )
        if not self.choose:
            return model
        if not np.array_equal(held, np.arange(len(target))):
            raise ValueError(
                "cv must leave out each row once if choose=True, so that all parts are compared on "
                f"the same rows: got {self.cv!r}"
            )
        system = clone(self.system).set_params(columns=self.columns)
        systems = system.with_model(system.train_model(rows, target, folds=folds))
        return choose_part(model, systems, predicted)

    def _check_settings(self) -> None:
        """Raise an error if settings are wrong or contradict each other."""
        system = self.system
        if self.base is not None:
            check_base(self.base)
        if self.correct not in (None, True, False):
            raise ValueError(f"correct must be True, False or None, got {self.correct!r}")
        if system is not None and not isinstance(system, GT2Regressor):
            raise TypeError(
                f"system must be a GT2Regressor or None, got {system!r}; base is the first argument"
            )
        if system is not None and system.target_transform is not None:
            raise ValueError(
                "system learns errors, which have both signs, so its target_transform must be "
                f"None, got {system.target_transform!r}"
            )
        if self.choose and (system is None or not system.choose or self.correct is not None):
            raise ValueError(
                "choose=True compares systems that are selected, and needs system="
                f"GT2Regressor.strong(...) and correct=None, got {system!r} and {self.correct!r}: "
                "use IntervalHead.strong(...)"
            )

    def _learn_errors(
        self, inputs: Array, errors: Array, folds: IntArray, seed: int, rng: np.random.Generator
    ) -> tuple[GT2Regressor, dict[str, float]]:
        """Return the systems of the errors, and what they leave of these on rows left out.

        Args:
            inputs: those of the user and the base's prediction (N, M + 1).
            errors: the target minus the prediction (N,).
            folds: the number of the fold (N,) of each row.
            seed: that of the default systems.
            rng: draws the halves on which a given system is scored.
        """
        from sklearn.base import clone

        if self.system is None or self.choose:
            steps = max(len(errors) // HEAD.batch_size, 1)  # in an epoch
            epochs = min(HEAD.epochs, max(MOST_STEPS // steps, 1))
            recipe, n_jobs = replace(HEAD, epochs=epochs), None
            if self.system is not None:  # the mean has one set of planes
                recipe = replace(recipe, alphas=(self.system.recipe or Recipe()).alphas)
                n_jobs = self.system.n_jobs
            head = GT2Regressor(
                recipe=recipe,
                n_systems=len(np.unique(folds)) * (MORE if self.choose else 1),
                clip_inputs=True,
                n_jobs=n_jobs,
                random_state=seed,
            )
            head = head.with_model(head.train_model(Rows(inputs), errors, folds=folds))
        else:
            head = clone(self.system).fit(inputs, errors)
        seen, scaler = head.model_.ensemble.held_out, head.model_.scaler
        if seen is None:
            output = cross_predict(head, inputs, errors, rng)
        else:
            errors, output = scaler.inverse_y(seen.y), scaler.inverse_y(seen.output)
        return head, {"base": rmse(errors, 0 * errors), "corrected": rmse(errors, output)}

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


# ------------------------------------------------------------------------------ training


def cross_predict(
    system: GT2Regressor, inputs: Array, errors: Array, rng: np.random.Generator
) -> Array:
    """Return predictions of the errors (N,), each by a system trained on the other half of them."""
    from sklearn.base import clone

    found = np.empty(len(errors))
    first, second = np.array_split(rng.permutation(len(errors)), 2)
    for held, used in ((first, second), (second, first)):
        trained = clone(system).fit(inputs[used], errors[used])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ClippedInputsWarning)
            found[held] = trained.predict(inputs[held])
    return found


def choose_part(model: HeadModel, systems: GT2Regressor, predicted: Array) -> HeadModel:
    """Return systems of the target, systems of a base's errors, or the mean of both.

    Args:
        model: a base and systems of its errors.
        systems: those of the target, trained on the same folds.
        predicted: what the base predicts (N,) on the folds left out.
    """
    of_target, of_error = systems.model_, model.head.model_
    one, other = (cast("HeldOut", each.ensemble.held_out) for each in (of_target, of_error))
    rows, i, j = np.intersect1d(one.rows, other.rows, return_indices=True)
    alone = HeldOut(one.ends[..., i], one.output[i], one.y[i], rows)
    ends, output = (
        predictions_in(of_target.scaler, of_error.scaler, values, predicted[rows])
        for values in (other.ends[..., j], other.output[j])
    )
    based = HeldOut(ends, output, alone.y, rows)
    n, m = len(of_target.ensemble.systems), len(of_error.ensemble.systems)
    found = {
        SYSTEMS_ALONE: best_family(alone),
        ON_BASE: best_family(based),
        MEAN: best_family(HeldOut.mean([alone] * n + [based] * m)),
    }
    part = min(found, key=lambda name: found[name].score)
    if found[part].score > (1 - CLEAR * clear_gain(len(rows))) * found[MEAN].score:
        part = MEAN
    unit = of_target.scaler.y_std
    choices = [Choice(name, unit * one.score, name == part) for name, one in found.items()]
    choices.sort(key=lambda choice: (not choice.kept, choice.score))
    model = replace(model, choices=tuple(choices), systems=systems)
    return take_part(model, systems.model_, part, found[part])


def take_part(model: HeadModel, of_target: Model, part: str, best: FamilyScore) -> HeadModel:
    """Return a part: systems of the target alone, those of the base's errors, or the mean."""
    if part == ON_BASE:
        return model
    if part == MEAN:
        learned, base = join(of_target, model.head.model_, best), model.base
    else:
        learned, base = replace(of_target, features=Features(len(of_target.names))), None
    head = model.head.with_model(learned)
    return replace(model, part=part, base=base, head=head, corrects=True)


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
