"""Facts about the choice inside training: what is tried, what decides, what is kept."""

from dataclasses import replace

import numpy as np
import pytest

from gt2lite import GT2Regressor
from gt2lite import selection as _choice
from gt2lite import selection as _courses
from gt2lite.calibration import critical_scores, cut_ends, rank
from gt2lite.memberships import alpha_of
from gt2lite.metrics import interval_score
from gt2lite.selection import (
    CANDIDATES,
    FINALISTS,
    LEVELS,
    Ranks,
    Seen,
    choose_systems,
    moments,
    quality,
)
from gt2lite.system import Planes
from gt2lite.training import STRONG, train

N_FOLDS = 3
QUICK = replace(STRONG, n_rules=4, epochs=6)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 2))
    return X, np.sin(2 * X[:, 0]) + (0.1 + 0.3 * (X[:, 1] > 0)) * rng.normal(size=240)


def choose(rows, recipe=QUICK, seed=0, **options):
    X, y = rows
    options = {"n_folds": N_FOLDS, "progress": False} | options
    return choose_systems(X, y, recipe, Ranks.fit(X), seed=seed, **options)


@pytest.fixture(scope="module")
def chosen(rows):
    return choose(rows)


def test_every_candidate_is_told_with_the_folds_that_judged_it(chosen):
    n_folds = sorted((judged.n_folds for judged in chosen.judged), reverse=True)
    # with n_rules set, ten and sixty rules are not tried: what a user sets is not chosen
    assert len(n_folds) == len(CANDIDATES) - 1
    assert n_folds == [3, 3, 3, 1, 1, 1]
    assert {judged.n_folds for judged in chosen.judged if judged.kept} == {N_FOLDS}
    assert chosen.judged[0].kept


def test_the_systems_kept_are_those_of_the_folds(chosen):
    n_kept = sum(judged.kept for judged in chosen.judged)
    assert len(chosen.systems) == n_kept * N_FOLDS
    assert 1 <= n_kept <= FINALISTS
    assert all(system.recipe.n_rules == 4 for system in chosen.systems)
    for system in chosen.systems:
        assert system.history.size == system.recipe.epochs


def test_a_kept_system_is_the_one_that_its_recipe_trains(rows, chosen):
    """No system has seen its own fold, and each can be had again by hand."""
    X, y = rows
    order = np.random.default_rng([2, 0]).permutation(len(y))
    fold = order[0::N_FOLDS]
    learn = np.sort(np.setdiff1d(np.arange(len(y)), fold))
    system = chosen.systems[0]
    again = []
    inputs = X if system.inputs == "scaled" else Ranks.fit(X).transform(X)
    for index in range(1, len(CANDIDATES) + 1):
        found = train(inputs[learn], y[learn], system.recipe, seed=[0, index, 0], progress=False)
        again.append(np.array_equal(found.params["c"], system.params["c"]))
    assert sum(again) == 1


def test_the_same_seed_gives_the_same_systems_and_another_seed_others(rows, chosen):
    again, other = choose(rows), choose(rows, seed=1)
    assert again.judged == chosen.judged and again.margins == chosen.margins
    for one, two in zip(again.systems, chosen.systems, strict=True):
        np.testing.assert_array_equal(one.params["a"], two.params["a"])
    assert other.judged != chosen.judged


def test_a_power_that_is_given_is_not_chosen_nor_is_the_form_of_inputs(rows):
    found = choose(rows, replace(QUICK, epochs=1), power=0.25, inputs="ranks")
    assert found.margins.power == 0.25
    assert all(system.inputs == "ranks" for system in found.systems)


def test_moments_are_epochs_that_grow_by_half_and_end_with_enough():
    assert moments(800, replace(STRONG, epochs=1000)) == (4, 6, 9, 14, 20, 30, 46, 68)
    assert moments(40_000, replace(STRONG, epochs=1000)) == (1, 2, 3, 5)
    assert moments(800, replace(STRONG, epochs=10)) == (4, 6, 9, 10)
    assert moments(3, replace(STRONG, epochs=10_000))[0] == 100


def test_a_course_ends_when_moments_bring_no_gain(rows, monkeypatch):
    X, y = rows
    told = iter([3.0, 2.0, 2.5, 2.4, 2.1, 0.1])
    monkeypatch.setattr(_courses, "quality", lambda seen: _courses.Quality(next(told), None))
    recipe = replace(STRONG, n_rules=2, epochs=6)
    course = _courses.Course(X, y, X, y, recipe, (1, 2, 3, 4, 5, 6), 0)
    assert [moment.epoch for moment in course()] == [1, 2, 3, 4, 5]


# ------------------------------------------------------------------------------ what decides


def test_the_score_of_planes_is_that_of_exact_calibration(rows):
    """Interpolated between nine planes, and exact between them where ends are straight."""
    X, y = rows
    params = train(X, y, replace(STRONG, n_rules=5, epochs=20), progress=False).params
    planes = Planes(params, X)
    scores = critical_scores(planes, y)
    cuts = [scores.cut(rank(level, y.size)) for level in LEVELS]
    ends = cut_ends(planes, [(cut, cut) for cut in cuts])
    wanted = [interval_score(y, ends[0, i], ends[1, i], level) for i, level in enumerate(LEVELS)]
    seen = Seen.at(params, X, y, STRONG.planes.alphas)
    radius = _courses._radius(seen.ends, y)
    found = _courses._score(y, radius, lambda r: _courses._interval(seen.ends, r))
    assert found == pytest.approx(np.sqrt(np.prod(wanted)), rel=0.02)


def test_the_best_family_is_found(rows):
    """Noise of known shape: the power that made it wins."""
    rng = np.random.default_rng(1)
    n = 4000
    width = np.exp(rng.normal(size=n))
    kappa = np.linspace(0, 1, 9)[:, None]
    for power in (0.0, 0.5, 1.0):
        y = width**power * rng.normal(size=n)  # far beyond the planes, and within them
        skewed = np.stack([-kappa * width * 0.2, kappa * width * 1.8])  # planes that lean over
        found = quality(Seen(skewed, np.zeros(n), y))
        assert found.margins is not None and found.margins.power == power
    upright = np.stack([-kappa * width, kappa * width])
    lean = np.where(rng.random(n) < 0.5, 1.0, -1.0) * width * rng.random(n)
    shifted = Seen(upright + 0.9 * lean, np.zeros(n), 0.9 * lean + 0.3 * width * rng.normal(size=n))
    assert quality(shifted).margins is None  # the planes know where the output does not


def test_rows_beyond_the_last_plane_are_reached_by_a_margin():
    kappa = np.linspace(0, 1, 9)[:, None]
    ends = np.stack([-kappa * np.ones(20), kappa * np.ones(20)])
    y = np.linspace(0.0, 5.0, 20)
    radius = _courses._radius(ends, y)
    inside = y <= 1
    np.testing.assert_allclose(radius[inside], 8 * y[inside], atol=1e-12)
    np.testing.assert_allclose(radius[~inside], 8 + (y[~inside] - 1))
    _, upper = _courses._interval(ends, float(radius[-1]))
    np.testing.assert_allclose(upper, 5.0)
    assert alpha_of(1.0) == 0.01


def test_a_mean_is_kept_where_it_does_no_harm(monkeypatch):
    told = {1: 1.0, 2: 1.009, 3: 1.03}
    search = type("Search", (), {})()
    search.quality = lambda members: _courses.Quality(told[len(members)], None)
    candidates = [_choice._Candidate({}, STRONG, "scaled", best=(0, None)) for _ in range(3)]
    members, best = _choice._mix(search, candidates)
    assert len(members) == 2 and best.score == 1.009


# ------------------------------------------------------------------------- by the estimator


def test_strong_tells_what_it_chose_and_survives_the_file(rows, tmp_path):
    X, y = rows
    reg = GT2Regressor.strong(n_rules=3, epochs=4, n_systems=2).fit_calibrate(X, y, share=0.45)
    assert reg.chosen_ and reg.chosen_[0].kept
    assert {system.recipe.n_rules for system in reg.systems_} == {3}
    reg.save(tmp_path / "model.json")
    again = GT2Regressor.load(tmp_path / "model.json")
    assert again.chosen_ == reg.chosen_ and again.get_params() == reg.get_params()
    np.testing.assert_array_equal(again.predict_interval(X), reg.predict_interval(X))


def test_wide_tables_are_not_overfitted():
    """As many inputs as a fifth of the rows, and a linear truth: at least level with ridge."""
    linear_model = pytest.importorskip("sklearn.linear_model")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 40))
    y = X[:, :8].sum(axis=1) + 2 * rng.normal(size=500)
    ridge = linear_model.RidgeCV(np.geomspace(0.1, 1000, 9)).fit(X[:250], y[:250])
    reg = GT2Regressor.strong(n_rules=5, n_systems=3).fit(X[:250], y[:250])
    assert reg.score(X[250:], y[250:]) > ridge.score(X[250:], y[250:]) - 0.03
