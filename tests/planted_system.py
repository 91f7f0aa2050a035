"""Estimators with any settings, and estimators whose rules were written by hand."""

from __future__ import annotations

import numpy as np

from gt2lite import GT2Regressor
from gt2lite.datasets import Scaler
from gt2lite.practice.model import Ensemble, Model, System, middle
from gt2lite.practice.settings import FINER
from gt2lite.practice.tables import Features
from gt2lite.recipe import Recipe


def raw(share: float) -> float:
    """Return the free number that stands for a share in (0, 1)."""
    return float(np.log(share / (1 - share)))


def make(**settings):
    """Return an estimator with any settings, those of a recipe included."""
    finer = {name: settings.pop(name) for name in FINER if name in settings}
    return GT2Regressor(**settings, recipe=Recipe(**finer) if finer else None)


def planted(
    c, sigma, a, a0, *, names=None, seen=None, x_mean=15.0, x_std=5.0, y_mean=100.0, y_std=20.0
):
    """Return a fitted estimator with the sets and consequents given, in scaled units.

    `seen` are rows between whose values rules are described.
    """
    c = np.array(c, dtype=float)
    M = c.shape[1]
    reg = GT2Regressor(n_rules=len(c))
    params = {
        "c": c,
        "raw_sigma": np.array(sigma, dtype=float),
        "raw_l": np.full(M, raw(0.2)),
        "raw_r": np.full(M, raw(0.4)),
        "a": np.array(a, dtype=float),
        "a0": np.array(a0, dtype=float),
    }
    system = System(params, Recipe(n_rules=len(c)), np.array([1.0, 0.5]))
    scaler = Scaler(np.full(M, x_mean), np.full(M, x_std), y_mean, y_std)
    features = Features(M, None if names is None else np.array(names, dtype=object))
    seen = None if seen is None else middle(scaler.transform_X(seen))
    known = features.input_names(), np.zeros(0), reg.get_params()
    return reg.with_model(Model(Ensemble.of([system]), scaler, features, *known, seen=seen))


def two_rules(**units):
    """Return one input of mean 15 and spread 5 with sets at 5 and 25, y about 80 and 120."""
    sigma = [[1.0], [1.0]]
    return planted([[-2.0], [2.0]], sigma, [[0.5], [-0.25]], [0.0, 1.0], **units)
