"""The estimators as those of scikit-learn: its own checks, in full, and its tools."""

import sys

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not installed (extra `sklearn`)")

from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from gt2lite import GT2Regressor, IntervalHead
from gt2lite._validation import Array
from gt2lite.practice._sklearn import PlainRegressor, check_fitted, sklearn_or
from gt2lite.practice.cv_plus import CVPlusRegressor

SMALL = GT2Regressor(n_rules=2, epochs=20, learning_rate=0.05)


@parametrize_with_checks([SMALL])
def test_every_check_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([IntervalHead(Ridge(), SMALL, cv=2), CVPlusRegressor(SMALL, n_folds=2)])
def test_every_check_of_scikit_learn_for_what_is_built_on_it(estimator, check):
    check(estimator)


def test_the_base_of_a_head_is_searched_by_its_own_settings():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = X[:, 0] + 0.1 * rng.normal(size=200)
    head = IntervalHead(Ridge(), SMALL, cv=2)
    search = GridSearchCV(head, {"base__alpha": [1.0, 1e6]}, cv=2).fit(X, y)
    assert search.best_params_ == {"base__alpha": 1.0}


# ------------------------------------------------------- without scikit-learn


class Plain(PlainRegressor):
    """A regressor as it is without scikit-learn."""

    def __init__(self, *, level: float = 1.0, name: str = "a") -> None:
        self.level, self.name = level, name

    def predict(self, X: Array) -> Array:
        return np.full(len(X), self.level)


def test_without_scikit_learn_settings_are_read_and_changed_by_name():
    plain = Plain(level=2.0)
    assert plain.get_params() == {"level": 2.0, "name": "a"}
    assert plain.set_params(name="b") is plain
    assert repr(plain) == "Plain(level=2.0, name='b')"
    with pytest.raises(ValueError, match="'speed'"):
        plain.set_params(level=3.0, speed=1)
    assert plain.level == 2.0  # none is changed if one is wrong


@pytest.mark.parametrize(
    ("level", "y", "score"),
    [(2.0, [1.0, 3.0], 0.0), (2.0, [2.0, 2.0], 1.0), (1.0, [2.0, 2.0], 0.0), (1.0, [0.0, 1.0], -1)],
)
def test_without_scikit_learn_the_score_is_r_squared(level, y, score):
    assert Plain(level=level).score(np.zeros((2, 1)), y) == pytest.approx(score)


def test_without_scikit_learn_errors_are_plain_ones(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.setitem(sys.modules, "sklearn.exceptions", None)
    assert sklearn_or("NotFittedError", RuntimeError) is RuntimeError
    with pytest.raises(RuntimeError, match="not fitted"):
        check_fitted(Plain())
