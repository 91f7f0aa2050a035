"""Dates in text: one way to read them, in Python and in `evaluator.js`.

A format such as "%d.%m.%Y %H:%M" consists of codes and of what stands between them. The reading of
a cell depends on nothing else: not on other cells, the present day or the version of a library.
`tests/date_spellings.json` lists what is read and what is refused; it tests both languages.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from functools import cache

import numpy as np
from numpy.typing import NDArray

CODES = {
    "%Y": r"(?P<Y>\d{4})",
    "%y": r"(?P<y>\d\d)",  # 1969 to 2068
    "%m": r"(?P<m>1[0-2]|0?[1-9])",
    "%b": r"(?P<b>[a-zäÄ]{3,9})\.?",  # three or more letters of a name in `MONTHS`
    "%d": r"(?P<d>3[01]|[12]\d|0?[1-9])",
    "%H": r"(?P<H>2[0-3]|[01]?\d)",
    "%I": r"(?P<I>1[0-2]|0?[1-9])",
    "%M": r"(?P<M>[0-5]?\d)",
    "%S": r"(?P<S>[0-5]?\d)(?:[.,]\d+)?",  # fractions are cut
    "%p": r"(?P<p>[ap])\.?m\.?",
}
"""Patterns of the codes. Codes that touch, such as those of "%Y%m%d", have all their digits."""

ISO = (
    r"%Y([-/.])%m(?:\2%d(?:(?:T|[ \t]+)%H(?::%M(?::%S)?)?%z)?)?",
    r"%Y%m%d(?:(?:T|[ \t]+)%H(?::%M(?::%S)?)?%z)?",
    r"%Y%m%d(?:T|[ \t]+)%H%M%S%z",
    r"%Y",
)
"""Where no format is given these forms of ISO 8601 are read."""

ZONE = r"(?:[ \t]*(?:z|[a-z]{3,5}|[-+](?:2[0-3]|[01]\d)(?::?[0-5]\d)?))?"
WEEKDAY = r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,?[ \t]+)?"
ORDINAL = r"(?:st|nd|rd|th|\.)?"

MONTHS = (
    *("january januar", "february februar", "march märz mrz", "april", "may mai", "june juni"),
    *("july juli", "august", "september", "october oktober", "november", "december dezember"),
)


def read_dates(texts: Iterable[str | None], date_format: str | None) -> NDArray[np.datetime64]:
    """Return texts as dates in seconds, NaT for what is not read.

    A zone may follow any time and is ignored: the hour is the one that is written. A comma may
    stand before a space. With names of months, weekdays may precede and "th" may follow the day.

    Args:
        texts: cells without space around them; None for empty ones.
        date_format: made of `CODES`; None for ISO 8601.

    >>> read_dates(["3.1.2024", "31.2.2024", None], "%d.%m.%Y").astype(str).tolist()
    ['2024-01-03T00:00:00', 'NaT', 'NaT']
    >>> read_dates(["20240131", "2024-01-31 09:30 +02:00"], None).astype(str).tolist()
    ['2024-01-31T00:00:00', '2024-01-31T09:30:00']
    """
    cells = list(texts)
    found = {cell: _read_date(cell, date_format) if cell else None for cell in set(cells)}
    return np.array([found[cell] for cell in cells], "datetime64[s]")


@cache
def _patterns(date_format: str | None) -> list[re.Pattern[str]]:
    """Return the regular expressions of a format."""

    def expand(run: re.Match[str]) -> str:
        codes = [known[code] for code in re.findall("%.", run[0])]
        return re.sub(r"([]0])\?", r"\1", "".join(codes)) if len(codes) > 1 else codes[0]

    known, given = CODES | {"%z": ZONE}, list(ISO)
    if date_format is not None:
        spaced = re.sub(
            " (%p)?",
            lambda s: r"[ \t]*%p" if s[1] else r",?[ \t]+",
            date_format.replace(".", r"\."),
        )
        before = WEEKDAY if "%b" in date_format else ""
        after = "%z" if re.search("%[HI]", date_format) else ""
        given = [before + spaced + after]
        if before:
            known["%d"] += ORDINAL
    expanded = (re.sub("(?:%[YmdHMS])+|%.", expand, one) for one in given)
    return [re.compile(one, re.ASCII | re.IGNORECASE) for one in expanded]


def _read_date(text: str, date_format: str | None) -> datetime | None:
    matches = (pattern.fullmatch(text) for pattern in _patterns(date_format))
    parts = next((match.groupdict() for match in matches if match), None)
    if parts is None:
        return None
    found = {code: value.lower() for code, value in parts.items() if value}
    year = int(found["Y"]) if "Y" in found else 1969 + (int(found["y"]) - 69) % 100
    month, hour = int(found.get("m", 1)), int(found.get("H", 0))
    if "b" in found:
        named = (k for k, names in enumerate(MONTHS, 1) if f" {found['b']}" in f" {names}")
        month = next(named, 0)
    if "p" in found:
        hour = int(found["I"]) % 12 + 12 * (found["p"] == "p")
    day, minute, second = (int(found.get(code, code == "d")) for code in "dMS")
    try:
        return datetime(year, month, day, hour, minute, second)
    except ValueError:  # such as 31 February
        return None
