"""Facts about `GT2Regressor.fit_calibrate`: one table, an honest split, and what is told of it."""

import warnings

import numpy as np
import pytest

from gt2lite import GT2Regressor
from gt2lite.splits import draw_split

FAST = {"n_rules": 3, "epochs": 5, "learning_rate": 0.02}
SMALL = "ignore::gt2lite.calibration.SmallCalibrationWarning"


def test_it_is_fit_on_the_one_part_and_calibrate_on_the_other(data):
    X, y = data
    reg = GT2Regressor(**FAST, random_state=3).fit_calibrate(X, y)
    rows = reg.calibration_rows_
    rest = np.setdiff1d(np.arange(900), rows)
    by_hand = GT2Regressor(**FAST, random_state=3).fit(X[rest], y[rest])
    by_hand.calibrate(X[rows], y[rows])
    np.testing.assert_array_equal(reg.predict_interval(X), by_hand.predict_interval(X))
    np.testing.assert_array_equal(reg.scaler_.x_mean, by_hand.scaler_.x_mean)
    assert reg.calibrator_.method == "conformal" and reg.calibrator_.n_samples == 225


def test_targets_of_calibration_rows_never_reach_training(data):
    X, y = data
    reg = GT2Regressor(**FAST).fit_calibrate(X, y)
    other = y.copy()
    other[reg.calibration_rows_] += 1e6
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again = GT2Regressor(**FAST).fit_calibrate(X, other)
    np.testing.assert_array_equal(again.predict(X), reg.predict(X))
    assert (again.predict_interval(X)[1] > reg.predict_interval(X)[1] + 1e5).all()


def test_the_split_is_told(data):
    reg = GT2Regressor(**FAST, random_state=7).fit_calibrate(*data, share=0.4)
    assert reg.calibration_rows_.size == 360
    assert (np.diff(reg.calibration_rows_) > 0).all()
    assert reg.split_ == (
        "900 rows: 540 to train on, 360 to calibrate on (share=0.4, random_state=7)"
    )


def test_the_split_goes_by_the_seed_and_not_by_the_order_of_rows(data):
    first, again, other = (draw_split(900, 0.25, seed).calibrated for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    assert 350 < first.mean() < 550  # from everywhere
    assert not np.array_equal(*(draw_split(900, 0.25, None).calibrated for _ in range(2)))
    generators = (np.random.default_rng(5), np.random.RandomState(5))
    for generator in generators:
        drawn = [draw_split(900, 0.25, generator).calibrated for _ in range(2)]
        assert not np.array_equal(*drawn)


def test_parts_are_disjoint_and_make_up_the_whole():
    split = draw_split(101, 0.3, 0)
    np.testing.assert_array_equal(
        np.sort(np.concatenate([split.trained, split.calibrated])), np.arange(101)
    )


def test_each_group_gives_its_share_and_is_calibrated_on_its_own(data):
    X, y = data
    groups = np.array(["rare"] * 100 + ["common"] * 800)
    with pytest.warns(UserWarning, match="fewer than 100"):
        reg = GT2Regressor(**FAST).fit_calibrate(X, y, groups=groups, share=0.5)
    assert reg.calibrator_.sizes == {"common": 400, "rare": 50}
    assert (groups[reg.calibration_rows_] == "rare").sum() == 50
    assert "from each of 2 groups" in reg.split_
    rows = reg.calibration_rows_
    lower, upper = reg.predict_interval(X[rows], groups=groups[rows])
    inside = (lower <= y[rows]) & (y[rows] <= upper)
    for name in ("rare", "common"):
        assert inside[groups[rows] == name].mean() >= 0.9


@pytest.mark.filterwarnings(SMALL)
def test_small_groups_may_be_pooled_and_each_is_known(data):
    X, y = data
    groups = [0] * 880 + [1] * 17 + [2, 2, 3]
    with pytest.raises(ValueError, match="group 1 has 17 rows"):
        GT2Regressor(**FAST).fit_calibrate(X, y, groups=groups)
    reg = GT2Regressor(**FAST).fit_calibrate(X, y, groups=groups, small_groups="pool")
    assert reg.calibrator_.sizes == {0: 220, 1: 4, 2: 1, 3: 1}
    reg.predict_interval(X, groups=groups)


@pytest.mark.parametrize("method", ["search", "table", "exact"])
def test_other_methods_and_options_are_had_by_name(data, method):
    options = {"step": 0.25} if method == "table" else {}
    reg = GT2Regressor(**FAST).fit_calibrate(*data, method=method, **options)
    assert reg.calibrator_.method == method


def test_sides_need_more_rows(data):
    X, y = data
    with pytest.raises(ValueError, match="at least 19 are needed"):
        GT2Regressor(**FAST).fit_calibrate(X[:60], y[:60], sides="each")


@pytest.mark.parametrize(
    ("n", "share", "words"),
    [
        (20, 0.25, r"there are 20 rows, of which share=0\.25 leaves 5 .* at least 36 rows"),
        (30, 0.1, r"leaves 3 .*at least 90 rows, a share of 0\.3"),
        (15, 0.7, r"leaves 5 to train on, and at least 10 .* smaller share"),
    ],
)
def test_too_few_rows_are_told_with_a_way_out(data, n, share, words):
    X, y = data
    with pytest.raises(ValueError, match=words):
        GT2Regressor(**FAST).fit_calibrate(X[:n], y[:n], share=share)


@pytest.mark.filterwarnings(SMALL)
@pytest.mark.parametrize(("n", "share"), [(36, 0.25), (30, 0.3), (19, 0.474)])
def test_what_the_error_says_is_enough_is_enough(data, n, share):
    X, y = data
    reg = GT2Regressor(**FAST).fit_calibrate(X[:n], y[:n], share=share)
    assert np.isfinite(reg.predict_interval(X)).all()


@pytest.mark.parametrize("share", [0, 1, -0.1, 1.5, "a quarter", None, float("nan")])
def test_a_share_that_is_none_is_named(data, share):
    with pytest.raises(ValueError, match="share must be"):
        GT2Regressor(**FAST).fit_calibrate(*data, share=share)


@pytest.mark.parametrize(
    ("bad", "named"),
    [
        ({"method": "magic"}, "method must be one of"),
        ({"sides": "left"}, "sides must be one of"),
        ({"groups": ["a"]}, "row of 900 labels"),
        ({"groups": ["a"] * 900, "method": "search"}, "groups can be had"),
        ({"speed": 3}, "speed"),
    ],
)
def test_what_is_wrong_is_told_before_training(data, bad, named, monkeypatch):
    def train(*args, **options):
        raise AssertionError("it was trained")

    monkeypatch.setattr("gt2lite.selection.train", train)
    with pytest.raises((TypeError, ValueError), match=named):
        GT2Regressor(**FAST).fit_calibrate(*data, **bad)


@pytest.mark.parametrize("after", ["fit", "calibrate"])
def test_what_was_told_of_a_split_is_forgotten_when_it_is_outdated(data, after):
    reg = GT2Regressor(**FAST).fit_calibrate(*data)
    getattr(reg, after)(*data)
    assert not hasattr(reg, "calibration_rows_") and not hasattr(reg, "split_")


def test_frames_keep_their_names(data):
    pd = pytest.importorskip("pandas")
    X, y = data
    frame = pd.DataFrame(X, columns=["a", "b", "c"], index=np.arange(900)[::-1])
    reg = GT2Regressor(**FAST).fit_calibrate(frame, pd.Series(y, index=frame.index))
    assert list(reg.feature_names_in_) == ["a", "b", "c"]
    plain = GT2Regressor(**FAST).fit_calibrate(X, y)
    np.testing.assert_array_equal(reg.predict_interval(frame), plain.predict_interval(X))
