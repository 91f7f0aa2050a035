"""Facts about the protocol: complete, and judged at every level."""

from dataclasses import replace

import numpy as np
import pytest
from short_runs import FEW, SHORT

from gt2lite.study import protocol
from gt2lite.study.plans import records, tasks
from gt2lite.study.protocol import Task
from gt2lite.study.runner import key_of


def test_the_paper_has_sixty_trainings():
    every = tasks()
    assert len(every) == len(set(every)) == len({key_of(task) for task in every}) == 60


def test_models_differ_in_coverage_and_in_the_rows_that_they_see():
    assert {t.model: t.full_recipe.coverage for t in FEW} == {
        "baseline": 0.99,
        "trained_90": 0.90,
        "trained_95": 0.95,
    }


def test_the_authors_mode_is_scalar_counts_epochs_and_scales_before_the_split():
    task = Task("pp", 0, "baseline", mode="authors")
    assert task.full_recipe.smf == "scalar" and task.full_recipe.bias_correction == "epochs"
    everything = np.concatenate([getattr(task.prepare(), f"y_{part}")
                                 for part in ("train", "cal", "test")])  # fmt: skip
    assert everything.mean() == pytest.approx(0, abs=1e-12)
    assert everything.std() == pytest.approx(1, abs=1e-12)


def test_a_baseline_is_judged_by_every_method_at_every_level(runs):
    rows = records(runs)
    names = ("dataset", "model", "method", "level", "step", "interpolation")
    kinds = [tuple(getattr(row, name) for name in names) for row in rows]
    assert len(kinds) == len(set(kinds)) == 2 * (1 + len(protocol.CALIBRATIONS) * 2 + 2)
    assert {kind[2] for kind in kinds} == {"trained", "search", "table", "exact", "conformal"}
    for row in rows:
        assert row.n_cal + row.n_test < 0.31 * {"aids": 2139, "pp": 9568}[row.dataset]
        assert row.rmse > 0


def test_the_calibration_curve_is_that_of_the_exact_method(runs):
    baseline = runs[3]
    assert baseline.task == Task("pp", 0, "baseline", recipe=SHORT)
    for row in baseline.records:
        if row.method == "exact":
            share = np.mean(baseline.critical_alpha >= row.alpha)
            assert share == row.reached >= row.level


def test_a_level_out_of_reach_ends_at_the_widest_plane_and_is_shown_as_a_miss():
    recipe = replace(SHORT, epochs=1, learning_rate=1e-9)
    untrained = Task("pp", 0, "baseline", recipe=recipe).execute()
    missed = [row for row in untrained.records if row.model == "calibrated"]
    for row in missed:
        assert row.reached < row.level - 0.05
        if row.method == "conformal":  # no guarantee, no number
            assert np.isnan(row.alpha) and np.isnan(row.picp)
        else:
            assert row.alpha == 0.01


def test_a_nudged_start_is_another_run_that_starts_a_bit_beside(runs):
    task = Task("pp", 0, "baseline", recipe=SHORT, nudge=1)
    nudged = task.execute()
    assert key_of(task) != key_of(FEW[3])
    assert not np.array_equal(nudged.params["a"], runs[3].params["a"])
    np.testing.assert_allclose(nudged.params["a"], runs[3].params["a"], atol=1e-6)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"dataset": "iris"}, "'ww', 'pm', 'aids', 'pp'"),
        ({"seed": -1}, "seed"),
        ({"model": "best"}, "'baseline', 'trained_90', 'trained_95'"),
        ({"mode": "mine"}, "'default', 'authors'"),
    ],
)
def test_an_unknown_name_gets_the_known_ones(change, words):
    with pytest.raises(ValueError, match=words):
        replace(FEW[0], **change)
