"""A table in mixed units, an estimator fitted to it, and one that is calibrated, too."""

import numpy as np
import pytest

from gt2lite import GT2Regressor


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 3)) * [1.0, 100.0, 1e-3] + [0.0, 5000.0, 1.0]
    z = (X - [0.0, 5000.0, 1.0]) / [1.0, 100.0, 1e-3]
    y = 1e4 + 500 * (z[:, 0] + np.sin(2 * z[:, 1]) + 0.3 * rng.normal(size=900))
    return X, y


@pytest.fixture(scope="module")
def fitted(data):
    X, y = data
    return GT2Regressor(n_rules=4, epochs=100, learning_rate=0.02).fit(X[:500], y[:500])


@pytest.fixture
def calibrated(data, fitted, request):
    X, y = data
    method = getattr(request, "param", "search")
    return fitted.calibrate(X[500:700], y[500:700], method=method)
