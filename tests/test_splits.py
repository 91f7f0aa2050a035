"""Calibration rows that were trained on: counted for the regressor and for the head alike."""

import copy
import warnings

import numpy as np
import pytest

from gt2lite import GT2Regressor, IntervalHead
from gt2lite.practice.splitting import SeenRowsWarning, mark_rows

SMALL = GT2Regressor(n_rules=2, epochs=1)
RNG = np.random.default_rng(0)
X = RNG.uniform(-2, 2, size=(700, 2))
Y = X[:, 0] + RNG.normal(size=700)


def head():
    linear_model = pytest.importorskip("sklearn.linear_model")
    return IntervalHead(linear_model.LinearRegression(), SMALL)


@pytest.mark.parametrize("make", [lambda: copy.copy(SMALL), head])
def test_calibration_rows_that_were_trained_on_are_counted_beyond_one_percent(make):
    model = make().fit(X[:400], Y[:400])
    model.calibrate(X[397:697], Y[397:697])  # three of 300 are tolerated; warnings are errors
    with pytest.warns(SeenRowsWarning, match="4 of 300") as caught:
        model.calibrate(X[396:696], Y[396:696])
    assert caught[0].filename == __file__


def test_duplicate_rows_of_a_data_set_are_tolerated():
    few, target = np.round(X), np.round(Y / 2)  # few distinct rows
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", SeenRowsWarning)
        copy.copy(SMALL).fit(few[:400], target[:400]).calibrate(few[400:], target[400:])


def test_minus_zero_is_zero():
    one, other = (mark_rows(np.array([[zero]]), np.ones(1)) for zero in (0.0, -0.0))
    assert one == other
