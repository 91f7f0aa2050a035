"""Verdicts and winners on made-up runs that must and must not pass."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from made_up import find, record
from study.samples import Exchange, equal_means_p, smallest_margin

from study import cells as module
from study import paper
from study.cells import bold_rows, compared, verdicts, winners
from study.statistics import corrected_t, welch

# Fifty seeds with mean 0 and std (ddof 1) 1.
N = 50
SPREAD = (np.arange(N) - (N - 1) / 2) / np.arange(N).std(ddof=1)
MIXED = np.random.default_rng(0).permutation(SPREAD)


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
        for seed in range(N)
    ]


def moved(metric, model, level, new_mean, dataset="ww"):
    """Change the mean of one cell."""
    key = (dataset, level, metric, model)
    return lambda c, y: y - y.mean() + new_mean if c[1:5] == key else y


# ------------------------------------------------------------------------ the verdicts


def test_the_published_numbers_agree_with_themselves():
    judged = verdicts(made_up())
    assert [v.refuted for v in judged] == ["no"] * 48
    for v in judged:
        assert v.our_mean == pytest.approx(v.paper_mean) and v.our_std == pytest.approx(v.paper_std)
        assert v.difference == pytest.approx(0, abs=1e-9) and v.p_holm == 1 and v.n == N
        assert v.p_spread > 0.1 and v.best <= v.margin < 1.2 * v.best


def test_the_calibrated_rmse_counts_once():
    judged = verdicts(made_up())
    again = [v for v in judged if v.repeated]
    assert len(again) == 4 and {(v.metric, v.model, v.level) for v in again} == {
        ("rmse", "calibrated", 0.95)
    }
    for v in again:
        first = find(judged, dataset=v.dataset, metric="rmse", model="calibrated", level=0.90)
        assert v[11:] == (True, *first[12:]) and not first.repeated


@pytest.mark.parametrize("metric", ["rmse", "pinaw"])
@pytest.mark.parametrize(("sigmas", "word"), [(-10, "better"), (10, "worse")])
def test_ten_sigmas_are_better_or_worse(metric, sigmas, word):
    cell = find(paper.published_cells(), dataset="ww", level=0.90, metric=metric, model="trained")
    judged = verdicts(made_up(moved(metric, "trained", 0.90, cell.mean + sigmas * cell.std)))
    verdict = find(judged, dataset="ww", level=0.90, metric=metric, model="trained")
    assert verdict.refuted == word and verdict.p_holm < 0.05 and not verdict.equivalent
    assert verdict.difference_in_std == pytest.approx(sigmas)
    assert verdict.p == pytest.approx(2 / 100_001) and verdict.p_holm == pytest.approx(
        44 * verdict.p
    )
    assert sum(v.refuted != "no" for v in judged) == 1


@pytest.mark.parametrize(
    ("printed", "new", "word"),
    [
        (80.0, 89.0, "better"),  # nearer from below
        (80.0, 91.0, "better"),  # on the other side, and nearer
        (80.0, 70.0, "worse"),
        (99.0, 91.0, "better"),  # nearer from above
        (99.0, 80.0, "worse"),  # beyond the level, and farther
        (89.0, 99.0, "worse"),
    ],
)
def test_coverage_is_better_where_it_is_nearer_to_the_level(monkeypatch, printed, new, word):
    cells = paper.published_cells()
    i = cells.index(find(cells, dataset="ww", level=0.90, metric="picp", model="trained"))
    cells[i] = cells[i]._replace(mean=printed, std=0.2)
    monkeypatch.setattr(module, "published_cells", lambda: cells)
    judged = verdicts(made_up(moved("picp", "trained", 0.90, new)))
    verdict = find(judged, dataset="ww", level=0.90, metric="picp", model="trained")
    assert verdict.refuted == word
    assert verdict.difference == pytest.approx(new - printed)


@pytest.mark.parametrize(("p", "word"), [(0.00113, "worse"), (0.00114, "no")])
def test_the_line_is_at_5_per_cent_with_holm_over_the_44(monkeypatch, p, word):
    def exchanged(ours, means, spreads, n_theirs):
        assert ours.shape == (44, N) and means.shape == spreads.shape == (44,) and n_theirs == 5
        found = np.ones(44)
        found[0] = p  # 0.05 / 44 is 0.001136
        return Exchange(found, np.ones(44))

    monkeypatch.setattr(module, "exchange", exchanged)
    first = verdicts(made_up(lambda c, y: y + 1))[0]
    assert first.p_holm == pytest.approx(44 * p) and first.refuted == word


def test_spreads_are_judged_in_a_family_of_their_own(monkeypatch):
    judged = verdicts(
        made_up(lambda c, y: c.mean + (y - c.mean) * (12 if c.dataset == "pp" else 1))
    )
    for v in judged:
        assert v.refuted == "no" and (v.p_spread_holm < 0.05) == (v.dataset == "pp")


@pytest.mark.parametrize(("metric", "unit"), [("rmse", 100), ("picp", None), ("pinaw", 100)])
def test_equivalent_is_what_two_one_sided_tests_show(metric, unit):
    key = {"dataset": "pp", "level": 0.95, "metric": metric, "model": "trained"}
    v = find(verdicts(made_up(lambda c, y: y + 0.1)), **key)
    share = 1 if unit is None else unit / v.paper_mean
    assert v.margin == pytest.approx(share * smallest_margin(0.1, v.our_std, N, v.paper_std, 5))
    perfect = smallest_margin(0, 0, math.inf, v.paper_std, 5)
    no_difference = smallest_margin(0, v.our_std, N, v.paper_std, 5)
    assert v.best == pytest.approx(share * min(perfect, no_difference))
    for k, margin in enumerate([5, 10] if unit else [1, 2]):
        assert (v.p_equal[k] < 0.05) == (v.margin < margin)
        p = equal_means_p(0.1, margin / share, v.our_std, N, v.paper_std, 5)
        assert v.p_equal[k] == pytest.approx(p) and p <= v.p_equal_holm[k]
        assert v.p_best_holm[k] <= v.p_equal_holm[k]
    assert v.equivalent == (v.p_equal[0] < 0.05)


def test_a_difference_is_in_pooled_spreads_of_both():
    # Ours 3 times theirs: the pooled variance of fifty and five runs is (49 * 9 + 4) / 53 of it.
    judged = compared(made_up(lambda c, y: c.mean + c.std * (2 + 3 * SPREAD)))
    assert all(v.difference_in_std == pytest.approx(2 / math.sqrt(445 / 53)) for v in judged)
    assert [v[:4] for v in judged] == [c[1:5] for c in paper.published_cells()]


def test_without_any_spread_a_difference_is_infinite_or_none(monkeypatch):
    cells = [c._replace(std=0.0) for c in paper.published_cells()]
    monkeypatch.setattr(module, "published_cells", lambda: cells)
    sizes = {"rmse": -16.0, "picp": 0.0, "pinaw": 16.0}
    for v in verdicts(made_up(lambda c, y: np.full(N, 64.0 + sizes[c.metric]))):
        gap = 64.0 + sizes[v.metric] - v.paper_mean
        assert v.difference_in_std == math.copysign(math.inf, gap) and v.refuted != "no"
    cells = [c._replace(mean=64.0) for c in cells]
    monkeypatch.setattr(module, "published_cells", lambda: cells)
    judged = verdicts(made_up(lambda c, y: np.full(N, 64.0)))
    assert {(v.difference_in_std, v.refuted, v.equivalent) for v in judged} == {(0.0, "no", True)}


def test_only_the_default_mode_and_the_search_count():
    records = made_up()
    noise = [dataclasses.replace(r, mode="authors", rmse=99.0) for r in records]
    noise += [
        dataclasses.replace(r, method="exact", rmse=99.0)
        for r in records
        if r.model == "calibrated"
    ]
    assert compared(records + noise) == compared(records)
    authors = [dataclasses.replace(r, mode="authors") for r in records]
    assert compared(authors + records[:3], mode="authors") == compared(records)


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
        return 23.0 + (SPREAD if cell.model == "trained" else MIXED - 0.01)

    row = find(winners(made_up(change)), dataset="pp", metric="rmse", level=0.90)
    assert (row.winner, row.agrees, row.within_chance) == ("calibrated", False, True)


@pytest.mark.parametrize(("p_holm", "chance"), [(0.0499, False), (0.0501, True)])
def test_a_win_a_hair_beside_the_line_with_holm_over_all_24(p_holm, chance):
    optimize = pytest.importorskip("scipy.optimize")
    noise = MIXED
    gap = optimize.brentq(lambda gap: 24 * corrected_t(noise + gap, 15 / 70)[2] - p_holm, 0, 50)

    def change(cell, values):  # all rows tie but one
        alone = cell[1:5] == ("aids", 0.95, "rmse", "calibrated")
        return 100 * cell.level + (noise + gap if alone else 0 * noise)

    judged = winners(made_up(change))
    row = find(judged, dataset="aids", metric="rmse", level=0.95)
    assert row.winner == "trained" and row.difference == pytest.approx(gap)
    assert row.half == pytest.approx(corrected_t(noise + gap, 15 / 70)[1])
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
