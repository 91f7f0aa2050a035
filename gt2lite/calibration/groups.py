"""Calibration by groups: each group has planes of its own, from its own samples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from gt2lite._validation import Array, IntArray, one_of, vector, warn
from gt2lite.calibration.base import (
    FEW_SAMPLES,
    CoverageError,
    ReportRow,
    SmallCalibrationWarning,
)
from gt2lite.calibration.family import Cut, Interval
from gt2lite.calibration.ranked import (
    EQUAL_TAILS,
    RANKED,
    SIDES,
    RankedCalibration,
    find_cuts,
    n_covered,
    read_tails,
)

Label = str | int
SMALL_GROUPS = ("raise", "pool")


@dataclass(eq=False)
class GroupCalibrator(RankedCalibration):
    """Calibration by rank within groups: each has planes of its own.

    With "conformal" the guarantee holds for each group: a new sample of a group is covered
    with probability of at least the level, if it is exchangeable with the calibration samples
    *of that group*. A group of n samples reaches levels up to n / (n + 1).

    Args:
        method: "exact" or "conformal".
        sides: "both" for one plane, "each" for one for each bound, see `TwoSidedCalibrator`.
        small_groups: what to do about a group too small for a level: "raise" an error, or
            "pool": take the plane of all samples together, with a warning. That plane keeps
            its level on average over new samples of all groups; for a group that takes it,
            nothing is guaranteed.
        tails: with sides="each", the shares of the misses that may lie below and above.

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

    kind: ClassVar[str] = "group"

    method: str = "conformal"
    sides: str = "both"
    small_groups: str = "raise"
    tails: tuple[float, float] = EQUAL_TAILS

    def __post_init__(self) -> None:
        one_of("method", self.method, RANKED)
        one_of("sides", self.sides, SIDES)
        one_of("small_groups", self.small_groups, SMALL_GROUPS)
        below, above = read_tails(self.tails)
        self.tails = float(below), float(above)
        if self.sides == "both" and self.tails != EQUAL_TAILS:
            raise ValueError(f"tails must be {EQUAL_TAILS} if sides='both', got {self.tails}")

    def fit(self, interval: Interval, y: ArrayLike, groups: ArrayLike | None = None) -> Self:
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
        self._n_samples = self._split(labels)
        small = [label for label, scores in self._by_group.items() if len(scores) < FEW_SAMPLES]
        if small:
            warn(
                f"{len(small)} of {len(self._by_group)} groups have fewer than {FEW_SAMPLES} "
                f"calibration samples: {self._named(small)}; the coverage of a group is known "
                "in steps of one sample",
                SmallCalibrationWarning,
            )
        return self

    def report(self, coverage: float) -> list[ReportRow]:
        """Return size, plane, margin and coverage of every group at a level.

        A group too small for the level has "nothing" in `calibrated_on`.
        """
        self._check_fitted()
        return [self._row(coverage, label) for label in self._by_group]

    @property
    def sizes(self) -> dict[Label, int]:
        """The number of calibration samples of each group."""
        self._check_fitted()
        return {label: len(scores) for label, scores in self._by_group.items()}

    def get_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return all that `from_state` needs: values for a JSON header, and arrays."""
        meta, arrays = super().get_state()
        codes = self._codes.astype(float)
        return meta | {"labels": list(self._by_group)}, arrays | {"group": codes}

    def _restore(
        self, meta: Mapping[str, Any], arrays: Mapping[str, ArrayLike], interval: Interval | None
    ) -> int:
        n, labels = super()._restore(meta, arrays, interval), read_groups(meta["labels"])
        codes = vector("group", arrays["group"], n)
        if len(set(labels)) != len(labels):
            raise ValueError("labels must be different names or numbers")
        if not np.array_equal(np.unique(codes), np.arange(len(labels))):
            raise ValueError(f"group must hold the numbers of {len(labels)} groups")
        return self._split([labels[int(code)] for code in codes])

    def _split(self, labels: list[Label]) -> int:
        """Give each group its scores, and return the number of samples."""
        names = sorted(set(labels), key=lambda label: (isinstance(label, str), label))
        code = {name: i for i, name in enumerate(names)}
        self._codes: IntArray = np.array([code[label] for label in labels])
        rows = np.split(
            np.argsort(self._codes, kind="stable"), np.cumsum(np.bincount(self._codes))[:-1]
        )
        self._by_group = {name: self._scores.take(rows[i]) for name, i in code.items()}
        return len(self._scores)

    def _find(self, coverage: Any, label: Label) -> tuple[tuple[Cut, Cut], str]:
        """Return the cuts of a group at a level, and whether they are its own or the pool's."""
        options = coverage, self.method, self.sides, self.tails
        try:
            return find_cuts(self._by_group[label], *options), "group"
        except CoverageError as error:
            if self.small_groups == "raise":
                raise CoverageError(
                    f'group {label!r} is too small: {error}, or set small_groups="pool"'
                ) from None
        return find_cuts(self._scores, *options), "pool"

    def _row(self, coverage: float, label: Label) -> ReportRow:
        scores = self._by_group[label]
        try:
            cuts, source = self._find(coverage, label)
        except CoverageError:
            return ReportRow(label, len(scores), "nothing", np.nan, np.nan, np.nan)
        (lower, below), (upper, above) = cuts
        both = self.sides == "both"
        return ReportRow(
            label,
            len(scores),
            source,
            lower if both else np.array([lower, upper]),
            below if both else np.array([below, above]),
            n_covered(scores, cuts) / len(scores),
        )

    def _row_cuts(self, coverage: Any, groups: ArrayLike | None) -> tuple[Cut, Cut]:
        labels = read_groups(groups)
        present = list(dict.fromkeys(labels))
        found = self._find_all(coverage, present)
        place = {label: i for i, label in enumerate(present)}
        rows = np.array([place[label] for label in labels])
        table = np.array(found)[rows]  # (N, lower and upper, alpha and margin)
        lower, upper = Cut(table[:, 0, 0], table[:, 0, 1]), Cut(table[:, 1, 0], table[:, 1, 1])
        return lower, upper if self.sides == "each" else lower

    def _cuts(self, coverage: Any, group: Label | None = None) -> tuple[Cut, Cut]:
        (cuts,) = self._find_all(coverage, read_groups(None if group is None else [group]))
        return cuts

    def _find_all(self, coverage: Any, labels: Sequence[Label]) -> list[tuple[Cut, Cut]]:
        """Return the cuts of groups at a level, and warn if some are the pool's."""
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
            warn(
                f"too small for coverage {coverage}: {self._named(pooled)}. They take the plane of "
                f"all {self._n_samples} calibration samples, which keeps its level on average over "
                "all groups and guarantees nothing for these",
                SmallCalibrationWarning,
            )
        return [cuts for cuts, _ in found]

    def _named(self, labels: Sequence[Label]) -> str:
        return _few(f"{label!r} ({len(self._by_group[label])} samples)" for label in labels)


def read_groups(groups: ArrayLike | None, n: int | None = None) -> list[Label]:
    """Return the names or numbers of groups as plain strings and ints, `n` if that is given.

    >>> read_groups(np.array([3, 1])), read_groups(["a", 2.0])
    ([3, 1], ['a', 2])
    """
    if groups is None:
        raise ValueError("groups are missing: this calibration is by groups, one for each sample")
    array = groups if isinstance(groups, np.ndarray) else np.asarray(groups, dtype=object)
    if array.ndim != 1 or array.size == 0 or (n is not None and array.size != n):
        length = "" if n is None else f" of length {n}"
        raise ValueError(f"groups must be a 1-D array{length}, got shape {array.shape}")
    labels: list[Label] = []
    kinds: set[type] = set()
    for i, label in enumerate(array.tolist()):
        if isinstance(label, float) and label.is_integer():
            label = int(label)
        if not isinstance(label, (str, Integral)):
            raise ValueError(f"groups must hold names or whole numbers, got {label!r} at index {i}")
        kinds.add(type(label))
        labels.append(label if isinstance(label, str) else int(label))
    if bool in kinds and not kinds <= {bool, str}:
        raise ValueError("groups must not mix True and False with numbers: True would be group 1")
    return labels


def _few(words: Iterable[str], shown: int = 5) -> str:
    """Return words as a list with commas, cut short if there are many."""
    words = list(words)
    more = f" and {len(words) - shown} more" if len(words) > shown else ""
    return ", ".join(words[:shown]) + more
