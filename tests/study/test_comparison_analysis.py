"""Rules of the comparison at their edges: the competitor to beat, tests, costs, bins."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from gt2lite.metrics import covers
from study import comparison
from study.comparison import by_dataset, ratios
from study.comparison.conditional import coverage_by, excess_risk, rarity, regions, width_bins
from study.statistics import corrected_t

SETS = ("concrete", "plastic")


def rows_of(by_name, *, sets=SETS, seeds=range(5)):
    """Rows with scores by method; a number is the same for all data sets and levels."""
    places = pd.MultiIndex.from_product(
        [sets, (0.9, 0.95), seeds], names=["dataset", "level", "seed"]
    )
    found = [
        pd.DataFrame(
            {"interval_score": [given(*at) if callable(given) else given for at in places]}, places
        ).assign(method=name)
        for name, given in by_name.items()
    ]
    seconds = {"first_seconds": 1.0, "further_seconds": 0.5, "tuning_seconds": 0.5}
    facts = {"split": "random", "n_train": 700, "n_test": 150, "predict_seconds": 0.1}
    frame = pd.concat(found).reset_index().assign(**facts, **seconds)
    return frame.assign(rmse=frame.interval_score)


def test_the_competitor_is_the_best_by_its_mean_on_that_set_and_level():
    def moody(dataset, level, seed):
        return 1.0 if (dataset == "plastic") == (level == 0.95) else 3.0

    rows = rows_of({"strong": 1.0, "ngboost": 2.0, "gb_split": moody, "forest": 4.0})
    found = ratios(rows, "strong").set_index(["dataset", "level"])
    assert found.competitor["plastic", 0.95] == found.competitor["concrete", 0.9] == "gb_split"
    assert found.competitor["plastic", 0.9] == "ngboost"
    assert found.ratio["plastic", 0.9] == 0.5
    assert set(ratios(rows, "forest", ["forest", "ngboost"]).competitor) == {"ngboost"}


def test_a_ratio_has_the_corrected_test_and_a_positive_interval():
    noise = np.array([0.0, 0.1, 0.3, 0.2, 0.4])
    rows = rows_of({"strong": lambda d, v, seed: 1 + noise[seed], "forest": 2.0})
    one = ratios(rows, "strong", datasets=["plastic"]).iloc[0]
    logs = corrected_t(np.log((1 + noise) / 2), 150 / 700)
    assert one.p == pytest.approx(corrected_t(noise - 1, 150 / 700).p)
    assert np.log([one.low, one.high]) == pytest.approx(logs.mean + np.array([-1, 1]) * logs.half)
    assert one.ratio == pytest.approx(0.6) and one.verdict == "better" and one.n == 5
    rows = rows_of({"strong": 1.0, "forest": lambda d, v, seed: 2.0 + 20 * (seed == 4)})
    one = ratios(rows, "strong", datasets=["plastic"]).iloc[0]
    assert 0 < one.low < one.ratio < 1 < one.high and one.verdict == "undecided"


def test_methods_are_compared_on_the_seeds_that_both_have():
    slow = rows_of({"ngboost": 1.0}, seeds=range(2))
    rows = pd.concat([rows_of({"strong": lambda d, v, seed: 1.0 + (seed > 1)}), slow])
    found = ratios(rows, "strong")
    assert set(found.ratio) == {1.0} and set(found.n) == {2}
    with pytest.raises(ValueError, match="same seeds"):
        comparison.paired(rows, "strong", "ngboost", "rmse")


def test_a_data_set_has_the_geometric_mean_of_its_levels_and_the_worst_comes_first():
    rows = rows_of(
        {
            "strong": lambda dataset, level, seed: {"concrete": 1.0, "plastic": 8.0}[dataset],
            "forest": lambda dataset, level, seed: 2.0 if level == 0.9 else 8.0,
        }
    )
    found = by_dataset(ratios(rows, "strong"))
    assert list(found.index) == ["plastic", "concrete"]
    assert list(found) == pytest.approx([2.0, 0.25])


def test_data_sets_without_the_method_or_competitors_are_left_out():
    rows = [rows_of({"strong": 1.0}), rows_of({"forest": 2.0}, sets=["plastic", "airfoil"])]
    rows = pd.concat(rows)
    assert set(ratios(rows, "strong").dataset) == {"plastic"}
    for nothing in (ratios(rows, "forest", ["forest"]), ratios(rows, "head")):
        assert nothing.empty and by_dataset(nothing).empty


def test_the_mean_over_data_sets_is_geometric_with_a_t_interval_of_logarithms():
    values = np.array([0.5, 2.0, 1.0, 1.5])
    logs = corrected_t(np.log(values), 0.0)
    expected = np.exp(logs.mean + logs.half * np.array([0, -1, 1]))
    assert comparison.overall(values) == pytest.approx(expected)
    assert comparison.overall([0.9] * 16) == pytest.approx((0.9, 0.9, 0.9))
    assert comparison.overall([0.9])[0] == 0.9 and np.isnan(comparison.overall([0.9])[1:]).all()
    assert np.isnan(comparison.overall([])).all()


def test_a_summary_counts_data_sets_and_names_the_worst():
    found = comparison.summary(pd.Series({"airfoil": 1.5, "plastic": 0.8, "concrete": 0.5}))
    assert list(found[["n", "below", "worst", "where"]]) == [3, 2, 1.5, "airfoil"]
    assert found["median"] == 0.8 and found["mean"] == pytest.approx(0.6 ** (1 / 3))
    assert found.low < found["mean"] < found.high
    nothing = comparison.summary(pd.Series(dtype=float))
    assert nothing.n == nothing.below == 0 and np.isnan(nothing["mean"])


def test_costs_are_geometric_means_of_all_that_fitting_takes():
    rows = rows_of({"strong": 1.0, "catboost_cqr": 1.0})
    slow = (rows.method == "strong") & (rows.dataset == "plastic")
    rows.loc[slow, "tuning_seconds"] = 6.5  # 8 seconds in place of 2
    found = comparison.costs(rows)
    assert found.fit["strong"] == pytest.approx(4.0)
    assert found.fit_times["strong"] == pytest.approx(2.0)
    assert found.predict_times["strong"] == pytest.approx(1.0)


def test_pairs_are_by_seed_and_percent_of_the_second():
    rows = rows_of({"strong": lambda d, v, seed: 1.0 + seed, "head": lambda d, v, seed: 2.0 * seed})
    found = comparison.paired(rows, "strong", "head", "rmse").iloc[0]
    expected = corrected_t(1.0 - np.arange(5), 15 / 70)
    assert (found["mean"], found.half, found.p) == pytest.approx(tuple(expected))
    assert found.percent == pytest.approx(100 * -1 / 4)


# ----------------------------------------------------------------- coverage given the inputs

RNG = np.random.default_rng(0)
X_TRAIN, X = RNG.normal(size=(500, 3)) * [1, 5, 1], RNG.normal(size=(200, 3)) * [1, 5, 1]


def test_coverage_is_counted_bin_by_bin():
    y, lower = RNG.normal(size=100), RNG.normal(size=100)
    upper = lower + RNG.uniform(0, 3, size=100)
    labels = RNG.integers(8, 11, size=100)  # 10 comes after 9
    hit = covers(y, lower, upper)
    found = coverage_by(labels, y, lower, upper)
    assert list(found.index) == [8, 9, 10]
    for label, one in found.iterrows():
        rows = labels == label
        assert (one.n, one.covered) == (rows.sum(), hit[rows].sum())
        assert one.width == pytest.approx(np.mean(upper[rows] - lower[rows]))


def test_bins_hold_equal_shares_and_a_row_on_the_border_belongs_to_the_lower_one():
    width = RNG.permutation(100) + 1.0
    found = width_bins(np.zeros(100), width)
    for i in range(1, 5):
        assert width[found == i].max() < width[found == i + 1].min()
    for bins in (found, regions(X_TRAIN, X_TRAIN), rarity(X_TRAIN, X_TRAIN)):
        assert_array_equal(np.bincount(bins)[1:], len(bins) / 5)
    border = np.arange(11.0)  # the shares end at 2, 4, 6 and 8
    expected = [1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    assert_array_equal(width_bins(np.zeros(11), border), expected)
    assert_array_equal(regions(border[:, None], border[:, None]), expected)


def test_equal_widths_make_one_bin_in_spite_of_rounding():
    y_hat = RNG.normal(size=1000)
    lower, upper = y_hat - 0.1, y_hat + 0.1
    assert len(set(upper - lower)) > 1
    assert set(width_bins(lower, upper)) == {1}
    assert set(width_bins(y_hat, y_hat)) == {1}


def test_regions_follow_the_largest_spread_and_rarity_the_distance():
    found = regions(X_TRAIN, X)
    for i in range(1, 5):
        assert X[found == i, 1].mean() < X[found == i + 1, 1].mean() - 1
    far = np.array([[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 20.0, 0.0]])
    assert_array_equal(rarity(X_TRAIN, far), [1, 5, 5])
    flat = X_TRAIN * [1, 1, 0]  # a constant input does no harm
    assert set(rarity(flat, flat)) == {1, 2, 3, 4, 5}


def test_excess_risk_is_the_distance_of_coverage_from_its_level():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(2000, 2))
    even = rng.uniform(size=2000) < 0.9
    split = rng.uniform(size=2000) < np.where(X[:, 0] < 0, 1.0, 0.8)  # 0.9 on average
    assert abs(excess_risk(X, even, 0.9)) < 0.03
    assert excess_risk(X, split, 0.9) == pytest.approx(0.1, abs=0.03)
