"""Facts about the comparison: the same rows for all, each training once, pairs by seed."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from study.design import LEVELS
from study.field import runs
from study.field.contestant import Answer, Entered
from study.field.contestants import CONTESTANTS, LONG, OF_CHAPTER
from study.field.estimated import Estimated
from study.field.fuzzy import shorten, trained_system
from study.field.plans import counts, entries, records, whole_field
from study.field.public import DEVELOPMENT, FROZEN
from study.field.runs import SLACK, Entry
from study.field.setting import TABLES, Setting, shape_of
from study.field.shared import SharedTraining
from study.runner import key_of, run
from study.store import Store

from gt2lite import estimator
from gt2lite.calibration import ConformalCalibrator, rank
from gt2lite.datasets import DATASETS
from gt2lite.metrics import picp, pinaw, rmse
from gt2lite.system import Planes
from gt2lite.training import Recipe
from study.oracle import planes_at_coverage
from study.protocol import Task

pytest.importorskip("sklearn", reason="needs the extra `sklearn`")

SHORT = 0.02  # of the effort
NAMES = tuple(CONTESTANTS)

pytestmark = pytest.mark.slow  # contestants of all kinds are trained


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return Store(tmp_path_factory.mktemp("comparison"))


@pytest.fixture(scope="module")
def outcomes(store):
    """Every contestant on the smallest data set, and one on patients kept apart."""
    todo = entries(["aids"], [0], NAMES, effort=SHORT)
    todo += entries(["pm"], [0], ["aligned"], split="by_group", effort=SHORT)
    return {(o.entry.dataset, o.entry.contestant.name): o for o in run(todo, store, n_jobs=1)}


def get(task):
    """Return the outcome of a task, from no store."""
    return run([task], None, n_jobs=1, progress=False)[0]


def entry_of(name, *words, **more):
    return Entry(*words, contestant=CONTESTANTS[name], **more)


def test_the_field_is_all_contestants_on_all_sets_and_seeds():
    every = whole_field()
    splits = {(e.dataset, e.split, e.seed) for e in every}
    small = sum(shape_of(table)[0] <= 2000 for table in TABLES)
    assert small == 14 and len(TABLES) == 20
    assert len(splits) == 14 * 5 + (6 + 1) * 3
    assert len(every) == len({key_of(e) for e in every})
    assert {e.contestant.name for e in every} == set(CONTESTANTS) - {*OF_CHAPTER, *LONG}
    assert {e.dataset for e in every if e.split == "by_group"} == {"pm"}
    assert {e.most_rows for e in every} == {5000}
    fewer = whole_field((*DEVELOPMENT, *DATASETS))
    assert not {e.dataset for e in fewer} & set(FROZEN) and set(fewer) < set(every)


def test_training_rows_beyond_the_cap_are_left_out_and_the_others_stay():
    whole, capped = (Setting("pp", 1, most_rows=n).prepare() for n in (0, 5000))
    assert len(whole.y_train) == 6698 and len(capped.y_train) == 5000
    assert set(capped.split.train) < set(whole.split.train)
    assert_array_equal(capped.split.test, whole.split.test)
    assert abs(capped.y_train.mean()) < 1e-9  # scaled by what is left
    again = Setting("pp", 1, most_rows=5000).prepare()
    assert_array_equal(again.X_train, capped.X_train)
    assert len(Setting("pp", 1, most_rows=9000).prepare().y_train) == 6698


def test_there_is_a_record_for_each_contestant_and_level(outcomes):
    rows = records(outcomes.values())
    cells = {(r.dataset, r.split, r.seed, r.contestant, r.level) for r in rows}
    n_answers = sum(len(CONTESTANTS[name].forms) for name in (*NAMES, "aligned"))
    assert len(rows) == len(cells) == n_answers * len(LEVELS)
    for row in rows:
        for name in ("rmse", "picp", "pinaw", "interval_score", "equal_pinaw", "first_seconds"):
            value = getattr(row, name)
            assert math.isfinite(value) and value >= 0, (row.contestant, name)
        assert row.equal_picp >= row.level
        assert (row.worst_group is not None) == (row.dataset == "pm")
    json.dumps([asdict(row) for row in rows])  # plain values


def test_a_record_says_what_the_intervals_are(outcomes):
    for outcome in outcomes.values():
        y = outcome.entry.prepare().y_test
        for i, row in enumerate(outcome.records[: len(LEVELS)]):
            assert row.level == LEVELS[i] and row.contestant == outcome.entry.contestant.name
            assert row.width == pytest.approx(row.pinaw * np.ptp(y))
            assert row.picp == picp(y, *outcome.ends[i])
            assert row.pinaw == pinaw(y, *outcome.ends[i])
            assert row.rmse == rmse(y, outcome.y_hat[i])


def test_bins_hold_every_row_once_and_all_that_is_covered(outcomes):
    for outcome in outcomes.values():
        for row in outcome.records[: len(LEVELS)]:
            for by in ("width", "region", "rarity", "group"):
                found = [c for c in outcome.counts if (c.by, c.level) == (by, row.level)]
                if by == "group" and outcome.entry.dataset == "aids":
                    assert not found
                    continue
                assert sum(c.n for c in found) == row.n_test
                assert sum(c.covered for c in found) == round(row.picp * row.n_test)
                assert sum(c.n * c.width for c in found) / row.n_test == pytest.approx(row.pinaw)
                assert min(c.covered / c.n for c in found) == getattr(row, f"worst_{by}")
    assert len(counts(outcomes.values())) > 0


def test_patients_kept_apart_are_in_one_part_only(outcomes):
    entry = outcomes["pm", "aligned"].entry
    rows = entry.prepare().split
    parts = [set(entry.groups(part)) for part in (rows.train, rows.calibration, rows.test)]
    assert sum(map(len, parts)) == len(set.union(*parts)) == 42
    tested = {c.bin for c in outcomes["pm", "aligned"].counts if c.by == "group"}
    assert tested == {str(patient) for patient in parts[2]}


def test_planes_are_nested(outcomes):
    nested = {"paper", "aligned", "strong", "gb_split", "gb_normalised"}
    for (_, name), outcome in outcomes.items():
        if name in nested:
            assert {row.unnested for row in outcome.records} == {0}, name


@pytest.mark.parametrize(("end", "sign"), [(0, 1), (1, -1)])
def test_an_inner_end_outside_the_outer_one_counts_and_its_last_digits_do_not(end, sign):
    entry = entry_of("direct", "aids", 0)
    data = entry.prepare()
    inner = np.tile([[-1.0], [1.0]], len(data.y_test))
    outer = 2 * inner
    outer[end, :30] = inner[end, :30] + sign * 2 * SLACK  # 30 rows end too early
    outer[end, 30:50] = inner[end, 30:50] + sign * SLACK / 2  # by rounding alone
    ends = np.array([inner, outer])
    entered = Entered((Answer("", ends[:, 0], ends, ends),), 1.0, 1.0)
    rows, _ = runs.judge(entry, data, entered)
    assert {row.unnested for row in rows} == {30 / len(data.y_test)}
    assert SLACK == 1e-9


# ------------------------------------------------------------------------ what they do


def test_the_papers_system_is_that_of_the_protocol(outcomes):
    found = get(Task("aids", 0, "baseline", recipe=Recipe(epochs=2)))
    data = outcomes["aids", "paper"].entry.prepare()
    fitted = ConformalCalibrator().fit(Planes(found.params, data.X_cal), data.y_cal)
    planes = Planes(found.params, data.X_test)
    for i, level in enumerate(LEVELS):
        expected = fitted.intervals(planes, level)
        assert_allclose(outcomes["aids", "paper"].ends[i], expected, atol=1e-9)


def test_a_training_of_our_own_is_the_same_as_that_of_the_protocol():
    recipe = shorten(Recipe(), SHORT)
    assert recipe.epochs == 2
    ours = SharedTraining("aids", 0, "random", recipe)
    theirs = get(Task("aids", 0, "baseline", recipe=recipe))
    found = get(ours)
    for name, value in theirs.params.items():
        assert_array_equal(found.params[name], value)
    both = replace(ours, rows="train and calibration", recipe=replace(recipe, coverage=0.9))
    theirs = get(Task("aids", 0, "trained_90", recipe=recipe))
    assert_array_equal(get(both).params["a"], theirs.params["a"])


def test_width_at_equal_coverage_is_that_of_the_planes():
    setting = Setting("pp", 0, effort=0.02)
    data = setting.prepare()
    entered = CONTESTANTS["aligned"].enter(setting, data, get)
    params, _ = trained_system(CONTESTANTS["aligned"].recipe, setting, get)
    planes = Planes(params, data.X_test)
    for i, level in enumerate(LEVELS):
        expected = planes_at_coverage(planes, data.y_test, level)
        assert_allclose(entered.answers[0].equal[i], expected, atol=1e-9)


def test_ablations_stand_around_the_same_estimates_and_scale_with_the_envelope():
    setting = Setting("pp", 0, effort=0.02)
    data = setting.prepare()
    own, *others = CONTESTANTS["aligned"].enter(setting, data, get).answers
    params, _ = trained_system(CONTESTANTS["aligned"].recipe, setting, get)
    lower, upper = Planes(params, data.X_test)(0.01)
    for answer, power in zip(others, (0.0, 0.5, 1.0), strict=True):
        assert_array_equal(answer.y_hat, own.y_hat)
        low, high = answer.ends[0]
        assert_allclose((low + high) / 2, own.y_hat[0], atol=1e-9)
        pace = (high - low) / (upper - lower) ** power
        assert_allclose(pace, np.median(pace), rtol=1e-6)  # no width is at the floor here
        assert picp(data.y_test, *answer.equal[0]) >= LEVELS[0]


def test_a_system_of_one_plane_has_the_margin_of_two_quantiles(outcomes):
    outcome = outcomes["aids", "it2"]
    data, table = outcome.entry.prepare(), outcome.entry.table()
    reg = estimator.GT2Regressor(alphas=(0.01,), coverage=0.9, epochs=2, random_state=0)
    reg.fit(table.X[data.split.train], table.y[data.split.train])
    cal, test = (
        [data.scaler.transform_y(e) for e in reg.predict_interval(table.X[rows], alpha=0.01)]
        for rows in (data.split.calibration, data.split.test)
    )
    assert_allclose(outcome.y_hat[0], (test[0] + test[1]) / 2, atol=1e-9)
    scores = np.sort(np.maximum(cal[0] - data.y_cal, data.y_cal - cal[1]))
    margin = scores[rank(0.9, scores.size + 1) - 1]
    assert_allclose(outcome.ends[0, 1] - test[1], margin, atol=1e-9)


def test_direct_systems_learn_their_level_and_only_those_of_the_paper_see_more_rows():
    seen = []
    for name, rows in {"direct": "train", "direct_85": "train and calibration"}.items():
        for level in LEVELS:
            CONTESTANTS[name].trained(Setting("pm", 0, "by_group"), level, seen.append)
            assert (seen[-1].rows, seen[-1].recipe.coverage) == (rows, level)


def test_a_further_level_costs_a_system_nothing_and_others_a_training(outcomes):
    def share(name):
        row = outcomes["aids", name].records[0]
        return row.further_seconds / row.first_seconds

    assert share("paper") < 0.1 < share("linear_cqr")
    assert outcomes["aids", "gb_cqr"].records[0].tuning_seconds > 0


# ---------------------------------------------------------------------- keys and errors


def test_the_key_of_an_entry_depends_on_everything_that_matters():
    entry = entry_of("paper", "aids", 0)
    longer = replace(CONTESTANTS["paper"], objective="aligned")
    others = [
        replace(entry, seed=1),
        replace(entry, dataset="pm"),
        replace(entry, dataset="pm", split="by_group"),
        replace(entry, effort=0.5),
        replace(entry, most_rows=100),
        replace(entry, contestant=longer),
        *(replace(entry, contestant=CONTESTANTS[name]) for name in NAMES[1:]),
    ]
    assert len({key_of(entry), *map(key_of, others)}) == 1 + len(others)
    renamed = replace(CONTESTANTS["paper"], title="another title")
    assert key_of(replace(entry, contestant=renamed)) == key_of(entry)


def test_another_contestant_changes_no_key_of_those_that_are_there(monkeypatch):
    before = [key_of(entry) for entry in entries(["aids"], [0])]
    names = tuple(CONTESTANTS)
    monkeypatch.setitem(CONTESTANTS, "mine", Estimated("mine", "Mine"))
    assert [key_of(entry) for entry in entries(["aids"], [0], names)] == before
    assert len(entries(["aids"], [0])) == len(before) + 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"datasets": ["iris"]}, "'ww', 'pm', 'aids', 'pp'"),
        ({"datasets": ["iris"]}, "'concrete', 'boom_bikes'"),
        ({"seeds": [-1]}, "seed"),
        ({"split": "by_luck"}, "'random', 'by_group'"),
        ({"contestants": ["winner"]}, "'paper', 'aligned'"),
        ({"effort": 2.0}, "effort"),
    ],
)
def test_an_unknown_name_gets_the_known_ones(change, words):
    with pytest.raises(ValueError, match=words):
        entries(**change)


def test_patients_cannot_be_kept_apart_where_there_are_none():
    with pytest.raises(ValueError, match="'aids' has none"):
        entry_of("paper", "aids", 0, "by_group").execute(get)


def test_what_is_stored_is_not_computed_again(outcomes, store, monkeypatch):
    monkeypatch.setattr(Entry, "execute", lambda *_: pytest.fail("computed again"))
    again = run([o.entry for o in outcomes.values()], store, n_jobs=1)
    for one, other in zip(again, outcomes.values(), strict=True):
        assert one.records == other.records and one.counts == other.counts
        assert one.chosen == other.chosen
        assert_array_equal(one.ends, other.ends)
