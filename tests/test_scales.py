"""Facts about numbers of any size: finite input gives finite output in its scale, or an error."""

import numpy as np
import pytest

from gt2lite import GT2Regressor
from gt2lite.datasets import Scaler

rng = np.random.default_rng(0)
X = rng.normal(size=(150, 2))
y = X[:, 0] + 0.3 * rng.normal(size=150)


def fitted(x_scale, y_scale):
    reg = GT2Regressor(n_rules=3, epochs=5, learning_rate=0.02)
    reg.fit(x_scale * X, y_scale * y)
    return reg.calibrate(x_scale * X, y_scale * y, method="conformal")


@pytest.mark.parametrize(
    ("x_scale", "y_scale"),
    [(1e160, 1.0), (1e-170, 1.0), (1.0, 1e160), (1.0, 1e-170), (1e250, 1e-250), (1e-290, 1e290)],
)
def test_huge_and_tiny_tables_give_what_ordinary_ones_give_in_their_scale(x_scale, y_scale):
    plain, odd = fitted(1.0, 1.0), fitted(x_scale, y_scale)
    np.testing.assert_allclose(odd.predict(x_scale * X) / y_scale, plain.predict(X), rtol=1e-6)
    for ours, wanted in zip(
        odd.predict_interval(x_scale * X, coverage=0.9),
        plain.predict_interval(X, coverage=0.9),
        strict=True,
    ):
        np.testing.assert_allclose(ours / y_scale, wanted, rtol=1e-6)


def test_a_power_of_two_changes_no_digit():
    plain = Scaler.fit(X, y)
    for power in (600, -600):
        odd = Scaler.fit(np.ldexp(X, power), np.ldexp(y, power))
        assert np.array_equal(odd.x_std, np.ldexp(plain.x_std, power))
        assert np.array_equal(odd.transform_X(np.ldexp(X, power)), plain.transform_X(X))
        assert odd.y_std == np.ldexp(plain.y_std, power)


def test_columns_of_ordinary_size_keep_their_bits_beside_one_that_is_not():
    both = Scaler.fit(np.column_stack([X, 1e200 * X[:, 0]]), y)
    assert np.array_equal(both.x_std[:2], Scaler.fit(X, y).x_std)
    assert both.x_std[2] == pytest.approx(1e200 * both.x_std[0])


def test_a_huge_table_is_saved_and_loaded(tmp_path):
    reg = fitted(1e160, 1e160)
    reg.save(tmp_path / "huge.json")
    again = GT2Regressor.load(tmp_path / "huge.json")
    assert np.array_equal(again.predict(1e160 * X), reg.predict(1e160 * X))


@pytest.mark.parametrize(
    ("where", "words"),
    [("X", r"column 1 of X holds numbers beyond 1e\+300.*1e\+308"), ("y", r"y holds numbers bey")],
)
def test_numbers_too_large_to_compute_with_are_named(where, words):
    A, b = X.copy(), y.copy()
    if where == "X":
        A[3, 1] = 1e308
    else:
        b[3] = 1e308
    with pytest.raises(ValueError, match=words):
        GT2Regressor(epochs=1).fit(A, b)


def test_numbers_that_vary_too_little_are_named():
    with pytest.raises(ValueError, match="column 0 of X varies by less than 1e-300: multiply"):
        GT2Regressor(epochs=1).fit(1e-310 * X, y)
    GT2Regressor(epochs=1).fit(np.column_stack([X, np.full(150, 1e-310)]), y)  # a constant may be


def test_a_new_row_out_of_this_world_is_named_and_one_far_away_is_answered():
    reg = fitted(1.0, 1.0)
    assert np.isfinite(reg.predict(np.array([[1e100, -1e100]]))).all()
    with pytest.raises(ValueError, match=r"column 1 of X holds -1e\+200 in row 1"):
        reg.predict(np.array([[0.0, 0.0], [0.0, -1e200]]))
    with pytest.raises(ValueError, match=r"y holds 1e\+200"):
        reg.calibrate(X, np.append(y[:-1], 1e200), method="conformal")


def test_a_prediction_beyond_all_numbers_is_an_error_and_not_infinity():
    reg = fitted(1.0, 1e299)
    with pytest.raises(ValueError, match="y is so large"):
        reg.predict(np.array([[1e20, 1e20]]))
