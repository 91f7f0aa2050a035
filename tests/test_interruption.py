"""Facts about what a training leaves behind: same bits on any threads, nothing after Ctrl-C."""

import ctypes
import subprocess
import sys
import threading

import numpy as np
import pytest

from gt2lite._fast.state import apart, quiet
from gt2lite.training import Recipe, train

rng = np.random.default_rng(0)
X = rng.normal(size=(400, 3))
y = X[:, 0] + rng.normal(size=400)

THREADS = """
import hashlib, sys
import numpy as np
from gt2lite import GT2Regressor
rng = np.random.default_rng(0)
X = rng.normal(size=(3000, 6))
y = X[:, 0] * X[:, 1] + rng.normal(size=3000)
reg = GT2Regressor(n_rules=50, epochs=4, batch_size=256, learning_rate=0.02).fit(X, y)
reg.calibrate(X, y, method="conformal")
found = [reg.predict(X), *reg.predict_interval(X, coverage=0.9)]
print(hashlib.sha256(np.array(found).tobytes()).hexdigest())
"""


@pytest.mark.slow
def test_the_number_of_blas_threads_changes_no_bit(monkeypatch):
    pytest.importorskip("threadpoolctl")
    found = set()
    for n in ("1", "2", "4"):
        for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
            monkeypatch.setenv(name, n)
        run = subprocess.run(
            [sys.executable, "-c", THREADS], capture_output=True, text=True, check=True
        )
        found.add(run.stdout)
    assert len(found) == 1


def state():
    return np.geterr(), np.getbufsize()


def interrupted(delay):
    """Train in this thread and strike with a KeyboardInterrupt after a while; say if it hit."""
    thread = threading.get_ident()
    strike = ctypes.pythonapi.PyThreadState_SetAsyncExc
    timer = threading.Timer(
        delay, strike, (ctypes.c_ulong(thread), ctypes.py_object(KeyboardInterrupt))
    )
    hit = False
    try:
        try:
            timer.start()
            train(X, y, Recipe(n_rules=2, epochs=100_000), progress=False)
        finally:
            timer.cancel()
            timer.join()
    except KeyboardInterrupt:
        hit = True
    return hit


def test_ctrl_c_at_any_moment_leaves_numpy_as_it_was():
    train(X, y, Recipe(n_rules=2, epochs=1), progress=False)  # what is found out once, is
    before, hits = state(), 0
    for i in range(120):
        hits += interrupted(0.002 + 1e-4 * (i % 37))
        assert state() == before
    assert hits == 120


def test_a_strike_between_two_lines_cannot_leave_the_state_changed():
    @apart
    def struck():
        np.setbufsize(16)
        np.seterr(all="raise")
        raise KeyboardInterrupt

    before = state()
    with pytest.raises(KeyboardInterrupt):
        struck()
    assert state() == before
    with quiet():
        assert state() != before
    assert state() == before
