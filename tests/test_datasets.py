"""Facts about the four data sets, their scaling and their splits."""

from __future__ import annotations

import gzip
import shutil
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

from gt2lite import datasets
from gt2lite.datasets import DataError, Dataset, Scaler, data_path, load_dataset, prepare, split

NAMES = ("ww", "pm", "aids", "pp")


@pytest.fixture
def data_copy(tmp_path, monkeypatch):
    """A data folder of its own, holding a good copy of ww, that the loader reads."""
    shutil.copy(data_path("ww.csv.gz"), tmp_path)
    monkeypatch.setattr(datasets, "data_path", tmp_path.joinpath)
    return tmp_path / "ww.csv.gz"


def surplus_rows(data: Dataset) -> int:
    rows = np.column_stack([data.X, data.y])
    return len(rows) - len(np.unique(rows, axis=0))


# The tables


@pytest.mark.parametrize(
    ("name", "shape", "target", "mean"),
    [
        ("ww", (4898, 11), "quality", 5.877909),
        ("pm", (5875, 19), "motor_UPDRS", 21.296229),
        ("aids", (2139, 23), "cid", 0.243572),
        ("pp", (9568, 4), "PE", 454.365009),
    ],
)
def test_shape_and_target(name, shape, target, mean):
    data = load_dataset(name)
    assert data.name == name
    assert data.X.shape == shape
    assert data.y.shape == shape[:1]
    assert data.target_name == target
    assert data.y.mean() == pytest.approx(mean, abs=5e-7)


@pytest.mark.parametrize("name", NAMES)
def test_every_table_is_finite_named_and_attributed(name):
    data = load_dataset(name)
    assert data.X.dtype == data.y.dtype == np.float64
    assert np.isfinite(data.X).all()
    assert np.isfinite(data.y).all()
    assert len(set(data.feature_names)) == data.X.shape[1]
    assert data.target_name not in data.feature_names
    assert data.licence == "CC BY 4.0"
    assert "UCI" in data.source
    assert data.title


def test_first_and_last_rows_stand_where_the_authors_put_them():
    wine, plant = load_dataset("ww"), load_dataset("pp")
    first = [7, 0.27, 0.36, 20.7, 0.045, 45, 170, 1.001, 3, 0.45, 8.8]
    last = [6, 0.21, 0.38, 0.8, 0.02, 22, 98, 0.98941, 3.26, 0.32, 11.8]
    assert wine.X[[0, -1]].tolist() == [first, last]
    assert plant.X[0].tolist() == [14.96, 41.76, 1024.07, 73.17]
    assert plant.y[0] == 463.26


def test_wine_quality_takes_seven_values():
    assert np.unique(load_dataset("ww").y).tolist() == [3, 4, 5, 6, 7, 8, 9]


def test_cid_is_zero_or_one_with_521_ones():
    y = load_dataset("aids").y
    assert np.unique(y).tolist() == [0, 1]
    assert y.sum() == 521


def test_zprior_is_the_one_constant_input():
    for name in NAMES:
        data = load_dataset(name)
        constant = np.ptp(data.X, axis=0) == 0
        names = [n for n, c in zip(data.feature_names, constant, strict=True) if c]
        assert names == (["zprior"] if name == "aids" else [])


def test_aids_inputs_in_documented_order():
    expected = (
        "time trt age wtkg hemo homo drugs karnof oprior z30 zprior preanti race gender str2 "
        "strat symptom treat offtrt cd40 cd420 cd80 cd820"
    )
    assert load_dataset("aids").feature_names == tuple(expected.split())


def test_parkinson_has_42_patients_who_are_a_label_and_not_an_input():
    data = load_dataset("pm")
    assert np.unique(data.groups).tolist() == list(range(1, 43))
    assert data.groups.shape == data.y.shape
    assert data.groups.dtype == np.int64
    assert data.feature_names[:4] == ("age", "sex", "test_time", "Jitter(%)")
    assert data.feature_names[-1] == "PPE"
    assert not {"subject", "subject#", "total_UPDRS"} & set(data.feature_names)


def test_only_parkinson_has_groups():
    assert [name for name in NAMES if load_dataset(name).groups is not None] == ["pm"]


@pytest.mark.parametrize(("name", "count"), [("ww", 937), ("pp", 41), ("pm", 0), ("aids", 0)])
def test_rows_that_repeat_an_earlier_one(name, count):
    assert surplus_rows(load_dataset(name)) == count


# Loading


def test_loading_twice_gives_independent_arrays():
    one, two = load_dataset("pm"), load_dataset("pm")
    kept = two.X.copy(), two.y.copy(), two.groups.copy()
    one.X[:], one.y[:], one.groups[:] = -1, -1, -1
    for array, copy in zip((two.X, two.y, two.groups), kept, strict=True):
        np.testing.assert_array_equal(array, copy)
    assert not np.shares_memory(one.X, one.y)


def test_a_dataset_is_frozen():
    with pytest.raises(FrozenInstanceError):
        load_dataset("aids").name = "other"


@pytest.mark.parametrize("name", ["wine", "WW", "", None, 3, "../data/ww"])
def test_an_unknown_name_is_told_the_known_ones(name):
    with pytest.raises(ValueError, match="'ww', 'pm', 'aids', 'pp', got"):
        load_dataset(name)


def test_a_good_copy_loads(data_copy):
    assert load_dataset("ww").X.shape == (4898, 11)


def test_one_changed_digit_is_found(data_copy):
    content = gzip.decompress(data_copy.read_bytes())
    data_copy.write_bytes(gzip.compress(content.replace(b"0.27", b"0.28", 1)))
    with pytest.raises(DataError, match=r"ww\.csv\.gz has SHA-256 .* should be .*extract\.py"):
        load_dataset("ww")


def test_a_truncated_file_is_found(data_copy):
    packed = data_copy.read_bytes()
    for size in (0, 5, 100, len(packed) // 2, len(packed) - 1):
        data_copy.write_bytes(packed[:size])
        with pytest.raises(DataError, match=r"ww\.csv\.gz .*: remake it"):
            load_dataset("ww")


def test_a_flipped_byte_anywhere_in_the_packed_data_is_found(data_copy):
    packed = data_copy.read_bytes()
    for at in (10, 1000, len(packed) // 2, len(packed) - 6):  # after the 10 bytes of header
        data_copy.write_bytes(packed[:at] + bytes([packed[at] ^ 0xFF]) + packed[at + 1 :])
        with pytest.raises(DataError, match=r"ww\.csv\.gz"):
            load_dataset("ww")


def test_a_file_that_is_not_gzip_is_found(data_copy):
    data_copy.write_text("fixed acidity,quality\n7,6\n")
    with pytest.raises(DataError, match=r"ww\.csv\.gz cannot be read \(Not a gzipped file"):
        load_dataset("ww")


def test_a_missing_file_is_found(data_copy):
    data_copy.unlink()
    with pytest.raises(DataError, match=r"ww\.csv\.gz is missing: .*extract\.py.*reinstall"):
        load_dataset("ww")


def test_data_lies_beside_the_package_in_a_checkout_and_inside_it_when_installed(
    tmp_path, monkeypatch
):
    package = tmp_path / "gt2lite"
    package.mkdir()
    monkeypatch.setattr(datasets, "__file__", str(package / "datasets.py"))
    assert data_path() == package / "data"  # neither exists: the installed place is named
    (tmp_path / "data").mkdir()
    assert data_path("ww.csv.gz") == tmp_path / "data" / "ww.csv.gz"
    (package / "data").mkdir()
    assert data_path("ww.csv.gz") == package / "data" / "ww.csv.gz"


# Scaling


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


# Splits


def sizes(parts):
    return len(parts.train), len(parts.calibration), len(parts.test)


def all_rows(parts):
    return np.concatenate([parts.train, parts.calibration, parts.test])


@pytest.mark.parametrize(
    ("n", "expected"),
    [
        (4898, (3429, 734, 735)),
        (5875, (4112, 882, 881)),
        (2139, (1497, 321, 321)),
        (9568, (6698, 1435, 1435)),
        (100, (70, 15, 15)),
        (6, (4, 1, 1)),
    ],
)
def test_train_and_test_are_rounded_and_calibration_is_the_rest(n, expected):
    assert sizes(split(n, seed=0)) == expected


@pytest.mark.parametrize("n", [*range(6, 60), 4898])
def test_parts_are_disjoint_cover_every_row_and_are_never_empty(n):
    parts = split(n, seed=3)
    assert sorted(all_rows(parts).tolist()) == list(range(n))
    assert min(sizes(parts)) >= 1


def test_a_seed_gives_the_same_split_again_and_another_seed_another():
    np.testing.assert_array_equal(all_rows(split(500, seed=1)), all_rows(split(500, seed=1)))
    assert set(split(500, seed=1).test) != set(split(500, seed=2).test)


@pytest.mark.parametrize("n", [-1, 0, 5, 10.0, True])
def test_too_few_rows_are_refused(n):
    with pytest.raises(ValueError, match="n must be a whole number of at least 6"):
        split(n, seed=0)


@pytest.mark.parametrize("seed", [None, -1, 0.5])
def test_a_seed_is_a_whole_number(seed):
    with pytest.raises(ValueError, match="seed must be a whole number"):
        split(100, seed=seed)


@pytest.mark.parametrize("seed", range(5))
def test_a_plain_split_puts_the_same_patients_on_both_sides(seed):
    groups = load_dataset("pm").groups
    parts = split(len(groups), seed)
    assert set(groups[parts.train]) == set(groups[parts.test]) == set(range(1, 43))


@pytest.mark.parametrize("seed", range(5))
def test_a_group_split_keeps_patients_apart_with_shares_within_half_a_patient(seed):
    groups = load_dataset("pm").groups
    parts = split(len(groups), seed, groups=groups)
    patients = [set(groups[rows]) for rows in (parts.train, parts.calibration, parts.test)]
    assert sum(map(len, patients)) == len(set.union(*patients)) == 42
    assert sorted(all_rows(parts).tolist()) == list(range(len(groups)))
    half = np.bincount(groups).max() / 2
    assert abs(len(parts.train) - 4112) <= half
    assert abs(len(parts.test) - 881) <= half


def test_a_group_split_is_reproducible_and_differs_by_seed():
    groups = np.repeat(np.arange(20), 5)
    tests = [split(100, seed, groups=groups).test.tolist() for seed in (0, 0, 1)]
    assert tests[0] == tests[1] != tests[2]


def test_a_group_split_does_not_favour_large_groups():
    groups = load_dataset("pm").groups
    drawn = np.zeros(43)
    for seed in range(300):
        drawn[np.unique(groups[split(len(groups), seed, groups=groups).test])] += 1
    large = np.bincount(groups)[1:] > 140
    assert drawn[1:][large].mean() == pytest.approx(drawn[1:][~large].mean(), rel=0.15)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ((15, 70, 15), (70, 15, 15)),
        ((1, 1, 98), (98, 1, 1)),
        ((40, 30, 30), (40, 30, 30)),
        ((10,) * 10, {(70, 10, 20), (70, 20, 10)}),
        ((1,) * 100, (70, 15, 15)),
    ],
)
def test_shares_come_as_near_as_whole_groups_allow(counts, expected, seed):
    groups = np.repeat(np.arange(len(counts)), counts)
    got = sizes(split(100, seed, groups=groups))
    assert got in (expected if isinstance(expected, set) else {expected})


def test_group_labels_may_be_text():
    parts = split(9, seed=0, groups=list("abcabcabc"))
    assert sizes(parts) == (3, 3, 3)


def test_group_labels_that_cannot_be_split_are_refused():
    with pytest.raises(ValueError, match="at least 3 different labels, got 2"):
        split(10, seed=0, groups=[0, 1] * 5)
    with pytest.raises(ValueError, match=r"groups must be a row of 10 labels, got shape \(9,\)"):
        split(10, seed=0, groups=np.arange(9))


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
