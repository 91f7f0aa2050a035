"""What is told of the aligned objective: made-up runs of the field with known answers."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gt2lite.losses import make_objective
from gt2lite.training import Recipe
from study import narrower
from study.field.setting import Setting
from study.narrower import PlaneLevel


def _rows(
    dataset: str, level: float, contestant: str, width: Sequence[float], **more: Sequence[float]
) -> list[Any]:
    """Return a record for each seed; score and RMSE are 1 where they are not given."""
    return [
        SimpleNamespace(
            dataset=dataset,
            split="random",
            level=level,
            contestant=contestant,
            seed=seed,
            equal_pinaw=value,
            **{
                name: more.get(name, [1.0] * len(width))[seed]
                for name in ("interval_score", "rmse")
            },
        )
        for seed, value in enumerate(width)
    ]


@pytest.fixture
def rows() -> list[Any]:
    """Return two rows: on PP aligned is half as wide, surely; on WW wider, by chance."""
    return [
        *_rows("pp", 0.9, "paper", [2.0, 4.0, 6.0], interval_score=[2.0, 4.0, 6.0]),
        *_rows("pp", 0.9, "aligned", [1.0, 2.5, 2.5], rmse=[1.1, 1.11, 1.12]),
        *_rows("ww", 0.95, "paper", [1.0, 1.0, 1.0]),
        *_rows("ww", 0.95, "aligned", [0.9, 1.1, 1.3], interval_score=[0.8, 0.81, 0.82]),
    ]


def test_planes_that_learn_are_listed_with_their_levels() -> None:
    planes = narrower.plane_levels(make_objective("aligned"))
    assert [round(plane.level) for plane in planes] == [99, 95, 90, 50]
    assert planes[0] == PlaneLevel(pytest.approx(99), pytest.approx(1), pytest.approx(0.01))
    assert [plane.alpha for plane in planes] == pytest.approx(
        [0.01 ** (plane.kappa**2) for plane in planes]
    )


def test_a_row_has_differences_in_per_cent_and_p_values(rows: list[Any]) -> None:
    pp, ww = narrower.compare(rows, "aligned", "paper")
    assert (pp.row, ww.row) == ("PP 90\xa0%", "WW 95\xa0%")
    assert (pp.width, ww.width) == (pytest.approx(-50), pytest.approx(10))
    assert pp.rmse == pytest.approx(11)
    assert (ww.score, ww.p_score) == (pytest.approx(-19), "0.002")
    assert (ww.rmse, ww.p_rmse) == (0, "1.000")


def test_widths_are_told_from_best_to_least(rows: list[Any]) -> None:
    found = narrower.widths(rows, "aligned", "paper")
    assert (found.mean, found.best) == (pytest.approx(-20), pytest.approx(-50))
    words = found.mean_words, found.best_words, found.least_words
    assert [text.replace("\xa0", " ") for text in words] == [
        "20 % narrower",
        "50 % narrower",
        "10 % wider",
    ]
    assert found.best_set == "PP"
    assert found.less == "1 of the 2 cases"
    assert (found.less_clear, found.more_clear) == ("no cases", "no cases")


def test_the_verdict_needs_every_row(rows: list[Any]) -> None:
    assert narrower.judge(rows, "aligned", "paper").verdict == "not narrower in every case"
    only_pp = [row for row in rows if row.dataset == "pp"]
    assert narrower.judge(only_pp, "aligned", "paper").verdict == "narrower in every case"


def test_score_and_rmse_are_counted_by_their_sign(rows: list[Any]) -> None:
    found = narrower.judge(rows, "aligned", "paper")
    assert found.score_less == "1 case"  # on PP it scatters
    assert (found.rmse_more, found.rmse_less) == ("1 case", "no cases")
    turned = narrower.judge(rows, "paper", "aligned")
    assert (turned.rmse_more, turned.rmse_less) == ("no cases", "1 case")


def test_planes_cover_more_the_lower_they_are() -> None:
    settings = [Setting("aids", seed, effort=0.02) for seed in (0, 1)]
    covered = narrower.covered_by_planes(Recipe(), settings, np.array([0.01, 0.5, 0.99]))
    assert covered.shape == (3,)
    assert (np.diff(covered) < 0).all()
    one = narrower.covered_by_planes(Recipe(), settings[:1], np.array([0.01]))
    two = narrower.covered_by_planes(Recipe(), settings[1:], np.array([0.01]))
    assert covered[0] == pytest.approx((one[0] + two[0]) / 2)


def test_planes_are_narrower_than_the_envelope_and_it_is_one() -> None:
    settings = [Setting("aids", 0, effort=0.02)]
    found = narrower.relative_widths(Recipe(), settings, np.array([0.01, 0.5, 0.99]))
    assert found[0] == 1
    assert (np.diff(found) < 0).all() and found[-1] > 0


def test_planes_beside_a_constant_margin() -> None:
    settings = [Setting("aids", 0, effort=0.02)]
    found = narrower.beside_constant(Recipe(), settings, 0.9)
    planes, data = narrower.trained_planes(Recipe(), settings[0])
    errors = np.sort(np.abs(data.y_test - planes.output(Recipe().planes.alphas)))
    assert found.row == "AIDS 90\N{NO-BREAK SPACE}%"
    assert found.margin == pytest.approx(2 * errors[int(np.ceil(0.9 * errors.size)) - 1], rel=1e-6)
