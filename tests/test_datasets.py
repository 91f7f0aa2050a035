"""Facts about the four data sets, and how they are loaded."""

from __future__ import annotations

import gzip
import shutil
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from gt2lite import datasets
from gt2lite.datasets import DataError, Dataset, data_path, load_dataset

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
