"""Facts about corners that ordinary use seldom meets: what stands in, what is refused last."""

import sys

import numpy as np
import pytest

import gt2lite
from gt2lite import GT2Regressor, _threads
from gt2lite._sklearn import PlainRegressor, not_fitted_error, sklearn_or
from gt2lite._validation import Array, match_table
from gt2lite.datasets import DATASETS, checksum, load_dataset
from gt2lite.losses import make_objective
from gt2lite.system import Planes
from gt2lite.training import init_params

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 2))
y = X[:, 0] + rng.normal(size=60)


class Plain(PlainRegressor):
    """A regressor as it is where scikit-learn is not installed."""

    def __init__(self, *, level: float = 1.0, name: str = "a") -> None:
        self.level, self.name = level, name

    def predict(self, X: Array) -> Array:
        return np.full(len(X), self.level)


def test_without_scikit_learn_settings_are_read_and_changed_by_name():
    plain = Plain(level=2.0)
    assert plain.get_params() == {"level": 2.0, "name": "a"}
    assert plain.set_params(name="b") is plain
    assert repr(plain) == "Plain(level=2.0, name='b')"
    with pytest.raises(ValueError, match=r"Invalid parameter 'speed' .* Valid parameters are"):
        plain.set_params(level=3.0, speed=1)
    assert plain.level == 2.0  # none is changed where one is wrong


def test_without_scikit_learn_the_score_is_r_squared():
    assert Plain(level=2.0).score(np.zeros((2, 1)), [1.0, 3.0]) == 0.0
    assert Plain(level=2.0).score(np.zeros((2, 1)), [2.0, 2.0]) == 1.0
    assert Plain(level=1.0).score(np.zeros((2, 1)), [2.0, 2.0]) == 0.0
    assert Plain(level=1.0).score(np.zeros((2, 1)), [0.0, 1.0]) == pytest.approx(-1.0)


def test_without_scikit_learn_its_errors_have_plain_ones_in_their_place(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.setitem(sys.modules, "sklearn.exceptions", None)
    assert sklearn_or("NotFittedError", RuntimeError) is RuntimeError
    assert type(not_fitted_error("GT2Regressor")) is RuntimeError


def test_without_threadpoolctl_nothing_is_limited_and_nothing_fails(monkeypatch):
    monkeypatch.setitem(sys.modules, "threadpoolctl", None)
    monkeypatch.setattr(_threads, "_controller", _threads._controller.__wrapped__)
    with _threads.one_blas_thread():
        assert _threads._limits == []
        reg = GT2Regressor(n_rules=2, epochs=1).fit(X, y)
    assert np.isfinite(reg.predict(X)).all()


def test_modules_of_the_method_are_reached_from_the_front_door():
    for name in gt2lite._MODULES:
        assert getattr(gt2lite, name).__name__ == f"gt2lite.{name}"
    assert sorted(gt2lite.__all__) == dir(gt2lite)


class Named:
    """A table with names, as a data frame is one."""

    def __init__(self, columns: list[object]) -> None:
        self.columns = columns

    def __array__(self, dtype: object = None, copy: object = None) -> Array:
        return np.zeros((3, len(self.columns)))


def names(*given):
    return np.array(given, dtype=object)


def test_names_that_come_or_go_are_warned_of():
    with pytest.warns(UserWarning, match="X does not have valid feature names, but R was fitted"):
        match_table(np.zeros((3, 2)), 2, names("a", "b"), "R")
    with pytest.warns(UserWarning, match="X has feature names, but R was fitted without"):
        match_table(Named(["a", "b"]), 2, None, "R")


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (["b", "a"], "must be in the same order"),
        (["a", "c"], "unseen at fit time:\n- c\n.*now missing:\n- b"),
        ([f"x{i}" for i in range(9)], r"- x4\n- \.\.\."),
        (["a", 3], "Feature names are only supported if all"),
    ],
)
def test_names_that_do_not_match_are_an_error(columns, words):
    with pytest.raises((TypeError, ValueError), match=f"(?s){words}"):
        match_table(Named(columns), len(columns), names("a", "b"), "R")


def test_a_random_state_of_scikit_learns_kind_is_drawn_from():
    def predicted(seed):
        state = np.random.RandomState(seed)
        return GT2Regressor(n_rules=2, epochs=1, random_state=state).fit(X, y).predict(X)

    assert np.array_equal(predicted(3), predicted(3))
    assert not np.array_equal(predicted(3), predicted(4))


def test_the_largest_seed_survives_the_file(tmp_path):
    reg = GT2Regressor(n_rules=2, epochs=1, random_state=2**64).fit(X, y)
    reg.save(tmp_path / "m.json")
    assert GT2Regressor.load(tmp_path / "m.json").random_state == 2**64


@pytest.mark.parametrize("seed", [-1, 1.5, "a", 2**64 + 1, 10**400])
def test_what_is_no_random_state_is_named(seed):
    with pytest.raises(ValueError, match="random_state must be"):
        GT2Regressor(n_rules=2, epochs=1, random_state=seed).fit(X, y)


def test_a_coverage_that_is_1_but_for_rounding_has_no_quantile():
    with pytest.raises(ValueError, match="coverage must be below 1 by more than rounding"):
        make_objective("dual", np.nextafter(1, 0))


def test_start_values_want_inputs_whose_spread_is_a_number():
    huge = np.array([[0.0, -1e200], [1.0, 1e200]])
    with pytest.raises(ValueError, match="X must be scaled: column 1 is so large"):
        init_params(huge, 2, np.random.default_rng(0))


def test_a_plane_below_the_lowest_of_a_system_is_named_with_the_lowest():
    planes = Planes(init_params(X, 3, np.random.default_rng(0)), X)
    with pytest.raises(ValueError, match=r"alpha must be at least .* for this system"):
        planes(1e-300)


@pytest.mark.parametrize("name", DATASETS)
def test_a_checksum_is_that_of_the_data_set(name):
    assert checksum(name) == load_dataset(name).sha256
