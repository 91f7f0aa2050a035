"""Facts about `IntervalHead`: its training rows, guarantee, error rules, and bad input."""

import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not installed (extra `sklearn`)")

from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GroupKFold, TimeSeriesSplit
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gt2lite.practice.head
from gt2lite import GT2Regressor, IntervalHead
from gt2lite.metrics import rmse
from gt2lite.practice.families import GRID, FamilyScore
from gt2lite.practice.head import cross_fit
from gt2lite.practice.margins import Margins
from gt2lite.practice.splitting import SeenRowsWarning
from gt2lite.recipe import Recipe

SMALL = GT2Regressor(n_rules=4, epochs=20, learning_rate=0.02, objective="aligned")


@pytest.fixture(scope="module")
def made():
    """Rows whose noise is six times as large if the first input is positive, around a kink."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(2400, 2))
    y = 50 + 10 * np.abs(X[:, 1]) + (1 + (X[:, 0] > 0) * 5) * rng.normal(size=2400)
    return X, y


@pytest.fixture(scope="module")
def linear(made):
    X, y = made
    return IntervalHead(LinearRegression(), SMALL).fit(X[:400], y[:400])


@pytest.fixture
def calibrated(made, linear):
    X, y = made
    return linear.calibrate(X[400:700], y[400:700])


class Spy(RegressorMixin, BaseEstimator):
    """Predicts the mean, and counts its training rows, the rows asked for, and those in both."""

    seen = []  # noqa: RUF012  (shared by all copies, on purpose)

    def fit(self, X, y):
        self.mean_, self.rows_ = np.mean(y), {row.tobytes() for row in X}
        return self

    def predict(self, X):
        asked = {row.tobytes() for row in X}
        self.seen.append((len(self.rows_), len(asked), len(asked & self.rows_)))
        return np.full(len(X), self.mean_)


# ------------------------------------------------------------------------------ training


def test_errors_are_those_on_rows_that_the_base_has_not_seen(made):
    X, y = made
    Spy.seen.clear()
    head = IntervalHead(Spy(), SMALL, cv=4).fit(X[:200], y[:200])
    assert Spy.seen == [(150, 50, 0)] * 4
    head.predict(X)
    assert Spy.seen[-1][0] == 200  # the base that predicts has all rows
    splits = list(GroupKFold(2).split(X[:200], groups=np.arange(200) // 10))
    for cv in (TimeSeriesSplit(3), splits):
        assert IntervalHead(LinearRegression(), SMALL, cv=cv).fit(X[:200], y[:200]).out_of_fold_


def test_intervals_are_the_base_plus_a_system_of_its_errors(made, calibrated):
    X, y = made
    found = calibrated.predict_interval(X, [0.5, 0.9])
    predicted = LinearRegression().fit(X[:400], y[:400]).predict(X)
    inputs = np.column_stack([X, predicted])
    system = calibrated.head_.calibrate(inputs[400:700], (y - predicted)[400:700])
    for end, of_error in zip(found, system.predict_interval(inputs, [0.5, 0.9]), strict=True):
        np.testing.assert_allclose(end, predicted[:, None] + of_error, rtol=1e-12)


@pytest.mark.parametrize("correct", [True, False])
def test_prediction_and_interval_in_one_call_are_those_of_two(made, correct):
    X, y = made
    head = IntervalHead(LinearRegression(), SMALL, correct=correct)
    head.fit_calibrate(X[:400], y[:400])
    predicted, *bounds = head.predict_interval(X, with_prediction=True)
    np.testing.assert_array_equal(predicted, head.predict(X))
    np.testing.assert_array_equal(bounds, head.predict_interval(X))
    with pytest.raises(TypeError, match=r"IntervalHead\.fit does not support sample_weight"):
        head.fit(X, y, sample_weight=y)


def test_the_system_may_be_an_ensemble_with_margins(made):
    X, y = made
    system = clone(SMALL).set_params(n_systems=2, margins=0.5)
    head = IntervalHead(LinearRegression(), system).fit_calibrate(X[:400], y[:400])
    assert len(head.head_.systems_) == 2
    lower, upper = head.predict_interval(X)
    first, second = (head.rules(X[:400], system=k) for k in (0, 1))
    assert first[0].formula() != second[0].formula()
    for options in ({}, {"system": 1}, {"background": X[:50]}):
        why = head.explain(X[3], **options)
        assert str(why) and len(why.to_frame()) == len(why.table())
        if not options.get("system"):
            assert (why.lower, why.upper) == pytest.approx((lower[3], upper[3]))


@pytest.mark.parametrize("chosen", [None, Margins(0.0, usual=7.0)], ids=["planes", "margins"])
def test_the_default_calibrates_the_family_with_the_better_score(made, monkeypatch, chosen):
    X, y = made
    scored = []
    monkeypatch.setattr(
        gt2lite.practice.head, "HEAD", Recipe(n_rules=2, epochs=2, objective="aligned")
    )
    monkeypatch.setattr(gt2lite.practice.head, "SYSTEMS", 2)
    monkeypatch.setattr(
        gt2lite.practice.head,
        "best_family",
        lambda seen: scored.append(seen) or FamilyScore(1.0, chosen),
    )
    head = IntervalHead(LinearRegression()).fit(X[:200], y[:200])
    assert len(scored[0].y) == 200 and scored[0].ends.shape == (2, len(GRID), 200)
    widths = np.subtract(*head.calibrate(X[200:400], y[200:400]).predict_interval(X[400:])[::-1])
    assert len(head.head_.systems_) == 2 and head.head_.recipe_.n_rules == 2
    if chosen is None:
        assert head.head_.margins_ is None and np.ptp(widths) > 0.1
    else:
        assert head.head_.margins_.power == 0 and np.ptp(widths) < 1e-9  # one margin for all rows
    IntervalHead(LinearRegression(), SMALL).fit(X[:200], y[:200])
    assert len(scored) == 1  # a system that is given is not changed


class Recogniser(BaseEstimator):
    """Predicts 1 for a row that it was trained on, else 0."""

    def fit(self, X, y):
        self.rows = {row.tobytes() for row in X}
        return self

    def predict(self, X):
        return np.array([float(row.tobytes() in self.rows) for row in X])

    def predict_interval(self, X, alpha):
        return self.predict(X) - 1 + alpha, self.predict(X) + 1 - alpha


def test_no_row_scores_a_system_that_was_trained_on_it():
    rng = np.random.default_rng(0)
    errors = np.arange(31.0)
    seen = cross_fit(Recogniser(), rng.normal(size=(31, 3)), errors, rng)
    assert sorted(seen.y) == errors.tolist()
    assert not seen.output.any()
    np.testing.assert_allclose(seen.ends[1, :, 0], 1 - GRID)


def test_predict_is_corrected_if_that_helps_and_only_then(made, linear):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(150, 4))
    y = X @ [1.0, 2.0, 3.0, 4.0] + rng.normal(size=150)
    head = IntervalHead(LinearRegression(), SMALL).fit(X, y)
    assert not head.corrects_
    np.testing.assert_array_equal(head.predict(X), head.base_.predict(X))
    assert head.explain(X[0], alpha=0.5).prediction == pytest.approx(head.predict(X[:1])[0])
    X, y = made
    assert linear.corrects_ and linear.rmse_["corrected"] < 0.9 * linear.rmse_["base"]
    X, y = X[700:], y[700:]
    assert rmse(y, linear.predict(X)) < 0.9 * rmse(y, linear.base_.predict(X))


# --------------------------------------------------------------- calibration and intervals


def test_training_rows_that_a_frozen_base_has_seen_cost_width(made):
    X, y = made
    base = FrozenEstimator(KNeighborsRegressor(1).fit(X[:300], y[:300]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its errors there are 0: a constant target
        head = IntervalHead(base, SMALL).fit(X[:300], y[:300])
    proper = IntervalHead(KNeighborsRegressor(1), SMALL).fit(X[:300], y[:300])
    widths = [
        np.mean(np.subtract(*one.calibrate(X[300:600], y[300:600]).predict_interval(X)[::-1]))
        for one in (proper, head)
    ]
    assert widths[0] < widths[1]


def test_a_frozen_base_is_not_trained(made):
    X, y = made
    base = KNeighborsRegressor(5).fit(X[:300], y[:300])
    head = IntervalHead(FrozenEstimator(base), SMALL).fit_calibrate(X[300:700], y[300:700])
    assert head.base_.estimator is base and base.n_samples_fit_ == 300
    assert not head.out_of_fold_ and "frozen" in head.split_


def test_a_head_is_pickled_and_its_fuzzy_part_saved_as_a_file(made, calibrated, tmp_path):
    X, y = made
    with pytest.raises(NotImplementedError, match=r"joblib.*head\.head_\.save"):
        calibrated.save(tmp_path / "head.json")
    again = pickle.loads(pickle.dumps(calibrated))
    np.testing.assert_array_equal(again.predict_interval(X), calibrated.predict_interval(X))
    with pytest.warns(SeenRowsWarning, match="100 of 200"):
        again.calibrate(X[300:500], y[300:500])
    calibrated.head_.save(tmp_path / "errors.json")
    errors = GT2Regressor.load(tmp_path / "errors.json")
    inputs = np.column_stack([X, calibrated.base_.predict(X)])
    np.testing.assert_array_equal(
        errors.predict_interval(inputs), calibrated.head_.predict_interval(inputs)
    )


def test_intervals_are_wide_where_the_noise_is(made):
    X, y = made
    system = clone(SMALL).set_params(n_rules=6, epochs=40, recipe=Recipe(start="joint"))
    head = IntervalHead(KNeighborsRegressor(10), system).fit_calibrate(X[:800], y[:800])
    lower, upper = head.predict_interval(X[1200:])
    width, noisy = upper - lower, X[1200:, 0] > 0
    assert width[noisy].mean() > 2 * width[~noisy].mean()  # the noise itself is 6 times as large


@pytest.mark.filterwarnings("ignore::gt2lite.calibration.SmallCalibrationWarning")
def test_groups_sides_and_methods_reach_the_system(made, linear):
    X, y = made
    groups = np.where(X[:, 0] > 0, "wild", "calm")
    linear.calibrate(X[400:700], y[400:700], groups=groups[400:700], sides="each")
    lower, upper = linear.predict_interval(X[700:], groups=groups[700:])
    inside = (lower <= y[700:]) & (y[700:] <= upper)
    for name in ("wild", "calm"):
        assert inside[groups[700:] == name].mean() > 0.85
    assert [row.group for row in linear.calibration_report(0.9)] == ["calm", "wild"]
    assert linear.calibrate(X[400:700], y[400:700], method="exact").calibrator_.method == "exact"


@pytest.mark.filterwarnings("ignore::gt2lite.calibration.SmallCalibrationWarning")
def test_a_calibration_by_rules_needs_no_groups_of_new_rows(made):
    X, y = made
    head = IntervalHead(LinearRegression(), SMALL).fit_calibrate(X[:1600], y[:1600], groups="rules")
    reg = clone(SMALL).fit_calibrate(X[:1600], y[:1600], groups="rules")
    assert head.split_ == reg.split_ and "groups" not in head.split_
    for one, system in ((head, head.head_), (reg, reg)):
        lower, upper = one.predict_interval(X[1600:])
        rules = one.rules(X[1600:], y[1600:], top=None)
        inside = np.mean((lower <= y[1600:]) & (y[1600:] <= upper))
        covered = sum(rule.covered * rule.leads for rule in rules if rule.covered is not None)
        assert len(rules) == 4 and covered == pytest.approx(inside)
        sizes = system.calibrator_.sizes
        label = {rule.number: "other rules" if rule.pooled else rule.number for rule in rules}
        assert all(rule.n_calibrated == sizes[label[rule.number]] for rule in rules)
        assert sum(sizes.values()) == 400


def test_fit_calibrate_is_fit_on_the_rows_of_the_regressor_and_calibrate_on_the_rest(made):
    X, y = (part[:400] for part in made)
    head = IntervalHead(LinearRegression(), SMALL, random_state=3).fit_calibrate(X, y)
    plain = GT2Regressor(n_rules=1, epochs=1, random_state=3).fit_calibrate(X, y)
    rows = plain.calibration_rows_
    np.testing.assert_array_equal(head.calibration_rows_, rows)
    assert head.split_ == plain.split_
    by_hand = clone(head).fit(np.delete(X, rows, axis=0), np.delete(y, rows))
    by_hand.calibrate(X[rows], y[rows])
    np.testing.assert_array_equal(by_hand.predict_interval(X), head.predict_interval(X))
    assert not hasattr(head.calibrate(X[:300], y[:300] + 1), "split_")


# -------------------------------------------------------- frames, rules and explanations


def test_a_base_receives_the_frame_and_its_names(made):
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
    rules = head.rules(frame)
    assert [a.input for a in rules[0].antecedents] == ["hot", "base", "base (prediction)"]
    assert "LinearRegression" in str(rules)
    for row in (frame[5:6], frame.iloc[5], frame.iloc[5][["base", "hot"]], X[5]):
        assert head.explain(row).lower == pytest.approx(head.predict_interval(frame[5:6])[0][0])
    with pytest.raises(ValueError, match="feature names"):
        head.predict(frame.rename(columns={"hot": "cold"}))


def test_error_rules_are_sorted_by_the_width_of_intervals_weighted_by_the_rule(made, calibrated):
    X = made[0][:400]
    rules = calibrated.rules(X, target="price")
    widths = [rule.width for rule in rules]
    assert widths == sorted(widths, reverse=True) and widths[0] > widths[-1]
    lower, upper = calibrated.predict_interval(X)
    inputs = np.column_stack([X, calibrated.base_.predict(X)])
    weights = calibrated.head_.rule_weights(inputs)[:, rules[0].number - 1]
    assert widths[0] == pytest.approx(np.average(upper - lower, weights=weights))
    assert "price - base = " in str(rules) and "4 of 4 rules, the widest 90%" in str(rules)
    assert rules.table()[0]["width"] == widths[0]
    assert len(calibrated.rules(X, top=2)) == 2


def test_error_rules_without_rows_calibration_or_two_bounds_use_what_there_is(made, linear):
    X, y = made
    fresh = IntervalHead(LinearRegression(), SMALL).fit(X[:100], y[:100])
    assert fresh.rules()[0].width is None and "rules(X)" in str(fresh.rules())
    assert "trained envelopes" in str(fresh.rules(X[:100]))
    with pytest.raises(RuntimeError, match="calibrat"):
        fresh.rules(X[:100], coverage=0.9)
    head = linear.calibrate(X[400:700], y[400:700], sides="upper")
    assert (head.predict_interval(X)[0] == -np.inf).all()
    assert "trained envelopes" in str(head.rules(X[:400]))


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


# ----------------------------------------------------------------------------- bad input


class Odd(RegressorMixin, BaseEstimator):
    def __init__(self, answer=None):
        self.answer = answer

    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.full((len(X), 2), 1.0) if self.answer is None else np.full(len(X), self.answer)


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"base": LinearRegression}, TypeError, r"write LinearRegression\(\)"),
        ({"base": None}, TypeError, "base .* no get_params"),
        ({"base": StandardScaler()}, TypeError, "base .* no predict"),
        ({"base": LogisticRegression()}, TypeError, "base .* classes"),
        ({"base": Odd()}, ValueError, r"base .* shape \(20, 2\)"),
        ({"base": Odd(np.nan)}, ValueError, "base contains NaN"),
        ({"cv": 1}, ValueError, "cv must be a whole number of at least 2, got 1"),
        ({"cv": 2.5}, ValueError, "cv must be a whole number"),
        ({"cv": 60}, ValueError, "cv=60 folds need at least 120 rows, got 100"),
        ({"cv": GroupKFold(2)}, ValueError, r"cv=list\(GroupKFold\(...\).split\(X, y, groups\)\)"),
        ({"system": Ridge()}, TypeError, "system must be a GT2Regressor"),
        ({"system": GT2Regressor(target_transform="log")}, ValueError, "target_transform"),
        ({"random_state": -1}, ValueError, "random_state"),
    ],
)
def test_bad_arguments_are_named(made, settings, error, words):
    X, y = made
    with pytest.raises(error, match=words):
        IntervalHead(**{"base": Ridge(), "system": SMALL} | settings).fit(X[:100], y[:100])


@pytest.mark.parametrize(
    "use", ["import gt2lite; gt2lite.IntervalHead(None)", "import gt2lite.practice.scoring"]
)
def test_without_scikit_learn_the_error_says_what_to_install(use):
    code = f"import sys; sys.modules['sklearn'] = None; {use}"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert 'pip install "gt2lite[sklearn]"' in run.stderr.splitlines()[-1]
