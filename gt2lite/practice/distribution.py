r"""Predictive distributions and their quantiles, with the guarantee of a conformal calibration.

The bounds of a nested family, lower ones reversed, form one signed family: :math:`B_t(x)` is the
upper bound of the member :math:`t \ge 0`, and the lower bound of the member :math:`-t` for
:math:`t < 0`. It rises with t through the point alpha = 1. The signed position of a target,
:math:`t(x, y) = \inf\{t : y \le B_t(x)\}`, rises with y, so the family at the signed positions of
Q calibration samples is a split conformal predictive system (Vovk et al. 2019, 2020).

`gt2lite.calibration.Scores` holds plane, margin and side of each calibration sample, which is its
signed position: any calibration by rank can answer, whatever its `sides`, and a loaded one, too.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gt2lite._validation import Array, between, n_axes, vector, warn, whole
from gt2lite.calibration import (
    HALVINGS,
    Cut,
    Scores,
    SmallCalibrationWarning,
    critical_scores,
    cut_ends,
    highest_level,
    plain_fraction,
    rank,
)
from gt2lite.datasets import Scaler
from gt2lite.memberships import alpha_of, kappa_of
from gt2lite.practice.calibrators import RANKED, Calibration, read_groups
from gt2lite.practice.types import Groups

if TYPE_CHECKING:
    from matplotlib.axes import Axes

POINTS = 199
"""The largest number of points that stand for a distribution in samples, mean and CRPS."""

HALF = Fraction(1, 2)


def signed_cuts(scores: Scores, ranks: Sequence[int], levels: Sequence[Fraction]) -> Array:
    """Return the members of the signed family at some ranks of the signed positions, (L, 3).

    Each is a plane (NaN for the lowest), a margin, and 1 for its upper or 0 for its lower bound.
    A target is known to lie between two members of the family, 2**-40 of its extent apart. From
    the median up the upper one is returned, else the lower one, so that rounding and ties only
    move quantiles outward. Ranks below 1 and above Q give the infinite members.

    Args:
        scores: those of Q calibration samples.
        ranks: from below.
        levels: the quantiles that the ranks stand for.
    """
    rising = np.argsort(scores.keys)
    step = kappa_of(scores.alpha_min) * 2.0 ** (2 - HALVINGS)
    cuts = []
    for k, q in zip(ranks, levels, strict=True):
        if not 1 <= k <= len(scores):
            cuts.append((math.nan, math.inf, k > 0))
            continue
        i, high = rising[k - 1], q >= HALF
        alpha, margin, side = (float(v[i]) for v in (scores.alpha, scores.margin, scores.side))
        if side and high != (side > 0):  # the stored member lies on the other side of the target
            if alpha > 0:
                inner = alpha_of(max(kappa_of(alpha) - step, 0.0)) * (1 + 2.0**-50)
                alpha = min(max(inner, alpha), 1.0)
            else:  # margins are known to 2**-40 of the largest target, which is not stored
                margin = max(margin - float(scores.margin.max()) * 2.0**-30, 0.0)
        cuts.append((alpha or math.nan, margin, side > 0 if side else high))
    return np.array(cuts)


def quantile_rank(q: Fraction, n: int, method: str) -> int:
    """Return the rank among `n` signed positions that stands for a quantile.

    With "conformal" it is ceil((n + 1) q) from the median up and floor((n + 1) q) below it:
    quantiles err outward. Rank 0 and n + 1 are out of reach.

    >>> [quantile_rank(Fraction(p, 100), 99, "conformal") for p in (1, 50, 95)]
    [1, 50, 95]
    >>> quantile_rank(Fraction(1, 3), 10, "conformal"), quantile_rank(Fraction(2, 3), 10, "exact")
    (3, 7)
    """
    m = n + (method == "conformal")
    return rank(q, m) if q >= HALF else n + 1 - rank(1 - q, m)


class Distribution:
    """The predictive distributions of N rows; see `GT2Regressor.predict_distribution`.

    `quantile` and `cdf` use all calibration samples and carry their guarantee. `sample`, `mean`,
    `crps` and `plot` use `points`, which are finite.
    """

    def __init__(
        self, calibrator: Calibration, interval: Any, scaler: Scaler, groups: Groups = None
    ) -> None:
        if calibrator.method not in RANKED:
            raise ValueError(
                "quantiles and distributions need a calibration by rank, got "
                f"method={calibrator.method!r}: "
                'call calibrate(X_cal, y_cal) with method="conformal" or method="exact"'
            )
        self.calibrator, self.interval, self.scaler = calibrator, interval, scaler
        self.shift: Array = np.zeros(1)  # of an IntervalHead: what the base says
        self._groups = groups
        self._sets, self._which = calibrator.sets_of(groups)
        self._points: Array | None = None

    def __len__(self) -> int:
        return len(self.interval)

    def shifted(self, shift: Array) -> Distribution:
        """Return the distributions of targets that are larger by `shift` (N,)."""
        new = copy.copy(self)
        new.shift, new._points = self.shift + shift, None
        return new

    def quantile(self, q: float | Sequence[float] | Array) -> Array:
        """Return quantiles (N,) for a number in (0, 1), or (N, L) for L of them.

        The quantiles of a row never cross. One that the number Q of calibration samples does not
        reach, below 1 / (Q + 1) or above Q / (Q + 1), is infinite, and a `SmallCalibrationWarning`
        says so. With ``small_groups="pool"`` a group that does not reach all of them takes all of
        them from the pool, also with a warning: quantiles of different calls may cross then.
        """
        single = n_axes("quantiles", q) == 0
        given: Any = [q] if single else q
        levels = [between("quantiles", level, 0, 1) for level in given]
        if not levels:
            raise ValueError("quantiles must not be empty: pass a number in (0, 1), or several")
        exact = [plain_fraction(level) for level in levels]
        sets = self._sets
        found = [self._quantile_cuts(exact, scores) for scores in sets]
        is_open = np.isinf(np.array(found)[..., 1])  # (sets of scores, L)
        if self.calibrator.small_groups == "pool" and is_open.any():
            self._warn_of_pool(levels, is_open)
            pool, small = self.calibrator.scores, map(any, is_open)
            sets = [pool if one else scores for one, scores in zip(small, sets, strict=True)]
            found = [self._quantile_cuts(exact, scores) for scores in sets]
            is_open = np.isinf(np.array(found)[..., 1])
        if is_open.any():
            n = min(map(len, sets))
            warn(
                f"quantiles {_named(levels, is_open)} are out of reach and "
                f"infinite: {n} calibration samples answer quantiles from "
                f"{1 - highest_level(n, n + 1):.4g} to {highest_level(n, n + 1):g}",
                SmallCalibrationWarning,
            )
        bounds = self._bounds(np.stack(found, axis=1))
        return bounds[:, 0] if single else bounds

    def cdf(self, y: ArrayLike) -> Array:
        """Return the distribution functions (N,) at `y`, a number or one for each row (N,).

        With L smaller signed positions among those of the Q calibration samples, and E equal ones,
        it is (L + (E + 1) / 2) / (Q + 1). At the target of a new row it is uniform, up to
        1 / (Q + 1).
        """
        y = vector("y", np.broadcast_to(y, len(self)) if n_axes("y", y) == 0 else y, len(self))
        lowest = self.scaler.inverse_bounds(np.array(-np.inf))  # of a log target: 0
        inside = y > lowest
        new = self.scores(np.where(inside, y, self.scaler.inverse_y(0.0)))
        found, which = np.empty(len(y)), np.broadcast_to(self._which, len(y))
        for g, scores in enumerate(self._sets):
            rows = which == g
            known, asked = np.sort(scores.keys), new.take(rows).keys
            less, up_to = (np.searchsorted(known, asked, side) for side in ("left", "right"))
            found[rows] = (less + up_to + 1) / (2 * (len(scores) + 1))
        return np.where(inside, found, 0.0)

    def scores(self, y: Array) -> Scores:
        """Return where in its family each target (N,) is first covered."""
        return critical_scores(self.interval, self.scaler.transform_y(y - self.shift))

    @property
    def points(self) -> Array:
        """Points (N, K) of mass 1 / K: the signed family at the calibration samples, rising.

        K is the number of calibration samples, at most 199: of more, 199 evenly spaced ones; of
        groups, the largest decides.
        """
        if self._points is None:
            K = min(max(map(len, self._sets)), POINTS)
            levels = [Fraction(2 * j + 1, 2 * K) for j in range(K)]
            cuts = [signed_cuts(s, [rank(q, len(s)) for q in levels], levels) for s in self._sets]
            self._points = self._bounds(np.stack(cuts, axis=1))
        return self._points

    @property
    def mean(self) -> Array:
        """The means (N,)."""
        return self.points.mean(axis=1)

    def sample(self, rng: np.random.Generator, size: int | None = None) -> Array:
        """Return one draw (N,) from each distribution, or `size` of them (N, size)."""
        n = 1 if size is None else whole("size", size)
        drawn = rng.integers(self.points.shape[1], size=(len(self), n))
        found = np.take_along_axis(self.points, drawn, axis=1)
        return found[:, 0] if size is None else found

    def crps(self, y: ArrayLike) -> Array:
        r"""Return the continuous ranked probability score (N,) of targets (N,); small is good.

        .. math:: \int (F(z) - 1\{y \le z\})^2\,dz = E|Z - y| - \tfrac{1}{2} E|Z - Z'|
        """
        y, K = vector("y", y, len(self)), self.points.shape[1]
        weights = (2 * np.arange(1, K + 1) - K - 1) / K**2
        return np.abs(self.points - y[:, None]).mean(axis=1) - self.points @ weights

    def plot(self, ax: Axes, row: int = 0, **style: Any) -> Axes:
        """Draw the distribution function of a row; `style` is for `ax.step`."""
        points = self.points[whole("row", row, 0, len(self) - 1)]
        heights = np.arange(1, points.size + 1) / points.size
        ax.step(points, heights, where="post", **style)
        return ax

    def _quantile_cuts(self, levels: Sequence[Fraction], scores: Scores) -> Array:
        method = self.calibrator.method
        ranks = [quantile_rank(q, len(scores), method) for q in levels]
        return signed_cuts(scores, ranks, levels)

    def _warn_of_pool(self, levels: Sequence[float], is_open: NDArray[np.bool_]) -> None:
        """Warn of groups that take their quantiles from the pool; `is_open` is (groups, L)."""
        sizes = zip(dict.fromkeys(read_groups(self._groups)), map(len, self._sets), strict=True)
        small = [
            f"{label!r} ({n} samples)"
            for (label, n), few in zip(sizes, map(any, is_open), strict=True)
            if few
        ]
        shown = ", ".join(small[:5]) + (f" and {len(small) - 5} more" if len(small) > 5 else "")
        warn(
            f"quantiles {_named(levels, is_open)} are out of reach of groups {shown}: all "
            f"quantiles of their rows are those of all {self.calibrator.n_samples} calibration "
            "samples, which keep their level on average over all groups and guarantee nothing for "
            "these",
            SmallCalibrationWarning,
        )

    def _bounds(self, cuts: Array) -> Array:
        """Return the bounds (N, L) of members (L, sets of scores, 3), in units of y."""
        table = cuts[:, self._which]  # (L, 3), or (L, N, 3) with groups
        pairs = [(Cut(one[..., 0], one[..., 1]),) * 2 for one in table]
        lower, upper = cut_ends(self.interval, pairs)  # (L, N) each
        is_upper = table[..., 2].reshape(len(table), -1) > 0
        bounds = self.scaler.inverse_bounds(np.where(is_upper, upper, lower))
        return bounds.T + self.shift[:, None]


def _named(levels: Sequence[float], is_open: NDArray[np.bool_]) -> str:
    """Return the levels (L,) that some set of scores does not reach, (sets, L), with commas."""
    open_levels = (q for q, missed in zip(levels, map(any, is_open.T), strict=True) if missed)
    return ", ".join(f"{q:g}" for q in open_levels)
