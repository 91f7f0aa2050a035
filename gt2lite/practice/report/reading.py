"""Readers of tables: CSV of any dialect, Excel, Parquet, and data frames.

Encoding, separator, decimal mark and header of a file are found from the file itself, and reported
in notes. Decimal and thousands marks are found for each column from its own cells; if none of them
decides, the marks of the other columns count. In the frame that is returned every number has a
decimal point. A row with too few or too many cells is refused with its line number, so that no cell
moves to another column. What a column means is not decided here: see `gt2lite.practice.columns`.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import itertools
import os
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np
import pandas as pd

from gt2lite.practice.columns import (
    CODE,
    MONTH,
    MOSTLY,
    Frame,
    Series,
    TableError,
    as_numbers,
    as_text,
    find_unit,
    hard_texts,
    is_textual,
    split_unit,
    unique,
    without_unit,
)

SEPARATORS = ("\t", "|", ";", ",")  # the rarest in text first
MOST_BYTES = 2**28  # of the text of a file, uncompressed: 256 MB
MOST_COLUMNS = 10_000
_TEXT_FILES = (".csv", ".tsv", ".txt", ".dat")
_EXCEL = (".xlsx", ".xlsm")
_PARQUET = (".parquet", ".pq")
_LOOKED_AT, _LOOKED_INTO = 1_000, 1_000_000  # lines, and characters
_NAMES_OF_SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar", " ": "space"}
MISSING = [
    *("", "?", "-", "--", ".", "NA", "N/A", "n/a", "n.a.", "N.A.", "na", "#N/A", "#NA", "<NA>"),
    *("NaN", "nan", "-nan", "NULL", "null", "k.A."),
    *("#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!"),  # of spreadsheets
]

_EXPONENT = r"(?:[eE][-+]?\d+)?"
_CELL = {  # numbers by decimal mark, also with a mark between groups of three digits
    decimal: re.compile(
        r"(?P<number>[-+]?(?:\d+|[1-9]\d{0,2}"
        rf"(?P<mark>[{group}'\u2019 \u00a0\u202f])\d{{3}}(?:(?P=mark)\d{{3}})*)"
        rf"(?:[{decimal}]\d*)?{_EXPONENT}|[-+]?[{decimal}]\d+{_EXPONENT})",
        re.ASCII,
    )
    for decimal, group in ((".", ","), (",", "."))
}
_NAMES_OF_MARKS = {".": "point", ",": "comma"}


Ranges = Mapping[str, tuple[float, float]]  # of numbers, by column


class Table(NamedTuple):
    """A table, its name, and notes on how it was read."""

    frame: Frame
    name: str
    notes: list[str]
    alerts: list[str]  #: doubts about how numbers were read


def read(
    table: str | os.PathLike[str] | Frame,
    column: str | None = None,
    sheet: str | None = None,
    ranges: Ranges | None = None,
) -> Table:
    """Return a file or a data frame as a `Table`; rows of a file are counted from 1.

    Args:
        table: the path of a file, or a pandas data frame (anything with `to_pandas` is turned
            into one), whose index is kept.
        column: a name that a line above the table has, even beside numbers; of an Excel file the
            first sheet that has it is read.
        sheet: the name of the sheet of an Excel file, instead of that.
        ranges: the range of numbers that are known, by column: "1.234" is read as the one of 1234
            and 1.234 that lies in the range, if the cells of the table do not decide it.

    >>> import pandas as pd
    >>> read(pd.DataFrame({"size": [1, 2]})).notes
    ['A data frame of 2 rows and 1 columns.']
    """
    is_csv = False
    alerts: list[str] = []
    if isinstance(table, (str, os.PathLike)):
        name = Path(table).name
        is_csv = Path(table).suffix.lower() not in (*_EXCEL, *_PARQUET)
        frame, _, notes, alerts = _read_file(Path(table), column, sheet, ranges or {})
        frame.index = pd.RangeIndex(1, len(frame) + 1)
    else:
        if not isinstance(table, pd.DataFrame) and hasattr(table, "to_pandas"):
            table = table.to_pandas()
        if not isinstance(table, pd.DataFrame):
            raise TableError(
                f"table must be the path of a file or a data frame, got {type(table).__name__}"
            )
        frame, notes, name = table.copy(), ["A data frame"], "table"
    if frame.shape[1] > MOST_COLUMNS:
        raise TableError(
            f"{name} has {frame.shape[1]:,} columns, more than {MOST_COLUMNS:,}: select some"
        )
    frame.columns = unique([str(column).strip() for column in frame.columns])
    notes[0] += f" of {len(frame):,} rows and {frame.shape[1]} columns."
    if frame.index.has_duplicates:
        frame.index = pd.RangeIndex(1, len(frame) + 1)
        notes.append("Its index has duplicates, so rows are counted from 1.")
    if not is_csv:
        texts = [name for name in frame if is_textual(frame[name])]
        some = frame[texts].iloc[:_LOOKED_AT].map(str).to_numpy().tolist()
        frame, doubts, alerts = _translate(frame, _find_usual(some, ""), ranges or {})
        notes += doubts
    return Table(frame, name, notes, alerts)


def _read_file(path: Path, column: str | None, sheet: str | None, ranges: Ranges) -> Table:
    """Return the table in a file; `read` completes the first note."""
    if not path.is_file():
        raise TableError(f"there is no file {str(path)!r}: check name and folder")
    suffixes = [suffix.lower() for suffix in path.suffixes]
    last = suffixes[-1] if suffixes else ""
    if last in _PARQUET:
        with _table_errors(path, "pyarrow"):
            return Table(pd.read_parquet(path), path.name, ["A Parquet file"], [])
    if last in _EXCEL:
        with _table_errors(path, "openpyxl"):
            # cells as they are: pandas would turn the text "01067" into a number
            cells = {"dtype": object, "keep_default_na": False, "na_values": MISSING}
            sheets = pd.read_excel(path, sheet_name=None, header=None, **cells)
        return _choose_sheet(sheets, path, column, sheet)
    is_gzip = last == ".gz"
    if is_gzip:
        last = suffixes[-2] if len(suffixes) > 1 else ".csv"
    if last not in _TEXT_FILES:
        raise TableError(
            f"{path.name}: files that end in {last or 'nothing'} are not read; save the table as "
            "CSV (.csv), Excel (.xlsx) or Parquet (.parquet)"
        )
    return read_csv(_read_bytes(path, is_gzip), path.name, ranges, column)


@contextlib.contextmanager
def _table_errors(path: Path, library: str) -> Iterator[None]:
    """Turn errors of the library that reads a file into `TableError`."""
    try:
        yield
    except ImportError as error:
        raise TableError(
            f"{path.name} needs {library}, which is not installed: pip install {library}, "
            "or save the table as CSV"
        ) from error
    except Exception as error:
        raise TableError(f"{path.name} cannot be read: {error}") from error


def _read_bytes(path: Path, is_gzip: bool) -> bytes:
    """Return the content of a text file, uncompressed; refuse one that is too large."""
    try:
        with gzip.open(path) if is_gzip else path.open("rb") as file:
            content: bytes = file.read(MOST_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise TableError(f"{path.name} cannot be read: {error}") from error
    if len(content) > MOST_BYTES:
        raise TableError(
            f"{path.name} has more than {MOST_BYTES // 2**20} MB of text: keep fewer rows"
        )
    return content


def _choose_sheet(
    sheets: dict[str, Frame], path: Path, column: str | None, sheet: str | None
) -> Table:
    """Return the sheet of that name, else the first one with the column, else the first one."""
    if sheet is not None and sheet not in sheets:
        raise TableError(f"sheet: {path.name} has no {sheet!r}, but {', '.join(map(repr, sheets))}")
    tables = {name: _crop_sheet(cells, column) for name, cells in sheets.items()}
    having = [name for name, (frame, _) in tables.items() if column in frame]
    chosen = sheet or (having or list(tables))[0]
    others = [repr(name) for name in tables if name != chosen]
    frame, repairs = tables[chosen]
    notes = ["An Excel file"]
    if others:
        notes.append(f"Sheet {chosen!r} was read, not {', '.join(others)}.")
    return Table(frame, path.name, [*notes, *repairs], [])


def _crop_sheet(cells: Frame, column: str | None) -> tuple[Frame, list[str]]:
    """Return the table in the cells of a sheet, which may begin below other lines, and repairs."""
    cells = cells.dropna(how="all").dropna(how="all", axis=1)
    if cells.empty:
        return cells, []
    counts = cells.notna().sum(axis=1).to_numpy()
    top = int(np.argmax(counts >= np.median(counts[:_LOOKED_AT])))
    some = cells.iloc[: top + 200].map(lambda cell: "" if pd.isna(cell) else str(cell).strip())
    lines = some.to_numpy().tolist()
    has_names = _has_header(lines[top:], column)
    if not has_names and top:
        short = cells.index[top - 1], [*filter(None, lines[top - 1])]
        has_names = _is_short_header(short, cells.index[top], counts[top])
        top -= has_names
    repairs = [f"{top} line(s) above the table were left out."] if top else []
    names = [name or f"Unnamed: {j}" for j, name in enumerate(lines[top])]
    if not has_names:
        names = [f"column {j}" for j in range(1, len(names) + 1)]
        repairs.append("It has no names: columns are counted from 1.")
    return cells.iloc[top + has_names :].infer_objects().set_axis(unique(names), axis=1), repairs


# ------------------------------------------------------------------- CSV


def read_csv(
    content: bytes,
    name: str = "the file",
    ranges: Ranges | None = None,
    column: str | None = None,
) -> Table:
    r"""Return the table in the bytes of a CSV file of unknown dialect; arguments as in `read`.

    >>> table = read_csv("größe;preis\n1,5;10\n2,5;20\n".encode("latin-1"))
    >>> table.frame["größe"].tolist()
    [1.5, 2.5]
    """
    text, encoding = _decode(content)
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.strip():
        raise TableError(f"{name} is empty")
    if "\0" in text:
        raise TableError(f"{name} is not text, or in an unknown encoding: save it as UTF-8")
    sample = text[:_LOOKED_INTO].split("\n")
    if len(text) > _LOOKED_INTO and len(sample) > 1:
        sample.pop()  # it is cut
    sample = [line for line in sample if line.strip()][:_LOOKED_AT]
    separator, width = _separator(sample)
    if width > MOST_COLUMNS:
        raise TableError(f"{name} has {width:,} columns, more than {MOST_COLUMNS:,}: select some")
    try:
        usual = _find_usual(_parse(sample, separator), separator)
        quoted = all(line.startswith('"') for line in sample)
        layout = _lay_out(text, separator, width, quoted, name, column)
        frame = pd.read_csv(
            layout.rows,
            sep=separator,
            decimal=usual.decimal,
            header=None,
            names=range(width),
            index_col=False,
            dtype=dict.fromkeys([*layout.codes, *usual.open], str),
            keep_default_na=False,
            na_values=MISSING,
            low_memory=False,
        )
    except (csv.Error, pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise TableError(
            f"{name} does not read as a table with the separator {separator!r}: {error}"
        ) from error
    if len(frame) != layout.n_rows:
        raise TableError(f"{name} has {layout.n_rows:,} rows, and {len(frame):,} were read")
    frame.columns = unique(layout.names or [f"column {i}" for i in range(1, width + 1)])
    frame, doubts, alerts = _translate(frame, usual, ranges or {})
    notes = [
        "A CSV file",
        f"Separator: {_NAMES_OF_SEPARATORS[separator]}; decimal {_NAMES_OF_MARKS[usual.decimal]}"
        f"{', in some columns the other mark' * usual.is_mixed}; encoding {encoding}; "
        + ("names in the first line." if layout.names else "no names: columns are counted from 1."),
    ]
    return Table(frame, name, [*notes, *layout.repairs, *doubts], alerts)


def _decode(content: bytes) -> tuple[str, str]:
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16", errors="replace"), "UTF-16"
    for encoding, shown in (("utf-8-sig", "UTF-8"), ("cp1252", "Windows-1252")):
        try:
            return content.decode(encoding), shown
        except UnicodeDecodeError:
            continue
    return content.decode("latin-1"), "Latin-1"


def _parse(lines: Iterable[str], separator: str) -> list[list[str]]:
    return list(csv.reader(lines, delimiter=separator, skipinitialspace=True))


class _Agreement(NamedTuple):
    """The lines that have the same number of cells, which is more than one, with a separator."""

    n_lines: int = 0
    width: int = 1  # number of cells in each of them
    n_numbers: float = 0  # median of the number of cells in a line that are numbers or amounts
    n_mixed: float = 0  # likewise, of different other separators in other cells
    first: int = 0  # the first such line


def _agree(lines: list[str], separator: str) -> _Agreement:
    """Return on which number of cells the most lines agree with a separator."""
    try:
        rows = _parse(lines, separator)
    except csv.Error:  # a line without this separator may be longer than a cell may be
        return _Agreement()
    counts = Counter(len(row) for row in rows if len(row) > 1)
    n_lines, width = max(((n, width) for width, n in counts.items()), default=(0, 1))
    places = [i for i, row in enumerate(rows) if len(row) == width]
    others = {*SEPARATORS} - {separator}
    numbers, mixed = [0], [0]
    for i in places[1:]:
        other = [cell for cell in rows[i] if "\t" in cell or not _is_amount(cell)]
        numbers.append(width - len(other))
        mixed.append(sum(len(others.intersection(cell)) for cell in other))
    return _Agreement(
        n_lines, width, median(numbers[1:] or [0]), median(mixed[1:] or [0]), places[0]
    )


def _separator(lines: list[str]) -> tuple[str, int]:
    """Return the separator of a table, and the number of cells in most of its lines.

    Lines agree on a separator if it gives them the same number of cells. Of separators on which
    at least half as many lines agree as on any, the one wins that gives more numbers; then the one
    that leaves fewer others in text; then the one in an earlier line, since a header has no decimal
    commas; then the rarer one in text. Spaces separate only if nothing else does: R writes such
    files.
    """
    found = {separator: _agree(lines, separator) for separator in (*SEPARATORS, " ")}
    most = max(found[separator].n_lines for separator in SEPARATORS)
    close = [separator for separator in SEPARATORS if found[separator].n_lines >= max(1, most / 2)]
    best = min(
        close, key=lambda s: (-found[s].n_numbers, found[s].n_mixed, found[s].first), default=","
    )
    if most < 0.5 * len(lines) and found[" "].n_lines >= 0.9 * (len(lines) - 1):
        best = " "
    return best, found[best].width


_Line = tuple[int, list[str]]  # the number of a line in the file, and its cells


class _Layout(NamedTuple):
    rows: io.TextIOBase  # the rows below the header, all of the same number of cells
    n_rows: int
    names: list[str]  # of columns; none without a header
    codes: list[int]  # columns with digits that may be no numbers
    repairs: list[str]  # in words


def _lay_out(
    text: str, separator: str, width: int, quoted: bool, name: str, column: str | None
) -> _Layout:
    """Return the rows of a table, all of which have `width` cells, and the names of columns.

    Empty cells beyond the last column are ignored, and a header that lacks the name of the first
    column, as R writes it, gets one: if commas separate, only in a file where all lines are
    `quoted`, since they may be decimal commas.

    Raises:
        TableError: a row has too few or too many cells.
    """
    stream = io.StringIO(text, newline="\n")
    reader = csv.reader(stream, delimiter=separator, skipinitialspace=True)
    rows = ((reader.line_num, row) for row in reader if len(row) > 1 or any(row))
    above, (place, first) = _skip_title(rows, width, name)
    some = list(itertools.islice(rows, 200))
    names: list[str] = []
    short: _Line | None = None  # a header that may lack a name
    if _has_header([first, *(row for _, row in some)], column):
        names = first[:width]
        if any(first[width:]):
            raise TableError(
                f"{name}, line {place}: {len(first)} names, and most lines have {width} cells"
            )
    else:
        some.insert(0, (place, first))
        if above and _is_short_header(above[-1], place, width):
            short = above.pop()
    body = _copy_rows(itertools.chain(some, rows), separator, width, name)
    repairs = []
    if short is not None:
        may_lack_first = separator != "," or quoted
        names, repair = _complete_header(short, body.last_is_empty, may_lack_first, name)
        repairs.append(repair)
    if above:
        repairs.append(f"{len(above)} line(s) above the table were left out.")
    if body.n_long:
        repairs.append(
            f"Empty cells beyond the last column were ignored in {body.n_long:,} line(s)."
        )
    names = [cell.strip() or f"Unnamed: {j}" for j, cell in enumerate(names)]
    return _Layout(body.rows, body.n_rows, names, body.codes, repairs)


def _skip_title(rows: Iterator[_Line], width: int, name: str) -> tuple[list[_Line], _Line]:
    """Return the lines above the first one of full width, without empty ones, and that one."""
    above: list[_Line] = []
    for place, row in rows:
        if len(row) >= width and any(row):
            return above, (place, row)
        if any(row):
            above.append((place, row))
    raise TableError(f"{name} has no line with {width} cells")


def _is_short_header(line: _Line, below: int, width: int) -> bool:
    """Return whether a line may be a header that lacks one name; the table begins in `below`."""
    place, cells = line
    is_next = place == below - 1  # a title may have a blank line below
    return len(cells) == width - 1 and is_next and not any(map(_is_number, cells))


def _complete_header(
    header: _Line, last_is_empty: bool, may_lack_first: bool, name: str
) -> tuple[list[str], str]:
    """Return the names of a header that lacks one, and the repair in words."""
    place, names = header
    if last_is_empty:
        return [*names, ""], "Every line ends with a separator."
    if may_lack_first:
        return ["row name", *names], (
            "The header has one name less than there are columns: the first is called 'row name'."
        )
    raise TableError(
        f"{name}, line {place}: the header has {len(names)} names, and the table has "
        f"{len(names) + 1} columns; if numbers have a decimal comma, separate cells by semicolons"
    )


class _Body(NamedTuple):
    rows: io.TextIOBase
    n_rows: int
    n_long: int  # number of rows with empty cells beyond the last column
    last_is_empty: bool  # whether the last column is, in all rows
    codes: list[int]


def _copy_rows(rows: Iterable[_Line], separator: str, width: int, name: str) -> _Body:
    """Write rows of `width` cells each to a new file in memory; refuse any other row."""
    codes: set[int] = set()
    n_rows, n_long, last_is_empty = 0, 0, True
    file = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="")
    writer = csv.writer(file, delimiter=separator, lineterminator="\n")
    for line, row in rows:
        if len(row) < width or any(row[width:]):
            raise TableError(
                f"{name}, line {line}: {len(row)} cells, and the table has {width} columns; the "
                "line is cut, or a cell with a separator lacks quotes"
            )
        n_rows, n_long = n_rows + 1, n_long + (len(row) > width)
        last_is_empty = last_is_empty and not row[width - 1]
        digits = ((j, cell) for j, cell in enumerate(row[:width]) if cell[:1].isdigit())
        codes.update(j for j, cell in digits if CODE.fullmatch(cell) or MONTH.fullmatch(cell))
        writer.writerow(row[:width])
    file.seek(0)
    return _Body(file, n_rows, n_long, last_is_empty, sorted(codes))


def _is_number(cell: str) -> bool:
    number, unit = split_unit(cell.strip()) or ("", "")
    return unit in ("", *"%€$£¥₹") and bool(_fitting_marks(number))


def _is_amount(cell: str) -> bool:
    """Return whether a cell is a number of any unit, or none."""
    return bool(_fitting_marks((split_unit(cell.strip()) or ("",))[0]))


def _has_header(rows: list[list[str]], column: str | None) -> bool:
    """Return whether the first row names the columns, one of which may be known."""
    first, below = rows[0], rows[1:]
    if any(cell.strip() == column for cell in first):
        return True
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


class _Usual(NamedTuple):
    """The marks of most columns of a table."""

    decimal: str
    is_sure: bool  # whether a cell decides it
    is_mixed: bool  # whether columns differ
    open: list[int]  # columns with marks of which no cell decides


def _find_usual(rows: list[list[str]], separator: str) -> _Usual:
    """Return the decimal mark of most cells in the columns of some rows."""
    columns = [
        _count_marks({(split_unit(cell.strip()) or ("",))[0] for cell in cells})
        for cells in itertools.zip_longest(*rows, fillvalue="")
    ]
    votes: Counter[str] = Counter()
    for decided, _ in columns:
        votes.update(dict(decided.most_common(1)))
    undecided = [j for j, (decided, either) in enumerate(columns) if either and not decided]
    if votes:
        decimal = max(_CELL, key=lambda mark: (votes[mark], (mark == ",") == (separator == ";")))
        return _Usual(decimal, True, len(votes) > 1, undecided)
    with_comma = any("," in cell for _, either in columns for cell in either)
    decimal = "," if with_comma and separator == ";" else "."
    return _Usual(decimal, separator == "," and not with_comma, False, undecided)


def _count_marks(cells: Iterable[str]) -> tuple[Counter[str], list[str]]:
    """Return how many cells decide for a decimal mark, and the cells that read with both.

    "0,12", "1.234,5" and "1.234.567" decide, "1,234" does not: it may be 1234.
    """
    decided: Counter[str] = Counter()
    either = []
    for cell in cells:
        marks = _fitting_marks(cell) if "," in cell or "." in cell else []
        if len(marks) == 1:
            decided[marks[0]] += 1
        elif marks:
            either.append(cell)
    return decided, sorted(either)


def _fitting_marks(cell: str) -> list[str]:
    """Return the decimal marks with which a cell reads as a number."""
    return [mark for mark, pattern in _CELL.items() if pattern.fullmatch(cell)]


def _translate(frame: Frame, usual: _Usual, ranges: Ranges) -> tuple[Frame, list[str], list[str]]:
    """Return a frame whose text columns have numbers with decimal points, notes and alerts."""
    notes: list[str] = []
    alerts: list[str] = []
    result = frame.copy()
    for name in frame:
        if is_textual(frame[name]) and not isinstance(frame[name].dtype, pd.CategoricalDtype):
            result[name], doubts, wrong = _translate_column(frame[name], usual, ranges.get(name))
            notes += [f"Column {name!r}: {doubt}" for doubt in doubts]
            alerts += [f"Column {name!r} {words}" for words in wrong]
    return result, notes, alerts


def _translate_column(
    values: Series, usual: _Usual, known: tuple[float, float] | None
) -> tuple[Series, list[str], list[str]]:
    """Return a text column whose numbers have decimal points, notes, and alerts.

    A column of nothing but numbers becomes numeric. Digits with leading zeros are codes and stay
    text. A cell that reads with one mark only is read so, and any other cell with the mark of most
    such cells. If these disagree, the column is left as it is.
    """
    cells = as_text(values)
    cells = cells.where(~cells.isin(MISSING), None)
    texts = hard_texts(cells).unique()
    n_months = sum(MONTH.fullmatch(text) is not None for text in texts)
    if n_months >= MOSTLY * len(texts) or any(CODE.fullmatch(text) for text in texts):
        return cells, [], []
    unit = find_unit(texts)
    written = {text: without_unit(text.replace("\u2212", "-"), unit) for text in texts}
    fits = {text: marks for text, number in written.items() if (marks := _fitting_marks(number))}
    decided, either = _count_marks(set(written.values()))
    notes, alerts = [], []
    decimal = max(_CELL, key=lambda mark: (decided[mark], mark == usual.decimal))
    if either and not decided:
        decimal, is_sure = _match_range(either, usual.decimal, known)
        is_thousands = decimal not in either[0]
        if not is_sure and (is_thousands or usual.is_mixed or not usual.is_sure):
            meaning = "thousands" if is_thousands else "decimals"
            notes = [
                f"marks as in {either[0]!r} were read as {meaning}: none of its cells decides."
            ]
    elif len(decided) > 1 and 2 * len(fits) > len(texts):
        some = {marks[0]: text for text, marks in fits.items() if len(marks) == 1}
        shown = f"decimal commas ({some[',']!r}) and decimal points ({some['.']!r})"
        if either and min(decided.values()) > (1 - MOSTLY) * decided.total():
            return cells, [f"{shown}, and {either[0]!r}, which may mean both, were not read."], []
        alerts = [f"has {shown}: check that they are what they look like."]
    numbers = {
        text: text.replace("\u2212", "-").replace(
            written[text], _with_point(written[text], decimal if decimal in marks else marks[0]), 1
        )
        for text, marks in fits.items()
    }
    if len(numbers) == len(texts) and not unit:
        return as_numbers(cells.map(numbers)), notes, alerts
    return cells.map(lambda cell: numbers.get(cell, cell)).astype(object), notes, alerts


def _match_range(
    either: list[str], usual: str, known: tuple[float, float] | None
) -> tuple[str, bool]:
    """Return the decimal mark that puts numbers into a range, and whether only one does."""
    inside = []
    low, high = known or (np.inf, -np.inf)
    for mark in _CELL:
        numbers = [float(_with_point(cell, mark)) for cell in either]
        if low <= min(numbers) and max(numbers) <= high:
            inside.append(mark)
    return (inside[0], True) if len(inside) == 1 else (usual, False)


def _with_point(number: str, decimal: str) -> str:
    """Return a number of a dialect with a decimal point and without thousands marks."""
    found = _CELL[decimal].fullmatch(number)
    mark = found and found["mark"]
    return number.replace(mark or "\0", "").replace(decimal, ".")
