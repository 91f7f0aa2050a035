r"""Prediction intervals for rows in time order, by adaptive conformal inference.

The guarantee of a calibration needs exchangeable rows; a time series with drift has none. Adaptive
conformal inference (Gibbs and Candès 2021) asks a calibrated estimator for a higher level after
misses and for a lower one after hits. The rows of a batch, which may be a single one, are shown
and counted at one level:

.. math:: \phi' = \phi_t + \gamma \sum_{i\,\in\,\mathrm{batch}} (\mathrm{miss}_i - (1 - \phi))

**Theorem.** For every sequence of rows, in any order and in batches of at most B rows, the share of
misses among the first T rows differs from :math:`1 - \phi` by at most
:math:`(\max(\phi, 1 - \phi) + \gamma B) / (\gamma T)`.

*Proof.* A batch raises the level by at most :math:`\gamma B \phi` and lowers it by at most
:math:`\gamma B (1 - \phi)`. At a level of 1 or more the intervals are infinite and none is missed,
so the level falls; at a level of 0 or less every row counts as a miss, so it rises. Hence it stays
within :math:`[-\gamma B (1 - \phi), 1 + \gamma B \phi]`, and no farther than
:math:`\max(\phi, 1 - \phi) + \gamma B` from :math:`\phi`. The level after T rows with S misses is
:math:`\phi + \gamma (S - T (1 - \phi))`; solve this for :math:`S / T - (1 - \phi)`.

The misses are those that are counted. Of the intervals that were shown no more miss: at a level of
0 or less a row counts as a miss, though its interval, a point, may cover it. The theorem needs rows
that are counted at the level at which they were shown. If targets come late, after further rows
were shown, an update in between has moved the level, and the shown intervals may miss twice as
often.
"""

from __future__ import annotations

import math
import warnings

import numpy as np
from numpy.typing import NDArray

from gt2lite._validation import Array, between, warn, whole
from gt2lite.calibration import CoverageError, Cut, Scores, cut_ends, join_scores
from gt2lite.memberships import alpha_of, kappa_of
from gt2lite.practice.calibrators import DEFAULT_COVERAGE, OPEN, RANKED, find_cuts
from gt2lite.practice.distribution import Distribution
from gt2lite.practice.tables import read_target, take_rows
from gt2lite.practice.types import CalibratedEstimator, Table, Target

MANY_INFINITE = 0.1
"""Share of infinite intervals, at least ten of them, that is reported."""

ROOM = 2.0**-20
"""Distance of a score from a cut within which the interval itself decides."""


class InfiniteIntervalsWarning(UserWarning):
    """Many adaptive intervals are infinite; these cover every target."""


class AdaptiveIntervals:
    """Intervals whose level follows the misses, around a calibrated estimator.

    Before each row, or each batch of rows, call `predict_interval`; once its targets are known,
    call `update` with the same rows, before further rows are shown. The estimator is never changed.
    Once it is trained or calibrated again, a new `AdaptiveIntervals` is needed.

    Args:
        reg: a `GT2Regressor` or `IntervalHead`, calibrated by "conformal" or "exact".
        coverage: the share of rows to cover in the long run.
        rate: how far the level moves for each miss, gamma. A large one adapts quickly and varies
            more; 0 keeps the level at `coverage`, and the theorem does not apply.
        window: None to keep the calibration rows; or a number of rows: the rows of an update, once
            they are counted, replace the oldest calibration rows, so that the last `window` rows
            calibrate. With ``rate=0`` this is rolling recalibration, the simplest alternative,
            which has no theorem.

    Attributes:
        n_rows: the number of rows in `update` so far.
        n_missed: the number of misses among them. At a level of 0 or less every row counts as one.
        n_infinite: the number of rows whose interval was infinite, at levels that the calibration
            rows do not reach. All of them are hits, so much coverage with many of them means
            little: an `InfiniteIntervalsWarning` says so once.

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
        self.n_rows = self.n_missed = self.n_infinite = 0
        self._largest, self._warned = 0, False  # largest batch

    @property
    def level(self) -> float:
        """The level of the next intervals; it may leave (0, 1)."""
        return self.coverage - self.rate * (self.n_rows * (1 - self.coverage) - self.n_missed)

    @property
    def bound(self) -> float:
        """The largest possible distance of the share of misses from ``1 - coverage`` so far.

        It grows with the largest batch so far.
        """
        if self.rate == 0 or self.n_rows == 0:
            return math.inf
        reach = max(self.coverage, 1 - self.coverage) + self.rate * self._largest
        return reach / (self.rate * self.n_rows)

    def predict_interval(self, X: Table) -> tuple[Array, Array]:
        """Return the bounds (N,) of the intervals at the current level, for rows `X` (N, M).

        They are infinite if the level is 1 or more, or above what the calibration rows reach. At a
        level of 0 or less the interval is the plane alpha = 1, a single point.
        """
        return self._bounds(self._rows(X))

    def update(self, X: Table, y: Target, *, by_row: bool = False) -> NDArray[np.bool_]:
        """Learn from the targets `y` (N,) of rows `X` (N, M).

        Args:
            X: a batch of rows, all of them shown at the current level.
            y: their targets.
            by_row: whether rows came one after the other instead, each shown once the targets of
                those before it were known: as many batches of one row, at less expense.

        Returns:
            (N,) which rows were covered. A target on a bound is; at a level of 0 or less none is.
        """
        rows = self._rows(X)
        target = read_target(y, len(rows), type(self).__name__)
        if by_row:
            new = rows.scores(target)
            each = (new.take([i]) for i in range(len(new)))
            covered = np.concatenate(
                [self._count(self._covers(s, X, target, i), s) for i, s in enumerate(each)]
            )
        else:
            rows.scaler.transform_y(target - rows.shift)  # refuses targets that are out of range
            lower, upper = self._bounds(rows)
            batch = None if self.window is None else rows.scores(target)
            covered = self._count((lower <= target) & (target <= upper), batch)
        self._warn_if_infinite()
        return covered

    def _rows(self, X: Table) -> Distribution:
        """Return the distributions of rows, or raise an error if `reg` has learned anew."""
        if getattr(self.reg, "calibrator_", None) is not self._calibrator:
            raise RuntimeError(
                "reg was trained or calibrated again, and these intervals have its old scores: "
                "make new ones by AdaptiveIntervals(reg, ...)"
            )
        return self.reg.predict_distribution(X)

    def _covers(self, score: Scores, X: Table, y: Array, i: int) -> NDArray[np.bool_]:
        """Return whether the interval of row `i` covers its target, by its score if that is clear.

        A score is rounded outward, so that a target on a bound may seem to lie beyond it.
        """
        cuts = self._cuts()
        inside = score.between(*cuts)
        if (
            inside.any()
            or not score.between(*(_widened(cut, score.alpha_min) for cut in cuts)).any()
        ):
            return inside
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the same as for all rows
            lower, upper = self._bounds(self._rows(take_rows(X, np.array([i]))))
        return (lower <= y[i]) & (y[i] <= upper)

    def _count(self, inside: NDArray[np.bool_], batch: Scores | None) -> NDArray[np.bool_]:
        """Count a batch at the current level, put it into the window, and return its hits (N,)."""
        n = len(inside)
        covered = inside & (self.level > 0)
        self.n_infinite += n * all(math.isinf(cut.margin) for cut in self._cuts())
        self.n_rows, self.n_missed = self.n_rows + n, self.n_missed + n - int(covered.sum())
        self._largest = max(self._largest, n)
        if self.window is not None and batch is not None:
            self._scores = join_scores([self._scores, batch]).take(slice(-self.window, None))
        return covered

    def _warn_if_infinite(self) -> None:
        if self._warned or self.n_infinite < max(10, MANY_INFINITE * self.n_rows):
            return
        self._warned = True
        warn(
            f"{self.n_infinite} of {self.n_rows} intervals were infinite: after many misses the "
            f"level rose above what {len(self._scores)} calibration rows reach. Such intervals "
            "cover every target and are of no use: train or calibrate again with recent rows, or "
            "set a window",
            InfiniteIntervalsWarning,
        )

    def _bounds(self, rows: Distribution) -> tuple[Array, Array]:
        """Return the bounds (N,) at the current level, in units of y."""
        lower, upper = cut_ends(rows.interval, [self._cuts()])[:, 0]
        units = rows.scaler.inverse_bounds
        return units(lower) + rows.shift, units(upper) + rows.shift

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


def _widened(cut: Cut, lowest: float) -> Cut:
    """Return a cut that is wider by more than rounding."""
    if math.isnan(cut.alpha):
        return Cut(math.nan, cut.margin * (1 + ROOM) + ROOM)
    alpha = alpha_of(kappa_of(cut.alpha) * (1 + ROOM) + ROOM)
    return Cut(alpha) if alpha > lowest else Cut(math.nan, ROOM)


def measure_drift(
    reg: CalibratedEstimator,
    X: Table,
    y: Target,
    coverage: float = DEFAULT_COVERAGE,
    rate: float = 0.02,
) -> tuple[float, float, float]:
    """Return the shares of later rows that fixed and adaptive intervals cover, and the last level.

    Arguments as in `AdaptiveIntervals` and its `update`; rows are in time order, oldest first, and
    levels adapt after each of them.
    """
    fixed, stream = AdaptiveIntervals(reg, coverage, 0.0), AdaptiveIntervals(reg, coverage, rate)
    adaptive = stream.update(X, y, by_row=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the same again
        return float(fixed.update(X, y).mean()), float(adaptive.mean()), stream.level
