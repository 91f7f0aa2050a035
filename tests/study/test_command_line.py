"""The command line of the study, with trainings replaced by stored rows."""

from __future__ import annotations

import pytest

from study import __main__ as command
from study import execution, results
from study.protocol import Run


@pytest.fixture
def recall(monkeypatch):
    """Let `run_all` return stored records, with `change` added to every RMSE."""

    def install(change=0.0):
        stored = results.load("reference")
        stored["rmse"] += change

        def run_all(function, settings, **_):
            found = []
            for one in settings:
                own = stored[(stored.dataset == one["dataset"]) & (stored.seed == one["seed"])]
                trained = own.model == one["model"].split("_")[0]
                found.append(Run({}, own[trained | (own.model == "calibrated")]))
            return found

        monkeypatch.setattr(execution, "run_all", run_all)

    return install


@pytest.mark.parametrize(("change", "code"), [(0.0, 0), (1e-9, 0), (0.01, 1)])
def test_a_sample_beyond_tolerance_fails_the_check(recall, capsys, change, code):
    recall(change)
    assert command.main(["check"]) == code
    assert "rmse" in capsys.readouterr().out


def test_an_interruption_is_no_traceback(monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(execution, "run_all", interrupted)
    assert command.main(["check"]) == 130


def test_rows_are_compared_and_then_stored(monkeypatch, capsys):
    saved, rows, cleared = {}, results.load("ablation"), []
    monkeypatch.setattr(results, "save", lambda name, rows, **facts: saved.update({name: facts}))
    monkeypatch.setattr(execution, "clear_cache", lambda: cleared.append(True))
    rows.loc[3, "rmse"] += 1
    monkeypatch.setattr(execution, "run_all", lambda *_, **__: rows.to_dict("records"))
    assert command.main(["ablation", "--fresh"]) == 0
    assert saved["ablation"]["command"] == "python -m study ablation" and cleared
    assert "1 numbers beyond" in capsys.readouterr().out


def test_the_rows_of_every_file_are_found_again(monkeypatch, capsys):
    monkeypatch.setattr(results, "save", lambda name, rows, **facts: None)
    monkeypatch.setattr(results, "rounding_tolerance", dict)
    files = ["reference", "authors", "nudged", "nudged_sse4", "ablation", "widths"]
    files += ["comparison", "conditional", "comparison_settings", "aligned", "planes"]
    for name in [*files, "small_shares", "sqr"]:
        rows = results.load(name)
        rows = rows.assign(processor="") if name == "nudged" else rows  # as `perturbed` has it
        command.store(name, rows, "study")
        assert f"{name} against the stored runs: 0 numbers beyond" in capsys.readouterr().out
