"""Widths of two systems, by hand: constant intervals whose coverage can be counted."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from gt2lite.memberships import kappa_of
from gt2lite.metrics import interval_score
from gt2lite.system import Planes
from gt2lite.training import Recipe, init_params
from study.protocol import run
from study.results import load
from study.widths import Pair, compare_pair, pair, widths_at_equal_coverage

Y = np.linspace(-1, 1, 201)
SHORT = Recipe(n_rules=2, epochs=4, learning_rate=0.02)


def family(unit):
    """Intervals from -kappa to kappa, in units of one's own."""

    def interval(alpha):
        kappa = unit * np.broadcast_to(kappa_of(alpha), Y.shape)
        return -kappa, kappa

    return interval


def test_at_equal_coverage_constant_intervals_are_equally_wide():
    first, second = widths_at_equal_coverage(Y, [family(1.0), family(2.5)], 0.9)
    assert first == pytest.approx(1.8, abs=0.02) and second == pytest.approx(first, abs=1e-6)


def test_a_family_that_cannot_reach_the_level_sets_the_coverage():
    widths = widths_at_equal_coverage(Y, [family(1.0), family(0.5)], 0.9)  # at most 0.5
    assert widths == pytest.approx([1.0, 1.0], abs=0.02)


def test_planes_and_a_constant_margin_by_hand():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(280, 2)), rng.normal(size=280)
    params = init_params(X, 3, rng) | {"a0": np.array([-1.0, 0.0, 2.0])}
    data = SimpleNamespace(X_cal=X[:120], y_cal=y[:120], X_test=X[120:], y_test=y[120:])
    planes, alphas = Planes(params, data.X_test), Recipe().planes.alphas
    found = compare_pair(Pair(0.75, data, planes, planes, 0.01))
    assert found["picp_calibrated"] == found["picp_trained"]  # the same system twice
    assert found["width_calibrated"] == found["width_trained"]
    output = planes.output(alphas)
    assert found["margin_width"] == pytest.approx(2 * np.sort(np.abs(data.y_test - output))[119])
    errors = np.sort(np.abs(data.y_cal - Planes(params, data.X_cal).output(alphas)))
    d = errors[90]  # rank 91: at least 0.75 of 121
    score = interval_score(data.y_test, output - d, output + d, 0.75)
    assert found["margin_score"] == pytest.approx(score)


def test_a_pair_is_the_search_against_the_lowest_plane_and_makes_a_stored_row():
    baseline, direct = (run("aids", 3, m, recipe=SHORT) for m in ("baseline", "trained_95"))
    one = pair("aids", 3, 0.95, baseline, direct)
    bounds, ptp = one.intervals(), np.ptp(one.data.y_test)
    searched = baseline.records.query("method == 'search' and level == 0.95")
    for name, record in {"calibrated": searched, "trained": direct.records}.items():
        lower, upper = bounds[name]
        assert np.mean(upper - lower) == pytest.approx(record.pinaw.item() * ptp)
    assert ["dataset", "seed", "level", *compare_pair(one)] == list(load("widths"))
