"""Readers of tables: CSV of any dialect, Excel, Parquet, and data frames.

Encoding, separator, decimal mark and header of a file are found from the file itself, and reported
in notes. There is one dialect for a file: its decimal mark, and thousands marks, are those of every
cell of every column; in the frame that is returned every number has a decimal point. A row with too
few or too many cells is refused with its line number, so that no cell moves to another column. What
a column means is not decided here: see `gt2lite.columns`.
"""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import os
import re
from collections import Counter
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from gt2lite.columns import (
    CODE,
    SOFT_MARKS,
    Frame,
    TableError,
    as_text,
    is_textual,
    unique,
)

SEPARATORS = {"\t": "tab", "|": "bar", ";": "semicolon", ",": "comma", " ": "space"}
MOST_BYTES = 2**28  # of the text of a file, uncompressed: 256 MB
MOST_COLUMNS = 10_000
_TEXT_FILES = (".csv", ".tsv", ".txt", ".dat")
_EXCEL = (".xlsx", ".xlsm")
_PARQUET = (".parquet", ".pq")
_LOOKED_AT = 500  # lines that decide on the dialect
MISSING = [
    *("", "?", "-", "--", ".", "NA", "N/A", "n/a", "n.a.", "N.A.", "na", "#N/A", "#NA", "<NA>"),
    *("NaN", "nan", "-nan", "NULL", "null", "k.A."),
]

_EXPONENT = r"(?:[eE][-+]?\d+)?"
_CELL = {  # numbers by decimal mark, also with a mark between groups of three digits
    decimal: re.compile(
        r"(?:[€$£] *)?(?P<number>[-+]?(?:\d+|[1-9]\d{0,2}"
        rf"(?P<mark>[{group}'\u2019 \u00a0\u202f])\d{{3}}(?:(?P=mark)\d{{3}})*)"
        rf"(?:[{decimal}]\d*)?{_EXPONENT}|[-+]?[{decimal}]\d+{_EXPONENT})(?: *[%€$£])?",
        re.ASCII,
    )
    for decimal, group in ((".", ","), (",", "."))
}
_MARKS = {".": "point", ",": "comma"}

Row = tuple[int, list[str]]  # the number of a line, and its cells


class Table(NamedTuple):
    """A table, its name, and notes on how it was read."""

    frame: Frame
    name: str
    notes: list[str]


def read(table: Any, column: str | None = None, sheet: str | None = None) -> Table:
    """Return a file or a data frame as a `Table`; rows of a file are counted from 1.

    Args:
        table: the path of a file, or a pandas data frame (anything with `to_pandas` is turned
            into one), whose index is kept.
        column: of an Excel file the first sheet that has this column is read.
        sheet: the name of the sheet of an Excel file, instead of that.

    >>> import pandas as pd
    >>> read(pd.DataFrame({"size": [1, 2]})).notes
    ['A data frame of 2 rows and 1 columns.']
    """
    if isinstance(table, (str, os.PathLike)):
        name = Path(table).name
        frame, notes = _read_file(Path(table), column, sheet)
        frame.index = pd.RangeIndex(1, len(frame) + 1)
    else:
        name = "table"
        if not isinstance(table, pd.DataFrame) and hasattr(table, "to_pandas"):
            table = table.to_pandas()
        if not isinstance(table, pd.DataFrame):
            raise TableError(
                f"table must be the path of a file or a data frame, got {type(table).__name__}"
            )
        notes = ["A data frame"]
        if table.index.has_duplicates:
            table = table.set_axis(pd.RangeIndex(1, len(table) + 1))
            notes.append("Its index has duplicates, so rows are counted from 1.")
        frame, notes = _translate(table, name, notes)
    notes[0] += f" of {len(frame):,} rows and {frame.shape[1]} columns."
    return Table(frame, name, notes)


def _read_file(path: Path, column: str | None, sheet: str | None) -> tuple[Frame, list[str]]:
    """Return the table in a file, and notes, of which `read` completes the first."""
    if not path.is_file():
        raise TableError(f"there is no file {str(path)!r}: check name and folder")
    ending = path.suffix.lower()
    is_gzip = ending == ".gz"
    if is_gzip:
        ending = path.with_suffix("").suffix.lower() or ".csv"
    try:
        if ending in _PARQUET:
            frame, notes = pd.read_parquet(path), ["A Parquet file"]
        elif ending in _EXCEL:
            frame, notes = _read_sheet(path, column, sheet)
        elif ending in _TEXT_FILES:
            with gzip.open(path) if is_gzip else path.open("rb") as file:
                content = file.read(MOST_BYTES + 1)
            return read_csv(content, path.name)
        else:
            raise TableError(
                f"{path.name}: files that end in {ending or 'nothing'} are not read; save the "
                "table as CSV (.csv), Excel (.xlsx) or Parquet (.parquet)"
            )
    except TableError:
        raise
    except ImportError as error:
        needed = "openpyxl" if ending in _EXCEL else "pyarrow"
        raise TableError(
            f"{path.name} needs {needed}, which is not installed: pip install {needed}, or save "
            "the table as CSV"
        ) from error
    except Exception as error:  # a damaged file can raise any of them
        raise TableError(f"{path.name} cannot be read: {error}") from error
    return _translate(frame, path.name, notes)


def _read_sheet(path: Path, column: str | None, sheet: str | None) -> tuple[Frame, list[str]]:
    """Return the sheet of that name, else the first one with the column, else the first one."""
    # cells as they are: pandas would turn the text "01067" into a number
    cells = {"dtype": object, "keep_default_na": False, "na_values": MISSING}
    sheets = pd.read_excel(path, sheet_name=None, **cells)
    if sheet is not None and sheet not in sheets:
        raise TableError(f"sheet: {path.name} has no {sheet!r}, but {', '.join(map(repr, sheets))}")
    having = [name for name in sheets if column in [str(c).strip() for c in sheets[name]]]
    chosen = sheet or (having or list(sheets))[0]
    notes = ["An Excel file"]
    if others := ", ".join(repr(name) for name in sheets if name != chosen):
        notes.append(f"Sheet {chosen!r} was read, not {others}.")
    return sheets[chosen].infer_objects(), notes


# ------------------------------------------------------------------- CSV


def read_csv(content: bytes, name: str = "the file") -> tuple[Frame, list[str]]:
    r"""Return the table in the bytes of a CSV file of unknown dialect, and how it was read.

    >>> frame, notes = read_csv("größe;preis\n1,5;10\n2,5;20\n".encode("latin-1"))
    >>> frame["größe"].tolist()
    [1.5, 2.5]
    """
    if len(content) > MOST_BYTES:
        raise TableError(f"{name} has more than {MOST_BYTES // 2**20} MB of text: keep fewer rows")
    text, encoding = _decode(content)
    lines = itertools.islice(io.StringIO(text, newline=None), _LOOKED_AT)
    sample = [line for line in lines if line.strip()]
    if not sample:
        raise TableError(f"{name} is empty")
    separator, width = _find_separator(sample)
    reader = csv.reader(io.StringIO(text, newline=None), delimiter=separator, skipinitialspace=True)
    try:
        rows = [(reader.line_num, row) for row in reader if len(row) > 1 or any(row)]
    except csv.Error as error:
        raise TableError(
            f"{name}, line {reader.line_num} does not read as cells with the separator "
            f"{separator!r}: {error}"
        ) from error
    quoted = all(line.startswith('"') for line in sample)
    names, cells, repairs = _lay_out(rows, width, separator == "," and not quoted, name)
    decimal, doubt = _find_decimal(cells[:_LOOKED_AT], separator)
    notes = [
        "A CSV file",
        f"Separator: {SEPARATORS[separator]}; decimal {_MARKS[decimal]}; encoding {encoding}; "
        + ("names in the first line." if names else "no names: columns are counted from 1."),
        *repairs,
        *doubt,
    ]
    names = names or [f"column {j + 1}" for j in range(len(cells[0]))]
    frame = pd.DataFrame(cells, columns=names, dtype=object)
    return _translate(frame, name, notes, decimal)


def _decode(content: bytes) -> tuple[str, str]:
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16", errors="replace"), "UTF-16"
    try:
        return content.decode("utf-8-sig"), "UTF-8"
    except UnicodeDecodeError:
        return content.decode("cp1252", errors="replace"), "Windows-1252"


def _find_separator(lines: list[str]) -> tuple[str, int]:
    """Return the separator of a table, and the number of cells in most of its lines.

    Lines agree on a separator if it gives them the same number of cells. Of separators on which
    at least half as many lines agree as on any, the one wins that gives more numbers; then the one
    on which more lines agree, since a header has no decimal commas; then the rarer one in text.
    Spaces separate only if nothing else does: R writes such files.
    """

    def agreement(separator: str) -> tuple[float, int, int]:
        """Return the numbers in a line, the lines that agree, and their number of cells."""
        try:
            rows = list(csv.reader(lines, delimiter=separator, skipinitialspace=True))
        except csv.Error:  # a line without this separator may be longer than a cell may be
            return 0, 0, 1
        widths = Counter(len(row) for row in rows if len(row) > 1)
        n_lines, width = max(((n, width) for width, n in widths.items()), default=(0, 1))
        below = [row for row in rows if len(row) == width][1:]
        return median([sum(map(_is_number, row)) for row in below] or [0]), n_lines, width

    *others, space = SEPARATORS
    found = {separator: agreement(separator) for separator in SEPARATORS}
    most = max(found[separator][1] for separator in others)
    if most < 0.5 * len(lines) and found[space][1] >= 0.9 * (len(lines) - 1):
        best = space
    else:
        close = [separator for separator in others if found[separator][1] >= max(1, most / 2)]
        best = max(close, key=lambda separator: found[separator][:2], default=",")
    return best, found[best][2]


def _lay_out(
    rows: list[Row], width: int, decimal_commas: bool, name: str
) -> tuple[list[str], list[list[str]], list[str]]:
    """Return the names of columns, if there are any, the cells below them, and repairs in words.

    Empty cells beyond the last column are ignored, and a header that lacks the name of the first
    column, as R writes it, gets one, unless its cells may be numbers with `decimal_commas`.

    Raises:
        TableError: a row has too few or too many cells.
    """
    begin = next((i for i, (_, row) in enumerate(rows) if len(row) >= width and any(row)), None)
    if begin is None:
        raise TableError(f"{name} has no line with {width} cells")
    above, table = [row for row in rows[:begin] if any(row[1])], rows[begin:]
    names: list[str] = []
    repairs = []
    if _has_header([row for _, row in table[:_LOOKED_AT]]):
        line, names = table.pop(0)
        if any(names[width:]):
            raise TableError(
                f"{name}, line {line}: {len(names)} names, and most lines have {width} cells"
            )
    elif (
        above
        and above[-1][0] == table[0][0] - 1  # a title may have a blank line below
        and len(above[-1][1]) == width - 1
        and not any(map(_is_number, above[-1][1]))
    ):
        line, names = above.pop()
        if not any(row[width - 1] for _, row in table if len(row) >= width):
            width -= 1  # every line ends with a separator
        elif not decimal_commas:
            names = ["row name", *names]
            repairs.append(
                "The header has one name less than there are columns: the first is called "
                "'row name'."
            )
        else:
            raise TableError(
                f"{name}, line {line}: the header has {width - 1} names, and the table has "
                f"{width} columns; if numbers have a decimal comma, separate cells by semicolons"
            )
    for line, row in table:
        if len(row) < width or any(row[width:]):
            raise TableError(
                f"{name}, line {line}: {len(row)} cells, and the table has {width} columns; the "
                "line is cut, or a cell with a separator lacks quotes"
            )
    if above:
        repairs.append(f"{len(above)} line(s) above the table were left out.")
    if n_long := sum(len(row) > width for _, row in table):
        repairs.append(f"Empty cells beyond the last column were ignored in {n_long:,} line(s).")
    names = [cell.strip() or f"Unnamed: {j}" for j, cell in enumerate(names[:width])]
    return names, [row[:width] for _, row in table], repairs


def _is_number(cell: str) -> bool:
    return any(pattern.fullmatch(cell.strip(" ")) for pattern in _CELL.values())


def _has_header(rows: list[list[str]]) -> bool:
    """Return whether the first row names columns: it has no number, and rows below have some.

    In a table of text it does if no cell of it occurs twice.
    """
    first, below = rows[0], rows[1:]
    if any(map(_is_number, first)):
        return False
    return len(set(first)) == len(first) or any(_is_number(cell) for row in below for cell in row)


# ------------------------------------------------------------------- decimal and thousands marks


def _find_decimal(rows: list[list[str]], separator: str) -> tuple[str, list[str]]:
    """Return the decimal mark of all cells, and a note if none of them decides it.

    "0,12", "1.234,5" and "1.234.567" decide, "1,234" does not: it may be 1234.
    """
    cells = [cell.strip() for row in rows for cell in row if "," in cell or "." in cell]
    points, commas = ({c for c in cells if _CELL[mark].fullmatch(c)} for mark in ".,")
    n_points, n_commas = (
        sum(cell in clear for cell in cells) for clear in (points - commas, commas - points)
    )
    if n_points or n_commas:
        return ("," if n_commas > n_points else "."), []
    either = sorted(points & commas)
    with_comma = [cell for cell in either if "," in cell]
    decimal = "," if with_comma and separator == ";" else "."
    if not either or (separator == "," and not with_comma):
        return decimal, []
    shown = (with_comma or either)[0]
    meaning = "as decimals" if decimal in shown else "as thousands"
    return decimal, [f"Marks as in {shown!r} were read {meaning}: no cell of the table decides it."]


def _translate(
    frame: Frame, name: str, notes: list[str], decimal: str | None = None
) -> tuple[Frame, list[str]]:
    """Return a frame with unique names whose text has numbers with decimal points, and notes.

    Without a decimal mark it is found from the text columns. A column of nothing but numbers
    becomes numeric. Digits with leading zeros are codes and stay text. Among numbers, those of the
    other dialect are missing: nothing is guessed.
    """
    if frame.shape[1] > MOST_COLUMNS:
        raise TableError(
            f"{name} has {frame.shape[1]:,} columns, more than {MOST_COLUMNS:,}: select some"
        )
    frame = frame.set_axis(unique([str(column).strip() for column in frame.columns]), axis=1)
    textual = [
        column
        for column in frame
        if is_textual(frame[column]) and not isinstance(frame[column].dtype, pd.CategoricalDtype)
    ]
    if decimal is None:
        some = frame[textual].iloc[:_LOOKED_AT].map(str).to_numpy().tolist()
        decimal, doubt = _find_decimal(some, "")
        notes = [*notes, *doubt]
    pattern, other = _CELL[decimal], _CELL["," if decimal == "." else "."]

    def plain(cell: str | None) -> str | None:
        found = None if cell is None else pattern.fullmatch(cell)
        if found is None:
            return None
        return found["number"].replace(found["mark"] or "\0", "").replace(decimal, ".")

    for column in textual:
        cells = as_text(frame[column])
        cells = cells.where(~cells.isin(MISSING), None)
        numbers = cells.map(plain).astype(object)
        is_number = numbers.notna()
        words = cells[cells.notna() & ~is_number]
        words = words[~words.str.lower().isin(SOFT_MARKS)]
        coded = cells[is_number].map(CODE.fullmatch).notna().any()
        if is_number.any() and words.empty and not coded:
            found = (
                numbers.where(is_number, np.nan).astype(float).replace([np.inf, -np.inf], np.nan)
            )
            is_whole = (found % 1 == 0).all() and found.abs().max() < 2**53
            frame[column] = found.astype("int64") if is_whole else found
            continue
        frame[column] = numbers.where(is_number, cells)
        foreign = words[words.map(other.fullmatch).notna()]
        if len(foreign) and 2 * (is_number.sum() + len(foreign)) > is_number.sum() + len(words):
            frame.loc[foreign.index, column] = None
            notes = [
                *notes,
                f"Column {column!r}: {len(foreign):,} value(s) such as {foreign.iloc[0]!r} do not "
                f"fit a decimal {_MARKS[decimal]} and count as missing.",
            ]
    return frame, notes
