"""Verdicts and winners on made-up runs that must and must not pass."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from made_up import find, record

from gt2lite.study import cells as module
from gt2lite.study import paper
from gt2lite.study.cells import bold_rows, verdicts, winners
from gt2lite.study.statistics import paired_p, welch

# Five seeds with mean 0 and std (ddof 1) 1.
SPREAD = np.array([-2.0, -1.0, 0.0, 1.0, 2.0]) / math.sqrt(2.5)


def made_up(change=None):
    """Runs with exactly the published means and spreads; `change` maps a cell to its values."""
    cells = {}
    for cell in paper.published_cells():
        values = cell.mean + cell.std * SPREAD
        if change is not None:
            values = change(cell, values)
        cells.setdefault((cell.dataset, cell.model, cell.level), {})[cell.metric] = values / 100
    return [
        record(
            dataset=dataset,
            seed=seed,
            model=model,
            level=level,
            method="search" if model == "calibrated" else "trained",
            **{metric: values[seed] for metric, values in metrics.items()},
        )
        for (dataset, model, level), metrics in cells.items()
        for seed in range(5)
    ]


def moved(metric, model, level, new_mean, dataset="ww"):
    """Change the mean of one cell."""
    key = (dataset, level, metric, model)
    return lambda c, y: y - y.mean() + new_mean if c[1:5] == key else y


# ------------------------------------------------------------------------ the verdicts


def test_the_published_numbers_agree_with_themselves():
    judged = verdicts(made_up())
    assert [v.verdict for v in judged] == ["agrees"] * 48
    for v in judged:
        assert v.our_mean == pytest.approx(v.paper_mean) and v.our_std == pytest.approx(v.paper_std)
        assert v.difference == pytest.approx(0, abs=1e-9) and v.p_holm == 1 and v.n == 5


@pytest.mark.parametrize("metric", ["rmse", "pinaw"])
@pytest.mark.parametrize("model", ["trained", "calibrated"])
@pytest.mark.parametrize(("sigmas", "word"), [(-10, "better"), (10, "differs")])
def test_ten_sigmas_are_better_or_differ(metric, model, sigmas, word):
    cell = find(paper.published_cells(), dataset="ww", level=0.90, metric=metric, model=model)
    judged = verdicts(made_up(moved(metric, model, 0.90, cell.mean + sigmas * cell.std)))
    verdict = find(judged, dataset="ww", level=0.90, metric=metric, model=model)
    assert verdict.verdict == word and verdict.p_holm < 0.05
    assert verdict.difference_in_std == pytest.approx(sigmas)
    assert metric.upper() in verdict.reason
    assert sum(v.verdict != "agrees" for v in judged) == 1


@pytest.mark.parametrize(
    ("printed", "new", "word"),
    [
        (80.0, 89.0, "better"),  # nearer from below
        (80.0, 91.0, "better"),  # on the other side, and nearer
        (80.0, 70.0, "differs"),
        (99.0, 91.0, "better"),  # nearer from above
        (99.0, 80.0, "differs"),  # beyond the level, and farther
        (89.0, 99.0, "differs"),
    ],
)
def test_coverage_is_better_where_it_is_nearer_to_the_level(monkeypatch, printed, new, word):
    cells = paper.published_cells()
    i = cells.index(find(cells, dataset="ww", level=0.90, metric="picp", model="trained"))
    cells[i] = cells[i]._replace(mean=printed, std=0.2)
    monkeypatch.setattr(module, "published_cells", lambda: cells)
    judged = verdicts(made_up(moved("picp", "trained", 0.90, new)))
    verdict = find(judged, dataset="ww", level=0.90, metric="picp", model="trained")
    assert verdict.verdict == word
    assert verdict.difference == pytest.approx(new - printed)
    assert f"{abs(new - 90):.2f}, theirs {abs(printed - 90):.2f}" in verdict.reason


@pytest.mark.parametrize(("sigmas", "word"), [(2, "agrees"), (2.8, "agrees"), (3.4, "differs")])
def test_the_line_is_at_5_per_cent_with_holm_over_all_48(sigmas, word):
    # Alone, all three would be beyond chance.
    key = {"dataset": "pp", "level": 0.95, "metric": "rmse", "model": "trained"}
    cell = find(paper.published_cells(), **key)
    change = moved("rmse", "trained", 0.95, cell.mean + sigmas * cell.std, dataset="pp")
    verdict = find(verdicts(made_up(change)), **key)
    assert verdict.p < 0.05 and verdict.p_holm == pytest.approx(48 * verdict.p)
    assert (verdict.p_holm < 0.05) == (word == "differs")
    assert verdict.verdict == word and verdict.difference_in_std == pytest.approx(sigmas)


@pytest.mark.parametrize(("p_holm", "word"), [(0.0499, "differs"), (0.0501, "agrees")])
def test_a_hair_beside_the_line(p_holm, word):
    optimize = pytest.importorskip("scipy.optimize")
    key = {"dataset": "pp", "level": 0.95, "metric": "rmse", "model": "trained"}
    cell = find(paper.published_cells(), **key)

    def beside(gap):  # of the only cell that has any
        return 48 * welch(cell.mean + gap, cell.std, 5, cell.mean, cell.std, 5) - p_holm

    gap = optimize.brentq(beside, 0, 10 * cell.std)
    change = moved("rmse", "trained", 0.95, cell.mean + gap, dataset="pp")
    verdict = find(verdicts(made_up(change)), **key)
    assert verdict.p_holm == pytest.approx(p_holm) and verdict.verdict == word
    assert f"(Holm p {p_holm:.2g})" in verdict.reason


def test_a_difference_is_in_pooled_spreads_of_both():
    # Ours 3 times theirs: the pooled variance of five and five runs is (9 + 1) / 2 of it.
    judged = verdicts(made_up(lambda c, y: c.mean + c.std * (2 + 3 * SPREAD)))
    assert all(v.difference_in_std == pytest.approx(2 / math.sqrt(5)) for v in judged)
    assert [(v.dataset, v.level, v.metric, v.model) for v in judged] == [
        c[1:5] for c in paper.published_cells()
    ]


def test_without_any_spread_a_difference_is_infinite_or_none(monkeypatch):
    cells = [c._replace(std=0.0) for c in paper.published_cells()]
    monkeypatch.setattr(module, "published_cells", lambda: cells)
    sizes = {"rmse": -16.0, "picp": 0.0, "pinaw": 16.0}
    for v in verdicts(made_up(lambda c, y: np.full(5, 64.0 + sizes[c.metric]))):
        gap = 64.0 + sizes[v.metric] - v.paper_mean
        assert v.difference_in_std == math.copysign(math.inf, gap)
    cells = [c._replace(mean=64.0) for c in cells]
    monkeypatch.setattr(module, "published_cells", lambda: cells)
    judged = verdicts(made_up(lambda c, y: np.full(5, 64.0)))
    assert {(v.difference_in_std, v.verdict) for v in judged} == {(0.0, "agrees")}


def test_runs_without_any_spread_are_judged_too():
    judged = verdicts(made_up(lambda c, y: np.full(5, c.mean)))
    assert {v.verdict for v in judged} == {"agrees"}
    assert all(v.our_std == pytest.approx(0, abs=1e-9) for v in judged)
    judged = verdicts(made_up(lambda c, y: np.full(5, c.mean + 20 * c.std)))
    assert all(v.verdict == "differs" for v in judged if v.metric != "picp")


def test_only_the_default_mode_and_the_search_count():
    records = made_up()
    noise = [dataclasses.replace(r, mode="authors", rmse=99.0) for r in records]
    noise += [
        dataclasses.replace(r, method="exact", rmse=99.0)
        for r in records
        if r.model == "calibrated"
    ]
    assert verdicts(records + noise) == verdicts(records)
    authors = [dataclasses.replace(r, mode="authors") for r in records]
    assert verdicts(authors + records[:3], mode="authors") == verdicts(records)


# ------------------------------------------------------------------------- the winners


def test_the_paper_follows_its_own_rule_in_all_24_rows():
    rows = bold_rows()
    assert len(rows) == 24
    assert all(row.follows_rule for row in rows)
    # Coverage is always won by the calibrated model, width by the trained one.
    assert {(row.metric, row.bold) for row in rows if row.metric != "rmse"} == {
        ("picp", "calibrated"),
        ("pinaw", "trained"),
    }


def test_the_published_numbers_have_the_published_winners():
    for winner, row in zip(winners(made_up()), bold_rows(), strict=True):
        assert winner[:4] == row[:4] and winner.agrees
        assert winner.difference == pytest.approx(row.difference)


def test_the_closest_row_of_the_paper_is_a_coin_toss():
    row = find(bold_rows(), dataset="pp", metric="picp", level=0.90)
    assert row.bold == "calibrated" and row.difference == pytest.approx(-0.02)
    assert row.p == pytest.approx(welch(0.12, 1.23, 5, 0.14, 1.39, 5)) and row.p > 0.9


def test_a_row_won_by_the_other_model_beyond_chance():
    # Trained 10 below the level becomes 90 +- 0.1; calibrated goes to 95 +- 0.1, from above.
    def change(cell, values):
        if (cell.dataset, cell.metric, cell.level) != ("ww", "picp", 0.90):
            return values
        return (90.0 if cell.model == "trained" else 95.0) + 0.1 * SPREAD**2

    row = find(winners(made_up(change)), dataset="ww", metric="picp", level=0.90)
    assert (row.bold, row.winner, row.agrees) == ("calibrated", "trained", False)
    assert row.difference == pytest.approx(5)
    assert not row.within_chance


def test_coverages_on_two_sides_of_the_level_are_compared_by_their_distance():
    # 91 +- and 89.5 +-: distances 1 and 0.5 in the mean.
    def change(cell, values):
        if (cell.dataset, cell.metric, cell.level) != ("pm", "picp", 0.90):
            return values
        return (91.0 if cell.model == "trained" else 89.5) + 0.01 * SPREAD

    row = find(winners(made_up(change)), dataset="pm", metric="picp", level=0.90)
    assert (row.winner, row.agrees, row.within_chance) == ("calibrated", True, False)
    assert row.difference == pytest.approx(-0.5)


def test_a_win_by_a_hair_is_within_chance():
    def change(cell, values):
        if (cell.dataset, cell.metric, cell.level) != ("pp", "rmse", 0.90):
            return values
        return 23.0 + (SPREAD if cell.model == "trained" else SPREAD[[3, 0, 4, 1, 2]] - 0.01)

    row = find(winners(made_up(change)), dataset="pp", metric="rmse", level=0.90)
    assert (row.winner, row.agrees, row.within_chance) == ("calibrated", False, True)


@pytest.mark.parametrize(("p_holm", "chance"), [(0.0499, False), (0.0501, True)])
def test_a_win_a_hair_beside_the_line_with_holm_over_all_24(p_holm, chance):
    optimize = pytest.importorskip("scipy.optimize")
    noise = SPREAD[[3, 0, 4, 1, 2]]
    gap = optimize.brentq(lambda gap: 24 * paired_p(noise + gap) - p_holm, 0, 50)

    def change(cell, values):  # all rows tie but one
        alone = cell[1:5] == ("aids", 0.95, "rmse", "calibrated")
        return 100 * cell.level + (noise + gap if alone else 0 * noise)

    judged = winners(made_up(change))
    row = find(judged, dataset="aids", metric="rmse", level=0.95)
    assert row.winner == "trained" and row.difference == pytest.approx(gap)
    assert row.p_holm == pytest.approx(p_holm) and row.within_chance is chance
    assert {w.winner for w in judged if w is not row} == {"tie"}


def test_equal_runs_have_no_winner():
    row = winners(made_up(lambda c, y: 100 * c.level + SPREAD))[0]
    assert (row.winner, row.difference, row.p, row.within_chance) == ("tie", 0, 1, True)


def test_a_bold_value_that_is_not_the_best_is_seen(monkeypatch):
    cells = [
        c._replace(bold=not c.bold) if (c.dataset, c.metric, c.level) == ("pp", "picp", 0.95) else c
        for c in paper.published_cells()
    ]
    monkeypatch.setattr(module, "published_cells", lambda: cells)
    wrong = [w for w in bold_rows() if not w.follows_rule]
    assert [(w.dataset, w.metric, w.level) for w in wrong] == [("pp", "picp", 0.95)]
