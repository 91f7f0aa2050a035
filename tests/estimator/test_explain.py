"""Explanations: weights times consequents are the prediction and both ends, to rounding."""

from __future__ import annotations

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from planted_system import planted, two_rules

from gt2lite import GT2Regressor
from gt2lite.memberships import kappa_of, log_firing
from gt2lite.system import Planes, constrain

EXACT = {"rtol": 1e-10}

# advice about calibrations that are meant to be odd here
pytestmark = [
    pytest.mark.filterwarnings("ignore::gt2lite.regressor.NarrowEnvelopeWarning"),
    pytest.mark.filterwarnings("ignore::gt2lite.regressor.MissedLevelWarning"),
]


def check_sums(reg, why, row, lower, upper):
    """Check that every part of an explanation adds up to what the estimator says."""
    wanted = reg.predict(row)[0], lower[0], upper[0]
    assert (why.prediction, why.lower, why.upper) == tuple(map(float, wanted))
    for part, value in zip(why.parts, wanted, strict=True):
        assert_allclose(part.weights @ why.consequents + part.margin, value, **EXACT)
        assert_allclose(part.weights.sum(), 1, **EXACT)
        assert (part.weights >= 0).all()
        assert part.value == float(value)
        assert (part.fires[0] <= part.fires[1]).all()


@pytest.mark.parametrize("alpha", [0.01, 0.2, 1.0])
def test_sums_are_exact_in_a_plane(data, fitted, alpha):
    X, _ = data
    for i in range(0, 900, 90):
        row = X[i : i + 1]
        check_sums(fitted, fitted.explain(X[i], alpha=alpha), row,
                   *fitted.predict_interval(row, alpha=alpha))  # fmt: skip


@pytest.mark.parametrize("method", ["table", "search", "exact", "conformal"])
@pytest.mark.parametrize("coverage", [0.3, 0.8])
def test_sums_are_exact_whatever_calibrated(data, fitted, method, coverage):
    X, y = data
    fitted.calibrate(X[500:700], y[500:700], method)
    row = X[800:801]
    why = fitted.explain(X[800], coverage)
    check_sums(fitted, why, row, *fitted.predict_interval(row, coverage=coverage))
    assert why.lower_end.alpha == why.upper_end.alpha


def beyond(fitted, X, y, **options):
    """Calibrate on targets so wild that no plane covers them."""
    noise = 20 * np.std(y) * np.random.default_rng(0).normal(size=200)
    return fitted.calibrate(X[500:700], y[500:700] + noise, "conformal", **options)


def test_a_margin_has_a_line_of_its_own(data, fitted):
    X, y = data
    reg = beyond(fitted, X, y)
    why = reg.explain(X[0], 0.9)
    (row,) = reg.calibration_report(0.9)
    assert np.isnan(row.alpha)
    assert_allclose([why.lower_end.margin, why.upper_end.margin], [-row.margin, row.margin])
    assert why.lower_end.alpha == Planes(reg.params_, np.zeros((1, 3))).alpha_min
    assert why.estimate.margin == 0
    check_sums(reg, why, X[:1], *reg.predict_interval(X[:1], coverage=0.9))
    lines = [line for line in str(why).splitlines() if "(margin: calibration went" in line]
    assert [line.split()[0] for line in lines] == ["-", "+"]
    assert "margin" not in str(reg.explain(X[0], alpha=0.5))


def test_each_end_may_have_a_plane_of_its_own(data, fitted):
    X, y = data
    fitted.calibrate(X[500:700], y[500:700] + 50, "conformal", sides="each")
    why = fitted.explain(X[3], 0.8)
    assert_allclose([why.lower_end.alpha, why.upper_end.alpha], fitted.calibrator_.alpha(0.8))
    assert why.lower_end.alpha != why.upper_end.alpha
    check_sums(fitted, why, X[3:4], *fitted.predict_interval(X[3:4], coverage=0.8))
    assert "planes of their own" in str(why)
    assert str(why).count("fires at") == 2


@pytest.mark.parametrize("sides", ["both", "each"])
def test_groups_have_planes_of_their_own(data, fitted, sides):
    X, y = data
    groups = np.where(np.arange(200) % 2, "odd", "even")
    wild = y[500:700] + np.where(groups == "odd", 900, 0) * np.sin(np.arange(200))
    fitted.calibrate(X[500:700], wild, "conformal", groups=groups, sides=sides)
    planes = set()
    for group in ("odd", "even"):
        why = fitted.explain(X[3], 0.7, group=group)
        ends = fitted.predict_interval(X[3:4], coverage=0.7, groups=[group])
        check_sums(fitted, why, X[3:4], *ends)
        planes.add(why.lower_end.alpha)
    assert len(planes) == 2
    with pytest.raises(ValueError, match="groups are missing"):
        fitted.explain(X[3], 0.7)
    with pytest.raises(ValueError, match="must be among those of the calibration set"):
        fitted.explain(X[3], 0.7, group="neither")


def test_firing_intervals_are_those_of_the_plane(fitted, data):
    why = fitted.explain(data[0][5], alpha=0.2)
    Z = fitted.scaler_.transform_X(data[0][5:6])
    theta = constrain(fitted.params_)[:4]
    wanted = np.exp([f[0] for f in log_firing(Z, *theta, kappa_of(0.2))])
    assert_array_equal(why.lower_end.fires, wanted)
    assert why.estimate.alpha == min(fitted.recipe_.planes.alphas)


def test_ends_take_the_firing_that_pulls_them_outwards(fitted, data):
    why = fitted.explain(data[0][5], alpha=0.2)
    for part, sign in ((why.lower_end, 1), (why.upper_end, -1)):
        low, high = part.fires
        outside = sign * (why.consequents - part.value) < 0
        chosen = np.where(outside, high, low)
        assert_allclose(part.weights, chosen / chosen.sum(), rtol=1e-9)


def test_it_reads_as_a_sum():
    # halfway between two rules of the same sets: half of 100 and half of 120
    why = two_rules().explain([15.0], alpha=1.0, target="load")
    lines = str(why).splitlines()
    assert lines[0] == "load: prediction 110.0, plane 1 110.0 to 110.0"
    assert lines[1] == "at x0 15.0"
    assert "rule 1 is for x0 below 10.9 [0.24]" in lines
    assert lines[3] == "prediction 110.0 = 0.50 * 100.0 (rule 1) + 0.50 * 120.0 (rule 2)"
    assert repr(why) == str(why)


def test_many_rules_are_taken_together_and_printed_sums_still_hold(data):
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


def test_a_row_may_come_in_any_form(fitted, data):
    X, _ = data
    one = fitted.explain(X[4], alpha=0.1)
    for row in (X[4:5], X[4].tolist(), [X[4].tolist()]):
        assert fitted.explain(row, alpha=0.1).prediction == one.prediction


def test_a_row_of_a_frame_goes_by_its_labels():
    pd = pytest.importorskip("pandas")
    reg = planted([[0.0, 1.0]], [[1.0, 1.0]], [[1.0, -0.5]], [0.3], names=["size", "age"])
    frame = pd.DataFrame([[11.0, 22.0]], columns=["size", "age"])
    wanted = reg.predict(frame)[0]
    for row in (frame, frame.iloc[0], frame.iloc[0][["age", "size"]], [11.0, 22.0]):
        assert reg.explain(row, alpha=0.1).prediction == wanted
    with pytest.raises(ValueError, match="x is labelled size, year, but the inputs are size, age"):
        reg.explain(frame.iloc[0].rename({"age": "year"}), alpha=0.1)


@pytest.mark.parametrize(
    ("x", "options", "message"),
    [
        ([1.0, 2.0], {"alpha": 0.1}, "x must have 1 numbers, one per input, got 2"),
        (["a"], {"alpha": 0.1}, "x must hold numbers only"),
        ([np.nan], {"alpha": 0.1}, "x contains NaN"),
        ([[1.0], [2.0]], {"alpha": 0.1}, "explain takes one row, got 2"),
        (np.ones((3, 1)), {"alpha": 0.1}, "explain takes one row, got 3"),
        ([1.0], {"alpha": 0.001}, "alpha must be a number in [0.01, 1]"),
        ([1.0], {"alpha": 0.1, "coverage": 0.9}, "give alpha or coverage, not both"),
        ([1.0], {"alpha": 0.1, "group": "a"}, "group"),
    ],
)
def test_errors_are_kind(x, options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        two_rules().explain(x, **options)


def test_a_level_needs_a_calibration_and_one_number(data, fitted):
    with pytest.raises(RuntimeError, match="calibrate"):
        two_rules().explain([1.0])
    X, y = data
    fitted.calibrate(X[500:700], y[500:700], "conformal")
    assert fitted.explain(X[0]).coverage == 0.9
    with pytest.raises(ValueError, match="coverage must be a number"):
        fitted.explain(X[0], coverage=[0.5, 0.9])
    with pytest.raises(ValueError, match="groups were given"):
        fitted.explain(X[0], group="a")
