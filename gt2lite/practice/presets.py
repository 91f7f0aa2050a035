"""Presets of training for practice: what `GT2Regressor.strong` and `IntervalHead` start from."""

from gt2lite.recipe import Recipe

STRONG = Recipe(
    n_rules=30,
    alphas=(0.01, 0.1529, 0.7292, 1.0),  # the first three learn 99%, 90% and 50%
    objective="aligned",
    batch_size=32,
    learning_rate=3e-2,
    schedule="restarts",
    start="joint",
    precision="single",
)
"""The first candidate of `GT2Regressor.strong`."""

HEAD = Recipe(
    n_rules=20,
    alphas=STRONG.alphas,
    objective="aligned",
    epochs=20,
    batch_size=32,
    learning_rate=3e-2,
    averaging=0.99,
    start="joint",
    precision="single",
)
"""The recipe of the systems that learn the errors of a base."""
