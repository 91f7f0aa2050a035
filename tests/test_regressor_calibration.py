"""Calibration of `GT2Regressor`: levels, sides, groups, and warnings about poor calibrations."""

import math
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

from gt2lite import GT2Regressor
from gt2lite.calibration import CALIBRATORS
from gt2lite.practice.warnings import (
    MissedLevelWarning,
    NarrowEnvelopeWarning,
    is_narrow,
    warn_if_missed,
)

STALLED = {"method": "search", "start": 0.1, "step": 1e-6, "min_step": 1e-6}


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


@pytest.fixture(scope="module")
def held(data):
    return data[0][500:], data[1][500:]


# ---------------------------------------------------------------------------------- levels


@pytest.mark.parametrize(
    ("options", "misses"),  # below and above; None for any that add up to a tenth
    [
        *(({"method": method}, None) for method in CALIBRATORS),
        ({"sides": "lower"}, (0.1, 0)),
        ({"sides": "upper"}, (0, 0.1)),
        ({"sides": "each", "tails": (0.2, 0.8)}, (0.02, 0.08)),
        ({"groups": True}, None),
        ({"groups": True, "sides": "each", "small_groups": "pool"}, None),
    ],
)
def test_every_calibration_misses_its_share_of_the_calibration_set(held, fitted, options, misses):
    X, y = held
    groups = np.where(X[:, 0] > 0, "right", "left") if options.get("groups") else None
    fitted.calibrate(X, y, **options | {"groups": groups})
    lower, upper = fitted.predict_interval(X, [0.8, 0.9], groups=groups)
    np.testing.assert_array_equal(
        fitted.predict_interval(X, groups=groups), (lower[:, 1], upper[:, 1])
    )
    missed = np.mean(y < lower[:, 1]), np.mean(y > upper[:, 1])
    # the table interpolates between planes, the others are within a sample or the rank rule
    near = 0.05 if options.get("method") == "table" else 0.01 if groups is None else 0.02
    assert sum(missed) == pytest.approx(0.1, abs=near)
    assert misses is None or missed == pytest.approx(misses, abs=0.004)
    assert (np.isinf(lower).all(), np.isinf(upper).all()) == (
        options.get("sides") == "upper",
        options.get("sides") == "lower",
    )
    inside = (lower[:, 1] <= y) & (y <= upper[:, 1])
    for row in fitted.calibration_report(0.9):
        assert row.reached == inside[slice(None) if groups is None else groups == row.group].mean()


def test_a_level_before_calibration_says_what_to_call(data):
    reg = GT2Regressor(n_rules=2, epochs=1)
    with pytest.raises(Exception, match="not fitted"):
        reg.predict_interval(data[0])
    with pytest.raises(RuntimeError, match="not calibrated: call calibrate"):
        reg.fit(*data).predict_interval(data[0], coverage=[0.5, 0.9])


def test_a_margin_is_in_own_units_and_added_to_the_lowest_plane(held, fitted):
    X, far = held[0], held[1].copy()
    far[::20] += 1e5  # out of reach of every plane
    fitted.calibrate(X, far, method="exact")
    (row,) = fitted.calibration_report(0.99)
    assert np.isnan(row.alpha) and 9e4 < row.margin < 1.1e5
    planes = fitted.model_.planes(fitted.model_.scale(X))
    lower, upper = (fitted.scaler_.inverse_y(bound) for bound in planes(planes.alpha_min))
    np.testing.assert_allclose(
        fitted.predict_interval(X, coverage=0.99), [lower - row.margin, upper + row.margin]
    )


# ------------------------------------------------------------------------ sides and groups


@pytest.mark.parametrize(
    ("bad", "named"),
    [
        ({"method": "magic"}, "method"),
        ({"sides": "left"}, "sides"),
        ({"sides": "each", "method": "table"}, "sides"),
        ({"groups": ["a"] * 400, "method": "search"}, "groups"),
        ({"groups": ["a"]}, "groups"),
        ({"tails": (0.2, 0.8)}, "tails"),
    ],
)
def test_a_calibration_that_fails_is_explained_and_leaves_the_old_one(held, fitted, bad, named):
    old = fitted.calibrate(*held, method="exact").calibrator_
    with pytest.raises(ValueError, match=named):
        fitted.calibrate(*held, **bad)
    assert fitted.calibrator_ is old


@pytest.mark.parametrize(
    ("grouped", "asked", "named"),
    [
        (True, {"coverage": 0.9}, "groups are missing"),
        (True, {"groups": ["a"] * 399}, "groups"),
        (True, {"groups": ["up"] * 400}, "got 'up'"),
        (True, {"groups": ["a"] * 400, "alpha": 0.5}, "alpha"),
        (False, {"groups": ["a"] * 400}, "not by groups"),
        (False, {"coverage": [0.9], "alpha": 0.5}, "coverage must be None if alpha"),
    ],
)
def test_arguments_of_predict_interval_that_do_not_fit(held, fitted, grouped, asked, named):
    X, y = held
    fitted.calibrate(X, y, groups=["a", "b"] * 200 if grouped else None)
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


def test_a_search_that_returns_one_interval_for_all_levels_is_reported(held, fitted):
    X, y = held
    assert missed(fitted.calibrate(X, y, method="table", step=1.0), X, 0.7)  # coarse
    fitted.calibrate(X, y, **STALLED)
    found = missed(fitted, X, [0.5, 0.8, 0.9])
    reached = {level: fitted.calibration_report(level)[0].reached for level in (0.5, 0.8, 0.9)}
    wanted = [level for level in reached if abs(reached[level] - level) > 0.02]
    assert len(found) == len(wanted) >= 2  # one interval cannot be right for three levels
    for level, text in zip(wanted, found, strict=True):
        assert f"{level:g}" in text and f"{reached[level]:.1%}" in text


def test_a_level_is_reported_once_and_again_after_a_new_calibration(held, fitted):
    X, y = held
    fitted.calibrate(X, y, **STALLED)
    assert [len(missed(fitted, X, level)) for level in (0.5, 0.5, 0.6, [0.5, 0.4])] == [1, 0, 1, 1]
    fitted.calibrate(X, y, **STALLED)
    with pytest.warns(MissedLevelWarning) as caught:
        fitted.predict_interval(X, 0.5)
    assert caught[0].filename == __file__


def test_methods_by_ranks_miss_no_level_nor_does_a_group_that_uses_the_planes_of_all(held, fitted):
    X, y = held
    levels = [0.05, 0.5, 0.8, 0.9, 0.95]
    assert missed(fitted.calibrate(X, y, "exact", sides="each"), X, levels) == []
    groups = ["big"] * 395 + ["small"] * 5
    with pytest.warns(UserWarning, match="fewer than 100"):
        fitted.calibrate(X, y, groups=groups, small_groups="pool")
    assert missed(fitted, X, levels, groups=groups) == []


@pytest.mark.parametrize("groups", [None, ["a"] * 300 + ["b"] * 100])
def test_ties_that_push_conformal_above_its_level_are_reported(held, fitted, groups):
    X = held[0]
    y = fitted.predict_interval(X, alpha=1)[0]  # predicted exactly: every plane covers all
    fitted.calibrate(X, y, groups=groups)
    (text,) = missed(fitted, X, 0.5, groups=groups)
    worst = max(row.reached for row in fitted.calibration_report(0.5))
    assert worst > 0.8 and f"{worst:.1%}" in text
    assert ("1 more groups" in text) == (groups is not None)


@pytest.mark.parametrize(
    ("reached", "n", "method", "far"),
    [
        *((0.921, 1000, "search", True), (0.879, 1000, "table", True)),
        *((0.919, 1000, "search", False), (0.98, 40, "search", False)),  # less than four rows
        *((0.951, 1000, "exact", True), (0.949, 1000, "conformal", False)),
        *((1.0, 9, "conformal", False), (math.nan, 50, "conformal", False)),
    ],
)
def test_how_far_is_far(reached, n, method, far):
    row = SimpleNamespace(reached=reached, n_samples=n, calibrated_on="all", group=None)
    calibrator = SimpleNamespace(method=method, report=lambda level: [row])
    assert len(messages(lambda: warn_if_missed(calibrator, 0.9), MissedLevelWarning)) == far


# ------------------------------------------------------------------------ narrow envelopes


@pytest.mark.parametrize("options", [{}, {"method": "table"}, {"groups": ["a", "b"] * 200}])
def test_an_envelope_that_covers_far_less_is_reported_with_both_numbers(held, fitted, options):
    X = held[0]
    lower, upper = fitted.predict_interval(X, alpha=0.01)
    inside = (lower + upper) / 2
    with pytest.warns(NarrowEnvelopeWarning, match=r"99\.0%.*66\.5%") as caught:
        fitted.calibrate(X, np.where(np.arange(400) % 3 == 0, upper + 1, inside), **options)
    assert caught[0].filename == __file__
    assert not messages(lambda: fitted.calibrate(X, inside, **options), NarrowEnvelopeWarning)


def test_margins_are_not_taken_for_the_trained_envelope(data, held):
    reg = GT2Regressor(n_rules=2, epochs=1, margins=0.5).fit(*data)
    assert not messages(lambda: reg.calibrate(held[0], held[1] + 1e6), NarrowEnvelopeWarning)


@pytest.mark.parametrize(
    ("k", "n", "p", "narrow"),
    [
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
