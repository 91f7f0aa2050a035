"""Facts about the tables of the field: means over seeds, the best marked, all who took part."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from gt2lite.recipe import Recipe
from gt2lite.study.field.contestants import CONTESTANTS
from gt2lite.study.field.fuzzy import System
from gt2lite.study.field.standings import standings
from gt2lite.study.field.tables import (
    best_of,
    forest_rows,
    gaps,
    is_fuzzy,
    title,
    values_of,
    who,
)
from gt2lite.study.statistics import paired_half


def rows_of(dataset, level=0.9, split="random", **by_name):
    names = {"dataset": dataset, "split": split, "level": level}
    return [
        SimpleNamespace(**names, seed=seed, contestant=name, rmse=value)
        for name, by_seed in by_name.items()
        for seed, value in enumerate(by_seed)
    ]


ROWS = [
    *rows_of("ww", gb_split=[0.5, 0.7, 0.6], paper=[1.0, 1.2, 1.1], aligned=[0.9, 1.1, 1.0]),
    *rows_of("pp", gb_split=[0.3, 0.2, 0.3], paper=[0.2, 0.1, 0.2], gb_cqr=[0.4, 0.5, 0.6]),
    *rows_of("pp", level=0.95, paper=[9.0, 9.0, 9.0]),
    *rows_of("pp", split="by_group", paper=[8.0, 8.0, 8.0]),
]
VALUES = values_of(ROWS, "rmse")


def test_values_are_sorted_by_seed_and_contestants_stand_in_their_own_order():
    assert list(VALUES) == ["paper", "aligned", "gb_cqr", "gb_split"]
    assert_array_equal(values_of(ROWS[::-1], "rmse")["paper"]["ww"], [1.0, 1.2, 1.1])
    assert_array_equal(values_of(ROWS, "rmse", split="by_group")["paper"]["pp"], [8.0] * 3)


def test_the_best_has_the_smallest_mean():
    assert best_of(VALUES, "ww") == "gb_split"
    assert best_of(VALUES, "ww", ["paper", "aligned"]) == "aligned"
    assert best_of(VALUES, "pp") == "paper"


def test_a_contestant_that_is_added_appears_by_itself(monkeypatch):
    monkeypatch.setitem(
        CONTESTANTS, "strong", System("strong", "a stronger one", Recipe(n_rules=30))
    )
    rows = ROWS + rows_of("ww", strong=[0.1, 0.1, 0.2])
    values = values_of(rows, "rmse")
    assert best_of(values, "ww") == "strong" and is_fuzzy("strong")
    assert standings(values)[2] == ("a stronger one", {"ww": "**0.13**", "pp": ""})
    assert gaps(rows, "rmse")[0].ours == "strong"


def test_the_best_fuzzy_system_is_compared_with_the_best_of_the_others():
    ww, pp = gaps(ROWS, "rmse")
    assert (ww.dataset, ww.ours, ww.theirs) == ("ww", "aligned", "gb_split")
    assert ww.percent == pytest.approx(100 * 0.4 / 0.6) and ww.verdict == "more"
    assert (pp.ours, pp.theirs, pp.verdict) == ("paper", "gb_split", "less")
    assert pp.half == pytest.approx(0, abs=1e-9)  # each seed differs by 0.1


def test_a_gap_and_its_interval_are_in_per_cent_of_the_others_mean():
    rows = rows_of("ww", gb_split=[0.5, 0.7, 0.6], paper=[1.0, 1.4, 0.9])
    (found,) = gaps(rows, "rmse")
    difference = np.array([0.5, 0.7, 0.3])
    assert found.percent == pytest.approx(100 * 0.5 / 0.6)
    assert found.half == pytest.approx(100 * paired_half(difference) / 0.6)


def test_a_forest_has_a_row_for_each_data_set_and_a_bar_in_per_cent_of_the_rival():
    found = forest_rows(ROWS, ["paper", "aligned"], "gb_split", "rmse")
    assert list(found) == ["WW", "PP"]
    percent, half = found["WW"][title("paper")]
    assert percent == pytest.approx(100 * 0.5 / 0.6) and half == pytest.approx(0, abs=1e-9)
    percent, half = forest_rows(ROWS, ["gb_cqr"], "gb_split", "rmse")["PP"][title("gb_cqr")]
    assert percent == pytest.approx(87.5)
    difference = np.array([0.1, 0.3, 0.3])
    assert half == pytest.approx(100 * paired_half(difference) / (0.8 / 3))


def test_every_contestant_is_told_apart_from_the_others(monkeypatch):
    strong = System("strong", "strong", Recipe(n_rules=40, objective="aligned"))
    monkeypatch.setitem(CONTESTANTS, "strong", strong)
    told = dict(zip(CONTESTANTS, who(CONTESTANTS), strict=True))
    assert len({row[1:] for row in told.values()}) == len(CONTESTANTS)
    assert "99 %" in told["paper"].learns and "40 rules" in told["strong"].learns
    assert told["gb_cqr"].further == "two more trainings"
    assert "sorted list" in told["gb_split"].further and "mean" in told["gb_split"].interval


def test_only_those_that_are_no_rivals_are_fuzzy():
    assert {name for name in CONTESTANTS if not is_fuzzy(name)} == {
        "gb_cqr",
        "gb_split",
        "linear_cqr",
    }
    assert np.unique([title(name) for name in CONTESTANTS]).size == len(CONTESTANTS)
