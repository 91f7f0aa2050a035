r"""From a coverage to the alpha-plane that has it, without training again.

A trained system offers one interval per plane, and the intervals are nested:
the lower alpha, the wider. The share of a calibration set that a plane covers
is therefore a falling step function of alpha, and calibration turns it around:
given a level, find the plane. Four calibrators do so behind one interface:

=========== ====================================================================
`table`     the paper's Method 1: tabulate the coverage, interpolate
`search`    the paper's Method 2: walk towards the level with shrinking steps
`exact`     no approximation: every sample knows the plane that just covers it
`conformal` the same with one rank of caution, which buys a guarantee
=========== ====================================================================

They see the system only through an `Interval`. How it is trained, and how an
interval is judged on new data (`gt2lite.metrics`), is not told here.
"""

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

from gt2lite._checks import Array, between, one_of, vector
from gt2lite.memberships import ALPHA_0, alpha_of

Interval = Callable[[float | Array], tuple[Array, Array]]
"""The lower and upper ends (Q,) of a plane alpha, or of one plane per sample, alpha (Q,).

It may have a method `parts`, as `gt2lite.system.Planes` has, that yields stretches of rows
with intervals of their own, for sets too large to be dealt with at once.
"""

FEW_SAMPLES = 100
HALVINGS = 40
"""Bisections for a critical plane: its kappa is known to 2**-40, below 1e-12."""


class CoverageError(ValueError):
    """The level asked for lies above what the widest plane can answer."""


class SmallCalibrationWarning(UserWarning):
    """The calibration set is so small that its coverage moves in coarse steps."""


# ---------------------------------------------------------------- the definitions


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


def critical_alpha(interval: Interval, y: ArrayLike) -> Array:
    """Return the narrowest plane that covers each sample: its largest alpha.

    All samples are bisected in kappa at once, `HALVINGS` times, after a look at
    the widest plane: `HALVINGS + 1` evaluations. The end that covers is kept, so
    every sample was seen inside its interval at the alpha returned.

    Args:
        interval: a nested family of intervals, of Q samples.
        y: targets (Q,).

    Returns:
        (Q,), 1 where even the narrowest plane covers the sample and 0, the
        limit of alpha for an endless kappa, where the widest does not.

    >>> from gt2lite.memberships import kappa_of
    >>> y = np.array([0.0, 0.5, -1.0, 2.0])
    >>> def interval(alpha):  # the plane alpha reaches from -kappa to kappa
    ...     kappa = np.broadcast_to(kappa_of(alpha), y.shape)
    ...     return -kappa, kappa
    >>> critical_alpha(interval, y).round(4)
    array([1.    , 0.3162, 0.01  , 0.    ])
    """
    y = vector("y", y)
    parts = getattr(interval, "parts", None)
    if parts is None:
        return _bisect(interval, y)
    found = np.empty(y.size)
    for rows, part in parts():  # what planes have in common is computed once for each stretch
        found[rows] = _bisect(part, y[rows])
    return found


def _bisect(interval: Interval, y: Array) -> Array:
    in_widest = covers(y, *interval(ALPHA_0))
    missed, covered = np.zeros(y.size), np.ones(y.size)  # kappa, the two ends of the bracket
    alpha = np.full(y.size, ALPHA_0)  # that of `covered`
    # To stop above the last float leaves the sample a margin that is large against rounding:
    # the plane still covers it when its ends are computed in another order.
    for _ in range(HALVINGS):
        kappa = (missed + covered) / 2
        tried = alpha_of(kappa)
        hit = covers(y, *interval(tried))
        missed, covered = np.where(hit, missed, kappa), np.where(hit, kappa, covered)
        alpha = np.where(hit, tried, alpha)
    return np.where(in_widest, alpha, 0.0)  # the last kappa tried, 2**-40, has alpha 1 exactly


# ------------------------------------------------------------------ the interface


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


# ------------------------------------------------------------- Methods 1 and 2


class _PlaneCalibrator(Calibrator):
    """A calibrator that looks at whole planes, and at each plane only once."""

    def _learn(self, interval: Interval, y: Array) -> None:
        self._interval: Interval | None = interval
        self._y = y.copy()
        self._seen: dict[float, int] = {}  # alpha: number of samples covered
        self._n_covered(ALPHA_0)

    def _n_covered(self, alpha: float) -> int:
        if alpha not in self._seen:
            if self._interval is None:
                raise RuntimeError(
                    f"the plane {alpha} was not evaluated before this calibrator was stored: "
                    "restore it with the intervals of its calibration set"
                )
            self._seen[alpha] = int(covers(self._y, *self._interval(alpha)).sum())
        return self._seen[alpha]

    def _phi(self, alpha: float) -> float:
        return self._n_covered(alpha) / self._y.size

    @property
    def n_evaluations(self) -> int:
        """How many planes were evaluated so far; one that was seen before costs nothing."""
        self._check_fitted()
        return len(self._seen)

    def _arrays(self) -> dict[str, Array]:
        seen = np.array(list(self._seen.items()), dtype=float)  # (planes, 2)
        return {"y": self._y, "alpha": seen[:, 0], "n_covered": seen[:, 1]}

    def _restore(self, arrays: Mapping[str, ArrayLike], interval: Interval | None) -> int:
        alpha = vector("alpha", arrays["alpha"])
        n_covered = vector("n_covered", arrays["n_covered"], alpha.size)
        self._interval, self._y = interval, vector("y", arrays["y"])
        self._seen = dict(zip(alpha.tolist(), map(int, n_covered), strict=True))
        if ALPHA_0 not in self._seen:
            raise ValueError(f"alpha must hold the plane {ALPHA_0}")
        return self._y.size


@dataclass(eq=False)
class TableCalibrator(_PlaneCalibrator):
    """Method 1, Algorithm 3: tabulate coverage against alpha, and interpolate.

    A level below the coverage of the narrowest plane gets that plane, alpha 1.

    Args:
        step: distance of the planes: alpha_0, step, 2 * step, ..., 1.
        interpolation: "linear", or "pchip" for a monotone cubic (needs SciPy).

    >>> from gt2lite.memberships import kappa_of
    >>> y = np.linspace(-1, 1, 201)
    >>> def interval(alpha):  # the plane alpha reaches from -kappa to kappa
    ...     kappa = np.broadcast_to(kappa_of(alpha), y.shape)
    ...     return -kappa, kappa
    >>> table = TableCalibrator(step=0.5).fit(interval, y)
    >>> table.table.round(3)  # coverage, alpha
    array([[0.005, 1.   ],
           [0.383, 0.5  ],
           [1.   , 0.01 ]])
    >>> round(table.alpha(0.9), 3), round(table.reached(0.9), 3)
    (0.089, 0.721)
    """

    method: ClassVar[str] = "table"
    step: float = 0.1
    interpolation: str = "linear"

    def __post_init__(self) -> None:
        self.step = between("step", self.step, 0, 1)
        one_of("interpolation", self.interpolation, ("linear", "pchip"))

    @property
    def table(self) -> Array:
        """The pairs (coverage, alpha) in rising order of coverage, (planes, 2).

        Planes of equal coverage are one entry, with the largest alpha of them:
        the narrowest interval that does the same.
        """
        self._check_fitted()
        pairs = {self._phi(alpha): alpha for alpha in self._planes()}  # alpha rises: the last wins
        return np.array(sorted(pairs.items()))

    def _planes(self) -> list[float]:
        inner = (_tidy(k * self.step) for k in range(1, math.ceil(1 / self.step)))
        return [ALPHA_0, *(alpha for alpha in inner if ALPHA_0 < alpha < 1), 1.0]

    def _learn(self, interval: Interval, y: Array) -> None:
        if self.interpolation == "pchip":
            _pchip()  # better now than at the first question
        super()._learn(interval, y)
        for alpha in self._planes():
            self._n_covered(alpha)

    def _plane(self, level: float) -> float:
        phi, alpha = self.table.T
        if self.interpolation == "linear" or phi.size == 1:
            plane = np.interp(level, phi, alpha)
        else:
            plane = _pchip()(phi, alpha)(np.clip(level, phi[0], phi[-1]))
        return float(np.clip(plane, ALPHA_0, 1))  # rounding must not leave the range


@dataclass(eq=False)
class SearchCalibrator(_PlaneCalibrator):
    """Method 2, Algorithm 4: walk to the plane whose coverage is nearest to the level, Eq. (19).

    From `start` the search looks one step to either side, moves where coverage
    comes nearer to the level, and shrinks the step where neither side helps.
    Coverage is flat between two samples, so the search can *stall* on a plateau
    wider than its step although a better plane lies beyond. That belongs to the
    method; `converged` and `reached` tell.

    Args:
        start: the first plane.
        step: the first step in alpha.
        shrink: factor for the step where neither side is better.
        tolerance: distance of coverage from the level at which the search is content.
        min_step: step below which the search gives up.

    >>> from gt2lite.memberships import kappa_of
    >>> y = np.linspace(-1, 1, 201)
    >>> def interval(alpha):  # the plane alpha reaches from -kappa to kappa
    ...     kappa = np.broadcast_to(kappa_of(alpha), y.shape)
    ...     return -kappa, kappa
    >>> search = SearchCalibrator(tolerance=0.005).fit(interval, y)
    >>> [(alpha, round(phi, 3)) for alpha, phi in search.path(0.6)]
    [(0.4, 0.443), (0.3, 0.512), (0.2, 0.592), (0.1875, 0.602)]
    >>> search.alpha(0.6), search.converged(0.6)
    (0.1875, True)
    """

    method: ClassVar[str] = "search"
    start: float = 0.40
    step: float = 0.1
    shrink: float = 0.5
    tolerance: float = 0.0005
    min_step: float = 1e-4

    def __post_init__(self) -> None:
        self.start = between("start", self.start, ALPHA_0, 1, closed=True)
        for name in ("step", "shrink", "tolerance", "min_step"):
            setattr(self, name, between(name, getattr(self, name), 0, 1))

    def path(self, coverage: float) -> list[tuple[float, float]]:
        """Return the (alpha, coverage) that the search for a level stood on, the answer last."""
        level = self._level(coverage)
        # Deviation: Algorithm 4 never sets alpha* to alpha_init before it uses it; we do.
        alpha, step = self.start, self.step
        phi = self._phi(alpha)
        path = [(alpha, phi)]
        # Deviation: as printed the loop ends only within the tolerance, which a step function
        # of Q samples may never reach. Ours ends in any case: a move brings phi strictly nearer
        # to the level, it has at most Q + 1 values, and a step can be shrunk only so often.
        while abs(phi - level) >= self.tolerance and step >= self.min_step:
            sides = [_tidy(max(alpha - step, ALPHA_0)), _tidy(min(alpha + step, 1.0))]
            nearest = min(sides, key=lambda side: abs(self._phi(side) - level))  # a tie goes down
            if abs(self._phi(nearest) - level) < abs(phi - level):
                alpha, phi = nearest, self._phi(nearest)
                path.append((alpha, phi))
            else:
                step *= self.shrink
        return path

    def converged(self, coverage: float) -> bool:
        """Return whether the search for a level ended within its tolerance."""
        _, phi = self.path(coverage)[-1]
        return abs(phi - coverage) < self.tolerance

    def _plane(self, level: float) -> float:
        return self.path(level)[-1][0]


def _tidy(alpha: float) -> float:
    """Return 0.3 for 0.30000000000000004, so that a plane met twice is the same plane."""
    return round(alpha, 12)


def _pchip() -> Any:
    try:
        from scipy.interpolate import PchipInterpolator
    except ImportError as error:
        raise ImportError(
            'interpolation="pchip" needs SciPy, which is not installed: '
            'install it with "pip install scipy" or use interpolation="linear"'
        ) from error
    return PchipInterpolator


# --------------------------------------------------------------- beyond the paper


@dataclass(eq=False)
class ExactCalibrator(Calibrator):
    r"""Calibration by rank: no table, no step, no search.

    Sample i lies in every interval from its `critical_alpha` downwards. Hence
    the coverage of a plane is a rank, and so is its inverse:

    .. math::
        \phi(\alpha) = \frac{1}{Q} \#\{i : \alpha_i \ge \alpha\}, \qquad
        \alpha(\phi) = \text{the } \lceil Q \phi \rceil\text{-th largest } \alpha_i,

    the narrowest plane that covers at least the level.

    >>> from gt2lite.memberships import kappa_of
    >>> y = np.linspace(-1, 1, 201)
    >>> def interval(alpha):  # the plane alpha reaches from -kappa to kappa
    ...     kappa = np.broadcast_to(kappa_of(alpha), y.shape)
    ...     return -kappa, kappa
    >>> exact = ExactCalibrator().fit(interval, y)
    >>> alpha = exact.alpha(0.9)  # 181 of the 201 lie within 0.9 of 0, and 0.01**0.81 = 0.024
    >>> round(alpha, 4), exact.coverage(alpha) == 181 / 201
    (0.024, True)
    """

    method: ClassVar[str] = "exact"

    @property
    def critical_alpha(self) -> Array:
        """The plane (Q,) that just covers each sample, see the function of that name."""
        self._check_fitted()
        return self._critical.copy()

    @property
    def n_evaluations(self) -> int:
        """How often the system was evaluated: once for all levels, whatever they are."""
        self._check_fitted()
        return HALVINGS + 1

    def _learn(self, interval: Interval, y: Array) -> None:
        self._critical = critical_alpha(interval, y)

    def _n_covered(self, alpha: float) -> int:
        return int((self._critical >= alpha).sum())

    def _plane(self, level: float) -> float:
        return float(np.sort(self._critical)[-rank(level, self._out_of)])

    def _arrays(self) -> dict[str, Array]:
        return {"critical_alpha": self._critical}

    def _restore(self, arrays: Mapping[str, ArrayLike], interval: Interval | None) -> int:
        self._critical = vector("critical_alpha", arrays["critical_alpha"])
        return self._critical.size


@dataclass(eq=False)
class ConformalCalibrator(ExactCalibrator):
    r"""Exact calibration with a guarantee for new data (nested split-conformal prediction).

    .. math:: \alpha(\phi) = \text{the } \lceil (Q+1) \phi \rceil\text{-th largest } \alpha_i

    If the calibration samples and a new one are exchangeable, and nothing was
    chosen on the calibration set, the interval of this plane covers the new
    target with probability of at least phi, whatever the distribution.

    >>> y = np.arange(1.0, 200.0)  # 199 samples: the plane y / 200 is the last to cover y
    >>> def interval(alpha):
    ...     return np.zeros(199), np.where(y / 200 >= alpha, y, 0.0)
    >>> conformal = ConformalCalibrator().fit(interval, y)
    >>> round(conformal.alpha(0.07), 6)  # the 14th largest, though 200 * 0.07 is a little more
    0.93
    """

    method: ClassVar[str] = "conformal"

    @property
    def _out_of(self) -> int:
        return self._n_samples + 1  # the new sample is one of them


CALIBRATORS: dict[str, type[Calibrator]] = {
    calibrator.method: calibrator
    for calibrator in (TableCalibrator, SearchCalibrator, ExactCalibrator, ConformalCalibrator)
}
"""The calibrators by the name of their method."""
