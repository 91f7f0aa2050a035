"""Facts about `IntervalHead`: frames, rules of doubt, and what it refuses."""

import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not installed (extra `sklearn`)")

from heads import SMALL, uneven
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gt2lite import GT2Regressor, IntervalHead


@pytest.fixture(scope="module")
def made():
    return uneven()


@pytest.fixture(scope="module")
def linear(made):
    X, y = made
    return IntervalHead(LinearRegression(), SMALL).fit(X[:400], y[:400])


@pytest.fixture
def calibrated(made, linear):
    X, y = made
    return linear.calibrate(X[400:700], y[400:700])


# ------------------------------------------------------------------------------- frames


def test_a_base_sees_the_frame_and_its_names(made):
    pd = pytest.importorskip("pandas")
    X, y = made
    frame = pd.DataFrame(X, columns=["hot", "base"], index=np.arange(2400)[::-1])
    base = make_pipeline(
        ColumnTransformer([("hot", StandardScaler(), ["hot"])], remainder="passthrough"),
        LinearRegression(),
    )
    head = IntervalHead(base, SMALL).fit_calibrate(frame[:700], pd.Series(y[:700]))
    plain = IntervalHead(LinearRegression(), SMALL).fit_calibrate(X[:700], y[:700])
    np.testing.assert_allclose(head.predict_interval(frame), plain.predict_interval(X), rtol=1e-6)
    assert list(head.head_.feature_names_in_) == ["hot", "base", "base (prediction)"]
    assert "Where LinearRegression is unsure" in str(head.rules(frame))
    row = head.explain(frame.iloc[5])
    assert row.lower == pytest.approx(head.predict_interval(frame[5:6])[0][0])
    with pytest.raises(ValueError, match="feature names"):
        head.predict(frame.rename(columns={"hot": "cold"}))


# ------------------------------------------------------------------------- rules of doubt


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_rules_come_by_the_width_of_the_intervals_where_they_lead(made, calibrated):
    X, _ = made
    rules = calibrated.rules(X[:400], target="price")
    widths = [doubt.width for doubt in rules]
    assert widths == sorted(widths, reverse=True) and widths[0] > widths[-1]
    lower, upper = calibrated.predict_interval(X[:400])
    inputs = np.column_stack([X[:400], calibrated.base_.predict(X[:400])])
    weights = calibrated.head_.rule_weights(inputs)[:, rules[0].number - 1]
    assert widths[0] == pytest.approx(np.average(upper - lower, weights=weights))
    assert rules[0].times == pytest.approx(widths[0] / (upper - lower).mean())
    text = str(rules)
    assert text.startswith("Where LinearRegression is unsure: 4 of 4 rules, the widest 90 %")
    assert "price - base = " in text and "of the mean; leads on" in text
    assert rules.table()[0]["width"] == widths[0]
    assert len(calibrated.rules(X[:400], top=2)) == 2


def test_rules_without_rows_or_calibration_say_what_they_can(made, linear):
    X, y = made
    fresh = IntervalHead(LinearRegression(), SMALL).fit(X[:100], y[:100])
    assert fresh.rules()[0].width is None and "rules(X)" in str(fresh.rules())
    assert "trained envelopes" in str(fresh.rules(X[:100]))
    with pytest.raises(RuntimeError, match="calibrat"):
        fresh.rules(X[:100], coverage=0.9)


def test_intervals_of_one_end_are_read_by_their_envelopes(made, linear):
    X, y = made
    head = linear.calibrate(X[400:700], y[400:700], sides="upper")
    lower, upper = head.predict_interval(X)
    assert (lower == -np.inf).all() and np.isfinite(upper).all()
    assert "trained envelopes" in str(head.rules(X[:400]))


def test_intervals_come_as_a_frame_on_request(made, calibrated):
    pd = pytest.importorskip("pandas")
    X, _ = made
    frame = calibrated.predict_interval(X[:3], [0.5, 0.9], as_frame=True)
    assert list(frame.columns) == ["lower_50", "upper_50", "lower_90", "upper_90"]
    np.testing.assert_array_equal(frame["upper_90"], calibrated.predict_interval(X[:3])[1])
    assert isinstance(calibrated.calibration_report([0.5, 0.9], as_frame=True), pd.DataFrame)


@pytest.mark.parametrize("how", [{}, {"coverage": 0.8}, {"alpha": 0.05}])
def test_an_explanation_adds_up(made, calibrated, how):
    X, _ = made
    why = calibrated.explain(X[5], **how)
    assert why.prediction == pytest.approx(calibrated.predict(X[5:6])[0])
    ends = calibrated.predict_interval(X[5:6], **how)
    assert (why.lower, why.upper) == pytest.approx((ends[0][0], ends[1][0]))
    part = why.head.lower_end
    total = why.base + part.weights @ why.head.consequents + part.margin
    assert total == pytest.approx(why.lower)
    assert "by the head" in str(why) and "y - base" in str(why)


# ----------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("base", "words"),
    [
        (LinearRegression, r"got the class LinearRegression: write LinearRegression\(\)"),
        (None, "got None, which has no get_params"),
        (StandardScaler(), "which has no predict"),
        (LogisticRegression(), "which predicts classes"),
    ],
)
def test_a_base_that_is_none_is_named(made, base, words):
    with pytest.raises(TypeError, match=words):
        IntervalHead(base).fit(*made)


class Odd(RegressorMixin, BaseEstimator):
    def __init__(self, answer=None):
        self.answer = answer

    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.full((len(X), 2), 1.0) if self.answer is None else np.full(len(X), self.answer)


@pytest.mark.parametrize(
    ("base", "words"), [(Odd(), r"shape \(480, 2\)"), (Odd(np.nan), "NaN or infinity for 480")]
)
def test_a_base_that_predicts_no_numbers_is_told(made, base, words):
    with pytest.raises(ValueError, match=words):
        IntervalHead(base, SMALL).fit(*made)


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"cv": 1}, ValueError, "cv must be a whole number of at least 2, got 1"),
        ({"cv": 2.5}, ValueError, "cv must be a whole number"),
        ({"cv": 60}, ValueError, r"cv=60 folds need at least 120 rows, got 100"),
        ({"system": Ridge()}, TypeError, "system must be a GT2Regressor or None"),
        ({"system": GT2Regressor(target_transform="log")}, ValueError, "errors, which have both"),
        ({"random_state": -1}, ValueError, "random_state must be"),
    ],
)
def test_settings_that_are_none_are_named(made, settings, error, words):
    with pytest.raises(error, match=words):
        IntervalHead(Ridge(), **settings).fit(made[0][:100], made[1][:100])


def test_a_coverage_needs_a_calibration(made):
    X, y = made
    fresh = IntervalHead(Ridge(), SMALL).fit(X[:100], y[:100])
    assert fresh.predict_interval(X, alpha=0.01)[0].shape == (2400,)
    with pytest.raises(RuntimeError, match="a coverage needs a calibration"):
        fresh.predict_interval(X)
    assert not hasattr(fresh, "calibrator_")


def test_without_scikit_learn_the_error_says_what_to_install():
    code = (
        "import sys\nsys.modules['sklearn'] = None\n"
        "import gt2lite\nhelp(gt2lite.IntervalHead)\ngt2lite.IntervalHead(None)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert 'pip install "gt2lite[sklearn]"' in run.stderr.splitlines()[-1]
