"""Counts of made-up verdicts, by hand."""

from __future__ import annotations

import math

import pytest
from made_up import world

from study.cells import Compared, Verdict, Winner, compared, half_in_std
from study.claims import ClaimVerdict, check_claims
from study.paper import claims
from study.statistics import welch
from study.tallies import (
    agreement,
    cell_rows,
    count_winners,
    distances,
    distances_told,
    gain_rows,
    group_verdicts,
    in_margins,
    judged_claims,
    judged_groups,
    margins,
    tally,
    winner_rows,
)

NO_BREAK = "\N{NO-BREAK SPACE}"


def verdict(size=0.0, refuted="no", p=0.5, metric="rmse", **more):
    base = Verdict(
        *("ww", 0.9, metric, "trained", 100, 1, 0, 1, 50, size, size, False, p, 2 * p, p, 2 * p),
        *(7.0, 4.0, (0.2, 0.01), (0.5, 0.04), (0.04, 0.01), refuted),
    )
    return base._replace(**more)


def test_the_two_verdicts_are_counted_apart_and_a_repeated_result_once():
    near = {"p_equal": (0.01, 0.001), "p_equal_holm": (0.06, 0.01)}
    cells = [
        verdict(-3.0, "better", p=0.01, p_spread=0.04, p_spread_holm=0.04),
        verdict(0.5, p=0.04, **near),
        verdict(1.0, metric="picp", best=1.5),
        verdict(2.5, "worse", p=0.0499, **near),
        verdict(9.0, "worse", p=0.001, repeated=True, **near),
    ]
    found = agreement(cells)
    assert found[:7] == (4, 2, 1, 1, 2, 3, 0.02)
    assert (found.spreads, found.spreads_raw) == (1, 3)
    assert (found.equivalent, found.both, found.only_kept) == (2, 1, 1)
    assert (found.median, found.largest) == (1.75, 3.0)
    first, second = margins(cells)
    assert first == (f"5{NO_BREAK}%, 1 point of PICP", 2, 0, 3, 4)
    assert second == (f"10{NO_BREAK}%, 2 points of PICP", 4, 4, 4, 4)


@pytest.mark.parametrize(("metric", "unit", "top"), [("rmse", 5.0, 5.0), ("picp", 1.0, 1.0)])
def test_an_interval_within_1_is_one_within_the_margin(metric, unit, top):
    v = verdict(metric=metric, difference=-0.5 * unit, margin=0.8 * top)
    assert in_margins(v) == pytest.approx((-0.5, 0.3))  # reaches to -0.8


def test_without_verdicts_all_counts_are_zero():
    found = agreement([])
    assert found[:6] == (0, 0, 0, 0, 0, 0) and found.smallest == 1
    assert set(found[7:]) == set(count_winners([])) == set(tally([])) == {0}
    assert {m[1:] for m in margins([])} == {(0, 0, 0, 0)}
    assert distances([], []) == judged_claims([]) == []


def test_half_an_interval_ends_where_the_test_turns():
    cell = next(v for v in compared(world()) if v.dataset == "pp")
    pooled = math.sqrt((cell.our_std**2 + cell.paper_std**2) / 2)
    gap = half_in_std(cell) * pooled
    assert welch(gap, cell.our_std, 5, 0, cell.paper_std, 5) == pytest.approx(0.05)


def test_winners_are_counted():
    def winner(metric, agrees, chance):
        return Winner("ww", 0.9, metric, "trained", "trained", 0, 1, 1, 1, agrees, chance)

    won = [
        winner("rmse", True, True),
        winner("picp", True, False),
        winner("picp", False, True),
        winner("pinaw", False, False),
        winner("pinaw", True, False),
    ]
    assert count_winners(won) == (5, 3, 1, 1, 1, 1, 3)


def test_cells_and_winners_as_a_page_shows_them():
    cell = verdict(-0.5, paper_mean=1.234, our_mean=2, p=0.0004)
    name, sizes = f"RMSE 90{NO_BREAK}% trained", (f"7.0{NO_BREAK}%", f"4.0{NO_BREAK}%")
    small = f"<{NO_BREAK}0.001"
    assert cell_rows([cell]) == [
        ("WW", name, "no", "no", *sizes, "1.23 ± 1.00", "2.00 ± 1.00", -0.5, small, small)
    ]
    (covered,) = cell_rows([verdict(metric="picp", p_equal=(0.049, 0.01))])
    assert (covered.equivalent, covered.margin) == ("yes", f"7.0{NO_BREAK}points")
    won = Winner("pp", 0.95, "picp", "calibrated", "tie", 0.0, 0.5, 1, 1, False, True)
    clear = won._replace(winner="trained", within_chance=False)
    assert [tuple(row) for row in winner_rows([won, clear])] == [
        (f"PP 95{NO_BREAK}% PICP", "C-GT2", "tie", 0.0, 0.5, "yes"),
        (f"PP 95{NO_BREAK}% PICP", "C-GT2", "GT2", 0.0, 0.5, "no"),
    ]


def test_claims_that_say_the_same_count_once():
    def said(**verdicts):
        return [
            ClaimVerdict(name.replace("_", "-"), word, {}, "") for name, word in verdicts.items()
        ]

    found = said(wider="holds", wider_fig3="within chance", better_pm="within chance")
    found += said(better_pp="does not hold", scalable="not testable", cheaper="holds")
    assert group_verdicts(found) == {
        "wider": "within chance",
        "better-everywhere": "does not hold",
        "scalable": "not testable",
        "cheaper": "holds",
    }
    assert tally(found) == (6, 4, 1, 1, 1, 1)
    every = tally(check_claims(world()))
    assert every.entries == 33 and every.claims == sum(every[2:]) == 24


def test_a_group_is_told_by_the_claim_that_it_is_named_after():
    told = judged_groups(check_claims(world()))
    ids = {claim.claim: claim.id for claim in claims()}
    assert [ids[one.claim] for one in told] == [one.group for one in told]
    assert len(told) == len({claim.group for claim in claims()})
    verdict = group_verdicts(check_claims(world()))
    assert {one.group: one.verdict for one in told} == verdict


def test_claims_are_told():
    (told,) = judged_claims([ClaimVerdict("scalable", "not testable", {}, "Why.")])
    words = ("The strategy suits large problems.", "scalable", "Abstract", "not testable", "Why.")
    assert told == (*words, "scalable")


def test_gains_are_told_row_by_row():
    numbers = {"rows": 1, "ww 90 %": 2.0, "ww 90 % p": 0.01, "ww 90 % half": 1.5}
    found = gain_rows([ClaimVerdict("wider", "holds", numbers | {"ww 90 % half here": 0.5}, "")])
    assert found == [("wider", "ww 90 %", 2.0, "0.010", 1.5, 0.5)]


def test_modes_are_compared_by_mean_distance():
    def cell(size, metric="rmse"):
        return Compared("ww", 0.9, metric, "trained", 0, 1, 0, 1, 5, size, size)

    ours = [cell(-1.0), cell(3.0), *(cell(1.0, m) for m in ("picp", "pinaw"))]
    authors = [cell(0.5), *(cell(-2.0, m) for m in ("picp", "pinaw"))]
    found = distances(ours, authors)
    assert found == [("RMSE", 2, 0.5), ("PICP", 1, 2), ("PINAW", 1, 2)]
    assert distances_told(found) == "farther from the paper in PICP and PINAW, nearer in RMSE"
    assert distances_told([]) == "not compared here"
