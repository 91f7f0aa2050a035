"""Facts about the protocol and its store: complete, resumable, shared, never misread."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

from gt2lite.recipe import Recipe
from gt2lite.study import protocol, store
from gt2lite.study.protocol import Task, execute, records, run, tasks
from gt2lite.study.store import DamagedRunWarning, Store, StoreError

needs_kill = pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")

# enough training for the envelope to cover something, little enough for a test
SHORT = Recipe(n_rules=2, epochs=4, learning_rate=0.02)
FEW = tasks(["aids", "pp"], seeds=[0], recipe=SHORT)


def same(first, second):
    """Whether two outcomes agree bit for bit, times aside."""

    def timeless(rows):
        return json.dumps([{k: v for k, v in row.items() if "seconds" not in k} for row in rows])

    return (
        first.task == second.task
        and all(np.array_equal(first.params[n], second.params[n]) for n in first.params)
        and np.array_equal(first.history, second.history)
        and np.array_equal(first.critical_alpha, second.critical_alpha)
        and timeless(first.records) == timeless(second.records)
    )


@pytest.fixture(scope="module")
def outcomes():
    return [execute(task) for task in FEW]


# --------------------------------------------------------------------- the protocol


def test_the_paper_has_sixty_trainings():
    every = tasks()
    assert len(every) == len(set(every)) == len({task.key for task in every}) == 60


def test_models_differ_in_coverage_and_in_the_rows_that_they_see():
    assert {t.model: t.full_recipe.coverage for t in FEW} == {
        "baseline": 0.99,
        "trained_90": 0.90,
        "trained_95": 0.95,
    }


def test_the_authors_mode_is_scalar_counts_epochs_and_scales_before_the_split():
    task = Task("pp", 0, "baseline", mode="authors")
    assert task.full_recipe.smf == "scalar" and task.full_recipe.bias_correction == "epochs"
    everything = np.concatenate([getattr(protocol.prepare_task(task), f"y_{part}")
                                 for part in ("train", "cal", "test")])  # fmt: skip
    assert everything.mean() == pytest.approx(0, abs=1e-12)
    assert everything.std() == pytest.approx(1, abs=1e-12)


def test_a_baseline_is_judged_by_every_method_at_every_level(outcomes):
    rows = records(outcomes)
    names = ("dataset", "model", "method", "level", "step", "interpolation")
    kinds = [tuple(row.get(name) for name in names) for row in rows]
    assert len(kinds) == len(set(kinds)) == 2 * (1 + len(protocol.CALIBRATIONS) * 2 + 2)
    assert {kind[2] for kind in kinds} == {"trained", "search", "table", "exact", "conformal"}
    for row in rows:
        assert row["n_cal"] + row["n_test"] < 0.31 * {"aids": 2139, "pp": 9568}[row["dataset"]]
        assert row["rmse"] > 0


def test_the_calibration_curve_is_that_of_the_exact_method(outcomes):
    baseline = outcomes[3]
    assert baseline.task == Task("pp", 0, "baseline", recipe=SHORT)
    for row in baseline.records:
        if row["method"] == "exact":
            share = np.mean(baseline.critical_alpha >= row["alpha"])
            assert share == row["reached"] >= row["level"]


def test_a_level_out_of_reach_ends_at_the_widest_plane_and_is_shown_as_a_miss():
    recipe = replace(SHORT, epochs=1, learning_rate=1e-9)
    untrained = execute(Task("pp", 0, "baseline", recipe=recipe))
    missed = [row for row in untrained.records if row["model"] == "calibrated"]
    for row in missed:
        assert row["reached"] < row["level"] - 0.05
        if row["method"] == "conformal":  # no guarantee, no number
            assert np.isnan(row["alpha"]) and np.isnan(row["picp"])
        else:
            assert row["alpha"] == 0.01


def test_a_nudged_start_is_another_run_that_starts_a_bit_beside(outcomes):
    task = Task("pp", 0, "baseline", recipe=SHORT, nudge=1)
    nudged = execute(task)
    assert task.key != FEW[3].key
    assert not np.array_equal(nudged.params["a"], outcomes[3].params["a"])
    np.testing.assert_allclose(nudged.params["a"], outcomes[3].params["a"], atol=1e-6)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"dataset": "iris"}, "'ww', 'pm', 'aids', 'pp'"),
        ({"seed": -1}, "seed"),
        ({"model": "best"}, "'baseline', 'trained_90', 'trained_95'"),
        ({"mode": "mine"}, "'default', 'authors'"),
    ],
)
def test_an_unknown_name_gets_the_known_ones(change, words):
    with pytest.raises(ValueError, match=words):
        replace(FEW[0], **change)


# --------------------------------------------------------------------- many runs


def test_the_number_of_workers_does_not_change_a_bit(outcomes, tmp_path):
    pytest.importorskip("joblib")
    for n_jobs in (1, 2):
        again = run(FEW, Store(tmp_path / str(n_jobs)), n_jobs=n_jobs)
        assert all(map(same, again, outcomes))


def test_what_is_stored_is_not_computed_again(tmp_path, monkeypatch):
    shelf = Store(tmp_path)
    first = run(FEW[:2], shelf, n_jobs=1)
    monkeypatch.setattr(protocol, "execute", lambda task: pytest.fail("computed again"))
    assert all(map(same, run(FEW[:2], shelf, n_jobs=1), first))


def test_a_failing_run_loses_nothing_that_was_done(tmp_path, monkeypatch):
    shelf, really = Store(tmp_path), execute

    def fail_at_the_second(task):
        if task.model == "trained_95":
            raise KeyboardInterrupt
        return really(task)

    monkeypatch.setattr(protocol, "execute", fail_at_the_second)
    with pytest.raises(KeyboardInterrupt):
        run(FEW[:3], shelf, n_jobs=1)
    done = {path.stem for path in tmp_path.glob("*.npz")}
    assert done < {task.key for task in FEW[:3]}
    monkeypatch.undo()
    assert len(run(FEW[:3], shelf, n_jobs=1)) == 3


def write_script(folder, n_jobs):
    """Write a script that runs FEW into the store "s" of the folder; return its path."""
    path = folder / "protocol.py"
    path.write_text(
        "from gt2lite.study.protocol import run, tasks\n"
        "from gt2lite.study.store import Store\n"
        "from gt2lite.training import Recipe\n"
        "if __name__ == '__main__':\n"
        f"    recipe = Recipe(**{SHORT.__dict__!r})\n"
        f"    store = Store({str(folder / 's')!r})\n"
        f"    run(tasks(['aids', 'pp'], [0], recipe=recipe), store, n_jobs={n_jobs})\n"
    )
    return path


@needs_kill
def test_a_killed_process_ends_in_the_same_result_when_repeated(outcomes, tmp_path):
    script = write_script(tmp_path, n_jobs=2)
    for n_files in (1, 3):  # kill it as soon as so many runs are there
        process = subprocess.Popen([sys.executable, script], start_new_session=True)
        deadline = time.monotonic() + 120
        while len(list((tmp_path / "s").glob("*.npz"))) < n_files and process.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.005)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    before = {path: path.read_bytes() for path in (tmp_path / "s").glob("*.npz")}
    assert before
    subprocess.run([sys.executable, script], check=True)
    for path, content in before.items():
        assert path.read_bytes() == content
    assert all(map(same, run(FEW, Store(tmp_path / "s"), n_jobs=1), outcomes))


def test_two_processes_may_share_a_store(outcomes, tmp_path):
    script = write_script(tmp_path, n_jobs=1)
    both = [subprocess.Popen([sys.executable, script]) for _ in range(2)]
    assert [process.wait(timeout=240) for process in both] == [0, 0]
    assert len(list((tmp_path / "s").glob("*.npz"))) == len(FEW)
    assert not list((tmp_path / "s").glob("*.claim"))
    assert all(map(same, run(FEW, Store(tmp_path / "s"), n_jobs=1), outcomes))


@needs_kill
@pytest.mark.slow
def test_a_dask_cluster_does_the_same_though_a_worker_dies(outcomes, tmp_path):
    joblib = pytest.importorskip("joblib")
    distributed = pytest.importorskip("distributed")
    long = [replace(task, recipe=replace(SHORT, epochs=60)) for task in FEW]
    expected = run(long, n_jobs=2)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
        joblib.parallel_config(backend="dask"),
    ):
        victim = min(client.run(os.getpid).values())
        killed = []

        class Killing(Store):  # kills a worker once the first run is in
            def save(self, *args):
                super().save(*args)
                if not killed:
                    os.kill(victim, signal.SIGKILL)
                    killed.append(victim)

        found = run(long, Killing(tmp_path / "store"))
        assert killed
    assert all(map(same, found, expected))


@needs_kill
def test_a_run_that_another_process_has_claimed_is_waited_for(tmp_path):
    shelf, key = Store(tmp_path), FEW[0].key
    other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        assert shelf.claim(key)
        assert shelf.claim(key) and not shelf.claimed(key)  # our own is no obstacle
        claim = tmp_path / f"{key}.claim"
        claim.write_text(claim.read_text().replace(str(os.getpid()), str(other.pid)))
        assert shelf.claimed(key) and not shelf.claim(key)
        shelf.release(key)  # not ours to give up
        assert claim.exists()
    finally:
        other.kill()
        other.wait()
    assert not shelf.claimed(key)  # its owner is dead
    assert len(run(FEW[:1], shelf, n_jobs=1)) == 1 and not claim.exists()


def test_a_claim_of_another_machine_lapses(tmp_path):
    shelf, key = Store(tmp_path), FEW[0].key
    claim = tmp_path / f"{key}.claim"
    claim.write_text("elsewhere 1")
    assert shelf.claimed(key)
    os.utime(claim, (0, 0))
    assert not shelf.claimed(key)


# ---------------------------------------------------------------------- the store


def test_the_key_depends_on_everything_that_matters(monkeypatch):
    task = FEW[0]
    others = [
        replace(task, seed=1),
        replace(task, dataset="ww"),
        replace(task, mode="authors"),
        replace(task, recipe=replace(SHORT, epochs=5)),
    ]
    keys = {task.key, *(other.key for other in others)}
    assert len(keys) == 5
    monkeypatch.setattr(store, "code_digest", lambda: "other code")
    assert task.key not in keys
    monkeypatch.undo()
    monkeypatch.setattr(np, "__version__", "0.0")
    assert task.key not in keys


def test_the_digest_covers_every_module_that_a_run_uses():
    code = (
        "import sys, gt2lite.study.protocol\n"
        "print(*(name.removeprefix('gt2lite.') for name in sys.modules if 'gt2lite.' in name))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    apart = {"store", "_storage", "_progress", "calibration", "runner"}
    assert set(run.stdout.split()) - apart == set(store.MAKERS)


def test_the_digest_of_the_code_ignores_prose_only(tmp_path):
    path = tmp_path / "module.py"

    def dump(text):
        path.write_text(text)
        return store.ast.dump(store._without_docstrings(path))

    plain = dump("def f(x):\n    return x + 1\n")
    assert dump('"""Doc."""\n\ndef f(x):\n    """Say."""\n    return x + 1  # why\n') == plain
    assert dump("def f(x):\n    return x + 2\n") != plain


def test_a_damaged_run_is_named_set_aside_and_computed_again(outcomes, tmp_path):
    shelf = Store(tmp_path)
    run(FEW[:1], shelf, n_jobs=1)
    path = shelf.path(FEW[0].key)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.warns(DamagedRunWarning, match=FEW[0].key):
        again = run(FEW[:1], shelf, n_jobs=1)
    assert same(again[0], outcomes[0])
    assert path.with_suffix(".damaged").exists() and path.exists()


def test_a_run_under_the_wrong_name_is_not_taken_for_another(tmp_path):
    shelf = Store(tmp_path)
    run(FEW[:1], shelf, n_jobs=1)
    os.replace(shelf.path(FEW[0].key), shelf.path(FEW[1].key))
    with pytest.warns(DamagedRunWarning, match="holds the run"):
        assert shelf.load(FEW[1].key) is None


def test_a_store_of_another_layout_or_another_folder_is_refused(tmp_path):
    shelf = Store(tmp_path / "s")
    Store(tmp_path / "s")  # again is fine
    (shelf.folder / "store.json").write_text('{"layout": 99}')
    with pytest.raises(StoreError, match="layout 99"):
        Store(tmp_path / "s")
    (shelf.folder / "store.json").write_text("{")
    with pytest.raises(StoreError, match="damaged"):
        Store(tmp_path / "s")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("precious")
    with pytest.raises(StoreError, match="not a store"):
        Store(tmp_path / "mine")


def test_a_full_disk_leaves_the_store_intact(tmp_path, monkeypatch, outcomes):
    shelf = Store(tmp_path)
    run(FEW[:1], shelf, n_jobs=1)
    before = sorted(path.name for path in tmp_path.iterdir())

    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(np, "savez", full)
        with pytest.raises(OSError, match="No space"):
            run(FEW[:2], shelf, n_jobs=1)
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    assert same(run(FEW[:2], shelf, n_jobs=1)[0], outcomes[0])
