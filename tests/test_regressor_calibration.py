"""Calibration of `GT2Regressor`: levels, sides, groups, and warnings about poor calibrations."""

import math
import warnings

import numpy as np
import pytest

from gt2lite import GT2Regressor
from gt2lite.calibration import CALIBRATORS
from gt2lite.regressor import (
    MissedLevelWarning,
    NarrowEnvelopeWarning,
    binomial_tail,
    is_far,
    is_narrow,
)

STALLED = {"method": "search", "start": 0.1, "step": 1e-6, "min_step": 1e-6}
KINDS = {
    "both": {},
    "each": {"sides": "each"},
    "groups": {"groups": True},
    "all": {"sides": "each", "groups": True, "small_groups": "pool"},
}


@pytest.fixture(scope="module")
def data():
    """900 rows in mixed units with skewed noise: 500 to train on, 400 to calibrate on."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=(900, 3))
    noise = rng.gamma(2, size=900) - 2
    y = 1e4 + 500 * (z[:, 0] + np.sin(2 * z[:, 1]) + (0.2 + 0.1 * (z[:, 0] > 0)) * noise)
    return z * [1.0, 100.0, 1e-3] + [0.0, 5000.0, 1.0], y


@pytest.fixture(scope="module")
def fitted(data):
    X, y = data
    return GT2Regressor(n_rules=4, epochs=60, learning_rate=0.03).fit(X[:500], y[:500])


def names_of(X):
    return np.where(X[:, 0] > 0, "right", "left")


# ---------------------------------------------------------------------------------- levels


@pytest.mark.parametrize("method", CALIBRATORS)
def test_every_method_reaches_its_level_on_the_calibration_set(data, fitted, method):
    X, y = data
    fitted.calibrate(X[500:], y[500:], method=method)
    lower, upper = fitted.predict_interval(X[500:], coverage=0.8)
    covered = np.mean((lower <= y[500:]) & (y[500:] <= upper))
    # the table interpolates between planes, the others are within a sample or the rank rule
    assert covered == pytest.approx(0.8, abs=0.05 if method == "table" else 0.01)
    assert fitted.calibrator_.method == method


def test_one_level_gives_a_row_and_several_give_a_column_each(data, fitted):
    X, y = data
    fitted.calibrate(X[500:], y[500:])
    one, many = fitted.predict_interval(X, 0.8), fitted.predict_interval(X, [0.5, 0.8])
    assert one[0].shape == (900,) and many[0].shape == (900, 2)
    np.testing.assert_array_equal(many[0][:, 1], one[0])
    np.testing.assert_array_equal(many[1][:, 1], one[1])
    assert fitted.predict_interval(X, coverage=np.array([0.8]))[0].shape == (900, 1)
    np.testing.assert_array_equal(fitted.predict_interval(X), fitted.predict_interval(X, 0.9))
    assert fitted.calibrator_.method == "conformal"


@pytest.mark.parametrize("asked", [{}, {"coverage": 0.9}, {"coverage": [0.5, 0.9]}])
def test_a_level_before_calibration_says_what_to_call(data, asked):
    X, y = data
    reg = GT2Regressor(n_rules=2, epochs=1)
    with pytest.raises(Exception, match="not fitted"):
        reg.predict_interval(X, **asked)
    reg.fit(X, y)
    with pytest.raises(RuntimeError, match="not calibrated: call calibrate"):
        reg.predict_interval(X, **asked)


def test_a_margin_is_in_own_units_and_added_to_the_lowest_plane(data, fitted):
    X, y = data
    far = y[500:].copy()
    far[::20] += 1e5  # out of reach of every plane
    fitted.calibrate(X[500:], far, method="exact")
    (row,) = fitted.calibration_report(0.99)
    assert np.isnan(row.alpha) and 9e4 < row.margin < 1.1e5
    planes = fitted._planes(X)
    lower, upper = (fitted.scaler_.inverse_y(bound) for bound in planes(planes.alpha_min))
    np.testing.assert_allclose(
        fitted.predict_interval(X, coverage=0.99), [lower - row.margin, upper + row.margin]
    )


# ------------------------------------------------------------------------ sides and groups


@pytest.mark.parametrize("method", ["exact", "conformal"])
@pytest.mark.parametrize("kind", KINDS)
def test_levels_are_reached_within_and_beyond_the_envelope(data, fitted, method, kind):
    X, y = data[0][500:], data[1][500:].copy()
    y[::40] += 5e3  # beyond the envelope
    groups, options = names_of(X), dict(KINDS[kind])
    if options.pop("groups", False):
        options["groups"] = groups
    fitted.calibrate(X, y, method=method, **options)
    asked = groups if "groups" in options else None
    lower, upper = fitted.predict_interval(X, coverage=[0.5, 0.985], groups=asked)
    inside = (lower <= y[:, None]) & (y[:, None] <= upper)
    assert (inside.mean(axis=0) >= [0.5, 0.985]).all()
    envelope = fitted.predict_interval(X, alpha=0.01)
    assert np.mean((envelope[0] <= y) & (y <= envelope[1])) < 0.985
    if kind == "groups":  # each of them on its own
        assert all(inside[groups == name, 1].mean() >= 0.985 for name in ("left", "right"))
    rows = fitted.calibration_report(0.985)
    assert [row.group for row in rows] == (["left", "right"] if asked is not None else [None])
    reached = sum(row.reached * row.n_samples for row in rows) / 400
    assert reached == pytest.approx(inside[:, 1].mean(), abs=1e-12)


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({"sides": "lower"}, (0.1, 0)),
        ({"sides": "upper"}, (0, 0.1)),
        ({"sides": "each"}, (0.05, 0.05)),
        ({"sides": "each", "tails": (0.2, 0.8)}, (0.02, 0.08)),
    ],
)
def test_each_side_has_its_share_of_the_misses(data, fitted, options, wanted):
    X, y = data[0][500:], data[1][500:]
    lower, upper = fitted.calibrate(X, y, **options).predict_interval(X, coverage=0.9)
    misses = (y < lower).mean(), (y > upper).mean()
    assert misses == pytest.approx(wanted, abs=0.004)
    assert (np.isinf(lower).all(), np.isinf(upper).all()) == (wanted[0] == 0, wanted[1] == 0)


@pytest.mark.parametrize(
    ("bad", "named"),
    [
        ({"method": "magic"}, "method"),
        ({"sides": "left"}, "sides"),
        ({"sides": "each", "method": "table"}, "sides"),
        ({"sides": "lower", "method": "search"}, "sides"),
        ({"groups": ["a"] * 400, "method": "search"}, "groups"),
        ({"groups": ["a"]}, "groups"),
        ({"tails": (0.2, 0.8)}, "tails"),
        ({"sides": "lower", "tails": (0.2, 0.8)}, "tails"),
        ({"sides": "each", "tails": (0.2, 0.9)}, "tails"),
    ],
)
def test_a_calibration_that_fails_is_explained_and_leaves_the_old_one(data, fitted, bad, named):
    X, y = data
    old = fitted.calibrate(X[500:], y[500:], method="exact").calibrator_
    with pytest.raises(ValueError, match=named):
        fitted.calibrate(X[500:], y[500:], **bad)
    assert fitted.calibrator_ is old


@pytest.mark.parametrize(
    ("grouped", "asked", "named"),
    [
        (True, {"coverage": 0.9}, "groups are missing"),
        (True, {"groups": ["left"] * 899}, "groups"),
        (True, {"groups": ["up"] * 900}, "got 'up'"),
        (True, {"groups": ["left"] * 900, "alpha": 0.5}, "alpha"),
        (False, {"groups": ["left"] * 900}, "not by groups"),
        (False, {"coverage": 0.9, "alpha": 0.5}, "coverage must be None if alpha"),
        (False, {"coverage": [0.9], "alpha": 0.5}, "coverage must be None if alpha"),
    ],
)
def test_arguments_of_predict_interval_that_do_not_fit(data, fitted, grouped, asked, named):
    X, y = data
    groups = names_of(X[500:]) if grouped else None
    fitted.calibrate(X[500:], y[500:], groups=groups)
    with pytest.raises(ValueError, match=named):
        fitted.predict_interval(X, **asked)


# --------------------------------------------------------------------------- missed levels


def messages(act, kind):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        act()
    return [str(w.message) for w in caught if issubclass(w.category, kind)]


def missed(reg, X, coverage, **options):
    return messages(lambda: reg.predict_interval(X, coverage, **options), MissedLevelWarning)


def test_a_search_that_returns_one_interval_for_all_levels_is_reported(data, fitted):
    X, y = data[0][500:], data[1][500:]
    assert missed(fitted.calibrate(X, y, method="table", step=1.0), X, 0.7)  # coarse
    fitted.calibrate(X, y, **STALLED)
    found = missed(fitted, X, [0.5, 0.8, 0.9])
    reached = {level: fitted.calibration_report(level)[0].reached for level in (0.5, 0.8, 0.9)}
    wanted = [level for level in reached if abs(reached[level] - level) > 0.02]
    assert len(found) == len(wanted) >= 2  # one interval cannot be right for three levels
    for level, text in zip(wanted, found, strict=True):
        assert f"{level:g}" in text and f"{reached[level]:.1%}" in text


def test_a_level_is_reported_once_and_again_after_a_new_calibration(data, fitted):
    X, y = data[0][500:], data[1][500:]
    fitted.calibrate(X, y, **STALLED)
    assert [len(missed(fitted, X, level)) for level in (0.5, 0.5, 0.6, [0.5, 0.4])] == [1, 0, 1, 1]
    fitted.calibrate(X, y, **STALLED)
    with pytest.warns(MissedLevelWarning) as caught:
        fitted.predict_interval(X, 0.5)
    assert caught[0].filename == __file__


@pytest.mark.parametrize("method", ["exact", "conformal"])
@pytest.mark.parametrize("options", [{}, {"sides": "each"}, {"groups": ["a", "b"] * 200}])
def test_methods_by_ranks_miss_no_level(data, fitted, method, options):
    X, y = data[0][500:], data[1][500:]
    fitted.calibrate(X, y, method, **options)
    levels = [0.05, 0.5, 0.8, 0.9, 0.95]
    assert missed(fitted, X, levels, groups=options.get("groups")) == []


@pytest.mark.parametrize("groups", [None, ["a"] * 300 + ["b"] * 100])
def test_ties_that_push_conformal_above_its_level_are_reported(data, fitted, groups):
    X = data[0][500:]
    y = fitted.predict_interval(X, alpha=1)[0]  # predicted exactly: every plane covers all
    fitted.calibrate(X, y, groups=groups)
    (text,) = missed(fitted, X, 0.5, groups=groups)
    worst = max(row.reached for row in fitted.calibration_report(0.5))
    assert worst > 0.8 and f"{worst:.1%}" in text
    assert ("1 more groups" in text) == (groups is not None)


def test_a_group_that_uses_the_planes_of_all_misses_no_level(data, fitted):
    X, y = data[0][500:], data[1][500:]
    groups = ["big"] * 395 + ["small"] * 5
    with pytest.warns(UserWarning, match="fewer than 100"):
        fitted.calibrate(X, y, groups=groups, small_groups="pool")
    assert missed(fitted, X, 0.9, groups=groups) == []


@pytest.mark.parametrize(
    ("reached", "level", "n", "method", "one_each", "far"),
    [
        (0.921, 0.9, 1000, "search", False, True),
        (0.879, 0.9, 1000, "table", False, True),
        (0.919, 0.9, 1000, "search", False, False),
        (0.94, 0.9, 40, "search", False, False),  # less than two rows
        (0.96, 0.9, 40, "search", False, True),
        (0.951, 0.9, 1000, "exact", False, True),
        (0.949, 0.9, 1000, "conformal", False, False),
        (0.5, 0.9, 1000, "conformal", False, False),  # never below, so never reported
        (1.0, 0.9, 9, "conformal", False, False),
        (0.96, 0.9, 50, "conformal", True, False),  # three rows, each bound rounds
        (0.96, 0.9, 50, "conformal", False, True),
        (math.nan, 0.9, 50, "conformal", False, False),
    ],
)
def test_how_far_is_far(reached, level, n, method, one_each, far):
    assert is_far(reached, level, n, method, one_each) is far


# ------------------------------------------------------------------------ narrow envelopes


@pytest.mark.parametrize(
    "options",
    [*({"method": m} for m in CALIBRATORS), {"sides": "each"}, {"groups": ["a", "b"] * 200}],
)
def test_an_envelope_that_covers_far_less_is_reported_with_both_numbers(data, fitted, options):
    X = data[0][500:]
    lower, upper = fitted.predict_interval(X, alpha=0.01)
    outside = np.where(np.arange(400) % 3 == 0, upper + 1, (lower + upper) / 2)
    with pytest.warns(NarrowEnvelopeWarning, match=r"99\.0%.*66\.5%") as caught:
        fitted.calibrate(X, outside, **options)
    assert caught[0].filename == __file__
    inside = (lower + upper) / 2
    assert not messages(lambda: fitted.calibrate(X, inside, **options), NarrowEnvelopeWarning)


def test_margins_are_not_taken_for_the_trained_envelope(data):
    X, y = data
    reg = GT2Regressor(n_rules=2, epochs=1, margins=0.5).fit(X[:500], y[:500])
    assert not messages(lambda: reg.calibrate(X[500:], y[500:] + 1e6), NarrowEnvelopeWarning)


def test_overfitting_is_reported():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(320, 30)), rng.normal(size=320)
    reg = GT2Regressor.strong(choose=False, n_systems=1, epochs=40)
    with pytest.warns(NarrowEnvelopeWarning):
        reg.fit_calibrate(X, y, share=0.5)


@pytest.mark.parametrize(
    ("k", "n", "p", "narrow"),
    [
        (650, 1000, 0.99, True),
        (945, 1000, 0.99, False),  # significant, but not large
        (935, 1000, 0.99, True),
        (9, 10, 0.99, False),  # probability 0.1
        (7, 10, 0.99, True),  # probability 1e-4
        (0, 3, 0.5, False),  # probability 1/8
        (0, 10, 0.5, True),  # probability 1/1024
        (1000, 1000, 0.99, False),
    ],
)
def test_how_narrow_is_narrow(k, n, p, narrow):
    assert is_narrow(k, n, p) is narrow


@pytest.mark.parametrize(("n", "p"), [(1, 0.3), (12, 0.5), (60, 0.99), (400, 0.9)])
def test_the_binomial_tail_is_the_sum_of_its_terms(n, p):
    terms = [math.comb(n, j) * p**j * (1 - p) ** (n - j) for j in range(n + 1)]
    for k in range(math.ceil(n * p)):
        assert binomial_tail(k, n, p) == pytest.approx(sum(terms[: k + 1]), rel=1e-10, abs=1e-200)
    assert binomial_tail(989_000, 10**6, 0.99) < 1e-20
    assert 0.4 < binomial_tail(989_999, 10**6, 0.99) < 0.6
