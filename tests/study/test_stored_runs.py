"""Runs: computed once, resumed after an interruption, stored exactly, compared with reruns."""

import itertools
import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from gt2lite.datasets import data_path
from study import __main__ as command
from study import execution, protocol, results
from study.comparison import steadiness
from study.execution import run_all
from study.results import compare, load

# ------------------------------------------------------------------------------- execution


def trace(folder: str, n: int, fail: bool = False) -> int:
    """Return the square of `n` and note the call."""
    with Path(folder, "calls").open("a", encoding="utf-8") as calls:
        calls.write(str(n))
    if fail and not Path(folder, "repaired").exists():
        raise RuntimeError(f"interrupted at {n}")
    return n * n


def process(n: int) -> int:
    """Return the process that was asked."""
    return os.getpid()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder for an empty cache and for notes of calls."""
    monkeypatch.setattr(execution, "cache_folder", lambda: tmp_path / "cache")
    return tmp_path


def test_an_interrupted_command_goes_on_where_it_was(folder):
    settings = [{"folder": str(folder), "n": n, "fail": n == 3} for n in (1, 2, 3, 4)]
    with pytest.raises(RuntimeError, match="3"):
        run_all(trace, settings, n_jobs=1)
    (folder / "repaired").touch()
    assert run_all(trace, settings, n_jobs=1) == [1, 4, 9, 16]
    assert (folder / "calls").read_text() == "12334"
    run_all(trace, settings[:1], n_jobs=1, cache=False)  # computed again
    assert (folder / "calls").read_text() == "123341"


def test_results_come_in_the_order_of_the_settings(folder):
    settings = [{"folder": str(folder), "n": n} for n in (3, 1, 2)]
    assert run_all(trace, settings, n_jobs=2) == [9, 1, 4]


def test_each_state_of_the_code_and_processor_has_a_cache_of_its_own(tmp_path, monkeypatch):
    def cache():
        execution.code_hash.cache_clear()
        return execution.cache_folder(tmp_path)

    for name in ("gt2lite", "study"):
        (tmp_path / name).mkdir()
    folders = [cache()]
    for file in ("gt2lite/losses.py", "gt2lite/losses.py", "study/untracked.py"):
        with (tmp_path / file).open("a", encoding="utf-8") as source:
            source.write("pass\n")
        folders.append(cache())
    for name, value in execution.OLDER_PROCESSOR.items():
        monkeypatch.setenv(name, value)
        folders.append(cache())
    assert len(set(folders)) == len(folders) and cache() == folders[-1]
    cache().mkdir(parents=True)
    execution.clear_cache(tmp_path)  # a release starts empty
    assert not cache().exists()
    execution.code_hash.cache_clear()


def test_a_dask_cluster_runs_the_same_calls():
    pytest.importorskip("distributed")
    found = run_all(process, [{"n": n} for n in range(3)], dask="local", cache=False)
    assert len(found) == 3 and os.getpid() not in found


# ---------------------------------------------------------------------------------- results


def test_rows_come_back_to_the_last_bit_and_leave_other_files(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "data_path", lambda *parts: tmp_path.joinpath(*parts))
    values = np.random.default_rng(0).normal(size=50) * 10.0 ** np.arange(-25, 25)
    frame = pd.DataFrame({"name": "a,b", "value": values, "none": np.nan})
    for name in ("first", "second"):
        results.save(name, frame, command=name)
    pd.testing.assert_frame_equal(load("first"), frame, check_exact=True, check_dtype=False)
    assert results.provenance("first")["command"] == "first"


def test_every_stored_file_has_its_provenance():
    stored = {path.stem for path in data_path("results").glob("*.csv")}
    known = json.loads(data_path("results", "provenance.json").read_text(encoding="utf-8"))
    assert stored == set(known)
    needed = {"commit", "date", "machine", "instructions", "versions", "study"}
    assert all(needed <= set(facts) for facts in known.values())
    assert needed | {"blas", "lock"} <= set(results.environment())


def test_reruns_are_compared_number_by_number():
    reference = load("reference")
    new = reference[reference.seed < 2].copy()
    found = compare(new, reference)
    assert (found.equal == found.n).all() and (found.n == 200).all() and (found.largest == 0).all()
    new.loc[new.index[7], "pinaw"] += 0.25
    new.loc[new.index[0], "rmse"] = np.nan  # beyond every tolerance
    for tolerance, beyond in ((0.24, [1, 0, 1, 0]), (0.26, [1, 0, 0, 0])):
        found = compare(new, reference, {"pinaw": tolerance, "rmse": 1e9}).set_index("metric")
        assert found.beyond.to_list() == beyond
        assert found.largest["pinaw"] == pytest.approx(0.25)
    assert compare(new.assign(seed=999), reference).n.eq(0).all()  # without a counterpart


def test_the_tolerance_is_the_largest_difference_of_perturbed_runs():
    found = results.rounding_tolerance()
    for name in ("nudged", "nudged_sse4"):  # both instruction sets
        moved = compare(load(name), load("reference"), found)
        assert (moved.n > 0).all() and moved.beyond.sum() == 0 and (moved.largest > 0).all()


# ----------------------------------------------------------------------------- command line


@pytest.mark.parametrize(("change", "code"), [(1e-9, 0), (0.01, 1), (None, 130)])
def test_a_sample_beyond_tolerance_or_an_interruption_fails_the_check(monkeypatch, change, code):
    stored = load("reference")

    def recall(function, settings, **_):
        if change is None:
            raise KeyboardInterrupt
        if function is steadiness.rows_of:
            return [load("sample").query("seed == 0 and processor == 'SSE'")]
        own = stored[(stored.seed == 0) & (stored.level != 0.95)]
        return [protocol.Run({}, own.assign(rmse=own.rmse + change))]

    monkeypatch.setattr(execution, "run_all", recall)
    assert command.main(["check"]) == code


def test_reproduce_trains_as_many_seeds_as_asked_for_and_refuses_one(monkeypatch, capsys):
    asked = []

    def stop(function, settings, **_):
        asked.extend(settings)
        raise KeyboardInterrupt

    monkeypatch.setattr(execution, "run_all", stop)
    assert command.main(["reproduce", "--seeds", "3"]) == 130
    assert (len(asked), {one["seed"] for one in asked}) == (3 * 4 * 3, {0, 1, 2})
    with pytest.raises(SystemExit):
        command.main(["reproduce", "--seeds", "1"])
    assert "--seeds must be at least 2, got 1" in capsys.readouterr().err


@pytest.mark.parametrize(("times", "code"), [(0.99, 0), (1.01, 1)])
def test_strong_and_the_head_may_move_as_far_as_processors_moved_them(times, code):
    stored = load("sample")
    runs = stored.groupby(steadiness.BY).interval_score
    most = (runs.max() - runs.min()).max()
    assert most > 0 and steadiness.tolerance(stored)["interval_score"] == most

    def recall(function, settings, **_):
        assert [one["method"] for one in settings] == ["strong", "head"]
        found = stored[(stored.seed == 0) & (stored.processor == "AVX2")]
        return [found.assign(interval_score=found.interval_score + times * most)]

    assert steadiness.check(recall).beyond.sum() == 2 * 2 * code  # two methods at two levels


def test_the_sample_is_trained_on_every_processor():
    asked = []

    def note(function, settings, **_):
        asked.extend((one.get("restricted"), one["method"], one["seed"]) for one in settings)
        return [pd.DataFrame({"n": [len(settings)]})]

    assert list(steadiness.run_sample(note)) == ["sample"]
    kinds = itertools.product((None, *steadiness.RESTRICTED), ("strong", "head"), range(3))
    assert sorted(asked, key=str) == sorted(kinds, key=str)


def test_rows_are_compared_and_then_stored(monkeypatch, capsys):
    saved, rows, cleared = {}, load("ablation"), []
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
    names = [path.stem for path in data_path("results").glob("*.csv")]
    for name in {*names} - {"tuning", "tuning_repeat"}:  # these are of another command
        rows = load(name)
        rows = rows.assign(processor=None) if name == "nudged" else rows  # as `perturbed` has it
        command.store(name, rows, "study")
        assert f"{name} against the stored runs: 0 numbers beyond" in capsys.readouterr().out
