"""`IntervalHead`: calibrated prediction intervals around an existing regressor.

A GT2 system learns the errors of the regressor, here called the base. The file has the class,
then the rules of that system (error rules), and last what is asked of a base.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from io import StringIO
from numbers import Integral
from typing import Any, Self

import numpy as np

from gt2lite._progress import progress_bar
from gt2lite._validation import (
    LARGEST_SEED,
    Array,
    IntArray,
    between,
    matrix,
    read_seed,
    vector,
    whole,
)
from gt2lite.memberships import ALPHA_0
from gt2lite.metrics import rmse
from gt2lite.practice import model_file
from gt2lite.practice._sklearn import (
    OF_CALIBRATION,
    Regressor,
    Stateful,
    check_fitted,
    need_sklearn,
)
from gt2lite.practice.calibrators import DEFAULT_COVERAGE, Calibration
from gt2lite.practice.distribution import Distribution
from gt2lite.practice.explanations import Explanation
from gt2lite.practice.presets import HEAD
from gt2lite.practice.printing import Printed, frame_of, wrap
from gt2lite.practice.regressor import (
    Asked,
    ClippedInputsWarning,
    GT2Regressor,
    encode_training,
    fit_parts,
    interval_frame,
)
from gt2lite.practice.rules import Rules, Units, input_names
from gt2lite.practice.selection import GRID, HeldOut, best_family
from gt2lite.practice.splitting import mark_rows, read_folds, warn_if_seen
from gt2lite.practice.tables import (
    Rows,
    check_one_row,
    match_table,
    one_row,
    pandas_frame,
    read_table,
    read_target,
    take_rows,
)

SYSTEMS = 5
"""Number of systems in the default head."""

BASE = "base"
"""Name of the base's prediction among the inputs of the head."""

LEAST_SHARE = 0.01
"""A rule with a smaller share of the weight is left out of the error rules."""

PROBES = 32
"""Number of rows on which a base is compared with the saved one when a head is loaded."""

CLOSE = 1e-6
"""Tolerance of that comparison, in standard deviations: another machine may round differently."""


class IntervalHead(Stateful, Regressor):
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
            is, and the system its columns encoded as in `GT2Regressor`. None refuses them.

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

    >>> from gt2lite import IntervalHead, load_dataset
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> data = load_dataset("pp")
    >>> forest = RandomForestRegressor(20, random_state=0)
    >>> head = IntervalHead(forest).fit_calibrate(data.X[:400], data.y[:400])
    >>> lower, upper = head.predict_interval(data.X[400:], coverage=[0.8, 0.9])
    >>> lower.shape
    (9168, 2)
    """

    def __init__(
        self,
        base: Any,
        system: GT2Regressor | None = None,
        cv: Any = 5,
        random_state: Any = 0,
        correct: bool | None = None,
        columns: str | None = "auto",
    ) -> None:
        need_sklearn("IntervalHead")
        self.base = base
        self.system = system
        self.cv = cv
        self.random_state = random_state
        self.correct = correct
        self.columns = columns

    # ------------------------------------------------------------ fit and calibrate

    def fit(self, X: Any, y: Any) -> Self:
        """Train base and system on inputs `X` (N, M), an array or data frame, and `y` (N,)."""
        rows, target = self._read_training(X, y)
        return self._become(self._trained(rows, target))

    def calibrate(
        self,
        X: Any,
        y: Any,
        method: str = "conformal",
        *,
        sides: str | None = None,
        groups: Any = None,
        **options: Any,
    ) -> Self:
        """Learn which plane has which coverage, from rows that neither base nor system has seen.

        Arguments as in `GT2Regressor.calibrate`. A `SeenRowsWarning` reports how many of the rows
        were in `fit`; rows that a frozen base was trained on cannot be detected.
        """
        rows = self._read(X)
        target = read_target(y, len(rows.values), type(self).__name__)
        new = self._calibrated_by(rows, target, (method, sides, groups, options))
        warn_if_seen(self.head_.marks_, rows.values, target)
        return self._become(new)

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
        """Train base and system on a part of the rows and calibrate on the rest.

        Arguments as in `GT2Regressor.fit_calibrate`, which draws the same rows with the same
        seed. With a frozen base all rows must be new to it.
        """
        rows, target = self._read_training(X, y)
        asked = method, sides, groups, options
        new = fit_parts(self, rows, target, share, self.random_state, asked)
        if not new.out_of_fold_:
            new.split_ += "; the base is frozen: all of them must be new to it"
        return self._become(new)

    # -------------------------------------------------------------------- predict

    def predict(self, X: Any) -> Array:
        """Return the prediction (N,): the base's, plus the system's output if `corrects_`."""
        predicted, inputs = self._inputs(self._read(X))
        return predicted + self.head_.predict(inputs) if self.corrects_ else predicted

    def predict_interval(
        self,
        X: Any,
        coverage: float | Sequence[float] | None = None,
        *,
        alpha: float | None = None,
        groups: Any = None,
        as_frame: bool = False,
    ) -> Any:
        """Return the lower and upper bounds of prediction intervals, each (N,) or (N, L).

        Arguments as in `GT2Regressor.predict_interval`. The smallest intervals, at low
        levels, lie around base + system, even if `predict` is the base alone.
        """
        predicted, inputs = self._inputs(self._read(X))
        lower, upper = self.head_.predict_interval(inputs, coverage, alpha=alpha, groups=groups)
        shift = predicted if lower.ndim == 1 else predicted[:, None]
        lower, upper = shift + lower, shift + upper
        if as_frame:
            return interval_frame(X, lower, upper, coverage, alpha)
        return lower, upper

    def predict_distribution(self, X: Any, *, groups: Any = None) -> Distribution:
        """Return the predictive distributions, see `GT2Regressor.predict_distribution`."""
        predicted, inputs = self._inputs(self._read(X))
        return self.head_.predict_distribution(inputs, groups=groups).shifted(predicted)

    def predict_quantile(
        self, X: Any, quantiles: float | Sequence[float], *, groups: Any = None
    ) -> Array:
        """Return quantiles (N,) or (N, L) of y, see `GT2Regressor.predict_quantile`."""
        return self.predict_distribution(X, groups=groups).quantile(quantiles)

    def calibration_report(
        self, coverage: float | Sequence[float], *, as_frame: bool = False
    ) -> Any:
        """Return the calibration at a level, see `GT2Regressor.calibration_report`."""
        check_fitted(self)
        return self.head_.calibration_report(coverage, as_frame=as_frame)

    @property
    def calibrator_(self) -> Calibration:
        """The calibration of the system; absent before `calibrate`."""
        return self.head_.calibrator_

    # ---------------------------------------------------------- rules and explanations

    def rules(
        self,
        X: Any = None,
        y: Any = None,
        *,
        coverage: float | None = None,
        top: int | None = 10,
        system: int = 0,
        groups: Any = None,
        target: str = "y",
    ) -> Rules:
        """Return the error rules: where intervals are wide and where the base is off.

        Arguments as in `GT2Regressor.rules`. With rows `X` the rules with the widest intervals
        come first, and those with less than 1% of the weight are left out. Widths are those of
        the whole head; without a calibration, and if intervals have one bound only, they are
        those of the trained envelope.
        """
        check_fitted(self)
        name, units, head = base_name(self.base_), self._units(target), self.head_
        if X is None:
            rules = head._rules(units, None, top=top, system=system)
            return Rules(rules, f"Where {name} is off (with the widths of intervals: rules(X))")
        if top is not None:
            whole("top", top)
        legend = (
            f"'width': the mean width of intervals, each row weighted by the rule. 'then': how far "
            f"{name} is off there; the column 'base' is what it predicts. Rules with less "
            f"than {LEAST_SHARE:.0%} of the weight are left out. Ranges as in "
            "GT2Regressor.rules."
        )
        predicted, inputs = self._inputs(self._read(X))
        errors = None if y is None else read_target(y, len(inputs)) - predicted
        bounds, kind = self._error_intervals(inputs, coverage, groups)
        rules = head._rules(units, inputs, errors, system=system, bounds=bounds)
        found = [rule for rule in rules if rule.share >= LEAST_SHARE]
        shown = sorted(found, key=lambda rule: (-rule.width, rule.number))[:top]
        mean = units.output(float(np.mean(bounds[1] - bounds[0])))
        title = (
            f"Where {name} is unsure: {len(shown)} of {len(rules)} rules, the widest "
            f"{kind} first (mean width {mean} on {len(inputs)} rows)"
        )
        return Rules(shown, title, legend)

    def explain(
        self,
        x: Any,
        coverage: float | None = None,
        *,
        alpha: float | None = None,
        group: Any = None,
        target: str = "y",
        system: int | None = None,
        background: Any = None,
    ) -> HeadExplanation:
        """Return how one prediction and its interval came about: the base, and the head.

        Arguments as in `GT2Regressor.explain`. The attribute `head` is the explanation of the
        base's error, of one system by its error rules, of several by the inputs; its bounds and
        the base's prediction add up to the bounds of the interval.
        """
        table, raw = one_row(x, self), None
        values = check_one_row(match_table(table, self))
        if hasattr(self, "columns_"):
            table = pandas_frame(table).astype(self.probes_.dtypes.to_dict())
            raw = table.iloc[0].to_dict()
        predicted, inputs = self._inputs(Rows(values, table=table))
        if background is not None:
            _, background = self._inputs(self._read(background))
        why = self.head_._explain(
            self._units(target),
            inputs,
            background,
            coverage=coverage,
            alpha=alpha,
            group=group,
            system=system,
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

    # -------------------------------------------------------------- save and load

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the head, without the base, to one JSON file at exactly this path.

        The base is described by its `repr` and by its predictions for 32 probe rows, each
        column of which is drawn independently from the training rows. See
        `GT2Regressor.save` for what else the file has of training and calibration rows.

        Raises:
            ValueError: the base predicts otherwise than at the last fit: it was trained since.
        """
        check_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        if found := self._changes(describe_base(self.base_)):
            raise ValueError(
                f"base has changed since this head was fitted: {found}. Call fit again"
            )
        content = {
            "regressor": model_file.pack_regressor(self.head_),
            "base": describe_base(self.base_),
            "columns": self.columns_.to_json() if hasattr(self, "columns_") else None,
            "probes": pack_probes(self.probes_),
            "probed": self.probed_,
            "rmse": self.rmse_,
            "corrects": self.corrects_,
            "out_of_fold": self.out_of_fold_,
            "features": None if names is None else list(names),
            "cv": cv if isinstance(cv := self._fitted_with["cv"], Integral) else None,
            "random_state": model_file.fitted_seed(self),
            "correct": self._fitted_with["correct"],
        }
        model_file.write(path, "head", content)

    @classmethod
    def load(cls, path: str | os.PathLike[str], base: Any) -> Self:
        """Return the head that `save` wrote to `path`, on the trained `base` that it belongs to.

        Raises:
            ValueError: `base` is another one; the message says what differs.
            FileFormatError: the file is damaged, of another kind or of a later version.
        """
        need_sklearn("IntervalHead")
        check_base(base)
        self, described = model_file.load(path, "head", partial(cls._unpack, base))
        if found := self._changes(described):
            raise ValueError(f"{path} is a head on another base than this one: {found}")
        return self

    @classmethod
    def _unpack(cls, base: Any, content: dict[str, Any]) -> tuple[Self, str]:
        """Return the head that the content of a model file describes, and its base as described."""
        from sklearn.base import clone

        model_file.pick(
            content,
            *("regressor", "base", "columns", "features", "probes", "probed", "rmse", "cv"),
            *("random_state", "correct", "corrects", "out_of_fold"),
        )
        cv, seed, correct = content["cv"], content["random_state"], content["correct"]
        facts = content["corrects"], content["out_of_fold"]
        if correct not in (None, True, False) or not all(isinstance(f, bool) for f in facts):
            raise ValueError("correct, corrects and out_of_fold must be true or false")
        if not isinstance(content["base"], str):
            raise ValueError("base must be described by text")
        head = model_file.unpack_regressor(GT2Regressor, content["regressor"])
        cv = 5 if cv is None else whole("cv", cv, 2)
        seed = None if seed is None else whole("random_state", seed, 0, LARGEST_SEED)
        self = cls(base, clone(head), cv, seed, correct)
        self._fitted_with = self.get_params(deep=False)
        self.base_, self.head_, self.n_features_in_ = base, head, head.n_features_in_ - 1
        self.corrects_, self.out_of_fold_ = facts
        if content["columns"] is not None:
            self.columns_ = model_file.unpack_columns(content["columns"], self.n_features_in_)
            self.n_features_in_ = len(self.columns_.columns)
        if content["features"] is not None:
            names = model_file.unpack_names(content["features"], self.n_features_in_)
            self.feature_names_in_ = names
        self.probes_ = unpack_probes(content["probes"])
        if self.probes_.shape[1] != self.n_features_in_:
            raise ValueError(f"probes must have {self.n_features_in_} columns")
        self.probed_ = vector("probed", content["probed"], len(self.probes_))
        model_file.pick(errors := content["rmse"], "base", "corrected")
        self.rmse_ = {n: between("rmse", e, 0, np.inf, closed=True) for n, e in errors.items()}
        head._names = self._units("y").names
        return self, content["base"]

    # ------------------------------------------------------------------ inside

    def _trained(self, rows: Rows, target: Array) -> Self:
        """Return a copy of this head, trained anew and not calibrated."""
        check_base(self.base)
        if self.correct not in (None, True, False):
            raise ValueError(f"correct must be True, False or None, got {self.correct!r}")
        values, columns = encode_training(rows.values)
        rng = np.random.default_rng(read_seed(self.random_state))
        fold_seed, head_seed, probe_seed = rng.integers(2**31, size=3).tolist()
        system = self._system(head_seed)
        base, held, predicted = hold_out(self.base, rows.table, target, self.cv, fold_seed)
        errors = target[held] - predicted
        inputs = np.column_stack([values[held], predicted])  # (N, M + 1)
        seen = cross_fit(system, inputs, errors, rng)
        head = system.fit(inputs, errors)
        if self.system is None and (best := best_family(seen).margins):
            head._keep(head._fitted().with_margins(best.power, head._scaled(inputs)))
        head.marks_ = mark_rows(values, target)  # of rows as the user knows them
        new = self._renewed(rows, columns)
        new.base_, new.head_, new.out_of_fold_ = base, head, not is_frozen(base)
        new.rmse_ = {"base": rmse(target[held], predicted), "corrected": rmse(seen.y, seen.output)}
        new.corrects_ = new.out_of_fold_ and new.rmse_["corrected"] <= new.rmse_["base"]
        if self.correct is not None:
            new.corrects_ = self.correct
        new.probes_ = draw_probes(rows.table, probe_seed)
        new.probed_ = predict_base(base, new.probes_)
        head._names = new._units("y").names
        return new

    def _system(self, seed: int) -> Any:
        """Return the system to be trained: a copy of the one given, or the default."""
        from sklearn.base import clone

        if self.system is None:
            settings = asdict(HEAD) | {"n_systems": SYSTEMS, "clip_inputs": True}
            return GT2Regressor(**settings, random_state=seed)
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
        return clone(self.system)

    def _calibrated_by(self, rows: Rows, target: Array, asked: Asked) -> Self:
        """Return a copy of this head with another calibration."""
        predicted, inputs = self._inputs(rows)
        new = self._copy(*OF_CALIBRATION)
        new.head_ = self.head_._calibrated_by(Rows(inputs), target - predicted, asked)
        return new

    def _changes(self, described: str) -> str:
        """Return how the base differs from the one that was described and probed, if it does."""
        off = np.abs(predict_base(self.base_, self.probes_) - self.probed_)
        wrong = int((off > CLOSE * (float(np.std(self.probed_)) or 1.0)).sum())
        if not wrong:
            return ""
        return (
            f"it is {describe_base(self.base_)}, and was {described}; it predicts otherwise for "
            f"{wrong} of {len(off)} rows, by up to {off.max():.3g}"
        )

    def _read_training(self, X: Any, y: Any) -> tuple[Rows, Array]:
        """Return training rows and targets, checked; the base gets a frame as it is."""
        rows = read_table(X, self.columns)
        target = read_target(y, len(rows.values), type(self).__name__)
        return rows._replace(table=rows.values if rows.names is None else X), target

    def _read(self, X: Any) -> Rows:
        """Return rows as checked numbers (N, M), and in the form that the base was trained on."""
        values = match_table(X, self)
        named = hasattr(self, "feature_names_in_") and hasattr(X, "columns")
        if hasattr(self, "columns_") and not named:  # a frame whose columns have numbers as names
            return Rows(values, table=pandas_frame(X))
        # the array itself, since a base may sum in another order if rows are copied
        same = type(X) is np.ndarray and X.dtype == values.dtype
        return Rows(values, table=X if named or same else values)

    def _inputs(self, rows: Rows) -> tuple[Array, Array]:
        """Return the base's prediction (N,) and with it the inputs (N, M + 1) of the system."""
        predicted = predict_base(self.base_, rows.table)
        return predicted, np.column_stack([rows.values, predicted])

    def _units(self, target: str) -> Units:
        names = input_names(self)
        taken = {*names, *getattr(self, "feature_names_in_", ())}
        last = BASE if BASE not in taken else f"{BASE} (prediction)"
        columns = self.__dict__.get("columns_")
        return Units.of(self.head_, (*names, last), f"{target} - base", columns)

    def _error_intervals(self, inputs: Array, coverage: Any, groups: Any) -> tuple[Array, str]:
        """Return the bounds (2, N) that rank the error rules, and their kind in words."""
        level = DEFAULT_COVERAGE if coverage is None else coverage
        if coverage is not None or hasattr(self.head_, "calibrator_"):
            bounds = np.stack(self.head_.predict_interval(inputs, level, groups=groups))
            if np.isfinite(bounds).all():
                return bounds, f"{100 * level:.4g}% intervals"
        bounds = np.stack(self.head_.predict_interval(inputs, alpha=ALPHA_0))
        return bounds, "trained envelopes"


def cross_fit(system: Any, inputs: Array, errors: Array, rng: np.random.Generator) -> HeldOut:
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

    def table(self) -> list[dict[str, Any]]:
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


def check_base(base: Any) -> None:
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


def is_frozen(base: Any) -> bool:
    """Return whether a base is in scikit-learn's `FrozenEstimator`, and must not be trained."""
    from sklearn.frozen import FrozenEstimator

    return isinstance(base, FrozenEstimator)


def base_name(base: Any) -> str:
    """Return the name of a base's class; of a pipeline, that of its last step."""
    if is_frozen(base):
        return base_name(base.estimator)
    if hasattr(base, "steps"):
        return base_name(base.steps[-1][1])
    return type(base).__name__


def hold_out(
    base: Any, table: Any, target: Array, cv: Any, seed: int
) -> tuple[Any, IntArray, Array]:
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


def predict_base(base: Any, table: Any) -> Array:
    """Return the predictions (N,) of a base, checked: one finite number for each row."""
    predicted = np.asarray(base.predict(table), dtype=float)
    if predicted.ndim == 2 and predicted.shape[1] == 1:
        predicted = predicted[:, 0]
    return vector("the prediction of base", predicted, len(table))


# A saved head describes its base by its repr and by its predictions for probe rows.


def draw_probes(table: Any, seed: int) -> Any:
    """Return rows in the form of the training rows `table` (N, M), and no row of them.

    The values of each column are drawn, or shuffled, on their own.
    """
    rng = np.random.default_rng(seed)
    if isinstance(table, np.ndarray):
        return rng.permuted(rng.choice(table, PROBES), axis=0)
    table = table.to_pandas() if hasattr(table, "to_pandas") else table
    columns = {}
    for name in table.columns:
        present = table[name].dropna()
        present = present if len(present) else table[name]
        columns[name] = present.sample(PROBES, replace=True, random_state=rng, ignore_index=True)
    return unpack_probes(pack_probes(frame_of(columns)))  # as a loaded head will have them


def pack_probes(probes: Any) -> Any:
    """Return probe rows as content of a file: numbers, or a frame as JSON with its types."""
    if isinstance(probes, np.ndarray):
        return probes
    return probes.to_json(orient="table", index=False, double_precision=15, date_unit="ns")


def unpack_probes(content: Any) -> Any:
    """Return the probe rows that `pack_probes` described."""
    if not isinstance(content, str):
        return matrix("probes", content)
    import pandas as pd

    return pd.read_json(StringIO(content), orient="table", precise_float=True)


def describe_base(base: Any) -> str:
    """Return the `repr` of a base in one line."""
    return " ".join(repr(base.estimator if is_frozen(base) else base).split())
