"""Data whose noise is known: when planes help, and when they cannot.

The mean is a wave along one input; the noise depends on another, or on none. The law is known, and
with it the best possible intervals, those of the true quantiles.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from gt2lite import GT2Regressor
from gt2lite._validation import Array, one_of
from gt2lite.memberships import ALPHA_0
from gt2lite.metrics import interval_score
from gt2lite.regressor import NarrowEnvelopeWarning
from study.comparison.margins import around, calibrated, floored

SPREADS: dict[str, Callable[[Array], Array]] = {
    "constant": lambda x: np.full(x.shape, 0.5),
    "linear": lambda x: 0.1 + 0.45 * (x + 1),
    "two regimes": lambda x: np.where(x < 0.3, 0.2, 1.0),
    "heavy tails": lambda x: np.full(x.shape, 0.4),
}
"""Scale of the noise at x in [-1, 1]; heavy tails are those of Student's t with 3 degrees."""


class Sample(NamedTuple):
    """Rows of a known law: inputs (N, 2), targets, true means and scales of the noise (N,)."""

    X: Array
    y: Array
    mean: Array
    spread: Array


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
    noise = stats.t(3) if law == "heavy tails" else stats.norm
    z = noise.ppf((1 + level) / 2)
    return sample.mean - z * sample.spread, sample.mean + z * sample.spread


def compare(
    laws: Sequence[str] = tuple(SPREADS),
    *,
    level: float = 0.90,
    n_train: int = 700,
    n_cal: int = 300,
    n_test: int = 3000,
    seeds: Sequence[int] = (0, 1, 2),
    epochs: int | None = None,
) -> pd.DataFrame:
    """Compare three kinds of intervals around the same aligned system, for each law.

    Args:
        laws: of `SPREADS`.
        level: coverage of the intervals.
        n_train: training rows.
        n_cal: calibration rows.
        n_test: test rows.
        seeds: one sample and one training for each.
        epochs: of training; None for the default of the estimator.

    Returns:
        Interval scores as multiples of the best possible one, mean over the seeds, for `constant`
        and `normalised` margins and for `planes`; and the `correlation` of the width of planes with
        the true spread, NaN if that is constant.
    """
    found = []
    for law in laws:
        for seed in seeds:
            rng = np.random.default_rng(seed)
            train, cal, test = (draw(law, n, rng) for n in (n_train, n_cal, n_test))
            reg = GT2Regressor(
                objective="aligned", learning_rate=0.01, epochs=epochs, random_state=seed
            )
            with warnings.catch_warnings():  # on purpose: few rows may make a narrow envelope
                warnings.simplefilter("ignore", NarrowEnvelopeWarning)
                reg.fit(train.X, train.y).calibrate(cal.X, cal.y)
            w_train, *widths = (
                np.subtract(*reg.predict_interval(part.X, alpha=ALPHA_0)[::-1])
                for part in (train, cal, test)
            )
            y_hat = [reg.predict(part.X) for part in (cal, test)]
            scale = [floored(width, w_train) for width in widths]
            lower, upper = reg.predict_interval(test.X, level)
            constant = [around(estimate) for estimate in y_hat]
            normalised = [around(estimate, s) for estimate, s in zip(y_hat, scale, strict=True)]
            bounds = {
                "constant": calibrated(constant[0], constant[1], cal.y, level),
                "normalised": calibrated(normalised[0], normalised[1], cal.y, level),
                "planes": (lower, upper),
            }
            best = interval_score(test.y, *best_intervals(test, law, level), level)
            scores = {k: interval_score(test.y, *b, level) / best for k, b in bounds.items()}
            varies = np.ptp(test.spread) > 0
            follows = np.corrcoef(upper - lower, test.spread)[0, 1] if varies else np.nan
            found.append({"law": law, **scores, "correlation": follows})
    return pd.DataFrame(found).groupby("law", sort=False).mean().reset_index()
