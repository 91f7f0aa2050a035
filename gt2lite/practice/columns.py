"""Columns of a table: their kinds, their encoding as numbers, and the specification of it.

Everything that is learned, such as fill values, ranges and categories, is learned from training
rows alone: by `specify` for a report, which also leaves out identifiers, or by `learn` for an
estimator. A `Columns` object encodes any frame in the same way; as JSON it is part of the model
file. Text is read in one way only: decimal points, no thousands marks, and the one unit of a
column. Files of other dialects are translated when they are read
(`gt2lite.practice.report.reading`).

**Unknown is its own value.** A value that is missing, unreadable or was never seen in training
must not look like any known value, least of all like the reference of a category (all zeros). Its
inputs are what one expects without knowing it: the median of a number, the share of "yes", the
shares of the categories, the mean date. A model that is linear in an input then predicts the mean
over that input. If values are missing in 5% of the training rows or more, a further input marks
them. All zeros stand for rare values, if training rows had any; a value that was never seen counts
as one of them then.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gt2lite._validation import Array, IntArray, warn
from gt2lite.practice import schema
from gt2lite.practice.dates import read_dates

Frame = Any  # pandas has no types here
Series = Any

DATE_PARTS = ("day", "month", "weekday", "hour")
_DAYS = (
    *("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y"),
    *("%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%d-%m-%y", "%m-%d-%y"),
    *("%d %b %Y", "%b %d %Y", "%d-%b-%Y", "%d/%b/%Y", "%d %b %y", "%d-%b-%y", "%Y-%b-%d"),
    *("%d%b%Y", "%b-%d-%Y", "%y-%m-%d"),
)
_MONTHS = ("%Y-%m", "%b %Y", "%b-%Y", "%m/%Y", "%m.%Y")
_TIMES = ("", " %H:%M", " %H:%M:%S", "T%H:%M", "T%H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
_COMPACT = ("%Y%m%d", "%Y%m")  # dates that look like numbers
DATE_FORMATS = (*_MONTHS, *_COMPACT, *(day + time for day in _DAYS for time in _TIMES))
"""Formats of dates in text, see `gt2lite.practice.dates`; of two that fit the first is taken."""
_SHOWN = {"%d": "DD", "%m": "MM", "%b": "MMM", "%Y": "YYYY", "%y": "YY"}
_SHOWN |= {"%H": "hh", "%I": "hh", "%M": "mm", "%S": "ss", "%p": "AM/PM"}

MOSTLY = 0.95  # share of the values present that must read as numbers, or as dates
MOST_MISSING = 0.6  # share of missing values above which a column is dropped
FLAG_FROM = 0.05  # share of missing values from which a column marks them
MOST_CATEGORIES = 30  # values with a column of their own
RAREST, RAREST_SHARE = 3, 0.02  # rows that such a value needs
MOST_RARE = 1_000  # rare values that are remembered
LARGEST, LEAST_RANGE = 1e100, 1e-100
BEYOND = 0.1  # of the training range: values farther outside are noted
DATE_SPANS = {"month": 730, "weekday": 14, "hour": 2}
"""How many days of training it takes for a part of the time to be of use for later rows."""

_DAY = 86_400  # seconds
_YES = {"yes", "true", "ja", "oui", "si", "sí", "y", "t", "j", "wahr", "vrai"}
_NO = {"no", "false", "nein", "non", "n", "f", "falsch", "faux"}
SOFT_MARKS = {"none", "missing", "unknown"}
"""Words that mean a gap among numbers and dates, and a category of their own among text."""

_NAMES_ROWS = re.compile(
    r"(?i:(?:^|[\W_])(?:ids?|uuid|guid)(?:$|[\W_])|(?:^|[\W_])nr\W*$|^unnamed\b)|[a-z](?:Id|ID|Nr)$"
)
_MAY_NAME_ROWS = re.compile(r"(?i:(?:^|[\W_])(?:no|num|number|index|key|row|rownames?|code)$)")
_NAMES_TIME = re.compile(
    r"(?i:(?:^|[\W_])(?:years?|yr|dates?|time|days?|months?|weeks?|hours?|minutes?|seconds?"
    r"|jahr|datum|zeit|tag|monat|woche|stunde)(?:$|[\W_\d]))"
)
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", re.ASCII)
_AMOUNT = re.compile(  # a number of any dialect, with its unit before or after it
    r"(?P<before>[A-Z]{0,3}[€$£¥₹]|(?:USD|EUR|GBP|CHF|JPY|CNY|INR|CAD|AUD|SEK|NOK|DKK|PLN|CZK|BRL)\b)?\s*"
    r"(?P<number>\(?[-+\u2212]?[.,]?[0-9](?:[0-9.,'\u2019 \u00a0\u202f]*[0-9])?"
    r"(?:[.,]$)?(?:[eE][-+]?[0-9]+)?\)?)\s*(?P<after>(?:[^\W\d_]|[%‰°€$£¥₹])[^\d,;:]{0,19}(?:(?<=\w)[23])?)?"
)
CODE = re.compile(r"0\d+|\d{16,}", re.ASCII)  # leading zeros, or more digits than a float holds
MONTH = re.compile(r"(?:0[1-9]|1[0-2])\.(?:19|20)\d\d", re.ASCII)  # 03.2024, which is no number
_ZONE = r"(?i):\d\d(?:[:.,]\d+)*[ \t]*(z|[a-z]{3,5}|[-+]\d\d:?(?:\d\d)?)$"
_DATED = re.compile(  # text that holds a date or a time of day
    r"(?i:(?<![\d.])(?:\d{4}([-./ ])\d{1,2}\1\d{1,2}|\d{1,2}([-./ ])\d{1,2}\2(?:\d{4}|\d\d))"
    r"(?![\d.])|^\d{1,2}\.\d{1,2}\.$|^\d{4}-\d\d$|^(?:0?[1-9]|1[0-2])/\d\d(?:\d\d)?$"
    r"|\b\d{1,2}:\d\d\b|\b\d{4}-?[WQM]\d|\bQ[1-4]\W\d{4}\b|\d\s?h\s?\d+\s?m|\d{4}\s?年|^(?=.*\d)"
    r".*(?<![^\W\d])(?:jan|feb|fév|mar|mär|mrz|apr|avr|may|mai|jun|jui|jul|aug|aoû|sep|o[ck]t|nov"
    r"|de[cz]|déc)[^\W\d]*(?![^\W\d]))"
)
FEW_TEXTS = 12  # different texts up to which numbers with text may as well be categories


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
    """Return values as text without space around it; missing or empty values are None.

    >>> import pandas as pd
    >>> as_text(pd.Series([1.0, None, 2.5])).tolist()  # gaps turn whole numbers into floats
    ['1', None, '2.5']
    """

    def text(value: object) -> str | None:
        if value is None:
            return None
        if isinstance(value, (float, np.floating)) and value.is_integer():
            value = int(value)
        return str(value).strip() or None

    found = values.astype(object).where(values.notna(), None).map(text).astype(object)
    return found.where(found.notna(), None)


def as_labels(values: Series) -> NDArray[np.object_]:
    """Return values as an array of text in which missing values have a name, too."""
    return as_text(values).fillna("(missing)").to_numpy()


def split_unit(text: str) -> tuple[str, str] | None:
    """Return a number of any dialect as it is written, and its unit; None for other text.

    >>> split_unit("3,000 sqft"), split_unit("€ 12.5"), split_unit("-7"), split_unit("A 12")
    (('3,000', 'sqft'), ('12.5', '€'), ('-7', ''), None)
    """
    found = _AMOUNT.fullmatch(text)
    if found is None or (found["before"] and found["after"]):
        return None
    return found["number"], found["before"] or (found["after"] or "").strip()


def without_unit(text: str, unit: str | None) -> str:
    """Return a number without its unit, with nothing left of a bare number among percentages."""
    if not unit:
        return text
    if text.startswith(unit):
        return text.removeprefix(unit).strip()
    if text.endswith(unit):
        return text.removesuffix(unit).strip()
    return "" if unit == "%" else text


def find_unit(texts: Sequence[str]) -> str | None:
    """Return the unit that nearly all numbers have; None if they have none or different ones.

    A bare number among numbers with a unit has the same one, except among percentages, where 0.5
    may be 50%.

    >>> find_unit(["12 kg", "15 kg", "9"]), find_unit(["12 kg", "9 lb"]), find_unit(["50%", "0.5"])
    ('kg', None, None)
    """
    counts = Counter(found[1] for text in texts if (found := split_unit(text)))
    bare = counts.pop("", 0)
    unit, n = max(counts.items(), key=lambda item: item[1], default=("", 0))
    n += bare if unit != "%" else 0
    return unit if counts and bare < MOSTLY * len(texts) <= n else None


def hard_texts(values: Series) -> Series:
    """Return the text of the values that are neither missing nor words for it."""
    texts = as_text(values).dropna()
    return texts[~texts.str.lower().isin(SOFT_MARKS)]


def read_as(kind: str, values: Series, form: str | None = None) -> Series:
    """Return a column as its kind: floats, dates or text; what cannot be read is missing.

    `form` is the format of dates, or the unit of numbers, as `find_kind` returns it.
    """
    if kind == "date":
        return as_dates(values, form)
    if kind == "number":
        return as_numbers(values, form)
    return as_truth(values) if kind == "yes/no" else as_text(values)


def as_numbers(values: Series, unit: str | None = None) -> Series:
    """Return a column as floats; what does not read as a finite number becomes NaN.

    >>> import pandas as pd
    >>> as_numbers(pd.Series(["1200", "7.5", "12 kg", "1,5"]), "kg").tolist()
    [1200.0, 7.5, 12.0, nan]
    """

    def number(text: str | None) -> float:
        plain = "" if text is None else without_unit(text, unit)
        return float(plain) if _NUMBER.fullmatch(plain) else np.nan

    if is_textual(values):
        values = as_text(values).map(number)
    return pd.to_numeric(values, errors="coerce").astype(float).replace([np.inf, -np.inf], np.nan)


def as_truth(values: Series) -> Series:
    """Return a column of yes and no, or of 1 and 0, as 1 and 0, NaN for everything else.

    >>> import pandas as pd
    >>> as_truth(pd.Series(["ja", "Nein", "?"])).tolist()
    [1.0, 0.0, nan]
    """
    if pd.api.types.is_bool_dtype(values):
        return values.astype(float)
    known = dict.fromkeys([*_YES, "1"], 1.0) | dict.fromkeys([*_NO, "0"], 0.0)
    return as_text(values).map(lambda v: known.get(str(v).lower(), np.nan)).astype(float)


def as_dates(values: Series, date_format: str | None) -> Series:
    """Return a column as dates in seconds, without a time zone; NaT for everything else.

    Text is read by the format alone, or as ISO 8601 (2024-01-31) if there is none: a day is never
    taken for a month because it would fit better.
    """
    if pd.api.types.is_datetime64_any_dtype(values):
        return values.dt.tz_localize(None).astype("datetime64[s]")
    is_text = is_textual(values) or date_format in _COMPACT
    found = read_dates(as_text(values) if is_text else [None] * len(values), date_format)
    return pd.Series(found, index=values.index)


def find_zones(values: Series) -> list[str]:
    """Return the time zones of dates as they are written, the most frequent first.

    >>> import pandas as pd
    >>> find_zones(pd.Series(["2024-04-09 00:30+02:00", "2024-04-10 08:00Z"]))
    ['+02:00', 'Z']
    """
    if not is_textual(values):
        zone = getattr(values.dtype, "tz", None)
        return [] if zone is None else [str(zone)]
    found = as_text(values).dropna().str.extract(_ZONE, expand=False)
    return list(found.value_counts(sort=True).index)


def date_part(dates: Series, part: str) -> Array:
    """Return a part of each date as a number: days since 1970, month, weekday or hour."""
    if part == "day":
        return dates.to_numpy().astype("datetime64[s]").astype(np.int64) / _DAY
    numbers = {"month": dates.dt.month, "weekday": dates.dt.day_of_week, "hour": dates.dt.hour}
    return numbers[part].to_numpy(float)


# ------------------------------------------------------------------- kinds of columns


def find_kind(values: Series) -> tuple[str, str | None]:
    """Return the kind of a column, and the format of dates, or the unit of numbers, in text.

    Digits with leading zeros are codes, and the category type of pandas is a category. Whole
    numbers are dates if all of them read as days such as 20240131, or months such as 202401.

    >>> import pandas as pd
    >>> find_kind(pd.Series(["03.01.2024", "24.12.2023"]))
    ('date', '%d.%m.%Y')
    >>> find_kind(pd.Series(["12 kg", "7.5 kg"])), find_kind(pd.Series(["12 kg", "7.5"]))
    (('number', 'kg'), ('number', 'kg'))
    >>> find_kind(pd.Series(["red", "blue", "red"]))[0], find_kind(pd.Series(["01", "12"]))[0]
    ('category', 'category')
    """
    if pd.api.types.is_datetime64_any_dtype(values):
        return "date", None
    if pd.api.types.is_bool_dtype(values):
        return "yes/no", None
    if not is_textual(values):
        compact = _find_compact_format(values)
        return ("date", compact) if compact else ("number", None)
    present = as_text(values).dropna()
    if present.empty:
        return "number", None
    if not isinstance(values.dtype, pd.CategoricalDtype):
        if {str(v).lower() for v in present.unique()[:50]} <= _YES | _NO:
            return "yes/no", None
        hard = hard_texts(present)
        if len(hard) and (date_format := _find_date_format(hard)):
            return "date", date_format
        if len(hard) and not hard.map(lambda v: CODE.fullmatch(v) is not None).any():
            for unit in (None, find_unit(hard.unique())):
                if as_numbers(hard, unit).notna().mean() >= MOSTLY:
                    return "number", unit
    counts = present.value_counts()
    hardly_repeats = counts.iloc[:MOST_CATEGORIES].sum() < 0.5 * len(present)
    free_text = len(counts) > MOST_CATEGORIES and hardly_repeats
    return ("text" if free_text else "category"), None


def _find_compact_format(numbers: Series) -> str | None:
    """Return the format with which all of at least three different numbers are days or months."""
    found = numbers.dropna().drop_duplicates()
    if len(found) < 3:
        return None
    dates = {f: as_dates(found, f) for f in _COMPACT}
    fitting = (f for f, read in dates.items() if read.dt.year.between(1900, 2099).all())
    return next(fitting, None)


def _find_date_format(present: Series) -> str | None:
    """Return the format that fits most values; of two, the one that gives a more regular order.

    These are day, month and two-digit year in several orders. Dates that rise or fall from row to
    row, that are all the first of a month, or that lie in fewer years, are taken as more likely;
    else the day comes first.
    """
    formats = [f for f in DATE_FORMATS if f not in _COMPACT or present.nunique() > 2]
    some = present.iloc[:10]
    looks = [
        _DATED.search(v) or MONTH.fullmatch(v) or re.fullmatch(r"\d{6}|\d{8}", v) for v in some
    ]
    if 2 * sum(map(bool, looks)) < len(some):
        return None
    for n in (10, 500):  # few formats fit more than some values
        few = present.iloc[:n]
        enough = 0.5 if n < 500 else MOSTLY
        formats = [f for f in formats if as_dates(few, f).notna().mean() >= enough]
    fits = {}
    for date_format in formats:
        dates = as_dates(present, date_format)
        known = dates.dropna()
        ordered = known.is_monotonic_increasing or known.is_monotonic_decreasing
        firsts, years = bool((known.dt.day == 1).all()), known.dt.year.nunique()
        fits[date_format] = (dates.notna().mean(), ordered, firsts, -years)
    best = max(fits, key=lambda f: fits[f], default=None)
    return best if best is not None and fits[best][0] >= MOSTLY else None


def is_ambiguous(values: Series, date_format: str | None) -> bool:
    """Return whether day and month, or two-digit year, could be swapped in all values."""
    form = date_format or ""
    swaps = [str.maketrans("dm", "md"), str.maketrans("dy", "yd")]
    others = [f for swap in swaps if (f := form.translate(swap)) != form and f in DATE_FORMATS]
    if not is_textual(values):
        return False
    read = values[as_dates(values, date_format).notna()]
    return any(as_dates(read, other).notna().all() for other in others)


def find_identifier(name: str, values: Series, kind: str) -> tuple[str, str] | None:
    """Return the sort of identifier that a column is, "unique" or "repeats", and the reason.

    Texts are an identifier if (nearly) every row has another one. Whole numbers are one

    - if they coincide far less often than any measured quantity would. Of n independent values
      among R possible ones, at least n (n - 1) / 2 R pairs are expected to coincide, whatever
      their distribution; fewer than an eighth of seven or more are too few for chance. Numbers of
      rows, also shuffled, with gaps or in steps of ten, hardly coincide; incomes and populations
      do, or have a wide range R. A name that says time, such as "year", speaks against it;
    - if the name says so: "customer_id" always, "house number" or "row" only if (nearly) every
      row has another value, "number of rooms" never.

    What remains: long random numbers under a name that says nothing stay inputs (`treatment`
    points out that every value differs), and ranks are left out. `specify` has `keep` and `drop`
    for both.
    """
    present = as_text(values).dropna() if is_textual(values) else values.dropna()
    n, n_unique = len(present), present.nunique()
    nearly = n_unique >= MOSTLY * n
    sort = "unique" if nearly else "repeats"
    if n < 3 or kind in ("yes/no", "date"):
        return None
    if kind != "number":
        return (sort, "a different text in nearly every row") if nearly else None
    numbers, counts = np.unique(as_numbers(present).dropna(), return_counts=True)
    if (numbers % 1 != 0).any() or np.abs(numbers).max(initial=0) > 2**53:
        return None
    is_time = _NAMES_TIME.search(name) is not None
    if nearly and not is_time and _hardly_coincide(numbers, counts, n):
        return sort, "whole numbers that hardly coincide, as numbers of rows do"
    if n_unique > 20 and (_NAMES_ROWS.search(name) or (nearly and _MAY_NAME_ROWS.search(name))):
        return sort, "whole numbers, and its name suggests it"
    return None


def _hardly_coincide(numbers: Array, counts: IntArray, n: int) -> bool:
    """Return whether fewer pairs of n values coincide than chance explains.

    `numbers` are the different values, all whole, in rising order, and `counts` their rows.
    """
    steps = np.diff(numbers).astype(np.int64)
    n_possible = steps.sum() / np.gcd.reduce(steps) + 1 if len(steps) else 1
    expected = n * (n - 1) / 2 / n_possible
    return bool(expected > 7 and (counts * (counts - 1) / 2).sum() < expected / 8)


# ------------------------------------------------------------------- specification


@dataclass(frozen=True)
class Column:
    """One column: its kind, its treatment, and what was learned from training rows."""

    name: str  #: its name in the table
    kind: str  #: "number", "yes/no", "category", "date" or "text"
    used: bool  #: whether it is an input
    treatment: str  #: how it is encoded, or why it was dropped, in words
    identifier: str = ""  #: "unique" or "repeats" for an identifier
    fill: list[float] = field(default_factory=list)  #: the inputs of an unknown value
    flag: bool = False  #: whether a further input marks missing values
    low: float = 0.0  #: the least number, or day of a date, in training rows
    high: float = 0.0  #: the largest one
    categories: list[str] = field(default_factory=list)  #: frequent values, with an input each
    rare: list[str] = field(default_factory=list)  #: other values of training rows: all zeros
    parts: list[str] = field(default_factory=list)  #: of a date, some of `DATE_PARTS`
    date_format: str | None = None  #: of dates that are text
    unit: str = ""  #: of numbers that are text
    rises: bool = False  #: whether a number never falls in the order of time

    def __post_init__(self) -> None:
        """Check what a schema cannot: how values go together."""
        valid = self.date_format in (None, *DATE_FORMATS) and (
            not self.unit or self.kind == "number"
        )
        if self.used:
            n_inputs = len(self.input_names())
            valid &= self.kind != "text" and 0 < n_inputs == len(self.fill) + self.flag
        if not valid:
            raise ValueError(f"invalid specification of column {self.name!r}")

    @property
    def runs_on(self) -> bool:
        """Whether new values lie beyond those of training rows as a matter of course."""
        return self.rises or self.kind == "date"

    @property
    def coded(self) -> list[str]:
        """The categories with an input: of two one is enough, and of one its gaps are."""
        n = len(self.categories)
        return self.categories if self.rare or n > 2 else self.categories[: n - 1]

    def input_names(self) -> list[str]:
        """Return the names of the inputs that it becomes."""
        if self.kind == "category":
            result = [f"{self.name} = {category}" for category in self.coded]
        elif self.kind == "date":
            shown = {"day": "days since 1970"}
            result = [f"{self.name} ({shown.get(part, part)})" for part in self.parts]
        else:
            result = [self.name]
        return [*result, f"{self.name} is missing"] if self.flag else result

    def read(self, values: Series) -> Series:
        """Return values as this kind of column, in its format or unit: floats, dates or text."""
        return read_as(self.kind, values, self.date_format if self.kind == "date" else self.unit)

    def encode(self, values: Series) -> tuple[Array, list[str], list[str]]:
        """Return the inputs (N, K) that values of this column become, notes, and N flags."""
        read = self.read(values)
        missing = read.isna().to_numpy()
        unseen, measured = self._find_unseen(read), self._measure(read)
        inputs = self._compute_inputs(read)
        inputs[missing if self.rare else missing | unseen] = self.fill
        if self.flag:
            inputs = np.column_stack([inputs, missing])
        flags = np.full(len(read), "", dtype=object)
        words = [w if w and w.lower() not in SOFT_MARKS else "" for w in as_text(values[missing])]
        flags[missing] = [f"{w!r} unreadable, filled" if w else "filled" for w in words]
        flags[unseen] = [f"{value!r} unknown" for value in read[unseen]]
        flags[measured < self.low] = "below the training range"
        if not self.runs_on:  # otherwise one note says so
            flags[measured > self.high] = "above the training range"
        notes = self._sum_up(flags, measured)
        if self.unit and not is_textual(values):
            notes.append(
                f"column {self.name!r}: its numbers have no unit, and {self.unit!r} is taken"
            )
        return inputs, notes, [f"{self.name}: {flag}" if flag else "" for flag in flags]

    def _compute_inputs(self, read: Series) -> Array:
        """Return the inputs (N, K) of values as `read_as` returns them, before gaps are filled."""
        if self.kind == "category":
            inputs = np.array([read == category for category in self.coded], dtype=float)
            return inputs.reshape(len(self.coded), len(read)).T
        if self.kind == "date":
            return np.column_stack([date_part(read, part) for part in self.parts])
        return read.to_numpy(float)[:, None].copy()

    def _find_unseen(self, read: Series) -> NDArray[np.bool_]:
        """Return which values (N,) are categories that training rows did not have."""
        if self.kind != "category":
            return np.zeros(len(read), dtype=bool)
        return (read.notna() & ~read.isin([*self.categories, *self.rare])).to_numpy()

    def _measure(self, read: Series) -> Array:
        """Return the values (N,) that have a training range: numbers, or days of dates.

        A missing value lies in the range; values of other kinds are NaN, neither in nor out.
        """
        if self.kind not in ("number", "date"):
            return np.full(len(read), np.nan)
        numbers = date_part(read, "day") if self.kind == "date" else read.to_numpy(float)
        return np.where(read.isna(), self.low, numbers)

    def _sum_up(self, flags: Iterable[str], measured: Array) -> list[str]:
        """Return a note on the flags and on values far outside the training range, if any."""
        counts = Counter(flag for flag in flags if not flag.endswith("range"))
        expected = {"", "filled"} if self.flag else {""}
        notes = [f"{flag} in {n:,} row(s)" for flag, n in counts.items() if flag not in expected]
        notes[3:] = ["..."] if len(notes) > 3 else []
        if self.runs_on and (later := int((measured > self.high).sum())):
            end = np.datetime64(int(self.high), "D") if self.kind == "date" else f"{self.high:g}"
            notes.append(f"beyond {end}, where training ends, in {later:,} row(s)")
        room = np.inf if self.runs_on else BEYOND * (self.high - self.low)
        far = int(((measured < self.low - room) | (measured > self.high + room)).sum())
        if far:
            notes.append(
                f"far outside the training range, {self.low:g} to {self.high:g}, in {far:,} row(s)"
            )
        return [f"column {self.name!r}: {'; '.join(notes)}"] if notes else []


def _written(date_format: str | None) -> str:
    """Return the format of dates in words; dates that are not text have none."""
    if date_format is None:
        return ""
    for code, letters in _SHOWN.items():
        date_format = date_format.replace(code, letters)
    return f" (written as {date_format})"


class Encoded(NamedTuple):
    """Rows of a table as inputs of a model."""

    inputs: Frame  #: floats (N, M), with the index of the table
    notes: list[str]  #: sentences on missing or unseen values, for all rows
    flags: list[str]  #: for each row what is unusual, such as "age: filled"; "" if nothing is


def _plain(name: object) -> str:
    return " ".join(str(name).split()).casefold()


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

        Names that differ in case or spaces are matched. A missing column is unknown in all rows.

        Raises:
            TableError: the frame lacks most columns that the model uses.
        """
        renamed = self._match_names(frame)
        notes = [f"column {old!r} was taken for {name!r}" for old, name in renamed.items()]
        frame = frame.rename(columns=renamed)
        lacking = [column.name for column in self.used if column.name not in frame]
        if 2 * len(lacking) > len(self.used):
            shown = ", ".join(map(repr, lacking[:8])) + ", ..." * (len(lacking) > 8)
            raise TableError(
                f"the table lacks {len(lacking)} of the {len(self.used)} columns that the model "
                f"uses: {shown}; it has {', '.join(map(repr, list(frame.columns)[:8]))}"
            )
        parts, marks = [], []
        for column in self.used:
            gap = pd.Series(None, index=frame.index, dtype=object)
            part, unusual, flags = column.encode(frame.get(column.name, gap))
            if column.name in lacking:
                unusual = [f"column {column.name!r} is missing, and filled in every row"]
            parts.append(part)
            notes += unusual
            marks.append(flags)
        inputs = pd.DataFrame(np.hstack(parts), columns=self.names, index=frame.index)
        joined = ["; ".join(filter(None, row)) for row in zip(*marks, strict=True)]
        return Encoded(inputs, notes, joined)

    def _match_names(self, frame: Frame) -> dict[str, str]:
        """Return which names of a frame stand for columns that it lacks, without ambiguity."""
        lacking = [column.name for column in self.used if column.name not in frame]
        known = {column.name for column in self.columns}
        new = {name: _plain(name) for name in frame if name not in known}
        alike, wanted = Counter(new.values()), Counter(map(_plain, lacking))
        sure = {name for name in new.values() if alike[name] == wanted[name] == 1}
        by_plain = {_plain(name): name for name in lacking}
        return {name: by_plain[plain] for name, plain in new.items() if plain in sure}

    def to_json(self) -> list[dict[str, Any]]:
        """Return the specification as plain values."""
        return [asdict(column) for column in self.columns]

    @classmethod
    def from_json(cls, content: Any) -> Self:
        """Return the columns that `to_json` described, or raise a ValueError."""
        schema.check(content, "columns")
        return cls([Column(**item) for item in content])


# ------------------------------------------------------------------- learning it


def specify(
    frame: Frame,
    train: IntArray,
    target: str | None = None,
    groups: str | None = None,
    time: str | None = None,
    keep: Sequence[str] = (),
    drop: Sequence[str] = (),
) -> Columns:
    """Return the treatment of each column of a frame.

    Args:
        frame: the table; kinds, and which columns are of no use, are found from all of its rows.
        train: positions of the training rows, from which values are learned.
        target: the column to predict; None if there is none in the frame.
        groups: the column whose groups stay together.
        time: the column to sort by.
        keep: columns to use even if they look like identifiers, or have many gaps.
        drop: columns to leave out.

    >>> import numpy as np, pandas as pd
    >>> frame = pd.DataFrame({"y": [1.0, 2, 3, 4], "size": [3, 1, 2, 5.5], "unit": ["m"] * 4})
    >>> [(c.name, c.treatment) for c in specify(frame, np.arange(4), "y").columns][1:]
    [('size', 'number, used as it is'), ('unit', 'dropped: the same value in every row')]
    """
    _check_choice(frame, (target, groups), keep, drop)
    roles = dict.fromkeys(drop, "dropped: as asked for") | {
        target: "the target",
        groups: "the groups: not an input, because new rows may come from new groups",
    }
    columns, order = [], _time_order(frame, time)
    for name, values in frame.items():
        kind, form = find_kind(values)
        if name == time and kind != "date":
            roles[name] = "the order in time: not an input, because new rows lie beyond it"
        words, identifier = roles.get(name, ""), ""
        if name not in roles and name not in keep:
            words, identifier = _find_useless(name, values, kind, form)
        if words:
            columns.append(Column(name, kind, False, words, identifier, **_spelling(kind, form)))
        else:
            column = _learn_column(values, train, kind, form, name == time)
            rises = (
                kind == "number"
                and order is not None
                and _rises(read_as(kind, values, form), order)
            )
            columns.append(replace(column, rises=column.used and rises))
    return Columns(columns)


def _time_order(frame: Frame, time: str | None) -> IntArray | None:
    """Return positions of the rows in the order of a column or of the first dates, if any."""
    for name in frame.columns if time is None else [time]:
        kind, form = find_kind(frame[name])
        if kind == "date" or time is not None:
            read = read_as(kind, frame[name], form)
            return np.argsort(read.to_numpy(), kind="stable")
    return None


def _rises(numbers: Series, order: IntArray) -> bool:
    """Return whether numbers never fall in an order of the rows, and take more than two values."""
    ordered = numbers.iloc[order].dropna()
    return ordered.nunique() > 2 and bool(ordered.is_monotonic_increasing)


def _spelling(kind: str, form: str | None) -> dict[str, Any]:
    """Return what `find_kind` found beside the kind as fields of a `Column`."""
    return {"date_format": form} if kind == "date" else {"unit": form or ""}


def _check_choice(
    frame: Frame, taken: Sequence[str | None], keep: Sequence[str], drop: Sequence[str]
) -> None:
    """Raise an error if a column to keep or drop is not there, or has another role."""
    for option, names in (("keep", keep), ("drop", drop)):
        for name in names:
            if name not in frame:
                raise TableError(f"{option}: there is no column {name!r}")
            if name in taken or (name in keep and name in drop):
                raise TableError(f"{option}: column {name!r} has another role already")


def learn(frame: Frame) -> Columns:
    """Return the treatment of each column for an estimator, learned from all rows of a frame.

    Nothing is left out as an identifier. Columns that cannot be inputs are named in a warning.
    """
    for name, values in frame.items():
        if pd.api.types.is_float_dtype(values) and (n := int(np.isinf(values.astype(float)).sum())):
            raise ValueError(f"X: column {name!r} has {n} infinite value(s): drop those rows")
    found = specify(frame, np.arange(len(frame)), keep=frame.columns)
    useless = [column for column in found.columns if not column.used]
    dropped = [f"{c.name!r} ({c.treatment.removeprefix('dropped: ')})" for c in useless]
    if not found.used:
        raise ValueError(f"X has no column that can be an input: {'; '.join(dropped)}")
    if dropped:
        warn(f"X: these columns are not used: {'; '.join(dropped)}", UserWarning)
    return found


def _find_useless(name: str, values: Series, kind: str, form: str | None) -> tuple[str, str]:
    """Return why all rows show that a column is of no use, and the sort of identifier it is."""
    share = values.isna().mean()
    if share > MOST_MISSING:
        return f"dropped: {share:.0%} of its values are missing", ""
    if as_text(values).nunique() < 2:
        return "dropped: the same value in every row", ""
    identifier, reason = find_identifier(name, values, kind) or ("", "")
    if kind == "number" and form:  # what has a unit is an amount
        return "", ""
    if (reason or kind == "text") and (odd := describe_odd(values, kind)):
        return f"dropped: {odd}", ""
    return reason and f"dropped: an identifier ({reason})", identifier


def describe_odd(values: Series, kind: str) -> str:
    """Return what a column seems to hold that was not read, and the way out; "" for mere text."""
    if kind not in ("text", "category") or not is_textual(values):
        return ""
    texts = hard_texts(values).unique()
    if len(texts) <= FEW_TEXTS or any(CODE.fullmatch(text) for text in texts):
        return ""
    shown = " and ".join(map(repr, texts[:2]))
    if 2 * sum(_DATED.search(text) is not None for text in texts) >= len(texts):
        how = "write days as 2024-01-31, and times of day as hours, 14.5"
        return f"dates or times that could not be read, such as {shown}: {how}"
    alike: dict[tuple[str, bool], list[str]] = {}  # texts by unit, and by whether they read
    for text in texts:
        bare = text.strip("~<>≤≥≈*+-\u2212 ")
        if (found := split_unit(bare)) and found[0].count(".") < 2:  # 10.2.1 is a version
            reads = bare == text and _NUMBER.fullmatch(found[0]) is not None
            alike.setdefault((found[1], reads), []).append(text)
    sorts = sorted(alike.values(), key=len, reverse=True)[:4]
    if sum(map(len, sorts)) >= MOSTLY * len(texts):
        shown = " and ".join(repr(some[0]) for some in sorts[:2])
        return f"numbers with text, such as {shown}: write plain numbers in one unit"
    return ""


class Learned(NamedTuple):
    """Findings of training rows about a column."""

    fields: dict[str, Any]  #: of its `Column`; none if it is dropped
    words: str  #: its treatment
    fill: str = ""  #: the value that stands for missing ones, in words


def _learn_column(
    values: Series, train: IntArray, kind: str, form: str | None, is_time: bool
) -> Column:
    """Return the treatment of a column that is an input if its training rows allow it."""
    read = read_as(kind, values.iloc[train], form)
    flag = bool(read.isna().mean() >= FLAG_FROM)
    if kind == "category":
        found = _learn_categories(read, flag)
        if found.fields and (odd := describe_odd(values, kind)):
            found = found._replace(words=f"{found.words}. It holds {odd}")
    elif kind == "date":
        found = _learn_dates(read, form, is_time, is_ambiguous(values, form))
        if zones := find_zones(values):
            found = found._replace(words=f"{found.words}. Hours as written, in {', '.join(zones)}")
    elif kind == "text":
        n_texts = read.nunique()
        words = f"dropped: text with {n_texts:,} different values, too many for categories"
        found = Learned({}, words)
    else:
        called = "text that reads as numbers" if is_textual(values) else "number, used as it is"
        found = _learn_numbers(read, kind, f"numbers with text: {form!r}" if form else called)
    used, words = bool(found.fields), found.words
    if used and read.isna().any():
        words += f"; missing values become {found.fill}" + ", and a column marks them" * flag
    learned = {"flag": used and flag, **_spelling(kind, form), **found.fields}
    return Column(values.name, kind, used, words, **learned)


def _learn_numbers(numbers: Series, kind: str, called: str) -> Learned:
    low, high = float(numbers.min()), float(numbers.max())
    if numbers.nunique() < 2:
        return Learned({}, "dropped: the same value in every training row")
    if numbers.abs().max() > LARGEST or high - low < LEAST_RANGE:
        reason = f"numbers beyond {LARGEST:g}, or a range below {LEAST_RANGE:g}"
        return Learned({}, f"dropped: {reason}; multiply it by a power of ten")
    if kind == "yes/no":
        fill, words = float(numbers.mean()), "yes is 1, no is 0"
    else:
        fill, words = float(numbers.median()), called
        present = numbers.dropna()
        if len(present) > 20 and present.is_unique and (present % 1 == 0).all():
            words += " (every value differs: drop it if it names rows)"
    return Learned({"fill": [fill], "low": low, "high": high}, words, f"{fill:g}")


def _learn_categories(text: Series, flag: bool) -> Learned:
    counts = text.value_counts()  # without missing values, the most frequent first
    enough = max(RAREST, RAREST_SHARE * len(text))
    frequent = counts.index[counts >= enough].tolist()[:MOST_CATEGORIES]
    if not frequent or (len(counts) == 1 and not flag):
        return Learned({}, "dropped: no category is frequent enough, or there is only one")
    rare = counts.index.tolist()[len(frequent) :]
    column = Column("", "category", False, "", categories=frequent, rare=rare)
    words = f"category: {len(column.coded)} column(s) of 0 and 1"
    if rare:
        words += f"; {len(rare)} rarer value(s) have zeros in all of them"
    shares = (counts[column.coded] / counts.sum()).tolist()
    learned = {"fill": shares, "categories": frequent, "rare": rare[:MOST_RARE]}
    return Learned(learned, words, "the shares of the values")


def _learn_dates(
    dates: Series, date_format: str | None, is_time: bool, is_ambiguous: bool
) -> Learned:
    present = dates.dropna()
    days = date_part(present, "day")
    parts: list[str] = [part for part in DATE_PARTS if len(set(date_part(present, part))) > 1]
    if is_time:  # days go on beyond the training rows, and so may months
        parts = [part for part in parts if np.ptp(days) >= DATE_SPANS.get(part, np.inf)]
    written = _written(date_format)
    check = ". Day, month or year could be the other way round: check it" if is_ambiguous else ""
    if not parts:
        words = f"the order in time{written}" if is_time else "dropped: constant"
        return Learned({}, words + check)
    words = f"date{written}: {', '.join(parts)}"
    if "%y" in (date_format or ""):
        words += ". Two-digit years were read as 1969 to 2068: check it"
    if is_time:
        words = f"the order in time, and {words}"
    fill = [float(date_part(present, part).mean()) for part in parts]
    learned = {"fill": fill, "low": float(days.min()), "high": float(days.max()), "parts": parts}
    return Learned(learned, words + check, "the mean date")
