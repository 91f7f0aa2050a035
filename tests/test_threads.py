"""BLAS threads and NumPy's state: limited while a training runs, restored however it ends."""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest
from learners import Recorder, a_table, assert_same

from gt2lite import _threads
from gt2lite._threads import one_blas_thread
from gt2lite.recipe import Recipe
from gt2lite.training import InterruptedTrainingWarning, train

THREADS = """
import hashlib
import numpy as np
from gt2lite import GT2Regressor, Recipe
rng = np.random.default_rng(0)
X = rng.normal(size=(1000, 6))
y = X[:, 0] * X[:, 1] + rng.normal(size=1000)
settings = {"n_rules": 50, "epochs": 2, "batch_size": 256, "learning_rate": 0.02}
reg = GT2Regressor(**settings, recipe=Recipe(start="joint")).fit(X, y)
reg.calibrate(X, y + 1, method="conformal")
found = [reg.predict(X), *reg.predict_interval(X, coverage=0.9)]
print(hashlib.sha256(np.array(found).tobytes()).hexdigest())
"""


def blas_threads():
    threadpool_info = pytest.importorskip("threadpoolctl").threadpool_info
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


@pytest.fixture
def two_threads():
    """BLAS with two threads, for one test."""
    threadpoolctl = pytest.importorskip("threadpoolctl")
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        if blas_threads() != {2}:
            pytest.skip("BLAS has no threads here")
        yield


def test_the_limit_holds_until_the_last_context_ends_also_by_the_collector(two_threads):
    first, left = one_blas_thread(), one_blas_thread()
    first.__enter__()
    left.__enter__()
    first.__exit__(None, None, None)
    assert blas_threads() == {1}
    with _threads._lock:
        del left  # as Ctrl-C may leave it; its end must not wait for the lock
        gc.collect()
    assert blas_threads() == {2}


def test_without_threadpoolctl_nothing_is_limited(two_threads, monkeypatch):
    monkeypatch.setitem(sys.modules, "threadpoolctl", None)
    monkeypatch.setattr(_threads, "_controller", _threads._controller.__wrapped__)
    with one_blas_thread():
        monkeypatch.undo()
        assert blas_threads() == {2}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Python 3.12 warns about forks
def test_a_child_forked_while_a_thread_holds_the_lock_goes_on():
    held, forked = threading.Event(), threading.Event()

    def hold():
        with _threads._lock:
            held.set()
            forked.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    child = os.fork()
    if child == 0:
        signal.alarm(5)  # ends a child that hangs
        with one_blas_thread():
            os._exit(0)
    forked.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.slow
def test_the_number_of_blas_threads_changes_no_bit(monkeypatch):
    pytest.importorskip("threadpoolctl")
    found = set()
    for n in ("1", "2"):
        for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
            monkeypatch.setenv(name, n)
        run = subprocess.run(
            [sys.executable, "-c", THREADS], capture_output=True, text=True, check=True
        )
        found.add(run.stdout)
    assert len(found) == 1


def test_ctrl_c_at_any_moment_leaves_numpy_as_it_was():
    """And what is kept is a whole epoch."""
    X, y = a_table(N=400)
    settings = {"n_rules": 2, "averaging": 0.9, "keep": "validation"}
    heard = Recorder()
    train(X, y, Recipe(**settings, epochs=300), callback=heard)
    before, kept = (np.geterr(), np.getbufsize()), 0
    strike = ctypes.pythonapi.PyThreadState_SetAsyncExc
    here = ctypes.c_ulong(threading.get_ident())
    for i in range(200):  # on a busy machine many strikes come too early or late
        if kept >= 10:
            break
        delay = 0.01 + 3e-4 * (i % 40)
        timer = threading.Timer(delay, strike, (here, ctypes.py_object(KeyboardInterrupt)))
        try:
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                timer.start()
                found = train(X, y, Recipe(**settings, epochs=100_000), on_interrupt="keep")
        except KeyboardInterrupt:  # too early
            continue
        finally:
            timer.join()
            assert (np.geterr(), np.getbufsize()) == before
        assert [warning.category for warning in seen] == [InterruptedTrainingWarning]
        if (n := len(found.history)) <= 300:
            kept += 1
            best = int(np.argmin(heard.losses[:n]))
            assert_same(found.params, heard.params[best], atol=0)
    assert kept >= 10
