"""Analysis of a table: split, encode, train, calibrate, and measure on test rows."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from gt2lite._threads import one_blas_thread
from gt2lite._validation import Array, IntArray
from gt2lite.calibration import fewest_samples, rank
from gt2lite.columns import Columns, Frame, TableError, as_labels, find_kind, read_as, specify
from gt2lite.metrics import covers, rmse
from gt2lite.regressor import GT2Regressor, bound_names, percent
from gt2lite.report.model import TableModel, read_levels
from gt2lite.splits import random_parts

CURVE_LEVELS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
FEWEST_ROWS, FEWEST_GROUPS = 60, 6
SIZES = {"training": 0.6, "calibration": 0.2}  # shares of the rows; the rest tests
MOST_ROWS = {"training": 5_000, "calibration": 5_000, "test": 20_000}
ENOUGH_GROUPS = 20  # fewer groups that calibrate or test are warned about
RANGE = 0.95  # probability of a range of sampling variation
IMPORTANCE_ROWS, IMPORTANCE_REPEATS = 500, 3
MOST_REGIONS = 15  # values of a category

Sets = dict[str, IntArray]  # positions of the rows of each set; the keys are those of MOST_ROWS
Parts = dict[str, tuple[Frame, Array]]  # encoded inputs and targets of each set


class Accuracy(NamedTuple):
    """Errors of predictions, and widths and coverages of intervals at each level."""

    name: str
    rmse: float
    mae: float
    r2: float
    widths: list[float]
    coverages: list[float]


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


@dataclass(frozen=True)
class Findings:
    """Everything that the page shows; arrays are about the test rows, in their order."""

    model: TableModel  #: trained and calibrated, with its columns
    sets: Sets  #: positions of the rows of the training, calibration and test sets
    split: list[str]  #: a description of the sets
    n_missing: dict[str, int]  #: number of missing values of each column, in all rows
    rows: Frame  #: the test rows as they stand in the table
    y: Array  #: their targets (N,)
    predictions: Frame  #: prediction and bounds at each level
    main: float  #: the level of regions, widths and misses: the one nearest to 0.9
    accuracies: list[Accuracy]  #: of the model and of its competitors
    coverages: list[Coverage]  #: at the levels asked for
    curve: list[Coverage]  #: at more levels
    regions: list[tuple[str, str, Coverage]]  #: column, region of its values, coverage there
    importance: list[tuple[str, float]]  #: by column, growth of the error in % if it is shuffled
    notes: list[str]  #: what was unusual about the table or the training
    warnings: list[str]  #: what may void the guarantee
    rules: str  #: the most important rules in words
    groups: str | None  #: the column whose groups stayed together
    time: str | None  #: the column that was sorted by

    def bounds(self, level: float) -> tuple[Array, Array]:
        """Return the lower and upper bounds (N,) at a level."""
        return _bounds(self.predictions, level)

    def test_table(self) -> Frame:
        """Return the test rows: target, prediction, and bounds at the levels asked for."""
        bounds = [name for level in self.model.levels for name in bound_names(level)]
        frame = self.predictions[["prediction", *bounds]].copy()
        taken = self.model.target in frame
        frame.insert(0, "target" if taken else self.model.target, self.y)
        return frame


def analyse(
    table: Frame,
    target: str,
    levels: Sequence[float],
    groups: str | None,
    time: str | None,
    seed: int,
    log: Callable[[str], None],
    epochs: int | None = None,
) -> Findings:
    """Return all findings about a table; the arguments are those of `gt2lite.report.report`.

    Raises:
        TableError: the table cannot be used as asked; the message says what to do.
    """
    levels = read_levels(levels)
    frame, y_all, notes = _rows_with_target(table, target, groups, time)
    sets, split = split_rows(frame, levels, seed, groups, time)
    columns = specify(frame, sets["training"], target, groups, time)
    if not columns.used:
        reasons = [f"{c.name!r}: {c.treatment}" for c in columns.columns if c.name != target]
        raise TableError(
            f"no column is left to predict {target!r} from; {'; '.join(reasons) or 'none there'}"
        )
    X, unusual, _ = columns.encode(frame)
    parts = {name: (X.iloc[rows], y_all[rows]) for name, rows in sets.items()}
    log(f"training on {len(sets['training']):,} rows with {X.shape[1]} inputs ...")
    regressor, warned = _fit(parts, seed, epochs)
    model = TableModel(regressor, columns, target, levels)

    X_test, y = parts["test"]
    log(f"measuring on {len(y):,} test rows ...")
    many = read_levels([*CURVE_LEVELS, *levels])
    predictions = model.predict_encoded(X_test, many)
    n_cal = len(sets["calibration"])
    curve = [measure_coverage(y, *_bounds(predictions, level), level, n_cal) for level in many]
    log("computing the importance of inputs ...")
    importance = measure_importance(regressor.predict, X_test, y, columns, seed)
    main = min(levels, key=lambda level: abs(level - 0.9))
    rows = frame.iloc[sets["test"]]
    by = _region_values(rows, predictions["prediction"], columns, importance, groups)
    return Findings(
        model=model,
        sets=sets,
        split=split,
        n_missing=frame.isna().sum().to_dict(),
        rows=rows,
        y=y,
        predictions=predictions,
        main=main,
        accuracies=_compare(parts, predictions, levels, seed, regressor),
        coverages=[row for row in curve if row.level in levels],
        curve=curve,
        regions=measure_regions(by, y, *_bounds(predictions, main), main, n_cal),
        importance=importance,
        notes=[*notes, *unusual, *warned],
        warnings=find_warnings(frame, columns, sets, groups, time),
        rules=str(regressor.rules(parts["training"][0], target=target)),
        groups=groups,
        time=time,
    )


def _bounds(predictions: Frame, level: float) -> tuple[Array, Array]:
    lower, upper = (predictions[name].to_numpy() for name in bound_names(level))
    return lower, upper


def _rows_with_target(
    frame: Frame, target: str, groups: str | None, time: str | None
) -> tuple[Frame, Array, list[str]]:
    """Return the rows that have a target, their targets, and notes."""
    for role, name in (("target", target), ("groups", groups), ("time", time)):
        if name is not None and name not in frame:
            known = list(frame.columns)
            close = difflib.get_close_matches(str(name), known, 3, 0.5) or known[:8]
            raise TableError(
                f"{role}: there is no column {name!r}; did you mean "
                f"{', '.join(repr(column) for column in close)}?"
            )
    if target in (groups, time):
        raise TableError(f"target: column {target!r} cannot be the groups or the time as well")
    values = frame[target]
    kind, _ = find_kind(values)
    if kind not in ("number", "yes/no"):
        example = str(values.dropna().iloc[0]) if values.notna().any() else ""
        raise TableError(
            f"target: column {target!r} holds {kind} (such as {example!r}), and only numbers can "
            "be predicted: choose another column with --target"
        )
    numbers = read_as(kind, values)
    present = numbers.notna().to_numpy()
    y = numbers.to_numpy(float)[present]
    n_values = len(np.unique(y))
    if n_values == 1:
        raise TableError(f"target: column {target!r} has the same value in every row")
    notes = []
    if not present.all():
        notes.append(f"{(~present).sum():,} row(s) without a readable target were left out.")
    if 0 < n_values < 10:
        notes.append(
            f"The target has only {n_values} different values: intervals are meant for amounts; "
            "for classes use a classifier."
        )
    return frame[present], y, notes


# ------------------------------------------------------------------- split


def split_rows(
    frame: Frame, levels: Sequence[float], seed: int, groups: str | None, time: str | None
) -> tuple[Sets, list[str]]:
    """Return training, calibration and test set, about 60, 20 and 20% of the rows, and notes.

    Small tables give more rows to calibration if the highest level needs them; of large tables
    rows are drawn at random.

    Raises:
        TableError: too few rows, or too few groups.
    """
    n, rng = len(frame), np.random.default_rng(seed)
    if n < FEWEST_ROWS:
        raise TableError(
            f"the table has {n} rows with a target, fewer than {FEWEST_ROWS}: too few to train, "
            "calibrate and test; collect more rows"
        )
    needed = fewest_samples(max(levels))
    n_calibration = max(needed, round(SIZES["calibration"] * n))
    if n_calibration > 0.4 * n:
        fine = [f"{level:g}" for level in levels if fewest_samples(level) <= 0.4 * n]
        raise TableError(
            f"levels: {percent(max(levels))}% needs {needed} calibration rows, and the table has "
            f"{n} rows: leave this level out" + (f" (--levels {' '.join(fine)})" if fine else "")
        )
    n_train = min(round(SIZES["training"] * n), n - n_calibration - max(12, n // 5))
    sizes = [n_train, n_calibration]
    if time is not None:
        parts = np.split(_time_order(frame[time]), np.cumsum(sizes))
        notes = [f"Rows in the order of {time!r}: the earliest train, the latest test."]
    elif groups is not None:
        labels = as_labels(frame[groups])
        parts = _split_groups(labels, groups, sizes, rng)
        train, calibrate, test = (len(set(labels[rows])) for rows in parts)
        notes = [
            f"Whole groups of {groups!r} stay together: {train} train, {calibrate} calibrate and "
            f"{test} test."
        ]
    else:
        parts = random_parts(n, sizes, rng)
        notes = [f"Rows drawn at random (seed {seed})."]
    sets = dict(zip(MOST_ROWS, parts, strict=True))
    for name, rows in sets.items():
        if len(rows) > (most := MOST_ROWS[name]):
            notes.append(f"Of {len(rows):,} {name} rows {most:,} were drawn, to save time.")
            rows = rows[np.sort(rng.choice(len(rows), most, replace=False))]
        sets[name] = rows if time is not None else np.sort(rows)
    notes.append(", ".join(f"{len(rows):,} {name}" for name, rows in sets.items()) + " rows.")
    return sets, notes


def _time_order(values: Any) -> IntArray:
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


def _split_groups(
    labels: Any, name: str, sizes: Sequence[int], rng: np.random.Generator
) -> list[IntArray]:
    """Return the rows of three sets of whole groups."""
    codes, names = pd.factorize(labels)
    if len(names) < FEWEST_GROUPS:
        raise TableError(
            f"groups: column {name!r} has {len(names)} groups, fewer than {FEWEST_GROUPS}: "
            "too few for three sets; leave --groups out"
        )
    order = rng.permutation(len(names))
    n_rows = np.bincount(codes)[order]
    middles = np.cumsum(n_rows) - n_rows / 2  # a group goes where most of it lies
    set_of_group = np.empty(len(names), dtype=int)
    set_of_group[order] = np.searchsorted(np.cumsum(sizes), middles)
    parts: list[IntArray] = [np.flatnonzero(set_of_group[codes] == k) for k in range(3)]
    if min(len(rows) for rows in parts) < 10:
        raise TableError(
            f"groups: column {name!r} has groups so large that a set would have fewer than "
            "10 rows; leave --groups out"
        )
    return parts


# ------------------------------------------------------------------- fit


def _fit(parts: Parts, seed: int, epochs: int | None) -> tuple[GT2Regressor, list[str]]:
    """Return a trained and calibrated regressor, and its warnings."""
    settings = {} if epochs is None else {"epochs": epochs}
    with warnings.catch_warnings(record=True) as caught, one_blas_thread():
        warnings.simplefilter("always")
        regressor = GT2Regressor.strong(random_state=seed, **settings).fit(*parts["training"])
        regressor.calibrate(*parts["calibration"], method="conformal")
    return regressor, [str(warning.message) for warning in caught]


def _compare(
    parts: Parts, predictions: Frame, levels: tuple[float, ...], seed: int, ours: GT2Regressor
) -> list[Accuracy]:
    """Return the accuracy of the model, the mean, boosted trees, and the model with one width.

    All learn from the same rows. The last three have conformal intervals of one width: the
    prediction -+ a quantile of the absolute errors on calibration rows.
    """
    from sklearn.ensemble import HistGradientBoostingRegressor

    (X, y), (X_cal, y_cal), (X_test, y_test) = parts.values()
    boosted = HistGradientBoostingRegressor(random_state=seed).fit(X.to_numpy(), y)
    competitors: dict[str, Callable[[Frame], Array]] = {
        "the mean": lambda rows: np.full(len(rows), y.mean()),
        "boosted trees": lambda rows: boosted.predict(rows.to_numpy()),
        "this model, one width": ours.predict,
    }
    lower, upper = (
        np.column_stack(bounds)  # (N, L)
        for bounds in zip(*(_bounds(predictions, level) for level in levels), strict=True)
    )
    y_hat = predictions["prediction"].to_numpy()
    found = [measure_accuracy("this model", y_test, y_hat, lower, upper)]
    ranks = [min(len(y_cal), rank(level, len(y_cal) + 1)) for level in levels]
    for name, predict in competitors.items():
        radii = np.sort(np.abs(y_cal - predict(X_cal)))[np.array(ranks) - 1]  # (L,)
        y_hat = predict(X_test)
        lower, upper = y_hat[:, None] - radii, y_hat[:, None] + radii
        found.append(measure_accuracy(name, y_test, y_hat, lower, upper))
    return found


# ------------------------------------------------------------------- measure


def measure_accuracy(name: str, y: Array, y_hat: Array, lower: Array, upper: Array) -> Accuracy:
    """Return the accuracy of predictions (N,) with intervals (N, L)."""
    variance = float(np.mean((y - y.mean()) ** 2))
    mse = float(np.mean((y - y_hat) ** 2))
    covered = (lower <= y[:, None]) & (y[:, None] <= upper)
    return Accuracy(
        name,
        rmse=float(np.sqrt(mse)),
        mae=float(np.mean(np.abs(y - y_hat))),
        r2=1 - mse / variance if variance > 0 else float("nan"),
        widths=(upper - lower).mean(axis=0).tolist(),
        coverages=covered.mean(axis=0).tolist(),
    )


def sampling_range(level: float, n_cal: int, n_test: int) -> tuple[float, float]:
    """Return the range in which the coverage of test rows lies with probability 0.95.

    With exchangeable rows the number of covered rows among `n_test` is Beta-binomial with
    parameters k and n_cal + 1 - k, where k is the conformal rank among `n_cal` calibration rows.

    >>> low, high = sampling_range(0.9, 1000, 1000)
    >>> round(low, 2), round(high, 2)
    (0.87, 0.93)
    """
    from scipy.stats import betabinom

    k = min(n_cal, rank(level, n_cal + 1))
    law = np.cumsum(betabinom.pmf(np.arange(n_test + 1), n_test, k, n_cal + 1 - k))
    tail = (1 - RANGE) / 2
    low, high = np.searchsorted(law, [tail, 1 - tail]) / n_test
    return float(low), float(high)


def measure_coverage(y: Array, lower: Array, upper: Array, level: float, n_cal: int) -> Coverage:
    """Return the coverage of targets (N,) by intervals with bounds (N,) at a level."""
    n_covered = int(covers(y, lower, upper).sum())
    share = n_covered / len(y)
    low, high = sampling_range(level, n_cal, len(y))
    verdict = "within sampling variation"
    if share < low:
        verdict = "too low"
    elif share > high:
        verdict = "higher than promised"
    width, median = float(np.mean(upper - lower)), float(np.median(upper - lower))
    return Coverage(level, len(y), n_covered, share, low, high, verdict, width, median)


def measure_importance(
    predict: Callable[[Frame], Array], X: Frame, y: Array, columns: Columns, seed: int
) -> list[tuple[str, float]]:
    """Return by how many percent the error grows if a column is shuffled, the most first.

    All inputs of a column are shuffled together, three times, among 500 rows at most.
    """
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(X))[:IMPORTANCE_ROWS]
    X, y = X.iloc[rows], y[rows]
    base, result = rmse(y, predict(X)), []
    for name, places in columns.places().items():
        growth = []
        for _ in range(IMPORTANCE_REPEATS):
            shuffled = X.copy()
            shuffled.iloc[:, places] = X.iloc[rng.permutation(len(X)), places].to_numpy()
            growth.append(rmse(y, predict(shuffled)) - base)
        result.append((name, 100 * float(np.mean(growth)) / base if base > 0 else 0.0))
    return sorted(result, key=lambda item: -item[1])


def _region_values(
    rows: Frame,
    y_hat: Any,
    columns: Columns,
    importance: Sequence[tuple[str, float]],
    groups: str | None,
) -> dict[str, Any]:
    """Return the values that divide test rows into regions, by name.

    These are the prediction, the two most important columns and the groups.
    """
    values: dict[str, Any] = {"prediction": y_hat.to_numpy()}
    used = {column.name: column for column in columns.used}
    for name, _ in importance[:2]:
        if used[name].kind == "number":
            values[name] = read_as("number", rows[name]).fillna(used[name].fill).to_numpy()
        elif used[name].kind in ("category", "yes/no"):
            values[name] = as_labels(rows[name])
    if groups is not None:
        values[groups] = as_labels(rows[groups])
    return values


def measure_regions(
    by: Mapping[str, Any], y: Array, lower: Array, upper: Array, level: float, n_cal: int
) -> list[tuple[str, str, Coverage]]:
    """Return coverage by thirds of numbers, and by values of everything else.

    `by` names values for each row (N,), such as those of a column.
    """
    return [
        (what, where, measure_coverage(y[mask], lower[mask], upper[mask], level, n_cal))
        for what, values in by.items()
        for where, mask in _regions(np.asarray(values))
        if mask.any()
    ]


def _regions(values: Array) -> list[tuple[str, Array]]:
    """Return masks of the thirds of numbers, or of the most frequent values, with their names."""
    if values.dtype.kind == "f":
        if len(np.unique(values)) <= 3:
            return [(f"{v:.4g}", values == v) for v in np.unique(values)]
        first, second = np.quantile(values, [1 / 3, 2 / 3])
        return [
            (f"up to {first:.4g}", values <= first),
            (f"{first:.4g} to {second:.4g}", (values > first) & (values <= second)),
            (f"above {second:.4g}", values > second),
        ]
    text = values.astype(str)
    names, counts = np.unique(text, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:MOST_REGIONS]
    return [(str(names[i]), text == names[i]) for i in order]


# ------------------------------------------------------------------- warnings


def find_warnings(
    frame: Frame, columns: Columns, sets: Sets, groups: str | None, time: str | None
) -> list[str]:
    """Return warnings of what may void the guarantee: an order in time, groups, few groups."""
    result = []
    if groups is not None and time is None:
        labels = as_labels(frame[groups])
        train, calibrate, test = (len(set(labels[rows])) for rows in sets.values())
        if min(calibrate, test) < ENOUGH_GROUPS:
            result.append(
                f"Of {train + calibrate + test} groups {train} train, {calibrate} calibrate and "
                f"{test} test. Rows of a group are alike, so the number of groups counts: nothing "
                "is guaranteed for a new group, and other groups would give another coverage. "
                "More groups help; more rows of the same groups do not."
            )
    for column in columns.columns:
        name, n_values = column.name, frame[column.name].nunique()
        if column.kind == "date" and time is None:
            result.append(
                f"Column {name!r} holds dates. If new rows come later than these, coverage "
                f"measured on rows drawn at random is too optimistic: try --time {name!r}."
            )
        elif groups is None and name != time and column.identifier == "repeats":
            result.append(
                f"Column {name!r} looks like an identifier that repeats ({n_values:,} values in "
                f"{len(frame):,} rows). If rows with the same value are alike, and new rows have "
                f"new values: try --groups {name!r}."
            )
        elif groups is None and column.kind == "text" and n_values < 0.7 * frame[name].count():
            result.append(
                f"The texts of column {name!r} repeat ({n_values:,} values): if they name groups, "
                f"try --groups {name!r}."
            )
    return result
