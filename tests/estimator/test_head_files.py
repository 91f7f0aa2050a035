"""A head in a file: what comes back, and which bases and files are refused."""

import json

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not installed (extra `sklearn`)")

from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gt2lite import GT2Regressor, IntervalHead
from gt2lite import model_file as files
from gt2lite.head import SeenRowsWarning
from gt2lite.model_file import FileFormatError

SMALL = GT2Regressor(n_rules=3, epochs=5, learning_rate=0.02)


@pytest.fixture(scope="module")
def saved(data, tmp_path_factory):
    X, y = data
    path = tmp_path_factory.mktemp("head") / "head.npz"
    base = make_pipeline(StandardScaler(), KNeighborsRegressor(4))
    head = IntervalHead(base, SMALL, cv=3, random_state=5).fit(X[:500], y[:500])
    head.calibrate(X[500:700], y[500:700]).save(path)
    return head, path


def test_it_comes_back_the_same(data, saved):
    X, y = data
    head, path = saved
    again = IntervalHead.load(path, base=head.base_)
    np.testing.assert_array_equal(again.predict(X), head.predict(X))
    np.testing.assert_array_equal(
        again.predict_interval(X, [0.5, 0.9]), head.predict_interval(X, [0.5, 0.9])
    )
    for name in ("rmse_", "corrects_", "out_of_fold_", "n_features_in_", "cv", "random_state"):
        assert getattr(again, name) == getattr(head, name)
    assert again.system.get_params() == head.head_.get_params()
    with pytest.warns(SeenRowsWarning, match="100 of 200"):
        again.calibrate(X[400:600], y[400:600])
    again.save(path.with_name("again.npz"))


def test_a_loaded_head_is_recalibrated_without_training(data, saved):
    X, y = data
    head, path = saved
    again = IntervalHead.load(path, head.base_).calibrate(X[600:], y[600:])
    np.testing.assert_array_equal(again.predict(X), head.predict(X))
    assert again.calibrator_.n_samples == 300


def test_a_frozen_base_and_the_same_model_are_one(saved):
    head, path = saved
    IntervalHead.load(path, FrozenEstimator(head.base_))


def test_a_named_base_is_asked_by_names(data, tmp_path):
    pd = pytest.importorskip("pandas")
    X, y = data
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    head = IntervalHead(Ridge(), SMALL).fit_calibrate(frame, y)
    head.save(tmp_path / "head.npz")
    again = IntervalHead.load(tmp_path / "head.npz", head.base_)
    assert list(again.feature_names_in_) == ["a", "b", "c"]
    np.testing.assert_array_equal(again.predict_interval(frame), head.predict_interval(frame))


@pytest.mark.parametrize(
    ("base", "rows", "words"),
    [
        (LinearRegression(), 500, "it is a .*LinearRegression, and was a .*Pipeline; it predicts"),
        (make_pipeline(StandardScaler(), KNeighborsRegressor(7)), 500,
         "kneighborsregressor__n_neighbors is 7, and was 4; it predicts otherwise for"),
        (make_pipeline(StandardScaler(), KNeighborsRegressor(4)), 490,
         r"on another base than this one: it predicts otherwise for \d+ of 32 .*other rows"),
        (make_pipeline(Ridge()), 500, "it predicts otherwise for 32"),
    ],
)  # fmt: skip
def test_another_base_is_refused_with_what_differs(data, saved, base, rows, words):
    X, y = data
    with pytest.raises(ValueError, match=words):
        IntervalHead.load(saved[1], base.fit(X[:rows], y[:rows]))


def test_settings_that_change_no_prediction_do_not_count(data, saved):
    X, y = data
    base = make_pipeline(StandardScaler(), KNeighborsRegressor(4, n_jobs=1), verbose=False)
    IntervalHead.load(saved[1], base.fit(X[:500], y[:500]))


def test_a_base_that_is_none_is_named(saved):
    with pytest.raises(TypeError, match="base must be a regressor"):
        IntervalHead.load(saved[1], None)


def test_no_training_row_is_in_the_file(data, saved):
    X, _ = data
    header, arrays = files.read(saved[1], "head")
    rows = {row.tobytes() for row in X}
    for array in arrays.values():
        if array.ndim == 2 and array.shape[1] == 3:
            assert not rows & {row.tobytes() for row in array}
    assert "KNeighborsRegressor" in json.dumps(header["base"])


def test_files_of_other_kinds_are_refused(saved, tmp_path):
    head, path = saved
    head.head_.save(tmp_path / "model.npz")
    with pytest.raises(FileFormatError, match="not a gt2lite head"):
        IntervalHead.load(tmp_path / "model.npz", head.base_)
    with pytest.raises(FileFormatError, match="not a gt2lite model"):
        GT2Regressor.load(path)


@pytest.mark.parametrize(
    "change",
    [
        lambda header, arrays: header.pop("facts"),
        lambda header, arrays: header.update(facts={"corrects": 1}),
        lambda header, arrays: header.update(rmse={"base": 1.0}),
        lambda header, arrays: header.update(cv=0),
        lambda header, arrays: header.update(random_state=-1),
        lambda header, arrays: header.update(base={"class": 3, "settings": {}}),
        lambda header, arrays: header.update(more=1),
        lambda header, arrays: header.update(head={}),
        lambda header, arrays: arrays.pop("marks"),
        lambda header, arrays: arrays.update(more=np.zeros(2)),
        lambda header, arrays: arrays.update(probes=np.zeros((3, 9))),
        lambda header, arrays: arrays.update(probed=np.zeros(3)),
    ],
)
def test_what_does_not_fit_together_is_refused(saved, tmp_path, change):
    head, path = saved
    header, arrays = files.read(path, "head")
    header = {name: v for name, v in header.items() if name not in files.OWN_KEYS}
    change(header, arrays)
    files.write(tmp_path / "odd.npz", "head", header, arrays)
    with pytest.raises(FileFormatError, match="is damaged"):
        IntervalHead.load(tmp_path / "odd.npz", head.base_)
