r"""From a coverage to the alpha-plane that has it, without training again.

A trained system offers one interval per plane, and the intervals are nested:
the lower alpha, the wider. The share of a calibration set that a plane covers
is therefore a falling step function of alpha, and calibration inverts it:
given a level, find the plane. Four methods do so behind one interface, `Calibration`:

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
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from importlib.util import find_spec
from numbers import Integral
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gt2lite._validation import Array, IntArray, between, n_axes, one_of, vector, warn
from gt2lite.memberships import ALPHA_0, alpha_of, kappa_of
from gt2lite.metrics import covers
from gt2lite.system import nest

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
    lower, upper = planes[::2], planes[1::2]
    shared = all(map(np.array_equal, lower, upper))  # one plane for both ends
    if shared:
        planes = lower
    several: Callable[[Array], Array] | None = getattr(interval, "ends", None)
    if several is not None:
        ends = several(np.array(np.broadcast_arrays(*planes)))
    else:
        ends = np.stack([interval(p if p.ndim else float(p)) for p in planes], axis=1)
        ends = nest(ends, np.stack([np.broadcast_to(-p, ends.shape[2:]) for p in planes]))
    if not shared:
        ends = np.stack([ends[0, ::2], ends[1, 1::2]])
    for i, (below, above) in enumerate(cuts):
        ends[0, i] -= below.margin
        ends[1, i] += above.margin
    return ends


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

    def covered(self, cut: Cut) -> NDArray[np.bool_]:
        """Return which samples (Q,) a cut covers."""
        return self.position <= (cut.margin if math.isnan(cut.alpha) else -cut.alpha)

    def between(self, lower: Cut, upper: Cut) -> NDArray[np.bool_]:
        """Return which samples (Q,) lie between a lower and an upper bound."""
        return self.lower.covered(lower) & self.upper.covered(upper)

    def take(self, rows: Any) -> Scores:
        """Return the scores of some samples."""
        return Scores(self.alpha[rows], self.margin[rows], self.side[rows], self.alpha_min)

    @property
    def lower(self) -> Scores:
        """The scores of the lower end alone: where it first lies at or below the target.

        In a nested family a target beyond the upper end lies above the lower one at every
        plane, so that its score here is the smallest there is: alpha 1, no margin.
        """
        return self._where(self.side < 0)

    @property
    def upper(self) -> Scores:
        """The scores of the upper end alone: where it first lies at or above the target."""
        return self._where(self.side > 0)

    def _where(self, beyond: NDArray[np.bool_]) -> Scores:
        alpha, margin = np.where(beyond, self.alpha, 1.0), np.where(beyond, self.margin, 0.0)
        return Scores(alpha, margin, np.where(beyond, self.side, 0.0), self.alpha_min)

    @property
    def keys(self) -> NDArray[np.complex128]:
        """Numbers (Q,) that order samples from far below their estimate to far above it.

        Side and signed `position`, as real and imaginary part, because NumPy compares the first
        and then the second: the signed position of `gt2lite.practice.distribution`.
        """
        return self.side + 1j * self.side * self.position

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
    columns = np.concatenate([(one.alpha, one.margin, one.side) for one in found], axis=1)
    return Scores(columns[0], columns[1], columns[2], found[0].alpha_min)


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

    The margin follows the width ``w(x)`` of the trained envelope. The power is the same for all
    levels, so that intervals of different levels are nested and can be calibrated like planes:
    the member alpha has half the usual width times ``kappa(alpha) * (w / usual) ** power`` on both
    sides of the output.

    Attributes:
        power: from 0, where the margin is the same everywhere, to 1, in proportion. With few rows
            the widths are estimated roughly, and a power below 1 relies on them less.
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
        lower, upper = self.ends(np.array([alpha]))[:, 0]
        return lower, upper

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


RANKED = ("exact", "conformal")
"""The methods that calibrate by rank."""

EQUAL_TAILS = (0.5, 0.5)
"""The lower and the upper bound may miss equally often."""

OPEN = Cut(math.nan, math.inf)
"""An infinite bound."""


def read_tails(tails: Any) -> tuple[Fraction, Fraction]:
    """Return the shares of the misses that may lie below and above, in exact arithmetic.

    >>> read_tails((0.2, 0.8))
    (Fraction(1, 5), Fraction(4, 5))
    """
    shares = [plain_fraction(share) for share in vector("tails", tails).tolist()]
    if len(shares) != 2 or sum(shares) != 1 or min(shares) < 0:
        raise ValueError(
            "tails must be two shares that add up to 1, of the misses below and above, such as "
            f"(0.2, 0.8), got {tails!r}"
        )
    return shares[0], shares[1]


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
        return OPEN
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


def tails_of(sides: str, tails: Any = None) -> Any:
    """Return the shares of the misses below and above; None for one plane for both bounds.

    >>> tails_of("upper"), tails_of("each"), tails_of("each", (0.2, 0.8)), tails_of("both")
    ((0.0, 1.0), (0.5, 0.5), (0.2, 0.8), None)
    """
    usual = {"both": None, "each": EQUAL_TAILS, "lower": (1.0, 0.0), "upper": (0.0, 1.0)}
    one_of("sides", sides, usual)
    if tails is not None and sides != "each":
        raise ValueError(f"tails must be None unless sides='each', got sides={sides!r}")
    return usual[sides] if tails is None else tails


# ------------------------------------------------------------------------------ calibration by rank

FEW_SAMPLES = 100

DEFAULT_COVERAGE = 0.9
"""The coverage of `predict_interval` if none is given."""


class SmallCalibrationWarning(UserWarning):
    """The calibration set, or a group of it, is so small that its coverage is known roughly."""


Label = str | int  # of a group
Labels = list[Label] | None  # the group of each sample, if there are groups
Cuts = tuple[Cut, Cut]  # of the lower and of the upper bound
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


class Calibration:
    """A calibration set turned into intervals at any level, by rank; base of all calibrators.

    It keeps where in the nested family each sample is first covered, for one set of samples or for
    several groups of them. Subclasses are dataclasses, and their fields are their options. A level
    that is out of reach raises a `CoverageError`; fewer than 100 samples get a
    `SmallCalibrationWarning`.
    """

    kind: ClassVar[str]  # names the class in a stored state
    by_group: ClassVar[bool] = False  # whether each group of samples has planes of its own
    method: str  # "exact" or "conformal"; "table" or "search" for those of the paper
    sides: str = "both"  # one cut for both bounds, or one for "each"
    tails: tuple[float, float] = EQUAL_TAILS  # of the misses, with sides="each"
    small_groups: str = "raise"  # or "pool", see `GroupCalibrator`
    _groups: dict[Label | None, IntArray]  # once `fit` is done: the samples of each group
    _scores: Scores  # of all samples

    def __post_init__(self) -> None:
        one_of("method", self.method, RANKED)
        one_of("sides", self.sides, ("both", "each"))
        one_of("small_groups", self.small_groups, ("raise", "pool"))
        below, above = read_tails(self.tails)
        self.tails = float(below), float(above)
        if self.sides == "both" and self.tails != EQUAL_TAILS:
            raise ValueError(f"tails must be {EQUAL_TAILS} if sides='both', got {self.tails}")

    def fit(self, interval: Interval, y: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Learn the relation of plane and coverage from a calibration set.

        Args:
            interval: the intervals of the Q calibration samples as a function of alpha.
            y: their targets (Q,).
            groups: the group of each (Q,), by name or number, for a `GroupCalibrator` only.
        """
        y = vector("y", y)
        labels = self._labels(groups, y.size)
        self._groups = {}  # a fit that fails leaves nothing half done
        self._learn(interval, y)
        self._groups = _rows_by_group(labels, y.size)
        small = [label for label, rows in self._groups.items() if len(rows) < FEW_SAMPLES]
        if small:
            what = f"only {y.size} calibration samples, fewer than {FEW_SAMPLES}"
            if self.by_group:
                what = (
                    f"{len(small)} of {len(self._groups)} groups have fewer than {FEW_SAMPLES} "
                    f"calibration samples: {self._named(small)}"
                )
            n = min(map(len, self._groups.values()))
            what += f": coverage is known in steps of 1/{n} = {1 / n:.2g}"
            warn(what, SmallCalibrationWarning)
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
        pairs = []
        for level in levels:
            table = np.array(self._cuts(level, labels))[rows]  # (2, 2): bounds, alpha and margin
            pairs.append((Cut(*table[..., 0, :].T), Cut(*table[..., 1, :].T)))  # or (N, 2, 2)
        lower, upper = cut_ends(interval, pairs)  # (L, N) each
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
        return self._of_cuts("alpha", coverage, group)

    def margin(self, coverage: Any, group: Label | None = None) -> Any:
        """Return the margin added to the lowest plane for a level, 0 if a plane covers enough.

        It has the units of the intervals; arguments and shapes are those of `alpha`.
        """
        return self._of_cuts("margin", coverage, group)

    def reached(self, coverage: float) -> float:
        """Return the share of the calibration set that the intervals for a level cover."""
        (label,), _ = self._places(None)
        return self._row(coverage, label).reached

    def coverage(self, alpha: float) -> float:
        """Return the share of the calibration set that the plane `alpha` covers."""
        cut = Cut(between("alpha", alpha, self.scores.alpha_min, 1, closed=True))
        return float(self.scores.covered(cut).mean())

    @property
    def max_coverage(self) -> float:
        """The coverage of the envelope, the plane alpha_0."""
        return self.coverage(ALPHA_0)

    def report(self, coverage: float) -> list[ReportRow]:
        """Return size, plane, margin and coverage at a level, one row for each group."""
        self._check_fitted()
        return [self._row(coverage, label) for label in self._groups]

    @property
    def n_samples(self) -> int:
        """The size Q of the calibration set."""
        self._check_fitted()
        return sum(map(len, self._groups.values()))

    @property
    def n_evaluations(self) -> int:
        """How often the system was evaluated on the whole calibration set so far."""
        self._check_fitted()
        return HALVINGS + 1  # once for all levels, whatever they are

    @property
    def scores(self) -> Scores:
        """Where in the nested family each sample is first covered."""
        self._check_fitted()
        return self._scores

    def sets_of(self, groups: ArrayLike | None) -> tuple[list[Scores], Any]:
        """Return the scores that new rows are compared with, and which of them each row has.

        One set of scores for all rows and the index 0; or one for each group, and indices (N,).
        """
        labels, rows = self._places(groups)
        return [self._of(label) for label in labels], rows

    def get_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return all that `restore` needs: values for a JSON header, and arrays."""
        self._check_fitted()
        meta = {"kind": self.kind, "options": asdict(self)}  # type: ignore[call-overload]
        arrays = self._arrays()
        if self.by_group:
            meta["labels"], arrays["group"] = list(self._groups), np.empty(self.n_samples)
            for i, rows in enumerate(self._groups.values()):
                arrays["group"][rows] = i
        return meta, arrays

    def _levels(self, coverage: Any) -> tuple[Sequence[Any], bool]:
        """Return levels as a sequence, and whether it was a single number."""
        if n_axes("coverage", coverage) == 0:
            return [coverage], True
        vector("coverage", coverage)
        return list(np.ravel(coverage)), False  # single precision, too: see `plain_fraction`

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
        self._check_fitted()
        labels = self._labels(groups)
        if labels is None:
            return [None], 0
        place = {label: i for i, label in enumerate(dict.fromkeys(labels))}
        if unseen := [repr(label) for label in place if label not in self._groups]:
            raise ValueError(
                f"groups must be among those of the calibration set, got {_few(unseen)}; "
                f"it has {_few(map(repr, self._groups))}"
            )
        return list(place), np.array([place[label] for label in labels])

    def _cuts(self, coverage: Any, labels: Sequence[Any]) -> list[Cuts]:
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

    def _of_cuts(self, name: str, coverage: Any, group: Label | None) -> Any:
        """Return "alpha" or "margin" of the cuts for levels, see `alpha`."""
        levels, single = self._levels(coverage)
        labels, _ = self._places(None if group is None else [group])
        found = [self._value(name, *self._cuts(level, labels)) for level in levels]
        return found[0] if single else np.array(found).T

    def _value(self, name: str, cuts: Cuts) -> Any:
        """Return "alpha" or "margin" of two cuts: a number if they are one, else (2,)."""
        lower, upper = (getattr(cut, name) for cut in cuts)
        return lower if self.sides == "both" else np.array([lower, upper])

    def _row(self, coverage: float, label: Label | None) -> ReportRow:
        n = len(self._groups[label])
        try:
            cuts, source = self._find(coverage, label)
        except CoverageError:
            if label is None:
                raise
            return ReportRow(label, n, "nothing", np.nan, np.nan, np.nan)
        alpha, margin = self._value("alpha", cuts), self._value("margin", cuts)
        return ReportRow(label, n, source, alpha, margin, self._reached(cuts, label))

    def _named(self, labels: Sequence[Label | None]) -> str:
        return _few(f"{label!r} ({len(self._groups[label])} samples)" for label in labels)

    def _check_fitted(self) -> None:
        if not getattr(self, "_groups", None):
            raise RuntimeError(f"{type(self).__name__} has no calibration set yet: call fit first")

    # what the paper's methods do in another way

    def _learn(self, interval: Interval, y: Array) -> None:
        """Learn from the samples of all groups."""
        self._scores = critical_scores(interval, y)

    def _of(self, label: Label | None) -> Scores:
        """Return the scores of a group, or of all samples for None."""
        return self._scores if label is None else self._scores.take(self._groups[label])

    def _find(self, coverage: Any, label: Label | None) -> tuple[Cuts, str]:
        """Return where both bounds of a group are cut, and on what that is `calibrated_on`."""
        options = coverage, self.method, self.sides, self.tails
        try:
            return find_cuts(self._of(label), *options), "all" if label is None else "group"
        except CoverageError as error:
            if label is None:
                raise
            if self.small_groups == "raise":
                raise CoverageError(
                    f'group {label!r} is too small: {error}, or set small_groups="pool"'
                ) from None
        return find_cuts(self._scores, *options), "pool"

    def _reached(self, cuts: Cuts, label: Label | None) -> float:
        """Return the share of the samples of a group that lie between two bounds."""
        return float(self._of(label).between(*cuts).mean())

    def _arrays(self) -> dict[str, Array]:
        """Return what was learned."""
        return self._scores.arrays()

    def _read(self, arrays: Arrays) -> int:
        """Undo `_arrays`, and return the number of samples."""
        self._scores = Scores.from_arrays(arrays)
        return len(self._scores)


@dataclass(eq=False)
class ExactCalibrator(Calibration):
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
class TwoSidedCalibrator(Calibration):
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


@dataclass(eq=False)
class GroupCalibrator(Calibration):
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
        return {label: len(rows) for label, rows in self._groups.items() if label is not None}


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
    labels = []
    for i, label in enumerate(array.tolist()):
        if isinstance(label, float) and label.is_integer():
            label = int(label)
        if not isinstance(label, (str, Integral)):
            raise ValueError(f"groups must hold names or whole numbers, got {label!r} at index {i}")
        labels.append(label)
    kinds = set(map(type, labels))
    if bool in kinds and not kinds <= {bool, str}:
        raise ValueError("groups must not mix True and False with numbers: True would be group 1")
    return [label if isinstance(label, str) else int(label) for label in labels]


def _rows_by_group(labels: Labels, n: int) -> dict[Label | None, IntArray]:
    """Return the rows of each group, numbers first; {None: all `n` rows} without groups."""
    if labels is None:
        return {None: np.arange(n)}
    names = sorted(set(labels), key=lambda label: (isinstance(label, str), label))
    rows: dict[Label, list[int]] = {name: [] for name in names}
    for i, label in enumerate(labels):
        rows[label].append(i)
    return {name: np.array(found) for name, found in rows.items()}


def _few(words: Iterable[str], shown: int = 5) -> str:
    """Return words as a list with commas, cut short if there are many."""
    words = list(words)
    more = f" and {len(words) - shown} more" if len(words) > shown else ""
    return ", ".join(words[:shown]) + more


# ------------------------------------------------------------------------------ the paper's methods

FINEST_STEP = 1e-3
"""The smallest distance of the planes in a table: a thousand of them."""


class _PlaneCalibrator(Calibration):
    """A calibrator that evaluates whole planes, each of them only once.

    A restored one has scores in place of the system and the samples, and counts those.
    """

    _interval: Interval | None  # of the calibration set; None if restored
    _y: Array
    _seen: dict[float, int]  # alpha: number of samples covered

    def coverage(self, alpha: float) -> float:
        """Return the share of the calibration set that the plane `alpha` covers."""
        self._check_fitted()
        alpha = between("alpha", alpha, ALPHA_0, 1, closed=True)
        if alpha not in self._seen:
            self._seen[alpha] = self._count(alpha)
        return self._seen[alpha] / self.n_samples

    @property
    def n_evaluations(self) -> int:
        """How many planes were evaluated so far; one that was seen before costs nothing."""
        self._check_fitted()
        return len(self._seen)

    def _learn(self, interval: Interval, y: Array) -> None:
        self._interval, self._y = interval, y.copy()
        self._seen = {alpha: self._count(alpha) for alpha in self._planes()}

    def _planes(self) -> list[float]:
        """Return the planes that `fit` evaluates."""
        return [ALPHA_0]

    def _count(self, alpha: float) -> int:
        """Return how many samples a plane covers."""
        if self._interval is not None:
            return int(covers(self._y, *self._interval(alpha)).sum())
        # scores are known to 2**-40 of kappa: a sample on the edge of the plane is inside
        cut = Cut(alpha_of(kappa_of(alpha) + 2.0 ** (1 - HALVINGS)))
        return int(self._scores.covered(cut).sum())

    def _find(self, coverage: Any, label: Label | None) -> tuple[Cuts, str]:
        cut = Cut(self._plane(self._level(coverage)))
        return (cut, cut), "all"

    def _reached(self, cuts: Cuts, label: Label | None) -> float:
        return self.coverage(float(cuts[0].alpha))

    def _level(self, coverage: Any) -> float:
        """Return the level if it is one, and in reach."""
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

    def _plane(self, level: float) -> float:
        """Return the plane for a level that is in reach."""
        raise NotImplementedError

    def _arrays(self) -> dict[str, Array]:
        if self._interval is None:
            scores = self._scores
        else:
            scores = critical_scores(self._interval, self._y, ALPHA_0)
        return {**scores.arrays(), "alpha": np.array(list(self._seen))}

    def _read(self, arrays: Arrays) -> int:
        n, seen = super()._read(arrays), vector("alpha", arrays["alpha"])
        if seen[0] != ALPHA_0 or not ((seen >= ALPHA_0) & (seen <= 1)).all():
            raise ValueError(f"alpha must hold planes from {ALPHA_0}, the first, to 1")
        self._interval = None
        self._seen = {alpha: self._count(alpha) for alpha in seen.tolist()}
        return n


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
        if self.interpolation == "pchip" and find_spec("scipy") is None:
            raise ImportError(
                'interpolation="pchip" needs SciPy, which is not installed: '
                'install it with "pip install scipy" or use interpolation="linear"'
            )

    @property
    def table(self) -> Array:
        """The pairs (coverage, alpha) in rising order of coverage, (planes, 2).

        Planes of equal coverage are one entry, with the largest alpha of them:
        the narrowest interval that does the same.
        """
        self._check_fitted()
        # alpha rises: the last wins
        pairs = {self.coverage(alpha): alpha for alpha in self._planes()}
        return np.array(sorted(pairs.items()))

    def _planes(self) -> list[float]:
        inner = (_tidy(k * self.step) for k in range(1, math.ceil(1 / self.step)))
        return [ALPHA_0, *(alpha for alpha in inner if ALPHA_0 < alpha < 1), 1.0]

    def _plane(self, level: float) -> float:
        phi, alpha = self.table.T
        if self.interpolation == "linear" or phi.size == 1:
            plane = np.interp(level, phi, alpha)
        else:
            from scipy.interpolate import PchipInterpolator

            plane = PchipInterpolator(phi, alpha)(np.clip(level, phi[0], phi[-1]))
        return float(np.clip(plane, ALPHA_0, 1))  # rounding must not leave the range


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
        level = self._level(coverage)
        # Deviation: Algorithm 4 never sets alpha* to alpha_init before it uses it; we do.
        alpha, step = self.start, self.step
        phi = self.coverage(alpha)
        path = [(alpha, phi)]
        # Deviation: as printed the loop ends only within the tolerance, which a step function
        # of Q samples may never reach. The authors' code also leaves it at a small step. So it
        # ends in any case: a move brings phi strictly nearer to the level, phi has at most Q + 1
        # values, and a step can be shrunk only so often.
        while abs(phi - level) >= self.tolerance and step >= self.min_step:
            sides = [_tidy(max(alpha - step, ALPHA_0)), _tidy(min(alpha + step, 1.0))]
            found = [(side, self.coverage(side)) for side in sides]
            nearest = min(found, key=lambda pair: abs(pair[1] - level))  # a tie goes down
            if abs(nearest[1] - level) < abs(phi - level):
                alpha, phi = nearest
                path.append(nearest)
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


# -------------------------------------------------------------------------------------- all of them

CALIBRATORS: dict[str, type[Calibration]] = {
    "table": TableCalibrator,
    "search": SearchCalibrator,
    "exact": ExactCalibrator,
    "conformal": ConformalCalibrator,
}
"""The calibrators by the name of their method."""


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
    options = dict(options)
    tails = tails_of(sides, options.pop("tails", None))
    if method not in RANKED and (tails is not None or grouped):
        what = "groups" if grouped else f"sides={sides!r}"
        raise ValueError(f'{what} needs method="exact" or "conformal", got method={method!r}')
    if tails is not None:
        options["tails"] = tails
    if grouped:
        return GroupCalibrator(method, "both" if tails is None else "each", **options)
    if tails is not None:
        return TwoSidedCalibrator(method, **options)
    return CALIBRATORS[method](**options)


def restore(meta: Meta, arrays: Arrays) -> Calibration:
    """Return the calibration that `get_state` described: `meta` are values, `arrays` arrays."""
    kinds = CALIBRATORS | {"two-sided": TwoSidedCalibrator, "group": GroupCalibrator}
    kind = one_of("kind", meta["kind"], kinds)
    try:
        found, labels = kinds[kind](**meta["options"]), None
        n = found._read(arrays)
        if found.by_group:
            names = read_groups(meta["labels"])
            labels = [names[int(code)] for code in vector("group", arrays["group"], n)]
        found._groups = _rows_by_group(labels, n)
        known, same = found.get_state()
        if meta != known | {"options": meta["options"]}:
            raise ValueError("unknown entries, or labels that do not rise or have no samples")
        if not all(np.array_equal(values, same[name]) for name, values in arrays.items()):
            raise ValueError("group must hold the places of groups in labels")
    except (IndexError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"not the state of a {kind} calibrator: {error}") from error
    return found
