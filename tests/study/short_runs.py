"""A protocol short enough for tests, and what it means that two runs are the same."""

import json
from dataclasses import asdict

import numpy as np

from gt2lite.training import Recipe
from study.plans import tasks

# enough training for the envelope to cover something, little enough for a test
SHORT = Recipe(n_rules=2, epochs=4, learning_rate=0.02)
FEW = tasks(["aids", "pp"], seeds=[0], recipe=SHORT)


def same(first, second):
    """Whether two runs agree bit for bit, times aside."""

    def timeless(rows):
        return json.dumps(
            [{k: v for k, v in asdict(row).items() if "seconds" not in k} for row in rows]
        )

    return (
        first.task == second.task
        and all(np.array_equal(first.params[n], second.params[n]) for n in first.params)
        and np.array_equal(first.history, second.history)
        and np.array_equal(first.critical_alpha, second.critical_alpha)
        and timeless(first.records) == timeless(second.records)
    )
