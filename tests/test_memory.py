"""Facts about memory: how much it takes to calibrate and to predict with many rows."""

import tracemalloc

import numpy as np
import pytest

from gt2lite import GT2Regressor

MEGABYTE = 2**20


def peak(act):
    tracemalloc.start()
    try:
        act()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("settings", [{}, {"n_systems": 2, "margins": 0.5}])
def test_memory_grows_with_the_table_and_not_with_the_rules(settings):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 4))
    y, groups = X[:, 0] + rng.normal(size=len(X)), np.arange(len(X)) % 3
    reg = GT2Regressor(n_rules=200, epochs=1, batch_size=512, **settings).fit(X[:500], y[:500])
    reg.calibrate(X[500:1000], y[500:1000], groups=groups[500:1000])
    # the memberships of one system would take 50 MB
    assert peak(lambda: reg.predict(X)) < 12 * X.nbytes + 16 * MEGABYTE
    used = peak(lambda: reg.predict_interval(X, [0.5, 0.9], groups=groups))
    assert used < 12 * X.nbytes + 16 * MEGABYTE


def test_calibration_keeps_about_a_hundred_megabytes_between_planes(monkeypatch):
    """With an eighth of that limit, of chunks and of rows: without one it would take 60 MB."""
    monkeypatch.setattr("gt2lite._fast.chunks._CHUNK_ELEMENTS", 2**17 // 8)
    monkeypatch.setattr("gt2lite._fast.chunks._CACHE_ELEMENTS", 2**22 // 8)
    monkeypatch.setattr("gt2lite.calibration.HALVINGS", 3)  # each takes the same memory
    rng = np.random.default_rng(0)
    X = rng.normal(size=(9500, 4))
    y = X[:, 0] + rng.normal(size=len(X))
    reg = GT2Regressor(n_rules=60, epochs=1, batch_size=512).fit(X[:500], y[:500])
    used = peak(lambda: reg.calibrate(X[500:], y[500:], method="exact"))
    assert used < 12 * X.nbytes + 130 * MEGABYTE / 8
