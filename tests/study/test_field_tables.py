"""Facts about the tables of the field: means over seeds, the best marked, all who took part."""

from __future__ import annotations

from types import SimpleNamespace

from numpy.testing import assert_array_equal

from study.field.contestants import BOOSTED, CONTESTANTS, OF_CHAPTER, everyone
from study.field.estimated import Estimated
from study.field.standings import standings
from study.field.tables import best_of, is_fuzzy, title, values_of, who


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
    monkeypatch.setitem(CONTESTANTS, "mine", Estimated("mine", "a stronger one", "aligned"))
    rows = ROWS + rows_of("ww", mine=[0.1, 0.1, 0.2], mine_constant=[0.3, 0.3, 0.3])
    values = values_of(rows, "rmse")
    assert best_of(values, "ww") == "mine" and is_fuzzy("mine") and is_fuzzy("mine_constant")
    assert standings(values)[-2] == ("a stronger one", {"ww": "**0.13**", "pp": ""})
    assert title("mine_constant") == "a stronger one, constant margin"


def test_every_contestant_is_told_apart_from_the_others():
    told = dict(zip(CONTESTANTS, who(CONTESTANTS), strict=True))
    assert len({row[1:] for row in told.values()}) == len(CONTESTANTS)
    assert "99 %" in told["paper"].learns and "chosen" in told["strong"].learns
    assert told["gb_cqr"].further == "two more trainings"
    assert "sorted list" in told["gb_split"].further and "mean" in told["gb_split"].interval


def test_only_those_that_are_no_rivals_are_fuzzy():
    assert {name for name in CONTESTANTS if not is_fuzzy(name)} == {
        *BOOSTED,
        "forest",
        "linear_cqr",
    }
    titles = [title(name) for name in everyone()]
    assert len(set(titles)) == len(titles) > len(CONTESTANTS)
    assert not set(OF_CHAPTER) - set(CONTESTANTS)
