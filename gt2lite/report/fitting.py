"""Training and calibration for a table of any size, and the two models to stand beside it."""

from __future__ import annotations

import math
import warnings
from typing import Any, NamedTuple

import numpy as np

from gt2lite._checks import Array
from gt2lite._threads import one_blas_thread
from gt2lite.estimator import GT2Regressor
from gt2lite.presets import STRONG
from gt2lite.report.reading import Frame

Parts = dict[str, tuple[Frame, Array]]  # encoded inputs and targets of each part

_ROWS_PER_RULE = 20
_FEWEST_RULES = 5
_FEW_ROWS = 500
_FEWEST_STEPS = 1_000
_MOST_EPOCHS = 300


class Rival(NamedTuple):
    """A model to compare with: predictions for test rows, and a radius for each level."""

    name: str
    y_hat: Array
    radii: Array  # (L,): y_hat +- radius is a conformal interval


def choose_settings(
    n_rows: int, n_inputs: int, epochs: int | None = None
) -> tuple[dict[str, Any], list[str]]:
    """Return what differs from `GT2Regressor.strong` for a table of this size, and why.

    Args:
        n_rows: number of training rows.
        n_inputs: number of inputs.
        epochs: passes over the rows, where they are asked for.

    The wider start came out of some ten variants on two small tables, three splits each: a hint,
    not a study.

    >>> choose_settings(5000, 8)[0]
    {}
    >>> choose_settings(200, 8)[0]
    {'n_rules': 10, 'keep': 'validation', 'sigma_scale': 2.0, 'epochs': 167}
    """
    settings: dict[str, Any] = {}
    words = []
    rules = max(_FEWEST_RULES, min(STRONG.n_rules, n_rows // _ROWS_PER_RULE))
    if rules != STRONG.n_rules:
        settings["n_rules"] = rules
        words.append(f"{rules} rules: one for every {_ROWS_PER_RULE} training rows.")
    if n_rows < _FEW_ROWS or n_inputs > n_rows / _ROWS_PER_RULE:
        settings |= {"keep": "validation", "sigma_scale": 2.0}
        words.append(
            "Few rows or many inputs: a fifth of the training rows decides when to stop learning, "
            "and rules start twice as wide, so that they reach rows between them."
        )
    steps = max(1, n_rows // STRONG.batch_size)  # in a pass
    enough = min(_MOST_EPOCHS, max(STRONG.epochs, math.ceil(_FEWEST_STEPS / steps)))
    if epochs is not None:
        settings["epochs"] = epochs
        words.append(f"{epochs} passes over the rows, as asked for.")
    elif enough != STRONG.epochs:
        settings["epochs"] = enough
        words.append(f"{enough} passes over the rows, so that there are enough steps.")
    return settings, words or ["The settings of GT2Regressor.strong(), as they are."]


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
