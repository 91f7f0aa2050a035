"""Facts about settings and values that are no numbers, or numbers out of bounds: named errors."""

import datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from gt2lite import GT2Regressor
from gt2lite._validation import matrix, numbers
from gt2lite.training import DivergenceError, Recipe, train

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 2))
y = X[:, 0] + rng.normal(size=60)

DAY = datetime.datetime(2024, 1, 1)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (np.ma.masked_invalid([[1.0, np.nan]]), r"X has 1 masked cells, the first at index \(0, 1"),
        (np.array([["2024-01-01"]], dtype="datetime64[D]"), "X must hold numbers only, got dates"),
        (np.array([["NaT"]], dtype="datetime64[D]"), "got dates"),
        (np.array([[3]], dtype="timedelta64[s]"), "got time spans"),
        ([["1.5", "2.5"]], "X must hold numbers only, got text"),
        (np.array([[1.5, "2.5"]], dtype=object), r"got '2.5' at index \(0, 1\), which is text"),
        (np.array([[1.5, b"2.5"]], dtype=object), "which is text"),
        (np.array([[1.5, DAY]], dtype=object), "which is dates"),
        (np.array([[1.5, np.timedelta64(3, "s")]], dtype=object), "which is time spans"),
        (np.zeros((2, 2), dtype=[("a", float)]), "got records"),
        ([[10**400, 1.0]], "X must hold numbers only"),
        ([[1.0, 2.0], [3.0]], "X must hold numbers only"),
        ([[1.0, {}]], "X must hold numbers only"),
        ([[1 + 2j]], "X must hold real numbers"),
    ],
)
def test_what_is_no_number_is_refused_by_name(value, words):
    with pytest.raises((TypeError, ValueError), match=words):
        matrix("X", value)


@pytest.mark.parametrize(
    "value",
    [
        np.ma.array([[1.0, 2.0]]),  # nothing masked
        [[Fraction(1, 2), Decimal("0.25")]],
        np.array([[True, False]]),
        np.array([[1, 2]], dtype=np.uint8),
        np.array([[1, 2.5]], dtype=object),
    ],
)
def test_what_is_a_number_is_taken(value):
    assert numbers("X", value).dtype == float


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("learning_rate", 1e300),
        ("learning_rate", np.array([0.1, 0.2])),
        ("learning_rate", float("nan")),
        ("sigma_scale", 1e-300),
        ("sigma_scale", 1e300),
        ("weight_decay", np.array([0.0, 0.1])),
        ("weight_decay", -0.1),
        ("weight_decay", 2000.0),
        ("averaging", 1.0),
        ("averaging", "0.5"),
        ("coverage", np.array([0.5, 0.9])),
        ("n_rules", 10**400),
        ("n_rules", np.array([3, 4])),
        ("alphas", 0.5),
        ("alphas", "0.5"),
        ("alphas", ((0.01, 0.5), (1.0,))),
    ],
)
def test_a_bad_setting_is_named(setting, value):
    with pytest.raises((TypeError, ValueError), match=setting):
        Recipe(**{setting: value})
    with pytest.raises((TypeError, ValueError), match=setting):
        GT2Regressor(**{setting: value}).fit(X, y)


def test_a_fraction_is_a_number_and_can_be_saved(tmp_path):
    reg = GT2Regressor(coverage=Fraction(1, 2), n_rules=np.int64(2), epochs=2).fit(X, y)
    reg.save(tmp_path / "m.json")
    assert GT2Regressor.load(tmp_path / "m.json").coverage == 0.5
    assert type(Recipe(coverage=Fraction(1, 2)).coverage) is float


@pytest.mark.parametrize("rate", [50.0, 900.0])
@pytest.mark.parametrize("epochs", [1, 3])
def test_a_step_out_of_sight_is_no_success(rate, epochs):
    recipe = Recipe(n_rules=3, epochs=epochs, learning_rate=rate)
    with pytest.raises(DivergenceError, match="learning_rate"):
        train(X, y, recipe)
    with pytest.raises(DivergenceError):
        train(X, 1e-3 * y, recipe)


@pytest.mark.parametrize("scale", [1.1e-6, 9e5])
def test_memberships_of_a_point_or_of_everything_are_learned_without_trouble(scale):
    trained = train(X, y, Recipe(n_rules=3, epochs=3, sigma_scale=scale))
    assert np.isfinite(trained.history).all()


def test_a_constant_target_does_not_look_like_divergence():
    GT2Regressor(n_rules=3, epochs=5).fit(X, np.full(60, 7.0))
