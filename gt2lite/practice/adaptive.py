r"""Prediction intervals for rows in time order, by adaptive conformal inference.

The guarantee of a calibration needs exchangeable rows; a time series with drift has none. Adaptive
conformal inference (Gibbs and Candès 2021) asks a calibrated estimator for a higher level after a
miss and for a lower one after a hit:

.. math:: \phi_{t+1} = \phi_t + \gamma\,(\mathrm{miss}_t - (1 - \phi))

For every sequence of rows, in any order, the share of misses among the first T rows then differs
from :math:`1 - \phi` by at most :math:`(\max(\phi, 1 - \phi) + \gamma) / (\gamma T)`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from gt2lite._validation import Array, between, whole
from gt2lite.calibration import CoverageError, Cut, cut_ends, join_scores
from gt2lite.practice.calibrators import DEFAULT_COVERAGE, OPEN, RANKED, find_cuts
from gt2lite.practice.distribution import Distribution
from gt2lite.practice.tables import read_target
from gt2lite.practice.types import CalibratedEstimator, Table, Target


class AdaptiveIntervals:
    """Intervals whose level follows the misses, around a calibrated estimator.

    Before each row, or each batch of rows, call `predict_interval`; once its targets are known,
    call `update`. The estimator is never changed.

    Args:
        reg: a `GT2Regressor` or `IntervalHead`, calibrated by "conformal" or "exact".
        coverage: the share of rows to cover in the long run.
        rate: how far the level moves after a miss, gamma. A large one adapts quickly and varies
            more; 0 keeps the level at `coverage`, and the theorem does not apply.
        window: None to keep the calibration rows; or a number of rows: each updated row replaces
            the oldest calibration row, so that the last `window` rows calibrate. With ``rate=0``
            this is rolling recalibration, the simplest alternative, which has no theorem.

    Attributes:
        n_rows: the number of rows in `update` so far.
        n_missed: the number of misses among them. At a level of 0 or less every row counts as one.

    >>> from gt2lite import GT2Regressor
    >>> x = np.linspace(0, 10, 400)[:, None]
    >>> reg = GT2Regressor(n_rules=2, epochs=5).fit_calibrate(x, x[:, 0] + np.sin(9 * x[:, 0]))
    >>> stream = AdaptiveIntervals(reg, coverage=0.9, rate=0.05)
    >>> stream.update(x[:2], [100.0, 100.0])
    array([False, False])
    >>> round(stream.level, 2)  # two misses: 0.9 + 2 * 0.05 * 0.9
    0.99
    """

    def __init__(
        self,
        reg: CalibratedEstimator,
        coverage: float = DEFAULT_COVERAGE,
        rate: float = 0.01,
        window: int | None = None,
    ) -> None:
        if not hasattr(reg, "predict_distribution"):
            raise TypeError(f"reg must be a GT2Regressor or IntervalHead, got {reg!r}")
        calibrator = getattr(reg, "calibrator_", None)
        if calibrator is None:
            raise ValueError("reg is not calibrated: call reg.calibrate(X_cal, y_cal) first")
        special = calibrator.by_group or calibrator.by_weight
        if calibrator.method not in RANKED or special:
            name = "groups" if calibrator.by_group else "weights"
            how = name if special else f"method={calibrator.method!r}"
            raise ValueError(
                f"reg is calibrated by {how}, which does not reach all levels for each row: call "
                'reg.calibrate(X_cal, y_cal) with method="conformal", without groups and weights'
            )
        self.reg, self._calibrator = reg, calibrator
        self.coverage = between("coverage", coverage, 0, 1)
        self.rate = between("rate", rate, 0, 1, closed=True)
        self.window = window
        self._scores = calibrator.scores
        if window is not None:
            self.window = whole("window", window, 1, len(self._scores))
            self._scores = self._scores.take(slice(-self.window, None))
        self.n_rows = self.n_missed = 0

    @property
    def level(self) -> float:
        """The level of the next intervals; it may leave (0, 1)."""
        return self.coverage - self.rate * (self.n_rows * (1 - self.coverage) - self.n_missed)

    @property
    def bound(self) -> float:
        """The largest possible distance of the share of misses from ``1 - coverage`` so far."""
        if self.rate == 0 or self.n_rows == 0:
            return math.inf
        return (max(self.coverage, 1 - self.coverage) + self.rate) / (self.rate * self.n_rows)

    def predict_interval(self, X: Table) -> tuple[Array, Array]:
        """Return the bounds (N,) of the intervals at the current level, for rows `X` (N, M).

        They are infinite if the level is 1 or more, or above what the calibration rows reach. At a
        level of 0 or less the interval is the plane alpha = 1, a single point.
        """
        rows = self.reg.predict_distribution(X)
        lower, upper = self._scaled_bounds(rows)
        units = rows.scaler.inverse_bounds
        return units(lower) + rows.shift, units(upper) + rows.shift

    def update(self, X: Table, y: Target) -> NDArray[np.bool_]:
        """Learn from the targets `y` (N,) of rows `X` (N, M), one row after the other.

        Returns:
            (N,) which rows were covered at the levels that they had.
        """
        rows = self.reg.predict_distribution(X)
        target = read_target(y, len(rows), type(self).__name__)
        if self.window is None and len(rows) == 1:  # one evaluation; scores take 41
            scaled = rows.scaler.transform_y(target - rows.shift)
            lower, upper = self._scaled_bounds(rows)
            return self._count((lower <= scaled) & (scaled <= upper))
        new = rows.scores(target)
        n_known, joined = len(self._scores), join_scores([self._scores, new])
        covered = np.empty(len(new), dtype=bool)
        for i in range(len(new)):
            covered[i] = self._count(new.take([i]).between(*self._cuts()))[0]
            if self.window is not None:
                self._scores = joined.take(slice(i + 1, i + 1 + n_known))
        return covered

    def _count(self, inside: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Count a row (1,), which at a level of 0 or less is a miss even if it is inside."""
        covered = inside & (self.level > 0)
        self.n_rows, self.n_missed = self.n_rows + 1, self.n_missed + int(not covered[0])
        return covered

    def _scaled_bounds(self, rows: Distribution) -> Array:
        """Return the bounds (2, N) at the current level, in the units of the system."""
        return cut_ends(rows.interval, [self._cuts()])[:, 0]

    def _cuts(self) -> tuple[Cut, Cut]:
        """Return where the bounds are cut at the current level."""
        if (level := self.level) <= 0:
            return Cut(1.0), Cut(1.0)
        try:
            if level < 1:
                how = self._calibrator
                return find_cuts(self._scores, level, how.method, how.sides, how.tails)
        except CoverageError:
            pass
        return OPEN, OPEN


def measure_drift(
    reg: CalibratedEstimator,
    X: Table,
    y: Target,
    coverage: float = DEFAULT_COVERAGE,
    rate: float = 0.02,
) -> tuple[float, float, float]:
    """Return the shares of later rows that fixed and adaptive intervals cover, and the last level.

    Arguments as in `AdaptiveIntervals` and its `update`; rows are in time order, oldest first.
    """
    fixed, stream = AdaptiveIntervals(reg, coverage, 0.0), AdaptiveIntervals(reg, coverage, rate)
    return float(fixed.update(X, y).mean()), float(stream.update(X, y).mean()), stream.level
