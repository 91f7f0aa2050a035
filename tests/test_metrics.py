"""Metrics: values worked by hand on three points, and refusals."""

from __future__ import annotations

import numpy as np
import pytest

from gt2lite import metrics

# Three points: one inside, one 1 below, one 2 above; widths 2, 1, 3; the range of y is 8.
Y = np.array([1.0, -2.0, 6.0])
LOWER = np.array([0.0, -1.0, 1.0])
UPPER = np.array([2.0, 0.0, 4.0])


def test_golden_values_on_three_points():
    assert metrics.rmse(Y, [1.0, 0.0, 5.0]) == pytest.approx(np.sqrt((0 + 4 + 1) / 3))
    assert metrics.picp(Y, LOWER, UPPER) == 1 / 3
    assert metrics.pinaw(Y, LOWER, UPPER) == (2 + 1 + 3) / 3 / 8
    # At 80% a miss costs 2 / 0.2 = 10 times its distance.
    score = metrics.interval_score(Y, LOWER, UPPER, 0.8)
    assert score == pytest.approx((2 + (1 + 10 * 1) + (3 + 10 * 2)) / 3)
    assert metrics.interval_quality(Y, LOWER, UPPER, 0.8) == (1 / 3, 0.25, score)


def test_both_ends_belong_to_an_interval():
    y = np.array([0.0, 1.0, np.nextafter(0, -1), np.nextafter(1, 2)])
    assert metrics.covers(y, np.zeros(4), np.ones(4)).tolist() == [True, True, False, False]
    assert metrics.interval_score(y[:2], np.zeros(2), np.ones(2), 0.9) == 1  # no penalty


def test_the_true_quantiles_have_the_best_interval_score():
    y = np.random.default_rng(0).normal(size=20_000)
    scores = {
        z: metrics.interval_score(y, np.full(y.size, -z), np.full(y.size, z), 0.9)
        for z in (1.2, 1.4, 1.645, 1.9, 2.1)
    }
    assert min(scores, key=scores.__getitem__) == 1.645


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: metrics.rmse(Y, [1.0, 2.0]), "y_hat"),
        (lambda: metrics.covers(Y, LOWER, UPPER[:2]), "upper"),
        (lambda: metrics.picp(Y, [0.0, np.nan, 0.0], UPPER), "lower"),  # an error, not a miss
        (lambda: metrics.pinaw([4.0, 4.0], [0.0, 0.0], [1.0, 1.0]), "y"),  # no range
        (lambda: metrics.interval_score(Y, LOWER[:, None], UPPER, 0.9), "lower"),
        (lambda: metrics.interval_score(Y, LOWER, UPPER, 1), "coverage"),
        (lambda: metrics.interval_quality(Y, LOWER, UPPER, 95), "coverage"),
    ],
)
def test_invalid_arguments_are_refused_by_name(call, name):
    with pytest.raises(ValueError, match=f"^{name} "):
        call()
