"""What the field measures: a flat row for each level, and one for each bin of test rows."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class FieldRecord:
    """One answer on one split at one level; RMSE, width and scores are those of the scaled target.

    `pinaw` is the width as a share of the target's range, `width` in standard deviations of the
    training targets. `equal_...` is the oracle: each method moved along its own family until its
    coverage of the test part is the level (at least: discrete targets move in leaps). `crps` is
    over all levels, where one training gives them. `unnested` is the share of rows whose interval
    for the first level is not inside that for the second. `worst_...` is the coverage of the bin
    that has least.
    """

    dataset: str
    split: str
    seed: int
    contestant: str
    level: float
    n_cal: int
    n_test: int
    rmse: float
    picp: float
    pinaw: float
    interval_score: float
    equal_picp: float
    equal_pinaw: float
    equal_interval_score: float
    unnested: float
    first_seconds: float
    further_seconds: float
    tuning_seconds: float
    worst_width: float
    worst_region: float
    worst_rarity: float
    worst_group: float | None = None  # where rows have groups
    n_train: int | None = None
    width: float | None = None
    crps: float | None = None


@dataclass(frozen=True, kw_only=True)
class BinCount:
    """How many rows of one bin are covered, and how wide their intervals are."""

    dataset: str
    split: str
    seed: int
    contestant: str
    level: float
    by: str  # "width", "region", "rarity" or "group"
    bin: str
    n: int
    covered: int
    width: float  # on average, as a share of the target's range


@dataclass(frozen=True, kw_only=True)
class ChosenSettings:
    """Settings that a method chose inside the training part of one split."""

    dataset: str
    split: str
    seed: int
    contestant: str
    part: str
    settings: str
    trees: int | None
    most_trees: int | None

    @property
    def binds(self) -> bool:
        """Whether the number of trees ended at what was allowed."""
        return self.trees is not None and self.trees == self.most_trees
