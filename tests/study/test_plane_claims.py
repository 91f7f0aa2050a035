"""What is said of planes, tables and the search, each on made-up runs at its edge."""

from __future__ import annotations

import math

import pytest
from made_up import SHIFTED, finer, is_, pchip, verdict, when, world


def test_an_interpolation_that_differs_by_chance_is_neither_better_nor_as_good():
    def noisy(level, seed):
        return pchip(0.01)(level, seed) | {"reached": level + 0.01 + 5 * SHIFTED[seed]}

    found = verdict("interpolation-matters", world(tables=[noisy]))
    assert found.verdict == "within chance"
    assert found.explanation == (
        "A difference beyond chance in 0 of 1 rows; within chance: pchip 0.1."
    )


@pytest.mark.parametrize(("error", "sign"), [(0.004, 1), (-0.004, 1), (0.016, -1), (-0.016, -1)])
def test_an_interpolation_matters_whether_it_is_better_or_worse(error, sign):
    found = verdict("interpolation-matters", world(tables=[pchip(error)]))
    assert found.verdict == "holds"
    assert found.numbers["pchip 0.1"] == pytest.approx(0.6 * sign)  # points


def test_a_level_out_of_reach_says_nothing_about_tables():
    gone = when({"alpha": math.nan, "reached": 0.5}, dataset="aids", level=0.95)
    found = verdict("finer-table", world(gone, tables=[finer(0.002)]))
    assert found.verdict == "holds" and found.numbers["0.1 to 0.01"] == pytest.approx(0.8)


def test_finer_tables_cost_more_evaluations():
    numbers = verdict("finer-table", world(tables=[finer(0.002)])).numbers
    assert (numbers["0.1 evaluations"], numbers["0.01 evaluations"]) == (11, 101)
    assert numbers["0.1 to 0.01"] == pytest.approx(0.8)  # points


def test_a_search_that_cannot_end_is_told_from_one_that_stalls():
    # Of 734 samples neither 660 nor 661 is within 0.0005 of 90 %, but 697 is near enough to 95 %.
    def edit(r):
        if not is_(r, "calibrated", "ww", method="search"):
            return None
        return {"n_cal": 734, "reached": (661 if r.level == 0.90 else 699) / 734}

    found = verdict("search-ends", world(edit))
    assert found.verdict == "does not hold"
    assert (found.numbers["impossible"], found.numbers["stalled"]) == (5, 5)
    assert found.numbers["as claimed"] == 30 and found.numbers["out of reach"] == 0
    records = world(when({"reached": 0.947}, model="calibrated", dataset="aids", level=0.95))
    found = verdict("search-ends", records)
    assert (found.numbers["out of reach"], found.numbers["stalled"]) == (5, 0)


def test_a_lower_plane_that_covers_less_is_seen():
    records = world(when({"reached": 0.8}, dataset="ww", level=0.95, method="exact"))
    found = verdict("plane-sets-coverage", records)
    assert found.verdict == "does not hold" and found.numbers["as claimed"] == 15


def test_a_level_is_within_reach_to_the_sample():
    def widest(n_covered):
        found = {"reached": n_covered / 321, "n_cal": 321}
        return world(when(found, model="calibrated", dataset="aids", level=0.95, method="exact"))

    assert verdict("any-level", widest(305)).verdict == "holds"  # 95 % of 321 are 304.95
    assert verdict("any-level", widest(304)).verdict == "does not hold"


@pytest.mark.parametrize(("beside", "word"), [(0.00049, "holds"), (0.00051, "does not hold")])
@pytest.mark.parametrize("sign", [-1, 1])
def test_the_search_ends_within_its_tolerance(beside, word, sign):
    edit = when(lambda r: {"reached": r.level + sign * beside}, dataset="pm", method="search")
    found = verdict("search-ends", world(edit))
    assert found.verdict == word
    assert found.numbers["stalled"] == (0 if word == "holds" else 10)


@pytest.mark.parametrize("sign", [-1, 1])
def test_a_search_must_come_nearer_from_either_side(sign):
    def beside(size):
        return when(lambda r: {"reached": r.level + sign * size}, dataset="pm", method="search")

    near = verdict("search-beats-table", world(beside(0.004)))
    assert near.verdict == "holds"
    assert near.numbers["pm 90 %"] == pytest.approx(0.6)  # points: 1 less 0.4
    assert verdict("search-beats-table", world(beside(0.03))).verdict == "does not hold"
    assert near.explanation.endswith(
        "On average: search evaluations 9.0 and table evaluations 11.0."
    )
