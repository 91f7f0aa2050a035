"""One end alone, and ends that miss unequally often, asked of the estimator."""

import numpy as np
import pytest

from gt2lite import GT2Regressor
from gt2lite.calibration import TwoSidedCalibrator

SETTINGS = {"n_rules": 4, "epochs": 40, "learning_rate": 0.03}
WAYS = {
    "lower": {"sides": "lower"},
    "upper": {"sides": "upper"},
    "unequal": {"sides": "each", "tails": (0.2, 0.8)},
}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(1400, 2))
    return X, 10 + X[:, 0] + (1 + X[:, 1] ** 2) * rng.gamma(2, size=1400)


@pytest.fixture(scope="module")
def fitted(table):
    X, y = table
    return GT2Regressor(**SETTINGS).fit(X[:400], y[:400])


@pytest.mark.parametrize("way", WAYS)
def test_each_end_misses_as_rarely_as_promised(table, fitted, way):
    X, y = table
    fitted.calibrate(X[400:900], y[400:900], **WAYS[way])
    lower, upper = fitted.predict_interval(X[900:], coverage=0.9)
    below, above = (y[900:] < lower).mean(), (y[900:] > upper).mean()
    wanted = {"lower": (0.1, 0), "upper": (0, 0.1), "unequal": (0.02, 0.08)}[way]
    assert below == pytest.approx(wanted[0], abs=0.04) and above == pytest.approx(
        wanted[1], abs=0.04
    )
    if way == "lower":
        assert above == 0 and (upper == np.inf).all() and np.isfinite(lower).all()
    if way == "upper":
        assert below == 0 and (lower == -np.inf).all() and np.isfinite(upper).all()


def test_one_end_alone_is_nearer_than_that_of_two(table, fitted):
    X, y = table
    rows = X[400:900], y[400:900]
    two = fitted.calibrate(*rows, sides="each").predict_interval(X[900:], 0.9)
    upper = fitted.calibrate(*rows, sides="upper").predict_interval(X[900:], 0.9)[1]
    assert (upper <= two[1]).all() and (upper < two[1]).any()


@pytest.mark.parametrize("way", WAYS)
def test_a_file_remembers_the_ends(table, fitted, way, tmp_path):
    X, y = table
    fitted.calibrate(X[400:900], y[400:900], **WAYS[way])
    fitted.save(tmp_path / "model.json")
    again = GT2Regressor.load(tmp_path / "model.json")
    assert isinstance(again.calibrator_, TwoSidedCalibrator)
    for coverage in (0.9, [0.5, 0.95]):
        found = again.predict_interval(X[:50], coverage)
        np.testing.assert_array_equal(found, fitted.predict_interval(X[:50], coverage))


def test_groups_go_with_one_end(table, tmp_path):
    X, y = table
    groups = np.where(X[:, 1] > 0, "a", "b")
    reg = GT2Regressor(**SETTINGS)
    reg.fit_calibrate(X[:900], y[:900], groups=groups[:900], sides="upper")
    reg.save(tmp_path / "model.json")
    for one in (reg, GT2Regressor.load(tmp_path / "model.json")):
        upper = one.predict_interval(X[900:], 0.9, groups=groups[900:])[1]
        for name in "ab":
            rows = groups[900:] == name
            assert 0.8 < (y[900:] <= upper)[rows].mean() < 0.98


def test_an_explanation_says_that_there_is_no_such_end(table, fitted):
    X, y = table
    fitted.calibrate(X[400:900], y[400:900], sides="lower")
    why = fitted.explain(X[0], 0.9)
    assert why.upper == np.inf
    assert "upper end: none" in str(why)
    total = why.lower_end.weights @ why.consequents + why.lower_end.margin
    assert total == pytest.approx(why.lower)


def test_enough_rows_are_kept_for_the_smaller_tail(table):
    X, y = table
    reg = GT2Regressor(**SETTINGS)
    with pytest.raises(ValueError, match="at least 196 rows"):
        reg.fit_calibrate(X[:100], y[:100], **WAYS["unequal"])
    with pytest.warns(UserWarning, match="fewer than 100"):
        reg.fit_calibrate(X[:196], y[:196], **WAYS["unequal"])
    assert np.isfinite(reg.predict_interval(X, 0.9)).all()


@pytest.mark.parametrize(
    ("bad", "named"),
    [
        ({"sides": "left"}, "sides must be one of 'both', 'each', 'lower', 'upper', got 'left'"),
        ({"sides": "lower", "method": "search"}, "sides='lower' can be had with method="),
        ({"sides": "both", "tails": (0.2, 0.8)}, "tails belong to sides='each'.*got sides='both'"),
        ({"sides": "lower", "tails": (0.2, 0.8)}, "tails belong to sides='each'"),
        ({"sides": "each", "tails": (0.2, 0.9)}, "tails must be two shares that add up to 1"),
    ],
)
def test_what_does_not_go_together_is_told(table, fitted, bad, named):
    X, y = table
    with pytest.raises(ValueError, match=named):
        fitted.calibrate(X[400:900], y[400:900], **bad)
