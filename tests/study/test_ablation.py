"""The authors' mode, one setting at a time."""

from dataclasses import replace

import pytest

from gt2lite.training import Recipe
from study import ablation, protocol, runner
from study.ablation import SETTINGS, Ablation, ablations, blame, effects

FAST = Recipe(n_rules=2, epochs=2)


def row(dataset, seed, rmse, **settings):
    plain = {name: ours for name, (ours, _) in SETTINGS.items()}
    nothing = {"picp": 0.99, "pinaw": 0.5, "interval_score": 1.0}
    return ablation.AblationRecord(
        dataset=dataset,
        seed=seed,
        rmse=rmse,
        last_loss=0.0,
        train_cpu_seconds=1.0,
        **nothing,
        **(plain | settings),
    )


@pytest.mark.parametrize("mode", ["default", "authors"])
def test_none_and_all_of_the_settings_are_the_modes_of_the_protocol(mode):
    column = 0 if mode == "default" else 1
    settings = {name: options[column] for name, options in SETTINGS.items()}
    one = Ablation("aids", 0, **settings, recipe=FAST).execute()
    task = protocol.Task("aids", 0, "baseline", mode, FAST)
    record = task.execute().records[0]
    assert (one.rmse, one.picp, one.pinaw) == (record.rmse, record.picp, record.pinaw)


def test_every_combination_is_trained_on_every_set_and_seed():
    todo = ablations()
    assert len({runner.key_of(one) for one in todo}) == 8 * 4 * 5
    assert len({(one.scaling, one.smf, one.bias_correction) for one in todo}) == 8


def test_a_row_survives_the_store():
    one = replace(ablations(["aids"], [0])[3], recipe=FAST)
    found = row("aids", 0, 0.5)
    assert one.unpack(*one.pack(found)) == found


def test_the_setting_that_does_it_is_named():
    rows = []
    for seed in (0, 1):
        for scaling in SETTINGS["scaling"]:
            for smf in SETTINGS["smf"]:
                for bias in SETTINGS["bias_correction"]:
                    rmse = 0.6 + seed / 10 + 0.2 * (bias == "epochs") - 0.02 * (smf == "scalar")
                    settings = {"scaling": scaling, "smf": smf, "bias_correction": bias}
                    rows.append(row("pm", seed, rmse, **settings))
    (effect,) = effects(rows)
    assert effect.default == pytest.approx(65)
    assert effect.bias_correction == pytest.approx(85)
    assert effect.all_three == pytest.approx(83)
    assert effect.all_but_bias == pytest.approx(63)
    found = blame(rows, "pm")
    assert (found.setting, found.seeds, found.n) == ("counting", 2, 2)
    assert found.alone == pytest.approx(100 * (85 / 65 - 1))
    assert found.left_out == pytest.approx(100 * (63 / 65 - 1))


def test_a_setting_that_nobody_has_is_an_error():
    with pytest.raises(ValueError, match="smf must be one of 'per_input', 'scalar'"):
        replace(ablations()[0], smf="none")
