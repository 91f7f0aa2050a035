"""What a column is: numbers, yes or no, categories, dates or text, and whether it is of use.

Kinds are read off the values of all rows; this is reading, not learning. What is learnt, such as
a fill value, is learnt from training rows alone: see `columns`.
"""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pandas as pd

Series = Any

MOSTLY = 0.95  # of the values that are there must read as numbers, or as dates
MOST_MISSING = 0.6
MOST_CATEGORIES = 30  # with a column each; the others share none
FORMATS = (
    *("%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M"),
    *("%d.%m.%Y", "%d.%m.%Y %H:%M", "%d.%m.%Y %H:%M:%S", "%Y/%m/%d", "%Y/%m/%d %H:%M"),
    *("%d/%m/%Y", "%m/%d/%Y", "%d/%m/%Y %H:%M", "%m/%d/%Y %H:%M", "%d-%m-%Y", "%Y-%m"),
)
_YES = {"yes", "true", "ja", "oui", "si", "sí", "y", "t", "j", "wahr", "vrai"}
_NO = {"no", "false", "nein", "non", "n", "f", "falsch", "faux"}
_IDENTIFIER = re.compile(r"(?:^|[\W_])(id|ids|uuid|guid|nr|no|number|index|key|row)(?:$|[\W_])")
_CAMEL = re.compile(r"[a-z](Id|ID|Nr|No)$")
_DECORATION = re.compile(r"[\s%€$£]|'(?=\d{3})")
_GROUPED_POINT = re.compile(r"[-+]?\d{1,3}(\.\d{3})+,\d+")
_GROUPED_COMMA = re.compile(r"[-+]?\d{1,3}(,\d{3})+(\.\d+)?")


def is_textual(values: Series) -> bool:
    """Tell whether a column holds text, or things that only text can stand for."""
    return pd.api.types.is_complex_dtype(values) or not (
        pd.api.types.is_numeric_dtype(values)
        or pd.api.types.is_bool_dtype(values)
        or pd.api.types.is_datetime64_any_dtype(values)
    )


def as_text(values: Series) -> Series:
    """Return values as text without space around it; what is absent or empty stays absent."""
    text = values.astype(object).where(values.notna(), None)
    text = text.map(lambda value: None if value is None else str(value).strip() or None)
    return text.astype(object).where(text.notna(), None)


def as_numbers(values: Series) -> Series:
    """Return a column as floats; what is no number becomes NaN.

    >>> import pandas as pd
    >>> as_numbers(pd.Series(["1 200", "7,5", "12 %", "x"])).tolist()
    [1200.0, 7.5, 12.0, nan]
    """
    if not is_textual(values):
        return (
            pd.to_numeric(values, errors="coerce").astype(float).replace([np.inf, -np.inf], np.nan)
        )
    numbers = pd.to_numeric(as_text(values).map(_plain_number), errors="coerce")
    return numbers.astype(float).replace([np.inf, -np.inf], np.nan)


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


def as_dates(values: Series, form: str | None) -> Series:
    """Return a column as dates in seconds, without a time zone; what is none becomes NaT."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if is_textual(values):
            dates = pd.to_datetime(as_text(values), format=form, errors="coerce", utc=True)
        elif pd.api.types.is_datetime64_any_dtype(values):
            dates = pd.to_datetime(values, utc=True)
        else:
            dates = pd.Series(pd.NaT, index=values.index, dtype="datetime64[s, UTC]")
    return dates.dt.tz_localize(None).astype("datetime64[s]")


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
    if not is_textual(values):
        return "number", None
    there = as_text(values).dropna()
    if there.empty:
        return "number", None
    if {str(v).lower() for v in there.unique()[:50]} <= _YES | _NO:
        return "yes/no", None
    if as_numbers(there).notna().mean() >= MOSTLY:
        return "number", None
    form = _date_format(there)
    if form is not None:
        return "date", form
    return ("text" if _is_free(there) else "category"), None


def _date_format(there: Series) -> str | None:
    few = there.iloc[:500]
    if not few.map(lambda v: bool(re.match(r"\d{1,4}[-./]\d", v))).all():
        return None
    for form in FORMATS:
        if all(as_dates(part, form).notna().mean() >= MOSTLY for part in (few, there)):
            return form
    return None


def _is_free(there: Series) -> bool:
    """Tell whether values hardly repeat, so that categories would say nothing."""
    counts = there.value_counts()
    return len(counts) > MOST_CATEGORIES and counts.iloc[:MOST_CATEGORIES].sum() < 0.5 * len(there)


def names_an_identifier(name: str) -> bool:
    """Tell whether a column's name says that it numbers its rows, or something else.

    >>> [names_an_identifier(n) for n in ("customer_id", "Nr", "houseId", "width", "Unnamed: 0")]
    [True, True, True, False, True]
    """
    found = _IDENTIFIER.search(name.lower()) or _CAMEL.search(name)
    return found is not None or name.lower().startswith("unnamed")


def identifies(name: str, values: Series, kind: str) -> str | None:
    """Return in words why a column is an identifier, or None."""
    there = values.dropna()
    if len(there) < 3:
        return None
    n_unique = there.nunique()
    if kind in ("text", "category"):
        return "a different text in every row: an identifier" if n_unique == len(there) else None
    if kind != "number":
        return None
    numbers = as_numbers(there)
    if not (numbers == numbers.round()).all():
        return None
    if n_unique == len(there) and (numbers.diff().iloc[1:] == 1).all():
        return "counts the rows: an identifier"
    if names_an_identifier(name) and n_unique > 20:
        repeats = "" if n_unique == len(there) else ", with repeats"
        return f"whole numbers under a name that numbers things: an identifier{repeats}"
    return None
