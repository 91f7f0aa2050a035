"""From a table to findings: split, encode, train, calibrate, measure; nothing is written here."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gt2lite._validation import Array, between
from gt2lite.report import fitting, kinds, measuring
from gt2lite.report.columns import Columns
from gt2lite.report.measuring import Accuracy, Coverage, Region
from gt2lite.report.model import TableModel, percent
from gt2lite.report.reading import Frame, Table, TableError
from gt2lite.report.specifying import specify
from gt2lite.report.splitting import Split, split

CURVE = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
MOST_ROWS_SHOWN = 10

Say = Callable[[str], None]


@dataclass(frozen=True)
class Findings:
    """All that the page tells; arrays are about test rows in their order.

    Attributes:
        model: trained, calibrated, with its columns.
        split: which rows did what.
        counts: missing values of each column, in all rows.
        rows: the test rows as they stand in the table.
        y: their targets (N,).
        predictions: a frame with prediction and both ends for each level.
        main: the level at which regions, widths and misses are shown.
        accuracies: of the model and of what stands beside it.
        coverages: at the levels asked for.
        curve: at more levels.
        regions: coverage in parts of the table.
        importance: a rise of the error in per cent for each column.
        settings: in words, how the model was trained.
        notes: what was odd.
        doubts: what may break the promise here.
        rules: the model in words.
    """

    model: TableModel
    split: Split
    counts: dict[str, int]
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
    doubts: list[str]
    rules: str
    groups: str | None
    time: str | None

    def ends(self, level: float) -> tuple[Array, Array]:
        """Return both ends (N,) at a level."""
        name = percent(level)
        return (
            self.predictions[f"lower_{name}"].to_numpy(),
            self.predictions[f"upper_{name}"].to_numpy(),
        )


def analyse(
    table: Table,
    target: str,
    levels: Sequence[float],
    groups: str | None,
    time: str | None,
    seed: int,
    say: Say,
    epochs: int | None = None,
) -> Findings:
    """Return all findings about a table.

    Raises:
        TableError: the table cannot be used as asked; the message says what to do.
    """
    levels = _checked_levels(levels)
    frame, notes, y_all = _usable(table.frame, target, groups, time)
    parts_of = split(frame, levels, seed, groups, time)
    columns = specify(frame, parts_of.train, target, groups, time)
    if not columns.used:
        fates = "; ".join(f"{c.name!r} {c.fate}" for c in columns.columns if c.name != target)
        raise TableError(f"no column is left to predict {target!r} from: {fates or 'none there'}")
    X, odd = columns.encode(frame)
    parts = {
        name: (X.iloc[rows], y_all[rows])
        for name, rows in zip(("train", "calibration", "test"), parts_of[:3], strict=True)
    }
    say(f"training on {len(parts_of.train):,} rows with {X.shape[1]} inputs ...")
    settings = {} if epochs is None else {"epochs": epochs}
    regressor, warned = fitting.fit(parts, seed, **settings)
    model = TableModel(regressor, columns, target, levels)
    say(f"measuring on {len(parts_of.test):,} test rows ...")
    X_test, y = parts["test"]
    n_cal = len(parts_of.calibration)
    many = sorted({*CURVE, *levels})
    predictions = model.predict_encoded(X_test, many)
    curve = measuring.coverages(y, *_ends(predictions, many), many, n_cal)
    main = min(levels, key=lambda level: abs(level - 0.9))
    say("asking which inputs matter ...")
    ranked = measuring.importance(regressor.predict, X_test, y, columns, seed)
    return Findings(
        model=model,
        split=parts_of,
        counts={name: int(frame[name].isna().sum()) for name in frame.columns},
        rows=frame.iloc[parts_of.test],
        y=y,
        predictions=predictions,
        main=main,
        accuracies=_accuracies(parts, predictions, levels, seed, regressor),
        coverages=[row for row in curve if row.level in levels],
        curve=curve,
        regions=_regions(
            frame.iloc[parts_of.test], y, predictions, main, n_cal, groups, ranked, columns
        ),
        importance=ranked,
        settings=fitting.describe(regressor),
        notes=[*notes, *odd, *warned],
        doubts=_doubts(frame, columns, parts_of, groups, time),
        rules=str(regressor.rules(parts["train"][0], target=target)),
        groups=groups,
        time=time,
    )


def _doubts(
    frame: Frame, columns: Columns, parts: Split, groups: str | None, time: str | None
) -> list[str]:
    found = measuring.look_alikes(frame, columns, groups, time)
    if groups is None or time is not None:  # an order in time goes before groups
        return found
    return [*measuring.few_groups(_labels(frame[groups]), parts[:3]), *found]


def _labels(column: Any) -> Any:
    """Return the texts of a column, one for each row; gaps have a name, too."""
    return kinds.as_text(column).fillna("(missing)").to_numpy()


def _checked_levels(levels: Sequence[float]) -> tuple[float, ...]:
    try:
        result = tuple(sorted({between("levels", level, 0, 1) for level in levels}))
    except TypeError:
        raise TableError(f"levels must be numbers such as (0.8, 0.9), got {levels!r}") from None
    if not result:
        raise TableError("levels must name at least one coverage, such as 0.9")
    return result


def _usable(
    frame: Frame, target: str, groups: str | None, time: str | None
) -> tuple[Frame, list[str], Array]:
    """Return the rows that have a target, notes, and the targets."""
    for role, name in (("target", target), ("groups", groups), ("time", time)):
        if name is not None and name not in frame:
            close = difflib.get_close_matches(str(name), list(frame.columns), 3, 0.5)
            close = close or list(frame.columns)[:8]
            raise TableError(
                f"{role}: there is no column {name!r}; did you mean "
                f"{', '.join(repr(c) for c in close)}?"
            )
    if target in (groups, time):
        raise TableError(f"column {target!r} cannot be the target and something else")
    values = frame[target]
    kind, _ = kinds.find_kind(values)
    if kind not in ("number", "yes/no"):
        example = str(values.dropna().iloc[0]) if values.notna().any() else ""
        raise TableError(
            f"the target {target!r} holds {kind} (such as {example!r}), and what is predicted "
            "here is a number: choose a column of numbers with --target"
        )
    numbers = kinds.as_numbers(values) if kind == "number" else kinds.as_truth(values)
    there = numbers.notna().to_numpy()
    notes = []
    if not there.all():
        notes.append(f"{(~there).sum():,} row(s) without a readable target were left out.")
    y = numbers.to_numpy(float)[there]
    if len(y) and len(np.unique(y)) < 2:
        raise TableError(f"the target {target!r} has the same value in every row")
    if 0 < len(np.unique(y)) < 10:
        notes.append(
            f"The target has only {len(np.unique(y))} different values: intervals are meant for "
            "amounts, and for classes there are better tools."
        )
    return frame[there], notes, y


def _ends(predictions: Frame, levels: Sequence[float]) -> tuple[Array, Array]:
    lower = [predictions[f"lower_{percent(level)}"].to_numpy() for level in levels]
    upper = [predictions[f"upper_{percent(level)}"].to_numpy() for level in levels]
    return np.column_stack(lower), np.column_stack(upper)


def _accuracies(
    parts: fitting.Parts,
    predictions: Frame,
    levels: tuple[float, ...],
    seed: int,
    regressor: Any,
) -> list[Accuracy]:
    y = parts["test"][1]
    ours = predictions["prediction"].to_numpy()
    result = [measuring.accuracy("this model", y, ours, *_ends(predictions, levels))]
    for rival in fitting.rivals(parts, levels, seed, regressor):
        ends = (rival.y_hat[:, None] - rival.radii, rival.y_hat[:, None] + rival.radii)
        result.append(measuring.accuracy(rival.name, y, rival.y_hat, *ends))
    return result


def _regions(
    rows: Frame,
    y: Array,
    predictions: Frame,
    level: float,
    n_cal: int,
    groups: str | None,
    ranked: list[tuple[str, float]],
    columns: Columns,
) -> list[Region]:
    parts: dict[str, Any] = {"prediction": predictions["prediction"].to_numpy()}
    by_name = {column.name: column for column in columns.used}
    for name, _ in ranked[:2]:
        column = by_name[name]
        if column.kind == "number":
            parts[name] = kinds.as_numbers(rows[name]).fillna(column.fill).to_numpy(float)
        elif column.kind in ("category", "yes/no"):
            parts[name] = _labels(rows[name])
    if groups is not None:
        parts[groups] = _labels(rows[groups])
    lower, upper = (end[:, 0] for end in _ends(predictions, [level]))
    covered = (lower <= y) & (y <= upper)
    return measuring.regions(parts, covered, upper - lower, level, n_cal)
