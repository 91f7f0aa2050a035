"""Margins of one number: the rank of calibration decides, and MAPIE finds the same."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from study.design import LEVELS
from study.field.margins import (
    FLOOR,
    GRID,
    Parts,
    Shape,
    answer,
    around,
    calibrated,
    crps,
    equalised,
    floored,
    same,
)

from gt2lite.calibration import CoverageError, rank
from gt2lite.metrics import picp
from study.oracle import margins_at_coverage


@pytest.fixture
def rows():
    """Centres, scales and targets of 99 rows for calibration and 200 for the test."""
    rng = np.random.default_rng(1)
    parts = []
    for n in (99, 200):
        y_hat, scale = rng.normal(size=n), rng.uniform(0.2, 2, n)
        parts.append((y_hat, scale, y_hat + scale * rng.standard_t(4, n)))
    return parts


def families(rows):
    """The three kinds of family, on both parts."""
    made = {"constant": [], "scaled": [], "quantiles": []}
    for y_hat, scale, _ in rows:
        made["constant"].append(around(y_hat))
        made["scaled"].append(around(y_hat, scale))
        made["quantiles"].append(Shape(y_hat - scale, y_hat + 0.5 * scale, np.ones(y_hat.size)))
    return {name: Parts(*shapes) for name, shapes in made.items()}


@pytest.mark.parametrize("kind", ["constant", "scaled", "quantiles"])
@pytest.mark.parametrize("level", [0.5, 0.8, 0.95])
def test_the_margin_is_the_smallest_that_covers_the_rank_of_calibration_rows(rows, kind, level):
    parts, y_cal = families(rows)[kind], rows[0][2]
    lower, upper = calibrated(parts, y_cal, level)
    t = (upper - parts.test.upper) / parts.test.scale  # the same for all rows
    assert_allclose(t, t[0], atol=1e-12)
    wanted = rank(level, 100)

    def covered(t):
        low, high = parts.cal.at(t)
        return int(np.sum((low - 1e-12 <= y_cal) & (y_cal <= high + 1e-12)))

    assert covered(t[0]) == wanted
    assert covered(t[0] - 1e-6) < wanted
    assert (lower <= upper).all()


@pytest.mark.parametrize("kind", ["constant", "scaled", "quantiles"])
def test_higher_levels_contain_lower_ones(rows, kind):
    parts, y_cal = families(rows)[kind], rows[0][2]
    ends = [calibrated(parts, y_cal, level) for level in GRID]
    for (low, high), (lower, higher) in itertools.pairwise(ends):
        assert (lower <= low + 1e-12).all() and (high <= higher + 1e-12).all()  # points round


def test_one_margin_around_anything_is_that_of_the_oracle(rows):
    for kind in ("constant", "quantiles"):
        shape, y = families(rows)[kind].test, rows[1][2]
        for level in LEVELS:
            expected = margins_at_coverage(shape.lower, shape.upper, y, level)
            assert_allclose(equalised(shape, y, level), expected, atol=1e-9)


def test_equal_coverage_covers_the_level_with_scales_too(rows):
    shape, y = families(rows)["scaled"].test, rows[1][2]
    for level in (0.5, *LEVELS):
        assert picp(y, *equalised(shape, y, level)) == rank(level, y.size) / y.size


def test_a_level_beyond_the_calibration_rows_is_refused(rows):
    parts = families(rows)["constant"]
    few = Parts(Shape(*(a[:9] for a in parts.cal)), parts.test)
    with pytest.raises(CoverageError, match="more than 9 calibration rows"):
        calibrated(few, rows[0][2][:9], 0.95)


def test_a_spread_has_a_floor():
    found = floored(np.array([-5.0, 0.0, 0.3]), np.array([1.0, 1.0]))
    assert_array_equal(found, [FLOOR, FLOOR, 0.3])
    assert floored(np.zeros(1), np.zeros(3))[0] > 0


def test_crps_is_that_of_the_quantile_function():
    """For N(0, 1) and its own quantiles the CRPS is 1 / sqrt(pi) on average."""
    y = np.random.default_rng(0).normal(size=200_000)
    normal = pytest.importorskip("scipy.stats").norm
    ends = [(np.full(y.size, normal.ppf((1 - p) / 2)), np.full(y.size, normal.ppf((1 + p) / 2)))
            for p in GRID]  # fmt: skip
    assert crps(ends, y) == pytest.approx(1 / np.sqrt(np.pi), rel=0.01)
    taus = sorted(t for p in GRID for t in ((1 - p) / 2, (1 + p) / 2))
    assert_allclose(np.diff(taus), 0.05, atol=1e-12)


def test_an_answer_has_every_level_and_crps_only_where_one_training_gives_them(rows):
    parts, y_cal, y = families(rows)["scaled"], rows[0][2], rows[1][2]
    whole = answer("", rows[1][0], same(parts), y_cal, y)
    assert whole.ends.shape == whole.equal.shape == (2, 2, 200) and whole.y_hat.shape == (2, 200)
    assert whole.crps is not None and whole.crps > 0
    assert answer("", rows[1][0], same(parts), y_cal, y, every_level=False).crps is None


# ---------------------------------------------------------------------------- against MAPIE


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
    ours = calibrated(Parts(around(mean.predict(X_1)), around(mean.predict(X_2))), y_1, 0.8)
    assert_allclose(np.array(ours).T, theirs[:, :, 0], atol=1e-12)
    shapes = (Shape(*(m.predict(Z) for m in ends), np.ones(len(Z))) for Z in (X_1, X_2))
    assert_allclose(
        np.array(calibrated(Parts(*shapes), y_1, 0.8)).T, quantiles[:, :, 0], atol=1e-12
    )
