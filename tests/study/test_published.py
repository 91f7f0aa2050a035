"""The published values as printed: complete, consistent, and those of our data."""

import pytest

from gt2lite.datasets import DATASETS, load_dataset
from study import paper


def test_every_row_of_both_tables_has_both_models_and_one_bold():
    cells = paper.cells()
    assert len(cells) == len(cells.drop_duplicates(paper.CELL)) == 48
    assert (cells.level == cells.table.map({"I": 0.90, "II": 0.95})).all()
    rows = cells.groupby(["dataset", "level", "metric"])
    assert len(rows) == 24 and (rows.bold.sum() == 1).all()
    assert (rows.model.agg(lambda m: "+".join(sorted(m))) == "calibrated+trained").all()
    claims = paper.claims()
    assert claims.id.is_unique
    for frame in (cells, paper.text_values(), claims.drop(columns=["verdict", "reason"])):
        assert not frame.isna().any(axis=None)


def test_checksums_of_columns_catch_a_slip_of_the_pen():
    sums = paper.cells().groupby(["table", "model"])[["mean", "std"]].sum().round(2)
    assert sums.T.to_dict("list") == {
        ("I", "trained"): [806.54, 43.12],
        ("I", "calibrated"): [836.07, 49.95],
        ("II", "trained"): [878.73, 29.21],
        ("II", "calibrated"): [933.02, 38.55],
    }
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
    for name in DATASETS:
        shape = settings[f"{name}_rows"], settings[f"{name}_inputs"]
        assert load_dataset(name).X.shape == shape
    for level in (90, 95):
        lower, upper = settings[f"tau_lower_{level}"], settings[f"tau_upper_{level}"]
        assert (upper - lower, lower + upper) == pytest.approx((level / 100, 1))
    shares = [settings[f"{part}_share"] for part in ("train", "calibration", "test")]
    assert (sum(shares), shares[0] + shares[1]) == pytest.approx(
        (1, settings["train_share_direct"])
    )


def test_the_trials_of_the_other_study_are_complete_and_as_published():
    cells = paper.alliance().groupby(["dataset", "system", "conformal", "level"])
    assert len(cells) == 4 * (2 * 5 + 1) * 3 and (cells.size() == 10).all()
    means = cells[["picp", "pinaw"]].mean().round(2)
    assert means.loc["pm", "t1", "split", 0.90].tolist() == [90.32, 47.78]
    assert means.loc["pm", "it2-wkm", "cqr", 0.90].tolist() == [91.12, 63.33]
    assert means.loc["aids", "it2-km", "none", 0.95].tolist() == [94.02, 113.61]
    assert means.loc["pp", "it2-km", "cqr", 0.99].tolist() == [99.20, 31.92]
