"""What all calibrators share: the definition of coverage, ranks, and one interface."""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gt2lite._checks import Array, between, vector
from gt2lite.memberships import ALPHA_0

Interval = Callable[[float | Array], tuple[Array, Array]]
"""The lower and upper ends (Q,) of a plane alpha, or of one plane per sample, alpha (Q,).

It may have a method `parts`, as `gt2lite.system.Planes` has, that yields stretches of rows
with intervals of their own, for sets too large to be dealt with at once.
"""

FEW_SAMPLES = 100


class CoverageError(ValueError):
    """The level asked for lies above what the widest plane can answer."""


class SmallCalibrationWarning(UserWarning):
    """The calibration set is so small that its coverage moves in coarse steps."""


def covers(y: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> NDArray[np.bool_]:
    """Return which targets lie in their interval; both ends belong to it, as in Eq. (17).

    >>> covers([0.0, 1.0, 2.0], lower=[0.0, 0.0, 0.0], upper=[1.0, 1.0, 1.0])
    array([ True,  True, False])
    """
    y = vector("y", y)
    return (vector("lower", lower, y.size) <= y) & (y <= vector("upper", upper, y.size))


def rank(coverage: float, n: int) -> int:
    """Return how many of `n` samples a level asks for: `n * coverage`, rounded up.

    The level counts as the plain fraction that it stands for, because its
    floating-point neighbour may lie on the other side of a whole number.

    >>> rank(0.07, 100), math.ceil(0.07 * 100)
    (7, 8)
    """
    return math.ceil(n * _fraction(coverage))


def _fraction(coverage: float) -> Fraction:
    # Fractions with denominators up to 1e8 lie further apart than a float is imprecise,
    # so that 0.07, 5 / 6 and 1 - 0.93 all become what was meant.
    level = Fraction(coverage).limit_denominator(10**8)
    return level if 0 < level < 1 else Fraction(coverage)


@dataclass(eq=False)
class Calibrator(ABC):
    """What all calibrators share: `fit` to a calibration set, then ask for planes.

    The fields of a subclass are its options. A level that is out of reach gets
    a `CoverageError`, a set of fewer than 100 samples a `SmallCalibrationWarning`.
    """

    method: ClassVar[str]
    _n_samples = 0  # until `fit` is done

    def fit(self, interval: Interval, y: ArrayLike) -> Self:
        """Learn the relation of plane and coverage from a calibration set.

        Args:
            interval: the intervals of the Q calibration samples as a function of alpha.
            y: their targets (Q,).
        """
        y = vector("y", y)
        if y.size < FEW_SAMPLES:
            warnings.warn(
                f"only {y.size} calibration samples, fewer than {FEW_SAMPLES}: coverage is known "
                f"in steps of 1/{y.size} = {1 / y.size:.2g}",
                SmallCalibrationWarning,
                stacklevel=2,
            )
        self._n_samples = 0  # a fit that fails leaves nothing half done
        self._learn(interval, y)
        self._n_samples = y.size
        return self

    @overload
    def alpha(self, coverage: float) -> float: ...
    @overload
    def alpha(self, coverage: Sequence[float] | Array) -> Array: ...
    def alpha(self, coverage: float | Sequence[float] | Array) -> float | Array:
        """Return the plane for a level, or an array of planes for a sequence of levels."""
        if np.ndim(coverage) == 0:
            return self._plane(self._level(coverage))
        return np.array([self._plane(self._level(c)) for c in vector("coverage", coverage)])

    def coverage(self, alpha: float) -> float:
        """Return the share of the calibration set that the plane `alpha` covers."""
        n_samples = self.n_samples
        return self._n_covered(between("alpha", alpha, ALPHA_0, 1, closed=True)) / n_samples

    def reached(self, coverage: float) -> float:
        """Return the coverage that the plane chosen for a level really has."""
        return self.coverage(self.alpha(coverage))

    @property
    def max_coverage(self) -> float:
        """The coverage of the widest plane, alpha_0."""
        return self.coverage(ALPHA_0)

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

    def get_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return all that `from_state` needs: values for a JSON header, and arrays."""
        self._check_fitted()
        return {"method": self.method, "options": asdict(self)}, self._arrays()

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
            if meta["method"] != cls.method:
                raise ValueError(f"method is {meta['method']!r}")
            self = cls(**meta["options"])
            self._n_samples = self._restore(arrays, interval)
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"not the state of a {cls.method} calibrator: {error}") from error
        return self

    def _check_fitted(self) -> None:
        if not self._n_samples:
            raise RuntimeError(f"{type(self).__name__} has no calibration set yet: call fit first")

    def _level(self, coverage: Any) -> float:
        """Return the level if it is one, and within reach."""
        n_samples, level = self.n_samples, between("coverage", coverage, 0, 1)
        wanted, n_covered = rank(level, self._out_of), self._n_covered(ALPHA_0)
        if wanted <= n_covered:
            return level
        highest = n_covered * 10**4 // self._out_of / 10**4  # rounded down: it has an answer
        remedy = "train with a higher coverage"
        if wanted > n_samples:  # conformal only: no plane could have that rank
            needed = math.ceil(1 / (1 - _fraction(level))) - 1
            remedy = f"calibrate with at least {needed} samples"
        raise CoverageError(
            f"coverage {level} is out of reach: on these {n_samples} calibration samples the "
            f"widest plane, alpha {ALPHA_0}, answers levels up to {highest}; "
            f"use a lower level or {remedy}"
        )

    @property
    def _out_of(self) -> int:
        """The number that a level is a share of."""
        return self._n_samples

    @abstractmethod
    def _learn(self, interval: Interval, y: Array) -> None: ...

    @abstractmethod
    def _n_covered(self, alpha: float) -> int: ...

    @abstractmethod
    def _plane(self, level: float) -> float: ...

    @abstractmethod
    def _arrays(self) -> dict[str, Array]: ...

    @abstractmethod
    def _restore(self, arrays: Mapping[str, ArrayLike], interval: Interval | None) -> int: ...
