"""Nested families: ranks decide, MAPIE finds the same margins, the oracle covers its level."""

from __future__ import annotations

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gt2lite.calibration import CoverageError, ExactCalibrator, rank
from gt2lite.memberships import kappa_of
from gt2lite.metrics import interval_score, picp
from gt2lite.system import Planes
from gt2lite.training import Recipe, init_params
from study.margins import (
    GRID,
    Family,
    Pair,
    around,
    at_coverage,
    between,
    calibrated,
    compare_pair,
    crps,
    pair,
    planes_at_coverage,
    widths_at_equal_coverage,
)
from study.protocol import run
from study.results import load

KINDS = ("constant", "scaled", "quantiles")


@pytest.fixture(scope="module")
def rows():
    """Estimates, scales and targets of 99 calibration rows and 200 test rows."""
    rng = np.random.default_rng(1)
    sets = []
    for n in (99, 200):
        y_hat, scale = rng.normal(size=n), rng.uniform(0.2, 2, n)
        sets.append((y_hat, scale, y_hat + scale * rng.standard_t(4, n)))
    return sets


def families(rows, kind):
    """Return one kind of family for calibration and test rows."""
    make = {
        "constant": lambda y_hat, scale: around(y_hat),
        "scaled": around,
        "quantiles": lambda y_hat, scale: between(y_hat - scale, y_hat + 0.5 * scale),
    }[kind]
    return [make(y_hat, scale) for y_hat, scale, _ in rows]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("level", [0.5, 0.95])
def test_the_margin_is_the_smallest_that_covers_the_rank_of_calibration_rows(rows, kind, level):
    (cal, test), y_cal = families(rows, kind), rows[0][2]
    lower, upper = calibrated(cal, test, y_cal, level)
    t = (upper - test.upper) / test.scale  # the same for all rows
    assert_allclose(t, t[0], atol=1e-12)

    def covered(t):
        low, high = cal.at(t)
        return int(np.sum((low - 1e-12 <= y_cal) & (y_cal <= high + 1e-12)))

    assert covered(t[0]) == rank(level, 100) > covered(t[0] - 1e-6)
    assert (lower <= upper).all()


@pytest.mark.parametrize("kind", KINDS)
def test_the_oracle_takes_the_smallest_member_that_covers_the_level(rows, kind):
    test, y = families(rows, kind)[1], rows[1][2]
    own = test.scores(y)
    for level in (0.1, 0.5, 0.9, 0.95):
        found = at_coverage(test, y, level)
        assert picp(y, *found) == rank(level, y.size) / y.size
        best = min(t for t in own if (own <= t).sum() >= rank(level, y.size))  # brute force
        assert_allclose(found, test.at(best), atol=1e-9)


def test_rounding_never_takes_a_target_from_the_oracle():
    for seed in range(50):  # a bound plus the distance to a target may round to less than it
        rng = np.random.default_rng(seed)
        y_hat, y = rng.normal(size=(2, 30))
        family = around(y_hat, rng.uniform(0.1, 3, 30))
        for level in (0.3, 0.5, 0.9):
            assert picp(y, *at_coverage(family, y, level)) >= rank(level, 30) / 30


def band(y, width=1.0):
    """The plane alpha reaches from -kappa to kappa, times `width`."""

    def interval(alpha):
        kappa = np.broadcast_to(kappa_of(alpha), y.shape) * width
        return -kappa, kappa

    return interval


@pytest.mark.parametrize(("level", "width"), [(0.01, 0.02), (0.905, 1.82), (0.995, 4.0)])
def test_the_oracle_of_planes_with_a_known_answer(level, width):
    y = np.append(np.linspace(0.01, 0.99, 99), 2.0)  # the last is beyond all planes
    for unit in (1.0, 1.5):  # how planes are spread does not matter
        lower, upper = planes_at_coverage(band(y, unit), y, level)
        assert np.mean(upper - lower) == pytest.approx(width)


def test_the_oracle_of_a_system_is_the_exact_calibrator_to_the_last_bit():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2))
    planes = Planes(init_params(X, 4, rng), X)
    y = planes.output([0.01, 0.5, 1.0]) + 0.003 * rng.normal(size=150)
    exact = ExactCalibrator().fit(planes, y)
    for level in (0.3, 0.97):
        assert_array_equal(planes_at_coverage(planes, y, level), exact.intervals(planes, level))


def test_impossible_levels_are_refused(rows):
    y = np.array([1.0, 2.0])
    for level in (0, 1, 95):
        with pytest.raises(ValueError, match=r"level must be a number in \(0, 1\)"):
            at_coverage(around(y), y, level)
    cal, test = families(rows, "constant")
    few = Family(*(a[:9] for a in cal))
    with pytest.raises(CoverageError, match="9 calibration rows"):
        calibrated(few, test, rows[0][2][:9], 0.95)


def test_crps_is_that_of_the_quantile_function():
    """For N(0, 1) and its own quantiles the CRPS is 1 / sqrt(pi) on average."""
    y = np.random.default_rng(0).normal(size=200_000)
    normal = pytest.importorskip("scipy.stats").norm
    bounds = [[np.full(y.size, normal.ppf((1 + s * p) / 2)) for s in (-1, 1)] for p in GRID]
    assert crps(bounds, y) == pytest.approx(1 / np.sqrt(np.pi), rel=0.01)
    taus = sorted(t for p in GRID for t in ((1 - p) / 2, (1 + p) / 2))
    assert_allclose(np.diff(taus), 0.05, atol=1e-12)


def test_mapie_finds_the_same_margins():
    regression = pytest.importorskip("mapie.regression", reason="needs the extra `book`")
    linear = pytest.importorskip("sklearn.linear_model")
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(599, 2))
    y = 2 * X[:, 0] + (1.5 + X[:, 1]) * rng.normal(size=599)
    (X_0, y_0), (X_1, y_1), (X_2, _) = ((X[s], y[s]) for s in np.split(np.arange(599), [300, 399]))
    mean = linear.LinearRegression().fit(X_0, y_0)
    ends = [linear.QuantileRegressor(quantile=q, alpha=0.0).fit(X_0, y_0) for q in (0.1, 0.9)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        split = regression.SplitConformalRegressor(mean, confidence_level=0.8, prefit=True)
        _, theirs = split.conformalize(X_1, y_1).predict_interval(X_2)
        cqr = regression.ConformalizedQuantileRegressor(
            [*ends, mean], confidence_level=0.8, prefit=True
        )
        conformal = cqr.conformalize(X_1, y_1)
        _, quantiles = conformal.predict_interval(X_2, symmetric_correction=True)
    ours = calibrated(around(mean.predict(X_1)), around(mean.predict(X_2)), y_1, 0.8)
    assert_allclose(np.array(ours).T, theirs[:, :, 0], atol=1e-12)
    cal, test = (between(*(m.predict(Z) for m in ends)) for Z in (X_1, X_2))
    ours = calibrated(cal, test, y_1, 0.8)
    assert_allclose(np.array(ours).T, quantiles[:, :, 0], atol=1e-12)


# ------------------------------------------------------- calibrated against directly trained

Y = np.linspace(-1, 1, 201)
SHORT = Recipe(n_rules=2, epochs=4, learning_rate=0.02)


def test_at_equal_coverage_constant_intervals_are_equally_wide():
    first, second = widths_at_equal_coverage(Y, [band(Y, 1.0), band(Y, 2.5)], 0.9)
    assert first == pytest.approx(1.8, abs=0.02) and second == pytest.approx(first, abs=1e-6)


def test_a_family_that_cannot_reach_the_level_sets_the_coverage():
    widths = widths_at_equal_coverage(Y, [band(Y, 1.0), band(Y, 0.5)], 0.9)  # at most 0.5
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
