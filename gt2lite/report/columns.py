"""The column specification: how each column of a table becomes numbers, in plain values.

A `Column` says what a column is, what became of it and why; `Columns` encodes a frame by all of
them. The specification is JSON (`to_header`, `from_header`), so a model file carries it without
any code in it. How a specification comes about is in `specifying`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Any, Self

import numpy as np
import pandas as pd

from gt2lite._validation import Array
from gt2lite.report import kinds
from gt2lite.report.reading import Frame, TableError, unique

KINDS = ("number", "yes/no", "category", "date", "text")
PARTS = ("day", "month", "weekday", "hour")
_SHOWN = {"day": "days since 1970"}
_DAY = 86_400  # seconds
_BEYOND = 0.1  # of the range of training: so far outside is told


@dataclass(frozen=True)
class Column:
    """One column: what it is, what becomes of it, and what was learnt about it.

    Attributes:
        name: its name in the table.
        kind: one of `KINDS`.
        used: whether it is an input.
        fate: what became of it, in words.
        fill: what stands for a missing number (a day number for dates).
        flag: whether missing values get a column of their own.
        low, high: the range in training rows.
        categories: those with a column each; all other values share zeros.
        others: values of the training rows that have none.
        parts: of a date, some of `PARTS`.
        form: of a date that is text.
    """

    name: str
    kind: str
    used: bool
    fate: str
    fill: float = 0.0
    flag: bool = False
    low: float = 0.0
    high: float = 0.0
    categories: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)
    form: str | None = None

    def names(self) -> list[str]:
        """Return the names of the numbers that it becomes."""
        if self.kind == "category":
            result = [f"{self.name} = {category}" for category in self.categories]
        elif self.kind == "date":
            result = [f"{self.name} ({_SHOWN.get(part, part)})" for part in self.parts]
        else:
            result = [self.name]
        return [*result, f"{self.name} is missing"] if self.flag else result

    def encode(self, values: Any) -> tuple[Array, list[str]]:
        """Return the numbers (N, K) that values of this column become, and what was odd."""
        notes: list[str] = []
        if self.kind == "category":
            text = kinds.as_text(values)
            known = text.isin([*self.categories, *self.others]) | text.isna()
            odd = sorted(set(text[~known]))
            notes += _unseen(self, odd, int((~known).sum()))
            parts = [(text == category).to_numpy(float) for category in self.categories]
            absent = text.isna().to_numpy()
        elif self.kind == "date":
            dates = kinds.as_dates(values, self.form)
            notes += self._unread(values, dates)
            absent = dates.isna().to_numpy()
            filled = dates.fillna(np.datetime64(round(self.fill * _DAY), "s"))
            parts = [date_part(filled, part) for part in self.parts]
        else:
            read = kinds.as_truth if self.kind == "yes/no" else kinds.as_numbers
            numbers = read(values)
            notes += self._unread(values, numbers)
            absent = numbers.isna().to_numpy()
            parts = [numbers.fillna(self.fill).to_numpy(float)]
            more = _BEYOND * (self.high - self.low)
            outside = ~absent & ((parts[0] < self.low - more) | (parts[0] > self.high + more))
            if self.kind == "number" and outside.any():
                notes.append(
                    f"column {self.name!r}: {outside.sum():,} row(s) lie far outside the range of "
                    f"training, {self.low:g} to {self.high:g}"
                )
        if self.flag:
            parts.append(absent.astype(float))
        elif absent.any() and self.kind != "category":
            notes.append(f"column {self.name!r}: {absent.sum():,} missing value(s) filled")
        return np.column_stack(parts), notes

    def _unread(self, values: Any, read: Any) -> list[str]:
        bad = values[read.isna() & values.notna()]
        bad = bad[kinds.as_text(bad).notna()] if len(bad) else bad
        if not len(bad):
            return []
        return [
            f"column {self.name!r}: {len(bad):,} value(s) such as {str(bad.iloc[0])!r} cannot be "
            f"read as {self.kind} and count as missing"
        ]


def _unseen(column: Column, odd: list[str], n_rows: int) -> list[str]:
    if not odd:
        return []
    shown = ", ".join(repr(value) for value in odd[:3]) + (", ..." if len(odd) > 3 else "")
    return [
        f"column {column.name!r}: {n_rows:,} row(s) hold {shown}, never seen in training: they "
        "count as any other rare value"
    ]


def date_part(dates: Any, part: str) -> Array:
    """Return a part of each date as a number: days since 1970, month, weekday or hour."""
    if part == "day":
        return dates.to_numpy().astype("datetime64[s]").astype(np.int64) / _DAY
    numbers = {"month": dates.dt.month, "weekday": dates.dt.day_of_week, "hour": dates.dt.hour}
    return numbers[part].to_numpy(float)


class Columns:
    """All columns of a table in their order."""

    def __init__(self, columns: list[Column]) -> None:
        self.columns = columns

    @property
    def used(self) -> list[Column]:
        """Those that are inputs."""
        return [column for column in self.columns if column.used]

    @property
    def names(self) -> list[str]:
        """Names of the inputs of the model, one for each number."""
        return unique([name for column in self.used for name in column.names()])

    def places(self) -> dict[str, list[int]]:
        """Return which inputs of the model each used column became."""
        result: dict[str, list[int]] = {}
        start = 0
        for column in self.used:
            end = start + len(column.names())
            result[column.name] = list(range(start, end))
            start = end
        return result

    def encode(self, frame: Frame) -> tuple[Frame, list[str]]:
        """Return a frame as one of numbers (N, M), and in words what was missing, odd or unseen.

        Raises:
            TableError: no column that the model uses is there.
        """
        lacking = [column.name for column in self.used if column.name not in frame]
        if len(lacking) == len(self.used):
            raise TableError(
                "the table has none of the model's columns: it needs "
                + ", ".join(repr(name) for name in lacking[:8])
            )
        parts, notes = [], []
        for column in self.used:
            if column.name in lacking:
                notes.append(
                    f"column {column.name!r} is missing: filled in every row as if unknown; "
                    "predictions and intervals are less to be trusted"
                )
                values = pd.Series([None] * len(frame), index=frame.index, dtype=object)
                parts.append(column.encode(values)[0])
            else:
                part, odd = column.encode(frame[column.name])
                parts.append(part)
                notes += odd
        return pd.DataFrame(np.column_stack(parts), columns=self.names, index=frame.index), notes

    def to_header(self) -> list[dict[str, Any]]:
        """Return the specification as plain values."""
        return [asdict(column) for column in self.columns]

    @classmethod
    def from_header(cls, header: Any) -> Self:
        """Return what `to_header` gave.

        Raises:
            ValueError: where it is nothing of the kind.
        """
        names = {f.name for f in fields(Column)}
        if not isinstance(header, list) or not all(
            isinstance(item, dict) and item.keys() == names for item in header
        ):
            raise ValueError("the column specification is not one")
        columns = [Column(**item) for item in header]
        for column in columns:
            _check(column)
        return cls(columns)


def _check(column: Column) -> None:
    texts = [column.name, column.fate, *column.categories, *column.others, *column.parts]
    numbers = (column.fill, column.low, column.high)
    good = (
        column.kind in KINDS
        and all(isinstance(text, str) for text in texts)
        and set(column.parts) <= set(PARTS)
        and all(isinstance(n, (int, float)) and np.isfinite(n) for n in numbers)
        and isinstance(column.used, bool)
        and isinstance(column.flag, bool)
        and (column.form is None or column.form in kinds.FORMATS)
        and (not column.used or bool(column.names()))
    )
    if not good:
        raise ValueError(f"the specification of column {column.name!r} is damaged")
