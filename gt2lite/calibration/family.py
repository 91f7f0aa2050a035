r"""Nested families of intervals: their members, and the first member that covers a sample.

A family goes outward in three stages, each of which contains the one before:

1. the planes from alpha = 1 to alpha_0 = 0.01, the envelope that was trained;
2. the planes beyond it, down to the lowest that the system has, `alpha_min`;
3. that lowest plane with a margin of any size on both ends. It is added and not
   multiplied, because a width can be 0.

A `Cut` is one member of the family. The `Scores` of samples are the cuts at which each of
them is first covered: all that calibration by rank needs to know.

Planes are one such family. `Margins` make another from an estimate and the width of the envelope.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gt2lite._validation import Array, between, vector
from gt2lite.memberships import ALPHA_0, alpha_of, kappa_of
from gt2lite.reduction import nest

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


def lowest_plane(interval: Interval) -> float:
    """Return the plane at which the planes of a family end: its `alpha_min`, else alpha_0."""
    return float(getattr(interval, "alpha_min", ALPHA_0))


def cut_ends(interval: Interval, cuts: Sequence[tuple[Cut, Cut]]) -> Array:
    """Return the ends (2, L, N) of L intervals, each given by the cuts of its two ends."""
    lowest = lowest_plane(interval)
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

    def arrays(self) -> dict[str, Array]:
        """Return the scores as arrays to be stored."""
        return {
            "critical_alpha": self.alpha,
            "margin": self.margin,
            "side": self.side,
            "alpha_min": np.array([self.alpha_min]),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, ArrayLike]) -> Self:
        """Return the scores that `arrays` described."""
        alpha = vector("critical_alpha", arrays["critical_alpha"])
        margin = vector("margin", arrays["margin"], alpha.size)
        side = vector("side", arrays["side"], alpha.size)
        (lowest,) = vector("alpha_min", arrays["alpha_min"], 1)
        between("alpha_min", lowest, np.finfo(float).tiny, ALPHA_0, closed=True)
        planes = ((alpha == 0) | (alpha >= lowest)) & (alpha <= 1)
        margins = (margin >= 0) & ((margin == 0) | (alpha == 0))
        if not (planes & margins & np.isin(side, (-1, 0, 1))).all():
            raise ValueError("critical_alpha, margin and side are no scores")
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

    >>> y = np.array([0.0, 0.5, -1.0, 2.0])
    >>> def interval(alpha):  # the plane alpha reaches from -kappa to kappa
    ...     kappa = np.broadcast_to(kappa_of(alpha), y.shape)
    ...     return -kappa, kappa
    >>> scores = critical_scores(interval, y)
    >>> scores.alpha.round(4), scores.margin.round(4)
    (array([1.    , 0.3162, 0.01  , 0.    ]), array([0., 0., 0., 1.]))
    """
    y, lowest = vector("y", y), lowest_plane(interval) if lowest is None else lowest
    parts: Callable[[], Iterable[tuple[slice, Interval]]] | None = getattr(interval, "parts", None)
    if parts is None:
        return _bisect(interval, y, lowest)
    # memberships, which all planes share, are computed once for each stretch
    found = [_bisect(part, y[rows], lowest) for rows, part in parts()]
    alpha, margin, side = (
        np.concatenate([getattr(scores, name) for scores in found])
        for name in ("alpha", "margin", "side")
    )
    return Scores(alpha, margin, side, lowest)


def critical_alpha(interval: Interval, y: ArrayLike) -> Array:
    """Return the narrowest plane of the envelope that covers each sample: its largest alpha.

    These are `critical_scores` without the planes beyond alpha_0.

    Args:
        interval: a nested family of intervals, of Q samples.
        y: targets (Q,).

    Returns:
        (Q,), 1 where even the narrowest plane covers the sample and 0, the
        limit of alpha for an endless kappa, where the plane alpha_0 does not.

    >>> interval = MarginFamily(np.zeros(4), np.ones(4))
    >>> critical_alpha(interval, [0.0, 0.5, -1.0, 2.0]).round(4)
    array([1.    , 0.3162, 0.01  , 0.    ])
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

    def __call__(self, alpha: float | Array) -> tuple[Array, Array]:
        """Return lower and upper ends (N,) of one member, or of one for each row (N,)."""
        margin = np.asarray(kappa_of(alpha)) * self.half
        return self.centre - margin, self.centre + margin

    def ends(self, alphas: Sequence[float] | Array) -> Array:
        """Return the ends (2, K, N) of the members `alphas` (K,), or (K, N) if rows differ."""
        kappa = np.asarray(kappa_of(np.asarray(alphas, dtype=float)))
        margin = (kappa[:, None] if kappa.ndim == 1 else kappa) * self.half
        return np.stack([self.centre - margin, self.centre + margin])
