"""Facts about several systems in one estimator: means, nested, saved, explained."""

import sys
import warnings

import numpy as np
import pytest

from gt2lite import GT2Regressor
from gt2lite.selection import SPREAD, MeanPlanes, Ranks, call_all, system_seeds
from gt2lite.system import Planes

FAST = {"n_rules": 3, "epochs": 8, "learning_rate": 0.02, "objective": "aligned"}
KINDS = {
    "several": {"n_systems": 3},
    "ranks": {"inputs": "ranks"},
    "several on ranks": {"n_systems": 2, "inputs": "ranks"},
    "margins": {"margins": 0.5},
    "several with margins": {"n_systems": 2, "margins": 1.0},
    "constant": {"margins": 0.0},
}


@pytest.fixture
def rng():
    return np.random.default_rng(0)


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


def test_the_first_of_several_is_the_single_one_to_the_last_bit(rows):
    X, y = rows
    alone = GT2Regressor(**FAST, random_state=7).fit(X, y)
    several = GT2Regressor(**FAST, n_systems=2, random_state=7).fit(X, y)
    for name, value in alone.params_.items():
        np.testing.assert_array_equal(value, several.params_[name])
        assert (several.systems_[1].params[name] != value).any()


def test_planes_and_outputs_are_means_of_those_of_the_systems(rows, fitted):
    X, reg = rows[0], fitted["several"]
    scaled = reg.scaler_.transform_X(X)
    members = [Planes(system.params, scaled) for system in reg.systems_]
    ends = np.mean([planes(0.3) for planes in members], axis=0)
    wanted = reg.scaler_.inverse_y(ends)
    np.testing.assert_allclose(reg.predict_interval(X, alpha=0.3), wanted, rtol=1e-12)
    alphas = reg.recipe_.planes.alphas
    output = np.mean([planes.output(alphas) for planes in members], axis=0)
    np.testing.assert_allclose(reg.predict(X), reg.scaler_.inverse_y(output), rtol=1e-12)


def test_the_common_range_of_planes_ends_where_the_first_system_ends(rows, fitted):
    reg = fitted["several"]
    planes = reg._planes(rows[0])
    assert isinstance(planes, MeanPlanes)
    assert planes.alpha_min == max(member.alpha_min for member in planes.members)


@pytest.mark.parametrize("kind", KINDS)
def test_intervals_of_all_levels_are_nested(rows, fitted, kind):
    levels = np.linspace(0.05, 0.99, 40)
    lower, upper = fitted[kind].predict_interval(rows[0], coverage=levels)
    assert (np.diff(lower, axis=1) <= 0).all() and (np.diff(upper, axis=1) >= 0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_calibration_rows_are_covered_by_their_rank(rows, fitted, kind):
    X, y = rows
    lower, upper = fitted[kind].predict_interval(X[300:], coverage=0.9)
    covered = ((lower <= y[300:]) & (y[300:] <= upper)).sum()
    assert covered == 181  # ceil(201 * 0.9), as no two targets are equal


@pytest.mark.parametrize("method", ["conformal", "table"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_survives_the_file(rows, fitted, kind, method, tmp_path):
    X, y = rows
    reg = fitted[kind]
    again_fitted = GT2Regressor(**FAST, **KINDS[kind]).fit(X[:300], y[:300])
    again_fitted.calibrate(X[300:], y[300:], method=method)
    again_fitted.save(tmp_path / "model.json")
    loaded = GT2Regressor.load(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.predict(X), reg.predict(X))
    for level in (0.5, 0.8):
        np.testing.assert_array_equal(
            loaded.predict_interval(X, level), again_fitted.predict_interval(X, level)
        )
    assert loaded.get_params() == reg.get_params()
    assert loaded.margins_ == reg.margins_ and len(loaded.systems_) == len(reg.systems_)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_weights_add_up_to_the_prediction_and_both_ends(rows, fitted, kind, level):
    reg, x = fitted[kind], rows[0][7]
    why = reg.explain(x, coverage=level)
    lower, upper = reg.predict_interval(x[None], coverage=level)
    for part, wanted in zip(why.parts, (reg.predict(x[None]), lower, upper), strict=True):
        assert part.value == pytest.approx(wanted[0], rel=1e-12)
        found = part.weights @ why.consequents + part.margin
        assert found == pytest.approx(wanted[0], rel=1e-9)
        assert part.weights.sum() == pytest.approx(1)
    assert len(why.labels) == 3 * len(reg.systems_)


def test_rules_of_each_system_can_be_read_and_ranks_are_called_ranks(fitted, rows):
    several = fitted["several"]
    assert str(several.rules(system=0)) != str(several.rules(system=2))
    with pytest.raises(ValueError, match="system must be at most 2: there is 3 systems, got 3"):
        several.rules(system=3)
    assert "rank of x" in str(fitted["ranks"].rules(rows[0]))
    weights = several.rule_weights(rows[0], system=1)
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    assert "rule 5 of system 2" in str(several.explain(rows[0][0], alpha=0.1)).replace("\n", " ")


def test_processes_give_the_same_systems(rows):
    X, y = rows
    here = GT2Regressor(**FAST, n_systems=2).fit(X, y)
    there = GT2Regressor(**FAST, n_systems=2, n_jobs=2).fit(X, y)
    for one, other in zip(here.systems_, there.systems_, strict=True):
        for name, value in one.params.items():
            np.testing.assert_array_equal(value, other.params[name])


def test_without_joblib_more_processes_are_refused_kindly(monkeypatch):
    monkeypatch.setitem(sys.modules, "joblib", None)
    with pytest.raises(ImportError, match="n_jobs other than None and 1 needs joblib"):
        list(call_all([int, int], n_jobs=2))
    assert list(call_all([int, int])) == [0, 0]


def test_seeds_differ_and_a_generator_is_drawn_from():
    assert system_seeds(3, 1) == [3]
    drawn = system_seeds(np.random.default_rng(0), 3)
    assert len(set(drawn)) == 3 and drawn == system_seeds(np.random.default_rng(0), 3)


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ({"n_systems": 0}, "n_systems must be a whole number of at least 1, got 0"),
        ({"choose": "yes"}, "choose must be True or False, got 'yes'"),
        ({"choose": True}, "choose=True needs n_systems of at least 2"),
        ({"inputs": "rank"}, "inputs must be one of 'scaled', 'ranks', got 'rank'"),
        ({"margins": 1.5}, "margins must be"),
        ({"n_jobs": 0}, "n_jobs must be a whole number of at least 1, got 0"),
    ],
)
def test_bad_settings_are_named(rows, setting, words):
    with pytest.raises(ValueError, match=words):
        GT2Regressor(**FAST, **setting).fit(*rows)


# ---------------------------------------------------------------------------------- ranks


def test_ranks_are_shares_of_training_and_end_with_it():
    X = np.arange(101.0)[:, None] ** 3
    ranks = Ranks.fit(X)
    np.testing.assert_allclose(ranks.share(X)[:, 0], np.linspace(0, 1, 101), atol=1e-12)
    assert ranks.share(np.array([[-5.0], [2e6]])).ravel().tolist() == [0.0, 1.0]


def test_ranks_rise_whatever_repeats(rng):
    X = np.round(rng.exponential(size=(400, 3)) * [1, 3, 0])  # few values, and one column of one
    ranks = Ranks.fit(X)
    new = np.sort(np.repeat(np.linspace(-1, 9, 200)[:, None], 3, axis=1), axis=0)
    assert (np.diff(ranks.share(new), axis=0) >= 0).all()
    assert (ranks.share(new)[:, 2] == 0.5).all()


def test_ranks_that_a_system_sees_have_mean_zero_and_spread_one(rng):
    X = rng.exponential(size=(5000, 2)) ** 4
    Z = Ranks.fit(X).transform(X)
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=0.02)
    np.testing.assert_allclose(Z.std(axis=0), 1, atol=0.02)
    assert pytest.approx(np.sqrt(1 / 12)) == SPREAD


def test_outliers_do_not_reach_a_system_on_ranks(rows):
    X, y = rows
    wild = X.copy()
    wild[0] *= 1e6
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        reg = GT2Regressor(**FAST, inputs="ranks").fit(wild, y)
    plain = GT2Regressor(**FAST, inputs="ranks").fit(X, y)
    assert np.corrcoef(reg.predict(wild)[1:], plain.predict(X)[1:])[0, 1] > 0.99
