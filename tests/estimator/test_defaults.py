"""Facts about what `GT2Regressor` does where nothing is said: level, method, threads."""

import importlib
import inspect

import numpy as np
import pytest

from gt2lite import GT2Regressor

FAST = {"n_rules": 3, "epochs": 5}


def test_calibration_is_conformal_unless_another_method_is_named(data, fitted):
    X, y = data
    fitted.calibrate(X[500:], y[500:])
    assert fitted.calibrator_.method == "conformal"
    plain = fitted.predict_interval(X, coverage=0.8)
    named = fitted.calibrate(X[500:], y[500:], method="conformal").predict_interval(X, 0.8)
    np.testing.assert_array_equal(plain, named)
    for method in ("search", "table"):
        fitted.calibrate(X[500:], y[500:], method)
        assert fitted.calibrator_.method == method


def test_the_coverage_comes_first_and_is_90_percent(data, fitted):
    X, y = data
    fitted.calibrate(X[500:], y[500:])
    plain = fitted.predict_interval(X)
    np.testing.assert_array_equal(plain, fitted.predict_interval(X, 0.9))
    np.testing.assert_array_equal(plain, fitted.predict_interval(X, coverage=0.9))
    assert (plain[0] > fitted.predict_interval(X, 0.95)[0]).any()
    coverage, alpha, groups, as_frame = list(
        inspect.signature(GT2Regressor.predict_interval).parameters.values()
    )[2:]
    assert (coverage.name, repr(coverage.default)) == ("coverage", "0.9")
    assert {alpha.kind, groups.kind, as_frame.kind} == {inspect.Parameter.KEYWORD_ONLY}


@pytest.mark.parametrize("asked", [{}, {"coverage": 0.9}, {"coverage": [0.5, 0.9]}])
def test_a_level_before_calibration_says_what_to_call(data, asked):
    X, y = data
    reg = GT2Regressor(**FAST).fit(X, y)
    with pytest.raises(RuntimeError, match=r"calibrate\(.*fit_calibrate.*alpha=0\.01"):
        reg.predict_interval(X, **asked)


def test_the_uncalibrated_envelope_is_had_by_name(data):
    X, y = data
    reg = GT2Regressor(**FAST).fit(X, y)
    lower, upper = reg.predict_interval(X, alpha=0.01)
    assert lower.shape == upper.shape == (900,) and (lower < upper).all()


@pytest.mark.parametrize("coverage", [0.9, np.float64(0.9), [0.9], None])
def test_a_plane_and_a_level_that_was_asked_for_are_an_error(data, fitted, coverage):
    with pytest.raises(ValueError, match=r"alpha or coverage, not both"):
        fitted.predict_interval(data[0], coverage, alpha=0.5)


def test_before_fit_that_is_what_is_missing(data):
    with pytest.raises(Exception, match="not fitted yet"):
        GT2Regressor().predict_interval(data[0])


def test_a_data_frame_gives_what_its_numbers_give(data):
    pd = pytest.importorskip("pandas")
    X, y = data
    frame = pd.DataFrame(X, columns=["a", "b", "c"], index=range(900, 0, -1))
    plain, named = (
        GT2Regressor(**FAST).fit(table[:500], target[:500]).calibrate(table[500:], target[500:])
        for table, target in ((X, y), (frame, pd.Series(y, index=frame.index)))
    )
    np.testing.assert_array_equal(plain.predict_interval(X), named.predict_interval(frame))


def blas_threads():
    threadpoolctl = pytest.importorskip("threadpoolctl")
    return {
        pool["num_threads"]
        for pool in threadpoolctl.threadpool_info()
        if pool["user_api"] == "blas"
    }


@pytest.fixture
def two_threads():
    """BLAS with two threads, for one test."""
    threadpoolctl = pytest.importorskip("threadpoolctl")
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        if blas_threads() != {2}:
            pytest.skip("BLAS has no threads here")
        yield


@pytest.mark.parametrize(
    ("ask", "inner"),
    [
        ("fit", "gt2lite.training._batches"),
        ("calibrate", "gt2lite.system.reduce_planes"),
        ("predict", "gt2lite.system.reduce_planes"),
        ("predict_interval", "gt2lite.system.reduce_planes"),
    ],
)
def test_everything_that_multiplies_matrices_keeps_blas_to_one_thread(
    data, two_threads, ask, inner, monkeypatch
):
    X, y = data
    reg = GT2Regressor(n_rules=2, epochs=1).fit_calibrate(X, y)
    module, _, name = inner.rpartition(".")
    right, seen = getattr(importlib.import_module(module), name), []

    def look(*args, **options):
        seen.append(blas_threads())
        return right(*args, **options)

    monkeypatch.setattr(inner, look)
    getattr(reg, ask)(X, *([y] if ask in ("fit", "calibrate") else []))
    assert seen and all(threads == {1} for threads in seen)
    assert blas_threads() == {2}
