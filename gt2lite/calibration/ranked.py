"""Beyond the paper: calibration by rank, exact, and with one rank of caution guaranteed.

It goes on where the planes of the envelope end: see `gt2lite.calibration.family`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from gt2lite._validation import Array, between, n_axes, one_of, vector
from gt2lite.calibration.base import (
    Calibration,
    Calibrator,
    CoverageError,
    PooledCalibration,
    highest_level,
    plain_fraction,
    refuse_groups,
)
from gt2lite.calibration.family import HALVINGS, Cut, Interval, Scores, critical_scores

RANKED = ("exact", "conformal")
"""The methods that calibrate by rank."""

SIDES = ("both", "each")
"""One plane for both ends of an interval, or one for each."""


def find_cuts(scores: Scores, coverage: Any, method: str, sides: str = "both") -> tuple[Cut, Cut]:
    """Return where the lower and upper ends are cut for a level, from the scores of Q samples.

    The k-th smallest score covers k samples. An end, or both together, shall be right with
    probability p: k is ``Q * p`` for "exact" and ``(Q + 1) * p`` for "conformal", rounded up
    in exact arithmetic. For both together p is the level; each alone may be wrong half
    as often, so that p is ``(1 + coverage) / 2``.
    """
    n, phi = len(scores), between("coverage", coverage, 0, 1)
    each = sides == "each"
    share = (1 + plain_fraction(phi)) / 2 if each else plain_fraction(phi)
    k = math.ceil((n + (method == "conformal")) * share)
    if k > n:
        needed = math.ceil(1 / (1 - share)) - 1
        raise CoverageError(
            f"coverage {phi} is out of reach: {n} calibration samples answer levels up to "
            f"{highest_level(n - each, n + 1)}{' for each side' if each else ''}; use a lower "
            f"level or calibrate with at least {needed} samples"
        )
    return (scores.lower.cut(k), scores.upper.cut(k)) if each else (scores.cut(k),) * 2


def n_covered(scores: Scores, cuts: tuple[Cut, Cut]) -> int:
    """Return how many samples lie between a lower end and an upper end."""
    lower, upper = cuts
    return int((scores.lower.covered(lower) & scores.upper.covered(upper)).sum())


class RankedCalibration(Calibration):
    """A calibration that knows of each sample where in the nested family it is first covered."""

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

    def _learn(self, interval: Interval, y: Array) -> None:
        self._scores = critical_scores(interval, y)

    def _arrays(self) -> dict[str, Array]:
        return self._scores.arrays()

    def _restore(self, arrays: Mapping[str, ArrayLike], interval: Interval | None) -> int:
        self._scores = Scores.from_arrays(arrays)
        return len(self._scores)


@dataclass(eq=False)
class ExactCalibrator(RankedCalibration, Calibrator):
    r"""Calibration by rank: no table, no step, no search.

    Sample i lies in every interval from its critical plane alpha_i downwards. Hence
    the coverage of a plane is a rank, and so is its inverse:

    .. math::
        \phi(\alpha) = \frac{1}{Q} \#\{i : \alpha_i \ge \alpha\}, \qquad
        \alpha(\phi) = \text{the } \lceil Q \phi \rceil\text{-th largest } \alpha_i,

    the narrowest plane that covers at least the level. Where the envelope covers too few,
    the planes go on below alpha_0 as far as the system has them, and then with a `margin`.

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

    method: ClassVar[str] = "exact"

    @property
    def critical_alpha(self) -> Array:
        """The plane (Q,) that just covers each sample; 0 where none does."""
        return self.scores.alpha.copy()

    def reached(self, coverage: float) -> float:
        """Return the coverage that the interval chosen for a level really has."""
        return n_covered(self.scores, self._cuts(coverage, None)) / self.n_samples

    @property
    def _lowest(self) -> float:
        return self._scores.alpha_min

    def _n_covered(self, alpha: float) -> int:
        return int(self._scores.covered(Cut(alpha)).sum())

    def _level(self, coverage: Any) -> float:
        find_cuts(self.scores, coverage, self.method)
        return float(coverage)

    def _cut(self, level: float) -> Cut:
        return find_cuts(self._scores, level, self.method)[0]


@dataclass(eq=False)
class ConformalCalibrator(ExactCalibrator):
    r"""Exact calibration with a guarantee for new data (nested split-conformal prediction).

    .. math:: \alpha(\phi) = \text{the } \lceil (Q+1) \phi \rceil\text{-th largest } \alpha_i

    If the calibration samples and a new one are exchangeable, and nothing was
    chosen on the calibration set, the interval of this plane covers the new
    target with probability of at least phi, whatever the distribution. The same holds
    beyond the planes, where a `margin` is added: levels up to Q / (Q + 1) have an answer.

    >>> y = np.arange(1.0, 200.0)  # 199 samples: the plane y / 200 is the last to cover y
    >>> def interval(alpha):
    ...     return np.zeros(199), np.where(y / 200 >= alpha, y, 0.0)
    >>> conformal = ConformalCalibrator().fit(interval, y)
    >>> round(conformal.alpha(0.07), 6)  # the 14th largest, though 200 * 0.07 is a little more
    0.93
    """

    method: ClassVar[str] = "conformal"


@dataclass(eq=False)
class TwoSidedCalibrator(RankedCalibration, PooledCalibration):
    r"""Calibration by rank with a plane of its own for each end.

    The lower end is cut where it lies at or below the target for a share of
    :math:`(1 + \phi) / 2` of the samples, the upper end likewise. With "conformal" a new
    target lies below the lower end with probability of at most :math:`(1 - \phi) / 2`, and
    above the upper end with no more; hence inside with at least :math:`\phi`.

    Every plane contains the plane alpha = 1, the type-1 output, so that the ends cannot
    cross. That is also where an end stops: if fewer than :math:`(1 - \phi) / 2` of the targets
    lie beyond the output itself, no end leaves out as many. Coverage is pushed up by that,
    never down.

    Args:
        method: "exact" or "conformal".

    >>> from gt2lite.memberships import kappa_of
    >>> y = np.linspace(-1, 0.5, 151)
    >>> def interval(alpha):  # the plane alpha reaches from -kappa to kappa
    ...     kappa = np.broadcast_to(kappa_of(alpha), y.shape)
    ...     return -kappa, kappa
    >>> two = TwoSidedCalibrator("exact").fit(interval, y)
    >>> kappa_of(two.alpha(0.8)).round(4)  # a tenth is left out at either end
    array([0.85, 0.35])
    """

    method: str = "conformal"

    def __post_init__(self) -> None:
        one_of("method", self.method, RANKED)

    def alpha(self, coverage: float | Sequence[float] | Array) -> Array:
        """Return the planes of the lower and upper end: (2,), or (2, L) for L levels.

        NaN where no plane suffices and the lowest one gets a `margin`.
        """
        return self._pairs(coverage, 0)

    def margin(self, coverage: float | Sequence[float] | Array) -> Array:
        """Return what is added to the lowest plane, below and above: (2,) or (2, L)."""
        return self._pairs(coverage, 1)

    def reached(self, coverage: float) -> float:
        """Return the coverage that the interval chosen for a level really has."""
        return n_covered(self.scores, self._cuts(coverage, None)) / self.n_samples

    @classmethod
    def _label(cls) -> dict[str, str]:
        return {"kind": "two-sided"}

    @classmethod
    def _name(cls) -> str:
        return "two-sided calibrator"

    def _pairs(self, coverage: float | Sequence[float] | Array, part: int) -> Array:
        levels = [coverage] if n_axes("coverage", coverage) == 0 else vector("coverage", coverage)
        pairs = np.array([[cut[part] for cut in self._cuts(c, None)] for c in levels]).T  # (2, L)
        return pairs[:, 0] if n_axes("coverage", coverage) == 0 else pairs

    def _cuts(self, coverage: Any, groups: ArrayLike | None) -> tuple[Cut, Cut]:
        refuse_groups(groups)
        return find_cuts(self.scores, coverage, self.method, "each")
