"""Data frames in and out of `GT2Regressor`, in one piece and in parts."""

import copy
import warnings

import numpy as np
import pytest

from gt2lite import GT2Regressor

pd = pytest.importorskip("pandas")

COLUMNS = ["a", "b"]


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    index = rng.permutation([f"row {i}" for i in range(400)])
    return pd.DataFrame(rng.normal(size=(400, 2)), columns=COLUMNS, index=index)


@pytest.fixture(scope="module")
def y(frame):
    return frame["a"] - frame["b"] ** 2


@pytest.fixture(scope="module")
def reg(frame, y):
    return GT2Regressor(n_rules=3, epochs=10, learning_rate=0.03).fit_calibrate(frame, y)


def test_a_frame_gives_the_bits_of_its_numbers_and_keeps_its_names(frame, y, reg):
    plain = GT2Regressor(n_rules=3, epochs=10, learning_rate=0.03)
    plain.fit_calibrate(frame.to_numpy(), y.to_numpy())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = reg.predict_interval(frame)
    np.testing.assert_array_equal(found, plain.predict_interval(frame.to_numpy()))
    assert list(reg.feature_names_in_) == COLUMNS
    again = copy.deepcopy(reg).calibrate(frame, y + 1)  # rows that were not trained on
    assert list(again.feature_names_in_) == COLUMNS
    assert not hasattr(again.fit(frame.to_numpy(), y), "feature_names_in_")


@pytest.mark.parametrize("method", ["fit", "predict", "predict_interval", "calibrate"])
def test_a_column_that_holds_other_things_than_numbers_is_named(frame, y, reg, method):
    bad = frame.astype({"b": object})
    bad.iloc[2, 1] = "high"
    with pytest.raises(ValueError, match=r"column 'b' must .*text .'high' in row 2"):
        getattr(reg, method)(bad, *(() if "predict" in method else (y,)))


def test_polars_frames_go_in_and_out(frame, y):
    pl = pytest.importorskip("polars")
    table = pl.DataFrame({name: frame[name].to_numpy() for name in COLUMNS})
    reg = GT2Regressor(n_rules=2, epochs=1).fit_calibrate(table, y)
    found = reg.predict_interval(table, as_frame=True)
    assert isinstance(found, pl.DataFrame) and found.columns == ["lower_90", "upper_90"]
    with pytest.raises(ValueError, match="column 'sex' must hold real numbers only"):
        reg.fit(table.with_columns(pl.lit("f").alias("sex")), y)


def test_intervals_have_the_index_and_a_column_for_each_bound_and_level(frame, reg):
    lower, upper = reg.predict_interval(frame, [0.5, 0.975])
    found = reg.predict_interval(frame, [0.5, 0.975], as_frame=True)
    assert list(found.columns) == ["lower_50", "upper_50", "lower_97.5", "upper_97.5"]
    assert found.index.equals(frame.index)
    np.testing.assert_array_equal(found[["lower_50", "lower_97.5"]], lower)
    np.testing.assert_array_equal(found[["upper_50", "upper_97.5"]], upper)


def test_levels_of_any_precision_are_what_they_are_called(frame, reg):
    single = np.array([0.3], np.float32)
    for odd, plain in [([0.1 + 0.2], 0.3), (single, 0.3), ([0.9000000001], 0.9)]:
        found = reg.predict_interval(frame, odd, as_frame=True)
        pd.testing.assert_frame_equal(found, reg.predict_interval(frame, plain, as_frame=True))
    with pytest.raises(ValueError, match=r"coverage.*twice"):
        reg.predict_interval(frame, [0.3, 0.1 + 0.2], as_frame=True)


def test_a_plane_and_arrays_give_frames_as_well(frame, reg):
    found = reg.predict_interval(frame, alpha=0.01, as_frame=True)
    assert list(found.columns) == ["lower", "upper"] and found.index.equals(frame.index)
    with pytest.warns(UserWarning, match="feature names"):
        assert list(reg.predict_interval(frame.to_numpy(), as_frame=True).index) == [*range(400)]


def test_a_report_of_several_levels_is_a_dict_or_a_frame(reg):
    found = reg.calibration_report([0.5, 0.9])
    assert found == {level: reg.calibration_report(level) for level in (0.5, 0.9)}
    frame = reg.calibration_report([0.5, 0.9], as_frame=True)
    assert list(frame["coverage"]) == [0.5, 0.9]
    assert list(frame["reached"]) == [found[0.5][0].reached, found[0.9][0].reached]
    assert (frame["lower_alpha"] == frame["upper_alpha"]).all()
    assert len(reg.calibration_report(0.9, as_frame=True)) == 1


def test_chunks_give_what_all_rows_give(frame, reg):
    parts = [frame[start : start + 137] for start in range(0, 400, 137)]
    found = pd.concat([reg.predict_interval(part, as_frame=True) for part in parts])
    whole = reg.predict_interval(frame, as_frame=True)
    pd.testing.assert_frame_equal(found, whole, rtol=0, atol=1e-9)
