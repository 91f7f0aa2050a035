r"""Conformal calibration with weights, for new rows whose inputs are distributed differently.

If only the distribution of the inputs changed, from P to P', and not that of the target given the
inputs, calibration rows count with the likelihood ratio :math:`w(x) = dP'(x) / dP(x)`, up to a
factor. With the scores :math:`s_i` of Q calibration rows, the interval of a new row x is cut at
the smallest s such that

.. math:: \sum_{i : s_i \le s} w(x_i) \ge \phi \Bigl(\sum_{i=1}^Q w(x_i) + w(x)\Bigr)

and covers its target with a probability of at least :math:`\phi` (Tibshirani et al. 2019). Equal
weights give the conformal rank :math:`\lceil (Q + 1) \phi \rceil`.

The theorem needs the true ratio. With an estimate :math:`\hat w` that does not depend on the
calibration rows and has mean 1 under P, coverage is at least
:math:`\phi - E|\hat w(X) - w(X)| / 2`, X from P (Lei and Candès 2021).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np

from gt2lite._validation import Array, IntArray, between, numbers, warn
from gt2lite.calibration import (
    CoverageError,
    Cut,
    Scores,
    SmallCalibrationWarning,
    cut_ends,
    plain_fraction,
)
from gt2lite.practice._sklearn import need_sklearn
from gt2lite.practice.calibrators import (
    DEFAULT_COVERAGE,
    EQUAL_TAILS,
    OPEN,
    RANKED,
    fewest_samples,
    read_tails,
)
from gt2lite.practice.tables import n_rows_of, read_target

FEW_SAMPLES = 100
"""Effective number of calibration samples below which a warning is issued."""

CLIP = 20.0
"""Largest estimated likelihood ratio; the smallest is its inverse."""


def read_weights(name: str, weights: Any, n: int) -> list[Fraction]:
    """Return `n` weights as exact fractions; floats are fractions, too.

    >>> read_weights("weights", [1, Fraction(1, 3), 0.5], 3)
    [Fraction(1, 1), Fraction(1, 3), Fraction(1, 2)]
    """
    values = numbers(name, weights)
    if values.shape != (n,):
        raise ValueError(f"{name} must be a 1-D array of length {n}, got shape {values.shape}")
    if values.min() < 0:
        raise ValueError(f"{name} must not be negative, got {values.min():g}")
    cells = np.asarray(weights).tolist()
    return [Fraction(cell.item() if isinstance(cell, np.generic) else cell) for cell in cells]


def effective_size(weights: Any) -> float:
    """Return Kish's effective number of samples, (sum of w)^2 / (sum of w^2); 0 if all w are 0.

    >>> effective_size([1, 1, 1, 1]), effective_size([2, 1, 1, 0])
    (4.0, 2.6666666666666665)
    """
    w = numbers("weights", weights)
    if w.max() <= 0:
        return 0.0
    w = w / w.max()
    return float(w.sum() ** 2 / (w**2).sum())


def weighted_ranks(
    weights: list[Fraction], new_weights: list[Fraction], probability: Fraction
) -> IntArray:
    """Return the ranks (N,) among Q scores that N new samples need, Q + 1 if out of reach.

    A rank is the smallest k such that the first k weights add up to a share of at least
    `probability` of the sum of all Q weights and that of the new sample, in exact arithmetic.

    Args:
        weights: those of the Q samples, in rising order of their scores.
        new_weights: those of the new samples.
        probability: that a new sample is to be covered with.

    >>> one = Fraction(1)
    >>> weighted_ranks([one] * 99, [one], Fraction(9, 10)).tolist()  # as rank(0.9, 99 + 1)
    [90]
    >>> weighted_ranks([one] * 99, [0 * one, 11 * one, 12 * one], Fraction(9, 10)).tolist()
    [90, 99, 100]
    """
    unit = math.lcm(*{w.denominator for w in (*weights, *new_weights)})
    known, new = (
        [w.numerator * (unit // w.denominator) for w in some] for some in (weights, new_weights)
    )
    sums = list(accumulate(known))
    share, whole = probability.numerator, probability.denominator
    return np.array([bisect_left(sums, -(-share * (sums[-1] + w) // whole)) + 1 for w in new])


def weighted_cuts(
    scores: Scores,
    weights: Any,
    new_weights: Any,
    coverage: Any = DEFAULT_COVERAGE,
    sides: str = "both",
    tails: Any = EQUAL_TAILS,
) -> tuple[Cut, Cut]:
    """Return where the lower and upper bounds of N new samples are cut, for a level.

    A bound is open if the level is out of reach for a sample, because its own weight is too large
    a share of all; a `SmallCalibrationWarning` reports how many. A `CoverageError` is raised if it
    is out of reach for all of them, or if the effective number of calibration samples is smaller
    than the number that equal weights would need.

    Args:
        scores: where each of Q calibration samples is first covered.
        weights: those of the calibration samples (Q,).
        new_weights: those of the new samples (N,).
        coverage: the level.
        sides: "both" for one cut, "each" for one for each bound.
        tails: with "each", the shares of the misses below and above. A bound without any is open.
    """
    phi = plain_fraction(between("coverage", coverage, 0, 1))
    w = read_weights("weights", weights, len(scores))
    new = read_weights("new_weights", new_weights, n_rows_of(new_weights))
    size = effective_size(weights)
    needed = fewest_samples(coverage, sides, None if sides == "both" else tails)
    found = f"the weights leave an effective number of {size:.3g} calibration samples"
    if size < needed * (1 - 1e-9):  # equal weights may be rounded
        raise CoverageError(
            f"{found}, and coverage {float(phi):g} needs at least {needed}: use a lower level, or "
            "calibration rows that are more like the new rows"
        )
    if size < FEW_SAMPLES:
        why = "coverage varies much from one calibration set to another"
        warn(f"{found}, fewer than {FEW_SAMPLES}: {why}", SmallCalibrationWarning)

    def cut(one: Scores, tail: Fraction) -> Cut:
        if tail == 0:
            return OPEN
        order = np.argsort(one.position, kind="stable")
        ranks = weighted_ranks([w[i] for i in order], new, 1 - tail * (1 - phi))
        rising = np.append(np.where(one.alpha > 0, one.alpha, np.nan)[order], np.nan)
        found = Cut(rising[ranks - 1], np.append(one.margin[order], np.inf)[ranks - 1])
        if n_open := int((ranks > len(w)).sum()):
            what = f"coverage {float(phi):g} is out of reach for {n_open} of {len(new)} new rows"
            if n_open == len(new):
                raise CoverageError(f"{what}: their weights are too large a share of all weights")
            warn(f"{what}, whose intervals are infinite", SmallCalibrationWarning)
        return found

    if sides == "both":
        both = cut(scores, Fraction(1))
        return both, both
    below, above = read_tails(tails)
    return cut(scores.lower, below), cut(scores.upper, above)


def weighted_intervals(
    reg: Any,
    X_cal: Any,
    y_cal: Any,
    X_new: Any,
    weights: Any,
    new_weights: Any,
    coverage: float = DEFAULT_COVERAGE,
) -> tuple[Array, Array]:
    """Return the bounds (N,) of conformal intervals calibrated with weights.

    Args:
        reg: a `GT2Regressor` or `IntervalHead`, calibrated by rank without groups; it is not
            changed. Its calibration decides on `sides` and `tails`.
        X_cal: calibration rows (Q, M), not trained on.
        y_cal: their targets (Q,).
        X_new: new rows (N, M).
        weights: the likelihood ratios (Q,) at the calibration rows, up to a factor.
        new_weights: the same (N,) at the new rows.
        coverage: the level.

    >>> from gt2lite import GT2Regressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(600, 1))
    >>> y = X[:, 0] + (0.1 + X[:, 0]) * rng.normal(size=600)  # noise grows with x
    >>> reg = GT2Regressor(n_rules=2, epochs=5, margins=0.0).fit_calibrate(X[:400], y[:400])
    >>> X_cal, y_cal, X_new = X[400:], y[400:], np.array([[0.9]])
    >>> lower, upper = weighted_intervals(reg, X_cal, y_cal, X_new, [1] * 200, [1])
    >>> wide, high = weighted_intervals(reg, X_cal, y_cal, X_new, X_cal[:, 0], X_new[:, 0])
    >>> bool(wide < lower) and bool(high > upper)  # if new rows have large x
    True
    """
    calibrator = getattr(reg, "calibrator_", None)
    if calibrator is None or calibrator.method not in RANKED or calibrator.by_group:
        raise ValueError(
            "reg must be calibrated by rank: call reg.calibrate(X_cal, y_cal) with "
            'method="conformal" and without groups'
        )
    known, new = reg.predict_distribution(X_cal), reg.predict_distribution(X_new)
    scores = known.scores(read_target(y_cal, len(known), type(reg).__name__))
    read_weights("new_weights", new_weights, len(new))
    options = coverage, calibrator.sides, calibrator.tails
    bounds = cut_ends(new.interval, [weighted_cuts(scores, weights, new_weights, *options)])[:, 0]
    lower, upper = new.scaler.inverse_bounds(bounds) + new.shift
    return lower, upper


class LikelihoodRatio:
    """An estimated likelihood ratio of new and old inputs, by a classifier that tells them apart.

    It is the odds of being new, times the number of old rows by that of new rows, clipped. The
    bounds of the clip limit how much one row can weigh, at the price of a bias.

    Args:
        X_old: inputs (Q, M) of the kind that the system was calibrated for, best the training
            rows: a ratio that depends on the calibration rows overfits to them.
        X_new: unlabelled inputs (N, M) of the new kind.
        classifier: any classifier of scikit-learn with `predict_proba`; None for a logistic
            regression of the standardised inputs, a good choice if inputs shift in mean.
        clip: the largest ratio; the smallest is its inverse.

    >>> rng = np.random.default_rng(0)
    >>> old, new = rng.normal(size=(5000, 1)), rng.normal(1.0, 1.0, size=(5000, 1))
    >>> ratio = LikelihoodRatio(old, new)
    >>> ratio([[0.5], [1.5]]).round(1)  # exp(x - 0.5)
    array([1. , 2.7])
    """

    def __init__(self, X_old: Any, X_new: Any, classifier: Any = None, clip: float = CLIP) -> None:
        need_sklearn(type(self).__name__)
        from sklearn.base import clone
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        if classifier is None:
            classifier = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
        self.clip = between("clip", clip, 1, np.inf)
        sizes = n_rows_of(X_old), n_rows_of(X_new)
        if hasattr(X_old, "iloc"):
            import pandas

            X = pandas.concat([X_old, X_new])
        else:
            X = np.concatenate([X_old, X_new])
        self.classifier = clone(classifier).fit(X, np.repeat([0, 1], sizes))
        self._old_by_new = sizes[0] / sizes[1]

    def __call__(self, X: Any) -> Array:
        """Return the ratios (N,) at rows `X` (N, M)."""
        old, new = self.classifier.predict_proba(X).T
        with np.errstate(divide="ignore"):
            ratio = self._old_by_new * new / old
        found: Array = np.clip(ratio, 1 / self.clip, self.clip)
        return found
