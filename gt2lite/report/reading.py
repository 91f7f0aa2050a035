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
import os
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import pandas as pd

from gt2lite.columns import CODE, SOFT_MARKS, Frame, TableError, as_text, is_textual, unique

SEPARATORS = ("\t", "|", ";", ",")  # the rarest in text first
MOST_BYTES = 2**28  # of the text of a file, uncompressed: 256 MB
MOST_COLUMNS = 10_000
_TEXT_FILES = (".csv", ".tsv", ".txt", ".dat")
_EXCEL = (".xlsx", ".xlsm")
_PARQUET = (".parquet", ".pq")
_LOOKED_AT, _LOOKED_INTO = 1_000, 1_000_000  # lines, and characters
_NAMES_OF_SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar", " ": "space"}
MISSING = {
    *("", "?", "-", "--", ".", "NA", "N/A", "n/a", "n.a.", "N.A.", "na", "#N/A", "#NA", "<NA>"),
    *("NaN", "nan", "-nan", "NULL", "null", "k.A."),
}

_EXPONENT = r"(?:[eE][-+]?\d+)?"
_CELL = {  # numbers by decimal mark, also with a mark between groups of three digits
    decimal: re.compile(
        r"(?P<before>[€$£]?\s*)(?P<number>[-+]?(?:\d+|[1-9]\d{0,2}"
        rf"(?P<mark>[{group}'\u2019 \u00a0\u202f])\d{{3}}(?:(?P=mark)\d{{3}})*)"
        rf"(?:[{decimal}]\d*)?{_EXPONENT}|[-+]?[{decimal}]\d+{_EXPONENT})(?P<after>\s*[%€$£]?)",
        re.ASCII,
    )
    for decimal, group in ((".", ","), (",", "."))
}
_PLAIN = re.compile(r"-?\d+(?:\.\d+)?", re.ASCII)
_NAMES_OF_MARKS = {".": "point", ",": "comma"}


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
    name = "table"
    if isinstance(table, (str, os.PathLike)):
        name = Path(table).name
        frame, notes = _read_file(Path(table), column, sheet)
        frame.index = pd.RangeIndex(1, len(frame) + 1)
    else:
        frame = table.to_pandas() if hasattr(table, "to_pandas") else table
        if not isinstance(frame, pd.DataFrame):
            raise TableError(
                f"table must be the path of a file or a data frame, got {type(table).__name__}"
            )
        frame, notes = _translate(frame, "A data frame")
    if frame.shape[1] > MOST_COLUMNS:
        raise TableError(
            f"{name} has {frame.shape[1]:,} columns, more than {MOST_COLUMNS:,}: select some"
        )
    frame.columns = unique([str(column).strip() for column in frame.columns])
    notes[0] += f" of {len(frame):,} rows and {frame.shape[1]} columns."
    if frame.index.has_duplicates:
        frame.index = pd.RangeIndex(1, len(frame) + 1)
        notes.append("Its index has duplicates, so rows are counted from 1.")
    return Table(frame, name, notes)


def _read_file(path: Path, column: str | None, sheet: str | None) -> tuple[Frame, list[str]]:
    """Return the table in a file, and notes, of which `read` completes the first."""
    if not path.is_file():
        raise TableError(f"there is no file {str(path)!r}: check name and folder")
    suffix, is_gzip = path.suffix.lower(), path.suffix.lower() == ".gz"
    if is_gzip:
        suffix = Path(path.stem).suffix.lower() or ".csv"
    if suffix not in (*_TEXT_FILES, *_EXCEL, *_PARQUET):
        raise TableError(
            f"{path.name}: files that end in {suffix or 'nothing'} are not read; save the table as "
            "CSV (.csv), Excel (.xlsx) or Parquet (.parquet)"
        )
    try:
        if suffix in _PARQUET:
            return _translate(pd.read_parquet(path), "A Parquet file")
        if suffix in _EXCEL:
            # cells as they are: pandas would turn the text "01067" into a number
            cells = {"dtype": object, "keep_default_na": False, "na_values": list(MISSING)}
            content: Any = pd.read_excel(path, sheet_name=None, **cells)
        else:
            with gzip.open(path) if is_gzip else path.open("rb") as file:
                content = file.read(MOST_BYTES + 1)
    except Exception as error:  # damaged, or openpyxl or pyarrow is not installed
        raise TableError(f"{path.name} cannot be read: {error}") from error
    if suffix in _EXCEL:
        return _choose_sheet(content, path, column, sheet)
    if len(content) > MOST_BYTES:
        raise TableError(
            f"{path.name} has more than {MOST_BYTES // 2**20} MB of text: keep fewer rows"
        )
    return read_csv(content, path.name)


def _choose_sheet(
    sheets: dict[str, Frame], path: Path, column: str | None, sheet: str | None
) -> tuple[Frame, list[str]]:
    """Return the sheet of that name, else the first one with the column, else the first one."""
    if sheet is not None and sheet not in sheets:
        raise TableError(f"sheet: {path.name} has no {sheet!r}, but {', '.join(map(repr, sheets))}")
    having = [name for name in sheets if column in [str(c).strip() for c in sheets[name]]]
    chosen = sheet or (having or list(sheets))[0]
    frame, notes = _translate(sheets[chosen].infer_objects(), "An Excel file")
    others = [repr(name) for name in sheets if name != chosen]
    if others:
        notes.insert(1, f"Sheet {chosen!r} was read, not {', '.join(others)}.")
    return frame, notes


# ------------------------------------------------------------------- CSV


Rows = list[tuple[int, list[str]]]  # lines of a file, by number, as cells


def read_csv(content: bytes, name: str = "the file") -> tuple[Frame, list[str]]:
    r"""Return the table in the bytes of a CSV file of unknown dialect, and how it was read.

    >>> frame, notes = read_csv("größe;preis\n1,5;10\n2,5;20\n".encode("latin-1"))
    >>> frame["größe"].tolist()
    [1.5, 2.5]
    """
    text, encoding = _decode(content)
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.strip():
        raise TableError(f"{name} is empty")
    sample = text[:_LOOKED_INTO].split("\n")
    if len(text) > _LOOKED_INTO and len(sample) > 1:
        sample.pop()  # it is cut
    sample = [line for line in sample if line.strip()][:_LOOKED_AT]
    separator, width = _separator(sample)
    try:
        reader = _reader(io.StringIO(text, newline="\n"), separator)
        rows = [(reader.line_num, row) for row in reader if len(row) > 1 or any(row)]
    except csv.Error as error:
        raise TableError(
            f"{name} does not read as a table with the separator {separator!r}: {error}"
        ) from error
    decimal, doubt = _decimal([row for _, row in rows[:_LOOKED_AT]], separator)
    may_lack_name = separator != "," or all(line.startswith('"') for line in sample)
    names, rows, repairs = _lay_out(rows, width, may_lack_name, name)
    notes = [
        "A CSV file",
        f"Separator: {_NAMES_OF_SEPARATORS[separator]}; decimal {_NAMES_OF_MARKS[decimal]}; "
        f"encoding {encoding}; "
        + ("names in the first line." if names else "no names: columns are counted from 1."),
        *repairs,
        *doubt,
    ]
    names = [cell.strip() or f"Unnamed: {j}" for j, cell in enumerate(names)]
    columns = {}
    for j, column in enumerate(unique(names or [f"column {i}" for i in range(1, width + 1)])):
        columns[column], unfit = _read_cells(column, [row[j].strip() for _, row in rows], decimal)
        notes += unfit
    return pd.DataFrame(columns), notes


def _decode(content: bytes) -> tuple[str, str]:
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16", errors="replace"), "UTF-16"
    try:
        return content.decode("utf-8-sig"), "UTF-8"
    except UnicodeDecodeError:
        return content.decode("cp1252", errors="replace"), "Windows-1252"


def _reader(lines: Any, separator: str) -> Any:
    return csv.reader(lines, delimiter=separator, skipinitialspace=True)


def _separator(lines: list[str]) -> tuple[str, int]:
    """Return the separator of a table, and the number of cells in most of its lines.

    Lines agree on a separator if it gives them the same number of cells. Of separators on which
    at least half as many lines agree as on any, the one wins that gives more numbers; then the one
    in an earlier line, since a header has no decimal commas; then the rarer one in text. Spaces
    separate only if nothing else does: R writes such files.
    """

    def agreement(separator: str) -> tuple[int, int, float, int]:
        """Return how many lines agree, their cells, numbers in a line, and the first such line."""
        try:
            rows = list(_reader(lines, separator))
        except csv.Error:  # a line without this separator may be longer than a cell may be
            return 0, 1, 0, 0
        counts = Counter(len(row) for row in rows if len(row) > 1)
        count, width = max(((n, width) for width, n in counts.items()), default=(0, 1))
        places = [i for i, row in enumerate(rows) if len(row) == width]
        numbers = [sum("\t" not in c and _is_number(c) for c in rows[i]) for i in places[1:]]
        return count, width, median(numbers or [0]), places[0]

    found = {separator: agreement(separator) for separator in (*SEPARATORS, " ")}
    most = max(found[separator][0] for separator in SEPARATORS)
    close = [separator for separator in SEPARATORS if found[separator][0] >= max(1, most / 2)]
    best = min(close, key=lambda s: (-found[s][2], found[s][3]), default=",")
    if most < 0.5 * len(lines) and found[" "][0] >= 0.9 * (len(lines) - 1):
        best = " "
    return best, found[best][1]


def _lay_out(
    rows: Rows, width: int, may_lack_name: bool, name: str
) -> tuple[list[str], Rows, list[str]]:
    """Return the names of columns, none without a header, the rows below, and repairs in words.

    Empty cells beyond the last column are ignored. A header that lacks the name of the first
    column, as R writes it, gets one if it `may_lack_name`: among unquoted cells between commas,
    the additional one may come from a decimal comma.

    Raises:
        TableError: a row has too few or too many cells.
    """
    start = next((i for i, (_, row) in enumerate(rows) if len(row) >= width and any(row)), None)
    if start is None:
        raise TableError(f"{name} has no line with {width} cells")
    above = [(line, row) for line, row in rows[:start] if any(row)]
    place, first = rows[start]
    names: list[str] = []
    if _has_header([row for _, row in rows[start : start + 200]]):
        start, names = start + 1, first[:width]
        if any(first[width:]):
            raise TableError(
                f"{name}, line {place}: {len(first)} names, and most lines have {width} cells"
            )
    rows = rows[start:]
    for line, row in rows:
        if len(row) < width or any(row[width:]):
            raise TableError(
                f"{name}, line {line}: {len(row)} cells, and the table has {width} columns; the "
                "line is cut, or a cell with a separator lacks quotes"
            )
    repairs = []
    if not names and above:  # just above may be a header that lacks a name
        line, last = above[-1]
        if line == place - 1 and len(last) == width - 1 and not any(map(_is_number, last)):
            above.pop()
            if not any(row[width - 1] for _, row in rows):
                names = [*last, ""]
                repairs.append("Every line ends with a separator.")
            elif may_lack_name:
                names = ["row name", *last]
                repairs.append(
                    "The header has one name less than there are columns: the first is called "
                    "'row name'."
                )
            else:
                raise TableError(
                    f"{name}, line {line}: the header has {width - 1} names, and the table has "
                    f"{width} columns; if numbers have a decimal comma, separate cells by "
                    "semicolons"
                )
    if above:
        repairs.append(f"{len(above)} line(s) above the table were left out.")
    if n_long := sum(len(row) > width for _, row in rows):
        repairs.append(f"Empty cells beyond the last column were ignored in {n_long:,} line(s).")
    return names, rows, repairs


def _is_number(cell: str) -> bool:
    return any(pattern.fullmatch(cell.strip()) for pattern in _CELL.values())


def _has_header(rows: list[list[str]]) -> bool:
    """Return whether the first row names the columns."""
    first, below = rows[0], rows[1:]
    is_name = [not _is_number(cell) for cell in first]
    if sum(is_name) < len(first) / 2:
        return False
    numeric = [
        i
        for i in range(len(first))
        if below and all(_is_number(row[i]) for row in below if len(row) > i and row[i])
    ]
    if numeric:
        return all(is_name[i] for i in numeric)  # above numbers, a header holds none
    return len(set(first)) == len(first)


# ------------------------------------------------------------------- decimal and thousands marks


def _decimal(rows: list[list[str]], separator: str) -> tuple[str, list[str]]:
    """Return the decimal mark of all cells, and a note if none of them decides it.

    "0,12", "1.234,5" and "1.234.567" decide, "1,234" does not: it may be 1234.
    """
    cells = [cell.strip() for row in rows for cell in row if "," in cell or "." in cell]
    fits = {mark: {c for c in cells if pattern.fullmatch(c)} for mark, pattern in _CELL.items()}
    either = sorted(fits["."] & fits[","])
    clear = {mark: found.difference(either) for mark, found in fits.items()}
    decided = {mark: sum(cell in found for cell in cells) for mark, found in clear.items()}
    if any(decided.values()):
        return max(_CELL, key=lambda mark: decided[mark]), []
    with_comma = [cell for cell in either if "," in cell]
    decimal = "," if with_comma and separator == ";" else "."
    if not either or (separator == "," and not with_comma):
        return decimal, []
    shown = (with_comma or either)[0]
    meaning = "as decimals" if decimal in shown else "as thousands"
    return decimal, [f"Marks as in {shown!r} were read {meaning}: no cell of the table decides it."]


def _translate(frame: Frame, kind: str) -> tuple[Frame, list[str]]:
    """Return a frame whose text columns are read like those of a file, and notes."""
    texts = {
        name: as_text(frame[name]).tolist()
        for name in frame
        if is_textual(frame[name]) and not isinstance(frame[name].dtype, pd.CategoricalDtype)
    }
    some = [[cell for cell in cells[:_LOOKED_AT] if cell] for cells in texts.values()]
    decimal, notes = _decimal(some, "")
    result = frame.copy()
    for name, cells in texts.items():
        values, unfit = _read_cells(name, cells, decimal)
        result[name] = values.set_axis(frame.index)
        notes += unfit
    return result, [kind, *notes]


def _read_cells(name: str, cells: Sequence[str | None], decimal: str) -> tuple[Any, list[str]]:
    """Return a column as a series, its numbers with decimal points, and a note.

    A column of nothing but numbers becomes numeric. Digits with leading zeros are codes and stay
    text. Among numbers, those of the other dialect are missing: nothing is guessed.
    """
    pattern, other = _CELL[decimal], _CELL["," if decimal == "." else "."]
    known = {cell for cell in cells if cell is not None and cell not in MISSING}
    hard = {cell for cell in known if cell.lower() not in SOFT_MARKS}
    plain, amounts = {}, {}  # numbers with their currency or percent sign, and without
    for cell in hard:
        if decimal == "." and _PLAIN.fullmatch(cell):  # most cells: it is faster
            plain[cell] = amounts[cell] = cell
        elif found := pattern.fullmatch(cell):
            number = found["number"].replace(found["mark"] or "\0", "").replace(decimal, ".")
            plain[cell], amounts[cell] = found["before"] + number + found["after"], number
    if hard and len(amounts) == len(hard) and not any(map(CODE.fullmatch, hard)):
        return pd.to_numeric(
            pd.Series([amounts.get(cell or "") for cell in cells], dtype=object)
        ), []
    notes = []
    foreign = {cell for cell in hard - plain.keys() if other.fullmatch(cell)}
    n_foreign, n_plain, n_hard = (
        sum(cell in group for cell in cells) for group in (foreign, plain, hard)
    )
    if n_foreign and 2 * (n_plain + n_foreign) > n_hard:
        known -= foreign
        shown = next(cell for cell in cells if cell in foreign)
        notes.append(
            f"Column {name!r}: {n_foreign:,} value(s) such as {shown!r} do not fit a decimal "
            f"{_NAMES_OF_MARKS[decimal]} and count as missing."
        )
    values = [plain.get(cell, cell) if cell in known else None for cell in cells]
    return pd.Series(values, dtype=object), notes
