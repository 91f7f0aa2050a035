"""Readers of tables: CSV of any dialect, Excel, Parquet, and data frames.

Encoding, separator, decimal comma and header of a CSV file are found from the file itself, and
reported in notes. What a column means is not decided here: see `columns`.
"""

from __future__ import annotations

import csv
import gzip
import io
import os
import re
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from gt2lite.columns import Frame, TableError, unique

SEPARATORS = (",", ";", "\t", "|")
_TEXT_FILES = (".csv", ".tsv", ".txt", ".dat")
_EXCEL = (".xlsx", ".xlsm")
_PARQUET = (".parquet", ".pq")
_LOOKED_AT, _LOOKED_INTO = 200, 1_000_000  # lines, and characters
_WITH_COMMA = re.compile(r"\s*[-+]?(\d+|\d{1,3}(\.\d{3})+),\d+\s*%?")
_WITH_POINT = re.compile(r"\s*[-+]?(\d+|\d{1,3}(,\d{3})+)\.\d+\s*%?")
_NUMBER = re.compile(r"\s*[-+]?(\d+([.,]\d*)?|[.,]\d+)([eE][-+]?\d+)?\s*")
_NAMES_OF_SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
MISSING = ["?", "-", "--", ".", "n.a.", "N.A.", "na", "k.A.", "missing", "Missing"]


class Table(NamedTuple):
    """A table, its name, and notes on how it was read."""

    frame: Frame
    name: str
    notes: list[str]


def read(table: Any) -> Table:
    """Return a file or a data frame as a `Table`; rows of a file are counted from 1.

    Args:
        table: the path of a file, or a pandas data frame (anything with `to_pandas` is turned
            into one), whose index is kept.

    >>> import pandas as pd
    >>> read(pd.DataFrame({"size": [1, 2]})).notes
    ['A data frame of 2 rows and 1 columns.']
    """
    if isinstance(table, (str, os.PathLike)):
        name = Path(table).name
        frame, notes = _read_file(Path(table))
        frame.index = pd.RangeIndex(1, len(frame) + 1)
    else:
        if not isinstance(table, pd.DataFrame) and hasattr(table, "to_pandas"):
            table = table.to_pandas()
        if not isinstance(table, pd.DataFrame):
            raise TableError(
                f"table must be the path of a file or a data frame, got {type(table).__name__}"
            )
        frame, notes, name = table.copy(), ["A data frame"], "table"
    frame.columns = unique([str(column).strip() for column in frame.columns])
    notes[0] += f" of {len(frame):,} rows and {frame.shape[1]} columns."
    if frame.index.has_duplicates:
        frame.index = pd.RangeIndex(1, len(frame) + 1)
        notes.append("Its index has duplicates, so rows are counted from 1.")
    return Table(frame, name, notes)


def _read_file(path: Path) -> tuple[Frame, list[str]]:
    """Return the table in a file, and notes, of which `read` completes the first."""
    if not path.is_file():
        raise TableError(f"there is no file {str(path)!r}: check name and folder")
    suffixes = [suffix.lower() for suffix in path.suffixes]
    last = suffixes[-1] if suffixes else ""
    if last in _EXCEL:
        return _with_pandas(pd.read_excel, path, "openpyxl"), ["The first sheet of an Excel file"]
    if last in _PARQUET:
        return _with_pandas(pd.read_parquet, path, "pyarrow"), ["A Parquet file"]
    content = path.read_bytes()
    if last == ".gz":
        content, last = gzip.decompress(content), (suffixes[-2] if len(suffixes) > 1 else ".csv")
    if last not in _TEXT_FILES:
        raise TableError(
            f"{path.name}: files that end in {last or 'nothing'} are not read; save the table as "
            "CSV (.csv), Excel (.xlsx) or Parquet (.parquet)"
        )
    return read_csv(content, path.name)


def _with_pandas(reader: Any, path: Path, needed: str) -> Frame:
    try:
        return reader(path)
    except ImportError as error:
        raise TableError(
            f"{path.name} needs {needed}, which is not installed: pip install {needed}, "
            "or save the table as CSV"
        ) from error
    except Exception as error:
        raise TableError(f"{path.name} cannot be read: {error}") from error


def read_csv(content: bytes, name: str = "the file") -> tuple[Frame, list[str]]:
    r"""Return the table in the bytes of a CSV file of unknown dialect, and how it was read.

    >>> frame, notes = read_csv("größe;preis\n1,5;10\n2,5;20\n".encode("latin-1"))
    >>> frame["größe"].tolist()
    [1.5, 2.5]
    """
    text, encoding = _decode(content)
    if not text.strip():
        raise TableError(f"{name} is empty")
    lines = text[:_LOOKED_INTO].splitlines()
    if len(text) > _LOOKED_INTO and len(lines) > 1:
        lines.pop()  # it is cut
    filled = [i for i, line in enumerate(lines) if line.strip()][:_LOOKED_AT]
    shown = [lines[i] for i in filled]
    separator, width = _separator(shown)
    rows = list(csv.reader(shown, delimiter=separator))
    above = next((i for i, row in enumerate(rows) if len(row) == width), 0)
    decimal = _decimal(rows, separator)
    header = _has_header(rows[above:])
    try:
        frame = pd.read_csv(
            io.StringIO(text),
            sep=separator,
            decimal=decimal,
            header=0 if header else None,
            skiprows=filled[:above],
            skipinitialspace=True,
            na_values=MISSING,
            low_memory=False,
        )
    except (pd.errors.ParserError, ValueError) as error:
        raise TableError(
            f"{name} does not read as a table with the separator {separator!r}: {error}"
        ) from error
    if not header:
        frame.columns = [f"column {i}" for i in range(1, frame.shape[1] + 1)]
    notes = [
        "A CSV file",
        f"Separator: {_NAMES_OF_SEPARATORS[separator]}; decimal "
        f"{'comma' if decimal == ',' else 'point'}; encoding {encoding}; "
        + ("names in the first line." if header else "no names: columns are counted from 1."),
    ]
    if above:
        notes.append(f"{above} line(s) above the table were left out.")
    return frame, notes


def _decode(content: bytes) -> tuple[str, str]:
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16"), "UTF-16"
    for encoding, shown in (("utf-8-sig", "UTF-8"), ("cp1252", "Windows-1252")):
        try:
            return content.decode(encoding), shown
        except UnicodeDecodeError:
            continue
    return content.decode("latin-1"), "Latin-1"


def _separator(lines: list[str]) -> tuple[str, int]:
    """Return the separator by which most lines have the same number of fields, and that number."""

    def agreement(separator: str) -> tuple[float, int]:
        widths = Counter(len(row) for row in csv.reader(lines, delimiter=separator))
        return max((count if width > 1 else 0, width) for width, count in widths.items())

    best = max(SEPARATORS, key=agreement)
    return best, agreement(best)[1]


def _decimal(rows: list[list[str]], separator: str) -> str:
    if separator == ",":
        return "."
    cells = [cell for row in rows for cell in row]
    with_comma, with_point = (
        sum(pattern.fullmatch(cell) is not None for cell in cells)
        for pattern in (_WITH_COMMA, _WITH_POINT)
    )
    return "," if with_comma > with_point else "."


def _has_header(rows: list[list[str]]) -> bool:
    """Return whether the first row names the columns."""
    first, below = [cell.strip() for cell in rows[0]], rows[1:]
    is_name = [_NUMBER.fullmatch(cell) is None for cell in first]
    if sum(is_name) < len(first) / 2:
        return False
    numeric = [
        i
        for i in range(len(first))
        if below and all(_NUMBER.fullmatch(row[i]) for row in below if len(row) > i and row[i])
    ]
    if numeric:
        return all(is_name[i] for i in numeric)  # above numbers, a header holds none
    return len(set(first)) == len(first)
