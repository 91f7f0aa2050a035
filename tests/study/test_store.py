"""Facts about the store of the protocol: resumable, shared, never misread."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
from short_runs import FEW, SHORT, same

from gt2lite.study.protocol import Task
from gt2lite.study.runner import key_of, run
from gt2lite.study.store import DamagedRunWarning, Store, StoreError

needs_kill = pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")


def test_the_number_of_workers_does_not_change_a_bit(runs, tmp_path):
    pytest.importorskip("joblib")
    for n_jobs in (1, 2):
        again = run(FEW, Store(tmp_path / str(n_jobs)), n_jobs=n_jobs)
        assert all(map(same, again, runs))


def test_what_is_stored_is_not_computed_again(tmp_path, monkeypatch):
    shelf = Store(tmp_path)
    first = run(FEW[:2], shelf, n_jobs=1)
    monkeypatch.setattr(Task, "execute", lambda *_: pytest.fail("computed again"))
    assert all(map(same, run(FEW[:2], shelf, n_jobs=1), first))


def test_a_failing_run_loses_nothing_that_was_done(tmp_path, monkeypatch):
    shelf, really = Store(tmp_path), Task.execute

    def fail_at_the_second(task, get):
        if task.model == "trained_95":
            raise KeyboardInterrupt
        return really(task, get)

    monkeypatch.setattr(Task, "execute", fail_at_the_second)
    with pytest.raises(KeyboardInterrupt):
        run(FEW[:3], shelf, n_jobs=1)
    done = {path.stem for path in tmp_path.glob("*.npz")}
    assert done < {key_of(task) for task in FEW[:3]}
    monkeypatch.undo()
    assert len(run(FEW[:3], shelf, n_jobs=1)) == 3


def write_script(folder, n_jobs):
    """Write a script that runs FEW into the store "s" of the folder; return its path."""
    path = folder / "protocol.py"
    path.write_text(
        "from gt2lite.study.plans import tasks\n"
        "from gt2lite.study.runner import run\n"
        "from gt2lite.study.store import Store\n"
        "from gt2lite.recipe import Recipe\n"
        "if __name__ == '__main__':\n"
        f"    recipe = Recipe(**{SHORT.__dict__!r})\n"
        f"    store = Store({str(folder / 's')!r})\n"
        f"    run(tasks(['aids', 'pp'], [0], recipe=recipe), store, n_jobs={n_jobs})\n"
    )
    return path


@needs_kill
def test_a_killed_process_ends_in_the_same_result_when_repeated(runs, tmp_path):
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
    assert all(map(same, run(FEW, Store(tmp_path / "s"), n_jobs=1), runs))


def test_two_processes_may_share_a_store(runs, tmp_path):
    script = write_script(tmp_path, n_jobs=1)
    both = [subprocess.Popen([sys.executable, script]) for _ in range(2)]
    assert [process.wait(timeout=240) for process in both] == [0, 0]
    assert len(list((tmp_path / "s").glob("*.npz"))) == len(FEW)
    assert not list((tmp_path / "s").glob("*.claim"))
    assert all(map(same, run(FEW, Store(tmp_path / "s"), n_jobs=1), runs))


@needs_kill
@pytest.mark.slow
def test_a_dask_cluster_does_the_same_though_a_worker_dies(runs, tmp_path):
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
    shelf, key = Store(tmp_path), key_of(FEW[0])
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
    shelf, key = Store(tmp_path), key_of(FEW[0])
    claim = tmp_path / f"{key}.claim"
    claim.write_text("elsewhere 1")
    assert shelf.claimed(key)
    os.utime(claim, (0, 0))
    assert not shelf.claimed(key)


def test_a_damaged_run_is_named_set_aside_and_computed_again(runs, tmp_path):
    shelf = Store(tmp_path)
    run(FEW[:1], shelf, n_jobs=1)
    path = shelf.path(key_of(FEW[0]))
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.warns(DamagedRunWarning, match=key_of(FEW[0])):
        again = run(FEW[:1], shelf, n_jobs=1)
    assert same(again[0], runs[0])
    assert path.with_suffix(".damaged").exists() and path.exists()


def test_a_run_under_the_wrong_name_is_not_taken_for_another(tmp_path):
    shelf = Store(tmp_path)
    run(FEW[:1], shelf, n_jobs=1)
    os.replace(shelf.path(key_of(FEW[0])), shelf.path(key_of(FEW[1])))
    with pytest.warns(DamagedRunWarning, match="holds the run"):
        assert shelf.load(key_of(FEW[1])) is None


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


def test_a_full_disk_leaves_the_store_intact(tmp_path, monkeypatch, runs):
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
    assert same(run(FEW[:2], shelf, n_jobs=1)[0], runs[0])
