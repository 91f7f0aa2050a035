"""The protocol: the paper's design, every method at every level, equal to the stored runs."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gt2lite.metrics import picp
from gt2lite.recipe import Recipe
from gt2lite.system import Planes
from gt2lite.training import train
from study import paper, protocol, results
from study.protocol import CURVES, SETTINGS, run, split

# enough training for the envelope to cover something, little enough for a test
SHORT = Recipe(n_rules=2, epochs=4, learning_rate=0.02)


def test_the_design_is_that_of_the_paper():
    settings = paper.settings()
    assert tuple(sorted(paper.cells().level.unique())) == protocol.LEVELS
    assert protocol.MODELS["baseline"] == settings["baseline_level"]
    assert (settings["table_step"], "linear") == protocol.PAPER_TABLE
    assert len(protocol.SEEDS) == settings["repetitions"]
    overlap = settings["test_share"] / settings["train_share"]
    assert pytest.approx(overlap) == protocol.TEST_OVER_TRAIN


@pytest.fixture(scope="module")
def runs():
    return {model: run("pp", 0, model, recipe=SHORT) for model in protocol.MODELS}


def test_a_baseline_is_evaluated_by_every_method_at_every_level(runs):
    rows = protocol.all_records(runs.values())
    assert list(rows.columns) == list(results.load("reference").columns)
    kinds = rows[["model", "method", "level", "step", "interpolation"]]
    assert len(kinds.drop_duplicates()) == len(rows) == 1 + len(protocol.CALIBRATIONS) * 2 + 2
    assert set(rows.method) == {"trained", "search", "table", "exact", "conformal"}
    assert rows.level[rows.method == "trained"].tolist() == [0.99, 0.90, 0.95]
    data, baseline = split("pp", 0), runs["baseline"]
    planes = Planes(baseline.params, data.X_cal)
    for row in baseline.records.query("method == 'exact'").itertuples():
        assert picp(data.y_cal, *planes(row.alpha)) == row.reached >= row.level


def test_trained_models_learn_other_levels_on_more_rows(runs):
    data = split("pp", 0)
    both = np.vstack([data.X_train, data.X_cal]), np.concatenate([data.y_train, data.y_cal])
    for model, (X, y) in {"baseline": (data.X_train, data.y_train), "trained_90": both}.items():
        recipe = replace(SHORT, coverage=protocol.MODELS[model])
        params = train(X, y, recipe, seed=0, progress=False).params
        assert_array_equal(params["a"], runs[model].params["a"])


def test_a_level_out_of_reach_ends_at_the_widest_plane_and_is_shown_as_a_miss():
    untrained = run("pp", 0, "baseline", recipe=replace(SHORT, epochs=1, learning_rate=1e-9))
    rows = untrained.records[untrained.records.model == "calibrated"]
    ranked = rows.method.isin(["exact", "conformal"])  # these go on beyond the envelope
    beyond, ended = rows[ranked], rows[~ranked]
    assert (beyond.alpha < 0.01).all() and (beyond.reached >= beyond.level).all()
    assert ((beyond.margin > 0) == (beyond.alpha == 0)).all()
    assert (ended.alpha == 0.01).all() and (ended.reached < ended.level - 0.05).all()


def test_a_perturbed_start_is_another_run_that_starts_a_bit_beside(runs):
    moved = run("pp", 0, "baseline", recipe=SHORT, perturbation=1).params["a"]
    own = runs["baseline"].params["a"]
    assert not np.array_equal(moved, own)
    assert_allclose(moved, own, atol=1e-6)


@pytest.mark.slow
def test_a_stored_run_is_computed_again_within_tolerance():
    rows = run("aids", 0, "baseline").records
    found = results.compare(rows, results.load("reference"), results.rounding_tolerance())
    assert (found.n == len(rows)).all() and found.beyond.sum() == 0


@pytest.mark.parametrize("kind", CURVES)
def test_a_curve_through_a_table_meets_its_pairs_and_may_rise(kind):
    table = np.array([[0.2, 0.6], [0.4, 0.5], [0.5, 0.3], [0.9, 0.25], [1.0, 0.1]])
    for phi, alpha in table:
        assert protocol.curve_plane(table, kind, phi) == pytest.approx(alpha, abs=1e-9)
    found = [protocol.curve_plane(table, kind, level) for level in np.linspace(0.1, 0.95, 50)]
    assert (np.diff(found) > 0).any() and min(found) >= 0.01 and max(found) <= 1
    assert protocol.curve_plane(table[:1], kind, 0.9) == 0.6


@pytest.mark.parametrize(("mode", "column"), [("default", 0), ("authors", 1)])
def test_none_and_all_of_the_settings_are_the_modes_of_the_protocol(mode, column):
    settings = {name: options[column] for name, options in SETTINGS.items()}
    one = protocol.run_ablation("aids", 0, **settings, recipe=SHORT)
    record = run("aids", 0, "baseline", mode, recipe=SHORT).records.iloc[0]
    for metric in ("rmse", "picp", "pinaw"):
        assert one[metric] == record[metric]


def test_every_combination_is_stored_for_every_set_and_seed():
    stored = results.load("ablation")
    assert stored[["dataset", "seed", *SETTINGS]].to_dict("records") == protocol.ablations()
