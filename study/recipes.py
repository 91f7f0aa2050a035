"""Recipes of the study that are not presets of the package."""

from gt2lite.training import Recipe

TUNED = Recipe(
    n_rules=100,
    objective="aligned",
    epochs=40,
    batch_size=32,
    learning_rate=1e-2,
    schedule="cosine",
    start="joint",
)
"""One system of many rules: the result of greedy tuning on the training sets of the paper's four
data sets (chapter 10). `gt2lite.training.STRONG` with several systems does better."""
