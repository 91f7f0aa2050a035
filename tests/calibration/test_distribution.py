"""Quantiles and distributions: the definition, the guarantee, ties, groups, and other libraries."""

from fractions import Fraction

import numpy as np
import pytest
from families import Cone, cone, facts, few, left_out, system
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from gt2lite import GT2Regressor, IntervalHead
from gt2lite.calibration import SmallCalibrationWarning, rank
from gt2lite.datasets import Scaler
from gt2lite.memberships import alpha_of, kappa_of
from gt2lite.practice.calibrators import RANKED, GroupCalibrator, RankCalibrator
from gt2lite.practice.distribution import Distribution, quantile_rank
from gt2lite.practice.margins import MarginFamily

PLAIN = Scaler(np.zeros(1), np.ones(1), 0.0, 1.0)
LEVELS = [0.03, 0.07, 0.2, 0.4, 0.5, 0.55, 0.7, 0.93, 0.96]


def distribution(family, y, rows=None, calibrator=None):
    """Return the distributions at the rows of a family, calibrated on the family itself."""
    fitted = (calibrator or RankCalibrator()).fit(family, y)
    return Distribution(fitted, family if rows is None else rows, PLAIN)


# ----------------------------------------------------------------------------- the definition


def signed_bounds(family, t):
    """Return B_t (N,): upper bounds for t >= 0 and lower ones below, margins past the planes."""
    widest = kappa_of(family.alpha_min)
    kappa, margin = np.minimum(abs(t), widest), np.maximum(abs(t) - widest, 0)
    lower, upper = family(np.maximum(alpha_of(kappa), family.alpha_min))
    return np.where(t >= 0, upper + margin, lower - margin)


def positions(family, y):
    """Return t = inf {t : y <= B_t} (Q,) by halving a range of t."""
    low, high = np.full(y.size, -100.0), np.full(y.size, 100.0)
    for _ in range(70):
        t = (low + high) / 2
        reached = y <= signed_bounds(family, t)
        low, high = np.where(reached, low, t), np.where(reached, t, high)
    return high


@few
@pytest.mark.parametrize("method", RANKED)
@pytest.mark.parametrize("make", [cone, system], ids=["cone", "system"])
def test_a_quantile_is_the_family_at_a_rank_of_the_signed_positions(make, method):
    n = 99
    family, y = make(n)
    t = np.sort(positions(family, y))
    assert (t < -kappa_of(family.alpha_min)).any() and (t > kappa_of(family.alpha_min)).any()
    found = distribution(family, y, calibrator=RankCalibrator(method)).quantile(LEVELS)
    for q, values in zip(LEVELS, found.T, strict=True):
        q = Fraction(str(q))
        m = n + (method == "conformal")
        k = -(-q * m // 1) if q >= Fraction(1, 2) else n + 1 - -(-(1 - q) * m // 1)
        assert quantile_rank(q, n, method) == k
        assert_allclose(values, signed_bounds(family, np.full(n, t[int(k) - 1])), atol=1e-9)
    assert (np.diff(found, axis=1) >= 0).all()


def check_every_rank(family, y, tied=False):
    """Count, at every rank and to the last bit, the samples at or below their quantile."""
    n = y.size
    dist = distribution(family, y)
    for k in range(1, n + 1):
        values = dist.quantile(Fraction(k, n + 1))
        if 2 * k >= n + 1:
            assert (y <= values).sum() >= k
            assert tied or (y <= values - 1e-8).sum() == k - 1
        else:
            assert (y < values).sum() <= k - 1
            assert tied or (y < values + 1e-8).sum() == k


@few
@pytest.mark.parametrize("make", [cone, system], ids=["cone", "system"])
@pytest.mark.parametrize("bias", [-3.0, 3.0])  # estimates too high and too low
def test_every_rank_holds_on_the_calibration_set_to_the_last_bit(make, bias):
    family, y = make(41)
    check_every_rank(family, y + bias)


@few
@facts
@given(*[st.lists(st.integers(-60, 60), min_size=1, max_size=30)] * 2)  # many ties
def test_ties_move_quantiles_outward_only(y, centre):
    n = min(len(y), len(centre))
    y, centre = np.array(y[:n]) / 20, np.round(np.array(centre[:n]) / 40)  # few of each
    check_every_rank(Cone(centre, 0.7, 0.4, 2.0), y, tied=True)


# ------------------------------------------------------------------------------ the guarantee


@few
@pytest.mark.parametrize("discrete", [False, True], ids=["continuous", "ties"])
def test_new_targets_are_below_a_quantile_as_often_as_promised(discrete):
    """If all orders are equally likely, the share over who is left out is the probability."""
    n, levels = 40, [0.05, 0.12, 0.33, 0.5, 0.64, 0.9, 0.95]
    family, y = cone(n)
    y = y + 0.4  # biased
    if discrete:
        family, y = Cone(np.round(family.centre), 0.7, 0.4, 2.0), np.round(y)
    at, below = np.zeros((2, len(levels)))
    for i, _, part, known in left_out(family, y):
        found = distribution(part, known, rows=family).quantile(levels)[i]
        at += y[i] <= found
        below += y[i] < found
    for j, q in enumerate(levels):
        if q >= 0.5:  # without ties no more than the rounding of ranks is lost
            assert at[j] >= rank(q, n) and (discrete or at[j] == rank(q, n))
        else:
            most = n - rank(1 - Fraction(str(q)), n)
            assert below[j] <= most and (discrete or below[j] == most)


@few
def test_the_distribution_function_counts_the_calibration_samples():
    family, y = system(80)
    dist = distribution(family, y)
    ranks = np.argsort(np.argsort(positions(family, y))) + 1
    assert_allclose(dist.cdf(y), ranks / 81, atol=1e-12)  # half of its own step is above
    assert_allclose(dist.cdf(-1e6), 0.5 / 81)
    assert_allclose(dist.cdf(1e6), 80.5 / 81)
    q = [0.3, 0.8]
    shares = [dist.cdf(values) for values in dist.quantile(q).T]
    assert np.abs(np.array(shares) - np.array(q)[:, None]).max() <= 1.5 / 81

    tied = distribution(MarginFamily(np.zeros(5), np.ones(5)), np.array([-1.0, 0, 0, 0, 2.0]))
    assert_allclose(tied.cdf(0.0), (1 + (3 + 1) / 2) / 6)  # halves ties
    assert_allclose(tied.cdf(1.0), (4 + 1 / 2) / 6)


# ------------------------------------------------------------------------------------- groups


@few
def test_groups_have_distributions_of_their_own():
    family, y = cone(300)
    names = np.where(np.arange(300) % 3 == 0, "a", "b")
    fitted = GroupCalibrator().fit(family, y, names)
    both = Distribution(fitted, family, PLAIN, names)
    for name in "ab":
        rows = names == name
        alone = distribution(family.take(rows), y[rows])
        assert_array_equal(both.quantile(LEVELS)[rows], alone.quantile(LEVELS))
        assert_array_equal(both.cdf(y)[rows], alone.cdf(y[rows]))
    with pytest.raises(ValueError, match="groups must be among those of the calibration set"):
        Distribution(fitted, family, PLAIN, np.full(300, "c"))
    with pytest.raises(ValueError, match="groups are missing"):
        Distribution(fitted, family, PLAIN)


@few
def test_a_small_group_becomes_infinite_unless_it_takes_the_pool():
    family, y = cone(200)
    names = np.array(["rare"] * 5 + ["common"] * 195)
    alone = GroupCalibrator().fit(family, y, names)
    with pytest.warns(SmallCalibrationWarning, match=r"5 calibration samples answer .* to 0.8333"):
        found = Distribution(alone, family, PLAIN, names).quantile(0.95)
    assert np.isinf(found[:5]).all() and np.isfinite(found[5:]).all()


def test_a_row_takes_all_of_its_quantiles_from_the_pool_or_none_and_a_warning_names_its_group():
    rng = np.random.default_rng(0)
    wild = np.arange(400) < 20
    family = Cone(np.zeros(400), 1.0, 1.0, 2.0)
    y = rng.normal(size=400) * np.where(wild, 5.0, 0.5)
    names = np.where(wild, "wild", "calm")
    with pytest.warns(SmallCalibrationWarning, match="1 of 2 groups have fewer than 100"):
        pooled = GroupCalibrator(small_groups="pool").fit(family, y, names)
    dist, levels = Distribution(pooled, family, PLAIN, names), [0.02, 0.05, 0.5, 0.95, 0.97]
    message = (
        r"quantiles 0\.02, 0\.97 are out of reach of groups 'wild' \(20 samples\): all "
        r"quantiles of their rows are those of all 400 calibration samples"
    )
    with pytest.warns(SmallCalibrationWarning, match=message) as caught:
        found = dist.quantile(levels)
    assert len(caught) == 1 and "guarantee nothing for these" in str(caught[0].message)
    assert_array_equal(found[wild], distribution(family, y).quantile(levels)[wild])
    alone = distribution(family.take(~wild), y[~wild])
    assert_array_equal(found[~wild], alone.quantile(levels))
    reached = dist.quantile(levels[1:4])  # the group answers these itself, without a warning
    assert (reached[0] != found[0, 1:4]).all() and (np.diff(reached, axis=1) > 0).all()
    with pytest.warns(SmallCalibrationWarning) as caught:  # the pool does not answer this one
        found = dist.quantile([0.5, 0.999])
    assert len(caught) == 2 and "400 calibration samples answer" in str(caught[1].message)
    assert np.isfinite(found[wild, 0]).all() and (found[:, 1] == np.inf).all()


@few
@pytest.mark.parametrize("method", RANKED)
@pytest.mark.parametrize("small_groups", [None, "raise", "pool"])  # None: no groups
@pytest.mark.parametrize("kind", ["cone", "system", "margins", "tied"])
def test_quantiles_of_a_row_never_cross(method, small_groups, kind):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        groups = np.repeat(range(3), rng.choice([1, 5, 20, 60], 3))  # some reach little
        family, y = (system if kind == "system" else cone)(groups.size, seed)
        y = y * 10 ** rng.uniform(-2, 1, 3)[groups]  # of different noise
        if kind == "margins":
            family = MarginFamily(family.centre, family.above)
        if kind == "tied":
            family, y = Cone(np.round(family.centre), 0.5, 1.0, 2.0), np.round(y)
        options = {"method": method, "sides": rng.choice(["both", "each"]).item()}
        scaler = Scaler(np.zeros(1), np.ones(1), 1.0, 0.1, rng.choice([None, "log"]))
        if small_groups is None:
            dist = Distribution(RankCalibrator(**options).fit(family, y), family, scaler)
        else:
            calibrator = GroupCalibrator(small_groups=small_groups, **options)
            dist = Distribution(calibrator.fit(family, y, groups), family, scaler, groups)
        levels = np.sort(rng.choice(199, 20, replace=False) + 1) / 200
        found = dist.shifted(rng.normal(size=y.size)).quantile(levels)
        assert (found[:, 1:] >= found[:, :-1]).all()


def test_quantiles_out_of_reach_are_infinite_with_a_warning():
    family, y = cone(199)
    dist = distribution(family, y)
    with pytest.warns(SmallCalibrationWarning, match="quantiles 0.004, 0.996 are out of reach"):
        found = dist.quantile([0.004, 0.005, 0.995, 0.996])
    assert (found[:, 0] == -np.inf).all() and (found[:, 3] == np.inf).all()
    assert np.isfinite(found[:, 1:3]).all()


# ----------------------------------------------------------------- points, samples, mean, CRPS


@few
@pytest.mark.parametrize("n", [7, 1000])
def test_points_have_equal_mass(n):
    family, y = cone(n)
    dist = distribution(family, y)
    K = min(n, 199)
    assert dist.points.shape == (n, K) and (np.diff(dist.points, axis=1) >= 0).all()
    t = np.sort(positions(family, y))
    middle = t[[int(np.ceil(n * (2 * j + 1) / (2 * K))) - 1 for j in range(K)]]
    wanted = np.stack([signed_bounds(family, np.full(n, one)) for one in middle], axis=1)
    assert_allclose(dist.points, wanted, atol=1e-8)
    assert_allclose(dist.mean, wanted.mean(axis=1), atol=1e-8)


@few
def test_crps_is_the_integral_of_its_definition():
    family, y = cone(60)
    dist = distribution(family, y)
    for i in (0, 20, 41):
        edges = np.unique(np.append(dist.points[i], y[i]))
        middles = (edges[1:] + edges[:-1]) / 2  # the integrand is constant between edges
        F = (dist.points[i] <= middles[:, None]).mean(axis=1)
        integral = ((F - (y[i] <= middles)) ** 2 * np.diff(edges)).sum()
        assert dist.crps(y)[i] == pytest.approx(integral, rel=1e-10)


@few
def test_samples_are_drawn_from_the_points_that_the_plot_shows(ax):
    family, y = cone(50)
    dist = distribution(family, y)
    drawn = dist.sample(np.random.default_rng(0), 2000)
    assert drawn.shape == (50, 2000) and np.isin(drawn[3], dist.points[3]).all()
    spread = dist.points.std(axis=1) / np.sqrt(2000)
    assert (np.abs(drawn.mean(axis=1) - dist.mean) < 5 * spread).all()
    assert_array_equal(drawn, dist.sample(np.random.default_rng(0), 2000))
    assert dist.sample(np.random.default_rng(1)).shape == (50,)
    assert dist.plot(ax, row=2, color="k") is ax
    (line,) = ax.lines
    assert_array_equal(line.get_xdata(), dist.points[2])
    assert line.get_ydata()[-1] == 1
    with pytest.raises(ValueError, match="row must be a whole number"):
        dist.plot(None, row=100)


# --------------------------------------------------------------------------------- estimators


@pytest.fixture(scope="module")
def data():
    """700 rows with positive targets: 300 to train on, 200 to calibrate on, 200 new."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(700, 2)) * [1.0, 50.0] + [0.0, 300.0]
    y = np.exp(1 + 0.3 * X[:, 0] + 0.2 * rng.gumbel(size=700))
    return X, y


QUICK = {"n_rules": 3, "epochs": 15, "learning_rate": 0.03}
SETTINGS = {
    "planes": {},
    "ensemble": {"n_systems": 2, "inputs": "ranks", "clip_inputs": True},
    "margins": {"margins": 0.5},
    "log": {"target_transform": "log"},
}


@pytest.fixture(scope="module", params=SETTINGS)
def fitted(request, data):
    X, y = data
    return GT2Regressor(**QUICK | SETTINGS[request.param]).fit(X[:300], y[:300])


def test_quantiles_are_the_bounds_of_equal_tailed_intervals(fitted, data):
    X, y = data
    fitted.calibrate(X[300:500], y[300:500], sides="each")
    lower, upper = fitted.predict_interval(X[500:], 0.9)
    for sides in ("each", "both", "lower"):
        fitted.calibrate(X[300:500], y[300:500], sides=sides)
        found = fitted.predict_quantile(X[500:], [0.05, 0.5, 0.95])
        assert_array_equal(found[:, [0, 2]], np.stack([lower, upper], axis=1))
        assert_array_equal(fitted.predict_quantile(X[500:], 0.5), found[:, 1])


def test_targets_of_a_log_system_are_positive(data):
    X, y = data
    log = GT2Regressor(target_transform="log", **QUICK).fit(X[:300], y[:300])
    plain = GT2Regressor(**QUICK).fit(X[:300], np.log(y[:300]))
    ours = log.calibrate(X[300:500], y[300:500]).predict_distribution(X[500:])
    theirs = plain.calibrate(X[300:500], np.log(y[300:500])).predict_distribution(X[500:])
    assert_allclose(ours.quantile(LEVELS), np.exp(theirs.quantile(LEVELS)))
    assert_array_equal(ours.cdf(y[500:]), theirs.cdf(np.log(y[500:])))
    assert (ours.points > 0).all() and (ours.cdf(0.0) == 0).all() and (ours.cdf(-3.0) == 0).all()
    with pytest.warns(SmallCalibrationWarning):
        assert (ours.quantile(0.001) == 0).all()


def test_a_head_shifts_the_distribution_of_the_errors(data):
    from sklearn.linear_model import LinearRegression

    X, y = data
    head = IntervalHead(LinearRegression(), GT2Regressor(**QUICK)).fit(X[:300], y[:300])
    head.calibrate(X[300:500], y[300:500], sides="each")
    new, base = X[500:], head.base_.predict(X[500:])
    lower, upper = head.predict_interval(new, 0.8)
    found = head.predict_quantile(new, [0.1, 0.9])
    assert_array_equal(found, np.stack([lower, upper], axis=1))
    dist, errors = (
        head.predict_distribution(new),
        head.head_.predict_distribution(np.column_stack([new, base])),
    )
    assert_allclose(dist.mean, base + errors.mean)
    assert_array_equal(dist.cdf(y[500:]), errors.cdf(y[500:] - base))
    assert_allclose(dist.crps(y[500:]), errors.crps(y[500:] - base))


def test_equal_to_the_conformal_predictive_systems_of_crepes(data):
    crepes = pytest.importorskip("crepes")
    X, y = data
    reg = GT2Regressor(margins=0.0, **QUICK)
    reg.fit(X[:300], y[:300]).calibrate(X[300:500], y[300:500])
    y_hat = reg.predict(X)
    theirs = crepes.ConformalPredictiveSystem().fit(y[300:500] - y_hat[300:500])
    low, high = [1, 12.3, 40], [50, 77.7, 99]
    wanted = theirs.predict_percentiles(y_hat[500:], lower_percentiles=low, higher_percentiles=high)
    found = reg.predict_quantile(X[500:], [p / 100 for p in low + high])
    assert_allclose(found, wanted, rtol=0, atol=1e-9 * y.std())
    cdf, p = reg.predict_distribution(X[500:]).cdf(y[500:]), []
    for seed in range(40):  # theirs is smoothed at random, ours is the mean of that
        p.append(theirs.predict_p(y_hat[500:], y[500:], smoothing=True, seed=seed))
    p = np.array(p)
    assert (p.min(axis=0) <= cdf).all() and (cdf <= p.max(axis=0)).all()
    assert np.ptp(p, axis=0).max() <= 1 / 201 + 1e-12


# ----------------------------------------------------------------------------------- refusals


def test_methods_of_the_paper_have_no_distribution(data):
    X, y = data
    reg = GT2Regressor(**QUICK).fit(X[:300], y[:300])
    with pytest.raises(RuntimeError, match=r"not calibrated: call calibrate\(X_cal, y_cal\)"):
        reg.predict_quantile(X, 0.5)
    reg.calibrate(X[300:500], y[300:500], method="search")
    with pytest.raises(ValueError, match=r"got method='search': call calibrate.*conformal"):
        reg.predict_distribution(X)


@pytest.mark.parametrize(
    ("q", "message"),
    [
        (0, r"quantiles must be a number in \(0, 1\), got 0"),
        ([0.5, 1.0], r"quantiles must be a number in \(0, 1\), got 1"),
        ([0.5, np.nan], r"quantiles must be a number in \(0, 1\), got nan"),
        ("half", r"quantiles must be a number in \(0, 1\), got .*half"),
        ([], "quantiles must not be empty"),
    ],
)
def test_invalid_quantiles_are_refused_by_name(q, message):
    family, y = cone(100)
    with pytest.raises(ValueError, match=message):
        distribution(family, y).quantile(q)


@pytest.mark.parametrize("y", [np.zeros(3), [1.0, np.nan], np.zeros((100, 2))])
def test_targets_must_match_the_rows(y):
    family, known = cone(100)
    dist = distribution(family, known)
    for ask in (dist.cdf, dist.crps):
        with pytest.raises(ValueError, match=r"y (must be a 1-D array of length 100|contains NaN)"):
            ask(y)
