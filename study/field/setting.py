"""The rows that contestants get: one split of one table, the same for all of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gt2lite._validation import between, one_of, whole
from gt2lite.datasets import (
    DATASETS,
    Dataset,
    Index,
    Prepared,
    Scaler,
    checksum,
    load_dataset,
    prepare,
)
from study.field.public import PUBLIC, public_dataset
from study.field.sources import SOURCES

SPLITS = ("random", "by_group")

TABLES = (*PUBLIC, *DATASETS)
"""All tables of the field: the public ones, and the paper's."""


@dataclass(frozen=True)
class Setting:
    """The rows that contestants get, and how much effort they may make.

    Attributes:
        dataset: name of the table.
        seed: of the split, and of all else that is random.
        split: "random", or "by_group" to keep the rows of a group together.
        effort: share of the epochs, or of the trees, that training gets; below 1 for drafts.
        most_rows: training rows beyond this number are left out, at random; 0 for all.
    """

    dataset: str
    seed: int
    split: str = "random"
    effort: float = 1.0
    most_rows: int = 0

    def __post_init__(self) -> None:
        one_of("dataset", self.dataset, TABLES)
        whole("seed", self.seed, low=0)
        one_of("split", self.split, SPLITS)
        between("effort", self.effort, 0, 1, closed=True)
        whole("most_rows", self.most_rows, low=0)

    def table(self) -> Dataset:
        """Return the whole table, in its own units."""
        return table_of(self.dataset)

    def prepare(self) -> Prepared:
        """Return the three parts, scaled."""
        table = self.table()
        data = prepare(table, self.seed, by_group=self.split == "by_group")
        n = len(data.y_train)
        if not 0 < self.most_rows < n:
            return data
        kept = np.random.default_rng(self.seed).permutation(n)[: self.most_rows]
        rows = replace(data.split, train=data.split.train[kept])
        scaler = Scaler.fit(table.X[rows.train], table.y[rows.train])
        X, y = scaler.transform_X(table.X), scaler.transform_y(table.y)
        return Prepared(
            X_train=X[rows.train],
            y_train=y[rows.train],
            X_cal=X[rows.calibration],
            y_cal=y[rows.calibration],
            X_test=X[rows.test],
            y_test=y[rows.test],
            scaler=scaler,
            split=rows,
        )

    def groups(self, rows: Index) -> Index | None:
        """Return the group of each of some rows; None where the table has none."""
        groups = self.table().groups
        return None if groups is None else groups[rows]

    def kept_together(self, data: Prepared) -> Index | None:
        """Return the groups of the training rows that no fold may tear apart; None for none."""
        return self.groups(data.split.train) if self.split == "by_group" else None


def table_of(name: str) -> Dataset:
    """Return a table of the paper or a public one, in its own units."""
    return load_dataset(name) if name in DATASETS else public_dataset(name)


def checksum_of(name: str) -> str:
    """Return the SHA-256 of a table's file."""
    return checksum(name) if name in DATASETS else SOURCES[name].sha256


def shape_of(name: str) -> tuple[int, int]:
    """Return rows and inputs of a table; nothing is downloaded for it.

    >>> shape_of("concrete"), shape_of("ww")
    ((1030, 8), (4898, 11))
    """
    if name in DATASETS:
        rows, inputs = load_dataset(name).X.shape
        return rows, inputs
    return SOURCES[name].shape
