"""Facts about input that came close to being taken for something else."""

import gc
import warnings
from fractions import Fraction

import numpy as np
import pytest

from gt2lite import GT2Regressor, _threads
from gt2lite._threads import one_blas_thread
from gt2lite._validation import between, numbers
from gt2lite.system import Planes
from gt2lite.training import Recipe, init_params

rng = np.random.default_rng(0)
X = rng.normal(size=(120, 2))
y = X[:, 0] + rng.normal(size=120)
TINY = Fraction(1, 10**400)  # above 0, though the nearest float is 0


def test_a_masked_cell_is_noticed_by_the_estimator_whatever_it_hides():
    masked = np.ma.array(X, mask=np.zeros(X.shape, dtype=bool))
    masked[3, 1] = np.ma.masked  # a sound number lies below
    with pytest.raises(ValueError, match=r"X has 1 masked cells, the first at index \(3, 1\)"):
        GT2Regressor(epochs=1).fit(masked, y)
    target = np.ma.array(y, mask=np.arange(120) == 5)
    with pytest.raises(ValueError, match="y has 1 masked cells"):
        GT2Regressor(epochs=1).fit(X, target)


def test_a_masked_cell_among_objects_is_refused_without_a_warning():
    items = np.empty((1, 2), dtype=object)
    items[0, 0], items[0, 1] = 1.0, np.ma.masked
    with pytest.raises(ValueError, match=r"X .* at index \(0, 1\), which is masked"):
        numbers("X", items)


@pytest.mark.parametrize("name", ["X", "y"])
def test_a_ragged_table_is_named_by_the_estimator(name):
    handed = {"X": X.tolist(), "y": y.tolist()}
    handed[name][7] = [1.0, 2.0, 3.0]
    with pytest.raises((TypeError, ValueError), match=f"{name} must hold numbers only"):
        GT2Regressor(epochs=1).fit(**handed)


def test_a_number_too_large_for_a_float_is_refused_without_a_warning():
    wide = X.astype(np.longdouble)
    if np.finfo(np.longdouble).max == np.finfo(float).max:
        pytest.skip("long numbers are not longer here")
    wide[2, 0] = np.longdouble("1e400")
    with pytest.raises(ValueError, match=r"X contains infinity at index \(2, 0\)"):
        GT2Regressor(epochs=1).fit(wide, y)


@pytest.mark.parametrize(
    ("setting", "value"),
    [("learning_rate", TINY), ("coverage", TINY), ("coverage", 1 - TINY), ("validation", TINY)],
)
def test_a_fraction_that_is_no_float_within_the_bounds_is_refused(setting, value):
    with pytest.raises(ValueError, match=f"{setting} must be a number in"):
        Recipe(**{setting: value})


def test_half_precision_is_compared_with_large_bounds_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert between("sigma_scale", np.float16(2), 1e-6, 1e6) == 2.0
        assert Recipe(sigma_scale=np.float16(2)).sigma_scale == 2.0


@pytest.mark.parametrize("sides", ["both", "each"])
def test_ragged_levels_are_named(sides):
    reg = GT2Regressor(n_rules=2, epochs=1).fit(X, y).calibrate(X, y, "exact", sides=sides)
    with pytest.raises((TypeError, ValueError), match="coverage must hold numbers only"):
        reg.predict_interval(X, coverage=[0.1, [0.2]])
    with pytest.raises((TypeError, ValueError), match="coverage must hold numbers only"):
        reg.calibrator_.alpha([0.1, [0.2]])


# --------------------------------------------------------------------------- threads


def blas_threads():
    from threadpoolctl import threadpool_info

    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


@pytest.fixture
def two_threads():
    """BLAS with two threads, for one test."""
    threadpoolctl = pytest.importorskip("threadpoolctl")
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        if set(blas_threads()) != {2}:
            pytest.skip("BLAS has no threads here")
        yield


def test_the_limit_holds_until_the_last_one_leaves(two_threads):
    first, second = one_blas_thread(), one_blas_thread()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert set(blas_threads()) == {1}
    second.__exit__(None, None, None)
    assert set(blas_threads()) == {2}


def test_a_context_that_the_collector_ends_while_the_door_is_shut_does_not_wait_for_ever(
    two_threads,
):
    left = one_blas_thread()  # as Ctrl-C may leave it
    left.__enter__()
    with _threads._door:
        del left
        gc.collect()
    assert set(blas_threads()) == {2}


def test_planes_and_start_values_are_computed_by_one_thread(two_threads, monkeypatch):
    seen = []

    def looking(module, name):
        right = getattr(module, name)

        def look(*args, **kwargs):
            seen.append(set(blas_threads()))
            return right(*args, **kwargs)

        monkeypatch.setattr(module, name, look)

    import gt2lite.system

    params = init_params(X, 3, np.random.default_rng(0))
    looking(gt2lite.system, "reduce_planes")
    Planes(params, X)(0.5)
    looking(np, "argmin")
    init_params(X, 3, np.random.default_rng(0), start="joint")
    assert len(seen) > 2
    assert all(threads == {1} for threads in seen)
    assert set(blas_threads()) == {2}
