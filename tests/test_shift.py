"""Weighted conformal calibration: exact ranks, the guarantee by simulation, estimated ratios.

Statistical tests fail with a probability of at most 1e-6 if the code is right, whatever the seed.
"""

import copy
import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from planted_system import two_rules
from scipy import stats
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression

from gt2lite import GT2Regressor, IntervalHead
from gt2lite.calibration import (
    CoverageError,
    Cut,
    Scores,
    SmallCalibrationWarning,
    critical_scores,
    cut_ends,
    rank,
)
from gt2lite.metrics import covers
from gt2lite.practice.adaptive import AdaptiveIntervals
from gt2lite.practice.calibrators import (
    effective_size,
    find_cuts,
    read_weights,
    weighted_cuts,
    weighted_ranks,
)
from gt2lite.practice.exchangeability import ExchangeabilityTest
from gt2lite.practice.margins import MarginFamily
from gt2lite.practice.shift import LikelihoodRatio

pytestmark = pytest.mark.filterwarnings("ignore::gt2lite.calibration.SmallCalibrationWarning")

LEVELS = [0.07, 0.1, 0.5, 2 / 3, 0.7, 0.9, 0.93, 0.95]


def fractions(weights):
    return read_weights("weights", weights, len(weights))


def slow_rank(weights, new, probability):
    """The definition, one k after the other."""
    share = probability * (sum(weights) + new)
    found = (k for k in range(1, len(weights) + 1) if sum(weights[:k]) >= share)
    return next(found, len(weights) + 1)


def some_scores(y):
    return critical_scores(MarginFamily(np.zeros(len(y)), np.ones(len(y))), y)


# --------------------------------------------------------------------------------- ranks


@pytest.mark.parametrize("weight", [1, 7, Fraction(1, 3), 0.1, 1 / 3, 1e-9, 123.456])
def test_equal_weights_give_the_conformal_rank_exactly(weight):
    for Q in (19, 99, 100, 199, 1000):
        for level in LEVELS:
            exact = Fraction(level).limit_denominator(10**8)
            found = weighted_ranks(fractions([weight] * Q), fractions([weight]), exact)
            assert found.tolist() == [rank(level, Q + 1)]


@pytest.mark.parametrize("kind", ["whole", "fractions", "floats"])
def test_ranks_are_those_of_the_definition(kind):
    rng = np.random.default_rng(0)
    for Q in (1, 2, 13, 40):
        whole = rng.integers(0, 9, size=Q + 6).tolist()
        whole[0] += 1  # not all are 0
        parts = [
            Fraction(w, d)
            for w, d in zip(whole, rng.integers(1, 9, size=Q + 6).tolist(), strict=True)
        ]
        some = {"whole": whole, "fractions": parts, "floats": rng.gamma(0.5, size=Q + 6)}[kind]
        weights, new = fractions(some)[:Q], fractions(some)[Q:]
        for p in (Fraction(1, 10), Fraction(1, 2), Fraction(9, 10), Fraction(99, 100)):
            expected = [slow_rank(weights, one, p) for one in new]
            assert weighted_ranks(weights, new, p).tolist() == expected


def test_sums_of_weights_are_not_rounded():
    """Ten weights of 0.1 are a share of exactly 10/11 if the new one is 0.1, too."""
    assert sum([0.1] * 10) != 1.0  # in floating point
    found = weighted_ranks(fractions([0.1] * 10), fractions([0.1, 0.1000001]), Fraction(10, 11))
    assert found.tolist() == [10, 11]
    huge = [1, 10**30, 1]  # of which floats would lose both ones
    assert weighted_ranks(fractions(huge), fractions([1]), Fraction(10**30 + 2, 10**30 + 3)) == [3]


def test_whole_weights_are_repeated_rows_for_a_new_row_of_weight_1():
    rng = np.random.default_rng(1)
    y, times = rng.normal(size=80), rng.integers(0, 5, size=80)
    repeated = some_scores(np.repeat(y, times))
    for level in LEVELS:
        for sides in ("both", "each"):
            expected = find_cuts(repeated, level, "conformal", sides)
            found = weighted_cuts(some_scores(y), times, [1], level, sides)
            for one, other in zip(found, expected, strict=True):
                assert (one.alpha[0], one.margin[0]) == (other.alpha, other.margin)
    with pytest.raises(CoverageError):  # a heavier new row needs more
        weighted_cuts(some_scores(y), times, [100], 0.9, strict=True)


def test_ranks_do_not_depend_on_the_unit_and_rise_with_the_new_weight():
    rng = np.random.default_rng(2)
    weights, new = rng.gamma(1.0, size=200), np.sort(rng.gamma(1.0, size=300))
    found = weighted_ranks(fractions(weights), fractions(new), Fraction(4, 5))
    scaled = weighted_ranks(
        fractions(weights * 2.0**-70), fractions(new * 2.0**-70), Fraction(4, 5)
    )
    assert_array_equal(found, scaled)
    assert (np.diff(found) >= 0).all() and found[0] < found[-1]


def test_many_rows_take_little_time():
    rng = np.random.default_rng(3)
    weights, new = rng.gamma(1.0, size=10**4), rng.gamma(1.0, size=10**4)
    found = weighted_ranks(fractions(weights), fractions(new), Fraction(9, 10))
    sums = np.cumsum(weights)
    expected = np.searchsorted(sums, 0.9 * (sums[-1] + new)) + 1
    assert (abs(found - expected) <= 1).all() and (found == expected).mean() > 0.999


# ---------------------------------------------------------------------------- effective size


def test_effective_sizes_worked_by_hand():
    assert effective_size([2.0] * 50) == pytest.approx(50)
    assert effective_size([1, 0, 0]) == 1 and effective_size([0, 0]) == 0
    assert effective_size([1e300, 1e300]) == 2 and effective_size([1e-200] * 3) == pytest.approx(3)


def test_few_effective_samples_are_refused():
    scores = some_scores(np.linspace(-1, 1, 200))
    few = np.where(np.arange(200) < 20, 1.0, 0.01)
    weighted_cuts(scores, few, [0.1], 0.9)
    with pytest.raises(
        CoverageError, match=r"number of 23\.\d calibration .* 0.99 needs at least 99"
    ):
        weighted_cuts(scores, few, [0.1], 0.99)
    with pytest.raises(CoverageError, match="effective number of 0 "):
        weighted_cuts(scores, np.zeros(200), [1.0], 0.5)
    for level in LEVELS:  # equal weights: all levels that ranks reach, and no others
        weighted_cuts(some_scores(np.arange(19.0)), [0.1] * 19, [0.1], level)
    with pytest.raises(CoverageError):
        weighted_cuts(some_scores(np.arange(18.0)), [0.1] * 18, [0.1], 0.95)


def test_rows_out_of_reach_get_infinite_intervals_and_a_warning():
    scores = some_scores(np.linspace(-1, 1, 200))
    with pytest.warns(SmallCalibrationWarning, match="0.9 is out of reach for 1 of 3 new rows"):
        cut, same = weighted_cuts(scores, [1] * 200, [1, 30, 22], 0.9)
    assert cut is same and np.isinf(cut.margin).tolist() == [False, True, False]
    lower, upper = cut_ends(MarginFamily(np.zeros(3), np.ones(3)), [(cut, cut)])[:, 0]
    assert np.isinf(upper - lower).tolist() == [False, True, False]
    with pytest.raises(CoverageError, match="out of reach for 2 of 2 new rows: their weights"):
        weighted_cuts(scores, [1] * 200, [30, 40], 0.9, strict=True)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0] * 4, r"weights must be a 1-D array of length 5, got shape \(4,\)"),
        ([1, 1, 1, 1, -1], "weights must not be negative, got -1"),
        ([1, 1, 1, 1, np.nan], "weights contains NaN"),
        ([1, 1, 1, 1, np.inf], "weights contains infinity"),
        (["1"] * 5, "weights must hold real numbers only"),
    ],
)
def test_invalid_weights_are_refused(weights, message):
    with pytest.raises(ValueError, match=message):
        weighted_cuts(some_scores(np.arange(5.0)), weights, [1], 0.5)


def test_weights_of_all_number_types_are_read():
    for given in (
        np.array([1, 2]),
        np.array([1, 2], dtype=np.float32),
        [True, 2],
        (1.0, Fraction(2)),
    ):
        assert read_weights("weights", given, 2) == [1, 2]
    mixed = np.array([np.float32(0.5), np.int64(2)], dtype=object)
    assert read_weights("weights", mixed, 2) == [Fraction(1, 2), 2]


# ------------------------------------------------------------------- the guarantee, simulated


def test_known_ratios_give_the_coverage_where_equal_weights_do_not():
    """Calibration inputs are uniform on [0, 1], new ones have the density 2 x; noise grows with x.

    One new row for each calibration set, so that hits are independent.
    """
    rng, n, Q, level = np.random.default_rng(5), 3000, 60, 0.8
    hits = np.zeros((2, n), dtype=bool)
    for i in range(n):
        x, x_new = rng.uniform(size=Q), np.sqrt(rng.uniform())
        s, s_new = x * abs(rng.normal(size=Q)), x_new * abs(rng.normal())
        scores = Scores(np.zeros(Q), s, np.ones(Q), 0.01)
        for k, (w, new) in enumerate([(x, [x_new]), (np.ones(Q), [1])]):
            cut, _ = weighted_cuts(scores, w, new, level)
            hits[k, i] = s_new <= cut.margin[0]
    weighted, plain = hits.sum(axis=1)
    assert weighted >= stats.binom.ppf(1e-6, n, level)
    # without ties at most the level and the expected largest share of one weight, below 3 / Q
    assert weighted <= stats.binom.isf(1e-6, n, level + 3 / Q)
    assert plain < stats.binom.ppf(1e-6, n, level)


def test_the_guarantee_holds_with_ties_and_for_each_bound():
    rng, n, Q, level = np.random.default_rng(6), 2000, 80, 0.8
    x = rng.integers(1, 4, size=(n, Q + 1))
    x[:, Q] = rng.choice([1, 2, 3], p=np.array([1, 4, 9]) / 14, size=n)  # the new row
    every = some_scores((x * rng.integers(-3, 5, size=x.shape)).astype(float).ravel())
    hits = np.zeros((2, n), dtype=bool)
    for i, rows in enumerate(np.arange(x.size).reshape(x.shape)):
        w = x[i] ** 2
        for k, sides in enumerate(("both", "each")):
            found = weighted_cuts(every.take(rows[:Q]), w[:Q], w[Q:], level, sides)
            lower, upper = (Cut(float(cut.alpha[0]), float(cut.margin[0])) for cut in found)
            hits[k, i] = every.take(rows[Q:]).between(lower, upper)[0]
    assert (hits.sum(axis=1) >= stats.binom.ppf(1e-6, n, level)).all()


# --------------------------------------------------------------------------- fitted systems

KNOWN, NEW = slice(300, 800), slice(800, 2400)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(7)
    X = rng.uniform(-1, 1, size=(2400, 2))
    return X, 20 + X[:, 0] + (0.15 + 0.3 * (X[:, 1] > 0)) * rng.normal(size=2400)


def written():
    """A system of two rules at 5 and 25 whose only training row has no copy."""
    reg = two_rules()
    return reg.with_model(replace(reg.model_, marks=np.ones(1)))


def true_ratio(X):
    """New rows have x1 above 0 nine times as often."""
    return np.where(np.asarray(X)[:, 1] > 0, 9.0, 1.0)


@pytest.fixture(scope="module", params=["planes", "margins", "log", "several", "head"])
def trained(request, data):
    X, y = data
    kind = request.param
    settings = {"log": {"target_transform": "log"}, "several": {"n_systems": 2}}.get(kind, {})
    family = 0.0 if kind in ("margins", "log") else None
    found = GT2Regressor(n_rules=2, epochs=15, learning_rate=0.02, margins=family, **settings)
    if kind == "head":
        found = IntervalHead(LinearRegression(), found)
    return found.fit(X[:300], y[:300])


@pytest.fixture(params=["both", "each", "lower", "upper"])
def reg(request, trained, data):
    """A function that calibrates a copy with other arguments."""
    X, y = data
    return lambda **options: copy.copy(trained).calibrate(
        X[KNOWN], y[KNOWN], sides=request.param, **options
    )


def test_equal_weights_give_the_unweighted_intervals(reg, data):
    X, _ = data
    plain = reg()
    for weight in (1, 0.1, 1 / 3):
        found = reg(sample_weight=[weight] * 500)
        assert found.calibrator_.effective_size == pytest.approx(500)
        for level in (0.5, 0.9, [0.8, 0.95]):
            expected = plain.predict_interval(X[NEW], level)
            assert_array_equal(found.predict_interval(X[NEW], level), expected)
            given = found.predict_interval(X[NEW], level, sample_weight=[weight] * 1600)
            assert_array_equal(given, expected)
    by_function = reg(sample_weight=lambda table: np.full(len(table), 0.7))
    assert_array_equal(by_function.predict_interval(X[NEW]), plain.predict_interval(X[NEW]))


def test_a_function_gives_each_row_the_cut_of_its_weight(reg, data):
    X, _ = data
    found, array = reg(sample_weight=true_ratio), reg(sample_weight=true_ratio(X[KNOWN]))
    lower, upper = found.predict_interval(X[NEW], [0.7, 0.9])
    given = array.predict_interval(X[NEW], [0.7, 0.9], sample_weight=true_ratio(X[NEW]))
    assert_array_equal((lower, upper), given)
    one = [found.predict_interval(X[[i]], [0.7, 0.9]) for i in range(800, 805)]
    assert_allclose(np.concatenate(one, axis=1), np.stack([lower, upper])[:, :5], rtol=1e-12)
    largest = array.predict_interval(X[NEW], [0.7, 0.9])  # for a weight of 9
    heavy = X[NEW, 1] > 0
    assert_array_equal(np.stack(largest)[:, heavy], np.stack([lower, upper])[:, heavy])
    assert (largest[0] <= lower).all() and (upper <= largest[1]).all()


def test_a_known_ratio_restores_the_coverage_of_shifted_rows(trained, data):
    X, y = data
    ratio, rng = true_ratio(X), np.random.default_rng(0)
    new = 800 + rng.choice(1600, size=800, replace=False, p=ratio[800:] / ratio[800:].sum())
    plain = copy.copy(trained).calibrate(X[KNOWN], y[KNOWN], sides="both")
    found = copy.copy(trained).calibrate(X[KNOWN], y[KNOWN], sides="both", sample_weight=true_ratio)
    before, after = (covers(y[new], *one.predict_interval(X[new])).mean() for one in (plain, found))
    assert before < 0.87 < after < 0.94


@pytest.mark.parametrize("given", ["function", "array"])
def test_weighted_intervals_of_an_estimator_keep_their_level(given):
    """Calibration inputs are uniform on [0, 30], new ones have a density that rises with x.

    So does the noise. One new row for each calibration set, so that hits are independent.
    """
    rng, n, Q, level = np.random.default_rng(1), 400, 60, 0.8
    reg, hits = written(), np.zeros((2, n), dtype=bool)

    def target(x):
        return reg.predict(x[:, None]) + x * rng.normal(size=x.size)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for i in range(n):
            x, x_new = rng.uniform(0, 30, size=Q), 30 * np.sqrt(rng.uniform(size=1))
            y, y_new = target(x), target(x_new)
            weights = (lambda table: table[:, 0]) if given == "function" else x
            for k, options in enumerate([{"sample_weight": weights}, {}]):
                reg.calibrate(x[:, None], y, **options)
                hits[k, i] = covers(y_new, *reg.predict_interval(x_new[:, None], level))[0]
    weighted, plain = hits.sum(axis=1)
    assert weighted >= stats.binom.ppf(1e-6, n, level)
    assert weighted > plain + 10


def test_fit_calibrate_takes_weights_of_all_rows(data):
    X, y = data
    settings = {"n_rules": 2, "epochs": 5, "learning_rate": 0.02}
    for given in (true_ratio(X), true_ratio):
        head = IntervalHead(LinearRegression(), GT2Regressor(**settings))
        for one in (GT2Regressor(**settings), head):
            found = one.fit_calibrate(X, y, sample_weight=given)
            rows = found.calibration_rows_
            assert_array_equal(found.calibrator_.weights, true_ratio(X)[rows])
            same = given if callable(given) else given[rows]
            again = copy.copy(found).calibrate(X[rows], y[rows], sample_weight=same)
            assert_array_equal(found.predict_interval(X), again.predict_interval(X))


def test_explanations_and_rules_have_the_interval_of_the_row(trained, data):
    X, y = data
    found = copy.copy(trained).calibrate(X[KNOWN], y[KNOWN], sides="both", sample_weight=true_ratio)
    for x in X[[900, 901, 902, 903]]:
        why = found.explain(x, 0.8)
        assert_allclose([why.lower, why.upper], np.ravel(found.predict_interval(x[None], 0.8)))
    assert len(found.rules(X[NEW], y[NEW])) > 0


def test_frames_reach_the_function_as_they_are(data):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(data[0], columns=["a", "b"]).assign(kind=rng.choice(list("xyz"), 2400))
    seen = []

    def weigh(table):
        seen.append(list(table.columns))
        return table["kind"].map({"x": 1.0, "y": 2.0, "z": 4.0})

    system = GT2Regressor.strong(choose=False, n_systems=1, n_rules=2, epochs=5)
    for one in (system, IntervalHead(HistGradientBoostingRegressor(max_iter=5), system)):
        if one is not system:
            frame = frame.drop(columns="kind").assign(kind=frame["kind"].astype("category"))
            one.base.set_params(categorical_features="from_dtype")
        found = one.fit(frame[:300], data[1][:300])
        found.calibrate(frame[KNOWN], data[1][KNOWN], sample_weight=weigh)
        lower, _ = found.predict_interval(frame[NEW])
        assert len(lower) == 1600 and seen[-1] == ["a", "b", "kind"]
        found.explain(frame.iloc[900])


def test_effective_sizes_are_reported_and_refused(data):
    X, y = data
    reg = written()
    x = X[KNOWN, :1]
    few = np.where(np.arange(500) < 20, 1.0, 0.001)
    with pytest.warns(SmallCalibrationWarning, match="effective number of 21 calibration samples"):
        reg.calibrate(x, y[KNOWN], sample_weight=few)
    assert reg.calibrator_.effective_size == pytest.approx(20.96, abs=0.02)
    with pytest.raises(CoverageError, match=r"0\.99 needs at least 99"):
        reg.predict_interval(x, 0.99)
    (row,) = reg.calibration_report(0.9)
    assert row.calibrated_on == "weights" and row.n_samples == 500 and row.reached >= 0.9
    (row,) = reg.calibration_report(0.99)
    assert row.calibrated_on == "nothing" and np.isnan(row.reached)


def test_a_row_too_heavy_for_a_level_has_an_infinite_interval_in_any_batch(data):
    X, y = data
    reg = written().calibrate(X[KNOWN, :1], y[KNOWN], sample_weight=np.ones(500))
    for weights in ([1.0, 60.0], [60.0, 60.0]):
        with pytest.warns(SmallCalibrationWarning, match="out of reach for . of 2 new rows"):
            lower, upper = reg.predict_interval([[1.0], [1.0]], sample_weight=weights)
        assert np.isinf(upper).tolist() == np.isinf(lower).tolist() == [w > 1 for w in weights]
    with pytest.raises(CoverageError, match="out of reach for 1 of 1 new rows"):
        copy.copy(reg.calibrator_).at_weight(60.0).alpha(0.9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "exact"}, "needs method=\"conformal\" without groups, got method='exact'"),
        ({"method": "table"}, "got method='table'"),
        ({"method": "search"}, "got method='search'"),
        ({"groups": ["a"] * 500}, "without groups, got groups"),
        ({"groups": "rules"}, "without groups, got groups"),
        ({"sample_weight": [1.0] * 9}, "sample_weight must be a 1-D array of length 500"),
        ({"sample_weight": -np.ones(500)}, "sample_weight must not be negative"),
        ({"sample_weight": lambda X: None}, "sample_weight"),
    ],
)
def test_weights_are_refused_with_the_argument_that_excludes_them(data, options, message):
    X, y = data
    reg = written()
    with pytest.raises(ValueError, match=message):
        reg.calibrate(X[KNOWN, :1], y[KNOWN], **{"sample_weight": np.ones(500)} | options)
    assert not hasattr(reg, "calibrator_")


def test_what_weights_do_not_have_is_refused(data, tmp_path):
    X, y = data
    x, path = X[KNOWN, :1], tmp_path / "model.json"
    plain = written().calibrate(x, y[KNOWN])
    with pytest.raises(ValueError, match="this calibration has no weights"):
        plain.predict_interval(x, sample_weight=np.ones(500))
    with pytest.raises(ValueError, match="sample_weight cannot be combined with alpha"):
        plain.predict_interval(x, alpha=0.5, sample_weight=np.ones(500))
    reg = written().calibrate(x, y[KNOWN], sample_weight=np.ones(500))
    with pytest.raises(ValueError, match="sample_weight must be a 1-D array of length 3"):
        reg.predict_interval(x[:3], sample_weight=[1, 1])
    for ask in (reg.predict_distribution, lambda X: reg.predict_quantile(X, 0.5)):
        with pytest.raises(ValueError, match="not available for a calibration with weights"):
            ask(x)
    with pytest.raises(ValueError, match="reg is calibrated by weights"):
        AdaptiveIntervals(reg)
    with pytest.raises(ValueError, match="reg is calibrated with weights"):
        ExchangeabilityTest(reg)
    reg.calibrate(x, y[KNOWN], sample_weight=lambda table: np.ones(len(table)))
    with pytest.raises(TypeError, match="cannot hold a function that computes weights"):
        reg.save(path)
    assert not path.exists()


# ------------------------------------------------------------------------- estimated ratios


def test_the_estimated_ratio_is_near_the_true_one():
    rng = np.random.default_rng(8)
    old, new = rng.normal(size=(4000, 2)), rng.normal([0.8, 0], 1, size=(1000, 2))
    ratio = LikelihoodRatio(old, new)
    grid = rng.normal(size=(200, 2))
    true = np.exp(0.8 * grid[:, 0] - 0.32)
    assert np.median(abs(ratio(grid) / true - 1)) < 0.15
    assert ratio(old).mean() == pytest.approx(1, abs=0.1)


def test_ratios_are_clipped_and_any_classifier_will_do():
    tree = pytest.importorskip("sklearn.tree").DecisionTreeClassifier(max_depth=1)
    old, new = np.array([[0.0], [1.0], [2.0]]), np.array([[5.0]])
    ratio = LikelihoodRatio(old, new, tree, clip=4.0)
    assert_allclose(ratio([[0.0], [9.0]]), [0.25, 4.0])
    assert not hasattr(tree, "tree_")  # a copy was trained
    with pytest.raises(ValueError, match=r"clip must be a number in \(1, inf\), got 0.5"):
        LikelihoodRatio(old, new, clip=0.5)


def test_ratios_of_data_frames():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(9)
    old, new = rng.normal(size=(300, 2)), rng.normal(1.0, 1.0, size=(300, 2))
    frames = [pd.DataFrame(table, columns=["a", "b"]) for table in (old, new)]
    assert_allclose(LikelihoodRatio(*frames)(frames[0]), LikelihoodRatio(old, new)(old), rtol=1e-6)
