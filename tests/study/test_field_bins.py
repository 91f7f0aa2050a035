"""Facts about coverage in bins: pooled over seeds, against what chance does, by patient."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from study.field import bins
from study.field.bins import mended, mended_facts, outside, patients, pooled, shares
from study.field.conditional import Bin
from study.field.tables import title
from study.statistics import worst_by_chance
from study.stored import rows_of


def test_bins_are_pooled_over_the_seeds_in_the_order_of_their_numbers():
    def count(seed, label, n, covered, by="group"):
        names = {"contestant": "paper", "dataset": "pm", "split": "random"}
        return SimpleNamespace(**names, by=by, seed=seed, bin=label, n=n, covered=covered)

    counts = [count(0, "10", 4, 3), count(0, "9", 2, 2), count(1, "10", 6, 5)]
    counts.append(count(1, "10", 6, 5, by="width"))
    found = pooled(counts, "paper", "pm", "group")
    assert found == {"9": (2, 2), "10": (10, 8)} and list(found) == ["9", "10"]
    assert_array_equal(shares(found), [1.0, 0.8])


def test_a_bin_is_outside_beyond_two_standard_deviations_of_chance():
    def count(dataset, by, label, covered):
        names = {"contestant": "paper", "split": "random", "seed": 0}
        return SimpleNamespace(**names, dataset=dataset, by=by, bin=label, n=100, covered=covered)

    counts = [  # the band around 90 % is 6 points wide on both sides
        *(count("ww", "width", str(i), c) for i, c in enumerate([83, 85, 90, 95, 97])),
        *(count("ww", "region", str(i), 90) for i in range(5)),
        *(count("ww", "rarity", str(i), c) for i, c in enumerate([10, 90, 90, 90, 90])),
    ]
    (found,) = outside(counts, ["paper"], 0.9, sets=["ww"])
    assert found == (title("paper"), 2, 0, 1, 5)
    facts = bins.outside_facts([found._replace(name="calm", width=1), found])
    assert facts == ("calm", 2, title("paper"), 3, 15)


@pytest.mark.parametrize(
    ("first", "last", "rises", "falls"),
    [(80, 89, "PP", ""), (80, 88, "", ""), (95, 80, "", "PP"), (97, 97, "", "")],
)
def test_a_line_rises_or_falls_beyond_two_standard_deviations(first, last, rises, falls):
    names = {"contestant": "paper", "split": "random", "seed": 0, "dataset": "pp", "by": "width"}
    covered = [first, 90, 90, 90, last]  # two standard deviations of a difference: 8.5 points
    counts = [SimpleNamespace(**names, bin=str(i), n=100, covered=c) for i, c in enumerate(covered)]
    (found,) = bins.climbs(counts, ["paper"], 0.9, ["pp", "ww"])
    assert found == (title("paper"), {"pp": f"{first} to {last}", "ww": ""}, rises, falls)


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ([49.0, 50.0, 90.0], [10.0, 20.0, 90.0], "1 to 2 of them, depending on the method, are"),
        ([49.0, 50.0, 90.0], [90.0, 20.0, 90.0], "1 of them are"),
        ([90.0, 50.0, 90.0], [90.0, 60.0, 90.0], "none of them is"),
    ],
)
def test_patients_that_are_covered_less_than_half_of_the_time_are_counted(first, second, words):
    found = patients({"a": np.array(first), "b": np.array(second)})
    assert (found.n, found.half) == (3, words)
    assert found.low == min(first + second)


def test_the_worst_bin_stands_beside_what_chance_does_to_bins_of_that_size():
    rows, counts = rows_of("field.csv"), rows_of("bins.csv")
    by_chance, paper = bins.worst_rows(rows, counts, ["paper"], 0.9)
    sizes = {}
    for row in counts:
        cell = row.contestant, row.split, row.by
        if cell == ("gb_cqr", "random", "group"):
            sizes.setdefault(row.seed, []).append(row.n)
    expected = np.mean([worst_by_chance(n, 0.9) for n in sizes.values()])
    assert by_chance.group == pytest.approx(100 * expected)
    mine = [r for r in rows if (r.contestant, r.split, r.level) == ("paper", "random", 0.9)]
    of_pm = [r.worst_group for r in mine if r.dataset == "pm"]
    assert paper.name == title("paper") and paper.group == pytest.approx(100 * np.mean(of_pm))
    assert paper.width < by_chance.width


def test_regions_are_told_before_and_after():
    before = [Bin("1", 10, 8, 2.0), Bin("2", 30, 30, 1.0)]
    after = [Bin("1", 10, 9, 4.0), Bin("2", 30, 27, 1.0)]
    rows = mended(before, after, {1: 12, 2: 34})
    assert rows[0] == ("1", 12, 10, 80.0, 90.0, 2.0, 4.0)
    found = mended_facts(rows, 0.9)
    assert found.cost == pytest.approx(100 * (70 / 50 - 1))
    assert found.sd == pytest.approx(100 * (0.09 / 20) ** 0.5)
