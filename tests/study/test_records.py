"""Records by cell and seed: complete, paired, or an error that names what is lacking."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from made_up import record

from study.cells import verdicts, winners
from study.paper import published_cells
from study.records import OutOfReachError, Runs

METHOD = {"trained": "trained", "calibrated": "search"}
TRAINED = ("ww", "trained", 0.9, "trained")


def complete():
    """A record for each cell of the tables and five seeds."""
    cells = dict.fromkeys((c.dataset, c.model, c.level) for c in published_cells())
    return [
        record(dataset=dataset, seed=seed, model=model, level=level, method=METHOD[model])
        for dataset, model, level in cells
        for seed in range(7)
    ]


def table(step=0.1, interpolation="linear", **more):
    return record(
        model="calibrated", method="table", step=step, interpolation=interpolation, **more
    )


def test_a_record_has_no_names_but_its_own():
    with pytest.raises(TypeError, match="pcip"):
        record(pcip=0.9)
    with pytest.raises(dataclasses.FrozenInstanceError):
        record().picp = 0.9


def test_the_standard_table_is_the_papers():
    assert table().is_standard and record().is_standard
    assert not table(step=0.05).is_standard and not table(interpolation="pchip").is_standard
    assert record(dataset="pp").cell == ("pp", "trained", 0.9, "trained")
    assert table(level=0.95).cell == ("ww", "calibrated", 0.95, "table")


def test_values_come_by_seed_in_whatever_order_they_were_made():
    rows = [record(seed=seed, picp=seed / 10) for seed in (4, 0, 2)]
    runs = Runs(rows, [TRAINED])
    assert runs.seeds == [0, 2, 4]
    assert runs.values("picp", "ww", "trained", 0.9).tolist() == [0.0, 0.2, 0.4]
    assert runs.values("picp", *TRAINED).dtype == float
    assert runs.records == rows


def test_a_model_has_a_method_of_its_own_unless_another_is_named():
    rows = [
        record(model="calibrated", method=method, seed=seed, picp=share)
        for method, share in (("search", 0.9), ("exact", 0.8))
        for seed in (0, 1)
    ]
    runs = Runs(rows, ())
    assert runs.values("picp", "ww", "calibrated", 0.9).tolist() == [0.9, 0.9]
    assert runs.values("picp", "ww", "calibrated", 0.9, "exact").tolist() == [0.8, 0.8]
    assert runs.found("picp", "ww", 0.9).tolist() == [0.9, 0.9]
    assert runs.found("picp", "ww", 0.9, "exact").tolist() == [0.8, 0.8]


def test_other_tables_are_kept_apart():
    rows = [
        table(step, kind, seed=seed, picp=step)
        for step, kind in ((0.05, "linear"), (0.1, "linear"), (0.1, "pchip"))
        for seed in (0, 1)
    ]
    runs = Runs(rows, ())
    assert list(runs.tables) == [(0.05, "linear"), (0.1, "linear"), (0.1, "pchip")]
    assert runs.tables[0.05, "linear"]["ww", 0.9, 1] is rows[1]
    assert runs.values("picp", "ww", "calibrated", 0.9, "table").tolist() == [0.1, 0.1]
    with pytest.raises(ValueError, match=r"0.9 \(table\) of \(0.1, 'pchip'\) twice for seed 1"):
        Runs([*rows, table(0.1, "pchip", seed=1)], ())


def test_a_mode_is_by_itself():
    rows = [
        record(seed=s, mode=m, picp=p) for m, p in (("default", 1), ("authors", 0)) for s in (0, 1)
    ]
    assert Runs(rows, [TRAINED]).values("picp", *TRAINED).tolist() == [1, 1]
    assert Runs(rows, [TRAINED], "authors").values("picp", *TRAINED).tolist() == [0, 0]
    with pytest.raises(ValueError, match=r"at least 2 seeds of mode 'other', got \[\]"):
        Runs(rows, (), "other")


def test_a_level_is_out_of_reach_below_the_envelope():
    rows = [
        record(model="calibrated", method="exact", seed=seed, level=0.95, alpha=alpha)
        for seed, alpha in enumerate((0.01, 0.0099, 0.0, 0.5))
    ]
    assert Runs(rows, ()).out_of_reach("ww", 0.95).tolist() == [False, True, True, False]


def test_what_is_not_a_number_is_named_with_its_seed():
    rows = [record(seed=seed, rmse=math.nan if seed == 3 else 1.0) for seed in (1, 3, 5)]
    with pytest.raises(OutOfReachError, match=r"rmse of ww trained 0.9 \(trained\).*for seed 3"):
        Runs(rows, ()).values("rmse", *TRAINED)
    rows = [record(seed=s, model="calibrated", method="search", alpha=math.nan) for s in (0, 1)]
    with pytest.raises(OutOfReachError, match="alpha of ww calibrated"):
        Runs(rows, ()).found("n_evaluations", "ww", 0.9)
    assert np.isfinite(Runs(rows, ()).values("n_evaluations", "ww", "calibrated", 0.9)).all()


@pytest.mark.parametrize("judge", [verdicts, winners])
def test_incomplete_records_are_named(judge):
    records = complete()
    with pytest.raises(ValueError, match=r"at least 2 seeds of mode 'default', got \[\]"):
        judge([])
    with pytest.raises(ValueError, match=r"at least 2 seeds of mode 'default', got \[3\]"):
        judge([r for r in records if r.seed == 3])
    with pytest.raises(ValueError, match=r"lack aids trained 0.9 \(trained\); aids calibrated 0.9"):
        judge([r for r in records if r.dataset != "aids"])
    with pytest.raises(ValueError, match=r"lack pp calibrated 0.95 \(search\) seed 1, 4$"):
        judge(
            [
                r
                for r in records
                if r.cell != ("pp", "calibrated", 0.95, "search") or r.seed not in (1, 4)
            ]
        )
    with pytest.raises(ValueError, match=r"lack [^;]*(; [^;]*){5} and 10 more$"):
        judge([dataclasses.replace(r, method="exact") for r in records])
    with pytest.raises(ValueError, match=r"and 6 more$"):
        judge([r for r in records if r.dataset == "ww"])


def test_six_are_named_in_full():
    rows = [record(seed=seed) for seed in (0, 1)]
    needed = [("pp", "trained", level / 100, "trained") for level in range(1, 7)]
    with pytest.raises(ValueError, match=r"lack pp trained 0.01 .*pp trained 0.06 \(trained\)$"):
        Runs(rows, needed)


def test_a_run_twice_is_an_error():
    records = complete()
    with pytest.raises(ValueError, match=r"hold ww trained 0.9 \(trained\) twice for seed 2"):
        verdicts([*records, records[2]])
