"""What is kept of a training: the last, the best, the mean; and what steers its steps."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from learners import Recorder, a_table, assert_same, full_loss

from gt2lite.training import Recipe, RunningMean, init_params, train


def test_keep_best_returns_the_epoch_with_the_smallest_loss_over_all_rows():
    X, y = a_table()
    recipe = Recipe(n_rules=3, epochs=30, batch_size=16, learning_rate=0.3, keep="best")
    heard = Recorder()
    trained = train(X, y, recipe, callback=heard)
    losses = [full_loss(params, X, y, recipe) for params in heard.params]
    best = int(np.argmin(losses))
    assert 0 < best < 29  # otherwise this says little
    assert_same(trained.params, heard.params[best], atol=0)


def test_keep_last_and_best_differ_in_what_is_kept_only():
    X, y = a_table()
    settings = {"n_rules": 3, "epochs": 30, "batch_size": 16, "learning_rate": 0.3}
    last, best = (train(X, y, Recipe(**settings, keep=keep)) for keep in ("last", "best"))
    np.testing.assert_array_equal(last.history, best.history)
    recipe = Recipe(**settings)
    assert full_loss(best.params, X, y, recipe) < full_loss(last.params, X, y, recipe)


def test_keep_validation_returns_the_epoch_with_the_smallest_loss_over_rows_set_aside():
    X, y = a_table(N=40)
    recipe = Recipe(n_rules=6, epochs=40, batch_size=8, learning_rate=0.1, keep="validation")
    heard = Recorder()
    trained = train(X, y, recipe, callback=heard)
    best = int(np.argmin(heard.losses))
    assert 0 < best < 39  # otherwise this says little
    assert_same(trained.params, heard.params[best], atol=0)
    # the losses heard are those of 8 of the rows: no other row has a say
    rows = np.random.default_rng(0).permutation(40)[:8]
    losses = [full_loss(params, X[rows], y[rows], recipe) for params in heard.params]
    np.testing.assert_allclose(heard.losses, losses, rtol=0, atol=1e-12)


def test_rows_set_aside_are_not_learnt_from():
    X, y = a_table(N=40)
    recipe = Recipe(n_rules=3, epochs=5, batch_size=8, keep="validation")
    aside = np.random.default_rng(0).permutation(40)[:8]
    heard, other = Recorder(), Recorder()
    train(X, y, recipe, callback=heard)
    changed = y.copy()
    changed[aside] += 100
    train(X, changed, recipe, callback=other)
    for one, two in zip(heard.params, other.params, strict=True):
        assert_same(one, two, atol=0)


def test_validation_guards_against_overfitting():
    # Targets are noise, so that all there is to learn from 40 rows is how they happen to lie. One
    # seed may go either way; the mean over five does not hang on last bits.
    settings = {"n_rules": 10, "epochs": 60, "batch_size": 8, "learning_rate": 0.05}
    losses = {"last": [], "validation": []}
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(240, 3)), rng.normal(size=240)
        for keep, found in losses.items():
            recipe = Recipe(**settings, keep=keep)
            params = train(X[:40], y[:40], recipe, seed=seed).params
            found.append(full_loss(params, X[40:], y[40:], recipe))
    assert np.mean(losses["validation"]) < np.mean(losses["last"])


@pytest.mark.parametrize(("share", "n"), [(0.2, 2), (0.001, 1), (0.999, 9)])
def test_at_least_one_row_is_set_aside_and_one_is_left(share, n):
    X, y = a_table(N=10)
    heard = Recorder()
    recipe = Recipe(n_rules=1, epochs=1, keep="validation", validation=share)
    train(X, y, recipe, callback=heard)
    rows = np.random.default_rng(0).permutation(10)[:n]
    assert heard.losses[0] == pytest.approx(full_loss(heard.params[0], X[rows], y[rows], recipe))


def test_one_row_cannot_be_learnt_from_and_set_aside():
    with pytest.raises(ValueError, match="at least 2 rows, got 1"):
        train(np.zeros((1, 1)), np.zeros(1), Recipe(keep="validation"))


def test_the_cosine_ends_in_small_steps():
    X, y = a_table(N=64)
    heard = Recorder()
    recipe = Recipe(n_rules=3, epochs=40, learning_rate=0.01, schedule="cosine")
    train(X, y, recipe, callback=heard)
    moves = [np.abs(b["c"] - a["c"]).max() for a, b in itertools.pairwise(heard.params)]
    assert moves[-1] < 0.01 * max(moves)


def test_weight_decay_shrinks_the_consequents_and_them_alone():
    X, y = a_table(N=64)
    settings = {"n_rules": 3, "epochs": 200, "learning_rate": 0.01}
    plain, decayed = (train(X, y, Recipe(**settings, weight_decay=w)) for w in (0, 1.0))
    size = [np.linalg.norm(t.params["a"]) for t in (plain, decayed)]
    assert size[1] < 0.8 * size[0]
    # with one rule nothing pulls at the other parameters, and they stay as they were
    X, still = np.full((4, 1), 3.0), Recipe(n_rules=1, epochs=1, weight_decay=500)
    end, start = train(X, np.zeros(4), still).params, init_params(X, 1, np.random.default_rng(0))
    for name in ("c", "raw_sigma", "raw_l", "raw_r"):
        np.testing.assert_array_equal(end[name], start[name])


def test_a_running_mean_by_hand_in_its_first_steps_and_later():
    mean = RunningMean(np.array([7.0]), memory=0.5)
    expected = 0.0
    for step in range(1, 31):
        share = 10 / (9 + step) if step < 11 else 0.5  # of the newest value
        expected += share * (step - expected)
        mean.update(np.array([float(step)]))
        assert mean.mean[0] == pytest.approx(expected, rel=1e-14)
    assert mean.mean[0] == pytest.approx(29, abs=1e-5)  # of 30, 29, 28 ... by halves


def test_the_mean_of_parameters_is_kept_and_training_does_not_notice():
    X, y = a_table()
    settings = {"n_rules": 3, "epochs": 10, "learning_rate": 0.05}
    plain, mean = (train(X, y, Recipe(**settings, averaging=a)) for a in (0.0, 0.9))
    np.testing.assert_array_equal(plain.history, mean.history)
    assert np.abs(plain.params["a"] - mean.params["a"]).max() > 1e-4
