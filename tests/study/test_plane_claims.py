"""What is said of planes, tables and the search, each on made-up runs at its edge."""

from __future__ import annotations

import pytest
from made_up import SHIFTED, curve, finer, is_, verdict, when, world


def test_an_interpolation_that_differs_by_chance_is_neither_better_nor_as_good():
    def noisy(level, seed):
        return curve(0.01)(level, seed) | {"reached": level + 0.01 + 5 * SHIFTED[seed]}

    for tables in ([noisy], [noisy, curve(0.01, "pchip")]):
        found = verdict("interpolation-matters", world(tables=tables))
        assert found.verdict == "within chance"
    assert found.numbers["pchip"] == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(("error", "sign"), [(0.004, 1), (-0.004, 1), (0.016, -1), (-0.016, -1)])
def test_an_interpolation_matters_whether_it_is_better_or_worse(error, sign):
    found = verdict("interpolation-matters", world(tables=[curve(error), curve(0.01, "pchip")]))
    assert found.verdict == "holds" and found.numbers["that matter"] == 1
    assert found.numbers["spline"] == pytest.approx(-60 * sign, abs=1)  # per cent of a point
    assert found.numbers["linear miss"] == pytest.approx(1)


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
    beyond = when(
        {"reached": 0.947, "alpha": 0.009}, dataset="aids", level=0.95, model="calibrated"
    )
    found = verdict("search-ends", world(beyond))
    assert (found.numbers["out of reach"], found.numbers["stalled"]) == (5, 0)


def test_a_lower_plane_that_covers_less_is_seen():
    records = world(when({"reached": 0.8}, dataset="ww", level=0.95, method="exact"))
    found = verdict("plane-sets-coverage", records)
    assert found.verdict == "does not hold" and found.numbers["as claimed"] == 15


@pytest.mark.parametrize(("alpha", "word"), [(0.01, "holds"), (0.0099, "does not hold")])
def test_a_level_is_within_reach_of_the_envelope(alpha, word):
    edit = when({"alpha": alpha}, dataset="aids", level=0.95, method="exact")
    assert verdict("any-level", world(edit)).verdict == word


def test_beyond_the_planes_the_larger_margin_lies_lower():
    def margins(r):
        if is_(r, "calibrated", "ww", method="exact"):
            return {"alpha": 0.0, "margin": 2.0 if r.level == 0.95 else 1.0}
        return None

    assert verdict("plane-sets-coverage", world(margins)).verdict == "holds"
    edit = when({"alpha": 0.0, "margin": 1.0}, dataset="ww", method="exact")
    assert verdict("plane-sets-coverage", world(edit)).numbers["as claimed"] == 15


@pytest.mark.parametrize(("beside", "word"), [(0.00049, "holds"), (0.00051, "does not hold")])
@pytest.mark.parametrize("sign", [-1, 1])
def test_the_search_ends_within_its_tolerance(beside, word, sign):
    edit = when(lambda r: {"reached": r.level + sign * beside}, dataset="pm", method="search")
    found = verdict("search-ends", world(edit))
    assert found.verdict == word
    assert found.numbers["stalled"] == (0 if word == "holds" else 10)


@pytest.mark.parametrize("sign", [-1, 1])
def test_a_search_comes_nearer_from_either_side(sign):
    def beside(size):
        return when(lambda r: {"reached": r.level + sign * size}, dataset="pm", method="search")

    near = verdict("search-beats-table", world(beside(0.004)))
    assert near.numbers["pm 90 %"] == pytest.approx(0.6)  # points: 1 less 0.4
    assert near.numbers["as claimed"] == 8
    assert verdict("search-beats-table", world(beside(0.03))).numbers["as claimed"] == 6
    assert near.explanation.endswith(
        "On average: search evaluations 9.0 and table evaluations 11.0."
    )
