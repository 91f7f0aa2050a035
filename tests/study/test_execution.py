"""Runs in parallel: computed once, resumed after an interruption, never of older code."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from study import execution
from study.execution import OLDER_PROCESSOR, run_all


def trace(folder: str, n: int, fail: bool = False) -> int:
    """Return the square of `n` and leave a mark of the call."""
    marks = Path(folder)
    (marks / f"{n}-{len(list(marks.glob(f'{n}-*')))}").touch()
    if fail and not (marks / "repaired").exists():
        raise RuntimeError(f"interrupted at {n}")
    return n * n


def process(n: int) -> int:
    """Return the process that was asked."""
    return os.getpid()


@pytest.fixture
def marks(tmp_path, monkeypatch):
    """An empty cache, and a folder that counts calls."""
    monkeypatch.setattr(execution, "cache_folder", lambda: tmp_path / "cache")
    (tmp_path / "marks").mkdir()
    return tmp_path / "marks"


@pytest.fixture(autouse=True)
def forget():
    """Hash the sources of each test anew."""
    execution.code_hash.cache_clear()
    yield
    execution.code_hash.cache_clear()


def calls(marks):
    return sorted(int(path.name.split("-")[0]) for path in marks.glob("*-*"))


def test_results_come_in_the_order_of_the_settings(marks):
    settings = [{"folder": str(marks), "n": n} for n in (3, 1, 2)]
    assert run_all(trace, settings, n_jobs=2) == [9, 1, 4]


def test_an_interrupted_command_goes_on_where_it_was(marks):
    settings = [{"folder": str(marks), "n": n, "fail": n == 3} for n in (1, 2, 3, 4)]
    with pytest.raises(RuntimeError, match="3"):
        run_all(trace, settings, n_jobs=1)
    (marks / "repaired").touch()
    assert run_all(trace, settings, n_jobs=1) == [1, 4, 9, 16]
    assert calls(marks) == [1, 2, 3, 3, 4]


def test_without_a_cache_everything_is_computed_again(marks):
    for _ in range(2):
        run_all(trace, [{"folder": str(marks), "n": 5}], n_jobs=1, cache=False)
    assert calls(marks) == [5, 5]


def source_tree(folder, text):
    for name in ("gt2lite", "study"):
        (folder / name).mkdir(parents=True)
    (folder / "gt2lite" / "losses.py").write_text(text, encoding="utf-8")
    return folder


def test_each_state_of_the_code_has_a_cache_of_its_own(tmp_path):
    trees = {text: source_tree(tmp_path / text, text) for text in ("one", "two")}
    folders = {text: execution.cache_folder(tree).name for text, tree in trees.items()}
    same = execution.cache_folder(source_tree(tmp_path / "again", "one")).name
    assert folders["one"] == same != folders["two"]
    execution.cache_folder(trees["two"]).mkdir(parents=True)
    execution.clear_cache(trees["two"])  # a release starts empty
    assert not (trees["two"] / "_build" / "cache").exists()
    (trees["one"] / "study" / "untracked.py").touch()
    execution.code_hash.cache_clear()
    assert execution.cache_folder(trees["one"]).name != same


def test_a_restricted_processor_has_a_cache_of_its_own(tmp_path, monkeypatch):
    usual = execution.cache_folder(source_tree(tmp_path, "one"))
    for name, value in OLDER_PROCESSOR.items():
        monkeypatch.setenv(name, value)
    execution.code_hash.cache_clear()
    assert execution.cache_folder(tmp_path) != usual


def test_a_dask_cluster_runs_the_same_calls():
    pytest.importorskip("distributed")
    found = run_all(process, [{"n": n} for n in range(3)], dask="local", cache=False)
    assert len(found) == 3 and os.getpid() not in found
