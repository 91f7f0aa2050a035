"""Tests of exchangeability on fitted systems: planted changes, rules in words, refusals."""

import copy
import re

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from planted_system import two_rules
from sklearn.linear_model import LinearRegression

from gt2lite import GT2Regressor, IntervalHead, Recipe
from gt2lite.calibration import Scores
from gt2lite.metrics import covers
from gt2lite.practice.exchangeability import (
    ExchangeabilityTest,
    input_distance,
    signed_scores,
)
from gt2lite.practice.splitting import SeenRowsWarning

pytestmark = pytest.mark.filterwarnings("ignore::gt2lite.calibration.SmallCalibrationWarning")

KNOWN, NEW = slice(400, 800), slice(800, 1600)


def draw(seed=0, n=1600):
    """Rows of two inputs, a bend at x0 = 0, and noise that grows with x1."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 2))
    return X, 10 + abs(X[:, 0]) + (0.2 + 0.1 * (X[:, 1] > 0)) * rng.normal(size=n)


@pytest.fixture(scope="module")
def data():
    return draw()


@pytest.fixture(scope="module")
def reg(data):
    X, y = data
    recipe = Recipe(start="joint", sigma_scale=0.5)
    found = GT2Regressor(n_rules=4, epochs=60, learning_rate=0.02, recipe=recipe)
    return found.fit(X[:400], y[:400]).calibrate(X[KNOWN], y[KNOWN])


@pytest.fixture
def new_test(reg, data):
    X, y = data
    return lambda **options: ExchangeabilityTest(reg, X[KNOWN], y[KNOWN], **options)


# ---------------------------------------------------------------------------- scores, distances


def test_signed_scores_have_the_order_of_the_keys(reg, data):
    X, y = data
    scores = reg.predict_distribution(X).scores(y + np.linspace(-9, 9, len(y)))
    assert (scores.alpha == 0).any() and (scores.alpha == 1).sum() < 5
    by_key = signed_scores(scores)[np.argsort(scores.keys)]
    assert (np.diff(by_key) >= 0).all()
    assert len(set(by_key)) > 0.99 * len(y)
    assert_array_equal(np.sign(by_key[[0, -1]]), [-1, 1])


def test_signed_scores_worked_by_hand():
    alpha, margin = np.array([1.0, 0.01, 0.01**4, 0.0]), np.array([0.0, 0.0, 0.0, 0.5])
    scores = Scores(alpha, margin, np.array([0.0, 1.0, -1.0, 1.0]), 0.01**9)
    assert_allclose(signed_scores(scores), [0, 1, -2, 3.5])


def test_a_row_met_again_ties_with_itself(reg, data):
    X, y = data
    y = y + np.where(np.arange(len(y)) % 3, 0, 30)  # some beyond the lowest plane
    together = signed_scores(reg.predict_distribution(X[:60]).scores(y[:60]))
    alone = [signed_scores(reg.predict_distribution(X[[i]]).scores(y[[i]]))[0] for i in range(60)]
    assert_array_equal(together, alone)


def test_the_distance_is_that_from_the_nearest_centre():
    reg = two_rules()  # centres at 5 and 25, widths of 5
    assert_allclose(
        input_distance(reg, np.array([[5.0], [10.0], [25.0], [100.0]])), [0, 0.5, 0, 112.5]
    )


def test_the_distance_of_many_rows_is_that_of_each(reg, data):
    X = np.tile(data[0], (30, 1))
    assert_allclose(input_distance(reg, X)[-1600:], input_distance(reg, X[:1600]))


# ------------------------------------------------------------------------------ exchangeable rows


def test_rows_like_the_calibration_rows_raise_no_alarm(new_test, data):
    X, y = data
    test = new_test()
    state = test.update(X[NEW], y[NEW])
    assert state.n_rows == test.n_rows == 800
    assert state.alarms == state.changed_rules == ()
    assert state[3:] == (test.scores.wealth, test.inputs.wealth, test.rules.wealth)
    assert str(test).count("no alarm") == 3
    assert "No rule has changed significantly" in str(test.by_rule())


def test_a_file_keeps_what_is_needed_of_the_calibration_rows(reg, data, new_test, tmp_path):
    X, y = data
    reg.save(path := tmp_path / "model.json")
    alone, full = ExchangeabilityTest(GT2Regressor.load(path)), new_test()
    for test in (alone, full):
        test.update(X[NEW], y[NEW])
    for name in ("scores", "inputs", "rules"):
        assert_array_equal(getattr(alone, name).p_values, getattr(full, name).p_values)
    assert str(alone.by_rule()) == str(full.by_rule())


def test_rules_of_another_system_need_reference_rows(reg, data):
    X, y = data
    alone = ExchangeabilityTest(reg, rules_of=reg)
    state = alone.update(X[NEW], y[NEW])
    assert alone.inputs is alone.rules is None and np.isnan(state.inputs)
    assert str(alone).count("not tested") == 2
    with pytest.raises(ValueError, match="rules need reference rows: pass X and y"):
        alone.by_rule()
    with pytest.raises(ValueError, match="y is missing: without reference rows"):
        alone.update(X[NEW])


@pytest.mark.parametrize("betting", ["mixture", "jumper"])
def test_a_batch_is_its_rows_one_after_the_other(data, new_test, betting):
    X, y = data
    y = y + 0.5 * (np.arange(len(y)) > 850)
    one, batch = new_test(betting=betting), new_test(betting=betting)
    batch.update(X[800:900], y[800:900])
    for i in range(800, 900):
        state = one.update(X[[i]], y[[i]])
    for name in ("scores", "inputs", "rules"):
        a, b = getattr(one, name), getattr(batch, name)
        assert_allclose(a.p_values, b.p_values, rtol=1e-12)
        assert_allclose(a.log_wealths, b.log_wealths, atol=1e-9)
        assert a.alarms == b.alarms
    assert state.changed_rules == batch.changed_rules
    for a, b in zip(one.by_rule(), batch.by_rule(), strict=True):
        assert a._replace(e=0, adjusted=0) == b._replace(e=0, adjusted=0)


def test_seeds_decide_on_ties_only(data, reg):
    X, y = data
    p = [
        ExchangeabilityTest(reg, random_state=seed).update(X[NEW], y[NEW]).scores
        for seed in (1, 1, np.random.default_rng(1), 2)
    ]
    assert p[0] == p[1] == p[2] != p[3]


# -------------------------------------------------------------------------------- planted changes


def test_another_relation_raises_an_alarm_of_the_scores_and_not_of_the_inputs(data, new_test):
    X, y = data
    test = new_test()
    late = np.arange(1600) >= 1000
    state = test.update(X[NEW], y[NEW] + 0.5 * late[NEW])
    assert state.alarms == ("scores", "rules")
    assert 200 <= test.scores.alarms[0] < 260  # row 200 is the first with a bias
    assert f"changed: alarm in row {test.scores.alarms[0]}" in str(test)


def test_only_rules_that_changed_are_named_in_words(data, reg, new_test):
    X, y = data
    leader = reg.rule_weights(X).argmax(axis=1)
    guilty = int(np.bincount(leader).argmax())
    test = new_test()
    test.update(X[NEW], y[NEW] + 0.6 * (leader[NEW] == guilty))
    assert test.changed_rules == (guilty + 1,)
    found = test.by_rule()
    first = found[0]
    assert first.rule == guilty + 1 and first.changed and first.adjusted >= 100
    assert first.n_new == (leader[NEW] == guilty).sum()
    assert first.n_reference == (leader[KNOWN] == guilty).sum()
    lower, upper = reg.predict_interval(X, 0.9)
    y_new = y + 0.6 * (leader == guilty)
    inside = (lower <= y_new) & (y_new <= upper)
    assert first.covered == inside[NEW][leader[NEW] == guilty].mean() < 0.7
    (rule,) = (rule for rule in reg.rules() if rule.number == guilty + 1)
    named = [a.text for a in rule.antecedents if a.matters]
    assert set(first.condition.split(", ")) == set(named)
    text = str(found).replace("\n    ", " ")
    begin = f"Rule {first.rule} ({first.condition}): {first.n_new} of 800 new rows; covers "
    assert text.startswith(f"{begin}{first.covered:.0%} instead of 90% (reference rows: ")
    assert text.split("e = ")[1].startswith(
        f"{first.e:,.0f}" if first.e < 1e6 else f"{first.e:.2g}"
    )
    assert f"Changed: rule {first.rule}." in text
    assert [row["rule"] for row in found.table()] == [row.rule for row in found]
    assert not any(row.changed for row in found[1:])


def test_rows_of_another_kind_raise_an_alarm_without_targets(data, new_test):
    X, _ = data
    far, mix = new_test(), new_test()
    state = far.update(1.5 * X[NEW])  # at some distance from all rules
    assert state.alarms == ("inputs",) and far.inputs.alarms[0] < 100
    assert len(far.scores) == len(far.rules) == 0
    kind = X[NEW][X[NEW][:, 0] > 0]  # among the rows of training, but half of them are missing
    assert mix.update(kind).alarms == ("inputs",)
    assert np.isnan([row.covered for row in mix.by_rule()]).all()
    assert sum(row.n_new for row in mix.by_rule()) == len(kind)


def test_shares_of_rules_do_not_count_as_a_change_within_rules(data, reg, new_test):
    X, y = draw(seed=5, n=6000)
    leader = reg.rule_weights(X).argmax(axis=1)
    common = int(np.bincount(leader).argmax())
    rows = (leader == common) | (np.random.default_rng(0).random(6000) < 0.2)
    test = new_test()
    state = test.update(X[rows][:1500], y[rows][:1500])
    assert "inputs" in state.alarms and "rules" not in state.alarms


def test_a_rule_without_reference_rows_is_counted_and_not_tested(data, reg):
    X, y = data
    leader = reg.rule_weights(X).argmax(axis=1)
    missing = int(leader[900])
    rows = np.flatnonzero(leader[KNOWN] != missing) + 400
    test = ExchangeabilityTest(reg, X[rows], y[rows])
    test.update(X[NEW], y[NEW] + 5 * (leader[NEW] == missing))
    assert missing + 1 not in test.changed_rules
    (row,) = (row for row in test.by_rule() if row.rule == missing + 1)
    assert row.n_reference == 0 and row.n_new > 0 and np.isnan(row.e)
    assert "no reference rows" in str(test.by_rule())


# ------------------------------------------------------------------------------- other estimators


@pytest.mark.parametrize("kind", ["rules", "each", "ranks", "several", "log", "exact", "margins"])
def test_all_calibrations_by_rank_can_be_tested(data, kind):
    X, y = data
    settings = {
        "ranks": {"inputs": "ranks"},
        "several": {"n_systems": 2, "clip_inputs": True},
        "log": {"target_transform": "log"},
        "margins": {"margins": 0.5},
    }
    reg = GT2Regressor(n_rules=3, epochs=15, learning_rate=0.02, **settings.get(kind, {}))
    options = {
        "rules": {"groups": "rules"},
        "each": {"sides": "each"},
        "exact": {"method": "exact"},
    }
    reg.fit(X[:400], y[:400]).calibrate(X[KNOWN], y[KNOWN], **options.get(kind, {}))
    before = reg.predict_interval(X)
    test = ExchangeabilityTest(reg, X[KNOWN], y[KNOWN])
    assert test.update(X[800:1000], y[800:1000]).alarms == ()
    assert "scores" in test.update(X[1000:1200], y[1000:1200] + 1).alarms
    assert_array_equal(reg.predict_interval(X), before)  # the estimator is as it was


def test_heads_and_data_frames_can_be_tested(data):
    pd = pytest.importorskip("pandas")
    X, y = data
    frame = pd.DataFrame(X, columns=["wind", "sun"]).assign(
        city=np.where(X[:, 0] > 1, "Oslo", "Ulm")
    )
    system = GT2Regressor(n_rules=3, epochs=15, learning_rate=0.02)
    head = IntervalHead(LinearRegression(), system).fit(X[:400], y[:400])
    named = copy.copy(system).set_params(columns="auto").fit(frame[:400], y[:400])
    for reg, table in ((head, X), (named, frame)):
        reg.calibrate(table[KNOWN], y[KNOWN])
        test = ExchangeabilityTest(reg, table[KNOWN], y[KNOWN])
        assert test.update(table[800:1000], y[800:1000]).alarms == ()
        assert "scores" in test.update(table[1000:1200], y[1000:1200] + 1).alarms
        (moved, base) = (table + 2, "base") if reg is head else (table.assign(wind=1.9), "wind")
        assert "inputs" in test.update(moved[:300]).alarms
        assert base in str(test.by_rule())


# --------------------------------------------------------------------------------------- refusals


def test_the_verdict_is_a_sentence_about_errors_first(data, new_test):
    X, y = data
    test = new_test()
    test.update(X[NEW], y[NEW])
    assert test.alarms == {}
    assert test.verdict().startswith("No sign that the 800 new rows differ from the calibration")
    test = new_test()
    rows = np.flatnonzero(abs(X[:, 0] + 1) < 0.6)[-200:]
    test.update(X[rows], y[rows])
    assert list(test.alarms) == ["inputs"]
    found = r"No sign that the errors of the 200 new rows differ .*; their inputs do \(first alarm"
    assert re.match(found, test.verdict())
    test = new_test()
    test.update(X[rows])
    assert test.verdict().startswith("The inputs of the 200 new rows differ from those of the cal")
    test = new_test()
    test.update(X[NEW], y[NEW] + np.where(np.arange(800) < 400, 0.0, 1.0))
    first = min(test.alarms["scores"], test.alarms["rules"])
    assert first >= 400 and "inputs" not in test.alarms
    names = [f"r{i}" for i in range(800)]
    where = f"The errors of the 800 late rows differ .*row r{first}, {first + 1} of 800"
    assert re.match(where, test.verdict("late rows", names))


def test_rules_of_another_system_can_part_the_rows(data, reg):
    X, y = data
    small = GT2Regressor(n_rules=2, epochs=20, learning_rate=0.02).fit(X[:400], y[:400])
    leader = small.rule_weights(X).argmax(axis=1)
    test = ExchangeabilityTest(reg, X[KNOWN], y[KNOWN], rules_of=small)
    test.update(X[NEW], y[NEW] + 1.0 * (leader[NEW] == 0))
    assert test.changed_rules == (1,)
    rows = {row.rule: row for row in test.by_rule()}
    assert [rows[p + 1].n_new for p in (0, 1)] == np.bincount(leader[NEW], minlength=2).tolist()
    inside = covers(y[KNOWN], *reg.predict_interval(X[KNOWN]))  # intervals are those of reg
    assert rows[2].reference_covered == inside[leader[KNOWN] == 1].mean()
    logs = test.wealth_of(1)
    assert len(logs) == 800 and logs[-1] == pytest.approx(np.log(rows[1].e))
    with pytest.raises(ValueError, match="rule 9 has no reference rows"):
        test.wealth_of(9)


def test_an_error_leaves_the_test_as_it_was(data, new_test):
    X, y = data
    test, other = new_test(), new_test()
    bad = [(X[:5], y[:4]), (X[:5, :1], y[:5]), (X[:5], np.append(y[:4], np.nan))]
    for rows, targets in bad:
        with pytest.raises(ValueError, match=r"y must|y contains|features"):
            test.update(rows, targets)
    assert test.n_rows == 0
    assert test.update(X[NEW], y[NEW]) == other.update(X[NEW], y[NEW])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"coverage": 1.0}, r"coverage must be a number in \(0, 1\), got 1"),
        ({"threshold": 1}, r"threshold must be a number in \(1, inf\), got 1"),
        ({"betting": "all"}, "betting must be one of 'mixture', 'jumper', got 'all'"),
        ({"random_state": -1}, "random_state must be a whole number"),
        ({"X": [[0.0, 1.0]]}, "X and y of the reference rows must be given together"),
    ],
)
def test_invalid_options_are_refused_by_name(reg, options, message):
    with pytest.raises(ValueError, match=message):
        ExchangeabilityTest(reg, **options)


def test_estimators_without_scores_are_refused(data):
    X, y = data
    with pytest.raises(TypeError, match="reg must be a GT2Regressor or IntervalHead"):
        ExchangeabilityTest("model")
    plain = GT2Regressor(n_rules=2, epochs=5).fit(X[:400], y[:400])
    with pytest.raises(ValueError, match=r"reg is not calibrated: call reg.calibrate\(X_cal"):
        ExchangeabilityTest(plain)
    with pytest.raises(ValueError, match=r"method='search', .* method=\"conformal\""):
        ExchangeabilityTest(plain.calibrate(X[KNOWN], y[KNOWN], method="search"))
    with pytest.raises(ValueError, match="reg is calibrated by groups"):
        ExchangeabilityTest(plain.calibrate(X[KNOWN], y[KNOWN], groups=["a", "b"] * 200))


def test_training_rows_as_reference_are_reported(data, reg):
    X, y = data
    with pytest.warns(SeenRowsWarning, match="400 of 400"):
        ExchangeabilityTest(reg, X[:400], y[:400])
