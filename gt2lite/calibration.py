"""From a coverage to the alpha-plane that has it, without training again.

A trained system offers one interval per plane, and the intervals are nested: the lower alpha, the
wider. The share of a calibration set that a plane covers is therefore a falling step function of
alpha, and calibration inverts it: given a level, find the plane. Four methods do so:

=========== ====================================================================
`table`     Method 1, Algorithm 3: tabulate the coverage, interpolate
`search`    Method 2, Algorithm 4: move towards the level with shrinking steps
`exact`     no approximation: the plane that just covers each sample is known
`conformal` the same with rank Q + 1 in place of Q, which adds a guarantee
=========== ====================================================================

The paper's two methods end at alpha_0 = 0.01, the envelope that was trained. The other two go on
with the planes beyond it, down to the lowest that the system has, and then add a margin to both
ends of that one. (It is added and not multiplied, because a width can be 0.) Planes for each bound
and for each group of samples, and stored calibrations, are in `gt2lite.practice.calibrators`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib.util import find_spec
from typing import NamedTuple, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gt2lite._validation import Array, between, n_axes, one_of, vector, warn
from gt2lite.memberships import ALPHA_0, alpha_of, kappa_of
from gt2lite.metrics import covers
from gt2lite.system import nest

BoolArray = NDArray[np.bool_]
Rows = slice | Sequence[int] | NDArray[np.intp] | BoolArray

# ---------------------------------------------------------------------------------- nested families


@runtime_checkable
class IntervalFamily(Protocol):
    """Nested intervals of N samples: `gt2lite.system.Planes`, for one."""

    def __call__(self, alpha: float | Array) -> tuple[Array, Array]:
        """Return lower and upper ends (N,) of a plane, or of one plane for each sample (N,)."""
        lower, upper = self.ends(np.array([alpha]))[:, 0]
        return lower, upper

    def ends(self, alphas: Sequence[float] | Array) -> Array:
        """Return the ends (2, K, N) of the planes `alphas` (K,), or (K, N) if samples differ."""

    @property
    def alpha_min(self) -> float:
        """The lowest plane, at most alpha_0."""

    def parts(self) -> Iterator[tuple[slice, IntervalFamily]]:
        """Yield stretches of samples that can be handled at once: (samples, their family)."""
        yield slice(None), self


IntervalFunction = Callable[[float | Array], tuple[Array, Array]]
"""The lower and upper ends (N,) as a function of alpha, for planes from 1 to alpha_0."""

Interval = IntervalFamily | IntervalFunction
"""A nested family of intervals. A plain function of alpha will do."""


class PlainFamily:
    """The family of a function of alpha, with planes down to `alpha_min`."""

    def __init__(self, interval: IntervalFunction, alpha_min: float = ALPHA_0) -> None:
        self.interval, self.alpha_min = interval, alpha_min

    def __call__(self, alpha: float | Array) -> tuple[Array, Array]:
        """Return what the function returns."""
        return self.interval(alpha)

    def ends(self, alphas: Sequence[float] | Array) -> Array:
        """Return the ends (2, K, N) of planes; those that rounding has crossed are nested."""
        planes = np.asarray(alphas, dtype=float)
        ends = np.stack([self(p if p.ndim else float(p)) for p in planes], axis=1)
        return nest(ends, -planes.reshape(len(planes), -1))

    def parts(self) -> Iterator[tuple[slice, PlainFamily]]:
        """Yield all samples at once."""
        yield slice(None), self


def as_family(interval: Interval) -> IntervalFamily:
    """Return a family as it is, and a function of alpha as a `PlainFamily`."""
    return interval if isinstance(interval, IntervalFamily) else PlainFamily(interval)


class Cut(NamedTuple):
    """One member of a nested family, or one for each of N samples.

    Where a margin is needed, alpha is NaN: the plane is the lowest of the system then.
    """

    alpha: float | Array
    margin: float | Array = 0.0


def cut_ends(interval: Interval, cuts: Sequence[tuple[Cut, Cut]]) -> Array:
    """Return the ends (2, L, N) of L intervals, each given by the cuts of its two ends."""
    family = as_family(interval)
    lowest = family.alpha_min
    planes = [np.where(np.isnan(c.alpha), lowest, c.alpha) for pair in cuts for c in pair]
    lower, upper = planes[::2], planes[1::2]
    shared = all(map(np.array_equal, lower, upper))  # one plane for both ends
    ends = family.ends(np.array(np.broadcast_arrays(*(lower if shared else planes))))
    if not shared:
        ends = np.stack([ends[0, ::2], ends[1, 1::2]])
    for i, (below, above) in enumerate(cuts):
        ends[0, i] -= below.margin
        ends[1, i] += above.margin
    return ends


# --------------------------------------------------------------------------------- levels and ranks

Levels = float | Sequence[float] | Array
"""One level, or several."""


class CoverageError(ValueError):
    """The requested coverage is higher than a calibration can reach."""


def rank(coverage: float | Fraction, n: int) -> int:
    """Return `n * coverage`, rounded up: how many of `n` samples a level asks for.

    The level counts as the plain fraction that it stands for, because its floating-point
    neighbour may lie on the other side of a whole number. The conformal rank among Q calibration
    samples is ``rank(coverage, Q + 1)``.

    >>> rank(0.07, 100), math.ceil(0.07 * 100)
    (7, 8)
    """
    return math.ceil(n * plain_fraction(coverage))


def plain_fraction(coverage: float | np.float32 | Fraction) -> Fraction:
    """Return the fraction that a level stands for: 7/100 for 0.07, which as a float is not that."""
    if isinstance(coverage, Fraction):
        return coverage
    if isinstance(coverage, np.floating):
        coverage = float(str(coverage))  # 0.3 in single precision is 0.30000001192...
    # Fractions with denominators up to 1e8 lie further apart than a float is imprecise,
    # so that 0.07, 5 / 6 and 1 - 0.93 all become what was meant.
    level = Fraction(coverage).limit_denominator(10**8)
    return level if 0 < level < 1 else Fraction(coverage)


def highest_level(n: int, out_of: int) -> float:
    """Return the level `n / out_of` with four digits, rounded down so that it is in reach."""
    return n * 10**4 // out_of / 10**4


def read_levels(coverage: Levels) -> tuple[list[float], bool]:
    """Return levels as a list, and whether it was a single number."""
    if n_axes("coverage", coverage) == 0:
        return [coverage], True  # type: ignore[list-item]
    vector("coverage", coverage)
    return list(np.ravel(coverage)), False  # single precision, too: see `plain_fraction`


# -------------------------------------------------------------------------------------- calibrators

FEW_SAMPLES = 100


class SmallCalibrationWarning(UserWarning):
    """The calibration set, or a group of it, is so small that its coverage is known roughly."""


def warn_if_few(n: int) -> None:
    """Issue a `SmallCalibrationWarning` if there are fewer than 100 calibration samples."""
    if n < FEW_SAMPLES:
        warn(
            f"only {n} calibration samples, fewer than {FEW_SAMPLES}: coverage is known in "
            f"steps of 1/{n} = {1 / n:.2g}",
            SmallCalibrationWarning,
        )


class Calibrator(ABC):
    """A calibration set turned into intervals at any level.

    A level that is out of reach raises a `CoverageError`; fewer than 100 samples get a
    `SmallCalibrationWarning`.
    """

    method: str
    _n_samples = 0  # before `fit`

    def fit(self, interval: Interval, y: ArrayLike) -> Self:
        """Learn the relation of plane and coverage from a calibration set.

        Args:
            interval: the nested intervals of the Q calibration samples.
            y: their targets (Q,).
        """
        self.learn(interval, y)
        warn_if_few(self.n_samples)
        return self

    @abstractmethod
    def learn(self, interval: Interval, y: ArrayLike) -> None:
        """Do what `fit` does, without its warning."""

    @abstractmethod
    def cut(self, coverage: float) -> Cut:
        """Return the plane, or the margin beyond all planes, for a level."""

    def cuts(self, coverage: float) -> tuple[Cut, Cut]:
        """Return where the lower and the upper bound are cut for a level: at the same plane."""
        cut = self.cut(coverage)
        return cut, cut

    @abstractmethod
    def coverage(self, alpha: float) -> float:
        """Return the share of the calibration set that the plane `alpha` covers, Eq. (17)."""

    def alpha(self, coverage: Levels) -> float | Array:
        """Return the plane for a level, or (L,) for several; NaN if no plane covers enough."""
        levels, single = read_levels(coverage)
        found = [self.cut(level).alpha for level in levels]
        return found[0] if single else np.array(found).T

    def margin(self, coverage: Levels) -> float | Array:
        """Return what is added to the lowest plane for a level, 0 if a plane covers enough."""
        levels, single = read_levels(coverage)
        found = [self.cut(level).margin for level in levels]
        return found[0] if single else np.array(found).T

    def intervals(self, interval: Interval, coverage: Levels) -> tuple[Array, Array]:
        """Return lower and upper bounds (N,) of new samples at a level, or (N, L) for several.

        Args:
            interval: the nested intervals of the N new samples.
            coverage: the level, or L of them.
        """
        levels, single = read_levels(coverage)
        lower, upper = cut_ends(interval, [self.cuts(level) for level in levels])  # (L, N) each
        return (lower[0], upper[0]) if single else (lower.T, upper.T)

    def reached(self, coverage: float) -> float:
        """Return the share of the calibration set that the intervals for a level cover."""
        return self.coverage(float(self.cut(coverage).alpha))

    @property
    def max_coverage(self) -> float:
        """The coverage of the envelope, the plane alpha_0."""
        return self.coverage(ALPHA_0)

    @property
    def n_samples(self) -> int:
        """The size Q of the calibration set."""
        self.check_fitted()
        return self._n_samples

    @property
    @abstractmethod
    def n_evaluations(self) -> int:
        """How often the system was evaluated on the whole calibration set so far."""

    @property
    @abstractmethod
    def scores(self) -> Scores:
        """Where in the nested family each sample is first covered."""

    def check_fitted(self) -> None:
        """Raise an error before `fit`."""
        if self._n_samples == 0:
            raise RuntimeError(f"{type(self).__name__} has no calibration set yet: call fit first")


# ------------------------------------------------------------------------------ the paper's methods


class PlaneCalibrator(Calibrator):
    """A calibrator that evaluates whole planes, each of them only once."""

    def learn(self, interval: Interval, y: ArrayLike) -> None:
        """Evaluate the first planes."""
        self._y, self._n_samples = vector("y", y).copy(), 0  # a fit may fail
        self._family = as_family(interval)
        self._seen = {alpha: self._count(alpha) for alpha in self.planes()}  # samples covered
        self._n_samples = self._y.size

    def planes(self) -> list[float]:
        """Return the planes that `fit` evaluates."""
        return [ALPHA_0]

    def _count(self, alpha: float) -> int:
        return int(covers(self._y, *self._family(alpha)).sum())

    def coverage(self, alpha: float) -> float:
        """Return the share of the calibration set that the plane `alpha` covers, Eq. (17)."""
        n_samples, alpha = self.n_samples, between("alpha", alpha, ALPHA_0, 1, closed=True)
        if alpha not in self._seen:
            self._seen[alpha] = self._count(alpha)
        return self._seen[alpha] / n_samples

    def cut(self, coverage: float) -> Cut:
        """Return the plane for a level; these methods add no margin."""
        return Cut(self.plane(self.in_reach(coverage)))

    @abstractmethod
    def plane(self, level: float) -> float:
        """Return the plane for a level that is in reach."""

    def in_reach(self, coverage: float) -> float:
        """Return a level if the envelope covers as much; else raise a `CoverageError`."""
        n_samples, level = self.n_samples, between("coverage", coverage, 0, 1)
        n_covered = self._seen[ALPHA_0]
        if rank(level, n_samples) > n_covered:
            raise CoverageError(
                f"coverage {level} is out of reach: on these {n_samples} calibration samples the "
                f"widest plane, alpha {ALPHA_0}, answers levels up to "
                f"{highest_level(n_covered, n_samples)}; use a lower level, train with a higher "
                'coverage, or calibrate by "exact" or "conformal", which go beyond that plane'
            )
        return level

    @property
    def n_evaluations(self) -> int:
        """How many planes were evaluated so far; one that was seen before costs nothing."""
        return len(self.evaluated)

    @property
    def evaluated(self) -> list[float]:
        """The planes that were evaluated so far."""
        self.check_fitted()
        return list(self._seen)

    @property
    def scores(self) -> Scores:
        """The critical planes of the samples, down to alpha_0; found anew at each call."""
        self.check_fitted()
        return critical_scores(self._family, self._y, ALPHA_0)


FINEST_STEP = 1e-3
"""The smallest distance of the planes in a table: a thousand of them."""


@dataclass(eq=False)
class TableCalibrator(PlaneCalibrator):
    """Method 1, Algorithm 3: tabulate coverage against alpha, and interpolate.

    A level below the coverage of the narrowest plane gets that plane, alpha 1.

    Args:
        step: distance delta of the planes: alpha_0, delta, 2 * delta, ..., 1.
        interpolation: "linear", or "pchip" for a monotone cubic (needs SciPy).

    >>> y = np.linspace(-1, 1, 201)
    >>> def interval(alpha):  # from -kappa to kappa
    ...     return -kappa_of(alpha) * np.ones(201), kappa_of(alpha) * np.ones(201)
    >>> table = TableCalibrator(step=0.5).fit(interval, y)
    >>> table.table.round(3)  # coverage, alpha
    array([[0.005, 1.   ],
           [0.383, 0.5  ],
           [1.   , 0.01 ]])
    >>> round(table.alpha(0.9), 3), round(table.reached(0.9), 3)
    (0.089, 0.721)
    """

    method = "table"
    step: float = 0.1
    interpolation: str = "linear"

    def __post_init__(self) -> None:
        self.step = between("step", self.step, FINEST_STEP, 1, closed=True)
        one_of("interpolation", self.interpolation, ("linear", "pchip"))
        if self.interpolation == "pchip" and find_spec("scipy") is None:
            raise ImportError(
                'interpolation="pchip" needs SciPy, which is not installed: '
                'install it with "pip install scipy" or use interpolation="linear"'
            )

    def planes(self) -> list[float]:
        """Return the quantised planes, line 1 of Algorithm 3."""
        inner = (_tidy(k * self.step) for k in range(1, math.ceil(1 / self.step)))
        return [ALPHA_0, *(alpha for alpha in inner if ALPHA_0 < alpha < 1), 1.0]

    @property
    def table(self) -> Array:
        """The pairs (coverage, alpha) in rising order of coverage, (planes, 2), line 2.

        Planes of equal coverage are one entry, with the largest alpha of them:
        the narrowest interval that does the same.
        """
        pairs = {
            self.coverage(alpha): alpha for alpha in self.planes()
        }  # alpha rises: the last wins
        return np.array(sorted(pairs.items()))

    def plane(self, level: float) -> float:
        """Return the plane that the table gives a level by interpolation, lines 3 and 4."""
        phi, alpha = self.table.T
        if self.interpolation == "linear" or phi.size == 1:
            found = np.interp(level, phi, alpha)
        else:
            from scipy.interpolate import PchipInterpolator

            found = PchipInterpolator(phi, alpha)(np.clip(level, phi[0], phi[-1]))
        return float(np.clip(found, ALPHA_0, 1))  # rounding must not leave the range


@dataclass(eq=False)
class SearchCalibrator(PlaneCalibrator):
    """Method 2, Algorithm 4: move to the plane whose coverage is nearest to the level, Eq. (19).

    Coverage is flat between two samples, so the search can *stall* on a plateau wider than its
    step although a better plane lies beyond; `converged` and `reached` report it. The paper gives
    no values for the settings. The defaults are those of the authors' public code
    (`Calibration_Example.m`, `derivative_free_search_algorithm.m`), the exit at a small step
    included.

    Args:
        start: the first plane, alpha_init.
        step: the first step delta in alpha.
        shrink: factor gamma for the step where neither side is better.
        tolerance: distance epsilon of coverage from the level at which the search ends.
        min_step: step below which the search ends without success.

    >>> y = np.linspace(-1, 1, 201)
    >>> def interval(alpha):  # from -kappa to kappa
    ...     return -kappa_of(alpha) * np.ones(201), kappa_of(alpha) * np.ones(201)
    >>> search = SearchCalibrator(tolerance=0.005).fit(interval, y)
    >>> [(alpha, round(phi, 3)) for alpha, phi in search.path(0.6)]
    [(0.4, 0.443), (0.3, 0.512), (0.2, 0.592), (0.1875, 0.602)]
    >>> search.alpha(0.6), search.converged(0.6)
    (0.1875, True)
    """

    method = "search"
    start: float = 0.40
    step: float = 0.1
    shrink: float = 0.5
    tolerance: float = 0.0005
    min_step: float = 1e-4

    def __post_init__(self) -> None:
        # A step that begins at 1 and is shrunk by no less than a tenth falls below the smallest
        # `min_step` after 132 times, so that every search ends: it makes at most Q moves (see
        # `path`), and each move and each shrinking looks at two planes.
        self.start = between("start", self.start, ALPHA_0, 1, closed=True)
        self.step = between("step", self.step, 1e-6, 1, closed=True)
        self.shrink = between("shrink", self.shrink, 0.01, 0.9, closed=True)
        self.tolerance = between("tolerance", self.tolerance, 0, 1, closed=True)
        self.min_step = between("min_step", self.min_step, 1e-6, 1, closed=True)

    def path(self, coverage: float) -> list[tuple[float, float]]:
        """Return the (alpha, coverage) that the search for a level stood on, the answer last."""
        level = self.in_reach(coverage)
        # Deviation: Algorithm 4 never sets alpha* to alpha_init before it uses it; we do.
        alpha, step = self.start, self.step
        phi = self.coverage(alpha)
        path = [(alpha, phi)]
        # Deviation: as printed the loop ends only within the tolerance, which a step function
        # of Q samples may never reach. The authors' code also leaves it at a small step. So it
        # ends in any case: a move brings phi strictly nearer to the level, phi has at most Q + 1
        # values, and a step can be shrunk only so often.
        while abs(phi - level) >= self.tolerance and step >= self.min_step:
            down, up = _tidy(max(alpha - step, ALPHA_0)), _tidy(min(alpha + step, 1.0))  # Eq. (20)
            phi_down, phi_up = self.coverage(down), self.coverage(up)
            off, off_down, off_up = (abs(one - level) for one in (phi, phi_down, phi_up))
            if off_up < off and off_up < off_down:  # Eq. (21)
                alpha, phi = up, phi_up
            elif off_down < off:
                alpha, phi = down, phi_down
            else:
                step *= self.shrink
                continue
            path.append((alpha, phi))
        return path

    def converged(self, coverage: float) -> bool:
        """Return whether the search for a level ended within its tolerance."""
        _, phi = self.path(coverage)[-1]
        return abs(phi - coverage) < self.tolerance

    def plane(self, level: float) -> float:
        """Return the plane where the search for a level ends."""
        return self.path(level)[-1][0]


def _tidy(alpha: float) -> float:
    """Return 0.3 for 0.30000000000000004, so that a plane met twice is the same plane."""
    return round(alpha, 12)


# ------------------------------------------------------------------- the critical planes of samples

HALVINGS = 40
"""Bisections for a critical plane: its kappa is known to about 2**-40, below 1e-12."""


@dataclass(frozen=True, eq=False)
class Scores:
    """Where in its family each of Q samples is first covered.

    `alpha` is the plane that just covers it, 0 where no plane does; `margin` is what the
    lowest plane lacks, 0 where some plane covers; `side` is -1 for a target below the
    intervals that miss it, 1 above them, 0 where none does.
    """

    alpha: Array  # (Q,)
    margin: Array  # (Q,)
    side: Array  # (Q,)
    alpha_min: float

    def __len__(self) -> int:
        return self.alpha.size

    @property
    def position(self) -> Array:
        """One number (Q,) for plane and margin that rises outward: -alpha, then the margin."""
        return np.where(self.alpha > 0, -self.alpha, self.margin)

    def cut(self, k: int) -> Cut:
        """Return the smallest cut that covers at least `k` samples: the k-th score."""
        i = np.argpartition(self.position, k - 1)[k - 1]
        return Cut(float(self.alpha[i]) or math.nan, float(self.margin[i]))

    def covered(self, cut: Cut) -> BoolArray:
        """Return which samples (Q,) a cut covers."""
        return self.position <= (cut.margin if math.isnan(cut.alpha) else -cut.alpha)

    def coverage(self, alpha: float) -> float:
        """Return the share of the samples that the plane `alpha` covers."""
        cut = Cut(between("alpha", alpha, self.alpha_min, 1, closed=True))
        return float(self.covered(cut).mean())

    def take(self, rows: Rows) -> Scores:
        """Return the scores of some samples."""
        return Scores(self.alpha[rows], self.margin[rows], self.side[rows], self.alpha_min)

    @property
    def lower(self) -> Scores:
        """The scores of the lower end alone: where it first lies at or below the target.

        For a target beyond the upper end that is everywhere, from alpha 1 on.
        """
        return self._where(self.side < 0)

    @property
    def upper(self) -> Scores:
        """The scores of the upper end alone: where it first lies at or above the target."""
        return self._where(self.side > 0)

    def _where(self, beyond: BoolArray) -> Scores:
        alpha, margin = np.where(beyond, self.alpha, 1.0), np.where(beyond, self.margin, 0.0)
        return Scores(alpha, margin, np.where(beyond, self.side, 0.0), self.alpha_min)

    def between(self, lower: Cut, upper: Cut) -> BoolArray:
        """Return which samples (Q,) lie between a lower and an upper bound."""
        return self.lower.covered(lower) & self.upper.covered(upper)

    @property
    def keys(self) -> NDArray[np.complex128]:
        """Numbers (Q,) that order samples from far below their estimate to far above it.

        Side and signed `position`, as real and imaginary part: NumPy compares one, then the other.
        """
        return self.side + 1j * self.side * self.position

    def arrays(self) -> dict[str, Array]:
        """Return the scores as arrays to be stored."""
        arrays = {"critical_alpha": self.alpha, "margin": self.margin, "side": self.side}
        return arrays | {"alpha_min": np.array([self.alpha_min])}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, ArrayLike]) -> Self:
        """Return the scores that `arrays` described, or raise an error.

        A sample is missed on a side unless the plane alpha = 1 covers it, and lacks a margin if no
        plane does: there are no others.
        """
        alpha = vector("critical_alpha", arrays["critical_alpha"])
        margin = vector("margin", arrays["margin"], alpha.size)
        side = vector("side", arrays["side"], alpha.size)
        (lowest,) = vector("alpha_min", arrays["alpha_min"], 1)
        between("alpha_min", lowest, np.finfo(float).tiny, ALPHA_0, closed=True)
        planes = ((alpha == 0) | (alpha >= lowest)) & (alpha <= 1)
        margins = (margin >= 0) & ((margin > 0) == (alpha == 0))
        sides = np.isin(side, (-1, 0, 1)) & ((side == 0) == (alpha == 1))
        if not (planes & margins & sides).all():
            raise ValueError(
                "critical_alpha, margin and side are not valid scores, or contradict each other"
            )
        return cls(alpha, margin, side, float(lowest))


def critical_scores(interval: Interval, y: ArrayLike, lowest: float | None = None) -> Scores:
    """Return where in its family each sample is first covered.

    The first evaluation is that of the envelope, alpha_0. Then all samples are bisected in kappa
    at once; for a sample outside the envelope the lowest plane is tried first, and the margin is
    computed if that misses, too. That makes `HALVINGS + 1` evaluations. The covering end of the
    bracket is returned, so every sample was inside its interval at that plane, and margins are
    rounded up.

    Args:
        interval: a nested family of intervals, of Q samples.
        y: targets (Q,).
        lowest: the plane at which margins begin; None for the lowest that the family has.

    >>> def interval(alpha):  # from -kappa to kappa
    ...     return -kappa_of(alpha) * np.ones(4), kappa_of(alpha) * np.ones(4)
    >>> scores = critical_scores(interval, [0.0, 0.5, -1.0, 2.0])
    >>> scores.alpha.round(4), scores.margin.round(4)
    (array([1.    , 0.3162, 0.01  , 0.    ]), array([0., 0., 0., 1.]))
    """
    y, family = vector("y", y), as_family(interval)
    lowest = family.alpha_min if lowest is None else lowest
    # memberships, which all planes share, are computed once for each part
    return join_scores([_bisect(part, y[rows], lowest) for rows, part in family.parts()])


def join_scores(found: Sequence[Scores]) -> Scores:
    """Return the scores of several sets of samples, of one family, as those of one set."""
    columns = np.concatenate([(one.alpha, one.margin, one.side) for one in found], axis=1)
    return Scores(columns[0], columns[1], columns[2], found[0].alpha_min)


def critical_alpha(interval: Interval, y: ArrayLike) -> Array:
    """Return the narrowest plane (Q,) of the envelope that covers each sample: its largest alpha.

    These are `critical_scores` without the planes beyond alpha_0: 1 if the narrowest plane covers
    the sample and 0, the limit of alpha for an endless kappa, if the plane alpha_0 does not.
    """
    return critical_scores(interval, y, ALPHA_0).alpha


def _bisect(family: IntervalFamily, y: Array, lowest: float) -> Scores:
    side, _ = _side_of(family, y, ALPHA_0)
    outside = side != 0
    widest = kappa_of(lowest)
    missed = np.where(outside, 1.0, 0.0)  # kappa, the two ends of the bracket
    covered = np.where(outside, widest, 1.0)
    alpha = np.where(outside, 0.0, ALPHA_0)  # that of `covered`, once it was seen to cover
    margin = np.zeros(y.size)
    # Stopping before the last bit leaves the sample a margin that is large against rounding: the
    # plane still covers it when its ends are summed in another order.
    for halving in range(HALVINGS):
        kappa = (missed + covered) / 2
        tried = np.maximum(alpha_of(kappa), lowest)
        if halving == 0:  # outside the envelope the lowest plane is tried first
            kappa, tried = np.where(outside, widest, kappa), np.where(outside, lowest, tried)
        where, end = _side_of(family, y, tried)
        hit = where == 0
        if halving == 0 and not hit[outside].all():
            margin = _lacking(y, end, where)
        side = np.where(hit, side, where)
        missed, covered = np.where(hit, missed, kappa), np.where(hit, kappa, covered)
        alpha = np.where(hit, tried, alpha)  # the last kappa, 2**-40, has alpha 1 exactly
    return Scores(alpha, np.where(alpha == 0, margin, 0.0), side, lowest)


def _side_of(family: IntervalFamily, y: Array, alpha: float | Array) -> tuple[Array, Array]:
    """Return the side (-1, 0, 1) of each target relative to its interval, and the nearer end."""
    lower, upper = family(alpha)
    lower, upper = vector("lower", lower, y.size), vector("upper", upper, y.size)
    side = np.where(y < lower, -1.0, np.where(y > upper, 1.0, 0.0))
    return side, np.where(side < 0, lower, upper)


def _lacking(y: Array, end: Array, side: Array) -> Array:
    """Return the smallest margin on a grid of 2**-40 with which each end reaches its target.

    On a grid, so that a sample is covered by exactly those margins that are at least its own,
    and with room for rounding, as with the bisection of planes.
    """
    _, exponent = np.frexp(max(np.abs(y).max(), np.abs(end).max(), np.finfo(float).tiny))
    step = np.ldexp(1.0, int(exponent) - HALVINGS)  # relative to the largest number
    margin = np.maximum(np.ceil(np.abs(y - end) / step) - 1, 0.0) * step
    for _ in range(2):
        short = side * (y - (end + side * margin)) > 0
        margin = np.where(short, margin + step, margin)
    return margin


# ------------------------------------------------------------------------------ calibration by rank

ONE = Fraction(1)


def find_cut(scores: Scores, coverage: float, method: str, tail: Fraction = ONE) -> Cut:
    r"""Return the cut for a level from the scores of Q samples: that of the k-th smallest score.

    The k-th smallest score covers k samples. A cut that may have the share :math:`\tau` of the
    misses, `tail`, shall be right with probability :math:`p = 1 - \tau (1 - \phi)`: k is
    :math:`Q p` for "exact" and :math:`(Q + 1) p` for "conformal", rounded up in exact arithmetic.
    """
    n, phi = len(scores), plain_fraction(between("coverage", coverage, 0, 1))
    k = rank(1 - tail * (1 - phi), n + (method == "conformal"))
    if k > n:
        most = max(1 - 1 / (tail * (n + 1)), Fraction(0))
        bound = "" if tail == 1 else f" for a bound with {float(tail):g} of the misses"
        raise CoverageError(
            f"coverage {float(phi)} is out of reach: {n} calibration samples answer levels up to "
            f"{highest_level(most.numerator, most.denominator)}{bound}; use a lower level or "
            f"calibrate with at least {fewest_ranked(phi, tail)} samples"
        )
    return scores.cut(k)


def fewest_ranked(coverage: Fraction, tail: Fraction = ONE) -> int:
    """Return how many samples reach a level with the conformal rank, see `find_cut`."""
    return math.ceil(1 / (tail * (1 - coverage))) - 1


class ExactCalibrator(Calibrator):
    r"""Calibration by rank: no table, no step, no search.

    Sample i lies in every interval from its critical plane alpha_i downwards. Hence
    the coverage of a plane is a rank, and so is its inverse:

    .. math::
        \phi(\alpha) = \frac{1}{Q} \#\{i : \alpha_i \ge \alpha\}, \qquad
        \alpha(\phi) = \text{the } \lceil Q \phi \rceil\text{-th largest } \alpha_i,

    the narrowest plane that covers at least the level. Where the envelope covers too few,
    the planes go on below alpha_0 as far as the system has them, and then with a `margin`.

    >>> y = np.linspace(-1, 1, 201)
    >>> def interval(alpha):  # from -kappa to kappa
    ...     return -kappa_of(alpha) * np.ones(201), kappa_of(alpha) * np.ones(201)
    >>> exact = ExactCalibrator().fit(interval, y)
    >>> alpha = exact.alpha(0.9)  # 181 of the 201 lie within 0.9 of 0, and 0.01**0.81 = 0.024
    >>> round(alpha, 4), exact.coverage(alpha) == 181 / 201
    (0.024, True)
    >>> beyond = PlainFamily(interval, alpha_min=1e-9)
    >>> exact = ExactCalibrator().fit(beyond, 2 * y)  # now the envelope covers half
    >>> float(f"{exact.alpha(0.9):.3g}"), exact.reached(0.9) == 181 / 201  # 0.01**3.24, beyond it
    (3.31e-07, True)
    """

    method = "exact"

    def learn(self, interval: Interval, y: ArrayLike) -> None:
        """Find the critical planes of the samples."""
        y, self._n_samples = vector("y", y), 0  # a fit may fail
        self.scores = critical_scores(interval, y)

    @property
    def scores(self) -> Scores:
        """Where in the nested family each sample is first covered; all that there is to learn."""
        self.check_fitted()
        return self._scores

    @scores.setter
    def scores(self, scores: Scores) -> None:
        self._scores, self._n_samples = scores, len(scores)

    @property
    def critical_alpha(self) -> Array:
        """The plane (Q,) that just covers each sample; 0 where none does."""
        return self.scores.alpha.copy()

    def cut(self, coverage: float) -> Cut:
        """Return the plane, or the margin beyond all planes, for a level."""
        return find_cut(self.scores, coverage, self.method)

    def coverage(self, alpha: float) -> float:
        """Return the share of the calibration set that the plane `alpha` covers, Eq. (17)."""
        return self.scores.coverage(alpha)

    def reached(self, coverage: float) -> float:
        """Return the share of the calibration set that the intervals for a level cover."""
        return float(self.scores.between(*self.cuts(coverage)).mean())

    @property
    def n_evaluations(self) -> int:
        """How often the system was evaluated: as often for all levels as for one."""
        self.check_fitted()
        return HALVINGS + 1


class ConformalCalibrator(ExactCalibrator):
    r"""Exact calibration with a guarantee for new data (nested split-conformal prediction).

    .. math:: \alpha(\phi) = \text{the } \lceil (Q+1) \phi \rceil\text{-th largest } \alpha_i

    If the calibration samples and a new one are exchangeable, and nothing was
    chosen on the calibration set, the interval of this plane covers the new
    target with probability of at least phi, whatever the distribution. The same holds
    beyond the planes, where a `margin` is added: levels up to Q / (Q + 1) are in reach.

    >>> y = np.arange(1.0, 200.0)  # 199 samples: the plane y / 200 is the last to cover y
    >>> def interval(alpha):
    ...     return np.zeros(199), np.where(y / 200 >= alpha, y, 0.0)
    >>> conformal = ConformalCalibrator().fit(interval, y)
    >>> round(conformal.alpha(0.07), 6)  # the 14th largest, though 200 * 0.07 is a little more
    0.93
    """

    method = "conformal"


CALIBRATORS: dict[str, type[Calibrator]] = {
    "table": TableCalibrator,
    "search": SearchCalibrator,
    "exact": ExactCalibrator,
    "conformal": ConformalCalibrator,
}
"""The calibrators by the name of their method."""
