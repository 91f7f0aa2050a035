"""A small table to learn from, and a callback that keeps what it was told."""

from __future__ import annotations

import numpy as np

from gt2lite._fast.loss import loss_and_gradient
from gt2lite.system import Planes


def a_table(N=60, M=2, seed=0):
    """A noisy curve that a few rules can follow."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, M))
    return X, np.sin(X[:, 0]) + 0.2 * rng.normal(size=N)


def assert_same(params, expected, **tolerance):
    assert list(params) == list(expected)
    for name, value in expected.items():
        np.testing.assert_allclose(params[name], value, err_msg=name, rtol=0, **tolerance)


def full_loss(params, X, y, recipe):
    ends = Planes(params, X).ends(recipe.planes.alphas)
    return loss_and_gradient(ends, y, recipe.planes)[0]


class Recorder:
    """A callback that keeps what it was told."""

    def __init__(self):
        self.epochs, self.losses, self.params = [], [], []

    def __call__(self, epoch, loss, params):
        self.epochs.append(epoch)
        self.losses.append(loss)
        self.params.append({name: value.copy() for name, value in params.items()})
