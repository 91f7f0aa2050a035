"""Counts and means of made-up records and verdicts, by hand."""

from __future__ import annotations

import math

import pytest
from made_up import record, world

from gt2lite.study.cells import Verdict, Winner, half_in_std, verdicts
from gt2lite.study.claims import ClaimVerdict, check_claims
from gt2lite.study.reproduction import (
    agreement,
    cell_rows,
    count_winners,
    distances,
    judged_claims,
    seconds_trained,
    spread,
    table_of,
    tally,
    winner_rows,
)
from gt2lite.study.statistics import welch

NO_BREAK = "\N{NO-BREAK SPACE}"


def verdict(size, word="agrees", p=0.5, metric="rmse"):
    return Verdict("ww", 0.9, metric, "trained", 0, 1, 0, 1, 5, size, size, p, 2 * p, word, "")


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


def test_an_agreement_is_counted():
    cells = [
        verdict(-3.0, "better", p=0.01),
        verdict(0.5, p=0.04),
        verdict(1.0),
        verdict(2.5, "differs", p=0.2),
    ]
    found = agreement(cells)
    assert found[:5] == (4, 2, 1, 1, 2)
    assert (found.smallest, found.median, found.mean) == (0.02, 1.75, 1.75)
    assert (found.largest, found.near) == (3.0, 1)
    assert found.expected == pytest.approx(0.559, abs=1e-3)


def test_without_verdicts_all_counts_are_zero():
    found = agreement([])
    assert found[:6] == (0, 0, 0, 0, 0, 1.0)
    assert (found.median, found.mean, found.largest, found.near) == (0, 0, 0, 0)
    assert set(count_winners([])) == set(tally([])) == {0}
    assert distances([], []) == judged_claims([]) == []


def test_half_an_interval_ends_where_the_test_turns():
    cell = next(v for v in verdicts(world()) if v.dataset == "pp")
    pooled = math.sqrt((cell.our_std**2 + cell.paper_std**2) / 2)
    gap = half_in_std(cell) * pooled
    assert welch(gap, cell.our_std, 5, 0, cell.paper_std, 5) == pytest.approx(0.05)


def test_winners_are_counted():
    def winner(metric, agrees, chance):
        return Winner("ww", 0.9, metric, "trained", "trained", 0, 1, 1, agrees, chance)

    won = [
        winner("rmse", True, True),
        winner("picp", True, False),
        winner("picp", False, True),
        winner("pinaw", False, False),
        winner("pinaw", True, False),
    ]
    assert count_winners(won) == (5, 3, 1, 1, 1, 1, 3)


def test_cells_and_winners_as_a_page_shows_them():
    cell = verdict(-0.5)._replace(paper_mean=1.234, our_mean=2)
    assert cell_rows([cell]) == [
        ("WW", f"RMSE 90{NO_BREAK}% trained", "1.23 ± 1.00", "2.00 ± 1.00", -0.5, 0.5, "agrees")
    ]
    won = Winner("pp", 0.95, "picp", "calibrated", "tie", 0.0, 1, 1, False, True)
    clear = won._replace(winner="trained", within_chance=False)
    assert [tuple(row) for row in winner_rows([won, clear])] == [
        (f"PP 95{NO_BREAK}% PICP", "C-GT2", "tie", 0.0, "yes"),
        (f"PP 95{NO_BREAK}% PICP", "C-GT2", "GT2", 0.0, "no"),
    ]


def test_claims_are_counted_and_told():
    checked = check_claims(world())
    found = tally(checked)
    words = [c.verdict for c in checked]
    assert found == (
        len(words),
        *map(words.count, ("holds", "does not hold", "within chance", "not testable")),
    )
    told = judged_claims([ClaimVerdict("scalable", "not testable", {}, "Why.")])
    assert told == [("The strategy suits large problems.", "Abstract", "not testable", "Why.")]


def test_modes_are_compared_by_mean_distance():
    ours = [verdict(-1.0), verdict(3.0), *(verdict(1.0, metric=m) for m in ("picp", "pinaw"))]
    authors = [verdict(0.5), *(verdict(-2.0, metric=m) for m in ("picp", "pinaw"))]
    assert distances(ours, authors) == [("RMSE", 2, 0.5), ("PICP", 1, 2), ("PINAW", 1, 2)]
