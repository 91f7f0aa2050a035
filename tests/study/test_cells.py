"""Verdicts and winners on made-up runs that must and must not pass."""

from __future__ import annotations

import functools
import math

import numpy as np
import pandas as pd
import pytest
from made_up import records
from scipy import optimize

from study import cells, paper
from study.cells import against_alliance, beside, bold_rows, by_cell, values, verdicts, winners
from study.statistics import beyond_p, corrected_t, smallest_margin, welch

# Fifty seeds with mean 0 and std (ddof 1) 1.
N = 50
SPREAD = (np.arange(N) - (N - 1) / 2) / np.arange(N).std(ddof=1)
MIXED = np.random.default_rng(0).permutation(SPREAD)
PRINTED = paper.cells()


@pytest.fixture(autouse=True)
def few_draws(monkeypatch):
    """Draw runs less often than the study does."""
    for name in ("exchange", "joint_exchange_p"):
        monkeypatch.setattr(cells, name, functools.partial(getattr(cells, name), draws=4000))


def made_up(change=None, published=PRINTED):
    """Runs with exactly the published means and spreads; `change` maps a cell to its values."""
    values = {}
    for cell in published.itertuples():
        y = cell.mean + cell.std * SPREAD
        y = y if change is None else change(cell, y)
        values.setdefault((cell.dataset, cell.model, cell.level), {})[cell.metric] = y / 100
    return records(
        {"dataset": dataset, "seed": seed, "model": model, "level": level}
        | {"method": "search" if model == "calibrated" else "trained"}
        | {metric: y[seed] for metric, y in metrics.items()}
        for (dataset, model, level), metrics in values.items()
        for seed in range(N)
    )


def place(cell):
    return cell.dataset, cell.level, cell.metric, cell.model


def find(frame, **wanted):
    """The one row that is as wanted."""
    for name, value in wanted.items():
        frame = frame[frame[name] == value]
    assert len(frame) == 1
    return frame.iloc[0]


# ------------------------------------------------------------------------ the verdicts


def test_the_published_numbers_agree_with_themselves_and_the_calibrated_rmse_counts_once():
    itself = verdicts(made_up(), PRINTED)
    assert (itself.refuted == "no").all() and (itself.p_holm == 1).all() and (itself.n == N).all()
    np.testing.assert_allclose(itself.our_mean, itself.paper_mean)
    np.testing.assert_allclose(itself.our_std, itself.paper_std)
    assert (itself.p_std > 0.1).all()
    assert (itself.best <= itself.margin).all() and (itself.margin < 1.2 * itself.best).all()
    found, own = cells.shown_within(itself), itself[~itself.repeated]
    assert found.shown["near"] == own.equivalent.sum() <= found.shown["wide"]
    assert (found.shown <= found.best).all() and (found.shown_holm <= found.shown).all()
    again = itself[itself.repeated]
    assert len(again) == 4
    assert set(zip(again.metric, again.model, again.level, strict=True)) == {
        ("rmse", "calibrated", 0.95)
    }
    for row in again.itertuples():
        first = find(itself, dataset=row.dataset, metric="rmse", model="calibrated", level=0.90)
        assert all(first[name] == getattr(row, name) for name in ("p", "p_std", "margin", "best"))


PLANTED = {  # cell: printed mean, mean of our runs, verdict
    ("ww", 0.90, "rmse", "trained"): (80.0, 70.0, "better"),
    ("ww", 0.90, "pinaw", "trained"): (50.0, 60.0, "worse"),
    ("pm", 0.90, "picp", "trained"): (80.0, 91.0, "better"),  # on the other side, and nearer
    ("aids", 0.90, "picp", "trained"): (99.0, 80.0, "worse"),  # beyond the level, and farther
}


def test_ten_sigmas_are_better_or_worse_and_nothing_else_is_refuted():
    printed = PRINTED.set_index(paper.CELL)
    for cell, (mean, _, _) in PLANTED.items():
        printed.loc[cell, ["mean", "std"]] = mean, 1.0
    printed = printed.reset_index()[PRINTED.columns]

    def change(cell, y):
        return y - y.mean() + PLANTED[place(cell)][1] if place(cell) in PLANTED else y

    judged = verdicts(made_up(change, printed), printed).set_index(paper.CELL)
    for cell, (mean, ours, word) in PLANTED.items():
        found = judged.loc[cell]
        assert found.refuted == word and not found.equivalent
        assert found.difference == pytest.approx(ours - mean) == found.difference_in_std
        assert found.p == pytest.approx(2 / 4001) and found.p_holm == pytest.approx(44 * found.p)
    assert (judged.refuted != "no").sum() == len(PLANTED)


def test_the_line_is_at_5_percent_with_holm_over_the_44(monkeypatch):
    for p, word in {0.00113: "worse", 0.00114: "no"}.items():  # 0.05 / 44 is 0.001136

        def exchanged(ours, means, spreads, n_theirs, p=p):
            assert ours.shape == (44, N) and n_theirs == 5
            return np.r_[p, np.ones(43)], np.ones(44)

        monkeypatch.setattr(cells, "exchange", exchanged)
        first = verdicts(made_up(lambda c, y: y + 1), PRINTED).iloc[0]
        assert first.p_holm == pytest.approx(44 * p) and first.refuted == word


def test_results_that_pass_alone_may_be_too_far_together():
    def small(cell, y):  # 0.9 standard deviations, in every other result of PP
        here = cell.dataset == "pp" and cell.metric != "rmse"
        mixed = cell.mean + cell.std * np.random.default_rng(cell.Index).permutation(SPREAD)
        return mixed + (0.9 * cell.std if here else 0)

    rows = made_up(small)
    assert (verdicts(rows, PRINTED).refuted == "no").all()
    found = cells.together(rows, PRINTED)
    assert found["pp"] < 0.05 < found[["ww", "pm", "aids"]].min()
    assert cells.together(made_up(), PRINTED)["all"] > 0.99


def test_spreads_are_judged_in_a_family_of_their_own():
    judged = verdicts(
        made_up(lambda c, y: c.mean + (y - c.mean) * (12 if c.dataset == "pp" else 1)), PRINTED
    )
    assert (judged.refuted == "no").all()
    assert ((judged.p_std_holm < 0.05) == (judged.dataset == "pp")).all()


def test_equivalent_is_what_two_one_sided_tests_show():
    judged = verdicts(made_up(lambda c, y: y + 0.1), PRINTED)
    for metric in ("picp", "pinaw"):
        v = find(judged, dataset="pp", level=0.95, metric=metric, model="trained")
        share = 1 if metric == "picp" else 100 / v.paper_mean
        ours = v.our_std, N, v.paper_std, 5
        assert v.margin == pytest.approx(share * smallest_margin(0.1, *ours))
        best = min(smallest_margin(0, *ours), smallest_margin(0, 0, math.inf, v.paper_std, 5))
        assert v.best == pytest.approx(share * best)
        for width, margins in cells.MARGINS.items():
            margin = margins[metric == "picp"]
            p = beyond_p(margin / share, 0.1, *welch(*ours))
            assert v[f"p_equal_{width}"] == pytest.approx(p) and (p < 0.05) == (v.margin < margin)
            assert v[f"p_best_{width}_holm"] <= v[f"p_equal_{width}_holm"] >= p
        assert v.equivalent == (v.p_equal_near < 0.05)


def test_a_difference_is_in_pooled_standard_deviations_of_both():
    # Ours 3 times theirs: the pooled variance of fifty and five runs is (49 * 9 + 4) / 53 of it.
    judged = beside(made_up(lambda c, y: c.mean + c.std * (2 + 3 * SPREAD)), PRINTED)
    np.testing.assert_allclose(judged.difference_in_std, 2 / math.sqrt(445 / 53))


def test_without_any_variation_a_difference_is_infinite_or_none():
    published = PRINTED.assign(std=0.0, mean=64.0)
    wide = published.model == "trained"
    rows = made_up(lambda c, y: np.full(N, c.mean + 16.0 * (c.model == "trained")), published)
    found = verdicts(rows, published)
    assert (found.difference_in_std[wide] > 1e14).all() and (found.refuted[wide] != "no").all()
    assert (found.difference_in_std[~wide] == 0).all() and found.equivalent[~wide].all()
    assert (found.refuted[~wide] == "no").all()


def test_only_the_mode_asked_for_and_the_search_count():
    rows = made_up()
    exact = rows[rows.model == "calibrated"].assign(method="exact", rmse=99.0)
    both = pd.concat([rows, rows.assign(mode="authors", rmse=99.0), exact], ignore_index=True)
    assert beside(both, PRINTED).equals(beside(rows, PRINTED))
    authors = beside(both, PRINTED, mode="authors")
    assert (authors.our_mean[authors.metric == "rmse"] == 9900).all()


@pytest.mark.parametrize("scale", [1.0, 1.3])
def test_other_published_trials_are_judged_by_the_same_rules(scale):
    trials = paper.alliance()
    own, rows = trials[trials.system == "it2-km"], []
    ways = {"none": ("trained", "trained"), "cqr": ("calibrated", "conformal")}
    for (kind, dataset, level), ten in own.groupby(["conformal", "dataset", "level"]):
        if kind in ways:
            model, method = ways[kind]
            cell = {"dataset": dataset, "level": level, "model": model, "method": method}
            picp, pinaw = (np.resize(ten[name] / 100, N) for name in ("picp", "pinaw"))
            rows += [
                cell | {"seed": seed, "picp": picp[seed], "pinaw": scale * pinaw[seed]}
                for seed in range(N)
            ]
    found = against_alliance(records(rows), trials)
    assert len(found) == 4 * 2 * 2 * 2 and (found.n == N).all()
    widths = found.metric == "pinaw"
    np.testing.assert_allclose(found.our_mean, found.paper_mean * np.where(widths, scale, 1))
    precise = widths & (found.dataset == "pp")
    assert (found.equivalent[precise] == (scale == 1)).all()
    assert set(found.refuted[precise]) == {"no" if scale == 1 else "worse"}


# -------------------------------------------------------------------------- the records


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([{"seed": 0}], "2 seeds"),
        ([{"seed": 0}, {"seed": 1}, {"seed": 1}], "duplicate"),
        ([{"seed": 0}, {"seed": 1, "level": 0.95}], "lack"),
        ([{"seed": 0}, {"seed": 1, "picp": np.nan}], "lack picp"),
    ],
)
def test_incomplete_or_repeated_records_are_refused(rows, words):
    with pytest.raises(ValueError, match=words):
        values(by_cell(records(rows)), "picp", [("ww", "trained", 0.9, "trained")])


def test_values_come_in_the_order_of_seeds():
    rows = records([{"seed": 2, "rmse": 3.0}, {"seed": 0, "rmse": 1.0}, {"seed": 1, "rmse": 2.0}])
    found = values(by_cell(rows), "rmse", [("ww", "trained", 0.9, "trained")])
    assert found.tolist() == [[1, 2, 3]]


# ------------------------------------------------------------------------- the winners


def test_the_paper_follows_its_own_rule_in_all_24_rows():
    rows = bold_rows(PRINTED)
    assert len(rows) == 24
    assert (rows.bold == np.where(rows.difference < 0, "calibrated", "trained")).all()
    row = find(rows, dataset="pp", metric="picp", level=0.90)  # the closest one
    assert row.difference == pytest.approx(-0.02)


def test_the_published_numbers_have_the_published_winners():
    found, rows = winners(made_up(), PRINTED), bold_rows(PRINTED)
    assert found.agrees.all()
    np.testing.assert_allclose(found.difference, rows.difference)


@pytest.mark.parametrize(
    ("dataset", "trained", "calibrated", "winner", "difference"),
    [
        ("ww", 90.0, 95.0, "trained", 5),  # against the paper
        ("pm", 91.0, 89.5, "calibrated", -0.5),  # on two sides of the level: distances count
    ],
)
def test_a_row_is_won_beyond_chance(dataset, trained, calibrated, winner, difference):
    def change(cell, values):
        if (cell.dataset, cell.metric, cell.level) != (dataset, "picp", 0.90):
            return values
        mean = trained if cell.model == "trained" else calibrated
        return mean + 0.01 * (SPREAD**2 - (SPREAD**2).mean())

    row = find(winners(made_up(change), PRINTED), dataset=dataset, metric="picp", level=0.90)
    assert (row.winner, row.agrees, row.clear) == (winner, winner == "calibrated", True)
    assert row.difference == pytest.approx(difference)


@pytest.mark.parametrize(("p_holm", "clear"), [(0.0499, True), (0.0501, False)])
def test_a_win_a_hair_beside_the_line_with_holm_over_all_24(p_holm, clear):
    gap = optimize.brentq(lambda gap: 24 * corrected_t(MIXED + gap, 15 / 70).p - p_holm, 0, 50)

    def change(cell, values):  # all rows tie but one
        alone = place(cell) == ("aids", 0.95, "rmse", "calibrated")
        return 100 * cell.level + (MIXED + gap if alone else 0 * MIXED)

    judged = winners(made_up(change), PRINTED)
    row = find(judged, dataset="aids", metric="rmse", level=0.95)
    assert row.winner == "trained" and row.difference == pytest.approx(gap)
    assert row.half == pytest.approx(corrected_t(MIXED + gap, 15 / 70).half)
    assert row.p_holm == pytest.approx(p_holm) and row.clear == clear
    assert set(judged.winner.drop(row.name)) == {"tie"}
