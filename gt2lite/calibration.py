r"""From a coverage to the alpha-plane that has it, without training again.

A trained system offers one interval per plane, and the intervals are nested:
the lower alpha, the wider. The share of a calibration set that a plane covers
is therefore a falling step function of alpha, and calibration inverts it:
given a level, find the plane. Four calibrators do so behind one interface, `Calibration`:

=========== ====================================================================
`table`     the paper's Method 1: tabulate the coverage, interpolate
`search`    the paper's Method 2: walk towards the level with shrinking steps
`exact`     no approximation: the plane that just covers each sample is known
`conformal` the same with rank Q + 1 in place of Q, which adds a guarantee
=========== ====================================================================

They see the system only through an `Interval`: a nested family of intervals, which goes outward in
three stages, each of which contains the one before:

1. the planes from alpha = 1 to alpha_0 = 0.01, the envelope that was trained;
2. the planes beyond it, down to the lowest that the system has, `alpha_min`;
3. that lowest plane with a margin of any size on both ends. It is added and not
   multiplied, because a width can be 0.

The paper's methods end with the first stage. The other two go on, and reach every level that the
number of samples allows. A `Cut` is one member of the family. The `Scores` of samples are the cuts
at which each of them is first covered: all that calibration by rank needs to know. They also give
a plane for each bound (`TwoSidedCalibrator`) and for each group of samples (`GroupCalibrator`).

Planes are one such family. `Margins` make another from an estimate and the width of the envelope.
Metrics of intervals on new data are in `gt2lite.metrics`, training in `gt2lite.training`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from numbers import Integral
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gt2lite._validation import Array, IntArray, between, n_axes, one_of, vector, warn
from gt2lite.memberships import ALPHA_0, alpha_of, kappa_of
from gt2lite.metrics import covers
from gt2lite.reduction import nest

# ---------------------------------------------------------------------------------- nested families

Interval = Callable[[float | Array], tuple[Array, Array]]
"""The lower and upper ends (Q,) of a plane alpha, or of one plane per sample, alpha (Q,).

Three attributes are used where it has them, as `gt2lite.system.Planes` does: `alpha_min`, the
lowest plane, without which the planes end at alpha_0; a method `ends`, which evaluates several
planes at once; and a method `parts` that yields stretches of rows with intervals of
their own, for sets too large to be handled at once.
"""

HALVINGS = 40
"""Bisections for a critical plane: its kappa is known to about 2**-40, below 1e-12."""


class _kept:
    """A property that is computed once.

    That of `functools` holds a lock in Python 3.11, and a child forked meanwhile would hang.
    """

    def __init__(self, compute: Callable[[Any], Any]) -> None:
        self.compute = compute

    def __get__(self, owner: Any, kind: Any) -> Any:
        value = owner.__dict__[self.compute.__name__] = self.compute(owner)
        return value


class Cut(NamedTuple):
    """One member of a nested family, or one for each of N samples.

    Where a margin is needed, alpha is NaN: the plane is the lowest of the system then.
    """

    alpha: float | Array
    margin: float | Array = 0.0


def cut_ends(interval: Interval, cuts: Sequence[tuple[Cut, Cut]]) -> Array:
    """Return the ends (2, L, N) of L intervals, each given by the cuts of its two ends."""
    lowest = getattr(interval, "alpha_min", ALPHA_0)
    planes = [np.where(np.isnan(c.alpha), lowest, c.alpha) for pair in cuts for c in pair]
    if all(lower is upper for lower, upper in cuts):  # one plane for both ends
        ends = _evaluate(interval, planes[::2])
    else:
        found = _evaluate(interval, planes)  # (2, 2 L, N)
        ends = np.stack([found[0, ::2], found[1, 1::2]])
    for i, (lower, upper) in enumerate(cuts):
        ends[0, i] -= lower.margin
        ends[1, i] += upper.margin
    return ends


def _evaluate(interval: Interval, planes: Sequence[Array]) -> Array:
    """Return the ends (2, K, N) of K planes, each a number or one for each row (N,)."""
    several: Callable[[Array], Array] | None = getattr(interval, "ends", None)
    if several is not None:
        return several(np.array(np.broadcast_arrays(*planes)))
    found = [interval(plane if plane.ndim else float(plane)) for plane in planes]
    ends = np.stack([np.stack(pair) for pair in found], axis=1)
    rows = ends.shape[2:]
    return nest(ends, np.stack([np.broadcast_to(-plane, rows) for plane in planes]))


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

    def cut(self, k: int) -> Cut:
        """Return the smallest cut that covers at least `k` samples: the k-th score."""
        i = self._order[k - 1]
        alpha = float(self.alpha[i])
        return Cut(alpha if alpha > 0 else math.nan, float(self.margin[i]))

    def covered(self, cut: Cut) -> NDArray[np.bool_]:
        """Return which samples (Q,) a cut covers."""
        if math.isnan(cut.alpha):
            return (self.alpha > 0) | (self.margin <= cut.margin)
        return self.alpha >= cut.alpha

    def n_between(self, cuts: tuple[Cut, Cut]) -> int:
        """Return how many samples lie between a lower and an upper bound."""
        lower, upper = cuts
        return int((self.lower.covered(lower) & self.upper.covered(upper)).sum())

    def take(self, rows: Any) -> Scores:
        """Return the scores of some samples."""
        return Scores(self.alpha[rows], self.margin[rows], self.side[rows], self.alpha_min)

    @_kept
    def lower(self) -> Scores:
        """The scores of the lower end alone: where it first lies at or below the target.

        In a nested family a target beyond the upper end lies above the lower one at every
        plane, so that its score here is the smallest there is: alpha 1, no margin.
        """
        return self._tail(-1)

    @_kept
    def upper(self) -> Scores:
        """The scores of the upper end alone: where it first lies at or above the target."""
        return self._tail(1)

    def _tail(self, side: int) -> Scores:
        beyond = self.side == side
        return Scores(
            np.where(beyond, self.alpha, 1.0),
            np.where(beyond, self.margin, 0.0),
            np.where(beyond, self.side, 0.0),
            self.alpha_min,
        )

    @_kept
    def _order(self) -> NDArray[np.intp]:
        return np.lexsort((self.margin, -self.alpha))  # by plane, then by margin

    @property
    def keys(self) -> Array:
        """Three numbers (Q, 3) that order samples from far below their estimate to far above it.

        Side, plane and margin, each rising with the target: the signed position of
        `gt2lite.distribution`. Rows compare like words in a dictionary.
        """
        return np.stack([self.side, -self.side * self.alpha, self.side * self.margin], axis=1)

    @_kept
    def rising(self) -> NDArray[np.intp]:
        """The samples (Q,) in rising order of their keys."""
        return np.lexsort(self.keys.T[::-1])

    def arrays(self) -> dict[str, Array]:
        """Return the scores as arrays to be stored."""
        return {
            "critical_alpha": self.alpha,
            "margin": self.margin,
            "side": self.side,
            "alpha_min": np.array([self.alpha_min]),
        }

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Self:
        """Return the scores that `arrays` described."""
        alpha = vector("critical_alpha", arrays["critical_alpha"])
        margin = vector("margin", arrays["margin"], alpha.size)
        side = vector("side", arrays["side"], alpha.size)
        (lowest,) = vector("alpha_min", arrays["alpha_min"], 1)
        between("alpha_min", lowest, np.finfo(float).tiny, ALPHA_0, closed=True)
        planes = ((alpha == 0) | (alpha >= lowest)) & (alpha <= 1)
        margins = (margin >= 0) & ((margin == 0) | (alpha == 0))
        if not (planes & margins & np.isin(side, (-1, 0, 1))).all():
            raise ValueError("critical_alpha, margin and side are not valid scores")
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

    >>> interval = MarginFamily(np.zeros(4), np.ones(4))  # the plane alpha: from -kappa to kappa
    >>> scores = critical_scores(interval, [0.0, 0.5, -1.0, 2.0], lowest=0.01)
    >>> scores.alpha.round(4), scores.margin.round(4)
    (array([1.    , 0.3162, 0.01  , 0.    ]), array([0., 0., 0., 1.]))
    """
    y = vector("y", y)
    if lowest is None:
        lowest = float(getattr(interval, "alpha_min", ALPHA_0))
    parts: Callable[[], Iterable[tuple[slice, Interval]]] | None = getattr(interval, "parts", None)
    if parts is None:
        return _bisect(interval, y, lowest)
    # memberships, which all planes share, are computed once for each stretch
    return join_scores([_bisect(part, y[rows], lowest) for rows, part in parts()])


def join_scores(found: Sequence[Scores]) -> Scores:
    """Return the scores of several sets of samples, of one family, as those of one set."""
    alpha, margin, side = (
        np.concatenate([getattr(scores, name) for scores in found])
        for name in ("alpha", "margin", "side")
    )
    return Scores(alpha, margin, side, found[0].alpha_min)


def critical_alpha(interval: Interval, y: ArrayLike) -> Array:
    """Return the narrowest plane (Q,) of the envelope that covers each sample: its largest alpha.

    These are `critical_scores` without the planes beyond alpha_0: 1 if the narrowest plane covers
    the sample and 0, the limit of alpha for an endless kappa, if the plane alpha_0 does not.
    """
    return critical_scores(interval, y, ALPHA_0).alpha


def _bisect(interval: Interval, y: Array, lowest: float) -> Scores:
    side, _ = _side_of(interval, y, ALPHA_0)
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
        where, end = _side_of(interval, y, tried)
        hit = where == 0
        if halving == 0 and not hit[outside].all():
            margin = _lacking(y, end, where)
        side = np.where(hit, side, where)
        missed, covered = np.where(hit, missed, kappa), np.where(hit, kappa, covered)
        alpha = np.where(hit, tried, alpha)  # the last kappa, 2**-40, has alpha 1 exactly
    return Scores(alpha, np.where(alpha == 0, margin, 0.0), side, lowest)


def _side_of(interval: Interval, y: Array, alpha: float | Array) -> tuple[Array, Array]:
    """Return the side (-1, 0, 1) of each target relative to its interval, and the nearer end."""
    lower, upper = interval(alpha)
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


POWERS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""The powers that are tried."""

FLOOR = 0.05
"""Smallest width that counts, relative to the usual one: a width of 0 has no multiple."""


@dataclass(frozen=True)
class Margins:
    """Intervals of one shape around an estimate: ``y_hat -+ t * w(x) ** power``.

    The margin follows the width ``w(x)`` of the trained envelope, to a power from 0 (the same
    margin everywhere) to 1 (in proportion). The power is the same for all levels, so that intervals
    of different levels are nested and can be calibrated like planes. With few rows the widths are
    estimated roughly, and a power below 1 relies on them less.

    ``Margins(power, usual).around(planes, alphas)`` are intervals as a function of alpha: half
    the usual width times ``kappa(alpha) * (w / usual) ** power`` on both sides of the output.

    Attributes:
        power: from 0, where the margin is the same everywhere, to 1.
        usual: the mean width of the envelope on the training rows, in scaled units.

    >>> def envelope(alpha):
    ...     return np.array([-1.0, -3.0]), np.array([1.0, 3.0])
    >>> envelope.output = lambda alphas: np.array([0.0, 1.0])
    >>> Margins(0.0, usual=4.0).around(envelope, [1.0])(0.01)
    (array([-2., -1.]), array([2., 3.]))
    >>> Margins(1.0, usual=4.0).around(envelope, [1.0])(0.01)
    (array([-1., -2.]), array([1., 4.]))
    """

    power: float
    usual: float

    def around(self, planes: Any, alphas: Sequence[float] | Array) -> MarginFamily:
        """Return the intervals at the rows of `planes`, of a system or the mean of several."""
        centre = planes.output(alphas)
        if self.power == 0:  # widths are not needed
            return self.given(centre, np.full(centre.shape, self.usual))
        lower, upper = planes(ALPHA_0)
        return self.given(centre, upper - lower)

    def given(self, centre: Array, width: Array) -> MarginFamily:
        """Return the intervals around estimates (N,) where the envelope has the widths (N,)."""
        share = np.maximum(width / self.usual, FLOOR) ** self.power
        return MarginFamily(centre, share * (self.usual / 2))


class MarginFamily:
    """Intervals ``centre -+ kappa(alpha) * half``, nested in alpha down to the smallest number.

    Args:
        centre: (N,) estimates.
        half: (N,) half widths at alpha_0, above 0.
    """

    alpha_min = float(np.finfo(float).tiny)

    def __init__(self, centre: Array, half: Array) -> None:
        self.centre, self.half = vector("centre", centre), vector("half", half, len(centre))

    def __len__(self) -> int:
        return len(self.centre)

    def __call__(self, alpha: float | Array) -> tuple[Array, Array]:
        """Return lower and upper ends (N,) of one member, or of one for each row (N,)."""
        margin = np.asarray(kappa_of(alpha)) * self.half
        return self.centre - margin, self.centre + margin

    def ends(self, alphas: Sequence[float] | Array) -> Array:
        """Return the ends (2, K, N) of the members `alphas` (K,), or (K, N) if rows differ."""
        kappa = np.asarray(kappa_of(np.asarray(alphas, dtype=float)))
        margin = (kappa[:, None] if kappa.ndim == 1 else kappa) * self.half
        return np.stack([self.centre - margin, self.centre + margin])


# --------------------------------------------------------------------------------- levels and ranks


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


def plain_fraction(coverage: Any) -> Fraction:
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


# ------------------------------------------------------------------------------------ the interface

FEW_SAMPLES = 100

DEFAULT_COVERAGE = 0.9
"""The coverage of `predict_interval` if none is given."""


class SmallCalibrationWarning(UserWarning):
    """The calibration set, or a group of it, is so small that its coverage is known roughly."""


Label = str | int  # of a group
Labels = list[Label] | None  # the group of each sample, if there are groups
Sizes = dict[Label | None, int]  # the number of samples of each group, or {None: Q} without
State = tuple[dict[str, Any], dict[str, Array]]  # values for a JSON header, and arrays
Meta = Mapping[str, Any]
Arrays = Mapping[str, ArrayLike]


class ReportRow(NamedTuple):
    """Planes, margins and coverage at a level, of a group or of all samples (group None)."""

    group: Label | None
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
    by_group: ClassVar[bool] = False  # whether each group of samples has planes of its own
    sides: str = "both"  # one cut for both bounds, or one for "each"
    interval: Interval | None = None  # of the calibration set, if new levels may evaluate it again
    _lowest = ALPHA_0  # the lowest plane that can be asked for
    _sizes: Sizes  # once `fit` is done

    def fit(self, interval: Interval, y: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Learn the relation of plane and coverage from a calibration set.

        Args:
            interval: the intervals of the Q calibration samples as a function of alpha.
            y: their targets (Q,).
            groups: the group of each (Q,), by name or number, for a `GroupCalibrator` only.
        """
        y = vector("y", y)
        labels = self._labels(groups, y.size)
        self._sizes = {}  # a fit that fails leaves nothing half done
        self._sizes = self._learn(interval, y, labels)
        small = [label for label, n in self._sizes.items() if n < FEW_SAMPLES]
        if small and self.by_group:
            warn(
                f"{len(small)} of {len(self._sizes)} groups have fewer than {FEW_SAMPLES} "
                f"calibration samples: {self._named(small)}; the coverage of a group is known "
                "in steps of one sample",
                SmallCalibrationWarning,
            )
        elif small:
            warn(
                f"only {y.size} calibration samples, fewer than {FEW_SAMPLES}: coverage is known "
                f"in steps of 1/{y.size} = {1 / y.size:.2g}",
                SmallCalibrationWarning,
            )
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
        levels, single = self._levels(coverage)
        labels, rows = self._places(groups)
        cuts = [_cuts_of_rows(self._all_cuts(level, labels), rows) for level in levels]
        lower, upper = cut_ends(interval, cuts)  # (L, N) each
        return (lower[0], upper[0]) if single else (lower.T, upper.T)

    def alpha(self, coverage: Any, group: Label | None = None) -> Any:
        """Return the plane for a level; NaN if no plane covers enough and there is a `margin`.

        Args:
            coverage: the level, or L of them.
            group: which group, if the calibration is by groups.

        Returns:
            A number, or (L,) for several levels; with planes of their own for lower and upper
            bound (2,) or (2, L).
        """
        return self._read_cuts(coverage, group, 0)

    def margin(self, coverage: Any, group: Label | None = None) -> Any:
        """Return the margin added to the lowest plane for a level, 0 if a plane covers enough.

        It has the units of the intervals; arguments and shapes are those of `alpha`.
        """
        return self._read_cuts(coverage, group, 1)

    def reached(self, coverage: float) -> float:
        """Return the share of the calibration set that the intervals for a level cover."""
        self._check_fitted()
        (label,), _ = self._places(None)
        return self._row(coverage, label).reached

    def coverage(self, alpha: float) -> float:
        """Return the share of the calibration set that the plane `alpha` covers."""
        n_samples = self.n_samples
        cut = Cut(between("alpha", alpha, self._lowest, 1, closed=True))
        return self._n_covered((cut, cut)) / n_samples

    @property
    def max_coverage(self) -> float:
        """The coverage of the envelope, the plane alpha_0."""
        return self.coverage(ALPHA_0)

    def report(self, coverage: float) -> list[ReportRow]:
        """Return size, plane, margin and coverage at a level, one row for each group.

        A group too small for the level has "nothing" in `calibrated_on`.
        """
        self._check_fitted()
        return [self._row(coverage, label) for label in self._sizes]

    @property
    def n_samples(self) -> int:
        """The size Q of the calibration set."""
        self._check_fitted()
        return sum(self._sizes.values())

    @property
    @abstractmethod
    def n_evaluations(self) -> int:
        """How often the system was evaluated on the whole calibration set so far."""

    def get_state(self) -> State:
        """Return all that `from_state` needs: values for a JSON header, and arrays."""
        self._check_fitted()
        meta, arrays = self._state()
        return {"kind": self.kind, "options": asdict(self)} | meta, arrays  # type: ignore[call-overload]

    @classmethod
    def from_state(cls, meta: Meta, arrays: Arrays, interval: Interval | None = None) -> Self:
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
            self._sizes = self._restore(meta, arrays, interval)
            for given, known in zip((meta, arrays), self.get_state(), strict=True):
                if unknown := given.keys() - known.keys():
                    raise ValueError(f"unknown entries {', '.join(sorted(unknown))}")
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"not the state of a {cls.kind} calibrator: {error}") from error
        return self

    def _levels(self, coverage: Any) -> tuple[Sequence[Any], bool]:
        """Return levels as a sequence, and whether it was a single number."""
        self._check_fitted()
        if n_axes("coverage", coverage) == 0:
            return [coverage], True
        vector("coverage", coverage)
        return list(np.ravel(coverage)), False  # single precision, too: see `plain_fraction`

    def _read_cuts(self, coverage: Any, group: Label | None, part: int) -> Any:
        """Return alpha (part 0) or margin (part 1) of the cuts for levels, see `alpha`."""
        levels, single = self._levels(coverage)
        labels, _ = self._places(None if group is None else [group])
        found = [self._value(self._all_cuts(level, labels)[0], part) for level in levels]
        return found[0] if single else np.array(found).T

    def _value(self, cuts: tuple[Cut, Cut], part: int) -> Any:
        """Return alpha or margin of two cuts: a number if they are one, else (2,)."""
        lower, upper = cuts
        return lower[part] if self.sides == "both" else np.array([lower[part], upper[part]])

    def _labels(self, groups: ArrayLike | None, n: int | None = None) -> Labels:
        """Return the group of each of `n` rows; None if the calibration is not by groups."""
        if self.by_group:
            return read_groups(groups, n)
        if groups is not None:
            raise ValueError("groups must be None, because this calibration is not by groups")
        return None

    def _places(self, groups: ArrayLike | None) -> tuple[Sequence[Label | None], Any]:
        """Return the groups that are present, each once, and the place (N,) of each row's.

        Without groups: one that is None, and 0 for all rows.
        """
        labels = self._labels(groups)
        if labels is None:
            return [None], 0
        place = {label: i for i, label in enumerate(dict.fromkeys(labels))}
        if unseen := [repr(label) for label in place if label not in self._sizes]:
            raise ValueError(
                f"groups must be among those of the calibration set, got {_few(unseen)}; "
                f"it has {_few(map(repr, self._sizes))}"
            )
        return list(place), np.array([place[label] for label in labels])

    def _all_cuts(self, coverage: Any, labels: Sequence[Any]) -> list[tuple[Cut, Cut]]:
        """Return the cuts of groups at a level, and warn if some are those of all samples."""
        found = [self._find(coverage, label) for label in labels]
        pooled = [g for g, (_, source) in zip(labels, found, strict=True) if source == "pool"]
        if pooled:
            warn(
                f"too small for coverage {coverage}: {self._named(pooled)}. They take the plane of "
                f"all {self.n_samples} calibration samples, which keeps its level on average over "
                "all groups and guarantees nothing for these",
                SmallCalibrationWarning,
            )
        return [cuts for cuts, _ in found]

    def _row(self, coverage: float, label: Label | None) -> ReportRow:
        n = self._sizes[label]
        try:
            cuts, source = self._find(coverage, label)
        except CoverageError:
            if label is None:
                raise
            return ReportRow(label, n, "nothing", np.nan, np.nan, np.nan)
        alpha, margin = self._value(cuts, 0), self._value(cuts, 1)
        return ReportRow(label, n, source, alpha, margin, self._n_covered(cuts, label) / n)

    def _named(self, labels: Sequence[Label | None]) -> str:
        return _few(f"{label!r} ({self._sizes[label]} samples)" for label in labels)

    def _check_fitted(self) -> None:
        if not getattr(self, "_sizes", None):
            raise RuntimeError(f"{type(self).__name__} has no calibration set yet: call fit first")

    @abstractmethod
    def _learn(self, interval: Interval, y: Array, labels: Labels) -> Sizes:
        """Learn from samples and their groups, if any, and return the sizes of the groups."""

    @abstractmethod
    def _find(self, coverage: Any, label: Label | None) -> tuple[tuple[Cut, Cut], str]:
        """Return where both bounds of a group are cut, and on what that is `calibrated_on`."""

    @abstractmethod
    def _n_covered(self, cuts: tuple[Cut, Cut], label: Label | None = None) -> int:
        """Return how many samples, of a group or of all, lie between two bounds."""

    @abstractmethod
    def _state(self) -> State:
        """Return what was learned, for `get_state`."""

    @abstractmethod
    def _restore(self, meta: Meta, arrays: Arrays, interval: Interval | None) -> Sizes:
        """Undo `_state`, and return the sizes of the groups."""


def _cuts_of_rows(cuts: Sequence[tuple[Cut, Cut]], rows: Any) -> tuple[Cut, Cut]:
    """Return the cuts of rows from those of groups and the places of the rows, or 0."""
    if np.ndim(rows) == 0:
        return cuts[rows]
    table = np.array(cuts)[rows]  # (N, lower and upper, alpha and margin)
    lower, upper = (Cut(table[:, i, 0], table[:, i, 1]) for i in (0, 1))
    return lower, lower if all(low is up for low, up in cuts) else upper


# ------------------------------------------------------------------------------ the paper's methods

FINEST_STEP = 1e-3
"""The smallest distance of the planes in a table: a thousand of them."""


class _PlaneCalibrator(Calibration):
    """A calibrator that evaluates whole planes, each of them only once."""

    def _learn(self, interval: Interval, y: Array, labels: Labels) -> Sizes:
        self.interval = interval
        self._y = y.copy()
        self._seen: dict[float, int] = {}  # alpha: number of samples covered
        for alpha in self._planes():
            self._count(alpha)
        return {None: y.size}

    def _planes(self) -> list[float]:
        """Return the planes that `fit` evaluates."""
        return [ALPHA_0]

    def _count(self, alpha: float) -> int:
        """Return how many samples a plane covers."""
        if alpha not in self._seen:
            if self.interval is None:
                raise RuntimeError(
                    f"the plane {alpha} was not evaluated before this calibrator was stored: "
                    "restore it with the intervals of its calibration set"
                )
            self._seen[alpha] = int(covers(self._y, *self.interval(alpha)).sum())
        return self._seen[alpha]

    def _n_covered(self, cuts: tuple[Cut, Cut], label: Label | None = None) -> int:
        return self._count(float(cuts[0].alpha))

    def _phi(self, alpha: float) -> float:
        return self._count(alpha) / self._y.size

    def _find(self, coverage: Any, label: Label | None) -> tuple[tuple[Cut, Cut], str]:
        cut = Cut(self._plane(self._level(coverage)))
        return (cut, cut), "all"

    def _level(self, coverage: Any) -> float:
        """Return the level if it is one, and in reach."""
        n_samples, level = self.n_samples, between("coverage", coverage, 0, 1)
        n_covered = self._count(ALPHA_0)
        if rank(level, n_samples) > n_covered:
            raise CoverageError(
                f"coverage {level} is out of reach: on these {n_samples} calibration samples the "
                f"widest plane, alpha {ALPHA_0}, answers levels up to "
                f"{highest_level(n_covered, n_samples)}; use a lower level, train with a higher "
                'coverage, or calibrate by "exact" or "conformal", which go beyond that plane'
            )
        return level

    @abstractmethod
    def _plane(self, level: float) -> float:
        """Return the plane for a level that is in reach."""

    @property
    def n_evaluations(self) -> int:
        """How many planes were evaluated so far; one that was seen before costs nothing."""
        self._check_fitted()
        return len(self._seen)

    def _state(self) -> State:
        seen = np.array(list(self._seen.items()), dtype=float)  # (planes, 2)
        return {}, {"y": self._y, "alpha": seen[:, 0], "n_covered": seen[:, 1]}

    def _restore(self, meta: Meta, arrays: Arrays, interval: Interval | None) -> Sizes:
        alpha = vector("alpha", arrays["alpha"])
        n_covered = vector("n_covered", arrays["n_covered"], alpha.size)
        self.interval, self._y = interval, vector("y", arrays["y"])
        order = np.argsort(alpha)
        planes, counts = alpha[order], n_covered[order]
        if planes[0] != ALPHA_0 or planes[-1] > 1 or not (np.diff(planes) > 0).all():
            raise ValueError(f"alpha must hold planes from {ALPHA_0} to 1, each once")
        possible = (counts == np.rint(counts)) & (counts >= 0) & (counts <= self._y.size)
        if not possible.all() or (np.diff(counts) > 0).any():
            raise ValueError(f"n_covered must hold falling counts of {self._y.size} samples")
        self._seen = dict(zip(alpha.tolist(), map(int, n_covered), strict=True))
        return {None: self._y.size}


@dataclass(eq=False)
class TableCalibrator(_PlaneCalibrator):
    """Method 1, Algorithm 3: tabulate coverage against alpha, and interpolate.

    A level below the coverage of the narrowest plane gets that plane, alpha 1.

    Args:
        step: distance of the planes: alpha_0, step, 2 * step, ..., 1.
        interpolation: "linear", or "pchip" for a monotone cubic (needs SciPy).

    >>> y = np.linspace(-1, 1, 201)
    >>> interval = MarginFamily(np.zeros(201), np.ones(201))  # plane alpha: from -kappa to kappa
    >>> table = TableCalibrator(step=0.5).fit(interval, y)
    >>> table.table.round(3)  # coverage, alpha
    array([[0.005, 1.   ],
           [0.383, 0.5  ],
           [1.   , 0.01 ]])
    >>> round(table.alpha(0.9), 3), round(table.reached(0.9), 3)
    (0.089, 0.721)
    """

    kind = method = "table"
    step: float = 0.1
    interpolation: str = "linear"

    def __post_init__(self) -> None:
        self.step = between("step", self.step, FINEST_STEP, 1, closed=True)
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

    def _learn(self, interval: Interval, y: Array, labels: Labels) -> Sizes:
        if self.interpolation == "pchip":
            _pchip()  # fail now rather than at the first level
        return super()._learn(interval, y, labels)

    def _plane(self, level: float) -> float:
        phi, alpha = self.table.T
        if self.interpolation == "linear" or phi.size == 1:
            plane = np.interp(level, phi, alpha)
        else:
            plane = _pchip()(phi, alpha)(np.clip(level, phi[0], phi[-1]))
        return float(np.clip(plane, ALPHA_0, 1))  # rounding must not leave the range


# A step that begins at 1 and is shrunk by no less than a tenth falls below the smallest `min_step`
# after 132 times, so that every search ends: it makes at most Q moves (see `path`), and each move
# and each shrinking looks at two planes.
_SEARCH_RANGES = {
    "step": (1e-6, 1.0),
    "shrink": (0.01, 0.9),
    "tolerance": (0.0, 1.0),
    "min_step": (1e-6, 1.0),
}


@dataclass(eq=False)
class SearchCalibrator(_PlaneCalibrator):
    """Method 2, Algorithm 4: walk to the plane whose coverage is nearest to the level, Eq. (19).

    From `start` the search looks one step to either side, moves where coverage
    comes nearer to the level, and shrinks the step where neither side helps.
    Coverage is flat between two samples, so the search can *stall* on a plateau
    wider than its step although a better plane lies beyond. That belongs to the
    method; `converged` and `reached` report it.

    The paper gives no values for the settings. The defaults are those of the authors' public
    code (`Calibration_Example.m`, `derivative_free_search_algorithm.m`), the exit at a small
    step included.

    Args:
        start: the first plane.
        step: the first step in alpha.
        shrink: factor for the step where neither side is better.
        tolerance: distance of coverage from the level at which the search ends.
        min_step: step below which the search ends without success.

    >>> y = np.linspace(-1, 1, 201)
    >>> interval = MarginFamily(np.zeros(201), np.ones(201))  # plane alpha: from -kappa to kappa
    >>> search = SearchCalibrator(tolerance=0.005).fit(interval, y)
    >>> [(alpha, round(phi, 3)) for alpha, phi in search.path(0.6)]
    [(0.4, 0.443), (0.3, 0.512), (0.2, 0.592), (0.1875, 0.602)]
    >>> search.alpha(0.6), search.converged(0.6)
    (0.1875, True)
    """

    kind = method = "search"
    start: float = 0.40
    step: float = 0.1
    shrink: float = 0.5
    tolerance: float = 0.0005
    min_step: float = 1e-4

    def __post_init__(self) -> None:
        self.start = between("start", self.start, ALPHA_0, 1, closed=True)
        for name, (low, high) in _SEARCH_RANGES.items():
            setattr(self, name, between(name, getattr(self, name), low, high, closed=True))

    def path(self, coverage: float) -> list[tuple[float, float]]:
        """Return the (alpha, coverage) that the search for a level stood on, the answer last."""
        level = self._level(coverage)
        # Deviation: Algorithm 4 never sets alpha* to alpha_init before it uses it; we do.
        alpha, step = self.start, self.step
        phi = self._phi(alpha)
        path = [(alpha, phi)]
        # Deviation: as printed the loop ends only within the tolerance, which a step function
        # of Q samples may never reach. The authors' code also leaves it at a small step. So it
        # ends in any case: a move brings phi strictly nearer to the level, phi has at most Q + 1
        # values, and a step can be shrunk only so often.
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


# ------------------------------------------------------------------------------ calibration by rank

RANKED = ("exact", "conformal")
"""The methods that calibrate by rank."""

SIDES = ("both", "each")
"""One plane for both bounds of an interval, or one for each."""

EQUAL_TAILS = (0.5, 0.5)
"""The lower and the upper bound may miss equally often."""

ONE_SIDE = {"lower": (1.0, 0.0), "upper": (0.0, 1.0)}
"""The tails of intervals with a lower, or an upper, bound only."""

_OPEN = Cut(math.nan, math.inf)  # the open bound of a one-sided interval is infinite


def read_tails(tails: Any) -> tuple[Fraction, Fraction]:
    """Return the shares of the misses that may lie below and above, in exact arithmetic.

    >>> read_tails((0.2, 0.8))
    (Fraction(1, 5), Fraction(4, 5))
    """
    found = vector("tails", tails)
    if found.size == 2:
        below, above = (
            plain_fraction(between("tails", float(share), 0, 1, closed=True)) for share in found
        )
        if below + above == 1:
            return below, above
    raise ValueError(
        "tails must be two shares that add up to 1, of the misses below and above, such as "
        f"(0.2, 0.8), got {tails!r}"
    )


def find_cuts(
    scores: Scores, coverage: Any, method: str, sides: str = "both", tails: Any = EQUAL_TAILS
) -> tuple[Cut, Cut]:
    r"""Return where the lower and upper bounds are cut for a level, from the scores of Q samples.

    The k-th smallest score covers k samples. An interval, or one of its bounds, that may have a
    share :math:`\tau` of the misses shall be right with probability
    :math:`p = 1 - \tau (1 - \phi)`: k is :math:`Q p` for "exact" and :math:`(Q + 1) p` for
    "conformal", rounded up in exact arithmetic.

    Args:
        scores: where each sample is first covered.
        coverage: the level phi.
        method: "exact" or "conformal".
        sides: "both" for one cut, with all misses; "each" for one cut for each bound.
        tails: with "each", the shares of the misses below and above. A bound without any is open.
    """
    phi = plain_fraction(between("coverage", coverage, 0, 1))
    if sides == "both":
        cut = _cut(scores, phi, method, Fraction(1))
        return cut, cut
    below, above = read_tails(tails)
    return _cut(scores.lower, phi, method, below), _cut(scores.upper, phi, method, above)


def _cut(scores: Scores, phi: Fraction, method: str, tail: Fraction) -> Cut:
    if tail == 0:
        return _OPEN
    n = len(scores)
    k = rank(1 - tail * (1 - phi), n + (method == "conformal"))
    if k > n:
        most = max(1 - 1 / (tail * (n + 1)), Fraction(0))
        bound = "" if tail == 1 else f" for a bound with {float(tail):g} of the misses"
        raise CoverageError(
            f"coverage {float(phi)} is out of reach: {n} calibration samples answer levels up to "
            f"{highest_level(most.numerator, most.denominator)}{bound}; use a lower level or "
            f"calibrate with at least {_fewest(phi, tail)} samples"
        )
    return scores.cut(k)


def fewest_samples(coverage: float, sides: str = "both", tails: Any = None) -> int:
    """Return how many calibration samples a conformal calibration needs to reach a level.

    >>> fewest_samples(0.9), fewest_samples(0.9, "each"), fewest_samples(0.9, "each", (0.2, 0.8))
    (9, 19, 49)
    """
    tails = tails_of(sides, tails)
    share = Fraction(1) if tails is None else min(tail for tail in read_tails(tails) if tail)
    return _fewest(plain_fraction(coverage), share)


def _fewest(phi: Fraction, tail: Fraction) -> int:
    return math.ceil(1 / (tail * (1 - phi))) - 1


def tails_of(sides: str, tails: Any = None) -> tuple[float, float] | None:
    """Return the shares of the misses below and above; None for one plane for both bounds.

    >>> tails_of("upper"), tails_of("each"), tails_of("each", (0.2, 0.8)), tails_of("both")
    ((0.0, 1.0), (0.5, 0.5), (0.2, 0.8), None)
    """
    one_of("sides", sides, (*SIDES, *ONE_SIDE))
    if tails is None:
        return EQUAL_TAILS if sides == "each" else ONE_SIDE.get(sides)
    if sides != "each":
        raise ValueError(f"tails must be None unless sides='each', got sides={sides!r}")
    below, above = read_tails(tails)
    return float(below), float(above)


class RankedCalibration(Calibration):
    """A calibration that has for each sample where in the nested family it is first covered."""

    method: str  # "exact" or "conformal"
    tails: tuple[float, float] = EQUAL_TAILS  # of the misses, with sides="each"
    small_groups: str = "raise"  # or "pool", see `GroupCalibrator`
    _codes: IntArray  # the group of each sample, by its place among the groups
    _sets: dict[Label | None, Scores]  # of all samples, None, and of each group

    def __post_init__(self) -> None:
        one_of("method", self.method, RANKED)
        one_of("sides", self.sides, SIDES)
        one_of("small_groups", self.small_groups, ("raise", "pool"))
        below, above = read_tails(self.tails)
        self.tails = float(below), float(above)
        if self.sides == "both" and self.tails != EQUAL_TAILS:
            raise ValueError(f"tails must be {EQUAL_TAILS} if sides='both', got {self.tails}")

    @property
    def scores(self) -> Scores:
        """Where in the nested family each sample is first covered."""
        self._check_fitted()
        return self._sets[None]

    @property
    def n_evaluations(self) -> int:
        """How often the system was evaluated: once for all levels, whatever they are."""
        self._check_fitted()
        return HALVINGS + 1

    def sets_of(self, groups: ArrayLike | None) -> tuple[list[Scores], Any]:
        """Return the scores that new rows are compared with, and which of them each row has.

        One set of scores for all rows and the index 0; or one for each group, and indices (N,).
        """
        self._check_fitted()
        labels, rows = self._places(groups)
        return [self._sets[label] for label in labels], rows

    def _find(self, coverage: Any, label: Label | None) -> tuple[tuple[Cut, Cut], str]:
        options = coverage, self.method, self.sides, self.tails
        try:
            return find_cuts(self._sets[label], *options), "all" if label is None else "group"
        except CoverageError as error:
            if label is None:
                raise
            if self.small_groups == "raise":
                raise CoverageError(
                    f'group {label!r} is too small: {error}, or set small_groups="pool"'
                ) from None
        return find_cuts(self.scores, *options), "pool"

    def _n_covered(self, cuts: tuple[Cut, Cut], label: Label | None = None) -> int:
        return self._sets[label].n_between(cuts)

    @property
    def _lowest(self) -> float:  # type: ignore[override]
        return self.scores.alpha_min

    def _learn(self, interval: Interval, y: Array, labels: Labels) -> Sizes:
        return self._split(critical_scores(interval, y), labels)

    def _split(self, scores: Scores, labels: Labels) -> Sizes:
        """Keep the scores of all samples and of each group; return the sizes of the groups."""
        self._sets = {None: scores}
        if labels is None:
            return {None: len(scores)}
        names = sorted(set(labels), key=lambda label: (isinstance(label, str), label))
        code = {name: i for i, name in enumerate(names)}
        self._codes = np.array([code[label] for label in labels])
        sizes = np.bincount(self._codes)
        rows = np.split(np.argsort(self._codes, kind="stable"), np.cumsum(sizes)[:-1])
        self._sets |= {name: scores.take(rows[i]) for name, i in code.items()}
        return dict(zip(names, sizes.tolist(), strict=True))

    def _state(self) -> State:
        arrays = self.scores.arrays()
        if not self.by_group:
            return {}, arrays
        return {"labels": list(self._sizes)}, arrays | {"group": self._codes.astype(float)}

    def _restore(self, meta: Meta, arrays: Arrays, interval: Interval | None) -> Sizes:
        scores = Scores.from_arrays(arrays)
        if not self.by_group:
            return self._split(scores, None)
        labels, codes = read_groups(meta["labels"]), vector("group", arrays["group"], len(scores))
        if len(set(labels)) != len(labels):
            raise ValueError("labels must be different names or numbers")
        if not np.array_equal(np.unique(codes), np.arange(len(labels))):
            raise ValueError(f"group must hold the numbers of {len(labels)} groups")
        return self._split(scores, [labels[int(code)] for code in codes])


@dataclass(eq=False)
class ExactCalibrator(RankedCalibration):
    r"""Calibration by rank: no table, no step, no search.

    Sample i lies in every interval from its critical plane alpha_i downwards. Hence
    the coverage of a plane is a rank, and so is its inverse:

    .. math::
        \phi(\alpha) = \frac{1}{Q} \#\{i : \alpha_i \ge \alpha\}, \qquad
        \alpha(\phi) = \text{the } \lceil Q \phi \rceil\text{-th largest } \alpha_i,

    the narrowest plane that covers at least the level. Where the envelope covers too few,
    the planes go on below alpha_0 as far as the system has them, and then with a `margin`.

    >>> y = np.linspace(-1, 1, 201)
    >>> interval = MarginFamily(np.zeros(201), np.ones(201))  # plane alpha: from -kappa to kappa
    >>> exact = ExactCalibrator().fit(interval, y)
    >>> alpha = exact.alpha(0.9)  # 181 of the 201 lie within 0.9 of 0, and 0.01**0.81 = 0.024
    >>> round(alpha, 4), exact.coverage(alpha) == 181 / 201
    (0.024, True)
    >>> exact = ExactCalibrator().fit(interval, 2 * y)  # now the envelope covers half
    >>> float(f"{exact.alpha(0.9):.3g}"), exact.reached(0.9) == 181 / 201  # 0.01**3.24, beyond it
    (3.31e-07, True)
    """

    kind = method = "exact"

    @property
    def critical_alpha(self) -> Array:
        """The plane (Q,) that just covers each sample; 0 where none does."""
        return self.scores.alpha.copy()


@dataclass(eq=False)
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

    kind = method = "conformal"


@dataclass(eq=False)
class TwoSidedCalibrator(RankedCalibration):
    r"""Calibration by rank with a plane of its own for each bound.

    With "conformal" a new target lies below the lower bound with probability of at most
    :math:`\tau_1 (1 - \phi)`, and above the upper bound with at most :math:`\tau_2 (1 - \phi)`,
    where the tails :math:`\tau_1 + \tau_2 = 1`. Hence it lies inside with at least :math:`\phi`.
    With tails of (1, 0) all misses lie below: the interval reaches from the lower bound to
    infinity, and the rank is that of one bound for the whole level.

    Every plane contains the plane alpha = 1, the type-1 output, so that the bounds cannot
    cross. That is also where a bound stops: if fewer than :math:`\tau (1 - \phi)` of the targets
    lie beyond the output itself, no bound leaves out as many. That can only increase coverage.

    Args:
        method: "exact" or "conformal".
        tails: shares of the misses that may lie below and above; they add up to 1.

    >>> y = np.linspace(-1, 0.5, 151)
    >>> interval = MarginFamily(np.zeros(151), np.ones(151))  # plane alpha: from -kappa to kappa
    >>> two = TwoSidedCalibrator("exact").fit(interval, y)
    >>> kappa_of(two.alpha(0.8)).round(4)  # a tenth is left out on either side
    array([0.85, 0.35])
    >>> two = TwoSidedCalibrator("exact", tails=(1, 0)).fit(interval, y)
    >>> lower, upper = two.intervals(interval, 0.8)
    >>> int((y < lower).sum()), float(upper[0])  # a fifth of 151 is left out below, none above
    (30, inf)
    """

    kind: ClassVar[str] = "two-sided"
    sides = "each"

    method: str = "conformal"
    tails: tuple[float, float] = EQUAL_TAILS


# ------------------------------------------------------------------------------------------- groups


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

    >>> y = np.append(np.linspace(-1, 1, 201), np.linspace(-0.5, 0.5, 101))
    >>> groups = ["wild"] * 201 + ["calm"] * 101
    >>> interval = MarginFamily(np.zeros(302), np.ones(302))  # plane alpha: from -kappa to kappa
    >>> by_group = GroupCalibrator("exact").fit(interval, y, groups)
    >>> [(row.group, row.n_samples, round(row.alpha, 3)) for row in by_group.report(0.9)]
    [('calm', 101, 0.394), ('wild', 201, 0.024)]
    """

    kind: ClassVar[str] = "group"
    by_group: ClassVar[bool] = True

    method: str = "conformal"
    sides: str = "both"
    small_groups: str = "raise"
    tails: tuple[float, float] = EQUAL_TAILS

    @property
    def sizes(self) -> dict[Label, int]:
        """The number of calibration samples of each group."""
        self._check_fitted()
        return {label: n for label, n in self._sizes.items() if label is not None}


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


# -------------------------------------------------------------------------------------- all of them

CALIBRATORS: dict[str, type[Calibration]] = {
    "table": TableCalibrator,
    "search": SearchCalibrator,
    "exact": ExactCalibrator,
    "conformal": ConformalCalibrator,
}
"""The calibrators by the name of their method."""

_OTHERS: dict[str, type[Calibration]] = {"two-sided": TwoSidedCalibrator, "group": GroupCalibrator}


def make_calibrator(
    method: str, sides: str, grouped: bool, options: Mapping[str, Any]
) -> Calibration:
    """Return the calibrator for the arguments of `GT2Regressor.calibrate`.

    Args:
        method: one of `CALIBRATORS`.
        sides: "both", "each", "lower" or "upper".
        grouped: whether there are groups.
        options: of the calibrator; `tails` among them with sides="each".

    >>> make_calibrator("exact", "upper", False, {})
    TwoSidedCalibrator(method='exact', tails=(0.0, 1.0))
    """
    one_of("method", method, CALIBRATORS)
    tails = tails_of(sides, options.get("tails"))
    if method not in RANKED and (tails is not None or grouped):
        what = "groups" if grouped else f"sides={sides!r}"
        raise ValueError(f'{what} needs method="exact" or "conformal", got method={method!r}')
    options = {name: value for name, value in options.items() if name != "tails"}
    if tails is not None:
        options["tails"] = tails
    if grouped:
        return GroupCalibrator(method, "both" if tails is None else "each", **options)
    if tails is not None:
        return TwoSidedCalibrator(method, **options)
    return CALIBRATORS[method](**options)


def restore(meta: Meta, arrays: Arrays, interval: Interval | None = None) -> Calibration:
    """Return the calibration that `get_state` described, of whatever kind; see `from_state`."""
    kinds = CALIBRATORS | _OTHERS
    return kinds[one_of("kind", meta["kind"], kinds)].from_state(meta, arrays, interval)
