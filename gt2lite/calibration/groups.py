"""Calibration by groups: each has planes of its own, from its own samples."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from gt2lite._validation import Array, IntArray, one_of, vector
from gt2lite.calibration.base import (
    FEW_SAMPLES,
    CoverageError,
    ReportRow,
    SmallCalibrationWarning,
)
from gt2lite.calibration.family import Cut, Interval
from gt2lite.calibration.ranked import RANKED, SIDES, RankedCalibration, find_cuts, n_covered

Label = str | int
SMALL_GROUPS = ("raise", "pool")


@dataclass(eq=False)
class GroupCalibrator(RankedCalibration):
    """Calibration by rank within groups: each has a plane of its own.

    With "conformal" the guarantee holds for each group: a new sample of a group is covered
    with probability of at least the level, if it is exchangeable with the calibration samples
    *of that group*. A group of n samples answers levels up to n / (n + 1).

    Args:
        method: "exact" or "conformal".
        sides: "both" for one plane, "each" for one for each end, see `TwoSidedCalibrator`.
        small_groups: what is done about a group too small for a level: "raise" an error, or
            "pool": take the plane of all samples together, with a warning. That plane keeps
            its level on average over new samples of all groups; for a group that had to
            take it, nothing is guaranteed.

    >>> from gt2lite.memberships import kappa_of
    >>> y = np.append(np.linspace(-1, 1, 201), np.linspace(-0.5, 0.5, 101))
    >>> groups = ["wild"] * 201 + ["calm"] * 101
    >>> def interval(alpha):  # the plane alpha reaches from -kappa to kappa
    ...     kappa = np.broadcast_to(kappa_of(alpha), y.shape)
    ...     return -kappa, kappa
    >>> by_group = GroupCalibrator("exact").fit(interval, y, groups)
    >>> [(row.group, row.n_samples, round(row.alpha, 3)) for row in by_group.report(0.9)]
    [('calm', 101, 0.394), ('wild', 201, 0.024)]
    """

    method: str = "conformal"
    sides: str = "both"
    small_groups: str = "raise"

    def __post_init__(self) -> None:
        one_of("method", self.method, RANKED)
        one_of("sides", self.sides, SIDES)
        one_of("small_groups", self.small_groups, SMALL_GROUPS)

    def fit(self, interval: Interval, y: ArrayLike, groups: ArrayLike) -> Self:
        """Learn where samples are first covered, from the calibration set.

        Args:
            interval: the intervals of the Q calibration samples as a function of alpha.
            y: their targets (Q,).
            groups: the group of each (Q,), by name or number.
        """
        y = vector("y", y)
        labels = read_groups(groups, y.size)
        self._n_samples = 0
        self._learn(interval, y)
        self._split(labels)
        small = [label for label, scores in self._by_group.items() if len(scores) < FEW_SAMPLES]
        if small:
            warnings.warn(
                f"{len(small)} of {len(self._by_group)} groups have fewer than {FEW_SAMPLES} "
                f"calibration samples: {self._named(small)}; the coverage of a group is known "
                "in steps of one sample",
                SmallCalibrationWarning,
                stacklevel=2,
            )
        return self

    def alpha(self, coverage: float, group: Label) -> float | Array:
        """Return the plane of a group for a level, or those of the two ends (2,)."""
        return self._of(group, coverage, 0)

    def margin(self, coverage: float, group: Label) -> float | Array:
        """Return what a group adds to the lowest plane for a level, or below and above (2,)."""
        return self._of(group, coverage, 1)

    def report(self, coverage: float) -> list[ReportRow]:
        """Return size, plane and margin of every group at a level; those too small say so."""
        self._check_fitted()
        return [self._row(coverage, label) for label in self._by_group]

    @property
    def sizes(self) -> dict[Label, int]:
        """The number of calibration samples of each group."""
        self._check_fitted()
        return {label: len(scores) for label, scores in self._by_group.items()}

    def get_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return all that `from_state` needs: values for a JSON header, and arrays."""
        self._check_fitted()
        meta = {"kind": "groups", "options": asdict(self), "labels": list(self._by_group)}
        return meta, {**self._arrays(), "group": self._codes.astype(float)}

    @classmethod
    def _from_state(
        cls, meta: Mapping[str, Any], arrays: Mapping[str, ArrayLike], interval: Interval | None
    ) -> Self:
        self = cls(**meta["options"])
        n, labels = self._restore(arrays, interval), meta["labels"]
        codes = vector("group", arrays["group"], n)
        if not isinstance(labels, list) or len(set(read_groups(labels))) != len(labels):
            raise ValueError("labels must be a list of different names or numbers")
        if not np.array_equal(np.unique(codes), np.arange(len(labels))):
            raise ValueError(f"group must hold the numbers of {len(labels)} groups")
        self._split(read_groups([labels[int(code)] for code in codes], n))
        return self

    @classmethod
    def _name(cls) -> str:
        return "group calibrator"

    # ------------------------------------------------------------------- inside

    def _split(self, labels: list[Label]) -> None:
        names = sorted(set(labels), key=lambda label: (isinstance(label, str), label))
        code = {name: i for i, name in enumerate(names)}
        self._codes: IntArray = np.array([code[label] for label in labels])
        self._by_group = {name: self._scores.take(self._codes == i) for name, i in code.items()}
        self._n_samples = len(self._scores)

    def _find(self, coverage: Any, label: Label) -> tuple[tuple[Cut, Cut], str]:
        """Return the cuts of a group at a level, and whether they are its own or the pool's."""
        try:
            return find_cuts(self._by_group[label], coverage, self.method, self.sides), "group"
        except CoverageError as error:
            if self.small_groups == "raise":
                raise CoverageError(
                    f'group {label!r} is too small: {error}, or take small_groups="pool"'
                ) from None
        return find_cuts(self._scores, coverage, self.method, self.sides), "pool"

    def _row(self, coverage: float, label: Label) -> ReportRow:
        scores = self._by_group[label]
        try:
            cuts, source = self._find(coverage, label)
        except CoverageError:
            return ReportRow(label, len(scores), "nothing", np.nan, np.nan, np.nan)
        reached = n_covered(scores, cuts) / len(scores)
        return ReportRow(
            label, len(scores), source, self._pick(cuts, 0), self._pick(cuts, 1), reached
        )

    def _cuts(self, coverage: Any, groups: ArrayLike | None) -> tuple[Cut, Cut]:
        if groups is None:
            raise ValueError(
                "groups are missing: this calibration is by groups, so each new sample needs one"
            )
        labels = read_groups(groups)
        present = list(dict.fromkeys(labels))
        found = self._find_all(coverage, present)
        place = {label: i for i, label in enumerate(present)}
        rows = np.array([place[label] for label in labels])
        table = np.array(found)[rows]  # (N, 2 ends, 2 parts)
        lower, upper = Cut(table[:, 0, 0], table[:, 0, 1]), Cut(table[:, 1, 0], table[:, 1, 1])
        return lower, upper if self.sides == "each" else lower

    def _find_all(self, coverage: Any, labels: Sequence[Label]) -> list[tuple[Cut, Cut]]:
        """Return the cuts of groups at a level, and warn where some are the pool's."""
        self._check_fitted()
        unseen = [repr(label) for label in labels if label not in self._by_group]
        if unseen:
            raise ValueError(
                f"groups must be among those of the calibration set, got {_few(unseen)}; "
                f"it has {_few(map(repr, self._by_group))}"
            )
        found = [self._find(coverage, label) for label in labels]
        pooled = [g for g, (_, source) in zip(labels, found, strict=True) if source == "pool"]
        if pooled:
            warnings.warn(
                f"too small for coverage {coverage}: {self._named(pooled)}. They take the plane of "
                f"all {self._n_samples} calibration samples, which keeps its level on average over "
                "all groups and guarantees nothing for these",
                SmallCalibrationWarning,
                stacklevel=5,
            )
        return [cuts for cuts, _ in found]

    def _of(self, group: Label, coverage: float, part: int) -> float | Array:
        (cuts,) = self._find_all(coverage, read_groups([group]))
        return self._pick(cuts, part)

    def _named(self, labels: Sequence[Label]) -> str:
        return _few(f"{label!r} ({len(self._by_group[label])} samples)" for label in labels)

    def _pick(self, cuts: tuple[Cut, Cut], part: int) -> float | Array:
        lower, upper = cuts
        return np.array([lower[part], upper[part]]) if self.sides == "each" else lower[part]


def read_groups(groups: ArrayLike, n: int | None = None) -> list[Label]:
    """Return the names or numbers of groups as plain strings and ints, `n` where that is given.

    >>> read_groups(np.array([3, 1])), read_groups(["a", 2.0])
    ([3, 1], ['a', 2])
    """
    array = groups if isinstance(groups, np.ndarray) else np.asarray(groups, dtype=object)
    if array.ndim != 1 or array.size == 0 or (n is not None and array.size != n):
        wanted = "labels" if n is None else f"{n} labels"
        raise ValueError(f"groups must be a row of {wanted}, got shape {array.shape}")
    labels = []
    for i, label in enumerate(array.tolist()):
        if isinstance(label, float) and label.is_integer():
            label = int(label)
        if not isinstance(label, (str, Integral)):
            raise ValueError(f"groups must hold names or whole numbers, got {label!r} at index {i}")
        labels.append(label if isinstance(label, str) else int(label))
    return labels


def _few(words: Iterable[str], shown: int = 5) -> str:
    """Return words as a list with commas, cut short where there are many."""
    words = list(words)
    more = f" and {len(words) - shown} more" if len(words) > shown else ""
    return ", ".join(words[:shown]) + more
