"""Ensembles, ranks of inputs, and the selection inside `GT2Regressor.strong`."""

import pickle
import sys
import warnings
from dataclasses import asdict, replace

import numpy as np
import pytest

from gt2lite import GT2Regressor
from gt2lite.calibration import critical_scores, cut_ends, rank
from gt2lite.metrics import interval_score
from gt2lite.practice import families, model, selection
from gt2lite.practice.families import LEVELS, FamilyScore, HeldOut, best_family
from gt2lite.practice.model import SPREAD, Ranks, System
from gt2lite.practice.presets import STRONG
from gt2lite.practice.selection import (
    Checkpoint,
    Trial,
    call_all,
    checkpoint_epochs,
    choose_finalists,
    choose_lengths,
    choose_members,
    choose_systems,
    clear_gain,
    draw_folds,
    fit_systems,
    list_trials,
    system_seeds,
    training_run,
)
from gt2lite.practice.settings import EnsembleSettings
from gt2lite.practice.warnings import ClippedInputsWarning
from gt2lite.system import Planes
from gt2lite.training import DivergenceError, init_params, train

QUICK = replace(STRONG, n_rules=4, epochs=6)
FAST = {"n_rules": 3, "epochs": 8, "learning_rate": 0.02, "objective": "aligned"}
KINDS = {
    "several": {"n_systems": 3},
    "ranks": {"inputs": "ranks"},
    "constant margin": {"margins": 0.0},
    "several on ranks with margins": {"n_systems": 2, "inputs": "ranks", "margins": 1.0},
}
GRID = np.linspace(0, 1, 9)[:, None]  # half widths of upright planes


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


def test_the_first_of_several_systems_is_the_single_one_to_the_last_bit(rows, fitted):
    X, y = rows
    alone, several = GT2Regressor(**FAST).fit(X[:300], y[:300]), fitted["several"]
    for name, value in alone.params_.items():
        np.testing.assert_array_equal(value, several.params_[name])
        assert (several.systems_[1].params[name] != value).any()


def test_planes_and_outputs_are_means_over_the_systems_in_blocks_as_well(rows, fitted, monkeypatch):
    X, reg = rows[0], fitted["several"]
    scaled = reg.scaler_.transform_X(X)
    members = [Planes(system.params, scaled) for system in reg.systems_]
    wanted = reg.scaler_.inverse_y(np.mean([planes(0.3) for planes in members], axis=0))
    np.testing.assert_allclose(reg.predict_interval(X, alpha=0.3), wanted, rtol=1e-12)
    output = np.mean([planes.output(reg.recipe_.planes.alphas) for planes in members], axis=0)
    np.testing.assert_allclose(reg.predict(X), reg.scaler_.inverse_y(output), rtol=1e-12)
    planes = reg.model_.planes(scaled)
    assert planes.alpha_min == max(planes.alpha_min for planes in members)
    whole = planes.ends([0.1, 0.6])
    monkeypatch.setattr(model, "fitting_rows", lambda n_centres: 450 // n_centres)
    blocks = list(planes.parts())
    assert [part.stop - part.start for part, _ in blocks] == [450 // 27] * 31 + [4]
    found = np.concatenate([part.ends([0.1, 0.6]) for _, part in blocks], axis=2)
    np.testing.assert_allclose(found, whole, rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_intervals_are_nested_and_cover_calibration_rows_by_their_rank(rows, fitted, kind):
    X, y = rows[0][300:], rows[1][300:]
    lower, upper = fitted[kind].predict_interval(X, coverage=[*np.linspace(0.05, 0.99, 20), 0.9])
    assert (np.diff(lower[:, :20]) <= 0).all() and (np.diff(upper[:, :20]) >= 0).all()
    covered = ((lower[:, 20] <= y) & (y <= upper[:, 20])).sum()
    assert covered == 181  # ceil(201 * 0.9), as no two targets are equal
    widths = upper[:, 20] - lower[:, 20]
    assert np.allclose(widths, widths[0], rtol=1e-12) == (kind == "constant margin")


def test_processes_give_the_same_systems_and_need_joblib(rows, fitted, monkeypatch):
    pytest.importorskip("joblib")
    X, y = rows
    there = GT2Regressor(**FAST, n_systems=3, n_jobs=2).fit(X[:300], y[:300])
    np.testing.assert_array_equal(there.predict(X), fitted["several"].predict(X))
    monkeypatch.setitem(sys.modules, "joblib", None)
    with pytest.raises(ImportError, match="n_jobs"):
        list(call_all([int, int], n_jobs=2))
    assert list(call_all([int, int])) == [0, 0]
    drawn = system_seeds(np.random.default_rng(0), 3)
    assert len(set(drawn)) == 3 and drawn == system_seeds(np.random.default_rng(0), 3)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("n_systems", 0), ("n_systems", 1001), ("choose", "yes"), ("clip_inputs", None)),
        *(("inputs", "rank"), ("margins", 1.5), ("n_jobs", 0), ("verbose", "much")),
    ],
)
def test_a_bad_setting_is_named(name, value):
    with pytest.raises(ValueError, match=name):
        EnsembleSettings(**{name: value})


# ----------------------------------------------------------------------------------- ranks


def ranks_of(train, new):
    return 0.5 + SPREAD * Ranks.fit(train).transform(new)


def test_ranks_are_shares_of_the_training_rows_and_repeated_values_have_their_middle():
    X = np.arange(101.0)[:, None] ** 3
    np.testing.assert_allclose(ranks_of(X, X)[:, 0], np.linspace(0, 1, 101), atol=1e-12)
    np.testing.assert_allclose(ranks_of(X, np.array([[-5.0], [2e6]])).ravel(), [0, 1], atol=1e-12)
    Z = Ranks.fit(X).transform(X)
    assert abs(Z.mean()) < 1e-12 and Z.std() == pytest.approx(1, abs=0.02)
    X = np.round(np.random.default_rng(0).exponential(size=(400, 3)) * [1, 3, 0])
    found = ranks_of(X, np.repeat(np.linspace(-1, 9, 200)[:, None], 3, axis=1))
    assert (np.diff(found, axis=0) >= 0).all() and (found[:, 2] == 0.5).all()
    tied = np.array([[0.0], [0.0], [0.0], [1.0]])
    assert ranks_of(tied, tied[:1]) == pytest.approx(1 / 3)  # the middle of 0 and 2/3


def test_outliers_do_not_disturb_a_system_on_ranks(rows, fitted):
    X, y = rows[0][:300], rows[1][:300]
    wild = X.copy()
    wild[0] *= 1e6
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        reg = GT2Regressor(**FAST, inputs="ranks").fit(wild, y)
    assert np.corrcoef(reg.predict(X)[1:], fitted["ranks"].predict(X)[1:])[0, 1] > 0.99


# ------------------------------------------------------------------------------- selection


@pytest.fixture(scope="module")
def curve():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 2))
    return X, np.sin(2 * X[:, 0]) + (0.1 + 0.3 * (X[:, 1] > 0)) * rng.normal(size=240)


def choose(curve, recipe=QUICK, seed=0, folds=None, **settings):
    settings = {"n_systems": 10, "choose": True, "verbose": False} | settings
    return choose_systems(*curve, recipe, EnsembleSettings(**settings), seed, folds)


@pytest.fixture(scope="module")
def chosen(curve):
    return choose(curve)


def test_the_first_candidate_and_another_one_are_trained_without_each_fold(curve, chosen):
    X, y = curve
    n_folds = [one.n_folds for one in chosen.candidates]
    assert n_folds == [5, 5] + [1] * (len(n_folds) - 2)
    kept = [one for one in chosen.candidates if one.kept]
    assert kept == list(chosen.candidates[:2])
    assert any(one.settings == {"inputs": "scaled"} for one in kept)  # the first one
    assert len(chosen.systems) == 10
    assert (chosen.ranks is None) == all(system.inputs == "scaled" for system in chosen.systems)
    fold_of = draw_folds(240, 0)
    system = chosen.systems[2]  # the first candidate without the second fold
    assert system.inputs == "scaled" and system.recipe.n_rules == 4  # set, so not chosen
    learn = fold_of != 1
    again = train(X[learn], y[learn], system.recipe, seed=[0, 0, 0, 1], progress=False)
    assert len(again.history) == len(system.history) == system.recipe.epochs
    np.testing.assert_array_equal(system.params["a"], again.params["a"])
    for one in chosen.systems[1::2]:
        assert one.inputs == chosen.systems[1].inputs


def test_held_out_rows_are_predicted_by_the_systems_that_have_not_seen_them(curve, chosen):
    X, y = curve
    held, fold_of = chosen.held_out, draw_folds(240, 0)
    np.testing.assert_array_equal(np.sort(held.rows), np.arange(240))
    np.testing.assert_array_equal(held.y, y[held.rows])
    for fold in range(5):
        there = fold_of[held.rows] == fold
        unseen = replace(chosen, systems=chosen.systems[2 * fold : 2 * fold + 2])
        planes = unseen.planes(X[held.rows[there]])
        np.testing.assert_allclose(held.ends[:, :, there], planes.ends(families.GRID), atol=1e-12)
        np.testing.assert_allclose(held.output[there], planes.output(unseen.alphas), atol=1e-12)
    found = best_family(held)
    assert (found.margins, found.sides) == (chosen.margins, chosen.sides)
    assert pickle.loads(pickle.dumps(chosen)).held_out is None
    assert chosen.with_systems(chosen.systems[:1]).held_out is None
    assert choose(curve, n_systems=3, recipe=replace(QUICK, epochs=1)).held_out.y.size == 144


def test_folds_may_be_given(curve):
    folds = np.repeat([0, 1, 2], 80)
    settings = EnsembleSettings(n_systems=3, choose=True, verbose=False)
    found = fit_systems(*curve, replace(QUICK, epochs=1), settings, 0, folds=folds)
    assert len(found.systems) == found.candidates[0].n_folds == 3
    np.testing.assert_array_equal(found.held_out.rows, np.arange(240))


@pytest.mark.parametrize("harm", [True, False])
def test_a_candidate_that_makes_the_mean_worse_is_left_out(harm, monkeypatch):
    members = [(one, 0, fold) for one in (trial(0), trial(1)) for fold in (0, 1)]
    scores = {0.0: 1.0, 1.0: 2.0, 0.5: 1.6 if harm else 1.5}  # of one, the other, the mean
    monkeypatch.setattr(
        selection,
        "best_family",
        lambda rows, power: FamilyScore(scores[float(rows.ends.mean())], None),
    )
    kept, best = choose_members(members, None)
    assert kept == (members[:2] if harm else members)
    assert best.score == (1.0 if harm else 1.5)


def test_a_candidate_is_scored_on_rows_that_it_has_not_seen(curve, monkeypatch):
    X, y = curve
    held, learned = np.arange(240) % 5 == 0, []

    def fake(X_learn, y_learn, recipe, *, callback, **options):
        learned.append(X_learn)
        callback(1, 0.0, init_params(X_learn, 4, np.random.default_rng(0)))

    monkeypatch.setattr(selection, "train", fake)
    (found,) = training_run(X, y, held, QUICK, (1,), seed=0)
    np.testing.assert_array_equal(learned[0], X[~held])
    np.testing.assert_array_equal(found.held_out.y, y[held])


def test_candidates_have_few_enough_centres_and_the_inputs_asked_for():
    tried = [trial.recipe.n_rules for trial in list_trials(STRONG, "scaled", 5000, 50)]
    assert set(tried) == {STRONG.n_rules}
    for n_rows, most in ((1999, STRONG.n_rules), (2000, 100)):
        tried = list_trials(STRONG, "scaled", n_rows, 8)
        assert max(trial.recipe.n_rules for trial in tried) == most
    assert {trial.inputs for trial in list_trials(QUICK, "ranks", 5000, 2)} == {"ranks"}


def test_candidates_that_diverge_are_left_out_and_if_all_do_the_error_says_so(curve):
    wild = replace(QUICK, learning_rate=900.0, weight_decay=1e-9)
    with pytest.raises(DivergenceError, match=r"every candidate.*learning_rate"):
        choose(curve, wild)
    assert training_run(*curve, np.arange(240) < 40, wild, (6,), seed=0) == []


def test_the_same_seed_gives_the_same_systems_and_another_seed_others(curve, chosen):
    short = replace(QUICK, epochs=1)
    first, again, other = (choose(curve, short, seed, margins=0.25) for seed in (0, 0, 1))
    assert again.candidates == first.candidates != other.candidates
    for one, two in zip(again.systems, first.systems, strict=True):
        np.testing.assert_array_equal(one.params["a"], two.params["a"])
    assert first.margins.power == 0.25  # given, so not chosen


@pytest.mark.parametrize(
    ("n_rows", "settings", "wanted"),
    [
        (800, {"schedule": "constant"}, (6, 9, 14, 20, 30, 46, 68, 103)),  # growing by half
        (40_000, {"schedule": "constant"}, (1, 2)),
        (800, {"schedule": "constant", "epochs": 10}, (6, 9, 10)),
        (800, {}, (6, 15, 29, 49, 79, 125, 192)),  # with restarts, the ends of cycles
        (800, {"epochs": 20}, (6, 20)),
        (48_000, {}, (1, 2, 3)),
    ],
)
def test_checkpoints_are_epochs_that_end_with_enough_steps(n_rows, settings, wanted):
    recipe = replace(STRONG, **({"epochs": 10_000} | settings))
    assert checkpoint_epochs(n_rows, recipe) == wanted


def test_a_training_run_ends_after_two_checkpoints_without_a_gain(curve, monkeypatch):
    scores = iter([3.0, 2.0, 2.5, 2.1, 0.1])
    monkeypatch.setattr(selection, "best_family", lambda rows: FamilyScore(next(scores), None))
    recipe = replace(STRONG, n_rules=2, epochs=6)
    assert len(training_run(*curve, np.arange(240) < 40, recipe, range(1, 7), seed=0)) == 4


ROWS = 16


def trial(index, n=1):
    """Return a candidate with two folds of `n` checkpoints."""
    run = [
        Checkpoint(
            System({}, replace(STRONG, epochs=i + 1), np.zeros(i + 1)),
            HeldOut(np.full((2, 9, ROWS), index), np.full(ROWS, i), np.zeros(ROWS)),
        )
        for i in range(n)
    ]
    return Trial(index, {}, STRONG, "scaled", {(0, 0): run, (0, 1): run})


@pytest.mark.parametrize("gain", [0.4, 0.6])
def test_another_candidate_than_the_second_needs_a_clear_gain(gain, monkeypatch):
    trials = [trial(0), trial(1), trial(2)]
    score = {0.5: 1.0, 1.0: 1 - gain}  # by the mean of both candidates
    monkeypatch.setattr(
        selection,
        "best_family",
        lambda rows, power: FamilyScore(score.get(rows.ends.mean(), 1.0), None),
    )
    assert clear_gain(ROWS) == 0.5
    assert choose_finalists(trials, 2, None) == [trials[0], trials[1 if gain < 0.5 else 2]]
    assert choose_finalists(trials[:1], 2, None) == trials[:1]


@pytest.mark.parametrize(
    ("scores", "wanted"),
    [
        ([1.2, 1.0, 1.2, 1.2], 1),  # a clear gain
        ([1.2, 1.0001, 1.2, 1.0], 2),  # whichever of the two is better
        ([1.2, 1.0, 1.2, 1.0001], 2),
        ([2.0, 1.0, 1.0, 1.0], 2),
    ],
)
def test_near_lengths_are_averaged(scores, wanted, monkeypatch):
    found = trial(0, n=4)
    monkeypatch.setattr(
        selection,
        "best_family",
        lambda rows, power: FamilyScore(scores[int(rows.output[0])], None),
    )
    best = choose_lengths([(found, 0, 0), (found, 0, 1)], None)
    assert found.checkpoint == wanted and best.score == scores[wanted]
    assert found.at(0, 1).system.recipe.epochs == wanted + 1


# ---------------------------------------------------------------------------------- scores


def test_the_score_of_planes_is_that_of_exact_calibration(curve):
    """Nine planes are interpolated, so the agreement is close and not exact."""
    X, y = curve
    planes = Planes(train(X, y, replace(STRONG, n_rules=5, epochs=20), progress=False).params, X)
    cuts = [critical_scores(planes, y).cut(rank(level, y.size)) for level in LEVELS]
    ends = cut_ends(planes, [(cut, cut) for cut in cuts])
    wanted = [interval_score(y, ends[0, i], ends[1, i], level) for i, level in enumerate(LEVELS)]
    rows = HeldOut(planes.ends(families.GRID), planes.output([1.0]), y)
    score = families._plane_score(rows).score
    assert score == pytest.approx(np.sqrt(np.prod(wanted)), rel=0.02)


def test_the_family_that_made_the_noise_has_the_best_score():
    rng, n = np.random.default_rng(1), 4000
    width = np.exp(rng.normal(size=n))
    for power in (0.0, 0.5, 1.0):
        y = width**power * rng.normal(size=n)
        skewed = np.stack([-GRID * width * 0.2, GRID * width * 1.8])  # planes that lean over
        assert best_family(HeldOut(skewed, np.zeros(n), y)).margins.power == power
    upright = np.stack([-GRID * width, GRID * width])
    shift = np.where(rng.random(n) < 0.5, 1.0, -1.0) * width * rng.random(n)
    y = 0.9 * shift + 0.3 * width * rng.normal(size=n)
    assert best_family(HeldOut(upright + 0.9 * shift, np.zeros(n), y)).margins is None


@pytest.mark.parametrize("lean", [True, False])
def test_each_bound_gets_its_rank_if_noise_leans_to_one_side(lean):
    rng, n = np.random.default_rng(2), 2000
    ends = np.stack([-GRID * np.ones(n), GRID * np.ones(n)])
    y = 0.05 * rng.normal(size=n) + (rng.exponential(size=n) * (rng.random(n) < 0.2) if lean else 0)
    found = best_family(HeldOut(ends, np.zeros(n), y))
    assert found.sides == ("each" if lean else "both")
    if lean:  # as many rows are left out below as above
        cut = {level: round(n * (1 - level) / 2) for level in LEVELS}
        bounds = {level: np.sort(y)[[k, -1 - k]] * np.ones((n, 1)) for level, k in cut.items()}
        scores = [interval_score(y, *bounds[level].T, level) for level in LEVELS]
        assert found.score == pytest.approx(np.sqrt(np.prod(scores)), rel=1e-9)


def test_rows_beyond_the_last_plane_are_reached_by_a_margin():
    ends = np.stack([-GRID * np.ones(20), GRID * np.ones(20)])
    y = np.linspace(0.0, 5.0, 20)
    radius = families._plane_radius(np.maximum(ends[0] - y, y - ends[1]))
    np.testing.assert_allclose(radius, np.where(y <= 1, 8 * y, 8 + (y - 1)), atol=1e-12)
    np.testing.assert_allclose(families._plane_interval(ends, float(radius[-1]))[1], 5.0)


# ---------------------------------------------------------------------------------- strong


def test_strong_is_the_preset_with_a_selection_and_overrides_come_first(curve):
    class Mine(GT2Regressor):
        pass

    reg = Mine.strong(n_rules=7, objective="dual", random_state=5)
    assert type(reg) is Mine
    assert (reg.n_rules, reg.objective, reg.random_state) == (7, "dual", 5)
    assert (reg.choose, reg.n_systems, reg.clip_inputs) == (True, 10, True)
    with pytest.raises(TypeError, match="rules"):
        GT2Regressor.strong(rules=7)
    reg = GT2Regressor.strong(choose=False, n_systems=1, n_rules=3, epochs=2).fit(*curve)
    assert asdict(reg.recipe_) == asdict(STRONG) | {"n_rules": 3, "epochs": 2}
    assert reg.chosen_ == ()


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
    X, y = curve[0] + 0.01, curve[1]
    reg = GT2Regressor(n_rules=2, epochs=2).fit(*curve)
    reg.model_ = replace(reg.model_, ensemble=replace(reg.model_.ensemble, sides="each"))
    for n, sides, wanted in ((240, None, "each"), (240, "both", "both"), (198, None, "both")):
        calibrator = reg.calibrate(X[:n], y[:n], sides=sides).calibrator_
        assert getattr(calibrator, "sides", "both") == wanted


@pytest.mark.slow
def test_many_inputs_are_not_overfitted():
    """As many inputs as a sixth of the rows, and a linear truth: nearly as good as ridge."""
    linear_model = pytest.importorskip("sklearn.linear_model")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 40))
    y = X[:, :8].sum(axis=1) + 2 * rng.normal(size=500)
    ridge = linear_model.RidgeCV(np.geomspace(0.1, 1000, 9)).fit(X[:250], y[:250])
    reg = GT2Regressor.strong(n_rules=5, n_systems=1, epochs=15).fit(X[:250], y[:250])
    assert reg.score(X[250:], y[250:]) > ridge.score(X[250:], y[250:]) - 0.03
