"""Data whose noise is known: when do planes help, and when can they not?

The mean is a wave along one input; the noise depends on another, or on none. Since the law is
known, so are the best possible intervals, those of the true quantiles. Nothing is stored: a
page computes this while it is built.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from gt2lite._validation import Array, one_of
from gt2lite.memberships import ALPHA_0
from gt2lite.metrics import interval_score
from gt2lite.regressor import GT2Regressor, NarrowEnvelopeWarning
from study.field.margins import Parts, around, calibrated, floored

SPREADS: dict[str, Callable[[Array], Array]] = {
    "constant": lambda x: np.full(x.shape, 0.5),
    "linear": lambda x: 0.1 + 0.45 * (x + 1),
    "two regimes": lambda x: np.where(x < 0.3, 0.2, 1.0),
    "heavy tails": lambda x: np.full(x.shape, 0.4),
}
"""The scale of the noise at x in [-1, 1]; heavy tails are those of Student's t with 3 degrees."""

_T3 = {
    0.90: 2.3533634348018264,
    0.95: 3.182446305284263,
}  # quantiles of t with 3 degrees, two-sided


class Sample(NamedTuple):
    """Rows of a known law: inputs, targets, true means and the scale of their noise."""

    X: Array  # (N, 2)
    y: Array
    mean: Array
    spread: Array


class Mechanism(NamedTuple):
    """Interval scores on one law, as multiples of the best possible one; mean over seeds."""

    law: str
    constant: float
    normalised: float
    planes: float
    correlation: str  # of the width of planes with the true spread; empty where that is constant


def draw(law: str, n: int, rng: np.random.Generator) -> Sample:
    """Return `n` rows of a law.

    >>> sample = draw("two regimes", 1000, np.random.default_rng(0))
    >>> sample.X.shape, sorted(set(sample.spread.tolist()))
    ((1000, 2), [0.2, 1.0])
    """
    one_of("law", law, SPREADS)
    X = rng.uniform(-1, 1, (n, 2))
    mean = np.sin(2.5 * X[:, 0])
    spread = SPREADS[law](X[:, 1])
    noise = rng.standard_t(3, n) if law == "heavy tails" else rng.standard_normal(n)
    return Sample(X, mean + spread * noise, mean, spread)


def best_intervals(sample: Sample, law: str, level: float) -> tuple[Array, Array]:
    """Return the true quantiles: no intervals have a smaller expected score."""
    z = _T3[level] if law == "heavy tails" else NormalDist().inv_cdf((1 + level) / 2)
    return sample.mean - z * sample.spread, sample.mean + z * sample.spread


def compare(
    law: str,
    *,
    level: float = 0.90,
    n_train: int = 700,
    n_cal: int = 300,
    n_test: int = 3000,
    seeds: Sequence[int] = (0, 1, 2),
    epochs: int | None = None,
) -> Mechanism:
    """Return the scores of three kinds of intervals around the same aligned system on one law.

    Args:
        law: of `SPREADS`.
        level: 0.90 or 0.95.
        n_train: rows to learn from.
        n_cal: rows to calibrate on.
        n_test: rows to judge by.
        seeds: one sample and one training for each.
        epochs: of training; None for the estimator's own.
    """
    found = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        train, cal, test = (draw(law, n, rng) for n in (n_train, n_cal, n_test))
        reg = GT2Regressor(
            objective="aligned", learning_rate=0.01, epochs=epochs, random_state=seed
        )
        with warnings.catch_warnings():  # an envelope of few rows may be narrow: that is the point
            warnings.simplefilter("ignore", NarrowEnvelopeWarning)
            reg.fit(train.X, train.y).calibrate(cal.X, cal.y)
        best = interval_score(test.y, *best_intervals(test, law, level), level)
        centres = [reg.predict(part.X) for part in (cal, test)]
        widths = [_width(reg, part.X) for part in (train, cal, test)]
        scales = [floored(width, widths[0]) for width in widths[1:]]
        shapes = {
            "constant": Parts(*(around(c) for c in centres)),
            "normalised": Parts(*(around(c, s) for c, s in zip(centres, scales, strict=True))),
        }
        ends = {name: calibrated(parts, cal.y, level) for name, parts in shapes.items()}
        ends["planes"] = reg.predict_interval(test.X, level)
        scores = [interval_score(test.y, *pair, level) / best for pair in ends.values()]
        varies = np.ptp(test.spread) > 0
        width = ends["planes"][1] - ends["planes"][0]
        found.append([*scores, np.corrcoef(width, test.spread)[0, 1] if varies else np.nan])
    constant, normalised, planes, follows = np.mean(found, axis=0)
    told = "" if np.isnan(follows) else f"{follows:.2f}"
    return Mechanism(law, float(constant), float(normalised), float(planes), told)


def _width(reg: GT2Regressor, X: Array) -> Array:
    lower, upper = reg.predict_interval(X, alpha=ALPHA_0)
    return upper - lower
