"""Means of made-up records, by hand."""

from __future__ import annotations

import math

from made_up import record

from study.reproduction import seconds_trained, spread, table_of


def test_a_spread_leaves_out_runs_without_an_answer():
    assert str(spread([0.5, 1.5])) == "1.00 ± 0.71"
    assert str(spread([0.5, 1.5, math.nan])) == r"1.00 ± 0.71\*"
    assert str(spread([2.0, math.nan, math.nan])) == r"-\*\*"
    assert spread([2.0, math.nan]).mean == 2 and math.isnan(spread([math.nan]).mean)
    assert spread([]).lacking == 0


def test_seconds_are_those_of_each_training_once():
    trained = [record(seed=seed, train_cpu_seconds=2.0 + seed) for seed in (0, 1)]
    calibrated = record(model="calibrated", method="search", train_cpu_seconds=99.0)
    assert seconds_trained([*trained, calibrated]) == 5.0


def test_our_table_has_the_better_value_in_bold():
    sides = {("trained", "trained"): (1.0, 0.92, 0.5), ("calibrated", "search"): (2.0, 0.89, 0.7)}
    records = [
        record(model=model, method=method, seed=seed, rmse=rmse, picp=picp, pinaw=pinaw)
        for (model, method), (rmse, picp, pinaw) in sides.items()
        for seed in (0, 1)
    ]
    assert table_of(records, 0.9) == [
        ("WW", "RMSE", "**100.00 ± 0.00**", "200.00 ± 0.00"),
        ("WW", "PICP", "92.00 ± 0.00", "**89.00 ± 0.00**"),
        ("WW", "PINAW", "**50.00 ± 0.00**", "70.00 ± 0.00"),
    ]
