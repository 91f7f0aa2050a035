"""The authors' mode, one setting at a time."""

import pytest

from gt2lite.training import Recipe
from study.ablation import SETTINGS, ablations, run_ablation
from study.protocol import run
from study.results import load

FAST = Recipe(n_rules=2, epochs=2)


@pytest.mark.parametrize(("mode", "column"), [("default", 0), ("authors", 1)])
def test_none_and_all_of_the_settings_are_the_modes_of_the_protocol(mode, column):
    settings = {name: options[column] for name, options in SETTINGS.items()}
    one = run_ablation("aids", 0, **settings, recipe=FAST)
    record = run("aids", 0, "baseline", mode, recipe=FAST).records.iloc[0]
    for metric in ("rmse", "picp", "pinaw"):
        assert one[metric] == record[metric]


def test_every_combination_is_stored_for_every_set_and_seed():
    stored = load("ablation")
    todo = ablations()
    assert len({tuple(one.values()) for one in todo}) == len(stored) == 8 * 4 * 5
    assert stored[["dataset", "seed", *SETTINGS]].to_dict("records") == todo
