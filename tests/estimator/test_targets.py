"""Facts about log targets: levels carry over, ends are positive, and files remember it."""

import numpy as np
import pytest

from gt2lite import GT2Regressor
from gt2lite.metrics import picp

SETTINGS = {"n_rules": 4, "epochs": 40, "learning_rate": 0.03}


@pytest.fixture(scope="module")
def prices():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 2, size=(900, 2))
    return X, np.exp(3 * X[:, 0] + 0.5 * rng.normal(size=900))


@pytest.fixture(scope="module")
def logs(prices):
    X, y = prices
    return GT2Regressor(**SETTINGS, target_transform="log").fit_calibrate(X[:600], y[:600])


@pytest.fixture(scope="module")
def by_hand(prices):
    """The same with the logarithm taken by hand."""
    X, y = prices
    return GT2Regressor(**SETTINGS).fit_calibrate(X[:600], np.log(y[:600]))


def test_it_is_the_system_of_the_logarithms(prices, logs, by_hand):
    X, _ = prices
    np.testing.assert_array_equal(logs.predict(X), np.exp(by_hand.predict(X)))
    for asked in ({"coverage": 0.9}, {"coverage": [0.5, 0.8]}, {"alpha": 0.01}):
        found = logs.predict_interval(X, **asked)
        np.testing.assert_array_equal(found, np.exp(by_hand.predict_interval(X, **asked)))
    assert logs.calibration_report(0.9) == by_hand.calibration_report(0.9)


def test_ends_are_positive_and_levels_carry_over(prices, logs):
    X, y = prices
    lower, upper = logs.predict_interval(X[600:], [0.8, 0.95])
    assert (lower > 0).all()
    assert 0.74 < picp(y[600:], lower[:, 0], upper[:, 0]) < 0.88
    assert 0.9 < picp(y[600:], lower[:, 1], upper[:, 1]) < 0.99
    plain = GT2Regressor(**SETTINGS).fit_calibrate(X[:600], y[:600])
    assert (plain.predict_interval(X[600:], 0.95)[0] < 0).any()  # what it is good for


def test_rules_and_explanations_speak_of_logarithms(prices, logs, by_hand):
    X, _ = prices
    rules = str(logs.rules(X, target="price"))
    assert rules == str(by_hand.rules(X, target="log(price)"))
    why, other = logs.explain(X[0], 0.9), by_hand.explain(X[0], 0.9)
    assert str(why) == str(other).replace("y: prediction", "log(y): prediction")
    assert np.exp(why.prediction) == pytest.approx(logs.predict(X[:1])[0])
    assert np.exp(why.upper) == pytest.approx(logs.predict_interval(X[:1], 0.9)[1][0])


def test_a_file_remembers_it(prices, logs, tmp_path):
    X, _ = prices
    logs.save(tmp_path / "logs.json")
    again = GT2Regressor.load(tmp_path / "logs.json")
    assert again.target_transform == "log"
    np.testing.assert_array_equal(again.predict(X), logs.predict(X))
    np.testing.assert_array_equal(again.predict_interval(X), logs.predict_interval(X))
    assert again.rules().table() == logs.rules().table()


@pytest.mark.parametrize("bad", [0.0, -3.5])
@pytest.mark.parametrize("ask", ["fit", "calibrate", "fit_calibrate"])
def test_a_target_that_has_no_logarithm_is_named_with_its_row(prices, logs, bad, ask):
    X, y = prices
    y = y.copy()
    y[[17, 30]] = bad
    with pytest.raises(ValueError, match=rf"y must be above 0.*got {bad:g} in row 17 \(2 such"):
        getattr(logs, ask)(X, y)


def test_what_is_no_transform_is_named(prices):
    with pytest.raises(ValueError, match="target_transform must be one of 'log', got 'sqrt'"):
        GT2Regressor(**SETTINGS, target_transform="sqrt").fit(*prices)


@pytest.mark.parametrize(("sides", "open_end"), [("lower", np.inf), ("upper", 0.0)])
def test_an_open_end_of_a_log_target_is_zero_or_infinite(prices, logs, sides, open_end):
    X, y = prices
    one = GT2Regressor(**SETTINGS, target_transform="log").fit(X[:400], y[:400])
    one.calibrate(X[400:600], y[400:600], sides=sides)
    lower, upper = one.predict_interval(X[600:], 0.9)
    ends, inside = (upper, y[600:] >= lower) if sides == "lower" else (lower, y[600:] <= upper)
    assert (ends == open_end).all()
    assert 0.83 < inside.mean() < 0.97
