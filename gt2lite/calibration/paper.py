"""The paper's two methods: a table of planes, and a search among them."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gt2lite._validation import Array, between, one_of, vector
from gt2lite.calibration.base import (
    Calibration,
    CoverageError,
    highest_level,
    rank,
    refuse_groups,
)
from gt2lite.calibration.family import Cut, Interval
from gt2lite.memberships import ALPHA_0
from gt2lite.metrics import covers

FINEST_STEP = 1e-3
"""The smallest distance of the planes in a table: a thousand of them."""


class _PlaneCalibrator(Calibration):
    """A calibrator that evaluates whole planes, each of them only once."""

    def _learn(self, interval: Interval, y: Array) -> None:
        self.interval = interval
        self._y = y.copy()
        self._seen: dict[float, int] = {}  # alpha: number of samples covered
        self._count(ALPHA_0)

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

    def _n_covered(self, cuts: tuple[Cut, Cut]) -> int:
        return self._count(float(cuts[0].alpha))

    def _phi(self, alpha: float) -> float:
        return self._count(alpha) / self._y.size

    def _cuts(self, coverage: Any, group: str | int | None = None) -> tuple[Cut, Cut]:
        refuse_groups(group)
        cut = Cut(self._plane(self._level(coverage)))
        return cut, cut

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

    def _arrays(self) -> dict[str, Array]:
        seen = np.array(list(self._seen.items()), dtype=float)  # (planes, 2)
        return {"y": self._y, "alpha": seen[:, 0], "n_covered": seen[:, 1]}

    def _restore(
        self, meta: Mapping[str, Any], arrays: Mapping[str, ArrayLike], interval: Interval | None
    ) -> int:
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
        return self._y.size


@dataclass(eq=False)
class TableCalibrator(_PlaneCalibrator):
    """Method 1, Algorithm 3: tabulate coverage against alpha, and interpolate.

    A level below the coverage of the narrowest plane gets that plane, alpha 1.

    Args:
        step: distance of the planes: alpha_0, step, 2 * step, ..., 1.
        interpolation: "linear", or "pchip" for a monotone cubic (needs SciPy).

    >>> from gt2lite.calibration import MarginFamily
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

    def _learn(self, interval: Interval, y: Array) -> None:
        if self.interpolation == "pchip":
            _pchip()  # fail now rather than at the first level
        super()._learn(interval, y)
        for alpha in self._planes():
            self._count(alpha)

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

    >>> from gt2lite.calibration import MarginFamily
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
