"""The published values as printed: complete, consistent, and those of our data."""

from __future__ import annotations

import csv

import pytest
from made_up import find

from gt2lite.datasets import data_path, load_dataset
from study import paper


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
