"""Facts about scorers and intervals out of fold: no row is measured by what has seen it."""

import numpy as np
import pytest

from gt2lite import GT2Regressor
from gt2lite.metrics import interval_score, picp

pytest.importorskip("sklearn")

from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    LeaveOneGroupOut,
    TimeSeriesSplit,
    cross_validate,
)

from gt2lite.pipeline import coverage_scorer, cross_val_intervals, interval_scorer

SETTINGS = {"n_rules": 3, "epochs": 15, "learning_rate": 0.03}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(1)
    X = rng.uniform(-2, 2, size=(600, 2))
    return X, X[:, 0] ** 2 + (0.2 + 0.5 * (X[:, 1] > 0)) * rng.normal(size=600)


@pytest.fixture(scope="module")
def fitted(table):
    X, y = table
    return GT2Regressor(**SETTINGS).fit(X[:300], y[:300])


def test_an_estimator_that_is_not_calibrated_is_so_on_the_other_half(table, fitted):
    X, y = table[0][300:], table[1][300:]
    rows = np.random.default_rng(7).permutation(300)
    scores, shares = [], []
    for mine, other in ((rows[:150], rows[150:]), (rows[150:], rows[:150])):
        own = GT2Regressor(**SETTINGS).fit(table[0][:300], table[1][:300])
        own.calibrate(X[other], y[other], sides="each")
        ends = own.predict_interval(X[mine], 0.8)
        scores.append(-interval_score(y[mine], *ends, 0.8))
        shares.append(picp(y[mine], *ends))
    asked = {"seed": 7, "sides": "each"}
    assert interval_scorer(0.8, **asked)(fitted, X, y) == pytest.approx(np.mean(scores))
    assert coverage_scorer(0.8, **asked)(fitted, X, y) == pytest.approx(np.mean(shares))
    assert not hasattr(fitted, "calibrator_")  # it stays as it was


def test_one_that_is_calibrated_is_measured_as_it_is(table):
    X, y = table
    reg = GT2Regressor(**SETTINGS).fit_calibrate(X[:400], y[:400])
    ends = reg.predict_interval(X[400:], 0.9)
    assert coverage_scorer(0.9)(reg, X[400:], y[400:]) == picp(y[400:], *ends)
    assert interval_scorer(0.9)(reg, X[400:], y[400:]) == -interval_score(y[400:], *ends, 0.9)


def test_a_search_and_a_cross_validation_take_them(table):
    X, y = table
    scoring = {"coverage": coverage_scorer(0.8), "score": interval_scorer(0.8)}
    found = cross_validate(GT2Regressor(**SETTINGS), X, y, scoring=scoring, cv=3)
    assert 0.7 < found["test_coverage"].mean() < 0.9
    assert (found["test_score"] < 0).all()
    search = GridSearchCV(
        GT2Regressor(**SETTINGS), {"epochs": [1, 15]}, scoring=interval_scorer(0.8), cv=2
    ).fit(X, y)
    assert search.best_params_ == {"epochs": 15}


def test_scorers_have_a_name_and_a_level():
    assert repr(interval_scorer(0.95)) == "interval_scorer(0.95)"
    with pytest.raises(ValueError, match="coverage must"):
        coverage_scorer(90)


def test_each_row_gets_its_interval_from_models_that_have_not_seen_it(table):
    X, y = table
    folds = KFold(3, shuffle=True, random_state=2)
    lower, upper = cross_val_intervals(GT2Regressor(**SETTINGS), X, y, [0.8, 0.9], cv=folds)
    assert lower.shape == upper.shape == (600, 2)
    for trained, rows in folds.split(X):
        reg = GT2Regressor(**SETTINGS).fit_calibrate(X[trained], y[trained])
        ends = reg.predict_interval(X[rows], [0.8, 0.9])
        np.testing.assert_array_equal((lower[rows], upper[rows]), ends)
    # a target of its own has no say in an interval
    changed = y.copy()
    rows = next(folds.split(X))[1]
    changed[rows] += 1e3
    again = cross_val_intervals(GT2Regressor(**SETTINGS), X, changed, [0.8, 0.9], cv=folds)
    np.testing.assert_array_equal(again[0][rows], lower[rows])


def test_groups_go_with_their_rows(table):
    X, y = table
    groups = np.where(X[:, 1] > 0, "loud", "calm")
    with pytest.warns(UserWarning, match="fewer than 100"):
        lower, upper = cross_val_intervals(
            GT2Regressor(**SETTINGS), X, y, 0.8, cv=2, groups=groups, share=0.5
        )
    for name in ("loud", "calm"):
        rows = groups == name
        assert 0.7 < picp(y[rows], lower[rows], upper[rows]) < 0.92


@pytest.mark.parametrize("cv", [TimeSeriesSplit(3), [(np.arange(300), np.arange(300, 600))] * 2])
def test_folds_that_leave_rows_out_or_have_them_twice_are_refused(table, cv):
    with pytest.raises(ValueError, match="cv must have each of the 600 rows in one test fold"):
        cross_val_intervals(GT2Regressor(**SETTINGS), *table, cv=cv)


def test_folds_of_whole_families_can_be_handed_in(table):
    X, y = table
    families = np.arange(600) % 3
    folds = list(LeaveOneGroupOut().split(X, y, families))
    lower, _ = cross_val_intervals(GT2Regressor(**SETTINGS), X, y, cv=folds)
    reg = GT2Regressor(**SETTINGS).fit_calibrate(X[families > 0], y[families > 0])
    np.testing.assert_array_equal(lower[families == 0], reg.predict_interval(X[::3])[0])
