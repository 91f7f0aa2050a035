"""What pages tell of the field: rows that follow from records, and words for every value."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from study.field import pages
from study.field.parts import Gain
from study.field.public import DEVELOPMENT, PUBLIC
from study.field.tables import title

BASE = {"gb_cqr": 1.2, "gb_split": 1.0, "gb_normalised": 1.1}


def rows_of(tables=PUBLIC, **scores):
    """Rows of all seeds and levels; scores are numbers, or functions of a table."""
    found = []
    for name, given in (BASE | scores).items():
        for table in tables:
            value = given(table) if callable(given) else given
            for level in (0.9, 0.95):
                for seed in range(5):
                    shaken = value * (1 + 0.001 * seed)
                    found.append(
                        SimpleNamespace(
                            dataset=table, split="random", seed=seed, contestant=name, level=level,
                            interval_score=shaken, rmse=shaken, equal_pinaw=shaken, picp=level,
                            crps=None if name == "gb_cqr" else shaken, first_seconds=2.0,
                            tuning_seconds=1.0, n_train=700, n_test=150,
                        )
                    )  # fmt: skip
    return found


def test_losses_come_first_and_wins_are_the_other_tables():
    rows = rows_of(strong=lambda table: {"concrete": 2.0, "plastic": 1.5}.get(table, 0.5))
    losses, wins = (pages.loss_rows(rows, "strong", losses=flag) for flag in (True, False))
    assert [row.table for row in losses] == ["concrete", "plastic"]
    assert losses[0].verdict == "worse" and losses[0].ratio == pytest.approx(2.0)
    assert losses[0].rival == title("gb_split") and losses[0].use == "development"
    assert len(wins) == 14 and {row.verdict for row in wins} == {"better"}
    assert losses[0].p.startswith("<")


def test_the_best_on_a_table_need_not_be_ours():
    rows = rows_of(["concrete"], forest=0.5, strong=0.8, head=0.9)
    found = pages.best_on(rows, ["strong", "head", "forest"], "concrete")
    assert found.name == title("forest")
    assert found[1:] == pytest.approx((0.5 * 1.002, 0.8 * 1.002, 0.9 * 1.002))
    assert pages.best_on(rows, ["strong"], "plastic").name == "nobody"


def test_a_rival_is_compared_with_the_others_and_crps_may_be_missing():
    split, cqr = pages.mean_rows(rows_of(), ["gb_split", "gb_cqr"])
    assert split.score.startswith("0.91") and split.error == ""  # 1 / 1.1; no rival is itself
    assert cqr.score.startswith("1.20") and cqr.crps == "" and cqr.error == "1.20"
    assert cqr.coverage == "90.0 / 95.0" and cqr.seconds == 3.0


def test_ablations_are_ratios_to_the_constant_margin():
    forms = {"aligned": 0.9, "aligned_constant": 1.0, "aligned_hybrid": 0.95}
    (row,) = pages.ablation_rows(rows_of(**forms, aligned_normalised=0.8))
    assert row.name == title("aligned")
    assert [row.own[:4], row.planes[:4], row.normalised[:4], row.hybrid[:4]] == [
        "0.90", "0.90", "0.80", "0.95"
    ]  # fmt: skip
    chosen = {"strong": 0.7, "strong_planes": 0.9, "strong_constant": 1.0, "strong_hybrid": 1.0}
    (row,) = pages.ablation_rows(rows_of(**chosen, strong_normalised=0.8))
    assert (row.own[:4], row.planes[:4]) == ("0.70", "0.90")


def test_tables_of_development_and_frozen_ones_stand_apart():
    rows = rows_of(strong=lambda table: 0.8 if table in DEVELOPMENT else 1.0)
    found = {row.use: row for row in pages.use_rows(rows, "strong")}
    assert found["development"].ratio.startswith("0.80 (0.80")
    assert found["frozen"].ratio.startswith("1.00") and found["all"].tables == 16
    assert [row.use for row in pages.use_rows(rows_of(DEVELOPMENT, strong=1.0), "strong")] == [
        "development",
        "all",
    ]


def test_facts_count_tables_and_tests():
    rows = rows_of(strong=lambda table: 2.0 if table == "concrete" else 0.5)
    found = pages.field_facts(rows, "strong")
    assert (found.tables, found.ahead) == (16, "15 tables")
    assert (found.better, found.worse, found.undecided) == (30, 2, 0)
    assert (found.worst_table, found.worst) == ("concrete", pytest.approx(2.0))
    assert (found.best, found.middle) == (pytest.approx(0.5), pytest.approx(0.5))
    nothing = pages.field_facts(rows_of(), "strong")
    assert nothing.tables == 0 and np.isnan(nothing.mean) and nothing.worst_table == "no table"


def test_the_cap_of_trees_is_counted():
    def one(contestant, trees, table="pm"):
        binds = trees == 1000
        return SimpleNamespace(contestant=contestant, trees=trees, binds=binds, dataset=table)

    found = pages.cap_facts([one("gb_cqr", 1000), one("gb_split", 7), one("forest", 1000)])
    assert found == (2, 1, 50.0, "PM")
    assert pages.cap_facts([]) == (0, 0, 0.0, "no table")


def test_all_tables_are_listed_with_their_seeds():
    found = pages.table_rows()
    assert len(found) == 20
    assert found[0] == ("concrete", "development", 1030, 8, 5)
    assert found[-1] == ("PP", "the paper", 9568, 4, 3)


def test_gains_are_drawn_with_their_mean_last():
    bars = pages.gain_bars([Gain("boom_bikes", 2.0, 1.0, 3.0, -2.0), Gain("ww", 0, 1, 1, -2)])
    assert list(bars) == ["boom bikes", "WW", "mean"]
    assert bars["mean"]["noise"] == (2.0, 0.0)
    assert pages.gain_bars([]) == {}
