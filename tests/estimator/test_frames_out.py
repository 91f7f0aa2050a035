"""Frames out on request: the index is kept, every end and level has a column."""

import numpy as np
import pytest

from gt2lite import GT2Regressor, IntervalHead

pd = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    index = rng.permutation([f"row {i}" for i in range(500)])
    return pd.DataFrame(rng.normal(size=(500, 2)), columns=["a", "b"], index=index)


@pytest.fixture(scope="module")
def reg(frame):
    y = frame["a"] + frame["b"] ** 2
    return GT2Regressor(n_rules=3, epochs=10, learning_rate=0.03).fit_calibrate(frame, y)


def test_ends_come_with_the_index_and_a_name(frame, reg):
    lower, upper = reg.predict_interval(frame, [0.5, 0.975])
    found = reg.predict_interval(frame, [0.5, 0.975], as_frame=True)
    assert list(found.columns) == ["lower_50", "upper_50", "lower_97.5", "upper_97.5"]
    assert found.index.equals(frame.index)
    np.testing.assert_array_equal(found[["lower_50", "lower_97.5"]], lower)
    np.testing.assert_array_equal(found[["upper_50", "upper_97.5"]], upper)
    row = frame.index[7]
    assert found.loc[row, "lower_50"] == pytest.approx(
        reg.predict_interval(frame.loc[[row]], 0.5)[0][0], rel=1e-12
    )


def test_one_level_and_a_plane_are_frames_as_well(frame, reg):
    assert list(reg.predict_interval(frame, as_frame=True).columns) == ["lower_90", "upper_90"]
    found = reg.predict_interval(frame, alpha=0.01, as_frame=True)
    assert list(found.columns) == ["lower", "upper"] and found.index.equals(frame.index)
    with pytest.warns(UserWarning, match="feature names"):
        plain = reg.predict_interval(frame.to_numpy(), as_frame=True)
    assert list(plain.index) == list(range(500))


def test_a_frame_of_another_kind_gives_one_of_its_kind(reg):
    pl = pytest.importorskip("polars")
    found = reg.predict_interval(pl.DataFrame({"a": [0.0], "b": [1.0]}), as_frame=True)
    assert isinstance(found, pl.DataFrame) and found.columns == ["lower_90", "upper_90"]


def test_a_report_of_several_levels(reg):
    found = reg.calibration_report([0.5, 0.9])
    assert found == {0.5: reg.calibration_report(0.5), 0.9: reg.calibration_report(0.9)}
    frame = reg.calibration_report([0.5, 0.9], as_frame=True)
    assert list(frame["coverage"]) == [0.5, 0.9]
    assert list(frame["reached"]) == [found[0.5][0].reached, found[0.9][0].reached]
    assert (frame["lower_alpha"] == frame["upper_alpha"]).all()
    assert len(reg.calibration_report(0.9, as_frame=True)) == 1


def test_a_head_gives_frames_and_one_end_as_well(frame):
    linear = pytest.importorskip("sklearn.linear_model")
    y = frame["a"] + frame["b"] ** 2
    system = GT2Regressor(n_rules=3, epochs=5, learning_rate=0.03)
    head = IntervalHead(linear.LinearRegression(), system).fit_calibrate(frame, y, sides="lower")
    found = head.predict_interval(frame, [0.5, 0.9], as_frame=True)
    assert list(found.columns) == ["lower_50", "upper_50", "lower_90", "upper_90"]
    assert found.index.equals(frame.index)
    assert (found["upper_90"] == np.inf).all() and np.isfinite(found["lower_90"]).all()
    assert (found["lower_90"] <= found["lower_50"]).all()
    assert list(head.calibration_report([0.5, 0.9])) == [0.5, 0.9]
