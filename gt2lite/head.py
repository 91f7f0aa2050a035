"""`IntervalHead`: intervals for an existing regressor."""

from __future__ import annotations

import hashlib
import math
import os
import re
import tempfile
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from numbers import Integral
from pathlib import Path
from typing import Any, NamedTuple, Self, overload

import numpy as np
from numpy.typing import NDArray

from gt2lite import model_file as files
from gt2lite._progress import progress_bar
from gt2lite._sklearn import Regressor, need_sklearn, not_fitted_error
from gt2lite._validation import (
    LARGEST_SEED,
    Array,
    IntArray,
    Names,
    finite,
    match_table,
    numbers,
    read_seed,
    read_table,
    read_target,
    take_rows,
    vector,
    whole,
)
from gt2lite._version import __version__
from gt2lite.calibration import Calibration
from gt2lite.calibration.groups import read_groups
from gt2lite.calibration.make import make_calibrator, tails_of
from gt2lite.memberships import ALPHA_0
from gt2lite.regressor import GT2Regressor, interval_frame
from gt2lite.rules import Explanation, Rule, Rules, fixed
from gt2lite.selection import GRID, Seen, quality
from gt2lite.splits import DEFAULT_COVERAGE, draw_split
from gt2lite.training import HEAD

HARMLESS = 0.01
"""The share of calibration rows that may be training rows, as a stray row is that occurs twice."""


class SeenRowsWarning(UserWarning):
    """Calibration rows are training rows, too: the guarantee needs rows that are new."""


def mark_rows(X: Array, y: Array) -> Array:
    """Return the mark of each row (N,), as whole numbers in floats.

    >>> marks = mark_rows(np.array([[1.0, 2.0], [1.0, 2.0], [2.0, 1.0]]), np.array([3.0, 3.0, 3.0]))
    >>> bool(marks[0] == marks[1]), bool(marks[0] == marks[2])
    (True, False)
    """
    table = np.column_stack([X, y]) + 0.0  # -0.0 is 0.0
    bits = np.ascontiguousarray(table).view(np.uint64)  # (N, M + 1)
    mark = np.zeros(len(table), dtype=np.uint64)
    for column in bits.T:
        mark = _mix(mark ^ _mix(column) + np.uint64(0x9E3779B97F4A7C15))
    return (mark >> np.uint64(12)).astype(float)


def _mix(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return each number scrambled one to one (the finaliser of SplitMix64, by Steele et al.)."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def count_seen(trained: Array, marks: Array) -> tuple[int, float]:
    """Return how many rows were trained on, and how many would be by chance.

    Rows that a table holds twice may end up in both parts of an honest split. About as large a
    share of the calibration rows is expected to, as of the training rows have a twin there.
    """
    _, counts = np.unique(trained, return_counts=True)
    twins = counts[counts > 1].sum() / len(trained)
    return int(np.isin(marks, trained).sum()), float(twins) * len(marks)


def warn_if_seen(trained: Array, marks: Array, stacklevel: int = 3) -> None:
    """Warn where more calibration rows were trained on than rows that occur twice explain.

    A hundredth of the rows is let pass: it moves the coverage by a point at most.
    """
    seen, chance = count_seen(trained, marks)
    if seen <= max(chance + 3 * math.sqrt(chance), HARMLESS * len(marks)):
        return
    but = f"; rows that occur twice explain about {chance:.0f}" if chance else ""
    warnings.warn(
        f"{seen} of {len(marks)} calibration rows are training rows{but}. The base and its head "
        "know them, so intervals come out too narrow for new rows and the guarantee is void: "
        "calibrate on rows that were not in fit, or use fit_calibrate",
        SeenRowsWarning,
        stacklevel=stacklevel,
    )


PROBES = 32
"""Rows on which a base is asked again when a head is loaded."""

CLOSE = 1e-6
"""How far its answers may be off then, in spreads of them: another machine rounds otherwise."""

_HARMLESS = ("n_jobs", "verbose", "memory", "copy_X")  # settings that change no prediction


class Held(NamedTuple):
    """A trained base, and what it predicted for rows that it was not trained on."""

    base: Any
    rows: IntArray  # rising; a row that was held out twice is there twice
    predicted: Array
    out_of_fold: bool


def check_base(base: Any) -> None:
    """Raise what is wrong with a base, where it is no regressor of scikit-learn's kind."""
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
    """Return what the class of a base is called; of a pipeline, that of its last step."""
    if is_frozen(base):
        return base_name(base.estimator)
    if hasattr(base, "steps"):
        return base_name(base.steps[-1][1])
    return type(base).__name__


def hold_out(base: Any, table: Any, target: Array, cv: Any, seed: int) -> Held:
    """Train a copy of a base on all rows, and others on all folds but one, for its predictions.

    Args:
        base: a regressor, which stays as it is. A frozen one predicts all rows as they are.
        table: the rows (N, M), as the base wants them.
        target: (N,).
        cv: a number of folds, or a splitter or list of splits in scikit-learn's manner.
        seed: of the folds, where `cv` is a number.
    """
    from sklearn.base import clone

    if is_frozen(base):
        every = np.arange(len(target))
        return Held(base, every, predict_base(base, table), out_of_fold=False)
    splits = _splits(cv, table, target, seed)
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
    return Held(fitted, found[order], np.concatenate(predicted)[order], out_of_fold=True)


def _splits(cv: Any, table: Any, target: Array, seed: int) -> list[tuple[IntArray, IntArray]]:
    from sklearn.model_selection import KFold, check_cv

    if isinstance(cv, (int, np.integer)) or not (hasattr(cv, "split") or np.iterable(cv)):
        folds = whole("cv", cv, 2)
        if len(target) < 2 * folds:
            raise ValueError(
                f"cv={folds} folds need at least {2 * folds} rows, got {len(target)} sample(s): "
                "use more rows or fewer folds"
            )
        cv = KFold(folds, shuffle=True, random_state=seed)
    return list(check_cv(cv).split(table, target))


def predict_base(base: Any, table: Any) -> Array:
    """Return what a base predicts (N,), if that is one finite number for each row."""
    predicted = np.asarray(base.predict(table), dtype=float)
    if predicted.ndim == 2 and predicted.shape[1] == 1:
        predicted = predicted[:, 0]
    if predicted.shape != (len(table),):
        raise ValueError(
            f"base must predict one number for each of {len(table)} rows, and predicted an array "
            f"of shape {predicted.shape}"
        )
    if not np.isfinite(predicted).all():
        raise ValueError(
            f"base predicted NaN or infinity for {(~np.isfinite(predicted)).sum()} of "
            f"{len(table)} rows"
        )
    return predicted


def named_table(values: Array, names: Names | None, like: Any = None) -> Any:
    """Return rows as a base wants them that was trained on columns of these names, or of none.

    Args:
        values: the rows (N, M).
        names: of the columns.
        like: a data frame of the kind wanted; without it a pandas frame, where there is pandas.
    """
    if names is None:
        return values
    columns = dict(zip(names, values.T, strict=True))
    if like is not None:
        return type(like)(columns)
    try:
        import pandas
    except ImportError:
        return values
    return pandas.DataFrame(columns)


# ---------------------------------------------------------------------- fingerprint


def draw_probes(values: Array, seed: int) -> Array:
    """Return rows (32, M) to ask a base about: real values, each column drawn for itself.

    >>> draw_probes(np.array([[1.0, 5.0], [2.0, 6.0]]), seed=0).shape
    (32, 2)
    """
    rows = np.random.default_rng(seed).integers(len(values), size=(PROBES, values.shape[1]))
    return np.take_along_axis(values, rows, axis=0)


def describe_base(base: Any) -> dict[str, Any]:
    """Return the class of a base and its settings as text.

    >>> from sklearn.linear_model import Ridge
    >>> told = describe_base(Ridge(alpha=2.0))
    >>> told["class"], told["settings"]["alpha"]
    ('sklearn.linear_model._ridge.Ridge', '2.0')
    """
    if is_frozen(base):
        base = base.estimator
    found = {name: _as_text(value) for name, value in base.get_params(deep=True).items()}
    settings = {
        name: text
        for name, text in sorted(found.items())
        if text is not None and name.rpartition("__")[2] not in _HARMLESS
    }
    return {"class": _class_name(base), "settings": settings}


def differences(told: dict[str, Any], base: Any, asked: Array, spread: float, now: Array) -> str:
    """Return in what a base differs from the one that was described; "" where in nothing.

    Args:
        told: what `describe_base` returned.
        base: the base now.
        asked: what the base predicted for the probes then.
        spread: of what it predicted.
        now: what it predicts for them now.

    Settings that only one of the two has, as in another release of its library, do not count.
    """
    seen = describe_base(base)
    found = []
    if seen["class"] != told["class"]:
        found.append(f"it is a {seen['class']}, and was a {told['class']}")
    else:
        found += [
            f"{name} is {seen['settings'][name]}, and was {text}"
            for name, text in told["settings"].items()
            if seen["settings"].get(name, text) != text
        ]
    off = np.abs(now - asked)
    if (wrong := int((off > CLOSE * spread).sum())) > 0:
        found.append(
            f"it predicts otherwise for {wrong} of {len(asked)} stored rows, by up to "
            f"{off.max():.3g}: it was trained on other rows or in another way"
        )
    return "; ".join(found)


def _class_name(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _as_text(value: Any) -> str | None:
    """Return a setting as text that is the same tomorrow; None for a list of estimators."""
    if hasattr(value, "get_params") and not isinstance(value, type):
        return _class_name(value)
    if isinstance(value, np.ndarray):
        digest = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()[:16]
        return f"array {value.shape} {digest}"
    if isinstance(value, (list, tuple)) and any("get_params" in dir(v) for v in _flat(value)):
        return None
    if callable(value):
        return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', '')}"
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))


def _flat(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return [item for part in value for item in _flat(part)]
    return [value]


BASE = "base"
"""What the prediction of the base is called among the inputs."""


class HeadInputs:
    """A table (N, M + 1) with names for its columns, which need no data frame."""

    def __init__(self, values: Array, predicted: Array, names: Names | None) -> None:
        known = [f"x{m}" for m in range(values.shape[1])] if names is None else list(names)
        self.values = np.column_stack([values, predicted])
        self.columns = [*known, BASE if BASE not in known else f"{BASE} (prediction)"]

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        return np.array(self.values, dtype=dtype)

    def __len__(self) -> int:
        return len(self.values)

    def take(self, rows: IntArray) -> Self:
        """Return some of the rows."""
        found = object.__new__(type(self))
        found.values, found.columns = self.values[rows], self.columns
        return found


def cross_fit(system: Any, inputs: HeadInputs, errors: Array, rng: np.random.Generator) -> Seen:
    """Return what systems say of the errors (N,) that were trained on the other half of them."""
    from sklearn.base import clone

    first, second = np.array_split(rng.permutation(len(errors)), 2)
    seen = []
    for held, used in ((first, second), (second, first)):
        trained = clone(system).fit(inputs.take(used), errors[used])
        rows = inputs.take(held)
        ends = [trained.predict_interval(rows, alpha=float(alpha)) for alpha in GRID]
        seen.append(Seen(np.stack(ends, axis=1), trained.predict(rows), errors[held]))
    return Seen.joined(seen)


def rms(values: Array) -> float:
    """Return the root mean square.

    >>> rms(np.array([3.0, -3.0]))
    3.0
    """
    return float(np.sqrt(np.mean(values**2)))


LEAST_SHARE = 0.01
"""A rule with less of the weight is left out: what it says of a few rows is hardly a rule."""

_WIDTH = 100  # of printed lines
_SHOWN = 5  # inputs and terms of a rule


@dataclass(frozen=True)
class Doubt:
    """One rule of a head: where it holds, how wide intervals are there, how the base is off.

    `width` is the mean width of the intervals, each row weighed by the rule, and `times` that
    width in mean widths of all rows; both None without rows.
    """

    rule: Rule
    width: float | None
    times: float | None

    @property
    def number(self) -> int:
        """The number of the rule, counted from 1."""
        return self.rule.number

    def __str__(self) -> str:
        rule, typical, weight = self.rule, "", self.rule.weight()
        if self.width is not None and self.times is not None:
            weight = (
                f"width {rule.units.output(self.width)}, {self.times:.2f} of the mean; {weight}"
            )
        if rule.typical is not None:
            typical = f"; typically {rule.units.output(rule.typical)}"
        lines = (
            ("  if    ", rule.condition(_SHOWN)),
            ("  then  ", rule.formula(_SHOWN) + typical),
        )
        return "\n".join(
            [f"Rule {self.number}{': ' * bool(weight)}{weight}"]
            + [
                textwrap.fill(line, _WIDTH, initial_indent=start, subsequent_indent=" " * 8)
                for start, line in lines
            ]
        )


class Doubts(Sequence[Doubt]):
    """The rules of a head, those with the widest intervals first."""

    def __init__(self, doubts: Sequence[Doubt], title: str, legend: str) -> None:
        self._doubts, self.title, self._legend = tuple(doubts), title, legend

    @overload
    def __getitem__(self, index: int) -> Doubt: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Doubt]: ...
    def __getitem__(self, index: int | slice) -> Doubt | Sequence[Doubt]:
        return self._doubts[index]

    def __len__(self) -> int:
        return len(self._doubts)

    def __iter__(self) -> Iterator[Doubt]:
        return iter(self._doubts)

    def __str__(self) -> str:
        title, legend = (textwrap.fill(text, _WIDTH) for text in (self.title, self._legend))
        return "\n".join([title, *map(str, self), "", legend])

    __repr__ = __str__

    def table(self) -> list[dict[str, Any]]:
        """Return a dict for each rule: width, and all that `Rules.table` has."""
        return [
            {"rule": one.number, "width": one.width, "times": one.times} | one.rule.row()
            for one in self
        ]


def doubts_without_rows(rules: Rules, top: int | None, base: str) -> Doubts:
    """Return the rules of a head as they come, with no width: nobody knows it without rows."""
    found = [Doubt(rule, None, None) for rule in list(rules)[:top]]
    title = (
        f"Where {base} is off: {len(found)} of {rules.n_rules} rules (how wide intervals are "
        "where each leads is not known without rows: rules(X)):"
    )
    return Doubts(found, title, _legend(base))


def read_doubts(
    rules: Rules, weights: Array, widths: Array, kind: str, top: int | None, base: str
) -> Doubts:
    """Return the rules of a head by the width of the intervals where they weigh.

    Args:
        rules: all rules, weighed on the rows.
        weights: of the rules on the rows (N, P).
        widths: of the intervals of the rows (N,).
        kind: what intervals they are, in words.
        top: how many rules; None for all that weigh enough.
        base: what the model under the head is called.
    """
    share = weights.mean(axis=0)
    mean = float(widths.mean())
    found = []
    for rule in rules:
        p = rule.number - 1
        if share[p] >= LEAST_SHARE:
            width = float(weights[:, p] @ widths / weights[:, p].sum())
            found.append(Doubt(rule, width, width / mean if mean > 0 else 1.0))
    found.sort(key=lambda one: (-(one.width or 0.0), one.number))
    units = rules[0].units
    title = (
        f"Where {base} is unsure: {min(len(found), top or len(found))} of {rules.n_rules} rules, "
        f"the widest {kind} first (mean width {units.output(mean)} on {len(widths)} rows):"
    )
    return Doubts(found[:top], title, _legend(base))


def _legend(base: str) -> str:
    return (
        f"'width': the mean width of intervals, each row weighed by the rule. 'then': how far "
        f"{base} is off there; the column 'base' is what it predicts. Rules with less than "
        f"{100 * LEAST_SHARE:.0f} % of the weight are left out. Ranges as in GT2Regressor.rules."
    )


@dataclass(frozen=True, repr=False)
class DoubtExplanation:
    """A prediction of a base, the interval around it, and the rules of the head that made it."""

    prediction: float
    lower: float
    upper: float
    base: float  # what the base says
    head: Explanation  # of y - base: estimate, both ends and their rules
    corrected: bool  # whether the prediction is base + estimate
    target: str
    name: str  # of the base

    def __str__(self) -> str:
        spread = self.head.units.scaler.y_std

        def told(value: float) -> str:
            return fixed(value, spread, 3)

        kind = "interval"
        if self.head.coverage is not None:
            kind = f"{100 * self.head.coverage:.4g} % interval"
        prediction = "the base alone, because the head does not make it better"
        if self.corrected:
            prediction = f"base {told(self.base)} and {told(self.head.prediction)} by the head"
        lines = (
            f"{self.target}: prediction {told(self.prediction)} ({prediction})",
            f"{kind} {told(self.lower)} to {told(self.upper)}: base {told(self.base)} and what "
            f"the head says of its error, {told(self.head.lower)} to {told(self.head.upper)}",
        )
        first = [textwrap.fill(line, _WIDTH, subsequent_indent="    ") for line in lines]
        return "\n".join([*first, "", str(self.head)])

    __repr__ = __str__


class Doubting:
    """Methods of a head for people who want to read where a model is unsure."""

    def rules(
        self,
        X: Any = None,
        *,
        coverage: float | None = None,
        top: int | None = 10,
        system: int = 0,
        groups: Any = None,
        target: str = "y",
    ) -> Doubts:
        """Return the rules of doubt: where the base is unsure or off, the widest intervals first.

        Args:
            X: rows (N, M) to weigh the rules on, such as those of training.
            coverage: the level of the intervals, 0.9 where none is named; the trained
                envelope without a calibration, or where intervals have one end only.
            top: how many rules; None for all that have 1 % of the weight or more.
            system: whose rules, where the head has several systems: 0 is the first. Widths are
                those of the whole head.
            groups: the group of each row, where the calibration was by groups.
            target: what the target is called.
        """
        head: Any = self
        head._check_fitted()
        if top is not None:
            whole("top", top)
        name, said = base_name(head.base_), f"{target} - base"
        if X is None:
            return doubts_without_rows(
                head.head_.rules(top=None, system=system, target=said), top, name
            )
        table, values = head._read(X)
        inputs = head._inputs(values, predict_base(head.base_, table))
        level = DEFAULT_COVERAGE if coverage is None else coverage
        ends, kind = None, f"{100 * level:.4g} % intervals"
        if coverage is not None or hasattr(head.head_, "calibrator_"):
            ends = head.head_.predict_interval(inputs, level, groups=groups)
        if ends is None or not np.isfinite(ends).all():  # intervals of one end have no width
            ends, kind = head.head_.predict_interval(inputs, alpha=ALPHA_0), "trained envelopes"
        rules = head.head_.rules(inputs, top=None, system=system, target=said)
        weights = head.head_.rule_weights(inputs, system=system)
        return read_doubts(rules, weights, ends[1] - ends[0], kind, top, name)

    def explain(
        self,
        x: Any,
        coverage: float | None = None,
        *,
        alpha: float | None = None,
        group: Any = None,
        target: str = "y",
    ) -> DoubtExplanation:
        """Return how one prediction and its interval came about: the base, and rules of doubt.

        Arguments as in `GT2Regressor.explain`. Its attribute `head` is the explanation of the
        base's error; base and the ends of that make the ends of the interval.
        """
        head: Any = self
        head._check_fitted()
        table, values = head._read(_one_row(head, x))
        predicted = predict_base(head.base_, table)
        inputs = head._inputs(values, predicted)
        said = f"{target} - base"
        why = head.head_.explain(inputs, coverage, alpha=alpha, group=group, target=said)
        base = float(predicted[0])
        return DoubtExplanation(
            base + why.prediction * head.corrects_,
            base + why.lower,
            base + why.upper,
            base,
            why,
            head.corrects_,
            target,
            base_name(head.base_),
        )


def _one_row(head: Any, x: Any) -> Any:
    """Return a table of one row, whatever it was handed in as."""
    if hasattr(x, "columns") or np.ndim(x) != 1:
        if len(x) != 1:
            raise ValueError(f"explain takes one row, got {len(x)}: pick one, such as X[0]")
        return x
    values = finite("x", numbers("x", x))
    if values.size != head.n_features_in_:
        raise ValueError(f"x must have {head.n_features_in_} numbers, one per input, got {len(x)}")
    names, labels = getattr(head, "feature_names_in_", None), getattr(x, "index", None)
    if names is not None and labels is not None and not callable(labels):
        if sorted(map(str, labels)) != sorted(names):
            raise ValueError(
                f"x is labelled {', '.join(map(str, labels))}, but the inputs are "
                f"{', '.join(names)}"
            )
        values = values[[list(labels).index(name) for name in names]]
    return named_table(values[None], names)


KIND = "head"
_FACTS = {"corrects": bool, "out_of_fold": bool, "named": bool}


class HeadModel(NamedTuple):
    """All that a fitted head consists of, but for its base."""

    head: GT2Regressor
    told: dict[str, Any]  # of the base
    probes: Array
    probed: Array  # what the base said of them
    marks: Array
    rmse: dict[str, float]
    facts: dict[str, bool]
    cv: int | None
    random_state: int | None


def write_head(path: files.Location, head: Any) -> None:
    """Write a fitted `IntervalHead` to one file."""
    with tempfile.TemporaryDirectory() as folder:
        inner = Path(folder) / "model.npz"
        head.head_.save(inner)
        inside, arrays = files.read(inner, "model")
    arrays = {f"head/{name}": value for name, value in arrays.items()}
    arrays |= {"probes": head.probes_, "probed": head.probed_, "marks": head.marks_}
    header = {
        "gt2lite": __version__,
        "head": {name: v for name, v in inside.items() if name not in files.OWN_KEYS},
        "base": describe_base(head.base_),
        "rmse": head.rmse_,
        "facts": {
            "corrects": head.corrects_,
            "out_of_fold": head.out_of_fold_,
            "named": hasattr(head, "feature_names_in_"),
        },
        "cv": head.cv if isinstance(head.cv, Integral) else None,
        "random_state": head.random_state if isinstance(head.random_state, Integral) else None,
    }
    files.write(path, KIND, header, arrays)


def read_head(path: files.Location) -> HeadModel:
    """Return what `write_head` wrote.

    Raises:
        FileFormatError: where the file is damaged, incomplete or another's.
    """
    header, arrays = files.read(path, KIND)
    try:
        return _read(header, arrays)
    except Exception as error:  # whatever a crafted file can provoke
        raise files.FileFormatError(f"{path} is damaged: {error!r}") from error


def _read(header: dict[str, Any], arrays: dict[str, Array]) -> HeadModel:
    known = {"gt2lite", "head", "base", "rmse", "facts", "cv", "random_state"}
    if unknown := header.keys() - known - files.OWN_KEYS:
        raise ValueError(f"it holds {', '.join(sorted(unknown))}, which no head has")
    own = ("probes", "probed", "marks")
    inside = {name.removeprefix("head/"): v for name, v in arrays.items() if name not in own}
    if len(inside) != sum(name.startswith("head/") for name in arrays):
        raise ValueError("it holds arrays that no head has")
    with tempfile.TemporaryDirectory() as folder:
        inner = Path(folder) / "model.npz"
        files.write(inner, "model", header["head"], inside)
        head = GT2Regressor.load(inner)
    probes = finite("probes", arrays["probes"])
    if probes.ndim != 2 or probes.shape[1] != head.n_features_in_ - 1:
        raise ValueError("the stored rows have other inputs than the head")
    told, facts, rmse = header["base"], header["facts"], header["rmse"]
    if {name: type(value) for name, value in facts.items()} != _FACTS:
        raise ValueError(f"facts must be {', '.join(_FACTS)}, true or false")
    if sorted(rmse) != ["base", "corrected"] or not all(np.isfinite(list(rmse.values()))):
        raise ValueError("rmse must have two numbers, base and corrected")
    settings = told["settings"]
    if not isinstance(settings, dict) or not all(
        isinstance(text, str) for text in (told["class"], *settings, *settings.values())
    ):
        raise ValueError("the base must be described in text")
    cv, seed = header["cv"], header["random_state"]
    return HeadModel(
        head,
        told,
        probes,
        vector("probed", arrays["probed"], len(probes)),
        vector("marks", arrays["marks"]),
        rmse,
        facts,
        None if cv is None else whole("cv", cv, 2),
        None if seed is None else whole("random_state", seed, 0, LARGEST_SEED),
    )


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
            of 20 rules each (`gt2lite.training.HEAD`). Of that one, planes or margins that follow
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
        coverage: float | Sequence[float] | None = None,
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
            return interval_frame(X, lower, upper, coverage, alpha)
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
