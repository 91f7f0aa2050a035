"""The rows that contestants get: one split of one data set, the same for all of them."""

from __future__ import annotations

from dataclasses import dataclass

from gt2lite._checks import between, one_of, whole
from gt2lite.datasets import DATASETS, Index, Prepared, load_dataset, prepare

SPLITS = ("random", "by_group")


@dataclass(frozen=True)
class Setting:
    """The rows that contestants get, and how much effort they may make.

    Attributes:
        dataset: name of the data set.
        seed: of the split, and of all else that is random.
        split: "random", or "by_group" to keep the rows of a group together.
        effort: share of the epochs, or of the trees, that training gets; below 1 for drafts.
    """

    dataset: str
    seed: int
    split: str = "random"
    effort: float = 1.0

    def __post_init__(self) -> None:
        one_of("dataset", self.dataset, DATASETS)
        whole("seed", self.seed, low=0)
        one_of("split", self.split, SPLITS)
        between("effort", self.effort, 0, 1, closed=True)

    def prepare(self) -> Prepared:
        """Return the three parts, scaled."""
        return prepare(load_dataset(self.dataset), self.seed, by_group=self.split == "by_group")

    def groups(self, rows: Index) -> Index | None:
        """Return the group of each of some rows; None where the data set has none."""
        groups = load_dataset(self.dataset).groups
        return None if groups is None else groups[rows]
