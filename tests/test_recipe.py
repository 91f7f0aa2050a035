"""The recipe: its defaults are the paper's, and what is wrong with one is said."""

from __future__ import annotations

import math
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from gt2lite.training import Recipe


def test_the_default_recipe_is_the_papers():
    assert Recipe() == Recipe(
        n_rules=10,
        coverage=0.99,
        alphas=None,
        objective="dual",
        smf="per_input",
        epochs=100,
        batch_size=64,
        learning_rate=1e-3,
        keep="last",
        bias_correction="steps",
        schedule="constant",
        weight_decay=0.0,
        averaging=0.0,
        start="per_input",
        sigma_scale=1.0,
        validation=0.2,
        patience=None,
    )
    np.testing.assert_array_equal(Recipe().planes.alphas, [0.01, 0.5, 1])
    with pytest.raises(FrozenInstanceError):
        Recipe().epochs = 3


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_rules", 0),
        ("n_rules", 2.5),
        ("epochs", 0),
        ("batch_size", -1),
        ("coverage", 1),
        ("coverage", "0.9"),
        ("learning_rate", 0),
        ("learning_rate", math.inf),
        ("learning_rate", math.nan),
        ("objective", "triple"),
        ("smf", None),
        ("keep", "first"),
        ("bias_correction", "none"),
        ("schedule", "linear"),
        ("weight_decay", -0.1),
        ("weight_decay", 1001),  # times the learning rate: more than all of it
        ("averaging", 1),
        ("averaging", -0.1),
        ("start", "random"),
        ("sigma_scale", 0),
        ("validation", 0),
        ("validation", 1),
        ("patience", 0),
        ("patience", 2.5),
        ("patience", True),
        ("patience", "long"),
        ("alphas", (0.5, 1.0)),
        ("alphas", (0.01, 2.0)),
        ("alphas", 0.01),
    ],
)
def test_a_bad_recipe_is_refused_by_name(name, value):
    with pytest.raises(ValueError, match=f"^{name} must"):
        Recipe(**{name: value})


def test_patience_needs_epochs_that_are_judged():
    with pytest.raises(ValueError, match=r"^patience must be None where keep='last'.*got 5.*best"):
        Recipe(patience=5)
    assert Recipe(patience=np.int64(5), keep="best").patience == 5
