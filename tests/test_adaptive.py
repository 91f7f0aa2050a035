"""Adaptive intervals: the theorem on adversarial sequences, rolling recalibration, refusals."""

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gt2lite import GT2Regressor, IntervalHead
from gt2lite.metrics import covers
from gt2lite.practice.adaptive import AdaptiveIntervals, measure_drift

pytestmark = pytest.mark.filterwarnings("ignore::gt2lite.calibration.SmallCalibrationWarning")


@pytest.fixture(scope="module")
def data():
    """1,000 rows whose noise grows from row 600 on: 200 train, 100 calibrate, the rest is later."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(1000, 1))
    noise = np.where(np.arange(1000) < 600, 0.3, 1.2)
    return X, 5 + np.sin(2 * X[:, 0]) + noise * rng.normal(size=1000)


QUICK = {"n_rules": 2, "epochs": 5}


@pytest.fixture(scope="module")
def fitted(data):
    X, y = data
    reg = GT2Regressor(margins=0.0, n_rules=3, epochs=30, learning_rate=0.03)  # margins are fast
    return reg.fit(X[:200], y[:200]).calibrate(X[200:300], y[200:300])


@pytest.fixture(params=["each", "upper", "exact", "planes", "log", "head"])
def reg(request, data, fitted):
    X, y = data
    kind, found = request.param, copy.copy(fitted)
    if kind == "planes":
        found = GT2Regressor(**QUICK).fit(X[:200], y[:200])
    if kind == "log":
        found = GT2Regressor(target_transform="log", **QUICK).fit(X[:200], abs(y[:200]))
    if kind == "head":
        from sklearn.linear_model import LinearRegression

        found = IntervalHead(LinearRegression(), GT2Regressor(**QUICK)).fit(X[:200], y[:200])
    sides = kind if kind in ("each", "upper") else "both"
    method = "exact" if kind == "exact" else "conformal"
    return found.calibrate(X[200:300], abs(y[200:300]), method, sides=sides)


def test_levels_follow_the_misses_and_intervals_are_those_of_the_level(data, reg):
    X, y = data
    y = abs(y)
    stream = AdaptiveIntervals(reg, 0.8, rate=0.05)
    level = 0.8
    for i in range(595, 615):
        assert stream.level == pytest.approx(level)
        lower, upper = stream.predict_interval(X[[i]])
        if 0 < level < 0.95:
            assert_array_equal((lower, upper), reg.predict_interval(X[[i]], stream.level))
        elif level >= 1:
            assert lower[0] <= 0 and upper[0] == np.inf  # a log target begins at 0
        inside = bool(lower[0] <= y[i] <= upper[0])
        assert stream.update(X[[i]], y[[i]]).tolist() == [inside]
        level += 0.05 * ((not inside) - 0.2)
    assert stream.n_rows == 20


def test_a_batch_is_its_rows_one_after_the_other(data, fitted):
    X, y = data
    for window in (None, 50):
        one, all_ = (AdaptiveIntervals(fitted, 0.9, 0.03, window) for _ in range(2))
        by_row = [one.update(X[[i]], y[[i]])[0] for i in range(590, 620)]
        assert all_.update(X[590:620], y[590:620]).tolist() == by_row
        assert one.level == all_.level
        # a row of a batch may be summed in another order than a row alone
        assert_allclose(one.predict_interval(X), all_.predict_interval(X), rtol=1e-9)


TARGETS = {
    "far": lambda lower, upper, point: 1e6,
    "on the point": lambda lower, upper, point: point,  # that even the narrowest interval covers
    "contrary": lambda lower, upper, point: upper + 1e-6 if np.isfinite(upper) else point,
}


@pytest.mark.parametrize("choose", TARGETS)
@pytest.mark.parametrize(("coverage", "rate"), [(0.9, 0.2), (0.1, 0.3)])
def test_the_bound_holds_after_every_row_of_an_adversarial_sequence(
    data, fitted, choose, coverage, rate
):
    X, _ = data
    stream = AdaptiveIntervals(fitted, coverage, rate)
    point = float(fitted.predict(X[:1])[0])
    extremes, n_covered = [], 0
    for n in range(1, 51):
        (lower,), (upper,) = stream.predict_interval(X[:1])
        target = TARGETS[choose](lower, upper, point)
        stream.update(X[:1], [target])
        n_covered += lower <= target <= upper
        extremes.append(stream.level)
        assert stream.bound == (max(coverage, 1 - coverage) + rate) / (rate * n)
        assert abs(stream.n_missed / n - (1 - coverage)) <= stream.bound + 1e-12
        assert n_covered / n >= coverage - stream.bound - 1e-12  # as a user counts
    assert min(extremes) >= -rate - 1e-12 and max(extremes) <= 1 + rate + 1e-12
    if choose == "far":
        assert max(extremes) >= 1 - 1e-12
    if choose == "on the point":
        assert min(extremes) <= 0


def test_rolling_recalibration_is_a_calibration_on_the_last_rows(data, fitted):
    X, y = data
    before = fitted.predict_interval(X, 0.85)
    for window in (40, 100):
        stream = AdaptiveIntervals(fitted, 0.85, rate=0.0, window=window)
        for end in (300, 500):  # before the first update, too
            last = slice(end - window, end)
            anew = copy.copy(fitted).calibrate(X[last], y[last])
            assert_array_equal(stream.predict_interval(X), anew.predict_interval(X, 0.85))
            stream.update(X[300:500], y[300:500])
        assert stream.level == 0.85
    assert_array_equal(fitted.predict_interval(X, 0.85), before)  # the estimator is as it was


def test_drift_breaks_a_fixed_calibration_and_not_the_others(data, fitted):
    X, y = data
    late = slice(600, 1000)
    fixed = covers(y[late], *fitted.predict_interval(X[late])).mean()
    streams = AdaptiveIntervals(fitted, rate=0.05), AdaptiveIntervals(fitted, rate=0, window=100)
    adaptive, rolling = (stream.update(X[late], y[late]).mean() for stream in streams)
    assert fixed < 0.6
    assert abs(adaptive - 0.9) <= streams[0].bound and abs(adaptive - 0.9) < 0.03
    assert 0.8 < rolling < 0.93
    found = measure_drift(fitted, X[late], y[late], rate=0.05)
    assert found == (fixed, adaptive, streams[0].level)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"coverage": 1.0}, r"coverage must be a number in \(0, 1\), got 1"),
        ({"rate": -0.1}, r"rate must be a number in \[0, 1\], got -0.1"),
        ({"window": 0}, "window must be a whole number of at least 1, got 0"),
        ({"window": 101}, "window must be a whole number of at most 100, got 101"),
    ],
)
def test_invalid_options_are_refused_by_name(data, fitted, options, message):
    X, y = data
    with pytest.raises(ValueError, match=message):
        AdaptiveIntervals(fitted, **options)
    with pytest.raises(ValueError, match=r"y must|inconsistent"):
        AdaptiveIntervals(fitted).update(X[:3], y[:2])


def test_estimators_without_all_levels_are_refused(data):
    X, y = data
    with pytest.raises(TypeError, match="reg must be a GT2Regressor or IntervalHead"):
        AdaptiveIntervals("model")
    plain = GT2Regressor(**QUICK).fit(X[:200], y[:200])
    with pytest.raises(ValueError, match=r"reg is not calibrated: call reg.calibrate\(X_cal"):
        AdaptiveIntervals(plain)
    with pytest.raises(ValueError, match=r"method='search', which .* method=\"conformal\""):
        AdaptiveIntervals(plain.calibrate(X[200:300], y[200:300], method="search"))
    with pytest.raises(ValueError, match="reg is calibrated by groups"):
        AdaptiveIntervals(plain.calibrate(X[200:300], y[200:300], groups=["a", "b"] * 50))
