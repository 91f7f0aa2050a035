"""Recipes for practice, beside the paper's own, the defaults of `gt2lite.recipe.Recipe`.

They are apart from the code that trains: what is stored of a run depends on its recipe, and not
on which recipes have a name.
"""

from __future__ import annotations

from gt2lite.recipe import Recipe

STRONG = Recipe(
    n_rules=30,
    alphas=(0.01, 0.1529, 0.7292, 1.0),  # the first three learn 99, 90 and 50 %
    objective="aligned",
    batch_size=32,
    learning_rate=3e-2,
    averaging=0.99,
    start="joint",
)
"""The recipe that `GT2Regressor.strong` begins its choice with."""

WALKED = Recipe(
    n_rules=100,
    objective="aligned",
    epochs=40,
    batch_size=32,
    learning_rate=1e-2,
    schedule="cosine",
    start="joint",
)
"""One system of many rules: what came out of a search inside the training parts of all four data
sets of the paper. The book tells of it; `STRONG` with a choice and several systems does better."""

HEAD = Recipe(
    n_rules=20,
    objective="aligned",
    epochs=40,
    batch_size=32,
    learning_rate=1e-2,
    schedule="cosine",
    start="joint",
)
"""How a head learns the errors of another model: tried on training rows of concrete and WW."""
