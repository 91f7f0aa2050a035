"""Facts about the search for the strong recipe: which rows it sees, and how it walks."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gt2lite.datasets import load_dataset, prepare
from gt2lite.losses import make_objective
from gt2lite.recipe import Recipe
from gt2lite.study.store import Store

SCRIPT = Path(__file__).resolve().parents[1] / "tools" / "search.py"
pytestmark = pytest.mark.skipif(not SCRIPT.exists(), reason="needs the checkout")


@pytest.fixture(scope="module")
def search():
    spec = importlib.util.spec_from_file_location("search_for_strong", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.fixture
def small(search, monkeypatch, tmp_path):
    """A search on one data set, in a store of its own."""
    monkeypatch.setattr(search, "DATASETS", {"aids": None})
    return search.Search(Store(tmp_path), jobs=1)


QUICK = Recipe(n_rules=2, epochs=1)


def test_only_rows_of_the_training_part_are_seen(search, monkeypatch):
    seen = []

    def train(X, y, recipe, **_):
        seen.append(X)
        raise search.DivergenceError("stop", PARAMS, np.empty(0))

    data = prepare(load_dataset("aids"), 0)
    M = data.X_train.shape[1]
    PARAMS = {
        "c": np.zeros((1, M)),
        "raw_sigma": np.ones((1, M)),
        "raw_l": np.zeros(M),
        "raw_r": np.zeros(M),
        "a": np.zeros((1, M)),
        "a0": np.zeros(1),
    }
    planes = search.Planes
    monkeypatch.setattr(search, "train", train)
    monkeypatch.setattr(search, "Planes", lambda params, X: (seen.append(X), planes(params, X))[1])
    search.execute(search.Trial("aids", 0, QUICK))
    learnt, judged = seen
    n = len(data.X_train)
    assert (len(learnt), len(judged)) == (n - round(0.2 * n), round(0.2 * n))
    both = np.concatenate([learnt, judged])
    np.testing.assert_array_equal(
        both[np.lexsort(both.T)], data.X_train[np.lexsort(data.X_train.T)]
    )


def test_the_papers_recipe_scores_one(search, small, monkeypatch):
    monkeypatch.setattr(search, "Recipe", lambda: QUICK)
    assert small.score(QUICK, [0], part="x") == 1
    assert small.rows[0]["part"] == "x" and small.rows[0]["dataset"] == "aids"


def test_the_walk_keeps_the_best_value_of_each_factor(search, small, monkeypatch):
    wanted = {"start": "joint", "n_rules": 60, "epochs": 100}

    def score(recipe, **_):  # the farther from what is wanted, the worse
        return sum(getattr(recipe, name) != value for name, value in wanted.items())

    monkeypatch.setattr(small, "score", score)
    best = small.path()[0][1]
    assert {name: getattr(best, name) for name in wanted} == wanted


def test_trials_are_stored_and_not_run_again(search, small, monkeypatch):
    first = small.trials(QUICK, [0])
    monkeypatch.setattr(search, "execute", None)
    assert small.trials(QUICK, [0]) == first


def test_a_plain_product_has_its_own_scale_on_each_data_set(search, small, monkeypatch):
    asked = []
    monkeypatch.setattr(search.runner, "run", lambda todo, *_, **__: asked.extend(todo))
    small.trials(QUICK, [0], product=True)
    assert asked == [search.Trial("aids", 0, replace(QUICK, sigma_scale=23**-0.5))]


def test_planes_spelt_out_by_the_normal_map_are_the_aligned_ones(search):
    four = [0.99, 0.95, 0.90, 0.50]
    spelt = search.Mapped(learn=tuple((search.normal(level), level) for level in four)).planes
    for found, expected in zip(spelt, make_objective("aligned"), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["normal", "laplace", "linear"])
def test_every_map_is_one_at_the_widest_plane_and_rises(search, name):
    kappa = [getattr(search, name)(level) for level in (0.5, 0.9, 0.95, 0.99)]
    assert kappa[-1] == pytest.approx(1)
    assert sorted(kappa) == kappa and kappa[0] > 0
