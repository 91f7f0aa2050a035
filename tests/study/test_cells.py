"""Verdicts and winners on made-up runs that must and must not pass."""

import functools
import math

import numpy as np
import pandas as pd
import pytest
from made_up import records
from numpy.testing import assert_allclose
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
    rows = {}
    for cell in published.itertuples():
        y = cell.mean + cell.std * SPREAD
        y = y if change is None else change(cell, y)
        method = "search" if cell.model == "calibrated" else "trained"
        for seed in range(N):
            place = {"dataset": cell.dataset, "model": cell.model, "level": cell.level}
            row = rows.setdefault((*place.values(), seed), place | {"seed": seed, "method": method})
            row[cell.metric] = y[seed] / 100
    return records(rows.values())


def place(cell):
    return cell.dataset, cell.level, cell.metric, cell.model


# ------------------------------------------------------------------------ the verdicts


def test_the_published_numbers_agree_with_themselves_and_the_calibrated_rmse_counts_once():
    itself = verdicts(made_up(), PRINTED)
    assert (itself.refuted == "no").all() and (itself.p_holm == 1).all() and (itself.n == N).all()
    assert_allclose(itself[["our_mean", "our_std"]], itself[["paper_mean", "paper_std"]])
    assert (itself.p_std > 0.1).all()
    assert (itself.best <= itself.margin).all() and (itself.margin < 1.2 * itself.best).all()
    found, own = cells.shown_within(itself), itself[~itself.repeated]
    assert found.shown["near"] == own.equivalent.sum() <= found.shown["wide"]
    assert (found.shown <= found.best).all() and (found.shown_holm <= found.shown).all()
    rmse = itself[(itself.metric == "rmse") & (itself.model == "calibrated")]
    assert itself.repeated.sum() == 4 and (rmse.repeated == (rmse.level == 0.95)).all()
    first, again = (rmse[rmse.level == level].set_index("dataset") for level in (0.90, 0.95))
    same = ["p", "p_std", "margin", "best"]
    assert again[same].equals(first[same])


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


@pytest.mark.parametrize(("p", "word"), [(0.00113, "worse"), (0.00114, "no")])
def test_the_line_is_at_5_percent_with_holm_over_the_44(monkeypatch, p, word):
    def exchanged(ours, means, stds, n_theirs):  # 0.05 / 44 is 0.001136
        assert ours.shape == (44, N) and n_theirs == 5
        return np.r_[p, np.ones(43)], np.ones(44)

    monkeypatch.setattr(cells, "exchange", exchanged)
    first = verdicts(made_up(lambda c, y: y + 1), PRINTED).iloc[0]
    assert first.p_holm == pytest.approx(44 * p) and first.refuted == word


def test_results_that_pass_alone_may_be_too_far_together():
    def small(cell, y):  # 0.9 standard deviations, in every other result of PP
        here = cell.dataset == "pp" and cell.metric != "rmse"
        mixed = np.random.default_rng(cell.Index).permutation(SPREAD)
        return cell.mean + cell.std * (mixed + 0.9 * here)

    rows = made_up(small)
    assert (verdicts(rows, PRINTED).refuted == "no").all()
    found = cells.together(rows, PRINTED)
    assert found["pp"] < 0.05 < found[["ww", "pm", "aids"]].min()
    assert cells.together(made_up(), PRINTED)["all"] > 0.99


def test_spreads_are_judged_in_a_family_of_their_own():
    rows = made_up(lambda c, y: c.mean + (y - c.mean) * (12 if c.dataset == "pp" else 1))
    judged = verdicts(rows, PRINTED)
    assert (judged.refuted == "no").all()
    assert ((judged.p_std_holm < 0.05) == (judged.dataset == "pp")).all()


def test_equivalent_is_what_two_one_sided_tests_show():
    judged = verdicts(made_up(lambda c, y: y + 0.1), PRINTED).set_index(paper.CELL)
    for metric in ("picp", "pinaw"):
        v = judged.loc["pp", 0.95, metric, "trained"]
        share = 1 if metric == "picp" else 100 / v.paper_mean
        ours = v.our_std, N, v.paper_std, 5
        assert v.margin == pytest.approx(share * smallest_margin(0.1, *ours))
        best = min(smallest_margin(0, *ours), smallest_margin(0, 0, math.inf, v.paper_std, 5))
        assert v.best == pytest.approx(share * best)
        for width, margins in {"near": (5.0, 1.0), "wide": (10.0, 2.0)}.items():
            margin = margins[metric == "picp"]
            p = beyond_p(margin / share, 0.1, *welch(*ours))
            assert v[f"p_equal_{width}"] == pytest.approx(p) and (p < 0.05) == (v.margin < margin)
            assert v[f"p_best_{width}_holm"] <= v[f"p_equal_{width}_holm"] >= p
        assert v.equivalent == (v.p_equal_near < 0.05)


def test_only_the_mode_asked_for_and_the_search_count():
    rows = made_up()
    exact = rows[rows.model == "calibrated"].assign(method="exact", rmse=99.0)
    both = pd.concat([rows, rows.assign(mode="authors", rmse=99.0), exact], ignore_index=True)
    assert beside(both, PRINTED).equals(beside(rows, PRINTED))
    authors = beside(both, PRINTED, mode="authors")
    assert (authors.our_mean[authors.metric == "rmse"] == 9900).all()


def test_another_way_to_calibrate_behind_the_tables_has_its_own_verdicts():
    rows = made_up()
    own = rows[rows.model == "calibrated"]
    far = own.pinaw.where((own.dataset != "pm") | (own.level != 0.9), 1.5 * own.pinaw)
    table = own.assign(method="table", step=0.1, interpolation="linear")
    every = pd.concat([rows, table, own.assign(method="exact", pinaw=far)], ignore_index=True)
    found = cells.by_way(every, PRINTED)
    assert found.index.tolist() == ["search", "table 0.1", "exact"]
    assert found.loc["search"].drop("where").equals(found.loc["table 0.1"].drop("where"))
    assert found.refuted.tolist() == [0, 0, 1] and found["where"]["exact"] == "PINAW, PM 90%"
    assert found.largest["exact"] == pytest.approx(50) and abs(found.largest["search"]) < 1e-9
    joint = found[["all", "ww", "pm"]]
    assert (joint.drop("exact") == 1).all(axis=None)
    assert joint.ww["exact"] == 1 and joint.pm["exact"] < 0.05 < joint["all"]["exact"] < 1


def test_other_published_trials_are_judged_by_the_same_rules():
    trials = paper.alliance()
    ways = {"none": "trained", "cqr": "calibrated"}
    own = trials[(trials.system == "it2-km") & trials.conformal.isin(ways)]
    own = pd.concat([own.assign(seed=own.trial + 10 * i) for i in range(5)])  # theirs, five times
    own = own.assign(model=own.conformal.map(ways), picp=own.picp / 100, pinaw=own.pinaw / 100)
    own["method"] = own.model.replace("calibrated", "conformal")
    own.loc[(own.dataset == "pp") & (own.conformal == "cqr"), "pinaw"] *= 1.3
    keys = ["dataset", "level", "seed", "model", "method", "picp", "pinaw"]
    found = against_alliance(records(own[keys].to_dict("records")), trials)
    assert len(found) == 4 * 2 * 2 * 2 and (found.n == N).all()
    widths = found[(found.metric == "pinaw") & (found.dataset == "pp")].set_index("model")
    wider, same = widths.loc["calibrated"], widths.loc["trained"]
    assert_allclose(wider.our_mean, 1.3 * wider.paper_mean)
    assert set(wider.refuted) == {"worse"} and not wider.equivalent.any()
    assert set(same.refuted) == {"no"} and same.equivalent.all()


def test_incomplete_or_repeated_records_are_refused():
    one, two = {"seed": 0}, {"seed": 1}
    wrong = {"2 seeds": [one], "duplicate": [one, two, two], "lack": [one, two | {"level": 0.95}]}
    for words, rows in (wrong | {"lack picp": [one, two | {"picp": np.nan}]}).items():
        with pytest.raises(ValueError, match=words):
            values(by_cell(records(rows)), "picp", [("ww", "trained", 0.9, "trained")])


# ------------------------------------------------------------------------- the winners


def test_the_paper_follows_its_own_rule_and_its_numbers_have_its_winners():
    rows, found = bold_rows(PRINTED), winners(made_up(), PRINTED)
    assert len(rows) == 24
    assert (rows.bold == np.where(rows.difference < 0, "calibrated", "trained")).all()
    closest = rows.set_index(cells.ROW).difference["pp", 0.90, "picp"]
    assert closest == pytest.approx(-0.02)
    assert found.agrees.all()
    assert_allclose(found.difference, rows.difference)


@pytest.mark.parametrize(("p_holm", "clear"), [(0.0499, True), (0.0501, False)])
def test_a_win_a_hair_beside_the_line_with_holm_over_all_24(p_holm, clear):
    gap = optimize.brentq(lambda gap: 24 * corrected_t(MIXED + gap, 15 / 70).p - p_holm, 0, 50)

    def change(cell, values):  # all rows tie but one
        alone = place(cell) == ("aids", 0.95, "rmse", "calibrated")
        return 100 * cell.level + (MIXED + gap if alone else 0 * MIXED)

    judged = winners(made_up(change), PRINTED).set_index(cells.ROW)
    row = judged.loc["aids", 0.95, "rmse"]
    assert row.winner == "trained" and row.difference == pytest.approx(gap)
    assert row.half == pytest.approx(corrected_t(MIXED + gap, 15 / 70).half)
    assert row.p_holm == pytest.approx(p_holm) and row.clear == clear
    assert set(judged.winner.drop(row.name)) == {"tie"}
