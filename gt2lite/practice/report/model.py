"""`TableModel`: a calibrated regressor with the encoding of its columns."""

from __future__ import annotations

import math
import os
import re
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from gt2lite._progress import progress_bar
from gt2lite._validation import between
from gt2lite.calibration import plain_fraction
from gt2lite.metrics import covers
from gt2lite.practice import model_file
from gt2lite.practice.columns import Columns, Frame, TableError, find_kind, read_as, unique
from gt2lite.practice.exchangeability import ExchangeabilityTest
from gt2lite.practice.frames import bound_names, percent
from gt2lite.practice.regressor import GT2Regressor
from gt2lite.practice.report.reading import read
from gt2lite.practice.warnings import ClippedInputsWarning

MOST_RULES = 3  # that are named if they changed
CHUNK = 1_000  # rows that are predicted at a time
# Before what spreadsheets would compute: at the start of a cell, of a line in it, or of what would
# be a cell if a semicolon or tab separated them; after space, too, and in wide letters.
_FORMULA = re.compile(
    r"(?:\A|(?<=[\r\n\v\f\x85\u2028\u2029;\t]))"
    r"(?=[^\S\r\n\t]*[\0\ufeff]*(?:[=@\uff1d\uff20]|[-+\uff0b\uff0d](?![\d.,]*$)))|\A(?=[\r\t])"
)
_ROW_END = re.compile(r'("[^"]*")|\r\n')  # outside of quotes

Bounds = tuple[float, float]  # of the target; infinite if unknown


def read_levels(levels: Sequence[float]) -> tuple[float, ...]:
    """Return different levels in rising order, as the plain fractions that they stand for.

    >>> read_levels([0.9, 0.1 + 0.2])
    (0.3, 0.9)
    """
    try:
        found = sorted(float(plain_fraction(between("levels", level, 0, 1))) for level in levels)
    except TypeError:
        raise TableError(f"levels must be numbers such as (0.8, 0.9), got {levels!r}") from None
    if not found:
        raise TableError("levels must name at least one coverage, such as 0.9")
    names = [percent(level) for level in found]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise TableError(f"levels must differ, and {twice}% is there more than once")
    return tuple(found)


def main_level(levels: Sequence[float]) -> float:
    """Return the level nearest to 90%."""
    return min(levels, key=lambda level: abs(level - 0.9))


def read_bounds(bounds: Sequence[float | None] | None) -> Bounds:
    """Return the bounds of a target, infinite where they are None.

    >>> read_bounds((0, None))
    (0.0, inf)
    """
    try:
        low, high = (None, None) if bounds is None else bounds
        found = -math.inf if low is None else float(low), math.inf if high is None else float(high)
    except (TypeError, ValueError):
        found = math.nan, math.nan
    if not found[0] < found[1]:
        raise TableError(f"bounds must be two numbers, low and high, or None, got {bounds!r}")
    return found


def put_before(inputs: Frame, predictions: Frame) -> Frame:
    """Return columns of a table before predictions; names that predictions have are changed."""
    names = unique(["row", *predictions.columns, *inputs.columns])[1 + predictions.shape[1] :]
    return pd.concat([inputs.set_axis(names, axis=1), predictions], axis=1)


def frame_to_csv(frame: Frame) -> bytes:
    """Return a frame with its index, the column "row", as a CSV file.

    Text that a spreadsheet would compute, such as "=1+1", begins with an apostrophe, also in a
    later line of a cell, after space and after a semicolon.
    """

    def harmless(value: object) -> object:
        return _FORMULA.sub("'", value) if isinstance(value, str) else value

    frame = frame.rename(columns=harmless, index=harmless)
    for i, dtype in enumerate(frame.dtypes):
        if dtype.kind == "O":  # text, also of categories
            frame.isetitem(i, frame.iloc[:, i].map(harmless))
    # Python 3.11 quotes cells with characters of the line terminator only, so it is both of them.
    text: str = frame.to_csv(index_label="row", lineterminator="\r\n")
    return _ROW_END.sub(lambda found: found[1] or "\n", text).encode()


@dataclass
class TableModel:
    """A model that predicts a column of a table from its other columns."""

    regressor: GT2Regressor  #: the calibrated estimator
    columns: Columns  #: how columns become its inputs
    target: str  #: name of the column that it predicts
    levels: tuple[float, ...]  #: those of `predict` by default
    bounds: Bounds = (-math.inf, math.inf)  #: of the target: predictions and intervals end there
    notes: list[str] = field(default_factory=list)  #: on the last table that it predicted

    def predict(
        self,
        table: str | os.PathLike[str] | Frame,
        levels: Sequence[float] | None = None,
        *,
        with_inputs: bool = False,
        sheet: str | None = None,
    ) -> Frame:
        """Return the prediction and intervals for each row of a file or a data frame.

        How a file was read, unseen categories, missing columns and the like are in `notes`; so is
        a test of whether rows with targets look like the calibration rows, see `test_notes`.

        Args:
            table: a path or a data frame; the target may be absent.
            levels: coverages, such as ``[0.5, 0.9]``.
            with_inputs: whether to put the columns of the table before the others.
            sheet: the sheet of an Excel file; None for the first one with the model's columns.

        Returns:
            A frame with the columns prediction, lower_90, upper_90, ..., and flags, which says
            what is unusual about a row: unknown categories, values outside the training range,
            filled cells; it is empty for most rows.
        """
        used = self.columns.used
        ranges = {c.name: (c.low, c.high) for c in used if c.kind == "number"}
        frame, _, how, doubts = read(table, used[0].name, sheet, ranges)
        encoded = self.columns.encode(frame)
        found, warned = self.predict_encoded(encoded.inputs, levels)
        flagged = self.flag_notes(frame.index, encoded.flags)
        asked = self.levels if levels is None else read_levels(levels)
        tested = self.test_notes(frame, encoded.inputs, found, main_level(asked))
        self.notes = [*how[1:], *doubts, *encoded.notes, *warned, *tested, *flagged]
        found["flags"] = encoded.flags
        return put_before(frame, found) if with_inputs else found

    def predict_encoded(
        self, X: Frame, levels: Sequence[float] | None = None, verbose: bool = True
    ) -> tuple[Frame, list[str]]:
        """Return the same for rows that are encoded already, without flags, and warnings."""
        levels = self.levels if levels is None else read_levels(levels)
        names = ["prediction", *(name for level in levels for name in bound_names(level))]
        values = np.empty((len(X), len(names)))
        starts, show = range(0, len(X), CHUNK), None if verbose else False
        with (
            warnings.catch_warnings(record=True) as caught,
            progress_bar(len(starts), "predicting", "part", show=show) as done,
        ):
            warnings.simplefilter("always")
            for start in starts:
                rows, chunk = slice(start, start + CHUNK), X.iloc[start : start + CHUNK]
                values[rows, 0] = self.regressor.predict(chunk)
                bounds = self.regressor.predict_interval(chunk, coverage=list(levels))
                values[rows, 1::2], values[rows, 2::2] = bounds
                done("")
        frame = pd.DataFrame(values, columns=names, index=X.index)
        # `flag_notes` names the rows with clipped inputs
        texts = [str(w.message) for w in caught if w.category is not ClippedInputsWarning]
        return frame.clip(*self.bounds), list(dict.fromkeys(texts))

    def flag_notes(self, index: Iterable[object], flags: Sequence[str]) -> list[str]:
        """Return which rows have flags, and what was done about them, in sentences."""
        clipped = getattr(self.regressor, "clip_inputs", False)
        done = "count as the nearest value seen there" if clipped else "are used as they are"
        notes = []
        for word, what in (
            ("", "have flags: the guarantee is about rows as in training"),
            ("the training range", f"have values outside the training range, which {done}"),
        ):
            rows = [str(i) for i, flag in zip(index, flags, strict=True) if flag and word in flag]
            if rows:
                shown = ", ".join(rows[:5]) + (", ..." if len(rows) > 5 else "")
                notes.append(f"{len(rows):,} of {len(flags):,} rows ({shown}) {what}")
        return notes

    def test_notes(self, frame: Frame, X: Frame, predictions: Frame, level: float) -> list[str]:
        """Return whether rows with targets look exchangeable with the calibration rows.

        Errors, inputs and single rules are tested, in the order of the table, against what the
        calibration keeps of its rows, see `ExchangeabilityTest`.

        Args:
            frame: the table.
            X: its encoded inputs (N, M).
            predictions: bounds for them, at this level and perhaps others.
            level: that of the intervals whose coverage is reported.
        """
        if self.target not in frame.columns:
            return []
        kind, unit = find_kind(frame[self.target])
        for column in self.columns.columns:
            if column.name == self.target:  # as in training
                kind, unit = column.kind, column.unit
        numbers = read_as(kind, frame[self.target], unit)
        if kind not in ("number", "yes/no") or not numbers.notna().any():
            return [f"column {self.target!r} is not read: it holds no numbers"]
        y = numbers.to_numpy(float)
        rows = np.flatnonzero(y > 0 if self.regressor.target_transform == "log" else ~np.isnan(y))
        try:
            test = ExchangeabilityTest(self.regressor, coverage=level)
        except ValueError as error:
            return [f"rows were not compared with the calibration rows: {error}"]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # `predict` has reported them
            for start in range(0, len(rows), CHUNK):
                part = rows[start : start + CHUNK]
                test.update(X.iloc[part], y[part])
        lower, upper = (predictions[name].to_numpy()[rows] for name in bound_names(level))
        found = (
            f"column {self.target!r} has {len(rows):,} targets; intervals at {percent(level)}% "
            f"cover {covers(y[rows], lower, upper).mean():.1%} of them. "
            f"{test.verdict('rows', frame.index[rows])}"
        )
        if test.alarms:
            found += " The guarantee does not hold for such rows: calibrate again with recent ones."
        if test.rules is None:
            return [found]
        rules = test.by_rule(self.target)
        return [found, *(rules.line(rule) for rule in rules if rule.changed)][: 1 + MOST_RULES]

    def content(self) -> dict[str, Any]:
        """Return the content of the model file, see `gt2lite.practice.model_file`."""
        return {
            "target": self.target,
            "levels": self.levels,
            "bounds": [bound if math.isfinite(bound) else None for bound in self.bounds],
            "columns": self.columns.to_json(),
            "regressor": model_file.pack_regressor(self.regressor),
        }

    def encode(self) -> bytes:
        """Return the bytes of the model file."""
        return model_file.encode("table model", self.content())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one JSON file at exactly this path."""
        model_file.write_files({path: self.encode()})


def load(path: str | os.PathLike[str]) -> TableModel:
    """Return the model that `TableModel.save` wrote; nothing in the file is executed.

    Raises:
        FileFormatError: the file is damaged, of another kind or of a later version.
    """
    return model_file.load(path, "table model", _unpack)


def _unpack(content: dict[str, Any]) -> TableModel:
    columns = Columns.from_json(content["columns"])
    reg = model_file.unpack_regressor(GT2Regressor, content["regressor"])
    if content["regressor"]["features"] != columns.names or content["regressor"]["columns"]:
        raise ValueError("columns must encode the features of the regressor")
    if reg.model_.calibration is None:
        raise ValueError("the regressor of a table model must be calibrated")
    levels, bounds = read_levels(content["levels"]), read_bounds(content["bounds"])
    return TableModel(reg, columns, content["target"], levels, bounds)
