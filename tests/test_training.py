"""Training: the recipe, start values, Algorithm 1 step by step, what is kept and when it stops."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace

import numpy as np
import pytest
from autograd import grad
from learners import Recorder, a_table, assert_same, full_loss

from gt2lite import datasets, training
from gt2lite import recipe as recipe_module
from gt2lite.losses import loss
from gt2lite.recipe import Recipe
from gt2lite.system import Planes, plane_ends
from gt2lite.training import Adam, DivergenceError, InterruptedTrainingWarning, init_params, train

# ---------------------------------------------------------------------- recipe


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("n_rules", (0, 2.5, 10**400, np.array([3, 4]))),
        ("epochs", (0,)),
        ("batch_size", (-1,)),
        ("coverage", (1, "0.9", np.array([0.5, 0.9]), np.nextafter(1, 0))),
        ("learning_rate", (0, 1e300, math.inf, math.nan, np.array([0.1, 0.2]))),
        ("objective", ("triple",)),
        ("smf", (None,)),
        ("keep", ("first",)),
        ("bias_correction", ("none",)),
        ("schedule", ("linear",)),
        ("weight_decay", (-0.1, 1001, np.array([0.0, 0.1]))),  # 1001 times the rate: above 1
        ("averaging", (1, -0.1, "0.5")),
        ("start", ("random",)),
        ("sigma_scale", (0, 1e-300, 1e300)),
        ("validation", (0, 1)),
        ("patience", (0, 2.5, True, "long", 5)),  # 5 needs a `keep` that compares epochs
        ("alphas", ((0.5, 1.0), (0.01, 2.0), 0.01, "0.5", ((0.01, 0.5), (1.0,)))),
    ],
)
def test_an_invalid_recipe_is_refused_by_name(name, values):
    for value in values:
        with pytest.raises((TypeError, ValueError), match=f"^{name} must"):
            Recipe(**{name: value})


def test_the_default_recipe_is_the_papers():
    papers = Recipe(n_rules=10, epochs=100, batch_size=64, learning_rate=1e-3, coverage=0.99)
    assert Recipe() == replace(papers, objective="dual", keep="last", alphas=None)
    np.testing.assert_array_equal(Recipe().planes.alphas, [0.01, 0.5, 1])


# ---------------------------------------------------------------- start values


def test_start_values_lie_in_their_ranges():
    X = np.random.default_rng(0).normal(2.0, 3.0, size=(200, 4))
    params = init_params(X, 50, np.random.default_rng(1))
    for name, high in (("raw_l", 0.1), ("raw_r", 0.1), ("a", 0.01), ("a0", 0.01)):
        assert ((params[name] >= 0) & (params[name] <= high)).all(), name
        assert np.ptp(params[name]) > 0.3 * high, name
    assert (params["c"] >= X.min(axis=0) - 1e-12).all()
    assert (params["c"] <= X.max(axis=0) + 1e-12).all()
    np.testing.assert_allclose(params["raw_sigma"], np.tile(X.std(axis=0), (50, 1)), rtol=1e-12)
    half = init_params(X, 50, np.random.default_rng(1), sigma_scale=0.5)["raw_sigma"]
    np.testing.assert_array_equal(half, params["raw_sigma"] / 2)


@pytest.mark.parametrize(
    ("start", "at"),
    [("per_input", [[-50], [0], [3], [90]]), ("joint", [[-9, 9], [0, 0], [9, 9], [9, -9]])],
)
def test_every_centre_is_the_mean_of_the_rows_nearest_to_it_and_clusters_are_found(start, at):
    rng, M = np.random.default_rng(0), len(at[0])
    X = np.concatenate([np.array(place) + 0.1 * rng.normal(size=(30, M)) for place in at])
    cases = [(X, 4, seed) for seed in range(3)] + [(rng.gamma(1.0, 2.0, (300, M)).round(2), 7, 1)]
    for rows, n, seed in cases:
        c = init_params(rows, n, np.random.default_rng(seed), start=start)["c"]
        nearest = ((rows[:, None] - c) ** 2).sum(axis=2).argmin(axis=1)
        means = [rows[nearest == j].mean(axis=0) for j in range(n)]
        np.testing.assert_allclose(c, means, rtol=0, atol=1e-12 if n == 4 else 1e-10)
        if n == 4:
            assert np.bincount(nearest).tolist() == [30] * 4


def test_repeated_values_weigh_as_often_as_they_occur():
    # 0 thrice and 1 once make one cluster with mean 1/4, 10 and 10 another
    X = np.array([[0.0], [1.0], [0.0], [10.0], [0.0], [10.0]])
    c = init_params(X, 2, np.random.default_rng(0))["c"]
    np.testing.assert_allclose(np.sort(c[:, 0]), [0.25, 10], rtol=0, atol=1e-15)
    # beside 0 there are ten samples at 10 and one at -10: ten times as often the second centre
    X = np.repeat([0.0, 10.0, -10.0], [500, 10, 1])[:, None]
    found = [init_params(X, 2, np.random.default_rng(seed))["c"].max() for seed in range(60)]
    assert 0.75 < np.mean(np.array(found) == 10) < 1


def test_centres_do_not_suffer_from_an_outlier():
    # running sums that start at the outlier would leave nothing of the rest
    x = np.concatenate([[-1e17], np.linspace(9.5, 11.5, 21)])
    c = np.sort(init_params(x[:, None], 3, np.random.default_rng(0))["c"][:, 0])
    assert c[0] == -1e17
    assert ((c[1:] >= 9.5) & (c[1:] <= 11.5)).all()


# -------------------------------------------------------------------- the loop


def textbook(X, y, recipe, seed):
    """Algorithm 1 as one would write it on a blackboard, with autograd through the formulas."""
    rng = np.random.default_rng(seed)
    objective = recipe.planes
    shape = {"smf": recipe.smf, "start": recipe.start, "sigma_scale": recipe.sigma_scale}
    params = init_params(X, recipe.n_rules, rng, **shape)
    mean = {name: value.copy() for name, value in params.items()}
    n_steps = recipe.epochs * (len(y) // recipe.batch_size)

    def f(params, X, y):
        return loss(plane_ends(params, X, objective.kappa), y, objective)

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
            if recipe.schedule != "constant":
                ends = [0, n_steps] if recipe.schedule == "cosine" else [0, 6, n_steps]
                start = max(end for end in ends if end <= steps)
                length = min(end for end in ends if end > steps) - start
                rate *= 0.5 + 0.5 * np.cos(np.pi * (steps - start) / length)
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
        {"schedule": "restarts"},
        {"schedule": "cosine", "weight_decay": 2.0},
        {"averaging": 0.5},
        {"start": "joint", "sigma_scale": 0.5},
    ],
    ids=str,
)
def test_training_is_the_textbooks_adam_on_the_formulas(settings, monkeypatch):
    monkeypatch.setattr(recipe_module, "FIRST_CYCLE", 6)  # the second one takes the other 15 steps
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


@pytest.mark.parametrize("name", ["ww", "pp", "aids"])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"objective": "aligned", "n_rules": 4, "schedule": "cosine", "weight_decay": 0.1},
        {"smf": "scalar", "start": "joint", "keep": "validation", "averaging": 0.9},
    ],
    ids=str,
)
def test_both_engines_learn_the_same_from_real_data(name, settings):
    # 50 steps: rounding grows from step to step, by far less than a wrong term would
    rows = datasets.prepare(datasets.load_dataset(name), 0)
    X, y = rows.X_train[:640], rows.y_train[:640]
    recipe = Recipe(**{"epochs": 5, "learning_rate": 0.01, **settings})
    fast, plain = (train(X, y, recipe, engine=engine) for engine in ("fast", "autograd"))
    assert_same(plain.params, fast.params, atol=1e-9)
    np.testing.assert_allclose(plain.history, fast.history, rtol=0, atol=1e-10)
    start = init_params(X, recipe.n_rules, np.random.default_rng(0), smf=recipe.smf)
    assert np.abs(fast.params["a"] - start["a"]).max() > 0.1  # it has learned something


def test_an_engine_that_does_not_exist_or_cannot_is_refused():
    X, y = a_table(N=20)
    with pytest.raises(ValueError, match=r"^engine must be one of.*'slow'"):
        train(X, y, Recipe(n_rules=2, epochs=1), engine="slow")
    with pytest.raises(ValueError, match="precision='single' needs engine=\"fast\""):
        train(X, y, Recipe(n_rules=2, epochs=1, precision="single"), engine="autograd")


def test_cycles_grow_by_half_and_the_last_one_ends_with_training():
    assert Recipe(schedule="restarts", epochs=40).annealed(25) == [6, 15, 29, 40]
    assert Recipe(schedule="restarts", epochs=33).annealed(25) == [6, 15, 33]  # no short cycle
    assert Recipe(schedule="restarts", epochs=3).annealed(10_000) == [1, 2, 3]
    assert Recipe(schedule="cosine", epochs=7).annealed(25) == [7]
    assert Recipe(epochs=7).annealed(25) == []


def test_single_precision_learns_the_same_up_to_rounding_and_returns_doubles():
    X, y = a_table(N=200)
    recipe = Recipe(n_rules=5, epochs=5, learning_rate=0.01)
    double = train(X, y, recipe)
    single = train(X, y, replace(recipe, precision="single"))
    assert all(value.dtype == float for value in single.params.values())
    assert_same(single.params, double.params, atol=1e-3)
    assert any((single.params[name] != double.params[name]).any() for name in double.params)
    np.testing.assert_allclose(single.history, double.history, rtol=1e-4)


def test_the_loss_goes_down_and_the_envelope_covers_about_what_it_was_asked_to():
    X, y = a_table(N=500)
    recipe = Recipe(n_rules=5, coverage=0.8, epochs=100, learning_rate=0.01)
    trained = train(X, y, recipe)
    assert trained.history[-1] < 0.5 * trained.history[0]
    planes = Planes(trained.params, X)
    assert np.sqrt(np.mean((planes.output(recipe.planes.alphas) - y) ** 2)) < 0.5 * y.std()
    lower, upper = planes(0.01)
    assert np.mean((lower <= y) & (y <= upper)) == pytest.approx(0.8, abs=0.05)


def test_same_seed_same_bits_other_seed_other_numbers():
    X, y = a_table(N=150)
    before = X.copy(), y.copy()
    recipe = Recipe(n_rules=4, epochs=4)
    one, same, other = (train(X, y, recipe, seed=s) for s in (3, np.random.default_rng(3), 4))
    assert_same(same.params, one.params, atol=0)
    np.testing.assert_array_equal(one.history, same.history)
    assert all((one.params[name] != other.params[name]).any() for name in one.params)
    np.testing.assert_array_equal(X, before[0])  # the data is not changed
    np.testing.assert_array_equal(y, before[1])


def test_training_can_start_anywhere():
    X, y = a_table(N=30)
    recipe = Recipe(n_rules=3, epochs=2, batch_size=30, learning_rate=1e-6)
    start = init_params(X, 3, np.random.default_rng(9))
    before = {name: value.copy() for name, value in start.items()}
    trained = train(X, y, recipe, start=start)
    assert_same(start, before, atol=0)  # it is left as it was
    assert_same(trained.params, before, atol=3e-6)  # two steps away
    assert all((trained.params[name] != before[name]).any() for name in before)
    with pytest.raises(ValueError, match=r"^start must"):
        train(X, y, recipe, start={**start, "c": start["c"][:2]})
    with pytest.raises(ValueError, match=r"X must be scaled.*overflows"):
        train(1e200 * X, y, recipe)


LINE = np.linspace(-1, 1, 9)


@pytest.mark.parametrize("start", ["per_input", "joint"])
@pytest.mark.parametrize(
    "X",
    [
        np.array([[0.3, -1.0]]),
        np.column_stack([LINE, np.full(9, 0.1)]),
        np.column_stack([LINE, np.arange(9) % 2]),
        np.append(LINE, 1e6)[:, None],
        1e-170 * np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 3.0], [3.0, 0.0], [4.0, 0.0], [5.0, 1.0]]),
        np.array([[1.0, -1e-310], [1.0 + 2**-52, 1e-310]]),
    ],
    ids=["one row", "a constant", "two values", "outlier", "squares underflow", "last bits"],
)
def test_awkward_data_trains(X, start):
    y = np.linspace(-1, 1, len(X))
    params = init_params(X, 5, np.random.default_rng(0), start=start)
    assert (params["raw_sigma"] > 0).all()
    assert (params["raw_sigma"][:, X.min(axis=0) == X.max(axis=0)] == 1).all()  # constants
    rounding = 1e-15 * np.abs(X).max(axis=0)
    assert (params["c"] >= X.min(axis=0) - rounding).all()
    assert (params["c"] <= X.max(axis=0) + rounding).all()
    recipe = Recipe(n_rules=5, objective="aligned", epochs=20, learning_rate=0.01)
    trained = train(X, y, recipe, start=params)
    assert np.isfinite(trained.history).all()
    assert np.isfinite(Planes(trained.params, X).ends(recipe.planes.alphas)).all()


def test_inputs_can_be_drawn_anew_for_every_epoch():
    X, y = a_table()
    drawn = []

    def shifted(X, rng):
        drawn.append(rng.normal())
        return X + drawn[-1]

    trained = train(X, y, Recipe(n_rules=2, epochs=3), draw_inputs=shifted)
    assert len(set(drawn)) == 4  # for start values and for each epoch
    start = init_params(X + drawn[0], 2, np.random.default_rng(0))["raw_sigma"]
    np.testing.assert_allclose(trained.params["raw_sigma"], start, atol=0.1)


# ---------------------------------------------------------------- what is kept


@pytest.mark.parametrize("keep", ["best", "validation"])
def test_the_epoch_kept_has_the_smallest_loss_over_all_rows_or_over_those_set_aside(keep):
    X, y = a_table(N=60 if keep == "best" else 40)
    recipe = Recipe(n_rules=6, epochs=40, batch_size=8, learning_rate=0.1, keep=keep)
    if keep == "best":
        recipe = replace(recipe, n_rules=3, epochs=60, batch_size=16, learning_rate=0.08)
    rows = np.random.default_rng(0).permutation(len(y))[: 60 if keep == "best" else 8]
    heard, other = Recorder(), Recorder()
    trained = train(X, y, recipe, callback=heard)
    losses = [full_loss(params, X[rows], y[rows], recipe) for params in heard.params]
    np.testing.assert_allclose(heard.losses, losses, rtol=0, atol=1e-12)
    best = int(np.argmin(losses))
    assert 0 < best < recipe.epochs - 1  # otherwise this test is weak
    assert_same(trained.params, heard.params[best], atol=0)
    if keep == "best":
        assert min(losses[best + 1 :]) < 1.01 * losses[best]  # likewise
        plain = train(X, y, replace(recipe, keep="last"))
        np.testing.assert_array_equal(plain.history, trained.history)
        return
    with pytest.raises(ValueError, match="at least 2 rows, got 1"):
        train(X[:1], y[:1], recipe)
    train(X[:2], y[:2], replace(recipe, epochs=1, validation=0.99))  # one row is left to learn from
    changed = y.copy()  # the rows set aside decide what is kept, and nothing is learned from them
    changed[rows] += 100
    train(X, changed, recipe, callback=other)
    for one, two in zip(heard.params, other.params, strict=True):
        assert_same(one, two, atol=0)


# ------------------------------------------------------------------ divergence


def after(step, act):
    """Return an optimiser that does something to the parameters after a given step."""

    class After(Adam):
        def update(self, g, count=None):
            super().update(g, count)
            if self.steps == step:
                act(self.vector)

    return After


def interrupt(vector):
    raise KeyboardInterrupt


INTERRUPTED = after(23, interrupt)  # in epoch 5, of 5 steps each


def test_divergence_leaves_the_start_values_or_the_last_finite_epoch(monkeypatch):
    X, y = a_table()
    with pytest.raises(DivergenceError, match=r"epoch 1 of 5.*learning_rate") as caught:
        train(X, np.full(60, 1e308), Recipe(n_rules=3, epochs=5, batch_size=60), seed=2)
    assert_same(caught.value.params, init_params(X, 3, np.random.default_rng(2)), atol=0)
    assert caught.value.history.shape == (0,)
    heard = Recorder()
    monkeypatch.setattr(training, "Adam", after(7, lambda vector: vector.fill(np.inf)))
    with pytest.raises(DivergenceError, match=r"epoch 7 of 50") as caught:
        train(X, y, Recipe(n_rules=3, epochs=50, learning_rate=0.01), callback=heard)
    assert len(heard.epochs) == 6
    assert_same(caught.value.params, heard.params[-1], atol=0)
    np.testing.assert_array_equal(caught.value.history, heard.losses)


@pytest.mark.parametrize(("rate", "epochs"), [(50.0, 1), (900.0, 3)])
def test_a_loss_far_above_that_of_the_start_is_divergence(rate, epochs):
    X, y = a_table()
    for scale in (1.0, 1e-3):
        with pytest.raises(DivergenceError, match="learning_rate"):
            train(X, scale * y, Recipe(n_rules=3, epochs=epochs, learning_rate=rate))
    train(X, np.zeros(60), Recipe(n_rules=3, epochs=5))  # a constant target is not


def test_a_divergence_error_can_be_pickled():
    # a parallel run sends it from one process to another
    error = DivergenceError("no", {"c": np.ones((2, 1))}, np.array([1.0, 2.0]))
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == "no"
    assert_same(again.params, error.params, atol=0)
    np.testing.assert_array_equal(again.history, error.history)


# -------------------------------------------------------------------- stopping

SCORED = {"n_rules": 6, "epochs": 60, "batch_size": 8, "learning_rate": 0.1}
each_keep = pytest.mark.parametrize("keep", ["last", "best", "validation"])
averaged = pytest.mark.parametrize("averaging", [0.0, 0.9])


class Stopping(Recorder):
    """A callback that returns an answer after some epoch, or raises it if it is an exception."""

    def __init__(self, epoch, answer):
        super().__init__()
        self.epoch, self.answer = epoch, answer

    def __call__(self, epoch, loss, params):
        super().__call__(epoch, loss, params)
        if epoch >= self.epoch and self.answer is KeyboardInterrupt:
            raise KeyboardInterrupt
        return self.answer if epoch >= self.epoch else None


def test_patience_stops_after_this_many_epochs_without_a_better_one():
    X, y = a_table(N=40)
    full = Recorder()
    train(X, y, Recipe(**SCORED, keep="best"), callback=full)
    stopped = set()
    for patience in (1, 5, 1000):
        trained = train(X, y, Recipe(**SCORED, keep="best", patience=patience))
        best = [int(np.argmin(full.losses[:epoch])) for epoch in range(1, 61)]
        late = [epoch for epoch in range(1, 61) if epoch - (best[epoch - 1] + 1) >= patience]
        epoch = min(late, default=60)
        assert len(trained.history) == epoch
        assert_same(trained.params, full.params[best[epoch - 1]], atol=0)
        stopped.add(epoch)
    assert min(stopped) < 60 == max(stopped)  # both cases occur


@each_keep
@averaged
def test_a_callback_that_returns_true_ends_training_there(keep, averaging):
    X, y = a_table(N=40)
    recipe = Recipe(**SCORED, keep=keep, averaging=averaging)
    heard = Stopping(7, np.True_)
    trained = train(X, y, recipe, callback=heard)
    best = 6 if keep == "last" else int(np.argmin(heard.losses))
    assert heard.epochs == [1, 2, 3, 4, 5, 6, 7] and len(trained.history) == 7
    if keep == "last":
        np.testing.assert_array_equal(heard.losses, trained.history)
    assert_same(trained.params, heard.params[best], atol=0)
    trained = train(X, y, Recipe(**SCORED | {"epochs": 2}), callback=Stopping(1, "stop"))
    assert len(trained.history) == 2  # no other answer ends it


def test_divergence_is_found_if_training_is_ended_early(monkeypatch):
    X, y = a_table()
    # far away, though not to infinity
    leap = after(5, lambda vector: np.multiply(vector, 1e4, out=vector))
    monkeypatch.setattr(training, "Adam", leap)
    recipe, heard = Recipe(n_rules=3, epochs=50), Stopping(5, True)
    with pytest.raises(DivergenceError, match="epoch 5 of 50") as caught:
        train(X, y, recipe, callback=heard)
    assert_same(caught.value.params, heard.params[3], atol=0)
    np.testing.assert_array_equal(caught.value.history, heard.losses[:4])
    with pytest.raises(KeyboardInterrupt):  # nothing to keep: raised as usual
        train(X, y, recipe, callback=Stopping(5, KeyboardInterrupt), on_interrupt="keep")


@each_keep
@averaged
def test_ctrl_c_keeps_what_the_last_complete_epoch_would_keep(keep, averaging, monkeypatch):
    X, y = a_table(N=50 if keep == "validation" else 40)  # 40 to learn from
    recipe = Recipe(**SCORED, keep=keep, averaging=averaging)
    ended = train(X, y, recipe, callback=Stopping(4, True))
    stop = Stopping(4, KeyboardInterrupt)
    with pytest.warns(InterruptedTrainingWarning, match="epoch 4 of 60") as seen:
        after = train(X, y, recipe, callback=stop, on_interrupt="keep")
    assert seen[0].filename == __file__
    monkeypatch.setattr(training, "Adam", INTERRUPTED)
    with pytest.warns(InterruptedTrainingWarning, match="epoch 4 of 60"):
        within = train(X, y, recipe, on_interrupt="keep")  # within epoch 5
    for found in (after, within):
        assert_same(found.params, ended.params, atol=0)
        np.testing.assert_array_equal(found.history, ended.history)


def test_ctrl_c_is_raised_by_default_and_before_the_end_of_the_first_epoch(monkeypatch):
    with pytest.raises(KeyboardInterrupt):
        train(*a_table(), Recipe(n_rules=2), callback=Stopping(3, KeyboardInterrupt))
    monkeypatch.setattr(training, "Adam", INTERRUPTED)
    with pytest.raises(KeyboardInterrupt):
        train(*a_table(N=400), Recipe(**SCORED), on_interrupt="keep")
