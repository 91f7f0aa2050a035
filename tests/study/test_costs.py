"""What levels cost and give is told as it was measured: a made-up benchmark with known answers."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

from study import costs
from study.costs import Against, Price, Worth


def _cost(first: float, more: float, evaluations: float | None = None) -> dict[str, list[float]]:
    seconds = [first, first + more, first + 2 * more]
    counted = first if evaluations is None else evaluations
    return {"seconds": seconds, "evaluations": [counted, counted + more, counted + 2 * more]}


def _quality(picp: float, width: float, score: float, crossed: float) -> dict[str, Any]:
    """Return three seeds at two levels; the widths of a seed scatter a little."""
    scatter = np.array([[0.99], [1.0], [1.01]])
    levels = np.array([[1.0, 1.25]])
    return {
        "picp": [[picp, picp + 0.05]] * 3,
        "pinaw": (2 * width * scatter * levels).tolist(),
        "width_at_coverage": (width * scatter * levels).tolist(),
        "interval_score": (score * scatter * levels).tolist(),
        "crossed": [[crossed]] * 3,
    }


@pytest.fixture
def stored() -> dict[str, Any]:
    """Return a benchmark of two data sets, of which the second is 0.1 dearer at every turn."""
    ways = ("search", "table", "exact", "conformal")
    quality = {
        "conformal": _quality(0.90, width=0.5, score=2.0, crossed=0.0),
        "aligned": _quality(0.91, width=0.4, score=2.0, crossed=0.0),
        "retrain": _quality(0.89, width=0.4, score=1.0, crossed=0.25),
        "all levels": _quality(0.86, width=0.4, score=2.0, crossed=0.0001),
    }
    results = {
        name: {
            "training_seconds": 1.25 + dearer,
            "cost": {
                **{way: _cost(1.02 + dearer, 0.01) for way in ways},
                "aligned": _cost(1.3 + dearer, 0.0, evaluations=1.7),
                "retrain": _cost(1.2 + dearer, 1.2 + dearer),
                "all levels": _cost(1.4 + dearer, 0.0),
            },
            "quality": copy.deepcopy(quality),
        }
        for name, dearer in (("ww", 0.0), ("pp", 0.1))
    }
    settings = {"datasets": ["ww", "pp"], "levels": [0.9, 0.95, 0.5], "judged": [0.9, 0.95]}
    return {"settings": settings, "results": results}


def test_a_price_is_that_of_one_level_and_of_all(stored: dict[str, Any]) -> None:
    by_way = {row.way: row for row in costs.prices(stored, "seconds")}
    assert by_way["train for each"] == Price(
        "train for each",
        {"ww": pytest.approx(1.2), "pp": pytest.approx(1.3)},
        {"ww": pytest.approx(3.6), "pp": pytest.approx(3.9)},
    )
    counted = {row.way: row for row in costs.prices(stored, "evaluations")}
    assert counted["calibrate, aligned"].one["pp"] == 1.7
    assert list(by_way) == list(costs.WAYS.values())


def test_curves_are_named_and_in_the_unit_asked_for(stored: dict[str, Any]) -> None:
    curves = costs.level_curves(stored, "ww", ["aligned", "search"], "evaluations")
    assert list(curves) == ["calibrate, aligned", "calibrate, search"]
    np.testing.assert_allclose(curves["calibrate, aligned"], 1.7)
    seconds = costs.level_curves(stored, "ww", ["search"])["calibrate, search"]
    np.testing.assert_allclose(seconds, [1.02, 1.03, 1.04])


def test_the_bargain_is_a_mean_over_the_sets(stored: dict[str, Any]) -> None:
    found = costs.bargain(stored)
    assert (found.n_levels, found.sets) == (3, "WW and PP")
    assert found.training.replace("\xa0", " ") == "1.2 s on WW and 1.4 s on PP"
    assert found.after == pytest.approx(14)  # the dearest set, after all three levels
    assert found.one == pytest.approx(1.25)
    assert found.every == pytest.approx(3.75)
    assert (found.at_once, found.aligned) == (pytest.approx(1.45), pytest.approx(1.35))
    two = (1.03 / 2.4 + 1.13 / 2.6) / 2
    assert found.two.replace("\xa0", " ") == f"{100 * (1 - two):.0f} % less"


@pytest.mark.parametrize(
    ("retrain", "even"),
    [
        ([1.2, 2.4, 3.6], "one level"),
        ([1.0, 2.0, 3.0], "2 levels"),
        ([0.5, 1.0, 1.5], "3 levels"),
        ([0.2, 0.4, 0.6], "more than 3 levels"),
        ([1.02, 2.0, 3.0], "2 levels"),  # at the same price nothing is saved yet
    ],
)
@pytest.mark.parametrize("unit", costs.UNITS)
def test_the_break_even_is_where_calibrating_is_cheaper_on_all_sets_by_clock_and_count(
    stored: dict[str, Any], unit: str, retrain: list[float], even: str
) -> None:
    stored["results"]["ww"]["cost"]["retrain"][unit] = retrain
    assert costs.bargain(stored).even == even


def test_worth_is_a_mean_over_the_seeds_by_level_and_way(stored: dict[str, Any]) -> None:
    rows = costs.worth(stored, "ww")
    assert [(row.level, row.way) for row in rows[3:5]] == [
        (90.0, "level as an input"),
        (95.0, "calibrate, conformal"),
    ]
    assert rows[4] == Worth(
        "calibrate, conformal",
        *(95.0, pytest.approx(95), pytest.approx(125), pytest.approx(62.5), pytest.approx(2.5)),
    )


def test_against_says_by_how_much_and_how_surely(stored: dict[str, Any]) -> None:
    rows = {row.other: row for row in costs.against(stored)}
    found = rows["calibrate, conformal"]
    assert found.width.replace("\xa0", " ") == "20.0 % narrower"
    assert (found.width_clear, found.score, found.score_clear, found.pairs) == (4, "equal", 0, 4)
    assert rows["train for each"].score.replace("\xa0", " ") == "100.0 % larger"
    assert "level as an input" not in rows
    assert isinstance(found, Against)


def test_a_difference_that_scatters_over_the_seeds_is_not_beyond_chance(
    stored: dict[str, Any],
) -> None:
    stored["results"]["ww"]["quality"]["all levels"]["width_at_coverage"] = [
        [0.3, 0.4],
        [0.7, 0.9],
        [0.4, 0.5],
    ]
    found = costs.against(stored)[0]
    assert (found.width_clear, found.pairs) == (2, 4)


def test_what_is_lacking_is_told_in_words_that_fit(stored: dict[str, Any]) -> None:
    found = costs.lacks(stored)
    assert (found.lowest, found.highest) == ("4.0 points below", "4.0 points below")
    assert found.crossed.replace("\xa0", " ") == "less than 0.1 %"
    assert found.crossed_retrain.replace("\xa0", " ") == "25.0 %"
    assert found.crossed_conformal == "none"
    stored["results"]["pp"]["quality"]["all levels"]["picp"] = [[0.91, 0.95]] * 3
    assert costs.lacks(stored).highest == "1.0 points above"
