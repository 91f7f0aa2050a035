"""Facts about learning: Algorithm 1, step by step and as a whole."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from autograd import grad
from learners import Recorder, a_table, assert_same

from gt2lite import training
from gt2lite.losses import loss
from gt2lite.system import Planes, reference_ends
from gt2lite.training import Adam, DivergenceError, Recipe, init_params, train

# The loop


def textbook(X, y, recipe, seed):
    """Algorithm 1 as one would write it on a blackboard, with autograd through the formulas."""
    rng = np.random.default_rng(seed)
    objective = recipe.planes
    params = init_params(
        X,
        recipe.n_rules,
        rng,
        smf=recipe.smf,
        start=recipe.start,
        sigma_scale=recipe.sigma_scale,
    )
    mean = {name: value.copy() for name, value in params.items()}
    n_steps = recipe.epochs * (len(y) // recipe.batch_size)

    def f(params, X, y):
        return loss(reference_ends(params, X, objective.kappa), y, objective)

    m = {name: np.zeros_like(value) for name, value in params.items()}
    v = {name: np.zeros_like(value) for name, value in params.items()}
    steps, history = 0, []
    for epoch in range(1, recipe.epochs + 1):
        rows = rng.permutation(len(y))
        losses = []
        for start in range(0, len(y) - recipe.batch_size + 1, recipe.batch_size):
            batch = rows[start : start + recipe.batch_size]
            losses.append(f(params, X[batch], y[batch]))
            g = grad(f)(params, X[batch], y[batch])
            rate = recipe.learning_rate
            if recipe.schedule == "cosine":
                rate *= 0.5 + 0.5 * np.cos(np.pi * steps / n_steps)
            steps += 1
            t = steps if recipe.bias_correction == "steps" else epoch
            for name in params:
                m[name] = 0.9 * m[name] + 0.1 * g[name]
                v[name] = 0.999 * v[name] + 0.001 * g[name] ** 2
                m_hat, v_hat = m[name] / (1 - 0.9**t), v[name] / (1 - 0.999**t)
                decay = recipe.weight_decay if name in ("a", "a0") else 0
                params[name] = (1 - rate * decay) * params[name] - rate * m_hat / (
                    v_hat**0.5 + 1e-8
                )
                memory = min(recipe.averaging, (steps - 1) / (steps + 9))
                mean[name] = memory * mean[name] + (1 - memory) * params[name]
        history.append(np.mean(losses))
    return mean, history


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"smf": "scalar"},
        {"objective": "aligned", "coverage": 0.9},
        {"bias_correction": "epochs"},
        {"alphas": (0.01, 0.3)},
        {"n_rules": 1},
        {"schedule": "cosine"},
        {"weight_decay": 2.0},
        {"averaging": 0.5},
        {"start": "joint", "sigma_scale": 0.5},
    ],
    ids=str,
)
def test_training_is_the_textbooks_adam_on_the_formulas(settings):
    # 20 rows in batches of 6: three steps an epoch, two rows left out of each
    recipe = Recipe(
        **{"n_rules": 3, "epochs": 7, "batch_size": 6, "learning_rate": 0.01, **settings}
    )
    X, y = a_table(N=20)
    assert recipe.averaging < 20 / 30, "the mean must leave its warm-up within the 21 steps"
    trained = train(X, y, recipe, seed=5)
    params, history = textbook(X, y, recipe, seed=5)
    assert_same(trained.params, params, atol=1e-9)
    np.testing.assert_allclose(trained.history, history, rtol=0, atol=1e-9)


def test_the_loss_goes_down():
    X, y = a_table(N=200)
    recipe = Recipe(n_rules=5, epochs=40, learning_rate=0.01)
    trained = train(X, y, recipe)
    assert trained.history[-1] < 0.5 * trained.history[0]
    output = Planes(trained.params, X).output(recipe.planes.alphas)
    assert np.sqrt(np.mean((output - y) ** 2)) < 0.5 * y.std()


def test_the_trained_envelope_covers_about_what_it_was_asked_to():
    X, y = a_table(N=1000)
    trained = train(X, y, Recipe(n_rules=5, coverage=0.8, epochs=60, learning_rate=0.01))
    lower, upper = Planes(trained.params, X)(0.01)
    assert np.mean((lower <= y) & (y <= upper)) == pytest.approx(0.8, abs=0.05)


@pytest.mark.parametrize("smf", ["per_input", "scalar"])
def test_same_seed_same_bits(smf):
    X, y = a_table(N=150)
    recipe = Recipe(n_rules=4, epochs=4, smf=smf)
    one, same = train(X, y, recipe, seed=3), train(X, y, recipe, seed=3)
    assert_same(same.params, one.params, atol=0)
    np.testing.assert_array_equal(one.history, same.history)


def test_other_seed_other_numbers():
    X, y = a_table(N=150)
    one, other = (train(X, y, Recipe(n_rules=4, epochs=2), seed=seed) for seed in (3, 4))
    assert all((one.params[name] != other.params[name]).any() for name in one.params)


def test_a_generator_is_as_good_as_a_seed():
    X, y = a_table(N=30)
    recipe = Recipe(n_rules=2, epochs=2)
    by_seed = train(X, y, recipe, seed=3)
    assert_same(train(X, y, recipe, seed=np.random.default_rng(3)).params, by_seed.params, atol=0)


def test_training_can_start_anywhere():
    X, y = a_table(N=30)
    recipe = Recipe(n_rules=3, epochs=2, batch_size=30, learning_rate=1e-6)
    start = init_params(X, 3, np.random.default_rng(9))
    before = {name: value.copy() for name, value in start.items()}
    trained = train(X, y, recipe, start=start)
    assert_same(start, before, atol=0)  # it is left as it was
    assert_same(trained.params, before, atol=3e-6)  # two steps away
    assert all((trained.params[name] != before[name]).any() for name in before)
    for wrong in (
        {**start, "c": start["c"][:2]},
        init_params(X, 3, np.random.default_rng(9), smf="scalar"),
        {name: start[name] for name in ("c", "a")},
    ):
        with pytest.raises(ValueError, match=r"^start must have the parameters"):
            train(X, y, recipe, start=wrong)


def test_rows_come_in_another_order_every_epoch():
    # nothing moves, and 40 of the 64 rows make up an epoch: its loss tells which ones they were
    X, y = a_table(N=64)
    trained = train(X, y, Recipe(n_rules=2, epochs=5, batch_size=40, learning_rate=1e-12))
    assert len(set(trained.history.round(6))) == 5


# Batches


def steps_of_first_epoch(N, batch_size):
    """Count steps from outside: the first few steps of Adam are as long as the learning rate."""
    X, y = a_table(N=N)
    recipe = Recipe(n_rules=2, epochs=1, batch_size=batch_size, learning_rate=1e-6)
    start = init_params(X, 2, np.random.default_rng(0))
    end = train(X, y + 5, recipe, seed=0).params  # far from the target, every gradient agrees
    return max(np.abs(end[name] - start[name]).max() for name in start) / 1e-6


@pytest.mark.parametrize(
    ("N", "batch_size", "steps"),
    [(8, 8, 1), (9, 8, 1), (15, 8, 1), (16, 8, 2), (17, 8, 2), (5, 8, 1), (1, 8, 1), (3, 1, 3)],
)
def test_an_incomplete_last_batch_is_dropped_unless_it_is_the_only_one(N, batch_size, steps):
    assert steps_of_first_epoch(N, batch_size) == pytest.approx(steps, abs=0.05)


def test_fewer_rows_than_a_batch_are_one_batch():
    X, y = a_table(N=7)
    small, exact = (train(X, y, Recipe(n_rules=2, epochs=5, batch_size=b)) for b in (64, 7))
    assert_same(small.params, exact.params, atol=0)


# Small and awkward data


@pytest.mark.parametrize("objective", ["dual", "aligned"])
@pytest.mark.parametrize("smf", ["per_input", "scalar"])
@pytest.mark.parametrize(
    ("X", "n_rules"),
    [
        (np.array([[0.3, -1.0]]), 3),
        (np.linspace(-1, 1, 9)[:, None], 1),
        (np.linspace(-1, 1, 9)[:, None], 4),
        (np.column_stack([np.linspace(-1, 1, 9), np.full(9, 0.1)]), 3),
        (np.column_stack([np.linspace(-1, 1, 9), np.arange(9) % 2]), 5),
        (np.zeros((9, 2)), 3),
        (np.concatenate([np.linspace(-1, 1, 9), [1e6]])[:, None], 3),
    ],
    ids=[
        "one sample",
        "one rule",
        "one input",
        "constant input",
        "two values",
        "constant inputs only",
        "outlier",
    ],
)
def test_awkward_data_trains(X, n_rules, smf, objective):
    y = np.linspace(-1, 1, len(X))
    recipe = Recipe(n_rules=n_rules, smf=smf, objective=objective, epochs=20, learning_rate=0.01)
    trained = train(X, y, recipe)
    assert np.isfinite(trained.history).all()
    assert all(np.isfinite(value).all() for value in trained.params.values())
    assert np.isfinite(Planes(trained.params, X).ends(recipe.planes.alphas)).all()


def test_a_target_that_ties_trains():
    X, _ = a_table()
    trained = train(X, np.arange(60) % 2.0, Recipe(n_rules=3, epochs=10, learning_rate=0.01))
    assert trained.history[-1] < trained.history[0]


def test_input_is_not_modified():
    X, y = a_table()
    before = X.copy(), y.copy()
    train(X, y, Recipe(n_rules=2, epochs=2))
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(y, before[1])


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.zeros(3), np.zeros(3), "X must be a table"),
        (np.zeros((0, 2)), np.zeros(0), "X must be a table"),
        (np.zeros((3, 1)), np.zeros(4), "y must be a row of 3 values"),
        (np.zeros((3, 1)), np.zeros((3, 1)), "y must be a row of 3 values"),
        (np.full((3, 1), np.nan), np.zeros(3), "X .*finite"),
        (np.zeros((3, 1)), np.array([0, np.inf, 0]), "y .*finite"),
    ],
)
def test_bad_data_is_named(X, y, message):
    with pytest.raises(ValueError, match=message):
        train(X, y, Recipe(epochs=1))


# Callback and history


def test_the_callback_hears_every_epoch_in_turn():
    X, y = a_table()
    heard = Recorder()
    trained = train(X, y, Recipe(n_rules=2, epochs=6), callback=heard)
    assert heard.epochs == [1, 2, 3, 4, 5, 6]
    np.testing.assert_array_equal(heard.losses, trained.history)
    assert_same(trained.params, heard.params[-1], atol=0)
    assert trained.history.shape == (6,)


def test_the_callback_does_not_change_the_outcome():
    X, y = a_table()
    recipe = Recipe(n_rules=2, epochs=3)
    assert_same(train(X, y, recipe, callback=Recorder()).params, train(X, y, recipe).params, atol=0)


def test_bias_correction_by_epochs_is_another_training():
    X, y = a_table(N=200)
    settings = {"n_rules": 3, "epochs": 3}
    steps, epochs = (
        train(X, y, Recipe(**settings, bias_correction=b)) for b in ("steps", "epochs")
    )
    assert np.abs(steps.params["c"] - epochs.params["c"]).max() > 1e-4


# Divergence


def test_divergence_in_the_first_epoch_leaves_the_start_values():
    X, _ = a_table()
    recipe = Recipe(n_rules=3, epochs=5, batch_size=60)
    with pytest.raises(DivergenceError, match=r"epoch 1 of 5.*learning_rate.*scaled") as caught:
        train(X, np.full(60, 1e308), recipe, seed=2)
    assert_same(caught.value.params, init_params(X, 3, np.random.default_rng(2)), atol=0)
    assert caught.value.history.shape == (0,)


class _Bolting(Adam):
    """An optimiser whose seventh step leads nowhere."""

    def update(self, g, count=None):
        super().update(g, count)
        if self.steps == 7:
            self.vector[0] = np.inf


def test_divergence_later_leaves_the_last_sound_epoch(monkeypatch):
    X, y = a_table()
    heard = Recorder()
    monkeypatch.setattr(training, "Adam", _Bolting)
    with pytest.raises(DivergenceError, match=r"epoch 7 of 50.*learning_rate than 0.01") as caught:
        train(X, y, Recipe(n_rules=3, epochs=50, learning_rate=0.01), callback=heard)
    assert len(heard.epochs) == 6
    assert_same(caught.value.params, heard.params[-1], atol=0)
    np.testing.assert_array_equal(caught.value.history, heard.losses)
    assert all(np.isfinite(value).all() for value in caught.value.params.values())
    assert np.isfinite(caught.value.history).all()


def test_a_divergence_error_survives_pickling():
    # a parallel run sends it from one process to another
    error = DivergenceError("no", {"c": np.ones((2, 1))}, np.array([1.0, 2.0]))
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == "no"
    assert_same(again.params, error.params, atol=0)
    np.testing.assert_array_equal(again.history, error.history)
