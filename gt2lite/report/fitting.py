"""Training and calibration for a table of any size, and the two models to stand beside it."""

from __future__ import annotations

import math
import warnings
from typing import Any, NamedTuple

import numpy as np

from gt2lite._threads import one_blas_thread
from gt2lite._validation import Array
from gt2lite.regressor import GT2Regressor
from gt2lite.report.reading import Frame
from gt2lite.training import STRONG

Parts = dict[str, tuple[Frame, Array]]  # encoded inputs and targets of each part


class Rival(NamedTuple):
    """A model to compare with: predictions for test rows, and a radius for each level."""

    name: str
    y_hat: Array
    radii: Array  # (L,): y_hat +- radius is a conformal interval


def fit(parts: Parts, seed: int, **settings: Any) -> tuple[GT2Regressor, list[str]]:
    """Return a regressor trained and calibrated on the parts, and what it warned of.

    Args:
        parts: X (N, M) and y (N,) of "train" and "calibration".
        seed: of start values and row order.
        settings: what differs from `GT2Regressor.strong`.
    """
    with warnings.catch_warnings(record=True) as caught, one_blas_thread():
        warnings.simplefilter("always")
        regressor = GT2Regressor.strong(random_state=seed, **settings).fit(*parts["train"])
        regressor.calibrate(*parts["calibration"], method="conformal")
    return regressor, [str(warning.message) for warning in caught]


def describe(regressor: GT2Regressor) -> list[str]:
    """Return what was chosen inside the training rows, in sentences."""
    kept = [judged for judged in regressor.chosen_ if judged.kept]
    tried = len(regressor.chosen_)
    words = [
        f"{len(regressor.systems_)} systems, and the mean of what they say: of {tried} kinds that "
        f"were tried on the training rows, {len(kept)} {'was' if len(kept) == 1 else 'were'} kept."
    ]
    for judged in kept:
        settings = {"n_rules": STRONG.n_rules} | judged.settings
        rules, ranks = settings.pop("n_rules"), settings.pop("inputs") == "ranks"
        others = "".join(f", {name} {value}" for name, value in settings.items())
        form = "ranks of the inputs" if ranks else "the inputs as they are"
        words.append(f"{rules} rules on {form}{others}, {judged.epochs} passes over the rows.")
    if (margins := regressor.margins_) is None:
        return [*words, "The intervals are planes of these systems."]
    how = (
        "the same everywhere" if margins.power == 0 else f"width of the planes ^ {margins.power:g}"
    )
    return [*words, f"The intervals are margins around the prediction: {how}."]


def rivals(parts: Parts, levels: tuple[float, ...], seed: int, ours: GT2Regressor) -> list[Rival]:
    """Return the mean, boosted trees, and the regressor itself, all with intervals of one width.

    The same rows train and calibrate them. Their intervals are conformal and have one width for
    all rows: the prediction -+ a quantile of the absolute errors on calibration rows.
    """
    from sklearn.ensemble import HistGradientBoostingRegressor

    (X, y), (X_cal, y_cal), (X_test, _) = (parts[k] for k in ("train", "calibration", "test"))
    boosted = HistGradientBoostingRegressor(random_state=seed).fit(X.to_numpy(), y)
    y_hat_cal, y_hat = (boosted.predict(rows.to_numpy()) for rows in (X_cal, X_test))
    mean_cal, mean = np.full(len(X_cal), y.mean()), np.full(len(X_test), y.mean())
    return [
        _rival("the mean", mean_cal, y_cal, mean, levels),
        _rival("boosted trees", y_hat_cal, y_cal, y_hat, levels),
        _rival("this model, one width", ours.predict(X_cal), y_cal, ours.predict(X_test), levels),
    ]


def _rival(
    name: str, y_hat_cal: Array, y_cal: Array, y_hat: Array, levels: tuple[float, ...]
) -> Rival:
    errors = np.sort(np.abs(y_cal - y_hat_cal))
    ranks = [min(len(errors), rank(level, len(errors))) for level in levels]
    return Rival(name, y_hat, errors[np.asarray(ranks) - 1])


def rank(level: float, n: int) -> int:
    """Return the conformal rank among `n` calibration rows.

    >>> rank(0.9, 99)
    90
    """
    return math.ceil(round((n + 1) * level, 9))
