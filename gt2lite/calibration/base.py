"""What all calibrators share: ranks, and one interface."""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple, Self, overload

import numpy as np
from numpy.typing import ArrayLike

from gt2lite._validation import Array, between, n_axes, vector
from gt2lite.calibration.family import Cut, Interval, cut_ends
from gt2lite.memberships import ALPHA_0

FEW_SAMPLES = 100

DEFAULT_COVERAGE = 0.9
"""The coverage of `predict_interval` if none is given."""


class CoverageError(ValueError):
    """The level asked for lies above what a calibration can answer."""


class SmallCalibrationWarning(UserWarning):
    """The calibration set, or a group of it, is so small that its coverage is known roughly."""


def rank(coverage: float, n: int) -> int:
    """Return how many of `n` samples a level asks for: `n * coverage`, rounded up.

    The level counts as the plain fraction that it stands for, because its
    floating-point neighbour may lie on the other side of a whole number.

    >>> rank(0.07, 100), math.ceil(0.07 * 100)
    (7, 8)
    """
    return math.ceil(n * plain_fraction(coverage))


def plain_fraction(coverage: float) -> Fraction:
    """Return the fraction that a level stands for: 7/100 for 0.07, which as a float is not that."""
    # Fractions with denominators up to 1e8 lie further apart than a float is imprecise,
    # so that 0.07, 5 / 6 and 1 - 0.93 all become what was meant.
    level = Fraction(coverage).limit_denominator(10**8)
    return level if 0 < level < 1 else Fraction(coverage)


class ReportRow(NamedTuple):
    """What a level comes to, for a group or, where there are none, for all samples."""

    group: str | int | None
    n_samples: int
    calibrated_on: str  # "all", "group", "pool" of all groups, or "nothing" for a group too small
    alpha: float | Array  # a number, or those of the two ends (2,) where each has its own
    margin: float | Array  # likewise
    reached: float  # the share of its calibration samples that is covered


class Calibration(ABC):
    """What a calibration can do whatever it consists of: intervals for new data, and storage."""

    _n_samples = 0  # until `fit` is done

    def intervals(
        self,
        interval: Interval,
        coverage: float | Sequence[float] | Array,
        groups: ArrayLike | None = None,
    ) -> tuple[Array, Array]:
        """Return the lower and upper ends that new samples have at a level.

        Args:
            interval: the intervals of the N new samples as a function of alpha.
            coverage: the level, or L of them.
            groups: the group of each new sample (N,), where the calibration was by groups.

        Returns:
            Two arrays (N,), or (N, L) for a sequence of levels.
        """
        self._check_fitted()
        if n_axes("coverage", coverage) == 0:
            lower, upper = cut_ends(interval, [self._cuts(coverage, groups)])[:, 0]
            return lower, upper
        levels = vector("coverage", coverage)
        ends = cut_ends(interval, [self._cuts(level, groups) for level in levels])  # (2, L, N)
        return ends[0].T, ends[1].T

    @abstractmethod
    def report(self, coverage: float) -> list[ReportRow]:
        """Return size, plane, margin and coverage at a level, a row for each group."""

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
        """The intervals that a new question would need; None where none ever does."""
        return None

    @abstractmethod
    def get_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return all that `from_state` needs: values for a JSON header, and arrays."""

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
            found = cls._from_state(meta, arrays, interval)
            for given, known in zip((meta, arrays), found.get_state(), strict=True):
                if unknown := given.keys() - known.keys():
                    raise ValueError(f"it has {', '.join(sorted(unknown))} as well")
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"not the state of a {cls._name()}: {error}") from error
        return found

    def _check_fitted(self) -> None:
        if not self._n_samples:
            raise RuntimeError(f"{type(self).__name__} has no calibration set yet: call fit first")

    @abstractmethod
    def _cuts(self, coverage: Any, groups: ArrayLike | None) -> tuple[Cut, Cut]:
        """Return what the lower and the upper ends are cut at."""

    @classmethod
    @abstractmethod
    def _name(cls) -> str: ...

    @classmethod
    @abstractmethod
    def _from_state(
        cls, meta: Mapping[str, Any], arrays: Mapping[str, ArrayLike], interval: Interval | None
    ) -> Self: ...


@dataclass(eq=False)
class PooledCalibration(Calibration):
    """A calibration that learns from all samples alike; its fields are its options."""

    def fit(self, interval: Interval, y: ArrayLike) -> Self:
        """Learn the relation of plane and coverage from a calibration set.

        Args:
            interval: the intervals of the Q calibration samples as a function of alpha.
            y: their targets (Q,).
        """
        y = vector("y", y)
        warn_if_few(y.size)
        self._n_samples = 0  # a fit that fails leaves nothing half done
        self._learn(interval, y)
        self._n_samples = y.size
        return self

    def report(self, coverage: float) -> list[ReportRow]:
        """Return size, plane, margin and coverage at a level, as one row."""
        asked = self.alpha(coverage), self.margin(coverage), self.reached(coverage)
        return [ReportRow(None, self.n_samples, "all", *asked)]

    @abstractmethod
    def alpha(self, coverage: Any) -> Any:
        """Return what planes a level, or a sequence of them, gets."""

    @abstractmethod
    def margin(self, coverage: Any) -> Any:
        """Return what is added to the lowest plane for a level, or a sequence of them."""

    @abstractmethod
    def reached(self, coverage: float) -> float:
        """Return the coverage that the interval chosen for a level really has."""

    def get_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return all that `from_state` needs: values for a JSON header, and arrays."""
        self._check_fitted()
        return {**self._label(), "options": asdict(self)}, self._arrays()

    @classmethod
    def _from_state(
        cls, meta: Mapping[str, Any], arrays: Mapping[str, ArrayLike], interval: Interval | None
    ) -> Self:
        for name, value in cls._label().items():
            if meta[name] != value:
                raise ValueError(f"{name} is {meta[name]!r}")
        self = cls(**meta["options"])
        self._n_samples = self._restore(arrays, interval)
        return self

    @classmethod
    @abstractmethod
    def _label(cls) -> dict[str, str]:
        """Return what tells its state from that of other calibrations."""

    @abstractmethod
    def _learn(self, interval: Interval, y: Array) -> None: ...

    @abstractmethod
    def _arrays(self) -> dict[str, Array]: ...

    @abstractmethod
    def _restore(self, arrays: Mapping[str, ArrayLike], interval: Interval | None) -> int:
        """Undo `_arrays`, and return the number of samples."""


@dataclass(eq=False)
class Calibrator(PooledCalibration):
    """What the four methods share: `fit` to a calibration set, then ask for planes.

    A level that is out of reach gets a `CoverageError`, a set of fewer than 100 samples
    a `SmallCalibrationWarning`.
    """

    method: ClassVar[str]

    @overload
    def alpha(self, coverage: float) -> float: ...
    @overload
    def alpha(self, coverage: Sequence[float] | Array) -> Array: ...
    def alpha(self, coverage: float | Sequence[float] | Array) -> float | Array:
        """Return the plane for a level, or an array of planes for a sequence of levels.

        NaN where no plane covers enough and the interval is the lowest one with a `margin`.
        """
        return self._each(coverage, lambda cut: cut.alpha)

    @overload
    def margin(self, coverage: float) -> float: ...
    @overload
    def margin(self, coverage: Sequence[float] | Array) -> Array: ...
    def margin(self, coverage: float | Sequence[float] | Array) -> float | Array:
        """Return what is added on both ends of the lowest plane for a level: 0 where a plane does.

        It has the units of the intervals.
        """
        return self._each(coverage, lambda cut: cut.margin)

    def coverage(self, alpha: float) -> float:
        """Return the share of the calibration set that the plane `alpha` covers."""
        n_samples = self.n_samples
        return self._n_covered(between("alpha", alpha, self._lowest, 1, closed=True)) / n_samples

    def reached(self, coverage: float) -> float:
        """Return the coverage that the plane chosen for a level really has."""
        return self.coverage(self.alpha(coverage))

    @property
    def max_coverage(self) -> float:
        """The coverage of the envelope, the plane alpha_0."""
        return self.coverage(ALPHA_0)

    @classmethod
    def _label(cls) -> dict[str, str]:
        return {"method": cls.method}

    @classmethod
    def _name(cls) -> str:
        return f"{cls.method} calibrator"

    @property
    def _lowest(self) -> float:
        return ALPHA_0

    def _each(
        self, coverage: float | Sequence[float] | Array, pick: Callable[[Cut], float | Array]
    ) -> float | Array:
        if n_axes("coverage", coverage) == 0:
            return pick(self._cut(self._level(coverage)))
        return np.array([pick(self._cut(self._level(c))) for c in vector("coverage", coverage)])

    def _cuts(self, coverage: Any, groups: ArrayLike | None) -> tuple[Cut, Cut]:
        refuse_groups(groups)
        cut = self._cut(self._level(coverage))
        return cut, cut

    def _level(self, coverage: Any) -> float:
        """Return the level if it is one, and within reach."""
        n_samples, level = self.n_samples, between("coverage", coverage, 0, 1)
        n_covered = self._n_covered(ALPHA_0)
        if rank(level, n_samples) > n_covered:
            raise CoverageError(
                f"coverage {level} is out of reach: on these {n_samples} calibration samples the "
                f"widest plane, alpha {ALPHA_0}, answers levels up to "
                f"{highest_level(n_covered, n_samples)}; use a lower level, train with a higher "
                'coverage, or calibrate by "exact" or "conformal", which go beyond that plane'
            )
        return level

    @abstractmethod
    def _n_covered(self, alpha: float) -> int: ...

    @abstractmethod
    def _cut(self, level: float) -> Cut: ...


def highest_level(n: int, out_of: int) -> float:
    """Return the level `n / out_of` with four digits, rounded down: it has an answer."""
    return n * 10**4 // out_of / 10**4


def warn_if_few(n_samples: int) -> None:
    """Warn of a calibration set whose coverage moves in coarse steps."""
    if n_samples < FEW_SAMPLES:
        warnings.warn(
            f"only {n_samples} calibration samples, fewer than {FEW_SAMPLES}: coverage is known "
            f"in steps of 1/{n_samples} = {1 / n_samples:.2g}",
            SmallCalibrationWarning,
            stacklevel=3,
        )


def refuse_groups(groups: ArrayLike | None) -> None:
    """Raise where groups are given to a calibration that has none."""
    if groups is not None:
        raise ValueError(
            "groups were given, but this calibration is not by groups: calibrate with groups, too"
        )
