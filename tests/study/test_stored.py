"""Stored studies: rows of today's code are kept, others are made again, and pages are told."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gt2lite.datasets import DATASETS
from gt2lite.training import Recipe
from study import plans, results, stored
from study.field.plans import entries, whole_field
from study.field.records import FieldRecord
from study.results import Stored, read, reference_provenance, write
from study.runner import key_of
from study.store import Store
from study.stored import KINDS, STUDIES, moved_rows, renew, rows_of, staleness

FAST = Recipe(n_rules=2, epochs=1)


def two_tasks():
    return plans.tasks(["aids"], [0, 1], ["trained_90"], recipe=FAST)


SMALL = replace(STUDIES["reference"], todo=two_tasks)


@pytest.fixture
def files(tmp_path):
    """A folder in which a small study is up to date, without the store it was made with."""
    renew(SMALL, tmp_path, Store(tmp_path / "first"), n_jobs=1)
    return tmp_path


def test_rows_of_todays_code_are_taken_without_a_store(files, monkeypatch):
    before = (files / "reference.csv").read_bytes()
    monkeypatch.setattr(plans.Task, "execute", lambda *_: pytest.fail("computed again"))
    found = renew(SMALL, files, Store(files / "empty"), n_jobs=1)
    assert (found.n_kept, found.n_loaded, found.n_run) == (2, 0, 0)
    assert (files / "reference.csv").read_bytes() == before


def test_only_rows_whose_key_is_not_todays_are_made_again(files):
    path = files / "reference.csv"
    there = read(path, KINDS["reference.csv"])
    wrong = [replace(row, rmse=99.0) for row in there.rows]  # so that one sees who was kept
    write(Stored(wrong, ["older", *there.keys[1:]]), path)
    found = renew(SMALL, files, Store(files / "empty"), n_jobs=1)
    assert (found.n_kept, found.n_loaded, found.n_run) == (1, 0, 1)
    again = read(path, KINDS["reference.csv"])
    assert again.keys == [key_of(task) for task in two_tasks()]
    assert [row.rmse for row in again.rows] == [there.rows[0].rmse, 99.0]
    found = renew(SMALL, files / "elsewhere", Store(files / "empty"), n_jobs=1)
    assert (found.n_kept, found.n_loaded, found.n_run) == (0, 1, 1)


def test_a_run_is_kept_only_if_all_its_files_have_it(tmp_path, monkeypatch):
    def one():
        return entries(["aids"], [0], ["paper"], effort=0.01)

    study, store = replace(STUDIES["field"], todo=one), Store(tmp_path / "store")
    assert renew(study, tmp_path, store, n_jobs=1).n_run == 1
    assert {row.level for row in read(tmp_path / "bins.csv", KINDS["bins.csv"]).rows} == {0.9}
    assert renew(study, tmp_path, store, n_jobs=1).n_kept == 1
    (tmp_path / "bins.csv").unlink()
    found = renew(study, tmp_path, store, n_jobs=1)
    assert (found.n_kept, found.n_loaded) == (0, 1) and (tmp_path / "bins.csv").exists()


def test_a_file_with_other_columns_is_of_older_code(tmp_path):
    study, store = SMALL, Store(tmp_path / "store")
    renew(study, tmp_path, store, n_jobs=1)
    path = tmp_path / "reference.csv"
    whole = path.read_text()
    path.write_text("\n".join(line.partition(",")[2] for line in whole.splitlines()))
    assert renew(study, tmp_path, store, n_jobs=1).n_kept == 0
    assert path.read_text() == whole


def test_pages_are_told_how_many_rows_are_of_older_code(files, monkeypatch):
    (files / "results").mkdir()
    path = files / "results" / "reference.csv"
    there = read(files / "reference.csv", KINDS["reference.csv"])
    monkeypatch.setattr(stored, "data_path", files.joinpath)
    monkeypatch.setitem(STUDIES, "reference", SMALL)
    write(there, path)
    assert stored.older_code("reference.csv") == (0, 2) and staleness("reference.csv") == ""
    write(replace(there, keys=["older", there.keys[1]]), path)
    assert "1 of 2 in reference.csv" in staleness("reference.csv")


def test_a_study_does_not_know_another_study_for_its_own():
    keys = {name: {key_of(t) for t in study.todo()} for name, study in STUDIES.items()}
    assert sum(map(len, keys.values())) == len(set.union(*keys.values()))


# ------------------------------------------------------------------------ what is committed


@pytest.mark.parametrize(
    ("name", "n_trainings"),
    [("reference.csv", 600), ("authors.csv", 60), ("nudged.csv", 60), ("nudged_sse4.csv", 60)],
)
def test_the_stored_studies_hold_the_whole_protocol(name, n_trainings):
    rows = rows_of(name)
    trainings = {(r.dataset, r.seed, r.model, r.level) for r in rows if r.model != "calibrated"}
    assert len(trainings) == n_trainings
    assert {r.mode for r in rows} == {"authors" if name == "authors.csv" else "default"}
    assert reference_provenance()["command"] == "make study"


def test_every_training_was_nudged_twice_on_each_processor():
    seen = {}
    for row in moved_rows():
        if row.model != "calibrated":
            place = row.dataset, row.seed, row.model, row.level, row.processor
            seen.setdefault(place, []).append(row.nudge)
    assert len(seen) == 120
    assert all(tuple(sorted(found)) == plans.NUDGES[place[-1]] for place, found in seen.items())


def test_the_stored_field_holds_all_contestants_on_all_splits_and_every_row_in_its_bins():
    def cells(rows):
        return {(r.dataset, r.split, r.seed, r.contestant) for r in rows}

    rows, bins = rows_of("field.csv"), rows_of("bins.csv")
    every = whole_field()
    wanted = {
        (e.dataset, e.split, e.seed, name) for e in every for name in e.contestant.answer_names()
    }
    assert cells(rows) == wanted
    of_paper = {(e.dataset, e.split, e.seed, e.contestant.name) for e in every}
    binned = {cell for cell in of_paper if cell[0] in DATASETS}
    assert cells(bins) == binned
    sums = {}
    for one in bins:
        cell = (one.dataset, one.split, one.seed, one.contestant, one.by)
        n, covered = sums.get(cell, (0, 0))
        sums[cell] = n + one.n, covered + one.covered
    for row in rows:
        assert isinstance(row, FieldRecord)
        cell = (row.dataset, row.split, row.seed, row.contestant)
        if row.level == stored.BIN_LEVEL and cell in binned:
            for by in ("width", "region", "rarity"):
                assert sums[*cell, by] == (row.n_test, round(row.picp * row.n_test))
    assert {"scipy", "scikit-learn"} <= set(reference_provenance("field_provenance.json"))


@pytest.mark.parametrize("name", KINDS)
def test_every_stored_row_carries_a_key(name):
    there = read(results.data_path("results", name), KINDS[name])
    assert there.rows and all(there.keys) and len(there.keys) == len(there.rows)
