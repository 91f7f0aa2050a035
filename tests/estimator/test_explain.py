"""Explanations: weights times consequents are the prediction and both bounds, to rounding."""

from __future__ import annotations

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from planted_system import planted, two_rules

from gt2lite import GT2Regressor
from gt2lite.memberships import kappa_of, log_firing
from gt2lite.system import Planes, constrain

# calibrations are odd here, on purpose
pytestmark = [
    pytest.mark.filterwarnings("ignore::gt2lite.regressor.NarrowEnvelopeWarning"),
    pytest.mark.filterwarnings("ignore::gt2lite.regressor.MissedLevelWarning"),
]


def check_sums(reg, x, coverage=None, *, group=None, **options):
    """Return an explanation, after a check that every part of it adds up to its value."""
    why = reg.explain(x, coverage, group=group, **options)
    groups = None if group is None else [group]
    lower, upper = reg.predict_interval(x[None], coverage, groups=groups, **options)
    expected = float(reg.predict(x[None])[0]), float(lower[0]), float(upper[0])
    assert (why.prediction, why.lower, why.upper) == expected
    for part, value in zip(why.parts, expected, strict=True):
        assert part.value == value
        assert_allclose(part.weights @ why.consequents + part.margin, value, rtol=1e-10)
        assert_allclose(part.weights.sum(), 1, rtol=1e-10)
        assert (part.weights >= 0).all()
        assert (part.fires[0] <= part.fires[1]).all()
    return why


@pytest.mark.parametrize("alpha", [0.01, 0.2, 1.0])
def test_sums_are_exact_in_a_plane(data, fitted, alpha):
    for x in data[0][::90]:
        check_sums(fitted, x, alpha=alpha)


@pytest.mark.parametrize("method", ["table", "search", "exact", "conformal"])
def test_sums_are_exact_for_every_method(data, fitted, method):
    X, y = data
    fitted.calibrate(X[500:700], y[500:700], method)
    for coverage in (0.3, 0.8):
        why = check_sums(fitted, X[800], coverage)
        assert why.lower_end.alpha == why.upper_end.alpha


def test_a_calibration_beyond_the_planes_adds_a_margin(data, fitted):
    X, y = data
    noise = 20 * np.std(y) * np.random.default_rng(0).normal(size=200)  # no plane covers these
    reg = fitted.calibrate(X[500:700], y[500:700] + noise, "conformal")
    why = check_sums(reg, X[0], 0.9)
    (row,) = reg.calibration_report(0.9)
    assert np.isnan(row.alpha)
    assert_allclose([why.lower_end.margin, why.upper_end.margin], [-row.margin, row.margin])
    assert why.lower_end.alpha == Planes(reg.params_, np.zeros((1, 3))).alpha_min
    assert why.estimate.margin == 0
    lines = [line for line in str(why).splitlines() if "(margin: " in line]
    assert [line.split()[0] for line in lines] == ["-", "+"]
    assert "margin" not in str(reg.explain(X[0], alpha=0.5))


def test_each_bound_may_have_its_own_plane(data, fitted):
    X, y = data
    fitted.calibrate(X[500:700], y[500:700] + 50, "conformal", sides="each")
    why = check_sums(fitted, X[3], 0.8)
    assert_allclose([why.lower_end.alpha, why.upper_end.alpha], fitted.calibrator_.alpha(0.8))
    assert why.lower_end.alpha != why.upper_end.alpha
    assert str(why).count("fires at") == 2


@pytest.mark.parametrize("sides", ["both", "each"])
def test_each_group_has_its_own_plane(data, fitted, sides):
    X, y = data
    groups = np.where(np.arange(200) % 2, "odd", "even")
    wild = y[500:700] + np.where(groups == "odd", 900, 0) * np.sin(np.arange(200))
    fitted.calibrate(X[500:700], wild, "conformal", groups=groups, sides=sides)
    planes = {check_sums(fitted, X[3], 0.7, group=name).lower_end.alpha for name in ("odd", "even")}
    assert len(planes) == 2
    for group in (None, "neither"):
        with pytest.raises(ValueError, match="group"):
            fitted.explain(X[3], 0.7, group=group)


def test_bounds_take_the_firing_strength_of_the_plane_that_pulls_them_outwards(fitted, data):
    why = fitted.explain(data[0][5], alpha=0.2)
    Z = fitted.scaler_.transform_X(data[0][5:6])
    theta = constrain(fitted.params_)[:4]
    fires = np.exp([f[0] for f in log_firing(Z, *theta, kappa_of(0.2))])
    for part, sign in ((why.lower_end, 1), (why.upper_end, -1)):
        assert_array_equal(part.fires, fires)
        outside = sign * (why.consequents - part.value) < 0
        chosen = np.where(outside, fires[1], fires[0])
        assert_allclose(part.weights, chosen / chosen.sum(), rtol=1e-9)
    assert why.estimate.alpha == min(fitted.recipe_.planes.alphas)


def test_it_reads_as_a_sum():
    # halfway between two rules of the same sets: half of 100 and half of 120
    why = two_rules().explain([15.0], alpha=1.0, target="load")
    lines = str(why).splitlines()
    assert lines[0] == "load: prediction 110.0, plane 1 110.0 to 110.0"
    assert lines[1] == "at x0 15.0"
    assert "rule 1 is for x0 below 10.9 [0.24]" in lines
    assert lines[3] == "prediction 110.0 = 0.50 * 100.0 (rule 1) + 0.50 * 120.0 (rule 2)"


def test_printed_sums_hold_when_many_rules_are_added_up(data):
    X, y = data
    reg = GT2Regressor(n_rules=12, epochs=3).fit(X[:300], y[:300])
    why = reg.explain(X[1], alpha=0.3)
    text = re.sub(r"\n +", " ", str(why))
    for part in why.parts:
        line = next(line for line in text.splitlines() if line.startswith(f"{part.name} "))
        terms = re.findall(r"(\d\.\d\d) \* (\S+) \(", line)
        assert 1 <= len(terms) <= 5
        said = sum(float(w) * float(v) for w, v in terms) / sum(float(w) for w, _ in terms)
        assert abs(said - part.value) < 0.05 * reg.scaler_.y_std
    assert max(map(len, str(why).splitlines())) <= 100
    assert len(why.table()) == 12
    assert_allclose(sum(row["upper end weight"] for row in why.table()), 1)


def test_a_row_may_be_numbers_a_labelled_row_or_a_table():
    pd = pytest.importorskip("pandas")
    reg = planted([[0.0, 1.0]], [[1.0, 1.0]], [[1.0, -0.5]], [0.3], names=["size", "age"])
    frame = pd.DataFrame([[11.0, 22.0]], columns=["size", "age"])
    row = frame.iloc[0]
    for x in (frame, row, row[["age", "size"]], [11.0, 22.0], np.array([11.0, 22.0])):
        assert reg.explain(x, alpha=0.1).prediction == reg.predict(frame)[0]
    with pytest.raises(ValueError, match=r"size, year.*size, age"):
        reg.explain(row.rename({"age": "year"}), alpha=0.1)


@pytest.mark.parametrize(
    ("x", "options", "message"),
    [
        ([1.0, 2.0], {"alpha": 0.1}, "x must have 1 numbers"),
        (["a"], {"alpha": 0.1}, "x must hold numbers"),
        ([np.nan], {"alpha": 0.1}, "x contains NaN"),
        ([[1.0], [2.0]], {"alpha": 0.1}, "one row, got 2"),
        (np.ones((3, 1)), {"alpha": 0.1}, "one row, got 3"),
        ([1.0], {"alpha": 0.001}, "alpha"),
        ([1.0], {"alpha": 0.1, "coverage": 0.9}, "alpha or coverage"),
        ([1.0], {"alpha": 0.1, "group": "a"}, "group"),
    ],
)
def test_bad_arguments_are_named(x, options, message):
    with pytest.raises(ValueError, match=message):
        two_rules().explain(x, **options)


def test_a_level_needs_a_calibration_and_must_be_one_number(data, fitted):
    with pytest.raises(RuntimeError, match="calibrate"):
        two_rules().explain([1.0])
    X, y = data
    fitted.calibrate(X[500:700], y[500:700], "conformal")
    assert fitted.explain(X[0]).coverage == 0.9
    with pytest.raises(ValueError, match="coverage"):
        fitted.explain(X[0], coverage=[0.5, 0.9])
    with pytest.raises(ValueError, match="group"):
        fitted.explain(X[0], group="a")
