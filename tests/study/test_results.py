"""Stored results: exact rows with their provenance, and their comparison with a rerun."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest

from gt2lite.datasets import data_path
from study import results
from study.results import METRICS, bench, compare, load, provenance, save


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "data_path", lambda *parts: tmp_path.joinpath(*parts))
    return tmp_path / "results"


@pytest.fixture(scope="module")
def reference():
    return load("reference")


def test_rows_come_back_to_the_last_bit(folder):
    values = np.random.default_rng(0).normal(size=50) * 10.0 ** np.arange(-25, 25)
    frame = pd.DataFrame({"name": "a,b", "value": values, "none": np.nan})
    save("made_up", frame, command="here")
    pd.testing.assert_frame_equal(load("made_up"), frame, check_exact=True, check_dtype=False)
    assert [path.name for path in folder.iterdir() if path.name.startswith(".")] == []


def test_provenance_of_one_file_leaves_the_others(folder):
    for name in ("first", "second"):
        save(name, pd.DataFrame({"a": [1]}), command=name)
    assert provenance("first")["command"] == "first"


def test_an_unknown_name_is_refused():
    for function, error in {load: OSError, bench: OSError, provenance: KeyError}.items():
        with pytest.raises(error, match="nonsense"):
            function("nonsense")


def test_every_stored_file_has_its_provenance():
    stored = {path.stem for path in data_path("results").glob("*.csv")}
    known = json.loads(data_path("results", "provenance.json").read_text(encoding="utf-8"))
    assert stored == set(known)
    assert all({"commit", "date", "machine", "versions", "study"} <= set(f) for f in known.values())


def test_a_rerun_of_the_same_rows_is_equal(reference):
    found = compare(reference[reference.seed < 2], reference).set_index("metric")
    assert list(found.index) == list(METRICS)
    assert (found.equal == found.n).all() and (found.n == 200).all() and (found.largest == 0).all()


def test_one_changed_number_is_found(reference):
    new = reference[reference.seed == 0].copy()
    place = new.index[7]
    new.loc[place, "pinaw"] += 0.25
    found = compare(new, reference, {"pinaw": 0.1}).set_index("metric")
    assert found.beyond.to_dict() == {"rmse": 0, "picp": 0, "pinaw": 1, "interval_score": 0}
    assert math.isclose(found.loc["pinaw", "largest"], 0.25)
    assert str(new.loc[place, "method"]) in found.loc["pinaw", "where"]


def test_a_number_that_became_nan_is_beyond_every_tolerance(reference):
    new = reference[reference.seed == 0].copy()
    new.loc[new.index[0], "rmse"] = np.nan
    assert compare(new, reference, {"rmse": 1e9}).set_index("metric").loc["rmse", "beyond"] == 1


def test_rows_without_a_counterpart_are_left_out(reference):
    new = reference[reference.seed == 0].assign(seed=999)
    assert compare(new, reference).n.eq(0).all()


def test_the_tolerance_is_the_largest_difference_of_perturbed_runs(reference):
    found = results.rounding_tolerance()
    for name in ("nudged", "nudged_sse4"):  # both instruction sets
        moved = compare(load(name), reference, found)
        assert (moved.n > 0).all() and moved.beyond.sum() == 0
        assert (moved.largest > 0).all()
