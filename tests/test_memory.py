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


@pytest.mark.parametrize("n_rules", [5, 60])
def test_memory_grows_with_the_table_and_not_with_the_rules(n_rules):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 4))
    y = X[:, 0] + rng.normal(size=len(X))
    reg = GT2Regressor(n_rules=n_rules, epochs=1, batch_size=512).fit(X[:2000], y[:2000])
    reg.calibrate(X[2000:4000], y[2000:4000], method="conformal")
    # the memberships of one plane alone would take 38 MB with 60 rules
    assert peak(lambda: reg.predict(X)) < 12 * X.nbytes + 16 * MEGABYTE
    assert peak(lambda: reg.predict_interval(X, coverage=0.9)) < 12 * X.nbytes + 16 * MEGABYTE


@pytest.mark.parametrize("settings", [{}, {"margins": 0.5}], ids=["planes", "margins"])
def test_groups_levels_and_several_systems_take_no_more_memory(settings):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 4))
    y, groups = X[:, 0] + rng.normal(size=len(X)), np.arange(len(X)) % 3
    reg = GT2Regressor(n_rules=40, epochs=1, batch_size=512, n_systems=2, **settings)
    reg.fit(X[:1000], y[:1000]).calibrate(X[1000:2000], y[1000:2000], groups=groups[1000:2000])
    # the memberships of one system would take 80 MB
    levels = [0.5, 0.8, 0.9]
    used = peak(lambda: reg.predict_interval(X, levels, groups=groups))
    assert used < 12 * X.nbytes + 16 * MEGABYTE


@pytest.mark.slow
def test_calibration_keeps_about_a_hundred_megabytes_between_planes(monkeypatch):
    monkeypatch.setattr("gt2lite.calibration.HALVINGS", 3)  # each takes the same memory
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60_000, 4))
    y = X[:, 0] + rng.normal(size=len(X))
    reg = GT2Regressor(n_rules=60, epochs=1, batch_size=512).fit(X[:2000], y[:2000])
    # the memberships of all rows would take 115 MB, and the sums of rules and planes more
    used = peak(lambda: reg.calibrate(X[2000:], y[2000:], method="exact"))
    assert used < 12 * X.nbytes + 130 * MEGABYTE
