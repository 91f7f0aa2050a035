"""Calibration by rank: exact, and with one rank more conformal; for both bounds or for each.

It goes on where the planes of the envelope end: see `gt2lite.calibration.family`. Groups of
samples are calibrated in `gt2lite.calibration.groups`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from numpy.typing import ArrayLike

from gt2lite._validation import Array, between, one_of, vector
from gt2lite.calibration.base import (
    Calibration,
    CoverageError,
    highest_level,
    plain_fraction,
    rank,
    refuse_groups,
)
from gt2lite.calibration.family import HALVINGS, Cut, Interval, Scores, critical_scores

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


def n_covered(scores: Scores, cuts: tuple[Cut, Cut]) -> int:
    """Return how many samples lie between a lower and an upper bound."""
    lower, upper = cuts
    return int((scores.lower.covered(lower) & scores.upper.covered(upper)).sum())


class RankedCalibration(Calibration):
    """A calibration that has for each sample where in the nested family it is first covered."""

    method: str  # "exact" or "conformal"
    tails: tuple[float, float] = EQUAL_TAILS  # of the misses, with sides="each"

    @property
    def scores(self) -> Scores:
        """Where in the nested family each sample is first covered."""
        self._check_fitted()
        return self._scores

    @property
    def n_evaluations(self) -> int:
        """How often the system was evaluated: once for all levels, whatever they are."""
        self._check_fitted()
        return HALVINGS + 1

    def _cuts(self, coverage: Any, group: str | int | None = None) -> tuple[Cut, Cut]:
        refuse_groups(group)
        return find_cuts(self.scores, coverage, self.method, self.sides, self.tails)

    def _n_covered(self, cuts: tuple[Cut, Cut]) -> int:
        return n_covered(self._scores, cuts)

    @property
    def _lowest(self) -> float:  # type: ignore[override]
        return self._scores.alpha_min

    def _learn(self, interval: Interval, y: Array) -> None:
        self._scores = critical_scores(interval, y)

    def _arrays(self) -> dict[str, Array]:
        return self._scores.arrays()

    def _restore(
        self, meta: Mapping[str, Any], arrays: Mapping[str, ArrayLike], interval: Interval | None
    ) -> int:
        self._scores = Scores.from_arrays(arrays)
        return len(self._scores)


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

    >>> import numpy as np
    >>> from gt2lite.memberships import kappa_of
    >>> y = np.linspace(-1, 1, 201)
    >>> def interval(alpha):  # the plane alpha reaches from -kappa to kappa
    ...     kappa = np.broadcast_to(kappa_of(alpha), y.shape)
    ...     return -kappa, kappa
    >>> exact = ExactCalibrator().fit(interval, y)
    >>> alpha = exact.alpha(0.9)  # 181 of the 201 lie within 0.9 of 0, and 0.01**0.81 = 0.024
    >>> round(alpha, 4), exact.coverage(alpha) == 181 / 201
    (0.024, True)
    >>> exact = ExactCalibrator().fit(interval, 2 * y)  # now the envelope covers half
    >>> exact.alpha(0.9), round(exact.margin(0.9), 4), exact.reached(0.9) == 181 / 201
    (nan, 0.8, True)
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

    >>> import numpy as np
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

    >>> import numpy as np
    >>> from gt2lite.calibration import MarginFamily
    >>> from gt2lite.memberships import kappa_of
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

    def __post_init__(self) -> None:
        one_of("method", self.method, RANKED)
        below, above = read_tails(self.tails)
        self.tails = float(below), float(above)
