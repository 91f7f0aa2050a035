"""The four data sets, their scaling and their splits."""

from __future__ import annotations

import gzip
import shutil
from dataclasses import replace

import numpy as np
import pytest

from gt2lite import datasets
from gt2lite.datasets import (
    DATASETS,
    DataError,
    Scaler,
    data_path,
    load_dataset,
    prepare,
    split,
)

# ---------------------------------------------------------------------- tables


@pytest.mark.parametrize(
    ("name", "shape", "target", "mean", "repeated"),
    [
        ("ww", (4898, 11), "quality", 5.877909, 937),
        ("pm", (5875, 19), "motor_UPDRS", 21.296229, 0),
        ("aids", (2139, 23), "cid", 0.243572, 0),
        ("pp", (9568, 4), "PE", 454.365009, 41),
    ],
)
def test_every_table_is_what_it_should_be(name, shape, target, mean, repeated):
    data = load_dataset(name)
    assert (data.name, data.X.shape, data.y.shape) == (name, shape, shape[:1])
    assert data.target_name == target and target not in data.feature_names
    assert data.y.mean() == pytest.approx(mean, abs=5e-7)
    assert np.isfinite(data.X).all() and np.isfinite(data.y).all()
    assert len(set(data.feature_names)) == shape[1]
    assert data.licence == "CC BY 4.0" and "UCI" in data.source and data.title
    rows = np.column_stack([data.X, data.y])
    assert len(rows) - len(np.unique(rows, axis=0)) == repeated


def test_parkinson_has_42_patients_who_are_a_label_and_not_an_input():
    data = load_dataset("pm")
    assert np.unique(data.groups).tolist() == list(range(1, 43))
    assert not {"subject", "subject#", "total_UPDRS"} & set(data.feature_names)
    assert [name for name in DATASETS if load_dataset(name).groups is not None] == ["pm"]


# --------------------------------------------------------------------- loading


@pytest.fixture
def data_copy(tmp_path, monkeypatch):
    """A data folder of its own, holding a good copy of ww, that the loader reads."""
    shutil.copy(data_path("ww.csv.gz"), tmp_path)
    monkeypatch.setattr(datasets, "data_path", tmp_path.joinpath)
    return tmp_path / "ww.csv.gz"


@pytest.mark.parametrize(
    "damage",
    [
        lambda packed: gzip.compress(gzip.decompress(packed).replace(b"0.27", b"0.28", 1)),
        lambda packed: packed[:100],
        lambda packed: packed[:1000] + b"\x00\xff" + packed[1002:],
        lambda packed: b"fixed acidity,quality\n7,6\n",
    ],
)
def test_a_damaged_or_missing_file_is_found(data_copy, damage):
    assert load_dataset("ww").X.shape == (4898, 11)
    data_copy.write_bytes(damage(data_copy.read_bytes()))
    with pytest.raises(DataError, match=r"ww\.csv\.gz .*extract\.py"):
        load_dataset("ww")
    data_copy.unlink()
    with pytest.raises(DataError, match=r"ww\.csv\.gz is missing: .*extract\.py.*reinstall"):
        load_dataset("ww")
    with pytest.raises(ValueError, match="'ww', 'pm', 'aids', 'pp', got"):
        load_dataset("../data/ww")


# --------------------------------------------------------------------- scaling


@pytest.mark.parametrize("value", [0.0, 0.1, -2.7e8, 1e-310])
def test_a_constant_column_gets_std_exactly_1_and_becomes_exactly_0(value):
    column = np.full(1000, value)
    scaler = Scaler.fit(column[:, None], column)
    assert scaler.x_std.tolist() == [1] and scaler.y_std == 1
    assert not scaler.transform_X(column[:, None]).any()
    assert not scaler.transform_y(column).any()
    assert np.full(1000, 0.1).std() > 0  # rounding: hence constants are found by value
    varying = np.array([[1.0], [1.0 + 1e-9]])
    assert Scaler.fit(varying, [0.0, 1.0]).x_std[0] == pytest.approx(5e-10, rel=1e-6)


@pytest.mark.parametrize("shape", [(), (2, 3, 4)])
@pytest.mark.parametrize("transform", [None, "log"])
def test_inverse_y_undoes_transform_y_in_any_shape(transform, shape):
    scaler = Scaler.fit([[1.0], [2.0], [3.0]], [10.0, 20.0, 60.0], transform)
    y = 1.0 + np.arange(np.prod(shape, dtype=int)).reshape(shape)
    back = scaler.inverse_y(scaler.transform_y(y))
    assert np.shape(back) == shape
    np.testing.assert_allclose(back, y, rtol=1e-12)


def test_with_the_log_transform_a_scaler_learns_logarithms():
    X, y = np.arange(3.0)[:, None], np.array([1.0, 10.0, 100.0])
    scaler, plain = Scaler.fit(X, y, "log"), Scaler.fit(X, np.log(y))
    np.testing.assert_array_equal(scaler.transform_y(y), plain.transform_y(np.log(y)))
    assert scaler.without_transform().transform_y(2.0) == plain.transform_y(2.0)
    assert plain.without_transform() is plain
    assert (scaler.learned_name("y"), plain.learned_name("y")) == ("log(y)", "y")
    bounds = np.array([-np.inf, 0.0, np.inf])
    assert scaler.inverse_bounds(bounds)[[0, 2]].tolist() == [0.0, np.inf]
    assert plain.inverse_bounds(bounds)[[0, 2]].tolist() == [-np.inf, np.inf]
    with pytest.raises(ValueError, match=r"y must be above 0 .* got 0 in row 1"):
        Scaler.fit(X, [1.0, 0.0, 2.0], "log")
    far = scaler.inverse_bounds(np.array([0.0, 1e3, 1e100]))  # no row takes the others with it
    assert np.isfinite(far).all() and far[0] == scaler.inverse_y(0.0) and far[1] == far[2] > 1e308


def test_numbers_of_any_size_are_scaled_to_the_same_digits():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(150, 2)), rng.normal(size=150)
    plain = Scaler.fit(X, y)
    for power in (600, -600):
        odd = Scaler.fit(np.ldexp(X, power), np.ldexp(y, power))
        np.testing.assert_array_equal(odd.x_std, np.ldexp(plain.x_std, power))
        np.testing.assert_array_equal(odd.transform_X(np.ldexp(X, power)), plain.transform_X(X))
        assert odd.y_std == np.ldexp(plain.y_std, power)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda X, y: Scaler.fit(np.where(X.mean() < X, 1e308, X), y), "column 0 of X .*1e\\+308"),
        (lambda X, y: Scaler.fit(X, 1e308 * y), "y holds numbers beyond"),
        (lambda X, y: Scaler.fit(1e-310 * X, y), "column 0 of X varies by less"),
        (lambda X, y: Scaler.fit(X, y).transform_X(-1e200 * X), r"column 0 of X .*-1e\+200"),
        (lambda X, y: Scaler.fit(X, y).transform_y(1e200 * y), r"y holds -1e\+200"),
        (lambda X, y: Scaler.fit(X, 1e299 * y).inverse_y([1e20]), "y is so large"),
        (lambda X, y: Scaler.fit(X, y).transform_X(np.hstack([X, X])), "X must have 1 columns"),
        (lambda X, y: Scaler.fit(X, y[:1]), "y must"),
        (lambda X, y: Scaler.fit(X * np.nan, y), "X contains NaN"),
    ],
)
def test_numbers_too_large_or_too_close_to_compute_with_are_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call(np.array([[0.0], [1.0]]), np.array([-1.0, 1.0]))


# ---------------------------------------------------------------------- splits


def sizes(parts):
    return len(parts.train), len(parts.calibration), len(parts.test)


def all_rows(parts):
    return np.concatenate([parts.train, parts.calibration, parts.test])


def test_train_and_test_are_rounded_and_calibration_is_the_rest():
    for n, expected in ((4898, (3429, 734, 735)), (5875, (4112, 882, 881)), (6, (4, 1, 1))):
        parts, other = split(n, seed=0), split(n, seed=1)
        assert sizes(parts) == expected
        assert sorted(all_rows(parts).tolist()) == list(range(n))
        np.testing.assert_array_equal(all_rows(parts), all_rows(split(n, seed=0)))
        assert n == 6 or set(parts.test) != set(other.test)
    for wrong in ({"n": 5}, {"n": 10.0}, {"seed": None}, {"groups": np.arange(9)}):
        with pytest.raises(ValueError, match=f"{next(iter(wrong))} must"):
            split(**({"n": 10, "seed": 0} | wrong))


def test_a_group_split_keeps_patients_apart_with_shares_within_half_a_patient():
    groups = load_dataset("pm").groups
    plain, parts = split(len(groups), 0), split(len(groups), 0, groups=groups)
    assert set(groups[plain.train]) == set(groups[plain.test]) == set(range(1, 43))
    patients = [set(groups[rows]) for rows in (parts.train, parts.calibration, parts.test)]
    assert sum(map(len, patients)) == len(set.union(*patients)) == 42
    assert sorted(all_rows(parts).tolist()) == list(range(len(groups)))
    half = np.bincount(groups).max() / 2
    assert abs(len(parts.train) - 4112) <= half
    assert abs(len(parts.test) - 881) <= half


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ((1, 1, 98), {(98, 1, 1)}),
        ((40, 30, 30), {(40, 30, 30)}),
        ((10,) * 10, {(70, 10, 20), (70, 20, 10)}),
    ],
)
def test_shares_come_as_near_as_whole_groups_allow(counts, expected):
    labels = np.array([f"group {i}" for i in range(len(counts))])
    for seed in range(10):
        assert sizes(split(100, seed, groups=np.repeat(labels, counts))) in expected, seed


# --------------------------------------------------------------------- prepare


def test_prepared_parts_are_the_rows_of_the_split_scaled_by_the_training_set_only():
    wine, rows = load_dataset("ww"), split(4898, seed=4)
    unseen = np.concatenate([rows.calibration, rows.test])
    spoiled = replace(wine, X=wine.X.copy(), y=wine.y.copy())
    spoiled.X[unseen], spoiled.y[unseen] = 1e6, -1e6
    before, done = prepare(spoiled, seed=4).scaler, prepare(wine, seed=4)
    for name in ("x_mean", "x_std", "y_mean", "y_std"):
        np.testing.assert_array_equal(getattr(before, name), getattr(done.scaler, name))
    for X, y, part in (
        (done.X_train, done.y_train, rows.train),
        (done.X_cal, done.y_cal, rows.calibration),
        (done.X_test, done.y_test, rows.test),
    ):
        np.testing.assert_array_equal(X, done.scaler.transform_X(wine.X[part]))
        np.testing.assert_allclose(done.scaler.inverse_y(y), wine.y[part])
    theirs = prepare(wine, 4, scaling="authors")  # every row
    np.testing.assert_array_equal(theirs.scaler.x_mean, wine.X.mean(axis=0))
    np.testing.assert_array_equal(theirs.split.train, rows.train)
    with pytest.raises(ValueError, match="scaling must"):
        prepare(wine, 0, scaling="test")
    with pytest.raises(ValueError, match="by_group"):
        prepare(wine, 0, by_group=True)
