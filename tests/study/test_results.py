"""Reference results: what is written is read back, and a run is compared number by number."""

import json
import math

import pytest

from gt2lite.study import results
from gt2lite.study.field.runs import entries
from gt2lite.study.results import METRICS, compare, read_records, write_provenance, write_records


def a_record(**changes):
    base = {
        "dataset": "ww",
        "seed": 0,
        "mode": "default",
        "model": "calibrated",
        "level": 0.9,
        "method": "exact",
        "n_evaluations": 42,
        "alpha": 1 / 3,
        **dict.fromkeys(METRICS, 0.1),
    }
    return base | changes


def test_records_come_back_as_they_were(tmp_path):
    rows = [
        a_record(),
        a_record(method="table", step=0.1, interpolation="pchip"),  # more columns than the first
        a_record(seed=1, picp=math.nan),
    ]
    write_records(rows, tmp_path / "new" / "rows.csv")
    again = read_records(tmp_path / "new" / "rows.csv")
    assert str(again) == str(rows)  # NaN included, and whole numbers stay whole
    assert again[0]["alpha"] == 1 / 3


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "rows.csv"
    write_records([a_record()], path)
    before = path.read_bytes()

    class Broken:
        def __str__(self):
            raise OSError("no space left on device")

    with pytest.raises(OSError, match="no space"):
        write_records([a_record(), a_record(alpha=Broken())], path)
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


def test_a_run_is_compared_number_by_number():
    base = [a_record(), a_record(seed=1), a_record(seed=2, method="table", step=0.1)]
    run = [
        a_record(),  # the same
        a_record(seed=1, rmse=0.1 + 2**-4),  # 1/16 off
        a_record(seed=2, method="table", step=0.2, rmse=9.0),  # has no counterpart
    ]
    nudged = [a_record(seed=1, rmse=0.1 + 2**-3)]
    rmse, picp, *_ = compare(run, base, nudged)
    assert (rmse.metric, rmse.n, rmse.n_equal) == ("rmse", 2, 1)
    assert rmse.largest == pytest.approx(2**-4) and rmse.tolerance == pytest.approx(2**-3)
    assert (picp.n, picp.n_equal, picp.largest, picp.tolerance) == (2, 2, 0, 0)


def test_a_level_out_of_reach_is_not_compared():
    rmse, picp, *_ = compare([a_record(picp=math.nan)], [a_record()], [])
    assert rmse.n == 1 and picp.n == 0


def test_provenance_names_commit_versions_machine_and_date(tmp_path):
    write_provenance(tmp_path, command="make study")
    facts = json.loads((tmp_path / "provenance.json").read_text())
    assert {"commit", "gt2lite", "numpy", "python", "machine", "date", "command"} <= set(facts)
    assert facts["commit"] == "unknown"  # no repository there


@pytest.mark.parametrize("name", ["reference.csv", "authors.csv", "nudged.csv"])
def test_the_stored_studies_hold_the_whole_protocol(name):
    rows = results.reference(name)
    trainings = {(r["dataset"], r["seed"], r["model"], r["level"]) for r in rows}
    trainings = {t for t in trainings if t[2] != "calibrated"}
    assert len(trainings) == 60
    assert {r["mode"] for r in rows} == {"authors" if name == "authors.csv" else "default"}
    assert results.reference_provenance()["command"] == "make study"


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


def test_the_stored_field_holds_all_contestants_on_all_splits_and_every_row_in_its_bins():
    def cells(rows):
        return {(r["dataset"], r["split"], r["seed"], r["contestant"]) for r in rows}

    rows, bins = results.reference("field.csv"), results.reference("bins.csv")
    every = entries() + entries(["pm"], split="by_group")
    wanted = {(e.dataset, e.split, e.seed, e.contestant) for e in every}
    assert cells(rows) == cells(bins) == wanted
    sums = {}
    for one in bins:
        cell = (one["dataset"], one["split"], one["seed"], one["contestant"], one["by"])
        n, covered = sums.get(cell, (0, 0))
        sums[cell] = n + one["n"], covered + one["covered"]
    for row in rows:
        if row["level"] == 0.9:
            cell = (row["dataset"], row["split"], row["seed"], row["contestant"])
            for by in ("width", "region", "rarity"):
                assert sums[*cell, by] == (row["n_test"], round(row["picp"] * row["n_test"]))
    assert {"mapie", "scikit-learn"} <= set(results.reference_provenance("field_provenance.json"))
