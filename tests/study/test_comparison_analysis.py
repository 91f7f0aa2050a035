"""Rules of the comparison at their edges: the competitor to beat, tests, costs, bins."""

import itertools
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from study import comparison
from study.comparison import by_dataset, overall, ratios
from study.comparison.conditional import rarity, regions, width_bins
from study.comparison.steadiness import RESTRICTED, compare_here, processor
from study.statistics import corrected_t


def rows_of(by_name, *, sets=("concrete", "plastic"), seeds=range(5)):
    """Rows with scores by method, numbers or functions of data set, level and seed."""
    facts = {"split": "random", "n_train": 700, "n_test": 150, "predict_seconds": 0.1}
    facts |= {"first_seconds": 1.0, "further_seconds": 0.5, "tuning_seconds": 0.5}
    keys = ["method", "dataset", "level", "seed"]
    places = pd.MultiIndex.from_product([by_name, sets, (0.9, 0.95), seeds], names=keys)
    scores = [by_name[m](*at) if callable(by_name[m]) else by_name[m] for m, *at in places]
    frame = pd.DataFrame({"interval_score": scores, "rmse": scores}, places)
    return frame.reset_index().assign(**facts)


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


def test_one_seed_decides_nothing():
    one = ratios(rows_of({"strong": 1.0, "forest": 9.0}, seeds=[0]), "strong").iloc[0]
    assert one.p == 1 and one.verdict == "undecided" and np.isnan(one.low) and one.n == 1


def test_methods_are_compared_on_the_seeds_and_data_sets_that_both_have():
    slow = rows_of({"ngboost": 1.0}, seeds=range(2), sets=["plastic", "airfoil"])
    rows = pd.concat([rows_of({"strong": lambda d, v, seed: 1.0 + (seed > 1)}), slow])
    found = ratios(rows, "strong")
    assert set(found.dataset) == {"plastic"} and set(found.ratio) == {1.0} and set(found.n) == {2}
    with pytest.raises(ValueError, match="same seeds"):
        comparison.paired(rows, "strong", "ngboost", "rmse")
    for nothing in (ratios(rows, "strong", ["strong"]), ratios(rows, "head")):
        assert nothing.empty and by_dataset(nothing).empty


def test_levels_and_data_sets_are_averaged_geometrically_and_the_worst_comes_first():
    score = {"strong": lambda d, v, seed: {"concrete": 1.0, "plastic": 8.0}[d]}
    rows = rows_of(score | {"forest": lambda d, v, seed: 2.0 if v == 0.9 else 8.0})
    found = by_dataset(ratios(rows, "strong"))
    assert list(found.index) == ["plastic", "concrete"]
    assert list(found) == pytest.approx([2.0, 0.25])
    values = pd.Series({"airfoil": 1.5, "plastic": 0.8, "concrete": 0.5})
    draws = np.log(values.to_numpy())[np.array([*itertools.product(range(3), repeat=3)])]
    law = {"q": [0.025, 0.975], "method": "inverted_cdf"}
    ends = np.quantile(draws.mean(axis=1), **law)  # of all 27 samples
    assert overall(values) == pytest.approx(np.exp([np.log(values).mean(), *ends]), rel=1e-3)
    assert overall([0.9])[0] == 0.9 and np.isnan(overall([0.9])[1:]).all()
    facts = comparison.summary(values)
    assert list(facts[["n", "below", "worst", "where"]]) == [3, 2, 1.5, "airfoil"]
    assert facts["median"] == 0.8 and facts["mean"] == pytest.approx(0.6 ** (1 / 3))
    assert facts["lever"] == "airfoil" and facts["there"] == 1.5
    assert facts["rest"] == facts["least"] == pytest.approx(0.4**0.5)
    assert facts["most"] == pytest.approx(1.2**0.5)
    assert comparison.leverage(facts).startswith("without its most influential data set, airfoil")
    moved = facts.to_dict() | {"rest": 1.02}  # the other side of 1
    assert comparison.leverage(moved) == "it rests on airfoil (1.50), without which it is 1.02"
    nothing = comparison.summary(values[:0])
    assert nothing.n == nothing.below == 0 and np.isnan(nothing["mean"])


def test_costs_are_geometric_means_of_all_that_fitting_takes():
    rows = rows_of({"strong": 1.0, "catboost_cqr": 1.0})
    slow = (rows.method == "strong") & (rows.dataset == "plastic")
    rows.loc[slow, "tuning_seconds"] = 6.5  # 8 seconds in place of 2
    found = comparison.costs(rows).loc["strong"]
    assert list(found[["fit", "fit_times", "predict_times"]]) == pytest.approx([4.0, 2.0, 1.0])


def test_other_processors_are_compared_with_the_same_competitor_and_seed():
    rows = rows_of({"strong": 9.0, "forest": lambda d, v, seed: 2.0 if seed else 1.0})
    runs = rows_of({"strong": 1.0}, seeds=[0])
    moved = runs.interval_score.where(runs.dataset == "plastic", 1.1)
    runs = pd.concat(
        [runs.assign(processor="AVX2"), runs.assign(processor="SSE", interval_score=moved)]
    )
    found = comparison.elsewhere(rows, runs, "strong")
    assert found["mean"].tolist() == pytest.approx([1.0, 1.1**0.5])
    assert found["where"]["SSE"] == "concrete"
    spread = comparison.spread(runs).loc["strong"]
    assert spread["range"].to_dict() == pytest.approx({"concrete": 100 / 10.5, "plastic": 0.0})
    assert spread.sd["concrete"] == pytest.approx(100 * 0.05 * 2**0.5 / 1.05)


def test_another_processor_may_differ_by_what_the_stored_ones_differ():
    keys = {"dataset": "aids", "seed": 0, "method": "head", "level": 0.9}
    runs = [{"processor": p, **keys, "rmse": 1.0, "picp": 0.9} for p in ("AVX2", "SSE")]
    stored = pd.DataFrame(runs).assign(interval_score=[1.0, 1.1])
    far = stored.assign(dataset="ww", interval_score=[1.0, 9.0])
    stored = pd.concat([stored, far], ignore_index=True)
    for name, score, beyond in [("AVX2", 1.05, 0), ("AVX2", 1.2, 1), ("SVE", 1.05, 0)]:
        row = pd.DataFrame([keys | {"rmse": 1.0, "picp": 0.9, "processor": name}])
        found = compare_here(row.assign(interval_score=score), stored)
        assert found.n.tolist() == [1, 1, 1] and found.beyond.sum() == beyond


def test_older_instructions_round_differently():
    words = [sys.executable, "-c", "from study.comparison.steadiness import *; print(processor())"]
    for name, variables in RESTRICTED.items():
        done = subprocess.run(words, env=os.environ | variables, capture_output=True, text=True)
        assert done.stdout.strip() == name or "AVX" not in processor(), done.stderr


# ----------------------------------------------------------------- coverage given the inputs

RNG = np.random.default_rng(0)
X_TRAIN, X = RNG.normal(size=(500, 3)) * [1, 5, 1], RNG.normal(size=(200, 3)) * [1, 5, 1]


def test_bins_hold_equal_shares_and_a_row_on_the_border_belongs_to_the_lower_one():
    for bins in (regions(X_TRAIN, X_TRAIN), rarity(X_TRAIN, X_TRAIN)):
        assert_array_equal(np.bincount(bins)[1:], len(bins) / 5)
    border = np.arange(11.0)  # the shares end at 2, 4, 6 and 8
    expected = [1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    assert_array_equal(width_bins(np.zeros(11), border), expected)
    assert_array_equal(regions(border[:, None], border[:, None]), expected)
    lower, upper = X[:, 0] - 0.1, X[:, 0] + 0.1  # equal but for rounding
    assert len(set(upper - lower)) > 1
    assert set(width_bins(lower, upper)) == set(width_bins(upper, upper)) == {1}


def test_regions_follow_the_largest_spread_and_rarity_the_distance():
    found = regions(X_TRAIN, X)
    for i in range(1, 5):
        assert X[found == i, 1].mean() < X[found == i + 1, 1].mean() - 1
    far = np.array([[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 20.0, 0.0]])
    assert_array_equal(rarity(X_TRAIN, far), [1, 5, 5])
    flat = X_TRAIN * [1, 1, 0]  # a constant input does no harm
    assert set(rarity(flat, flat)) == {1, 2, 3, 4, 5}


def test_the_rows_against_each_competitor_end_with_the_best_of_all():
    rows = rows_of({"strong": 1.0, "ngboost": 2.0, "forest": 4.0})
    found = comparison.against_each(rows, "strong", ["forest", "ngboost"])
    assert list(found.index) == ["ngboost", "forest", "hindsight"]
    assert list(found["mean"]) == list(found.rmse) == pytest.approx([0.5, 0.25, 0.5])


def test_uses_of_data_sets_are_summarised_apart():
    rows = rows_of({"strong": lambda d, v, seed: 1.0 + (d == "plastic"), "forest": 1.0})
    found = comparison.by_use(rows, "strong")
    use = {name: comparison.use_of(name) for name in ("concrete", "plastic")}
    assert found.n["all"] == 2 and found["mean"]["all"] == pytest.approx(2**0.5)
    assert found.n[use["concrete"]] == (1 if use["concrete"] != use["plastic"] else 2)


def test_factors_multiply_to_the_ratio_of_method_and_boosted_mean():
    scores = {"gb_split": 4.0, "strong_constant": 3.0, "strong_normalised": 2.0, "strong": 1.0}
    found = comparison.factors(rows_of(scores), "strong")
    assert_array_equal(found.loc["plastic"].round(6), np.round([3 / 4, 2 / 3, 1 / 2], 6))
    assert found.prod(axis=1)["concrete"] == pytest.approx(1 / 4)


def test_a_goal_is_met_at_its_limit_and_missed_beyond_it():
    scores = {"strong": 0.9, "best": 0.9, "head": 0.9, "catboost_cqr": 1.0, "gb_split": 1.0}
    rows = rows_of(scores, sets=("concrete", "plastic", "ww"))
    runs = rows_of({"strong": lambda d, v, seed: 1.0 + seed / 100}, seeds=range(2))
    runs = runs.assign(n_train=runs.dataset.map({"concrete": 349, "plastic": 350}))
    found = comparison.goals(rows, runs).set_index("what")
    assert found.found["score against each single competitor"] == pytest.approx(0.9)
    assert found.met["worst data set against the best of all"]
    worse = rows.assign(interval_score=rows.interval_score.replace(0.9, 2.0))
    assert not comparison.goals(worse, runs).met.iloc[:3].any()
    assert comparison.is_small(runs).to_dict() == {"concrete": True, "plastic": False}


def test_words_follow_the_interval_and_the_seeds():
    assert "contains 1" in comparison.verdict({"low": 0.9, "high": 1.1})
    assert "better" in comparison.verdict({"low": 0.8, "high": 0.9})
    rows = rows_of({"strong": 1.0, "forest": 2.0}, seeds=range(3))
    assert comparison.seeds_in_words(rows) == "3 seeds on every data set"
