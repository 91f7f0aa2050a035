"""The published values as printed, and verdicts on made-up runs that must and must not pass."""

from __future__ import annotations

import csv
import math

import numpy as np
import pytest

from gt2lite.datasets import data_path, load_dataset
from gt2lite.study import paper

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
        {
            "dataset": dataset,
            "seed": seed,
            "mode": "default",
            "model": model,
            "level": level,
            "method": "search" if model == "calibrated" else "trained",
            **{metric: values[seed] for metric, values in metrics.items()},
            "interval_score": 1.0,
            "alpha": 0.1,
            "reached": level,
            "n_evaluations": 9,
            "n_cal": 1000,
            "n_test": 1000,
            "train_seconds": 10.0,
            "calibrate_seconds": 0.1,
        }
        for (dataset, model, level), metrics in cells.items()
        for seed in range(5)
    ]


def moved(metric, model, level, new_mean, dataset="ww"):
    """Change the mean of one cell."""
    key = (dataset, level, metric, model)
    return lambda c, y: y - y.mean() + new_mean if c[1:5] == key else y


def find(rows, **wanted):
    (row,) = (r for r in rows if all(getattr(r, k) == v for k, v in wanted.items()))
    return row


# ------------------------------------------------------------------- the transcription


def test_every_row_of_both_tables_has_both_models_and_one_bold():
    cells = paper.published_cells()
    assert len(cells) == len({c[:5] for c in cells}) == 48
    assert {c[:2] for c in cells} == {
        (t, d) for t in ("I", "II") for d in ("ww", "pm", "aids", "pp")
    }
    assert all(c.level == {"I": 0.90, "II": 0.95}[c.table] for c in cells)
    rows = {}
    for c in cells:
        rows.setdefault(c[:4], []).append((c.model, c.bold))
    assert len(rows) == 24 and sum(c.bold for c in cells) == 24
    for pair in rows.values():
        assert sorted(model for model, _ in pair) == ["calibrated", "trained"]
        assert sum(bold for _, bold in pair) == 1


def test_spot_values():
    cells = paper.published_cells()
    aids = find(cells, dataset="aids", level=0.95, metric="pinaw", model="calibrated")
    assert (aids.mean, aids.std, aids.bold) == (146.41, 9.89, False)
    pm = find(cells, dataset="pm", level=0.90, metric="rmse", model="calibrated")
    assert (pm.mean, pm.std, pm.bold) == (59.67, 4.31, True)
    pp = find(cells, dataset="pp", level=0.95, metric="picp", model="calibrated")
    assert (pp.mean, pp.std, pp.bold) == (95.02, 0.20, True)
    ww = find(cells, dataset="ww", level=0.95, metric="rmse", model="trained")
    assert (ww.mean, ww.std, ww.bold) == (81.15, 3.48, True)


def test_checksums_of_columns_catch_a_slip_of_the_pen():
    cells = paper.published_cells()
    sums = {
        (table, model): (
            round(sum(c.mean for c in cells if (c.table, c.model) == (table, model)), 2),
            round(sum(c.std for c in cells if (c.table, c.model) == (table, model)), 2),
        )
        for table in ("I", "II")
        for model in ("trained", "calibrated")
    }
    assert sums == {
        ("I", "trained"): (806.54, 43.12),
        ("I", "calibrated"): (836.07, 49.95),
        ("II", "trained"): (878.73, 29.21),
        ("II", "calibrated"): (933.02, 38.55),
    }


def test_the_calibrated_rmse_stands_in_both_tables_which_leaves_44_numbers():
    cells = paper.published_cells()
    rmse = [c for c in cells if (c.metric, c.model) == ("rmse", "calibrated")]
    assert len(rmse) == 8
    assert len({(c.dataset, c.mean, c.std) for c in rmse}) == 4  # 48 - 4 = 44


def test_text_and_tables_disagree_on_aids_and_pp_at_90_only():
    cells = {c[:5]: c.mean for c in paper.published_cells()}
    values = paper.text_values()
    assert len(values) == 8
    wrong = [
        (v.dataset, v.level, v.value, cells[v[1:6]]) for v in values if cells[v[1:6]] != v.value
    ]
    assert wrong == [("aids", 0.90, 87.42, 87.88), ("pp", 0.90, 87.86, 89.88)]


def test_settings_are_those_of_our_data():
    settings = paper.settings()
    for name in ("ww", "pm", "aids", "pp"):
        n_rows, n_inputs = load_dataset(name).X.shape
        assert (settings[f"{name}_rows"], settings[f"{name}_inputs"]) == (n_rows, n_inputs)
    for level in (90, 95):
        lower, upper = settings[f"tau_lower_{level}"], settings[f"tau_upper_{level}"]
        assert upper - lower == pytest.approx(level / 100) and lower + upper == pytest.approx(1)
    shares = [settings[f"{part}_share"] for part in ("train", "calibration", "test")]
    assert sum(shares) == pytest.approx(1)
    assert settings["train_share_direct"] == pytest.approx(shares[0] + shares[1])


def test_every_published_number_has_a_place_and_no_field_is_empty():
    for name in ("tables", "text", "claims", "settings"):
        with data_path("paper", f"{name}.csv").open(encoding="utf-8") as file:
            for row in csv.DictReader(file):
                assert None not in row and all(row.values()), row
    ids = [claim.id for claim in paper.claims()]
    assert len(ids) == len(set(ids))


# ------------------------------------------------------------------------ the verdicts


def test_the_published_numbers_agree_with_themselves():
    verdicts = paper.verdicts(made_up())
    assert [v.verdict for v in verdicts] == ["agrees"] * 48
    for v in verdicts:
        assert v.our_mean == pytest.approx(v.paper_mean) and v.our_std == pytest.approx(v.paper_std)
        assert v.difference == pytest.approx(0, abs=1e-9) and v.p_holm == 1 and v.n == 5


@pytest.mark.parametrize("metric", ["rmse", "pinaw"])
@pytest.mark.parametrize("model", ["trained", "calibrated"])
@pytest.mark.parametrize(("sigmas", "word"), [(-10, "better"), (10, "differs")])
def test_ten_sigmas_are_better_or_differ(metric, model, sigmas, word):
    cell = find(paper.published_cells(), dataset="ww", level=0.90, metric=metric, model=model)
    verdicts = paper.verdicts(made_up(moved(metric, model, 0.90, cell.mean + sigmas * cell.std)))
    verdict = find(verdicts, dataset="ww", level=0.90, metric=metric, model=model)
    assert verdict.verdict == word and verdict.p_holm < 0.05
    assert verdict.difference_in_std == pytest.approx(sigmas)
    assert metric.upper() in verdict.reason
    assert sum(v.verdict != "agrees" for v in verdicts) == 1


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
    monkeypatch.setattr(paper, "published_cells", lambda: cells)
    verdicts = paper.verdicts(made_up(moved("picp", "trained", 0.90, new)))
    verdict = find(verdicts, dataset="ww", level=0.90, metric="picp", model="trained")
    assert verdict.verdict == word
    assert verdict.difference == pytest.approx(new - printed)
    assert f"{abs(new - 90):.2f}, theirs {abs(printed - 90):.2f}" in verdict.reason


@pytest.mark.parametrize(("sigmas", "word"), [(2, "agrees"), (2.8, "agrees"), (3.4, "differs")])
def test_the_line_is_at_5_per_cent_with_holm_over_all_48(sigmas, word):
    # Alone, all three would be beyond chance.
    key = {"dataset": "pp", "level": 0.95, "metric": "rmse", "model": "trained"}
    cell = find(paper.published_cells(), **key)
    change = moved("rmse", "trained", 0.95, cell.mean + sigmas * cell.std, dataset="pp")
    verdict = find(paper.verdicts(made_up(change)), **key)
    assert verdict.p < 0.05 and verdict.p_holm == pytest.approx(48 * verdict.p)
    assert (verdict.p_holm < 0.05) == (word == "differs")
    assert verdict.verdict == word and verdict.difference_in_std == pytest.approx(sigmas)


def test_runs_without_any_spread_are_judged_too():
    verdicts = paper.verdicts(made_up(lambda c, y: np.full(5, c.mean)))
    assert {v.verdict for v in verdicts} == {"agrees"}
    assert all(v.our_std == pytest.approx(0, abs=1e-9) for v in verdicts)
    verdicts = paper.verdicts(made_up(lambda c, y: np.full(5, c.mean + 20 * c.std)))
    assert all(v.verdict == "differs" for v in verdicts if v.metric != "picp")


def test_only_the_default_mode_and_the_search_count():
    records = made_up()
    noise = [r | {"mode": "authors", "rmse": 99.0} for r in records]
    noise += [r | {"method": "exact", "rmse": 99.0} for r in records if r["model"] == "calibrated"]
    assert paper.verdicts(records + noise) == paper.verdicts(records)


# ------------------------------------------------------------------------- the winners


def test_the_paper_follows_its_own_rule_in_all_24_rows():
    rows = paper.bold_rows()
    assert len(rows) == 24
    assert all(row.follows_rule for row in rows)
    # Coverage is always won by the calibrated model, width by the trained one.
    assert {(row.metric, row.bold) for row in rows if row.metric != "rmse"} == {
        ("picp", "calibrated"),
        ("pinaw", "trained"),
    }


def test_the_published_numbers_have_the_published_winners():
    for winner, row in zip(paper.winners(made_up()), paper.bold_rows(), strict=True):
        assert winner[:4] == row[:4] and winner.agrees
        assert winner.difference == pytest.approx(row.difference)


def test_the_closest_row_of_the_paper_is_a_coin_toss():
    row = find(paper.bold_rows(), dataset="pp", metric="picp", level=0.90)
    assert row.bold == "calibrated" and row.difference == pytest.approx(-0.02)
    assert row.p == pytest.approx(paper.welch(0.12, 1.23, 5, 0.14, 1.39, 5)) and row.p > 0.9


def test_a_row_won_by_the_other_model_beyond_chance():
    # Trained 10 below the level becomes 90 +- 0.1; calibrated goes to 95 +- 0.1, from above.
    def change(cell, values):
        if (cell.dataset, cell.metric, cell.level) != ("ww", "picp", 0.90):
            return values
        return (90.0 if cell.model == "trained" else 95.0) + 0.1 * SPREAD**2

    row = find(paper.winners(made_up(change)), dataset="ww", metric="picp", level=0.90)
    assert (row.bold, row.winner, row.agrees) == ("calibrated", "trained", False)
    assert row.difference == pytest.approx(5)
    assert not row.within_chance


def test_coverages_on_two_sides_of_the_level_are_compared_by_their_distance():
    # 91 +- and 89.5 +-: distances 1 and 0.5 in the mean.
    def change(cell, values):
        if (cell.dataset, cell.metric, cell.level) != ("pm", "picp", 0.90):
            return values
        return (91.0 if cell.model == "trained" else 89.5) + 0.01 * SPREAD

    row = find(paper.winners(made_up(change)), dataset="pm", metric="picp", level=0.90)
    assert (row.winner, row.agrees, row.within_chance) == ("calibrated", True, False)
    assert row.difference == pytest.approx(-0.5)


def test_a_win_by_a_hair_is_within_chance():
    def change(cell, values):
        if (cell.dataset, cell.metric, cell.level) != ("pp", "rmse", 0.90):
            return values
        return 23.0 + (SPREAD if cell.model == "trained" else SPREAD[[3, 0, 4, 1, 2]] - 0.01)

    row = find(paper.winners(made_up(change)), dataset="pp", metric="rmse", level=0.90)
    assert (row.winner, row.agrees, row.within_chance) == ("calibrated", False, True)


def test_equal_runs_have_no_winner():
    row = paper.winners(made_up(lambda c, y: 100 * c.level + SPREAD))[0]
    assert (row.winner, row.difference, row.p, row.within_chance) == ("tie", 0, 1, True)


def test_a_bold_value_that_is_not_the_best_is_seen(monkeypatch):
    cells = [
        c._replace(bold=not c.bold) if (c.dataset, c.metric, c.level) == ("pp", "picp", 0.95) else c
        for c in paper.published_cells()
    ]
    monkeypatch.setattr(paper, "published_cells", lambda: cells)
    wrong = [w for w in paper.bold_rows() if not w.follows_rule]
    assert [(w.dataset, w.metric, w.level) for w in wrong] == [("pp", "picp", 0.95)]


# -------------------------------------------------------------------------- the errors


@pytest.mark.parametrize("judge", [paper.verdicts, paper.winners])
def test_incomplete_records_are_named(judge):
    records = made_up()
    with pytest.raises(ValueError, match=r"at least 2 seeds of mode 'default', got \[\]"):
        judge([])
    with pytest.raises(ValueError, match=r"at least 2 seeds of mode 'default', got \[3\]"):
        judge([r for r in records if r["seed"] == 3])
    with pytest.raises(ValueError, match=r"lack aids trained 0.9 \(trained\); aids calibrated 0.9"):
        judge([r for r in records if r["dataset"] != "aids"])
    with pytest.raises(ValueError, match=r"lack pp calibrated 0.95 \(search\) seed 1, 4$"):
        judge(
            [
                r
                for r in records
                if (r["dataset"], r["model"], r["level"]) != ("pp", "calibrated", 0.95)
                or r["seed"] not in (1, 4)
            ]
        )
    with pytest.raises(ValueError, match="and 10 more"):
        judge([r | {"method": "exact"} for r in records])


def test_a_run_twice_or_without_a_number_is_an_error():
    records = made_up()
    with pytest.raises(ValueError, match=r"hold ww trained 0.9 \(trained\) twice for seed 2"):
        paper.verdicts([*records, records[2]])
    with pytest.raises(ValueError, match="a record lacks picp, seed: "):
        paper.verdicts([{k: v for k, v in records[0].items() if k not in ("picp", "seed")}])
    records[0] |= {"rmse": math.nan}
    with pytest.raises(ValueError, match=r"rmse of ww trained 0.9 \(trained\).*for seed 0"):
        paper.verdicts(records)
