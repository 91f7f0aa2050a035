"""Reference results: what is written is read back, and a run is compared number by number."""

import json
import math

import pytest

from study import results
from study.field.records import FieldRecord
from study.records import Record
from study.results import METRICS, Moved, Stored, compare, read, write, write_provenance


def a_record(**changes):
    base = {
        "dataset": "ww",
        "seed": 0,
        "mode": "default",
        "model": "calibrated",
        "level": 0.9,
        "method": "exact",
        "n_cal": 10,
        "n_test": 20,
        "alpha": 1 / 3,
        "reached": 0.9,
        "n_evaluations": 42,
        **dict.fromkeys(METRICS, 0.1),
        **dict.fromkeys(("train_seconds", "train_cpu_seconds", "calibrate_seconds"), 1.5),
    }
    return Record(**base | changes)


def moved(**changes):
    base = {"dataset": "ww", "seed": 0, "mode": "default", "model": "calibrated", "level": 0.9}
    base |= {"method": "exact", "nudge": 1, "processor": "", **dict.fromkeys(METRICS, 0.1)}
    return Moved(**base | changes)


def test_rows_come_back_as_they_were_with_their_keys(tmp_path):
    rows = [
        a_record(),
        a_record(method="table", step=0.1, interpolation="pchip"),
        a_record(seed=1, picp=math.nan),
    ]
    path = tmp_path / "new" / "rows.csv"
    write(Stored(rows, ["a", "b", "a"]), path)
    again = read(path, Record)
    assert str(again.rows) == str(rows)  # NaN included, and whole numbers stay whole
    assert again.rows[0].alpha == 1 / 3 and again.rows[0].step is None
    assert again.keys == ["a", "b", "a"]
    assert again.by_key()["b"] == rows[1:2] and len(again.by_key()["a"]) == 2
    assert path.read_text(encoding="utf-8").splitlines()[0].endswith("calibrate_seconds,key")


def test_rows_are_older_whose_key_is_none_of_todays():
    stored = Stored([a_record()] * 4, ["a", "b", "a", "older"])
    assert stored.older({"a", "c"}) == 2
    assert stored.older({"a", "b", "older"}) == 0


def test_a_file_of_another_kind_is_refused(tmp_path):
    write(Stored([a_record()], ["a"]), tmp_path / "rows.csv")
    with pytest.raises((KeyError, TypeError)):
        read(tmp_path / "rows.csv", FieldRecord)


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "rows.csv"
    write(Stored([a_record()], ["a"]), path)
    before = path.read_bytes()

    class Broken:
        def __str__(self):
            raise OSError("no space left on device")

        def __deepcopy__(self, memo):
            return self

    with pytest.raises(OSError, match="no space"):
        write(Stored([a_record(), a_record(alpha=Broken())], ["a", "a"]), path)
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


def test_a_run_is_compared_number_by_number():
    base = [a_record(), a_record(seed=1), a_record(seed=2, method="table", step=0.1)]
    run = [
        a_record(),  # the same
        a_record(seed=1, rmse=0.1 + 2**-4),  # 1/16 off
        a_record(seed=2, method="table", step=0.2, rmse=9.0),  # has no counterpart
    ]
    for size, n_beyond in ((2**-3, 0), (2**-5, 1)):
        rmse, picp, *_ = compare(run, base, [moved(seed=1, nudge=3, rmse=0.1 + size), moved()])
        assert (rmse.metric, rmse.n, rmse.n_equal, rmse.n_beyond) == ("rmse", 2, 1, n_beyond)
        assert rmse.largest == pytest.approx(2**-4) and rmse.tolerance == pytest.approx(size)
        assert rmse.where == "ww seed 1, calibrated 90 %, exact"
        assert (picp.n, picp.n_equal, picp.largest, picp.where, picp.tolerance) == (2, 2, 0, "", 0)


def test_a_table_is_named_by_its_settings():
    kind = {"method": "table", "step": 0.05, "interpolation": "pchip"}
    (rmse, *_) = compare([a_record(**kind, rmse=0.5)], [a_record(**kind)], [])
    assert rmse.where.endswith("calibrated 90 %, table pchip 0.05") and rmse.n_beyond == 1


def test_a_level_out_of_reach_is_not_compared():
    rmse, picp, *_ = compare([a_record(picp=math.nan)], [a_record()], [])
    assert rmse.n == 1 and picp.n == 0


def test_provenance_names_commit_versions_machine_and_date(tmp_path):
    write_provenance(tmp_path, command="make study")
    facts = json.loads((tmp_path / "provenance.json").read_text())
    assert {"commit", "gt2lite", "numpy", "python", "machine", "date", "command"} <= set(facts)
    assert facts["commit"] == "unknown"  # no repository there


def test_a_stored_benchmark_is_read_as_it_was_written(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "data_path", tmp_path.joinpath)
    whole = {"settings": {"n": 1}, "results": {"a": 0.5}, "provenance": {"machine": "one"}}
    (tmp_path / "results" / "bench").mkdir(parents=True)
    (tmp_path / "results" / "bench" / "step.json").write_text(json.dumps(whole), encoding="utf-8")
    assert results.bench("step") == whole


def test_a_benchmark_that_is_not_stored_is_asked_for_kindly(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "data_path", tmp_path.joinpath)
    with pytest.raises(FileNotFoundError, match=r"'step' is stored, there are: none; `make bench`"):
        results.bench("step")
    (tmp_path / "results" / "bench").mkdir(parents=True)
    (tmp_path / "results" / "bench" / "cost.json").write_text("{}", encoding="utf-8")
    with pytest.raises(FileNotFoundError, match="there are: cost; "):
        results.bench("step")
