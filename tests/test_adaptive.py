"""Adaptive intervals: the theorem on adversarial sequences, rolling recalibration, refusals."""

import copy
import pickle
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gt2lite import GT2Regressor, IntervalHead
from gt2lite.metrics import covers
from gt2lite.practice.adaptive import (
    AdaptiveIntervals,
    InfiniteIntervalsWarning,
    measure_drift,
)
from gt2lite.practice.warnings import ClippedInputsWarning

pytestmark = pytest.mark.filterwarnings("ignore::gt2lite.calibration.SmallCalibrationWarning")
many_infinite = pytest.mark.filterwarnings(
    "ignore::gt2lite.practice.adaptive.InfiniteIntervalsWarning"
)


@pytest.fixture(scope="module")
def data():
    """1,000 rows whose noise grows from row 600 on: 200 train, 100 calibrate, the rest is later."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(1000, 1))
    noise = np.where(np.arange(1000) < 600, 0.3, 1.2)
    return X, 5 + np.sin(2 * X[:, 0]) + noise * rng.normal(size=1000)


QUICK = {"n_rules": 2, "epochs": 5}


def inside(y, bounds):
    """Return which targets lie between bounds, which may be infinite."""
    return (bounds[0] <= y) & (y <= bounds[1])


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


@many_infinite
def test_by_row_a_table_is_its_rows_one_after_the_other(data, fitted):
    X, y = data
    for window in (None, 50):
        one, all_ = (AdaptiveIntervals(fitted, 0.9, 0.03, window) for _ in range(2))
        by_row = [one.update(X[[i]], y[[i]])[0] for i in range(590, 620)]
        assert all_.update(X[590:620], y[590:620], by_row=True).tolist() == by_row
        assert (one.level, one.bound) == (all_.level, all_.bound)
        # a row of a batch may be summed in another order than a row alone
        assert_allclose(one.predict_interval(X), all_.predict_interval(X), rtol=1e-9)


@many_infinite
@pytest.mark.parametrize("window", [None, 40])
def test_a_batch_is_counted_at_the_level_at_which_it_is_shown(data, reg, window):
    X, y = data
    stream, start, level = AdaptiveIntervals(reg, 0.8, 0.02, window), 595, 0.8
    for size in (1, 7, 30, 2, 60):
        rows = slice(start, start + size)
        shown = inside(abs(y[rows]), stream.predict_interval(X[rows]))
        assert_array_equal(stream.update(X[rows], abs(y[rows])), shown)
        level += 0.02 * ((~shown).sum() - 0.2 * size)
        start += size
        assert stream.level == pytest.approx(level)
    assert stream.n_rows == 100
    assert stream.bound == (0.8 + 0.02 * 60) / (0.02 * 100)  # 60 is the largest batch


@pytest.mark.parametrize("level", [0.5, 0.9])
def test_a_target_on_a_bound_is_inside(data, reg, level):
    X, _ = data
    lower, upper = AdaptiveIntervals(reg, level, 0.0).predict_interval(X[:200])
    for bound in (lower, upper):
        if np.isfinite(bound).all():  # of an upper bound alone, the lower one is not
            assert AdaptiveIntervals(reg, level, 0.0).update(X[:200], bound).all()
            stream, alone = AdaptiveIntervals(reg, level, 0.0), []
            for i in range(60):
                (low,), (high,) = AdaptiveIntervals(reg, level, 0.0).predict_interval(X[[i]])
                alone.append(high if bound is upper else low)
            assert stream.update(X[:60], alone, by_row=True).all()
            beyond = np.array(alone) + (1e-6 if bound is upper else -1e-6)
            assert not stream.update(X[:60], beyond, by_row=True).any()
            for i in range(20):
                (low,), (high,) = AdaptiveIntervals(reg, level, 0.0).predict_interval(X[[i]])
                one = high if bound is upper else low
                assert AdaptiveIntervals(reg, level, 0.0).update(X[[i]], [one]).all()


TARGETS = {
    "far": lambda lower, upper, point, i: 1e6,
    "on the point": lambda lower, upper, point, i: point,  # even the narrowest interval covers it
    "contrary": lambda lower, upper, point, i: upper + 1e-6 if np.isfinite(upper) else point,
    # a batch whose first rows lower a level that moves within it, and whose last ones miss
    "late": lambda lower, upper, point, i: point if i < 0.3 else upper + 1e-6,
}


@many_infinite
@pytest.mark.parametrize("choose", TARGETS)
@pytest.mark.parametrize("sizes", [(1,), (20,), (3, 1, 40, 7)])
@pytest.mark.parametrize(("coverage", "rate"), [(0.9, 0.2), (0.1, 0.3), (0.9, 0.01)])
def test_the_bound_holds_after_every_batch_of_an_adversarial_sequence(
    data, fitted, choose, sizes, coverage, rate
):
    X, _ = data
    stream = AdaptiveIntervals(fitted, coverage, rate)
    point = float(fitted.predict(X[:1])[0])
    extremes, n, n_covered, largest = [], 0, 0, 0
    for size in 50 * sizes if sizes == (1,) else 8 * sizes:
        lower, upper = stream.predict_interval(X[[0] * size])
        target = np.array(
            [TARGETS[choose](lower[i], upper[i], point, i / size) for i in range(size)]
        )
        target = np.where(np.isfinite(target), target, point)
        stream.update(X[[0] * size], target)
        n, n_covered = n + size, n_covered + inside(target, (lower, upper)).sum()
        largest = max(largest, size)
        extremes.append(stream.level)
        assert stream.bound == (max(coverage, 1 - coverage) + rate * largest) / (rate * n)
        assert abs(stream.n_missed / n - (1 - coverage)) <= stream.bound + 1e-12
        assert n_covered >= n - stream.n_missed  # a user counts no fewer of those shown
    assert min(extremes) >= -rate * largest * (1 - coverage) - 1e-12
    assert max(extremes) <= 1 + rate * largest * coverage + 1e-12
    if choose == "far" and rate > 0.1:
        assert max(extremes) >= 1 - 1e-12
    if choose == "on the point" and rate > 0.1:
        assert min(extremes) <= 0


@many_infinite
def test_targets_that_come_late_are_outside_the_theorem(data, fitted):
    """Each row is shown before the target of the last one is known: the limit the page states."""
    X, _ = data
    stream, x, n_missed = AdaptiveIntervals(fitted, 0.9, rate=0.2), X[:1], 0
    shown = stream.predict_interval(x)
    for _ in range(500):
        following = stream.predict_interval(x)
        beyond = shown[1] + 1e-6  # of the interval shown, which is not the one that is counted
        target = np.where(np.isfinite(beyond), beyond, fitted.predict(x))
        n_missed += int(~inside(target, shown)[0])
        stream.update(x, target)
        shown = following
    assert abs(stream.n_missed / 500 - 0.1) <= stream.bound < 0.012
    assert n_missed / 500 > 0.19


def test_infinite_intervals_are_counted_and_reported_once(data, fitted):
    X, y = data
    stream, trend = AdaptiveIntervals(fitted, rate=0.05), y + 0.5 * np.arange(1000)
    n_infinite, messages = 0, []
    for i in range(300, 400):
        lower, upper = stream.predict_interval(X[[i]])
        n_infinite += np.isinf(lower[0]) and np.isinf(upper[0])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            stream.update(X[[i]], trend[[i]])
        messages += [w for w in caught if w.category is InfiniteIntervalsWarning]
        assert stream.n_infinite == n_infinite
    assert n_infinite > 50 and len(messages) == 1
    assert str(messages[0].message).startswith("10 of 14 intervals were infinite: after many")
    calm = AdaptiveIntervals(fitted, rate=0.05)  # a few are no news
    calm.update(X[300:600], y[300:600], by_row=True)
    assert 0 < calm.n_infinite < 30


def test_a_bound_that_is_open_on_purpose_is_not_counted_as_infinite(data, fitted):
    X, y = data
    upper = copy.copy(fitted).calibrate(X[200:300], y[200:300], sides="upper")
    stream = AdaptiveIntervals(upper, rate=0.0)
    stream.update(X[300:500], y[300:500])
    assert stream.n_infinite == 0


@pytest.mark.parametrize("kind", ["regressor", "head"])
def test_a_stream_of_an_estimator_that_learned_anew_is_refused(data, fitted, kind):
    X, y = data
    reg = copy.copy(fitted)
    if kind == "head":
        from sklearn.linear_model import LinearRegression

        reg = IntervalHead(LinearRegression(), GT2Regressor(**QUICK)).fit(X[:200], y[:200])
        reg.calibrate(X[200:300], y[200:300])
    stream = AdaptiveIntervals(reg)
    stream.update(X[300:310], y[300:310])
    again = pickle.loads(pickle.dumps(stream))
    assert_array_equal(again.predict_interval(X), stream.predict_interval(X))
    for learn in (
        lambda: reg.calibrate(X[600:700], y[600:700]),
        lambda: reg.fit(X[:200], 1000 * y[:200]),
    ):
        learn()
        before = stream.n_rows, stream.level
        with pytest.raises(RuntimeError, match=r"trained or calibrated again.*AdaptiveIntervals\("):
            stream.predict_interval(X)
        with pytest.raises(RuntimeError, match="trained or calibrated again"):
            stream.update(X, y)
        assert (stream.n_rows, stream.level) == before


def test_clipped_rows_are_reported_once_for_each_call(data):
    X, y = data
    reg = GT2Regressor(clip_inputs=True, **QUICK).fit(X[:200], y[:200])
    reg.calibrate(X[200:300], y[200:300])
    far, target = np.full((5, 1), 50.0), np.full(5, 5.0)
    stream = AdaptiveIntervals(reg)
    for call in (
        lambda: stream.predict_interval(far),
        lambda: stream.update(far, target),
        lambda: stream.update(far, target, by_row=True),
        lambda: measure_drift(reg, far, target),
    ):
        with pytest.warns(ClippedInputsWarning, match="5 of 5 rows") as caught:
            call()
        assert len(caught) == 1


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


@many_infinite
def test_drift_breaks_a_fixed_calibration_and_not_the_others(data, fitted):
    X, y = data
    late = slice(600, 1000)
    fixed = covers(y[late], *fitted.predict_interval(X[late])).mean()
    streams = AdaptiveIntervals(fitted, rate=0.05), AdaptiveIntervals(fitted, rate=0, window=100)
    adaptive, rolling = (s.update(X[late], y[late], by_row=True).mean() for s in streams)
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
