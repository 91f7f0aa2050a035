"""Ensembles, ranks of inputs, and the selection inside `GT2Regressor.strong`."""

import sys
import warnings
from dataclasses import asdict, replace

import numpy as np
import pytest

from gt2lite import GT2Regressor, selection
from gt2lite.calibration import critical_scores, cut_ends, rank
from gt2lite.metrics import interval_score
from gt2lite.regressor import ClippedInputsWarning
from gt2lite.selection import (
    LEVELS,
    SPREAD,
    EnsembleSettings,
    FamilyScore,
    HeldOut,
    MeanPlanes,
    Ranks,
    best_family,
    call_all,
    checkpoint_epochs,
    choose_systems,
    system_seeds,
    training_run,
)
from gt2lite.system import Planes
from gt2lite.training import STRONG, DivergenceError, train

QUICK = replace(STRONG, n_rules=4, epochs=6)
FAST = {"n_rules": 3, "epochs": 8, "learning_rate": 0.02, "objective": "aligned"}
KINDS = {
    "several": {"n_systems": 3},
    "ranks": {"inputs": "ranks"},
    "margins": {"margins": 0.5},
    "constant margin": {"margins": 0.0},
    "several on ranks with margins": {"n_systems": 2, "inputs": "ranks", "margins": 1.0},
}


@pytest.fixture
def rng():
    return np.random.default_rng(0)


# ------------------------------------------------------------------------------- ensembles


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3)) * [1, 10, 0.1] + [0, 50, 3]
    noise = (0.2 + (X[:, 0] > 0)) * rng.normal(size=500)
    return X, 100 + 20 * np.sin(X[:, 0]) + X[:, 1] + 5 * noise


@pytest.fixture(scope="module")
def fitted(rows):
    X, y = rows
    return {
        kind: GT2Regressor(**FAST, **settings).fit(X[:300], y[:300]).calibrate(X[300:], y[300:])
        for kind, settings in KINDS.items()
    }


def test_the_first_of_several_systems_is_the_single_one_to_the_last_bit(rows):
    X, y = rows
    alone = GT2Regressor(**FAST, random_state=7).fit(X, y)
    several = GT2Regressor(**FAST, n_systems=2, random_state=7).fit(X, y)
    for name, value in alone.params_.items():
        np.testing.assert_array_equal(value, several.params_[name])
        assert (several.systems_[1].params[name] != value).any()


def test_planes_and_outputs_are_means_over_the_systems(rows, fitted):
    X, reg = rows[0], fitted["several"]
    scaled = reg.scaler_.transform_X(X)
    members = [Planes(system.params, scaled) for system in reg.systems_]
    wanted = reg.scaler_.inverse_y(np.mean([planes(0.3) for planes in members], axis=0))
    np.testing.assert_allclose(reg.predict_interval(X, alpha=0.3), wanted, rtol=1e-12)
    alphas = reg.recipe_.planes.alphas
    output = np.mean([planes.output(alphas) for planes in members], axis=0)
    np.testing.assert_allclose(reg.predict(X), reg.scaler_.inverse_y(output), rtol=1e-12)
    assert reg._planes(X).alpha_min == max(planes.alpha_min for planes in members)


def test_blocks_of_rows_have_the_planes_of_all_rows(rows, fitted, monkeypatch):
    planes = fitted["several"]._planes(rows[0])
    whole = planes.ends([0.1, 0.6])
    monkeypatch.setattr(selection, "fitting_rows", lambda n_centres: 450 // n_centres)
    blocks = list(planes.parts())
    assert [part.stop - part.start for part, _ in blocks] == [450 // 27] * 31 + [4]
    assert all(isinstance(members, MeanPlanes) for _, members in blocks)
    found = np.concatenate([members.ends([0.1, 0.6]) for _, members in blocks], axis=2)
    np.testing.assert_allclose(found, whole, rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_intervals_are_nested_and_cover_calibration_rows_by_their_rank(rows, fitted, kind):
    X, y = rows
    lower, upper = fitted[kind].predict_interval(X, coverage=np.linspace(0.05, 0.99, 40))
    assert (np.diff(lower, axis=1) <= 0).all() and (np.diff(upper, axis=1) >= 0).all()
    lower, upper = fitted[kind].predict_interval(X[300:], coverage=0.9)
    covered = ((lower <= y[300:]) & (y[300:] <= upper)).sum()
    assert covered == 181  # ceil(201 * 0.9), as no two targets are equal


def test_a_constant_margin_is_the_same_for_all_rows(rows, fitted):
    lower, upper = fitted["constant margin"].predict_interval(rows[0])
    np.testing.assert_allclose(upper - lower, (upper - lower)[0], rtol=1e-12)
    lower, upper = fitted["margins"].predict_interval(rows[0])
    assert np.ptp(upper - lower) > 0.1 * (upper - lower).mean()


def test_rules_of_each_system_can_be_read_and_ranks_are_called_ranks(rows, fitted):
    several = fitted["several"]
    assert str(several.rules(system=0)) != str(several.rules(system=2))
    with pytest.raises(ValueError, match="system"):
        several.rules(system=3)
    np.testing.assert_allclose(several.rule_weights(rows[0], system=1).sum(axis=1), 1)
    assert "rank of x" in str(fitted["ranks"].rules(rows[0]))


def test_processes_give_the_same_systems(rows):
    pytest.importorskip("joblib")
    here, there = (GT2Regressor(**FAST, n_systems=2, n_jobs=n).fit(*rows) for n in (None, 2))
    for one, other in zip(here.systems_, there.systems_, strict=True):
        for name, value in one.params.items():
            np.testing.assert_array_equal(value, other.params[name])


def test_without_joblib_more_processes_are_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "joblib", None)
    with pytest.raises(ImportError, match="n_jobs"):
        list(call_all([int, int], n_jobs=2))
    assert list(call_all([int, int])) == [0, 0]


def test_seeds_of_systems_differ_and_a_generator_is_drawn_from():
    assert system_seeds(3, 1) == [3]
    drawn = system_seeds(np.random.default_rng(0), 3)
    assert len(set(drawn)) == 3 and drawn == system_seeds(np.random.default_rng(0), 3)


@pytest.mark.parametrize(
    ("setting", "named"),
    [
        ({"n_systems": 0}, "n_systems"),
        ({"n_systems": 1001}, "n_systems"),
        ({"choose": "yes"}, "choose"),
        ({"clip_inputs": "yes"}, "clip_inputs"),
        ({"inputs": "rank"}, "inputs"),
        ({"margins": 1.5}, "margins"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"verbose": "much"}, "verbose"),
    ],
)
def test_a_bad_setting_is_named(setting, named):
    with pytest.raises(ValueError, match=named):
        EnsembleSettings(**setting)


# ----------------------------------------------------------------------------------- ranks


def test_ranks_are_shares_of_the_training_rows_and_end_with_them():
    X = np.arange(101.0)[:, None] ** 3
    ranks = Ranks.fit(X)
    np.testing.assert_allclose(ranks.share(X)[:, 0], np.linspace(0, 1, 101), atol=1e-12)
    assert ranks.share(np.array([[-5.0], [2e6]])).ravel().tolist() == [0.0, 1.0]


def test_ranks_rise_and_repeated_values_have_the_middle_of_their_ranks(rng):
    X = np.round(rng.exponential(size=(400, 3)) * [1, 3, 0])
    new = np.sort(np.repeat(np.linspace(-1, 9, 200)[:, None], 3, axis=1), axis=0)
    found = Ranks.fit(X).share(new)
    assert (np.diff(found, axis=0) >= 0).all()
    assert (found[:, 2] == 0.5).all()
    tied = Ranks.fit(np.array([[0.0], [0.0], [0.0], [1.0]]))
    assert tied.share(np.array([[0.0]])) == pytest.approx(1 / 3)  # the middle of 0 and 2/3


def test_ranks_for_a_system_have_mean_0_and_standard_deviation_1(rng):
    X = rng.exponential(size=(5000, 2)) ** 4
    Z = Ranks.fit(X).transform(X)
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=0.02)
    np.testing.assert_allclose(Z.std(axis=0), 1, atol=0.02)
    assert pytest.approx(np.sqrt(1 / 12)) == SPREAD


def test_outliers_do_not_disturb_a_system_on_ranks(rows):
    X, y = rows
    wild = X.copy()
    wild[0] *= 1e6
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        reg = GT2Regressor(**FAST, inputs="ranks").fit(wild, y)
    plain = GT2Regressor(**FAST, inputs="ranks").fit(X, y)
    assert np.corrcoef(reg.predict(wild)[1:], plain.predict(X)[1:])[0, 1] > 0.99


# ------------------------------------------------------------------------------- selection


@pytest.fixture(scope="module")
def curve():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 2))
    return X, np.sin(2 * X[:, 0]) + (0.1 + 0.3 * (X[:, 1] > 0)) * rng.normal(size=240)


def choose(curve, recipe=QUICK, seed=0, **settings):
    settings = {"n_systems": 3, "choose": True, "verbose": False} | settings
    return choose_systems(*curve, recipe, EnsembleSettings(**settings), seed)


@pytest.fixture(scope="module")
def chosen(curve):
    return choose(curve)


def test_every_candidate_is_listed_with_its_folds_the_best_first(chosen):
    n_folds = [candidate.n_folds for candidate in chosen.candidates]
    assert n_folds == [3, 3, 2, 2, 1, 1, 1, 1]
    scores = [candidate.score for candidate in chosen.candidates]
    assert scores[:2] == sorted(scores[:2]) and chosen.candidates[0].kept
    assert {one.n_folds for one in chosen.candidates if one.kept} == {3}


def test_systems_have_the_settings_of_the_kept_candidates(chosen):
    kept = [candidate for candidate in chosen.candidates if candidate.kept]
    assert 1 <= len(kept) <= 2 and len(chosen.systems) == 3
    assert {system.recipe.n_rules for system in chosen.systems} == {4}  # set, so not chosen
    assert all(system.history.size == system.recipe.epochs for system in chosen.systems)
    assert {system.inputs for system in chosen.systems} == {one.settings["inputs"] for one in kept}
    assert (chosen.ranks is None) == all(system.inputs == "scaled" for system in chosen.systems)


def test_a_kept_system_is_trained_by_its_recipe_on_all_rows(curve, chosen):
    X, y = curve
    for i, system in enumerate(chosen.systems):
        inputs = X if system.inputs == "scaled" else Ranks.fit(X).transform(X)
        again = train(inputs, y, system.recipe, seed=[0, 0, i], progress=False)
        for name, value in again.params.items():
            np.testing.assert_array_equal(system.params[name], value)


def test_a_candidate_is_scored_on_rows_that_it_has_not_seen(curve):
    X, y = curve
    ranks = Ranks.fit(X)
    folds = selection._Folds(X, y, ranks, 0, None)
    (trial, *_) = selection._trials(QUICK, "scaled", 2)
    X_learn, _, X_score, *_ = folds.training_run(trial, 1).args
    learned, scored = ({tuple(row) for row in rows} for rows in (X_learn, X_score))
    assert len(scored) == 48 and len(learned) == 192 and not scored & learned


def test_candidates_with_very_many_centres_are_not_tried():
    tried = [trial.recipe.n_rules for trial in selection._trials(STRONG, "scaled", 50)]
    assert max(tried) == 60 and tried[0] == STRONG.n_rules
    assert max(trial.recipe.n_rules for trial in selection._trials(STRONG, "scaled", 8)) == 100


def test_candidates_that_diverge_are_left_out_and_if_all_do_the_error_says_so(curve):
    wild = replace(QUICK, learning_rate=900.0, weight_decay=1e-9)
    with pytest.raises(DivergenceError, match="learning_rate"):
        choose(curve, wild)
    assert training_run(*curve, *curve, wild, (6,), seed=0) == []


def test_the_same_seed_gives_the_same_systems_and_another_seed_others(curve, chosen):
    again, other = choose(curve), choose(curve, seed=1)
    assert again.candidates == chosen.candidates and again.margins == chosen.margins
    for one, two in zip(again.systems, chosen.systems, strict=True):
        np.testing.assert_array_equal(one.params["a"], two.params["a"])
    assert other.candidates != chosen.candidates


def test_given_margins_and_inputs_are_not_chosen(curve):
    found = choose(curve, replace(QUICK, epochs=1), margins=0.25, inputs="ranks")
    assert found.margins.power == 0.25
    assert all(system.inputs == "ranks" for system in found.systems)


@pytest.mark.parametrize(
    ("n_rows", "settings", "wanted"),
    [
        (800, {"schedule": "constant"}, (4, 6, 9, 14, 20, 30, 46, 68)),  # growing by half
        (40_000, {"schedule": "constant"}, (1, 2, 3, 5)),
        (800, {"schedule": "constant", "epochs": 10}, (4, 6, 9, 10)),
        (800, {}, (6, 15, 29, 49, 79, 125, 193, 296)),  # with restarts, the ends of cycles
        (800, {"epochs": 20}, (6, 20)),
        (48_000, {}, (1, 2, 3, 4, 5)),
    ],
)
def test_checkpoints_are_epochs_that_end_with_enough_steps(n_rows, settings, wanted):
    recipe = replace(STRONG, **({"epochs": 10_000} | settings))
    assert checkpoint_epochs(n_rows, recipe) == wanted


def test_a_training_run_ends_after_two_checkpoints_without_a_gain(curve, monkeypatch):
    scores = iter([3.0, 2.0, 2.5, 2.1, 0.1])
    monkeypatch.setattr(selection, "best_family", lambda rows: FamilyScore(next(scores), None))
    recipe = replace(STRONG, n_rules=2, epochs=6)
    assert len(training_run(*curve, *curve, recipe, (1, 2, 3, 4, 5, 6), seed=0)) == 4


def test_another_candidate_is_kept_if_it_costs_at_most_one_percent():
    scores = {1: 1.0, 2: 1.009, 3: 1.03}
    folds = type("Folds", (), {})()
    folds.score = lambda members: FamilyScore(scores[len(members)], None)
    trials = [selection._Trial(i, {}, STRONG, "scaled") for i in range(3)]
    kept, best = selection._best_mean(folds, trials)
    assert kept == trials[:2] and best.score == 1.009


# ---------------------------------------------------------------------------------- scores


def test_the_score_of_planes_is_that_of_exact_calibration(curve):
    """Nine planes are interpolated, so the agreement is close and not exact."""
    X, y = curve
    params = train(X, y, replace(STRONG, n_rules=5, epochs=20), progress=False).params
    planes = Planes(params, X)
    cuts = [critical_scores(planes, y).cut(rank(level, y.size)) for level in LEVELS]
    ends = cut_ends(planes, [(cut, cut) for cut in cuts])
    wanted = [interval_score(y, ends[0, i], ends[1, i], level) for i, level in enumerate(LEVELS)]
    rows = HeldOut(planes.ends(selection.GRID), planes.output(STRONG.planes.alphas), y)
    below, above = rows.ends[0] - y, y - rows.ends[1]
    radii = [selection._plane_radius(miss) for miss in (np.maximum(below, above), below, above)]
    found = selection._score(y, lambda r: selection._plane_interval(rows.ends, r), *radii)
    assert found.score == pytest.approx(np.sqrt(np.prod(wanted)), rel=0.02)


def test_the_family_that_made_the_noise_has_the_best_score():
    rng, n = np.random.default_rng(1), 4000
    width = np.exp(rng.normal(size=n))
    kappa = np.linspace(0, 1, 9)[:, None]
    for power in (0.0, 0.5, 1.0):
        y = width**power * rng.normal(size=n)
        skewed = np.stack([-kappa * width * 0.2, kappa * width * 1.8])  # planes that lean over
        assert best_family(HeldOut(skewed, np.zeros(n), y)).margins.power == power
    upright = np.stack([-kappa * width, kappa * width])
    shift = np.where(rng.random(n) < 0.5, 1.0, -1.0) * width * rng.random(n)
    y = 0.9 * shift + 0.3 * width * rng.normal(size=n)
    assert best_family(HeldOut(upright + 0.9 * shift, np.zeros(n), y)).margins is None


@pytest.mark.parametrize("lean", [True, False])
def test_each_bound_gets_its_rank_if_noise_leans_to_one_side(lean):
    rng, n = np.random.default_rng(2), 2000
    kappa = np.linspace(0, 1, 9)[:, None]
    ends = np.stack([-kappa * np.ones(n), kappa * np.ones(n)])
    y = 0.05 * rng.normal(size=n) + (rng.exponential(size=n) * (rng.random(n) < 0.2) if lean else 0)
    found = best_family(HeldOut(ends, np.zeros(n), y))
    assert found.sides == ("each" if lean else "both")


def test_rows_beyond_the_last_plane_are_reached_by_a_margin():
    kappa = np.linspace(0, 1, 9)[:, None]
    ends = np.stack([-kappa * np.ones(20), kappa * np.ones(20)])
    y = np.linspace(0.0, 5.0, 20)
    radius = selection._plane_radius(np.maximum(ends[0] - y, y - ends[1]))
    inside = y <= 1
    np.testing.assert_allclose(radius[inside], 8 * y[inside], atol=1e-12)
    np.testing.assert_allclose(radius[~inside], 8 + (y[~inside] - 1))
    np.testing.assert_allclose(selection._plane_interval(ends, float(radius[-1]))[1], 5.0)


# ---------------------------------------------------------------------------------- strong


def test_strong_is_the_preset_with_a_selection_and_overrides_come_first():
    class Mine(GT2Regressor):
        pass

    reg = Mine.strong(n_rules=7, objective="dual", random_state=5)
    assert type(reg) is Mine
    assert (reg.n_rules, reg.objective, reg.random_state) == (7, "dual", 5)
    assert (reg.choose, reg.n_systems, reg.clip_inputs) == (True, 5, True)
    with pytest.raises(TypeError, match="rules"):
        GT2Regressor.strong(rules=7)


def test_without_a_selection_strong_trains_by_its_recipe(curve):
    reg = GT2Regressor.strong(choose=False, n_systems=1, n_rules=3, epochs=2).fit(*curve)
    assert asdict(reg.recipe_) == asdict(STRONG) | {"n_rules": 3, "epochs": 2}
    assert reg.chosen_ == ()


def test_strong_fits_better_than_the_papers_recipe(curve):
    X, y = curve
    paper = GT2Regressor(epochs=60).fit(X[:160], y[:160])
    strong = GT2Regressor.strong(n_systems=2, epochs=20).fit(X[:160], y[:160])
    assert strong.score(X[160:], y[160:]) > paper.score(X[160:], y[160:])
    assert strong.chosen_[0].kept
    assert len(strong.systems_) == 2


def test_a_far_row_is_predicted_at_the_edge_of_the_training_range(curve):
    X, y = curve
    settings = {"n_rules": 5, "epochs": 10, "objective": "aligned", "learning_rate": 0.02}
    bounded = GT2Regressor(**settings, clip_inputs=True).fit(X, y).calibrate(X + 0.01, y)
    far = np.array([[1e6, 0.0], [0.0, 0.0]])
    edge = np.array([[X[:, 0].max(), 0.0], [0.0, 0.0]])
    with pytest.warns(ClippedInputsWarning, match="1 of 2 rows .*x0"):
        found = bounded.predict(far)
    np.testing.assert_array_equal(found, bounded.predict(edge))
    with pytest.warns(ClippedInputsWarning):
        lower, upper = bounded.predict_interval(far)
    np.testing.assert_array_equal((lower, upper), bounded.predict_interval(edge))
    free = GT2Regressor(**settings).fit(X, y)
    assert abs(free.predict(far)[0]) > 1e3 * np.abs(found[0])
    np.testing.assert_array_equal(free.predict(X), bounded.predict(X))


def test_chosen_sides_calibrate_unless_others_are_asked_for_or_rows_are_few(curve):
    X, y = curve
    reg = GT2Regressor(n_rules=2, epochs=2).fit(X, y)
    reg.sides_ = "each"
    new = X + 0.01, y
    assert reg.calibrate(*new).calibrator_.sides == "each"
    assert getattr(reg.calibrate(*new, sides="both").calibrator_, "sides", "both") == "both"
    few = reg.calibrate(X[:198] + 0.01, y[:198]).calibrator_
    assert getattr(few, "sides", "both") == "both"


def test_many_inputs_are_not_overfitted():
    """As many inputs as a sixth of the rows, and a linear truth: nearly as good as ridge."""
    linear_model = pytest.importorskip("sklearn.linear_model")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 40))
    y = X[:, :8].sum(axis=1) + 2 * rng.normal(size=500)
    ridge = linear_model.RidgeCV(np.geomspace(0.1, 1000, 9)).fit(X[:250], y[:250])
    reg = GT2Regressor.strong(n_rules=5, n_systems=2, epochs=30).fit(X[:250], y[:250])
    assert reg.score(X[250:], y[250:]) > ridge.score(X[250:], y[250:]) - 0.03
