"""Facts about scaling, and about data scaled and split for a training."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gt2lite.datasets import Scaler, load_dataset, prepare, split


def test_z_scores_have_mean_0_and_population_std_1():
    data = load_dataset("ww")
    scaler = Scaler.fit(data.X, data.y)
    X, y = scaler.transform_X(data.X), scaler.transform_y(data.y)
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-10)
    np.testing.assert_allclose(X.std(axis=0, ddof=0), 1)
    assert y.mean() == pytest.approx(0, abs=1e-10)
    assert y.std(ddof=0) == pytest.approx(1)


def test_scaler_by_hand():
    scaler = Scaler.fit([[0.0, 7.0], [4.0, 7.0]], [1.0, 3.0])
    assert scaler.x_mean.tolist() == [2, 7]
    assert scaler.x_std.tolist() == [2, 1]
    assert (scaler.y_mean, scaler.y_std) == (2, 1)
    assert scaler.transform_X([[6.0, 9.0]]).tolist() == [[2, 2]]


@pytest.mark.parametrize("value", [0.0, 0.1, 1 / 3, -2.7e8, 1e-300])
def test_a_constant_column_gets_std_exactly_1_and_becomes_exactly_0(value):
    column = np.full(1000, value)
    scaler = Scaler.fit(column[:, None], column)
    assert scaler.x_std.tolist() == [1]
    assert scaler.y_std == 1
    assert not scaler.transform_X(column[:, None]).any()
    assert not scaler.transform_y(column).any()


def test_rounding_does_give_a_constant_column_a_tiny_std():
    assert 0 < np.full(1000, 0.1).std() < 1e-15  # why constants are looked for by value


def test_a_column_that_varies_a_little_is_not_taken_for_a_constant():
    X = np.array([[1.0], [1.0 + 1e-9]])
    assert Scaler.fit(X, [0.0, 1.0]).x_std[0] == pytest.approx(5e-10, rel=1e-6)


def test_a_std_that_underflows_to_0_becomes_1():
    assert Scaler.fit([[1e-200], [2e-200]], [0.0, 1.0]).x_std.tolist() == [1]


@pytest.mark.parametrize("shape", [(), (3,), (3, 1), (2, 3, 4)])
def test_inverse_y_undoes_transform_y_in_any_shape(shape):
    scaler = Scaler.fit([[1.0], [2.0], [3.0]], [10.0, 20.0, 60.0])
    y = np.arange(np.prod(shape, dtype=int), dtype=float).reshape(shape)
    back = scaler.inverse_y(scaler.transform_y(y))
    assert np.shape(back) == shape
    np.testing.assert_allclose(back, y, atol=1e-12)


def test_scaler_names_what_does_not_fit():
    scaler = Scaler.fit([[1.0, 2.0], [3.0, 4.0]], [0.0, 1.0])
    with pytest.raises(ValueError, match="X must have 2 columns"):
        scaler.transform_X([[1.0, 2.0, 3.0]])
    with pytest.raises(ValueError, match="y must be a row of 2 values"):
        Scaler.fit([[1.0], [2.0]], [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="X contains NaN"):
        Scaler.fit([[1.0], [np.nan]], [1.0, 2.0])


# Preparing


@pytest.fixture(scope="module")
def wine():
    return load_dataset("ww")


def test_prepared_parts_are_the_scaled_rows_of_the_split(wine):
    done = prepare(wine, seed=4)
    rows = split(4898, seed=4)
    for X, y, part in (
        (done.X_train, done.y_train, rows.train),
        (done.X_cal, done.y_cal, rows.calibration),
        (done.X_test, done.y_test, rows.test),
    ):
        np.testing.assert_array_equal(X, done.scaler.transform_X(wine.X[part]))
        np.testing.assert_allclose(done.scaler.inverse_y(y), wine.y[part])
    np.testing.assert_array_equal(done.split.test, rows.test)


def test_scaling_sees_the_training_part_only(wine):
    rows = split(4898, seed=0)
    X, y = wine.X.copy(), wine.y.copy()
    unseen = np.concatenate([rows.calibration, rows.test])
    X[unseen], y[unseen] = 1e6, -1e6
    before, after = prepare(wine, 0), prepare(replace(wine, X=X, y=y), 0)
    np.testing.assert_array_equal(before.scaler.x_mean, after.scaler.x_mean)
    np.testing.assert_array_equal(before.scaler.x_std, after.scaler.x_std)
    assert (before.scaler.y_mean, before.scaler.y_std) == (after.scaler.y_mean, after.scaler.y_std)
    np.testing.assert_allclose(before.X_train.mean(axis=0), 0, atol=1e-10)
    np.testing.assert_allclose(before.X_train.std(axis=0), 1)


def test_authors_scaling_sees_every_row_and_keeps_the_split(wine):
    ours, theirs = prepare(wine, 0), prepare(wine, 0, scaling="authors")
    np.testing.assert_array_equal(theirs.scaler.x_mean, wine.X.mean(axis=0))
    assert theirs.scaler.y_mean == wine.y.mean()
    assert theirs.scaler.y_mean != ours.scaler.y_mean
    np.testing.assert_array_equal(theirs.split.train, ours.split.train)
    np.testing.assert_allclose(theirs.X_test, ours.X_test, atol=0.3)  # the leak is small


def test_the_constant_input_of_aids_becomes_zero():
    aids = load_dataset("aids")
    column = aids.feature_names.index("zprior")
    done = prepare(aids, 0)
    assert done.scaler.x_std[column] == 1
    assert not done.X_train[:, column].any()
    assert not done.X_test[:, column].any()


def test_by_group_keeps_patients_apart():
    data = load_dataset("pm")
    rows = prepare(data, 0, by_group=True).split
    assert not set(data.groups[rows.train]) & set(data.groups[rows.test])
    assert not set(data.groups[rows.train]) & set(data.groups[rows.calibration])
    assert not set(data.groups[rows.calibration]) & set(data.groups[rows.test])


def test_prepare_leaves_the_data_as_it_was(wine):
    X, y = wine.X.copy(), wine.y.copy()
    done = prepare(wine, 0)
    done.X_train[:] = 0
    np.testing.assert_array_equal(wine.X, X)
    np.testing.assert_array_equal(wine.y, y)


def test_prepare_names_what_it_does_not_know(wine):
    with pytest.raises(ValueError, match="scaling must be one of 'train', 'authors', got 'test'"):
        prepare(wine, 0, scaling="test")
    with pytest.raises(ValueError, match="by_group needs a data set with groups, and 'ww' has"):
        prepare(wine, 0, by_group=True)
