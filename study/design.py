"""The design that paper and field share: which levels, which models, which method fills a table."""

from __future__ import annotations

import functools

from gt2lite.datasets import load_dataset

LEVELS = (0.90, 0.95)
"""The levels that every method is asked for."""

MODELS = {"baseline": 0.99, "trained_90": 0.90, "trained_95": 0.95}
"""The systems of the paper's protocol, and the coverage that each is trained for."""

METHODS = {"baseline": "trained", "trained": "trained", "calibrated": "search"}
"""The method behind the paper's numbers for each kind of model."""

PAPER_TABLE = (0.1, "linear")
"""Step and interpolation of the paper's look-up table."""

TEST_OVER_TRAIN = 15 / 70
"""Rows to test on for each row to learn from: how much re-splits of one table overlap."""


@functools.cache
def n_values(dataset: str) -> int:
    """Return how many numbers the inputs of a data set are: what a run costs grows with it."""
    return load_dataset(dataset).X.size
