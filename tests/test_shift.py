"""Weighted conformal calibration: exact ranks, the guarantee by simulation, estimated ratios.

Statistical tests fail with a probability of at most 1e-6 if the code is right, whatever the seed.
"""

from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from gt2lite import GT2Regressor
from gt2lite.calibration import (
    CoverageError,
    Cut,
    Scores,
    SmallCalibrationWarning,
    critical_scores,
    cut_ends,
    rank,
)
from gt2lite.practice.calibrators import find_cuts
from gt2lite.practice.margins import MarginFamily
from gt2lite.practice.shift import (
    LikelihoodRatio,
    effective_size,
    read_weights,
    weighted_cuts,
    weighted_intervals,
    weighted_ranks,
)

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
        weighted_cuts(some_scores(y), times, [100], 0.9)


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


def test_few_effective_samples_are_reported_or_refused():
    scores = some_scores(np.linspace(-1, 1, 200))
    few = np.where(np.arange(200) < 20, 1.0, 0.01)
    with pytest.warns(SmallCalibrationWarning, match=r"an effective number of 23\.\d calibration"):
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
        weighted_cuts(scores, [1] * 200, [30, 40], 0.9)


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


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(7)
    X = rng.uniform(-1, 1, size=(2400, 2))
    return X, 20 + X[:, 0] + (0.15 + 0.3 * (X[:, 1] > 0)) * rng.normal(size=2400)


@pytest.fixture(scope="module", params=["both", "each", "upper", "log", "planes", "several"])
def reg(request, data):
    X, y = data
    kind = request.param
    settings = {"log": {"target_transform": "log"}, "several": {"n_systems": 2}}.get(kind, {})
    family = None if kind in ("planes", "several") else 0.0
    found = GT2Regressor(n_rules=2, epochs=15, learning_rate=0.02, margins=family, **settings)
    sides = kind if kind in ("each", "upper") else "both"
    return found.fit(X[:300], y[:300]).calibrate(X[300:800], y[300:800], sides=sides)


def test_equal_weights_give_the_intervals_of_calibrate(data, reg):
    X, y = data
    for level in (0.5, 0.9):
        for weight in (1, 0.1, Fraction(1, 7)):
            known, new = [weight] * 500, [weight] * 1600
            found = weighted_intervals(reg, X[300:800], y[300:800], X[800:], known, new, level)
            assert_array_equal(found, reg.predict_interval(X[800:], level))


def test_ratios_restore_the_coverage_of_shifted_inputs(data, reg):
    X, y = data
    ratio = np.where(X[:, 1] > 0, 9.0, 1.0)
    rng = np.random.default_rng(0)
    new = 800 + rng.choice(1600, size=800, replace=False, p=ratio[800:] / ratio[800:].sum())
    known = X[300:800], y[300:800]
    lower, upper = weighted_intervals(reg, *known, X[new], ratio[300:800], ratio[new])
    plain = reg.predict_interval(X[new])
    covered = ((lower <= y[new]) & (y[new] <= upper)).mean()
    before = ((plain[0] <= y[new]) & (y[new] <= plain[1])).mean()
    assert before < 0.87 < covered < 0.94


def test_new_weights_belong_to_rows(data, reg):
    X, y = data
    with pytest.raises(ValueError, match="new_weights must be a 1-D array of length 3"):
        weighted_intervals(reg, X[300:800], y[300:800], X[:3], [1] * 500, [1] * 2)


def test_estimators_without_ranks_are_refused(data):
    X, y = data
    plain = GT2Regressor(n_rules=2, epochs=5).fit(X[:300], y[:300])
    grouped = GT2Regressor(n_rules=2, epochs=5).fit(X[:300], y[:300])
    grouped.calibrate(X[300:500], y[300:500], groups=["a", "b"] * 100)
    for one in (plain, grouped):
        with pytest.raises(ValueError, match="reg must be calibrated by rank"):
            weighted_intervals(one, X[:5], y[:5], X[:1], [1] * 5, [1])


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
