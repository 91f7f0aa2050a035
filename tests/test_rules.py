"""Rules: what is printed is what was planted, and weights are those of the system."""

from __future__ import annotations

import re
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose
from planted_system import planted, two_rules

from gt2lite import GT2Regressor
from gt2lite.memberships import log_primary, primary
from gt2lite.reduction import enumerate_weights
from gt2lite.rules import MATTERS, consequents, end_weights, firings, middle, number, output_weights
from gt2lite.system import Planes, reference_ends

HALF = np.sqrt(2 * np.log(2))  # where a Gaussian of width 1 is at half of its height


@pytest.fixture(scope="module")
def data():
    """Rows in mixed units."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=(900, 3))
    y = 1e4 + 500 * (z[:, 0] + np.sin(2 * z[:, 1]) + 0.3 * rng.normal(size=900))
    return z * [1.0, 100.0, 1e-3] + [0.0, 5000.0, 1.0], y


@pytest.fixture(scope="module")
def fitted(data):
    X, y = data
    return GT2Regressor(n_rules=4, epochs=40, learning_rate=0.02).fit(X[:500], y[:500])


def rows(n=400, seed=0, M=1):
    return 15 + 5 * np.random.default_rng(seed).normal(size=(n, M))


def test_planted_rules_print_with_their_names_ranges_and_formulas():
    reg = two_rules(names=["temperature"])
    first, second = sorted(reg.rules(target="load"), key=lambda rule: rule.number)
    # half of the height is 5 * 1.177 = 5.9 from the centres 5 and 25, which are the limits seen
    assert str(first).splitlines()[1] == "  if    temperature below 10.9 [0.24]"
    assert str(second).splitlines()[1] == "  if    temperature above 19.1 [0.24]"
    # 100 + 20 * 0.5 * (x - 15) / 5, and 120 - 20 * 0.25 * (x - 15) / 5
    assert first.formula() == "load = 70.0 + 2 temperature"
    assert second.formula() == "load = 135.0 - 1 temperature"


def test_a_set_inside_has_two_ends_and_its_centre_is_the_peak():
    reg = planted([[0.0], [0.5]], [[0.5], [9.0]], [[0.0], [0.0]], [0, 0])
    antecedent = next(rule for rule in reg.rules() if rule.number == 1).antecedents[0]
    assert antecedent.words == "about 12.1 to 17.9"
    assert_allclose([antecedent.low, antecedent.high], [15 - 2.5 * HALF, 15 + 2.5 * HALF])
    assert antecedent.peak == 15
    assert antecedent.least == pytest.approx(np.exp(-(4.0**2) / 2))


def test_the_range_is_where_the_membership_of_the_system_is_half():
    reg = planted([[0.0, 0.3, -0.2]], [[0.4, 0.5, 0.3]], [[0.0] * 3], [0.0])
    (rule,) = reg.rules()
    for m, antecedent in enumerate(rule.antecedents):
        z = np.zeros((2, 3))
        z[:, m] = (np.array([antecedent.low, antecedent.high]) - 15) / 5
        mu = primary(z, reg.params_["c"], reg.params_["raw_sigma"])
        assert_allclose(mu[:, 0, m], 0.5)


def test_an_input_is_left_out_just_where_its_membership_keeps_nine_tenths():
    # centred, seen up to 2 spreads: least = exp(-4 / (2 M sigma^2)), here with M = 2
    edge = np.sqrt(-1 / np.log(MATTERS))
    reg = planted([[0.0, 0.0]], [[0.999 * edge, 1.001 * edge]], [[0.0, 0.0]], [0.0])
    (rule,) = reg.rules()
    assert [antecedent.matters for antecedent in rule.antecedents] == [True, False]
    assert [antecedent.words for antecedent in rule.antecedents] == ["rather near 15.0", "any"]
    assert rule.condition() == "x0 rather near 15.0 [0.21]"
    assert planted([[0.0]], [[50.0]], [[0.0]], [0.0]).rules()[0].condition(5) == "any input"


def test_a_wide_set_beyond_what_was_seen_is_a_preference():
    low, high = planted([[-9.0], [9.0]], [[6.0], [6.0]], [[0.0]] * 2, [0, 0]).rules()
    words = {rule.number: rule.antecedents[0].words for rule in (low, high)}
    # seen from -2, 7 from the centre: half is at -9 + sqrt(49 + 72 ln 2) = 0.945
    assert words == {1: "below 19.7", 2: "above 10.3"}
    words = {
        rule.number: rule.antecedents[0].words
        for rule in planted([[-3.0], [3.0]], [[6.0], [6.0]], [[0.0]] * 2, [0, 0]).rules()
    }
    assert words == {1: "rather low", 2: "rather high"}


def test_inputs_that_matter_only_jointly_are_counted_together():
    # each keeps 92 % of its membership at 2 spreads, four of them 0.92^4 = 72 %
    M = 4
    sigma = np.full((1, M), np.sqrt(-4 / (2 * M * np.log(0.92))))
    (rule,) = planted([[0.0] * M], sigma, [[0.0] * M], [0.0]).rules()
    assert {antecedent.words for antecedent in rule.antecedents} == {"any"}
    assert rule.condition(5).startswith("4 inputs together, most of all x0 rather near 15.0, x1 ")
    sigma[0, 2] = 0.1
    (rule,) = planted([[0.0] * M], sigma, [[0.0] * M], [0.0]).rules()
    assert re.fullmatch(
        r"x2 about 13.8 to 16.2, and 3 others together \[0.2\d\]", rule.condition(5)
    )


def test_a_rare_category_counts():
    X = np.array([[0.0]] * 199 + [[1.0]])
    units = {"x_mean": X.mean(), "x_std": X.std()}
    reg = planted([[14.0], [0.0]], [[3.0]] * 2, [[0.0]] * 2, [0, 1], **units)
    reg._seen = middle(reg.scaler_.transform_X(X))
    words = {rule.number: rule.antecedents[0].words for rule in reg.rules()}
    assert words == {1: "= 1", 2: "= 0"}


def test_a_rule_is_described_between_the_values_seen_in_training():
    rng = np.random.default_rng(0)
    X = rng.exponential(size=(400, 1))  # the mean minus two standard deviations is below 0
    reg = GT2Regressor(n_rules=2, epochs=1).fit(X, X[:, 0])
    seen = np.quantile(X, [0.025, 0.975])
    for antecedent in (rule.antecedents[0] for rule in reg.rules()):
        assert seen[0] - 1e-9 <= antecedent.low <= antecedent.high <= seen[1] + 1e-9


def test_of_very_many_rows_some_are_weighed_and_it_is_said(monkeypatch):
    monkeypatch.setattr("gt2lite.rules._MEMBERSHIPS", 100)
    X = rows(5000)
    rules = two_rules().rules(X)
    assert "by their weight on 1000 of 5000 rows" in str(rules)
    assert sum(rule.leads for rule in rules) == pytest.approx(1)


def test_large_numbers_print_without_exponents():
    (rule,) = planted(
        [[0.0]], [[1.0]], [[0.5]], [0.0], y_std=26300.0, x_std=0.05, x_mean=0.0
    ).rules()
    assert rule.formula() == "y = 100 + 263000 x0"


def test_footprint_is_the_mean_width_of_the_widest_plane():
    # far from the centre of a narrow neighbour nothing is left but s_r; at a flat top only s_l
    (rule,) = planted([[0.0]], [[100.0]], [[0.0]], [0.0]).rules()
    assert rule.antecedents[0].footprint == pytest.approx(0.2, abs=1e-3)


def test_with_rows_rules_are_sorted_by_their_weight():
    reg, X = two_rules(), np.array([[5.0]] * 7 + [[25.0]] * 3)
    rules = reg.rules(X)
    assert [rule.number for rule in rules] == [1, 2]
    assert [rule.leads for rule in rules] == [0.7, 0.3]
    assert sum(rule.share for rule in rules) == pytest.approx(1)
    assert rules[0].share > rules[1].share
    assert "leads on 70.0% of the rows" in str(rules)
    assert [rule.number for rule in reg.rules(X[-4:])] == [2, 1]


def test_share_and_typical_value_come_from_the_weights_of_the_prediction():
    reg, X = two_rules(), rows()
    Z = reg.scaler_.transform_X(X)
    weights = output_weights(reg.params_, Z, reg.recipe_.planes.alphas)
    for rule in reg.rules(X):
        w = weights[:, rule.number - 1]
        assert rule.share == pytest.approx(w.mean())
        said = rule.intercept + rule.slopes[0] * X[:, 0]
        assert rule.typical == pytest.approx(w @ said / w.sum())


def test_without_rows_the_order_is_that_of_the_mean_log_firing_in_training(data, fitted):
    Z = fitted.scaler_.transform_X(data[0][:500])
    log_mu = log_primary(Z, fitted.params_["c"], np.abs(fitted.params_["raw_sigma"]))
    firing = log_mu.sum(axis=2).mean(axis=0)
    rules = fitted.rules()
    assert [rule.number - 1 for rule in rules] == np.argsort(-firing).tolist()
    assert all(rule.leads is rule.share is rule.typical is None for rule in rules)
    assert "not known without rows" in " ".join(str(rules).split())


def test_consequents_in_user_units_are_those_of_the_system(data, fitted):
    X, _ = data
    Z = fitted.scaler_.transform_X(X)
    said = fitted.scaler_.inverse_y(Z @ fitted.params_["a"].T + fitted.params_["a0"])
    for rule in fitted.rules():
        assert_allclose(rule.intercept + X @ rule.slopes, said[:, rule.number - 1])


def test_the_printed_formula_is_right_to_a_few_hundredths_of_the_spread(data, fitted):
    X, y = data
    for rule in fitted.rules():
        text = rule.formula().replace("- ", "-").replace("+ ", "")
        constant = float(re.match(r"y = (\S+)", text)[1])
        slopes = {name: float(v) for v, name in re.findall(r"(\S+) (x\d)", text)}
        said = constant + sum(slopes[f"x{m}"] * X[:, m] for m in range(3))
        exact = rule.intercept + X @ rule.slopes
        assert np.abs(said - exact).max() < 0.05 * y.std()


def test_a_short_formula_holds_the_other_inputs_at_their_mean():
    reg = planted([[0.0] * 3], [[0.5] * 3], [[1.0, 0.1, -2.0]], [0.0])
    (rule,) = reg.rules()
    # 4 (x0 - 15) + 0.4 (x1 - 15) - 8 (x2 - 15) around 100
    assert rule.formula() == "y = 154.0 + 4 x0 + 0.4 x1 - 8 x2"
    assert rule.formula(2) == "y = 160.0 + 4 x0 - 8 x2 (1 more input at the mean)"


def test_the_short_form_names_five_inputs_and_counts_the_others():
    M = 8
    reg = planted([[0.0] * M], [np.linspace(0.1, 0.8, M)], [[1.0] * M], [0.0])
    (rule,) = reg.rules()
    assert re.match(r"x0 .*, x1 .*, x4 .*, and 3 more inputs \[", rule.condition(5))
    assert rule.condition().count("[") == M  # each with its own footprint
    assert max(map(len, str(reg.rules()).splitlines())) <= 100


def test_top_limits_and_none_takes_all(fitted, data):
    assert len(fitted.rules(top=2)) == 2
    assert len(fitted.rules(top=None)) == len(fitted.rules(top=99)) == 4
    assert str(fitted.rules(data[0], top=2)).startswith("2 of 4 rules, by their weight on 900")


def test_names_come_from_the_data_frame():
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame(rows(M=2), columns=["room size", "age"])
    rules = GT2Regressor(n_rules=2, epochs=2).fit(X, X["age"]).rules(X)
    assert {a.input for rule in rules for a in rule.antecedents} == set(X.columns)
    frame = rules.to_frame()
    assert list(frame.index) == [rule.number for rule in rules]
    assert_allclose(frame["age slope"], [rule.slopes[1] for rule in rules])


def test_html_escapes_names():
    html = two_rules(names=["<b>"]).rules()._repr_html_()
    assert "<b>" not in html
    assert "&lt;b&gt;" in html
    assert html.count("<tr>") == 3


def test_the_table_has_a_row_for_each_rule_and_all_inputs():
    reg = planted([[0.0, 0.0]], [[0.5, 90.0]], [[1.0, 2.0]], [0.0])
    (row,) = reg.rules(rows(M=2)).table()
    assert row["x1"] == "any"
    assert row["x1 slope"] == 8
    assert {"rule", "leads", "share", "typical", "intercept", "x0 from", "x0 to"} < row.keys()


def test_to_frame_without_pandas_names_the_way_out(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pandas.*table"):
        two_rules().rules().to_frame()


@pytest.mark.parametrize(
    "options", [{"top": 0}, {"top": 2.5}, {"system": 1}, {"system": "a"}, {"X": [[1.0, 2.0]]}]
)
def test_bad_arguments_are_named(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        two_rules().rules(**options)


def test_rules_need_a_fit():
    with pytest.raises((ValueError, AttributeError, RuntimeError), match="fit"):
        GT2Regressor().rules()


@pytest.mark.parametrize(
    ("value", "step", "text"),
    [
        (0.99412, 0.0003, "0.9941"),
        (-0.0001, 0.1, "0.0"),
        (0.0, 0.1, "0.0"),
        (12345.6, 3e3, "12346"),
        (3e-12, 1e-13, "3e-12"),
        (1234567890123.4, 20.0, "1234567890123"),
        (1.2345678901234e18, 1e8, "1.2345678901e+18"),
    ],
)
def test_numbers_are_rounded_to_the_place_of_the_step(value, step, text):
    assert number(value, step) == text


@pytest.mark.parametrize("y_mean", [1e3, 1e9, -3e11])
def test_a_formula_is_right_whatever_the_size_of_its_intercept(y_mean):
    (rule,) = planted([[0.0]], [[1.0]], [[0.5]], [0.3], y_mean=y_mean).rules()
    intercept, sign, slope = re.fullmatch(r"y = (\S+) ([+-]) (\S+) x0", rule.formula()).groups()
    said = float(intercept) + float(f"{sign}{slope}") * 17.0
    assert abs(said - (rule.intercept + rule.slopes[0] * 17.0)) < 0.02 * 20.0


def test_rules_that_share_a_name_are_told_apart():
    reg = planted([[0.0, 1.0]], [[0.5, 0.5]], [[1.0, 2.0]], [0.0], names=["size", "size"])
    assert [a.input for a in reg.rules()[0].antecedents] == ["size (column 0)", "size (column 1)"]


@pytest.mark.parametrize("alpha", [0.01, 0.3, 1.0])
def test_weights_are_those_of_the_best_choice(alpha):
    rng = np.random.default_rng(3)
    reg = planted(rng.normal(size=(6, 2)), 0.7 * np.ones((6, 2)), rng.normal(size=(6, 2)),
                  rng.normal(size=6))  # fmt: skip
    Z = rng.normal(size=(20, 2)) * 2
    weights = end_weights(reg.params_, Z, alpha)
    y = Z @ reg.params_["a"].T + reg.params_["a0"]
    assert_allclose(weights.sum(axis=2), 1)
    assert (weights >= 0).all()
    kappa = np.sqrt(np.log(alpha) / np.log(0.01))
    assert_allclose((weights * y).sum(axis=2), reference_ends(reg.params_, Z, [kappa])[:, 0])
    assert_allclose((weights * y).sum(axis=2), Planes(reg.params_, Z)(alpha), rtol=1e-10)


def test_weights_of_one_row_by_trying_all_choices():
    rng = np.random.default_rng(5)
    reg = planted(rng.normal(size=(5, 1)), np.ones((5, 1)), rng.normal(size=(5, 1)), np.arange(5))
    Z = np.array([[0.3]])
    lower, upper = firings(reg.params_, Z, 0.2)
    y = consequents(reg.params_, Z)[0]
    ends = enumerate_weights(lower[0], upper[0], y)
    assert_allclose(end_weights(reg.params_, Z, 0.2)[:, 0] @ y, ends)
