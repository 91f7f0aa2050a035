"""Analysis of a table: split, encode, train, calibrate, and measure on test rows."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gt2lite._threads import one_blas_thread
from gt2lite._validation import Array, IntArray
from gt2lite.calibration import fewest_samples, rank
from gt2lite.regressor import GT2Regressor, bound_names, percent
from gt2lite.report.columns import (
    Columns,
    as_dates,
    as_labels,
    as_numbers,
    as_truth,
    find_kind,
    specify,
)
from gt2lite.report.model import TableModel, read_levels
from gt2lite.report.reading import Frame, TableError
from gt2lite.splits import random_parts
from gt2lite.training import STRONG

CURVE_LEVELS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
FEWEST_ROWS, FEWEST_GROUPS = 60, 6
SIZES = {"training": 0.6, "calibration": 0.2}  # shares of the rows; the rest tests
MOST_ROWS = {"training": 5_000, "calibration": 5_000, "test": 20_000}
ENOUGH_GROUPS = 20  # fewer groups that calibrate or test are warned about
RANGE = 0.95  # probability of a range of sampling variation
IMPORTANCE_ROWS, IMPORTANCE_REPEATS = 500, 3
MOST_REGIONS = 15  # values of a category

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
    low: float
    high: float
    width: float  # mean
    median_width: float

    @property
    def share(self) -> float:
        """The share of rows covered."""
        return self.n_covered / self.n_rows

    @property
    def verdict(self) -> str:
        """Whether sampling variation explains the difference from the level."""
        if self.share < self.low:
            return "too low"
        return "higher than promised" if self.share > self.high else "within sampling variation"


class Region(NamedTuple):
    """Coverage of the test rows in a region of a column."""

    what: str  # the column
    where: str
    coverage: Coverage


class Split(NamedTuple):
    """Positions of the rows of each set, and a description."""

    train: IntArray
    calibration: IntArray
    test: IntArray
    words: list[str]


@dataclass(frozen=True)
class Findings:
    """Everything that the page shows; arrays are about the test rows, in their order.

    Attributes:
        model: the trained and calibrated model with its columns.
        split: the rows of each set.
        n_missing: number of missing values of each column, in all rows.
        rows: the test rows as they stand in the table.
        y: their targets (N,).
        predictions: a frame with the prediction and the bounds at each level.
        main: the level at which regions, widths and misses are shown, the one nearest to 0.9.
        accuracies: of the model and of its competitors.
        coverages: at the levels asked for.
        curve: at more levels.
        regions: coverage in parts of the table.
        importance: by column, the growth of the error in percent if it is shuffled.
        settings: a description of the training.
        notes: what was unusual about the table or the training.
        warnings: what may void the guarantee.
        rules: the most important rules in words.
        groups: the column whose groups stayed together.
        time: the column that was sorted by.
    """

    model: TableModel
    split: Split
    n_missing: dict[str, int]
    rows: Frame
    y: Array
    predictions: Frame
    main: float
    accuracies: list[Accuracy]
    coverages: list[Coverage]
    curve: list[Coverage]
    regions: list[Region]
    importance: list[tuple[str, float]]
    settings: list[str]
    notes: list[str]
    warnings: list[str]
    rules: str
    groups: str | None
    time: str | None

    def ends(self, level: float) -> tuple[Array, Array]:
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
    split = split_rows(frame, levels, seed, groups, time)
    columns = specify(frame, split.train, target, groups, time)
    if not columns.used:
        reasons = [f"{c.name!r}: {c.treatment}" for c in columns.columns if c.name != target]
        raise TableError(
            f"no column is left to predict {target!r} from; {'; '.join(reasons) or 'none there'}"
        )
    X, unusual = columns.encode(frame)
    parts = {
        name: (X.iloc[rows], y_all[rows])
        for name, rows in zip(("train", "calibration", "test"), split[:3], strict=True)
    }
    log(f"training on {len(split.train):,} rows with {X.shape[1]} inputs ...")
    regressor, warned = _fit(parts, seed, {} if epochs is None else {"epochs": epochs})
    model = TableModel(regressor, columns, target, levels)
    log(f"measuring on {len(split.test):,} test rows ...")
    X_test, y = parts["test"]
    n_cal, rows = len(split.calibration), frame.iloc[split.test]
    many = read_levels([*CURVE_LEVELS, *levels])
    predictions = model.predict_encoded(X_test, many)
    curve = [measure_coverage(y, *_bounds(predictions, level), level, n_cal) for level in many]
    main = min(levels, key=lambda level: abs(level - 0.9))
    log("computing the importance of inputs ...")
    importance = measure_importance(regressor.predict, X_test, y, columns, seed)
    by = _region_values(rows, predictions["prediction"], columns, importance, groups)
    return Findings(
        model=model,
        split=split,
        n_missing={name: int(frame[name].isna().sum()) for name in frame.columns},
        rows=rows,
        y=y,
        predictions=predictions,
        main=main,
        accuracies=_compare(parts, predictions, levels, seed, regressor),
        coverages=[row for row in curve if row.level in levels],
        curve=curve,
        regions=measure_regions(by, y, *_bounds(predictions, main), main, n_cal),
        importance=importance,
        settings=_describe(regressor),
        notes=[*notes, *unusual, *warned],
        warnings=find_warnings(frame, columns, split, groups, time),
        rules=str(regressor.rules(parts["train"][0], target=target)),
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
    numbers = as_numbers(values) if kind == "number" else as_truth(values)
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
) -> Split:
    """Return training, calibration and test set, about 60, 20 and 20% of the rows.

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
        words = f"Rows in the order of {time!r}: the earliest train, the latest test."
    elif groups is not None:
        parts, words = _split_groups(frame[groups], sizes, rng)
    else:
        parts = random_parts(n, sizes, rng)
        words = f"Rows drawn at random (seed {seed})."
    return _limit(parts, words, rng, in_time=time is not None)


def _time_order(values: Any) -> IntArray:
    kind, date_format = find_kind(values)
    if kind not in ("date", "number"):
        raise TableError(f"time: column {values.name!r} holds {kind}, neither dates nor numbers")
    times = as_dates(values, date_format) if kind == "date" else as_numbers(values)
    if n_missing := int(times.isna().sum()):
        raise TableError(
            f"time: column {values.name!r} has {n_missing:,} missing or unreadable values; fill "
            "them in or remove these rows"
        )
    return np.argsort(times.to_numpy(), kind="stable")


def _split_groups(
    values: Any, sizes: Sequence[int], rng: np.random.Generator
) -> tuple[list[IntArray], str]:
    """Return the rows of three sets of whole groups, and a description."""
    codes, names = values.astype(object).where(values.notna(), "(missing)").factorize()
    if len(names) < FEWEST_GROUPS:
        raise TableError(
            f"groups: column {values.name!r} has {len(names)} groups, fewer than {FEWEST_GROUPS}: "
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
            f"groups: column {values.name!r} has groups so large that a set would have fewer than "
            "10 rows; leave --groups out"
        )
    n_train, n_calibration, n_test = np.bincount(set_of_group, minlength=3)
    words = (
        f"Whole groups of {values.name!r} stay together: {n_train} train, "
        f"{n_calibration} calibrate and {n_test} test."
    )
    return parts, words


def _limit(parts: Sequence[IntArray], words: str, rng: np.random.Generator, in_time: bool) -> Split:
    """Return the sets, of which large ones are sampled."""
    lines, kept = [words], []
    for rows, (title, most) in zip(parts, MOST_ROWS.items(), strict=True):
        if len(rows) > most:
            lines.append(f"Of {len(rows):,} {title} rows {most:,} were drawn, to save time.")
            rows = rows[np.sort(rng.choice(len(rows), most, replace=False))]
        kept.append(rows if in_time else np.sort(rows))
    train, calibration, test = kept
    lines.append(
        f"{len(train):,} training, {len(calibration):,} calibration, {len(test):,} test rows."
    )
    return Split(train, calibration, test, lines)


# ------------------------------------------------------------------- fit


def _fit(parts: Parts, seed: int, settings: Mapping[str, Any]) -> tuple[GT2Regressor, list[str]]:
    """Return a trained and calibrated regressor, and its warnings."""
    with warnings.catch_warnings(record=True) as caught, one_blas_thread():
        warnings.simplefilter("always")
        regressor = GT2Regressor.strong(random_state=seed, **settings).fit(*parts["train"])
        regressor.calibrate(*parts["calibration"], method="conformal")
    return regressor, [str(warning.message) for warning in caught]


def _describe(regressor: GT2Regressor) -> list[str]:
    """Return what was chosen inside the training rows, in sentences."""
    kept = [candidate for candidate in regressor.chosen_ if candidate.kept]
    were = "was" if len(kept) == 1 else "were"
    lines = [
        f"The model is the mean of {len(regressor.systems_)} systems; of "
        f"{len(regressor.chosen_)} settings tried on the training rows, {len(kept)} {were} kept."
    ]
    for candidate in kept:
        settings = {"n_rules": STRONG.n_rules} | candidate.settings
        n_rules, ranks = settings.pop("n_rules"), settings.pop("inputs") == "ranks"
        others = "".join(f", {name} {value}" for name, value in settings.items())
        inputs = "ranks of the inputs" if ranks else "the inputs as they are"
        lines.append(
            f"{n_rules} rules on {inputs}{others}, {candidate.epochs} passes over the rows."
        )
    if (margins := regressor.margins_) is None:
        return [*lines, "The intervals are planes of these systems."]
    how = (
        "the same for all rows"
        if margins.power == 0
        else f"proportional to the width of the planes to the power {margins.power:g}"
    )
    return [*lines, f"The intervals are margins around the prediction, {how}."]


def _compare(
    parts: Parts, predictions: Frame, levels: tuple[float, ...], seed: int, ours: GT2Regressor
) -> list[Accuracy]:
    """Return the accuracy of the model, the mean, boosted trees, and the model with one width.

    All learn from the same rows. The last three have conformal intervals of one width: the
    prediction -+ a quantile of the absolute errors on calibration rows.
    """
    from sklearn.ensemble import HistGradientBoostingRegressor

    (X, y), (X_cal, y_cal), (X_test, y_test) = (
        parts[name] for name in ("train", "calibration", "test")
    )
    boosted = HistGradientBoostingRegressor(random_state=seed).fit(X.to_numpy(), y)
    competitors: dict[str, Callable[[Frame], Array]] = {
        "the mean": lambda rows: np.full(len(rows), y.mean()),
        "boosted trees": lambda rows: boosted.predict(rows.to_numpy()),
        "this model, one width": ours.predict,
    }
    y_hat = predictions["prediction"].to_numpy()
    lower, upper = zip(*(_bounds(predictions, level) for level in levels), strict=True)
    intervals = np.column_stack(lower), np.column_stack(upper)
    found = [measure_accuracy("this model", y_test, y_hat, *intervals)]
    for name, predict in competitors.items():
        errors, y_hat = np.sort(np.abs(y_cal - predict(X_cal))), predict(X_test)
        n = len(errors)
        ranks = [min(n, rank(level, n + 1)) for level in levels]
        radii = errors[np.asarray(ranks) - 1]  # (L,)
        centre = y_hat[:, None]
        found.append(measure_accuracy(name, y_test, y_hat, centre - radii, centre + radii))
    return found


# ------------------------------------------------------------------- measure


def measure_accuracy(name: str, y: Array, y_hat: Array, lower: Array, upper: Array) -> Accuracy:
    """Return the accuracy of predictions (N,) with intervals (N, L)."""
    error = y - y_hat
    variance = float(np.mean((y - y.mean()) ** 2))
    mse = float(np.mean(error**2))
    covered = (lower <= y[:, None]) & (y[:, None] <= upper)
    return Accuracy(
        name,
        float(np.sqrt(mse)),
        float(np.mean(np.abs(error))),
        1 - mse / variance if variance > 0 else float("nan"),
        (upper - lower).mean(axis=0).tolist(),
        covered.mean(axis=0).tolist(),
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
    widths = upper - lower
    return Coverage(
        float(level),
        len(y),
        int(((lower <= y) & (y <= upper)).sum()),
        *sampling_range(level, n_cal, len(y)),
        float(widths.mean()),
        float(np.median(widths)),
    )


def measure_importance(
    predict: Callable[[Frame], Array], X: Frame, y: Array, columns: Columns, seed: int
) -> list[tuple[str, float]]:
    """Return by how many percent the error grows if a column is shuffled, the most first.

    All inputs of a column are shuffled together, three times, among 500 rows at most.
    """
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(X))[:IMPORTANCE_ROWS]
    X, y = X.iloc[rows], y[rows]

    def rmse(inputs: Frame) -> float:
        return float(np.sqrt(np.mean((y - predict(inputs)) ** 2)))

    base, result = rmse(X), []
    for name, places in columns.places().items():
        growth = []
        for _ in range(IMPORTANCE_REPEATS):
            shuffled = X.copy()
            shuffled.iloc[:, places] = X.iloc[rng.permutation(len(X)), places].to_numpy()
            growth.append(rmse(shuffled) - base)
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
            values[name] = as_numbers(rows[name]).fillna(used[name].fill).to_numpy(float)
        elif used[name].kind in ("category", "yes/no"):
            values[name] = as_labels(rows[name])
    if groups is not None:
        values[groups] = as_labels(rows[groups])
    return values


def measure_regions(
    by: Mapping[str, Any], y: Array, lower: Array, upper: Array, level: float, n_cal: int
) -> list[Region]:
    """Return coverage by thirds of numbers, and by values of everything else.

    Args:
        by: name -> a value for each row (N,).
        y: targets (N,).
        lower: lower bounds of the intervals (N,).
        upper: their upper bounds.
        level: their level.
        n_cal: number of calibration rows.
    """
    return [
        Region(what, where, measure_coverage(y[mask], lower[mask], upper[mask], level, n_cal))
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
    frame: Frame, columns: Columns, split: Split, groups: str | None, time: str | None
) -> list[str]:
    """Return warnings of what may void the guarantee: an order in time, groups, few groups."""
    result = []
    if groups is not None and time is None:
        result += _few_groups(as_labels(frame[groups]), split[:3])
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


def _few_groups(labels: Any, parts: Sequence[IntArray]) -> list[str]:
    train, calibrate, test = (len(set(labels[rows].tolist())) for rows in parts)
    if min(calibrate, test) >= ENOUGH_GROUPS:
        return []
    return [
        f"Of {train + calibrate + test} groups {train} train, {calibrate} calibrate and {test} "
        "test. Rows of a group are alike, so the number of groups counts: nothing is guaranteed "
        "for a new group, and other groups would give another coverage. More groups help; more "
        "rows of the same groups do not."
    ]
