"""Widths of two systems, by hand: constant intervals whose coverage can be counted."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from study.plans import tasks
from study.runner import run

from gt2lite.memberships import ALPHA_0, alpha_of, kappa_of
from gt2lite.metrics import interval_score
from gt2lite.system import Planes
from gt2lite.training import Recipe, init_params, train
from study.widths import (
    Beside,
    Excess,
    Held,
    Pair,
    Side,
    beside_margin,
    compare_row,
    count_misses,
    pair,
    summarise,
    summarise_beside,
    trained_on_fewer,
    widths_at_equal_coverage,
)

Y = np.linspace(-1, 1, 201)


def family(unit):
    """Intervals from -kappa to kappa, in units of one's own."""

    def interval(alpha):
        kappa = unit * np.broadcast_to(kappa_of(alpha), Y.shape)
        return -kappa, kappa

    return interval


def test_at_equal_coverage_constant_intervals_are_equally_wide():
    first, second = widths_at_equal_coverage(Y, [family(1.0), family(2.5)], 0.9)
    assert first == pytest.approx(1.8, abs=0.02) and second == pytest.approx(first, abs=1e-6)


def test_a_family_that_cannot_reach_the_level_sets_the_coverage():
    narrow = family(0.5)  # at most from -0.5 to 0.5
    widths = widths_at_equal_coverage(Y, [family(1.0), narrow], 0.9)
    assert widths == pytest.approx([1.0, 1.0], abs=0.02)


def made_up(calibrated, trained, level=0.9):
    data = SimpleNamespace(y_test=Y)
    sides = [Side(family(1.0), alpha_of(half)) for half in (calibrated, trained)]
    return Pair("pp", level, data, *sides)


def test_a_row_by_hand():
    held, excess = compare_row([made_up(0.805, 0.405), made_up(0.605, 0.605)])
    assert held.row == "PP 90\N{NO-BREAK SPACE}%" and held.level == 0.9
    # PICP 161 and 121 of 201 against 81 and 121; PINAW is half the width, as the range is 2.
    assert held.calibrated_picp == pytest.approx(100 * 141 / 201)
    assert held.trained_picp == pytest.approx(100 * 101 / 201)
    assert held.calibrated_pinaw == pytest.approx(70.5) and held.trained_pinaw == pytest.approx(
        50.5
    )
    assert excess.stand == pytest.approx([100 * (0.805 / 0.405 - 1), 0])
    assert excess.fair == pytest.approx([0, 0])  # the same family
    assert excess.score[0] < 0 and excess.score[1] == 0  # the narrow one misses far too much


def test_misses_to_both_sides_are_counted():
    def row(trained_picp, calibrated=1.0, trained=1.0, level=0.9):
        return Held("PP", level, 90.0, trained_picp, calibrated, trained)

    found = count_misses([row(88.5, 2.0), row(90.0), row(96.0, level=0.95), row(89.0, 0.5)])
    assert found == (4, 1, 2, pytest.approx(1.5), 1, pytest.approx(1.0))
    assert count_misses([row(91.0)]) == (1, 0, 0, 0.0, 1, pytest.approx(1.0))
    assert count_misses([row(89.0)]) == (1, 0, 1, pytest.approx(1.0), 0, 0.0)


def test_a_summary_of_rows():
    clear = np.array([1.0, 1.1, 0.9, 1.0, 1.05])
    noise = np.array([-2.0, -1.0, 0.5, 1.0, 2.0])  # its mean is 0.1
    rows = [Excess("a", 3 * clear, clear, -clear), Excess("b", clear, noise, noise)]
    rows.append(Excess("c", clear, -clear, clear))
    found = summarise(rows)
    assert (found.least, found.most) == (pytest.approx(1.01), pytest.approx(3.03))
    assert found.stand == pytest.approx(5.05 / 3) and found.fair == pytest.approx(0.1 / 3)
    assert found.score == pytest.approx(0.1 / 3)
    assert (found.wider, found.clear, found.alone) == (2, 1, 1)
    less = [Excess("d", clear, clear - 0.9, clear)]  # t is 2.3 with the larger error, 3.3 without
    assert (summarise(less).clear, summarise(less).alone) == (0, 1)


def test_a_pair_is_the_search_against_the_lowest_plane():
    recipe = Recipe(n_rules=2, epochs=1)
    todo = tasks(["aids"], [3], recipe=recipe)
    runs = dict(zip(todo, run(todo, n_jobs=1, progress=False), strict=True))
    found = pair(runs, "aids", 3, 0.95, recipe)
    base, _, direct = todo
    assert (found.dataset, found.level) == ("aids", 0.95)
    (searched,) = (r for r in runs[base].records if (r.method, r.level) == ("search", 0.95))
    assert (found.calibrated.alpha, found.trained.alpha) == (searched.alpha, ALPHA_0)
    assert found.data.y_test.size == searched.n_test
    (trained,) = runs[direct].records
    for side, record in ((found.calibrated, searched), (found.trained, trained)):
        assert np.mean(side.widths) == pytest.approx(record.pinaw * np.ptp(found.data.y_test))
    fewer = trained_on_fewer(found, 0.9, recipe, 3)
    asked = Recipe(n_rules=2, epochs=1, coverage=0.9)
    data = found.data
    params = train(data.X_train, data.y_train, asked, seed=3, progress=False).params
    assert (fewer(0.5)[1] == Planes(params, found.data.X_test)(0.5)[1]).all()


def test_a_margin_around_the_output_by_hand():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(280, 2))
    params = init_params(X, 3, rng) | {"a0": np.array([-1.0, 0.0, 2.0])}
    alphas, y = [0.01, 1.0], rng.normal(size=280)
    data = SimpleNamespace(X_cal=X[:120], y_cal=y[:120], X_test=X[120:], y_test=y[120:])
    side = Side(Planes(params, data.X_test), 0.5)
    found = beside_margin([Pair("pp", 0.75, data, side, side)], alphas)
    errors = [np.abs(y[rows] - Planes(params, X[rows]).output(alphas)) for rows in (
        slice(0, 120), slice(120, 280))]  # fmt: skip
    assert found.margin == pytest.approx(2 * np.sort(errors[1])[119], abs=1e-9)  # 120 of 160
    margin = np.sort(errors[0])[90]  # rank 91: at least 0.75 of 121
    output = side.planes.output(alphas)
    wanted = interval_score(data.y_test, output - margin, output + margin, 0.75)
    assert found.margin_score == pytest.approx(wanted)
    assert found.excess == pytest.approx(100 * (found.planes / found.margin - 1))
    assert found.score_excess == pytest.approx(100 * (found.planes_score / found.margin_score - 1))


def test_rows_in_which_the_margin_wins_are_counted():
    def row(name, excess, score):
        return Beside(name, 1.0, 1.0, excess, 1.0, 1.0, score)

    rows = [row("WW 90 %", 5.0, -1.0), row("WW 95 %", 1.0, 3.0), row("PP 90 %", -2.0, 4.0)]
    assert summarise_beside(rows) == (3, 2, 2, "1 of the 2", pytest.approx(4 / 3), pytest.approx(2))
    assert summarise_beside(rows[:2]).sets == "all of the 1"
    assert summarise_beside(rows[2:]).sets == "none of the 1"
