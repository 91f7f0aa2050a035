r"""Numbers and tables on the pages of the book.

`glue_facts` gives prose its numbers: a fact is written into a sentence with the role
`` {glue:text}`prefix_field:.1f` ``, so that no number is typed by hand. `table` shows a DataFrame,
or other rows, as a numbered table. The other functions format a number so that a sentence reads
well at every value.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from IPython.display import Markdown

_STARTED = time.perf_counter()  # a chapter imports this module in its first cell

NO_BREAK = "\N{NO-BREAK SPACE}"  # holds a number and its unit on one line
_DIGITS = "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"
_RAISED = str.maketrans("-0123456789", _DIGITS)
_NUMBERS = re.compile(rf"[-+*<≤±\N{{MULTIPLICATION SIGN}}\N{{EN DASH}}%.,e\d\s{_DIGITS}]*|inf|nan")

# ------------------------------------------------------------------------- on the page


def glue_facts(prefix: str, facts: Any = (), **more: Any) -> None:
    """Give the prose of a page the fields of `facts` and the keywords, as `prefix_field`.

    Args:
        prefix: Begins the name of every number, so that pages do not get in each other's way.
        facts: A mapping or a row of a DataFrame.
        more: Further facts by name.

    Raises:
        TypeError: A fact is neither text nor a number nor a bool.
        ValueError: A fact is given twice.
    """
    from myst_nb import glue

    known = dict(facts)
    if twice := sorted(known.keys() & more.keys()):
        raise ValueError(f"a fact must be given once; {', '.join(twice)} is in facts and keywords")
    plain = {}
    for field, value in (known | more).items():
        value = value.item() if isinstance(value, np.generic) else value
        if not isinstance(value, str | int | float):  # a bool is an int
            raise TypeError(f"{field} must be text, a number or a bool, got {type(value).__name__}")
        plain[f"{prefix}_{field}"] = value
    for name, value in plain.items():
        glue(name, value, display=False)


def table(
    name: str,
    rows: pd.DataFrame | Iterable[Any],
    columns: Mapping[str, str] | None = None,
    caption: str = "",
) -> Markdown:
    r"""Return rows as a numbered table with a caption; make it the last value of a cell.

    Columns of numbers are aligned on the right. Without rows there is one that says "none".

    Args:
        name: The page refers to the table by `` {numref}`tab-name` ``; give it without "tab-".
        rows: A DataFrame, or mappings, named tuples or dataclasses. The named index of a DataFrame
            counts as columns, so the result of `groupby` can be given as it is.
        columns: Maps a header to a format of fields. None shows all columns: text as it is, and
            numbers as `str` writes them.
        caption: One sentence or more, in Markdown.

    >>> rows = [{"data": "ww", "rmse": 80.92}, {"data": "pp", "rmse": 7.5}]
    >>> print(table("tiny", rows, {"set": "`{data}`", "RMSE": "{rmse:.1f}"}, "Two rows.").data)
    :::{table} Two rows.
    :name: tab-tiny
    <BLANKLINE>
    | set | RMSE |
    |---|---:|
    | `ww` | 80.9 |
    | `pp` | 7.5 |
    <BLANKLINE>
    :::
    """
    from IPython.display import Markdown

    if name.startswith("tab-"):
        raise ValueError(f'name must come without "tab-", which is added to it; got "{name}"')
    if not isinstance(rows, pd.DataFrame):
        rows = pd.DataFrame(list(rows), dtype=object)  # None stays None, an int an int
    elif any(name is not None for name in rows.index.names):
        rows = rows.reset_index()
    if columns is None:
        columns = {str(name): f"{{{i}}}" for i, name in enumerate(rows)}
    cells = [
        [_cell(form.format(*row.values(), **row)) for form in columns.values()]
        for row in rows.rename(columns=str).to_dict("records")
    ] or [["none", *[""] * (len(columns) - 1)]]
    numeric = [
        all(map(_NUMBERS.fullmatch, column)) and any(map(str.isdigit, "".join(column)))
        for column in zip(*cells, strict=True)
    ]
    rule = "|".join("---:" if right else "---" for right in numeric)
    head, *body = (f"| {' | '.join(line)} |" for line in [map(_cell, columns), *cells])
    lines = [f":::{{table}} {_one_line(caption)}", f":name: tab-{name}", ""]
    text = "\n".join([*lines, head, f"|{rule}|", *body, "", ":::"])
    return Markdown(text)  # type: ignore[no-untyped-call]


def _cell(text: str) -> str:
    return re.sub(r"(?<!\\)\|", r"\\|", _one_line(text))  # a bare | would end the cell


def _one_line(text: str) -> str:
    return " ".join(line.strip(" ") for line in text.strip().splitlines())


# ------------------------------------------------------------------------- in a sentence


def p_value(p: float) -> str:
    r"""Return a p-value with three decimals, or that it is smaller.

    >>> p_value(0.0123), p_value(0.0004)
    ('0.012', '<\xa00.001')
    """
    return f"<{NO_BREAK}0.001" if p < 0.001 else f"{p:.3f}"


def percent(value: float, digits: int = 0) -> str:
    """Return a percentage with its sign, without a minus before 0.

    >>> percent(24.3), percent(-0.04, digits=1)
    ('24%', '0.0%')
    """
    return f"{value:z.{digits}f}%"


def count(n: int, one: str, many: str) -> str:
    """Return how many there are, in words that fit the number.

    >>> [count(n, "row", "rows") for n in (0, 1, 3, 1200)]
    ['no rows', '1 row', '3 rows', '1,200 rows']
    """
    return f"no {many}" if n == 0 else f"1 {one}" if n == 1 else f"{n:,} {many}"


def out_of(n: int, total: int, one: str, many: str) -> str:
    """Return how many of all there are, in words that fit the numbers.

    >>> [out_of(n, 8, "row", "rows") for n in (0, 1, 8)], out_of(2, 2, "row", "rows")
    (['none of 8 rows', '1 of 8 rows', 'all 8 rows'], 'both rows')
    """
    if total == 1:
        return f"the only {one}" if n else f"no {one}"
    if n == total == 2:
        return f"both {many}"
    return (
        f"all {total:,} {many}"
        if n == total
        else f"{f'{n:,}' if n else 'none'} of {total:,} {many}"
    )


def duration(seconds: float) -> str:
    """Return a time in the unit that suits it.

    >>> [duration(s) for s in (0.2, 1.2, 48.0, 90.0, 430.0)]
    ['less than a second', '1 second', '48 seconds', '1.5 minutes', '7.2 minutes']
    """
    if round(seconds) >= 60:
        return f"{seconds / 60:.1f} minutes"
    return count(round(seconds), "second", "seconds") if seconds >= 0.5 else "less than a second"


def run_time() -> str:
    """Return how long the chapter has run: the time since this module was imported, in words."""
    return duration(time.perf_counter() - _STARTED)


def compared(difference: float, less: str, more: str, digits: int = 0) -> str:
    """Return a difference in percent as a comparison, or "equal" if it rounds to 0.

    >>> [compared(d, "narrower", "wider") for d in (-24.2, 3.1, 0.4)]
    ['24% narrower', '3% wider', 'equal']
    """
    size = percent(abs(difference), digits)
    if size == percent(0, digits):
        return "equal"
    return f"{size} {less if difference < 0 else more}"


def power_of_ten(value: float, digits: int = 1) -> str:
    """Return a number that is too large or too small for plain digits, kept on one line.

    >>> power_of_ten(0.0000123).replace(NO_BREAK, " "), power_of_ten(0.0)
    ('1.2 × 10⁻⁵', '0')
    """  # noqa: RUF002 - the sign is meant
    if value == 0:
        return "0"
    front, exponent = f"{value:.{digits}e}".split("e")
    raised = str(int(exponent)).translate(_RAISED)
    return f"{front}{NO_BREAK}\N{MULTIPLICATION SIGN}{NO_BREAK}10{raised}"


def mean_sd(values: Iterable[float], digits: int = 2) -> str:
    """Return mean and standard deviation as tables print them.

    >>> mean_sd([1.0, 2.0, 3.0])
    '2.00 ± 1.00'
    """
    x = np.asarray(list(values), dtype=float)
    return f"{x.mean():.{digits}f} ± {x.std(ddof=1):.{digits}f}"


def case(dataset: str, level: float) -> str:
    """Return the name of a row of the tables: a data set at a level.

    >>> case("ww", 0.9)
    'WW 90%'
    """
    return f"{dataset.upper()} {100 * level:.0f}%"
