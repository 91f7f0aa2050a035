"""Beyond the paper: calibration by rank, exact, and with one rank of caution guaranteed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from gt2lite._checks import Array, vector
from gt2lite.calibration.base import Calibrator, Interval, covers, rank
from gt2lite.memberships import ALPHA_0, alpha_of

HALVINGS = 40
"""Bisections for a critical plane: its kappa is known to 2**-40, below 1e-12."""


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
