"""The interface of all calibrators, and the ranks that levels stand for."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from gt2lite._validation import Array, between, n_axes, vector, warn
from gt2lite.calibration.family import Cut, Interval, cut_ends
from gt2lite.memberships import ALPHA_0

FEW_SAMPLES = 100

DEFAULT_COVERAGE = 0.9
"""The coverage of `predict_interval` if none is given."""


class CoverageError(ValueError):
    """The requested coverage is higher than a calibration can reach."""


class SmallCalibrationWarning(UserWarning):
    """The calibration set, or a group of it, is so small that its coverage is known roughly."""


def rank(coverage: float | Fraction, n: int) -> int:
    """Return `n * coverage`, rounded up: how many of `n` samples a level asks for.

    The level counts as the plain fraction that it stands for, because its floating-point
    neighbour may lie on the other side of a whole number. The conformal rank among Q calibration
    samples is ``rank(coverage, Q + 1)``.

    >>> rank(0.07, 100), math.ceil(0.07 * 100)
    (7, 8)
    """
    return math.ceil(n * plain_fraction(coverage))


def plain_fraction(coverage: float | Fraction) -> Fraction:
    """Return the fraction that a level stands for: 7/100 for 0.07, which as a float is not that."""
    if isinstance(coverage, Fraction):
        return coverage
    if isinstance(coverage, np.floating):
        coverage = float(str(coverage))  # 0.3 in single precision is 0.30000001192...
    # Fractions with denominators up to 1e8 lie further apart than a float is imprecise,
    # so that 0.07, 5 / 6 and 1 - 0.93 all become what was meant.
    level = Fraction(coverage).limit_denominator(10**8)
    return level if 0 < level < 1 else Fraction(coverage)


class ReportRow(NamedTuple):
    """Planes, margins and coverage at a level, of a group or of all samples (group None)."""

    group: str | int | None
    n_samples: int
    calibrated_on: str  # "all", "group", "pool" of all groups, or "nothing" for a group too small
    alpha: float | Array  # a number, or (2,) if lower and upper bound have planes of their own
    margin: float | Array  # likewise
    reached: float  # the share of its calibration samples that is covered


class Calibration(ABC):
    """A calibration set turned into intervals at any level; base of all calibrators.

    Subclasses are dataclasses, and their fields are their options. A level that is out of reach
    raises a `CoverageError`; fewer than 100 samples get a `SmallCalibrationWarning`.
    """

    kind: ClassVar[str]  # names the class in a stored state
    sides: str = "both"  # one cut for both bounds, or one for "each"
    _n_samples = 0  # until `fit` is done

    def fit(self, interval: Interval, y: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Learn the relation of plane and coverage from a calibration set.

        Args:
            interval: the intervals of the Q calibration samples as a function of alpha.
            y: their targets (Q,).
            groups: the group of each (Q,), for a `GroupCalibrator` only.
        """
        refuse_groups(groups)
        y = vector("y", y)
        if y.size < FEW_SAMPLES:
            warn(
                f"only {y.size} calibration samples, fewer than {FEW_SAMPLES}: coverage is known "
                f"in steps of 1/{y.size} = {1 / y.size:.2g}",
                SmallCalibrationWarning,
            )
        self._n_samples = 0  # a fit that fails leaves nothing half done
        self._learn(interval, y)
        self._n_samples = y.size
        return self

    def intervals(
        self,
        interval: Interval,
        coverage: float | Sequence[float] | Array,
        groups: ArrayLike | None = None,
    ) -> tuple[Array, Array]:
        """Return the lower and upper bounds of new samples at a level.

        Args:
            interval: the intervals of the N new samples as a function of alpha.
            coverage: the level, or L of them.
            groups: the group of each new sample (N,), if the calibration is by groups.

        Returns:
            Two arrays (N,), or (N, L) for a sequence of levels.
        """
        self._check_fitted()
        if n_axes("coverage", coverage) == 0:
            lower, upper = cut_ends(interval, [self._row_cuts(coverage, groups)])[:, 0]
            return lower, upper
        vector("coverage", coverage)
        levels = np.ravel(coverage)  # single precision, too: see `plain_fraction`
        ends = cut_ends(interval, [self._row_cuts(level, groups) for level in levels])  # (2, L, N)
        return ends[0].T, ends[1].T

    def alpha(self, coverage: Any, group: str | int | None = None) -> Any:
        """Return the plane for a level; NaN if no plane covers enough and there is a `margin`.

        Args:
            coverage: the level, or L of them.
            group: which group, if the calibration is by groups.

        Returns:
            A number, or (L,) for several levels; with planes of their own for lower and upper
            bound (2,) or (2, L).
        """
        return self._read_cuts(coverage, group, 0)

    def margin(self, coverage: Any, group: str | int | None = None) -> Any:
        """Return the margin added to the lowest plane for a level, 0 if a plane covers enough.

        It has the units of the intervals; arguments and shapes are those of `alpha`.
        """
        return self._read_cuts(coverage, group, 1)

    @abstractmethod
    def reached(self, coverage: float) -> float:
        """Return the share of the calibration set that the intervals for a level cover."""

    def report(self, coverage: float) -> list[ReportRow]:
        """Return size, plane, margin and coverage at a level, one row for each group."""
        found = self.alpha(coverage), self.margin(coverage), self.reached(coverage)
        return [ReportRow(None, self.n_samples, "all", *found)]

    @property
    def n_samples(self) -> int:
        """The size Q of the calibration set."""
        self._check_fitted()
        return self._n_samples

    @property
    @abstractmethod
    def n_evaluations(self) -> int:
        """How often the system was evaluated on the whole calibration set so far."""

    @property
    def interval(self) -> Interval | None:
        """The intervals of the calibration set, if a new level may evaluate them again."""
        return None

    def get_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return all that `from_state` needs: values for a JSON header, and arrays."""
        self._check_fitted()
        return {"kind": self.kind, "options": asdict(self)}, self._arrays()  # type: ignore[call-overload]

    @classmethod
    def from_state(
        cls,
        meta: Mapping[str, Any],
        arrays: Mapping[str, ArrayLike],
        interval: Interval | None = None,
    ) -> Self:
        """Return the calibrator that `get_state` described.

        Args:
            meta: the values, with the options of the calibrator.
            arrays: the arrays.
            interval: the intervals of the calibration set. `table` needs them for the
                coverage of a new plane, `search` for a new level, the others never.
        """
        try:
            if meta["kind"] != cls.kind:
                raise ValueError(f"kind is {meta['kind']!r}")
            self = cls(**meta["options"])
            self._n_samples = self._restore(meta, arrays, interval)
            for given, known in zip((meta, arrays), self.get_state(), strict=True):
                if unknown := given.keys() - known.keys():
                    raise ValueError(f"unknown entries {', '.join(sorted(unknown))}")
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"not the state of a {cls.kind} calibrator: {error}") from error
        return self

    def _read_cuts(self, coverage: Any, group: str | int | None, part: int) -> Any:
        """Return alpha (part 0) or margin (part 1) of the cuts for levels, see `alpha`."""
        self._check_fitted()
        single = n_axes("coverage", coverage) == 0
        levels = [coverage] if single else vector("coverage", coverage)
        pairs = [self._cuts(level, group) for level in levels]
        found = np.array([[lower[part], upper[part]] for lower, upper in pairs]).T  # (2, L)
        if self.sides == "both":
            found = found[0]
        if single:
            return float(found[0]) if found.ndim == 1 else found[:, 0]
        return found

    def _row_cuts(self, coverage: Any, groups: ArrayLike | None) -> tuple[Cut, Cut]:
        """Return the cuts of the lower and upper bounds of new rows."""
        refuse_groups(groups)
        return self._cuts(coverage)

    def _check_fitted(self) -> None:
        if not self._n_samples:
            raise RuntimeError(f"{type(self).__name__} has no calibration set yet: call fit first")

    @abstractmethod
    def _learn(self, interval: Interval, y: Array) -> None: ...

    @abstractmethod
    def _cuts(self, coverage: Any, group: str | int | None = None) -> tuple[Cut, Cut]:
        """Return where the lower and the upper bound are cut for a level, of one group."""

    @abstractmethod
    def _arrays(self) -> dict[str, Array]: ...

    @abstractmethod
    def _restore(
        self, meta: Mapping[str, Any], arrays: Mapping[str, ArrayLike], interval: Interval | None
    ) -> int:
        """Undo `get_state`, and return the number of samples."""


class Calibrator(Calibration):
    """A calibration with one plane for both bounds: base of the four methods."""

    method: ClassVar[str]

    def coverage(self, alpha: float) -> float:
        """Return the share of the calibration set that the plane `alpha` covers."""
        n_samples = self.n_samples
        return self._n_covered(between("alpha", alpha, self._lowest, 1, closed=True)) / n_samples

    @property
    def max_coverage(self) -> float:
        """The coverage of the envelope, the plane alpha_0."""
        return self.coverage(ALPHA_0)

    @property
    def _lowest(self) -> float:
        return ALPHA_0

    @abstractmethod
    def _n_covered(self, alpha: float) -> int: ...


def highest_level(n: int, out_of: int) -> float:
    """Return the level `n / out_of` with four digits, rounded down so that it is in reach."""
    return n * 10**4 // out_of / 10**4


def refuse_groups(groups: ArrayLike | None) -> None:
    """Raise an error if groups are given to a calibration without groups."""
    if groups is not None:
        raise ValueError("groups must be None, because this calibration is not by groups")
