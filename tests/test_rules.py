"""Rules: what is printed is what was planted, and weights are those of the system."""

from __future__ import annotations

import re
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from planted_system import make, planted, raw, two_rules

from gt2lite import GT2Regressor
from gt2lite.memberships import kappa_of, log_firing, log_primary, primary
from gt2lite.metrics import covers
from gt2lite.practice import model_file
from gt2lite.practice.model import Ensemble
from gt2lite.practice.rules import MATTERS
from gt2lite.practice.weights import (
    POOLED,
    RuleGroups,
    consequents,
    end_weights,
)
from gt2lite.reduction import enumerate_weights
from gt2lite.system import Planes, constrain, plane_ends


@pytest.fixture(scope="module")
def fitted(data):
    X, y = data
    return GT2Regressor(n_rules=4, epochs=40, learning_rate=0.02).fit(X[:500], y[:500])


def rows(n=400, M=1):
    return 15 + 5 * np.random.default_rng(0).normal(size=(n, M))


def rule_of(reg, k, **options):
    return next(rule for rule in reg.rules(top=None, **options) if rule.number == k)


# ------------------------------------------------------------------------------- reading


def test_planted_rules_print_with_their_names_ranges_and_formulas():
    rules = two_rules(names=["temperature"]).rules(target="load")
    lines = " ".join(str(rules).split())
    # half of the height is 5 * 1.177 = 5.9 from the centres 5 and 25, which are the limits seen
    assert "if temperature below 10.9 [0.24]" in lines and "if temperature above 19.1" in lines
    # 100 + 20 * 0.5 * (x - 15) / 5, and 120 - 20 * 0.25 * (x - 15) / 5
    assert "then load = 70.0 + 2 temperature" in lines
    assert "then load = 135.0 - 1 temperature" in lines
    assert rules._repr_html_().count("temperature") == str(rules).count("temperature")


def test_the_range_is_where_the_membership_of_the_system_is_half():
    reg = planted([[0.0, 0.3, -0.2]], [[0.4, 0.5, 0.3]], [[0.0] * 3], [0.0])
    (rule,) = reg.rules()
    for m, antecedent in enumerate(rule.antecedents):
        z = np.zeros((2, 3))
        z[:, m] = (np.array([antecedent.low, antecedent.high]) - 15) / 5
        mu = primary(z, reg.params_["c"], reg.params_["raw_sigma"])
        assert_allclose(mu[:, 0, m], 0.5)
        assert antecedent.peak == pytest.approx(15 + 5 * reg.params_["c"][0, m])
    # the centre of a set is 4 of its widths from the limits of what was seen
    (rule,) = planted([[0.0]], [[0.5]], [[0.0]], [0.0]).rules()
    assert rule.antecedents[0].least == pytest.approx(np.exp(-(4.0**2) / 2))
    # at a flat top only s_l = 0.2 is left of the footprint
    (rule,) = planted([[0.0]], [[100.0]], [[0.0]], [0.0]).rules()
    assert rule.antecedents[0].footprint == pytest.approx(0.2, abs=1e-3)


@pytest.mark.parametrize(
    ("centre", "sigma", "words"),
    [
        (0.0, 0.5, "about 12.1 to 17.9"),  # half of the height is 2.5 * 1.177 from the centre
        # seen from -2, 7 from the centre: half is at -9 + sqrt(49 + 72 ln 2) = 0.945
        (-9.0, 6.0, "below 19.7"),
        (9.0, 6.0, "above 10.3"),
        (-3.0, 6.0, "rather near 5.0"),  # the nearest value seen
        (0.0, 4.0, "rather near 15.0"),
        (0.0, 50.0, "any"),
    ],
)
def test_words_say_where_a_membership_is_half(centre, sigma, words):
    (rule,) = planted([[centre]], [[sigma]], [[0.0]], [0.0]).rules()
    assert rule.antecedents[0].words == words
    assert rule.condition(5).startswith("any input" if words == "any" else f"x0 {words} [")


def test_inputs_are_left_out_that_keep_nine_tenths_of_the_firing_together():
    # centred, seen up to 2 spreads: least = exp(-4 / (2 M sigma^2)), here with M = 2
    edge = np.sqrt(-1 / np.log(MATTERS))
    reg = planted([[0.0, 0.0]], [[0.999 * edge, 1.001 * edge]], [[0.0, 0.0]], [0.0])
    (rule,) = reg.rules()
    assert [antecedent.words for antecedent in rule.antecedents] == ["rather near 15.0", "any"]
    assert rule.condition() == "x0 rather near 15.0 [0.21]"
    # each of four keeps 92% of its membership at 2 spreads, two of them only 0.92^2 = 85%
    sigma = np.full((1, 4), np.sqrt(-4 / (2 * 4 * np.log(0.92))))
    (rule,) = planted([[0.0] * 4], sigma, [[0.0] * 4], [0.0]).rules()
    assert [antecedent.matters for antecedent in rule.antecedents] == [True, True, True, False]


def test_the_short_form_names_five_inputs_and_holds_the_others_at_their_mean():
    M = 8
    reg = planted([[0.0] * M], [np.linspace(0.1, 0.8, M)], [[1.0] * M], [0.0])
    (rule,) = reg.rules()
    assert re.match(r"x0 .*, x1 .*, x4 .*, and 3 more inputs \[", rule.condition(5))
    assert max(map(len, str(reg.rules()).splitlines())) <= 100
    (rule,) = planted([[0.0] * 3], [[0.5] * 3], [[1.0, 0.1, -2.0]], [0.0]).rules()
    # 4 (x0 - 15) + 0.4 (x1 - 15) - 8 (x2 - 15) around 100
    assert rule.formula() == "y = 154.0 + 4 x0 + 0.4 x1 - 8 x2"
    assert rule.formula(2) == "y = 160.0 + 4 x0 - 8 x2 (1 more input at the mean)"


def test_a_rule_is_described_between_the_values_seen_in_training():
    X = np.random.default_rng(0).exponential(size=(400, 1))  # mean - 2 spreads is below 0
    reg = GT2Regressor(n_rules=2, epochs=1).fit(X, X[:, 0])
    ends = [(a.low, a.high) for rule in reg.rules() for a in rule.antecedents]
    assert_allclose([np.min(ends), np.max(ends)], np.quantile(X, [0.025, 0.975]))
    X = np.array([[0.0]] * 199 + [[1.0]])  # a rare category counts
    units = {"x_mean": X.mean(), "x_std": X.std()}
    reg = planted([[14.0], [0.0]], [[3.0]] * 2, [[0.0]] * 2, [0, 1], seen=X, **units)
    assert [rule_of(reg, k).antecedents[0].words for k in (1, 2)] == ["= 1", "= 0"]


@pytest.mark.parametrize(
    ("name", "words", "term"),
    [
        ("city = Oslo", ("city is not Oslo", "city is Oslo"), "(city is Oslo)"),
        ("size is missing", ("size is not missing", "size is missing"), "(size is missing)"),
        ("x0", ("x0 = 0", "x0 = 1"), "x0"),
    ],
)
def test_rules_speak_of_categories_as_the_table_does(name, words, term):
    # scaled values are -1 and 1; the third set prefers 1 without ruling 0 out
    sets = [[-1.0], [1.0], [0.2]], [[0.5], [0.5], [1.0]]
    units = {"names": [name], "x_mean": 0.5, "x_std": 0.5, "seen": np.array([[0.0], [1.0]] * 50)}
    reg = planted(*sets, [[1.0]] * 3, [0] * 3, **units)
    found = [rule_of(reg, k).antecedents[0].text for k in (1, 2, 3)]
    assert found == [*words, f"rather {words[1]}"]
    assert rule_of(reg, 1).formula() == f"y = 80.0 + 40 {term}"


def test_the_printed_formula_is_that_of_the_system(data, fitted):
    X, y = data
    Z = fitted.scaler_.transform_X(X)
    system = fitted.scaler_.inverse_y(Z @ fitted.params_["a"].T + fitted.params_["a0"])
    for rule in fitted.rules():
        exact = rule.intercept + X @ rule.slopes
        assert_allclose(exact, system[:, rule.number - 1])
        text = rule.formula().replace("- ", "-").replace("+ ", "")
        constant = float(re.match(r"y = (\S+)", text)[1])
        slopes = {name: float(v) for v, name in re.findall(r"(\S+) (x\d)", text)}
        said = constant + sum(slopes[f"x{m}"] * X[:, m] for m in range(3))
        assert np.abs(said - exact).max() < 0.05 * y.std()


def test_with_rows_rules_are_sorted_by_their_weight_in_the_prediction(monkeypatch):
    reg, X = two_rules(), np.array([[5.0]] * 7 + [[25.0]] * 3)
    rules = reg.rules(X)
    assert [(rule.number, rule.leads) for rule in rules] == [(1, 0.7), (2, 0.3)]
    assert [rule.number for rule in reg.rules(X[-4:])] == [2, 1]
    X = rows(5000)
    weights = reg.rule_weights(X)
    assert_allclose((weights * (X @ [[2.0, -1.0]] + [70, 135])).sum(axis=1), reg.predict(X))
    for rule in reg.rules(X):
        w = weights[:, rule.number - 1]
        assert rule.share == pytest.approx(w.mean())
        said = rule.intercept + rule.slopes[0] * X[:, 0]
        assert rule.typical == pytest.approx(w @ said / w.sum())
    monkeypatch.setattr("gt2lite.practice.rules._MEMBERSHIPS", 100)
    rules = reg.rules(X)
    assert "by their weight on 1000 of 5000 rows" in str(rules)  # evenly spaced
    assert_allclose([rule.share for rule in rules], weights.mean(axis=0), atol=0.02)


def test_without_rows_the_order_is_that_of_the_mean_log_firing_in_training(data, fitted):
    Z = fitted.scaler_.transform_X(data[0][:500])
    log_mu = log_primary(Z, fitted.params_["c"], np.abs(fitted.params_["raw_sigma"]))
    firing = log_mu.sum(axis=2).mean(axis=0)
    rules = fitted.rules()
    assert [rule.number - 1 for rule in rules] == np.argsort(-firing).tolist()
    assert all(rule.leads is rule.share is rule.typical is None for rule in rules)
    assert [rule.number for rule in fitted.rules(top=2)] == [rule.number for rule in rules[:2]]


def test_tables_and_frames_hold_all_numbers(monkeypatch):
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame(rows(M=2), columns=["size", "age"])
    rules = GT2Regressor(n_rules=2, epochs=2).fit(X, X["age"]).rules(X)
    frame = rules.to_frame()
    assert list(frame.index) == [rule.number for rule in rules]
    assert_allclose(frame["age slope"], [rule.slopes[1] for rule in rules])
    assert {"leads", "share", "typical", "intercept", "size from", "size to"} < set(frame)
    reg = planted([[0.0, 1.0]], [[90.0, 0.5]], [[2.0, 2.0]], [0.0], names=["size", "size"])
    (row,) = reg.rules().table()
    assert (row["size (column 0)"], row["size (column 1) slope"]) == ("any", 8)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pandas.*table"):
        rules.to_frame()


# ------------------------------------------------------------------------------- weights


@pytest.mark.parametrize("alpha", [0.01, 0.3, 1.0])
def test_weights_are_those_of_the_best_choice(alpha):
    rng = np.random.default_rng(3)
    reg = planted(rng.normal(size=(6, 2)), 0.7 * np.ones((6, 2)), rng.normal(size=(6, 2)),
                  rng.normal(size=6))  # fmt: skip
    Z, kappa = rng.normal(size=(20, 2)) * 2, kappa_of(alpha)
    weights, y = end_weights(reg.params_, Z, alpha), consequents(reg.params_, Z)
    assert_allclose(weights.sum(axis=2), 1)
    assert (weights >= 0).all()
    ends = (weights * y).sum(axis=2)
    assert_allclose(ends, plane_ends(reg.params_, Z, [kappa])[:, 0])
    lower, upper = np.exp(log_firing(Z, *constrain(reg.params_)[:4], kappa))
    for i in range(3):  # by trying all choices
        assert_allclose(ends[:, i], enumerate_weights(lower[i], upper[i], y[i]))


@pytest.mark.parametrize(("s_l", "s_r"), [(0.99, 1e-9), (1e-20, 0.58)])
def test_weights_hold_where_firings_are_far_apart_or_equal_to_within_rounding(s_l, s_r):
    # at its centre one rule is all that fires; lower firings are 1e-40 of the upper ones, or equal
    M = 20
    reg = planted(np.outer([-30, 0, 30], np.ones(M)), np.ones((3, M)), np.ones((3, M)), [0, 1, 3])
    params = reg.params_ | {"raw_l": np.full(M, raw(s_l)), "raw_r": np.full(M, raw(s_r))}
    Z = np.outer([-31.0, -30.0, -29.7, -12.0, 0.0, 17.0, 30.0], np.ones(M))
    weights, y = end_weights(params, Z, 0.01), consequents(params, Z)
    assert_allclose(weights.sum(axis=2), 1)
    assert_allclose((weights * y).sum(axis=2), Planes(params, Z)(0.01), rtol=1e-9)


# ------------------------------------------------------------------ calibration by rules


@pytest.mark.parametrize(
    ("leads", "n_rows", "own"),
    [
        # 100 calibration rows: expected are 50, 30, 15, 4 and 1, and 4 + 1 is less than 10
        ([50, 30, 15, 4, 1], 100, (1, 2)),
        ([500, 300, 150, 40, 10], 100, (1, 2)),
        ([50, 30, 15, 4, 1], 1000, (1, 2, 3, 4, 5)),
        ([50, 30, 15, 4, 1], 9, ()),
        ([10, 0, 10], 20, (3,)),
    ],
)
def test_rules_with_few_training_rows_share_a_group_that_is_large_enough(leads, n_rows, own):
    system = two_rules().systems_[0]._replace(leads=np.array(leads))
    groups = RuleGroups.choose(Ensemble.of([system]), n_rows, min_rows=10)
    assert groups == (0, own)
    labels = [groups.label(rule) for rule in range(1, len(leads) + 1)]
    assert labels == [k if k in own else POOLED for k in range(1, len(leads) + 1)]


@pytest.fixture(scope="module")
def uneven():
    """A system trained on even noise, and rows whose noise is large for positive inputs."""
    rng = np.random.default_rng(2)
    X = rng.uniform(-1, 1, size=(4000, 2))
    noise = 0.2 * rng.normal(size=4000)
    reg = GT2Regressor(n_rules=4, epochs=30, learning_rate=0.02).fit(X[:400], noise[:400])
    return reg, X[400:], (noise * np.where(X[:, 0] > 0, 6, 1))[400:]


@pytest.mark.filterwarnings("ignore")  # small calibration sets are the point
def test_coverage_given_the_leading_rule_follows_its_law(uneven):
    reg, X, y = uneven
    rng, Q = np.random.default_rng(0), 150
    leader = reg.rule_weights(X).argmax(axis=1) + 1
    off = {}  # in standard deviations of the law, which is Beta(k, n + 1 - k) without ties
    for _ in range(30):
        use, new = np.split(rng.permutation(len(y))[: Q + 1500], [Q])
        reg.calibrate(X[use], y[use], groups="rules", min_rows=25)
        covered = covers(y[new], *reg.predict_interval(X[new]))
        for rule, n in reg.calibrator_.sizes.items():
            own = leader[new] == rule
            if rule == POOLED:
                own = ~np.isin(leader[new], reg.rule_groups_.own)
            share = np.ceil((n + 1) * 0.9) / (n + 1)
            sd = np.sqrt(share * (1 - share) * (1 / (n + 2) + 1 / own.sum()))
            off.setdefault(rule, []).append((covered[own].mean() - share) / sd)
    assert len(off) > 2
    for found in (*off.values(), np.concatenate(list(off.values()))):
        assert abs(np.mean(found)) < 4 / np.sqrt(len(found))
        assert 0.5 < np.std(found) < 1.5
    reg.calibrate(X[:600], y[:600])  # one calibration for all rows misses the noisy ones
    assert not hasattr(reg, "rule_groups_")
    noisy = X[600:, 0] > 0.2
    assert covers(y[600:], *reg.predict_interval(X[600:]))[noisy].mean() < 0.85


@pytest.mark.filterwarnings("ignore::gt2lite.calibration.SmallCalibrationWarning")
def test_fit_calibrate_by_rules_splits_as_without_groups(data):
    X, y = data
    settings = {"n_rules": 3, "epochs": 5, "n_systems": 2}
    plain = GT2Regressor(**settings).fit_calibrate(X, y)
    reg = GT2Regressor(**settings).fit_calibrate(X, y, groups="rules", min_rows=30)
    assert_array_equal(reg.calibration_rows_, plain.calibration_rows_)
    for k in (0, 1):
        leader = reg.rule_weights(X, system=k).argmax(axis=1)
        used = np.delete(leader, plain.calibration_rows_)
        assert_array_equal(reg.systems_[k].leads, np.bincount(used, minlength=3))
    leader = reg.rule_weights(X).argmax(axis=1)
    for rule in reg.rule_groups_.own:
        assert reg.calibrator_.sizes[rule] == (leader[plain.calibration_rows_] == rule - 1).sum()
    assert reg.rules(X, system=1)[0].n_calibrated is None


def test_by_rule_is_saved_explained_and_reported(uneven, tmp_path):
    reg, X, y = uneven
    reg.calibrate(X[:800], y[:800], groups="rules")
    reg.save(tmp_path / "model.json")
    again = GT2Regressor.load(tmp_path / "model.json")
    lower, upper = reg.predict_interval(X[800:])
    assert_array_equal(again.predict_interval(X[800:]), (lower, upper))
    assert again.rule_groups_ == reg.rule_groups_
    for i in (3, 8):
        why = reg.explain(X[800 + i])
        assert (why.lower, why.upper) == pytest.approx((lower[i], upper[i]), rel=1e-12)
        part = why.lower_end
        assert_allclose(part.weights @ why.consequents + part.margin, why.lower, rtol=1e-9)
        by_inputs = reg.explain(X[800 + i], background=X[:50])
        assert by_inputs.upper == pytest.approx(upper[i], rel=1e-12)
    rules = again.rules(X[800:], y[800:])
    weights = reg.rule_weights(X[800:])
    covered = covers(y[800:], lower, upper)
    for rule in rules:
        p = rule.number - 1
        assert rule.width == pytest.approx(np.average(upper - lower, weights=weights[:, p]))
        assert rule.covered == pytest.approx(covered[weights.argmax(axis=1) == p].mean())
        label = rule.number if not rule.pooled else POOLED
        assert rule.n_calibrated == reg.calibrator_.sizes[label]
    content = model_file.load(tmp_path / "model.json", "regressor", dict)
    for change in ({"rule_groups": {"system": 0, "own": [5]}}, {"calibration": None}):
        with pytest.raises(ValueError, match=r"own|rule_groups"):
            model_file.unpack_regressor(GT2Regressor, content | change)


# ------------------------------------------------------------------------ edited systems


@pytest.mark.parametrize("options", [{}, {"inputs": "ranks"}, {"target_transform": "log"}])
def test_an_edited_rule_reads_as_it_was_asked_for(data, options):
    X, y = data
    reg = GT2Regressor(n_rules=3, epochs=3, n_systems=2, **options).fit(X[:500], y[:500])
    names = ["rank of x0", "rank of x1"] if "inputs" in options else ["x0", "x1"]
    centre, width = (40.0, 20.0) if "inputs" in options else (0.6, 1.0)
    sets = {"centres": {names[0]: centre}, "widths": {0: width}}
    edited = reg.with_rule(2, **sets, intercept=9.5, slopes={names[1]: 0.25}, system=1)
    old, new = rule_of(reg, 2, system=1), rule_of(edited, 2, system=1)
    antecedent = new.antecedents[0]
    assert_allclose([antecedent.low, antecedent.high], [centre - width / 2, centre + width / 2])
    assert antecedent.peak == pytest.approx(centre)
    assert new.intercept == pytest.approx(9.5) and new.slopes[1] == pytest.approx(0.25)
    assert_allclose([new.slopes[0], new.slopes[2]], [old.slopes[0], old.slopes[2]])
    assert new.antecedents[1:] == old.antecedents[1:]
    if "inputs" in options:  # the middle 95% of ranks, in percent
        assert all(2.4 < a.low < a.high < 97.6 for a in new.antecedents)
    for k, system in ((1, 1), (3, 1), (2, 0)):
        assert rule_of(edited, k, system=system).row() == rule_of(reg, k, system=system).row()


def test_a_dropped_rule_is_gone_and_a_calibration_gives_the_guarantee_back(data, fitted):
    X, y = data
    fitted.calibrate(X[500:700], y[500:700])
    edited = fitted.without_rule(2)
    for name in ("c", "raw_sigma", "a", "a0"):
        assert_array_equal(edited.params_[name], fitted.params_[name][[0, 2, 3]])
    assert_array_equal(edited.systems_[0].leads, fitted.systems_[0].leads[[0, 2, 3]])
    with pytest.raises(RuntimeError, match="calibrate"):
        edited.predict_interval(X)
    edited.calibrate(X[500:700], y[500:700])
    assert edited.calibrator_.reached(0.9) >= 0.9
    assert len(fitted.rules()) == 4 and hasattr(fitted, "calibrator_")


def test_an_open_interval_has_coverage_but_no_width(data, fitted):
    X, y = data
    fitted.calibrate(X[500:700], y[500:700], sides="upper")
    rule = fitted.rules(X[700:], y[700:])[0]
    assert rule.width is None and 0.5 < rule.covered <= 1


@pytest.mark.parametrize("smf", ["per_input", "scalar"])
def test_type1_and_interval_type2_systems_are_one_plane(data, smf, tmp_path):
    X, y = data
    reg = make(n_rules=4, epochs=10, learning_rate=0.02, smf=smf).fit(X[:500], y[:500])
    for alpha in (1.0, 0.3):
        one = reg.as_type1() if alpha == 1 else reg.as_interval_type2(alpha)
        ends = reg.predict_interval(X, alpha=alpha)
        assert_allclose(one.predict(X), np.mean(ends, axis=0), rtol=1e-9)
        one.calibrate(X[500:700], y[500:700])
        lower, upper = one.predict_interval(X, 0.9)
        assert_allclose((lower + upper) / 2, one.predict(X), rtol=1e-9)
        ratio = (upper - lower) if alpha == 1 else (upper - lower) / (ends[1] - ends[0])
        assert np.ptp(ratio) / ratio.mean() < 1e-6  # but where widths are tiny, see FLOOR
        one.save(tmp_path / "model.json")
        assert_array_equal(GT2Regressor.load(tmp_path / "model.json").predict(X), one.predict(X))


@pytest.mark.parametrize(
    ("use", "match"),
    [
        (lambda reg, X, y: reg.rules(X, top=0), "top"),
        (lambda reg, X, y: reg.rules(X, system=1), "system must be"),
        (lambda reg, X, y: reg.calibrate(X, y, groups="rule"), "groups must be one of 'rules'"),
        (lambda reg, X, y: reg.fit_calibrate(X, y, groups="rules", min_rows=0), "min_rows"),
        (lambda reg, X, y: reg.calibrate(X, y, "table", groups="rules"), "method"),
        (lambda reg, X, y: reg.predict_interval(X, groups=[1] * len(X)), "groups must be None"),
        (lambda reg, X, y: reg.explain(X[0], group=1), "group must be None"),
        (lambda reg, X, y: two_rules().calibrate(X[:, :1], y, groups="rules"), "fit it again"),
        (lambda reg, X, y: reg.with_rule(5, intercept=1), "k must be"),
        (lambda reg, X, y: reg.with_rule(1, centres={"size": 1}), "centres must be one of 'x0'"),
        (lambda reg, X, y: reg.with_rule(1, slopes={3: 1}), "slopes"),
        (lambda reg, X, y: reg.with_rule(1, widths={0: 0}), "widths"),
        (lambda reg, X, y: reg.with_rule(1, intercept=np.nan), "intercept"),
        (lambda reg, X, y: planted([[0]], [[1]], [[0]], [0]).without_rule(1), "only rule"),
        (lambda reg, X, y: reg.as_interval_type2(2), "alpha"),
        (lambda reg, X, y: two_rules().as_interval_type2(), "fit it again"),
    ],
)
def test_bad_arguments_are_named(uneven, use, match):
    reg, X, y = uneven
    reg.calibrate(X[:800], y[:800], groups="rules")
    with pytest.raises(ValueError, match=match):
        use(reg, X[:800], y[:800])
