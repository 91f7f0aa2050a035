"""The published values as printed: complete, consistent, and those of our data."""

from __future__ import annotations

import pytest

from gt2lite.datasets import load_dataset
from study import paper


def test_every_row_of_both_tables_has_both_models_and_one_bold():
    cells = paper.cells()
    assert len(cells) == len(cells.drop_duplicates(paper.CELL)) == 48
    assert (cells.level == cells.table.map({"I": 0.90, "II": 0.95})).all()
    rows = cells.groupby(["dataset", "level", "metric"])
    assert len(rows) == 24 and (rows.bold.sum() == 1).all()
    assert (rows.model.agg(lambda m: "+".join(sorted(m))) == "calibrated+trained").all()


def test_checksums_of_columns_catch_a_slip_of_the_pen():
    sums = paper.cells().groupby(["table", "model"])[["mean", "std"]].sum().round(2)
    assert sums.loc[("I", "trained")].tolist() == [806.54, 43.12]
    assert sums.loc[("I", "calibrated")].tolist() == [836.07, 49.95]
    assert sums.loc[("II", "trained")].tolist() == [878.73, 29.21]
    assert sums.loc[("II", "calibrated")].tolist() == [933.02, 38.55]
    cells = paper.cells().set_index(paper.CELL)[["mean", "std", "bold"]]
    assert cells.loc[("aids", 0.95, "pinaw", "calibrated")].tolist() == [146.41, 9.89, False]
    assert cells.loc[("pm", 0.90, "rmse", "calibrated")].tolist() == [59.67, 4.31, True]


def test_text_and_tables_disagree_on_aids_and_pp_at_90_only():
    text = paper.text_values()
    wrong = text[text.value != text.in_table]
    assert len(text) == 8
    assert wrong[["dataset", "level", "value", "in_table"]].to_numpy().tolist() == [
        ["aids", 0.90, 87.42, 87.88],
        ["pp", 0.90, 87.86, 89.88],
    ]


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


def test_no_field_is_empty_and_claims_have_names_of_their_own():
    claims = paper.claims()
    printed = claims.drop(columns=["verdict", "reason"])
    for frame in (paper.cells(), paper.text_values(), printed, paper.alliance()):
        assert not frame.isna().any(axis=None)
    assert claims.id.is_unique


def test_the_trials_of_the_other_study_are_complete_and_as_published():
    trials = paper.alliance()
    sizes = trials.groupby(["dataset", "system", "conformal", "level"]).size()
    assert len(sizes) == 4 * (2 * 5 + 1) * 3 and (sizes == 10).all()
    means = trials.groupby(["dataset", "system", "conformal", "level"])[["picp", "pinaw"]].mean()
    for cell, printed in {
        ("pm", "t1", "split", 0.90): [90.32, 47.78],
        ("pm", "it2-wkm", "cqr", 0.90): [91.12, 63.33],
        ("aids", "it2-km", "none", 0.95): [94.02, 113.61],
        ("pp", "it2-km", "cqr", 0.99): [99.20, 31.92],
    }.items():
        assert means.loc[cell].round(2).tolist() == printed
