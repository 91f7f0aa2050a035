"""Analysis of a table: split, encode, train, calibrate, and measure on test rows."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import betabinom
from sklearn.ensemble import HistGradientBoostingRegressor

from gt2lite._progress import progress_bar
from gt2lite._threads import one_blas_thread
from gt2lite._validation import Array, IntArray, whole
from gt2lite.calibration import rank
from gt2lite.metrics import covers, interval_score, rmse
from gt2lite.practice.adaptive import measure_drift
from gt2lite.practice.calibrators import fewest_samples
from gt2lite.practice.columns import (
    Columns,
    Frame,
    Series,
    TableError,
    as_labels,
    find_kind,
    read_as,
    specify,
)
from gt2lite.practice.exchangeability import ExchangeabilityTest, RuleRow
from gt2lite.practice.frames import bound_names, percent
from gt2lite.practice.head import SYSTEMS_ALONE, Choice, IntervalHead
from gt2lite.practice.regressor import GT2Regressor
from gt2lite.practice.report.alerts import (
    find_alerts,
    find_dependence,
    find_few_groups,
    find_negative_bounds,
    find_perfect,
)
from gt2lite.practice.report.checks import check_target, find_doubts
from gt2lite.practice.report.model import (
    TableModel,
    main_level,
    put_before,
    read_bounds,
    read_levels,
)
from gt2lite.practice.rules import Rules
from gt2lite.practice.warnings import NarrowEnvelopeWarning
from gt2lite.splits import group_parts, random_parts
from gt2lite.training import InterruptedTrainingWarning

CURVE_LEVELS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
FEWEST_ROWS, FEWEST_GROUPS = 60, 6
SIZES = {"training": 0.6, "calibration": 0.2}  # shares of the rows; the rest tests
MOST_ROWS = {"training": 5_000, "calibration": 5_000, "test": 20_000}
RANGE = 0.95  # probability of a range of sampling variation
IMPORTANCE_ROWS, IMPORTANCE_REPEATS = 500, 3
IMPORTANCE_WORK = 10_000  # rows predicted at most, for all columns and repeats
MOST_TESTED = 2_000  # rows of each set in the test of exchangeability
MOST_REGIONS = 15  # values of a category
QUICK = {"choose": False, "n_systems": 1}  # settings of a quick report
LARGE = 200_000  # training rows times inputs, beyond which settings are not chosen, to save time

Sets = dict[str, IntArray]  # positions of the rows of each set; the keys are those of MOST_ROWS
Parts = dict[str, tuple[Frame, Array]]  # encoded inputs and targets of each set


@dataclass
class Request:
    """What a report is asked for, see `gt2lite.practice.report.report`; checked."""

    target: str
    levels: Sequence[float] = (0.8, 0.9, 0.95)
    groups: str | None = None
    time: str | None = None
    seed: int = 0
    epochs: int | None = None
    keep: Sequence[str] = ()
    drop: Sequence[str] = ()
    bounds: Any = None  # as `report` takes them; then `Bounds`
    log: bool = False
    quick: bool = False

    def __post_init__(self) -> None:
        self.levels, self.bounds = read_levels(self.levels), read_bounds(self.bounds)
        self.seed = whole("seed", self.seed, low=0, high=2**32 - 1)  # scikit-learn's seeds
        self.keep, self.drop = (
            (names,) if isinstance(names, str) else tuple(names) for names in (self.keep, self.drop)
        )
        if self.epochs is not None:
            whole("epochs", self.epochs)

    def check_names(self, known: Sequence[str]) -> None:
        """Raise an error if a column is asked for that is not there, or in two roles."""
        for role in ("target", "groups", "time"):
            name = getattr(self, role)
            if name is not None and name not in known:
                close = difflib.get_close_matches(str(name), known, 3, 0.5) or known[:8]
                raise TableError(
                    f"{role}: there is no column {name!r}; did you mean "
                    f"{', '.join(repr(column) for column in close)}?"
                )
        if self.target in (self.groups, self.time):
            raise TableError(f"target: column {self.target!r} cannot have another role as well")


class Accuracy(NamedTuple):
    """Errors of predictions, and measures of intervals at each level."""

    name: str
    rmse: float
    mae: float
    r2: float
    widths: list[float]  # mean
    coverages: list[float]
    scores: list[float]  # interval scores: mean width plus a penalty for misses


class Coverage(NamedTuple):
    """Coverage of test rows at a level, its range of sampling variation, and interval widths."""

    level: float
    n_rows: int
    n_covered: int
    share: float
    low: float
    high: float
    verdict: str  # whether sampling variation explains the difference from the level
    width: float  # mean
    median_width: float


class Order(NamedTuple):
    """The test of whether test rows, in their order, look exchangeable with calibration rows."""

    mark: str  # "no change found", "inputs changed", "changed" or "not tested"
    words: str
    test: ExchangeabilityTest | None = None
    rules: Sequence[RuleRow] = ()  # those with new rows, the largest e-values first


@dataclass(frozen=True, eq=False)
class Data:
    """The rows that have a target, split into sets and encoded."""

    frame: Frame  #: the rows as they stand in the table
    y: Array  #: their targets (N,)
    full: Sets  #: the three sets with all of their rows
    sets: Sets  #: the rows that were drawn from them, to save time
    columns: Columns  #: as learned from the training set
    X: Frame  #: inputs (N, M)
    parts: Parts  #: inputs and targets of each set
    flags: list[str]  #: what is unusual about each row
    split: list[str]  #: a description of the sets
    notes: list[str]  #: what is unusual about the table


@dataclass(frozen=True, eq=False)
class Findings:
    """Everything that the page shows."""

    request: Request
    model: TableModel  #: trained and calibrated, with its columns
    main: float  #: the level of regions, widths and misses
    sets: Sets  #: positions of the rows of the training, calibration and test sets
    n_trees: int  #: number of rows from which boosted trees learn
    split: list[str]  #: a description of the sets
    notes: list[str]  #: what was unusual about the table or the training
    n_missing: dict[str, int]  #: by column, in all rows
    target_range: tuple[float, float]  #: in training
    rows: Frame  #: the test rows as they stand in the table
    y: Array  #: their targets (N,)
    flags: list[str]  #: what is unusual about each of them
    predictions: Frame  #: for them, with bounds at all levels of `curve`
    curve: list[Coverage]  #: of the test rows at many levels
    coverages: list[Coverage]  #: of the test rows at the levels asked for
    accuracies: list[Accuracy]  #: of the model, boosted trees, the mean, the model with one width,
    #: and of systems on top of a base if `choices` begins with them
    choices: tuple[Choice, ...]  #: scores with and without a base in training, best first
    importance: list[tuple[str, float]]  #: of each column, the most important first
    order: Order  #: whether test rows look exchangeable with the calibration rows
    n_independent: tuple[int, int]  #: rows, or groups if they stay together, to calibrate and test
    regions: list[tuple[str, str, Coverage]]  #: name of values, region, coverage of its test rows
    alerts: list[str]  #: what may be wrong with the table, or void the guarantee
    readable: GT2Regressor | None  #: a small system that imitates the model
    fidelity: str  #: how well it does
    rules: Rules  #: its rules; if there is none, the heaviest ones of the model's first system

    def bounds(self, level: float) -> tuple[Array, Array]:
        """Return the lower and upper bounds (N,) of the test rows at a level."""
        return _pick_bounds(self.predictions, level)

    def test_table(self) -> Frame:
        """Return the test rows: target, prediction, bounds at the levels asked for, flags."""
        bounds = [name for level in self.model.levels for name in bound_names(level)]
        predictions = self.predictions[["prediction", *bounds]].assign(flags=self.flags)
        target = pd.DataFrame({self.model.target: self.y}, index=predictions.index)
        return put_before(target, predictions)


def analyse(table: Frame, request: Request, log: Callable[[str], None], verbose: bool) -> Findings:
    """Return all findings about a table; `verbose` shows progress bars on a terminal.

    Raises:
        TableError: the table cannot be used as asked; the message says what to do.
    """
    data = prepare(table, request)
    columns, seed = data.columns, request.seed
    units = {name: _independent(data.frame.iloc[rows], request) for name, rows in data.sets.items()}
    n_cal = len(set(units["calibration"]))
    (X_train, y_train), (X_test, y) = data.parts["training"], data.parts["test"]
    log(f"training on {len(y_train):,} rows with {data.X.shape[1]} inputs ...")
    regressor, head, warned = _fit(data.parts, request, verbose)
    model = TableModel(regressor, columns, request.target, tuple(request.levels), request.bounds)
    main = main_level(model.levels)

    log(f"measuring on {len(y):,} test rows ...")
    levels = sorted({*CURVE_LEVELS, *model.levels})
    predictions, _ = model.predict_encoded(X_test, levels, verbose=verbose)
    lower, upper = _pick_bounds(predictions, main)
    curve = [
        measure_coverage(y, *_pick_bounds(predictions, level), level, n_cal, units["test"])
        for level in levels
    ]
    coverages = {row.level: row for row in curve if row.level in model.levels}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is unusual about rows is in `flags`
        accuracies = _compare(model, predictions, data, seed)
        if head is not None and head.chosen_[0].part != SYSTEMS_ALONE:
            accuracies.append(_measure_head(head, model, X_test, y))
        log(f"computing the importance of {len(columns.used)} columns ...")
        importance = measure_importance(regressor.predict, X_test, y, columns, seed, verbose)
        drifts = request.time is not None and coverages[main].verdict == "too low"
        drift = [_describe_drift(regressor, X_test, y, main)] if drifts else []
    by = _choose_regions(data, predictions, importance, request.groups)
    # The rules to read are those of a small system that imitates the model. Of fewer than 100
    # rows, the heaviest rules of the model's first system take their place.
    readable = regressor.readable(X_train, y_train) if len(y_train) >= 100 else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        order = compare_order(regressor, readable, data, request, main)
        alerts = _find_alerts(data, request, main)
        if not any("the target" in alert and "--drop" in alert for alert in alerts):
            best = max(one.r2 for one in accuracies[:2])
            alerts += find_perfect([name for name, _ in importance[:2]], best)

    return Findings(
        request=request,
        model=model,
        main=main,
        sets=data.sets,
        n_trees=len(data.full["training"]),
        split=data.split,
        notes=[*data.notes, *warned],
        n_missing=data.frame.isna().sum().to_dict(),
        target_range=(float(y_train.min()), float(y_train.max())),
        rows=data.frame.iloc[data.sets["test"]],
        y=y,
        flags=[data.flags[i] for i in data.sets["test"]],
        predictions=predictions,
        curve=curve,
        coverages=list(coverages.values()),
        accuracies=accuracies,
        choices=() if head is None else head.chosen_,
        importance=importance,
        order=order,
        n_independent=(n_cal, len(set(units["test"]))),
        regions=measure_regions(by, y, lower, upper, main, n_cal, units["test"]),
        alerts=[*alerts, *drift, *find_negative_bounds(data.y, lower, main)],
        readable=readable,
        fidelity="" if readable is None else str(readable.fidelity_),
        rules=(readable or regressor).rules(X_train, target=request.target),
    )


def _find_alerts(data: Data, request: Request, level: float) -> list[str]:
    """Return what may be wrong with the table, and what may void the guarantee."""
    (X, y), columns, seed = data.parts["training"], data.columns, request.seed
    found = find_alerts(data.frame, data.y, columns, X, y, seed)
    found += find_doubts(data.frame, columns)
    if request.time is not None:
        return found
    if request.groups is not None:
        labels = as_labels(data.frame[request.groups])
        return [*found, *find_few_groups(labels, data.sets.values())]
    inputs = data.frame.drop(columns=request.target)
    return [*found, *find_dependence(inputs, data.y, data.X, columns, level, seed)]


def _pick_bounds(predictions: Frame, level: float) -> tuple[Array, Array]:
    """Return the lower and upper bounds (N,) at a level from a table of predictions."""
    lower, upper = (predictions[name].to_numpy() for name in bound_names(level))
    return lower, upper


def _independent(rows: Frame, request: Request) -> NDArray[Any]:
    """Return labels (N,) of what counts in ranges of sampling variation: rows, or their groups."""
    by_group = request.groups is not None and request.time is None
    return as_labels(rows[request.groups]) if by_group else np.arange(len(rows))


# ------------------------------------------------------------------- prepare


def prepare(table: Frame, request: Request) -> Data:
    """Return the rows of a table that have a target, split into sets and encoded.

    Raises:
        TableError: the table cannot be used as asked; the message says what to do.
    """
    request.check_names(list(table.columns))
    frame, y, notes = _rows_with_target(table, request)
    full, split = split_rows(frame, request)
    sets, drawn = draw_rows(full, request)
    roles = (request.target, request.groups, request.time, request.keep, request.drop)
    columns = specify(frame, sets["training"], *roles)
    if not columns.used:
        reasons = [f"{c.name!r}: {c.treatment}" for c in columns.columns][:20]
        raise TableError(f"no column is left to predict from: {'; '.join(reasons)}")
    X, unusual, flags = columns.encode(frame)
    parts = {name: (X.iloc[rows], y[rows]) for name, rows in sets.items()}
    split, notes = [*split, *drawn], [*notes, *unusual]
    return Data(frame, y, full, sets, columns, X, parts, flags, split, notes)


def _rows_with_target(frame: Frame, request: Request) -> tuple[Frame, Array, list[str]]:
    """Return the rows that have a target, their targets, and notes."""
    target, values = request.target, frame[request.target]
    kind, unit = find_kind(values)
    check_target(target, values, kind, unit)
    numbers = read_as(kind, values, unit)
    present = numbers.notna().to_numpy()
    y = numbers.to_numpy(float)[present]
    n_values = len(np.unique(y))
    if n_values == 1:
        raise TableError(f"target: column {target!r} has the same value in every row")
    low, high = request.bounds
    if len(y) and not low <= y.min() <= y.max() <= high:
        raise TableError(f"bounds: column {target!r} goes from {y.min():g} to {y.max():g}")
    if request.log and len(y) and y.min() <= 0:
        raise TableError(f"log: column {target!r} must be above 0, and holds {y.min():g}")
    notes = []
    if not present.all():
        notes.append(f"{(~present).sum():,} row(s) without a readable target were left out.")
    if 0 < n_values < 10:
        notes.append(
            f"The target has only {n_values} different values: intervals are meant for amounts; "
            "for classes use a classifier."
        )
    return frame[present], y, notes


def split_rows(frame: Frame, request: Request) -> tuple[Sets, list[str]]:
    """Return training, calibration and test set, about 60, 20 and 20% of the rows, and notes.

    Small tables give more rows to calibration if the highest level needs them.

    Raises:
        TableError: too few rows, or too few groups.
    """
    n, rng = len(frame), np.random.default_rng(request.seed)
    if n < FEWEST_ROWS:
        raise TableError(
            f"the table has {n} rows with a target, fewer than {FEWEST_ROWS}: too few to train, "
            "calibrate and test. CV+ sets no rows aside, in Python: "
            "gt2lite.practice.cv_plus.CVPlusRegressor"
        )
    _check_levels(request.levels, int(0.4 * n))
    n_calibration = max(fewest_samples(max(request.levels)), round(SIZES["calibration"] * n))
    n_train = min(round(SIZES["training"] * n), n - n_calibration - max(12, n // 5))
    sizes = [n_train, n_calibration]
    if request.time is not None:
        parts = np.split(_time_order(frame[request.time]), np.cumsum(sizes))
        note = f"Rows in the order of {request.time!r}: the earliest train, the latest test."
    elif request.groups is not None:
        labels = as_labels(frame[request.groups])
        n_groups = len(set(labels))
        parts = group_parts(labels, sizes, rng) if n_groups >= FEWEST_GROUPS else []
        if not parts or min(map(len, parts)) < 10:
            raise TableError(
                f"groups: column {request.groups!r} has {n_groups} groups, too few or too large "
                f"for three sets: it takes {FEWEST_GROUPS}, and 10 rows in each; leave --groups out"
            )
        n_train, n_calibration, n_test = (len(set(labels[rows])) for rows in parts)
        note = (
            f"Whole groups of {request.groups!r} stay together: {n_train} train, {n_calibration} "
            f"calibrate and {n_test} test."
        )
    else:
        parts = [np.sort(rows) for rows in random_parts(n, sizes, rng)]
        note = f"Rows drawn at random (seed {request.seed})."
    _check_levels(request.levels, len(parts[1]))
    return dict(zip(MOST_ROWS, parts, strict=True)), [note]


def _check_levels(levels: Sequence[float], n_calibration: int) -> None:
    highest = max(levels)
    if (needed := fewest_samples(highest)) > n_calibration:
        raise TableError(
            f"levels: {percent(highest)}% needs {needed} calibration rows, and {n_calibration} can "
            "calibrate: leave it out"
        )


def draw_rows(full: Sets, request: Request) -> tuple[Sets, list[str]]:
    """Return at most `MOST_ROWS` rows of each set, drawn at random, and notes."""
    rng = np.random.default_rng([1, request.seed])
    sets, notes = dict(full), []
    for name, rows in full.items():
        if len(rows) > (most := MOST_ROWS[name]):
            notes.append(f"Of {len(rows):,} {name} rows {most:,} were drawn, to save time.")
            sets[name] = rows[np.sort(rng.choice(len(rows), most, replace=False))]
    notes.append(", ".join(f"{len(rows):,} {name}" for name, rows in sets.items()) + " rows.")
    return sets, notes


def _time_order(values: Series) -> IntArray:
    kind, date_format = find_kind(values)
    if kind not in ("date", "number"):
        raise TableError(f"time: column {values.name!r} holds {kind}, neither dates nor numbers")
    times = read_as(kind, values, date_format)
    if n_missing := int(times.isna().sum()):
        raise TableError(
            f"time: column {values.name!r} has {n_missing:,} missing or unreadable values; fill "
            "them in or remove these rows"
        )
    return np.argsort(times.to_numpy(), kind="stable")


# ------------------------------------------------------------------- fit


def _fit(
    parts: Parts, request: Request, verbose: bool
) -> tuple[GT2Regressor, IntervalHead | None, list[str]]:
    """Return a regressor and, if settings are chosen, the head that compares it with a base.

    Both are trained and calibrated; the systems of the regressor are some of the head's. Warnings
    are those of the regressor.
    """
    settings: dict[str, Any] = {"random_state": request.seed, "verbose": None if verbose else False}
    if parts["training"][0].size > LARGE:
        settings |= {"choose": False, "n_systems": 2}
    settings |= QUICK if request.quick else {}
    settings |= {} if request.epochs is None else {"epochs": request.epochs}
    settings |= {"target_transform": "log"} if request.log else {}
    compares = "choose" not in settings and not request.log  # errors have no logarithm
    with warnings.catch_warnings(record=True) as caught, one_blas_thread():
        warnings.simplefilter("always")
        head = IntervalHead.strong(**({"n_systems": 10} | settings)) if compares else None
        regressor = GT2Regressor.strong(**settings)
        if head is None:
            regressor.fit(*parts["training"])
        else:
            regressor = head.fit(*parts["training"]).systems_
        regressor.calibrate(*parts["calibration"])
        n_caught = len(caught)
        if head is not None:
            head.calibrate(*parts["calibration"])
    if any(issubclass(warning.category, InterruptedTrainingWarning) for warning in caught):
        raise KeyboardInterrupt  # half a training is not what the page would be about
    del caught[n_caught:]
    notes = [str(w.message) for w in caught if w.category is not NarrowEnvelopeWarning]
    if len(notes) < len(caught):
        notes.append(
            "The model fits its training rows much better than calibration rows; its intervals "
            "were widened until they cover those."
        )
    return regressor, head, notes


def _measure_head(head: IntervalHead, model: TableModel, X: Frame, y: Array) -> Accuracy:
    """Return the accuracy of a head."""
    found = head.predict_interval(X, list(model.levels), with_prediction=True)
    y_hat, lower, upper = (np.clip(values, *model.bounds) for values in found)
    return measure_accuracy("systems and base", y, y_hat, lower, upper, model.levels)


def _compare(model: TableModel, predictions: Frame, data: Data, seed: int) -> list[Accuracy]:
    """Return the accuracy of the model, boosted trees, the mean, and the model with one width.

    The last three have conformal intervals of one width: the prediction -+ a quantile of the
    absolute errors on calibration rows. Trees are fast, and learn from training rows that were not
    drawn, too.
    """
    levels, (_, y_train) = model.levels, data.parts["training"]
    (X_cal, y_cal), (X_test, y) = data.parts["calibration"], data.parts["test"]
    trees = HistGradientBoostingRegressor(random_state=seed)
    trees.fit(data.X.to_numpy()[data.full["training"]], data.y[data.full["training"]])
    competitors: dict[str, Callable[[Frame], Array]] = {
        "boosted trees": lambda rows: trees.predict(rows.to_numpy()),
        "the mean": lambda rows: np.full(len(rows), y_train.mean()),
        "this model, one width": model.regressor.predict,
    }
    ends = np.array([_pick_bounds(predictions, level) for level in levels])  # (L, 2, N)
    y_hat = predictions["prediction"].to_numpy()
    result = [measure_accuracy("this model", y, y_hat, ends[:, 0].T, ends[:, 1].T, levels)]
    ranks = [min(len(y_cal), rank(level, len(y_cal) + 1)) for level in levels]
    for name, predict in competitors.items():
        radii = np.sort(np.abs(y_cal - predict(X_cal)))[np.array(ranks) - 1]  # (L,)
        y_hat = predict(X_test)
        lower, upper = y_hat[:, None] - radii, y_hat[:, None] + radii
        y_hat, lower, upper = (np.clip(values, *model.bounds) for values in (y_hat, lower, upper))
        result.append(measure_accuracy(name, y, y_hat, lower, upper, levels))
    return result


# ------------------------------------------------------------------- measure


def measure_accuracy(
    name: str, y: Array, y_hat: Array, lower: Array, upper: Array, levels: Sequence[float]
) -> Accuracy:
    """Return the accuracy of predictions (N,) with intervals (N, L) at levels (L,)."""
    variance = float(np.mean((y - y.mean()) ** 2))
    mse = float(np.mean((y - y_hat) ** 2))
    covered = (lower <= y[:, None]) & (y[:, None] <= upper)
    bounds = zip(lower.T, upper.T, levels, strict=True)
    return Accuracy(
        name,
        rmse=float(np.sqrt(mse)),
        mae=float(np.mean(np.abs(y - y_hat))),
        r2=1 - mse / variance if variance > 0 else float("nan"),
        widths=(upper - lower).mean(axis=0).tolist(),
        coverages=covered.mean(axis=0).tolist(),
        scores=[interval_score(y, low, high, level) for low, high, level in bounds],
    )


def sampling_range(level: float, n_cal: int, n_test: int) -> tuple[float, float]:
    """Return the range in which the coverage of test rows lies with probability 0.95.

    With exchangeable rows the number of covered rows among `n_test` is Beta-binomial with
    parameters k and n_cal + 1 - k, where k is the conformal rank among `n_cal` calibration rows.

    >>> low, high = sampling_range(0.9, 1000, 1000)
    >>> round(low, 2), round(high, 2)
    (0.87, 0.93)
    """
    k = min(n_cal, rank(level, n_cal + 1))
    law = np.cumsum(betabinom.pmf(np.arange(n_test + 1), n_test, k, n_cal + 1 - k))
    tail = (1 - RANGE) / 2
    low, high = np.searchsorted(law, [tail, 1 - tail]) / n_test
    return float(low), float(high)


def measure_coverage(
    y: Array,
    lower: Array,
    upper: Array,
    level: float,
    n_cal: int,
    units: NDArray[Any] | None = None,
) -> Coverage:
    """Return the coverage of targets (N,) by intervals with bounds (N,) at a level.

    Its range counts `n_cal` independent units of calibration rows, and the different `units` (N,)
    of these rows, such as groups of rows that are alike; without units every row is one.
    """
    n_covered = int(covers(y, lower, upper).sum())
    share = n_covered / len(y)
    low, high = sampling_range(level, n_cal, len(y) if units is None else len(set(units)))
    verdict = "within sampling variation"
    if share < low:
        verdict = "too low"
    elif share > high:
        verdict = "higher than promised"
    width, median = float(np.mean(upper - lower)), float(np.median(upper - lower))
    return Coverage(level, len(y), n_covered, share, low, high, verdict, width, median)


def measure_importance(
    predict: Callable[[Frame], Array],
    X: Frame,
    y: Array,
    columns: Columns,
    seed: int,
    verbose: bool = False,
) -> list[tuple[str, float]]:
    """Return by how many percent the error grows if a column is shuffled, the most first.

    All inputs of a column are shuffled together, up to three times among 500 rows; the more
    columns there are, the fewer.
    """
    rng = np.random.default_rng(seed)
    places = columns.places()
    n_rows = min(len(X), IMPORTANCE_ROWS, max(100, IMPORTANCE_WORK // len(places)))
    repeats = max(1, min(IMPORTANCE_REPEATS, IMPORTANCE_WORK // (n_rows * len(places))))
    rows = rng.permutation(len(X))[:n_rows]
    X, y = X.iloc[rows], y[rows]
    base, result = rmse(y, predict(X)), []
    show = None if verbose else False
    with progress_bar(len(places), "importance", "column", show=show) as done:
        for name, place in places.items():
            growth = []
            for _ in range(repeats):
                shuffled = X.copy()
                shuffled.iloc[:, place] = X.iloc[rng.permutation(len(X)), place].to_numpy()
                growth.append(rmse(y, predict(shuffled)) - base)
            result.append((name, 100 * float(np.mean(growth)) / base if base > 0 else 0.0))
            done(name)
    return sorted(result, key=lambda item: -item[1])


def _choose_regions(
    data: Data, predictions: Frame, importance: list[tuple[str, float]], groups: str | None
) -> dict[str, NDArray[Any]]:
    """Return values of the test rows (N,) by which to measure coverage, by name.

    These are predictions, the two most important columns unless they are dates, and the groups.
    """
    rows, (X_test, _) = data.frame.iloc[data.sets["test"]], data.parts["test"]
    by: dict[str, NDArray[Any]] = {"prediction": predictions["prediction"].to_numpy()}
    for name, _ in importance[:2]:
        kind = next(column.kind for column in data.columns.used if column.name == name)
        if kind == "number":
            by[name] = X_test.iloc[:, data.columns.places()[name][0]].to_numpy()
        elif kind != "date":
            by[name] = as_labels(rows[name])
    if groups is not None:
        by[groups] = as_labels(rows[groups])
    return by


def measure_regions(
    by: Mapping[str, NDArray[Any]],
    y: Array,
    lower: Array,
    upper: Array,
    level: float,
    n_cal: int,
    units: NDArray[Any] | None = None,
) -> list[tuple[str, str, Coverage]]:
    """Return coverage by thirds of numbers, and by the most frequent values of everything else.

    `by` names values for each row (N,), such as those of a column; see `measure_coverage`.
    """
    result, units = [], np.arange(len(y)) if units is None else units
    for what, values in by.items():
        if len(np.unique(values)) > 3 and np.asarray(values).dtype.kind == "f":
            limits = np.quantile(values, [1 / 3, 2 / 3])
            low, high = (f"{v:,.0f}" if abs(v) >= 10_000 else f"{v:.4g}" for v in limits)
            names = [f"up to {low}", f"{low} to {high}", f"above {high}"]
            labels = np.array(names)[np.searchsorted(limits, values)]
        else:
            labels = np.array([f"{v:.4g}" if isinstance(v, float) else str(v) for v in values])
            names = pd.Series(labels).value_counts().index[:MOST_REGIONS].tolist()
        for where in names:
            if (mask := labels == where).any():
                rows = y[mask], lower[mask], upper[mask]
                found = measure_coverage(*rows, level, n_cal, units[mask])
                result.append((what, where, found))
    return result


# ------------------------------------------------------------------- order


def compare_order(
    regressor: GT2Regressor,
    readable: GT2Regressor | None,
    data: Data,
    request: Request,
    level: float,
) -> Order:
    """Return whether test rows, in time order or that of the table, differ from calibration rows.

    The rules that part the rows are those that the page shows, of the system `readable`, if any.
    At most `MOST_TESTED` rows of each set are compared, evenly spaced, to save time.
    """
    if request.groups is not None and request.time is None:
        why = f"rows of one {request.groups!r} are alike, so that no order of rows is exchangeable"
        return Order("not tested", f"Whether new rows differ was not tested: {why}.")
    known, new = (_evenly(len(data.sets[name]), MOST_TESTED) for name in ("calibration", "test"))
    (X_cal, y_cal), (X, y) = data.parts["calibration"], data.parts["test"]
    rows = X_cal.iloc[known], y_cal[known]
    settings: dict[str, Any] = {"coverage": level, "random_state": request.seed}
    test = ExchangeabilityTest(regressor, *rows, **settings, rules_of=readable)
    test.update(X.iloc[new], y[new])
    index = data.frame.index[data.sets["test"][new]]
    by_time = request.time is not None
    called = "later rows" if by_time else "test rows, in the order of the table,"
    words = test.verdict(called, index)
    rules = [row for row in test.by_rule(request.target) if row.n_new]
    # at most two rules, each with its two most decisive inputs: the table has all of them
    changed = [(row.rule, row.condition.split(", ")[:2]) for row in rules if row.changed]
    if changed:
        some = [f"rule {number} ({', '.join(where)})" for number, where in changed[:2]]
        words += f" Changed: {' and '.join(some)}{', among others.' if changed[2:] else '.'}"
    if not test.alarms:
        return Order("no change found", words, test, rules)
    if list(test.alarms) == ["inputs"]:
        if any(column.kind == "date" for column in data.columns.used):
            words += " A date among the inputs always does."
        return Order("inputs changed", words, test, rules)
    later = "If new rows come after these, test them so: --time."
    advice = "Calibrate again with recent rows." if by_time else later
    return Order("changed", f"{words} {advice}", test, rules)


def _evenly(n: int, most: int) -> IntArray:
    """Return at most `most` of the numbers 0 to n - 1, evenly spaced."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(int))


def _describe_drift(regressor: GT2Regressor, X: Frame, y: Array, level: float) -> str:
    """Return a warning with the coverage of the latest rows, without and with adapting."""
    fixed, adapted, last = measure_drift(regressor, X, y, level)
    return (
        f"The data drift: intervals of level {level:.4g} cover {fixed:.1%} of the {len(y):,} "
        f"latest rows; levels that adapt to the misses cover {adapted:.1%}, and the last of "
        f"them is {last:.3g}. Calibrate again with recent rows, or let levels adapt "
        "(gt2lite.practice.adaptive.AdaptiveIntervals)."
    )
