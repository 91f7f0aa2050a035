"""Facts about `IntervalHead`: what it learns from, what it predicts, what it guarantees."""

import warnings

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not installed (extra `sklearn`)")

from heads import SMALL, uneven
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GroupKFold, TimeSeriesSplit
from sklearn.neighbors import KNeighborsRegressor

from gt2lite import GT2Regressor, IntervalHead
from gt2lite.head import SeenRowsWarning


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


class Spy(RegressorMixin, BaseEstimator):
    """Predicts the mean, and remembers the rows of every fit and of what was asked then."""

    seen = []  # noqa: RUF012  (shared by all copies, on purpose)

    def fit(self, X, y):
        self.mean_, self.rows_ = np.mean(y), {row.tobytes() for row in X}
        return self

    def predict(self, X):
        asked = {row.tobytes() for row in X}
        self.seen.append((len(self.rows_), len(asked), len(asked & self.rows_)))
        return np.full(len(X), self.mean_)


# ------------------------------------------------------------------- what it learns from


def test_errors_are_those_on_rows_that_the_base_has_not_seen(made):
    X, y = made
    Spy.seen.clear()
    IntervalHead(Spy(), SMALL, cv=4).fit(X[:200], y[:200])
    assert Spy.seen[:4] == [(150, 50, 0)] * 4


def test_a_base_that_knows_its_rows_by_heart_has_honest_errors(made):
    X, y = made
    head = IntervalHead(KNeighborsRegressor(1), SMALL).fit(X[:400], y[:400])
    nearest = head.base_
    assert (nearest.predict(X[:400]) == y[:400]).all()
    test = np.sqrt(np.mean((nearest.predict(X[400:]) - y[400:]) ** 2))
    assert head.rmse_["base"] == pytest.approx(test, rel=0.15)
    assert head.head_.scaler_.y_std == pytest.approx(test, rel=0.15)


def test_the_base_is_trained_on_all_rows_and_the_one_given_stays_as_it_was(made):
    X, y = made
    base = Ridge(alpha=3.0)
    head = IntervalHead(base, SMALL).fit(X[:200], y[:200])
    assert not hasattr(base, "coef_")
    np.testing.assert_array_equal(head.base_.coef_, clone(base).fit(X[:200], y[:200]).coef_)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_intervals_are_the_base_and_a_system_of_its_errors(made, calibrated):
    X, y = made
    found = calibrated.predict_interval(X, [0.5, 0.9])
    predicted = LinearRegression().fit(X[:400], y[:400]).predict(X)
    inputs = np.column_stack([X, predicted])
    system = calibrated.head_.calibrate(inputs[400:700], (y - predicted)[400:700])
    for end, of_error in zip(found, system.predict_interval(inputs, [0.5, 0.9]), strict=True):
        np.testing.assert_allclose(end, predicted[:, None] + of_error, rtol=1e-12)


def test_an_ensemble_may_be_the_head(made, tmp_path):
    X, y = made
    system = clone(SMALL).set_params(n_systems=2, margins=0.5)
    head = IntervalHead(LinearRegression(), system).fit_calibrate(X[:400], y[:400])
    assert len(head.head_.systems_) == 2
    lower, upper = head.predict_interval(X, [0.5, 0.9])
    assert (lower[:, 1] <= lower[:, 0]).all() and (upper[:, 0] <= upper[:, 1]).all()
    first, second = (head.rules(X[:400], system=k) for k in (0, 1))
    assert first[0].rule.formula() != second[0].rule.formula()
    why = head.explain(X[3])
    assert (why.lower, why.upper) == pytest.approx((lower[3, 1], upper[3, 1]))
    head.save(tmp_path / "head.json")
    again = IntervalHead.load(tmp_path / "head.json", head.base_)
    np.testing.assert_array_equal(again.predict_interval(X), head.predict_interval(X))


def test_folds_may_be_any_of_scikit_learn(made):
    X, y = made
    order = IntervalHead(LinearRegression(), SMALL, cv=TimeSeriesSplit(3)).fit(X[:200], y[:200])
    assert order.out_of_fold_ and np.isfinite(order.predict(X)).all()
    splits = list(GroupKFold(2).split(X[:200], groups=np.arange(200) // 10))
    IntervalHead(LinearRegression(), SMALL, cv=splits).fit(X[:200], y[:200])


def test_the_same_seed_gives_the_same_bits_and_another_does_not(made):
    X, y = made
    first, again, other = (
        IntervalHead(KNeighborsRegressor(), random_state=seed, system=clone(SMALL))
        .fit(X[:100], y[:100])
        .predict_interval(X, alpha=0.01)[0]
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_the_default_system_is_the_preset():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 1))
    head = IntervalHead(LinearRegression(), cv=2).fit(X, X[:, 0] + rng.normal(size=40))
    assert len(head.head_.systems_) == 5
    assert head.head_.n_rules == 20 and head.head_.objective == "aligned"


# --------------------------------------------------------------------------- prediction


def test_a_correction_is_made_where_it_helps(made, linear):
    X, y = made
    assert linear.corrects_ and linear.rmse_["corrected"] < 0.9 * linear.rmse_["base"]
    base, corrected = (
        np.sqrt(np.mean((one - y[700:]) ** 2))
        for one in (linear.base_.predict(X[700:]), linear.predict(X[700:]))
    )
    assert corrected < 0.9 * base


def test_a_base_that_cannot_be_bettered_is_left_alone():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(150, 4))
    y = X @ [1.0, 2.0, 3.0, 4.0] + rng.normal(size=150)
    head = IntervalHead(LinearRegression(), SMALL).fit(X, y)
    assert not head.corrects_
    np.testing.assert_array_equal(head.predict(X), head.base_.predict(X))


# ---------------------------------------------------------------------------- guarantee


def counts(head, X, y, unseen, n=59, m=100, redraws=300):
    """Return how many of `m` new rows are covered at 90 %, for calibration sets drawn anew."""
    rng = np.random.default_rng(7)
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # small sets, and seen rows, are the point
        for _ in range(redraws):
            rows = rng.choice(unseen, n + m, replace=False)
            lower, upper = head.calibrate(X[rows[:n]], y[rows[:n]]).predict_interval(X[rows[n:]])
            found.append(np.sum((lower <= y[rows[n:]]) & (y[rows[n:]] <= upper)) / m)
    return np.array(found)


@pytest.mark.parametrize("base", [LinearRegression(), KNeighborsRegressor(1)], ids=["line", "1nn"])
def test_the_level_is_kept_by_the_law_whatever_the_base(made, base):
    X, y = made
    head = IntervalHead(base, SMALL).fit(X[:300], y[:300])
    found = counts(head, X, y, np.arange(300, 2400))
    k, n, m = 54, 59, 100  # the rank for 90 % of 59 rows: coverage is Beta(54, 6)
    mean = k / (n + 1)
    spread = np.sqrt(mean * (1 - mean) / (n + 2) * (n + 1 + m) / m)
    assert abs(found.mean() - mean) < 4.5 * spread / np.sqrt(len(found))
    assert found.std() == pytest.approx(spread, rel=0.25)


def test_the_law_finds_out_rows_that_the_base_has_seen(made):
    X, y = made
    head = IntervalHead(FrozenEstimator(KNeighborsRegressor(1).fit(X[:600], y[:600])), SMALL)
    head.fit(X[:300], y[:300])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lower, upper = head.calibrate(X[300:600], y[300:600]).predict_interval(X[600:])
    assert np.mean((lower <= y[600:]) & (y[600:] <= upper)) < 0.5


def test_intervals_are_nested(made, calibrated):
    X, _ = made
    lower, upper = calibrated.predict_interval(X, np.linspace(0.05, 0.99, 40))
    assert (np.diff(lower, axis=1) <= 0).all() and (np.diff(upper, axis=1) >= 0).all()


def test_wide_where_the_noise_is(made):
    X, y = made
    system = clone(SMALL).set_params(n_rules=10, epochs=60, start="joint")
    head = IntervalHead(KNeighborsRegressor(10), system).fit_calibrate(X[:1200], y[:1200])
    lower, upper = head.predict_interval(X[1200:])
    width, noisy = upper - lower, X[1200:, 0] > 0
    assert width[noisy].mean() > 2 * width[~noisy].mean()  # the noise itself is 6 times as large


@pytest.mark.filterwarnings("ignore::gt2lite.calibration.SmallCalibrationWarning")
def test_groups_sides_and_methods_are_those_of_the_system(made, linear):
    X, y = made
    groups = np.where(X[:, 0] > 0, "wild", "calm")
    linear.calibrate(X[400:700], y[400:700], groups=groups[400:700], sides="each")
    lower, upper = linear.predict_interval(X[700:], groups=groups[700:])
    inside = (lower <= y[700:]) & (y[700:] <= upper)
    for name in ("wild", "calm"):
        assert inside[groups[700:] == name].mean() > 0.85
    assert [row.group for row in linear.calibration_report(0.9)] == ["calm", "wild"]
    linear.calibrate(X[400:700], y[400:700], method="exact")
    assert linear.calibrator_.method == "exact"


def test_one_table_is_split_as_the_regressor_splits_it(made):
    X, y = made
    head = IntervalHead(LinearRegression(), SMALL, random_state=3).fit_calibrate(X[:400], y[:400])
    plain = GT2Regressor(n_rules=1, epochs=1, random_state=3).fit_calibrate(X[:400], y[:400])
    np.testing.assert_array_equal(head.calibration_rows_, plain.calibration_rows_)
    assert head.split_ == plain.split_
    other = y.copy()
    other[head.calibration_rows_] += 1e6
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again = clone(head).fit_calibrate(X[:400], other[:400])
    np.testing.assert_array_equal(again.predict(X), head.predict(X))
    assert not hasattr(head.calibrate(X[400:700], y[400:700]), "split_")


# ---------------------------------------------------------------------------- seen rows


def test_calibration_rows_that_were_trained_on_are_counted(made, linear):
    X, y = made
    with pytest.warns(SeenRowsWarning, match="25 of 300 calibration rows are training rows"):
        linear.calibrate(X[375:675], y[375:675])


def test_a_stray_row_is_no_offence(made, linear):
    X, y = made
    rows = np.arange(397, 697)  # three of 300 were trained on
    linear.calibrate(X[rows], y[rows])
    with pytest.warns(SeenRowsWarning, match="4 of 300"):
        linear.calibrate(X[rows - 1], y[rows - 1])


def test_rows_that_a_table_holds_twice_are_no_offence(made):
    X, y = made
    rng = np.random.default_rng(0)
    X, y = np.round(X), np.round(y / 20)  # few different rows
    rows = rng.permutation(len(y))
    head = IntervalHead(LinearRegression(), SMALL).fit(X[rows[:400]], y[rows[:400]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", SeenRowsWarning)
        head.calibrate(X[rows[400:700]], y[rows[400:700]])


# ------------------------------------------------------------------------------- frozen


def test_a_frozen_base_is_not_touched(made):
    X, y = made
    base = KNeighborsRegressor(5).fit(X[:300], y[:300])
    head = IntervalHead(FrozenEstimator(base), SMALL).fit_calibrate(X[300:700], y[300:700])
    assert head.base_.estimator is base and base.n_samples_fit_ == 300
    assert not head.out_of_fold_ and head.split_.endswith("must be new to it")


def test_frozen_rows_that_were_seen_cost_width_and_not_validity(made):
    X, y = made
    base = FrozenEstimator(KNeighborsRegressor(1).fit(X[:300], y[:300]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its errors there are 0: a constant target
        head = IntervalHead(base, SMALL).fit(X[:300], y[:300])
    found = counts(head, X, y, np.arange(300, 2400), redraws=100)
    assert abs(found.mean() - 0.9) < 0.02
    honest = IntervalHead(KNeighborsRegressor(1), SMALL).fit(X[:300], y[:300])
    widths = [
        np.mean(np.subtract(*one.calibrate(X[300:600], y[300:600]).predict_interval(X)[::-1]))
        for one in (honest, head)
    ]
    assert widths[0] < widths[1]
