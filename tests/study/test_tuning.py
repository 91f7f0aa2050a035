"""Facts about the walk to the strong recipe: which rows it sees, how it goes, what it keeps."""

from __future__ import annotations

from dataclasses import asdict, replace

import numpy as np
import pytest
from study.runner import key_of
from study.store import Store
from study.stored import read, reference_provenance, write
from study.tuning import tables, trial, walk
from study.tuning.trial import Mapped, Trial, TrialResult
from study.tuning.walk import CENTRE, FEW, MORE, TrialRecord, Walk

from gt2lite.datasets import load_dataset, prepare
from gt2lite.losses import make_objective
from gt2lite.metrics import interval_score
from gt2lite.training import DivergenceError, Recipe, train
from study import runner, stored
from study.recipes import TUNED

QUICK = Recipe(n_rules=2, epochs=1)


def result_of(one, score=1.0):
    numbers = dict.fromkeys(("equal_interval_score_90", "equal_interval_score_95"), score)
    numbers |= dict.fromkeys(("rmse", "equal_pinaw_90", "equal_pinaw_95"), 0.5)
    return TrialResult(dataset=one.dataset, seed=one.seed, train_seconds=1.0, **numbers)


def constant(trials):
    return [result_of(one) for one in trials]


# -------------------------------------------------------------------------------- a trial


def test_only_rows_of_the_training_part_are_seen(monkeypatch):
    data = prepare(load_dataset("aids"), 0)
    params = train(data.X_train, data.y_train, QUICK, seed=0, progress=False).params
    seen, planes = [], trial.Planes

    def diverging(X, y, recipe, **_):
        seen.append(X)
        raise DivergenceError("stop", params, np.empty(0))

    monkeypatch.setattr(trial, "train", diverging)
    monkeypatch.setattr(trial, "Planes", lambda params, X: (seen.append(X), planes(params, X))[1])
    found = Trial("aids", 0, QUICK).execute()
    learnt, judged = seen
    n = len(data.X_train)
    assert (len(learnt), len(judged)) == (n - round(0.2 * n), round(0.2 * n))
    both = np.concatenate([learnt, judged])
    np.testing.assert_array_equal(
        both[np.lexsort(both.T)], data.X_train[np.lexsort(data.X_train.T)]
    )
    assert found.dataset == "aids" and found.scores[0] < found.scores[1]


def test_a_trial_is_judged_at_the_planes_that_cover_the_level(monkeypatch):
    asked = []

    def recorded(planes, y, levels):
        ends = np.tile([-1.0, 1.0], (len(y), 1)), np.tile([2.0, 3.0], (len(y), 1))
        asked.append((y, levels))
        return ends

    monkeypatch.setattr(trial, "planes_at_coverage", recorded)
    found = Trial("pp", 1, QUICK).execute()
    ((y, levels),) = asked
    assert levels == (0.90, 0.95)
    expected = [interval_score(y, np.full_like(y, low), np.full_like(y, high), level)
                for low, high, level in ((-1, 2, 0.90), (1, 3, 0.95))]  # fmt: skip
    assert found.scores == tuple(expected)
    assert found.equal_pinaw_90 == pytest.approx(3 / np.ptp(y))
    assert found.equal_pinaw_95 == pytest.approx(2 / np.ptp(y))


def test_trials_are_stored_and_not_run_again(tmp_path, monkeypatch):
    todo, store = [Trial("aids", 0, QUICK)], Store(tmp_path)
    first = runner.run(todo, store, n_jobs=1)
    monkeypatch.setattr(Trial, "execute", lambda *_: pytest.fail("run again"))
    assert runner.run(todo, store, n_jobs=1) == first
    assert key_of(Trial("aids", 0, Mapped(learn=((1.0, 0.99),)))) != key_of(todo[0])


def test_planes_spelt_out_by_the_normal_map_are_the_aligned_ones():
    four = [0.99, 0.95, 0.90, 0.50]
    spelt = Mapped(learn=tuple((trial.normal(level), level) for level in four)).planes
    for found, expected in zip(spelt, make_objective("aligned"), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kappa_of", [trial.normal, trial.laplace, trial.linear])
def test_every_map_is_one_at_the_widest_plane_and_rises(kappa_of):
    kappa = [kappa_of(level) for level in (0.5, 0.9, 0.95, 0.99)]
    assert kappa[-1] == pytest.approx(1)
    assert sorted(kappa) == kappa and kappa[0] > 0


# ------------------------------------------------------------------------------- the walk


def test_a_score_is_the_geometric_mean_of_ratios_to_the_papers_recipe():
    def outcomes(trials):
        worth = {Recipe(): 2.0, QUICK: 1.0}
        return [result_of(t, worth[t.recipe] * (4 if t.dataset == "ww" else 1)) for t in trials]

    found = Walk(outcomes)
    assert found.score(QUICK, part="x", factor="y", value="z") == pytest.approx(0.5)
    assert len(found.rows) == 4 * len(FEW) and found.rows[0].part == "x"
    assert [(t.dataset, t.seed) for t in found.trials] == [(r.dataset, r.seed) for r in found.rows]


def test_the_walk_keeps_the_best_value_of_each_factor():
    wanted = {"start": "joint", "n_rules": 60, "epochs": 100}

    def outcomes(trials):  # the farther from what is wanted, the worse
        def far(recipe):
            return 1 + sum(getattr(recipe, name) != value for name, value in wanted.items())

        return [result_of(t, far(t.recipe)) for t in trials]

    best = Walk(outcomes).run()
    assert {name: getattr(best, name) for name in wanted} == wanted


def test_a_plain_product_has_its_own_scale_on_each_data_set():
    asked = []
    found = Walk(lambda trials: (asked.extend(trials), constant(trials))[1])
    found.score(CENTRE, [0], part="x", factor="y", value="z", product=True)
    scales = {t.dataset: t.recipe.sigma_scale for t in asked if t.recipe != Recipe()}
    assert scales == {"ww": 11**-0.5, "pm": 19**-0.5, "aids": 23**-0.5, "pp": 4**-0.5}


def test_finalists_are_judged_on_more_seeds_and_the_paper_on_all_of_them():
    found = Walk(constant)
    found.run()
    seeds = {part: {r.seed for r in found.rows if r.part == part} for part in ("final", "paper")}
    assert seeds == {"final": set(MORE), "paper": set(MORE)}
    assert {r.seed for r in found.rows if r.part == "path"} == set(FEW)


@pytest.mark.parametrize("name", ["tuning.csv", "tuning_repeat.csv"])
def test_the_stored_walk_leads_where_its_provenance_says(name):
    scores = {(r.part, r.factor, r.value): r.score for r in stored.rows_of(name)}

    class Retraced(Walk):
        def score(self, recipe, seeds=FEW, *, part, factor, value, product=False):
            return 1.0 if part == "paper" else scores[part, factor, value]

    best = asdict(Retraced(constant).run())
    told = reference_provenance(name.replace(".csv", "_provenance.json"))["recipe"]
    assert {key: value for key, value in best.items() if key in told} == told
    if name == "tuning.csv":
        assert best == asdict(TUNED)


# ----------------------------------------------------------------------------- kept and told


def test_a_walk_is_written_with_its_keys_and_trials_of_today_are_not_run_again(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(Trial, "execute", lambda one, get: result_of(one, 0.5 * one.recipe.n_rules))
    path = tmp_path / "tuning.csv"
    best = stored.renew_walk(path, Store(tmp_path / "store"), n_jobs=1)
    there = read(path, TrialRecord)
    assert best.n_rules == 5 and set(there.keys) >= {key_of(Trial("pm", 3, Recipe()))}
    before = path.read_bytes()
    monkeypatch.setattr(Trial, "execute", lambda *_: pytest.fail("run again"))
    assert stored.renew_walk(path, Store(tmp_path / "empty"), n_jobs=1) == best
    assert path.read_bytes() == before

    (tmp_path / "results").mkdir()
    monkeypatch.setattr(stored, "data_path", tmp_path.joinpath)
    repeat = tmp_path / "results" / "tuning_repeat.csv"
    write(there, repeat)
    assert stored.older_code("tuning_repeat.csv") == (0, len(there.rows))
    write(
        replace(there, keys=["older"] * len(there.keys)), tmp_path / "results" / "tuning_repeat.csv"
    )
    assert stored.older_code("tuning_repeat.csv") == (len(there.rows),) * 2


def test_the_factors_of_the_walk_are_settings_of_a_recipe():
    for factor, options in walk.FACTORS:
        assert all(factor in option for option in options)
        assert all(replace(CENTRE, **option) for option in options)


# ------------------------------------------------------------------------------ what is told

STORED = stored.rows_of("tuning.csv")


def test_the_path_has_the_value_that_was_kept_in_bold():
    steps = tables.path_steps(STORED)
    assert list(steps) == [factor for factor, _ in walk.FACTORS]
    rows = {row.factor: row.tried for row in tables.path_rows(steps)}
    assert f"**{TUNED.n_rules}**" in rows["n_rules"] and rows["n_rules"].count("**") == 2
    facts = tables.walk_facts(STORED)
    scores = steps[facts.matters].values()
    assert facts.matters_by == max(scores) - min(scores)


def test_a_second_walk_is_compared_where_both_tried_the_same():
    recipe = asdict(TUNED)
    same = tables.repeat_facts(STORED, STORED, recipe, recipe)
    assert (same.noise, same.turn) == (0, "went the same way to the end")
    assert same.end == "and ended with the same recipe"
    assert same.n_common == sum(map(len, tables.path_steps(STORED).values())) + 7
    moved = [replace(r, score=r.score + 0.25 * (r.value == "last")) for r in STORED]
    found = tables.repeat_facts(STORED, moved, recipe, recipe | {"keep": "validation"})
    assert found.turn == "kept another value of keep" and found.noise == 0.25
    assert found.end == "and ended with keep validation, where the first has keep last"
    back = tables.repeat_facts(STORED, moved, recipe, recipe)
    assert back.end == "but ended with the same recipe"
    assert found.noise_mean == pytest.approx(0.25 / found.n_common)


def test_curves_are_means_over_seeds_by_number_of_rules():
    found = tables.curves(STORED, "rmse")
    assert found.rules == [5, 10, 30, 60, 100] and list(found.series) == ["WW", "PM", "AIDS", "PP"]
    mine = [r.rmse for r in STORED if (r.factor, r.value, r.dataset) == ("n_rules", "30", "pm")]
    assert found.series["PM"][2] == pytest.approx(100 * np.mean(mine))
    assert found.least.startswith("WW ")


def test_objectives_are_compared_with_aligned_and_dual():
    scores = dict(tables.variants(STORED))
    found = tables.variant_facts(STORED)
    assert scores["dual"] == 1 and found.best in scores and found.best != "dual"
    assert found.dual == pytest.approx(100 * (scores["aligned"] - 1))
    assert found.gain == pytest.approx(100 * (scores[found.best] / scores["aligned"] - 1))
    assert found.word == ("less than" if found.far < abs(found.dual) else "at least as much as")
    won, of = map(int, found.wins.split(" of "))
    assert 0 <= won <= of == 4 * len(FEW) * 2
