"""How far the systems for practice move with the last bit."""

from dataclasses import asdict, replace
from types import SimpleNamespace

import numpy as np
import pytest

from gt2lite import GT2Regressor
from study import runner, steadiness
from study.steadiness import (
    METRICS,
    NUDGES,
    SYSTEMS,
    Nudged,
    SteadyRecord,
    compared,
    judged,
    moves,
    nudged,
    patients,
)
from study.stored import steady_rows

pytest.importorskip("sklearn")


def row(system, nudge, rmse, processor=""):
    scores = {"interval_score_90": 200.0, "interval_score_95": 250.0}
    return SteadyRecord(system=system, nudge=nudge, processor=processor, rmse=rmse, **scores)


def test_the_largest_of_all_nudges_and_processors_is_found():
    own = [row("strong", 0, 50.0), row("strong", 1, 50.5), row("strong", 0, 48.0, "sse4")]
    (first, *others) = moves([*own, row("single", 0, 60.0), row("single", 1, 66.0)])
    assert first == ("strong", "rmse", 50.0, 2.0, 4.0)
    assert [move.percent for move in others] == [0, 0, 10, 0, 0]


def test_a_build_is_compared_with_what_nudges_do():
    stored = moves([row("strong", 0, 50.0), row("strong", 1, 51.0), row("single", 0, 1.0)])
    now = {move.metric: move.value for move in stored if move.system == "strong"}
    assert "to the last bit" in compared(now, stored)
    assert "by 2 % at most, no more than" in compared(now | {"rmse": 51.0}, stored)
    assert "by 4 % at most, more than" in compared(now | {"rmse": 52.0}, stored)


def test_a_nudge_moves_targets_by_so_many_last_bits(monkeypatch):
    given = []
    stub = SimpleNamespace(fit=lambda X, y: given.append(y))
    monkeypatch.setattr(steadiness, "single", lambda: stub)
    monkeypatch.setattr(steadiness, "judged", lambda *_: dict.fromkeys(METRICS, 1.0))
    for nudge in (0, 10):
        assert Nudged("single", nudge).execute().nudge == nudge
    y = patients()[1]
    np.testing.assert_array_equal(given[0], y)
    np.testing.assert_array_equal((given[1] - y) / np.spacing(y), 10)


def test_a_level_is_covered_by_just_its_share_of_the_rows():
    X, y, X_test, y_test = patients()
    reg = GT2Regressor(n_rules=3, epochs=3).fit(X, y)
    found = judged(reg, X_test, y_test)
    assert tuple(found) == METRICS
    lower, upper = reg.predict_interval(X_test, coverage=0.9)
    assert np.sum((lower <= y_test) & (y_test <= upper)) == np.ceil(0.9 * len(y_test))


def test_a_row_survives_the_store_and_runs_have_keys_of_their_own():
    todo = [*nudged(), *nudged("sse4")]
    assert len({runner.key_of(one) for one in todo}) == 42
    found = row("single", 3, 50.0)
    assert todo[0].unpack(*todo[0].pack(found)) == found


def test_a_run_that_asks_for_another_processor_is_refused():
    with pytest.raises(RuntimeError, match="must be started with"):
        replace(Nudged("single"), processor="sse4").execute()


def test_what_is_stored_is_the_run_and_twenty_nudges_of_each_system():
    seen = {(r.system, r.processor, r.nudge) for r in steady_rows()}
    assert seen == {(s, p, n) for s in SYSTEMS for p, ns in NUDGES.items() for n in ns}
    assert all(np.isfinite([v for v in asdict(r).values() if isinstance(v, float)]).all()
               for r in steady_rows())  # fmt: skip
