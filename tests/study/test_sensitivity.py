"""Sensitivity to rounding of the systems for practice."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from gt2lite import GT2Regressor
from study import sensitivity
from study.results import load
from study.sensitivity import METRICS, evaluate, largest_changes, patients, run_perturbed


def row(system, nudge, rmse, processor=None):
    scores = {"interval_score_90": 200.0, "interval_score_95": 250.0}
    return {"system": system, "nudge": nudge, "processor": processor, "rmse": rmse, **scores}


def test_the_largest_of_all_perturbations_and_processors_is_found():
    own = [row("strong", 0, 50.0), row("strong", 1, 50.5), row("strong", 0, 48.0, "sse4")]
    found = largest_changes(
        pd.DataFrame([*own, row("single", 0, 60.0), row("single", 1, 66.0)])
    ).set_index(["system", "metric"])
    assert found.loc[("strong", "rmse")].tolist() == [50.0, 2.0, 4.0]
    assert found.percent[("single", "rmse")] == pytest.approx(10)
    assert (found.drop(index="rmse", level="metric").largest == 0).all()


def test_a_perturbation_moves_targets_by_so_many_last_bits(monkeypatch):
    given = []
    stub = SimpleNamespace(fit=lambda X, y: given.append(y))
    monkeypatch.setattr(sensitivity, "new_system", lambda system: stub)
    monkeypatch.setattr(sensitivity, "evaluate", lambda *_: dict.fromkeys(METRICS, 1.0))
    for nudge in (0, 10):
        assert run_perturbed("single", nudge)["nudge"] == nudge
    y = patients()[1]
    np.testing.assert_array_equal(given[0], y)
    np.testing.assert_array_equal((given[1] - y) / np.spacing(y), 10)


def test_a_level_is_covered_by_just_its_share_of_the_rows():
    X, y, X_test, y_test = patients()
    reg = GT2Regressor(n_rules=3, epochs=3).fit(X, y)
    assert tuple(evaluate(reg, X_test, y_test)) == METRICS
    lower, upper = reg.predict_interval(X_test, coverage=0.9)
    assert np.sum((lower <= y_test) & (y_test <= upper)) == np.ceil(0.9 * len(y_test))


def test_the_run_and_twenty_perturbations_of_each_system_are_stored():
    rows = pd.concat([load("steadiness"), load("steadiness_sse4")])
    assert (rows.groupby("system").size() == 21).all() and not rows[[*METRICS]].isna().any(
        axis=None
    )
