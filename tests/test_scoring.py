"""Facts about scorers and cross-validated intervals."""

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.model_selection import GridSearchCV, GroupKFold, TimeSeriesSplit, cross_validate

from gt2lite import GT2Regressor, Recipe
from gt2lite.metrics import interval_score, picp
from gt2lite.practice.scoring import coverage_scorer, cross_val_intervals, interval_scorer

SETTINGS = {"n_rules": 3, "epochs": 15, "learning_rate": 0.03}


# -------------------------------------------------------------------------------- scorers


@pytest.fixture(scope="module")
def noisy():
    rng = np.random.default_rng(1)
    X = rng.uniform(-2, 2, size=(600, 2))
    return X, X[:, 0] ** 2 + (0.2 + 0.5 * (X[:, 1] > 0)) * rng.normal(size=600)


def test_an_uncalibrated_estimator_is_calibrated_on_the_other_half(noisy):
    fitted = GT2Regressor(**SETTINGS).fit(*(part[:300] for part in noisy))
    X, y = (part[300:] for part in noisy)
    rows = np.random.default_rng(7).permutation(300)
    scores, shares = [], []
    for mine, other in ((rows[:150], rows[150:]), (rows[150:], rows[:150])):
        own = GT2Regressor(**SETTINGS).fit(*(part[:300] for part in noisy))
        own.calibrate(X[other], y[other], sides="each")
        ends = own.predict_interval(X[mine], 0.8)
        scores.append(-interval_score(y[mine], *ends, 0.8))
        shares.append(picp(y[mine], *ends))
    asked = {"seed": 7, "sides": "each"}
    assert interval_scorer(0.8, **asked)(fitted, X, y) == pytest.approx(np.mean(scores))
    assert coverage_scorer(0.8, **asked)(fitted, X, y) == pytest.approx(np.mean(shares))
    assert not hasattr(fitted, "calibrator_")


def test_a_calibrated_estimator_is_scored_as_it_is(noisy):
    X, y = noisy
    reg = GT2Regressor(**SETTINGS).fit_calibrate(X[:400], y[:400])
    ends = reg.predict_interval(X[400:], 0.9)
    assert coverage_scorer(0.9)(reg, X[400:], y[400:]) == picp(y[400:], *ends)
    assert interval_scorer(0.9)(reg, X[400:], y[400:]) == -interval_score(y[400:], *ends, 0.9)


def test_searches_and_cross_validation_accept_scorers(noisy):
    scoring = {"coverage": coverage_scorer(0.8), "score": interval_scorer(0.8)}
    found = cross_validate(GT2Regressor(**SETTINGS), *noisy, scoring=scoring, cv=2)
    assert 0.7 < found["test_coverage"].mean() < 0.9
    assert (found["test_score"] < 0).all()
    search = GridSearchCV(
        GT2Regressor(**SETTINGS), {"epochs": [1, 15]}, scoring=interval_scorer(0.8), cv=2
    ).fit(*noisy)
    assert search.best_params_ == {"epochs": 15}
    grid = {"recipe__weight_decay": [0.0, 30.0], "recipe": [Recipe(start="joint")]}
    search = GridSearchCV(GT2Regressor(**SETTINGS), grid, scoring=interval_scorer(0.8), cv=2)
    assert search.fit(*noisy).best_estimator_.recipe_.start == "joint"
    assert search.best_params_["recipe__weight_decay"] == 0.0
    with pytest.raises(ValueError, match="coverage"):
        coverage_scorer(90)


# -------------------------------------------------------------- cross-validated intervals


@pytest.mark.filterwarnings("ignore::gt2lite.calibration.SmallCalibrationWarning")
@pytest.mark.parametrize("grouped", [False, True])
def test_each_interval_is_from_a_model_that_has_not_seen_its_row(noisy, grouped):
    X, y = noisy
    loud = np.where(X[:, 1] > 0, "loud", "calm")
    folds, levels = list(GroupKFold(2).split(X, y, np.arange(600) // 20)), [0.8, 0.9]

    def of(rows):
        return {"groups": loud[rows]} if grouped else {}

    found = cross_val_intervals(
        GT2Regressor(**SETTINGS), X, y, levels, cv=folds, share=0.5, **of(slice(None))
    )
    for trained, rows in folds:
        reg = GT2Regressor(**SETTINGS)
        reg.fit_calibrate(X[trained], y[trained], share=0.5, **of(trained))
        ends = reg.predict_interval(X[rows], levels, **of(rows))
        np.testing.assert_array_equal(np.stack(found)[:, rows], ends)


HALF = np.arange(300)


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"cv": TimeSeriesSplit(3)}, "cv must have each of the 600 rows in one test fold"),
        ({"cv": [(HALF, 300 + HALF)] * 2}, "cv must have each of the 600 rows"),
        ({"cv": GroupKFold(3)}, r"cv=list\(GroupKFold"),
        ({"coverage": 90}, "coverage"),
        ({"coverage": 0.999}, "999 calibration rows are needed"),
        ({"groups": ["a"] * 599 + ["b"], "small_groups": "pool"}, "groups must each .* 'b'"),
        ({"groups": ["a"]}, "groups"),
    ],
)
def test_what_cannot_be_answered_is_refused_before_training(noisy, bad, words, monkeypatch):
    monkeypatch.setattr(GT2Regressor, "fit_calibrate", None)
    with pytest.raises(ValueError, match=words):
        cross_val_intervals(GT2Regressor(**SETTINGS), *noisy, **bad)
