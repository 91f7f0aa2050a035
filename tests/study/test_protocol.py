"""Facts about the protocol: complete, and judged at every level."""

from dataclasses import replace

import numpy as np
import pytest
from short_runs import FEW, SHORT
from study.interpolations import CURVES, CurveTable
from study.plans import records, tasks
from study.runner import key_of

from study import processors, protocol
from study.protocol import Task


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
        if row.method in ("exact", "conformal"):  # these go on beyond the envelope
            assert row.alpha < 0.01 and row.level <= row.reached < row.level + 0.01
            assert (row.margin > 0) == (row.alpha == 0)
            assert abs(row.picp - row.level) < 0.05
        else:
            assert row.alpha == 0.01 and row.margin == 0 and row.reached < row.level - 0.05


def test_a_nudged_start_is_another_run_that_starts_a_bit_beside(runs):
    task = Task("pp", 0, "baseline", recipe=SHORT, nudge=1)
    nudged = task.execute()
    assert key_of(task) != key_of(FEW[3])
    assert not np.array_equal(nudged.params["a"], runs[3].params["a"])
    np.testing.assert_allclose(nudged.params["a"], runs[3].params["a"], atol=1e-6)


def test_what_a_processor_is_held_to_must_be_said_before_numpy_is_loaded(monkeypatch):
    task = Task("pp", 0, "baseline", recipe=SHORT, processor="sse4")
    assert key_of(task) != key_of(FEW[3])
    monkeypatch.delenv("OPENBLAS_CORETYPE", raising=False)
    with pytest.raises(RuntimeError, match="'sse4' must be started with NPY_DISABLE_CPU_FEATURES"):
        task.execute()
    for name, value in processors.HELD["sse4"].items():
        monkeypatch.setenv(name, value)
    processors.check("sse4")


@pytest.mark.parametrize("kind", CURVES)
def test_a_curve_through_a_table_meets_its_pairs_and_may_rise(kind):
    y = np.linspace(0, 1, 101)
    steps = np.array([0.05, 0.6, 0.62, 0.64, 1.0])  # coverage that falls in jumps

    def interval(alpha):
        return np.zeros(101), np.full(101, np.interp(1 - alpha, np.linspace(0, 0.99, 5), steps))

    table = CurveTable(0.25, kind).fit(interval, y)
    for phi, alpha in table.table[:-1]:
        assert table.alpha(phi) == pytest.approx(alpha, abs=1e-9)
    planes = table.alpha(np.linspace(0.1, 0.95, 50))
    assert (np.diff(planes) > 0).any()
    with pytest.raises(ValueError, match="interpolation must be one of 'spline', 'polynomial'"):
        CurveTable(0.25, "linear")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"dataset": "iris"}, "'ww', 'pm', 'aids', 'pp'"),
        ({"seed": -1}, "seed"),
        ({"model": "best"}, "'baseline', 'trained_90', 'trained_95'"),
        ({"mode": "mine"}, "'default', 'authors'"),
        ({"processor": "z80"}, "'sse4'"),
    ],
)
def test_an_unknown_name_gets_the_known_ones(change, words):
    with pytest.raises(ValueError, match=words):
        replace(FEW[0], **change)
