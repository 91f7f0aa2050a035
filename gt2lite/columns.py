"""Columns of a table: their kinds, their encoding as numbers, and the specification of it.

Kinds are found from the values of all rows. Everything that is learned, such as fill values,
ranges and categories, is learned from training rows alone (`specify`). A `Columns` object encodes
any frame in the same way; as JSON it is part of the model file.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import asdict, dataclass, field, fields
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd

from gt2lite._validation import Array, IntArray

Frame = Any  # pandas has no types here
Series = Any

KINDS = ("number", "yes/no", "category", "date", "text")
DATE_PARTS = ("day", "month", "weekday", "hour")
DATE_FORMATS = (
    *("%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M"),
    *("%d.%m.%Y", "%d.%m.%Y %H:%M", "%d.%m.%Y %H:%M:%S", "%Y/%m/%d", "%Y/%m/%d %H:%M"),
    *("%d/%m/%Y", "%m/%d/%Y", "%d/%m/%Y %H:%M", "%m/%d/%Y %H:%M", "%d-%m-%Y", "%Y-%m"),
)

MOSTLY = 0.95  # share of the values present that must read as numbers, or as dates
MOST_MISSING = 0.6  # share of missing values above which a column is dropped
FLAG_FROM = 0.05  # share of missing values from which a column marks them
MOST_CATEGORIES = 30  # values with a column of their own
RAREST, RAREST_SHARE = 3, 0.02  # rows that such a value needs
MOST_RARE = 1_000  # rare values that are remembered
LARGEST, LEAST_RANGE = 1e100, 1e-100
BEYOND = 0.1  # of the training range: values farther outside are reported
DATE_SPANS = {"month": 730, "weekday": 14, "hour": 2}
"""How many days of training it takes for a part of the time to be of use for later rows."""

_DAY = 86_400  # seconds
_YES = {"yes", "true", "ja", "oui", "si", "sí", "y", "t", "j", "wahr", "vrai"}
_NO = {"no", "false", "nein", "non", "n", "f", "falsch", "faux"}
_IDENTIFIER = re.compile(r"(?:^|[\W_])(id|ids|uuid|guid|nr|no|number|index|key|row)(?:$|[\W_])")
_CAMEL = re.compile(r"[a-z](Id|ID|Nr|No)$")
_DECORATION = re.compile(r"[\s%€$£]|'(?=\d{3})")
_GROUPED_POINT = re.compile(r"[-+]?\d{1,3}(\.\d{3})+,\d+")
_GROUPED_COMMA = re.compile(r"[-+]?\d{1,3}(,\d{3})+(\.\d+)?")


class TableError(ValueError):
    """The table cannot be used as it is; the message says what to do."""


def unique(names: list[str]) -> list[str]:
    """Return names without duplicates: the second "size" becomes "size (2)".

    >>> unique(["size", "size", "age"])
    ['size', 'size (2)', 'age']
    """
    seen: set[str] = set()
    result = []
    for name in names:
        candidate, i = name, 1
        while candidate in seen:
            i += 1
            candidate = f"{name} ({i})"
        seen.add(candidate)
        result.append(candidate)
    return result


# ------------------------------------------------------------------- values of a column


def is_textual(values: Series) -> bool:
    """Return whether a column holds text, or objects that only text can stand for."""
    types = pd.api.types
    return types.is_complex_dtype(values) or not (
        types.is_numeric_dtype(values)
        or types.is_bool_dtype(values)
        or types.is_datetime64_any_dtype(values)
    )


def as_text(values: Series) -> Series:
    """Return values as text without space around it; missing or empty values are None."""
    text = values.astype(object).where(values.notna(), None)
    text = text.map(lambda value: None if value is None else str(value).strip() or None)
    return text.astype(object).where(text.notna(), None)


def as_labels(values: Series) -> Any:
    """Return values as an array of text in which missing values have a name, too."""
    return as_text(values).fillna("(missing)").to_numpy()


def read_as(kind: str, values: Series, date_format: str | None = None) -> Series:
    """Return a column as its kind: floats, dates or text; what cannot be read is missing."""
    if kind == "date":
        return as_dates(values, date_format)
    return {"number": as_numbers, "yes/no": as_truth}.get(kind, as_text)(values)


def as_numbers(values: Series) -> Series:
    """Return a column as floats; what does not read as a finite number becomes NaN.

    >>> import pandas as pd
    >>> as_numbers(pd.Series(["1 200", "7,5", "12 %", "x"])).tolist()
    [1200.0, 7.5, 12.0, nan]
    """
    plain = as_text(values).map(_plain_number) if is_textual(values) else values
    numbers = pd.to_numeric(plain, errors="coerce").astype(float)
    return numbers.replace([np.inf, -np.inf], np.nan)


def _plain_number(text: str | None) -> str | None:
    if not isinstance(text, str):
        return None
    text = _DECORATION.sub("", text)
    if _GROUPED_POINT.fullmatch(text):
        return text.replace(".", "").replace(",", ".")
    if _GROUPED_COMMA.fullmatch(text):
        return text.replace(",", "")
    return text.replace(",", ".") if text.count(",") == 1 and "." not in text else text


def as_truth(values: Series) -> Series:
    """Return a column of yes and no as 1 and 0, NaN for everything else.

    >>> import pandas as pd
    >>> as_truth(pd.Series(["ja", "Nein", "?"])).tolist()
    [1.0, 0.0, nan]
    """
    if pd.api.types.is_bool_dtype(values):
        return values.astype(float)
    known = dict.fromkeys(_YES, 1.0) | dict.fromkeys(_NO, 0.0)
    return as_text(values).map(lambda v: known.get(str(v).lower(), np.nan)).astype(float)


def as_dates(values: Series, date_format: str | None) -> Series:
    """Return a column as dates in seconds, without a time zone; NaT for everything else."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if is_textual(values):
            dates = pd.to_datetime(as_text(values), format=date_format, errors="coerce", utc=True)
        elif pd.api.types.is_datetime64_any_dtype(values):
            dates = pd.to_datetime(values, utc=True)
        else:
            dates = pd.Series(pd.NaT, index=values.index, dtype="datetime64[s, UTC]")
    return dates.dt.tz_localize(None).astype("datetime64[s]")


def date_part(dates: Series, part: str) -> Array:
    """Return a part of each date as a number: days since 1970, month, weekday or hour."""
    if part == "day":
        return dates.to_numpy().astype("datetime64[s]").astype(np.int64) / _DAY
    numbers = {"month": dates.dt.month, "weekday": dates.dt.day_of_week, "hour": dates.dt.hour}
    return numbers[part].to_numpy(float)


# ------------------------------------------------------------------- kinds of columns


def find_kind(values: Series) -> tuple[str, str | None]:
    """Return the kind of a column, and for dates in text their format.

    >>> import pandas as pd
    >>> find_kind(pd.Series(["03.01.2024", "24.12.2023"]))
    ('date', '%d.%m.%Y')
    >>> find_kind(pd.Series(["red", "blue", "red"]))[0]
    'category'
    """
    if pd.api.types.is_datetime64_any_dtype(values):
        return "date", None
    if pd.api.types.is_bool_dtype(values):
        return "yes/no", None
    present = as_text(values).dropna() if is_textual(values) else values.iloc[:0]
    if present.empty:
        return "number", None
    if {str(v).lower() for v in present.unique()[:50]} <= _YES | _NO:
        return "yes/no", None
    if as_numbers(present).notna().mean() >= MOSTLY:
        return "number", None
    date_format = _find_date_format(present)
    if date_format is not None:
        return "date", date_format
    counts = present.value_counts()
    hardly_repeats = counts.iloc[:MOST_CATEGORIES].sum() < 0.5 * len(present)
    free_text = len(counts) > MOST_CATEGORIES and hardly_repeats
    return ("text" if free_text else "category"), None


def _find_date_format(present: Series) -> str | None:
    few = present.iloc[:500]
    if not few.map(lambda v: bool(re.match(r"\d{1,4}[-./]\d", v))).all():
        return None
    for date_format in DATE_FORMATS:
        if all(as_dates(part, date_format).notna().mean() >= MOSTLY for part in (few, present)):
            return date_format
    return None


def names_identifier(name: str) -> bool:
    """Return whether the name of a column suggests that it numbers rows or other things.

    >>> [names_identifier(n) for n in ("customer_id", "Nr", "houseId", "width", "Unnamed: 0")]
    [True, True, True, False, True]
    """
    found = _IDENTIFIER.search(name.lower()) or _CAMEL.search(name)
    return found is not None or name.lower().startswith("unnamed")


def find_identifier(name: str, present: Series, kind: str) -> tuple[str, str] | None:
    """Return the sort of identifier that a column is, "unique" or "repeats", and the reason.

    None if it is none.
    """
    if len(present) < 3:
        return None
    n_unique = present.nunique()
    sort = "unique" if n_unique == len(present) else "repeats"
    if kind in ("text", "category") and sort == "unique":
        return sort, "a different text in every row"
    if kind != "number":
        return None
    numbers = as_numbers(present)
    if sort == "unique" and (numbers.diff().iloc[1:] == 1).all() and numbers.iloc[0] % 1 == 0:
        return sort, "it counts the rows"
    if names_identifier(name) and n_unique > 20 and (numbers % 1 == 0).all():
        return sort, "whole numbers, and its name suggests it"
    return None


# ------------------------------------------------------------------- specification


@dataclass(frozen=True)
class Column:
    """One column: its kind, its treatment, and what was learned from training rows."""

    name: str  #: its name in the table
    kind: str  #: one of `KINDS`
    used: bool  #: whether it is an input
    treatment: str  #: how it is encoded, or why it was dropped, in words
    identifier: str = ""  #: "unique" or "repeats" for an identifier
    fill: float = 0.0  #: the number, or the day of a date, that replaces missing values
    flag: bool = False  #: whether a column of its own marks missing values
    low: float = 0.0  #: the least number in training rows
    high: float = 0.0  #: the largest one
    categories: list[str] = field(default_factory=list)  #: values with a column each
    rare: list[str] = field(default_factory=list)  #: other values of training rows: all zeros
    parts: list[str] = field(default_factory=list)  #: of a date, some of `DATE_PARTS`
    date_format: str | None = None  #: of dates that are text

    def __post_init__(self) -> None:
        """Check the values: they may come from a file."""
        texts = [self.name, self.treatment, *self.categories, *self.rare]
        numbers = (self.fill, self.low, self.high)
        checks = {
            "kind": self.kind in KINDS,
            "text": all(isinstance(text, str) for text in texts),
            "identifier": self.identifier in ("", "unique", "repeats"),
            "numbers": all(isinstance(n, (int, float)) and np.isfinite(n) for n in numbers),
            "flags": isinstance(self.used, bool) and isinstance(self.flag, bool),
            "parts": set(self.parts) <= set(DATE_PARTS),
            "date_format": self.date_format is None or self.date_format in DATE_FORMATS,
            "inputs": not self.used or (self.kind != "text" and bool(self.input_names())),
        }
        if wrong := [name for name, good in checks.items() if not good]:
            raise ValueError(f"invalid specification of column {self.name!r}: {', '.join(wrong)}")

    def input_names(self) -> list[str]:
        """Return the names of the inputs that it becomes."""
        if self.kind == "category":
            result = [f"{self.name} = {category}" for category in self.categories]
        elif self.kind == "date":
            shown = {"day": "days since 1970"}
            result = [f"{self.name} ({shown.get(part, part)})" for part in self.parts]
        else:
            result = [self.name]
        return [*result, f"{self.name} is missing"] if self.flag else result

    def encode(self, values: Series) -> tuple[Array, list[str], list[str]]:
        """Return the inputs (N, K) that values of this column become, notes, and N flags."""
        read = read_as(self.kind, values, self.date_format)
        if self.kind == "category":
            inputs = [read == category for category in self.categories]
        elif self.kind == "date":
            dates = read.fillna(np.datetime64(round(self.fill * _DAY), "s"))
            inputs = [date_part(dates, part) for part in self.parts]
        else:
            inputs = [read.fillna(self.fill)]
        if self.flag:
            inputs.append(read.isna())
        return np.column_stack(inputs).astype(float), self._notes(values, read), self._flags(read)

    def _flags(self, read: Series) -> list[str]:
        """Return for each value what is unusual about it, "" if nothing is."""
        flags = np.full(len(read), "", dtype=object)
        if self.kind == "number":
            flags[(read < self.low).to_numpy()] = "below the training range"
            flags[(read > self.high).to_numpy()] = "above the training range"
        if self.kind == "category":
            unseen = ~read.isin([*self.categories, *self.rare]).to_numpy()
            flags[unseen] = [f"{value!r} unknown" for value in read[unseen]]
        flags[read.isna().to_numpy()] = "filled"
        return [f"{self.name}: {flag}" if flag else "" for flag in flags]

    def _notes(self, values: Series, read: Series) -> list[str]:
        """Return what is unusual about values, given the same as they were read."""
        notes = []
        missing = read.isna()
        unreadable = values[missing & as_text(values).notna()]
        if len(unreadable):
            notes.append(
                f"{len(unreadable):,} value(s) such as {str(unreadable.iloc[0])!r} cannot be read "
                f"as {self.kind} and count as missing"
            )
        if self.kind == "number":
            beyond = BEYOND * (self.high - self.low)
            n_far = int(((read < self.low - beyond) | (read > self.high + beyond)).sum())
            if n_far:
                notes.append(
                    f"{n_far:,} row(s) lie far outside the training range, "
                    f"{self.low:g} to {self.high:g}"
                )
        if self.kind == "category":
            unseen = read[~missing & ~read.isin([*self.categories, *self.rare])]
            if len(unseen):
                shown = [repr(value) for value in sorted(set(unseen))]
                notes.append(
                    f"{len(unseen):,} row(s) hold {', '.join(shown[:3])}"
                    f"{', ...' if len(shown) > 3 else ''}, never seen in training: "
                    "treated as any other rare value"
                )
        elif missing.any() and not self.flag:
            notes.append(f"{missing.sum():,} missing value(s) filled")
        return [f"column {self.name!r}: {note}" for note in notes]


class Encoded(NamedTuple):
    """Rows of a table as inputs of a model."""

    inputs: Frame  #: floats (N, M), with the index of the table
    notes: list[str]  #: sentences on missing or unseen values, for all rows
    flags: list[str]  #: for each row what is unusual, such as "age: filled"; "" if nothing is


class Columns:
    """All columns of a table, in their order."""

    def __init__(self, columns: list[Column]) -> None:
        self.columns = columns

    @property
    def used(self) -> list[Column]:
        """The columns that are inputs."""
        return [column for column in self.columns if column.used]

    @property
    def names(self) -> list[str]:
        """The names of the model's inputs."""
        return unique([name for column in self.used for name in column.input_names()])

    def places(self) -> dict[str, IntArray]:
        """Return the places of each used column among the model's inputs."""
        ends = np.cumsum([len(column.input_names()) for column in self.used])
        places = np.split(np.arange(ends[-1]), ends[:-1])
        return {column.name: place for column, place in zip(self.used, places, strict=True)}

    def encode(self, frame: Frame) -> Encoded:
        """Return the inputs of the rows of a frame, and what is unusual about them.

        Raises:
            TableError: the frame has no column that the model uses.
        """
        if not any(column.name in frame for column in self.used):
            needed = ", ".join(repr(column.name) for column in self.used[:8])
            raise TableError(f"the table has none of the model's columns: it needs {needed}")
        parts, notes, marks = [], [], []
        for column in self.used:
            if column.name in frame:
                part, unusual, flags = column.encode(frame[column.name])
            else:
                part, _, flags = column.encode(pd.Series(np.nan, index=frame.index))
                unusual = [
                    f"column {column.name!r} is missing: every row is filled as if its value were "
                    "unknown; expect larger errors"
                ]
            parts.append(part)
            notes += unusual
            marks.append(flags)
        inputs = pd.DataFrame(np.hstack(parts), columns=self.names, index=frame.index)
        joined = ["; ".join(filter(None, row)) for row in zip(*marks, strict=True)]
        return Encoded(inputs, notes, joined)

    def to_json(self) -> list[dict[str, Any]]:
        """Return the specification as plain values."""
        return [asdict(column) for column in self.columns]

    @classmethod
    def from_json(cls, content: Any) -> Self:
        """Return the columns that `to_json` described, or raise a ValueError."""
        if not isinstance(content, list):
            raise ValueError("invalid column specification")
        names = {f.name for f in fields(Column)}
        if any(not isinstance(item, dict) or item.keys() != names for item in content):
            raise ValueError(f"a column must have the entries {', '.join(sorted(names))}")
        return cls([Column(**item) for item in content])


# ------------------------------------------------------------------- learning it


def specify(
    frame: Frame, train: IntArray, target: str, groups: str | None = None, time: str | None = None
) -> Columns:
    """Return the treatment of each column of a frame.

    Args:
        frame: the table; kinds are found from all of its rows.
        train: positions of the training rows, from which values are learned.
        target: the column to predict.
        groups: the column whose groups stay together.
        time: the column to sort by.

    >>> import numpy as np, pandas as pd
    >>> frame = pd.DataFrame({"y": [1.0, 2, 3, 4], "size": [3, 1, 2, 5.5], "unit": ["m"] * 4})
    >>> [(c.name, c.treatment) for c in specify(frame, np.arange(4), "y").columns][1:]
    [('size', 'number, used as it is'), ('unit', 'dropped: the same value in every row')]
    """
    roles = {target: "the target"}
    if groups is not None:
        roles[groups] = "the groups: not an input, because new rows may come from new groups"
    columns = []
    for name in frame.columns:
        values = frame[name]
        kind, date_format = find_kind(values)
        if name in roles:
            column = Column(name, kind, False, roles[name], date_format=date_format)
        elif name == time and kind != "date":
            treatment = "the order in time: not an input, because new rows lie beyond it"
            column = Column(name, kind, False, treatment)
        else:
            column = _drop_useless(name, values, kind) or _learn(
                name, values.iloc[train], kind, date_format, name == time
            )
        columns.append(column)
    return Columns(columns)


def _drop_useless(name: str, values: Series, kind: str) -> Column | None:
    """Return the column as a dropped one if all rows show that it is of no use."""
    share = values.isna().mean()
    present = as_text(values).dropna() if is_textual(values) else values.dropna()
    identifier = ""
    if share > MOST_MISSING:
        reason = f"{share:.0%} of its values are missing"
    elif present.nunique() < 2:
        reason = "the same value in every row"
    elif found := find_identifier(name, present, kind):
        identifier, reason = found
        reason = f"an identifier ({reason})"
    elif kind == "text":
        reason = f"text with {present.nunique():,} different values, too many for categories"
    else:
        return None
    return Column(name, kind, False, f"dropped: {reason}", identifier)


def _learn(name: str, values: Series, kind: str, date_format: str | None, is_time: bool) -> Column:
    """Return the treatment that is learned from the training rows of a column."""
    read = read_as(kind, values, date_format)
    flag = bool(values.isna().mean() >= FLAG_FROM)
    if kind == "category":
        learned, words, fill = *_learn_categories(read, flag), "zeros"
    elif kind == "date":
        learned, words, fill = *_learn_dates(read, date_format, is_time), "the median date"
    else:
        as_is = "text that reads as numbers" if is_textual(values) else "number, used as it is"
        learned, words = _learn_numbers(read, "yes is 1, no is 0" if kind == "yes/no" else as_is)
        fill = f"{learned.get('fill', 0):g}"
    if not learned:
        return Column(name, kind, False, words, date_format=date_format)
    if read.isna().any():
        words += f"; missing values become {fill}" + (", and a column marks them" if flag else "")
    return Column(name, kind, True, words, flag=flag, date_format=date_format, **learned)


# Each of the following returns the fields of a `Column` that are learned from training rows, none
# if the column is dropped, and the treatment in words.
Learned = tuple[dict[str, Any], str]


def _learn_numbers(numbers: Series, words: str) -> Learned:
    low, high = float(numbers.min()), float(numbers.max())
    if numbers.nunique() < 2:
        return {}, "dropped: the same value in every training row"
    if numbers.abs().max() > LARGEST or high - low < LEAST_RANGE:
        reason = f"numbers beyond {LARGEST:g}, or a range below {LEAST_RANGE:g}"
        return {}, f"dropped: {reason}; multiply it by a power of ten"
    return {"fill": float(numbers.median()), "low": low, "high": high}, words


def _learn_categories(text: Series, flag: bool) -> Learned:
    counts = text.value_counts()  # without missing values, the most frequent first
    enough = max(RAREST, RAREST_SHARE * len(text))
    frequent = counts.index[counts >= enough].tolist()[:MOST_CATEGORIES]
    if not frequent or (len(counts) == 1 and not flag):
        return {}, "dropped: no category is frequent enough"
    n_rare = len(counts) - len(frequent)
    if len(frequent) == 2 and not n_rare:
        frequent = frequent[:1]  # the other one is its opposite
    words = f"category: {len(frequent)} column(s) of 0 and 1"
    if n_rare:
        words += f"; {n_rare} rarer value(s) have zeros in all of them"
    rare = counts.index.tolist()[len(frequent) :][:MOST_RARE]
    return {"categories": frequent, "rare": rare}, words


def _learn_dates(dates: Series, date_format: str | None, is_time: bool) -> Learned:
    present = dates.dropna()
    days = date_part(present, "day")
    parts: list[str] = [part for part in DATE_PARTS if len(set(date_part(present, part))) > 1]
    if is_time:  # days go on beyond the training rows, and so may months
        parts = [part for part in parts if np.ptp(days) >= DATE_SPANS.get(part, np.inf)]
    if not parts:
        return {}, "the order in time" if is_time else "dropped: constant"
    written = "" if date_format is None else f" (written as {date_format})"
    words = f"date{written}: {', '.join(parts)}"
    if is_time:
        words = f"the order in time, and {words}"
    return {"fill": float(np.median(days)), "parts": parts}, words
