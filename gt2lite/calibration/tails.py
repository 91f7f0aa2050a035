r"""Calibration by rank where the two ends are not wrong equally often: unequal tails, one side.

`TwoSidedCalibrator` gives either end half of the misses that a level allows. Here the halves
may be any two shares. A share of 0 leaves that end open: the interval is one-sided.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from numpy.typing import ArrayLike

from gt2lite._validation import between, vector
from gt2lite.calibration.base import (
    CoverageError,
    highest_level,
    plain_fraction,
    refuse_groups,
)
from gt2lite.calibration.family import Cut, Scores
from gt2lite.calibration.groups import GroupCalibrator, Label
from gt2lite.calibration.ranked import TwoSidedCalibrator

ONE_SIDE = {"lower": (1.0, 0.0), "upper": (0.0, 1.0)}
"""The tails of intervals with a lower, or an upper, end only."""

OPEN = Cut(math.nan, math.inf)
"""Where an end is cut that there is none of: past everything."""


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


def find_tails(scores: Scores, coverage: Any, method: str, tails: Any) -> tuple[Cut, Cut]:
    r"""Return where the lower and upper ends are cut for a level, from the scores of Q samples.

    With a share of :math:`\tau` of the misses an end shall be right with probability
    :math:`p = 1 - \tau (1 - \phi)`. It is cut at the k-th of its own scores, where k is
    :math:`Q p` for "exact" and :math:`(Q + 1) p` for "conformal", rounded up in exact arithmetic.

    Args:
        scores: where each sample is first covered.
        coverage: the level.
        method: "exact" or "conformal".
        tails: the shares of the misses below and above, see `read_tails`.
    """
    n, phi = len(scores), plain_fraction(between("coverage", coverage, 0, 1))
    cuts = []
    for share, own in zip(read_tails(tails), (scores.lower, scores.upper), strict=True):
        miss = share * (1 - phi)
        k = math.ceil((n + (method == "conformal")) * (1 - miss))
        if share and k > n:
            raise CoverageError(_too_few(n, float(phi), share, miss))
        cuts.append(own.cut(k) if share else OPEN)
    lower, upper = cuts
    return lower, upper


def _too_few(n: int, phi: float, share: Fraction, miss: Fraction) -> str:
    most = 1 - 1 / (share * (n + 1))
    levels = f"levels up to {highest_level(most.numerator, most.denominator)}"
    told = f"coverage {phi} is out of reach: {n} calibration samples answer "
    told += levels if most > 0 else "no level"
    if share < 1:
        told += f" where one end may have {float(share):g} of the misses"
    return f"{told}; use a lower level or calibrate with at least {math.ceil(1 / miss) - 1} samples"


@dataclass(eq=False)
class TailCalibrator(TwoSidedCalibrator):
    r"""Calibration by rank in which the lower and the upper end share the misses unequally.

    With "conformal" a new target lies below the lower end with probability of at most
    :math:`\tau_1 (1 - \phi)`, and above the upper end with at most :math:`\tau_2 (1 - \phi)`, where
    the tails :math:`\tau_1 + \tau_2 = 1`. Hence it lies inside with at least :math:`\phi`. With
    tails of (1, 0) all misses lie below: the interval reaches from the lower end to infinity,
    and the rank is that of one end for the whole level.

    An end stops at the type-1 output, as it does with equal tails. Hence a lower end with a
    level below the share of targets above the output covers more than that level.

    Args:
        method: "exact" or "conformal".
        tails: shares of the misses that may lie below and above; they add up to 1.

    >>> import numpy as np
    >>> from gt2lite.memberships import kappa_of
    >>> y = np.linspace(-1, 1, 201)
    >>> def interval(alpha):  # the plane alpha reaches from -kappa to kappa
    ...     kappa = np.broadcast_to(kappa_of(alpha), y.shape)
    ...     return -kappa, kappa
    >>> lower, upper = TailCalibrator("exact", (1, 0)).fit(interval, y).intervals(interval, 0.9)
    >>> int((y < lower).sum()), float(upper[0])  # a tenth of 201 is left out below, none above
    (20, inf)
    """

    tails: tuple[float, float] = (0.5, 0.5)

    def __post_init__(self) -> None:
        super().__post_init__()
        below, above = read_tails(self.tails)
        self.tails = float(below), float(above)

    @classmethod
    def _label(cls) -> dict[str, str]:
        return {"kind": "tails"}

    @classmethod
    def _name(cls) -> str:
        return "tail calibrator"

    def _cuts(self, coverage: Any, groups: ArrayLike | None) -> tuple[Cut, Cut]:
        refuse_groups(groups)
        return find_tails(self.scores, coverage, self.method, self.tails)


@dataclass(eq=False)
class GroupTailCalibrator(GroupCalibrator):
    """Unequal tails, or one side, within each group; see `TailCalibrator` and `GroupCalibrator`.

    >>> import numpy as np
    >>> y = np.append(np.linspace(-1, 1, 201), np.linspace(-0.5, 0.5, 101))
    >>> def interval(alpha):  # the same for all planes: only margins cover
    ...     return np.zeros(302), np.zeros(302)
    >>> upper = GroupTailCalibrator("exact", tails=(0, 1))
    >>> upper = upper.fit(interval, y, ["wild"] * 201 + ["calm"] * 101)
    >>> [(row.group, row.margin.round(2).tolist()) for row in upper.report(0.9)]
    [('calm', [inf, 0.4]), ('wild', [inf, 0.8])]
    """

    sides: str = "each"
    tails: tuple[float, float] = (0.5, 0.5)

    _kind: ClassVar[str] = "group tails"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.sides != "each":
            raise ValueError(f"sides must be 'each' where tails are given, got {self.sides!r}")
        below, above = read_tails(self.tails)
        self.tails = float(below), float(above)

    def get_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return all that `from_state` needs: values for a JSON header, and arrays."""
        meta, arrays = super().get_state()
        return meta | {"kind": self._kind}, arrays

    @classmethod
    def _name(cls) -> str:
        return "group tail calibrator"

    def _find(self, coverage: Any, label: Label) -> tuple[tuple[Cut, Cut], str]:
        """Return the cuts of a group at a level, and whether they are its own or the pool's."""
        try:
            own = find_tails(self._by_group[label], coverage, self.method, self.tails)
        except CoverageError as error:
            if self.small_groups == "raise":
                raise CoverageError(
                    f'group {label!r} is too small: {error}, or take small_groups="pool"'
                ) from None
            return find_tails(self._scores, coverage, self.method, self.tails), "pool"
        return own, "group"
