"""Recipes for practice, beside the paper's own, the defaults of `gt2lite.recipe.Recipe`.

They are apart from the code that trains: what is stored of a run depends on its recipe, and not
on which recipes have a name.
"""

from __future__ import annotations

from gt2lite.recipe import Recipe

STRONG = Recipe(
    n_rules=100,
    objective="aligned",
    epochs=40,
    batch_size=32,
    learning_rate=1e-2,
    schedule="cosine",
    start="joint",
)
"""The recipe that came out of a search inside the training parts of all four data sets."""

HEAD = Recipe(
    n_rules=20,
    objective="aligned",
    epochs=40,
    batch_size=32,
    learning_rate=1e-2,
    schedule="cosine",
    start="joint",
)
"""How a head learns the errors of another model: tried on training rows of concrete, WW, PM, PP."""
