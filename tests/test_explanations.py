"""Explanations: all sums are exact, and contributions are Shapley values of the prediction."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from planted_system import planted, two_rules

from gt2lite import GT2Regressor
from gt2lite.memberships import kappa_of, log_firing
from gt2lite.practice.explanations import EVALUATIONS, walk_inputs
from gt2lite.system import Planes, constrain

# calibrations are odd here, on purpose
pytestmark = [
    pytest.mark.filterwarnings("ignore::gt2lite.practice.warnings.NarrowEnvelopeWarning"),
    pytest.mark.filterwarnings("ignore::gt2lite.practice.warnings.MissedLevelWarning"),
]


@pytest.fixture(scope="module")
def fitted(data):
    X, y = data
    return GT2Regressor(n_rules=4, epochs=40, learning_rate=0.02).fit(X[:500], y[:500])


# -------------------------------------------------------------------------------- by rules


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


def line_of(why, first):
    """Return the words of the printed line that starts with a word."""
    (found,) = (words for line in str(why).splitlines() if (words := line.split())[:1] == [first])
    return found


@pytest.mark.parametrize("how", [0.01, 0.2, 1.0, "table", "search", "exact", "conformal"])
def test_sums_are_exact_in_every_plane_and_for_every_method(data, fitted, how):
    X, y = data
    if isinstance(how, float):
        for x in X[::300]:
            check_sums(fitted, x, alpha=how)
    else:
        fitted.calibrate(X[500:700], y[500:700], how)
        why = check_sums(fitted, X[800], 0.8)
        assert why.lower_end.alpha == why.upper_end.alpha
        assert fitted.explain(X[0]).coverage == 0.9


def test_a_calibration_beyond_the_planes_adds_a_margin(data, fitted):
    X, y = data
    noise = 20 * np.std(y) * np.random.default_rng(0).normal(size=200)  # no plane covers these
    reg = fitted.calibrate(X[500:700], y[500:700] + noise, "conformal")
    why = check_sums(reg, X[0], 0.9)
    (row,) = reg.calibration_report(0.9)
    assert np.isnan(row.alpha) and why.estimate.margin == 0
    assert_allclose([why.lower_end.margin, why.upper_end.margin], [-row.margin, row.margin])
    assert why.lower_end.alpha == Planes(reg.params_, np.zeros((1, 3))).alpha_min
    *_, low, minus, below, high, plus, above = line_of(why, "sum")
    assert (minus, plus) == ("-", "+")
    sums = [float(low) - float(below), float(high) + float(above)]
    assert_allclose(sums, [why.lower, why.upper], atol=0.02 * y.std())


def test_each_bound_may_have_its_own_plane_or_be_open(data, fitted):
    X, y = data
    fitted.calibrate(X[500:700], y[500:700] + 50, "conformal", sides="each")
    why = check_sums(fitted, X[3], 0.8)
    assert_allclose([why.lower_end.alpha, why.upper_end.alpha], fitted.calibrator_.alpha(0.8))
    assert why.lower_end.alpha != why.upper_end.alpha
    why = fitted.calibrate(X[500:700], y[500:700], sides="upper").explain(X[3], 0.8)
    assert why.lower == -np.inf and "open" in line_of(why, "sum")
    assert_allclose(why.upper_end.weights @ why.consequents, why.upper, rtol=1e-10)
    assert why.lower_end.alpha == why.upper_end.alpha < 1  # shown for comparison


def test_each_group_has_its_own_plane(data, fitted):
    X, y = data
    groups = np.where(np.arange(200) % 2, "odd", "even")
    wild = y[500:700] + np.where(groups == "odd", 900, 0) * np.sin(np.arange(200))
    fitted.calibrate(X[500:700], wild, groups=groups, sides="each")
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


def test_it_reads_as_weights_of_rules_and_their_sum(data, fitted):
    # halfway between two rules of the same sets: half of 100 and half of 120
    why = two_rules().explain([15.0], alpha=1.0, target="load")
    assert str(why).startswith("load: prediction 110.0, interval 110.0 to 110.0\nat x0 15\n")
    assert line_of(why, "2") == ["2", "120.0", "0.500", "0.500", "0.500"]
    assert line_of(why, "sum") == ["sum", "110.0", "110.0", "110.0"]
    why = fitted.explain(data[0][1], alpha=0.3)
    assert max(map(len, str(why).splitlines())) <= 100
    assert_allclose(sum(row["upper bound weight"] for row in why.table()), 1)
    for rule in fitted.rules(data[0], top=None):
        assert why.conditions[rule.number - 1] == rule.condition(5)


def test_a_row_may_be_numbers_a_labelled_row_or_a_table():
    pd = pytest.importorskip("pandas")
    reg = planted([[0.0, 1.0]], [[1.0, 1.0]], [[1.0, -0.5]], [0.3], names=["size", "age"])
    frame = pd.DataFrame([[11.0, 22.0]], columns=["size", "age"])
    row = frame.iloc[0]
    for x in (frame, row, row[["age", "size"]], [11.0, 22.0], np.array([11.0, 22.0])):
        assert reg.explain(x, alpha=0.1).prediction == reg.predict(frame)[0]
    with pytest.raises(ValueError, match=r"(?s)unseen.*year.*missing.*age"):
        reg.explain(row.rename({"age": "year"}), alpha=0.1)
    names = ["size", "age", "size"]  # of two columns with one name the order decides
    reg = planted([[0.0] * 3], [[1.0] * 3], [[1.0, -0.5, 3.0]], [0.3], names=names)
    row = pd.Series([11.0, 22.0, 13.0], index=names)
    assert list(reg.explain(row, alpha=0.1).inputs.values()) == [11.0, 22.0, 13.0]
    with pytest.raises(ValueError, match="same order"):
        reg.explain(row.iloc[[1, 0, 2]], alpha=0.1)


def test_it_is_computed_whatever_numpy_does_about_underflow(data, fitted):
    x = data[0].mean(axis=0) + 60 * data[0].std(axis=0)
    expected = fitted.explain(x, alpha=0.1)
    with np.errstate(all="raise"):
        assert str(fitted.explain(x, alpha=0.1)) == str(expected)
        fitted.rules(data[0])


@pytest.mark.parametrize(
    ("x", "options", "message"),
    [
        ([1.0, 2.0], {"alpha": 0.1}, "x must be a 1-D array of length 1"),
        (np.ones((3, 1)), {"alpha": 0.1}, "one row, got 3"),
        ([1.0], {"alpha": 0.001}, "alpha"),
        ([1.0], {"alpha": 0.1, "coverage": 0.9}, "coverage must be None if alpha"),
        ([1.0], {"alpha": 0.1, "group": "a"}, "group"),
        ([1.0], {"alpha": 0.1, "system": 1}, "system"),
    ],
)
def test_bad_arguments_of_explain_are_named(x, options, message):
    with pytest.raises(ValueError, match=message):
        two_rules().explain(x, **options)


# ------------------------------------------------------------------------------- by inputs


def walk(f, x, background, places=None):
    """Return contributions, errors, the mean and the number of rows that `f` is evaluated on."""
    rows = []

    def outputs(Z):
        rows.append(len(Z))
        return f(Z)[:, None]

    places = [np.array([m]) for m in range(len(x))] if places is None else places
    found = walk_inputs(outputs, x, background, places)
    return *(value[..., 0] for value in found), sum(rows)


def test_effects_are_shapley_values_within_their_sampling_error():
    def f(Z):
        return Z[:, 0] * Z[:, 1] + np.maximum(Z[:, 2], Z[:, 3]) * Z[:, 0] + Z[:, 4]

    rng = np.random.default_rng(1)
    x, background = rng.normal(size=5) + 1, rng.normal(size=(30, 5))
    exact = np.zeros(5)  # by all orders
    for order in itertools.permutations(range(5)):
        Z = background.copy()
        before = f(Z).mean()
        for m in order:
            Z[:, m] = x[m]
            exact[m] += (f(Z).mean() - before) / 120
            before = f(Z).mean()
    found, errors, *_ = walk(f, x, background)
    assert (np.abs(found - exact) <= 2 * errors + 1e-12).all()
    assert np.abs(found - exact).max() < 0.05 * np.abs(exact).max()
    # the error of a linear term is that of a mean over the background
    found, errors, *_ = walk(lambda Z: 3 * Z[:, 0], x, background)
    assert_allclose(found[0], 3 * (x[0] - background[:, 0].mean()))
    assert_allclose(errors, [3 * background[:, 0].std(ddof=1) / np.sqrt(30), 0, 0, 0, 0])


@pytest.mark.parametrize("G", [1, 2, 11, 475])
def test_sums_are_exact_and_evaluations_bounded_for_any_number_of_inputs(G):
    rng = np.random.default_rng(G)
    x, background = rng.normal(size=G), rng.normal(size=(100, G))
    slopes = rng.normal(size=G) * (np.arange(G) % 3 != 1)  # every third input is unused

    def f(Z):
        return np.exp(0.1 * Z @ slopes) + (Z @ slopes) ** 2

    found, errors, start, n_rows = walk(f, x, background)
    assert len(start) == {475: 2, 11: 95}.get(G, 100)  # fewer rows if there are many inputs
    assert np.abs(start[:, None] - f(background)).min(axis=1).max() < 1e-9
    assert_allclose(found.sum(), f(x[None])[0] - start.mean(), atol=1e-9)
    assert n_rows < EVALUATIONS
    assert np.abs(found[slopes == 0]).max(initial=0) < 1e-9 and np.isfinite(errors).all()


def test_too_many_inputs_and_too_few_rows_are_refused():
    walk(lambda Z: Z[:, 0], np.ones(500), np.zeros((100, 500)))
    with pytest.raises(ValueError, match=r"at most 500 inputs, got 501"):
        walk(lambda Z: Z[:, 0], np.ones(501), np.zeros((100, 501)))
    with pytest.raises(ValueError, match="at least 2 rows"):
        walk(lambda Z: Z[:, 0], np.ones(3), np.zeros((1, 3)))


def test_columns_of_one_input_change_together():
    rng = np.random.default_rng(0)
    colour = np.eye(3)[rng.integers(3, size=50)]
    background = np.column_stack([rng.normal(size=50), colour])

    def f(Z):
        assert_array_equal(Z[:, 1:].sum(axis=1), 1)  # no row is of two colours, or of none
        return Z[:, 0] * (1 + Z[:, 1]) + 2 * Z[:, 3]

    places = [np.array([0]), np.array([1, 2, 3])]
    found, *_ = walk(f, np.array([1.0, 0, 0, 1.0]), background, places)
    assert len(found) == 2


ENSEMBLE = {"n_rules": 3, "epochs": 5, "learning_rate": 0.02, "n_systems": 2}


def test_inputs_that_are_not_shown_are_added_up():
    X = np.random.default_rng(0).normal(size=(500, 20))
    reg = GT2Regressor(n_rules=2, epochs=2, n_systems=2).fit_calibrate(X, 100 * X[:, 0])
    why = reg.explain(X[0])
    lines = str(why).splitlines()
    (others,) = (line for line in lines if "8 other inputs" in line)
    rest = sum(row["contribution"] for row in why.table()[12:])
    assert others.split()[3] == why.units.output(rest)
    assert sum(re.match(r" *x\d+ ", line) is not None for line in lines) == 12


@pytest.fixture(scope="module")
def ensembles(data):
    """Two systems each, of several kinds."""
    X, y = data
    kinds = {"planes": {}, "margins": {"margins": 0.5}, "log": {"target_transform": "log"}}
    kinds["ranks"] = {"inputs": "ranks", "margins": 0.0}
    return {
        kind: GT2Regressor(**ENSEMBLE, **options).fit_calibrate(X[:600], y[:600])
        for kind, options in kinds.items()
    }


@pytest.mark.parametrize("kind", ["planes", "margins", "log", "ranks"])
def test_several_systems_are_explained_by_inputs_or_by_the_rules_of_each(data, ensembles, kind):
    reg, x = ensembles[kind], data[0][700]
    background = data[0][:80]
    why = reg.explain(x, 0.8, background=background)
    lower, upper = reg.predict_interval(x[None], 0.8)
    assert (why.prediction, why.lower, why.upper) == (reg.predict(x[None])[0], lower[0], upper[0])
    assert why.baseline == pytest.approx(reg.predict(background).mean(), rel=1e-12)
    assert why.baseline + why.contributions.sum() == pytest.approx(why.prediction, abs=1e-9)
    widths = np.subtract(*reg.predict_interval(background, 0.8)[::-1])
    total = widths.mean() + why.width_contributions.sum()
    assert total == pytest.approx(why.upper - why.lower, abs=1e-9)
    assert why.table()[0]["input"] == "x0"  # the strongest
    # by rules, the parts of each system have the whole as their mean
    members = [reg.explain(x, 0.8, system=k) for k in range(2)]
    for one in members:
        for part in one.parts:
            assert_allclose(part.weights @ one.consequents + part.margin, part.value, rtol=1e-10)
    expected = np.array([why.prediction, why.lower, why.upper])
    found = np.mean([[part.value for part in one.parts] for one in members], axis=0)
    assert_allclose(found, np.log(expected) if kind == "log" else expected, rtol=1e-9)


def test_a_loaded_estimator_has_the_same_rules_and_needs_a_background(data, ensembles, tmp_path):
    reg, X = ensembles["planes"], data[0]
    reg.save(tmp_path / "model.json")
    loaded = GT2Regressor.load(tmp_path / "model.json")
    assert str(loaded.rules(X)) == str(reg.rules(X))
    with pytest.raises(ValueError, match="background"):
        loaded.explain(X[700])
    found, expected = (one.explain(X[700], background=X[:50]) for one in (loaded, reg))
    assert str(found) == str(expected)  # walks are the same each time
    assert loaded.explain(X[700], system=1).prediction == reg.explain(X[700], system=1).prediction


@pytest.mark.filterwarnings("ignore:column:UserWarning")  # rows outside the training range
def test_columns_that_belong_together_are_one_input(data):
    pd = pytest.importorskip("pandas")
    X, y = data
    frame = pd.DataFrame({"size": X[:, 0], "city": ["Oslo", "Rome", "Bern"] * 300})
    frame["garden"] = ["yes", "no", "no", "no"] * 225
    frame.loc[::7, "size"] = np.nan
    reg = GT2Regressor(**ENSEMBLE, columns="auto").fit_calibrate(frame[:600], y[:600])
    why = reg.explain(frame.iloc[701])
    assert why.inputs.keys() == {"size", "city", "garden"}
    assert (why.inputs["city"], why.inputs["garden"]) == ("Bern", "no")
    assert re.search(r"garden = (yes|no)", str(reg.rules(frame)))
    assert why.prediction == reg.predict(frame[701:702])[0]
    assert why.to_frame()["contribution"].sum() == pytest.approx(why.prediction - why.baseline)
    assert list(why.to_frame().index) == [row["input"] for row in why.table()]
    with pytest.raises(ValueError, match="system"):
        reg.explain(frame.iloc[701], system=0, background=frame)
    # a head has a column "base" of its own
    pytest.importorskip("sklearn")
    from sklearn.dummy import DummyRegressor

    from gt2lite import IntervalHead

    named = frame.rename(columns={"city": "base"})
    head = IntervalHead(DummyRegressor(), GT2Regressor(**ENSEMBLE)).fit_calibrate(named, y)
    assert list(head.explain(named.iloc[3]).head.inputs) == [*named, "base (prediction)"]


# -------------------------------------------------------------------------------- readable


@pytest.fixture
def brief(monkeypatch):
    """Train readable systems for a short time."""
    monkeypatch.setattr("gt2lite.practice.regressor.MIN_STEPS", 500)


def test_a_readable_system_imitates_the_ensemble_and_says_how_well(data, ensembles, brief):
    X, y = data
    small = ensembles["log"].readable(X, y, n_rules=3)
    assert len(small.systems_) == 1 and len(small.rules(X)) == 3
    agreement, loss, n_rows = small.fidelity_
    assert 0.9 < agreement <= 1 and -0.2 < loss < 0.5 and n_rows == 180
    assert (small.predict_interval(X)[0] > 0).all()  # a log target, too
    shuffled = np.random.default_rng(0).permutation(y)  # targets that it cannot predict
    assert ensembles["log"].readable(X, shuffled, n_rules=3).fidelity_ != small.fidelity_
    assert not hasattr(small.fit(X, y), "fidelity_")


def test_a_system_that_cannot_follow_says_so(brief):
    X = np.linspace(-1, 1, 500)[:, None]  # one rule is a line, which a valley is not
    valley = GT2Regressor(n_rules=2, epochs=30, learning_rate=0.05)
    valley.fit_calibrate(X, np.abs(X[:, 0]))
    assert valley.readable(X, n_rules=1).fidelity_.agreement < 0.5


def test_readable_refuses_few_rows_and_open_intervals(data, ensembles):
    X, y = data
    with pytest.raises(ValueError, match="100 rows, got 99"):
        ensembles["planes"].readable(X[:99])
    reg = GT2Regressor(**ENSEMBLE).fit_calibrate(X[:600], y[:600], sides="upper")
    with pytest.raises(ValueError, match="sides"):
        reg.readable(X)
    why = reg.explain(X[700])  # an open interval has no width to explain
    assert np.isnan(why.width_contributions).all() and np.isfinite(why.contributions).all()
    assert "nan" not in str(why)
