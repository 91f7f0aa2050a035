"""Facts about the comparison: the same rows for all, each training once, pairs by seed."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gt2lite.calibration import ConformalCalibrator, rank
from gt2lite.calibration.oracle import planes_at_coverage
from gt2lite.metrics import picp, pinaw, rmse
from gt2lite.recipe import Recipe
from gt2lite.study import protocol
from gt2lite.study.field import contestants, shared
from gt2lite.study.field.contestants import LEVELS
from gt2lite.study.field.runs import (
    CONTESTANTS,
    Entry,
    counts,
    entries,
    execute,
    paired,
    records,
    run,
)
from gt2lite.study.field.shared import Setting
from gt2lite.study.store import Store
from gt2lite.system import Planes

needs_book = pytest.importorskip("mapie", reason="needs the extra `book`")

SHORT = 0.02  # of the effort
NAMES = tuple(CONTESTANTS)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return Store(tmp_path_factory.mktemp("comparison"))


@pytest.fixture(scope="module")
def outcomes(store):
    """Every contestant on the smallest data set, and one on patients kept apart."""
    todo = entries(["aids"], [0], effort=SHORT)
    todo += entries(["pm"], [0], ["aligned"], split="by_group", effort=SHORT)
    return {(o.entry.dataset, o.entry.contestant): o for o in run(todo, store, n_jobs=1)}


def test_the_field_is_all_contestants_on_all_sets_and_seeds():
    every = entries()
    assert len(every) == len({e.key for e in every}) == 4 * 5 * len(CONTESTANTS)
    assert len(entries(["pm"], split="by_group")) == 5 * len(CONTESTANTS)


def test_there_is_a_record_for_each_contestant_and_level(outcomes):
    rows = records(outcomes.values())
    cells = {(r["dataset"], r["split"], r["seed"], r["contestant"], r["level"]) for r in rows}
    assert len(rows) == len(cells) == (len(CONTESTANTS) + 1) * len(LEVELS)
    for row in rows:
        for name in ("rmse", "picp", "pinaw", "interval_score", "equal_pinaw", "first_seconds"):
            assert math.isfinite(row[name]) and row[name] >= 0, (row["contestant"], name)
        assert row["equal_picp"] >= row["level"]
        assert ("worst_group" in row) == (row["dataset"] == "pm")
    json.dumps(rows)  # plain values


def test_a_record_says_what_the_intervals_are(outcomes):
    for outcome in outcomes.values():
        y = outcome.entry.prepare().y_test
        for i, row in enumerate(outcome.records):
            assert row["picp"] == picp(y, *outcome.ends[i])
            assert row["pinaw"] == pinaw(y, *outcome.ends[i])
            assert row["rmse"] == rmse(y, outcome.y_hat[i])


def test_bins_hold_every_row_once_and_all_that_is_covered(outcomes):
    for outcome in outcomes.values():
        for row in outcome.records:
            for by in ("width", "region", "rarity", "group"):
                found = [c for c in outcome.counts if (c["by"], c["level"]) == (by, row["level"])]
                if by == "group" and outcome.entry.dataset == "aids":
                    assert not found
                    continue
                assert sum(c["n"] for c in found) == row["n_test"]
                assert sum(c["covered"] for c in found) == round(row["picp"] * row["n_test"])
                assert min(c["covered"] / c["n"] for c in found) == row[f"worst_{by}"]
    assert len(counts(outcomes.values())) > 0


def test_patients_kept_apart_are_in_one_part_only(outcomes):
    entry = outcomes["pm", "aligned"].entry
    rows = entry.prepare().split
    parts = [set(entry.groups(part)) for part in (rows.train, rows.calibration, rows.test)]
    assert sum(map(len, parts)) == len(set.union(*parts)) == 42
    tested = {c["bin"] for c in outcomes["pm", "aligned"].counts if c["by"] == "group"}
    assert tested == {str(patient) for patient in parts[2]}


def test_planes_are_nested_and_levels_that_were_trained_apart_need_not_be(outcomes):
    share = {name: o.records[0]["unnested"] for (_, name), o in outcomes.items()}
    assert share["paper"] == share["aligned"] == share["paper_point"] == 0
    entry = outcomes["aids", "direct"].entry
    data = entry.prepare()
    inner = np.tile([[-1.0], [1.0]], len(data.y_test))
    outer = 2 * inner
    outer[1, :30] = 0.5  # 30 rows end too early
    ends = np.array([inner, outer])
    rows, _ = contestants.judge(entry, data, contestants.Entered(ends[:, 0], ends, ends, 1.0, 1.0))
    assert rows[0]["unnested"] == 30 / len(data.y_test)


# ------------------------------------------------------------------------ what they do


def test_the_papers_system_is_that_of_the_protocol_and_is_not_trained_twice(
    outcomes, store, monkeypatch
):
    task = protocol.Task("aids", 0, "baseline", recipe=Recipe(epochs=2))
    assert store.has(task.key)
    monkeypatch.setattr(protocol, "execute", lambda task: pytest.fail("trained again"))
    (found,) = protocol.run([task], store, n_jobs=1)
    data = outcomes["aids", "paper"].entry.prepare()
    fitted = ConformalCalibrator().fit(Planes(found.params, data.X_cal), data.y_cal)
    planes = Planes(found.params, data.X_test)
    for i, level in enumerate(LEVELS):
        expected = fitted.intervals(planes, level)
        assert_array_equal(outcomes["aids", "paper"].ends[i], expected)
    assert_array_equal(outcomes["aids", "paper"].y_hat, outcomes["aids", "paper_point"].y_hat)


def test_a_training_of_our_own_is_the_same_as_that_of_the_protocol():
    setting = Setting("aids", 0, effort=SHORT)
    ours = shared.Training("aids", 0, "random", setting.shorten(Recipe()))
    theirs = shared.of_protocol(setting, "baseline", setting.shorten(Recipe()), None)
    found = shared.trained(ours, None)
    for name, value in theirs.params.items():
        assert_array_equal(found.params[name], value)
    both = replace(ours, rows="train and calibration", recipe=replace(ours.recipe, coverage=0.9))
    theirs = shared.of_protocol(setting, "trained_90", ours.recipe, None)
    assert_array_equal(shared.trained(both, None).params["a"], theirs.params["a"])


def test_width_at_equal_coverage_is_the_metric_of_that_name(store):
    system = CONTESTANTS["aligned"]
    setting = Setting("pp", 0, effort=0.2)
    data = setting.prepare()
    params, _ = system.trained(setting, store)
    planes = Planes(params, data.X_test)
    entered = system.enter(setting, data, store)
    for i, level in enumerate(LEVELS):
        assert_array_equal(entered.equal[i], planes_at_coverage(planes, data.y_test, level))


def test_a_point_has_the_margin_of_split_conformal_prediction(outcomes):
    outcome = outcomes["aids", "paper_point"]
    data = outcome.entry.prepare()
    system = contestants.System("", Recipe())
    params, _ = system.trained(outcome.entry, None)
    errors = np.sort(np.abs(data.y_cal - Planes(params, data.X_cal).output([0.01, 0.5, 1.0])))
    for i, level in enumerate(LEVELS):
        margin = errors[rank(level, errors.size + 1) - 1]
        assert_allclose(outcome.ends[i, 1] - outcome.y_hat[i], margin)
        assert_allclose(outcome.y_hat[i] - outcome.ends[i, 0], margin)


def test_direct_systems_learn_their_level_and_only_those_of_the_paper_see_more_rows(
    outcomes, monkeypatch
):
    seen = []

    def fake(training, store):
        seen.append(training)
        raise StopIteration

    monkeypatch.setattr(contestants, "trained", fake)
    for name, rows in {"direct": "train", "direct_85": "train and calibration"}.items():
        for level in LEVELS:
            with pytest.raises(StopIteration):
                CONTESTANTS[name].trained(Setting("pm", 0, "by_group"), level, None)
            assert (seen[-1].rows, seen[-1].recipe.coverage) == (rows, level)
    first, second = (outcomes["aids", name].records[0] for name in ("direct", "direct_85"))
    assert first["n_test"] == second["n_test"]


def test_a_further_level_costs_a_system_nothing_and_others_a_training(outcomes):
    def share(name):
        row = outcomes["aids", name].records[0]
        return row["further_seconds"] / row["first_seconds"]

    assert share("paper") < 0.1 < share("linear_cqr")
    assert outcomes["aids", "gb_cqr"].records[0]["tuning_seconds"] > 0


# ---------------------------------------------------------------------- keys and errors


def test_the_key_of_an_entry_depends_on_everything_that_matters(monkeypatch):
    entry = Entry("aids", 0)
    others = [
        replace(entry, seed=1),
        replace(entry, dataset="pm"),
        replace(entry, dataset="pm", split="by_group"),
        replace(entry, effort=0.5),
        *(replace(entry, contestant=name) for name in NAMES[1:]),
    ]
    keys = {entry.key, *(other.key for other in others)}
    assert len(keys) == 1 + len(others)
    longer = replace(CONTESTANTS["paper"], recipe=Recipe(epochs=200))
    monkeypatch.setitem(CONTESTANTS, "paper", longer)
    assert entry.key not in keys


def test_another_contestant_changes_no_key_of_those_that_are_there(monkeypatch):
    before = [entry.key for entry in entries(["aids"], [0])]
    mine = contestants.System("mine", Recipe(n_rules=30))
    monkeypatch.setitem(CONTESTANTS, "mine", mine)
    assert [entry.key for entry in entries(["aids"], [0], NAMES)] == before
    assert len(entries(["aids"], [0])) == len(before) + 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"dataset": "iris"}, "'ww', 'pm', 'aids', 'pp'"),
        ({"seed": -1}, "seed"),
        ({"split": "by_luck"}, "'random', 'by_group'"),
        ({"contestant": "winner"}, "'paper', 'paper_point'"),
        ({"effort": 2.0}, "effort"),
    ],
)
def test_an_unknown_name_gets_the_known_ones(change, words):
    with pytest.raises(ValueError, match=words):
        replace(Entry("aids", 0), **change)


def test_patients_cannot_be_kept_apart_where_there_are_none():
    with pytest.raises(ValueError, match="'aids' has none"):
        execute(Entry("aids", 0, "by_group"))


# ------------------------------------------------------------------------------ pairs


def rows_of(values, **more):
    return [
        {"dataset": "pp", "split": "random", "seed": seed, "contestant": name, "level": 0.9}
        | {"pinaw": value}
        | more
        for name, by_seed in values.items()
        for seed, value in enumerate(by_seed)
    ]


def test_pairs_are_compared_seed_by_seed_in_any_order():
    rows = rows_of({"a": [1.0, 2.0, 3.0, 4.0], "b": [1.1, 2.2, 3.1, 4.2]})
    (found,) = paired(rows[::-1], "a", "b", "pinaw")
    stats = pytest.importorskip("scipy.stats")
    test = stats.ttest_rel([1.0, 2.0, 3.0, 4.0], [1.1, 2.2, 3.1, 4.2])
    assert found.mean == pytest.approx(-0.15) and found.n == 4
    assert found.p == pytest.approx(test.pvalue)
    low, high = test.confidence_interval(0.95)
    assert (found.mean - found.half, found.mean + found.half) == pytest.approx((low, high))
    assert found.percent == pytest.approx(100 * -0.15 / 2.65)
    assert found.verdict == "less"
    (back,) = paired(rows, "b", "a", "pinaw")
    assert back.mean == pytest.approx(0.15) and back.verdict == "more"


def test_a_comparison_for_each_data_set_and_level_of_one_split():
    rows = rows_of({"a": [1.0, 2.0], "b": [1.0, 3.0]})
    rows += rows_of({"a": [1.0, 2.0], "b": [2.0, 2.0]}, level=0.95)
    rows += rows_of({"a": [0.0, 0.0], "b": [9.0, 8.0]}, split="by_group")
    found = paired(rows, "a", "b", "pinaw")
    assert [(f.level, f.mean) for f in found] == [(0.9, -0.5), (0.95, -0.5)]
    assert {f.verdict for f in found} == {"undecided"}
    (apart,) = paired(rows, "a", "b", "pinaw", split="by_group")
    assert apart.mean == -8.5


def test_pairs_without_a_partner_are_refused():
    rows = rows_of({"a": [1.0, 2.0, 3.0], "b": [1.0, 2.0]})
    with pytest.raises(ValueError, match=r"same seeds.*\[0, 1, 2\] and \[0, 1\]"):
        paired(rows, "a", "b", "pinaw")
    assert paired(rows, "a", "c", "pinaw") == []  # nothing to compare with


def test_what_is_stored_is_not_computed_again(outcomes, store, monkeypatch):
    monkeypatch.setattr(runs, "judge", lambda *_: pytest.fail("computed again"))
    again = run([o.entry for o in outcomes.values()], store, n_jobs=1)
    for one, other in zip(again, outcomes.values(), strict=True):
        assert one.records == other.records and one.counts == other.counts
        assert_array_equal(one.ends, other.ends)
