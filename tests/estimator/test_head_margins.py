"""Which intervals a head calibrates: planes, or margins that follow their width."""

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not installed (extra `sklearn`)")

from heads import SMALL, uneven
from sklearn.base import BaseEstimator
from sklearn.linear_model import LinearRegression

from gt2lite import IntervalHead
from gt2lite import head as _head
from gt2lite.calibration import Margins
from gt2lite.head import HeadInputs, cross_fit
from gt2lite.selection import GRID, FamilyScore
from gt2lite.training import Recipe


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(_head, "HEAD", Recipe(n_rules=2, epochs=2, objective="aligned"))
    monkeypatch.setattr(_head, "SYSTEMS", 2)


@pytest.fixture(scope="module")
def made():
    return uneven()


def fitted(made, system=None):
    X, y = made
    return IntervalHead(LinearRegression(), system).fit(X[:200], y[:200])


def test_what_scores_better_on_rows_left_out_is_calibrated(made, small, monkeypatch, tmp_path):
    X, y = made
    monkeypatch.setattr(
        _head, "best_family", lambda seen: FamilyScore(1.0, Margins(0.0, usual=7.0))
    )
    head = fitted(made)
    lower, upper = head.head_.predict_interval(head._inputs(X[:200], X[:200, 0]), alpha=0.01)
    assert head.head_.margins_.power == 0
    head.calibrate(X[200:400], y[200:400])
    width = np.subtract(*head.predict_interval(X[400:])[::-1])
    np.testing.assert_allclose(width, width[0])  # one margin for all rows
    assert np.ptp(upper - lower) > 0  # while planes differ
    head.save(tmp_path / "head.json")
    again = IntervalHead.load(tmp_path / "head.json", base=head.base_)
    np.testing.assert_array_equal(again.predict_interval(X[400:]), head.predict_interval(X[400:]))


def test_planes_stay_where_they_score_better_and_where_a_system_is_given(made, small, monkeypatch):
    asked = []
    monkeypatch.setattr(
        _head, "best_family", lambda seen: asked.append(seen) or FamilyScore(1.0, None)
    )
    assert fitted(made).head_.margins_ is None and len(asked) == 1
    assert len(asked[0].y) == 200 and asked[0].ends.shape == (2, len(GRID), 200)
    assert fitted(made, SMALL).head_.margins_ is None and len(asked) == 1


class Spy(BaseEstimator):
    """Answers with the number of rows asked about that it was trained on."""

    def fit(self, X, y):
        self.rows = {row.tobytes() for row in np.asarray(X)}
        return self

    def predict(self, X):
        return np.array([float(row.tobytes() in self.rows) for row in np.asarray(X)])

    def predict_interval(self, X, alpha):
        return self.predict(X) - 1 + alpha, self.predict(X) + 1 - alpha


def test_no_row_judges_a_system_that_has_learnt_from_it():
    rng = np.random.default_rng(0)
    inputs = HeadInputs(rng.normal(size=(31, 2)), np.zeros(31), None)
    errors = np.arange(31.0)
    seen = cross_fit(Spy(), inputs, errors, rng)
    assert sorted(seen.y) == errors.tolist()
    assert not seen.output.any()
    np.testing.assert_allclose(seen.ends[1, :, 0], 1 - GRID)
